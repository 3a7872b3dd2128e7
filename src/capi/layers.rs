//! Models from layers: the list of operations that plim_model_new() takes.

use super::body::{change, free};
use super::constant::{constant, constants};
use super::guard::{getter, guard};
use super::ptr::{self, handles};
use super::status::plim_status;
use crate::error::ForThe;
use crate::nn::{Activation, Aggregator, Joined, Layers, Norm, Version};

/// The operations of a model, in the order in which you append them. Free it with plim_layers_free().
///
/// plim_model_new() makes a model of them. GraphSAGE with dropout, for 8 features and 3 classes:
///
///     plim_layers *layers = NULL;
///     plim_model *model = NULL;
///     plim_status s = plim_layers_new(8, &layers);
///     if (!s) s = plim_layers_sage(layers, 16, PLIM_AGGREGATOR_MEAN);
///     if (!s) s = plim_layers_activation(layers, PLIM_ACTIVATION_RELU);
///     if (!s) s = plim_layers_dropout(layers, 0.5);
///     if (!s) s = plim_layers_sage(layers, 3, PLIM_AGGREGATOR_MEAN);
///     if (!s) s = plim_model_new(layers, 1, &model);
///     plim_layers_free(layers);
///
/// Values. Each operation makes a value: a matrix with one row per node. Value 0 is the features;
/// the operation appended as number i makes value i. An operation reads the last value, H in the
/// formulas. plim_layers_at() makes an earlier value the last one, for residuals and branches. The
/// last value is the output of the model, before the softmax. At most 1000 operations.
///
/// Hops. Only plim_layers_gcn(), plim_layers_sage(), plim_layers_gin(), plim_layers_gat() and
/// plim_layers_aggregate() (one hop each) and plim_layers_propagate() (`hops` of them) look at
/// neighbours. A consistent estimator takes one sample size per hop, in the order of the operations. At
/// most 64 hops.
///
/// Edges. plim_layers_gcn() and plim_layers_propagate() use Â: the normalisation, the edge weights
/// and the self-loops of the graph. plim_layers_sage(), plim_layers_gin() and plim_layers_aggregate()
/// use A, the edges with their weights as they are. PLIM_AGGREGATOR_MAX, PLIM_AGGREGATOR_MIN and
/// plim_layers_gat() use the edges without weights.
///
/// Modes. Gradients and training run in training mode: dropout is on, and a batch norm uses the
/// statistics of the rows at hand. Predictions, evaluations and plim_model_embed_value() run in
/// evaluation mode: dropout is off, and a batch norm uses its running statistics, which only training
/// updates. Measurements switch dropout off.
///
/// Names and meaning are those of PyTorch Geometric, with its defaults.
pub struct plim_layers {
    _opaque: [u8; 0],
}

/// What the getters of layers return.
#[derive(Clone, Copy, Default)]
pub struct LayersFacts {
    last: usize,
    width: usize,
    num_hops: usize,
}

handles!(plim_layers, Layers, LayersFacts, |layers| LayersFacts {
    last: layers.last(),
    width: layers.width(),
    num_hops: layers.num_hops()
});

/// Σ_u a_vu h_u / Σ_u a_vu, over the neighbours u of v with edge weights a_vu; 0 where Σ_u a_vu is 0.
pub const PLIM_AGGREGATOR_MEAN: i32 = 0;
/// Σ_u a_vu h_u.
pub const PLIM_AGGREGATOR_SUM: i32 = 1;
/// The largest number of each column over the neighbours, without weights; 0 without neighbours. Of
/// equal numbers, the neighbour with the lowest id receives the gradient.
pub const PLIM_AGGREGATOR_MAX: i32 = 2;
/// The smallest number of each column over the neighbours, without weights; 0 without neighbours. Of
/// equal numbers, the neighbour with the lowest id receives the gradient.
pub const PLIM_AGGREGATOR_MIN: i32 = 3;

