import copy
import math
import pickle
import subprocess
import sys

import pytest
from tidegate import ConfigError, KeyedRateLimiter, KeyedRateStats, Quota, RateLimiter

ALGORITHMS = ("gcra", "fixed_window", "sliding_window")


def test_each_key_is_limited_on_its_own(clock):
    limiter = KeyedRateLimiter("2/s", clock=clock)
    assert [limiter.try_acquire("ann") for _ in range(3)] == [True, True, False]
    assert limiter.try_acquire("bob") is True
    clock.advance(0.5)
    assert limiter.try_acquire(key="ann", cost=1) is True
    assert limiter.try_acquire("ann") is False


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("anchor", ["first", "clock"])
def test_a_key_is_decided_on_as_a_limiter_of_its_own_would(clock, algorithm, anchor):
    if anchor == "clock" and algorithm != "fixed_window":
        anchor = "first"
    quota = Quota(5, 1, algorithm=algorithm, anchor=anchor)
    keyed, alone = KeyedRateLimiter(quota, clock=clock), RateLimiter(quota, clock=clock)
    for step in range(200):
        cost = 1 + step % 3
        keyed.try_acquire(f"other {step % 7}", 5)
        assert repr(keyed.peek("ann", cost)) == repr(alone.peek(cost))
        assert repr(keyed.decide("ann", cost)) == repr(alone.decide(cost))
        clock.advance_ns(37_000_000 * (step % 5))


def test_several_quotas_are_one_decision_for_each_key(clock):
    limiter = KeyedRateLimiter("2/s; 3/min", clock=clock)
    assert limiter.quotas == (Quota(2, 1), Quota(3, 60))
    assert limiter.quota == Quota(2, 1)
    assert limiter.try_acquire("ann", 2)
    clock.advance(1)
    assert limiter.decide("ann", 2).quota == 1
    assert limiter.try_acquire("ann")
    assert limiter.try_acquire("bob", 2)


def test_many_keys_are_decided_on_one_after_the_other(clock):
    limiter = KeyedRateLimiter("2/h", clock=clock)
    assert limiter.try_acquire_many(["a", b"a", "b", "a", "\ud800"]) == [True, True, True, False, True]
    assert limiter.try_acquire_many(("a", "b", "c"), cost=2) == [False, False, True]
    assert limiter.try_acquire_many(key for key in ("b", "b")) == [True, False]
    assert limiter.try_acquire_many([]) == []
    assert limiter.try_acquire_many({"d": 1, "e": 2}) == [True, True]
    keys = [str(number % 70) for number in range(1000)]
    answers = KeyedRateLimiter("3/h", clock=clock).try_acquire_many(keys)
    assert answers == [index < 210 for index in range(1000)]
    assert (limiter.stats().allowed, limiter.stats().denied) == (8, 4)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("abc", r"^keys: got 'abc' \(str\); allowed: a list, or another iterable, of str or bytes$"),
        (b"abc", r"^keys: got b'abc' \(bytes\); allowed: a list"),
        (5, r"^keys: got 5 \(int\); allowed: a list"),
        (["a", 5], r"^keys\[1\]: got 5 \(int\); allowed: a str or bytes$"),
    ],
)
def test_keys_that_are_none_are_named_and_nothing_is_taken(clock, keys, message):
    limiter = KeyedRateLimiter("2/h", clock=clock)
    with pytest.raises(TypeError, match=message):
        limiter.try_acquire_many(keys)
    assert limiter.stats().allowed == 0


def test_an_error_of_an_iterable_of_keys_flies_on_and_nothing_is_taken(clock):
    def keys():
        yield "a"
        raise KeyError("mine")

    limiter = KeyedRateLimiter("2/h", clock=clock)
    with pytest.raises(KeyError, match="mine"):
        limiter.try_acquire_many(keys())
    with pytest.raises(ConfigError, match=r"^cost: got 0"):
        limiter.try_acquire_many(["a"], 0)
    assert limiter.stats().allowed == 0


