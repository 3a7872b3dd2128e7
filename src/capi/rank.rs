//! Learning to rank.

use super::body::{copy, free, load};
use super::constant::{constant, constants};
use super::estimator::{gradient_on, plim_estimator};
use super::guard::{getter, guard};
use super::model::plim_model;
use super::optimizer::plim_optimizer;
use super::plan::{plan_on, plim_plan};
use super::ptr::{self, handles};
use super::status::plim_status;
use super::tail::{measure, plim_probe_options, plim_tail};
use super::train::{plim_history, plim_train_options, train_on};
use crate::error::{Error, ForThe, Result};
use crate::graph::{Split, check_indptr};
use crate::rank::{Data, Gain, Measure};
use crate::theory::plan::Goal;
use std::ffi::c_char;
use std::path::Path;

/// Queries, their documents, and the relevance of each document. Free it with plim_rank_data_free().
///
/// A model with one output scores documents. plim_model_gcn() creates it: with widths {136, 1} a
/// linear scorer, with {136, 32, 1} a perceptron with one hidden layer. Documents are not linked, so
/// each is scored on its own.
pub struct plim_rank_data {
    _opaque: [u8; 0],
}

/// A document of relevance y adds 2^y − 1 to DCG, as in LETOR. The default.
pub const PLIM_RANK_GAIN_EXPONENTIAL: i32 = 0;
/// A document of relevance y adds y to DCG, as in scikit-learn's ndcg_score().
pub const PLIM_RANK_GAIN_LINEAR: i32 = 1;

/// Mean over the pairs of a query of log(1 + exp(s_j − s_i)), where i ranks above j; NaN without a
/// pair.
pub const PLIM_RANK_MEASURE_LOSS: i32 = 0;
/// Fraction of the pairs of a query whose scores are in the right order, equal scores counting half;
/// NaN without a pair.
pub const PLIM_RANK_MEASURE_ACCURACY: i32 = 1;
/// NDCG of a query, as plim_rank_data_set_ndcg() defines it; 0 if no document is relevant.
pub const PLIM_RANK_MEASURE_NDCG: i32 = 2;

/// What the getters of ranking data return.
#[derive(Clone, Copy, Default)]
pub struct RankDataFacts {
    num_queries: usize,
    num_documents: usize,
    num_features: usize,
    splits: [usize; 3],
}

handles!(plim_rank_data, Data, RankDataFacts, |data| RankDataFacts {
    num_queries: data.num_queries(),
    num_documents: data.num_documents(),
    num_features: data.num_features(),
    splits: [Split::Train, Split::Val, Split::Test].map(|split| data.split(split).len()),
});

constants!(
    Gain,
    "gain",
    "PLIM_RANK_GAIN_",
    [(PLIM_RANK_GAIN_EXPONENTIAL, Exponential), (PLIM_RANK_GAIN_LINEAR, Linear)]
);

constants!(
    Measure,
    "measure",
    "PLIM_RANK_MEASURE_",
    [(PLIM_RANK_MEASURE_LOSS, Loss), (PLIM_RANK_MEASURE_ACCURACY, Accuracy), (PLIM_RANK_MEASURE_NDCG, Ndcg)]
);

/// Relevance and offsets.
///
/// # Safety
/// `relevance` must be readable for `num_documents` elements, `offsets` for one more than `num_queries`.
unsafe fn queries<'a>(
    num_documents: usize,
    relevance: *const i32,
    num_queries: usize,
    offsets: *const i64,
) -> Result<(&'a [i32], &'a [i64])> {
    // SAFETY: the caller's promise is passed on.
    let relevance = unsafe { ptr::slice("relevance", relevance, num_documents) }?;
    // SAFETY: as above.
    let offsets = unsafe { ptr::slice("offsets", offsets, num_queries.saturating_add(1)) }?;
    Ok((relevance, offsets))
}

