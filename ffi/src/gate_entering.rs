//! # Entering without a thread
//!
//! tidegate_gate_enter() for event loops and the runtimes of other languages: a request is admitted or refused at once, or it
//! waits as an object that is polled when a callback, or the host's timer, says so.
//!
//!     void wake(void *user_data) {
//!         loop_call_soon(poll_request, user_data);
//!     }
//!
//!     void poll_request(struct request *request) {
//!         uint64_t wake_after_ns;
//!         int32_t status = tidegate_entering_poll(request->entering, &request->entry, &request->refusal, &wake_after_ns);
//!         if (status != TIDEGATE_PENDING) {
//!             tidegate_entering_free(request->entering);
//!             run_or_refuse(request, status);
//!         } else if (wake_after_ns != TIDEGATE_NEVER_NS) {
//!             loop_call_later(wake_after_ns, poll_request, request);
//!         }
//!     }
//!
//! A request waits for the permits of its rules first, then for tokens, one rule after the other in an order that is the
//! same for all, and then asks the rules that don't let it wait. Meanwhile it holds what it got by waiting, and nothing
//! else. On a manual clock moving the clock calls back, and no timer is needed.
//!
//! The callback:
//!
//! - It says nothing but "poll again", at most once for each TIDEGATE_PENDING, and never from within the call that returns
//!   that. A poll that comes sooner or more often does no harm.
//! - It runs on any thread: the one whose release, poll, cancel or moved clock let the request go on. It may call any
//!   function but those that keep their thread waiting, polls and frees of the same request included. Calls for one request
//!   come one after the other. It must neither throw nor jump out.
//! - It may come before the function that began the wait has returned to its caller; all outputs are written by then.
//! - It does not come once tidegate_entering_free() has returned, nor is one still under way then, unless that was called
//!   from within it: so `user_data` may go then. For that, the free waits for a callback that is running on another
//!   thread: hold no lock there that the callback takes.

use crate::border::{Mistake, checked, guard, guard_or, object};
use crate::gate::{Outputs, attributes, tidegate_attribute};
use crate::object::{tidegate_entry, tidegate_gate, tidegate_refusal};
use crate::status::TIDEGATE_NEVER_NS;
use crate::waiting::timeout;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Wake, Waker};
use std::thread::ThreadId;
use tidegate_core::Status;
use tidegate_core::gate::{Begun, Entering, Entry, Progress, Refusal};

/// What is called when a request that waits is to be polled. since 1
pub type tidegate_wake_callback = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A request that waits to be admitted. Belongs to the caller until tidegate_entering_free(). since 1
pub struct tidegate_entering {
    /// Held while it is polled; none once it is over.
    entering: Mutex<Option<Box<Entering>>>,
    bell: Arc<Bell>,
    process: u32,
}

/// Calls the host back.
struct Bell {
    callback: unsafe extern "C" fn(*mut c_void),
    user_data: *mut c_void,
    state: Mutex<BellState>,
    /// A callback has returned.
    returned: Condvar,
}

#[derive(Default)]
struct BellState {
    /// The host was told TIDEGATE_PENDING, and was not called since.
    is_armed: bool,
    /// Something happened since the last poll began.
    is_rung: bool,
    /// Who runs the callback.
    caller: Option<ThreadId>,
    is_freed: bool,
}

