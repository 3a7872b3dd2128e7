//! A few numbers side by side, for loops that the compiler does not vectorise by itself.
#![allow(unsafe_code)]

use super::arithmetic::Arithmetic;
use std::marker::PhantomData;

/// Numbers side by side, processed at once. Each lane has the bits it would have alone.
pub trait Lanes: Copy {
    /// Number of lanes.
    const N: usize;

    /// A yes or no for each lane.
    type Which: Copy;

    /// The same number in every lane.
    fn all(x: f32) -> Self;
    /// Lane i is `x[i·C]`. The slice must have all of them.
    fn every<const C: usize>(x: &[f32]) -> Self;
    /// Lane i is `x[i]`. The slice must have all of them.
    fn read(x: &[f32]) -> Self;
    /// Lane i is `x[i mod H]`. H is 1, 2, 4, 8 or 16, at most the number of lanes; the slice must have H numbers.
    fn repeated<const H: usize>(x: &[f32]) -> Self;
    /// Lane i is the sum of the lanes i mod H. H as for [`Lanes::repeated`]; lanes with the same sum have the same bits.
    fn folded<const H: usize>(self) -> Self;
    /// Writes lane i to `to[i]`. The slice must have all of them.
    fn write(self, to: &mut [f32]);
    /// Writes the first H lanes to `to`, H as for [`Lanes::repeated`]. The slice must have as many.
    fn write_first<const H: usize>(self, to: &mut [f32]);
    /// `self + x`.
    fn plus(self, x: Self) -> Self;
    /// `self − x`.
    fn minus(self, x: Self) -> Self;
    /// `self · x`.
    fn times(self, x: Self) -> Self;
    /// `self / x`.
    fn over(self, x: Self) -> Self;
    /// `self · x + y`, rounded as [`Arithmetic::madd`] does.
    fn madd(self, x: Self, y: Self) -> Self;
    /// The larger of `self` and `x`; NaN where `self` is NaN.
    fn at_least(self, x: Self) -> Self;
    /// `2^k` for lanes of `1.5·2^23 + k`, k in -126 ..= 127.
    fn power_of_two(self) -> Self;
    /// Where `self > x`.
    fn above(self, x: Self) -> Self::Which;
    /// Where `self = x`.
    fn equal(self, x: Self) -> Self::Which;
    /// Where `ids[i]` is `id`. The slice must have all of them.
    fn is(ids: &[i32], id: i32) -> Self::Which;
    /// `x` where `which` says yes, `self` elsewhere.
    fn but(self, which: Self::Which, x: Self) -> Self;
    /// Whether `which` says yes anywhere.
    fn any(which: Self::Which) -> bool;
}

/// An array: a single number, or as many as the compiler makes a vector of.
pub struct Few<A, const N: usize>([f32; N], PhantomData<A>);

impl<A, const N: usize> Clone for Few<A, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, const N: usize> Copy for Few<A, N> {}

impl<A, const N: usize> Few<A, N> {
    #[inline(always)]
    fn new(number: impl Fn(usize) -> f32) -> Self {
        Few(std::array::from_fn(number), PhantomData)
    }
}

impl<A> Few<A, 1> {
    /// One number.
    #[inline(always)]
    pub fn one(x: f32) -> Self {
        Few([x], PhantomData)
    }

    /// The number.
    #[inline(always)]
    pub fn number(self) -> f32 {
        self.0[0]
    }
}

impl<A: Arithmetic, const N: usize> Lanes for Few<A, N> {
    const N: usize = N;

    // All bits, or none.
    type Which = [u32; N];

    #[inline(always)]
    fn all(x: f32) -> Self {
        Few([x; N], PhantomData)
    }

    #[inline(always)]
    fn every<const C: usize>(x: &[f32]) -> Self {
        assert!(x.len() > (N - 1) * C);
        Few::new(|i| x[i * C])
    }

    #[inline(always)]
    fn read(x: &[f32]) -> Self {
        assert!(x.len() >= N);
        Few::new(|i| x[i])
    }

    #[inline(always)]
    fn repeated<const H: usize>(x: &[f32]) -> Self {
        assert!(x.len() >= H);
        Few::new(|i| x[i % H])
    }

