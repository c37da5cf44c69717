//! All or nothing: what all rules that match are asked for, in turn, and what is given back if one refuses.

use super::limiter::{Standing, Taken};
use super::refusal::{Refusal, shown_key};
use super::rule_set::{Found, Placed, RuleSet, Values};
use crate::stats::Count;
use crate::{NEVER_NS, Status};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What rules gave.
pub(super) type Held = SmallVec<[Hold; 2]>;

/// What the rule at a place gave.
pub(super) struct Hold {
    pub(super) rule: u32,
    pub(super) taken: Taken,
}

/// One request to one set of rules.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) set: &'a Arc<RuleSet>,
    pub(super) values: &'a Values<'a>,
    /// What the request costs, before the rules multiply it.
    pub(super) cost: u64,
}

impl<'a> Asked<'a> {
    /// Asks all rules that were found, in turn, and nobody waits: whether any applies, or which refused. What was taken is in `held`.
    pub(super) fn ask(
        &self,
        found: &mut Found,
        held: &mut Held,
        refused: impl FnMut(&Refusal),
    ) -> Result<bool, (u32, Status)> {
        let (tries, waits, shadows) = phases(self.set, found);
        self.take(tries, held)?;
        self.take(waits, held)?;
        Ok(self.admitted(held, shadows, refused))
    }

    /// Takes from each of `places` in turn, up to the first that refuses.
    #[inline]
    pub(super) fn take(&self, places: &[u32], held: &mut Held) -> Result<(), (u32, Status)> {
        let mut joined = SmallVec::new();
        for place in places {
            let placed = self.set.rule(*place);
            match placed.limiter.take(placed.key(self.values, &mut joined), placed.cost(self.cost)) {
                Ok(taken) => {
                    placed.note_refused(false);
                    held.push(Hold { rule: *place, taken });
                }
                Err(status) => {
                    placed.note_refused(true);
                    return Err((*place, status));
                }
            }
        }
        Ok(())
    }

    /// Gives back all that was taken, the last first.
    pub(super) fn give_back(&self, held: &mut Held) {
        let mut joined = SmallVec::new();
        while let Some(Hold { rule, taken }) = held.pop() {
            let placed = self.set.rule(rule);
            placed.limiter.give_back(placed.key(self.values, &mut joined), &taken, true);
        }
    }

    /// The request is admitted, by the rules that `held` is of: what is in shadow is asked too, and all is counted. Whether a rule applies.
    #[inline]
    pub(super) fn admitted(&self, held: &mut Held, shadows: &[u32], refused: impl FnMut(&Refusal)) -> bool {
        for Hold { rule, taken } in &mut *held {
            self.set.rule(*rule).counters.increment(Count::Allowed);
            taken.with_figures(|| self.standing(*rule));
        }
        let applies = !held.is_empty() || !shadows.is_empty();
        if !shadows.is_empty() {
            self.ask_shadows(shadows, held, refused);
        }
        self.set.counters.increment(if applies { Count::Allowed } else { Count::Unmatched });
        applies
    }

    fn ask_shadows(&self, shadows: &[u32], held: &mut Held, mut refused: impl FnMut(&Refusal)) {
        let mut joined = SmallVec::new();
        for place in shadows {
            let placed = self.set.rule(*place);
            match placed.limiter.take(placed.key(self.values, &mut joined), placed.cost(self.cost)) {
                Ok(taken) => {
                    placed.counters.increment(Count::Allowed);
                    held.push(Hold { rule: *place, taken });
                }
                Err(status) => {
                    placed.counters.increment(Count::Denied);
                    refused(&self.refusal(*place, status));
                }
            }
        }
    }

    /// The request is refused, by the rule at `place` and perhaps by others of `found`: what is said is of the one that has to be waited
    /// for longest.
    #[cold]
    pub(super) fn refused(&self, found: &[u32], place: u32, status: Status) -> Refusal {
        let mut refusal = self.refusal(place, status);
        let mut refuser = place;
        for other in found.iter().copied().filter(|other| *other != place && *other < self.set.first_shadow) {
            let placed = self.set.rule(other);
            let standing = self.standing(other);
            let outlasts = rank(other, standing.retry_after_ns) > rank(refuser, refusal.retry_after_ns);
            if standing.status != Status::Allowed && outlasts {
                refusal = Refusal::new(placed, shown_key(self.set, placed, self.values), standing.status, standing);
                refuser = other;
            }
        }
        self.set.rule(refuser).counters.increment(Count::Denied);
        self.set.counters.increment(Count::Denied);
        refusal
    }

