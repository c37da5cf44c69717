import copy
import gc
import math
import pickle

import pytest
from tidegate import ConcurrencyLimiter, ConfigError, KeyedConcurrencyLimiter, KeyedConcurrencyStats, Permit


def test_each_key_has_permits_of_its_own():
    limiter = KeyedConcurrencyLimiter(2)
    first, second = limiter.try_acquire("/report"), limiter.try_acquire("/report")
    assert isinstance(first, Permit)
    assert limiter.try_acquire("/report") is None
    other = limiter.try_acquire(key=b"/index", permits=2)
    assert (first.permits, other.permits) == (1, 2)
    assert [limiter.in_flight(key) for key in ("/report", "/index", "/none")] == [2, 2, 0]
    assert [limiter.available(key) for key in ("/report", "/index", "/none")] == [0, 0, 2]
    for permit in (first, second, other):
        permit.release()
    assert limiter.in_flight("/report") == limiter.in_flight("/index") == 0


def test_p4_a_second_release_is_an_error_and_changes_nothing():
    limiter = KeyedConcurrencyLimiter(2)
    permit, other = limiter.try_acquire("a"), limiter.try_acquire("a")
    permit.release(ok=False)
    with pytest.raises(ConfigError, match=r"^permit: got one that was released before"):
        permit.release()
    assert limiter.in_flight("a") == 1
    other.release()
    assert limiter.stats().released_failed == limiter.stats().released_ok == 1


def test_p2_a_block_releases_and_an_exception_that_leaves_it_counts_as_failed():
    limiter = KeyedConcurrencyLimiter(1)
    with limiter.try_acquire("a") as permit:
        assert not permit.released
    with pytest.raises(KeyError), limiter.try_acquire("a"):
        raise KeyError
    assert limiter.in_flight("a") == 0
    assert (limiter.stats().released_ok, limiter.stats().released_failed) == (1, 1)


def test_a_permit_dropped_while_held_is_released_with_a_warning_that_names_the_limiter():
    limiter = KeyedConcurrencyLimiter(3)
    permit = limiter.try_acquire("a", 2)
    with pytest.warns(ResourceWarning, match=r"^2 permit\(s\) of a KeyedConcurrencyLimiter were dropped without"):
        del permit
    assert limiter.in_flight("a") == 0


def test_a_permit_outlives_its_limiter():
    limiter = KeyedConcurrencyLimiter(1)
    permit = limiter.try_acquire("a")
    del limiter
    gc.collect()
    permit.release()
    assert permit.released


def test_a3_the_limit_may_change_while_permits_are_out():
    limiter = KeyedConcurrencyLimiter(3)
    with limiter.try_acquire("a", 3):
        limiter.limit = 1
        assert (limiter.limit, limiter.in_flight("a"), limiter.available("a")) == (1, 3, 0)
        assert limiter.try_acquire("a") is None
        with limiter.try_acquire("b"):
            pass
        limiter.limit = 4
        with limiter.try_acquire("a"):
            assert limiter.in_flight("a") == 4
    assert limiter.in_flight("a") == 0


def test_p11_more_than_the_limit_is_refused_and_takes_nothing():
    limiter = KeyedConcurrencyLimiter(2)
    assert limiter.try_acquire("a", 3) is None
    with limiter.try_acquire("a"):
        assert limiter.in_flight("a") == 1
    assert KeyedConcurrencyLimiter(0).try_acquire("a") is None


def test_a_key_with_permits_out_keeps_its_place_and_a_new_one_without_room_is_refused():
    limiter = KeyedConcurrencyLimiter(5, max_keys=1)
    # The smallest table has eight slots, which every key may use.
    held = [limiter.try_acquire(str(number)) for number in range(8)]
    assert all(held)
    assert limiter.try_acquire("new") is None
    again = limiter.try_acquire("3")
    assert limiter.in_flight("3") == 2
    held[0].release()
    with limiter.try_acquire("new"):
        assert limiter.stats().live_keys == 8
    for permit in (*held[1:], again):
        permit.release()
    assert limiter.stats().live_keys == 0


