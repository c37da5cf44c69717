//! A lock that a forked child can take.
//!
//! A child has a copy of each lock, held by whichever thread of the parent held it at the fork; that thread isn't there to let it
//! go. So the word of this one says in which process it was taken: what another process left is free.
//!
//! | bit | meaning |
//! | --- | --- |
//! | 2 … 31 | [the process](crate::fork) |
//! | 0 … 1 | 0 free, 1 held, 2 held and somebody sleeps until it isn't |

use crate::fork;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
const AWAITED: u32 = 2;
const STATE: u32 = 0b11;

/// How often a holder is looked for before sleeping: holders do a few dozen instructions.
const SPINS: u32 = 100;

pub(crate) struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by the one guard alone, on whichever thread that is.
unsafe impl<T: Send> Sync for Lock<T> {}

pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// What the lock was found in, if this is the first guard of its process.
    #[cfg_attr(loom, expect(dead_code, reason = "models don't fork"))]
    pub(crate) inherited: Inherited,
}

/// What a process finds of its parent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inherited {
    /// Nothing: the value is this process's own.
    No,
    /// The value as it was at the fork.
    Whole,
    /// The value as a thread that isn't here left it, in the midst of a change.
    Interrupted,
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        fork::watch();
        Self { word: AtomicU32::new(fork::count() << 2 | FREE), value: UnsafeCell::new(value) }
    }

    /// For what exists before forks are watched.
    pub(crate) const fn unwatched(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let process = fork::count() << 2;
        // Acquire: see what the last holder did.
        match self.word.compare_exchange(process | FREE, process | HELD, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Guard { lock: self, inherited: Inherited::No },
            Err(_) => self.lock_busy(process),
        }
    }

    #[cold]
    fn lock_busy(&self, process: u32) -> Guard<'_, T> {
        let mut spins = 0;
        let mut take_as = HELD;
        loop {
            let word = self.word.load(Ordering::Relaxed);
            let inherited = match word & STATE {
                _ if word & !STATE == process => Inherited::No,
                FREE => Inherited::Whole,
                _ => Inherited::Interrupted,
            };
            if inherited != Inherited::No || word & STATE == FREE {
                // Acquire: as in `lock`.
                let taken = self.word.compare_exchange(word, process | take_as, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    return Guard { lock: self, inherited };
                }
            } else if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                let awaited = process | AWAITED;
                // Relaxed: takes nothing yet.
                if word == awaited
                    || self.word.compare_exchange(word, awaited, Ordering::Relaxed, Ordering::Relaxed).is_ok()
                {
                    atomic_wait::wait(&self.word, awaited);
                    // Another may sleep too, and this thread can't know.
                    take_as = AWAITED;
                }
            }
        }
    }
}

impl<T> Lock<T> {
    /// Frees it.
    ///
    /// # Safety
    ///
    /// This thread holds it, and its guard was forgotten.
    pub(crate) unsafe fn unlock(&self) {
        // Release: the next holder sees what this one did.
        if self.word.swap(fork::count() << 2 | FREE, Ordering::Release) & STATE == AWAITED {
            atomic_wait::wake_one(&self.word);
        }
    }
}

impl<T> Guard<'_, T> {
    /// Puts `value` in the place of what a parent left, which is forgotten as it is: a thread that isn't here may have been changing
    /// it.
    #[cfg_attr(loom, expect(dead_code, reason = "models don't fork"))]
    pub(crate) fn renew(&mut self, value: T) {
        std::mem::forget(std::mem::replace(&mut **self, value));
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed by this alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is proof, and is gone after this.
        unsafe { self.lock.unlock() };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_and_none_sleeps_for_ever() {
        let lock = Lock::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..20_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 160_000);
    }

    #[cfg(unix)]
    #[test]
    fn a_child_takes_what_a_thread_of_the_parent_holds_and_is_told() {
        let lock = Lock::new(7);
        let held = lock.lock();
        // SAFETY: the child touches nothing but the lock and exits without running handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let first = lock.lock().inherited;
            let told = first == Inherited::Interrupted && lock.lock().inherited == Inherited::No;
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!told)) };
        }
        drop(held);
        let mut status = 0;
        // SAFETY: waits for the child just started.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}