    /// How the rule at `place` would answer now.
    pub(super) fn standing(&self, place: u32) -> Standing {
        let placed = self.set.rule(place);
        let mut joined = SmallVec::new();
        placed.limiter.peek(placed.key(self.values, &mut joined), placed.cost(self.cost))
    }

    /// What the rule at `place` says of the request, which it refused with `status`.
    fn refusal(&self, place: u32, status: Status) -> Refusal {
        let placed = self.set.rule(place);
        let mut standing = self.standing(place);
        if standing.status == Status::Allowed {
            // It came free in between.
            standing.retry_after_ns = Some(0);
        }
        match status {
            Status::ExceedsCapacity => standing.retry_after_ns = Some(NEVER_NS),
            // The key has none out, and yet gets none before another key has none out either.
            Status::KeysFull if placed.rule.concurrency.is_some() => {
                (standing.remaining, standing.retry_after_ns) = (0, None);
            }
            _ => {}
        }
        Refusal::new(placed, shown_key(self.set, placed, self.values), status, standing)
    }
}

/// Of the rules that refuse a request, what is said is of the one for which this is greatest: it has to be waited for longest.
pub(super) fn rank(place: u32, retry_after_ns: Option<u64>) -> (u64, Reverse<u32>) {
    (retry_after_ns.unwrap_or(0), Reverse(place))
}

/// The places of those that are tried, those that are waited for, and those in shadow, of what was found.
#[inline]
pub(super) fn phases<'f>(set: &RuleSet, found: &'f mut Found) -> (&'f [u32], &'f [u32], &'f [u32]) {
    let waiting = found.partition_point(|place| *place < set.first_waiting);
    let shadow = found.partition_point(|place| *place < set.first_shadow);
    if waiting > 1 {
        // Who refused last will most likely refuse again. Each is looked at once: others change it meanwhile, and a sort that finds its
        // order contradicted may panic.
        let (mut first, rest): (Found, Found) =
            found[..waiting].iter().copied().partition(|place| set.rule(*place).refused_last.load(Relaxed));
        first.extend(rest);
        found[..waiting].copy_from_slice(&first);
    }
    (&found[..waiting], &found[waiting..shadow], &found[shadow..])
}

impl Placed {
    /// Written only when it changes, so that the line stays where it is read.
    #[inline]
    pub(super) fn note_refused(&self, refused: bool) {
        // Relaxed: a hint.
        if self.refused_last.load(Relaxed) != refused {
            self.refused_last.store(refused, Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::phases;
    use crate::gate::rule_set::Found;
    use crate::gate::{Gate, Rule};
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;
    use std::thread;

    #[test]
    fn who_refused_last_is_tried_first_and_the_others_keep_their_order() {
        let gate =
            Gate::new((0..5).map(|n| Rule::new(format!("rule {n}")).concurrency(1)).collect::<Vec<_>>()).unwrap();
        let set = gate.shared.set.load_full();
        for refuser in [1, 3] {
            set.rule(refuser).note_refused(true);
        }
        let mut found = Found::from_iter(0..5);
        assert_eq!(phases(&set, &mut found), ([1, 3, 0, 2, 4].as_slice(), [].as_slice(), [].as_slice()));
    }

    #[test]
    fn rules_that_change_their_answers_while_they_are_put_in_order_do_no_harm() {
        let rules: Vec<Rule> = (0..500).map(|n| Rule::new(format!("rule {n}")).concurrency(1)).collect();
        let gate = Gate::new(rules).unwrap();
        let set = gate.shared.set.load_full();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut round = 0_u32;
                while !is_over.load(Relaxed) {
                    round = round.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    set.rule((round >> 8) % 500).note_refused(round >> 31 == 0);
                }
            });
            let ordered = thread::scope(|inner| {
                let order = || {
                    for _ in 0..1_000 {
                        let mut found = Found::from_iter(0..500);
                        phases(&set, &mut found);
                        found.sort_unstable();
                        assert!(found.iter().copied().eq(0..500));
                    }
                };
                inner.spawn(order).join()
            });
            is_over.store(true, Relaxed);
            ordered.unwrap();
        });
    }
}
