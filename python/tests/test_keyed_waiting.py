"""Waiting for keys: what is so only because there are several. What holds for one is tested with what has none."""

import asyncio
import contextlib
import gc
import time
import tracemalloc

import pytest
from tidegate import (
    Closed,
    ConcurrencyLimiter,
    ConfigError,
    ExceedsCapacity,
    KeyedConcurrencyLimiter,
    KeyedRateLimiter,
    Permit,
    QueueFull,
    Refused,
    TimedOut,
)
from waiters import Waiter, until


@pytest.fixture(params=["rate", "concurrency"])
def limiter(request, clock):
    """A keyed limiter of either kind that admits a key once."""
    options = {"clock": clock, "max_waiters": 2}
    if request.param == "rate":
        return KeyedRateLimiter("1/s", **options)
    return KeyedConcurrencyLimiter(1, max_keys=1_000, **options)


@pytest.fixture
def at_once():
    """A limiter of one permit of each key, which must all be back in the end."""
    limiter = KeyedConcurrencyLimiter(1, max_keys=1_000)
    yield limiter
    assert (limiter.stats().in_flight, limiter.stats().waiting, limiter.stats().live_keys) == (0, 0, 0)


def waiting_for(limiter, key, count, call, *args, **kwargs):
    """A thread that waits for the key, as the last of so many."""
    waiter = Waiter(call, *args, **kwargs)
    until(lambda: limiter.waiting(key) == count or not waiter.is_waiting)
    assert limiter.waiting(key) == count, waiter.error
    return waiter


def taken(limiter, key):
    """Takes what the limiter grants the key once, for a block."""
    return limiter.acquire(key) or contextlib.nullcontext()


async def steps(number=5):
    for _ in range(number):
        await asyncio.sleep(0)


def test_each_key_has_a_line_of_its_own(limiter):
    with taken(limiter, "ann"), taken(limiter, "bob"):
        for key in ("ann", "bob"):
            with pytest.raises(TimedOut):
                limiter.acquire(key, timeout=0)
            assert (limiter.waiting(key), limiter.stats().waiting) == (0, 0)
    assert limiter.stats().timed_out == 2


def test_who_is_next_is_told_by_the_key_alone(at_once):
    ann, bob = at_once.acquire("ann"), at_once.acquire("bob")
    for_ann = waiting_for(at_once, "ann", 1, at_once.acquire, "ann")
    for_bob = [waiting_for(at_once, "bob", count, at_once.acquire, "bob") for count in (1, 2)]
    assert (at_once.stats().waiting, at_once.available("ann"), at_once.available("eve")) == (3, 0, 1)
    bob.release()
    for_bob[0].join().release()
    for_bob[1].join().release()
    assert for_ann.is_waiting
    ann.release()
    for_ann.join().release()


def test_text_and_bytes_of_one_key_stand_in_one_line(at_once):
    with at_once.acquire("é"):
        waiter = waiting_for(at_once, "é", 1, at_once.acquire, "é".encode())
        with pytest.raises(
            TimedOut, match=r"^timed out: 1 permit asked for key b'\\xc3\\xa9', limit 1, 1 in flight, 1 wait"
        ):
            at_once.acquire("é".encode(), timeout=0.001)
    waiter.join().release()


@pytest.mark.parametrize("key", ["", b"", "\0", b"\xff\0", "x" * 2**20, "\ud800", "__proto__"])
def test_k3_any_key_can_be_waited_for(at_once, key):
    async def main():
        with at_once.acquire(key):
            task = asyncio.create_task(at_once.acquire_async(key))
            await steps()
            assert at_once.waiting(key) == 1
            with pytest.raises(TimedOut) as raised:
                await at_once.acquire_async(key, timeout=0)
            assert len(str(raised.value)) < 600
        (await task).release()

    asyncio.run(main())


def test_as_many_wait_for_each_key_as_may(limiter):
    keys = ("ann", "bob")

    async def main():
        tasks = [asyncio.create_task(limiter.acquire_async(key)) for key in keys * 2]
        await steps()
        for key in keys:
            with pytest.raises(QueueFull, match=rf"^queue full: 1 (permit|token) asked for key '{key}', .*, 2 waiting"):
                await limiter.acquire_async(key)
        assert limiter.stats().waiting == 4
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    with taken(limiter, "ann"), taken(limiter, "bob"):
        asyncio.run(main())
    assert (limiter.stats().waiting, limiter.stats().cancelled, limiter.stats().denied) == (0, 4, 2)