// SAFETY: the header says that callbacks run on any thread; the library only hands `user_data` through.
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Bell {
    fn state(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A poll begins: what happened before it, it sees.
    fn disarm(&self) {
        let mut state = self.state();
        state.is_armed = false;
        state.is_rung = false;
    }

    /// The host is about to be told TIDEGATE_PENDING; not if something happened since.
    fn arm(&self) -> bool {
        let mut state = self.state();
        state.is_armed = !state.is_rung;
        state.is_armed
    }

    /// No call begins from now on, and none is under way but on this thread.
    fn free(&self) {
        let mut state = self.state();
        state.is_freed = true;
        while state.caller.is_some_and(|caller| caller != std::thread::current().id()) {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let mut state = self.state();
        state.is_rung = true;
        // Who calls looks again when that has returned.
        if state.caller.is_some() {
            return;
        }
        while state.is_armed && state.is_rung && !state.is_freed {
            state.is_armed = false;
            state.is_rung = false;
            state.caller = Some(std::thread::current().id());
            drop(state);
            // SAFETY: the header asks for a function that may be called so on any thread, and that does not unwind.
            unsafe { (self.callback)(self.user_data) };
            state = self.state();
            state.caller = None;
        }
        drop(state);
        self.returned.notify_all();
    }
}

/// What came of a poll.
enum Polled {
    Over(Result<Box<Entry>, Box<Refusal>>),
    Pending,
    /// It was over before.
    TooLate,
}

impl tidegate_entering {
    /// `tell` writes how long the host may sleep. It is called before the callback may come.
    fn poll(&self, tell: impl Fn(u64)) -> Polled {
        let waker = Waker::from(Arc::clone(&self.bell));
        loop {
            let mut entering = match self.entering.try_lock() {
                Ok(entering) => entering,
                Err(TryLockError::Poisoned(entering)) => entering.into_inner(),
                // Another thread's poll is about to end. What that has not seen is for the next one.
                Err(TryLockError::WouldBlock) => {
                    tell(1);
                    return Polled::Pending;
                }
            };
            let Some(waits) = &mut *entering else { return Polled::TooLate };
            self.bell.disarm();
            let entered = match waits.poll(&waker) {
                Progress::Entered(entry) => Ok(entry),
                Progress::Refused(refusal) => Err(refusal),
                Progress::Pending { wake_after_ns } => {
                    tell(wake_after_ns);
                    // The callback may poll.
                    drop(entering);
                    if self.bell.arm() {
                        return Polled::Pending;
                    }
                    continue;
                }
            };
            *entering = None;
            return Polled::Over(entered);
        }
    }
}

/// tidegate_gate_enter() that doesn't keep the thread waiting.
///
/// If the request has to wait, this returns TIDEGATE_PENDING: `*entering_out` receives the waiting request, which is to be
/// polled when `callback` is called with `user_data`, and after `*wake_after_ns_out`, unless that is TIDEGATE_NEVER_NS;
/// `*entry_out` and `*refusal_out` receive NULL. Else it is over, the callback is never called, and `*entering_out` receives NULL.
///
/// Returns TIDEGATE_PENDING, and all that tidegate_gate_enter() does.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_gate_enter_async(
    gate: *const tidegate_gate,
    attributes: *const tidegate_attribute,
    count: usize,
    cost: u64,
    timeout_ns: u64,
    callback: tidegate_wake_callback,
    user_data: *mut c_void,
    entry_out: *mut *mut tidegate_entry,
    refusal_out: *mut *mut tidegate_refusal,
    entering_out: *mut *mut tidegate_entering,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        // SAFETY: the header asks for a live handle.
        let gate = unsafe { object(gate, "gate") }?;
        let allowed = "a function";
        let callback = callback.ok_or_else(|| Mistake::new(Status::NullPointer, "callback", "NULL", allowed))?;
        let outputs = Outputs::new(entry_out, refusal_out)?;
        let entering_out = checked(entering_out, "entering_out")?;
        let wake_after_ns_out = checked(wake_after_ns_out, "wake_after_ns_out")?;
        // SAFETY: the header asks for so many attributes.
        let attributes = unsafe { self::attributes(attributes, count) }?;
        // SAFETY: the header asks for places to write to.
        let tell = |entering: *const tidegate_entering, wake_after_ns| unsafe {
            entering_out.write(entering.cast_mut());
            wake_after_ns_out.write(wake_after_ns);
        };
        let entered = match gate.0.begin(&attributes, cost, timeout(timeout_ns))? {
            Begun::Entered(entry) => Ok(entry),
            Begun::Refused(refusal) => Err(refusal),
            Begun::Waits(waits) => {
                let state = Mutex::default();
                let bell = Arc::new(Bell { callback, user_data, state, returned: Condvar::new() });
                let entering = Mutex::new(Some(waits));
                let entering = Arc::new(tidegate_entering { entering, bell, process: std::process::id() });
                let handle = Arc::as_ptr(&entering);
                // The caller's share, which it may give up before this returns.
                std::mem::forget(Arc::clone(&entering));
                let polled = entering.poll(|wake_after_ns| {
                    // SAFETY: the header asks for places to write to.
                    unsafe { outputs.write_none() };
                    tell(handle, wake_after_ns);
                });
                let Polled::Over(entered) = polled else { return Ok(Status::Pending) };
                // SAFETY: the caller's share; it was told of none.
                unsafe { Arc::decrement_strong_count(handle) };
                entered
            }
        };
        // SAFETY: the header asks for places to write to.
        let status = unsafe { outputs.write(entered) };
        if status as i32 >= 0 {
            tell(null_mut(), TIDEGATE_NEVER_NS);
        }
        Ok(status)
    })
}

