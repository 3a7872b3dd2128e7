//! Sample sizes that follow the gradient: as it shrinks, more draws keep its relative error under δ.
//!
//! A norm test on replicates. At size N, R gradients g of the batch and R gradients q of size 2N are drawn beside the
//! training's own. Their spread is the deviation. It says nothing of the bias, which replicates share; but the bias falls
//! like 1/N, so that twice the difference of the means estimates it, and 2q̄ - ḡ the exact gradient.

use crate::error::{Error, Result, try_filled};
use crate::estimator::{Estimator, Problem};
use crate::model::Model;
use crate::random::{Purpose, Stream};

/// Between which sizes, and how often they are tested.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive {
    /// δ > 0: the relative error to stay under.
    pub delta: f64,
    /// Updates between two tests; at least 1.
    pub every: usize,
    /// The smallest sample size; at least 1.
    pub smallest: usize,
    /// The largest one.
    pub largest: usize,
}

impl Adaptive {
    /// Checks the bounds.
    pub fn new(delta: f64, every: usize, smallest: usize, largest: usize) -> Result<Self> {
        let most = i32::MAX as usize;
        let text = if !(delta.is_finite() && delta > 0.0) {
            format!("delta = {delta} is not a finite number > 0")
        } else if every == 0 {
            "every = 0 is not at least 1".to_string()
        } else if smallest == 0 || smallest > most {
            format!("smallest = {smallest} is outside [1, {most}]")
        } else if largest < smallest || largest > most {
            format!("largest = {largest} is outside [smallest = {smallest}, {most}]")
        } else {
            return Ok(Adaptive { delta, every, smallest, largest });
        };
        Err(Error::InvalidArgument(text))
    }
}

/// R.
const REPLICATES: usize = 4;
/// Sizes that one test may try, each up to [`GROWTH`] times the one before.
const ROUNDS: usize = 8;
/// The most that a round multiplies a size by.
const GROWTH: f64 = 4.0;
/// A size shrinks where the error is below this part of δ, to what should bring it there.
const SLACK: f64 = 0.7;

/// What a test found, and did.
pub(super) struct Test {
    /// The size before.
    pub from: usize,
    /// The size from now on.
    pub to: usize,
    /// The last estimate of the relative error.
    pub error: f64,
    /// What it should stay under.
    pub delta: f64,
    /// Whether it does not, though it is that of the largest size.
    pub falls_short: bool,
}

/// The sizes of a run.
pub(super) struct Sizes {
    pub options: Adaptive,
    /// The estimator's seed.
    seed: u64,
    /// Draws the replicates.
    replicates: Estimator,
    small: Group,
    large: Group,
    /// The last estimate of the relative error; NaN before the first.
    pub error: f64,
    /// Sum of the sizes of an epoch's steps so far.
    pub drawn: f64,
}

impl Sizes {
    /// The estimator stays as it is until [`Sizes::begin`].
    pub fn new(options: Adaptive, estimator: &Estimator, model: &Model) -> Result<Self> {
        let Some(size) = estimator.size() else {
            return Err(Error::Unsupported("adaptive sampling needs an estimator that draws nodes".to_string()));
        };
        let group = || Group::new(model.parameters().len());
        Ok(Sizes {
            options,
            seed: estimator.seed(),
            replicates: estimator.with_size(size)?,
            small: group()?,
            large: group()?,
            error: f64::NAN,
            drawn: 0.0,
        })
    }

    /// Brings the estimator's size between the bounds; tells the one before and the one after, if that changes it.
    pub fn begin(&self, estimator: &mut Estimator) -> Option<(usize, usize)> {
        let Adaptive { smallest, largest, .. } = self.options;
        let from = estimator.size().unwrap_or(smallest);
        let to = from.clamp(smallest, largest);
        estimator.set_size(to);
        (from != to).then_some((from, to))
    }