constants!(
    Aggregator,
    "aggregator",
    "PLIM_AGGREGATOR_",
    [(PLIM_AGGREGATOR_MEAN, Mean), (PLIM_AGGREGATOR_SUM, Sum), (PLIM_AGGREGATOR_MAX, Max), (PLIM_AGGREGATOR_MIN, Min)]
);

/// The columns of the first head, then those of the second, and so on.
pub const PLIM_HEADS_CONCAT: i32 = 0;
/// The mean of all heads, column by column.
pub const PLIM_HEADS_MEAN: i32 = 1;

constants!(Joined, "heads", "PLIM_HEADS_", [(PLIM_HEADS_CONCAT, Concat), (PLIM_HEADS_MEAN, Mean)]);

/// max(x, 0).
pub const PLIM_ACTIVATION_RELU: i32 = 0;
/// x, or 0.01 x where x < 0.
pub const PLIM_ACTIVATION_LEAKY_RELU: i32 = 1;
/// x, or e^x - 1 where x < 0.
pub const PLIM_ACTIVATION_ELU: i32 = 2;
/// x Φ(x), where Φ is the distribution function of the standard normal distribution.
pub const PLIM_ACTIVATION_GELU: i32 = 3;
/// tanh(x).
pub const PLIM_ACTIVATION_TANH: i32 = 4;
/// 1 / (1 + e^-x).
pub const PLIM_ACTIVATION_SIGMOID: i32 = 5;

constants!(
    Activation,
    "activation",
    "PLIM_ACTIVATION_",
    [
        (PLIM_ACTIVATION_RELU, Relu),
        (PLIM_ACTIVATION_LEAKY_RELU, LeakyRelu),
        (PLIM_ACTIVATION_ELU, Elu),
        (PLIM_ACTIVATION_GELU, Gelu),
        (PLIM_ACTIVATION_TANH, Tanh),
        (PLIM_ACTIVATION_SIGMOID, Sigmoid)
    ]
);

/// Mean and variance of each row, over its columns.
pub const PLIM_NORM_LAYER: i32 = 0;
/// Mean and variance of each column, over nodes.
pub const PLIM_NORM_BATCH: i32 = 1;

constants!(Norm, "norm", "PLIM_NORM_", [(PLIM_NORM_LAYER, Layer), (PLIM_NORM_BATCH, Batch)]);

/// Creates a list without operations; its last value is 0, the features.
///
/// @param num_features  number of features of the graphs that the model will read, 1 .. INT32_MAX.
/// @param out           receives the layers; free them with plim_layers_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_layers_new(num_features: usize, out: *mut *mut plim_layers) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Layers::new(num_features)?))
}

/// Frees layers. Models made of them are not affected.
///
/// @param layers  the layers; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_layers_free(layers: *mut plim_layers) {
    free(layers);
}

/// Returns the number of the last value: the one that the next operation reads.
///
/// @param layers  the layers.
///
/// @return the number of the value; 0 is the features. 0 also for a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_layers_last(layers: *const plim_layers) -> usize {
    getter(|| Some(ptr::facts(layers)?.last))
}

/// Returns the number of columns of the last value.
///
/// @param layers  the layers.
///
/// @return the width, at least 1. 0 for a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_layers_width(layers: *const plim_layers) -> usize {
    getter(|| Some(ptr::facts(layers)?.width))
}

/// Returns the number of hops of all operations: the number of sample sizes of a consistent estimator.
///
/// @param layers  the layers.
///
/// @return the number of hops.
#[unsafe(no_mangle)]
pub extern "C" fn plim_layers_num_hops(layers: *const plim_layers) -> usize {
    getter(|| Some(ptr::facts(layers)?.num_hops))
}

/// Appends a linear layer: H W + b, without neighbours.
///
/// W and b are drawn uniformly from ±1/sqrt(fan_in), where fan_in is the width of H. Tensors: `weight`,
/// `bias`.
///
/// @param layers  the layers.
/// @param width   number of columns of the new value, 1 .. INT32_MAX.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_linear(layers: *mut plim_layers, width: usize) -> plim_status {
    change("layers", layers, |layers| layers.linear(width))
}

