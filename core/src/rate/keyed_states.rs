//! All quotas of a keyed limiter: how a call finds its key, or brings it in, and decides by all of them.
//!
//! Where a key is to be found, and when that may change, stands at the head of [`own_quotas`](super::own_quotas).

use super::Joint;
use super::cell::By;
use super::keyed_cell::Detour;
use super::keyed_state::KeyedState;
use super::own_quotas::{Own, OwnQuotas};
use super::state::{Judgement, Undo};
use crate::Status;
use crate::clock::Clock;
use crate::quota::MAX_QUOTAS;
use crate::sync::{Pause, pause};
use crate::table::{Full, KeyHash, Stripes};
use crate::wait::{Due, KeyedDesk};
use std::sync::Arc;

/// One table for each quota, and the locks under which keys enter any of them.
pub(super) struct KeyedStates {
    pub(super) states: Box<[KeyedState]>,
    pub(super) own: OwnQuotas,
    pub(super) stripes: Stripes,
    pub(super) clock: Clock,
    pub(super) desk: KeyedDesk,
}

/// One call for one key.
#[derive(Clone, Copy)]
struct Call<'a> {
    /// Where the key is to be found: in the tables of all, or in its own.
    states: &'a [KeyedState],
    hash: KeyHash,
    now: u64,
    cost: u64,
    /// Of each quota whether its table lacks the key for sure: while the lock of the key's stripe is held.
    absent: Option<[bool; MAX_QUOTAS]>,
    /// As it was before the call.
    void_count: u64,
    by: By,
}

impl KeyedStates {
    /// As of now. What comes from memory is on its way while the clock is read.
    #[inline(always)]
    pub(super) fn try_charge_now(&self, hash: KeyHash, cost: u64) -> Status {
        if let [KeyedState::Gcra(cell)] = &*self.states {
            cell.table().fetch_first(hash);
        }
        self.try_charge(hash, self.clock.now_ns(), cost)
    }

    /// The hot path: one quota by gcra, and the key is there. That some keys have quotas of their own costs the others nothing: those
    /// keys are not there.
    #[inline(always)]
    pub(super) fn try_charge(&self, hash: KeyHash, now: u64, cost: u64) -> Status {
        let charged = match &*self.states {
            [KeyedState::Gcra(cell)] => cell.try_charge(hash, now, &self.clock, cost),
            _ => return self.try_charge_other(hash, now, cost),
        };
        charged.unwrap_or_else(|_| self.try_charge_elsewhere(hash, now, cost))
    }

    /// The same with figures, and only if it admits a key that is there and not waited for: else nothing is charged.
    #[inline]
    pub(super) fn charge_at_once(&self, hash: KeyHash, cost: u64) -> Option<Judgement> {
        let [state] = &*self.states else { return None };
        state.table().fetch_first(hash);
        state.charge_at_once(hash, self.clock.now_ns(), cost)
    }

    /// Has what a key may be in fetched, without waiting for it.
    #[inline]
    pub(super) fn fetch(&self, hash: KeyHash) {
        self.states.iter().for_each(|state| state.table().fetch(hash));
    }

    #[inline(never)]
    fn try_charge_other(&self, hash: KeyHash, now: u64, cost: u64) -> Status {
        let charged = match &*self.states {
            [state] => state.try_charge(hash, now, &self.clock, cost),
            _ => return self.decide_as_comer(hash, now, cost, true).named.status,
        };
        charged.unwrap_or_else(|_| self.try_charge_elsewhere(hash, now, cost))
    }

    #[cold]
    #[inline(never)]
    fn try_charge_elsewhere(&self, hash: KeyHash, now: u64, cost: u64) -> Status {
        pause(Pause::NotInTable);
        let own = self.own.of(hash);
        let charged = match own.as_deref().map(|own| &*own.states) {
            Some([state]) => state.try_charge(hash, now, &self.clock, cost).ok(),
            _ => None,
        };
        charged.unwrap_or_else(|| {
            self.forget_parents_waiters();
            self.decide_in_time(hash, now, cost, true).named.status
        })
    }

