//! One quota's log behind a mutex: the one exception to *one atomic word*, for the one algorithm that must remember.

use super::state::Judgement;
use crate::algorithm::sliding_log::{Log, SlidingLog};
use crate::clock::Clock;
use crate::lock::Inherited;
use crate::sync::Lock;
use crate::wait::Due;
use crate::{NEVER_NS, Status};
use std::ops::DerefMut;

pub(crate) struct LogCell(Lock<Kept>);

#[derive(Default)]
struct Kept {
    algorithm: SlidingLog,
    log: Log,
    /// Whether somebody waits: then only the head of the queue is charged.
    has_waiters: bool,
}

impl LogCell {
    pub(crate) fn new(algorithm: SlidingLog) -> Self {
        Self(Lock::new(Kept { algorithm, ..Kept::default() }))
    }

    /// A child of a fork may find the log as another thread left it in the midst of a change; it then begins with an empty one.
    fn open(&self) -> impl DerefMut<Target = Kept> + '_ {
        let mut guard = self.0.lock();
        if guard.inherited == Inherited::Interrupted {
            let algorithm = guard.algorithm;
            guard.renew(Kept { algorithm, ..Kept::default() });
        }
        guard
    }

    fn step(&self, now: u64, cost: u64, spend: bool, by_waiter: bool) -> Judgement {
        let Kept { algorithm, log, has_waiters } = &mut *self.open();
        let behind_waiters = *has_waiters && !by_waiter;
        let now = algorithm.expire(log, now);
        let status = if algorithm.limit == 0 {
            Status::Denied
        } else if cost > algorithm.limit {
            Status::ExceedsCapacity
        } else if !algorithm.admits(log, cost) {
            Status::Denied
        } else {
            Status::Allowed
        };
        if spend && status == Status::Allowed && !behind_waiters {
            algorithm.charge(log, now, cost);
        }
        let judged = Judgement {
            status,
            limit: algorithm.limit,
            remaining: algorithm.remaining(log),
            retry_after_ns: match status {
                Status::Allowed => 0,
                Status::Denied if algorithm.limit > 0 => algorithm.retry_after_ns(log, now, cost),
                _ => NEVER_NS,
            },
            reset_after_ns: algorithm.reset_after_ns(log, now),
            granted_at_ns: now,
            behind_waiters: false,
        };
        if behind_waiters { judged.behind_waiters() } else { judged }
    }

    /// `None` if somebody waits.
    pub(crate) fn try_charge(&self, now: u64, cost: u64) -> Option<Status> {
        let judged = self.charge(now, cost);
        (!judged.behind_waiters).then_some(judged.status)
    }

    pub(crate) fn charge(&self, now: u64, cost: u64) -> Judgement {
        self.step(now, cost, true, false)
    }

    /// For the head of the queue.
    pub(crate) fn charge_waiter(&self, at: u64, cost: u64) -> Judgement {
        self.step(at, cost, true, true)
    }

    pub(crate) fn peek(&self, now: u64, cost: u64) -> Judgement {
        self.step(now, cost, false, false)
    }

    pub(crate) fn due(&self, from: u64, cost: u64) -> Due {
        let judged = self.step(from, cost, false, true);
        match judged.status {
            Status::Allowed => Due::At(from),
            Status::ExceedsCapacity => Due::Refused(Status::ExceedsCapacity),
            _ if judged.retry_after_ns == NEVER_NS => Due::Unknown,
            // The log may have seen a later time than `from`, and counts from there.
            _ => Due::At(judged.granted_at_ns.saturating_add(judged.retry_after_ns)),
        }
    }

    /// On a copy of the log.
    pub(crate) fn wait_ns(&self, now: u64, ahead: impl Iterator<Item = u64>, cost: u64) -> u64 {
        let (algorithm, mut log) = {
            let kept = self.open();
            (kept.algorithm, kept.log.clone())
        };
        if algorithm.limit == 0 {
            return NEVER_NS;
        }
        let began = algorithm.expire(&mut log, now);
        let mut at = began;
        for cost in ahead.chain(std::iter::once(cost)).filter(|cost| *cost <= algorithm.limit) {
            at += algorithm.retry_after_ns(&log, at, cost);
            algorithm.expire(&mut log, at);
            algorithm.charge(&mut log, at, cost);
        }
        at - began
    }

    pub(crate) fn has_waiters(&self) -> bool {
        self.open().has_waiters
    }

    pub(crate) fn set_waiters(&self, waiters: bool) {
        self.open().has_waiters = waiters;
    }

    pub(crate) fn refund(&self, clock: &Clock, cost: u64, granted_at: u64) {
        let Kept { algorithm, log, .. } = &mut *self.open();
        algorithm.expire(log, clock.now_ns());
        algorithm.refund(log, cost, granted_at);
    }

    pub(crate) fn reset(&self, clock: &Clock) {
        let Kept { algorithm, log, .. } = &mut *self.open();
        algorithm.reset(log, clock.now_ns());
    }

    pub(crate) fn reconfigure(&self, clock: &Clock, to: SlidingLog) {
        let Kept { algorithm, log, .. } = &mut *self.open();
        algorithm.carry(log, clock.now_ns(), &to);
        *algorithm = to;
    }
}
