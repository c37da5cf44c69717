//! One quota's state, whichever the algorithm.

use super::cell::Cell;
use super::log_cell::LogCell;
use crate::algorithm::Algorithm;
use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::gcra::Gcra;
use crate::algorithm::sliding_log::SlidingLog;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::clock::Clock;
use crate::quota::{Algorithm as Name, Quota};
use crate::wait::Due;
use crate::{Error, NEVER_NS, Status};

/// What one quota says of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    pub(crate) status: Status,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) retry_after_ns: u64,
    pub(crate) reset_after_ns: u64,
    pub(crate) granted_at_ns: u64,
    /// Whether it was refused, or would be, because somebody waits. Then `retry_after_ns` is of the state alone.
    pub(crate) behind_waiters: bool,
}

impl Judgement {
    /// Refused because somebody waits.
    pub(crate) fn behind_waiters(self) -> Self {
        let status = if self.status == Status::Allowed { Status::Denied } else { self.status };
        Self { status, remaining: 0, behind_waiters: true, ..self }
    }
}

/// Why a call that may not go ahead may not.
pub(crate) fn refusal<A: Algorithm>(algorithm: &A, cost: u64) -> Status {
    if algorithm.exceeds(cost) && algorithm.limit() > 0 { Status::ExceedsCapacity } else { Status::Denied }
}

/// The figures of a call that led to `status` and left `state`.
pub(crate) fn judge<A: Algorithm>(algorithm: &A, status: Status, state: A::State, now: u64, cost: u64) -> Judgement {
    Judgement {
        status,
        limit: algorithm.limit(),
        remaining: algorithm.remaining(state, now),
        retry_after_ns: match status {
            Status::Allowed => 0,
            Status::Denied if algorithm.limit() > 0 => algorithm.retry_after_ns(state, now, cost),
            _ => NEVER_NS,
        },
        reset_after_ns: algorithm.reset_after_ns(state, now),
        granted_at_ns: algorithm.granted_at_ns(state, now),
        behind_waiters: false,
    }
}

/// What it takes to undo a charge exactly, if nothing happened since: the words before and after it.
#[derive(Clone, Copy)]
pub(crate) enum Undo {
    Narrow(u64, u64),
    Wide(u128, u128),
    /// By the refund rule, which is exact for a log.
    Log,
}

pub(crate) enum State {
    Gcra(Cell<Gcra>),
    FixedWindow(Cell<FixedWindow>),
    SlidingWindow(Cell<SlidingWindow>),
    SlidingLog(LogCell),
}

/// Whether the quota's algorithm can count it.
pub(crate) fn fits(quota: &Quota) -> Result<(), Error> {
    match quota.algorithm() {
        Name::Gcra => Gcra::new(quota, 0).map(drop),
        Name::FixedWindow => Ok(()),
        Name::SlidingWindow => SlidingWindow::new(quota, 0).map(drop),
        Name::SlidingLog => SlidingLog::new(quota).map(drop),
    }
}

impl State {
    pub(crate) fn new(quota: &Quota, clock: &Clock) -> Result<Self, Error> {
        let now = clock.now_ns();
        Ok(match quota.algorithm() {
            Name::Gcra => Self::Gcra(Cell::new(Gcra::new(quota, now)?)),
            Name::FixedWindow => Self::FixedWindow(Cell::new(FixedWindow::new(quota, clock.unix_offset_ns()))),
            Name::SlidingWindow => Self::SlidingWindow(Cell::new(SlidingWindow::new(quota, now)?)),
            Name::SlidingLog => Self::SlidingLog(LogCell::new(SlidingLog::new(quota)?)),
        })
    }

    /// `None` if somebody waits.
    #[inline]
    pub(crate) fn try_charge(&self, clock: &Clock, cost: u64) -> Option<Status> {
        match self {
            Self::Gcra(cell) => cell.try_charge(clock, cost),
            Self::FixedWindow(cell) => cell.try_charge(clock, cost),
            Self::SlidingWindow(cell) => cell.try_charge(clock, cost),
            Self::SlidingLog(cell) => cell.try_charge(clock.now_ns(), cost),
        }
    }

    /// For the head of the queue.
    pub(crate) fn charge_waiter(&self, at: u64, cost: u64) -> (Judgement, Undo) {
        match self {
            Self::Gcra(cell) => cell.charge_waiter(at, cost),
            Self::FixedWindow(cell) => cell.charge_waiter(at, cost),
            Self::SlidingWindow(cell) => cell.charge_waiter(at, cost),
            Self::SlidingLog(cell) => (cell.charge_waiter(at, cost), Undo::Log),
        }
    }

    /// When `cost` can be had from `from_ns` on, if nobody else comes.
    pub(crate) fn due(&self, from_ns: u64, cost: u64) -> Due {
        match self {
            Self::Gcra(cell) => cell.due(from_ns, cost),
            Self::FixedWindow(cell) => cell.due(from_ns, cost),
            Self::SlidingWindow(cell) => cell.due(from_ns, cost),
            Self::SlidingLog(cell) => cell.due(from_ns, cost),
        }
    }

