"""acquire() on threads."""

import math
import re
import threading
import time
from datetime import timedelta

import pytest
from tidegate import (
    Closed,
    ConfigError,
    ExceedsCapacity,
    Permit,
    QueueFull,
    Refused,
    TimedOut,
)
from waiters import Waiter, until, waiting


def test_takes_at_once_what_is_free_and_waits_for_what_is_not(concurrency):
    limiter = concurrency(2)
    first = limiter.acquire()
    assert isinstance(first, Permit)
    second = waiting(limiter, 1, limiter.acquire, permits=2)
    assert (limiter.waiting, limiter.available) == (1, 0)
    assert limiter.try_acquire() is None
    first.release()
    with second.join() as permit:
        assert permit.permits == limiter.in_flight == 2
    assert (limiter.waiting, limiter.in_flight) == (0, 0)


def test_tokens_are_had_when_they_are_due(clock, rate):
    limiter = rate("1/s", clock=clock)
    assert limiter.acquire() is None
    waiter = waiting(limiter, 1, limiter.acquire)
    assert not limiter.try_acquire()
    assert (limiter.peek().remaining, limiter.peek().retry_after) == (0, 2.0)
    clock.advance_ns(999_999_999)
    assert limiter.waiting == 1
    clock.advance_ns(1)
    assert waiter.join() is None
    assert limiter.waiting == 0


def test_tokens_come_in_real_time_too(rate):
    limiter = rate("100/s burst 1")
    began = time.monotonic()
    for _ in range(6):
        limiter.acquire(timeout=5)
    assert 0.05 <= time.monotonic() - began < 1


def test_first_come_first_served(concurrency):
    limiter = concurrency(1)
    held, order = limiter.acquire(), []

    def run(number):
        with limiter.acquire():
            order.append(number)

    waiters = [waiting(limiter, number + 1, run, number) for number in range(6)]
    held.release()
    for waiter in waiters:
        waiter.join()
    assert order == list(range(6))


def test_p14_who_asks_for_much_is_not_overtaken_by_those_who_ask_for_little(concurrency):
    limiter = concurrency(10)
    held = [limiter.acquire() for _ in range(5)]
    heavy = waiting(limiter, 1, limiter.acquire, 8)
    light = waiting(limiter, 2, limiter.acquire, 3)
    assert limiter.try_acquire() is None
    for permit in held[:3]:
        permit.release()
    with heavy.join():
        assert (light.is_waiting, limiter.in_flight) == (True, 10)
    light.join().release()
    for permit in held[3:]:
        permit.release()
    assert limiter.in_flight == 0


@pytest.mark.parametrize("timeout", [0, 0.0, timedelta(0)])
def test_p16_a_timeout_of_0_tries_once(waitable, timeout):
    taken = waitable.acquire(timeout=timeout)
    with pytest.raises(TimedOut):
        waitable.acquire(timeout=timeout)
    if taken:
        taken.release()
    assert (waitable.stats().allowed, waitable.stats().denied, waitable.stats().timed_out) == (1, 0, 1)


def test_a_timeout_tells_how_long_it_was_and_how_it_stood(concurrency, whose):
    limiter = concurrency(3)
    with limiter.acquire(3):
        behind = waiting(limiter, 1, limiter.acquire)
        with pytest.raises(TimedOut) as raised:
            limiter.acquire(2, timeout=0.01)
    behind.join().release()
    error = raised.value
    assert isinstance(error, TimeoutError)
    assert (error.decision, error.timeout, error.limit, error.in_flight, error.waiting) == (None, 0.01, 3, 3, 1)
    assert 0.01 <= error.elapsed < 1
    text = rf"timed out: 2 permits asked{whose}, limit 3, 3 in flight, 1 waiting, waited 0\.[0-9]{{2,3}} s of 0\.01 s"
    assert re.fullmatch(text, str(error))


def test_a_timeout_runs_by_the_limiters_clock(clock, concurrency):
    limiter = concurrency(1, clock=clock)
    with limiter:
        waiter = waiting(limiter, 1, limiter.acquire, timeout=timedelta(seconds=5))
        clock.advance(4.999)
        assert limiter.waiting == 1
        clock.advance(0.001)
        with pytest.raises(TimedOut, match=r"waited 5 s of 5 s$"):
            waiter.join()


def test_p17_a_wait_that_would_outlast_its_timeout_does_not_begin_and_is_not_charged(clock, rate, whose):
    limiter = rate("1/s burst 5", clock=clock)
    assert limiter.try_acquire(5)
    with pytest.raises(TimedOut) as raised:
        limiter.acquire(3, timeout=2.999999999)
    text = f"timed out: 3 tokens asked{whose}, limit 1/s burst 5, 0 waiting, waited 0 s of 2.999999999 s"
    assert str(raised.value) == text
    assert (raised.value.elapsed, raised.value.limit, raised.value.in_flight) == (0.0, 1, None)
    clock.advance(5)
    assert limiter.peek().remaining == 5
    assert limiter.stats().timed_out == 1


