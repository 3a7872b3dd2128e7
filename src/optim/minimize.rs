//! A caller's own problem: the same update on doubles, with a callback for the gradient.

use super::update::Settings;
use super::{Optimizer, State};
use crate::error::{Error, ForThe, Result, try_filled};

/// Returned by a callback to end the work.
pub struct Interrupt;

impl Optimizer {
    /// Runs `num_steps` updates from `w`; `gradient(step, w, g)` fills g at w_1, w_2, …. On return `w` is the iterate
    /// after the last update and `average` the mean of the iterates before each. The run has its own counters: it
    /// starts at k = 1 and does not touch what the optimizer remembers of other parameters.
    pub fn minimize(
        &self,
        num_steps: usize,
        w: &mut [f64],
        average: Option<&mut [f64]>,
        mut gradient: impl FnMut(usize, &[f64], &mut [f64]) -> std::result::Result<(), Interrupt>,
    ) -> Result<()> {
        if let Some(at) = w.iter().position(|w| !w.is_finite()) {
            return Err(Error::entry("w", at, w[at], "is not finite"));
        }
        // Nobody could read a moving average.
        let settings = Settings { ema: 0.0, ..self.settings.clone() };
        let mut state = State::default();
        let mut g = try_filled(w.len(), 0.0).for_the("gradient")?;
        for step in 1..=num_steps {
            g.fill(0.0);
            gradient(step, w, &mut g).map_err(|_| Error::Cancelled(format!("the oracle stopped at step {step}")))?;
            state.update(&settings, average.is_some(), w, &g)?;
        }
        if let Some(average) = average {
            average.copy_from_slice(state.average()?);
        }
        Ok(())
    }
}
