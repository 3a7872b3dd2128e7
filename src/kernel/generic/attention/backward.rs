//! Gradients of attention, by rows and by the rows that those attend to.

use super::super::super::arithmetic::Arithmetic;
use super::super::super::lanes::Lanes;
use super::super::super::{Edges, Heads, Permuted};
use super::super::prefetch;
use super::{ENTRIES_AHEAD, Group, LANES, Scores, ask, by_heads, by_vectors, entries, kept, leaky, slope};

/// From the gradient g by the results, interleaved, to that by the scores: `e_vu ← α_vu (g_v·x_u − Σ_w α_vw g_v·x_w)` for each
/// head; for [`Scores::Sum`] times the slope of the score. Rows as for [`super::attend`], as many as `by_rows` has; `by_scores`
/// begins with the entries of row `first`.
///
/// `by_rows` gets, for [`Scores::Sum`], `Σ_u e_vu`, a number per head; for [`Scores::Inner`] the gradient by y_v, and the one by
/// a is added to `by_vector`.
///
/// Cost: two rows of x per entry, the second from the cache, and some 2·width flops per entry and head, or 6·width.
#[inline(always)]
pub fn attend_backward<A: Arithmetic>(
    edges: Edges<'_>,
    first: usize,
    scores: Scores<'_>,
    x: &[f32],
    heads: Heads,
    g: &[f32],
    scale: f32,
    coefficients: &[f32],
    by_scores: &mut [f32],
    by_rows: &mut [f32],
    by_vector: &mut [f32],
) {
    by_heads!(
        heads,
        attend_backward_of::<A>(edges, first, scores, x, heads, g, scale, coefficients, by_scores, by_rows, by_vector)
    )
}

#[inline(always)]
fn attend_backward_of<A: Arithmetic, const H: usize>(
    edges: Edges<'_>,
    first: usize,
    scores: Scores<'_>,
    x: &[f32],
    heads: Heads,
    g: &[f32],
    scale: f32,
    coefficients: &[f32],
    by_scores: &mut [f32],
    by_rows: &mut [f32],
    by_vector: &mut [f32],
) {
    let (lanes, stride) = (if H < LANES { H } else { heads.lanes() }, heads.stride());
    let base = edges.indptr[first] as usize;
    let width = if matches!(scores, Scores::Sum { .. }) { lanes } else { stride };
    for (i, by_row) in by_rows.chunks_exact_mut(width).enumerate() {
        let (row, range) = (first + i, entries(edges.indptr, first + i));
        let indices = &edges.indices[range.clone()];
        let alpha = &coefficients[range.start * lanes..range.end * lanes];
        let by_scores = &mut by_scores[(range.start - base) * lanes..(range.end - base) * lanes];
        let ahead = edges.indices.get(range.start + ENTRIES_AHEAD..).unwrap_or(&[]);
        for part in 0..Group::number::<H>(heads) {
            let group = Group::new::<H>(heads, part);
            let mut mean = A::Sixteen::all(0.0);
            by_vectors!(group.count, |c| products_of::<A, H; V>(
                indices, ahead, alpha, x, (g, row), scale, group, c, by_scores, &mut mean
            ));
            match scores {
                Scores::Sum { scores: [s, d], own, .. } => {
                    let d = A::Sixteen::repeated::<H>(&d[group.at(own.at(row))..]);
                    let mut sum = A::Sixteen::all(0.0);
                    for (k, &u) in indices.iter().enumerate() {
                        let at = group.at(k);
                        let z = A::Sixteen::repeated::<H>(&s[group.at(u as usize)..]).plus(d);
                        let e = by_score::<A::Sixteen, H>(&alpha[at..], &by_scores[at..], mean, scale).times(slope(z));
                        sum = sum.plus(e);
                        e.write_first::<H>(&mut by_scores[at..]);
                    }
                    sum.write_first::<H>(&mut by_row[group.from..]);
                }
                Scores::Inner { above, vector } => {
                    for k in 0..indices.len() {
                        let at = group.at(k);
                        let e = by_score::<A::Sixteen, H>(&alpha[at..], &by_scores[at..], mean, scale);
                        e.write_first::<H>(&mut by_scores[at..]);
                    }
                    let by_scores = &*by_scores;
                    by_vectors!(group.count, |c| rows_of::<A, H; V>(
                        indices, by_scores, x, (above, row), vector, group, c, by_row, by_vector
                    ));
                }
            }
        }
    }
}

/// The gradient by a score, from the coefficient and `g·x`.
#[inline(always)]
fn by_score<L: Lanes, const H: usize>(alpha: &[f32], product: &[f32], mean: L, scale: f32) -> L {
    let (alpha, zero) = (L::repeated::<H>(alpha), L::all(0.0));
    let product = L::repeated::<H>(product).times(L::all(scale)).but(zero.above(alpha), zero);
    // Without its sign.
    alpha.at_least(zero.minus(alpha)).times(product.minus(mean))
}

