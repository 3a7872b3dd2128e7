//! Models: a net with its parameters; prediction and evaluation; the file that stores them.

mod infer;
mod metrics;
mod safetensors;
mod workspace;

pub use metrics::macro_f1;
pub use workspace::Workspace;

use crate::error::{Error, Result, try_copied, try_with_capacity};
use crate::fork;
use crate::graph::Graph;
use crate::kernel::{Buffer, GROUP, Threads, table};
use crate::nn::{self, Layers, Mode, Net, Program, Request, Tensor};
use crate::random::{Purpose, Stream};
use crate::sample::{Cut, Sampler};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What a gradient is of.
#[derive(Clone, Copy)]
pub struct GradientOf {
    /// A bit for each of the first 64 hops at whose input nothing is drawn.
    pub exact_hops: u64,
    /// Whether nothing is drawn at any hop.
    pub nothing_drawn: bool,
    /// Whether it is over all training items, exactly.
    pub full: bool,
    /// Whether those are at least half of all items.
    pub over_most: bool,
    /// Whether numbers are dropped.
    pub dropout: bool,
}

/// Where predictions for a whole graph may put matrices of all nodes.
#[derive(Clone)]
struct Scratch {
    directory: PathBuf,
    /// Bytes that they may take in memory before.
    max_bytes: usize,
}

/// Layers and their parameters.
pub struct Model {
    net: Arc<Net>,
    /// The widths of the paper's model, H^(l+1) = σ(Â H^(l) W^(l)), whose file and whose initial parameters differ; empty for any
    /// other.
    widths: Vec<usize>,
    /// All tensors, one after the other.
    parameters: Buffer,
    /// Running statistics of norms.
    state: Vec<f32>,
    lambda: f64,
    scratch: Option<Scratch>,
    /// Behind a lock, because a child process replaces them after `fork`.
    threads: Mutex<Arc<Threads>>,
    rooms: Rooms,
}

impl Model {
    /// A model of these layers, its parameters drawn by `seed`.
    pub fn new(layers: Layers, seed: u64) -> Result<Self> {
        let net = Net::new(layers)?;
        let (parameters, state) = (net.starting_parameters(seed)?, net.starting_state()?);
        Self::assemble(Arc::new(net), &[], &parameters, &state)
    }

    /// A GCN with one layer between each two widths and Glorot-uniform parameters, drawn by `seed`.
    pub fn gcn(widths: &[usize], seed: u64) -> Result<Self> {
        let mut parameters: Vec<f32> = try_with_capacity(Self::count_parameters(widths)?)?;
        for (layer, pair) in widths.windows(2).enumerate() {
            let mut random = Stream::new(seed, Purpose::Parameters, 0, layer as u64);
            let limit = (6.0 / (pair[0] + pair[1]) as f64).sqrt();
            parameters.extend((0..pair[0] * pair[1]).map(|_| (limit * (2.0 * random.unit() - 1.0)) as f32));
        }
        Self::from_parts(widths, &parameters)
    }

    /// The paper's model with these widths and parameters.
    fn from_parts(widths: &[usize], parameters: &[f32]) -> Result<Self> {
        let net = Arc::new(Net::new(Layers::gcn(widths)?)?);
        Self::assemble(net, widths, parameters, &[])
    }

    fn assemble(net: Arc<Net>, widths: &[usize], parameters: &[f32], state: &[f32]) -> Result<Self> {
        Ok(Model {
            net,
            widths: try_copied(widths)?,
            parameters: Buffer::try_copied(parameters)?,
            state: try_copied(state)?,
            lambda: 0.0,
            scratch: None,
            threads: Mutex::new(Arc::new(Threads::new(1)?)),
            rooms: Rooms::default(),
        })
    }

    /// Checks `widths` and returns the number of parameters.
    fn count_parameters(widths: &[usize]) -> Result<usize> {
        if widths.len() < 2 {
            let text = format!("num_widths = {}: a model needs an input and an output width", widths.len());
            return Err(Error::InvalidArgument(text));
        }
        if let Some(at) = widths.iter().position(|&w| w == 0 || w > i32::MAX as usize) {
            return Err(Error::entry("widths", at, widths[at], format_args!("is outside [1, {}]", i32::MAX)));
        }
        widths
            .windows(2)
            .try_fold(0usize, |sum, w| w[0].checked_mul(w[1])?.checked_add(sum))
            .filter(|&count| count <= isize::MAX as usize / 4)
            .ok_or_else(|| Error::InvalidArgument(format!("widths {widths:?} make more parameters than memory holds")))
    }

    /// A copy for training, which shares this model's threads.
    pub fn working_copy(&self) -> Result<Self> {
        let mut copy = Self::assemble(Arc::clone(&self.net), &self.widths, &self.parameters, &self.state)?;
        copy.lambda = self.lambda;
        copy.scratch.clone_from(&self.scratch);
        copy.threads = Mutex::new(self.threads()?);
        Ok(copy)
    }

    /// An independent model with the same parameters and settings.
    pub fn try_clone(&self) -> Result<Self> {
        let mut clone = self.working_copy()?;
        clone.set_threads(self.threads()?.count())?;
        Ok(clone)
    }

