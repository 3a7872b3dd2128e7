//! What training records of its epochs.

use crate::error::{Error, Result};

/// A column of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Loss over all training nodes after the epoch.
    TrainLoss = 0,
    /// Loss over the validation nodes.
    ValLoss = 1,
    /// Accuracy over the validation nodes.
    ValAccuracy = 2,
    /// Seconds of the epoch's steps.
    Seconds = 3,
    /// Mean of the epoch's batch losses as estimated.
    BatchLoss = 4,
    /// Mean over the epoch's steps of the adaptive sample size.
    SampleSize = 5,
    /// The last estimate of the gradient's relative error.
    Error = 6,
}

impl TryFrom<i32> for Column {
    type Error = Error;

    fn try_from(value: i32) -> Result<Self> {
        match value {
            0 => Ok(Column::TrainLoss),
            1 => Ok(Column::ValLoss),
            2 => Ok(Column::ValAccuracy),
            3 => Ok(Column::Seconds),
            4 => Ok(Column::BatchLoss),
            5 => Ok(Column::SampleSize),
            6 => Ok(Column::Error),
            _ => Err(Error::InvalidArgument(format!("column = {value} is not a PLIM_HISTORY_ constant"))),
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
}

impl Default for Record {
    fn default() -> Self {
        Record::from_array([f64::NAN; Self::LEN])
    }
}

impl Record {
    /// How many numbers a record has.
    pub const LEN: usize = 7;

    /// In the order of [`Column`].
    pub fn to_array(self) -> [f64; Self::LEN] {
        let Record { train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error } = self;
        [train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error]
    }

    /// From the order of [`Column`].
    pub fn from_array(numbers: [f64; Self::LEN]) -> Self {
        let [train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error] = numbers;
        Record { train_loss, val_loss, val_accuracy, seconds, batch_loss, sample_size, error }
    }
}

/// All epochs so far, and which was best.
#[derive(Default)]
pub struct History {
    records: Vec<Record>,
    best_epoch: usize,
    last_evaluated: usize,
    seconds: f64,
}

impl History {
    /// Completed epochs.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether no epoch is complete.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The first epoch of the highest validation accuracy, from 1; 0 if none was evaluated.
    pub fn best_epoch(&self) -> usize {
        self.best_epoch
    }

    /// The last epoch whose validation accuracy was measured, from 1; 0 if none was.
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
        let best = self.best_epoch.checked_sub(1).map_or(f64::NEG_INFINITY, |e| self.records[e].val_accuracy);
        self.records.try_reserve(1)?;
        self.records.push(record);
        self.seconds += record.seconds;
        if !record.val_accuracy.is_nan() {
            self.last_evaluated = self.records.len();
        }
        let better = record.val_accuracy > best;
        if better {
            self.best_epoch = self.records.len();
        }
        Ok(better)
    }
}
