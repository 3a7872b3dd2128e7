//! One update: the settings, and the state that belongs to one vector of parameters.

use super::adam::{Betas, LEAST_EPSILON};
use super::schedule::{Clock, Plateau, Reports, Schedule, Warmup};
use super::{Set, clip};
use crate::error::{Error, ForThe, Result, try_copied, try_filled};
use crate::kernel::{Adam, table};

/// How a gradient moves the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// w − γ_k g.
    Sgd,
    /// w − γ_k m̂ / (√v̂ + ε), with the moments corrected for their start at 0.
    Adam,
}

/// The settings of an optimizer.
#[derive(Clone, Debug)]
pub struct Settings {
    pub rule: Rule,
    pub step: f64,
    pub schedule: Schedule,
    pub warmup: Option<Warmup>,
    pub plateau: Option<Plateau>,
    /// The norm that gradients are clipped to; ∞ for none.
    pub clip: f64,
    pub decay: f64,
    pub betas: Betas,
    pub epsilon: f64,
    /// Decay of the exponential moving average; 0 for none.
    pub ema: f64,
    pub set: Set,
}

impl Settings {
    /// γ_k.
    fn step_at(&self, clock: Clock, reports: &Reports) -> f64 {
        let mut step = self.schedule.at(self.step, clock);
        if let Some(warmup) = &self.warmup {
            step *= warmup.at(clock);
        }
        if self.plateau.is_some() {
            step *= reports.scale;
        }
        step
    }
}

/// Float or double parameters. The update is computed in their own precision.
pub trait Real: Copy + Default + PartialOrd {
    /// Relative distance of neighbouring numbers.
    const STEP: f64;
    /// The largest number.
    const MAX: f64;
    /// The number as a double.
    fn real(self) -> f64;
    /// The largest magnitude; NaN if there is one.
    fn largest(values: &[Self]) -> f64;
    /// `w ← keep·w − step·g`.
    fn descend(w: &mut [Self], g: &[Self], keep: Self, step: Self);
    /// One step of Adam: moments `m` and `v`, then `w`.
    fn adam(w: &mut [Self], m: &mut [Self], v: &mut [Self], g: &[Self], by: Adam<Self>);
    /// The nearest number.
    fn rounded(x: f64) -> Self;
    /// The nearest number that is not below `x`.
    fn rounded_up(x: f64) -> Self;
    /// The nearest number that is not above `x`.
    fn rounded_down(x: f64) -> Self;
}

impl Real for f64 {
    const STEP: f64 = f64::EPSILON;
    const MAX: f64 = f64::MAX;

    fn real(self) -> f64 {
        self
    }

    fn largest(values: &[f64]) -> f64 {
        values.iter().fold(0.0, |max, x| if x.is_nan() || x.abs() > max { x.abs() } else { max })
    }

    fn descend(w: &mut [f64], g: &[f64], keep: f64, step: f64) {
        w.iter_mut().zip(g).for_each(|(w, g)| *w = *w * keep - step * g);
    }

    fn adam(w: &mut [f64], m: &mut [f64], v: &mut [f64], g: &[f64], by: Adam<f64>) {
        let Adam { keep, step, root, epsilon, old, new } = by;
        for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
            *m = old[0] * *m + new[0] * g;
            *v = old[1] * *v + new[1] * g * g;
            *w = *w * keep - step * *m / (v.sqrt() / root + epsilon);
        }
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
    const MAX: f64 = f32::MAX as f64;

    fn real(self) -> f64 {
        f64::from(self)
    }

    fn largest(values: &[f32]) -> f64 {
        f64::from(table().largest(values))
    }

    fn descend(w: &mut [f32], g: &[f32], keep: f32, step: f32) {
        table().descend(w, g, keep, step);
    }