/// Creates ranking data with dense features. All queries are training queries at first.
///
/// @param num_documents  number of documents of all queries, 1 .. INT32_MAX.
/// @param num_features   number of columns, 1 .. INT32_MAX.
/// @param row_major      `num_documents × num_features` finite values, one row per document.
/// @param relevance      `num_documents` numbers, 0 .. 1000; higher is more relevant.
/// @param num_queries    number of queries, 1 .. INT32_MAX.
/// @param offsets        `num_queries + 1` ascending numbers: query q has the documents offsets[q]
///                       .. offsets[q + 1] − 1, at least one.
/// @param out            receives the data; free them with plim_rank_data_free().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the last offset is not the number of documents.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_new(
    num_documents: usize,
    num_features: usize,
    row_major: *const f32,
    relevance: *const i32,
    num_queries: usize,
    offsets: *const i64,
    out: *mut *mut plim_rank_data,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises arrays of these lengths.
        let (relevance, offsets) = unsafe { queries(num_documents, relevance, num_queries, offsets) }?;
        let cells = num_documents.checked_mul(num_features);
        let cells =
            cells.ok_or_else(|| Error::InvalidArgument(format!("num_features = {num_features} is too large")))?;
        // SAFETY: the caller promises `num_documents` × `num_features` readable values.
        let row_major = unsafe { ptr::slice("row_major", row_major, cells) }?;
        out.give(Data::dense(num_features, row_major, relevance, offsets).for_the("documents")?)
    })
}

/// Creates ranking data with features in compressed sparse rows. All queries are training queries at
/// first.
///
/// @param num_documents  number of documents of all queries, 1 .. INT32_MAX.
/// @param num_features   number of columns, 1 .. INT32_MAX.
/// @param indptr         `num_documents + 1` offsets; the first is 0, and none is less than the one
///                       before it.
/// @param indices        `indptr[num_documents]` column ids, in any order within a row; repeated
///                       entries are added.
/// @param values         `indptr[num_documents]` finite values.
/// @param relevance      `num_documents` numbers, 0 .. 1000; higher is more relevant.
/// @param num_queries    number of queries, 1 .. INT32_MAX.
/// @param offsets        `num_queries + 1` numbers; see plim_rank_data_new().
/// @param out            receives the data; free them with plim_rank_data_free().
///
/// @return as plim_rank_data_new().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_new_sparse(
    num_documents: usize,
    num_features: usize,
    indptr: *const i64,
    indices: *const i32,
    values: *const f32,
    relevance: *const i32,
    num_queries: usize,
    offsets: *const i64,
    out: *mut *mut plim_rank_data,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises arrays of these lengths.
        let (relevance, offsets) = unsafe { queries(num_documents, relevance, num_queries, offsets) }?;
        // SAFETY: the caller promises `num_documents + 1` readable offsets.
        let indptr = unsafe { ptr::slice("indptr", indptr, num_documents.saturating_add(1)) }?;
        let entries = check_indptr(indptr, "indptr")?;
        // SAFETY: the caller promises `indptr[num_documents]` readable elements behind each pointer.
        let indices = unsafe { ptr::slice("indices", indices, entries) }?;
        // SAFETY: as above.
        let values = unsafe { ptr::slice("values", values, entries) }?;
        out.give(Data::sparse(num_features, (indptr, indices, values), relevance, offsets).for_the("documents")?)
    })
}

