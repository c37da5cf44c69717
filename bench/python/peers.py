"""The peers that answer at once, each with `limit` tokens per `period_s` seconds in memory, and full to begin with.

A statement is true where the call was admitted. `keyed` ones ask for the key of that name, of as many as there may be.
"""

from datetime import timedelta
from importlib import metadata

import limits
import throttled
import token_bucket
from pyrate_limiter import BucketFactory, Limiter, MonotonicClock, Rate, RateItem, SingleBucketFactory, StateBucket
from rounds import Subject


def subject(name, *rest, **more):
    return Subject(name, metadata.version(name), *rest, **more)


def fixed_window(limit, period_s):
    """`limits`: a fixed window."""
    storage = limits.storage.MemoryStorage()
    limiter = limits.strategies.FixedWindowRateLimiter(storage)
    given = {"limiter": limiter, "item": limits.RateLimitItemPerSecond(limit, period_s)}
    # A thread of its own drops what is over, 10 ms after each call.
    return given, lambda: storage.timer.join()


def limits_alone(limit, period_s):
    given, settle = fixed_window(limit, period_s)
    return subject("limits", "limiter.hit(item)", given, settle=settle)


def limits_keyed(limit, period_s, _keys):
    given, settle = fixed_window(limit, period_s)
    return subject("limits", "limiter.hit(item, key)", given, settle=settle)


def gcra_of_throttled(limit, period_s, keys, module=throttled, **more):
    quota = throttled.per_duration(timedelta(seconds=period_s), limit)
    store = module.MemoryStore(options={"MAX_SIZE": keys})
    return {"limiter": module.Throttled(key="key", using="gcra", quota=quota, store=store, **more)}


def throttled_alone(limit, period_s):
    return subject("throttled-py", "not limiter.limit().limited", gcra_of_throttled(limit, period_s, 1))


def throttled_keyed(limit, period_s, keys):
    return subject("throttled-py", "not limiter.limit(key).limited", gcra_of_throttled(limit, period_s, keys))


def throttled_figures(limit, period_s):
    statement = "state = limiter.limit().state; state.remaining; state.retry_after"
    given = gcra_of_throttled(limit, period_s, 1)
    return subject("throttled-py", statement, given, "not limiter.limit().limited")


def throttled_asyncio(limit, period_s):
    """Waits for a period at most. Asking wants a `run` that runs a coroutine."""
    given = gcra_of_throttled(limit, period_s, 1, throttled.asyncio, timeout=period_s)
    return subject("throttled-py", "await limiter.limit()", given, "not run(limiter.limit(timeout=-1)).limited")


class BucketPerKey(BucketFactory):
    """What pyrate-limiter asks its users to write for keys: a bucket for each, made when it comes first."""

    def __init__(self, rates):
        self.rates = rates
        self.buckets = {}
        self.clock = MonotonicClock()

    def wrap_item(self, name, weight=1):
        return RateItem(name, self.clock.now(), weight=weight)

    def get(self, item):
        bucket = self.buckets.get(item.name)
        if bucket is None:
            bucket = self.buckets[item.name] = StateBucket(self.rates)
        return bucket


def pyrate_rates(*quotas):
    return [Rate(limit, period_s * 1_000) for limit, period_s in quotas]


def pyrate_quotas(*quotas):
    """One decision over quotas of (limit, period in seconds)."""
    # Its states are of constant size: there is nothing to drop in the background.
    factory = SingleBucketFactory(StateBucket(pyrate_rates(*quotas)), schedule_leak=False)
    return subject("pyrate-limiter", "limiter.try_acquire(blocking=False)", {"limiter": Limiter(factory)})


def pyrate_alone(limit, period_s):
    return pyrate_quotas((limit, period_s))


def pyrate_keyed(limit, period_s, _keys):
    limiter = Limiter(BucketPerKey(pyrate_rates((limit, period_s))))
    return subject("pyrate-limiter", "limiter.try_acquire(key, blocking=False)", {"limiter": limiter})


def token_bucket_keyed(limit, period_s, _keys):
    limiter = token_bucket.Limiter(limit / period_s, limit, token_bucket.MemoryStorage())
    return subject("token-bucket", "limiter.consume(key)", {"limiter": limiter})


def token_bucket_alone(limit, period_s):
    peer = token_bucket_keyed(limit, period_s, 1)
    peer.given["key"] = "key"
    return peer


ALONE = (limits_alone, throttled_alone, pyrate_alone, token_bucket_alone)
KEYED = (limits_keyed, throttled_keyed, pyrate_keyed, token_bucket_keyed)
