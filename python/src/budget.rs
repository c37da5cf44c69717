//! What can be waited for: the permits or the tokens of a limiter, or of one of its keys.

use crate::error::{Forked, from_core};
use crate::key::Key;
use crate::permit::Permit;
use crate::refusal::{self, Ended, Standing};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use tidegate::{
    AcquireError, ConcurrencyLimiter, Error, Event, KeyedConcurrencyLimiter, KeyedRateLimiter, RateLimiter,
    RawKeyedPermit, RawPermit, Started, Status, Ticket,
};

#[derive(Clone)]
pub enum Budget {
    Permits(Arc<ConcurrencyLimiter>),
    Tokens(Arc<RateLimiter>),
    KeyPermits(Arc<KeyedConcurrencyLimiter>, Key),
    KeyTokens(Arc<KeyedRateLimiter>, Key),
}

/// What was taken.
#[derive(Clone, Copy)]
pub enum Grant {
    Permits(RawPermit),
    KeyPermits(RawKeyedPermit),
    /// With what a refund takes, if a task waited for them.
    Tokens(Option<tidegate::Grant>),
}

impl Budget {
    /// Whose it is; none without keys.
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Permits(_) | Self::Tokens(_) => None,
            Self::KeyPermits(_, key) | Self::KeyTokens(_, key) => Some(key),
        }
    }

    /// Waits on this thread, which should not be attached; asks each time that it has waited for `every` whether to stop.
    pub fn acquire(
        &self,
        number: u64,
        timeout: Option<Duration>,
        every: Duration,
        is_interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Grant, AcquireError> {
        let tokens = |()| Grant::Tokens(None);
        match self {
            Self::Permits(limiter) => {
                limiter.acquire_interruptible(number, timeout, every, is_interrupted).map(Grant::Permits)
            }
            Self::Tokens(limiter) => limiter.acquire_interruptible(number, timeout, every, is_interrupted).map(tokens),
            Self::KeyPermits(limiter, key) => {
                limiter.acquire_interruptible(key, number, timeout, every, is_interrupted).map(Grant::KeyPermits)
            }
            Self::KeyTokens(limiter, key) => {
                limiter.acquire_interruptible(key, number, timeout, every, is_interrupted).map(tokens)
            }
        }
    }

    pub fn start(
        &self,
        number: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<Grant>) + Send + Sync + 'static,
    ) -> Result<Started<Grant>, Error> {
        let (refundable, tokens) = (|grant| Grant::Tokens(Some(grant)), |()| Grant::Tokens(None));
        match self {
            Self::Permits(limiter) => limiter
                .acquire_by_ticket(number, timeout, move |event| listener(event_of(event, Grant::Permits)))
                .map(|started| started_of(started, Grant::Permits)),
            Self::KeyPermits(limiter, key) => limiter
                .acquire_by_ticket(key, number, timeout, move |event| listener(event_of(event, Grant::KeyPermits)))
                .map(|started| started_of(started, Grant::KeyPermits)),
            Self::Tokens(limiter) => limiter
                .acquire_refundable_by_ticket(number, timeout, move |event| listener(event_of(event, refundable)))
                .map(|started| started_of(started, tokens)),
            Self::KeyTokens(limiter, key) => limiter
                .acquire_refundable_by_ticket(key, number, timeout, move |event| listener(event_of(event, refundable)))
                .map(|started| started_of(started, tokens)),
        }
    }

    /// After how long to poll again; `None` once it is over.
    pub fn poll(&self, ticket: Ticket) -> Result<Option<u64>, Error> {
        match self {
            Self::Permits(limiter) => limiter.poll_ticket(ticket),
            Self::Tokens(limiter) => limiter.poll_ticket(ticket),
            Self::KeyPermits(limiter, _) => limiter.poll_ticket(ticket),
            Self::KeyTokens(limiter, _) => limiter.poll_ticket(ticket),
        }
    }

    pub fn cancel(&self, ticket: Ticket) -> Result<bool, Error> {
        match self {
            Self::Permits(limiter) => limiter.cancel_ticket(ticket),
            Self::Tokens(limiter) => limiter.cancel_ticket(ticket),
            Self::KeyPermits(limiter, _) => limiter.cancel_ticket(ticket),
            Self::KeyTokens(limiter, _) => limiter.cancel_ticket(ticket),
        }
    }

    /// Gives back what was waited for and nobody came for.
    pub fn give_back(&self, grant: Grant) {
        match (self, grant) {
            // Fail only for what another process took.
            (Self::Permits(limiter), Grant::Permits(permit)) => drop(limiter.release(&permit, true)),
            (Self::KeyPermits(limiter, _), Grant::KeyPermits(permit)) => drop(limiter.release(&permit, true)),
            (Self::Tokens(limiter), Grant::Tokens(Some(grant))) => limiter.refund_grant(grant),
            (Self::KeyTokens(limiter, key), Grant::Tokens(Some(grant))) => drop(limiter.refund_grant(key, grant)),
            _ => {}
        }
    }

    /// What the caller gets: a Permit, or None for tokens, which nobody gives back.
    pub fn hand_over(&self, py: Python<'_>, grant: Grant) -> PyResult<Py<PyAny>> {
        let permit = match (self, grant) {
            (Self::Permits(limiter), Grant::Permits(raw)) => Permit::new(limiter, raw),
            (Self::KeyPermits(limiter, _), Grant::KeyPermits(raw)) => Permit::of_key(limiter, raw),
            _ => return Ok(py.None()),
        };
        Ok(Py::new(py, permit)?.into_any())
    }

    /// The exception of a wait that came to nothing.
    #[cold]
    pub fn refusal(&self, ended: &Ended) -> PyErr {
        if ended.status == Status::Forked {
            return Forked::new_err((
                "this process was forked while it waited: its place in the queue is the parent's",
            ));
        }
        refusal::of_wait(ended, &self.standing())
    }

    #[cold]
    fn standing(&self) -> Standing<'_> {
        let whose = self.key().map_or("", Key::whose);
        match self {
            Self::Permits(limiter) => Standing::of_permits(limiter.limit(), limiter.in_flight(), limiter.waiting()),
            Self::Tokens(limiter) => Standing::of_tokens(&limiter.quotas(), limiter.waiting()),
            Self::KeyPermits(limiter, key) => Standing {
                max_keys: limiter.capacity(),
                whose,
                ..Standing::of_permits(limiter.limit(), limiter.in_flight(key), limiter.waiting(key))
            },
            Self::KeyTokens(limiter, key) => Standing {
                max_keys: limiter.capacity(),
                whose,
                ..Standing::of_tokens(&limiter.quotas(), limiter.waiting(key))
            },
        }
    }

    /// [`refusal`](Self::refusal) where the core tells how it was.
    #[cold]
    pub fn error(&self, number: u64, error: AcquireError) -> PyErr {
        match error {
            AcquireError::Invalid(mistake) => from_core(mistake),
            AcquireError::Refused(refused) => {
                let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                let (elapsed_ns, timeout_ns) = (ns(refused.elapsed), refused.timeout.map(ns));
                self.refusal(&Ended { status: refused.status, number, elapsed_ns, timeout_ns })
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
