"""L13: a guard with a timeout waits as what it guards: threads for functions, tasks for async ones."""

import asyncio
import inspect
from datetime import timedelta

import pytest
from tidegate import Closed, ConfigError, ExceedsCapacity, Refused, TimedOut
from waiters import waiting


def test_a_function_waits_for_its_permits(concurrency):
    limiter = concurrency(2)

    @limiter.guard(permits=2, timeout=20)
    def body(value):
        return value, limiter.in_flight

    with limiter:
        waiter = waiting(limiter, 1, body, "x")
    assert waiter.join() == ("x", 2)
    assert limiter.in_flight == 0


def test_a_function_waits_for_its_tokens(clock, rate):
    limiter = rate("1/s", clock=clock)
    body = limiter.guard(timeout=None)(lambda: "done")
    assert body() == "done"
    waiter = waiting(limiter, 1, body)
    clock.advance(1)
    assert waiter.join() == "done"


def test_an_async_function_waits_without_blocking_its_loop(concurrency):
    limiter = concurrency(1)

    @limiter.guard(timeout=20)
    async def body(value):
        await asyncio.sleep(0)
        return value, limiter.in_flight

    async def main():
        assert await asyncio.gather(*map(body, range(5))) == [(number, 1) for number in range(5)]

    asyncio.run(main())
    assert inspect.iscoroutinefunction(body)
    assert limiter.in_flight == 0


def test_an_async_function_waits_for_its_tokens(clock, rate):
    limiter = rate("1/s", clock=clock)

    @limiter.guard(timeout=timedelta(seconds=1))
    async def body():
        return "done"

    async def main():
        tasks = [asyncio.create_task(body()) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(TimedOut):
            await tasks[2]
        assert limiter.waiting == 1
        clock.advance(1)
        assert await asyncio.gather(*tasks[:2]) == ["done", "done"]

    asyncio.run(main())


def test_a_generator_waits_when_its_body_starts(concurrency):
    limiter = concurrency(1)

    @limiter.guard(timeout=None)
    def body():
        yield limiter.in_flight

    with limiter:
        waiter = waiting(limiter, 1, lambda: list(body()))
    assert waiter.join() == [1]
    assert limiter.in_flight == 0


def test_an_async_generator_waits_when_its_body_starts(concurrency):
    limiter = concurrency(1)

    @limiter.guard(timeout=None)
    async def body():
        yield limiter.in_flight
        await asyncio.sleep(0)
        yield limiter.in_flight

    async def run():
        return [value async for value in body()]

    async def main():
        assert await asyncio.gather(*(run() for _ in range(4))) == [[1, 1]] * 4

    asyncio.run(main())
    assert limiter.in_flight == 0


def test_methods_of_every_kind_wait(concurrency):
    limiter = concurrency(1)

    class Service:
        @limiter.guard(timeout=None)
        def method(self):
            return "method"

        @limiter.guard(timeout=None)
        @staticmethod
        def static():
            return "static"

        @classmethod
        @limiter.guard(timeout=None)
        async def coroutine(cls):
            return cls.__name__

    service = Service()
    for call, result in (
        (service.method, "method"),
        (Service.static, "static"),
        (lambda: asyncio.run(service.coroutine()), "Service"),
    ):
        with limiter:
            waiter = waiting(limiter, 1, call)
        assert waiter.join() == result


@pytest.mark.parametrize("timeout", [0, 0.0, timedelta(0)])
def test_a_timeout_of_0_refuses_at_once_as_a_guard_without_one(clock, timeout, rate):
    limiter = rate("1/s", clock=clock)
    body = limiter.guard(timeout=timeout)(lambda: "done")
    assert body() == "done"
    with pytest.raises(Refused) as raised:
        body()
    assert type(raised.value) is Refused
    assert raised.value.decision.status == "denied"
    assert (limiter.stats().denied, limiter.stats().timed_out) == (1, 0)


def test_refusals_of_a_wait_fly_out_of_the_call(clock, concurrency):
    limiter = concurrency(1, clock=clock)

    @limiter.guard(timeout=5)
    def body():
        pytest.fail("ran")

    @limiter.guard(permits=2, timeout=5)
    async def too_much():
        pytest.fail("ran")

    with limiter:
        waiter = waiting(limiter, 1, body)
        clock.advance(5)
        with pytest.raises(TimedOut):
            waiter.join()
    with pytest.raises(ExceedsCapacity):
        asyncio.run(too_much())
    limiter.close()
    with pytest.raises(Closed):
        body()


@pytest.mark.parametrize("timeout", [-1, float("inf"), True, "1"])
def test_a_wrong_timeout_is_named_when_the_guard_is_made(waitable, timeout):
    with pytest.raises((ConfigError, TypeError), match=r"^timeout: got .*; allowed: seconds from 0"):
        waitable.guard(timeout=timeout)


def test_a_cancelled_async_function_leaves_the_queue(concurrency):
    limiter = concurrency(1)

    @limiter.guard(timeout=None)
    async def body():
        pytest.fail("ran")

    async def main():
        with limiter:
            task = asyncio.create_task(body())
            await asyncio.sleep(0)
            assert limiter.waiting == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert limiter.waiting == 0

    asyncio.run(main())
    assert limiter.in_flight == 0
