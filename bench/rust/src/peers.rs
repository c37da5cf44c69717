//! The peers, set up to do the same work.

use governor::clock::DefaultClock;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;

pub type Governor = RateLimiter<NotKeyed, InMemoryState, DefaultClock>;

pub type KeyedGovernor = RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock>;

pub fn nonzero(value: u64) -> NonZeroU32 {
    u32::try_from(value).ok().and_then(NonZeroU32::new).expect("a positive number of 32 bits")
}

/// A bucket that is never empty.
pub fn governor_full(limit: u64) -> Governor {
    RateLimiter::direct(Quota::per_second(nonzero(limit)))
}

/// A bucket that is empty for an hour.
pub fn governor_used_up() -> Governor {
    let limiter = RateLimiter::direct(Quota::per_hour(nonzero(1)));
    assert!(limiter.check().is_ok());
    limiter
}

/// Buckets that are never empty, one for each key.
pub fn governor_keyed(limit: u64) -> KeyedGovernor {
    RateLimiter::keyed(Quota::per_second(nonzero(limit)))
}
