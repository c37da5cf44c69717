//! Keyed rate limiters: each key as a limiter of its own.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::time::Duration;
use tidegate::{
    Algorithm, Anchor, Decision, KeyedRateLimiter, KeyedRateOptions, ManualClock, Quota, RateLimiter, Status, ip_key,
    key_of,
};

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

/// One step of a script that a keyed limiter and one without keys both follow.
#[derive(Clone, Debug)]
enum Step {
    Wait {
        permille: u64,
        ns: u64,
    },
    Decide {
        cost: u64,
    },
    Peek {
        cost: u64,
    },
    /// Of an earlier decision, counted from the last.
    Refund {
        back: usize,
    },
    Reconfigure {
        limit: u64,
        period_factor: u64,
    },
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (prop_oneof![Just(0), 0..100_u64, 0..1_500_u64, 0..20_000_000_u64], 0..3_u64)
            .prop_map(|(permille, ns)| Step::Wait { permille, ns }),
        8 => prop_oneof![4 => Just(1), 2 => 1..5_u64, 1 => 1..40_u64].prop_map(|cost| Step::Decide { cost }),
        2 => (1..9_u64).prop_map(|cost| Step::Peek { cost }),
        1 => (0..4_usize).prop_map(|back| Step::Refund { back }),
        1 => (0..30_u64, 1..4_u64).prop_map(|(limit, period_factor)| Step::Reconfigure { limit, period_factor }),
        1 => Just(Step::Reset),
    ];
    prop::collection::vec(step, 1..80)
}

