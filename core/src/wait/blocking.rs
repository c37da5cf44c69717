//! Waiting on the calling thread.

use super::notice::Notify;
use super::park::block_on;
use super::queue::Outcome;
use super::refusal::Failure;
use super::rules::{self, Entered, Polled, Request, Source};
use crate::{NEVER_NS, Status};
use std::time::Duration;

/// Asked now and then while a thread waits; `true` ends the wait as [`Status::Cancelled`].
pub(crate) struct Interrupt<'a> {
    pub(crate) every: Duration,
    pub(crate) is_interrupted: &'a mut dyn FnMut() -> bool,
}

/// Takes, or waits for its turn; gives the time as of which it was taken.
#[cold]
pub(crate) fn acquire(
    source: &impl Source,
    request: Request,
    interrupt: Option<Interrupt<'_>>,
) -> Result<u64, Failure> {
    let began_ns = source.clock().now_ns();
    wait(source, request, interrupt).map_err(|status| request.failed(source, status, began_ns))
}

fn wait(source: &impl Source, request: Request, mut interrupt: Option<Interrupt<'_>>) -> Result<u64, Status> {
    let mut ticket = None;
    block_on(|waker| {
        let wake_after_ns = match ticket {
            None => match rules::enter(source, request, Notify::Waker(waker.clone())) {
                Entered::Granted(at_ns) => return Ok(Ok(at_ns)),
                Entered::Refused(status) => return Ok(Err(status)),
                Entered::Pending(pending, wake_after_ns) => {
                    ticket = Some(pending);
                    wake_after_ns
                }
            },
            Some(ticket) => match rules::poll(source, ticket, Some(waker)) {
                Polled::Settled(Outcome::Granted(granted)) => return Ok(Ok(granted.at_ns)),
                Polled::Settled(Outcome::Refused(status)) => return Ok(Err(status)),
                Polled::Pending(wake_after_ns) => wake_after_ns,
                // The thread forked while it waited, and this is the child.
                Polled::Over | Polled::Unknown => return Ok(Err(Status::Forked)),
            },
        };
        let own =
            (wake_after_ns != NEVER_NS && source.clock().runs_by_itself()).then(|| Duration::from_nanos(wake_after_ns));
        let Some(interrupt) = &mut interrupt else { return Err(own) };
        if (interrupt.is_interrupted)() {
            let left = ticket.map(|ticket| rules::leave(source, ticket));
            if let Some(super::rules::Left::Settled(Outcome::Granted(granted))) = left {
                source.give_back(request.cost, granted);
            }
            return Ok(Err(Status::Cancelled));
        }
        Err(Some(own.map_or(interrupt.every, |own| own.min(interrupt.every))))
    })
}
