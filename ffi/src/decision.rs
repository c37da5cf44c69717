//! # Decisions
//!
//! The same decisions with their figures: how much is left, and how long to wait.
//!
//!     tidegate_decision decision;
//!     int32_t status = tidegate_rate_limiter_decide(limiter, 1, &decision);
//!     if (status == TIDEGATE_ALLOWED) {
//!         printf("go ahead, %" PRIu64 " left", decision.remaining);
//!     } else if (status < 0) {
//!         printf("500: %s", tidegate_status_name(status));
//!     } else if (decision.retry_after_ns == TIDEGATE_NEVER_NS) {
//!         printf("429, for ever");
//!     } else {
//!         uint64_t seconds = decision.retry_after_ns / 1000000000 + (decision.retry_after_ns % 1000000000 != 0);
//!         printf("429, Retry-After: %" PRIu64, seconds);
//!     }
//!
//! Whatever is not TIDEGATE_ALLOWED refuses: also TIDEGATE_EXCEEDS_CAPACITY, which waiting does not cure, and statuses of
//! versions to come. Whole seconds round up: rounded down, the caller would be back too early, or at once.

use crate::border::{Mistake, checked, guard, object};
use crate::layout::layout;
use crate::object::tidegate_rate_limiter;
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::{Decision, Error, Grant, MAX_COST, Status};

/// The answer to one call. 128 bytes, and never more. Belongs to the caller, who may copy and drop it at will. since 1
#[repr(C)]
pub struct tidegate_decision {
    /// TIDEGATE_ALLOWED, TIDEGATE_DENIED or TIDEGATE_EXCEEDS_CAPACITY; of keyed limiters also TIDEGATE_KEYS_FULL.
    pub status: i32,
    /// Which quota of the limiter's list the decision names, from 0: on refusal the one with the longest retry_after_ns,
    /// else the one with the least remaining.
    pub quota: u32,
    /// The limit of that quota, in tokens per period.
    pub limit: u64,
    /// Tokens that could be spent at once after this decision; the least over all quotas.
    pub remaining: u64,
    /// How long until the same call would be allowed if nobody else asks, exact to the nanosecond; 0 if allowed,
    /// TIDEGATE_NEVER_NS for never.
    pub retry_after_ns: u64,
    /// How long until nothing counts any more if nobody asks; the longest over all quotas.
    pub reset_after_ns: u64,
    /// For tidegate_rate_limiter_refund(): the limiter that granted.
    pub limiter_id: u64,
    /// For tidegate_rate_limiter_refund(): the tokens that were taken; 0 if there is nothing to refund.
    pub cost: u64,
    /// For tidegate_rate_limiter_refund(): when, on the limiter's clock.
    pub granted_at_ns: u64,
    /// For tidegate_rate_limiter_refund(): how often the limiter had been reset by then.
    pub reset_count: u64,
    /// For tidegate_keyed_rate_limiter_refund(): which key, as that limiter knows it; else 0.
    pub key_hash: u64,
    /// All 0.
    pub reserved: [u64; 6],
}

layout! { tidegate_decision: 128 {
    status: 0,
    quota: 4,
    limit: 8,
    remaining: 16,
    retry_after_ns: 24,
    reset_after_ns: 32,
    limiter_id: 40,
    cost: 48,
    granted_at_ns: 56,
    reset_count: 64,
    key_hash: 72,
    reserved: 80,
} }

impl From<Decision> for tidegate_decision {
    fn from(decision: Decision) -> Self {
        let nothing = Grant { limiter_id: 0, cost: 0, granted_at_ns: 0, reset_count: 0, key_hash: 0 };
        let grant = decision.grant().unwrap_or(nothing);
        Self {
            status: decision.status() as i32,
            quota: decision.quota() as u32,
            limit: decision.limit(),
            remaining: decision.remaining(),
            retry_after_ns: decision.retry_after_ns(),
            reset_after_ns: decision.reset_after_ns(),
            limiter_id: grant.limiter_id,
            cost: grant.cost,
            granted_at_ns: grant.granted_at_ns,
            reset_count: grant.reset_count,
            key_hash: grant.key_hash,
            reserved: [0; 6],
        }
    }
}

