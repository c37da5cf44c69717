//! Limits on calls a time. tower's limit belongs to one task, so it isn't asked by several threads.

use crate::PLENTY;
use crate::peers::{self, HOUR, at_once, call_if_ready, call_when_ready};
use crate::rounds::{self, Case, report, together};
use governor::clock::Clock as _;
use governor::middleware::StateInformationMiddleware;
use ratelimit::TryWaitError;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tidegate::{Algorithm, Quota, RateLimiter};

const CALLS: u32 = 200_000;
const SECOND: Duration = Duration::from_secs(1);

/// All admit the burst and no more, before anything is timed.
pub fn same_work() {
    const BURST: u64 = 1_000;
    let ours = RateLimiter::new(Quota::per_hour(BURST)).expect("a quota");
    let governor = peers::governor(BURST, HOUR);
    let ratelimit = peers::ratelimit(BURST, HOUR);
    let leaky_bucket = peers::leaky_bucket(BURST as usize, HOUR);
    let mut tower = peers::tower(BURST, HOUR);
    let admitted = [
        admitted(|| ours.try_acquire()),
        admitted(|| governor.check().is_ok()),
        admitted(|| ratelimit.try_wait().is_ok()),
        admitted(|| leaky_bucket.try_acquire(1)),
        admitted(|| call_if_ready(&mut tower).is_some()),
    ];
    assert_eq!(admitted, [BURST as usize; 5]);

    let ours = RateLimiter::new(Quota::per_hour(BURST)).expect("a quota");
    let governor = peers::governor(BURST, HOUR).with_middleware::<StateInformationMiddleware>();
    for left in (0..BURST).rev() {
        let remaining = governor.check().expect("tokens").remaining_burst_capacity();
        assert_eq!((ours.decide().remaining(), u64::from(remaining)), (left, left));
    }

    let ours = RateLimiter::new("1000/h; 100/min").expect("quotas");
    let governors = [peers::governor(BURST, HOUR), peers::governor(100, HOUR / 60)];
    let in_turn = || governors.iter().all(|governor| governor.check().is_ok());
    assert_eq!((admitted_of(200, || ours.try_acquire()), admitted_of(200, in_turn)), (100, 100));
}

fn admitted(admits: impl FnMut() -> bool) -> usize {
    admitted_of(2_000, admits)
}

fn admitted_of(calls: usize, mut admits: impl FnMut() -> bool) -> usize {
    (0..calls).filter(|_| admits()).count()
}

fn plenty() -> RateLimiter {
    RateLimiter::new(Quota::per_second(PLENTY)).expect("a quota")
}

/// One token an hour, and it is spent.
fn used_up() -> RateLimiter {
    let limiter = RateLimiter::new(Quota::per_hour(1)).expect("a quota");
    assert!(limiter.try_acquire());
    limiter
}

pub fn allowed(rounds: usize) {
    let ours = plenty();
    let governor = peers::governor(PLENTY, SECOND);
    let ratelimit = peers::ratelimit(PLENTY, SECOND);
    let leaky_bucket = peers::leaky_bucket(PLENTY as usize, SECOND);
    let mut tower = peers::tower(PLENTY, SECOND);
    report(
        "gcra allowed",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || assert!(black_box(&ours).try_acquire())),
                Case::new("governor", CALLS, || assert!(black_box(&governor).check().is_ok())),
                Case::new("ratelimit", CALLS, || assert!(black_box(&ratelimit).try_wait().is_ok())),
                Case::new("leaky-bucket", CALLS, || assert!(black_box(&leaky_bucket).try_acquire(1))),
                Case::new("tower", CALLS, || assert!(call_if_ready(black_box(&mut tower)).is_some())),
                Case::new("tidegate acquire", CALLS, || assert!(black_box(&ours).acquire(None).is_ok())),
            ],
        ),
    );
}