/// Adds the part of V vectors to `g_v·x_u`. The last part adds `Σ_u α_vu g_v·x_u` to the mean.
#[inline(always)]
fn products_of<A: Arithmetic, const H: usize, const V: usize>(
    indices: &[i32],
    ahead: &[i32],
    alpha: &[f32],
    x: &[f32],
    (g, row): (&[f32], usize),
    scale: f32,
    group: Group,
    c: usize,
    products: &mut [f32],
    mean: &mut A::Sixteen,
) {
    let g = group.vectors::<A::Sixteen, V>(g, row, c);
    let is_last = c + V == group.count;
    let mut sum = A::Sixteen::all(0.0);
    for (k, &u) in indices.iter().enumerate() {
        if let Some(&next) = ahead.get(k)
            && c == 0
        {
            ask(x, next, group.stride);
        }
        let x = group.vectors::<A::Sixteen, V>(x, u as usize, c);
        let mut product = A::Sixteen::all(0.0);
        for t in 0..V {
            product = g[t].madd(x[t], product);
        }
        let mut product = product.folded::<H>();
        let products = &mut products[group.at(k)..];
        if c > 0 {
            product = product.plus(A::Sixteen::repeated::<H>(products));
        }
        if is_last {
            sum = kept(A::Sixteen::repeated::<H>(&alpha[group.at(k)..])).madd(product, sum);
        }
        product.write_first::<H>(products);
    }
    *mean = sum.times(A::Sixteen::all(scale));
}

/// `Σ_u e_vu a ∘ LeakyReLU'(x_u + y_v)` of V vectors from `c` on, and `Σ_u e_vu LeakyReLU(x_u + y_v)`, which is added.
#[inline(always)]
fn rows_of<A: Arithmetic, const H: usize, const V: usize>(
    indices: &[i32],
    by_scores: &[f32],
    x: &[f32],
    (above, row): (&[f32], usize),
    vector: &[f32],
    group: Group,
    c: usize,
    by_row: &mut [f32],
    by_vector: &mut [f32],
) {
    let y = group.vectors::<A::Sixteen, V>(above, row, c);
    let mut sums = [[A::Sixteen::all(0.0); V]; 2];
    for (k, &u) in indices.iter().enumerate() {
        let e = A::Sixteen::repeated::<H>(&by_scores[group.at(k)..]);
        let x = group.vectors::<A::Sixteen, V>(x, u as usize, c);
        for t in 0..V {
            let z = x[t].plus(y[t]);
            sums[0][t] = e.madd(slope(z), sums[0][t]);
            sums[1][t] = e.madd(leaky(z), sums[1][t]);
        }
    }
    for t in 0..V {
        let at = group.from + (c + t) * group.step;
        sums[0][t].times(A::Sixteen::read(&vector[at..])).write(&mut by_row[at..]);
        A::Sixteen::read(&by_vector[at..]).plus(sums[1][t]).write(&mut by_vector[at..]);
    }
}

/// The gradient by x: `Σ_v α_vu g_v`, and what comes through the scores. The rows v are those of `permuted`, a transposed
/// pattern with the place of each entry. Computes the rows from `first` on, as many as `by_x` has.
///
/// For [`Scores::Sum`], `by_rows` has `Σ_u e_vu` of the rows above, but one for each row below; the gradients by both vectors are
/// added to `by_vectors`.
///
/// Cost: a row of g per entry, and one of y for [`Scores::Inner`]; some 2·width flops per entry and head, or 6·width.
#[inline(always)]
pub fn attend_transposed<A: Arithmetic>(
    permuted: Permuted<'_>,
    first: usize,
    scores: Scores<'_>,
    x: &[f32],
    heads: Heads,
    g: &[f32],
    scale: f32,
    coefficients: &[f32],
    by_scores: &[f32],
    by_rows: &[f32],
    by_x: &mut [f32],
    by_vectors: &mut [f32],
) {
    by_heads!(
        heads,
        attend_transposed_of::<A>(
            permuted,
            first,
            scores,
            x,
            heads,
            g,
            scale,
            coefficients,
            by_scores,
            by_rows,
            by_x,
            by_vectors
        )
    )
}

