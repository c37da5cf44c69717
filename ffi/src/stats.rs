//! # Statistics

use crate::border::{Mistake, checked, guard, object};
use crate::layout::layout;
use crate::object::{tidegate_concurrency_limiter, tidegate_rate_limiter};
use std::time::Duration;
use tidegate_core::{Stats, Status};

/// What a limiter has done since it was made, and how it stands. 256 bytes, and never more. Counts are of calls, not of
/// tokens or permits. What does not apply is 0. since 1
#[repr(C)]
pub struct tidegate_stats {
    /// Calls that were allowed, at once or after a wait.
    pub allowed: u64,
    /// Calls that were refused.
    pub denied: u64,
    /// Waits that outlasted their timeout, or would have, and so did not begin.
    pub timed_out: u64,
    /// Waits that were cancelled.
    pub cancelled: u64,
    /// The limit now (concurrency limiters).
    pub limit: u64,
    /// Permits out now (concurrency limiters).
    pub in_flight: u64,
    /// Permits that could be taken now (concurrency limiters).
    pub available: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Keys that were forgotten for new ones though they owed something (keyed rate limiters).
    pub evicted_live: u64,
    /// Releases with ok (concurrency limiters).
    pub released_ok: u64,
    /// Releases without ok (concurrency limiters).
    pub released_failed: u64,
    /// How long permits were held in total; only with TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME.
    pub hold_time_total_ns: u64,
    /// How long the longest-held permit was held; only with TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME.
    pub hold_time_max_ns: u64,
    /// Keys that owe something, or have permits out, now (keyed limiters). Of keyed rate limiters about: exact up to a
    /// max_keys of some 6,000, else from a sample.
    pub live_keys: u64,
    /// For how many such keys there is room (keyed limiters).
    pub capacity: u64,
    /// All 0.
    pub reserved: [u64; 17],
}

layout! { tidegate_stats: 256 {
    allowed: 0,
    denied: 8,
    timed_out: 16,
    cancelled: 24,
    limit: 32,
    in_flight: 40,
    available: 48,
    waiting: 56,
    evicted_live: 64,
    released_ok: 72,
    released_failed: 80,
    hold_time_total_ns: 88,
    hold_time_max_ns: 96,
    live_keys: 104,
    capacity: 112,
    reserved: 120,
} }

impl From<Stats> for tidegate_stats {
    fn from(stats: Stats) -> Self {
        Self {
            allowed: stats.allowed,
            denied: stats.denied,
            timed_out: stats.timed_out,
            cancelled: stats.cancelled,
            limit: stats.limit,
            in_flight: stats.in_flight,
            available: stats.available,
            waiting: stats.waiting,
            evicted_live: stats.evicted_live,
            released_ok: stats.released_ok,
            released_failed: stats.released_failed,
            hold_time_total_ns: saturating_ns(stats.hold_time_total),
            hold_time_max_ns: saturating_ns(stats.hold_time_max),
            live_keys: stats.live_keys,
            capacity: stats.capacity,
            reserved: [0; 17],
        }
    }
}

fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Statistics of a rate limiter. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_stats(
    limiter: *const tidegate_rate_limiter,
    stats_out: *mut tidegate_stats,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let stats = unsafe { object(limiter, "limiter") }?.0.stats();
        // SAFETY: the header asks for a place to write to.
        unsafe { tell(stats, stats_out) }
    })
}

/// Statistics of a concurrency limiter. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_stats(
    limiter: *const tidegate_concurrency_limiter,
    stats_out: *mut tidegate_stats,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let stats = unsafe { object(limiter, "limiter") }?.0.stats();
        // SAFETY: the header asks for a place to write to.
        unsafe { tell(stats, stats_out) }
    })
}

/// # Safety
///
/// `stats_out` is NULL or may be written.
pub(crate) unsafe fn tell(stats: Stats, stats_out: *mut tidegate_stats) -> Result<Status, Mistake> {
    let stats_out = checked(stats_out, "stats_out")?;
    // SAFETY: as the caller vouches.
    unsafe { stats_out.write(stats.into()) };
    Ok(Status::Allowed)
}
