"""So many at once, for threads that find a permit at hand."""

import platform
import sys
import threading

import tidegate
from rounds import OURS, Subject, together

PERMITS = 10
# What is timed, of ours and of the standard library's.
CASES = {
    "concurrency try_acquire + release": (
        "limiter.try_acquire().release()",
        "semaphore.acquire(blocking=False); semaphore.release()",
    ),
    "acquire + release": ("limiter.acquire().release()", "semaphore.acquire(); semaphore.release()"),
    "concurrency scoped": ("with limiter: pass", "with semaphore: pass"),
}


def same_work():
    """Each lends as many, and no more."""
    ours, theirs = tidegate.ConcurrencyLimiter(PERMITS), threading.Semaphore(PERMITS)
    held = [permit for permit in (ours.try_acquire() for _ in range(2 * PERMITS)) if permit]
    taken = sum(theirs.acquire(blocking=False) for _ in range(2 * PERMITS))
    assert len(held) == taken == PERMITS, (len(held), taken)
    for permit in held:
        permit.release()
    print(f"same work: tidegate and threading.Semaphore lend {PERMITS} of {2 * PERMITS} permits", file=sys.stderr)


def all_cases():
    limiter, semaphore = tidegate.ConcurrencyLimiter(PERMITS), threading.Semaphore(PERMITS)
    free = "semaphore.acquire(blocking=False) and semaphore.release() is None"
    for case, (ours, theirs) in CASES.items():
        subjects = [
            Subject(*OURS, ours, {"limiter": limiter}, "limiter.in_flight == 0"),
            Subject("threading.Semaphore", platform.python_version(), theirs, {"semaphore": semaphore}, free),
        ]
        together(case, True, subjects)
