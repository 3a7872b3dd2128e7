//! Gradient estimators: from a batch to a gradient, each with the property it declares.

mod ahead;
mod problem;

pub use problem::{Evaluation, Key, Problem};

use crate::error::{Error, Result, try_copied, try_filled};
use crate::graph::{Graph, Split};
use crate::kernel::{Mode, Threads, Trial, table};
use crate::model::{Model, Workspace};
use crate::sample::{Distribution, Layer, checksum};
use ahead::Ahead;
use std::sync::{Mutex, PoisonError};

/// The mean over draws is the true gradient.
pub const UNBIASED: u32 = 1;
/// The estimate converges to the batch's gradient as the sample sizes grow.
pub const CONSISTENT: u32 = 2;
/// The estimate is the true gradient.
pub const EXACT: u32 = 4;

/// Estimates the gradient of a model on a problem.
pub struct Estimator {
    kind: Kind,
    seed: u64,
    /// Gradients since the seed was set: with the seed and the layer, the key of the draws.
    step: u64,
    workspace: Box<Workspace>,
    /// The state of a problem and the number of layers that the workspace's chain is for, if it can be used again.
    cut_for: Option<(u64, usize)>,
    ahead: Ahead,
    trial: Trial,
}

/// What an estimator draws.
pub enum Kind {
    /// All training items, nothing drawn.
    Full,
    /// A batch, and all of its neighbourhood.
    Unbiased,
    /// A batch, and few nodes drawn at each layer's input.
    Consistent {
        /// Draws at the input of each layer; 0 = exact.
        sizes: Vec<usize>,
        /// P of all layers.
        distribution: Distribution,
        /// The caller's own draws, layer by layer.
        draws: Vec<Option<Vec<i32>>>,
    },
    /// A batch of queries, and this many ranked pairs drawn of each.
    Pairs {
        /// t.
        size: usize,
    },
    /// A batch of queries, and the ranked pairs between two samples of each, drawn separately.
    Separate {
        /// Documents of a sample.
        size: usize,
        /// Whether the sum over pairs is divided by their number in the sample.
        self_normalized: bool,
    },
}

impl Estimator {
    fn new(kind: Kind) -> Self {
        Estimator {
            kind,
            seed: 0,
            step: 0,
            workspace: Box::default(),
            cut_for: None,
            ahead: Ahead::default(),
            trial: Trial::default(),
        }
    }

    /// The exact gradient over all training nodes.
    pub fn full() -> Self {
        Self::new(Kind::Full)
    }

    /// The exact gradient of a batch.
    pub fn unbiased() -> Self {
        Self::new(Kind::Unbiased)
    }

    /// The gradient of a batch with `sizes[l]` nodes drawn at the input of layer l; 0 draws none and is exact.
    pub fn consistent(sizes: &[usize]) -> Result<Self> {
        if sizes.is_empty() {
            return Err(Error::InvalidArgument("num_layers = 0".to_string()));
        }
        Ok(Self::new(Kind::Consistent {
            sizes: try_copied(sizes)?,
            distribution: Distribution::Uniform,
            draws: try_filled(sizes.len(), None)?,
        }))
    }

    /// The gradient of a batch of queries from `size` ranked pairs drawn of each.
    pub fn pairs(size: usize) -> Result<Self> {
        Ok(Self::new(Kind::Pairs { size: check_size("num_pairs", size)? }))
    }

    /// The gradient of a batch of queries from the ranked pairs between `size` documents drawn to be above and as many drawn
    /// to be below.
    pub fn separate(size: usize, self_normalized: bool) -> Result<Self> {
        Ok(Self::new(Kind::Separate { size: check_size("num_documents", size)?, self_normalized }))
    }

    /// Another estimator that differs from this one in its sample size alone, and begins its draws anew.
    pub fn with_size(&self, size: usize) -> Result<Self> {
        let kind = match &self.kind {
            Kind::Full => Kind::Full,
            Kind::Unbiased => Kind::Unbiased,
            &Kind::Pairs { size } => Kind::Pairs { size },
            &Kind::Separate { size, self_normalized } => Kind::Separate { size, self_normalized },
            Kind::Consistent { sizes, distribution, draws } => Kind::Consistent {
                sizes: try_copied(sizes)?,
                distribution: distribution.clone(),
                draws: draws.iter().map(|d| d.as_deref().map(try_copied).transpose()).collect::<Result<_>>()?,
            },
        };
        let mut other = Self::new(kind);
        other.set_size(size);
        other.seed = self.seed;
        Ok(other)
    }

