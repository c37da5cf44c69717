import copy
import math
import pickle
import time

import pytest
from tidegate import ConfigError, Quota, RateLimiter, RateStats

MAX_COST = 2**53 - 1
CALLS = ("try_acquire", "decide", "peek")


def admitted(limiter, calls, cost=1):
    return sum(limiter.try_acquire(cost) for _ in range(calls))


def test_try_acquire_answers_true_or_false(clock):
    limiter = RateLimiter("1/s", clock=clock)
    assert limiter.try_acquire() is True
    assert limiter.try_acquire() is False
    clock.advance(1)
    assert limiter.try_acquire(cost=1) is True


def test_decide_takes_tokens_and_tells_the_figures(clock):
    decision = RateLimiter("10/s", clock=clock).decide(3)
    assert decision
    assert decision.allowed
    assert (decision.status, decision.limit, decision.remaining, decision.quota) == ("allowed", 10, 7, 0)
    assert (decision.retry_after, decision.retry_after_ns, decision.retry_after_seconds) == (0.0, 0, 0)
    assert (decision.reset_after, decision.reset_after_ns) == (0.3, 300_000_000)


def test_a_refusal_is_a_false_decision_that_tells_how_long(clock):
    limiter = RateLimiter("1/s", clock=clock)
    assert limiter.try_acquire()
    decision = limiter.decide()
    assert not decision
    assert (decision.status, decision.remaining) == ("denied", 0)
    assert (decision.retry_after, decision.retry_after_ns) == (1.0, 10**9)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("cost", "error", "message"),
    [
        (0, ConfigError, "cost: got 0; allowed: 1 to 9007199254740991"),
        (-1, ConfigError, "cost: got -1; allowed: 1 to 9007199254740991"),
        (MAX_COST + 1, ConfigError, "cost: got 9007199254740992; allowed: 1 to 9007199254740991"),
        (2**64, ConfigError, "cost: got 18446744073709551616; allowed: 1 to 9007199254740991"),
        (2**64 + 1, ConfigError, "cost: got 18446744073709551617; allowed: 1 to 9007199254740991"),
        (-(2**64) + 1, ConfigError, "cost: got -18446744073709551615; allowed: 1 to 9007199254740991"),
        (1.0, TypeError, "cost: got 1.0 (float); allowed: an int, 1 to 9007199254740991"),
        (0.5, TypeError, "cost: got 0.5 (float); allowed: an int, 1 to 9007199254740991"),
        (math.nan, TypeError, "cost: got nan (float); allowed: an int, 1 to 9007199254740991"),
        (True, TypeError, "cost: got True (bool); allowed: an int, 1 to 9007199254740991"),
        ("1", TypeError, "cost: got '1' (str); allowed: an int, 1 to 9007199254740991"),
        (None, TypeError, "cost: got None (NoneType); allowed: an int, 1 to 9007199254740991"),
    ],
)
def test_a1_a_wrong_cost_is_named_and_takes_nothing(clock, call, cost, error, message):
    limiter = RateLimiter("10/s", clock=clock)
    with pytest.raises(error) as raised:
        getattr(limiter, call)(cost)
    assert str(raised.value) == message
    assert limiter.peek().remaining == 10
    assert limiter.stats() == RateStats(allowed=0, denied=0, timed_out=0, cancelled=0, waiting=0)


def test_the_largest_cost_is_asked_for_without_wrapping(clock):
    assert RateLimiter("10/s", clock=clock).decide(MAX_COST).status == "exceeds_capacity"


@pytest.mark.parametrize("call", CALLS)
def test_unknown_and_surplus_arguments_are_type_errors(call):
    limiter = RateLimiter("10/s")
    with pytest.raises(TypeError, match="permits"):
        getattr(limiter, call)(permits=1)
    with pytest.raises(TypeError):
        getattr(limiter, call)(1, 2)


def test_a1_a_limit_of_zero_denies_all(clock):
    limiter = RateLimiter("0/s", clock=clock)
    assert not limiter.try_acquire()
    decision = limiter.decide()
    assert (decision.status, decision.remaining, decision.reset_after) == ("denied", 0, 0.0)
    assert decision.retry_after == math.inf
    assert decision.retry_after_ns is None
    assert decision.retry_after_seconds is None


def test_a2_a_burst_of_one_limits_whatever_the_rate(clock):
    for text in ("6000/s burst 1", "3/s burst 1"):
        limiter = RateLimiter(text, clock=clock)
        assert admitted(limiter, 10) == 1