/// Appends a graph convolution: Â H W + b. One hop.
///
/// W is drawn uniformly from ±sqrt(6 / (fan_in + width)), where fan_in is the width of H; b is 0.
/// Tensors: `lin.weight`, `bias`. plim_graph_set_normalization() selects Â.
///
/// @param layers  the layers.
/// @param width   number of columns of the new value, 1 .. INT32_MAX.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_gcn(layers: *mut plim_layers, width: usize) -> plim_status {
    change("layers", layers, |layers| layers.graph_convolution(width))
}

/// Appends a GraphSAGE layer: agg(H) W_l + b + H W_r. One hop.
///
/// W_l, W_r and b are drawn uniformly from ±1/sqrt(fan_in), where fan_in is the width of H. Tensors:
/// `lin_l.weight`, `lin_l.bias`, `lin_r.weight`.
///
/// @param layers      the layers.
/// @param width       number of columns of the new value, 1 .. INT32_MAX.
/// @param aggregator  PLIM_AGGREGATOR_MEAN, PLIM_AGGREGATOR_SUM, PLIM_AGGREGATOR_MAX or
///                    PLIM_AGGREGATOR_MIN.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_sage(layers: *mut plim_layers, width: usize, aggregator: i32) -> plim_status {
    change("layers", layers, |layers| layers.sage(width, constant::<Aggregator>(aggregator)?))
}

/// Appends a graph isomorphism layer: MLP((1 + ε) H + A H). One hop.
///
/// The MLP has `num_widths` linear layers with ReLU between them. Their weights and biases are drawn
/// uniformly from ±1/sqrt(fan_in), where fan_in is the input width of each. Tensors: `nn.0.weight`,
/// `nn.0.bias`, `nn.2.weight`, `nn.2.bias`, …, and `eps` if ε is a parameter.
/// plim_layers_set_epsilon() sets ε; it is 0 unless set.
///
/// @param layers      the layers.
/// @param widths      `num_widths` widths of the outputs of the linear layers, 1 .. INT32_MAX each; the
///                    last one is the number of columns of the new value.
/// @param num_widths  1 .. 64.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_layers_gin(
    layers: *mut plim_layers,
    widths: *const usize,
    num_widths: usize,
) -> plim_status {
    guard(|| {
        let layers = ptr::handle("layers", layers)?;
        // SAFETY: the caller promises `num_widths` readable widths.
        let widths = unsafe { ptr::slice("widths", widths, num_widths) }?;
        layers.write()?.gin(widths).for_the("widths")
    })
}

/// Appends attention: for each head, Σ_u α_vu x_u over the neighbours u of v and v itself, plus b. One
/// hop.
///
/// Version 1 is GAT: x = H W, and α_v is the softmax over u of LeakyReLU(a_src·x_u + a_dst·x_v). Version
/// 2 is GATv2: x = H W_l + b_l, y = H W_r + b_r, and α_v is the softmax of a·LeakyReLU(x_u + y_v). The
/// slope of LeakyReLU is 0.2. Edge weights are ignored. If an estimator draws neighbours, it adds the
/// logarithm of a neighbour's weight to its score.
///
/// The heads stand one after the other, unless plim_layers_set_heads() says otherwise. See also
/// plim_layers_set_self_loops() and plim_layers_set_attention_dropout().
///
/// W, W_l and W_r are drawn uniformly from ±sqrt(6 / (fan_in + heads·width)), where fan_in is the width
/// of H; a, a_src and a_dst from ±sqrt(6 / (heads + width)); b_l and b_r from ±1/sqrt(fan_in); b is 0.
/// Tensors: `lin.weight`, `att_src`, `att_dst`, `bias` for version 1; `lin_l.weight`, `lin_l.bias`,
/// `lin_r.weight`, `lin_r.bias`, `att`, `bias` for version 2. An `att` has the numbers of the first head,
/// then those of the second, and so on.
///
/// @param layers   the layers.
/// @param width    number of columns of one head, 1 .. INT32_MAX.
/// @param heads    number of heads, 1 .. INT32_MAX; width·heads is at most INT32_MAX.
/// @param version  1 for GAT, 2 for GATv2.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_gat(layers: *mut plim_layers, width: usize, heads: usize, version: i32) -> plim_status {
    change("layers", layers, |layers| layers.attention(width, heads, Version::from_number(version)?))
}