def test_a_permit_of_a_key_is_scoped_as_any():
    limiter = KeyedConcurrencyLimiter(2, max_keys=10)
    with limiter.acquire("ann") as permit:
        assert isinstance(permit, Permit)
        assert limiter.in_flight("ann") == 1

    async def main():
        with await limiter.acquire_async("ann"):
            assert limiter.in_flight("ann") == 1
        async with await limiter.acquire_async("ann", 2) as permit:
            assert (permit.permits, limiter.in_flight("ann")) == (2, 2)
        assert permit.released
        with pytest.raises(ConfigError, match=r"^permit: got one that was released before"):
            async with permit:
                pytest.fail("entered")
        with pytest.raises(KeyError):
            async with await limiter.acquire_async("ann"):
                raise KeyError
        async with await ConcurrencyLimiter(1).acquire_async() as permit:
            assert not permit.released

    asyncio.run(main())
    assert (limiter.stats().released_ok, limiter.stats().released_failed) == (3, 1)


def test_tokens_of_each_key_are_had_when_they_are_due(clock):
    limiter = KeyedRateLimiter("1/s; 3/min", clock=clock)
    assert limiter.acquire("ann") is None
    clock.advance(0.5)
    limiter.acquire("bob")

    async def main():
        ann, bob = (asyncio.create_task(limiter.acquire_async(key)) for key in ("ann", "bob"))
        await steps()
        assert (limiter.try_acquire_many(["ann", "bob", "eve"]), limiter.waiting("ann")) == ([False, False, True], 1)
        clock.advance(0.5)
        await steps()
        assert (ann.done(), bob.done()) == (True, False)
        assert limiter.peek("bob").retry_after == 1.5
        clock.advance(0.5)
        await bob

    asyncio.run(main())


def test_a_key_is_waited_for_by_quotas_of_its_own(clock):
    limiter = KeyedRateLimiter("1/min", clock=clock)
    limiter.acquire("ann")
    waiter = waiting_for(limiter, "ann", 1, limiter.acquire, "ann")
    limiter.set_quota("ann", "1/s")
    clock.advance(1)
    waiter.join()
    with pytest.raises(TimedOut):
        limiter.acquire("ann", timeout=0.999)
    limiter.acquire("bob")
    with pytest.raises(TimedOut):
        limiter.acquire("bob", timeout=59)


def test_close_ends_the_waits_for_all_keys():
    limiter = KeyedConcurrencyLimiter(1, max_keys=10)
    held = [limiter.acquire(key) for key in "ab"]
    waiters = [waiting_for(limiter, key, 1, limiter.acquire, key) for key in "ab"]
    assert not limiter.closed
    limiter.close()
    for waiter in waiters:
        with pytest.raises(Closed):
            waiter.join()
    with pytest.raises(Closed):
        limiter.acquire("c")
    with pytest.raises(Closed, match=r"^closed: 1 permit asked for key 'c'$"):
        limiter.guard(key="c")(print)()
    assert (limiter.closed, limiter.available("c"), limiter.try_acquire("c")) == (True, 0, None)
    for permit in held:
        permit.release()


def test_a_new_key_without_room_is_not_waited_for(clock):
    at_once = KeyedConcurrencyLimiter(1, max_keys=1, clock=clock)
    held = [at_once.acquire(str(number)) for number in range(8)]
    rate = KeyedRateLimiter("1/min", max_keys=1, when_full="deny_new", clock=clock)
    rate.try_acquire_many(map(str, range(8)))
    for limiter, limit in ((at_once, "1, 0 in flight"), (rate, "1/min")):
        with pytest.raises(Refused) as raised:
            limiter.acquire("new", timeout=300)
        assert type(raised.value) is Refused
        assert str(raised.value) == (
            f"refused: no room for key 'new' beside those that count already (max_keys=1), limit {limit}, 0 waiting,"
            " waited 0 s of 300 s"
        )
    held.pop().release()
    at_once.acquire("new").release()
    for permit in held:
        permit.release()


def test_who_waits_keeps_the_key_in_its_place(clock):
    limiter = KeyedRateLimiter("1/s burst 2", max_keys=1, clock=clock)
    limiter.acquire("ann", 2)

    async def main():
        task = asyncio.create_task(limiter.acquire_async("ann", 2))
        await steps()
        for number in range(1_000):
            limiter.try_acquire(str(number))
        assert limiter.waiting("ann") == 1
        clock.advance(1)
        await steps()
        assert not task.done()
        clock.advance(1)
        await task

    asyncio.run(main())
    assert limiter.peek("ann").remaining == 0


