//! Many threads on one keyed limiter: exact totals for each key, whatever the interleaving.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tidegate::{Algorithm, Anchor, KeyedRateLimiter, KeyedRateOptions, ManualClock, Quota, Status, WhenFull};

fn every_kind(limit: u64, period: Duration) -> [Quota; 4] {
    let quota = Quota::new(limit, period);
    [
        quota,
        quota.with_algorithm(Algorithm::FixedWindow),
        quota.with_algorithm(Algorithm::FixedWindow).with_anchor(Anchor::Clock),
        quota.with_algorithm(Algorithm::SlidingWindow),
    ]
}

const SECOND: Duration = Duration::from_secs(1);

fn limiter(quotas: &[Quota], max_keys: u64, clock: &ManualClock) -> KeyedRateLimiter {
    KeyedRateOptions::new().max_keys(max_keys).clock(clock).build(quotas).unwrap()
}

/// Runs `work` on so many threads at once, each with its number, and adds up what each returns.
fn race(threads: usize, work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..threads)
            .map(|number| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(number)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    })
}

#[test]
fn a_hundred_threads_that_bring_in_one_key_get_exactly_the_limit() {
    for quota in every_kind(30, SECOND) {
        let limiter = limiter(&[quota], 1_000, &ManualClock::new());
        for round in 0..20 {
            let key = format!("key {round}");
            assert_eq!(race(100, |_| u64::from(limiter.try_acquire(&key))), 30, "{quota}, {round}");
        }
        let stats = limiter.stats();
        assert_eq!((stats.allowed, stats.denied, stats.live_keys), (20 * 30, 20 * 70, 20));
    }
}

#[test]
fn ten_threads_on_many_keys_get_exactly_the_limit_of_each() {
    for quotas in every_kind(50, SECOND)
        .map(|quota| vec![quota])
        .into_iter()
        .chain([vec![Quota::new(50, SECOND), Quota::new(60, SECOND * 60).with_algorithm(Algorithm::FixedWindow)]])
    {
        let limiter = limiter(&quotas, 1_000, &ManualClock::new());
        let admitted = race(10, |number| {
            let key = |round: usize| format!("{}", (round * 7 + number) % 100);
            let once = (0..2_000_usize).filter(|round| limiter.try_acquire(key(*round))).count();
            let top_up = (0..2_000_usize).filter(|round| limiter.try_acquire(key(*round))).count();
            (once + top_up) as u64
        });
        // With several quotas a call may be refused for a charge that is just being undone; what is left can be had now.
        let left: usize = (0..100).map(|key| (0..60).filter(|_| limiter.try_acquire(key.to_string())).count()).sum();
        assert_eq!(admitted + left as u64, 100 * 50, "{quotas:?}");
        assert!(quotas.len() > 1 || left == 0, "{quotas:?}: {left} left");
        assert_eq!(limiter.stats().evicted_live, 0);
    }
}

#[test]
fn the_bound_of_each_key_holds_while_slots_change_hands_and_the_clock_moves() {
    const KEYS: usize = 12;
    let (limit, period) = (3, Duration::from_millis(20));
    for quota in every_kind(limit, period) {
        let clock = ManualClock::new();
        // Eight slots for twelve keys: so keys at rest lose theirs all the time, and none that isn't.
        let options = KeyedRateOptions::new().max_keys(1).when_full(WhenFull::DenyNew).clock(&clock);
        let limiter = options.build(quota).unwrap();
        let admitted: [AtomicU64; KEYS] = std::array::from_fn(|_| AtomicU64::new(0));
        let full = race(10, |number| {
            let mut full = 0;
            for round in 0..20_000 {
                // Six at a time, so that the others come to rest.
                let key = (round / 512 * 5 + (round + number) % 6) % KEYS;
                match limiter.try_acquire_status([key as u8], 1).unwrap() {
                    Status::Allowed => {
                        admitted[key].fetch_add(1, Ordering::Relaxed);
                    }
                    Status::KeysFull => full += 1,
                    _ => {}
                }
                if round % 16 == 0 {
                    clock.advance_ns(1_000_000);
                }
            }
            full
        });
        assert!(full > 0, "{quota}: there was no churn");
        assert_eq!(limiter.stats().evicted_live, 0);
        let periods = clock.now_ns() / period.as_nanos() as u64 + 1;
        let admitted = admitted.map(AtomicU64::into_inner);
        assert!(admitted.iter().all(|admitted| *admitted <= limit * (periods + 1)), "{quota}: {admitted:?}, {periods}");
        assert!(admitted.iter().sum::<u64>() > limit * periods, "{quota}: {admitted:?}, {periods}");
    }
}

