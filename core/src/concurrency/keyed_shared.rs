//! What stays where it is when a keyed concurrency limiter is moved: its table, who waits, and what is counted.
//!
//! | slot | from the top |
//! | --- | --- |
//! | 128 bits | tag 56, unused 8, somebody waits 1, unused 31, permits out 32 |

use super::check_limit;
use super::hold_times::HoldTimes;
use super::keyed_permit::RawKeyedPermit;
use super::word::MAX_LIMIT;
use crate::clock::{Clock, Watcher};
use crate::lock::Inherited;
use crate::stats::{Count, Counters};
use crate::sync::{AtomicU64, Lock, back_off};
use crate::table::{EMPTY, Full, KeyHash, KeyHasher, PINNED, Place, Stripes, Table, Tenants, WhenFull};
use crate::wait::{self, Due, Granted, KeyedDesk, Queue, Source, Ticket};
use crate::{Error, Status, fork};
use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU32, Ordering};

const TAG_BITS: u32 = 56;
const IN_FLIGHT: u128 = u32::MAX as u128;
const WAITERS: u128 = 1 << 63;

// The count has a bit more than the largest limit, so that no sum of what is out and what is asked for can leave it.
const _: () = assert!((MAX_LIMIT as u128) < IN_FLIGHT / 2 + 1);

#[inline]
pub(super) fn in_flight(word: u128) -> u64 {
    (word & IN_FLIGHT) as u64
}

/// A key is at rest with no permit out and nobody waiting, and else stays.
struct Holders;

impl Tenants for Holders {
    fn share(&self, word: u128) -> u64 {
        if word & (IN_FLIGHT | WAITERS) == 0 { 0 } else { PINNED }
    }

    fn rest_at_ns(&self, _word: u128) -> u64 {
        u64::MAX
    }
}

/// In the word of the limits: nothing is lent any more.
const CLOSED: u64 = 1 << 63;

/// What is left of 64 bits beside the index of a slot: at most 2.5 · 2³² slots, rounded up to lines.
const NAME_BITS: u32 = 30;

pub(super) struct KeyedShared {
    pub(super) table: Table,
    stripes: Stripes,
    hasher: KeyHasher,
    limit: AtomicU64,
    /// The [process](fork) whose permits the table counts.
    process: AtomicU32,
    pub(super) counters: Counters,
    pub(super) id: u64,
    pub(super) clock: Option<Clock>,
    pub(super) hold_times: Option<HoldTimes>,
    pub(super) desk: KeyedDesk,
    /// Which keys are waited for, by the slot that each keeps meanwhile.
    waited_for: Lock<BTreeMap<u64, KeyHash>>,
}

impl KeyedShared {
    pub(super) fn new(
        limit: u64,
        max_keys: u64,
        id: u64,
        clock: Option<Clock>,
        track_hold_time: bool,
        max_waiters: u64,
    ) -> Result<Self, Error> {
        check_limit(limit)?;
        fork::watch();
        Ok(Self {
            table: Table::new(max_keys, TAG_BITS, WhenFull::DenyNew, None)?,
            stripes: Stripes::new(),
            hasher: KeyHasher::with_seed(KeyHasher::random_seed()),
            limit: AtomicU64::new(limit),
            process: AtomicU32::new(fork::count()),
            counters: Counters::new(),
            id,
            hold_times: track_hold_time.then(|| HoldTimes::new(clock.clone().unwrap_or_default())),
            clock,
            desk: KeyedDesk::new(max_waiters),
            waited_for: Lock::default(),
        })
    }

    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> KeyHash {
        self.hasher.hash(key)
    }

