//! Concurrency limiters with permits for each key.

use crate::argument::{Given, MAX_KEYS};
use crate::budget::Budget;
use crate::concurrency::{LIMIT, PERMITS, refused};
use crate::error::{from_core, no_panic};
use crate::guard::decorator;
use crate::key::{Key, read_key};
use crate::late::Late;
use crate::permit::Permit;
use crate::refusal;
use crate::stats::with_hold_times;
use crate::turn::{self, Turns};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::sync::Arc;
use tidegate::{KeyedConcurrencyOptions, Status};

/// Lends at most limit permits of each key at once, in memory that doesn't grow.
///
/// limit: 0 to 2**31-1; 0 refuses all, and who waits waits until it is raised.
/// max_keys: for how many keys with permits out, or that somebody waits for, there is room, 1 to 2**32. Each takes 40 bytes.
/// max_waiters: how many may wait for each key at once, 0 to 2**32-2; None for no such limit. Who comes then gets QueueFull.
/// track_hold_time: whether stats() tells how long permits are held, at the price of two clock readings each.
/// clock: the clock of hold times and timeouts: a ManualClock, for tests, or None for the machine's monotonic clock. The first
/// limiter of a process on that clock may take up to 200 ms to build, once: it calibrates the clock.
///
/// A key is a str (its UTF-8 counts) or bytes, of any length; key_of() joins several parts to one. Keys are not stored. A key
/// with permits out keeps its place until they are back; a new key that finds no place is refused.
///
/// Every method may be called from any thread at once. A wrong value raises ConfigError (a ValueError), a wrong type
/// TypeError; nothing is taken then. In the child of a fork no permit is out and nobody waits: what the parent holds is the
/// parent's.
#[pyclass(frozen, weakref, module = "tidegate")]
pub struct KeyedConcurrencyLimiter {
    limiter: Arc<tidegate::KeyedConcurrencyLimiter>,
    turns: Arc<Turns>,
}

impl KeyedConcurrencyLimiter {
    fn budget(&self, key: &Bound<'_, PyAny>) -> PyResult<Budget> {
        Ok(Budget::KeyPermits(Arc::clone(&self.limiter), Key::read(key)?))
    }

    /// Takes permits of the key if nobody waits for it and they are there.
    fn take_if_free(&self, key: &Bound<'_, PyAny>, permits: u64) -> PyResult<Option<Permit>> {
        let taken = self.limiter.take_if_free(&*read_key(key)?, permits).map_err(from_core)?;
        Ok(taken.map(|raw| Permit::of_key(&self.limiter, raw)))
    }

    #[cold]
    fn refusal(&self, key: &Bound<'_, PyAny>, bytes: &[u8], permits: u64, status: Status) -> PyErr {
        let whose = refusal::of_key(key);
        let text = match status {
            Status::KeysFull => refusal::no_room(&whose, self.limiter.capacity()),
            _ => refusal::of_permits(permits, &whose, status, self.limiter.limit(), self.limiter.available(bytes)),
        };
        refused(status, text)
    }
}

