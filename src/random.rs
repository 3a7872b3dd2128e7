//! Random numbers by key: the same (seed, purpose, step, layer) always gives the same stream.
//!
//! The generator is ChaCha with 8 rounds. Its 256-bit key holds the four numbers, its counter is the index within the
//! stream. Integers and reals are made from its words here, so that a release of another crate cannot change them.

use crate::kernel::{CHACHA_WORDS, exchange_last, table};
use rand_core::block::{BlockRng, Generator};
use rand_core::{Infallible, TryRng};
use rand_distr::Distribution;

/// What a stream is for. Streams of different purposes share no numbers, even with the same seed.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Initial parameters of a model.
    Parameters = 1,
    /// Points and edges of the built-in Mixture graph.
    Mixture = 2,
    /// The nodes an estimator draws.
    Draws = 3,
    /// The order of the training nodes.
    Shuffle = 4,
    /// Draws that only measure an estimator.
    Probe = 5,
    /// Numbers that dropout drops.
    Masks = 6,
}

pub use crate::kernel::mix_key as mix;

/// The key of the numbers that a dropout drops. Mixed with a node, it is the key of that node's row: a node loses the same numbers
/// in whatever company it is computed.
pub fn mask_key(seed: u64, step: u64, value: u64) -> u64 {
    mix(mix(mix(Purpose::Masks as u64, seed), step), value)
}

/// A stream of random numbers.
pub struct Stream(BlockRng<ChaCha8>);

/// The source of a stream's words, many at once. The crate `chacha20` makes 64 at once, also with AVX-512; that took
/// an eighth of the time of Mixture's steps.
struct ChaCha8 {
    key: [u32; 8],
    /// The next block.
    counter: u64,
}

impl Generator for ChaCha8 {
    type Output = [u32; CHACHA_WORDS];

    fn generate(&mut self, words: &mut [u32; CHACHA_WORDS]) {
        table().chacha8(&self.key, self.counter, words);
        self.counter += (CHACHA_WORDS / 16) as u64;
    }
}

