//! The gradient of a batch of queries from ranked pairs drawn of each.

use super::super::Choice;
use super::{check_size, request};
use crate::error::Result;
use crate::estimator::{Estimator, Kind, Property, Request};

struct Pairs {
    /// t.
    size: usize,
    choice: Choice,
}

impl Estimator {
    /// The gradient of a batch of queries from `size` ranked pairs drawn of each.
    pub fn pairs(size: usize) -> Result<Self> {
        Ok(Self::new(Box::new(Pairs::new(check_size("num_pairs", size)?))))
    }
}

impl Pairs {
    fn new(size: usize) -> Self {
        Pairs { size, choice: Choice::Pairs(size) }
    }
}

impl Kind for Pairs {
    fn name(&self) -> &'static str {
        "pairs"
    }

    fn description(&self) -> String {
        format!("{} {}", self.name(), self.size)
    }

    fn property(&self) -> Property {
        Property::UNBIASED_AND_CONSISTENT
    }

    fn request(&self) -> Request<'_> {
        request(&self.choice)
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        Ok(Box::new(Pairs::new(self.size)))
    }

    fn sizes(&self) -> &[usize] {
        std::slice::from_ref(&self.size)
    }

    fn size(&self) -> Option<usize> {
        Some(self.size)
    }

    fn set_size(&mut self, size: usize) {
        *self = Pairs::new(size);
    }
}
