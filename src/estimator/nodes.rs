//! Graphs as problems: the items are nodes, the loss is their cross-entropy.

use super::{Batch, Evaluation, Kind, Problem, Request};
use crate::error::{Error, ForThe, Result};
use crate::graph::{Graph, Split};
use crate::kernel::{Pick, Threads, table};
use crate::log::Level;
use crate::model::Model;
use crate::nn::Program;
use crate::sample::{Draws, Key, Sampler};

impl Problem for Graph {
    fn items_name(&self) -> &'static str {
        "nodes"
    }

    fn version(&self) -> u64 {
        Graph::version(self)
    }

    fn num_items(&self) -> usize {
        self.num_nodes()
    }

    fn has(&self, split: Split) -> bool {
        !self.split(split).is_empty()
    }

    fn items(&self, split: Split) -> Result<&[i32]> {
        self.labelled_split(split)
    }

    fn check_batch(&self, batch: &[i32]) -> Result<()> {
        let labels = self.labels()?;
        self.check_nodes(batch, "batch")?;
        match batch.iter().position(|&v| labels[v as usize] < 0) {
            None => Ok(()),
            Some(at) => Err(Error::entry("batch", at, batch[at], "has no label")),
        }
    }

    fn check(&self, model: &Model, kind: &dyn Kind) -> Result<()> {
        model.check_features(self)?;
        model.check_classes(self)?;
        if let Request::Parts { name, .. } = kind.request() {
            let text = format!("the {} estimator draws {name}, and a graph has none", kind.name());
            return Err(Error::Unsupported(text));
        }
        kind.check(model.num_layers(), self)
    }

    fn largest_size(&self, _: &dyn Kind) -> usize {
        self.num_nodes()
    }

    fn graph(&self) -> &Graph {
        self
    }

    fn cut(
        &self,
        program: &Program,
        kind: &dyn Kind,
        key: Key,
        items: &[i32],
        batch: &mut Batch,
        sampler: &mut Sampler,
    ) -> Result<()> {
        program.cut(&mut batch.cut, (self, items), (draws(kind), key), sampler).for_the("edges below the batch")
    }

    fn takes_cutting(&self, program: &Program) -> bool {
        !program.steps.is_empty()
    }

    /// Mean cross-entropy.
    fn loss(&self, batch: &mut Batch, (logits, classes): (&mut [f32], usize), _: &Threads) -> Result<f64> {
        let (nodes, missed) = (batch.cut.top(), batch.cut.missed());
        let batch_size = (nodes.len() + missed) as f64;
        let share = (1.0 / batch_size) as f32;
        let losses = table().cross_entropy(logits, classes, self.labels()?, Pick::List(nodes), share);
        // A node that no draw reaches has the logits 0, the loss log C, and no part in the gradient.
        Ok((losses + missed as f64 * (classes as f64).ln()) / batch_size)
    }

    fn evaluate(&self, model: &Model) -> Result<Evaluation> {
        let splits = [Split::Train, Split::Val];
        let measured = model.evaluate_splits(self, &splits[..1 + usize::from(self.has(Split::Val))])?;
        let (val_loss, val_accuracy) = measured.get(1).copied().unwrap_or((f64::NAN, f64::NAN));
        Ok(Evaluation { train_loss: measured[0].0, val_loss, val_accuracy, val_ndcg: f64::NAN })
    }

    fn has_ndcg(&self) -> bool {
        false
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("nodes", self.num_nodes()),
            ("edges", self.num_edges()),
            ("features", self.num_features()),
            ("classes", self.num_classes()),
        ]
    }

    fn input_message(&self) -> Option<(Level, String)> {
        self.aggregation()
    }
}

/// The nodes that a kind draws.
fn draws(kind: &dyn Kind) -> Draws<'_> {
    match kind.request() {
        Request::Nodes(draws) => draws,
        Request::Nothing | Request::Parts { .. } => Draws::NONE,
    }
}
