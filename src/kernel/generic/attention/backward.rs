//! Gradients of attention, by rows and by the rows that those attend to.

use super::super::super::arithmetic::Arithmetic;
use super::super::super::lanes::Lanes;
use super::super::super::{Edges, Permuted};
use super::super::prefetch;
use super::{
    Attended, Group, LANES, PAIRS_AHEAD, Scores, ask, by_heads, by_vectors, entries, kept, leaky, magnitude,
    rows_ahead, slope,
};

/// From the gradient g by the results, interleaved, to that by the scores: `e_vu ← α_vu (g_v·x_u − Σ_w α_vw g_v·x_w)` for each
/// head; for [`Scores::Sum`] times the slope of the score. `kept` are exponentials and shares of all rows. `to` are `pairs`, `by_rows`
/// and `by_vector`. Rows as for [`super::attend`], as many as `by_rows` has; `pairs` begins
/// with the entries of row `first`, and gets α and e of each entry: of every head α, then of every head e. The α that are dropped
/// are 0.
///
/// `by_rows` gets, for [`Scores::Sum`], `Σ_u e_vu`, a number per head; for [`Scores::Inner`] the gradient by y_v, and the one by
/// a is added to `by_vector`.
///
/// Cost: two rows of x per entry, the second from the cache, and some 2·width flops per entry and head, or 6·width.
#[inline(always)]
pub fn attend_backward<A: Arithmetic>(
    edges: Edges<'_>,
    first: usize,
    of: Attended<'_>,
    g: &[f32],
    scale: f32,
    kept: [&[f32]; 2],
    to: [&mut [f32]; 3],
) {
    by_heads!(of.heads, attend_backward_of::<A>(edges, first, of, g, scale, kept, to))
}

#[inline(always)]
fn attend_backward_of<A: Arithmetic, const H: usize>(
    edges: Edges<'_>,
    first: usize,
    Attended { scores, x, heads }: Attended<'_>,
    g: &[f32],
    scale: f32,
    [exponentials, shares]: [&[f32]; 2],
    [pairs, by_rows, by_vector]: [&mut [f32]; 3],
) {
    let (lanes, stride) = (if H < LANES { H } else { heads.lanes() }, heads.stride());
    let base = edges.indptr[first] as usize;
    let width = if matches!(scores, Scores::Sum { .. }) { lanes } else { stride };
    for (i, by_row) in by_rows.chunks_exact_mut(width).enumerate() {
        let (row, range) = (first + i, entries(edges.indptr, first + i));
        let indices = &edges.indices[range.clone()];
        let e = &exponentials[range.start * lanes..range.end * lanes];
        let pairs = &mut pairs[2 * (range.start - base) * lanes..2 * (range.end - base) * lanes];
        let ahead = edges.indices.get(range.start + rows_ahead(stride)..).unwrap_or(&[]);
        for part in 0..Group::number::<H>(heads) {
            let group = Group::new::<H>(heads, part);
            let mut mean = A::Sixteen::all(0.0);
            by_vectors!(group.count, |c| products_of::<A, H; V>(
                indices, ahead, e, x, (g, row), group, c, pairs, &mut mean
            ));
            let share = A::Sixteen::repeated::<H>(&shares[group.at(row)..]);
            let kept_share = share.times(A::Sixteen::all(scale));
            let of_row = (share, kept_share, mean.times(kept_share));
            match scores {
                Scores::Sum { scores: [s, d], own, .. } => {
                    let d = A::Sixteen::repeated::<H>(&d[group.at(own.at(row))..]);
                    let mut sum = A::Sixteen::all(0.0);
                    for (k, &u) in indices.iter().enumerate() {
                        let z = A::Sixteen::repeated::<H>(&s[group.at(u as usize)..]).plus(d);
                        let e = &e[group.at(k)..];
                        let by = by_score::<A::Sixteen, H>(e, &mut pairs[group.pair(k)..], group, of_row, scale);
                        let by = by.times(slope(z));
                        sum = sum.plus(by);
                        by.write_first::<H>(&mut pairs[group.pair(k) + group.lanes..]);
                    }
                    sum.write_first::<H>(&mut by_row[group.from..]);
                }
                Scores::Inner { above, vector } => {
                    for k in 0..indices.len() {
                        let e = &e[group.at(k)..];
                        let by = by_score::<A::Sixteen, H>(e, &mut pairs[group.pair(k)..], group, of_row, scale);
                        by.write_first::<H>(&mut pairs[group.pair(k) + group.lanes..]);
                    }
                    let pairs = &*pairs;
                    by_vectors!(group.count, |c| rows_of::<A, H; V>(
                        indices, pairs, x, (above, row), vector, group, c, by_row, by_vector
                    ));
                }
            }
        }
    }
}

/// The gradient by a score, from the exponential and `g·x`; writes α.
#[inline(always)]
fn by_score<L: Lanes, const H: usize>(
    e: &[f32],
    pair: &mut [f32],
    group: Group,
    (share, kept_share, mean): (L, L, L),
    scale: f32,
) -> L {
    let (e, zero) = (L::repeated::<H>(e), L::all(0.0));
    let product = L::repeated::<H>(&pair[group.lanes..]).times(L::all(scale));
    kept(e).times(kept_share).write_first::<H>(pair);
    magnitude(e).times(share).times(product.but(zero.above(e), zero).minus(mean))
}

