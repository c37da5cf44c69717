//! Concurrency limiters with permits for each key.

use super::KeyedConcurrencyOptions;
use super::hold_times::HoldTimes;
use super::keyed_permit::{KeyedPermit, OwnedKeyedPermit, RawKeyedPermit};
use super::keyed_shared::{KeyedShared, in_flight};
use crate::rate::check_cost;
use crate::stats::{Count, Stats};
use crate::{Error, Status, wait};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Lends at most `limit` permits of each key at once, in memory that doesn't grow.
///
/// Keys are as those of a [`KeyedRateLimiter`](crate::KeyedRateLimiter). A key with permits out keeps its place until they are
/// back; a new key that finds no place is refused as [`Status::KeysFull`].
///
/// Every call may come from any thread at once, and a permit may be released on any thread.
///
/// ```
/// use tidegate::KeyedConcurrencyLimiter;
///
/// let limiter = KeyedConcurrencyLimiter::new(1, 100_000)?;
/// let first = limiter.try_acquire("/report").unwrap();
/// assert!(limiter.try_acquire("/report").is_none());
/// assert!(limiter.try_acquire("/index").is_some());
/// first.release(true);
/// assert_eq!(limiter.in_flight("/report"), 0);
/// # Ok::<(), tidegate::Error>(())
/// ```
pub struct KeyedConcurrencyLimiter {
    pub(super) shared: Arc<KeyedShared>,
    max_keys: u64,
}

impl KeyedConcurrencyLimiter {
    pub(super) fn of(shared: Arc<KeyedShared>, max_keys: u64) -> Self {
        Self { shared, max_keys }
    }

    /// A limiter that lends `limit` permits of each key, with room for `max_keys` keys that have permits out; a limit of 0
    /// refuses all.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1, or max_keys not 1 … 2³².
    pub fn new(limit: u64, max_keys: u64) -> Result<Self, Error> {
        KeyedConcurrencyOptions::new().max_keys(max_keys).build(limit)
    }

