//! Ten million keys that come once: resident memory stays flat, and the last million is decided as fast as the first.
//!
//! `cargo run --release --example one_shot_keys`; ends with an error if it isn't so.

use std::time::{Duration, Instant};
use tidegate::{KeyedRateLimiter, Quota};

const MILLION: u64 = 1_000_000;

fn main() {
    let limiter =
        KeyedRateLimiter::new(Quota::new(5, Duration::from_millis(50)), 1_000_000).expect("a quota that fits");
    let mut key = *b"10.000.000.000:client-00000000";
    let mut rounds = Vec::new();
    for round in 0..10 {
        let start = Instant::now();
        for number in round * MILLION..(round + 1) * MILLION {
            key[22..].copy_from_slice(&number.to_be_bytes());
            assert!(limiter.try_acquire(key), "a key that was never seen");
        }
        let ns = start.elapsed().as_nanos() as f64 / MILLION as f64;
        println!("million {:>2}: {ns:6.1} ns a call, resident {:>4} MB", round + 1, resident_bytes() / MILLION);
        rounds.push((ns, resident_bytes()));
    }
    println!("{:?}", limiter.stats());
    // The first million commits the pages: the second is the first that can be compared.
    let ((early, committed), (late, resident)) = (rounds[1], rounds[9]);
    assert!(late < early * 1.2, "throughput of the last million: {late} ns against {early} ns");
    assert!(resident <= committed + 8 * MILLION, "memory: {resident} against {committed} bytes");
}

/// 0 where that can't be told.
fn resident_bytes() -> u64 {
    let pages = |text: String| text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    std::fs::read_to_string("/proc/self/statm").ok().and_then(pages).unwrap_or(0) * 4_096
}