    /// Charges if `spend`, all admit, and nobody waits.
    pub(super) fn decide_as_comer(&self, hash: KeyHash, now: u64, cost: u64, spend: bool) -> Joint {
        pause(Pause::ClockRead);
        let joint = self.decide_in_time(hash, now, cost, spend);
        if joint.named.behind_waiters && self.forget_parents_waiters() {
            return self.decide_in_time(hash, now, cost, spend);
        }
        joint
    }

    /// Again and again, for as long as others charge between its reading of the clock and its steps.
    fn decide_in_time(&self, hash: KeyHash, mut now: u64, cost: u64, spend: bool) -> Joint {
        loop {
            let joint = self.decide(hash, now, cost, spend, By::Comer);
            match joint.overtaken_by(now, &self.clock) {
                Some(later) => now = later,
                None => return joint,
            }
        }
    }

    /// Charges if `spend` and all admit.
    fn decide(&self, hash: KeyHash, now: u64, cost: u64, spend: bool, by: By) -> Joint {
        let void_count = self.stripes.void_count(hash);
        let call = Call { states: &self.states, hash, now, cost, absent: None, void_count, by };
        let mut decided = self.by_all(&call, spend);
        if decided.is_err()
            && let Some(own) = self.own.of(hash)
        {
            decided = self.by_all(&Call { states: &own.states, ..call }, spend);
        }
        decided.unwrap_or_else(|_| self.decide_locked(hash, cost, spend, by))
    }

    pub(super) fn states_of<'a>(&'a self, own: Option<&'a Own>) -> &'a [KeyedState] {
        own.map_or(&self.states, |own| &own.states)
    }

    /// For a key that a table lacks, or after the horizon.
    #[cold]
    #[inline(never)]
    fn decide_locked(&self, hash: KeyHash, cost: u64, spend: bool, by: By) -> Joint {
        loop {
            let lock = self.lock(hash);
            let own = self.own.of(hash);
            let states = self.states_of(own.as_deref());
            let absent = absences(states, hash);
            // After the look, for the reason that stands at the head of `table`.
            let now = self.clock.now_ns();
            let void_count = self.stripes.void_count(hash);
            match self.by_all(&Call { states, hash, now, cost, absent: Some(absent), void_count, by }, spend) {
                Ok(joint) => return joint,
                // One that was there was at rest and lost its slot since.
                Err(Detour::Absent | Detour::Waiters) => {}
                Err(Detour::PastHorizon) => {
                    drop(lock);
                    self.move_origins(states, now);
                }
            }
        }
    }

