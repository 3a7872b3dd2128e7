//! The two lowest layers of a full step without H^(1), which is the largest matrix of all: a row for each node.
//!
//! Z = H·W1 with H = max(Â·XW0, 0) is computed from XW0, a few rows of H at a time, and the gradient computes those rows again.
//! So there is a single matrix of nodes × hidden width. It holds XW0 first and the gradient by Â·XW0 later. In a model of two
//! layers it also holds, in between, the logits and the gradient by them, which are narrower. Only the signs of H are kept.
//!
//! The price for not keeping H is one more product with Â, and the rows of XW0 that the logits have overwritten.

use crate::error::{Error, ForThe, Result, try_filled};
use crate::graph::Graph;
use crate::kernel::{Buffer, Finish, GROUP, Parts, Pick, Rows, Sparse, Threads, table};
use crate::nn::program::Pair;
use crate::nn::transposed::{spread, transpose};
use std::ops::Range;

/// The size of a few rows, in numbers. They are on a thread's stack.
const PIECE: usize = 4096;

/// The largest width of H: a row of it must fit.
pub const MOST_HIDDEN: usize = PIECE;

#[repr(align(64))]
struct Piece([f32; PIECE]);

/// Where H is positive: a bit for each number, in whole bytes for each row.
#[derive(Default)]
pub struct Signs(Vec<u8>);

impl Signs {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.0.capacity()
    }

    /// The signs of this many rows, with this many bytes each.
    fn of(&mut self, rows: usize, bytes: usize) -> Result<&mut [u8]> {
        if self.0.len() < rows * bytes {
            self.0 = Vec::new();
            self.0 = try_filled(rows * bytes, 0).for_the("signs of the hidden activations")?;
        }
        Ok(&mut self.0[..rows * bytes])
    }
}

/// Records where rows of this width are positive.
fn note(rows: &[f32], width: usize, signs: &mut [u8]) {
    for (row, signs) in rows.chunks_exact(width).zip(signs.chunks_exact_mut(width.div_ceil(8))) {
        let (eights, rest) = row.as_chunks::<8>();
        signs.iter_mut().zip(eights).for_each(|(sign, eight)| *sign = signs_of(eight));
        if !rest.is_empty() {
            let mut eight = [0.0; 8];
            eight[..rest.len()].copy_from_slice(rest);
            signs[eights.len()] = signs_of(&eight);
        }
    }
}

/// Bit c is set if number c is positive. Each bit is computed in its own lane, so that vectors can do it.
fn signs_of(eight: &[f32; 8]) -> u8 {
    let bits: [u32; 8] = std::array::from_fn(|c| if eight[c] > 0.0 { 1 << c } else { 0 });
    bits.into_iter().fold(0, |all, bit| all | bit) as u8
}

/// Sets rows of this width to 0 wherever the recorded rows are not positive.
fn stop(rows: &mut [f32], width: usize, signs: &[u8]) {
    // Keeps all bits of a number or none, by a comparison with a bit that is the same in every group of eight.
    let kept = |x: f32, c: usize, sign: u8| {
        let bit = 1 << c;
        f32::from_bits(x.to_bits() & if u32::from(sign) & bit == bit { u32::MAX } else { 0 })
    };
    for (row, signs) in rows.chunks_exact_mut(width).zip(signs.chunks_exact(width.div_ceil(8))) {
        let (eights, rest) = row.as_chunks_mut::<8>();
        for (eight, &sign) in eights.iter_mut().zip(signs) {
            *eight = std::array::from_fn(|c| kept(eight[c], c, sign));
        }
        rest.iter_mut().enumerate().for_each(|(c, x)| *x = kept(*x, c, signs[signs.len() - 1]));
    }
}

