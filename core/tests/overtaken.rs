//! Calls that are overtaken by others between their reading of the clock and their step, on the real clock.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::Barrier;
use tidegate::{KeyedRateLimiter, Quota, RateLimiter};

/// As many threads as there are tokens ask once each, all at one moment.
fn admitted(threads: usize, ask: impl Fn() -> bool + Sync) -> usize {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let askers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    ask()
                })
            })
            .collect();
        askers.into_iter().map(|asker| asker.join().unwrap()).filter(|admitted| *admitted).count()
    })
}

#[test]
fn a_full_bucket_serves_as_many_callers_at_once_as_it_has_tokens() {
    for _ in 0..500 {
        let limiter = RateLimiter::new(Quota::per_hour(8)).unwrap();
        assert_eq!(admitted(8, || limiter.try_acquire()), 8);
        let limiter = RateLimiter::new(Quota::per_hour(8)).unwrap();
        assert_eq!(admitted(8, || limiter.decide().allowed()), 8);
        let limiter = KeyedRateLimiter::new(Quota::per_hour(8), 100).unwrap();
        assert_eq!(admitted(8, || limiter.try_acquire("key")), 8);
    }
}

#[test]
fn a_new_key_that_stands_in_a_batch_twice_is_charged_twice() {
    for number in 0..500 {
        let limiter = KeyedRateLimiter::new("2/h", 100).unwrap();
        let mut statuses = [tidegate::Status::Pending; 3];
        let key = format!("key {number}");
        limiter.try_acquire_many(&[&key, &key, &key], 1, &mut statuses).unwrap();
        assert_eq!(statuses.map(|status| status.name()), ["allowed", "allowed", "denied"]);
    }
}

#[test]
fn a_change_of_quotas_under_a_moving_clock_gives_nothing_away_and_locks_nobody_out() {
    use tidegate::ManualClock;
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock("1000/s burst 5", &clock).unwrap();
    assert!(limiter.try_acquire_n(5).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut admitted = 0_u64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                limiter.reconfigure("2000/2s burst 5").unwrap();
                limiter.reconfigure("1000/s burst 5").unwrap();
            }
        });
        // Three tokens fall due at each step; the bucket was empty, so exactly three are there.
        for _ in 0..60_000 {
            clock.advance_ns(3_000_000);
            admitted += (0..8).filter(|_| limiter.try_acquire()).count() as u64;
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(admitted, 3 * 60_000);
}
