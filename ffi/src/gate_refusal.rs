//! # Refusals
//!
//! Why a gate refused a request, and by which rule. If several rules refuse, it is of the one that has to be waited for
//! longest. The texts are those of an HTTP response with status 429, and a line for logs.

use crate::border::{Mistake, checked, guard, guard_or, object};
use crate::gate_entry::{TIDEGATE_TEXT_RATE_LIMIT, TIDEGATE_TEXT_RATE_LIMIT_POLICY};
use crate::layout::layout;
use crate::object::tidegate_refusal;
use crate::status::TIDEGATE_NEVER_NS;
use crate::text::copy_text;
use std::ffi::c_char;
use std::time::Duration;
use tidegate_core::Status;
use tidegate_core::gate::Refusal;

/// A time that is not known, since it depends on others: 2^64 - 2. since 1
pub const TIDEGATE_UNKNOWN_NS: u64 = 18446744073709551614;

/// Flag of tidegate_refused: the rule has a budget for each key, and TIDEGATE_TEXT_KEY tells whose it is. since 1
pub const TIDEGATE_REFUSED_KEYED: u32 = 1;

/// Flag of tidegate_refused: a quota refused, and not a limit of permits. since 1
pub const TIDEGATE_REFUSED_QUOTA: u32 = 2;

/// All in a line, for logs. since 1
pub const TIDEGATE_TEXT_MESSAGE: u32 = 4;

/// The name of the rule that refused. since 1
pub const TIDEGATE_TEXT_RULE: u32 = 5;

/// Whose budget it is: values of the request, at most 100 characters; or, unless the rules say `show_keys`, `#` and 16
/// hexadecimal digits that stand for them in this process. Empty without TIDEGATE_REFUSED_KEYED. since 1
pub const TIDEGATE_TEXT_KEY: u32 = 6;

/// The quota that refused, such as `100/s burst 20`. Empty without TIDEGATE_REFUSED_QUOTA. since 1
pub const TIDEGATE_TEXT_QUOTA: u32 = 7;

/// The body of the response, of the media type `application/problem+json`. since 1
pub const TIDEGATE_TEXT_PROBLEM: u32 = 8;

/// The header `Retry-After`: whole seconds, rounded up. Empty, to be left out, if it is not known or never. since 1
pub const TIDEGATE_TEXT_RETRY_AFTER: u32 = 9;

/// A refusal in numbers. 128 bytes, and never more. since 1
#[repr(C)]
pub struct tidegate_refused {
    /// What tidegate_gate_enter() returned.
    pub status: i32,
    /// Any of TIDEGATE_REFUSED_*.
    pub flags: u32,
    /// Tokens per period, or permits.
    pub limit: u64,
    /// Tokens or permits that could be taken.
    pub remaining: u64,
    /// The period of the quota; 0 for permits.
    pub period_ns: u64,
    /// Which of the rule's quotas it is, from 0.
    pub quota: u32,
    /// How many quotas the rule has; 0 for permits.
    pub quotas: u32,
    /// How long until the rule would admit the same request, if nobody else asks; TIDEGATE_NEVER_NS for never;
    /// TIDEGATE_UNKNOWN_NS if that depends on others that are inside.
    pub retry_after_ns: u64,
    /// How many permits are out, for permits.
    pub in_flight: u64,
    /// How many wait.
    pub waiting: u64,
    /// How long it was waited.
    pub elapsed_ns: u64,
    /// The call's timeout; TIDEGATE_NEVER_NS if it had none.
    pub timeout_ns: u64,
    /// All 0.
    pub reserved: [u64; 6],
}

layout! { tidegate_refused: 128 {
    status: 0,
    flags: 4,
    limit: 8,
    remaining: 16,
    period_ns: 24,
    quota: 32,
    quotas: 36,
    retry_after_ns: 40,
    in_flight: 48,
    waiting: 56,
    elapsed_ns: 64,
    timeout_ns: 72,
    reserved: 80,
} }

impl From<&Refusal> for tidegate_refused {
    fn from(refusal: &Refusal) -> Self {
        let keyed = if refusal.key.is_some() { TIDEGATE_REFUSED_KEYED } else { 0 };
        let quota = if refusal.quota.is_some() { TIDEGATE_REFUSED_QUOTA } else { 0 };
        Self {
            status: refusal.status as i32,
            flags: keyed | quota,
            limit: refusal.limit,
            remaining: refusal.remaining,
            period_ns: refusal.quota.map_or(0, |quota| quota.period_ns()),
            quota: refusal.quota_index as u32,
            quotas: refusal.quotas.len() as u32,
            retry_after_ns: refusal.retry_after_ns.unwrap_or(TIDEGATE_UNKNOWN_NS),
            in_flight: refusal.in_flight,
            waiting: refusal.waiting,
            elapsed_ns: saturating_ns(refusal.elapsed),
            timeout_ns: refusal.timeout.map_or(TIDEGATE_NEVER_NS, saturating_ns),
            reserved: [0; 6],
        }
    }
}

pub(crate) fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(TIDEGATE_NEVER_NS)
}

/// The refusal in numbers. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_refusal_figures(
    refusal: *const tidegate_refusal,
    refused_out: *mut tidegate_refused,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let refusal = unsafe { object(refusal, "refusal") }?;
        let refused_out = checked(refused_out, "refused_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { refused_out.write((&refusal.0).into()) };
        Ok(Status::Allowed)
    })
}

/// A text about the refusal: `which` is any of TIDEGATE_TEXT_* but TIDEGATE_TEXT_RULES. Buffer and length are as for
/// tidegate_entry_text().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a refusal has no such text.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_refusal_text(
    refusal: *const tidegate_refusal,
    which: u32,
    buffer: *mut c_char,
    size: usize,
    length_out: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let refusal = &unsafe { object(refusal, "refusal") }?.0;
        let text = match which {
            TIDEGATE_TEXT_RATE_LIMIT_POLICY => refusal.headers().policy,
            TIDEGATE_TEXT_RATE_LIMIT => refusal.headers().limit,
            TIDEGATE_TEXT_MESSAGE => refusal.to_string(),
            TIDEGATE_TEXT_RULE => refusal.rule.clone(),
            TIDEGATE_TEXT_KEY => refusal.key.clone().unwrap_or_default(),
            TIDEGATE_TEXT_QUOTA => refusal.quota.map(|quota| quota.to_string()).unwrap_or_default(),
            TIDEGATE_TEXT_PROBLEM => refusal.problem_json(),
            TIDEGATE_TEXT_RETRY_AFTER => {
                refusal.headers().retry_after_s.map(|seconds| seconds.to_string()).unwrap_or_default()
            }
            _ => return Err(Mistake::new(Status::InvalidOption, "which", which, "a text that refusals have")),
        };
        // SAFETY: the header asks for a buffer of this size.
        unsafe { copy_text(&text, buffer, size, length_out) }
    })
}

/// Takes the refusal away. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_refusal_free(refusal: *mut tidegate_refusal) {
    guard_or((), || {
        if let Ok(refusal) = checked(refusal, "refusal") {
            // SAFETY: the header asks for a refusal that the caller gives up; it came out of a box.
            drop(unsafe { Box::from_raw(refusal) });
        }
    });
}
