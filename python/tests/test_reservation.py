"""reserve(): tokens that are charged ahead of time."""

import math
import pickle
from datetime import timedelta

import pytest
from tidegate import ConfigError, ExceedsCapacity, KeyedRateLimiter, RateLimiter, Refused, Reservation, TimedOut
from waiters import waiting


def test_names_a_time_and_charges_at_once(clock, rate):
    limiter = rate("2/s burst 2", clock=clock)
    clock.advance(1)
    first, second, third = limiter.reserve(2), limiter.reserve(), limiter.reserve(cost=1, max_wait=None)
    assert isinstance(first, Reservation)
    assert [reservation.wait for reservation in (first, second, third)] == [0.0, 0.5, 1.0]
    assert (third.wait_ns, third.due_ns) == (10**9, 2 * 10**9)
    assert not limiter.try_acquire()
    clock.advance(1)
    assert not limiter.try_acquire()
    clock.advance(0.5)
    assert limiter.try_acquire()


@pytest.mark.parametrize("max_wait", [1, 1.0, timedelta(seconds=1)])
def test_one_that_would_be_due_too_late_is_not_made(clock, rate, whose, max_wait):
    limiter = rate("1/s", clock=clock)
    assert limiter.reserve(max_wait=0).wait == 0
    assert limiter.reserve(max_wait=max_wait).wait == 1
    with pytest.raises(TimedOut, match=rf"^timed out: 1 token asked{whose}, limit 1/s, 0 waiting, waited 0 s of 1 s$"):
        limiter.reserve(max_wait=max_wait)
    clock.advance(2)
    assert limiter.try_acquire()


def test_f10_a_hole_is_not_given_away(clock, rate):
    limiter = rate("1/s", clock=clock)
    assert limiter.try_acquire()
    first, second, third = limiter.reserve(), limiter.reserve(), limiter.reserve()
    assert [reservation.wait for reservation in (first, second, third)] == [1.0, 2.0, 3.0]
    clock.advance(0.5)
    assert first.cancel() is False
    assert limiter.reserve().due_ns == 4 * 10**9


def test_the_last_one_is_credited_if_it_is_not_due(clock, rate):
    limiter = rate("1/s", clock=clock)
    assert limiter.try_acquire()
    assert limiter.reserve().cancel() is True
    reservation = limiter.reserve()
    assert reservation.wait == 1.0
    with pytest.raises(ConfigError, match=r"^reservation: got one that was cancelled before; allowed: "):
        reservation.cancel()
        reservation.cancel()
    late = limiter.reserve()
    clock.advance(1)
    assert late.cancel() is False


def test_what_cannot_be_reserved_is_told(clock, rate):
    with pytest.raises(ExceedsCapacity):
        rate("5/s", clock=clock).reserve(6)
    for quotas in ("5/s fixed_window", "5/s; 10/min"):
        with pytest.raises(ConfigError, match=r"^quota: got .*; allowed: to reserve: one quota, with gcra$"):
            rate(quotas, clock=clock).reserve()
    with pytest.raises(ConfigError, match=r"^quota: got "):
        RateLimiter("5/s sliding_log", clock=clock).reserve()
    limiter = rate("5/s", clock=clock)
    with pytest.raises(ConfigError, match=r"^cost: got 0"):
        limiter.reserve(0)
    for wrong in (-1, math.nan, True, "1"):
        with pytest.raises((ConfigError, TypeError), match=r"^max_wait: got "):
            limiter.reserve(max_wait=wrong)


def test_nobody_reserves_past_who_waits(clock, rate):
    limiter = rate("1/s", clock=clock)
    limiter.acquire()
    waiter = waiting(limiter, 1, limiter.acquire)
    with pytest.raises(TimedOut):
        limiter.reserve(max_wait=10)
    clock.advance(1)
    waiter.join()


def test_a_reservation_stays_in_its_process(clock, rate):
    with pytest.raises(TypeError, match="Reservation"):
        pickle.dumps(rate("1/s", clock=clock).reserve())


def test_each_key_is_reserved_on_its_own(clock):
    limiter = KeyedRateLimiter("1/s", max_keys=1, when_full="deny_new", clock=clock)
    assert [limiter.reserve(key).wait for key in ("ann", "bob", b"ann")] == [0.0, 0.0, 1.0]
    waits = [limiter.reserve(str(number), 1, None) for number in range(6)]
    with pytest.raises(Refused, match=r"^refused: no room for key 'new' beside .*max_keys=1\), limit 1/s, 0 waiting, "):
        limiter.reserve("new")
    assert not waits[0].cancel()
