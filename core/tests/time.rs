//! Time at its worst: jumps, steps back, long idling, the end of the clock.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::time::Duration;
use tidegate::{Algorithm, Anchor, Clock, ManualClock, Quota, RateLimiter, Status};

fn every_kind(limit: u64, period: Duration) -> [Quota; 5] {
    let quota = Quota::new(limit, period);
    [
        quota,
        quota.with_algorithm(Algorithm::FixedWindow),
        quota.with_algorithm(Algorithm::FixedWindow).with_anchor(Anchor::Clock),
        quota.with_algorithm(Algorithm::SlidingWindow),
        quota.with_algorithm(Algorithm::SlidingLog),
    ]
}

fn admitted(limiter: &RateLimiter, asks: usize) -> usize {
    (0..asks).filter(|_| limiter.try_acquire()).count()
}

#[test]
fn a_jump_of_584_years_fills_the_limiter_once_and_the_end_of_time_admits_no_more() {
    for quota in every_kind(5, Duration::from_secs(1)) {
        let clock = ManualClock::new();
        clock.advance_ns(1);
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        assert_eq!(admitted(&limiter, 10), 5, "{quota}");
        clock.advance_ns(u64::MAX);
        assert_eq!(limiter.peek().remaining(), 5, "{quota}");
        assert_eq!(admitted(&limiter, 10), 5, "{quota}");
        clock.advance_ns(u64::MAX);
        assert_eq!(admitted(&limiter, 10), 0, "{quota}: the clock stands at its end");
    }
}

#[test]
fn many_jumps_of_years_lose_nothing_and_give_nothing_away() {
    for quota in every_kind(3, Duration::from_secs(7)) {
        let clock = ManualClock::new();
        let limiter = RateLimiter::with_clock(quota, &clock).unwrap();
        for years in 1..40 {
            assert_eq!(admitted(&limiter, 5), 3, "{quota} after {years} jumps");
            clock.advance(Duration::from_secs(years * 3_600 * 24 * 97));
        }
    }
}

#[test]
fn twelve_idle_hours_at_a_billion_a_second_fill_the_bucket_exactly() {
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock(Quota::per_second(1_000_000_000), &clock).unwrap();
    assert!(limiter.try_acquire_n(1_000_000_000).unwrap());
    assert!(!limiter.try_acquire());
    clock.advance(Duration::from_secs(12 * 3_600));
    assert_eq!(limiter.peek().remaining(), 1_000_000_000);
    assert!(limiter.try_acquire_n(1_000_000_000).unwrap());
    assert!(!limiter.try_acquire());
}

#[test]
fn costs_up_to_the_largest_are_told_to_be_beyond_capacity() {
    for quota in every_kind(5, Duration::from_secs(1)) {
        let limiter = RateLimiter::with_clock(quota, ManualClock::new()).unwrap();
        for cost in [6, 1 << 30, 1 << 40, tidegate::MAX_COST] {
            assert_eq!(limiter.try_acquire_status(cost).unwrap(), Status::ExceedsCapacity, "{quota}, {cost}");
        }
        for cost in [0, tidegate::MAX_COST + 1, u64::MAX] {
            assert_eq!(limiter.try_acquire_n(cost).unwrap_err().argument(), "cost");
        }
        assert_eq!(admitted(&limiter, 10), 5, "nothing was taken");
    }
}

#[test]
fn windows_of_the_clock_begin_at_whole_periods_of_the_unix_time() {
    let quota = Quota::new(1_000, Duration::from_millis(200)).with_algorithm(Algorithm::FixedWindow);
    let limiter = RateLimiter::with_clock(quota.with_anchor(Anchor::Clock), Clock::monotonic()).unwrap();
    let unix = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let before = unix();
    let decision = limiter.decide();
    let ends = [before, unix()].map(|now| now + decision.reset_after_ns());
    // The offset was sampled once, a moment before: within a millisecond, unless the machine's clock is being set.
    let off = ends.map(|end| (end + 100_000_000) % 200_000_000).map(|off| off.abs_diff(100_000_000));
    assert!(off.iter().min().unwrap() < &5_000_000, "windows end {off:?} ns off whole periods");
}
