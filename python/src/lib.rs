//! The Python module `tidegate._tidegate`: the core's limiters as Python classes.

mod argument;
mod blocks;
mod clock;
mod concurrency;
mod decision;
mod error;
mod permit;
mod quota;
mod rate;
mod time;

use pyo3::prelude::*;

// Everything shared is atomic or behind the core's own locks, so the module needs no GIL.
#[pymodule(gil_used = false)]
mod _tidegate {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::clock::ManualClock;
    #[pymodule_export]
    use super::concurrency::ConcurrencyLimiter;
    #[pymodule_export]
    use super::decision::Decision;
    #[pymodule_export]
    use super::permit::Permit;
    #[pymodule_export]
    use super::quota::Quota;
    #[pymodule_export]
    use super::rate::RateLimiter;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
