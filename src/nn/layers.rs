//! The operations of a model as the caller wrote them: a list of values, each made from an earlier one.

use crate::error::{Error, Result, try_copied, try_reserve};

/// Operations that a model may have.
pub const MOST_OPERATIONS: usize = 1000;
/// Hops that a model may have.
pub const MOST_HOPS: usize = 64;
/// Linear layers that a GIN's MLP may have.
pub const MOST_LINEAR: usize = 64;

/// How the values of neighbours become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregator {
    /// Σ a h / Σ a; 0 where Σ a is 0.
    Mean,
    /// Σ a h.
    Sum,
    /// The largest of each column; 0 without neighbours. Of equal ones the lowest neighbour gets the gradient.
    Max,
    /// The smallest of each column; otherwise like the largest.
    Min,
}

/// A function of single numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// max(x, 0)
    Relu,
    /// x, or 0.01 x below 0.
    LeakyRelu,
    /// x, or e^x - 1 below 0.
    Elu,
    /// x Φ(x)
    Gelu,
    /// tanh x
    Tanh,
    /// 1 / (1 + e^-x)
    Sigmoid,
}

/// What a norm's mean and variance are taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Norm {
    /// The columns of a row.
    Layer,
    /// The rows of a column.
    Batch,
}

/// How attention scores an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// LeakyReLU(a·W h_u + b·W h_v): GAT.
    First,
    /// a·LeakyReLU(W_l h_u + W_r h_v): GATv2.
    Second,
}

impl Version {
    /// 1 or 2.
    pub fn from_number(number: i32) -> Result<Self> {
        match number {
            1 => Ok(Version::First),
            2 => Ok(Version::Second),
            _ => Err(Error::InvalidArgument(format!("gat: version = {number} is neither 1 nor 2"))),
        }
    }
}

/// What becomes of several heads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joined {
    /// One after the other.
    Concat,
    /// Their mean.
    Mean,
}

/// What makes a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// The features of the graph: value 0.
    Features,
    /// H W + b
    Linear {
        /// Whether there is a b.
        bias: bool,
    },
    /// Â H W + b
    Gcn {
        /// Whether there is a b.
        bias: bool,
    },
    /// agg(H) W_l + b + H W_r
    Sage {
        /// How neighbours are aggregated.
        aggregator: Aggregator,
        /// Whether there is a b.
        bias: bool,
    },
    /// MLP((1 + ε) H + A H), ReLU between its linear layers.
    Gin {
        /// Widths of the linear layers.
        widths: Vec<usize>,
        /// ε, or where it starts.
        epsilon: f64,
        /// Whether ε is a parameter.
        learned: bool,
        /// Whether the linear layers have biases.
        bias: bool,
    },
    /// Σ_u α_vu W h_u + b for each head, α by a softmax over neighbours.
    Gat {
        /// How entries are scored.
        version: Version,
        /// Number of heads.
        heads: usize,
        /// Columns of one head.
        width: usize,
        /// What becomes of the heads.
        joined: Joined,
        /// Whether each node is its own neighbour, once.
        self_loops: bool,
        /// In training, the probability that a coefficient becomes 0.
        dropout: f64,
        /// Whether there are biases.
        bias: bool,
    },
    /// agg(H)
    Aggregate {
        /// How neighbours are aggregated.
        aggregator: Aggregator,
    },
    /// H ← (1 - α) Â H + α H_0, repeated.
    Propagate {
        /// How often.
        hops: usize,
        /// α
        restart: f64,
    },
    /// A function of each number.
    Activation(Activation),
    /// In training, each number becomes 0 with this probability and is divided by the rest otherwise.
    Dropout {
        /// The probability.
        rate: f64,
    },
    /// Shifts and scales to mean 0 and variance 1, then by parameters.
    Norm(Norm),
    /// H + the other value.
    Add {
        /// The other value.
        value: usize,
    },
    /// The columns of H, then those of the other value.
    Concat {
        /// The other value.
        value: usize,
    },
    /// The larger of H and the other value, number by number; H where they are equal.
    Max {
        /// The other value.
        value: usize,
    },
}

