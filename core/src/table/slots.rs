//! The memory of a table: 16-byte slots, four to a cache line, over zeroed, 64-byte-aligned bytes.

use crate::Error;
use crate::sync::AtomicU128;
use std::sync::atomic::Ordering;

/// Slots of a line: what one cache line holds. Two under the model checker, which visits every order of every step.
pub(super) const LINE: usize = if cfg!(loom) { 2 } else { 4 };

pub(crate) struct Slots {
    #[cfg(not(loom))]
    memory: memory::Zeroed,
    #[cfg(loom)]
    memory: Vec<AtomicU128>,
    lines: usize,
}

impl Slots {
    /// `lines` lines of empty slots. Pages are committed by the operating system when they are first written.
    pub(crate) fn new(lines: usize) -> Result<Self, Error> {
        #[cfg(not(loom))]
        let memory = memory::Zeroed::new(lines * LINE)?;
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

#[cfg(not(loom))]
mod memory {
    use super::AtomicU128;
    use crate::{Error, Status};
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ops::Deref;
    use std::ptr::NonNull;

    const ALIGNMENT: usize = 64;

    /// Slots in zeroed memory of our own.
    pub(crate) struct Zeroed {
        /// As it was allocated.
        start: NonNull<u8>,
        layout: Layout,
        /// Aligned, inside.
        slots: NonNull<AtomicU128>,
        count: usize,
    }

    impl Zeroed {
        pub(super) fn new(count: usize) -> Result<Self, Error> {
            let refused = || {
                Error::new(Status::InvalidMemory, "max_keys", count, "as many as there is memory for, at 40 bytes each")
            };
            // With the alignment of the allocator, and then aligned by hand: asked for more, the allocator would write
            // the zeros itself and so commit every page.
            let size = count.checked_mul(size_of::<AtomicU128>()).and_then(|size| size.checked_add(ALIGNMENT));
            let layout = size.and_then(|size| Layout::from_size_align(size, 16).ok()).ok_or_else(refused)?;
            // SAFETY: the size is at least ALIGNMENT, so not zero.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
            let ahead = start.as_ptr().align_offset(ALIGNMENT);
            // SAFETY: `ahead` is below ALIGNMENT, and so much was asked for beyond the slots.
            let slots = unsafe { start.add(ahead) }.cast();
            Ok(Self { start, layout, slots, count })
        }
    }

    impl Deref for Zeroed {
        type Target = [AtomicU128];

        #[inline]
        fn deref(&self) -> &[AtomicU128] {
            // SAFETY: `count` slots lie there, aligned, and zeros are a value of an atomic.
            unsafe { std::slice::from_raw_parts(self.slots.as_ptr(), self.count) }
        }
    }

    impl Drop for Zeroed {
        fn drop(&mut self) {
            // SAFETY: as it was allocated.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }

    // SAFETY: it owns its memory, in which there are only atomics.
    unsafe impl Send for Zeroed {}
    // SAFETY: as above.
    unsafe impl Sync for Zeroed {}
}
