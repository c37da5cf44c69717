//! Waiting as a future.

use super::notice::Notify;
use super::queue::{Outcome, Ticket};
use super::refusal::Failure;
use super::rules::{self, Entered, Left, Polled, Request, Source};
use crate::{NEVER_NS, Status};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Sleeps for so long, by the timer of whichever runtime.
pub(crate) type Sleep = Box<dyn FnMut(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

#[inline]
pub(crate) fn boxed<F: Future<Output = ()> + Send + 'static>(
    mut sleep: impl FnMut(Duration) -> F + Send + 'static,
) -> Option<Sleep> {
    Some(Box::new(move |duration| Box::pin(sleep(duration))))
}

/// The state of a wait that is polled, for the futures of the limiters. It must be [left](Self::leave) before it is dropped.
pub(crate) struct Wait {
    request: Request,
    /// When it was first polled, if it was.
    began_ns: Option<u64>,
    ticket: Option<Ticket>,
    sleep: Option<Sleep>,
    sleeping: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Wait {
    #[inline]
    pub(crate) fn new(request: Request, sleep: Option<Sleep>) -> Self {
        Self { request, began_ns: None, ticket: None, sleep, sleeping: None }
    }

    #[inline]
    pub(crate) fn request(&self) -> Request {
        self.request
    }

    /// Whether it was never polled.
    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        self.began_ns.is_none()
    }

    pub(crate) fn poll(&mut self, source: &impl Source, context: &mut Context<'_>) -> Poll<Result<u64, Failure>> {
        let began_ns = *self.began_ns.get_or_insert_with(|| source.clock().now_ns());
        let waited = self.look(source, context);
        waited.map_err(|status| self.request.failed(source, status, began_ns))
    }

    fn look(&mut self, source: &impl Source, context: &mut Context<'_>) -> Poll<Result<u64, Status>> {
        loop {
            let wake_after_ns = match self.ticket {
                None => match rules::enter(source, self.request, Notify::Waker(context.waker().clone())) {
                    Entered::Granted(at_ns) => return Poll::Ready(Ok(at_ns)),
                    Entered::Refused(status) => return Poll::Ready(Err(status)),
                    Entered::Pending(ticket, wake_after_ns) => {
                        self.ticket = Some(ticket);
                        wake_after_ns
                    }
                },
                Some(ticket) => match rules::poll(source, ticket, Some(context.waker())) {
                    Polled::Settled(outcome) => {
                        self.ticket = None;
                        return Poll::Ready(match outcome {
                            Outcome::Granted(granted) => Ok(granted.at_ns),
                            Outcome::Refused(status) => Err(status),
                        });
                    }
                    Polled::Pending(wake_after_ns) => wake_after_ns,
                    // This is the child of a fork.
                    Polled::Over | Polled::Unknown => return Poll::Ready(Err(Status::Forked)),
                },
            };
            if wake_after_ns == NEVER_NS || !source.clock().runs_by_itself() {
                return Poll::Pending;
            }
            let Some(sleep) = &mut self.sleep else { return Poll::Pending };
            let mut sleeping = sleep(Duration::from_nanos(wake_after_ns));
            if sleeping.as_mut().poll(context).is_pending() {
                self.sleeping = Some(sleeping);
                return Poll::Pending;
            }
        }
    }

    #[inline]
    pub(crate) fn leave(&mut self, source: &impl Source) {
        if let Some(ticket) = self.ticket.take() {
            self.give_up(source, ticket);
        }
    }

    #[cold]
    fn give_up(&self, source: &impl Source, ticket: Ticket) {
        if let Left::Settled(Outcome::Granted(granted)) = rules::leave(source, ticket) {
            source.give_back(self.request.cost, granted);
        }
    }
}
