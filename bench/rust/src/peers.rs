//! The peers, set up to do the same work.

use governor::clock::DefaultClock;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use ratelimit::Ratelimiter;
use std::convert::Infallible;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;
use tower::Service;
use tower::limit::RateLimit;
use tower::limit::rate::Rate;

pub type Governor = RateLimiter<NotKeyed, InMemoryState, DefaultClock>;
pub type KeyedGovernor = RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock>;

pub const HOUR: Duration = Duration::from_secs(3_600);

pub fn nonzero(value: u64) -> NonZeroU32 {
    u32::try_from(value).ok().and_then(NonZeroU32::new).expect("a positive number of 32 bits")
}

/// A bucket of `limit` tokens that is full, and fills in `period`.
pub fn governor(limit: u64, period: Duration) -> Governor {
    let quota = Quota::with_period(period / nonzero(limit).get()).expect("a period");
    RateLimiter::direct(quota.allow_burst(nonzero(limit)))
}

/// Buckets that are never empty, one for each key.
pub fn governor_keyed(limit: u64) -> KeyedGovernor {
    RateLimiter::keyed(Quota::per_second(nonzero(limit)))
}

pub fn ratelimit(limit: u64, period: Duration) -> Ratelimiter {
    Ratelimiter::builder(limit).period(period).max_tokens(limit).initial_available(limit).build().expect("tokens")
}

pub fn leaky_bucket(limit: usize, period: Duration) -> leaky_bucket::RateLimiter {
    leaky_bucket::RateLimiter::builder().max(limit).initial(limit).refill(limit).interval(period).build()
}

/// A limit in front of a service that does nothing. Must be made where a tokio runtime is.
pub fn tower(limit: u64, period: Duration) -> RateLimit<Nothing> {
    RateLimit::new(Nothing, Rate::new(limit, period))
}

/// What tower's limits stand in front of.
#[derive(Clone)]
pub struct Nothing;

impl Service<()> for Nothing {
    type Response = ();
    type Error = Infallible;
    type Future = std::future::Ready<Result<(), Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        std::future::ready(Ok(()))
    }
}

/// What the service answers with, if it is ready for a call now; tower has no other word for "refused" than "not yet".
pub fn call_if_ready<S: Service<()>>(service: &mut S) -> Option<S::Future> {
    let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
    matches!(ready, Poll::Ready(Ok(()))).then(|| service.call(()))
}

/// Waits until the service is ready, then for its answer.
pub async fn call_when_ready<S: Service<(), Response = (), Error = Infallible>>(service: &mut S) {
    let Ok(()) = std::future::poll_fn(|context| service.poll_ready(context)).await;
    let Ok(()) = service.call(()).await;
}

/// What a future has at its first poll. Into the caller, as an executor's loop has it.
#[inline(always)]
pub fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("must wait"),
    }
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
