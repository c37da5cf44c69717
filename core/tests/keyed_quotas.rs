//! Keys with quotas of their own.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::time::Duration;
use tidegate::{
    Algorithm, Anchor, Decision, KeyedRateLimiter, KeyedRateOptions, ManualClock, Quota, RateLimiter, Status, WhenFull,
};

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

/// The same kind with another limit and period.
fn changed(quota: &Quota, limit: u64, factor: u32) -> Quota {
    Quota::new(limit, quota.period() * factor).with_algorithm(quota.algorithm()).with_anchor(quota.anchor())
}

fn options(clock: &ManualClock) -> KeyedRateOptions {
    KeyedRateOptions::new().max_keys(1).clock(clock)
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
fn a_key_with_a_quota_of_its_own_goes_by_it_and_the_others_by_the_limiters() {
    for (quota, own) in every_kind(2, SECOND).into_iter().zip(every_kind(5, SECOND)) {
        let limiter = options(&ManualClock::new()).build(quota).unwrap();
        limiter.set_quota("big", own).unwrap();
        assert_eq!(admitted(&limiter, "big", 9), 5, "{own}");
        assert_eq!(admitted(&limiter, "other", 9), 2, "{quota}");
        let mut statuses = [Status::Pending; 3];
        limiter.try_acquire_many(&["big", "new", "big"], 1, &mut statuses).unwrap();
        assert_eq!(statuses, [Status::Denied, Status::Allowed, Status::Denied]);
        assert_eq!((limiter.peek("big").limit(), limiter.peek("other").limit()), (5, 2));
        assert_eq!(limiter.quotas(), [quota]);
    }
}

#[test]
fn what_is_used_stays_used_when_a_quota_is_set_and_cleared() {
    let limiter = options(&ManualClock::new()).build("10/h").unwrap();
    assert_eq!(admitted(&limiter, "key", 4), 4);
    limiter.set_quota("key", "20/h").unwrap();
    assert_eq!(limiter.peek("key").remaining(), 16);
    limiter.set_quota("key", "3/h").unwrap();
    assert_eq!(limiter.peek("key").remaining(), 0);
    limiter.clear_quota("key");
    assert_eq!(limiter.peek("key").remaining(), 7);
    limiter.clear_quota("key");
    assert_eq!(limiter.peek("key").remaining(), 7);
}

/// One step of a script that a key and a limiter without keys both follow.
#[derive(Clone, Debug)]
enum Step {
    Wait { permille: u64, ns: u64 },
    Decide { cost: u64 },
    Peek { cost: u64 },
    Refund { back: usize },
    Set { limit: u64, factor: u32 },
    Clear,
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (prop_oneof![Just(0), 0..100_u64, 0..1_500_u64, 0..20_000_000_u64], 0..3_u64)
            .prop_map(|(permille, ns)| Step::Wait { permille, ns }),
        8 => prop_oneof![4 => Just(1), 2 => 1..5_u64, 1 => 1..40_u64].prop_map(|cost| Step::Decide { cost }),
        2 => (1..9_u64).prop_map(|cost| Step::Peek { cost }),
        1 => (0..4_usize).prop_map(|back| Step::Refund { back }),
        2 => (0..30_u64, 1..4_u32).prop_map(|(limit, factor)| Step::Set { limit, factor }),
        1 => Just(Step::Clear),
        1 => Just(Step::Reset),
    ];
    prop::collection::vec(step, 1..80)
}

