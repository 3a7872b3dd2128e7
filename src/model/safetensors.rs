//! Models as safetensors. The paper's model is named and shaped as PyG's GCN: `convs.{l}.lin.weight`, [fan_out, fan_in]. A model
//! made of layers has its operations in the metadata, and tensors by their names, shaped as PyG's.

use super::Model;
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::file;
use crate::nn::{Layers, Net};
use crate::tensors::{self, Tensor};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Value, json};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// The metadata key. Its value is JSON. The checksums stand beside it, see [`tensors`].
const KEY: &str = "plimsoll";

fn tensor_name(layer: usize) -> String {
    format!("convs.{layer}.lin.weight")
}

/// A tensor of a file: its name, its place in the parameters or in the state, and its shape.
struct Stored {
    name: String,
    place: Range<usize>,
    /// Rows and columns of a matrix, which the file has transposed; `None` for a vector.
    matrix: Option<(usize, usize)>,
    is_state: bool,
}

impl Stored {
    fn shape(&self) -> Vec<usize> {
        self.matrix.map_or_else(|| vec![self.place.len()], |(rows, columns)| vec![columns, rows])
    }

    /// Its numbers, little-endian, in the order of the file.
    fn bytes(&self, model: &Model) -> Result<Vec<u8>> {
        let numbers = &(if self.is_state { &model.state[..] } else { &model.parameters[..] })[self.place.clone()];
        let mut bytes = try_with_capacity(4 * numbers.len())?;
        let (rows, columns) = self.matrix.unwrap_or((1, numbers.len()));
        for j in 0..columns {
            (0..rows).for_each(|i| bytes.extend_from_slice(&numbers[i * columns + j].to_le_bytes()));
        }
        Ok(bytes)
    }

    /// Reads its numbers from a tensor of the file.
    fn read(&self, tensor: &TensorView<'_>, to: &mut [f32]) -> Result<()> {
        let Stored { name, .. } = self;
        if tensor.dtype() != Dtype::F32 {
            return Err(Error::BadFormat(format!("{name} holds {:?}, not F32", tensor.dtype())));
        }
        if tensor.shape() != self.shape() {
            return Err(Error::BadFormat(format!("{name} has shape {:?}, not {:?}", tensor.shape(), self.shape())));
        }
        let (rows, columns) = self.matrix.unwrap_or((1, to.len()));
        for (at, bytes) in tensor.data().as_chunks::<4>().0.iter().enumerate() {
            let value = f32::from_le_bytes(*bytes);
            if !value.is_finite() {
                return Err(Error::BadFormat(format!("{name}[{at}] = {value} is not finite")));
            }
            to[at % rows * columns + at / rows] = value;
        }
        Ok(())
    }
}

/// The tensors of a file for a model made of layers.
fn tensors_of(net: &Net) -> Vec<Stored> {
    let parameters = net.tensors().iter().map(|tensor| Stored {
        name: tensor.name().to_string(),
        place: tensor.range(),
        matrix: tensor.is_matrix.then_some((tensor.rows, tensor.columns)),
        is_state: false,
    });
    let state = net.layers().values().iter().enumerate().filter_map(|(i, value)| Some((i, value, net.state_of(i)?)));
    let state = state.flat_map(|(i, value, at)| {
        [("mean", at), ("var", at + value.width)].map(|(name, at)| Stored {
            name: format!("v{i}.running_{name}"),
            place: at..at + value.width,
            matrix: None,
            is_state: true,
        })
    });
    parameters.chain(state).collect()
}