def test_a3_a_limit_below_what_is_used_leaves_nothing_and_no_less(clock):
    limiter = RateLimiter("10/min", clock=clock)
    assert admitted(limiter, 8) == 8
    limiter.reconfigure("3/min")
    assert limiter.peek().remaining == 0
    assert limiter.quota == Quota(3, 60)


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window", "sliding_log"])
def test_a4_a_raised_limit_gives_the_difference_once(clock, algorithm):
    limiter = RateLimiter(Quota(5, 60, algorithm=algorithm), clock=clock)
    assert admitted(limiter, 10) == 5
    for _ in range(2):
        limiter.reconfigure(Quota(10, 60, algorithm=algorithm))
    assert admitted(limiter, 10) == 5


def test_a5_a_changed_period_keeps_what_is_used(clock):
    limiter = RateLimiter("10/s", clock=clock)
    assert admitted(limiter, 4) == 4
    limiter.reconfigure("10/min")
    assert limiter.peek().remaining == 6


def test_a_reconfigure_to_another_kind_changes_nothing(clock):
    limiter = RateLimiter("10/s", clock=clock)
    for quotas in ("10/s fixed_window", "10/s; 5/s"):
        with pytest.raises(ConfigError, match=r"^quota: got "):
            limiter.reconfigure(quotas)
    assert limiter.quotas == (Quota(10, 1),)


def test_a7_a_refused_call_charges_no_quota_of_a_list(clock):
    limiter = RateLimiter("10/min; 1/min", clock=clock)
    assert limiter.try_acquire()
    refusal = limiter.decide()
    assert (refusal.status, refusal.quota, refusal.limit) == ("denied", 1, 1)
    clock.advance(60)
    assert limiter.peek().remaining == 1


def test_t1_idle_time_fills_no_more_than_the_burst(clock):
    limiter = RateLimiter("5/s", clock=clock)
    assert admitted(limiter, 5) == 5
    clock.advance(2)
    assert admitted(limiter, 6) == 5


def test_t2_an_hour_of_idling_is_worth_one_burst(clock):
    limiter = RateLimiter("1/2s burst 5", clock=clock)
    clock.advance(3600)
    assert admitted(limiter, 100) == 5


@pytest.mark.parametrize("back_s", [15 * 60, 3600])
def test_t3_a_step_back_counts_as_no_time_and_later_progress_counts(clock, back_s):
    clock.set(2 * 3600)
    limiter = RateLimiter("5/min fixed_window", clock=clock)
    assert admitted(limiter, 6) == 5
    clock.set(2 * 3600 - back_s)
    assert not limiter.try_acquire()
    clock.set(2 * 3600 - back_s + 60)
    assert admitted(limiter, 6) == 5


def test_t4_a_jump_of_centuries_fills_the_bucket_and_no_more(clock):
    limiter = RateLimiter("1000000000/s burst 5", clock=clock)
    assert admitted(limiter, 6, cost=5) == 1
    clock.advance(584 * 365 * 86_400)
    assert admitted(limiter, 6, cost=5) == 1


def test_t5_refusals_neither_move_the_refill_nor_charge(clock):
    limiter = RateLimiter("1/s", clock=clock)
    assert limiter.try_acquire()
    for _ in range(9):
        clock.advance(0.1)
        assert not limiter.try_acquire()
    clock.advance(0.1)
    assert limiter.try_acquire()


@pytest.mark.parametrize(("algorithm", "count"), [("gcra", 89), ("fixed_window", 60), ("sliding_window", 59)])
def test_t6_one_call_a_second_for_two_minutes(clock, algorithm, count):
    limiter = RateLimiter(Quota(30, 60, algorithm=algorithm), clock=clock)
    total = 0
    for _ in range(120):
        total += limiter.try_acquire()
        clock.advance(1)
    assert abs(total - count) <= (1 if algorithm == "gcra" else 0)


@pytest.mark.parametrize(("algorithm", "count"), [("fixed_window", 19), ("sliding_log", 10)])
def test_t7_only_a_fixed_window_lets_two_windows_meet(clock, algorithm, count):
    limiter = RateLimiter(Quota(10, 1, algorithm=algorithm), clock=clock)
    assert limiter.try_acquire()
    clock.advance(0.99)
    total = admitted(limiter, 9)
    clock.advance(0.01)
    assert total + admitted(limiter, 10) == count


