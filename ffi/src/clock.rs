//! # Clocks
//!
//! Limiters go by the machine's monotonic clock unless they are given another. A manual clock moves only when it is told:
//!
//!     tidegate_clock *clock;
//!     tidegate_clock_manual_new(&clock);
//!     tidegate_rate_limiter_options options = {.struct_size = sizeof options, .clock = clock};
//!     tidegate_rate_limiter_parse("1/s", 3, &options, &limiter, NULL, 0);
//!     tidegate_clock_advance(clock, 1000000000);
//!
//! No clock ever goes back.

use crate::border::{Mistake, add_owner, checked, drop_owner, guard, into_handle, object};
use crate::object::tidegate_clock;
use tidegate_core::{Clock, ManualClock, Status};

/// Makes a clock that moves only when told, at 0, which is also its Unix epoch. For tests.
///
/// The caller owns `*clock_out` and gives it up with tidegate_clock_free().
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_manual_new(clock_out: *mut *mut tidegate_clock) -> i32 {
    guard(|| {
        let manual = ManualClock::new();
        // SAFETY: the header asks for a place to write to.
        unsafe { hand_out(tidegate_clock { clock: Clock::from(&manual), manual: Some(manual) }, clock_out) }
    })
}

/// Makes a handle on the machine's monotonic clock, which all limiters without a clock of their own go by.
///
/// It is the processor's time stamp counter where that can be trusted, else the operating system's clock, from which it
/// drifts by parts per million. The first one of a process may take up to 200 ms.
///
/// The caller owns `*clock_out` and gives it up with tidegate_clock_free().
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_monotonic_new(clock_out: *mut *mut tidegate_clock) -> i32 {
    // SAFETY: the header asks for a place to write to.
    guard(|| unsafe { hand_out(tidegate_clock { clock: Clock::monotonic(), manual: None }, clock_out) })
}

/// # Safety
///
/// `clock_out` is NULL or may be written.
unsafe fn hand_out(clock: tidegate_clock, clock_out: *mut *mut tidegate_clock) -> Result<Status, Mistake> {
    let clock_out = checked(clock_out, "clock_out")?;
    // SAFETY: as the caller vouches.
    unsafe { clock_out.write(into_handle(clock)) };
    Ok(Status::Allowed)
}

/// The time of a clock that can be told the time.
fn manual(clock: &tidegate_clock) -> Result<&ManualClock, Mistake> {
    let refuse = || Mistake::new(Status::Unsupported, "clock", "a monotonic clock", "a manual clock");
    clock.manual.as_ref().ok_or_else(refuse)
}

/// Moves a manual clock on. It stops at 2^64 - 1.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_UNSUPPORTED if the clock is monotonic.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_advance(clock: *const tidegate_clock, by_ns: u64) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        manual(unsafe { object(clock, "clock") }?)?.advance_ns(by_ns);
        Ok(Status::Allowed)
    })
}

/// Sets the time under a manual clock, as a machine's clock is set. A step forward moves the clock on by as much; a step
/// back counts as no time, and progress from there counts again.
///
/// Returns TIDEGATE_OK; TIDEGATE_ERROR_UNSUPPORTED if the clock is monotonic.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_set(clock: *const tidegate_clock, to_ns: u64) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        manual(unsafe { object(clock, "clock") }?)?.set_ns(to_ns);
        Ok(Status::Allowed)
    })
}

/// The time of a clock, in nanoseconds since its origin.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_now_ns(clock: *const tidegate_clock, now_ns_out: *mut u64) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let clock = unsafe { object(clock, "clock") }?;
        let now_ns_out = checked(now_ns_out, "now_ns_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { now_ns_out.write(clock.clock.now_ns()) };
        Ok(Status::Allowed)
    })
}

/// Adds an owner, who also must free the clock, and returns the clock; NULL for NULL.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_ref(clock: *const tidegate_clock) -> *mut tidegate_clock {
    // SAFETY: the header asks for a live handle.
    unsafe { add_owner(clock) }
}

/// Takes an owner away; the clock goes with the last one. NULL is fine.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_clock_free(clock: *mut tidegate_clock) {
    // SAFETY: the header asks for a live handle that the caller owns.
    unsafe { drop_owner(clock) };
}
