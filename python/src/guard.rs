//! The decorators of `guard()`, which are made in Python.

use crate::argument::type_error;
use crate::key::read_key;
use crate::time::seconds_from_ns;
use pyo3::prelude::*;

/// The decorator of a limiter without keys.
pub fn decorator<'py>(
    limiter: &Bound<'py, PyAny>,
    number: u64,
    timeout_ns: Option<u64>,
    kind: &str,
) -> PyResult<Bound<'py, PyAny>> {
    limiter.py().import("tidegate._guard")?.getattr(kind)?.call1((limiter, number, timeout_ns.map(seconds_from_ns)))
}

/// The decorator of a keyed limiter.
pub fn keyed_decorator<'py>(
    limiter: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    number: u64,
    kind: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if !key.is_callable() && read_key(key).is_err() {
        return Err(type_error("key", key, "a str or bytes, or a function that makes one of a call's arguments"));
    }
    limiter.py().import("tidegate._guard")?.getattr(kind)?.call1((limiter, key, number))
}
