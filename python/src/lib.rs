//! The Python module `tidegate._tidegate`: the core's limiters as Python classes.

mod argument;
mod blocking;
mod blocks;
mod budget;
mod clock;
mod concurrency;
mod decision;
mod error;
mod gate;
mod guard;
mod key;
mod keyed_concurrency;
mod keyed_rate;
mod late;
mod permit;
mod quota;
mod rate;
mod ready;
mod refusal;
mod reservation;
mod stats;
mod time;
mod turn;

use pyo3::prelude::*;

// Python's allocator aligns objects for whatever C has, and PyO3 trusts it. What needs more, as words with a cache line of
// their own do, must be behind a pointer.
const _: () = {
    const fn fits<T>() -> bool {
        align_of::<T>() <= align_of::<u64>()
    }
    assert!(fits::<clock::ManualClock>() && fits::<quota::Quota>() && fits::<decision::Decision>());
    assert!(fits::<rate::RateLimiter>() && fits::<concurrency::ConcurrencyLimiter>() && fits::<permit::Permit>());
    assert!(fits::<gate::Gate>() && fits::<gate::Entry>() && fits::<gate::Refusal>() && fits::<gate::Entering>());
    assert!(fits::<gate::Events>() && fits::<gate::Watch>());
    assert!(fits::<turn::Wait>() && fits::<reservation::Reservation>());
    assert!(fits::<keyed_rate::KeyedRateLimiter>() && fits::<keyed_concurrency::KeyedConcurrencyLimiter>());
};

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
    use super::gate::{AsgiDoor, Entering, Entry, Events, Gate, Refusal, Watch};
    #[pymodule_export]
    use super::key::{ip_key, key_of};
    #[pymodule_export]
    use super::keyed_concurrency::KeyedConcurrencyLimiter;
    #[pymodule_export]
    use super::keyed_rate::KeyedRateLimiter;
    #[pymodule_export]
    use super::permit::Permit;
    #[pymodule_export]
    use super::quota::Quota;
    #[pymodule_export]
    use super::rate::RateLimiter;
    #[pymodule_export]
    use super::reservation::Reservation;
    #[pymodule_export]
    use super::turn::Wait;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::late::make_the_rest(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
