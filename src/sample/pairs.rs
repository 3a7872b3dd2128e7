//! Which documents of a ranking take part, and which pairs of them; and the loss of their scores.
//!
//! A query's documents stand from the most relevant to the least, so that those ranked below one of them are the rest of a
//! row. All pairs, pairs drawn one by one, and all pairs between two samples are then the same thing: spans, each of one
//! document against neighbouring others.

use crate::error::{Error, Result, try_reserve_with_slack, try_resize};
use crate::kernel::Threads;
use crate::random::Stream;
use std::sync::{Mutex, PoisonError};

/// A query's documents, the most relevant first.
#[derive(Clone, Copy)]
pub struct Levels<'a> {
    /// Their numbers.
    pub documents: &'a [i32],
    /// Where each level of relevance ends in that list, from the highest on.
    pub ends: &'a [i32],
}

impl<'a> Levels<'a> {
    /// How many pairs of documents differ in relevance.
    pub fn num_pairs(&self) -> u64 {
        let n = self.documents.len() as u64;
        let mut start = 0;
        let pairs = self.ends.iter().map(|&end| {
            let size = end as u64 - std::mem::replace(&mut start, end as u64);
            size * (n - end as u64)
        });
        pairs.sum()
    }

    /// The first so many stand above another document.
    pub fn num_upper(&self) -> usize {
        self.ends.len().checked_sub(2).map_or(0, |level| self.ends[level] as usize)
    }

    /// From here on they stand below another document.
    pub fn first_lower(&self) -> usize {
        self.ends.first().map_or(0, |&end| end as usize)
    }

    /// Where the documents begin that the one at this place stands above.
    fn end_of(&self, place: usize) -> usize {
        self.ends[self.ends.partition_point(|&end| end as usize <= place)] as usize
    }

    /// The pair of this number, as places.
    fn pair(&self, mut number: u64) -> (usize, usize) {
        let mut start = 0;
        for &end in self.ends {
            let (end, below) = (end as usize, (self.documents.len() - end as usize) as u64);
            let pairs = (end - start) as u64 * below;
            if number < pairs {
                return (start + (number / below) as usize, end + (number % below) as usize);
            }
            number -= pairs;
            start = end;
        }
        (0, 0)
    }
}

/// Which pairs of a query take part.
#[derive(Clone, Copy)]
pub enum Choice {
    /// All of them.
    All,
    /// So many, drawn with replacement.
    Pairs(usize),
    /// Those between so many documents drawn from the upper and as many drawn from the lower ones, with replacement.
    Separate {
        /// t.
        size: usize,
        /// Whether the sum over pairs is divided by their number in the sample, rather than weighted by n_i n_j / t².
        self_normalized: bool,
    },
}

/// The documents of one estimate, and the pairs between them. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Pairs {
    /// One for each score; the same document may stand here more than once.
    documents: Vec<i32>,
    spans: Vec<Span>,
    queries: Vec<Query>,
    upper: Vec<u32>,
    lower: Vec<u32>,
    /// exp(s) of each row, up to a factor of its query's.
    powers: Vec<f64>,
    /// Gradient by each score, before the query's weight.
    sums: Vec<f64>,
    losses: Vec<f64>,
}

/// A row, and the rows that it is to be scored above.
#[derive(Clone, Copy, Default)]
struct Span {
    upper: u32,
    first: u32,
    last: u32,
}

/// Where the rows and spans of a query end, and what each of its pairs weighs.
#[derive(Clone, Copy, Default)]
struct Query {
    rows: usize,
    spans: usize,
    weight: f64,
}

impl Pairs {
    /// Forgets all queries.
    pub fn clear(&mut self) {
        self.documents.clear();
        self.spans.clear();
        self.queries.clear();
    }

    /// Adds a query, which must have a pair unless all are taken.
    pub fn push(&mut self, query: Levels<'_>, choice: Choice, random: &mut Stream) -> Result<()> {
        let base = self.documents.len();
        let weight = match choice {
            Choice::All => self.push_all(query, base)?,
            Choice::Pairs(size) => self.push_drawn(query, base, size, random)?,
            Choice::Separate { size, self_normalized } => {
                self.push_separate(query, base, size, self_normalized, random)?
            }
        };
        let count = self.queries.len() + 1;
        try_reserve_with_slack(&mut self.queries, count)?;
        self.queries.push(Query { rows: self.documents.len(), spans: self.spans.len(), weight });
        Ok(())
    }

