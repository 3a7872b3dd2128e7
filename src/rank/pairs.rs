//! Which documents of a ranking take part in a batch, and which pairs of them.
//!
//! The documents of a query are ordered from the most relevant to the least, so those ranked below a document are the rest of a
//! row. All pairs, pairs drawn one by one, and all pairs between two samples then have the same form: spans, each of one
//! document against others in a row.

use super::Levels;
use super::loss::query_loss;
use crate::error::{Error, Result, try_reserve_with_slack, try_resize};
use crate::kernel::Threads;
use crate::random::Stream;
use std::sync::{Mutex, PoisonError};

/// Which pairs of each query take part.
#[derive(Clone, Copy)]
pub enum Choice {
    /// All of them.
    All,
    /// This many, drawn with replacement.
    Pairs(usize),
    /// The pairs between two samples of documents, drawn with replacement: some that rank above another document and as many
    /// that rank below another one.
    Separate {
        /// The size t of each sample.
        size: usize,
        /// Whether the sum over pairs is divided by their number in the sample, in place of the weight n_i n_j / t².
        self_normalized: bool,
    },
}

/// The documents of one estimate, and the pairs between them. Buffers are reused from batch to batch.
#[derive(Default)]
pub struct Pairs {
    /// One for each score. A document may appear more than once.
    documents: Vec<i32>,
    spans: Vec<Span>,
    queries: Vec<Query>,
    upper: Vec<u32>,
    lower: Vec<u32>,
    /// exp(s) of each row, up to a factor of its query.
    powers: Vec<f64>,
    /// Gradient by each score, before the query's weight.
    sums: Vec<f64>,
    losses: Vec<f64>,
}

/// A row `upper` and the rows `first .. last`, which should have lower scores.
#[derive(Clone, Copy, Default)]
pub(super) struct Span {
    pub upper: u32,
    pub first: u32,
    pub last: u32,
}

/// Where the rows and spans of a query end, and the weight of each of its pairs.
#[derive(Clone, Copy, Default)]
struct Query {
    rows: usize,
    spans: usize,
    weight: f64,
}

impl Pairs {
    /// Removes all queries.
    pub fn clear(&mut self) {
        self.documents.clear();
        self.spans.clear();
        self.queries.clear();
    }

    /// Adds a query, which must have a pair unless all pairs are chosen.
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
            // Without a ranked pair in the sample there is no span to weigh.
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

    /// The documents to score.
    pub fn documents(&self) -> &[i32] {
        &self.documents
    }

    /// Mean over the queries of their mean pair loss log(1 + exp(s_j - s_i)). The scores become its gradient by the scores.
    pub fn loss(&mut self, scores: &mut [f32], threads: &Threads) -> Result<f64> {
        self.losses(scores, threads)?;
        Ok(self.losses.iter().sum::<f64>() / self.queries.len() as f64)
    }

    /// The loss of each query; NaN for a query without a pair. The scores become the gradient of the mean by the scores.
    pub fn losses(&mut self, scores: &mut [f32], threads: &Threads) -> Result<&[f64]> {
        /// Queries that a thread takes at a time.
        const PIECE: usize = 16;
        /// Below about this many pairs, waking other threads does not pay.
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

/// What one piece of the work writes.
struct Work<'a> {
    scores: &'a mut [f32],
    powers: &'a mut [f64],
    sums: &'a mut [f64],
    losses: &'a mut [f64],
}

/// Draws `size` of the `count` places from `start` on, in ascending order.
fn draw(places: &mut Vec<u32>, size: usize, start: usize, count: usize, random: &mut Stream) -> Result<()> {
    places.clear();
    try_reserve_with_slack(places, size)?;
    places.extend((0..size).map(|_| (start as u64 + random.below(count as u64)) as u32));
    places.sort_unstable();
    Ok(())
}
