//! How long permits are held.

use crate::clock::Clock;
use crate::stats::{Count, Counters};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct HoldTimes {
    clock: Clock,
    longest_ns: AtomicU64,
}

impl HoldTimes {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, longest_ns: AtomicU64::new(0) }
    }

    // Not inlined, both: they would be most of what takes and gives back, for those who don't track.
    #[inline(never)]
    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Records a hold that ends now.
    #[inline(never)]
    pub(super) fn record(&self, counters: &Counters, acquired_at_ns: u64) {
        let held_ns = self.clock.now_ns().saturating_sub(acquired_at_ns);
        counters.add(Count::HoldTimeNs, held_ns);
        // Relaxed: a figure, which orders nothing.
        self.longest_ns.fetch_max(held_ns, Ordering::Relaxed);
    }

    pub(super) fn longest_ns(&self) -> u64 {
        self.longest_ns.load(Ordering::Relaxed)
    }
}
