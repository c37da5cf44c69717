//! Concurrency limiters with permits for each key.

use super::hold_times::HoldTimes;
use super::keyed_permit::{KeyedPermit, OwnedKeyedPermit, RawKeyedPermit};
use super::{MAX_LIMIT, check_limit};
use crate::clock::Clock;
use crate::rate::check_cost;
use crate::stats::{Count, Counters, Stats};
use crate::sync::{AtomicU64, back_off};
use crate::table::{EMPTY, Full, KeyHash, KeyHasher, PINNED, Place, Stripes, Table, Tenants, WhenFull};
use crate::{Error, Status};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as PlainAtomicU64, Ordering};
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
    table: Table,
    stripes: Stripes,
    hasher: KeyHasher,
    limit: AtomicU64,
    counters: Counters,
    id: u64,
    max_keys: u64,
    hold_times: Option<HoldTimes>,
}

/// What a keyed concurrency limiter may be built with, beside its limit.
#[derive(Clone, Debug)]
pub struct KeyedConcurrencyOptions {
    max_keys: u64,
    track_hold_time: bool,
    clock: Option<Clock>,
}

impl Default for KeyedConcurrencyOptions {
    fn default() -> Self {
        Self { max_keys: crate::DEFAULT_MAX_KEYS, track_hold_time: false, clock: None }
    }
}

impl KeyedConcurrencyOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// For how many keys with permits out there is to be room: 1 … 2³², 100,000 by default. Takes 40 bytes for each.
    #[must_use]
    pub fn max_keys(mut self, max_keys: u64) -> Self {
        self.max_keys = max_keys;
        self
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

    /// A limiter that lends `limit` permits of each key.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1, or max_keys not 1 … 2³².
    pub fn build(self, limit: u64) -> Result<KeyedConcurrencyLimiter, Error> {
        static NEXT_ID: PlainAtomicU64 = PlainAtomicU64::new(1);
        check_limit(limit)?;
        Ok(KeyedConcurrencyLimiter {
            table: Table::new(self.max_keys, TAG_BITS, WhenFull::DenyNew, None)?,
            stripes: Stripes::new(),
            hasher: KeyHasher::with_seed(KeyHasher::random_seed()),
            limit: AtomicU64::new(limit),
            counters: Counters::new(),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            max_keys: self.max_keys,
            hold_times: self.track_hold_time.then(|| HoldTimes::new(self.clock.unwrap_or_default())),
        })
    }
}

/// A slot: tag 56, unused 40, permits out 32.
const TAG_BITS: u32 = 56;
const IN_FLIGHT: u128 = u32::MAX as u128;

#[inline]
fn in_flight(word: u128) -> u64 {
    (word & IN_FLIGHT) as u64
}

/// Where a key with permits out is and stays, and the upper bits of its tag: so that a permit that was released before is mostly
/// told apart, should another key have got the slot.
fn slot_of(place: Place, word: u128) -> u64 {
    place.index() << NAME_BITS | (word >> (128 - NAME_BITS)) as u64
}

/// What is left of 64 bits beside the index of a slot: at most 2.5 · 2³² slots, rounded up to lines.
const NAME_BITS: u32 = 30;

/// A key is at rest with no permit out, and else stays.
struct Holders;

impl Tenants for Holders {
    fn share(&self, word: u128) -> u64 {
        if in_flight(word) == 0 { 0 } else { PINNED }
    }

    fn rest_at_ns(&self, _word: u128) -> u64 {
        u64::MAX
    }
}

