//! Gradient estimators: from a batch to a gradient, each with the property it claims.
//!
//! | file | what it has |
//! |---|---|
//! | `kind` | the interface of a kind of estimator |
//! | `full`, `unbiased`, `consistent` | the kinds for graphs, one each; `crate::rank` adds those for rankings |
//! | `property` | what is claimed of an estimator's gradients |
//! | `problem` | the interface of what is learned: a graph, or a ranking |
//! | `nodes` | a graph as a problem |
//! | `batch` | what one estimate is computed on; the one prepared ahead |
//!
//! A new kind is a file that implements [`Kind`] and adds a constructor to [`Estimator`].

mod batch;
mod consistent;
mod full;
mod kind;
mod nodes;
mod problem;
mod property;
mod unbiased;

pub use batch::Batch;
pub use kind::{Kind, Request};
pub use problem::{Evaluation, Problem};
pub use property::Property;

use crate::error::{Error, Result};
use crate::graph::Split;
use crate::kernel::{Mode, Threads, Trial, table};
use crate::model::{GradientOf, Model, Workspace};
use crate::nn::{Masks, Program};
use crate::sample::{Distribution, Key, Sampler};
use batch::Ahead;
use kind::exact_hops;
use std::sync::{Arc, Mutex, PoisonError};

/// Estimates the gradient of a model on a problem.
pub struct Estimator {
    kind: Box<dyn Kind>,
    /// The key of the next gradient's draws.
    key: Key,
    batch: Batch,
    /// The state of a problem and the program that the batch was cut for, if it can be used again.
    cut_for: Option<(u64, u64)>,
    /// Whether it measures, and drops nothing.
    measures: bool,
    sampler: Sampler,
    ahead: Ahead,
    trial: Trial,
    workspace: Box<Workspace>,
}

impl Estimator {
    /// An estimator of this kind, with the seed 0.
    pub fn new(kind: Box<dyn Kind>) -> Self {
        Estimator {
            kind,
            key: Key::default(),
            batch: Batch::default(),
            cut_for: None,
            measures: false,
            sampler: Sampler::default(),
            ahead: Ahead::default(),
            trial: Trial::default(),
            workspace: Box::default(),
        }
    }

    /// A copy for measurements with another sample size and the same seed, whose draws start over. Dropout is off.
    pub fn with_size(&self, size: usize) -> Result<Self> {
        let mut other = Self::new(self.kind.try_clone()?);
        other.measures = true;
        other.kind.set_size(size);
        other.key.seed = self.key.seed;
        Ok(other)
    }

    /// The kind, with all its settings.
    pub fn kind(&self) -> &dyn Kind {
        &*self.kind
    }

    /// What is claimed of its gradients.
    pub fn property(&self) -> Property {
        self.kind.property()
    }

    /// What is claimed of its gradients of this model. The statistics of a batch are those of no other batch, so that nothing is
    /// claimed where a norm takes them; dropout leaves the claim as it is, for given masks.
    pub fn property_of(&self, model: &Model) -> Property {
        self.property_with(model.net().has_batch_norm())
    }

    /// The same for a model of which only this is known.
    pub fn property_with(&self, batch_norm: bool) -> Property {
        if batch_norm && self.kind.takes_batch() { Property::NONE } else { self.property() }
    }

    /// Whether it takes no batch and uses all training items.
    pub fn is_full(&self) -> bool {
        !self.kind.takes_batch()
    }

    /// Whether the batch is its only sample.
    pub fn is_unbiased(&self) -> bool {
        self.kind.samples_batch_alone()
    }

    /// Sample sizes by layer, or the one of a ranking; empty if it draws nothing but a batch.
    pub fn sizes(&self) -> &[usize] {
        self.kind.sizes()
    }

    /// The largest sample size of a layer whose nodes this estimator draws; `None` if it draws nothing but a batch.
    pub fn size(&self) -> Option<usize> {
        self.kind.size()
    }

    /// Replaces every sample size but 0.
    pub fn set_size(&mut self, size: usize) {
        self.kind.set_size(size);
    }

    /// Sets the distribution of all layers' draws.
    pub fn set_distribution(&mut self, value: Distribution) -> Result<()> {
        self.kind.set_distribution(value)
    }

