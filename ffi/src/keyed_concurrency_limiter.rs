//! # Keyed concurrency limiters
//!
//!     tidegate_keyed_concurrency_limiter_options options = {.struct_size = sizeof options, .limit = 4};
//!     tidegate_keyed_concurrency_limiter *limiter;
//!     tidegate_keyed_concurrency_limiter_new(&options, &limiter, NULL, 0);
//!
//!     tidegate_keyed_permit permit;
//!     if (tidegate_keyed_concurrency_limiter_try_acquire(limiter, "/report", 7, 1, &permit) == TIDEGATE_ALLOWED) {
//!         int32_t ok = work();
//!         tidegate_keyed_concurrency_limiter_release(limiter, &permit, ok);
//!     }
//!
//! A key with permits out, or waited for, keeps its place: a new key that finds none is refused with TIDEGATE_KEYS_FULL.

use crate::border::{
    Mistake, Sized32, add_owner, check_flags, check_limit, check_reserved, checked, drop_owner, guard, guard_and_tell,
    into_handle, object, sized,
};
use crate::concurrency_limiter::{
    MAX_LIMIT, TIDEGATE_CONCURRENCY_LIMIT_ZERO, TIDEGATE_CONCURRENCY_NO_WAITERS, TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME,
};
use crate::key::key_bytes;
use crate::keyed_rate_limiter::max_keys_or_default;
use crate::layout::layout;
use crate::object::{tidegate_clock, tidegate_keyed_concurrency_limiter};
use crate::stats::tidegate_stats;
use crate::waiting::max_waiters;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::{KeyedConcurrencyLimiter, KeyedConcurrencyOptions, RawKeyedPermit, Status};

/// How to make a keyed concurrency limiter. 64 bytes. since 1
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tidegate_keyed_concurrency_limiter_options {
    /// sizeof(tidegate_keyed_concurrency_limiter_options).
    pub struct_size: u32,
    /// Any of TIDEGATE_CONCURRENCY_LIMIT_ZERO, TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME, TIDEGATE_CONCURRENCY_NO_WAITERS.
    pub flags: u32,
    /// How many permits of each key may be out at once: 1 to 2147483647, or 0 with TIDEGATE_CONCURRENCY_LIMIT_ZERO.
    pub limit: u64,
    /// For how many keys with permits out, or waited for, there is room: 1 to TIDEGATE_MAX_KEYS; 0 for
    /// TIDEGATE_DEFAULT_MAX_KEYS. Takes 40 bytes for each.
    pub max_keys: u64,
    /// The clock that timeouts and hold times are measured on; NULL for the monotonic one.
    pub clock: *const tidegate_clock,
    /// How many may wait for one key at once: 1 to TIDEGATE_MAX_WAITERS; 0 for as many, or, with
    /// TIDEGATE_CONCURRENCY_NO_WAITERS, for none.
    pub max_waiters: u64,
    /// All 0.
    pub reserved: [u64; 3],
}

layout! { tidegate_keyed_concurrency_limiter_options: 64 {
    struct_size: 0,
    flags: 4,
    limit: 8,
    max_keys: 16,
    clock: 24,
    max_waiters: 32,
    reserved: 40,
} }

// SAFETY: integers and a pointer, which fill 64 bytes.
unsafe impl Sized32 for tidegate_keyed_concurrency_limiter_options {}

/// Permits of a key that are held. 32 bytes, and never more. Belongs to the caller, who keeps it until the release and
/// may move it to another thread. since 1
#[repr(C)]
#[derive(Default)]
pub struct tidegate_keyed_permit {
    /// The limiter that lent the permits; 0 if none did.
    pub limiter_id: u64,
    /// How many permits are held; 0 once they are released, or if none were granted.
    pub permits: u64,
    /// Which key, and since when it holds them, as that limiter knows it.
    pub key_hash: [u64; 2],
}

layout! { tidegate_keyed_permit: 32 {
    limiter_id: 0,
    permits: 8,
    key_hash: 16,
} }

impl From<RawKeyedPermit> for tidegate_keyed_permit {
    fn from(RawKeyedPermit { limiter_id, key_hash, permits }: RawKeyedPermit) -> Self {
        Self { limiter_id, permits, key_hash }
    }
}

