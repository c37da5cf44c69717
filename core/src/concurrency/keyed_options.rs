//! What a keyed concurrency limiter may be built with.

use super::keyed_shared::KeyedShared;
use super::{KeyedConcurrencyLimiter, check_limit};
use crate::Error;
use crate::clock::Clock;
use crate::table::check_max_keys;
use crate::wait::{MAX_WAITERS, check_max_waiters};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What a keyed concurrency limiter may be built with, beside its limit.
#[derive(Clone, Debug)]
pub struct KeyedConcurrencyOptions {
    max_keys: u64,
    track_hold_time: bool,
    clock: Option<Clock>,
    max_waiters: u64,
}

impl Default for KeyedConcurrencyOptions {
    fn default() -> Self {
        Self { max_keys: crate::DEFAULT_MAX_KEYS, track_hold_time: false, clock: None, max_waiters: MAX_WAITERS }
    }
}

impl KeyedConcurrencyOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For how many keys with permits out there is to be room: 1 … 2³², 100,000 by default. Takes 40 bytes for each.
    #[must_use]
    pub fn max_keys(mut self, max_keys: u64) -> Self {
        self.max_keys = max_keys;
        self
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

    /// How many may wait for one key at once, 0 to 4,294,967,294, which is the default; who comes then is refused as
    /// [`Status::QueueFull`](crate::Status::QueueFull).
    #[must_use]
    pub fn max_waiters(mut self, max_waiters: u64) -> Self {
        self.max_waiters = max_waiters;
        self
    }

    /// A limiter that lends `limit` permits of each key.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1, max_keys not 1 … 2³², or max_waiters too large.
    pub fn build(self, limit: u64) -> Result<KeyedConcurrencyLimiter, Error> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let Self { max_keys, track_hold_time, clock, max_waiters } = self;
        check_limit(limit)?;
        check_max_keys(max_keys)?;
        check_max_waiters(max_waiters)?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(KeyedShared::new(limit, max_keys, id, clock, track_hold_time, max_waiters)?);
        if let Some(clock) = &shared.clock {
            let watcher: Weak<KeyedShared> = Arc::downgrade(&shared);
            clock.watch(watcher);
        }
        Ok(KeyedConcurrencyLimiter::of(shared, max_keys))
    }
}
