//! Prediction, hidden representations and evaluation: exact passes, no draws.

use super::{Model, Room, Workspace};
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::graph::{Graph, Split};
use crate::kernel::Pick;
use crate::nn::Masks;
use crate::sample::{Draws, Key};

impl Model {
    /// Passes the class probabilities of `nodes` (`None`: all), a row per node, to `take`.
    pub fn predict<R>(&self, graph: &Graph, nodes: Option<&[i32]>, take: impl FnOnce(&[f32]) -> R) -> Result<R> {
        self.exact_pass(graph, nodes, self.net.layers().last(), |workspace| {
            let probabilities = workspace.softmax(self)?;
            check_finite(probabilities)?;
            Ok(take(probabilities))
        })
    }

    /// Passes H^(layer+1) of `nodes` (`None`: all), a row per node, to `take`; for the last layer the logits.
    pub fn embed<R>(
        &self,
        graph: &Graph,
        nodes: Option<&[i32]>,
        layer: usize,
        take: impl FnOnce(&[f32]) -> R,
    ) -> Result<R> {
        self.check_layer(layer)?;
        self.exact_pass(graph, nodes, self.value_of_layer(layer), |workspace| {
            check_finite(workspace.output())?;
            Ok(take(workspace.output()))
        })
    }

    /// Passes the outputs of `nodes` (`None`: all) before any softmax, a row per node, to `take`.
    pub fn outputs<R>(&self, graph: &Graph, nodes: Option<&[i32]>, take: impl FnOnce(&[f32]) -> R) -> Result<R> {
        self.exact_pass(graph, nodes, self.net.layers().last(), |workspace| {
            check_finite(workspace.output())?;
            Ok(take(workspace.output()))
        })
    }

    /// Passes a value of `nodes` (`None`: all), a row per node, to `take`; value 0 is the features.
    pub fn embed_value<R>(
        &self,
        graph: &Graph,
        nodes: Option<&[i32]>,
        value: usize,
        take: impl FnOnce(&[f32]) -> R,
    ) -> Result<R> {
        self.value_width(value)?;
        self.exact_pass(graph, nodes, value, |workspace| {
            check_finite(workspace.output())?;
            Ok(take(workspace.output()))
        })
    }

    /// The columns of all values.
    pub fn value_widths(&self) -> Result<Vec<usize>> {
        let values = self.net.layers().values();
        let mut widths = try_with_capacity(values.len())?;
        widths.extend(values.iter().map(|value| value.width));
        Ok(widths)
    }

    /// The columns of a value.
    pub fn value_width(&self, value: usize) -> Result<usize> {
        let values = self.net.layers().values();
        let largest = values.len() - 1;
        let missing = || Error::InvalidArgument(format!("value = {value}, but the model's largest value is {largest}"));
        values.get(value).map(|value| value.width).ok_or_else(missing)
    }

    /// Checks that the paper's model has a layer with this number.
    pub fn check_layer(&self, layer: usize) -> Result<()> {
        self.widths()?;
        if layer >= self.num_layers() {
            let text = format!("layer = {layer}, but the model has {} layers", self.num_layers());
            return Err(Error::InvalidArgument(text));
        }
        Ok(())
    }

    /// The value of the paper's model that is H^(layer+1): the rectified one, which stands after each layer but the last.
    fn value_of_layer(&self, layer: usize) -> usize {
        (2 * layer + 2).min(self.net.layers().last())
    }

    /// Mean cross-entropy without λ, and accuracy, over a split. The first of equal logits is the prediction.
    pub fn evaluate(&self, graph: &Graph, split: Split) -> Result<(f64, f64)> {
        Ok(self.evaluate_splits(graph, &[split])?[0])
    }

    /// The same over several splits in one pass.
    pub fn evaluate_splits(&self, graph: &Graph, splits: &[Split]) -> Result<Vec<(f64, f64)>> {
        let labels = graph.labels()?;
        self.labelled_pass(graph, splits, |workspace, nodes, whole| {
            let row_of = |i: usize| if whole { nodes[i] as usize } else { i };
            let is_hit = |i: usize| self.prediction(workspace, row_of(i)) == labels[nodes[i] as usize] as usize;
            let mut hits = Vec::with_capacity(splits.len());
            let mut ranges = Vec::with_capacity(splits.len());
            for &split in splits {
                let start = ranges.last().map_or(0, |range: &std::ops::Range<usize>| range.end);
                ranges.push(start..start + graph.split(split).len());
                hits.push(ranges[ranges.len() - 1].clone().filter(|&i| is_hit(i)).count());
            }
            let rows = if whole { Pick::From(0) } else { Pick::List(nodes) };
            let losses = workspace.cross_entropies(self, labels, rows)?;
            let measure = |(range, hits): (std::ops::Range<usize>, usize)| {
                let count = range.len() as f64;
                let loss = range.map(|i| losses[row_of(i)]).sum::<f64>() / count;
                match loss.is_finite() {
                    true => Ok((loss, hits as f64 / count)),
                    false => Err(Error::Diverged(format!("the loss is {loss}"))),
                }
            };
            ranges.into_iter().zip(hits).map(measure).collect()
        })
    }

