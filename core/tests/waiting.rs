//! Waiting, on the manual clock where time matters: who goes first, what a timeout means, what leaving does.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidegate::{
    ConcurrencyLimiter, ConcurrencyOptions, Event, ManualClock, NEVER_NS, RateLimiter, RateOptions, RawPermit, Started,
    Status, Ticket,
};

const SECOND: Duration = Duration::from_secs(1);

/// What listeners were told, in order, by the name of the wait.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(char, String)>>>);

impl Told {
    fn take(&self) -> Vec<(char, String)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn names(&self) -> String {
        self.take().iter().filter(|(_, event)| event == "granted").map(|(name, _)| *name).collect()
    }

    fn tell<T>(&self, name: char, event: &Event<T>) {
        let event = match event {
            Event::Granted(_) => "granted",
            Event::Refused(status) => status.name(),
            Event::PollAgain => return,
        };
        self.0.lock().unwrap().push((name, event.to_owned()));
    }
}

fn told(events: &[(char, &str)]) -> Vec<(char, String)> {
    events.iter().map(|(name, event)| (*name, (*event).to_owned())).collect()
}

fn pending<T: std::fmt::Debug>(started: Started<T>) -> (Ticket, u64) {
    match started {
        Started::Pending { ticket, wake_after_ns } => (ticket, wake_after_ns),
        other => panic!("{other:?}"),
    }
}

struct Permits {
    limiter: Arc<ConcurrencyLimiter>,
    told: Told,
    granted: Arc<Mutex<Vec<RawPermit>>>,
}

impl Permits {
    fn new(limiter: ConcurrencyLimiter) -> Self {
        Self { limiter: Arc::new(limiter), told: Told::default(), granted: Arc::default() }
    }

    fn wait(&self, name: char, permits: u64, timeout: Option<Duration>) -> Started<RawPermit> {
        let (told, granted) = (self.told.clone(), self.granted.clone());
        let listener = move |event| {
            told.tell(name, &event);
            if let Event::Granted(permit) = event {
                granted.lock().unwrap().push(permit);
            }
        };
        self.limiter.acquire_by_ticket(permits, timeout, listener).unwrap()
    }

    fn hold(&self, permits: u64) -> RawPermit {
        self.limiter.try_acquire_raw(permits).unwrap().unwrap()
    }

    fn release(&self, permit: RawPermit) {
        self.limiter.release(&permit, true).unwrap();
    }

    /// Gives back what was granted, until nothing more is.
    fn drain(&self) {
        loop {
            let Some(permit) = self.granted.lock().unwrap().pop() else { break };
            self.release(permit);
        }
        assert_eq!((self.limiter.in_flight(), self.limiter.waiting()), (0, 0));
        assert_eq!(self.limiter.available(), self.limiter.limit());
    }
}

#[test]
fn whoever_waits_first_is_granted_first_and_nobody_overtakes() {
    let permits = Permits::new(ConcurrencyLimiter::new(1).unwrap());
    let held = permits.hold(1);
    for name in ['a', 'b', 'c'] {
        pending(permits.wait(name, 1, None));
    }
    assert_eq!(permits.limiter.waiting(), 3);
    permits.release(held);
    assert_eq!(permits.told.names(), "a");
    // The permit was handed over, whether or not `a` runs already.
    assert!(permits.limiter.try_acquire().is_none());
    assert_eq!(permits.limiter.available(), 0);
    permits.drain();
    assert_eq!(permits.told.names(), "bc");
}

#[test]
fn who_gave_up_is_passed_over() {
    let permits = Permits::new(ConcurrencyOptions::new().clock(ManualClock::new()).build(1).unwrap());
    let held = permits.hold(1);
    let (head, _) = pending(permits.wait('a', 1, None));
    pending(permits.wait('b', 1, None));
    assert!(permits.limiter.cancel_ticket(head).unwrap());
    assert_eq!(permits.told.take(), told(&[('a', "cancelled")]));
    permits.release(held);
    assert_eq!(permits.told.names(), "b");
    assert!(!permits.limiter.cancel_ticket(head).unwrap(), "too late");
    permits.drain();
    assert!(permits.limiter.try_acquire().is_some(), "whoever comes after all have left is served at once");
    assert_eq!(permits.limiter.stats().cancelled, 1);
}

