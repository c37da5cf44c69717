import copy
import math
import pickle

import pytest
from tidegate import ConfigError, Decision, RateLimiter

FIGURES = ("allowed", "status", "limit", "remaining", "quota")
TIMES = ("retry_after", "retry_after_ns", "retry_after_seconds", "reset_after", "reset_after_ns")


def figures(decision):
    return [getattr(decision, name) for name in FIGURES + TIMES]


@pytest.mark.parametrize("cost", [1, 10, 100])
def test_l6_a_pickled_copy_has_the_same_figures(clock, cost):
    limiter = RateLimiter("1000/h; 10/s", clock=clock)
    assert limiter.try_acquire(5)
    decision = limiter.decide(cost)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        restored = pickle.loads(pickle.dumps(decision, protocol))
        assert figures(restored) == figures(decision)
        assert bool(restored) == bool(decision)
        assert repr(restored) == repr(decision)


def test_l6_a_copy_cannot_be_refunded_and_the_original_still_can(clock):
    limiter = RateLimiter("10/s", clock=clock)
    decision = limiter.decide(4)
    for duplicate in (pickle.loads(pickle.dumps(decision)), copy.copy(decision)):
        with pytest.raises(ConfigError, match=r"^decision: got a copy; allowed: "):
            limiter.refund(duplicate)
    assert limiter.peek().remaining == 6
    limiter.refund(decision)
    assert limiter.peek().remaining == 10


def test_a_broken_pickle_is_refused():
    with pytest.raises(
        ConfigError, match=r'^status: got "maybe"; allowed: allowed, denied, exceeds_capacity, keys_full$'
    ):
        Decision._restore("maybe", 1, 1, 0, 0, 0)


def test_shows_its_figures(clock):
    limiter = RateLimiter("2/s burst 1", clock=clock)
    assert repr(limiter.decide()) == (
        "Decision(status='allowed', limit=2, remaining=0, retry_after=0.0, reset_after=0.5, quota=0)"
    )
    assert repr(limiter.decide(2)) == (
        "Decision(status='exceeds_capacity', limit=2, remaining=0, retry_after=inf, reset_after=0.5, quota=0)"
    )


def test_two_decisions_with_the_same_figures_are_two_decisions(clock):
    """Each can be refunded once, so that neither may stand for the other in a set."""
    limiter = RateLimiter("10/s", clock=clock)
    one, other = limiter.peek(), limiter.peek()
    assert one != other
    assert len({one, other}) == 2


def test_figures_cannot_be_changed_and_decisions_are_made_by_limiters_alone(clock):
    decision = RateLimiter("10/s", clock=clock).decide()
    for name in FIGURES + TIMES:
        with pytest.raises(AttributeError):
            setattr(decision, name, 1)
    with pytest.raises(TypeError):
        Decision()


def test_times_are_exact_in_nanoseconds_and_no_less_in_seconds(clock):
    limiter = RateLimiter("3/s", clock=clock)
    assert limiter.try_acquire(3)
    decision = limiter.decide()
    assert decision.retry_after_ns == 333_333_334
    assert decision.retry_after == 0.333333334
    assert decision.reset_after_ns == 10**9
    assert decision.reset_after == 1.0
    assert math.ceil(decision.retry_after) == decision.retry_after_seconds == 1
