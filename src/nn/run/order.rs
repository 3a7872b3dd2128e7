//! The order of the two products of Op·In·W.
//!
//! Where no gradient follows, it depends on the widths alone, so that a node's output has the same bits whichever other nodes are
//! computed with it. A gradient belongs to its batch as a whole, and takes the order that costs less for that batch.

use super::Pass;
use crate::error::Result;
use crate::graph::{Matrix, Operator};
use crate::kernel::Sparse;
use crate::nn::program::{Node, Source};

/// How a product was computed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Order {
    /// In·W, the only product there is, or rows of a kept Op·X times W.
    #[default]
    Plain,
    /// Rows of Op times XW of all nodes, in place of rows of Op·X times W.
    FeaturesFirst,
    /// Op·(In·W)
    TransformFirst,
    /// (Op·In)·W
    AggregateFirst,
}

impl Order {
    /// The order of a product whose input may be a kept Op·X.
    pub fn of_product(pass: Pass<'_>, node: &Node, input: Source) -> Result<Order> {
        let request = pass.program.request;
        let Source::Aggregated(i) = input else { return Ok(Order::Plain) };
        let (operator, power) = pass.program.aggregated[i];
        let first = request.has_gradients() && !request.identity && power == 1 && features_first(pass, node, operator)?;
        Ok(if first { Order::FeaturesFirst } else { Order::Plain })
    }

    /// The order of a convolution with this operator.
    pub fn of_convolution(
        pass: Pass<'_>,
        node: &Node,
        (operator, fan_in): (Sparse<'_>, usize),
        input: Source,
    ) -> Result<Order> {
        let request = pass.program.request;
        let transforms = match input {
            Source::Features if request.features_first => true,
            // Sparse features are not expanded into dense rows for the sake of the order.
            Source::Features if matches!(pass.graph.features()?, Matrix::Sparse { .. }) => node.width <= fan_in,
            _ if !request.has_gradients() => node.width <= fan_in,
            _ => {
                let (above, below) = (pass.cut.level(node.level).1, pass.cut.level(node.step).1);
                let entries = operator.indices.len() as u64 * above as u64 / operator.num_rows().max(1) as u64;
                // A row narrower than a vector costs as much as a whole one.
                let [fan_in, fan_out] = [fan_in, node.width].map(|width| width.next_multiple_of(4));
                let transform_first = below * fan_in * fan_out + entries as usize * fan_out;
                let aggregate_first = above * fan_in * fan_out + entries as usize * fan_in;
                transform_first <= aggregate_first
            }
        };
        Ok(if transforms { Order::TransformFirst } else { Order::AggregateFirst })
    }
}

/// Whether rows of Op times XW of all nodes cost less than rows of Op·X times W.
fn features_first(pass: Pass<'_>, node: &Node, operator: Operator) -> Result<bool> {
    /// What an entry of a dense row costs, against one of a sparse row.
    const DENSE_COST: f32 = 0.3;
    let graph = pass.graph;
    let x = graph.features()?;
    let Matrix::Sparse { csr, .. } = x else {
        return Ok(false);
    };
    let (pick, count) = pass.cut.level(node.level);
    let entries = csr.indices.len();
    if count * x.width() <= entries {
        return Ok(false);
    }
    let (sparse, outlook) = (graph.operator_of(operator)?, graph.outlook(operator)?);
    let degree = |v: usize| (sparse.indptr[v + 1] - sparse.indptr[v]) as usize;
    let nodes = || (0..count).map(|i| pick.at(i));
    let aggregated = match outlook.dense() {
        true => DENSE_COST * (count * x.width()) as f32,
        false => nodes().map(|v| outlook.columns(sparse, v)).sum(),
    };
    Ok(aggregated > (entries + nodes().map(degree).sum::<usize>()) as f32)
}
