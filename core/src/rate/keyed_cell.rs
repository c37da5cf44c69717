//! One quota's states in a table, and the settings that they are read under.
//!
//! As in a [`Cell`](super::cell), settings are kept twice, and a slot's generation names those it is to be read under. A change
//!
//! 1. holds all locks under which keys enter, so that none does, 2. writes the other buffer, 3. moves every slot to the next
//!    generation, each in one step, 4. makes that the generation in which keys enter.
//!
//! Whoever decides meanwhile finds the settings of its slot in one of the two buffers, moved or not. A buffer is written again
//! only by the change after, when no slot of its generation is left: then whoever still holds such a word fails to exchange it, or,
//! to refuse, sees that the slot no longer bears the same tag and generation. (Generations wrap, as there.)

use super::cell::{By, OVERTAKEN_NS};
use super::settings::{Buffers, GENERATIONS};
use super::slot::{Slotted, State};
use super::state::{Judgement, Undo, judge, refusal};
use crate::algorithm::{Algorithm, Carry};
use crate::clock::Clock;
use crate::sync::{AtomicU64, Pause, back_off, fence, pause};
use crate::table::{EMPTY, Full, KeyHash, PINNED, Place, Region, Stripes, Table, Tenants, WhenFull};
use crate::wait::Due;
use crate::{Error, NEVER_NS, Status};
use std::sync::atomic::Ordering;

pub(crate) struct KeyedCell<A: Slotted> {
    table: Table,
    buffers: Buffers,
    /// In which keys enter.
    generation: AtomicU64,
    of: std::marker::PhantomData<A>,
}

/// Why a call can't be decided on the path of a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detour {
    /// The key must enter, under the lock of its stripe.
    Absent,
    /// The origin must move first, under all locks.
    PastHorizon,
    /// Somebody waits for the key.
    Waiters,
}

/// A decision that was made, with what it was made from.
struct Step<A: Slotted> {
    status: Status,
    settings: A,
    before: u128,
    after: u128,
    /// As in [`Cell`](super::cell).
    behind_waiters: bool,
}

impl<A: Slotted> Step<A> {
    /// Whether it was refused for a time that others have overtaken, as in [`Cell`](super::cell).
    #[inline]
    fn was_overtaken(&self, now: u64, cost: u64, clock: &Clock) -> bool {
        let admits = |at| {
            let state = self.settings.state_of(self.after);
            self.settings.is_past_horizon(at) || self.settings.rule().charge(state, at, cost).is_some()
        };
        admits(now.saturating_add(OVERTAKEN_NS)) && admits(clock.now_ns())
    }

    fn judged(&self, now: u64, cost: u64) -> Judgement {
        let judged = judge(&self.settings.rule(), self.status, self.settings.state_of(self.after), now, cost);
        if self.behind_waiters { judged.behind_waiters() } else { judged }
    }
}

