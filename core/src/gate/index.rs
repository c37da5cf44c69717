//! Which rules match a request, without asking those that cannot.

mod literals;
mod set;

use super::pattern::Matcher;
use literals::Literals;
use set::Set;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many expressions make one set: of more, the automaton may have more states than it is worth.
const SET_EXPRESSIONS: usize = 128;

/// What a request says: the value of each attribute, by the attribute's number.
type Values<'a> = [Option<&'a [u8]>];

/// Rules, each filed under one of its conditions: the one that the fewest requests may be expected to meet.
///
/// A condition has literals, of which a value must begin with one, or be one. All conditions of an attribute that rules are
/// filed under lie in one sorted array of literals, so that a value is looked up by one binary search, however many rules there
/// are; expressions without a literal, and those with the same, are asked in one pass over the value. What is found is then asked
/// for what isn't known yet. Nothing is kept of values.
#[derive(Debug)]
pub(super) struct Index {
    rules: Vec<Vec<(usize, Matcher)>>,
    /// The rules without conditions.
    always: Vec<u32>,
    /// By the attribute's number; only attributes that rules are filed under.
    shelves: Vec<(usize, Shelf)>,
}

#[derive(Debug, Default)]
struct Shelf {
    literals: Literals,
    /// By the literal's place.
    folders: Vec<Folder>,
}

/// The rules filed under one literal.
#[derive(Debug, Default)]
struct Folder {
    /// The condition holds if the value is the literal.
    exact: Vec<Filing>,
    /// The condition holds if the value begins with the literal.
    prefix: Vec<Filing>,
    /// The condition may hold if the value begins with the literal.
    expressions: Vec<Filing>,
    /// These expressions, if there are several: so many to a set, or none where that can't be.
    sets: Vec<Option<Set>>,
}

#[derive(Clone, Copy, Debug)]
struct Filing {
    rule: u32,
    /// The condition that the rule is filed under, by its place.
    under: u32,
    /// Whether there are others.
    more: bool,
}

impl Index {
    /// Of rules, each with the conditions that must all hold: the attribute's number and the matcher of its value.
    pub(super) fn new(rules: Vec<Vec<(usize, Matcher)>>) -> Self {
        let popularity = Popularity::new(&rules);
        let mut always = Vec::new();
        let mut shelves: BTreeMap<usize, BTreeMap<Box<[u8]>, Folder>> = BTreeMap::new();
        for (rule, conditions) in rules.iter().enumerate() {
            let Some(under) = popularity.rarest(conditions) else {
                always.push(rule as u32);
                continue;
            };
            let (attribute, matcher) = &conditions[under];
            let filing = Filing { rule: rule as u32, under: under as u32, more: conditions.len() > 1 };
            let shelf = shelves.entry(*attribute).or_default();
            for literal in matcher.literals() {
                let folder = shelf.entry(literal.into()).or_default();
                match matcher {
                    Matcher::Exact(_) => folder.exact.push(filing),
                    Matcher::Prefix(_) => folder.prefix.push(filing),
                    Matcher::Expression(_) => folder.expressions.push(filing),
                }
            }
        }
        let shelves =
            shelves.into_iter().map(|(attribute, folders)| (attribute, Shelf::new(folders, &rules))).collect();
        Self { rules, always, shelves }
    }

    /// The conditions of a rule: the attribute's number and the matcher of its value.
    pub(super) fn conditions(&self, rule: usize) -> &[(usize, Matcher)] {
        &self.rules[rule]
    }

    /// The rules of which all conditions hold, ascending, in place of what was in `found`. An attribute that isn't there is None.
    #[inline]
    pub(super) fn matching(&self, values: &Values<'_>, found: &mut SmallVec<[u32; 8]>) {
        found.clear();
        found.extend_from_slice(&self.always);
        if !self.shelves.is_empty() {
            self.matching_on_shelves(values, found);
        }
    }

    fn matching_on_shelves(&self, values: &Values<'_>, found: &mut SmallVec<[u32; 8]>) {
        for (attribute, shelf) in &self.shelves {
            let Some(Some(value)) = values.get(*attribute) else { continue };
            for (place, is_whole) in shelf.literals.prefixes_of(value) {
                let folder = &shelf.folders[place];
                let known = if is_whole { &*folder.exact } else { &[] };
                found.extend(
                    known.iter().chain(&folder.prefix).filter(|it| self.rest_holds(it, values)).map(|it| it.rule),
                );
                if !folder.expressions.is_empty() {
                    self.ask(folder, value, values, found);
                }
            }
        }
        found.sort_unstable();
    }

