//! Rules from what a text says, and all that is wrong with it.

use super::lines::{FieldLine, Lines, RuleLines};
use super::node::{Document, Field, Node, Source, Value, cut};
use crate::gate::{Fault, Mode, Pattern, Rule, Rules};
use crate::{MAX_COST, WhenFull};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The most faults that are told of.
const MAX_FAULTS: usize = 1_000;

const TOP: &str = "show_keys, rules";
const RULES: &str = "a list of rules, which may be empty";
const RULE: &str = "a map of the fields of a rule";
pub(super) const FIELDS: &str =
    "name, match, key, quota, concurrency, timeout, max_waiters, mode, cost, max_keys, when_full, overrides";
const PATTERN: &str = "a map of exactly one of exact, prefix, glob and regex";
const MODES: &str = "\"enforce\", \"shadow\", \"off\"";

pub(super) fn read(source: &Source<'_>, document: &Document<'_>) -> (Rules, Lines, Vec<Fault>) {
    let mut reader = Reader { source, duplicates: &document.duplicates, rule: None, faults: Vec::new(), found: 0 };
    let (rules, lines) = reader.rules(&document.root);
    let Reader { mut faults, found, .. } = reader;
    faults.sort_by_key(|fault| fault.line);
    if found > MAX_FAULTS {
        faults.push(Fault::new("text", format_args!("more than {MAX_FAULTS} faults"), "none"));
    }
    (rules, lines, faults)
}

struct Reader<'s, 't> {
    source: &'s Source<'t>,
    duplicates: &'s [Range<usize>],
    /// What faults call the rule that is being read.
    rule: Option<String>,
    faults: Vec<Fault>,
    found: usize,
}

/// Each reads a value; if it can't be read, it tells of that and what it returns doesn't matter: the field is not sound.
impl Reader<'_, '_> {
    fn rules(&mut self, root: &Node<'_>) -> (Rules, Lines) {
        let mut rules = Rules::default();
        let mut lines = Lines::default();
        let fields = self.fields(root, "text", "a map of rules and, if need be, show_keys");
        if matches!(root.value, Value::Map(_)) && !fields.iter().any(|field| field.name == "rules") {
            // Not an empty list: a file that is only half written must not take the rules away.
            self.fault(root.span.start, "rules", "nothing".into(), RULES);
            self.again(0..usize::MAX);
        }
        for Field { name, at, node } in fields {
            match &**name {
                "$schema" => drop(self.text(node, name, "a text")),
                "show_keys" => rules.show_keys = self.boolean(node, name),
                "rules" => {
                    let items = self.items(node, name, RULES);
                    let starts = items.iter().map(|rule| rule.span.start).chain([usize::MAX]).collect::<Vec<_>>();
                    self.again(0..starts[0]);
                    for (place, node) in items.iter().enumerate() {
                        let found = self.found;
                        if found > MAX_FAULTS {
                            break;
                        }
                        let (rule, rule_lines) = self.rule(node, place);
                        self.again(starts[place]..starts[place + 1]);
                        rules.rules.push(rule);
                        lines.0.push(RuleLines { is_sound: self.found == found, ..rule_lines });
                    }
                }
                _ => self.unknown(name, *at, name, TOP),
            }
            self.rule = None;
        }
        (rules, lines)
    }

    fn rule(&mut self, node: &Node<'_>, place: usize) -> (Rule, RuleLines) {
        self.rule = Some(label(node, place));
        let mut rule = Rule::default();
        let mut lines = RuleLines { line: self.source.line(node.span.start), fields: HashMap::new(), is_sound: false };
        let fields = self.fields(node, "rules", RULE);
        if matches!(node.value, Value::Map(_)) && !fields.iter().any(|field| field.name == "name") {
            self.fault(node.span.start, "name", "nothing".into(), "a text that isn't empty");
        }
        for Field { name, at, node } in fields {
            let found = self.found;
            match &**name {
                "name" => rule.name = self.name(node),
                "match" => rule.matches = self.map(node, name, "a map of attributes", &mut lines, Self::pattern),
                "key" => rule.key = self.texts(node, name),
                "quota" => rule.quota = self.texts(node, name),
                "concurrency" => rule.concurrency = self.whole(node, name),
                "timeout" => rule.timeout = self.text(node, name, "a text such as \"50ms\", or \"call\""),
                "max_waiters" => rule.max_waiters = self.whole(node, name),
                "mode" => rule.mode = self.mode(node),
                "cost" => rule.cost = self.whole(node, name),
                "max_keys" => rule.max_keys = self.whole(node, name),
                "when_full" => rule.when_full = self.when_full(node),
                "overrides" => rule.overrides = self.map(node, name, "a map of keys", &mut lines, Self::texts),
                _ => self.unknown(name, *at, name, FIELDS),
            }
            let field = FieldLine { line: self.source.line(*at), is_sound: self.found == found };
            lines.fields.insert(name.to_string(), field);
        }
        (rule, lines)
    }