#[test]
fn a_timeout_ends_the_wait_and_nothing_is_left_behind() {
    let clock = ManualClock::new();
    let permits = Permits::new(ConcurrencyOptions::new().clock(&clock).build(1).unwrap());
    let held = permits.hold(1);
    let (_, wake_after_ns) = pending(permits.wait('a', 1, Some(SECOND)));
    assert_eq!(wake_after_ns, 1_000_000_000);
    pending(permits.wait('b', 1, Some(2 * SECOND)));
    pending(permits.wait('c', 1, None));
    clock.advance(SECOND);
    assert_eq!(permits.told.take(), told(&[('a', "timed_out")]));
    permits.release(held);
    assert_eq!(permits.told.names(), "b");
    permits.drain();
    assert_eq!(permits.told.names(), "c");
    assert_eq!(permits.limiter.stats().timed_out, 1);
}

#[test]
fn a_timer_that_is_late_takes_nothing_from_who_stood_behind() {
    let clock = ManualClock::new();
    let permits = Permits::new(ConcurrencyOptions::new().clock(&clock).track_hold_time(true).build(2).unwrap());
    let _held = permits.hold(1);
    pending(permits.wait('a', 2, Some(SECOND)));
    pending(permits.wait('b', 1, Some(2 * SECOND)));
    // `a` left after one second, and then `b` could go ahead: in time, though nobody looked until now.
    clock.advance(5 * SECOND);
    assert_eq!(permits.told.take(), told(&[('a', "timed_out"), ('b', "granted")]));
    permits.release(permits.granted.lock().unwrap().pop().unwrap());
    assert_eq!(permits.limiter.stats().hold_time_total, 4 * SECOND);
}

#[test]
fn a_timeout_of_nothing_tries_once() {
    let limiter = ConcurrencyLimiter::new(1).unwrap();
    let permit = limiter.acquire(Duration::ZERO).unwrap();
    assert_eq!(limiter.acquire(Duration::ZERO).unwrap_err().status(), Status::TimedOut);
    drop(permit);
    assert!(limiter.acquire(Duration::ZERO).is_ok());
}

#[test]
fn a_heavy_waiter_is_not_starved_by_light_ones() {
    let permits = Permits::new(ConcurrencyLimiter::new(10).unwrap());
    let held: Vec<RawPermit> = (0..10).map(|_| permits.hold(1)).collect();
    pending(permits.wait('h', 8, None));
    pending(permits.wait('l', 1, None));
    for (index, permit) in held.into_iter().enumerate() {
        assert!(permits.limiter.try_acquire().is_none());
        permits.release(permit);
        let expected = match index {
            7 => "h",
            8 => "l",
            _ => "",
        };
        assert_eq!(permits.told.names(), expected, "after release {index}");
    }
    permits.drain();
}

#[test]
fn two_that_want_all_take_turns_and_one_that_wants_more_is_refused_at_once() {
    let permits = Permits::new(ConcurrencyLimiter::new(5).unwrap());
    let first = permits.hold(5);
    pending(permits.wait('b', 5, None));
    assert_eq!(permits.wait('x', 6, None), Started::Refused(Status::ExceedsCapacity));
    permits.release(first);
    assert_eq!(permits.told.names(), "b");
    permits.drain();
}

#[test]
fn the_limit_changes_under_who_waits() {
    let permits = Permits::new(ConcurrencyLimiter::new(2).unwrap());
    let held = [permits.hold(1), permits.hold(1)];
    permits.limiter.set_limit(1).unwrap();
    pending(permits.wait('a', 1, None));
    permits.limiter.set_limit(2).unwrap();
    assert_eq!(permits.told.names(), "", "both are still out");
    pending(permits.wait('b', 2, None));
    permits.limiter.set_limit(1).unwrap();
    assert_eq!(permits.told.take(), told(&[('b', "exceeds_capacity")]), "it can't be had any more");
    held.into_iter().for_each(|permit| permits.release(permit));
    assert_eq!(permits.told.take(), told(&[('a', "granted")]));
    permits.drain();
    permits.limiter.set_limit(0).unwrap();
    pending(permits.wait('c', 1, None));
    permits.limiter.set_limit(3).unwrap();
    assert_eq!(permits.told.names(), "c", "a limit of 0 is a pause");
    permits.drain();
}

#[test]
fn closing_ends_all_waits_for_ever() {
    let permits = Permits::new(ConcurrencyLimiter::new(1).unwrap());
    let held = permits.hold(1);
    for name in ['a', 'b'] {
        pending(permits.wait(name, 1, None));
    }
    permits.limiter.close();
    assert_eq!(permits.told.take(), told(&[('a', "closed"), ('b', "closed")]));
    permits.limiter.set_limit(5).unwrap();
    assert_eq!(permits.limiter.acquire(None).unwrap_err().status(), Status::Closed);
    assert_eq!(permits.limiter.try_acquire_raw(1).unwrap(), Err(Status::Closed));
    assert_eq!(permits.limiter.available(), 0);
    permits.release(held);
    assert_eq!(permits.limiter.in_flight(), 0);
    assert!(permits.limiter.is_closed());
}

