"""Quotas of single keys, and the keys that are refused most."""

import pytest
from tidegate import ConfigError, DeniedKey, KeyedRateLimiter, Quota


def test_a_key_goes_by_its_own_quota_and_the_others_by_the_limiters(clock):
    limiter = KeyedRateLimiter("2/h", clock=clock)
    limiter.set_quota("big", "5/h")
    limiter.set_quota(key=b"none", quotas=Quota(0, 3600))
    assert [limiter.peek(key).remaining for key in ("big", "none", "ann")] == [5, 0, 2]
    assert limiter.quotas == (Quota(2, 3600),)


def test_what_is_used_stays_used_when_a_quota_is_set_and_when_it_is_cleared(clock):
    limiter = KeyedRateLimiter("10/h", clock=clock)
    assert limiter.try_acquire("ann", 4)
    limiter.set_quota("ann", "20/h")
    assert limiter.peek("ann").remaining == 16
    limiter.clear_quota("ann")
    limiter.clear_quota("ann")
    limiter.clear_quota("never seen")
    assert limiter.peek("ann").remaining == 6


def test_a_reconfigure_leaves_keys_with_quotas_of_their_own_alone(clock):
    limiter = KeyedRateLimiter("10/h; 100/d", clock=clock)
    limiter.set_quota("ann", ["20/h", "200/d"])
    limiter.reconfigure("1/h; 10/d")
    assert [limiter.peek(key).remaining for key in ("ann", "bob")] == [20, 1]


def test_a_key_with_a_quota_of_its_own_is_never_without_room(clock):
    limiter = KeyedRateLimiter("2/h", max_keys=1, when_full="deny_new", clock=clock)
    # The smallest table has eight slots, which every key may use.
    assert all(limiter.try_acquire(str(number)) for number in range(8))
    assert limiter.decide("ann").status == "keys_full"
    limiter.set_quota("ann", "3/h")
    assert limiter.decide("ann").remaining == 2


@pytest.mark.parametrize(
    ("quotas", "error", "message"),
    [
        ("5/s fixed_window", ConfigError, r"^quota: got 5/s fixed_window; allowed: "),
        ("5/s; 10/h", ConfigError, r"^quota: got "),
        ("0/0s", ConfigError, r"^period: got "),
        (5, TypeError, r"^quotas: got 5 \(int\)"),
        (None, TypeError, r"^quotas: got None"),
    ],
)
def test_a_wrong_quota_is_named_and_nothing_changes(clock, quotas, error, message):
    limiter = KeyedRateLimiter("2/s", clock=clock)
    with pytest.raises(error, match=message):
        limiter.set_quota("ann", quotas)
    assert limiter.peek("ann").limit == 2
    with pytest.raises(TypeError, match=r"^key: got 5 \(int\)"):
        limiter.set_quota(5, "3/s")
    with pytest.raises(TypeError, match=r"^key: got 5 \(int\)"):
        limiter.clear_quota(5)


def test_the_keys_that_are_refused_most_are_told_by_name(clock):
    limiter = KeyedRateLimiter("1/h", track_denied=10, clock=clock)
    limiter.try_acquire_many(["ann", *["bob"] * 4, *["\u00fc"] * 3, b"\xff", b"\xff"])
    assert limiter.top_denied(2) == [
        DeniedKey(b"bob", count=3, error=0),
        DeniedKey("\u00fc".encode(), count=2, error=0),
    ]
    assert [denied.key for denied in limiter.top_denied(2**63)] == [b"bob", "\u00fc".encode(), b"\xff"]
    assert limiter.top_denied(0) == []


def test_more_keys_than_are_counted_share_entries_and_the_error_tells_it(clock):
    limiter = KeyedRateLimiter("0/h", track_denied=1, clock=clock)
    limiter.try_acquire_many(["ann", "ann", "bob"])
    assert limiter.top_denied(5) == [DeniedKey(b"bob", count=3, error=2)]


def test_nothing_is_counted_unless_asked_for(clock):
    limiter = KeyedRateLimiter("0/h", clock=clock)
    assert not limiter.try_acquire("ann")
    assert limiter.top_denied(5) == []


@pytest.mark.parametrize(
    ("entries", "error"), [(-1, ConfigError), (65_537, ConfigError), (True, TypeError), (None, TypeError)]
)
def test_a_wrong_number_of_entries_is_named(entries, error):
    with pytest.raises(error, match=r"^track_denied: got .*0 to 65536$"):
        KeyedRateLimiter("1/s", track_denied=entries)


@pytest.mark.parametrize(("n", "error"), [(-1, ConfigError), (2**64, ConfigError), (1.0, TypeError)])
def test_a_wrong_number_of_keys_to_name_is_told(clock, n, error):
    with pytest.raises(error, match=r"^n: got "):
        KeyedRateLimiter("1/s", track_denied=5, clock=clock).top_denied(n)
