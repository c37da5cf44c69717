//! Rate limiters: tokens that come back with time.

mod cell;
mod denied_keys;
mod keyed;
mod keyed_cell;
mod keyed_options;
mod keyed_state;
mod keyed_states;
mod log_cell;
mod own_quotas;
mod settings;
mod slot;
mod state;
mod word;

use crate::clock::Clock;
use crate::decision::{Decision, Grant};
use crate::quota::{IntoQuotas, MAX_QUOTAS, Quota};
use crate::stats::{Count, Counters, Stats};
use crate::sync::{Mutex, lock};
use crate::{Error, MAX_COST, Status};
use cell::OVERTAKEN_NS;
pub use denied_keys::DeniedKey;
pub use keyed::KeyedRateLimiter;
pub use keyed_options::KeyedRateOptions;
pub(crate) use state::fits;
use state::{Judgement, State, Undo};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
    states: States,
    clock: Clock,
    counters: Counters,
    id: u64,
    /// Counts what voids grants: resets and changes of the quotas.
    reset_count: AtomicU64,
    quotas: Mutex<Vec<Quota>>,
}

/// One quota, which needs no list, is the hot path.
#[expect(clippy::large_enum_variant, reason = "the state of the hot path is not to be behind a pointer")]
enum States {
    One(State),
    Several(Box<[State]>),
}

impl RateLimiter {
    /// A limiter on the monotonic clock, with nothing used. `quotas` is a [`Quota`], its text, or a list.
    ///
    /// # Errors
    ///
    /// Names the part of the quota that is wrong.
    pub fn new(quotas: impl IntoQuotas) -> Result<Self, Error> {
        Self::with_clock(quotas, Clock::monotonic())
    }

