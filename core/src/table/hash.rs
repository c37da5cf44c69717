//! Where a key lives: a keyed hash, and what it says of the table.

use siphasher::sip128::{Hash128, SipHasher13};
use std::hash::{BuildHasher, Hasher, RandomState};

/// SipHash-1-3 with 128 bits of output, under a random seed of each table.
///
/// Who doesn't know the seed can't find keys that share lines (and so slow nothing down, and evict nobody on purpose): SipHash
/// is a pseudo-random function for inputs that an attacker chooses (Aumasson and Bernstein, 2012), in its variant 1-3 the
/// choice of the standard libraries of Rust and Python for their hash tables. No hash leaves the process.
#[derive(Clone)]
pub(crate) struct KeyHasher(SipHasher13);

/// A key's hash: which two lines may hold it, and by what tag it is known there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyHash {
    /// Chooses the lines.
    place: u64,
    /// Chooses the second line and is the source of the tag.
    name: u64,
}

impl KeyHasher {
    pub(crate) fn with_seed(seed: [u64; 2]) -> Self {
        Self(SipHasher13::new_with_keys(seed[0], seed[1]))
    }

    /// A seed from the operating system's randomness, by way of the standard library's.
    pub(crate) fn random_seed() -> [u64; 2] {
        [(); 2].map(|()| RandomState::new().build_hasher().finish())
    }

    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> KeyHash {
        let Hash128 { h1, h2 } = self.0.hash(key);
        KeyHash { place: h1, name: h2 }
    }
}

impl KeyHash {
    /// The tag in `bits` bits; never 0, which is the tag of an empty slot.
    #[inline]
    pub(crate) fn tag(self, bits: u32) -> u64 {
        (self.name >> (64 - bits)).max(1)
    }

    /// Two different lines out of `lines`, of which there are at least two.
    #[inline]
    pub(crate) fn lines(self, lines: usize) -> [usize; 2] {
        let first = scaled(self.place >> 32, lines);
        let other = scaled(self.place & 0xFFFF_FFFF, lines - 1);
        // Skipping the first keeps the other uniform among the rest.
        [first, if other >= first { other + 1 } else { other }]
    }

    /// One of `stripes` locks; a power of two.
    #[inline]
    pub(crate) fn stripe(self, stripes: usize) -> usize {
        self.name as usize & (stripes - 1)
    }
}

/// Multiply-high: 32 random bits to 0 … `count` − 1.
#[inline]
fn scaled(random: u64, count: usize) -> usize {
    ((random * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lines_of_a_key_differ_and_fill_the_table_evenly() {
        let hasher = KeyHasher::with_seed([1, 2]);
        let mut counts = [0_u32; 7];
        for number in 0..70_000_u32 {
            let [first, second] = hasher.hash(&number.to_le_bytes()).lines(7);
            assert_ne!(first, second);
            counts[first] += 1;
            counts[second] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(20_000) < 600), "{counts:?}");
    }

    #[test]
    fn a_tag_is_never_that_of_an_empty_slot() {
        assert_eq!(KeyHash { place: 0, name: 0 }.tag(40), 1);
        assert_eq!(KeyHash { place: 0, name: u64::MAX }.tag(56), (1 << 56) - 1);
    }

    #[test]
    fn another_seed_gives_other_hashes() {
        let hash = |seed| KeyHasher::with_seed(seed).hash(b"key");
        assert_ne!(hash([1, 2]), hash([1, 3]));
        assert_ne!(hash(KeyHasher::random_seed()), hash(KeyHasher::random_seed()));
    }
}
