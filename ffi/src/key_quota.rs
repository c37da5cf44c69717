//! # Quotas of single keys
//!
//! A key of a keyed rate limiter may have quotas of its own in place of the limiter's: tenants that pay for more, say.
//!
//!     tidegate_keyed_rate_limiter_set_quota_text(limiter, "ann", 3, "100/s", 5, NULL, 0);
//!
//! Such a key keeps a place of its own until tidegate_keyed_rate_limiter_clear_quota(), about 1 KB for each quota: it
//! is never evicted nor refused with TIDEGATE_KEYS_FULL. Other keys pay nothing for that.

use crate::border::{Mistake, guard, guard_and_tell, object, quota_text};
use crate::key::key_bytes;
use crate::object::tidegate_keyed_rate_limiter;
use crate::quota::{read_all, tidegate_quota};
use std::ffi::{c_char, c_void};
use tidegate_core::{IntoQuotas, Status};

/// The most keys of a limiter that may have quotas of their own. since 1
#[expect(dead_code, reason = "for C alone")]
pub const TIDEGATE_MAX_KEY_QUOTAS: u64 = 65536;

/// Gives a key quotas of its own, from the next call on. What is used stays used, at most the new burst; decisions of the
/// key from before can no longer be refunded to any effect. Nothing happens if the key has these quotas.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_OPTION if a quota is not acceptable, if their number, an
/// algorithm or an anchor is not as the limiter's, or if TIDEGATE_MAX_KEY_QUOTAS keys have some; TIDEGATE_ERROR_STRUCT_SIZE.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_set_quota(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    quotas: *const tidegate_quota,
    count: usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the header asks for so many quotas.
    let quotas = || unsafe { read_all(quotas, count) };
    // SAFETY: the header asks for a live handle and a key of this size.
    let body = || unsafe { set(limiter, key, key_size, quotas) };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// tidegate_keyed_rate_limiter_set_quota() from text.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_OPTION.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_set_quota_text(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    text: *const c_char,
    length: usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the header asks for a text of this length.
    let quotas = || unsafe { quota_text(text, length) };
    // SAFETY: the header asks for a live handle and a key of this size.
    let body = || unsafe { set(limiter, key, key_size, quotas) };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// # Safety
///
/// `limiter` is NULL or a live handle; `key` is NULL or may be read for `key_size` bytes.
unsafe fn set<Q: IntoQuotas>(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    quotas: impl FnOnce() -> Result<Q, Mistake>,
) -> Result<Status, Mistake> {
    // SAFETY: as the caller vouches.
    let limiter = unsafe { object(limiter, "limiter") }?;
    // SAFETY: as the caller vouches.
    let key = unsafe { key_bytes(key, key_size) }?;
    limiter.0.set_quota(key, quotas()?)?;
    Ok(Status::Allowed)
}

/// Gives a key the limiter's quotas again. What is used stays used, at most the limiter's burst; decisions of the key from
/// before can no longer be refunded to any effect. Nothing happens if the key has no quotas of its own.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_clear_quota(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        limiter.0.clear_quota(unsafe { key_bytes(key, key_size) }?);
        Ok(Status::Allowed)
    })
}
