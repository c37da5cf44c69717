//! Many threads on one limiter: exact totals, whatever the interleaving.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use tidegate::{Algorithm, Anchor, ConcurrencyLimiter, ManualClock, Quota, RateLimiter};

const THREADS: u64 = 10;

fn every_kind(limit: u64) -> [Quota; 5] {
    let quota = Quota::per_second(limit);
    [
        quota,
        quota.with_algorithm(Algorithm::FixedWindow),
        quota.with_algorithm(Algorithm::FixedWindow).with_anchor(Anchor::Clock),
        quota.with_algorithm(Algorithm::SlidingWindow),
        quota.with_algorithm(Algorithm::SlidingLog),
    ]
}

/// Runs `work` on ten threads at once and adds up what each returns.
fn race(work: impl Fn() -> u64 + Sync) -> u64 {
    let barrier = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    work()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    })
}

#[test]
fn ten_threads_get_exactly_the_limit_while_the_clock_stands() {
    for quota in every_kind(50_000) {
        let clock = ManualClock::new();
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        let admitted = race(|| (0..10_000).filter(|_| limiter.try_acquire()).count() as u64);
        assert_eq!(admitted, 50_000, "{quota}");
        let stats = limiter.stats();
        assert_eq!((stats.allowed, stats.denied), (50_000, THREADS * 10_000 - 50_000), "{quota}");
    }
}

#[test]
fn ten_threads_with_different_costs_spend_exactly_the_limit() {
    for quota in every_kind(30_000) {
        let limiter = RateLimiter::with_clock(quota, ManualClock::new()).unwrap();
        let spent = race(|| {
            let ask = |cost| if limiter.try_acquire_n(cost).unwrap() { cost } else { 0 };
            (0..3_000).map(|round| ask(1 + round % 7)).sum::<u64>() + (0..10_000).map(|_| ask(1)).sum::<u64>()
        });
        assert_eq!(spent, 30_000, "{quota}");
        assert_eq!(limiter.peek().remaining(), 0, "{quota}");
    }
}

#[test]
fn each_window_that_opens_under_ten_threads_admits_exactly_its_limit() {
    let clock = ManualClock::new();
    let quota = Quota::new(1_000, Duration::from_millis(1)).with_algorithm(Algorithm::FixedWindow);
    let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
    let windows = Mutex::new(1);
    let admitted = race(|| {
        let mut admitted = 0;
        for _ in 0..20_000 {
            if limiter.try_acquire() {
                admitted += 1;
                continue;
            }
            // A window that is used up ends now, under the others' feet.
            let mut windows = windows.lock().unwrap();
            if *windows < 50 && limiter.peek().remaining() == 0 {
                *windows += 1;
                clock.advance_ns(1_000_000);
            }
        }
        admitted
    });
    let left = (0..1_000).filter(|_| limiter.try_acquire()).count() as u64;
    assert_eq!(admitted + left, *windows.lock().unwrap() * 1_000);
}

#[test]
fn the_bound_of_gcra_holds_while_the_clock_moves_under_ten_threads() {
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock(Quota::per_second(1_000).with_burst(10), &clock).unwrap();
    let admitted = race(|| {
        (0..20_000)
            .filter(|round| {
                if round % 40 == 0 {
                    clock.advance_ns(1_000_000);
                }
                limiter.try_acquire()
            })
            .count() as u64
    });
    let due = clock.now_ns() / 1_000_000;
    assert!(admitted <= 10 + due, "{admitted} of {due} due");
    assert!(admitted >= due, "never less either: the bucket never filled, {admitted} of {due} due");
}

