//! What a text says, whatever its format, with the place of each part.

use std::borrow::Cow;
use std::ops::Range;

/// The most of a text that a fault shows.
const MAX_CHARS: usize = 100;

/// A text, and where its lines begin.
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    line_starts: Vec<usize>,
}

pub(super) struct Document<'t> {
    pub(super) root: Node<'t>,
    /// Where fields were written that were there already, if the parser knows them only by place.
    pub(super) duplicates: Vec<Range<usize>>,
}

/// What is wrong at which byte, so that the text isn't of its format.
pub(super) type Mistake = (usize, String);

#[derive(Clone, Debug)]
pub(super) struct Node<'t> {
    /// In bytes of the text.
    pub(super) span: Range<usize>,
    pub(super) value: Value<'t>,
}

#[derive(Clone, Debug)]
pub(super) enum Value<'t> {
    Text(Cow<'t, str>),
    Bool(bool),
    Whole(u64),
    /// What no field of a rule can be: nothing, a date, any other number; or what lies too deep to be of use.
    Other,
    List(Vec<Node<'t>>),
    Map(Vec<Field<'t>>),
}

#[derive(Clone, Debug)]
pub(super) struct Field<'t> {
    pub(super) name: Cow<'t, str>,
    /// Where its name is; or, in JSON, its value. In bytes of the text.
    pub(super) at: usize,
    pub(super) node: Node<'t>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, line_starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        let line = self.line_starts.partition_point(|start| *start <= at);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// The line of a byte, as it is written.
    pub(super) fn line_at(&self, at: usize) -> String {
        let line = self.line(at) as usize;
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        brief(self.text.get(self.line_starts[line - 1]..end).unwrap_or_default())
    }

    /// A value as it is written.
    pub(super) fn written(&self, node: &Node<'_>) -> String {
        match &node.value {
            Value::Text(text) => format!("{:?}", cut(text)),
            _ => brief(self.text.get(node.span.clone()).unwrap_or_default()),
        }
    }
}

impl Value<'_> {
    /// A whole number, or what it is if it is too large for 64 bits.
    pub(super) fn whole(digits: &str, radix: u32) -> Self {
        u64::from_str_radix(digits, radix).map_or(Self::Other, Self::Whole)
    }
}

/// The text, or as much of it as a fault has room for.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// [`cut`], on one line; `nothing` if it is empty.
pub(super) fn brief(text: &str) -> String {
    // Texts can be long: no more is looked at than there may be room for.
    let start = text.char_indices().nth(8 * MAX_CHARS).map_or(text, |(end, _)| &text[..end]);
    let words: Vec<&str> = start.split_whitespace().collect();
    if words.is_empty() { "nothing".into() } else { cut(&words.join(" ")).replace(char::is_control, "\u{fffd}") }
}