/// # Safety
///
/// `options` is NULL or may be read for as many bytes as it says, and its clock is NULL or a live handle.
unsafe fn build(
    options: *const tidegate_keyed_concurrency_limiter_options,
) -> Result<KeyedConcurrencyLimiter, Mistake> {
    // SAFETY: as the caller vouches.
    let (options, _) = unsafe { sized(options, "options") }?;
    let known =
        TIDEGATE_CONCURRENCY_LIMIT_ZERO | TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME | TIDEGATE_CONCURRENCY_NO_WAITERS;
    check_flags(options.flags, known)?;
    check_reserved(&options.reserved)?;
    let zero = options.flags & TIDEGATE_CONCURRENCY_LIMIT_ZERO != 0;
    check_limit(options.limit, MAX_LIMIT, zero, "TIDEGATE_CONCURRENCY_LIMIT_ZERO")?;
    let track = options.flags & TIDEGATE_CONCURRENCY_TRACK_HOLD_TIME != 0;
    let max_keys = max_keys_or_default(options.max_keys);
    let nobody_waits = options.flags & TIDEGATE_CONCURRENCY_NO_WAITERS != 0;
    let max_waiters = max_waiters(options.max_waiters, nobody_waits, "TIDEGATE_CONCURRENCY_NO_WAITERS")?;
    let mut settings =
        KeyedConcurrencyOptions::new().max_keys(max_keys).track_hold_time(track).max_waiters(max_waiters);
    if !options.clock.is_null() {
        // SAFETY: as the caller vouches.
        settings = settings.clock(&unsafe { object(options.clock, "clock") }?.clock);
    }
    Ok(settings.build(options.limit)?)
}

/// Makes a keyed concurrency limiter, with no permit out.
///
/// The caller owns `*limiter_out` and gives it up with tidegate_keyed_concurrency_limiter_free().
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION if an option is not acceptable; TIDEGATE_ERROR_STRUCT_SIZE;
/// TIDEGATE_ERROR_MEMORY also if there is not enough for max_keys.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_new(
    options: *const tidegate_keyed_concurrency_limiter_options,
    limiter_out: *mut *mut tidegate_keyed_concurrency_limiter,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    let body = || {
        let limiter_out = checked(limiter_out, "limiter_out")?;
        // SAFETY: the header asks for options.
        let limiter = unsafe { build(options) }?;
        // SAFETY: the header asks for a place to write to.
        unsafe { limiter_out.write(into_handle(tidegate_keyed_concurrency_limiter(limiter))) };
        Ok(Status::Allowed)
    };
    // SAFETY: the header asks for a buffer of this size.
    unsafe { guard_and_tell(error, error_size, body) }
}

/// Takes `permits` permits of a key if all can be had now.
///
/// If allowed, `*permit_out` holds them until they are released by tidegate_keyed_concurrency_limiter_release(). If
/// refused, it is written too, as a permit that holds nothing. Permits of a limiter that is freed are gone with it.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_DENIED, always so while the limit is 0 or anybody waits for the key;
/// TIDEGATE_EXCEEDS_CAPACITY if `permits` is more than the limit; TIDEGATE_KEYS_FULL; TIDEGATE_CLOSED; TIDEGATE_ERROR_KEY;
/// TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_try_acquire(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: *const c_void,
    key_size: usize,
    permits: u64,
    permit_out: *mut tidegate_keyed_permit,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let permit_out = checked(permit_out, "permit_out")?;
        let (status, permit) = match limiter.0.try_acquire_raw(key, permits)? {
            Ok(permit) => (Status::Allowed, permit.into()),
            Err(status) => (status, tidegate_keyed_permit::default()),
        };
        // SAFETY: the header asks for a place to write to.
        unsafe { permit_out.write(permit) };
        Ok(status)
    })
}

/// Gives permits back, on any thread; the permit knows its key. `ok` is for the statistics: 0 if the work failed, else
/// any other number.
///
/// Consumes the permit by setting its `permits` to 0: a second release is an error. Of several threads that release one
/// and the same struct, one succeeds. A copy that was made before the release is told apart only where more permits of
/// its key would come back than are out.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_PERMIT if the permit holds nothing, is of another limiter, or more would come back
/// than are out.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_release(
    limiter: *const tidegate_keyed_concurrency_limiter,
    permit: *mut tidegate_keyed_permit,
    ok: i32,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let permit = checked(permit, "permit")?;
        // SAFETY: the header asks for a permit, of which only `permits` changes, and that in atomic steps.
        let (limiter_id, key_hash, held) = unsafe {
            let held = AtomicU64::from_ptr(&raw mut (*permit).permits);
            ((*permit).limiter_id, (*permit).key_hash, held)
        };
        // Before the swap: a release by another limiter must not hold the word even for a moment.
        if limiter_id != limiter.0.id() {
            let allowed = "a permit of this limiter that is still held";
            return Err(Mistake::new(Status::InvalidPermit, "permit", "one of another limiter, or none", allowed));
        }
        // Relaxed, here and below: only who wins the swap matters; the release itself orders what was done before.
        let permits = held.swap(0, Ordering::Relaxed);
        let released = limiter.0.release(&RawKeyedPermit { limiter_id, key_hash, permits }, ok != 0);
        if released.is_err() {
            held.store(permits, Ordering::Relaxed);
        }
        released?;
        Ok(Status::Allowed)
    })
}

