//! Concurrency limiters: permits that the caller gives back.

mod hold_times;
mod keyed;
mod keyed_options;
mod keyed_permit;
mod keyed_shared;
mod keyed_waiting;
mod options;
mod permit;
mod shared;
mod waiting;
mod word;

use crate::rate::check_cost;
use crate::stats::{Count, Stats};
use crate::wait;
use crate::{Error, Status, fork};
use hold_times::HoldTimes;
pub use keyed::KeyedConcurrencyLimiter;
pub use keyed_options::KeyedConcurrencyOptions;
pub use keyed_permit::{KeyedPermit, OwnedKeyedPermit, RawKeyedPermit};
pub use keyed_waiting::AcquireKeyedPermit;
pub use options::ConcurrencyOptions;
pub use permit::{OwnedPermit, Permit, RawPermit};
use shared::Shared;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
pub use waiting::AcquirePermit;
use word::{MAX_LIMIT, Word};

/// Lends at most `limit` permits at once.
///
/// Every call may come from any thread at once, and a permit may be released on any thread.
///
/// ```
/// use tidegate::ConcurrencyLimiter;
///
/// let limiter = ConcurrencyLimiter::new(2)?;
/// let first = limiter.try_acquire().unwrap();
/// let second = limiter.try_acquire().unwrap();
/// assert!(limiter.try_acquire().is_none());
/// first.release(true);
/// drop(second);
/// assert_eq!(limiter.available(), 2);
/// # Ok::<(), tidegate::Error>(())
/// ```
pub struct ConcurrencyLimiter {
    shared: Arc<Shared>,
}

impl ConcurrencyLimiter {
    /// A limiter that lends `limit` permits; a limit of 0 refuses all.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1.
    pub fn new(limit: u64) -> Result<Self, Error> {
        ConcurrencyOptions::new().build(limit)
    }