/// Appends an aggregation of neighbours: agg(H), without parameters. One hop.
///
/// @param layers      the layers.
/// @param aggregator  PLIM_AGGREGATOR_MEAN, PLIM_AGGREGATOR_SUM, PLIM_AGGREGATOR_MAX or
///                    PLIM_AGGREGATOR_MIN.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_aggregate(layers: *mut plim_layers, aggregator: i32) -> plim_status {
    change("layers", layers, |layers| layers.aggregate(constant::<Aggregator>(aggregator)?))
}

/// Appends a propagation: H ← (1 - α) Â H + α H_0, `hops` times, where H_0 is the value it starts from;
/// without parameters.
///
/// With α = 0 and a linear layer this is SGC, with α > 0 after an MLP it is APPNP.
///
/// @param layers   the layers.
/// @param hops     number of steps and of hops, 1 .. 64.
/// @param restart  α, in [0, 1).
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_propagate(layers: *mut plim_layers, hops: usize, restart: f64) -> plim_status {
    change("layers", layers, |layers| layers.propagate(hops, restart))
}

/// Appends a function of each number.
///
/// @param layers      the layers.
/// @param activation  PLIM_ACTIVATION_RELU, PLIM_ACTIVATION_LEAKY_RELU, PLIM_ACTIVATION_ELU,
///                    PLIM_ACTIVATION_GELU, PLIM_ACTIVATION_TANH or PLIM_ACTIVATION_SIGMOID.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_activation(layers: *mut plim_layers, activation: i32) -> plim_status {
    change("layers", layers, |layers| layers.activation(constant::<Activation>(activation)?))
}

/// Appends dropout: in training mode each number becomes 0 with probability p, and is divided by 1 - p
/// otherwise. In evaluation mode numbers stay as they are.
///
/// Which numbers become 0 depends on the estimator's seed, the number of gradients since it was set,
/// the value, the node and the column, and not on the other nodes of the batch. The property of an
/// estimator holds for given zeros.
///
/// @param layers  the layers.
/// @param rate    p, in [0, 1).
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_dropout(layers: *mut plim_layers, rate: f64) -> plim_status {
    change("layers", layers, |layers| layers.dropout(rate))
}

/// Appends a norm: γ (h - mean) / sqrt(variance + 1e-5) + β, with γ and β per column.
///
/// γ starts at 1, β at 0. Tensors: `weight` (γ), `bias` (β). A batch norm also has running statistics,
/// which are no parameters: they start at mean 0 and variance 1, and each step of training moves them
/// by 0.1 towards those of the step (variance with n - 1). In training mode its statistics are over all
/// nodes with the full estimator, and over the rows at hand with any other, so that such an estimator
/// has no property: see plim_estimator_property_of(). A gradient with fewer than 2 rows fails with
/// PLIM_ERROR_INVALID_ARGUMENT.
///
/// @param layers  the layers.
/// @param norm    PLIM_NORM_LAYER or PLIM_NORM_BATCH.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_norm(layers: *mut plim_layers, norm: i32) -> plim_status {
    change("layers", layers, |layers| layers.norm(constant::<Norm>(norm)?))
}

/// Goes on from an earlier value: makes it the last one. It appends no operation.
///
/// @param layers  the layers.
/// @param value   0 for the features, or the number of an operation appended so far.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_at(layers: *mut plim_layers, value: usize) -> plim_status {
    change("layers", layers, |layers| layers.at(value))
}