#[test]
fn quotas_that_change_under_ten_threads_lose_no_charge_of_any_key() {
    const KEYS: u64 = 40;
    for quota in every_kind(1_000, SECOND) {
        let larger = Quota::new(2_000, SECOND / 2).with_algorithm(quota.algorithm()).with_anchor(quota.anchor());
        let limiter = limiter(&[quota], 100, &ManualClock::new());
        let done = AtomicBool::new(false);
        let admitted = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    limiter.reconfigure(larger).unwrap();
                    limiter.reconfigure(quota).unwrap();
                }
            });
            let ask = |key: u64| (0..90).filter(|_| limiter.try_acquire(key.to_le_bytes())).count() as u64;
            let admitted = race(10, |number| (0..KEYS).map(|key| ask((key + number as u64) % KEYS)).sum());
            done.store(true, Ordering::Relaxed);
            admitted
        });
        assert_eq!(admitted, 900 * KEYS, "{quota}");
        limiter.reconfigure(quota).unwrap();
        for key in 0..KEYS {
            assert_eq!(limiter.peek(key.to_le_bytes()).remaining(), 100, "{quota}");
        }
    }
}

#[test]
fn origins_that_move_under_ten_threads_keep_the_bound_of_every_key() {
    const KEYS: usize = 20;
    let day = Duration::from_secs(86_400);
    for quota in every_kind(300, day * 600) {
        let clock = ManualClock::new();
        let limiter = limiter(&[quota], 50, &clock);
        let admitted: [AtomicU64; KEYS] = std::array::from_fn(|_| AtomicU64::new(0));
        race(10, |number| {
            for round in 0..30_000 {
                let key = (round + number) % KEYS;
                if limiter.try_acquire([key as u8]) {
                    admitted[key].fetch_add(1, Ordering::Relaxed);
                }
                if number == 0 && round % 100 == 0 {
                    clock.advance(day * 20);
                }
            }
            0
        });
        // 6,000 days are ten periods.
        for admitted in admitted {
            let admitted = admitted.into_inner();
            assert!(admitted <= 300 * 11, "{quota}: {admitted}");
            assert!(admitted >= 300 * 4, "{quota}: {admitted}");
        }
        assert_eq!(limiter.stats().evicted_live, 0);
    }
}

#[test]
fn refunds_from_ten_threads_balance_for_every_key() {
    for quota in every_kind(100, SECOND) {
        let limiter = limiter(&[quota, quota], 100, &ManualClock::new());
        race(10, |number| {
            for round in 0..2_000 {
                let key = [((round + number) % 20) as u8];
                let decision = limiter.decide(key);
                if decision.allowed() {
                    limiter.refund(key, &decision).unwrap();
                    assert!(limiter.refund(key, &decision).is_err());
                }
            }
            0
        });
        assert!(limiter.is_empty(), "{quota}");
        assert!((0..20_u8).all(|key| limiter.peek([key]).remaining() == 100), "{quota}");
    }
}

#[test]
fn resets_and_evictions_under_ten_threads_break_nothing() {
    for quota in every_kind(2, SECOND) {
        let clock = ManualClock::new();
        let limiter = limiter(&[quota], 2, &clock);
        race(10, |number| {
            for round in 0..5_000 {
                let key = [((round * 3 + number) % 40) as u8];
                let decision = limiter.decide_n(key, 1 + (round % 2) as u64).unwrap();
                match round % 5 {
                    0 => limiter.reset(key),
                    1 if decision.allowed() => limiter.refund(key, &decision).unwrap(),
                    2 => clock.advance_ns(10_000_000),
                    _ => {}
                }
            }
            0
        });
        assert!(limiter.stats().evicted_live > 0);
        for key in 0..40_u8 {
            limiter.reset([key]);
            assert_eq!((0..5).filter(|_| limiter.try_acquire([key])).count(), 2, "{quota}");
        }
    }
}
