//! Keyed rate limiters when there are more keys than slots.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::time::Duration;
use tidegate::{Algorithm, Anchor, Decision, KeyedRateLimiter, KeyedRateOptions, ManualClock, Quota, Status, WhenFull};

const SECOND: Duration = Duration::from_secs(1);

fn every_kind(limit: u64, period: Duration) -> [Quota; 4] {
    let quota = Quota::new(limit, period);
    [
        quota,
        quota.with_algorithm(Algorithm::FixedWindow),
        quota.with_algorithm(Algorithm::FixedWindow).with_anchor(Anchor::Clock),
        quota.with_algorithm(Algorithm::SlidingWindow),
    ]
}

fn limiter(quota: Quota, max_keys: u64, clock: &ManualClock) -> KeyedRateLimiter {
    KeyedRateOptions::new().max_keys(max_keys).clock(clock).build(quota).unwrap()
}

fn admitted(limiter: &KeyedRateLimiter, key: &str, asks: usize) -> usize {
    (0..asks).filter(|_| limiter.try_acquire(key)).count()
}

fn figures(decision: &Decision) -> (Status, usize, u64, u64, u64, u64) {
    (
        decision.status(),
        decision.quota(),
        decision.limit(),
        decision.remaining(),
        decision.retry_after_ns(),
        decision.reset_after_ns(),
    )
}

#[test]
fn keys_at_rest_are_reused_and_nothing_is_evicted() {
    for quota in every_kind(2, SECOND) {
        let clock = ManualClock::new();
        let limiter = limiter(quota, 100, &clock);
        for number in 0..20_000 {
            if number % 50 == 0 {
                clock.advance(SECOND * 2);
            }
            assert_eq!(admitted(&limiter, &number.to_string(), 3), 2, "{quota}");
        }
        let stats = limiter.stats();
        assert_eq!(stats.evicted_live, 0, "{quota}");
        assert!(stats.live_keys <= 100, "{quota}: {stats:?}");
        clock.advance(SECOND * 2);
        assert!(limiter.is_empty());
    }
}

#[test]
fn of_ten_thousand_inserts_at_most_two_evict_a_live_key_when_as_many_keys_live_as_there_is_room_for() {
    // Each key owes for 20,000 steps of the clock, and one enters at each step: so 20,000 live at any time. By ten random seeds.
    const KEYS: u64 = 20_000;
    let (mut entered, mut evicted) = (0, 0);
    for _ in 0..10 {
        let clock = ManualClock::new();
        let limiter = limiter(Quota::new(1, Duration::from_nanos(KEYS)), KEYS, &clock);
        for number in 0..KEYS * 4 {
            clock.advance_ns(1);
            assert!(limiter.try_acquire(number.to_le_bytes()));
            entered += 1;
        }
        evicted += limiter.stats().evicted_live;
    }
    assert!(evicted * 10_000 <= entered * 2, "{evicted} of {entered}");
}

#[test]
fn eviction_takes_the_key_that_owes_the_smallest_share() {
    for quota in every_kind(16, SECOND) {
        let clock = ManualClock::new();
        // Two lines: every key may have any of the eight slots.
        let limiter = limiter(quota, 1, &clock);
        for share in 1..=8_u64 {
            assert!(limiter.try_acquire_n(share.to_string(), share).unwrap());
        }
        assert_eq!((limiter.len(), limiter.stats().evicted_live), (8, 0), "{quota}");
        for evicted in 1..=8_u64 {
            assert!(limiter.try_acquire_n(format!("new {evicted}"), 9 + evicted % 3).unwrap());
            assert_eq!(limiter.stats().evicted_live, evicted);
            for share in 1..=8_u64 {
                let remaining = limiter.peek(share.to_string()).remaining();
                assert_eq!(remaining, if share <= evicted { 16 } else { 16 - share }, "{quota}, {evicted} evicted");
            }
        }
    }
}

#[test]
fn of_keys_that_owe_as_much_the_one_that_is_at_rest_first_is_evicted() {
    let clock = ManualClock::new();
    let limiter = limiter("4/s fixed_window".parse().unwrap(), 1, &clock);
    for number in 0..8 {
        assert!(limiter.try_acquire(format!("{}", (number + 3) % 8)));
        clock.advance_ns(1);
    }
    assert!(limiter.try_acquire("new"));
    assert_eq!(limiter.peek("3").remaining(), 4, "the oldest window ends first");
    assert!((0..8).filter(|number| *number != 3).all(|number| limiter.peek(number.to_string()).remaining() == 3));
}