def test_l3_a_closed_loop_is_passed_on_by_who_comes_for_the_same_key():
    limiter = KeyedRateLimiter("50/s burst 1")
    limiter.acquire("ann"), limiter.acquire("bob")
    loop = asyncio.new_event_loop()
    tasks = [loop.create_task(limiter.acquire_async(key)) for key in ("bob", "ann")]
    loop.run_until_complete(steps())
    loop.close()
    began = time.monotonic()
    asyncio.run(limiter.acquire_async("bob", timeout=20))
    assert (limiter.waiting("ann"), limiter.waiting("bob")) == (1, 0)
    asyncio.run(limiter.acquire_async("ann", timeout=20))
    assert limiter.waiting("ann") == 0
    assert time.monotonic() - began < 15
    for task in tasks:
        task._log_destroy_pending = False


def test_the_key_of_a_call_is_waited_for_by_every_kind_of_function(at_once):
    class Service:
        @at_once.guard(key=lambda self, user: user, timeout=20)
        def method(self, user):
            return at_once.in_flight(user)

        @at_once.guard(key=lambda user: user, timeout=None)
        @staticmethod
        def generator(user):
            yield at_once.in_flight(user)

        @at_once.guard(key=lambda self, user: user, timeout=20)
        async def coroutine(self, user):
            await asyncio.sleep(0)
            return at_once.in_flight(user)

        @at_once.guard(key=lambda self, user: user, timeout=None)
        async def async_generator(self, user):
            await asyncio.sleep(0)
            yield at_once.in_flight(user)

    service = Service()
    for call in (service.method, lambda user: next(service.generator(user))):
        with at_once.acquire("ann"):
            assert call("bob") == 1
            waiter = waiting_for(at_once, "ann", 1, call, "ann")
        assert waiter.join() == 1

    async def only(iterator):
        [value] = [value async for value in iterator]
        return value

    async def main():
        users = ("ann", "bob") * 3
        assert await asyncio.gather(*map(service.coroutine, users)) == [1] * 6
        assert await asyncio.gather(*(only(service.async_generator(user)) for user in users)) == [1] * 6

    asyncio.run(main())


def test_a_guard_waits_for_tokens_of_the_key(clock):
    limiter = KeyedRateLimiter("1/s burst 2", clock=clock)

    @limiter.guard(key=lambda user: user, cost=2, timeout=2)
    def body(user):
        return user

    assert (body("ann"), body("bob")) == ("ann", "bob")
    waiter = waiting_for(limiter, "ann", 1, body, "ann")
    with pytest.raises(TimedOut, match=r"^timed out: 2 tokens asked for key 'ann', limit 1/s burst 2, 1 waiting, "):
        body("ann")
    clock.advance(2)
    assert waiter.join() == "ann"
    with pytest.raises(ExceedsCapacity, match=r"^3 tokens can never be had for key 'ann', limit 1/s burst 2, "):
        limiter.guard(key="ann", cost=3, timeout=None)(print)()


@pytest.mark.parametrize("timeout", [0, 0.0])
def test_a_guard_with_a_timeout_of_0_refuses_at_once_as_one_without(limiter, timeout):
    body = limiter.guard(key="ann", timeout=timeout)(lambda: "done")
    with taken(limiter, "ann"), pytest.raises(Refused) as raised:
        body()
    assert type(raised.value) is Refused
    assert (limiter.stats().denied, limiter.stats().timed_out) == (1, 0)


def test_what_the_key_function_raises_is_raised_by_the_call_and_nobody_waits(limiter):
    def body(user):
        pytest.fail("ran")

    async def coroutine(user):
        pytest.fail("ran")

    guard = limiter.guard(key=lambda user: user["name"], timeout=None)
    for call in (guard(body), lambda user: asyncio.run(guard(coroutine)(user))):
        with pytest.raises(KeyError, match="name"):
            call({})
        with pytest.raises(TypeError, match=r"^key: got 5 \(int\); allowed: a str or bytes$"):
            call({"name": 5})
    assert limiter.stats().allowed == limiter.stats().waiting == 0


def test_p12_waits_for_ever_new_keys_leave_nothing_behind():
    limiter = KeyedRateLimiter("1/h", max_keys=1_000)

    async def waits(first, number):
        for start in range(first, first + number, 100):
            keys = [f"key {each}" for each in range(start, start + 100)]
            limiter.try_acquire_many(keys)
            tasks = [asyncio.create_task(limiter.acquire_async(key)) for key in keys]
            await asyncio.sleep(0)
            assert limiter.stats().waiting == 100
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def main():
        await waits(0, 1_000)
        tracemalloc.start()
        await waits(1_000, 1_000)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await waits(2_000, 10_000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert grown < 50_000

    asyncio.run(main())
    assert limiter.stats().cancelled == 12_000