impl<A: Slotted> KeyedCell<A> {
    pub(crate) fn new(settings: A, max_keys: u64, when_full: WhenFull, region: Option<Region>) -> Result<Self, Error> {
        Ok(Self {
            table: Table::new(max_keys, A::TAG_BITS, when_full, region)?,
            buffers: Buffers::new(settings.to_settings()),
            generation: AtomicU64::new(0),
            of: std::marker::PhantomData,
        })
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    #[inline]
    pub(super) fn find(&self, hash: KeyHash) -> Option<(Place, u128)> {
        self.table.find(hash, A::TAG_BITS)
    }

    #[inline]
    pub(super) fn settings(&self, generation: u8) -> A {
        A::from_settings(self.buffers.reader(generation))
    }

    /// What a slot holds, to see whether settings that were read for its generation can be relied on: if it has that still.
    #[inline]
    pub(super) fn load_again(&self, place: Place) -> u128 {
        // Acquire: if a setting was read that a later change wrote, the load below sees the slot as the change before that
        // left it, or later (that change's exchanges, the later one's release fence, what it wrote, in this order).
        fence(Ordering::Acquire);
        self.table.load(place)
    }

    #[inline]
    pub(super) fn exchange(&self, place: Place, before: u128, after: u128) -> bool {
        // Acquire: as in `load_again`.
        fence(Ordering::Acquire);
        self.table.exchange(place, before, after).is_ok()
    }

    /// Decides on the word of a key by the settings of its generation. `None` if another thread came between, or the word is one that
    /// never was.
    #[inline(always)]
    fn attempt(
        &self,
        (place, word): (Place, u128),
        settings: A,
        now: u64,
        cost: u64,
        spend: bool,
    ) -> Option<Result<Step<A>, Detour>> {
        if settings.is_past_horizon(now) {
            return Some(Err(Detour::PastHorizon));
        }
        let (status, after) = match settings.rule().charge(settings.state_of(word), now, cost) {
            Some(state) if spend => {
                let after = settings.replaced(word, state);
                if !self.exchange(place, word, after) {
                    return None;
                }
                (Status::Allowed, after)
            }
            charged => {
                if self.load_again(place) != word {
                    return None;
                }
                (charged.map_or_else(|| refusal(&settings.rule(), cost), |_| Status::Allowed), word)
            }
        };
        Some(Ok(Step { status, settings, before: word, after, behind_waiters: false }))
    }

    #[inline]
    fn step(&self, hash: KeyHash, now: u64, cost: u64, spend: bool, by: By) -> Result<Step<A>, Detour> {
        loop {
            let found = self.find(hash).ok_or(Detour::Absent)?;
            let behind_waiters = by == By::Comer && found.1 & A::waiters() != 0;
            let settings = self.settings(A::generation(found.1));
            if let Some(step) = self.attempt(found, settings, now, cost, spend && !behind_waiters) {
                return step.map(|step| Step { behind_waiters, ..step });
            }
            back_off();
        }
    }

    /// The hot path: one attempt without a loop, on what a glimpse shows.
    #[inline(always)]
    pub(crate) fn try_charge(&self, hash: KeyHash, now: u64, clock: &Clock, cost: u64) -> Result<Status, Detour> {
        match self.attempt_at_once(hash, now, cost) {
            Some(Ok(step)) if step.status == Status::Allowed || !step.was_overtaken(now, cost, clock) => {
                Ok(step.status)
            }
            Some(Err(detour)) => Err(detour),
            _ => self.try_charge_again(hash, clock, cost),
        }
    }

    /// [`charge`](Self::charge) by that path, if it admits: else nothing is charged.
    pub(crate) fn charge_at_once(&self, hash: KeyHash, now: u64, cost: u64) -> Option<Judgement> {
        match self.attempt_at_once(hash, now, cost) {
            Some(Ok(step)) if step.status == Status::Allowed => {
                pause(Pause::Charged);
                Some(step.judged(now, cost))
            }
            _ => None,
        }
    }

    /// `None` if it must be made again.
    #[inline(always)]
    fn attempt_at_once(&self, hash: KeyHash, now: u64, cost: u64) -> Option<Result<Step<A>, Detour>> {
        pause(Pause::ClockRead);
        // The settings don't wait for the slot: nearly always it has the generation in which keys enter. Acquire: its settings were
        // written before.
        let generation = self.generation.load(Ordering::Acquire) as u8;
        let settings = self.settings(generation);
        let Some(found) = self.table.glimpse(hash, A::TAG_BITS) else { return Some(Err(Detour::Absent)) };
        // Also if somebody waits.
        if A::flags_and_generation(found.1) != generation {
            return None;
        }
        self.attempt(found, settings, now, cost, true)
    }

    #[cold]
    #[inline(never)]
    fn try_charge_again(&self, hash: KeyHash, clock: &Clock, cost: u64) -> Result<Status, Detour> {
        loop {
            back_off();
            let now = clock.now_ns();
            pause(Pause::ClockRead);
            let step = self.step(hash, now, cost, true, By::Comer)?;
            if step.behind_waiters {
                return Err(Detour::Waiters);
            }
            if step.status == Status::Allowed || !step.was_overtaken(now, cost, clock) {
                return Ok(step.status);
            }
        }
    }

    pub(crate) fn charge(&self, hash: KeyHash, now: u64, cost: u64, by: By) -> Result<(Judgement, Undo), Detour> {
        let step = self.step(hash, now, cost, true, by)?;
        pause(Pause::Charged);
        Ok((step.judged(now, cost), Undo::Wide(step.before, step.after)))
    }

    pub(crate) fn peek(&self, hash: KeyHash, now: u64, cost: u64, by: By) -> Result<Judgement, Detour> {
        Ok(self.step(hash, now, cost, false, by)?.judged(now, cost))
    }

    /// When the head of a key's line can have `cost`, from `from` on. A key that is away has nothing used.
    pub(crate) fn due(&self, hash: KeyHash, from: u64, cost: u64) -> Result<Due, Detour> {
        let judged = match self.peek(hash, from, cost, By::Waiter) {
            Err(Detour::Absent) => self.judged_afresh(from, cost),
            judged => judged?,
        };
        Ok(match judged.status {
            Status::Allowed => Due::At(from),
            Status::ExceedsCapacity => Due::Refused(Status::ExceedsCapacity),
            _ if judged.retry_after_ns == NEVER_NS => Due::Unknown,
            _ => Due::At(from.saturating_add(judged.retry_after_ns)),
        })
    }

    fn judged_afresh(&self, now: u64, cost: u64) -> Judgement {
        // Acquire: as `try_charge` says.
        let rule = self.settings(self.generation.load(Ordering::Acquire) as u8).rule();
        let status = if rule.exceeds(cost) { refusal(&rule, cost) } else { Status::Allowed };
        judge(&rule, status, <A::Rule as Algorithm>::FRESH, now, cost)
    }

    /// How long `cost` must wait behind the costs `ahead`.
    pub(crate) fn wait_ns(
        &self,
        hash: KeyHash,
        now: u64,
        ahead: impl Iterator<Item = u64>,
        total_ahead: u64,
        cost: u64,
    ) -> u64 {
        let (rule, state) = match self.step(hash, now, cost, false, By::Waiter) {
            Ok(step) => (step.settings.rule(), step.settings.state_of(step.after)),
            Err(_) => {
                let settings = self.settings(self.generation.load(Ordering::Acquire) as u8);
                (settings.rule(), <A::Rule as Algorithm>::FRESH)
            }
        };
        if rule.limit() == 0 { NEVER_NS } else { rule.wait_ns(state, now, ahead, total_ahead, cost) }
    }

    pub(crate) fn has_waiters(&self, hash: KeyHash) -> bool {
        self.find(hash).is_some_and(|(_, word)| word & A::waiters() != 0)
    }

    /// Says that somebody waits for a key, which comes in if it is away.
    pub(crate) fn mark(&self, hash: KeyHash, clock: &Clock, stripes: &Stripes) -> Result<(), Full> {
        while !self.set_waiters(hash, true) {
            let _lock = stripes.lock(hash);
            if self.find(hash).is_some() {
                continue;
            }
            // As in `enter`.
            let now = clock.now_ns();
            let generation = self.generation.load(Ordering::Relaxed) as u8;
            let settings = self.settings(generation);
            let fresh = settings.word(hash.tag(A::TAG_BITS), generation, settings.rule().fresh_at(now));
            return self.table.put(hash, fresh | A::waiters(), &Reading { settings, now }, stripes).map(drop);
        }
        Ok(())
    }

    /// Whether the key is there.
    pub(crate) fn set_waiters(&self, hash: KeyHash, waiters: bool) -> bool {
        while let Some((place, word)) = self.find(hash) {
            let marked = if waiters { word | A::waiters() } else { word & !A::waiters() };
            if marked == word || self.table.exchange(place, word, marked).is_ok() {
                return true;
            }
        }
        false
    }

    /// Nobody waits for any key.
    pub(crate) fn unmark_all(&self) {
        for place in self.table.places() {
            let mut word = self.table.load(place);
            while word & A::waiters() != 0 {
                match self.table.exchange(place, word, word & !A::waiters()) {
                    Ok(_) => break,
                    Err(there) => word = there,
                }
            }
        }
    }

    /// Makes everything of a key unspent that somebody waits for, and so keeps its slot; `false` if it isn't such a one. Only under
    /// the lock of its stripe.
    pub(crate) fn refresh(&self, hash: KeyHash, clock: &Clock) -> bool {
        while let Some((place, word)) = self.find(hash)
            && word & A::waiters() != 0
        {
            let settings = self.settings(A::generation(word));
            let fresh = settings.rule().fresh_at(clock.now_ns());
            if self.exchange(place, word, settings.replaced(word, fresh)) {
                return true;
            }
        }
        false
    }

    pub(crate) fn is_absent(&self, hash: KeyHash) -> bool {
        self.find(hash).is_none()
    }

    /// Decides for a key that is away. Only under the lock of its stripe, and with a `now` that was read after the key was
    /// seen to be away (see [`table`](crate::table)). What undoes a charge is to leave the slot empty.
    pub(crate) fn enter(
        &self,
        hash: KeyHash,
        now: u64,
        cost: u64,
        spend: bool,
        stripes: &Stripes,
    ) -> Result<(Judgement, Undo), Detour> {
        // Nothing changes the settings while a stripe is locked.
        let generation = self.generation.load(Ordering::Relaxed) as u8;
        let settings = self.settings(generation);
        if settings.is_past_horizon(now) {
            return Err(Detour::PastHorizon);
        }
        let tenants = Reading { settings, now };
        let fresh = <A::Rule as Algorithm>::FRESH;
        let rule = settings.rule();
        let Some(state) = rule.charge(fresh, now, cost) else {
            return Ok((judge(&rule, refusal(&rule, cost), fresh, now, cost), Undo::Wide(EMPTY, EMPTY)));
        };
        let word = settings.word(hash.tag(A::TAG_BITS), generation, state);
        #[cfg(loom)]
        if stripes.protocol == crate::table::Protocol::Tentative {
            let confirmed = self.table.put_tentatively(hash, word, &tenants).then_some(Undo::Wide(EMPTY, word));
            let judged = judge(&rule, Status::Allowed, state, now, cost);
            return confirmed.map(|undo| (judged, undo)).ok_or(Detour::Absent);
        }
        let put = if spend {
            self.table.put(hash, word, &tenants, stripes).map(drop)
        } else {
            self.table.has_room(hash, &tenants)
        };
        let judged = match put {
            Ok(()) => judge(&rule, Status::Allowed, if spend { state } else { fresh }, now, cost),
            Err(Full { rest_at_ns }) => Judgement {
                remaining: 0,
                retry_after_ns: rest_at_ns.saturating_sub(now),
                ..judge(&rule, Status::KeysFull, fresh, now, cost)
            },
        };
        Ok((judged, Undo::Wide(EMPTY, word)))
    }

    /// Takes back a charge that was just made as if it had not been; only if nothing happened since.
    pub(crate) fn undo(&self, hash: KeyHash, undo: Undo) -> bool {
        let Undo::Wide(before, after) = undo else { unreachable!("a slot is a wide word") };
        while let Some((place, word)) = self.find(hash)
            && word == after
        {
            if self.table.exchange(place, after, before).is_ok() {
                return true;
            }
        }
        false
    }

    /// By the refund rule. Only under the lock of the key's stripe, so that the key isn't evicted and started afresh meanwhile.
    /// The clock is read after the key's state, as in [`Cell`](super::cell).
    pub(crate) fn refund(&self, hash: KeyHash, clock: &Clock, cost: u64, granted_at: u64) {
        while let Some((place, word)) = self.find(hash) {
            let settings = self.settings(A::generation(word));
            let now = clock.now_ns();
            let state = settings.rule().refund(settings.state_of(word), now, cost, granted_at);
            if self.exchange(place, word, settings.replaced(word, state)) {
                return;
            }
        }
    }

    /// Takes a key out, for it to come into another cell. Only under the lock of its stripe.
    pub(crate) fn leave(&self, hash: KeyHash) -> Option<Leaver<A>> {
        while let Some((place, word)) = self.find(hash) {
            let settings = self.settings(A::generation(word));
            if self.exchange(place, word, EMPTY) {
                let (state, waiters) = (settings.state_of(word), word & A::waiters());
                return Some(Leaver { settings, state, waiters });
            }
        }
        None
    }

    /// Brings a key in with what it owes after it left another cell. Only under all locks, and with a `now` that was read
    /// after it left. Where there is no room the key that owes the smallest share makes it, whatever was chosen for new keys: this
    /// one isn't new, and neither may lose it what it owes.
    pub(crate) fn arrive(&self, hash: KeyHash, leaver: Leaver<A>, now: u64, stripes: &Stripes) {
        let Leaver { settings: from, state, waiters } = leaver;
        self.move_origin(now);
        if from.share(state, now) == 0 && waiters == 0 {
            return;
        }
        let generation = self.generation.load(Ordering::Relaxed) as u8;
        let settings = A::from_settings(self.buffers.reader(generation));
        let state = from.rule().carry(state, now, &settings.rule());
        let word = settings.word(hash.tag(A::TAG_BITS), generation, state) | waiters;
        if self.table.put_or(WhenFull::Evict, hash, word, &Reading { settings, now }, stripes).is_err() {
            // All eight are waited for. Then this one is forgotten, and who waits for it finds so when due.
            self.table.count_evicted();
        }
    }

    /// Only under all locks.
    pub(crate) fn reconfigure(&self, clock: &Clock, settings: A) {
        self.change(|| clock.now_ns(), |_| settings, A::Rule::carry);
    }

    /// Counts time from a later origin, if another thread hasn't moved it. Only under all locks.
    pub(crate) fn move_origin(&self, now: u64) {
        let generation = self.generation.load(Ordering::Relaxed) as u8;
        if self.settings(generation).is_past_horizon(now) {
            self.change(|| now, |settings| settings.moved_to(now), A::Rule::carry_moved);
        }
    }

    fn change(&self, now: impl Fn() -> u64, change: impl FnOnce(A) -> A, carry: Carry<A::Rule>) {
        let generation = self.generation.load(Ordering::Relaxed) as u8;
        let from = self.settings(generation);
        let to = change(from);
        let next = (generation + 1) % GENERATIONS;
        self.buffers.write(next, to.to_settings());
        for place in self.table.places() {
            self.carry(place, &now, (&from, &to), carry, next);
        }
        // Release: as `try_charge` says. (Who enters reads it under a lock that is held here.)
        self.generation.store(u64::from(next), Ordering::Release);
    }

    /// Moves a slot to the next generation. A key at rest leaves: its times may be older than can be told from a new origin.
    fn carry(&self, place: Place, now: &impl Fn() -> u64, (from, to): (&A, &A), carry: Carry<A::Rule>, next: u8) {
        loop {
            let word = self.table.load(place);
            if word == EMPTY {
                return;
            }
            let state = from.state_of(word);
            let now = now();
            let waiters = word & A::waiters();
            let after = if from.share(state, now) == 0 && waiters == 0 {
                EMPTY
            } else {
                to.word(A::tag(word), next, carry(&from.rule(), state, now, &to.rule())) | waiters
            };
            if self.table.exchange(place, word, after).is_ok() {
                return;
            }
        }
    }

    /// About how many keys aren't at rest.
    pub(crate) fn live_keys(&self, now: u64) -> u64 {
        self.table.live_keys(|place, word| {
            let settings = self.settings(A::generation(word));
            let is_live = settings.share(settings.state_of(word), now) > 0;
            is_live && (self.load_again(place) ^ word) >> (120 - A::TAG_BITS) == 0
        })
    }
}

/// A key on its way to another cell.
pub(crate) struct Leaver<A: Slotted> {
    settings: A,
    state: State<A>,
    waiters: u128,
}

/// How the slots of a table are read as of a time; all have the same settings while a stripe is locked.
struct Reading<A: Slotted> {
    settings: A,
    now: u64,
}

impl<A: Slotted> Reading<A> {
    fn state(&self, word: u128) -> State<A> {
        self.settings.state_of(word)
    }
}

impl<A: Slotted> Tenants for Reading<A> {
    #[inline]
    fn share(&self, word: u128) -> u64 {
        if word & A::waiters() != 0 { PINNED } else { self.settings.share(self.state(word), self.now) }
    }

    fn rest_at_ns(&self, word: u128) -> u64 {
        self.now.saturating_add(self.settings.rule().reset_after_ns(self.state(word), self.now))
    }
}
