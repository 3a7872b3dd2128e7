//! Learning to rank.

use super::estimator::{gradient_on, plim_estimator};
use super::guard::{getter, guard};
use super::handle::Object;
use super::model::plim_model;
use super::optimizer::plim_optimizer;
use super::plan::{plan_on, plim_plan};
use super::ptr::{self, Opaque};
use super::status::plim_status;
use super::tail::{measure, plim_probe_options, plim_tail};
use super::train::{plim_history, plim_train_options, train_on};
use crate::error::{Error, Result};
use crate::graph::{Split, check_indptr};
use crate::rank::{Data, Gain, Measure};
use crate::theory::plan::Goal;
use std::ffi::c_char;

/// Queries, their documents, and how relevant each document is. Release it with plim_rank_data_free().
///
/// A model with one output scores documents: {136, 1} is a linear scorer, {136, 32, 1} a perceptron with a hidden layer of
/// ReLU. plim_model_gcn() makes both; documents have no links, so that each is scored by itself.
pub struct plim_rank_data {
    _opaque: [u8; 0],
}

/// A document of relevance y adds 2^y − 1 to DCG, as in LETOR. The default.
pub const PLIM_RANK_GAIN_EXPONENTIAL: i32 = 0;
/// A document of relevance y adds y to DCG, as in scikit-learn's ndcg_score().
pub const PLIM_RANK_GAIN_LINEAR: i32 = 1;

/// Mean over a query's pairs of log(1 + exp(s_j − s_i)), i ranked above j; NaN without a pair.
pub const PLIM_RANK_MEASURE_LOSS: i32 = 0;
/// Share of a query's pairs that the scores put in the right order, equal scores counting half; NaN without a pair.
pub const PLIM_RANK_MEASURE_ACCURACY: i32 = 1;
/// NDCG of a query, as plim_rank_data_set_ndcg() says; 0 if no document is relevant.
pub const PLIM_RANK_MEASURE_NDCG: i32 = 2;

/// What the getters tell of rank data.
#[derive(Clone, Copy, Default)]
pub struct RankDataFacts {
    num_queries: usize,
    num_documents: usize,
    num_features: usize,
    splits: [usize; 3],
}

impl Object for Data {
    const NAME: &'static str = "plim_rank_data";
    type Facts = RankDataFacts;

    fn facts(&self) -> RankDataFacts {
        RankDataFacts {
            num_queries: self.num_queries(),
            num_documents: self.num_documents(),
            num_features: self.num_features(),
            splits: [Split::Train, Split::Val, Split::Test].map(|split| self.split(split).len()),
        }
    }
}

impl Opaque for plim_rank_data {
    type Object = Data;
}

fn gain_of(constant: i32) -> Result<Gain> {
    match constant {
        PLIM_RANK_GAIN_EXPONENTIAL => Ok(Gain::Exponential),
        PLIM_RANK_GAIN_LINEAR => Ok(Gain::Linear),
        _ => Err(Error::InvalidArgument(format!("gain = {constant} is not a PLIM_RANK_GAIN_ constant"))),
    }
}

fn measure_of(constant: i32) -> Result<Measure> {
    match constant {
        PLIM_RANK_MEASURE_LOSS => Ok(Measure::Loss),
        PLIM_RANK_MEASURE_ACCURACY => Ok(Measure::Accuracy),
        PLIM_RANK_MEASURE_NDCG => Ok(Measure::Ndcg),
        _ => Err(Error::InvalidArgument(format!("measure = {constant} is not a PLIM_RANK_MEASURE_ constant"))),
    }
}

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

/// Copies queries and documents with dense features. All queries are training queries at first.
///
/// @param num_documents  number of documents, those of all queries; at least 1.
/// @param num_features   columns of the features; at least 1.
/// @param row_major      `num_documents` × `num_features` finite values, a row per document; borrowed for the call only.
/// @param relevance      `num_documents` numbers in [0, 1000], the higher the more relevant.
/// @param num_queries    number of queries; at least 1.
/// @param offsets        `num_queries` + 1 numbers: query q has the documents offsets[q] .. offsets[q+1] − 1, at least one.
/// @param out            receives the data; release them with plim_rank_data_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_SHAPE_MISMATCH (the last offset is not
///         the number of documents) or PLIM_ERROR_OUT_OF_MEMORY.
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
        out.give(Data::dense(num_features, row_major, relevance, offsets)?)
    })
}

