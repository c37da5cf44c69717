"""What limiters have done since they were built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RateStats:
    """Calls of a rate limiter since it was built. Peeks count nowhere, nor do calls with a wrong argument."""

    allowed: int
    """Calls that were admitted."""
    denied: int
    """Calls that were refused, for now or for ever."""


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
    """Calls that were admitted."""
    denied: int
    """Calls that were refused, for now or for ever."""
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