/// The interface that distributions draw from.
impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64_from_u32())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl Stream {
    /// The stream of this key.
    pub fn new(seed: u64, purpose: Purpose, step: u64, layer: u64) -> Self {
        let mut key = [0; 8];
        for (words, number) in key.as_chunks_mut::<2>().0.iter_mut().zip([seed, purpose as u64, step, layer]) {
            *words = [number as u32, (number >> 32) as u32];
        }
        Stream(BlockRng::new(ChaCha8 { key, counter: 0 }))
    }

    /// An integer in `0 .. n`, uniformly. `n` must not be 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's method: the high half of a product with a random word, redrawn in the rare case that would favour
        // some numbers. Half a word has enough bits for small n.
        if let Ok(n) = u32::try_from(n) {
            loop {
                let product = u64::from(self.0.next_word()) * u64::from(n);
                if product as u32 >= n || product as u32 >= n.wrapping_neg() % n {
                    return product >> 32;
                }
            }
        }
        loop {
            let product = u128::from(self.0.next_u64_from_u32()) * u128::from(n);
            if product as u64 >= n || product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// The numbers that as many calls of [`Stream::below`] return if none of them has to be redrawn; otherwise other
    /// numbers of the same distribution. `n` must not be 0 unless `out` is empty.
    pub fn fill_below(&mut self, n: u32, out: &mut [i32]) {
        const AT_ONCE: usize = 64;
        if out.is_empty() {
            return;
        }
        // If the lower half of a product is less than this, its number would come too often.
        let least = n.wrapping_neg() % n;
        let mut bytes = [0u8; 4 * AT_ONCE];
        for out in out.chunks_mut(AT_ONCE) {
            let bytes = &mut bytes[..4 * out.len()];
            self.0.fill_bytes(bytes);
            let mut redraw = false;
            for (out, word) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
                let product = u64::from(u32::from_le_bytes(*word)) * u64::from(n);
                *out = (product >> 32) as i32;
                redraw |= (product as u32) < least;
            }
            if redraw {
                out.iter_mut().for_each(|out| *out = self.below(u64::from(n)) as i32);
            }
        }
    }

    /// Shuffles a list, uniformly over all orders: as a call of [`Stream::below`] for each place would, except for
    /// words that it leaves unused at the end.
    pub fn shuffle(&mut self, list: &mut [i32]) {
        const AT_ONCE: usize = 64;
        let mut bytes = [0u8; 4 * AT_ONCE];
        let mut left = list.len();
        while left > 1 {
            let now = (left - 1).min(AT_ONCE);
            self.0.fill_bytes(&mut bytes);
            let (words, mut others, mut redraw) = (bytes.as_chunks::<4>().0, [0; AT_ONCE], false);
            let mut choices = left as u32;
            for (other, word) in others[..now].iter_mut().zip(words) {
                let product = u64::from(u32::from_le_bytes(*word)) * u64::from(choices);
                *other = (product >> 32) as u32;
                // A superset of the words that must be redrawn.
                redraw |= (product as u32) < choices;
                choices -= 1;
            }
            if redraw {
                self.draw_places(left, words, &mut others[..now]);
            }
            exchange_last(&mut list[..left], &others[..now]);
            left -= now;
        }
    }

    /// Draws for each of the last places of `left`, as many as `others` has, one of the places up to it, from these
    /// words and then from further ones.
    #[cold]
    fn draw_places(&mut self, left: usize, words: &[[u8; 4]], others: &mut [u32]) {
        let mut words = words.iter();
        for (i, other) in others.iter_mut().enumerate() {
            let choices = (left - i) as u32;
            *other = loop {
                let word = words.next().map_or_else(|| self.0.next_word(), |word| u32::from_le_bytes(*word));
                let product = u64::from(word) * u64::from(choices);
                if product as u32 >= choices.wrapping_neg() % choices {
                    break (product >> 32) as u32;
                }
            };
        }
    }

    /// A random word, such as a seed for other streams.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64_from_u32()
    }

    /// A real in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64_from_u32() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A normal variate with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        // Box and Muller, one of the pair: 1 - u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The number of successes in `trials` independent trials of probability `p`.
    pub fn binomial(&mut self, trials: u64, p: f64) -> u64 {
        match rand_distr::Binomial::new(trials, p.clamp(0.0, 1.0)) {
            Ok(distribution) => distribution.sample(self),
            Err(_) => 0,
        }
    }

    /// The number of failures before the first success of probability `p`, in (0, 1).
    pub fn geometric(&mut self, p: f64) -> u64 {
        // Saturates: `as` returns u64::MAX for anything larger.
        ((1.0 - self.unit()).ln() / (-p).ln_1p()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(step: u64) -> Stream {
        Stream::new(1, Purpose::Draws, step, 0)
    }

    /// Asserts that the mean of `count` draws is within 5 standard errors of what it should be.
    fn assert_mean(mean: f64, variance: f64, count: usize, mut draw: impl FnMut() -> f64) {
        let found = (0..count).map(|_| draw()).sum::<f64>() / count as f64;
        let error = (variance / count as f64).sqrt();
        assert!((found - mean).abs() <= 5.0 * error, "the mean is {found}, not {mean} ± {error}");
    }

    #[test]
    fn the_key_alone_decides_the_numbers() {
        let words = |mut s: Stream| (0..10).map(|_| s.below(1 << 60)).collect::<Vec<_>>();
        let key = |seed, purpose, step, layer| words(Stream::new(seed, purpose, step, layer));
        let base = key(1, Purpose::Draws, 2, 3);
        assert_eq!(base, key(1, Purpose::Draws, 2, 3));
        for other in [
            key(2, Purpose::Draws, 2, 3),
            key(1, Purpose::Parameters, 2, 3),
            key(1, Purpose::Draws, 3, 3),
            key(1, Purpose::Draws, 2, 4),
            key(1, Purpose::Draws, 3, 2),
        ] {
            assert!(base.iter().all(|word| !other.contains(word)));
        }
    }

    #[test]
    fn whole_numbers_are_all_alike() {
        let (n, draws) = (7, 70_000);
        let mut counts = [0f64; 7];
        let mut random = stream(0);
        (0..draws).for_each(|_| counts[random.below(n) as usize] += 1.0);
        let expected = f64::from(draws) / n as f64;
        let chi_square: f64 = counts.iter().map(|c| (c - expected).powi(2) / expected).sum();
        assert!(chi_square < 33.0, "χ² = {chi_square} with 6 degrees of freedom; P(> 33) is 1e-5");
    }

    #[test]
    fn many_numbers_at_once_are_those_of_as_many_calls() {
        for (n, count) in [(7, 1000), (1, 3), (19_717, 400), (3_000_000_000, 200)] {
            let (mut one, mut many) = (stream(3), stream(3));
            let mut out = vec![0; count];
            many.fill_below(n, &mut out);
            assert!(out.iter().all(|&x| u64::from(x as u32) < u64::from(n)));
            if n < 100_000 {
                assert!(out.iter().all(|&x| x as u64 == one.below(u64::from(n))));
            }
        }
    }

    #[test]
    fn a_shuffled_list_is_that_of_as_many_calls() {
        for length in [0, 1, 2, 63, 64, 65, 1000] {
            let (mut one, mut many) = (stream(5), stream(5));
            let mut list: Vec<i32> = (0..length).collect();
            let mut wanted = list.clone();
            many.shuffle(&mut list);
            (1..wanted.len()).rev().for_each(|i| wanted.swap(i, one.below(i as u64 + 1) as usize));
            assert_eq!(list, wanted);
        }
    }

    #[test]
    fn places_drawn_one_by_one_leave_out_what_comes_too_often() {
        // Of 3·2^30 choices every fourth word is one that would favour some.
        let left = 3usize << 30;
        let (mut one, mut many) = (stream(6), stream(6));
        let mut bytes = [0u8; 4 * 64];
        many.0.fill_bytes(&mut bytes);
        let mut others = [0; 64];
        many.draw_places(left, bytes.as_chunks().0, &mut others);
        for (i, &other) in others.iter().enumerate() {
            assert_eq!(u64::from(other), one.below((left - i) as u64));
        }
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = stream(1);
        assert_mean(0.5, 1.0 / 12.0, 100_000, || random.unit());
        assert_mean(0.0, 1.0, 100_000, || random.normal());
        assert_mean(1.0, 2.0, 100_000, || random.normal().powi(2));
        for (trials, p) in [(400, 0.06), (10, 0.5), (1_000_000_000, 0.3), (5, 1.0), (5, 0.0)] {
            let (n, q) = (trials as f64, 1.0 - p);
            assert_mean(n * p, n * p * q, 20_000, || random.binomial(trials, p) as f64);
        }
        let p = 0.002;
        assert_mean((1.0 - p) / p, (1.0 - p) / (p * p), 100_000, || random.geometric(p) as f64);
    }
}
