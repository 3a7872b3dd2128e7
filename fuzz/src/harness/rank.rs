//! Rankings from LETOR's text.

use super::allocator::peak_of;
use super::disk;
use super::input::hash;
use super::promise::{call, message};
use plimsoll::capi::*;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

/// More features than these are not scored, and their input not kept: it would only be slow.
const LARGE: usize = 512;

/// The number of features is told to be 0, the largest of the file, but for files of an odd checksum.
pub fn letor(data: &[u8]) -> bool {
    thread_local! {
        static PATH: CString = disk::path("ranking");
    }
    let hash = hash(data);
    let num_features = if hash % 4 == 1 { 1 + (hash >> 2) as usize % 64 } else { 0 };
    disk::put("ranking", Some(data));
    PATH.with(|path| {
        let untouched = std::ptr::without_provenance_mut::<plim_rank_data>(1);
        let mut ranking = untouched;
        let (status, peak) = peak_of(|| load(path.as_c_str(), num_features, &raw mut ranking));
        // A query of a few bytes has a place in four lists and a table; each feature has a number and a value.
        let most = (1 << 18) + 64 * data.len();
        assert!(peak <= most, "{peak} bytes of memory for a text of {} bytes; {most} are fair", data.len());
        if status != PLIM_OK {
            assert_eq!(ranking, untouched, "a failed load changed `out`");
            assert_eq!(status, PLIM_ERROR_BAD_FORMAT, "{:?}", message());
            return true;
        }
        let small = use_ranking(ranking, path, num_features, hash >> 8);
        plim_rank_data_free(ranking);
        small
    })
}

fn load(path: &CStr, num_features: usize, out: *mut *mut plim_rank_data) -> plim_status {
    // SAFETY: a string, and a place for a handle.
    call("plim_rank_data_load", || unsafe { plim_rank_data_load(path.as_ptr(), num_features, out) })
}

/// All that a ranking tells of itself.
fn facts(ranking: *const plim_rank_data) -> (Vec<i64>, Vec<i32>, Vec<i64>) {
    let (queries, documents) = (plim_rank_data_num_queries(ranking), plim_rank_data_num_documents(ranking));
    let (mut offsets, mut relevance, mut ids) = (vec![-1; queries + 1], vec![-1; documents], vec![-1; queries]);
    // SAFETY: a live handle, and arrays of the lengths told.
    unsafe {
        let copy = || plim_rank_data_copy_offsets(ranking, offsets.as_mut_ptr(), queries + 1);
        assert_eq!(call("plim_rank_data_copy_offsets", copy), PLIM_OK);
        let copy = || plim_rank_data_copy_relevance(ranking, relevance.as_mut_ptr(), documents);
        assert_eq!(call("plim_rank_data_copy_relevance", copy), PLIM_OK);
        let copy = || plim_rank_data_copy_query_ids(ranking, ids.as_mut_ptr(), queries);
        assert_eq!(call("plim_rank_data_copy_query_ids", copy), PLIM_OK);
    }
    (offsets, relevance, ids)
}

/// What a ranking can be asked for; false if it is too large for it.
fn use_ranking(ranking: *mut plim_rank_data, path: &CStr, num_features: usize, hash: u64) -> bool {
    let (offsets, relevance, ids) = facts(ranking);
    let features = plim_rank_data_num_features(ranking);
    assert!(features >= 1 && (num_features == 0 || features == num_features), "{features} features");
    assert!(offsets[0] == 0 && offsets.last() == Some(&(relevance.len() as i64)) && offsets.is_sorted());
    assert!(relevance.iter().all(|y| (0..=1000).contains(y)), "{relevance:?}");
    assert_eq!(plim_rank_data_split_size(ranking, 0), ids.len(), "all queries are for training");
    if features > LARGE {
        return false;
    }
    if hash.is_multiple_of(16) {
        twice(ranking, path, num_features);
    }
    if hash & 16 != 0 {
        call("plim_rank_data_set_ndcg", || plim_rank_data_set_ndcg(ranking, hash as usize % 4, (hash >> 5) as i32 & 1));
    }
    if hash & 64 != 0 {
        let standardize = || plim_rank_data_standardize(ranking, null());
        assert_eq!(call("plim_rank_data_standardize", standardize), PLIM_OK, "{:?}", message());
    }
    learn(ranking, features, hash >> 7);
    true
}

