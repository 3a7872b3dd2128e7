//! Prediction, hidden representations and evaluation: exact passes, no draws.

use super::{Model, Workspace};
use crate::error::{Error, Result};
use crate::graph::{Graph, Split};
use crate::sample::{Distribution, Draws, Layer};

impl Model {
    /// Class probabilities of `nodes` (`None`: all), a row per node, handed to `take`.
    pub fn predict<R>(&self, graph: &Graph, nodes: Option<&[i32]>, take: impl FnOnce(&[f32]) -> R) -> Result<R> {
        self.exact_pass(graph, nodes, self.num_layers() - 1, |workspace| {
            let probabilities = workspace.softmax(self)?;
            check_finite(probabilities)?;
            Ok(take(probabilities))
        })
    }

    /// H^(layer+1) of `nodes` (`None`: all), a row per node, handed to `take`; of the last layer the logits.
    pub fn embed<R>(
        &self,
        graph: &Graph,
        nodes: Option<&[i32]>,
        layer: usize,
        take: impl FnOnce(&[f32]) -> R,
    ) -> Result<R> {
        self.check_layer(layer)?;
        self.exact_pass(graph, nodes, layer, |workspace| {
            check_finite(workspace.output(layer))?;
            Ok(take(workspace.output(layer)))
        })
    }

    /// Checks that there is a layer of this number.
    pub fn check_layer(&self, layer: usize) -> Result<()> {
        if layer >= self.num_layers() {
            let text = format!("layer = {layer}, but the model has {} layers", self.num_layers());
            return Err(Error::InvalidArgument(text));
        }
        Ok(())
    }

    /// Mean cross-entropy without λ, and accuracy, over a split. The first of equal logits is the prediction.
    pub fn evaluate(&self, graph: &Graph, split: Split) -> Result<(f64, f64)> {
        self.check_features(graph)?;
        self.check_classes(graph)?;
        let (nodes, labels) = (graph.labelled_split(split)?, graph.labels()?);
        let classes = self.widths[self.num_layers()];
        self.exact_pass(graph, Some(nodes), self.num_layers() - 1, |workspace| {
            let of_nodes = nodes.iter().map(|&v| labels[v as usize]);
            let rows = workspace.output(self.num_layers() - 1).chunks_exact(classes);
            let hits = rows.zip(of_nodes.clone()).filter(|&(row, y)| first_max(row) == y as usize).count();
            let loss = workspace.cross_entropy(self, of_nodes)?;
            if !loss.is_finite() {
                return Err(Error::Diverged(format!("the loss is {loss}")));
            }
            Ok((loss, hits as f64 / nodes.len() as f64))
        })
    }

    /// Runs the layers `0 ..= last` for `nodes` alone, reading only their neighbourhood, or for all nodes.
    fn exact_pass<R>(
        &self,
        graph: &Graph,
        nodes: Option<&[i32]>,
        last: usize,
        work: impl FnOnce(&mut Workspace) -> Result<R>,
    ) -> Result<R> {
        self.check_features(graph)?;
        if let Some(nodes) = nodes {
            graph.check_nodes(nodes, "nodes")?;
        }
        let threads = self.threads()?;
        self.workspaces.with(|workspace| {
            match nodes {
                None => workspace.chain.whole(graph),
                Some(nodes) => {
                    let none = Draws { distribution: &Distribution::Uniform, seed: 0, step: 0 };
                    let Workspace { chain, sampler, .. } = workspace;
                    chain.cut(graph, nodes, last + 1, |_| Layer::Exact, &none, sampler)?;
                }
            }
            let result = workspace.forward(self, graph, &threads, last, nodes.is_none());
            let result = result.and_then(|()| work(workspace));
            workspace.release();
            result
        })
    }
}

fn first_max(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, j| if row[j] > row[best] { j } else { best })
}

fn check_finite(values: &[f32]) -> Result<()> {
    match values.iter().find(|v| !v.is_finite()) {
        None => Ok(()),
        Some(v) => Err(Error::Diverged(format!("the model's output has an entry {v}"))),
    }
}
