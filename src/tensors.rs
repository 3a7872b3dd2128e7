//! Safetensors archives, written piece by piece: `safetensors::serialize` makes the whole file in memory that it takes for
//! granted.
//!
//! The format has no checksums, so the library adds them to the metadata. The key is that of the writer's own entry with
//! `.crc32` at its end. The value is a JSON object of CRC-32s: for each tensor, by its name, of type and shape as `F32[4,3]`
//! followed by the bytes; and for the writer's own entry, by its key. Either entry without the other is an error. Otherwise a
//! flipped bit in a key could turn an archive into one without checksums.

use crate::error::{Error, Result};
use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;

/// Ends the key of the checksums.
const CHECKSUMS: &str = ".crc32";

/// A tensor and its bytes, little-endian.
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// The type of its numbers.
    pub dtype: Dtype,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub bytes: Vec<u8>,
}

/// What comes before the tensors' bytes. Puts the tensors in the order in which they are to follow, that of
/// `safetensors::serialize`: the widest type first, then by name.
pub fn head(tensors: &mut [Tensor], (key, about): (&str, String)) -> Result<Vec<u8>> {
    write_head(tensors, BTreeMap::from([(key.to_string(), about)]))
}

/// The same with checksums, which [`verify`] compares.
pub fn head_with_checksums(tensors: &mut [Tensor], (key, about): (&str, String)) -> Result<Vec<u8>> {
    let mut sums = BTreeMap::from([(key, crc32fast::hash(about.as_bytes()))]);
    for tensor in tensors.iter() {
        sums.insert(&tensor.name, checksum(tensor.dtype, &tensor.shape, &tensor.bytes));
    }
    let sums = serde_json::to_string(&sums).map_err(internal)?;
    write_head(tensors, BTreeMap::from([(key.to_string(), about), (format!("{key}{CHECKSUMS}"), sums)]))
}

/// Compares the checksums, and returns the entry `key` of the metadata; `None` if another program wrote the archive.
pub fn verify<'a>(header: &'a Metadata, tensors: &SafeTensors<'_>, key: &str) -> Result<Option<&'a str>> {
    let bad = |text: String| Error::BadFormat(text);
    let sums_key = format!("{key}{CHECKSUMS}");
    let entry = |key: &str| header.metadata().as_ref()?.get(key).map(String::as_str);
    let (about, sums) = match (entry(key), entry(&sums_key)) {
        (None, None) => return Ok(None),
        (Some(about), Some(sums)) => (about, sums),
        (Some(_), None) => return Err(bad(format!("the metadata have {key:?}, but no {sums_key:?}"))),
        (None, Some(_)) => return Err(bad(format!("the metadata have {sums_key:?}, but no {key:?}"))),
    };
    let sums: BTreeMap<String, u32> =
        serde_json::from_str(sums).map_err(|e| bad(format!("the metadata {sums_key:?} are no checksums: {e}")))?;
    let compare = |name: &str, found: u32| match sums.get(name) {
        Some(&sum) if sum == found => Ok(()),
        Some(_) => Err(bad(format!("{name} does not match its checksum: it was changed since it was written"))),
        None => Err(bad(format!("{name} has no checksum, but others have: it was changed since it was written"))),
    };
    compare(key, crc32fast::hash(about.as_bytes()))?;
    if let Some(name) = sums.keys().find(|name| *name != key && tensors.tensor(name).is_err()) {
        return Err(bad(format!("{name} has a checksum, but is missing")));
    }
    for (name, tensor) in tensors.iter() {
        compare(name, checksum(tensor.dtype(), tensor.shape(), tensor.data()))?;
    }
    Ok(Some(about))
}

