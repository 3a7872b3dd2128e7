//! Safetensors archives, written piece by piece: `safetensors::serialize` makes the whole file in memory that it takes for
//! granted.

use crate::error::{Error, Result};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use std::collections::HashMap;

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
    tensors.sort_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name)));
    let mut start = 0;
    let infos = tensors.iter().map(|tensor| {
        let data_offsets = (start, start + tensor.bytes.len());
        start = data_offsets.1;
        (tensor.name.clone(), TensorInfo { dtype: tensor.dtype, shape: tensor.shape.clone(), data_offsets })
    });
    let internal = |e: &dyn std::fmt::Display| Error::Internal(e.to_string());
    let metadata = HashMap::from([(key.to_string(), about)]);
    let metadata = Metadata::new(Some(metadata), infos.collect()).map_err(|e| internal(&e))?;
    let mut json = serde_json::to_vec(&metadata).map_err(|e| internal(&e))?;
    json.resize(json.len().next_multiple_of(8), b' ');
    let mut head = (json.len() as u64).to_le_bytes().to_vec();
    head.append(&mut json);
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

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
}