    fn push_all(&mut self, query: Levels<'_>, base: usize) -> Result<f64> {
        let n = query.documents.len();
        self.reserve(n, query.num_upper())?;
        self.documents.extend_from_slice(query.documents);
        let mut start = 0;
        for &end in query.ends.iter().take(query.ends.len() - 1) {
            let (first, last) = ((base + end as usize) as u32, (base + n) as u32);
            self.spans.extend((start..end as usize).map(|i| Span { upper: (base + i) as u32, first, last }));
            start = end as usize;
        }
        Ok(1.0 / query.num_pairs() as f64)
    }

    fn push_drawn(&mut self, query: Levels<'_>, base: usize, size: usize, random: &mut Stream) -> Result<f64> {
        self.reserve(2 * size, size)?;
        let pairs = query.num_pairs();
        for a in 0..size {
            let (i, j) = query.pair(random.below(pairs));
            self.documents.extend([query.documents[i], query.documents[j]]);
            let upper = (base + 2 * a) as u32;
            self.spans.push(Span { upper, first: upper + 1, last: upper + 2 });
        }
        Ok(1.0 / size as f64)
    }

    fn push_separate(
        &mut self,
        query: Levels<'_>,
        base: usize,
        size: usize,
        self_normalized: bool,
        random: &mut Stream,
    ) -> Result<f64> {
        self.reserve(2 * size, size)?;
        let (num_upper, first_lower) = (query.num_upper(), query.first_lower());
        let num_lower = query.documents.len() - first_lower;
        draw(&mut self.upper, size, 0, num_upper, random)?;
        draw(&mut self.lower, size, first_lower, num_lower, random)?;
        let drawn = self.upper.iter().chain(&self.lower).map(|&place| query.documents[place as usize]);
        self.documents.extend(drawn);
        let (mut first, mut pairs) = (0, 0);
        for (a, &place) in self.upper.iter().enumerate() {
            let end = query.end_of(place as usize);
            while first < size && (self.lower[first] as usize) < end {
                first += 1;
            }
            if first == size {
                break;
            }
            pairs += size - first;
            let (first, last) = ((base + size + first) as u32, (base + 2 * size) as u32);
            self.spans.push(Span { upper: (base + a) as u32, first, last });
        }
        let weight = num_upper as f64 * num_lower as f64 / (size as f64).powi(2) / query.num_pairs() as f64;
        Ok(match self_normalized {
            // Where no pair of the sample is ranked there is no span to weigh.
            true => 1.0 / pairs.max(1) as f64,
            false => weight,
        })
    }

    fn reserve(&mut self, rows: usize, spans: usize) -> Result<()> {
        let (rows, spans) = (self.documents.len() + rows, self.spans.len() + spans);
        if rows > i32::MAX as usize {
            return Err(Error::OutOfMemory(format!("a batch of more than {} documents", i32::MAX).into()));
        }
        try_reserve_with_slack(&mut self.documents, rows)?;
        try_reserve_with_slack(&mut self.spans, spans)
    }

    /// The documents whose scores are wanted.
    pub fn documents(&self) -> &[i32] {
        &self.documents
    }

    /// Mean over the queries of their mean pair loss log(1 + exp(s_j - s_i)). The scores become its gradient by them.
    pub fn loss(&mut self, scores: &mut [f32], threads: &Threads) -> Result<f64> {
        self.losses(scores, threads)?;
        Ok(self.losses.iter().sum::<f64>() / self.queries.len() as f64)
    }

