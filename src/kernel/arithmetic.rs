//! How each instruction set multiplies and adds: the only place with instructions. The loops of [`super::generic`] are
//! written on top of it.
//!
//! Vectors are written out because the compiler does not always find them: given plain loops over a small matrix of
//! sums, it vectorises the direction that it sees first.
#![allow(unsafe_code)]

use super::generic::AT_ONCE;
use super::lanes::{Few, Lanes};
use super::pair::Pair;
use super::words::Words;

/// Multiplication and addition of single numbers and of a few. Fused where the processor does it in one instruction,
/// two roundings elsewhere.
pub trait Arithmetic: Sized {
    /// Floats side by side, at most 16: a vector.
    type Lanes: Lanes;

    /// Sixteen floats side by side: one vector, or several as one.
    type Sixteen: Lanes;

    /// Integers side by side: a vector.
    type Words: Words;

    /// Number of sums that the registers hold, with some left for the factors.
    const SUMS: usize;

    /// Columns of a dense product that are processed at once, a multiple of 16. Fewer columns mean more rows.
    const COLUMNS: usize;

    /// Columns of a sparse product that are processed at once: 64, or more if the sums of a row fit the registers. The
    /// row of the right factor that an entry names is then read in one piece.
    const SPARSE_COLUMNS: usize = 64;

    /// Columns of a wide dense product that are processed at once: 64, whose sums are then kept for 6 rows, or 16 and as
    /// many rows as the registers hold.
    const PANEL: usize = 16;

    /// `a·b + c`.
    fn madd(a: f32, b: f32, c: f32) -> f32;

    /// `s ← a·x + s`. P is 1, 2, 4, 8 or a multiple of 16.
    #[inline(always)]
    fn madd_row<const P: usize>(a: f32, x: &[f32; P], s: &mut [f32; P]) {
        for c in 0..P {
            s[c] = Self::madd(a, x[c], s[c]);
        }
    }

    /// `s ← x·y + s`, elementwise. P is a multiple of 16.
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

    /// `x` with its first `count` numbers, at most 8, replaced by zeros.
    #[inline(always)]
    fn without_first(x: &[f32; 8], count: usize) -> [f32; 8] {
        std::array::from_fn(|c| if c < count { 0.0 } else { x[c] })
    }

    /// Whether all ids are below `bound`.
    #[inline(always)]
    fn all_below(ids: &[i32; AT_ONCE], bound: u32) -> bool {
        ids.iter().all(|&id| (id as u32) < bound)
    }

    /// Which ids are marked by 1 instead of 0: bit i stands for the i-th id. An id beyond `marks` is not marked.
    #[inline(always)]
    fn marked(ids: &[i32; AT_ONCE], marks: &[u8]) -> u32 {
        let mut marked = 0;
        for &id in ids.iter().rev() {
            let Some(&mark) = marks.get(id as u32 as usize) else {
                return marked_one_by_one(ids, marks);
            };
            marked = 2 * marked + u32::from(mark);
        }
        marked
    }

    /// Writes `from` + i for each set bit i of `which` to the beginning of `to`, one after the other. What follows
    /// them in `to` is unspecified.
    #[inline(always)]
    fn write_places(which: u32, from: usize, to: &mut [usize; AT_ONCE]) {
        // The first two in any case: there are rarely more, and a branch on none, one or two would be mispredicted.
        let rest = which & which.wrapping_sub(1);
        to[0] = from + which.trailing_zeros() as usize;
        to[1] = from + rest.trailing_zeros() as usize;
        let (mut rest, mut found) = (rest & rest.wrapping_sub(1), 2);
        while rest != 0 {
            to[found % AT_ONCE] = from + rest.trailing_zeros() as usize;
            found += 1;
            rest &= rest - 1;
        }
    }
}

#[cold]
#[inline(never)]
fn marked_one_by_one(ids: &[i32], marks: &[u8]) -> u32 {
    let marks = ids.iter().map(|&id| marks.get(id as u32 as usize).copied().unwrap_or(0));
    marks.rev().fold(0, |marked, mark| 2 * marked + u32::from(mark))
}

/// For every processor: multiply, round, add, round.
pub struct Portable;

impl Arithmetic for Portable {
    type Lanes = Few<Self, 4>;
    type Sixteen = Pair<Pair<Few<Self, 4>>>;
    type Words = [u32; 4];
    const SUMS: usize = 32;
    const COLUMNS: usize = 16;

