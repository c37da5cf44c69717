//! A rule whose every part is known to be right.

use super::fault::Fault;
use super::limiter::Limiter;
use super::pattern::Matcher;
use super::rule::Rule;
use crate::clock::Clock;
use crate::quota::{Quota, duration_ns, quoted};
use crate::wait::MAX_WAITERS;
use crate::{
    ConcurrencyOptions, DEFAULT_MAX_KEYS, Error, KeyedConcurrencyOptions, KeyedRateOptions, MAX_COST, RateOptions,
};
use std::collections::HashSet;
use std::time::Duration;

/// How long a request may wait for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    None,
    AtMost(Duration),
    /// As long as its call.
    Call,
}

pub(super) struct Checked {
    pub(super) rule: Rule,
    pub(super) conditions: Vec<(String, Matcher)>,
    /// None: it has a limit of permits.
    pub(super) quotas: Vec<Quota>,
    pub(super) overrides: Vec<(String, Vec<Quota>)>,
    pub(super) patience: Patience,
}

impl Checked {
    /// With a limiter of which nothing is used; or all that is wrong.
    pub(super) fn new(rule: Rule, clock: &Clock) -> Result<(Self, Limiter), Vec<Fault>> {
        let mut faults = Vec::new();
        check_name(&rule, &mut faults);
        let conditions = conditions(&rule, &mut faults);
        check_key(&rule, &mut faults);
        check_cost(&rule, &mut faults);
        let patience = patience(&rule, &mut faults);
        let quotas = read_quotas("quota", &rule.quota, &mut faults);
        let overrides = overrides(&rule, &mut faults);
        check_kind(&rule, &mut faults);
        if !faults.is_empty() {
            return Err(faults);
        }
        let limiter = build(&rule, &quotas, &overrides, clock)?;
        Ok((Self { rule, conditions, quotas, overrides, patience }, limiter))
    }
}

fn check_name(rule: &Rule, faults: &mut Vec<Fault>) {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
    if !(1..=100).contains(&rule.name.len()) || !rule.name.bytes().all(is_plain) {
        let allowed = "1 to 100 printable ASCII characters, without \" and \\";
        faults.push(Fault::new("name", quoted(&rule.name), allowed));
    }
}

fn conditions(rule: &Rule, faults: &mut Vec<Fault>) -> Vec<(String, Matcher)> {
    let mut conditions = Vec::new();
    for (attribute, pattern) in &rule.matches {
        match Matcher::new(pattern) {
            Ok(matcher) => conditions.push((attribute.clone(), matcher)),
            Err(wrong) => {
                let argument = format!("match.{attribute}.{}", pattern.mode());
                faults.extend(wrong.into_iter().map(|(value, allowed)| Fault::new(&*argument, value, allowed)));
            }
        }
    }
    conditions
}

fn check_key(rule: &Rule, faults: &mut Vec<Fault>) {
    let mut seen = HashSet::new();
    for attribute in &rule.key {
        if attribute.is_empty() || !seen.insert(attribute) {
            faults.push(Fault::new("key", quoted(attribute), "names of attributes, each once"));
        }
    }
    let keyed_only = [("max_keys", rule.max_keys.is_some()), ("when_full", rule.when_full.is_some())];
    for (argument, _) in keyed_only.iter().filter(|(_, is_set)| *is_set && rule.key.is_empty()) {
        faults.push(Fault::new(*argument, "a value in a rule without a key", "a rule with a key"));
    }
}

fn check_cost(rule: &Rule, faults: &mut Vec<Fault>) {
    if let Some(cost) = rule.cost.filter(|cost| !(1..=MAX_COST).contains(cost)) {
        faults.push(Fault::new("cost", cost, format_args!("1 to {MAX_COST}")));
    }
}

