//! Waiting on a thread, without the GIL, while signals are still noticed.

use crate::budget::{Budget, Grant};
use pyo3::prelude::*;
use std::time::Duration;

/// How often the main thread looks for signals: 100 ms is what a person takes for at once.
pub const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// Waits for its turn. What a signal's handler raises, this does, and then nothing is taken.
#[cold]
pub fn wait(py: Python<'_>, budget: &Budget, number: u64, timeout_ns: Option<u64>) -> PyResult<Grant> {
    let timeout = timeout_ns.map(Duration::from_nanos);
    // Python runs handlers on the main thread alone; others need not come back for them.
    let (main, mut raised) = (on_main_thread(py)?, None);
    let every = if main { SIGNALS_EVERY } else { Duration::MAX };
    let mut is_interrupted = || match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            raised = Some(error);
            true
        }
    };
    let ended = py.detach(|| budget.acquire(number, timeout, every, &mut || main && is_interrupted()));
    ended.map_err(|error| raised.unwrap_or_else(|| budget.error(number, error)))
}

pub fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading.call_method0("main_thread")?.getattr("ident")?.eq(threading.call_method0("get_ident")?)
}
