"""What limiters have done since they were built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RateStats:
    """Calls of a rate limiter since it was built. Peeks count nowhere, nor do calls with a wrong argument."""

    allowed: int
    """Calls that were admitted, at once or after a wait."""
    denied: int
    """Calls that were refused, for now or for ever."""
    timed_out: int
    """Waits that outlasted their timeout, or would have and so did not begin."""
    cancelled: int
    """Waits that were left: by a cancelled task, or for what a signal's handler raised."""
    waiting: int
    """How many wait now."""


@dataclass(frozen=True, slots=True)
class KeyedRateStats:
    """Calls of a keyed rate limiter since it was built, over all keys, and what its memory holds."""

    allowed: int
    """Calls that were admitted, at once or after a wait."""
    denied: int
    """Calls that were refused, for now or for ever."""
    timed_out: int
    """Waits that outlasted their timeout, or would have and so did not begin."""
    cancelled: int
    """Waits that were left: by a cancelled task, or for what a signal's handler raised."""
    waiting: int
    """How many wait now, for all keys."""
    live_keys: int
    """Keys that owe something now, about: exact up to some 6,000 keys of capacity, else from a sample."""
    evicted_live: int
    """Keys that were forgotten for new ones though they owed something."""
    capacity: int
    """For how many keys that owe something at once there is room."""


@dataclass(frozen=True, slots=True)
class DeniedKey:
    """A key that was refused often: at most `count` and at least `count - error` times."""

    key: bytes
    """The key; of a longer one its first 128 bytes. Keys that begin alike are counted apart."""
    count: int
    """How often it was refused, at most."""
    error: int
    """How much of `count` others may have been refused before it; 0 while all that were refused have entries."""


@dataclass(frozen=True, slots=True)
class ConcurrencyStats:
    """What a concurrency limiter lends now, and its calls since it was built. Hold times are None unless tracked."""

    limit: int
    """Permits that may be out at once."""
    in_flight: int
    """Permits that are out."""
    available: int
    """Permits that could be taken now."""
    allowed: int
    """Calls that were admitted, at once or after a wait."""
    denied: int
    """Calls that were refused, for now or for ever."""
    timed_out: int
    """Waits that outlasted their timeout, or would have and so did not begin."""
    cancelled: int
    """Waits that were left: by a cancelled task, or for what a signal's handler raised."""
    waiting: int
    """How many wait now."""
    released_ok: int
    """Releases whose work went well: release(), and blocks and guarded functions that ended."""
    released_failed: int
    """Releases whose work failed: release(ok=False), and blocks and guarded functions that an exception left."""
    hold_time_total: float | None
    """How long permits were held in total, in seconds, rounded up."""
    hold_time_max: float | None
    """How long the longest-held permit was held, in seconds, rounded up."""
    hold_time_total_ns: int | None
    """How long permits were held in total, in nanoseconds."""
    hold_time_max_ns: int | None
    """How long the longest-held permit was held, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class KeyedConcurrencyStats:
    """What a keyed concurrency limiter lends now, over all keys, and its calls since it was built. Hold times are None
    unless tracked.
    """

    limit: int
    """Permits of each key that may be out at once."""
    in_flight: int
    """Permits that are out."""
    allowed: int
    """Calls that were admitted, at once or after a wait."""
    denied: int
    """Calls that were refused, for now or for ever."""
    timed_out: int
    """Waits that outlasted their timeout, or would have and so did not begin."""
    cancelled: int
    """Waits that were left: by a cancelled task, or for what a signal's handler raised."""
    waiting: int
    """How many wait now, for all keys."""
    released_ok: int
    """Releases whose work went well: release(), and blocks and guarded functions that ended."""
    released_failed: int
    """Releases whose work failed: release(ok=False), and blocks and guarded functions that an exception left."""
    live_keys: int
    """Keys with permits out."""
    capacity: int
    """For how many keys with permits out there is room."""
    hold_time_total: float | None
    """How long permits were held in total, in seconds, rounded up."""
    hold_time_max: float | None
    """How long the longest-held permit was held, in seconds, rounded up."""
    hold_time_total_ns: int | None
    """How long permits were held in total, in nanoseconds."""
    hold_time_max_ns: int | None
    """How long the longest-held permit was held, in nanoseconds."""
