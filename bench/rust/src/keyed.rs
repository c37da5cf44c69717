//! A budget for each key, beside governor's with String keys.

use crate::PLENTY;
use crate::order::Order;
use crate::peers::{KeyedGovernor, governor_keyed, nonzero};
use crate::rounds::{Case, report, together};
use governor::RateLimiter;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidegate::{KeyedRateLimiter, Quota, Status};

/// A key as services have them: an address with a port.
pub fn key(number: usize) -> String {
    format!("203.0.{}.{}:{}", number / 256 % 256, number % 256, number)
}

fn keys(count: usize) -> Vec<String> {
    (0..count).map(key).collect()
}

/// Both admit the burst of each key and no more, before anything is timed.
pub fn same_work() {
    const BURST: u64 = 10;
    let ours = KeyedRateLimiter::new(Quota::per_hour(BURST), 1_000).expect("a quota");
    let theirs = RateLimiter::keyed(governor::Quota::per_hour(nonzero(BURST)));
    for key in keys(1_000) {
        let ours = (0..20).filter(|_| ours.try_acquire(&key)).count();
        let theirs = (0..20).filter(|_| theirs.check_key(&key).is_ok()).count();
        assert_eq!((ours, theirs), (BURST as usize, BURST as usize), "{key}");
    }
}

pub fn gcra(rounds: usize) {
    for (count, name) in [(1, "1 key"), (1_000, "1,000 keys"), (100_000, "100,000 keys"), (1_000_000, "1,000,000 keys")]
    {
        let ours = KeyedRateLimiter::new(Quota::per_second(PLENTY), count.max(1_000) as u64).expect("a quota");
        let theirs = governor_keyed(PLENTY);
        for key in (0..count).map(key) {
            assert!(ours.try_acquire(&key) && theirs.check_key(&key).is_ok());
        }
        in_order(&format!("keyed gcra, {name}"), rounds, &ours, &theirs, || Order::uniform(count));
        if count > 1 {
            in_order(&format!("keyed gcra, {name}, Zipf"), rounds, &ours, &theirs, || Order::zipf(count));
        }
    }
    many(rounds);
}

fn in_order(case: &str, rounds: usize, ours: &KeyedRateLimiter, theirs: &KeyedGovernor, order: impl Fn() -> Order) {
    let [mut our_order, mut their_order] = [order(), order()];
    report(
        case,
        together(
            rounds,
            &mut [
                Case::prepared(
                    "tidegate",
                    200_000,
                    || key(our_order.next()),
                    |key| assert!(black_box(ours).try_acquire(key)),
                ),
                Case::prepared(
                    "governor",
                    200_000,
                    || key(their_order.next()),
                    |key| assert!(black_box(theirs).check_key(key).is_ok()),
                ),
            ],
        ),
    );
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

/// Two threads on a thousand keys, each of which begins elsewhere.
pub fn contended(rounds: usize) {
    let keys = keys(1_000);
    let mut order = Order::uniform(keys.len());
    let order: Vec<usize> = (0..1 << 16).map(|_| order.next()).collect();
    let ours = KeyedRateLimiter::new(Quota::per_second(PLENTY), 1_000).expect("a quota");
    let theirs = governor_keyed(PLENTY);
    let start = AtomicUsize::new(0);
    let walk = || {
        let mut at = start.fetch_add(7_919, Ordering::Relaxed);
        let (keys, order) = (&keys, &order);
        move || {
            at = (at + 1) % order.len();
            &keys[order[at]]
        }
    };
    report(
        "keyed gcra, 1,000 keys, 2 threads",
        together(
            rounds,
            &mut [
                Case::contended("tidegate", 500_000, 2, || {
                    let (ours, mut next) = (&ours, walk());
                    move || assert!(ours.try_acquire(next()))
                }),
                Case::contended("governor", 500_000, 2, || {
                    let (theirs, mut next) = (&theirs, walk());
                    move || assert!(theirs.check_key(next()).is_ok())
                }),
            ],
        ),
    );
}