#[test]
fn no_more_wait_than_may() {
    let permits = Permits::new(ConcurrencyOptions::new().max_waiters(1).build(1).unwrap());
    let held = permits.hold(1);
    pending(permits.wait('a', 1, None));
    assert_eq!(permits.wait('b', 1, None), Started::Refused(Status::QueueFull));
    permits.release(held);
    permits.drain();
    let none = ConcurrencyOptions::new().max_waiters(0).build(1).unwrap();
    let _held = none.try_acquire();
    let refused = none.acquire(None).unwrap_err();
    assert_eq!(refused.status(), Status::QueueFull);
    assert!(refused.to_string().ends_with(": limit 1, 1 in flight, 0 waiting"), "{refused}");
}

#[test]
fn what_can_never_be_had_is_told_with_the_most_that_can() {
    let text = |refused: tidegate::AcquireError| refused.to_string();
    let tokens = tidegate::RateLimiter::new("1/s burst 2; 9/min").unwrap();
    assert_eq!(text(tokens.acquire_n(3, None).unwrap_err()), "exceeds_capacity: 3 can never be had, at most 2 at once");
    let permits = ConcurrencyLimiter::new(1).unwrap();
    assert_eq!(
        text(permits.acquire_n(2, None).unwrap_err()),
        "exceeds_capacity: 2 can never be had, at most 1 at once"
    );
}

#[test]
fn a_listener_that_releases_a_million_deep_needs_no_more_stack() {
    let limiter = Arc::new(ConcurrencyLimiter::new(1).unwrap());
    let left = Arc::new(Mutex::new(1_000_000_u32));
    fn again(limiter: &Arc<ConcurrencyLimiter>, left: &Arc<Mutex<u32>>) {
        let (limiter_there, left_there) = (Arc::clone(limiter), Arc::clone(left));
        let listener = move |event| {
            let Event::Granted(permit) = event else { return };
            *left_there.lock().unwrap() -= 1;
            if *left_there.lock().unwrap() > 0 {
                again(&limiter_there, &left_there);
            }
            limiter_there.release(&permit, true).unwrap();
        };
        pending(limiter.acquire_by_ticket(1, None, listener).unwrap());
    }
    let held = limiter.try_acquire().unwrap();
    again(&limiter, &left);
    drop(held);
    assert_eq!(*left.lock().unwrap(), 0);
    assert_eq!((limiter.in_flight(), limiter.waiting()), (0, 0));
}

#[test]
fn a_limit_that_is_changed_from_within_a_listener_is_changed_at_once() {
    let limiter = Arc::new(ConcurrencyLimiter::new(5).unwrap());
    let held: Vec<_> = (0..5).map(|_| limiter.try_acquire_raw(1).unwrap().unwrap()).collect();
    let seen = Arc::new(Mutex::new(None));
    let listener = {
        let (limiter, seen) = (Arc::clone(&limiter), Arc::clone(&seen));
        move |event| {
            if let Event::Granted(permit) = event {
                limiter.set_limit(2).unwrap();
                *seen.lock().unwrap() = Some((limiter.limit(), permit));
            }
        }
    };
    pending(limiter.acquire_by_ticket(1, None, listener).unwrap());
    limiter.release(&held[0], true).unwrap();
    let (limit, granted) = seen.lock().unwrap().take().unwrap();
    assert_eq!(limit, 2);
    held[1..].iter().for_each(|permit| {
        assert!(limiter.try_acquire().is_none(), "{} are out", limiter.in_flight());
        limiter.release(permit, true).unwrap();
    });
    assert!(limiter.try_acquire().is_some());
    limiter.release(&granted, true).unwrap();
}

#[test]
fn tickets_of_nobody_are_a_mistake_that_is_told() {
    let limiter = ConcurrencyLimiter::new(1).unwrap();
    for number in [0, 1, 7 << 32, u64::MAX] {
        let mistake = limiter.poll_ticket(Ticket::from_u64(number)).unwrap_err();
        assert_eq!((mistake.status(), mistake.argument()), (Status::InvalidTicket, "ticket"));
        assert!(limiter.cancel_ticket(Ticket::from_u64(number)).is_err());
    }
}

