//! TOML.

use super::node::{Document, Field, Mistake, Node, Source, Value};
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue, Error};

pub(super) fn parse<'t>(source: &Source<'t>) -> Result<Document<'t>, Mistake> {
    let mut duplicates = Vec::new();
    let root = DeTable::parse(source.text).or_else(|first| {
        // What is written twice is no reason to stop, unless there is more that is wrong.
        mistake(&first).map_or(Ok(()), Err)?;
        let (root, errors) = DeTable::parse_recoverable(source.text);
        errors.iter().find_map(mistake).map_or(Ok(()), Err)?;
        duplicates.extend(errors.iter().filter_map(Error::span));
        duplicates.sort_by_key(|span| span.start);
        Ok(root)
    })?;
    let span = root.span();
    Ok(Document { root: Node { span, value: map(root.into_inner()) }, duplicates })
}

/// What is wrong, if it isn't that a field is written twice.
fn mistake(error: &Error) -> Option<Mistake> {
    (error.message() != "duplicate key").then(|| (error.span().unwrap_or_default().start, error.message().into()))
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
