//! How a thread sleeps until its wait may be over.

use crate::fork;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

const IDLE: u32 = 0;
const SLEEPING: u32 = 1;
const WOKEN: u32 = 2;

/// How often a thread looks before it sleeps: about as long as it takes to fall asleep and be woken.
const SPINS: u32 = 300;
/// Who looked in vain n times in a row, or this often, looks again after 2ⁿ − 1 waits without: so long waits, and threads without a core
/// of their own, hardly pay for it.
const MOST_IN_VAIN: u32 = 8;

/// Not the standard library's `park`, whose one token for each thread would be taken from others that use it.
struct Parker {
    state: AtomicU32,
    asleep: Mutex<()>,
    woken: Condvar,
    process: u32,
    /// How often in a row the thread has looked in vain, and how often it has slept without looking since.
    in_vain: AtomicU32,
    unseen: AtomicU32,
}

impl Parker {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: AtomicU32::new(IDLE),
            asleep: Mutex::new(()),
            woken: Condvar::new(),
            process: fork::count(),
            in_vain: AtomicU32::new(0),
            unseen: AtomicU32::new(0),
        })
    }

    /// Until it is woken, or about `timeout`.
    fn park(&self, timeout: Option<Duration>) {
        if self.is_worth_looking() && self.is_woken_soon() {
            return;
        }
        let asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        // Acquire on failure: as in `take_wake`.
        if self.state.compare_exchange(IDLE, SLEEPING, Ordering::Relaxed, Ordering::Acquire).is_ok() {
            match timeout {
                Some(timeout) => drop(self.woken.wait_timeout(asleep, timeout)),
                None => drop(self.woken.wait(asleep)),
            }
        }
        // Acquire: as in `take_wake`.
        self.state.swap(IDLE, Ordering::Acquire);
    }

    // Relaxed, here and below: only its own thread counts.
    fn is_worth_looking(&self) -> bool {
        let unseen = self.unseen.load(Ordering::Relaxed);
        let worth = unseen + 1 >= 1 << self.in_vain.load(Ordering::Relaxed);
        self.unseen.store(if worth { 0 } else { unseen + 1 }, Ordering::Relaxed);
        worth
    }

    fn is_woken_soon(&self) -> bool {
        for _ in 0..SPINS {
            if self.take_wake() {
                self.in_vain.store(0, Ordering::Relaxed);
                return true;
            }
            std::hint::spin_loop();
        }
        let in_vain = self.in_vain.load(Ordering::Relaxed);
        self.in_vain.store((in_vain + 1).min(MOST_IN_VAIN), Ordering::Relaxed);
        false
    }

    fn take_wake(&self) -> bool {
        // Acquire: see what was done before the wake.
        self.state.load(Ordering::Relaxed) == WOKEN && self.state.swap(IDLE, Ordering::Acquire) == WOKEN
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: who wakes sees what was done before.
        if self.state.swap(WOKEN, Ordering::Release) == SLEEPING {
            // Locked once, so that who is about to sleep does so before it is woken.
            drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.woken.notify_one();
        }
    }
}

thread_local! {
    /// One for each thread that ever waited, to be used again.
    static PARKER: Cell<Option<Arc<Parker>>> = const { Cell::new(None) };
}

/// Calls `step` until it gives a value, sleeping in between until woken, or for as long as it says (for ever, if it says `None`).
pub(crate) fn block_on<T>(mut step: impl FnMut(&Waker) -> Result<T, Option<Duration>>) -> T {
    // Taken, so that a wait within a wait (a signal handler's) has another. One from before a fork may be locked by a thread
    // that isn't here.
    let kept = PARKER.try_with(Cell::take).ok().flatten().filter(|parker| parker.process == fork::count());
    let parker = kept.unwrap_or_else(Parker::new);
    // A wake that came late for the last wait.
    parker.state.store(IDLE, Ordering::Relaxed);
    let waker = Waker::from(Arc::clone(&parker));
    loop {
        match step(&waker) {
            Ok(value) => {
                // Not kept by a thread that is being torn down.
                let _ = PARKER.try_with(|place| place.set(Some(parker)));
                return value;
            }
            Err(timeout) => parker.park(timeout),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_looks_in_vain_looks_ever_more_seldom_until_it_pays() {
        let parker = Parker::new();
        let looks = |waits: u32| (0..waits).filter(|_| parker.is_worth_looking() && !parker.is_woken_soon()).count();
        assert_eq!(looks(1 + 2 + 4 + 8), 4);
        looks(1 << (MOST_IN_VAIN + 2));
        assert_eq!(looks(10 << MOST_IN_VAIN), 10);
        while !parker.is_worth_looking() {}
        parker.wake_by_ref();
        assert!(parker.is_woken_soon());
        assert_eq!(looks(1), 1);
    }
}
