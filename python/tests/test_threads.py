"""Real threads on one limiter, with totals that are exact whatever the interleaving."""

import sys
import threading

import pytest
from tidegate import ConcurrencyLimiter, ManualClock, Quota, RateLimiter

THREADS = 10


def run_at_once(body):
    """Runs `body` on ten threads that start together; what each returned."""
    ready, results = threading.Barrier(THREADS), []

    def run():
        ready.wait()
        results.append(body())

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == THREADS
    return results


@pytest.fixture(autouse=True)
def many_switches():
    """Lets the interpreter change threads far more often than it would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("algorithm", ["gcra", "fixed_window", "sliding_window", "sliding_log"])
@pytest.mark.parametrize("real_clock", [False, True])
def test_ten_threads_are_admitted_exactly_as_often_as_the_limit_says(algorithm, real_clock):
    limit, calls = 20_000, 5_000
    clock = None if real_clock else ManualClock()
    limiter = RateLimiter(Quota(limit, 100 * 86_400, algorithm=algorithm), clock=clock)
    admitted = sum(run_at_once(lambda: sum(limiter.try_acquire() for _ in range(calls))))
    assert admitted == limit
    stats = limiter.stats()
    assert (stats.allowed, stats.denied) == (limit, THREADS * calls - limit)


def test_several_quotas_are_never_exceeded_and_used_up_in_the_end(clock):
    limiter = RateLimiter("5000/h fixed_window; 8000/d; 6000/h sliding_window", clock=clock)
    admitted = sum(run_at_once(lambda: sum(limiter.try_acquire() for _ in range(2_000))))
    while limiter.try_acquire():
        admitted += 1
    assert admitted == 5_000


def test_refunds_and_grants_at_once_lose_nothing(clock):
    limiter = RateLimiter("50/h fixed_window", clock=clock)

    def body():
        for _ in range(2_000):
            decision = limiter.decide()
            if decision:
                limiter.refund(decision)

    run_at_once(body)
    assert limiter.peek().remaining == 50


def test_p1_no_more_than_the_limit_are_ever_inside():
    limiter = ConcurrencyLimiter(3)
    inside, peak = [], []

    def body():
        entered = 0
        for _ in range(1_000):
            permit = limiter.try_acquire()
            if permit is None:
                continue
            # list.append and list.pop are atomic.
            inside.append(None)
            peak.append(len(inside))
            entered += 1
            inside.pop()
            permit.release()
        return entered

    entered = sum(run_at_once(body))
    assert entered == len(peak) > 0
    assert max(peak) <= 3
    assert (limiter.in_flight, limiter.available) == (0, 3)
    assert limiter.stats().allowed == limiter.stats().released_ok == entered


def test_a_limiter_may_be_resized_while_all_use_it():
    limiter = ConcurrencyLimiter(4)

    def body():
        for number in range(500):
            limiter.limit = number % 5
            permit = limiter.try_acquire(1 + number % 3)
            if permit:
                permit.release()

    run_at_once(body)
    limiter.limit = 4
    assert (limiter.in_flight, limiter.available) == (0, 4)


def test_a_clock_may_be_moved_while_all_decide(clock):
    limiter = RateLimiter("1/s burst 10", clock=clock)

    def body():
        admitted = 0
        for _ in range(1_000):
            clock.advance_ns(1_000_000)
            admitted += limiter.try_acquire()
        return admitted

    # Ten tokens at once, and one for each of the ten seconds; which of them came last is a matter of threads.
    assert 19 <= sum(run_at_once(body)) <= 20
