//! How each instruction set multiplies and adds: the one place with instructions in it. The loops of
//! [`super::generic`] are written on top.
//!
//! Vectors are spelled out because the compiler does not always find them: given plain loops over a small matrix of
//! sums, it vectorises whichever direction it sees first.
#![allow(unsafe_code)]

use super::lanes::{Few, Lanes};

/// Multiply and add, on one number and on a few. Fused where the processor does it in one instruction, two roundings
/// elsewhere.
pub trait Arithmetic: Sized {
    /// Numbers beside each other, at most 16: a vector.
    type Lanes: Lanes;

    /// How many sums the registers hold, with some left for the factors.
    const SUMS: usize;

    /// How many columns of a dense product are worked at once, a multiple of 16: the fewer, the more rows.
    const COLUMNS: usize;

    /// `a·b + c`.
    fn madd(a: f32, b: f32, c: f32) -> f32;

    /// `s ← a·x + s`. P is 1, 2, 4, 8 or a multiple of 16.
    #[inline(always)]
    fn madd_row<const P: usize>(a: f32, x: &[f32; P], s: &mut [f32; P]) {
        for c in 0..P {
            s[c] = Self::madd(a, x[c], s[c]);
        }
    }

    /// `s ← x·y + s`, number by number. P is a multiple of 16.
    #[inline(always)]
    fn madd_each<const P: usize>(x: &[f32; P], y: &[f32; P], s: &mut [f32; P]) {
        for c in 0..P {
            s[c] = Self::madd(x[c], y[c], s[c]);
        }
    }

    /// `s ← max(s, 0)`; NaN stays. P as for [`Arithmetic::madd_row`].
    #[inline(always)]
    fn rectify<const P: usize>(s: &mut [f32; P]) {
        for s in s {
            *s = if *s < 0.0 { 0.0 } else { *s };
        }
    }

    /// `s ← 0` wherever `h` is not positive. P as for [`Arithmetic::madd_row`].
    #[inline(always)]
    fn zero_unless_positive<const P: usize>(h: &[f32; P], s: &mut [f32; P]) {
        for c in 0..P {
            s[c] = if h[c] > 0.0 { s[c] } else { 0.0 };
        }
    }

    /// Which of 16 ids have their bit of `marks` set: bit i is that of the i-th. One beyond `marks` has not.
    #[inline(always)]
    fn marked(ids: &[i32; 16], marks: &[u32]) -> u32 {
        let mut marked = 0;
        for (i, &id) in ids.iter().enumerate() {
            let word = marks.get(id as u32 as usize / 32).copied().unwrap_or(0);
            marked |= (word >> (id & 31) & 1) << i;
        }
        marked
    }

    /// Writes the ids and the values whose bit of `which` is set, of 16, one behind the other to the beginning of two slices,
    /// which hold 16 each, and anything behind them.
    #[inline(always)]
    fn compress(ids: &[i32; 16], values: &[f32; 16], which: u32, to: (&mut [i32], &mut [f32])) {
        // The first one in any case: mostly there is one or none, which no branch foresees. More are rare.
        let first = (which.trailing_zeros() as usize).min(15);
        (to.0[0], to.1[0]) = (ids[first], values[first]);
        let (mut which, mut found) = (which & which.wrapping_sub(1), 1);
        while which != 0 {
            let i = which.trailing_zeros() as usize & 15;
            (to.0[found], to.1[found]) = (ids[i], values[i]);
            found += 1;
            which &= which - 1;
        }
    }
}

/// Every processor: multiply, round, add, round.
pub struct Portable;

impl Arithmetic for Portable {
    type Lanes = Few<Self, 4>;
    const SUMS: usize = 32;
    const COLUMNS: usize = 16;

