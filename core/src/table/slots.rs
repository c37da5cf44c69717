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

    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        (0..self.lines * LINE).map(Place)
    }
}

/// The index of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl Place {
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
