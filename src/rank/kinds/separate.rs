//! The gradient of a batch of queries from all ranked pairs between two samples of each.

use super::super::Choice;
use super::{check_size, request};
use crate::error::Result;
use crate::estimator::{Estimator, Kind, Property, Request};

struct Separate {
    /// t: documents of a sample.
    size: usize,
    self_normalized: bool,
    choice: Choice,
}

impl Estimator {
    /// The gradient of a batch of queries from the ranked pairs between `size` documents that rank above another one and as
    /// many that rank below another one.
    pub fn separate(size: usize, self_normalized: bool) -> Result<Self> {
        Ok(Self::new(Box::new(Separate::new(check_size("num_documents", size)?, self_normalized))))
    }
}

impl Separate {
    fn new(size: usize, self_normalized: bool) -> Self {
        Separate { size, self_normalized, choice: Choice::Separate { size, self_normalized } }
    }
}

impl Kind for Separate {
    fn name(&self) -> &'static str {
        if self.self_normalized { "self-normalised separate" } else { "separate" }
    }

    fn description(&self) -> String {
        format!("{} {}", self.name(), self.size)
    }

    fn property(&self) -> Property {
        if self.self_normalized { Property::CONSISTENT } else { Property::UNBIASED_AND_CONSISTENT }
    }

    fn request(&self) -> Request<'_> {
        request(&self.choice)
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        Ok(Box::new(Separate::new(self.size, self.self_normalized)))
    }

    fn sizes(&self) -> &[usize] {
        std::slice::from_ref(&self.size)
    }

    fn size(&self) -> Option<usize> {
        Some(self.size)
    }

    fn set_size(&mut self, size: usize) {
        *self = Separate::new(size, self.self_normalized);
    }
}
