//! What a rate limiter enforces.

use crate::argument::{Given, Whole, read_text, shown, type_error};
use crate::error::{config_error, from_core, no_panic};
use crate::time::{Seconds, seconds_from_ns};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PySequence, PyString, PyTuple, PyType};
use std::hash::{Hash, Hasher};
use std::time::Duration;
use tidegate::{Algorithm, Anchor, MAX_COST};

const LIMIT: Whole = Whole { name: "limit", least: 0, most: MAX_COST };
const BURST: Whole = Whole { name: "burst", least: 1, most: MAX_COST };
const PER: Seconds = Seconds {
    name: "per",
    allowed: "seconds above 0, up to 730 days, as int, float or timedelta; rounded up to whole nanoseconds",
};
const MAX_PERIOD_NS: u64 = 730 * 86_400 * 1_000_000_000;

/// What a rate limiter enforces: `limit` tokens per `per` seconds, and how.
///
/// limit: tokens per period, 0 to 2**53-1; 0 refuses all.
/// per: the period, in seconds (int or float) or as a timedelta: above 0, up to 730 days. It is rounded up to whole
/// nanoseconds, so that the shortest is 1 ns.
/// burst: the most tokens at once, for gcra only; the limit where it is None.
/// algorithm: "gcra" (token bucket), "fixed_window", "sliding_window" or "sliding_log".
/// anchor: where fixed windows begin: "first" (at the first admitted call) or "clock" (at multiples of the period since
/// the Unix epoch).
///
/// Quotas are values: equal if they enforce the same, hashable, and str() is a text that parse() reads back.
/// Raises ConfigError, naming the argument.
#[pyclass(frozen, eq, hash, module = "tidegate")]
#[derive(Clone)]
pub struct Quota(pub tidegate::Quota);

impl Quota {
    /// What the quota enforces, whichever way it was written: a burst that equals the limit says nothing.
    fn parts(&self) -> (u64, u64, u64, Algorithm, Anchor) {
        (self.0.limit(), self.0.period_ns(), self.0.burst(), self.0.algorithm(), self.0.anchor())
    }
}

impl PartialEq for Quota {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Hash for Quota {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

#[pymethods]
impl Quota {
    #[new]
    #[pyo3(
        signature = (limit, per, burst = Given::LEFT_OUT, algorithm = Given::LEFT_OUT, anchor = Given::LEFT_OUT),
        text_signature = "(limit, per, burst=None, algorithm='gcra', anchor='first')"
    )]
    fn new(
        limit: &Bound<'_, PyAny>,
        per: &Bound<'_, PyAny>,
        burst: Given<'_, '_>,
        algorithm: Given<'_, '_>,
        anchor: Given<'_, '_>,
    ) -> PyResult<Self> {
        no_panic(|| {
            let period_ns = PER.read_ns(per)?;
            let mut quota = tidegate::Quota::new(LIMIT.read(limit)?, Duration::from_nanos(period_ns))
                .with_algorithm(algorithm.text_or("gcra", "algorithm")?.parse().map_err(from_core)?)
                .with_anchor(anchor.text_or("first", "anchor")?.parse().map_err(from_core)?);
            if let Some(burst) = burst.optional_whole(&BURST)? {
                quota = quota.with_burst(burst);
            }
            // Told as it was given; the core has seen whole nanoseconds only.
            quota.validate().map_err(|mistake| match (mistake.argument(), quota.algorithm()) {
                ("period", _) if period_ns == 0 || period_ns > MAX_PERIOD_NS => PER.out_of_range(per),
                ("period", _) => config_error(PER.name, shown(per), mistake.allowed()),
                ("limit", Algorithm::Gcra) => {
                    let value = format!("{} with per={} ({period_ns} ns)", quota.limit(), shown(per));
                    config_error("limit", value, mistake.allowed())
                }
                _ => from_core(mistake),
            })?;
            Ok(Self(quota))
        })
    }

