//! Attention in a pass: whom its rows attend to, forward and backward.

use super::{Kept, Pass, Workspace, fit};
use crate::error::{Error, ForThe, Result};
use crate::graph::Operator;
use crate::kernel::{Drops, Edges, Permuted, Pick};
use crate::nn::neighbours::Neighbours;
use crate::nn::op::attention::{By, Dropout};
use crate::nn::program::{Kind, Node};
use crate::nn::transposed::DELTAS;
use crate::random::mask_key;
use std::mem::take;

impl Workspace {
    /// Forward: reads whom the rows attend to, unless all nodes attend to all, and attends.
    pub(super) fn attend(&mut self, pass: Pass<'_>, node: &Node, kept: &mut Kept, out: &mut [f32]) -> Result<()> {
        let Kind::Attend { heads, self_loops, .. } = node.kind else { return Err(no_attention()) };
        if !is_all(pass, node) && kept.linked[0] != pass.cut.number() {
            kept.linked = [0; 2];
            kept.neighbours.read_cut(pass, node, self_loops)?;
            kept.linked[0] = pass.cut.number();
        }
        let places = self.find_both(pass, node, kept)?;
        let x = self.view(pass, places.0, node.step, &kept.rows[0])?.data;
        let y = match places.1 {
            Some(place) => Some(self.view(pass, place, node.level, &kept.rows[1])?.data),
            None => None,
        };
        let Kept { attention, neighbours, .. } = kept;
        let edges = edges(pass, node, self_loops, neighbours)?;
        attention.forward(pass.threads, edges, (by(pass, node, y)?, x, heads), dropout(pass, node), out)
    }

    fn find_both(
        &mut self,
        pass: Pass<'_>,
        node: &Node,
        kept: &mut Kept,
    ) -> Result<(super::Place, Option<super::Place>)> {
        let [below, above] = &mut kept.rows;
        let x = self.find(pass, node.input(0)?, node.step, true, below)?;
        let y = match node.inputs[1] {
            Some(source) => Some(self.find(pass, source, node.level, true, above)?),
            None => None,
        };
        Ok((x, y))
    }

    /// The gradients by both inputs and by the vectors of the scores.
    pub(super) fn attention_gradient(
        &mut self,
        pass: Pass<'_>,
        node: &Node,
        kept: &mut Kept,
        g: &[f32],
        gradient: &mut [f32],
    ) -> Result<()> {
        let Kind::Attend { heads, self_loops, ref vectors, .. } = node.kind else { return Err(no_attention()) };
        let (count, below) = (pass.cut.level(node.level).1, pass.cut.level(node.step).1);
        if !is_all(pass, node) && kept.linked[1] != pass.cut.number() {
            kept.neighbours.transpose(below)?;
            kept.linked[1] = pass.cut.number();
        }
        let places = self.find_both(pass, node, kept)?;
        let (mut by_x, mut by_y) = (take(&mut self.middle), take(&mut kept.middle));
        let made = fit(&mut by_x, below * heads.stride(), pass.cut).for_the(DELTAS).and_then(|()| {
            let x = self.view(pass, places.0, node.step, &kept.rows[0])?.data;
            let y = match places.1 {
                Some(place) => Some(self.view(pass, place, node.level, &kept.rows[1])?.data),
                None => None,
            };
            if y.is_some() {
                fit(&mut by_y, count * heads.stride(), pass.cut).for_the(DELTAS)?;
            }
            let Kept { attention, neighbours, .. } = kept;
            let edges = edges(pass, node, self_loops, neighbours)?;
            let permuted = permuted(pass, node, self_loops, neighbours)?;
            let (first, second) = match &vectors[..] {
                [a, b] => {
                    let (to_a, to_b) = gradient[a.start..b.end].split_at_mut(a.len());
                    (to_a, Some(to_b))
                }
                [a] => (&mut gradient[a.clone()], None),
                _ => return Err(no_attention()),
            };
            let by = by(pass, node, y)?;
            let to = [&mut by_x[..], &mut by_y[..]];
            let factors = (by, x, heads);
            match second {
                Some(second) => {
                    let vectors = &mut [first, second];
                    attention.backward(pass.threads, (edges, permuted), factors, g, to, vectors)
                }
                None => attention.backward(pass.threads, (edges, permuted), factors, g, to, &mut [first]),
            }
        });
        let made = made.and_then(|()| {
            self.give(pass, node.inputs[0], node.step, |_, _, out| {
                out.copy_from_slice(&by_x);
                Ok(())
            })?;
            self.give(pass, node.inputs[1], node.level, |_, _, out| {
                out.copy_from_slice(&by_y);
                Ok(())
            })
        });
        (self.middle, kept.middle) = (by_x, by_y);
        made
    }
}

impl Neighbours {
    /// Reads whom the nodes above a hop of the cut are linked to.
    fn read_cut(&mut self, pass: Pass<'_>, node: &Node, self_loops: bool) -> Result<()> {
        let Pass { graph, cut, .. } = pass;
        let (above, count) = cut.level(node.level);
        let (links, pick) = cut.operator_at(graph, Operator::Links, node.step)?;
        let own = self_loops.then(|| cut.own(node.step));
        self.read((links, pick, count), own, [above, cut.level(node.step).0])
    }
}

/// Whether all nodes attend to their neighbours among all.
fn is_all(pass: Pass<'_>, node: &Node) -> bool {
    let all = |level: usize| matches!(pass.cut.level(level), (Pick::From(0), count) if count == pass.graph.num_nodes());
    pass.cut.is_whole() && all(node.level) && all(node.step)
}

fn edges<'a>(pass: Pass<'a>, node: &Node, self_loops: bool, neighbours: &'a Neighbours) -> Result<Edges<'a>> {
    if is_all(pass, node) { pass.graph.neighbours(self_loops) } else { Ok(neighbours.edges()) }
}

fn permuted<'a>(pass: Pass<'a>, node: &Node, self_loops: bool, neighbours: &'a Neighbours) -> Result<Permuted<'a>> {
    if is_all(pass, node) { pass.graph.permuted_neighbours(self_loops) } else { Ok(neighbours.permuted()) }
}

/// How the rows above score those below.
fn by<'a>(pass: Pass<'a>, node: &'a Node, y: Option<&'a [f32]>) -> Result<By<'a>> {
    let Kind::Attend { vectors, .. } = &node.kind else { return Err(no_attention()) };
    let vector = |k: usize| &pass.parameters[vectors[k].clone()];
    Ok(match y {
        Some(above) => By::Inner { vector: vector(0), above },
        None => By::Sum { vectors: [vector(0), vector(1)], own: pass.cut.own(node.step) },
    })
}

/// Which coefficients become 0 in this pass.
fn dropout<'a>(pass: Pass<'a>, node: &Node) -> Option<Dropout<'a>> {
    let Kind::Attend { rate, value, .. } = node.kind else { return None };
    let key = mask_key(pass.masks.seed, pass.masks.step, value as u64);
    let nodes = [pass.cut.level(node.level).0, pass.cut.level(node.step).0];
    (rate > 0.0).then(|| {
        let threshold = crate::nn::op::dropout::threshold(rate);
        Dropout { drops: Drops { key, threshold, nodes }, scale: (1.0 / (1.0 - rate)) as f32 }
    })
}

fn no_attention() -> Error {
    Error::Internal("no attention".to_string())
}
