//! What stays where it is when a keyed rate limiter is moved: its tables, who waits, and what is counted.

use super::denied_keys::DeniedKeys;
use super::keyed_options::KeyedRateOptions;
use super::keyed_state::{KeyedState, fits_slot};
use super::keyed_states::KeyedStates;
use super::own_quotas::OwnQuotas;
use super::{Joint, check_same_kinds, next_id};
use crate::clock::{Clock, Watcher};
// Not the model checker's: it is locked by what changes quotas alone, outside of any protocol.
use crate::lock::Lock;
use crate::quota::Quota;
use crate::stats::{Count, Counters};
use crate::table::{KeyHash, KeyHasher, Region, Stripes, Table, check_max_keys, check_region};
use crate::wait::{self, Due, Granted, KeyedDesk, Queue, Source, Ticket, check_max_waiters};
use crate::{Error, Status, fork};
use std::ops::DerefMut;

pub(super) struct KeyedShared {
    pub(super) states: KeyedStates,
    hasher: KeyHasher,
    pub(super) counters: Counters,
    pub(super) denied: Option<DeniedKeys>,
    pub(super) id: u64,
    pub(super) quotas: Lock<Vec<Quota>>,
}

impl KeyedShared {
    pub(super) fn new(
        quotas: Vec<Quota>,
        options: KeyedRateOptions,
        mut region: Option<Region>,
    ) -> Result<Self, Error> {
        let KeyedRateOptions { max_keys, when_full, track_denied, max_waiters, .. } = options;
        quotas.iter().try_for_each(fits_slot)?;
        check_max_keys(max_keys)?;
        check_max_waiters(max_waiters)?;
        fork::watch();
        let denied = DeniedKeys::new(track_denied)?;
        let clock = options.clock.unwrap_or_default();
        if let Some(region) = &region {
            check_region(region, Table::size(max_keys) * quotas.len())?;
        }
        let state = |quota| {
            let part = region.as_mut().and_then(|region| region.split_off_mut(..Table::size(max_keys)));
            KeyedState::new(quota, &clock, max_keys, when_full, part)
        };
        let states = quotas.iter().map(state).collect::<Result<_, _>>()?;
        #[cfg_attr(not(loom), expect(unused_mut, reason = "the model checker chooses how keys enter"))]
        let mut stripes = Stripes::new();
        #[cfg(loom)]
        (stripes.protocol = options.protocol);
        Ok(Self {
            states: KeyedStates { states, own: OwnQuotas::none(), stripes, clock, desk: KeyedDesk::new(max_waiters) },
            hasher: KeyHasher::with_seed(KeyHasher::random_seed()),
            counters: Counters::new(),
            denied,
            id: next_id(),
            quotas: Lock::new(quotas),
        })
    }

    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> KeyHash {
        self.hasher.hash(key)
    }

    #[inline]
    pub(super) fn hash_many<K: AsRef<[u8]>>(&self, keys: &[K], hashes: &mut [KeyHash]) {
        self.hasher.hash_many(keys, hashes);
    }

    #[inline]
    pub(super) fn count(&self, status: Status, hash: KeyHash, key: &[u8]) {
        if status == Status::Allowed {
            self.counters.increment(Count::Allowed);
        } else {
            self.counters.increment(Count::Denied);
            if let Some(denied) = &self.denied {
                denied.add(hash, key);
            }
        }
    }

    /// A wait, or an attempt at one, that is over at once. Timed out is not denied.
    pub(super) fn count_attempt(&self, status: Status, hash: KeyHash, key: &[u8]) {
        let count = Count::of_wait(status);
        self.counters.increment(count);
        if let (Count::Denied, Some(denied)) = (count, &self.denied) {
            denied.add(hash, key);
        }
    }

    /// Takes if it can, by the short way where there is one.
    #[inline]
    pub(super) fn charge(&self, hash: KeyHash, cost: u64) -> Joint {
        match self.states.charge_at_once(hash, cost) {
            Some(judged) => judged.into(),
            None => self.decide(hash, cost, true),
        }
    }

    pub(super) fn decide(&self, hash: KeyHash, cost: u64, spend: bool) -> Joint {
        let mut joint = self.states.decide_as_comer(hash, self.states.clock.now_ns(), cost, spend);
        if joint.named.behind_waiters && joint.named.status == Status::Denied {
            joint.named.retry_after_ns = wait::least_wait_ns(&self.of(hash), cost);
        }
        joint
    }

    /// For who would wait, and so isn't refused: takes if nobody waits and it is there.
    pub(super) fn take_free(&self, hash: KeyHash, cost: u64) -> bool {
        let taken = self.states.try_charge(hash, self.states.clock.now_ns(), cost) == Status::Allowed;
        if taken {
            self.counters.increment(Count::Allowed);
        }
        taken
    }

    /// Gives back what was granted when the key's void count was this, if it still is.
    pub(super) fn give_back_since(&self, hash: KeyHash, void_count: u64, cost: u64, granted_at_ns: u64) {
        self.states.refund(hash, void_count, cost, granted_at_ns);
        self.tell_waiters(hash);
    }

