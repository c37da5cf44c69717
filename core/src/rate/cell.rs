//! One quota's state in one atomic word, and the settings that it is read under.
//!
//! Settings are kept twice. A word's generation names the buffer that holds its settings (its lowest bit) and whose turn it is: a
//! change writes the other buffer, then moves the word to the next generation in one step. Whoever decides
//!
//! 1. loads the word, 2. reads the settings of its generation, 3. decides, 4. exchanges the word, or, to refuse, sees that
//!    the generation is still the same.
//!
//! The buffer that is read in step 2 is written again only after the word has moved on, and then step 4 fails and all begins anew. It
//! is a seqlock whose sequence number lives in the word. (Generations wrap: step 4 would be fooled by a thread that sleeps
//! between 1 and 4 through a multiple of 16 changes that end on the very same word. Then that one call is charged by the
//! settings, and relative to the origin, that it read: it may be owed for as long as that origin is old.)

use super::settings::{Buffers, GENERATIONS};
use super::state::{Judgement, Undo, judge, refusal};
use super::word::{Packed, Word};
use crate::algorithm::gcra::Gcra;
use crate::algorithm::{Algorithm, Carry};
use crate::clock::Clock;
use crate::sync::{Lock, Padded, Pause, back_off, fence, pause};
use crate::wait::Due;
use crate::{NEVER_NS, Status};
use std::sync::atomic::Ordering;

#[repr(C)]
pub(crate) struct Cell<A: Packed> {
    word: Padded<<A::Word as Word>::Atomic>,
    buffers: Buffers,
    /// Keeps changes of the settings apart. Never held on the path of a decision.
    changing: Lock<()>,
}

/// For how long a thread may be suspended between its reading of the clock and its step without being refused what is there. Who is
/// refused for no more than this reads the clock again; who is refused for longer doesn't pay for that.
pub(crate) const OVERTAKEN_NS: u64 = 100_000_000;

/// What was charged ahead of time: the words without waiters before and after it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    pub(crate) due_ns: u64,
    pub(crate) wait_ns: u64,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// A decision that was made, with what it was made from.
struct Step<A: Packed> {
    status: Status,
    settings: A,
    before: A::Word,
    after: A::Word,
    /// Whether it was looked at without charging, since somebody waits.
    behind_waiters: bool,
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Comer,
    Waiter,
}

impl<A: Packed> Step<A> {
    /// Whether it was refused for a time that others have overtaken: by now, which is read after the state was, it would be admitted.
    #[inline]
    fn was_overtaken(&self, now: u64, cost: u64, clock: &Clock) -> bool {
        let admits =
            |at| self.settings.is_past_horizon(at) || self.settings.charge(A::unpack(self.after), at, cost).is_some();
        admits(now.saturating_add(OVERTAKEN_NS)) && admits(clock.now_ns())
    }

    fn is_admitted(&self) -> bool {
        self.status == Status::Allowed && !self.behind_waiters
    }

    fn judged(&self, now: u64, cost: u64) -> Judgement {
        let judged = judge(&self.settings, self.status, A::unpack(self.after), now, cost);
        if self.behind_waiters { judged.behind_waiters() } else { judged }
    }
}

impl<A: Packed> Cell<A> {
    pub(crate) fn new(algorithm: A) -> Self {
        Self {
            word: Padded(A::pack(A::FRESH, 0).new_atomic()),
            buffers: Buffers::new(algorithm.to_settings()),
            changing: Lock::new(()),
        }
    }

    #[inline]
    fn settings(&self, word: A::Word) -> A {
        // The word was loaded with acquire, and `unchanged` or the exchange after the fence proves that the buffer was not
        // overwritten meanwhile.
        A::from_settings(self.buffers.reader(A::generation(word)))
    }

    /// Whether what was read of the settings since `word` was loaded can be relied on.
    #[inline]
    fn unchanged(&self, word: A::Word) -> Result<(), A::Word> {
        // Acquire: if a setting was read that a later change wrote, the load below sees the generation before that change
        // at the latest (the change's release fence comes between the two).
        fence(Ordering::Acquire);
        let now = A::Word::load(&self.word.0);
        if A::generation(now) == A::generation(word) { Ok(()) } else { Err(now) }
    }

    #[inline]
    fn exchange(&self, before: A::Word, after: A::Word) -> Result<A::Word, A::Word> {
        // Acquire: as in `unchanged`.
        fence(Ordering::Acquire);
        A::Word::exchange(&self.word.0, before, after)
    }

