//! The value that answers one call.

use crate::{Error, NEVER_NS, Status};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The answer of a rate limiter to one call, with its figures.
///
/// A decision that granted can be given back once, by [`RateLimiter::refund`](crate::RateLimiter::refund).
#[derive(Debug)]
#[must_use]
pub struct Decision {
    pub(crate) status: Status,
    pub(crate) quota: u32,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) retry_after_ns: u64,
    pub(crate) reset_after_ns: u64,
    pub(crate) grant: Option<Grant>,
    pub(crate) refunded: AtomicBool,
}

/// What a refund needs to know of the decision that granted: plain data, for those who carry decisions across a border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The limiter that granted; unique in the process.
    pub limiter_id: u64,
    /// The tokens that were taken.
    pub cost: u64,
    /// When, on the limiter's clock.
    pub granted_at_ns: u64,
    /// What voids a grant, counted by then: resets and changes of the quotas.
    pub reset_count: u64,
    /// Which key was granted; 0 without keys.
    pub key_hash: u64,
}

impl Decision {
    /// Whether the work may go ahead.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.status == Status::Allowed
    }

    /// [`Status::Allowed`], [`Status::Denied`] or [`Status::ExceedsCapacity`].
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// The limit of the quota that this decision names, in tokens per period.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Tokens that could be spent now, after this decision; the least over all quotas.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// How long until the same call would be admitted, if nobody else asks; [`Duration::MAX`] for never, zero when allowed.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        if self.retry_after_ns == NEVER_NS { Duration::MAX } else { Duration::from_nanos(self.retry_after_ns) }
    }

    /// [`retry_after`](Self::retry_after) in nanoseconds; [`NEVER_NS`] for never.
    #[must_use]
    pub fn retry_after_ns(&self) -> u64 {
        self.retry_after_ns
    }

    /// [`retry_after`](Self::retry_after) in whole seconds, rounded up, as a `Retry-After` header wants it: 0 when allowed, at
    /// least 1 when refused. `None` for never: leave the header out.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        (self.retry_after_ns != NEVER_NS).then(|| self.retry_after_ns.div_ceil(1_000_000_000))
    }

    /// How long until nothing counts any more, if nobody asks; the longest over all quotas.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        Duration::from_nanos(self.reset_after_ns)
    }

    /// [`reset_after`](Self::reset_after) in nanoseconds.
    #[must_use]
    pub fn reset_after_ns(&self) -> u64 {
        self.reset_after_ns
    }

    /// Which quota of the limiter's list this decision names, from 0: on refusal the one with the longest retry_after, else
    /// the one with the least remaining.
    #[must_use]
    pub fn quota(&self) -> usize {
        self.quota as usize
    }

    /// What a refund needs, if this decision granted and was not refunded.
    #[must_use]
    pub fn grant(&self) -> Option<Grant> {
        if self.refunded.load(Ordering::Relaxed) { None } else { self.grant }
    }

    /// Consumes the grant, for its limiter and key only; one of several callers at once gets it.
    pub(crate) fn take_grant(&self, limiter_id: u64, key_hash: u64) -> Result<Grant, Error> {
        let mistake = |value: &str| {
            Error::new(Status::InvalidDecision, "decision", value, "a decision of this limiter that granted, once")
        };
        let grant = self.grant.ok_or_else(|| mistake("one that granted nothing"))?;
        if grant.limiter_id != limiter_id {
            return Err(mistake("one of another limiter"));
        }
        if grant.key_hash != key_hash {
            return Err(mistake("one of another key"));
        }
        // Relaxed: only who wins the swap matters; no other data hangs on it.
        if self.refunded.swap(true, Ordering::Relaxed) {
            return Err(mistake("one that was refunded before"));
        }
        Ok(grant)
    }
}
