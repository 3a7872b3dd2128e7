//! Gradient estimators.

use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::handle::Object;
use super::model::plim_model;
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::{Error, Result};
use crate::estimator::{Estimator, Problem, Property};
use crate::sample::Distribution;

/// Estimates gradients of a model on a graph. Release it with plim_estimator_free().
pub struct plim_estimator {
    _opaque: [u8; 0],
}

/// Draw from all nodes alike. The default.
pub const PLIM_DISTRIBUTION_UNIFORM: i32 = 0;
/// Draw from all nodes in proportion to ‖Â(:,u)‖².
pub const PLIM_DISTRIBUTION_IMPORTANCE: i32 = 1;
/// Draw alike from S, the nodes that the rows above are linked to.
pub const PLIM_DISTRIBUTION_NEIGHBORS: i32 = 2;
/// Draw from S in proportion to ‖Â(rows above, u)‖².
pub const PLIM_DISTRIBUTION_LADIES: i32 = 3;

/// The mean over batches and draws is the gradient over all training nodes, or training queries.
pub const PLIM_PROPERTY_UNBIASED: u32 = 1;
/// The estimate converges to the batch's exact gradient as the sample sizes grow.
pub const PLIM_PROPERTY_CONSISTENT: u32 = 2;
/// The estimate is the gradient over all training nodes, or training queries.
pub const PLIM_PROPERTY_EXACT: u32 = 4;

/// What the getters tell of a estimator.
#[derive(Clone, Copy, Default)]
pub struct EstimatorFacts {
    property: u32,
}

impl Object for Estimator {
    const NAME: &'static str = "plim_estimator";
    type Facts = EstimatorFacts;

    fn facts(&self) -> EstimatorFacts {
        EstimatorFacts { property: property_bits(self.property()) }
    }
}

impl Opaque for plim_estimator {
    type Object = Estimator;
}

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

/// Makes the full estimator: the exact gradient over all training nodes. It takes no batch.
///
/// @param out  receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_full(out: *mut *mut plim_estimator) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Estimator::full()))
}

/// Makes the unbiased estimator: the exact gradient of a batch, from its whole neighbourhood.
///
/// @param out  receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_unbiased(out: *mut *mut plim_estimator) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Estimator::unbiased()))
}

/// Makes a consistent estimator: the gradient of a batch from a few nodes drawn at each layer's input.
///
/// For each gradient, t nodes are drawn afresh with replacement from a distribution P, and the columns u of Â that
/// were drawn are weighted by 1 / (t·P(u)). The estimate is biased, and converges as the sample sizes grow.
///
/// @param sample_sizes  draws at the input of each layer, input layer first; 0 for an exact layer.
/// @param num_layers    the model's number of layers, at least 1.
/// @param out           receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is
///                      returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT or PLIM_ERROR_OUT_OF_MEMORY.
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
        out.give(Estimator::consistent(sizes)?)
    })
}

/// Makes an estimator for rankings: the gradient of a batch of queries from ranked pairs drawn of each.
///
/// For each gradient and query, t of its pairs of documents of different relevance are drawn afresh with replacement, all
/// alike, and their losses averaged. Unbiased and consistent.
///
/// @param num_pairs  t, in [1, 1048576].
/// @param out        receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_estimator_pairs(num_pairs: usize, out: *mut *mut plim_estimator) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        out.give(Estimator::pairs(num_pairs)?)
    })
}

/// Makes an estimator for rankings: the gradient of a batch of queries from all ranked pairs between two samples of each.
///
/// For each gradient and query, t documents i are drawn from the n_i that rank above another, and t documents j from the n_j
/// that rank below another, afresh and with replacement. Each pair of one i and one j that is ranked in this order has
/// the weight n_i n_j / t² over the number of the query's ranked pairs, which makes the estimate unbiased and consistent.
/// Self-normalised, the pairs of the sample have equal weights that add up to 1: the estimate is biased and consistent; a query
/// whose sample has no ranked pair adds 0. Where relevance has two levels both are the same.
///
/// @param num_documents    t, in [1, 1048576].
/// @param self_normalized  0 for fixed weights; anything else for self-normalised ones.
/// @param out              receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is
///                         returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
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

/// Ends an estimator's handle.
///
/// @param estimator  the estimator; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_estimator_free(estimator: *mut plim_estimator) {
    getter(|| {
        ptr::free(estimator);
        Some(())
    })
}