    /// Before the update after `updates` others: tests if it is time, and sets the estimator's size.
    pub fn adapt(
        &mut self,
        estimator: &mut Estimator,
        model: &Model,
        problem: &dyn Problem,
        batch: &[i32],
        updates: u64,
    ) -> Result<Option<Test>> {
        let from = estimator.size().unwrap_or(self.options.smallest);
        let (mut size, mut test) = (from, None);
        // A second run of an optimizer need not begin with such an update; its first one is tested all the same.
        if updates.is_multiple_of(self.options.every as u64) || self.error.is_nan() {
            let mut measured = size;
            for _ in 0..ROUNDS {
                measured = size;
                self.error = self.relative_error(model, problem, batch, updates, size)?;
                let next = self.next(size);
                let grows = next > size;
                size = next;
                if !grows {
                    break;
                }
            }
            estimator.set_size(size);
            let Adaptive { delta, largest, .. } = self.options;
            let falls_short = measured == largest && self.error > delta;
            test = Some(Test { from, to: size, error: self.error, delta, falls_short });
        }
        self.drawn += size as f64;
        Ok(test)
    }

    /// The size after one whose error is known. An error of deviation alone would fall with the root of the size, one of
    /// bias alone with the size: growing assumes the first, shrinking the second, so that both are on the safe side.
    fn next(&self, size: usize) -> usize {
        let Adaptive { delta, smallest, largest, .. } = self.options;
        let ratio = self.error / delta;
        let factor = if ratio > 1.0 {
            (ratio * ratio).clamp(1.1, GROWTH)
        } else if ratio < SLACK {
            (ratio / SLACK).max(0.5)
        } else {
            1.0
        };
        ((size as f64 * factor).ceil() as usize).clamp(smallest, largest)
    }

    /// √(deviation² + bias²) of one gradient of this size, relative to the exact one of the batch; infinite where that
    /// drowns in the noise.
    fn relative_error(
        &mut self,
        model: &Model,
        problem: &dyn Problem,
        batch: &[i32],
        updates: u64,
        size: usize,
    ) -> Result<f64> {
        // Keyed by the update and the size: the same for a run that was resumed, and never the training's own draws.
        let seed = Stream::new(self.seed, Purpose::Probe, updates, size as u64).word();
        let mut draw = |group: &mut Group, size: usize, seed: u64| {
            self.replicates.set_size(size);
            self.replicates.set_seed(seed);
            group.clear();
            (0..REPLICATES).try_for_each(|_| {
                let (_, gradient) = self.replicates.estimate(model, problem, batch)?;
                group.add(gradient);
                Result::Ok(())
            })
        };
        draw(&mut self.small, size, seed)?;
        draw(&mut self.large, size.saturating_mul(2), seed.wrapping_add(1))?;
        let r = REPLICATES as f64;
        let (variance, large_variance) = (self.small.variance(), self.large.variance());
        let (mut bias, mut exact) = (0.0, 0.0);
        for (g, q) in self.small.sum.iter().zip(&self.large.sum) {
            let (g, q) = (g / r, q / r);
            bias += (2.0 * (g - q)).powi(2);
            exact += (2.0 * q - g).powi(2);
        }
        // Means of R stray by themselves. That is taken off the gradient, but left in the bias: of few replicates the
        // difference would often be far too small, and the error is to stay under δ.
        exact -= (variance + 4.0 * large_variance) / r;
        match exact > 0.0 && bias.is_finite() && variance.is_finite() {
            true => Ok(((variance + bias) / exact).sqrt()),
            false => Ok(f64::INFINITY),
        }
    }
}

/// Replicates of one size: their sum, and the sum of their squared norms.
struct Group {
    sum: Vec<f64>,
    squares: f64,
}

impl Group {
    fn new(len: usize) -> Result<Self> {
        Ok(Group { sum: try_filled(len, 0.0)?, squares: 0.0 })
    }

    fn clear(&mut self) {
        self.sum.fill(0.0);
        self.squares = 0.0;
    }

    fn add(&mut self, gradient: &[f32]) {
        for (sum, &g) in self.sum.iter_mut().zip(gradient) {
            *sum += f64::from(g);
            self.squares += f64::from(g).powi(2);
        }
    }

    /// Σ‖g - ḡ‖² / (R - 1).
    fn variance(&self) -> f64 {
        let r = REPLICATES as f64;
        let mean = self.sum.iter().map(|s| (s / r).powi(2)).sum::<f64>();
        (self.squares - r * mean).max(0.0) / (r - 1.0)
    }
}
