//! The keys that are refused most.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tidegate::{DeniedKey, KeyedRateLimiter, KeyedRateOptions, ManualClock, Started, Status};

fn limiter(quota: &str, entries: u32) -> KeyedRateLimiter {
    KeyedRateOptions::new().max_keys(100).track_denied(entries).clock(ManualClock::new()).build(quota).unwrap()
}

fn ask(limiter: &KeyedRateLimiter, key: &str, asks: usize) {
    for _ in 0..asks {
        let _admitted = limiter.try_acquire(key);
    }
}

fn denied(key: &str, count: u64, error: u64) -> DeniedKey {
    DeniedKey { key: key.into(), count, error }
}

#[test]
fn keys_are_named_by_how_often_they_were_refused() {
    let limiter = limiter("1/h", 10);
    for (key, asks) in [("a", 3), ("b", 5), ("once", 1), ("c", 3)] {
        ask(&limiter, key, asks);
    }
    // Of two with as many refusals the one that was refused last goes first.
    assert_eq!(limiter.top_denied(2), [denied("b", 4, 0), denied("c", 2, 0)]);
    assert_eq!(limiter.top_denied(10), [denied("b", 4, 0), denied("c", 2, 0), denied("a", 2, 0)]);
    assert_eq!(limiter.top_denied(0), []);
}

#[test]
fn every_way_of_asking_counts_and_a_peek_does_not() {
    let limiter = limiter("1/h", 10);
    assert!(limiter.try_acquire("key"));
    assert!(!limiter.try_acquire("key"));
    assert!(!limiter.try_acquire_n("key", 1).unwrap());
    assert!(!limiter.decide("key").allowed());
    assert_eq!(limiter.try_acquire_status("key", 2), Ok(Status::ExceedsCapacity));
    let mut statuses = [Status::Pending; 2];
    limiter.try_acquire_many(&["key", "key"], 1, &mut statuses).unwrap();
    assert!(!limiter.peek("key").allowed());
    assert!(limiter.try_acquire_n("key", 0).is_err());
    assert_eq!(limiter.top_denied(1), [denied("key", 6, 0)]);
    assert_eq!(limiter.stats().denied, 6);
}

#[test]
fn waits_that_do_not_begin_count_by_name_if_they_are_denied() {
    let clock = ManualClock::new();
    let options = KeyedRateOptions::new().max_keys(100).track_denied(10).max_waiters(1).clock(&clock);
    let limiter = options.build("2/s").unwrap();
    assert!(limiter.take_if_free("k", 2).unwrap());
    assert!(!limiter.take_if_free("k", 1).unwrap(), "who would wait isn't refused yet");
    let wait = |cost| limiter.acquire_by_ticket("k", cost, None, |_| {}).unwrap();
    assert!(matches!(wait(1), Started::Pending { .. }));
    assert_eq!((wait(1), wait(3)), (Started::Refused(Status::QueueFull), Started::Refused(Status::ExceedsCapacity)));
    assert_eq!(limiter.acquire("k", None).unwrap_err().status(), Status::QueueFull);
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(limiter.acquire_async("k", 1, None, |_| std::future::pending()).unwrap());
    assert!(matches!(future.as_mut().poll(&mut context), Poll::Ready(Err(_))));
    assert_eq!(limiter.reserve("k", 3, None).unwrap_err().status(), Status::ExceedsCapacity);
    assert_eq!(limiter.top_denied(1), [denied("k", 5, 0)]);
    // These have counts of their own.
    assert_eq!(limiter.acquire("k", Duration::ZERO).unwrap_err().status(), Status::TimedOut);
    assert_eq!(limiter.reserve("k", 1, None).unwrap_err().status(), Status::TimedOut);
    clock.advance(Duration::from_secs(1));
    assert_eq!(limiter.top_denied(1), [denied("k", 5, 0)]);
    assert_eq!(limiter.stats().denied, 5);
}

#[test]
fn nothing_is_counted_unless_asked_for() {
    let limiter = limiter("0/h", 0);
    assert!(!limiter.try_acquire("key"));
    assert_eq!(limiter.top_denied(1), []);
}

#[test]
fn a_key_that_finds_no_entry_takes_over_the_smallest_count_as_its_error() {
    let limiter = limiter("0/h", 2);
    for key in ["a", "a", "a", "b", "c", "c"] {
        assert!(!limiter.try_acquire(key));
    }
    assert_eq!(limiter.top_denied(9), [denied("c", 3, 1), denied("a", 3, 0)]);
    // Of two smallest counts that of the key that was refused longest ago goes.
    assert!(!limiter.try_acquire("d"));
    assert_eq!(limiter.top_denied(9), [denied("d", 4, 3), denied("c", 3, 1)]);
}

#[test]
fn long_keys_that_begin_alike_are_counted_apart_and_named_by_their_beginning() {
    let limiter = limiter("0/h", 10);
    let beginning = "x".repeat(128);
    for (end, asks) in [("1", 2), ("2", 1), ("", 3)] {
        ask(&limiter, &format!("{beginning}{end}"), asks);
    }
    assert_eq!(limiter.top_denied(10), [3, 2, 1].map(|count| denied(&beginning, count, 0)));
    assert!(!limiter.try_acquire([0xFF, 0x00]));
    assert_eq!(limiter.top_denied(4)[2].key, [0xFF, 0x00], "the last of those that were refused once");
}

#[test]
fn too_many_entries_are_refused_by_name() {
    let build = |entries| KeyedRateOptions::new().track_denied(entries).build("1/s");
    assert!(build(65_536).is_ok());
    let error = build(65_537).unwrap_err();
    assert_eq!(error.to_string(), "track_denied: got 65537; allowed: 0 to 65536");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_count_is_too_small_or_too_large_by_more_than_its_error(
        entries in 1..6_u32,
        keys in prop::collection::vec(0..10_u8, 0..200),
    ) {
        let limiter = limiter("0/h", entries);
        let mut counts: HashMap<u8, u64> = HashMap::new();
        for key in &keys {
            prop_assert!(!limiter.try_acquire([*key]));
            *counts.entry(*key).or_default() += 1;
        }
        let top = limiter.top_denied(usize::MAX);
        prop_assert_eq!(top.len(), counts.len().min(entries as usize));
        prop_assert!(top.is_sorted_by(|one, next| one.count >= next.count));
        prop_assert_eq!(top.iter().map(|denied| denied.count).sum::<u64>(), keys.len() as u64);
        for denied in &top {
            let count = counts[&denied.key[0]];
            prop_assert!(denied.count - denied.error <= count && count <= denied.count, "{:?}: {}", denied, count);
        }
        // Whoever has more than an equal share of all refusals is there.
        for (key, count) in counts {
            prop_assert!(count <= keys.len() as u64 / u64::from(entries) || top.iter().any(|denied| denied.key == [key]));
        }
    }
}

#[test]
fn refusals_by_several_threads_are_all_counted() {
    let limiter = limiter("0/h", 4);
    std::thread::scope(|scope| {
        for key in ["a", "b", "a", "c"] {
            let limiter = &limiter;
            scope.spawn(move || ask(limiter, key, 1_000));
        }
    });
    let top = limiter.top_denied(3);
    assert_eq!(top[0], denied("a", 2_000, 0));
    assert_eq!((top[1].count, top[2].count), (1_000, 1_000));
}
