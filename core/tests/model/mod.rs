//! Naive models: exact fractions and lists of what was granted, no packed words.

use num_bigint::BigInt;
use num_rational::Ratio;
use std::ops::RangeInclusive;
use tidegate::{Anchor, NEVER_NS, Quota, Status};

type Exact = Ratio<BigInt>;

#[derive(Debug)]
pub struct Verdict {
    pub status: Status,
    pub remaining: RangeInclusive<u64>,
    pub retry_after_ns: u64,
    pub reset_after_ns: u64,
    /// How far the figures may be off.
    pub tolerance_ns: u64,
}

pub trait Model {
    /// Decides, and charges if admitted. `admitted` is what the limiter said: it settles calls that are within 1 ns of the boundary.
    fn decide(&mut self, now: u64, cost: u64, admitted: bool) -> Verdict;
}

fn exact(value: u64) -> Exact {
    Exact::from_integer(BigInt::from(value))
}

fn up(value: &Exact) -> u64 {
    value.ceil().to_integer().try_into().unwrap_or(0)
}

fn down(value: &Exact) -> u64 {
    value.floor().to_integer().try_into().unwrap_or(0)
}

pub struct GcraModel {
    token_ns: Exact,
    burst: u64,
    tat: Exact,
}

impl GcraModel {
    pub fn new(quota: &Quota) -> Self {
        Self { token_ns: exact(quota.period_ns()) / exact(quota.limit()), burst: quota.burst(), tat: exact(0) }
    }
}

impl Model for GcraModel {
    fn decide(&mut self, now: u64, cost: u64, admitted: bool) -> Verdict {
        let full = exact(self.burst) * &self.token_ns;
        let now = exact(now);
        let charged = self.tat.clone().max(now.clone()) + exact(cost) * &self.token_ns;
        let early = &charged - &now - &full;
        let near = cost <= self.burst && early > exact(0) - exact(1) && early < exact(1);
        let allowed = if near { admitted } else { early <= exact(0) };
        if allowed {
            self.tat = charged;
        }
        let owed = (&self.tat - &now).max(exact(0));
        let remaining = |slack: Exact| down(&((&full - &owed + slack).max(exact(0)) / &self.token_ns));
        Verdict {
            status: match allowed {
                true => Status::Allowed,
                false if cost > self.burst => Status::ExceedsCapacity,
                false => Status::Denied,
            },
            remaining: remaining(exact(0) - exact(1))..=remaining(exact(1)).min(self.burst),
            retry_after_ns: match allowed {
                true => 0,
                false if cost > self.burst => NEVER_NS,
                false => up(&early),
            },
            reset_after_ns: up(&owed),
            tolerance_ns: 1,
        }
    }
}

/// Every grant that was ever made, by its instant.
#[derive(Default)]
struct Grants(Vec<(u64, u64)>);

impl Grants {
    fn within(&self, from: u64, to: u64) -> u64 {
        self.0.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, cost)| cost).sum()
    }
}

fn exactly(remaining: u64) -> RangeInclusive<u64> {
    remaining..=remaining
}

pub struct FixedWindowModel {
    limit: u64,
    period: u64,
    aligned: bool,
    start: Option<u64>,
    grants: Grants,
}

impl FixedWindowModel {
    pub fn new(quota: &Quota) -> Self {
        Self {
            limit: quota.limit(),
            period: quota.period_ns(),
            aligned: quota.anchor() == Anchor::Clock,
            start: None,
            grants: Grants::default(),
        }
    }
}

impl Model for FixedWindowModel {
    fn decide(&mut self, now: u64, cost: u64, _admitted: bool) -> Verdict {
        if self.start.is_some_and(|start| now >= start + self.period) {
            self.start = None;
        }
        let fresh = if self.aligned { now / self.period * self.period } else { now };
        let start = self.start.unwrap_or(fresh);
        let end = start + self.period;
        let allowed = self.grants.within(start, end) + cost <= self.limit;
        if allowed {
            self.start = Some(start);
            self.grants.0.push((now, cost));
        }
        let until_end = if self.start.is_some() { end - now } else { 0 };
        Verdict {
            status: match allowed {
                true => Status::Allowed,
                false if cost > self.limit => Status::ExceedsCapacity,
                false => Status::Denied,
            },
            remaining: exactly(self.limit - if self.start.is_some() { self.grants.within(start, end) } else { 0 }),
            retry_after_ns: match allowed {
                true => 0,
                false if cost > self.limit => NEVER_NS,
                false => until_end,
            },
            reset_after_ns: until_end,
            tolerance_ns: 0,
        }
    }
}