    pub(super) fn reconfigure(&self, new: Vec<Quota>) -> Result<(), Error> {
        {
            let mut quotas = self.quotas.lock();
            check_same_kinds(&quotas, &new)?;
            if new == *quotas {
                return Ok(());
            }
            let _none_enters = self.states.stripes.lock_all();
            // Before and after: a call reads the count first and charges then, so one that reads the last count charges
            // what the change has left.
            self.states.stripes.void_all();
            for (state, (old, new)) in self.states.states.iter().zip(quotas.iter().zip(&new)) {
                if old != new {
                    state.reconfigure(new, &self.states.clock);
                }
            }
            self.states.stripes.void_all();
            // In place: whenever a fork comes, a child has a list.
            quotas.copy_from_slice(&new);
        }
        self.keys_waited_for().into_iter().for_each(|hash| wait::settle_changed(&self.of(hash), || {}));
        Ok(())
    }

    pub(super) fn of(&self, hash: KeyHash) -> KeyedSource<'_> {
        KeyedSource { shared: self, hash, name: None }
    }

    /// For who begins to wait.
    pub(super) fn named<'a>(&'a self, hash: KeyHash, name: &'a [u8]) -> KeyedSource<'a> {
        KeyedSource { shared: self, hash, name: Some(name) }
    }

    /// After something may have become due sooner.
    pub(super) fn tell_waiters(&self, hash: KeyHash) {
        if self.states.has_waiters(hash) {
            wait::settle(&self.of(hash));
        }
    }

    /// After a key got other quotas, and with them another place.
    pub(super) fn tell_waiters_of_change(&self, hash: KeyHash) {
        if self.states.has_waiters(hash) {
            wait::settle_changed(&self.of(hash), || {});
        }
    }

    fn keys_waited_for(&self) -> Vec<KeyHash> {
        self.states.desk.keys(|| self.states.unmark_all())
    }

    /// How many wait, whichever the key.
    pub(super) fn waiting(&self) -> u64 {
        self.states.desk.len(|| self.states.unmark_all())
    }

    /// Whose a ticket is; `None` if the wait is over.
    pub(super) fn key_of(&self, ticket: Ticket) -> Result<Option<KeyHash>, Error> {
        match self.states.desk.key_of(ticket, || self.states.unmark_all()) {
            Ok(hash) => Ok(Some(hash)),
            Err(true) => Ok(None),
            Err(false) => Err(wait::unknown(ticket)),
        }
    }
}

/// A key's budget, to be waited for.
pub(super) struct KeyedSource<'a> {
    shared: &'a KeyedShared,
    hash: KeyHash,
    /// Under which a refusal at once is counted.
    name: Option<&'a [u8]>,
}

impl Source for KeyedSource<'_> {
    fn open(&self) -> impl DerefMut<Target = Queue> + '_ {
        self.shared.states.desk.open(self.hash, || self.shared.states.unmark_all())
    }

    fn max_waiters(&self) -> u64 {
        self.shared.states.desk.max_waiters()
    }

    fn clock(&self) -> &Clock {
        &self.shared.states.clock
    }

    fn due(&self, cost: u64, from_ns: u64) -> Due {
        self.shared.states.due(self.hash, from_ns, cost)
    }

    fn take(&self, cost: u64, at_ns: u64) -> Result<Option<Granted>, Status> {
        let void_count = self.shared.states.stripes.void_count(self.hash);
        let judged = self.shared.states.charge_waiter(self.hash, at_ns, cost);
        match judged.status {
            Status::Allowed => Ok(Some(Granted { at_ns: judged.granted_at_ns, void_count })),
            Status::KeysFull => Err(Status::KeysFull),
            _ => Ok(None),
        }
    }

    fn take_now(&self, cost: u64) -> Option<u64> {
        let named = self.shared.states.decide_as_comer(self.hash, self.clock().now_ns(), cost, true).named;
        (named.status == Status::Allowed).then_some(named.granted_at_ns)
    }

    /// Marks in any case: if it can be had by now, the head finds so at once.
    fn mark_or_take(&self, _cost: u64) -> Result<Option<u64>, Status> {
        self.shared.states.mark(self.hash).map(|()| None).map_err(|_| Status::KeysFull)
    }

    fn unmark(&self) {
        self.shared.states.unmark(self.hash);
    }

    /// With several quotas the longest of what each alone would take: the true wait may be longer.
    fn least_wait_ns(&self, ahead: impl Iterator<Item = u64> + Clone, total_ahead: u64, cost: u64) -> u64 {
        self.shared.states.least_wait_ns(self.hash, ahead, total_ahead, cost)
    }

    fn ended(&self, status: Status) {
        self.shared.counters.increment(Count::of_wait(status));
    }

    fn refused(&self, status: Status) {
        match self.name {
            Some(name) => self.shared.count_attempt(status, self.hash, name),
            None => self.ended(status),
        }
    }

    fn give_back(&self, cost: u64, Granted { at_ns, void_count }: Granted) {
        self.shared.give_back_since(self.hash, void_count, cost, at_ns);
    }
}

impl Watcher for KeyedShared {
    fn clock_moved(&self) {
        self.keys_waited_for().into_iter().for_each(|hash| wait::settle_all(&self.of(hash)));
    }
}

impl Drop for KeyedShared {
    /// Who waits by a listener may outlast the limiter.
    fn drop(&mut self) {
        self.keys_waited_for().into_iter().for_each(|hash| wait::close(&self.of(hash), || {}));
    }
}