/// Reads ranking data from a text file in the format of LETOR and SVMlight, one document per line.
///
/// A line holds a relevance, a query and features: `2 qid:10 1:0.5 7:-3 # comment`. Features count
/// from 1, in any order and each at most once; missing ones are 0. The lines of a query are
/// consecutive. Blank lines and the text after # are ignored. All queries are training queries at
/// first.
///
/// @param path          a file name.
/// @param num_features  number of columns, or 0 for the largest feature in the file. Set it if
///                      several files belong together, since a file need not contain the last
///                      feature.
/// @param out           receives the data; free them with plim_rank_data_free().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: the file cannot be read.
///         PLIM_ERROR_BAD_FORMAT: plim_last_error() names line and column: "train.txt: line 3:
///           column 9: "0" is outside [1, 136]".
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_load(
    path: *const c_char,
    num_features: usize,
    out: *mut *mut plim_rank_data,
) -> plim_status {
    let read = |path: &Path| Data::load(path, num_features).for_the(format_args!("documents in {}", path.display()));
    // SAFETY: the caller promises `path` is NULL or a string, and `out` is NULL or valid for one write.
    unsafe { load(path, out, read) }
}

/// Frees ranking data.
///
/// @param data  the data; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_free(data: *mut plim_rank_data) {
    free(data);
}

/// Appends all queries of other data and adds them to a split, for example the queries of a
/// validation file.
///
/// @param data   the data to extend.
/// @param other  data with the same number of features. Either both are standardised by the same
///               numbers, or neither is. `other` does not change, and its splits are ignored.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: also if the two are not standardised alike.
///         PLIM_ERROR_SHAPE_MISMATCH: the numbers of features differ.
///         PLIM_ERROR_BUSY: also if both are the same handle.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_rank_data_append(
    data: *mut plim_rank_data,
    other: *const plim_rank_data,
    split: i32,
) -> plim_status {
    guard(|| {
        let (data, other) = (ptr::handle("data", data)?, ptr::handle("other", other)?);
        let (mut data, other) = (data.write()?, other.read()?);
        data.append(&other, constant::<Split>(split)?).for_the("documents")
    })
}

/// Standardises each feature: subtracts the mean over the training documents and divides by their
/// standard deviation.
///
/// The features become dense. A feature that is constant is not divided. The data keep the means and
/// deviations: pass them as `reference` to standardise other data alike.
///
/// @param data       the data, not yet standardised.
/// @param reference  the data whose training documents define means and deviations. If it is
///                   standardised, the numbers that it keeps are used. NULL selects `data` itself.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: `data` is standardised already, or a result is not finite.
///         PLIM_ERROR_SHAPE_MISMATCH: the numbers of features differ.
///         PLIM_ERROR_MISSING_DATA: the reference has no training queries.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_rank_data_standardize(
    data: *mut plim_rank_data,
    reference: *const plim_rank_data,
) -> plim_status {
    guard(|| {
        let data = ptr::handle("data", data)?;
        if reference.is_null() {
            return data.write()?.standardize(None).for_the("documents");
        }
        let reference = ptr::handle("reference", reference)?;
        let (mut data, reference) = (data.write()?, reference.read()?);
        data.standardize(Some(&reference)).for_the("documents")
    })
}

/// Sets the queries of a split, replacing earlier ones.
///
/// @param data     the data.
/// @param split    PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param queries  `count` different query numbers.
/// @param count    number of queries; 0 empties the split, and `queries` may then be NULL.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_set_split(
    data: *mut plim_rank_data,
    split: i32,
    queries: *const i32,
    count: usize,
) -> plim_status {
    guard(|| {
        let data = ptr::handle("data", data)?;
        let split = constant::<Split>(split)?;
        // SAFETY: the caller promises `count` readable numbers.
        let queries = unsafe { ptr::slice("queries", queries, count) }?;
        data.write()?.set_split(split, queries).for_the("split")
    })
}

/// Sets how NDCG is computed: the sum of gain / log2(1 + rank) over the first k documents, divided
/// by the same sum for the best order.
///
/// Documents with equal scores share their ranks, as in scikit-learn's ndcg_score().
///
/// @param data    the data.
/// @param cutoff  k, or 0 for all documents of a query. Default: 10.
/// @param gain    PLIM_RANK_GAIN_EXPONENTIAL (default) or PLIM_RANK_GAIN_LINEAR.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_rank_data_set_ndcg(data: *mut plim_rank_data, cutoff: usize, gain: i32) -> plim_status {
    guard(|| {
        let data = ptr::handle("data", data)?;
        data.write()?.set_ndcg(cutoff, constant::<Gain>(gain)?);
        Ok(())
    })
}

