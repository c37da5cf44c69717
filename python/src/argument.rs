//! Arguments as Python gives them, and how a wrong one is named: `ARGUMENT: got VALUE; allowed: WHAT`.

use crate::clock::ManualClock;
use crate::error::config_error;
use crate::time::Seconds;
use pyo3::Borrowed;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString, PyType};
use std::borrow::Cow;
use std::convert::Infallible;
use tidegate::MAX_COST;

/// An argument that may be left out, as it was given: read by the method itself, which can name it.
#[derive(Clone, Copy)]
pub struct Given<'a, 'py>(Option<Borrowed<'a, 'py, PyAny>>);

impl Given<'_, '_> {
    /// The argument was left out.
    pub const LEFT_OUT: Self = Self(None);
}

impl<'a, 'py> From<Borrowed<'a, 'py, PyAny>> for Given<'a, 'py> {
    #[inline]
    fn from(value: Borrowed<'a, 'py, PyAny>) -> Self {
        Self(Some(value))
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = Infallible;

    #[inline]
    fn extract(value: Borrowed<'a, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(value.into())
    }
}

impl Given<'_, '_> {
    /// A whole number, or `default` where the argument was left out.
    #[inline]
    pub fn whole_or(self, default: u64, whole: &Whole) -> PyResult<u64> {
        self.0.map_or(Ok(default), |value| whole.read(&value))
    }

    /// The number of a guard, or 1. A function in its place means that the parentheses were forgotten: that is told as what it
    /// is, since a guard that took it for a function to limit would have to guess.
    pub fn of_guard(self, whole: &Whole) -> PyResult<u64> {
        self.whole_or(1, whole).map_err(|error| match self.0 {
            Some(value) if value.is_instance_of::<PyType>() => bare_guard("a class"),
            Some(value) if is_function(&value) => bare_guard("a function"),
            _ => error,
        })
    }

    /// A whole number, or `None` where the argument was left out or is None.
    pub fn optional_whole(self, whole: &Whole) -> PyResult<Option<u64>> {
        self.0.filter(|value| !value.is_none()).map(|value| whole.read(&value)).transpose()
    }

    /// True or False, or `default` where the argument was left out.
    pub fn bool_or(self, default: bool, name: &str) -> PyResult<bool> {
        self.0.map_or(Ok(default), |value| {
            value.cast::<PyBool>().map(|value| value.is_true()).map_err(|_| type_error(name, &value, "True or False"))
        })
    }

