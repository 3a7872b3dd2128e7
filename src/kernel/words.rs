//! Integers of 32 bits side by side, in groups of four: what a generator of random numbers mixes.
#![allow(unsafe_code)]

/// As many words as a vector holds, a multiple of 4.
pub trait Words: Copy {
    /// Number of groups of four.
    const FOURS: usize;

    /// The same four words in every group.
    fn repeat(four: [u32; 4]) -> Self;

    /// Group i is `[low, high, 0, 0]`, the halves of `first` + i.
    fn counters(first: u64) -> Self;

    /// Wrapping addition of each word.
    fn add(self, other: Self) -> Self;

    /// Exclusive or of each word.
    fn xor(self, other: Self) -> Self;

    /// Each word rotated to the left by this many bits.
    fn turn<const BITS: i32>(self) -> Self;

    /// Each group rotated so that its second word comes first.
    fn step(self) -> Self;

    /// Writes the first group of each, then the second group of each, and so on.
    fn write(of: [Self; 4], to: &mut [u32]);
}

fn counter(number: u64) -> [u32; 4] {
    [number as u32, (number >> 32) as u32, 0, 0]
}

/// Four words; the compiler puts them into vectors.
impl Words for [u32; 4] {
    const FOURS: usize = 1;

    #[inline(always)]
    fn repeat(four: [u32; 4]) -> Self {
        four
    }

    #[inline(always)]
    fn counters(first: u64) -> Self {
        counter(first)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].wrapping_add(other[i]))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] ^ other[i])
    }

    #[inline(always)]
    fn turn<const BITS: i32>(self) -> Self {
        self.map(|word| word.rotate_left(BITS as u32))
    }

    #[inline(always)]
    fn step(self) -> Self {
        [self[1], self[2], self[3], self[0]]
    }

    #[inline(always)]
    fn write(of: [Self; 4], to: &mut [u32]) {
        to.copy_from_slice(of.as_flattened());
    }
}

// SAFETY of all that follows: the processor has the instructions wherever these types are used, and each read and
// write is as long as the vectors. That is checked where the argument is not an array.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Words, counter};
    use std::arch::x86_64::*;

    impl Words for __m256i {
        const FOURS: usize = 2;

        #[inline(always)]
        fn repeat(four: [u32; 4]) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(four.as_ptr().cast())) }
        }

        #[inline(always)]
        fn counters(first: u64) -> Self {
            let counters: [[u32; 4]; 2] = std::array::from_fn(|i| counter(first.wrapping_add(i as u64)));
            // SAFETY: see above.
            unsafe { _mm256_loadu_si256(counters.as_ptr().cast()) }
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_add_epi32(self, other) }
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_xor_si256(self, other) }
        }

        #[inline(always)]
        fn turn<const BITS: i32>(self) -> Self {
            // SAFETY: see above.
            unsafe {
                let (left, right) = (_mm_cvtsi32_si128(BITS), _mm_cvtsi32_si128(32 - BITS));
                _mm256_or_si256(_mm256_sll_epi32(self, left), _mm256_srl_epi32(self, right))
            }
        }

        #[inline(always)]
        fn step(self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_shuffle_epi32::<0b00_11_10_01>(self) }
        }

        #[inline(always)]
        fn write([a, b, c, d]: [Self; 4], to: &mut [u32]) {
            assert!(to.len() == 32);
            let to: *mut __m256i = to.as_mut_ptr().cast();
            // SAFETY: see above.
            unsafe {
                _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(a, b));
                _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x20>(c, d));
                _mm256_storeu_si256(to.add(2), _mm256_permute2x128_si256::<0x31>(a, b));
                _mm256_storeu_si256(to.add(3), _mm256_permute2x128_si256::<0x31>(c, d));
            }
        }
    }

    impl Words for __m512i {
        const FOURS: usize = 4;

        #[inline(always)]
        fn repeat(four: [u32; 4]) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(four.as_ptr().cast())) }
        }

        #[inline(always)]
        fn counters(first: u64) -> Self {
            let counters: [[u32; 4]; 4] = std::array::from_fn(|i| counter(first.wrapping_add(i as u64)));
            // SAFETY: see above.
            unsafe { _mm512_loadu_si512(counters.as_ptr().cast()) }
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_add_epi32(self, other) }
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_xor_si512(self, other) }
        }

        #[inline(always)]
        fn turn<const BITS: i32>(self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_rol_epi32::<BITS>(self) }
        }

        #[inline(always)]
        fn step(self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_shuffle_epi32::<0b00_11_10_01>(self) }
        }

        #[inline(always)]
        fn write([a, b, c, d]: [Self; 4], to: &mut [u32]) {
            assert!(to.len() == 64);
            let to: *mut __m512i = to.as_mut_ptr().cast();
            // SAFETY: see above.
            unsafe {
                let first = [_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d)];
                let last = [_mm512_shuffle_i32x4::<0xee>(a, b), _mm512_shuffle_i32x4::<0xee>(c, d)];
                _mm512_storeu_si512(to, _mm512_shuffle_i32x4::<0x88>(first[0], first[1]));
                _mm512_storeu_si512(to.add(1), _mm512_shuffle_i32x4::<0xdd>(first[0], first[1]));
                _mm512_storeu_si512(to.add(2), _mm512_shuffle_i32x4::<0x88>(last[0], last[1]));
                _mm512_storeu_si512(to.add(3), _mm512_shuffle_i32x4::<0xdd>(last[0], last[1]));
            }
        }
    }
}
