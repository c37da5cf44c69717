//! Every interleaving of small programs that wait: `RUSTFLAGS="--cfg loom" cargo test --release --test loom_wait`.
//!
//! Who waits is told by a listener, and a permit that is granted is given back there and then: so at the end of each program all
//! must be back, nobody may wait, and each wait has had exactly one end.
#![cfg(loom)]
#![allow(clippy::unwrap_used)]

use loom::thread;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tidegate::{ConcurrencyLimiter, ConcurrencyOptions, Event, ManualClock, RateLimiter, Started, Status, Ticket};

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 20_000;
    builder.check(run);
}

/// How often a wait had an end, and which.
#[derive(Clone, Default)]
struct Ends(Arc<(AtomicU32, Mutex<Option<&'static str>>)>);

impl Ends {
    fn with(&self, end: &'static str) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        *self.0.1.lock().unwrap() = Some(end);
    }

    fn only(&self) -> &'static str {
        assert_eq!(self.0.0.load(Ordering::Relaxed), 1, "one end");
        self.0.1.lock().unwrap().unwrap()
    }
}

/// Asks for one permit; what is granted is released at once.
fn asks(limiter: &Arc<ConcurrencyLimiter>, timeout: Option<Duration>) -> (Ends, Option<Ticket>) {
    let ends = Ends::default();
    let there = (ends.clone(), Arc::downgrade(limiter));
    let release = |limiter: &Weak<ConcurrencyLimiter>, permit| {
        if let Some(limiter) = limiter.upgrade() {
            limiter.release(&permit, true).unwrap();
        }
    };
    let started = limiter.acquire_by_ticket(1, timeout, move |event| match event {
        Event::Granted(permit) => {
            there.0.with("granted");
            release(&there.1, permit);
        }
        Event::Refused(status) => there.0.with(status.name()),
        Event::PollAgain => {}
    });
    match started.unwrap() {
        Started::Granted(permit) => {
            ends.with("granted");
            limiter.release(&permit, true).unwrap();
            (ends, None)
        }
        Started::Refused(status) => {
            ends.with(status.name());
            (ends, None)
        }
        Started::Pending { ticket, .. } => (ends, Some(ticket)),
    }
}

fn releases(limiter: &Arc<ConcurrencyLimiter>) -> thread::JoinHandle<()> {
    let permit = limiter.try_acquire_raw(1).unwrap().unwrap();
    let limiter = Arc::clone(limiter);
    thread::spawn(move || limiter.release(&permit, true).unwrap())
}

fn assert_at_rest(limiter: &ConcurrencyLimiter, limit: u64) {
    let found = (limiter.in_flight(), limiter.waiting(), limiter.available());
    assert_eq!(found, (0, 0, limit));
}

#[test]
fn release_against_enqueue_loses_no_permit_and_no_waiter() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let releaser = releases(&limiter);
        let asker = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || asks(&limiter, None).0)
        };
        let (ends, _) = asks(&limiter, None);
        releaser.join().unwrap();
        let others = asker.join().unwrap();
        assert_eq!((ends.only(), others.only()), ("granted", "granted"));
        assert_at_rest(&limiter, 1);
    });
}

#[test]
fn grant_against_cancel_has_one_winner() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let held = limiter.try_acquire_raw(1).unwrap().unwrap();
        let (first, ticket) = asks(&limiter, None);
        let (second, _) = asks(&limiter, None);
        let releaser = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || limiter.release(&held, true).unwrap())
        };
        let cancelled = limiter.cancel_ticket(ticket.unwrap()).unwrap();
        releaser.join().unwrap();
        assert_eq!(first.only(), if cancelled { "cancelled" } else { "granted" });
        assert_eq!(second.only(), "granted");
        assert_at_rest(&limiter, 1);
    });
}

#[test]
fn grant_against_timeout_has_one_winner() {
    model(|| {
        let clock = ManualClock::new();
        let limiter = Arc::new(ConcurrencyOptions::new().clock(&clock).build(1).unwrap());
        let releaser = releases(&limiter);
        let (first, ticket) = asks(&limiter, Some(Duration::from_secs(1)));
        let mover = thread::spawn(move || clock.advance(Duration::from_secs(1)));
        let (second, _) = asks(&limiter, None);
        releaser.join().unwrap();
        mover.join().unwrap();
        if let Some(ticket) = ticket {
            assert_eq!(limiter.poll_ticket(ticket).unwrap(), None);
        }
        assert!(["granted", "timed_out"].contains(&first.only()));
        assert_eq!(second.only(), "granted");
        assert_at_rest(&limiter, 1);
    });
}

#[test]
fn close_against_enqueue_leaves_nobody_waiting() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let releaser = releases(&limiter);
        let closer = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || limiter.close())
        };
        let (ends, _) = asks(&limiter, None);
        releaser.join().unwrap();
        closer.join().unwrap();
        assert!(["granted", "closed"].contains(&ends.only()));
        assert_at_rest(&limiter, 0);
        assert_eq!(limiter.try_acquire_raw(1).unwrap(), Err(Status::Closed));
    });
}

#[test]
fn resize_against_release_grants_what_there_is() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let releaser = releases(&limiter);
        let (first, _) = asks(&limiter, None);
        let sizer = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || {
                limiter.set_limit(0).unwrap();
                limiter.set_limit(2).unwrap();
            })
        };
        let (second, _) = asks(&limiter, None);
        releaser.join().unwrap();
        sizer.join().unwrap();
        assert_eq!((first.only(), second.only()), ("granted", "granted"));
        assert_at_rest(&limiter, 2);
    });
}

#[test]
fn nobody_overtakes_who_waits() {
    model(|| {
        let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
        let held = limiter.try_acquire_raw(1).unwrap().unwrap();
        let granted = Arc::new(Mutex::new(None));
        let listener = {
            let granted = Arc::clone(&granted);
            move |event| {
                if let Event::Granted(permit) = event {
                    *granted.lock().unwrap() = Some(permit);
                }
            }
        };
        assert!(matches!(limiter.acquire_by_ticket(1, None, listener).unwrap(), Started::Pending { .. }));
        let tries = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || limiter.try_acquire().is_some())
        };
        limiter.release(&held, true).unwrap();
        assert!(!tries.join().unwrap());
        let permit = granted.lock().unwrap().take().unwrap();
        limiter.release(&permit, true).unwrap();
        assert_at_rest(&limiter, 1);
    });
}

#[test]
fn a_token_that_comes_due_goes_to_who_waits() {
    model(|| {
        let clock = ManualClock::new();
        let limiter = Arc::new(RateLimiter::with_clock("1/s", &clock).unwrap());
        assert!(limiter.try_acquire());
        let ends = Ends::default();
        let there = ends.clone();
        let listener = move |event| match event {
            Event::Granted(()) => there.with("granted"),
            Event::Refused(status) => there.with(status.name()),
            Event::PollAgain => {}
        };
        let started = limiter.acquire_by_ticket(1, None, listener).unwrap();
        assert!(matches!(started, Started::Pending { .. }));
        let tries = {
            let limiter = Arc::clone(&limiter);
            thread::spawn(move || limiter.try_acquire())
        };
        clock.advance(Duration::from_secs(1));
        assert!(!tries.join().unwrap(), "who waits is served first, and then there is none");
        assert_eq!(ends.only(), "granted");
        assert_eq!((limiter.peek().remaining(), limiter.waiting()), (0, 0));
    });
}
