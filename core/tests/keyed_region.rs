//! Tables of keys in memory of the caller's.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::mem::MaybeUninit;
use tidegate::{KeyedRateLimiter, KeyedRateOptions, ManualClock, Status, WhenFull};

/// For 3 keys of two quotas: two tables of two lines.
const SIZE: usize = 256;

/// Full of something, and longer than need be.
#[repr(align(64))]
struct Region([MaybeUninit<u8>; SIZE + 64]);

fn region() -> &'static mut [MaybeUninit<u8>] {
    &mut Box::leak(Box::new(Region([MaybeUninit::new(0xA5); SIZE + 64]))).0
}

fn options() -> KeyedRateOptions {
    KeyedRateOptions::new().max_keys(3).when_full(WhenFull::DenyNew).clock(ManualClock::new())
}

#[test]
fn a_limiter_in_a_region_decides_as_one_in_memory_of_its_own() {
    assert_eq!(KeyedRateLimiter::region_size(3, 2), Ok(SIZE));
    for size in [SIZE, SIZE + 64] {
        let lent = options().build_in("3/s; 5/h", &mut region()[..size]).unwrap();
        let own = options().build("3/s; 5/h").unwrap();
        for key in (0..40_u32).map(|number| (number % 10).to_le_bytes()) {
            let (lent, own) = (lent.decide(key), own.decide(key));
            assert_eq!((lent.status(), lent.remaining()), (own.status(), own.remaining()));
        }
        assert_eq!((lent.len(), lent.stats()), (8, own.stats()));
        lent.reconfigure("5/s; 5/h").unwrap();
        assert_eq!(lent.peek(0_u32.to_le_bytes()).remaining(), 2);
    }
}

#[test]
fn a_limiter_uses_no_more_of_a_region_than_it_asks_for() {
    let region = region();
    let start = region.as_ptr();
    drop(options().build_in("3/s; 5/h", region).unwrap());
    // SAFETY: the limiter is gone, and what it was lent was leaked.
    let rest = unsafe { std::slice::from_raw_parts(start.add(SIZE).cast::<u8>(), 64) };
    assert_eq!(rest, [0xA5; 64]);
}

#[test]
fn a_region_that_is_too_small_or_not_aligned_is_refused_by_name() {
    for (region, got) in [(&mut region()[..SIZE - 1], "255 bytes"), (&mut region()[16..], "304 bytes")] {
        let error = options().build_in("3/s; 5/h", region).unwrap_err();
        assert_eq!((error.argument(), error.status()), ("region", Status::InvalidMemory));
        assert!(error.value().starts_with(got), "{error}");
        assert_eq!(error.allowed(), "256 bytes at an address that is a multiple of 64");
    }
    let argument = |max_keys, quotas| KeyedRateLimiter::region_size(max_keys, quotas).unwrap_err().argument();
    assert_eq!((argument(0, 1), argument(1, 0), argument(1, 17)), ("max_keys", "quotas", "quotas"));
}

#[test]
fn a_region_takes_at_most_42_bytes_for_each_key() {
    for max_keys in [100, 1_000, 1_000_000, 1 << 32] {
        assert!(KeyedRateLimiter::region_size(max_keys, 1).unwrap() as u64 <= 42 * max_keys);
    }
}
