//! Patterns, ready to be compared with values.

use super::Pattern;
use globset::GlobBuilder;
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// The longest glob or regular expression, in bytes: what is read from it is at most some thousand times as large.
const TEXT_BYTES: usize = 4096;
/// What the texts of one pattern may take once they are compiled, in bytes.
const COMPILED_BYTES: usize = 1 << 20;
/// What a search may remember of what it found out about a pattern, in bytes. Without room it is slower, but still linear.
const CACHE_BYTES: usize = 1 << 18;
/// How much of a text that isn't a pattern is shown.
const SHOWN_CHARACTERS: usize = 100;

/// A pattern, ready to be compared with values.
#[derive(Debug)]
pub(super) enum Matcher {
    /// The value is one of these.
    Exact(Texts),
    /// The value begins with one of these.
    Prefix(Texts),
    /// The value is as an expression says.
    Expression(Box<Expression>),
}

/// What globs and regular expressions become that say more than a text or a prefix.
#[derive(Debug)]
pub(super) struct Expression {
    regex: Regex,
    whole: Hir,
    begins: Texts,
}

/// Sorted texts, each once.
#[derive(Debug, Default)]
pub(super) struct Texts(Vec<Box<[u8]>>);

/// A text that isn't a pattern, and what is allowed.
pub(super) type Mistake = (String, String);

impl Matcher {
    /// # Errors
    ///
    /// All texts that aren't patterns.
    pub(super) fn new(pattern: &Pattern) -> Result<Self, Vec<Mistake>> {
        let texts = pattern.texts();
        if texts.is_empty() {
            return Err(vec![("[]".into(), "at least one text".into())]);
        }
        match pattern {
            Pattern::Exact(_) => Ok(Self::Exact(Texts::new(texts))),
            Pattern::Prefix(_) if texts.iter().any(String::is_empty) => {
                Err(vec![mistake("", "a text that isn't empty")])
            }
            Pattern::Prefix(_) => Ok(Self::Prefix(Texts::shortest(texts))),
            Pattern::Glob(_) => Self::of_expressions(texts, glob),
            Pattern::Regex(_) => Self::of_expressions(texts, regex),
        }
    }

    fn of_expressions(texts: &[String], parse: fn(&str) -> Result<Hir, String>) -> Result<Self, Vec<Mistake>> {
        let mut read = Vec::with_capacity(texts.len());
        let mut mistakes = Vec::new();
        let mut room = COMPILED_BYTES;
        for text in texts {
            match parse_within(text, parse, &mut room) {
                Ok(expression) => read.push(expression),
                Err(allowed) => mistakes.push(mistake(text, allowed)),
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let simple: Option<Vec<_>> = read.iter().map(Simple::of).collect();
        if let Some(simple) = simple {
            if simple.iter().all(|text| text.whole) {
                return Ok(Self::Exact(Texts::new(simple.iter().map(|text| text.bytes))));
            }
            if simple.iter().all(|text| !text.whole) {
                return Ok(Self::Prefix(Texts::shortest(simple.iter().map(|text| text.bytes))));
            }
        }
        let whole = Hir::concat(vec![Hir::look(Look::Start), Hir::alternation(read), Hir::look(Look::End)]);
        match Expression::new(whole) {
            Some(expression) => Ok(Self::Expression(Box::new(expression))),
            None => Err(texts.iter().map(|text| mistake(text, too_large())).collect()),
        }
    }

    /// Whether the pattern matches.
    pub(super) fn is_match(&self, value: &[u8]) -> bool {
        #[cfg(test)]
        asked::one_more();
        match self {
            Self::Exact(texts) => texts.contain(value),
            Self::Prefix(texts) => texts.begin(value),
            Self::Expression(expression) => expression.regex.is_match(value),
        }
    }

    /// Texts, of which a value that matches begins with one, or is one if the pattern is [`Exact`](Self::Exact).
    pub(super) fn literals(&self) -> impl Iterator<Item = &[u8]> {
        let (Self::Exact(texts) | Self::Prefix(texts)) = self else {
            let Self::Expression(expression) = self else { unreachable!() };
            return expression.begins.iter();
        };
        texts.iter()
    }
}

impl Expression {
    /// Of an expression that is anchored at both ends. None if it is too large.
    fn new(whole: Hir) -> Option<Self> {
        let config = Regex::config()
            .which_captures(WhichCaptures::None)
            .utf8_empty(false)
            .nfa_size_limit(Some(2 * COMPILED_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES);
        let regex = Regex::builder().configure(config).build_from_hir(&whole).ok()?;
        let literals = Extractor::new().limit_class(4).limit_total(64).extract(&whole);
        let begins = match literals.literals() {
            Some(literals) => Texts::shortest(literals.iter().map(|literal| literal.as_bytes())),
            None => Texts::shortest([""]),
        };
        Some(Self { regex, whole, begins })
    }

    /// Anchored at both ends.
    pub(super) fn whole(&self) -> &Hir {
        &self.whole
    }
}

impl Texts {
    fn new<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut texts: Vec<Box<[u8]>> = texts.into_iter().map(|text| text.as_ref().into()).collect();
        texts.sort_unstable();
        texts.dedup();
        Self(texts)
    }

    /// Without those that begin with another: a value begins with at most one of the rest.
    fn shortest<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut texts = Self::new(texts);
        texts.0.dedup_by(|text, shorter| text.starts_with(shorter));
        texts
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|text| &**text)
    }

