//! The limiter of a rule: one of the four, with or without keys.

use crate::rate::check_cost;
use crate::wait::{Event, Started, Ticket};
use crate::{
    ConcurrencyLimiter, Decision, Error, Grant, KeyedConcurrencyLimiter, KeyedRateLimiter, NEVER_NS, RateLimiter,
    RawKeyedPermit, RawPermit, Stats, Status,
};
use std::time::Duration;

pub(super) enum Limiter {
    Rate(RateLimiter),
    KeyedRate(KeyedRateLimiter),
    Permits(ConcurrencyLimiter),
    KeyedPermits(KeyedConcurrencyLimiter),
}

/// What was taken, and can be given back.
pub(super) enum Taken {
    Permits(RawPermit),
    KeyedPermits(RawKeyedPermit),
    Tokens {
        /// Without it they stay spent.
        grant: Option<Grant>,
        /// How the quotas stand: what is left of the one that has least, which that is, and after how long nothing counts.
        remaining: u64,
        quota: u32,
        reset_after_ns: u64,
    },
    /// Tokens that were waited for: nobody told how the quotas stand.
    Waited(Option<Grant>),
}

impl Taken {
    fn of(decision: &Decision) -> Self {
        Self::Tokens {
            grant: decision.grant(),
            remaining: decision.remaining(),
            quota: decision.quota() as u32,
            reset_after_ns: decision.reset_after_ns(),
        }
    }

    /// With how the quotas stand, if that isn't known.
    pub(super) fn with_figures(&mut self, standing: impl FnOnce() -> Standing) {
        if let Self::Waited(grant) = *self {
            let Standing { remaining, quota, reset_after_ns, .. } = standing();
            *self = Self::Tokens { grant, remaining, quota: quota as u32, reset_after_ns };
        }
    }
}

/// How a limiter stands to a request.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    pub(super) status: Status,
    /// Tokens per period, or permits.
    pub(super) limit: u64,
    /// Tokens or permits that could be taken.
    pub(super) remaining: u64,
    /// [`NEVER_NS`] for never; `None` where it depends on others giving back.
    pub(super) retry_after_ns: Option<u64>,
    pub(super) reset_after_ns: u64,
    /// Which of the quotas these are the figures of.
    pub(super) quota: usize,
    pub(super) in_flight: u64,
    pub(super) waiting: u64,
}

impl Standing {
    fn of(decision: &Decision, waiting: u64) -> Self {
        Self {
            status: decision.status(),
            limit: decision.limit(),
            remaining: decision.remaining(),
            retry_after_ns: Some(decision.retry_after_ns()),
            reset_after_ns: decision.reset_after_ns(),
            quota: decision.quota(),
            in_flight: 0,
            waiting,
        }
    }

    fn of_permits(permits: u64, limit: u64, available: u64, in_flight: u64, waiting: u64, closed: bool) -> Self {
        let status = match () {
            () if closed => Status::Closed,
            // A limit of 0 is a pause.
            () if permits > limit && limit > 0 => Status::ExceedsCapacity,
            () if permits > available => Status::Denied,
            () => Status::Allowed,
        };
        let retry_after_ns = match status {
            Status::Allowed => Some(0),
            Status::Denied => None,
            _ => Some(NEVER_NS),
        };
        Self { status, limit, remaining: available, retry_after_ns, reset_after_ns: 0, quota: 0, in_flight, waiting }
    }
}

impl Limiter {
    /// Takes `cost` of a key, if all can be had now.
    #[inline]
    pub(super) fn take(&self, key: &[u8], cost: u64) -> Result<Taken, Status> {
        let decided = |decision: Decision| match decision.status() {
            Status::Allowed => Ok(Taken::of(&decision)),
            refused => Err(refused),
        };
        let invalid = |mistake: Error| mistake.status();
        match self {
            Self::Rate(limiter) => decided(limiter.decide_n(cost).map_err(invalid)?),
            Self::KeyedRate(limiter) => decided(limiter.decide_n(key, cost).map_err(invalid)?),
            Self::Permits(limiter) => limiter.try_acquire_raw(cost).map_err(invalid)?.map(Taken::Permits),
            Self::KeyedPermits(limiter) => {
                limiter.try_acquire_raw(key, cost).map_err(invalid)?.map(Taken::KeyedPermits)
            }
        }
    }

    /// Gives back what was taken of a key; of permits, `ok` tells the statistics whether the work went well.
    pub(super) fn give_back(&self, key: &[u8], taken: &Taken, ok: bool) {
        // What is refused here is another process's: nothing is lost with it.
        let _ours = match (self, taken) {
            (Self::Rate(limiter), Taken::Tokens { grant: Some(grant), .. } | Taken::Waited(Some(grant))) => {
                limiter.refund_grant(*grant);
                true
            }
            (Self::KeyedRate(limiter), Taken::Tokens { grant: Some(grant), .. } | Taken::Waited(Some(grant))) => {
                limiter.refund_grant(key, *grant).is_ok()
            }
            (Self::Permits(limiter), Taken::Permits(permit)) => limiter.release(permit, ok).is_ok(),
            (Self::KeyedPermits(limiter), Taken::KeyedPermits(permit)) => limiter.release(permit, ok).is_ok(),
            _ => false,
        };
    }

