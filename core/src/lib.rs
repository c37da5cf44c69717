//! Exact, fast, in-process limiters: *rate limiters* (so many per time) and *concurrency limiters* (so many at once).
//!
//! ```
//! use tidegate::{ConcurrencyLimiter, RateLimiter};
//!
//! let limiter = RateLimiter::new("100/s burst 20")?;
//! if limiter.try_acquire() {
//!     // go ahead
//! }
//!
//! let limiter = ConcurrencyLimiter::new(4)?;
//! if let Some(_permit) = limiter.try_acquire() {
//!     // at most four are here at once; the permit is given back when it is dropped
//! }
//! # Ok::<(), tidegate::Error>(())
//! ```
//!
//! Every decision is one atomic step, exact under any interleaving of threads; refusals change nothing; times are whole
//! nanoseconds of the limiter's own [`Clock`]. `docs/design.md` has the algorithms and their bounds.

mod algorithm;
mod clock;
mod concurrency;
mod decision;
mod error;
mod fork;
#[cfg(feature = "gate")]
pub mod gate;
mod key;
mod lock;
mod quota;
mod rate;
mod stats;
mod status;
mod sync;
mod table;
mod wait;

pub use clock::{Clock, ManualClock};
pub use concurrency::{
    AcquireKeyedPermit, KeyedConcurrencyLimiter, KeyedConcurrencyOptions, KeyedPermit, OwnedKeyedPermit, RawKeyedPermit,
};
pub use concurrency::{AcquirePermit, ConcurrencyLimiter, ConcurrencyOptions, OwnedPermit, Permit, RawPermit};
pub use decision::{Decision, Grant};
pub use error::Error;
#[cfg(feature = "gate")]
pub use gate::Gate;
pub use key::{IPV6_PREFIX, ip_key, key_of};
pub use quota::{Algorithm, Anchor, IntoQuotas, Quota};
pub use rate::{
    AcquireKeyedTokens, AcquireTokens, DeniedKey, KeyedRateLimiter, KeyedRateOptions, RateLimiter, RateOptions,
    Reservation,
};
pub use stats::Stats;
pub use status::Status;
#[cfg(loom)]
#[doc(hidden)]
pub use table::Protocol;
pub use table::WhenFull;
pub use wait::{AcquireError, Event, Refusal, Started, Ticket};

/// The largest cost, number of permits, limit or burst: 2⁵³−1, the largest whole number that every language can say exactly.
pub const MAX_COST: u64 = (1 << 53) - 1;

/// A time that never comes, in nanoseconds.
pub const NEVER_NS: u64 = u64::MAX;

/// For how many keys that count at once there is room unless asked otherwise.
const DEFAULT_MAX_KEYS: u64 = 100_000;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