    #[inline(always)]
    fn madd(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// AArch64 with NEON.
#[cfg(target_arch = "aarch64")]
pub struct Neon;

#[cfg(target_arch = "aarch64")]
impl Arithmetic for Neon {
    type Lanes = Few<Self, 4>;
    type Sixteen = Pair<Pair<Few<Self, 4>>>;
    type Words = [u32; 4];
    const SUMS: usize = 64;
    const COLUMNS: usize = 16;

    #[inline(always)]
    fn madd(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// x86-64 with AVX2 and FMA. Use it only where the processor has them.
#[cfg(target_arch = "x86_64")]
pub struct Avx2;

/// x86-64 with AVX-512. Use it only where the processor has it.
#[cfg(target_arch = "x86_64")]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{AT_ONCE, Arithmetic, Avx2, Avx512, Pair, marked_one_by_one};
    use std::arch::x86_64::*;

    /// Runs `$body` for every `$c` at which a vector of this many lanes begins in an array of P numbers.
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
        type Sixteen = Pair<__m256>;
        type Words = __m256i;
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

        // The maximum of a NaN and another number is the second operand, here the NaN.
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

        // With a mask of bits. The compiler would select number by number.
        #[inline(always)]
        fn without_first(x: &[f32; 8], count: usize) -> [f32; 8] {
            const BITS: [u32; 16] = [0, 0, 0, 0, 0, 0, 0, 0, !0, !0, !0, !0, !0, !0, !0, !0];
            assert!(count <= 8);
            let mut kept = [0f32; 8];
            // SAFETY: the processor has the instructions, and 8 numbers lie in each array, `count` being at most 8.
            unsafe {
                let bits = _mm256_loadu_ps(BITS.as_ptr().add(8 - count).cast());
                _mm256_storeu_ps(kept.as_mut_ptr(), _mm256_and_ps(_mm256_loadu_ps(x.as_ptr()), bits));
            }
            kept
        }

        #[inline(always)]
        fn all_below(ids: &[i32; AT_ONCE], bound: u32) -> bool {
            let Some(last) = bound.checked_sub(1) else { return false };
            // SAFETY: the processor has the instructions, and there are 8 ids.
            unsafe {
                let ids = _mm256_loadu_si256(ids.as_ptr().cast());
                let within = _mm256_cmpeq_epi32(_mm256_min_epu32(ids, _mm256_set1_epi32(last as i32)), ids);
                _mm256_movemask_ps(_mm256_castsi256_ps(within)) == 0xff
            }
        }

        // One comparison checks all ids. A gather of eight words takes longer than eight loads on some processors, and
        // so does extracting words from a vector, which the compiler would do; hence the volatile reads.
        #[inline(always)]
        fn marked(ids: &[i32; AT_ONCE], marks: &[u8]) -> u32 {
            if !Self::all_below(ids, u32::try_from(marks.len()).unwrap_or(u32::MAX)) {
                return marked_one_by_one(ids, marks);
            }
            // SAFETY: there are 8 ids, and all are within `marks`.
            let mark = |i: usize| unsafe {
                let id = ids.as_ptr().add(i).read_volatile();
                u32::from(*marks.get_unchecked(id as u32 as usize))
            };
            let pair = |i: usize| mark(i) + 2 * mark(i + 1);
            (pair(0) + 4 * pair(2)) + 16 * (pair(4) + 4 * pair(6))
        }
    }

    impl Arithmetic for Avx512 {
        type Lanes = __m512;
        type Sixteen = __m512;
        type Words = __m512i;
        const SUMS: usize = 128;
        const COLUMNS: usize = 64;
        const SPARSE_COLUMNS: usize = 256;
        const PANEL: usize = 64;

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
        fn without_first(x: &[f32; 8], count: usize) -> [f32; 8] {
            Avx2::without_first(x, count)
        }

        #[inline(always)]
        fn all_below(ids: &[i32; AT_ONCE], bound: u32) -> bool {
            Avx2::all_below(ids, bound)
        }

        #[inline(always)]
        fn marked(ids: &[i32; AT_ONCE], marks: &[u8]) -> u32 {
            Avx2::marked(ids, marks)
        }

        // Compressed in a register and stored whole: a compressing store is microcode on some processors.
        #[inline(always)]
        fn write_places(which: u32, from: usize, to: &mut [usize; AT_ONCE]) {
            // SAFETY: the processor has the instructions, and there is room for 8 numbers.
            unsafe {
                let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
                let lanes = _mm512_maskz_compress_epi64(which as u8, lanes);
                let places = _mm512_add_epi64(_mm512_set1_epi64(from as i64), lanes);
                _mm512_storeu_si512(to.as_mut_ptr().cast(), places);
            }
        }
    }
}
