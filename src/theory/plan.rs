//! How few draws suffice, and whether they save time: the Plimsoll line of a model on a graph.

use super::tail::{Observer, Options, Prober, fit, log_failure};
use super::{check_count, check_epsilon, check_positive, size, wilson};
use crate::error::{Error, ForThe, Result, try_copied};
use crate::estimator::{Estimator, Problem};
use crate::graph::Split;
use crate::log::{self, Level};
use crate::model::Model;
use crate::random::{Purpose, Stream};
use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

/// With probability 1 - ε, none of T gradients has a relative error of δ or more.
#[derive(Clone, Copy)]
pub struct Goal {
    /// δ > 0, relative to the exact gradient's norm.
    pub delta: f64,
    /// ε in (0, 1].
    pub epsilon: f64,
    /// T ≥ 1.
    pub steps: usize,
}

/// The result of the planner.
pub struct Plan {
    goal: Goal,
    /// The smallest sample size that meets the goal; `None` if none does.
    pub size: Option<usize>,
    /// Sample sizes by layer, input first; a single batch size for the unbiased estimator. All 0 where `size` is `None`.
    pub sizes: Vec<usize>,
    /// Whether to sample: the size exists, and its gradient takes less time than the exact one and, unless it is
    /// unbiased itself, less than an unbiased one of the same accuracy.
    pub pays: bool,
    /// The tail at that size; if `fit` is present, it rests on the fit alone.
    pub tail: Measurement,
    /// C, τ and r², if ε/T is smaller than the draws can show.
    pub fit: Option<(f64, f64, f64)>,
    /// Seconds per gradient at that size; NaN if there is none.
    pub seconds: f64,
    /// Seconds per exact gradient of the same items: the full step, if they are all training items.
    pub exact_seconds: f64,
    /// The smallest batch, of doubling sizes, whose unbiased gradient meets the goal as far as [`FEW_DRAWS`] draws can
    /// show; all items if no smaller batch does.
    pub unbiased_batch: usize,
    /// Seconds per unbiased gradient of such a batch.
    pub unbiased_seconds: f64,
}

/// A number of a [`Plan`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// [`Plan::size`]; 0 if there is none.
    SampleSize,
    /// Share of the draws of that size that missed.
    Misses,
    /// Upper end of that share's interval.
    Upper,
    /// [`Plan::seconds`].
    Seconds,
    /// [`Plan::exact_seconds`].
    ExactSeconds,
    /// [`Plan::unbiased_seconds`].
    UnbiasedSeconds,
    /// [`Plan::unbiased_batch`].
    UnbiasedBatch,
    /// C of the fit; NaN if there is no fit.
    C,
    /// τ of the fit; NaN if there is no fit.
    Tau,
    /// r² of the fit; NaN if there is no fit.
    RSquared,
}

impl Plan {
    /// One number of the plan.
    pub fn number(&self, number: Number) -> f64 {
        let (c, tau, r_squared) = self.fit.unwrap_or((f64::NAN, f64::NAN, f64::NAN));
        match number {
            Number::SampleSize => self.size.unwrap_or(0) as f64,
            Number::Misses => self.tail.misses,
            Number::Upper => self.tail.upper,
            Number::Seconds => self.seconds,
            Number::ExactSeconds => self.exact_seconds,
            Number::UnbiasedSeconds => self.unbiased_seconds,
            Number::UnbiasedBatch => self.unbiased_batch as f64,
            Number::C => c,
            Number::Tau => tau,
            Number::RSquared => r_squared,
        }
    }
}

/// A miss probability and the upper end of its interval.
#[derive(Clone, Copy)]
pub struct Measurement {
    /// Share of the draws that missed.
    pub misses: f64,
    /// Wilson's upper 95 % limit.
    pub upper: f64,
}

