//! Rate limiters: tokens that come back with time.

mod cell;
mod denied_keys;
mod joint;
mod keyed;
mod keyed_cell;
mod keyed_options;
mod keyed_reservation;
mod keyed_shared;
mod keyed_state;
mod keyed_states;
mod keyed_waiting;
mod log_cell;
mod options;
mod own_quotas;
#[cfg(all(test, not(loom)))]
mod races;
mod reservation;
mod settings;
mod shared;
mod slot;
mod state;
mod waiting;
mod word;

use crate::clock::Clock;
use crate::decision::{Decision, Grant};
use crate::quota::{IntoQuotas, Quota};
use crate::stats::{Count, Stats};
use crate::wait;
use crate::{Error, MAX_COST, Status};
pub use denied_keys::DeniedKey;
use joint::Joint;
pub use keyed::KeyedRateLimiter;
pub use keyed_options::KeyedRateOptions;
pub use keyed_waiting::AcquireKeyedTokens;
pub use options::RateOptions;
pub use reservation::Reservation;
use shared::Shared;
pub(crate) use state::fits;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
pub use waiting::AcquireTokens;

/// Decides whether work may go ahead, by one or several quotas that all must admit.
///
/// Every call may come from any thread at once. A decision is one atomic step for each quota; see
/// [`decide_n`](Self::decide_n) for what several quotas promise together.
///
/// ```
/// use tidegate::RateLimiter;
///
/// let limiter = RateLimiter::new("2/s; 100/h")?;
/// assert!(limiter.try_acquire());
/// assert_eq!(limiter.peek().remaining(), 1);
/// # Ok::<(), tidegate::Error>(())
/// ```
pub struct RateLimiter {
    shared: Arc<Shared>,
}

impl RateLimiter {
    /// A limiter on the monotonic clock, with nothing used. `quotas` is a [`Quota`], its text, or a list. [`RateOptions`] has
    /// more.
    ///
    /// # Errors
    ///
    /// Names the part of the quota that is wrong.
    pub fn new(quotas: impl IntoQuotas) -> Result<Self, Error> {
        RateOptions::new().build(quotas)
    }

