//! What an admitted request holds.

use super::headers::Headers;
use crate::argument::Given;
use crate::error::{config_error, no_panic};
use crate::permit::{aside, went_well};
use crate::ready;
use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::{Mutex, PoisonError};

/// A request that was admitted, and what it holds: given back once, by release() or at the end of a with block (async with does the
/// same), on any thread or task.
///
/// In such a block, an exception that leaves it counts as failed work (GeneratorExit doesn't: it only ends a generator early). One that
/// is dropped unreleased is released, with a ResourceWarning.
#[pyclass(frozen, module = "tidegate")]
pub struct Entry {
    /// None once it was released.
    held: Mutex<Option<Box<tidegate::gate::Entry>>>,
    applies: bool,
}

impl From<Box<tidegate::gate::Entry>> for Entry {
    #[inline]
    fn from(entry: Box<tidegate::gate::Entry>) -> Self {
        Self { applies: entry.applies(), held: Mutex::new(Some(entry)) }
    }
}

impl Entry {
    #[inline]
    fn take(&self) -> Option<Box<tidegate::gate::Entry>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Releases it unless that was done before; tells whether it was now.
    #[inline]
    fn release_if_held(&self, ok: bool) -> bool {
        // With no lock held: to give back may run Python, of tasks that wait.
        self.take().map(|mut entry| entry.set_ok(ok)).is_some()
    }

    fn look<T>(&self, look: impl FnOnce(&tidegate::gate::Entry) -> T) -> PyResult<T> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_deref().map(look).ok_or_else(released_before)
    }
}

#[cold]
fn released_before() -> PyErr {
    config_error("entry", "one that was released before", "an entry that is held, once")
}

#[pymethods]
impl Entry {
    /// Whether a rule applies to the request; if none does, it is admitted all the same.
    #[getter]
    fn applies(&self) -> bool {
        self.applies
    }

    /// "allowed", or "no_rule" if none applies.
    #[getter]
    fn status(&self) -> &'static str {
        if self.applies { tidegate::Status::Allowed.name() } else { tidegate::Status::NoRule.name() }
    }

    /// Whether it was released.
    #[getter]
    fn released(&self) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The names of the rules that gave something, while it is held.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let names: Vec<String> = self.look(|entry| entry.rules().map(String::from).collect())?;
        PyTuple::new(py, names)
    }

    /// The headers that an HTTP response has by it, such as RateLimit; while it is held.
    ///
    /// legacy: X-RateLimit-Limit, -Remaining and -Reset too, of the quota with the least remaining; the last is a Unix time.
    #[pyo3(signature = (*, legacy = Given::LEFT_OUT), text_signature = "($self, *, legacy=False)")]
    fn headers<'py>(&self, py: Python<'py>, legacy: Given<'_, 'py>) -> PyResult<Bound<'py, PyDict>> {
        no_panic(|| {
            let legacy = legacy.bool_or(false, "legacy")?;
            self.look(|entry| Headers::of_entry(entry, legacy).to_dict(py))?
        })
    }

    /// Likewise, as ASGI has them.
    fn _raw_headers<'py>(&self, py: Python<'py>, legacy: bool) -> PyResult<Bound<'py, PyList>> {
        no_panic(|| self.look(|entry| Headers::of_entry(entry, legacy).to_list(py))?)
    }

    /// Whether its release gives something back.
    fn _holds_permits(&self) -> PyResult<bool> {
        self.look(tidegate::gate::Entry::holds_permits)
    }

    /// Gives back what it holds; ok tells the statistics whether the work went well.
    ///
    /// Raises ConfigError if it was released before.
    #[pyo3(signature = (ok = Given::LEFT_OUT), text_signature = "($self, ok=True)")]
    fn release(&self, ok: Given<'_, '_>) -> PyResult<()> {
        no_panic(|| if self.release_if_held(ok.bool_or(true, "ok")?) { Ok(()) } else { Err(released_before()) })
    }

    /// Gives back what it holds, if that wasn't done before.
    fn _end(&self, ok: bool) -> PyResult<()> {
        no_panic(|| {
            self.release_if_held(ok);
            Ok(())
        })
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().released() { Err(released_before()) } else { Ok(slf) }
    }

    /// Gives back what it holds, if release() didn't.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __exit__(
        &self,
        exc_type: &Bound<'_, PyAny>,
        _exc_value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        no_panic(|| {
            self.release_if_held(went_well(exc_type));
            Ok(())
        })
    }

    fn __aenter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        ready::of(slf.py(), Self::__enter__(slf)?.into_any().unbind())
    }

    /// Gives back what it holds, if release() didn't.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __aexit__<'py>(
        &self,
        exc_type: &Bound<'py, PyAny>,
        exc_value: &Bound<'py, PyAny>,
        traceback: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.__exit__(exc_type, exc_value, traceback)?;
        ready::none(exc_type.py())
    }

    fn __repr__(&self) -> String {
        let state = if self.released() { "released" } else { "held" };
        format!("<Entry, {}, {state}>", self.status())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let Some(entry) = self.take() else { return };
        let attached = Python::try_attach(|py| {
            aside(py, || {
                drop(entry);
                PyErr::warn(py, &py.get_type::<PyResourceWarning>(), c"an Entry was dropped without release()", 1)
            });
        });
        // Where there is nobody to tell, the closure that wasn't called has dropped it.
        let _ = attached;
    }
}
