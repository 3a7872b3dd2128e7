//! What a run tells of itself. Words are made only where somebody wants them.

use super::Run;
use super::adaptive::Test;
use super::history::Record;
use crate::error::Result;
use crate::graph::Split;
use crate::kernel;
use crate::log::Level;

impl Run<'_> {
    /// Makes a message and sends it, if it is wanted.
    pub(super) fn log(&mut self, level: Level, message: impl FnOnce(&Self) -> String) {
        if self.observer.wants(level) {
            let message = message(self);
            self.observer.log(self.model, level, &message);
        }
    }

    pub(super) fn log_beginning(&mut self) -> Result<()> {
        let threads = self.model.threads()?.count();
        self.log(Level::Info, |run| {
            let (nodes, edges) = (run.graph.num_nodes(), run.graph.num_edges());
            let (features, classes) = (run.graph.num_features(), run.graph.num_classes());
            let (train, val) = (run.order.len(), run.graph.split(Split::Val).len());
            format!(
                "training on {nodes} nodes, {edges} edges, {features} features and {classes} classes: {train} training \
                 and {val} validation nodes"
            )
        });
        self.log(Level::Info, |run| {
            let (widths, parameters) = (run.model.widths(), run.model.parameters().len());
            let (rule, epochs, steps) = (run.optimizer.rule_name(), run.options.epochs, run.num_steps());
            let estimator = match run.estimator.sizes() {
                [] if run.estimator.is_full() => "full".to_string(),
                [] => "unbiased".to_string(),
                sizes => format!("consistent {sizes:?}"),
            };
            format!(
                "widths {widths:?}, {parameters} parameters; {estimator} estimator, {rule}, {epochs} epochs of {steps} \
                 steps; threads {threads}, isa {}",
                kernel::table().name
            )
        });
        self.log_aggregation();
        Ok(())
    }

    /// Tells once what has become of ÂX.
    pub(super) fn log_aggregation(&mut self) {
        if !self.told_of_aggregation
            && let Some((level, message)) = self.graph.aggregation()
        {
            self.told_of_aggregation = true;
            self.log(level, |_| message);
        }
    }

    pub(super) fn log_test(&mut self, test: &Test, place: impl Fn() -> String) {
        let &Test { from, to, error, delta, falls_short } = test;
        if from != to {
            self.log(Level::Debug, |_| {
                format!("{}: sample size {from} becomes {to}; the gradient's error is about {error:.3}", place())
            });
        }
        if falls_short && !self.told_of_largest {
            self.told_of_largest = true;
            self.log(Level::Warning, |_| {
                format!(
                    "{}: the gradient's error is about {error:.3}, not under {delta}, at the largest size {to}",
                    place()
                )
            });
        }
    }

    pub(super) fn log_epoch(&mut self, epoch: usize, record: &Record) {
        let &Record { train_loss, val_loss, val_accuracy, seconds, batch_loss, .. } = record;
        self.log(Level::Debug, |run| {
            let mut message = format!("epoch {epoch} of {}: batch loss {batch_loss:.6}", run.options.epochs);
            let measured =
                [("training loss", train_loss), ("validation loss", val_loss), ("validation accuracy", val_accuracy)];
            for (name, value) in measured.into_iter().filter(|(_, value)| !value.is_nan()) {
                message += &format!(", {name} {value:.6}");
            }
            message + &format!(", {seconds:.6} seconds")
        });
    }
}
