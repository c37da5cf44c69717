//! The slots of a table: 16 bytes each, four to a cache line, over zeroed, 64-byte-aligned bytes.

use super::memory::Region;
use super::{KeyHash, look};
use crate::Error;
use crate::sync::AtomicU128;
use std::sync::atomic::Ordering;

/// Slots of a line: what one cache line holds. Two under the model checker, which visits every order of every step.
pub(super) const LINE: usize = if cfg!(loom) { 2 } else { 4 };

/// A table of at most so many lines fits into the cache of any core.
const CACHED: usize = 4_096;

pub(crate) struct Slots {
    #[cfg(not(loom))]
    memory: super::memory::Memory,
    #[cfg(loom)]
    memory: Vec<AtomicU128>,
    lines: usize,
}

impl Slots {
    /// `lines` lines of empty slots, in a region of the caller's or in memory of our own. Of that, pages are committed by the
    /// operating system when they are first written.
    pub(crate) fn new(lines: usize, region: Option<Region>) -> Result<Self, Error> {
        #[cfg(not(loom))]
        let memory = match region {
            Some(region) => super::memory::Memory::lent(region),
            None => super::memory::Memory::allocated(lines * LINE)?,
        };
        #[cfg(loom)]
        assert!(region.is_none(), "the model checker has slots of its own");
        #[cfg(loom)]
        let memory: Vec<_> = (0..lines * LINE).map(|_| AtomicU128::new(0)).collect();
        assert!(memory.len() >= lines * LINE, "all lines are there");
        Ok(Self { memory, lines })
    }

    #[inline]
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    #[inline]
    fn slot(&self, place: Place) -> &AtomicU128 {
        debug_assert!(place.0 < self.lines * LINE);
        // SAFETY: places are made of lines that there are.
        unsafe { self.memory.get_unchecked(place.0) }
    }

    // Acquire: what was decided by who wrote the word, and the clock that it went by, came before.
    #[inline]
    pub(crate) fn load(&self, place: Place) -> u128 {
        self.slot(place).load(Ordering::Acquire)
    }

    /// One step from `current` to `new`; fails with what is there. Orderings as for a word of its own.
    #[inline]
    pub(crate) fn exchange(&self, place: Place, current: u128, new: u128) -> Result<u128, u128> {
        self.slot(place).compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Has the lines of a key fetched, without waiting for them.
    #[inline(always)]
    pub(super) fn fetch(&self, hash: KeyHash) {
        if self.lines > CACHED {
            hash.lines(self.lines).into_iter().for_each(|line| self.fetch_line(line));
        }
    }

    /// The same for the first.
    #[inline(always)]
    pub(super) fn fetch_first(&self, hash: KeyHash) {
        let [first, _] = hash.lines(self.lines);
        if self.lines > CACHED {
            self.fetch_line(first);
        }
    }

    #[inline(always)]
    fn fetch_line(&self, line: usize) {
        look::fetch(self.slot(Place(line * LINE)));
    }

    /// Which slot of a key's two lines bears its tag, if any does. Only a hint.
    ///
    /// Most keys are in their first line, so that the second is seldom looked at: a line that another core writes to costs both of them more
    /// than all else here, it to wait for the line, the other to get it back. Lines that are far away are fetched at the same time.
    #[inline(always)]
    pub(super) fn bearing(&self, hash: KeyHash, tag_bits: u32) -> Option<Place> {
        let [first, second] = hash.lines(self.lines);
        if self.lines > CACHED {
            self.fetch_line(second);
        }
        self.bearing_in(first, hash, tag_bits).or_else(|| self.bearing_in(second, hash, tag_bits))
    }

    #[inline(always)]
    fn bearing_in(&self, line: usize, hash: KeyHash, tag_bits: u32) -> Option<Place> {
        debug_assert!(line < self.lines);
        // SAFETY: a hash chooses among the lines that there are, and each has so many slots.
        let slots = unsafe { &*self.memory.as_ptr().add(line * LINE).cast() };
        look::bearing(slots, hash.tag(tag_bits), tag_bits).map(|index| Place(line * LINE + index))
    }

    /// What a slot holds; only a hint, in which halves of two moments may meet.
    #[inline(always)]
    pub(super) fn glimpse(&self, place: Place) -> u128 {
        look::glimpse(self.slot(place))
    }

    /// The place of an index that was told by [`Place::index`].
    #[inline]
    pub(super) fn place(&self, index: u64) -> Option<Place> {
        usize::try_from(index).ok().filter(|index| *index < self.lines * LINE).map(Place)
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.lines * LINE).map(Place)
    }
}

/// The index of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl Place {
    /// As plain data: below 2³⁴.
    #[inline]
    pub(crate) fn index(self) -> u64 {
        self.0 as u64
    }

    /// The slots of a line.
    #[inline]
    pub(crate) fn of_line(line: usize) -> impl Iterator<Item = Self> {
        (line * LINE..(line + 1) * LINE).map(Self)
    }
}
