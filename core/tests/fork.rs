//! A child of a busy process: forked while other threads are inside every kind of limiter and waiters are queued, it works at once.
#![cfg(all(unix, not(loom)))]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidegate::{
    ConcurrencyLimiter, KeyedConcurrencyLimiter, KeyedRateLimiter, ManualClock, Quota, RateLimiter, Started, Status,
};

struct Limiters {
    permits: Arc<ConcurrencyLimiter>,
    tokens: Arc<RateLimiter>,
    windows: Arc<RateLimiter>,
    log: Arc<RateLimiter>,
    keyed_tokens: Arc<KeyedRateLimiter>,
    keyed_permits: Arc<KeyedConcurrencyLimiter>,
    clock: ManualClock,
    manual: Arc<RateLimiter>,
}

impl Limiters {
    fn new() -> Self {
        let rate = |quota: &str| Arc::new(RateLimiter::new(quota).unwrap());
        let clock = ManualClock::new();
        Self {
            permits: Arc::new(ConcurrencyLimiter::new(2).unwrap()),
            tokens: rate("1000000/s"),
            windows: rate("1000000/s fixed_window; 1000000/s sliding_window"),
            log: rate("1000/s sliding_log"),
            keyed_tokens: Arc::new(KeyedRateLimiter::new("1000/s", 100).unwrap()),
            keyed_permits: Arc::new(KeyedConcurrencyLimiter::new(2, 100).unwrap()),
            manual: Arc::new(RateLimiter::with_clock("10/s", &clock).unwrap()),
            clock,
        }
    }

    /// A bit of everything that takes a lock.
    fn work(&self, round: u64) {
        let short = Duration::from_micros(20);
        drop(self.permits.acquire(short));
        let _ = self.tokens.acquire(short);
        let _ = self.windows.acquire(short);
        let _ = self.log.acquire(short);
        let key = round.to_le_bytes();
        let _ = self.keyed_tokens.try_acquire(key);
        let _ = self.keyed_tokens.acquire("all", short);
        drop(self.keyed_permits.try_acquire(key));
        drop(self.keyed_permits.acquire_n("all", 2, short));
        self.keyed_tokens.reset(key);
        for limiter in [&self.tokens, &self.windows, &self.log] {
            let _ = limiter.refund(&limiter.decide());
            limiter.reset();
        }
        let per_second = 900_000 + round % 2;
        self.tokens.reconfigure(Quota::per_second(per_second)).unwrap();
        self.clock.advance_ns(1_000);
        let _ = self.manual.acquire_by_ticket(1, Some(Duration::from_micros(5)), |_| {});
        assert!("5 per 30s burst 7".parse::<Quota>().is_ok());
    }

    /// In the child: all of it works, and the permits of the parent don't count.
    fn works(&self) -> bool {
        self.work(7);
        let all = self.permits.acquire_n(2, Duration::from_millis(500));
        let of_key = self.keyed_permits.acquire_n("all", 2, Duration::from_millis(500));
        let tokens = self.keyed_tokens.acquire("all", Duration::from_millis(500));
        all.is_ok()
            && of_key.is_ok()
            && tokens.is_ok()
            && (self.permits.available(), self.permits.waiting()) == (0, 0)
            && (self.keyed_permits.available("all"), self.keyed_permits.waiting("all")) == (0, 0)
    }
}

fn wait_for(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status
}

/// What `run` says in a child, which is killed after five seconds.
fn in_child(run: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child uses the limiters, whose promise this is, and exits without running handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: arms a timer, and ends the child at once.
        unsafe {
            libc::alarm(5);
            libc::_exit(i32::from(!run()));
        }
    }
    wait_for(child) == 0
}

#[test]
fn five_hundred_children_of_a_busy_process_work() {
    let limiters = Arc::new(Limiters::new());
    let stop = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..4_u64)
        .map(|thread| {
            let (limiters, stop) = (Arc::clone(&limiters), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut round = thread << 32;
                while !stop.load(Ordering::Relaxed) {
                    limiters.work(round);
                    round += 1;
                }
            })
        })
        .collect();
    let failed = (0..500).filter(|_| !in_child(|| limiters.works())).count();
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(failed, 0);
}

#[test]
fn what_the_parent_holds_is_not_out_in_the_child_and_not_the_childs_to_release() {
    let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
    let held = limiter.try_acquire_raw(1).unwrap().unwrap();
    let started = limiter.acquire_by_ticket(1, None, |_| {}).unwrap();
    let Started::Pending { ticket, .. } = started else { panic!("{started:?}") };
    assert!(in_child(|| {
        let own = limiter.try_acquire_raw(1).unwrap();
        let refused = limiter.release(&held, true).unwrap_err();
        let waits = limiter.waiting();
        let full = limiter.in_flight() == 1 && limiter.try_acquire().is_none();
        let returned = limiter.release(&own.unwrap(), true).is_ok() && limiter.available() == 1;
        own.is_ok() && refused.status() == Status::Forked && waits == 0 && full && returned
    }));
    assert_eq!((limiter.in_flight(), limiter.waiting()), (1, 1), "the parent's own are as they were");
    assert!(limiter.cancel_ticket(ticket).unwrap());
    limiter.release(&held, true).unwrap();
}

#[test]
fn tokens_that_are_waited_for_in_the_parent_can_be_taken_in_the_child() {
    let limiter = RateLimiter::new("10/s burst 1").unwrap();
    assert!(limiter.try_acquire());
    let started = limiter.acquire_by_ticket(1, None, |_| {}).unwrap();
    assert!(matches!(started, Started::Pending { .. }));
    assert!(in_child(|| {
        std::thread::sleep(Duration::from_millis(150));
        limiter.try_acquire() && limiter.acquire(Duration::from_millis(500)).is_ok()
    }));
    assert!(in_child(|| limiter.reserve(1, None).is_ok()));
    let limiter = KeyedRateLimiter::new("10/s burst 1", 100).unwrap();
    assert!(limiter.try_acquire("k"));
    assert!(matches!(limiter.acquire_by_ticket("k", 1, None, |_| {}).unwrap(), Started::Pending { .. }));
    assert!(limiter.reserve("k", 1, None).is_err());
    assert!(in_child(|| limiter.reserve("k", 1, None).is_ok()));
}
