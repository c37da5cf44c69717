//! Why a request was not admitted.

use super::headers::Headers;
use crate::argument::Given;
use crate::error::{GateRefused, config_error, no_panic};
use crate::quota::Quota;
use crate::time::seconds_from_ns;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};
use std::borrow::Cow;
use std::time::Duration;
use tidegate::{NEVER_NS, Status};

/// Why a request was not admitted, and by which rule; false. Nothing was taken.
///
/// If several rules refuse, it is of the one that has to be waited for longest. Times are in seconds, rounded up; the exact figures are
/// those that end in _ns. str() is a line for people.
#[pyclass(frozen, module = "tidegate")]
pub struct Refusal(Box<tidegate::gate::Refusal>);

impl From<Box<tidegate::gate::Refusal>> for Refusal {
    #[inline]
    fn from(refusal: Box<tidegate::gate::Refusal>) -> Self {
        Self(refusal)
    }
}

impl Refusal {
    /// As an exception.
    #[cold]
    pub fn error(self, py: Python<'_>) -> PyErr {
        Py::new(py, self).map_or_else(|error| error, |refusal| GateRefused::new_err((refusal,)))
    }

    fn known_ns(&self) -> Option<u64> {
        self.0.retry_after_ns.filter(|ns| *ns != NEVER_NS)
    }
}

/// The statuses that a refusal may have.
const STATUSES: [Status; 7] = [
    Status::Denied,
    Status::ExceedsCapacity,
    Status::TimedOut,
    Status::QueueFull,
    Status::KeysFull,
    Status::Closed,
    Status::Forked,
];

/// What [`Refusal::__reduce__`] keeps, in the order that [`Refusal::_restore`] takes: the figures, then the times.
type Figures = (String, Option<String>, &'static str, [u64; 4], Vec<String>, usize);
type Times = (Option<u64>, u64, Option<u64>);

#[pymethods]
impl Refusal {
    /// The rule's name.
    #[getter]
    fn rule(&self) -> &str {
        &self.0.rule
    }

    /// Whose budget it is: the key's value, or several joined by ", ", at most 100 characters; or, unless the rules say show_keys, "#"
    /// and 16 hexadecimal digits that stand for it in this process. None if the rule has no key.
    #[getter]
    fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// "denied" (not now), "exceeds_capacity" (never: the cost is more than fits at once) or "keys_full" (no room for a new key); after
    /// a wait "timed_out" or "queue_full".
    #[getter]
    fn status(&self) -> &'static str {
        self.0.status.name()
    }

    /// Tokens per period, or permits at once.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Tokens or permits that could be taken.
    #[getter]
    fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// The quota that refused; None if it was a limit of permits.
    #[getter]
    fn quota(&self) -> Option<Quota> {
        self.0.quota.map(Quota)
    }

    /// Seconds until the same request would be admitted by the rule, if nobody else asks; math.inf for never; None if that depends on
    /// others that are inside.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after_ns.map(seconds_from_ns)
    }

    /// Nanoseconds until then, exact; None for never, or if that depends on others.
    #[getter]
    fn retry_after_ns(&self) -> Option<u64> {
        self.known_ns()
    }

    /// Whole seconds until then, at least 1, as the header Retry-After has them; None for never, or if that depends on others: leave the
    /// header out then.
    #[getter]
    fn retry_after_seconds(&self) -> Option<u64> {
        self.known_ns().map(|ns| ns.div_ceil(1_000_000_000).max(1))
    }

    /// How many are inside; None if it was a quota.
    #[getter]
    fn in_flight(&self) -> Option<u64> {
        self.0.quota.is_none().then_some(self.0.in_flight)
    }

    /// How many wait.
    #[getter]
    fn waiting(&self) -> u64 {
        self.0.waiting
    }

    /// Seconds that it waited.
    #[getter]
    fn elapsed(&self) -> f64 {
        seconds_from_ns(ns_of(self.0.elapsed))
    }

    /// Seconds that it would have waited at most: the call's timeout; None if it had none.
    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.0.timeout.map(|timeout| seconds_from_ns(ns_of(timeout)))
    }

    /// The headers that an HTTP response of status 429 has by it: Retry-After, RateLimit-Policy and RateLimit, those that apply.
    ///
    /// legacy: X-RateLimit-Limit, -Remaining and -Reset too; the last is a Unix time.
    #[pyo3(signature = (*, legacy = Given::LEFT_OUT), text_signature = "($self, *, legacy=False)")]
    fn headers<'py>(&self, py: Python<'py>, legacy: Given<'_, 'py>) -> PyResult<Bound<'py, PyDict>> {
        no_panic(|| Headers::of_refusal(&self.0, legacy.bool_or(false, "legacy")?).to_dict(py))
    }

    /// Likewise, as ASGI has them.
    fn _raw_headers<'py>(&self, py: Python<'py>, legacy: bool) -> PyResult<Bound<'py, PyList>> {
        no_panic(|| Headers::of_refusal(&self.0, legacy).to_list(py))
    }

    /// The body of that response, of the media type application/problem+json (RFC 9457).
    fn problem_json(&self) -> PyResult<String> {
        no_panic(|| Ok(self.0.problem_json()))
    }

    fn __bool__(&self) -> bool {
        false
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Refusal: {}>", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Figures, Times))> {
        let it = &slf.get().0;
        let counts = [it.limit, it.remaining, it.in_flight, it.waiting];
        let quotas = it.quotas.iter().map(ToString::to_string).collect();
        let figures = (it.rule.clone(), it.key.clone(), it.status.name(), counts, quotas, it.quota_index);
        let times = (it.retry_after_ns, ns_of(it.elapsed), it.timeout.map(ns_of));
        Ok((slf.get_type().getattr("_restore")?, (figures, times)))
    }

    /// Makes the copy that a pickle holds.
    #[classmethod]
    fn _restore(
        _class: &Bound<'_, PyType>,
        figures: (String, Option<String>, Cow<'_, str>, [u64; 4], Vec<String>, usize),
        times: Times,
    ) -> PyResult<Self> {
        let (rule, key, name, [limit, remaining, in_flight, waiting], quotas, quota_index) = figures;
        let status = STATUSES
            .into_iter()
            .find(|known| known.name() == name)
            .ok_or_else(|| config_error("status", format!("{name:?}"), STATUSES.map(Status::name).join(", ")))?;
        let mut refusal = tidegate::gate::Refusal::of(rule, status);
        refusal.quotas =
            quotas.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(crate::error::from_core)?;
        refusal.quota = refusal.quotas.get(quota_index).copied();
        (refusal.key, refusal.quota_index) = (key, quota_index);
        (refusal.limit, refusal.remaining) = (limit, remaining);
        (refusal.in_flight, refusal.waiting) = (in_flight, waiting);
        refusal.retry_after_ns = times.0;
        refusal.elapsed = Duration::from_nanos(times.1);
        refusal.timeout = times.2.map(Duration::from_nanos);
        Ok(Self(Box::new(refusal)))
    }
}

fn ns_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