@pytest.mark.parametrize("call", ["try_acquire", "decide", "peek"])
@pytest.mark.parametrize(
    ("cost", "error"),
    [(0, ConfigError), (-1, ConfigError), (2**53, ConfigError), (2**64 + 1, ConfigError)]
    + [(cost, TypeError) for cost in (1.0, math.nan, True, "1", None)],
)
def test_a1_a_wrong_cost_is_named_and_nothing_is_taken(clock, call, cost, error):
    limiter = KeyedRateLimiter("5/s", clock=clock)
    with pytest.raises(error, match=r"^cost: got .*1 to 9007199254740991$"):
        getattr(limiter, call)("ann", cost)
    assert limiter.peek("ann").remaining == 5
    assert limiter.stats().denied == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_keys": 0}, ConfigError, r"^max_keys: got 0; allowed: 1 to 4294967296$"),
        ({"max_keys": 2**32 + 1}, ConfigError, r"^max_keys: got 4294967297; allowed: 1 to 4294967296$"),
        ({"max_keys": -1}, ConfigError, r"^max_keys: got -1; allowed: 1 to 4294967296$"),
        ({"max_keys": 10.0}, TypeError, r"^max_keys: got 10\.0 \(float\); allowed: an int, 1 to 4294967296$"),
        ({"max_keys": None}, TypeError, r"^max_keys: got None"),
        ({"when_full": "deny"}, ConfigError, r'^when_full: got "deny"; allowed: evict, deny_new$'),
        ({"when_full": None}, TypeError, r"^when_full: got None \(NoneType\); allowed: a str$"),
        ({"clock": 5}, TypeError, r"^clock: got 5 \(int\); allowed: a ManualClock or None$"),
    ],
)
def test_a_wrong_option_is_named(options, error, message):
    with pytest.raises(error, match=message):
        KeyedRateLimiter("5/s", **options)


def test_a_quota_that_does_not_fit_beside_a_key_is_named():
    with pytest.raises(ConfigError, match=r"^limit: got 16777216; allowed: "):
        KeyedRateLimiter(Quota(2**24, 1, algorithm="fixed_window"))
    with pytest.raises(ConfigError, match=r"^algorithm: got .*sliding_log"):
        KeyedRateLimiter("5/s sliding_log")


def test_options_are_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        KeyedRateLimiter("5/s", 1000)


