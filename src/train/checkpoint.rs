//! Checkpoints: all that a run needs to go on and end in the same bits.
//!
//! A file is the magic number, the length of what follows, a safetensors archive (vectors as tensors, counters and
//! identity as JSON in its metadata) and a CRC-32 of everything before it. It is written whole or not at all.

use super::history::{History, Record};
use super::{Options, Run};
use crate::error::{Error, Result, try_with_capacity};
use crate::file;
use crate::optim::{Parts, State};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

const MAGIC: &[u8; 8] = b"PLIMCKP4";
const KEY: &str = "plimsoll.checkpoint";

impl Run<'_> {
    /// Writes where the run is, after an epoch.
    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        let parts = self.optimizer.state().parts();
        let floats = [
            ("parameters", Some(self.model.parameters())),
            ("best", self.best.as_deref()),
            ("first_moments", Some(parts.first)),
            ("second_moments", Some(parts.second)),
        ];
        let mut tensors: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = Vec::new();
        for (name, values) in floats {
            if let Some(values) = values {
                tensors.push((name, Dtype::F32, vec![values.len()], bytes_of(values, f32::to_le_bytes)?));
            }
        }
        let records: Vec<f64> = self.history.records().iter().flat_map(|record| record.to_array()).collect();
        let doubles = [("average", parts.average), ("history", &records)];
        for (name, values) in doubles {
            tensors.push((name, Dtype::F64, vec![values.len()], bytes_of(values, f64::to_le_bytes)?));
        }
        let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            view.map(|view| (*name, view)).map_err(|e| Error::Internal(e.to_string()))
        });
        let about = json!({
            "identity": self.identity(),
            "updates": parts.k,
            "averaged": parts.averaged,
            "gradients": self.estimator.step(),
            "sample size": self.estimator.size(),
        });
        let metadata = HashMap::from([(KEY.to_string(), about.to_string())]);
        let payload = safetensors::serialize(views.collect::<Result<Vec<_>>>()?, Some(metadata))
            .map_err(|e| Error::Internal(e.to_string()))?;
        let length = (payload.len() as u64).to_le_bytes();
        let mut checksum = crc32fast::Hasher::new();
        [&MAGIC[..], &length, &payload].iter().for_each(|part| checksum.update(part));
        let checksum = checksum.finalize().to_le_bytes();
        file::write_atomically(path, |w| {
            let all = [&MAGIC[..], &length, &payload, &checksum];
            all.iter().try_for_each(|part| w.write_all(part)).map_err(|e| Error::Io(e.to_string()))
        })
    }

    /// Goes on from a checkpoint; `false` if there is no such file. Nothing changes on an error.
    pub fn resume(&mut self, path: &Path) -> Result<bool> {
        if !path.try_exists().map_err(|e| file::io_error(path, &e))? {
            return Ok(false);
        }
        let bytes = file::read(path)?;
        let payload = payload_of(&bytes).map_err(|e| e.in_file(path))?;
        let (about, tensors) = parse(payload).map_err(|e| e.in_file(path))?;
        compare(&about["identity"], &self.identity()).map_err(|text| {
            Error::ShapeMismatch(format!("{}: the checkpoint is of another run: {text}", path.display()))
        })?;
        self.restore(&about, &tensors).map_err(|e| e.in_file(path))?;
        Ok(true)
    }

    fn restore(&mut self, about: &Value, tensors: &SafeTensors<'_>) -> Result<()> {
        let len = self.model.parameters().len();
        let parameters = floats(tensors, "parameters", &[len])?.unwrap_or_default();
        let best = floats(tensors, "best", &[len])?;
        let first = floats(tensors, "first_moments", &[0, len])?.unwrap_or_default();
        let second = floats(tensors, "second_moments", &[first.len()])?.unwrap_or_default();
        let average = doubles(tensors, "average")?;
        let records = doubles(tensors, "history")?;
        let count = |name: &str| about[name].as_u64().ok_or_else(|| Error::BadFormat(format!("there is no {name}")));
        if !(average.is_empty() || average.len() == len) || !records.len().is_multiple_of(Record::LEN) {
            return Err(Error::BadFormat("average or history has a wrong length".to_string()));
        }
        let parts = Parts {
            k: count("updates")?,
            averaged: count("averaged")?,
            first: &first,
            second: &second,
            average: &average,
        };
        let state = State::from_parts(&parts, len)?;
        let gradients = count("gradients")?;
        let size = about["sample size"].as_u64().and_then(|size| usize::try_from(size).ok());
        let mut history = History::new(self.options.monitor);
        for record in records.as_chunks::<{ Record::LEN }>().0 {
            history.push(Record::from_array(*record))?;
        }
        self.model.set_parameters(&parameters)?;
        self.optimizer.set_state(state);
        self.estimator.set_step(gradients);
        if let Some(sizes) = &mut self.sizes {
            self.estimator.set_size(size.unwrap_or(sizes.options.smallest));
            sizes.error = history.records().last().map_or(f64::NAN, |record| record.error);
        }
        self.history = history;
        self.best = best;
        Ok(())
    }

    /// What a checkpoint must share with the run that goes on from it.
    fn identity(&self) -> Value {
        let Options { batch_size, seed, monitor, adaptive, .. } = self.options;
        let mut identity = json!({
            format!("training {}", self.problem.items_name()): self.order.len(),
            "widths": self.model.widths(),
            "estimator": self.described,
            "optimizer": self.optimizer.rule_name(),
            "batch size": batch_size,
            "seed": seed,
            // The parameters kept are those of the epoch that this found best.
            "monitor": monitor.name(),
            "adaptive sampling": adaptive.map(|adaptive| format!("{adaptive:?}")),
        });
        self.problem.sizes().into_iter().for_each(|(name, size)| identity[name] = json!(size));
        identity
    }
}

