//! Rules of a file that is watched.

use super::rules;
use crate::error::no_panic;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use tidegate::gate::Faults;

/// Keeps a gate's rules as a file has them, until stop() or the end of the gate.
#[pyclass(frozen, module = "tidegate")]
pub struct Watch(Mutex<Option<tidegate::gate::Watch>>);

impl Watch {
    pub fn new(py: Python<'_>, watch: Result<tidegate::gate::Watch, Faults>) -> PyResult<Self> {
        watch.map(|watch| Self(Mutex::new(Some(watch)))).map_err(|faults| rules::error(py, &faults))
    }

    fn take(&self) -> Option<tidegate::gate::Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Watch {
    /// From here on the rules stay as they are.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        // It waits for a change of rules that has begun, which may tell tasks of Python's.
        no_panic(|| {
            py.detach(|| drop(self.take()));
            Ok(())
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watch) = self.take() {
            watch.detach();
        }
    }
}
