//! Ten million keys that come once: memory stays flat, and the last million is decided as fast as the first.
//!
//! Takes half a minute without optimisation, so it is there with it alone: `cargo test --release -p tidegate --test one_shot_keys`.
#![cfg(not(any(loom, debug_assertions)))]
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};
use tidegate::{KeyedRateLimiter, KeyedRateOptions, ManualClock, Quota};

const MILLION: u64 = 1_000_000;
/// Few enough that a chunk is mostly over before the machine turns to something else.
const CHUNK: u64 = 1_000;

/// Brings fresh keys, a chunk at a time.
struct Stream {
    limiter: KeyedRateLimiter,
    clock: ManualClock,
    sent: u64,
}

impl Stream {
    /// A key owes for 10 ms and one comes each 100 ns: so 100,000 live at any time, a tenth of what there is room for.
    fn new() -> Self {
        let (clock, quota) = (ManualClock::new(), Quota::new(5, Duration::from_millis(50)));
        let limiter = KeyedRateOptions::new().max_keys(MILLION).clock(&clock).build(quota).unwrap();
        Self { limiter, clock, sent: 0 }
    }

    /// Nanoseconds that a chunk took.
    fn chunk(&mut self) -> u64 {
        let start = Instant::now();
        for _ in 0..CHUNK {
            let mut key = *b"client-00000000";
            key[7..].copy_from_slice(&self.sent.to_be_bytes());
            assert!(self.limiter.try_acquire(key), "a key that was never seen");
            self.sent += 1;
        }
        let nanos = start.elapsed().as_nanos() as u64;
        self.clock.advance_ns(100 * CHUNK);
        nanos
    }

    fn send(&mut self, keys: u64) {
        for _ in 0..keys / CHUNK {
            self.chunk();
        }
    }
}

#[test]
fn of_ten_million_keys_that_come_once_none_costs_more_memory_or_time_than_the_first_million() {
    let mut old = Stream::new();
    // The first million commits the pages.
    old.send(MILLION);
    let committed = resident_bytes();
    old.send(8 * MILLION);
    let resident = resident_bytes();
    assert!(resident <= committed + 4 * MILLION, "{resident} bytes against {committed}");

    // The tenth million takes turns with the second of a limiter that is new: so what else the machine does hits both.
    let mut new = Stream::new();
    new.send(MILLION);
    let (mut last, mut first) = (Vec::new(), Vec::new());
    for _ in 0..MILLION / CHUNK {
        last.push(old.chunk());
        first.push(new.chunk());
    }
    let median = |chunks: &mut Vec<u64>| *chunks.select_nth_unstable((MILLION / CHUNK / 2) as usize).1;
    let (last, first) = (median(&mut last), median(&mut first));
    assert!(last * 10 <= first * 12, "the last million: {last} ns a thousand against {first} ns");

    let stats = old.limiter.stats();
    assert_eq!((stats.allowed, stats.evicted_live), (10 * MILLION, 0));
    // Of 100,000, by a sample of 4,096 lines of 625,000, in which are some 650 of them: a standard deviation is 4 %, and this is six of them.
    assert!((76_000..=124_000).contains(&stats.live_keys), "{stats:?}");
}

/// 0 where that can't be told.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.unwrap_or(0) * 1_024
}