/// Appends a sum: H + the other value.
///
/// @param layers  the layers.
/// @param value   the other value, as for plim_layers_at(); its width is that of H.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the widths differ.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_add(layers: *mut plim_layers, value: usize) -> plim_status {
    change("layers", layers, |layers| layers.add(value))
}

/// Appends a concatenation: the columns of H, then those of the other value.
///
/// @param layers  the layers.
/// @param value   the other value, as for plim_layers_at(); both widths together are at most INT32_MAX.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_concat(layers: *mut plim_layers, value: usize) -> plim_status {
    change("layers", layers, |layers| layers.concat(value))
}

/// Appends a maximum: the larger number of H and the other value, element by element. Where both are
/// equal, H receives the gradient.
///
/// @param layers  the layers.
/// @param value   the other value, as for plim_layers_at(); its width is that of H.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the widths differ.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_max(layers: *mut plim_layers, value: usize) -> plim_status {
    change("layers", layers, |layers| layers.max(value))
}

/// Sets whether the operation appended last has biases. Call it right after the operation.
///
/// @param layers  the layers; the operation is plim_layers_linear(), plim_layers_gcn(),
///                plim_layers_sage(), plim_layers_gin() or plim_layers_gat().
/// @param on      0 for no biases. Default: on.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: the operation has no biases, or the last call was
///           plim_layers_at(), or there is no operation.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_set_bias(layers: *mut plim_layers, on: i32) -> plim_status {
    change("layers", layers, |layers| layers.set_bias(on != 0))
}

/// Sets ε of the plim_layers_gin() appended last. Call it right after the operation.
///
/// @param layers   the layers.
/// @param epsilon  ε, or where it starts if it is a parameter; finite as a float. Default: 0.
/// @param learned  0: ε is fixed; otherwise it is a parameter, the tensor `eps`. Default: 0.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: the operation has no ε, or the last call was plim_layers_at(),
///           or there is no operation.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_set_epsilon(layers: *mut plim_layers, epsilon: f64, learned: i32) -> plim_status {
    change("layers", layers, |layers| layers.set_epsilon(epsilon, learned != 0))
}

/// Sets whether each node attends to itself in the plim_layers_gat() appended last. Call it right after
/// the operation.
///
/// @param layers  the layers.
/// @param on      0: the neighbours are those of the graph's edges, and a node without any is 0 before b
///                is added; otherwise each node is its own neighbour once, whether or not the graph has
///                a self-loop there. Default: on.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: the operation is not attention, or the last call was
///           plim_layers_at(), or there is no operation.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_set_self_loops(layers: *mut plim_layers, on: i32) -> plim_status {
    change("layers", layers, |layers| layers.set_self_loops(on != 0))
}

/// Sets what becomes of the heads of the plim_layers_gat() appended last. Call it right after the
/// operation: it changes the width of the value.
///
/// @param layers  the layers.
/// @param heads   PLIM_HEADS_CONCAT for heads·width columns, or PLIM_HEADS_MEAN for `width` columns.
///                Default: PLIM_HEADS_CONCAT.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: the operation is not attention, or the last call was
///           plim_layers_at(), or there is no operation.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_set_heads(layers: *mut plim_layers, heads: i32) -> plim_status {
    change("layers", layers, |layers| layers.set_heads(constant::<Joined>(heads)?))
}

/// Sets the dropout of coefficients of the plim_layers_gat() appended last: in training mode each α_vu
/// becomes 0 with probability p, and is divided by 1 - p otherwise. Call it right after the operation.
///
/// Which coefficients become 0 depends on the same as for plim_layers_dropout(), with both nodes and the
/// head in place of node and column.
///
/// @param layers  the layers.
/// @param rate    p, in [0, 1). Default: 0.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: the operation is not attention, or the last call was
///           plim_layers_at(), or there is no operation.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_layers_set_attention_dropout(layers: *mut plim_layers, rate: f64) -> plim_status {
    change("layers", layers, |layers| layers.set_attention_dropout(rate))
}
