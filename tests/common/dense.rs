//! A plain dense GCN in double precision, written from the formulas: no sparse matrix, no cut, no reused buffer.

use super::random::Random;
use ndarray::{Array1, Array2, Axis};
use plimsoll::graph::{Graph, Normalization};
use plimsoll::sample::Distribution;

/// A graph of the library, and its matrix A.
pub struct Described {
    pub graph: Graph,
    pub a: Array2<f64>,
}

impl Described {
    /// Undirected edges with repetitions, self-loops and isolated nodes; weighted or not.
    pub fn undirected(n: usize, num_edges: usize, weighted: bool, random: &mut Random) -> Self {
        let linked = isolate_some(n, random);
        let mut a = Array2::zeros((n, n));
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..num_edges {
            let (u, v) = (random.below(linked), random.below(linked));
            let weight = random.float(0.1, 2.0);
            for (u, v) in if u == v { vec![(u, v)] } else { vec![(u, v), (v, u)] } {
                a[[u, v]] = if weighted { a[[u, v]] + f64::from(weight) } else { 1.0 };
            }
            sources.push(u as i32);
            targets.push(v as i32);
            weights.push(weight);
        }
        let weights = weighted.then_some(weights.as_slice());
        Described { graph: Graph::from_edges(n, &sources, &targets, weights).unwrap(), a }
    }

    /// A directed matrix by rows, in no order within a row, with repetitions and empty rows; weighted or not.
    pub fn directed(n: usize, num_entries: usize, weighted: bool, random: &mut Random) -> Self {
        let linked = isolate_some(n, random);
        let mut a = Array2::zeros((n, n));
        let mut rows: Vec<Vec<(i32, f32)>> = vec![Vec::new(); n];
        for _ in 0..num_entries {
            let (u, v) = (random.below(linked), random.below(linked));
            let weight = random.float(0.1, 2.0);
            a[[u, v]] = if weighted { a[[u, v]] + f64::from(weight) } else { 1.0 };
            rows[u].push((v as i32, weight));
        }
        let (indptr, indices, weights) = by_rows(&rows);
        let weights = weighted.then_some(weights.as_slice());
        Described { graph: Graph::from_csr(n, &indptr, &indices, weights).unwrap(), a }
    }

    /// Gives the graph dense features, some of them 0.
    pub fn set_features(&mut self, width: usize, random: &mut Random) -> Array2<f64> {
        let n = self.a.nrows();
        let x: Vec<f32> =
            (0..n * width).map(|_| if random.chance(0.2) { 0.0 } else { random.float(-1.0, 1.0) }).collect();
        self.graph.set_features(width, &x).unwrap();
        super::matrix(&x, width)
    }

    /// Gives the graph sparse features, with empty rows and repeated entries.
    pub fn set_sparse_features(&mut self, width: usize, random: &mut Random) -> Array2<f64> {
        let n = self.a.nrows();
        let mut x = Array2::zeros((n, width));
        let mut rows: Vec<Vec<(i32, f32)>> = vec![Vec::new(); n];
        for (v, row) in rows.iter_mut().enumerate() {
            for _ in 0..random.below(width + 2) {
                let (k, value) = (random.below(width), random.float(-1.0, 1.0));
                x[[v, k]] += f64::from(value);
                row.push((k as i32, value));
            }
        }
        let (indptr, indices, values) = by_rows(&rows);
        self.graph.set_sparse_features(width, &indptr, &indices, &values).unwrap();
        x
    }
}

/// The number of nodes that may have edges: often all; otherwise the last one or two have none.
fn isolate_some(n: usize, random: &mut Random) -> usize {
    n.saturating_sub(random.below(3)).max(1)
}

fn by_rows(rows: &[Vec<(i32, f32)>]) -> (Vec<i64>, Vec<i32>, Vec<f32>) {
    let mut indptr = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        indices.extend(row.iter().map(|e| e.0));
        values.extend(row.iter().map(|e| e.1));
        indptr.push(indices.len() as i64);
    }
    (indptr, indices, values)
}

/// Â of A.
pub fn normalized(a: &Array2<f64>, normalization: Normalization) -> Array2<f64> {
    if normalization == Normalization::None {
        return a.clone();
    }
    let with_loops = a + &Array2::<f64>::eye(a.nrows());
    let degrees = with_loops.sum_axis(Axis(1));
    match normalization {
        Normalization::Row => &with_loops / &degrees.insert_axis(Axis(1)),
        _ => {
            let roots = degrees.mapv(f64::sqrt);
            &with_loops / &roots.clone().insert_axis(Axis(1)) / &roots.insert_axis(Axis(0))
        }
    }
}

/// Â as the library holds it.
pub fn operator(graph: &Graph) -> Array2<f64> {
    let n = graph.num_nodes();
    let mut a_hat = Array2::zeros((n, n));
    for v in 0..n {
        let (columns, values) = graph.operator().row(v);
        columns.iter().zip(values).for_each(|(&u, &a)| a_hat[[v, u as usize]] = f64::from(a));
    }
    a_hat
}

/// P over all nodes for the input below `rows`, the distinct nodes above; 0 outside S.
pub fn probabilities(a_hat: &Array2<f64>, rows: &[usize], distribution: &Distribution) -> Array1<f64> {
    let above = a_hat.select(Axis(0), rows);
    let masses = match distribution {
        Distribution::Uniform => Array1::ones(a_hat.ncols()),
        Distribution::Importance => a_hat.mapv(|a| a * a).sum_axis(Axis(0)),
        Distribution::Neighbors => {
            above.map_axis(Axis(0), |column| f64::from(u8::from(column.iter().any(|&a| a != 0.0))))
        }
        Distribution::Ladies => above.mapv(|a| a * a).sum_axis(Axis(0)),
        Distribution::Weights { weights, .. } => Array1::from_vec(weights.to_vec()),
    };
    let total = masses.sum();
    if total > 0.0 { masses / total } else { masses }
}