    /// Adds the rules in the folder that are filed under an expression.
    fn ask(&self, folder: &Folder, value: &[u8], values: &Values<'_>, found: &mut SmallVec<[u32; 8]>) {
        for (chunk, filings) in folder.expressions.chunks(SET_EXPRESSIONS).enumerate() {
            let set = folder.sets.get(chunk).and_then(Option::as_ref);
            let asked = set.and_then(|set| {
                set.matching(value, |place| {
                    let filing = &filings[place];
                    if self.rest_holds(filing, values) {
                        found.push(filing.rule);
                    }
                })
            });
            if asked.is_none() {
                let holds = |filing: &&Filing| self.matcher(filing).is_match(value) && self.rest_holds(filing, values);
                found.extend(filings.iter().filter(holds).map(|filing| filing.rule));
            }
        }
    }

    /// The matcher of the condition that the rule is filed under.
    fn matcher(&self, filing: &Filing) -> &Matcher {
        &self.rules[filing.rule as usize][filing.under as usize].1
    }

    /// Whether all conditions hold but the one that the rule is filed under.
    #[inline]
    fn rest_holds(&self, filing: &Filing, values: &Values<'_>) -> bool {
        !filing.more
            || self.rules[filing.rule as usize].iter().enumerate().all(|(place, (attribute, matcher))| {
                place == filing.under as usize
                    || values.get(*attribute).copied().flatten().is_some_and(|value| matcher.is_match(value))
            })
    }
}

impl Shelf {
    fn new(mut folders: BTreeMap<Box<[u8]>, Folder>, rules: &[Vec<(usize, Matcher)>]) -> Self {
        for folder in folders.values_mut().filter(|folder| folder.expressions.len() > 1) {
            let conditions =
                folder.expressions.iter().map(|filing| &rules[filing.rule as usize][filing.under as usize].1);
            let expressions = conditions.filter_map(|matcher| match matcher {
                Matcher::Expression(expression) => Some(expression.whole()),
                _ => None,
            });
            folder.sets = expressions.collect::<Vec<_>>().chunks(SET_EXPRESSIONS).map(Set::new).collect();
        }
        let has_more = |folder: &Folder| !folder.prefix.is_empty() || !folder.expressions.is_empty();
        let (literals, folders): (Vec<_>, _) =
            folders.into_iter().map(|(literal, folder)| ((literal, has_more(&folder)), folder)).unzip();
        Self { literals: Literals::new(literals), folders }
    }
}

/// The literals of all conditions, by attribute, sorted. What many rules ask for, many requests may be expected to have.
struct Popularity<'a>(BTreeMap<usize, Vec<&'a [u8]>>);

impl<'a> Popularity<'a> {
    fn new(rules: &'a [Vec<(usize, Matcher)>]) -> Self {
        let mut literals: BTreeMap<usize, Vec<&[u8]>> = BTreeMap::new();
        for (attribute, matcher) in rules.iter().flatten() {
            literals.entry(*attribute).or_default().extend(matcher.literals());
        }
        literals.values_mut().for_each(|literals| literals.sort_unstable());
        Self(literals)
    }

    /// The place of the condition that the fewest other conditions would have to be looked at with; of several the one with the
    /// longest literals.
    fn rarest(&self, conditions: &[(usize, Matcher)]) -> Option<usize> {
        (0..conditions.len()).min_by_key(|place| {
            let (attribute, matcher) = &conditions[*place];
            let together = matcher.literals().map(|literal| self.of(*attribute, literal, matcher)).sum::<usize>();
            // A set is looked at once for all that are in it.
            let together = match matcher {
                Matcher::Expression(_) => together.div_ceil(SET_EXPRESSIONS),
                _ => together,
            };
            (together, Reverse(matcher.literals().map(<[u8]>::len).min()))
        })
    }

    /// How many literals of the attribute are this one, or, unless it is the whole value, begin with it.
    fn of(&self, attribute: usize, literal: &[u8], matcher: &Matcher) -> usize {
        let literals = self.0.get(&attribute).map(Vec::as_slice).unwrap_or_default();
        let from = &literals[literals.partition_point(|other| *other < literal)..];
        match matcher {
            Matcher::Exact(_) => from.partition_point(|other| *other == literal),
            _ => from.partition_point(|other| other.starts_with(literal)),
        }
    }
}

#[cfg(test)]
mod tests;
