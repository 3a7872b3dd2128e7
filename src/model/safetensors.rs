//! Models as safetensors, named and shaped as PyG's GCN: `convs.{l}.lin.weight`, [fan_out, fan_in].

use super::Model;
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::file;
use crate::tensors::{self, Tensor};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::io::Write;
use std::path::Path;

/// The metadata key. Its value is JSON. The checksums stand beside it, see [`tensors`].
const KEY: &str = "plimsoll";

fn tensor_name(layer: usize) -> String {
    format!("convs.{layer}.lin.weight")
}

impl Model {
    /// Writes parameters, widths and λ.
    pub fn save(&self, path: &Path) -> Result<()> {
        let tensor = |l: usize| {
            let shape = vec![self.widths[l + 1], self.widths[l]];
            Ok(Tensor { name: tensor_name(l), dtype: Dtype::F32, shape, bytes: self.transposed_bytes(l)? })
        };
        let mut tensors = (0..self.num_layers()).map(tensor).collect::<Result<Vec<_>>>()?;
        let about = serde_json::json!({ "model": "gcn", "lambda": self.lambda }).to_string();
        let head = tensors::head_with_checksums(&mut tensors, (KEY, about))?;
        file::write_atomically(path, |w| {
            let mut parts = std::iter::once(&head).chain(tensors.iter().map(|tensor| &tensor.bytes));
            parts.try_for_each(|part| w.write_all(part)).map_err(|e| Error::of_system("write the model", &e))
        })
    }

    /// W(l)ᵀ, little-endian.
    fn transposed_bytes(&self, l: usize) -> Result<Vec<u8>> {
        let (fan_in, fan_out, w) = (self.widths[l], self.widths[l + 1], self.weights(l));
        let mut bytes = try_with_capacity(4 * w.len())?;
        for j in 0..fan_out {
            (0..fan_in).for_each(|i| bytes.extend_from_slice(&w[i * fan_out + j].to_le_bytes()));
        }
        Ok(bytes)
    }

    /// Reads what [`Model::save`] or PyG wrote. λ is 0 if the file has none.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = file::read(path)?;
        Self::from_bytes(&bytes).map_err(|e| e.in_file(path))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let bad = |e: safetensors::SafeTensorError| Error::BadFormat(format!("not a safetensors file: {e}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(bad)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(bad)?;
        let lambda = match tensors::verify(&header, &tensors, KEY)? {
            None => 0.0,
            Some(about) => lambda_of(about)?,
        };
        let mut layers = Vec::new();
        while let Ok(tensor) = tensors.tensor(&tensor_name(layers.len())) {
            layers.push(tensor);
        }
        if let Some(other) = tensors.names().iter().find(|name| (0..layers.len()).all(|l| **name != tensor_name(l))) {
            return Err(Error::BadFormat(format!("unexpected tensor {other:?}; a GCN has {:?}, …", tensor_name(0))));
        }
        let widths = widths_of(&layers)?;
        let mut parameters = try_with_capacity(Self::count_parameters(&widths)?)?;
        for (l, tensor) in layers.iter().enumerate() {
            let (fan_in, fan_out) = (widths[l], widths[l + 1]);
            let start = parameters.len();
            parameters.extend(try_filled(fan_in * fan_out, 0f32)?);
            for (at, bytes) in tensor.data().chunks_exact(4).enumerate() {
                let value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                if !value.is_finite() {
                    return Err(Error::BadFormat(format!("{}[{at}] = {value} is not finite", tensor_name(l))));
                }
                parameters[start + at % fan_in * fan_out + at / fan_in] = value;
            }
        }
        let mut model = Self::from_parts(&widths, &parameters)?;
        model.set_lambda(lambda)?;
        Ok(model)
    }
}

/// λ from the metadata, which must be those of a GCN.
fn lambda_of(about: &str) -> Result<f64> {
    let bad = || Error::BadFormat(format!("the metadata {KEY:?} are {about:?}"));
    let about: serde_json::Value = serde_json::from_str(about).map_err(|_| bad())?;
    if about["model"] != "gcn" {
        return Err(bad());
    }
    about["lambda"].as_f64().ok_or_else(bad)
}

/// The widths of the layers, which must fit each other.
fn widths_of(layers: &[TensorView<'_>]) -> Result<Vec<usize>> {
    let mut widths: Vec<usize> = Vec::new();
    for (l, tensor) in layers.iter().enumerate() {
        let name = tensor_name(l);
        let &[fan_out, fan_in] = tensor.shape() else {
            return Err(Error::BadFormat(format!("{name} has shape {:?}, not [fan_out, fan_in]", tensor.shape())));
        };
        if tensor.dtype() != Dtype::F32 {
            return Err(Error::BadFormat(format!("{name} holds {:?}, not F32", tensor.dtype())));
        }
        match widths.last() {
            None => widths.push(fan_in),
            Some(&width) if width != fan_in => {
                let text = format!("{name} takes {fan_in} inputs, but the layer below gives {width}");
                return Err(Error::BadFormat(text));
            }
            _ => {}
        }
        widths.push(fan_out);
    }
    if widths.is_empty() {
        return Err(Error::BadFormat(format!("there is no tensor {:?}", tensor_name(0))));
    }
    Ok(widths)
}
