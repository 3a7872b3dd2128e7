//! Attention over neighbours, of both kinds, and its gradients.
//!
//! Rows that others attend to, and rows that score them, are interleaved ([`Heads`]); results are not. Kept between the passes is
//! an exponential per entry and head. A way back needs twice as many numbers more; nothing is ever as large as entries times
//! columns.

use crate::error::{ForThe, Result, try_resize};
use crate::kernel::{Attended, Buffer, Drops, Edges, Heads, Permuted, Pick, Scores, Span, Threads, table};

/// Rows that a thread takes at once. Sums over rows are cut in the same way, whatever the number of threads.
const PIECE: usize = 128;

/// How rows above score rows below, by vectors of a parameter each, as long as the columns of all heads.
#[derive(Clone, Copy)]
pub enum By<'a> {
    /// `LeakyReLU(a·x_u + b·x_v)`: the first kind.
    Sum {
        /// a and b, of the entry and of the row.
        vectors: [&'a [f32]; 2],
        /// The row of x of each row above.
        own: Pick<'a>,
    },
    /// `a·LeakyReLU(x_u + y_v)`: the second kind.
    Inner {
        /// a
        vector: &'a [f32],
        /// y, interleaved, a row for each row above.
        above: &'a [f32],
    },
}

/// Which coefficients a pass drops, and how often.
#[derive(Clone, Copy)]
pub struct Dropout<'a> {
    /// Which.
    pub drops: Drops<'a>,
    /// What the others are multiplied by.
    pub scale: f32,
}

/// What a pass keeps for its gradient, and room for that.
#[derive(Default)]
pub struct Attention {
    exponentials: Buffer,
    shares: Buffer,
    /// Interleaved vectors of parameters.
    vectors: [Buffer; 2],
    scores: [Buffer; 2],
    /// What the coefficients that are not dropped are multiplied by.
    scale: f32,
    g: Buffer,
    pairs: Buffer,
    by_rows: Buffer,
    /// The same for the rows below.
    by_own: Buffer,
    partial: Buffer,
    totals: Vec<f64>,
    total: Buffer,
}

