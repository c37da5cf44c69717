//! Seconds, as Python has them, and nanoseconds, as the core has them.

use crate::argument::{shown, type_error};
use crate::error::config_error;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDeltaAccess, PyFloat};
use tidegate::NEVER_NS;

const SECOND_NS: u64 = 1_000_000_000;

/// An argument that is a time: seconds (int or float) or a timedelta.
pub struct Seconds {
    pub name: &'static str,
    pub allowed: &'static str,
}

impl Seconds {
    /// The time in nanoseconds, rounded up; at most 2⁶⁴−1.
    pub fn read_ns(&self, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        if value.is_instance_of::<PyBool>() {
            return Err(self.wrong_type(value));
        }
        if let Ok(float) = value.cast::<PyFloat>() {
            let seconds = float.value();
            return if seconds >= 0.0 && seconds.is_finite() {
                Ok(ns_from_seconds(seconds))
            } else {
                Err(self.out_of_range(value))
            };
        }
        if let Ok(delta) = value.cast::<PyDelta>() {
            let seconds = i128::from(delta.get_days()) * 86_400 + i128::from(delta.get_seconds());
            let ns = seconds * i128::from(SECOND_NS) + i128::from(delta.get_microseconds()) * 1_000;
            return if ns >= 0 { Ok(u64::try_from(ns).unwrap_or(u64::MAX)) } else { Err(self.out_of_range(value)) };
        }
        match value.extract::<u64>() {
            Ok(seconds) => Ok(seconds.saturating_mul(SECOND_NS)),
            Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(self.wrong_type(value)),
            Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => Err(error),
            Err(_) if value.lt(0)? => Err(self.out_of_range(value)),
            Err(_) => Ok(u64::MAX),
        }
    }

    #[cold]
    pub fn out_of_range(&self, value: &Bound<'_, PyAny>) -> PyErr {
        config_error(self.name, shown(value), self.allowed)
    }

    #[cold]
    fn wrong_type(&self, value: &Bound<'_, PyAny>) -> PyErr {
        type_error(self.name, value, self.allowed)
    }
}

/// The fewest whole nanoseconds that, told as float seconds, are no less: 0.1 is 100,000,000 although the float that stands
/// for 0.1 is a little more. Above 97 days floats are further apart than nanoseconds, and the result is as near as a float.
fn ns_from_seconds(seconds: f64) -> u64 {
    let told = |ns: u64| ns as f64 / SECOND_NS as f64;
    // Saturates, and is off by no more than a float's own spacing.
    let mut ns = (seconds * SECOND_NS as f64).ceil() as u64;
    while ns > 0 && told(ns - 1) >= seconds {
        ns -= 1;
    }
    while told(ns) < seconds && ns < u64::MAX {
        ns += 1;
    }
    ns
}

/// The seconds that read back, by [`ns_from_seconds`], as `ns`, or where floats are too far apart for that as more; infinite
/// for never. So 300 ms are 0.3, and who waits that long never waits too short.
pub fn seconds_from_ns(ns: u64) -> f64 {
    if ns == NEVER_NS {
        return f64::INFINITY;
    }
    let mut seconds = ns as f64 / SECOND_NS as f64;
    while ns_from_seconds(seconds) < ns {
        seconds = seconds.next_up();
    }
    seconds
}
