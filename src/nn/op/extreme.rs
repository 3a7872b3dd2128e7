//! The maximum or minimum over neighbours.

use super::join::View;
use crate::kernel::{Extreme, Pick, Sparse, Threads, table};

/// `out(v, c) ← max_u m(u, c)`, or the minimum, over the entries u of row v, and the u that has it.
pub fn forward(
    threads: &Threads,
    extreme: Extreme,
    (links, pick): (Sparse<'_>, Pick<'_>),
    m: View<'_>,
    out: &mut [f32],
    from: &mut [i32],
) {
    let width = m.width;
    let rows = out.len() / width;
    let piece = rows.div_ceil(64).max(64);
    let work = (links.mean_entries() * rows, width);
    threads.each_pair(work, (out, piece * width), (from, piece * width), |i, out, from| {
        table().extreme(extreme, links, pick.skip(i * piece), (m.data, width), (out, from));
    });
}

/// Adds each number of a gradient to the row that had the extreme.
pub fn gradient(g: &[f32], from: &[i32], width: usize, out: &mut [f32]) {
    for (g, from) in g.chunks_exact(width).zip(from.chunks_exact(width)) {
        for (c, (&g, &u)) in g.iter().zip(from).enumerate() {
            if u >= 0 {
                out[u as usize * width + c] += g;
            }
        }
    }
}
