//! The text form of quotas: reading and writing.

use super::{Algorithm, Anchor, DAY_NS, Quota, SECOND_NS};
use crate::Error;
use crate::fork;
use regex_lite::{Captures, Regex};
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// Units as they are written, their length, and the canonical ones longest first.
const UNITS: [(&str, u64); 19] = [
    ("w", 7 * DAY_NS),
    ("d", DAY_NS),
    ("h", 3_600 * SECOND_NS),
    ("min", 60 * SECOND_NS),
    ("s", SECOND_NS),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("sec", SECOND_NS),
    ("second", SECOND_NS),
    ("seconds", SECOND_NS),
    ("minute", 60 * SECOND_NS),
    ("minutes", 60 * SECOND_NS),
    ("hour", 3_600 * SECOND_NS),
    ("hours", 3_600 * SECOND_NS),
    ("day", DAY_NS),
    ("days", DAY_NS),
    ("week", 7 * DAY_NS),
    ("weeks", 7 * DAY_NS),
];

const UNIT_NAMES: &str = "the units ns, us, ms, s, sec, second(s), min, minute(s), h, hour(s), d, day(s), w and week(s), in \
     lower case";

const GRAMMAR: &str = "LIMIT/UNIT, LIMIT/COUNT UNIT or LIMIT per COUNT UNIT, then [burst N] [gcra | fixed_window | \
     sliding_window | sliding_log] [anchor first | clock]; UNIT is ns, us, ms, s, sec, second(s), min, minute(s), h, \
     hour(s), d, day(s), w or week(s); such as 100/s, 5 per 30s, 100/minute burst 20";

fn grammar() -> &'static Regex {
    static GRAMMAR: OnceLock<Regex> = OnceLock::new();
    GRAMMAR.get_or_init(|| {
        Regex::new(
            r"(?x)^\x20* (?<limit>[0-9]+) (?: \x20*/\x20* | \x20+per\x20+ ) (?<count>[0-9]+)? \x20* (?<unit>[a-z]+)
              (?: \x20+burst\x20+ (?<burst>[0-9]+) )?
              (?: \x20+ (?<algorithm>gcra|fixed_window|sliding_window|sliding_log) )?
              (?: \x20+anchor\x20+ (?<anchor>first|clock) )? \x20*$",
        )
        .expect("a constant pattern")
    })
}

impl Quota {
    /// Reads a list of one or more quotas joined by `;`.
    ///
    /// # Errors
    ///
    /// As for parsing one, or more than 16 quotas.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, Error> {
        let whole = |(index, part): (usize, &str)| {
            if part.trim_matches(' ').is_empty() && text.contains(';') {
                let value = format!("{}, whose quota {} is empty", quoted(text), index + 1);
                return Err(Error::option("quota", value, GRAMMAR));
            }
            part.parse()
        };
        let quotas = text.split(';').enumerate().map(whole).collect::<Result<Vec<Self>, Error>>()?;
        super::check_count(quotas.len())?;
        Ok(quotas)
    }
}

impl FromStr for Quota {
    type Err = Error;

    /// Reads the text form of one quota and validates it.
    fn from_str(text: &str) -> Result<Self, Error> {
        #[cfg(feature = "test-panic")]
        assert_ne!(text, "test-panic", "a panic that was asked for");
        let unread = |allowed: &str| Error::option("quota", quoted(text), allowed);
        if text.contains(';') {
            return Err(unread("one quota; several, joined by ;, are read as a list"));
        }
        // The pattern is made once, and each use borrows from a pool that others lock.
        let parts = fork::whole(|| grammar().captures(text))
            .ok_or_else(|| Error::option("quota", quoted(text) + &why_unread(text), GRAMMAR))?;
        let unit = &parts["unit"];
        let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| {
            Error::option("quota", format_args!("{}, whose unit is {}", quoted(text), quoted(unit)), UNIT_NAMES)
        })?;
        let limit = number(&parts, "limit").unwrap_or(0);
        let count = number(&parts, "count").unwrap_or(1);
        let quota = Self {
            limit,
            period_ns: count.saturating_mul(*unit_ns),
            burst: number(&parts, "burst"),
            algorithm: word(&parts, "algorithm")?,
            anchor: word(&parts, "anchor")?,
        };
        // Told as it was written: what is too large for 64 bits was not.
        quota.validate().map_err(|mistake| match mistake.argument() {
            "period" => mistake.with_value(format_args!("{} {unit}", digits(&parts, "count", "1"))),
            "limit" if limit == u64::MAX => mistake.with_value(digits(&parts, "limit", "")),
            "burst" if quota.burst == Some(u64::MAX) => mistake.with_value(digits(&parts, "burst", "")),
            _ => mistake,
        })?;
        Ok(quota)
    }
}