    /// The same of each query, NaN for one without a pair. The scores become the gradient of their mean.
    pub fn losses(&mut self, scores: &mut [f32], threads: &Threads) -> Result<&[f64]> {
        /// Queries that one thread takes at a time.
        const PIECE: usize = 16;
        /// Below this many pairs, roughly counted, threads are not worth waking.
        const FEW: usize = 1 << 15;
        try_resize(&mut self.powers, scores.len())?;
        try_resize(&mut self.sums, scores.len())?;
        try_resize(&mut self.losses, self.queries.len())?;
        let share = 1.0 / self.queries.len() as f64;
        let (mut scores, mut powers, mut sums) = (scores, &mut self.powers[..], &mut self.sums[..]);
        let mut start = Query::default();
        let piece = |queries: &[Query], start: Query, work: Work<'_>| {
            let Work { mut scores, mut powers, mut sums, losses } = work;
            let mut start = start;
            for (query, loss) in queries.iter().zip(losses) {
                let rows = query.rows - start.rows;
                let (a, b, c) = (scores.split_at_mut(rows), powers.split_at_mut(rows), sums.split_at_mut(rows));
                let spans = &self.spans[start.spans..query.spans];
                *loss = query_loss(spans, start.rows, query.weight, share, (a.0, b.0, c.0));
                (scores, powers, sums) = (a.1, b.1, c.1);
                start = *query;
            }
        };
        let pairs = self.spans.iter().map(|span| (span.last - span.first) as usize).sum::<usize>();
        if threads.count() == 1 || pairs < FEW {
            piece(&self.queries, start, Work { scores, powers, sums, losses: &mut self.losses });
            return Ok(&self.losses);
        }
        let mut pieces = Vec::new();
        for (queries, losses) in self.queries.chunks(PIECE).zip(self.losses.chunks_mut(PIECE)) {
            let last = queries[queries.len() - 1];
            let rows = last.rows - start.rows;
            let (a, b, c) = (scores.split_at_mut(rows), powers.split_at_mut(rows), sums.split_at_mut(rows));
            (scores, powers, sums) = (a.1, b.1, c.1);
            pieces.push((queries, start, Mutex::new(Some(Work { scores: a.0, powers: b.0, sums: c.0, losses }))));
            start = last;
        }
        let piece = &piece;
        threads.each(pieces.len(), &|i| {
            let (queries, start, work) = &pieces[i];
            if let Some(work) = work.lock().unwrap_or_else(PoisonError::into_inner).take() {
                piece(queries, *start, work);
            }
        });
        Ok(&self.losses)
    }
}

/// What one thread writes.
struct Work<'a> {
    scores: &'a mut [f32],
    powers: &'a mut [f64],
    sums: &'a mut [f64],
    losses: &'a mut [f64],
}

/// Draws `size` of the `count` places from `start` on, in rising order.
fn draw(places: &mut Vec<u32>, size: usize, start: usize, count: usize, random: &mut Stream) -> Result<()> {
    places.clear();
    try_reserve_with_slack(places, size)?;
    places.extend((0..size).map(|_| (start as u64 + random.below(count as u64)) as u32));
    places.sort_unstable();
    Ok(())
}

/// Scores of a query no further apart than this: quotients of their powers, and products of 16 of those, stay in range.
const NEAR: f32 = 40.0;

/// The loss of one query; its scores become the gradient of `share` times it. Spans count rows from `base`.
fn query_loss(
    spans: &[Span],
    base: usize,
    weight: f64,
    share: f64,
    (scores, powers, sums): (&mut [f32], &mut [f64], &mut [f64]),
) -> f64 {
    sums.fill(0.0);
    let bounds = |(low, high): (f32, f32), &s: &f32| (low.min(s), high.max(s));
    let (low, high) = scores.iter().fold((f32::INFINITY, f32::NEG_INFINITY), bounds);
    let near = high - low <= NEAR && scores.iter().all(|s| s.is_finite());
    if near {
        let middle = f64::from(low + (high - low) / 2.0);
        powers.iter_mut().zip(&*scores).for_each(|(power, &s)| *power = (f64::from(s) - middle).exp());
    }
    let mut loss = 0.0;
    for span in spans {
        let upper = span.upper as usize - base;
        let lower = span.first as usize - base..span.last as usize - base;
        let (span_loss, sum) = match near {
            true => span_of_powers(powers[upper], &powers[lower.clone()], &mut sums[lower]),
            false => span_of_scores(scores[upper], &scores[lower.clone()], &mut sums[lower]),
        };
        loss += span_loss;
        sums[upper] -= sum;
    }
    scores.iter_mut().zip(&*sums).for_each(|(score, sum)| *score = (share * weight * sum) as f32);
    if spans.is_empty() && weight.is_infinite() { f64::NAN } else { weight * loss }
}