impl Op {
    /// Its name in messages and files.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Features => "features",
            Op::Linear { .. } => "linear",
            Op::Gcn { .. } => "gcn",
            Op::Sage { .. } => "sage",
            Op::Gin { .. } => "gin",
            Op::Gat { .. } => "gat",
            Op::Aggregate { .. } => "aggregate",
            Op::Propagate { .. } => "propagate",
            Op::Activation(_) => "activation",
            Op::Dropout { .. } => "dropout",
            Op::Norm(_) => "norm",
            Op::Add { .. } => "add",
            Op::Concat { .. } => "concat",
            Op::Max { .. } => "max",
        }
    }

    /// How often it looks at neighbours.
    pub fn hops(&self) -> usize {
        match self {
            Op::Gcn { .. } | Op::Sage { .. } | Op::Gin { .. } | Op::Gat { .. } | Op::Aggregate { .. } => 1,
            Op::Propagate { hops, .. } => *hops,
            _ => 0,
        }
    }

    /// The second value that it reads.
    pub fn other(&self) -> Option<usize> {
        match *self {
            Op::Add { value } | Op::Concat { value } | Op::Max { value } => Some(value),
            _ => None,
        }
    }
}

/// A value and the operation that makes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// What makes it.
    pub op: Op,
    /// The value that the operation reads.
    pub input: usize,
    /// Its columns.
    pub width: usize,
}

/// The operations of a model in the making.
#[derive(Clone)]
pub struct Layers {
    values: Vec<Value>,
    /// The value that the next operation reads.
    last: usize,
    /// Whether the last value is the one appended last, so that setters may speak of it.
    fresh: bool,
    hops: usize,
}

impl Layers {
    /// No operations on features of this width.
    pub fn new(num_features: usize) -> Result<Self> {
        check_width("num_features", num_features)?;
        let features = Value { op: Op::Features, input: 0, width: num_features };
        Ok(Layers { values: vec![features], last: 0, fresh: false, hops: 0 })
    }

    /// The layers of the paper's model: graph convolutions without biases, ReLU between them, as many as wanted. `widths` have been
    /// checked.
    pub fn gcn(widths: &[usize]) -> Result<Self> {
        let mut layers = Layers::new(widths[0])?;
        for (l, &width) in widths[1..].iter().enumerate() {
            if l > 0 {
                layers.push(Op::Activation(Activation::Relu), layers.width())?;
            }
            layers.push(Op::Gcn { bias: false }, width)?;
        }
        Ok(layers)
    }

    /// All values; the first is the features.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value that the next operation reads, and that the model returns.
    pub fn last(&self) -> usize {
        self.last
    }

    /// Its columns.
    pub fn width(&self) -> usize {
        self.values[self.last].width
    }

    /// Whether an operation multiplies by Â.
    pub fn has_convolutions(&self) -> bool {
        self.values.iter().any(|value| matches!(value.op, Op::Gcn { .. } | Op::Propagate { .. }))
    }

    /// Whether Â may be applied to the features more than once before any weights.
    pub fn has_powers(&self) -> bool {
        self.values.iter().any(|value| matches!(value.op, Op::Propagate { .. }))
    }

    /// Number of hops.
    pub fn num_hops(&self) -> usize {
        self.hops
    }

    /// H W + b
    pub fn linear(&mut self, width: usize) -> Result<()> {
        self.weighted(Op::Linear { bias: true }, width)
    }

    /// Â H W + b
    pub fn graph_convolution(&mut self, width: usize) -> Result<()> {
        self.weighted(Op::Gcn { bias: true }, width)
    }

    /// agg(H) W_l + b + H W_r
    pub fn sage(&mut self, width: usize, aggregator: Aggregator) -> Result<()> {
        self.weighted(Op::Sage { aggregator, bias: true }, width)
    }