/// Adds the part of V vectors to `g_v·x_u`. The last part makes the sum of these products times the exponentials.
#[inline(always)]
fn products_of<A: Arithmetic, const H: usize, const V: usize>(
    indices: &[i32],
    ahead: &[i32],
    e: &[f32],
    x: &[f32],
    (g, row): (&[f32], usize),
    group: Group,
    c: usize,
    pairs: &mut [f32],
    sum_of_row: &mut A::Sixteen,
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
        let before = &mut pairs[group.pair(k) + group.lanes..];
        if c > 0 {
            product = product.plus(A::Sixteen::repeated::<H>(before));
        }
        if is_last {
            sum = kept(A::Sixteen::repeated::<H>(&e[group.at(k)..])).madd(product, sum);
        }
        product.write_first::<H>(before);
    }
    *sum_of_row = sum;
}

/// `Σ_u e_vu a ∘ LeakyReLU'(x_u + y_v)` of V vectors from `c` on, and `Σ_u e_vu LeakyReLU(x_u + y_v)`, which is added.
#[inline(always)]
fn rows_of<A: Arithmetic, const H: usize, const V: usize>(
    indices: &[i32],
    pairs: &[f32],
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
        let e = A::Sixteen::repeated::<H>(&pairs[group.pair(k) + group.lanes..]);
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
/// `kept` are the pairs of [`attend_backward`], and `by_rows`; `to` are `by_x` and `by_vectors`. For [`Scores::Sum`], `by_rows` has `Σ_u e_vu` of the rows above, but one for each row below; the gradients by both vectors are
/// added to `by_vectors`.
///
/// Cost: a row of g per entry, and one of y for [`Scores::Inner`]; some 2·width flops per entry and head, or 6·width.
#[inline(always)]
pub fn attend_transposed<A: Arithmetic>(
    permuted: Permuted<'_>,
    first: usize,
    of: Attended<'_>,
    g: &[f32],
    kept: [&[f32]; 2],
    to: [&mut [f32]; 2],
) {
    by_heads!(of.heads, attend_transposed_of::<A>(permuted, first, of, g, kept, to))
}

#[inline(always)]
fn attend_transposed_of<A: Arithmetic, const H: usize>(
    permuted: Permuted<'_>,
    first: usize,
    Attended { scores, x, heads }: Attended<'_>,
    g: &[f32],
    [pairs, by_rows]: [&[f32]; 2],
    [by_x, by_vectors]: [&mut [f32]; 2],
) {
    let stride = heads.stride();
    for (i, by_x) in by_x.chunks_exact_mut(stride).enumerate() {
        let range = entries(permuted.indptr, first + i);
        let entries = (&permuted.rows[range.clone()], &permuted.places[range.clone()]);
        let rows_ahead = permuted.rows.get(range.start + rows_ahead(stride)..).unwrap_or(&[]);
        let ahead = (rows_ahead, permuted.places.get(range.start + PAIRS_AHEAD..).unwrap_or(&[]));
        for part in 0..Group::number::<H>(heads) {
            let group = Group::new::<H>(heads, part);
            match scores {
                Scores::Sum { vectors, .. } => by_vectors!(group.count, |c| sum_to_row::<A, H; V>(
                    entries, ahead, (x, first + i), vectors, g, pairs, by_rows, group, c, by_x,
                    by_vectors
                )),
                Scores::Inner { above, vector } => by_vectors!(group.count, |c| inner_to_row::<A, H; V>(
                    entries, ahead, (x, first + i), above, vector, g, pairs, group, c, by_x
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
    pairs: &[f32],
    by_rows: &[f32],
    group: Group,
    c: usize,
    by_x: &mut [f32],
    by_vectors: &mut [f32],
) {
    let mut sums = [A::Sixteen::all(0.0); V];
    let mut by_score = A::Sixteen::all(0.0);
    for (k, (&v, &place)) in rows.iter().zip(places).enumerate() {
        if let Some(&row) = rows_ahead.get(k)
            && c == 0
        {
            ask(g, row, group.stride);
        }
        if let Some(&place) = places_ahead.get(k)
            && c == 0
        {
            prefetch(pairs, group.pair(place as usize));
        }
        let pair = &pairs[group.pair(place as usize)..];
        let alpha = A::Sixteen::repeated::<H>(pair);
        by_score = by_score.plus(A::Sixteen::repeated::<H>(&pair[group.lanes..]));
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
        let sum = by_score.madd(A::Sixteen::read(&vectors[0][at..]), sums[t]);
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
    pairs: &[f32],
    group: Group,
    c: usize,
    by_x: &mut [f32],
) {
    let x = group.vectors::<A::Sixteen, V>(x, u, c);
    let mut sums = [[A::Sixteen::all(0.0); V]; 2];
    for (k, (&v, &place)) in rows.iter().zip(places).enumerate() {
        if let Some(&row) = rows_ahead.get(k)
            && c == 0
        {
            ask(g, row, group.stride);
            ask(above, row, group.stride);
        }
        if let Some(&place) = places_ahead.get(k)
            && c == 0
        {
            prefetch(pairs, group.pair(place as usize));
        }
        let pair = &pairs[group.pair(place as usize)..];
        let alpha = A::Sixteen::repeated::<H>(pair);
        let e = A::Sixteen::repeated::<H>(&pair[group.lanes..]);
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
        sums[0][t].plus(through).write(&mut by_x[at..]);
    }
}