    /// Pins the draws at the input of `layer`; an empty list removes them.
    pub fn set_draws(&mut self, layer: usize, nodes: &[i32]) -> Result<()> {
        self.kind.set_draws(layer, nodes)
    }

    /// The seed of the draws.
    pub fn seed(&self) -> u64 {
        self.key.seed
    }

    /// Starts the draws over under another seed.
    pub fn set_seed(&mut self, seed: u64) {
        self.key = Key { seed, step: 0 };
    }

    /// Gradients since the seed was set.
    pub fn step(&self) -> u64 {
        self.key.step
    }

    /// Continues as after this many gradients.
    pub fn set_step(&mut self, step: u64) {
        self.key.step = step;
    }

    /// A text that identifies the estimator: kind, sizes, distribution and seed.
    pub fn description(&self) -> String {
        format!("{}, seed {}", self.kind.description(), self.key.seed)
    }

    /// Checks that model and problem fit each other and this estimator, as [`Estimator::gradient`] does.
    pub fn check(&self, model: &Model, problem: &dyn Problem) -> Result<()> {
        problem.check(model, &*self.kind)
    }

    /// Loss and gradient at the model's parameters, over `batch` (`None`: all training items).
    ///
    /// The gradient stays in this estimator's buffer until the next call. The cost grows with the degrees of the rows touched
    /// times the widths; the number of nodes affects only the first call, which allocates the buffers.
    pub fn gradient(&mut self, model: &Model, problem: &dyn Problem, batch: Option<&[i32]>) -> Result<(f64, &[f32])> {
        self.check(model, problem)?;
        let items = match batch {
            None => problem.items(Split::Train)?,
            Some(_) if self.is_full() => {
                return Err(Error::InvalidArgument(format!("batch: the {} estimator takes none", self.kind.name())));
            }
            Some([]) => return Err(Error::InvalidArgument("batch is empty".to_string())),
            Some(items) => {
                problem.check_batch(items)?;
                self.sampler.check_distinct(problem.num_items(), items, "batch")?;
                items
            }
        };
        let (loss, _) = self.estimate(model, problem, items)?;
        let gradient = self.workspace.gradient();
        if table().largest(gradient).is_finite() {
            return Ok((loss, gradient));
        }
        self.key.step -= 1;
        Err(Error::Diverged("not every entry of the gradient is finite".to_string()))
    }

