"""Exact, fast, in-process limiters: rate limiters (so many per time) and concurrency limiters (so many at once)."""

from tidegate._tidegate import (
    ConcurrencyLimiter,
    Decision,
    KeyedConcurrencyLimiter,
    KeyedRateLimiter,
    ManualClock,
    Permit,
    Quota,
    RateLimiter,
    __version__,
    ip_key,
    key_of,
)
from tidegate.errors import (
    Closed,
    ConfigError,
    ExceedsCapacity,
    InternalError,
    QueueFull,
    Refused,
    TidegateError,
    TimedOut,
)
from tidegate.stats import ConcurrencyStats, DeniedKey, KeyedConcurrencyStats, KeyedRateStats, RateStats

__all__ = [
    "Closed",
    "ConcurrencyLimiter",
    "ConcurrencyStats",
    "ConfigError",
    "Decision",
    "DeniedKey",
    "ExceedsCapacity",
    "InternalError",
    "KeyedConcurrencyLimiter",
    "KeyedConcurrencyStats",
    "KeyedRateLimiter",
    "KeyedRateStats",
    "ManualClock",
    "Permit",
    "QueueFull",
    "Quota",
    "RateLimiter",
    "RateStats",
    "Refused",
    "TidegateError",
    "TimedOut",
    "__version__",
    "ip_key",
    "key_of",
]
