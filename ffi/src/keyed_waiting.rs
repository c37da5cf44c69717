//! # Waiting with keys
//!
//! As "Waiting" and "Waiting without a thread" say, with a line for each key: who waits for one is in nobody's way who asks
//! for another.
//!
//!     tidegate_keyed_permit permit;
//!     if (tidegate_keyed_concurrency_limiter_acquire(limiter, "/report", 7, 1, 250000000, &permit) == TIDEGATE_ALLOWED) {
//!         int32_t ok = work();
//!         tidegate_keyed_concurrency_limiter_release(limiter, &permit, ok);
//!     }
//!
//! A key that is waited for keeps its place: it is never evicted. `max_waiters` of the options is for each key. A ticket knows
//! its key. In the child of a fork, to release a permit of the parent's is TIDEGATE_ERROR_PERMIT.

use crate::border::{checked, guard, object};
use crate::key::key_bytes;
use crate::keyed_concurrency_limiter::tidegate_keyed_permit;
use crate::object::{tidegate_keyed_concurrency_limiter, tidegate_keyed_rate_limiter};
use crate::reservation::{self, tidegate_reservation};
use crate::ticket::{Listener, Outputs, cancelled, poll, tidegate_refundable_callback, tidegate_wait_callback};
use crate::waiting::{refused, timeout};
use std::ffi::c_void;
use std::ptr::null_mut;
use tidegate_core::{Grant, RawKeyedPermit, Status, Ticket};

/// Takes `cost` tokens of a key, all at once, and waits for them for at most `timeout_ns`, on this thread, as
/// tidegate_rate_limiter_acquire() does.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_KEYS_FULL;
/// TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_acquire(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
    timeout_ns: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        Ok(refused(limiter.0.acquire_n(key, cost, timeout(timeout_ns)))?.err().unwrap_or(Status::Allowed))
    })
}

/// Takes `permits` permits of a key, all at once, and waits for them for at most `timeout_ns`, on this thread.
///
/// If allowed, `*permit_out` holds them until they are released by tidegate_keyed_concurrency_limiter_release(). If
/// refused, it is written too, as a permit that holds nothing.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL; TIDEGATE_KEYS_FULL;
/// TIDEGATE_CLOSED; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_acquire(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: *const c_void,
    key_size: usize,
    permits: u64,
    timeout_ns: u64,
    permit_out: *mut tidegate_keyed_permit,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let permit_out = checked(permit_out, "permit_out")?;
        let (status, permit) = match refused(limiter.0.acquire_raw(key, permits, timeout(timeout_ns)))? {
            Ok(permit) => (Status::Allowed, permit.into()),
            // A signal handler forked this thread out of its wait: a mistake, after which no output is written.
            Err(Status::Forked) => return Ok(Status::Forked),
            Err(status) => (status, tidegate_keyed_permit::default()),
        };
        // SAFETY: the header asks for a place to write to.
        unsafe { permit_out.write(permit) };
        Ok(status)
    })
}

/// How many callers wait for a key. Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_waiting(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    waiting_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let waiting_out = checked(waiting_out, "waiting_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { waiting_out.write(limiter.0.waiting(key)) };
        Ok(Status::Allowed)
    })
}

/// How many callers wait for a key. Returns TIDEGATE_OK; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_waiting(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: *const c_void,
    key_size: usize,
    waiting_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let waiting_out = checked(waiting_out, "waiting_out")?;
        // SAFETY: the header asks for a place to write to.
        unsafe { waiting_out.write(limiter.0.waiting(key)) };
        Ok(Status::Allowed)
    })
}

/// Lends nothing of any key any more, as tidegate_concurrency_limiter_close() says.
///
/// Returns TIDEGATE_OK.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_close(
    limiter: *const tidegate_keyed_concurrency_limiter,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        unsafe { object(limiter, "limiter") }?.0.close();
        Ok(Status::Allowed)
    })
}

/// tidegate_wait_callback for permits of a key; `permit` is NULL unless they were granted. since 1
pub type tidegate_keyed_wait_callback =
    Option<unsafe extern "C" fn(user_data: *mut c_void, status: i32, permit: *const tidegate_keyed_permit)>;

/// Takes `cost` tokens of a key, or begins to wait for them, as tidegate_rate_limiter_acquire_async() does.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
/// TIDEGATE_KEYS_FULL; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_acquire_async(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
    timeout_ns: u64,
    callback: tidegate_wait_callback,
    user_data: *mut c_void,
    ticket_out: *mut u64,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let listener = Listener::new(callback, user_data)?;
        let outputs = Outputs::<()>::new(ticket_out, wake_after_ns_out, null_mut())?;
        // SAFETY: the header asks for places to write to.
        let note = |ticket, wake_after_ns| unsafe { outputs.note(ticket, wake_after_ns) };
        let listen = move |event| listener.tell(event, |_grant| None);
        let started = limiter.0.acquire_by_noted_ticket(key, cost, timeout(timeout_ns), note, listen)?;
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.conclude(started, |()| ()) })
    })
}

