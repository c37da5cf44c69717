//! Rate limiters with a budget for each key.

#[cfg(feature = "gate")]
use super::Joint;
use super::denied_keys::DeniedKey;
use super::keyed_options::KeyedRateOptions;
use super::keyed_shared::KeyedShared;
use super::keyed_state::fits_slot;
use super::own_quotas::Own;
use super::{check_cost, check_same_kinds, text_of};
use crate::decision::{Decision, Grant};
use crate::quota::{IntoQuotas, Quota, check_count};
use crate::stats::{Count, Stats};
use crate::table::{KeyHash, Region, Table, check_max_keys};
use crate::{Error, Status};
use std::fmt;
use std::sync::{Arc, Weak};

/// Decides for each key on its own whether work may go ahead, in memory that doesn't grow.
///
/// A key is any bytes: an address, a user, a path ([`key_of`](crate::key_of) joins several, [`ip_key`](crate::ip_key) shortens
/// addresses). Keys are not stored: a table holds a tag of each one's hash, 40 bytes for each key of `max_keys` in all. A key
/// that owes nothing takes no room. If more keys than there is room for owe something at once, [`WhenFull`](crate::WhenFull) says
/// what happens to new ones.
///
/// Every call may come from any thread at once.
///
/// ```
/// use tidegate::KeyedRateLimiter;
///
/// let limiter = KeyedRateLimiter::new("2/s", 100_000)?;
/// assert!(limiter.try_acquire("ann"));
/// assert!(limiter.try_acquire("ann"));
/// assert!(!limiter.try_acquire("ann"));
/// assert!(limiter.try_acquire("bob"));
/// # Ok::<(), tidegate::Error>(())
/// ```
pub struct KeyedRateLimiter {
    pub(super) shared: Arc<KeyedShared>,
    max_keys: u64,
}

/// Keys of a batch that are decided by one reading of the clock.
const BATCH: usize = 16;

impl KeyedRateLimiter {
    /// A limiter on the monotonic clock, with nothing used, with room for `max_keys` keys that count at once. `quotas` is a
    /// [`Quota`], its text, or a list. [`KeyedRateOptions`] has more.
    ///
    /// # Errors
    ///
    /// Names the part of the quota that is wrong, or that doesn't fit beside a key; or max_keys.
    pub fn new(quotas: impl IntoQuotas, max_keys: u64) -> Result<Self, Error> {
        KeyedRateOptions::new().max_keys(max_keys).build(quotas)
    }

    pub(super) fn with_options(
        quotas: Vec<Quota>,
        options: KeyedRateOptions,
        region: Option<Region>,
    ) -> Result<Self, Error> {
        let max_keys = options.max_keys;
        let shared = Arc::new(KeyedShared::new(quotas, options, region)?);
        let watcher: Weak<KeyedShared> = Arc::downgrade(&shared);
        shared.states.clock.watch(watcher);
        Ok(Self { shared, max_keys })
    }

    /// How many bytes [`build_in`](KeyedRateOptions::build_in) needs for so many keys and quotas.
    ///
    /// # Errors
    ///
    /// If max_keys is not 1 … 2³², or quotas not 1 … 16.
    pub fn region_size(max_keys: u64, quotas: usize) -> Result<usize, Error> {
        check_max_keys(max_keys)?;
        check_count(quotas)?;
        Ok(Table::size(max_keys) * quotas)
    }

    /// Takes one token of a key if it can be had now.
    #[inline]
    #[must_use = "work may go ahead only if this is true"]
    pub fn try_acquire(&self, key: impl AsRef<[u8]>) -> bool {
        self.try_status(key.as_ref(), 1) == Status::Allowed
    }

