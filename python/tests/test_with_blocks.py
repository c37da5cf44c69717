"""`with limiter:` where blocks of one limiter overlap in every order that Python has."""

import asyncio
import gc
import threading
import weakref
from contextlib import ExitStack

import pytest
from tidegate import ConcurrencyLimiter, ConfigError, Permit, Refused, TimedOut


@pytest.fixture
def limiter():
    limiter = ConcurrencyLimiter(10)
    yield limiter
    assert limiter.in_flight == 0


def test_holds_one_permit_and_yields_it(limiter):
    with limiter as permit:
        assert isinstance(permit, Permit)
        assert (permit.permits, limiter.in_flight) == (1, 1)
    assert permit.released


def test_waits_where_no_permit_is_free(limiter):
    with limiter.acquire(10):
        thread = threading.Thread(target=lambda: limiter.__exit__(None, None, None) if limiter.__enter__() else None)
        thread.start()
        while not limiter.waiting:
            pass
    thread.join()
    assert limiter.stats().allowed == 2


def test_a_limit_of_zero_is_a_pause():
    limiter = ConcurrencyLimiter(0)
    with pytest.raises(Refused) as raised:
        limiter.acquire(timeout=0)
    assert isinstance(raised.value, TimedOut)


def test_p2_an_exception_releases_counts_as_failed_and_flies_on(limiter):
    with pytest.raises(Refused), limiter:
        raise Refused
    assert (limiter.in_flight, limiter.stats().released_failed) == (0, 1)


def test_a_permit_that_somebody_kept_is_never_lent_again(limiter):
    with limiter as kept:
        pass
    for _ in range(3):
        with limiter:
            pass
        with limiter as another:
            assert another is not kept
            assert (kept.released, another.released) == (True, False)
            with pytest.raises(ConfigError):
                kept.release()
            del another


@pytest.mark.parametrize("keep", ["what is awaited", "what it raised", "the permit"])
def test_a_permit_that_can_still_be_had_is_never_lent_again(limiter, keep):
    def stop_of(awaited):
        # Not by pytest.raises(), which keeps more than the exception.
        try:
            next(awaited.__await__())
        except StopIteration as stop:
            return stop.with_traceback(None)

    def block():
        awaited = limiter.__aenter__()
        raised = stop_of(awaited)
        kept = {"what is awaited": awaited, "what it raised": raised, "the permit": raised.value}[keep]
        permit = id(raised.value)
        del awaited, raised
        limiter.__aexit__(None, None, None)
        return kept, permit

    kept, permit = block()
    for _ in range(3):
        assert block()[1] != permit
        with limiter as another:
            assert id(another) != permit
    del kept


def test_what_blocks_of_tasks_await_serves_the_next(limiter):
    async def main():
        for _ in range(3):
            async with limiter:
                pass
        seen = set()
        for _ in range(100):
            async with limiter as permit:
                seen.add(id(permit))
            del permit
        return seen

    assert len(asyncio.run(main())) == 1


def test_nested_blocks_end_from_the_inside_out(limiter):
    with limiter as outer:
        with limiter as inner:
            assert limiter.in_flight == 2
        assert (outer.released, inner.released) == (False, True)
        with limiter as second:
            pass
        assert (outer.released, second.released) == (False, True)
    assert outer.released


def test_the_permit_may_be_released_inside_its_block(limiter):
    with limiter as outer:
        with limiter as inner:
            inner.release()
            assert limiter.in_flight == 1
        assert not outer.released
        with limiter:
            outer.release()
            assert limiter.in_flight == 1
        assert limiter.in_flight == 0


def test_a_recursive_function_has_a_block_for_each_call(limiter):
    seen = []

    def recurse(depth):
        with limiter as permit:
            if depth:
                recurse(depth - 1)
            assert not permit.released
            seen.append(limiter.in_flight)

    recurse(4)
    assert seen == [5, 4, 3, 2, 1]


def test_threads_end_their_own_blocks_in_whatever_order(limiter):
    enter, leave = threading.Barrier(9), [threading.Event() for _ in range(8)]
    permits, own = [None] * 8, [None] * 8

    def run(number):
        with limiter as permit:
            permits[number] = permit
            enter.wait()
            leave[number].wait()
            own[number] = not permit.released
        own[number] = own[number] and permit.released

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    enter.wait()
    held = set(range(8))
    for number in (3, 0, 7, 1, 6, 2, 5, 4):
        leave[number].set()
        threads[number].join()
        held.remove(number)
        assert {number for number in range(8) if not permits[number].released} == held
        assert limiter.in_flight == len(held)
    assert own == [True] * 8


