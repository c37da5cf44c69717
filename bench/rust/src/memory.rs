//! Resident memory of a keyed limiter that holds a million String keys, and of a limiter that ten thousand wait for, a process for
//! each: so nothing else is counted.

use crate::PLENTY;
use crate::peers::governor_keyed;
use crate::rounds::report_bytes;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};
use tidegate::{ConcurrencyLimiter, KeyedRateLimiter, Quota};

const KEYS: u64 = 1_000_000;
const WAITERS: usize = 10_000;

const KEYED: &str = "memory, 1,000,000 keys";
const WAITING: &str = "memory, 10,000 waiters";
const SUBJECTS: [(&str, &str, &str); 4] = [
    (KEYED, "tidegate", "bytes_per_key"),
    (KEYED, "governor", "bytes_per_key"),
    (WAITING, "tidegate", "bytes_per_waiter"),
    (WAITING, "tokio", "bytes_per_waiter"),
];

/// The first argument of a process that measures one subject, by its number, the second.
pub const CHILD: &str = "memory-of";

/// Bytes of each, of so many processes for each subject, in turns. No lines where the system doesn't tell.
pub fn all(processes: usize) {
    let mut bytes = [const { Vec::new() }; SUBJECTS.len()];
    for _ in 0..processes {
        for (number, bytes) in bytes.iter_mut().enumerate() {
            let program = std::env::current_exe().expect("this program");
            let child = Command::new(program).args([CHILD, &number.to_string()]).output().expect("this program runs");
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
            bytes.extend(String::from_utf8_lossy(&child.stdout).trim().parse::<f64>());
        }
    }
    for ((case, subject, unit), mut bytes) in SUBJECTS.iter().zip(bytes) {
        bytes.sort_by(f64::total_cmp);
        if !bytes.is_empty() {
            report_bytes(case, subject, unit, &bytes);
        }
    }
}

/// Prints what a subject takes for each key or waiter.
pub fn child(number: &str) {
    let Some(before) = resident_bytes() else { return };
    let Some((case, subject, _)) = number.parse().ok().and_then(|number: usize| SUBJECTS.get(number)) else {
        panic!("{CHILD}: got {number}; allowed: 0 to {}", SUBJECTS.len() - 1)
    };
    match (*case, *subject) {
        (KEYED, "tidegate") => {
            let limiter = KeyedRateLimiter::new(Quota::per_second(PLENTY), KEYS).expect("a quota");
            fill(before, |key| limiter.try_acquire(key));
            black_box(&limiter);
        }
        (KEYED, _) => {
            let limiter = governor_keyed(PLENTY);
            fill(before, |key| limiter.check_key(&key).is_ok());
            black_box(&limiter);
        }
        (_, "tidegate") => {
            let limiter = ConcurrencyLimiter::new(0).expect("a limit");
            crowd(before, || limiter.acquire_async());
        }
        _ => {
            let semaphore = tokio::sync::Semaphore::new(0);
            crowd(before, || semaphore.acquire());
        }
    }
}

/// Futures that wait, each in a box as a task would be.
fn crowd<F: Future>(before: u64, wait: impl Fn() -> F) {
    let mut waiters: Vec<Pin<Box<F>>> = Vec::with_capacity(WAITERS);
    for _ in 0..WAITERS {
        let mut waiter = Box::pin(wait());
        assert!(matches!(waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
        waiters.push(waiter);
    }
    let after = resident_bytes().expect("told before");
    println!("{:.2}", (after - before) as f64 / WAITERS as f64);
}

fn fill(before: u64, admits: impl Fn(String) -> bool) {
    for number in 0..KEYS as usize {
        assert!(admits(crate::keyed::key(number)));
    }
    let after = resident_bytes().expect("told before");
    println!("{:.2}", (after - before) as f64 / KEYS as f64);
}

/// Without code, which is read in by 64 kB when it is first run: 7 bytes for each waiter. None where the system doesn't tell.
fn resident_bytes() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let kilobytes = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")?.trim().strip_suffix(" kB"));
    kilobytes?.parse().ok().map(|kilobytes: u64| kilobytes * 1_024)
}