fn follows_as_one_that_is_reconfigured(quotas: &[Quota], steps: &[Step]) {
    let clock = ManualClock::new();
    let alone = RateLimiter::with_clock(quotas, &clock).unwrap();
    let keyed = options(&clock).build(quotas).unwrap();
    let mut decisions = Vec::new();
    for step in steps {
        match *step {
            Step::Wait { permille, ns } => {
                let wait = u128::from(quotas[0].period_ns()) * u128::from(permille) / 1_000;
                clock.advance_ns(u64::try_from(wait).unwrap_or(u64::MAX).saturating_add(ns));
            }
            Step::Decide { cost } => {
                let pair = (alone.decide_n(cost).unwrap(), keyed.decide_n("key", cost).unwrap());
                assert_eq!(figures(&pair.0), figures(&pair.1), "{step:?}");
                decisions.push(pair);
            }
            Step::Peek { cost } => {
                let pair = (alone.peek_n(cost).unwrap(), keyed.peek_n("key", cost).unwrap());
                assert_eq!(figures(&pair.0), figures(&pair.1), "{step:?}");
            }
            Step::Refund { back } => {
                let Some((ours, theirs)) = decisions.iter().rev().nth(back) else { continue };
                assert_eq!(alone.refund(ours).is_ok(), keyed.refund("key", theirs).is_ok());
            }
            Step::Set { limit, factor } => {
                let own: Vec<Quota> = quotas.iter().map(|quota| changed(quota, limit, factor)).collect();
                // Quotas that are the same are a change for a key that goes by the limiter's.
                if own != alone.quotas() {
                    let outcomes = (alone.reconfigure(own.clone()), keyed.set_quota("key", own));
                    assert_eq!(outcomes.0.is_ok(), outcomes.1.is_ok(), "{outcomes:?}");
                }
            }
            // As for `Set`: a key that has the limiter's quotas as its own moves, and the other doesn't change.
            Step::Clear if alone.quotas() == quotas => {}
            Step::Clear => {
                alone.reconfigure(quotas).unwrap();
                keyed.clear_quota("key");
            }
            Step::Reset => {
                alone.reset();
                keyed.reset("key");
            }
        }
        assert_eq!(figures(&alone.peek()), figures(&keyed.peek("key")), "after {step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn setting_a_keys_quota_is_as_reconfiguring_a_limiter_of_its_own(
        kind in 0..4_usize,
        // Of those whose ticks make up whole nanoseconds: others round by the origin, which a limiter that is reconfigured moves.
        limit in prop::sample::select(&[1, 2, 4, 5, 8, 10, 16, 20][..]),
        steps in steps(),
    ) {
        let quota = every_kind(limit, SECOND)[kind];
        follows_as_one_that_is_reconfigured(&[quota], &steps);
        follows_as_one_that_is_reconfigured(&[quota, changed(&quota, limit * 2, 4)], &steps);
    }
}

#[test]
fn a_change_of_the_limiters_quotas_leaves_keys_with_their_own_alone() {
    let limiter = options(&ManualClock::new()).build("10/h").unwrap();
    limiter.set_quota("own", "10/h").unwrap();
    assert_eq!((admitted(&limiter, "own", 4), admitted(&limiter, "other", 4)), (4, 4));
    limiter.reconfigure("5/h").unwrap();
    assert_eq!((limiter.peek("own").remaining(), limiter.peek("other").remaining()), (6, 1));
    limiter.clear_quota("own");
    assert_eq!(limiter.peek("own").remaining(), 1);
}

#[test]
fn a_quota_of_another_kind_is_refused_and_changes_nothing() {
    let limiter = options(&ManualClock::new()).build("2/s; 100/h").unwrap();
    assert!(limiter.try_acquire("key"));
    for wrong in ["5/s", "5/s; 10/h fixed_window", "5/s; 10/h; 20/h"] {
        assert_eq!(limiter.set_quota("key", wrong).unwrap_err().argument(), "quota", "{wrong}");
    }
    assert_eq!(limiter.set_quota("key", "nonsense").unwrap_err().argument(), "quota");
    let windows = options(&ManualClock::new()).build("5/s fixed_window").unwrap();
    assert_eq!(windows.set_quota("key", "20000000/s fixed_window").unwrap_err().argument(), "limit");
    limiter.set_quota("key", "3/s; 5/h").unwrap();
    assert_eq!(limiter.peek("key").remaining(), 2);
}

#[test]
fn grants_from_before_a_change_of_the_keys_quota_are_void() {
    let limiter = options(&ManualClock::new()).build("10/h").unwrap();
    let before = limiter.decide("key");
    limiter.set_quota("key", "20/h").unwrap();
    limiter.refund("key", &before).unwrap();
    assert_eq!(limiter.peek("key").remaining(), 19);
    let meanwhile = limiter.decide("key");
    limiter.set_quota("key", "20/h").unwrap();
    limiter.refund("key", &meanwhile).unwrap();
    assert_eq!(limiter.peek("key").remaining(), 19, "nothing was changed, so nothing is void");
    let meanwhile = limiter.decide("key");
    limiter.clear_quota("key");
    limiter.refund("key", &meanwhile).unwrap();
    assert_eq!(limiter.peek("key").remaining(), 8);
}

#[test]
fn no_flood_of_other_keys_drives_a_key_with_a_quota_of_its_own_out() {
    for when_full in [WhenFull::Evict, WhenFull::DenyNew] {
        let limiter = options(&ManualClock::new()).when_full(when_full).build("10/h").unwrap();
        limiter.set_quota("own", "1000/h").unwrap();
        assert!(limiter.try_acquire("own"));
        for number in 0..1_000_u32 {
            limiter.try_acquire_n(number.to_le_bytes(), 10).unwrap();
        }
        assert_eq!(limiter.peek("own").remaining(), 999);
        limiter.set_quota("late", "3/h").unwrap();
        assert_eq!(admitted(&limiter, "late", 9), 3, "it is not refused for want of room either");
    }
}

#[test]
fn a_key_whose_quota_is_cleared_finds_room_in_a_full_table_at_the_cost_of_who_owes_least() {
    let limiter = options(&ManualClock::new()).when_full(WhenFull::DenyNew).build("10/h").unwrap();
    limiter.set_quota("own", "10/h").unwrap();
    assert_eq!(admitted(&limiter, "own", 9), 9);
    for number in 0..8_u64 {
        assert!(limiter.try_acquire_n(number.to_le_bytes(), 10 - number).unwrap());
    }
    limiter.clear_quota("own");
    assert_eq!(limiter.peek("own").remaining(), 1);
    assert_eq!(limiter.peek(7_u64.to_le_bytes()).status(), Status::KeysFull, "it owed 3, the least");
    assert_eq!(limiter.stats().evicted_live, 1);
}

#[test]
fn a_key_with_a_quota_of_its_own_counts_among_the_live_until_it_is_at_rest() {
    let clock = ManualClock::new();
    let limiter = options(&clock).build("1/s").unwrap();
    limiter.set_quota("own", "2/s").unwrap();
    assert_eq!(limiter.len(), 0);
    assert!(limiter.try_acquire("own") && limiter.try_acquire("other"));
    assert_eq!(limiter.len(), 2);
    clock.advance(SECOND / 2);
    assert_eq!(limiter.len(), 1);
}

#[test]
fn as_many_keys_have_quotas_of_their_own_as_may_until_one_is_cleared() {
    let limiter = options(&ManualClock::new()).build("1/s").unwrap();
    for number in 0..65_536_u32 {
        limiter.set_quota(number.to_le_bytes(), "2/s").unwrap();
    }
    let error = limiter.set_quota("one more", "2/s").unwrap_err();
    assert_eq!(error.argument(), "key");
    assert!(error.to_string().contains("65536"), "{error}");
    limiter.set_quota(7_u32.to_le_bytes(), "3/s").unwrap();
    limiter.clear_quota(8_u32.to_le_bytes());
    limiter.clear_quota(8_u32.to_le_bytes());
    limiter.set_quota("one more", "2/s").unwrap();
    assert!(limiter.set_quota(8_u32.to_le_bytes(), "2/s").is_err());
}

#[test]
fn a_quota_of_a_keys_own_outlives_the_horizon_of_its_times() {
    let clock = ManualClock::new();
    let limiter = options(&clock).build("10/s").unwrap();
    limiter.set_quota("key", "5/s").unwrap();
    for _ in 0..3 {
        assert_eq!(admitted(&limiter, "key", 9), 5);
        clock.advance(Duration::from_secs(3 * 365 * 86_400));
    }
    assert_eq!(admitted(&limiter, "key", 2), 2);
    clock.advance(Duration::ZERO);
    limiter.clear_quota("key");
    assert_eq!(limiter.peek("key").remaining(), 8);
}

#[test]
fn threads_that_ask_while_a_keys_quota_changes_never_get_more_than_the_larger_allows() {
    for quota in every_kind(100, Duration::from_secs(3_600)) {
        let larger = changed(&quota, 150, 1);
        for round in 0..200 {
            let limiter = options(&ManualClock::new()).build(quota).unwrap();
            let rises = round % 2 == 0;
            if !rises {
                limiter.set_quota("key", larger).unwrap();
            }
            let start = std::sync::Barrier::new(3);
            let ask = || {
                start.wait();
                admitted(&limiter, "key", 200)
            };
            let admitted: usize = std::thread::scope(|scope| {
                let askers = [scope.spawn(ask), scope.spawn(ask)];
                start.wait();
                if rises {
                    limiter.set_quota("key", larger).unwrap();
                } else {
                    limiter.clear_quota("key");
                }
                askers.into_iter().map(|asker| asker.join().unwrap()).sum()
            });
            assert!((100..=150).contains(&admitted), "{quota}: {admitted}");
            let left = if rises { 150 - admitted } else { 0 };
            assert_eq!(limiter.peek("key").remaining(), left as u64, "{quota}");
        }
    }
}

#[test]
fn charges_and_changes_of_a_keys_quota_at_once_lose_no_token_and_charge_none_twice() {
    for quotas in
        [vec![Quota::new(100_000, Duration::from_secs(86_400))], every_kind(100_000, SECOND * 3_600)[1..3].to_vec()]
    {
        let limiter = options(&ManualClock::new()).build(quotas.clone()).unwrap();
        let larger: Vec<Quota> = quotas.iter().map(|quota| changed(quota, 200_000, 1)).collect();
        std::thread::scope(|scope| {
            let asker = scope.spawn(|| assert_eq!(admitted(&limiter, "key", 30_000), 30_000));
            while !asker.is_finished() {
                limiter.set_quota("key", larger.clone()).unwrap();
                limiter.clear_quota("key");
            }
        });
        let used = 100_000 - limiter.peek("key").remaining();
        // With several quotas a charge by the first that meets the move is charged again after it.
        if let [_] = *quotas {
            assert_eq!(used, 30_000);
        } else {
            assert!(used >= 30_000, "{used}");
        }
    }
}