impl Model {
    /// Writes parameters, running statistics, layers and λ.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut stored = tensors_of(&self.net);
        let mut about = json!({ "model": "layers", "lambda": self.lambda });
        if self.is_plain() {
            stored.iter_mut().enumerate().for_each(|(l, tensor)| tensor.name = tensor_name(l));
            about["model"] = json!("gcn");
        } else {
            about["layers"] = self.net.layers().to_json();
        }
        let tensor = |stored: &Stored| {
            let (name, shape) = (stored.name.clone(), stored.shape());
            Ok(Tensor { name, dtype: Dtype::F32, shape, bytes: stored.bytes(self)? })
        };
        let mut tensors = stored.iter().map(tensor).collect::<Result<Vec<_>>>()?;
        let head = tensors::head_with_checksums(&mut tensors, (KEY, about.to_string()))?;
        file::write_atomically(path, |w| {
            let mut parts = std::iter::once(&head).chain(tensors.iter().map(|tensor| &tensor.bytes));
            parts.try_for_each(|part| w.write_all(part)).map_err(|e| Error::of_system("write the model", &e))
        })
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
        let about = tensors::verify(&header, &tensors, KEY)?.map(parse).transpose()?;
        let mut model = match about.as_ref().filter(|about| about["model"] == "layers") {
            Some(about) => Self::of_layers(&about["layers"], &tensors)?,
            None => Self::of_convolutions(&tensors)?,
        };
        if let Some(about) = about {
            model.set_lambda(about["lambda"].as_f64().unwrap_or(f64::NAN))?;
        }
        Ok(model)
    }

    /// A model made of layers. Nothing is allocated that the file does not hold.
    fn of_layers(layers: &Value, tensors: &SafeTensors<'_>) -> Result<Self> {
        let net = Net::new(Layers::from_json(layers)?)?;
        let stored = tensors_of(&net);
        if let Some(other) = tensors.names().iter().find(|name| stored.iter().all(|stored| stored.name != **name)) {
            return Err(Error::BadFormat(format!("unexpected tensor {other:?}")));
        }
        let held: usize = tensors.iter().map(|(_, tensor)| tensor.data().len() / 4).sum();
        if held != net.num_parameters() + net.num_state() {
            let wanted = net.num_parameters() + net.num_state();
            return Err(Error::BadFormat(format!("the tensors hold {held} numbers, and the layers have {wanted}")));
        }
        let mut parameters = try_filled(net.num_parameters(), 0f32)?;
        let mut state = try_filled(net.num_state(), 0f32)?;
        for stored in &stored {
            let missing = |_| Error::BadFormat(format!("there is no tensor {:?}", stored.name));
            let to = if stored.is_state { &mut state } else { &mut parameters };
            stored.read(&tensors.tensor(&stored.name).map_err(missing)?, &mut to[stored.place.clone()])?;
        }
        let model = Self::assemble(std::sync::Arc::new(net), &[], &parameters, &state)?;
        model.check_state(&state)?;
        Ok(model)
    }

    /// The paper's model, which PyG may have written.
    fn of_convolutions(tensors: &SafeTensors<'_>) -> Result<Self> {
        let mut layers = Vec::new();
        while let Ok(tensor) = tensors.tensor(&tensor_name(layers.len())) {
            layers.push(tensor);
        }
        if let Some(other) = tensors.names().iter().find(|name| (0..layers.len()).all(|l| **name != tensor_name(l))) {
            return Err(Error::BadFormat(format!("unexpected tensor {other:?}; a GCN has {:?}, …", tensor_name(0))));
        }
        let widths = widths_of(&layers)?;
        let mut parameters = try_filled(Self::count_parameters(&widths)?, 0f32)?;
        let mut start = 0;
        for (l, tensor) in layers.iter().enumerate() {
            let (rows, columns) = (widths[l], widths[l + 1]);
            let place = start..start + rows * columns;
            start = place.end;
            let matrix = Some((rows, columns));
            let stored = Stored { name: tensor_name(l), place: place.clone(), matrix, is_state: false };
            stored.read(tensor, &mut parameters[place])?;
        }
        Self::from_parts(&widths, &parameters)
    }
}

