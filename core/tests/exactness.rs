//! Each algorithm against exact rational arithmetic, on random quotas, costs and times.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod model;

use model::{FixedWindowModel, GcraModel, LogModel, Model, SlidingWindowModel, Verdict};
use proptest::prelude::*;
use std::time::Duration;
use tidegate::{Algorithm, Anchor, Decision, ManualClock, NEVER_NS, Quota, RateLimiter, Status};

#[derive(Clone, Debug)]
struct Ask {
    /// How long to wait first: in thousandths of the period, plus some nanoseconds.
    wait_permille: u64,
    wait_ns: u64,
    /// In parts of the burst: mostly small.
    cost: u64,
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let ask = (
        prop_oneof![4 => Just(0), 4 => 0..100_u64, 2 => 0..1_500_u64, 1 => 0..5_000_u64],
        prop_oneof![Just(0), Just(1), 0..1_000_u64],
        prop_oneof![6 => Just(1), 3 => 1..5_u64, 1 => 1..40_u64],
    );
    prop::collection::vec(ask.prop_map(|(wait_permille, wait_ns, cost)| Ask { wait_permille, wait_ns, cost }), 1..60)
}

fn periods() -> impl Strategy<Value = u64> {
    prop_oneof![
        60_000..10_000_000_u64,
        Just(1_000_000_000),
        Just(60_000_000_000),
        1_000_000_000..40_000_000_000_000_000_u64,
        Just(365 * 86_400_000_000_000),
        Just(730 * 86_400_000_000_000),
    ]
}

fn limits() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), Just(2), 1..20_u64, 1..1_000_u64, Just(1_000_000_001), 10_000_000..100_000_000_u64]
}

/// Asks a limiter and its model the same, and holds each answer against the model's.
fn compare(quota: Quota, asks: &[Ask], model: &mut dyn Model) {
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
    for ask in asks {
        let wait = (u128::from(quota.period_ns()) * u128::from(ask.wait_permille) / 1_000) as u64;
        clock.advance_ns(wait + ask.wait_ns);
        let cost = ask.cost;
        let before = figures(&limiter.peek());
        let decision = limiter.decide_n(cost).unwrap();
        let expected = model.decide(clock.now_ns(), cost, decision.allowed());
        check(&decision, &expected);
        if !decision.allowed() {
            assert_eq!(figures(&limiter.peek()), before, "a refusal changes nothing");
            check_retry(&limiter, &clock, &decision, cost);
        }
    }
}

fn check(decision: &Decision, expected: &Verdict) {
    assert_eq!(decision.status(), expected.status, "{decision:?} against {expected:?}");
    let close = |ours: u64, theirs: u64| ours.abs_diff(theirs) <= expected.tolerance_ns;
    assert!(close(decision.retry_after_ns(), expected.retry_after_ns), "{decision:?} against {expected:?}");
    assert!(close(decision.reset_after_ns(), expected.reset_after_ns), "{decision:?} against {expected:?}");
    assert!(expected.remaining.contains(&decision.remaining()), "{decision:?} against {expected:?}");
}

/// Waiting exactly `retry_after` admits; one nanosecond less refuses.
fn check_retry(limiter: &RateLimiter, clock: &ManualClock, decision: &Decision, cost: u64) {
    let retry_after = decision.retry_after_ns();
    if retry_after == NEVER_NS {
        assert_eq!(decision.status(), Status::ExceedsCapacity);
        return;
    }
    assert!(retry_after > 0, "what is refused now is not admitted now");
    clock.advance_ns(retry_after - 1);
    assert!(!limiter.peek_n(cost).unwrap().allowed(), "one nanosecond too early");
    clock.advance_ns(1);
    assert!(limiter.peek_n(cost).unwrap().allowed(), "exactly when it was said");
}