    /// Puts `size` in the place of every sample size but 0; the full and the unbiased estimator have none.
    pub fn set_size(&mut self, size: usize) {
        match &mut self.kind {
            Kind::Consistent { sizes, .. } => sizes.iter_mut().filter(|t| **t > 0).for_each(|t| *t = size),
            Kind::Pairs { size: t } | Kind::Separate { size: t, .. } => *t = size,
            Kind::Full | Kind::Unbiased => {}
        }
    }

    /// The largest sample size of a layer whose nodes are drawn by this estimator; `None` if it draws none.
    pub fn size(&self) -> Option<usize> {
        match &self.kind {
            Kind::Consistent { sizes, draws, .. } => {
                sizes.iter().zip(draws).filter(|(t, given)| **t > 0 && given.is_none()).map(|(t, _)| *t).max()
            }
            Kind::Pairs { size } | Kind::Separate { size, .. } => Some(*size),
            Kind::Full | Kind::Unbiased => None,
        }
    }

    /// Sample sizes by layer, or the one of a ranking; none of the full and the unbiased estimator.
    pub fn sizes(&self) -> &[usize] {
        match &self.kind {
            Kind::Consistent { sizes, .. } => sizes,
            Kind::Pairs { size } | Kind::Separate { size, .. } => std::slice::from_ref(size),
            Kind::Full | Kind::Unbiased => &[],
        }
    }

