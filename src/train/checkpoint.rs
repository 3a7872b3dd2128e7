//! Checkpoints: all that a run needs to go on and end in the same bits.
//!
//! A file is the magic number, the length of what follows, a safetensors archive (vectors as tensors, counters and
//! identity as JSON in its metadata) and a CRC-32 of everything before it. It is written whole or not at all.

use super::history::{History, Record};
use super::{Options, Run};
use crate::error::{Error, ForThe, Result, try_with_capacity};
use crate::file;
use crate::optim::{Parts, Reports, State};
use crate::tensors::{self, Tensor};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

const MAGIC: &[u8; 8] = b"PLIMCKP5";
const KEY: &str = "plimsoll.checkpoint";
/// Updates and gradients beyond this are no count: a double would not tell them apart.
const MOST: u64 = 1 << 53;

impl Run<'_> {
    /// Writes where the run is, after an epoch.
    pub fn checkpoint(&self, path: &Path) -> Result<()> {
        let parts = self.optimizer.state().parts();
        let floats = [
            ("parameters", Some(self.model.parameters())),
            ("running_statistics", Some(self.model.state())),
            ("best", self.best.as_deref()),
            ("first_moments", Some(parts.first)),
            ("second_moments", Some(parts.second)),
        ];
        let mut tensors = Vec::new();
        let mut add = |name: &str, dtype, len, bytes| {
            tensors.push(Tensor { name: name.to_string(), dtype, shape: vec![len], bytes });
        };
        for (name, values) in floats {
            if let Some(values) = values {
                add(name, Dtype::F32, values.len(), bytes_of(values, f32::to_le_bytes)?);
            }
        }
        let mut records = try_with_capacity(Record::LEN * self.history.len()).for_the("checkpoint")?;
        records.extend(self.history.records().iter().flat_map(|record| record.to_array()));
        // As doubles, because JSON would not keep their bits.
        let scalars = [parts.ratio, parts.reports.best, parts.reports.scale];
        let doubles =
            [("average", parts.average), ("ema", parts.ema), ("optimizer", &scalars[..]), ("history", &records[..])];
        for (name, values) in doubles {
            add(name, Dtype::F64, values.len(), bytes_of(values, f64::to_le_bytes)?);
        }
        let about = json!({
            "identity": Value::Object(self.identity().map(|share| (share.key, share.value)).collect()),
            "updates": parts.k,
            "averaged": parts.averaged,
            "epochs": parts.epochs,
            "bad reports": parts.reports.bad,
            "gradients": self.estimator.step(),
            "sample size": self.estimator.size(),
        });
        let head = tensors::head(&mut tensors, (KEY, about.to_string()))?;
        let length = head.len() + tensors.iter().map(|tensor| tensor.bytes.len()).sum::<usize>();
        let length = (length as u64).to_le_bytes();
        let parts = || [&MAGIC[..], &length, &head].into_iter().chain(tensors.iter().map(|tensor| &tensor.bytes[..]));
        let mut checksum = crc32fast::Hasher::new();
        parts().for_each(|part| checksum.update(part));
        let checksum = checksum.finalize().to_le_bytes();
        file::write_atomically(path, |w| {
            let mut all = parts().chain([&checksum[..]]);
            all.try_for_each(|part| w.write_all(part)).map_err(|e| Error::of_system("write the checkpoint", &e))
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
        compare(&about["identity"], self.identity()).map_err(|text| {
            Error::ShapeMismatch(format!("{}: the checkpoint is of another run: {text}", path.display()))
        })?;
        self.restore(&about, &tensors).map_err(|e| e.in_file(path))?;
        Ok(true)
    }

    fn restore(&mut self, about: &Value, tensors: &SafeTensors<'_>) -> Result<()> {
        let len = self.model.parameters().len();
        let parameters = floats(tensors, "parameters", &[len])?.unwrap_or_default();
        let running = floats(tensors, "running_statistics", &[self.model.state().len()])?.unwrap_or_default();
        self.model.check_state(&running)?;
        let best = floats(tensors, "best", &[len + self.model.state().len()])?;
        if best.iter().flatten().any(|w| !w.is_finite()) {
            return Err(Error::BadFormat("best is not finite".to_string()));
        }
        if let Some(best) = &best {
            self.model.check_state(&best[len..])?;
        }
        let first = floats(tensors, "first_moments", &[0, len])?.unwrap_or_default();
        let second = floats(tensors, "second_moments", &[first.len()])?.unwrap_or_default();
        let average = doubles(tensors, "average")?;
        let ema = doubles(tensors, "ema")?;
        let scalars = doubles(tensors, "optimizer")?;
        let records = doubles(tensors, "history")?;
        let count = |name: &str| match about[name].as_u64() {
            Some(count) if count <= MOST => Ok(count),
            Some(count) => Err(Error::BadFormat(format!("{name} is {count}, more than a run can reach"))),
            None => Err(Error::BadFormat(format!("there is no {name}"))),
        };
        let fits = |values: &[f64]| values.is_empty() || values.len() == len;
        if !fits(&average) || !fits(&ema) || !records.len().is_multiple_of(Record::LEN) {
            return Err(Error::BadFormat("an average or the history has a wrong length".to_string()));
        }
        let [ratio, best_report, scale] = scalars[..] else {
            return Err(Error::BadFormat("optimizer has a wrong length".to_string()));
        };
        let parts = Parts {
            k: count("updates")?,
            epochs: count("epochs")?,
            reports: Reports { best: best_report, bad: count("bad reports")?, scale },
            first: &first,
            second: &second,
            ratio,
            averaged: count("averaged")?,
            average: &average,
            ema: &ema,
        };
        let state = State::from_parts(&parts, len)?;
        let gradients = count("gradients")?;
        let size = about["sample size"].as_u64().and_then(|size| usize::try_from(size).ok());
        let mut history = History::new(self.options.monitor);
        for record in records.as_chunks::<{ Record::LEN }>().0 {
            history.push(Record::from_array(*record))?;
        }
        self.model.set_parameters(&parameters)?;
        self.model.set_state(&running)?;
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

    /// What a checkpoint must share with the run that goes on from it, what matters most first: the model, what it learns
    /// from, how, and the numbers that only order the steps.
    fn identity(&self) -> impl Iterator<Item = Share> {
        let Options { batch_size, seed, monitor, adaptive, ema, .. } = self.options;
        let model = match self.model.widths() {
            Ok(widths) => Share::new("widths", "widths are", json!(widths)),
            Err(_) => Share::new("layers", "layers are", self.model.net().layers().to_json()),
        };
        let items = (format!("training {}", self.problem.items_name()), self.items.len());
        let sizes = self.problem.sizes().into_iter().map(|(name, size)| (name.to_string(), size)).chain([items]);
        let rest = [
            ("estimator", json!(self.described)),
            ("optimizer", json!(self.optimizer.rule_name())),
            ("adaptive sampling", json!(adaptive.map(|adaptive| format!("{adaptive:?}")))),
            ("batch size", json!(batch_size)),
            ("seed", json!(seed)),
            // The parameters kept are those of the epoch that this found best.
            ("monitor", json!(monitor.name())),
            ("moving average", json!(ema)),
        ];
        let sizes = sizes.map(|(name, size)| Share::new(&name, format!("number of {name} is"), json!(size)));
        let rest = rest.map(|(name, value)| Share::new(name, format!("{name} is"), value));
        std::iter::once(model).chain(sizes).chain(rest)
    }
}

/// A property that a checkpoint must share with the run that goes on from it.
struct Share {
    /// Its name in the checkpoint.
    key: String,
    /// What comes before its value in a message.
    words: String,
    value: Value,
}

impl Share {
    fn new(key: &str, words: impl Into<String>, value: Value) -> Self {
        Share { key: key.to_string(), words: words.into(), value }
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

/// Names all differences, in the order of `wanted`: its first is what the caller should look at first.
fn compare(found: &Value, wanted: impl Iterator<Item = Share>) -> std::result::Result<(), String> {
    let differs = |Share { key, words, value }: Share| match &found[&key] {
        found if *found == value => None,
        found => Some(format!("its {words} {found}, not {value}")),
    };
    let differences: Vec<_> = wanted.filter_map(differs).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
}

fn floats(tensors: &SafeTensors<'_>, name: &str, lengths: &[usize]) -> Result<Option<Vec<f32>>> {
    let Ok(tensor) = tensors.tensor(name) else { return Ok(None) };
    let mut values = try_with_capacity(tensor.data().len() / 4).for_the("checkpoint")?;
    values.extend(tensor.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)));
    if tensor.dtype() != Dtype::F32 || !lengths.contains(&values.len()) {
        return Err(Error::BadFormat(format!("{name} has a wrong type or length")));
    }
    Ok(Some(values))
}

fn doubles(tensors: &SafeTensors<'_>, name: &str) -> Result<Vec<f64>> {
    match tensors.tensor(name) {
        Ok(tensor) if tensor.dtype() == Dtype::F64 => {
            let mut values = try_with_capacity(tensor.data().len() / 8).for_the("checkpoint")?;
            values.extend(tensor.data().as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)));
            Ok(values)
        }
        _ => Err(Error::BadFormat(format!("there is no {name} of doubles"))),
    }
}

