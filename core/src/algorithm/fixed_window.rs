//! Fixed windows: at most L in each window of P. Up to 2·L in some interval of length P.

use super::Algorithm;
use crate::quota::{Anchor, Quota};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FixedWindow {
    pub(crate) limit: u64,
    pub(crate) period_ns: u64,
    /// Windows begin at multiples of the period on the Unix clock, else at the first charge.
    pub(crate) aligned: bool,
    /// From the limiter's clock to the one that windows are counted on.
    pub(crate) offset_ns: u64,
}

/// A window and what is used of it. With nothing used there is no window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// On the clock that windows are counted on.
    pub(crate) start_ns: u64,
    pub(crate) used: u64,
}

impl FixedWindow {
    pub(crate) fn new(quota: &Quota, unix_offset_ns: u64) -> Self {
        let aligned = quota.anchor() == Anchor::Clock;
        Self {
            limit: quota.limit(),
            period_ns: quota.period_ns(),
            aligned,
            offset_ns: if aligned { unix_offset_ns } else { 0 },
        }
    }

    #[inline]
    fn local(&self, now: u64) -> u64 {
        now.saturating_add(self.offset_ns)
    }

    #[inline]
    fn end_ns(&self, window: Window) -> u64 {
        window.start_ns.saturating_add(self.period_ns)
    }

    #[inline]
    fn is_open(&self, window: Window, local: u64) -> bool {
        window.used > 0 && local < self.end_ns(window)
    }

    #[inline]
    fn start_for(&self, local: u64) -> u64 {
        if self.aligned { local - local % self.period_ns } else { local }
    }

    #[inline]
    fn used(&self, window: Window, now: u64) -> u64 {
        if self.is_open(window, self.local(now)) { window.used } else { 0 }
    }

    fn ns_until_end(&self, window: Window, now: u64) -> u64 {
        self.end_ns(window) - self.local(now)
    }
}

impl Algorithm for FixedWindow {
    type State = Window;

    const FRESH: Window = Window { start_ns: 0, used: 0 };

    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.limit
    }

    #[inline]
    fn is_past_horizon(&self, _now: u64) -> bool {
        false
    }

    fn moved_to(&self, _now: u64) -> Self {
        *self
    }

    #[inline]
    fn charge(&self, window: Window, now: u64, cost: u64) -> Option<Window> {
        let local = self.local(now);
        if self.is_open(window, local) {
            let used = window.used + cost;
            (used <= self.limit).then_some(Window { used, ..window })
        } else {
            (cost <= self.limit).then(|| Window { start_ns: self.start_for(local), used: cost })
        }
    }

    fn remaining(&self, window: Window, now: u64) -> u64 {
        self.limit.saturating_sub(self.used(window, now))
    }

    fn retry_after_ns(&self, window: Window, now: u64, _cost: u64) -> u64 {
        self.reset_after_ns(window, now)
    }

    fn reset_after_ns(&self, window: Window, now: u64) -> u64 {
        if self.is_open(window, self.local(now)) { self.ns_until_end(window, now) } else { 0 }
    }

    fn granted_at_ns(&self, charged: Window, now: u64) -> u64 {
        now.max(charged.start_ns.saturating_sub(self.offset_ns))
    }

    fn refund(&self, window: Window, now: u64, cost: u64, granted_at: u64) -> Window {
        let granted_here = window.start_ns <= self.local(granted_at) && self.local(granted_at) < self.end_ns(window);
        if self.is_open(window, self.local(now)) && granted_here {
            Window { used: window.used.saturating_sub(cost), ..window }
        } else {
            window
        }
    }

    fn carry(&self, window: Window, now: u64, to: &Self) -> Window {
        if !self.is_open(window, self.local(now)) {
            return Self::FRESH;
        }
        let local = self.local(now).max(window.start_ns);
        let kept = Window { used: window.used.min(to.limit), ..window };
        if to.aligned {
            Window { start_ns: to.start_for(local), ..kept }
        } else if local < to.end_ns(kept) {
            kept
        } else {
            Window { start_ns: local, ..kept }
        }
    }
}
