//! What `async with` awaits where there is nothing to wait for.

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An awaitable that is ready: it gives its value at the first step, and takes no turn of the loop.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Ready {
    value: Option<Py<PyAny>>,
}

impl Ready {
    /// Gives None. There is one for all.
    pub fn none(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        static NONE: PyOnceLock<Py<Ready>> = PyOnceLock::new();
        let ready = NONE.get_or_try_init(py, || Py::new(py, Self { value: None }))?;
        Ok(ready.bind(py).clone().into_any())
    }

    pub fn of(py: Python<'_>, value: Py<PyAny>) -> PyResult<Bound<'_, PyAny>> {
        Ok(Bound::new(py, Self { value: Some(value) })?.into_any())
    }
}

#[pymethods]
impl Ready {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        if let Some(value) = &self.value {
            let stop = py.get_type::<PyStopIteration>();
            // An iterator ends by returning nothing; the value of its end is told by this exception, made here without detours.
            // SAFETY: attached; both are live objects.
            unsafe { ffi::PyErr_SetObject(stop.as_ptr(), value.as_ptr()) };
        }
        None
    }
}