fn bytes_of<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Result<Vec<u8>> {
    let mut bytes = try_with_capacity(N * values.len()).for_the("checkpoint")?;
    values.iter().for_each(|&value| bytes.extend_from_slice(&to_bytes(value)));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::Estimator;
    use crate::graph::{Graph, Split};
    use crate::log::Level;
    use crate::model::Model;
    use crate::optim::{Interrupt, Optimizer};
    use crate::train::{Observer, Progress};

    struct Silent;

    impl Observer for Silent {
        fn progress(&mut self, _: &Model, _: &Progress) -> std::result::Result<(), Interrupt> {
            Ok(())
        }

        fn wants(&self, _: Level) -> bool {
            false
        }

        fn log(&mut self, _: &Model, _: Level, _: &str) {}
    }

    /// Trains for so many epochs; gives the parameters and how it ended.
    fn trained(options: &Options) -> (Vec<f32>, Result<()>) {
        let mut graph = Graph::from_edges(3, &[0, 1], &[1, 2], None).unwrap();
        graph.set_features(1, &[1.0, 2.0, 3.0]).unwrap();
        graph.set_labels(&[0, 1, 1]).unwrap();
        graph.set_split(Split::Train, &[0, 1]).unwrap();
        graph.set_split(Split::Val, &[2]).unwrap();
        let mut model = Model::gcn(&[1, 2], 1).unwrap();
        let mut optimizer = Optimizer::adam(0.1).unwrap();
        optimizer.set_averaging(true);
        optimizer.set_ema(0.5).unwrap();
        optimizer.set_plateau(0.5, 0, 0.0).unwrap();
        let (_, result) =
            super::super::train(&mut model, &graph, &mut Estimator::unbiased(), &mut optimizer, options, &mut Silent);
        (model.parameters().to_vec(), result)
    }

    /// A file of the same length and with a right checksum, in which `to` stands for the first `from`.
    fn forged(file: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let at = file.windows(from.len()).position(|w| w == from).expect("it stands in the file");
        let mut payload = file[16..file.len() - 4].to_vec();
        payload.splice(at - 16..at - 16 + from.len(), to.iter().copied());
        // JSON of another length is made up for by the blanks that end it.
        let mut length = u64::from_le_bytes(*payload.first_chunk().unwrap()) as usize;
        length = length + to.len() - from.len();
        payload.splice(8 + length..8 + length, std::iter::repeat_n(b' ', length.next_multiple_of(8) - length));
        payload[..8].copy_from_slice(&(length.next_multiple_of(8) as u64).to_le_bytes());
        let mut forged = [&MAGIC[..], &(payload.len() as u64).to_le_bytes(), &payload].concat();
        forged.extend(crc32fast::hash(&forged).to_le_bytes());
        forged
    }

    #[test]
    fn a_checkpoint_that_no_run_can_have_written_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.checkpoint");
        let start = trained(&Options { epochs: 0, ..Options::default() }).0;
        let writing = Options { epochs: 1, checkpoint: Some((path.clone(), 1)), ..Options::default() };
        trained(&writing).1.unwrap();
        let file = std::fs::read(&path).unwrap();
        let resuming = Options { epochs: 3, resume: Some(path.clone()), ..Options::default() };
        let tensor = |name: &str| {
            let payload = payload_of(&file).unwrap();
            SafeTensors::deserialize(payload).unwrap().tensor(name).unwrap().data().to_vec()
        };
        let with_first = |name: &str, value: f32| {
            let data = tensor(name);
            forged(&file, &data, &[&value.to_le_bytes()[..], &data[4..]].concat())
        };
        let [moments, squares, best] = ["first_moments", "second_moments", "best"];
        let [average, ema, scalars] = ["average", "ema", "optimizer"].map(tensor);
        let cases = [
            forged(&file, br#"\"updates\":1"#, br#"\"updates\":18446744073709551615"#),
            forged(&file, br#"\"averaged\":1"#, br#"\"averaged\":18446744073709551615"#),
            forged(&file, br#"\"averaged\":1"#, br#"\"averaged\":2"#),
            forged(&file, br#"\"gradients\":1"#, br#"\"gradients\":18446744073709551615"#),
            forged(&file, &average, &[&f64::NAN.to_le_bytes()[..], &average[8..]].concat()),
            forged(&file, br#"\"epochs\":1"#, br#"\"epochs\":18446744073709551615"#),
            forged(&file, br#"\"bad reports\":0"#, br#"\"bad reports\":18446744073709551615"#),
            forged(&file, &ema, &[&f64::INFINITY.to_le_bytes()[..], &ema[8..]].concat()),
            forged(&file, &scalars, &[&f64::NAN.to_le_bytes()[..], &scalars[8..]].concat()),
            forged(&file, &scalars, &[&scalars[..8], &f64::NAN.to_le_bytes(), &scalars[16..]].concat()),
            forged(&file, &scalars, &[&scalars[..16], &2f64.to_le_bytes()].concat()),
            with_first(moments, f32::INFINITY),
            with_first(moments, 1e30),
            with_first(squares, -1.0),
            with_first(squares, f32::NAN),
            with_first(best, f32::NAN),
            forged(&file, br#""second_moments""#, br#""other_moments!!""#),
            forged(&file, br#""ema""#, br#""no!""#),
        ];
        std::fs::write(&path, forged(&file, br#"\"updates\":1"#, br#"\"updates\":2"#)).unwrap();
        trained(&resuming).1.unwrap();
        for (i, forged) in cases.iter().enumerate() {
            std::fs::write(&path, forged).unwrap();
            let (parameters, result) = trained(&resuming);
            assert!(matches!(result, Err(Error::BadFormat(_))), "case {i}: {result:?}");
            assert_eq!(parameters, start, "case {i}");
        }
    }
}
