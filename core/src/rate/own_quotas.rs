//! Keys with quotas of their own.
//!
//! Such a key lives in a table of its own, one for each quota, in which nobody else is; in the tables of all it has no slot. So
//! whatever holds of a table holds of it: a decision is one exchange of a word that is found by the key's tag.
//!
//! **A key lives in one place.** It comes only under the lock of its stripe, into the place that is published as its own by then,
//! and it moves only under that lock: it is taken out of the place before by an exchange, then it comes into the new
//! one, with what it owes, then that is published. A decider that went by what was published before either
//! made its exchange before the key was taken out, and is carried over, or does not find the key: then it looks again under the
//! lock, also at what is published. So every charge counts, in one place, whatever was read when.

use super::keyed_state::KeyedState;
use crate::Error;
use crate::clock::Clock;
use crate::quota::Quota;
use crate::sync::Published;
use crate::table::{KeyHash, WhenFull};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most keys that may have quotas of their own.
const MAX_OWN: usize = 65_536;
/// As few keys share what must be copied to add one.
const SHARDS: usize = if cfg!(loom) { 1 } else { 256 };

/// The place of one key.
pub(super) struct Own {
    quotas: Vec<Quota>,
    pub(super) states: Box<[KeyedState]>,
}

impl Own {
    /// Quotas that fit, with nothing used.
    pub(super) fn new(quotas: Vec<Quota>, clock: &Clock) -> Result<Self, Error> {
        let state = |quota| KeyedState::new(quota, clock, 1, WhenFull::Evict, None);
        Ok(Self { states: quotas.iter().map(state).collect::<Result<_, _>>()?, quotas })
    }

    pub(super) fn quotas(&self) -> &[Quota] {
        &self.quotas
    }
}

type Shard = Vec<(KeyHash, Arc<Own>)>;

/// Which keys have quotas of their own.
pub(super) struct OwnQuotas {
    /// Sorted by hash, and never changed: replaced, under the lock of the key's stripe, whose bits choose the shard.
    shards: Box<[Published<Shard>]>,
    /// Not the model checker's: it only spares others the look at a shard.
    count: AtomicUsize,
}

impl OwnQuotas {
    pub(super) fn none() -> Self {
        let shards = std::iter::repeat_with(Published::nothing).take(SHARDS).collect();
        Self { shards, count: AtomicUsize::new(0) }
    }

    fn shard(&self, hash: KeyHash) -> &Published<Shard> {
        &self.shards[usize::from(hash.stripe()) % SHARDS]
    }

    /// The place of a key that has one of its own; certain only under the lock of its stripe.
    // Relaxed: whoever goes by an old count is as one who went by what was published before.
    pub(super) fn of(&self, hash: KeyHash) -> Option<Arc<Own>> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let shard = self.shard(hash).read();
        let shard: &Shard = shard.deref().as_deref()?;
        place_of(shard, hash).ok().map(|place| Arc::clone(&shard[place].1))
    }

    /// Whether a key may be given a place of its own. Only while nobody else changes any.
    ///
    /// # Errors
    ///
    /// If it has none and as many have one as may.
    pub(super) fn check_room(&self, hash: KeyHash) -> Result<(), Error> {
        // Relaxed: whoever changed it before released the lock that the caller holds.
        if self.count.load(Ordering::Relaxed) < MAX_OWN || self.of(hash).is_some() {
            return Ok(());
        }
        let allowed = format!("{MAX_OWN} keys with quotas of their own, until one is cleared");
        Err(Error::option("key", "one more", allowed))
    }

    /// Only under the lock of the key's stripe, and while nobody else changes any.
    pub(super) fn publish(&self, hash: KeyHash, own: Option<Arc<Own>>) {
        let published = self.shard(hash);
        let mut shard = published.read().as_deref().cloned().unwrap_or_default();
        let count = self.count.load(Ordering::Relaxed);
        let left = match (place_of(&shard, hash), own) {
            (Ok(place), Some(own)) => {
                shard[place].1 = own;
                count
            }
            (Err(place), Some(own)) => {
                shard.insert(place, (hash, own));
                count + 1
            }
            (Ok(place), None) => {
                shard.remove(place);
                count - 1
            }
            (Err(_), None) => return,
        };
        published.publish((!shard.is_empty()).then(|| Arc::new(shard)));
        self.count.store(left, Ordering::Relaxed);
    }

    /// Every place, as of now.
    pub(super) fn for_each(&self, act: impl Fn(&Own)) {
        for shard in &self.shards {
            if let Some(shard) = shard.read().as_deref() {
                shard.iter().for_each(|(_, own)| act(own));
            }
        }
    }

    /// About how many of these keys aren't at rest by the quota of this index.
    pub(super) fn live_keys(&self, quota: usize, now: u64) -> u64 {
        if self.count.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let live = |shard: &Shard| shard.iter().map(|(_, own)| own.states[quota].live_keys(now)).sum();
        self.shards.iter().map(|shard| shard.read().as_deref().map_or(0, live)).sum()
    }
}

fn place_of(shard: &Shard, hash: KeyHash) -> Result<usize, usize> {
    shard.binary_search_by_key(&hash, |(hash, _)| *hash)
}
