"""P12, P13: after any storm nothing is lost and nothing is left."""

import asyncio
import contextlib
import random
import threading
import tracemalloc

from tidegate import ConcurrencyLimiter, Refused, TimedOut

ROUNDS = 20_000
THREADS = 8
TASKS = 100


def settled(limiter, limit):
    limiter.limit = limit
    assert (limiter.in_flight, limiter.waiting, limiter.available) == (0, 0, limit)
    stats = limiter.stats()
    assert stats.allowed == stats.released_ok + stats.released_failed
    assert stats.allowed > 0


def test_a_storm_of_threads():
    limiter, failed = ConcurrencyLimiter(4, max_waiters=6), []

    def run(seed):
        dice = random.Random(seed)
        try:
            for _ in range(ROUNDS // THREADS):
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
    settled(limiter, 4)


def test_a_storm_of_tasks():
    limiter = ConcurrencyLimiter(4, max_waiters=60)

    async def one(dice):
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
                limiter.limit = dice.randint(0, 5)
                limiter.limit = 4
            await asyncio.wait([task])

    async def main():
        await asyncio.gather(*map(run, range(TASKS)))

    asyncio.run(main())
    settled(limiter, 4)
    assert limiter.stats().cancelled > 0
    assert limiter.stats().timed_out > 0


def test_a_storm_of_threads_and_of_tasks_on_several_loops():
    limiter, failed = ConcurrencyLimiter(2), []

    def run_thread(seed):
        dice = random.Random(seed)
        for _ in range(ROUNDS // 20):
            with contextlib.suppress(TimedOut):
                limiter.acquire(dice.randint(1, 2), timeout=dice.choice([0, 1e-4, 20])).release()

    async def worker(dice):
        for _ in range(ROUNDS // 200):
            task = asyncio.create_task(limiter.acquire_async(dice.randint(1, 2)))
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
    settled(limiter, 2)


def test_p12_waits_that_are_begun_and_cancelled_leave_nothing_behind():
    limiter = ConcurrencyLimiter(1)

    async def waits(number):
        for _ in range(number // 100):
            tasks = [asyncio.create_task(limiter.acquire_async()) for _ in range(100)]
            await asyncio.sleep(0)
            assert limiter.waiting == 100
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

    with limiter:
        asyncio.run(main())
    settled(limiter, 1)
