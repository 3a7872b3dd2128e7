//! The buffers of a pass: those of the paper's model, and those of a program.

use super::{Model, pass};
use crate::error::{ForThe, Result, try_resize};
use crate::graph::Graph;
use crate::kernel::{Pick, Threads, table};
use crate::nn::{self, Masks, Pass, Program};
use crate::sample::Cut;
use std::sync::Arc;

/// Everything a pass needs beside the model, the graph and the cut.
#[derive(Default)]
pub struct Workspace {
    plain: pass::Workspace,
    net: nn::Workspace,
    /// What the last pass ran; `None`: the layers of the paper's model.
    program: Option<Arc<Program>>,
    /// The last layer of the last pass, in the paper's model.
    last: usize,
    log_sums: Vec<f64>,
    losses: Vec<f64>,
}

impl Workspace {
    /// Bytes of the large buffers.
    pub fn bytes(&self) -> usize {
        self.plain.bytes() + self.net.bytes()
    }

    /// Computes a program, or the layers `0 ..= last` of the paper's model, over a cut. A node's output has the same bits
    /// whichever other nodes are computed with it. [`Workspace::release`] must follow, also on failure.
    pub fn forward(
        &mut self,
        model: &Model,
        (program, last): (Option<Arc<Program>>, usize),
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        keep: bool,
    ) -> Result<()> {
        (self.program, self.last) = (program, last);
        match &self.program {
            None => self.plain.forward(model, (graph, cut), threads, last, keep),
            Some(program) => {
                let pass = model.pass(program, (graph, cut), threads, Masks::default(), keep);
                self.net.forward(pass)
            }
        }
    }

    /// Computes everything over a cut, so that [`Workspace::backward`] can follow. [`Workspace::release`] must follow, also on
    /// failure.
    pub fn forward_for_gradient(
        &mut self,
        model: &Model,
        program: Option<Arc<Program>>,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        masks: Masks,
    ) -> Result<()> {
        (self.program, self.last) = (program, model.num_layers().wrapping_sub(1));
        match &self.program {
            None => self.plain.forward_for_gradient(model, graph, cut, threads),
            Some(program) => self.net.forward(model.pass(program, (graph, cut), threads, masks, true)),
        }
    }

    /// From the gradient by the outputs, in their place, to the gradient by all parameters of the loss + λ/2 ‖w‖². Requires
    /// [`Workspace::forward_for_gradient`] with the same arguments.
    pub fn backward(
        &mut self,
        model: &Model,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        masks: Masks,
    ) -> Result<()> {
        match &self.program {
            None => self.plain.backward(model, graph, cut, threads),
            Some(program) => {
                let pass = model.pass(program, (graph, cut), threads, masks, true);
                self.net.backward(pass, model.lambda() as f32)
            }
        }
    }

    /// Releases what the last pass borrowed from the graph.
    pub fn release(&mut self) {
        self.plain.release();
        self.net.release();
    }

    /// The gradient by all parameters that [`Workspace::backward`] has computed.
    pub fn gradient(&self) -> &[f32] {
        if self.program.is_some() { self.net.gradient() } else { self.plain.gradient() }
    }

    /// Moves running statistics towards those of the last pass.
    pub fn commit(&self, state: &mut [f32]) {
        if let Some(program) = &self.program {
            self.net.commit(program, state);
        }
    }

    /// The outputs of the last forward pass.
    pub fn output(&self) -> &[f32] {
        match &self.program {
            None => self.plain.output(self.last),
            Some(program) => self.net.output(program),
        }
    }

    /// The outputs of the last forward pass, and their width. A loss leaves its gradient by the outputs in their place.
    pub fn outputs_mut(&mut self, model: &Model) -> (&mut [f32], usize) {
        let outputs = match &self.program {
            None => self.plain.output_mut(self.last),
            Some(program) => self.net.output_mut(program),
        };
        (outputs, model.output_width())
    }

    /// After a forward pass: turns the logits into probabilities and returns the cross-entropy of each row under the label of
    /// its node, as listed in `nodes`; NaN for a node without a label.
    pub fn cross_entropies(&mut self, model: &Model, labels: &[i32], nodes: Pick<'_>) -> Result<&[f64]> {
        let (mut log_sums, mut losses) = (std::mem::take(&mut self.log_sums), std::mem::take(&mut self.losses));
        let (logits, classes) = self.outputs_mut(model);
        let rows = logits.len() / classes;
        let resized = try_resize(&mut log_sums, rows).and_then(|()| try_resize(&mut losses, rows)).for_the("losses");
        if resized.is_ok() {
            for (i, (row, loss)) in logits.chunks_exact(classes).zip(&mut losses).enumerate() {
                let y = labels[nodes.at(i)];
                *loss = row.get(y as usize).map_or(f64::NAN, |&z| f64::from(z));
            }
            table().softmax(logits, classes, &mut log_sums);
            losses.iter_mut().zip(&log_sums).for_each(|(loss, log_sum)| *loss = log_sum - *loss);
        }
        (self.log_sums, self.losses) = (log_sums, losses);
        resized.map(|()| &self.losses[..])
    }

    /// After a forward pass: turns the logits into probabilities.
    pub fn softmax(&mut self, model: &Model) -> Result<&[f32]> {
        let mut log_sums = std::mem::take(&mut self.log_sums);
        let (logits, classes) = self.outputs_mut(model);
        let resized = try_resize(&mut log_sums, logits.len() / classes).for_the("losses");
        if resized.is_ok() {
            table().softmax(logits, classes, &mut log_sums);
        }
        self.log_sums = log_sums;
        resized.map(|()| self.output())
    }
}

impl Model {
    fn pass<'a>(
        &'a self,
        program: &'a Program,
        (graph, cut): (&'a Graph, &'a Cut),
        threads: &'a Threads,
        masks: Masks,
        keep: bool,
    ) -> Pass<'a> {
        Pass { program, parameters: &self.parameters, state: &self.state, graph, cut, threads, masks, keep }
    }
}
