//! Which process this is: a number that grows in the child of each fork.
//!
//! A child has one thread, and a copy of all memory as it was: locks that threads of the parent held, waiters that are not
//! there, permits that others hold. What may meet these compares the number with the one that it has noted.

use crate::lock::Lock;
use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between the process that first [watched](watch) and this one. Wraps.
#[inline]
pub(crate) fn count() -> u32 {
    // Relaxed: it changes only while a process has a single thread, which all others are started by.
    FORKS.load(Ordering::Relaxed)
}

/// Does what no fork may come between: what uses locks of others, such as those behind what is made once in a process.
pub(crate) fn whole<T>(act: impl FnOnce() -> T) -> T {
    watch();
    let _no_fork = WHOLE.lock();
    act()
}

static WHOLE: Lock<()> = Lock::unwatched(());

/// From now on forks are counted. To be called before anything is made that a fork may leave behind.
#[cfg(unix)]
pub(crate) fn watch() {
    use std::sync::atomic::AtomicBool;

    extern "C" fn before() {
        std::mem::forget(WHOLE.lock());
    }

    extern "C" fn in_parent() {
        // SAFETY: `before` took it, on this thread.
        unsafe { WHOLE.unlock() };
    }

    // What `before` took in the parent is free here, by the new number.
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }

    static WATCHED: AtomicBool = AtomicBool::new(false);
    // One at a time, since `before` twice would wait for itself.
    static WATCHING: Lock<()> = Lock::unwatched(());
    if WATCHED.load(Ordering::Acquire) {
        return;
    }
    let _one = WATCHING.lock();
    if !WATCHED.load(Ordering::Acquire) {
        // SAFETY: plain functions that allocate nothing and wait for nothing but `WHOLE`, which is held for short and never by who
        // forks. They are gone from the list when the library is unloaded. Fails for want of memory only; then forks
        // go unseen.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        WATCHED.store(true, Ordering::Release);
    }
}

/// There are no forks.
#[cfg(not(unix))]
pub(crate) fn watch() {}