    #[inline(always)]
    fn folded<const H: usize>(self) -> Self {
        let (mut sums, mut half) = (self.0, N / 2);
        while half >= H && half > 0 {
            let before = sums;
            for i in 0..N {
                sums[i] = before[i] + before[i ^ half];
            }
            half /= 2;
        }
        Few(sums, PhantomData)
    }

    #[inline(always)]
    fn write(self, to: &mut [f32]) {
        to[..N].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn write_first<const H: usize>(self, to: &mut [f32]) {
        to[..H].copy_from_slice(&self.0[..H]);
    }

    #[inline(always)]
    fn plus(self, x: Self) -> Self {
        Few::new(|i| self.0[i] + x.0[i])
    }

    #[inline(always)]
    fn minus(self, x: Self) -> Self {
        Few::new(|i| self.0[i] - x.0[i])
    }

    #[inline(always)]
    fn times(self, x: Self) -> Self {
        Few::new(|i| self.0[i] * x.0[i])
    }

    #[inline(always)]
    fn over(self, x: Self) -> Self {
        Few::new(|i| self.0[i] / x.0[i])
    }

    #[inline(always)]
    fn madd(self, x: Self, y: Self) -> Self {
        Few::new(|i| A::madd(self.0[i], x.0[i], y.0[i]))
    }

    #[inline(always)]
    fn at_least(self, x: Self) -> Self {
        Few::new(|i| if self.0[i] < x.0[i] { x.0[i] } else { self.0[i] })
    }

    #[inline(always)]
    fn power_of_two(self) -> Self {
        Few::new(|i| f32::from_bits((self.0[i].to_bits() << 23).wrapping_add(0x3f80_0000)))
    }

    #[inline(always)]
    fn above(self, x: Self) -> [u32; N] {
        std::array::from_fn(|i| u32::from(self.0[i] > x.0[i]).wrapping_neg())
    }

    #[inline(always)]
    fn equal(self, x: Self) -> [u32; N] {
        std::array::from_fn(|i| u32::from(self.0[i] == x.0[i]).wrapping_neg())
    }

    #[inline(always)]
    fn is(ids: &[i32], id: i32) -> [u32; N] {
        assert!(ids.len() >= N);
        std::array::from_fn(|i| u32::from(ids[i] == id).wrapping_neg())
    }

    #[inline(always)]
    fn but(self, which: [u32; N], x: Self) -> Self {
        Few::new(|i| f32::from_bits(self.0[i].to_bits() & !which[i] | x.0[i].to_bits() & which[i]))
    }

    #[inline(always)]
    fn any(which: [u32; N]) -> bool {
        which.iter().fold(0, |any, which| any | which) != 0
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// The places of `x[i·C]` for all lanes i.
    const fn places<const N: usize>(step: usize) -> [i32; N] {
        let (mut places, mut i) = ([0; N], 0);
        while i < N {
            places[i] = (i * step) as i32;
            i += 1;
        }
        places
    }

    // SAFETY of all that follows: the processor has the instructions, for the tables of AVX2 alone use it.
    impl Lanes for __m256 {
        const N: usize = 8;

        type Which = __m256;

        #[inline(always)]
        fn all(x: f32) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_set1_ps(x) }
        }

        #[inline(always)]
        fn every<const C: usize>(x: &[f32]) -> Self {
            assert!(x.len() > (8 - 1) * C);
            let places = const { places::<8>(C) };
            // SAFETY: see above, and `x` has all places.
            unsafe { _mm256_i32gather_ps::<4>(x.as_ptr(), _mm256_loadu_si256(places.as_ptr().cast())) }
        }

        #[inline(always)]
        fn read(x: &[f32]) -> Self {
            assert!(x.len() >= 8);
            // SAFETY: see above, and `x` has numbers for all lanes.
            unsafe { _mm256_loadu_ps(x.as_ptr()) }
        }

        #[inline(always)]
        fn repeated<const H: usize>(x: &[f32]) -> Self {
            assert!(x.len() >= H);
            // SAFETY: see above, and `x` has H numbers.
            unsafe {
                match H {
                    1 => _mm256_set1_ps(x[0]),
                    2 => _mm256_castpd_ps(_mm256_set1_pd(x.as_ptr().cast::<f64>().read_unaligned())),
                    4 => {
                        let four = _mm_loadu_ps(x.as_ptr());
                        _mm256_set_m128(four, four)
                    }
                    _ => Self::read(x),
                }
            }
        }

        #[inline(always)]
        fn folded<const H: usize>(mut self) -> Self {
            // SAFETY: see above. Each step adds the lanes whose number differs in one bit.
            unsafe {
                if H <= 4 {
                    self = _mm256_add_ps(self, _mm256_permute2f128_ps::<1>(self, self));
                }
                if H <= 2 {
                    self = _mm256_add_ps(self, _mm256_permute_ps::<0x4e>(self));
                }
                if H <= 1 {
                    self = _mm256_add_ps(self, _mm256_permute_ps::<0xb1>(self));
                }
            }
            self
        }

        #[inline(always)]
        fn write(self, to: &mut [f32]) {
            assert!(to.len() >= 8);
            // SAFETY: see above, and there is room for all lanes.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self) };
        }

        #[inline(always)]
        fn write_first<const H: usize>(self, to: &mut [f32]) {
            assert!(to.len() >= H);
            // SAFETY: see above, and there is room for H lanes.
            unsafe {
                match H {
                    1 => to[0] = _mm256_cvtss_f32(self),
                    2 => _mm_storel_pd(to.as_mut_ptr().cast(), _mm_castps_pd(_mm256_castps256_ps128(self))),
                    4 => _mm_storeu_ps(to.as_mut_ptr(), _mm256_castps256_ps128(self)),
                    _ => self.write(to),
                }
            }
        }

        #[inline(always)]
        fn plus(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_add_ps(self, x) }
        }

