//! What stays where it is when a rate limiter is moved: its states, who waits, and what is counted.

use super::cell::Reserved;
use super::joint::Joint;
use super::reservation::Reservation;
use super::state::{State, Undo};
use super::{check_same_kinds, next_id};
use crate::clock::{Clock, Watcher};
use crate::decision::{Decision, Grant};
use crate::quota::{MAX_QUOTAS, Quota};
use crate::stats::{Count, Counters};
use crate::sync::{Lock, Pause, pause};
use crate::wait::{self, Desk, Due, Granted, Queue, Source};
use crate::{Error, Status, fork};
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Shared {
    states: States,
    clock: Clock,
    pub(super) counters: Counters,
    pub(super) id: u64,
    /// Counts what voids grants: resets and changes of the quotas.
    reset_count: AtomicU64,
    pub(super) quotas: Lock<Vec<Quota>>,
    pub(super) desk: Desk,
}

/// One quota, which needs no list, is the hot path.
#[expect(clippy::large_enum_variant, reason = "the state of the hot path is not to be behind a pointer")]
enum States {
    One(State),
    Several(Box<[State]>),
}

impl Shared {
    pub(super) fn new(quotas: Vec<Quota>, clock: Clock, max_waiters: u64) -> Result<Self, Error> {
        let state = |quota| State::new(quota, &clock);
        let states = match quotas.as_slice() {
            [quota] => States::One(state(quota)?),
            several => States::Several(several.iter().map(state).collect::<Result<_, _>>()?),
        };
        fork::watch();
        Ok(Self {
            states,
            clock,
            counters: Counters::new(),
            id: next_id(),
            reset_count: AtomicU64::new(0),
            quotas: Lock::new(quotas),
            desk: Desk::new(max_waiters),
        })
    }

    // Into the caller: call, frame and return would be a tenth of the instructions.
    #[inline(always)]
    pub(super) fn try_status(&self, cost: u64) -> Status {
        let status = match &self.states {
            States::One(State::Gcra(cell)) => cell.try_charge(&self.clock, cost),
            _ => self.try_other(cost),
        };
        let status = status.unwrap_or_else(|| self.refused_by_waiters(cost));
        self.count(status);
        status
    }

    /// For who would wait, and so isn't refused: takes if nobody waits and it is there.
    #[inline]
    pub(super) fn take_free(&self, cost: u64) -> bool {
        let status = match &self.states {
            States::One(State::Gcra(cell)) => cell.try_charge(&self.clock, cost),
            _ => self.try_other(cost),
        };
        let taken = status == Some(Status::Allowed);
        if taken {
            self.counters.increment(Count::Allowed);
        }
        taken
    }

    /// Apart from gcra's path, which is to be short. `None` if somebody waits.
    #[inline(never)]
    fn try_other(&self, cost: u64) -> Option<Status> {
        match &self.states {
            States::One(state) => state.try_charge(&self.clock, cost),
            States::Several(states) => {
                if self.take_all(states, cost) {
                    return Some(Status::Allowed);
                }
                let named = self.ask(cost, true).named;
                (!named.behind_waiters).then_some(named.status)
            }
        }
    }

    /// Charges all and computes no figures; whether it did. If not, nothing is charged.
    fn take_all(&self, states: &[State], cost: u64) -> bool {
        let reset_count = self.reset_count.load(Ordering::Acquire);
        let now = self.clock.now_ns();
        pause(Pause::ClockRead);
        if !states.iter().all(|state| state.admits(now, cost)) {
            return false;
        }
        let mut charges = [None; MAX_QUOTAS];
        for (state, charge) in states.iter().zip(&mut charges) {
            *charge = state.take(now, cost);
            if charge.is_none() {
                self.take_back(&charges, cost, reset_count);
                return false;
            }
        }
        true
    }

    /// Who waits may have done so in the parent of this process: then nobody does.
    #[cold]
    #[inline(never)]
    fn refused_by_waiters(&self, cost: u64) -> Status {
        self.desk.forget_parents(|| self.unmark());
        self.ask(cost, true).named.status
    }

    pub(super) fn decision(&self, cost: u64, spend: bool) -> Decision {
        // Before the charge: a reset in between leaves an older count here, and the refund then does nothing.
        let reset_count = self.reset_count.load(Ordering::Acquire);
        let joint = if spend { self.charge(cost) } else { self.decide(cost, false) };
        joint.decision(spend, Grant { limiter_id: self.id, cost, granted_at_ns: 0, reset_count, key_hash: 0 })
    }

    /// Takes if it can, and counts.
    pub(super) fn charge(&self, cost: u64) -> Joint {
        let joint = self.decide(cost, true);
        self.count(joint.named.status);
        joint
    }

    fn decide(&self, cost: u64, spend: bool) -> Joint {
        let joint = self.ask(cost, spend);
        if joint.named.behind_waiters { self.behind_waiters(cost, spend) } else { joint }
    }

