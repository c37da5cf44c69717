//! One quota's states for all keys, whichever the algorithm.

use super::cell::By;
use super::keyed_cell::{Detour, KeyedCell};
use super::slot::{ClockWindows, FirstWindows, Slotted};
use super::state::{Judgement, Undo};
use crate::algorithm::gcra::Gcra;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::clock::Clock;
use crate::quota::{Algorithm, Anchor, Quota};
use crate::table::{Full, KeyHash, Region, Stripes, Table, WhenFull};
use crate::wait::Due;
use crate::{Error, Status};

pub(crate) enum KeyedState {
    Gcra(KeyedCell<Gcra>),
    FirstWindows(KeyedCell<FirstWindows>),
    ClockWindows(KeyedCell<ClockWindows>),
    SlidingWindow(KeyedCell<SlidingWindow>),
}

/// The same for each algorithm.
macro_rules! each {
    ($state:expr, $cell:ident => $call:expr) => {
        match $state {
            KeyedState::Gcra($cell) => $call,
            KeyedState::FirstWindows($cell) => $call,
            KeyedState::ClockWindows($cell) => $call,
            KeyedState::SlidingWindow($cell) => $call,
        }
    };
}

/// Whether the quota's algorithm can count it for each key.
pub(crate) fn fits_slot(quota: &Quota) -> Result<(), Error> {
    match (quota.algorithm(), quota.anchor()) {
        (Algorithm::Gcra, _) => <Gcra as Slotted>::new(quota, 0, 0).map(drop),
        (Algorithm::FixedWindow, Anchor::First) => FirstWindows::new(quota, 0, 0).map(drop),
        (Algorithm::FixedWindow, Anchor::Clock) => ClockWindows::new(quota, 0, 0).map(drop),
        (Algorithm::SlidingWindow, _) => <SlidingWindow as Slotted>::new(quota, 0, 0).map(drop),
        (Algorithm::SlidingLog, _) => Err(Error::option(
            "algorithm",
            "sliding_log with keys",
            "gcra, fixed_window, sliding_window (a log for each key has no fixed size)",
        )),
    }
}

impl KeyedState {
    pub(crate) fn new(
        quota: &Quota,
        clock: &Clock,
        max_keys: u64,
        when_full: WhenFull,
        region: Option<Region>,
    ) -> Result<Self, Error> {
        fits_slot(quota)?;
        let (offset, now) = (clock.unix_offset_ns(), clock.now_ns());
        macro_rules! cell {
            ($settings:ty) => {
                KeyedCell::new(<$settings as Slotted>::new(quota, offset, now)?, max_keys, when_full, region)?
            };
        }
        Ok(match (quota.algorithm(), quota.anchor()) {
            (Algorithm::Gcra, _) => Self::Gcra(cell!(Gcra)),
            (Algorithm::FixedWindow, Anchor::First) => Self::FirstWindows(cell!(FirstWindows)),
            (Algorithm::FixedWindow, Anchor::Clock) => Self::ClockWindows(cell!(ClockWindows)),
            (Algorithm::SlidingWindow, _) => Self::SlidingWindow(cell!(SlidingWindow)),
            (Algorithm::SlidingLog, _) => unreachable!("refused above"),
        })
    }

    #[inline]
    pub(crate) fn try_charge(&self, hash: KeyHash, now: u64, clock: &Clock, cost: u64) -> Result<Status, Detour> {
        each!(self, cell => cell.try_charge(hash, now, clock, cost))
    }

    #[inline]
    pub(crate) fn charge_at_once(&self, hash: KeyHash, now: u64, cost: u64) -> Option<Judgement> {
        each!(self, cell => cell.charge_at_once(hash, now, cost))
    }

    pub(crate) fn charge(&self, hash: KeyHash, now: u64, cost: u64, by: By) -> Result<(Judgement, Undo), Detour> {
        each!(self, cell => cell.charge(hash, now, cost, by))
    }

    pub(crate) fn peek(&self, hash: KeyHash, now: u64, cost: u64, by: By) -> Result<Judgement, Detour> {
        each!(self, cell => cell.peek(hash, now, cost, by))
    }

