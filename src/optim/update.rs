//! One update: settings, and the state that belongs to one vector of parameters.

use super::Set;
use crate::error::{Error, Result, try_copied, try_filled};
use std::ops::{Add, Div, Mul, Sub};

/// Which way a gradient moves the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// w − γ_k g.
    Sgd,
    /// w − γ_k m̂ / (√v̂ + ε), moments corrected for their start at 0.
    Adam,
}

/// How the step changes with k = 1, 2, ….
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// γ.
    Constant,
    /// γ/k.
    Inverse,
    /// γ/√k.
    InverseSqrt,
}

impl TryFrom<i32> for Schedule {
    type Error = Error;

    fn try_from(value: i32) -> Result<Self> {
        match value {
            0 => Ok(Schedule::Constant),
            1 => Ok(Schedule::Inverse),
            2 => Ok(Schedule::InverseSqrt),
            _ => Err(Error::InvalidArgument(format!("schedule = {value} is not a PLIM_SCHEDULE_ constant"))),
        }
    }
}

/// What an optimizer is told to do.
#[derive(Clone, Debug)]
pub struct Settings {
    pub rule: Rule,
    pub step: f64,
    pub schedule: Schedule,
    pub decay: f64,
    pub set: Set,
}

impl Settings {
    fn step_at(&self, k: u64) -> f64 {
        match self.schedule {
            Schedule::Constant => self.step,
            Schedule::Inverse => self.step / k as f64,
            Schedule::InverseSqrt => self.step / (k as f64).sqrt(),
        }
    }
}

/// Float or double parameters; the update is computed in their own precision.
pub trait Real:
    Copy + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Relative distance of neighbouring numbers.
    const STEP: f64;
    /// As a double.
    fn real(self) -> f64;
    /// √x.
    fn root(self) -> Self;
    /// Neither infinite nor NaN.
    fn finite(self) -> bool;
    /// The nearest number.
    fn rounded(x: f64) -> Self;
    /// The nearest number that is not below `x`.
    fn rounded_up(x: f64) -> Self;
    /// The nearest number that is not above `x`.
    fn rounded_down(x: f64) -> Self;
}

impl Real for f64 {
    const STEP: f64 = f64::EPSILON;

    fn real(self) -> f64 {
        self
    }

    fn root(self) -> f64 {
        self.sqrt()
    }

    fn finite(self) -> bool {
        self.is_finite()
    }

    fn rounded(x: f64) -> f64 {
        x
    }

    fn rounded_up(x: f64) -> f64 {
        x
    }

    fn rounded_down(x: f64) -> f64 {
        x
    }
}

impl Real for f32 {
    const STEP: f64 = f32::EPSILON as f64;

    fn real(self) -> f64 {
        f64::from(self)
    }

    fn root(self) -> f32 {
        self.sqrt()
    }

    fn finite(self) -> bool {
        self.is_finite()
    }

    fn rounded(x: f64) -> f32 {
        x as f32
    }

    fn rounded_up(x: f64) -> f32 {
        let near = x as f32;
        if f64::from(near) < x { near.next_up() } else { near }
    }

    fn rounded_down(x: f64) -> f32 {
        let near = x as f32;
        if f64::from(near) > x { near.next_down() } else { near }
    }
}

/// What an optimizer remembers of the parameters it moves.
#[derive(Default)]
pub struct State<T> {
    /// Updates so far.
    k: u64,
    /// Adam's moments; empty before its first update.
    first: Vec<T>,
    second: Vec<T>,
    /// Mean of `averaged` iterates; empty before the first one.
    average: Vec<f64>,
    averaged: u64,
    /// What the update at work makes of parameters and moments, until it is known to be finite.
    next: Next<T>,
}

#[derive(Default)]
struct Next<T> {
    w: Vec<T>,
    first: Vec<T>,
    second: Vec<T>,
}

const BETA: [f64; 2] = [0.9, 0.999];
const EPSILON: f64 = 1e-8;

impl<T: Real> State<T> {
    /// Updates so far.
    pub fn steps(&self) -> u64 {
        self.k
    }

    /// Starts the average anew with the next update.
    pub fn forget_average(&mut self) {
        self.average.clear();
        self.averaged = 0;
    }

    /// Mean of the iterates so far.
    pub fn average(&self) -> Result<&[f64]> {
        match self.averaged {
            0 => Err(Error::MissingData("no iterate has been averaged yet".to_string())),
            _ => Ok(&self.average),
        }
    }

