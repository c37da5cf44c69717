//! Tokens of a key that are charged ahead of time.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::time::Duration;
use tidegate::{
    Event, KeyedRateLimiter, KeyedRateOptions, ManualClock, RateLimiter, Reservation, Started, Status, WhenFull,
};

const SECOND: Duration = Duration::from_secs(1);

fn limiter(options: KeyedRateOptions, quotas: &str) -> (KeyedRateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (options.clock(&clock).build(quotas).unwrap(), clock)
}

fn some() -> KeyedRateOptions {
    KeyedRateOptions::new().max_keys(100)
}

/// So many tokens of a key, one by one.
fn row(limiter: &KeyedRateLimiter, key: &str, length: usize) -> Vec<Reservation> {
    (0..length).map(|_| limiter.reserve(key, 1, None).unwrap()).collect()
}

fn seconds(row: &[Reservation]) -> Vec<u64> {
    row.iter().map(|reserved| reserved.wait().as_secs()).collect()
}

#[test]
fn each_key_has_its_own_row_and_a_hole_in_it_is_not_given_away() {
    let (limiter, clock) = limiter(some(), "1/s burst 1");
    let mut ann = row(&limiter, "ann", 4);
    assert_eq!((seconds(&ann), seconds(&row(&limiter, "bob", 2))), (vec![0, 1, 2, 3], vec![0, 1]));
    assert!(!limiter.try_acquire("ann"));
    clock.advance(SECOND / 2);
    assert!(!limiter.cancel_reservation("ann", ann.remove(1)).unwrap(), "two reserved after it");
    assert_eq!(limiter.reserve("ann", 1, 3 * SECOND).unwrap_err().status(), Status::TimedOut);
    let last = limiter.reserve("ann", 1, 7 * SECOND / 2).unwrap();
    assert_eq!(last.due_ns, 4_000_000_000);
    assert!(limiter.cancel_reservation("ann", last).unwrap());
    assert!(limiter.cancel_reservation("ann", ann.pop().unwrap()).unwrap());
    assert_eq!(limiter.reserve("ann", 1, None).unwrap().due_ns, 3_000_000_000);
    let stats = limiter.stats();
    assert_eq!((stats.allowed, stats.timed_out, stats.denied), (8, 1, 1));
}

#[test]
fn what_is_due_is_spent() {
    let (limiter, clock) = limiter(some(), "1/s burst 2");
    let at_once = limiter.reserve("k", 2, Duration::ZERO).unwrap();
    assert_eq!(at_once.wait(), Duration::ZERO);
    assert!(!limiter.cancel_reservation("k", at_once).unwrap());
    let later = limiter.reserve("k", 1, None).unwrap();
    clock.advance(SECOND);
    assert!(!limiter.cancel_reservation("k", later).unwrap());
    assert_eq!(limiter.peek("k").remaining(), 0);
}

#[test]
fn a_reservation_is_given_back_to_its_own_limiter_and_key() {
    let (limiter, _clock) = limiter(some(), "1/s");
    let other = KeyedRateLimiter::new("1/s", 10).unwrap();
    for key in ["ann", "bob"] {
        assert!(limiter.try_acquire(key));
    }
    let refused = |credited: Result<bool, tidegate::Error>| credited.unwrap_err().status();
    let [a, b] = [0, 1].map(|_| limiter.reserve("ann", 1, None).unwrap());
    assert_eq!(refused(other.cancel_reservation("ann", a)), Status::InvalidDecision);
    assert_eq!(refused(limiter.cancel_reservation("bob", b)), Status::InvalidDecision);
}

#[test]
fn a_key_with_a_quota_of_its_own_is_told_the_most_that_it_holds() {
    let (limiter, _clock) = limiter(some(), "1/s burst 2");
    limiter.set_quota("own", "9/s burst 4").unwrap();
    let refused = limiter.reserve("own", 5, None).unwrap_err();
    assert!(refused.to_string().ends_with("at most 4 at once"), "{refused}");
}

#[test]
fn only_one_quota_with_gcra_is_reserved_of_and_not_more_than_it_holds() {
    for quotas in ["1/s; 10/h", "1/s fixed_window", "1/s fixed_window anchor clock", "1/s sliding_window"] {
        let (limiter, _clock) = limiter(some(), quotas);
        assert_eq!(limiter.reserve("k", 1, None).unwrap_err().status(), Status::Unsupported, "{quotas}");
        assert_eq!(limiter.reserve("k", 0, None).unwrap_err().status(), Status::InvalidCost);
    }
    let (limiter, _clock) = limiter(some(), "1/s burst 2");
    for _ in 0..2 {
        // Of a key that is away, and of one that is there.
        let refused = limiter.reserve("k", 3, None).unwrap_err();
        assert_eq!(refused.status(), Status::ExceedsCapacity);
        assert!(refused.to_string().ends_with(": 3 can never be had, at most 2 at once"), "{refused}");
        let _spent = limiter.reserve("k", 1, None).unwrap();
    }
    limiter.reconfigure("0/s").unwrap();
    for key in ["k", "new"] {
        assert_eq!(limiter.reserve(key, 1, None).unwrap_err().status(), Status::TimedOut);
    }
    assert_eq!(limiter.stats().denied, 2);
}

