//! The slots of a table: 16 bytes each, four to a cache line, over zeroed, 64-byte-aligned bytes.

use super::memory::Region;
use crate::Error;
use crate::sync::AtomicU128;
use std::sync::atomic::Ordering;

/// Slots of a line: what one cache line holds. Two under the model checker, which visits every order of every step.
pub(super) const LINE: usize = if cfg!(loom) { 2 } else { 4 };

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
        let memory = (0..lines * LINE).map(|_| AtomicU128::new(0)).collect();
        Ok(Self { memory, lines })
    }

    #[inline]
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    #[inline]
    fn slot(&self, place: Place) -> &AtomicU128 {
        &self.memory[place.0]
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

    #[inline]
    fn line(&self, line: usize) -> &[AtomicU128; LINE] {
        self.memory[line * LINE..].first_chunk().expect("lines are whole")
    }

    /// Which slot of two lines has a tag on top, if any has.
    ///
    /// Only a hint: who goes by it loads the slot. All slots are looked at, whatever is found: the two lines are
    /// then fetched at the same time, and where a key happens to be is nothing that the processor would have to guess.
    #[inline]
    pub(super) fn bearing(&self, lines: [usize; 2], tag: u64, tag_bits: u32) -> Option<Place> {
        const NONE: usize = usize::MAX;
        let tag = tag << (64 - tag_bits);
        let mut found = NONE;
        for line in lines {
            for (index, slot) in self.line(line).iter().enumerate() {
                let same = (top(slot) ^ tag) >> (64 - tag_bits) == 0;
                found = if same { line * LINE + index } else { found };
            }
        }
        (found != NONE).then_some(Place(found))
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

/// The top half of a slot.
#[inline]
#[cfg(all(target_arch = "x86_64", not(loom)))]
fn top(slot: &AtomicU128) -> u64 {
    let top;
    // SAFETY: the slot is borrowed, and its top half are the eight bytes from its eighth on. To the language this is an
    // atomic load of the slot whose other half is dropped; the processor loads eight aligned bytes in one step, in the order of
    // an acquire. (As a load of sixteen bytes it would cost a call to see which instruction there is, eight times.)
    unsafe {
        std::arch::asm!(
            "mov {top}, qword ptr [{slot} + 8]",
            slot = in(reg) std::ptr::from_ref(slot),
            top = lateout(reg) top,
            options(nostack, preserves_flags, readonly)
        );
    }
    top
}

/// The top half of a slot.
#[inline]
#[cfg(not(all(target_arch = "x86_64", not(loom))))]
fn top(slot: &AtomicU128) -> u64 {
    (slot.load(Ordering::Acquire) >> 64) as u64
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
