//! Models: layers, parameters, forward and backward over a cut; the file that stores them.

mod folded;
mod infer;
mod metrics;
mod pass;
mod safetensors;
mod transposed;

pub use metrics::macro_f1;
pub use pass::Workspace;

use crate::error::{Error, Result, try_copied, try_with_capacity};
use crate::fork;
use crate::graph::Graph;
use crate::kernel::{Buffer, Threads, table};
use crate::random::{Purpose, Stream};
use crate::sample::{Cut, Sampler};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A graph convolutional network: H^(l+1) = σ(Â H^(l) W^(l)), ReLU on all layers but the last, softmax at the end.
pub struct Model {
    widths: Vec<usize>,
    /// W(0), W(1), …, each row-major fan_in × fan_out.
    parameters: Buffer,
    lambda: f64,
    /// Behind a lock, because a child process replaces them after `fork`.
    threads: Mutex<Arc<Threads>>,
    rooms: Rooms,
}

impl Model {
    /// A GCN with one layer between each two widths and Glorot-uniform parameters, drawn by `seed`.
    pub fn gcn(widths: &[usize], seed: u64) -> Result<Self> {
        let mut parameters: Vec<f32> = try_with_capacity(Self::count_parameters(widths)?)?;
        for (layer, pair) in widths.windows(2).enumerate() {
            let mut random = Stream::new(seed, Purpose::Parameters, 0, layer as u64);
            let limit = (6.0 / (pair[0] + pair[1]) as f64).sqrt();
            parameters.extend((0..pair[0] * pair[1]).map(|_| (limit * (2.0 * random.unit() - 1.0)) as f32));
        }
        Self::from_parts(widths, &parameters, 0.0)
    }

    fn from_parts(widths: &[usize], parameters: &[f32], lambda: f64) -> Result<Self> {
        Ok(Model {
            widths: try_copied(widths)?,
            parameters: Buffer::try_copied(parameters)?,
            lambda,
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
        let mut copy = Self::from_parts(&self.widths, &self.parameters, self.lambda)?;
        copy.threads = Mutex::new(self.threads()?);
        Ok(copy)
    }

    /// An independent model with the same parameters and settings.
    pub fn try_clone(&self) -> Result<Self> {
        let mut clone = Self::from_parts(&self.widths, &self.parameters, self.lambda)?;
        clone.set_threads(self.threads()?.count())?;
        Ok(clone)
    }

    /// Number of layers.
    pub fn num_layers(&self) -> usize {
        self.widths.len() - 1
    }

    /// Input width, hidden widths, output width.
    pub fn widths(&self) -> &[usize] {
        &self.widths
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
        if width != self.widths[0] {
            let text = format!("the model's input width is {}, the graph has {width} features", self.widths[0]);
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }

    /// Checks that the model has an output for every class of the graph.
    pub fn check_classes(&self, graph: &Graph) -> Result<()> {
        graph.labels()?;
        let outputs = self.widths[self.num_layers()];
        if graph.num_classes() > outputs {
            let text = format!("the model's output width is {outputs}, the graph has {} classes", graph.num_classes());
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }

    /// The place of W(l) in the parameters and in a gradient.
    fn range(&self, l: usize) -> Range<usize> {
        let start: usize = self.widths.windows(2).take(l).map(|w| w[0] * w[1]).sum();
        start..start + self.widths[l] * self.widths[l + 1]
    }

    fn weights(&self, l: usize) -> &[f32] {
        &self.parameters[self.range(l)]
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