/// Starts the draws anew under a seed.
///
/// Draws are keyed by the seed, the number of gradients since it was set, and the layer: the same seed gives the same
/// sequence of gradients.
///
/// @param estimator  the estimator.
/// @param seed       0 at first.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_estimator_set_seed(estimator: *mut plim_estimator, seed: u64) -> plim_status {
    guard(|| {
        ptr::handle("estimator", estimator)?.write()?.set_seed(seed);
        Ok(())
    })
}

/// Chooses the distribution that nodes are drawn from, in place of an earlier choice or weights.
///
/// Over all nodes the useful draws are those that hit a neighbour, so the sample size must grow with the graph; over S,
/// the neighbours of the rows above, it need not.
///
/// @param estimator     a consistent estimator.
/// @param distribution  PLIM_DISTRIBUTION_UNIFORM (default), PLIM_DISTRIBUTION_IMPORTANCE,
///                      PLIM_DISTRIBUTION_NEIGHBORS or PLIM_DISTRIBUTION_LADIES.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_UNSUPPORTED (an estimator that
///         draws nothing), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_estimator_set_distribution(estimator: *mut plim_estimator, distribution: i32) -> plim_status {
    guard(|| {
        let estimator = ptr::handle("estimator", estimator)?;
        let distribution = distribution_of(distribution)?;
        estimator.write()?.set_distribution(distribution)
    })
}

/// Draws nodes in proportion to the caller's weights, in place of an earlier choice.
///
/// @param estimator  a consistent estimator.
/// @param weights    `num_nodes` finite weights > 0: a node that is never drawn would be missing for good.
/// @param num_nodes  the graph's number of nodes, at least 1; checked when a gradient is asked for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_UNSUPPORTED (an estimator that
///         draws nothing), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
        estimator.write()?.set_distribution(Distribution::from_weights(weights)?)
    })
}

/// Pins the draws at the input of a layer: the caller's own sampler. They stay until they are taken back.
///
/// The sample size of that layer is then `count`; the columns' weights follow from the distribution as for draws of
/// the library's own. An estimator with pinned draws declares no property.
///
/// @param estimator  a consistent estimator.
/// @param layer      0 for the input layer.
/// @param nodes      `count` node ids, repeats count; ids beyond the graph are found when a gradient is asked for.
/// @param count      0 takes the draws back; `nodes` may then be NULL.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_UNSUPPORTED (an estimator that
///         draws nothing), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
        estimator.write()?.set_draws(layer, nodes)
    })
}

/// What an estimator is: the bits PLIM_PROPERTY_UNBIASED, PLIM_PROPERTY_CONSISTENT and PLIM_PROPERTY_EXACT.
///
/// @param estimator  the estimator.
///
/// @return 7 for the full estimator, 1 for the unbiased one and for a consistent one that samples no layer, 2 for a
///         consistent one, 0 with pinned draws; 3 for pairs and for separate samples, 2 if they are self-normalised; 0 for
///         NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_estimator_property(estimator: *const plim_estimator) -> u32 {
    getter(|| Some(ptr::facts(estimator)?.property))
}

/// Estimates loss and gradient at the model's parameters.
///
/// The objective is the mean cross-entropy over the batch plus λ/2 ‖W‖². A call that fails leaves the sequence of draws
/// where it was. Once its buffers have grown to the largest step, a call allocates nothing.
///
/// @param estimator   the estimator.
/// @param model       the model.
/// @param graph       a graph with features that fit the model, labels and, for NULL as batch, training nodes.
/// @param batch       `batch_size` labelled node ids, none twice; NULL with 0 for all training nodes, which is all that
///                    the full estimator takes.
/// @param batch_size  length of the list.
/// @param gradient    receives plim_model_num_parameters() values, in the order of plim_model_get_parameters();
///                    untouched unless PLIM_OK is returned.
/// @param capacity    values that `gradient` has room for.
/// @param loss        receives the objective as estimated; may be NULL. Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an entry of the batch or of pinned draws),
///         PLIM_ERROR_SHAPE_MISMATCH (widths, sample sizes or weights do not fit), PLIM_ERROR_MISSING_DATA,
///         PLIM_ERROR_UNSUPPORTED (an estimator for rankings), PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (not
///         finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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

/// Estimates on a problem behind a handle, which is named in complaints.
///
/// # Safety
/// `batch` must be readable for so many ids, `gradient` and `loss` NULL or valid for so many writes, and for one.
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
    let (value, gradient) = estimator.gradient(&model, &*problem, batch)?;
    buffer.put(gradient);
    loss.into_iter().for_each(|out| out.set(value));
    Ok(())
}