/// Returns the number of queries.
///
/// @param data  the data.
///
/// @return the number of queries.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_num_queries(data: *const plim_rank_data) -> usize {
    getter(|| Some(ptr::facts(data)?.num_queries))
}

/// Returns the number of documents of all queries.
///
/// @param data  the data.
///
/// @return the number of documents.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_num_documents(data: *const plim_rank_data) -> usize {
    getter(|| Some(ptr::facts(data)?.num_documents))
}

/// Returns the number of features per document.
///
/// @param data  the data.
///
/// @return the number of features.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_num_features(data: *const plim_rank_data) -> usize {
    getter(|| Some(ptr::facts(data)?.num_features))
}

/// Returns the number of queries in a split.
///
/// @param data   the data.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
///
/// @return the number; 0 if `split` is none of these.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_split_size(data: *const plim_rank_data, split: i32) -> usize {
    getter(|| Some(ptr::facts(data)?.splits[constant::<Split>(split).ok()? as usize]))
}

/// Copies the queries of a split, in the order in which they were set.
///
/// @param data      the data.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param dst       receives plim_rank_data_split_size() query numbers.
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_split(
    data: *const plim_rank_data,
    split: i32,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("data", data), (dst, capacity), |data| Ok(data.split(constant::<Split>(split)?))) }
}

/// Copies the index of the first document of each query, followed by the number of documents.
///
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_queries() + 1 numbers.
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_offsets(
    data: *const plim_rank_data,
    dst: *mut i64,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("data", data), (dst, capacity), |data| Ok(data.offsets())) }
}

/// Copies the relevance of each document.
///
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_documents() numbers.
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_relevance(
    data: *const plim_rank_data,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("data", data), (dst, capacity), |data| Ok(data.relevance())) }
}

/// Copies the id of each query: the number after qid in the file, or the query's index if the data
/// do not come from a file.
///
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_queries() ids.
/// @param capacity  number of ids that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_query_ids(
    data: *const plim_rank_data,
    dst: *mut i64,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("data", data), (dst, capacity), |data| Ok(data.query_ids())) }
}

/// Computes the score of every document. A higher score ranks higher.
///
/// @param model     a model whose input width is the number of features, with one output.
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_documents() scores.
/// @param capacity  number of scores that fit in `dst`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
///         PLIM_ERROR_DIVERGED: a score is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_score(
    model: *const plim_model,
    data: *const plim_rank_data,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let (model, data) = (ptr::handle("model", model)?, ptr::handle("data", data)?);
        let (model, data) = (model.read()?, data.read()?);
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, data.num_documents()) }?;
        data.scores(&model, |scores| buffer.put(scores)).for_the("scores")
    })
}

/// Measures a model on the queries of a split exactly, without sampling.
///
/// Loss and accuracy are means over the queries that have two documents of different relevance. NDCG
/// is a mean over all queries of the split; a query without a relevant document counts as 0.
///
/// @param model     a model whose input width is the number of features, with one output.
/// @param data      the data.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param loss      receives the mean loss, without the penalty of λ; may be NULL.
/// @param accuracy  receives the fraction of pairs in the right order; may be NULL.
/// @param ndcg      receives NDCG, as plim_rank_data_set_ndcg() defines it; may be NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
///         PLIM_ERROR_MISSING_DATA: no query of the split has two documents of different relevance.
///         PLIM_ERROR_DIVERGED: a score or the loss is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_evaluate(
    model: *const plim_model,
    data: *const plim_rank_data,
    split: i32,
    loss: *mut f64,
    accuracy: *mut f64,
    ndcg: *mut f64,
) -> plim_status {
    guard(|| {
        let (model, data) = (ptr::handle("model", model)?, ptr::handle("data", data)?);
        // SAFETY: the caller promises that each is NULL or valid for one write.
        let outs = unsafe {
            [
                ptr::optional_out("loss", loss)?,
                ptr::optional_out("accuracy", accuracy)?,
                ptr::optional_out("ndcg", ndcg)?,
            ]
        };
        let measures = data.read()?.evaluate(&*model.read()?, constant::<Split>(split)?).for_the("evaluation")?;
        let values = [measures.loss, measures.accuracy, measures.ndcg];
        outs.into_iter().zip(values).for_each(|(out, value)| out.into_iter().for_each(|out| out.set(value)));
        Ok(())
    })
}