fn figures(decision: &Decision) -> (Status, u64, u64, u64) {
    (decision.status(), decision.remaining(), decision.retry_after_ns(), decision.reset_after_ns())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gcra_equals_the_rational_model(limit in limits(), period in periods(), burst in limits(), asks in asks()) {
        let quota = Quota::new(limit, Duration::from_nanos(period)).with_burst(burst);
        prop_assume!(quota.validate().is_ok());
        compare(quota, &asks, &mut GcraModel::new(&quota));
    }

    #[test]
    fn fixed_windows_equal_the_naive_model(
        limit in limits(), period in periods(), asks in asks(), aligned in any::<bool>(),
    ) {
        let anchor = if aligned { Anchor::Clock } else { Anchor::First };
        let quota = Quota::new(limit, Duration::from_nanos(period))
            .with_algorithm(Algorithm::FixedWindow)
            .with_anchor(anchor);
        compare(quota, &asks, &mut FixedWindowModel::new(&quota));
    }

    #[test]
    fn sliding_windows_equal_the_naive_model(limit in limits(), period in periods(), asks in asks()) {
        let quota = Quota::new(limit, Duration::from_nanos(period)).with_algorithm(Algorithm::SlidingWindow);
        compare(quota, &asks, &mut SlidingWindowModel::new(&quota));
    }

    #[test]
    fn sliding_logs_equal_the_naive_model(limit in 1..2_000_u64, period in periods(), asks in asks()) {
        let quota = Quota::new(limit, Duration::from_nanos(period)).with_algorithm(Algorithm::SlidingLog);
        compare(quota, &asks, &mut LogModel::new(&quota));
    }

    #[test]
    fn gcra_never_exceeds_its_bound_in_any_interval(
        limit in 1..200_u64, period in periods(), burst in 1..20_u64, asks in asks(),
    ) {
        let quota = Quota::new(limit, Duration::from_nanos(period)).with_burst(burst);
        prop_assume!(quota.validate().is_ok());
        let clock = ManualClock::new();
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        let mut grants: Vec<(u64, u64)> = Vec::new();
        for ask in &asks {
            clock.advance_ns((u128::from(period) * u128::from(ask.wait_permille) / 1_000) as u64 + ask.wait_ns);
            if limiter.try_acquire_n(ask.cost).unwrap() {
                grants.push((clock.now_ns(), ask.cost));
            }
        }
        for (index, (from, _)) in grants.iter().enumerate() {
            let mut granted = 0_u128;
            for (to, cost) in &grants[index..] {
                granted += u128::from(*cost);
                // granted ≤ B + (t + 1 ns)/T, times P
                let bound = u128::from(burst) * u128::from(period) + u128::from(to - from + 1) * u128::from(limit);
                prop_assert!(granted * u128::from(period) <= bound, "{granted} in {} ns", to - from);
            }
        }
    }

    #[test]
    fn a_quota_reads_back_from_its_own_text(
        limit in 0..1_000_000_u64, count in 1..100_u64, unit in 2..8_usize, burst in 1..1_000_000_u64,
        which in 0..5_usize,
    ) {
        let unit_ns = [1, 1_000, 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000, 86_400_000_000_000,
            604_800_000_000_000][unit];
        let quota = Quota::new(limit, Duration::from_nanos(unit_ns * count));
        let quota = match which {
            0 => quota,
            1 => quota.with_burst(burst),
            2 => quota.with_algorithm(Algorithm::FixedWindow).with_anchor(Anchor::Clock),
            3 => quota.with_algorithm(Algorithm::SlidingWindow),
            _ => quota.with_algorithm(Algorithm::SlidingLog),
        };
        prop_assume!(quota.validate().is_ok());
        let read: Quota = quota.to_string().parse().unwrap();
        prop_assert_eq!(read.to_string(), quota.to_string());
        prop_assert_eq!((read.limit(), read.period_ns(), read.burst()), (quota.limit(), quota.period_ns(), quota.burst()));
    }
}

#[test]
fn gcra_that_never_fills_grants_its_rate_to_one_in_a_million() {
    for (limit, period_ns) in [
        (7, 1_000_000_000),
        (1_000_000_001, 1_000_000_000),
        (99_999_989, 1_000_000_000),
        (12_345_679, 1_000_000_007),
        (3, 1_000_000_000),
    ] {
        let quota = Quota::new(limit, Duration::from_nanos(period_ns));
        let clock = ManualClock::new();
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        assert!(limiter.try_acquire_n(limit).unwrap(), "the burst, so that the bucket is empty");
        // Long enough for ten million tokens, in steps of at most half a bucket, asking for all there is.
        let steps = 10_000_000 / (limit / 2).max(1) + 2;
        let mut granted = 0;
        for _ in 0..steps {
            clock.advance_ns(period_ns / 2);
            let unspent = limiter.peek().remaining();
            if unspent > 0 {
                assert!(limiter.try_acquire_n(unspent).unwrap());
                granted += unspent;
            }
        }
        let due = u128::from(steps * (period_ns / 2)) * u128::from(limit) / u128::from(period_ns);
        let off = due.abs_diff(u128::from(granted));
        assert!(off <= due / 1_000_000 + 1, "{limit} per {period_ns} ns: {granted} granted, {due} due");
    }
}

#[test]
fn retry_after_is_exact_also_when_ticks_get_a_new_origin_meanwhile() {
    for (limit, period_ns, burst) in [(2, 30_872_616_874_592_151, 8), (2, 20_632_480_423_249_745, 12)] {
        let quota = Quota::new(limit, Duration::from_nanos(period_ns)).with_burst(burst);
        let clock = ManualClock::new();
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        for round in 0..40 {
            clock.advance_ns(period_ns / 7 + round);
            while limiter.try_acquire() {}
            let decision = limiter.peek_n(1 + round % burst).unwrap();
            check_retry(&limiter, &clock, &decision, 1 + round % burst);
        }
    }
}