    /// A limiter on a clock of the caller's.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_clock(quotas: impl IntoQuotas, clock: impl Into<Clock>) -> Result<Self, Error> {
        RateOptions::new().clock(clock).build(quotas)
    }

    /// Takes one token if it can be had now.
    #[inline]
    #[must_use = "work may go ahead only if this is true"]
    pub fn try_acquire(&self) -> bool {
        self.shared.try_status(1) == Status::Allowed
    }

    /// Takes `cost` tokens if all can be had now.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_n(&self, cost: u64) -> Result<bool, Error> {
        self.try_acquire_status(cost).map(|status| status == Status::Allowed)
    }

    /// [`try_acquire_n`](Self::try_acquire_n), telling [`Status::Denied`] and [`Status::ExceedsCapacity`] apart.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_status(&self, cost: u64) -> Result<Status, Error> {
        check_cost("cost", cost)?;
        Ok(self.shared.try_status(cost))
    }

    /// The first step of an acquire, for who must prepare to wait: takes `cost` tokens if nobody waits and they are there; if not,
    /// that isn't counted as a refusal.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn take_if_free(&self, cost: u64) -> Result<bool, Error> {
        check_cost("cost", cost)?;
        Ok(self.shared.take_free(cost))
    }

    /// Takes one token if it can be had now, and tells the figures.
    pub fn decide(&self) -> Decision {
        self.shared.decision(1, true)
    }

    /// Takes `cost` tokens if all can be had now, and tells the figures.
    ///
    /// With several quotas no bound is ever exceeded, and without a race a refusal charges nothing. In a race a call may be
    /// refused because of another's charge that is just being undone.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn decide_n(&self, cost: u64) -> Result<Decision, Error> {
        check_cost("cost", cost)?;
        Ok(self.shared.decision(cost, true))
    }

    /// [`decide_n`](Self::decide_n) of a cost that was checked, without a grant.
    #[cfg(feature = "gate")]
    pub(crate) fn charge(&self, cost: u64) -> Joint {
        self.shared.charge(cost)
    }

    /// What [`decide`](Self::decide) would answer now, spending nothing; `remaining` is what is unspent.
    pub fn peek(&self) -> Decision {
        self.shared.decision(1, false)
    }

    /// What [`decide_n`](Self::decide_n) would answer now, spending nothing; `remaining` is what is unspent.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn peek_n(&self, cost: u64) -> Result<Decision, Error> {
        check_cost("cost", cost)?;
        Ok(self.shared.decision(cost, false))
    }

    /// Gives back what a decision took, as far as no bound is broken: a window takes it back only while the same window
    /// lasts, gcra only what has not leaked since. Consumes the decision.
    ///
    /// # Errors
    ///
    /// If the decision granted nothing, was refunded before, or is another limiter's. Nothing changes then.
    pub fn refund(&self, decision: &Decision) -> Result<(), Error> {
        let grant = decision.take_grant(self.shared.id, 0)?;
        self.refund_grant(grant);
        Ok(())
    }

    /// [`refund`](Self::refund) for those who carry grants across a border and see themselves that each is used once, with the
    /// limiter of its [`limiter_id`](Grant::limiter_id).
    pub fn refund_grant(&self, grant: Grant) {
        self.shared.give_back_grant(&grant);
    }

    /// Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Changes limits, periods and bursts while in use, from the next call on. What is used stays used, at most the new
    /// burst. Decisions from before can no longer be refunded to any effect. Does nothing if nothing changed.
    ///
    /// # Errors
    ///
    /// If a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before. Nothing changes then.
    pub fn reconfigure(&self, quotas: impl IntoQuotas) -> Result<(), Error> {
        self.shared.reconfigure(quotas.into_quotas()?)
    }

    /// The quotas, in the order of the list.
    #[must_use]
    pub fn quotas(&self) -> Vec<Quota> {
        self.shared.quotas.lock().clone()
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        wait::len(&*self.shared)
    }

    /// Changes how many may wait; who waits already stays.
    ///
    /// # Errors
    ///
    /// If max_waiters is over 4,294,967,294. Nothing changes then.
    pub fn set_max_waiters(&self, max_waiters: u64) -> Result<(), Error> {
        self.shared.desk.set_max_waiters(max_waiters)
    }

    /// What was allowed and denied since the limiter was built, and how many wait.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let total = |count| self.shared.counters.total(count);
        Stats {
            allowed: total(Count::Allowed),
            denied: total(Count::Denied),
            timed_out: total(Count::TimedOut),
            cancelled: total(Count::Cancelled),
            waiting: self.waiting(),
            ..Stats::default()
        }
    }

    /// The number that this limiter's decisions bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateLimiter({})", text_of(&self.quotas()))
    }
}

fn text_of(quotas: &[Quota]) -> String {
    quotas.iter().map(Quota::to_string).collect::<Vec<_>>().join("; ")
}

/// A number that no other rate limiter of the process has.
fn next_id() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Whether a limiter of quotas `old` can be changed to `new`.
fn check_same_kinds(old: &[Quota], new: &[Quota]) -> Result<(), Error> {
    let same_kind = |(old, new): (&Quota, &Quota)| old.algorithm() == new.algorithm() && old.anchor() == new.anchor();
    if new.len() == old.len() && old.iter().zip(new).all(same_kind) {
        return Ok(());
    }
    Err(Error::new(
        Status::InvalidOption,
        "quota",
        text_of(new),
        format_args!("as many quotas, with the same algorithms and anchors, as {}", text_of(old)),
    ))
}

#[inline]
pub(crate) fn check_cost(argument: &'static str, cost: u64) -> Result<(), Error> {
    #[cfg(feature = "test-panic")]
    assert_ne!(cost, 666_666_666, "a panic that was asked for");
    if cost.wrapping_sub(1) < MAX_COST { Ok(()) } else { Err(Error::cost(argument, cost)) }
}
