//! Tokens that are charged ahead of time.

use super::RateLimiter;
use crate::rate::check_cost;
use crate::wait::{AcquireError, Failure};
use crate::{Error, NEVER_NS, Quota, Status};
use std::time::Duration;

/// Tokens that are charged already and may be used from a fixed time on, for who has a scheduler of its own; made by
/// [`RateLimiter::reserve`] and [`KeyedRateLimiter::reserve`](crate::KeyedRateLimiter::reserve). Nobody else can have them meanwhile.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is reserved is charged, used or not"]
pub struct Reservation {
    /// The limiter that gave it; unique in the process.
    pub limiter_id: u64,
    /// From when on it may be used, on the limiter's clock.
    pub due_ns: u64,
    /// How long that was from when it was reserved.
    pub wait_ns: u64,
    /// For the limiter's own use.
    pub before: u64,
    /// For the limiter's own use.
    pub after: u64,
    /// For the limiter's own use.
    pub reset_count: u64,
    /// Of which key; 0 without keys.
    pub key_hash: u64,
}

impl Reservation {
    /// How long to wait from when it was reserved; 0 if it may be used at once.
    #[must_use]
    pub fn wait(&self) -> Duration {
        Duration::from_nanos(self.wait_ns)
    }
}

impl RateLimiter {
    /// Charges `cost` now, for use as soon as it is due, if that is within `max_wait` (for ever, if that is `None`). For gcra with
    /// one quota.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{ManualClock, RateLimiter};
    ///
    /// let limiter = RateLimiter::with_clock("1/s", ManualClock::new())?;
    /// assert_eq!(limiter.reserve(1, None)?.wait(), Duration::ZERO);
    /// assert_eq!(limiter.reserve(1, None)?.wait(), Duration::from_secs(1));
    /// assert!(limiter.reserve(1, Duration::from_secs(1)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1 or exceeds the burst, it would be due after `max_wait` (or somebody waits already), or the limiter
    /// is none of gcra with one quota ([`Status::Unsupported`]). Nothing is charged then.
    pub fn reserve(&self, cost: u64, max_wait: impl Into<Option<Duration>>) -> Result<Reservation, AcquireError> {
        check_cost("cost", cost)?;
        let timeout = max_wait.into();
        let max_wait_ns = timeout.map_or(NEVER_NS, crate::clock::saturating_ns);
        self.shared.reserve(cost, max_wait_ns).map_err(|status| match status {
            Status::Unsupported => unsupported(&self.quotas()).into(),
            _ => self.refused(Failure { status, cost, elapsed: Duration::ZERO, timeout }),
        })
    }

    /// Gives a reservation back. It is credited, which is told, only if it isn't due yet and nobody reserved after it: else somebody
    /// else's time would come sooner than was promised to all.
    ///
    /// # Errors
    ///
    /// If it is another limiter's.
    pub fn cancel_reservation(&self, reservation: Reservation) -> Result<bool, Error> {
        check_owner(&reservation, self.id())?;
        Ok(self.shared.cancel_reservation(&reservation))
    }
}

#[cold]
pub(super) fn unsupported(quotas: &[Quota]) -> Error {
    Error::new(Status::Unsupported, "quota", super::text_of(quotas), "to reserve: one quota, with gcra")
}

pub(super) fn check_owner(reservation: &Reservation, limiter_id: u64) -> Result<(), Error> {
    if reservation.limiter_id == limiter_id {
        return Ok(());
    }
    let value = format!("one of limiter {}", reservation.limiter_id);
    Err(Error::new(Status::InvalidDecision, "reservation", value, "one of this limiter"))
}
