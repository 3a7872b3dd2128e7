//! Gradient estimators.

use super::body::{change, free};
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::model::plim_model;
use super::ptr::{self, Opaque, handles};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result};
use crate::estimator::{Estimator, Problem, Property};
use crate::sample::Distribution;

/// Computes or estimates gradients of a model. Free it with plim_estimator_free().
pub struct plim_estimator {
    _opaque: [u8; 0],
}

/// All nodes, each with the same probability. The default.
pub const PLIM_DISTRIBUTION_UNIFORM: i32 = 0;
/// All nodes; the probability of u is proportional to ‖Â(:,u)‖².
pub const PLIM_DISTRIBUTION_IMPORTANCE: i32 = 1;
/// Only the nodes that the layer aggregates from, each with the same probability.
pub const PLIM_DISTRIBUTION_NEIGHBORS: i32 = 2;
/// Only the nodes that the layer aggregates from; the probability of u is proportional to ‖Â(R,u)‖²,
/// where R are the nodes whose outputs the layer computes.
pub const PLIM_DISTRIBUTION_LADIES: i32 = 3;

/// The mean of the estimate over batches and draws is the gradient over all training nodes or
/// queries.
pub const PLIM_PROPERTY_UNBIASED: u32 = 1;
/// The estimate converges to the exact gradient of the batch as the sample sizes grow.
pub const PLIM_PROPERTY_CONSISTENT: u32 = 2;
/// The estimate is the gradient over all training nodes or queries.
pub const PLIM_PROPERTY_EXACT: u32 = 4;

/// What the getters of an estimator return.
#[derive(Clone, Copy, Default)]
pub struct EstimatorFacts {
    property: u32,
    /// For a model with a batch norm.
    property_with_batch_norm: u32,
}

handles!(plim_estimator, Estimator, EstimatorFacts, |estimator| EstimatorFacts {
    property: property_bits(estimator.property_with(false)),
    property_with_batch_norm: property_bits(estimator.property_with(true)),
});

fn property_bits(property: Property) -> u32 {
    let bit = |is: bool, bit: u32| if is { bit } else { 0 };
    bit(property.unbiased, PLIM_PROPERTY_UNBIASED)
        | bit(property.consistent, PLIM_PROPERTY_CONSISTENT)
        | bit(property.exact, PLIM_PROPERTY_EXACT)
}

fn distribution_of(constant: i32) -> Result<Distribution> {
    match constant {
        PLIM_DISTRIBUTION_UNIFORM => Ok(Distribution::Uniform),
        PLIM_DISTRIBUTION_IMPORTANCE => Ok(Distribution::Importance),
        PLIM_DISTRIBUTION_NEIGHBORS => Ok(Distribution::Neighbors),
        PLIM_DISTRIBUTION_LADIES => Ok(Distribution::Ladies),
        _ => Err(Error::InvalidArgument(format!("distribution = {constant} is not a PLIM_DISTRIBUTION_ constant"))),
    }
}

/// Creates the full estimator: the exact gradient over all training nodes. It takes no batch.
///
/// @param out  receives the estimator; free it with plim_estimator_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_full(out: *mut *mut plim_estimator) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Estimator::full()))
}

/// Creates the unbiased estimator: the exact gradient of a batch, from its whole neighbourhood.
///
/// @param out  receives the estimator; free it with plim_estimator_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_unbiased(out: *mut *mut plim_estimator) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Estimator::unbiased()))
}

/// Creates a consistent estimator: the gradient of a batch, from a few nodes drawn at the input of
/// each layer.
///
/// A layer is a hop here, for a model made of layers: see plim_layers. Operations without neighbours
/// have no sample size. For each gradient and layer, t nodes are drawn with replacement from a distribution P, see
/// plim_estimator_set_distribution(). The column of Â of a drawn node u has the weight 1 / (t·P(u)).
/// The estimate is biased and converges as the sample sizes grow.
///
/// @param sample_sizes  `num_layers` numbers t, the input layer first; 0 makes the input of that
///                      layer exact.
/// @param num_layers    plim_model_num_layers() of the model, at least 1.
/// @param out           receives the estimator; free it with plim_estimator_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_consistent(
    sample_sizes: *const usize,
    num_layers: usize,
    out: *mut *mut plim_estimator,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `num_layers` readable sizes.
        let sizes = unsafe { ptr::slice("sample_sizes", sample_sizes, num_layers) }?;
        out.give(Estimator::consistent(sizes).for_the("sample sizes")?)
    })
}

/// Creates an estimator for rankings: the gradient of a batch of queries, from pairs of documents
/// drawn per query.
///
/// A pair is two documents of a query with different relevance. For each gradient and query, t pairs
/// are drawn with replacement, all with the same probability, and their losses averaged. The
/// estimate is unbiased and consistent.
///
/// @param num_pairs  t, 1 .. 1048576.
/// @param out        receives the estimator; free it with plim_estimator_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_pairs(num_pairs: usize, out: *mut *mut plim_estimator) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        out.give(Estimator::pairs(num_pairs)?)
    })
}