impl Attention {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let buffers =
            [&self.exponentials, &self.shares, &self.g, &self.pairs, &self.by_rows, &self.by_own, &self.partial];
        let more = self.scores.iter().chain(&self.vectors).map(Buffer::bytes).sum::<usize>();
        buffers.into_iter().map(Buffer::bytes).sum::<usize>() + more
    }

    /// `out ← Σ_u α_vu x_u`, for each row v of `edges` and each head: α is the softmax over the row's entries of the scores plus
    /// the logarithms of the weights. A row without entries is 0.
    pub fn forward(
        &mut self,
        threads: &Threads,
        edges: Edges<'_>,
        (by, x, heads): (By<'_>, &[f32], Heads),
        dropout: Option<Dropout<'_>>,
        out: &mut [f32],
    ) -> Result<()> {
        let (rows, entries) = (edges.indptr.len() - 1, edges.indices.len());
        let (lanes, stride) = (heads.lanes(), heads.stride());
        self.scale = dropout.map_or(1.0, |dropout| dropout.scale);
        self.exponentials.try_resize(entries * lanes).for_the("attention")?;
        self.shares.try_resize(rows * lanes).for_the("attention")?;
        let vectors = match by {
            By::Sum { vectors: [a, b], .. } => [a, b],
            By::Inner { vector, .. } => [vector, vector],
        };
        for (to, vector) in self.vectors.iter_mut().zip(vectors) {
            to.try_resize(stride).for_the("attention")?;
            heads.interleave(vector, to);
        }
        let Attention { vectors: [a, b], scores: [s, d], exponentials, shares, scale, .. } = self;
        if let By::Sum { .. } = by {
            let count = x.len() / stride;
            s.try_resize(count * lanes).for_the("attention")?;
            d.try_resize(count * lanes).for_the("attention")?;
            let lists = [(&mut s[..], Span::Rows(lanes)), (&mut d[..], Span::Rows(lanes))];
            threads.each_rows((2 * count, stride), (count, PIECE), lists, |rows, to| {
                table().score_rows(&x[rows.start * stride..rows.end * stride], heads, [&a[..], &b[..]], to);
            });
        }
        let of = Attended { scores: scores_of(by, [a, b], [s, d]), x, heads };
        let (drops, scale) = (dropout.map(|dropout| dropout.drops), *scale);
        let lists = [
            (&mut exponentials[..], Span::Entries(edges.indptr, lanes)),
            (&mut shares[..], Span::Rows(lanes)),
            (out, Span::Rows(heads.out_width())),
        ];
        threads.each_rows((2 * entries, stride), (rows, PIECE), lists, |rows, to| {
            table().attend((edges, rows.start), of, (drops, scale), to);
        });
        Ok(())
    }

    /// From the gradient g by the result to those by x (for [`By::Inner`] also that by y, `by_above`) and by the vectors. Requires
    /// [`Attention::forward`] with the same arguments; `permuted` is the transpose of `edges`.
    pub fn backward(
        &mut self,
        threads: &Threads,
        (edges, permuted): (Edges<'_>, Permuted<'_>),
        (by, x, heads): (By<'_>, &[f32], Heads),
        g: &[f32],
        [by_x, by_above]: [&mut [f32]; 2],
        by_vectors: &mut [&mut [f32]],
    ) -> Result<()> {
        let (rows, entries) = (edges.indptr.len() - 1, edges.indices.len());
        let (lanes, stride, columns) = (heads.lanes(), heads.stride(), x.len() / heads.stride());
        let Attention { exponentials, shares, vectors: [a, b], scores: [s, d], scale, pairs, .. } = self;
        let (partial, totals, total) = (&mut self.partial, &mut self.totals, &mut self.total);
        pairs.try_resize(2 * entries * lanes).for_the("attention")?;
        self.g.try_resize(rows * stride).for_the("attention")?;
        let out_width = heads.out_width();
        threads.fill_rows(rows * stride, stride, &mut self.g, |i, row| {
            heads.interleave_gradient(&g[i * out_width..][..out_width], row);
        });
        let g = (&self.g[..], *scale);
        let of = Attended { scores: scores_of(by, [a, b], [s, d]), x, heads };
        // By rows: the scores, and what of the rows themselves takes part in them.
        let inner = matches!(by, By::Inner { .. });
        let by_rows: &mut [f32] = if inner {
            by_above
        } else {
            self.by_rows.try_resize(rows * lanes).for_the("attention")?;
            &mut self.by_rows
        };
        let sums = if inner { stride } else { 0 };
        partial.try_resize(rows.div_ceil(PIECE) * sums).for_the("attention")?;
        partial.fill(0.0);
        let lists = [
            (&mut pairs[..], Span::Entries(edges.indptr, 2 * lanes)),
            (&mut *by_rows, Span::Rows(if inner { stride } else { lanes })),
            (&mut partial[..], Span::Pieces(sums)),
        ];
        threads.each_rows((2 * entries, stride), (rows, PIECE), lists, |rows, to| {
            table().attend_backward((edges, rows.start), of, g, [&exponentials[..], &shares[..]], to);
        });
        if inner {
            sum(partial, (totals, total), heads, by_vectors)?;
        }
        // By the rows that they attend to.
        let by_own: &[f32] = match by {
            By::Sum { own: Pick::List(own), .. } => {
                self.by_own.try_resize(columns * lanes).for_the("attention")?;
                self.by_own.fill(0.0);
                for (&to, by_row) in own.iter().zip(by_rows.chunks_exact(lanes)) {
                    table().add(&mut self.by_own[to as usize * lanes..][..lanes], by_row);
                }
                &self.by_own
            }
            _ => by_rows,
        };
        let sums = if inner { 0 } else { 2 * stride };
        partial.try_resize(columns.div_ceil(PIECE) * sums).for_the("attention")?;
        partial.fill(0.0);
        let lists = [(by_x, Span::Rows(stride)), (&mut partial[..], Span::Pieces(sums))];
        threads.each_rows((2 * entries, stride), (columns, PIECE), lists, |rows, to| {
            let kept = [&pairs[..], by_own];
            table().attend_transposed((permuted, rows.start), of, g.0, kept, to);
        });
        if !inner {
            sum(partial, (totals, total), heads, by_vectors)?;
        }
        Ok(())
    }
}

fn scores_of<'a>(by: By<'a>, [a, b]: [&'a [f32]; 2], scores: [&'a [f32]; 2]) -> Scores<'a> {
    match by {
        By::Sum { own, .. } => Scores::Sum { scores, own, vectors: [a, b] },
        By::Inner { above, .. } => Scores::Inner { above, vector: a },
    }
}

/// Adds up the sums of all pieces in their order, in double precision.
fn sum(
    partial: &[f32],
    (totals, total): (&mut Vec<f64>, &mut Buffer),
    heads: Heads,
    by_vectors: &mut [&mut [f32]],
) -> Result<()> {
    let count = by_vectors.len() * heads.stride();
    try_resize(totals, count)?;
    total.try_resize(count)?;
    totals.fill(0.0);
    for sums in partial.chunks_exact(count) {
        totals.iter_mut().zip(sums).for_each(|(total, &sum)| *total += f64::from(sum));
    }
    total.iter_mut().zip(&*totals).for_each(|(to, &sum)| *to = sum as f32);
    for (to, sums) in by_vectors.iter_mut().zip(total.chunks_exact(heads.stride())) {
        heads.separate(sums, to);
    }
    Ok(())
}
