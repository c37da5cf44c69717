//! # Waiting
//!
//! What is not there now can be waited for: until it is, or for at most a timeout.
//!
//!     tidegate_permit permit;
//!     int32_t status = tidegate_concurrency_limiter_acquire(limiter, 1, 250000000, &permit);
//!     if (status == TIDEGATE_ALLOWED) {
//!         int32_t ok = work();
//!         tidegate_concurrency_limiter_release(limiter, &permit, ok);
//!     } else if (status == TIDEGATE_TIMED_OUT) {
//!         puts("no permit in 250 ms");
//!     }
//!
//! - Whoever waits first goes first, whatever it asks for, and nobody is overtaken: while anybody waits, `try_acquire` and
//!   `decide` refuse.
//! - A timeout is in nanoseconds on the limiter's clock: 0 tries once, TIDEGATE_NEVER_NS is none. A rate limiter knows how
//!   long a wait takes: one that would outlast its timeout is refused at once, as TIDEGATE_TIMED_OUT. It charges when the
//!   tokens are due, not before.
//! - A limit of 0 is a pause. When a limit becomes smaller than what somebody waits for, that wait ends as
//!   TIDEGATE_EXCEEDS_CAPACITY.
//! - How many may wait is up to `max_waiters` of the options; who comes then is refused as TIDEGATE_QUEUE_FULL.
//! - The statistics tell how many wait, are out, timed out and were cancelled. A wait that ends with a grant counts as
//!   allowed.
//! - In the child of a fork nobody waits, and no permit is out: those of the parent are the parent's, and to release one is
//!   TIDEGATE_ERROR_FORKED. All functions work there at once, whatever other threads were about in the parent.
//!
//! The functions here keep the calling thread until the wait is over; those of "Waiting without a thread" do not.

use crate::border::{Mistake, checked, guard, object};
use crate::concurrency_limiter::tidegate_permit;
use crate::object::{tidegate_concurrency_limiter, tidegate_rate_limiter};
use crate::status::TIDEGATE_NEVER_NS;
use std::time::Duration;
use tidegate_core::{AcquireError, Status};

/// The largest max_waiters, and the default. since 1
pub const TIDEGATE_MAX_WAITERS: u64 = 4294967294;

/// What `max_waiters` of some options means, beside their flag that says that none may wait. Its range is the core's to check.
pub(crate) fn max_waiters(max_waiters: u64, none: bool, flag: &str) -> Result<u64, Mistake> {
    match (max_waiters, none) {
        (0, true) => Ok(0),
        (0, false) => Ok(TIDEGATE_MAX_WAITERS),
        (given, false) => Ok(given),
        (given, true) => {
            let value = format!("{given} with the flag {flag}");
            let allowed = format!("0 to {TIDEGATE_MAX_WAITERS}, and 0 with the flag");
            Err(Mistake::new(Status::InvalidOption, "max_waiters", value, allowed))
        }
    }
}

pub(crate) fn timeout(timeout_ns: u64) -> Option<Duration> {
    (timeout_ns != TIDEGATE_NEVER_NS).then(|| Duration::from_nanos(timeout_ns))
}

/// A refusal as its status; a mistake of the caller's as that.
pub(crate) fn refused<T>(acquired: Result<T, AcquireError>) -> Result<Result<T, Status>, Mistake> {
    match acquired {
        Ok(taken) => Ok(Ok(taken)),
        Err(AcquireError::Refused(refusal)) => Ok(Err(refusal.status)),
        Err(AcquireError::Invalid(error)) => Err(error.into()),
    }
}

/// Takes `cost` tokens, all at once, and waits for them for at most `timeout_ns`, on this thread. On a manual clock that is
/// until another thread has moved it.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_acquire(
    limiter: *const tidegate_rate_limiter,
    cost: u64,
    timeout_ns: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        Ok(refused(limiter.0.acquire_n(cost, timeout(timeout_ns)))?.err().unwrap_or(Status::Allowed))
    })
}

/// Takes `permits` permits, all at once, and waits for them for at most `timeout_ns`, on this thread.
///
/// If allowed, `*permit_out` holds them until they are released by tidegate_concurrency_limiter_release(). If refused, it
/// is written too, as a permit that holds nothing.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_CLOSED;
/// TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_acquire(
    limiter: *const tidegate_concurrency_limiter,
    permits: u64,
    timeout_ns: u64,
    permit_out: *mut tidegate_permit,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let permit_out = checked(permit_out, "permit_out")?;
        let (status, permit) = match refused(limiter.0.acquire_raw(permits, timeout(timeout_ns)))? {
            Ok(permit) => (Status::Allowed, permit.into()),
            // A signal handler forked this thread out of its wait: a mistake, after which no output is written.
            Err(Status::Forked) => return Ok(Status::Forked),
            Err(status) => (status, tidegate_permit::default()),
        };
        // SAFETY: the header asks for a place to write to.
        unsafe { permit_out.write(permit) };
        Ok(status)
    })
}

/// How many callers wait. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_waiting(
    limiter: *const tidegate_rate_limiter,
    waiting_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let waiting_out = checked(waiting_out, "waiting_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { waiting_out.write(limiter.0.waiting()) };
        Ok(Status::Allowed)
    })
}

/// How many callers wait. Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_waiting(
    limiter: *const tidegate_concurrency_limiter,
    waiting_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let waiting_out = checked(waiting_out, "waiting_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { waiting_out.write(limiter.0.waiting()) };
        Ok(Status::Allowed)
    })
}

/// Lends nothing any more: who waits and who comes is refused as TIDEGATE_CLOSED, for ever. Permits that are out can be
/// given back. Nothing happens if it is closed already.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_close(limiter: *const tidegate_concurrency_limiter) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        unsafe { object(limiter, "limiter") }?.0.close();
        Ok(Status::Allowed)
    })
}