fn check_kind(rule: &Rule, faults: &mut Vec<Fault>) {
    let has_quota = !rule.quota.is_empty();
    if has_quota == rule.concurrency.is_some() {
        let value = if has_quota { "quota and concurrency" } else { "neither quota nor concurrency" };
        let argument = if has_quota { "concurrency" } else { "quota" };
        faults.push(Fault::new(argument, value, "one of quota, such as \"100/s\", and concurrency, such as 10"));
    }
    if rule.concurrency.is_some() && rule.when_full.is_some() {
        let allowed = "a rule with a quota: a key with permits out is never evicted";
        faults.push(Fault::new("when_full", "a value in a rule with concurrency", allowed));
    }
    if !rule.overrides.is_empty() && (!has_quota || rule.key.len() != 1) {
        let value = format!("overrides with {} attributes as key", rule.key.len());
        faults.push(Fault::new("overrides", value, "a rule with a quota whose key is one attribute"));
    }
}

fn patience(rule: &Rule, faults: &mut Vec<Fault>) -> Patience {
    match rule.timeout.as_deref() {
        None => Patience::None,
        Some("call") => Patience::Call,
        Some(text) => match duration_ns(text) {
            Ok(0) => Patience::None,
            Ok(ns) => Patience::AtMost(Duration::from_nanos(ns)),
            Err(mistake) => {
                faults.push(Fault::new("timeout", mistake.value(), format_args!("call, or {}", mistake.allowed())));
                Patience::None
            }
        },
    }
}

fn read_quotas(argument: &str, texts: &[String], faults: &mut Vec<Fault>) -> Vec<Quota> {
    let mut quotas = Vec::new();
    for text in texts {
        match Quota::parse_list(text) {
            Ok(list) => quotas.extend(list),
            Err(mistake) => faults.push(Fault::of(argument, &mistake)),
        }
    }
    quotas
}

fn overrides(rule: &Rule, faults: &mut Vec<Fault>) -> Vec<(String, Vec<Quota>)> {
    let read =
        |(key, texts): (&String, &Vec<String>)| (key.clone(), read_quotas(&format!("overrides.{key}"), texts, faults));
    rule.overrides.iter().map(read).collect()
}

fn build(
    rule: &Rule,
    quotas: &[Quota],
    overrides: &[(String, Vec<Quota>)],
    clock: &Clock,
) -> Result<Limiter, Vec<Fault>> {
    let fault = |field: &'static str| {
        move |mistake: Error| {
            // What has a field of its own is told by its name.
            let argument =
                if ["max_keys", "max_waiters"].contains(&mistake.argument()) { mistake.argument() } else { field };
            vec![Fault::of(argument, &mistake)]
        }
    };
    let max_keys = rule.max_keys.unwrap_or(DEFAULT_MAX_KEYS);
    let max_waiters = rule.max_waiters.unwrap_or(MAX_WAITERS);
    let clock = clock.clone();
    match (rule.concurrency, rule.key.is_empty()) {
        (None, true) => {
            let options = RateOptions::new().clock(clock).max_waiters(max_waiters);
            options.build(quotas).map(Limiter::Rate).map_err(fault("quota"))
        }
        (None, false) => {
            let options = KeyedRateOptions::new().clock(clock).max_keys(max_keys).max_waiters(max_waiters);
            let options = options.when_full(rule.when_full.unwrap_or_default());
            let limiter = options.build(quotas).map_err(fault("quota"))?;
            let set = |(key, quotas): &(String, Vec<Quota>)| {
                let mistake = limiter.set_quota(key, quotas.as_slice()).err()?;
                Some(Fault::of(format!("overrides.{key}"), &mistake))
            };
            let faults: Vec<Fault> = overrides.iter().filter_map(set).collect();
            if faults.is_empty() { Ok(Limiter::KeyedRate(limiter)) } else { Err(faults) }
        }
        (Some(permits), true) => {
            let options = ConcurrencyOptions::new().clock(clock).max_waiters(max_waiters);
            options.build(permits).map(Limiter::Permits).map_err(fault("concurrency"))
        }
        (Some(permits), false) => {
            let options = KeyedConcurrencyOptions::new().clock(clock).max_keys(max_keys).max_waiters(max_waiters);
            options.build(permits).map(Limiter::KeyedPermits).map_err(fault("concurrency"))
        }
    }
}
