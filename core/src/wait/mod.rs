//! Turns "not yet" into "later": first come, first served, with deadlines, and to be left at any moment.
//!
//! A [`queue`] is a list of who waits, plain data under a lock. The [`rules`] say who is granted, when, and what becomes of those who
//! can't be. What the budget is, they are told through [`Source`]. Who waits is told by a [`Notice`], which is delivered when no lock is held and no other is being delivered on the thread.
//!
//! The budget's atomic word has a bit that says whether anybody waits. It is set in the same step that sees that there is nothing to
//! take, and only under the queue's lock; while it is set nobody takes but for the head of the queue. So the path of those
//! who needn't wait is one exchange, nobody is overtaken, and who gives back sees whether somebody is to be told.

mod blocking;
mod desk;
mod future;
mod keyed_desk;
mod notice;
mod park;
mod queue;
mod refusal;
mod rules;
mod ticket;

use crate::Error;
pub(crate) use blocking::Interrupt;
pub(crate) use blocking::acquire;
pub(crate) use desk::{Desk, MAX_WAITERS};
#[cfg(feature = "gate")]
pub(crate) use future::Sleep;
pub(crate) use future::{Wait, boxed};
pub(crate) use keyed_desk::KeyedDesk;
pub use notice::Event;
#[cfg(feature = "gate")]
pub(crate) use park::block_on;
pub use queue::Ticket;
pub(crate) use queue::{Granted, Queue};
pub(crate) use refusal::Failure;
pub use refusal::{AcquireError, Refusal};
pub(crate) use rules::{
    Due, Request, Source, close, least_wait_ns, len, settle, settle_after, settle_all, settle_changed,
};
pub use ticket::Started;
pub(crate) use ticket::{cancel_ticket, poll_ticket, start, unknown};

pub(crate) fn check_max_waiters(max_waiters: u64) -> Result<(), Error> {
    let allowed = || format!("0 to {MAX_WAITERS}");
    if max_waiters <= MAX_WAITERS { Ok(()) } else { Err(Error::option("max_waiters", max_waiters, allowed())) }
}
