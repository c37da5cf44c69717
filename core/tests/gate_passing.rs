//! Requests that pass without an entry: whatever the rules and the requests, as those that enter.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tidegate::gate::{Attributes, Begun, Mode, Passed, Passing, Pattern, Rule};
use tidegate::{Gate, ManualClock};

fn rule() -> impl Strategy<Value = Rule> {
    let algorithm =
        prop_oneof![Just(""), Just(" fixed_window"), Just(" sliding_window"), Just(" fixed_window anchor clock")];
    let quota = (1..5_u64, prop_oneof![Just("s"), Just("min"), Just("250ms")], algorithm);
    let pattern = prop_oneof![
        Just(None),
        Just(Some(Pattern::exact("/a"))),
        Just(Some(Pattern::prefix("/a"))),
        Just(Some(Pattern::glob("/*/b"))),
    ];
    let kind = prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2)];
    let quotas = prop::collection::vec(quota, 1..3);
    (
        pattern,
        quotas,
        any::<bool>(),
        kind,
        1..3_u64,
        prop_oneof![8 => Just(Mode::Enforce), 1 => Just(Mode::Shadow), 1 => Just(Mode::Off)],
    )
        .prop_map(|(pattern, quotas, is_keyed, kind, cost, mode)| {
            let texts: Vec<String> =
                quotas.iter().map(|(limit, period, algorithm)| format!("{limit}/{period}{algorithm}")).collect();
            let mut rule = Rule::new("").mode(mode).cost(cost);
            if let Some(pattern) = pattern {
                rule = rule.matching("path", pattern);
            }
            rule = match kind {
                0 => rule.quota(texts.join("; ")),
                1 => rule.quota(texts.join("; ")).timeout(Duration::from_millis(1)),
                _ => rule.concurrency(2),
            };
            if is_keyed { rule.key(["client"]).max_keys(100) } else { rule }
        })
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    prop::collection::vec(rule(), 0..4).prop_map(|mut rules| {
        for (number, rule) in rules.iter_mut().enumerate() {
            rule.name = format!("rule {number}");
        }
        rules
    })
}

fn values<'a>(attributes: &Attributes, request: &BTreeMap<&str, &'a str>) -> Vec<Option<&'a [u8]>> {
    attributes.names().iter().map(|name| request.get(name.as_str()).map(|value| value.as_bytes())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn passes_and_is_refused_as_it_would_enter(
        rules in rules(),
        requests in prop::collection::vec((0..600_u64, prop::sample::select(vec!["/a", "/a/b", "/c"]), prop::option::of(prop::sample::select(vec!["ann", "bob"]))), 1..40),
    ) {
        let clock = ManualClock::new();
        let passing = Gate::with_clock(rules.clone(), &clock).unwrap();
        let entering = Gate::with_clock(rules, &clock).unwrap();
        let attributes = passing.attributes();
        let items = attributes.rate_limit_items();
        for (wait_ms, path, client) in requests {
            clock.advance(Duration::from_millis(wait_ms));
            let mut request = BTreeMap::from([("path", path)]);
            request.extend(client.map(|client| ("client", client)));
            let pairs: Vec<(&str, &str)> = request.clone().into_iter().collect();
            let begun = |gate: &Gate| gate.begin(&pairs, 1, Duration::ZERO).unwrap();
            match (passing.pass(&attributes, &values(&attributes, &request), || Some(Duration::ZERO)), begun(&entering)) {
                (Passing::Passed(Passed { item, remaining, reset_after_s, .. }), Begun::Entered(entry)) => {
                    let headers = entry.headers();
                    prop_assert_eq!(&items[item].policy, &headers.policy);
                    prop_assert_eq!(format!("{};r={remaining};t={reset_after_s}", items[item].name), headers.limit);
                    prop_assert!(!entry.holds_permits());
                }
                (Passing::Unmatched, Begun::Entered(entry)) => prop_assert!(!entry.applies()),
                (Passing::Refused(passed), Begun::Refused(entered)) => prop_assert_eq!(passed, entered),
                // As who then enters, which must find all as it was.
                (Passing::Unasked, entered) => match (begun(&passing), entered) {
                    (Begun::Entered(passed), Begun::Entered(entered)) => prop_assert_eq!(passed.headers(), entered.headers()),
                    (Begun::Refused(passed), Begun::Refused(entered)) => prop_assert_eq!(passed, entered),
                    _ => prop_assert!(false, "one got in, the other didn't"),
                },
                _ => prop_assert!(false, "one got in, the other didn't"),
            }
            prop_assert_eq!(passing.stats(), entering.stats());
        }
    }
}

#[test]
fn no_more_pass_than_the_quota_while_others_enter_and_rules_change() {
    const QUOTA: u64 = 1_000;
    let rules = |other: u64| {
        [
            Rule::new("all").key(["client"]).quota(format!("{QUOTA}/h")),
            Rule::new(format!("other {other}")).matching("path", Pattern::exact("/none")).quota("1/s"),
        ]
    };
    let gate = Gate::with_clock(rules(0), ManualClock::new()).unwrap();
    let admitted = AtomicU64::new(0);
    let enough = || admitted.load(Ordering::Relaxed) >= QUOTA;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut attributes = gate.attributes();
                let mut refused = 0;
                while refused < 100 {
                    let request = BTreeMap::from([("client", "ann"), ("path", "/")]);
                    match gate.pass(&attributes, &values(&attributes, &request), || None) {
                        Passing::Passed(_) => _ = admitted.fetch_add(1, Ordering::Relaxed),
                        Passing::Refused(_) => refused += 1,
                        Passing::Stale => attributes = gate.attributes(),
                        Passing::Unmatched | Passing::Unasked => panic!("one rule applies"),
                    }
                }
            });
        }
        scope.spawn(|| {
            while !enough() {
                if gate.enter(&[("client", "ann")]).is_ok() {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        for other in 1.. {
            gate.set_rules(rules(other)).unwrap();
            if enough() {
                break;
            }
        }
    });
    assert_eq!(admitted.load(Ordering::Relaxed), QUOTA);
    assert_eq!(gate.stats().admitted, QUOTA);
}