#[test]
fn several_quotas_never_exceed_any_bound_and_undo_leaves_nothing_charged() {
    for _ in 0..20 {
        let clock = ManualClock::new();
        let wide = Quota::per_minute(5_000);
        for narrow in every_kind(100) {
            let limiter = RateLimiter::with_clock([wide, narrow], &clock).unwrap();
            let admitted = race(|| (0..50).filter(|_| limiter.try_acquire()).count() as u64);
            assert!(admitted <= 100, "{narrow}: {admitted}");
            let mut topped_up = admitted;
            while limiter.try_acquire() {
                topped_up += 1;
            }
            assert_eq!(topped_up, 100, "without a race, what is left can be had");
            assert_eq!(limiter.peek().quota(), 1);
            limiter.reconfigure([wide, narrow]).unwrap();
            let relaxed: Quota =
                Quota::new(1_000_000, narrow.period()).with_algorithm(narrow.algorithm()).with_anchor(narrow.anchor());
            limiter.reconfigure([wide, relaxed]).unwrap();
            assert_eq!(limiter.peek().remaining(), 4_900, "the wide quota was charged for what was admitted alone");
        }
    }
}

#[test]
fn a_quota_that_changes_under_ten_threads_never_gives_more_than_the_larger_one() {
    let clock = ManualClock::new();
    for quota in every_kind(1_000) {
        let larger =
            Quota::new(2_000, Duration::from_millis(500)).with_algorithm(quota.algorithm()).with_anchor(quota.anchor());
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        let done = AtomicBool::new(false);
        let admitted = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    limiter.reconfigure(larger).unwrap();
                    limiter.reconfigure(quota).unwrap();
                }
            });
            // Too few to use up even the smaller: so nothing is forgiven by a change, and every charge must be found again.
            let admitted = race(|| (0..90).filter(|_| limiter.try_acquire()).count() as u64);
            done.store(true, Ordering::Relaxed);
            admitted
        });
        assert_eq!(admitted, 900, "{quota}");
        limiter.reconfigure(quota).unwrap();
        assert_eq!(limiter.peek().remaining(), 100, "{quota}");
    }
}

#[test]
fn refunds_from_ten_threads_balance() {
    for quota in every_kind(1_000) {
        let limiter = RateLimiter::with_clock(quota, ManualClock::new()).unwrap();
        race(|| {
            for _ in 0..2_000 {
                let decision = limiter.decide();
                if decision.allowed() {
                    limiter.refund(&decision).unwrap();
                    assert!(limiter.refund(&decision).is_err());
                }
            }
            0
        });
        assert_eq!(limiter.peek().remaining(), 1_000, "{quota}");
    }
}

#[test]
fn one_decision_is_refunded_once_though_ten_threads_try() {
    let limiter = RateLimiter::with_clock(Quota::per_second(10), ManualClock::new()).unwrap();
    let (first, second) = (limiter.decide_n(3).unwrap(), limiter.decide_n(4).unwrap());
    assert_eq!(race(|| u64::from(limiter.refund(&first).is_ok())), 1);
    assert_eq!(limiter.peek().remaining(), 6);
    drop(second);
}

#[test]
fn never_more_permits_out_than_the_limit_and_none_at_the_end() {
    let limiter = Arc::new(ConcurrencyLimiter::new(3).unwrap());
    let (inside, peak) = (AtomicU64::new(0), AtomicU64::new(0));
    race(|| {
        for round in 0..20_000_u64 {
            let permits = 1 + round % 3;
            let Some(permit) = limiter.try_acquire_n(permits).unwrap() else { continue };
            peak.fetch_max(inside.fetch_add(permits, Ordering::SeqCst) + permits, Ordering::SeqCst);
            inside.fetch_sub(permits, Ordering::SeqCst);
            permit.release(round % 2 == 0);
        }
        0
    });
    assert!((1..=3).contains(&peak.load(Ordering::SeqCst)), "{peak:?}");
    assert_eq!((limiter.in_flight(), limiter.available()), (0, 3));
    let stats = limiter.stats();
    assert_eq!(stats.allowed, stats.released_ok + stats.released_failed);
    assert_eq!(stats.allowed + stats.denied, THREADS * 20_000);
}

#[test]
fn the_limit_changes_under_ten_threads_and_no_permit_is_lost() {
    let limiter = ConcurrencyLimiter::new(5).unwrap();
    race(|| {
        for round in 0..20_000_u64 {
            if round % 50 == 0 {
                limiter.set_limit(round % 7).unwrap();
            }
            drop(limiter.try_acquire());
        }
        0
    });
    limiter.set_limit(5).unwrap();
    assert_eq!((limiter.in_flight(), limiter.available()), (0, 5));
}
