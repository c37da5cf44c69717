//! What a concurrency limiter lends.

use crate::argument::Given;
use crate::error::{Forked, config_error, from_core, no_panic};
use crate::ready;
use pyo3::exceptions::{PyGeneratorExit, PyResourceWarning};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tidegate::{ConcurrencyLimiter, Error, KeyedConcurrencyLimiter, RawKeyedPermit, RawPermit, Status};

/// Permits held: given back once, by release() or at the end of a with block (async with does the same), on any thread.
///
/// In such a block, an exception that leaves it counts as failed work (GeneratorExit doesn't: it only ends a generator
/// early). One that is dropped while held is released, with a ResourceWarning.
#[pyclass(frozen, module = "tidegate")]
pub struct Permit {
    loan: Loan,
    released: AtomicBool,
}

/// What was lent, and by whom.
enum Loan {
    Plain(Arc<ConcurrencyLimiter>, Lent),
    Keyed(Arc<KeyedConcurrencyLimiter>, RawKeyedPermit),
}

/// A RawPermit, which may be [lent again](Permit::lend_again).
struct Lent {
    limiter_id: u64,
    permits: u64,
    acquired_at_ns: AtomicU64,
    process: AtomicU32,
}

impl Lent {
    fn new(raw: RawPermit) -> Self {
        let (acquired_at_ns, process) = (raw.acquired_at_ns.into(), raw.process.into());
        Self { limiter_id: raw.limiter_id, permits: raw.permits, acquired_at_ns, process }
    }

    fn raw(&self) -> RawPermit {
        // Relaxed: whoever has the object came by it after it was lent.
        let (acquired_at_ns, process) =
            (self.acquired_at_ns.load(Ordering::Relaxed), self.process.load(Ordering::Relaxed));
        RawPermit { limiter_id: self.limiter_id, permits: self.permits, acquired_at_ns, process }
    }
}

impl Loan {
    fn permits(&self) -> u64 {
        match self {
            Self::Plain(_, lent) => lent.permits,
            Self::Keyed(_, raw) => raw.permits,
        }
    }

    fn lender(&self) -> &'static str {
        match self {
            Self::Plain(..) => "ConcurrencyLimiter",
            Self::Keyed(..) => "KeyedConcurrencyLimiter",
        }
    }

    fn give_back(&self, ok: bool) -> Result<(), Error> {
        match self {
            Self::Plain(limiter, lent) => limiter.release(&lent.raw(), ok),
            Self::Keyed(limiter, raw) => limiter.release(raw, ok),
        }
    }

    /// Whether it could not be given back because the parent of this process took it. A keyed limiter can't tell that from what was
    /// never lent; but this was.
    fn is_parents(&self, error: &Error) -> bool {
        match self {
            Self::Plain(..) => error.status() == Status::Forked,
            Self::Keyed(..) => error.status() == Status::InvalidPermit,
        }
    }
}

impl Permit {
    pub fn new(limiter: &Arc<ConcurrencyLimiter>, raw: RawPermit) -> Self {
        Self { loan: Loan::Plain(Arc::clone(limiter), Lent::new(raw)), released: AtomicBool::new(false) }
    }

    /// Makes one that was released, and that nobody else has, hold as many permits of the same limiter.
    pub fn lend_again(&self, raw: RawPermit) {
        let Loan::Plain(_, lent) = &self.loan else { unreachable!("keyed limiters have no blocks") };
        // Relaxed: as in `Lent::raw`.
        lent.acquired_at_ns.store(raw.acquired_at_ns, Ordering::Relaxed);
        lent.process.store(raw.process, Ordering::Relaxed);
        self.released.store(false, Ordering::Relaxed);
    }

    pub fn of_key(limiter: &Arc<KeyedConcurrencyLimiter>, raw: RawKeyedPermit) -> Self {
        Self { loan: Loan::Keyed(Arc::clone(limiter), raw), released: AtomicBool::new(false) }
    }

    fn release_dropped(&self, py: Python<'_>) -> PyResult<()> {
        if !self.release_if_held(true)? {
            return Ok(());
        }
        let (permits, lender) = (self.loan.permits(), self.loan.lender());
        let text = format!("{permits} permit(s) of a {lender} were dropped without release()");
        PyErr::warn(py, &py.get_type::<PyResourceWarning>(), &CString::new(text)?, 1)
    }