#[test]
fn a_limiter_that_is_dropped_tells_who_waits() {
    let permits = Permits::new(ConcurrencyLimiter::new(1).unwrap());
    let _held = permits.hold(1);
    pending(permits.wait('a', 1, None));
    let Permits { limiter, told: heard, .. } = permits;
    drop(limiter);
    assert_eq!(heard.take(), told(&[('a', "closed")]));
}

struct Tokens {
    limiter: Arc<RateLimiter>,
    told: Told,
    clock: ManualClock,
}

impl Tokens {
    fn new(quotas: &str) -> Self {
        let clock = ManualClock::new();
        Self { limiter: Arc::new(RateLimiter::with_clock(quotas, &clock).unwrap()), told: Told::default(), clock }
    }

    fn wait(&self, name: char, cost: u64, timeout: Option<Duration>) -> Started<()> {
        let told = self.told.clone();
        self.limiter.acquire_by_ticket(cost, timeout, move |event| told.tell(name, &event)).unwrap()
    }
}

#[test]
fn tokens_are_charged_when_they_are_due_and_not_before() {
    for quota in ["1/s", "1/s fixed_window", "1/s sliding_log"] {
        let tokens = Tokens::new(quota);
        assert!(tokens.limiter.try_acquire());
        let (_, wake_after_ns) = pending(tokens.wait('a', 1, None));
        assert_eq!(wake_after_ns, 1_000_000_000, "{quota}");
        let (b, wake_after_ns) = pending(tokens.wait('b', 1, None));
        assert_eq!(wake_after_ns, NEVER_NS, "{quota}: only the head needs a timer");
        let behind = tokens.limiter.peek();
        assert_eq!((behind.status(), behind.remaining()), (Status::Denied, 0));
        assert_eq!(behind.retry_after(), 3 * SECOND, "{quota}: behind two");
        tokens.clock.advance_ns(999_999_999);
        assert_eq!(tokens.told.names(), "");
        tokens.clock.advance_ns(1);
        assert_eq!(tokens.told.names(), "a", "{quota}");
        assert!(!tokens.limiter.try_acquire(), "{quota}: `b` waits");
        assert!(tokens.limiter.cancel_ticket(b).unwrap());
        tokens.clock.advance(SECOND);
        assert!(tokens.limiter.try_acquire(), "{quota}: who left was not charged");
        assert!(!tokens.limiter.try_acquire(), "{quota}");
    }
}

#[test]
fn tokens_that_nobody_wants_any_more_are_refunded() {
    let clock = ManualClock::new();
    let limiter = RateLimiter::with_clock("10/s burst 10", &clock).unwrap();
    let granted = Arc::new(Mutex::new(Vec::new()));
    let wait_for = |cost| {
        let granted = granted.clone();
        let listener = move |event| granted.lock().unwrap().push(event);
        pending(limiter.acquire_refundable_by_ticket(cost, None, listener).unwrap())
    };
    assert!(limiter.try_acquire_n(10).unwrap());
    wait_for(5);
    clock.advance(Duration::from_secs(2));
    assert_eq!(limiter.peek().remaining(), 10);
    assert!(limiter.try_acquire_n(10).unwrap());
    wait_for(5);
    clock.advance(Duration::from_millis(500));
    assert_eq!(limiter.peek().remaining(), 0);
    let [Event::Granted(long_ago), Event::Granted(now)] = granted.lock().unwrap()[..] else { panic!("both are due") };
    limiter.refund_grant(long_ago);
    assert_eq!(limiter.peek().remaining(), 0, "what has come back by itself is not given back again");
    limiter.refund_grant(now);
    assert_eq!(limiter.peek().remaining(), 5);
}

#[test]
fn a_late_timer_delays_nobody_behind() {
    let tokens = Tokens::new("1/s");
    assert!(tokens.limiter.try_acquire());
    for name in ['a', 'b', 'c', 'd'] {
        pending(tokens.wait(name, 1, None));
    }
    tokens.clock.advance(Duration::from_millis(3_500));
    assert_eq!(tokens.told.names(), "abc");
    tokens.clock.advance(Duration::from_millis(499));
    assert_eq!(tokens.told.names(), "");
    tokens.clock.advance(Duration::from_millis(1));
    assert_eq!(tokens.told.names(), "d");
}