#[inline(always)]
fn attend_transposed_of<A: Arithmetic, const H: usize>(
    permuted: Permuted<'_>,
    first: usize,
    scores: Scores<'_>,
    x: &[f32],
    heads: Heads,
    g: &[f32],
    scale: f32,
    coefficients: &[f32],
    by_scores: &[f32],
    by_rows: &[f32],
    by_x: &mut [f32],
    by_vectors: &mut [f32],
) {
    let stride = heads.stride();
    for (i, by_x) in by_x.chunks_exact_mut(stride).enumerate() {
        let range = entries(permuted.indptr, first + i);
        let entries = (&permuted.rows[range.clone()], &permuted.places[range.clone()]);
        let next = range.start + ENTRIES_AHEAD;
        let ahead = (permuted.rows.get(next..).unwrap_or(&[]), permuted.places.get(next..).unwrap_or(&[]));
        for part in 0..Group::number::<H>(heads) {
            let group = Group::new::<H>(heads, part);
            match scores {
                Scores::Sum { vectors, .. } => by_vectors!(group.count, |c| sum_to_row::<A, H; V>(
                    entries, ahead, (x, first + i), vectors, g, scale, coefficients, by_scores, by_rows, group, c, by_x,
                    by_vectors
                )),
                Scores::Inner { above, vector } => by_vectors!(group.count, |c| inner_to_row::<A, H; V>(
                    entries, ahead, (x, first + i), above, vector, g, scale, coefficients, by_scores, group, c, by_x
                )),
            }
        }
    }
}

#[inline(always)]
fn sum_to_row<A: Arithmetic, const H: usize, const V: usize>(
    (rows, places): (&[i32], &[u32]),
    (rows_ahead, places_ahead): (&[i32], &[u32]),
    (x, u): (&[f32], usize),
    vectors: [&[f32]; 2],
    g: &[f32],
    scale: f32,
    coefficients: &[f32],
    by_scores: &[f32],
    by_rows: &[f32],
    group: Group,
    c: usize,
    by_x: &mut [f32],
    by_vectors: &mut [f32],
) {
    let mut sums = [A::Sixteen::all(0.0); V];
    let mut by_score = A::Sixteen::all(0.0);
    for (k, (&v, &place)) in rows.iter().zip(places).enumerate() {
        if let (Some(&row), Some(&place)) = (rows_ahead.get(k), places_ahead.get(k))
            && c == 0
        {
            ask(g, row, group.stride);
            prefetch(coefficients, group.at(place as usize));
            prefetch(by_scores, group.at(place as usize));
        }
        let at = group.at(place as usize);
        let alpha = kept(A::Sixteen::repeated::<H>(&coefficients[at..]));
        by_score = by_score.plus(A::Sixteen::repeated::<H>(&by_scores[at..]));
        let g = group.vectors::<A::Sixteen, V>(g, v as usize, c);
        for t in 0..V {
            sums[t] = alpha.madd(g[t], sums[t]);
        }
    }
    let by_row = A::Sixteen::repeated::<H>(&by_rows[group.at(u)..]);
    let x = group.vectors::<A::Sixteen, V>(x, u, c);
    let (by_source, by_target) = by_vectors.split_at_mut(group.stride);
    for t in 0..V {
        let at = group.from + (c + t) * group.step;
        let sum = by_score.madd(A::Sixteen::read(&vectors[0][at..]), sums[t].times(A::Sixteen::all(scale)));
        by_row.madd(A::Sixteen::read(&vectors[1][at..]), sum).write(&mut by_x[at..]);
        by_score.madd(x[t], A::Sixteen::read(&by_source[at..])).write(&mut by_source[at..]);
        by_row.madd(x[t], A::Sixteen::read(&by_target[at..])).write(&mut by_target[at..]);
    }
}

#[inline(always)]
fn inner_to_row<A: Arithmetic, const H: usize, const V: usize>(
    (rows, places): (&[i32], &[u32]),
    (rows_ahead, places_ahead): (&[i32], &[u32]),
    (x, u): (&[f32], usize),
    above: &[f32],
    vector: &[f32],
    g: &[f32],
    scale: f32,
    coefficients: &[f32],
    by_scores: &[f32],
    group: Group,
    c: usize,
    by_x: &mut [f32],
) {
    let x = group.vectors::<A::Sixteen, V>(x, u, c);
    let mut sums = [[A::Sixteen::all(0.0); V]; 2];
    for (k, (&v, &place)) in rows.iter().zip(places).enumerate() {
        if let (Some(&row), Some(&place)) = (rows_ahead.get(k), places_ahead.get(k))
            && c == 0
        {
            ask(g, row, group.stride);
            ask(above, row, group.stride);
            prefetch(coefficients, group.at(place as usize));
            prefetch(by_scores, group.at(place as usize));
        }
        let at = group.at(place as usize);
        let alpha = kept(A::Sixteen::repeated::<H>(&coefficients[at..]));
        let e = A::Sixteen::repeated::<H>(&by_scores[at..]);
        let g = group.vectors::<A::Sixteen, V>(g, v as usize, c);
        let y = group.vectors::<A::Sixteen, V>(above, v as usize, c);
        for t in 0..V {
            sums[0][t] = alpha.madd(g[t], sums[0][t]);
            sums[1][t] = e.madd(slope(x[t].plus(y[t])), sums[1][t]);
        }
    }
    for t in 0..V {
        let at = group.from + (c + t) * group.step;
        let through = sums[1][t].times(A::Sixteen::read(&vector[at..]));
        sums[0][t].madd(A::Sixteen::all(scale), through).write(&mut by_x[at..]);
    }
}
