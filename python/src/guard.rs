//! The decorators of `guard()`, which are made in Python.

use crate::argument::type_error;
use crate::key::read_key;
use crate::late::Late;
use crate::time::seconds_from_ns;
use pyo3::prelude::*;

/// The decorator of a limiter; `key` is what a keyed one was given.
pub fn decorator<'py>(
    limiter: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    number: u64,
    timeout_ns: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(key) = key.filter(|key| !key.is_callable() && read_key(key).is_err()) {
        return Err(type_error("key", key, "a str or bytes, or a function that makes one of a call's arguments"));
    }
    static GUARD: Late = Late::new("tidegate._guard", "guard");
    GUARD.get(limiter.py())?.call1((limiter, key, number, timeout_ns.map(seconds_from_ns)))
}