    /// Moves `w`; on an error `w` and this state are as they were.
    pub fn update(&mut self, settings: &Settings, averaging: bool, w: &mut [T], gradient: &[T]) -> Result<()> {
        if gradient.len() != w.len() {
            let text = format!("count = {}, but there are {} parameters", gradient.len(), w.len());
            return Err(Error::ShapeMismatch(text));
        }
        if let Some(at) = position_not_finite(gradient) {
            return Err(Error::Diverged(format!("gradient[{at}] = {} is not finite", gradient[at].real())));
        }
        settings.set.check::<T>()?;
        self.check_fits(w.len())?;
        self.fit(settings, averaging, w.len())?;
        let k = self.k + 1;
        let step = settings.step_at(k);
        let keep = T::rounded(1.0 - step * settings.decay);
        let next = &mut self.next;
        match settings.rule {
            Rule::Sgd => {
                let step = T::rounded(step);
                for ((next, &w), &g) in next.w.iter_mut().zip(&*w).zip(gradient) {
                    *next = w * keep - step * g;
                }
            }
            Rule::Adam => {
                let correction = BETA.map(|b| 1.0 - b.powi(i32::try_from(k).unwrap_or(i32::MAX)));
                let step = T::rounded(step / correction[0]);
                let (root, epsilon) = (T::rounded(correction[1].sqrt()), T::rounded(EPSILON));
                let [b1, b2] = BETA.map(T::rounded);
                let [c1, c2] = BETA.map(|b| T::rounded(1.0 - b));
                let before = w.iter().zip(&self.first).zip(&self.second).zip(gradient);
                let after = next.w.iter_mut().zip(&mut next.first).zip(&mut next.second);
                for (((next, m1), v1), (((&w, &m), &v), &g)) in after.zip(before) {
                    *m1 = b1 * m + c1 * g;
                    *v1 = b2 * v + c2 * g * g;
                    *next = w * keep - step * *m1 / (v1.root() / root + epsilon);
                }
            }
        }
        if position_not_finite(&next.w).is_some() {
            return Err(Error::Diverged(format!("update {k} makes parameters that are not finite")));
        }
        settings.set.project(&mut next.w);
        self.k = k;
        if averaging {
            self.averaged += 1;
            let share = 1.0 / self.averaged as f64;
            for (mean, w) in self.average.iter_mut().zip(&*w) {
                *mean += (w.real() - *mean) * share;
            }
        }
        std::mem::swap(&mut self.first, &mut next.first);
        std::mem::swap(&mut self.second, &mut next.second);
        w.copy_from_slice(&next.w);
        Ok(())
    }

    /// Checks that `len` parameters may be those of earlier updates.
    pub fn check_fits(&self, len: usize) -> Result<()> {
        if self.k > 0 && self.next.w.len() != len {
            let text = format!("{len} parameters, but this optimizer has been moving {}; reset it", self.next.w.len());
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }

    /// Makes room.
    fn fit(&mut self, settings: &Settings, averaging: bool, len: usize) -> Result<()> {
        let fit = |v: &mut Vec<T>| -> Result<()> {
            if v.len() != len {
                *v = try_filled(len, T::default())?;
            }
            Ok(())
        };
        fit(&mut self.next.w)?;
        if settings.rule == Rule::Adam {
            [&mut self.first, &mut self.second, &mut self.next.first, &mut self.next.second]
                .into_iter()
                .try_for_each(fit)?;
        }
        if averaging && self.average.len() != len {
            self.average = try_filled(len, 0.0)?;
        }
        Ok(())
    }
}

/// Where the first infinity or NaN is.
fn position_not_finite<T: Real>(values: &[T]) -> Option<usize> {
    // The first look has no early exit, so that it is vectorised; there is hardly ever a second one.
    let all = values.iter().fold(true, |all, x| all & x.finite());
    if all { None } else { values.iter().position(|x| !x.finite()) }
}

/// The state as a checkpoint holds it.
pub struct Parts<'a, T> {
    /// Updates so far.
    pub k: u64,
    /// Iterates in the average.
    pub averaged: u64,
    /// Adam's first moments, or nothing.
    pub first: &'a [T],
    /// Adam's second moments, or nothing.
    pub second: &'a [T],
    /// The average, or nothing.
    pub average: &'a [f64],
}

impl<T: Real> State<T> {
    /// What a checkpoint must hold.
    pub fn parts(&self) -> Parts<'_, T> {
        let State { k, first, second, average, averaged, .. } = self;
        Parts { k: *k, averaged: *averaged, first, second, average }
    }

    /// A state from a checkpoint, for `len` parameters.
    pub fn from_parts(parts: &Parts<'_, T>, len: usize) -> Result<Self> {
        Ok(State {
            k: parts.k,
            averaged: parts.averaged,
            first: try_copied(parts.first)?,
            second: try_copied(parts.second)?,
            average: try_copied(parts.average)?,
            next: Next { w: try_filled(len, T::default())?, ..Next::default() },
        })
    }
}
