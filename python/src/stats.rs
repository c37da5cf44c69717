//! Figures of limiters, as the classes of `tidegate.stats` take them.

use crate::time::seconds_from_ns;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::time::Duration;
use tidegate::Stats;

/// The counts, and then the hold times if they are tracked: total and longest, in seconds and in nanoseconds.
pub fn with_hold_times<'py>(
    py: Python<'py>,
    counts: &[u64],
    stats: &Stats,
    tracked: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let in_units = |time: Duration| {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        tracked.then_some((seconds_from_ns(ns), ns)).unzip()
    };
    let ((total, total_ns), (max, max_ns)) = (in_units(stats.hold_time_total), in_units(stats.hold_time_max));
    let hold_times = (total, max, total_ns, max_ns).into_pyobject(py)?;
    Ok(PyTuple::new(py, counts)?.add(hold_times)?.cast_into()?)
}
