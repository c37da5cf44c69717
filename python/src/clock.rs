//! The clock for tests.

use crate::argument::Whole;
use crate::error::no_panic;
use crate::time::Seconds;
use pyo3::prelude::*;

const SECONDS: Seconds = Seconds { name: "seconds", allowed: "seconds from 0, as int, float or timedelta" };
const NS: Whole = Whole { name: "ns", least: 0, most: u64::MAX };

/// A clock that moves only when told: for tests.
///
/// It starts at zero, which is the Unix epoch, and stops at 2**64-1 nanoseconds. Limiters that were given the same clock
/// share its time. Times are seconds (int or float, rounded up to nanoseconds) or a timedelta.
#[pyclass(frozen, module = "tidegate")]
pub struct ManualClock(tidegate::ManualClock);

impl From<&ManualClock> for tidegate::Clock {
    fn from(clock: &ManualClock) -> Self {
        (&clock.0).into()
    }
}

#[pymethods]
impl ManualClock {
    #[new]
    fn new() -> Self {
        Self(tidegate::ManualClock::new())
    }

    /// Moves the clock on.
    ///
    /// Raises ConfigError for negative or non-finite seconds.
    fn advance(&self, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            self.0.advance_ns(SECONDS.read_ns(seconds)?);
            Ok(())
        })
    }

    /// Moves the clock on by whole nanoseconds.
    fn advance_ns(&self, ns: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            self.0.advance_ns(NS.read(ns)?);
            Ok(())
        })
    }

    /// Sets the time, as a machine's clock is set: a step back counts as no time, and progress from there counts again.
    ///
    /// Raises ConfigError for negative or non-finite seconds.
    fn set(&self, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            self.0.set_ns(SECONDS.read_ns(seconds)?);
            Ok(())
        })
    }

    /// Sets the time in whole nanoseconds, as set() does.
    fn set_ns(&self, ns: &Bound<'_, PyAny>) -> PyResult<()> {
        no_panic(|| {
            self.0.set_ns(NS.read(ns)?);
            Ok(())
        })
    }

    /// The clock's time in nanoseconds, which never goes back.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn __repr__(&self) -> String {
        format!("ManualClock(now_ns={})", self.0.now_ns())
    }
}
