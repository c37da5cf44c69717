//! Whoever brings fresh or crafted keys at will gains nothing by it.
//!
//! `keyed_full.rs` has floods that come before the victim asks again; here the victims ask on, while the flood runs
//! and while time passes.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tidegate::{Algorithm, Anchor, KeyedRateLimiter, KeyedRateOptions, ManualClock, Quota, Status, WhenFull};

const MINUTE: Duration = Duration::from_secs(60);

fn every_kind(limit: u64) -> [Quota; 4] {
    let quota = Quota::new(limit, MINUTE);
    [
        quota,
        quota.with_algorithm(Algorithm::FixedWindow),
        quota.with_algorithm(Algorithm::FixedWindow).with_anchor(Anchor::Clock),
        quota.with_algorithm(Algorithm::SlidingWindow),
    ]
}

fn limiter(quotas: &[Quota], max_keys: u64, when_full: WhenFull, clock: &ManualClock) -> KeyedRateLimiter {
    KeyedRateOptions::new().max_keys(max_keys).when_full(when_full).clock(clock).build(quotas).unwrap()
}

/// Asks until it is refused; how often it was admitted.
fn spend(limiter: &KeyedRateLimiter, key: &str) -> usize {
    (0..).take_while(|_| limiter.try_acquire(key)).count()
}

fn names(of: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{of} {number}")).collect()
}

#[test]
fn through_a_flood_that_goes_on_while_time_passes_each_victim_gets_what_it_would_get_alone() {
    const MAX_KEYS: usize = 200;
    let lists = [2, 3, 10].into_iter().flat_map(every_kind).map(|quota| vec![quota]);
    let two = vec![Quota::new(2, MINUTE), Quota::new(3, MINUTE * 2).with_algorithm(Algorithm::FixedWindow)];
    for quotas in lists.chain([two]) {
        let clock = ManualClock::new();
        let flooded = limiter(&quotas, MAX_KEYS as u64, WhenFull::Evict, &clock);
        let quiet = limiter(&quotas, MAX_KEYS as u64, WhenFull::Evict, &clock);
        let victims = names("victim", 20);
        // Two minutes and a half, so that windows end and buckets fill in between.
        for step in 0..10 {
            for victim in &victims {
                assert_eq!(spend(&flooded, victim), spend(&quiet, victim), "{quotas:?}, step {step}, {victim}");
            }
            let flood = names(&format!("flood {step}"), MAX_KEYS * 3);
            let mut statuses = vec![Status::Denied; flood.len()];
            flooded.try_acquire_many(&flood, 1, &mut statuses).unwrap();
            assert!(statuses.iter().all(|status| *status == Status::Allowed), "a flood is of new keys");
            for victim in &victims {
                assert!(!flooded.try_acquire(victim), "{quotas:?}, step {step}, {victim}");
            }
            clock.advance(MINUTE / 4);
        }
        assert!(flooded.stats().evicted_live > 0, "the flood was more than there is room for");
    }
}

/// Six threads bring fresh keys, each with `cost`; meanwhile two ask for the victims, whose budget is spent, again and again.
fn flood_on_six_threads(limiter: &KeyedRateLimiter, victims: &[String], cost: u64, keys_a_thread: usize) {
    let flooding = AtomicUsize::new(6);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let flooding = &flooding;
            scope.spawn(move || {
                for number in 0..keys_a_thread {
                    limiter.try_acquire_n(format!("flood {thread} {number}"), cost).unwrap();
                }
                flooding.fetch_sub(1, Ordering::Relaxed);
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while flooding.load(Ordering::Relaxed) > 0 {
                    for victim in victims {
                        assert!(!limiter.try_acquire(victim), "{limiter:?}: {victim} was freed");
                    }
                }
            });
        }
    });
    assert!(victims.iter().all(|victim| !limiter.try_acquire(victim)), "{limiter:?}: freed by the end");
}

#[test]
fn keys_that_ask_on_while_six_threads_flood_stay_refused() {
    for quota in [2, 3].into_iter().flat_map(every_kind) {
        let limiter = limiter(&[quota], 500, WhenFull::Evict, &ManualClock::new());
        let victims = names("victim", 30);
        assert!(victims.iter().all(|victim| spend(&limiter, victim) == quota.limit() as usize));
        flood_on_six_threads(&limiter, &victims, 1, 1_000);
        assert!(limiter.stats().evicted_live > 0, "{quota}");
    }
}

