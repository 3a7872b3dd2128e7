//! Cutting for the next estimate while this one is at work.

use crate::error::{Result, try_reserve_with_slack};
use crate::sample::Cut;

/// What another thread has cut for the next of several estimates.
#[derive(Default)]
pub struct Ahead {
    /// What has been cut.
    pub cut: Cut,
    /// The step and the items it is for, if any.
    step: Option<u64>,
    items: Vec<i32>,
}

impl Ahead {
    /// Whether it is for this step and these items; then it is taken.
    pub fn take(&mut self, step: u64, items: &[i32]) -> bool {
        self.step.take() == Some(step) && self.items == items
    }

    /// It is for this step and these items.
    pub fn remember(&mut self, step: u64, items: &[i32]) -> Result<()> {
        self.items.clear();
        try_reserve_with_slack(&mut self.items, items.len())?;
        self.items.extend_from_slice(items);
        self.step = Some(step);
        Ok(())
    }

    /// It is for none.
    pub fn forget(&mut self) {
        self.step = None;
    }
}