    /// The confusion matrix, row-major: a row for each class as labelled, a column for each class as predicted, as many of both
    /// as the model has outputs.
    pub fn confusion(&self, graph: &Graph, split: Split) -> Result<Vec<usize>> {
        let classes = self.output_width();
        let labels = graph.labels()?;
        self.labelled_pass(graph, &[split], |workspace, nodes, whole| {
            let mut matrix = try_filled(classes.saturating_mul(classes), 0)?;
            for (i, &v) in nodes.iter().enumerate() {
                let row = if whole { v as usize } else { i };
                check_finite(self.logits(workspace, row))?;
                matrix[labels[v as usize] as usize * classes + self.prediction(workspace, row)] += 1;
            }
            Ok(matrix)
        })
    }

    fn logits<'a>(&self, workspace: &'a Workspace, row: usize) -> &'a [f32] {
        let classes = self.output_width();
        &workspace.output()[row * classes..][..classes]
    }

    /// The class of a row of the last layer: the first of equal logits.
    fn prediction(&self, workspace: &Workspace, row: usize) -> usize {
        let row = self.logits(workspace, row);
        (1..row.len()).fold(0, |best, j| if row[j] > row[best] { j } else { best })
    }

    /// Runs all layers for the nodes of some splits, which must be labelled. `work` receives the nodes, and whether there is a row
    /// for each node of the graph rather than for each of them.
    fn labelled_pass<R>(
        &self,
        graph: &Graph,
        splits: &[Split],
        work: impl FnOnce(&mut Workspace, &[i32], bool) -> Result<R>,
    ) -> Result<R> {
        self.check_features(graph)?;
        self.check_classes(graph)?;
        let mut nodes = Vec::new();
        for &split in splits {
            let more = graph.labelled_split(split)?;
            crate::error::try_reserve(&mut nodes, more.len(), "nodes")?;
            nodes.extend_from_slice(more);
        }
        // For most nodes a pass over all is cheaper than finding out which are needed. The bits are the same.
        let whole = 2 * nodes.len() >= graph.num_nodes();
        let nodes_or_all = (!whole).then_some(&nodes[..]);
        self.exact_pass(graph, nodes_or_all, self.net.layers().last(), |workspace| work(workspace, &nodes, whole))
    }

    /// Computes a value for `nodes` alone, reading only their neighbourhood, or for all nodes.
    fn exact_pass<R>(
        &self,
        graph: &Graph,
        nodes: Option<&[i32]>,
        value: usize,
        work: impl FnOnce(&mut Workspace) -> Result<R>,
    ) -> Result<R> {
        self.check_features(graph)?;
        if let Some(nodes) = nodes {
            graph.check_nodes(nodes, "nodes")?;
        }
        let threads = self.threads()?;
        let by_levels = if nodes.is_none() { self.room(graph) } else { None };
        let program = self.exact_program(graph, value, (nodes.is_none(), by_levels.is_some()))?;
        self.rooms.with(|room| {
            let Room { cut, sampler, workspace } = room;
            match nodes {
                None => cut.whole(graph, program.levels),
                Some(nodes) => program.cut(cut, (graph, nodes), (Draws::NONE, Key::default()), sampler)?,
            }
            let result = match by_levels {
                Some(room) => workspace.forward_by_levels(self, &program, (graph, cut), &threads, room),
                None => workspace.forward(self, &program, (graph, cut), &threads, (Masks::default(), nodes.is_none())),
            };
            let result = result.and_then(|()| work(workspace));
            workspace.release();
            result
        })
    }
}

fn check_finite(values: &[f32]) -> Result<()> {
    match values.iter().find(|v| !v.is_finite()) {
        None => Ok(()),
        Some(v) => Err(Error::Diverged(format!("the model's output has an entry {v}"))),
    }
}
