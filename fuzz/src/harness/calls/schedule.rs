//! Schedules, clipping and moving averages of optimizers.

use super::super::promise::call;
use super::{Kind, Machine, Mark, Room, rank};
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
                0 => self.set(kind, "plim_optimizer_set_step_decay", |o| {
                    plim_optimizer_set_step_decay(o, length, unit, value)
                }),
                1 => self.set(kind, "plim_optimizer_set_cosine", |o| plim_optimizer_set_cosine(o, length, unit, value)),
                2 => self.set(kind, "plim_optimizer_set_warmup", |o| plim_optimizer_set_warmup(o, length, unit, value)),
                3 => self
                    .set(kind, "plim_optimizer_set_plateau", |o| plim_optimizer_set_plateau(o, value, length, other)),
                4 => self.set(kind, "plim_optimizer_report", |o| plim_optimizer_report(o, value)),
                5 => self.set(kind, "plim_optimizer_end_epoch", |o| plim_optimizer_end_epoch(o)),
                6 => {
                    let step = plim_optimizer_step_size(self.pick(kind));
                    assert!(step >= 0.0 && step.is_finite(), "a step of {step}");
                }
                7 => self.set(kind, "plim_optimizer_set_betas", |o| plim_optimizer_set_betas(o, value, other)),
                8 => self.set(kind, "plim_optimizer_set_epsilon", |o| plim_optimizer_set_epsilon(o, value)),
                9 => self.set(kind, "plim_optimizer_set_clip", |o| plim_optimizer_set_clip(o, value)),
                10 => self.set(kind, "plim_optimizer_set_ema", |o| plim_optimizer_set_ema(o, value)),
                11 => {
                    let optimizer = self.pick(kind);
                    let mut room =
                        Room { values: vec![f32::MARK; 256].into_boxed_slice(), null: false, needed: 256, told: 256 };
                    let told = if self.input.byte() < 0xe0 { 256 } else { 0 };
                    let to = room.pointer();
                    let status = call("plim_optimizer_ema", || plim_optimizer_ema(optimizer, to, told));
                    room.check("plim_optimizer_ema", status);
                }
                _ => self.set(Kind::Options, "plim_train_options_set_ema", |o| plim_train_options_set_ema(o, unit)),
            }
        }
    }
}
