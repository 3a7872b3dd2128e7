//! What training records of its epochs.

use crate::error::Result;

/// A column of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Loss over all training nodes after the epoch.
    TrainLoss,
    /// Loss over the validation nodes.
    ValLoss,
    /// Accuracy over the validation nodes.
    ValAccuracy,
    /// Seconds of the epoch's steps.
    Seconds,
    /// Mean of the epoch's batch losses as estimated.
    BatchLoss,
    /// Mean over the epoch's steps of the adaptive sample size.
    SampleSize,
    /// The last estimate of the gradient's relative error.
    Error,
    /// NDCG over the validation queries.
    ValNdcg,
}

/// What the best epoch is chosen by: for restoring it and for running out of patience.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Monitor {
    /// The highest accuracy over the validation nodes.
    #[default]
    ValAccuracy,
    /// The lowest loss over the validation nodes.
    ValLoss,
    /// The lowest loss over all training nodes.
    TrainLoss,
    /// The highest NDCG over the validation queries.
    ValNdcg,
}

impl Monitor {
    /// Its name in checkpoints and messages.
    pub fn name(self) -> &'static str {
        match self {
            Monitor::ValAccuracy => "validation accuracy",
            Monitor::ValLoss => "validation loss",
            Monitor::TrainLoss => "training loss",
            Monitor::ValNdcg => "validation NDCG",
        }
    }

    /// Whether it looks at the validation nodes.
    pub fn needs_validation(self) -> bool {
        self != Monitor::TrainLoss
    }

    /// Its number in a record, negated where higher is better; NaN if that was not evaluated.
    pub fn cost_of(self, record: &Record) -> f64 {
        let value = self.of(record);
        if self.better(1.0, 0.0) { -value } else { value }
    }

    /// Its number in a record; NaN if that was not evaluated.
    fn of(self, record: &Record) -> f64 {
        match self {
            Monitor::ValAccuracy => record.val_accuracy,
            Monitor::ValLoss => record.val_loss,
            Monitor::TrainLoss => record.train_loss,
            Monitor::ValNdcg => record.val_ndcg,
        }
    }

    /// Whether one number is better than another; NaN never is, and an equal one is not.
    fn better(self, value: f64, than: f64) -> bool {
        match self {
            Monitor::ValAccuracy | Monitor::ValNdcg => value > than,
            Monitor::ValLoss | Monitor::TrainLoss => value < than,
        }
    }
}

/// One epoch; NaN where it was not evaluated, or its sample size not adaptive.
#[derive(Clone, Copy)]
pub struct Record {
    pub train_loss: f64,
    pub val_loss: f64,
    pub val_accuracy: f64,
    pub seconds: f64,
    pub batch_loss: f64,
    pub sample_size: f64,
    pub error: f64,
    pub val_ndcg: f64,
}

impl Default for Record {
    fn default() -> Self {
        Record::from_array([f64::NAN; Self::LEN])
    }
}

impl Record {
    /// How many numbers a record has.
    pub const LEN: usize = 8;

    /// In the order of [`Column`].
    pub fn to_array(self) -> [f64; Self::LEN] {
        let Record { train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error, val_ndcg } = self;
        [train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error, val_ndcg]
    }

    /// From the order of [`Column`].
    pub fn from_array(numbers: [f64; Self::LEN]) -> Self {
        let [train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error, val_ndcg] = numbers;
        Record { train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error, val_ndcg }
    }
}

/// All epochs so far, and which was best.
#[derive(Default)]
pub struct History {
    records: Vec<Record>,
    monitor: Monitor,
    best_epoch: usize,
    last_evaluated: usize,
    seconds: f64,
}

impl History {
    /// No epochs yet.
    pub fn new(monitor: Monitor) -> Self {
        History { monitor, ..History::default() }
    }

    /// Completed epochs.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no epoch is complete.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The first of the epochs that the monitor finds best, from 1; 0 if none was evaluated.
    pub fn best_epoch(&self) -> usize {
        self.best_epoch
    }

    /// What the monitor saw in the best epoch; NaN if there is none.
    pub fn best(&self) -> f64 {
        self.best_epoch.checked_sub(1).map_or(f64::NAN, |e| self.monitor.of(&self.records[e]))
    }

    /// The last epoch in which the monitor had something to see, from 1; 0 if there is none.
    pub fn last_evaluated(&self) -> usize {
        self.last_evaluated
    }

    /// One number per epoch.
    pub fn column(&self, column: Column) -> impl Iterator<Item = f64> + '_ {
        self.records.iter().map(move |record| record.to_array()[column as usize])
    }

    /// Seconds of all steps.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The epochs, for a checkpoint.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds an epoch; `true` if it is the best so far.
    pub fn push(&mut self, record: Record) -> Result<bool> {
        let (best, value) = (self.best(), self.monitor.of(&record));
        crate::error::try_reserve(&mut self.records, 1, "history")?;
        self.records.push(record);
        self.seconds += record.seconds;
        if !value.is_nan() {
            self.last_evaluated = self.records.len();
        }
        let better = !value.is_nan() && (best.is_nan() || self.monitor.better(value, best));
        if better {
            self.best_epoch = self.records.len();
        }
        Ok(better)
    }
}
