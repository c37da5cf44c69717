//! What HTTP responses say of quotas: `RateLimit-Policy`, `RateLimit` and `Retry-After`, and the body of a refusal.
//!
//! Source: draft-ietf-httpapi-ratelimit-headers (structured fields), RFC 9457 (problem details).

use super::entry::{Entry, Figures};
use super::passing::RateLimitItem;
use super::refusal::Refusal;
use super::rule_set::Placed;
use crate::NEVER_NS;
use crate::quota::{Algorithm, Quota};
use serde_json::json;
use std::time::Duration;

const SECOND_NS: u64 = 1_000_000_000;
/// Between the items of a list.
const SEPARATOR: &str = ", ";

/// The values of a response's headers. Those that would be empty are to be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimitHeaders {
    /// `RateLimit-Policy`: each quota, such as `"search";q=100;w=60`.
    pub policy: String,
    /// `RateLimit`: for each rule what is left of the quota that has least, such as `"search";r=50;t=30`.
    pub limit: String,
    /// `Retry-After`, in whole seconds, rounded up; of refusals only, and only if it is known.
    pub retry_after_s: Option<u64>,
}

impl Entry {
    /// The headers of the response.
    #[must_use]
    pub fn headers(&self) -> RateLimitHeaders {
        let mut headers = RateLimitHeaders::default();
        for (placed, figures) in self.placed_figures() {
            let (remaining, reset_after_s) = figures.told();
            headers.add(&placed.policy, figures.rule, figures.told_index(), remaining, Some(reset_after_s));
        }
        headers
    }
}

impl Figures<'_> {
    /// The named quota's number in the headers' items, unless it is the only one.
    fn told_index(&self) -> Option<usize> {
        (self.quotas.len() > 1).then_some(self.quota_index)
    }

    /// What is left, and after how many seconds nothing of it counts any more.
    pub(super) fn told(&self) -> (u64, u64) {
        let quota = &self.quotas[self.quota_index];
        let reset_ns = match self.quotas {
            [_] => self.reset_after_ns,
            // The one that is named may be full long before all are.
            _ => self.reset_after_ns.min(full_after_ns(quota, self.remaining)),
        };
        // No more than `q`: a client that asks for `r` of `q` isn't told of more than all. Of a burst there is nothing in the draft.
        (self.remaining.min(quota.limit()), reset_ns.div_ceil(SECOND_NS))
    }
}

impl Placed {
    /// An item for each quota.
    pub(super) fn rate_limit_items(&self) -> impl Iterator<Item = RateLimitItem> {
        (0..self.quotas.len()).map(|quota_index| {
            let mut name = String::new();
            begin_item(&mut name, &self.rule.name, (self.quotas.len() > 1).then_some(quota_index));
            RateLimitItem { policy: self.policy.clone(), name }
        })
    }
}

impl Refusal {
    /// The headers of the response, whose status is 429.
    #[must_use]
    pub fn headers(&self) -> RateLimitHeaders {
        let mut headers = RateLimitHeaders::default();
        let known_ns = self.retry_after_ns.filter(|ns| *ns != NEVER_NS);
        if self.quota.is_some() {
            let policy = policy(&self.rule, &self.quotas);
            let Self { rule, quotas, quota_index, remaining, .. } = self;
            let reset_after_ns = known_ns.unwrap_or(0);
            let figures = Figures { rule, quotas, quota_index: *quota_index, remaining: *remaining, reset_after_ns };
            let (remaining, reset_after_s) = figures.told();
            headers.add(&policy, rule, figures.told_index(), remaining, known_ns.map(|_| reset_after_s));
        }
        headers.retry_after_s = known_ns.map(|ns| ns.div_ceil(SECOND_NS).max(1));
        headers
    }

    /// The body of the response, of the media type `application/problem+json`.
    #[must_use]
    pub fn problem_json(&self) -> String {
        let retry_after_s = match self.retry_after_ns {
            None | Some(NEVER_NS) => None,
            Some(ns) => Some(Duration::from_nanos(ns).as_secs_f64()),
        };
        let mut problem = json!({
            "type": "about:blank",
            "title": "Too Many Requests",
            "status": 429,
            "detail": self.to_string(),
            "rule": self.rule,
            "reason": self.status.name(),
            "limit": self.limit,
            "remaining": self.remaining,
        });
        if let Some(seconds) = retry_after_s {
            problem["retry_after"] = json!(seconds);
        }
        if let Some(key) = &self.key {
            problem["key"] = json!(key);
        }
        problem.to_string()
    }
}

impl RateLimitHeaders {
    fn add(&mut self, policy: &str, rule: &str, index: Option<usize>, remaining: u64, reset_after_s: Option<u64>) {
        if self.policy.is_empty() {
            self.policy = String::from(policy);
        } else {
            self.policy.push_str(SEPARATOR);
            self.policy.push_str(policy);
        }
        begin_item(&mut self.limit, rule, index);
        push(&mut self.limit, ";r=", remaining);
        if let Some(seconds) = reset_after_s {
            push(&mut self.limit, ";t=", seconds);
        }
    }
}

/// The quotas of a rule in `RateLimit-Policy`.
pub(super) fn policy(rule: &str, quotas: &[Quota]) -> String {
    let mut policy = String::new();
    for (index, quota) in quotas.iter().enumerate() {
        begin_item(&mut policy, rule, (quotas.len() > 1).then_some(index));
        push(&mut policy, ";q=", quota.limit());
        // A window of the field is whole seconds.
        if quota.period_ns().is_multiple_of(SECOND_NS) {
            push(&mut policy, ";w=", quota.period_ns() / SECOND_NS);
        }
    }
    policy
}

/// Adds the name of an item to a list: of a rule, or of one of its quotas.
fn begin_item(list: &mut String, rule: &str, index: Option<usize>) {
    if list.is_empty() {
        // Room for all of an item, so that it doesn't grow step by step.
        *list = String::with_capacity(rule.len() + 64);
    } else {
        list.push_str(SEPARATOR);
    }
    list.push('"');
    list.push_str(rule);
    if let Some(index) = index {
        push(list, "/", index as u64 + 1);
    }
    list.push('"');
}

/// Adds a number behind what it is. Responses that are admitted have two of them: `write!` takes twice as long.
fn push(text: &mut String, what: &str, number: u64) {
    text.push_str(what);
    text.push_str(itoa::Buffer::new().format(number));
}

/// After how long nothing of a quota counts any more at the latest, if so much of it is left.
fn full_after_ns(quota: &Quota, remaining: u64) -> u64 {
    match quota.algorithm() {
        Algorithm::Gcra => {
            let used = quota.burst().saturating_sub(remaining);
            let ns = u128::from(used) * u128::from(quota.period_ns());
            u64::try_from(ns.div_ceil(u128::from(quota.limit().max(1)))).unwrap_or(NEVER_NS)
        }
        Algorithm::FixedWindow | Algorithm::SlidingLog => quota.period_ns(),
        Algorithm::SlidingWindow => quota.period_ns().saturating_mul(2),
    }
}