    /// How long `cost` must wait behind the costs `ahead`.
    pub(crate) fn wait_ns(&self, now: u64, ahead: impl Iterator<Item = u64>, total_ahead: u64, cost: u64) -> u64 {
        match self {
            Self::Gcra(cell) => cell.wait_ns(now, ahead, total_ahead, cost),
            Self::FixedWindow(cell) => cell.wait_ns(now, ahead, total_ahead, cost),
            Self::SlidingWindow(cell) => cell.wait_ns(now, ahead, total_ahead, cost),
            Self::SlidingLog(cell) => cell.wait_ns(now, ahead, cost),
        }
    }

    pub(crate) fn has_waiters(&self) -> bool {
        match self {
            Self::Gcra(cell) => cell.has_waiters(),
            Self::FixedWindow(cell) => cell.has_waiters(),
            Self::SlidingWindow(cell) => cell.has_waiters(),
            Self::SlidingLog(cell) => cell.has_waiters(),
        }
    }

    /// Says whether somebody waits.
    pub(crate) fn set_waiters(&self, waiters: bool) {
        match self {
            Self::Gcra(cell) => cell.set_waiters(waiters),
            Self::FixedWindow(cell) => cell.set_waiters(waiters),
            Self::SlidingWindow(cell) => cell.set_waiters(waiters),
            Self::SlidingLog(cell) => cell.set_waiters(waiters),
        }
    }

    pub(crate) fn charge(&self, now: u64, cost: u64) -> (Judgement, Undo) {
        match self {
            Self::Gcra(cell) => cell.charge(now, cost),
            Self::FixedWindow(cell) => cell.charge(now, cost),
            Self::SlidingWindow(cell) => cell.charge(now, cost),
            Self::SlidingLog(cell) => (cell.charge(now, cost), Undo::Log),
        }
    }

    pub(crate) fn peek(&self, now: u64, cost: u64) -> Judgement {
        match self {
            Self::Gcra(cell) => cell.peek(now, cost),
            Self::FixedWindow(cell) => cell.peek(now, cost),
            Self::SlidingWindow(cell) => cell.peek(now, cost),
            Self::SlidingLog(cell) => cell.peek(now, cost),
        }
    }

    /// Whether `cost` would be admitted: [`peek`](Self::peek) without figures.
    pub(crate) fn admits(&self, now: u64, cost: u64) -> bool {
        match self {
            Self::Gcra(cell) => cell.admits(now, cost),
            Self::FixedWindow(cell) => cell.admits(now, cost),
            Self::SlidingWindow(cell) => cell.admits(now, cost),
            Self::SlidingLog(cell) => cell.peek(now, cost).status == Status::Allowed,
        }
    }

    /// [`charge`](Self::charge) without figures: what undoes it and the time that it counts from, if it was admitted.
    pub(crate) fn take(&self, now: u64, cost: u64) -> Option<(Undo, u64)> {
        match self {
            Self::Gcra(cell) => cell.take(now, cost),
            Self::FixedWindow(cell) => cell.take(now, cost),
            Self::SlidingWindow(cell) => cell.take(now, cost),
            Self::SlidingLog(cell) => {
                let judged = cell.charge(now, cost);
                (judged.status == Status::Allowed).then_some((Undo::Log, judged.granted_at_ns))
            }
        }
    }

    pub(crate) fn undo(&self, undo: Undo, clock: &Clock, cost: u64, granted_at: u64) {
        match (self, undo) {
            (Self::Gcra(cell), Undo::Narrow(before, after)) => cell.undo(before, after, clock, cost, granted_at),
            (Self::FixedWindow(cell), Undo::Wide(before, after)) => cell.undo(before, after, clock, cost, granted_at),
            (Self::SlidingWindow(cell), Undo::Wide(before, after)) => cell.undo(before, after, clock, cost, granted_at),
            (state, _) => state.refund(clock, cost, granted_at),
        }
    }

    pub(crate) fn refund(&self, clock: &Clock, cost: u64, granted_at: u64) {
        match self {
            Self::Gcra(cell) => cell.refund(clock, cost, granted_at),
            Self::FixedWindow(cell) => cell.refund(clock, cost, granted_at),
            Self::SlidingWindow(cell) => cell.refund(clock, cost, granted_at),
            Self::SlidingLog(cell) => cell.refund(clock, cost, granted_at),
        }
    }

    pub(crate) fn reset(&self, clock: &Clock) {
        match self {
            Self::Gcra(cell) => cell.reset(clock),
            Self::FixedWindow(cell) => cell.reset(clock),
            Self::SlidingWindow(cell) => cell.reset(clock),
            Self::SlidingLog(cell) => cell.reset(clock),
        }
    }

    /// To a valid quota with the same algorithm and anchor.
    pub(crate) fn reconfigure(&self, quota: &Quota, clock: &Clock) {
        const VALID: &str = "the quota was validated";
        let now = clock.now_ns();
        match self {
            Self::Gcra(cell) => cell.reconfigure(clock, Gcra::new(quota, now).expect(VALID)),
            Self::FixedWindow(cell) => cell.reconfigure(clock, FixedWindow::new(quota, clock.unix_offset_ns())),
            Self::SlidingWindow(cell) => cell.reconfigure(clock, SlidingWindow::new(quota, now).expect(VALID)),
            Self::SlidingLog(cell) => cell.reconfigure(clock, SlidingLog::new(quota).expect(VALID)),
        }
    }
}
