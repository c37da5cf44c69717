"""A wait that would block the thread of an event loop is refused: who could end it would never run."""

import asyncio

import pytest
import tidegate
from tidegate import ConcurrencyLimiter, Gate, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter

HELD_UP = "would hold up the event loop"


def concurrency():
    limiter = ConcurrencyLimiter(1)
    return limiter, limiter.acquire(), limiter.acquire


def keyed_concurrency():
    limiter = KeyedConcurrencyLimiter(1)
    return limiter, limiter.acquire("key"), lambda **options: limiter.acquire("key", **options)


def rate():
    limiter = RateLimiter("1/h")
    return limiter, limiter.acquire(), limiter.acquire


def keyed_rate():
    limiter = KeyedRateLimiter("1/h")
    return limiter, limiter.acquire("key"), lambda **options: limiter.acquire("key", **options)


@pytest.mark.parametrize("spent", [concurrency, keyed_concurrency, rate, keyed_rate])
def test_a_wait_on_the_thread_of_a_loop_is_refused_and_leaves_nothing_behind(spent):
    limiter, permit, acquire = spent()

    async def main():
        with pytest.raises(RuntimeError, match=HELD_UP):
            acquire()
        with pytest.raises(RuntimeError, match=HELD_UP):
            acquire(timeout=7200)
        with pytest.raises(tidegate.TimedOut):
            acquire(timeout=0)

    asyncio.run(main())
    assert limiter.stats().waiting == 0
    if permit:
        permit.release()


def test_what_is_free_is_had_on_the_thread_of_a_loop_too():
    async def main():
        limiter = ConcurrencyLimiter(1)
        with limiter:
            assert limiter.in_flight == 1
            with pytest.raises(RuntimeError, match=HELD_UP), limiter:
                pass
        assert limiter.in_flight == 0

    asyncio.run(main())


def test_a_thread_beside_the_loop_waits():
    async def main():
        limiter = ConcurrencyLimiter(1)
        permit = limiter.acquire()
        waiter = asyncio.create_task(asyncio.to_thread(limiter.acquire))
        while limiter.waiting == 0:
            await asyncio.sleep(0)
        permit.release()
        (await waiter).release()

    asyncio.run(main())


def test_a_guarded_function_that_would_wait_is_refused():
    limiter = ConcurrencyLimiter(1)

    @limiter.guard(timeout=60)
    def work():
        return "done"

    async def main():
        assert work() == "done"
        with limiter, pytest.raises(RuntimeError, match=HELD_UP):
            work()

    asyncio.run(main())


def test_a_gate_that_would_wait_is_refused_and_takes_nothing():
    rules = [{"name": "first", "concurrency": 2}, {"name": "second", "concurrency": 1, "timeout": "1h"}]
    gate = Gate(rules)

    async def main():
        with gate.enter(), pytest.raises(RuntimeError, match=HELD_UP):
            gate.enter()
        with gate.enter():
            pass

    asyncio.run(main())
    assert [rule.in_flight for rule in gate.stats().rules.values()] == [0, 0]
