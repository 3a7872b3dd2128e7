//! The buffers of a pass, and the losses of its outputs.

use super::Model;
use crate::error::{Error, ForThe, Result, try_resize};
use crate::graph::Graph;
use crate::kernel::{Pick, Threads, table};
use crate::nn::{self, Masks, Pass, Program, Room};
use crate::sample::Cut;
use std::sync::Arc;

/// Everything a pass needs beside the model, the graph and the cut.
#[derive(Default)]
pub struct Workspace {
    net: nn::Workspace,
    /// What the last pass ran.
    program: Option<Arc<Program>>,
    log_sums: Vec<f64>,
    losses: Vec<f64>,
}

impl Workspace {
    /// What the last pass ran.
    pub fn program(&self) -> Option<&Arc<Program>> {
        self.program.as_ref()
    }

    /// Bytes of the large buffers.
    pub fn bytes(&self) -> usize {
        self.net.bytes()
    }

    /// Computes a program over a cut. In a program without gradients, a node's output has the same bits whichever other nodes are
    /// computed with it. [`Workspace::release`] must follow, also on failure.
    pub fn forward(
        &mut self,
        model: &Model,
        program: &Arc<Program>,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        (masks, keep): (Masks, bool),
    ) -> Result<()> {
        self.keep_program(program);
        self.net.forward(model.pass(program, (graph, cut), threads, masks, keep))
    }

    /// The same for all nodes, level by level. A cut of all nodes is at hand.
    pub fn forward_by_levels(
        &mut self,
        model: &Model,
        program: &Arc<Program>,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        room: Room<'_>,
    ) -> Result<()> {
        self.keep_program(program);
        self.net.forward_by_levels(model.pass(program, (graph, cut), threads, Masks::default(), true), room)
    }

    fn keep_program(&mut self, program: &Arc<Program>) {
        if self.program.as_ref().is_none_or(|last| last.id != program.id) {
            self.program = Some(Arc::clone(program));
        }
    }

    /// From the gradient by the outputs, in their place, to the gradient by all parameters of the loss + λ/2 ‖w‖². Requires
    /// [`Workspace::forward`] with the same arguments.
    pub fn backward(
        &mut self,
        model: &Model,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        masks: Masks,
    ) -> Result<()> {
        let program = self.program.as_ref().ok_or_else(no_pass)?;
        let pass = model.pass(program, (graph, cut), threads, masks, true);
        self.net.backward(pass, model.lambda() as f32)
    }

    /// Releases what the last pass borrowed from the graph.
    pub fn release(&mut self) {
        self.net.release();
    }

    /// The gradient by all parameters that [`Workspace::backward`] has computed.
    pub fn gradient(&self) -> &[f32] {
        self.net.gradient()
    }

    /// Moves running statistics towards those of the last pass.
    pub fn commit(&self, state: &mut [f32]) {
        if let Some(program) = &self.program {
            self.net.commit(program, state);
        }
    }

    /// The outputs of the last forward pass.
    pub fn output(&self) -> &[f32] {
        self.program.as_ref().map_or(&[], |program| self.net.output(program))
    }

    /// The outputs of the last forward pass, and their width. A loss leaves its gradient by the outputs in their place.
    pub fn outputs_mut(&mut self, model: &Model) -> (&mut [f32], usize) {
        let outputs = self.program.as_ref().map_or(&mut [][..], |program| self.net.output_mut(program));
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

fn no_pass() -> Error {
    Error::Internal("a gradient without a forward pass".to_string())
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
