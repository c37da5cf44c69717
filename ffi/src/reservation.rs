//! # Reservations
//!
//! Waiting for callers with a scheduler of their own: tokens are charged now and may be used from a fixed time on, which
//! nothing that others do moves.
//!
//!     tidegate_reservation reservation;
//!     if (tidegate_rate_limiter_reserve(limiter, 1, 1000000000, &reservation) == TIDEGATE_ALLOWED) {
//!         send_after(reservation.wait_ns);
//!     }
//!
//! For rate limiters of one quota with gcra. Keys: see "Waiting with keys".

use crate::border::{Mistake, checked, guard, object};
use crate::layout::layout;
use crate::object::tidegate_rate_limiter;
use crate::waiting::{refused, timeout};
use std::sync::atomic::{AtomicU64, Ordering};
use tidegate_core::{AcquireError, Error, MAX_COST, Reservation, Status};

/// Tokens that are charged already. 96 bytes, and never more. Belongs to the caller, who may drop it at will: the tokens
/// stay charged. since 1
#[repr(C)]
pub struct tidegate_reservation {
    /// The limiter that gave it; 0 if none did.
    pub limiter_id: u64,
    /// How many tokens; 0 once it was cancelled, or if none were granted.
    pub cost: u64,
    /// From when on they may be used, on the limiter's clock.
    pub due_ns: u64,
    /// How long that was from when they were reserved; 0 if they may be used at once.
    pub wait_ns: u64,
    /// For tidegate_rate_limiter_cancel_reservation(): what was used before.
    pub before: u64,
    /// For tidegate_rate_limiter_cancel_reservation(): what was used after.
    pub after: u64,
    /// For tidegate_rate_limiter_cancel_reservation(): how often the limiter had been reset by then.
    pub reset_count: u64,
    /// For tidegate_keyed_rate_limiter_cancel_reservation(): which key, as that limiter knows it; else 0.
    pub key_hash: u64,
    /// All 0.
    pub reserved: [u64; 4],
}

layout! { tidegate_reservation: 96 {
    limiter_id: 0,
    cost: 8,
    due_ns: 16,
    wait_ns: 24,
    before: 32,
    after: 40,
    reset_count: 48,
    key_hash: 56,
    reserved: 64,
} }

impl tidegate_reservation {
    fn new(cost: u64, reservation: Reservation) -> Self {
        let Reservation { limiter_id, due_ns, wait_ns, before, after, reset_count, key_hash } = reservation;
        Self { limiter_id, cost, due_ns, wait_ns, before, after, reset_count, key_hash, reserved: [0; 4] }
    }

    fn nothing() -> Self {
        let (limiter_id, reset_count, key_hash) = (0, 0, 0);
        Self::new(0, Reservation { limiter_id, due_ns: 0, wait_ns: 0, before: 0, after: 0, reset_count, key_hash })
    }
}

/// Writes what came of `reserve`.
///
/// # Safety
///
/// `reservation_out` is NULL or may be written.
pub(crate) unsafe fn hand_over(
    cost: u64,
    reserve: impl FnOnce() -> Result<Reservation, AcquireError>,
    reservation_out: *mut tidegate_reservation,
) -> Result<Status, Mistake> {
    let reservation_out = checked(reservation_out, "reservation_out")?;
    let (status, reservation) = match refused(reserve())? {
        Ok(taken) => (Status::Allowed, tidegate_reservation::new(cost, taken)),
        Err(status) => (status, tidegate_reservation::nothing()),
    };
    // SAFETY: as the caller vouches.
    unsafe { reservation_out.write(reservation) };
    Ok(status)
}

/// Gives a reservation back by `cancel`, unless its cost says that this was done before.
///
/// # Safety
///
/// `reservation` is NULL or a reservation that may be read and written.
pub(crate) unsafe fn consume(
    reservation: *mut tidegate_reservation,
    limiter_id: u64,
    cancel: impl FnOnce(Reservation) -> Result<bool, Error>,
) -> Result<Status, Mistake> {
    let reservation = checked(reservation, "reservation")?;
    let mistake = |value| {
        let allowed = "a reservation of this limiter, once";
        Mistake::new(Status::InvalidDecision, "reservation", value, allowed)
    };
    // SAFETY: as the caller vouches; only the cost changes, and that in atomic steps.
    let (cost, copy) = unsafe {
        let cost = AtomicU64::from_ptr(&raw mut (*reservation).cost);
        let copy = Reservation {
            limiter_id: (*reservation).limiter_id,
            due_ns: (*reservation).due_ns,
            wait_ns: (*reservation).wait_ns,
            before: (*reservation).before,
            after: (*reservation).after,
            reset_count: (*reservation).reset_count,
            key_hash: (*reservation).key_hash,
        };
        (cost, copy)
    };
    if copy.limiter_id != limiter_id {
        return Err(mistake("one of another limiter, or of nothing"));
    }
    // Relaxed, here and below: only who wins the exchange matters; no other data hangs on it.
    let taken = cost
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |cost| (1..=MAX_COST).contains(&cost).then_some(0))
        .map_err(|_| mistake("one that was cancelled before, or whose cost was changed"))?;
    let cancelled = cancel(copy);
    if cancelled.is_err() {
        cost.store(taken, Ordering::Relaxed);
    }
    Ok(if cancelled? { Status::Allowed } else { Status::TooLate })
}

/// Charges `cost` tokens now, to be used once they are due, if that is in at most `max_wait_ns`; TIDEGATE_NEVER_NS is as
/// long as it takes.
///
/// If refused, nothing is charged, and `*reservation_out` is written as one of nothing.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT if they would be due later, or somebody waits; TIDEGATE_EXCEEDS_CAPACITY;
/// TIDEGATE_ERROR_COST; TIDEGATE_ERROR_UNSUPPORTED if the limiter has several quotas, or one without gcra.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_reserve(
    limiter: *const tidegate_rate_limiter,
    cost: u64,
    max_wait_ns: u64,
    reservation_out: *mut tidegate_reservation,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a place to write to.
        unsafe { hand_over(cost, || limiter.0.reserve(cost, timeout(max_wait_ns)), reservation_out) }
    })
}

/// Gives a reservation back. Its tokens are credited only if they are not due yet and nobody reserved after it: else they
/// would come to others sooner than the bound allows.
///
/// Consumes the reservation by setting its `cost` to 0, credited or not: a second time is an error. Of several threads that
/// cancel one and the same struct, one succeeds.
///
/// Returns TIDEGATE_OK if they were credited; TIDEGATE_TOO_LATE if not; TIDEGATE_ERROR_DECISION if the reservation is of
/// nothing, was cancelled before, or is of another limiter.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_cancel_reservation(
    limiter: *const tidegate_rate_limiter,
    reservation: *mut tidegate_reservation,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a reservation.
        unsafe { consume(reservation, limiter.0.id(), |reservation| limiter.0.cancel_reservation(reservation)) }
    })
}
