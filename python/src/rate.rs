//! Rate limiters: tokens that come back with time.

use crate::argument::{COST, Given};
use crate::decision::{Decision, refund};
use crate::error::{from_core, no_panic};
use crate::guard::decorator;
use crate::quota::{Quota, quotas_text, quotas_tuple, read_quotas};
use crate::refusal;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

/// Decides whether work may go ahead, by one or several quotas that all must admit.
///
/// quotas: a Quota, its text ("100/s burst 20", several joined by ";"), or a list of 1 to 16 of them.
/// clock: a ManualClock, for tests; the machine's monotonic clock where it is None. The first limiter of a process on that
/// clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// Every method may be called from any thread at once; each decision is one atomic step. A cost is a number of tokens,
/// 1 to 2**53-1. A wrong value raises ConfigError (a ValueError), a wrong type TypeError; nothing is taken then.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct RateLimiter(Box<tidegate::RateLimiter>);

impl RateLimiter {
    #[cold]
    fn refusal(&self, py: Python<'_>, cost: u64, decision: tidegate::Decision) -> PyErr {
        let text = refusal::of_tokens(cost, "", &decision, &self.0.quotas());
        Decision::from(decision).refusal(py, text)
    }
}

#[pymethods]
impl RateLimiter {
    #[new]
    #[pyo3(signature = (quotas, *, clock = Given::LEFT_OUT), text_signature = "(quotas, *, clock=None)")]
    fn new(py: Python<'_>, quotas: &Bound<'_, PyAny>, clock: Given<'_, '_>) -> PyResult<Self> {
        no_panic(|| {
            let (quotas, clock) = (read_quotas(quotas)?, clock.clock(py)?);
            let limiter = tidegate::RateLimiter::with_clock(quotas, clock).map_err(from_core)?;
            Ok(Self(Box::new(limiter)))
        })
    }

    /// Takes cost tokens if all can be had now, and tells whether it did. The fastest way to ask.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn try_acquire(&self, cost: Given<'_, '_>) -> PyResult<bool> {
        no_panic(|| self.0.try_acquire_n(cost.whole_or(1, &COST)?).map_err(from_core))
    }

    /// Takes cost tokens if all can be had now, and tells the figures.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn decide(&self, cost: Given<'_, '_>) -> PyResult<Decision> {
        no_panic(|| self.0.decide_n(cost.whole_or(1, &COST)?).map(Decision::from).map_err(from_core))
    }

    /// What decide() would answer now, spending nothing; remaining is what is unspent.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn peek(&self, cost: Given<'_, '_>) -> PyResult<Decision> {
        no_panic(|| self.0.peek_n(cost.whole_or(1, &COST)?).map(Decision::from).map_err(from_core))
    }

    /// Gives back what a decision took, as far as no bound is broken: a window takes it back only while it lasts, gcra only
    /// what has not come back by itself.
    ///
    /// Raises ConfigError if the decision granted nothing, was refunded before, is another limiter's, or is a copy.
    fn refund(&self, decision: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| refund(&self.0, decision))
    }

    /// Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
    fn reset(&self) -> PyResult<()> {
        no_panic(|| {
            self.0.reset();
            Ok(())
        })
    }

    /// Changes limits, periods and bursts while in use, from the next call on. What is used stays used.
    ///
    /// Raises ConfigError if a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before.
    fn reconfigure(&self, quotas: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| self.0.reconfigure(read_quotas(quotas)?).map_err(from_core))
    }

    /// Makes a decorator: the function's body runs only if cost tokens can be had when it starts, else Refused is raised.
    ///
    /// For functions, async functions, generators, async generators and methods. ExceedsCapacity, a Refused, is raised where
    /// cost is more than fits at once. The exception's decision has the figures.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn guard<'py>(slf: &Bound<'py, Self>, cost: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        decorator(slf.as_any(), cost.of_guard(&COST)?, "tokens")
    }

    /// Takes cost tokens or raises Refused: what a guard does.
    fn _admit(&self, py: Python<'_>, cost: u64) -> PyResult<()> {
        no_panic(|| {
            let decision = self.0.decide_n(cost).map_err(from_core)?;
            if decision.allowed() { Ok(()) } else { Err(self.refusal(py, cost, decision)) }
        })
    }

    /// The quotas, in the order of the list.
    #[getter]
    fn quotas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        no_panic(|| quotas_tuple(py, self.0.quotas()))
    }

    /// The quota; the first one where there are several.
    #[getter]
    fn quota(&self) -> PyResult<Quota> {
        no_panic(|| Ok(Quota(self.0.quotas()[0])))
    }

    /// What was allowed and denied since the limiter was built, in calls.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static RATE_STATS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        no_panic(|| {
            let stats = self.0.stats();
            RATE_STATS.import(py, "tidegate.stats", "RateStats")?.call1((stats.allowed, stats.denied))
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        no_panic(|| Ok(format!("RateLimiter('{}')", quotas_text(&self.0.quotas()))))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle or copy a RateLimiter: it counts in this process; pickle its quotas and build one from them",
        ))
    }
}
