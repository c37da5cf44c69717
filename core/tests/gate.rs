//! The gate: all rules that match must admit, or nothing is taken; and rules change while it is in use.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::time::Duration;
use tidegate::gate::{EnterError, Entry, Format, GateEvent, Mode, Pattern, Refusal, Rule, Rules};
use tidegate::{Gate, ManualClock, NEVER_NS, Status, WhenFull};

fn refused(result: Result<Entry, EnterError>) -> Refusal {
    match result {
        Err(EnterError::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn gate(rules: impl Into<Rules>) -> (Gate, ManualClock) {
    let clock = ManualClock::new();
    (Gate::with_clock(rules, clock.clone()).expect("rules"), clock)
}

fn path(path: &str) -> [(&str, &str); 1] {
    [("path", path)]
}

fn prefix(name: &str, text: &str) -> Rule {
    Rule::new(name).matching("path", Pattern::prefix(text))
}

fn remaining(gate: &Gate, rule: &str) -> u64 {
    let explanation = gate.explain(&path("/a"), 1);
    explanation.rules.iter().find(|trace| trace.rule == rule).unwrap().remaining.unwrap()
}

#[test]
fn a_refusal_by_one_rule_gives_back_what_the_others_gave() {
    // G1
    let a = prefix("a", "/").concurrency(4);
    let tokens = prefix("tokens", "/").quota("10/h");
    let b = prefix("b", "/").quota("1/h");
    let (gate, _clock) = gate([a, tokens, b]);
    let entry = gate.enter(&path("/a")).unwrap();
    drop(entry);
    for _ in 0..20 {
        let refusal = refused(gate.enter(&path("/a")));
        assert_eq!((refusal.rule.as_str(), refusal.status), ("b", Status::Denied));
    }
    assert_eq!(remaining(&gate, "a"), 4);
    assert_eq!(remaining(&gate, "tokens"), 9);
    assert_eq!(remaining(&gate, "b"), 0);
}

#[test]
fn what_is_said_is_of_the_rule_that_has_to_be_waited_for_longest_in_whichever_order_they_are_written() {
    let short = prefix("short", "/").quota("1/s");
    let long = prefix("long", "/").quota("1/h");
    let held = prefix("held", "/").concurrency(1);
    for rules in [[short.clone(), long.clone(), held.clone()], [held, long, short]] {
        let (gate, _clock) = gate(rules);
        let _entry = gate.enter(&path("/a")).unwrap();
        for _ in 0..3 {
            let refusal = refused(gate.enter(&path("/a")));
            assert_eq!(refusal.rule, "long");
            assert_eq!(refusal.retry_after(), Some(Duration::from_secs(3_600)));
        }
    }
}

#[test]
fn waiting_for_as_long_as_a_refusal_says_admits() {
    let (gate, clock) = gate([prefix("a", "/").quota("1/s"), prefix("b", "/").quota("1/3s")]);
    let _first = gate.enter(&path("/a")).unwrap();
    let refusal = refused(gate.enter(&path("/a")));
    clock.advance_ns(refusal.retry_after_ns.unwrap() - 1);
    assert_eq!(refused(gate.enter(&path("/a"))).retry_after_ns, Some(1));
    clock.advance_ns(1);
    assert!(gate.enter(&path("/a")).is_ok());
}

#[test]
fn no_rule_applies_is_told_apart_from_admitted_by_a_rule() {
    // G6
    let (gate, _clock) = gate([prefix("a", "/a").concurrency(1), prefix("off", "/off").concurrency(0).mode(Mode::Off)]);
    let by_rule = gate.enter(&path("/a")).unwrap();
    assert_eq!(by_rule.status(), Status::Allowed);
    assert_eq!(by_rule.rules().collect::<Vec<_>>(), ["a"]);
    for other in ["/b", "/off"] {
        let unmatched = gate.enter(&path(other)).unwrap();
        assert_eq!(unmatched.status(), Status::NoRule);
        assert!(!unmatched.applies());
    }
    assert!(gate.enter::<&str>(&[]).is_ok_and(|entry| !entry.applies()));
    let stats = gate.stats();
    assert_eq!((stats.admitted, stats.unmatched, stats.refused), (1, 3, 0));
}

#[test]
fn each_key_has_a_budget_and_who_leaves_the_attribute_out_shares_one() {
    let rule = Rule::new("clients").key(["client"]).quota("1/h");
    let (gate, _clock) = gate([rule]);
    let client = |name| [("client", name)];
    assert!(gate.enter(&client("ann")).is_ok());
    assert!(gate.enter(&client("bob")).is_ok());
    assert!(gate.enter(&client("ann")).is_err());
    assert!(gate.enter(&path("/a")).is_ok());
    assert!(gate.enter(&path("/b")).is_err());
}

#[test]
fn keys_of_several_attributes_do_not_run_into_one_another() {
    let (gate, _clock) = gate([Rule::new("pairs").key(["a", "b"]).quota("1/h")]);
    assert!(gate.enter(&[("a", "x"), ("b", "yz")]).is_ok());
    assert!(gate.enter(&[("a", "xy"), ("b", "z")]).is_ok());
    assert!(gate.enter(&[("b", "yz"), ("a", "x")]).is_err());
}

#[test]
fn overrides_give_a_key_quotas_of_its_own() {
    let rule = Rule::new("partners").key(["caller"]).quota("1/h").override_quota("partner-a", "3/h");
    let (gate, _clock) = gate([rule]);
    let admitted = |caller: &str| (0..10).filter(|_| gate.enter(&[("caller", caller)]).is_ok()).count();
    assert_eq!((admitted("partner-a"), admitted("other")), (3, 1));
}

#[test]
fn cost_multiplies_and_more_than_a_rule_can_ever_give_is_told_apart() {
    let (gate, _clock) = gate([prefix("a", "/").quota("10/h").cost(3)]);
    assert!(gate.enter_n(&path("/"), 3, None).is_ok());
    assert_eq!(refused(gate.enter(&path("/"))).status, Status::Denied);
    let refusal = refused(gate.enter_n(&path("/"), 4, None));
    assert_eq!((refusal.status, refusal.retry_after_ns), (Status::ExceedsCapacity, Some(NEVER_NS)));
    assert_eq!(gate.enter_n(&path("/"), 0, None).unwrap_err().status(), Status::InvalidCost);
    assert_eq!(refused(gate.enter_n(&path("/"), (1 << 53) - 1, None)).status, Status::ExceedsCapacity);
}

#[test]
fn permits_are_held_until_the_entry_is_released_on_any_thread() {
    let (gate, _clock) = gate([prefix("a", "/").concurrency(1)]);
    let entry = gate.enter(&path("/a")).unwrap();
    let refusal = refused(gate.enter(&path("/a")));
    assert_eq!((refusal.limit, refusal.remaining, refusal.in_flight, refusal.retry_after_ns), (1, 0, 1, None));
    assert_eq!(refusal.to_string(), "denied by rule a: 1 permit, 0 available");
    std::thread::spawn(move || entry.release(false)).join().unwrap();
    gate.enter(&path("/a")).unwrap().release(true);
    let stats = gate.stats();
    assert_eq!((stats.released_ok, stats.released_failed), (1, 1));
    assert_eq!((stats.rules[0].admitted, stats.rules[0].refused), (2, 1));
}

#[test]
fn an_entry_without_permits_has_nothing_to_release_and_does_not_count() {
    let (gate, _clock) = gate([prefix("a", "/a").quota("2/h")]);
    for (status, there) in [(Status::Allowed, "/a"), (Status::NoRule, "/elsewhere")] {
        let entry = gate.enter(&path(there)).unwrap();
        assert_eq!((entry.status(), entry.holds_permits()), (status, false));
        entry.release(false);
        drop(gate.enter(&path(there)).unwrap());
    }
    let stats = gate.stats();
    assert_eq!((stats.admitted, stats.unmatched, stats.released_ok, stats.released_failed), (2, 2, 0, 0));
}

#[test]
fn a_body_that_panics_gives_its_permits_back_and_counts_as_failed() {
    let (gate, _clock) = gate([prefix("a", "/").concurrency(1)]);
    let body = || {
        let _entry = gate.enter(&path("/a")).unwrap();
        panic!("a fault in the work");
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err());
    assert!(gate.enter(&path("/a")).is_ok());
    assert_eq!(gate.stats().released_failed, 1);
}

#[test]
fn shadow_counts_what_it_would_refuse_and_refuses_nothing() {
    let shadow = prefix("new", "/").quota("1/h").mode(Mode::Shadow);
    let (gate, _clock) = gate([shadow, prefix("old", "/").concurrency(2)]);
    let events = gate.events();
    let _held = [gate.enter(&path("/")).unwrap(), gate.enter(&path("/")).unwrap()];
    assert!(gate.enter(&path("/")).is_err());
    let stats = gate.stats();
    assert_eq!((stats.rules[0].admitted, stats.rules[0].refused), (1, 1));
    assert_eq!((stats.admitted, stats.refused), (2, 1));
    let Some(GateEvent::ShadowRefused(refusal)) = events.next(Duration::ZERO) else { panic!("no event") };
    assert_eq!(refusal.rule, "new");
    assert!(matches!(events.next(Duration::ZERO), Some(GateEvent::Refused(refusal)) if refusal.rule == "old"));
}

#[test]
fn keys_are_shown_only_if_the_rules_say_so() {
    let rules = |show_keys| Rules { show_keys, rules: vec![Rule::new("a").key(["client", "user"]).quota("1/h")] };
    let request = [("client", "203.0.113.7"), ("user", "ann")];
    for (show_keys, is_shown) in [(false, false), (true, true)] {
        let (gate, _clock) = gate(rules(show_keys));
        let _first = gate.enter(&request).unwrap();
        let key = refused(gate.enter(&request)).key.unwrap();
        assert_eq!(key.contains("203.0.113.7"), is_shown, "{key}");
        assert_eq!(key == "203.0.113.7, ann", is_shown, "{key}");
    }
}

#[test]
fn a_new_limit_counts_from_the_next_request_on_and_what_is_used_stays_used() {
    // G4, G5
    let rules = |quota: &str| [prefix("a", "/a").quota(quota), prefix("b", "/b").quota("5/h")];
    let (gate, _clock) = gate(rules("10/h"));
    for place in ["/a", "/b"] {
        (0..3).for_each(|_| drop(gate.enter(&path(place)).unwrap()));
    }
    let reloaded = gate.set_rules(rules("10/h")).unwrap();
    assert_eq!(reloaded.unchanged, ["a", "b"]);
    let reloaded = gate.set_rules(rules("4/h")).unwrap();
    assert_eq!((reloaded.changed, reloaded.unchanged), (vec!["a".to_string()], vec!["b".to_string()]));
    assert!(gate.enter(&path("/a")).is_ok());
    for _ in 0..100 {
        assert!(gate.enter(&path("/a")).is_err());
    }
    gate.set_rules(rules("6/h")).unwrap();
    assert_eq!((0..10).filter(|_| gate.enter(&path("/a")).is_ok()).count(), 2);
    assert_eq!((0..10).filter(|_| gate.enter(&path("/b")).is_ok()).count(), 2);
}

#[test]
fn a_rule_that_is_removed_lets_its_entries_finish_and_one_that_comes_counts_at_once() {
    let (gate, _clock) = gate([prefix("a", "/").concurrency(1)]);
    let entry = gate.enter(&path("/")).unwrap();
    let reloaded = gate.set_rules([prefix("b", "/").concurrency(0)]).unwrap();
    assert_eq!((reloaded.removed, reloaded.added), (vec!["a".to_string()], vec!["b".to_string()]));
    assert_eq!(refused(gate.enter(&path("/"))).rule, "b");
    drop(entry);
    let reloaded = gate.set_rules([prefix("b", "/").quota("1/h")]).unwrap();
    assert_eq!(reloaded.restarted, ["b"]);
    assert!(gate.enter(&path("/")).is_ok());
}

#[test]
fn a_default_that_is_written_out_is_no_change_of_the_table() {
    let rule = || Rule::new("a").key(["client"]).quota("1/h");
    let (gate, _clock) = gate(rule());
    assert!(gate.enter(&[("client", "ann")]).is_ok());
    assert_eq!(gate.set_rules(rule().max_keys(100_000).when_full(WhenFull::Evict)).unwrap().changed, ["a"]);
    assert!(gate.enter(&[("client", "ann")]).is_err());
}

#[test]
fn permits_that_are_out_count_after_their_rule_was_changed_or_switched_off_and_on() {
    let rule = |limit| prefix("a", "/").concurrency(limit);
    let (gate, _clock) = gate([rule(2)]);
    let _held = [gate.enter(&path("/")).unwrap(), gate.enter(&path("/")).unwrap()];
    gate.set_rules([rule(3).mode(Mode::Off)]).unwrap();
    assert!(!gate.enter(&path("/")).unwrap().applies());
    gate.set_rules([rule(3)]).unwrap();
    let _third = gate.enter(&path("/")).unwrap();
    assert!(gate.enter(&path("/")).is_err());
    gate.set_rules([rule(3).max_waiters(7).timeout(Duration::from_secs(1))]).unwrap();
    assert_eq!(gate.stats().rules[0].limiter.in_flight, 3);
}

#[test]
fn rules_with_anything_wrong_change_nothing_and_all_of_it_is_told() {
    // G3
    let (gate, _clock) = gate([prefix("a", "/").concurrency(1)]);
    let text = r#"
[[rules]]
name = "a"
concurrency = 5

[[rules]]
name = "b"
quota = "100/fortnight"
cost = 0

[[rules]]
name = "c"
match = { path = { regex = "(" } }
quota = "1/s"
colour = "red"

[[rules]]
name = "b"
"#;
    let events = gate.events();
    let faults = gate.reload(text, Format::Toml).unwrap_err();
    let told: Vec<(Option<u32>, &str, &str)> = faults
        .0
        .iter()
        .map(|fault| (fault.line, fault.rule.as_deref().unwrap_or_default(), fault.argument.as_str()))
        .collect();
    for fault in [
        (Some(8), "b", "quota"),
        (Some(9), "b", "cost"),
        (Some(13), "c", "match.path.regex"),
        (Some(15), "c", "colour"),
        (Some(18), "b", "name"),
    ] {
        assert!(told.contains(&fault), "{fault:?} in {told:?}");
    }
    assert!(told.iter().any(|(_, rule, argument)| (*rule, *argument) == ("b", "quota")), "{told:?}");
    let _held = gate.enter(&path("/")).unwrap();
    assert!(gate.enter(&path("/")).is_err());
    assert!(matches!(events.next(Duration::ZERO), Some(GateEvent::ReloadFailed(told)) if told == faults));
}

#[test]
fn a_listener_that_panics_breaks_no_decision_and_hears_the_next_event() {
    // G7
    let (gate, _clock) = gate([prefix("a", "/").concurrency(0)]);
    let (tell, told) = std::sync::mpsc::channel();
    gate.listen(move |event| {
        tell.send(event.name()).unwrap();
        panic!("a fault of the listener");
    })
    .unwrap();
    for _ in 0..3 {
        assert_eq!(refused(gate.enter(&path("/"))).status, Status::Denied);
        assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok("refused"));
    }
    drop(gate);
    assert!(told.recv_timeout(Duration::from_secs(60)).is_err(), "the listener's thread has ended");
}

#[test]
fn events_that_nobody_takes_are_dropped_and_counted_and_no_decision_waits() {
    let (gate, _clock) = gate([prefix("a", "/").concurrency(0)]);
    let events = gate.events();
    for _ in 0..10_000 {
        assert!(gate.enter(&path("/")).is_err());
    }
    let taken = std::iter::from_fn(|| events.next(Duration::ZERO)).count() as u64;
    assert_eq!(taken + events.dropped(), 10_000);
    assert!(taken <= 1_024, "{taken}");
}

#[test]
fn explain_tells_which_rule_matched_and_why_not_and_spends_nothing() {
    // G2
    let glob = Rule::new("glob").matching("path", Pattern::glob("ass*")).quota("5/h");
    let regex = Rule::new("regex").matching("path", Pattern::regex("/ass.*")).quota("5/h");
    let absent = Rule::new("absent").matching("method", Pattern::exact("GET")).quota("5/h");
    let (gate, _clock) = gate([glob, regex, absent]);
    for _ in 0..10 {
        let explanation = gate.explain(&path("/assign/sso/user"), 1);
        let [glob, regex, absent] = explanation.rules.as_slice() else { panic!("{explanation}") };
        assert!(!glob.matched && regex.matched && !absent.matched, "{explanation}");
        assert_eq!((regex.status, regex.remaining), (Some("allowed"), Some(5)));
        assert_eq!(glob.to_string(), "rule glob: does not match, since path \"/assign/sso/user\" is not glob ass*");
        assert_eq!(absent.to_string(), "rule absent: does not match, since there is no method");
    }
}

#[test]
fn an_entry_tells_whether_it_holds_permits() {
    for (rule, holds) in [
        (prefix("permits", "/a").concurrency(1), true),
        (prefix("keyed", "/a").concurrency(1).key(["path"]), true),
        (prefix("shadow", "/a").concurrency(1).mode(Mode::Shadow), true),
        (prefix("tokens", "/a").quota("5/h"), false),
        (prefix("elsewhere", "/b").concurrency(1), false),
    ] {
        let (gate, _clock) = gate([rule, prefix("all", "/").quota("10/h")]);
        assert_eq!(gate.enter(&path("/a")).unwrap().holds_permits(), holds, "{gate:?}");
    }
}

#[test]
fn headers_and_the_body_of_a_refusal_are_as_the_standards_have_them() {
    let (gate, clock) = gate([prefix("search", "/").quota("100/min"), prefix("all", "/").quota("5/s").quota("200/h")]);
    let entry = gate.enter_n(&path("/"), 5, None).unwrap();
    let headers = entry.headers();
    assert_eq!(headers.policy, "\"search\";q=100;w=60, \"all/1\";q=5;w=1, \"all/2\";q=200;w=3600");
    assert_eq!(headers.limit, "\"search\";r=95;t=3, \"all/1\";r=0;t=1");
    assert_eq!(headers.retry_after_s, None);
    let (other, _clock) = self::gate(prefix("two", "/").quota("10/min").quota("100/h"));
    assert_eq!(other.enter(&path("/")).unwrap().headers().limit, "\"two/1\";r=9;t=6");
    let shadow = prefix("shadow", "/").quota("1/h").mode(Mode::Shadow);
    let (other, _clock) = self::gate([prefix("burst", "/").quota("20/s burst 30"), shadow]);
    let headers = other.enter(&path("/")).unwrap().headers();
    assert_eq!((&*headers.policy, &*headers.limit), ("\"burst\";q=20;w=1", "\"burst\";r=20;t=1"));
    clock.advance_ns(1);
    let refusal = refused(gate.enter(&path("/")));
    let headers = refusal.headers();
    assert_eq!(headers.limit, "\"all/1\";r=0;t=1");
    assert_eq!(headers.retry_after_s, Some(1));
    let problem: serde_json::Value = serde_json::from_str(&refusal.problem_json()).unwrap();
    assert_eq!(
        (&problem["status"], &problem["rule"], &problem["reason"]),
        (&429.into(), &"all".into(), &"denied".into())
    );
    assert_eq!(problem["retry_after"], 0.199_999_999);
}
