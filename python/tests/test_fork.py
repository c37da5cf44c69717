"""L5: a child of a busy process works at once; what its parent holds is the parent's."""

import asyncio
import os
import subprocess
import sys
import threading
import time
import warnings

import pytest
from tidegate import (
    ConcurrencyLimiter,
    Forked,
    KeyedConcurrencyLimiter,
    KeyedRateLimiter,
    RateLimiter,
    Refused,
    TidegateError,
)
from waiters import waiting

FORKS = 50


def in_child(run):
    """What went wrong with run() in a child of this process, or None; it has a second."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # That there are threads is the subject.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            run()
            told = b"fine"
        except BaseException as error:
            told = repr(error).encode()
        os.write(writing, told)
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return "it hangs"
        time.sleep(0.001)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    return None if told == "fine" else told


class Limiters:
    def __init__(self):
        self.permits = ConcurrencyLimiter(2)
        self.tokens = RateLimiter("1000000/s")
        self.log = RateLimiter("1000/s sliding_log")
        self.keyed_tokens = KeyedRateLimiter("1000/s", max_keys=100, track_denied=5)
        self.keyed_permits = KeyedConcurrencyLimiter(2, max_keys=100)

    def work(self, number):
        """A bit of everything that takes a lock."""
        for limiter in (self.permits, self.tokens, self.log):
            try:
                taken = limiter.acquire(timeout=2e-5)
            except Refused:
                continue
            if taken:
                taken.release()
        self.keyed_tokens.try_acquire(str(number % 500))
        for limiter in (self.keyed_permits, self.keyed_tokens):
            try:
                taken = limiter.acquire(str(number % 3), timeout=2e-5)
            except Refused:
                continue
            if taken:
                taken.release()
        self.tokens.reconfigure(f"{900_000 + number % 2}/s")

    async def tasks(self):
        async def one():
            async with self.permits, self.tokens, await self.keyed_permits.acquire_async("shared"):
                await asyncio.sleep(0)

        await asyncio.gather(*(one() for _ in range(5)))

    def works(self):
        self.work(1)
        with self.permits.acquire(2, timeout=1):
            assert (self.permits.in_flight, self.permits.waiting) == (2, 0)
        with self.keyed_permits.acquire("shared", 2, timeout=1):
            assert (self.keyed_permits.in_flight("shared"), self.keyed_permits.waiting("shared")) == (2, 0)
        asyncio.run(self.tasks())
        assert self.permits.available == self.keyed_permits.available("shared") == 2


def test_children_of_a_busy_process_work():
    limiters, stop = Limiters(), threading.Event()

    def run(number):
        while not stop.is_set():
            limiters.work(number)
            number += 1

    def run_tasks():
        while not stop.is_set():
            asyncio.run(limiters.tasks())

    threads = [threading.Thread(target=run, args=(seed * 1_000_000,)) for seed in range(3)]
    threads.append(threading.Thread(target=run_tasks))
    for thread in threads:
        thread.start()
    told = [in_child(limiters.works) for _ in range(FORKS)]
    stop.set()
    for thread in threads:
        thread.join()
    assert told == [None] * FORKS


def test_a_child_has_permits_of_its_own_while_the_parents_waiters_wait_on(concurrency):
    limiter = concurrency(1)
    with limiter.acquire() as held:
        waiter = waiting(limiter, 1, limiter.acquire)

        def child():
            assert (limiter.in_flight, limiter.waiting, limiter.available) == (0, 0, 1)
            with limiter, pytest.raises(Refused):
                limiter.acquire(timeout=0)
            own = limiter.acquire()
            with pytest.raises(Forked, match=r"^permit: got ") as raised:
                held.release()
            assert isinstance(raised.value, TidegateError)
            with pytest.raises(Forked):
                held.release(ok=False)
            assert limiter.in_flight == 1
            own.release()
            assert limiter.available == 1

        assert in_child(child) is None
        assert (limiter.in_flight, limiter.waiting) == (1, 1)
    waiter.join().release()
    assert limiter.in_flight == 0


def test_a_block_or_a_permit_of_the_parent_ends_in_the_child_as_nothing(concurrency):
    limiter = concurrency(2)
    dropped = [limiter.acquire()]

    def child():
        limiter.__exit__(None, None, None)
        dropped[0].__exit__(None, None, None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dropped.clear()
        assert (limiter.in_flight, limiter.available) == (0, 2)
        assert limiter.stats().released_ok == 0

    with limiter:
        assert in_child(child) is None
        assert limiter.in_flight == 2
    dropped.pop().release()
    assert limiter.in_flight == 0


def test_a_child_that_is_forked_in_a_task_runs_loops_of_its_own(concurrency):
    limiter = concurrency(1)

    def child():
        # The loop of the parent counts as running here until it is told otherwise.
        asyncio._set_running_loop(None)

        async def main():
            async with limiter:
                task = asyncio.create_task(limiter.acquire_async())
                await asyncio.sleep(0)
                assert limiter.waiting == 1
            (await task).release()

        asyncio.run(main())

    async def main():
        async with limiter:
            task = asyncio.create_task(limiter.acquire_async())
            await asyncio.sleep(0)
            assert in_child(child) is None
            assert limiter.waiting == 1
        (await task).release()

    asyncio.run(main())


def test_what_is_used_for_the_first_time_imports_nothing_since_a_child_may_be_forked_meanwhile():
    script = """
import asyncio, sys

import tidegate

before = set(sys.modules)
permits, tokens = tidegate.ConcurrencyLimiter(1), tidegate.RateLimiter("1/h")
keyed = tidegate.KeyedRateLimiter("1/h", max_keys=10, track_denied=1), tidegate.KeyedConcurrencyLimiter(1, max_keys=10)
gate = tidegate.Gate([{"name": "one", "concurrency": 1, "timeout": "10s"}])
gate.listen(lambda event: None)
gate.listen(None)
gate.pull(lambda: None, every=60).stop()


@gate.guard()
@permits.guard()
async def guarded():
    async with tokens, await keyed[1].acquire_async("key"):
        pass


async def waits():
    entry = gate.enter()
    waiter = asyncio.create_task(guarded())
    await asyncio.sleep(0)
    entry.release()
    await waiter


asyncio.run(waits())
figures = gate.stats(), permits.stats(), tokens.stats(), keyed[0].stats(), keyed[1].stats(), keyed[0].top_denied(1)
print(gate.rules, str(gate.explain()), *figures)
print(sorted(set(sys.modules) - before), file=sys.stderr)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")