    pub(super) fn of(&self, key: KeyHash) -> KeyedSource<'_> {
        KeyedSource { shared: self, key }
    }

    /// In the child of a fork no permit is out, and nobody waits.
    #[inline]
    fn begin_process(&self) {
        // Acquire: whoever sees this process's number sees its table.
        if self.process.load(Ordering::Acquire) != fork::count() {
            self.begin_afresh();
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_afresh(&self) {
        let _none_enters = self.stripes.lock_all();
        if self.process.load(Ordering::Relaxed) == fork::count() {
            return;
        }
        for place in self.table.places() {
            let mut word = self.table.load(place);
            while word != EMPTY {
                match self.table.exchange(place, word, EMPTY) {
                    Ok(_) => break,
                    Err(there) => word = there,
                }
            }
        }
        // Release: as in `begin_process`.
        self.process.store(fork::count(), Ordering::Release);
    }

    /// What is out of a key, and whether somebody waits.
    pub(super) fn word(&self, key: KeyHash) -> u128 {
        self.begin_process();
        self.table.find(key, TAG_BITS).map_or(EMPTY, |(_, word)| word)
    }

    /// Relaxed: a limit orders nothing.
    #[inline]
    fn limit_word(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit_word() & !CLOSED
    }

    pub(super) fn is_closed(&self) -> bool {
        self.limit_word() & CLOSED != 0
    }

    /// Why `permits` can't be had, however long one waits.
    #[inline]
    fn refusal(&self, permits: u64) -> Option<Status> {
        match self.limit_word() {
            word if word & CLOSED != 0 => Some(Status::Closed),
            // A limit of 0 is a pause.
            0 => None,
            limit => (permits > limit).then_some(Status::ExceedsCapacity),
        }
    }

    fn available(&self, word: u128) -> u64 {
        self.limit().saturating_sub(in_flight(word))
    }

    pub(super) fn available_to_comers(&self, key: KeyHash) -> u64 {
        let word = self.word(key);
        if word & WAITERS != 0 || self.is_closed() { 0 } else { self.available(word) }
    }

    pub(super) fn waiting(&self) -> u64 {
        self.desk.len(|| self.begin_process())
    }

    pub(super) fn live_keys_and_in_flight(&self) -> (u64, u64) {
        self.begin_process();
        let out = self.table.places().map(|place| in_flight(self.table.load(place))).filter(|out| *out > 0);
        out.fold((0, 0), |(keys, permits), out| (keys + 1, permits + out))
    }

    /// Takes permits of a key, for the head of its line or while nobody waits.
    #[inline]
    pub(super) fn take(&self, key: KeyHash, permits: u64, for_waiter: bool) -> Result<RawKeyedPermit, Status> {
        self.begin_process();
        loop {
            let found = self.table.find(key, TAG_BITS);
            let word = found.map_or(EMPTY, |(_, word)| word);
            let behind_waiters = word & WAITERS != 0 && !for_waiter;
            if permits > self.available(word) || behind_waiters || self.is_closed() {
                return Err(self.refusal(permits).unwrap_or(Status::Denied));
            }
            match found {
                Some((place, word)) => {
                    if self.table.exchange(place, word, word + u128::from(permits)).is_ok() {
                        return Ok(self.permit(place, word, permits));
                    }
                    back_off();
                }
                None => match self.enter(key, u128::from(permits)) {
                    Some(Ok((place, word))) => return Ok(self.permit(place, word, permits)),
                    Some(Err(Full { .. })) => return Err(Status::KeysFull),
                    None => {}
                },
            }
        }
    }

    /// Brings a key in; `None` if it is there by now.
    #[cold]
    #[inline(never)]
    fn enter(&self, key: KeyHash, bits: u128) -> Option<Result<(Place, u128), Full>> {
        let _lock = self.stripes.lock(key);
        if self.table.find(key, TAG_BITS).is_some() {
            return None;
        }
        let word = u128::from(key.tag(TAG_BITS)) << (128 - TAG_BITS) | bits;
        Some(self.table.put(key, word, &Holders, &self.stripes).map(|place| (place, word)))
    }

    #[inline]
    fn permit(&self, place: Place, word: u128, permits: u64) -> RawKeyedPermit {
        let acquired_at_ns = self.hold_times.as_ref().map_or(0, HoldTimes::now_ns);
        RawKeyedPermit { limiter_id: self.id, key_hash: [slot_of(place, word), acquired_at_ns], permits }
    }

    /// What was granted to one that waited for a key.
    pub(super) fn permit_since(&self, key: KeyHash, permits: u64, at_ns: u64) -> Option<RawKeyedPermit> {
        // With permits out it keeps its slot.
        let (place, word) = self.table.find(key, TAG_BITS)?;
        let acquired_at_ns = if self.hold_times.is_some() { at_ns } else { 0 };
        Some(RawKeyedPermit { limiter_id: self.id, key_hash: [slot_of(place, word), acquired_at_ns], permits })
    }

    /// Whose a ticket is; `None` if the wait is over.
    pub(super) fn key_of(&self, ticket: Ticket) -> Result<Option<KeyHash>, Error> {
        match self.desk.key_of(ticket, || self.begin_process()) {
            Ok(key) => Ok(Some(key)),
            Err(true) => Ok(None),
            Err(false) => Err(wait::unknown(ticket)),
        }
    }

    /// Gives permits back, and to who waits for them what they wait for. `false` if so many aren't out.
    #[inline]
    pub(super) fn give_back(&self, permit: &RawKeyedPermit, ok: bool) -> bool {
        let slot = permit.key_hash[0];
        let Some(place) = self.table.place(slot >> NAME_BITS) else { return false };
        loop {
            match self.put_back(place, slot, permit.permits, true) {
                Some(true) => {
                    self.count_release(permit, ok);
                    return true;
                }
                Some(false) => return false,
                None => {
                    // Nobody there: they have all left since.
                    let key = self.waited_for().get(&place.index()).copied();
                    if let Some(key) = key {
                        return self.hand_over(key, place, permit, ok);
                    }
                }
            }
        }
    }

    /// While nobody comes or goes: so what the head finds unused was given back when it was head, or before.
    #[cold]
    #[inline(never)]
    fn hand_over(&self, key: KeyHash, place: Place, permit: &RawKeyedPermit, ok: bool) -> bool {
        wait::settle_after(&self.of(key), || {
            let given_back = self.put_back(place, permit.key_hash[0], permit.permits, false) == Some(true);
            if given_back {
                self.count_release(permit, ok);
            }
            given_back
        })
    }

    #[inline]
    fn count_release(&self, permit: &RawKeyedPermit, ok: bool) {
        self.counters.increment(if ok { Count::ReleasedOk } else { Count::ReleasedFailed });
        if let Some(hold_times) = &self.hold_times {
            hold_times.record(&self.counters, permit.key_hash[1]);
        }
    }

    /// Whether so many are out; `None`, and nothing is done, if somebody waits and it is for when nobody does.
    #[inline]
    fn put_back(&self, place: Place, slot: u64, permits: u64, if_nobody_waits: bool) -> Option<bool> {
        loop {
            // A key with permits out can't lose its slot: so if it isn't there, none are.
            let word = self.table.load(place);
            if slot_of(place, word) != slot || permits > in_flight(word) {
                return Some(false);
            }
            if if_nobody_waits && word & WAITERS != 0 {
                return None;
            }
            if self.table.exchange(place, word, word - u128::from(permits)).is_ok() {
                return Some(true);
            }
            back_off();
        }
    }

    fn waited_for(&self) -> impl DerefMut<Target = BTreeMap<u64, KeyHash>> + '_ {
        let mut waited_for = self.waited_for.lock();
        if waited_for.inherited != Inherited::No {
            waited_for.renew(BTreeMap::new());
        }
        waited_for
    }

    pub(super) fn set_limit(&self, limit: u64) -> Result<(), Error> {
        check_limit(limit)?;
        let mut word = self.limit_word();
        while let Err(there) =
            self.limit.compare_exchange(word, word & CLOSED | limit, Ordering::Relaxed, Ordering::Relaxed)
        {
            word = there;
        }
        self.desk.keys(|| self.begin_process()).into_iter().for_each(|key| wait::settle_changed(&self.of(key), || {}));
        Ok(())
    }

    pub(super) fn close(&self) {
        self.limit.fetch_or(CLOSED, Ordering::Relaxed);
        self.desk.keys(|| self.begin_process()).into_iter().for_each(|key| wait::close(&self.of(key), || {}));
    }
}

