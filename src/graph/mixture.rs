//! The paper's Mixture graph: three overlapping Gaussians in the plane, with more links inside a component than
//! across.

use super::{Graph, Split};
use crate::error::{Error, ForThe, Result, try_reserve, try_with_capacity};
use crate::random::{Purpose, Stream};

const CLASSES: usize = 3;
const MEANS: [[f64; 2]; CLASSES] = [[-0.5, 0.0], [0.5, 0.0], [0.0, 0.866]];
const DEVIATIONS: [f64; CLASSES] = [0.75, 0.5, 0.25];
/// Probability that an ordered pair is linked, inside a component and across.
const INSIDE: f64 = 1e-3;
const ACROSS: f64 = 2e-4;

impl Graph {
    /// Makes `3 · nodes_per_class` nodes in order of class. Of each class the first 40 % train, the next 20 % validate
    /// and the rest test. Time and memory grow with nodes and edges, not with pairs.
    pub fn from_mixture(nodes_per_class: usize, seed: u64) -> Result<Self> {
        if nodes_per_class == 0 || nodes_per_class > i32::MAX as usize / CLASSES {
            let text = format!("nodes_per_class = {nodes_per_class} is outside [1, {}]", i32::MAX as usize / CLASSES);
            return Err(Error::InvalidArgument(text));
        }
        let (sources, targets) = edges(nodes_per_class, seed)?;
        let num_nodes = CLASSES * nodes_per_class;
        let mut graph = Graph::from_edges(num_nodes, &sources, &targets, None)?;
        drop((sources, targets));

        let mut points = try_with_capacity(2 * num_nodes).for_the("features")?;
        let mut labels = try_with_capacity(num_nodes).for_the("labels")?;
        let mut splits = [Vec::new(), Vec::new(), Vec::new()];
        splits.iter_mut().try_for_each(|s| try_reserve(s, num_nodes, "split"))?;
        let mut random = Stream::new(seed, Purpose::Mixture, 0, 0);
        let (train, val) = (nodes_per_class * 2 / 5, nodes_per_class / 5);
        for class in 0..CLASSES {
            for i in 0..nodes_per_class {
                points.extend(MEANS[class].map(|mean| (mean + DEVIATIONS[class] * random.normal()) as f32));
                let split = usize::from(i >= train) + usize::from(i >= train + val);
                splits[split].push(labels.len() as i32);
                labels.push(class as i32);
            }
        }
        graph.set_features(2, &points)?;
        graph.set_labels(&labels)?;
        for (split, nodes) in [Split::Train, Split::Val, Split::Test].into_iter().zip(&splits) {
            graph.set_split(split, nodes)?;
        }
        Ok(graph)
    }
}

/// Links each unordered pair if either of its two ordered pairs is linked. Jumps from one linked pair to the next, so
/// the cost is proportional to the edges.
fn edges(nodes_per_class: usize, seed: u64) -> Result<(Vec<i32>, Vec<i32>)> {
    let m = nodes_per_class as u64;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    let blocks = (0..CLASSES).flat_map(|a| (a..CLASSES).map(move |b| (a, b)));
    for (block, (a, b)) in blocks.enumerate() {
        let mut random = Stream::new(seed, Purpose::Mixture, 1, block as u64);
        let p = if a == b { INSIDE } else { ACROSS };
        let either = 1.0 - (1.0 - p) * (1.0 - p);
        // A pair is a position in the row-by-row list of the pairs of the block; inside a class row i has i pairs (j <
        // i).
        let (mut row, mut column) = (0, random.geometric(either));
        let row_length = |row: u64| if a == b { row } else { m };
        loop {
            while row < m && column >= row_length(row) {
                column -= row_length(row);
                row += 1;
            }
            if row == m {
                break;
            }
            try_reserve(&mut sources, 1, "edges")?;
            try_reserve(&mut targets, 1, "edges")?;
            sources.push((a as u64 * m + row) as i32);
            targets.push((b as u64 * m + column) as i32);
            column = column.saturating_add(1).saturating_add(random.geometric(either));
        }
    }
    Ok((sources, targets))
}
