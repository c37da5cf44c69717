"""tidegate beside its peers in Python, interleaved in one process. Prints JSON lines; `bench/run.py` reads them."""

import asyncio
import dataclasses
import itertools
import json
import os
import platform
import random
import sys
import threading
import time
import timeit
from collections.abc import Callable
from importlib import metadata

import limits
import tidegate
import web

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = 7 if QUICK else 25

# More than any loop here can spend in its period.
PLENTY = 1_000_000_000


@dataclasses.dataclass
class Subject:
    """What is timed: a statement as a user would write it, over names that are local to the loop."""

    name: str
    version: str
    statement: str
    given: dict[str, object]
    calls: int
    # Asks once, outside of the timing, and tells whether it was admitted.
    ask: Callable[[], object] = lambda: True
    # What the statement decides on in one execution, if the time of each is asked for.
    keys: int = 1


class Limits:
    """The peer `limits` with one fixed window in memory."""

    version = metadata.version("limits")

    def __init__(self, limit, period):
        self.limiter = limits.strategies.FixedWindowRateLimiter(limits.storage.MemoryStorage())
        self.item = limits.RateLimitItemPerSecond(limit, period)

    def hit(self, *key):
        return self.limiter.hit(self.item, *key)

    def subject(self):
        given = {"limiter": self.limiter, "item": self.item}
        return Subject("limits", self.version, "limiter.hit(item)", given, 10_000, self.hit)

    def keyed_subject(self, keys):
        given = {"limiter": self.limiter, "item": self.item, "keys": keys}
        statement = "for key in keys: limiter.hit(item, key)"
        return Subject("limits", self.version, statement, given, 10_000, lambda: self.hit(keys[0]), len(keys))


def tidegate_subject(quota, name="tidegate"):
    limiter = tidegate.RateLimiter(quota)
    given = {"limiter": limiter}
    return Subject(name, tidegate.__version__, "limiter.try_acquire()", given, 400_000, limiter.try_acquire)


def keyed_subject(keys, statement, calls, name="tidegate"):
    limiter = tidegate.KeyedRateLimiter(f"{PLENTY}/s", max_keys=1_000)
    given = {"limiter": limiter, "keys": keys}
    return Subject(name, tidegate.__version__, statement, given, calls, lambda: limiter.try_acquire(keys[0]))


def addresses(count):
    """Keys as services have them: addresses with a port, in no order."""
    return [
        f"203.0.{number // 256 % 256}.{number % 256}:{number}"
        for number in random.Random(1).sample(range(count), count)
    ]


def same_work():
    """Each admits as many of the same calls, before anything is timed."""
    calls, limit = 2_000, 1_000
    subjects = {
        "tidegate": tidegate.RateLimiter(f"{limit}/h").try_acquire,
        "tidegate fixed_window": tidegate.RateLimiter(f"{limit}/h fixed_window").try_acquire,
        "limits": Limits(limit, 3600).hit,
    }
    admitted = {name: sum(bool(ask()) for _ in range(calls)) for name, ask in subjects.items()}
    assert set(admitted.values()) == {limit}, admitted
    ours, theirs = tidegate.KeyedRateLimiter("10/h", max_keys=1_000), Limits(10, 3600)
    for key in addresses(100):
        admitted_of_key = [sum(bool(ask(key)) for _ in range(20)) for ask in (ours.try_acquire, theirs.hit)]
        assert admitted_of_key == [10, 10], (key, admitted_of_key)
    ours, theirs = tidegate.ConcurrencyLimiter(10), threading.Semaphore(10)
    held = [permit for permit in (ours.try_acquire() for _ in range(20)) if permit]
    taken = sum(theirs.acquire(blocking=False) for _ in range(20))
    assert len(held) == taken == 10, (len(held), taken)
    for permit in held:
        permit.release()
    told = ", ".join(f"{name} {count:,}" for name, count in admitted.items())
    print(f"same work: of {calls:,} calls {told} admitted; of 20 permits tidegate 10, threading 10", file=sys.stderr)


def together(case, admits, subjects):
    """Lets the subjects take turns, one round to warm up and then ROUNDS, and prints a line for each."""
    timers = []
    for subject in subjects:
        setup = "\n".join(f"{name} = given[{name!r}]" for name in subject.given)
        timers.append(timeit.Timer(subject.statement, setup, globals={"given": subject.given}))
        assert bool(subject.ask()) is admits, (case, subject.name)
    times = {subject.name: [] for subject in subjects}
    for round_number in range(ROUNDS + 1):
        for subject, timer in zip(subjects, timers, strict=True):
            executions = subject.calls // subject.keys
            time_ns = timer.timeit(executions) / (executions * subject.keys) * 1e9
            if round_number > 0:
                times[subject.name].append(time_ns)
    for subject in subjects:
        assert bool(subject.ask()) is admits, (case, subject.name)
        report(case, subject, sorted(times[subject.name]))