    /// Decides on the state `word`; charges if `spend` and admitted. Fails with the word to try next if another thread, or
    /// a new origin, came between.
    #[inline(always)]
    fn attempt(&self, word: A::Word, now: u64, cost: u64, spend: bool) -> Result<Step<A>, A::Word> {
        let settings = self.settings(word);
        if settings.is_past_horizon(now) {
            return Err(self.move_origin(now));
        }
        let (status, after) = match settings.charge(A::unpack(word), now, cost) {
            Some(state) if spend => {
                let after = A::replace(word, state, A::generation(word));
                self.exchange(word, after)?;
                (Status::Allowed, after)
            }
            Some(_) => {
                self.unchanged(word)?;
                (Status::Allowed, word)
            }
            None => {
                self.unchanged(word)?;
                (refusal(&settings, cost), word)
            }
        };
        Ok(Step { status, settings, before: word, after, behind_waiters: false })
    }

    #[inline]
    fn step(&self, now: u64, cost: u64, spend: bool, by: By) -> Step<A> {
        let mut word = A::Word::load(&self.word.0);
        loop {
            let behind_waiters = by == By::Comer && word.has_waiters();
            match self.attempt(word, now, cost, spend && !behind_waiters) {
                Ok(step) => return Step { behind_waiters, ..step },
                Err(_) => {
                    back_off();
                    word = A::Word::load(&self.word.0);
                }
            }
        }
    }

    /// The hot path: one attempt without a loop, which needs fewer registers. `None` if somebody waits.
    #[inline(always)]
    pub(crate) fn try_charge(&self, clock: &Clock, cost: u64) -> Option<Status> {
        let now = clock.now_ns();
        pause(Pause::ClockRead);
        let word = A::Word::load(&self.word.0);
        if word.has_waiters() {
            return None;
        }
        match self.attempt(word, now, cost, true) {
            Ok(step) if step.status == Status::Allowed || !step.was_overtaken(now, cost, clock) => Some(step.status),
            _ => self.try_charge_again(clock, cost),
        }
    }

    /// With a new reading of the clock: the first may have been overtaken by who charged meanwhile, and then what is refused
    /// as of that time may be admitted as of this; which may be overtaken in turn, by others that get on.
    #[cold]
    #[inline(never)]
    fn try_charge_again(&self, clock: &Clock, cost: u64) -> Option<Status> {
        loop {
            back_off();
            let now = clock.now_ns();
            pause(Pause::ClockRead);
            let step = self.step(now, cost, true, By::Comer);
            if step.behind_waiters {
                return None;
            }
            if step.status == Status::Allowed || !step.was_overtaken(now, cost, clock) {
                return Some(step.status);
            }
        }
    }

    pub(crate) fn charge(&self, now: u64, cost: u64) -> (Judgement, Undo) {
        self.charge_by(now, cost, By::Comer)
    }

    /// For the head of the queue.
    pub(crate) fn charge_waiter(&self, at: u64, cost: u64) -> (Judgement, Undo) {
        self.charge_by(at, cost, By::Waiter)
    }

    fn charge_by(&self, now: u64, cost: u64, by: By) -> (Judgement, Undo) {
        let step = self.step(now, cost, true, by);
        pause(Pause::Charged);
        (step.judged(now, cost), A::Word::undo(step.before, step.after))
    }

    pub(crate) fn peek(&self, now: u64, cost: u64) -> Judgement {
        self.step(now, cost, false, By::Comer).judged(now, cost)
    }

    /// Whether `cost` would be admitted.
    pub(crate) fn admits(&self, now: u64, cost: u64) -> bool {
        self.step(now, cost, false, By::Comer).is_admitted()
    }

    /// What undoes a charge, and the time that it counts from, if it was admitted.
    pub(crate) fn take(&self, now: u64, cost: u64) -> Option<(Undo, u64)> {
        let step = self.step(now, cost, true, By::Comer);
        pause(Pause::Charged);
        let granted_at_ns = || step.settings.granted_at_ns(A::unpack(step.after), now);
        step.is_admitted().then(|| (A::Word::undo(step.before, step.after), granted_at_ns()))
    }

    pub(crate) fn due(&self, from: u64, cost: u64) -> Due {
        let step = self.step(from, cost, false, By::Waiter);
        match step.status {
            Status::Allowed => Due::At(from),
            Status::ExceedsCapacity => Due::Refused(Status::ExceedsCapacity),
            _ => match step.judged(from, cost).retry_after_ns {
                NEVER_NS => Due::Unknown,
                after_ns => Due::At(from.saturating_add(after_ns)),
            },
        }
    }

    pub(crate) fn wait_ns(&self, now: u64, ahead: impl Iterator<Item = u64>, total_ahead: u64, cost: u64) -> u64 {
        let Step { settings, after, .. } = self.step(now, cost, false, By::Waiter);
        if settings.limit() == 0 {
            return NEVER_NS;
        }
        settings.wait_ns(A::unpack(after), now, ahead, total_ahead, cost)
    }

    pub(crate) fn has_waiters(&self) -> bool {
        A::Word::load(&self.word.0).has_waiters()
    }

