"""What a task pays that needn't wait: permits that are free, tokens that are there."""

import asyncio
import functools
import platform
import sys
import time

import aiolimiter
import tidegate
from peers import pyrate_alone, subject, throttled_asyncio
from rounds import CHUNK, OURS, PLENTY, TURN_NS, Subject, together

PERMITS = 10
# What is timed, of ours and of the standard library's.
CASES = {
    "await acquire + release": (
        "(await limiter.acquire_async()).release()",
        "await semaphore.acquire(); semaphore.release()",
    ),
    "concurrency scoped, async": ("async with limiter: pass", "async with semaphore: pass"),
}


def awaiting_loop(of):
    return of.loop("async def loop(calls, {names})", "for _ in range(calls)")


def awaited(event_loop, of):
    """Times calls that are awaited, in a task on this event loop."""
    loop = awaiting_loop(of)

    async def turn():
        made, spent_ns = 0, 0
        while spent_ns < TURN_NS:
            began = time.perf_counter_ns()
            await loop(CHUNK)
            spent_ns += time.perf_counter_ns() - began
            made += CHUNK
        return spent_ns / made

    return lambda _round: event_loop.run_until_complete(turn())


def tokens(event_loop, limit, period_s):
    """Rate limiters that tasks wait for. Who can look without asking does."""
    pyrate = pyrate_alone(limit, period_s)
    pyrate.asks, pyrate.statement = pyrate.statement, "await limiter.try_acquire_async()"
    throttled = throttled_asyncio(limit, period_s)
    throttled.given["run"] = event_loop.run_until_complete
    ours, theirs = tidegate.RateLimiter(f"{limit}/{period_s}s"), aiolimiter.AsyncLimiter(limit, period_s)
    # It belongs to the event loop on which it is asked first.
    event_loop.run_until_complete(theirs.acquire(0))
    return [
        Subject(*OURS, "await limiter.acquire_async()", {"limiter": ours}, "limiter.peek().allowed"),
        subject("aiolimiter", "await limiter.acquire()", {"limiter": theirs}, "limiter.has_capacity()"),
        pyrate,
        throttled,
    ]


async def most_at_once(block):
    """How many of more tasks than there are permits are in the block at once."""
    inside, most = 0, 0

    async def work():
        nonlocal inside, most
        async with block:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(5 * PERMITS)))
    return most


def same_work(event_loop):
    """Each has as many at once as it lends, and admits as many of the same calls without a wait."""
    for block in (tidegate.ConcurrencyLimiter(PERMITS), asyncio.Semaphore(PERMITS)):
        most = event_loop.run_until_complete(most_at_once(block))
        assert most == PERMITS, (block, most)
    limit = 1_000
    subjects = tokens(event_loop, limit, 3_600)
    for one in subjects:
        event_loop.run_until_complete(awaiting_loop(one)(limit))
        assert not one.admitted(), one.name
    names = ", ".join(one.name for one in subjects)
    print(f"same work: tasks hold {PERMITS} permits of tidegate and asyncio.Semaphore at once", file=sys.stderr)
    print(f"same work: each of {names} admits {limit:,} tasks before one waits", file=sys.stderr)


def all_cases(event_loop):
    timed = functools.partial(awaited, event_loop)
    limiter, semaphore = tidegate.ConcurrencyLimiter(PERMITS), asyncio.Semaphore(PERMITS)
    for case, (ours, theirs) in CASES.items():
        subjects = [
            Subject(*OURS, ours, {"limiter": limiter}, "limiter.in_flight == 0"),
            Subject(
                "asyncio.Semaphore",
                platform.python_version(),
                theirs,
                {"semaphore": semaphore},
                "not semaphore.locked()",
            ),
        ]
        together(case, True, subjects, timed)
    together("await acquire, gcra", True, tokens(event_loop, PLENTY, 1), timed)