/// Copies queries and documents with sparse features, row by row. All queries are training queries at first.
///
/// @param num_documents  number of documents, those of all queries; at least 1.
/// @param num_features   columns of the features; at least 1.
/// @param indptr         `num_documents` + 1 offsets that begin with 0 and never fall.
/// @param indices        indptr[num_documents] columns, in any order within a row; repeated ones add up.
/// @param values         as many finite values.
/// @param relevance      `num_documents` numbers in [0, 1000], the higher the more relevant.
/// @param num_queries    number of queries; at least 1.
/// @param offsets        `num_queries` + 1 numbers, as for plim_rank_data_new().
/// @param out            receives the data; release them with plim_rank_data_free(). Untouched unless PLIM_OK is returned.
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
        out.give(Data::sparse(num_features, (indptr, indices, values), relevance, offsets)?)
    })
}

/// Reads a file in LETOR's format, which is SVMlight's with queries: a line per document.
///
/// A line is a relevance, a query and features: `2 qid:10 1:0.5 7:-3 # anything`. Features are numbered from 1 and may stand
/// in any order, none twice; those that are missing are 0. The lines of a query stand together. Blank lines and what follows
/// a # are skipped. All queries are training queries at first.
///
/// @param path          a file name.
/// @param num_features  columns of the features; 0 for the largest number that the file names. Files that belong together
///                      may not all name the last feature: tell it.
/// @param out           receives the data; release them with plim_rank_data_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_IO, PLIM_ERROR_BAD_FORMAT or
///         PLIM_ERROR_OUT_OF_MEMORY; plim_last_error() names line and column: "train.txt: line 3: column 9: "0" is outside
///         [1, 136]".
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_load(
    path: *const c_char,
    num_features: usize,
    out: *mut *mut plim_rank_data,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        out.give(Data::load(path, num_features)?)
    })
}

/// Ends the data's handle.
///
/// @param data  the data; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_free(data: *mut plim_rank_data) {
    getter(|| {
        ptr::free(data);
        Some(())
    })
}

/// Adds all queries of other data at the end, and puts them into a split: a file of validation queries, say.
///
/// @param data   the data that grow.
/// @param other  data with as many features, standardised by the same numbers or, as `data`, not at all. They stay as they
///               are; their splits play no part.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_SHAPE_MISMATCH,
///         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY (also if both are the same) or PLIM_ERROR_OUT_OF_MEMORY. On failure the
///         data are as they were.
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
        data.append(&other, Split::try_from(split)?)
    })
}

/// Takes the mean off each feature and divides it by its standard deviation, as measured on training documents.
///
/// The features become dense. A feature that does not vary is not divided. Of data that have been standardised the numbers
/// used are kept: to treat others alike, name these as their reference.
///
/// @param data       the data, not yet standardised.
/// @param reference  whose training documents are measured, or, if they have been standardised, whose numbers are used again;
///                   NULL for the data's own training documents.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (standardised already), PLIM_ERROR_SHAPE_MISMATCH
///         (another number of features), PLIM_ERROR_MISSING_DATA (no training queries), PLIM_ERROR_INVALID_HANDLE,
///         PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY. On failure the data are as they were.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_rank_data_standardize(
    data: *mut plim_rank_data,
    reference: *const plim_rank_data,
) -> plim_status {
    guard(|| {
        let data = ptr::handle("data", data)?;
        if reference.is_null() {
            return data.write()?.standardize(None);
        }
        let reference = ptr::handle("reference", reference)?;
        let (mut data, reference) = (data.write()?, reference.read()?);
        data.standardize(Some(&reference))
    })
}

/// Says which queries belong to a split, in place of those that did.
///
/// @param data     the data.
/// @param split    PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param queries  `count` query numbers, none twice.
/// @param count    0 empties the split; `queries` may then be NULL.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or
///         PLIM_ERROR_OUT_OF_MEMORY.
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
        let split = Split::try_from(split)?;
        // SAFETY: the caller promises `count` readable numbers.
        let queries = unsafe { ptr::slice("queries", queries, count) }?;
        data.write()?.set_split(split, queries)
    })
}

/// Says how NDCG is measured: the sum over the first k documents of gain / log2(1 + place), by that of the best order.
///
/// Documents of equal scores share their places, as in scikit-learn's ndcg_score().
///
/// @param data    the data.
/// @param cutoff  k; 0 for all documents of a query; 10 at first.
/// @param gain    PLIM_RANK_GAIN_EXPONENTIAL, which is the default, or PLIM_RANK_GAIN_LINEAR.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_rank_data_set_ndcg(data: *mut plim_rank_data, cutoff: usize, gain: i32) -> plim_status {
    guard(|| {
        let data = ptr::handle("data", data)?;
        data.write()?.set_ndcg(cutoff, gain_of(gain)?);
        Ok(())
    })
}

