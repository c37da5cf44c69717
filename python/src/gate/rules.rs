//! Rules as Python has them, and what is said of them.

use crate::argument::{Given, read_text, type_error};
use crate::error::{RulesError, from_core};
use crate::late::Late;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString, PyTuple};
use std::path::PathBuf;
use tidegate::Gate;
use tidegate::gate::{Fault, Faults, Format, GateStats, Reloaded};

/// Changes the rules to those of a text, or to Python values as a text would hold them.
pub fn reload(gate: &Gate, rules: &Bound<'_, PyAny>, format: Given<'_, '_>) -> PyResult<Reloaded> {
    let py = rules.py();
    let changed = if rules.is_instance_of::<PyString>() {
        let (text, format) = (read_text(rules, "rules")?, format_of(&format.text_or("toml", "format")?)?);
        py.detach(|| gate.reload(&text, format))
    } else if !rules.is_instance_of::<PyBytes>() && (rules.cast::<PyMapping>().is_ok() || rules.try_iter().is_ok()) {
        static RULES_JSON: Late = Late::new("tidegate._gate", "rules_json");
        let text: String = RULES_JSON.get(py)?.call1((rules,))?.extract()?;
        // The lines of this text are nobody's.
        py.detach(|| gate.reload(&text, Format::Json)).map_err(|mut faults| {
            faults.0.iter_mut().for_each(|fault| fault.line = None);
            faults
        })
    } else {
        return Err(type_error("rules", rules, "the text of a rule file, or a list of rules, each a dict"));
    };
    changed.map_err(|faults| error(py, &faults))
}

pub fn reload_file(py: Python<'_>, gate: &Gate, path: PathBuf) -> PyResult<Reloaded> {
    py.detach(|| gate.reload_file(path)).map_err(|faults| error(py, &faults))
}

pub fn format_of(name: &str) -> PyResult<Format> {
    name.parse().map_err(from_core)
}

/// What is wrong where a source failed.
pub fn source_fault(told: String) -> Faults {
    let mut fault = Fault::default();
    (fault.argument, fault.value, fault.allowed) = ("source".into(), told, "rules, or nothing new".into());
    Faults(vec![fault])
}

/// As an exception.
#[cold]
pub fn error(py: Python<'_>, faults: &Faults) -> PyErr {
    self::faults(py, faults).map_or_else(|error| error, |faults| RulesError::new_err((faults.unbind(),)))
}

pub fn faults<'py>(py: Python<'py>, faults: &Faults) -> PyResult<Bound<'py, PyTuple>> {
    static FAULT: Late = Late::new("tidegate.gate", "Fault");
    let make = FAULT.get(py)?;
    let made = faults
        .0
        .iter()
        .map(|fault| make.call1((&fault.file, fault.line, &fault.rule, &fault.argument, &fault.value, &fault.allowed)));
    PyTuple::new(py, made.collect::<PyResult<Vec<_>>>()?)
}

pub fn reloaded(py: Python<'_>, reloaded: Reloaded) -> PyResult<Bound<'_, PyAny>> {
    static RELOADED: Late = Late::new("tidegate.gate", "Reloaded");
    let Reloaded { unchanged, changed, restarted, added, removed, .. } = reloaded;
    let names = [unchanged, changed, restarted, added, removed];
    let lists = names.into_iter().map(|names| PyTuple::new(py, names)).collect::<PyResult<Vec<_>>>()?;
    RELOADED.get(py)?.call1(PyTuple::new(py, lists)?)
}

pub fn stats<'py>(py: Python<'py>, stats: &GateStats) -> PyResult<Bound<'py, PyAny>> {
    static OF_GATE: Late = Late::new("tidegate.gate", "GateStats");
    static OF_RULE: Late = Late::new("tidegate.gate", "RuleStats");
    let (of_gate, of_rule) = (OF_GATE.get(py)?, OF_RULE.get(py)?);
    let rules = PyDict::new(py);
    for rule in &stats.rules {
        let limiter = &rule.limiter;
        let counts = [
            rule.admitted,
            rule.refused,
            limiter.in_flight,
            limiter.waiting,
            limiter.timed_out,
            limiter.cancelled,
            limiter.live_keys,
            limiter.evicted_live,
        ];
        let mode = PyTuple::new(py, [rule.mode.name()])?;
        rules.set_item(&rule.name, of_rule.call1(mode.add(PyTuple::new(py, counts)?)?.cast_into::<PyTuple>()?)?)?;
    }
    of_gate.call1((stats.admitted, stats.refused, stats.unmatched, stats.released_ok, stats.released_failed, rules))
}
