//! Sliding windows by two counters: the last window's count is weighed by how much of it still counts.
//!
//! Windows are multiples of P from the clock's zero. Bound: L·(1 + t/P) in any t ≤ P.

use super::Algorithm;
use crate::Error;
use crate::quota::{Quota, YEAR_NS};

/// Bits of a window's index and of each count.
pub(crate) const BITS: u32 = 40;
const MAX: u64 = (1 << BITS) - 1;
/// The index must last two years.
const MIN_PERIOD_NS: u64 = 2 * YEAR_NS / MAX + 1;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlidingWindow {
    pub(crate) limit: u64,
    pub(crate) period_ns: u64,
    /// A multiple of the period.
    pub(crate) origin_ns: u64,
}

/// The counts of the window `index` and of the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Windows {
    pub(crate) index: u64,
    pub(crate) previous: u64,
    pub(crate) current: u64,
}

impl SlidingWindow {
    pub(crate) fn new(quota: &Quota, now: u64) -> Result<Self, Error> {
        let (limit, period_ns) = (quota.limit(), quota.period_ns());
        if limit > MAX {
            return Err(Error::option("limit", limit, format_args!("with sliding_window 0 to {MAX}")));
        }
        if period_ns < MIN_PERIOD_NS {
            return Err(Error::option(
                "period",
                format_args!("{period_ns} ns"),
                format_args!("with sliding_window at least {MIN_PERIOD_NS} ns"),
            ));
        }
        Ok(Self { limit, period_ns, origin_ns: 0 }.moved_to(now))
    }

    /// The windows as they stand at `now`, and how far `now` is into the current one.
    #[inline]
    fn at(&self, windows: Windows, now: u64) -> (Windows, u64) {
        let since = now.saturating_sub(self.origin_ns);
        let (index, offset) = (since / self.period_ns, since % self.period_ns);
        if index == windows.index {
            (windows, offset)
        } else if index < windows.index {
            (windows, 0)
        } else {
            let previous = if index == windows.index + 1 { windows.current } else { 0 };
            (Windows { index, previous, current: 0 }, offset)
        }
    }

    /// The estimate times the period, so that it is whole.
    #[inline]
    fn weighed(&self, windows: Windows, offset: u64) -> u128 {
        u128::from(windows.previous) * u128::from(self.period_ns - offset)
            + u128::from(windows.current) * u128::from(self.period_ns)
    }

    /// The estimate in tokens.
    pub(crate) fn estimate(&self, windows: Windows, now: u64) -> f64 {
        let (windows, offset) = self.at(windows, now);
        self.weighed(windows, offset) as f64 / self.period_ns as f64
    }

    #[inline]
    fn weighed_limit(&self) -> u128 {
        u128::from(self.limit) * u128::from(self.period_ns)
    }

    /// How far into a window `cost` first fits, if `fading` is the count before it and `firm` the window's own.
    fn fits_from(&self, fading: u64, firm: u64, cost: u64) -> Option<u64> {
        let room = self.limit.checked_sub(firm)?.checked_sub(cost)?;
        if fading <= room {
            return Some(0);
        }
        // fading · (P − offset) ≤ room · P
        let most = u128::from(room) * u128::from(self.period_ns) / u128::from(fading);
        let offset = self.period_ns - most as u64;
        (offset < self.period_ns).then_some(offset)
    }
}

impl Algorithm for SlidingWindow {
    type State = Windows;

    const FRESH: Windows = Windows { index: 0, previous: 0, current: 0 };

    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.limit
    }

    fn fresh_at(&self, now: u64) -> Windows {
        self.at(Self::FRESH, now).0
    }

    #[inline]
    fn is_past_horizon(&self, now: u64) -> bool {
        now.saturating_sub(self.origin_ns) >= self.period_ns.saturating_mul(MAX)
    }

    fn moved_to(&self, now: u64) -> Self {
        Self { origin_ns: now - now % self.period_ns, ..*self }
    }

    #[inline]
    fn charge(&self, windows: Windows, now: u64, cost: u64) -> Option<Windows> {
        let (windows, offset) = self.at(windows, now);
        let charged = Windows { current: windows.current + cost, ..windows };
        (self.weighed(charged, offset) <= self.weighed_limit()).then_some(charged)
    }

    fn remaining(&self, windows: Windows, now: u64) -> u64 {
        let (windows, offset) = self.at(windows, now);
        let left = self.weighed_limit().saturating_sub(self.weighed(windows, offset));
        (left / u128::from(self.period_ns)) as u64
    }

    /// In this window, in the next one (where this one's count fades), or at the start of the one after that.
    fn retry_after_ns(&self, windows: Windows, now: u64, cost: u64) -> u64 {
        let (windows, offset) = self.at(windows, now);
        let next = self.period_ns - offset;
        if let Some(from) = self.fits_from(windows.previous, windows.current, cost) {
            from.saturating_sub(offset)
        } else if let Some(from) = self.fits_from(windows.current, 0, cost) {
            next.saturating_add(from)
        } else {
            next.saturating_add(self.period_ns)
        }
    }

    fn reset_after_ns(&self, windows: Windows, now: u64) -> u64 {
        let (windows, offset) = self.at(windows, now);
        match windows {
            Windows { previous: 0, current: 0, .. } => 0,
            Windows { current: 0, .. } => self.period_ns - offset,
            _ => (self.period_ns - offset).saturating_add(self.period_ns),
        }
    }

    fn granted_at_ns(&self, charged: Windows, now: u64) -> u64 {
        now.max(self.origin_ns.saturating_add(charged.index.saturating_mul(self.period_ns)))
    }

    fn refund(&self, windows: Windows, now: u64, cost: u64, granted_at: u64) -> Windows {
        let (current, _) = self.at(windows, now);
        let granted_index = granted_at.checked_sub(self.origin_ns).map(|since| since / self.period_ns);
        if granted_index == Some(current.index) {
            Windows { current: current.current.saturating_sub(cost), ..current }
        } else {
            windows
        }
    }

    fn carry(&self, windows: Windows, now: u64, to: &Self) -> Windows {
        let (windows, offset) = self.at(windows, now);
        let now = self.granted_at_ns(windows, now);
        let index = now.saturating_sub(to.origin_ns) / to.period_ns;
        if self.period_ns == to.period_ns {
            Windows { index, previous: windows.previous.min(to.limit), current: windows.current.min(to.limit) }
        } else {
            let estimate = self.weighed(windows, offset).div_ceil(u128::from(self.period_ns)) as u64;
            Windows { index, previous: 0, current: estimate.min(to.limit) }
        }
    }
}
