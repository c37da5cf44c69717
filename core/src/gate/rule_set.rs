//! The rules of a gate at one time, which never change: another set takes their place.

use super::checked::{Checked, Patience};
use super::headers;
use super::index::Index;
use super::limiter::Limiter;
use super::rule::{Mode, Rule};
use crate::MAX_COST;
use crate::quota::Quota;
use crate::stats::Counters;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The values of a request's attributes, by the attributes' numbers in the set.
pub(super) type Values<'a> = [Option<&'a [u8]>];

/// Rules by their places in the set, ascending.
pub(super) type Found = SmallVec<[u32; 8]>;

pub(super) struct RuleSet {
    pub(super) show_keys: bool,
    /// In the order in which they are tried: those that don't wait, by what they cost; those that do, permits first, by name, so
    /// that no two requests wait for each other; those in shadow; those that are off.
    pub(super) rules: Vec<Placed>,
    /// The places of the rules in the order in which they were written.
    pub(super) as_written: Vec<u32>,
    /// Where those begin that wait, that are in shadow, that are off.
    pub(super) first_waiting: u32,
    pub(super) first_shadow: u32,
    first_off: u32,
    pub(super) attributes: Vec<String>,
    pub(super) index: Index,
    /// Of the whole gate.
    pub(super) counters: Arc<Counters>,
}

/// A rule in its set.
pub(super) struct Placed {
    pub(super) rule: Rule,
    pub(super) quotas: Vec<Quota>,
    /// The quotas in `RateLimit-Policy`.
    pub(super) policy: String,
    /// How many items of `RateLimit` the rules before have.
    pub(super) first_item: usize,
    pub(super) overrides: Vec<(String, Vec<Quota>)>,
    pub(super) patience: Patience,
    pub(super) cost: u64,
    /// The numbers of the attributes that make the key.
    key: SmallVec<[usize; 2]>,
    /// The attributes of the conditions, in the index's order.
    pub(super) conditions: Vec<String>,
    /// Shared with the sets before and after, as long as the rule is the same one.
    pub(super) limiter: Arc<Limiter>,
    pub(super) counters: Arc<Counters>,
    /// Whether its last answer was a refusal: such a rule is tried first.
    pub(super) refused_last: AtomicBool,
}

/// A checked rule, with the limiter and the counters that it is to have.
pub(super) struct Kept {
    pub(super) checked: Checked,
    pub(super) limiter: Arc<Limiter>,
    pub(super) counters: Arc<Counters>,
}

impl RuleSet {
    pub(super) fn new(show_keys: bool, rules: Vec<Kept>, counters: Arc<Counters>) -> Self {
        let mut rules: Vec<(usize, Kept)> = rules.into_iter().enumerate().collect();
        rules.sort_by(|(_, a), (_, b)| order(&a.checked).cmp(&order(&b.checked)));
        let begins = |class: u8| rules.partition_point(|(_, kept)| order(&kept.checked).0 < class) as u32;
        let (first_waiting, first_shadow, first_off) = (begins(WAITING), begins(SHADOW), begins(OFF));
        let mut as_written = vec![0; rules.len()];
        for (place, (written, _)) in rules.iter().enumerate() {
            as_written[*written] = place as u32;
        }
        let mut attributes = Vec::new();
        let mut numbers = HashMap::new();
        let mut conditions = Vec::new();
        let mut items = 0;
        let mut number = |name: &String| {
            *numbers.entry(name.clone()).or_insert_with(|| {
                attributes.push(name.clone());
                attributes.len() - 1
            })
        };
        let mut place = |Kept { checked, limiter, counters }: Kept| {
            let Checked { rule, conditions: own, quotas, overrides, patience, .. } = checked;
            let key = rule.key.iter().map(&mut number).collect();
            let names = own.iter().map(|(name, _)| name.clone()).collect();
            conditions.push(own.into_iter().map(|(name, matcher)| (number(&name), matcher)).collect());
            let first_item = items;
            items += quotas.len();
            Placed {
                first_item,
                cost: rule.cost.unwrap_or(1),
                policy: headers::policy(&rule.name, &quotas),
                rule,
                quotas,
                overrides,
                patience,
                key,
                conditions: names,
                limiter,
                counters,
                refused_last: AtomicBool::new(false),
            }
        };
        let rules = rules.into_iter().map(|(_, kept)| place(kept)).collect();
        let index = Index::new(conditions);
        Self { show_keys, rules, as_written, first_waiting, first_shadow, first_off, attributes, index, counters }
    }

    /// The values that the rules ask for. Of an attribute that is given twice, the first counts.
    #[inline]
    pub(super) fn values<'a, V: AsRef<[u8]>>(&self, attributes: &'a [(&str, V)]) -> SmallVec<[Option<&'a [u8]>; 8]> {
        let mut values = SmallVec::<[Option<&[u8]>; 8]>::from_elem(None, self.attributes.len());
        for (name, value) in attributes {
            if let Some(number) = self.attributes.iter().position(|known| known == name)
                && values[number].is_none()
            {
                values[number] = Some(value.as_ref());
            }
        }
        values
    }

    pub(super) fn value<'a>(&self, values: &Values<'a>, attribute: &str) -> Option<&'a [u8]> {
        let number = self.attributes.iter().position(|known| known == attribute)?;
        values[number]
    }

    /// The rules in use that match.
    #[inline]
    pub(super) fn matching(&self, values: &Values<'_>, found: &mut Found) {
        self.index.matching(values, found);
        while found.last().is_some_and(|place| *place >= self.first_off) {
            found.pop();
        }
    }

    pub(super) fn rule(&self, place: u32) -> &Placed {
        &self.rules[place as usize]
    }
}

impl Placed {
    /// The key of a request: the one value as it is, or several with their lengths, as [`key_of`](crate::key_of) joins them. An
    /// attribute that the request doesn't have counts as empty, so that nobody escapes by leaving it out.
    #[inline]
    pub(super) fn key<'k>(&self, values: &'k Values<'_>, joined: &'k mut SmallVec<[u8; 64]>) -> &'k [u8] {
        match self.key.as_slice() {
            [] => &[],
            [one] => values[*one].unwrap_or_default(),
            several => {
                joined.clear();
                for attribute in several {
                    let value = values[*attribute].unwrap_or_default();
                    joined.extend_from_slice(&(value.len() as u64).to_le_bytes());
                    joined.extend_from_slice(value);
                }
                joined
            }
        }
    }

    /// What a request costs here.
    #[inline]
    pub(super) fn cost(&self, cost: u64) -> u64 {
        self.cost.saturating_mul(cost).min(MAX_COST)
    }
}

const WAITING: u8 = 10;
const SHADOW: u8 = 20;
const OFF: u8 = 30;

/// By what a rule's turn comes: its class, and its name among those that wait.
fn order(checked: &Checked) -> (u8, &str) {
    let rule = &checked.rule;
    let is_rate = rule.concurrency.is_none();
    match rule.mode {
        Mode::Off => (OFF, ""),
        Mode::Shadow => (SHADOW, ""),
        Mode::Enforce if checked.patience != Patience::None => (WAITING + u8::from(is_rate), &rule.name),
        // What a decision costs: a permit least, then a quota, more with a key, and again for each further quota.
        Mode::Enforce => {
            let quotas = checked.quotas.len().min(4) as u8;
            (quotas + 2 * u8::from(!rule.key.is_empty()), "")
        }
    }
}