/// Number of queries.
///
/// @param data  the data.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_num_queries(data: *const plim_rank_data) -> usize {
    getter(|| Some(ptr::facts(data)?.num_queries))
}

/// Number of documents, those of all queries.
///
/// @param data  the data.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_num_documents(data: *const plim_rank_data) -> usize {
    getter(|| Some(ptr::facts(data)?.num_documents))
}

/// Number of features.
///
/// @param data  the data.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_num_features(data: *const plim_rank_data) -> usize {
    getter(|| Some(ptr::facts(data)?.num_features))
}

/// Number of queries of a split.
///
/// @param data   the data.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
///
/// @return the number; 0 for another split, NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_rank_data_split_size(data: *const plim_rank_data, split: i32) -> usize {
    getter(|| Some(ptr::facts(data)?.splits[Split::try_from(split).ok()? as usize]))
}

/// Copies an array of the data.
///
/// # Safety
/// `dst` must be NULL or valid for `capacity` writes.
unsafe fn copy<T: Copy>(
    data: *const plim_rank_data,
    (dst, capacity): (*mut T, usize),
    array: impl FnOnce(&Data) -> Result<&[T]>,
) -> plim_status {
    guard(|| {
        let data = ptr::handle("data", data)?;
        let data = data.read()?;
        let array = array(&data)?;
        // SAFETY: the caller's promise is passed on.
        unsafe { ptr::buffer("dst", dst, capacity, array.len()) }?.put(array);
        Ok(())
    })
}

/// Copies the queries of a split.
///
/// @param data      the data.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param dst       receives plim_rank_data_split_size() query numbers; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_split(
    data: *const plim_rank_data,
    split: i32,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(data, (dst, capacity), |data| Ok(data.split(Split::try_from(split)?))) }
}

/// Copies where the documents of each query begin, and their number at last.
///
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_queries() + 1 numbers; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_offsets(
    data: *const plim_rank_data,
    dst: *mut i64,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(data, (dst, capacity), |data| Ok(data.offsets())) }
}

/// Copies the relevance of each document.
///
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_documents() numbers; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_relevance(
    data: *const plim_rank_data,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(data, (dst, capacity), |data| Ok(data.relevance())) }
}

/// Copies what a file calls each query: the number after qid. Of data from arrays it is the query's own number.
///
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_queries() numbers; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_rank_data_copy_query_ids(
    data: *const plim_rank_data,
    dst: *mut i64,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(data, (dst, capacity), |data| Ok(data.query_ids())) }
}

/// Scores all documents: the higher, the further up.
///
/// @param model     a model with the data's number of inputs and one output.
/// @param data      the data.
/// @param dst       receives plim_rank_data_num_documents() scores; untouched unless PLIM_OK is returned.
/// @param capacity  scores that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (not
///         finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
        data.scores(&model, |scores| buffer.put(scores))
    })
}

/// Measures a model on the queries of a split, nothing sampled.
///
/// Loss and accuracy are means over the queries that have two documents of different relevance; NDCG is a mean over all
/// queries of the split, of which one without a relevant document counts as 0.
///
/// @param model     a model with the data's number of inputs and one output.
/// @param data      the data.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param loss      receives the mean pair loss, without λ; may be NULL.
/// @param accuracy  receives the share of pairs in the right order; may be NULL.
/// @param ndcg      receives NDCG, as plim_rank_data_set_ndcg() says; may be NULL. All untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the split), PLIM_ERROR_SHAPE_MISMATCH,
///         PLIM_ERROR_MISSING_DATA (no query with a pair), PLIM_ERROR_DIVERGED (not finite), PLIM_ERROR_INVALID_HANDLE,
///         PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
        let measures = data.read()?.evaluate(&*model.read()?, Split::try_from(split)?)?;
        let values = [measures.loss, measures.accuracy, measures.ndcg];
        outs.into_iter().zip(values).for_each(|(out, value)| out.into_iter().for_each(|out| out.set(value)));
        Ok(())
    })
}

