//! Optimizers: SGD and Adam, step schedules, clipping, projections, averages of iterates.
//!
//! An update knows nothing of models: it serves the float parameters of training and the doubles of a caller's own
//! problem ([`Optimizer::minimize`]).

mod adam;
mod clip;
mod minimize;
mod project;
mod schedule;
mod update;

pub use adam::Betas;
pub use minimize::Interrupt;
pub use project::Set;
pub use schedule::{Plateau, Reports, Schedule, Span, Unit, Warmup};
pub use update::{Parts, Rule, State};

use crate::error::{Error, Result};
use update::Settings;

/// Moves parameters along gradients. Holds the settings, and the state that belongs to the parameters.
pub struct Optimizer {
    settings: Settings,
    averaging: bool,
    state: State<f32>,
}

impl Optimizer {
    /// Stochastic gradient descent, w ← Π(w − γ_k g).
    pub fn sgd(step: f64) -> Result<Self> {
        Self::new(Rule::Sgd, step)
    }

    /// Adam with β = 0.9, 0.999 and ε = 1e-8; with a decay, AdamW.
    pub fn adam(step: f64) -> Result<Self> {
        Self::new(Rule::Adam, step)
    }

    fn new(rule: Rule, step: f64) -> Result<Self> {
        if !(step.is_finite() && step > 0.0) {
            return Err(Error::InvalidArgument(format!("step = {step} is not a finite number > 0")));
        }
        let settings = Settings {
            rule,
            step,
            schedule: Schedule::Constant,
            warmup: None,
            plateau: None,
            clip: f64::INFINITY,
            decay: 0.0,
            betas: Betas::DEFAULT,
            epsilon: adam::EPSILON,
            ema: 0.0,
            set: Set::Everything,
        };
        Ok(Optimizer { settings, averaging: false, state: State::default() })
    }

