//! The training loop: epochs of shuffled batches, evaluation, history, progress, checkpoints.

mod adaptive;
mod checkpoint;
mod history;
mod messages;

pub use adaptive::Adaptive;
pub use history::{Column, History, Monitor};

use crate::error::{Error, ForThe, Result, try_copied, try_with_capacity};
use crate::estimator::{Estimator, Evaluation, Problem};
use crate::file;
use crate::graph::Split;
use crate::log::Level;
use crate::model::Model;
use crate::optim::{Interrupt, Optimizer};
use crate::random::{Purpose, Stream};
use adaptive::Sizes;
use history::Record;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How to train.
#[derive(Clone)]
pub struct Options {
    /// Passes over the training items, in all; at least 1.
    pub epochs: usize,
    /// Items of a batch; at least 1. The last one of an epoch may be shorter.
    pub batch_size: usize,
    /// Seed of the shuffling.
    pub seed: u64,
    /// Whether the model ends with the parameters of its best epoch.
    pub restore_best: bool,
    /// Stop when this many epochs have not been better; 0 = never.
    pub patience: usize,
    /// What the best epoch is chosen by.
    pub monitor: Monitor,
    /// Evaluate every this many epochs, and after the last; 0 = never.
    pub evaluate_every: usize,
    /// Where to write checkpoints, and after how many epochs.
    pub checkpoint: Option<(PathBuf, usize)>,
    /// A checkpoint to go on from, if it is there.
    pub resume: Option<PathBuf>,
    /// How sample sizes follow the gradient's error; `None` keeps the estimator's.
    pub adaptive: Option<Adaptive>,
    /// Whether epochs are evaluated with the optimizer's moving average, which is also what the model ends with.
    pub ema: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            epochs: 100,
            batch_size: 256,
            seed: 0,
            restore_best: true,
            patience: 0,
            monitor: Monitor::default(),
            evaluate_every: 1,
            checkpoint: None,
            resume: None,
            adaptive: None,
            ema: false,
        }
    }
}

/// How far training is.
pub struct Progress {
    /// The epoch at work or just done, from 1.
    pub epoch: usize,
    /// Epochs in all.
    pub num_epochs: usize,
    /// Steps done in this epoch.
    pub step: usize,
    /// Steps of an epoch.
    pub num_steps: usize,
    /// How good the model is after this epoch.
    pub evaluation: Evaluation,
    /// Seconds of training steps so far, evaluation and callbacks apart.
    pub seconds: f64,
}

/// Told of what happens, each time with the model as it is then.
pub trait Observer {
    /// How far it is; may end the training.
    fn progress(&mut self, model: &Model, progress: &Progress) -> std::result::Result<(), Interrupt>;

    /// Whether messages of this level are wanted.
    fn wants(&self, level: Level) -> bool;

    /// A message.
    fn log(&mut self, model: &Model, level: Level, message: &str);
}

/// Within an epoch progress is told this often.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// Trains `model`. The history has the completed epochs, whatever the result. Cancelled, the model keeps its last
/// completed step; diverged, its last finite parameters.
pub fn train(
    model: &mut Model,
    problem: &dyn Problem,
    estimator: &mut Estimator,
    optimizer: &mut Optimizer,
    options: &Options,
    observer: &mut dyn Observer,
) -> (History, Result<()>) {
    let told_of_news = !observer.wants(Level::Warning);
    let mut run = Run {
        model,
        problem,
        described: String::new(),
        estimator,
        optimizer,
        options,
        observer,
        history: History::new(options.monitor),
        best: None,
        iterate: Vec::new(),
        items: &[],
        order: Vec::new(),
        sizes: None,
        told_of_news,
        told_of_largest: false,
    };
    let result = run.run().for_the("training");
    if let Err(error) = &result {
        run.log(Level::of(error), |_| error.to_string());
    }
    (run.history, result)
}

