//! What a keyed concurrency limiter lends.

use super::KeyedConcurrencyLimiter;
use std::sync::Arc;

/// Permits of a key as plain data: for those who carry them across a border and give them back by
/// [`KeyedConcurrencyLimiter::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "permits that are not released stay out for ever"]
pub struct RawKeyedPermit {
    /// The limiter that lent them; unique in the process among keyed ones.
    pub limiter_id: u64,
    /// Which key and since when, as that limiter knows it: the slot, which a key with permits out keeps, with some bits of the
    /// key's hash; and the time on the limiter's clock, 0 unless hold times are tracked.
    pub key_hash: [u64; 2],
    /// How many.
    pub permits: u64,
}

/// Permits of a key that are given back when this is dropped.
///
/// Dropping counts as *ok* in the statistics; [`release`](Self::release) says which.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct KeyedPermit<'a> {
    limiter: &'a KeyedConcurrencyLimiter,
    raw: RawKeyedPermit,
    ok: bool,
}

impl<'a> KeyedPermit<'a> {
    #[inline]
    pub(super) fn new(limiter: &'a KeyedConcurrencyLimiter, raw: RawKeyedPermit) -> Self {
        Self { limiter, raw, ok: true }
    }

    /// How many permits are held.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.raw.permits
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    #[inline]
    pub fn release(mut self, ok: bool) {
        self.ok = ok;
    }
}

impl Drop for KeyedPermit<'_> {
    #[inline]
    fn drop(&mut self) {
        give_back(self.limiter, &self.raw, self.ok);
    }
}

/// [`KeyedPermit`] that keeps its limiter alive, to be moved to other threads and tasks.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct OwnedKeyedPermit {
    limiter: Arc<KeyedConcurrencyLimiter>,
    raw: RawKeyedPermit,
    ok: bool,
}

impl OwnedKeyedPermit {
    pub(super) fn new(limiter: Arc<KeyedConcurrencyLimiter>, raw: RawKeyedPermit) -> Self {
        Self { limiter, raw, ok: true }
    }

    /// How many permits are held.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.raw.permits
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    pub fn release(mut self, ok: bool) {
        self.ok = ok;
    }
}

impl Drop for OwnedKeyedPermit {
    #[inline]
    fn drop(&mut self) {
        give_back(&self.limiter, &self.raw, self.ok);
    }
}

#[inline]
fn give_back(limiter: &KeyedConcurrencyLimiter, raw: &RawKeyedPermit, ok: bool) {
    // What is held is out, unless somebody else gave back by `release` what was never theirs; then there is nothing to do.
    let _held = limiter.release(raw, ok);
}