    #[inline(always)]
    fn madd(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// AArch64.
#[cfg(target_arch = "aarch64")]
pub struct Neon;

#[cfg(target_arch = "aarch64")]
impl Arithmetic for Neon {
    type Lanes = Few<Self, 4>;
    const SUMS: usize = 64;
    const COLUMNS: usize = 16;

    #[inline(always)]
    fn madd(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// x86-64 with AVX2 and FMA. To be used only where the processor has them.
#[cfg(target_arch = "x86_64")]
pub struct Avx2;

/// x86-64 with AVX-512. To be used only where the processor has it.
#[cfg(target_arch = "x86_64")]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Arithmetic, Avx2, Avx512};
    use std::arch::x86_64::*;

    /// Runs `$body` for every `$c` at which a vector of so many lanes begins in an array of P numbers.
    macro_rules! by_vectors {
        ($lanes:literal, $c:ident, $body:expr) => {
            for $c in (0..P).step_by($lanes) {
                // SAFETY: P is a multiple of the lanes, so the vectors lie in the arrays; the processor has the
                // instructions wherever this type is used.
                unsafe { $body }
            }
        };
    }

    impl Arithmetic for Avx2 {
        type Lanes = __m256;
        const SUMS: usize = 96;
        const COLUMNS: usize = 16;

        #[inline(always)]
        fn madd(a: f32, b: f32, c: f32) -> f32 {
            a.mul_add(b, c)
        }

        #[inline(always)]
        fn madd_row<const P: usize>(a: f32, x: &[f32; P], s: &mut [f32; P]) {
            let (x_at, s_at) = (x.as_ptr(), s.as_mut_ptr());
            if P.is_multiple_of(8) {
                by_vectors!(8, c, {
                    let (x, s) = (_mm256_loadu_ps(x_at.add(c)), _mm256_loadu_ps(s_at.add(c)));
                    _mm256_storeu_ps(s_at.add(c), _mm256_fmadd_ps(_mm256_set1_ps(a), x, s))
                });
            } else if P == 4 {
                by_vectors!(4, c, {
                    let (x, s) = (_mm_loadu_ps(x_at.add(c)), _mm_loadu_ps(s_at.add(c)));
                    _mm_storeu_ps(s_at.add(c), _mm_fmadd_ps(_mm_set1_ps(a), x, s))
                });
            } else {
                for c in 0..P {
                    s[c] = Self::madd(a, x[c], s[c]);
                }
            }
        }

        #[inline(always)]
        fn madd_each<const P: usize>(x: &[f32; P], y: &[f32; P], s: &mut [f32; P]) {
            let (x_at, y_at, s_at) = (x.as_ptr(), y.as_ptr(), s.as_mut_ptr());
            by_vectors!(8, c, {
                let (x, y) = (_mm256_loadu_ps(x_at.add(c)), _mm256_loadu_ps(y_at.add(c)));
                _mm256_storeu_ps(s_at.add(c), _mm256_fmadd_ps(x, y, _mm256_loadu_ps(s_at.add(c))))
            });
        }

        // Of a NaN and another number the maximum is the second one, here the NaN.
        #[inline(always)]
        fn rectify<const P: usize>(s: &mut [f32; P]) {
            let s_at = s.as_mut_ptr();
            if P.is_multiple_of(8) {
                by_vectors!(8, c, {
                    let s = _mm256_loadu_ps(s_at.add(c));
                    _mm256_storeu_ps(s_at.add(c), _mm256_max_ps(_mm256_setzero_ps(), s))
                });
            } else if P == 4 {
                by_vectors!(4, c, {
                    let s = _mm_loadu_ps(s_at.add(c));
                    _mm_storeu_ps(s_at.add(c), _mm_max_ps(_mm_setzero_ps(), s))
                });
            } else {
                for s in s {
                    *s = if *s < 0.0 { 0.0 } else { *s };
                }
            }
        }

        #[inline(always)]
        fn zero_unless_positive<const P: usize>(h: &[f32; P], s: &mut [f32; P]) {
            let (h_at, s_at) = (h.as_ptr(), s.as_mut_ptr());
            if P.is_multiple_of(8) {
                by_vectors!(8, c, {
                    let (h, s) = (_mm256_loadu_ps(h_at.add(c)), _mm256_loadu_ps(s_at.add(c)));
                    let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(h, _mm256_setzero_ps());
                    _mm256_storeu_ps(s_at.add(c), _mm256_and_ps(positive, s))
                });
            } else if P == 4 {
                by_vectors!(4, c, {
                    let (h, s) = (_mm_loadu_ps(h_at.add(c)), _mm_loadu_ps(s_at.add(c)));
                    _mm_storeu_ps(s_at.add(c), _mm_and_ps(_mm_cmpgt_ps(h, _mm_setzero_ps()), s))
                });
            } else {
                for c in 0..P {
                    s[c] = if h[c] > 0.0 { s[c] } else { 0.0 };
                }
            }
        }

        #[inline(always)]
        fn marked(ids: &[i32; 16], marks: &[u32]) -> u32 {
            let limit = i32::try_from(marks.len()).unwrap_or(i32::MAX);
            let mut marked = 0;
            for half in [0, 8] {
                // SAFETY: the processor has the instructions, there are 16 ids, and lanes that are not below `limit` read
                // nothing.
                unsafe {
                    let ids = _mm256_loadu_si256(ids.as_ptr().add(half).cast());
                    let at = _mm256_srli_epi32::<5>(ids);
                    let there = _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), at);
                    let none = _mm256_setzero_si256();
                    let words = _mm256_mask_i32gather_epi32::<4>(none, marks.as_ptr().cast(), at, there);
                    // Each bit becomes the sign of its word.
                    let up = _mm256_andnot_si256(ids, _mm256_set1_epi32(31));
                    let signs = _mm256_castsi256_ps(_mm256_sllv_epi32(words, up));
                    marked |= (_mm256_movemask_ps(signs) as u32) << half;
                }
            }
            marked
        }
    }

    impl Arithmetic for Avx512 {
        type Lanes = __m512;
        const SUMS: usize = 128;
        const COLUMNS: usize = 64;

        #[inline(always)]
        fn madd(a: f32, b: f32, c: f32) -> f32 {
            a.mul_add(b, c)
        }

        #[inline(always)]
        fn madd_row<const P: usize>(a: f32, x: &[f32; P], s: &mut [f32; P]) {
            if !P.is_multiple_of(16) {
                return Avx2::madd_row(a, x, s);
            }
            let (x_at, s_at) = (x.as_ptr(), s.as_mut_ptr());
            by_vectors!(16, c, {
                let (x, s) = (_mm512_loadu_ps(x_at.add(c)), _mm512_loadu_ps(s_at.add(c)));
                _mm512_storeu_ps(s_at.add(c), _mm512_fmadd_ps(_mm512_set1_ps(a), x, s))
            });
        }

        #[inline(always)]
        fn madd_each<const P: usize>(x: &[f32; P], y: &[f32; P], s: &mut [f32; P]) {
            let (x_at, y_at, s_at) = (x.as_ptr(), y.as_ptr(), s.as_mut_ptr());
            by_vectors!(16, c, {
                let (x, y) = (_mm512_loadu_ps(x_at.add(c)), _mm512_loadu_ps(y_at.add(c)));
                _mm512_storeu_ps(s_at.add(c), _mm512_fmadd_ps(x, y, _mm512_loadu_ps(s_at.add(c))))
            });
        }

        #[inline(always)]
        fn rectify<const P: usize>(s: &mut [f32; P]) {
            if !P.is_multiple_of(16) {
                return Avx2::rectify(s);
            }
            let s_at = s.as_mut_ptr();
            by_vectors!(16, c, {
                let s = _mm512_loadu_ps(s_at.add(c));
                _mm512_storeu_ps(s_at.add(c), _mm512_max_ps(_mm512_setzero_ps(), s))
            });
        }

        #[inline(always)]
        fn zero_unless_positive<const P: usize>(h: &[f32; P], s: &mut [f32; P]) {
            if !P.is_multiple_of(16) {
                return Avx2::zero_unless_positive(h, s);
            }
            let (h_at, s_at) = (h.as_ptr(), s.as_mut_ptr());
            by_vectors!(16, c, {
                let (h, s) = (_mm512_loadu_ps(h_at.add(c)), _mm512_loadu_ps(s_at.add(c)));
                let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(h, _mm512_setzero_ps());
                _mm512_storeu_ps(s_at.add(c), _mm512_maskz_mov_ps(positive, s))
            });
        }

        #[inline(always)]
        fn marked(ids: &[i32; 16], marks: &[u32]) -> u32 {
            let limit = i32::try_from(marks.len()).unwrap_or(i32::MAX);
            // SAFETY: the processor has the instructions, and lanes that are not below `limit` read nothing.
            unsafe {
                let ids = _mm512_loadu_si512(ids.as_ptr().cast());
                let at = _mm512_srli_epi32::<5>(ids);
                let there = _mm512_cmplt_epu32_mask(at, _mm512_set1_epi32(limit));
                let words = _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), there, at, marks.as_ptr().cast());
                let bits = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(ids, _mm512_set1_epi32(31)));
                u32::from(_mm512_test_epi32_mask(words, bits))
            }
        }

        // In a register, and stored whole: a store of chosen lanes side by side is microcode on some processors.
        #[inline(always)]
        fn compress(ids: &[i32; 16], values: &[f32; 16], which: u32, to: (&mut [i32], &mut [f32])) {
            assert!(to.0.len() >= 16 && to.1.len() >= 16);
            // SAFETY: the processor has the instructions, and there is room for 16 numbers each.
            unsafe {
                let (which, ids) = (which as u16, _mm512_loadu_si512(ids.as_ptr().cast()));
                _mm512_storeu_si512(to.0.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(which, ids));
                let values = _mm512_loadu_ps(values.as_ptr());
                _mm512_storeu_ps(to.1.as_mut_ptr(), _mm512_maskz_compress_ps(which, values));
            }
        }
    }
}
