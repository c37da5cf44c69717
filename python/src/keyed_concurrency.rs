//! Concurrency limiters with permits for each key.

use crate::argument::{Given, MAX_KEYS};
use crate::concurrency::{LIMIT, PERMITS, refused};
use crate::error::{from_core, no_panic};
use crate::guard::keyed_decorator;
use crate::key::read_key;
use crate::permit::Permit;
use crate::refusal;
use crate::time::if_tracked;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::sync::Arc;
use tidegate::{KeyedConcurrencyOptions, Status};

/// Lends at most limit permits of each key at once, in memory that doesn't grow.
///
/// limit: 0 to 2**31-1; 0 refuses all.
/// max_keys: for how many keys with permits out there is room, 1 to 2**32. Each takes 40 bytes.
/// track_hold_time: whether stats() tells how long permits are held, at the price of two clock readings each.
/// clock: the clock of the hold times: a ManualClock, for tests, or None for the machine's monotonic clock. The first limiter
/// of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// A key is a str (its UTF-8 counts) or bytes, of any length; key_of() joins several parts to one. Keys are not stored. A key
/// with permits out keeps its place until they are back; a new key that finds no place is refused.
///
/// Every method may be called from any thread at once. A wrong value raises ConfigError (a ValueError), a wrong type
/// TypeError; nothing is taken then.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct KeyedConcurrencyLimiter(Arc<tidegate::KeyedConcurrencyLimiter>);

impl KeyedConcurrencyLimiter {
    #[cold]
    fn refusal(&self, key: &Bound<'_, PyAny>, bytes: &[u8], permits: u64, status: Status) -> PyErr {
        let whose = refusal::of_key(key);
        let text = match status {
            Status::KeysFull => refusal::no_room(&whose, self.0.capacity()),
            _ => refusal::of_permits(permits, &whose, status, self.0.limit(), self.0.available(bytes)),
        };
        refused(status, text)
    }
}

#[pymethods]
impl KeyedConcurrencyLimiter {
    #[new]
    #[pyo3(
        signature = (limit, *, max_keys = Given::LEFT_OUT, track_hold_time = Given::LEFT_OUT, clock = Given::LEFT_OUT),
        text_signature = "(limit, *, max_keys=100000, track_hold_time=False, clock=None)"
    )]
    fn new(
        py: Python<'_>,
        limit: &Bound<'_, PyAny>,
        max_keys: Given<'_, '_>,
        track_hold_time: Given<'_, '_>,
        clock: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let limit = LIMIT.read(limit)?;
            let options = KeyedConcurrencyOptions::new()
                .max_keys(max_keys.whole_or(100_000, &MAX_KEYS)?)
                .track_hold_time(track_hold_time.bool_or(false, "track_hold_time")?)
                .clock(clock.clock(py)?);
            Ok(Self(Arc::new(options.build(limit).map_err(from_core)?)))
        })
    }

    /// Takes so many permits of the key if all can be had now, and lends them as one Permit; None if not.
    #[pyo3(signature = (key, permits = Given::LEFT_OUT), text_signature = "($self, key, permits=1)")]
    fn try_acquire(&self, key: &Bound<'_, PyAny>, permits: Given<'_, '_>) -> PyResult<Option<Permit>> {
        no_panic(|| {
            let key = read_key(key)?;
            let taken = self.0.try_acquire_raw(&*key, permits.whole_or(1, &PERMITS)?).map_err(from_core)?;
            Ok(taken.ok().map(|raw| Permit::of_key(&self.0, raw)))
        })
    }

    /// Makes a decorator: the function's body runs only if so many permits of the key can be had when it starts, else Refused
    /// is raised. They are held until the body ends; an exception that leaves it counts as failed work.
    ///
    /// key: a str or bytes, or a function that is called with the arguments of each call and returns one. What it raises, the
    /// call raises.
    ///
    /// For functions, async functions, generators, async generators and methods. ExceedsCapacity, a Refused, is raised where
    /// permits is more than the limit.
    #[pyo3(signature = (*, key, permits = Given::LEFT_OUT), text_signature = "($self, *, key, permits=1)")]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        permits: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| keyed_decorator(slf.as_any(), key, permits.of_guard(&PERMITS)?, "keyed_permits"))
    }

    /// Takes permits of the key or raises Refused: what a guard does.
    fn _admit(&self, key: &Bound<'_, PyAny>, permits: u64) -> PyResult<Permit> {
        no_panic(|| {
            let bytes = read_key(key)?;
            match self.0.try_acquire_raw(&*bytes, permits).map_err(from_core)? {
                Ok(raw) => Ok(Permit::of_key(&self.0, raw)),
                Err(status) => Err(self.refusal(key, &bytes, permits, status)),
            }
        })
    }

    /// How many permits of each key may be out at once. Can be set at any time, and never waits: permits that are out stay
    /// out.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit()
    }

    #[setter]
    fn set_limit(&self, limit: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| self.0.set_limit(LIMIT.read(limit)?).map_err(from_core))
    }

    /// How many permits of the key are out.
    fn in_flight(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        no_panic(|| Ok(self.0.in_flight(&*read_key(key)?)))
    }

    /// How many permits of the key could be taken now, if there is room for it; 0 while more are out than a lowered limit.
    fn available(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        no_panic(|| Ok(self.0.available(&*read_key(key)?)))
    }

    /// For how many keys with permits out there is room: max_keys.
    #[getter]
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    /// What was allowed, denied and released since the limiter was built, in calls, over all keys, and what is out now. Takes
    /// time in proportion to max_keys.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static KEYED_CONCURRENCY_STATS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        no_panic(|| {
            // Goes through all keys, while other threads need not wait for it.
            let stats = py.detach(|| self.0.stats());
            let tracked = self.0.tracks_hold_time();
            let (hold_time_total, hold_time_total_ns) = if_tracked(tracked, stats.hold_time_total);
            let (hold_time_max, hold_time_max_ns) = if_tracked(tracked, stats.hold_time_max);
            KEYED_CONCURRENCY_STATS.import(py, "tidegate.stats", "KeyedConcurrencyStats")?.call1((
                stats.limit,
                stats.in_flight,
                stats.allowed,
                stats.denied,
                stats.released_ok,
                stats.released_failed,
                stats.live_keys,
                stats.capacity,
                hold_time_total,
                hold_time_max,
                hold_time_total_ns,
                hold_time_max_ns,
            ))
        })
    }

    fn __repr__(&self) -> String {
        format!("KeyedConcurrencyLimiter({}, max_keys={})", self.0.limit(), self.0.capacity())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle or copy a KeyedConcurrencyLimiter: it lends in this process; build one in each process",
        ))
    }
}
