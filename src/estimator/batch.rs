//! What one estimate is computed on, which another thread may prepare ahead of time.

use crate::error::{Result, try_reserve_with_slack};
use crate::sample::Cut;
use std::any::Any;

/// What one estimate is computed on. Buffers are reused from batch to batch.
#[derive(Default)]
pub struct Batch {
    /// The nodes and blocks that the layers of a model use.
    pub cut: Cut,
    /// What a problem keeps for the loss; see [`Batch::kept`].
    kept: Option<Box<dyn Any + Send + Sync>>,
}

impl Batch {
    /// The cut, and what a problem keeps with it for the loss of this batch: a value of a type of its own, such as the pairs of
    /// a ranking. It is there from one batch to the next, as long as nobody asks for another type.
    pub fn kept<T: Default + Send + Sync + 'static>(&mut self) -> (&mut Cut, &mut T) {
        if !self.kept.as_ref().is_some_and(|kept| kept.is::<T>()) {
            self.kept = Some(Box::<T>::default());
        }
        let kept = self.kept.as_mut().and_then(|kept| kept.downcast_mut()).expect("a value of this type");
        (&mut self.cut, kept)
    }
}

/// What has been prepared for the next of several estimates.
#[derive(Default)]
pub struct Ahead {
    /// The batch.
    pub batch: Batch,
    /// The step that it is for, if any.
    step: Option<u64>,
    /// The items that it is for.
    items: Vec<i32>,
}

impl Ahead {
    /// Whether the batch is for this step and these items. It is no longer for any afterwards.
    pub fn take(&mut self, step: u64, items: &[i32]) -> bool {
        self.step.take() == Some(step) && self.items == items
    }

    /// Records that the batch is for this step and these items.
    pub fn set(&mut self, step: u64, items: &[i32]) -> Result<()> {
        self.items.clear();
        try_reserve_with_slack(&mut self.items, items.len())?;
        self.items.extend_from_slice(items);
        self.step = Some(step);
        Ok(())
    }

    /// Records that the batch is for no step.
    pub fn clear(&mut self) {
        self.step = None;
    }
}