pub struct SlidingWindowModel {
    limit: u64,
    period: u64,
    grants: Grants,
}

impl SlidingWindowModel {
    pub fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), period: quota.period_ns(), grants: Grants::default() }
    }

    /// The weighed estimate at an instant, if nothing else is granted.
    fn estimate(&self, at: u64) -> Exact {
        let start = at / self.period * self.period;
        let last = start.checked_sub(self.period).map_or(0, |last| self.grants.within(last, start));
        let weight = exact(start + self.period - at) / exact(self.period);
        exact(last) * weight + exact(self.grants.within(start, start + self.period))
    }

    fn admits(&self, at: u64, cost: u64) -> bool {
        self.estimate(at) + exact(cost) <= exact(self.limit)
    }

    /// The first of a span of instants at which it is so, by halving (an estimate only falls within a window).
    fn first(&self, from: u64, to: u64, so: impl Fn(u64) -> bool) -> Option<u64> {
        let (mut low, mut high) = (from, to);
        if !so(high) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if so(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }

    fn first_in_three_windows(&self, now: u64, so: impl Fn(u64) -> bool) -> u64 {
        let next = now / self.period * self.period + self.period;
        [(now, next - 1), (next, next + self.period - 1), (next + self.period, next + self.period)]
            .into_iter()
            .find_map(|(from, to)| self.first(from, to, &so))
            .map_or(NEVER_NS, |at| at - now)
    }
}

impl Model for SlidingWindowModel {
    fn decide(&mut self, now: u64, cost: u64, _admitted: bool) -> Verdict {
        let allowed = self.admits(now, cost);
        let retry_after_ns = match allowed {
            true => 0,
            false if cost > self.limit => NEVER_NS,
            false => self.first_in_three_windows(now, |at| self.admits(at, cost)),
        };
        if allowed {
            self.grants.0.push((now, cost));
        }
        Verdict {
            status: match allowed {
                true => Status::Allowed,
                false if cost > self.limit => Status::ExceedsCapacity,
                false => Status::Denied,
            },
            remaining: exactly(down(&(exact(self.limit) - self.estimate(now)))),
            retry_after_ns,
            reset_after_ns: self.first_in_three_windows(now, |at| self.estimate(at) == exact(0)),
            tolerance_ns: 0,
        }
    }
}

pub struct LogModel {
    limit: u64,
    period: u64,
    grants: Grants,
}

impl LogModel {
    pub fn new(quota: &Quota) -> Self {
        Self { limit: quota.limit(), period: quota.period_ns(), grants: Grants::default() }
    }

    fn used(&self, at: u64) -> u64 {
        self.grants.0.iter().filter(|(granted, _)| granted + self.period > at).map(|(_, cost)| cost).sum()
    }
}

impl Model for LogModel {
    fn decide(&mut self, now: u64, cost: u64, _admitted: bool) -> Verdict {
        let allowed = self.used(now) + cost <= self.limit;
        let expiries: Vec<u64> =
            self.grants.0.iter().map(|(granted, _)| granted + self.period).filter(|at| *at > now).collect();
        let retry = expiries.iter().find(|at| self.used(**at) + cost <= self.limit).map_or(NEVER_NS, |at| at - now);
        if allowed {
            self.grants.0.push((now, cost));
        }
        let newest = self.grants.0.last().map_or(0, |(granted, _)| (granted + self.period).saturating_sub(now));
        Verdict {
            status: match allowed {
                true => Status::Allowed,
                false if cost > self.limit => Status::ExceedsCapacity,
                false => Status::Denied,
            },
            remaining: exactly(self.limit - self.used(now)),
            retry_after_ns: if allowed { 0 } else { retry },
            reset_after_ns: newest,
            tolerance_ns: 0,
        }
    }
}
