//! The queue of a limiter without keys.

use super::queue::Queue;
use crate::lock::Inherited;
use crate::sync::Lock;
use crate::{Error, fork};
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The most that can wait.
pub(crate) const MAX_WAITERS: u64 = u32::MAX as u64 - 1;

pub(crate) struct Desk {
    queue: Lock<Queue>,
    /// The [process](fork) whose waiters the queue holds; as the lock knows it, to be read without it.
    process: AtomicU32,
    max_waiters: AtomicU64,
}

impl Desk {
    pub(crate) fn new(max_waiters: u64) -> Self {
        Self {
            queue: Lock::new(Queue::default()),
            process: AtomicU32::new(fork::count()),
            max_waiters: AtomicU64::new(max_waiters),
        }
    }

    /// How many may wait; more may be there from before.
    pub(crate) fn max_waiters(&self) -> u64 {
        // Relaxed: a number that hangs together with nothing.
        self.max_waiters.load(Ordering::Relaxed)
    }

    pub(crate) fn set_max_waiters(&self, max_waiters: u64) -> Result<(), Error> {
        super::check_max_waiters(max_waiters)?;
        self.max_waiters.store(max_waiters, Ordering::Relaxed);
        Ok(())
    }

    /// The queue, which in the child of a fork is empty: nobody who waited is there. `unmark` is called then, and nobody waits.
    pub(crate) fn open(&self, unmark: impl FnOnce()) -> impl DerefMut<Target = Queue> + '_ {
        let mut queue = self.queue.lock();
        if queue.inherited != Inherited::No {
            queue.renew(Queue::default());
            unmark();
            // Relaxed: who reads an old number takes the lock, and finds nothing to do.
            self.process.store(fork::count(), Ordering::Relaxed);
        }
        queue
    }

    /// Nobody who waited in the parent of this process waits here.
    pub(crate) fn forget_parents(&self, unmark: impl FnOnce()) {
        if self.process.load(Ordering::Relaxed) != fork::count() {
            drop(self.open(unmark));
        }
    }
}
