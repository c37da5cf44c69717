//! The generic cell rate algorithm (ITU-T I.371, annex A; the leaky bucket as a meter, a token bucket).
//!
//! The state is the *theoretical arrival time* (TAT): when the bucket will be full again. A token is worth T = P/L. Time is
//! counted in ticks of which a token is a whole number, so that no rounding adds up however long a limiter runs.

use super::Algorithm;
use crate::Error;
use crate::quota::{MAX_PERIOD_NS, Quota, YEAR_NS};

/// Bits of a TAT in ticks.
pub(crate) const TAT_BITS: u32 = 59;
/// Ticks are counted for at most this long before their origin moves. At least a period.
const HORIZON_NS: u64 = MAX_PERIOD_NS;
/// The longest that a bucket may take to fill: so a tick is at most 1 ns.
const MAX_FILL_NS: u64 = 8 * YEAR_NS;
/// ticks = (nanoseconds · multiplier) ≫ SHIFT. A tick is 0.1 to 1 ns, so the multiplier has 60 to 64 bits.
const SHIFT: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gcra {
    pub(crate) origin_ns: u64,
    pub(crate) multiplier: u64,
    /// T in ticks.
    pub(crate) token_ticks: u64,
    /// B·T in ticks; 0 if the limit is 0.
    pub(crate) full_ticks: u64,
    pub(crate) limit: u64,
    /// The origin moves by this: the whole periods that fit into half the horizon, or into all of it, and so a whole number of
    /// ticks.
    pub(crate) segment_ns: u64,
}

impl Gcra {
    /// The quota in ticks counted from `now`.
    ///
    /// The finest tick is (2 years + 2·B·T) / 2⁵⁹. Where whole nanoseconds can be whole ticks, they are: then no instant is
    /// rounded at all.
    pub(crate) fn new(quota: &Quota, now: u64) -> Result<Self, Error> {
        let (limit, burst) = (quota.limit(), quota.burst());
        let period_ns = quota.period_ns();
        // Half of the horizon stays for reservations, unless a period needs it.
        let span_ns = if period_ns <= HORIZON_NS / 2 { HORIZON_NS / 2 } else { HORIZON_NS };
        let segment_ns = span_ns - span_ns % period_ns;
        if limit == 0 {
            return Ok(Self {
                origin_ns: now,
                multiplier: 1 << SHIFT,
                token_ticks: 1,
                full_ticks: 0,
                limit,
                segment_ns,
            });
        }
        let (limit_wide, burst_wide, period) = (u128::from(limit), u128::from(burst), u128::from(period_ns));
        // T = period / limit, so each length is multiplied by limit to stay whole.
        let full_ns_by_limit = burst_wide * period;
        if full_ns_by_limit > limit_wide * u128::from(MAX_FILL_NS) {
            return Err(Error::option(
                "burst",
                format_args!("{burst}, which takes {} ns to fill", full_ns_by_limit / limit_wide),
                format_args!("a burst that fills in {MAX_FILL_NS} ns (8 years)"),
            ));
        }
        let span_by_limit = limit_wide * u128::from(HORIZON_NS) + 2 * full_ns_by_limit;
        let finest = (period << TAT_BITS) / span_by_limit;
        if finest == 0 {
            return Err(Error::option(
                "limit",
                format_args!("{limit} per {period} ns"),
                "with gcra at most about 9 tokens a nanosecond",
            ));
        }
        let whole = period / gcd(period, limit_wide);
        let token_ticks = if finest >= whole { finest / whole * whole } else { finest };
        // Rounded up: an instant that is a whole number of ticks must not land one below.
        let multiplier = ((token_ticks * limit_wide) << SHIFT).div_ceil(period);
        Ok(Self {
            origin_ns: now,
            multiplier: narrow(multiplier),
            token_ticks: narrow(token_ticks),
            full_ticks: narrow(token_ticks * burst_wide),
            limit,
            segment_ns,
        })
    }

    #[inline]
    fn ticks(&self, now: u64) -> u64 {
        self.ticks_of(now.saturating_sub(self.origin_ns))
    }

    #[inline]
    fn ticks_of(&self, elapsed_ns: u64) -> u64 {
        // What is cut off is beyond every horizon.
        self.ticks_within(elapsed_ns.min(u64::MAX >> (64 - SHIFT)))
    }

    /// Of what is known to be within the horizon: not to compare is 0.8 ns of a decision (measured).
    #[inline]
    fn ticks_within(&self, elapsed_ns: u64) -> u64 {
        // Shifted before, so that the upper half of the product is the result (one step, where to shift two halves takes many).
        ((u128::from(elapsed_ns << (64 - SHIFT)) * u128::from(self.multiplier)) >> 64) as u64
    }

    /// What the bucket lacks to be full.
    pub(crate) fn owed_ticks(&self, tat: u64, now: u64) -> u64 {
        tat.saturating_sub(self.ticks(now))
    }

