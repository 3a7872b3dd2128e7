//! A ranking as a problem: items are queries, the loss is that of their pairs.

use super::{Data, Measures, name};
use crate::error::{Error, Result};
use crate::estimator::{Evaluation, Key, Kind, Problem};
use crate::graph::Split;
use crate::log::Level;
use crate::model::{Model, Workspace};
use crate::random::{Purpose, Stream};
use crate::sample::{Choice, Cut, Distribution, Draws, Layer};

impl Data {
    /// Checks that the model can score the documents.
    pub(super) fn check_model(&self, model: &Model) -> Result<()> {
        let (inputs, outputs) = (model.widths()[0], model.widths()[model.num_layers()]);
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

    fn check(&self, model: &Model, kind: &Kind) -> Result<()> {
        self.check_model(model)?;
        match kind {
            Kind::Consistent { .. } => {
                let text = "the consistent estimator draws neighbours, which documents have not; see plim_estimator_separate()";
                Err(Error::Unsupported(text.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn largest_size(&self, kind: &Kind) -> usize {
        let size = |query: usize| match kind {
            Kind::Pairs { .. } => usize::try_from(self.levels(query).num_pairs()).unwrap_or(usize::MAX),
            _ => self.levels(query).documents.len(),
        };
        (0..self.num_queries()).map(size).max().unwrap_or(1).min(Kind::LARGEST_SIZE)
    }

    fn cut(&self, num_layers: usize, kind: &Kind, key: Key, items: &[i32], cut: &mut Cut) -> Result<()> {
        let choice = match *kind {
            Kind::Pairs { size } => Choice::Pairs(size),
            Kind::Separate { size, self_normalized } => Choice::Separate { size, self_normalized },
            Kind::Full | Kind::Unbiased | Kind::Consistent { .. } => Choice::All,
        };
        let Cut { chain, sampler, pairs } = cut;
        let mut random = Stream::new(key.seed, Purpose::Draws, key.step, 0);
        pairs.clear();
        items.iter().try_for_each(|&q| pairs.push(self.levels(q as usize), choice, &mut random))?;
        let nothing = Draws { distribution: &Distribution::Uniform, seed: 0, step: 0 };
        chain.cut(&self.documents, pairs.documents(), num_layers, |_| Layer::Exact, &nothing, sampler)
    }

    fn takes_cutting(&self, _: usize, _: &Kind) -> bool {
        true
    }

    /// Mean over queries of the mean pair loss.
    fn loss_and_gradient(&self, model: &Model, workspace: &mut Workspace) -> Result<f64> {
        let threads = model.threads()?;
        let mut pairs = std::mem::take(&mut workspace.cut.pairs);
        let top = |scores: &mut [f32], _: &_| pairs.loss(scores, &threads);
        let loss = workspace.loss_and_gradient(model, &self.documents, &threads, top);
        workspace.cut.pairs = pairs;
        loss
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

    fn news(&self) -> Option<(Level, String)> {
        None
    }
}