    /// A limiter on a clock of the caller's.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_clock(quotas: impl IntoQuotas, clock: impl Into<Clock>) -> Result<Self, Error> {
        let (quotas, clock) = (quotas.into_quotas()?, clock.into());
        let state = |quota| State::new(quota, &clock);
        let states = match quotas.as_slice() {
            [quota] => States::One(state(quota)?),
            several => States::Several(several.iter().map(state).collect::<Result<_, _>>()?),
        };
        Ok(Self {
            states,
            clock,
            counters: Counters::new(),
            id: next_id(),
            reset_count: AtomicU64::new(0),
            quotas: Mutex::new(quotas),
        })
    }

    /// Takes one token if it can be had now.
    #[inline]
    #[must_use = "work may go ahead only if this is true"]
    pub fn try_acquire(&self) -> bool {
        self.try_status(1) == Status::Allowed
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
        Ok(self.try_status(cost))
    }

    // Into the caller: call, frame and return would be a tenth of the instructions.
    #[inline(always)]
    fn try_status(&self, cost: u64) -> Status {
        let status = match &self.states {
            States::One(State::Gcra(cell)) => cell.try_charge(&self.clock, cost),
            _ => self.try_other(cost),
        };
        self.count(status);
        status
    }

    /// Apart from gcra's path, which is to be short.
    #[inline(never)]
    fn try_other(&self, cost: u64) -> Status {
        match &self.states {
            States::One(state) => state.try_charge(&self.clock, cost),
            States::Several(_) => self.ask(cost, true).named.status,
        }
    }

    /// Takes one token if it can be had now, and tells the figures.
    pub fn decide(&self) -> Decision {
        self.decision(1, true)
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
        Ok(self.decision(cost, true))
    }

    /// What [`decide`](Self::decide) would answer now, spending nothing; `remaining` is what is unspent.
    pub fn peek(&self) -> Decision {
        self.decision(1, false)
    }

    /// What [`decide_n`](Self::decide_n) would answer now, spending nothing; `remaining` is what is unspent.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn peek_n(&self, cost: u64) -> Result<Decision, Error> {
        check_cost("cost", cost)?;
        Ok(self.decision(cost, false))
    }

    fn decision(&self, cost: u64, spend: bool) -> Decision {
        // Before the charge: a reset in between leaves an older count here, and the refund then does nothing.
        let reset_count = self.reset_count.load(Ordering::Acquire);
        let joint = self.ask(cost, spend);
        if spend {
            self.count(joint.named.status);
        }
        joint.decision(spend, Grant { limiter_id: self.id, cost, granted_at_ns: 0, reset_count, key_hash: 0 })
    }

    fn ask(&self, cost: u64, spend: bool) -> Joint {
        let ask = || {
            let now = self.clock.now_ns();
            match (&self.states, spend) {
                (States::One(state), true) => state.charge(now, cost).0.into(),
                (States::One(state), false) => state.peek(now, cost).into(),
                (States::Several(states), true) => self.charge_all(states, now, cost),
                (States::Several(states), false) => peek_all(states, now, cost),
            }
        };
        let joint = ask();
        // Refused for so little that the clock may have been read before another's charge that it met: read it again.
        if joint.named.status == Status::Denied && joint.named.retry_after_ns <= OVERTAKEN_NS { ask() } else { joint }
    }

    /// Reads all; if any refuses, nothing is written. Else charges in list order; if one refuses by then, what was charged is
    /// taken back.
    fn charge_all(&self, states: &[State], now: u64, cost: u64) -> Joint {
        let reset_count = self.reset_count.load(Ordering::Acquire);
        let looked = peek_all(states, now, cost);
        if looked.named.status != Status::Allowed {
            return looked;
        }
        let mut joint: Option<Joint> = None;
        let mut charges = [None; MAX_QUOTAS];
        for (index, state) in states.iter().enumerate() {
            let (judged, undo) = state.charge(now, cost);
            if judged.status != Status::Allowed {
                self.take_back(&charges, cost, reset_count);
                return peek_all(states, now, cost).but_refused(index, judged);
            }
            charges[index] = Some((undo, judged.granted_at_ns));
            joint = Some(match joint {
                None => judged.into(),
                Some(joint) => joint.and(index, judged),
            });
        }
        joint.expect("a list of quotas is never empty")
    }

    /// After a reset or a change of quotas nothing is taken back, as nothing is refunded: it would be another's.
    #[cold]
    fn take_back(&self, charges: &[Option<(Undo, u64)>; MAX_QUOTAS], cost: u64, reset_count: u64) {
        let _unchanging = lock(&self.quotas);
        if reset_count != self.reset_count.load(Ordering::Acquire) {
            return;
        }
        for (state, charge) in self.states().iter().zip(charges) {
            let Some((undo, granted_at_ns)) = *charge else { break };
            state.undo(undo, &self.clock, cost, granted_at_ns);
        }
    }

    /// Gives back what a decision took, as far as no bound is broken: a window takes it back only while the same window
    /// lasts, gcra only what has not leaked since. Consumes the decision.
    ///
    /// # Errors
    ///
    /// If the decision granted nothing, was refunded before, or is another limiter's. Nothing changes then.
    pub fn refund(&self, decision: &Decision) -> Result<(), Error> {
        let grant = decision.take_grant(self.id, 0)?;
        self.refund_grant(grant);
        Ok(())
    }

    /// [`refund`](Self::refund) for those who carry grants across a border and see themselves that each is used once, with the
    /// limiter of its [`limiter_id`](Grant::limiter_id).
    pub fn refund_grant(&self, grant: Grant) {
        let _unchanging = lock(&self.quotas);
        if grant.reset_count != self.reset_count.load(Ordering::Acquire) {
            return;
        }
        for state in self.states() {
            state.refund(&self.clock, grant.cost, grant.granted_at_ns);
        }
    }

    /// Makes everything unspent again. Decisions from before can no longer be refunded to any effect.
    pub fn reset(&self) {
        let _unchanging = lock(&self.quotas);
        self.voiding_grants(|| self.states().iter().for_each(|state| state.reset(&self.clock)));
    }

    /// Makes a change after which no grant from before, or from meanwhile, can be refunded. Only under the lock `quotas`.
    fn voiding_grants(&self, change: impl FnOnce()) {
        // AcqRel, before and after: a call reads the count first and charges then, so one that reads the last count charges
        // what the change has left.
        self.reset_count.fetch_add(1, Ordering::AcqRel);
        change();
        self.reset_count.fetch_add(1, Ordering::AcqRel);
    }

    /// Changes limits, periods and bursts while in use, from the next call on. What is used stays used, at most the new
    /// burst. Decisions from before can no longer be refunded to any effect. Does nothing if nothing changed.
    ///
    /// # Errors
    ///
    /// If a quota is wrong, or the number of quotas, an algorithm or an anchor is not as before. Nothing changes then.
    pub fn reconfigure(&self, quotas: impl IntoQuotas) -> Result<(), Error> {
        let new = quotas.into_quotas()?;
        let mut quotas = lock(&self.quotas);
        check_same_kinds(&quotas, &new)?;
        if new != *quotas {
            self.voiding_grants(|| {
                for (state, (old, new)) in self.states().iter().zip(quotas.iter().zip(&new)) {
                    if old != new {
                        state.reconfigure(new, &self.clock);
                    }
                }
            });
            *quotas = new;
        }
        Ok(())
    }

    /// The quotas, in the order of the list.
    #[must_use]
    pub fn quotas(&self) -> Vec<Quota> {
        lock(&self.quotas).clone()
    }

    /// What was allowed and denied since the limiter was built.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            allowed: self.counters.total(Count::Allowed),
            denied: self.counters.total(Count::Denied),
            ..Stats::default()
        }
    }

    /// The number that this limiter's decisions bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    fn states(&self) -> &[State] {
        match &self.states {
            States::One(state) => std::slice::from_ref(state),
            States::Several(states) => states,
        }
    }

    #[inline]
    fn count(&self, status: Status) {
        self.counters.increment(if status == Status::Allowed { Count::Allowed } else { Count::Denied });
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

/// What several quotas say together, as far as they were asked.
struct Joint {
    quota: u32,
    named: Judgement,
}

impl From<Judgement> for Joint {
    #[inline]
    fn from(named: Judgement) -> Self {
        Self { quota: 0, named }
    }
}

impl Joint {
    /// The decision, with `grant` if it granted.
    fn decision(self, spend: bool, grant: Grant) -> Decision {
        let Self { quota, named } = self;
        let granted = spend && named.status == Status::Allowed;
        Decision {
            status: named.status,
            quota,
            limit: named.limit,
            remaining: named.remaining,
            retry_after_ns: named.retry_after_ns,
            reset_after_ns: named.reset_after_ns,
            grant: granted.then_some(Grant { granted_at_ns: named.granted_at_ns, ..grant }),
            refunded: AtomicBool::new(false),
        }
    }

    /// What is by now, but refused in any case.
    fn but_refused(self, quota: usize, refusal: Judgement) -> Self {
        if self.named.status != Status::Allowed {
            return self;
        }
        let Judgement { remaining, reset_after_ns, .. } = self.named;
        Self { quota: quota as u32, named: Judgement { remaining, reset_after_ns, ..refusal } }
    }

    /// Refused: named after the longest retry_after, and *exceeds capacity* before *denied*. Admitted: named after the least
    /// remaining. Ties: the first in the list.
    fn and(self, quota: usize, one: Judgement) -> Self {
        let rank = |judged: &Judgement| (judged.status != Status::Allowed, judged.retry_after_ns, judged.status as i32);
        let both_admit = self.named.status == Status::Allowed && one.status == Status::Allowed;
        let renamed = if both_admit { one.remaining < self.named.remaining } else { rank(&one) > rank(&self.named) };
        let named = if renamed { one } else { self.named };
        Self {
            quota: if renamed { quota as u32 } else { self.quota },
            named: Judgement {
                remaining: self.named.remaining.min(one.remaining),
                reset_after_ns: self.named.reset_after_ns.max(one.reset_after_ns),
                // The earliest: a refund then takes no more to be unleaked, and no window to be the same, than is.
                granted_at_ns: self.named.granted_at_ns.min(one.granted_at_ns),
                ..named
            },
        }
    }
}

fn peek_all(states: &[State], now: u64, cost: u64) -> Joint {
    let joint = states[0].peek(now, cost).into();
    states
        .iter()
        .enumerate()
        .skip(1)
        .fold(joint, |joint: Joint, (index, state)| joint.and(index, state.peek(now, cost)))
}
