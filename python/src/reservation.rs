//! Tokens that are charged ahead of time.

use crate::budget::Budget;
use crate::error::{config_error, from_core, no_panic};
use crate::time::seconds_from_ns;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const NO_PERMITS: &str = "only tokens are reserved";

/// Tokens that are charged already, to be used from a fixed time on; reserve() makes them.
#[pyclass(frozen, module = "tidegate")]
pub struct Reservation {
    budget: Budget,
    due_ns: u64,
    wait_ns: u64,
    /// None once it was cancelled.
    held: Mutex<Option<tidegate::Reservation>>,
}

impl Reservation {
    pub fn of(budget: Budget, cost: u64, max_wait_ns: Option<u64>) -> PyResult<Self> {
        let max_wait = max_wait_ns.map(Duration::from_nanos);
        let reserved = match &budget {
            Budget::Tokens(limiter) => limiter.reserve(cost, max_wait),
            Budget::KeyTokens(limiter, key) => limiter.reserve(key, cost, max_wait),
            _ => unreachable!("{NO_PERMITS}"),
        };
        let reserved = reserved.map_err(|error| budget.error(cost, error))?;
        let (due_ns, wait_ns) = (reserved.due_ns, reserved.wait_ns);
        Ok(Self { budget, due_ns, wait_ns, held: Mutex::new(Some(reserved)) })
    }
}

#[pymethods]
impl Reservation {
    /// Seconds from when it was reserved until it may be used; 0.0 if at once.
    #[getter]
    fn wait(&self) -> f64 {
        seconds_from_ns(self.wait_ns)
    }

    /// Nanoseconds from when it was reserved until it may be used, exact.
    #[getter]
    fn wait_ns(&self) -> u64 {
        self.wait_ns
    }

    /// From when on it may be used, in nanoseconds on the limiter's clock.
    #[getter]
    fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Gives it back, unused. True if the tokens are credited: it isn't due yet, and nobody reserved after it; else somebody would
    /// have to be told another time than was promised.
    ///
    /// Raises ConfigError if it was cancelled before.
    fn cancel(&self) -> PyResult<bool> {
        no_panic(|| {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
            let held = held.ok_or_else(|| {
                config_error("reservation", "one that was cancelled before", "a reservation that is held, once")
            })?;
            let credited = match &self.budget {
                Budget::Tokens(limiter) => limiter.cancel_reservation(held),
                Budget::KeyTokens(limiter, key) => limiter.cancel_reservation(key, held),
                _ => unreachable!("{NO_PERMITS}"),
            };
            credited.map_err(from_core)
        })
    }

    fn __repr__(&self) -> String {
        format!("<Reservation due in {} s from when it was made>", seconds_from_ns(self.wait_ns))
    }
}