    fn contain(&self, value: &[u8]) -> bool {
        match &*self.0 {
            [text] => **text == *value,
            texts => texts.binary_search_by(|text| (**text).cmp(value)).is_ok(),
        }
    }

    /// Whether one of the [`shortest`](Self::shortest) texts is what `value` begins with: only the last that isn't greater
    /// can be.
    fn begin(&self, value: &[u8]) -> bool {
        let after = self.0.partition_point(|text| **text <= *value);
        after > 0 && value.starts_with(&self.0[after - 1])
    }
}

/// What an expression says, if it is a text or a prefix.
struct Simple<'a> {
    bytes: &'a [u8],
    whole: bool,
}

impl<'a> Simple<'a> {
    fn of(expression: &'a Hir) -> Option<Self> {
        let mut parts = match expression.kind() {
            HirKind::Concat(parts) => parts,
            _ => std::slice::from_ref(expression),
        };
        // It is about the whole value in any case.
        while let [first, rest @ ..] = parts
            && *first.kind() == HirKind::Look(Look::Start)
        {
            parts = rest;
        }
        while let [rest @ .., last] = parts
            && *last.kind() == HirKind::Look(Look::End)
        {
            parts = rest;
        }
        let (bytes, whole): (&[u8], bool) = match parts {
            [] => (b"", true),
            [all] if is_anything(all) => (b"", false),
            [first, rest @ ..] => match (first.kind(), rest) {
                (HirKind::Empty, []) => (b"", true),
                (HirKind::Literal(literal), []) => (&literal.0, true),
                (HirKind::Literal(literal), [rest]) if is_anything(rest) => (&literal.0, false),
                (HirKind::Capture(group), []) => return Self::of(&group.sub),
                _ => return None,
            },
        };
        Some(Self { bytes, whole })
    }
}

fn is_anything(expression: &Hir) -> bool {
    let HirKind::Repetition(repetition) = expression.kind() else { return false };
    let HirKind::Class(Class::Bytes(bytes)) = repetition.sub.kind() else { return false };
    let all = bytes.ranges().iter().map(|range| range.len()).sum::<usize>() == 256;
    all && repetition.min == 0 && repetition.max.is_none()
}

/// Reads a text, as long as what it compiles to leaves room.
fn parse_within(text: &str, parse: fn(&str) -> Result<Hir, String>, room: &mut usize) -> Result<Hir, String> {
    if text.is_empty() || text.len() > TEXT_BYTES {
        return Err(format!("1 to {TEXT_BYTES} bytes"));
    }
    let expression = parse(text)?;
    let config = thompson::Config::new().which_captures(WhichCaptures::None).utf8(false).nfa_size_limit(Some(*room));
    let compiled = thompson::Compiler::new().configure(config).build_from_hir(&expression).map_err(|_| too_large())?;
    *room = room.saturating_sub(compiled.memory_usage());
    Ok(expression)
}

fn too_large() -> String {
    format!("patterns that together take at most {COMPILED_BYTES} bytes once they are compiled")
}

fn glob(text: &str) -> Result<Hir, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).empty_alternates(true).build();
    let glob = glob.map_err(|error| format!("a glob ({})", error.kind()))?;
    // What becomes of two stars that aren't a whole segment, and so cross no `/`.
    if glob.regex().contains("[^/]*[^/]*") {
        return Err("a glob (`**` is what is between two `/`, or before the first, or behind the last)".into());
    }
    let expression = regex(glob.regex())?;
    if has_part_of_character(&expression) {
        return Err("a glob (between `[` and `]` there is ASCII only)".into());
    }
    Ok(expression)
}

/// Whether a class holds some of the bytes that characters beyond ASCII are made of, but not all.
fn has_part_of_character(expression: &Hir) -> bool {
    match expression.kind() {
        HirKind::Class(Class::Bytes(bytes)) => {
            let beyond_ascii = (0x80..=0xff).filter(|byte| {
                let mut ranges = bytes.ranges().iter();
                ranges.any(|range| range.start() <= *byte && *byte <= range.end())
            });
            !matches!(beyond_ascii.count(), 0 | 128)
        }
        kind => kind.subs().iter().any(has_part_of_character),
    }
}

/// Bytes, not characters, and `.` is any of them: a request mustn't get out of a rule by a byte that isn't UTF-8, or a newline.
fn regex(text: &str) -> Result<Hir, String> {
    let parsed = ParserBuilder::new().utf8(false).unicode(false).dot_matches_new_line(true).build().parse(text);
    parsed.map_err(|error| {
        let (reason, at) = match &error {
            regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
            regex_syntax::Error::Translate(error) => (error.kind().to_string(), error.span().start.offset),
            _ => (error.to_string().lines().last().unwrap_or_default().into(), 0),
        };
        let unicode = if reason.starts_with("Unicode") { "; `(?u)` at the start allows it" } else { "" };
        format!("a regular expression ({reason}, at byte {at}{unicode})")
    })
}

fn mistake(text: &str, allowed: impl Into<String>) -> Mistake {
    let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    let is_plain = !text.is_empty() && !text.contains(char::is_control);
    (if is_plain { format!("{start}{rest}") } else { format!("{start:?}{rest}") }, allowed.into())
}

/// How often matchers were asked, on this thread.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::Cell;

    thread_local!(static ASKED: Cell<u64> = const { Cell::new(0) });

    pub(super) fn one_more() {
        ASKED.set(ASKED.get() + 1);
    }

    pub(in crate::gate) fn times() -> u64 {
        ASKED.get()
    }
}

#[cfg(test)]
mod tests;
