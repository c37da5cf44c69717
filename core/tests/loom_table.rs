//! Every interleaving of small programs over a table of keys: `RUSTFLAGS="--cfg loom" cargo test --release --test loom_table`.
//!
//! Tables have two lines of two slots here, so any key may have any of the four. The clock is moved by a thread of the model.
#![cfg(loom)]
#![allow(clippy::unwrap_used)]

use loom::thread;
use std::sync::Arc;
use std::time::Duration;
use tidegate::{
    Algorithm, KeyedConcurrencyLimiter, KeyedRateLimiter, KeyedRateOptions, ManualClock, Protocol, Quota, WhenFull,
};

const SECOND: Duration = Duration::from_secs(1);

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

fn kinds(limit: u64) -> [Quota; 2] {
    let quota = Quota::new(limit, SECOND);
    [quota, quota.with_algorithm(Algorithm::FixedWindow)]
}

fn options(clock: &ManualClock) -> KeyedRateOptions {
    KeyedRateOptions::new().max_keys(1).clock(clock)
}

fn limiter(quota: Quota, clock: &ManualClock) -> Arc<KeyedRateLimiter> {
    Arc::new(options(clock).build(quota).unwrap())
}

fn asks(limiter: &Arc<KeyedRateLimiter>, key: &'static str) -> thread::JoinHandle<u64> {
    let limiter = Arc::clone(limiter);
    thread::spawn(move || u64::from(limiter.try_acquire(key)))
}

/// Moves the clock, which the model can't do between any two steps unless it is a thread that does, and asks.
fn asks_after_a_nanosecond(
    limiter: &Arc<KeyedRateLimiter>,
    clock: &ManualClock,
    key: &'static str,
) -> thread::JoinHandle<u64> {
    let (limiter, clock) = (Arc::clone(limiter), clock.clone());
    thread::spawn(move || {
        clock.advance_ns(1);
        u64::from(limiter.try_acquire(key))
    })
}

fn sum<const N: usize>(threads: [thread::JoinHandle<u64>; N]) -> u64 {
    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
}

/// Three threads that bring in one key, with a limit of one.
fn three_threads_one_key(protocol: Protocol, preemptions: usize) {
    model(preemptions, move || {
        let limiter = options(&ManualClock::new()).protocol(protocol).build("1/s").unwrap();
        let limiter = Arc::new(limiter);
        let threads = [asks(&limiter, "key"), asks(&limiter, "key")];
        let own = u64::from(limiter.try_acquire("key"));
        assert_eq!(sum(threads) + own, 1, "one slot for one key");
    });
}

#[test]
fn three_threads_that_bring_in_one_key_end_with_one_slot() {
    three_threads_one_key(Protocol::Locked, 3);
}

#[test]
#[should_panic(expected = "one slot for one key")]
fn without_the_lock_two_threads_take_a_slot_each() {
    three_threads_one_key(Protocol::Claim, 3);
}

#[test]
#[should_panic(expected = "one slot for one key")]
fn tentative_claims_that_look_the_same_are_confirmed_for_each_other() {
    three_threads_one_key(Protocol::Tentative, 3);
}

#[test]
fn another_key_that_enters_at_the_same_time_takes_nothing_from_three_threads_on_one() {
    for quota in kinds(2) {
        model(2, move || {
            let limiter = limiter(quota, &ManualClock::new());
            let threads = [asks(&limiter, "key"), asks(&limiter, "key")];
            let other = asks(&limiter, "other");
            let own = u64::from(limiter.try_acquire("key"));
            assert_eq!(sum(threads) + own, 2);
            assert_eq!(sum([other]), 1);
            assert_eq!((limiter.peek("key").remaining(), limiter.peek("other").remaining()), (0, 1));
            assert_eq!(limiter.stats().evicted_live, 0);
        });
    }
}

#[test]
fn a_neighbour_that_expires_while_two_threads_bring_in_a_key_loses_its_slot_once() {
    for quota in kinds(1) {
        model(3, move || {
            let clock = ManualClock::new();
            let limiter = Arc::new(options(&clock).when_full(WhenFull::DenyNew).build(quota).unwrap());
            for neighbour in ["a", "b", "c", "d"] {
                assert!(limiter.try_acquire(neighbour));
            }
            clock.advance(SECOND - Duration::from_nanos(1));
            let threads = [asks(&limiter, "key"), asks(&limiter, "key")];
            let neighbour = asks_after_a_nanosecond(&limiter, &clock, "a");
            // The key can enter once the neighbours are at rest, and the neighbour comes back as new.
            assert!(sum(threads) <= 1);
            assert_eq!(sum([neighbour]), 1);
            assert!(!limiter.try_acquire("a"));
        });
    }
}

#[test]
fn a_key_at_rest_whose_slot_is_taken_under_its_caller_gets_what_is_due_and_no_more() {
    for quota in kinds(1) {
        model(3, move || {
            let clock = ManualClock::new();
            let limiter = limiter(quota, &clock);
            for key in ["own", "b", "c", "d"] {
                assert!(limiter.try_acquire(key));
            }
            clock.advance(SECOND);
            // All are at rest; the one that enters takes somebody's slot, and the two come back as one.
            let new = asks(&limiter, "new");
            let threads = [asks(&limiter, "own")];
            let own = u64::from(limiter.try_acquire("own"));
            assert_eq!(sum(threads) + own, 1);
            assert_eq!(sum([new]), 1);
            assert_eq!(limiter.stats().evicted_live, 0);
        });
    }
}

