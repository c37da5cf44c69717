//! What a rate limiter may be built with.

use super::RateLimiter;
use super::shared::Shared;
use crate::Error;
use crate::clock::Clock;
use crate::quota::IntoQuotas;
use crate::wait::{MAX_WAITERS, check_max_waiters};
use std::sync::{Arc, Weak};

/// What a rate limiter may be built with, beside its quotas.
#[derive(Clone, Debug)]
pub struct RateOptions {
    clock: Option<Clock>,
    max_waiters: u64,
}

impl Default for RateOptions {
    fn default() -> Self {
        Self { clock: None, max_waiters: MAX_WAITERS }
    }
}

impl RateOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The clock; the monotonic one by default.
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

    /// A limiter with nothing used. `quotas` is a [`Quota`](crate::Quota), its text, or a list.
    ///
    /// # Errors
    ///
    /// Names the part of the quota that is wrong; or max_waiters.
    pub fn build(self, quotas: impl IntoQuotas) -> Result<RateLimiter, Error> {
        let quotas = quotas.into_quotas()?;
        check_max_waiters(self.max_waiters)?;
        let clock = self.clock.unwrap_or_default();
        let shared = Arc::new(Shared::new(quotas, clock.clone(), self.max_waiters)?);
        let watcher: Weak<Shared> = Arc::downgrade(&shared);
        clock.watch(watcher);
        Ok(RateLimiter { shared })
    }
}
