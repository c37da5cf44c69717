//! What an admitted request holds.

use super::admission::{Asked, Held};
use super::limiter::{Limiter, Taken};
use super::refusal::Refusal;
use super::rule_set::{Found, Placed, RuleSet, Values};
use crate::Status;
use crate::quota::Quota;
use crate::stats::Count;
use std::fmt;
use std::sync::Arc;

/// A request that was admitted. Its permits are given back when this is dropped, on whichever thread.
///
/// Dropping counts as *ok* in the statistics, or as *failed* while a panic unwinds; [`release`](Self::release) says which. Without
/// permits there is nothing to release, and it doesn't count.
#[must_use = "the permits are given back when this is dropped"]
pub struct Entry {
    pub(super) set: Arc<RuleSet>,
    pub(super) held: Held,
    /// Whether a rule applies, though none may have given anything; `None` until the request is admitted.
    applies: Option<bool>,
    /// What was said of the work, if anything was.
    ok: Option<bool>,
}

/// How a rule's quota stands after a request was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures<'a> {
    /// The rule's name.
    pub rule: &'a str,
    /// All the rule's quotas.
    pub quotas: &'a [Quota],
    /// Which of them has the least left.
    pub quota_index: usize,
    /// Tokens of it that are left.
    pub remaining: u64,
    /// How long until nothing of it counts any more, in ns, if nobody asks.
    pub reset_after_ns: u64,
}

impl Placed {
    pub(super) fn figures(&self, quota_index: usize, remaining: u64, reset_after_ns: u64) -> Figures<'_> {
        Figures { rule: &self.rule.name, quotas: &self.quotas, quota_index, remaining, reset_after_ns }
    }
}

impl Entry {
    /// Of a request that has yet to be admitted: it is filled where it is, since to move it takes as long as to decide.
    #[inline]
    pub(super) fn unadmitted(set: Arc<RuleSet>) -> Self {
        Self { set, held: Held::new(), applies: None, ok: None }
    }

    pub(super) fn admitted(set: Arc<RuleSet>, held: Held, applies: bool) -> Self {
        Self { set, held, applies: Some(applies), ok: None }
    }

    /// Asks all rules that match, and nobody waits. If one refuses, which, and what others gave is still held.
    pub(super) fn ask(
        &mut self,
        values: &Values<'_>,
        cost: u64,
        found: &mut Found,
        tell_shadow: impl FnMut(&Refusal),
    ) -> Result<(), (u32, Status)> {
        self.set.matching(values, found);
        let applies = Asked { set: &self.set, values, cost }.ask(found, &mut self.held, tell_shadow)?;
        self.applies = Some(applies);
        Ok(())
    }

    /// [`Status::Allowed`] if a rule applies, [`Status::NoRule`] if none does. Either way the work may go ahead.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.applies() { Status::Allowed } else { Status::NoRule }
    }

    /// Whether a rule applies to the request.
    #[must_use]
    pub fn applies(&self) -> bool {
        self.applies == Some(true)
    }

    /// The names of the rules that gave something.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(|hold| self.set.rule(hold.rule).rule.name.as_str())
    }

    /// How the quotas stood when the request was admitted, for each rule in force that has some: what is in shadow is nobody else's
    /// business.
    pub fn figures(&self) -> impl Iterator<Item = Figures<'_>> {
        self.placed_figures().map(|(_, figures)| figures)
    }

    #[inline]
    pub(super) fn placed_figures(&self) -> impl Iterator<Item = (&Placed, Figures<'_>)> {
        self.held.iter().filter_map(|hold| match hold.taken {
            Taken::Tokens { quota, remaining, reset_after_ns, .. } if hold.rule < self.set.first_shadow => {
                let placed = self.set.rule(hold.rule);
                Some((placed, placed.figures(quota as usize, remaining, reset_after_ns)))
            }
            _ => None,
        })
    }

    /// Whether it holds permits. If it doesn't, nobody waits for its release, and no statistics count it.
    #[must_use]
    #[inline]
    pub fn holds_permits(&self) -> bool {
        self.held.iter().any(|hold| matches!(hold.taken, Taken::Permits(_) | Taken::KeyedPermits(_)))
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    pub fn release(mut self, ok: bool) {
        self.set_ok(ok);
    }

    /// Tells the statistics whether the work went well, once this is dropped: a [`release`](Self::release) to come, for which the entry
    /// need not be moved.
    pub fn set_ok(&mut self, ok: bool) {
        self.ok = Some(ok);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // Or the request was never admitted.
        if self.applies.is_none() || !self.holds_permits() {
            return;
        }
        let ok = self.ok.unwrap_or_else(|| !std::thread::panicking());
        self.set.counters.increment(if ok { Count::ReleasedOk } else { Count::ReleasedFailed });
        for hold in self.held.iter().rev() {
            let limiter = &*self.set.rule(hold.rule).limiter;
            // What is refused here is another process's: nothing is lost with it.
            let _ours = match (limiter, &hold.taken) {
                (Limiter::Permits(limiter), Taken::Permits(permit)) => limiter.release(permit, ok).is_ok(),
                (Limiter::KeyedPermits(limiter), Taken::KeyedPermits(permit)) => limiter.release(permit, ok).is_ok(),
                _ => true,
            };
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({}", self.status())?;
        self.rules().try_for_each(|rule| write!(f, ", {rule}"))?;
        f.write_str(")")
    }
}
