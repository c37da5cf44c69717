//! # Objects
//!
//! Objects are made by functions that end in `_new`, `_parse` or `_open` and have owners, who are counted. Making one makes the
//! caller its owner; `_ref` adds an owner, `_free` takes one away, and the object goes with its last owner. A limiter
//! keeps what it needs of a clock for itself: the clock may be freed before the limiter.
//!
//! What has no `_ref` has one owner, and goes with its `_free`; an entry with its `_release`.

use tidegate_core::gate::Refusal;
use tidegate_core::{
    Clock, ConcurrencyLimiter, Gate, KeyedConcurrencyLimiter, KeyedRateLimiter, ManualClock, RateLimiter,
};

/// Spends tokens that come back with time. See "Rate limiters". since 1
pub struct tidegate_rate_limiter(pub(crate) RateLimiter);

/// Lends permits that the caller gives back. See "Concurrency limiters". since 1
pub struct tidegate_concurrency_limiter(pub(crate) ConcurrencyLimiter);

/// Spends tokens of each key that come back with time. See "Keyed rate limiters". since 1
pub struct tidegate_keyed_rate_limiter(pub(crate) KeyedRateLimiter);

/// Lends permits of each key that the caller gives back. See "Keyed concurrency limiters". since 1
pub struct tidegate_keyed_concurrency_limiter(pub(crate) KeyedConcurrencyLimiter);

/// Admits requests by rules. See "The gate". since 1
pub struct tidegate_gate(pub(crate) Gate);

/// A request that a gate admitted. Belongs to the caller until tidegate_entry_release(). See "Entries". since 1
// Stands for an `Entry` in the box in which the core hands it out: pointers to it are cast.
pub struct tidegate_entry(());

/// A request that a gate refused. Belongs to the caller until tidegate_refusal_free(). See "Refusals". since 1
pub struct tidegate_refusal(pub(crate) Refusal);

/// A text that belongs to the caller until tidegate_text_free(). See "Documents". since 1
// Ends in a NUL.
pub struct tidegate_text(pub(crate) String);

/// Where limiters have the time from. See "Clocks". since 1
pub struct tidegate_clock {
    pub(crate) clock: Clock,
    /// The same clock, if it can be told the time.
    pub(crate) manual: Option<ManualClock>,
}