    /// Number of hops: of looks at neighbours. For the paper's model these are its layers.
    pub fn num_layers(&self) -> usize {
        self.net.layers().num_hops()
    }

    /// The layers and the places of their tensors.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// A tensor by its number.
    pub fn tensor(&self, index: usize) -> Result<&Tensor> {
        let tensors = self.net.tensors();
        let missing =
            || Error::InvalidArgument(format!("index = {index}, but the model has {} tensors", tensors.len()));
        tensors.get(index).ok_or_else(missing)
    }

    /// Whether this is the paper's model: graph convolutions without biases, ReLU between them.
    pub fn is_plain(&self) -> bool {
        !self.widths.is_empty()
    }

    /// Input width, hidden widths and output width of the paper's model, or `Unsupported`.
    pub fn widths(&self) -> Result<&[usize]> {
        match self.is_plain() {
            true => Ok(&self.widths),
            false => Err(Error::Unsupported("a model made of layers has no list of widths".to_string())),
        }
    }

    /// Columns of the features that the model reads.
    pub fn input_width(&self) -> usize {
        self.net.input_width()
    }

    /// Columns of the model's output.
    pub fn output_width(&self) -> usize {
        self.net.output_width()
    }

    /// Running statistics of norms.
    pub fn state(&self) -> &[f32] {
        &self.state
    }

    /// Running statistics of norms, for an update. It must keep them finite.
    pub(crate) fn state_mut(&mut self) -> &mut [f32] {
        &mut self.state
    }

    /// Replaces the running statistics; each must be finite, and no variance negative.
    pub fn set_state(&mut self, src: &[f32]) -> Result<()> {
        self.check_state(src)?;
        self.state.copy_from_slice(src);
        Ok(())
    }

    /// Checks running statistics.
    pub fn check_state(&self, src: &[f32]) -> Result<()> {
        if src.len() != self.state.len() {
            let text = format!("{} running statistics, but the model has {}", src.len(), self.state.len());
            return Err(Error::ShapeMismatch(text));
        }
        let variances = |at: usize| self.net.is_variance(at);
        if let Some(at) = src.iter().enumerate().position(|(at, x)| !x.is_finite() || *x < 0.0 && variances(at)) {
            return Err(Error::entry("running statistics", at, src[at], "is not finite, or a variance below 0"));
        }
        Ok(())
    }