/// Where a text leaves the grammar, if that can be told: the least that would have to be another.
fn why_unread(text: &str) -> String {
    let reads = |part: &str| fork::whole(|| grammar().is_match(part));
    // A longer one was hardly meant as a quota, and each of its words is looked at.
    if text.len() > 200 {
        return String::new();
    }
    if text.contains(',') && text.split(',').all(reads) {
        return ", with \",\" where \";\" joins quotas".into();
    }
    let limit = text.split(['/', ' ']).find(|word| !word.is_empty()).unwrap_or_default();
    if limit.starts_with(|first: char| first.is_ascii_digit()) && !limit.bytes().all(|digit| digit.is_ascii_digit()) {
        return format!(", whose limit {limit:?} isn't digits alone");
    }
    match text.match_indices(' ').map(|(end, _)| end).rev().find(|end| reads(&text[..*end])) {
        Some(end) => format!(", of which {:?} can't be read", text[end..].trim_matches(' ')),
        None => String::new(),
    }
}

/// A length of time, such as `50ms`, in ns.
#[cfg(feature = "gate")]
pub(crate) fn duration_ns(text: &str) -> Result<u64, Error> {
    let (count, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let unit_ns = UNITS.iter().find(|(name, _)| *name == unit.trim_start_matches(' ')).map(|(_, ns)| *ns);
    let ns = unit_ns.and_then(|unit_ns| count.parse::<u64>().ok()?.checked_mul(unit_ns));
    ns.ok_or_else(|| {
        Error::option("duration", quoted(text), format_args!("a whole number and one of {UNIT_NAMES}, such as 50ms"))
    })
}

/// At most 100 characters of a text, in quotes.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(100) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}… ({} bytes)", &text[..end], text.len()),
    }
}

/// The digits of a part as they were written, or their first 40.
fn digits<'text>(parts: &'text Captures<'_>, name: &str, default: &'text str) -> &'text str {
    let digits = parts.name(name).map_or(default, |digits| digits.as_str());
    &digits[..digits.len().min(40)]
}

/// A number of the text; one too large for 64 bits is too large for every part, so it saturates and is refused by name.
fn number(parts: &Captures<'_>, name: &str) -> Option<u64> {
    parts.name(name).map(|digits| digits.as_str().parse().unwrap_or(u64::MAX))
}

fn word<T: FromStr<Err = Error> + Default>(parts: &Captures<'_>, name: &str) -> Result<T, Error> {
    parts.name(name).map_or(Ok(T::default()), |word| word.as_str().parse())
}

impl fmt::Display for Quota {
    /// The canonical text, which parses back to an equal quota.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, unit_ns) =
            UNITS[..8].iter().find(|(_, unit_ns)| self.period_ns.is_multiple_of(*unit_ns)).unwrap_or(&("ns", 1));
        write!(f, "{}/", self.limit)?;
        if self.period_ns != *unit_ns {
            write!(f, "{}", self.period_ns / unit_ns)?;
        }
        f.write_str(unit)?;
        if self.burst() != self.limit {
            write!(f, " burst {}", self.burst())?;
        }
        if self.algorithm != Algorithm::Gcra {
            write!(f, " {}", self.algorithm.name())?;
        }
        if self.anchor != Anchor::First {
            write!(f, " anchor {}", self.anchor.name())?;
        }
        Ok(())
    }
}
