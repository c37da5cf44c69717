import copy
import pickle
import threading

import pytest
from tidegate import ConcurrencyLimiter, ConfigError, ManualClock, Permit

MAX_LIMIT = 2**31 - 1
MAX_COST = 2**53 - 1


def test_lends_as_many_permits_as_the_limit():
    limiter = ConcurrencyLimiter(2)
    first, second = limiter.try_acquire(), limiter.try_acquire()
    assert isinstance(first, Permit)
    assert limiter.try_acquire() is None
    assert (limiter.limit, limiter.in_flight, limiter.available) == (2, 2, 0)
    first.release()
    second.release()
    assert (limiter.limit, limiter.in_flight, limiter.available) == (2, 0, 2)


def test_a_permit_of_several_takes_all_or_nothing():
    limiter = ConcurrencyLimiter(5)
    permit = limiter.try_acquire(3)
    assert (permit.permits, limiter.in_flight) == (3, 3)
    assert limiter.try_acquire(3) is None
    assert limiter.in_flight == 3
    permit.release()
    assert limiter.in_flight == 0


def test_p3_permits_are_released_in_any_order_and_on_any_thread():
    limiter = ConcurrencyLimiter(2)
    first, second = limiter.try_acquire(), limiter.try_acquire()
    first.release()
    thread = threading.Thread(target=second.release)
    thread.start()
    thread.join()
    assert limiter.available == 2


def test_p4_a_second_release_is_an_error_that_changes_nothing():
    limiter = ConcurrencyLimiter(2)
    kept, permit = limiter.try_acquire(), limiter.try_acquire()
    permit.release()
    with pytest.raises(ConfigError, match=r"^permit: got one that was released before; allowed: a permit that is held"):
        permit.release()
    assert limiter.in_flight == 1
    stats = limiter.stats()
    assert (stats.released_ok, stats.released_failed) == (1, 0)
    kept.release()


def test_p9_the_limit_can_be_lowered_while_more_are_out_and_returns_at_once():
    limiter = ConcurrencyLimiter(5)
    permits = [limiter.try_acquire() for _ in range(5)]
    limiter.limit = 2
    assert (limiter.limit, limiter.in_flight, limiter.available) == (2, 5, 0)
    for permit in permits[:3]:
        assert limiter.try_acquire() is None
        permit.release()
    assert limiter.try_acquire() is None
    permits[3].release()
    last = limiter.try_acquire()
    assert last
    permits[4].release()
    last.release()
    assert limiter.available == 2


def test_p11_more_than_the_limit_is_refused_at_once_and_the_next_call_works():
    limiter = ConcurrencyLimiter(2)
    assert limiter.try_acquire(3) is None
    permit = limiter.try_acquire(1)
    assert permit
    permit.release()


def test_a_limit_of_zero_refuses_all_until_it_is_raised():
    limiter = ConcurrencyLimiter(0)
    assert limiter.try_acquire() is None
    limiter.limit = 1
    permit = limiter.try_acquire()
    assert permit
    permit.release()


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        (-1, ConfigError, "limit: got -1; allowed: 0 to 2147483647"),
        (MAX_LIMIT + 1, ConfigError, "limit: got 2147483648; allowed: 0 to 2147483647"),
        (2**64, ConfigError, "limit: got 18446744073709551616; allowed: 0 to 2147483647"),
        (2.0, TypeError, "limit: got 2.0 (float); allowed: an int, 0 to 2147483647"),
        (True, TypeError, "limit: got True (bool); allowed: an int, 0 to 2147483647"),
        ("2", TypeError, "limit: got '2' (str); allowed: an int, 0 to 2147483647"),
    ],
)
def test_a1_a_wrong_limit_is_named_and_changes_nothing(limit, error, message):
    with pytest.raises(error) as raised:
        ConcurrencyLimiter(limit)
    assert str(raised.value) == message
    limiter = ConcurrencyLimiter(3)
    with pytest.raises(error) as raised:
        limiter.limit = limit
    assert str(raised.value) == message
    assert limiter.limit == 3


def test_the_largest_limit_and_the_largest_number_of_permits_are_taken_as_they_are():
    limiter = ConcurrencyLimiter(MAX_LIMIT)
    assert limiter.try_acquire(MAX_COST) is None
    permit = limiter.try_acquire(MAX_LIMIT)
    assert limiter.available == 0
    permit.release()
    assert limiter.available == MAX_LIMIT