    /// The same over items that are known to be distinct and to have something to learn from, with a model and a problem that
    /// have passed [`Estimator::check`]. The loss is finite, the gradient may not be.
    pub fn estimate(&mut self, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<(f64, &[f32])> {
        self.ahead.clear();
        let loss = self.cut_and_compute(model, problem, items)?;
        Ok((loss, self.workspace.gradient()))
    }

    /// [`Estimator::estimate`] where the next estimate is known to be for `next`: what that needs is cut in the meantime, if the
    /// model has a thread for it. Until then nothing but the model's parameters may change. If it does not come,
    /// [`Estimator::end_sequence`] must be called.
    pub fn estimate_in_sequence(
        &mut self,
        model: &Model,
        problem: &dyn Problem,
        items: &[i32],
        next: Option<&[i32]>,
    ) -> Result<(f64, &[f32])> {
        let threads = model.threads()?;
        if threads.count() == 1 {
            return self.estimate(model, problem, items);
        }
        let (mode, start) = (self.trial.mode(), self.trial.start());
        let program = self.program(model, problem, items)?;
        let takes_cutting = !self.is_full() && problem.takes_cutting(&program);
        let loss = match (mode, next.filter(|_| takes_cutting)) {
            (Mode::Ahead, Some(next)) => {
                self.compute_and_cut_next((model, &program), problem, items, next, &threads)?
            }
            (Mode::Alone, _) => threads.alone(|| self.cut_and_compute(model, problem, items))?,
            _ => self.cut_and_compute(model, problem, items)?,
        };
        self.trial.count(start, threads.helped(), next.is_none());
        Ok((loss, self.workspace.gradient()))
    }

    /// Discards what has been cut for an estimate that may not come.
    pub fn end_sequence(&mut self) {
        self.ahead.clear();
    }

    /// What the model runs for this estimator.
    fn program(&self, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<Arc<Program>> {
        let kind = &*self.kind;
        let full = !kind.takes_batch() && matches!(kind.request(), Request::Nothing);
        let (exact_hops, nothing_drawn) = exact_hops(kind);
        let over_most = full && 2 * items.len() >= problem.num_items();
        let draws = GradientOf { exact_hops, nothing_drawn, full, over_most, dropout: !self.measures };
        model.gradient_program(problem.graph(), draws, self.workspace.program())
    }

    /// Moves the model's running statistics towards those of the last estimate, which was of this model.
    pub fn commit(&self, model: &mut Model) {
        self.workspace.commit(model.state_mut());
    }

    fn cut_and_compute(&mut self, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<f64> {
        let program = self.program(model, problem, items)?;
        self.cut(&program, problem, items)?;
        let Estimator { workspace, batch, key, .. } = self;
        let loss = compute(workspace, batch, (model, &program), (problem, *key), &*model.threads()?)?;
        self.key.step += 1;
        Ok(loss)
    }

    /// [`Estimator::cut_and_compute`], while another thread cuts what the next estimate, for `next`, needs.
    fn compute_and_cut_next(
        &mut self,
        (model, program): (&Model, &Arc<Program>),
        problem: &dyn Problem,
        items: &[i32],
        next: &[i32],
        threads: &Threads,
    ) -> Result<f64> {
        self.cut(program, problem, items)?;
        let Estimator { kind, key, batch, sampler, ahead, workspace, .. } = self;
        let next_key = Key { step: key.step + 1, ..*key };
        let side = Mutex::new((&mut ahead.batch, sampler, Ok(())));
        let cut_next = || {
            let mut side = side.lock().unwrap_or_else(PoisonError::into_inner);
            let (batch, sampler, result) = &mut *side;
            *result = problem.cut(program, &**kind, next_key, next, batch, sampler);
        };
        let of = (problem, *key);
        let loss = threads.beside(&cut_next, || compute(workspace, batch, (model, program), of, threads))?;
        key.step += 1;
        // If it failed, the next estimate cuts again, and reports the error.
        let (_, _, result) = side.into_inner().unwrap_or_else(PoisonError::into_inner);
        let _ = result.and_then(|()| ahead.set(next_key.step, next));
        Ok(loss)
    }

    /// Cuts what an estimate over `items` needs, unless it is there already.
    fn cut(&mut self, program: &Program, problem: &dyn Problem, items: &[i32]) -> Result<()> {
        if self.ahead.take(self.key.step, items) {
            std::mem::swap(&mut self.batch, &mut self.ahead.batch);
            return Ok(());
        }
        // If nothing is drawn, all training items of the same problem have the same cut every time.
        let same = self.is_full() && matches!(self.kind.request(), Request::Nothing);
        let cut_for = same.then(|| (problem.version(), program.id));
        if cut_for.is_none() || cut_for != self.cut_for {
            self.cut_for = None;
            let Estimator { kind, key, batch, sampler, .. } = self;
            problem.cut(program, &**kind, *key, items, batch, sampler)?;
            self.cut_for = cut_for;
        }
        Ok(())
    }
}

/// Loss and gradient of a batch that has been cut: forward through the model, the loss, and backward.
fn compute(
    workspace: &mut Workspace,
    batch: &mut Batch,
    (model, program): (&Model, &Arc<Program>),
    (problem, key): (&dyn Problem, Key),
    threads: &Threads,
) -> Result<f64> {
    let graph = problem.graph();
    let masks = Masks { seed: key.seed, step: key.step };
    let mut pass = || {
        workspace.forward(model, program, (graph, &batch.cut), threads, (masks, true))?;
        let mut loss = problem.loss(batch, workspace.outputs_mut(model), threads)?;
        if model.lambda() > 0.0 {
            loss += model.penalty();
        }
        workspace.backward(model, (graph, &batch.cut), threads, masks)?;
        match loss.is_finite() {
            true => Ok(loss),
            false => Err(Error::Diverged(format!("the loss is {loss}"))),
        }
    };
    let loss = pass();
    workspace.release();
    loss
}
