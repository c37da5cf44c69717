import gc
import weakref

import pytest
from tidegate import ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter


@pytest.mark.parametrize(
    "make",
    [
        lambda: RateLimiter("1/s"),
        lambda: ConcurrencyLimiter(1),
        lambda: KeyedRateLimiter("1/s", max_keys=10),
        lambda: KeyedConcurrencyLimiter(1, max_keys=10),
    ],
    ids=["rate", "concurrency", "keyed_rate", "keyed_concurrency"],
)
def test_a_limiter_may_be_held_weakly_and_goes_with_its_last_owner(make):
    limiter = make()
    gone = []
    reference = weakref.ref(limiter, gone.append)
    by_name = weakref.WeakValueDictionary(api=limiter)
    assert reference() is limiter
    assert by_name["api"] is limiter
    del limiter
    gc.collect()
    assert reference() is None
    assert gone == [reference]
    assert "api" not in by_name


def test_a_permit_keeps_working_when_its_limiter_is_held_by_nobody_else():
    limiter = ConcurrencyLimiter(1)
    reference = weakref.ref(limiter)
    permit = limiter.try_acquire()
    del limiter
    gc.collect()
    permit.release()
    assert permit.released
    del permit
    gc.collect()
    assert reference() is None
