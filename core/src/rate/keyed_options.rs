//! What a keyed rate limiter may be built with.

use super::KeyedRateLimiter;
use crate::Error;
use crate::clock::Clock;
use crate::quota::IntoQuotas;
use crate::table::WhenFull;
use crate::wait::MAX_WAITERS;
#[cfg(not(loom))]
use std::mem::MaybeUninit;

/// What a keyed rate limiter may be built with, beside its quotas.
///
/// ```
/// use tidegate::{KeyedRateOptions, WhenFull};
///
/// let limiter = KeyedRateOptions::new().max_keys(10_000).when_full(WhenFull::DenyNew).build("5/s")?;
/// assert!(limiter.try_acquire("203.0.113.7"));
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyedRateOptions {
    pub(super) max_keys: u64,
    pub(super) when_full: WhenFull,
    pub(super) track_denied: u32,
    pub(super) clock: Option<Clock>,
    pub(super) max_waiters: u64,
    #[cfg(loom)]
    pub(super) protocol: crate::Protocol,
}

impl Default for KeyedRateOptions {
    fn default() -> Self {
        Self {
            max_keys: crate::DEFAULT_MAX_KEYS,
            when_full: WhenFull::default(),
            track_denied: 0,
            clock: None,
            max_waiters: MAX_WAITERS,
            #[cfg(loom)]
            protocol: crate::Protocol::Locked,
        }
    }
}

impl KeyedRateOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For how many keys that count at once there is to be room: 1 … 2³², 100,000 by default. Takes 40 bytes for each, and as
    /// much for each quota.
    #[must_use]
    pub fn max_keys(mut self, max_keys: u64) -> Self {
        self.max_keys = max_keys;
        self
    }

    /// What to do with a new key that finds no room.
    #[must_use]
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// How many keys to count refusals of, for [`top_denied`](KeyedRateLimiter::top_denied): 0 … 65,536, by default 0, which is none.
    /// Takes up to some 350 bytes for each, and makes a refusal slower by some 100 ns; who is admitted pays nothing.
    #[must_use]
    pub fn track_denied(mut self, entries: u32) -> Self {
        self.track_denied = entries;
        self
    }

    /// The clock; the monotonic one by default.
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

    /// How keys enter, for the model checker.
    #[cfg(loom)]
    #[must_use]
    pub fn protocol(mut self, protocol: crate::Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// A limiter with nothing used. `quotas` is a [`Quota`](crate::Quota), its text, or a list.
    ///
    /// # Errors
    ///
    /// Names the part of the quota that is wrong, or that doesn't fit beside a key; or max_keys, or track_denied.
    pub fn build(self, quotas: impl IntoQuotas) -> Result<KeyedRateLimiter, Error> {
        KeyedRateLimiter::with_options(quotas.into_quotas()?, self, None)
    }

    /// [`build`](Self::build), with the table of keys in memory of the caller's: at least [`KeyedRateLimiter::region_size`] bytes at an
    /// address that is a multiple of 64. What is in them is overwritten.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// use tidegate::{KeyedRateLimiter, KeyedRateOptions};
    ///
    /// #[repr(align(64))]
    /// struct Region([MaybeUninit<u8>; 4_096]);
    ///
    /// assert!(KeyedRateLimiter::region_size(100, 1)? <= 4_096);
    /// let region = Box::leak(Box::new(Region([MaybeUninit::uninit(); 4_096])));
    /// let limiter = KeyedRateOptions::new().max_keys(100).build_in("5/s", &mut region.0)?;
    /// assert!(limiter.try_acquire("203.0.113.7"));
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build); or names the region, if it is too small or not aligned.
    #[cfg(not(loom))]
    pub fn build_in(
        self,
        quotas: impl IntoQuotas,
        region: &'static mut [MaybeUninit<u8>],
    ) -> Result<KeyedRateLimiter, Error> {
        KeyedRateLimiter::with_options(quotas.into_quotas()?, self, Some(region))
    }
}