impl KeyedConcurrencyLimiter {
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
        let hash = self.hasher.hash(key);
        let taken = loop {
            // Relaxed: a limit orders nothing.
            let limit = self.limit.load(Ordering::Relaxed);
            let found = self.table.find(hash, TAG_BITS);
            let out = found.map_or(0, |(_, word)| in_flight(word));
            if permits > limit.saturating_sub(out) {
                let exceeds = permits > limit && limit > 0;
                break Err(if exceeds { Status::ExceedsCapacity } else { Status::Denied });
            }
            match found {
                Some((place, word)) => {
                    if self.table.exchange(place, word, word + u128::from(permits)).is_ok() {
                        break Ok(slot_of(place, word));
                    }
                    back_off();
                }
                None => {
                    if let Some(entered) = self.enter(hash, permits) {
                        break entered.map_err(|Full { .. }| Status::KeysFull);
                    }
                }
            }
        };
        self.counters.increment(if taken.is_ok() { Count::Allowed } else { Count::Denied });
        taken.map(|slot| {
            let acquired_at_ns = self.hold_times.as_ref().map_or(0, HoldTimes::now_ns);
            RawKeyedPermit { limiter_id: self.id, key_hash: [slot, acquired_at_ns], permits }
        })
    }

    /// Brings a key in with permits out; `None` if it is there by now.
    #[cold]
    #[inline(never)]
    fn enter(&self, hash: KeyHash, permits: u64) -> Option<Result<u64, Full>> {
        let _lock = self.stripes.lock(hash);
        if self.table.find(hash, TAG_BITS).is_some() {
            return None;
        }
        let word = u128::from(hash.tag(TAG_BITS)) << (128 - TAG_BITS) | u128::from(permits);
        Some(self.table.put(hash, word, &Holders, &self.stripes).map(|place| slot_of(place, word)))
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
        if permit.limiter_id != self.id || permit.permits == 0 {
            return Err(wrong_permit(permit));
        }
        let [slot, acquired_at_ns] = permit.key_hash;
        let Some(place) = self.table.place(slot >> NAME_BITS) else { return Err(wrong_permit(permit)) };
        loop {
            // A key with permits out can't lose its slot: so if it isn't there, none are.
            let word = self.table.load(place);
            if slot_of(place, word) != slot || permit.permits > in_flight(word) {
                return Err(wrong_permit(permit));
            }
            if self.table.exchange(place, word, word - u128::from(permit.permits)).is_ok() {
                break;
            }
            back_off();
        }
        self.counters.increment(if ok { Count::ReleasedOk } else { Count::ReleasedFailed });
        if let Some(hold_times) = &self.hold_times {
            hold_times.record(&self.counters, acquired_at_ns);
        }
        Ok(())
    }

    /// Changes the limit of all keys while in use; never blocks. Permits that are out stay out. A call that is under way may
    /// still go by the limit before.
    ///
    /// # Errors
    ///
    /// If limit is not 0 … 2³¹−1.
    pub fn set_limit(&self, limit: u64) -> Result<(), Error> {
        check_limit(limit)?;
        self.limit.store(limit, Ordering::Relaxed);
        Ok(())
    }

    /// How many permits of each key may be out at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// How many permits of a key are out.
    #[must_use]
    pub fn in_flight(&self, key: impl AsRef<[u8]>) -> u64 {
        self.table.find(self.hasher.hash(key.as_ref()), TAG_BITS).map_or(0, |(_, word)| in_flight(word))
    }

    /// How many permits of a key could be taken now, if there is room for it; 0 while more are out than a lowered limit.
    #[must_use]
    pub fn available(&self, key: impl AsRef<[u8]>) -> u64 {
        self.limit().saturating_sub(self.in_flight(key))
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
        let words = || self.table.places().map(|place| self.table.load(place)).filter(|word| *word != EMPTY);
        let (live_keys, in_flight) = words()
            .map(in_flight)
            .filter(|out| *out > 0)
            .fold((0, 0), |(keys, permits), out| (keys + 1, permits + out));
        Stats {
            allowed: self.counters.total(Count::Allowed),
            denied: self.counters.total(Count::Denied),
            limit: self.limit(),
            in_flight,
            released_ok: self.counters.total(Count::ReleasedOk),
            released_failed: self.counters.total(Count::ReleasedFailed),
            hold_time_total: Duration::from_nanos(self.counters.total(Count::HoldTimeNs)),
            hold_time_max: Duration::from_nanos(self.hold_times.as_ref().map_or(0, HoldTimes::longest_ns)),
            live_keys,
            capacity: self.max_keys,
            ..Stats::default()
        }
    }

    /// Whether hold times are measured.
    #[must_use]
    pub fn tracks_hold_time(&self) -> bool {
        self.hold_times.is_some()
    }

    /// The number that this limiter's permits bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl fmt::Debug for KeyedConcurrencyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyedConcurrencyLimiter({} each, {} keys)", self.limit(), self.max_keys)
    }
}

// The count has a bit more than the largest limit, so that no sum of what is out and what is asked for can leave it.
const _: () = assert!((MAX_LIMIT as u128) < IN_FLIGHT / 2 + 1);

#[cold]
fn wrong_permit(permit: &RawKeyedPermit) -> Error {
    Error::new(
        Status::InvalidPermit,
        "permit",
        format_args!("{} permits of limiter {}", permit.permits, permit.limiter_id),
        "a permit of this limiter that is still held",
    )
}
