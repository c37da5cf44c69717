//! Every interleaving of small programs over the atomic steps: `RUSTFLAGS="--cfg loom" cargo test --release --test loom`.
//!
//! The clock is moved by a thread of the model, so it moves between any two steps of the others.
#![cfg(loom)]
#![allow(clippy::unwrap_used)]

use loom::thread;
use std::sync::Arc;
use std::time::Duration;
use tidegate::{Algorithm, ConcurrencyLimiter, ManualClock, Quota, RateLimiter};

const SECOND: Duration = Duration::from_secs(1);

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

fn every_kind(limit: u64) -> [Quota; 4] {
    let quota = Quota::new(limit, SECOND);
    [
        quota,
        quota.with_algorithm(Algorithm::FixedWindow),
        quota.with_algorithm(Algorithm::SlidingWindow),
        quota.with_algorithm(Algorithm::SlidingLog),
    ]
}

fn limiter(quotas: &[Quota], clock: &ManualClock) -> Arc<RateLimiter> {
    Arc::new(RateLimiter::with_clock(quotas, clock).unwrap())
}

fn asks(limiter: &Arc<RateLimiter>) -> thread::JoinHandle<u64> {
    let limiter = Arc::clone(limiter);
    thread::spawn(move || u64::from(limiter.try_acquire()))
}

#[test]
fn of_three_threads_that_ask_for_the_last_two_tokens_two_get_them() {
    for quota in every_kind(2) {
        model(move || {
            let limiter = limiter(&[quota], &ManualClock::new());
            let threads = [asks(&limiter), asks(&limiter), asks(&limiter)];
            let admitted: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(admitted, 2);
            assert_eq!(limiter.peek().remaining(), 0);
        });
    }
}

#[test]
fn a_clock_that_moves_between_the_steps_gives_no_more_than_is_due() {
    for quota in every_kind(1) {
        model(move || {
            let clock = ManualClock::new();
            let limiter = limiter(&[quota], &clock);
            let threads = [asks(&limiter), asks(&limiter)];
            let mover = {
                let clock = clock.clone();
                thread::spawn(move || clock.advance(SECOND * 2))
            };
            let admitted: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            mover.join().unwrap();
            // One at 0 s and one at 2 s, or one in all if both came before or after the move. Never both at one instant.
            assert!((1..=2).contains(&admitted));
            let after = limiter.peek();
            assert!(admitted == 1 || after.remaining() == 0, "two were admitted, so the second was at 2 s: {after:?}");
        });
    }
}

#[test]
fn a_decision_reads_one_set_of_settings_while_they_change_twice() {
    // Two of four are used, so two are there under each. A mixture, of a state by the slowest rate and settings of the
    // fastest, would say that far more is owed than the bucket holds.
    let quotas = [1, 10, 100].map(|limit| Quota::new(limit, SECOND).with_burst(4));
    model(move || {
        let limiter = limiter(&quotas[..1], &ManualClock::new());
        assert!(limiter.try_acquire_n(2).unwrap());
        let asker = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || limiter.try_acquire_n(2).unwrap())
        };
        limiter.reconfigure(quotas[1]).unwrap();
        limiter.reconfigure(quotas[2]).unwrap();
        assert!(asker.join().unwrap(), "two of four are there at any time");
        let after = limiter.peek();
        assert_eq!(after.remaining(), 0);
        assert_eq!(after.reset_after(), SECOND / 25, "charged by the settings that it was admitted under");
    });
}

#[test]
fn several_quotas_are_charged_all_or_none() {
    let wide = Quota::new(5, SECOND);
    for narrow in every_kind(1) {
        model(move || {
            let limiter = limiter(&[wide, narrow], &ManualClock::new());
            let threads = [asks(&limiter), asks(&limiter)];
            let admitted: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(admitted, 1);
            let relaxed = Quota::new(10, SECOND).with_algorithm(narrow.algorithm());
            limiter.reconfigure([wide, relaxed]).unwrap();
            assert_eq!(limiter.peek().remaining(), 4, "the refused call's charge on the first quota is undone");
        });
    }
}

#[test]
fn a_refund_against_a_charge_loses_neither() {
    for quota in every_kind(2) {
        model(move || {
            let limiter = limiter(&[quota], &ManualClock::new());
            let decision = limiter.decide();
            let asker = asks(&limiter);
            limiter.refund(&decision).unwrap();
            assert_eq!(asker.join().unwrap(), 1);
            assert_eq!(limiter.peek().remaining(), 1);
        });
    }
}

#[test]
fn a_refund_against_a_reset_gives_nothing_twice() {
    for quota in every_kind(2) {
        model(move || {
            let limiter = limiter(&[quota], &ManualClock::new());
            let decision = limiter.decide_n(2).unwrap();
            let resetter = {
                let limiter = Arc::clone(&limiter);
                thread::spawn(move || limiter.reset())
            };
            limiter.refund(&decision).unwrap();
            resetter.join().unwrap();
            assert_eq!(limiter.peek().remaining(), 2);
        });
    }
}

#[test]
fn permits_taken_released_and_resized_at_once_balance() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let borrower = |limiter: &Arc<ConcurrencyLimiter>| {
            let limiter = Arc::clone(limiter);
            thread::spawn(move || limiter.try_acquire().is_some())
        };
        let threads = [borrower(&limiter), borrower(&limiter)];
        limiter.set_limit(2).unwrap();
        let granted = threads.into_iter().map(|thread| thread.join().unwrap()).filter(|got| *got).count();
        assert!(granted >= 1);
        assert_eq!((limiter.in_flight(), limiter.available()), (0, 2));
    });
}

#[test]
fn work_under_a_permit_is_seen_by_who_gets_it_next() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let shared = Arc::new(loom::cell::UnsafeCell::new(0_u32));
        let worker = |limiter: &Arc<ConcurrencyLimiter>, shared: &Arc<loom::cell::UnsafeCell<u32>>| {
            let (limiter, shared) = (Arc::clone(limiter), Arc::clone(shared));
            thread::spawn(move || {
                let Some(_permit) = limiter.try_acquire() else { return 0 };
                // SAFETY: the one permit is held; loom itself checks that no two accesses overlap or race.
                shared.with_mut(|value| unsafe { *value += 1 });
                1
            })
        };
        let threads = [worker(&limiter, &shared), worker(&limiter, &shared)];
        let worked: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        // SAFETY: the threads have ended.
        assert_eq!(shared.with(|value| unsafe { *value }), worked);
    });
}
