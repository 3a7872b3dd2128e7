//! The checksums of a store. Its description, `meta.json`, has a CRC-32 of each file and of itself.

use crate::error::{Error, Result};
use crate::kernel::MappedFile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The CRC-32 of files, by their names.
#[derive(Default)]
pub struct Checksums(BTreeMap<String, u32>);

impl Checksums {
    /// Reads `{"name": number, …}`.
    pub fn parse(json: &Value) -> Option<Self> {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let entries = json.as_object()?.iter().map(|(name, value)| Some((name.clone(), number(value)?)));
        Some(Checksums(entries.collect::<Option<_>>()?))
    }

    /// Sets the checksum of a file.
    pub fn set(&mut self, name: &str, sum: u32) {
        self.0.insert(name.to_string(), sum);
    }

    /// The checksum that a file should have.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// Each name with its checksum.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.iter().map(|(name, &sum)| (name.as_str(), sum))
    }
}

/// Fails with `BadFormat` if a file has another checksum than it should have.
pub fn compare(name: &str, wanted: u32, found: u32) -> Result<()> {
    match wanted == found {
        true => Ok(()),
        false => {
            Err(Error::BadFormat(format!("{name} does not match its checksum: it was changed since it was written")))
        }
    }
}

/// Reads mapped files and compares them: each with its name and the checksum that it should have.
pub fn compare_all(files: &[(String, MappedFile, u32)]) -> Result<()> {
    files.iter().try_for_each(|(name, file, wanted)| compare(name, *wanted, file.read_in_order(crc32fast::hash)))
}

/// The checksum of a description: the CRC-32 of its JSON, with sorted keys and without blanks. The checksum itself, which is
/// at the path `keys`, is left out.
pub fn of_json(json: &Value, keys: [&str; 2]) -> u32 {
    let mut json = json.clone();
    if let Some(sums) = json.get_mut(keys[0]).and_then(Value::as_object_mut) {
        sums.remove(keys[1]);
    }
    crc32fast::hash(sorted(&json).as_bytes())
}

fn sorted(json: &Value) -> String {
    let Some(object) = json.as_object() else { return json.to_string() };
    let mut entries: Vec<_> = object.iter().map(|(key, value)| (key, sorted(value))).collect();
    entries.sort();
    let entries: Vec<String> =
        entries.into_iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
    format!("{{{}}}", entries.join(","))
}

/// Computes the checksum of what is read or written through it.
pub struct Summed<S> {
    stream: S,
    sum: crc32fast::Hasher,
}

impl<S> Summed<S> {
    /// Starts at this place of the stream.
    pub fn new(stream: S) -> Self {
        Summed { stream, sum: crc32fast::Hasher::new() }
    }

    /// The checksum of everything so far.
    pub fn sum(self) -> u32 {
        self.sum.finalize()
    }
}

impl<S: Read> Read for Summed<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.sum.update(&buffer[..count]);
        Ok(count)
    }
}

impl<S: Write> Write for Summed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.stream.write(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The files that a graph maps from its store, which [`Unverified::verify`] compares. They stay mapped when the graph receives
/// other arrays or makes copies of its own, because a copy of a damaged array is damaged too.
pub struct Unverified {
    /// The directory of the store.
    pub directory: PathBuf,
    /// Each file with its name and its checksum; `None` if the store has no checksums.
    pub files: Option<Vec<(String, MappedFile, u32)>>,
}

impl Unverified {
    /// Reads every mapped file and compares.
    pub fn verify(&self) -> Result<()> {
        let directory = self.directory.display();
        let Some(files) = &self.files else {
            let text = format!("{directory}: the store has no checksums; those that this library writes have");
            return Err(Error::MissingData(text));
        };
        compare_all(files).map_err(|e| e.in_file(&self.directory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_description_is_that_of_sorted_json_without_it() {
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let expected = crc32fast::hash(r#"{"a":"ü","sums":{"x":1,"y":2},"z":true}"#.as_bytes());
        for text in [
            r#"{"z": true, "sums": {"y": 2, "me": 77, "x": 1}, "a": "ü"}"#,
            r#"{"a":"ü","sums":{"x":1,"y":2},"z":true}"#,
        ] {
            assert_eq!(of_json(&json(text), ["sums", "me"]), expected);
        }
        assert_ne!(of_json(&json(r#"{"a":"ü","sums":{"x":1,"y":3},"z":true}"#), ["sums", "me"]), expected);
    }

    #[test]
    fn a_stream_is_summed_up_in_whatever_pieces() {
        let mut out = Summed::new(Vec::new());
        [&b"12345"[..], b"", b"6789"].iter().for_each(|part| out.write_all(part).unwrap());
        assert_eq!(out.sum(), 0xcbf4_3926); // the check value of CRC-32
        let mut source = Summed::new(&b"123456789"[..]);
        source.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(source.sum(), 0xcbf4_3926);
    }
}
