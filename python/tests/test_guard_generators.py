"""L13: guarded generators and async generators are limited from their first item to their end."""

import asyncio
import inspect

import pytest
from tidegate import ConcurrencyLimiter, Refused


def test_a_generator_is_limited_from_its_first_item_to_its_end(limiter, used):
    @limiter.guard()
    def body():
        received = yield "first"
        yield received
        return "result"

    def outer():
        result = yield from body()
        yield result

    assert inspect.isgeneratorfunction(body)
    generator = outer()
    assert not used()
    assert next(generator) == "first"
    assert used()
    assert generator.send("sent") == "sent"
    assert next(generator) == "result"
    if isinstance(limiter, ConcurrencyLimiter):
        assert limiter.in_flight == 0
    assert limiter.stats().allowed == 1


def test_a_refused_generator_raises_at_its_first_item(at_once):
    @at_once.guard()
    def body():
        yield 1

    one, other = body(), body()
    assert next(one) == 1
    with pytest.raises(Refused):
        next(other)
    one.close()
    assert list(body()) == [1]


def test_a_generator_that_is_closed_dropped_or_thrown_into_gives_its_permit_back(at_once):
    @at_once.guard()
    def body():
        try:
            yield 1
        except KeyError:
            yield "caught"

    closed = body()
    next(closed)
    closed.close()
    assert at_once.in_flight == 0
    dropped = body()
    next(dropped)
    del dropped
    assert at_once.in_flight == 0
    never_begun = body()
    del never_begun
    thrown = body()
    next(thrown)
    assert thrown.throw(KeyError("mine")) == "caught"
    with pytest.raises(ValueError, match="mine"):
        thrown.throw(ValueError("mine"))
    stats = at_once.stats()
    assert (stats.in_flight, stats.released_ok, stats.released_failed) == (0, 2, 1)


def test_generators_that_take_turns_hold_a_permit_each():
    limiter = ConcurrencyLimiter(2)

    @limiter.guard()
    def body():
        yield limiter.in_flight
        yield limiter.in_flight

    one, other = body(), body()
    assert [next(one), next(other)] == [1, 2]
    one.close()
    assert limiter.in_flight == 1
    assert list(other) == [1]
    assert limiter.in_flight == 0


def test_an_async_generator_is_limited_from_its_first_item_to_its_end(limiter, used):
    @limiter.guard()
    async def body():
        received = yield "first"
        try:
            yield received
        except KeyError as error:
            yield error.args[0]

    async def main():
        generator = body()
        assert not used()
        assert await anext(generator) == "first"
        assert used()
        assert await generator.asend("sent") == "sent"
        assert await generator.athrow(KeyError("thrown")) == "thrown"
        with pytest.raises(StopAsyncIteration):
            await anext(generator)

    assert inspect.isasyncgenfunction(body)
    asyncio.run(main())
    assert limiter.stats().allowed == 1
    if isinstance(limiter, ConcurrencyLimiter):
        assert limiter.in_flight == 0


def test_an_async_generator_that_is_closed_or_fails_runs_its_own_end_first(at_once):
    told = []

    @at_once.guard()
    async def body():
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            told.append(at_once.in_flight)

    async def main():
        closed = body()
        await anext(closed)
        with pytest.raises(Refused):
            await anext(body())
        await closed.aclose()
        failed = body()
        await anext(failed)
        with pytest.raises(ValueError, match="mine"):
            await failed.athrow(ValueError("mine"))
        async for item in body():
            assert item == 1

    asyncio.run(main())
    stats = at_once.stats()
    assert told == [1, 1, 1]
    assert (stats.released_ok, stats.released_failed) == (2, 1)


def test_an_async_generator_that_is_left_behind_gives_its_permit_back_with_its_loop(at_once):
    @at_once.guard()
    async def body():
        yield 1
        yield 2

    async def main():
        async for _ in body():
            break

    asyncio.run(main())
    assert at_once.in_flight == 0
