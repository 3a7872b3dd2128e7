//! Rankings as problems: the items are queries, the loss is that of their pairs.

use super::{Choice, Data, LARGEST_SIZE, Measures, Pairs, name};
use crate::error::{Error, Result};
use crate::estimator::{Batch, Evaluation, Kind, Problem, Request};
use crate::graph::{Graph, Split};
use crate::kernel::Threads;
use crate::log::Level;
use crate::model::Model;
use crate::nn::Program;
use crate::random::{Purpose, Stream};
use crate::sample::{Draws, Key, Sampler};

impl Data {
    /// Checks that the model can score the documents.
    pub(super) fn check_model(&self, model: &Model) -> Result<()> {
        let (inputs, outputs) = (model.input_width(), model.output_width());
        if inputs != self.num_features() {
            let text = format!("the model's input width is {inputs}, the data have {} features", self.num_features());
            return Err(Error::ShapeMismatch(text));
        }
        if outputs != 1 {
            return Err(Error::ShapeMismatch(format!("the model's output width is {outputs}, a score is one number")));
        }
        Ok(())
    }

    /// The queries of a split that have a pair, or `MissingData`.
    pub(super) fn paired(&self, split: Split) -> Result<&[i32]> {
        let (queries, name) = (&self.paired[split as usize], name(split));
        match (queries.is_empty(), self.split(split).is_empty()) {
            (false, _) => Ok(queries),
            (true, true) => Err(Error::MissingData(format!("the {name} split is empty"))),
            (true, false) => {
                let text = format!("no query of the {name} split has two documents of different relevance");
                Err(Error::MissingData(text))
            }
        }
    }
}

impl Problem for Data {
    fn items_name(&self) -> &'static str {
        "queries"
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn num_items(&self) -> usize {
        self.num_queries()
    }

    fn has(&self, split: Split) -> bool {
        !self.split(split).is_empty()
    }

    fn items(&self, split: Split) -> Result<&[i32]> {
        self.paired(split)
    }

    fn check_batch(&self, batch: &[i32]) -> Result<()> {
        self.check_queries(batch, "batch")?;
        match batch.iter().position(|&q| !self.has_pair(q as usize)) {
            None => Ok(()),
            Some(at) => Err(Error::entry("batch", at, batch[at], "has no two documents of different relevance")),
        }
    }

    fn check(&self, model: &Model, kind: &dyn Kind) -> Result<()> {
        self.check_model(model)?;
        choice(kind).map(|_| ())
    }

    fn largest_size(&self, kind: &dyn Kind) -> usize {
        let choice = choice(kind);
        let size = |query: usize| match choice {
            Ok(Choice::Pairs(_)) => usize::try_from(self.levels(query).num_pairs()).unwrap_or(usize::MAX),
            _ => self.levels(query).documents.len(),
        };
        (0..self.num_queries()).map(size).max().unwrap_or(1).min(LARGEST_SIZE)
    }

    fn graph(&self) -> &Graph {
        &self.documents
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
        let choice = choice(kind)?;
        let (cut, pairs) = batch.kept::<Pairs>();
        let mut random = Stream::new(key.seed, Purpose::Draws, key.step, 0);
        pairs.clear();
        items.iter().try_for_each(|&q| pairs.push(self.levels(q as usize), choice, &mut random))?;
        program.cut(cut, (&self.documents, pairs.documents()), (Draws::NONE, key), sampler)
    }

    fn takes_cutting(&self, _: &Program) -> bool {
        true
    }

    /// Mean over queries of the mean pair loss.
    fn loss(&self, batch: &mut Batch, (scores, _): (&mut [f32], usize), threads: &Threads) -> Result<f64> {
        batch.kept::<Pairs>().1.loss(scores, threads)
    }

    fn evaluate(&self, model: &Model) -> Result<Evaluation> {
        let train_loss = Data::evaluate(self, model, Split::Train)?.loss;
        let nothing = Measures { loss: f64::NAN, accuracy: f64::NAN, ndcg: f64::NAN };
        let Measures { loss, accuracy, ndcg } = match self.has(Split::Val) {
            true => Data::evaluate(self, model, Split::Val)?,
            false => nothing,
        };
        Ok(Evaluation { train_loss, val_loss: loss, val_accuracy: accuracy, val_ndcg: ndcg })
    }

    fn has_ndcg(&self) -> bool {
        true
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        vec![("queries", self.num_queries()), ("documents", self.num_documents()), ("features", self.num_features())]
    }

    fn input_message(&self) -> Option<(Level, String)> {
        None
    }
}

/// The pairs that a kind draws of each query, or `Unsupported`.
fn choice(kind: &dyn Kind) -> Result<Choice> {
    let what = match kind.request() {
        Request::Nothing => return Ok(Choice::All),
        Request::Nodes(_) => "neighbours",
        Request::Parts { name, parts } => match parts.downcast_ref::<Choice>() {
            Some(choice) => return Ok(*choice),
            None => name,
        },
    };
    let text = format!(
        "the {} estimator draws {what}, and documents have none; use one that draws pairs of documents",
        kind.name()
    );
    Err(Error::Unsupported(text))
}