    /// A map of anything that is named freely.
    fn map<T>(
        &mut self,
        node: &Node<'_>,
        argument: &str,
        allowed: &str,
        lines: &mut RuleLines,
        read: impl Fn(&mut Self, &Node<'_>, &str) -> T,
    ) -> BTreeMap<String, T> {
        let mut map = BTreeMap::new();
        for Field { name, at, node } in self.fields(node, argument, allowed) {
            let argument = format!("{argument}.{name}");
            let found = self.found;
            let value = read(self, node, &argument);
            lines.fields.insert(argument, FieldLine { line: self.source.line(*at), is_sound: self.found == found });
            map.insert(name.to_string(), value);
        }
        map
    }

    fn pattern(&mut self, node: &Node<'_>, argument: &str) -> Pattern {
        let fields = self.fields(node, argument, PATTERN);
        let mut pattern = Pattern::Exact(Vec::new());
        for Field { name, at, node } in &fields {
            let argument = format!("{argument}.{name}");
            match &**name {
                "exact" => pattern = Pattern::Exact(self.texts(node, &argument)),
                "prefix" => pattern = Pattern::Prefix(self.texts(node, &argument)),
                "glob" => pattern = Pattern::Glob(self.texts(node, &argument)),
                "regex" => pattern = Pattern::Regex(self.texts(node, &argument)),
                _ => self.unknown(name, *at, &argument, "exact, prefix, glob, regex"),
            }
        }
        if matches!(node.value, Value::Map(_)) && fields.len() != 1 {
            self.fault(node.span.start, argument, self.source.written(node), PATTERN);
        }
        pattern
    }

    fn name(&mut self, node: &Node<'_>) -> String {
        match &node.value {
            Value::Text(name) if !name.is_empty() => name.to_string(),
            _ => self.wrong(node, "name", "a text that isn't empty"),
        }
    }

    fn mode(&mut self, node: &Node<'_>) -> Mode {
        match &node.value {
            Value::Text(name) if name == "enforce" => Mode::Enforce,
            Value::Text(name) if name == "shadow" => Mode::Shadow,
            Value::Text(name) if name == "off" => Mode::Off,
            _ => self.wrong(node, "mode", MODES),
        }
    }

    fn when_full(&mut self, node: &Node<'_>) -> Option<WhenFull> {
        match &node.value {
            Value::Text(name) => name.parse().ok(),
            _ => None,
        }
        .or_else(|| self.wrong(node, "when_full", "\"evict\", \"deny_new\""))
    }

    fn text(&mut self, node: &Node<'_>, argument: &str, allowed: &str) -> Option<String> {
        match &node.value {
            Value::Text(text) => Some(text.to_string()),
            _ => self.wrong(node, argument, allowed),
        }
    }

    /// One text, or a list of any number.
    fn texts(&mut self, node: &Node<'_>, argument: &str) -> Vec<String> {
        match &node.value {
            Value::Text(text) => vec![text.to_string()],
            Value::List(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for node in items {
                    texts.extend(self.text(node, argument, "a text"));
                }
                texts
            }
            _ => self.wrong(node, argument, "a text or a list of texts"),
        }
    }

    fn whole(&mut self, node: &Node<'_>, argument: &str) -> Option<u64> {
        match node.value {
            Value::Whole(number) if number <= MAX_COST => Some(number),
            _ => self.wrong(node, argument, &format!("whole numbers from 0 to {MAX_COST}")),
        }
    }

    fn boolean(&mut self, node: &Node<'_>, argument: &str) -> bool {
        match node.value {
            Value::Bool(value) => value,
            _ => self.wrong(node, argument, "true, false"),
        }
    }

    fn items<'n, 't>(&mut self, node: &'n Node<'t>, argument: &str, allowed: &str) -> &'n [Node<'t>] {
        let Value::List(items) = &node.value else {
            self.fault(node.span.start, argument, self.source.written(node), allowed);
            return &[];
        };
        items
    }

    /// The fields of a map, each once.
    fn fields<'n, 't>(&mut self, node: &'n Node<'t>, argument: &str, allowed: &str) -> Vec<&'n Field<'t>> {
        let Value::Map(fields) = &node.value else { return self.wrong(node, argument, allowed) };
        let mut lines = HashMap::new();
        let mut once = Vec::with_capacity(fields.len());
        for field in fields {
            match lines.get(&*field.name) {
                None => {
                    lines.insert(&*field.name, self.source.line(field.at));
                    once.push(field);
                }
                Some(line) => {
                    let within =
                        if matches!(argument, "text" | "rules") { String::new() } else { format!("{argument}.") };
                    let written = format!("{} again", self.source.written(&field.node));
                    self.fault(
                        field.at,
                        &format!("{within}{}", field.name),
                        written,
                        &format!("it once; see line {line}"),
                    );
                }
            }
        }
        once
    }

    /// Tells of the fields in a part of the text that were written again, of which the parser knows no more than where.
    fn again(&mut self, within: Range<usize>) {
        let start = self.duplicates.partition_point(|span| span.start < within.start);
        let end = self.duplicates.partition_point(|span| span.start < within.end);
        for span in self.duplicates.get(start..end).unwrap_or_default() {
            let name = self.source.text.get(span.clone()).unwrap_or_default();
            self.fault(span.start, name, format!("{} again", self.source.line_at(span.start)), "it once");
        }
    }

    fn unknown(&mut self, name: &str, at: usize, argument: &str, allowed: &str) {
        self.fault(at, argument, format!("{:?}", cut(name)), allowed);
    }

    fn wrong<T: Default>(&mut self, node: &Node<'_>, argument: &str, allowed: &str) -> T {
        self.fault(node.span.start, argument, self.source.written(node), allowed);
        T::default()
    }

    fn fault(&mut self, at: usize, argument: &str, value: String, allowed: &str) {
        self.found += 1;
        if self.found <= MAX_FAULTS {
            let fault = Fault::new(cut(argument), value, allowed);
            self.faults.push(Fault { line: Some(self.source.line(at)), rule: self.rule.clone(), ..fault });
        }
    }
}

/// What faults call a rule: its name or, if it has none, its place.
fn label(rule: &Node<'_>, place: usize) -> String {
    let Value::Map(fields) = &rule.value else { return format!("#{}", place + 1) };
    match fields.iter().find(|field| field.name == "name").map(|field| &field.node.value) {
        Some(Value::Text(name)) if !name.is_empty() => cut(name),
        _ => format!("#{}", place + 1),
    }
}