#[test]
fn what_starts_a_key_afresh_voids_its_reservations() {
    for change in ["reset", "set_quota", "clear_quota", "reconfigure"] {
        let (limiter, _clock) = limiter(some(), "1/s burst 1");
        if change == "clear_quota" {
            limiter.set_quota("k", "1/s burst 1").unwrap();
        }
        assert_eq!(seconds(&row(&limiter, "k", 1)), [0]);
        let reserved = limiter.reserve("k", 1, None).unwrap();
        match change {
            "reset" => limiter.reset("k"),
            "set_quota" => limiter.set_quota("k", "2/2s burst 2").unwrap(),
            "clear_quota" => limiter.clear_quota("k"),
            _ => limiter.reconfigure("2/2s burst 2").unwrap(),
        }
        let _next = row(&limiter, "k", 2);
        assert!(!limiter.cancel_reservation("k", reserved).unwrap(), "{change}");
    }
}

#[test]
fn a_key_with_a_quota_of_its_own_reserves_of_that() {
    let (limiter, _clock) = limiter(some(), "1/s burst 1");
    limiter.set_quota("vip", "10/s burst 1").unwrap();
    let mut vip = row(&limiter, "vip", 3);
    assert_eq!(vip[2].wait(), SECOND / 5);
    assert!(limiter.cancel_reservation("vip", vip.pop().unwrap()).unwrap());
    assert_eq!(limiter.reserve("vip", 1, None).unwrap().wait(), SECOND / 5);
    assert_eq!(limiter.stats().evicted_live, 0);
}

#[test]
fn nobody_reserves_past_who_waits_and_credit_tells_them() {
    let (limiter, clock) = limiter(some(), "1/s burst 1");
    let mut reserved = row(&limiter, "k", 3);
    let (tell, told) = std::sync::mpsc::channel();
    let listener = move |event| tell.send(event).unwrap();
    let started = limiter.acquire_by_ticket("k", 1, None, listener).unwrap();
    assert!(matches!(started, Started::Pending { wake_after_ns: 3_000_000_000, .. }));
    assert_eq!(limiter.reserve("k", 1, None).unwrap_err().status(), Status::TimedOut);
    assert!(limiter.reserve("other", 1, None).is_ok());
    assert!(limiter.cancel_reservation("k", reserved.pop().unwrap()).unwrap(), "who waits took nothing yet");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Event::PollAgain], "it is due a second sooner");
    clock.advance(2 * SECOND);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Event::Granted(())]);
    assert_eq!((limiter.waiting("k"), limiter.peek("k").remaining()), (0, 0));
}

#[test]
fn a_key_that_finds_no_room_reserves_nothing() {
    // Eight slots in all.
    let options = KeyedRateOptions::new().max_keys(1).when_full(WhenFull::DenyNew).track_denied(10);
    let (limiter, _clock) = limiter(options, "1/s burst 1");
    for key in 0..8 {
        assert!(limiter.reserve(format!("{key}"), 1, None).is_ok());
    }
    assert_eq!(limiter.reserve("8", 1, None).unwrap_err().status(), Status::KeysFull);
    assert_eq!((limiter.stats().denied, &*limiter.top_denied(1)[0].key), (1, &b"8"[..]));
}

#[test]
fn threads_that_reserve_of_one_new_key_stand_in_one_row() {
    for round in 0..200 {
        let (limiter, _clock) = limiter(some(), "1/s burst 1");
        let key = format!("{round}");
        let mut due: Vec<u64> = std::thread::scope(|scope| {
            let ask = || seconds(&row(&limiter, &key, 10));
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        due.sort_unstable();
        assert_eq!(due, (0..40).collect::<Vec<_>>());
    }
}

#[derive(Clone, Debug)]
enum Step {
    Advance(u64),
    Try(u64),
    Reserve(u64, u64),
    Cancel(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        // In days, so that origins move.
        (0_u64..200).prop_map(Step::Advance),
        (1_u64..12).prop_map(Step::Try),
        ((1_u64..12), (0_u64..3000)).prop_map(|(cost, days)| Step::Reserve(cost, days)),
        any::<prop::sample::Index>().prop_map(Step::Cancel),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #[test]
    fn a_key_reserves_exactly_as_a_limiter_without_keys(steps in steps()) {
        const DAY: Duration = Duration::from_secs(86_400);
        let (keyed, clock) = limiter(some(), "10/100d burst 10");
        let alone = RateLimiter::with_clock("10/100d burst 10", &clock).unwrap();
        let mut reserved: Vec<(Reservation, Reservation)> = Vec::new();
        for step in steps {
            match step {
                Step::Advance(days) => clock.advance(DAY * days as u32),
                Step::Try(cost) => prop_assert_eq!(alone.try_acquire_n(cost), keyed.try_acquire_n("k", cost)),
                Step::Reserve(cost, days) => {
                    let longest = DAY * days as u32;
                    match (alone.reserve(cost, longest), keyed.reserve("k", cost, longest)) {
                        (Ok(ours), Ok(theirs)) => {
                            prop_assert_eq!((ours.due_ns, ours.wait_ns), (theirs.due_ns, theirs.wait_ns));
                            reserved.push((ours, theirs));
                        }
                        (ours, theirs) => prop_assert_eq!(ours.unwrap_err().status(), theirs.unwrap_err().status()),
                    }
                }
                Step::Cancel(which) if !reserved.is_empty() => {
                    let (ours, theirs) = reserved.swap_remove(which.index(reserved.len()));
                    prop_assert_eq!(alone.cancel_reservation(ours), keyed.cancel_reservation("k", theirs));
                }
                Step::Cancel(_) => {}
            }
            prop_assert_eq!(alone.peek().retry_after_ns(), keyed.peek("k").retry_after_ns());
        }
    }
}
