//! The exact gradient of a batch, from its whole neighbourhood.

use super::{Estimator, Kind, Property, Request};
use crate::error::Result;

struct Unbiased;

impl Estimator {
    /// The exact gradient of a batch.
    pub fn unbiased() -> Self {
        Self::new(Box::new(Unbiased))
    }
}

impl Kind for Unbiased {
    fn name(&self) -> &'static str {
        "unbiased"
    }

    fn property(&self) -> Property {
        Property::UNBIASED
    }

    fn request(&self) -> Request<'_> {
        Request::Nothing
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        Ok(Box::new(Unbiased))
    }

    fn samples_batch_alone(&self) -> bool {
        true
    }
}
