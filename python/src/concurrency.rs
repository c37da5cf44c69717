//! Concurrency limiters: permits that the caller gives back.

use crate::argument::{COST, Given, Whole};
use crate::blocks::{Blocks, frame};
use crate::budget::{Budget, Grant};
use crate::error::{Closed, ExceedsCapacity, Refused, config_error, from_core, no_panic};
use crate::guard::decorator;
use crate::late::Late;
use crate::permit::{Permit, went_well};
use crate::ready;
use crate::refusal;
use crate::stats::with_hold_times;
use crate::turn::{self, Turns};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::Arc;
use tidegate::{ConcurrencyOptions, RawPermit, Status};

pub const LIMIT: Whole = Whole { name: "limit", least: 0, most: (1 << 31) - 1 };
pub const PERMITS: Whole = Whole { name: "permits", ..COST };

/// Lends at most limit permits at once.
///
/// limit: 0 to 2**31-1; 0 refuses all, and who waits waits until it is raised.
/// max_waiters: how many may wait at once, 0 to 2**32-2; None for no such limit. Who comes then gets QueueFull.
/// track_hold_time: whether stats() tells how long permits are held, at the price of two clock readings each.
/// clock: the clock of hold times and timeouts: a ManualClock, for tests, or None for the machine's monotonic clock. The first
/// limiter of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// `with limiter:` and `async with limiter:` wait for one permit, which they yield and hold. An exception that leaves the block
/// counts as failed work in stats(). Blocks may be nested and overlap on threads, in tasks and in generators.
///
/// Every method may be called from any thread at once. A wrong value raises ConfigError (a ValueError), a wrong type TypeError;
/// nothing is taken then. In the child of a fork no permit is out and nobody waits: what the parent holds is the parent's.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct ConcurrencyLimiter {
    limiter: Arc<tidegate::ConcurrencyLimiter>,
    blocks: Blocks,
    turns: Arc<Turns>,
}

impl ConcurrencyLimiter {
    fn budget(&self) -> Budget {
        Budget::Permits(Arc::clone(&self.limiter))
    }

    /// Waits for its turn, on this thread.
    fn wait_for(&self, py: Python<'_>, permits: u64, timeout_ns: Option<u64>) -> PyResult<RawPermit> {
        if let Some(raw) = self.limiter.take_if_free(permits).map_err(from_core)? {
            return Ok(raw);
        }
        match self.turns.wait(py, &self.budget(), permits, timeout_ns)? {
            Grant::Permits(raw) => Ok(raw),
            _ => unreachable!("permits without a key are lent here"),
        }
    }

    #[cold]
    fn refusal(&self, permits: u64, status: Status) -> PyErr {
        refused(status, refusal::of_permits(permits, "", status, self.limiter.limit(), self.limiter.available()))
    }
}

/// The exception that says no to permits, which has no decision.
#[cold]
pub fn refused(status: Status, text: String) -> PyErr {
    match status {
        Status::ExceedsCapacity => ExceedsCapacity::new_err((None::<()>, text)),
        Status::Closed => Closed::new_err((None::<()>, text)),
        _ => Refused::new_err((None::<()>, text)),
    }
}