/// Where the gradient by Â·H·W1 is.
pub enum Delta<'a> {
    /// In this slice, with a row for every node.
    Of(&'a [f32]),
    /// In the buffer of XW0, with a row for each of these nodes.
    InPlace(&'a [i32]),
}

/// The two lowest layers of a model on a graph whose Â is symmetric, with all nodes at the input of both.
pub struct Folded<'a> {
    graph: &'a Graph,
    threads: &'a Threads,
    features: Sparse<'a>,
    w0: &'a [f32],
    w1: &'a [f32],
    /// Width of H.
    hidden: usize,
    /// Width of H·W1.
    width: usize,
    nodes: usize,
    /// How threads share the nodes and sum the gradient by H.
    parts: Parts,
}

impl<'a> Folded<'a> {
    /// Two layers with these weights on this graph, with this many columns of the result.
    pub fn new(
        pair: &Pair,
        parameters: &'a [f32],
        width: usize,
        graph: &'a Graph,
        threads: &'a Threads,
    ) -> Result<Self> {
        let Rows::Sparse(features) = graph.features()?.rows() else {
            return Err(Error::Internal("folded layers above dense features".to_string()));
        };
        let (nodes, hidden) = (graph.num_nodes(), pair.hidden);
        // Partial sums beside the first take at most a sixteenth of the size of XW0.
        let parts = Parts::of_made(nodes, width).within(hidden, nodes * hidden / 16);
        let [w0, w1] = pair.weights.clone().map(|weight| &parameters[weight]);
        Ok(Folded { graph, threads, features, w0, w1, hidden, width, nodes, parts })
    }

    /// `features ← XW0`, `product ← H·W1`, and the signs of H.
    pub fn forward(&self, features: &mut Buffer, product: &mut Buffer, signs: &mut Signs) -> Result<()> {
        let &Folded { hidden, width, parts, .. } = self;
        // The logits, which overwrite it, may be wider.
        let most = self.nodes * hidden.max(width);
        features.try_resize_within(most, most).for_the("hidden activations")?;
        product.try_resize_within(self.nodes * width, self.nodes * width).for_the("products of a layer")?;
        let features = &mut features[..self.nodes * hidden];
        self.times_features(features);
        let bytes = hidden.div_ceil(8);
        let signs = (signs.of(self.nodes, bytes)?, parts.length() * bytes);
        let product = (&mut product[..], parts.length() * width);
        self.threads.each_pair(self.work(), product, signs, |i, product, signs| {
            let part = parts.range(i);
            self.by_pieces(part.clone(), Finish::Rectify, features, |nodes, h| {
                let (start, end) = (nodes.start - part.start, nodes.end - part.start);
                note(h, hidden, &mut signs[start * bytes..end * bytes]);
                let (h, out) = (Rows::Dense { data: h, width: hidden }, &mut product[start * width..end * width]);
                table().times(h, Pick::From(0), self.w1, width, Finish::Plain, out);
            });
        });
        Ok(())
    }

