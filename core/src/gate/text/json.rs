//! JSON.

use super::node::{Document, Field, Mistake, Node, Source, Value};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// How deep rules go: `{"rules": [{"match": {"path": {"exact": ["…"]}}}]}`. What is deeper stays unread.
const MAX_DEPTH: u32 = 6;

pub(super) fn parse<'t>(source: &Source<'t>) -> Result<Document<'t>, Mistake> {
    let root = read::<&RawValue>(source, source.text).and_then(|raw| node(source, raw, MAX_DEPTH))?;
    Ok(Document { root, duplicates: Vec::new() })
}

fn node<'t>(source: &Source<'t>, raw: &'t RawValue, depth: u32) -> Result<Node<'t>, Mistake> {
    let text = raw.get();
    let at = offset(source, text);
    let value = match text.as_bytes()[0] {
        b'"' => Value::Text(read::<String>(source, text)?.into()),
        b'{' if depth > 0 => {
            let field = |(name, raw): (String, _)| {
                let node = node(source, raw, depth - 1)?;
                Ok(Field { name: name.into(), at: node.span.start, node })
            };
            Value::Map(read::<Fields>(source, text)?.0.into_iter().map(field).collect::<Result<_, Mistake>>()?)
        }
        b'[' if depth > 0 => {
            let items = read::<Vec<&RawValue>>(source, text)?.into_iter();
            Value::List(items.map(|raw| node(source, raw, depth - 1)).collect::<Result<_, Mistake>>()?)
        }
        b't' | b'f' => Value::Bool(text == "true"),
        _ => Value::whole(text, 10),
    };
    Ok(Node { span: at..at + text.len(), value })
}

fn read<'t, T: Deserialize<'t>>(source: &Source<'t>, text: &'t str) -> Result<T, Mistake> {
    serde_json::from_str(text).map_err(|error| {
        let lines_before = error.line().saturating_sub(1);
        let start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
        let message = error.to_string();
        let why = message.rsplit_once(" at line ").map_or(&*message, |(why, _)| why);
        (offset(source, text) + start + error.column().saturating_sub(1), why.into())
    })
}

/// Where a part of the text is in it.
fn offset(source: &Source<'_>, part: &str) -> usize {
    part.as_ptr() as usize - source.text.as_ptr() as usize
}

/// All fields of an object, those written twice too.
struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Fields<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'t> Visitor<'t> for Entries {
            type Value = Fields<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = entries.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
