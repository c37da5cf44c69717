//! Requests through a gate, from enter to release. There is no peer that does the same.

use crate::PLENTY;
use crate::rounds::{Case, report, together};
use std::hint::black_box;
use tidegate::Gate;
use tidegate::gate::{Pattern, Rule};

const CALLS: u32 = 50_000;
const PATHS: usize = 10_000;

pub fn enter(rounds: usize) {
    let one = Gate::new(Rule::new("api").matching("path", Pattern::prefix("/api/")).concurrency(100)).expect("rules");
    let of_one = || drop(one.enter(black_box(&[("path", "/api/users/17")])).expect("a permit"));
    report("gate, 1 rule", together(rounds, &mut [Case::new("tidegate", CALLS, of_one)]));

    let hundred = Gate::new(hundred_rules()).expect("rules");
    let paths: Vec<String> = (0..PATHS).map(|item| format!("/api/items/{}", item * 7_919 % PATHS)).collect();
    let mut next = 0;
    let of_hundred = || {
        next = (next + 1) % PATHS;
        let request = [("path", paths[next].as_str()), ("client", "203.0.113.7")];
        drop(hundred.enter(black_box(&request)).expect("plenty"));
    };
    report("gate, 100 rules, 3 match", together(rounds, &mut [Case::new("tidegate", CALLS, of_hundred)]));
}

/// Of which three are about paths that begin with `/api/`.
fn hundred_rules() -> Vec<Rule> {
    let other = |number: usize| match number % 4 {
        0 => Pattern::exact(format!("/page{number}/about")),
        1 => Pattern::prefix(format!("/shop{number}/")),
        2 => Pattern::glob(format!("/files{number}/*/raw")),
        _ => Pattern::regex(format!("/blog{number}/[0-9]+")),
    };
    let others =
        (0..97).map(|number| Rule::new(format!("rule {number}")).matching("path", other(number)).concurrency(10));
    let per_second = format!("{PLENTY}/s");
    let ours = [
        Rule::new("all").concurrency(1_000),
        Rule::new("api").matching("path", Pattern::prefix("/api/")).quota(&per_second),
        Rule::new("clients").matching("path", Pattern::glob("/api/**")).key(["client"]).quota(&per_second),
    ];
    others.chain(ours).collect()
}
