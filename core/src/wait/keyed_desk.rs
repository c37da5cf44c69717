//! The queues of a limiter with keys: a line for each key that is waited for, all under one lock.

use super::desk::MAX_WAITERS;
use super::queue::{Line, Places, Queue, Ticket};
use crate::lock::Inherited;
use crate::sync::Lock;
use crate::table::KeyHash;
use crate::{Error, fork};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub(crate) struct KeyedDesk {
    queues: Lock<Queues>,
    /// As in [`Desk`](super::Desk).
    process: AtomicU32,
    /// For each key.
    max_waiters: AtomicU64,
}

#[derive(Default)]
struct Queues {
    places: Places,
    lines: BTreeMap<KeyHash, Line>,
}

impl KeyedDesk {
    pub(crate) fn new(max_waiters: u64) -> Self {
        debug_assert!(max_waiters <= MAX_WAITERS);
        Self {
            queues: Lock::new(Queues::default()),
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

    /// In the child of a fork nobody waits, and `unmark_all` is called.
    fn lock(&self, unmark_all: impl FnOnce()) -> impl DerefMut<Target = Queues> + '_ {
        let mut queues = self.queues.lock();
        if queues.inherited != Inherited::No {
            queues.renew(Queues::default());
            unmark_all();
            // Relaxed: who reads an old number takes the lock, and finds nothing to do.
            self.process.store(fork::count(), Ordering::Relaxed);
        }
        queues
    }

    /// The queue of a key.
    pub(crate) fn open(&self, key: KeyHash, unmark_all: impl FnOnce()) -> impl DerefMut<Target = Queue> + '_ {
        let mut queues = self.lock(unmark_all);
        let places = std::mem::take(&mut queues.places);
        let line = queues.lines.remove(&key).unwrap_or_default();
        Open { queues, queue: Queue { places, line, key } }
    }

    /// Nobody who waited in the parent of this process waits here. Whether that was news.
    pub(crate) fn forget_parents(&self, unmark_all: impl FnOnce()) -> bool {
        let is_news = self.process.load(Ordering::Relaxed) != fork::count();
        if is_news {
            drop(self.lock(unmark_all));
        }
        is_news
    }

    /// The keys that are waited for.
    pub(crate) fn keys(&self, unmark_all: impl FnOnce()) -> Vec<KeyHash> {
        self.lock(unmark_all).lines.keys().copied().collect()
    }

    /// How many wait, whichever the key.
    pub(crate) fn len(&self, unmark_all: impl FnOnce()) -> u64 {
        self.lock(unmark_all).lines.values().map(Line::len).sum()
    }

    /// For which key a ticket was issued, if it isn't over; else whether it ever was.
    pub(crate) fn key_of(&self, ticket: Ticket, unmark_all: impl FnOnce()) -> Result<KeyHash, bool> {
        let queues = self.lock(unmark_all);
        queues.places.key_of(ticket).ok_or_else(|| queues.places.was_issued(ticket))
    }
}

/// A queue that is taken out of the lines, and is put back when this is dropped.
struct Open<Q: DerefMut<Target = Queues>> {
    queues: Q,
    queue: Queue,
}

impl<Q: DerefMut<Target = Queues>> Deref for Open<Q> {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}

impl<Q: DerefMut<Target = Queues>> DerefMut for Open<Q> {
    fn deref_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }
}

impl<Q: DerefMut<Target = Queues>> Drop for Open<Q> {
    fn drop(&mut self) {
        let Queue { places, line, key } = std::mem::take(&mut self.queue);
        self.queues.places = places;
        if !line.is_empty() {
            self.queues.lines.insert(key, line);
        }
    }
}