    /// How it would answer, spending nothing.
    pub(super) fn peek(&self, key: &[u8], cost: u64) -> Standing {
        let invalid = Standing { status: Status::InvalidCost, ..Standing::of_permits(1, 0, 0, 0, 0, false) };
        if check_cost("cost", cost).is_err() {
            return invalid;
        }
        match self {
            Self::Rate(limiter) => {
                limiter.peek_n(cost).map_or(invalid, |decision| Standing::of(&decision, limiter.waiting()))
            }
            Self::KeyedRate(limiter) => {
                limiter.peek_n(key, cost).map_or(invalid, |decision| Standing::of(&decision, limiter.waiting(key)))
            }
            Self::Permits(limiter) => Standing::of_permits(
                cost,
                limiter.limit(),
                limiter.available(),
                limiter.in_flight(),
                limiter.waiting(),
                limiter.is_closed(),
            ),
            Self::KeyedPermits(limiter) => Standing::of_permits(
                cost,
                limiter.limit(),
                limiter.available(key),
                limiter.in_flight(key),
                limiter.waiting(key),
                limiter.is_closed(),
            ),
        }
    }

    /// Takes at once, or waits and tells `listener`.
    pub(super) fn start(
        &self,
        key: &[u8],
        cost: u64,
        timeout: Option<Duration>,
        listener: impl Fn(Event<Taken>) + Send + Sync + 'static,
    ) -> Started<Taken> {
        let started = match self {
            Self::Rate(limiter) => limiter
                .acquire_refundable_by_ticket(cost, timeout, move |event| {
                    listener(map(event, |grant| Taken::Waited(Some(grant))));
                })
                .map(|started| map_started(started, |()| Taken::Waited(None))),
            Self::KeyedRate(limiter) => limiter
                .acquire_refundable_by_ticket(key, cost, timeout, move |event| {
                    listener(map(event, |grant| Taken::Waited(Some(grant))));
                })
                .map(|started| map_started(started, |()| Taken::Waited(None))),
            Self::Permits(limiter) => limiter
                .acquire_by_ticket(cost, timeout, move |event| listener(map(event, Taken::Permits)))
                .map(|started| map_started(started, Taken::Permits)),
            Self::KeyedPermits(limiter) => limiter
                .acquire_by_ticket(key, cost, timeout, move |event| listener(map(event, Taken::KeyedPermits)))
                .map(|started| map_started(started, Taken::KeyedPermits)),
        };
        started.unwrap_or_else(|mistake| Started::Refused(mistake.status()))
    }

    /// After how many ns a wait is to be polled again; `None` if it is over.
    pub(super) fn poll(&self, ticket: Ticket) -> Option<u64> {
        let polled = match self {
            Self::Rate(limiter) => limiter.poll_ticket(ticket),
            Self::KeyedRate(limiter) => limiter.poll_ticket(ticket),
            Self::Permits(limiter) => limiter.poll_ticket(ticket),
            Self::KeyedPermits(limiter) => limiter.poll_ticket(ticket),
        };
        polled.ok().flatten()
    }

    /// Ends a wait, unless it is over; then its listener has been told, or is about to be.
    pub(super) fn cancel(&self, ticket: Ticket) {
        // Too late, or in the child of a fork: then there is nothing to end.
        let _won = match self {
            Self::Rate(limiter) => limiter.cancel_ticket(ticket),
            Self::KeyedRate(limiter) => limiter.cancel_ticket(ticket),
            Self::Permits(limiter) => limiter.cancel_ticket(ticket),
            Self::KeyedPermits(limiter) => limiter.cancel_ticket(ticket),
        };
    }

    pub(super) fn stats(&self) -> Stats {
        match self {
            Self::Rate(limiter) => limiter.stats(),
            Self::KeyedRate(limiter) => limiter.stats(),
            Self::Permits(limiter) => limiter.stats(),
            Self::KeyedPermits(limiter) => limiter.stats(),
        }
    }
}

fn map<T, U>(event: Event<T>, granted: impl FnOnce(T) -> U) -> Event<U> {
    match event {
        Event::Granted(value) => Event::Granted(granted(value)),
        Event::Refused(status) => Event::Refused(status),
        Event::PollAgain => Event::PollAgain,
    }
}

fn map_started<T, U>(started: Started<T>, granted: impl FnOnce(T) -> U) -> Started<U> {
    match started {
        Started::Granted(value) => Started::Granted(granted(value)),
        Started::Refused(status) => Started::Refused(status),
        Started::Pending { ticket, wake_after_ns } => Started::Pending { ticket, wake_after_ns },
    }
}
