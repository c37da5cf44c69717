//! Turns "not yet" into "later": first come, first served, with deadlines, and to be left at any moment.
//!
//! A [`Queue`](queue) is a list of who waits, plain data under a lock. A [`Desk`] is the queue of one budget with the rules: who is
//! granted, when, and what becomes of those who can't be. What the budget is, it is told through [`Source`]. Who waits is told
//! by a [`Notice`], which is delivered when no lock is held and no other is being delivered on the thread.
//!
//! The budget's atomic word has a bit that says whether anybody waits. It is set in the same step that sees that there is nothing to
//! take, and only under the queue's lock; while it is set nobody takes but for the head of the queue. So the path of those
//! who needn't wait is one exchange, nobody is overtaken, and who gives back sees whether somebody is to be told.

mod blocking;
mod desk;
mod future;
mod notice;
mod park;
mod queue;
mod refusal;
mod ticket;

use crate::Error;
pub(crate) use blocking::Interrupt;
pub(crate) use desk::{Desk, Due, MAX_WAITERS, Request, Source};
pub(crate) use future::{Sleep, Wait};
pub use notice::Event;
pub use queue::Ticket;
pub use refusal::{AcquireError, Refusal};
pub use ticket::Started;

pub(crate) fn check_max_waiters(max_waiters: u64) -> Result<(), Error> {
    let allowed = || format!("0 to {MAX_WAITERS}");
    if max_waiters <= MAX_WAITERS { Ok(()) } else { Err(Error::option("max_waiters", max_waiters, allowed())) }
}

pub(crate) fn now_ns(source: &impl Source) -> u64 {
    source.clock().now_ns()
}
