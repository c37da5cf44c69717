"""Rules that let requests wait: on threads, and as tasks of asyncio."""

import asyncio
import contextvars
import gc
import signal
import threading
import time
import weakref

import pytest
from tidegate import ConfigError, Gate, GateRefused
from waiters import Waiter, until


def stats(gate):
    return gate.stats().rules["one"]


@pytest.fixture
def gate():
    """One permit, which is waited for however long; it must be back in the end."""
    it = Gate([{"name": "one", "concurrency": 1, "timeout": "1h"}])
    yield it
    until(lambda: stats(it).waiting == 0)
    assert stats(it).in_flight == 0


@pytest.fixture
def tokens(clock):
    return Gate([{"name": "one", "quota": "1/s", "timeout": "1h"}], clock=clock)


def waiter(gate, count, **options):
    thread = Waiter(gate.enter, **options)
    until(lambda: stats(gate).waiting == count or not thread.is_waiting)
    assert stats(gate).waiting == count, thread.error
    return thread


class TestThreads:
    def test_a_request_waits_for_a_permit_while_other_threads_run_first_come_first_served(self, gate):
        with gate.enter():
            waiters = [waiter(gate, count) for count in (1, 2, 3)]
        for number, thread in enumerate(waiters):
            entry = thread.join()
            assert [other.is_waiting for other in waiters[number + 1 :]] == [True] * (2 - number)
            entry.release()

    def test_a_request_waits_for_tokens_on_the_gates_clock(self, tokens, clock):
        tokens.enter().release()
        thread = waiter(tokens, 1)
        clock.advance(0.999)
        assert thread.is_waiting
        clock.advance(0.001)
        thread.join().release()

    def test_a_request_waits_for_tokens_in_real_time(self):
        gate = Gate([{"name": "one", "quota": "20/s burst 1", "timeout": "call"}])
        gate.enter().release()
        began = time.monotonic()
        gate.enter(timeout=10).release()
        assert time.monotonic() - began >= 0.049
        assert not gate.try_enter(timeout=0.001)

    def test_a_wait_that_would_outlast_its_timeout_is_told_with_the_figures(self, gate):
        with gate.enter():
            with pytest.raises(GateRefused) as refused:
                gate.enter(timeout=0.01)
            assert (refused.value.status, refused.value.timeout) == ("timed_out", 0.01)
            assert refused.value.elapsed >= 0.01
            assert gate.try_enter(timeout=0).status == "denied"

    @pytest.mark.parametrize("timeout", [None, 30], ids=["for as long as the rule says", "with a timeout"])
    def test_l7_ctrl_c_ends_a_wait_soon_and_takes_nothing(self, gate, timeout):
        def noticed():
            sent = []

            def send():
                until(lambda: stats(gate).waiting == 1)
                time.sleep(0.02)
                sent.append(time.monotonic())
                signal.raise_signal(signal.SIGINT)

            sender = threading.Thread(target=send)
            sender.start()
            with pytest.raises(KeyboardInterrupt):
                gate.enter(timeout=timeout)
            ended = time.monotonic() - sent[0]
            sender.join()
            return ended

        with gate.enter():
            assert min(noticed() for _ in range(3)) < 0.1
            assert (stats(gate).waiting, stats(gate).in_flight) == (0, 1)

    def test_many_threads_are_never_more_than_the_permits_at_once(self):
        # The second is about requests that have a key: those without one would be refused by it, together.
        key = {"name": "key", "match": {"k": {"glob": "*"}}, "key": "k", "concurrency": 2}
        gate = Gate([{"name": "one", "concurrency": 3, "timeout": "1h"}, key])
        lock, inside, peak = threading.Lock(), [0], [0]

        def work():
            for turn in range(50):
                with gate.try_enter(k=str(turn)) or gate.enter():
                    with lock:
                        inside[0] += 1
                        peak[0] = max(peak[0], inside[0])
                    time.sleep(0)
                    with lock:
                        inside[0] -= 1

        threads = [Waiter(work) for _ in range(8)]
        for thread in threads:
            thread.join()
        assert peak[0] <= 3
        assert (stats(gate).in_flight, gate.stats().rules["key"].in_flight) == (0, 0)


