"""P12, P13: after any storm nothing is lost and nothing is left."""

import asyncio
import contextlib
import random
import threading
import tracemalloc

import pytest
from one_key import OneKey
from tidegate import ConcurrencyLimiter, KeyedConcurrencyLimiter, Refused, TimedOut

ROUNDS = 20_000
THREADS = 8
TASKS = 100


@pytest.fixture
def lenders(keyed):
    """Makes what lends permits: a limiter, or several keys of one."""

    def make(limit, **options):
        if not keyed:
            return [ConcurrencyLimiter(limit, **options)]
        limiter = KeyedConcurrencyLimiter(limit, max_keys=100, **options)
        return [OneKey(limiter, f"key {number}") for number in range(5)]

    return make


def settled(lenders, limit):
    for lender in lenders:
        lender.limit = limit
        assert (lender.in_flight, lender.waiting, lender.available) == (0, 0, limit)
    stats = lenders[0].stats()
    assert (stats.in_flight, stats.waiting) == (0, 0)
    assert stats.allowed == stats.released_ok + stats.released_failed
    assert stats.allowed > 0
    return stats


def test_a_storm_of_threads(lenders):
    limiters, failed = lenders(4, max_waiters=6), []

    def run(seed):
        dice = random.Random(seed)
        try:
            for _ in range(ROUNDS // THREADS):
                limiter = dice.choice(limiters)
                try:
                    with limiter.acquire(dice.randint(1, 4), timeout=dice.choice([0, 1e-5, 1e-4, 1e-3, 20])) as permit:
                        assert limiter.in_flight >= 1
                        if dice.random() < 0.3:
                            permit.release(ok=dice.random() < 0.5)
                except Refused:
                    pass
                if dice.random() < 0.02:
                    limiter.limit = dice.randint(0, 5)
                    limiter.limit = 4
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    settled(limiters, 4)


def test_a_storm_of_tasks(lenders):
    limiters = lenders(4, max_waiters=60)

    async def one(dice):
        limiter = dice.choice(limiters)
        try:
            with await limiter.acquire_async(dice.randint(1, 4), timeout=dice.choice([0, 1e-4, 1e-3, None])):
                if dice.random() < 0.7:
                    await asyncio.sleep(0)
        except Refused:
            pass

    async def run(seed):
        dice = random.Random(seed)
        for _ in range(ROUNDS // TASKS):
            task = asyncio.create_task(one(dice))
            for _ in range(dice.randint(0, 3)):
                await asyncio.sleep(0)
            if dice.random() < 0.3:
                task.cancel()
            if dice.random() < 0.02:
                limiters[0].limit = dice.randint(0, 5)
                limiters[0].limit = 4
            await asyncio.wait([task])

    async def main():
        await asyncio.gather(*map(run, range(TASKS)))

    asyncio.run(main())
    stats = settled(limiters, 4)
    assert stats.cancelled > 0
    assert stats.timed_out > 0


def test_a_storm_of_threads_and_of_tasks_on_several_loops(lenders):
    limiters, failed = lenders(2), []

    def run_thread(seed):
        dice = random.Random(seed)
        for _ in range(ROUNDS // 20):
            with contextlib.suppress(TimedOut):
                dice.choice(limiters).acquire(dice.randint(1, 2), timeout=dice.choice([0, 1e-4, 20])).release()

    async def worker(dice):
        for _ in range(ROUNDS // 200):
            task = asyncio.create_task(dice.choice(limiters).acquire_async(dice.randint(1, 2)))
            await asyncio.sleep(dice.choice([0, 0, 1e-4]))
            if dice.random() < 0.3:
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result().release()

    async def main(seed):
        await asyncio.gather(*(worker(random.Random(seed + number)) for number in range(10)))

    def run(call, *args):
        try:
            call(*args)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(run_thread, seed)) for seed in range(3)]
    threads += [threading.Thread(target=run, args=(lambda seed: asyncio.run(main(seed)), seed)) for seed in (10, 30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    settled(limiters, 2)


def test_p12_waits_that_are_begun_and_cancelled_leave_nothing_behind(lenders):
    limiters = lenders(1)

    async def waits(number):
        for _ in range(number // 100):
            tasks = [asyncio.create_task(limiters[each % len(limiters)].acquire_async()) for each in range(100)]
            await asyncio.sleep(0)
            assert sum(limiter.waiting for limiter in limiters) == 100
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def main():
        await waits(1_000)
        tracemalloc.start()
        await waits(1_000)
        before = tracemalloc.get_traced_memory()[0]
        await waits(10_000)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert grown < 50_000

    held = [limiter.acquire() for limiter in limiters]
    asyncio.run(main())
    for permit in held:
        permit.release()
    settled(limiters, 1)