    /// Reads one quota from its text, such as "100/s", "5 per 30s", "100/minute burst 20", "3/2s fixed_window anchor clock".
    ///
    /// The text is limit ("/" | "per") [count] unit ["burst" burst] [algorithm] ["anchor" anchor]; units are ns, us, ms, s,
    /// sec, second(s), min, minute(s), h, hour(s), d, day(s), w, week(s).
    /// Raises ConfigError, showing the text and the grammar. Several quotas in one text are for parse_list().
    #[classmethod]
    fn parse(_class: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<Self> {
        no_panic(|| {
            let text = read_text(text, "text")?;
            text.parse().map(Self).map_err(|mistake: tidegate::Error| {
                let allowed = allowed_for_one(&text, &mistake, "Quota.parse_list reads several, joined by ;");
                config_error(mistake.argument(), mistake.value(), allowed)
            })
        })
    }

    /// Reads one or more quotas that are joined by ";", such as "10/s; 1000/h".
    ///
    /// Raises ConfigError, showing the text and the grammar.
    #[classmethod]
    fn parse_list(_class: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<Vec<Self>> {
        no_panic(|| {
            let quotas = tidegate::Quota::parse_list(&read_text(text, "text")?).map_err(from_core)?;
            Ok(quotas.into_iter().map(Self).collect())
        })
    }

    /// Tokens per period.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit()
    }

    /// The period in seconds.
    #[getter]
    fn per(&self) -> f64 {
        seconds_from_ns(self.0.period_ns())
    }

    /// The period in nanoseconds, exact.
    #[getter]
    fn period_ns(&self) -> u64 {
        self.0.period_ns()
    }

    /// The most tokens that may be spent at once: the burst for gcra, else the limit.
    #[getter]
    fn burst(&self) -> u64 {
        self.0.burst()
    }

    /// One of "gcra", "fixed_window", "sliding_window" and "sliding_log".
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.0.algorithm().name()
    }

    /// One of "first" and "clock".
    #[getter]
    fn anchor(&self) -> &'static str {
        self.0.anchor().name()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Quota.parse('{}')", self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("parse")?, (slf.get().0.to_string(),)))
    }
}

/// The quotas of a limiter: a Quota, a text of one or more, or a sequence of either.
pub fn read_quotas(value: &Bound<'_, PyAny>) -> PyResult<Vec<tidegate::Quota>> {
    const ALLOWED: &str = "a Quota, its text, or a list of them";
    if let Ok(quota) = value.cast::<Quota>() {
        return Ok(vec![quota.get().0]);
    }
    // Sequences of numbers, which are no list of anything here.
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        return Err(type_error("quotas", value, ALLOWED));
    }
    if value.is_instance_of::<PyString>() {
        return tidegate::Quota::parse_list(&read_text(value, "quotas")?).map_err(from_core);
    }
    let list = value.cast::<PySequence>().map_err(|_| type_error("quotas", value, ALLOWED))?;
    let mut quotas = Vec::new();
    for (index, item) in list.try_iter()?.enumerate() {
        let item = item?;
        if let Ok(quota) = item.cast::<Quota>() {
            quotas.push(quota.get().0);
        } else if item.is_instance_of::<PyString>() {
            let text = read_text(&item, "quotas")?;
            quotas.push(text.parse().map_err(|mistake| in_list(index, &text, &mistake))?);
        } else {
            return Err(type_error(&format!("quotas[{index}]"), &item, "a Quota or its text"));
        }
    }
    Ok(quotas)
}

/// The mistake in one text of a list, with its place: `quotas[1]`, or `quotas[1].limit` if it is in a part of the quota.
#[cold]
fn in_list(index: usize, text: &str, mistake: &tidegate::Error) -> PyErr {
    let place = match mistake.argument() {
        "quota" => format!("quotas[{index}]"),
        part => format!("quotas[{index}].{part}"),
    };
    config_error(&place, mistake.value(), allowed_for_one(text, mistake, "in a list each has a text of its own"))
}

/// What is allowed where a text holds one quota; who gives several is told how they are read.
fn allowed_for_one(text: &str, mistake: &tidegate::Error, several: &str) -> String {
    if text.contains(';') { format!("one quota; {several}") } else { mistake.allowed().to_owned() }
}

/// The quotas of a limiter as one text, which reads back as them.
pub fn quotas_text(quotas: &[tidegate::Quota]) -> String {
    quotas.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The quotas of a limiter, as Python sees them.
pub fn quotas_tuple(py: Python<'_>, quotas: Vec<tidegate::Quota>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, quotas.into_iter().map(Quota))
}
