//! What `async with` awaits where there is nothing to wait for.
//!
//! A type of its own making, since PyO3's have no `am_send`: without it an awaitable gives its value by raising StopIteration, and that
//! alone takes longer than a whole block.

use pyo3::exceptions::PyStopIteration;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::{c_int, c_void};
use std::ptr;

/// An awaitable that is ready: it gives its value at the first step, whoever awaits it, and takes no turn of the loop.
#[repr(C)]
struct Ready {
    head: ffi::PyObject,
    value: Py<PyAny>,
    /// The StopIteration that bears the value, for who asks without am_send, once somebody did.
    stop: PyOnceLock<Py<PyAny>>,
}

/// One that gives None, for all.
pub fn none(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static NONE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(NONE.get_or_try_init(py, || of(py, py.None()).map(Bound::unbind))?.bind(py).clone())
}

/// One that gives the value.
pub fn of(py: Python<'_>, value: Py<PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let kind = kind(py)?.as_ptr().cast::<ffi::PyTypeObject>();
    // SAFETY: attached. The memory is of the size that the type says, and is initialized before anybody sees it.
    unsafe {
        let memory = ffi::PyObject_Malloc(size_of::<Ready>()).cast::<Ready>();
        if memory.is_null() {
            return Err(PyErr::from_value(Bound::from_owned_ptr(py, ffi::PyErr_NoMemory())));
        }
        let object = ffi::PyObject_Init(memory.cast(), kind);
        (&raw mut (*memory).value).write(value);
        (&raw mut (*memory).stop).write(PyOnceLock::new());
        Ok(Bound::from_owned_ptr(py, object))
    }
}

/// How many references to its value an object that [`of`] made holds; `None` if somebody else has it, or what it raised.
pub fn references(ready: &Bound<'_, PyAny>) -> Option<isize> {
    // SAFETY: attached; the object is of our making, and an exception is asked for its traceback.
    unsafe {
        let Ready { stop, .. } = &*ready.as_ptr().cast::<Ready>();
        let stop = stop.get(ready.py()).map(|stop| stop.bind(ready.py()));
        let is_ours = ffi::Py_REFCNT(ready.as_ptr()) == 1
            && stop.is_none_or(|stop| {
                ffi::Py_REFCNT(stop.as_ptr()) == 1
                    && Bound::from_owned_ptr_or_opt(ready.py(), ffi::PyException_GetTraceback(stop.as_ptr())).is_none()
            });
        is_ours.then_some(1 + isize::from(stop.is_some()))
    }
}

fn kind(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static KIND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    KIND.get_or_try_init(py, || make_kind(py)).map(|kind| kind.bind(py))
}

fn make_kind(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let slot = |slot: c_int, function: *mut c_void| ffi::PyType_Slot { slot, pfunc: function };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_iter, itself as *mut c_void),
        slot(ffi::Py_tp_iternext, next as *mut c_void),
        slot(ffi::Py_am_await, itself as *mut c_void),
        slot(ffi::Py_am_send, send as *mut c_void),
        slot(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"tidegate._tidegate.Ready".as_ptr(),
        basicsize: size_of::<Ready>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: attached; the functions are those that the slots are for, and the name lives for ever.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)).map(Bound::unbind) }
}

// SAFETY, of all below: Python calls them attached, with an object of this type, which it keeps alive meanwhile.

unsafe extern "C" fn itself(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: see above.
    unsafe { ffi::Py_NewRef(object) }
}

unsafe extern "C" fn send(
    object: *mut ffi::PyObject,
    _sent: *mut ffi::PyObject,
    result: *mut *mut ffi::PyObject,
) -> ffi::PySendResult {
    // SAFETY: see above; the value is there for as long as the object, and the result is written to as the slot asks.
    unsafe { *result = ffi::Py_NewRef((*object.cast::<Ready>()).value.as_ptr()) };
    ffi::PySendResult::PYGEN_RETURN
}

/// For who asks without am_send, as the interpreter does in 3.12 and later. An iterator ends by giving nothing; what it ends with, if
/// that isn't None, is told by an exception. To make one takes as long as the rest of a block, so it is raised again.
unsafe extern "C" fn next(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: see above; all that is called takes what it is given here.
    unsafe {
        let py = Python::assume_attached();
        let Ready { value, stop, .. } = &*object.cast::<Ready>();
        if value.is_none(py) {
            return ptr::null_mut();
        }
        match stop.get_or_try_init(py, || stop_iteration(value.bind(py))) {
            Ok(stop) if ffi::Py_REFCNT(stop.as_ptr()) == 1 => ffi::PyErr_Restore(
                ffi::Py_NewRef(ffi::PyExc_StopIteration),
                ffi::Py_NewRef(stop.as_ptr()),
                ptr::null_mut(),
            ),
            // Somebody kept it.
            Ok(_) => ffi::PyErr_SetObject(ffi::PyExc_StopIteration, value.as_ptr()),
            Err(error) => error.restore(py),
        }
    }
    ptr::null_mut()
}

fn stop_iteration(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let stop = value.py().get_type::<PyStopIteration>().call0()?;
    // Not as its argument, which could be kept without it.
    stop.setattr("value", value)?;
    Ok(stop.unbind())
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: see above; nobody else has it any more. What it owns is given up, then its memory, and then the type's reference.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        ptr::drop_in_place(&raw mut (*object.cast::<Ready>()).value);
        ptr::drop_in_place(&raw mut (*object.cast::<Ready>()).stop);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}
