//! # Waiting without a thread
//!
//! For event loops and the runtimes of other languages: a call takes at once, or gives a ticket and calls back later.
//!
//!     void granted(void *user_data, int32_t status, const tidegate_permit *permit) {
//!         struct request *request = user_data;
//!         if (status == TIDEGATE_POLL_AGAIN) {
//!             loop_call_soon(poll_request, request);
//!         } else if (status == TIDEGATE_ALLOWED) {
//!             request->permit = *permit;
//!             loop_call_soon(run_request, request);
//!         } else {
//!             loop_call_soon(fail_request, request);
//!         }
//!     }
//!
//!     int32_t status = tidegate_concurrency_limiter_acquire_async(
//!         limiter, 1, timeout_ns, granted, request, &request->permit, &request->ticket, &wake_after_ns);
//!     if (status == TIDEGATE_ALLOWED) {
//!         run_request(request);
//!     } else if (status != TIDEGATE_PENDING) {
//!         fail_request(request);
//!     } else if (wake_after_ns != TIDEGATE_NEVER_NS) {
//!         loop_call_later(wake_after_ns, poll_request, request);
//!     }
//!
//! The library has no threads and no timers. So the host polls a wait by its ticket after `wake_after_ns`, which the poll
//! tells anew: only waits with a timeout, and of a rate limiter the one that is first in line, need that at all. All behind
//! that one wait for its poll, too. On a manual clock no wait needs one.
//!
//! Callbacks:
//!
//! - One runs on the thread whose call brings it about: a release, a poll, a cancel, a close, a clock that is moved. The
//!   library holds no lock then, so it may call any function but those that keep its thread waiting. It is never run
//!   within another on the same thread: what a callback brings about for others is told once it has returned, before the
//!   call that it was run by returns. So the stack does not grow, however long such a chain is. The calls for one wait come
//!   one after the other, from whichever threads.
//! - It is run only after TIDEGATE_PENDING, and exactly once with a status other than TIDEGATE_POLL_AGAIN. That call is the
//!   last use of its `user_data`. It may come before the function that began the wait returns, but all outputs are
//!   written by then.
//! - It must neither throw nor jump out. The limiter must have an owner until the call that it is run by returns.
//! - Who cancels may be too late: then the callback has, or is about to get, what was granted. Permits are released then,
//!   and tokens given back by tidegate_rate_limiter_refund() if the wait was begun as a refundable one.
//! - When the last owner frees a limiter, those who still wait are told TIDEGATE_CLOSED within that call. In the child of
//!   a fork the waits of the parent do not exist, and nobody is called back for them.

use crate::border::{Mistake, checked, guard, object};
use crate::concurrency_limiter::tidegate_permit;
use crate::decision::tidegate_decision;
use crate::object::{tidegate_concurrency_limiter, tidegate_rate_limiter};
use crate::status::TIDEGATE_NEVER_NS;
use crate::waiting::timeout;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};
use tidegate_core::{Error, Event, Grant, RawPermit, Started, Status, Ticket};

/// What is called for a wait: with TIDEGATE_POLL_AGAIN if it may be due sooner than was said; at last with what became of
/// it, TIDEGATE_ALLOWED, TIDEGATE_TIMED_OUT, TIDEGATE_CANCELLED, TIDEGATE_EXCEEDS_CAPACITY or TIDEGATE_CLOSED. `permit` is to be
/// copied, and then held as after tidegate_concurrency_limiter_acquire(); NULL unless a concurrency limiter allowed. since 1
pub type tidegate_wait_callback =
    Option<unsafe extern "C" fn(user_data: *mut c_void, status: i32, permit: *const tidegate_permit)>;

/// tidegate_wait_callback for tokens that may be given back, with keys or without. `decision` is to be copied, for the
/// limiter's `_refund`; its figures are all 0. NULL unless the tokens were granted. since 1
pub type tidegate_refundable_callback =
    Option<unsafe extern "C" fn(user_data: *mut c_void, status: i32, decision: *const tidegate_decision)>;

/// A callback that gets a `P` with a grant, and whom it is for.
pub(crate) struct Listener<P> {
    callback: unsafe extern "C" fn(*mut c_void, i32, *const P),
    user_data: *mut c_void,
    /// Held while the callback runs. Threads may bring a TIDEGATE_POLL_AGAIN and the end at once: the last call then waits for the
    /// other to return, or the other is not made any more, so that `user_data` is the caller's again after the last.
    is_over: Mutex<bool>,
}

// SAFETY: the header says that callbacks run on any thread; the library only hands `user_data` through.
unsafe impl<P> Send for Listener<P> {}
// SAFETY: as above.
unsafe impl<P> Sync for Listener<P> {}