    /// Parameters and then running statistics.
    pub fn numbers(&self) -> impl Iterator<Item = f32> + '_ {
        self.parameters.iter().chain(&self.state).copied()
    }

    /// Replaces both, as [`Model::numbers`] lists them.
    pub fn set_numbers(&mut self, src: &[f32]) -> Result<()> {
        let (parameters, state) = src.split_at(self.parameters.len().min(src.len()));
        self.check_state(state)?;
        self.set_parameters(parameters)?;
        self.set_state(state)
    }

    /// Replaces parameters and running statistics by those of a copy of this model.
    pub fn take_over(&mut self, copy: &Model) -> Result<()> {
        self.check_state(&copy.state)?;
        self.set_parameters(&copy.parameters)?;
        self.set_state(&copy.state)
    }

    /// The program of a gradient: the last one, if it still serves. Norms of a full gradient see all nodes.
    pub fn gradient_program(&self, graph: &Graph, of: GradientOf, last: Option<&Arc<Program>>) -> Result<Arc<Program>> {
        let mode = Mode::Gradient { dropout: of.dropout, all_nodes: of.full && self.net.has_batch_norm() };
        let identity = of.nothing_drawn && graph.is_identity();
        let transposes = graph.is_symmetric() || !self.net.layers().has_convolutions();
        let whole = of.over_most && transposes && !identity;
        let (powers, value) = (self.keeps_powers(graph)?, self.net.layers().last());
        let features_first = whole && graph.is_cheaper_features_first()?;
        let (exact, by_levels) = (of.exact_hops, false);
        let request = Request { mode, exact, identity, whole, by_levels, powers, features_first, value };
        match last.filter(|last| last.net == self.net.id() && last.request == request) {
            Some(last) => Ok(Arc::clone(last)),
            None => self.net.kept_program(request),
        }
    }

    fn keeps_powers(&self, graph: &Graph) -> Result<bool> {
        Ok(self.net.layers().has_powers() && graph.keeps_powers()?)
    }

    /// The program of a value, computed exactly, for all nodes or for some. For some, powers of Â times X are not computed for the
    /// whole graph; the bits are the same.
    fn exact_program(&self, graph: &Graph, value: usize, (all, by_levels): (bool, bool)) -> Result<Arc<Program>> {
        self.net.kept_program(Request {
            mode: Mode::Inference,
            exact: u64::MAX,
            identity: graph.is_identity(),
            whole: false,
            by_levels,
            powers: all && self.keeps_powers(graph)?,
            features_first: false,
            value,
        })
    }

    /// All parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, for an update. It must keep them finite.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Replaces all parameters; each must be finite.
    pub fn set_parameters(&mut self, src: &[f32]) -> Result<()> {
        if src.len() != self.parameters.len() {
            let text = format!("count = {}, but the model has {} parameters", src.len(), self.parameters.len());
            return Err(Error::ShapeMismatch(text));
        }
        if !table().largest(src).is_finite() {
            let at = src.iter().position(|v| !v.is_finite()).unwrap_or(0);
            return Err(Error::entry("src", at, src[at], "is not finite"));
        }
        self.parameters.copy_from_slice(src);
        Ok(())
    }

    /// λ of the penalty λ/2 ‖W‖².
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// The penalty λ/2 ‖W‖².
    pub fn penalty(&self) -> f64 {
        let squares: f64 = self.parameters.iter().map(|&w| f64::from(w) * f64::from(w)).sum();
        0.5 * self.lambda * squares
    }

    /// Sets λ, finite and ≥ 0.
    pub fn set_lambda(&mut self, lambda: f64) -> Result<()> {
        if !(lambda.is_finite() && lambda >= 0.0) {
            return Err(Error::InvalidArgument(format!("lambda = {lambda} is not a finite number >= 0")));
        }
        self.lambda = lambda;
        Ok(())
    }

    /// Lets predictions for a whole graph put what takes more than this many bytes into files in a directory; `None`: nothing.
    pub fn set_scratch(&mut self, scratch: Option<(&Path, usize)>) -> Result<()> {
        let Some((directory, max_bytes)) = scratch else {
            self.scratch = None;
            return Ok(());
        };
        let directory = directory.canonicalize().map_err(|e| Error::of_system("read links", &e).in_file(directory))?;
        if !directory.is_dir() {
            return Err(Error::Io(format!("{} is no directory", directory.display())));
        }
        self.scratch = Some(Scratch { directory, max_bytes });
        Ok(())
    }

    /// How a prediction for all nodes of a graph runs level by level, if it does: with scratch files, or if matrices of all nodes
    /// do not fit the processor's caches anyway.
    fn room(&self, graph: &Graph) -> Option<nn::Room<'_>> {
        /// Numbers of a block.
        const NUMBERS: usize = 1 << 18;
        /// Numbers of a matrix that is worth cutting.
        const MANY: usize = 1 << 23;
        let widest = self.net.layers().values().iter().skip(1).map(|value| value.width).max().unwrap_or(1);
        let scratch = self.scratch.as_ref().map(|scratch| (scratch.max_bytes, &*scratch.directory));
        let most = scratch.map_or(NUMBERS, |(bytes, _)| NUMBERS.min(bytes / 16));
        let rows = (most / widest).max(GROUP).next_multiple_of(GROUP);
        let cuts = scratch.is_some() || graph.num_nodes().saturating_mul(widest) > MANY;
        cuts.then_some(nn::Room { rows, scratch })
    }

    /// Sets the number of threads; 0 means all cores.
    pub fn set_threads(&mut self, count: usize) -> Result<()> {
        const MOST: usize = 1024;
        if count > MOST {
            return Err(Error::InvalidArgument(format!("threads = {count} is above {MOST}")));
        }
        self.threads = Mutex::new(Arc::new(Threads::new(count)?));
        Ok(())
    }

    /// The threads. They are started again in a child process after `fork`.
    pub fn threads(&self) -> Result<Arc<Threads>> {
        let mut threads = fork::lock(&self.threads);
        if !threads.alive() {
            *threads = Arc::new(Threads::new(threads.count())?);
        }
        Ok(Arc::clone(&threads))
    }

    /// Checks that the model can read the graph's features.
    pub fn check_features(&self, graph: &Graph) -> Result<()> {
        let width = graph.features()?.width();
        let wanted = self.input_width();
        if width != wanted {
            let text = format!("the model's input width is {wanted}, the graph has {width} features");
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }

    /// Checks that the model has an output for every class of the graph.
    pub fn check_classes(&self, graph: &Graph) -> Result<()> {
        graph.labels()?;
        let outputs = self.output_width();
        if graph.num_classes() > outputs {
            let text = format!("the model's output width is {outputs}, the graph has {} classes", graph.num_classes());
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }
}

/// What one prediction works in.
#[derive(Default)]
struct Room {
    cut: Cut,
    sampler: Sampler,
    workspace: Workspace,
}

/// The rooms of finished predictions, kept for the next ones. A model may predict on many threads at once.
#[derive(Default)]
struct Rooms(Mutex<Vec<Room>>);

impl Rooms {
    /// A room with larger buffers than this is freed.
    const MOST_BYTES: usize = 64 << 20;
    const MOST_KEPT: usize = 64;

    fn with<R>(&self, work: impl FnOnce(&mut Room) -> Result<R>) -> Result<R> {
        let mut room = fork::lock(&self.0).pop().unwrap_or_default();
        let result = work(&mut room);
        let mut kept = fork::lock(&self.0);
        if room.workspace.bytes() + room.cut.bytes() <= Self::MOST_BYTES && kept.len() < Self::MOST_KEPT {
            kept.push(room);
        }
        result
    }
}
