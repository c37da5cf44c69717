import math
import pickle
from datetime import timedelta

import pytest
from tidegate import ConfigError, ManualClock, RateLimiter


def test_starts_at_zero_and_moves_only_when_told(clock):
    assert clock.now_ns == 0
    clock.advance(1.5)
    assert clock.now_ns == 1_500_000_000
    clock.advance(timedelta(milliseconds=1))
    clock.advance(2)
    clock.advance_ns(7)
    assert clock.now_ns == 3_501_000_007
    assert repr(clock) == "ManualClock(now_ns=3501000007)"


def test_set_moves_forward_and_never_back(clock):
    clock.set(10)
    clock.set_ns(4_000_000_000)
    assert clock.now_ns == 10 * 10**9
    clock.set(timedelta(seconds=5))
    assert clock.now_ns == 11 * 10**9


def test_seconds_are_rounded_up_to_nanoseconds(clock):
    for seconds, ns in ((0.1, 100_000_000), (1e-12, 100_000_001), (0.0, 100_000_001)):
        clock.advance(seconds)
        assert clock.now_ns == ns


def test_a_year_as_float_is_a_year_to_the_nanosecond(clock):
    limiter = RateLimiter("1/365d", clock=clock)
    assert limiter.try_acquire()
    assert not limiter.try_acquire()
    clock.advance(31_536_000.0)
    assert clock.now_ns == 31_536_000 * 10**9
    assert limiter.try_acquire()


@pytest.mark.parametrize("seconds", [0.0, -0.0, 5e-324])
def test_nothing_is_nothing_and_the_least_is_a_nanosecond(clock, seconds):
    clock.advance(seconds)
    assert clock.now_ns == (1 if seconds else 0)


def test_stops_at_the_end_of_its_range(clock):
    clock.advance(1e300)
    assert clock.now_ns == 2**64 - 1
    clock.advance(10**30)
    clock.advance_ns(1)
    assert clock.now_ns == 2**64 - 1


@pytest.mark.parametrize("call", ["advance", "set"])
@pytest.mark.parametrize(
    ("seconds", "error"),
    [
        (-1, ConfigError),
        (-0.1, ConfigError),
        (math.nan, ConfigError),
        (math.inf, ConfigError),
        (-math.inf, ConfigError),
        (timedelta(days=-1), ConfigError),
        (-(10**30), ConfigError),
        (True, TypeError),
        ("1", TypeError),
        (None, TypeError),
    ],
)
def test_wrong_seconds_are_named_and_move_nothing(clock, call, seconds, error):
    with pytest.raises(error, match=r"^seconds: got .*; allowed: seconds from 0, as int, float or timedelta$"):
        getattr(clock, call)(seconds)
    assert clock.now_ns == 0


@pytest.mark.parametrize("call", ["advance_ns", "set_ns"])
@pytest.mark.parametrize(
    ("ns", "error"), [(-1, ConfigError), (2**64, ConfigError), (1.0, TypeError), (True, TypeError), (None, TypeError)]
)
def test_wrong_nanoseconds_are_named_and_move_nothing(clock, call, ns, error):
    with pytest.raises(error, match=r"^ns: got .*; allowed: .*0 to 18446744073709551615$"):
        getattr(clock, call)(ns)
    assert clock.now_ns == 0


def test_takes_no_arguments_and_no_pickle(clock):
    with pytest.raises(TypeError):
        ManualClock(5)
    with pytest.raises(TypeError, match="ManualClock"):
        pickle.dumps(clock)
    with pytest.raises(AttributeError):
        clock.now_ns = 5