/// Creates an estimator for rankings: the gradient of a batch of queries, from two samples of
/// documents per query.
///
/// For each gradient and query, t documents i are drawn with replacement from the n_i documents that
/// rank above another one, and t documents j from the n_j that rank below another one. The sum is
/// over the pairs (i, j) of the two samples in which i ranks above j. The weights of these pairs are
/// one of the following:
/// - fixed: n_i·n_j / t², divided by the number of pairs of the query. The estimate is unbiased and
///   consistent.
/// - self-normalised: equal, with sum 1. The estimate is biased and consistent. A query without such
///   a pair contributes 0.
///
/// With two levels of relevance both are the same.
///
/// @param num_documents    t, 1 .. 1048576.
/// @param self_normalized  0 for fixed weights, any other value for self-normalised ones.
/// @param out              receives the estimator; free it with plim_estimator_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_separate(
    num_documents: usize,
    self_normalized: i32,
    out: *mut *mut plim_estimator,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        out.give(Estimator::separate(num_documents, self_normalized != 0)?)
    })
}

/// Frees an estimator.
///
/// @param estimator  the estimator; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_estimator_free(estimator: *mut plim_estimator) {
    free(estimator);
}

/// Sets the seed of the draws and restarts their sequence.
///
/// Draws depend on the seed, the number of gradients since it was set, and the layer; so do the zeros
/// of plim_layers_dropout(), and every estimator has them.
///
/// @param estimator  the estimator.
/// @param seed       any value. Default: 0.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_estimator_set_seed(estimator: *mut plim_estimator, seed: u64) -> plim_status {
    change("estimator", estimator, |estimator| {
        estimator.set_seed(seed);
        Ok(())
    })
}

/// Selects the distribution P that nodes are drawn from. It replaces an earlier choice and earlier
/// weights.
///
/// With PLIM_DISTRIBUTION_UNIFORM, PLIM_DISTRIBUTION_IMPORTANCE or weights, only the draws that the
/// layer aggregates from contribute, so sample sizes must grow with the graph. With
/// PLIM_DISTRIBUTION_NEIGHBORS or PLIM_DISTRIBUTION_LADIES they need not.
///
/// @param estimator     a consistent estimator.
/// @param distribution  PLIM_DISTRIBUTION_UNIFORM (default), PLIM_DISTRIBUTION_IMPORTANCE,
///                      PLIM_DISTRIBUTION_NEIGHBORS or PLIM_DISTRIBUTION_LADIES.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_UNSUPPORTED: the estimator draws no nodes.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_estimator_set_distribution(estimator: *mut plim_estimator, distribution: i32) -> plim_status {
    guard(|| {
        let estimator = ptr::handle("estimator", estimator)?;
        let distribution = distribution_of(distribution)?;
        estimator.write()?.set_distribution(distribution)
    })
}

/// Draws nodes with probabilities proportional to your weights. It replaces an earlier choice of
/// distribution.
///
/// @param estimator  a consistent estimator.
/// @param weights    `num_nodes` finite weights > 0 with a finite sum. A weight of 0 is an error,
///                   since the estimate would not converge.
/// @param num_nodes  number of nodes of the graph, at least 1; the next gradient checks it.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_UNSUPPORTED: the estimator draws no nodes.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_set_weights(
    estimator: *mut plim_estimator,
    weights: *const f64,
    num_nodes: usize,
) -> plim_status {
    guard(|| {
        let estimator = ptr::handle("estimator", estimator)?;
        // SAFETY: the caller promises `num_nodes` readable weights.
        let weights = unsafe { ptr::slice("weights", weights, num_nodes) }?;
        estimator.write()?.set_distribution(Distribution::from_weights(weights).for_the("weights")?)
    })
}

/// Sets the nodes drawn at the input of a layer, for example by your own sampler. They stay until
/// you replace or remove them.
///
/// The sample size of the layer is then `count`. Weights of the columns follow from the
/// distribution, as for the library's own draws. An estimator with such draws has no property.
///
/// @param estimator  a consistent estimator.
/// @param layer      the layer; 0 is the input layer.
/// @param nodes      `count` node ids >= 0, which may repeat; the next gradient checks them against
///                   the graph.
/// @param count      number of draws; 0 removes them, and `nodes` may then be NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_UNSUPPORTED: the estimator draws no nodes.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_set_draws(
    estimator: *mut plim_estimator,
    layer: usize,
    nodes: *const i32,
    count: usize,
) -> plim_status {
    guard(|| {
        let estimator = ptr::handle("estimator", estimator)?;
        // SAFETY: the caller promises `count` readable ids.
        let nodes = unsafe { ptr::slice("nodes", nodes, count) }?;
        estimator.write()?.set_draws(layer, nodes).for_the("draws")
    })
}