    /// A text, or `default` where the argument was left out.
    pub fn text_or(self, default: &'static str, name: &str) -> PyResult<Cow<'static, str>> {
        self.0.map_or(Ok(default.into()), |value| read_text(&value, name).map(Cow::Owned))
    }

    /// A number of waiters, or the most that there can be where the argument was left out or is None.
    pub fn max_waiters(self) -> PyResult<u64> {
        self.optional_whole(&MAX_WAITERS).map(|most| most.unwrap_or(MAX_WAITERS.most))
    }

    /// How long to wait, in nanoseconds; None, for ever, where the argument is None, and `default` where it was left out.
    pub fn timeout_or(self, default: Option<u64>) -> PyResult<Option<u64>> {
        match self.0 {
            None => Ok(default),
            Some(value) if value.is_none() => Ok(None),
            Some(value) => TIMEOUT.read_ns(&value).map(Some),
        }
    }

    /// Likewise for a reservation.
    pub fn max_wait(self) -> PyResult<Option<u64>> {
        self.0.filter(|value| !value.is_none()).map(|value| MAX_WAIT.read_ns(&value)).transpose()
    }

    /// A time above 0, in nanoseconds.
    pub fn period_or(self, default: u64, name: &'static str) -> PyResult<u64> {
        let seconds = Seconds { name, allowed: "seconds above 0, as int, float or timedelta" };
        match self.0.map(|value| (value, seconds.read_ns(&value))) {
            None => Ok(default),
            Some((value, Ok(0))) => Err(seconds.out_of_range(&value)),
            Some((_, read)) => read,
        }
    }

    /// Whether [`clock`](Self::clock) is the machine's, by which others sleep too.
    pub fn is_real_time(self) -> bool {
        self.0.is_none_or(|value| value.is_none())
    }

    /// The clock of a limiter: a manual one, or the monotonic one where the argument was left out or is None.
    pub fn clock(self, py: Python<'_>) -> PyResult<tidegate::Clock> {
        match self.0.filter(|value| !value.is_none()) {
            // Calibrates in its first call, which takes a while; other threads need not wait for it.
            None => Ok(py.detach(tidegate::Clock::monotonic)),
            Some(value) => value
                .cast::<ManualClock>()
                .map(|clock| clock.get().into())
                .map_err(|_| type_error("clock", &value, "a ManualClock or None")),
        }
    }
}

/// An argument that is a whole number: an int, or what has `__index__`; never a bool, never a float.
pub struct Whole {
    pub name: &'static str,
    pub least: u64,
    pub most: u64,
}

pub const COST: Whole = Whole { name: "cost", least: 1, most: MAX_COST };
const MAX_WAITERS: Whole = Whole { name: "max_waiters", least: 0, most: u32::MAX as u64 - 1 };
const TIMES: &str = "seconds from 0, as int, float or timedelta, or None for ever";
const TIMEOUT: Seconds = Seconds { name: "timeout", allowed: TIMES };
const MAX_WAIT: Seconds = Seconds { name: "max_wait", allowed: TIMES };
pub const MAX_KEYS: Whole = Whole { name: "max_keys", least: 1, most: 1 << 32 };

impl Whole {
    #[inline]
    pub fn read(&self, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        match value.cast_exact::<PyInt>().map(|int| int.extract()) {
            Ok(Ok(number)) if self.least <= number && number <= self.most => Ok(number),
            Ok(_) => Err(self.out_of_range(value)),
            Err(_) => self.read_other(value),
        }
    }

    #[cold]
    fn read_other(&self, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let no_int = || Err(type_error(self.name, value, &format!("an int, {}", self.allowed())));
        if value.is_instance_of::<PyBool>() {
            return no_int();
        }
        match value.extract::<u64>() {
            Ok(number) if self.least <= number && number <= self.most => Ok(number),
            Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => no_int(),
            Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => Err(error),
            _ => Err(self.out_of_range(value)),
        }
    }

    #[cold]
    fn out_of_range(&self, value: &Bound<'_, PyAny>) -> PyErr {
        config_error(self.name, shown(value), self.allowed())
    }

    fn allowed(&self) -> String {
        format!("{} to {}", self.least, self.most)
    }
}

/// A text; what UTF-8 can't say is replaced, and then no text that anything here would take.
pub fn read_text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let text = value.cast::<PyString>().map_err(|_| type_error(name, value, "a str"))?;
    Ok(text.to_string_lossy().into_owned())
}

/// What can be called, or is to become a method: a `classmethod` can't be called itself.
fn is_function(value: &Bound<'_, PyAny>) -> bool {
    value.is_callable() || value.hasattr("__func__").unwrap_or(false)
}

#[cold]
fn bare_guard(what: &str) -> PyErr {
    PyTypeError::new_err(format!("guard: got {what}; allowed: @limiter.guard()"))
}

#[cold]
pub fn type_error(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let kind = type_name(value);
    PyTypeError::new_err(format!("{name}: got {} ({kind}); allowed: {allowed}", shown(value)))
}

/// The value as an error shows it: its repr, cut where it is long; a long text is told with its length.
#[cold]
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 100;
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_string_lossy();
        return match text.char_indices().nth(LONGEST) {
            Some((end, _)) => {
                let beginning = repr(&PyString::new(value.py(), &text[..end]));
                format!("{beginning}… ({} characters)", text.chars().count())
            }
            None => repr(value),
        };
    }
    let repr = repr(value);
    match repr.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &repr[..end]),
        None => repr,
    }
}

/// A repr can fail, as that of a huge int does.
fn repr(value: &Bound<'_, PyAny>) -> String {
    value
        .repr()
        .map_or_else(|_| format!("a value of type {}", type_name(value)), |repr| repr.to_string_lossy().into_owned())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}
