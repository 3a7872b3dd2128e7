//! The exact gradient over all training items.

use super::{Estimator, Kind, Property, Request};
use crate::error::Result;

struct Full;

impl Estimator {
    /// The exact gradient over all training items. It takes no batch.
    pub fn full() -> Self {
        Self::new(Box::new(Full))
    }
}

impl Kind for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn property(&self) -> Property {
        Property::EXACT
    }

    fn request(&self) -> Request<'_> {
        Request::Nothing
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        Ok(Box::new(Full))
    }

    fn takes_batch(&self) -> bool {
        false
    }
}
