//! What is made once.
//!
//! PyO3 lets go of the GIL before it makes such a thing, and in the child of a fork whoever asks for what another thread of the parent
//! was making waits for ever. So what PyO3 makes for us is made when the module is loaded, and what we look up is set when it is there.

use crate::{error, ready};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDelta, PyDeltaAccess, PyMapping, PySequence, PyString, PyTuple};

/// Something that is written in Python: what a module holds that `import tidegate` has imported.
pub struct Late {
    module: &'static str,
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl Late {
    pub const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, found: PyOnceLock::new() }
    }

    #[inline]
    pub fn get<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<&'a Bound<'py, PyAny>> {
        once(&self.found, py, || py.import(self.module)?.getattr(self.name))
    }
}

/// A text that Python looks up by its address.
pub struct Name(&'static str, PyOnceLock<Py<PyAny>>);

impl Name {
    pub const fn new(text: &'static str) -> Self {
        Self(text, PyOnceLock::new())
    }

    #[inline]
    pub fn get<'a, 'py>(&'a self, py: Python<'py>) -> PyResult<&'a Bound<'py, PyAny>> {
        once(&self.1, py, || Ok(PyString::intern(py, self.0).into_any()))
    }
}

#[inline]
fn once<'a, 'py>(
    cell: &'a PyOnceLock<Py<PyAny>>,
    py: Python<'py>,
    make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<&'a Bound<'py, PyAny>> {
    if cell.get(py).is_none() {
        let made = make()?.unbind();
        // If another thread was faster, it made the same.
        let _is_first = cell.set(py, made);
    }
    Ok(cell.get(py).expect("it was just set").bind(py))
}

/// Makes what PyO3 would make when it is first needed, as far as this module needs it: types to look whether something is one, and names of
/// attributes. What is used of PyO3 anew may belong here.
pub fn make_the_rest(py: Python<'_>) -> PyResult<()> {
    error::import(py);
    ready::none(py)?;
    py.get_type::<PanicException>();
    let none = py.None().into_bound(py);
    none.get_type().name()?;
    let _types = (none.cast::<PyMapping>().is_ok(), none.cast::<PySequence>().is_ok(), none.cast::<PyDelta>().is_ok());
    let delta = PyDelta::new(py, 0, 0, 0, false)?;
    let _names = (delta.get_days(), delta.get_seconds(), delta.get_microseconds());
    let _length_hint = PyTuple::empty(py).try_iter()?.size_hint();
    Ok(())
}