    /// The seed of the draws.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Starts the draws anew under another seed.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.step = 0;
    }

    /// Sets the distribution of all layers' draws.
    pub fn set_distribution(&mut self, value: Distribution) -> Result<()> {
        match &mut self.kind {
            Kind::Consistent { distribution, .. } => *distribution = value,
            kind => return Err(kind.draws_nothing()),
        }
        Ok(())
    }

    /// Pins the draws at the input of `layer`; an empty list takes them back.
    pub fn set_draws(&mut self, layer: usize, nodes: &[i32]) -> Result<()> {
        let draws = match &mut self.kind {
            Kind::Consistent { draws, .. } => draws,
            kind => return Err(kind.draws_nothing()),
        };
        if layer >= draws.len() {
            let text = format!("layer = {layer}, but the estimator samples {} layers", draws.len());
            return Err(Error::InvalidArgument(text));
        }
        if let Some(at) = nodes.iter().position(|&v| v < 0) {
            return Err(Error::entry("nodes", at, nodes[at], "is negative"));
        }
        draws[layer] = if nodes.is_empty() { None } else { Some(try_copied(nodes)?) };
        Ok(())
    }

    /// Whether it takes all training nodes and no batch.
    pub fn is_full(&self) -> bool {
        matches!(self.kind, Kind::Full)
    }

    /// Whether its batch is all that is drawn.
    pub fn is_unbiased(&self) -> bool {
        matches!(self.kind, Kind::Unbiased)
    }

    /// Gradients since the seed was set.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Goes on as after so many gradients.
    pub fn set_step(&mut self, step: u64) {
        self.step = step;
    }

    /// What tells this estimator from another: kind, sizes, distribution and seed.
    pub fn description(&self) -> String {
        let kind = match &self.kind {
            Kind::Full | Kind::Unbiased => self.kind.name().to_string(),
            Kind::Pairs { size } | Kind::Separate { size, .. } => format!("{} {size}", self.kind.name()),
            Kind::Consistent { sizes, distribution, draws } => {
                let checksum = |nodes: &Vec<i32>| checksum(nodes.iter().map(|v| v.to_le_bytes()));
                let pinned: Vec<_> = draws.iter().map(|d| d.as_ref().map(|d| (d.len(), checksum(d)))).collect();
                format!("consistent {sizes:?}, {}, pinned {pinned:?}", distribution.description())
            }
        };
        format!("{kind}, seed {}", self.seed)
    }

    /// Checks that model and problem fit each other and this estimator, as a gradient would.
    pub fn check(&self, model: &Model, problem: &dyn Problem) -> Result<()> {
        problem.check(model, &self.kind)
    }

    /// What is estimated, and how.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The property bits. Pinned draws are whatever the caller makes them, so nothing is claimed of them.
    pub fn property(&self) -> u32 {
        match &self.kind {
            Kind::Full => UNBIASED | CONSISTENT | EXACT,
            Kind::Unbiased => UNBIASED,
            Kind::Consistent { draws, .. } if draws.iter().any(Option::is_some) => 0,
            Kind::Consistent { sizes, .. } if sizes.iter().all(|&t| t == 0) => UNBIASED,
            Kind::Consistent { .. } => CONSISTENT,
            Kind::Pairs { .. } | Kind::Separate { self_normalized: false, .. } => UNBIASED | CONSISTENT,
            Kind::Separate { self_normalized: true, .. } => CONSISTENT,
        }
    }

    /// Loss and gradient at the model's parameters, over `batch` (`None`: all training items).
    ///
    /// The gradient stays in this estimator's buffer until the next call. Cost: degrees of the rows touched times
    /// widths; the number of nodes enters only the first call, which makes room.
    pub fn gradient(&mut self, model: &Model, problem: &dyn Problem, batch: Option<&[i32]>) -> Result<(f64, &[f32])> {
        self.check(model, problem)?;
        let items = match batch {
            None => problem.items(Split::Train)?,
            Some(_) if self.is_full() => {
                return Err(Error::InvalidArgument("batch: the full estimator takes none".to_string()));
            }
            Some([]) => return Err(Error::InvalidArgument("batch is empty".to_string())),
            Some(items) => {
                problem.check_batch(items)?;
                self.workspace.cut.sampler.check_distinct(problem.num_items(), items, "batch")?;
                items
            }
        };
        let (loss, _) = self.estimate(model, problem, items)?;
        let gradient = self.workspace.gradient();
        if table().largest(gradient).is_finite() {
            return Ok((loss, gradient));
        }
        self.step -= 1;
        Err(Error::Diverged("not every entry of the gradient is finite".to_string()))
    }

    /// The same over items that are known to be distinct and to have something to learn from, with model and problem that
    /// have passed [`Estimator::check`]. The loss is finite, the gradient may not be.
    pub fn estimate(&mut self, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<(f64, &[f32])> {
        self.ahead.forget();
        let loss = self.loss(model, problem, items)?;
        Ok((loss, self.workspace.gradient()))
    }

    fn loss(&mut self, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<f64> {
        self.cut(model, problem, items)?;
        let loss = problem.loss_and_gradient(model, &mut self.workspace)?;
        self.step += 1;
        Ok(loss)
    }

    /// Cuts what an estimate over `items` needs, if it is not there.
    fn cut(&mut self, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<()> {
        if self.ahead.take(self.step, items) {
            self.workspace.exchange(&mut self.ahead.cut);
            return Ok(());
        }
        // All training items of the same problem need the same chain every time.
        let cut_for = matches!(self.kind, Kind::Full).then(|| (problem.version(), model.num_layers()));
        if cut_for.is_none() || cut_for != self.cut_for {
            self.cut_for = None;
            let key = Key { seed: self.seed, step: self.step };
            problem.cut(model.num_layers(), &self.kind, key, items, &mut self.workspace.cut)?;
            self.cut_for = cut_for;
        }
        Ok(())
    }

    /// [`Estimator::estimate`] where the next estimate is known to be for `next`: what it needs is cut meanwhile, if the model
    /// has a thread for it. Until then nothing but the model's parameters may change; [`Estimator::end_sequence`] is for
    /// when it does not come.
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
        let takes_cutting = !self.is_full() && problem.takes_cutting(model.num_layers(), &self.kind);
        let loss = match (mode, next.filter(|_| takes_cutting)) {
            (Mode::Ahead, Some(next)) => self.loss_and_next_cut(model, problem, items, next, &threads)?,
            (Mode::Alone, _) => threads.alone(|| self.loss(model, problem, items))?,
            _ => self.loss(model, problem, items)?,
        };
        self.trial.count(start, threads.helped(), next.is_none());
        Ok((loss, self.workspace.gradient()))
    }

    /// [`Estimator::loss`], while another thread cuts what the next one, for `next`, needs.
    fn loss_and_next_cut(
        &mut self,
        model: &Model,
        problem: &dyn Problem,
        items: &[i32],
        next: &[i32],
        threads: &Threads,
    ) -> Result<f64> {
        self.cut(model, problem, items)?;
        let Estimator { kind, seed, step, workspace, ahead, .. } = self;
        let (num_layers, key) = (model.num_layers(), Key { seed: *seed, step: *step + 1 });
        let side = Mutex::new((&mut ahead.cut, Ok(())));
        let cut = || {
            let mut side = side.lock().unwrap_or_else(PoisonError::into_inner);
            side.1 = problem.cut(num_layers, kind, key, next, side.0);
        };
        let loss = threads.beside(&cut, || problem.loss_and_gradient(model, workspace))?;
        *step += 1;
        // What has failed here is tried again, and told of, when it is needed.
        let (_, cut_next) = side.into_inner().unwrap_or_else(PoisonError::into_inner);
        let _ = cut_next.and_then(|()| ahead.remember(key.step, next));
        Ok(loss)
    }

    /// Forgets what has been cut for an estimate that may not come.
    pub fn end_sequence(&mut self) {
        self.ahead.forget();
    }
}

impl Kind {
    /// The most pairs or documents that a ranking draws of a query.
    pub const LARGEST_SIZE: usize = 1 << 20;

    /// Its name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Full => "full",
            Kind::Unbiased => "unbiased",
            Kind::Consistent { .. } => "consistent",
            Kind::Pairs { .. } => "pairs",
            Kind::Separate { self_normalized: false, .. } => "separate",
            Kind::Separate { self_normalized: true, .. } => "self-normalised separate",
        }
    }

    fn draws_nothing(&self) -> Error {
        Error::Unsupported(format!("the {} estimator draws no nodes", self.name()))
    }

    /// Checks that sample sizes, weights and draws fit the model and the graph.
    fn check(&self, model: &Model, graph: &Graph) -> Result<()> {
        let (sizes, distribution, draws) = match self {
            Kind::Full | Kind::Unbiased => return Ok(()),
            Kind::Consistent { sizes, distribution, draws } => (sizes, distribution, draws),
            Kind::Pairs { .. } | Kind::Separate { .. } => {
                let text = format!("the {} estimator draws pairs of documents, which a graph has not", self.name());
                return Err(Error::Unsupported(text));
            }
        };
        if sizes.len() != model.num_layers() {
            let text = format!("{} sample sizes for a model of {} layers", sizes.len(), model.num_layers());
            return Err(Error::ShapeMismatch(text));
        }
        distribution.check(graph)?;
        for (l, nodes) in draws.iter().enumerate() {
            let nodes = nodes.as_deref().unwrap_or_default();
            graph.check_nodes(nodes, "").map_err(|e| Error::InvalidArgument(format!("draws[{l}]{e}")))?;
        }
        Ok(())
    }

    fn distribution(&self) -> &Distribution {
        match self {
            Kind::Consistent { distribution, .. } => distribution,
            _ => &Distribution::Uniform,
        }
    }

    /// How the input of layer `l` is chosen.
    fn layer(&self, l: usize) -> Layer<'_> {
        match self {
            Kind::Consistent { sizes, draws, .. } => match &draws[l] {
                Some(nodes) => Layer::Given(nodes),
                None if sizes[l] > 0 => Layer::Draw(sizes[l]),
                None => Layer::Exact,
            },
            _ => Layer::Exact,
        }
    }
}

/// A sample of a query has at least one, and not so many that rows could no longer be counted in 32 bits.
fn check_size(name: &str, size: usize) -> Result<usize> {
    const MOST: usize = Kind::LARGEST_SIZE;
    match size {
        1..=MOST => Ok(size),
        _ => Err(Error::InvalidArgument(format!("{name} = {size} is outside [1, {MOST}]"))),
    }
}