struct Run<'a> {
    model: &'a mut Model,
    problem: &'a dyn Problem,
    estimator: &'a mut Estimator,
    optimizer: &'a mut Optimizer,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    history: History,
    /// Parameters and running statistics after the best epoch.
    best: Option<Vec<f32>>,
    /// The iterate, while the model has the moving average.
    iterate: Vec<f32>,
    /// The training items.
    items: &'a [i32],
    /// The same in the order of the epoch at work; none for an estimator that takes all of them at once.
    order: Vec<i32>,
    /// The estimator as it was at first, without the sizes if they are adaptive.
    described: String,
    /// Sample sizes, if they are adaptive.
    sizes: Option<Sizes>,
    /// Messages that a run sends once.
    told_of_news: bool,
    told_of_largest: bool,
}

impl Run<'_> {
    fn run(&mut self) -> Result<()> {
        self.check()?;
        self.log_beginning()?;
        self.go_on()?;
        if let Some(sizes) = &self.sizes
            && let Some((from, to)) = sizes.begin(self.estimator)
        {
            self.log(Level::Warning, |_| format!("sample size {from} is outside the adaptive bounds: {to} is used"));
        }
        while self.history.len() < self.options.epochs && !self.out_of_patience() {
            self.epoch()?;
        }
        self.end()
    }

    /// Goes on from a checkpoint, if the options name one and it is there.
    fn go_on(&mut self) -> Result<()> {
        let Some(path) = &self.options.resume else { return Ok(()) };
        let found = self.resume(path)?;
        if !found {
            self.optimizer.check_fits(self.model.parameters().len())?;
        }
        self.log_resumption(path, found);
        Ok(())
    }

    /// Ends a run that was neither cancelled nor failed.
    fn end(&mut self) -> Result<()> {
        let Options { epochs, patience, monitor, restore_best, .. } = *self.options;
        let (name, best_epoch, best) = (monitor.name(), self.history.best_epoch(), self.history.best());
        let last = self.history.len();
        if last < epochs {
            self.log(Level::Info, |_| {
                format!(
                    "stopped early after epoch {last}: no better {name} since epoch {best_epoch}, patience {patience}"
                )
            });
        }
        if let Some(best) = self.best.take().filter(|_| restore_best) {
            self.model.set_numbers(&best)?;
        } else if self.options.ema && last > 0 {
            self.show_ema()?;
        }
        let seconds = self.history.seconds();
        self.log(Level::Info, |_| {
            let of = match best_epoch {
                0 => "the last, as none is known to be the best".to_string(),
                _ if restore_best => format!("epoch {best_epoch}, of the best {name}, {best:.6}"),
                _ => format!("the last; epoch {best_epoch} has the best {name}, {best:.6}"),
            };
            format!("trained for {last} epochs, {seconds:.3} seconds of steps; the parameters are those of {of}")
        });
        Ok(())
    }

    /// Finds what would fail later, before anything is changed.
    fn check(&mut self) -> Result<()> {
        self.estimator.check(self.model, self.problem)?;
        self.items = self.problem.items(Split::Train)?;
        if !self.estimator.is_full() {
            self.order = try_copied(self.items).for_the("order of the items")?;
        }
        match self.options.resume {
            None => self.optimizer.check_fits(self.model.parameters().len())?,
            // A checkpoint replaces the state of the optimizer. Only if there is none does the state have to fit.
            Some(_) => self.optimizer.check_set()?,
        }
        let Options { patience, monitor, evaluate_every, .. } = *self.options;
        let waits = match patience {
            0 if self.optimizer.has_plateau() => Some("the plateau".to_string()),
            0 => None,
            _ => Some(format!("patience = {patience}")),
        };
        if let Some(what) = waits.as_ref().filter(|_| evaluate_every == 0) {
            return Err(Error::InvalidArgument(format!("{what} needs evaluation, but evaluate_every = 0")));
        }
        if self.options.ema {
            if !self.optimizer.has_ema() {
                return Err(Error::InvalidArgument("the optimizer has no moving average to evaluate".to_string()));
            }
            self.iterate = try_copied(self.model.parameters())?;
        }
        if monitor == Monitor::ValNdcg && !self.problem.has_ndcg() {
            let text = format!("a monitor of the {} needs queries; a graph has none", monitor.name());
            return Err(Error::Unsupported(text));
        }
        if self.problem.has(Split::Val) {
            if waits.is_some() || evaluate_every > 0 {
                self.problem.items(Split::Val)?;
            }
        } else if let Some(what) = waits.filter(|_| monitor.needs_validation()) {
            let name = monitor.name();
            return Err(Error::MissingData(format!("the val split is empty, and {what} waits for a better {name}")));
        }
        if let Some((path, _)) = &self.options.checkpoint {
            file::check_target(path)?;
        }
        let sizes = self.options.adaptive.map(|adaptive| Sizes::new(adaptive, self.estimator, self.model));
        self.sizes = sizes.transpose()?;
        // An adaptive estimator keeps its last size, and may go on from a checkpoint with it.
        self.described = match self.options.adaptive {
            Some(adaptive) => self.estimator.with_size(adaptive.smallest)?.description(),
            None => self.estimator.description(),
        };
        Ok(())
    }

    /// Only an epoch that was evaluated can show that there is no improvement.
    fn out_of_patience(&self) -> bool {
        let (best, last) = (self.history.best_epoch(), self.history.last_evaluated());
        self.options.patience > 0 && best > 0 && last - best >= self.options.patience
    }

    fn epoch(&mut self) -> Result<()> {
        let epoch = self.history.len() + 1;
        let (batch_loss, seconds) = self.steps(epoch)?;
        self.optimizer.end_epoch();
        let mut record = Record { batch_loss, seconds, ..Record::default() };
        let num_steps = self.num_steps();
        if let Some(sizes) = &mut self.sizes {
            record.sample_size = std::mem::take(&mut sizes.drawn) / num_steps as f64;
            record.error = sizes.error;
        }
        if self.options.ema {
            self.show_ema()?;
        }
        let pushed = self.judge(epoch, record);
        if self.options.ema {
            self.model.parameters_mut().copy_from_slice(&self.iterate);
        }
        let record = pushed?;
        if let Some((path, every)) = &self.options.checkpoint
            && (epoch.is_multiple_of(*every) || epoch == self.options.epochs || self.out_of_patience())
        {
            self.checkpoint(path)?;
            self.log(Level::Info, |_| format!("epoch {epoch}: checkpoint written to {}", path.display()));
        }
        self.tell(epoch, num_steps, num_steps, &record, self.history.seconds())
    }

    /// Evaluates the model, if it is time, and adds the epoch to the history.
    fn judge(&mut self, epoch: usize, mut record: Record) -> Result<Record> {
        let Options { evaluate_every: every, monitor, .. } = *self.options;
        if every > 0 && (epoch.is_multiple_of(every) || epoch == self.options.epochs) {
            self.evaluate(&mut record)?;
            self.log_news();
        }
        self.log_epoch(epoch, &record);
        if self.history.push(record)? {
            match &mut self.best {
                Some(best) => best.iter_mut().zip(self.model.numbers()).for_each(|(best, number)| *best = number),
                None => {
                    let count = self.model.numbers().count();
                    let mut best = try_with_capacity(count).for_the("best parameters")?;
                    best.extend(self.model.numbers());
                    self.best = Some(best);
                }
            }
        }
        let cost = monitor.cost_of(&record);
        if !cost.is_nan() && self.optimizer.report(cost)? {
            self.log(Level::Info, |run| {
                format!("epoch {epoch}: no better {}; the step becomes {:e}", monitor.name(), run.optimizer.next_step())
            });
        }
        Ok(record)
    }

    /// Gives the model the optimizer's moving average, and keeps the iterate.
    fn show_ema(&mut self) -> Result<()> {
        self.iterate.copy_from_slice(self.model.parameters());
        let ema = self.optimizer.ema()?;
        self.model.parameters_mut().iter_mut().zip(ema).for_each(|(w, e)| *w = *e as f32);
        Ok(())
    }

    /// One pass over the training items; gives the mean loss of its batches and its seconds.
    fn steps(&mut self, epoch: usize) -> Result<(f64, f64)> {
        let before = self.history.seconds();
        let mut watch = Watch::start();
        let mut last_told = Instant::now();
        if !self.order.is_empty() {
            // Keyed by the updates so far, so that no two epochs of an optimizer's life share an order.
            let mut random = Stream::new(self.options.seed, Purpose::Shuffle, self.optimizer.steps(), 0);
            self.order.copy_from_slice(self.items);
            random.shuffle(&mut self.order);
        }
        let num_steps = self.num_steps();
        let mut sum = 0.0;
        let (size, count) = (self.options.batch_size, self.items.len());
        let batch_at = |step: usize| step * size..(step * size).saturating_add(size).min(count);
        self.estimator.end_sequence();
        for step in 0..num_steps {
            let batch = match self.estimator.is_full() {
                true => self.items,
                false => &self.order[batch_at(step)],
            };
            let place = || format!("epoch {epoch}, step {}", step + 1);
            let mut tested = None;
            if let Some(sizes) = &mut self.sizes {
                let updates = self.optimizer.steps();
                let test = sizes.adapt(self.estimator, self.model, self.problem, batch, updates);
                tested = test.map_err(|e| e.at(place()))?;
            }
            // Adaptive sizes are not known before their time.
            let known = step + 1 < num_steps && self.sizes.is_none();
            let next = known.then(|| &self.order[batch_at(step + 1)]);
            let estimate = self.estimator.estimate_in_sequence(self.model, self.problem, batch, next);
            let (loss, gradient) = estimate.map_err(|e| e.at(place()))?;
            self.optimizer.update(self.model.parameters_mut(), gradient).map_err(|e| e.at(place()))?;
            self.estimator.commit(self.model);
            sum += loss;
            if let Some(test) = tested {
                watch.apart(|| self.log_test(&test, place));
            }
            if !self.told_of_news {
                watch.apart(|| self.log_news());
            }
            if step + 1 < num_steps && last_told.elapsed() >= REPORT_EVERY {
                let seconds = before + watch.seconds();
                watch.apart(|| self.tell(epoch, step + 1, num_steps, &Record::default(), seconds))?;
                last_told = Instant::now();
            }
        }
        Ok((sum / num_steps as f64, watch.seconds()))
    }

    fn num_steps(&self) -> usize {
        if self.estimator.is_full() { 1 } else { self.items.len().div_ceil(self.options.batch_size) }
    }

    fn evaluate(&mut self, record: &mut Record) -> Result<()> {
        let Evaluation { train_loss, val_loss, val_accuracy, val_ndcg } = self.problem.evaluate(self.model)?;
        *record = Record { train_loss, val_loss, val_accuracy, val_ndcg, ..*record };
        Ok(())
    }

    fn tell(&mut self, epoch: usize, step: usize, num_steps: usize, record: &Record, seconds: f64) -> Result<()> {
        let &Record { train_loss, val_loss, val_accuracy, val_ndcg, .. } = record;
        let evaluation = Evaluation { train_loss, val_loss, val_accuracy, val_ndcg };
        let progress = Progress { epoch, num_epochs: self.options.epochs, step, num_steps, evaluation, seconds };
        self.observer
            .progress(self.model, &progress)
            .map_err(|_| Error::Cancelled(format!("the progress callback stopped training in epoch {epoch}")))
    }
}

/// Adds up the time of steps; what is told to callers in between does not count.
struct Watch {
    counted: Duration,
    since: Instant,
}

impl Watch {
    fn start() -> Self {
        Watch { counted: Duration::ZERO, since: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        (self.counted + self.since.elapsed()).as_secs_f64()
    }

    /// Does something that does not count.
    fn apart<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.counted += self.since.elapsed();
        let result = work();
        self.since = Instant::now();
        result
    }
}