impl<P> Listener<P> {
    pub(crate) fn new(
        callback: Option<unsafe extern "C" fn(*mut c_void, i32, *const P)>,
        user_data: *mut c_void,
    ) -> Result<Self, Mistake> {
        let allowed = "a function";
        let callback = callback.ok_or_else(|| Mistake::new(Status::NullPointer, "callback", "NULL", allowed))?;
        Ok(Self { callback, user_data, is_over: Mutex::new(false) })
    }

    pub(crate) fn tell<T>(&self, event: Event<T>, given: impl FnOnce(T) -> Option<P>) {
        let (status, given) = match event {
            Event::Granted(granted) => (Status::Allowed, given(granted)),
            Event::Refused(status) => (status, None),
            Event::PollAgain => (Status::PollAgain, None),
        };
        let given = given.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_over {
            return;
        }
        *is_over = status != Status::PollAgain;
        // SAFETY: the header asks for a function that may be called so on any thread, and that does not unwind.
        unsafe { (self.callback)(self.user_data, status as i32, given) }
    }
}

/// Where the host looks for what it needs to know of its wait.
pub(crate) struct Outputs<P> {
    ticket: *mut u64,
    wake_after_ns: *mut u64,
    /// Of a concurrency limiter.
    permit: *mut P,
}

impl<P: Default> Outputs<P> {
    pub(crate) fn new(ticket_out: *mut u64, wake_after_ns_out: *mut u64, permit_out: *mut P) -> Result<Self, Mistake> {
        let ticket = checked(ticket_out, "ticket_out")?;
        Ok(Self { ticket, wake_after_ns: checked(wake_after_ns_out, "wake_after_ns_out")?, permit: permit_out })
    }

    /// # Safety
    ///
    /// All may be written, but for a permit that is NULL.
    unsafe fn write(&self, ticket: u64, wake_after_ns: u64, permit: P) {
        // SAFETY: as the caller vouches.
        unsafe {
            self.ticket.write(ticket);
            self.wake_after_ns.write(wake_after_ns);
            if !self.permit.is_null() {
                self.permit.write(permit);
            }
        }
    }

    /// What a wait that begins is called by.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write).
    pub(crate) unsafe fn note(&self, ticket: Ticket, wake_after_ns: u64) {
        // SAFETY: as the caller vouches.
        unsafe { self.write(ticket.to_u64(), wake_after_ns, P::default()) };
    }

    /// # Safety
    ///
    /// As [`write`](Self::write), unless it is pending: then they may be gone by now.
    pub(crate) unsafe fn conclude<T>(&self, started: Started<T>, permit: impl FnOnce(T) -> P) -> Status {
        let (status, permit) = match started {
            Started::Granted(granted) => (Status::Allowed, permit(granted)),
            Started::Refused(status) => (status, P::default()),
            Started::Pending { .. } => return Status::Pending,
        };
        // SAFETY: as the caller vouches.
        unsafe { self.write(0, TIDEGATE_NEVER_NS, permit) };
        status
    }
}

/// Takes `cost` tokens, or begins to wait for them for at most `timeout_ns`.
///
/// If pending, the wait has the ticket `*ticket_out` and is to be polled after `*wake_after_ns_out`, unless that is
/// TIDEGATE_NEVER_NS; `callback` is called with `user_data`. Else it is not, and they are written as 0 and
/// TIDEGATE_NEVER_NS.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
/// TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_acquire_async(
    limiter: *const tidegate_rate_limiter,
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
        let listener = Listener::new(callback, user_data)?;
        let outputs = Outputs::<()>::new(ticket_out, wake_after_ns_out, null_mut())?;
        // SAFETY: the header asks for places to write to.
        let note = |ticket, wake_after_ns| unsafe { outputs.note(ticket, wake_after_ns) };
        let listen = move |event| listener.tell(event, |_grant| None);
        let started = limiter.0.acquire_by_noted_ticket(cost, timeout(timeout_ns), note, listen)?;
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.conclude(started, |()| ()) })
    })
}

/// tidegate_rate_limiter_acquire_async() for who may find, once the tokens are granted, that nobody wants them any more:
/// `callback` gets what tidegate_rate_limiter_refund() takes. What is taken at once comes without.
///
/// Returns as tidegate_rate_limiter_acquire_async().
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_acquire_refundable_async(
    limiter: *const tidegate_rate_limiter,
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
        let listener = Listener::new(callback, user_data)?;
        let outputs = Outputs::<()>::new(ticket_out, wake_after_ns_out, null_mut())?;
        // SAFETY: the header asks for places to write to.
        let note = |ticket, wake_after_ns| unsafe { outputs.note(ticket, wake_after_ns) };
        let listen = move |event| listener.tell(event, |grant: Grant| Some(grant.into()));
        let started = limiter.0.acquire_by_noted_ticket(cost, timeout(timeout_ns), note, listen)?;
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.conclude(started, |()| ()) })
    })
}

