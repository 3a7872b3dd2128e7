//! What is learned: items that an epoch shuffles into batches, and a loss of the model's outputs for them.

use super::{Batch, Kind};
use crate::error::Result;
use crate::graph::{Graph, Split};
use crate::kernel::Threads;
use crate::log::Level;
use crate::model::Model;
use crate::nn::Program;
use crate::sample::{Key, Sampler};

/// A graph, whose items are nodes, or a ranking, whose items are queries. This is all that estimators, training and the
/// measurements of [`crate::theory`] know of either.
pub trait Problem: Sync {
    /// The name of the items, in the plural.
    fn items_name(&self) -> &'static str;

    /// Differs between any two states whose splits or cuts may differ.
    fn version(&self) -> u64;

    /// The number of items. A batch names them by number.
    fn num_items(&self) -> usize;

    /// Whether a split has been set.
    fn has(&self, split: Split) -> bool;

    /// The items of a split that can be learned from, or `MissingData`.
    fn items(&self, split: Split) -> Result<&[i32]>;

    /// Checks that every item of a caller's batch can be learned from.
    fn check_batch(&self, batch: &[i32]) -> Result<()>;

    /// Checks that a model and a kind of estimator fit.
    fn check(&self, model: &Model, kind: &dyn Kind) -> Result<()>;

    /// A sample size above which an estimator gains nothing.
    fn largest_size(&self, kind: &dyn Kind) -> usize;

    /// The graph that the layers of a model run on.
    fn graph(&self) -> &Graph;

    /// Draws what an estimate for `items` needs and cuts it for a program. The kind has passed [`Problem::check`].
    fn cut(
        &self,
        program: &Program,
        kind: &dyn Kind,
        key: Key,
        items: &[i32],
        batch: &mut Batch,
        sampler: &mut Sampler,
    ) -> Result<()>;

    /// Whether [`Problem::cut`] takes long enough to be worth doing on another thread.
    fn takes_cutting(&self, program: &Program) -> bool;

    /// The loss of a batch, from the model's outputs for the nodes at the top of its cut and their width. The outputs become the
    /// gradient of the loss by them.
    fn loss(&self, batch: &mut Batch, outputs: (&mut [f32], usize), threads: &Threads) -> Result<f64>;

    /// Measures the model on the training items and, if there are any, the validation items, nothing drawn.
    fn evaluate(&self, model: &Model) -> Result<Evaluation>;

    /// Whether [`Evaluation::val_ndcg`] is measured.
    fn has_ndcg(&self) -> bool;

    /// Sizes by name, for logs and for checkpoints, which are resumed only where all of them are the same.
    fn sizes(&self) -> Vec<(&'static str, usize)>;

    /// A message about how the input of the first layer is kept, as soon as that is known.
    fn input_message(&self) -> Option<(Level, String)>;
}

/// How good a model is. NaN: not measured.
#[derive(Clone, Copy)]
pub struct Evaluation {
    /// Loss over all training items, without λ.
    pub train_loss: f64,
    /// Loss over the validation items.
    pub val_loss: f64,
    /// The share of the validation nodes, or of the ranked pairs of a validation query, that the model gets right.
    pub val_accuracy: f64,
    /// Mean NDCG of the validation queries.
    pub val_ndcg: f64,
}
