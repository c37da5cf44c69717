//! # Keys refused most
//!
//! A keyed rate limiter that was made with `track_denied` counts which keys are refused most, in memory that doesn't grow.
//! While no more keys were refused than are tracked, the counts are exact.

use crate::border::{checked, guard, object};
use crate::layout::layout;
use crate::object::tidegate_keyed_rate_limiter;
use tidegate_core::Status;

/// How much of a refused key is kept as its name, in bytes. since 1
pub const TIDEGATE_DENIED_KEY_SIZE: usize = 128;

/// The largest track_denied. since 1
#[expect(dead_code, reason = "for C alone")]
pub const TIDEGATE_MAX_TRACK_DENIED: u32 = 65536;

/// A key that was refused often. 152 bytes, and never more. since 1
#[repr(C)]
pub struct tidegate_denied_key {
    /// How often it was refused, at most.
    pub count: u64,
    /// How much of `count` others may have been refused before it: it was refused at least count - error times.
    pub error: u64,
    /// How many bytes of `key` are the key's: up to TIDEGATE_DENIED_KEY_SIZE.
    pub key_size: u64,
    /// The key, or the first bytes of a longer one; no NUL behind it. Keys that begin alike are counted apart.
    pub key: [u8; TIDEGATE_DENIED_KEY_SIZE],
}

layout! { tidegate_denied_key: 152 {
    count: 0,
    error: 8,
    key_size: 16,
    key: 24,
} }

/// The keys that were refused most often, the most refused first (of two with as many refusals, the one that was refused
/// last). `keys_out` is an array of `capacity` elements, NULL only if that is 0; `*count_out` receives how many were written:
/// 0 without `track_denied`. Refusals are what the statistics count as denied.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_top_denied(
    limiter: *const tidegate_keyed_rate_limiter,
    keys_out: *mut tidegate_denied_key,
    capacity: usize,
    count_out: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        if capacity > 0 {
            checked(keys_out, "keys_out")?;
        }
        let count_out = checked(count_out, "count_out")?;
        let top = limiter.0.top_denied(capacity);
        for (index, denied) in top.iter().enumerate() {
            let mut key = [0; TIDEGATE_DENIED_KEY_SIZE];
            key[..denied.key.len()].copy_from_slice(&denied.key);
            let key_size = denied.key.len() as u64;
            let denied = tidegate_denied_key { count: denied.count, error: denied.error, key_size, key };
            // SAFETY: the header asks for `capacity` places to write to, and there are no more keys than that.
            unsafe { keys_out.add(index).write(denied) };
        }
        // SAFETY: the header asks for a place to write to.
        unsafe { count_out.write(top.len()) };
        Ok(Status::Allowed)
    })
}