def test_p5_who_gives_up_leaves_nothing_behind(concurrency):
    limiter = concurrency(1)
    with limiter:
        with pytest.raises(TimedOut):
            limiter.acquire(timeout=0.005)
        assert limiter.waiting == 0
    with limiter.try_acquire() as permit:
        assert permit is not None


def test_p7_a_permit_that_is_handed_over_is_not_there_for_others(concurrency):
    limiter = concurrency(1)
    held = limiter.acquire()
    waiter = waiting(limiter, 1, limiter.acquire)
    held.release()
    assert limiter.try_acquire() is None
    waiter.join().release()


def test_p8_p9_a_waiter_goes_by_the_limit_as_it_is(concurrency):
    limiter = concurrency(2)
    held = [limiter.acquire() for _ in range(2)]
    limiter.limit = 1
    waiter = waiting(limiter, 1, limiter.acquire)
    limiter.limit = 2
    assert limiter.waiting == 1
    held[0].release()
    waiter.join().release()
    held[1].release()
    assert limiter.in_flight == 0


def test_p10_two_who_want_all_have_it_one_after_the_other(concurrency):
    limiter = concurrency(5)

    def run():
        for _ in range(200):
            with limiter.acquire(5, timeout=20):
                assert limiter.in_flight == 5

    for waiter in [Waiter(run), Waiter(run)]:
        waiter.join()


def test_p11_more_than_there_ever_is_is_refused_at_once(rate, concurrency, whose):
    limiter = concurrency(2)
    with pytest.raises(ExceedsCapacity) as raised:
        limiter.acquire(3)
    assert str(raised.value) == f"3 permits can never be had{whose}, limit 2, 0 in flight, 0 waiting, waited 0 s"
    assert raised.value.timeout is None
    limiter.acquire(1).release()
    with pytest.raises(
        ExceedsCapacity, match=rf"^21 tokens can never be had{whose}, limit 10/s burst 20; 5/s burst 30, 0 waiting"
    ):
        rate("10/s burst 20; 5/s burst 30").acquire(21)


def test_a_lowered_limit_ends_the_waits_for_more(concurrency):
    limiter = concurrency(4)
    with limiter.acquire(4):
        waiter = waiting(limiter, 1, limiter.acquire, 3)
        limiter.limit = 2
        with pytest.raises(ExceedsCapacity):
            waiter.join()


def test_a_limit_of_0_is_a_pause(concurrency):
    limiter = concurrency(0)
    waiter = waiting(limiter, 1, limiter.acquire)
    limiter.limit = 1
    waiter.join().release()


def test_the_queue_is_as_long_as_max_waiters_says(clock, rate, concurrency, whose):
    limiter = concurrency(1, max_waiters=1)
    with limiter:
        waiter = waiting(limiter, 1, limiter.acquire)
        with pytest.raises(
            QueueFull, match=rf"^queue full: 1 permit asked{whose}, limit 1, 1 in flight, 1 waiting, waited 0"
        ):
            limiter.acquire(timeout=5)
    waiter.join().release()
    tokens = rate("1/s", max_waiters=0, clock=clock)
    tokens.acquire()
    with pytest.raises(QueueFull):
        tokens.acquire()
    assert (limiter.stats().denied, tokens.stats().denied) == (1, 1)


@pytest.mark.parametrize("max_waiters", [-1, 2**32 - 1, 1.0, True, "1"])
def test_a_wrong_max_waiters_is_named(max_waiters, rate, concurrency):
    for make in (
        lambda: concurrency(1, max_waiters=max_waiters),
        lambda: rate("1/s", max_waiters=max_waiters),
    ):
        with pytest.raises((ConfigError, TypeError), match=r"^max_waiters: got .*0 to 4294967294$"):
            make()
    concurrency(1, max_waiters=None)


def test_p15_close_ends_all_waits_and_is_for_ever(concurrency, whose):
    limiter = concurrency(1)
    held = limiter.acquire()
    waiters = [waiting(limiter, number + 1, limiter.acquire) for number in range(3)]
    assert not limiter.closed
    limiter.close()
    limiter.close()
    for waiter in waiters:
        with pytest.raises(Closed, match=rf"^closed: 1 permit asked{whose}, limit 1, 1 in flight, 0 waiting, waited "):
            waiter.join()
    limiter.limit = 5
    for ask in (limiter.acquire, limiter.__enter__, limiter.guard()(print)):
        with pytest.raises(Closed):
            ask()
    assert limiter.try_acquire() is None
    assert limiter.closed
    assert limiter.available == limiter.waiting == 0
    held.release()
    assert limiter.in_flight == 0


