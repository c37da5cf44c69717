//! # Rate limiters
//!
//! A rate limiter enforces a quota, written as text:
//!
//!     100/s                         100 tokens a second, at most 100 at once
//!     5 per 30s                     5 tokens per 30 seconds
//!     100/min burst 20              100 tokens a minute, at most 20 at once
//!     3/2s fixed_window             at most 3 in each window of 2 seconds
//!     100/s; 1000/h                 both, as one decision
//!
//! In full: `LIMIT/UNIT`, `LIMIT/COUNT UNIT` or `LIMIT per COUNT UNIT`, then, as wanted, `burst N`, an algorithm (`gcra`,
//! `fixed_window`, `sliding_window`, `sliding_log`; see "Quotas") and `anchor first` or `anchor clock`. UNIT is `ns`,
//! `us`, `ms`, `s`, `sec`, `second(s)`, `min`, `minute(s)`, `h`, `hour(s)`, `d`, `day(s)`, `w` or `week(s)`. Lower case;
//! one to TIDEGATE_MAX_QUOTAS quotas, joined by `;`. A limit of 0 refuses everything.

use crate::border::{
    Mistake, Sized32, add_owner, check_flags, check_reserved, checked, drop_owner, guard, guard_and_tell, into_handle,
    object, quota_text, sized,
};
use crate::layout::layout;
use crate::object::{tidegate_clock, tidegate_rate_limiter};
use crate::waiting::max_waiters;
use std::ffi::c_char;
use tidegate_core::{IntoQuotas, RateOptions, Status};

/// Flag of the options of rate limiters, keyed or not: nobody may wait. since 1
pub const TIDEGATE_RATE_NO_WAITERS: u32 = 1;

/// How to make a rate limiter. 64 bytes. since 1
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tidegate_rate_limiter_options {
    /// sizeof(tidegate_rate_limiter_options).
    pub struct_size: u32,
    /// 0 or TIDEGATE_RATE_NO_WAITERS.
    pub flags: u32,
    /// The clock to go by; NULL for the monotonic one.
    pub clock: *const tidegate_clock,
    /// How many may wait at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with TIDEGATE_RATE_NO_WAITERS, for none.
    pub max_waiters: u64,
    /// All 0.
    pub reserved: [u64; 5],
}

layout! { tidegate_rate_limiter_options: 64 {
    struct_size: 0,
    flags: 4,
    clock: 8,
    max_waiters: 16,
    reserved: 24,
} }

// SAFETY: integers and a pointer, which fill 64 bytes.
unsafe impl Sized32 for tidegate_rate_limiter_options {}

/// What the options say.
///
/// # Safety
///
/// `options` is NULL or may be read for as many bytes as it says, and its clock is NULL or a live handle.
unsafe fn settings_of(options: *const tidegate_rate_limiter_options) -> Result<RateOptions, Mistake> {
    if options.is_null() {
        return Ok(RateOptions::new());
    }
    // SAFETY: as the caller vouches.
    let (options, _) = unsafe { sized(options, "options") }?;
    check_flags(options.flags, TIDEGATE_RATE_NO_WAITERS)?;
    check_reserved(&options.reserved)?;
    let nobody_waits = options.flags & TIDEGATE_RATE_NO_WAITERS != 0;
    let max_waiters = max_waiters(options.max_waiters, nobody_waits, "TIDEGATE_RATE_NO_WAITERS")?;
    let mut settings = RateOptions::new().max_waiters(max_waiters);
    if !options.clock.is_null() {
        // SAFETY: as the caller vouches.
        settings = settings.clock(&unsafe { object(options.clock, "clock") }?.clock);
    }
    Ok(settings)
}

/// Builds a limiter, whatever its quotas were made from.
///
/// # Safety
///
/// As [`settings_of`]; `limiter_out` is NULL or may be written.
pub(crate) unsafe fn build(
    quotas: impl IntoQuotas,
    options: *const tidegate_rate_limiter_options,
    limiter_out: *mut *mut tidegate_rate_limiter,
) -> Result<Status, Mistake> {
    let limiter_out = checked(limiter_out, "limiter_out")?;
    // SAFETY: as the caller vouches.
    let limiter = unsafe { settings_of(options) }?.build(quotas)?;
    // SAFETY: checked above.
    unsafe { limiter_out.write(into_handle(tidegate_rate_limiter(limiter))) };
    Ok(Status::Allowed)
}

/// Makes a rate limiter from the text of its quotas, with nothing used.
///
/// `options` may be NULL for the defaults. The caller owns `*limiter_out` and gives it up with
/// tidegate_rate_limiter_free(). The first limiter of a process on the monotonic clock may take up to 200 ms, once, to
/// measure the processor's counter.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text or an option is not acceptable;
/// TIDEGATE_ERROR_STRUCT_SIZE.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_parse(
    text: *const c_char,
    length: usize,
    options: *const tidegate_rate_limiter_options,
    limiter_out: *mut *mut tidegate_rate_limiter,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a text of this length.
        let quotas = unsafe { quota_text(text, length) }?;
        // SAFETY: the header asks for options or NULL, and for a place to write to.
        unsafe { build(quotas, options, limiter_out) }
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Takes `cost` tokens if all can be had now, and nobody waits. This is the fast way: it tells no figures.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_try_acquire(limiter: *const tidegate_rate_limiter, cost: u64) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        Ok(limiter.0.try_acquire_status(cost)?)
    })
}

/// Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_reset(limiter: *const tidegate_rate_limiter) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        unsafe { object(limiter, "limiter") }?.0.reset();
        Ok(Status::Allowed)
    })
}

/// Changes limits, periods and bursts while the limiter is in use, from the next call on.
///
/// What is used stays used, at most the new burst: nobody gets a fresh quota. Does nothing where nothing changed. The
/// number of quotas, their algorithms and their anchors must stay as they are.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is not acceptable or changes what must stay.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_reconfigure_text(
    limiter: *const tidegate_rate_limiter,
    text: *const c_char,
    length: usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a text of this length.
        let quotas = unsafe { quota_text(text, length) }?;
        limiter.0.reconfigure(quotas)?;
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_ref(
    limiter: *const tidegate_rate_limiter,
) -> *mut tidegate_rate_limiter {
    // SAFETY: the header asks for a live handle.
    unsafe { add_owner(limiter) }
}

/// Takes an owner away; the limiter goes with the last one. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_free(limiter: *mut tidegate_rate_limiter) {
    // SAFETY: the header asks for a live handle that the caller owns.
    unsafe { drop_owner(limiter) };
}
