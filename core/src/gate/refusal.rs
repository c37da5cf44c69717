//! Why a request was not admitted.

use super::limiter::Standing;
use super::rule_set::{Placed, RuleSet, Values};
use crate::quota::Quota;
use crate::{Error, NEVER_NS, Status, fork};
use std::fmt::{self, Write};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::time::Duration;

/// Why a request was not admitted, and by which rule. Nothing was taken.
///
/// If several rules refuse, it is of the one that has to be waited for longest; so it is the same in whichever order they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The rule's name.
    pub rule: String,
    /// Whose budget it is: the key's value, or several joined by `, `, at most 100 characters of each; or, unless the rules say
    /// `show_keys`, `#` and 16 hexadecimal digits that stand for it in this process. `None` if the rule has no key.
    pub key: Option<String>,
    /// [`Denied`](Status::Denied), [`ExceedsCapacity`](Status::ExceedsCapacity), [`KeysFull`](Status::KeysFull); after a wait
    /// [`TimedOut`](Status::TimedOut) or [`QueueFull`](Status::QueueFull).
    pub status: Status,
    /// Tokens per period, or permits.
    pub limit: u64,
    /// Tokens or permits that could be taken.
    pub remaining: u64,
    /// The quota that refused; `None` if it was a limit of permits.
    pub quota: Option<Quota>,
    /// All the rule's quotas.
    pub quotas: Vec<Quota>,
    /// Which of them it is, from 0.
    pub quota_index: usize,
    /// How long until the same request would be admitted by the rule, if nobody else asks, in ns; [`NEVER_NS`] for never; `None` if that
    /// depends on others that are inside.
    pub retry_after_ns: Option<u64>,
    /// How many are inside, by a limit of permits.
    pub in_flight: u64,
    /// How many wait.
    pub waiting: u64,
    /// How long it was waited.
    pub elapsed: Duration,
    /// How long it might have been waited: the call's timeout, if it had one.
    pub timeout: Option<Duration>,
}

impl Refusal {
    pub(super) fn new(placed: &Placed, key: Option<String>, status: Status, standing: Standing) -> Self {
        Self {
            rule: placed.rule.name.clone(),
            key,
            status,
            limit: standing.limit,
            remaining: standing.remaining,
            quota: placed.quotas.get(standing.quota).copied(),
            quotas: placed.quotas.clone(),
            quota_index: standing.quota,
            retry_after_ns: standing.retry_after_ns,
            in_flight: standing.in_flight,
            waiting: standing.waiting,
            elapsed: Duration::ZERO,
            timeout: None,
        }
    }

    /// A refusal by a rule without any figures, for who carries one over from elsewhere: they are set by its fields.
    #[must_use]
    pub fn of(rule: impl Into<String>, status: Status) -> Self {
        Self {
            rule: rule.into(),
            key: None,
            status,
            limit: 0,
            remaining: 0,
            quota: None,
            quotas: Vec::new(),
            quota_index: 0,
            retry_after_ns: None,
            in_flight: 0,
            waiting: 0,
            elapsed: Duration::ZERO,
            timeout: None,
        }
    }

    /// [`retry_after_ns`](Self::retry_after_ns) as a duration; [`Duration::MAX`] for never.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ns.map(|ns| if ns == NEVER_NS { Duration::MAX } else { Duration::from_nanos(ns) })
    }
}

/// A number of something.
struct Counted(u64, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by rule {}", self.status, self.rule)?;
        if let Some(key) = &self.key {
            f.write_str(" for ")?;
            write_key(f, key)?;
        }
        match &self.quota {
            Some(quota) => write!(f, ": {quota}, {} remaining", Counted(self.remaining, "token"))?,
            None => write!(f, ": {}, {} available", Counted(self.limit, "permit"), self.remaining)?,
        }
        if self.waiting > 0 {
            write!(f, ", {} waiting", self.waiting)?;
        }
        if !self.elapsed.is_zero() {
            write!(f, ", waited {:?}", self.elapsed)?;
        }
        match self.retry_after_ns {
            None => Ok(()),
            Some(NEVER_NS) => f.write_str(", never"),
            Some(ns) => write!(f, ", retry after {:?}", Duration::from_nanos(ns)),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why [`enter`](super::Gate::enter) came back without an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnterError {
    /// A mistake of the caller's.
    Invalid(Error),
    /// A rule refused.
    Refused(Box<Refusal>),
}

impl EnterError {
    /// What a rule said.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Invalid(_) => None,
            Self::Refused(refusal) => Some(refusal),
        }
    }

    /// What happened, as one number with a name.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Invalid(mistake) => mistake.status(),
            Self::Refused(refusal) => refusal.status,
        }
    }
}

impl From<Error> for EnterError {
    fn from(mistake: Error) -> Self {
        Self::Invalid(mistake)
    }
}

impl fmt::Display for EnterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(mistake) => mistake.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for EnterError {}

/// A key within a line of text: whoever sends one must not be able to end the line and write the next of a log.
pub(super) fn write_key(f: &mut fmt::Formatter<'_>, key: &str) -> fmt::Result {
    key.chars().try_for_each(|c| if c.is_control() { write!(f, "{}", c.escape_default()) } else { f.write_char(c) })
}

/// A request's key as refusals show it.
pub(super) fn shown_key(set: &RuleSet, placed: &Placed, values: &Values<'_>) -> Option<String> {
    if placed.rule.key.is_empty() {
        return None;
    }
    if set.show_keys {
        let value = |attribute: &String| shown(set.value(values, attribute).unwrap_or_default());
        return Some(placed.rule.key.iter().map(value).collect::<Vec<_>>().join(", "));
    }
    Some(hashed(placed.key(values, &mut Default::default())))
}

/// What stands for a value in this process, and doesn't tell it.
pub(super) fn hashed(value: &[u8]) -> String {
    static SECRET: OnceLock<RandomState> = OnceLock::new();
    let secret = SECRET.get().unwrap_or_else(|| fork::whole(|| SECRET.get_or_init(RandomState::new)));
    format!("#{:016x}", secret.hash_one(value))
}

/// At most 100 characters of a value.
pub(super) fn shown(value: &[u8]) -> String {
    // Before it is read, so that a value of megabytes costs no more.
    let text = String::from_utf8_lossy(&value[..value.len().min(401)]);
    match text.char_indices().nth(100) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
