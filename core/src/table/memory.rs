//! Where slots lie: zeroed memory, aligned to 64 bytes.

use crate::sync::AtomicU128;
use crate::{Error, Status};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::NonNull;

const ALIGNMENT: usize = 64;

/// Memory of the caller's, which nobody else uses from now on.
pub(crate) type Region = &'static mut [MaybeUninit<u8>];

/// Whether a region may hold so many bytes of slots.
pub(crate) fn check_region(region: &Region, size: usize) -> Result<(), Error> {
    let address = region.as_ptr().addr();
    if region.len() >= size && address.is_multiple_of(ALIGNMENT) {
        return Ok(());
    }
    let value = format!("{} bytes at address {address:#x}", region.len());
    let allowed = format!("{size} bytes at an address that is a multiple of {ALIGNMENT}");
    Err(Error::new(Status::InvalidMemory, "region", value, allowed))
}

/// Slots in zeroed memory.
pub(crate) struct Memory {
    /// Aligned.
    slots: NonNull<AtomicU128>,
    count: usize,
    /// As it was allocated, if it is our own.
    allocation: Option<(NonNull<u8>, Layout)>,
}

impl Memory {
    pub(super) fn allocated(count: usize) -> Result<Self, Error> {
        let refused =
            || Error::new(Status::InvalidMemory, "max_keys", count, "as many as there is memory for, at 40 bytes each");
        // With the alignment of the allocator, and then aligned by hand: asked for more, the allocator would write
        // the zeros itself and so commit every page.
        let size = count.checked_mul(size_of::<AtomicU128>()).and_then(|size| size.checked_add(ALIGNMENT));
        let layout = size.and_then(|size| Layout::from_size_align(size, 16).ok()).ok_or_else(refused)?;
        // SAFETY: the size is at least ALIGNMENT, so not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        let ahead = start.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: `ahead` is below ALIGNMENT, and so much was asked for beyond the slots.
        let slots = unsafe { start.add(ahead) }.cast();
        Ok(Self { slots, count, allocation: Some((start, layout)) })
    }

    /// As many slots as fit into a [checked](check_region) region.
    pub(super) fn lent(region: Region) -> Self {
        region.fill(MaybeUninit::new(0));
        let count = region.len() / size_of::<AtomicU128>();
        Self { slots: NonNull::from(region).cast(), count, allocation: None }
    }
}

impl Deref for Memory {
    type Target = [AtomicU128];

    #[inline]
    fn deref(&self) -> &[AtomicU128] {
        // SAFETY: `count` slots lie there, aligned, and zeros are a value of an atomic.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr(), self.count) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some((start, layout)) = self.allocation {
            // SAFETY: as it was allocated.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }
}

// SAFETY: it alone uses its memory, in which there are only atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}
