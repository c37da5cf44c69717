//! Telling who waits, without a lock held and one at a time.

use super::queue::{Granted, Outcome};
use crate::Status;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Waker;

/// What a listener is told of its wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// It is granted. The last event.
    Granted(T),
    /// It is over without a grant. The last event.
    Refused(Status),
    /// It may be due sooner than was said: poll it again.
    PollAgain,
}

impl<T> Event<T> {
    pub(crate) fn map<U>(self, granted: impl FnOnce(T) -> U) -> Event<U> {
        match self {
            Self::Granted(value) => Event::Granted(granted(value)),
            Self::Refused(status) => Event::Refused(status),
            Self::PollAgain => Event::PollAgain,
        }
    }
}

/// Called with each event of a wait, on whichever thread brings it about; never from within another listener's call on the
/// same thread, and with no lock held.
pub(crate) type Listener = Arc<dyn Fn(Event<Granted>) + Send + Sync>;

/// How one that waits is told.
pub(crate) enum Notify {
    /// Woken, to fetch the outcome.
    Waker(Waker),
    /// Called with it.
    Listener(Listener),
}

impl Notify {
    pub(crate) fn poll_again(&self) -> Notice {
        match self {
            Self::Waker(waker) => Notice::Wake(waker.clone()),
            Self::Listener(listener) => Notice::Call(listener.clone(), Event::PollAgain),
        }
    }

    pub(crate) fn settled(self, outcome: Outcome) -> Notice {
        match (self, outcome) {
            (Self::Waker(waker), _) => Notice::Wake(waker),
            (Self::Listener(listener), Outcome::Granted(granted)) => Notice::Call(listener, Event::Granted(granted)),
            (Self::Listener(listener), Outcome::Refused(status)) => Notice::Call(listener, Event::Refused(status)),
        }
    }
}

pub(crate) enum Notice {
    Wake(Waker),
    Call(Listener, Event<Granted>),
}

impl Notice {
    fn deliver(self) {
        match self {
            Self::Wake(waker) => waker.wake(),
            Self::Call(listener, event) => listener(event),
        }
    }
}

/// Those to deliver once the lock is let go. Most often there is one.
#[derive(Default)]
pub(crate) struct Notices {
    first: Option<Notice>,
    rest: Vec<Notice>,
}

#[cfg(not(loom))]
thread_local! {
    static DELIVERING: Cell<bool> = const { Cell::new(false) };
    /// What came up while another was being delivered.
    static LATER: RefCell<VecDeque<Notice>> = const { RefCell::new(VecDeque::new()) };
}

// The model checker's threads share one thread of the system.
#[cfg(loom)]
loom::thread_local! {
    static DELIVERING: Cell<bool> = Cell::new(false);
    static LATER: RefCell<VecDeque<Notice>> = RefCell::new(VecDeque::new());
}

/// Nothing once the thread is being torn down: then nothing is delivered any more from within a delivery.
fn later<T>(act: impl FnOnce(&mut VecDeque<Notice>) -> T) -> Option<T> {
    LATER.try_with(|queue| act(&mut queue.borrow_mut())).ok()
}

impl Notices {
    pub(crate) fn push(&mut self, notice: Notice) {
        if self.first.is_none() {
            self.first = Some(notice);
        } else {
            self.rest.push(notice);
        }
    }

    /// With no lock held. If this is called from within a delivery, that one goes on with these when it is done: so a listener
    /// that releases, which tells a listener that releases, needs no more stack than one.
    pub(crate) fn deliver(self) {
        let Some(first) = self.first else { return };
        if DELIVERING.with(Cell::get) {
            later(|queue| queue.extend(std::iter::once(first).chain(self.rest)));
            return;
        }
        DELIVERING.with(|delivering| delivering.set(true));
        let mut panicked: Option<Box<dyn Any + Send>> = None;
        let mut own = self.rest.into_iter();
        let mut next = Some(first);
        while let Some(notice) = next {
            // Whoever panics keeps nobody else from being told.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| notice.deliver())) {
                panicked.get_or_insert(panic);
            }
            next = own.next().or_else(|| later(VecDeque::pop_front).flatten());
        }
        DELIVERING.with(|delivering| delivering.set(false));
        if let Some(panic) = panicked {
            resume_unwind(panic);
        }
    }
}