@pytest.mark.parametrize("permits", [0, -1, 2**53, 2**64 + 1, 1.5, math.nan, True, "1", None])
def test_a1_a_wrong_number_of_permits_is_named_and_nothing_is_taken(permits):
    limiter = KeyedConcurrencyLimiter(2)
    with pytest.raises((ConfigError, TypeError), match=r"^permits: got .*1 to 9007199254740991$"):
        limiter.try_acquire("a", permits)
    assert limiter.in_flight("a") == limiter.stats().denied == 0


@pytest.mark.parametrize("limit", [-1, 2**31, 2**64, 1.5, True, "1", None])
def test_a1_a_wrong_limit_is_named(limit):
    with pytest.raises((ConfigError, TypeError), match=r"^limit: got .*0 to 2147483647$"):
        KeyedConcurrencyLimiter(limit)
    limiter = KeyedConcurrencyLimiter(2)
    with pytest.raises((ConfigError, TypeError), match=r"^limit: got .*0 to 2147483647$"):
        limiter.limit = limit
    assert limiter.limit == 2


@pytest.mark.parametrize("max_keys", [0, -1, 2**32 + 1, 1.5, None])
def test_a_wrong_number_of_keys_is_named(max_keys):
    with pytest.raises((ConfigError, TypeError), match=r"^max_keys: got .*1 to 4294967296$"):
        KeyedConcurrencyLimiter(2, max_keys=max_keys)


def test_stats_tell_all_keys_together():
    limiter = KeyedConcurrencyLimiter(2, max_keys=100)
    permits = [limiter.try_acquire(key) for key in ("a", "a", "b", "c")]
    assert limiter.try_acquire("a") is None
    permits.pop().release()
    assert limiter.stats() == KeyedConcurrencyStats(
        limit=2,
        in_flight=3,
        allowed=4,
        denied=1,
        timed_out=0,
        cancelled=0,
        waiting=0,
        released_ok=1,
        released_failed=0,
        live_keys=2,
        capacity=100,
        hold_time_total=None,
        hold_time_max=None,
        hold_time_total_ns=None,
        hold_time_max_ns=None,
    )
    for permit in permits:
        permit.release()
    assert (limiter.capacity, KeyedConcurrencyLimiter(1).capacity) == (100, 100_000)


def test_hold_times_are_told_over_all_keys_if_they_are_tracked(clock):
    limiter = KeyedConcurrencyLimiter(2, track_hold_time=True, clock=clock)
    with limiter.try_acquire("a"):
        clock.advance(0.5)
        with limiter.try_acquire("b", 2):
            clock.advance_ns(1)
    stats = limiter.stats()
    assert (stats.hold_time_total_ns, stats.hold_time_max_ns) == (500_000_002, 500_000_001)
    assert (stats.hold_time_total, stats.hold_time_max) == (0.500000002, 0.500000001)


@pytest.mark.parametrize("options", [{"track_hold_time": 1}, {"clock": 5}])
def test_a_wrong_option_is_named(options):
    with pytest.raises(TypeError, match=rf"^{next(iter(options))}: got "):
        KeyedConcurrencyLimiter(2, **options)


def test_a_keyed_limiter_opens_no_block_of_its_own_since_a_block_has_no_key():
    limiter = KeyedConcurrencyLimiter(1)
    assert not hasattr(limiter, "__enter__")
    assert hasattr(ConcurrencyLimiter(1), "__enter__")


def test_l6_a_limiter_refuses_pickle_and_copy_and_names_itself():
    limiter = KeyedConcurrencyLimiter(4, max_keys=50)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a KeyedConcurrencyLimiter"):
            attempt(limiter)
    assert repr(limiter) == "KeyedConcurrencyLimiter(4, max_keys=50)"


def test_takes_no_attributes_and_no_subclasses():
    with pytest.raises(AttributeError):
        KeyedConcurrencyLimiter(1).name = "x"
    with pytest.raises(TypeError):
        type("Mine", (KeyedConcurrencyLimiter,), {})