/// The metadata, which must be those of a model.
fn parse(about: &str) -> Result<Value> {
    let bad = || Error::BadFormat(format!("the metadata {KEY:?} are {about:?}"));
    let value: Value = serde_json::from_str(about).map_err(|_| bad())?;
    let known = value["model"] == "gcn" || value["model"] == "layers";
    if known && value["lambda"].is_number() { Ok(value) } else { Err(bad()) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Activation, Aggregator, Norm};

    /// A model with every kind of operation, whose numbers are all different.
    fn model() -> Model {
        let mut layers = Layers::new(3).unwrap();
        layers.dropout(0.25).unwrap();
        layers.graph_convolution(4).unwrap();
        layers.norm(Norm::Batch).unwrap();
        layers.activation(Activation::Elu).unwrap();
        layers.sage(4, Aggregator::Max).unwrap();
        layers.norm(Norm::Layer).unwrap();
        layers.add(4).unwrap();
        layers.gin(&[5, 4]).unwrap();
        layers.set_epsilon(0.5, true).unwrap();
        layers.concat(7).unwrap();
        layers.propagate(2, 0.1).unwrap();
        layers.aggregate(Aggregator::Mean).unwrap();
        layers.linear(8).unwrap();
        layers.set_bias(false).unwrap();
        layers.max(10).unwrap();
        let mut model = Model::new(layers, 7).unwrap();
        let count = model.parameters().len() + model.state().len();
        let numbers: Vec<f32> = (0..count).map(|i| 1.0 + i as f32).collect();
        model.set_numbers(&numbers).unwrap();
        model.set_lambda(0.125).unwrap();
        model
    }

    fn saved(model: &Model) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        model.save(&path).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_model_made_of_layers_is_read_as_it_was_written() {
        let model = model();
        let file = saved(&model);
        let loaded = Model::from_bytes(&file).unwrap();
        assert_eq!(loaded.net().layers().values(), model.net().layers().values());
        assert!(loaded.numbers().eq(model.numbers()));
        assert_eq!(loaded.lambda(), 0.125);
        assert!(!loaded.is_plain());
        assert_eq!(saved(&loaded), file, "the same model is written as the same bytes");
    }

    #[test]
    fn tensors_have_the_names_and_shapes_of_pytorch_geometric() {
        let file = saved(&model());
        let tensors = SafeTensors::deserialize(&file).unwrap();
        let shape = |name: &str| tensors.tensor(name).unwrap().shape().to_vec();
        assert_eq!(shape("v2.lin.weight"), [4, 3]);
        assert_eq!(shape("v2.bias"), [4]);
        assert_eq!(shape("v3.running_var"), [4]);
        assert_eq!(shape("v5.lin_r.weight"), [4, 4]);
        assert_eq!(shape("v8.nn.2.weight"), [4, 5]);
        assert_eq!(shape("v8.eps"), [1]);
        // W(1, 0) of 3 x 4 follows W(0, 0) in the file.
        let first: Vec<f32> = tensors.tensor("v2.lin.weight").unwrap().data()[..8]
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        assert_eq!(first, [1.0, 5.0]);
    }

    #[test]
    fn any_flipped_bit_that_would_change_the_model_is_noticed() {
        let model = model();
        let file = saved(&model);
        let same = |other: &Model| {
            other.net().layers().values() == model.net().layers().values()
                && other.numbers().eq(model.numbers())
                && other.lambda() == model.lambda()
        };
        let mut damaged = file.clone();
        for at in 0..file.len() {
            for bit in 0..8 {
                damaged[at] ^= 1 << bit;
                if let Ok(other) = Model::from_bytes(&damaged) {
                    assert!(same(&other), "bit {bit} of byte {at}");
                }
                damaged[at] ^= 1 << bit;
            }
        }
    }

    #[test]
    fn layers_without_their_tensors_are_an_error_and_allocate_nothing() {
        let huge = json!({
            "model": "layers", "lambda": 0.0,
            "layers": { "num_features": 1_000_000_000u64, "operations": [
                { "op": "linear", "input": 0, "width": 1_000_000_000u64, "bias": true },
            ] },
        });
        let head = tensors::head_with_checksums(&mut [], (KEY, huge.to_string())).unwrap();
        let error = Model::from_bytes(&head).err().unwrap();
        assert!(matches!(&error, Error::BadFormat(text) if text.contains("hold 0 numbers")), "{error}");
    }
}
