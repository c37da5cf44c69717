//! Requests that hold nothing: for web middleware, whose requests mostly meet one rule of quotas, whose entry would be of no use but for
//! the headers of the response.

use super::attributes::Attributes;
use super::entry::Entry;
use super::limiter::Limiter;
use super::refusal::Refusal;
use super::rule_set::{Found, Placed};
use super::{Begun, Gate};
use crate::Status;
use crate::stats::Count;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;

/// What came of a request that holds nothing.
pub enum Passing {
    /// One rule applies, of quotas, and admits it.
    Passed(Passed),
    /// No rule applies.
    Unmatched,
    /// That rule refuses it.
    Refused(Box<Refusal>),
    /// Nothing was asked: [`begin_by_place`](Gate::begin_by_place) is to be, since several rules apply, or one of permits, or one that
    /// lets requests wait or is in shadow.
    Unasked,
    /// Nothing was asked: the rules were changed since.
    Stale,
}

/// What the headers of the response say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passed {
    /// Which of [`rate_limit_items`](Attributes::rate_limit_items).
    pub item: usize,
    /// `r`: what is left.
    pub remaining: u64,
    /// `t`: in how many seconds nothing counts any more.
    pub reset_after_s: u64,
}

/// What the headers say of one quota, whatever is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimitItem {
    /// `RateLimit-Policy`: all quotas of the rule.
    pub policy: String,
    /// `RateLimit`, as far as the figures: `"search"`. Behind it come `;r=` and `;t=`.
    pub name: String,
}

impl Attributes {
    /// The items that [`Passed::item`] is the place of.
    #[must_use]
    pub fn rate_limit_items(&self) -> Vec<RateLimitItem> {
        self.set.rules.iter().flat_map(Placed::rate_limit_items).collect()
    }
}

impl Gate {
    /// Asks the rules about a request of cost 1 with these values, one for each of `attributes`, without an entry. It doesn't wait;
    /// `timeout`, how long its call would, is asked for if a refusal is to tell it.
    #[inline]
    pub fn pass(
        &self,
        attributes: &Attributes,
        values: &[Option<&[u8]>],
        timeout: impl FnOnce() -> Option<Duration>,
    ) -> Passing {
        let set = &attributes.set;
        if !self.is_current(attributes) {
            return Passing::Stale;
        }
        if values.len() != set.attributes.len() {
            return Passing::Unasked;
        }
        let mut found = Found::new();
        set.matching(values, &mut found);
        let place = match *found.as_slice() {
            [] => {
                set.counters.increment(Count::Unmatched);
                return Passing::Unmatched;
            }
            [place] if place < set.first_waiting => place,
            _ => return Passing::Unasked,
        };
        let placed = set.rule(place);
        let cost = placed.cost(1);
        let joint = match &*placed.limiter {
            Limiter::Rate(limiter) => limiter.charge(cost),
            Limiter::KeyedRate(limiter) => limiter.charge(placed.key(values, &mut SmallVec::new()), cost),
            Limiter::Permits(_) | Limiter::KeyedPermits(_) => return Passing::Unasked,
        };
        let refused = joint.named.status != Status::Allowed;
        placed.note_refused(refused);
        if refused {
            let asked = (place, joint.named.status);
            return match self.turned_away(Entry::unadmitted(Arc::clone(set)), values, 1, found, asked, timeout()) {
                Begun::Refused(refusal) => Passing::Refused(refusal),
                _ => unreachable!("nobody waits for this rule"),
            };
        }
        placed.counters.increment(Count::Allowed);
        set.counters.increment(Count::Allowed);
        let quota_index = joint.quota as usize;
        let (remaining, reset_after_s) =
            placed.figures(quota_index, joint.named.remaining, joint.named.reset_after_ns).told();
        Passing::Passed(Passed { item: placed.first_item + quota_index, remaining, reset_after_s })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Passed, Passing};
    use crate::gate::{Attributes, Begun, Gate, GateEvent, Mode, Pattern, Rule};
    use crate::{ManualClock, NEVER_NS};
    use std::time::Duration;

    fn pass(gate: &Gate, attributes: &Attributes, values: &[Option<&[u8]>]) -> Passing {
        gate.pass(attributes, values, || Some(Duration::from_secs(7)))
    }

