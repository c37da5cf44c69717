//! Seconds, as Python has them, and nanoseconds, as the core has them.

use crate::argument::{shown, type_error};
use crate::error::config_error;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDeltaAccess, PyFloat};
use tidegate::NEVER_NS;

const SECOND_NS: u64 = 1_000_000_000;

/// 97 days: from here on floats are further apart than nanoseconds.
const FINE_S: f64 = (1 << 23) as f64;

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

/// Whole nanoseconds, rounded up, of the seconds as they are written: of the shortest decimal that reads back as the float,
/// which is also what Python shows of it. So 0.1 is 100,000,000 although the float that stands for 0.1 is a little more, and
/// whole seconds are exact however many. The decimal is off the float by no more than the float is off what it stands for.
fn ns_from_seconds(seconds: f64) -> u64 {
    // One digit, a point and more digits if there are more, and the exponent: "1e-1", "3.15360001e7".
    let written = format!("{:e}", seconds.abs());
    let (digits, exponent) = written.split_once('e').expect("a float is written with its exponent");
    let fraction_digits = digits.len().saturating_sub("0.".len()) as i32;
    let power = exponent.parse::<i32>().expect("an exponent is a number") - fraction_digits + SECOND_NS.ilog10() as i32;
    let digits = digits.bytes().filter(u8::is_ascii_digit).fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let scale = 10u128.saturating_pow(power.unsigned_abs());
    let ns = if power < 0 { digits.div_ceil(scale) } else { digits.saturating_mul(scale) };
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// The seconds that read back, by [`ns_from_seconds`], as `ns`, or where floats are too far apart for that as more; infinite
/// for never. So 300 ms are 0.3, and who waits that long never waits too short.
pub fn seconds_from_ns(ns: u64) -> f64 {
    if ns == NEVER_NS {
        return f64::INFINITY;
    }
    let mut seconds = ns as f64 / SECOND_NS as f64;
    // Below this floats are closer together than nanoseconds, and no other whole nanosecond reads as the nearest float.
    while seconds >= FINE_S && ns_from_seconds(seconds) < ns {
        seconds = seconds.next_up();
    }
    seconds
}