pub fn refused(rounds: usize) {
    let ours = used_up();
    let governor = peers::governor(1, HOUR);
    let ratelimit = peers::ratelimit(1, HOUR);
    let leaky_bucket = peers::leaky_bucket(1, HOUR);
    let mut tower = peers::tower(1, HOUR);
    assert!(governor.check().is_ok() && ratelimit.try_wait().is_ok() && leaky_bucket.try_acquire(1));
    assert!(call_if_ready(&mut tower).is_some());
    report(
        "gcra refused",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || assert!(!black_box(&ours).try_acquire())),
                Case::new("governor", CALLS, || assert!(black_box(&governor).check().is_err())),
                Case::new("ratelimit", CALLS, || assert!(black_box(&ratelimit).try_wait().is_err())),
                Case::new("leaky-bucket", CALLS, || assert!(!black_box(&leaky_bucket).try_acquire(1))),
                Case::new("tower", CALLS, || assert!(call_if_ready(black_box(&mut tower)).is_none())),
            ],
        ),
    );
}

/// All threads on one limiter; the time of one call is that of all calls together.
pub fn contended(rounds: usize, threads: usize) {
    let calls = 4_000_000 / threads as u32;
    // Behind a lock, and so slow that fewer calls are as long.
    let locked = calls / 10;
    let ours = plenty();
    let governor = peers::governor(PLENTY, SECOND);
    let ratelimit = peers::ratelimit(PLENTY, SECOND);
    let leaky_bucket = peers::leaky_bucket(PLENTY as usize, SECOND);
    report(
        &format!("gcra allowed, {threads} threads"),
        together(
            rounds,
            &mut [
                Case::contended("tidegate", calls, threads, || || assert!(ours.try_acquire())),
                Case::contended("governor", calls, threads, || || assert!(governor.check().is_ok())),
                Case::contended("ratelimit", calls, threads, || || assert!(ratelimit.try_wait().is_ok())),
                Case::contended("leaky-bucket", locked, threads, || || assert!(leaky_bucket.try_acquire(1))),
            ],
        ),
    );
    let ours = used_up();
    let governor = peers::governor(1, HOUR);
    let ratelimit = peers::ratelimit(1, HOUR);
    let leaky_bucket = peers::leaky_bucket(1, HOUR);
    assert!(governor.check().is_ok() && ratelimit.try_wait().is_ok() && leaky_bucket.try_acquire(1));
    report(
        &format!("gcra refused, {threads} threads"),
        together(
            rounds,
            &mut [
                Case::contended("tidegate", calls, threads, || || assert!(!ours.try_acquire())),
                Case::contended("governor", calls, threads, || || assert!(governor.check().is_err())),
                Case::contended("ratelimit", calls, threads, || || assert!(ratelimit.try_wait().is_err())),
                Case::contended("leaky-bucket", locked, threads, || || assert!(!leaky_bucket.try_acquire(1))),
            ],
        ),
    );
}

/// What is left of a limit after a call that is admitted, and how long one that is refused has to wait.
pub fn figures(rounds: usize) {
    let ours = plenty();
    let governor = peers::governor(PLENTY, SECOND).with_middleware::<StateInformationMiddleware>();
    report(
        "check with figures",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || {
                    let decision = black_box(&ours).decide();
                    assert!(decision.allowed());
                    black_box(decision.remaining());
                }),
                Case::new("governor", CALLS, || {
                    let snapshot = black_box(&governor).check().expect("plenty");
                    black_box(snapshot.remaining_burst_capacity());
                }),
            ],
        ),
    );
    let ours = used_up();
    let governor = peers::governor(1, HOUR);
    let ratelimit = peers::ratelimit(1, HOUR);
    assert!(governor.check().is_ok() && ratelimit.try_wait().is_ok());
    report(
        "check with figures, refused",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || {
                    let decision = black_box(&ours).decide();
                    assert!(!decision.allowed());
                    black_box(decision.retry_after());
                }),
                Case::new("governor", CALLS, || {
                    let refusal = black_box(&governor).check().expect_err("used up");
                    black_box(refusal.wait_time_from(governor.clock().now()));
                }),
                Case::new("ratelimit", CALLS, || {
                    let Err(TryWaitError::Insufficient(retry_after)) = black_box(&ratelimit).try_wait() else {
                        panic!("used up")
                    };
                    black_box(retry_after);
                }),
            ],
        ),
    );
}