#[pymethods]
impl KeyedConcurrencyLimiter {
    #[new]
    #[pyo3(
        signature = (
            limit,
            *,
            max_keys = Given::LEFT_OUT,
            max_waiters = Given::LEFT_OUT,
            track_hold_time = Given::LEFT_OUT,
            clock = Given::LEFT_OUT
        ),
        text_signature = "(limit, *, max_keys=100000, max_waiters=None, track_hold_time=False, clock=None)"
    )]
    fn new(
        py: Python<'_>,
        limit: &Bound<'_, PyAny>,
        max_keys: Given<'_, '_>,
        max_waiters: Given<'_, '_>,
        track_hold_time: Given<'_, '_>,
        clock: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let limit = LIMIT.read(limit)?;
            let options = KeyedConcurrencyOptions::new()
                .max_keys(max_keys.whole_or(100_000, &MAX_KEYS)?)
                .max_waiters(max_waiters.max_waiters()?)
                .track_hold_time(track_hold_time.bool_or(false, "track_hold_time")?);
            let turns = Turns::new(py, clock)?;
            let limiter = Arc::new(options.clock(turns.clock()).build(limit).map_err(from_core)?);
            Ok(Self { limiter, turns })
        })
    }

    /// Takes so many permits of the key if all can be had now, and lends them as one Permit; None if not.
    #[pyo3(signature = (key, permits = Given::LEFT_OUT), text_signature = "($self, key, permits=1)")]
    fn try_acquire(&self, key: &Bound<'_, PyAny>, permits: Given<'_, '_>) -> PyResult<Option<Permit>> {
        no_panic(|| {
            let key = read_key(key)?;
            let taken = self.limiter.try_acquire_raw(&*key, permits.whole_or(1, &PERMITS)?).map_err(from_core)?;
            Ok(taken.ok().map(|raw| Permit::of_key(&self.limiter, raw)))
        })
    }

    /// Takes so many permits of the key, all at once, waiting for its turn: first come, first served, for each key. Other threads
    /// run meanwhile, and signals are noticed.
    ///
    /// timeout: seconds to wait at most (int, float or timedelta); None for ever, 0 to try once.
    ///
    /// Raises TimedOut (a TimeoutError), QueueFull, Closed or ExceedsCapacity, all Refused, with figures, Refused itself if there is no room
    /// for a new key, and RuntimeError if it had to wait where an event loop runs on this thread; nothing is taken then.
    #[pyo3(
        signature = (key, permits = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, key, permits=1, timeout=None)"
    )]
    fn acquire(&self, key: &Bound<'_, PyAny>, permits: Given<'_, '_>, timeout: Given<'_, '_>) -> PyResult<Py<PyAny>> {
        no_panic(|| {
            let (py, permits, timeout_ns) = (key.py(), permits.whole_or(1, &PERMITS)?, timeout.timeout_or(None)?);
            if let Some(permit) = self.take_if_free(key, permits)? {
                return Ok(Py::new(py, permit)?.into_any());
            }
            let budget = self.budget(key)?;
            let grant = self.turns.wait(py, &budget, permits, timeout_ns)?;
            budget.hand_over(py, grant)
        })
    }

    /// acquire() as a coroutine, for asyncio, on any loop: a task that waits blocks no other. Cancelling it leaves the queue.
    #[pyo3(
        signature = (key, permits = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, key, permits=1, timeout=None)"
    )]
    fn acquire_async<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        permits: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| {
            read_key(key)?;
            let (permits, timeout_ns) = (permits.whole_or(1, &PERMITS)?, timeout.timeout_or(None)?);
            turn::coroutine(slf.as_any(), Some(key), permits, timeout_ns)
        })
    }

    /// Takes at once, or begins to wait as what make_turn makes: what acquire_async() does.
    fn _begin(
        &self,
        make_turn: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        permits: u64,
        timeout_ns: Option<u64>,
    ) -> PyResult<Py<PyAny>> {
        no_panic(|| match self.take_if_free(key, permits)? {
            Some(permit) => Ok(Py::new(key.py(), permit)?.into_any()),
            None => self.turns.begin(make_turn, &self.budget(key)?, permits, timeout_ns),
        })
    }

    /// Makes a decorator: the function's body runs once so many permits of the key were had, which are held until it ends; an
    /// exception that leaves it counts as failed work.
    ///
    /// key: a str or bytes, or a function that is called with the arguments of each call and returns one. What it raises, the
    /// call raises.
    /// timeout: seconds to wait for them at most: 0 to be refused at once, None to wait for ever. Functions wait as acquire()
    /// does, async ones as acquire_async() does.
    ///
    /// For functions, async functions, generators, async generators and methods. Raises Refused if they can't be had, as
    /// acquire() does; ExceedsCapacity, a Refused, where permits is more than the limit.
    #[pyo3(
        signature = (*, key, permits = Given::LEFT_OUT, timeout = Given::LEFT_OUT),
        text_signature = "($self, *, key, permits=1, timeout=0)"
    )]
    fn guard<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        permits: Given<'_, 'py>,
        timeout: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        no_panic(|| decorator(slf.as_any(), Some(key), permits.of_guard(&PERMITS)?, timeout.timeout_or(Some(0))?))
    }

    /// Takes permits of the key or raises Refused: what a guard with a timeout of 0 does.
    fn _admit(&self, key: &Bound<'_, PyAny>, permits: u64, _timeout: f64) -> PyResult<Permit> {
        no_panic(|| {
            let bytes = read_key(key)?;
            match self.limiter.try_acquire_raw(&*bytes, permits).map_err(from_core)? {
                Ok(raw) => Ok(Permit::of_key(&self.limiter, raw)),
                Err(status) => Err(self.refusal(key, &bytes, permits, status)),
            }
        })
    }

    /// How many permits of each key may be out at once. Can be set at any time, and never waits: permits that are out stay
    /// out.
    #[getter]
    fn limit(&self) -> u64 {
        self.limiter.limit()
    }

    #[setter]
    fn set_limit(&self, limit: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| self.limiter.set_limit(LIMIT.read(limit)?).map_err(from_core))
    }

    /// How many permits of the key are out.
    fn in_flight(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        no_panic(|| Ok(self.limiter.in_flight(&*read_key(key)?)))
    }

    /// How many permits of the key could be taken now, if there is room for it; 0 while anybody waits for it, more are out than
    /// a lowered limit, or it is closed.
    fn available(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        no_panic(|| Ok(self.limiter.available(&*read_key(key)?)))
    }

    /// How many wait for the key.
    fn waiting(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        no_panic(|| Ok(self.limiter.waiting(&*read_key(key)?)))
    }

    /// Whether close() was called.
    #[getter]
    fn closed(&self) -> bool {
        self.limiter.is_closed()
    }

    /// Lends nothing any more, of any key, for ever: who waits and who comes gets Closed, and try_acquire() gives None. Permits
    /// that are out can be given back.
    fn close(&self) -> PyResult<()> {
        no_panic(|| {
            self.limiter.close();
            Ok(())
        })
    }

    /// For how many keys with permits out there is room: max_keys.
    #[getter]
    fn capacity(&self) -> u64 {
        self.limiter.capacity()
    }

    /// What was allowed, denied and released since the limiter was built, in calls, over all keys, and what is out now. Takes
    /// time in proportion to max_keys.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static KEYED_CONCURRENCY_STATS: Late = Late::new("tidegate.stats", "KeyedConcurrencyStats");
        no_panic(|| {
            // Goes through all keys, while other threads need not wait for it.
            let stats = py.detach(|| self.limiter.stats());
            let counts = [
                stats.limit,
                stats.in_flight,
                stats.allowed,
                stats.denied,
                stats.timed_out,
                stats.cancelled,
                stats.waiting,
                stats.released_ok,
                stats.released_failed,
                stats.live_keys,
                stats.capacity,
            ];
            let figures = with_hold_times(py, &counts, &stats, self.limiter.tracks_hold_time())?;
            KEYED_CONCURRENCY_STATS.get(py)?.call1(figures)
        })
    }

    fn __repr__(&self) -> String {
        format!("KeyedConcurrencyLimiter({}, max_keys={})", self.limiter.limit(), self.limiter.capacity())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "cannot pickle or copy a KeyedConcurrencyLimiter: it lends in this process; build one in each process",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.turns.traverse(&visit)
    }
}
