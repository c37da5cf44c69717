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

/// A window and what is used of it. With nothing used there is no window, but none may begin before its start: a caller
/// that was overtaken must not open one that is over.
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
    pub(crate) fn local(&self, now: u64) -> u64 {
        now.saturating_add(self.offset_ns)
    }

    /// Whether an instant falls into the window. One before its start does: whoever comes with that was overtaken.
    #[inline]
    fn covers(&self, window: Window, local: u64) -> bool {
        local.saturating_sub(window.start_ns) < self.period_ns
    }

    #[inline]
    fn is_open(&self, window: Window, local: u64) -> bool {
        window.used > 0 && self.covers(window, local)
    }

    #[inline]
    fn start_for(&self, local: u64) -> u64 {
        if self.aligned { local - local % self.period_ns } else { local }
    }

    /// What is used of the window that is open at `now`.
    #[inline]
    pub(crate) fn used(&self, window: Window, now: u64) -> u64 {
        if self.is_open(window, self.local(now)) { window.used } else { 0 }
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

    fn fresh_at(&self, now: u64) -> Window {
        Window { start_ns: self.local(now), used: 0 }
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
            (cost <= self.limit).then(|| Window { start_ns: self.start_for(local.max(window.start_ns)), used: cost })
        }
    }

    fn remaining(&self, window: Window, now: u64) -> u64 {
        self.limit.saturating_sub(self.used(window, now))
    }

    fn retry_after_ns(&self, window: Window, now: u64, _cost: u64) -> u64 {
        self.reset_after_ns(window, now)
    }

    fn reset_after_ns(&self, window: Window, now: u64) -> u64 {
        let local = self.local(now);
        if !self.is_open(window, local) {
            return 0;
        }
        let ahead = window.start_ns.saturating_sub(local);
        ahead.saturating_add(self.period_ns - local.saturating_sub(window.start_ns))
    }

    fn granted_at_ns(&self, charged: Window, now: u64) -> u64 {
        now.max(charged.start_ns.saturating_sub(self.offset_ns))
    }

    fn refund(&self, window: Window, now: u64, cost: u64, granted_at: u64) -> Window {
        let granted_at = self.local(granted_at);
        let granted_here = window.start_ns <= granted_at && self.covers(window, granted_at);
        if granted_here && self.is_open(window, self.local(now)) {
            Window { used: window.used.saturating_sub(cost), ..window }
        } else {
            window
        }
    }

    fn carry(&self, window: Window, now: u64, to: &Self) -> Window {
        let local = self.local(now).max(window.start_ns);
        if !self.is_open(window, local) {
            return Window { start_ns: local, used: 0 };
        }
        let kept = Window { used: window.used.min(to.limit), ..window };
        if to.aligned {
            Window { start_ns: to.start_for(local), ..kept }
        } else if to.covers(kept, local) {
            kept
        } else {
            Window { start_ns: local, ..kept }
        }
    }
}
