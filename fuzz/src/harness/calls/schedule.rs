//! Schedules, clipping and moving averages of optimizers.

use super::{Kind, Machine, rank};
use plimsoll::capi::*;

/// The first of these functions, and how many they are.
pub const FIRST: usize = rank::FIRST + rank::COUNT;
pub const COUNT: usize = 13;

impl Machine<'_> {
    pub(super) fn schedule(&mut self, function: usize) {
        let kind = Kind::Optimizer;
        let (value, other) = (self.real(), self.real());
        let (length, unit) = (self.size(4), self.constant(1));
        // SAFETY: as in `graph`.
        unsafe {
            match function - FIRST {
                0 => set!(self, kind, plim_optimizer_set_step_decay(length, unit, value)),
                1 => set!(self, kind, plim_optimizer_set_cosine(length, unit, value)),
                2 => set!(self, kind, plim_optimizer_set_warmup(length, unit, value)),
                3 => set!(self, kind, plim_optimizer_set_plateau(value, length, other)),
                4 => set!(self, kind, plim_optimizer_report(value)),
                5 => set!(self, kind, plim_optimizer_end_epoch()),
                6 => {
                    let step = plim_optimizer_step_size(self.pick(kind));
                    assert!(step >= 0.0 && step.is_finite(), "a step of {step}");
                }
                7 => set!(self, kind, plim_optimizer_set_betas(value, other)),
                8 => set!(self, kind, plim_optimizer_set_epsilon(value)),
                9 => set!(self, kind, plim_optimizer_set_clip(value)),
                10 => set!(self, kind, plim_optimizer_set_ema(value)),
                11 => {
                    self.average("plim_optimizer_ema", |optimizer, to, told| plim_optimizer_ema(optimizer, to, told));
                }
                _ => set!(self, Kind::Options, plim_train_options_set_ema(unit)),
            }
        }
    }
}
