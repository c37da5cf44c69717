//! What is wrong with rules.

use crate::Error;
use std::fmt;

/// One thing that is wrong with rules: where, what was written, and what is allowed.
///
/// Shown as `FILE:LINE: rule NAME: ARGUMENT: got VALUE; allowed: WHAT`, without what isn't known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The file that the rules were read from.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The rule's name; or, if it has none, its place, such as `#3`.
    pub rule: Option<String>,
    /// What is wrong, such as `quota` or `match.path`.
    pub argument: String,
    /// What was written.
    pub value: String,
    /// What could have been.
    pub allowed: String,
}

impl Fault {
    pub(super) fn new(argument: impl Into<String>, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self { argument: argument.into(), value: value.to_string(), allowed: allowed.to_string(), ..Self::default() }
    }

    /// A mistake in what a limiter was to be built from, in the field `argument` of a rule.
    pub(super) fn of(argument: impl Into<String>, mistake: &Error) -> Self {
        Self::new(argument, mistake.value(), mistake.allowed())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, argument, value, allowed } = self;
        match (file, line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        if let Some(rule) = rule {
            write!(f, "rule {rule}: ")?;
        }
        write!(f, "{argument}: got {value}; allowed: {allowed}")
    }
}

/// All that is wrong with rules; nothing was changed. Shown as one line for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if place == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