async def steps(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


class TestAsyncio:
    def test_a_block_enters_at_once_or_waits_for_its_turn(self, gate):
        async def main():
            order = []

            async def work(number):
                async with gate.enter_async(path="/") as entry:
                    order.append(number)
                    assert entry.applies
                    await steps()

            await asyncio.gather(*map(work, range(5)))
            assert order == list(range(5))
            entry = await gate.enter_async()
            entry.release()
            async with await asyncio.create_task(gate.enter_async()):
                assert stats(gate).in_flight == 1

        asyncio.run(main())

    def test_an_exception_of_the_block_counts_as_failed(self, gate):
        async def main():
            with pytest.raises(KeyError):
                async with gate.enter_async():
                    raise KeyError

        asyncio.run(main())
        assert (gate.stats().released_ok, gate.stats().released_failed) == (0, 1)

    def test_a_refusal_is_raised_by_the_coroutine_with_how_long_it_waited(self, gate):
        async def main():
            with gate.enter():
                with pytest.raises(GateRefused) as refused:
                    await gate.enter_async(timeout=0.02)
                assert refused.value.status == "timed_out"
                assert refused.value.elapsed >= 0.02
                with pytest.raises(GateRefused):
                    async with gate.enter_async(timeout=0):
                        pytest.fail("entered")

        asyncio.run(main())

    def test_tokens_are_waited_for_in_real_time_while_the_loop_runs(self):
        gate = Gate([{"name": "one", "quota": "20/s burst 1", "timeout": "1h"}])

        async def main():
            began, ticks = time.monotonic(), 0
            gate.enter().release()
            task = asyncio.create_task(gate.enter_async())
            while not task.done():
                await asyncio.sleep(0.001)
                ticks += 1
            task.result().release()
            assert time.monotonic() - began >= 0.049
            assert ticks > 2

        asyncio.run(main())

    def test_tokens_are_waited_for_on_a_manual_clock(self, tokens, clock):
        async def main():
            tokens.enter().release()
            task = asyncio.create_task(tokens.enter_async())
            await steps()
            clock.advance(1)
            (await task).release()

        asyncio.run(main())

    @pytest.mark.parametrize("order", ["cancel first", "release first"])
    def test_l2_a_cancelled_task_gives_all_back_and_the_next_goes_on(self, gate, order):
        async def main():
            held = gate.enter()
            b, c = (asyncio.create_task(gate.enter_async()) for _ in range(2))
            await steps()
            assert stats(gate).waiting == 2
            acts = [b.cancel, held.release]
            for act in acts if order == "cancel first" else reversed(acts):
                act()
            async with await asyncio.wait_for(c, 10):
                assert b.cancelled()

        asyncio.run(main())

    def test_what_was_got_while_waiting_for_more_goes_back_when_the_task_is_cancelled(self, clock):
        gate = Gate(
            [
                {"name": "one", "concurrency": 1, "timeout": "1h"},
                {"name": "tokens", "quota": "1/h", "timeout": "2h"},
            ],
            clock=clock,
        )

        async def main():
            gate.enter().release()
            task = asyncio.create_task(gate.enter_async())
            await steps()
            assert stats(gate).in_flight == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stats(gate).in_flight == 0

        asyncio.run(main())

    def test_a_release_on_another_thread_wakes_the_loop(self, gate):
        async def main():
            held = gate.enter()
            task = asyncio.create_task(gate.enter_async())
            await steps()
            thread = Waiter(held.release)
            (await asyncio.wait_for(task, 10)).release()
            thread.join()

        asyncio.run(main())

    def test_l1_tasks_of_two_loops_and_threads_share_one_line(self, gate):
        order = []

        async def task(number):
            async with gate.enter_async():
                order.append(number)

        with gate.enter():
            loops = []
            for number in range(3):
                loops.append(Waiter(asyncio.run, task(number)))
                until(lambda: stats(gate).waiting == len(loops))
        for loop in loops:
            loop.join()
        assert order == [0, 1, 2]

    @pytest.mark.parametrize("somebody_comes", [True, False])
    def test_l3_permits_are_passed_on_by_tasks_whose_loop_is_closed(self, gate, somebody_comes, capfd):
        held = gate.enter()
        loop = asyncio.new_event_loop()
        tasks = [loop.create_task(gate.enter_async()) for _ in range(3)]
        loop.run_until_complete(steps())
        loop.close()
        assert stats(gate).waiting == 3
        if somebody_comes:
            thread = waiter(gate, 1)
            held.release()
            thread.join().release()
        else:
            held.release()
        assert (stats(gate).waiting, stats(gate).in_flight) == (0, 0)
        assert capfd.readouterr() == ("", "")
        for task in tasks:
            task._log_destroy_pending = False

    def test_l3_tokens_are_passed_on_by_who_comes_next(self):
        gate = Gate([{"name": "one", "quota": "50/s burst 1", "timeout": "1h"}])
        gate.enter().release()
        loop = asyncio.new_event_loop()
        task = loop.create_task(gate.enter_async())
        loop.run_until_complete(steps())
        loop.close()

        async def main():
            async with gate.enter_async(timeout=10):
                assert stats(gate).waiting == 0

        asyncio.run(main())
        task._log_destroy_pending = False

    def test_a_closed_loop_is_collected_with_its_tasks_and_their_gate(self):
        gate = Gate([{"name": "one", "concurrency": 1, "timeout": "1h"}])
        held = gate.enter()
        loop = asyncio.new_event_loop()
        task = loop.create_task(gate.enter_async())
        task._log_destroy_pending = False
        loop.run_until_complete(steps())
        loop.close()
        gone = weakref.ref(gate)
        del gate, loop, task
        gc.collect()
        assert gone() is None
        held.release()

    def test_l11_code_after_a_wait_has_its_own_context(self, gate):
        name = contextvars.ContextVar("name")

        async def work(number):
            name.set(number)
            async with gate.enter_async():
                await steps()
                assert name.get() == number

        async def main():
            await asyncio.gather(*map(work, range(10)))

        asyncio.run(main())

    def test_l4_a_thousand_tasks_that_wait_leave_the_loop_free(self, gate):
        async def main():
            held, gaps = gate.enter(), []
            tasks = [asyncio.create_task(gate.enter_async(timeout=60)) for _ in range(1_000)]
            await steps()
            assert stats(gate).waiting == 1_000
            for _ in range(20):
                began = time.monotonic()
                await asyncio.sleep(0)
                gaps.append(time.monotonic() - began)
            for task in tasks:
                task.cancel()
            held.release()
            assert sorted(gaps)[10] < 0.01

        asyncio.run(main())

    def test_a_storm_of_tasks_that_come_and_are_cancelled_loses_nothing(self, gate):
        async def one(number):
            async with gate.enter_async():
                await asyncio.sleep(0)

        async def main():
            for turn in range(30):
                tasks = [asyncio.create_task(one(number)) for number in range(10)]
                await steps(turn % 7)
                for task in tasks[turn % 3 :: 2]:
                    task.cancel()
                await asyncio.wait(tasks, timeout=20)

        asyncio.run(main())
        with gate.enter(timeout=0):
            assert stats(gate).waiting == 0

    def test_a_coroutine_that_is_closed_or_never_awaited_takes_nothing(self, gate):
        coroutine = gate.enter_async()
        coroutine.close()
        assert gate.stats().admitted == 0

    def test_outside_of_a_loop_nothing_waits_and_nothing_is_taken(self, gate):
        with gate.enter():
            with pytest.raises(RuntimeError, match="no running event loop"):
                gate.enter_async().send(None)
            assert stats(gate).waiting == 0

    def test_a_wrong_argument_is_told_at_once(self, gate):
        with pytest.raises(ConfigError, match="cost: got 0"):
            gate.enter_async(cost=0)


class TestGuard:
    def test_a_function_a_coroutine_and_a_generator_run_while_they_are_admitted(self, gate):
        @gate.guard(path="/", timeout=0)
        def function():
            return stats(gate).in_flight

        @gate.guard({"path": "/"})
        async def coroutine():
            return stats(gate).in_flight

        @gate.guard(timeout=0)
        def generator():
            yield stats(gate).in_flight

        assert function() == 1
        assert asyncio.run(coroutine()) == 1
        assert list(generator()) == [1]
        with gate.enter(), pytest.raises(GateRefused):
            function()
        assert gate.stats().released_ok == 4

    def test_attributes_may_be_made_of_the_arguments_of_each_call(self, clock):
        gate = Gate([{"name": "one", "key": "user", "quota": "1/h"}], clock=clock)

        class Pages:
            @gate.guard(lambda self, user, *, page: {"user": user}, kind="page")
            def read(self, user, *, page):
                return page

        assert Pages().read("ann", page=7) == 7
        with pytest.raises(GateRefused):
            Pages().read("ann", page=8)
        assert Pages().read("bob", page=9) == 9
