"""One rate limiter for all calls: allowed, refused, by several threads, with figures, by several quotas."""

import functools
import sys
import threading
import time

import peers
import tidegate
from rounds import OURS, PLENTY, QUICK, Subject, calls, count_loop, together

# A thread runs for 5 ms before another gets its turn: so there must be many of them in a turn here.
THREADS_TURN_NS = 30_000_000 if QUICK else 60_000_000
THREADS_ROUNDS = 5 if QUICK else 15


def tidegate_of(quotas, name="tidegate"):
    return Subject(name, OURS[1], "limiter.try_acquire()", {"limiter": tidegate.RateLimiter(quotas)})


def alone(limit, period_s):
    """All subjects, each with a limiter of its own."""
    quota = f"{limit}/{period_s}s"
    ours = [tidegate_of(quota), tidegate_of(f"{quota} fixed_window", "tidegate fixed_window")]
    return ours + [peer(limit, period_s) for peer in peers.ALONE]


def figures(limit, period_s):
    statement = "decision = limiter.decide(); decision.remaining; decision.retry_after"
    limiter = tidegate.RateLimiter(f"{limit}/{period_s}s")
    ours = Subject(*OURS, statement, {"limiter": limiter}, "limiter.decide()")
    return [ours, peers.throttled_figures(limit, period_s)]


def quotas(count, limit):
    """So many quotas as one decision; the first is the strictest for who comes all at once."""
    of = [(limit, 3_600), (2 * limit, 86_400), (3 * limit, 604_800)][:count]
    return [tidegate_of([tidegate.Quota(most, period_s) for most, period_s in of]), peers.pyrate_quotas(*of)]


def same_work():
    """Each admits as many of the same calls."""
    tried, limit = 2_000, 1_000
    groups = {
        "": alone(limit, 3_600),
        "with figures, ": figures(limit, 3_600),
        "by three quotas, ": quotas(3, limit),
    }
    for group, subjects in groups.items():
        for subject in subjects:
            admitted = asked(subject.admitted, tried)
            assert admitted == limit, (subject.name, admitted)
        names = ", ".join(subject.name for subject in subjects)
        print(f"same work: {group}each of {names} admits {limit:,} of {tried:,} calls", file=sys.stderr)


def same_threads():
    """tidegate admits as many from ten threads; what peers do is told, since some of them have no atomic step."""
    threads, limit = 10, 1_000
    admitted = {}
    interval_s = sys.getswitchinterval()
    # Often enough that threads meet.
    sys.setswitchinterval(1e-5)
    for subject in alone(limit, 3_600):
        counts = []
        in_threads(lambda calls, ask=subject.admitted, counts=counts: counts.append(asked(ask, calls)), threads, 400)
        admitted[subject.name] = sum(counts)
    sys.setswitchinterval(interval_s)
    assert admitted["tidegate"] == admitted["tidegate fixed_window"] == limit, admitted
    told = ", ".join(f"{name} {count:,}" for name, count in admitted.items())
    print(f"same work: {threads} threads at a limit of {limit:,}: {told}", file=sys.stderr)


def asked(ask, calls):
    return sum(ask() for _ in range(calls))


def in_threads(loop, threads, calls_each):
    """Nanoseconds a call, of all calls of so many threads together."""
    barrier, spans = threading.Barrier(threads), []

    def work():
        barrier.wait()
        began = time.perf_counter_ns()
        loop(calls_each)
        spans.append((began, time.perf_counter_ns()))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    began, ended = zip(*spans, strict=True)
    return (max(ended) - min(began)) / (threads * calls_each)


def threaded(threads, subject):
    """Times calls that so many threads make at once on one limiter."""
    loop = count_loop(subject)
    calls_each = max(1, int(THREADS_TURN_NS / calls(subject)(0)) // threads)
    return lambda _round: in_threads(loop, threads, calls_each)


def all_cases():
    cases = {"gcra allowed": (True, lambda: alone(PLENTY, 1)), "gcra refused": (False, spent)}
    for case, (admits, subjects) in cases.items():
        together(case, admits, subjects())
        for threads in (2, 10):
            timed = functools.partial(threaded, threads)
            together(f"{case}, {threads} threads", admits, subjects(), timed, THREADS_ROUNDS)
    together("check with figures", True, figures(PLENTY, 1))
    for count in (2, 3):
        together(f"{count} quotas", True, quotas(count, PLENTY))


def spent():
    """One token an hour, which is taken."""
    subjects = alone(1, 3_600)
    for subject in subjects:
        assert subject.admitted(), subject.name
    return subjects