fn checksum(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> u32 {
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let mut sum = crc32fast::Hasher::new();
    sum.update(format!("{dtype}[{}]", shape.join(",")).as_bytes());
    sum.update(bytes);
    sum.finalize()
}

fn write_head(tensors: &mut [Tensor], metadata: BTreeMap<String, String>) -> Result<Vec<u8>> {
    tensors.sort_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name)));
    let mut start = 0;
    let infos = tensors.iter().map(|tensor| {
        let data_offsets = (start, start + tensor.bytes.len());
        start = data_offsets.1;
        (tensor.name.clone(), TensorInfo { dtype: tensor.dtype, shape: tensor.shape.clone(), data_offsets })
    });
    let infos = serde_json::to_vec(&Metadata::new(None, infos.collect()).map_err(internal)?).map_err(internal)?;
    // The crate writes metadata in no fixed order, but the same content should always be the same bytes.
    let mut json = b"{\"__metadata__\":".to_vec();
    serde_json::to_writer(&mut json, &metadata).map_err(internal)?;
    if !tensors.is_empty() {
        json.push(b',');
    }
    json.extend_from_slice(&infos[1..]);
    json.resize(json.len().next_multiple_of(8), b' ');
    let mut head = (json.len() as u64).to_le_bytes().to_vec();
    head.append(&mut json);
    Ok(head)
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::Internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;
    use std::collections::HashMap;

    #[test]
    fn an_archive_has_the_bytes_that_the_crate_would_give_it() {
        let make = |name: &str, dtype, shape: &[usize], len| Tensor {
            name: name.to_string(),
            dtype,
            shape: shape.to_vec(),
            bytes: (0..len).map(|i| i as u8).collect(),
        };
        let mut tensors = [
            make("b", Dtype::F32, &[2, 3], 24),
            make("c", Dtype::F64, &[1], 8),
            make("a", Dtype::F32, &[0], 0),
            make("convs.10", Dtype::F32, &[1], 4),
        ];
        let mut found = head(&mut tensors, ("key", "{\"λ\": 1}".to_string())).unwrap();
        tensors.iter().for_each(|tensor| found.extend_from_slice(&tensor.bytes));
        let views = tensors.iter().map(|t| (&t.name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap()));
        let metadata = HashMap::from([("key".to_string(), "{\"λ\": 1}".to_string())]);
        assert_eq!(found, safetensors::serialize(views, Some(metadata)).unwrap());
    }

    fn archive(tensors: &mut [Tensor]) -> Vec<u8> {
        let mut file = head_with_checksums(tensors, ("key", "{\"λ\": 1}".to_string())).unwrap();
        tensors.iter().for_each(|tensor| file.extend_from_slice(&tensor.bytes));
        file
    }

    fn small() -> [Tensor; 2] {
        [("a", vec![2, 1]), ("b", vec![3])].map(|(name, shape)| {
            let bytes = (0..4 * shape.iter().product::<usize>()).map(|i| i as u8).collect();
            Tensor { name: name.to_string(), dtype: Dtype::F32, shape, bytes }
        })
    }

    /// The entry, and each tensor's name, type, shape and bytes.
    type Content = (Option<String>, Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

    fn read(file: &[u8]) -> Result<Content> {
        let bad = |e: safetensors::SafeTensorError| Error::BadFormat(e.to_string());
        let (_, header) = SafeTensors::read_metadata(file).map_err(bad)?;
        let tensors = SafeTensors::deserialize(file).map_err(bad)?;
        let about = verify(&header, &tensors, "key")?.map(str::to_string);
        let mut content: Vec<_> = tensors
            .iter()
            .map(|(name, t)| (name.to_string(), t.dtype(), t.shape().to_vec(), t.data().to_vec()))
            .collect();
        content.sort_by(|a, b| a.0.cmp(&b.0));
        Ok((about, content))
    }

    #[test]
    fn a_flipped_bit_is_an_error() {
        let file = archive(&mut small());
        let whole = read(&file).unwrap();
        assert!(whole.0.is_some());
        for bit in 0..8 * file.len() {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match read(&damaged) {
                Err(Error::BadFormat(_)) => {}
                found => panic!("bit {} of byte {}: {found:?}", bit % 8, bit / 8),
            }
        }
    }

    #[test]
    fn the_error_names_what_was_changed() {
        let file = archive(&mut small());
        let changed = |from: &str, to: &str| {
            let at = file.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
            let file = [&file[..at], to.as_bytes(), &file[at + from.len()..]].concat();
            let Err(Error::BadFormat(text)) = read(&file) else { panic!("{to} was read") };
            text
        };
        let mut last = file.clone();
        *last.last_mut().unwrap() ^= 1;
        assert!(read(&last).unwrap_err().to_string().starts_with("b does not match its checksum"));
        assert!(changed("\"shape\":[2,1]", "\"shape\":[1,2]").starts_with("a does not match its checksum"));
        assert!(changed("F32", "I32").starts_with("a does not match its checksum"));
        assert!(changed("\"b\":{", "\"c\":{").starts_with("b has a checksum, but is missing"));
        assert!(changed("\\\"b\\\":", "\\\"c\\\":").starts_with("c has a checksum, but is missing"));
        assert!(changed("λ", "μ").starts_with("key does not match its checksum"));
        assert_eq!(changed("\"key\"", "\"kez\""), "the metadata have \"key.crc32\", but no \"key\"");
        assert_eq!(changed("key.crc32", "key.crc33"), "the metadata have \"key\", but no \"key.crc32\"");
    }

    #[test]
    fn an_archive_of_another_program_is_taken_as_it_is() {
        let tensors = small();
        let views = tensors.iter().map(|t| (&t.name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap()));
        for metadata in [None, Some(HashMap::from([("format".to_string(), "pt".to_string())]))] {
            let (about, content) = read(&safetensors::serialize(views.clone(), metadata).unwrap()).unwrap();
            assert_eq!((about, content.len()), (None, 2));
        }
    }
}
