//! Waiting by ticket, for runtimes of other languages.

use super::notice::{Event, Notify};
use super::queue::{Granted, Ticket};
use super::rules::{self, Entered, Left, Polled, Request, Source};
use crate::{Error, Status};
use std::sync::Arc;

/// What came of asking, by [`acquire_by_ticket`](crate::ConcurrencyLimiter::acquire_by_ticket).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started<T> {
    /// Taken at once.
    Granted(T),
    /// Refused at once.
    Refused(Status),
    /// The listener will be told.
    Pending {
        /// Names the wait.
        ticket: Ticket,
        /// Poll it after so many ns, unless it is over by then; [`NEVER_NS`](crate::NEVER_NS): never.
        wake_after_ns: u64,
    },
}

impl<T> Started<T> {
    /// For who needs nothing of what was taken.
    pub(crate) fn without_grant(self) -> Started<()> {
        match self {
            Self::Granted(_) => Started::Granted(()),
            Self::Refused(status) => Started::Refused(status),
            Self::Pending { ticket, wake_after_ns } => Started::Pending { ticket, wake_after_ns },
        }
    }
}

/// `granted` makes what the listener gets, from what was taken; `note` is as for
/// [`enter_noting`](rules::enter_noting).
pub(crate) fn start<T>(
    source: &impl Source,
    request: Request,
    granted: impl Fn(Granted) -> T + Send + Sync + Clone + 'static,
    note: impl FnOnce(Ticket, u64),
    listener: impl Fn(Event<T>) + Send + Sync + 'static,
) -> Started<T> {
    let later = granted.clone();
    let listener = Arc::new(move |event: Event<Granted>| listener(event.map(&later)));
    match rules::enter_noting(source, request, Notify::Listener(listener), note) {
        // It goes to the caller, who wants it: nothing needs to be known of what voids it.
        Entered::Granted(at_ns) => Started::Granted(granted(Granted { at_ns, void_count: 0 })),
        Entered::Refused(status) => Started::Refused(status),
        Entered::Pending(ticket, wake_after_ns) => Started::Pending { ticket, wake_after_ns },
    }
}

pub(crate) fn poll_ticket(source: &impl Source, ticket: Ticket) -> Result<Option<u64>, Error> {
    match rules::poll(source, ticket, None) {
        Polled::Pending(wake_after_ns) => Ok(Some(wake_after_ns)),
        Polled::Settled(_) | Polled::Over => Ok(None),
        Polled::Unknown => Err(unknown(ticket)),
    }
}

pub(crate) fn cancel_ticket(source: &impl Source, ticket: Ticket) -> Result<bool, Error> {
    match rules::leave(source, ticket) {
        Left::Won => Ok(true),
        Left::Settled(_) | Left::Over => Ok(false),
        Left::Unknown => Err(unknown(ticket)),
    }
}

#[cold]
pub(crate) fn unknown(ticket: Ticket) -> Error {
    Error::new(Status::InvalidTicket, "ticket", ticket.to_u64(), "a ticket of a wait of this limiter")
}