#[test]
fn a_wait_that_would_outlast_its_timeout_does_not_begin() {
    for quota in ["2/s burst 1", "1/500ms fixed_window", "1/500ms sliding_log"] {
        let tokens = Tokens::new(quota);
        assert!(tokens.limiter.try_acquire());
        pending(tokens.wait('a', 1, None));
        pending(tokens.wait('b', 1, Some(SECOND)));
        assert_eq!(tokens.wait('c', 1, Some(SECOND)), Started::Refused(Status::TimedOut), "{quota}");
        tokens.clock.advance(SECOND);
        assert_eq!(tokens.told.names(), "ab", "{quota}");
        assert_eq!(tokens.limiter.stats().timed_out, 1);
    }
    assert_eq!(Tokens::new("5/s").wait('x', 6, None), Started::Refused(Status::ExceedsCapacity));
}

#[test]
fn a_departure_brings_the_next_forward() {
    let tokens = Tokens::new("1/s burst 5");
    assert!(tokens.limiter.try_acquire_n(5).unwrap());
    let (heavy, _) = pending(tokens.wait('h', 5, None));
    pending(tokens.wait('l', 1, None));
    tokens.clock.advance(2 * SECOND);
    assert_eq!(tokens.told.names(), "");
    assert!(tokens.limiter.cancel_ticket(heavy).unwrap());
    assert_eq!(tokens.told.take(), told(&[('h', "cancelled"), ('l', "granted")]));
    assert_eq!(tokens.limiter.peek().remaining(), 1);
}

#[test]
fn a_refund_a_reset_and_another_quota_reach_who_waits() {
    for change in ["refund", "reset", "reconfigure"] {
        let tokens = Tokens::new("1/min");
        let decision = tokens.limiter.decide();
        pending(tokens.wait('a', 1, None));
        match change {
            "refund" => tokens.limiter.refund(&decision).unwrap(),
            "reset" => tokens.limiter.reset(),
            _ => tokens.limiter.reconfigure("2/min").unwrap(),
        }
        assert_eq!(tokens.told.names(), "a", "{change}");
    }
    let tokens = Tokens::new("5/min");
    assert!(tokens.limiter.try_acquire_n(5).unwrap());
    pending(tokens.wait('a', 4, None));
    tokens.limiter.reconfigure("3/min").unwrap();
    assert_eq!(tokens.told.take(), told(&[('a', "exceeds_capacity")]));
}

#[test]
fn several_quotas_are_waited_for_as_one() {
    let tokens = Tokens::new("1/s; 2/min fixed_window");
    assert!(tokens.limiter.try_acquire());
    for name in ['a', 'b'] {
        pending(tokens.wait(name, 1, None));
    }
    tokens.clock.advance(SECOND);
    assert_eq!(tokens.told.names(), "a");
    tokens.clock.advance(58 * SECOND);
    assert_eq!(tokens.told.names(), "");
    tokens.clock.advance(SECOND);
    assert_eq!(tokens.told.names(), "b");
    assert_eq!(tokens.limiter.peek().remaining(), 0);
}

#[test]
fn a_queue_of_tokens_holds_no_more_than_may_wait() {
    let limiter = RateOptions::new().clock(ManualClock::new()).max_waiters(0).build("1/s").unwrap();
    assert!(limiter.acquire(None).is_ok());
    assert_eq!(limiter.acquire(None).unwrap_err().status(), Status::QueueFull);
}

#[test]
fn a_reservation_names_its_time_and_a_hole_in_the_row_is_not_given_away() {
    let tokens = Tokens::new("1/s");
    assert!(tokens.limiter.try_acquire());
    let row: Vec<_> = (1..=3).map(|_| tokens.limiter.reserve(1, None).unwrap()).collect();
    assert_eq!(row.iter().map(|reserved| reserved.wait().as_secs()).collect::<Vec<_>>(), [1, 2, 3]);
    tokens.clock.advance(SECOND / 2);
    let mut row = row.into_iter();
    assert!(!tokens.limiter.cancel_reservation(row.next().unwrap()).unwrap());
    let fourth = tokens.limiter.reserve(1, None).unwrap();
    assert_eq!(fourth.wait(), 3 * SECOND + SECOND / 2);
    // The last of the row can be given back, and then the one before.
    assert!(tokens.limiter.cancel_reservation(fourth).unwrap());
    assert!(tokens.limiter.cancel_reservation(row.next_back().unwrap()).unwrap());
    assert_eq!(tokens.limiter.reserve(1, None).unwrap().wait(), 2 * SECOND + SECOND / 2);
    assert_eq!(tokens.limiter.reserve(1, SECOND).unwrap_err().status(), Status::TimedOut);
    let refused = tokens.limiter.reserve(2, None).unwrap_err();
    assert_eq!(refused.status(), Status::ExceedsCapacity);
    assert_eq!(refused.to_string(), "exceeds_capacity: 2 can never be had, at most 1 at once");
    let windows = Tokens::new("1/s fixed_window");
    assert_eq!(windows.limiter.reserve(1, None).unwrap_err().status(), Status::Unsupported);
}

