//! # Entries
//!
//! What a request holds that a gate admitted: the permits of its rules, until it is released, on whichever thread. Its
//! figures and texts are for the headers of a response.

use crate::border::{Mistake, checked, guard, guard_or, object};
use crate::layout::layout;
use crate::object::tidegate_entry;
use crate::text::copy_text;
use std::ffi::c_char;
use tidegate_core::Status;
use tidegate_core::gate::{Entry, Figures};

/// The header `RateLimit-Policy` of the response: each quota, such as `"search";q=100;w=60`. since 1
pub const TIDEGATE_TEXT_RATE_LIMIT_POLICY: u32 = 1;

/// The header `RateLimit` of the response: what is left, such as `"search";r=50;t=30`. since 1
pub const TIDEGATE_TEXT_RATE_LIMIT: u32 = 2;

/// The names of the rules that gave something, as a JSON array. Of entries. since 1
pub const TIDEGATE_TEXT_RULES: u32 = 3;

/// How a rule's quota stood after a request was admitted. 128 bytes, and never more. since 1
#[repr(C)]
pub struct tidegate_figures {
    /// The rule's name: text of `rule_length` bytes and no NUL, which lives until the entry is released.
    pub rule: *const c_char,
    /// How many bytes of name.
    pub rule_length: usize,
    /// Tokens per period, of the quota of the rule that has least left.
    pub limit: u64,
    /// Its period.
    pub period_ns: u64,
    /// Tokens of it that are left.
    pub remaining: u64,
    /// How long until nothing of it counts any more, if nobody asks.
    pub reset_after_ns: u64,
    /// Which of the rule's quotas it is, from 0.
    pub quota: u32,
    /// How many quotas the rule has.
    pub quotas: u32,
    /// The most tokens of it that can be had at once.
    pub burst: u64,
    /// All 0.
    pub reserved: [u64; 8],
}

layout! { tidegate_figures: 128 {
    rule: 0,
    rule_length: 8,
    limit: 16,
    period_ns: 24,
    remaining: 32,
    reset_after_ns: 40,
    quota: 48,
    quotas: 52,
    burst: 56,
    reserved: 64,
} }

impl From<Figures<'_>> for tidegate_figures {
    fn from(figures: Figures<'_>) -> Self {
        let quota = &figures.quotas[figures.quota_index];
        Self {
            rule: figures.rule.as_ptr().cast(),
            rule_length: figures.rule.len(),
            limit: quota.limit(),
            period_ns: quota.period_ns(),
            remaining: figures.remaining,
            reset_after_ns: figures.reset_after_ns,
            quota: figures.quota_index as u32,
            quotas: figures.quotas.len() as u32,
            burst: quota.burst(),
            reserved: [0; 8],
        }
    }
}

/// Gives back what the entry holds, on any thread, and takes the entry itself away. `ok` is for the statistics: 0 if the
/// work failed, else any other number. NULL is fine.
///
/// In the child of a fork it gives nothing back of what the parent took.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_entry_release(entry: *mut tidegate_entry, ok: i32) {
    guard_or((), || {
        if let Ok(entry) = checked(entry.cast::<Entry>(), "entry") {
            // SAFETY: the header asks for an entry that the caller gives up; it came out of a box.
            let mut entry = unsafe { Box::from_raw(entry) };
            // Dropped where it is: to move it takes time.
            entry.set_ok(ok != 0);
        }
    });
}

/// How the quotas stood when the request was admitted, one element for each rule that has some.
///
/// `figures_out` has room for `capacity`; `*count_out` receives how many there are, of which so many as fit were written.
/// With NULL for `figures_out` and 0 for `capacity` only the number is told.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_entry_figures(
    entry: *const tidegate_entry,
    figures_out: *mut tidegate_figures,
    capacity: usize,
    count_out: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let entry = unsafe { object(entry.cast::<Entry>(), "entry") }?;
        let count_out = checked(count_out, "count_out")?;
        let figures_out = if capacity == 0 { figures_out } else { checked(figures_out, "figures_out")? };
        let mut count = 0;
        for figures in entry.figures() {
            if count < capacity {
                // SAFETY: the header asks for room for `capacity` elements.
                unsafe { figures_out.add(count).write(figures.into()) };
            }
            count += 1;
        }
        // SAFETY: the header asks for a place to write to.
        unsafe { count_out.write(count) };
        Ok(Status::Allowed)
    })
}

/// A text about the entry: `which` is TIDEGATE_TEXT_RATE_LIMIT_POLICY, TIDEGATE_TEXT_RATE_LIMIT or TIDEGATE_TEXT_RULES. A
/// header that is empty is to be left out.
///
/// Writes it into `buffer` of `size` bytes, ended by a NUL and cut between two characters if that is too small;
/// `*length_out` receives the length of all of it, without the NUL. `buffer` may be NULL if `size` is 0; `length_out` may
/// be NULL.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if an entry has no such text.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_entry_text(
    entry: *const tidegate_entry,
    which: u32,
    buffer: *mut c_char,
    size: usize,
    length_out: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let entry = unsafe { object(entry.cast::<Entry>(), "entry") }?;
        let text = match which {
            TIDEGATE_TEXT_RATE_LIMIT_POLICY => entry.headers().policy,
            TIDEGATE_TEXT_RATE_LIMIT => entry.headers().limit,
            TIDEGATE_TEXT_RULES => serde_json::Value::from_iter(entry.rules()).to_string(),
            _ => return Err(Mistake::new(Status::InvalidOption, "which", which, "a text that entries have")),
        };
        // SAFETY: the header asks for a buffer of this size.
        unsafe { copy_text(&text, buffer, size, length_out) }
    })
}