    /// Sets how the step changes with k or with the epochs.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.settings.schedule = schedule;
    }

    /// Multiplies the step by this factor after each such number of updates or epochs.
    pub fn set_step_decay(&mut self, every: Span, factor: f64) -> Result<()> {
        self.settings.schedule = Schedule::step_decay(every, factor)?;
        Ok(())
    }

    /// Lowers the step to the minimum along half a cosine.
    pub fn set_cosine(&mut self, length: Span, minimum: f64) -> Result<()> {
        self.settings.schedule = Schedule::cosine(length, minimum, self.settings.step)?;
        Ok(())
    }

    /// Sets a factor on the step of any schedule that grows from `start` to 1.
    pub fn set_warmup(&mut self, length: Span, start: f64) -> Result<()> {
        self.settings.warmup = Some(Warmup::new(length, start)?);
        Ok(())
    }

    /// Reduces the step when reports bring no improvement. Forgets earlier reports and reductions.
    pub fn set_plateau(&mut self, factor: f64, patience: u64, minimum: f64) -> Result<()> {
        self.settings.plateau = Plateau::new(factor, patience, minimum, self.settings.step)?;
        self.state.forget_reports();
        Ok(())
    }

    /// Whether reports can reduce the step.
    pub fn has_plateau(&self) -> bool {
        self.settings.plateau.is_some()
    }

    /// Takes a value, the lower the better; `true` if it reduces the step.
    pub fn report(&mut self, value: f64) -> Result<bool> {
        if value.is_nan() {
            return Err(Error::InvalidArgument("value is NaN".to_string()));
        }
        Ok(self.state.report(&self.settings, value))
    }

    /// Counts an epoch for the schedules.
    pub fn end_epoch(&mut self) {
        self.state.end_epoch();
    }

    /// The step of the next update.
    pub fn next_step(&self) -> f64 {
        self.state.next_step(&self.settings)
    }

    /// Clips gradients to this norm; 0 and ∞ mean no clipping.
    pub fn set_clip(&mut self, norm: f64) -> Result<()> {
        if norm.is_nan() || norm < 0.0 {
            return Err(Error::InvalidArgument(format!("norm = {norm} is not a number >= 0")));
        }
        self.settings.clip = if norm == 0.0 { f64::INFINITY } else { norm };
        Ok(())
    }

    /// Sets Adam's β.
    pub fn set_betas(&mut self, first: f64, second: f64) -> Result<()> {
        self.settings.betas = Betas::new(first, second)?;
        Ok(())
    }

    /// Sets Adam's ε.
    pub fn set_epsilon(&mut self, epsilon: f64) -> Result<()> {
        self.settings.epsilon = adam::check_epsilon(epsilon)?;
        Ok(())
    }

    /// Sets the decay of the exponential moving average; 0 for none, which forgets the present one.
    pub fn set_ema(&mut self, decay: f64) -> Result<()> {
        if !(0.0..1.0).contains(&decay) {
            return Err(Error::InvalidArgument(format!("decay = {decay} is outside [0, 1)")));
        }
        self.settings.ema = decay;
        if decay == 0.0 {
            self.state.forget_ema();
        }
        Ok(())
    }

    /// Whether there is an exponential moving average.
    pub fn has_ema(&self) -> bool {
        self.settings.ema > 0.0
    }

    /// The exponential moving average of the iterates, or `MissingData` before the first update.
    pub fn ema(&self) -> Result<&[f64]> {
        match self.settings.ema > 0.0 {
            true => self.state.ema(),
            false => Err(Error::MissingData("the optimizer has no moving average".to_string())),
        }
    }

    /// Decoupled weight decay: w shrinks by γ_k·decay before each step.
    pub fn set_decay(&mut self, decay: f64) -> Result<()> {
        if !(decay.is_finite() && decay >= 0.0) {
            return Err(Error::InvalidArgument(format!("decay = {decay} is not a finite number >= 0")));
        }
        self.settings.decay = decay;
        Ok(())
    }

    /// Sets the set that iterates are projected on.
    pub fn set_set(&mut self, set: Set) {
        self.settings.set = set;
    }

    /// Switches averaging of iterates on or off. Switching it on starts a new average.
    pub fn set_averaging(&mut self, on: bool) {
        if on != self.averaging {
            self.averaging = on;
            self.state.forget_average();
        }
    }

    /// Whether iterates are averaged.
    pub fn averaging(&self) -> bool {
        self.averaging
    }

    /// Resets counters, moments, averages and reports; keeps the settings.
    pub fn reset(&mut self) {
        self.state = State::default();
    }

    /// Number of updates so far.
    pub fn steps(&self) -> u64 {
        self.state.steps()
    }

    /// Checks that the optimizer can move `len` parameters: the number it has moved so far, if any, in a set that has
    /// a point.
    pub fn check_fits(&self, len: usize) -> Result<()> {
        self.check_set()?;
        self.state.check_fits(len)
    }

    /// Checks that the set of allowed parameters has a point.
    pub fn check_set(&self) -> Result<()> {
        self.settings.set.check::<f32>()
    }

    /// Moves `w` along `gradient`. On an error nothing changes.
    pub fn update(&mut self, w: &mut [f32], gradient: &[f32]) -> Result<()> {
        self.state.update(&self.settings, self.averaging, w, gradient)
    }

    /// (1/k) Σ w_i of the iterates before each update, or `MissingData` if there are none.
    pub fn average(&self) -> Result<&[f64]> {
        self.state.average()
    }

    /// "sgd" or "adam".
    pub fn rule_name(&self) -> &'static str {
        match self.settings.rule {
            Rule::Sgd => "sgd",
            Rule::Adam => "adam",
        }
    }

    /// The state, for a checkpoint.
    pub fn state(&self) -> &State<f32> {
        &self.state
    }

    /// Replaces the state by that of a checkpoint.
    pub fn set_state(&mut self, state: State<f32>) {
        self.state = state;
    }
}
