//! Permits for each key.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidegate::{KeyedConcurrencyLimiter, KeyedConcurrencyOptions, ManualClock, RawKeyedPermit, Status};

#[test]
fn each_key_lends_its_own_permits() {
    let limiter = KeyedConcurrencyLimiter::new(2, 100).unwrap();
    let held = [limiter.try_acquire("a").unwrap(), limiter.try_acquire("a").unwrap()];
    assert!(limiter.try_acquire("a").is_none());
    let other = limiter.try_acquire_n("b", 2).unwrap().unwrap();
    assert_eq!((limiter.in_flight("a"), limiter.available("a"), limiter.in_flight("c")), (2, 0, 0));
    let stats = limiter.stats();
    assert_eq!((stats.in_flight, stats.live_keys, stats.capacity, stats.limit), (4, 2, 100, 2));
    drop(held);
    other.release(false);
    let stats = limiter.stats();
    assert_eq!((stats.in_flight, stats.live_keys), (0, 0));
    assert_eq!((stats.allowed, stats.denied, stats.released_ok, stats.released_failed), (3, 1, 2, 1));
}

#[test]
fn what_was_never_taken_or_is_back_already_can_not_be_released() {
    let (limiter, other) = (KeyedConcurrencyLimiter::new(3, 10).unwrap(), KeyedConcurrencyLimiter::new(3, 10).unwrap());
    let permit = limiter.try_acquire_raw("key", 2).unwrap().unwrap();
    let refused = |permit: RawKeyedPermit| limiter.release(&permit, true).unwrap_err().argument() == "permit";
    assert!(refused(RawKeyedPermit { permits: 3, ..permit }));
    assert!(refused(RawKeyedPermit { permits: 0, ..permit }));
    assert!(refused(RawKeyedPermit { key_hash: [1, 2], ..permit }));
    assert!(refused(RawKeyedPermit { key_hash: [u64::MAX, 0], ..permit }), "beyond the table");
    assert!(other.release(&permit, true).is_err());
    assert_eq!(limiter.in_flight("key"), 2);
    limiter.release(&permit, true).unwrap();
    assert!(refused(permit));
    assert_eq!((limiter.in_flight("key"), limiter.stats().released_ok), (0, 1));
}

#[test]
fn a_permit_that_is_back_is_told_from_one_of_the_key_that_has_its_slot_now() {
    let limiter = KeyedConcurrencyLimiter::new(3, 1).unwrap();
    let old: Vec<_> = (0..8_u64).map(|key| limiter.try_acquire_raw(key.to_le_bytes(), 1).unwrap().unwrap()).collect();
    for permit in &old {
        limiter.release(permit, true).unwrap();
    }
    let new: Vec<_> = (8..16_u64).map(|key| limiter.try_acquire(key.to_le_bytes()).unwrap()).collect();
    assert!(old.iter().all(|permit| limiter.release(permit, true).is_err()));
    assert_eq!(limiter.stats().in_flight, 8);
    drop(new);
    assert_eq!(limiter.stats().in_flight, 0);
}

#[test]
fn hold_times_are_those_of_the_clock_over_all_keys() {
    let clock = ManualClock::new();
    let limiter = KeyedConcurrencyOptions::new().max_keys(10).track_hold_time(true).clock(&clock).build(2).unwrap();
    assert!(limiter.tracks_hold_time());
    let first = limiter.try_acquire("a").unwrap();
    clock.advance_ns(70);
    let second = limiter.try_acquire_raw("b", 2).unwrap().unwrap();
    clock.advance_ns(30);
    first.release(true);
    limiter.release(&second, false).unwrap();
    assert!(limiter.release(&second, false).is_err());
    let stats = limiter.stats();
    assert_eq!((stats.hold_time_total, stats.hold_time_max), (Duration::from_nanos(130), Duration::from_nanos(100)));
    let untracked = KeyedConcurrencyOptions::new().clock(&clock).build(2).unwrap();
    drop(untracked.try_acquire("a"));
    assert!(!untracked.tracks_hold_time() && untracked.stats().hold_time_max.is_zero());
}

#[test]
fn a_limit_that_is_lowered_keeps_what_is_out_and_lends_again_when_enough_is_back() {
    let limiter = KeyedConcurrencyLimiter::new(3, 10).unwrap();
    let mut held: Vec<_> = (0..3).map(|_| limiter.try_acquire("key").unwrap()).collect();
    limiter.set_limit(1).unwrap();
    assert_eq!((limiter.limit(), limiter.in_flight("key"), limiter.available("key")), (1, 3, 0));
    assert_eq!(limiter.try_acquire_raw("key", 2).unwrap().unwrap_err(), Status::ExceedsCapacity);
    held.truncate(1);
    assert_eq!(limiter.try_acquire_raw("key", 1).unwrap().unwrap_err(), Status::Denied);
    held.clear();
    assert!(limiter.try_acquire("key").is_some());
    limiter.set_limit(0).unwrap();
    assert_eq!(limiter.try_acquire_raw("new", 1).unwrap().unwrap_err(), Status::Denied);
    for (limit, max_keys, argument) in [(1 << 31, 10, "limit"), (1, 0, "max_keys")] {
        assert_eq!(KeyedConcurrencyLimiter::new(limit, max_keys).unwrap_err().argument(), argument);
    }
    assert_eq!(limiter.try_acquire_n("key", 0).unwrap_err().argument(), "permits");
}

#[test]
fn keys_with_permits_out_stay_and_new_ones_are_refused_until_one_is_back() {
    let limiter = Arc::new(KeyedConcurrencyLimiter::new(5, 1).unwrap());
    let held: Vec<_> = (0..8).map(|key| limiter.try_acquire_owned(key.to_string(), 1).unwrap().unwrap()).collect();
    for flood in 0..1_000 {
        let status = limiter.try_acquire_raw(format!("flood {flood}"), 1).unwrap().unwrap_err();
        assert_eq!(status, Status::KeysFull);
    }
    assert!((0..8).all(|key| limiter.in_flight(key.to_string()) == 1));
    held.into_iter().next().unwrap().release(true);
    assert_eq!((limiter.stats().in_flight, limiter.stats().evicted_live), (0, 0));
    assert!(limiter.try_acquire("flood").is_some());
}

#[test]
fn eight_threads_on_one_key_never_hold_more_than_the_limit_while_others_churn() {
    let limiter = KeyedConcurrencyLimiter::new(2, 1).unwrap();
    let (inside, peak) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (limiter, inside, peak) = (&limiter, &inside, &peak);
            scope.spawn(move || {
                for round in 0..10_000_u64 {
                    if let Some(permit) = limiter.try_acquire("key") {
                        peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        if round % 4 == 0 {
                            std::thread::yield_now();
                        }
                        inside.fetch_sub(1, Ordering::SeqCst);
                        permit.release(round % 2 == 0);
                    }
                    // New keys in the same eight slots, so that "key" must come back in whenever it was at rest.
                    drop(limiter.try_acquire((thread << 32 | round).to_le_bytes()));
                }
            });
        }
    });
    assert!((1..=2).contains(&peak.load(Ordering::SeqCst)), "{peak:?}");
    let stats = limiter.stats();
    assert_eq!((limiter.in_flight("key"), stats.in_flight), (0, 0));
    assert_eq!(stats.allowed, stats.released_ok + stats.released_failed);
}