#[test]
fn with_deny_new_keys_stay_refused_while_six_threads_flood_at_full_burst() {
    for quota in [1, 2].into_iter().flat_map(every_kind) {
        let limiter = limiter(&[quota], 500, WhenFull::DenyNew, &ManualClock::new());
        let victims = names("victim", 30);
        assert!(victims.iter().all(|victim| spend(&limiter, victim) == quota.limit() as usize));
        flood_on_six_threads(&limiter, &victims, quota.limit(), 1_000);
        let stats = limiter.stats();
        assert_eq!(stats.evicted_live, 0, "{quota}");
        assert!(stats.live_keys >= 500, "{quota}: as many as there is room for are let in: {stats:?}");
    }
}

/// Lines of a table for `CRAFTED` keys, and the first few of them, where an attacker who knew the seed would put all.
const LINES: u64 = 625;
const TARGET_LINES: u64 = 25;
const CRAFTED: usize = 1_000;

/// The lines of a key as a table with the seed 0 would choose them.
fn lines_without_seed(key: &[u8]) -> [u64; 2] {
    let mut hasher = SipHasher13::new();
    hasher.write(key);
    let place = hasher.finish128().h1;
    let first = ((place >> 32) * LINES) >> 32;
    let other = ((place & 0xFFFF_FFFF) * (LINES - 1)) >> 32;
    [first, other + u64::from(other >= first)]
}

/// Sets of keys that an attacker would craft, of `CRAFTED` each.
fn crafted() -> [(&'static str, Vec<Vec<u8>>); 3] {
    let bytes = (0_u32..).map(|number| number.to_le_bytes().to_vec());
    let few_lines = bytes.clone().filter(|key| lines_without_seed(key).iter().all(|line| *line < TARGET_LINES));
    // "Aa" and "BB" are one to polynomial hashes by 31, such as Java's: so are all sequences of them.
    let pairs =
        (0..CRAFTED).map(|bits| (0..10).flat_map(move |bit| if bits >> bit & 1 == 0 { *b"Aa" } else { *b"BB" }));
    [
        ("colliding under SipHash without a seed", few_lines.take(CRAFTED).collect()),
        ("colliding under polynomial hashes", pairs.map(Iterator::collect).collect()),
        ("counted up", bytes.take(CRAFTED).collect()),
    ]
}

#[test]
fn crafted_keys_find_room_as_other_keys_do() {
    const SEEDS: u64 = 20;
    for (name, keys) in crafted() {
        let mut evicted = 0;
        for _ in 0..SEEDS {
            let limiter = limiter(&every_kind(2)[..1], CRAFTED as u64, WhenFull::Evict, &ManualClock::new());
            assert!(keys.iter().all(|key| limiter.try_acquire(key)));
            evicted += limiter.stats().evicted_live;
        }
        // For keys at random: at most 2 in 10,000. In 25 lines there would be room for 100 of each 1,000.
        assert!(evicted * 10_000 <= SEEDS * CRAFTED as u64 * 5, "{name}: {evicted} of {}", SEEDS * CRAFTED as u64);
    }
}

#[test]
fn crafted_keys_are_looked_up_as_fast_as_other_keys() {
    let nanos = |limiter: &KeyedRateLimiter, keys: &[Vec<u8>]| {
        let start = Instant::now();
        assert!(keys.iter().all(|key| limiter.try_acquire(key)));
        start.elapsed().as_nanos() as f64 / keys.len() as f64
    };
    let plenty = Quota::per_second(1_000_000_000);
    for (name, keys) in crafted() {
        let random: Vec<Vec<u8>> = {
            let mut hasher = SipHasher13::new();
            keys.iter()
                .map(|key| {
                    hasher.write(key);
                    let random = hasher.finish128().as_bytes();
                    random.into_iter().chain(random).take(key.len()).collect()
                })
                .collect()
        };
        let [ours, theirs] = [(); 2].map(|()| limiter(&[plenty], CRAFTED as u64, WhenFull::Evict, &ManualClock::new()));
        let (mut crafted, mut other) = (f64::MAX, f64::MAX);
        // In turns, the best of each: what else the machine does hits both.
        for _ in 0..100 {
            crafted = crafted.min(nanos(&ours, &keys));
            other = other.min(nanos(&theirs, &random));
        }
        // A chain of a thousand keys would take a hundred times as long.
        assert!(crafted < other * 1.5, "{name}: {crafted} ns against {other} ns");
    }
}