def test_a_key_in_the_place_of_the_cost_is_told(clock):
    with pytest.raises(TypeError, match="key"):
        KeyedRateLimiter("5/s", clock=clock).try_acquire()
    with pytest.raises(TypeError, match=r"^key: got 2 \(int\)"):
        KeyedRateLimiter("5/s", clock=clock).try_acquire(2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_refund_goes_to_the_key_that_paid_and_once(clock, algorithm):
    limiter = KeyedRateLimiter(Quota(5, 3600, algorithm=algorithm), clock=clock)
    decision = limiter.decide("ann", 3)
    for key, other in (("bob", limiter), ("ann", KeyedRateLimiter("5/h", clock=clock))):
        with pytest.raises(ConfigError, match=r"^decision: got one of another (key|limiter); allowed: "):
            other.refund(key, decision)
    limiter.refund(b"ann", decision)
    assert limiter.peek("ann").remaining == 5
    with pytest.raises(ConfigError, match=r"^decision: got one that was refunded before"):
        limiter.refund("ann", decision)
    with pytest.raises(ConfigError, match=r"^decision: got one that granted nothing"):
        limiter.refund("ann", limiter.peek("ann"))
    with pytest.raises(ConfigError, match=r"^decision: got a copy"):
        limiter.refund("ann", copy.copy(limiter.decide("ann")))
    with pytest.raises(TypeError, match=r"^decision: got 'ann' \(str\)"):
        limiter.refund("ann", "ann")


def test_decisions_of_limiters_with_and_without_keys_are_told_apart(clock):
    keyed, alone = KeyedRateLimiter("5/h", clock=clock), RateLimiter("5/h", clock=clock)
    with pytest.raises(ConfigError, match=r"^decision: "):
        keyed.refund("ann", alone.decide())
    with pytest.raises(ConfigError, match=r"^decision: "):
        alone.refund(keyed.decide("ann"))


def test_a_reset_frees_one_key_and_voids_its_decisions(clock):
    limiter = KeyedRateLimiter("2/h", clock=clock)
    decision = limiter.decide("ann", 2)
    assert limiter.try_acquire("bob", 2)
    limiter.reset("ann")
    assert limiter.try_acquire("ann")
    limiter.refund("ann", decision)
    assert (limiter.peek("ann").remaining, limiter.peek("bob").remaining) == (1, 0)


def test_a4_a_new_quota_counts_for_all_keys_and_what_is_used_stays_used(clock):
    limiter = KeyedRateLimiter("5/min fixed_window", clock=clock)
    for key in ("ann", "bob"):
        assert limiter.try_acquire(key, 5)
    limiter.reconfigure("10/min fixed_window")
    assert limiter.quota == Quota(10, 60, algorithm="fixed_window")
    assert [limiter.peek(key).remaining for key in ("ann", "bob", "new")] == [5, 5, 10]
    limiter.reconfigure("3/min fixed_window")
    assert [limiter.peek(key).remaining for key in ("ann", "bob", "new")] == [0, 0, 3]
    for wrong in ("3/min", "3/min fixed_window; 5/h", "0/0s", []):
        with pytest.raises(ConfigError):
            limiter.reconfigure(wrong)
    assert str(limiter.quota) == "3/min fixed_window"


def test_a1_a_limit_of_zero_refuses_all_keys(clock):
    decision = KeyedRateLimiter("0/s", clock=clock).decide("ann")
    assert (decision.status, decision.retry_after) == ("denied", math.inf)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_k2_a_flood_of_fresh_keys_does_not_free_a_refused_key(clock, algorithm):
    limiter = KeyedRateLimiter(Quota(2, 3600, algorithm=algorithm), max_keys=1000, clock=clock)
    assert limiter.try_acquire("victim", 2)
    assert not limiter.try_acquire("victim")
    for number in range(2000 * 5):
        limiter.try_acquire(f"flood {number}")
    assert not limiter.try_acquire("victim")
    assert limiter.stats().evicted_live > 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_k2_with_a_burst_of_one_deny_new_keeps_a_refused_key(clock, algorithm):
    quota = Quota(1, 3600, algorithm=algorithm)
    limiter = KeyedRateLimiter(quota, max_keys=1000, when_full="deny_new", clock=clock)
    assert limiter.try_acquire("victim")
    for number in range(2000 * 5):
        limiter.try_acquire(f"flood {number}")
    assert limiter.peek("victim").status == "denied"
    assert limiter.stats().evicted_live == 0


def test_a_new_key_without_room_is_refused_as_keys_full_until_one_is_at_rest(clock):
    limiter = KeyedRateLimiter("1/min", max_keys=1, when_full="deny_new", clock=clock)
    # The smallest table has eight slots, which every key may use.
    assert limiter.try_acquire_many(map(str, range(9))) == [True] * 8 + [False]
    decision = limiter.decide("new")
    assert not decision
    assert (decision.status, decision.remaining, decision.retry_after) == ("keys_full", 0, 60.0)
    restored = pickle.loads(pickle.dumps(decision))
    assert (restored.status, repr(restored)) == ("keys_full", repr(decision))
    assert limiter.peek("0").status == "denied"
    clock.advance(60)
    assert limiter.try_acquire("new")


def test_k1_one_shot_keys_take_no_memory():
    program = """
import resource, tidegate

clock = tidegate.ManualClock()
limiter = tidegate.KeyedRateLimiter("5/s", max_keys=10_000, clock=clock)

def churn(name):
    for number in range(100_000):
        assert limiter.try_acquire(f"{name} {number}")
        clock.advance_ns(100_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

first, *_, last = map(churn, range(5))
print(last - first)
assert limiter.stats().evicted_live == 0
"""
    # In a process of its own, since the peak of this one may have been higher before.
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 512


def test_stats_length_and_capacity(clock):
    limiter = KeyedRateLimiter("2/s", max_keys=100, clock=clock)
    assert (len(limiter), limiter.capacity) == (0, 100)
    assert limiter
    for key in ("ann", "ann", "ann", "bob"):
        limiter.try_acquire(key)
    limiter.peek("cid")
    assert len(limiter) == 2
    assert limiter.stats() == KeyedRateStats(
        allowed=3, denied=1, timed_out=0, cancelled=0, waiting=0, live_keys=2, evicted_live=0, capacity=100
    )
    clock.advance(1)
    assert len(limiter) == 0
    assert KeyedRateLimiter("2/s", clock=clock).capacity == 100_000


def test_l6_a_limiter_refuses_pickle_and_copy_and_names_itself(clock):
    limiter = KeyedRateLimiter("10/s; 1000/h", max_keys=50, clock=clock)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a KeyedRateLimiter"):
            attempt(limiter)
    assert repr(limiter) == "KeyedRateLimiter('10/s; 1000/h', max_keys=50)"


def test_takes_no_attributes_and_no_subclasses():
    with pytest.raises(AttributeError):
        KeyedRateLimiter("1/s").name = "x"
    with pytest.raises(TypeError):
        type("Mine", (KeyedRateLimiter,), {})
