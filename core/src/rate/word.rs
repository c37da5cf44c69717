//! How states and settings are laid out in atomics.
//!
//! | word | from the top |
//! | --- | --- |
//! | gcra, 64 bits | waiters 1, generation 4, TAT in ticks 59 |
//! | fixed_window, 128 bits | waiters 1, unused 3, generation 4, start 64, used 56 |
//! | sliding_window, 128 bits | waiters 1, unused 3, generation 4, index 40, previous 40, current 40 |
//!
//! The waiters bit says that somebody waits: then only the head of the queue is charged. Every step keeps it as it is. The generation names the buffer that
//! holds the settings under which the rest of the word is to be read (see [`cell`](super::cell)).

use super::settings::{GENERATIONS, SETTINGS};
use super::state::Undo;
use crate::algorithm::fixed_window::{FixedWindow, Window};
use crate::algorithm::gcra::{Gcra, TAT_BITS};
use crate::algorithm::sliding_window::{BITS, SlidingWindow, Windows};
use crate::algorithm::{Algorithm, sliding_window};
use crate::sync::{AtomicU64, AtomicU128};
use std::sync::atomic::Ordering;

/// An algorithm whose state fits into one atomic word.
pub(crate) trait Packed: Algorithm {
    type Word: Word;

    fn pack(state: Self::State, generation: u8) -> Self::Word;
    fn unpack(word: Self::Word) -> Self::State;
    /// `word` with another state and generation; flags stay.
    fn replace(word: Self::Word, state: Self::State, generation: u8) -> Self::Word;
    fn generation(word: Self::Word) -> u8;
    fn to_settings(&self) -> [u64; SETTINGS];
    /// From what `to_settings` gave, read one by one, so that nothing is read that is not there.
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self;
}

/// The atomics that a word can live in.
pub(crate) trait Word: Copy + Eq {
    type Atomic: Send + Sync;

    fn new_atomic(self) -> Self::Atomic;
    fn load(atomic: &Self::Atomic) -> Self;
    /// One step from `current` to `new`; fails with what is there.
    fn exchange(atomic: &Self::Atomic, current: Self, new: Self) -> Result<Self, Self>;
    /// Whether somebody waits.
    fn has_waiters(self) -> bool;
    fn with_waiters(self, waiters: bool) -> Self;
    /// What undoes the step from `before` to `after`.
    fn undo(before: Self, after: Self) -> Undo;
}

impl Word for u64 {
    type Atomic = AtomicU64;

    fn new_atomic(self) -> AtomicU64 {
        AtomicU64::new(self)
    }

    // Acquire: the settings of the word's generation were written before it.
    #[inline]
    fn load(atomic: &AtomicU64) -> Self {
        atomic.load(Ordering::Acquire)
    }

    // Release: a new generation publishes its settings. Acquire on both ways: as in `load`.
    #[inline]
    fn exchange(atomic: &AtomicU64, current: Self, new: Self) -> Result<Self, Self> {
        atomic.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire)
    }

    #[inline]
    fn has_waiters(self) -> bool {
        self & NARROW_WAITERS != 0
    }

    fn with_waiters(self, waiters: bool) -> Self {
        if waiters { self | NARROW_WAITERS } else { self & !NARROW_WAITERS }
    }

    #[inline]
    fn undo(before: Self, after: Self) -> Undo {
        Undo::Narrow(before, after)
    }
}

// Orderings as for `u64`.
impl Word for u128 {
    type Atomic = AtomicU128;

    fn new_atomic(self) -> AtomicU128 {
        AtomicU128::new(self)
    }

    #[inline]
    fn load(atomic: &AtomicU128) -> Self {
        atomic.load(Ordering::Acquire)
    }

    #[inline]
    fn exchange(atomic: &AtomicU128, current: Self, new: Self) -> Result<Self, Self> {
        atomic.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire)
    }

    #[inline]
    fn has_waiters(self) -> bool {
        self & WIDE_WAITERS != 0
    }

    fn with_waiters(self, waiters: bool) -> Self {
        if waiters { self | WIDE_WAITERS } else { self & !WIDE_WAITERS }
    }

    #[inline]
    fn undo(before: Self, after: Self) -> Undo {
        Undo::Wide(before, after)
    }
}

const NARROW_WAITERS: u64 = 1 << 63;
const TAT_MASK: u64 = (1 << TAT_BITS) - 1;

impl Packed for Gcra {
    type Word = u64;

    #[inline]
    fn pack(tat: u64, generation: u8) -> u64 {
        debug_assert!(tat <= TAT_MASK);
        u64::from(generation) << TAT_BITS | tat
    }

