//! The one word of a concurrency limiter.
//!
//! | bit | meaning |
//! | --- | --- |
//! | 63 | somebody waits: only the head of the queue may take |
//! | 62 | closed: nobody may take |
//! | 31 … 61 | limit |
//! | 0 … 30 | permits out |

use crate::Status;

/// The largest limit.
pub(crate) const MAX_LIMIT: u64 = (1 << 31) - 1;

const LIMIT_SHIFT: u32 = 31;
const WAITERS: u64 = 1 << 63;
const CLOSED: u64 = 1 << 62;
const FLAGS: u64 = WAITERS | CLOSED;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    #[inline]
    pub(crate) fn new(limit: u64) -> Self {
        Self(limit << LIMIT_SHIFT)
    }

    #[inline]
    pub(crate) fn limit(self) -> u64 {
        (self.0 >> LIMIT_SHIFT) & MAX_LIMIT
    }

    #[inline]
    pub(crate) fn in_flight(self) -> u64 {
        self.0 & MAX_LIMIT
    }

    /// What whoever comes may take.
    #[inline]
    pub(crate) fn available(self) -> u64 {
        if self.0 & FLAGS == 0 { self.unused() } else { 0 }
    }

    /// What the head of the queue may take.
    #[inline]
    pub(crate) fn unused(self) -> u64 {
        self.limit().saturating_sub(self.in_flight())
    }

    #[inline]
    pub(crate) fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }

    pub(crate) fn with_waiters(self, waiters: bool) -> Self {
        Self(if waiters { self.0 | WAITERS } else { self.0 & !WAITERS })
    }

    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(crate) fn closed(self) -> Self {
        Self(self.0 | CLOSED)
    }

    /// With nothing out, and nobody waiting.
    pub(crate) fn afresh(self) -> Self {
        Self(self.0 & !(WAITERS | MAX_LIMIT))
    }

    /// Why `permits` can't be had, however long one waits.
    pub(crate) fn refusal(self, permits: u64) -> Option<Status> {
        match self.limit() {
            _ if self.is_closed() => Some(Status::Closed),
            // A limit of 0 is a pause.
            0 => None,
            limit => (permits > limit).then_some(Status::ExceedsCapacity),
        }
    }

    pub(crate) fn with_limit(self, limit: u64) -> Self {
        Self(self.0 & (FLAGS | MAX_LIMIT) | limit << LIMIT_SHIFT)
    }

    /// With `permits` more out; they must be available.
    #[inline]
    pub(crate) fn taken(self, permits: u64) -> Self {
        Self(self.0 + permits)
    }

    /// With `permits` fewer out, if so many are out.
    #[inline]
    pub(crate) fn returned(self, permits: u64) -> Option<Self> {
        (permits <= self.in_flight()).then(|| Self(self.0 - permits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_keep_to_their_bits() {
        let word = Word(FLAGS).with_limit(MAX_LIMIT).taken(MAX_LIMIT);
        assert_eq!((word.limit(), word.in_flight(), word.0), (MAX_LIMIT, MAX_LIMIT, u64::MAX));
        let lowered = word.with_limit(2);
        assert_eq!((lowered.limit(), lowered.in_flight(), lowered.available()), (2, MAX_LIMIT, 0));
        assert_eq!(lowered.returned(MAX_LIMIT).map(Word::in_flight), Some(0));
        assert_eq!(Word::new(3).taken(2).returned(3), None);
    }
}
