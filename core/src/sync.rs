//! The atomics and locks that the rest uses, so that the model checker can stand in for them (`--cfg loom`).

#[cfg(not(loom))]
pub(crate) use crate::lock::Lock;
#[cfg(not(loom))]
pub(crate) use portable_atomic::AtomicU128;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, fence};
#[cfg(loom)]
pub(crate) use modelled::Lock;

#[cfg(loom)]
pub(crate) use wide::AtomicU128;

/// loom has no 128-bit atomic. So each value that comes up gets a number, always the same, and the atomic holds that.
///
/// A load is a step that changes nothing: of several plain loads loom remembers the last alone, and so leaves out orders of an earlier
/// one and another's exchange (a stale `now` then went unfound). What the orderings of the protocol must do is checked with the
/// 64-bit word, which runs the same code.
#[cfg(loom)]
mod wide {
    use std::sync::Mutex;
    use std::sync::atomic::Ordering;

    /// A value's number is its place.
    static VALUES: Mutex<Vec<u128>> = Mutex::new(Vec::new());

    fn number(value: u128) -> u64 {
        let mut values = VALUES.lock().expect("nothing panics here");
        let known = values.iter().rposition(|known| *known == value);
        known.unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        }) as u64
    }

    fn value(number: u64) -> u128 {
        VALUES.lock().expect("nothing panics here")[number as usize]
    }

    pub(crate) struct AtomicU128(loom::sync::atomic::AtomicU64);

    impl AtomicU128 {
        pub(crate) fn new(value: u128) -> Self {
            Self(loom::sync::atomic::AtomicU64::new(number(value)))
        }

        pub(crate) fn load(&self, _order: Ordering) -> u128 {
            value(self.0.fetch_or(0, Ordering::AcqRel))
        }

        pub(crate) fn compare_exchange_weak(
            &self,
            current: u128,
            new: u128,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u128, u128> {
            let exchanged = self.0.compare_exchange_weak(number(current), number(new), success, failure);
            exchanged.map(value).map_err(value)
        }
    }
}

/// A value that is replaced as a whole, while others read it without a lock.
#[cfg(not(loom))]
pub(crate) struct Published<T>(arc_swap::ArcSwapOption<T>);

#[cfg(not(loom))]
impl<T> Published<T> {
    pub(crate) fn nothing() -> Self {
        Self(arc_swap::ArcSwapOption::empty())
    }

    #[inline]
    pub(crate) fn read(&self) -> impl std::ops::Deref<Target = Option<std::sync::Arc<T>>> + '_ {
        self.0.load()
    }

    pub(crate) fn publish(&self, value: Option<std::sync::Arc<T>>) {
        self.0.store(value);
    }
}

/// What is published is whole and replaced in one step, which to the model checker is a lock around the replacing.
#[cfg(loom)]
pub(crate) struct Published<T>(Lock<Option<std::sync::Arc<T>>>);

#[cfg(loom)]
impl<T> Published<T> {
    pub(crate) fn nothing() -> Self {
        Self(Lock::new(None))
    }

    pub(crate) fn read(&self) -> Box<Option<std::sync::Arc<T>>> {
        Box::new(self.0.lock().clone())
    }

    pub(crate) fn publish(&self, value: Option<std::sync::Arc<T>>) {
        *self.0.lock() = value;
    }
}

/// A lock that the model checker sees. Models don't fork.
#[cfg(loom)]
mod modelled {
    use crate::lock::Inherited;
    use std::ops::{Deref, DerefMut};

    pub(crate) struct Lock<T>(loom::sync::Mutex<T>);

    impl<T: Default> Default for Lock<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> Guard<'_, T> {
            Guard { guard: self.0.lock().expect("nothing panics here"), inherited: Inherited::No }
        }
    }

    pub(crate) struct Guard<'a, T> {
        guard: loom::sync::MutexGuard<'a, T>,
        pub(crate) inherited: Inherited,
    }

    impl<T> Guard<'_, T> {
        pub(crate) fn renew(&mut self, value: T) {
            **self = value;
        }
    }

    impl<T> Deref for Guard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.guard
        }
    }

    impl<T> DerefMut for Guard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.guard
        }
    }
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

/// Where a unit test may let others act between two steps of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The clock was read, the state not yet.
    ClockRead,
    /// A key wasn't in the table of all.
    NotInTable,
    /// One quota was charged.
    Charged,
    /// One quota was reset.
    Reset,
}

/// Nothing, outside of unit tests.
#[cfg(any(not(test), loom))]
#[inline(always)]
pub(crate) fn pause(_at: Pause) {}

#[cfg(all(test, not(loom)))]
pub(crate) use pauses::{at_next, pause};

/// Others act on the thread of the call that is paused: so who comes between is certain.
#[cfg(all(test, not(loom)))]
mod pauses {
    use super::Pause;
    use std::cell::RefCell;

    type Others = (Pause, Box<dyn FnOnce()>);

    thread_local! {
        static NEXT: RefCell<Option<Others>> = const { RefCell::new(None) };
    }

    /// Lets `others` act when a call of this thread is next there. What they call isn't paused.
    pub(crate) fn at_next(pause: Pause, others: impl FnOnce() + 'static) {
        NEXT.set(Some((pause, Box::new(others))));
    }

    pub(crate) fn pause(at: Pause) {
        let is_awaited = NEXT.with_borrow(|next| next.as_ref().is_some_and(|(awaited, _)| *awaited == at));
        if is_awaited && let Some((_, others)) = NEXT.take() {
            others();
        }
    }
}
