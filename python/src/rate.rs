//! Rate limiters: tokens that come back with time.

use crate::argument::{COST, Given};
use crate::budget::Budget;
use crate::decision::{Decision, refund};
use crate::error::{from_core, no_panic};
use crate::guard::decorator;
use crate::late::Late;
use crate::quota::{Quota, quotas_text, quotas_tuple, read_quotas};
use crate::ready;
use crate::refusal;
use crate::reservation::Reservation;
use crate::turn::{self, Turns};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use tidegate::RateOptions;

/// Decides whether work may go ahead, by one or several quotas that all must admit.
///
/// quotas: a Quota, its text ("100/s burst 20", several joined by ";"), or a list of 1 to 16 of them.
/// max_waiters: how many may wait at once, 0 to 2**32-2; None for no such limit. Who comes then gets QueueFull.
/// clock: a ManualClock, for tests; the machine's monotonic clock where it is None. The first limiter of a process on that
/// clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// `with limiter:` and `async with limiter:` wait for one token, and yield None.
///
/// Every method may be called from any thread at once; each decision is one atomic step. Nobody is admitted past those who wait
/// in acquire(). A cost is a number of tokens, 1 to 2**53-1. A wrong value raises ConfigError (a ValueError), a wrong type
/// TypeError; nothing is taken then. In the child of a fork nobody waits, and what is used stays used.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct RateLimiter {
    limiter: Arc<tidegate::RateLimiter>,
    turns: Arc<Turns>,
}

impl RateLimiter {
    /// Waits for its turn, on this thread.
    fn wait_for(&self, py: Python<'_>, cost: u64, timeout_ns: Option<u64>) -> PyResult<()> {
        if self.limiter.take_if_free(cost).map_err(from_core)? {
            return Ok(());
        }
        self.turns.wait(py, &self.budget(), cost, timeout_ns).map(drop)
    }

    fn budget(&self) -> Budget {
        Budget::Tokens(Arc::clone(&self.limiter))
    }

    #[cold]
    fn refusal(&self, py: Python<'_>, cost: u64, decision: tidegate::Decision) -> PyErr {
        let text = refusal::of_tokens(cost, "", &decision, &self.limiter.quotas());
        Decision::from(decision).refusal(py, text)
    }
}