/// Of what was waited for: with no figures.
impl From<Grant> for tidegate_decision {
    fn from(Grant { limiter_id, cost, granted_at_ns, reset_count, key_hash }: Grant) -> Self {
        Self {
            status: Status::Allowed as i32,
            quota: 0,
            limit: 0,
            remaining: 0,
            retry_after_ns: 0,
            reset_after_ns: 0,
            limiter_id,
            cost,
            granted_at_ns,
            reset_count,
            key_hash,
            reserved: [0; 6],
        }
    }
}

/// Takes `cost` tokens if all can be had now, and tells the figures.
///
/// With several quotas no bound is ever exceeded, and without a race a refusal charges nothing. In a race a call may be
/// refused because of another's charge that is just being undone.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY, each also in `decision_out->status`;
/// TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_decide(
    limiter: *const tidegate_rate_limiter,
    cost: u64,
    decision_out: *mut tidegate_decision,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let decision_out = checked(decision_out, "decision_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { answer(limiter.0.decide_n(cost)?, decision_out) }
    })
}

/// What tidegate_rate_limiter_decide() would answer now, spending nothing; `remaining` is what is unspent.
///
/// Returns as tidegate_rate_limiter_decide().
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_peek(
    limiter: *const tidegate_rate_limiter,
    cost: u64,
    decision_out: *mut tidegate_decision,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let decision_out = checked(decision_out, "decision_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { answer(limiter.0.peek_n(cost)?, decision_out) }
    })
}

/// # Safety
///
/// `decision_out` may be written.
pub(crate) unsafe fn answer(decision: Decision, decision_out: *mut tidegate_decision) -> Result<Status, Mistake> {
    let status = decision.status();
    // SAFETY: as the caller vouches.
    unsafe { decision_out.write(decision.into()) };
    Ok(status)
}

/// Gives back what a decision took, as far as no bound is broken: a window takes it back only while the same window lasts,
/// gcra only what has not come back by itself since.
///
/// Consumes the decision by setting its `cost` to 0, also where there was nothing left to give back: a second refund is an
/// error. Of several threads that refund one and the same struct, one succeeds. A copy that was made before the refund is
/// not told apart from the original.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_DECISION if the decision granted nothing, was refunded before, or is of another
/// limiter.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_refund(
    limiter: *const tidegate_rate_limiter,
    decision: *mut tidegate_decision,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let give_back = |grant| {
            limiter.0.refund_grant(grant);
            Ok(())
        };
        // SAFETY: the header asks for a decision.
        unsafe { consume(decision, limiter.0.id(), give_back) }
    })
}

/// Gives back what a decision of this limiter took, unless its cost says that this was done before.
///
/// # Safety
///
/// `decision` is NULL or a decision that may be read and written.
pub(crate) unsafe fn consume(
    decision: *mut tidegate_decision,
    limiter_id: u64,
    give_back: impl FnOnce(Grant) -> Result<(), Error>,
) -> Result<Status, Mistake> {
    let decision = checked(decision, "decision")?;
    let mistake = |value| {
        let allowed = "a decision of this limiter that granted, once";
        Mistake::new(Status::InvalidDecision, "decision", value, allowed)
    };
    // SAFETY: as the caller vouches; only the cost changes, and that in atomic steps.
    let (granted_by, granted_at_ns, reset_count, key_hash, cost) = unsafe {
        let cost = AtomicU64::from_ptr(&raw mut (*decision).cost);
        ((*decision).limiter_id, (*decision).granted_at_ns, (*decision).reset_count, (*decision).key_hash, cost)
    };
    if granted_by != limiter_id {
        return Err(mistake("one of another limiter, or one that granted nothing"));
    }
    // Relaxed, here and below: only who wins the exchange matters; no other data hangs on it. A cost that no limiter grants
    // stays.
    let taken = cost
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |cost| (1..=MAX_COST).contains(&cost).then_some(0))
        .map_err(|_| mistake("one that was refunded before, or whose cost was changed"))?;
    let given_back = give_back(Grant { limiter_id, cost: taken, granted_at_ns, reset_count, key_hash });
    if given_back.is_err() {
        cost.store(taken, Ordering::Relaxed);
    }
    given_back?;
    Ok(Status::Allowed)
}
