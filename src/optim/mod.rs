//! Optimizers: SGD and Adam, step schedules, projections, averaging of iterates.
//!
//! An update knows nothing of models: it serves the float parameters of training and the doubles of a caller's own
//! problem ([`Optimizer::minimize`]).

mod minimize;
mod project;
mod update;

pub use minimize::Interrupt;
pub use project::Set;
pub use update::{Parts, Rule, Schedule, State};

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

    /// Adam with β = 0.9, 0.999 and ε = 1e-8.
    pub fn adam(step: f64) -> Result<Self> {
        Self::new(Rule::Adam, step)
    }

    fn new(rule: Rule, step: f64) -> Result<Self> {
        if !(step.is_finite() && step > 0.0) {
            return Err(Error::InvalidArgument(format!("step = {step} is not a finite number > 0")));
        }
        let settings = Settings { rule, step, schedule: Schedule::Constant, decay: 0.0, set: Set::Everything };
        Ok(Optimizer { settings, averaging: false, state: State::default() })
    }

    /// Sets how the step changes with k.
    pub fn set_schedule(&mut self, schedule: Schedule) {
        self.settings.schedule = schedule;
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

    /// Resets k, moments and average; keeps the settings.
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
