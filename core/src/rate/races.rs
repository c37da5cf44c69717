//! Tests of what others may do between two steps of a call. They act where the call is paused, so that each comes every time.

use crate::sync::{Pause, at_next};
use crate::{Decision, KeyedRateLimiter, KeyedRateOptions, ManualClock, RateLimiter};
use std::sync::Arc;
use std::time::Duration;

/// All at 50 ms: a token of gcra is back, a window over.
const ONE_AT_A_TIME: [&str; 4] =
    ["20/s burst 1", "1/50ms fixed_window", "1/50ms fixed_window anchor clock", "1/50ms sliding_window"];

/// A limiter with or without keys, as for one key.
trait Limiter: Send + Sync + 'static {
    fn new(quotas: &str, clock: &ManualClock) -> Arc<Self>;
    fn try_acquire(&self) -> bool;
    fn decide(&self, cost: u64) -> Decision;
    fn peek(&self) -> Decision;
    fn refund(&self, decision: &Decision);
    fn reset(&self);

    fn take(&self, cost: u64) {
        assert!(self.decide(cost).allowed());
    }

    fn remaining(&self) -> u64 {
        self.peek().remaining()
    }
}

impl Limiter for RateLimiter {
    fn new(quotas: &str, clock: &ManualClock) -> Arc<Self> {
        Arc::new(Self::with_clock(quotas, clock).expect("quotas"))
    }

    fn try_acquire(&self) -> bool {
        self.try_acquire()
    }

    fn decide(&self, cost: u64) -> Decision {
        self.decide_n(cost).expect("a cost")
    }

    fn peek(&self) -> Decision {
        self.peek()
    }

    fn refund(&self, decision: &Decision) {
        self.refund(decision).expect("a grant");
    }

    fn reset(&self) {
        self.reset();
    }
}

impl Limiter for KeyedRateLimiter {
    fn new(quotas: &str, clock: &ManualClock) -> Arc<Self> {
        Arc::new(KeyedRateOptions::new().max_keys(10).clock(clock).build(quotas).expect("quotas"))
    }

    fn try_acquire(&self) -> bool {
        self.try_acquire("key")
    }

    fn decide(&self, cost: u64) -> Decision {
        self.decide_n("key", cost).expect("a cost")
    }

    fn peek(&self) -> Decision {
        self.peek("key")
    }

    fn refund(&self, decision: &Decision) {
        self.refund("key", decision).expect("a grant");
    }

    fn reset(&self) {
        self.reset("key");
    }
}

/// Who found its key away is suspended; another brings it in at 30 ms, and takes the only token; it is back when the first goes on.
#[test]
fn who_is_suspended_after_not_finding_its_key_is_not_refused_what_is_back_by_now() {
    for quotas in ONE_AT_A_TIME {
        let clock = ManualClock::new();
        let limiter = <KeyedRateLimiter as Limiter>::new(quotas, &clock);
        let other = limiter.clone();
        at_next(Pause::NotInTable, move || {
            clock.advance(Duration::from_millis(30));
            assert!(other.try_acquire("key"));
            clock.advance(Duration::from_millis(70));
        });
        assert!(limiter.try_acquire("key"), "{quotas}");
    }
}

/// Who is overtaken is overtaken again when it asks again.
fn overtaken_twice<L: Limiter>(quotas: &str, ask: impl Fn(&L) -> bool) -> bool {
    let clock = ManualClock::new();
    let limiter = L::new(quotas, &clock);
    limiter.take(1);
    clock.advance(Duration::from_millis(200));
    let take_between = |limiter: &Arc<L>, clock: &ManualClock| {
        clock.advance(Duration::from_millis(30));
        assert!(limiter.try_acquire());
        clock.advance(Duration::from_millis(70));
    };
    let other = limiter.clone();
    at_next(Pause::ClockRead, move || {
        take_between(&other, &clock);
        at_next(Pause::ClockRead, move || take_between(&other, &clock));
    });
    ask(&limiter)
}

#[test]
fn who_is_overtaken_twice_is_not_refused_what_is_back_by_now() {
    for quotas in ONE_AT_A_TIME {
        assert!(overtaken_twice(quotas, RateLimiter::try_acquire), "{quotas}");
        assert!(overtaken_twice(quotas, |limiter: &RateLimiter| limiter.decide().allowed()), "{quotas}");
        assert!(overtaken_twice(quotas, |limiter: &KeyedRateLimiter| limiter.try_acquire("key")), "with keys {quotas}");
    }
}

/// Who read the clock at 0 is suspended; another takes the only token at 30 ms; it is back when the first goes on.
fn overtaken<L: Limiter>(quotas: &str, ask: impl Fn(&L) -> bool) -> bool {
    let clock = ManualClock::new();
    let limiter = L::new(quotas, &clock);
    // The key is there: what comes in reads the clock again in any case.
    limiter.take(1);
    clock.advance(Duration::from_millis(200));
    let other = limiter.clone();
    at_next(Pause::ClockRead, move || {
        clock.advance(Duration::from_millis(30));
        assert!(other.try_acquire());
        clock.advance(Duration::from_millis(70));
    });
    ask(&limiter)
}

