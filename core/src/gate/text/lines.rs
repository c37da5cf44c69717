//! Where rules are in the text that they were read from.

use std::collections::HashMap;

/// The lines of rules and of their fields, by the place of the rule among those read. Empty for rules that weren't in a text.
#[derive(Debug, Default)]
pub(in super::super) struct Lines(pub(super) Vec<RuleLines>);

#[derive(Debug, Default)]
pub(super) struct RuleLines {
    /// Where the rule begins.
    pub(super) line: u32,
    /// By what faults call them, such as `quota` and `match.path`.
    pub(super) fields: HashMap<String, FieldLine>,
    /// Whether nothing is wrong with it as text.
    pub(super) is_sound: bool,
}

#[derive(Debug)]
pub(super) struct FieldLine {
    pub(super) line: u32,
    /// Whether nothing is wrong with it as text.
    pub(super) is_sound: bool,
}

impl Lines {
    /// The line of a field such as `quota`, `match.path` or `overrides.partner-a`; if it isn't there, that of what it would be
    /// in. From 1.
    pub(in super::super) fn of(&self, rule: usize, argument: &str) -> Option<u32> {
        let rule = self.0.get(rule)?;
        Some(rule.field(argument).map_or(rule.line, |field| field.line))
    }

    /// Whether the field of a rule, which reads but is wrong, is to be told of: not if the text is wrong there, or if what is
    /// missing may be what couldn't be read.
    pub(in super::super) fn is_told(&self, rule: usize, argument: &str) -> bool {
        let Some(rule) = self.0.get(rule) else { return true };
        rule.is_sound || rule.field(argument).is_some_and(|field| field.is_sound)
    }
}

impl RuleLines {
    /// The field, or what it would be in.
    fn field(&self, argument: &str) -> Option<&FieldLine> {
        let mut within = Some(argument);
        while let Some(path) = within {
            if let Some(field) = self.fields.get(path) {
                return Some(field);
            }
            within = path.rsplit_once('.').map(|(within, _)| within);
        }
        None
    }
}
