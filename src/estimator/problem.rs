//! What is learned: items that an epoch shuffles into batches, and a loss of the model's outputs for them.

use super::Kind;
use crate::error::{Error, Result};
use crate::graph::{Graph, Split};
use crate::kernel::{Pick, table};
use crate::log::Level;
use crate::model::{Model, Workspace};
use crate::sample::{Cut, Draws, Layer};

/// The items of a graph are nodes; those of a ranking are queries. Estimators, training and the probes know no more of
/// either than this.
pub trait Problem: Sync {
    /// What an item is called, in the plural.
    fn items_name(&self) -> &'static str;

    /// Tells this state from every other one, as far as the items of a split and what is cut for them go.
    fn version(&self) -> u64;

    /// Items in all; a batch names them by number.
    fn num_items(&self) -> usize;

    /// Whether a split has been set.
    fn has(&self, split: Split) -> bool;

    /// The items of a split that can be learned from, or `MissingData`.
    fn items(&self, split: Split) -> Result<&[i32]>;

    /// Checks that every item of a caller's batch can be learned from.
    fn check_batch(&self, batch: &[i32]) -> Result<()>;

    /// Checks that model and estimator fit.
    fn check(&self, model: &Model, kind: &Kind) -> Result<()>;

    /// A sample size beyond which an estimator gains nothing.
    fn largest_size(&self, kind: &Kind) -> usize;

    /// Draws what an estimate for `items` needs and cuts the chain of so many layers for it.
    fn cut(&self, num_layers: usize, kind: &Kind, key: Key, items: &[i32], cut: &mut Cut) -> Result<()>;

    /// Whether cutting takes time worth speaking of.
    fn takes_cutting(&self, num_layers: usize, kind: &Kind) -> bool;

    /// Loss and gradient of what has been cut.
    fn loss_and_gradient(&self, model: &Model, workspace: &mut Workspace) -> Result<f64>;

    /// Measures the model on the training items and, if there are any, the validation items, nothing drawn.
    fn evaluate(&self, model: &Model) -> Result<Evaluation>;

    /// Whether [`Evaluation::val_ndcg`] is measured.
    fn has_ndcg(&self) -> bool;

    /// Sizes by name, that a checkpoint must share and a log tells.
    fn sizes(&self) -> Vec<(&'static str, usize)>;

    /// What there is to tell of the first layer's input, once it is known.
    fn news(&self) -> Option<(Level, String)>;
}

/// The key of an estimate's random numbers.
#[derive(Clone, Copy)]
pub struct Key {
    /// The caller's seed.
    pub seed: u64,
    /// Gradients since the seed was set.
    pub step: u64,
}

/// How good a model is. NaN: not measured.
#[derive(Clone, Copy)]
pub struct Evaluation {
    /// Loss over all training items, without λ.
    pub train_loss: f64,
    /// Loss over the validation items.
    pub val_loss: f64,
    /// Share of the validation nodes, or of the ranked pairs of a validation query, that the model gets right.
    pub val_accuracy: f64,
    /// Mean NDCG of the validation queries.
    pub val_ndcg: f64,
}

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

    fn check(&self, model: &Model, kind: &Kind) -> Result<()> {
        model.check_features(self)?;
        model.check_classes(self)?;
        kind.check(model, self)
    }

    fn largest_size(&self, _: &Kind) -> usize {
        self.num_nodes()
    }

    fn cut(&self, num_layers: usize, kind: &Kind, key: Key, items: &[i32], cut: &mut Cut) -> Result<()> {
        let Cut { chain, sampler, .. } = cut;
        // Most nodes: nearly all the others are below them, and finding out which takes time and room.
        if matches!(kind, Kind::Full) && self.is_symmetric() && 2 * items.len() >= self.num_nodes() {
            return chain.whole_below(self, items, num_layers);
        }
        let draws = Draws { distribution: kind.distribution(), seed: key.seed, step: key.step };
        chain.cut(self, items, num_layers, |l| kind.layer(l), &draws, sampler)
    }

    fn takes_cutting(&self, num_layers: usize, kind: &Kind) -> bool {
        num_layers > 1 || !matches!(kind.layer(0), Layer::Exact)
    }

    /// Mean cross-entropy.
    fn loss_and_gradient(&self, model: &Model, workspace: &mut Workspace) -> Result<f64> {
        let (labels, classes) = (self.labels()?, model.widths()[model.num_layers()]);
        workspace.loss_and_gradient(model, self, &*model.threads()?, |logits, chain| {
            let (nodes, missed) = (chain.top(), chain.missed());
            let batch_size = (nodes.len() + missed) as f64;
            let share = (1.0 / batch_size) as f32;
            let losses = table().cross_entropy(logits, classes, labels, Pick::List(nodes), share);
            // A node that no draw meets has the logits 0, the loss log C, and no part in the gradient.
            Ok((losses + missed as f64 * (classes as f64).ln()) / batch_size)
        })
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

    fn news(&self) -> Option<(Level, String)> {
        self.aggregation()
    }
}