/// Draws after which a size that misses far too often is rejected.
const STAGES: [usize; 3] = [20, 100, 1000];
/// Draws that test an unbiased batch.
pub const FEW_DRAWS: usize = 200;
/// The smallest unbiased batch that is tested.
const SMALLEST_BATCH: usize = 32;
/// Number of sizes that a fit uses.
const FIT_SIZES: usize = 8;
/// A search ends when the next smaller size known to fail is within this factor.
const NEAR: f64 = 1.03;

/// Searches the smallest sample size that meets the goal, at the current parameters of the model.
pub fn plan(
    estimator: &Estimator,
    model: &Model,
    problem: &dyn Problem,
    goal: Goal,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Plan> {
    let result = look(estimator, model, problem, goal, options, observer).for_the("measurement");
    log_failure(observer, &result);
    if let Ok(plan) = &result {
        let level = if plan.size.is_some() { Level::Info } else { Level::Warning };
        log::tell(observer, level, || plan.to_string());
    }
    result
}

fn look(
    estimator: &Estimator,
    model: &Model,
    problem: &dyn Problem,
    goal: Goal,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Plan> {
    check_positive("delta", goal.delta)?;
    check_count(goal.steps)?;
    check_epsilon(goal.epsilon)?;
    if estimator.size().is_none() && !estimator.is_unbiased() {
        return Err(Error::Unsupported(
            "the estimator draws nothing, so there is no sample size to choose".to_string(),
        ));
    }
    let prober = Prober::new(estimator, model, problem, options)?;
    prober.log_beginning(observer);
    let most = if estimator.is_unbiased() { prober.num_items() } else { problem.largest_size(estimator.kind()) };
    let mut search = Search { prober, options, delta: goal.delta, most, stage: 0, observer };
    let found = search.size_for(goal)?;
    let (size, tail, fit) = match found {
        Some((size, tail, fit)) => (Some(size), tail, fit),
        None => (None, Measurement { misses: f64::NAN, upper: f64::NAN }, None),
    };
    let mut plan = Plan {
        goal,
        size,
        sizes: sizes_of(estimator, size)?,
        pays: false,
        tail,
        fit,
        seconds: f64::NAN,
        exact_seconds: f64::NAN,
        unbiased_batch: 0,
        unbiased_seconds: f64::NAN,
    };
    let items = match &options.batch {
        Some(batch) => batch,
        None => problem.items(Split::Train)?,
    };
    let items = shuffled(items, options.seed)?;
    plan.exact_seconds = seconds_of(&mut Estimator::unbiased().with_size(items.len())?, model, problem, &items)?;
    plan.unbiased_batch = unbiased_batch(model, problem, goal, options, search.stage, search.observer)?;
    plan.unbiased_seconds = match plan.unbiased_batch < items.len() {
        true => seconds_of(&mut Estimator::unbiased(), model, problem, &items[..plan.unbiased_batch])?,
        false => plan.exact_seconds,
    };
    if let Some(size) = size {
        let drawn = if estimator.is_unbiased() { &items[..size] } else { &items[..] };
        plan.seconds = seconds_of(&mut estimator.with_size(size)?, model, problem, drawn)?;
        plan.pays = match estimator.is_unbiased() {
            true => size < items.len() && plan.seconds < plan.exact_seconds,
            false => plan.seconds < plan.exact_seconds.min(plan.unbiased_seconds),
        };
    }
    Ok(plan)
}

/// The result of a search: a size, its tail, and the fit that it rests on, if any.
type Found = (usize, Measurement, Option<(f64, f64, f64)>);

struct Search<'a, 'r> {
    prober: Prober<'a>,
    options: &'a Options,
    delta: f64,
    most: usize,
    stage: usize,
    observer: &'r mut dyn Observer,
}

impl Search<'_, '_> {
    fn size_for(&mut self, goal: Goal) -> Result<Option<Found>> {
        let draws = self.options.draws;
        let allowed = goal.epsilon / goal.steps as f64;
        if wilson(0, draws).1 <= allowed {
            let found = self.smallest(allowed)?;
            return Ok(found.map(|(size, tail)| (size, tail, None)));
        }
        // The draws cannot show such a small probability. Extrapolate the logarithm of the tail from where they can.
        log::tell(self.observer, Level::Info, || {
            format!("{draws} draws cannot show a probability of {}: fitting a tail to larger ones", short(allowed))
        });
        let few = wilson(20.min(draws / 4), draws).1;
        let Some((last, _)) = self.smallest(few)? else { return Ok(None) };
        let first = self.smallest(0.5)?.map_or(1, |(size, _)| size.min(last));
        let mut sizes: Vec<usize> = (0..FIT_SIZES).map(|i| first + i * (last - first) / (FIT_SIZES - 1)).collect();
        sizes.dedup();
        let mut shares = Vec::new();
        for &size in &sizes {
            shares.push(self.measure(size, 0..draws)? as f64 / draws as f64);
        }
        let (c, tau, r_squared) = fit(&sizes, &shares, draws)?;
        log::tell(self.observer, Level::Info, || {
            format!("fitted tail of {} sizes: C {c:.4}, tau {}, r2 {r_squared:.4}", sizes.len(), short(tau))
        });
        let size = size::sample_size(tau, c, goal.steps, goal.epsilon)?.max(last);
        if size > self.most {
            return Ok(None);
        }
        let misses = self.measure(size, 0..draws)?;
        let tail = Measurement { misses: misses as f64 / draws as f64, upper: wilson(misses, draws).1 };
        Ok(Some((size, tail, Some((c, tau, r_squared)))))
    }

    /// The smallest size, to within [`NEAR`], whose upper limit is at most `allowed`: by doubling, then bisection.
    fn smallest(&mut self, allowed: f64) -> Result<Option<(usize, Measurement)>> {
        let Some((mut fails, mut meets)) = self.doubled(1, allowed)? else { return Ok(None) };
        while meets.0 > fails + 1 && meets.0 as f64 > NEAR * fails as f64 {
            let middle = fails + (meets.0 - fails) / 2;
            match self.try_size(middle, allowed)? {
                Some(tail) => meets = (middle, tail),
                None => fails = middle,
            }
        }
        Ok(Some(meets))
    }

    /// Doubles from `first` on until a size passes. Returns the last size that fails (0 if there is none) and the one
    /// that passes.
    fn doubled(&mut self, first: usize, allowed: f64) -> Result<Option<(usize, (usize, Measurement))>> {
        let (mut fails, mut size) = (0, first.min(self.most));
        loop {
            if let Some(tail) = self.try_size(size, allowed)? {
                return Ok(Some((fails, (size, tail))));
            }
            if size == self.most {
                return Ok(None);
            }
            fails = size;
            size = size.saturating_mul(2).min(self.most);
        }
    }

    /// The tail at a size, if it is low enough. A size that is far from it is rejected early.
    fn try_size(&mut self, size: usize, allowed: f64) -> Result<Option<Measurement>> {
        let draws = self.options.draws;
        let (mut done, mut misses) = (0, 0);
        for until in STAGES.into_iter().filter(|&s| s < draws).chain([draws]) {
            misses += self.measure(size, done..until)?;
            done = until;
            if wilson(misses, done).0 > allowed {
                self.log_try(size, misses, done, false);
                return Ok(None);
            }
        }
        let upper = wilson(misses, draws).1;
        self.log_try(size, misses, draws, upper <= allowed);
        Ok((upper <= allowed).then_some(Measurement { misses: misses as f64 / draws as f64, upper }))
    }

    fn log_try(&mut self, size: usize, misses: usize, draws: usize, enough: bool) {
        log::tell(self.observer, Level::Debug, || {
            format!("size {size}: {misses} of {draws} draws missed, {}", if enough { "few enough" } else { "too many" })
        });
    }

    fn measure(&mut self, size: usize, draws: std::ops::Range<usize>) -> Result<usize> {
        self.stage += 1;
        // The number of sizes is not known in advance; this many are usual.
        let stages = self.stage.max(3 * self.most.ilog2() as usize + FIT_SIZES);
        Ok(self.prober.measure(size, draws, (self.stage, stages), self.observer)?.misses(self.delta))
    }
}

/// The smallest of doubling batch sizes whose unbiased gradient meets the goal, as far as a few draws can show.
fn unbiased_batch(
    model: &Model,
    problem: &dyn Problem,
    goal: Goal,
    options: &Options,
    stage: usize,
    observer: &mut dyn Observer,
) -> Result<usize> {
    log::tell(observer, Level::Debug, || "looking for an unbiased batch of the same accuracy".to_string());
    let unbiased = Estimator::unbiased();
    let options = Options { draws: options.draws.min(FEW_DRAWS), ..options.clone() };
    let prober = Prober::new(&unbiased, model, problem, &options)?;
    let allowed = (goal.epsilon / goal.steps as f64).max(wilson(0, options.draws).1);
    let most = prober.num_items();
    let mut search = Search { prober, options: &options, delta: goal.delta, most, stage, observer };
    Ok(search.doubled(SMALLEST_BATCH, allowed)?.map_or(most, |(_, (size, _))| size))
}

fn sizes_of(estimator: &Estimator, size: Option<usize>) -> Result<Vec<usize>> {
    let size = size.unwrap_or(0);
    match estimator.is_unbiased() {
        true => try_copied(&[size]),
        false => try_copied(estimator.with_size(size)?.sizes()),
    }
}

fn shuffled(items: &[i32], seed: u64) -> Result<Vec<i32>> {
    let mut items = try_copied(items)?;
    let mut random = Stream::new(seed, Purpose::Probe, 0, 1);
    (1..items.len()).rev().for_each(|i| items.swap(i, random.below(i as u64 + 1) as usize));
    Ok(items)
}

/// Median seconds of a gradient, after a first one that allocates.
fn seconds_of(estimator: &mut Estimator, model: &Model, problem: &dyn Problem, items: &[i32]) -> Result<f64> {
    const LEAST: usize = 5;
    const MOST: usize = 101;
    const ENOUGH: Duration = Duration::from_millis(50);
    estimator.estimate(model, problem, items)?;
    let (begin, mut seconds) = (Instant::now(), Vec::new());
    while seconds.len() < LEAST || (seconds.len() < MOST && begin.elapsed() < ENOUGH) {
        let start = Instant::now();
        estimator.estimate(model, problem, items)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

/// A number > 0 in at most 24 bytes. Written out in full, one near the ends of its range has hundreds of digits.
fn short(value: f64) -> String {
    if (1e-4..1e6).contains(&value) { format!("{value}") } else { format!("{value:e}") }
}

/// The plan in words.
impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Goal { delta, epsilon, steps } = self.goal;
        let (delta, epsilon) = (short(delta), short(epsilon));
        let (sampled, exact) = (1e3 * self.seconds, 1e3 * self.exact_seconds);
        let Some(size) = self.size else {
            return write!(
                f,
                "Do not sample: no size keeps {steps} gradients within {delta} with probability 1 - {epsilon}. The exact \
                 gradient takes {exact:.3} ms."
            );
        };
        let verdict = if self.pays { "Sample" } else { "Do not sample" };
        let Measurement { misses, upper } = self.tail;
        write!(
            f,
            "{verdict}: {size} draws keep {steps} gradients within {delta} with probability 1 - {epsilon} ({:.2} % of them \
             missed, the upper limit is {:.2} %{}) and take {sampled:.3} ms a gradient. The exact gradient takes {exact:.3} ms, \
             an unbiased batch of {}, which is as accurate, {:.3} ms.",
            100.0 * misses,
            100.0 * upper,
            if self.fit.is_some() { "; the rest is a fitted tail" } else { "" },
            self.unbiased_batch,
            1e3 * self.unbiased_seconds,
        )
    }
}
