//! Concurrency limiters: permits that the caller gives back.

use crate::argument::{COST, Given, Whole};
use crate::blocks::Blocks;
use crate::error::{ExceedsCapacity, Refused, config_error, from_core, no_panic};
use crate::guard::decorator;
use crate::permit::{Permit, went_well};
use crate::refusal;
use crate::time::if_tracked;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::sync::Arc;
use tidegate::{ConcurrencyOptions, Status};

pub const LIMIT: Whole = Whole { name: "limit", least: 0, most: (1 << 31) - 1 };
pub const PERMITS: Whole = Whole { name: "permits", ..COST };

/// Lends at most limit permits at once.
///
/// limit: 0 to 2**31-1; 0 refuses all.
/// track_hold_time: whether stats() tells how long permits are held, at the price of two clock readings each.
/// clock: the clock of the hold times: a ManualClock, for tests, or None for the machine's monotonic clock. The first limiter
/// of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// `with limiter:` holds one permit, which it yields, and raises Refused at once where none is free. An exception that leaves
/// the block counts as failed work in stats(). Blocks may be nested and overlap on threads, in tasks and in generators. Every method may be called from any thread at once. A wrong value raises
/// ConfigError (a ValueError), a wrong type TypeError; nothing is taken then.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct ConcurrencyLimiter {
    limiter: Arc<tidegate::ConcurrencyLimiter>,
    blocks: Blocks,
}

impl ConcurrencyLimiter {
    fn admit(&self, permits: u64) -> PyResult<Permit> {
        match self.limiter.try_acquire_raw(permits).map_err(from_core)? {
            Ok(raw) => Ok(Permit::new(&self.limiter, raw)),
            Err(status) => Err(self.refusal(permits, status)),
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
    if status == Status::ExceedsCapacity {
        ExceedsCapacity::new_err((None::<()>, text))
    } else {
        Refused::new_err((None::<()>, text))
    }
}

#[pymethods]
impl ConcurrencyLimiter {
    #[new]
    #[pyo3(
        signature = (limit, *, track_hold_time = Given::LEFT_OUT, clock = Given::LEFT_OUT),
        text_signature = "(limit, *, track_hold_time=False, clock=None)"
    )]
    fn new(
        py: Python<'_>,
        limit: &Bound<'_, PyAny>,
        track_hold_time: Given<'_, '_>,
        clock: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let limit = LIMIT.read(limit)?;
            let track = track_hold_time.bool_or(false, "track_hold_time")?;
            let options = ConcurrencyOptions::new().track_hold_time(track).clock(clock.clock(py)?);
            let limiter = Arc::new(options.build(limit).map_err(from_core)?);
            Ok(Self { limiter, blocks: Blocks::default() })
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

    /// Makes a decorator: the function's body runs only if so many permits can be had when it starts, else Refused is raised.
    /// They are held until the body ends; an exception that leaves it counts as failed work.
    ///
    /// For functions, async functions, generators, async generators and methods. ExceedsCapacity, a Refused, is raised where
    /// permits is more than the limit.
    #[pyo3(signature = (permits = Given::LEFT_OUT), text_signature = "($self, permits=1)")]
    fn guard<'py>(slf: &Bound<'py, Self>, permits: Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        decorator(slf.as_any(), permits.of_guard(&PERMITS)?, "permits")
    }

    /// Takes permits or raises Refused: what a guard does.
    fn _admit(&self, permits: u64) -> PyResult<Permit> {
        no_panic(|| self.admit(permits))
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<Permit>> {
        no_panic(|| {
            let permit = Py::new(py, self.admit(1)?)?;
            self.blocks.enter(py, permit.clone_ref(py));
            Ok(permit)
        })
    }

    /// Gives the block's permit back, if the block didn't.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __exit__(
        &self,
        exc_type: &Bound<'_, PyAny>,
        _exc_value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        no_panic(|| {
            let Some(permit) = self.blocks.leave(exc_type.py()) else {
                return Err(config_error(
                    "permit",
                    "the end of a block that was not entered",
                    "one __exit__ per __enter__",
                ));
            };
            permit.get().release_if_held(went_well(exc_type)).map(drop)
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

    /// How many permits could be taken now; 0 while more are out than a lowered limit.
    #[getter]
    fn available(&self) -> u64 {
        self.limiter.available()
    }

    /// What was allowed, denied and released since the limiter was built, in calls, and what is out now.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static CONCURRENCY_STATS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        no_panic(|| {
            let stats = self.limiter.stats();
            let tracked = self.limiter.tracks_hold_time();
            let (hold_time_total, hold_time_total_ns) = if_tracked(tracked, stats.hold_time_total);
            let (hold_time_max, hold_time_max_ns) = if_tracked(tracked, stats.hold_time_max);
            CONCURRENCY_STATS.import(py, "tidegate.stats", "ConcurrencyStats")?.call1((
                stats.limit,
                stats.in_flight,
                stats.available,
                stats.allowed,
                stats.denied,
                stats.released_ok,
                stats.released_failed,
                hold_time_total,
                hold_time_max,
                hold_time_total_ns,
                hold_time_max_ns,
            ))
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
        self.blocks.traverse(&visit)
    }
}
