//! The answer of a rate limiter to one call.

use crate::argument::type_error;
use crate::error::{ExceedsCapacity, Refused, config_error, from_core};
use crate::time::seconds_from_ns;
use pyo3::prelude::*;
use pyo3::types::PyType;
use tidegate::{NEVER_NS, Status};

/// The answer of a rate limiter to one call; true if the work may go ahead.
///
/// Times are in seconds, rounded up; the exact figures are those that end in _ns. A time that never comes is math.inf
/// in seconds and None in nanoseconds. A copy, as pickle makes, has the same figures but can't be refunded.
#[pyclass(frozen, module = "tidegate")]
pub struct Decision {
    status: Status,
    limit: u64,
    remaining: u64,
    retry_after_ns: u64,
    reset_after_ns: u64,
    quota: usize,
    /// What a refund takes; none in a copy.
    original: Option<tidegate::Decision>,
}

impl From<tidegate::Decision> for Decision {
    fn from(original: tidegate::Decision) -> Self {
        Self {
            status: original.status(),
            limit: original.limit(),
            remaining: original.remaining(),
            retry_after_ns: original.retry_after_ns(),
            reset_after_ns: original.reset_after_ns(),
            quota: original.quota(),
            original: Some(original),
        }
    }
}

impl Decision {
    /// The decision that is to be given back.
    pub fn refundable<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a tidegate::Decision> {
        const ALLOWED: &str = "a decision of this limiter that granted, once";
        let decision = value.cast::<Self>().map_err(|_| type_error("decision", value, ALLOWED))?;
        decision.get().original.as_ref().ok_or_else(|| config_error("decision", "a copy", ALLOWED))
    }

    /// The exception that says no: *exceeds capacity* has its own, since no waiting helps there.
    pub fn refusal(self, py: Python<'_>, text: String) -> PyErr {
        let exceeds = self.status == Status::ExceedsCapacity;
        match Py::new(py, self) {
            Err(error) => error,
            Ok(decision) if exceeds => ExceedsCapacity::new_err((decision, text)),
            Ok(decision) => Refused::new_err((decision, text)),
        }
    }
}

/// What [`Decision::__reduce__`] keeps, in the order that [`Decision::_restore`] takes.
type Figures = (&'static str, u64, u64, Option<u64>, u64, usize);

#[pymethods]
impl Decision {
    /// Whether the work may go ahead.
    #[getter]
    fn allowed(&self) -> bool {
        self.status == Status::Allowed
    }

    /// One of "allowed", "denied" (not now), "exceeds_capacity" (never: the cost is more than fits at once) and "keys_full"
    /// (not now: a keyed limiter has no room for a new key).
    #[getter]
    fn status(&self) -> &'static str {
        self.status.name()
    }

    /// The limit of the quota that this decision names, in tokens per period.
    #[getter]
    fn limit(&self) -> u64 {
        self.limit
    }

    /// Tokens that could be spent now, after this decision; the least over all quotas.
    #[getter]
    fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Seconds until the same call would be admitted, if nobody else asks: 0.0 when allowed, math.inf for never.
    #[getter]
    fn retry_after(&self) -> f64 {
        seconds_from_ns(self.retry_after_ns)
    }

    /// Nanoseconds until the same call would be admitted, exact; None for never.
    #[getter]
    fn retry_after_ns(&self) -> Option<u64> {
        (self.retry_after_ns != NEVER_NS).then_some(self.retry_after_ns)
    }

    /// Whole seconds until the same call would be admitted, rounded up, as an HTTP header Retry-After has them: 0 when
    /// allowed, at least 1 when refused, None for never: leave the header out then.
    #[getter]
    fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after_ns().map(|ns| ns.div_ceil(1_000_000_000))
    }

    /// Seconds until nothing counts any more, if nobody asks; the longest over all quotas.
    #[getter]
    fn reset_after(&self) -> f64 {
        seconds_from_ns(self.reset_after_ns)
    }

    /// Nanoseconds until nothing counts any more, exact.
    #[getter]
    fn reset_after_ns(&self) -> u64 {
        self.reset_after_ns
    }

    /// Which of the limiter's quotas this decision names, from 0: when refused the one to wait for longest, else the one
    /// with the least remaining.
    #[getter]
    fn quota(&self) -> usize {
        self.quota
    }

    fn __bool__(&self) -> bool {
        self.allowed()
    }

    fn __repr__(&self) -> String {
        // Rust's {:?} of a float reads back as the same float in Python.
        format!(
            "Decision(status='{}', limit={}, remaining={}, retry_after={:?}, reset_after={:?}, quota={})",
            self.status(),
            self.limit,
            self.remaining,
            self.retry_after(),
            self.reset_after(),
            self.quota
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Figures)> {
        let it = slf.get();
        let figures = (it.status(), it.limit, it.remaining, it.retry_after_ns(), it.reset_after_ns, it.quota);
        Ok((slf.get_type().getattr("_restore")?, figures))
    }

    /// Makes the copy that a pickle holds.
    #[classmethod]
    fn _restore(
        _class: &Bound<'_, PyType>,
        status: &str,
        limit: u64,
        remaining: u64,
        retry_after_ns: Option<u64>,
        reset_after_ns: u64,
        quota: usize,
    ) -> PyResult<Self> {
        let known = [Status::Allowed, Status::Denied, Status::ExceedsCapacity, Status::KeysFull];
        let status = known
            .into_iter()
            .find(|known| known.name() == status)
            .ok_or_else(|| config_error("status", format!("{status:?}"), known.map(Status::name).join(", ")))?;
        let retry_after_ns = retry_after_ns.unwrap_or(NEVER_NS);
        Ok(Self { status, limit, remaining, retry_after_ns, reset_after_ns, quota, original: None })
    }
}

/// Gives back what a decision took.
pub fn refund(limiter: &tidegate::RateLimiter, decision: &Bound<'_, PyAny>) -> PyResult<()> {
    limiter.refund(Decision::refundable(decision)?).map_err(from_core)
}