/// Takes `permits` permits, or begins to wait for them for at most `timeout_ns`.
///
/// If allowed, `*permit_out` holds them; else it is written as a permit that holds nothing. If pending, the wait has the
/// ticket `*ticket_out` and is to be polled after `*wake_after_ns_out`, unless that is TIDEGATE_NEVER_NS; `callback` is
/// called with `user_data`. Else it is not, and they are written as 0 and TIDEGATE_NEVER_NS.
///
/// Returns TIDEGATE_ALLOWED; TIDEGATE_PENDING; TIDEGATE_TIMED_OUT; TIDEGATE_EXCEEDS_CAPACITY; TIDEGATE_QUEUE_FULL;
/// TIDEGATE_CLOSED; TIDEGATE_ERROR_COST.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_acquire_async(
    limiter: *const tidegate_concurrency_limiter,
    permits: u64,
    timeout_ns: u64,
    callback: tidegate_wait_callback,
    user_data: *mut c_void,
    permit_out: *mut tidegate_permit,
    ticket_out: *mut u64,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        let listener = Listener::new(callback, user_data)?;
        let outputs = Outputs::new(ticket_out, wake_after_ns_out, checked(permit_out, "permit_out")?)?;
        // SAFETY: the header asks for places to write to.
        let note = |ticket, wake_after_ns| unsafe { outputs.note(ticket, wake_after_ns) };
        let listen = move |event| listener.tell(event, |permit: RawPermit| Some(permit.into()));
        let started = limiter.0.acquire_by_noted_ticket(permits, timeout(timeout_ns), note, listen)?;
        // SAFETY: the header asks for places to write to.
        Ok(unsafe { outputs.conclude(started, tidegate_permit::from) })
    })
}

/// Looks at a wait for tokens. If it is due or out of time by now, that ends it, and calls its callback as for a cancel.
///
/// `*wake_after_ns_out` receives after how long to poll again; TIDEGATE_NEVER_NS if not at all, as when it is over.
///
/// Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_poll(
    limiter: *const tidegate_rate_limiter,
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

/// Looks at a wait for permits. If it is due or out of time by now, that ends it, and calls its callback as for a cancel.
///
/// `*wake_after_ns_out` receives after how long to poll again; TIDEGATE_NEVER_NS if not at all, as when it is over.
///
/// Returns TIDEGATE_OK if it is over; TIDEGATE_PENDING; TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_poll(
    limiter: *const tidegate_concurrency_limiter,
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

/// # Safety
///
/// `wake_after_ns_out` is NULL or may be written.
pub(crate) unsafe fn poll(
    ask: impl FnOnce() -> Result<Option<u64>, Error>,
    wake_after_ns_out: *mut u64,
) -> Result<Status, Mistake> {
    let wake_after_ns_out = checked(wake_after_ns_out, "wake_after_ns_out")?;
    let wake_after_ns = ask()?;
    // SAFETY: as the caller vouches.
    unsafe { wake_after_ns_out.write(wake_after_ns.unwrap_or(TIDEGATE_NEVER_NS)) };
    Ok(if wake_after_ns.is_some() { Status::Pending } else { Status::Allowed })
}

/// Ends a wait for tokens. If it was not over, its callback is called with TIDEGATE_CANCELLED before this returns, or, if
/// this is called from within a callback, once that has returned.
///
/// Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over: its callback was called, or is being called on another thread;
/// TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_rate_limiter_cancel(limiter: *const tidegate_rate_limiter, ticket: u64) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        Ok(cancelled(limiter.0.cancel_ticket(Ticket::from_u64(ticket))?))
    })
}

/// Ends a wait for permits. If it was not over, its callback is called with TIDEGATE_CANCELLED before this returns, or, if
/// this is called from within a callback, once that has returned. Permits that were granted first are told to the callback,
/// and are to be released.
///
/// Returns TIDEGATE_OK; TIDEGATE_TOO_LATE if it was over: its callback was called, or is being called on another thread;
/// TIDEGATE_ERROR_TICKET if no wait of this limiter had the ticket.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_concurrency_limiter_cancel(
    limiter: *const tidegate_concurrency_limiter,
    ticket: u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let limiter = unsafe { object(limiter, "limiter") }?;
        Ok(cancelled(limiter.0.cancel_ticket(Ticket::from_u64(ticket))?))
    })
}

pub(crate) fn cancelled(won: bool) -> Status {
    if won { Status::Allowed } else { Status::TooLate }
}
