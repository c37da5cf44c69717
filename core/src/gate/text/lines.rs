//! Where rules are in the text that they were read from.

use super::super::fault::Fault;
use std::collections::HashMap;

/// The lines of rules and of their fields, by the place of the rule among those read. Empty for rules that weren't in a text.
#[derive(Debug, Default)]
pub(in super::super) struct Lines(pub(super) Vec<RuleLines>);

#[derive(Debug, Default)]
pub(super) struct RuleLines {
    /// Where the rule begins.
    pub(super) line: u32,
    /// By what faults call them, such as `quota` and `match.path`.
    pub(super) fields: HashMap<String, u32>,
    /// Whether nothing is wrong with it as text.
    pub(super) is_sound: bool,
}

impl Lines {
    /// The line of a field such as `quota`, `match.path` or `overrides.partner-a`; if it isn't there, that of what it would be
    /// in. From 1.
    pub(in super::super) fn of(&self, rule: usize, argument: &str) -> Option<u32> {
        let RuleLines { line, fields, .. } = self.0.get(rule)?;
        let mut within = Some(argument);
        while let Some(path) = within {
            if let Some(line) = fields.get(path) {
                return Some(*line);
            }
            within = path.rsplit_once('.').map(|(within, _)| within);
        }
        Some(*line)
    }

    /// Whether the field of a rule, which reads but is wrong, is to be told of: not if the text is wrong there, or if what is missing
    /// may be what couldn't be read. `told` are the faults of the text.
    pub(in super::super) fn is_told(&self, rule: usize, argument: &str, told: &[Fault]) -> bool {
        let Some(lines) = self.0.get(rule) else { return true };
        let line = self.of(rule, argument);
        lines.is_sound || line != Some(lines.line) && !told.iter().any(|fault| fault.line == line)
    }
}
