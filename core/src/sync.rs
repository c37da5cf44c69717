//! The atomics and locks that the rest uses, so that the model checker can stand in for them (`--cfg loom`).

#[cfg(not(loom))]
pub(crate) use portable_atomic::AtomicU128;
#[cfg(not(loom))]
pub(crate) use std::sync::Mutex;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, fence};

#[cfg(loom)]
pub(crate) use loom::sync::Mutex;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, fence};

/// loom has no 128-bit atomic. A mutex around the value gives the same single steps, if with stronger ordering: what the
/// orderings of the protocol must do is checked with the 64-bit word, which runs the same code.
#[cfg(loom)]
pub(crate) struct AtomicU128(loom::sync::Mutex<u128>);

#[cfg(loom)]
impl AtomicU128 {
    pub(crate) fn new(value: u128) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn load(&self, _order: std::sync::atomic::Ordering) -> u128 {
        *self.0.lock().expect("no model thread panics with the lock")
    }

    pub(crate) fn compare_exchange_weak(
        &self,
        current: u128,
        new: u128,
        _success: std::sync::atomic::Ordering,
        _failure: std::sync::atomic::Ordering,
    ) -> Result<u128, u128> {
        let mut value = self.0.lock().expect("no model thread panics with the lock");
        if *value == current {
            *value = new;
            Ok(current)
        } else {
            Err(*value)
        }
    }
}

/// Locks, and goes on after a panic elsewhere: everything guarded here is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// After a lost exchange: leaves the line to the winner for about as long as it needs for ten decisions. Threads that take
/// turns in runs move the line far less often; on two busy cores this doubles what both get done (measured).
#[cold]
pub(crate) fn back_off() {
    for _ in 0..16 {
        std::hint::spin_loop();
    }
}

/// Keeps a hot word off the cache lines of its neighbours (two lines: processors fetch them in pairs).
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);