#[test]
fn a_reservation_from_before_a_reset_is_not_credited() {
    let tokens = Tokens::new("1/s");
    assert!(tokens.limiter.try_acquire());
    let reserved = tokens.limiter.reserve(1, None).unwrap();
    tokens.limiter.reset();
    assert!(tokens.limiter.try_acquire());
    let _other = tokens.limiter.reserve(1, None).unwrap();
    assert!(!tokens.limiter.cancel_reservation(reserved).unwrap());
    assert_eq!(tokens.limiter.reserve(1, None).unwrap().wait(), 2 * SECOND);
}

#[test]
fn a_thread_sleeps_until_its_tokens_are_due() {
    let limiter = RateLimiter::new("20/s burst 1").unwrap();
    let began = Instant::now();
    for _ in 0..5 {
        limiter.acquire(None).unwrap();
    }
    let elapsed = began.elapsed();
    assert!(elapsed >= Duration::from_millis(199), "{elapsed:?}");
    assert_eq!(limiter.stats().allowed, 5);
}

#[test]
fn a_thread_is_interrupted_within_its_interval_and_leaves_nothing() {
    let limiter = ConcurrencyLimiter::new(1).unwrap();
    let held = limiter.try_acquire().unwrap();
    let mut asked = 0;
    let refused = limiter
        .acquire_interruptible(1, None, Duration::from_millis(5), &mut || {
            asked += 1;
            asked > 3
        })
        .unwrap_err();
    assert_eq!(refused.status(), Status::Cancelled);
    drop(held);
    assert_eq!((limiter.waiting(), limiter.available()), (0, 1));
}

#[test]
fn five_thousand_threads_worth_of_waiters_are_served_in_order_and_on_time() {
    let tokens = Tokens::new("1000/s burst 1");
    assert!(tokens.limiter.try_acquire());
    for _ in 0..5_000 {
        pending(tokens.wait('w', 1, None));
    }
    tokens.clock.advance(Duration::from_millis(4_999));
    assert_eq!(tokens.told.names().len(), 4_999);
    tokens.clock.advance(Duration::from_millis(1));
    assert_eq!(tokens.told.names().len(), 1);
}

#[test]
fn a_million_waits_that_are_cancelled_leave_nothing() {
    let permits = Permits::new(ConcurrencyLimiter::new(1).unwrap());
    let held = permits.hold(1);
    for _ in 0..1_000_000 {
        let (ticket, _) = pending(permits.limiter.acquire_by_ticket(1, None, |_| {}).unwrap());
        assert!(permits.limiter.cancel_ticket(ticket).unwrap());
    }
    permits.release(held);
    permits.drain();
    assert_eq!(permits.limiter.stats().cancelled, 1_000_000);
}

mod futures {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_future_is_granted_and_one_that_is_dropped_passes_on_what_it_had() {
        let limiter = ConcurrencyLimiter::new(1).unwrap();
        let held = limiter.try_acquire().unwrap();
        let mut first = Box::pin(limiter.acquire_async());
        let mut second = pin!(limiter.acquire_async());
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        drop(held);
        // Granted, but never looked at.
        drop(first);
        let Poll::Ready(Ok(permit)) = poll(second.as_mut()) else { panic!("it is its turn") };
        drop(permit);
        assert_eq!((limiter.in_flight(), limiter.waiting()), (0, 0));
    }

    #[test]
    fn a_future_for_tokens_sleeps_by_the_sleeper_it_was_given() {
        let limiter = RateLimiter::new("1000/s burst 1").unwrap();
        let slept = Arc::new(Mutex::new(Vec::new()));
        let sleep = {
            let slept = Arc::clone(&slept);
            move |duration: Duration| {
                slept.lock().unwrap().push(duration);
                std::thread::sleep(duration);
                std::future::ready(())
            }
        };
        assert!(limiter.try_acquire());
        assert!(matches!(poll(pin!(limiter.acquire_async(1, None, sleep).unwrap())), Poll::Ready(Ok(()))));
        assert!(!slept.lock().unwrap().is_empty());
    }
}
