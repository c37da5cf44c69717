//! One quota's log behind a mutex: the one exception to *one atomic word*, for the one algorithm that must remember.

use super::state::Judgement;
use crate::algorithm::sliding_log::{Log, SlidingLog};
use crate::clock::Clock;
use crate::sync::{Mutex, lock};
use crate::{NEVER_NS, Status};

pub(crate) struct LogCell(Mutex<(SlidingLog, Log)>);

impl LogCell {
    pub(crate) fn new(algorithm: SlidingLog) -> Self {
        Self(Mutex::new((algorithm, Log::default())))
    }

    fn step(&self, now: u64, cost: u64, spend: bool) -> Judgement {
        let guard = &mut *lock(&self.0);
        let (algorithm, log) = (guard.0, &mut guard.1);
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
        if spend && status == Status::Allowed {
            algorithm.charge(log, now, cost);
        }
        Judgement {
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
        }
    }

    pub(crate) fn charge(&self, now: u64, cost: u64) -> Judgement {
        self.step(now, cost, true)
    }

    pub(crate) fn peek(&self, now: u64, cost: u64) -> Judgement {
        self.step(now, cost, false)
    }

    pub(crate) fn refund(&self, clock: &Clock, cost: u64, granted_at: u64) {
        let guard = &mut *lock(&self.0);
        guard.0.expire(&mut guard.1, clock.now_ns());
        guard.0.refund(&mut guard.1, cost, granted_at);
    }

    pub(crate) fn reset(&self) {
        lock(&self.0).1 = Log::default();
    }

    pub(crate) fn reconfigure(&self, clock: &Clock, algorithm: SlidingLog) {
        let guard = &mut *lock(&self.0);
        guard.0.carry(&mut guard.1, clock.now_ns(), &algorithm);
        guard.0 = algorithm;
    }
}