def test_t8_a_log_forgets_each_call_after_its_own_period(clock):
    limiter = RateLimiter("2/1000ms sliding_log", clock=clock)
    for at_ms in (0, 600, 1100):
        clock.set_ns(at_ms * 10**6)
        assert limiter.try_acquire()


@pytest.mark.parametrize("per_s", [30 * 86_400, 365 * 86_400, (2**31 + 1000) / 1000])
@pytest.mark.parametrize("algorithm", ["gcra", "fixed_window", "sliding_window", "sliding_log"])
def test_t9_long_periods_are_honoured_to_the_nanosecond(clock, per_s, algorithm):
    quota = Quota(1, per_s, algorithm=algorithm)
    limiter = RateLimiter(quota, clock=clock)
    assert limiter.try_acquire()
    clock.advance_ns(quota.period_ns - 1)
    assert not limiter.try_acquire()
    # Two counters let the last window count until another one is over.
    clock.advance_ns(1 + quota.period_ns * (algorithm == "sliding_window"))
    assert limiter.try_acquire()


@pytest.mark.parametrize(("limit", "per_s"), [(10, 3), (2, 3), (1, 5)])
def test_t10_a_limit_per_several_seconds_is_exact_in_each_window(clock, limit, per_s):
    limiter = RateLimiter(Quota(limit, per_s, algorithm="fixed_window"), clock=clock)
    for _ in range(5):
        assert admitted(limiter, 2 * limit) == limit
        clock.advance(per_s)


def test_f1_the_first_call_of_ten_leaves_nine(clock):
    assert RateLimiter("10/s", clock=clock).decide().remaining == 9


def test_f2_the_wait_shrinks_with_time(clock):
    limiter = RateLimiter("1/s", clock=clock)
    assert limiter.try_acquire()
    clock.advance(0.2)
    decision = limiter.decide()
    assert (decision.retry_after, decision.retry_after_ns) == (0.8, 800_000_000)


def test_f3_whole_seconds_are_never_less_than_the_wait(clock):
    limiter = RateLimiter("5/s burst 1", clock=clock)
    assert limiter.try_acquire()
    assert limiter.decide().retry_after_seconds == 1
    longer = RateLimiter("1/1000000001ns", clock=clock)
    assert longer.try_acquire()
    assert longer.decide().retry_after_seconds == 2
    clock.advance_ns(1)
    assert longer.decide().retry_after_seconds == 1


def test_f4_remaining_falls_by_one_a_call_on_either_clock(clock):
    for limiter in (RateLimiter("2/90ms", clock=clock), RateLimiter("2/90min")):
        assert [limiter.decide().remaining for _ in range(2)] == [1, 0]


def test_f5_more_than_the_burst_never_fits_and_changes_nothing(clock):
    limiter = RateLimiter("10/s", clock=clock)
    decision = limiter.decide(100)
    assert (decision.status, decision.remaining, decision.retry_after) == ("exceeds_capacity", 10, math.inf)
    assert decision.retry_after_seconds is None
    assert limiter.peek().remaining == 10


def test_f6_a_refused_cost_leaves_room_for_a_smaller_one(clock):
    limiter = RateLimiter("10/s", clock=clock)
    assert [limiter.try_acquire(cost) for cost in (8, 5, 1)] == [True, False, True]


def test_f7_a_log_waits_for_its_oldest_call(clock):
    limiter = RateLimiter("2/min sliding_log", clock=clock)
    for at_s in (0, 10):
        clock.set(at_s)
        assert limiter.try_acquire()
    clock.set(20)
    assert limiter.decide().retry_after == 40.0


@pytest.mark.parametrize("algorithm", ["gcra", "fixed_window", "sliding_window", "sliding_log"])
def test_f8_what_peek_says_is_unspent_can_be_had_and_no_more(clock, algorithm):
    limiter = RateLimiter(Quota(7, 1, algorithm=algorithm), clock=clock)
    assert limiter.try_acquire(3)
    clock.advance(0.3)
    unspent = limiter.peek().remaining
    assert not limiter.peek(unspent + 1)
    assert not limiter.try_acquire(unspent + 1)
    assert limiter.peek(unspent)
    assert limiter.try_acquire(unspent)