/// The same file again is the same, and can be added to itself.
fn twice(ranking: *mut plim_rank_data, path: &CStr, num_features: usize) {
    let mut again = null_mut();
    assert_eq!(load(path, num_features, &raw mut again), PLIM_OK, "{:?}", message());
    let before = facts(ranking);
    assert_eq!(facts(again), before, "the same file holds another ranking");
    assert_eq!(call("plim_rank_data_append", || plim_rank_data_append(ranking, again, 1)), PLIM_OK, "{:?}", message());
    assert_eq!(plim_rank_data_num_documents(ranking), 2 * before.1.len());
    assert_eq!(plim_rank_data_split_size(ranking, 1), before.2.len());
    plim_rank_data_free(again);
}

/// Scores, measures and takes gradients: the kernels trust what was checked on loading.
fn learn(ranking: *mut plim_rank_data, features: usize, hash: u64) {
    let widths = [features, 3, 1];
    let widths = if hash & 1 == 0 { &widths[..] } else { &[features, 1] };
    let (mut model, mut estimator) = (null_mut(), null_mut());
    let documents = plim_rank_data_num_documents(ranking);
    // SAFETY: live handles, and arrays of the lengths told.
    unsafe {
        let made = call("plim_model_gcn", || plim_model_gcn(widths.as_ptr(), widths.len(), hash, &raw mut model));
        assert_eq!(made, PLIM_OK);
        let made = match hash >> 1 & 3 {
            0 => call("plim_estimator_full", || plim_estimator_full(&raw mut estimator)),
            1 => call("plim_estimator_unbiased", || plim_estimator_unbiased(&raw mut estimator)),
            2 => call("plim_estimator_pairs", || plim_estimator_pairs(3, &raw mut estimator)),
            _ => call("plim_estimator_separate", || {
                plim_estimator_separate(2, (hash >> 3) as i32 & 1, &raw mut estimator)
            }),
        };
        assert_eq!(made, PLIM_OK);
        let mut scores = vec![f32::NAN; documents];
        let status = call("plim_rank_score", || plim_rank_score(model, ranking, scores.as_mut_ptr(), documents));
        assert!(status != PLIM_OK || scores.iter().all(|s| s.is_finite()), "a score is not finite");
        let [mut loss, mut accuracy, mut ndcg] = [0.5; 3];
        let status = call("plim_rank_evaluate", || {
            plim_rank_evaluate(model, ranking, 0, &raw mut loss, &raw mut accuracy, &raw mut ndcg)
        });
        assert!(loss.is_finite() && (0.0..=1.0).contains(&accuracy), "{status}: loss {loss}, accuracy {accuracy}");
        assert!((0.0..=1.0 + 1e-9).contains(&ndcg), "{status}: NDCG {ndcg}");
        let mut each = vec![0f64; plim_rank_data_split_size(ranking, 0)];
        let measure = (hash >> 4) as i32 % 3;
        call("plim_rank_measure", || plim_rank_measure(model, ranking, 0, measure, each.as_mut_ptr(), each.len()));
        let mut gradient = vec![0f32; plim_model_num_parameters(model)];
        let status = call("plim_rank_gradient", || {
            let len = gradient.len();
            plim_rank_gradient(estimator, model, ranking, null(), 0, gradient.as_mut_ptr(), len, null_mut())
        });
        assert!(gradient.iter().all(|g| g.is_finite()), "{status}: the gradient is not finite");
        plim_estimator_free(estimator);
        plim_model_free(model);
    }
}