/// Goes on with a request as far as it can without waiting. Of several threads that poll one at once, one does.
///
/// If TIDEGATE_PENDING, it is to be polled again, as after tidegate_gate_enter_async(). Else it is over: `*entry_out` or
/// `*refusal_out` receives what tidegate_gate_enter() tells, and `entering` wants tidegate_entering_free().
///
/// Returns TIDEGATE_PENDING; all that tidegate_gate_enter() does; TIDEGATE_TOO_LATE if an earlier poll told that it is over;
/// TIDEGATE_ERROR_FORKED in the child of a fork: the parent waits.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_entering_poll(
    entering: *const tidegate_entering,
    entry_out: *mut *mut tidegate_entry,
    refusal_out: *mut *mut tidegate_refusal,
    wake_after_ns_out: *mut u64,
) -> i32 {
    guard(|| {
        let handle = checked(entering.cast_mut(), "entering")?;
        let outputs = Outputs::new(entry_out, refusal_out)?;
        let wake_after_ns_out = checked(wake_after_ns_out, "wake_after_ns_out")?;
        // SAFETY: the header asks for a live handle. A share of our own, since a callback on another thread may free it.
        let entering = unsafe {
            Arc::increment_strong_count(handle);
            Arc::from_raw(handle)
        };
        if entering.process != std::process::id() {
            let allowed = "one of this process";
            return Err(Mistake::new(Status::Forked, "entering", "one of the parent process", allowed));
        }
        // SAFETY: the header asks for places to write to.
        let tell = |wake_after_ns| unsafe {
            outputs.write_none();
            wake_after_ns_out.write(wake_after_ns);
        };
        let entered = match entering.poll(tell) {
            Polled::Over(entered) => entered,
            Polled::Pending => return Ok(Status::Pending),
            Polled::TooLate => {
                tell(TIDEGATE_NEVER_NS);
                return Ok(Status::TooLate);
            }
        };
        // SAFETY: the header asks for places to write to.
        let status = unsafe { outputs.write(entered) };
        if status as i32 >= 0 {
            // SAFETY: as above.
            unsafe { wake_after_ns_out.write(TIDEGATE_NEVER_NS) };
        }
        Ok(status)
    })
}

/// Takes the waiting request away. If it was not over, that ends the wait, and all that it had got is given back. An entry
/// or refusal that a poll handed out stays the caller's. NULL is fine.
///
/// Once this has returned the callback does not come any more: see above.
///
/// since 1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_entering_free(entering: *mut tidegate_entering) {
    guard_or((), || {
        let Ok(handle) = checked(entering, "entering") else { return };
        // SAFETY: the header asks for a live handle that the caller gives up.
        let entering = unsafe { Arc::from_raw(handle.cast_const()) };
        if entering.process != std::process::id() {
            // A thread of the parent's may have been at work with it.
            std::mem::forget(entering);
            return;
        }
        entering.bell.free();
        let waits = entering.entering.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(waits);
    });
}