    #[inline]
    fn unpack(word: u64) -> u64 {
        word & TAT_MASK
    }

    #[inline]
    fn replace(word: u64, tat: u64, generation: u8) -> u64 {
        word & NARROW_WAITERS | Self::pack(tat, generation)
    }

    #[inline]
    fn generation(word: u64) -> u8 {
        (word >> TAT_BITS) as u8 & (GENERATIONS - 1)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        [self.origin_ns, self.multiplier, self.token_ticks, self.full_ticks, self.limit, self.segment_ns, 0, 0]
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        Self {
            origin_ns: setting(0),
            multiplier: setting(1),
            token_ticks: setting(2),
            full_ticks: setting(3),
            limit: setting(4),
            segment_ns: setting(5),
        }
    }
}

const WIDE_WAITERS: u128 = 1 << 127;
const WIDE_FLAGS: u128 = 0xF << 124;
const WIDE_GENERATION: u32 = 120;
const USED_BITS: u32 = 56;

#[inline]
fn wide_generation(word: u128) -> u8 {
    (word >> WIDE_GENERATION) as u8 & (GENERATIONS - 1)
}

/// `bits` of a word from `shift` up, as a number.
#[inline]
pub(super) fn field(word: u128, shift: u32, bits: u32) -> u64 {
    ((word >> shift) & ((1 << bits) - 1)) as u64
}

impl Packed for FixedWindow {
    type Word = u128;

    #[inline]
    fn pack(window: Window, generation: u8) -> u128 {
        u128::from(generation) << WIDE_GENERATION | u128::from(window.start_ns) << USED_BITS | u128::from(window.used)
    }

    #[inline]
    fn unpack(word: u128) -> Window {
        Window { start_ns: field(word, USED_BITS, 64), used: field(word, 0, USED_BITS) }
    }

    #[inline]
    fn replace(word: u128, window: Window, generation: u8) -> u128 {
        word & WIDE_FLAGS | Self::pack(window, generation)
    }

    #[inline]
    fn generation(word: u128) -> u8 {
        wide_generation(word)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        [self.limit, self.period_ns, u64::from(self.aligned), self.offset_ns, 0, 0, 0, 0]
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        Self { limit: setting(0), period_ns: setting(1), aligned: setting(2) != 0, offset_ns: setting(3) }
    }
}

impl Packed for SlidingWindow {
    type Word = u128;

    #[inline]
    fn pack(windows: Windows, generation: u8) -> u128 {
        u128::from(generation) << WIDE_GENERATION
            | u128::from(windows.index) << (2 * BITS)
            | u128::from(windows.previous) << BITS
            | u128::from(windows.current)
    }

    #[inline]
    fn unpack(word: u128) -> Windows {
        Windows {
            index: field(word, 2 * BITS, BITS),
            previous: field(word, BITS, BITS),
            current: field(word, 0, sliding_window::BITS),
        }
    }

    #[inline]
    fn replace(word: u128, windows: Windows, generation: u8) -> u128 {
        word & WIDE_FLAGS | Self::pack(windows, generation)
    }

    #[inline]
    fn generation(word: u128) -> u8 {
        wide_generation(word)
    }

    fn to_settings(&self) -> [u64; SETTINGS] {
        [self.limit, self.period_ns, self.origin_ns, 0, 0, 0, 0, 0]
    }

    #[inline]
    fn from_settings(setting: impl Fn(usize) -> u64) -> Self {
        Self { limit: setting(0), period_ns: setting(1), origin_ns: setting(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_back_what_was_packed_and_keeps_its_flags() {
        let word = Gcra::replace(NARROW_WAITERS, TAT_MASK, 15);
        assert_eq!((Gcra::unpack(word), Gcra::generation(word), word), (TAT_MASK, 15, u64::MAX));
        let word = Gcra::replace(word, 5, 0);
        assert_eq!((Gcra::unpack(word), Gcra::generation(word), word & NARROW_WAITERS), (5, 0, NARROW_WAITERS));

        let window = Window { start_ns: u64::MAX, used: (1 << 53) - 1 };
        let word = FixedWindow::replace(1 << 127, window, 9);
        assert_eq!((FixedWindow::unpack(word), FixedWindow::generation(word), word >> 127), (window, 9, 1));

        let windows = Windows { index: (1 << 40) - 1, previous: (1 << 40) - 2, current: (1 << 40) - 3 };
        let word = SlidingWindow::replace(1 << 127, windows, 6);
        assert_eq!((SlidingWindow::unpack(word), SlidingWindow::generation(word), word >> 127), (windows, 6, 1));
    }
}
