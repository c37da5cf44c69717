//! The keys that are refused most, in memory that doesn't grow.
//!
//! The space-saving sketch (Metwally, Agrawal and El Abbadi, 2005): as many keys as there are entries are counted exactly. A further
//! one takes over the entry of the key with the smallest count, and counts on from there. So no count is too small, none
//! is too large by more than its error, and whoever has more than its share of all refusals has an entry.

use crate::Error;
use crate::lock::Inherited;
use crate::sync::Lock;
use crate::table::KeyHash;
use std::collections::{BTreeMap, HashMap};
use std::ops::DerefMut;

/// So many bytes of a key are kept as its name.
const NAME_BYTES: usize = 128;
const MAX_ENTRIES: u32 = 65_536;

/// A key that was refused often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedKey {
    /// The key; of a longer one the first 128 bytes. Keys that begin alike are counted apart.
    pub key: Vec<u8>,
    /// How often it was refused, at most.
    pub count: u64,
    /// How much of `count` others may have been refused before it: it was refused at least `count − error` times.
    pub error: u64,
}

pub(super) struct DeniedKeys {
    entries: usize,
    sketch: Lock<Sketch>,
}

/// A place among the entries: the count, then when the key was refused last, in refusals.
type Rank = (u64, u64);

#[derive(Default)]
struct Sketch {
    ranks: HashMap<KeyHash, Rank>,
    keys: BTreeMap<Rank, (KeyHash, DeniedKey)>,
    refusals: u64,
}

impl DeniedKeys {
    /// `None` for none.
    ///
    /// # Errors
    ///
    /// If there are to be more than 65,536.
    pub(super) fn new(entries: u32) -> Result<Option<Self>, Error> {
        if entries > MAX_ENTRIES {
            return Err(Error::option("track_denied", entries, format_args!("0 to {MAX_ENTRIES}")));
        }
        Ok((entries > 0).then(|| Self { entries: entries as usize, sketch: Lock::new(Sketch::default()) }))
    }

    /// In the child of a fork that came in the midst of a change it begins anew.
    fn open(&self) -> impl DerefMut<Target = Sketch> + '_ {
        let mut sketch = self.sketch.lock();
        if sketch.inherited == Inherited::Interrupted {
            sketch.renew(Sketch::default());
        }
        sketch
    }

    #[cold]
    pub(super) fn add(&self, hash: KeyHash, key: &[u8]) {
        let sketch = &mut *self.open();
        let known = sketch.ranks.get(&hash).copied();
        let is_full = sketch.keys.len() == self.entries;
        let least = || sketch.keys.first_key_value().filter(|_| is_full).map(|(rank, _)| *rank);
        let taken = known.or_else(least).and_then(|rank| sketch.keys.remove(&rank));
        let mut denied = match taken {
            Some((owner, denied)) if owner == hash => denied,
            Some((owner, denied)) => {
                sketch.ranks.remove(&owner);
                DeniedKey { key: name(key), error: denied.count, ..denied }
            }
            None => DeniedKey { key: name(key), count: 0, error: 0 },
        };
        denied.count += 1;
        sketch.refusals += 1;
        let rank = (denied.count, sketch.refusals);
        sketch.ranks.insert(hash, rank);
        sketch.keys.insert(rank, (hash, denied));
    }

    /// The `most` keys with the largest counts, the largest first (ties: the one that was refused last).
    pub(super) fn top(&self, most: usize) -> Vec<DeniedKey> {
        self.open().keys.values().rev().take(most).map(|(_, denied)| denied.clone()).collect()
    }
}

fn name(key: &[u8]) -> Vec<u8> {
    key[..key.len().min(NAME_BYTES)].to_vec()
}
