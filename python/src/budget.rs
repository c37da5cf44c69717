//! What can be waited for: the permits or the tokens of a limiter.

use crate::error::{Forked, from_core};
use crate::permit::Permit;
use crate::refusal::{self, Ended};
use crate::time::seconds_from_ns;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use tidegate::{
    AcquireError, Clock, ConcurrencyLimiter, Error, Event, RateLimiter, RawPermit, Started, Status, Ticket,
};

/// A limiter that can be waited for, and its clock.
#[derive(Clone)]
pub struct Budget {
    lender: Lender,
    pub clock: Clock,
    /// Whether the clock is the machine's, so that it makes sense to sleep until a time.
    pub real_time: bool,
}

#[derive(Clone)]
enum Lender {
    Permits(Arc<ConcurrencyLimiter>),
    Tokens(Arc<RateLimiter>),
}

/// What was taken.
#[derive(Clone, Copy)]
pub enum Grant {
    Permits(RawPermit),
    /// With what a refund takes, if a task waited for them.
    Tokens(Option<tidegate::Grant>),
}

/// Asked now and then while a thread waits: whether to stop.
pub struct Interrupt<'a> {
    pub every: Duration,
    pub is_interrupted: &'a mut dyn FnMut() -> bool,
}

impl Budget {
    pub fn of_permits(limiter: &Arc<ConcurrencyLimiter>, clock: &Clock, real_time: bool) -> Self {
        Self { lender: Lender::Permits(Arc::clone(limiter)), clock: clock.clone(), real_time }
    }

    pub fn of_tokens(limiter: &Arc<RateLimiter>, clock: &Clock, real_time: bool) -> Self {
        Self { lender: Lender::Tokens(Arc::clone(limiter)), clock: clock.clone(), real_time }
    }

    pub fn take_if_free(&self, number: u64) -> Result<Option<Grant>, Error> {
        match &self.lender {
            Lender::Permits(limiter) => Ok(limiter.take_if_free(number)?.map(Grant::Permits)),
            Lender::Tokens(limiter) => Ok(limiter.take_if_free(number)?.then_some(Grant::Tokens(None))),
        }
    }

    /// Waits on this thread, which should not be attached.
    pub fn acquire(
        &self,
        number: u64,
        timeout: Option<Duration>,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<Grant, AcquireError> {
        match (&self.lender, interrupt) {
            (Lender::Permits(limiter), None) => limiter.acquire_raw(number, timeout).map(Grant::Permits),
            (Lender::Permits(limiter), Some(Interrupt { every, is_interrupted })) => {
                limiter.acquire_interruptible(number, timeout, every, is_interrupted).map(Grant::Permits)
            }
            (Lender::Tokens(limiter), None) => limiter.acquire_n(number, timeout).map(|()| Grant::Tokens(None)),
            (Lender::Tokens(limiter), Some(Interrupt { every, is_interrupted })) => {
                limiter.acquire_interruptible(number, timeout, every, is_interrupted).map(|()| Grant::Tokens(None))
            }
        }
    }

    pub fn start(
        &self,
        number: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<Grant>) + Send + Sync + 'static,
    ) -> Result<Started<Grant>, Error> {
        match &self.lender {
            Lender::Permits(limiter) => limiter
                .acquire_by_ticket(number, timeout, move |event| listener(event_of(event, Grant::Permits)))
                .map(|started| started_of(started, Grant::Permits)),
            Lender::Tokens(limiter) => limiter
                .acquire_refundable_by_ticket(number, timeout, move |event| {
                    listener(event_of(event, |grant| Grant::Tokens(Some(grant))));
                })
                .map(|started| started_of(started, |()| Grant::Tokens(None))),
        }
    }

    /// After how long to poll again; `None` once it is over.
    pub fn poll(&self, ticket: Ticket) -> Result<Option<u64>, Error> {
        match &self.lender {
            Lender::Permits(limiter) => limiter.poll_ticket(ticket),
            Lender::Tokens(limiter) => limiter.poll_ticket(ticket),
        }
    }

    pub fn cancel(&self, ticket: Ticket) -> Result<bool, Error> {
        match &self.lender {
            Lender::Permits(limiter) => limiter.cancel_ticket(ticket),
            Lender::Tokens(limiter) => limiter.cancel_ticket(ticket),
        }
    }

    /// Gives back what was waited for and nobody came for.
    pub fn give_back(&self, grant: Grant) {
        match (&self.lender, grant) {
            // Fails only for what another process took.
            (Lender::Permits(limiter), Grant::Permits(permit)) => drop(limiter.release(&permit, true)),
            (Lender::Tokens(limiter), Grant::Tokens(Some(grant))) => limiter.refund_grant(grant),
            _ => {}
        }
    }

    /// What the caller gets: a Permit, or None for tokens, which nobody gives back.
    pub fn hand_over(&self, py: Python<'_>, grant: Grant) -> PyResult<Py<PyAny>> {
        match (&self.lender, grant) {
            (Lender::Permits(limiter), Grant::Permits(raw)) => Ok(Py::new(py, Permit::new(limiter, raw))?.into_any()),
            _ => Ok(py.None()),
        }
    }

    /// The exception of a wait that came to nothing.
    #[cold]
    pub fn refusal(&self, ended: Ended) -> PyErr {
        if ended.status == Status::Forked {
            return Forked::new_err((
                "this process was forked while it waited: its place in the queue is the parent's",
            ));
        }
        let (limit, in_flight, waiting, text) = match &self.lender {
            Lender::Permits(limiter) => {
                let (limit, in_flight, waiting) = (limiter.limit(), limiter.in_flight(), limiter.waiting());
                (limit, Some(in_flight), waiting, refusal::of_wait_for_permits(&ended, limit, in_flight, waiting))
            }
            Lender::Tokens(limiter) => {
                let (quotas, waiting) = (limiter.quotas(), limiter.waiting());
                (quotas[0].limit(), None, waiting, refusal::of_wait_for_tokens(&ended, &quotas, waiting))
            }
        };
        let elapsed = seconds_from_ns(ended.elapsed_ns);
        let timeout = ended.timeout_ns.map(seconds_from_ns);
        refusal::raised(ended.status, text, (elapsed, timeout, limit, in_flight, waiting))
    }

    /// Likewise, where the core tells how it was.
    #[cold]
    pub fn error(&self, number: u64, error: AcquireError) -> PyErr {
        match error {
            AcquireError::Invalid(mistake) => from_core(mistake),
            AcquireError::Refused(refused) => {
                let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                let (elapsed_ns, timeout_ns) = (ns(refused.elapsed), refused.timeout.map(ns));
                self.refusal(Ended { status: refused.status, number, elapsed_ns, timeout_ns })
            }
        }
    }
}

fn event_of<T>(event: Event<T>, grant: impl Fn(T) -> Grant) -> Event<Grant> {
    match event {
        Event::Granted(granted) => Event::Granted(grant(granted)),
        Event::Refused(status) => Event::Refused(status),
        Event::PollAgain => Event::PollAgain,
    }
}

fn started_of<T>(started: Started<T>, grant: impl Fn(T) -> Grant) -> Started<Grant> {
    match started {
        Started::Granted(granted) => Started::Granted(grant(granted)),
        Started::Refused(status) => Started::Refused(status),
        Started::Pending { ticket, wake_after_ns } => Started::Pending { ticket, wake_after_ns },
    }
}
