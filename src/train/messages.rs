//! What a run tells of itself. Words are made only where somebody wants them.

use super::Run;
use super::adaptive::Test;
use super::history::Record;
use crate::error::Result;
use crate::graph::Split;
use crate::kernel;
use crate::log::Level;
use std::path::Path;

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
            let sizes: Vec<_> = run.problem.sizes().iter().map(|(name, size)| format!("{size} {name}")).collect();
            let (last, others) = sizes.split_last().expect("a problem has sizes");
            let val =
                if run.problem.has(Split::Val) { run.problem.items(Split::Val).map_or(0, <[i32]>::len) } else { 0 };
            let (train, items) = (run.items.len(), run.problem.items_name());
            format!("training on {} and {last}: {train} training and {val} validation {items}", others.join(", "))
        });
        self.log(Level::Info, |run| {
            let parameters = run.model.parameters().len();
            let layers = match run.model.widths() {
                Ok(widths) => format!("widths {widths:?}"),
                Err(_) => run.model.net().layers().to_string(),
            };
            let (rule, epochs, steps) = (run.optimizer.rule_name(), run.options.epochs, run.num_steps());
            let estimator = match run.estimator.sizes() {
                [] => run.estimator.kind().name().to_string(),
                sizes => format!("{} {sizes:?}", run.estimator.kind().name()),
            };
            format!(
                "{layers}, {parameters} parameters; {estimator} estimator, {rule}, {epochs} epochs of {steps} \
                 steps; threads {threads}, isa {}",
                kernel::table().name
            )
        });
        self.log_news();
        Ok(())
    }

    /// Tells whether a checkpoint was found, and whether it leaves anything to do. Epochs are counted in all, not from the
    /// checkpoint on: a caller who means "three more" would otherwise not learn that none was trained.
    pub(super) fn log_resumption(&mut self, path: &Path, found: bool) {
        self.log(Level::Info, |run| match found {
            true => format!("resumed from {} after epoch {}", path.display(), run.history.len()),
            false => format!("there is no checkpoint {}: starting afresh", path.display()),
        });
        let (done, epochs) = (self.history.len(), self.options.epochs);
        // A finished run that is started again has its epochs; a run with more of them has been asked for something else.
        let level = if done == epochs { Level::Info } else { Level::Warning };
        if done >= epochs {
            self.log(level, |_| {
                format!(
                    "nothing is left to do: {} is of epoch {done}, and training ends after epochs = {epochs}",
                    path.display()
                )
            });
        }
    }

    /// Tells once what has become of the first layer's input.
    pub(super) fn log_news(&mut self) {
        if !self.told_of_news
            && let Some((level, message)) = self.problem.input_message()
        {
            self.told_of_news = true;
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
        let &Record { train_loss, val_loss, val_accuracy, val_ndcg, seconds, batch_loss, .. } = record;
        self.log(Level::Debug, |run| {
            let mut message = format!("epoch {epoch} of {}: batch loss {batch_loss:.6}", run.options.epochs);
            let measured = [
                ("training loss", train_loss),
                ("validation loss", val_loss),
                ("validation accuracy", val_accuracy),
                ("validation NDCG", val_ndcg),
            ];
            for (name, value) in measured.into_iter().filter(|(_, value)| !value.is_nan()) {
                message += &format!(", {name} {value:.6}");
            }
            message + &format!(", {seconds:.6} seconds")
        });
    }
}