    pub fn is_released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }

    /// Gives the permits back unless that was done before; tells whether it was now.
    fn give_back(&self, ok: bool) -> Result<bool, Error> {
        // Relaxed: only who wins the swap matters; the core's release orders the rest.
        let held = !self.released.swap(true, Ordering::Relaxed);
        if held && let Err(error) = self.loan.give_back(ok) {
            self.released.store(!self.loan.is_parents(&error), Ordering::Relaxed);
            return Err(error);
        }
        Ok(held)
    }

    /// For what ends by itself: [`give_back`](Self::give_back) that leaves alone what the parent of this process took.
    pub fn release_if_held(&self, ok: bool) -> PyResult<bool> {
        match self.give_back(ok) {
            Err(error) if self.loan.is_parents(&error) => Ok(false),
            other => other.map_err(from_core),
        }
    }
}

/// Whether work that ended with this exception, or with None, went well.
pub fn went_well(exception_type: &Bound<'_, PyAny>) -> bool {
    exception_type.is_none()
        || exception_type.cast::<PyType>().is_ok_and(|kind| kind.is_subclass_of::<PyGeneratorExit>().unwrap_or(false))
}

#[pymethods]
impl Permit {
    /// How many permits this holds, or held.
    #[getter]
    fn permits(&self) -> u64 {
        self.loan.permits()
    }

    /// Whether they were given back.
    #[getter]
    fn released(&self) -> bool {
        self.is_released()
    }

    /// Gives the permits back; ok tells the statistics whether the work went well.
    ///
    /// Raises ConfigError if they were given back before, and Forked if the parent of this process took them.
    #[pyo3(signature = (ok = Given::LEFT_OUT), text_signature = "($self, ok=True)")]
    fn release(&self, ok: Given<'_, '_>) -> PyResult<()> {
        no_panic(|| match self.give_back(ok.bool_or(true, "ok")?) {
            Ok(true) => Ok(()),
            Ok(false) => Err(config_error("permit", "one that was released before", "a permit that is held, once")),
            Err(error) if self.loan.is_parents(&error) => Err(Forked::new_err((format!(
                "permit: got {} taken before the fork; allowed: one that this process took; the parent's is the parent's to \
                     release",
                self.loan.permits()
            ),))),
            Err(error) => Err(from_core(error)),
        })
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().is_released() {
            return Err(config_error("permit", "one that was released before", "a permit that is held"));
        }
        Ok(slf)
    }

    /// Gives the permits back, if release() didn't.
    #[pyo3(text_signature = "($self, exc_type, exc_value, traceback, /)")]
    fn __exit__(
        &self,
        exc_type: &Bound<'_, PyAny>,
        _exc_value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        no_panic(|| self.release_if_held(went_well(exc_type)).map(drop))
    }

    fn __aenter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        ready::of(slf.py(), Self::__enter__(slf)?.into_any().unbind())
    }

    /// Gives the permits back, if release() didn't.
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
        let state = if self.is_released() { "released" } else { "held" };
        format!("<Permit of {}, {state}>", self.loan.permits())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_released() {
            return;
        }
        let attached = Python::try_attach(|py| aside(py, || self.release_dropped(py)));
        if attached.is_none() {
            // There is nobody to tell.
            let _ = self.give_back(true);
        }
    }
}

/// Does something in the middle of whatever goes on: an exception that is on its way stays, and one that comes up is printed. To
/// give back may run Python too, that of tasks that wait.
pub fn aside(py: Python<'_>, act: impl FnOnce() -> PyResult<()>) {
    let (mut kind, mut value, mut traceback) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: attached, as `py` proves; the three pointers are valid for writing.
    unsafe { ffi::PyErr_Fetch(&mut kind, &mut value, &mut traceback) };
    if let Err(error) = act() {
        error.write_unraisable(py, None);
    }
    // SAFETY: attached; the three references are those that were fetched, and are given back once.
    unsafe { ffi::PyErr_Restore(kind, value, traceback) };
}
