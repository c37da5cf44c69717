//! Why a request is admitted or not: what each rule says to it.

use super::admission::{Asked, rank};
use super::limiter::Standing;
use super::pattern::Matcher;
use super::refusal::{hashed, shown, shown_key, write_key};
use super::rule::Mode;
use super::rule_set::Placed;
use crate::{NEVER_NS, Status};
use serde::Serialize;
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

/// What each rule says to a request. Shown as lines of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// What the request would be told: `allowed`, `no_rule`, or why not.
    pub status: &'static str,
    /// Each rule, as they are written.
    pub rules: Vec<RuleTrace>,
}

/// What one rule says to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleTrace {
    /// The rule's name.
    pub rule: String,
    /// Whether it refuses, only counts, or is out of use.
    pub mode: Mode,
    /// Whether all its conditions hold.
    pub matched: bool,
    /// Each of its conditions.
    pub conditions: Vec<ConditionTrace>,
    /// Whose budget it is; as in [`Refusal::key`](super::Refusal::key).
    pub key: Option<String>,
    /// What it would answer, if it matched: `allowed` or why not.
    pub status: Option<&'static str>,
    /// Tokens per period, or permits, if it matched.
    pub limit: Option<u64>,
    /// Tokens or permits that could be taken, if it matched.
    pub remaining: Option<u64>,
    /// After how many ns it would admit the request, if nobody else asks; `None` for never, or if that depends on others.
    pub retry_after_ns: Option<u64>,
    /// How many wait, if it matched.
    pub waiting: Option<u64>,
}

/// Whether one condition of a rule holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ConditionTrace {
    /// The attribute.
    pub attribute: String,
    /// How it is compared: `exact`, `prefix`, `glob` or `regex`.
    pub mode: &'static str,
    /// The texts, of which any would do.
    pub texts: Vec<String>,
    /// The attribute's value, at most 100 characters of it, or a hash if it is in a rule's key, as in
    /// [`Refusal::key`](super::Refusal::key); `None` if the request doesn't have it.
    pub value: Option<String>,
    /// Whether it holds.
    pub matched: bool,
}

impl Explanation {
    /// As JSON, with the fields' names.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, texts and lists: nothing that could fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

pub(super) fn explain(asked: &Asked<'_>) -> Explanation {
    let set = asked.set;
    // What a key is made of is shown nowhere, unless keys are.
    let keys = set.rules.iter().filter(|_| !set.show_keys).flat_map(|placed| &placed.rule.key);
    let secret: HashSet<&String> = keys.collect();
    let mut applies = false;
    let mut refuser = None;
    let trace = |place: &u32| {
        let (trace, standing) = trace(asked, *place, &secret);
        if let Some(Standing { status, retry_after_ns, .. }) = standing {
            applies |= trace.mode != Mode::Off;
            if trace.mode == Mode::Enforce && status != Status::Allowed {
                refuser = refuser.max(Some((rank(*place, retry_after_ns), status.name())));
            }
        }
        trace
    };
    let rules = set.as_written.iter().map(trace).collect();
    let admitted = if applies { Status::Allowed } else { Status::NoRule };
    Explanation { status: refuser.map_or(admitted.name(), |(_, status)| status), rules }
}

/// With how the rule's limiter stands, if the rule matched.
fn trace(asked: &Asked<'_>, place: u32, secret: &HashSet<&String>) -> (RuleTrace, Option<Standing>) {
    let placed = asked.set.rule(place);
    let conditions = conditions(asked, place, placed, secret);
    let matched = conditions.iter().all(|condition| condition.matched);
    let mut trace = RuleTrace {
        rule: placed.rule.name.clone(),
        mode: placed.rule.mode,
        matched,
        conditions,
        key: None,
        status: None,
        limit: None,
        remaining: None,
        retry_after_ns: None,
        waiting: None,
    };
    let standing = matched.then(|| asked.standing(place));
    if let Some(standing) = standing {
        trace.key = shown_key(asked.set, placed, asked.values);
        trace.status = Some(standing.status.name());
        trace.limit = Some(standing.limit);
        trace.remaining = Some(standing.remaining);
        trace.retry_after_ns = standing.retry_after_ns.filter(|ns| *ns != NEVER_NS);
        trace.waiting = Some(standing.waiting);
    }
    (trace, standing)
}

fn conditions(asked: &Asked<'_>, place: u32, placed: &Placed, secret: &HashSet<&String>) -> Vec<ConditionTrace> {
    let matchers = asked.set.index.conditions(place as usize).iter().map(|(_, matcher)| matcher);
    let condition = |(attribute, matcher): (&String, &Matcher)| {
        let pattern = &placed.rule.matches[attribute];
        let value = asked.set.value(asked.values, attribute);
        ConditionTrace {
            attribute: attribute.clone(),
            mode: pattern.mode(),
            texts: pattern.texts().to_vec(),
            matched: value.is_some_and(|value| matcher.is_match(value)),
            value: value.map(|value| if secret.contains(attribute) { hashed(value) } else { shown(value) }),
        }
    };
    placed.conditions.iter().zip(matchers).map(condition).collect()
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        self.rules.iter().try_for_each(|rule| write!(f, "\n{rule}"))
    }
}

impl fmt::Display for RuleTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}", self.rule)?;
        if self.mode != Mode::Enforce {
            write!(f, " ({})", self.mode.name())?;
        }
        f.write_str(if self.matched { ": matches" } else { ": does not match" })?;
        for (place, condition) in self.conditions.iter().enumerate() {
            write!(f, "{}{condition}", if place == 0 { ", since " } else { " and " })?;
        }
        let Some(status) = self.status else { return Ok(()) };
        write!(f, "; {status}")?;
        if let Some(key) = &self.key {
            f.write_str(" for ")?;
            write_key(f, key)?;
        }
        if let (Some(limit), Some(remaining)) = (self.limit, self.remaining) {
            write!(f, ", {remaining} of {limit} remaining")?;
        }
        match self.retry_after_ns {
            Some(ns) if ns > 0 => write!(f, ", retry after {:?}", Duration::from_nanos(ns)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ConditionTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attribute, mode, texts, value, matched } = self;
        match value {
            None => write!(f, "there is no {attribute}"),
            Some(value) => {
                let verb = if *matched { "is" } else { "is not" };
                write!(f, "{attribute} {value:?} {verb} {mode} {}", texts.join(" or "))
            }
        }
    }
}