#[test]
fn who_is_suspended_after_reading_the_clock_is_not_refused_what_is_back_by_now() {
    for quotas in ONE_AT_A_TIME {
        assert!(overtaken(quotas, RateLimiter::try_acquire), "{quotas}");
        assert!(overtaken(quotas, |limiter: &RateLimiter| limiter.decide().allowed()), "{quotas}");
        assert!(overtaken(quotas, |limiter: &KeyedRateLimiter| limiter.try_acquire("key")), "with keys {quotas}");
        assert!(overtaken(quotas, |limiter: &KeyedRateLimiter| limiter.decide("key").allowed()), "with keys {quotas}");
        let two = format!("{quotas}; 100/h");
        assert!(overtaken(&two, RateLimiter::try_acquire), "{two}");
        assert!(overtaken(&two, |limiter: &KeyedRateLimiter| limiter.try_acquire("key")), "with keys {two}");
    }
}

fn decided<L: Limiter>(limiter: &L, cost: u64) -> bool {
    limiter.decide(cost).allowed()
}

/// Without figures, which is a path of its own where no key is.
fn tried(limiter: &RateLimiter, cost: u64) -> bool {
    limiter.try_acquire_n(cost).expect("a cost")
}

/// A bucket of ten that hardly fills, and a window that is soon over: so what the bucket is owed shows.
const BUCKET_AND_WINDOW: &str = "10/h; 10/s fixed_window";

fn what_the_bucket_has<L: Limiter>(limiter: &L, clock: &ManualClock) -> u64 {
    clock.advance(Duration::from_secs(1));
    limiter.remaining()
}

fn charge_that_is_taken_back<L: Limiter>(ask: impl Fn(&L, u64) -> bool) {
    let clock = ManualClock::new();
    let limiter = L::new("10/h; 8/s fixed_window", &clock);
    limiter.take(1);
    clock.advance(Duration::from_secs(1));
    let other = limiter.clone();
    at_next(Pause::Charged, move || other.take(4));
    assert!(!ask(&limiter, 5), "four of eight are gone by now");
    assert_eq!(what_the_bucket_has(&*limiter, &clock), 5, "only what it took itself is taken back");
}

#[test]
fn a_charge_that_another_quota_thwarts_is_taken_back() {
    charge_that_is_taken_back(decided::<RateLimiter>);
    charge_that_is_taken_back(decided::<KeyedRateLimiter>);
    charge_that_is_taken_back(tried);
}

fn reset_between_two_quotas<L: Limiter>(ask: impl Fn(&L, u64) -> bool) {
    let clock = ManualClock::new();
    let limiter = L::new(BUCKET_AND_WINDOW, &clock);
    limiter.take(1);
    let other = limiter.clone();
    at_next(Pause::Charged, move || {
        other.reset();
        other.take(10);
    });
    assert!(!ask(&limiter, 5));
    assert_eq!(what_the_bucket_has(&*limiter, &clock), 0, "what another took after the reset is not given back");
}

#[test]
fn a_charge_that_a_reset_has_voided_is_not_taken_back() {
    reset_between_two_quotas(decided::<RateLimiter>);
    reset_between_two_quotas(decided::<KeyedRateLimiter>);
    reset_between_two_quotas(tried);
}

fn refund_of_what_was_reset<L: Limiter>(quotas: &str) {
    let clock = ManualClock::new();
    let limiter = L::new(quotas, &clock);
    limiter.take(1);
    let other = limiter.clone();
    at_next(Pause::Charged, move || {
        other.reset();
        other.take(5);
    });
    let decision = limiter.decide(5);
    assert!(decision.allowed());
    limiter.refund(&decision);
    assert_eq!(what_the_bucket_has(&*limiter, &clock), 5, "{quotas}: it was charged before the reset");
}

#[test]
fn a_grant_from_just_before_a_reset_is_not_refunded() {
    for quotas in ["10/h", BUCKET_AND_WINDOW] {
        refund_of_what_was_reset::<RateLimiter>(quotas);
        refund_of_what_was_reset::<KeyedRateLimiter>(quotas);
    }
}

#[test]
fn a_grant_from_the_midst_of_a_reset_is_not_refunded() {
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock(BUCKET_AND_WINDOW, &clock).map(Arc::new).expect("quotas");
    limiter.take(5);
    let (other, (give, granted)) = (limiter.clone(), std::sync::mpsc::channel());
    // The bucket is reset, the window not yet: it forgets this grant, and all its ten go to others.
    at_next(Pause::Reset, move || give.send(Limiter::decide(&*other, 5)).expect("a receiver"));
    limiter.reset();
    let decision = granted.recv().expect("it was paused");
    assert!(decision.allowed());
    limiter.take(5);
    Limiter::refund(&*limiter, &decision);
    assert_eq!(what_the_bucket_has(&*limiter, &clock), 0);
}