/// Measures a model on each query of a split exactly, without sampling.
///
/// @param model     a model whose input width is the number of features, with one output.
/// @param data      the data.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param measure   PLIM_RANK_MEASURE_LOSS, PLIM_RANK_MEASURE_ACCURACY or PLIM_RANK_MEASURE_NDCG.
/// @param dst       receives plim_rank_data_split_size() numbers, in the order of
///                  plim_rank_data_copy_split().
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
///         PLIM_ERROR_MISSING_DATA: the split is empty.
///         PLIM_ERROR_DIVERGED: a score is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_measure(
    model: *const plim_model,
    data: *const plim_rank_data,
    split: i32,
    measure: i32,
    dst: *mut f64,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let (model, data) = (ptr::handle("model", model)?, ptr::handle("data", data)?);
        let (split, measure) = (constant::<Split>(split)?, constant::<Measure>(measure)?);
        let (model, data) = (model.read()?, data.read()?);
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, data.split(split).len()) }?;
        let measures: Vec<f64> =
            data.measure(&model, split).for_the("evaluation")?.iter().map(|query| query.of(measure)).collect();
        buffer.put(&measures);
        Ok(())
    })
}

/// Estimates the gradient of the ranking objective, and its value, at the model's parameters.
///
/// The objective is the mean over the queries of the batch of the mean over their pairs of log(1 +
/// exp(s_j − s_i)), where i ranks above j, plus λ/2 ‖W‖². In everything else the function works as
/// plim_estimator_gradient().
///
/// @param estimator   a full or unbiased estimator, which use all pairs, or one of
///                    plim_estimator_pairs() or plim_estimator_separate().
/// @param model       a model whose input width is the number of features, with one output.
/// @param data        the data.
/// @param batch       `batch_size` different queries, each with two documents of different
///                    relevance; (NULL, 0) for all such training queries. The full estimator takes
///                    only (NULL, 0).
/// @param batch_size  length of `batch`; at least 1 unless `batch` is NULL.
/// @param gradient    receives plim_model_num_parameters() values, in the order of
///                    plim_model_get_parameters().
/// @param capacity    number of values that fit in `gradient`.
/// @param loss        receives the estimate of the objective; may be NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
///         PLIM_ERROR_MISSING_DATA: no training query has two documents of different relevance.
///         PLIM_ERROR_UNSUPPORTED: the estimator is a consistent one, which draws neighbours.
///         PLIM_ERROR_DIVERGED: the loss or the gradient is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_gradient(
    estimator: *mut plim_estimator,
    model: *const plim_model,
    data: *const plim_rank_data,
    batch: *const i32,
    batch_size: usize,
    gradient: *mut f32,
    capacity: usize,
    loss: *mut f64,
) -> plim_status {
    let (batch, gradient) = ((batch, batch_size), (gradient, capacity));
    // SAFETY: the caller promises as much of these pointers.
    guard(|| unsafe { gradient_on((estimator, model), ("data", data), batch, gradient, loss) })
}