fn payload_of(bytes: &[u8]) -> Result<&[u8]> {
    let bad = |text: &str| Error::BadFormat(format!("not a checkpoint: {text}"));
    let (head, rest) = bytes.split_at_checked(16).ok_or_else(|| bad("too short"))?;
    if &head[..8] != MAGIC {
        return Err(bad("another magic number"));
    }
    let (payload, checksum) = rest.split_last_chunk::<4>().ok_or_else(|| bad("too short"))?;
    if head[8..] != (payload.len() as u64).to_le_bytes() {
        return Err(bad("cut short or too long"));
    }
    if crc32fast::hash(&bytes[..bytes.len() - 4]).to_le_bytes() != *checksum {
        return Err(bad("the checksum does not fit"));
    }
    Ok(payload)
}

fn parse(payload: &[u8]) -> Result<(Value, SafeTensors<'_>)> {
    let bad = |e: &dyn std::fmt::Display| Error::BadFormat(format!("not a checkpoint: {e}"));
    let (_, header) = SafeTensors::read_metadata(payload).map_err(|e| bad(&e))?;
    let about = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY)).ok_or_else(|| bad(&"no metadata"))?;
    Ok((serde_json::from_str(about).map_err(|e| bad(&e))?, SafeTensors::deserialize(payload).map_err(|e| bad(&e))?))
}

fn compare(found: &Value, wanted: &Value) -> std::result::Result<(), String> {
    let differs = wanted.as_object().into_iter().flatten().find(|(key, value)| found[key.as_str()] != **value);
    match differs {
        None => Ok(()),
        Some((key, value)) => Err(format!("its {key} is {}, not {value}", found[key.as_str()])),
    }
}

fn floats(tensors: &SafeTensors<'_>, name: &str, lengths: &[usize]) -> Result<Option<Vec<f32>>> {
    let Ok(tensor) = tensors.tensor(name) else { return Ok(None) };
    let values: Vec<f32> = tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    if tensor.dtype() != Dtype::F32 || !lengths.contains(&values.len()) {
        return Err(Error::BadFormat(format!("{name} has a wrong type or length")));
    }
    Ok(Some(values))
}

fn doubles(tensors: &SafeTensors<'_>, name: &str) -> Result<Vec<f64>> {
    match tensors.tensor(name) {
        Ok(tensor) if tensor.dtype() == Dtype::F64 => {
            Ok(tensor.data().as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
        }
        _ => Err(Error::BadFormat(format!("there is no {name} of doubles"))),
    }
}

fn bytes_of<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Result<Vec<u8>> {
    let mut bytes = try_with_capacity(N * values.len())?;
    values.iter().for_each(|&value| bytes.extend_from_slice(&to_bytes(value)));
    Ok(bytes)
}
