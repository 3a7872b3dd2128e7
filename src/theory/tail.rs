//! Measures how wrong the gradients of an estimator are: computes the exact gradient once, then many independent
//! estimates.

use super::wilson;
use crate::error::{Error, ForThe, Result, try_copied, try_filled, try_with_capacity};
use crate::estimator::{Estimator, Problem};
use crate::graph::Split;
use crate::kernel::{self, Threads};
use crate::log::{self, Level, Log};
use crate::model::Model;
use crate::optim::Interrupt;
use crate::random::{Purpose, Stream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How to measure.
#[derive(Clone)]
pub struct Options {
    /// Independent estimates for each sample size; at least 2.
    pub draws: usize,
    /// Seed of the estimates. The estimator's own seed and counter are not used.
    pub seed: u64,
    /// The items whose gradient is estimated; `None` for all training items.
    pub batch: Option<Arc<Vec<i32>>>,
}

impl Default for Options {
    fn default() -> Self {
        Options { draws: 10_000, seed: 0, batch: None }
    }
}

/// Progress of a measurement.
pub struct Progress {
    /// Number of the current sample size, from 1.
    pub stage: usize,
    /// Number of sample sizes.
    pub num_stages: usize,
    /// Estimates made so far with this size.
    pub done: usize,
    /// Estimates per size.
    pub draws: usize,
    /// Seconds so far.
    pub seconds: f64,
}

/// Receives progress and messages.
pub trait Observer: Log {
    /// Receives progress; may end the measurement.
    fn progress(&mut self, progress: &Progress) -> std::result::Result<(), Interrupt>;
}

/// What was measured, for each sample size N and relative error δ.
pub struct Tail {
    /// Share of the estimates with ‖g−h‖ ≥ δ‖h‖, row by row of N.
    pub probabilities: Vec<f64>,
    /// Wilson's 95 % interval of each share.
    pub lower: Vec<f64>,
    /// Its upper limit.
    pub upper: Vec<f64>,
    /// For each N: √E‖g−h‖², ‖E g − h‖ and √E‖g − E g‖², in units of ‖h‖.
    pub errors: Vec<Errors>,
    /// ‖h‖.
    pub norm: f64,
}

/// A column of a [`Tail`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Share of the estimates that missed, by sample size and δ.
    Probability,
    /// Lower end of that share's interval.
    Lower,
    /// Upper end of that share's interval.
    Upper,
    /// [`Errors::error`], by sample size.
    Error,
    /// [`Errors::bias`], by sample size.
    Bias,
    /// [`Errors::deviation`], by sample size.
    Deviation,
}

impl Tail {
    /// Returns a copy of one column.
    pub fn column(&self, column: Column) -> Result<Vec<f64>> {
        let errors = |of: &dyn Fn(&Errors) -> f64| {
            let mut column = try_with_capacity(self.errors.len())?;
            column.extend(self.errors.iter().map(of));
            Ok(column)
        };
        let copy = match column {
            Column::Probability => try_copied(&self.probabilities),
            Column::Lower => try_copied(&self.lower),
            Column::Upper => try_copied(&self.upper),
            Column::Error => errors(&|e| e.error),
            Column::Bias => errors(&|e| e.bias),
            Column::Deviation => errors(&|e| e.deviation),
        };
        copy.for_the("copy of a column")
    }
}

/// The error of an estimate in units of ‖h‖, and its parts: error² = bias² + deviation².
#[derive(Clone, Copy)]
pub struct Errors {
    /// √E‖g−h‖².
    pub error: f64,
    /// ‖E g − h‖: averaging more estimates of this size does not reduce it. 0 if it is smaller than the noise.
    pub bias: f64,
    /// √E‖g − E g‖².
    pub deviation: f64,
}