/// Returns the declared property of an estimator: the bits PLIM_PROPERTY_UNBIASED,
/// PLIM_PROPERTY_CONSISTENT and PLIM_PROPERTY_EXACT.
///
/// @param estimator  the estimator.
///
/// @return 7 for the full estimator.
///         1 for the unbiased one, and for a consistent one whose sample sizes are all 0.
///         2 for a consistent one, and for plim_estimator_separate() with self-normalised weights.
///         3 for plim_estimator_pairs(), and for plim_estimator_separate() with fixed weights.
///         0 after plim_estimator_set_draws().
#[unsafe(no_mangle)]
pub extern "C" fn plim_estimator_property(estimator: *const plim_estimator) -> u32 {
    getter(|| Some(ptr::facts(estimator)?.property))
}

/// Returns the property of an estimator for gradients of a model, in the bits of
/// plim_estimator_property().
///
/// @param estimator  the estimator.
/// @param model      the model.
///
/// @return 0 if the model has a batch norm and the estimator takes a batch: the statistics of one
///           batch are not those of all nodes.
///         plim_estimator_property() otherwise. With dropout, the property holds for given zeros.
#[unsafe(no_mangle)]
pub extern "C" fn plim_estimator_property_of(estimator: *const plim_estimator, model: *const plim_model) -> u32 {
    getter(|| {
        let (estimator, model) = (ptr::facts(estimator)?, ptr::facts(model)?);
        Some(if model.has_batch_norm { estimator.property_with_batch_norm } else { estimator.property })
    })
}

/// Estimates the gradient of the objective, and its value, at the model's parameters.
///
/// The objective is the mean cross-entropy over the batch plus λ/2 ‖W‖². A call that fails does not
/// advance the sequence of draws. Once the estimator's buffers have grown to the largest step, a
/// call allocates no memory.
///
/// @param estimator   the estimator.
/// @param model       the model.
/// @param graph       a graph with labels, and with features that fit the model.
/// @param batch       `batch_size` different node ids with labels; (NULL, 0) for all training nodes.
///                    The full estimator takes only (NULL, 0).
/// @param batch_size  length of `batch`; at least 1 unless `batch` is NULL.
/// @param gradient    receives plim_model_num_parameters() values, in the order of
///                    plim_model_get_parameters().
/// @param capacity    number of values that fit in `gradient`.
/// @param loss        receives the estimate of the objective; may be NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: also if a batch norm has fewer than 2 rows.
///         PLIM_ERROR_SHAPE_MISMATCH: widths, number of sample sizes or number of weights do not fit
///           model and graph.
///         PLIM_ERROR_MISSING_DATA: there are no features, labels or training nodes, or a training
///           node has no label.
///         PLIM_ERROR_UNSUPPORTED: the estimator is for rankings.
///         PLIM_ERROR_DIVERGED: the loss or the gradient is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_gradient(
    estimator: *mut plim_estimator,
    model: *const plim_model,
    graph: *const plim_graph,
    batch: *const i32,
    batch_size: usize,
    gradient: *mut f32,
    capacity: usize,
    loss: *mut f64,
) -> plim_status {
    let (batch, gradient) = ((batch, batch_size), (gradient, capacity));
    // SAFETY: the caller promises as much of these pointers.
    guard(|| unsafe { gradient_on((estimator, model), ("graph", graph), batch, gradient, loss) })
}

/// Estimates a gradient on the problem of a handle. Errors name the handle.
///
/// # Safety
/// `batch` must be readable for `batch_size` ids. `gradient` must be NULL or valid for `capacity` writes, `loss` NULL or
/// valid for one.
pub(super) unsafe fn gradient_on<C: Opaque<Object: Problem>>(
    (estimator, model): (*mut plim_estimator, *const plim_model),
    (name, problem): (&str, *const C),
    (batch, batch_size): (*const i32, usize),
    (gradient, capacity): (*mut f32, usize),
    loss: *mut f64,
) -> Result<()> {
    let estimator = ptr::handle("estimator", estimator)?;
    let (model, problem) = (ptr::handle("model", model)?, ptr::handle(name, problem)?);
    let (mut estimator, model, problem) = (estimator.write()?, model.read()?, problem.read()?);
    // SAFETY: the caller's promise is passed on.
    let batch = unsafe { ptr::list_or_all("batch", batch, batch_size) }?;
    // SAFETY: as above.
    let buffer = unsafe { ptr::buffer("gradient", gradient, capacity, model.parameters().len()) }?;
    // SAFETY: as above.
    let loss = unsafe { ptr::optional_out("loss", loss) }?;
    let (value, gradient) = estimator.gradient(&model, &*problem, batch).for_the("gradient")?;
    buffer.put(gradient);
    loss.into_iter().for_each(|out| out.set(value));
    Ok(())
}