    fn weighted(&mut self, op: Op, width: usize) -> Result<()> {
        check_width(&format!("{}: width", op.name()), width)?;
        self.append(op, width)
    }

    /// MLP((1 + ε) H + A H) with linear layers of these widths.
    pub fn gin(&mut self, widths: &[usize]) -> Result<()> {
        let Some(&width) = widths.last().filter(|_| widths.len() <= MOST_LINEAR) else {
            let text = format!("gin: num_widths = {} is outside [1, {MOST_LINEAR}]", widths.len());
            return Err(Error::InvalidArgument(text));
        };
        for (i, &width) in widths.iter().enumerate() {
            check_width(&format!("gin: widths[{i}]"), width)?;
        }
        self.append(Op::Gin { widths: try_copied(widths)?, epsilon: 0.0, learned: false, bias: true }, width)
    }

    /// Attention over neighbours with heads of this width, one after the other.
    pub fn attention(&mut self, width: usize, heads: usize, version: Version) -> Result<()> {
        check_width("gat: width", width)?;
        check_width("gat: heads", heads)?;
        let all = width.saturating_mul(heads);
        check_width("gat: width times heads", all)?;
        let (joined, self_loops, dropout, bias) = (Joined::Concat, true, 0.0, true);
        self.append(Op::Gat { version, heads, width, joined, self_loops, dropout, bias }, all)
    }

    /// agg(H)
    pub fn aggregate(&mut self, aggregator: Aggregator) -> Result<()> {
        self.append(Op::Aggregate { aggregator }, self.width())
    }

    /// H ← (1 - α) Â H + α H_0, `hops` times.
    pub fn propagate(&mut self, hops: usize, restart: f64) -> Result<()> {
        if hops == 0 || hops > MOST_HOPS {
            return Err(Error::InvalidArgument(format!("propagate: hops = {hops} is outside [1, {MOST_HOPS}]")));
        }
        if !(0.0..1.0).contains(&restart) {
            return Err(Error::InvalidArgument(format!("propagate: restart = {restart} is outside [0, 1)")));
        }
        self.append(Op::Propagate { hops, restart }, self.width())
    }

    /// A function of each number.
    pub fn activation(&mut self, activation: Activation) -> Result<()> {
        self.append(Op::Activation(activation), self.width())
    }

    /// Drops numbers in training.
    pub fn dropout(&mut self, rate: f64) -> Result<()> {
        if !(0.0..1.0).contains(&rate) {
            return Err(Error::InvalidArgument(format!("dropout: rate = {rate} is outside [0, 1)")));
        }
        self.append(Op::Dropout { rate }, self.width())
    }

    /// Mean 0 and variance 1, then scaled and shifted by parameters.
    pub fn norm(&mut self, norm: Norm) -> Result<()> {
        self.append(Op::Norm(norm), self.width())
    }

    /// Goes on from an earlier value.
    pub fn at(&mut self, value: usize) -> Result<()> {
        self.check_value("at", value)?;
        (self.last, self.fresh) = (value, false);
        Ok(())
    }

    /// The last value + another.
    pub fn add(&mut self, value: usize) -> Result<()> {
        self.check_same_width("add", value)?;
        self.append(Op::Add { value }, self.width())
    }

    /// The columns of the last value, then those of another.
    pub fn concat(&mut self, value: usize) -> Result<()> {
        self.check_value("concat", value)?;
        let width = self.width() + self.values[value].width;
        check_width("concat: the sum of the widths", width)?;
        self.append(Op::Concat { value }, width)
    }

    /// The larger of the last value and another, number by number.
    pub fn max(&mut self, value: usize) -> Result<()> {
        self.check_same_width("max", value)?;
        self.append(Op::Max { value }, self.width())
    }

    /// Whether the operation appended last has biases.
    pub fn set_bias(&mut self, on: bool) -> Result<()> {
        match self.newest("bias")? {
            Op::Linear { bias }
            | Op::Gcn { bias }
            | Op::Sage { bias, .. }
            | Op::Gin { bias, .. }
            | Op::Gat { bias, .. } => {
                *bias = on;
                Ok(())
            }
            op => Err(has_no(op, "bias")),
        }
    }