    /// Takes one permit of a key if it can be had now.
    #[inline]
    pub fn try_acquire(&self, key: impl AsRef<[u8]>) -> Option<KeyedPermit<'_>> {
        self.take(key.as_ref(), 1).ok().map(|raw| KeyedPermit::new(self, raw))
    }

    /// Takes `permits` permits of a key if all can be had now.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_n(&self, key: impl AsRef<[u8]>, permits: u64) -> Result<Option<KeyedPermit<'_>>, Error> {
        Ok(self.try_acquire_raw(key, permits)?.ok().map(|raw| KeyedPermit::new(self, raw)))
    }

    /// [`try_acquire_n`](Self::try_acquire_n) for a permit that keeps the limiter alive.
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    pub fn try_acquire_owned(
        self: &Arc<Self>,
        key: impl AsRef<[u8]>,
        permits: u64,
    ) -> Result<Option<OwnedKeyedPermit>, Error> {
        Ok(self.try_acquire_raw(key, permits)?.ok().map(|raw| OwnedKeyedPermit::new(Arc::clone(self), raw)))
    }

    /// Takes `permits` permits of a key as plain data, or tells why not: [`Status::Denied`], [`Status::ExceedsCapacity`] or
    /// [`Status::KeysFull`].
    ///
    /// # Errors
    ///
    /// If permits is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_raw(
        &self,
        key: impl AsRef<[u8]>,
        permits: u64,
    ) -> Result<Result<RawKeyedPermit, Status>, Error> {
        check_cost("permits", permits)?;
        Ok(self.take(key.as_ref(), permits))
    }

    #[inline]
    fn take(&self, key: &[u8], permits: u64) -> Result<RawKeyedPermit, Status> {
        let taken = self.shared.take(self.shared.hash(key), permits, false);
        self.shared.counters.increment(if taken.is_ok() { Count::Allowed } else { Count::Denied });
        taken
    }

    /// Gives permits back; `ok` tells the statistics whether the work went well. Who calls sees to it that each permit is
    /// given back once.
    ///
    /// # Errors
    ///
    /// If the permit is another limiter's, is spent (0 permits), or more would come back than are out for its key. Nothing
    /// changes then.
    #[inline]
    pub fn release(&self, permit: &RawKeyedPermit, ok: bool) -> Result<(), Error> {
        let is_ours = permit.limiter_id == self.shared.id && permit.permits > 0;
        if is_ours && self.shared.give_back(permit, ok) { Ok(()) } else { Err(wrong_permit(permit)) }
    }

    /// Changes the limit of all keys while in use; never blocks. Permits that are out stay out. A call that is under way may
    /// still go by the limit before.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1.
    pub fn set_limit(&self, limit: u64) -> Result<(), Error> {
        self.shared.set_limit(limit)
    }

    /// Lends nothing any more, of any key: who waits and who comes is refused as [`Status::Closed`]. Permits that are out can be given
    /// back. For ever.
    pub fn close(&self) {
        self.shared.close();
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// How many permits of each key may be out at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.shared.limit()
    }

    /// How many permits of a key are out.
    #[must_use]
    pub fn in_flight(&self, key: impl AsRef<[u8]>) -> u64 {
        in_flight(self.shared.word(self.shared.hash(key.as_ref())))
    }

    /// How many permits of a key could be taken now, if there is room for it; 0 while anybody waits for it, or more are out than a
    /// lowered limit, or it is closed.
    #[must_use]
    pub fn available(&self, key: impl AsRef<[u8]>) -> u64 {
        self.shared.available_to_comers(self.shared.hash(key.as_ref()))
    }

    /// How many wait for a key.
    #[must_use]
    pub fn waiting(&self, key: impl AsRef<[u8]>) -> u64 {
        wait::len(&self.shared.of(self.shared.hash(key.as_ref())))
    }

    /// Changes how many may wait for each key; who waits already stays.
    ///
    /// # Errors
    ///
    /// If max_waiters is over 4,294,967,294. Nothing changes then.
    pub fn set_max_waiters(&self, max_waiters: u64) -> Result<(), Error> {
        self.shared.desk.set_max_waiters(max_waiters)
    }

    /// For how many keys with permits out there is room.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.max_keys
    }

    /// What was allowed, denied and released since the limiter was built, and how many permits of how many keys are out now,
    /// counted over the whole table. `limit` is that of one key.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let shared = &*self.shared;
        let (live_keys, in_flight) = shared.live_keys_and_in_flight();
        let total = |count| shared.counters.total(count);
        Stats {
            allowed: total(Count::Allowed),
            denied: total(Count::Denied),
            timed_out: total(Count::TimedOut),
            cancelled: total(Count::Cancelled),
            waiting: shared.waiting(),
            limit: self.limit(),
            in_flight,
            released_ok: total(Count::ReleasedOk),
            released_failed: total(Count::ReleasedFailed),
            hold_time_total: Duration::from_nanos(total(Count::HoldTimeNs)),
            hold_time_max: Duration::from_nanos(shared.hold_times.as_ref().map_or(0, HoldTimes::longest_ns)),
            live_keys,
            capacity: self.max_keys,
            ..Stats::default()
        }
    }

    /// Whether hold times are measured.
    #[must_use]
    pub fn tracks_hold_time(&self) -> bool {
        self.shared.hold_times.is_some()
    }

    /// The number that this limiter's permits bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }
}

impl fmt::Debug for KeyedConcurrencyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyedConcurrencyLimiter({} each, {} keys)", self.limit(), self.max_keys)
    }
}

#[cold]
fn wrong_permit(permit: &RawKeyedPermit) -> Error {
    Error::new(
        Status::InvalidPermit,
        "permit",
        format_args!("{} permits of limiter {}", permit.permits, permit.limiter_id),
        "a permit of this limiter that is still held",
    )
}