/// tidegate_keyed_rate_limiter_acquire_async() for who may find that nobody wants the tokens any more, as
/// tidegate_rate_limiter_acquire_refundable_async() says; tidegate_keyed_rate_limiter_refund() takes the key again.
///
/// Returns as tidegate_keyed_rate_limiter_acquire_async().
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_acquire_refundable_async(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
    timeout_ns: u64,
    callback: tidegate_refundable_callback,
    user_data: *mut c_void,
    ticket_out: *mut u64,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let listener = Listener::new(callback, user_data)?;
        let outputs = Outputs::<()>::new(ticket_out, wake_after_ns_out, null_mut())?;
        // SAFETY: the header asks for places to write to.
        let note = |ticket, wake_after_ns| unsafe { outputs.note(ticket, wake_after_ns) };
        let listen = move |event| listener.tell(event, |grant: Grant| Some(grant.into()));
        let started = limiter.0.acquire_by_noted_ticket(key, cost, timeout(timeout_ns), note, listen)?;
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.conclude(started, |()| ()) })
    })
}

/// Takes `permits` permits of a key, or begins to wait for them, as tidegate_concurrency_limiter_acquire_async() does.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
/// TIDEGATE_KEYS_FULL; TIDEGATE_CLOSED; TIDEGATE_ERROR_KEY; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_acquire_async(
    limiter: *const tidegate_keyed_concurrency_limiter,
    key: *const c_void,
    key_size: usize,
    permits: u64,
    timeout_ns: u64,
    callback: tidegate_keyed_wait_callback,
    user_data: *mut c_void,
    permit_out: *mut tidegate_keyed_permit,
    ticket_out: *mut u64,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        let listener = Listener::new(callback, user_data)?;
        let outputs = Outputs::new(ticket_out, wake_after_ns_out, checked(permit_out, "permit_out")?)?;
        // SAFETY: the header asks for places to write to.
        let note = |ticket, wake_after_ns| unsafe { outputs.note(ticket, wake_after_ns) };
        let listen = move |event| listener.tell(event, |permit: RawKeyedPermit| Some(permit.into()));
        let started = limiter.0.acquire_by_noted_ticket(key, permits, timeout(timeout_ns), note, listen)?;
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.conclude(started, tidegate_keyed_permit::from) })
    })
}

/// Looks at a wait for tokens of a key, as tidegate_rate_limiter_poll() does.
///
/// Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_poll(
    limiter: *const tidegate_keyed_rate_limiter,
    ticket: u64,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a place to write to.
        unsafe { poll(|| limiter.0.poll_ticket(Ticket::from_u64(ticket)), wake_after_ns_out) }
    })
}

/// Looks at a wait for permits of a key, as tidegate_concurrency_limiter_poll() does.
///
/// Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_poll(
    limiter: *const tidegate_keyed_concurrency_limiter,
    ticket: u64,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a place to write to.
        unsafe { poll(|| limiter.0.poll_ticket(Ticket::from_u64(ticket)), wake_after_ns_out) }
    })
}

/// Ends a wait for tokens of a key, as tidegate_rate_limiter_cancel() does.
///
/// Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_cancel(
    limiter: *const tidegate_keyed_rate_limiter,
    ticket: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        Ok(cancelled(limiter.0.cancel_ticket(Ticket::from_u64(ticket))?))
    })
}

/// Ends a wait for permits of a key, as tidegate_concurrency_limiter_cancel() does.
///
/// Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_concurrency_limiter_cancel(
    limiter: *const tidegate_keyed_concurrency_limiter,
    ticket: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        Ok(cancelled(limiter.0.cancel_ticket(Ticket::from_u64(ticket))?))
    })
}

/// Charges `cost` tokens of a key now, as tidegate_rate_limiter_reserve() does.
///
/// Returns as tidegate_rate_limiter_reserve(); TIDEGATE_KEYS_FULL; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_reserve(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    cost: u64,
    max_wait_ns: u64,
    reservation_out: *mut tidegate_reservation,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        // SAFETY: the header asks for a place to write to.
        unsafe { reservation::hand_over(cost, || limiter.0.reserve(key, cost, timeout(max_wait_ns)), reservation_out) }
    })
}

/// Gives a reservation of a key back, as tidegate_rate_limiter_cancel_reservation() does. It is not credited once the key
/// was evicted.
///
/// Returns as tidegate_rate_limiter_cancel_reservation(), TIDEGATE_ERROR_DECISION also if the reservation is of another
/// key, which leaves it as it is; TIDEGATE_ERROR_KEY.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_keyed_rate_limiter_cancel_reservation(
    limiter: *const tidegate_keyed_rate_limiter,
    key: *const c_void,
    key_size: usize,
    reservation: *mut tidegate_reservation,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        // SAFETY: the header asks for a key of this size.
        let key = unsafe { key_bytes(key, key_size) }?;
        // SAFETY: the header asks for a reservation.
        unsafe {
            reservation::consume(reservation, limiter.0.id(), |reservation| {
                limiter.0.cancel_reservation(key, reservation)
            })
        }
    })
}