def test_tasks_end_their_own_blocks_in_whatever_order(limiter):
    async def run(number, permits, leave):
        with limiter as permit:
            permits[number] = permit
            await leave[number].wait()
            assert not permit.released
        assert permit.released

    async def main():
        permits, leave = {}, [asyncio.Event() for _ in range(6)]
        tasks = [asyncio.create_task(run(number, permits, leave)) for number in range(6)]
        await asyncio.sleep(0)
        for number in (2, 0, 5, 1, 4, 3):
            leave[number].set()
            await tasks[number]
            assert permits.pop(number).released
            assert not any(permit.released for permit in permits.values())

    asyncio.run(main())


def test_generators_that_take_turns_end_their_own_blocks(limiter):
    def turns():
        with limiter as permit:
            yield permit

    one, other, third = turns(), turns(), turns()
    first, second, last = next(one), next(other), next(third)
    one.close()
    assert (first.released, second.released, last.released) == (True, False, False)
    assert next(third, "over") == "over"
    assert (second.released, last.released) == (False, True)
    other.close()
    assert second.released
    assert limiter.stats().released_failed == 0


def test_a_generator_that_ends_on_another_thread_ends_its_own_block(limiter):
    def turns():
        with limiter as permit:
            yield permit

    generator = turns()
    theirs = next(generator)
    with limiter as ours:
        thread = threading.Thread(target=generator.close)
        thread.start()
        thread.join()
        assert (theirs.released, ours.released) == (True, False)


def test_an_async_generator_that_another_task_ends_ends_its_own_block(limiter):
    async def turns():
        with limiter as permit:
            yield permit

    async def main():
        generator = turns()
        theirs = await anext(generator)
        with limiter as ours:
            await asyncio.create_task(generator.aclose())
            assert (theirs.released, ours.released) == (True, False)

    asyncio.run(main())


def test_an_exit_stack_gives_back_what_it_took(limiter):
    with ExitStack() as stack:
        permits = [stack.enter_context(limiter) for _ in range(3)]
        with limiter as ours:
            assert limiter.in_flight == 4
        assert ours.released
        assert not any(permit.released for permit in permits)
        permits[1].release()
    assert all(permit.released for permit in permits)


class Client:
    """Hands its own block on to a limiter: enters and leaves in two frames."""

    def __init__(self, limiter):
        self.limiter = limiter

    def __enter__(self):
        return self.limiter.__enter__()

    def __exit__(self, *exception):
        return self.limiter.__exit__(*exception)


def test_a_class_that_hands_its_block_on_never_lends_more_than_it_holds(limiter):
    one, other = Client(limiter), Client(limiter)
    first = one.__enter__()
    other.__enter__()
    first.release()
    one.__exit__(None, None, None)
    assert limiter.in_flight == 1
    with one, limiter:
        assert limiter.in_flight == 3
    other.__exit__(None, None, None)


def test_a_handed_on_block_never_takes_the_permit_of_a_with_statement_that_is_released_inside(limiter):
    client = Client(limiter)
    client.__enter__()
    with limiter as ours:
        ours.release()
    assert limiter.in_flight == 1
    client.__exit__(None, None, None)


def test_an_end_without_a_beginning_is_an_error(limiter):
    with pytest.raises(ConfigError, match=r"^permit: got the end of a block that was not entered"):
        limiter.__exit__(None, None, None)
    kept = limiter.try_acquire()
    with pytest.raises(ConfigError):
        limiter.__exit__(None, None, None)
    assert limiter.in_flight == 1
    kept.release()


def test_the_limit_may_be_lowered_inside_a_block():
    limiter = ConcurrencyLimiter(2)
    with limiter, limiter:
        limiter.limit = 1
        assert limiter.available == 0
    assert limiter.available == 1


def test_a_suspended_generator_that_is_garbage_with_its_limiter_is_collected():
    class Owner:
        def __init__(self):
            self.limiter = ConcurrencyLimiter(1)
            self.generator = self.turns()

        def turns(self):
            with self.limiter as permit:
                yield permit

    owner = Owner()
    permit = next(owner.generator)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None
    assert permit.released


def test_many_threads_entering_and_leaving_keep_to_the_limit_and_end_at_zero():
    limiter = ConcurrencyLimiter(3)
    guard = threading.Lock()
    inside, peak, entered = 0, 0, 0

    def run():
        nonlocal inside, peak, entered
        for _ in range(500):
            with limiter:
                with guard:
                    inside += 1
                    peak = max(peak, inside)
                    entered += 1
                with guard:
                    inside -= 1

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered == 4_000
    assert peak <= 3
    assert limiter.in_flight == 0
    assert limiter.stats().allowed == limiter.stats().released_ok + limiter.stats().released_failed
