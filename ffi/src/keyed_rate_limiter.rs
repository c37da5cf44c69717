//! # Keyed rate limiters
//!
//! A rate limiter with a budget for each key, in memory that doesn't grow:
//!
//!     const char *client = "203.0.113.7";
//!     tidegate_keyed_rate_limiter *limiter;
//!     tidegate_keyed_rate_limiter_parse("5/s", 3, NULL, &limiter, NULL, 0);
//!     if (tidegate_keyed_rate_limiter_try_acquire(limiter, client, strlen(client), 1) == TIDEGATE_ALLOWED) {
//!         puts("go ahead");
//!     }
//!
//! If more keys than there is room for owe something at once, `when_full` says what happens to a new one. Evicting
//! forgets the key that owes the smallest share of its quota. With a limit or burst of 1 every key owes as much, and in
//! a flood of keys that use up their bursts at once nearly so: there TIDEGATE_WHEN_FULL_DENY_NEW is the safe choice.
//!
//! Quotas are those of rate limiters but for sliding_log, which has no fixed size.

use crate::border::{
    Mistake, Sized32, add_owner, check_flags, check_reserved, checked, drop_owner, guard, guard_and_tell, into_handle,
    object, quota_text, sized,
};
use crate::key::{TIDEGATE_DEFAULT_MAX_KEYS, key_array, key_bytes, tidegate_key};
use crate::layout::layout;
use crate::object::{tidegate_clock, tidegate_keyed_rate_limiter};
use crate::quota::{read_all, tidegate_quota, write_all};
use crate::rate_limiter::TIDEGATE_RATE_NO_WAITERS;
use crate::stats::{tell, tidegate_stats};
use crate::waiting::max_waiters;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use tidegate_core::{IntoQuotas, KeyedRateLimiter, KeyedRateOptions, Status, WhenFull};

/// The default: evict. since 1
pub const TIDEGATE_WHEN_FULL_DEFAULT: u32 = 0;

/// Forget the key that owes the smallest share of its quota; it starts afresh when it comes again. since 1
pub const TIDEGATE_WHEN_FULL_EVICT: u32 = 1;

/// Refuse the new key with TIDEGATE_KEYS_FULL. since 1
pub const TIDEGATE_WHEN_FULL_DENY_NEW: u32 = 2;

/// How to make a keyed rate limiter. 64 bytes. since 1
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tidegate_keyed_rate_limiter_options {
    /// sizeof(tidegate_keyed_rate_limiter_options).
    pub struct_size: u32,
    /// 0 or TIDEGATE_RATE_NO_WAITERS.
    pub flags: u32,
    /// For how many keys that owe something at once there is room: 1 to TIDEGATE_MAX_KEYS; 0 for
    /// TIDEGATE_DEFAULT_MAX_KEYS. Takes 40 bytes for each, and as much for each quota.
    pub max_keys: u64,
    /// What happens to a new key that finds no room: TIDEGATE_WHEN_FULL_*.
    pub when_full: u32,
    /// How many keys to count refusals of, see "Keys refused most": 0 for none, to TIDEGATE_MAX_TRACK_DENIED. Takes up to
    /// some 350 bytes for each.
    pub track_denied: u32,
    /// The clock to go by; NULL for the monotonic one.
    pub clock: *const tidegate_clock,
    /// Memory for the table of keys, at an address that is a multiple of 64; NULL for memory of the library's own. What is
    /// in it is overwritten. The limiter alone uses it until it is gone with its last owner.
    pub region: *mut c_void,
    /// Its size: at least what tidegate_keyed_rate_limiter_region_size() says; 0 with NULL.
    pub region_size: usize,
    /// How many may wait for one key at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with TIDEGATE_RATE_NO_WAITERS,
    /// for none.
    pub max_waiters: u64,
    /// All 0.
    pub reserved: [u64; 1],
}

layout! { tidegate_keyed_rate_limiter_options: 64 {
    struct_size: 0,
    flags: 4,
    max_keys: 8,
    when_full: 16,
    track_denied: 20,
    clock: 24,
    region: 32,
    region_size: 40,
    max_waiters: 48,
    reserved: 56,
} }

// SAFETY: integers and pointers, which fill 64 bytes.
unsafe impl Sized32 for tidegate_keyed_rate_limiter_options {}

/// What max_keys means, in any options.
pub(crate) fn max_keys_or_default(max_keys: u64) -> u64 {
    if max_keys == 0 { TIDEGATE_DEFAULT_MAX_KEYS } else { max_keys }
}

type Region = &'static mut [MaybeUninit<u8>];

