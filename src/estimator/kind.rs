//! The interface of a kind of estimator. Each kind is a file of its own that implements [`Kind`].

use super::Property;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::sample::{Distribution, Draws, Hop};
use std::any::Any;

/// What sets one kind of estimator apart from another: what it draws, its settings, and what it claims.
pub trait Kind: Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// A text that identifies the kind and all its settings. A checkpoint can be resumed only by an estimator with the same
    /// text.
    fn description(&self) -> String {
        self.name().to_string()
    }

    /// What is claimed of its gradients.
    fn property(&self) -> Property;

    /// What it draws for each gradient.
    fn request(&self) -> Request<'_>;

    /// A copy with the same settings.
    fn try_clone(&self) -> Result<Box<dyn Kind>>;

    /// Checks that it fits a model with this many hops on a graph.
    fn check(&self, _num_hops: usize, _graph: &Graph) -> Result<()> {
        Ok(())
    }

    /// Whether it takes a batch. An estimator that takes none uses all training items.
    fn takes_batch(&self) -> bool {
        true
    }

    /// Whether the batch is its only sample, so that its sample size is the size of the batch.
    fn samples_batch_alone(&self) -> bool {
        false
    }

    /// Its sample sizes: one for each hop of a graph, or one for a ranking; empty if it draws nothing.
    fn sizes(&self) -> &[usize] {
        &[]
    }

    /// The largest of the sizes that it draws; `None` if it draws nothing.
    fn size(&self) -> Option<usize> {
        None
    }

    /// Replaces every sample size but 0.
    fn set_size(&mut self, _size: usize) {}

    /// Sets the distribution that nodes are drawn from.
    fn set_distribution(&mut self, _value: Distribution) -> Result<()> {
        Err(draws_no_nodes(self.name()))
    }

    /// Pins the draws at the input of a hop; an empty list removes them.
    fn set_draws(&mut self, _hop: usize, _nodes: &[i32]) -> Result<()> {
        Err(draws_no_nodes(self.name()))
    }
}

/// A bit for each of the first 64 hops at whose input a kind draws nothing, and whether it draws nothing at any.
pub fn exact_hops(kind: &dyn Kind) -> (u64, bool) {
    match kind.request() {
        Request::Nothing | Request::Parts { .. } => (u64::MAX, true),
        Request::Nodes(draws) => {
            let drawn = |hops: &[Hop]| hops.iter().rev().fold(0, |bits, hop| bits << 1 | u64::from(*hop != Hop::Exact));
            let (first, rest) = draws.hops.split_at(draws.hops.len().min(64));
            (!drawn(first), drawn(first) == 0 && rest.iter().all(|hop| *hop == Hop::Exact))
        }
    }
}

fn draws_no_nodes(name: &str) -> Error {
    Error::Unsupported(format!("the {name} estimator draws no nodes"))
}

/// What a kind draws for one gradient.
pub enum Request<'a> {
    /// Nothing: the gradient of a batch is exact.
    Nothing,
    /// Nodes at the hops of a graph.
    Nodes(Draws<'a>),
    /// Parts of each item that one kind of problem understands.
    Parts {
        /// What they are, in messages.
        name: &'static str,
        /// A description of them, whose type that problem knows.
        parts: &'a (dyn Any + Send + Sync),
    },
}
