//! How the step γ_k changes: schedules, warm-up, and the plateau that reports find.

use crate::error::{Error, Result};

/// What the length of a schedule counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// Updates.
    Updates,
    /// Epochs, as [`super::Optimizer::end_epoch`] counts them.
    Epochs,
}

/// A number of updates or of epochs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// How many.
    pub length: u64,
    /// Of what.
    pub unit: Unit,
}

/// How far an optimizer is when it makes an update.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Which update it is, from 1.
    pub k: u64,
    /// Epochs that have ended.
    pub epochs: u64,
}

impl Clock {
    /// t: updates or epochs before this update.
    fn elapsed(self, unit: Unit) -> u64 {
        match unit {
            Unit::Updates => self.k - 1,
            Unit::Epochs => self.epochs,
        }
    }

    /// min(t, T)/T; 1 where T = 0.
    fn share(self, span: Span) -> f64 {
        let t = self.elapsed(span.unit);
        if t >= span.length { 1.0 } else { t as f64 / span.length as f64 }
    }
}

/// How the step changes with k = 1, 2, … or with the epochs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// γ.
    Constant,
    /// γ/k.
    Inverse,
    /// γ/√k.
    InverseSqrt,
    /// γ·factor^⌊t/every⌋.
    StepDecay(Span, f64),
    /// From γ to the minimum along half a cosine, and constant afterwards.
    Cosine(Span, f64),
}

impl Schedule {
    /// Checks the numbers of a step decay.
    pub fn step_decay(every: Span, factor: f64) -> Result<Self> {
        if every.length == 0 {
            return Err(Error::InvalidArgument("every = 0 is not at least 1".to_string()));
        }
        Ok(Schedule::StepDecay(every, check_factor(factor)?))
    }

    /// Checks the numbers of a cosine that begins at `step`.
    pub fn cosine(length: Span, minimum: f64, step: f64) -> Result<Self> {
        if length.length == 0 {
            return Err(Error::InvalidArgument("length = 0 is not at least 1".to_string()));
        }
        Ok(Schedule::Cosine(length, check_minimum(minimum, step)?))
    }

    /// γ_k without warm-up and reductions.
    pub fn at(&self, step: f64, clock: Clock) -> f64 {
        match *self {
            Schedule::Constant => step,
            Schedule::Inverse => step / clock.k as f64,
            Schedule::InverseSqrt => step / (clock.k as f64).sqrt(),
            Schedule::StepDecay(every, factor) => {
                let drops = clock.elapsed(every.unit) / every.length;
                step * factor.powi(i32::try_from(drops).unwrap_or(i32::MAX))
            }
            Schedule::Cosine(length, minimum) => {
                let angle = std::f64::consts::PI * clock.share(length);
                minimum + (step - minimum) * (1.0 + angle.cos()) / 2.0
            }
        }
    }
}

/// A factor on the step that grows from `start` to 1 in a straight line.
#[derive(Clone, Copy, Debug)]
pub struct Warmup {
    length: Span,
    start: f64,
}

impl Warmup {
    /// A length of 0 means no warm-up.
    pub fn new(length: Span, start: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&start) {
            return Err(Error::InvalidArgument(format!("start = {start} is outside [0, 1]")));
        }
        Ok(Warmup { length, start })
    }

    /// start + (1 − start)·min(t, T)/T.
    pub fn at(&self, clock: Clock) -> f64 {
        self.start + (1.0 - self.start) * clock.share(self.length)
    }
}

/// When and how far reports without improvement reduce the step.
#[derive(Clone, Copy, Debug)]
pub struct Plateau {
    factor: f64,
    /// Reports in a row that may bring no improvement.
    patience: u64,
    /// The lowest factor on the step.
    least: f64,
}

impl Plateau {
    /// `minimum` is the step that reductions of `step` end at. A factor of 1 means no reductions.
    pub fn new(factor: f64, patience: u64, minimum: f64, step: f64) -> Result<Option<Self>> {
        let (factor, minimum) = (check_factor(factor)?, check_minimum(minimum, step)?);
        Ok((factor < 1.0).then_some(Plateau { factor, patience, least: minimum / step }))
    }
}

/// What has been reported.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// The lowest value; ∞ before the first.
    pub best: f64,
    /// Reports since then, or since the last reduction.
    pub bad: u64,
    /// The product of the reductions.
    pub scale: f64,
}

impl Default for Reports {
    fn default() -> Self {
        Reports { best: f64::INFINITY, bad: 0, scale: 1.0 }
    }
}

impl Reports {
    /// Takes a value, the lower the better; `true` if it reduces the step.
    pub fn add(&mut self, plateau: &Plateau, value: f64) -> bool {
        if value < self.best {
            (self.best, self.bad) = (value, 0);
            return false;
        }
        self.bad += 1;
        if self.bad <= plateau.patience {
            return false;
        }
        let scale = (self.scale * plateau.factor).max(plateau.least).min(self.scale);
        let reduces = scale < self.scale;
        (self.bad, self.scale) = (0, scale);
        reduces
    }
}

fn check_factor(factor: f64) -> Result<f64> {
    match factor > 0.0 && factor <= 1.0 {
        true => Ok(factor),
        false => Err(Error::InvalidArgument(format!("factor = {factor} is outside (0, 1]"))),
    }
}

fn check_minimum(minimum: f64, step: f64) -> Result<f64> {
    match (0.0..=step).contains(&minimum) {
        true => Ok(minimum),
        false => Err(Error::InvalidArgument(format!("minimum = {minimum} is outside [0, step = {step}]"))),
    }
}
