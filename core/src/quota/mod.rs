//! What a rate limiter enforces.

mod text;

#[cfg(feature = "gate")]
pub(crate) use text::{duration_ns, quoted};

use crate::clock::saturating_ns;
use crate::{Error, MAX_COST};
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::time::Duration;

/// A year of 365 days.
pub(crate) const YEAR_NS: u64 = 365 * DAY_NS;
/// The longest period of a quota.
pub(crate) const MAX_PERIOD_NS: u64 = 2 * YEAR_NS;
/// The most quotas that one decision may take together.
pub(crate) const MAX_QUOTAS: usize = 16;

const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 86_400 * SECOND_NS;

/// How a rate limiter counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Token bucket (the generic cell rate algorithm of ITU-T I.371): `burst` at once, then `limit` per period, evenly.
    #[default]
    Gcra,
    /// At most `limit` in each window; up to twice that in some interval as long as a window.
    FixedWindow,
    /// Two counters that are weighed by how much of the last window still counts.
    SlidingWindow,
    /// Exact: at most `limit` in every interval as long as the period; remembers each grant.
    SlidingLog,
}

impl Algorithm {
    /// The algorithm's name, as in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcra => "gcra",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog => "sliding_log",
        }
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "gcra" => Ok(Self::Gcra),
            "fixed_window" => Ok(Self::FixedWindow),
            "sliding_window" => Ok(Self::SlidingWindow),
            "sliding_log" => Ok(Self::SlidingLog),
            _ => Err(Error::option("algorithm", text::quoted(name), "gcra, fixed_window, sliding_window, sliding_log")),
        }
    }
}

/// Where fixed windows begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Anchor {
    /// At the first admitted call after the last window ended.
    #[default]
    First,
    /// At whole multiples of the period since the Unix epoch.
    Clock,
}

impl Anchor {
    /// The anchor's name, as in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Clock => "clock",
        }
    }
}

impl FromStr for Anchor {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "first" => Ok(Self::First),
            "clock" => Ok(Self::Clock),
            _ => Err(Error::option("anchor", text::quoted(name), "first, clock")),
        }
    }
}

/// What a rate limiter enforces: `limit` tokens per `period`, and how.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Algorithm, Quota};
///
/// let quota = Quota::new(100, Duration::from_secs(1)).with_burst(20);
/// assert_eq!(quota, "100/s burst 20".parse()?);
/// let window = Quota::new(3, Duration::from_secs(2)).with_algorithm(Algorithm::FixedWindow);
/// assert_eq!(window.to_string(), "3/2s fixed_window");
/// # Ok::<(), tidegate::Error>(())
/// ```
///
/// # Text
///
/// `limit ("/" | "per") [count] unit ["burst" burst] [algorithm] ["anchor" anchor]`, such as `100/s`, `5 per 30s`,
/// `100/minute burst 20`, `3/2s fixed_window anchor clock`. Units: `ns`, `us`, `ms`, `s sec second seconds`,
/// `min minute minutes`, `h hour hours`, `d day days`, `w week weeks`. Several quotas are joined by `;`.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    limit: u64,
    period_ns: u64,
    burst: Option<u64>,
    algorithm: Algorithm,
    anchor: Anchor,
}

/// Two quotas are equal if they enforce the same: a burst that was left out is the limit.
impl PartialEq for Quota {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Quota {}

impl Hash for Quota {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl Quota {
    fn parts(&self) -> (u64, u64, u64, Algorithm, Anchor) {
        (self.limit, self.period_ns, self.burst(), self.algorithm, self.anchor)
    }

    /// `limit` tokens per `period`, by gcra with a burst of `limit`. Checked when a limiter is built, or by
    /// [`validate`](Self::validate).
    #[must_use]
    pub fn new(limit: u64, period: Duration) -> Self {
        Self { limit, period_ns: saturating_ns(period), burst: None, algorithm: Algorithm::Gcra, anchor: Anchor::First }
    }

    /// `limit` tokens a second.
    #[must_use]
    pub fn per_second(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(1))
    }

    /// `limit` tokens a minute.
    #[must_use]
    pub fn per_minute(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(60))
    }