/// Columns that one of `rows` touches.
pub fn touched(a_hat: &Array2<f64>, rows: &[usize]) -> Vec<usize> {
    (0..a_hat.ncols()).filter(|&u| rows.iter().any(|&v| a_hat[[v, u]] != 0.0)).collect()
}

/// Â(I_{l+1}, I_l)·diag(1/(t P(u))) for each layer, input layer first, as matrices with a row and a column for each draw,
/// duplicates kept; and I_0. `choose(l, P)` returns the draws at the input of layer l; if it returns none, I_l is all nodes with
/// the weight 1.
pub fn operators(
    a_hat: &Array2<f64>,
    batch: &[i32],
    num_layers: usize,
    distribution: &Distribution,
    mut choose: impl FnMut(usize, &Array1<f64>) -> Option<Vec<i32>>,
) -> (Vec<Array2<f64>>, Vec<usize>) {
    let mut above: Vec<usize> = batch.iter().map(|&v| v as usize).collect();
    // The distinct nodes among them that some row further up is linked to.
    let mut useful = above.clone();
    let mut operators = Vec::new();
    for l in (0..num_layers).rev() {
        let p = probabilities(a_hat, &useful, distribution);
        let reached = touched(a_hat, &useful);
        let mut operator = a_hat.select(Axis(0), &above);
        if let Some(draws) = choose(l, &p) {
            let draws: Vec<usize> = draws.iter().map(|&u| u as usize).collect();
            operator = operator.select(Axis(1), &draws);
            for (mut column, &u) in operator.columns_mut().into_iter().zip(&draws) {
                let weight = if p[u] > 0.0 { 1.0 / (draws.len() as f64 * p[u]) } else { 0.0 };
                column.mapv_inplace(|a| a * weight);
            }
            useful = reached.into_iter().filter(|u| draws.contains(u)).collect();
            above = draws;
        } else {
            useful = reached;
            above = (0..a_hat.ncols()).collect();
        }
        operators.push(operator);
    }
    operators.reverse();
    (operators, above)
}

/// W(0), W(1), … of a flat vector of parameters.
pub fn layers(widths: &[usize], parameters: &[f32]) -> Vec<Array2<f64>> {
    let mut rest = parameters;
    let layer = |pair: &[usize]| {
        let (layer, others) = rest.split_at(pair[0] * pair[1]);
        rest = others;
        super::matrix(layer, pair[1])
    };
    widths.windows(2).map(layer).collect()
}

/// H^(1), H^(2), …; the last one is the logits.
pub fn forward(operators: &[Array2<f64>], x: &Array2<f64>, weights: &[Array2<f64>]) -> Vec<Array2<f64>> {
    let mut outputs: Vec<Array2<f64>> = Vec::new();
    for (l, (operator, w)) in operators.iter().zip(weights).enumerate() {
        let z = operator.dot(outputs.last().unwrap_or(x)).dot(w);
        outputs.push(if l + 1 < weights.len() { z.mapv(|z| z.max(0.0)) } else { z });
    }
    outputs
}

/// Row-wise softmax.
pub fn softmax(logits: &Array2<f64>) -> Array2<f64> {
    let mut p = logits.clone();
    for mut row in p.rows_mut() {
        let max = row.fold(f64::NEG_INFINITY, |m, &z| m.max(z));
        row.mapv_inplace(|z| (z - max).exp());
        let sum = row.sum();
        row.mapv_inplace(|e| e / sum);
    }
    p
}

/// Mean of −log p over rows and their labels.
pub fn cross_entropy(p: &Array2<f64>, labels: &[i32]) -> f64 {
    -labels.iter().enumerate().map(|(i, &y)| p[[i, y as usize]].ln()).sum::<f64>() / labels.len() as f64
}

/// Loss and gradient: mean cross-entropy of the rows of the last operator + λ/2 ‖W‖², by the chain rule.
pub fn loss_and_gradient(
    operators: &[Array2<f64>],
    x: &Array2<f64>,
    weights: &[Array2<f64>],
    labels: &[i32],
    lambda: f64,
) -> (f64, Vec<f64>) {
    let outputs = forward(operators, x, weights);
    let p = softmax(&outputs[outputs.len() - 1]);
    let squares: f64 = weights.iter().flatten().map(|w| w * w).sum();
    let loss = cross_entropy(&p, labels) + 0.5 * lambda * squares;
    // ∂/∂z is p, and p − 1 at the label, which is minus the sum of p over the other classes.
    let mut delta = p / labels.len() as f64;
    for (mut row, &y) in delta.rows_mut().into_iter().zip(labels) {
        row[y as usize] = 0.0;
        row[y as usize] = -row.sum();
    }
    let mut gradients = Vec::new();
    for l in (0..weights.len()).rev() {
        let input = if l == 0 { x } else { &outputs[l - 1] };
        let below = operators[l].t().dot(&delta);
        gradients.push(input.t().dot(&below) + &weights[l] * lambda);
        if l > 0 {
            delta = below.dot(&weights[l].t()) * outputs[l - 1].mapv(|h| f64::from(u8::from(h > 0.0)));
        }
    }
    (loss, gradients.iter().rev().flatten().copied().collect())
}
