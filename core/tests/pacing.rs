//! Pacing: the leaky bucket as a queue, as web servers know it, and the settings that admit the same calls at the same times.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidegate::{ManualClock, Quota, RateLimiter, Started};

/// `rate=1r/TOKEN burst=BURST delay=FREE`: each call is a drop in a bucket that leaks one drop a token. One that would find `burst` in it
/// is refused; the others go ahead once no more than `free` are before them. (No `delay` is `delay=0`, `nodelay` is all of `burst`.)
struct LeakyBucket {
    token_ns: u64,
    burst: usize,
    free: u64,
    /// When each drop leaves.
    leaves: Vec<u64>,
}

impl LeakyBucket {
    /// When a call that comes now goes ahead; `None`: refused.
    fn call(&mut self, now: u64) -> Option<u64> {
        if self.leaves.iter().filter(|leaves| **leaves > now).count() >= self.burst {
            return None;
        }
        let leaves = self.leaves.last().map_or(now, |last| now.max(last + self.token_ns));
        self.leaves.push(leaves);
        Some(now.max(leaves.saturating_sub(self.free * self.token_ns)))
    }
}

/// The same: a burst of `free + 1`, and a wait of at most so many tokens as there are places left.
struct Paced {
    clock: ManualClock,
    limiter: RateLimiter,
    longest_wait: Duration,
    /// The calls that went ahead, and when.
    ahead: Arc<Mutex<Vec<(usize, u64)>>>,
}

impl Paced {
    fn new(token_ns: u64, burst: u64, free: u64) -> Self {
        let clock = ManualClock::new();
        let quota = Quota::new(1, Duration::from_nanos(token_ns)).with_burst(free + 1);
        Self {
            limiter: RateLimiter::with_clock(quota, &clock).unwrap(),
            clock,
            longest_wait: Duration::from_nanos((burst - free) * token_ns),
            ahead: Arc::default(),
        }
    }

    /// Whether it is admitted, at once or later.
    fn call(&self, number: usize, now: u64) -> bool {
        let (ahead, clock) = (self.ahead.clone(), tidegate::Clock::from(&self.clock));
        let listener = move |event| {
            if matches!(event, tidegate::Event::Granted(())) {
                ahead.lock().unwrap().push((number, clock.now_ns()));
            }
        };
        match self.limiter.acquire_by_ticket(1, Some(self.longest_wait), listener).unwrap() {
            Started::Granted(()) => {
                self.ahead.lock().unwrap().push((number, now));
                true
            }
            Started::Pending { .. } => true,
            Started::Refused(_) => false,
        }
    }
}

/// Calls at these times; both must admit the same ones, at the same times to the nanosecond.
fn assert_same(token_ns: u64, burst: u64, free: u64, calls: &[u64]) {
    let mut bucket = LeakyBucket { token_ns, burst: burst as usize, free, leaves: Vec::new() };
    let wanted: Vec<_> = calls.iter().map(|at| bucket.call(*at)).collect();
    let paced = Paced::new(token_ns, burst, free);
    // The clock stops a nanosecond before each call that goes ahead, too: so that none does early.
    let ahead = wanted.iter().flatten().flat_map(|at| [at.saturating_sub(1), *at]);
    let mut next = 0;
    for now in calls.iter().copied().chain(ahead).collect::<BTreeSet<u64>>() {
        paced.clock.set_ns(now);
        while next < calls.len() && calls[next] == now {
            assert_eq!(paced.call(next, now), wanted[next].is_some(), "call {next} at {now} of {calls:?}");
            next += 1;
        }
    }
    let wanted: Vec<_> = wanted.iter().enumerate().filter_map(|(call, at)| at.map(|at| (call, at))).collect();
    let mut ahead = paced.ahead.lock().unwrap().clone();
    ahead.sort_unstable();
    assert_eq!(ahead, wanted);
}

/// Calls that come in clusters, some at the very times at which drops leave.
fn random_calls(seed: u64, token_ns: u64, count: usize) -> Vec<u64> {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += match random(8) {
                0..=3 => 0,
                4 => token_ns,
                5 => random(token_ns) + 1,
                6 => token_ns * random(4),
                _ => random(8 * token_ns),
            };
            now
        })
        .collect()
}

const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn with_delay_each_call_goes_ahead_a_second_after_the_one_before() {
    let calls = [0; 25];
    assert_same(SECOND_NS, 20, 0, &calls);
    let mut bucket = LeakyBucket { token_ns: SECOND_NS, burst: 20, free: 0, leaves: Vec::new() };
    let ahead: Vec<_> = calls.iter().map(|at| bucket.call(*at)).collect();
    assert_eq!(
        (ahead[0], ahead[20], ahead[21]),
        (Some(0), Some(20 * SECOND_NS), None),
        "one served and twenty in line"
    );
}

#[test]
fn without_delay_the_same_calls_go_ahead_at_once() {
    let calls = [0; 25];
    assert_same(SECOND_NS, 20, 20, &calls);
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock("1/s burst 21", &clock).unwrap();
    assert_eq!(calls.iter().filter(|_| limiter.try_acquire()).count(), 21);
}

#[test]
fn random_calls_go_ahead_at_the_same_times() {
    for seed in 0..300 {
        for (burst, free) in [(20, 0), (20, 20), (20, 8), (1, 0), (1, 1), (3, 2)] {
            let token_ns = [SECOND_NS, 7, 333_333_333][seed as usize % 3];
            assert_same(token_ns, burst, free, &random_calls(seed, token_ns, 120));
        }
    }
}