    #[cold]
    fn behind_waiters(&self, cost: u64, spend: bool) -> Joint {
        self.desk.forget_parents(|| self.unmark());
        let mut joint = self.ask(cost, spend);
        if joint.named.behind_waiters && joint.named.status == Status::Denied {
            joint.named.retry_after_ns = wait::least_wait_ns(self, cost);
        }
        joint
    }

    fn ask(&self, cost: u64, spend: bool) -> Joint {
        let ask = |now| match (&self.states, spend) {
            (States::One(state), true) => state.charge(now, cost).0.into(),
            (States::One(state), false) => state.peek(now, cost).into(),
            (States::Several(states), true) => self.charge_all(states, now, cost),
            (States::Several(states), false) => peek_all(states, now, cost),
        };
        let mut now = self.clock.now_ns();
        loop {
            pause(Pause::ClockRead);
            let joint: Joint = ask(now);
            match joint.overtaken_by(now, &self.clock) {
                Some(later) => now = later,
                None => return joint,
            }
        }
    }

    /// For the head of the queue, as of `at`.
    fn charge_waiter(&self, cost: u64, at: u64) -> Option<Granted> {
        let reset_count = self.reset_count.load(Ordering::Acquire);
        let mut granted = Granted { at_ns: at, void_count: reset_count };
        let mut charges = [None; MAX_QUOTAS];
        for (state, charge) in self.states().iter().zip(&mut charges) {
            let (judged, undo) = state.charge_waiter(at, cost);
            if judged.status != Status::Allowed {
                self.take_back(&charges, cost, reset_count);
                return None;
            }
            granted.at_ns = granted.at_ns.min(judged.granted_at_ns);
            *charge = Some((undo, judged.granted_at_ns));
        }
        Some(granted)
    }

    /// Reads all; if any refuses, nothing is written. Else charges in list order; if one refuses by then, what was charged is
    /// taken back.
    fn charge_all(&self, states: &[State], now: u64, cost: u64) -> Joint {
        let reset_count = self.reset_count.load(Ordering::Acquire);
        if !states.iter().all(|state| state.admits(now, cost)) {
            let looked = peek_all(states, now, cost);
            if looked.named.status != Status::Allowed {
                return looked;
            }
        }
        let mut joint: Option<Joint> = None;
        let mut charges = [None; MAX_QUOTAS];
        for (index, state) in states.iter().enumerate() {
            let (judged, undo) = state.charge(now, cost);
            if judged.status != Status::Allowed {
                self.take_back(&charges, cost, reset_count);
                return peek_all(states, now, cost).but_refused(index, judged);
            }
            charges[index] = Some((undo, judged.granted_at_ns));
            joint = Some(match joint {
                None => judged.into(),
                Some(joint) => joint.and(index, judged),
            });
        }
        joint.expect("a list of quotas is never empty")
    }

    /// After a reset or a change of quotas nothing is taken back, as nothing is refunded: it would be another's.
    #[cold]
    fn take_back(&self, charges: &[Option<(Undo, u64)>; MAX_QUOTAS], cost: u64, reset_count: u64) {
        let _unchanging = self.quotas.lock();
        if reset_count != self.reset_count.load(Ordering::Acquire) {
            return;
        }
        for (state, charge) in self.states().iter().zip(charges) {
            let Some((undo, granted_at_ns)) = *charge else { break };
            state.undo(undo, &self.clock, cost, granted_at_ns);
        }
    }

