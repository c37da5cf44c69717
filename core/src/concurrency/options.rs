//! What a concurrency limiter may be built with.

use super::shared::Shared;
use super::{ConcurrencyLimiter, check_limit};
use crate::Error;
use crate::clock::Clock;
use crate::wait::{MAX_WAITERS, check_max_waiters};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What a concurrency limiter may be built with, beside its limit.
#[derive(Clone, Debug)]
pub struct ConcurrencyOptions {
    track_hold_time: bool,
    clock: Option<Clock>,
    max_waiters: u64,
}

impl Default for ConcurrencyOptions {
    fn default() -> Self {
        Self { track_hold_time: false, clock: None, max_waiters: MAX_WAITERS }
    }
}

impl ConcurrencyOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Measures how long permits are held: two clock readings for each.
    #[must_use]
    pub fn track_hold_time(mut self, track: bool) -> Self {
        self.track_hold_time = track;
        self
    }

    /// The clock that timeouts and hold times are measured on; the monotonic one by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = Some(clock.into());
        self
    }

    /// How many may wait at once, 0 to 4,294,967,294, which is the default; who comes then is refused as
    /// [`Status::QueueFull`](crate::Status::QueueFull).
    #[must_use]
    pub fn max_waiters(mut self, max_waiters: u64) -> Self {
        self.max_waiters = max_waiters;
        self
    }

    /// A limiter that lends `limit` permits.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1, or max_waiters is too large.
    pub fn build(self, limit: u64) -> Result<ConcurrencyLimiter, Error> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        check_limit(limit)?;
        check_max_waiters(self.max_waiters)?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared::new(limit, id, self.clock, self.track_hold_time, self.max_waiters));
        if let Some(clock) = &shared.clock {
            let watcher: Weak<Shared> = Arc::downgrade(&shared);
            clock.watch(watcher);
        }
        Ok(ConcurrencyLimiter { shared })
    }
}