    /// Whether each node is its own neighbour in the attention appended last.
    pub fn set_self_loops(&mut self, on: bool) -> Result<()> {
        match self.newest("self_loops")? {
            Op::Gat { self_loops, .. } => {
                *self_loops = on;
                Ok(())
            }
            op => Err(has_no(op, "self_loops")),
        }
    }

    /// What becomes of the heads of the attention appended last.
    pub fn set_heads(&mut self, to: Joined) -> Result<()> {
        match self.newest("heads")? {
            Op::Gat { joined, heads, width, .. } => {
                *joined = to;
                let width = if to == Joined::Mean { *width } else { *heads * *width };
                self.values[self.last].width = width;
                Ok(())
            }
            op => Err(has_no(op, "heads")),
        }
    }

    /// The probability that a coefficient of the attention appended last becomes 0 in training.
    pub fn set_attention_dropout(&mut self, rate: f64) -> Result<()> {
        match self.newest("attention_dropout")? {
            Op::Gat { dropout, .. } => {
                if !(0.0..1.0).contains(&rate) {
                    let text = format!("gat: attention_dropout: rate = {rate} is outside [0, 1)");
                    return Err(Error::InvalidArgument(text));
                }
                *dropout = rate;
                Ok(())
            }
            op => Err(has_no(op, "attention_dropout")),
        }
    }

    /// ε of the operation appended last, and whether it is a parameter.
    pub fn set_epsilon(&mut self, value: f64, is_learned: bool) -> Result<()> {
        match self.newest("epsilon")? {
            Op::Gin { epsilon, learned, .. } => {
                if !(value as f32).is_finite() {
                    return Err(Error::InvalidArgument(format!("gin: epsilon = {value} is not a finite float")));
                }
                (*epsilon, *learned) = (value, is_learned);
                Ok(())
            }
            op => Err(has_no(op, "epsilon")),
        }
    }

    /// Appends an operation on the last value. Its own arguments have been checked.
    fn append(&mut self, op: Op, width: usize) -> Result<()> {
        let (count, name) = (self.values.len(), op.name());
        if count > MOST_OPERATIONS {
            return Err(Error::InvalidArgument(format!(
                "{name}: the layers have {MOST_OPERATIONS} operations already"
            )));
        }
        let hops = self.hops + op.hops();
        if hops > MOST_HOPS {
            let text = format!("{name}: the layers would have {hops} hops, more than {MOST_HOPS}");
            return Err(Error::InvalidArgument(text));
        }
        self.push(op, width)
    }

    fn push(&mut self, op: Op, width: usize) -> Result<()> {
        try_reserve(&mut self.values, 1, "operations")?;
        self.hops += op.hops();
        self.values.push(Value { op, input: self.last, width });
        (self.last, self.fresh) = (self.values.len() - 1, true);
        Ok(())
    }

    /// Checks that these layers make a model: every value reaches the last one.
    pub fn check_complete(&self) -> Result<()> {
        if self.last == 0 {
            let text = "layers: the last value is 0, the features; a model needs an operation on them";
            return Err(Error::InvalidArgument(text.to_string()));
        }
        let mut used = vec![false; self.values.len()];
        used[self.last] = true;
        for (i, value) in self.values.iter().enumerate().skip(1).rev() {
            if !used[i] {
                let text =
                    format!("layers: value {i} ({}) does not reach the last value, {}", value.op.name(), self.last);
                return Err(Error::InvalidArgument(text));
            }
            used[value.input] = true;
            if let Some(other) = value.op.other() {
                used[other] = true;
            }
        }
        Ok(())
    }

    fn newest(&mut self, what: &str) -> Result<&mut Op> {
        if !self.fresh {
            let text = match self.values.len() {
                1 => format!("{what}: there is no operation yet"),
                _ => format!("{what}: set it right after its operation; value {} was gone back to since", self.last),
            };
            return Err(Error::InvalidArgument(text));
        }
        Ok(&mut self.values[self.last].op)
    }

