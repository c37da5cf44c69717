//! What a concurrency limiter lends.

use super::ConcurrencyLimiter;
use std::sync::Arc;

/// Permits as plain data: for those who carry them across a border and give them back by
/// [`ConcurrencyLimiter::release`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "permits that are not released stay out for ever"]
pub struct RawPermit {
    /// The limiter that lent them; unique in the process.
    pub limiter_id: u64,
    /// How many.
    pub permits: u64,
    /// When, on the limiter's clock; 0 unless hold times are tracked.
    pub acquired_at_ns: u64,
}

/// Permits that are given back when this is dropped.
///
/// Dropping counts as *ok* in the statistics; [`release`](Self::release) says which.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct Permit<'a> {
    limiter: &'a ConcurrencyLimiter,
    raw: Option<RawPermit>,
}

impl<'a> Permit<'a> {
    pub(super) fn new(limiter: &'a ConcurrencyLimiter, raw: RawPermit) -> Self {
        Self { limiter, raw: Some(raw) }
    }

    /// How many permits are held.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.raw.as_ref().map_or(0, |raw| raw.permits)
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    pub fn release(mut self, ok: bool) {
        give_back(self.limiter, &mut self.raw, ok);
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        give_back(self.limiter, &mut self.raw, true);
    }
}

/// [`Permit`] that keeps its limiter alive, to be moved to other threads and tasks.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct OwnedPermit {
    limiter: Arc<ConcurrencyLimiter>,
    raw: Option<RawPermit>,
}

impl OwnedPermit {
    pub(super) fn new(limiter: Arc<ConcurrencyLimiter>, raw: RawPermit) -> Self {
        Self { limiter, raw: Some(raw) }
    }

    /// How many permits are held.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.raw.as_ref().map_or(0, |raw| raw.permits)
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    pub fn release(mut self, ok: bool) {
        give_back(&self.limiter, &mut self.raw, ok);
    }
}

impl Drop for OwnedPermit {
    #[inline]
    fn drop(&mut self) {
        give_back(&self.limiter, &mut self.raw, true);
    }
}

#[inline]
fn give_back(limiter: &ConcurrencyLimiter, raw: &mut Option<RawPermit>, ok: bool) {
    if let Some(raw) = raw.take() {
        let released = limiter.release(&raw, ok);
        debug_assert!(released.is_ok(), "a permit that is held is out: {released:?}");
    }
}
