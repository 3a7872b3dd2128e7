//! Layers as JSON, for model files and checkpoints.

use super::layers::{Activation, Aggregator, Joined, Layers, Norm, Op, Version};
use crate::error::{Error, Result};
use serde_json::{Value as Json, json};

/// All aggregators, by the names that they have in files.
pub const AGGREGATORS: &[(Aggregator, &str)] =
    &[(Aggregator::Mean, "mean"), (Aggregator::Sum, "sum"), (Aggregator::Max, "max"), (Aggregator::Min, "min")];
const ACTIVATIONS: &[(Activation, &str)] = &[
    (Activation::Relu, "relu"),
    (Activation::LeakyRelu, "leaky_relu"),
    (Activation::Elu, "elu"),
    (Activation::Gelu, "gelu"),
    (Activation::Tanh, "tanh"),
    (Activation::Sigmoid, "sigmoid"),
];
const VERSIONS: &[(Version, &str)] = &[(Version::First, "gat"), (Version::Second, "gatv2")];
const JOINED: &[(Joined, &str)] = &[(Joined::Concat, "concat"), (Joined::Mean, "mean")];
const NORMS: &[(Norm, &str)] = &[(Norm::Layer, "layer"), (Norm::Batch, "batch")];

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
                    json["aggregator"] = json!(name_of(AGGREGATORS, *aggregator));
                    json["bias"] = json!(bias);
                }
                Op::Gin { widths, epsilon, learned, bias } => {
                    json["widths"] = json!(widths);
                    json["epsilon"] = json!(epsilon);
                    json["learned"] = json!(learned);
                    json["bias"] = json!(bias);
                }
                Op::Gat { version, heads, width, joined, self_loops, dropout, bias } => {
                    json["version"] = json!(name_of(VERSIONS, *version));
                    json["width"] = json!(width);
                    json["heads"] = json!(heads);
                    json["joined"] = json!(name_of(JOINED, *joined));
                    json["self_loops"] = json!(self_loops);
                    json["attention_dropout"] = json!(dropout);
                    json["bias"] = json!(bias);
                }
                Op::Aggregate { aggregator } => json["aggregator"] = json!(name_of(AGGREGATORS, *aggregator)),
                Op::Propagate { hops, restart } => {
                    json["hops"] = json!(hops);
                    json["restart"] = json!(restart);
                }
                Op::Activation(activation) => json["activation"] = json!(name_of(ACTIVATIONS, *activation)),
                Op::Dropout { rate } => json["rate"] = json!(rate),
                Op::Norm(norm) => json["norm"] = json!(name_of(NORMS, *norm)),
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
        let aggregator = || named(json, "aggregator", AGGREGATORS);
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
            "gat" => {
                let version = named(json, "version", VERSIONS)?;
                self.attention(count(json, "width")?, count(json, "heads")?, version).map_err(said)?;
                self.set_heads(named(json, "joined", JOINED)?).map_err(said)?;
                self.set_self_loops(truth("self_loops")?).map_err(said)?;
                self.set_attention_dropout(number("attention_dropout")?).map_err(said)?;
            }
            "aggregate" => self.aggregate(aggregator()?).map_err(said)?,
            "propagate" => self.propagate(count(json, "hops")?, number("restart")?).map_err(said)?,
            "activation" => self.activation(named(json, "activation", ACTIVATIONS)?).map_err(said)?,
            "dropout" => self.dropout(number("rate")?).map_err(said)?,
            "norm" => self.norm(named(json, "norm", NORMS)?).map_err(said)?,
            "add" => self.add(count(json, "value")?).map_err(said)?,
            "concat" => self.concat(count(json, "value")?).map_err(said)?,
            "max" => self.max(count(json, "value")?).map_err(said)?,
            other => return Err(format!("\"op\" is \"{other}\", which this library does not know")),
        }
        if matches!(op, "linear" | "gcn" | "sage" | "gin" | "gat") {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation, with settings that are not the defaults.
    fn everything() -> Layers {
        let mut layers = Layers::new(3).unwrap();
        layers.linear(4).unwrap();
        layers.set_bias(false).unwrap();
        for &(aggregator, _) in AGGREGATORS {
            layers.sage(4, aggregator).unwrap();
            layers.aggregate(aggregator).unwrap();
        }
        layers.set_bias(false).unwrap_err();
        layers.graph_convolution(5).unwrap();
        layers.set_bias(false).unwrap();
        layers.gin(&[7, 4]).unwrap();
        layers.set_epsilon(-0.3, true).unwrap();
        layers.set_bias(false).unwrap();
        layers.gin(&[4]).unwrap();
        layers.set_epsilon(1.0 / 3.0, false).unwrap();
        layers.attention(2, 3, Version::First).unwrap();
        layers.set_heads(Joined::Mean).unwrap();
        layers.set_self_loops(false).unwrap();
        layers.attention(1, 4, Version::Second).unwrap();
        layers.set_attention_dropout(0.25).unwrap();
        layers.set_bias(false).unwrap();
        layers.propagate(4, 0.1).unwrap();
        for &(activation, _) in ACTIVATIONS {
            layers.activation(activation).unwrap();
        }
        layers.dropout(0.7).unwrap();
        for &(norm, _) in NORMS {
            layers.norm(norm).unwrap();
        }
        layers.add(1).unwrap();
        let here = layers.last();
        layers.at(2).unwrap();
        layers.max(here).unwrap();
        layers.concat(here - 1).unwrap();
        layers
    }

    #[test]
    fn layers_come_back_from_their_json_as_they_were() {
        let layers = everything();
        let text = layers.to_json().to_string();
        let read = Layers::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(read.values(), layers.values());
        assert_eq!((read.last(), read.num_hops()), (layers.last(), layers.num_hops()));
        assert_eq!(read.to_json().to_string(), text);
    }

    #[test]
    fn json_that_lacks_or_changes_a_key_is_refused_with_the_operation_or_read_as_other_layers() {
        let layers = everything();
        let json = layers.to_json();
        let count = json["operations"].as_array().unwrap().len();
        for i in 0..count {
            let keys: Vec<String> = json["operations"][i].as_object().unwrap().keys().cloned().collect();
            for key in keys {
                for wrong in [Json::Null, json!(-1), json!("nothing"), json!([[]])] {
                    let mut changed = json.clone();
                    changed["operations"][i][&key] = wrong.clone();
                    let accepted = matches!((&key[..], &wrong), ("epsilon", Json::Number(_)));
                    match Layers::from_json(&changed) {
                        Ok(read) => assert!(accepted && read.values() != layers.values(), "{key} = {wrong}"),
                        Err(Error::BadFormat(text)) => {
                            assert!(!accepted && text.contains(&format!("operation {i}:")), "{key} = {wrong}: {text}")
                        }
                        Err(other) => panic!("{key} = {wrong}: {other:?}"),
                    }
                }
            }
        }
        for wrong in
            [json!({}), json!([]), json!({ "num_features": 0, "operations": [] }), json!({ "num_features": 3 })]
        {
            assert!(Layers::from_json(&wrong).is_err(), "{wrong}");
        }
    }
}
