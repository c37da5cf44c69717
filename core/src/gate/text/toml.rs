//! TOML.

use super::node::{Document, Field, Mistake, Node, Source, Value};
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};

pub(super) fn parse<'t>(source: &Source<'t>) -> Result<Document<'t>, Mistake> {
    let (root, errors) = DeTable::parse_recoverable(source.text);
    let mut duplicates = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or_default();
        if error.message() != "duplicate key" {
            return Err((span.start, error.message().into()));
        }
        duplicates.push(span);
    }
    duplicates.sort_by_key(|span| span.start);
    let span = root.span();
    Ok(Document { root: Node { span, value: map(root.into_inner()) }, duplicates })
}

fn map<'t>(table: DeTable<'t>) -> Value<'t> {
    let field =
        |(name, value): (Spanned<_>, _)| Field { at: name.span().start, name: name.into_inner(), node: node(value) };
    Value::Map(table.into_iter().map(field).collect())
}

/// As deep as the parser goes, which is 80.
fn node(value: Spanned<DeValue<'_>>) -> Node<'_> {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Integer(number) => Value::whole(number.as_str(), number.radix()),
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Table(table) => map(table),
        DeValue::Float(_) | DeValue::Datetime(_) => Value::Other,
    };
    Node { span, value }
}
