//! A look at slots: quick, and only a hint. What it tells is proved by an exchange of the slot, or by one load of it whole.
//!
//! All slots of a line are looked at, whatever is found: where in its line a key happens to be is nothing that the processor would
//! have to guess.

use super::slots::LINE;
use crate::sync::AtomicU128;

pub(super) use hint::{bearing, fetch, glimpse};

/// To the language each function here is an atomic load of slots in which halves of different moments may meet; the processor reads
/// each aligned half in one step and in the order of an acquire. (A load of a whole slot that is sure to be one step would be a call
/// to see which instruction there is for it.)
#[cfg(all(target_arch = "x86_64", not(loom)))]
mod hint {
    use super::{AtomicU128, LINE};
    use std::arch::asm;
    use std::arch::x86_64::{
        __m128i, _MM_HINT_T0, _mm_cmpeq_epi32, _mm_cvtsi32_si128, _mm_movemask_epi8, _mm_packs_epi32, _mm_prefetch,
        _mm_set1_epi64x, _mm_setzero_si128, _mm_srl_epi64, _mm_xor_si128,
    };

    /// Which of the slots of a line has a tag on top; the first if several have.
    #[inline(always)]
    pub(in super::super) fn bearing(line: &[AtomicU128; LINE], tag: u64, tag_bits: u32) -> Option<usize> {
        // SAFETY: every x86-64 processor has SSE2.
        let bytes = unsafe {
            let (tag, zero) = (_mm_set1_epi64x((tag << (64 - tag_bits)) as i64), _mm_setzero_si128());
            let below = _mm_cvtsi32_si128(64 - tag_bits as i32);
            let same = |tops| _mm_cmpeq_epi32(_mm_srl_epi64(_mm_xor_si128(tops, tag), below), zero);
            let [low, high] = tops(line);
            // Four bytes for each slot: all ones in two where the lower, in two where the upper half of the tag is the same.
            _mm_movemask_epi8(_mm_packs_epi32(same(low), same(high))) as u32
        };
        let both = bytes & bytes >> 2 & 0x1111;
        (both != 0).then(|| both.trailing_zeros() as usize / 4)
    }

    #[inline(always)]
    pub(in super::super) fn fetch(slot: &AtomicU128) {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { _mm_prefetch(std::ptr::from_ref(slot).cast(), _MM_HINT_T0) }
    }

    /// The top halves of a line's slots.
    #[inline(always)]
    fn tops(line: &[AtomicU128; LINE]) -> [__m128i; 2] {
        let (low, high);
        // SAFETY: reads the line, which is borrowed and aligned. As for the language, see above.
        unsafe {
            asm!(
                "movdqa {low}, xmmword ptr [{line}]",
                "movdqa {high}, xmmword ptr [{line} + 32]",
                "punpckhqdq {low}, xmmword ptr [{line} + 16]",
                "punpckhqdq {high}, xmmword ptr [{line} + 48]",
                line = in(reg) line.as_ptr(),
                low = out(xmm_reg) low,
                high = out(xmm_reg) high,
                options(nostack, preserves_flags, readonly)
            );
        }
        [low, high]
    }

    #[inline(always)]
    pub(in super::super) fn glimpse(slot: &AtomicU128) -> u128 {
        let (low, high): (u64, u64);
        // SAFETY: reads the slot, which is borrowed. As for the language, see above.
        unsafe {
            asm!(
                "mov {low}, qword ptr [{slot}]",
                "mov {high}, qword ptr [{slot} + 8]",
                slot = in(reg) std::ptr::from_ref(slot),
                low = out(reg) low,
                high = lateout(reg) high,
                options(nostack, preserves_flags, readonly)
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }
}

/// Loads whole slots: elsewhere, and under the model checker.
#[cfg(not(all(target_arch = "x86_64", not(loom))))]
mod hint {
    use super::{AtomicU128, LINE};
    use std::sync::atomic::Ordering;

    /// Which of the slots of a line has a tag on top; the first if several have.
    #[inline]
    pub(in super::super) fn bearing(line: &[AtomicU128; LINE], tag: u64, tag_bits: u32) -> Option<usize> {
        let mut hits = 0_u32;
        for (index, slot) in line.iter().enumerate() {
            let same = glimpse(slot) >> (128 - tag_bits) == u128::from(tag);
            hits |= u32::from(same) << index;
        }
        (hits != 0).then(|| hits.trailing_zeros() as usize)
    }

    #[inline]
    pub(in super::super) fn fetch(_slot: &AtomicU128) {}

    #[inline]
    pub(in super::super) fn glimpse(slot: &AtomicU128) -> u128 {
        slot.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const TAG: u64 = 0xA5_0000_0001;

    fn slot(tag: u64, tag_bits: u32, below: u128) -> u128 {
        u128::from(tag) << (128 - tag_bits) | below >> tag_bits
    }

    #[test]
    fn a_tag_is_found_in_whichever_slot_it_is_and_whatever_lies_below() {
        for tag_bits in [40, 48, 56] {
            for below in [0, u128::MAX] {
                for at in 0..LINE {
                    let slots: [AtomicU128; LINE] = std::array::from_fn(|index| {
                        AtomicU128::new(if index == at { slot(TAG, tag_bits, below) } else { 0 })
                    });
                    assert_eq!(bearing(&slots, TAG, tag_bits), Some(at), "{tag_bits} bits");
                    assert_eq!(glimpse(&slots[at]), slot(TAG, tag_bits, below));
                }
            }
        }
    }

    #[test]
    fn a_tag_that_differs_in_one_bit_is_another() {
        for tag_bits in [40, 48, 56] {
            for bit in 0..tag_bits {
                let slots: [AtomicU128; LINE] =
                    std::array::from_fn(|_| AtomicU128::new(slot(TAG ^ 1 << bit, tag_bits, u128::MAX)));
                assert_eq!(bearing(&slots, TAG, tag_bits), None, "bit {bit} of {tag_bits}");
            }
        }
    }
}
