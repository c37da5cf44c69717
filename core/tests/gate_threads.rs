//! All or nothing from many threads at once: what is taken of one rule before another refuses is back, all of it and no more.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::thread;
use std::time::Duration;
use tidegate::gate::{Begun, Mode, Pattern, Progress, Rule};
use tidegate::{Gate, ManualClock, Status};

const THREADS: u64 = 4;
const ROUNDS: u64 = 5_000;

fn left(gate: &Gate, rule: &str, key: &str) -> u64 {
    let explanation = gate.explain(&[("client", key)], 1);
    explanation.rules.iter().find(|trace| trace.rule == rule).unwrap().remaining.unwrap()
}

/// From many threads at once; how often all rules admitted it.
fn enter_often(gate: &Gate, keys: u64) -> u64 {
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (gate, admitted) = (gate.clone(), &admitted);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let key = format!("key {}", (round * THREADS + thread) % keys);
                    if gate.enter_n(&[("client", key)], 1, Duration::ZERO).is_ok() {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    admitted.into_inner()
}

#[test]
fn tokens_taken_before_another_rule_refused_are_all_back_whatever_the_algorithm() {
    for quotas in [
        vec!["1000000/h"],
        vec!["1000000/h fixed_window"],
        vec!["1000000/h sliding_window"],
        vec!["100000/h sliding_log"],
        vec!["1000000/h", "1000000/day fixed_window"],
    ] {
        for is_keyed in [false, true] {
            if is_keyed && quotas[0].ends_with("sliding_log") {
                // There is none for keys.
                continue;
            }
            let rule = if is_keyed { Rule::new("tokens").key(["client"]) } else { Rule::new("tokens") };
            let tokens = quotas.iter().fold(rule, |rule, quota| rule.quota(*quota));
            // One that could be waited for is always asked last.
            let last = Rule::new("last").quota("10/h").timeout(Duration::from_secs(1));
            let gate = Gate::with_clock([last, tokens], ManualClock::new()).expect("rules");
            let before = left(&gate, "tokens", "key 0");
            let admitted = enter_often(&gate, 1);
            assert_eq!(admitted, 10);
            assert_eq!(left(&gate, "tokens", "key 0"), before - admitted, "{quotas:?}, keyed: {is_keyed}");
        }
    }
}

#[test]
fn permits_and_a_small_table_of_keys_are_as_they_were_after_another_rule_refused() {
    let permits = Rule::new("permits").key(["client"]).concurrency(1).max_keys(1);
    let inside = Rule::new("inside").concurrency(3);
    let tokens = Rule::new("tokens").key(["client"]).quota("5/h").quota("7/day").max_keys(1);
    let last = Rule::new("last").quota("10/h").timeout(Duration::from_secs(1));
    let gate = Gate::with_clock([permits, inside, tokens, last], ManualClock::new()).unwrap();
    enter_often(&gate, 1_000);
    let stats = gate.stats();
    assert_eq!(stats.admitted, 10);
    for rule in &stats.rules[..2] {
        assert_eq!(rule.limiter.in_flight, 0, "{rule:?}");
    }
    assert_eq!(stats.admitted + stats.refused, THREADS * ROUNDS);
    assert_eq!(stats.admitted, stats.released_ok);
    assert!((0..1_000).all(|key| left(&gate, "permits", &format!("key {key}")) == 1));
}

#[test]
fn no_more_are_inside_than_the_greatest_limit_while_rules_change_switch_off_and_on_and_wait() {
    let rule = |limit: u64| Rule::new("inside").concurrency(limit).timeout(Duration::from_millis(1));
    let gate = Gate::new(rule(3)).unwrap();
    let inside = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut entered = 0;
                while !is_over.load(Ordering::Relaxed) || entered == 0 {
                    if let Ok(entry) = gate.enter::<&str>(&[]) {
                        entered += 1;
                        assert!(entry.applies());
                        assert!(inside.fetch_add(1, Ordering::SeqCst) < 3);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(entry);
                    }
                }
            });
        }
        for round in 0..500 {
            gate.set_rules(rule(1 + round % 3).max_waiters(1 + round % 2)).unwrap();
            thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let stats = gate.stats();
    assert_eq!((stats.rules[0].limiter.in_flight, stats.rules[0].limiter.waiting), (0, 0));
}

#[test]
fn who_waits_for_a_rule_that_is_changed_away_gets_what_it_waits_for_or_its_time_is_over() {
    let rule = || Rule::new("a").concurrency(1).timeout(Duration::from_secs(1));
    for others in [
        vec![],
        vec![Rule::new("a").quota("1/h")],
        vec![rule().key(["client"])],
        vec![rule().mode(Mode::Off)],
        vec![rule().mode(Mode::Shadow)],
        vec![Rule::new("b").concurrency(1)],
    ] {
        let clock = ManualClock::new();
        let gate = Gate::with_clock(rule(), clock.clone()).unwrap();
        let begin = || match gate.begin::<&str>(&[], 1, None).unwrap() {
            Begun::Waits(mut entering) => {
                assert!(matches!(entering.poll(Waker::noop()), Progress::Pending { .. }));
                entering
            }
            _ => panic!("it does not wait"),
        };
        let held = gate.enter::<&str>(&[]).unwrap();
        let [mut first, gone, mut late] = [begin(), begin(), begin()];
        gate.set_rules(others.clone()).unwrap();
        gate.set_rules(rule()).unwrap();
        gate.set_rules(others).unwrap();
        drop(gone);
        drop(held);
        let Progress::Entered(entry) = first.poll(Waker::noop()) else { panic!("not admitted") };
        clock.advance(Duration::from_secs(1));
        let Progress::Refused(refusal) = late.poll(Waker::noop()) else { panic!("not refused") };
        assert_eq!((refusal.rule.as_str(), refusal.status), ("a", Status::TimedOut));
        drop(entry);
    }
}

#[test]
fn who_comes_to_the_next_rule_when_its_time_is_over_timed_out() {
    let rule = |name| Rule::new(name).concurrency(1).timeout(Duration::from_secs(9));
    let clock = ManualClock::new();
    let b = rule("b").matching("path", Pattern::prefix("/"));
    let gate = Gate::with_clock([rule("a").matching("client", Pattern::exact("ann")), b], clock.clone()).unwrap();
    let first = gate.enter(&[("client", "ann")]).unwrap();
    let _second = gate.enter(&[("path", "/")]).unwrap();
    let request = [("client", "ann"), ("path", "/")];
    let Begun::Waits(mut late) = gate.begin(&request, 1, Duration::from_secs(1)).unwrap() else { panic!("no wait") };
    assert!(matches!(late.poll(Waker::noop()), Progress::Pending { .. }));
    drop(first);
    clock.advance(Duration::from_secs(1));
    let Progress::Refused(refusal) = late.poll(Waker::noop()) else { panic!("not refused") };
    assert_eq!((refusal.rule.as_str(), refusal.status), ("b", Status::TimedOut));
    assert!(gate.enter(&[("client", "ann")]).is_ok());
}
