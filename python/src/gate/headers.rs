//! The headers of HTTP responses, as Python's servers take them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tidegate::gate::{Entry, RateLimitHeaders, Refusal};
use tidegate::{NEVER_NS, Quota};

pub struct Headers {
    headers: RateLimitHeaders,
    legacy: Option<Legacy>,
}

/// What the older headers say.
struct Legacy {
    limit: u64,
    remaining: u64,
    reset_unix_s: Option<u64>,
}

impl Headers {
    pub fn of_entry(entry: &Entry, legacy: bool) -> Self {
        let least = legacy.then(|| entry.figures().min_by_key(|figures| figures.remaining)).flatten();
        let legacy = least.map(|figures| {
            let quota = &figures.quotas[figures.quota_index];
            Legacy {
                limit: most(quota.limit(), Some(quota), figures.remaining),
                remaining: figures.remaining,
                reset_unix_s: unix_s_after(figures.reset_after_ns),
            }
        });
        Self { headers: entry.headers(), legacy }
    }

    pub fn of_refusal(refusal: &Refusal, legacy: bool) -> Self {
        let legacy = legacy.then(|| Legacy {
            limit: most(refusal.limit, refusal.quota.as_ref(), refusal.remaining),
            remaining: refusal.remaining,
            reset_unix_s: refusal.retry_after_ns.and_then(unix_s_after),
        });
        Self { headers: refusal.headers(), legacy }
    }

    /// Calls `with` for each that is there, with its name as it is written, its name in lower case, and its value.
    fn each(&self, mut with: impl FnMut(&'static str, &'static [u8], &str) -> PyResult<()>) -> PyResult<()> {
        let RateLimitHeaders { policy, limit, retry_after_s, .. } = &self.headers;
        if let Some(seconds) = retry_after_s {
            with("Retry-After", b"retry-after", &seconds.to_string())?;
        }
        if !policy.is_empty() {
            with("RateLimit-Policy", b"ratelimit-policy", policy)?;
        }
        if !limit.is_empty() {
            with("RateLimit", b"ratelimit", limit)?;
        }
        let Some(legacy) = &self.legacy else { return Ok(()) };
        with("X-RateLimit-Limit", b"x-ratelimit-limit", &legacy.limit.to_string())?;
        with("X-RateLimit-Remaining", b"x-ratelimit-remaining", &legacy.remaining.to_string())?;
        legacy.reset_unix_s.map_or(Ok(()), |time| with("X-RateLimit-Reset", b"x-ratelimit-reset", &time.to_string()))
    }

    pub fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.each(|name, _, value| dict.set_item(name, value))?;
        Ok(dict)
    }

    pub fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        self.each(|_, name, value| list.append((PyBytes::new(py, name), PyBytes::new(py, value.as_bytes()))))?;
        Ok(list)
    }
}

/// What X-RateLimit-Limit says: the limit, or the burst if that is more; never less than -Remaining. A key with a quota of its own has
/// another limit than the rule's quota, whose burst is not its.
fn most(limit: u64, quota: Option<&Quota>, remaining: u64) -> u64 {
    let burst = quota.filter(|quota| quota.limit() == limit).map_or(0, Quota::burst);
    limit.max(burst).max(remaining)
}

/// The time of day after so long, as a Unix time in whole seconds, rounded up; none for never.
fn unix_s_after(ns: u64) -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = (ns != NEVER_NS).then(|| now.saturating_add(Duration::from_nanos(ns)))?;
    Some(then.as_secs() + u64::from(then.subsec_nanos() > 0))
}
