//! Rules and refusals that go to other processes, or come from there.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

use std::time::Duration;
use tidegate::gate::{Fault, Faults, Format, GateEvent, Pattern, Refusal, Rule, Rules};
use tidegate::{Gate, Status};

#[test]
fn rules_as_json_are_read_back_as_the_same_rules() {
    let rules = [
        Rule::new("search").matching("path", Pattern::prefix("/search")).key(["client"]).quota("10/s").quota("100/min"),
        Rule::new("files")
            .matching("path", Pattern::glob("/files/**"))
            .concurrency(4)
            .timeout(Duration::from_millis(50)),
    ];
    let gate = Gate::new(rules).unwrap();
    let mut rules: Rules = gate.rules();
    rules.show_keys = true;
    assert_eq!(Gate::parse(&rules.to_json(), Format::Json).unwrap().rules(), rules);
}

#[test]
fn a_refusal_made_of_the_figures_of_another_says_the_same() {
    let gate = Gate::new(Rule::new("a").key(["client"]).quota("1/h")).unwrap();
    let _entry = gate.enter(&[("client", "x")]).unwrap();
    let refused = gate.enter(&[("client", "x")]).unwrap_err();
    let original = refused.refusal().unwrap();
    let mut copy = Refusal::of("a", Status::Denied);
    copy.key.clone_from(&original.key);
    (copy.limit, copy.remaining, copy.waiting) = (original.limit, original.remaining, original.waiting);
    (copy.quota, copy.retry_after_ns) = (original.quota, original.retry_after_ns);
    copy.quotas.clone_from(&original.quotas);
    assert_eq!(&copy, original);
    assert_eq!(copy.headers(), original.headers());
}

#[test]
fn who_listens_is_told_that_rules_could_not_be_had() {
    let gate = Gate::new([]).unwrap();
    let events = gate.events();
    let mut fault = Fault::default();
    (fault.argument, fault.value) = ("source".into(), "no database".into());
    gate.reload_failed(Faults(vec![fault.clone()]));
    assert_eq!(events.next(Duration::ZERO), Some(GateEvent::ReloadFailed(Faults(vec![fault]))));
}