    /// From the gradient by Â·H·W1 to the gradients by W0 and W1, after [`Folded::forward`] with the same buffers. H·W1 itself is
    /// no longer needed.
    pub fn backward(
        &self,
        features: &mut Buffer,
        delta: Delta<'_>,
        signs: &mut Signs,
        [gradient0, gradient1]: [&mut [f32]; 2],
        (product, transposed, sums): (&mut Buffer, &mut Buffer, &mut Buffer),
    ) -> Result<()> {
        let &Folded { hidden, width, parts, nodes, threads, .. } = self;
        let operator = Rows::Sparse(self.graph.operator());
        // E, the gradient by H·W1, overwrites the product.
        match delta {
            Delta::Of(delta) => threads.times(operator, Pick::From(0), delta, width, Finish::Plain, product),
            Delta::InPlace(top) => {
                spread(self.graph, top, (features, width), product)?;
                features.try_resize(nodes * hidden.max(width)).for_the("hidden activations")?;
                let room = &mut features[..nodes * width];
                threads.times(operator, Pick::From(0), product, width, Finish::Plain, room);
                product.copy_from_slice(room);
                let lost = (nodes * width).div_ceil(hidden).min(nodes);
                self.times_features(&mut features[..lost * hidden]);
            }
        }
        let (e, features) = (&**product, &mut features[..nodes * hidden]);
        threads.sum(parts, (gradient1, width), sums, &|part, sum| {
            self.by_pieces(part, Finish::Rectify, features, |nodes, h| {
                let (h, e) = (Rows::Dense { data: h, width: hidden }, &e[nodes.start * width..nodes.end * width]);
                table().transposed_times(h, Pick::From(0), e, width, sum);
            });
        })?;

        // The gradient by Â·XW0 overwrites XW0.
        transpose(self.w1, width, transposed)?;
        let (transposed, bytes) = (&**transposed, hidden.div_ceil(8));
        let signs = (signs.of(nodes, bytes)?, parts.length() * bytes);
        let out = (&mut *features, parts.length() * hidden);
        threads.each_pair(self.work(), out, signs, |i, out, signs| {
            let rows = (Rows::Dense { data: e, width }, Pick::From(parts.range(i).start));
            table().times(rows.0, rows.1, transposed, hidden, Finish::Plain, out);
            stop(out, hidden, signs);
        });

        // The gradient by XW0 is computed and used a few rows at a time. The product is no longer needed, so its buffer holds
        // partial sums.
        let (features, height) = (&*features, self.w0.len() / hidden);
        let parts = Parts::of_sparse(nodes, self.features.mean_entries(), height, hidden).within(height, nodes * width);
        threads.sum(parts, (gradient0, hidden), product, &|part, sum| {
            self.by_pieces(part, Finish::Plain, features, |nodes, g| {
                let (pick, sum) = (Pick::From(nodes.start), (&mut *sum, parts.stride()));
                table().sparse_transposed_times(self.features, pick, g, hidden, sum);
            });
        })
    }

    /// The cost of a product with Â, for [`Threads::each_pair`].
    fn work(&self) -> (usize, usize) {
        (self.graph.operator().indices.len(), self.hidden)
    }

    /// `out ← XW0`, as many rows as `out` has.
    fn times_features(&self, out: &mut [f32]) {
        self.threads.times(Rows::Sparse(self.features), Pick::From(0), self.w0, self.hidden, Finish::Plain, out);
    }

    /// Calls `with(nodes, rows)` for a few rows of Â·M at a time, finished. M is as wide as H.
    fn by_pieces(
        &self,
        nodes: Range<usize>,
        finish: Finish<'_>,
        m: &[f32],
        mut with: impl FnMut(Range<usize>, &[f32]),
    ) {
        let mut piece = Piece([0.0; PIECE]);
        let at_once = (PIECE / self.hidden).min(GROUP);
        for start in nodes.clone().step_by(at_once) {
            let end = (start + at_once).min(nodes.end);
            let rows = &mut piece.0[..(end - start) * self.hidden];
            table().times(Rows::Sparse(self.graph.operator()), Pick::From(start), m, self.hidden, finish, rows);
            with(start..end, rows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gradient_passes_where_the_noted_number_is_positive_and_nowhere_else() {
        let odd = [1.0, -1.0, 0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, 1e-45];
        for width in [1, 3, 5, 7, 8, 9, 16, 21] {
            let h: Vec<f32> = (0..11 * width).map(|i| odd[i * i % 7 + i % 3]).collect();
            let mut signs = vec![0xff; 11 * width.div_ceil(8)];
            note(&h, width, &mut signs);
            for passing in [2.5, f32::NAN, f32::NEG_INFINITY] {
                let mut g = vec![passing; h.len()];
                stop(&mut g, width, &signs);
                for (g, h) in g.iter().zip(&h) {
                    let wanted = if *h > 0.0 { passing } else { 0.0 };
                    assert_eq!(g.to_bits(), wanted.to_bits(), "{h} of {width}");
                }
            }
        }
    }
}
