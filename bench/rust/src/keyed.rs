//! A budget for each key, beside governor's with String keys.

use crate::PLENTY;
use crate::peers::governor_keyed;
use crate::rounds::{Case, report, together};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate::{KeyedRateLimiter, Quota, Status};

/// Keys as services have them: addresses with a port.
fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("203.0.{}.{}:{}", number / 256 % 256, number % 256, number)).collect()
}

/// A pseudo-random order, the same for all subjects (a linear congruential generator of full period).
fn order(count: usize) -> Vec<u32> {
    let mut state = 12_345_u64;
    (0..count.max(1 << 16))
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 32) * count as u64 >> 32) as u32
        })
        .collect()
}

/// Walks through an order, again and again.
struct Walk<'a> {
    keys: &'a [String],
    order: &'a [u32],
    at: Cell<usize>,
}

impl<'a> Walk<'a> {
    fn new(keys: &'a [String], order: &'a [u32]) -> Self {
        Self { keys, order, at: Cell::new(0) }
    }

    fn next(&self) -> &'a String {
        let at = self.at.get();
        self.at.set(if at + 1 == self.order.len() { 0 } else { at + 1 });
        &self.keys[self.order[at] as usize]
    }
}

pub fn gcra(rounds: usize) {
    for (count, name) in [(1, "1 key"), (1_000, "1,000 keys"), (100_000, "100,000 keys"), (1_000_000, "1,000,000 keys")]
    {
        let (keys, order) = (keys(count), order(count));
        let ours = KeyedRateLimiter::new(Quota::per_second(PLENTY), count.max(1_000) as u64).expect("a quota");
        let theirs = governor_keyed(PLENTY);
        for key in &keys {
            assert!(ours.try_acquire(key) && theirs.check_key(key).is_ok());
        }
        let walks = [(); 2].map(|()| Walk::new(&keys, &order));
        report(
            &format!("keyed gcra, {name}"),
            together(
                rounds,
                &mut [
                    Case::new("tidegate", 200_000, || assert!(black_box(&ours).try_acquire(walks[0].next()))),
                    Case::new("governor", 200_000, || assert!(black_box(&theirs).check_key(walks[1].next()).is_ok())),
                ],
            ),
        );
    }
    many(rounds);
}

/// A hundred keys in one call; the time is that of a hundred.
fn many(rounds: usize) {
    let keys = keys(100);
    let ours = KeyedRateLimiter::new(Quota::per_second(PLENTY), 1_000).expect("a quota");
    let mut statuses = [Status::Allowed; 100];
    report(
        "keyed gcra, 100 keys in one call",
        together(
            rounds,
            &mut [
                Case::new("tidegate", 2_000, || {
                    black_box(&ours).try_acquire_many(&keys, 1, &mut statuses).expect("as many statuses as keys");
                }),
                Case::new("tidegate single calls", 2_000, || {
                    for key in &keys {
                        assert!(black_box(&ours).try_acquire(key));
                    }
                }),
            ],
        ),
    );
}

/// Two threads on a thousand keys.
pub fn contended(rounds: usize) {
    let (keys, order) = (keys(1_000), order(1_000));
    let ours = KeyedRateLimiter::new(Quota::per_second(PLENTY), 1_000).expect("a quota");
    let theirs = governor_keyed(PLENTY);
    let start = AtomicUsize::new(0);
    thread_local! { static AT: Cell<usize> = const { Cell::new(usize::MAX) } }
    // Each thread begins elsewhere.
    let next = || {
        let at = AT.get();
        let at = if at == usize::MAX { start.fetch_add(7_919, Ordering::Relaxed) } else { at + 1 } % order.len();
        AT.set(at);
        &keys[order[at] as usize]
    };
    report(
        "keyed gcra, 1,000 keys, 2 threads",
        together(
            rounds,
            &mut [
                Case::contended("tidegate", 500_000, 2, || assert!(ours.try_acquire(next()))),
                Case::contended("governor", 500_000, 2, || assert!(theirs.check_key(next()).is_ok())),
            ],
        ),
    );
}