/// Measures `estimator` with each of `sizes` in place of its sample sizes.
pub fn tail(
    estimator: &Estimator,
    model: &Model,
    problem: &dyn Problem,
    grid: (&[usize], &[f64]),
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Tail> {
    let result = measure(estimator, model, problem, grid, options, observer).for_the("measurement");
    log_failure(observer, &result);
    result
}

fn measure(
    estimator: &Estimator,
    model: &Model,
    problem: &dyn Problem,
    (sizes, deltas): (&[usize], &[f64]),
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Tail> {
    check_grid(sizes, deltas)?;
    let mut prober = Prober::new(estimator, model, problem, options)?;
    prober.log_beginning(observer);
    sizes.iter().enumerate().try_for_each(|(at, &size)| prober.check_size(&format!("sample_sizes[{at}]"), size))?;
    let column = || try_with_capacity(sizes.len().saturating_mul(deltas.len()));
    let (probabilities, lower, upper) = (column()?, column()?, column()?);
    let norm = prober.norm;
    let mut tail = Tail { probabilities, lower, upper, errors: try_with_capacity(sizes.len())?, norm };
    for (stage, &size) in sizes.iter().enumerate() {
        let measured = prober.measure(size, 0..options.draws, (stage + 1, sizes.len()), observer)?;
        for &delta in deltas {
            let misses = measured.misses(delta);
            let (lower, upper) = wilson(misses, options.draws);
            tail.probabilities.push(misses as f64 / options.draws as f64);
            tail.lower.push(lower);
            tail.upper.push(upper);
        }
        let errors = measured.errors();
        log::tell(observer, Level::Info, || {
            let Errors { error, bias, deviation } = errors;
            format!("sample size {size}: relative error {error:.4}, of which bias {bias:.4}, deviation {deviation:.4}")
        });
        tail.errors.push(errors);
    }
    Ok(tail)
}

/// Logs the error that ends a measurement.
pub(super) fn log_failure<T>(observer: &mut dyn Observer, result: &Result<T>) {
    if let Err(error) = result {
        log::tell(observer, Level::of(error), || error.to_string());
    }
}

fn check_grid(sizes: &[usize], deltas: &[f64]) -> Result<()> {
    if sizes.is_empty() {
        return Err(Error::InvalidArgument("num_sizes = 0".to_string()));
    }
    if let Some(at) = deltas.iter().position(|d| !(d.is_finite() && *d > 0.0)) {
        return Err(Error::entry("deltas", at, deltas[at], "is not a finite number > 0"));
    }
    Ok(())
}

/// Estimates of one sample size.
pub(super) struct Measured {
    /// ‖g−h‖/‖h‖ of each.
    pub relative: Vec<f64>,
    /// Σ(g−h)/‖h‖.
    sum: Vec<f64>,
}

impl Measured {
    pub fn misses(&self, delta: f64) -> usize {
        self.relative.iter().filter(|&&e| e >= delta).count()
    }

    fn errors(&self) -> Errors {
        let n = self.relative.len() as f64;
        let square = self.relative.iter().map(|e| e * e).sum::<f64>() / n;
        let of_mean = self.sum.iter().map(|s| (s / n).powi(2)).sum::<f64>();
        let variance = (square - of_mean).max(0.0) * n / (n - 1.0);
        // The mean of n estimates deviates from E g itself; the bias is what remains.
        let bias = (of_mean - variance / n).max(0.0).sqrt();
        Errors { error: square.sqrt(), bias, deviation: variance.sqrt() }
    }
}

/// Estimates that one thread makes in a row. Their sums are added in this grouping for any number of threads.
const PIECE: usize = 8;
/// Progress is reported about this often.
const WAVE: Duration = Duration::from_millis(200);

/// Draws estimates at fixed parameters and compares them with the exact gradient.
pub(super) struct Prober<'a> {
    estimator: &'a Estimator,
    model: &'a Model,
    problem: &'a dyn Problem,
    threads: Arc<Threads>,
    items: Vec<i32>,
    /// h, and its norm.
    exact: Vec<f32>,
    pub norm: f64,
    options: &'a Options,
    start: Instant,
    /// One for each thread that has worked at the same time.
    workers: Mutex<Vec<Worker>>,
    /// Number of pieces per wave.
    wave: usize,
}

struct Worker {
    estimator: Estimator,
    /// The items, shuffled; the unbiased estimator takes the first of them.
    order: Vec<i32>,
}

/// The result of a piece.
#[derive(Default)]
struct Piece {
    relative: Vec<f64>,
    sum: Vec<f64>,
    failure: Option<Error>,
}

impl<'a> Prober<'a> {
    pub fn new(
        estimator: &'a Estimator,
        model: &'a Model,
        problem: &'a dyn Problem,
        options: &'a Options,
    ) -> Result<Self> {
        estimator.check(model, problem)?;
        if options.batch.is_some() && estimator.is_full() {
            return Err(Error::InvalidArgument("batch: the full estimator takes none".to_string()));
        }
        let items = match &options.batch {
            Some(batch) => try_copied(batch)?,
            None => try_copied(problem.items(Split::Train)?)?,
        };
        // A copy for measurements drops nothing, as the estimates it is compared with.
        // A batch norm of the full estimator sees all nodes.
        let full = options.batch.is_none() && model.net().has_batch_norm();
        let exactly = if full { Estimator::full() } else { Estimator::unbiased() };
        let mut exactly = exactly.with_size(items.len())?;
        let exact = try_copied(exactly.gradient(model, problem, (!full).then_some(&items[..]))?.1)?;
        let norm = exact.iter().map(|&h| f64::from(h).powi(2)).sum::<f64>().sqrt();
        if norm == 0.0 {
            let text = "the gradient is 0 at these parameters, so there is no relative error";
            return Err(Error::InvalidArgument(text.to_string()));
        }
        let threads = model.threads()?;
        let wave = threads.count();
        let (start, workers) = (Instant::now(), Mutex::default());
        Ok(Prober { estimator, model, problem, threads, items, exact, norm, options, start, workers, wave })
    }

    /// Logs what is measured.
    pub fn log_beginning(&self, observer: &mut dyn Observer) {
        log::tell(observer, Level::Info, || {
            let (count, items) = (self.items.len(), self.problem.items_name());
            let (norm, draws) = (self.norm, self.options.draws);
            let (threads, isa) = (self.threads.count(), kernel::table().name);
            format!(
                "the gradient of {count} {items} has norm {norm:.6}; up to {draws} draws of a size; threads {threads}, isa {isa}"
            )
        });
        if let Some((level, message)) = self.problem.input_message() {
            log::tell(observer, level, || message);
        }
    }

    /// The number of items whose gradient is estimated.
    pub fn num_items(&self) -> usize {
        self.items.len()
    }

    pub fn check_size(&self, name: &str, size: usize) -> Result<()> {
        let most = if self.estimator.is_unbiased() { self.items.len() } else { i32::MAX as usize };
        match size >= 1 && size <= most {
            true => Ok(()),
            false => Err(Error::InvalidArgument(format!("{name} = {size} is outside [1, {most}]"))),
        }
    }

    /// Makes the estimates number `draws` of this size, reported as one stage of several.
    pub fn measure(
        &mut self,
        size: usize,
        draws: std::ops::Range<usize>,
        (stage, num_stages): (usize, usize),
        observer: &mut dyn Observer,
    ) -> Result<Measured> {
        // Keyed by the size itself, so that a size has the same estimates whichever others are measured.
        let seed = Stream::new(self.options.seed, Purpose::Probe, size as u64, 0).word();
        for worker in self.workers.get_mut().unwrap_or_else(PoisonError::into_inner) {
            worker.estimator.set_size(size);
            worker.estimator.set_seed(seed);
        }
        let mut measured =
            Measured { relative: try_with_capacity(draws.len())?, sum: try_filled(self.exact.len(), 0.0)? };
        let mut from = draws.start;
        while from < draws.end {
            let pieces = self.wave.min((draws.end - from).div_ceil(PIECE));
            let before = Instant::now();
            let mut done: Vec<Mutex<Piece>> = try_with_capacity(pieces)?;
            done.resize_with(pieces, Mutex::default);
            self.threads.each(pieces, &|i| {
                let first = from + i * PIECE;
                let piece = self.piece(size, seed, first..(first + PIECE).min(draws.end));
                *done[i].lock().unwrap_or_else(PoisonError::into_inner) = piece;
            });
            for piece in done {
                let piece = piece.into_inner().unwrap_or_else(PoisonError::into_inner);
                if let Some(failure) = piece.failure {
                    return Err(failure);
                }
                measured.relative.extend_from_slice(&piece.relative);
                measured.sum.iter_mut().zip(&piece.sum).for_each(|(sum, s)| *sum += s);
            }
            from = (from + pieces * PIECE).min(draws.end);
            self.pace(pieces, before.elapsed());
            let (done, draws) = (from - draws.start, draws.len());
            let progress = Progress { stage, num_stages, done, draws, seconds: self.start.elapsed().as_secs_f64() };
            let stopped = |_| Error::Cancelled("the progress callback stopped the probe".to_string());
            observer.progress(&progress).map_err(stopped)?;
        }
        Ok(measured)
    }

    /// Makes the next wave longer or shorter, after one of `pieces` pieces that took this long. Results do not depend
    /// on it.
    fn pace(&mut self, pieces: usize, took: Duration) {
        // A wave that was cut short says nothing about longer ones: the length would grow without bound.
        if took < WAVE / 2 && pieces == self.wave {
            self.wave *= 2;
        } else if took > WAVE * 2 {
            self.wave = (self.wave / 2).max(self.threads.count());
        }
    }

    fn piece(&self, size: usize, seed: u64, draws: std::ops::Range<usize>) -> Piece {
        let idle = self.workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut piece = Piece::default();
        let result = idle.map_or_else(|| self.hire(size, seed), Ok).and_then(|mut worker| {
            piece.relative = try_with_capacity(draws.len())?;
            piece.sum = try_filled(self.exact.len(), 0.0)?;
            let result = draws.into_iter().try_for_each(|draw| {
                piece.relative.push(self.estimate(&mut worker, size, seed, draw as u64, &mut piece.sum)?);
                Ok(())
            });
            self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
            result
        });
        piece.failure = result.err();
        piece
    }

    fn hire(&self, size: usize, seed: u64) -> Result<Worker> {
        let mut estimator = self.estimator.with_size(size)?;
        estimator.set_seed(seed);
        Ok(Worker { estimator, order: try_copied(&self.items)? })
    }

    /// Returns the relative error of one estimate and adds the error to the sum.
    fn estimate(&self, worker: &mut Worker, size: usize, seed: u64, draw: u64, sum: &mut [f64]) -> Result<f64> {
        worker.estimator.set_step(draw);
        let mut batch = &self.items[..];
        if self.estimator.is_unbiased() {
            worker.order.copy_from_slice(&self.items);
            let mut random = Stream::new(seed, Purpose::Shuffle, draw, 0);
            for i in 0..size {
                worker.order.swap(i, i + random.below((self.items.len() - i) as u64) as usize);
            }
            batch = &worker.order[..size];
        }
        let (_, gradient) = worker.estimator.estimate(self.model, self.problem, batch)?;
        let mut square = 0.0;
        for ((sum, &g), &h) in sum.iter_mut().zip(gradient).zip(&self.exact) {
            let error = (f64::from(g) - f64::from(h)) / self.norm;
            *sum += error;
            square += error * error;
        }
        match square.is_finite() {
            true => Ok(square.sqrt()),
            false => Err(Error::Diverged(format!("sample size {size}, draw {draw}: the gradient is not finite"))),
        }
    }
}

/// C and τ of a tail p ≈ C·exp(-τN), and r²: 1 - (weighted residual squares) / (weighted squares).
///
/// Least squares of log p on N with weights draws·p/(1-p), the inverse variance of log p, over the points at which 10
/// to draws - 10 estimates missed.
pub fn fit(sizes: &[usize], probabilities: &[f64], draws: usize) -> Result<(f64, f64, f64)> {
    if let Some(at) = probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::entry("probabilities", at, probabilities[at], "is outside [0, 1]"));
    }
    if let Some(at) = sizes.iter().position(|&n| n == 0) {
        return Err(Error::entry("sample_sizes", at, 0, "is not at least 1"));
    }
    let total = draws as f64;
    // With a tolerance of half a count: a share times the draws need not be an integer.
    let usable = |p: f64| p * total >= 9.5 && (1.0 - p) * total >= 9.5;
    let mut points: Vec<(f64, f64, f64)> = try_with_capacity(sizes.len())?;
    let used = sizes.iter().zip(probabilities).filter(|&(_, &p)| usable(p));
    points.extend(used.map(|(&n, &p)| (n as f64, p.ln(), total * p / (1.0 - p))));
    if points.len() < 3 {
        let text = format!("{} points have 10 to {total} - 10 misses; a fit needs 3", points.len());
        return Err(Error::MissingData(text));
    }
    let weight: f64 = points.iter().map(|(_, _, w)| w).sum();
    let mean = |of: &dyn Fn(&(f64, f64, f64)) -> f64| points.iter().map(|p| p.2 * of(p)).sum::<f64>() / weight;
    let (n, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let (nn, ny, yy) = (mean(&|p| (p.0 - n).powi(2)), mean(&|p| (p.0 - n) * (p.1 - y)), mean(&|p| (p.1 - y).powi(2)));
    if nn == 0.0 {
        return Err(Error::MissingData("all points of the fit have the same sample size".to_string()));
    }
    let slope = ny / nn;
    let left = mean(&|p| (p.1 - y - slope * (p.0 - n)).powi(2));
    let r_squared = if yy > 0.0 { 1.0 - left / yy } else { 1.0 };
    Ok(((y - slope * n).exp(), -slope, r_squared))
}
