//! Random numbers by key: the same (seed, purpose, step, layer) always gives the same stream, whoever asks and when.
//!
//! The generator is ChaCha with 8 rounds, whose 256-bit key holds the four numbers and whose counter is the index
//! within the stream. Integers and reals are made from its words here, so that a release of a crate below cannot
//! change them.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::Distribution;

/// What a stream is for. Streams of different purposes never share numbers, even under one seed.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Initial parameters of a model.
    Parameters = 1,
    /// Points and edges of the built-in Mixture graph.
    Mixture = 2,
    /// The nodes an estimator draws.
    Draws = 3,
}

/// A stream of random numbers.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of this key.
    pub fn new(seed: u64, purpose: Purpose, step: u64, layer: u64) -> Self {
        let mut key = [0u8; 32];
        for (bytes, number) in key.chunks_exact_mut(8).zip([seed, purpose as u64, step, layer]) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        Stream(ChaCha8Rng::from_seed(key))
    }

    /// A whole number in `0 .. n`, all alike. `n` must not be 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // Lemire's method: the high half of a 64×64-bit product, redrawn in the rare case that would favour some.
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            if product as u64 >= n || product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A real in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A normal variate with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        // Box and Muller, one of the pair: 1 - u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// How many of `trials` succeed when each does with probability `p`.
    pub fn binomial(&mut self, trials: u64, p: f64) -> u64 {
        match rand_distr::Binomial::new(trials, p.clamp(0.0, 1.0)) {
            Ok(distribution) => distribution.sample(&mut self.0),
            Err(_) => 0,
        }
    }

    /// How many failures come before the first success of probability `p`, in (0, 1).
    pub fn geometric(&mut self, p: f64) -> u64 {
        // Saturates: `as` gives u64::MAX for anything larger.
        ((1.0 - self.unit()).ln() / (-p).ln_1p()) as u64
    }
}