fn follows_as_one_without_keys(quotas: &[Quota], steps: &[Step]) {
    let clock = ManualClock::new();
    let alone = RateLimiter::with_clock(quotas, &clock).unwrap();
    let keyed = KeyedRateOptions::new().max_keys(1).clock(&clock).build(quotas).unwrap();
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
            Step::Reconfigure { limit, period_factor } => {
                let changed: Vec<Quota> = quotas
                    .iter()
                    .map(|quota| {
                        Quota::new(limit, quota.period() * period_factor as u32)
                            .with_algorithm(quota.algorithm())
                            .with_anchor(quota.anchor())
                    })
                    .collect();
                let outcomes = (alone.reconfigure(changed.clone()), keyed.reconfigure(changed));
                assert_eq!(outcomes.0.is_ok(), outcomes.1.is_ok(), "{outcomes:?}");
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
    fn a_key_alone_is_answered_exactly_as_by_a_limiter_without_keys(
        limit in prop_oneof![Just(1), Just(2), 1..20_u64, 1..1_000_u64],
        period in prop_oneof![15_000_000..10_000_000_000_u64, Just(1_000_000_000), Just(20_000_000_000_000_000)],
        steps in steps(),
    ) {
        for quota in every_kind(limit, Duration::from_nanos(period)) {
            follows_as_one_without_keys(&[quota], &steps);
        }
    }

    #[test]
    fn a_key_alone_under_two_quotas_is_answered_exactly_as_by_a_limiter_without_keys(
        limit in 1..20_u64, period in 15_000_000..10_000_000_000_u64, steps in steps(),
    ) {
        let gcra = Quota::new(limit * 3, Duration::from_nanos(period * 5)).with_burst(limit + 3);
        for quota in every_kind(limit, Duration::from_nanos(period)) {
            follows_as_one_without_keys(&[gcra, quota], &steps);
            follows_as_one_without_keys(&[quota, gcra], &steps);
        }
    }
}

#[test]
fn each_key_has_a_budget_of_its_own_whatever_its_bytes() {
    let long = "x".repeat(1 << 20);
    let (almost, other) = (format!("{}a", "y".repeat(255)), format!("{}b", "y".repeat(255)));
    let keys: [&[u8]; 11] = [
        b"",
        b"\0",
        b"\0\0",
        b"a\0b",
        b"\xFF\xFE",
        b"\xED\xA0\x80",
        b"__proto__",
        b"constructor",
        long.as_bytes(),
        almost.as_bytes(),
        other.as_bytes(),
    ];
    for quota in every_kind(2, SECOND) {
        let limiter = limiter(quota, 1_000, &ManualClock::new());
        for key in keys {
            let admitted = (0..5).filter(|_| limiter.try_acquire(key)).count();
            assert_eq!(admitted, 2, "{quota}");
        }
        assert_eq!((limiter.len(), limiter.stats().live_keys), (11, 11));
    }
}

#[test]
fn keys_of_several_parts_are_distinct_and_addresses_are_normalised() {
    assert_ne!(key_of(&["a", "b/c"]), key_of(&["a/b", "c"]));
    assert_ne!(key_of(&["a", ""]), key_of(&["a"]));
    assert_ne!(key_of(&["", "a"]), key_of(&["a", ""]));
    let key = |address: &str, prefix| ip_key(address.parse().unwrap(), prefix).unwrap();
    assert_eq!(key("::ffff:1.2.3.4", None), [1, 2, 3, 4]);
    assert_eq!(key("::ffff:1.2.3.4", Some(0)), [0, 0, 0, 0]);
    assert_eq!(key("2001:db8::1", None), key("2001:db8::ffff:0:0:1", None));
    assert_ne!(key("2001:db8::1", Some(128)), key("2001:db8::2", Some(128)));
    assert_eq!(key("2001:db8:1:2ff::1", Some(56)), key("2001:db8:1:200::", Some(56)));
    let error = ip_key("::ffff:1.2.3.4".parse().unwrap(), Some(33)).unwrap_err();
    assert_eq!(error.to_string(), "prefix: got 33; allowed: 0 to 32 for this address");
    assert_eq!(ip_key("::1".parse().unwrap(), Some(129)).unwrap_err().allowed(), "0 to 128 for this address");
}

#[test]
fn what_does_not_fit_beside_a_key_is_refused_by_name() {
    let message = |quota: &str| KeyedRateLimiter::new(quota, 10).unwrap_err().to_string();
    assert!(message("5/s sliding_log").starts_with("algorithm: got sliding_log with keys; allowed: gcra"));
    assert_eq!(
        message("16777216/s fixed_window"),
        "limit: got 16777216; allowed: with fixed_window anchor first and keys 0 to 16777215"
    );
    assert!(message("4294967296/s fixed_window anchor clock").starts_with("limit: got 4294967296"));
    assert!(message("5/us fixed_window anchor clock").starts_with("period: got 1000 ns"));
    assert!(message("16777216/s sliding_window").starts_with("limit: got 16777216"));
    assert!(
        message("5/ms sliding_window")
            .starts_with("period: got 1000000 ns; allowed: with sliding_window and keys at least")
    );
    assert!(KeyedRateLimiter::new("1000000000/s", 10).is_ok());
    for max_keys in [0, (1 << 32) + 1] {
        assert_eq!(KeyedRateLimiter::new("5/s", max_keys).unwrap_err().argument(), "max_keys");
    }
    let limiter = KeyedRateLimiter::new("5/s fixed_window", 10).unwrap();
    assert_eq!(limiter.reconfigure("16777216/s fixed_window").unwrap_err().argument(), "limit");
    assert_eq!(limiter.reconfigure("5/s").unwrap_err().argument(), "quota");
    assert_eq!(limiter.try_acquire_n("key", 0).unwrap_err().argument(), "cost");
}

#[test]
fn limit_zero_and_costs_beyond_capacity_take_no_slot() {
    for quota in every_kind(0, SECOND) {
        let limiter = limiter(quota, 10, &ManualClock::new());
        assert_eq!(limiter.try_acquire_status("key", 1).unwrap(), Status::Denied);
        assert_eq!(limiter.len(), 0);
    }
    for quota in every_kind(5, SECOND) {
        let limiter = limiter(quota, 10, &ManualClock::new());
        assert_eq!(limiter.try_acquire_status("key", 6).unwrap(), Status::ExceedsCapacity, "{quota}");
        assert_eq!(limiter.decide_n("key", tidegate::MAX_COST).unwrap().status(), Status::ExceedsCapacity);
        assert!(limiter.is_empty());
        assert_eq!(limiter.peek("key").remaining(), 5);
    }
}

#[test]
fn a_refund_is_for_its_limiter_and_key_once() {
    let clock = ManualClock::new();
    for quota in every_kind(2, SECOND) {
        let (ours, other) = (limiter(quota, 10, &clock), limiter(quota, 10, &clock));
        let decision = ours.decide_n("ann", 2).unwrap();
        let mistake = |outcome: Result<(), tidegate::Error>| outcome.unwrap_err().value().to_owned();
        assert_eq!(mistake(other.refund("ann", &decision)), "one of another limiter");
        assert_eq!(mistake(ours.refund("bob", &decision)), "one of another key");
        assert_eq!(ours.peek("ann").remaining(), 0);
        ours.refund("ann", &decision).unwrap();
        assert_eq!(mistake(ours.refund("ann", &decision)), "one that was refunded before");
        assert_eq!(ours.peek("ann").remaining(), 2, "{quota}");
    }
}

#[test]
fn a_refund_after_the_key_was_reset_or_evicted_gives_nothing() {
    for quota in every_kind(2, SECOND) {
        let clock = ManualClock::new();
        let limiter = limiter(quota, 1, &clock);
        let decision = limiter.decide_n("ann", 2).unwrap();
        limiter.reset("ann");
        assert_eq!(admitted(&limiter, "ann", 5), 2, "{quota}");
        limiter.refund("ann", &decision).unwrap();
        assert_eq!(admitted(&limiter, "ann", 5), 0, "{quota}");

        limiter.reset("ann");
        let decision = limiter.decide_n("ann", 1).unwrap();
        // All eight slots: those that owe everything push out the one that owes half.
        for flood in 0..100 {
            limiter.try_acquire_n(format!("flood {flood}"), 2).unwrap();
        }
        assert!(limiter.stats().evicted_live > 0);
        assert_eq!(limiter.peek("ann").remaining(), 2, "evicted");
        assert!(limiter.try_acquire_n("ann", 2).unwrap());
        limiter.refund("ann", &decision).unwrap();
        assert_eq!(limiter.peek("ann").remaining(), 0, "{quota}: what was spent since is spent");
    }
}

#[test]
fn a_batch_is_as_many_single_calls() {
    for quota in every_kind(3, SECOND) {
        let clock = ManualClock::new();
        let (one, many) = (limiter(quota, 100, &clock), limiter(quota, 100, &clock));
        let keys: Vec<String> = (0..200).map(|number| format!("key {}", number * number % 50)).collect();
        let mut statuses = vec![Status::Panic; keys.len()];
        many.try_acquire_many(&keys, 2, &mut statuses).unwrap();
        let single: Vec<Status> = keys.iter().map(|key| one.try_acquire_status(key, 2).unwrap()).collect();
        assert_eq!(statuses, single);
        assert_eq!(one.stats(), many.stats());
        let error = many.try_acquire_many(&keys, 1, &mut statuses[1..]).unwrap_err();
        assert_eq!(error.to_string(), "statuses: got 199; allowed: as many as keys, 200");
        assert_eq!(many.try_acquire_many(&keys, 0, &mut statuses).unwrap_err().argument(), "cost");
        many.try_acquire_many::<&str>(&[], 1, &mut []).unwrap();
    }
}

#[test]
fn times_of_many_years_pass_for_many_keys_at_once() {
    for quota in every_kind(3, Duration::from_secs(7)) {
        let clock = ManualClock::new();
        let limiter = limiter(quota, 100, &clock);
        for years in 1..40 {
            for key in 0..50 {
                assert_eq!(admitted(&limiter, &key.to_string(), 5), 3, "{quota} after {years} jumps");
            }
            clock.advance(Duration::from_secs(years * 3_600 * 24 * 97));
        }
        clock.advance_ns(u64::MAX);
        assert_eq!(admitted(&limiter, "0", 5), 3, "{quota} at the end of time");
        clock.advance_ns(u64::MAX);
        assert_eq!(admitted(&limiter, "0", 5), 0, "{quota}: the clock stands at its end");
    }
}

#[test]
fn an_origin_that_moves_keeps_what_every_key_owes() {
    // Periods of a year: several pass before the horizon, and windows are open when the origin moves.
    for quota in every_kind(4, Duration::from_secs(365 * 86_400)) {
        let clock = ManualClock::new();
        let (alone, keyed) = (RateLimiter::with_clock(quota, &clock).unwrap(), limiter(quota, 50, &clock));
        for round in 0..60_u64 {
            clock.advance(Duration::from_secs(61 * 86_400) + Duration::from_nanos(round * 7));
            let cost = 1 + round % 3;
            let expected = figures(&alone.decide_n(cost).unwrap());
            for key in 0..20 {
                let decision = keyed.decide_n(key.to_string(), cost).unwrap();
                assert_eq!(figures(&decision), expected, "{quota}, key {key}, round {round}");
            }
        }
        assert_eq!(keyed.stats().evicted_live, 0);
    }
}

#[test]
fn the_number_of_live_keys_is_estimated_in_a_large_table() {
    let clock = ManualClock::new();
    let limiter = limiter("5/s".parse().unwrap(), 1_000_000, &clock);
    assert_eq!((limiter.capacity(), limiter.stats().capacity), (1_000_000, 1_000_000));
    for number in 0..100_000_u64 {
        assert!(limiter.try_acquire(number.to_le_bytes()));
    }
    let estimate = limiter.len();
    assert!((80_000..120_000).contains(&estimate), "{estimate} of 100,000, from a sample of about 660");
    clock.advance(SECOND);
    assert!(limiter.is_empty());
    assert_eq!(format!("{limiter:?}"), "KeyedRateLimiter(5/s, 1000000 keys)");
    assert_eq!(limiter.quotas(), ["5/s".parse::<Quota>().unwrap()]);
}

#[test]
fn two_million_one_shot_keys_take_no_more_memory_than_the_first() {
    let clock = ManualClock::new();
    let limiter = limiter("1000/s".parse().unwrap(), 10_000, &clock);
    let mut resident = Vec::new();
    for number in 0..2_000_000_u64 {
        if number % 500_000 == 100_000 {
            resident.push(resident_bytes());
        }
        clock.advance_ns(1_000);
        assert!(limiter.try_acquire(number.to_le_bytes()));
    }
    resident.push(resident_bytes());
    assert_eq!(limiter.stats().evicted_live, 0, "each is at rest before the thousandth after it");
    // Other tests run in the same process at the same time; a map of the keys would have grown by more than 100 MB.
    let (first, last) = (resident[0], *resident.last().unwrap());
    assert!(last < first + 64_000_000, "{resident:?}");
}

/// 0 where that can't be told.
fn resident_bytes() -> u64 {
    let pages = |text: String| text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    std::fs::read_to_string("/proc/self/statm").ok().and_then(pages).unwrap_or(0) * 4_096
}
