//! What a concurrency limiter lends.

use super::ConcurrencyLimiter;
use super::shared::Shared;
use std::fmt;
use std::sync::Arc;

/// Permits as plain data: for those who carry them across a border and give them back by
/// [`ConcurrencyLimiter::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "permits that are not released stay out for ever"]
pub struct RawPermit {
    /// The limiter that lent them; unique in the process.
    pub limiter_id: u64,
    /// How many.
    pub permits: u64,
    /// When, on the limiter's clock; 0 unless hold times are tracked.
    pub acquired_at_ns: u64,
    /// In which process, counted by the forks that lie behind it: 0 where there are none.
    pub process: u32,
}

/// Permits that are given back when this is dropped.
///
/// Dropping counts as *ok* in the statistics, or as *failed* while a panic unwinds; [`release`](Self::release) says which.
#[must_use = "permits are given back when this is dropped"]
pub struct Permit<'a> {
    shared: &'a Shared,
    /// The process above, the permits below: in three registers a permit needs no memory, and where it lives in memory nothing is
    /// read in other widths than it was written in (which would be as long as the release itself).
    held: u64,
    acquired_at_ns: u64,
}

impl<'a> Permit<'a> {
    #[inline(always)]
    pub(super) fn new(shared: &'a Shared, raw: RawPermit) -> Self {
        Self { shared, held: u64::from(raw.process) << 32 | raw.permits, acquired_at_ns: raw.acquired_at_ns }
    }

    #[inline(always)]
    fn raw(&self) -> RawPermit {
        let (permits, process) = (self.permits(), (self.held >> 32) as u32);
        RawPermit { limiter_id: self.shared.id, permits, acquired_at_ns: self.acquired_at_ns, process }
    }

    /// How many permits are held.
    #[inline]
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.held & u64::from(u32::MAX)
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    #[inline]
    pub fn release(self, ok: bool) {
        self.shared.give_back_guarded(&self.raw(), ok);
        std::mem::forget(self);
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw().fmt(f)
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.shared.give_back_guarded(&self.raw(), !std::thread::panicking());
    }
}

/// [`Permit`] that keeps its limiter alive, to be moved to other threads and tasks.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct OwnedPermit {
    limiter: Arc<ConcurrencyLimiter>,
    raw: RawPermit,
    /// What was said of the work, if anything was.
    ok: Option<bool>,
}

impl OwnedPermit {
    pub(super) fn new(limiter: Arc<ConcurrencyLimiter>, raw: RawPermit) -> Self {
        Self { limiter, raw, ok: None }
    }

    /// How many permits are held.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.raw.permits
    }

    /// Gives the permits back; `ok` tells the statistics whether the work went well.
    pub fn release(mut self, ok: bool) {
        self.ok = Some(ok);
    }
}

impl Drop for OwnedPermit {
    #[inline]
    fn drop(&mut self) {
        let ok = self.ok.unwrap_or_else(|| !std::thread::panicking());
        self.limiter.shared.give_back_guarded(&self.raw, ok);
    }
}
