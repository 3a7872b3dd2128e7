//! The quality of a ranking: loss, pair accuracy and NDCG, query by query and on average.

use super::{Choice, Data, Pairs, name};
use crate::error::{Error, Result, try_with_capacity};
use crate::graph::Split;
use crate::model::Model;
use crate::random::{Purpose, Stream};

/// What a document of relevance y adds to DCG.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Gain {
    /// 2^y - 1.
    #[default]
    Exponential,
    /// y.
    Linear,
}

impl Gain {
    fn of(self, relevance: i32) -> f64 {
        match self {
            Gain::Exponential => f64::exp2(f64::from(relevance)) - 1.0,
            Gain::Linear => f64::from(relevance),
        }
    }
}

/// One of the measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Mean pair loss.
    Loss,
    /// Share of the ranked pairs in the right order; equal scores count half.
    Accuracy,
    /// DCG of the ranking, divided by the DCG of the best ranking.
    Ndcg,
}

/// All measures of a query, or their means over queries. Loss and accuracy of a query without a pair are NaN and are left out
/// of the means. Its NDCG is the same for any order; it is 0 if no document is relevant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measures {
    /// Mean pair loss, without λ.
    pub loss: f64,
    /// Pair accuracy.
    pub accuracy: f64,
    /// NDCG.
    pub ndcg: f64,
}

impl Measures {
    /// One of them.
    pub fn of(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Loss => self.loss,
            Measure::Accuracy => self.accuracy,
            Measure::Ndcg => self.ndcg,
        }
    }
}

impl Data {
    /// Passes the score of each document to `take`.
    pub fn scores<R>(&self, model: &Model, take: impl FnOnce(&[f32]) -> R) -> Result<R> {
        self.check_model(model)?;
        model.outputs(&self.documents, None, take)
    }

    /// The measures of each query of a split.
    pub fn measure(&self, model: &Model, split: Split) -> Result<Vec<Measures>> {
        /// Documents scored at a time.
        const CHUNK: usize = 1 << 15;
        self.check_model(model)?;
        let (queries, threads) = (self.split(split), model.threads()?);
        if queries.is_empty() {
            return Err(Error::MissingData(format!("the {} split is empty", name(split))));
        }
        let mut all = try_with_capacity(queries.len())?;
        let (mut pairs, mut nothing) = (Pairs::default(), Stream::new(0, Purpose::Draws, 0, 0));
        let (mut scores, mut ranking) = (Vec::new(), Vec::new());
        let mut from = 0;
        while from < queries.len() {
            pairs.clear();
            let mut to = from;
            while to < queries.len() && (to == from || pairs.documents().len() < CHUNK) {
                pairs.push(self.levels(queries[to] as usize), Choice::All, &mut nothing)?;
                to += 1;
            }
            scores.clear();
            crate::error::try_reserve(&mut scores, pairs.documents().len(), "ranking")?;
            model.outputs(&self.documents, Some(pairs.documents()), |s| {
                scores.extend_from_slice(s);
            })?;
            let mut start = 0;
            for &q in &queries[from..to] {
                let end = start + self.levels(q as usize).documents.len();
                let accuracy = self.accuracy(q as usize, &scores[start..end]);
                let ndcg = self.ndcg(q as usize, &scores[start..end], &mut ranking)?;
                all.push(Measures { loss: f64::NAN, accuracy, ndcg });
                start = end;
            }
            let losses = pairs.losses(&mut scores, &threads)?;
            all[from..].iter_mut().zip(losses).for_each(|(measures, &loss)| measures.loss = loss);
            from = to;
        }
        Ok(all)
    }

    /// The means of the measures over a split, which must have a pair.
    pub fn evaluate(&self, model: &Model, split: Split) -> Result<Measures> {
        self.paired(split)?;
        let all = self.measure(model, split)?;
        let (mut sum, mut paired) = (Measures::default(), 0usize);
        for measures in &all {
            sum.ndcg += measures.ndcg;
            if !measures.accuracy.is_nan() {
                paired += 1;
                sum.loss += measures.loss;
                sum.accuracy += measures.accuracy;
            }
        }
        let count = paired as f64;
        let loss = sum.loss / count;
        match loss.is_finite() {
            true => Ok(Measures { loss, accuracy: sum.accuracy / count, ndcg: sum.ndcg / all.len() as f64 }),
            false => Err(Error::Diverged(format!("the loss is {loss}"))),
        }
    }

    /// Share of the pairs in the right order, for scores in the order of the levels.
    fn accuracy(&self, query: usize, scores: &[f32]) -> f64 {
        let levels = self.levels(query);
        let (mut start, mut halves) = (0, 0u64);
        for &end in levels.ends {
            let (upper, lower) = (&scores[start..end as usize], &scores[end as usize..]);
            for &s in upper {
                halves += lower.iter().map(|&t| u64::from(s > t) + u64::from(s >= t)).sum::<u64>();
            }
            start = end as usize;
        }
        halves as f64 / (2.0 * levels.num_pairs() as f64)
    }

    /// NDCG for scores in the order of the levels, which is the best order. Documents with equal scores share their places: each
    /// has the mean of their discounts.
    fn ndcg(&self, query: usize, scores: &[f32], ranking: &mut Vec<(f32, f64)>) -> Result<f64> {
        let (levels, relevance) = (self.levels(query), self.relevance());
        let n = scores.len();
        let cutoff = if self.cutoff == 0 { n } else { self.cutoff.min(n) };
        let gain = |&v: &i32| self.gain.of(relevance[v as usize]);
        let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
        let best: f64 = levels.documents.iter().take(cutoff).enumerate().map(|(i, v)| gain(v) * discount(i)).sum();
        if best == 0.0 {
            return Ok(0.0);
        }
        ranking.clear();
        crate::error::try_reserve(ranking, n, "ranking")?;
        ranking.extend(scores.iter().copied().zip(levels.documents.iter().map(gain)));
        ranking.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut place, mut dcg) = (0, 0.0);
        for tied in ranking.chunk_by(|a, b| a.0 == b.0) {
            if place >= cutoff {
                break;
            }
            let discounts: f64 = (place..(place + tied.len()).min(cutoff)).map(discount).sum();
            dcg += tied.iter().map(|(_, gain)| gain).sum::<f64>() / tied.len() as f64 * discounts;
            place += tied.len();
        }
        Ok(dcg / best)
    }
}
