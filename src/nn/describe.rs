//! Layers as JSON, for model files and checkpoints.

use super::layers::{Activation, Aggregator, Layers, Norm, Op};
use crate::error::{Error, Result};
use serde_json::{Value as Json, json};

const AGGREGATORS: [(Aggregator, &str); 3] =
    [(Aggregator::Mean, "mean"), (Aggregator::Sum, "sum"), (Aggregator::Max, "max")];
const ACTIVATIONS: [(Activation, &str); 6] = [
    (Activation::Relu, "relu"),
    (Activation::LeakyRelu, "leaky_relu"),
    (Activation::Elu, "elu"),
    (Activation::Gelu, "gelu"),
    (Activation::Tanh, "tanh"),
    (Activation::Sigmoid, "sigmoid"),
];
const NORMS: [(Norm, &str); 2] = [(Norm::Layer, "layer"), (Norm::Batch, "batch")];

fn name_of<T: PartialEq + Copy>(names: &[(T, &'static str)], item: T) -> &'static str {
    names.iter().find(|(other, _)| *other == item).map_or("", |(_, name)| name)
}

impl Layers {
    /// The operations as JSON.
    pub fn to_json(&self) -> Json {
        let operation = |value: &super::Value| {
            let mut json = json!({ "op": value.op.name(), "input": value.input });
            match &value.op {
                Op::Features => {}
                Op::Linear { bias } | Op::Gcn { bias } => {
                    json["width"] = json!(value.width);
                    json["bias"] = json!(bias);
                }
                Op::Sage { aggregator, bias } => {
                    json["width"] = json!(value.width);
                    json["aggregator"] = json!(name_of(&AGGREGATORS, *aggregator));
                    json["bias"] = json!(bias);
                }
                Op::Gin { widths, epsilon, learned, bias } => {
                    json["widths"] = json!(widths);
                    json["epsilon"] = json!(epsilon);
                    json["learned"] = json!(learned);
                    json["bias"] = json!(bias);
                }
                Op::Aggregate { aggregator } => json["aggregator"] = json!(name_of(&AGGREGATORS, *aggregator)),
                Op::Propagate { hops, restart } => {
                    json["hops"] = json!(hops);
                    json["restart"] = json!(restart);
                }
                Op::Activation(activation) => json["activation"] = json!(name_of(&ACTIVATIONS, *activation)),
                Op::Dropout { rate } => json["rate"] = json!(rate),
                Op::Norm(norm) => json["norm"] = json!(name_of(&NORMS, *norm)),
                Op::Add { value } | Op::Concat { value } | Op::Max { value } => json["value"] = json!(value),
            }
            json
        };
        let operations: Vec<Json> = self.values()[1..].iter().map(operation).collect();
        json!({ "num_features": self.values()[0].width, "operations": operations })
    }

    /// The layers that [`Layers::to_json`] described; an error names the operation and the key.
    pub fn from_json(json: &Json) -> Result<Self> {
        let bad = |text: String| Error::BadFormat(format!("the layers: {text}"));
        let mut layers = Layers::new(count(json, "num_features").map_err(bad)?)?;
        let operations = json["operations"].as_array().ok_or_else(|| bad("there are no operations".to_string()))?;
        for (i, operation) in operations.iter().enumerate() {
            layers.append_json(operation).map_err(|text| bad(format!("operation {i}: {text}")))?;
        }
        layers.check_complete()?;
        Ok(layers)
    }

    fn append_json(&mut self, json: &Json) -> std::result::Result<(), String> {
        let said = |e: Error| e.to_string();
        let number = |key: &str| json[key].as_f64().ok_or_else(|| format!("\"{key}\" is {}, not a number", json[key]));
        let truth = |key: &str| json[key].as_bool().ok_or_else(|| format!("\"{key}\" is {}, not a truth", json[key]));
        let aggregator = || named(json, "aggregator", &AGGREGATORS);
        self.at(count(json, "input")?).map_err(said)?;
        let op = json["op"].as_str().ok_or_else(|| format!("\"op\" is {}, not a name", json["op"]))?;
        match op {
            "linear" => self.linear(count(json, "width")?).map_err(said)?,
            "gcn" => self.graph_convolution(count(json, "width")?).map_err(said)?,
            "sage" => self.sage(count(json, "width")?, aggregator()?).map_err(said)?,
            "gin" => {
                let widths = json["widths"].as_array().ok_or("there are no \"widths\"")?;
                let width = |w: &Json| w.as_u64().and_then(|w| usize::try_from(w).ok());
                let widths: Option<Vec<usize>> = widths.iter().map(width).collect();
                self.gin(&widths.ok_or("\"widths\" are no counts")?).map_err(said)?;
                self.set_epsilon(number("epsilon")?, truth("learned")?).map_err(said)?;
            }
            "aggregate" => self.aggregate(aggregator()?).map_err(said)?,
            "propagate" => self.propagate(count(json, "hops")?, number("restart")?).map_err(said)?,
            "activation" => self.activation(named(json, "activation", &ACTIVATIONS)?).map_err(said)?,
            "dropout" => self.dropout(number("rate")?).map_err(said)?,
            "norm" => self.norm(named(json, "norm", &NORMS)?).map_err(said)?,
            "add" => self.add(count(json, "value")?).map_err(said)?,
            "concat" => self.concat(count(json, "value")?).map_err(said)?,
            "max" => self.max(count(json, "value")?).map_err(said)?,
            other => return Err(format!("\"op\" is \"{other}\", which this library does not know")),
        }
        if matches!(op, "linear" | "gcn" | "sage" | "gin") {
            self.set_bias(truth("bias")?).map_err(said)?;
        }
        Ok(())
    }
}

fn count(json: &Json, key: &str) -> std::result::Result<usize, String> {
    let count = json[key].as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| format!("\"{key}\" is {}, not a count", json[key]))
}

fn named<T: Copy>(json: &Json, key: &str, names: &[(T, &'static str)]) -> std::result::Result<T, String> {
    let found = names.iter().find(|(_, name)| json[key] == *name);
    found.map(|(item, _)| *item).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
        format!("\"{key}\" is {}, none of {}", json[key], names.join(", "))
    })
}
