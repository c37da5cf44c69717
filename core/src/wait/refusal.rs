//! Why a wait came to nothing.

use crate::{Error, Quota, Status};
use std::fmt;
use std::time::Duration;

/// Why `acquire` came back without what was asked for. Nothing was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcquireError {
    /// A mistake of the caller's.
    Invalid(Error),
    /// The limiter refused.
    Refused(Refusal),
}

/// What a limiter says of a wait that it ended, or did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// [`TimedOut`](Status::TimedOut), [`QueueFull`](Status::QueueFull), [`ExceedsCapacity`](Status::ExceedsCapacity),
    /// [`Closed`](Status::Closed), [`KeysFull`](Status::KeysFull) or [`Cancelled`](Status::Cancelled).
    pub status: Status,
    /// How long it was waited.
    pub elapsed: Duration,
    /// How long it would have been at most; `None` if for ever.
    pub timeout: Option<Duration>,
    /// What was asked for: tokens or permits.
    pub cost: u64,
    /// The limit: permits at once, or tokens in a period.
    pub limit: u64,
    /// The most that can be had at once: the limit of permits, or the least burst.
    pub capacity: u64,
    /// Permits that are out (concurrency limiters).
    pub in_flight: u64,
    /// How many others wait.
    pub waiting: u64,
}

/// A wait that came to nothing, as far as it knows of that itself.
#[derive(Clone, Copy)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) cost: u64,
    pub(crate) elapsed: Duration,
    pub(crate) timeout: Option<Duration>,
}

impl Failure {
    /// With what its limiter knows.
    pub(crate) fn of_permits(self, limit: u64, in_flight: u64, waiting: u64) -> AcquireError {
        let Self { status, cost, elapsed, timeout } = self;
        AcquireError::Refused(Refusal { status, elapsed, timeout, cost, limit, capacity: limit, in_flight, waiting })
    }

    /// [`of_permits`](Self::of_permits), but of tokens.
    pub(crate) fn of_tokens(self, quotas: &[Quota], waiting: u64) -> AcquireError {
        let Self { status, cost, elapsed, timeout } = self;
        let limit = quotas.first().map_or(0, Quota::limit);
        let capacity = quotas.iter().map(Quota::burst).min().unwrap_or(0);
        AcquireError::Refused(Refusal { status, elapsed, timeout, cost, limit, capacity, in_flight: 0, waiting })
    }
}

impl AcquireError {
    /// What happened, as one number with a name.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Invalid(mistake) => mistake.status(),
            Self::Refused(refusal) => refusal.status,
        }
    }
}

impl From<Error> for AcquireError {
    fn from(mistake: Error) -> Self {
        Self::Invalid(mistake)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, elapsed, timeout, cost, limit, capacity, in_flight, waiting } = self;
        if *status == Status::ExceedsCapacity {
            return write!(f, "{status}: {cost} can never be had, at most {capacity} at once");
        }
        write!(f, "{status} after {elapsed:?}")?;
        if let Some(timeout) = timeout {
            write!(f, " of {timeout:?}")?;
        }
        write!(f, ": limit {limit}, {in_flight} in flight, {waiting} waiting")
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(mistake) => mistake.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for AcquireError {}
impl std::error::Error for Refusal {}