#[pymethods]
impl RateLimiter {
    #[new]
    #[pyo3(
        signature = (quotas, *, max_waiters = Given::LEFT_OUT, clock = Given::LEFT_OUT),
        text_signature = "(quotas, *, max_waiters=None, clock=None)"
    )]
    fn new(
        py: Python<'_>,
        quotas: &Bound<'_, PyAny>,
        max_waiters: Given<'_, '_>,
        clock: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let (quotas, options) = (read_quotas(quotas)?, RateOptions::new().max_waiters(max_waiters.max_waiters()?));
            let turns = Turns::new(py, clock)?;
            let limiter = Arc::new(options.clock(turns.clock()).build(quotas).map_err(from_core)?);
            Ok(Self { limiter, turns })
        })
    }

    /// Takes cost tokens if all can be had now, and tells whether it did. The fastest way to ask.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn try_acquire(&self, cost: Given<'_, '_>) -> PyResult<bool> {
        no_panic(|| self.limiter.try_acquire_n(cost.whole_or(1, &COST)?).map_err(from_core))
    }

    /// Takes cost tokens if all can be had now, and tells the figures.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn decide(&self, cost: Given<'_, '_>) -> PyResult<Decision> {
        no_panic(|| self.limiter.decide_n(cost.whole_or(1, &COST)?).map(Decision::from).map_err(from_core))
    }

    /// What decide() would answer now, spending nothing; remaining is what is unspent.
    #[pyo3(signature = (cost = Given::LEFT_OUT), text_signature = "($self, cost=1)")]
    fn peek(&self, cost: Given<'_, '_>) -> PyResult<Decision> {
        no_panic(|| self.limiter.peek_n(cost.whole_or(1, &COST)?).map(Decision::from).map_err(from_core))
    }

    /// Gives back what a decision took, as far as no bound is broken: a window takes it back only while it lasts, gcra only
    /// what has not come back by itself.
    ///
    /// Raises ConfigError if the decision granted nothing, was refunded before, is another limiter's, or is a copy.
    fn refund(&self, decision: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| refund(&self.limiter, decision))
    }

    /// Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
    fn reset(&self) -> PyResult<()> {
        no_panic(|| {
            self.limiter.reset();
            Ok(())
        })
    }

    /// Changes limits, periods and bursts while in use, from the next call on. What is used stays used.
    ///
    /// Raises ConfigError if a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before.
    fn reconfigure(&self, quotas: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| self.limiter.reconfigure(read_quotas(quotas)?).map_err(from_core))
    }

    /// Takes cost tokens, waiting for its turn: first come, first served. They are charged when they are due, not before. Other
    /// threads run meanwhile, and signals are noticed.
    ///
    /// timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once. A wait that would take longer
    /// doesn't begin.
    ///
    /// Raises TimedOut (a TimeoutError), QueueFull or ExceedsCapacity, all Refused, with figures, and RuntimeError if it had to wait
    /// where an event loop runs on this thread; nothing is taken then.
    #[pyo3(
        signature = (cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, cost=1, timeout=None)"
    )]
    fn acquire(&self, py: Python<'_>, cost: Given<'_, '_>, timeout: Given<'_, '_>) -> PyResult<()> {
        no_panic(|| self.wait_for(py, cost.whole_or(1, &COST)?, timeout.timeout_or(None)?))
    }

    /// acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves the queue.
    #[pyo3(
        signature = (cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, cost=1, timeout=None)"
    )]
    fn acquire_async<'py>(
        slf: &Bound<'py, Self>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| turn::coroutine(slf.as_any(), None, cost.whole_or(1, &COST)?, timeout.timeout_or(None)?))
    }

    /// Takes at once, or begins to wait as what make_turn makes: what acquire_async() does.
    fn _begin(
        &self,
        make_turn: &Bound<'_, PyAny>,
        _key: &Bound<'_, PyAny>,
        cost: u64,
        timeout_ns: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        no_panic(|| match self.limiter.take_if_free(cost).map_err(from_core)? {
            true => Ok(make_turn.py().None()),
            false => self.turns.begin(make_turn, &self.budget(), cost, timeout_ns),
        })
    }

    /// Charges cost now, for use as soon as it is due, for who has a scheduler of its own. For gcra with one quota.
    ///
    /// max_wait: seconds until it is due at most (int, float or timedelta); None for any time.
    ///
    /// Raises TimedOut if it would be due later, or somebody waits already, and ExceedsCapacity; ConfigError for other quotas.
    /// Nothing is charged then.
    #[pyo3(
        signature = (cost = Given::LEFT_OUT, max_wait = Given::LEFT_OUT),
        text_signature = "($self, cost=1, max_wait=None)"
    )]
    fn reserve(&self, cost: Given<'_, '_>, max_wait: Given<'_, '_>) -> PyResult<Reservation> {
        no_panic(|| Reservation::of(self.budget(), cost.whole_or(1, &COST)?, max_wait.max_wait()?))
    }

    /// Makes a decorator: the function's body runs once cost tokens were had.
    ///
    /// timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as acquire()
    /// does, async ones as acquire_async() does.
    ///
    /// For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had, as
    /// acquire() does; ExceedsCapacity, a Refused, where cost is more than fits at once. With a timeout of 0 the exception's
    /// decision has the figures.
    #[pyo3(
        signature = (cost = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, cost=1, timeout=0)"
    )]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        cost: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| decorator(slf.as_any(), None, cost.of_guard(&COST)?, timeout.timeout_or(Some(0))?))
    }

    /// Takes cost tokens or raises Refused: what a guard with a timeout of 0 does.
    fn _admit(&self, py: Python<'_>, cost: u64, _timeout: f64) -> PyResult<()> {
        no_panic(|| {
            let decision = self.limiter.decide_n(cost).map_err(from_core)?;
            if decision.allowed() { Ok(()) } else { Err(self.refusal(py, cost, decision)) }
        })
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        no_panic(|| self.wait_for(py, 1, None))
    }

    /// Nothing: tokens come back by themselves.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __exit__(&self, _exc_type: &Bound<'_, PyAny>, _exc_value: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {}

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            if slf.get().limiter.take_if_free(1).map_err(from_core)? {
                ready::none(slf.py())
            } else {
                turn::coroutine(slf.as_any(), None, 1, None)
            }
        })
    }

    /// Nothing: tokens come back by themselves.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __aexit__<'py>(
        &self,
        exc_type: &Bound<'py, PyAny>,
        _exc_value: &Bound<'py, PyAny>,
        _traceback: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        ready::none(exc_type.py())
    }

    /// How many wait.
    #[getter]
    fn waiting(&self) -> u64 {
        self.limiter.waiting()
    }

    /// The quotas, in the order of the list.
    #[getter]
    fn quotas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        no_panic(|| quotas_tuple(py, self.limiter.quotas()))
    }

    /// The quota; the first one where there are several.
    #[getter]
    fn quota(&self) -> PyResult<Quota> {
        no_panic(|| Ok(Quota(self.limiter.quotas()[0])))
    }

    /// What was allowed and denied since the limiter was built, in calls.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static RATE_STATS: Late = Late::new("tidegate.stats", "RateStats");
        no_panic(|| {
            let stats = self.limiter.stats();
            RATE_STATS.get(py)?.call1((stats.allowed, stats.denied, stats.timed_out, stats.cancelled, stats.waiting))
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        no_panic(|| Ok(format!("RateLimiter('{}')", quotas_text(&self.limiter.quotas()))))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.turns.traverse(&visit)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle or copy a RateLimiter: it counts in this process; pickle its quotas and build one from them",
        ))
    }
}
