//! YAML 1.2, of which a text holds one document.

use super::node::{Document, Field, Mistake, Node, Source, Value};
use granit_parser::{Event, Parser, ScalarStyle, Span, options};
use std::borrow::Cow;
use std::collections::HashMap;

/// How deep lists and maps nest.
const MAX_DEPTH: usize = 64;

/// How many bytes of values aliases stand for, in all: each is another copy of them.
const MAX_COPIED: usize = 16 << 20;

pub(super) fn parse<'t>(source: &Source<'t>) -> Result<Document<'t>, Mistake> {
    let options = options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    let mut reader = Reader::default();
    for event in Parser::new_from_str_with_options(source.text, options) {
        let (event, span) =
            event.map_err(|error| (error.marker().byte_offset().unwrap_or_default(), error.kind().to_string()))?;
        reader.take(source, event, span)?;
    }
    let nothing = Node { span: 0..0, value: Value::Other };
    Ok(Document { root: reader.root.unwrap_or(nothing), duplicates: Vec::new() })
}

#[derive(Default)]
struct Reader<'t> {
    root: Option<Node<'t>>,
    /// The lists and maps that haven't ended yet.
    open: Vec<Open<'t>>,
    anchored: HashMap<usize, Node<'t>>,
    copied: usize,
}

struct Open<'t> {
    node: Node<'t>,
    anchor: usize,
    /// Of a map, the name whose value comes next.
    name: Option<(Cow<'t, str>, usize)>,
}

impl<'t> Reader<'t> {
    fn take(&mut self, source: &Source<'t>, event: Event<'t>, span: Span) -> Result<(), Mistake> {
        let span = span.byte_range().unwrap_or_default();
        let at = span.start;
        match event {
            Event::Scalar(.., Some(_)) | Event::SequenceStart(.., Some(_)) | Event::MappingStart(.., Some(_)) => {
                return Err((at, "values without a tag".into()));
            }
            Event::DocumentStart(..) if self.root.is_some() => return Err((at, "one document".into())),
            Event::Scalar(text, style, anchor, None) => {
                let value = if style == ScalarStyle::Plain { plain(text) } else { Value::Text(text) };
                self.put(source, Node { span, value }, anchor)?;
            }
            Event::SequenceStart(_, anchor, None) => self.open(span, Value::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, None) => self.open(span, Value::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                let Open { mut node, anchor, .. } = self.open.pop().ok_or((at, "a list or a map to end".into()))?;
                node.span.end = span.end;
                self.put(source, node, anchor)?;
            }
            Event::Alias(anchor) => {
                let named = self.anchored.get(&anchor).ok_or((at, "aliases of values that have ended".into()))?;
                let node = Node { span, value: named.value.clone() };
                self.count_copied(&node)?;
                self.put(source, node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, span: std::ops::Range<usize>, value: Value<'t>, anchor: usize) {
        self.open.push(Open { node: Node { span, value }, anchor, name: None });
    }

    /// Puts a value that has ended into what it is in.
    fn put(&mut self, source: &Source<'t>, node: Node<'t>, anchor: usize) -> Result<(), Mistake> {
        if anchor != 0 {
            self.count_copied(&node)?;
            self.anchored.insert(anchor, node.clone());
        }
        let Some(Open { node: Node { value, .. }, name, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (value, name.take()) {
            (Value::Map(fields), Some((name, at))) => fields.push(Field { name, at, node }),
            (Value::Map(_), None) => {
                let at = node.span.start;
                *name = Some((written_name(source, node)?, at));
            }
            (Value::List(items), _) => items.push(node),
            _ => {}
        }
        Ok(())
    }

    fn count_copied(&mut self, node: &Node<'_>) -> Result<(), Mistake> {
        self.copied += size(node);
        let too_much = || (node.span.start, format!("aliases that stand for at most {MAX_COPIED} bytes"));
        if self.copied > MAX_COPIED { Err(too_much()) } else { Ok(()) }
    }
}

/// The name of a field; `200` and `true` are names as they are written.
fn written_name<'t>(source: &Source<'t>, node: Node<'t>) -> Result<Cow<'t, str>, Mistake> {
    match node.value {
        Value::Text(text) => Ok(text),
        Value::List(_) | Value::Map(_) => Err((node.span.start, "names that are texts".into())),
        _ => Ok(source.text.get(node.span).unwrap_or_default().into()),
    }
}

/// What a copy takes, in bytes.
fn size(node: &Node<'_>) -> usize {
    size_of::<Field<'_>>()
        + match &node.value {
            Value::Text(text) => text.len(),
            Value::List(items) => items.iter().map(size).sum(),
            Value::Map(fields) => fields.iter().map(|field| field.name.len() + size(&field.node)).sum(),
            _ => 0,
        }
}

/// What a scalar without quotes is, by the core schema of YAML 1.2 (10.3.2).
fn plain(text: Cow<'_, str>) -> Value<'_> {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Other,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Value::Other,
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let digits = |text: &str, radix| !text.is_empty() && text.chars().all(|digit| char::is_digit(digit, radix));
    let based = |prefix, radix| {
        text.strip_prefix(prefix).filter(|rest| digits(rest, radix)).map(|rest| Value::whole(rest, radix))
    };
    if let Some(value) = based("0x", 16).or_else(|| based("0o", 8)) {
        return value;
    }
    if digits(unsigned, 10) {
        return Value::whole(&text, 10);
    }
    let float =
        unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit()) && unsigned.parse::<f64>().is_ok();
    if float || matches!(unsigned, ".inf" | ".Inf" | ".INF") { Value::Other } else { Value::Text(text) }
}