        #[inline(always)]
        fn minus(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_sub_ps(self, x) }
        }

        #[inline(always)]
        fn times(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_mul_ps(self, x) }
        }

        #[inline(always)]
        fn over(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_div_ps(self, x) }
        }

        #[inline(always)]
        fn madd(self, x: Self, y: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_fmadd_ps(self, x, y) }
        }

        #[inline(always)]
        fn at_least(self, x: Self) -> Self {
            // SAFETY: see above. Of a NaN and another number the maximum is the second one.
            unsafe { _mm256_max_ps(x, self) }
        }

        #[inline(always)]
        fn power_of_two(self) -> Self {
            // SAFETY: see above.
            unsafe {
                let up = _mm256_slli_epi32::<23>(_mm256_castps_si256(self));
                _mm256_castsi256_ps(_mm256_add_epi32(up, _mm256_set1_epi32(0x3f80_0000)))
            }
        }

        #[inline(always)]
        fn above(self, x: Self) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_cmp_ps::<_CMP_GT_OQ>(self, x) }
        }

        #[inline(always)]
        fn equal(self, x: Self) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self, x) }
        }

        #[inline(always)]
        fn is(ids: &[i32], id: i32) -> __m256 {
            assert!(ids.len() >= 8);
            // SAFETY: see above, and there are ids for all lanes.
            unsafe {
                _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_loadu_si256(ids.as_ptr().cast()), _mm256_set1_epi32(id)))
            }
        }

        #[inline(always)]
        fn but(self, which: __m256, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm256_blendv_ps(self, x, which) }
        }

        #[inline(always)]
        fn any(which: __m256) -> bool {
            // SAFETY: see above.
            unsafe { _mm256_movemask_ps(which) != 0 }
        }
    }

    // SAFETY of all that follows: the processor has the instructions, for the tables of AVX-512 alone use it.
    impl Lanes for __m512 {
        const N: usize = 16;

        type Which = __mmask16;

        #[inline(always)]
        fn all(x: f32) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_set1_ps(x) }
        }

        #[inline(always)]
        fn every<const C: usize>(x: &[f32]) -> Self {
            assert!(x.len() > (16 - 1) * C);
            let places = const { places::<16>(C) };
            // SAFETY: see above, and `x` has all places.
            unsafe { _mm512_i32gather_ps::<4>(_mm512_loadu_si512(places.as_ptr().cast()), x.as_ptr().cast()) }
        }

        #[inline(always)]
        fn read(x: &[f32]) -> Self {
            assert!(x.len() >= 16);
            // SAFETY: see above, and `x` has numbers for all lanes.
            unsafe { _mm512_loadu_ps(x.as_ptr()) }
        }

        #[inline(always)]
        fn repeated<const H: usize>(x: &[f32]) -> Self {
            assert!(x.len() >= H);
            // SAFETY: see above, and `x` has H numbers.
            unsafe {
                match H {
                    1 => _mm512_set1_ps(x[0]),
                    2 => _mm512_castpd_ps(_mm512_set1_pd(x.as_ptr().cast::<f64>().read_unaligned())),
                    4 => _mm512_broadcast_f32x4(_mm_loadu_ps(x.as_ptr())),
                    8 => _mm512_broadcast_f32x8(_mm256_loadu_ps(x.as_ptr())),
                    _ => Self::read(x),
                }
            }
        }

        #[inline(always)]
        fn folded<const H: usize>(mut self) -> Self {
            // SAFETY: see above. Each step adds the lanes whose number differs in one bit.
            unsafe {
                if H <= 8 {
                    self = _mm512_add_ps(self, _mm512_shuffle_f32x4::<0x4e>(self, self));
                }
                if H <= 4 {
                    self = _mm512_add_ps(self, _mm512_shuffle_f32x4::<0xb1>(self, self));
                }
                if H <= 2 {
                    self = _mm512_add_ps(self, _mm512_permute_ps::<0x4e>(self));
                }
                if H <= 1 {
                    self = _mm512_add_ps(self, _mm512_permute_ps::<0xb1>(self));
                }
            }
            self
        }

        #[inline(always)]
        fn write(self, to: &mut [f32]) {
            assert!(to.len() >= 16);
            // SAFETY: see above, and there is room for all lanes.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self) };
        }

        #[inline(always)]
        fn write_first<const H: usize>(self, to: &mut [f32]) {
            assert!(to.len() >= H);
            // SAFETY: see above, and there is room for H lanes.
            unsafe {
                match H {
                    1 => to[0] = _mm512_cvtss_f32(self),
                    2 => _mm_storel_pd(to.as_mut_ptr().cast(), _mm_castps_pd(_mm512_castps512_ps128(self))),
                    4 => _mm_storeu_ps(to.as_mut_ptr(), _mm512_castps512_ps128(self)),
                    8 => _mm256_storeu_ps(to.as_mut_ptr(), _mm512_castps512_ps256(self)),
                    _ => self.write(to),
                }
            }
        }

        #[inline(always)]
        fn plus(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_add_ps(self, x) }
        }

        #[inline(always)]
        fn minus(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_sub_ps(self, x) }
        }

        #[inline(always)]
        fn times(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_mul_ps(self, x) }
        }

        #[inline(always)]
        fn over(self, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_div_ps(self, x) }
        }

        #[inline(always)]
        fn madd(self, x: Self, y: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_fmadd_ps(self, x, y) }
        }

        #[inline(always)]
        fn at_least(self, x: Self) -> Self {
            // SAFETY: see above. Of a NaN and another number the maximum is the second one.
            unsafe { _mm512_max_ps(x, self) }
        }

        #[inline(always)]
        fn power_of_two(self) -> Self {
            // SAFETY: see above.
            unsafe {
                let up = _mm512_slli_epi32::<23>(_mm512_castps_si512(self));
                _mm512_castsi512_ps(_mm512_add_epi32(up, _mm512_set1_epi32(0x3f80_0000)))
            }
        }

        #[inline(always)]
        fn above(self, x: Self) -> __mmask16 {
            // SAFETY: see above.
            unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self, x) }
        }

        #[inline(always)]
        fn equal(self, x: Self) -> __mmask16 {
            // SAFETY: see above.
            unsafe { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self, x) }
        }

        #[inline(always)]
        fn is(ids: &[i32], id: i32) -> __mmask16 {
            assert!(ids.len() >= 16);
            // SAFETY: see above, and there are ids for all lanes.
            unsafe { _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(ids.as_ptr().cast()), _mm512_set1_epi32(id)) }
        }

        #[inline(always)]
        fn but(self, which: __mmask16, x: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_mask_mov_ps(self, which, x) }
        }

        #[inline(always)]
        fn any(which: __mmask16) -> bool {
            which != 0
        }
    }
}
