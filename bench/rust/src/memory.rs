//! Resident memory of a keyed limiter that holds a million String keys, a process for each: so nothing else is counted.

use crate::PLENTY;
use crate::peers::governor_keyed;
use crate::rounds::report_bytes;
use std::hint::black_box;
use std::process::Command;
use tidegate::{KeyedRateLimiter, Quota};

const KEYS: u64 = 1_000_000;
const SUBJECTS: [&str; 2] = ["tidegate", "governor"];

/// The first argument of a process that measures one subject, the second.
pub const CHILD: &str = "memory-of";

/// Bytes a key, of so many processes for each subject, in turns. No lines where the system doesn't tell.
pub fn keyed(processes: usize) {
    let mut bytes = [const { Vec::new() }; 2];
    for _ in 0..processes {
        for (subject, bytes) in SUBJECTS.iter().zip(&mut bytes) {
            let program = std::env::current_exe().expect("this program");
            let child = Command::new(program).args([CHILD, subject]).output().expect("this program runs");
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
            bytes.extend(String::from_utf8_lossy(&child.stdout).trim().parse::<f64>());
        }
    }
    for (subject, mut bytes) in SUBJECTS.iter().zip(bytes) {
        bytes.sort_by(f64::total_cmp);
        if !bytes.is_empty() {
            report_bytes("memory, 1,000,000 keys", subject, &bytes);
        }
    }
}

/// Prints what a subject takes for each key.
pub fn child(subject: &str) {
    let Some(before) = resident_bytes() else { return };
    match subject {
        "tidegate" => {
            let limiter = KeyedRateLimiter::new(Quota::per_second(PLENTY), KEYS).expect("a quota");
            fill(before, |key| limiter.try_acquire(key));
            black_box(&limiter);
        }
        _ => {
            let limiter = governor_keyed(PLENTY);
            fill(before, |key| limiter.check_key(&key).is_ok());
            black_box(&limiter);
        }
    }
}

fn fill(before: u64, admits: impl Fn(String) -> bool) {
    for number in 0..KEYS as usize {
        assert!(admits(crate::keyed::key(number)));
    }
    let after = resident_bytes().expect("told before");
    println!("{:.2}", (after - before) as f64 / KEYS as f64);
}

/// None where the system doesn't tell.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    kilobytes?.parse().ok().map(|kilobytes: u64| kilobytes * 1_024)
}
