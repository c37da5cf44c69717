//! The hashes of many keys: four side by side, where the processor can, take half of the time that they take one after the other.

use super::hash::{KeyHash, KeyHasher};

impl KeyHasher {
    /// Writes the [`hash`](Self::hash) of each key.
    #[inline]
    pub(crate) fn hash_many<K: AsRef<[u8]>>(&self, keys: &[K], hashes: &mut [KeyHash]) {
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            for (keys, hashes) in keys.as_chunks().0.iter().zip(hashes.as_chunks_mut().0) {
                // SAFETY: the processor has AVX2.
                *hashes = unsafe { lanes::hash_four(self, keys.each_ref().map(AsRef::as_ref)) };
                done += keys.len();
            }
        }
        for (key, hash) in keys.iter().zip(hashes).skip(done) {
            *hash = self.hash(key.as_ref());
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod lanes {
    use super::super::hash::{KeyHash, KeyHasher, last_word, start};
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_blendv_epi8, _mm256_cmpgt_epi64, _mm256_or_si256, _mm256_set_epi64x,
        _mm256_set1_epi64x, _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_xor_si256,
    };
    use std::array::from_fn;
    use std::mem::transmute;

    /// The states of four hashes; a step of one is a step of all.
    #[derive(Clone, Copy)]
    struct Sip([__m256i; 4]);

    struct Prepared<'k> {
        words: [&'k [[u8; 8]]; 4],
        counts: [u64; 4],
        last: [u64; 4],
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn hash_four(hasher: &KeyHasher, keys: [&[u8]; 4]) -> [KeyHash; 4] {
        let Prepared { words, counts, last } = prepared(keys);
        let (fewest, most) = span(counts);
        let [a, b, c, d] = start(hasher);
        let mut sip = Sip([all(a), all(b), all(c), all(d)]);
        for place in 0..most {
            let before = sip;
            sip.take(each(at(words, place)));
            if place >= fewest {
                // A key that has no such word stays as it was.
                let takes = _mm256_cmpgt_epi64(each(counts), all(place));
                for (part, before) in sip.0.iter_mut().zip(before.0) {
                    *part = _mm256_blendv_epi8(before, *part, takes);
                }
            }
        }
        sip.take(each(last));
        sip.0[2] = _mm256_xor_si256(sip.0[2], all(0xEE));
        let places = sip.finish();
        sip.0[1] = _mm256_xor_si256(sip.0[1], all(0xDD));
        joined(places, sip.finish())
    }

    // What is called with a function is inlined only from outside of the code that has features.

    #[inline(always)]
    fn prepared(keys: [&[u8]; 4]) -> Prepared<'_> {
        let words = keys.map(|key| key.as_chunks().0);
        Prepared { words, counts: words.map(|words| words.len() as u64), last: keys.map(last_word) }
    }

    #[inline(always)]
    fn span([a, b, c, d]: [u64; 4]) -> (u64, u64) {
        (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)))
    }

    #[inline(always)]
    fn at(words: [&[[u8; 8]]; 4], place: u64) -> [u64; 4] {
        words.map(|words| words.get(place as usize).map_or(0, |word| u64::from_le_bytes(*word)))
    }

    #[inline(always)]
    fn joined(places: [u64; 4], names: [u64; 4]) -> [KeyHash; 4] {
        from_fn(|lane| KeyHash::new([places[lane], names[lane]]))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn all(word: u64) -> __m256i {
        _mm256_set1_epi64x(word as i64)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn each([a, b, c, d]: [u64; 4]) -> __m256i {
        _mm256_set_epi64x(d as i64, c as i64, b as i64, a as i64)
    }

    /// `RIGHT` is 64 less `LEFT`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn rotated<const LEFT: i32, const RIGHT: i32>(words: __m256i) -> __m256i {
        const { assert!(LEFT + RIGHT == 64) };
        _mm256_or_si256(_mm256_slli_epi64(words, LEFT), _mm256_srli_epi64(words, RIGHT))
    }

    impl Sip {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn take(&mut self, words: __m256i) {
            self.0[3] = _mm256_xor_si256(self.0[3], words);
            self.round();
            self.0[0] = _mm256_xor_si256(self.0[0], words);
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn finish(&mut self) -> [u64; 4] {
            for _ in 0..3 {
                self.round();
            }
            let [a, b, c, d] = self.0;
            let hashes = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
            // SAFETY: both are 32 bytes, of which all values are valid.
            unsafe { transmute(hashes) }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        fn round(&mut self) {
            /// Swaps the halves of each word.
            const HALVES: i32 = 0b10_11_00_01;
            let [mut a, mut b, mut c, mut d] = self.0;
            a = _mm256_add_epi64(a, b);
            c = _mm256_add_epi64(c, d);
            b = _mm256_xor_si256(rotated::<13, 51>(b), a);
            d = _mm256_xor_si256(rotated::<16, 48>(d), c);
            a = _mm256_shuffle_epi32(a, HALVES);
            c = _mm256_add_epi64(c, b);
            a = _mm256_add_epi64(a, d);
            b = _mm256_xor_si256(rotated::<17, 47>(b), c);
            d = _mm256_xor_si256(rotated::<21, 43>(d), a);
            c = _mm256_shuffle_epi32(c, HALVES);
            self.0 = [a, b, c, d];
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_hashes_are_those_of_each(keys in proptest::collection::vec("[a-z]{0,40}", 0..40), seed: [u64; 2]) {
            let hasher = KeyHasher::with_seed(seed);
            let mut hashes = vec![KeyHash::default(); keys.len()];
            hasher.hash_many(&keys, &mut hashes);
            let singly: Vec<_> = keys.iter().map(|key| hasher.hash(key.as_bytes())).collect();
            prop_assert_eq!(hashes, singly);
        }
    }
}
