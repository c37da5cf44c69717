//! The peers, set up to do the same work.

use governor::clock::DefaultClock;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

pub type Governor = RateLimiter<NotKeyed, InMemoryState, DefaultClock>;

pub type KeyedGovernor = RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock>;

pub fn nonzero(value: u64) -> NonZeroU32 {
    u32::try_from(value).ok().and_then(NonZeroU32::new).expect("a positive number of 32 bits")
}

/// A bucket that is never empty.
pub fn governor_full(limit: u64) -> Governor {
    RateLimiter::direct(Quota::per_second(nonzero(limit)))
}

/// A bucket that is empty for an hour.
pub fn governor_used_up() -> Governor {
    let limiter = RateLimiter::direct(Quota::per_hour(nonzero(1)));
    assert!(limiter.check().is_ok());
    limiter
}

/// Buckets that are never empty, one for each key.
pub fn governor_keyed(limit: u64) -> KeyedGovernor {
    RateLimiter::keyed(Quota::per_second(nonzero(limit)))
}

/// The semaphore of a textbook.
pub struct Semaphore {
    free: Mutex<usize>,
    released: Condvar,
}

impl Semaphore {
    pub fn new(free: usize) -> Self {
        Self { free: Mutex::new(free), released: Condvar::new() }
    }

    pub fn acquire(&self) {
        let free = self.free.lock().expect("no panic");
        *self.released.wait_while(free, |free| *free == 0).expect("no panic") -= 1;
    }

    pub fn release(&self) {
        *self.free.lock().expect("no panic") += 1;
        self.released.notify_one();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on the calling thread, as the small executors do.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! { static WAKER: Waker = Waker::from(Arc::new(Unpark(std::thread::current()))) }
    let mut future = pin!(future);
    WAKER.with(|waker| {
        loop {
            match future.as_mut().poll(&mut Context::from_waker(waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => std::thread::park(),
            }
        }
    })
}
