//! The one word of a concurrency limiter.
//!
//! | bit | meaning |
//! | --- | --- |
//! | 63 | somebody waits (0 until something can wait) |
//! | 62 | closed (0 until something can be closed) |
//! | 31 … 61 | limit |
//! | 0 … 30 | permits out |

/// The largest limit.
pub(crate) const MAX_LIMIT: u64 = (1 << 31) - 1;

const LIMIT_SHIFT: u32 = 31;
const FLAGS: u64 = 0b11 << 62;

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

    #[inline]
    pub(crate) fn available(self) -> u64 {
        self.limit().saturating_sub(self.in_flight())
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