/// Where a key with permits out is and stays, and the upper bits of its tag in this process: so that a permit that was released
/// before, or taken by a parent, is mostly told apart, should another key or permit have got the slot.
fn slot_of(place: Place, word: u128) -> u64 {
    let name = (word >> (128 - NAME_BITS)) as u64 ^ u64::from(fork::count()) & ((1 << NAME_BITS) - 1);
    place.index() << NAME_BITS | name
}

/// What a key lends, to be waited for.
pub(super) struct KeyedSource<'a> {
    pub(super) shared: &'a KeyedShared,
    pub(super) key: KeyHash,
}

impl KeyedSource<'_> {
    /// One step of the key's word, if the key is there.
    fn update(&self, change: impl Fn(u128) -> u128) -> Option<Place> {
        while let Some((place, word)) = self.shared.table.find(self.key, TAG_BITS) {
            if word == change(word) || self.shared.table.exchange(place, word, change(word)).is_ok() {
                return Some(place);
            }
        }
        None
    }
}

impl Source for KeyedSource<'_> {
    fn open(&self) -> impl DerefMut<Target = Queue> + '_ {
        self.shared.desk.open(self.key, || self.shared.begin_process())
    }

    fn max_waiters(&self) -> u64 {
        self.shared.desk.max_waiters()
    }

    fn clock(&self) -> &Clock {
        self.shared.clock.as_ref().unwrap_or_else(|| Clock::shared())
    }

    /// What is unused was so when the head became the head: whatever is given back is told at once.
    fn due(&self, cost: u64, from_ns: u64) -> Due {
        match self.shared.refusal(cost) {
            Some(status) => Due::Refused(status),
            None if cost <= self.shared.available(self.shared.word(self.key)) => Due::At(from_ns),
            None => Due::Unknown,
        }
    }

    fn take(&self, cost: u64, at_ns: u64) -> Result<Option<Granted>, Status> {
        match self.shared.take(self.key, cost, true) {
            Ok(_) => Ok(Some(Granted { at_ns, void_count: 0 })),
            Err(Status::KeysFull) => Err(Status::KeysFull),
            Err(_) => Ok(None),
        }
    }

    fn take_now(&self, cost: u64) -> Option<u64> {
        self.shared.take(self.key, cost, false).ok().map(|permit| permit.key_hash[1])
    }

    fn mark_or_take(&self, cost: u64) -> Result<Option<u64>, Status> {
        loop {
            let Some((place, word)) = self.shared.table.find(self.key, TAG_BITS) else {
                match self.shared.enter(self.key, WAITERS) {
                    Some(Ok((place, _))) => {
                        self.shared.waited_for().insert(place.index(), self.key);
                        // It wasn't there: so all of it may be to be had, which the head then finds at once.
                        return Ok(None);
                    }
                    Some(Err(Full { .. })) => return Err(Status::KeysFull),
                    None => continue,
                }
            };
            if cost <= self.shared.available(word) && !self.shared.is_closed() {
                if self.shared.table.exchange(place, word, word + u128::from(cost)).is_ok() {
                    return Ok(Some(self.clock().now_ns()));
                }
                continue;
            }
            // Before the mark: who sees that finds the key.
            self.shared.waited_for().insert(place.index(), self.key);
            if self.shared.table.exchange(place, word, word | WAITERS).is_ok() {
                return Ok(None);
            }
            self.shared.waited_for().remove(&place.index());
        }
    }

    fn unmark(&self) {
        let marked = self.shared.table.find(self.key, TAG_BITS).is_some_and(|(_, word)| word & WAITERS != 0);
        if marked && let Some(place) = self.update(|word| word & !WAITERS) {
            self.shared.waited_for().remove(&place.index());
        }
    }

    /// Nobody knows when permits come back.
    fn least_wait_ns(&self, _ahead: impl Iterator<Item = u64> + Clone, _total_ahead: u64, _cost: u64) -> u64 {
        0
    }

    fn ended(&self, status: Status) {
        self.shared.counters.increment(Count::of_wait(status));
    }

    fn give_back(&self, cost: u64, _granted: Granted) {
        let Some((place, word)) = self.shared.table.find(self.key, TAG_BITS) else { return };
        let slot = slot_of(place, word);
        if self.shared.put_back(place, slot, cost, true).is_none() {
            wait::settle_after(self, || self.shared.put_back(place, slot, cost, false));
        }
    }
}

impl Watcher for KeyedShared {
    fn clock_moved(&self) {
        self.desk.keys(|| self.begin_process()).into_iter().for_each(|key| wait::settle_all(&self.of(key)));
    }
}

impl Drop for KeyedShared {
    /// Who waits by a listener may outlast the limiter.
    fn drop(&mut self) {
        self.desk.keys(|| {}).into_iter().for_each(|key| wait::close(&self.of(key), || {}));
    }
}