    /// Takes `cost` tokens of a key if all can be had now.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_n(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<bool, Error> {
        self.try_acquire_status(key, cost).map(|status| status == Status::Allowed)
    }

    /// [`try_acquire_n`](Self::try_acquire_n), telling [`Status::Denied`], [`Status::ExceedsCapacity`] and
    /// [`Status::KeysFull`] apart.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    #[inline]
    pub fn try_acquire_status(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<Status, Error> {
        check_cost("cost", cost)?;
        Ok(self.try_status(key.as_ref(), cost))
    }

    #[inline]
    fn try_status(&self, key: &[u8], cost: u64) -> Status {
        let hash = self.shared.hash(key);
        let status = self.shared.states.try_charge_now(hash, cost);
        self.shared.count(status, hash, key);
        status
    }

    /// [`try_acquire_status`](Self::try_acquire_status) for many keys, one after the other; a key may occur more than once.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1, or there are not as many statuses as keys. Nothing is taken then.
    pub fn try_acquire_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        cost: u64,
        statuses: &mut [Status],
    ) -> Result<(), Error> {
        check_cost("cost", cost)?;
        if keys.len() != statuses.len() {
            let allowed = format!("as many as keys, {}", keys.len());
            return Err(Error::option("statuses", statuses.len(), allowed));
        }
        for (keys, statuses) in keys.chunks(BATCH).zip(statuses.chunks_mut(BATCH)) {
            let mut hashes = [KeyHash::default(); BATCH];
            // All hashes first, so that slots that are far away come while others are decided on.
            self.shared.hash_many(keys, &mut hashes);
            hashes[..keys.len()].iter().for_each(|hash| self.shared.states.fetch(*hash));
            let mut now = self.shared.states.clock.now_ns();
            let mut allowed = 0;
            for ((hash, key), status) in hashes.iter().zip(keys).zip(statuses) {
                *status = self.shared.states.try_charge(*hash, now, cost);
                if *status == Status::Allowed {
                    allowed += 1;
                    continue;
                }
                // What another charge, or a key's entry by a later time, may have overtaken is asked again.
                now = self.shared.states.clock.now_ns();
                *status = self.shared.states.try_charge(*hash, now, cost);
                self.shared.count(*status, *hash, key.as_ref());
            }
            self.shared.counters.add(Count::Allowed, allowed);
        }
        Ok(())
    }

    /// Takes one token of a key if it can be had now, and tells the figures.
    pub fn decide(&self, key: impl AsRef<[u8]>) -> Decision {
        self.decision(key.as_ref(), 1, true)
    }

    /// Takes `cost` tokens of a key if all can be had now, and tells the figures.
    ///
    /// With several quotas no bound is ever exceeded, and without a race a refusal charges nothing. In a race a call may be
    /// refused because of another's charge that is just being undone.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn decide_n(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<Decision, Error> {
        check_cost("cost", cost)?;
        Ok(self.decision(key.as_ref(), cost, true))
    }

    /// What [`decide`](Self::decide) would answer now, spending nothing; `remaining` is what is unspent.
    pub fn peek(&self, key: impl AsRef<[u8]>) -> Decision {
        self.decision(key.as_ref(), 1, false)
    }

    /// What [`decide_n`](Self::decide_n) would answer now, spending nothing; `remaining` is what is unspent.
    ///
    /// # Errors
    ///
    /// If cost is not 1 … 2⁵³−1.
    pub fn peek_n(&self, key: impl AsRef<[u8]>, cost: u64) -> Result<Decision, Error> {
        check_cost("cost", cost)?;
        Ok(self.decision(key.as_ref(), cost, false))
    }

    /// [`decide_n`](Self::decide_n) of a cost that was checked, without a grant.
    #[cfg(feature = "gate")]
    #[inline]
    pub(crate) fn charge(&self, key: &[u8], cost: u64) -> Joint {
        let hash = self.shared.hash(key);
        let joint = self.shared.charge(hash, cost);
        self.shared.count(joint.named.status, hash, key);
        joint
    }

    fn decision(&self, key: &[u8], cost: u64, spend: bool) -> Decision {
        let hash = self.shared.hash(key);
        // Before the charge: what voids it in between leaves an older count here, and the refund then does nothing.
        let reset_count = self.shared.states.stripes.void_count(hash);
        let joint = if spend { self.shared.charge(hash, cost) } else { self.shared.decide(hash, cost, false) };
        if spend {
            self.shared.count(joint.named.status, hash, key);
        }
        let key_hash = hash.id();
        joint.decision(spend, Grant { limiter_id: self.shared.id, cost, granted_at_ns: 0, reset_count, key_hash })
    }

    /// Gives back what a decision took from a key, as far as no bound is broken: a window takes it back only while the same
    /// window lasts, gcra only what has not leaked since. Without effect once the key was evicted. Consumes the decision.
    ///
    /// # Errors
    ///
    /// If the decision granted nothing, was refunded before, or is another limiter's or key's. Nothing changes then.
    pub fn refund(&self, key: impl AsRef<[u8]>, decision: &Decision) -> Result<(), Error> {
        let hash = self.shared.hash(key.as_ref());
        let grant = decision.take_grant(self.shared.id, hash.id())?;
        self.shared.give_back_since(hash, grant.reset_count, grant.cost, grant.granted_at_ns);
        Ok(())
    }

    /// [`refund`](Self::refund) for those who carry grants across a border and see themselves that each is used once, with the
    /// limiter of its [`limiter_id`](Grant::limiter_id).
    ///
    /// # Errors
    ///
    /// If the grant is another key's. Nothing changes then.
    pub fn refund_grant(&self, key: impl AsRef<[u8]>, grant: Grant) -> Result<(), Error> {
        let hash = self.shared.hash(key.as_ref());
        if grant.key_hash != hash.id() {
            let allowed = "a decision of this limiter and key";
            return Err(Error::new(Status::InvalidDecision, "decision", "one of another key", allowed));
        }
        self.shared.give_back_since(hash, grant.reset_count, grant.cost, grant.granted_at_ns);
        Ok(())
    }

    /// Makes everything of a key unspent again; quotas of its own stay. Its decisions from before can no longer be refunded to any
    /// effect.
    pub fn reset(&self, key: impl AsRef<[u8]>) {
        let hash = self.shared.hash(key.as_ref());
        self.shared.states.reset(hash);
        self.shared.tell_waiters(hash);
    }

    /// Gives a key quotas of its own in place of the limiter's, from the next call on. What is used stays used, at most the new
    /// burst. Its decisions from before can no longer be refunded to any effect. Does nothing if it has these.
    ///
    /// Such a key keeps a place of its own until [`clear_quota`](Self::clear_quota), about 1 KB for each quota: it is never
    /// evicted nor refused as [`Status::KeysFull`]. 65,536 keys may have one. While no key has one they cost nothing.
    ///
    /// # Errors
    ///
    /// If a quota is wrong or doesn't fit, if the number of quotas, an algorithm or an anchor is not as the limiter's, or if there
    /// are too many such keys (`key`). Nothing changes then.
    pub fn set_quota(&self, key: impl AsRef<[u8]>, quotas: impl IntoQuotas) -> Result<(), Error> {
        let new = quotas.into_quotas()?;
        new.iter().try_for_each(fits_slot)?;
        let hash = self.shared.hash(key.as_ref());
        {
            let quotas = self.shared.quotas.lock();
            check_same_kinds(&quotas, &new)?;
            let states = &self.shared.states;
            if states.own.of(hash).is_none_or(|own| own.quotas() != new) {
                states.own.check_room(hash)?;
                states.move_key(hash, Some(Own::new(new, &states.clock)?));
            }
        }
        self.shared.tell_waiters_of_change(hash);
        Ok(())
    }

    /// Gives a key the limiter's quotas again. What is used stays used, at most the limiter's burst. Its decisions from before can
    /// no longer be refunded to any effect. Does nothing if the key has no quotas of its own.
    ///
    /// A key that owes something and finds no room takes the place of the one that owes the smallest share, with either
    /// [`WhenFull`](crate::WhenFull).
    pub fn clear_quota(&self, key: impl AsRef<[u8]>) {
        let hash = self.shared.hash(key.as_ref());
        {
            let _unchanging = self.shared.quotas.lock();
            if self.shared.states.own.of(hash).is_some() {
                self.shared.states.move_key(hash, None);
            }
        }
        self.shared.tell_waiters_of_change(hash);
    }

    /// Changes limits, periods and bursts while in use, for all keys without quotas of their own, from the next call on. What is used stays used, at most the
    /// new burst. Decisions from before can no longer be refunded to any effect. Does nothing if nothing changed. Takes
    /// time in proportion to max_keys, in which keys that are present are decided on and others wait.
    ///
    /// # Errors
    ///
    /// If a quota is wrong or doesn't fit, or the number of quotas, an algorithm or an anchor is not as before. Nothing changes
    /// then.
    pub fn reconfigure(&self, quotas: impl IntoQuotas) -> Result<(), Error> {
        let new = quotas.into_quotas()?;
        new.iter().try_for_each(fits_slot)?;
        self.shared.reconfigure(new)
    }

    /// The quotas, in the order of the list.
    #[must_use]
    pub fn quotas(&self) -> Vec<Quota> {
        self.shared.quotas.lock().clone()
    }

    /// Changes how many may wait for each key; who waits already stays.
    ///
    /// # Errors
    ///
    /// If max_waiters is over 4,294,967,294. Nothing changes then.
    pub fn set_max_waiters(&self, max_waiters: u64) -> Result<(), Error> {
        self.shared.states.desk.set_max_waiters(max_waiters)
    }

    /// What was allowed, denied and evicted since the limiter was built, and about how many keys count.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            allowed: self.shared.counters.total(Count::Allowed),
            denied: self.shared.counters.total(Count::Denied),
            timed_out: self.shared.counters.total(Count::TimedOut),
            cancelled: self.shared.counters.total(Count::Cancelled),
            waiting: self.shared.waiting(),
            live_keys: self.len(),
            evicted_live: self.shared.states.states.iter().map(|state| state.table().evicted_live()).sum(),
            capacity: self.max_keys,
            ..Stats::default()
        }
    }

    /// The `most` keys that were refused most often, the most refused first (ties: the one that was refused last); none unless
    /// [`track_denied`](KeyedRateOptions::track_denied) says how many to count. Refusals are what [`stats`](Self::stats) counts
    /// as denied, waits that don't begin among them, but for waits that a change ends. While no more keys were refused than are
    /// counted, the counts are exact.
    #[must_use]
    pub fn top_denied(&self, most: usize) -> Vec<DeniedKey> {
        self.shared.denied.as_ref().map_or_else(Vec::new, |denied| denied.top(most))
    }

    /// About how many keys owe something: exact up to some 6,000 keys of capacity, else from a sample of the table.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shared.states.live_keys()
    }

    /// Whether about no key owes anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For how many keys that count at once there is room.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.max_keys
    }

    /// The number that this limiter's decisions bear; unique in the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }
}

impl fmt::Debug for KeyedRateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyedRateLimiter({}, {} keys)", text_of(&self.quotas()), self.max_keys)
    }
}