#[test]
fn a_caller_with_a_stale_time_starts_no_budget_in_the_past() {
    for quota in kinds(1) {
        model(3, move || {
            let clock = ManualClock::new();
            let limiter = limiter(quota, &clock);
            assert!(limiter.try_acquire("own"));
            clock.advance(SECOND / 2);
            // The rest of the slots, so that it is the own one that is free first.
            for key in ["b", "c", "d"] {
                assert!(limiter.try_acquire(key));
            }
            clock.advance(SECOND / 2 - Duration::from_nanos(1));
            // It may read the clock before the step, find its key gone to the one that entered after, and start it anew: as of then.
            let stale = asks(&limiter, "own");
            let new = asks_after_a_nanosecond(&limiter, &clock, "new");
            assert_eq!(sum([new]), 1);
            let admitted = sum([stale]);
            clock.advance(SECOND - Duration::from_nanos(1));
            let early = u64::from(limiter.try_acquire("own"));
            assert_eq!(admitted + early, 1, "one in the second after the first");
        });
    }
}

#[test]
fn an_eviction_against_the_evicted_key_charges_one_of_both_states() {
    for quota in kinds(4) {
        model(3, move || {
            let clock = ManualClock::new();
            let limiter = limiter(quota, &clock);
            for (key, cost) in [("least", 1), ("b", 3), ("c", 3), ("d", 3)] {
                assert!(limiter.try_acquire_n(key, cost).unwrap());
            }
            let least = asks(&limiter, "least");
            let new = {
                let limiter = Arc::clone(&limiter);
                thread::spawn(move || u64::from(limiter.try_acquire_n("new", 4).unwrap()))
            };
            assert_eq!(sum([least, new]), 2);
            let evicted = limiter.stats().evicted_live;
            assert!((1..=2).contains(&evicted), "{evicted}");
            assert_eq!(limiter.peek("new").remaining(), 0, "it owes the most");
        });
    }
}

#[test]
fn a_refund_against_an_eviction_gives_nothing_to_who_starts_afresh() {
    model(3, || {
        let limiter = limiter(Quota::new(2, SECOND), &ManualClock::new());
        let decision = limiter.decide("key");
        for key in ["b", "c", "d"] {
            assert!(limiter.try_acquire_n(key, 2).unwrap());
        }
        let evictor = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || {
                let entered = limiter.try_acquire_n("new", 2).unwrap();
                u64::from(entered) + u64::from(limiter.try_acquire_n("key", 2).unwrap())
            })
        };
        limiter.refund("key", &decision).unwrap();
        // Either refunded first, or evicted first: in no case is what was spent after given back.
        if sum([evictor]) == 2 {
            assert_eq!(limiter.peek("key").remaining(), 0);
        }
    });
}

#[test]
fn a_change_of_quotas_against_a_charge_and_a_new_key_loses_neither() {
    let quotas = [2, 4].map(|limit| Quota::new(limit, SECOND).with_burst(2));
    model(3, move || {
        let limiter = limiter(quotas[0], &ManualClock::new());
        assert!(limiter.try_acquire("present"));
        let threads = [asks(&limiter, "present"), asks(&limiter, "new")];
        limiter.reconfigure(quotas[1]).unwrap();
        assert_eq!(sum(threads), 2);
        assert_eq!((limiter.peek("present").remaining(), limiter.peek("new").remaining()), (0, 1));
        assert_eq!(limiter.peek("present").reset_after(), SECOND / 2);
    });
}

#[test]
fn a_key_that_gets_a_quota_of_its_own_and_loses_it_is_charged_in_one_place() {
    let [quota, own] = [2, 4].map(|limit| Quota::new(limit, SECOND).with_burst(limit));
    model(3, move || {
        let limiter = limiter(quota, &ManualClock::new());
        assert!(limiter.try_acquire("key"));
        let threads = [asks(&limiter, "key"), asks(&limiter, "new")];
        limiter.set_quota("key", own).unwrap();
        limiter.set_quota("new", own).unwrap();
        limiter.clear_quota("key");
        assert_eq!(sum(threads), 2);
        assert_eq!((limiter.peek("key").remaining(), limiter.peek("new").remaining()), (0, 3));
    });
}

#[test]
fn permits_of_one_key_that_two_threads_bring_in_and_release_balance() {
    model(3, || {
        let limiter = Arc::new(KeyedConcurrencyLimiter::new(1, 1).unwrap());
        let borrower = || {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || {
                limiter
                    .try_acquire("key")
                    .map(|permit| {
                        assert_eq!(limiter.in_flight("key"), 1);
                        drop(permit);
                    })
                    .is_some()
            })
        };
        let threads = [borrower(), borrower()];
        let granted = threads.into_iter().map(|thread| thread.join().unwrap()).filter(|granted| *granted).count();
        assert!(granted >= 1);
        assert_eq!(limiter.in_flight("key"), 0);
    });
}

#[test]
fn a_slot_whose_permits_are_out_is_not_taken_though_others_look_for_room() {
    model(3, || {
        let limiter = Arc::new(KeyedConcurrencyLimiter::new(1, 1).unwrap());
        let held = ["a", "b", "c"].map(|key| std::mem::ManuallyDrop::new(limiter.try_acquire(key).unwrap()).permits());
        assert_eq!(held, [1, 1, 1]);
        let borrower = |key: &'static str| {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || u64::from(limiter.try_acquire(key).is_some()))
        };
        let threads = [borrower("d"), borrower("e")];
        let entered = sum(threads);
        assert!((1..=2).contains(&entered), "one slot is left, for one after the other");
        for key in ["a", "b", "c"] {
            assert_eq!(limiter.in_flight(key), 1);
        }
    });
}
