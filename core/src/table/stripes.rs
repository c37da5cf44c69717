//! The locks under which keys enter a table, striped by key.

use super::hash::KeyHash;
use crate::sync::Lock;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Few under the model checker, which visits every order of taking them.
const STRIPES: usize = if cfg!(loom) { 2 } else { 256 };

/// Whoever brings a key in holds the lock of the key's stripe; whoever changes settings holds all. Never held on the path of a
/// decision for a key that is present. A limiter with several tables has one set for all.
pub(crate) struct Stripes {
    stripes: [Stripe; STRIPES],
    #[cfg(loom)]
    pub(crate) protocol: super::Protocol,
}

#[derive(Default)]
struct Stripe {
    lock: Lock<()>,
    /// Counts what voids grants to keys of this stripe: resets, changes of the quotas, and evictions.
    void_count: AtomicU64,
}

impl Stripes {
    pub(crate) fn new() -> Self {
        Self {
            stripes: std::array::from_fn(|_| Stripe::default()),
            #[cfg(loom)]
            protocol: super::Protocol::Locked,
        }
    }

    fn of(&self, stripe: u8) -> &Stripe {
        &self.stripes[usize::from(stripe) % STRIPES]
    }

    pub(crate) fn lock(&self, hash: KeyHash) -> impl DerefMut + '_ {
        self.of(hash.stripe()).lock.lock()
    }

    /// All locks: while they are held no key enters. In one order, so that two of these don't wait for each other; and who
    /// holds one takes no second.
    pub(crate) fn lock_all(&self) -> Vec<impl DerefMut + '_> {
        self.stripes.iter().map(|stripe| stripe.lock.lock()).collect()
    }

    /// A grant that is charged after this was read is void once the count has moved on.
    #[inline]
    pub(crate) fn void_count(&self, hash: KeyHash) -> u64 {
        self.of(hash.stripe()).void_count.load(Ordering::Acquire)
    }

    /// Voids the grants of who is about to be taken out of a slot, and of those that share its stripe.
    ///
    /// To be called after its word was read and before that word is exchanged. Then a grant with the new count was charged
    /// after the reading: the exchange fails for it, and all begins anew. (AcqRel: the reading comes before, and a charge
    /// under the new count after.)
    pub(super) fn void(&self, word: u128) {
        self.of((word >> 120) as u8).void_count.fetch_add(1, Ordering::AcqRel);
    }

    /// Voids the grants of a key, and of those that share its stripe.
    pub(crate) fn void_key(&self, hash: KeyHash) {
        self.of(hash.stripe()).void_count.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn void_all(&self) {
        for stripe in &self.stripes {
            stripe.void_count.fetch_add(1, Ordering::AcqRel);
        }
    }
}
