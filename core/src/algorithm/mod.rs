//! The algorithms: pure functions of a small state. Nothing here reads a clock or touches memory that others see.

pub(crate) mod fixed_window;
pub(crate) mod gcra;
pub(crate) mod sliding_log;
pub(crate) mod sliding_window;

/// How a state comes to be one under other settings: [`carry`](Algorithm::carry) or [`carry_moved`](Algorithm::carry_moved).
pub(crate) type Carry<A> = fn(&A, <A as Algorithm>::State, u64, &A) -> <A as Algorithm>::State;

/// An algorithm with its settings: how a state answers, and what it becomes.
///
/// `now` is nanoseconds on the limiter's clock. A `now` that is older than the state (a thread that was overtaken) counts as
/// the state's own time. `cost` is at least 1.
pub(crate) trait Algorithm: Copy {
    type State: Copy + PartialEq + std::fmt::Debug;

    /// The state of a limiter that was never used.
    const FRESH: Self::State;

    /// Tokens per period, as reported; 0 if nothing is ever admitted.
    fn limit(&self) -> u64;

    /// The most that one call may ask for; 0 if nothing is ever admitted.
    fn capacity(&self) -> u64;

    /// Whether a call asks for more than the capacity.
    #[inline]
    fn exceeds(&self, cost: u64) -> bool {
        cost > self.capacity()
    }

    /// As [`FRESH`](Self::FRESH), but no older than `now`: so that who comes with an older time counts as of this.
    fn fresh_at(&self, now: u64) -> Self::State;

    /// Whether [`moved_to`](Self::moved_to) must come first, since states would no longer fit.
    fn is_past_horizon(&self, now: u64) -> bool;

    /// The same settings, counting time from a later origin.
    fn moved_to(&self, now: u64) -> Self;

    /// The state after `cost` is charged, or `None` if it can't be admitted now or is beyond [`capacity`](Self::capacity). Only for a
    /// `now` that [isn't past the horizon](Self::is_past_horizon).
    fn charge(&self, state: Self::State, now: u64, cost: u64) -> Option<Self::State>;

    /// Whole tokens that are unspent.
    fn remaining(&self, state: Self::State, now: u64) -> u64;

    /// The least time after which `cost`, refused now, is admitted if nobody else asks.
    fn retry_after_ns(&self, state: Self::State, now: u64, cost: u64) -> u64;

    /// How long `cost` waits behind the costs `ahead`, whose sum is `total_ahead`, if all are charged as soon as they can be and
    /// nobody leaves. Those that can't ever be admitted are passed over.
    fn wait_ns(
        &self,
        mut state: Self::State,
        now: u64,
        ahead: impl Iterator<Item = u64>,
        _total_ahead: u64,
        cost: u64,
    ) -> u64 {
        let mut at = now;
        for cost in ahead.chain(std::iter::once(cost)) {
            if self.exceeds(cost) {
                continue;
            }
            if self.charge(state, at, cost).is_none() {
                at = at.saturating_add(self.retry_after_ns(state, at, cost));
            }
            state = self.charge(state, at, cost).unwrap_or(state);
        }
        at - now
    }

    /// The least time after which nothing counts any more.
    fn reset_after_ns(&self, state: Self::State, now: u64) -> u64;

    /// The time that a charge counts from, given the state that it led to.
    fn granted_at_ns(&self, _charged: Self::State, now: u64) -> u64 {
        now
    }

    /// The state after a charge of `cost` at `granted_at` is given back as far as the bound allows.
    fn refund(&self, state: Self::State, now: u64, cost: u64, granted_at: u64) -> Self::State;

    /// The state under other settings that keeps what is used, at most their capacity.
    fn carry(&self, state: Self::State, now: u64, to: &Self) -> Self::State;

    /// The state under settings that [moved](Self::moved_to): the same, also where reservations owe more than the capacity.
    fn carry_moved(&self, state: Self::State, now: u64, to: &Self) -> Self::State {
        self.carry(state, now, to)
    }
}
