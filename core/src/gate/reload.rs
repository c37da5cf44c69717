//! From the rules as they are written to those in use, keeping what is used.

use super::checked::Checked;
use super::fault::{Fault, Faults};
use super::limiter::Limiter;
use super::rule::{Rule, Rules};
use super::rule_set::{Kept, Placed, RuleSet};
use crate::clock::Clock;
use crate::stats::Counters;
use crate::wait::MAX_WAITERS;
use crate::{DEFAULT_MAX_KEYS, Error};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a change of rules did, by the rules' names, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Rules that are as they were.
    pub unchanged: Vec<String>,
    /// Rules that changed; what is used of them stays used.
    pub changed: Vec<String>,
    /// Rules that changed so that nothing could be kept: from quota to concurrency, in the number of quotas or their algorithms, or in
    /// `key`, `max_keys` or `when_full`.
    pub restarted: Vec<String>,
    /// Rules that are new.
    pub added: Vec<String>,
    /// Rules that are gone. Requests that hold something of them keep it until they are done.
    pub removed: Vec<String>,
}

/// The set of `rules` in place of `old`, if nothing is wrong with them; `faults` were found when they were read. `locate` says where in the
/// text a fault of the rule at a place is, and whether it is to be told.
pub(super) fn rule_set(
    rules: Rules,
    mut faults: Vec<Fault>,
    locate: impl Fn(usize, &mut Fault) -> bool,
    clock: &Clock,
    old: &RuleSet,
) -> Result<(RuleSet, Reloaded), Faults> {
    let Rules { show_keys, rules } = rules;
    let mut names = HashSet::new();
    let mut checked = Vec::new();
    for (place, rule) in rules.into_iter().enumerate() {
        let mut own = Vec::new();
        let name = rule.name.clone();
        if !names.insert(name.clone()) {
            own.push(Fault::new("name", format_args!("{name:?}, which another rule has"), "a name of its own"));
        }
        match Checked::new(rule, clock) {
            Ok(rule) => checked.push(rule),
            Err(wrong) => own.extend(wrong),
        }
        for mut fault in own {
            fault.rule = Some(if name.is_empty() { format!("#{}", place + 1) } else { name.clone() });
            if locate(place, &mut fault) {
                faults.push(fault);
            }
        }
    }
    if !faults.is_empty() {
        faults.sort_by_key(|fault| fault.line);
        return Err(Faults(faults));
    }
    let mut reloaded = Reloaded {
        removed: old.as_written.iter().map(|place| old.rule(*place).rule.name.clone()).collect(),
        ..Reloaded::default()
    };
    reloaded.removed.retain(|name| !names.contains(name));
    let before: HashMap<&str, &Placed> = old.rules.iter().map(|placed| (placed.rule.name.as_str(), placed)).collect();
    let keep = |(rule, fresh): (Checked, Limiter)| {
        let before = before.get(rule.rule.name.as_str()).copied();
        keep(rule, fresh, before, &mut reloaded)
    };
    let kept = checked.into_iter().map(keep).collect();
    Ok((RuleSet::new(show_keys, kept, Arc::clone(&old.counters)), reloaded))
}

/// A checked rule with the limiter that it had, if it can be kept.
fn keep(checked: Checked, fresh: Limiter, before: Option<&Placed>, reloaded: &mut Reloaded) -> Kept {
    let name = checked.rule.name.clone();
    let is_kept = |before: &&Placed| is_same_kind(&before.rule, &checked.rule) && change(before, &checked).is_ok();
    let limiter = before.filter(is_kept).map(|before| Arc::clone(&before.limiter));
    let list = match (before, &limiter) {
        (None, _) => &mut reloaded.added,
        (Some(_), None) => &mut reloaded.restarted,
        (Some(before), Some(_)) if before.rule == checked.rule => &mut reloaded.unchanged,
        (Some(_), Some(_)) => &mut reloaded.changed,
    };
    list.push(name);
    let counters = before.map_or_else(|| Arc::new(Counters::new()), |before| Arc::clone(&before.counters));
    let limiter = limiter.unwrap_or_else(|| Arc::new(fresh));
    Kept { checked, limiter, counters }
}

/// Whether the limiter of a rule can be changed to what another says. That the quotas are of the same kinds is seen when they are
/// [changed](change).
fn is_same_kind(old: &Rule, new: &Rule) -> bool {
    let max_keys = |rule: &Rule| rule.max_keys.unwrap_or(DEFAULT_MAX_KEYS);
    old.concurrency.is_some() == new.concurrency.is_some()
        && old.key == new.key
        && max_keys(old) == max_keys(new)
        && old.when_full.unwrap_or_default() == new.when_full.unwrap_or_default()
}

/// Changes the limiter of a rule as far as needed; what is used stays used. An error changes nothing.
fn change(old: &Placed, new: &Checked) -> Result<(), Error> {
    let permits = new.rule.concurrency.unwrap_or_default();
    let max_waiters = new.rule.max_waiters.unwrap_or(MAX_WAITERS);
    match &*old.limiter {
        Limiter::Rate(limiter) => {
            limiter.reconfigure(new.quotas.as_slice())?;
            limiter.set_max_waiters(max_waiters)
        }
        Limiter::Permits(limiter) => {
            limiter.set_limit(permits)?;
            limiter.set_max_waiters(max_waiters)
        }
        Limiter::KeyedPermits(limiter) => {
            limiter.set_limit(permits)?;
            limiter.set_max_waiters(max_waiters)
        }
        Limiter::KeyedRate(limiter) => {
            limiter.reconfigure(new.quotas.as_slice())?;
            limiter.set_max_waiters(max_waiters)?;
            let is_gone = |key: &String| !new.rule.overrides.contains_key(key);
            old.overrides.iter().filter(|(key, _)| is_gone(key)).for_each(|(key, _)| limiter.clear_quota(key));
            new.overrides.iter().try_for_each(|(key, quotas)| limiter.set_quota(key, quotas.as_slice()))
        }
    }
}
