//! # Keyed decisions
//!
//! Decisions of keyed rate limiters, with their figures: those of the key.

use crate::border::{checked, guard, object};
use crate::decision::{answer, consume, tidegate_decision};
use crate::key::key_bytes;
use crate::object::tidegate_keyed_rate_limiter;
use std::ffi::c_void;

/// Takes `cost` tokens of a key if all can be had now, and tells the figures, as tidegate_rate_limiter_decide() does.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_KEYS_FULL, each also in
/// `decision_out->status`; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_decide(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
    decision_out: *mut tidegate_decision,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let decision_out = checked(decision_out, "decision_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { answer(limiter.0.decide_n(key, cost)?, decision_out) }
    })
}

/// What tidegate_keyed_rate_limiter_decide() would answer now, spending nothing; `remaining` is what is unspent.
///
/// Returns as tidegate_keyed_rate_limiter_decide().
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_peek(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
    decision_out: *mut tidegate_decision,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let decision_out = checked(decision_out, "decision_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { answer(limiter.0.peek_n(key, cost)?, decision_out) }
    })
}

/// Gives back to a key what a decision took from it, as tidegate_rate_limiter_refund() does. Without effect once the
/// key was evicted or reset; each eviction or reset also voids the grants of one in 256 other keys.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_DECISION if the decision granted nothing, was refunded before, or is of another
/// limiter or key; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_refund(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    decision: *mut tidegate_decision,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        // SAFETY: the header asks for a decision.
        unsafe { consume(decision, limiter.0.id(), |grant| limiter.0.refund_grant(key, grant)) }
    })
}