/// Changes the limit of all keys while in use, from 0 to 2147483647. Permits that are out stay out. A call that is
/// under way may still go by the limit before.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_OPTION.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_set_limit(
    limiter: *const tidegate_keyed_concurrency_limiter,
    limit: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        unsafe { object(limiter, "limiter") }?.0.set_limit(limit)?;
        Ok(Status::Allowed)
    })
}

/// How many permits of each key may be out at once. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_limit(
    limiter: *const tidegate_keyed_concurrency_limiter,
    limit_out: *mut u64,
) -> i32 {
    // SAFETY: the header asks for a live handle and a place to write to.
    guard(|| unsafe { tell(limiter, KeyedConcurrencyLimiter::limit, limit_out, "limit_out") })
}

/// How many permits of a key are out. Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_in_flight(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: *const c_void,
    key_size: usize,
    in_flight_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) };
        // SAFETY: the header asks for a live handle and a place to write to.
        unsafe { tell_of_key(limiter, key, KeyedConcurrencyLimiter::in_flight, in_flight_out, "in_flight_out") }
    })
}

/// How many permits of a key could be taken now, if there is room for it; 0 while anybody waits for it, or more are out
/// than a lowered limit, or the limiter is closed.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_available(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: *const c_void,
    key_size: usize,
    available_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) };
        // SAFETY: the header asks for a live handle and a place to write to.
        unsafe { tell_of_key(limiter, key, KeyedConcurrencyLimiter::available, available_out, "available_out") }
    })
}

/// For how many keys with permits out, or waited for, there is room: max_keys. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_capacity(
    limiter: *const tidegate_keyed_concurrency_limiter,
    capacity_out: *mut u64,
) -> i32 {
    // SAFETY: the header asks for a live handle and a place to write to.
    guard(|| unsafe { tell(limiter, KeyedConcurrencyLimiter::capacity, capacity_out, "capacity_out") })
}

/// # Safety
///
/// `limiter` is NULL or a live handle; `out` is NULL or may be written.
unsafe fn tell(
    limiter: *const tidegate_keyed_concurrency_limiter,
    figure: impl FnOnce(&KeyedConcurrencyLimiter) -> u64,
    out: *mut u64,
    argument: &str,
) -> Result<Status, Mistake> {
    // SAFETY: as the caller vouches.
    let limiter = unsafe { object(limiter, "limiter") }?;
    let out = checked(out, argument)?;
    // SAFETY: as the caller vouches.
    unsafe { out.write(figure(&limiter.0)) };
    Ok(Status::Allowed)
}

/// # Safety
///
/// As [`tell`].
unsafe fn tell_of_key<'a>(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: Result<&'a [u8], Mistake>,
    figure: fn(&KeyedConcurrencyLimiter, &'a [u8]) -> u64,
    out: *mut u64,
    argument: &str,
) -> Result<Status, Mistake> {
    let key = key?;
    // SAFETY: as the caller vouches.
    unsafe { tell(limiter, |limiter| figure(limiter, key), out, argument) }
}

/// Statistics of a keyed concurrency limiter, over all keys: `in_flight` and `live_keys` are counted over the whole
/// table, in proportion to max_keys; `limit` is that of one key; `available` does not apply.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_stats(
    limiter: *const tidegate_keyed_concurrency_limiter,
    stats_out: *mut tidegate_stats,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let stats = unsafe { object(limiter, "limiter") }?.0.stats();
        // SAFETY: the header asks for a place to write to.
        unsafe { crate::stats::tell(stats, stats_out) }
    })
}

/// Adds an owner, who also must free the limiter, and returns the limiter; NULL for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_ref(
    limiter: *const tidegate_keyed_concurrency_limiter,
) -> *mut tidegate_keyed_concurrency_limiter {
    // SAFETY: the header asks for a live handle.
    unsafe { add_owner(limiter) }
}

/// Takes an owner away; the limiter goes with the last one. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_free(limiter: *mut tidegate_keyed_concurrency_limiter) {
    // SAFETY: the header asks for a live handle that the caller owns.
    unsafe { drop_owner(limiter) };
}
