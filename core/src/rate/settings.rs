//! An algorithm's settings, twice: those that states go by, and those before or after them.

use crate::sync::{AtomicU64, fence};
use std::sync::atomic::Ordering;

/// Generations wrap after this many changes of the settings.
pub(crate) const GENERATIONS: u8 = 16;
/// Settings of an algorithm, as many as one cache line holds.
pub(crate) const SETTINGS: usize = 8;

/// A generation's settings are in the buffer of its lowest bit.
pub(crate) struct Buffers([Buffer; 2]);

/// One line of settings. Atomics, since a change may overwrite what a decision that is bound to fail still reads.
#[repr(align(64))]
struct Buffer([AtomicU64; SETTINGS]);

impl Buffers {
    pub(crate) fn new(settings: [u64; SETTINGS]) -> Self {
        let buffer = || Buffer(settings.map(AtomicU64::new));
        Self([buffer(), buffer()])
    }

    #[inline]
    fn buffer(&self, generation: u8) -> &Buffer {
        &self.0[usize::from(generation & 1)]
    }

    /// Reads one by one. Relaxed: whoever reads proves afterwards, behind an acquire fence, that the generation still is.
    #[inline]
    pub(crate) fn reader(&self, generation: u8) -> impl Fn(usize) -> u64 {
        let buffer = self.buffer(generation);
        |index| buffer.0[index].load(Ordering::Relaxed)
    }

    /// Overwrites the settings of the generation before the last.
    pub(crate) fn write(&self, generation: u8, settings: [u64; SETTINGS]) {
        // Release: whoever reads one of the settings below also sees, after its acquire fence, that the word has left the
        // generation before this one, which used the same buffer.
        fence(Ordering::Release);
        for (place, setting) in self.buffer(generation).0.iter().zip(settings) {
            place.store(setting, Ordering::Relaxed);
        }
    }
}