    /// Takes one permit if it can be had now. Not while anybody waits.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.take(1).ok().map(|raw| Permit::new(&self.shared, raw))
    }

    /// Takes `permits` permits if all can be had now.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_n(&self, permits: u64) -> Result<Option<Permit<'_>>, Error> {
        check_cost("permits", permits)?;
        Ok(self.take(permits).ok().map(|raw| Permit::new(&self.shared, raw)))
    }

    /// [`try_acquire_n`](Self::try_acquire_n) for a permit that keeps the limiter alive.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    pub fn try_acquire_owned(self: &Arc<Self>, permits: u64) -> Result<Option<OwnedPermit>, Error> {
        check_cost("permits", permits)?;
        Ok(self.take(permits).ok().map(|raw| OwnedPermit::new(Arc::clone(self), raw)))
    }

    /// Takes `permits` permits as plain data, or tells why not: [`Status::Denied`], [`Status::ExceedsCapacity`] or
    /// [`Status::Closed`].
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline(always)]
    pub fn try_acquire_raw(&self, permits: u64) -> Result<Result<RawPermit, Status>, Error> {
        check_cost("permits", permits)?;
        // As in `acquire_n`, apart and inlined.
        match self.take_free(permits) {
            Some(permit) => Ok(Ok(permit)),
            None => Ok(Err(self.shared.refused(permits))),
        }
    }

    /// The first step of an acquire, for who must prepare to wait: takes `permits` permits as plain data if nobody waits and they are there; if not,
    /// that isn't counted as a refusal.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn take_if_free(&self, permits: u64) -> Result<Option<RawPermit>, Error> {
        check_cost("permits", permits)?;
        Ok(self.take_free(permits))
    }

    #[inline]
    fn take(&self, permits: u64) -> Result<RawPermit, Status> {
        self.take_free(permits).ok_or_else(|| self.shared.refused(permits))
    }

    /// Takes `permits` if nobody waits and they are there.
    #[inline]
    fn take_free(&self, permits: u64) -> Option<RawPermit> {
        let permit = self.shared.take_free(permits)?;
        self.shared.counters.increment(Count::Allowed);
        Some(permit)
    }

    /// Gives permits back; `ok` tells the statistics whether the work went well. Who calls sees to it that each permit is
    /// given back once. Who waits for them has them before this returns.
    ///
    /// # Errors
    ///
    /// If the permit is another limiter's, is spent (0 permits), or more would come back than are out. If it was taken before a fork,
    /// in the parent ([`Status::Forked`]). Nothing changes then.
    #[inline]
    pub fn release(&self, permit: &RawPermit, ok: bool) -> Result<(), Error> {
        if permit.limiter_id != self.shared.id || permit.permits == 0 {
            return Err(wrong_permit(permit));
        }
        if permit.process != fork::count() {
            return Err(inherited_permit(permit));
        }
        let returned = self.shared.give_back(permit.permits, permit.acquired_at_ns, ok);
        if returned { Ok(()) } else { Err(wrong_permit(permit)) }
    }

    /// Changes the limit while in use; never blocks. Permits that are out stay out: after lowering, none is lent until enough
    /// came back.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1.
    pub fn set_limit(&self, limit: u64) -> Result<(), Error> {
        check_limit(limit)?;
        self.shared.word();
        wait::settle_changed(&*self.shared, || self.shared.update(|word| word.with_limit(limit)));
        Ok(())
    }

    /// Lends nothing any more: who waits and who comes is refused as [`Status::Closed`]. Permits that are out can be given
    /// back. For ever.
    pub fn close(&self) {
        self.shared.word();
        wait::close(&*self.shared, || self.shared.update(Word::closed));
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.word().is_closed()
    }

    /// How many permits may be out at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.shared.word().limit()
    }

    /// How many permits are out.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.shared.word().in_flight()
    }

    /// How many permits could be taken now; 0 while anybody waits, or more are out than a lowered limit, or it is closed.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.shared.word().available()
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.shared.word();
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

    /// Whether hold times are measured.
    #[must_use]
    pub fn tracks_hold_time(&self) -> bool {
        self.shared.hold_times.is_some()
    }

    /// What was allowed, denied and released since the limiter was built, and what is out now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let word = self.shared.word();
        let total = |count| self.shared.counters.total(count);
        let longest_hold_ns = self.shared.hold_times.as_ref().map_or(0, HoldTimes::longest_ns);
        Stats {
            allowed: total(Count::Allowed),
            denied: total(Count::Denied),
            timed_out: total(Count::TimedOut),
            cancelled: total(Count::Cancelled),
            waiting: self.waiting(),
            limit: word.limit(),
            in_flight: word.in_flight(),
            available: word.available(),
            released_ok: total(Count::ReleasedOk),
            released_failed: total(Count::ReleasedFailed),
            hold_time_total: Duration::from_nanos(total(Count::HoldTimeNs)),
            hold_time_max: Duration::from_nanos(longest_hold_ns),
            ..Stats::default()
        }
    }

    /// The number that this limiter's permits bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }
}

impl fmt::Debug for ConcurrencyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.shared.word();
        write!(f, "ConcurrencyLimiter({} of {} out)", word.in_flight(), word.limit())
    }
}

fn check_limit(limit: u64) -> Result<(), Error> {
    if limit <= MAX_LIMIT { Ok(()) } else { Err(Error::option("limit", limit, format_args!("0 to {MAX_LIMIT}"))) }
}

#[cold]
fn wrong_permit(permit: &RawPermit) -> Error {
    Error::new(
        Status::InvalidPermit,
        "permit",
        format_args!("{} permits of limiter {}", permit.permits, permit.limiter_id),
        "a permit of this limiter that is still held",
    )
}

#[cold]
fn inherited_permit(permit: &RawPermit) -> Error {
    Error::new(
        Status::Forked,
        "permit",
        format_args!("{} permits taken before the fork", permit.permits),
        "a permit that this process took; the parent's are the parent's to release",
    )
}