    /// The state after `cost` is charged ahead of time, and how long until it is due; `None` if that is longer than
    /// `max_wait_ns`, or longer than a state can say, or the cost is beyond the capacity.
    pub(crate) fn reserve(&self, tat: u64, now: u64, cost: u64, max_wait_ns: u64) -> Option<(u64, u64)> {
        let charge = cost.checked_mul(self.token_ticks).filter(|charge| *charge <= self.full_ticks)?;
        let charged = tat.max(self.ticks(now)).checked_add(charge).filter(|charged| *charged < 1 << TAT_BITS)?;
        let wait_ns = self.ns_until(charged.saturating_sub(self.full_ticks), now);
        (wait_ns <= max_wait_ns).then_some((charged, wait_ns))
    }

    fn segment_ticks(&self) -> u64 {
        self.ticks_of(self.segment_ns)
    }

    /// The least time from `now` until the clock shows `ticks`, also when the origin moves meanwhile.
    fn ns_until(&self, ticks: u64, now: u64) -> u64 {
        let segment_ticks = self.segment_ticks();
        // Nearly always within the first, which needs no division.
        let (segments, ticks) =
            if ticks < segment_ticks { (0, ticks) } else { (ticks / segment_ticks, ticks % segment_ticks) };
        let at = narrow((u128::from(ticks) << SHIFT).div_ceil(u128::from(self.multiplier)));
        let at = segments.saturating_mul(self.segment_ns).saturating_add(at);
        at.saturating_sub(now.saturating_sub(self.origin_ns))
    }
}

impl Algorithm for Gcra {
    /// TAT in ticks.
    type State = u64;

    const FRESH: u64 = 0;

    #[inline]
    fn limit(&self) -> u64 {
        self.limit
    }

    #[inline]
    fn capacity(&self) -> u64 {
        self.full_ticks / self.token_ticks
    }

    /// Without the division, which every refusal would wait for.
    #[inline]
    fn exceeds(&self, cost: u64) -> bool {
        cost.checked_mul(self.token_ticks).is_none_or(|charge| charge > self.full_ticks)
    }

    fn fresh_at(&self, now: u64) -> u64 {
        self.ticks(now)
    }

    #[inline]
    fn is_past_horizon(&self, now: u64) -> bool {
        now.saturating_sub(self.origin_ns) >= self.segment_ns
    }

    /// By whole segments, so that nothing is rounded.
    fn moved_to(&self, now: u64) -> Self {
        Self { origin_ns: now - (now - self.origin_ns) % self.segment_ns, ..*self }
    }

    #[inline]
    fn charge(&self, tat: u64, now: u64, cost: u64) -> Option<u64> {
        let elapsed_ns = now.saturating_sub(self.origin_ns);
        debug_assert!(elapsed_ns >> SHIFT == 0, "past the horizon");
        let now = self.ticks_within(elapsed_ns);
        let charge = cost.checked_mul(self.token_ticks)?;
        let room = self.full_ticks.checked_sub(charge)?;
        let owed = tat.saturating_sub(now);
        (owed <= room).then(|| now + owed + charge)
    }

    fn remaining(&self, tat: u64, now: u64) -> u64 {
        let owed = tat.saturating_sub(self.ticks(now));
        self.full_ticks.saturating_sub(owed) / self.token_ticks
    }

    fn retry_after_ns(&self, tat: u64, now: u64, cost: u64) -> u64 {
        let charged = tat.max(self.ticks(now)) + cost * self.token_ticks;
        self.ns_until(charged.saturating_sub(self.full_ticks), now)
    }

    /// What is charged one by one, each when it is due, adds up: the bucket is never full meanwhile.
    fn wait_ns(&self, tat: u64, now: u64, _ahead: impl Iterator<Item = u64>, total_ahead: u64, cost: u64) -> u64 {
        let cost = total_ahead.saturating_add(cost).saturating_mul(self.token_ticks);
        let charged = tat.max(self.ticks(now)).saturating_add(cost);
        self.ns_until(charged.saturating_sub(self.full_ticks), now)
    }

    fn reset_after_ns(&self, tat: u64, now: u64) -> u64 {
        self.ns_until(tat, now)
    }

    /// What leaked since the grant is gone, and while the bucket owes more than it holds (reservations) nothing is given.
    fn refund(&self, tat: u64, now: u64, cost: u64, granted_at: u64) -> u64 {
        let leaked = self.ticks_of(now.saturating_sub(granted_at));
        let owed = tat.saturating_sub(self.ticks(now));
        if owed > self.full_ticks {
            return tat;
        }
        let charged = cost.saturating_mul(self.token_ticks);
        tat - charged.saturating_sub(leaked).min(owed)
    }

    fn carry(&self, tat: u64, now: u64, to: &Self) -> u64 {
        let owed = u128::from(tat.saturating_sub(self.ticks(now)));
        let owed = (owed * u128::from(to.token_ticks)).div_ceil(u128::from(self.token_ticks));
        to.ticks(now) + narrow(owed.min(u128::from(to.full_ticks)))
    }

    fn carry_moved(&self, tat: u64, _now: u64, to: &Self) -> u64 {
        let segments = (to.origin_ns - self.origin_ns) / self.segment_ns;
        tat.saturating_sub(segments.saturating_mul(self.segment_ticks()))
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// For values that the bounds of a quota keep within 64 bits; saturates rather than wraps.
fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