    /// Makes a change after which no grant from before, or from meanwhile, can be refunded. Only under the lock `quotas`.
    fn voiding_grants(&self, change: impl FnOnce()) {
        // AcqRel, before and after: a call reads the count first and charges then, so one that reads the last count charges
        // what the change has left.
        self.reset_count.fetch_add(1, Ordering::AcqRel);
        change();
        self.reset_count.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn give_back_grant(&self, grant: &Grant) {
        self.give_back_since(grant.reset_count, grant.cost, grant.granted_at_ns);
    }

    /// Gives back what was granted when `reset_count` was this, if it still is.
    fn give_back_since(&self, reset_count: u64, cost: u64, granted_at_ns: u64) {
        {
            let _unchanging = self.quotas.lock();
            if reset_count != self.reset_count.load(Ordering::Acquire) {
                return;
            }
            for state in self.states() {
                state.refund(&self.clock, cost, granted_at_ns);
            }
        }
        self.tell_waiters();
    }

    pub(super) fn reset(&self) {
        {
            let _unchanging = self.quotas.lock();
            self.voiding_grants(|| self.states().iter().for_each(|state| state.reset(&self.clock)));
        }
        self.tell_waiters();
    }

    pub(super) fn reconfigure(&self, new: Vec<Quota>) -> Result<(), Error> {
        {
            let mut quotas = self.quotas.lock();
            check_same_kinds(&quotas, &new)?;
            if new == *quotas {
                return Ok(());
            }
            self.voiding_grants(|| {
                for (state, (old, new)) in self.states().iter().zip(quotas.iter().zip(&new)) {
                    if old != new {
                        state.reconfigure(new, &self.clock);
                    }
                }
            });
            // In place: whenever a fork comes, a child has a list.
            quotas.copy_from_slice(&new);
        }
        if self.states()[0].has_waiters() {
            wait::settle_changed(self, || {});
        }
        Ok(())
    }

    /// After something may have become due sooner, or can't be had any more.
    fn tell_waiters(&self) {
        if self.states()[0].has_waiters() {
            wait::settle(self);
        }
    }

    /// Charges ahead of time.
    pub(super) fn reserve(&self, cost: u64, max_wait_ns: u64) -> Result<Reservation, Status> {
        let States::One(State::Gcra(cell)) = &self.states else { return Err(Status::Unsupported) };
        self.desk.forget_parents(|| self.unmark());
        // Before the charge, as in `decision`.
        let reset_count = self.reset_count.load(Ordering::Acquire);
        let reserved = cell.reserve(&self.clock, cost, max_wait_ns).ok_or_else(|| match cell.due(0, cost) {
            Due::Refused(status) => status,
            _ => Status::TimedOut,
        });
        self.counters.increment(Count::of_wait(reserved.as_ref().map_or_else(|status| *status, |_| Status::Allowed)));
        let Reserved { due_ns, wait_ns, before, after } = reserved?;
        Ok(Reservation { limiter_id: self.id, due_ns, wait_ns, before, after, reset_count, key_hash: 0 })
    }

    /// Whether anything was given back.
    pub(super) fn cancel_reservation(&self, reservation: &Reservation) -> bool {
        let States::One(State::Gcra(cell)) = &self.states else { return false };
        let Reservation { due_ns, before, after, reset_count, .. } = *reservation;
        {
            let _unchanging = self.quotas.lock();
            if reset_count != self.reset_count.load(Ordering::Acquire) || self.clock.now_ns() >= due_ns {
                return false;
            }
            if !cell.take_back_reservation(before, after) {
                return false;
            }
        }
        self.tell_waiters();
        true
    }

    fn states(&self) -> &[State] {
        match &self.states {
            States::One(state) => std::slice::from_ref(state),
            States::Several(states) => states,
        }
    }

    #[inline]
    fn count(&self, status: Status) {
        self.counters.increment(if status == Status::Allowed { Count::Allowed } else { Count::Denied });
    }
}

impl Source for Shared {
    fn open(&self) -> impl DerefMut<Target = Queue> + '_ {
        self.desk.open(|| self.unmark())
    }

    fn max_waiters(&self) -> u64 {
        self.desk.max_waiters()
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn due(&self, cost: u64, from_ns: u64) -> Due {
        self.states().iter().fold(Due::At(from_ns), |due, state| due.and(state.due(from_ns, cost)))
    }

    fn take(&self, cost: u64, at_ns: u64) -> Result<Option<Granted>, Status> {
        Ok(self.charge_waiter(cost, at_ns))
    }

    fn take_now(&self, cost: u64) -> Option<u64> {
        let named = self.ask(cost, true).named;
        (named.status == Status::Allowed).then_some(named.granted_at_ns)
    }

    /// Marks in any case: if it can be had by now, the head finds so at once.
    fn mark_or_take(&self, _cost: u64) -> Result<Option<u64>, Status> {
        self.states()[0].set_waiters(true);
        Ok(None)
    }

    fn unmark(&self) {
        self.states()[0].set_waiters(false);
    }

    /// With several quotas the longest of what each alone would take: the true wait may be longer.
    fn least_wait_ns(&self, ahead: impl Iterator<Item = u64> + Clone, total_ahead: u64, cost: u64) -> u64 {
        let now = self.clock.now_ns();
        let wait_ns = |state: &State| state.wait_ns(now, ahead.clone(), total_ahead, cost);
        self.states().iter().map(wait_ns).max().unwrap_or(0)
    }

    fn ended(&self, status: Status) {
        self.counters.increment(Count::of_wait(status));
    }

    /// By the refund rule.
    fn give_back(&self, cost: u64, Granted { at_ns, void_count }: Granted) {
        self.give_back_since(void_count, cost, at_ns);
    }
}

impl Watcher for Shared {
    fn clock_moved(&self) {
        wait::settle_all(self);
    }
}

impl Drop for Shared {
    /// Who waits by a listener may outlast the limiter.
    fn drop(&mut self) {
        wait::close(self, || {});
    }
}

fn peek_all(states: &[State], now: u64, cost: u64) -> Joint {
    let joint = states[0].peek(now, cost).into();
    states
        .iter()
        .enumerate()
        .skip(1)
        .fold(joint, |joint: Joint, (index, state)| joint.and(index, state.peek(now, cost)))
}