/// Several quotas as one decision. The peer asks one limiter after the other: what the first gave stays spent where a later
/// one refuses.
pub fn several(rounds: usize) {
    const PERIODS: [(&str, Duration); 3] = [("s", SECOND), ("min", Duration::from_secs(60)), ("h", HOUR)];
    for count in 2..=PERIODS.len() {
        let quotas = PERIODS[..count].iter().map(|(unit, _)| format!("{PLENTY}/{unit}")).collect::<Vec<_>>().join("; ");
        let ours = RateLimiter::new(quotas.as_str()).expect("quotas");
        let governors: Vec<_> = PERIODS[..count].iter().map(|(_, period)| peers::governor(PLENTY, *period)).collect();
        report(
            &format!("{count} quotas"),
            together(
                rounds,
                &mut [
                    Case::new("tidegate", CALLS, || assert!(black_box(&ours).try_acquire())),
                    Case::new("governor", CALLS, || {
                        assert!(black_box(&governors).iter().all(|governor| governor.check().is_ok()));
                    }),
                ],
            ),
        );
    }
}

/// A future that need not wait.
pub fn awaited(rounds: usize) {
    let ours = plenty();
    let governor = peers::governor(PLENTY, SECOND);
    let leaky_bucket = peers::leaky_bucket(PLENTY as usize, SECOND);
    let mut tower = peers::tower(PLENTY, SECOND);
    report(
        "await acquire, gcra",
        together(
            rounds,
            &mut [
                Case::new("tidegate", CALLS, || {
                    let tokens = black_box(&ours).acquire_async(1, None, |_| std::future::pending()).expect("a cost");
                    at_once(tokens).expect("plenty");
                }),
                Case::new("governor", CALLS, || at_once(black_box(&governor).until_ready())),
                Case::new("leaky-bucket", CALLS, || at_once(black_box(&leaky_bucket).acquire_one())),
                Case::new("tower", CALLS, || at_once(call_when_ready(black_box(&mut tower)))),
            ],
        ),
    );
}

/// What else a call can cost, and what the clock does of it.
pub fn one_call(rounds: usize) {
    let of = |algorithm| RateLimiter::new(Quota::per_second(PLENTY).with_algorithm(algorithm)).expect("a quota");
    let (window, sliding) = (of(Algorithm::FixedWindow), of(Algorithm::SlidingWindow));
    let clock = tidegate::Clock::monotonic();
    report(
        "one call",
        together(
            rounds,
            &mut [
                Case::new("tidegate fixed_window", CALLS, || assert!(black_box(&window).try_acquire())),
                Case::new("tidegate sliding_window", CALLS, || assert!(black_box(&sliding).try_acquire())),
                Case::new("clock alone", CALLS, || {
                    black_box(clock.now_ns());
                }),
            ],
        ),
    );
}

/// Ten threads on one fixed window of 5,000,000 a second for 3.5 s, which sees exactly four windows.
pub fn counter_race(races: usize) {
    const LIMIT: u64 = 5_000_000;
    let mut rates: Vec<f64> = (0..races)
        .map(|_| {
            let quota = Quota::per_second(LIMIT).with_algorithm(Algorithm::FixedWindow);
            let limiter = RateLimiter::new(quota).expect("a quota");
            let start = Instant::now();
            let calls: u64 = std::thread::scope(|scope| {
                let racers: Vec<_> = (0..10)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut calls = 0;
                            while start.elapsed() < Duration::from_millis(3_500) {
                                // The clock of the race is read seldom, so that it is the limiter that is timed.
                                for _ in 0..1_000 {
                                    black_box(limiter.try_acquire());
                                }
                                calls += 1_000;
                            }
                            calls
                        })
                    })
                    .collect();
                racers.into_iter().map(|racer| racer.join().expect("no panic")).sum()
            });
            assert_eq!(limiter.stats().allowed, 4 * LIMIT, "exactly four windows");
            calls as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rounds::report_rate("counter race", "tidegate", &rates);
}
