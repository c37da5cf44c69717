//! What becomes of permits.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tidegate::{ConcurrencyLimiter, ConcurrencyOptions, ManualClock, RawPermit, Status};

#[test]
fn work_that_panics_counts_as_failed_and_gives_its_permits_back() {
    let limiter = Arc::new(ConcurrencyLimiter::new(2).unwrap());
    for owned in [false, true] {
        let work = || {
            let _borrowed = if owned { None } else { limiter.try_acquire() };
            let _owned = if owned { limiter.try_acquire_owned(1).unwrap() } else { None };
            assert_eq!(limiter.in_flight(), 1);
            panic!("the work's own");
        };
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
    }
    let stats = limiter.stats();
    assert_eq!((stats.released_ok, stats.released_failed, stats.in_flight), (0, 2, 0));
}

#[test]
fn releases_tell_what_they_were_told_and_drops_that_all_went_well() {
    let limiter = Arc::new(ConcurrencyLimiter::new(5).unwrap());
    limiter.try_acquire().unwrap().release(false);
    limiter.try_acquire_owned(2).unwrap().unwrap().release(false);
    limiter.try_acquire().unwrap().release(true);
    drop(limiter.try_acquire_owned(3).unwrap());
    let stats = limiter.stats();
    assert_eq!((stats.released_ok, stats.released_failed, stats.in_flight), (2, 2, 0));
}

#[test]
fn what_is_not_held_is_not_given_back() {
    let (limiter, other) = (ConcurrencyLimiter::new(3).unwrap(), ConcurrencyLimiter::new(3).unwrap());
    let permit = limiter.try_acquire_raw(2).unwrap().unwrap();
    assert_eq!(other.release(&permit, true).unwrap_err().status(), Status::InvalidPermit);
    for permits in [0, 3, u64::MAX] {
        let forged = RawPermit { permits, ..permit };
        assert_eq!(limiter.release(&forged, true).unwrap_err().argument(), "permit");
    }
    assert_eq!(limiter.in_flight(), 2);
    limiter.release(&permit, true).unwrap();
    assert_eq!(limiter.release(&permit, true).unwrap_err().argument(), "permit");
    assert_eq!((limiter.in_flight(), limiter.stats().released_ok), (0, 1));
}

#[test]
fn a_permit_moves_to_another_thread_and_outlives_its_handle_to_the_limiter() {
    let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
    let permit = limiter.try_acquire_owned(1).unwrap().unwrap();
    let watched = Arc::downgrade(&limiter);
    drop(limiter);
    std::thread::spawn(move || drop(permit)).join().unwrap();
    assert!(watched.upgrade().is_none());
}

#[test]
fn hold_times_are_those_of_the_clock() {
    let clock = ManualClock::new();
    let limiter = ConcurrencyOptions::new().track_hold_time(true).clock(&clock).build(2).unwrap();
    let (long, short) = (limiter.try_acquire().unwrap(), limiter.try_acquire().unwrap());
    clock.advance_ns(30);
    drop(short);
    clock.advance_ns(70);
    drop(long);
    let stats = limiter.stats();
    assert_eq!(stats.hold_time_total, Duration::from_nanos(130));
    assert_eq!(stats.hold_time_max, Duration::from_nanos(100));
}

#[test]
fn a_raw_permit_that_is_released_twice_takes_anothers_place_and_breaks_nothing() {
    let limiter = ConcurrencyLimiter::new(2).unwrap();
    let held = limiter.try_acquire().unwrap();
    let raw = limiter.try_acquire_raw(1).unwrap().unwrap();
    limiter.release(&raw, true).unwrap();
    limiter.release(&raw, true).unwrap();
    drop(held);
    assert_eq!((limiter.limit(), limiter.in_flight(), limiter.available()), (2, 0, 2));
}