    #[test]
    fn who_passes_is_told_and_counted_as_who_enters() {
        let clock = ManualClock::new();
        let rules = || {
            let plain =
                Rule::new("plain").matching("path", Pattern::prefix("/a")).key(["client"]).max_keys(100).quota("3/min");
            let double = Rule::new("double").matching("path", Pattern::prefix("/b")).cost(2).quota("9/s; 10/min");
            let window = Rule::new("window").matching("path", Pattern::exact("/c")).quota("2/s fixed_window");
            vec![plain, double, window]
        };
        let passed = Gate::with_clock(rules(), &clock).unwrap();
        let entered = Gate::with_clock(rules(), &clock).unwrap();
        let (attributes, events) = (passed.attributes(), passed.events());
        assert_eq!(attributes.names(), ["path", "client"]);
        let items = attributes.rate_limit_items();
        for path in ["/a", "/a/b", "/b", "/c", "/a", "/c", "/c", "/none", "/a", "/b", "/b", "/b", "/b", "/b", "/a"] {
            clock.advance(Duration::from_millis(123));
            let path = path.as_bytes();
            let values = [Some(path), Some(b"ann".as_slice())];
            let entered = entered.begin(&[("path", path), ("client", b"ann")], 1, Duration::from_secs(7)).unwrap();
            match (pass(&passed, &attributes, &values), entered) {
                (Passing::Passed(Passed { item, remaining, reset_after_s, .. }), Begun::Entered(entry)) => {
                    let headers = entry.headers();
                    assert_eq!(items[item].policy, headers.policy);
                    assert_eq!(format!("{};r={remaining};t={reset_after_s}", items[item].name), headers.limit);
                }
                (Passing::Unmatched, Begun::Entered(entry)) => assert!(!entry.applies()),
                (Passing::Refused(passed), Begun::Refused(entered)) => {
                    assert_eq!(passed.timeout, Some(Duration::from_secs(7)));
                    assert_eq!(passed, entered);
                    assert_eq!(events.next(Duration::ZERO), Some(GateEvent::Refused(*passed)));
                }
                _ => panic!("one got in, the other didn't"),
            }
        }
        assert_eq!(passed.stats(), entered.stats());
        assert_eq!(passed.stats().refused, 4);
    }

    #[test]
    fn who_may_hold_something_or_wait_or_meets_several_rules_is_not_asked() {
        let quota = || Rule::new("quota").matching("path", Pattern::exact("/a")).quota("1/h");
        for other in [
            Rule::new("permits").concurrency(1),
            Rule::new("keyed permits").key(["path"]).concurrency(1),
            Rule::new("another quota").quota("1/h"),
            Rule::new("shadow").mode(Mode::Shadow).quota("1/h"),
        ] {
            let gate = Gate::new(vec![quota(), other]).unwrap();
            assert!(matches!(pass(&gate, &gate.attributes(), &[Some(b"/a")]), Passing::Unasked));
            assert_eq!((gate.stats().admitted, gate.stats().refused), (0, 0));
        }
        for alone in
            [quota().timeout(Duration::from_secs(1)), quota().mode(Mode::Shadow), Rule::new("permits").concurrency(1)]
        {
            let gate = Gate::new(vec![alone]).unwrap();
            let attributes = gate.attributes();
            let values = vec![Some(b"/a".as_slice()); attributes.names().len()];
            assert!(matches!(pass(&gate, &attributes, &values), Passing::Unasked));
        }
        let gate = Gate::new(vec![quota(), Rule::new("off").mode(Mode::Off).quota("1/h")]).unwrap();
        assert!(matches!(pass(&gate, &gate.attributes(), &[]), Passing::Unasked));
        assert!(matches!(pass(&gate, &gate.attributes(), &[None]), Passing::Unmatched));
        assert!(matches!(pass(&gate, &gate.attributes(), &[Some(b"/a")]), Passing::Passed(_)));
        let Passing::Refused(refusal) = pass(&gate, &gate.attributes(), &[Some(b"/a")]) else { panic!("admitted") };
        assert!(refusal.retry_after_ns.is_some_and(|ns| ns != NEVER_NS));
    }

    #[test]
    fn whose_rules_were_changed_is_stale_also_if_they_are_the_same() {
        let gate = Gate::new(Rule::new("quota").quota("9/h")).unwrap();
        let before = gate.attributes();
        assert!(matches!(pass(&gate, &before, &[]), Passing::Passed(_)));
        gate.set_rules(Rule::new("quota").quota("9/h")).unwrap();
        assert!(matches!(pass(&gate, &before, &[]), Passing::Stale));
        assert!(matches!(pass(&gate, &gate.attributes(), &[]), Passing::Passed(Passed { remaining: 7, .. })));
    }
}