    fn check_value(&self, name: &str, value: usize) -> Result<()> {
        if value >= self.values.len() {
            let text = format!("{name}: value = {value}, but the largest is {} so far", self.values.len() - 1);
            return Err(Error::InvalidArgument(text));
        }
        Ok(())
    }

    fn check_same_width(&self, name: &str, value: usize) -> Result<()> {
        self.check_value(name, value)?;
        let (here, there) = (self.width(), self.values[value].width);
        if here != there {
            let text = format!("{name}: value {} has width {here}, value {value} has width {there}", self.last);
            return Err(Error::ShapeMismatch(text));
        }
        Ok(())
    }
}

/// The operations with the widths that they change, in a line.
impl std::fmt::Display for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} features", self.values[0].width)?;
        for (i, value) in self.values.iter().enumerate().skip(1) {
            write!(f, ", {}", value.op.name())?;
            let input = &self.values[value.input];
            if value.width != input.width {
                write!(f, " {}", value.width)?;
            }
            if value.input + 1 != i {
                write!(f, " of value {}", value.input)?;
            }
        }
        Ok(())
    }
}

fn has_no(op: &Op, what: &str) -> Error {
    Error::InvalidArgument(format!("{what}: the operation appended last, {}, has none", op.name()))
}

fn check_width(name: &str, width: usize) -> Result<()> {
    if width == 0 || width > i32::MAX as usize {
        return Err(Error::InvalidArgument(format!("{name} = {width} is outside [1, {}]", i32::MAX)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(width: usize) -> Layers {
        Layers::new(width).unwrap()
    }

    /// Checks that a call fails as an invalid argument, with all of these texts, and appends nothing.
    fn assert_refused(layers: &mut Layers, call: impl FnOnce(&mut Layers) -> Result<()>, texts: &[&str]) {
        let before = (layers.values().to_vec(), layers.last(), layers.num_hops());
        match call(layers) {
            Err(Error::InvalidArgument(text)) => {
                texts.iter().for_each(|wanted| assert!(text.contains(wanted), "{text}: {wanted}"))
            }
            other => panic!("{other:?} instead of {texts:?}"),
        }
        assert!((layers.values().to_vec(), layers.last(), layers.num_hops()) == before);
    }

    #[test]
    fn each_operation_makes_a_value_of_its_width() {
        let mut layers = layers(5);
        assert_eq!((layers.last(), layers.width(), layers.num_hops()), (0, 5, 0));
        layers.linear(7).unwrap();
        layers.graph_convolution(4).unwrap();
        layers.sage(3, Aggregator::Max).unwrap();
        layers.gin(&[9, 6]).unwrap();
        layers.aggregate(Aggregator::Sum).unwrap();
        layers.propagate(3, 0.1).unwrap();
        layers.activation(Activation::Gelu).unwrap();
        layers.dropout(0.5).unwrap();
        layers.norm(Norm::Layer).unwrap();
        layers.add(4).unwrap();
        layers.max(5).unwrap();
        layers.concat(1).unwrap();
        let widths: Vec<usize> = layers.values().iter().map(|value| value.width).collect();
        assert_eq!(widths, [5, 7, 4, 3, 6, 6, 6, 6, 6, 6, 6, 6, 13]);
        assert_eq!((layers.last(), layers.width(), layers.num_hops()), (12, 13, 7));
    }

    #[test]
    fn wrong_numbers_are_refused_with_the_operation_and_the_number() {
        assert!(matches!(Layers::new(0), Err(Error::InvalidArgument(text)) if text.contains("num_features = 0")));
        let mut layers = layers(2);
        layers.linear(3).unwrap();
        assert_refused(&mut layers, |l| l.linear(0), &["linear", "width = 0"]);
        assert_refused(&mut layers, |l| l.graph_convolution(1 << 31), &["gcn", "width = 2147483648"]);
        assert_refused(&mut layers, |l| l.sage(0, Aggregator::Sum), &["sage", "width = 0"]);
        assert_refused(&mut layers, |l| l.gin(&[]), &["gin", "num_widths = 0"]);
        assert_refused(&mut layers, |l| l.gin(&[4, 0]), &["gin", "widths[1] = 0"]);
        assert_refused(&mut layers, |l| l.attention(0, 2, Version::First), &["gat", "width = 0"]);
        assert_refused(&mut layers, |l| l.attention(2, 0, Version::First), &["gat", "heads = 0"]);
        assert_refused(
            &mut layers,
            |l| l.attention(1 << 16, 1 << 15, Version::First),
            &["width times heads = 2147483648"],
        );
        assert_refused(&mut layers, |l| l.attention(2, usize::MAX, Version::Second), &["gat: heads"]);
        assert_refused(&mut layers, |l| l.propagate(0, 0.0), &["propagate", "hops = 0"]);
        assert_refused(&mut layers, |l| l.propagate(1, 1.0), &["propagate", "restart = 1"]);
        assert_refused(&mut layers, |l| l.propagate(1, f64::NAN), &["propagate", "restart = NaN"]);
        assert_refused(&mut layers, |l| l.dropout(1.0), &["dropout", "rate = 1"]);
        assert_refused(&mut layers, |l| l.dropout(-0.1), &["dropout", "rate = -0.1"]);
        assert_refused(&mut layers, |l| l.at(2), &["at", "value = 2", "largest is 1"]);
        assert_refused(&mut layers, |l| l.add(9), &["add", "value = 9"]);
        assert_refused(&mut layers, |l| l.concat(9), &["concat", "value = 9"]);
    }

    #[test]
    fn values_of_different_widths_are_refused_with_both_widths() {
        let mut layers = layers(2);
        layers.linear(3).unwrap();
        for (name, result) in [("add", layers.clone().add(0)), ("max", layers.clone().max(0))] {
            let Err(Error::ShapeMismatch(text)) = result else { panic!("{name} of widths 3 and 2") };
            assert_eq!(text, format!("{name}: value 1 has width 3, value 0 has width 2"));
        }
    }

    #[test]
    fn setters_speak_of_the_operation_appended_last_and_of_no_other() {
        let mut layers = layers(2);
        assert_refused(&mut layers, |l| l.set_bias(false), &["bias", "no operation yet"]);
        layers.gin(&[2]).unwrap();
        layers.set_bias(false).unwrap();
        layers.set_epsilon(0.5, true).unwrap();
        let wanted = Op::Gin { widths: vec![2], epsilon: 0.5, learned: true, bias: false };
        assert_eq!(layers.values()[1].op, wanted);
        assert_refused(&mut layers, |l| l.set_epsilon(f64::INFINITY, true), &["gin", "epsilon = inf"]);
        assert_refused(&mut layers, |l| l.set_epsilon(1e300, true), &["gin", "not a finite float"]);
        layers.linear(2).unwrap();
        assert_refused(&mut layers, |l| l.set_epsilon(0.5, true), &["epsilon", "linear", "has none"]);
        layers.activation(Activation::Relu).unwrap();
        assert_refused(&mut layers, |l| l.set_bias(true), &["bias", "activation", "has none"]);
        // Also where the value gone back to is the one made last.
        layers.linear(2).unwrap();
        layers.at(4).unwrap();
        assert_refused(&mut layers, |l| l.set_bias(true), &["bias", "value 4 was gone back to"]);
        layers.at(1).unwrap();
        assert_refused(&mut layers, |l| l.set_epsilon(0.0, true), &["epsilon", "value 1 was gone back to"]);
        assert_eq!(layers.values()[1].op, wanted);
    }

    #[test]
    fn heads_stand_side_by_side_or_become_their_mean() {
        let mut layers = layers(2);
        layers.attention(3, 4, Version::Second).unwrap();
        assert_eq!((layers.width(), layers.num_hops()), (12, 1));
        layers.set_heads(Joined::Mean).unwrap();
        assert_eq!(layers.width(), 3);
        layers.set_heads(Joined::Concat).unwrap();
        assert_eq!(layers.width(), 12);
        layers.set_self_loops(false).unwrap();
        layers.set_attention_dropout(0.6).unwrap();
        layers.set_bias(false).unwrap();
        let wanted = Op::Gat {
            version: Version::Second,
            heads: 4,
            width: 3,
            joined: Joined::Concat,
            self_loops: false,
            dropout: 0.6,
            bias: false,
        };
        assert_eq!(layers.values()[1].op, wanted);
        for rate in [1.0, -0.1, f64::NAN] {
            assert_refused(&mut layers, |l| l.set_attention_dropout(rate), &["gat: attention_dropout: rate ="]);
        }
        layers.linear(2).unwrap();
        assert_refused(&mut layers, |l| l.set_heads(Joined::Mean), &["heads", "linear, has none"]);
        assert_refused(&mut layers, |l| l.set_self_loops(true), &["self_loops", "linear, has none"]);
        assert_refused(&mut layers, |l| l.set_attention_dropout(0.5), &["attention_dropout", "linear, has none"]);
        layers.at(1).unwrap();
        assert_refused(&mut layers, |l| l.set_heads(Joined::Mean), &["heads", "value 1 was gone back to"]);
        assert_eq!(layers.width(), 12);
    }

    #[test]
    fn there_are_sixty_four_hops_and_not_one_more() {
        let mut layers = layers(2);
        layers.propagate(62, 0.0).unwrap();
        assert_refused(&mut layers, |l| l.propagate(3, 0.0), &["propagate", "65 hops", "64"]);
        layers.graph_convolution(2).unwrap();
        layers.gin(&[2]).unwrap();
        assert_eq!(layers.num_hops(), MOST_HOPS);
        assert_refused(&mut layers, |l| l.aggregate(Aggregator::Mean), &["aggregate", "65 hops"]);
        layers.linear(2).unwrap();
        assert!(layers.check_complete().is_ok());
        assert_refused(&mut Layers::new(2).unwrap(), |l| l.propagate(65, 0.0), &["hops = 65"]);
    }

    #[test]
    fn there_are_a_thousand_operations_and_not_one_more() {
        let mut layers = layers(2);
        (0..MOST_OPERATIONS).for_each(|_| layers.linear(2).unwrap());
        assert_refused(&mut layers, |l| l.linear(2), &["linear", "1000 operations"]);
        assert_eq!(layers.last(), MOST_OPERATIONS);
        assert!(layers.check_complete().is_ok());
    }

    #[test]
    fn a_value_that_does_not_reach_the_last_one_is_named() {
        let mut layers = layers(2);
        let refused = |layers: &Layers, wanted: &str| match layers.check_complete() {
            Err(Error::InvalidArgument(text)) => assert!(text.contains(wanted), "{text}"),
            other => panic!("{other:?}"),
        };
        refused(&layers, "the last value is 0");
        layers.linear(2).unwrap();
        layers.graph_convolution(2).unwrap();
        layers.at(1).unwrap();
        refused(&layers, "value 2 (gcn) does not reach the last value, 1");
        layers.linear(2).unwrap();
        refused(&layers, "value 2 (gcn) does not reach the last value, 3");
        layers.max(2).unwrap();
        assert!(layers.check_complete().is_ok());
        layers.at(3).unwrap();
        refused(&layers, "value 4 (max)");
    }

    #[test]
    fn the_text_of_layers_has_widths_that_change_and_values_gone_back_to() {
        let mut layers = layers(2);
        layers.linear(3).unwrap();
        layers.activation(Activation::Relu).unwrap();
        layers.at(1).unwrap();
        layers.concat(2).unwrap();
        assert_eq!(layers.to_string(), "2 features, linear 3, activation, concat 6 of value 1");
    }
}