/// Σ log(1 + e_j / e_i) and Σ λ over j, with λ_j = e_j / (e_i + e_j) added to `sums`. One division for each pair, and one
/// logarithm for 16: of the product of their terms.
fn span_of_powers(upper: f64, lower: &[f64], sums: &mut [f64]) -> (f64, f64) {
    const LANES: usize = 8;
    const DEEP: usize = 16;
    let inverse = 1.0 / upper;
    let (mut loss, mut total) = (0.0, 0.0);
    for (lower, sums) in lower.chunks(LANES * DEEP).zip(sums.chunks_mut(LANES * DEEP)) {
        let (mut product, mut sum) = ([1.0; LANES], [0.0; LANES]);
        let mut add = |lane: usize, e: f64, to: &mut f64| {
            let ratio = e * inverse;
            let term = 1.0 + ratio;
            let lambda = ratio / term;
            product[lane] *= term;
            sum[lane] += lambda;
            *to += lambda;
        };
        let (whole, rest) = lower.as_chunks::<LANES>();
        let (whole_sums, rest_sums) = sums.as_chunks_mut::<LANES>();
        for (lower, sums) in whole.iter().zip(whole_sums) {
            (0..LANES).for_each(|lane| add(lane, lower[lane], &mut sums[lane]));
        }
        rest.iter().zip(rest_sums).enumerate().for_each(|(lane, (&e, to))| add(lane, e, to));
        loss += match lower.len() <= DEEP {
            true => product.iter().product::<f64>().ln(),
            false => product.iter().map(|p| p.ln()).sum(),
        };
        total += sum.iter().sum::<f64>();
    }
    (loss, total)
}

/// The same for scores however far apart.
fn span_of_scores(upper: f32, lower: &[f32], sums: &mut [f64]) -> (f64, f64) {
    let (mut loss, mut total) = (0.0, 0.0);
    for (&s, to) in lower.iter().zip(sums) {
        let difference = f64::from(s) - f64::from(upper);
        let small = (-difference.abs()).exp();
        loss += difference.max(0.0) + small.ln_1p();
        let lambda = if difference > 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
        *to += lambda;
        total += lambda;
    }
    (loss, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTS: [i32; 6] = [10, 11, 12, 13, 14, 15];
    /// Relevance 2, 2, 1, 0, 0, 0.
    const LEVELS: Levels<'static> = Levels { documents: &DOCUMENTS, ends: &[2, 3, 6] };

    #[test]
    fn every_ranked_pair_has_one_number() {
        assert_eq!(LEVELS.num_pairs(), 2 * 4 + 3);
        let pairs: Vec<_> = (0..11).map(|number| LEVELS.pair(number)).collect();
        let wanted = [(0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)];
        assert_eq!(pairs, wanted);
        assert_eq!((LEVELS.num_upper(), LEVELS.first_lower()), (3, 2));
    }

    #[test]
    fn powers_and_scores_give_the_same_loss() {
        for count in [1, 5, 8, 16, 17, 128, 300] {
            let lower: Vec<f32> = (0..count).map(|i| 39.0 * (i as f32 * 0.7).sin()).collect();
            let powers: Vec<f64> = lower.iter().map(|&s| f64::from(s).exp()).collect();
            let (mut first, mut second) = (vec![0.5; count], vec![0.5; count]);
            let by_powers = span_of_powers(0.25f64.exp(), &powers, &mut first);
            let by_scores = span_of_scores(0.25, &lower, &mut second);
            assert!((by_powers.0 - by_scores.0).abs() <= 1e-12 * by_scores.0, "{count}: {by_powers:?} {by_scores:?}");
            assert!((by_powers.1 - by_scores.1).abs() <= 1e-12 * by_scores.1, "{count}: {by_powers:?} {by_scores:?}");
            first.iter().zip(&second).for_each(|(a, b)| assert!((a - b).abs() <= 1e-14));
        }
    }
}
