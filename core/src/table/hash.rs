//! Where a key lives: a keyed hash, and what it says of the table.

#[cfg(not(loom))]
use std::hash::{BuildHasher, Hasher, RandomState};

/// SipHash-1-3 with 128 bits of output, under a random seed of each table.
///
/// Who doesn't know the seed can't find keys that share lines (and so slow nothing down, and evict nobody on purpose): SipHash
/// is a pseudo-random function for inputs that an attacker chooses (Aumasson and Bernstein, 2012), in its variant 1-3 the
/// choice of the standard libraries of Rust and Python for their hash tables. No hash leaves the process.
#[derive(Clone)]
pub(crate) struct KeyHasher([u64; 2]);

/// A key's hash: which two lines may hold it, and by what tag it is known there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyHash {
    /// Chooses the lines.
    place: u64,
    /// Chooses the second line and is the source of the tag.
    name: u64,
}

impl KeyHasher {
    pub(crate) fn with_seed(seed: [u64; 2]) -> Self {
        Self(seed)
    }

    /// A seed from the operating system's randomness, by way of the standard library's.
    #[cfg(not(loom))]
    pub(crate) fn random_seed() -> [u64; 2] {
        [(); 2].map(|()| RandomState::new().build_hasher().finish())
    }

    /// The model checker must find the same in each run.
    #[cfg(loom)]
    pub(crate) fn random_seed() -> [u64; 2] {
        [1, 2]
    }

    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash::new(sip_1_3_128(self, key))
    }
}

/// SipHash with one round a word and three at the end, 128 bits out. Our own since it is a third of a decision, and inlined here: all in
/// registers, and what is left behind the last whole word is read without a branch on how much it is.
#[inline(always)]
fn sip_1_3_128(hasher: &KeyHasher, key: &[u8]) -> [u64; 2] {
    let mut state = Sip(start(hasher));
    for word in key.as_chunks::<8>().0 {
        state.take(u64::from_le_bytes(*word));
    }
    state.take(last_word(key));
    state.0[2] ^= 0xEE;
    let first = state.finish();
    state.0[1] ^= 0xDD;
    [first, state.finish()]
}

/// The state before the first word.
#[inline(always)]
pub(super) fn start(&KeyHasher([low, high]): &KeyHasher) -> [u64; 4] {
    [
        low ^ 0x736F_6D65_7073_6575,
        high ^ 0x646F_7261_6E64_6F6D ^ 0xEE,
        low ^ 0x6C79_6765_6E65_7261,
        high ^ 0x7465_6462_7974_6573,
    ]
}

/// What is left behind the last whole word, with the length on top.
#[inline(always)]
pub(super) fn last_word(key: &[u8]) -> u64 {
    let rest = key.as_chunks::<8>().1;
    let rest_word = match key.last_chunk::<8>() {
        // The last eight bytes, without those that belong to the word before. In two shifts, since one by 64 is none.
        Some(last) => (u64::from_le_bytes(*last) >> 8) >> (56 - 8 * rest.len()),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (key.len() as u64) << 56 | rest_word
}

struct Sip([u64; 4]);

impl Sip {
    #[inline]
    fn take(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.0[0] ^= word;
    }

    #[inline]
    fn finish(&mut self) -> u64 {
        for _ in 0..3 {
            self.round();
        }
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }

    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32);
        c = c.wrapping_add(b);
        a = a.wrapping_add(d);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }
}

impl KeyHash {
    #[inline(always)]
    pub(super) fn new([place, name]: [u64; 2]) -> Self {
        Self { place, name }
    }

    /// The tag in `bits` bits; never 0, which is the tag of an empty slot.
    #[inline]
    pub(crate) fn tag(self, bits: u32) -> u64 {
        (self.name >> (64 - bits)).max(1)
    }

    /// Two different lines out of `lines`, of which there are at least two.
    #[inline]
    pub(super) fn lines(self, lines: usize) -> [usize; 2] {
        let first = scaled(self.place >> 32, lines);
        let other = scaled(self.place & 0xFFFF_FFFF, lines - 1);
        // Skipping the first keeps the other uniform among the rest.
        [first, if other >= first { other + 1 } else { other }]
    }

    /// The first eight bits, which every tag begins with: so a slot tells the stripe of its key, too.
    pub(crate) fn stripe(self) -> u8 {
        (self.name >> 56) as u8
    }

    /// What a decision remembers of its key; never 0, which stands for no key.
    #[inline]
    pub(crate) fn id(self) -> u64 {
        self.name.max(1)
    }
}

/// Multiply-high: 32 random bits to 0 … `count` − 1.
#[inline]
fn scaled(random: u64, count: usize) -> usize {
    ((random * count as u64) >> 32) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use siphasher::sip128::{Hash128, SipHasher13};

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
    fn the_hash_is_siphash_for_keys_of_every_length() {
        for length in 0..=100 {
            let strategy = proptest::collection::vec(any::<u8>(), length);
            proptest!(ProptestConfig::with_cases(16), |(seed: [u64; 2], key in strategy)| {
                let Hash128 { h1, h2 } = SipHasher13::new_with_keys(seed[0], seed[1]).hash(&key);
                prop_assert_eq!(sip_1_3_128(&KeyHasher(seed), &key), [h1, h2]);
            });
        }
    }

    #[test]
    fn a_tag_is_never_that_of_an_empty_slot() {
        assert_eq!(KeyHash { place: 0, name: 0 }.tag(40), 1);
        assert_eq!(KeyHash { place: 0, name: u64::MAX }.tag(56), (1 << 56) - 1);
    }

    #[test]
    fn the_stripe_of_a_key_is_read_off_its_tag() {
        let hasher = KeyHasher::with_seed([1, 2]);
        for number in 0..1_000_u32 {
            let hash = hasher.hash(&number.to_le_bytes());
            for bits in [40, 48, 56] {
                assert_eq!(u64::from(hash.stripe()), hash.tag(bits) >> (bits - 8));
            }
        }
    }

    #[test]
    fn another_seed_gives_other_hashes() {
        let hash = |seed| KeyHasher::with_seed(seed).hash(b"key");
        assert_ne!(hash([1, 2]), hash([1, 3]));
        assert_ne!(hash(KeyHasher::random_seed()), hash(KeyHasher::random_seed()));
    }
}