#[test]
fn a_refused_key_stays_refused_through_a_flood_of_fresh_keys() {
    for quota in every_kind(2, Duration::from_secs(60)) {
        let limiter = limiter(quota, 1_000, &ManualClock::new());
        assert_eq!(admitted(&limiter, "victim", 3), 2);
        for flood in 0..2_000 {
            assert!(limiter.try_acquire(format!("flood {flood}")));
        }
        assert!(!limiter.try_acquire("victim"), "{quota}");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let limiter = &limiter;
                scope.spawn(move || (0..1_000).for_each(|flood| drop(limiter.decide(format!("{thread} {flood}")))));
            }
        });
        assert!(!limiter.try_acquire("victim"), "{quota}");
        assert!(limiter.stats().evicted_live > 0, "the flood was more than there is room for");
    }
}

#[test]
fn with_deny_new_no_flood_frees_a_refused_key() {
    for limit in [1, 2] {
        for quota in every_kind(limit, Duration::from_secs(60)) {
            let clock = ManualClock::new();
            let options = KeyedRateOptions::new().max_keys(500).when_full(WhenFull::DenyNew).clock(&clock);
            let limiter = options.build(quota).unwrap();
            assert_eq!(admitted(&limiter, "victim", 3), limit as usize);
            let mut full = 0;
            for flood in 0..5_000 {
                match limiter.try_acquire_status(format!("flood {flood}"), limit).unwrap() {
                    Status::Allowed => {}
                    Status::KeysFull => full += 1,
                    status => panic!("{status}"),
                }
            }
            assert!(full > 0);
            assert!(!limiter.try_acquire("victim"), "{quota}");
            let stats = limiter.stats();
            assert_eq!((stats.evicted_live, stats.denied), (0, full + 4 - limit));
        }
    }
}

#[test]
fn when_keys_are_full_the_figures_tell_when_there_is_room_again() {
    for quota in every_kind(2, SECOND) {
        let clock = ManualClock::new();
        clock.advance(SECOND * 100);
        let options = KeyedRateOptions::new().max_keys(1).when_full(WhenFull::DenyNew).clock(&clock);
        let limiter = options.build(quota).unwrap();
        for number in 0..8 {
            assert!(limiter.try_acquire(number.to_string()));
            clock.advance_ns(1_000);
        }
        let decision = limiter.decide("new");
        assert_eq!((decision.status(), decision.remaining()), (Status::KeysFull, 0), "{quota}");
        assert_eq!(figures(&limiter.peek("new")), figures(&decision), "{quota}");
        assert!(limiter.refund("new", &decision).is_err());
        clock.advance_ns(decision.retry_after_ns() - 1);
        assert_eq!(limiter.peek("new").status(), Status::KeysFull, "one nanosecond too early");
        clock.advance_ns(1);
        assert!(limiter.try_acquire("new"), "{quota}: exactly when it was said");
    }
}

#[test]
fn with_two_quotas_a_key_that_finds_no_room_in_one_is_charged_in_none() {
    let clock = ManualClock::new();
    let quotas: [Quota; 2] = ["8/s".parse().unwrap(), "8/min fixed_window".parse().unwrap()];
    let options = KeyedRateOptions::new().max_keys(1).when_full(WhenFull::DenyNew).clock(&clock);
    let limiter = options.build(quotas).unwrap();
    for number in 0..8 {
        assert!(limiter.try_acquire(number.to_string()));
    }
    // By then the first table has room, and the second doesn't.
    clock.advance(SECOND);
    let decision = limiter.decide("new");
    assert_eq!((decision.status(), decision.quota()), (Status::KeysFull, 1));
    assert_eq!(limiter.try_acquire_status("new", 1).unwrap(), Status::KeysFull);
    assert_eq!(limiter.try_acquire_status("new", 9).unwrap(), Status::ExceedsCapacity);
    clock.advance_ns(decision.retry_after_ns());
    assert_eq!(limiter.decide("new").remaining(), 7, "charged once");
}
