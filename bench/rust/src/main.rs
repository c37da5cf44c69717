//! tidegate's core beside its peers in Rust, interleaved in one process. Prints JSON lines; `bench/run.py` reads them.

mod gate;
mod keyed;
mod memory;
mod peers;
mod rounds;
mod waiting;

use peers::{governor_full, governor_used_up};
use rounds::{Case, report, together};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tidegate::{Algorithm, ConcurrencyLimiter, ConcurrencyOptions, Quota, RateLimiter};

/// More than any loop here can spend.
pub const PLENTY: u64 = 1_000_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [child, subject] = &arguments[..]
        && child == memory::CHILD
    {
        return memory::child(subject);
    }
    let quick = std::env::var_os("QUICK").is_some();
    let rounds = if quick { 7 } else { 21 };
    same_work();
    keyed::same_work();
    gcra(rounds);
    for threads in [2, 10] {
        gcra_contended(rounds, threads);
    }
    keyed::gcra(rounds);
    keyed::contended(rounds);
    memory::all(if quick { 1 } else { 5 });
    concurrency(rounds);
    gate::enter(rounds);
    waiting::hand_over(rounds, if quick { 20_000 } else { 50_000 });
    counter_race(if quick { 1 } else { 3 });
}

/// Both admit the burst and no more, before anything is timed.
fn same_work() {
    let ours = RateLimiter::new(Quota::per_hour(1_000)).expect("a quota");
    let theirs = governor::RateLimiter::direct(governor::Quota::per_hour(peers::nonzero(1_000)));
    let ours = (0..2_000).filter(|_| ours.try_acquire()).count();
    let theirs = (0..2_000).filter(|_| theirs.check().is_ok()).count();
    assert_eq!((ours, theirs), (1_000, 1_000));
}

fn plenty() -> RateLimiter {
    RateLimiter::new(Quota::per_second(PLENTY)).expect("a quota")
}

fn used_up() -> RateLimiter {
    let limiter = RateLimiter::new(Quota::per_hour(1)).expect("a quota");
    assert!(limiter.try_acquire());
    limiter
}

fn gcra(rounds: usize) {
    let (ours, theirs) = (plenty(), governor_full(PLENTY));
    report(
        "gcra allowed",
        together(
            rounds,
            &mut [
                Case::new("tidegate", 200_000, || assert!(black_box(&ours).try_acquire())),
                Case::new("governor", 200_000, || assert!(black_box(&theirs).check().is_ok())),
                Case::new("tidegate acquire", 200_000, || assert!(black_box(&ours).acquire(None).is_ok())),
            ],
        ),
    );
    let (ours, theirs) = (used_up(), governor_used_up());
    report(
        "gcra refused",
        together(
            rounds,
            &mut [
                Case::new("tidegate", 200_000, || assert!(!black_box(&ours).try_acquire())),
                Case::new("governor", 200_000, || assert!(black_box(&theirs).check().is_err())),
            ],
        ),
    );
    let window = RateLimiter::new(Quota::per_second(PLENTY).with_algorithm(Algorithm::FixedWindow)).expect("a quota");
    let sliding =
        RateLimiter::new(Quota::per_second(PLENTY).with_algorithm(Algorithm::SlidingWindow)).expect("a quota");
    let several = RateLimiter::new("1000000000/s; 1000000000/min").expect("quotas");
    let decider = plenty();
    let clock = tidegate::Clock::monotonic();
    report(
        "one call",
        together(
            rounds,
            &mut [
                Case::new("tidegate fixed_window", 200_000, || assert!(black_box(&window).try_acquire())),
                Case::new("tidegate sliding_window", 200_000, || assert!(black_box(&sliding).try_acquire())),
                Case::new("tidegate two quotas", 200_000, || assert!(black_box(&several).try_acquire())),
                Case::new("tidegate decide", 200_000, || assert!(black_box(&decider).decide().allowed())),
                Case::new("clock alone", 200_000, || {
                    black_box(clock.now_ns());
                }),
            ],
        ),
    );
}

/// All threads on one limiter; the time of one call is that of all calls together.
fn gcra_contended(rounds: usize, threads: usize) {
    let (ours, theirs) = (plenty(), governor_full(PLENTY));
    report(
        &format!("gcra allowed, {threads} threads"),
        together(
            rounds,
            &mut [
                Case::contended("tidegate", 4_000_000 / threads as u32, threads, || assert!(ours.try_acquire())),
                Case::contended("governor", 4_000_000 / threads as u32, threads, || assert!(theirs.check().is_ok())),
            ],
        ),
    );
    let (ours, theirs) = (used_up(), governor_used_up());
    report(
        &format!("gcra refused, {threads} threads"),
        together(
            rounds,
            &mut [
                Case::contended("tidegate", 4_000_000 / threads as u32, threads, || assert!(!ours.try_acquire())),
                Case::contended("governor", 4_000_000 / threads as u32, threads, || assert!(theirs.check().is_err())),
            ],
        ),
    );
}

fn concurrency(rounds: usize) {
    let ours = ConcurrencyLimiter::new(10).expect("a limit");
    let theirs = tokio::sync::Semaphore::new(10);
    report(
        "concurrency try_acquire + release",
        together(
            rounds,
            &mut [
                Case::new("tidegate", 200_000, || drop(black_box(&ours).try_acquire().expect("free"))),
                Case::new("tokio", 200_000, || drop(black_box(&theirs).try_acquire().expect("free"))),
                Case::new("tidegate acquire", 200_000, || drop(black_box(&ours).acquire(None).expect("free"))),
            ],
        ),
    );
    let tracked = ConcurrencyOptions::new().track_hold_time(true).build(10).expect("a limit");
    report(
        "concurrency try_acquire + release, hold times",
        together(
            rounds,
            &mut [
                Case::new("tidegate", 200_000, || drop(black_box(&tracked).try_acquire().expect("free"))),
                Case::new("tokio", 200_000, || drop(black_box(&theirs).try_acquire().expect("free"))),
            ],
        ),
    );
}

/// Ten threads on one fixed window of 5,000,000 a second for 3.5 s, which sees exactly four windows.
fn counter_race(races: usize) {
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
