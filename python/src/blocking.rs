//! Waiting on a thread, without the GIL, while signals are still noticed.

use crate::budget::{Budget, Grant};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// How often the main thread looks for signals: 100 ms is what a person takes for at once.
pub const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// Waits for its turn. What a signal's handler raises, this does, and then nothing is taken. Where an event loop runs, there is
/// no wait: it would hold up those who could end it.
#[cold]
pub fn wait(py: Python<'_>, budget: &Budget, number: u64, timeout_ns: Option<u64>) -> PyResult<Grant> {
    let timeout = timeout_ns.map(Duration::from_nanos);
    // Python runs handlers on the main thread alone; others need not come back for them.
    let (main, in_loop, mut raised) = (on_main_thread(py)?, in_event_loop(py)?, None);
    let every = match main {
        _ if in_loop => Duration::ZERO,
        true => SIGNALS_EVERY,
        false => Duration::MAX,
    };
    let ask = |py: Python<'_>| if in_loop { Err(holds_up_the_loop()) } else { py.check_signals() };
    let mut is_interrupted = || {
        raised = Python::attach(ask).err();
        raised.is_some()
    };
    let ended = py.detach(|| budget.acquire(number, timeout, every, &mut || (main || in_loop) && is_interrupted()));
    ended.map_err(|error| raised.unwrap_or_else(|| budget.error(number, error)))
}

pub fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading.call_method0("main_thread")?.getattr("ident")?.eq(threading.call_method0("get_ident")?)
}

/// Whether an event loop of asyncio's, or one that is run in its place, runs on this thread.
pub fn in_event_loop(py: Python<'_>) -> PyResult<bool> {
    let modules = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    match modules.get_item("asyncio")? {
        Some(asyncio) => Ok(!asyncio.call_method0("_get_running_loop")?.is_none()),
        None => Ok(false),
    }
}

pub fn holds_up_the_loop() -> PyErr {
    PyRuntimeError::new_err(
        "a wait here would hold up the event loop that runs on this thread: use `async with`, or await acquire_async() or \
         enter_async()",
    )
}