def report(case, subject, rising):
    """Prints the median and the tenth and ninetieth percentile of times in rising order."""
    tenths = [round(rising[(len(rising) - 1) * tenth // 10], 2) for tenth in (1, 5, 9)]
    row = {
        "language": "python",
        "case": case,
        "subject": subject.name,
        "ns_per_op": tenths[1],
        "spread": [tenths[0], tenths[2]],
        "rounds": len(rising),
        "version": subject.version,
    }
    print(json.dumps(row), flush=True)


def rate():
    together(
        "gcra allowed",
        True,
        [
            tidegate_subject(f"{PLENTY}/s"),
            tidegate_subject(f"{PLENTY}/s fixed_window", "tidegate fixed_window"),
            Limits(PLENTY, 1).subject(),
        ],
    )
    used_up = [
        tidegate_subject("1/h"),
        tidegate_subject("1/h fixed_window", "tidegate fixed_window"),
        Limits(1, 3600).subject(),
    ]
    for subject in used_up:
        assert subject.ask(), subject.name
    together("gcra refused", False, used_up)


def keyed():
    keys = addresses(1_000)
    ours = keyed_subject(keys, "for key in keys: limiter.try_acquire(key)", 200_000)
    theirs = Limits(PLENTY, 1).keyed_subject(keys)
    together("keyed gcra, 1,000 keys", True, [dataclasses.replace(ours, keys=len(keys)), theirs])
    hundred = keys[:100]
    together(
        "keyed gcra, 100 keys in one call",
        True,
        [
            keyed_subject(hundred, "limiter.try_acquire_many(keys)", 2_000),
            keyed_subject(hundred, "[limiter.try_acquire(key) for key in keys]", 2_000, "tidegate single calls"),
        ],
    )


def concurrency():
    limiter, semaphore = tidegate.ConcurrencyLimiter(10), threading.Semaphore(10)
    ours = ("tidegate", tidegate.__version__)
    theirs = ("threading.Semaphore", platform.python_version())
    together(
        "concurrency try_acquire + release",
        True,
        [
            Subject(*ours, "limiter.try_acquire().release()", {"limiter": limiter}, 200_000),
            Subject(
                *theirs, "semaphore.acquire(blocking=False); semaphore.release()", {"semaphore": semaphore}, 40_000
            ),
        ],
    )
    together(
        "concurrency scoped",
        True,
        [
            Subject(*ours, "with limiter: pass", {"limiter": limiter}, 200_000),
            Subject(*theirs, "with semaphore: pass", {"semaphore": semaphore}, 40_000),
        ],
    )
    assert limiter.in_flight == 0


async def rounds_of(subjects, calls):
    """The time of each subject's loop, in turns; the loops are code of the same shape, as users write it."""
    times = {subject: [] for subject in subjects}
    for round_number in range(ROUNDS + 1):
        for subject, loop in subjects.items():
            began = time.perf_counter_ns()
            await loop(calls)
            if round_number > 0:
                times[subject].append((time.perf_counter_ns() - began) / calls)
    return times


def blocks_of(limiter):
    async def loop(calls):
        for _ in itertools.repeat(None, calls):
            async with limiter:
                pass

    return loop


async def tasks():
    """What a task pays that needn't wait."""
    limiter, semaphore = tidegate.ConcurrencyLimiter(10), asyncio.Semaphore(10)
    times = await rounds_of({"tidegate": blocks_of(limiter), "asyncio.Semaphore": blocks_of(semaphore)}, 50_000)
    for name, version in (("tidegate", tidegate.__version__), ("asyncio.Semaphore", platform.python_version())):
        report("concurrency scoped, async", Subject(name, version, "", {}, 0), sorted(times[name]))
    assert limiter.in_flight == 0
    assert limiter.stats().allowed == limiter.stats().released_ok == 50_000 * (ROUNDS + 1)


def gate():
    """From enter to release, with one rule that matches."""
    rule = {"name": "api", "match": {"path": {"prefix": "/api/"}}, "concurrency": 100}
    it = tidegate.Gate([rule])
    one = Subject("tidegate", tidegate.__version__, 'gate.enter(path="/api/users/17").release()', {"gate": it}, 100_000)
    together("gate, 1 rule", True, [one])
    assert it.stats().rules["api"].in_flight == 0


def requests():
    """Nanoseconds a request of a web service, as whoever asks it sees them."""
    for name, times in web.times(ROUNDS).items():
        report(web.CASE, Subject(name, web.SUBJECTS[name], "", {}, 0), sorted(times))


def main():
    same_work()
    rate()
    keyed()
    concurrency()
    gate()
    asyncio.run(tasks())
    requests()


if __name__ == "__main__":
    main()