/// # Safety
///
/// `options` is NULL or may be read for as many bytes as it says; its clock is NULL or a live handle, and its region NULL or
/// memory of that size that nobody else uses as long as what is built with it lives.
unsafe fn settings_of(
    options: *const tidegate_keyed_rate_limiter_options,
) -> Result<(KeyedRateOptions, Option<Region>), Mistake> {
    if options.is_null() {
        return Ok((KeyedRateOptions::new(), None));
    }
    // SAFETY: as the caller vouches.
    let (options, _) = unsafe { sized(options, "options") }?;
    check_flags(options.flags, TIDEGATE_RATE_NO_WAITERS)?;
    check_reserved(&options.reserved)?;
    let when_full = match options.when_full {
        TIDEGATE_WHEN_FULL_DEFAULT | TIDEGATE_WHEN_FULL_EVICT => WhenFull::Evict,
        TIDEGATE_WHEN_FULL_DENY_NEW => WhenFull::DenyNew,
        unknown => {
            let allowed = format!("{TIDEGATE_WHEN_FULL_DEFAULT} to {TIDEGATE_WHEN_FULL_DENY_NEW}");
            return Err(Mistake::new(Status::InvalidOption, "when_full", unknown, allowed));
        }
    };
    let max_keys = max_keys_or_default(options.max_keys);
    let nobody_waits = options.flags & TIDEGATE_RATE_NO_WAITERS != 0;
    let max_waiters = max_waiters(options.max_waiters, nobody_waits, "TIDEGATE_RATE_NO_WAITERS")?;
    let mut settings = KeyedRateOptions::new()
        .max_keys(max_keys)
        .when_full(when_full)
        .track_denied(options.track_denied)
        .max_waiters(max_waiters);
    if !options.clock.is_null() {
        // SAFETY: as the caller vouches.
        settings = settings.clock(&unsafe { object(options.clock, "clock") }?.clock);
    }
    let (region, size) = (options.region, options.region_size);
    if region.is_null() && size == 0 {
        return Ok((settings, None));
    }
    let region = checked(region.cast::<MaybeUninit<u8>>(), "region")?;
    if isize::try_from(size).is_err() {
        let allowed = format!("at most {}", isize::MAX);
        return Err(Mistake::new(Status::InvalidMemory, "region_size", size, allowed));
    }
    // SAFETY: as the caller vouches, there are so many bytes, which is all that the lifetime is used for.
    Ok((settings, Some(unsafe { std::slice::from_raw_parts_mut(region, size) })))
}

/// # Safety
///
/// As [`settings_of`]; `limiter_out` is NULL or may be written.
unsafe fn build(
    quotas: impl IntoQuotas,
    options: *const tidegate_keyed_rate_limiter_options,
    limiter_out: *mut *mut tidegate_keyed_rate_limiter,
) -> Result<Status, Mistake> {
    let limiter_out = checked(limiter_out, "limiter_out")?;
    // SAFETY: as the caller vouches.
    let (settings, region) = unsafe { settings_of(options) }?;
    let limiter = match region {
        Some(region) => settings.build_in(quotas, region),
        None => settings.build(quotas),
    }?;
    // SAFETY: checked above.
    unsafe { limiter_out.write(into_handle(tidegate_keyed_rate_limiter(limiter))) };
    Ok(Status::Allowed)
}

/// How large a `region` must be for `max_keys` keys, 0 for TIDEGATE_DEFAULT_MAX_KEYS, and `count` quotas.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_region_size(
    max_keys: u64,
    count: usize,
    size_out: *mut usize,
) -> i32 {
    guard(|| {
        let size_out = checked(size_out, "size_out")?;
        let size = KeyedRateLimiter::region_size(max_keys_or_default(max_keys), count)?;
        // SAFETY: the header asks for a place to write to.
        unsafe { size_out.write(size) };
        Ok(Status::Allowed)
    })
}

/// Makes a keyed rate limiter from `count` quotas, all of which must admit, with nothing used. Else as
/// tidegate_keyed_rate_limiter_parse().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota, the count or an option is not acceptable;
/// TIDEGATE_ERROR_STRUCT_SIZE; TIDEGATE_ERROR_MEMORY also if there is not enough for max_keys, or the region is too small or
/// not aligned.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_new(
    quotas: *const tidegate_quota,
    count: usize,
    options: *const tidegate_keyed_rate_limiter_options,
    limiter_out: *mut *mut tidegate_keyed_rate_limiter,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for so many quotas.
        let quotas = unsafe { read_all(quotas, count) }?;
        // SAFETY: the header asks for options or NULL, and for a place to write to.
        unsafe { build(quotas, options, limiter_out) }
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Makes a keyed rate limiter from the text of its quotas, as in "Rate limiters", with nothing used by any key.
///
/// `options` may be NULL for the defaults. The caller owns `*limiter_out` and gives it up with
/// tidegate_keyed_rate_limiter_free().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text or an option is not acceptable, or a quota does not fit
/// beside a key; TIDEGATE_ERROR_STRUCT_SIZE; TIDEGATE_ERROR_MEMORY also if there is not enough for max_keys, or the region
/// is too small or not aligned.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_parse(
    text: *const c_char,
    length: usize,
    options: *const tidegate_keyed_rate_limiter_options,
    limiter_out: *mut *mut tidegate_keyed_rate_limiter,
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

/// Takes `cost` tokens of a key if all can be had now, and nobody waits for it. This is the fast way: it tells no figures.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_KEYS_FULL; TIDEGATE_ERROR_KEY;
/// TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_try_acquire(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        Ok(limiter.0.try_acquire_status(key, cost)?)
    })
}