/// Measures a model on each query of a split, nothing sampled.
///
/// @param model     a model with the data's number of inputs and one output.
/// @param data      the data.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param measure   PLIM_RANK_MEASURE_LOSS, PLIM_RANK_MEASURE_ACCURACY or PLIM_RANK_MEASURE_NDCG.
/// @param dst       receives plim_rank_data_split_size() numbers, in the split's order; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the split or the measure),
///         PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA (an empty split), PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_DIVERGED (not finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
        let (split, measure) = (Split::try_from(split)?, measure_of(measure)?);
        let (model, data) = (model.read()?, data.read()?);
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, data.split(split).len()) }?;
        let measures: Vec<f64> = data.measure(&model, split)?.iter().map(|query| query.of(measure)).collect();
        buffer.put(&measures);
        Ok(())
    })
}

/// Estimates loss and gradient of a ranking at the model's parameters.
///
/// The objective is the mean over the batch's queries of the mean over their pairs of log(1 + exp(s_j − s_i)), i ranked above
/// j, plus λ/2 ‖W‖². Otherwise as plim_estimator_gradient().
///
/// @param estimator   the full or the unbiased estimator, which take all pairs, or one of plim_estimator_pairs() and
///                    plim_estimator_separate().
/// @param model       a model with the data's number of inputs and one output.
/// @param data        the data.
/// @param batch       `batch_size` queries, none twice, each with two documents of different relevance; NULL with 0 for all
///                    such training queries, which is all that the full estimator takes.
/// @param batch_size  length of the list.
/// @param gradient    receives plim_model_num_parameters() values, in the order of plim_model_get_parameters();
///                    untouched unless PLIM_OK is returned.
/// @param capacity    values that `gradient` has room for.
/// @param loss        receives the objective as estimated; may be NULL. Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an entry of the batch),
///         PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA (no training query with a pair), PLIM_ERROR_UNSUPPORTED (a
///         consistent estimator, which draws neighbours), PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (not finite),
///         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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

/// Trains a model to rank: epochs of shuffled batches over the training queries, a gradient and an update for each.
///
/// All that plim_train() does on a graph it does here: history, progress, early stopping, checkpoints, adaptive sizes. A
/// batch is of queries; those without two documents of different relevance are left out. The history's accuracy is that of
/// pairs, and NDCG has a column and a monitor of its own, PLIM_HISTORY_VAL_NDCG and PLIM_MONITOR_VAL_NDCG.
///
/// @param model      a model with the data's number of inputs and one output. During the call others find it busy, but for
///                   const calls inside its callbacks.
/// @param data       the data.
/// @param estimator  how gradients are estimated.
/// @param optimizer  how they move the parameters.
/// @param options    how to train, or NULL for the defaults.
/// @param out        receives the history, or NULL; release it with plim_history_free(). Untouched unless PLIM_OK,
///                   PLIM_ERROR_DIVERGED or PLIM_ERROR_CANCELLED is returned.
///
/// @return as plim_train(); PLIM_ERROR_UNSUPPORTED for a consistent estimator too, which draws neighbours.
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

/// Measures how wrong an estimator's gradients of a ranking are, as plim_tail_new() does on a graph.
///
/// @param estimator     what to measure. Its seed, counter and size stay as they are.
/// @param model         the model, at whose parameters the gradient is taken.
/// @param data          the data; a batch of the options is of queries.
/// @param sample_sizes  `num_sizes` sizes, each at least 1, that replace the estimator's: pairs or documents drawn of each
///                      query; for the unbiased estimator queries of a batch.
/// @param num_sizes     at least 1.
/// @param deltas        `num_deltas` relative errors, each > 0; (NULL, 0) for none.
/// @param num_deltas    number of relative errors.
/// @param options       how to measure, or NULL for the defaults.
/// @param out           receives the tail; release it with plim_tail_free(). Untouched unless PLIM_OK is returned.
///
/// @return as plim_tail_new(); PLIM_ERROR_UNSUPPORTED for a consistent estimator.
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

/// Looks for the smallest sample size for gradients of a ranking, and what it costs, as plim_plan_new() does on a graph.
///
/// Sizes are tried up to the most documents of a query, or its pairs where those are drawn.
///
/// @param estimator  what to plan for: one of plim_estimator_pairs() and plim_estimator_separate(), or the unbiased one,
///                   whose batch of queries is planned. It stays as it is.
/// @param model      the model, at whose parameters the gradient is taken; its threads share the work.
/// @param data       the data; a batch of the options is of queries.
/// @param delta      δ, relative to the norm of the exact gradient; > 0.
/// @param epsilon    ε, in (0, 1].
/// @param t          T, the number of steps; at least 1.
/// @param options    how to measure, or NULL for the defaults.
/// @param out        receives the plan; release it with plim_plan_free(). Untouched unless PLIM_OK is returned.
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