    #[cfg(not(loom))]
    fn lock(&self, hash: KeyHash) -> impl Sized + '_ {
        self.stripes.lock(hash)
    }

    #[cfg(loom)]
    fn lock(&self, hash: KeyHash) -> impl Sized + '_ {
        (self.stripes.protocol == crate::table::Protocol::Locked).then(|| self.stripes.lock(hash))
    }

    pub(super) fn move_origins(&self, states: &[KeyedState], now: u64) {
        let _none_enters = self.stripes.lock_all();
        for state in states {
            state.move_origin(now);
        }
    }

    /// Several quotas: looks at all, and if any refuses, nothing is written. Else charges in list order; if one refuses by then,
    /// what was charged is taken back.
    fn by_all(&self, call: &Call, spend: bool) -> Result<Joint, Detour> {
        if let [state] = call.states {
            return Ok(self.ask(call, 0, state, spend)?.0.into());
        }
        let looked = self.look(call)?;
        if !spend || looked.named.status != Status::Allowed {
            return Ok(looked);
        }
        let mut joint: Option<Joint> = None;
        let mut charges = [None; MAX_QUOTAS];
        for (index, state) in call.states.iter().enumerate() {
            match self.ask(call, index, state, true) {
                Ok((judged, undo)) if judged.status == Status::Allowed => {
                    charges[index] = Some((undo, judged.granted_at_ns));
                    joint = Some(match joint {
                        None => judged.into(),
                        Some(joint) => joint.and(index, judged),
                    });
                }
                Ok((refusal, _)) => {
                    self.take_back(call, &charges);
                    return Ok(self.look(&self.looked_again(call))?.but_refused(index, refusal));
                }
                Err(detour) => {
                    self.take_back(call, &charges);
                    return Err(detour);
                }
            }
        }
        Ok(joint.expect("a list of quotas is never empty"))
    }

    fn ask(&self, call: &Call, index: usize, state: &KeyedState, spend: bool) -> Result<(Judgement, Undo), Detour> {
        let Call { hash, now, cost, by, .. } = *call;
        if call.absent.is_some_and(|absent| absent[index]) {
            state.enter(hash, now, cost, spend, &self.stripes)
        } else if spend {
            state.charge(hash, now, cost, by)
        } else {
            state.peek(hash, now, cost, by).map(|judged| (judged, Undo::Wide(0, 0)))
        }
    }

    fn look(&self, call: &Call) -> Result<Joint, Detour> {
        let mut joint: Joint = self.ask(call, 0, &call.states[0], false)?.0.into();
        for (index, state) in call.states.iter().enumerate().skip(1) {
            joint = joint.and(index, self.ask(call, index, state, false)?.0);
        }
        Ok(joint)
    }

    /// A key that entered and was taken back may be there (another charged it too) or not.
    fn looked_again<'a>(&self, call: &Call<'a>) -> Call<'a> {
        let absent = call.absent.map(|_| absences(call.states, call.hash));
        Call { absent, ..*call }
    }

    #[cold]
    fn take_back(&self, call: &Call, charges: &[Option<(Undo, u64)>; MAX_QUOTAS]) {
        let _lock = call.absent.is_none().then(|| self.stripes.lock(call.hash));
        // Else the key may have been reset, or evicted and started afresh, which it can't while this call itself holds the
        // lock: what is there now would be another's.
        if call.absent.is_none() && self.stripes.void_count(call.hash) != call.void_count {
            return;
        }
        for (state, charge) in call.states.iter().zip(charges) {
            let Some((undo, granted_at_ns)) = *charge else { break };
            if !state.undo(call.hash, undo) {
                state.refund(call.hash, &self.clock, call.cost, granted_at_ns);
            }
        }
    }

    /// Gives back what was granted to a key before `void_count` moved on, if it hasn't.
    pub(super) fn refund(&self, hash: KeyHash, void_count: u64, cost: u64, granted_at_ns: u64) {
        // While it is held the key neither starts afresh nor changes its quota.
        let _lock = self.stripes.lock(hash);
        if void_count == self.stripes.void_count(hash) {
            for state in self.states_of(self.own.of(hash).as_deref()) {
                state.refund(hash, &self.clock, cost, granted_at_ns);
            }
        }
    }

    /// Takes a key out, so that it is as never seen but for quotas of its own.
    pub(super) fn reset(&self, hash: KeyHash) {
        let _lock = self.stripes.lock(hash);
        for state in self.states_of(self.own.of(hash).as_deref()) {
            // Who waits for it is not to be overtaken.
            self.stripes.void_key(hash);
            if state.refresh(hash, &self.clock) {
                self.stripes.void_key(hash);
            } else {
                state.table().remove(hash, &self.stripes);
            }
        }
    }

    /// Whether anything was forgotten.
    pub(super) fn forget_parents_waiters(&self) -> bool {
        self.desk.forget_parents(|| self.unmark_all())
    }

    /// In the child of a fork: nobody waits for any key.
    pub(super) fn unmark_all(&self) {
        let _none_enters = self.stripes.lock_all();
        self.states.iter().for_each(KeyedState::unmark_all);
        self.own.for_each(|own| own.states.iter().for_each(KeyedState::unmark_all));
    }

    /// Whether somebody waits for a key, as the first of its states knows.
    pub(super) fn has_waiters(&self, hash: KeyHash) -> bool {
        self.states_of(self.own.of(hash).as_deref())[0].has_waiters(hash)
    }

    /// Says so in all of them, where the key then stays: one that it came into only when it is charged couldn't be as of a time before.
    pub(super) fn mark(&self, hash: KeyHash) -> Result<(), Full> {
        let own = self.own.of(hash);
        let states = self.states_of(own.as_deref());
        for (index, state) in states.iter().enumerate() {
            if let Err(full) = state.mark(hash, &self.clock, &self.stripes) {
                states[..index].iter().for_each(|state| state.unmark(hash));
                return Err(full);
            }
        }
        Ok(())
    }

    pub(super) fn unmark(&self, hash: KeyHash) {
        self.states_of(self.own.of(hash).as_deref()).iter().for_each(|state| state.unmark(hash));
    }

    /// When the head of a key's line can have `cost`, from `from` on.
    pub(super) fn due(&self, hash: KeyHash, from: u64, cost: u64) -> Due {
        let own = self.own.of(hash);
        let states = self.states_of(own.as_deref());
        let mut joint = Due::At(from);
        for state in states {
            let due = loop {
                match state.due(hash, from, cost) {
                    Ok(due) => break due,
                    Err(_) => self.move_origins(states, self.clock.now_ns()),
                }
            };
            joint = joint.and(due);
        }
        joint
    }

    /// As for the quota that takes longest alone.
    pub(super) fn least_wait_ns(
        &self,
        hash: KeyHash,
        ahead: impl Iterator<Item = u64> + Clone,
        total_ahead: u64,
        cost: u64,
    ) -> u64 {
        let (own, now) = (self.own.of(hash), self.clock.now_ns());
        let wait_ns = |state: &KeyedState| state.wait_ns(hash, now, ahead.clone(), total_ahead, cost);
        self.states_of(own.as_deref()).iter().map(wait_ns).max().unwrap_or(0)
    }

    /// For the head of a key's line, as of `at`.
    pub(super) fn charge_waiter(&self, hash: KeyHash, at: u64, cost: u64) -> Judgement {
        self.decide(hash, at, cost, true, By::Waiter).named
    }

    /// Moves a key, with what it owes, to a place of its own, or to the tables of all. Only while nobody else does.
    pub(super) fn move_key(&self, hash: KeyHash, own: Option<Own>) {
        let _none_enters = self.stripes.lock_all();
        let (before, own) = (self.own.of(hash), own.map(Arc::new));
        // Before and after, as where all quotas change: a call that reads the last count charges what the move has left.
        self.stripes.void_key(hash);
        let (from, to) = (self.states_of(before.as_deref()), self.states_of(own.as_deref()));
        for (from, to) in from.iter().zip(to) {
            from.hand_over(hash, to, &self.clock, &self.stripes);
        }
        self.own.publish(hash, own.clone());
        self.stripes.void_key(hash);
    }

    /// About how many keys aren't at rest, the most over the quotas.
    pub(super) fn live_keys(&self) -> u64 {
        let now = self.clock.now_ns();
        let live = |(quota, state): (usize, &KeyedState)| state.live_keys(now) + self.own.live_keys(quota, now);
        self.states.iter().enumerate().map(live).max().unwrap_or(0)
    }
}

/// Which tables lack a key.
fn absences(states: &[KeyedState], hash: KeyHash) -> [bool; MAX_QUOTAS] {
    let mut absent = [false; MAX_QUOTAS];
    for (absent, state) in absent.iter_mut().zip(states) {
        *absent = state.is_absent(hash);
    }
    absent
}