    pub(crate) fn due(&self, hash: KeyHash, from: u64, cost: u64) -> Result<Due, Detour> {
        each!(self, cell => cell.due(hash, from, cost))
    }

    pub(crate) fn wait_ns(
        &self,
        hash: KeyHash,
        now: u64,
        ahead: impl Iterator<Item = u64>,
        total_ahead: u64,
        cost: u64,
    ) -> u64 {
        each!(self, cell => cell.wait_ns(hash, now, ahead, total_ahead, cost))
    }

    pub(crate) fn has_waiters(&self, hash: KeyHash) -> bool {
        each!(self, cell => cell.has_waiters(hash))
    }

    pub(crate) fn mark(&self, hash: KeyHash, clock: &Clock, stripes: &Stripes) -> Result<(), Full> {
        each!(self, cell => cell.mark(hash, clock, stripes))
    }

    pub(crate) fn unmark(&self, hash: KeyHash) {
        each!(self, cell => cell.set_waiters(hash, false));
    }

    pub(crate) fn unmark_all(&self) {
        each!(self, cell => cell.unmark_all());
    }

    pub(crate) fn refresh(&self, hash: KeyHash, clock: &Clock) -> bool {
        each!(self, cell => cell.refresh(hash, clock))
    }

    pub(crate) fn is_absent(&self, hash: KeyHash) -> bool {
        each!(self, cell => cell.is_absent(hash))
    }

    pub(crate) fn enter(
        &self,
        hash: KeyHash,
        now: u64,
        cost: u64,
        spend: bool,
        stripes: &Stripes,
    ) -> Result<(Judgement, Undo), Detour> {
        each!(self, cell => cell.enter(hash, now, cost, spend, stripes))
    }

    pub(crate) fn undo(&self, hash: KeyHash, undo: Undo) -> bool {
        each!(self, cell => cell.undo(hash, undo))
    }

    pub(crate) fn refund(&self, hash: KeyHash, clock: &Clock, cost: u64, granted_at: u64) {
        each!(self, cell => cell.refund(hash, clock, cost, granted_at));
    }

    pub(crate) fn move_origin(&self, now: u64) {
        each!(self, cell => cell.move_origin(now));
    }

    /// To a quota that fits, with the same algorithm and anchor.
    pub(crate) fn reconfigure(&self, quota: &Quota, clock: &Clock) {
        fn to<A: Slotted>(cell: &KeyedCell<A>, quota: &Quota, clock: &Clock) {
            let settings = A::new(quota, clock.unix_offset_ns(), clock.now_ns()).expect("the quota was checked");
            cell.reconfigure(clock, settings);
        }
        each!(self, cell => to(cell, quota, clock));
    }

    /// Takes a key, with what it owes, to another state of the same kind. Only under all locks.
    pub(crate) fn hand_over(&self, hash: KeyHash, to: &Self, clock: &Clock, stripes: &Stripes) {
        fn hand<A: Slotted>(from: &KeyedCell<A>, to: &KeyedCell<A>, hash: KeyHash, clock: &Clock, stripes: &Stripes) {
            if let Some(left) = from.leave(hash) {
                to.arrive(hash, left, clock.now_ns(), stripes);
            }
        }
        match (self, to) {
            (Self::Gcra(from), Self::Gcra(to)) => hand(from, to, hash, clock, stripes),
            (Self::FirstWindows(from), Self::FirstWindows(to)) => hand(from, to, hash, clock, stripes),
            (Self::ClockWindows(from), Self::ClockWindows(to)) => hand(from, to, hash, clock, stripes),
            (Self::SlidingWindow(from), Self::SlidingWindow(to)) => hand(from, to, hash, clock, stripes),
            _ => unreachable!("the kinds of a limiter's quotas never change"),
        }
    }

    pub(crate) fn live_keys(&self, now: u64) -> u64 {
        each!(self, cell => cell.live_keys(now))
    }

    pub(crate) fn table(&self) -> &Table {
        each!(self, cell => cell.table())
    }
}