#[pymethods]
impl ConcurrencyLimiter {
    #[new]
    #[pyo3(
        signature = (
            limit,
            *,
            max_waiters = Given::LEFT_OUT,
            track_hold_time = Given::LEFT_OUT,
            clock = Given::LEFT_OUT
        ),
        text_signature = "(limit, *, max_waiters=None, track_hold_time=False, clock=None)"
    )]
    fn new(
        py: Python<'_>,
        limit: &Bound<'_, PyAny>,
        max_waiters: Given<'_, '_>,
        track_hold_time: Given<'_, '_>,
        clock: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let limit = LIMIT.read(limit)?;
            let track = track_hold_time.bool_or(false, "track_hold_time")?;
            let options = ConcurrencyOptions::new().track_hold_time(track).max_waiters(max_waiters.max_waiters()?);
            let turns = Turns::new(py, clock)?;
            let limiter = Arc::new(options.clock(turns.clock()).build(limit).map_err(from_core)?);
            Ok(Self { limiter, blocks: Blocks::default(), turns })
        })
    }

    /// Takes so many permits if all can be had now, and lends them as one Permit; None if not.
    #[pyo3(signature = (permits = Given::LEFT_OUT), text_signature = "($self, permits=1)")]
    fn try_acquire(&self, permits: Given<'_, '_>) -> PyResult<Option<Permit>> {
        no_panic(|| {
            let taken = self.limiter.try_acquire_raw(permits.whole_or(1, &PERMITS)?).map_err(from_core)?;
            Ok(taken.ok().map(|raw| Permit::new(&self.limiter, raw)))
        })
    }

    /// Takes so many permits, all at once, waiting for its turn: first come, first served. Other threads run meanwhile, and
    /// signals are noticed.
    ///
    /// timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once.
    ///
    /// Raises TimedOut (a TimeoutError), QueueFull, Closed or ExceedsCapacity, all Refused, with figures, and RuntimeError if it had
    /// to wait where an event loop runs on this thread; nothing is taken then.
    #[pyo3(
        signature = (permits = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, permits=1, timeout=None)"
    )]
    fn acquire(&self, py: Python<'_>, permits: Given<'_, '_>, timeout: Given<'_, '_>) -> PyResult<Permit> {
        no_panic(|| {
            let raw = self.wait_for(py, permits.whole_or(1, &PERMITS)?, timeout.timeout_or(None)?)?;
            Ok(Permit::new(&self.limiter, raw))
        })
    }

    /// acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves the queue.
    #[pyo3(
        signature = (permits = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, permits=1, timeout=None)"
    )]
    fn acquire_async<'py>(
        slf: &Bound<'py, Self>,
        permits: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| turn::coroutine(slf.as_any(), None, permits.whole_or(1, &PERMITS)?, timeout.timeout_or(None)?))
    }

    /// Takes at once, or begins to wait as what make_turn makes: what acquire_async() does.
    fn _begin(
        &self,
        make_turn: &Bound<'_, PyAny>,
        _key: &Bound<'_, PyAny>,
        permits: u64,
        timeout_ns: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        no_panic(|| match self.limiter.take_if_free(permits).map_err(from_core)? {
            Some(raw) => Ok(Py::new(make_turn.py(), Permit::new(&self.limiter, raw))?.into_any()),
            None => self.turns.begin(make_turn, &self.budget(), permits, timeout_ns),
        })
    }

    /// Makes a decorator: the function's body runs once so many permits were had, which are held until it ends; an exception
    /// that leaves it counts as failed work.
    ///
    /// timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as acquire()
    /// does, async ones as acquire_async() does.
    ///
    /// For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had, as
    /// acquire() does; ExceedsCapacity, a Refused, where permits is more than the limit.
    #[pyo3(
        signature = (permits = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, permits=1, timeout=0)"
    )]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        permits: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| decorator(slf.as_any(), None, permits.of_guard(&PERMITS)?, timeout.timeout_or(Some(0))?))
    }

    /// Takes permits or raises Refused: what a guard with a timeout of 0 does.
    fn _admit(&self, permits: u64, _timeout: f64) -> PyResult<Permit> {
        no_panic(|| match self.limiter.try_acquire_raw(permits).map_err(from_core)? {
            Ok(raw) => Ok(Permit::new(&self.limiter, raw)),
            Err(status) => Err(self.refusal(permits, status)),
        })
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Permit>> {
        no_panic(|| {
            let (py, it) = (slf.py(), slf.get());
            let raw = it.wait_for(py, 1, None)?;
            it.blocks.enter(slf.as_any(), frame(py), &it.limiter, raw)
        })
    }

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            let (py, it) = (slf.py(), slf.get());
            match it.limiter.take_if_free(1).map_err(from_core)? {
                Some(raw) => it.blocks.enter_awaited(slf.as_any(), frame(py), &it.limiter, raw),
                None => turn::enter(slf.as_any(), frame(py)),
            }
        })
    }

    /// Notes that a block of this frame holds the permit.
    fn _entered(slf: &Bound<'_, Self>, frame: Option<Bound<'_, PyAny>>, permit: Py<Permit>) {
        slf.get().blocks.enter_with(slf.as_any(), frame, permit);
    }

    /// Gives the block's permit back, if the block didn't.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __aexit__<'py>(
        slf: &Bound<'py, Self>,
        exc_type: &Bound<'py, PyAny>,
        exc_value: &Bound<'py, PyAny>,
        traceback: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::__exit__(slf, exc_type, exc_value, traceback)?;
        ready::none(slf.py())
    }

    /// Gives the block's permit back, if the block didn't.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __exit__(
        slf: &Bound<'_, Self>,
        exc_type: &Bound<'_, PyAny>,
        _exc_value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        no_panic(|| {
            if slf.get().blocks.leave(slf.as_any(), went_well(exc_type))? {
                return Ok(());
            }
            Err(config_error("permit", "the end of a block that was not entered", "one __exit__ per __enter__"))
        })
    }

    /// How many permits may be out at once. Can be set at any time, and never waits: permits that are out stay out.
    #[getter]
    fn limit(&self) -> u64 {
        self.limiter.limit()
    }

    #[setter]
    fn set_limit(&self, limit: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| self.limiter.set_limit(LIMIT.read(limit)?).map_err(from_core))
    }

    /// How many permits are out.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.limiter.in_flight()
    }

    /// How many permits could be taken now; 0 while anybody waits, more are out than a lowered limit, or it is closed.
    #[getter]
    fn available(&self) -> u64 {
        self.limiter.available()
    }

    /// How many wait.
    #[getter]
    fn waiting(&self) -> u64 {
        self.limiter.waiting()
    }

    /// Whether close() was called.
    #[getter]
    fn closed(&self) -> bool {
        self.limiter.is_closed()
    }

    /// Lends nothing any more, for ever: who waits and who comes gets Closed, and try_acquire() gives None. Permits that are out
    /// can be given back.
    fn close(&self) -> PyResult<()> {
        no_panic(|| {
            self.limiter.close();
            Ok(())
        })
    }

    /// What was allowed, denied and released since the limiter was built, in calls, and what is out now.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static CONCURRENCY_STATS: Late = Late::new("tidegate.stats", "ConcurrencyStats");
        no_panic(|| {
            let stats = self.limiter.stats();
            let counts = [
                stats.limit,
                stats.in_flight,
                stats.available,
                stats.allowed,
                stats.denied,
                stats.timed_out,
                stats.cancelled,
                stats.waiting,
                stats.released_ok,
                stats.released_failed,
            ];
            let figures = with_hold_times(py, &counts, &stats, self.limiter.tracks_hold_time())?;
            CONCURRENCY_STATS.get(py)?.call1(figures)
        })
    }

    fn __repr__(&self) -> String {
        format!("ConcurrencyLimiter({}, in_flight={})", self.limiter.limit(), self.limiter.in_flight())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle or copy a ConcurrencyLimiter: it lends in this process; build one in each process",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.blocks.traverse(&visit)?;
        self.turns.traverse(&visit)
    }
}
