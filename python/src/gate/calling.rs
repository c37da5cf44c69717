//! The methods `enter` and `try_enter`, which take attributes by any name.
//!
//! For such a method PyO3 has the interpreter make a dict of what is given by name, and copies that to another: a fifth of the time from
//! entering to the release. So these read the arguments where the caller left them, as METH_FASTCALL | METH_KEYWORDS hands them over.

use super::attributes::Attributes;
use super::{Gate, Refusal};
use crate::argument::Given;
use crate::error::no_panic;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{Borrowed, PyTypeInfo};
use std::ffi::CStr;
use std::ptr;

/// What a call gave.
struct Call<'a, 'py> {
    attributes: Attributes<'py>,
    cost: Given<'a, 'py>,
    timeout: Given<'a, 'py>,
}

const ENTER: &CStr = c"enter($self, attributes=None, /, *, cost=1, timeout=None, **more)
--

Admits a request, as an Entry that holds what its rules gave until it is released: `with gate.enter(path=\"/search\"):`. A rule
that says so makes it wait, on this thread. Other threads run meanwhile, and signals are noticed.

cost: what the request costs, which rules may multiply: 1 to 2**53-1.
timeout: seconds to wait at most in all (int, float or timedelta); 0 never waits; None waits for as long as the rules say.
An attribute of one of these names is given in a dict.

Raises GateRefused if a rule refuses, and RuntimeError if it had to wait where an event loop runs on this thread; nothing
is taken then. A request to which no rule applies is admitted: entry.applies tells.";

const TRY_ENTER: &CStr = c"try_enter($self, attributes=None, /, *, cost=1, timeout=None, **more)
--

enter() that gives a Refusal, which is false, where enter() would raise it: `if entry := gate.try_enter(...):`.";

/// The method `enter` of gates.
pub fn enter(py: Python<'_>) -> PyResult<Py<PyAny>> {
    unsafe extern "C" fn called(
        gate: *mut ffi::PyObject,
        given: *const *mut ffi::PyObject,
        count: ffi::Py_ssize_t,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject {
        // SAFETY: as the interpreter calls a method.
        unsafe { call("enter", gate, given, count, names, |py, refusal| Err(refusal.error(py))) }
    }
    method(py, c"enter", ENTER, called)
}

/// The method `try_enter` of gates.
pub fn try_enter(py: Python<'_>) -> PyResult<Py<PyAny>> {
    unsafe extern "C" fn called(
        gate: *mut ffi::PyObject,
        given: *const *mut ffi::PyObject,
        count: ffi::Py_ssize_t,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject {
        // SAFETY: as the interpreter calls a method.
        unsafe { call("try_enter", gate, given, count, names, |py, refusal| Ok(Bound::new(py, refusal)?.into_any())) }
    }
    method(py, c"try_enter", TRY_ENTER, called)
}

/// A method of gates.
fn method(
    py: Python<'_>,
    name: &'static CStr,
    doc: &'static CStr,
    function: ffi::PyCFunctionFastWithKeywords,
) -> PyResult<Py<PyAny>> {
    // As long as the process, as the type.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: function },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.as_ptr(),
    }));
    // SAFETY: attached; the definition stays, and its function is of the kind that the flags say.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(Gate::type_object_raw(py), definition)) }
        .map(Bound::unbind)
}

/// Enters as a call asks.
///
/// # Safety
///
/// Attached. `gate` is a gate, which a method's descriptor has checked, and at `given` are `count` arguments, then one for each of
/// `names`, a tuple of str or null. All of these live until this returns.
unsafe fn call(
    method: &str,
    gate: *mut ffi::PyObject,
    given: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
    refused: impl for<'py> FnOnce(Python<'py>, Refusal) -> PyResult<Bound<'py, PyAny>>,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        let entered = no_panic(|| {
            // SAFETY: as above.
            let (gate, call) = unsafe {
                let gate = Borrowed::from_ptr(py, gate).cast_unchecked::<Gate>();
                (gate, Call::read(py, method, given, count, names)?)
            };
            match gate.get().enter_now(py, gate.get().begin(&call.attributes.pairs()?, call.cost, call.timeout)?)? {
                Ok(entry) => Ok(Bound::new(py, entry)?.into_any()),
                Err(refusal) => refused(py, refusal),
            }
        });
        match entered {
            Ok(entered) => entered.into_ptr(),
            Err(error) => {
                error.restore(py);
                ptr::null_mut()
            }
        }
    })
}

impl<'a, 'py> Call<'a, 'py> {
    /// # Safety
    ///
    /// As of [`call`].
    #[inline]
    unsafe fn read(
        py: Python<'py>,
        method: &str,
        given: *const *mut ffi::PyObject,
        count: ffi::Py_ssize_t,
        names: *mut ffi::PyObject,
    ) -> PyResult<Self> {
        // SAFETY: so many there are, as the caller says.
        let argument = |place: usize| unsafe { Borrowed::<'a, 'py, PyAny>::from_ptr(py, *given.add(place)) };
        let count = count as usize;
        if count > 1 {
            return Err(too_many(method, count));
        }
        let mut call = Self { attributes: Attributes::new(), cost: Given::LEFT_OUT, timeout: Given::LEFT_OUT };
        // SAFETY: a tuple, as the caller says.
        if let Some(names) = unsafe { Borrowed::from_ptr_or_opt(py, names) } {
            // SAFETY: likewise.
            let names = unsafe { names.cast_unchecked::<PyTuple>() };
            for (place, name) in names.iter_borrowed().enumerate() {
                let value = argument(count + place);
                // SAFETY: a str, as the caller says.
                let name = unsafe { name.cast_unchecked::<PyString>() };
                match name.to_str()? {
                    "cost" => call.cost = Given::from(value),
                    "timeout" => call.timeout = Given::from(value),
                    _ => call.attributes.push(name.to_owned(), value.to_owned()),
                }
            }
        }
        if count == 1 {
            call.attributes.extend(&argument(0))?;
        }
        Ok(call)
    }
}

#[cold]
fn too_many(method: &str, count: usize) -> PyErr {
    PyTypeError::new_err(format!("Gate.{method}() takes from 0 to 1 positional arguments but {count} were given"))
}