    pub(crate) fn set_waiters(&self, waiters: bool) {
        let mut word = A::Word::load(&self.word.0);
        while word.has_waiters() != waiters {
            match A::Word::exchange(&self.word.0, word, word.with_waiters(waiters)) {
                Ok(_) => return,
                Err(there) => word = there,
            }
        }
    }

    /// Takes back a charge that was just made: as if it had not been if nothing happened since, else by the refund rule. Only
    /// while nothing can have voided it.
    pub(crate) fn undo(&self, before: A::Word, after: A::Word, clock: &Clock, cost: u64, granted_at: u64) {
        let mut there = A::Word::load(&self.word.0);
        while there == after {
            match A::Word::exchange(&self.word.0, after, before) {
                Ok(_) => return,
                Err(now_there) => there = now_there,
            }
        }
        self.refund(clock, cost, granted_at);
    }

    pub(crate) fn refund(&self, clock: &Clock, cost: u64, granted_at: u64) {
        self.update(clock, |settings, state, now| settings.refund(state, now, cost, granted_at));
    }

    pub(crate) fn reset(&self, clock: &Clock) {
        self.update(clock, |settings, _, now| settings.fresh_at(now));
        pause(Pause::Reset);
    }

    /// Changes the state. The clock is read after each load of it: with a time that is older than the state too little would
    /// have leaked, and too much would be given back.
    fn update(&self, clock: &Clock, change: impl Fn(A, A::State, u64) -> A::State) {
        let mut word = A::Word::load(&self.word.0);
        loop {
            let state = change(self.settings(word), A::unpack(word), clock.now_ns());
            match self.exchange(word, A::replace(word, state, A::generation(word))) {
                Ok(_) => return,
                Err(there) => word = there,
            }
        }
    }

    pub(crate) fn reconfigure(&self, clock: &Clock, settings: A) {
        let _changing = self.changing.lock();
        self.change(|| clock.now_ns(), |_| settings, A::carry);
    }

    /// Counts time from a later origin; returns the word as it is then.
    #[cold]
    #[inline(never)]
    fn move_origin(&self, now: u64) -> A::Word {
        let _changing = self.changing.lock();
        let word = A::Word::load(&self.word.0);
        if !self.settings(word).is_past_horizon(now) {
            return word; // Another thread moved it.
        }
        self.change(|| now, |settings| settings.moved_to(now), A::carry_moved)
    }

    /// Only under the lock `changing`. Asks for the time after each load of the state, as `update` does.
    fn change(&self, now: impl Fn() -> u64, change: impl Fn(A) -> A, carry: Carry<A>) -> A::Word {
        let mut word = A::Word::load(&self.word.0);
        let from = self.settings(word);
        let to = change(from);
        let generation = (A::generation(word) + 1) % GENERATIONS;
        self.buffers.write(generation, to.to_settings());
        loop {
            let state = carry(&from, A::unpack(word), now(), &to);
            let next = A::replace(word, state, generation);
            match A::Word::exchange(&self.word.0, word, next) {
                Ok(_) => return next,
                Err(there) => word = there,
            }
        }
    }
}

impl Cell<Gcra> {
    /// Charges ahead of time; `None` if it would be due only after `max_wait_ns`, or somebody waits.
    pub(crate) fn reserve(&self, clock: &Clock, cost: u64, max_wait_ns: u64) -> Option<Reserved> {
        let mut before = <u64 as Word>::load(&self.word.0);
        loop {
            let now = clock.now_ns();
            let settings = self.settings(before);
            if Algorithm::is_past_horizon(&settings, now) {
                before = self.move_origin(now);
                continue;
            }
            let reserved = if before.has_waiters() {
                None
            } else {
                settings.reserve(Gcra::unpack(before), now, cost, max_wait_ns)
            };
            let Some((tat, wait_ns)) = reserved else {
                match self.unchanged(before) {
                    Ok(()) => return None,
                    Err(there) => before = there,
                }
                continue;
            };
            let after = Gcra::replace(before, tat, Gcra::generation(before));
            match self.exchange(before, after) {
                Ok(_) => return Some(Reserved { due_ns: now.saturating_add(wait_ns), wait_ns, before, after }),
                Err(there) => before = there,
            }
        }
    }

    /// Takes back a reservation if nothing was charged since. Only while nothing can have voided it, and before it is due: from then
    /// until now no refund has had an effect and no call was admitted, so that the same word means that nobody reserved.
    pub(crate) fn take_back_reservation(&self, before: u64, after: u64) -> bool {
        let mut word = <u64 as Word>::load(&self.word.0);
        while word.with_waiters(false) == after.with_waiters(false) {
            match self.exchange(word, before.with_waiters(word.has_waiters())) {
                Ok(_) => return true,
                Err(there) => word = there,
            }
        }
        false
    }
}
