//! Waiting to be admitted by a gate: how long, in which order, and what is held meanwhile.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tidegate::gate::{Begun, EnterError, Entering, Entry, Pattern, Progress, Refusal, Rule, Rules};
use tidegate::{Gate, ManualClock, Status};

const LONG: Duration = Duration::from_secs(60);

fn rule(name: &str) -> Rule {
    Rule::new(name).matching("path", Pattern::prefix("/"))
}

fn gate(rules: impl Into<Rules>) -> (Gate, ManualClock) {
    let clock = ManualClock::new();
    (Gate::with_clock(rules, clock.clone()).expect("rules"), clock)
}

fn refused<T>(result: Result<T, EnterError>) -> Refusal {
    match result.err() {
        Some(EnterError::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[derive(Default)]
struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that waits, and how often it was woken.
struct Waiter {
    entering: Box<Entering>,
    wakes: Arc<Wakes>,
}

impl Waiter {
    fn new(gate: &Gate, timeout: Option<Duration>) -> Self {
        let Begun::Waits(entering) = gate.begin(&[("path", "/")], 1, timeout).unwrap() else {
            panic!("it doesn't wait")
        };
        let mut waiter = Self { entering, wakes: Arc::default() };
        assert!(waiter.poll().is_none());
        waiter
    }

    fn poll(&mut self) -> Option<Result<Entry, Refusal>> {
        match self.entering.poll(&Waker::from(Arc::clone(&self.wakes))) {
            Progress::Entered(entry) => Some(Ok(*entry)),
            Progress::Refused(refusal) => Some(Err(*refusal)),
            Progress::Pending { .. } => None,
        }
    }

    fn entry(&mut self) -> Entry {
        self.poll().expect("still waits").unwrap()
    }

    fn refusal(&mut self) -> Refusal {
        self.poll().expect("still waits").unwrap_err()
    }
}

fn enter(gate: &Gate) -> Result<Entry, EnterError> {
    gate.enter_n(&[("path", "/")], 1, Duration::ZERO)
}

fn limiter_stats(gate: &Gate, rule: &str) -> tidegate::Stats {
    gate.stats().rules.into_iter().find(|stats| stats.name == rule).unwrap().limiter
}

#[test]
fn who_waits_for_a_permit_gets_it_when_it_is_released_and_nobody_overtakes() {
    let (gate, _clock) = gate(rule("a").concurrency(1).timeout(LONG));
    let held = enter(&gate).unwrap();
    let mut first = Waiter::new(&gate, None);
    let mut second = Waiter::new(&gate, None);
    held.release(true);
    assert_eq!(first.wakes.0.load(Ordering::Relaxed), 1);
    assert!(enter(&gate).is_err());
    let entry = first.entry();
    assert!(second.poll().is_none());
    drop(entry);
    drop(second.entry());
    assert_eq!(limiter_stats(&gate, "a").available, 1);
}

#[test]
fn a_wait_ends_when_the_rules_timeout_or_that_of_the_call_is_over() {
    let (gate, clock) = gate(rule("a").concurrency(1).timeout(Duration::from_millis(50)));
    let _held = enter(&gate).unwrap();
    for (call, over_ms) in [(None, 50), (Some(LONG), 50), (Some(Duration::from_millis(20)), 20)] {
        let mut waiter = Waiter::new(&gate, call);
        clock.advance(Duration::from_millis(over_ms) - Duration::from_nanos(1));
        assert!(waiter.poll().is_none());
        clock.advance_ns(1);
        let refusal = waiter.refusal();
        assert_eq!(
            (refusal.status, refusal.elapsed, refusal.timeout),
            (Status::TimedOut, Duration::from_millis(over_ms), call)
        );
        assert_eq!((refusal.limit, refusal.in_flight, refusal.waiting), (1, 1, 0));
    }
}

#[test]
fn a_rule_with_the_calls_timeout_waits_as_long_as_the_call_and_not_at_all_if_that_says_nothing() {
    let (gate, clock) = gate(rule("a").concurrency(1).timeout_of_call());
    let _held = enter(&gate).unwrap();
    assert_eq!(refused(gate.enter(&[("path", "/")])).status, Status::Denied);
    let mut waiter = Waiter::new(&gate, Some(LONG));
    clock.advance(LONG);
    assert_eq!(waiter.refusal().status, Status::TimedOut);
}

#[test]
fn as_many_wait_as_may_and_the_next_is_refused_at_once_which_a_reload_can_change() {
    let rules = |most| rule("a").concurrency(1).timeout(LONG).max_waiters(most);
    let (gate, _clock) = gate(rules(1));
    let _held = enter(&gate).unwrap();
    let _first = Waiter::new(&gate, None);
    assert_eq!(refused(gate.enter(&[("path", "/")])).status, Status::QueueFull);
    assert_eq!(gate.set_rules(rules(2)).unwrap().changed, ["a"]);
    let _second = Waiter::new(&gate, None);
    assert_eq!(refused(gate.enter(&[("path", "/")])).status, Status::QueueFull);
}

#[test]
fn tokens_that_are_waited_for_are_charged_when_they_are_due() {
    let (gate, clock) = gate(rule("a").quota("1/s burst 2").timeout(Duration::from_secs(10)));
    let _burst = [enter(&gate).unwrap(), enter(&gate).unwrap()];
    let mut waiter = Waiter::new(&gate, None);
    clock.advance(Duration::from_millis(999));
    assert!(waiter.poll().is_none());
    clock.advance(Duration::from_millis(1));
    let entry = waiter.entry();
    assert_eq!(entry.headers().limit, "\"a\";r=0;t=2");
    assert_eq!(refused(enter(&gate)).retry_after(), Some(Duration::from_secs(1)));
}

#[test]
fn a_wait_that_would_outlast_its_timeout_does_not_begin_and_charges_nothing() {
    let (gate, _clock) = gate([rule("a").quota("1/min").timeout(Duration::from_secs(10)), rule("b").quota("9/h")]);
    let _first = enter(&gate).unwrap();
    let refusal = refused(gate.enter(&[("path", "/")]));
    assert_eq!((refusal.rule.as_str(), refusal.status), ("a", Status::TimedOut));
    assert_eq!(refusal.retry_after(), Some(Duration::from_secs(60)));
    assert_eq!(gate.explain(&[("path", "/")], 1).rules[1].remaining, Some(8));
}

#[test]
fn what_is_not_waited_for_is_free_while_others_wait_and_asked_again_at_the_end() {
    let (gate, _clock) = gate([rule("slow").concurrency(1).timeout(LONG), rule("tokens").quota("2/h")]);
    let held = enter(&gate).unwrap();
    let mut waiter = Waiter::new(&gate, None);
    let left = || gate.explain(&[("path", "/")], 1).rules[1].remaining;
    assert_eq!(left(), Some(1));
    drop(held);
    drop(waiter.entry());
    assert_eq!(left(), Some(0));
    // Who waits in vain, since the tokens are gone by then, gives the permit back.
    let (gate, _clock) = self::gate([rule("slow").concurrency(1).timeout(LONG), rule("tokens").quota("2/h")]);
    let held = enter(&gate).unwrap();
    let mut waiter = Waiter::new(&gate, None);
    gate.set_rules([rule("slow").concurrency(1).timeout(LONG), rule("tokens").quota("1/h")]).unwrap();
    drop(held);
    let refusal = waiter.refusal();
    assert_eq!((refusal.rule.as_str(), refusal.status), ("tokens", Status::Denied));
    assert_eq!(limiter_stats(&gate, "slow").available, 1);
}

#[test]
fn who_gives_up_leaves_everything_as_it_was_also_in_the_instant_of_the_grant() {
    let (gate, _clock) = gate([rule("a").concurrency(1).timeout(LONG), rule("b").concurrency(1).timeout(LONG)]);
    let held = enter(&gate).unwrap();
    let waiter = Waiter::new(&gate, None);
    drop(waiter);
    assert_eq!(limiter_stats(&gate, "a").waiting, 0);
    let granted = Waiter::new(&gate, None);
    drop(held);
    assert_eq!(limiter_stats(&gate, "a").available, 0);
    drop(granted);
    let stats = gate.stats();
    assert!(stats.rules.iter().all(|rule| rule.limiter.available == 1 && rule.limiter.in_flight == 0), "{stats:?}");
}

#[test]
fn tokens_that_somebody_was_granted_who_is_gone_are_back() {
    let (gate, clock) = gate(rule("a").quota("1/s").timeout(LONG));
    let _first = enter(&gate).unwrap();
    let waiter = Waiter::new(&gate, None);
    clock.advance(Duration::from_secs(1));
    drop(waiter);
    assert!(enter(&gate).is_ok());
}

#[test]
fn a_thread_waits_and_goes_on_when_another_releases() {
    let gate = Gate::new(rule("a").concurrency(1).timeout(LONG)).unwrap();
    let held = enter(&gate).unwrap();
    let waiting = {
        let gate = gate.clone();
        thread::spawn(move || gate.enter(&[("path", "/")]).map(drop))
    };
    while limiter_stats(&gate, "a").waiting == 0 {
        thread::yield_now();
    }
    held.release(true);
    waiting.join().unwrap().unwrap();
    // In real time, since that is the subject.
    let _held = enter(&gate).unwrap();
    let began = Instant::now();
    let refusal = refused(gate.enter_n(&[("path", "/")], 1, Duration::from_millis(50)));
    assert_eq!(refusal.status, Status::TimedOut);
    assert!(began.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_future_waits_and_dropping_it_gives_all_back() {
    let (gate, clock) = gate(rule("a").concurrency(1).timeout(Duration::from_secs(1)));
    let held = enter(&gate).unwrap();
    let wakes: Arc<Wakes> = Arc::default();
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);
    let future = || Box::pin(gate.enter_async(&[("path", "/")], 1, None, |_| std::future::pending()).unwrap());
    let mut first = future();
    let mut second = future();
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!(second.as_mut().poll(&mut context).is_pending());
    drop(first);
    drop(held);
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    let Poll::Ready(Ok(entry)) = second.as_mut().poll(&mut context) else { panic!("not granted") };
    let mut third = future();
    assert!(third.as_mut().poll(&mut context).is_pending());
    clock.advance(Duration::from_secs(1));
    assert!(matches!(third.as_mut().poll(&mut context), Poll::Ready(Err(error)) if error.status() == Status::TimedOut));
    drop(entry);
    assert_eq!(limiter_stats(&gate, "a").available, 1);
}

/// Numbers that look random, the same in every run.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn after_a_storm_of_entering_waiting_giving_up_releasing_and_reloading_nothing_is_lost() {
    let rules = |limit: u64| {
        let keyed = rule("c").key(["client"]).concurrency(1).timeout(Duration::from_millis(1));
        let tokens = rule("d").quota("1000000/s burst 3").timeout(Duration::from_millis(1));
        [
            rule("a").concurrency(limit).timeout(Duration::from_millis(1)),
            rule("b").concurrency(limit).timeout(Duration::from_micros(200)),
            keyed,
            tokens,
            rule("e").concurrency(limit + 1),
        ]
    };
    let gate = Gate::new(rules(3)).unwrap();
    let rounds = 12_500;
    thread::scope(|scope| {
        for seed in 1..=8 {
            let gate = gate.clone();
            scope.spawn(move || {
                let mut state = seed;
                let clients = ["ann", "bob", "cyd"];
                for _ in 0..rounds {
                    let client = clients[(random(&mut state) % 3) as usize];
                    let request = [("path", "/"), ("client", client)];
                    match random(&mut state) % 4 {
                        0 => drop(gate.enter_n(&request, 1, Duration::ZERO)),
                        1 => drop(gate.enter(&request)),
                        2 => {
                            if let Begun::Waits(mut entering) = gate.begin(&request, 1, None).unwrap() {
                                let _ = entering.poll(Waker::noop());
                            }
                        }
                        _ => {
                            if let Ok(entry) = gate.enter_n(&request, 1, Duration::from_micros(100)) {
                                thread::yield_now();
                                entry.release(random(&mut state).is_multiple_of(2));
                            }
                        }
                    }
                }
            });
        }
        let gate = gate.clone();
        scope.spawn(move || {
            for round in 0..200 {
                gate.set_rules(rules(2 + round % 3)).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
        });
    });
    gate.set_rules(rules(3)).unwrap();
    let stats = gate.stats();
    for rule in &stats.rules {
        assert_eq!((rule.limiter.in_flight, rule.limiter.waiting), (0, 0), "{}", rule.name);
        assert!(rule.limiter.available == rule.limiter.limit || rule.name == "c" || rule.name == "d", "{rule:?}");
    }
    assert_eq!(stats.admitted, stats.released_ok + stats.released_failed);
    // Each was admitted or refused, or gave up while it waited.
    assert!(
        stats.admitted > 1_000 && stats.refused > 1_000 && stats.admitted + stats.refused <= 8 * rounds,
        "{stats:?}"
    );
}

#[test]
fn the_child_of_a_fork_does_not_hang_on_what_its_parent_waits_for() {
    let (gate, _clock) = gate(rule("a").concurrency(1).timeout(LONG));
    let held = enter(&gate).unwrap();
    let mut waiter = Waiter::new(&gate, None);
    // SAFETY: the child calls what may be called in a child, and leaves at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let told = waiter.poll().is_some_and(|result| result.is_err_and(|refusal| refusal.status == Status::Forked));
        drop(held);
        let works = enter(&gate).is_ok();
        // SAFETY: as above.
        unsafe { libc::_exit(if told && works { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    drop(held);
    drop(waiter.entry());
}
