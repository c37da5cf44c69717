//! The exact log: each grant is remembered until it is P old. At most L in every interval of length P.

use crate::Error;
use crate::quota::Quota;
use std::collections::VecDeque;

/// Memory is 16 bytes for each grant that still counts; this bounds it to 256 MiB.
const MAX_LIMIT: u64 = 1 << 24;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SlidingLog {
    pub(crate) limit: u64,
    pub(crate) period_ns: u64,
}

/// Grants that may still count, oldest first; those of one instant together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    grants: VecDeque<Granted>,
    /// The sum of their costs.
    used: u64,
    /// The latest time that was seen: a caller with an older one counts as of this.
    latest_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Granted {
    at_ns: u64,
    cost: u64,
}

impl SlidingLog {
    pub(crate) fn new(quota: &Quota) -> Result<Self, Error> {
        if quota.limit() > MAX_LIMIT {
            return Err(Error::option("limit", quota.limit(), format_args!("with sliding_log 0 to {MAX_LIMIT}")));
        }
        Ok(Self { limit: quota.limit(), period_ns: quota.period_ns() })
    }

    /// Forgets what no longer counts at `now`, and returns the time that counts for this caller.
    pub(crate) fn expire(&self, log: &mut Log, now: u64) -> u64 {
        log.latest_ns = log.latest_ns.max(now);
        while let Some(oldest) = log.grants.front() {
            if self.until_expiry(*oldest, log.latest_ns) > 0 {
                break;
            }
            log.used -= oldest.cost;
            log.grants.pop_front();
        }
        log.latest_ns
    }

    fn until_expiry(&self, granted: Granted, now: u64) -> u64 {
        self.period_ns.saturating_sub(now - granted.at_ns)
    }

    pub(crate) fn admits(&self, log: &Log, cost: u64) -> bool {
        log.used + cost <= self.limit
    }

    /// Only after [`expire`](Self::expire), which gave `now`, and [`admits`](Self::admits).
    pub(crate) fn charge(&self, log: &mut Log, now: u64, cost: u64) {
        log.used += cost;
        match log.grants.back_mut() {
            Some(newest) if newest.at_ns == now => newest.cost += cost,
            _ => log.grants.push_back(Granted { at_ns: now, cost }),
        }
    }

    pub(crate) fn remaining(&self, log: &Log) -> u64 {
        self.limit.saturating_sub(log.used)
    }

    /// Until so many of the oldest have expired that `cost` fits.
    pub(crate) fn retry_after_ns(&self, log: &Log, now: u64, cost: u64) -> u64 {
        let mut over = (log.used + cost).saturating_sub(self.limit);
        for granted in &log.grants {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(granted.cost);
            if over == 0 {
                return self.until_expiry(*granted, now);
            }
        }
        0
    }

    pub(crate) fn reset_after_ns(&self, log: &Log, now: u64) -> u64 {
        log.grants.back().map_or(0, |newest| self.until_expiry(*newest, now))
    }

    pub(crate) fn refund(&self, log: &mut Log, cost: u64, granted_at: u64) {
        if let Ok(index) = log.grants.binary_search_by_key(&granted_at, |granted| granted.at_ns) {
            let granted = &mut log.grants[index];
            let back = cost.min(granted.cost);
            granted.cost -= back;
            log.used -= back;
            if granted.cost == 0 {
                log.grants.remove(index);
            }
        }
    }

    /// Forgets all grants; but whoever comes with an older time than `now` counts as of this.
    pub(crate) fn reset(&self, log: &mut Log, now: u64) {
        *log = Log { latest_ns: log.latest_ns.max(now), ..Log::default() };
    }

    /// Keeps the newest grants that fit under `to`. One that would be over under the new period counts as of now.
    pub(crate) fn carry(&self, log: &mut Log, now: u64, to: &Self) {
        let now = self.expire(log, now);
        let mut kept = Log { latest_ns: now, ..Log::default() };
        let mut grants = Vec::new();
        for granted in log.grants.iter().rev() {
            let cost = granted.cost.min(to.limit - kept.used);
            if cost == 0 {
                break;
            }
            kept.used += cost;
            grants.push(Granted { cost, ..*granted });
        }
        let (still, over): (Vec<_>, Vec<_>) =
            grants.into_iter().rev().partition(|granted| to.until_expiry(*granted, now) > 0);
        kept.grants = still.into();
        let over: u64 = over.iter().map(|granted| granted.cost).sum();
        if over > 0 {
            kept.used -= over;
            to.charge(&mut kept, now, over);
        }
        *log = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_with_a_time_from_before_a_reset_counts_as_of_the_reset() {
        let algorithm = SlidingLog { limit: 1, period_ns: 10 };
        let mut log = Log::default();
        algorithm.reset(&mut log, 100);
        let counts_from = algorithm.expire(&mut log, 95);
        algorithm.charge(&mut log, counts_from, 1);
        assert_eq!(algorithm.expire(&mut log, 109), 109);
        assert!(!algorithm.admits(&log, 1));
    }
}