    fn adam(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], by: Adam<f32>) {
        table().adam(w, m, v, g, by);
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

/// The state of an optimizer, which belongs to the parameters it moves.
#[derive(Default)]
pub struct State<T> {
    /// Updates so far.
    k: u64,
    /// Epochs that have ended.
    epochs: u64,
    /// Values reported so far.
    reports: Reports,
    /// Adam's moments; empty before its first update.
    first: Vec<T>,
    second: Vec<T>,
    /// The bound of |m|/√v for all betas in use so far.
    ratio: f64,
    /// Mean of `averaged` iterates; empty before the first one.
    average: Vec<f64>,
    averaged: u64,
    /// Exponential moving average, once it is `smoothing`.
    ema: Vec<f64>,
    smoothing: bool,
    /// The gradient after clipping, to reuse its memory.
    clipped: Vec<T>,
    /// Number of parameters.
    len: usize,
}

impl<T: Real> State<T> {
    /// Updates so far.
    pub fn steps(&self) -> u64 {
        self.k
    }

    /// The step of the next update.
    pub fn next_step(&self, settings: &Settings) -> f64 {
        settings.step_at(Clock { k: self.k + 1, epochs: self.epochs }, &self.reports)
    }

    /// Counts an epoch.
    pub fn end_epoch(&mut self) {
        self.epochs += 1;
    }

    /// Takes a value for the plateau; `true` if it reduces the step.
    pub fn report(&mut self, settings: &Settings, value: f64) -> bool {
        settings.plateau.as_ref().is_some_and(|plateau| self.reports.add(plateau, value))
    }

    /// Forgets all reports and reductions.
    pub fn forget_reports(&mut self) {
        self.reports = Reports::default();
    }

    /// Starts a new exponential moving average with the next update.
    pub fn forget_ema(&mut self) {
        self.ema.clear();
        self.smoothing = false;
    }

    /// The exponential moving average.
    pub fn ema(&self) -> Result<&[f64]> {
        match self.smoothing {
            true => Ok(&self.ema),
            false => Err(Error::MissingData("no update has been made with a moving average".to_string())),
        }
    }

    /// Starts a new average with the next update.
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

    /// Moves `w`. On an error `w` and this state stay as they were.
    pub fn update(&mut self, settings: &Settings, averaging: bool, w: &mut [T], gradient: &[T]) -> Result<()> {
        if gradient.len() != w.len() {
            let text = format!("count = {}, but there are {} parameters", gradient.len(), w.len());
            return Err(Error::ShapeMismatch(text));
        }
        let largest = T::largest(gradient);
        if !largest.is_finite() {
            let at = gradient.iter().position(|g| !g.real().is_finite()).unwrap_or(0);
            return Err(Error::Diverged(format!("gradient[{at}] = {} is not finite", gradient[at].real())));
        }
        settings.set.check::<T>()?;
        self.check_fits(w.len())?;
        self.fit(settings, averaging, w.len()).for_the("state of the optimizer")?;
        let k = self.k + 1;
        let step = self.next_step(settings);
        let (mut gradient, mut largest) = (gradient, largest);
        if settings.clip.is_finite() {
            let factor = clip::factor(gradient, settings.clip);
            if factor < 1.0 {
                clip::scale(&mut self.clipped, gradient, factor);
                (gradient, largest) = (&self.clipped, T::rounded(largest * factor).real());
            }
        }
        let ratio = self.ratio.max(settings.betas.ratio());
        let keep = 1.0 - step * settings.decay;
        // Checked in advance, so that the update can be made in place. From any parameter, a move of less than half
        // the distance between the largest number and the next one beyond it stays finite. For longer moves the
        // largest parameter counts; that bound is sharp enough for all but enormous numbers.
        let way = step * if settings.rule == Rule::Sgd { largest } else { settings.betas.bound(ratio) };
        let mut stays_finite =
            keep.abs() <= 1.0 && way < T::MAX * T::STEP / 4.0 || keep.abs() * T::largest(w) + way <= T::MAX;
        match settings.rule {
            Rule::Sgd if !stays_finite => {
                let finite = |x: f64| x.abs() <= T::MAX;
                stays_finite = finite(keep)
                    && finite(step)
                    && w.iter().zip(gradient).all(|(w, g)| {
                        let (kept, moved) = (w.real() * keep, step * g.real());
                        finite(kept) && finite(moved) && finite(kept - moved)
                    });
            }
            // A move bounded by a gradient of tiny numbers says nothing about the factors themselves.
            Rule::Sgd => stays_finite = step <= T::MAX && keep.abs() <= T::MAX,
            Rule::Adam => stays_finite &= largest * largest <= T::MAX,
        }
        if !stays_finite {
            return Err(Error::Diverged(format!("update {k} makes numbers that are not finite")));
        }
        self.k = k;
        if averaging {
            self.averaged += 1;
            let share = 1.0 / self.averaged as f64;
            for (mean, w) in self.average.iter_mut().zip(&*w) {
                *mean += (w.real() - *mean) * share;
            }
        }
        if settings.ema > 0.0 && !self.smoothing {
            self.ema.iter_mut().zip(&*w).for_each(|(mean, w)| *mean = w.real());
            self.smoothing = true;
        }
        let keep = T::rounded(keep);
        match settings.rule {
            Rule::Sgd => T::descend(w, gradient, keep, T::rounded(step)),
            Rule::Adam => {
                self.ratio = ratio;
                let Betas(betas) = settings.betas;
                let correction = betas.map(|b| 1.0 - b.powi(i32::try_from(k).unwrap_or(i32::MAX)));
                let by = Adam {
                    keep,
                    step: T::rounded(step / correction[0]),
                    root: T::rounded(correction[1].sqrt()),
                    epsilon: T::rounded(settings.epsilon),
                    old: betas.map(T::rounded),
                    new: betas.map(|b| T::rounded(1.0 - b)),
                };
                T::adam(w, &mut self.first, &mut self.second, gradient, by);
            }
        }
        settings.set.project(w);
        if settings.ema > 0.0 {
            let share = 1.0 - settings.ema;
            self.ema.iter_mut().zip(&*w).for_each(|(mean, w)| *mean += (w.real() - *mean) * share);
        }
        Ok(())
    }

    /// Checks that the parameters of earlier updates, if any, were `len` as well.
    pub fn check_fits(&self, len: usize) -> Result<()> {
        if self.k > 0 && self.len != len {
            let text = format!("{len} parameters, but this optimizer has moved {}; reset it first", self.len);
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }

    /// Makes room for the moments, the averages and the clipped gradient.
    fn fit(&mut self, settings: &Settings, averaging: bool, len: usize) -> Result<()> {
        let fit = |v: &mut Vec<T>| -> Result<()> {
            if v.len() != len {
                *v = try_filled(len, T::default())?;
            }
            Ok(())
        };
        if settings.rule == Rule::Adam {
            [&mut self.first, &mut self.second].into_iter().try_for_each(fit)?;
        }
        if averaging && self.average.len() != len {
            self.average = try_filled(len, 0.0)?;
        }
        if settings.ema > 0.0 && self.ema.len() != len {
            self.ema = try_filled(len, 0.0)?;
        }
        if settings.clip.is_finite() {
            fit(&mut self.clipped)?;
        }
        self.len = len;
        Ok(())
    }
}

/// The state as a checkpoint holds it.
pub struct Parts<'a, T> {
    /// Updates so far.
    pub k: u64,
    /// Epochs that have ended.
    pub epochs: u64,
    /// Values reported so far.
    pub reports: Reports,
    /// Adam's first moments, or nothing.
    pub first: &'a [T],
    /// Adam's second moments, or nothing.
    pub second: &'a [T],
    /// The bound of |m|/√v.
    pub ratio: f64,
    /// Iterates in the average.
    pub averaged: u64,
    /// The average, or nothing.
    pub average: &'a [f64],
    /// The exponential moving average, or nothing.
    pub ema: &'a [f64],
}

impl<T: Real> State<T> {
    /// The state, for a checkpoint.
    pub fn parts(&self) -> Parts<'_, T> {
        let State { k, epochs, reports, first, second, ratio, average, averaged, .. } = self;
        let ema = if self.smoothing { &self.ema[..] } else { &[] };
        Parts {
            k: *k,
            epochs: *epochs,
            reports: *reports,
            first,
            second,
            ratio: *ratio,
            averaged: *averaged,
            average,
            ema,
        }
    }

    /// The state of `len` parameters from a checkpoint, or `BadFormat` if no updates lead to it.
    pub fn from_parts(parts: &Parts<'_, T>, len: usize) -> Result<Self> {
        // The bound of a move rests on this; the smallest ε allows moments so small that their squares are 0.
        let ratio = parts.ratio;
        let can_be = |(m, v): (&T, &T)| {
            let (m, v) = (m.real(), v.real());
            v >= 0.0 && v.is_finite() && m.abs() <= ratio * (v.sqrt() + LEAST_EPSILON)
        };
        if parts.averaged > parts.k || !parts.average.iter().all(|x| x.is_finite()) {
            return Err(Error::BadFormat("the average is not an average of iterates".to_string()));
        }
        if !parts.ema.iter().all(|x| x.is_finite()) {
            return Err(Error::BadFormat("the moving average is not an average of iterates".to_string()));
        }
        let fits = parts.first.len() == parts.second.len() && ratio >= 0.0;
        if !fits || !parts.first.iter().zip(parts.second).all(can_be) {
            return Err(Error::BadFormat("the moments are not moments of gradients".to_string()));
        }
        if parts.reports.best.is_nan() || !(0.0..=1.0).contains(&parts.reports.scale) {
            return Err(Error::BadFormat("the reports are not those of a run".to_string()));
        }
        let what = "state of the optimizer";
        Ok(State {
            k: parts.k,
            epochs: parts.epochs,
            reports: parts.reports,
            first: try_copied(parts.first).for_the(what)?,
            second: try_copied(parts.second).for_the(what)?,
            ratio,
            average: try_copied(parts.average).for_the(what)?,
            averaged: parts.averaged,
            ema: try_copied(parts.ema).for_the(what)?,
            smoothing: !parts.ema.is_empty(),
            clipped: Vec::new(),
            len,
        })
    }
}