@pytest.mark.parametrize("permits", [0, -1, MAX_COST + 1, 2**64 + 1])
def test_a1_a_wrong_number_of_permits_is_named_and_takes_nothing(permits):
    limiter = ConcurrencyLimiter(2)
    with pytest.raises(ConfigError, match=rf"^permits: got {permits}; allowed: 1 to 9007199254740991$"):
        limiter.try_acquire(permits)
    assert (limiter.in_flight, limiter.stats().denied) == (0, 0)


@pytest.mark.parametrize("permits", [1.0, True, "1", None])
def test_a1_permits_that_are_no_int_are_a_type_error(permits):
    limiter = ConcurrencyLimiter(2)
    with pytest.raises(TypeError, match=r"^permits: got .*; allowed: an int, 1 to 9007199254740991$"):
        limiter.try_acquire(permits)
    assert limiter.in_flight == 0


def test_options_are_named_when_wrong():
    with pytest.raises(TypeError, match=r"^track_hold_time: got 1 \(int\); allowed: True or False$"):
        ConcurrencyLimiter(1, track_hold_time=1)
    with pytest.raises(TypeError, match=r"^clock: got 'now' \(str\); allowed: a ManualClock or None$"):
        ConcurrencyLimiter(1, clock="now")
    with pytest.raises(TypeError):
        ConcurrencyLimiter(1, True)
    permit = ConcurrencyLimiter(1).try_acquire()
    with pytest.raises(TypeError, match=r"^ok: got 'no' \(str\); allowed: True or False$"):
        permit.release("no")
    assert not permit.released
    permit.release(ok=True)


def test_the_limit_cannot_be_deleted():
    with pytest.raises((AttributeError, TypeError)):
        del ConcurrencyLimiter(1).limit


def test_stats_tell_calls_and_releases_and_no_hold_times_unless_asked():
    limiter = ConcurrencyLimiter(2)
    good, bad = limiter.try_acquire(), limiter.try_acquire()
    assert limiter.try_acquire() is None
    good.release()
    bad.release(ok=False)
    stats = limiter.stats()
    assert (stats.limit, stats.in_flight, stats.available) == (2, 0, 2)
    assert (stats.allowed, stats.denied, stats.released_ok, stats.released_failed) == (2, 1, 1, 1)
    assert (stats.hold_time_total, stats.hold_time_max) == (None, None)
    assert (stats.hold_time_total_ns, stats.hold_time_max_ns) == (None, None)


def test_hold_times_are_measured_on_the_given_clock(clock):
    limiter = ConcurrencyLimiter(2, track_hold_time=True, clock=clock)
    first, second = limiter.try_acquire(), limiter.try_acquire()
    clock.advance(0.1)
    first.release()
    clock.advance(0.2)
    second.release()
    stats = limiter.stats()
    assert (stats.hold_time_total_ns, stats.hold_time_max_ns) == (400_000_000, 300_000_000)
    assert (stats.hold_time_total, stats.hold_time_max) == (0.4, 0.3)


def test_hold_times_are_measured_on_the_machines_clock_by_default():
    limiter = ConcurrencyLimiter(1, track_hold_time=True)
    limiter.try_acquire().release()
    assert limiter.stats().hold_time_max_ns > 0


def test_l6_a_limiter_and_a_permit_refuse_pickle_and_copy_and_name_themselves():
    limiter = ConcurrencyLimiter(2)
    with limiter as permit:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="ConcurrencyLimiter"):
                attempt(limiter)
            with pytest.raises(TypeError, match="Permit"):
                attempt(permit)
    assert limiter.in_flight == 0


def test_shows_what_is_out():
    limiter = ConcurrencyLimiter(4)
    permit = limiter.try_acquire(3)
    assert repr(limiter) == "ConcurrencyLimiter(4, in_flight=3)"
    assert repr(permit) == "<Permit of 3, held>"
    permit.release()
    assert repr(permit) == "<Permit of 3, released>"


def test_permits_are_made_by_limiters_alone():
    with pytest.raises(TypeError):
        Permit()


def test_a_clock_is_taken_whether_hold_times_are_tracked_or_not():
    limiter = ConcurrencyLimiter(1, clock=ManualClock())
    limiter.try_acquire().release()
    assert limiter.stats().hold_time_max is None