@pytest.mark.parametrize("timeout", [-1, -0.001, math.nan, math.inf, timedelta(-1)])
def test_a_wrong_timeout_is_named(waitable, timeout):
    with pytest.raises(ConfigError, match=r"^timeout: got .*; allowed: seconds from 0, .* or None for ever$"):
        waitable.acquire(timeout=timeout)
    for wrong in (True, "1", [1]):
        with pytest.raises(TypeError, match=r"^timeout: got .*; allowed: seconds from 0, "):
            waitable.acquire(timeout=wrong)
    assert waitable.stats().allowed == 0


def test_a_timeout_too_long_to_count_is_for_ever(concurrency):
    limiter = concurrency(1)
    with limiter:
        waiter = waiting(limiter, 1, limiter.acquire, timeout=1e300)
    waiter.join().release()


@pytest.mark.parametrize("number", [0, -1, 2**53, 1.5, True, None])
def test_a1_a_wrong_number_is_named(waitable, number):
    with pytest.raises((ConfigError, TypeError), match=r"^(cost|permits): got "):
        waitable.acquire(number)


def test_a_rate_limiter_in_a_block_waits_at_its_beginning(clock, rate):
    limiter = rate("1/s", clock=clock)
    with limiter as nothing:
        assert nothing is None
        waiter = waiting(limiter, 1, limiter.__enter__)
        clock.advance(1)
        waiter.join()
    with pytest.raises(KeyError):
        clock.advance(1)
        with limiter:
            raise KeyError
    assert limiter.stats().allowed == 3


def test_a_block_that_waited_ends_as_any(concurrency):
    limiter = concurrency(1)

    def run():
        with limiter as permit:
            return permit

    with limiter:
        waiter = waiting(limiter, 1, run)
    assert waiter.join().released
    assert limiter.stats().released_ok == 2


def test_other_threads_run_while_one_waits(concurrency):
    limiter = concurrency(1)
    with limiter:
        waiter = waiting(limiter, 1, limiter.acquire)
        assert sum(range(100_000)) > 0
        assert waiter.is_waiting
    waiter.join().release()


def test_stats_tell_how_waits_ended(clock, rate, concurrency):
    limiter = concurrency(1, clock=clock)
    with limiter:
        late = waiting(limiter, 1, limiter.acquire, timeout=1)
        clock.advance(1)
        with pytest.raises(TimedOut):
            late.join()
        waiter = waiting(limiter, 1, limiter.acquire)
        stats = limiter.stats()
        assert (stats.allowed, stats.denied, stats.timed_out, stats.cancelled, stats.waiting) == (1, 0, 1, 0, 1)
    waiter.join().release()
    assert (limiter.stats().allowed, limiter.stats().waiting) == (2, 0)
    tokens = rate("1/s", clock=clock)
    tokens.acquire()
    with pytest.raises(TimedOut):
        tokens.acquire(timeout=0.5)
    stats = tokens.stats()
    assert (stats.allowed, stats.denied, stats.timed_out, stats.cancelled, stats.waiting) == (1, 0, 1, 0, 0)


def test_p1_threads_that_wait_are_never_more_than_the_limit(concurrency):
    limiter = concurrency(3)
    barrier, inside, peak = threading.Barrier(10), [], []

    def run():
        barrier.wait()
        for _ in range(100):
            with limiter:
                inside.append(None)
                peak.append(len(inside))
                inside.pop()

    for waiter in [Waiter(run) for _ in range(10)]:
        waiter.join()
    assert max(peak) <= 3
    assert len(peak) == 1_000


def test_p3_a_permit_may_be_released_on_another_thread(concurrency):
    limiter = concurrency(1)
    permit = limiter.acquire()
    waiter = waiting(limiter, 1, limiter.acquire)
    Waiter(permit.release).join()
    waiter.join().release()


def test_a_permit_that_is_dropped_goes_to_who_waits(concurrency):
    limiter = concurrency(1)
    permit = limiter.acquire()
    waiter = waiting(limiter, 1, limiter.acquire)
    with pytest.warns(ResourceWarning):
        del permit
    waiter.join().release()


def test_p18_five_thousand_waits_end_on_time(clock, rate):
    limiter = rate("5000/s burst 1", clock=clock)
    limiter.acquire()
    with pytest.raises(Refused):
        limiter.acquire(timeout=0)
    waiters = [Waiter(limiter.acquire) for _ in range(50)]
    until(lambda: limiter.waiting == 50)
    clock.advance(0.01)
    for waiter in waiters:
        waiter.join()
    assert limiter.stats().allowed == 51