/// Keys that one step of a batch takes from C: a multiple of those that the core decides by one reading of the clock.
const BATCH: usize = 64;

/// tidegate_keyed_rate_limiter_try_acquire() for `count` keys, one after the other, in one call: faster than one by
/// one. A key may occur more than once.
///
/// `statuses_out` is an array of `count` elements, which receives what each call would have returned. Both arrays may
/// be NULL if `count` is 0.
///
/// Returns TIDEGATE_OK, also where keys were refused; TIDEGATE_ERROR_KEY if any key is NULL though its size is not 0, and
/// TIDEGATE_ERROR_COST: nothing is taken then from any key.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_try_acquire_many(
    limiter: *const tidegate_keyed_rate_limiter,
    keys: *const tidegate_key,
    count: usize,
    cost: u64,
    statuses_out: *mut i32,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = &unsafe { object(limiter, "limiter") }?.0;
        // SAFETY: the header asks for so many keys.
        let keys = unsafe { key_array(keys, count, "keys") }?;
        if count > 0 {
            checked(statuses_out, "statuses_out")?;
        }
        // SAFETY: the header asks for keys that may be read.
        let bytes = |key: &tidegate_key| unsafe { key_bytes(key.data, key.size) };
        // All are looked at before any is charged.
        keys.iter().try_for_each(|key| bytes(key).map(drop))?;
        limiter.try_acquire_many::<&[u8]>(&[], cost, &mut [])?;
        for (step, keys) in keys.chunks(BATCH).enumerate() {
            let mut batch: [&[u8]; BATCH] = [&[]; BATCH];
            let mut statuses = [Status::Denied; BATCH];
            for (place, key) in batch.iter_mut().zip(keys) {
                *place = bytes(key)?;
            }
            limiter.try_acquire_many(&batch[..keys.len()], cost, &mut statuses[..keys.len()])?;
            for (index, status) in statuses[..keys.len()].iter().enumerate() {
                // SAFETY: the header asks for as many places to write to as there are keys.
                unsafe { statuses_out.add(step * BATCH + index).write(*status as i32) };
            }
        }
        Ok(Status::Allowed)
    })
}

/// Makes everything of a key unspent again. Its decisions from before can no longer be refunded to any effect.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_reset(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        limiter.0.reset(unsafe { key_bytes(key, key_size) }?);
        Ok(Status::Allowed)
    })
}

/// tidegate_keyed_rate_limiter_reconfigure_text() for quotas in structs.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if a quota or the count is not acceptable or changes what must stay;
/// TIDEGATE_ERROR_STRUCT_SIZE.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_reconfigure(
    limiter: *const tidegate_keyed_rate_limiter,
    quotas: *const tidegate_quota,
    count: usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for so many quotas.
        limiter.0.reconfigure(unsafe { read_all(quotas, count) }?)?;
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// tidegate_rate_limiter_reconfigure_text() for all keys. Takes time in proportion to max_keys, in which new keys wait.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the text is not acceptable or changes what must stay.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_reconfigure_text(
    limiter: *const tidegate_keyed_rate_limiter,
    text: *const c_char,
    length: usize,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a text of this length.
        limiter.0.reconfigure(unsafe { quota_text(text, length) }?)?;
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// The quotas that a limiter enforces now for each key, in the order of its list; the array is as in
/// tidegate_quota_parse().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if the array is too short.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_quotas(
    limiter: *const tidegate_keyed_rate_limiter,
    quotas_out: *mut tidegate_quota,
    capacity: usize,
    count_out: *mut usize,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let quotas = unsafe { object(limiter, "limiter") }?.0.quotas();
        // SAFETY: the header asks for places to write to.
        unsafe { write_all(&quotas, quotas_out, capacity, count_out) }
    })
}

/// Statistics of a keyed rate limiter, over all keys. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_stats(
    limiter: *const tidegate_keyed_rate_limiter,
    stats_out: *mut tidegate_stats,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let stats = unsafe { object(limiter, "limiter") }?.0.stats();
        // SAFETY: the header asks for a place to write to.
        unsafe { tell(stats, stats_out) }
    })
}

/// About how many keys owe something now: exact up to a max_keys of some 6,000, else from a sample. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_len(
    limiter: *const tidegate_keyed_rate_limiter,
    len_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let len_out = checked(len_out, "len_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { len_out.write(limiter.0.len()) };
        Ok(Status::Allowed)
    })
}

/// For how many keys that owe something at once there is room: max_keys. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_capacity(
    limiter: *const tidegate_keyed_rate_limiter,
    capacity_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let capacity_out = checked(capacity_out, "capacity_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { capacity_out.write(limiter.0.capacity()) };
        Ok(Status::Allowed)
    })
}

/// Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_ref(
    limiter: *const tidegate_keyed_rate_limiter,
) -> *mut tidegate_keyed_rate_limiter {
    // SAFETY: the header asks for a live handle.
    unsafe { add_owner(limiter) }
}

/// Takes an owner away; the limiter goes with the last one. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_free(limiter: *mut tidegate_keyed_rate_limiter) {
    // SAFETY: the header asks for a live handle that the caller owns.
    unsafe { drop_owner(limiter) };
}