def test_waiting_exactly_as_long_as_told_admits_and_a_nanosecond_less_does_not(clock):
    limiter = RateLimiter("3/s", clock=clock)
    assert limiter.try_acquire(3)
    wait_ns = limiter.decide().retry_after_ns
    clock.advance_ns(wait_ns - 1)
    assert not limiter.try_acquire()
    clock.advance_ns(1)
    assert limiter.try_acquire()


@pytest.mark.parametrize("text", ["3/s", "7/100d", "1/364d", "999983/s burst 3"])
def test_waiting_the_float_seconds_that_were_told_admits(clock, text):
    limiter = RateLimiter(text, clock=clock)
    while limiter.try_acquire():
        pass
    for _ in range(3):
        clock.advance(limiter.decide().retry_after)
        assert limiter.try_acquire()


def test_a_refund_gives_back_what_was_taken(clock):
    limiter = RateLimiter("10/s", clock=clock)
    decision = limiter.decide(4)
    limiter.refund(decision)
    assert limiter.peek().remaining == 10


def test_f9_a_refund_after_the_window_has_no_effect(clock):
    limiter = RateLimiter("10/s fixed_window", clock=clock)
    decision = limiter.decide(4)
    clock.advance(1)
    assert limiter.try_acquire()
    limiter.refund(decision)
    assert limiter.peek().remaining == 9


def test_f9_a_refund_happens_once_with_the_limiter_that_granted(clock):
    limiter, other = (RateLimiter("10/s", clock=clock) for _ in range(2))
    decision = limiter.decide(4)
    with pytest.raises(ConfigError, match=r"^decision: got one of another limiter; allowed: "):
        other.refund(decision)
    limiter.refund(decision)
    with pytest.raises(ConfigError, match=r"^decision: got one that was refunded before; allowed: "):
        limiter.refund(decision)
    for granted_nothing in (limiter.peek(), limiter.decide(11)):
        with pytest.raises(ConfigError, match=r"^decision: got one that granted nothing; allowed: "):
            limiter.refund(granted_nothing)
    assert limiter.peek().remaining == 10


def test_only_a_decision_can_be_refunded():
    for value in (None, True, 1, "decision"):
        with pytest.raises(
            TypeError, match=r"^decision: got .*; allowed: a decision of this limiter that granted, once$"
        ):
            RateLimiter("10/s").refund(value)


def test_reset_makes_everything_unspent_and_voids_what_was_granted(clock):
    limiter = RateLimiter("10/s; 20/min", clock=clock)
    decision = limiter.decide(10)
    limiter.reset()
    assert limiter.peek().remaining == 10
    assert limiter.try_acquire(5)
    limiter.refund(decision)
    assert limiter.peek().remaining == 5


def test_stats_count_calls_and_not_tokens(clock):
    limiter = RateLimiter("10/s", clock=clock)
    limiter.try_acquire(7)
    limiter.try_acquire(7)
    limiter.decide(100)
    limiter.peek()
    stats = limiter.stats()
    assert (stats.allowed, stats.denied) == (1, 2)
    assert repr(stats) == "RateStats(allowed=1, denied=2, timed_out=0, cancelled=0, waiting=0)"
    with pytest.raises(AttributeError):
        stats.allowed = 5


def test_the_anchor_clock_ties_windows_to_the_epoch(clock):
    clock.set(0.9)
    limiter = RateLimiter("1/s fixed_window anchor clock", clock=clock)
    assert limiter.try_acquire()
    clock.set(1.0)
    assert limiter.try_acquire()


def test_limiters_on_one_clock_share_its_time_and_nothing_else(clock):
    one, other = RateLimiter("1/s", clock=clock), RateLimiter("1/s", clock=clock)
    assert one.try_acquire()
    assert other.try_acquire()
    clock.advance(1)
    assert one.try_acquire()
    assert other.try_acquire()


def test_the_machines_clock_moves_by_itself():
    limiter = RateLimiter("1/20ms")
    assert limiter.try_acquire()
    decision = limiter.decide()
    assert 0 < decision.retry_after <= 0.02
    time.sleep(decision.retry_after * 1.01)
    assert limiter.try_acquire()


def test_l6_a_limiter_refuses_pickle_and_copy_and_names_itself():
    limiter = RateLimiter("10/s")
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="RateLimiter"):
            attempt(limiter)
    assert repr(limiter) == "RateLimiter('10/s')"


def test_takes_no_attributes_and_no_subclasses():
    with pytest.raises(AttributeError):
        RateLimiter("1/s").name = "x"
    with pytest.raises(TypeError):
        type("Mine", (RateLimiter,), {})
