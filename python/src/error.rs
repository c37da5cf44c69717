//! Mistakes, refusals and faults as Python exceptions.

use pyo3::import_exception;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

import_exception!(tidegate.errors, Closed);
import_exception!(tidegate.errors, ConfigError);
import_exception!(tidegate.errors, ExceedsCapacity);
import_exception!(tidegate.errors, Forked);
import_exception!(tidegate.errors, GateRefused);
import_exception!(tidegate.errors, InternalError);
import_exception!(tidegate.errors, QueueFull);
import_exception!(tidegate.errors, Refused);
import_exception!(tidegate.errors, RulesError);
import_exception!(tidegate.errors, TimedOut);

/// Has all of these imported.
pub fn import(py: Python<'_>) {
    py.get_type::<Closed>();
    py.get_type::<ConfigError>();
    py.get_type::<ExceedsCapacity>();
    py.get_type::<Forked>();
    py.get_type::<GateRefused>();
    py.get_type::<InternalError>();
    py.get_type::<QueueFull>();
    py.get_type::<Refused>();
    py.get_type::<RulesError>();
    py.get_type::<TimedOut>();
}

/// A wrong value: `ARGUMENT: got VALUE; allowed: WHAT`.
#[cold]
pub fn config_error(argument: &str, value: impl Into<String>, allowed: impl Into<String>) -> PyErr {
    ConfigError::new_err((argument.to_owned(), value.into(), allowed.into()))
}

/// A mistake that the core found.
#[cold]
pub fn from_core(mistake: tidegate::Error) -> PyErr {
    config_error(mistake.argument(), mistake.value(), mistake.allowed())
}

/// Runs the body of an entry from Python. A panic becomes an `InternalError`: PyO3's own `PanicException` is no `Exception`,
/// so that `except Exception` would let it end the program.
#[inline]
pub fn no_panic<T>(body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // Whatever a panic leaves behind is whole: each decision of the core is one atomic step, and its locks may be poisoned.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(internal_error(payload.as_ref())))
}

#[cold]
fn internal_error(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    InternalError::new_err((format!("a fault inside tidegate: {}", text.unwrap_or("a panic without text")),))
}