/// Trains a model to rank, as plim_train() trains one on a graph.
///
/// A batch consists of queries. Queries without two documents of different relevance are left out.
/// Accuracy is that of pairs, and NDCG has its own column and monitor: PLIM_HISTORY_VAL_NDCG and
/// PLIM_MONITOR_VAL_NDCG.
///
/// @param model      a model whose input width is the number of features, with one output; busy as
///                   in plim_train().
/// @param data       the data.
/// @param estimator  estimates the gradients.
/// @param optimizer  updates the parameters.
/// @param options    the options, or NULL for the defaults.
/// @param out        receives the history, to be freed with plim_history_free(); may be NULL.
///
/// @return as plim_train().
///         PLIM_ERROR_UNSUPPORTED: the estimator is a consistent one, or sampling is adaptive and
///           the estimator draws nothing.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_train(
    model: *mut plim_model,
    data: *const plim_rank_data,
    estimator: *mut plim_estimator,
    optimizer: *mut plim_optimizer,
    options: *const plim_train_options,
    out: *mut *mut plim_history,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { train_on(model, ("data", data), estimator, optimizer, options, out) })
}

/// Measures how large the errors of an estimator's gradients of a ranking are, as plim_tail_new()
/// does on a graph.
///
/// @param estimator     the estimator to measure; see plim_tail_probability().
/// @param model         a model whose input width is the number of features, with one output.
/// @param data          the data. A batch of the options consists of queries.
/// @param sample_sizes  `num_sizes` numbers, 1 .. INT32_MAX, each in turn in place of the
///                      estimator's: pairs or documents drawn per query, or the queries per batch of
///                      the unbiased estimator.
/// @param num_sizes     at least 1.
/// @param deltas        `num_deltas` relative errors δ, each finite and > 0; (NULL, 0) for none.
/// @param num_deltas    length of `deltas`.
/// @param options       the options, or NULL for the defaults.
/// @param out           receives the tail; free it with plim_tail_free().
///
/// @return as plim_tail_probability().
///         PLIM_ERROR_UNSUPPORTED: the estimator is a consistent one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_tail_new(
    estimator: *const plim_estimator,
    model: *const plim_model,
    data: *const plim_rank_data,
    sample_sizes: *const usize,
    num_sizes: usize,
    deltas: *const f64,
    num_deltas: usize,
    options: *const plim_probe_options,
    out: *mut *mut plim_tail,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        let (handles, on) = ((estimator, model), ("data", data));
        // SAFETY: the caller promises readable arrays of these lengths.
        out.give(unsafe { measure(handles, on, (sample_sizes, num_sizes), (deltas, num_deltas), options) }?)
    })
}

/// Searches for the smallest sample size for gradients of a ranking, and measures its cost, as
/// plim_plan_new() does on a graph.
///
/// Sizes are tried up to the largest number of documents of a query, or of pairs for
/// plim_estimator_pairs(), and at most 1048576.
///
/// @param estimator  one of plim_estimator_pairs() or plim_estimator_separate(), whose size is
///                   planned, or the unbiased one, whose number of queries per batch is planned. It
///                   does not change.
/// @param model      a model whose input width is the number of features, with one output; its
///                   threads share the work.
/// @param data       the data. A batch of the options consists of queries.
/// @param delta      δ, finite and > 0, relative to the norm of the exact gradient.
/// @param epsilon    ε, 0 < ε <= 1.
/// @param t          T, the number of steps, at least 1.
/// @param options    the options, or NULL for the defaults.
/// @param out        receives the plan; free it with plim_plan_free().
///
/// @return as plim_plan_new().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_plan_new(
    estimator: *const plim_estimator,
    model: *const plim_model,
    data: *const plim_rank_data,
    delta: f64,
    epsilon: f64,
    t: usize,
    options: *const plim_probe_options,
    out: *mut *mut plim_plan,
) -> plim_status {
    let goal = Goal { delta, epsilon, steps: t };
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { plan_on((estimator, model), ("data", data), goal, options, out) })
}
