//! Waiting: what a wait comes to is put into the inbox of its environment, which JavaScript empties when it next can.
//!
//! A wait is known by a number that JavaScript chose. Its listener may be called on any thread, another worker's too, when
//! that one gives back what both share. On the environment's own thread a microtask is queued, so that promises settle before
//! anything else happens; from another thread Node is woken. Neither keeps the process alive.

use crate::function::{Answer, Call, Method};
use crate::handle::Handle;
use napi::bindgen_prelude::{Env, Function, JsValue};
use napi::{Result, check_status, sys};
use napi_derive::napi;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tidegate::{
    ConcurrencyLimiter, Error, Event, KeyedConcurrencyLimiter, KeyedRateLimiter, NEVER_NS, RateLimiter, Started,
    Status, Ticket,
};

/// What a wait comes to.
pub(crate) struct Told {
    pub(crate) id: u64,
    pub(crate) status: Status,
    /// Of a grant: what it takes to give it back, which each kind of limiter has in its own way.
    pub(crate) grant: [u64; 3],
}

impl Told {
    pub(crate) fn of<T>(id: u64, event: Event<T>, grant: impl FnOnce(T) -> [u64; 3]) -> Self {
        let (status, grant) = match event {
            Event::Granted(granted) => (Status::Allowed, grant(granted)),
            Event::Refused(status) => (status, [0; 3]),
            Event::PollAgain => (Status::PollAgain, [0; 3]),
        };
        Self { id, status, grant }
    }
}

/// Of one environment, shared with the listeners of its waits.
pub(crate) struct Inbox {
    thread: ThreadId,
    state: Mutex<State>,
}

struct State {
    told: VecDeque<Told>,
    /// Whether JavaScript was told to empty it, and hasn't begun to.
    notified: bool,
    /// `None` once the environment ends.
    door: Option<Door>,
}

/// How to have JavaScript empty the inbox.
#[derive(Clone, Copy)]
struct Door {
    env: sys::napi_env,
    /// A reference to what queues a microtask that does. For the environment's own thread.
    queue: sys::napi_ref,
    /// Calls what does. For any thread.
    wake: sys::napi_threadsafe_function,
}

// SAFETY: `env` and `queue` are used on the environment's own thread only, and `wake` is made for any.
unsafe impl Send for Door {}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, told: Told) {
        let mut state = self.lock();
        let Some(door) = state.door else { return };
        state.told.push_back(told);
        if std::mem::replace(&mut state.notified, true) {
            return;
        }
        if thread::current().id() == self.thread {
            // JavaScript is called: not under a lock.
            drop(state);
            // SAFETY: this is the environment's thread, and its door is closed before it ends.
            if unsafe { door.queue() } {
                return;
            }
            state = self.lock();
        }
        if state.door.is_some() {
            // SAFETY: the function goes only after the door was closed, for which the lock is needed.
            unsafe {
                sys::napi_call_threadsafe_function(
                    door.wake,
                    ptr::null_mut(),
                    sys::ThreadsafeFunctionCallMode::nonblocking,
                )
            };
        }
    }
}

impl Door {
    /// Queues a microtask; `false` if that can't be now.
    ///
    /// # Safety
    ///
    /// On the environment's own thread, while it lives.
    unsafe fn queue(self) -> bool {
        let (mut scope, mut queue, mut this) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: all are of this environment. A call that the stack has no room for leaves an exception behind, which is taken away.
        unsafe {
            if sys::napi_open_handle_scope(self.env, &raw mut scope) != sys::Status::napi_ok {
                return false;
            }
            sys::napi_get_reference_value(self.env, self.queue, &raw mut queue);
            sys::napi_get_undefined(self.env, &raw mut this);
            let status = sys::napi_call_function(self.env, this, queue, 0, ptr::null(), ptr::null_mut());
            if status == sys::Status::napi_pending_exception {
                sys::napi_get_and_clear_last_exception(self.env, &raw mut this);
            }
            sys::napi_close_handle_scope(self.env, scope);
            status == sys::Status::napi_ok
        }
    }
}

/// The waits of one environment.
pub struct Waits {
    pub(crate) inbox: Arc<Inbox>,
    pending: RefCell<HashMap<u64, Pending>>,
}

/// What has a queue, or a queue for each key.
pub(crate) trait Queue {
    fn poll_ticket(&self, ticket: Ticket) -> std::result::Result<Option<u64>, Error>;
    fn cancel_ticket(&self, ticket: Ticket) -> std::result::Result<bool, Error>;
}

macro_rules! queues {
    ($($limiter:ty),*) => {$(
        impl Queue for $limiter {
            fn poll_ticket(&self, ticket: Ticket) -> std::result::Result<Option<u64>, Error> {
                self.poll_ticket(ticket)
            }

            fn cancel_ticket(&self, ticket: Ticket) -> std::result::Result<bool, Error> {
                self.cancel_ticket(ticket)
            }
        }
    )*};
}

// By what each has itself, of the same names.
queues!(RateLimiter, KeyedRateLimiter, ConcurrencyLimiter, KeyedConcurrencyLimiter);

/// A wait that is under way: in whose queue, and what the core calls it.
#[derive(Clone)]
struct Pending {
    queue: Arc<dyn Queue>,
    ticket: Ticket,
}

impl Pending {
    /// `None` if it is over, and told.
    fn poll(&self) -> Option<u64> {
        self.queue.poll_ticket(self.ticket).unwrap_or(None)
    }

    /// Tells the listener, unless it has been told something else before.
    fn cancel(&self) {
        // An error, or that it is too late: it was told.
        let _ = self.queue.cancel_ticket(self.ticket);
    }
}