    /// `limit` tokens an hour.
    #[must_use]
    pub fn per_hour(limit: u64) -> Self {
        Self::new(limit, Duration::from_secs(3_600))
    }

    /// How many tokens a full bucket holds: the most that may be spent at once. Only for gcra.
    #[must_use]
    pub fn with_burst(mut self, burst: u64) -> Self {
        self.burst = Some(burst);
        self
    }

    /// The algorithm to count by.
    #[must_use]
    pub fn with_algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Where fixed windows begin. Only for [`Algorithm::FixedWindow`].
    #[must_use]
    pub fn with_anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    /// Tokens per period.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The period.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// The period in nanoseconds.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// The most tokens that may be spent at once: the burst for gcra, else the limit.
    #[must_use]
    pub fn burst(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }

    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Where fixed windows begin.
    #[must_use]
    pub fn anchor(&self) -> Anchor {
        self.anchor
    }

    /// Checks every part, and the parts together.
    ///
    /// # Errors
    ///
    /// Names the part that is wrong: limit 0 … 2⁵³−1; period 1 ns … 2 years; burst 1 … 2⁵³−1 and only with gcra; anchor
    /// `clock` only with fixed windows; or the quota as a whole is finer or longer than its algorithm can count.
    pub fn validate(&self) -> Result<(), Error> {
        if self.limit > MAX_COST {
            return Err(Error::option("limit", self.limit, format_args!("0 to {MAX_COST}")));
        }
        if self.period_ns == 0 || self.period_ns > MAX_PERIOD_NS {
            return Err(Error::option(
                "period",
                format_args!("{} ns", self.period_ns),
                format_args!("1 ns to {MAX_PERIOD_NS} ns (2 years)"),
            ));
        }
        if let Some(burst) = self.burst {
            if burst == 0 || burst > MAX_COST {
                return Err(Error::option("burst", burst, format_args!("1 to {MAX_COST}")));
            }
            if self.algorithm != Algorithm::Gcra {
                return Err(Error::option(
                    "burst",
                    format_args!("{burst} with {}", self.algorithm.name()),
                    "a burst with gcra only",
                ));
            }
        }
        if self.anchor != Anchor::First && self.algorithm != Algorithm::FixedWindow {
            return Err(Error::option(
                "anchor",
                format_args!("{} with {}", self.anchor.name(), self.algorithm.name()),
                "an anchor with fixed_window only",
            ));
        }
        crate::rate::fits(self)
    }
}

/// What a rate limiter can be built from: a [`Quota`], its text, or a list of quotas that all must admit.
pub trait IntoQuotas {
    /// The quotas, at least one.
    ///
    /// # Errors
    ///
    /// If a text doesn't parse, a quota isn't valid, or the list has none or more than 16.
    fn into_quotas(self) -> Result<Vec<Quota>, Error>;
}

impl IntoQuotas for &[Quota] {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        check_count(self.len())?;
        self.iter().try_for_each(Quota::validate)?;
        Ok(self.to_vec())
    }
}

impl IntoQuotas for Quota {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        [self].as_slice().into_quotas()
    }
}

impl<const N: usize> IntoQuotas for [Quota; N] {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        self.as_slice().into_quotas()
    }
}

impl IntoQuotas for Vec<Quota> {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        self.as_slice().into_quotas()
    }
}

impl IntoQuotas for &str {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        Quota::parse_list(self)
    }
}

impl IntoQuotas for &String {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        self.as_str().into_quotas()
    }
}

impl IntoQuotas for String {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        self.as_str().into_quotas()
    }
}

/// Texts of one quota each.
impl<const N: usize> IntoQuotas for [&str; N] {
    fn into_quotas(self) -> Result<Vec<Quota>, Error> {
        check_count(N)?;
        self.into_iter().map(str::parse).collect()
    }
}

pub(crate) fn check_count(count: usize) -> Result<(), Error> {
    if (1..=MAX_QUOTAS).contains(&count) {
        Ok(())
    } else {
        Err(Error::option("quotas", format_args!("{count} quotas"), format_args!("1 to {MAX_QUOTAS} quotas")))
    }
}
