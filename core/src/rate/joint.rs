//! What several quotas say as one.

use super::cell::OVERTAKEN_NS;
use super::state::Judgement;
use crate::Status;
use crate::clock::Clock;
use crate::decision::{Decision, Grant};
use std::sync::atomic::AtomicBool;

/// What several quotas say together, as far as they were asked.
pub(crate) struct Joint {
    pub(crate) quota: u32,
    pub(crate) named: Judgement,
}

impl From<Judgement> for Joint {
    #[inline]
    fn from(named: Judgement) -> Self {
        Self { quota: 0, named }
    }
}

impl Joint {
    /// The decision, with `grant` if it granted.
    pub(super) fn decision(self, spend: bool, grant: Grant) -> Decision {
        let Self { quota, named } = self;
        let granted = spend && named.status == Status::Allowed;
        Decision {
            status: named.status,
            quota,
            limit: named.limit,
            remaining: named.remaining,
            retry_after_ns: named.retry_after_ns,
            reset_after_ns: named.reset_after_ns,
            grant: granted.then_some(Grant { granted_at_ns: named.granted_at_ns, ..grant }),
            refunded: AtomicBool::new(false),
        }
    }

    /// What the clock says by now, if what was refused as of `now` is due by then: it was read before another's charge that was met.
    pub(super) fn overtaken_by(&self, now: u64, clock: &Clock) -> Option<u64> {
        let Judgement { status, retry_after_ns, behind_waiters, .. } = self.named;
        // Behind others it isn't the time that refuses.
        if status != Status::Denied || behind_waiters || retry_after_ns > OVERTAKEN_NS {
            return None;
        }
        let later = clock.now_ns();
        (later.saturating_sub(now) >= retry_after_ns).then_some(later)
    }

    /// What is by now, but refused in any case.
    pub(super) fn but_refused(self, quota: usize, refusal: Judgement) -> Self {
        if self.named.status != Status::Allowed {
            return self;
        }
        let Judgement { remaining, reset_after_ns, .. } = self.named;
        Self { quota: quota as u32, named: Judgement { remaining, reset_after_ns, ..refusal } }
    }

    /// Refused: named after the longest retry_after, and *exceeds capacity* before *denied*. Admitted: named after the least
    /// remaining. Ties: the first in the list.
    pub(super) fn and(self, quota: usize, one: Judgement) -> Self {
        let rank = |judged: &Judgement| (judged.status != Status::Allowed, judged.retry_after_ns, judged.status as i32);
        let both_admit = self.named.status == Status::Allowed && one.status == Status::Allowed;
        let renamed = if both_admit { one.remaining < self.named.remaining } else { rank(&one) > rank(&self.named) };
        let named = if renamed { one } else { self.named };
        Self {
            quota: if renamed { quota as u32 } else { self.quota },
            named: Judgement {
                remaining: self.named.remaining.min(one.remaining),
                reset_after_ns: self.named.reset_after_ns.max(one.reset_after_ns),
                // The earliest: a refund then takes no more to be unleaked, and no window to be the same, than is.
                granted_at_ns: self.named.granted_at_ns.min(one.granted_at_ns),
                behind_waiters: self.named.behind_waiters || one.behind_waiters,
                ..named
            },
        }
    }
}
