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
//! settings that it read.)

use super::state::{Judgement, Undo};
use super::word::{GENERATIONS, Packed, SETTINGS, Word};
use crate::sync::{AtomicU64, Mutex, Padded, back_off, fence, lock};
use crate::{NEVER_NS, Status};
use std::sync::atomic::Ordering;

#[repr(C)]
pub(crate) struct Cell<A: Packed> {
    word: Padded<<A::Word as Word>::Atomic>,
    buffers: [Buffer; 2],
    /// Keeps changes of the settings apart. Never held on the path of a decision.
    changing: Mutex<()>,
}

/// One line of settings. Atomics, since a change may overwrite what a decision that is bound to fail still reads.
#[repr(align(64))]
struct Buffer([AtomicU64; SETTINGS]);

/// A decision that was made, with what it was made from.
struct Step<A: Packed> {
    status: Status,
    settings: A,
    before: A::Word,
    after: A::Word,
}

impl<A: Packed> Cell<A> {
    pub(crate) fn new(algorithm: A) -> Self {
        let settings = algorithm.to_settings();
        let buffer = || Buffer(settings.map(AtomicU64::new));
        Self {
            word: Padded(A::pack(A::FRESH, 0).new_atomic()),
            buffers: [buffer(), buffer()],
            changing: Mutex::new(()),
        }
    }

    #[inline]
    fn settings(&self, word: A::Word) -> A {
        let buffer = &self.buffers[usize::from(A::generation(word) & 1)];
        // Relaxed: the word was loaded with acquire, and `unchanged` or the exchange after the fence proves that the
        // buffer was not overwritten meanwhile.
        A::from_settings(|index| buffer.0[index].load(Ordering::Relaxed))
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
        Ok(Step { status, settings, before: word, after })
    }

    #[inline]
    fn step(&self, now: u64, cost: u64, spend: bool) -> Step<A> {
        let mut word = A::Word::load(&self.word.0);
        loop {
            match self.attempt(word, now, cost, spend) {
                Ok(step) => return step,
                Err(_) => {
                    back_off();
                    word = A::Word::load(&self.word.0);
                }
            }
        }
    }

    /// The hot path: one attempt without a loop, which needs fewer registers.
    #[inline]
    pub(crate) fn try_charge(&self, now: u64, cost: u64) -> Status {
        match self.attempt(A::Word::load(&self.word.0), now, cost, true) {
            Ok(step) => step.status,
            Err(_) => self.try_charge_again(now, cost),
        }
    }

    #[cold]
    #[inline(never)]
    fn try_charge_again(&self, now: u64, cost: u64) -> Status {
        back_off();
        self.step(now, cost, true).status
    }

    pub(crate) fn charge(&self, now: u64, cost: u64) -> (Judgement, Undo) {
        let step = self.step(now, cost, true);
        (judge(&step, now, cost), A::Word::undo(step.before, step.after))
    }

    pub(crate) fn peek(&self, now: u64, cost: u64) -> Judgement {
        judge(&self.step(now, cost, false), now, cost)
    }

    /// Takes back a charge that was just made: as if it had not been if nothing happened since, else by the refund rule.
    pub(crate) fn undo(&self, before: A::Word, after: A::Word, now: u64, cost: u64, granted_at: u64) {
        let mut there = A::Word::load(&self.word.0);
        while there == after {
            match A::Word::exchange(&self.word.0, after, before) {
                Ok(_) => return,
                Err(now_there) => there = now_there,
            }
        }
        self.refund(now, cost, granted_at);
    }

    pub(crate) fn refund(&self, now: u64, cost: u64, granted_at: u64) {
        self.update(|settings, state| settings.refund(state, now, cost, granted_at));
    }

    pub(crate) fn reset(&self) {
        self.update(|_, _| A::FRESH);
    }

    fn update(&self, change: impl Fn(A, A::State) -> A::State) {
        let mut word = A::Word::load(&self.word.0);
        loop {
            let state = change(self.settings(word), A::unpack(word));
            match self.exchange(word, A::replace(word, state, A::generation(word))) {
                Ok(_) => return,
                Err(there) => word = there,
            }
        }
    }

    pub(crate) fn reconfigure(&self, now: u64, settings: A) {
        let _changing = lock(&self.changing);
        self.change(now, |_| settings);
    }

    /// Counts time from a later origin; returns the word as it is then.
    #[cold]
    #[inline(never)]
    fn move_origin(&self, now: u64) -> A::Word {
        let _changing = lock(&self.changing);
        let word = A::Word::load(&self.word.0);
        if !self.settings(word).is_past_horizon(now) {
            return word; // Another thread moved it.
        }
        self.change(now, |settings| settings.moved_to(now))
    }

    /// Only under the lock `changing`.
    fn change(&self, now: u64, change: impl Fn(A) -> A) -> A::Word {
        let mut word = A::Word::load(&self.word.0);
        let from = self.settings(word);
        let to = change(from);
        let generation = (A::generation(word) + 1) % GENERATIONS;
        // Release: whoever reads one of the settings below also sees, after its acquire fence, that the word has left the
        // generation before this one, which used the same buffer.
        fence(Ordering::Release);
        let buffer = &self.buffers[usize::from(generation & 1)];
        for (place, setting) in buffer.0.iter().zip(to.to_settings()) {
            place.store(setting, Ordering::Relaxed);
        }
        loop {
            let state = from.carry(A::unpack(word), now, &to);
            let next = A::replace(word, state, generation);
            match A::Word::exchange(&self.word.0, word, next) {
                Ok(_) => return next,
                Err(there) => word = there,
            }
        }
    }
}

fn refusal<A: Packed>(settings: &A, cost: u64) -> Status {
    let capacity = settings.capacity();
    if cost > capacity && capacity > 0 { Status::ExceedsCapacity } else { Status::Denied }
}

fn judge<A: Packed>(step: &Step<A>, now: u64, cost: u64) -> Judgement {
    let state = A::unpack(step.after);
    Judgement {
        status: step.status,
        limit: step.settings.limit(),
        remaining: step.settings.remaining(state, now),
        retry_after_ns: match step.status {
            Status::Allowed => 0,
            Status::Denied if step.settings.capacity() > 0 => step.settings.retry_after_ns(state, now, cost),
            _ => NEVER_NS,
        },
        reset_after_ns: step.settings.reset_after_ns(state, now),
        granted_at_ns: step.settings.granted_at_ns(state, now),
    }
}
