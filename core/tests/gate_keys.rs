//! The keys of a gate's rules: shown nowhere unless the rules say so, and then so that nobody is led astray by one.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::time::Duration;
use tidegate::gate::{Begun, Mode, Pattern, Progress, Rule, Rules};
use tidegate::{Gate, ManualClock, Status};

const SECRET: &str = "10.203.0.113";

fn rules(show_keys: bool) -> Rules {
    let quota = Rule::new("quota").matching("client", Pattern::prefix("10.")).key(["client"]).quota("1/h");
    let pair = Rule::new("pair").key(["user", "client"]).quota("1/h").mode(Mode::Shadow);
    let held = Rule::new("held").matching("client", Pattern::exact(SECRET)).concurrency(2);
    let slow = Rule::new("slow").key(["client"]).concurrency(1).timeout(Duration::from_secs(1));
    Rules { show_keys, rules: vec![quota, pair, held, slow] }
}

/// All that a gate says of a client that is admitted and then refused, and of one that waits in vain.
fn said(show_keys: bool) -> String {
    let clock = ManualClock::new();
    let gate = Gate::with_clock(rules(show_keys), clock.clone()).unwrap();
    let events = gate.events();
    let request = [("client", SECRET), ("user", "ann")];
    let mut said = vec![gate.explain(&request, 1).to_string(), gate.explain(&request, 1).to_json()];
    let entry = gate.enter(&request).unwrap();
    said.push(format!("{entry:?} {:?} {:?} {gate:?}", entry.headers(), entry.figures().collect::<Vec<_>>()));
    let refusal = gate.enter(&request).unwrap_err();
    said.push(format!("{refusal} {refusal:?} {:?}", refusal.refusal().unwrap().headers()));
    said.push(refusal.refusal().unwrap().problem_json());
    gate.set_rules(Rules { show_keys, rules: rules(show_keys).rules.split_off(3) }).unwrap();
    let Begun::Waits(mut entering) = gate.begin(&request, 1, None).unwrap() else { panic!("it does not wait") };
    assert!(matches!(entering.poll(std::task::Waker::noop()), Progress::Pending { .. }));
    clock.advance(Duration::from_secs(1));
    said.push(format!("{:?}", entering.poll(std::task::Waker::noop())));
    said.push(format!("{} {:?} {:?}", gate.explain(&request, 1), gate.stats(), gate.attributes()));
    said.extend(std::iter::from_fn(|| events.next(Duration::ZERO)).map(|event| format!("{event:?}")));
    said.join("\n")
}

#[test]
fn a_key_is_in_nothing_that_a_gate_says_unless_the_rules_show_keys() {
    assert!(said(true).contains(SECRET));
    // The rule that asks for this very client says so itself.
    let hidden = said(false).replace(&format!("exact {SECRET}"), "").replace(&format!("[\"{SECRET}\"]"), "");
    assert!(!hidden.contains(SECRET), "{hidden}");
    assert!(hidden.contains("client \"#"), "{hidden}");
}

#[test]
fn a_key_that_is_shown_does_not_end_the_line() {
    let clock = ManualClock::new();
    let rules = Rules { show_keys: true, rules: vec![Rule::new("a").key(["client"]).concurrency(0)] };
    let gate = Gate::with_clock(rules, clock).unwrap();
    let request = [("client", "ann\r\nadmitted: all\0\u{85}é")];
    let refusal = gate.enter(&request).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "denied by rule a for ann\\r\\nadmitted: all\\u{0}\\u{85}é: 0 permits, 0 available"
    );
    assert_eq!(refusal.refusal().unwrap().key.as_deref(), Some(request[0].1));
    assert_eq!(gate.explain(&request, 1).to_string().lines().count(), 2);
}

#[test]
fn a_key_without_room_that_has_no_permits_out_is_not_told_to_come_again_at_once() {
    let gate = Gate::with_clock(Rule::new("a").key(["client"]).concurrency(1).max_keys(1), ManualClock::new()).unwrap();
    let held: Vec<_> = (0..100).filter_map(|n| gate.enter(&[("client", format!("client {n}"))]).ok()).collect();
    assert!(held.len() < 100);
    let error = gate.enter(&[("client", "one more")]).unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.status, refusal.remaining, refusal.retry_after_ns), (Status::KeysFull, 0, None));
    assert_eq!(refusal.headers().retry_after_s, None);
}

#[test]
fn what_explain_says_of_a_request_is_what_it_is_told_then_in_whichever_order_the_rules_are() {
    let short = Rule::new("short").quota("3/s");
    let never = Rule::new("never").quota("2/h");
    for rules in [[short.clone(), never.clone()], [never, short]] {
        let gate = Gate::with_clock(rules.to_vec(), ManualClock::new()).unwrap();
        let mut told = Vec::new();
        for cost in [2, 3, 1] {
            let explained = gate.explain::<&str>(&[], cost).status;
            let entered = gate.enter_n::<&str>(&[], cost, None);
            let status = entered.as_ref().map_or_else(|refused| refused.status(), |entry| entry.status());
            assert_eq!(explained, status.name(), "cost {cost}");
            told.push(explained);
        }
        assert_eq!(told, ["allowed", "exceeds_capacity", "denied"]);
    }
}

#[test]
fn a_key_whose_own_quota_is_gone_from_the_rules_has_that_of_all_again_and_what_it_used_stays_used() {
    let rule = |quota: &str| Rule::new("a").key(["client"]).quota(quota);
    let gate =
        Gate::with_clock(rule("2/h").override_quota("ann", "9/h").override_quota("bob", "9/h"), ManualClock::new());
    let gate = gate.unwrap();
    let admitted = |client: &str| (0..20).filter(|_| gate.enter(&[("client", client)]).is_ok()).count();
    assert!(gate.enter(&[("client", "ann")]).is_ok());
    let reloaded = gate.set_rules(rule("3/h").override_quota("bob", "4/h")).unwrap();
    assert_eq!(reloaded.changed, ["a"]);
    assert_eq!([admitted("ann"), admitted("bob"), admitted("cyd")], [2, 4, 3]);
}

#[test]
fn permits_of_keys_follow_their_rule_when_its_limit_changes() {
    let rule = |limit| Rule::new("a").key(["client"]).concurrency(limit);
    let gate = Gate::new(rule(1)).unwrap();
    let enter = || gate.enter(&[("client", "ann")]);
    let _first = enter().unwrap();
    assert!(enter().is_err());
    assert_eq!(gate.set_rules(rule(2)).unwrap().changed, ["a"]);
    let _second = enter().unwrap();
    assert!(enter().is_err());
}
