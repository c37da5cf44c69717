//! Timing: subjects take turns, round by round, so that a machine whose speed drifts is the same for all.

use std::sync::Barrier;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

pub struct Case<'a> {
    subject: &'static str,
    /// One round; returns nanoseconds per call.
    round: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Case<'a> {
    pub fn new(subject: &'static str, calls: u32, mut call: impl FnMut() + 'a) -> Self {
        Self {
            subject,
            round: Box::new(move || {
                let start = Instant::now();
                for _ in 0..calls {
                    call();
                }
                start.elapsed().as_nanos() as f64 / f64::from(calls)
            }),
        }
    }

    /// What a call is given is made before it is timed, a few hundred at a time: so it is at hand, as a key is that a service
    /// has just read.
    pub fn prepared<T: 'a>(
        subject: &'static str,
        calls: usize,
        mut make: impl FnMut() -> T + 'a,
        mut call: impl FnMut(&T) + 'a,
    ) -> Self {
        const AT_ONCE: usize = 250;
        Self {
            subject,
            round: Box::new(move || {
                let mut elapsed = Duration::ZERO;
                for _ in 0..calls / AT_ONCE {
                    let given: Vec<T> = (0..AT_ONCE).map(|_| make()).collect();
                    let start = Instant::now();
                    given.iter().for_each(&mut call);
                    elapsed += start.elapsed();
                }
                elapsed.as_nanos() as f64 / (calls / AT_ONCE * AT_ONCE) as f64
            }),
        }
    }

    /// `threads` threads make `calls` calls each, each with what `worker` gives it; the time is that of the whole, per call.
    pub fn contended<Call: FnMut()>(
        subject: &'static str,
        calls: u32,
        threads: usize,
        worker: impl Fn() -> Call + Sync + 'a,
    ) -> Self {
        Self {
            subject,
            round: Box::new(move || {
                let barrier = Barrier::new(threads);
                std::thread::scope(|scope| {
                    let workers = (0..threads).map(|_| scope.spawn(|| span(&barrier, calls, worker()))).collect();
                    whole(workers).as_nanos() as f64 / f64::from(calls) / threads as f64
                })
            }),
        }
    }

    /// One thread calls `ping`, another `pong`, `calls` times each, and each waits for the other; the time is that of one of both.
    pub fn alternating(
        subject: &'static str,
        calls: u32,
        ping: impl Fn() + Sync + 'a,
        pong: impl Fn() + Sync + 'a,
    ) -> Self {
        Self {
            subject,
            round: Box::new(move || {
                let barrier = Barrier::new(2);
                std::thread::scope(|scope| {
                    let workers = vec![
                        scope.spawn(|| span(&barrier, calls, &ping)),
                        scope.spawn(|| span(&barrier, calls, &pong)),
                    ];
                    whole(workers).as_nanos() as f64 / f64::from(calls) / 2.0
                })
            }),
        }
    }
}

/// When a thread's calls began and ended.
fn span(barrier: &Barrier, calls: u32, mut call: impl FnMut()) -> (Instant, Instant) {
    barrier.wait();
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    (start, Instant::now())
}

/// From the first beginning to the last end.
fn whole(workers: Vec<ScopedJoinHandle<'_, (Instant, Instant)>>) -> Duration {
    let spans: Vec<_> = workers.into_iter().map(|worker| worker.join().expect("no panic")).collect();
    let first = spans.iter().map(|(start, _)| *start).min().expect("a thread");
    let last = spans.iter().map(|(_, end)| *end).max().expect("a thread");
    last - first
}

/// Runs all cases in turn, one round to warm up and then `rounds`.
pub fn together(rounds: usize, cases: &mut [Case<'_>]) -> Vec<(&'static str, Vec<f64>)> {
    let mut times: Vec<(&'static str, Vec<f64>)> = cases.iter().map(|case| (case.subject, Vec::new())).collect();
    for round in 0..=rounds {
        for (case, (_, times)) in cases.iter_mut().zip(&mut times) {
            let time = (case.round)();
            if round > 0 {
                times.push(time);
            }
        }
    }
    for (_, times) in &mut times {
        times.sort_by(f64::total_cmp);
    }
    times
}

pub fn report(case: &str, times: Vec<(&'static str, Vec<f64>)>) {
    for (subject, times) in times {
        line(case, subject, "ns_per_op", &times);
    }
}

pub fn report_rate(case: &str, subject: &str, rates: &[f64]) {
    line(case, subject, "ops_per_s", rates);
}

pub fn report_bytes(case: &str, subject: &str, unit: &str, bytes: &[f64]) {
    line(case, subject, unit, bytes);
}

/// `sorted` in rising order: its median, tenth and ninetieth percentile.
fn line(case: &str, subject: &str, unit: &str, sorted: &[f64]) {
    let at = |part: usize| sorted[(sorted.len() - 1) * part / 10];
    println!(
        r#"{{"language": "rust", "case": "{case}", "subject": "{subject}", "{unit}": {:.2}, "spread": [{:.2}, {:.2}], "rounds": {}, "version": "{}"}}"#,
        at(5),
        at(1),
        at(9),
        sorted.len(),
        version(subject)
    );
}

/// As it is locked; that of a peer is the package's which the subject is named after.
fn version(subject: &str) -> &'static str {
    let package = match subject {
        "Mutex + Condvar" => return "std",
        "governor" | "leaky-bucket" | "ratelimit" | "tokio" | "tower" => subject,
        _ => "tidegate",
    };
    let name = format!("name = \"{package}\"\nversion = \"");
    let (_, from_version) = include_str!("../Cargo.lock").split_once(&name).expect("a locked package");
    from_version.split_once('"').expect("a text").0
}
