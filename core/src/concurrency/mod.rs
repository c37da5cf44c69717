//! Concurrency limiters: permits that the caller gives back.

mod hold_times;
mod keyed;
mod keyed_permit;
mod permit;
mod word;

use crate::clock::Clock;
use crate::rate::check_cost;
use crate::stats::{Count, Counters, Stats};
use crate::sync::{AtomicU64, Padded, back_off};
use crate::{Error, Status};
pub use keyed::{KeyedConcurrencyLimiter, KeyedConcurrencyOptions};
pub use keyed_permit::{KeyedPermit, OwnedKeyedPermit, RawKeyedPermit};
pub use permit::{OwnedPermit, Permit, RawPermit};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as PlainAtomicU64, Ordering};
use std::time::Duration;
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
    word: Padded<AtomicU64>,
    counters: Counters,
    id: u64,
    hold_times: Option<HoldTimes>,
}

struct HoldTimes {
    clock: Clock,
    max_ns: PlainAtomicU64,
}

/// What a concurrency limiter may be built with, beside its limit.
#[derive(Clone, Debug, Default)]
pub struct ConcurrencyOptions {
    track_hold_time: bool,
    clock: Option<Clock>,
}

impl ConcurrencyOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Measures how long permits are held: two clock readings for each.
    #[must_use]
    pub fn track_hold_time(mut self, track: bool) -> Self {
        self.track_hold_time = track;
        self
    }

    /// The clock that hold times are measured on; the monotonic one by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = Some(clock.into());
        self
    }

    /// A limiter that lends `limit` permits.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1.
    pub fn build(self, limit: u64) -> Result<ConcurrencyLimiter, Error> {
        static NEXT_ID: PlainAtomicU64 = PlainAtomicU64::new(1);
        check_limit(limit)?;
        let hold_times = self
            .track_hold_time
            .then(|| HoldTimes { clock: self.clock.unwrap_or_default(), max_ns: PlainAtomicU64::new(0) });
        Ok(ConcurrencyLimiter {
            word: Padded(AtomicU64::new(Word::new(limit).0)),
            counters: Counters::new(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            hold_times,
        })
    }
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

    /// Takes one permit if it can be had now.
    #[inline]
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.take(1).ok().map(|acquired_at_ns| Permit::new(self, 1, acquired_at_ns))
    }

    /// Takes `permits` permits if all can be had now.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_n(&self, permits: u64) -> Result<Option<Permit<'_>>, Error> {
        check_cost("permits", permits)?;
        Ok(self.take(permits).ok().map(|acquired_at_ns| Permit::new(self, permits, acquired_at_ns)))
    }

    /// [`try_acquire_n`](Self::try_acquire_n) for a permit that keeps the limiter alive.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    pub fn try_acquire_owned(self: &Arc<Self>, permits: u64) -> Result<Option<OwnedPermit>, Error> {
        check_cost("permits", permits)?;
        Ok(self.take(permits).ok().map(|acquired_at_ns| OwnedPermit::new(Arc::clone(self), permits, acquired_at_ns)))
    }

    /// Takes `permits` permits as plain data, or tells why not: [`Status::Denied`] or [`Status::ExceedsCapacity`].
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_raw(&self, permits: u64) -> Result<Result<RawPermit, Status>, Error> {
        check_cost("permits", permits)?;
        let raw = |acquired_at_ns| RawPermit { limiter_id: self.id, permits, acquired_at_ns };
        Ok(self.take(permits).map(raw))
    }

    /// Takes `permits`; returns when, if hold times are tracked.
    #[inline]
    fn take(&self, permits: u64) -> Result<u64, Status> {
        let mut word = self.word();
        loop {
            if permits > word.available() {
                return Err(self.refused(permits, word));
            }
            // Acquire: what was done under the permit before its release is seen by who takes it next.
            let next = word.taken(permits).0;
            match self.word.0.compare_exchange_weak(word.0, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(_) => {
                    back_off();
                    word = self.word();
                }
            }
        }
        self.counters.increment(Count::Allowed);
        Ok(self.hold_times.as_ref().map_or(0, |hold_times| hold_times.clock.now_ns()))
    }

    fn refused(&self, permits: u64, word: Word) -> Status {
        self.counters.increment(Count::Denied);
        if permits > word.limit() && word.limit() > 0 { Status::ExceedsCapacity } else { Status::Denied }
    }

    /// Gives permits back; `ok` tells the statistics whether the work went well. Who calls sees to it that each permit is
    /// given back once.
    ///
    /// # Errors
    ///
    /// If the permit is another limiter's, is spent (0 permits), or more would come back than are out. Nothing changes then.
    #[inline]
    pub fn release(&self, permit: &RawPermit, ok: bool) -> Result<(), Error> {
        if permit.limiter_id != self.id || permit.permits == 0 {
            return Err(wrong_permit(permit));
        }
        if !self.put_back(permit.permits) {
            return Err(wrong_permit(permit));
        }
        self.returned(permit.acquired_at_ns, ok);
        Ok(())
    }

    /// Whether so many were out.
    #[inline]
    fn put_back(&self, permits: u64) -> bool {
        let mut word = self.word();
        loop {
            let Some(next) = word.returned(permits) else { return false };
            // Release: pairs with the acquire in `take`.
            match self.word.0.compare_exchange_weak(word.0, next.0, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(_) => {
                    back_off();
                    word = self.word();
                }
            }
        }
    }

    /// Gives back what a [`Permit`] or [`OwnedPermit`] holds. It is out, unless a copy of a raw permit was released in its place.
    #[inline]
    fn give_back(&self, permits: u64, acquired_at_ns: u64, ok: bool) {
        if self.put_back(permits) {
            self.returned(acquired_at_ns, ok);
        }
    }

    #[inline]
    fn returned(&self, acquired_at_ns: u64, ok: bool) {
        self.counters.increment(if ok { Count::ReleasedOk } else { Count::ReleasedFailed });
        if let Some(hold_times) = &self.hold_times {
            self.record_hold_time(hold_times, acquired_at_ns);
        }
    }

    fn record_hold_time(&self, hold_times: &HoldTimes, acquired_at_ns: u64) {
        let held_ns = hold_times.clock.now_ns().saturating_sub(acquired_at_ns);
        self.counters.add(Count::HoldTimeNs, held_ns);
        hold_times.max_ns.fetch_max(held_ns, Ordering::Relaxed);
    }

    /// Changes the limit while in use; never blocks. Permits that are out stay out: after lowering, none is lent until enough
    /// came back.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1.
    pub fn set_limit(&self, limit: u64) -> Result<(), Error> {
        check_limit(limit)?;
        let mut word = Word(self.word.0.load(Ordering::Relaxed));
        // Relaxed: a limit orders nothing.
        while let Err(there) =
            self.word.0.compare_exchange_weak(word.0, word.with_limit(limit).0, Ordering::Relaxed, Ordering::Relaxed)
        {
            word = Word(there);
        }
        Ok(())
    }

    /// How many permits may be out at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.word().limit()
    }

    /// How many permits are out.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.word().in_flight()
    }

    /// How many permits could be taken now; 0 while more are out than a lowered limit.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.word().available()
    }

    /// Whether hold times are measured.
    #[must_use]
    pub fn tracks_hold_time(&self) -> bool {
        self.hold_times.is_some()
    }

    /// What was allowed, denied and released since the limiter was built, and what is out now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let word = self.word();
        let max_ns = self.hold_times.as_ref().map_or(0, |times| times.max_ns.load(Ordering::Relaxed));
        Stats {
            allowed: self.counters.total(Count::Allowed),
            denied: self.counters.total(Count::Denied),
            limit: word.limit(),
            in_flight: word.in_flight(),
            available: word.available(),
            released_ok: self.counters.total(Count::ReleasedOk),
            released_failed: self.counters.total(Count::ReleasedFailed),
            hold_time_total: Duration::from_nanos(self.counters.total(Count::HoldTimeNs)),
            hold_time_max: Duration::from_nanos(max_ns),
            ..Stats::default()
        }
    }

    /// The number that this limiter's permits bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Relaxed: the exchange that follows orders what needs order, and a number that is reported orders nothing.
    #[inline]
    fn word(&self) -> Word {
        Word(self.word.0.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for ConcurrencyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word();
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