impl Waits {
    /// What `acquire` returns: nothing is said of what was granted, which differs.
    pub(crate) fn begun<T>(
        &self,
        call: &Call,
        id: u64,
        started: Started<T>,
        queue: &Arc<impl Queue + 'static>,
        granted: impl FnOnce(T) -> Answer,
    ) -> Answer {
        match started {
            Started::Granted(taken) => granted(taken),
            Started::Refused(status) => call.return_number(f64::from(status as i32)),
            Started::Pending { ticket, wake_after_ns } => {
                let queue: Arc<dyn Queue> = Arc::clone(queue) as _;
                self.pending.borrow_mut().insert(id, Pending { queue, ticket });
                call.return_number(-ms_of(wake_after_ns))
            }
        }
    }

    /// A copy: listeners are called while the table is not in use.
    fn get(&self, id: u64) -> Option<Pending> {
        self.pending.borrow().get(&id).cloned()
    }

    fn close(&self) {
        {
            let mut state = self.inbox.lock();
            state.door = None;
            state.told.clear();
        }
        let pending = std::mem::take(&mut *self.pending.borrow_mut());
        pending.values().for_each(Pending::cancel);
    }
}

/// Milliseconds, `Infinity` for never.
fn ms_of(ns: u64) -> f64 {
    if ns == NEVER_NS { f64::INFINITY } else { ns as f64 / 1e6 }
}

/// Nanoseconds of JavaScript's, `Infinity` for ever.
pub(crate) fn timeout_of(ns: f64) -> Option<Duration> {
    ns.is_finite().then(|| Duration::from_nanos(ns as u64))
}

const NAME: &CStr = c"tidegate waits";

/// Once for each environment. `empty` empties the inbox, `queue` queues a microtask that does.
#[napi(catch_unwind)]
pub fn waits(env: Env, empty: Function<'_, (), ()>, queue: Function<'_, (), ()>) -> Result<Handle<Rc<Waits>>> {
    let raw = env.raw();
    let (mut name, mut reference, mut wake) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: `env` and the functions are of the call that is under way; what is made lives until the environment ends.
    let status = unsafe {
        sys::napi_create_string_utf8(raw, NAME.as_ptr(), -1, &raw mut name);
        sys::napi_create_reference(raw, queue.raw(), 1, &raw mut reference);
        sys::napi_create_threadsafe_function(
            raw,
            empty.raw(),
            ptr::null_mut(),
            name,
            0,
            1,
            ptr::null_mut(),
            None,
            ptr::null_mut(),
            None,
            &raw mut wake,
        )
    };
    check_status!(status, "no other thread can wake this one")?;
    let door = Door { env: raw, queue: reference, wake };
    let state = State { told: VecDeque::new(), notified: false, door: Some(door) };
    let inbox = Arc::new(Inbox { thread: thread::current().id(), state: Mutex::new(state) });
    let waits = Rc::new(Waits { inbox, pending: RefCell::default() });
    // SAFETY: `wake` was just made. The hook gets its count of `waits` back, once. Of two hooks the later one runs first: it closes the
    // door before Node deletes `wake`.
    let status = unsafe {
        sys::napi_unref_threadsafe_function(raw, wake);
        sys::napi_add_env_cleanup_hook(raw, Some(end), Rc::into_raw(waits.clone()).cast_mut().cast())
    };
    check_status!(status, "the end of this environment would go unnoticed")?;
    Ok(Handle::new(waits))
}

/// The environment ends.
unsafe extern "C" fn end(waits: *mut c_void) {
    // SAFETY: `waits` gave it to the hook, which runs once and on the thread that it was made on.
    let waits = unsafe { Rc::from_raw(waits.cast::<Waits>()) };
    waits.close();
}

/// (waits, figures) -> the number of the next wait that something is told of, or undefined. The ArrayBuffer gets a double, the status,
/// and three 64-bit integers, of a grant.
pub(crate) struct Next;

impl Method for Next {
    type On = Rc<Waits>;
    const NAME: &'static CStr = c"waitNext";
    const ARGUMENTS: usize = 2;

    fn call(waits: &Rc<Waits>, call: &Call) -> Answer {
        let told = {
            let mut state = waits.inbox.lock();
            let told = state.told.pop_front();
            state.notified = told.is_some();
            told
        };
        let Some(Told { id, status, grant: [first, second, third] }) = told else { return Call::return_undefined() };
        if status != Status::PollAgain {
            let over = waits.pending.borrow_mut().remove(&id);
            drop(over);
        }
        call.write(1, &[f64::from(status as i32).to_bits(), first, second, third])?;
        call.return_number(id as f64)
    }
}

/// (waits, id) -> after how many ms to poll again; undefined if the wait is over, of which the inbox tells
pub(crate) struct Poll;

impl Method for Poll {
    type On = Rc<Waits>;
    const NAME: &'static CStr = c"waitPoll";
    const ARGUMENTS: usize = 2;

    fn call(waits: &Rc<Waits>, call: &Call) -> Answer {
        match waits.get(call.whole(1)?).and_then(|pending| pending.poll()) {
            Some(wake_after_ns) => call.return_number(ms_of(wake_after_ns)),
            None => Call::return_undefined(),
        }
    }
}

/// (waits, id); what became of the wait, the inbox tells
pub(crate) struct Cancel;

impl Method for Cancel {
    type On = Rc<Waits>;
    const NAME: &'static CStr = c"waitCancel";
    const ARGUMENTS: usize = 2;

    fn call(waits: &Rc<Waits>, call: &Call) -> Answer {
        if let Some(pending) = waits.get(call.whole(1)?) {
            pending.cancel();
        }
        Call::return_undefined()
    }
}
