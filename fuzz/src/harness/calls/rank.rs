//! Rankings, and what is told while a call works.

use super::super::promise::call;
use super::{Kind, Machine, Mark, pointer};
use plimsoll::capi::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};

/// The first of these functions, and how many they are.
pub const FIRST: usize = 101;
pub const COUNT: usize = 27;

const TEXT: &[u8] = b"1 qid:3 1:0.5 2:1\n0 qid:3 2:2\n2 qid:8 1:1\n0 qid:8 1:-1 2:0.25\n";

pub(super) unsafe extern "C" fn log(user_data: *mut c_void, level: i32, message: *const c_char) {
    // SAFETY: the library hands on what it was given, and a string.
    let (context, message) = unsafe { (&*user_data.cast::<super::Context>(), CStr::from_ptr(message)) };
    assert!((0..=3).contains(&level), "level {level}");
    let text = message.to_str().expect("a message is UTF-8");
    assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    super::callback(context);
}

impl Machine<'_> {
    /// A model with one output for the most part.
    fn pick_scorer(&mut self) -> *mut plim_model {
        if self.input.byte() >= 0xc0 {
            return self.pick(Kind::Model);
        }
        let scores = |handle: usize| Self::output_width(without_provenance_mut(handle)) == 1;
        if let Some(handle) = self.last_live(Kind::Model, scores) {
            return without_provenance_mut(handle);
        }
        let mut model = null_mut();
        // SAFETY: an array of the length told, and a place for a handle.
        assert_eq!(unsafe { plim_model_gcn([2, 3, 1].as_ptr(), 3, 1, &raw mut model) }, PLIM_OK);
        self.keep(Kind::Model, model.addr());
        model
    }

    /// An estimator that works for rankings, for the most part.
    fn pick_ranker(&mut self) -> *mut plim_estimator {
        if self.input.byte() >= 0xc0 {
            return self.pick(Kind::Estimator);
        }
        let ranks = |handle: usize| plim_estimator_property(without_provenance_mut(handle)) & 1 != 0;
        if let Some(handle) = self.last_live(Kind::Estimator, ranks) {
            return without_provenance_mut(handle);
        }
        let mut estimator = null_mut();
        // SAFETY: a place for a handle.
        assert_eq!(unsafe { plim_estimator_pairs(2, &raw mut estimator) }, PLIM_OK);
        self.keep(Kind::Estimator, estimator.addr());
        estimator
    }

    /// Where each of the queries begins, mostly rightly.
    fn offsets(&mut self, documents: usize) -> Vec<i64> {
        let mut offsets = vec![0i64];
        while (offsets[offsets.len() - 1] as usize) < documents {
            let next = offsets[offsets.len() - 1] + 1 + self.input.below(4) as i64;
            offsets.push(next.min(documents as i64));
        }
        if self.input.byte() > 0xe0 {
            let at = self.input.below(offsets.len());
            offsets[at] = self.input.one_of(&[-1, 0, 1, 2, i64::MAX, i64::MIN]);
        }
        offsets
    }

    /// What tells, and whether at all.
    fn logger(&mut self) -> (plim_log_fn, *mut c_void) {
        match self.input.byte() {
            0xe0.. => (None, null_mut()),
            _ => (Some(log), self.user_data()),
        }
    }

    pub(super) fn rank(&mut self, function: usize) {
        // SAFETY: as in `graph`: handles are checked by the library, arrays have the lengths told or are NULL, strings end
        // with a zero byte, and places are valid or NULL.
        unsafe {
            match function - FIRST {
                0 => {
                    let pairs = self.size(4);
                    make!(self, Kind::Estimator, plim_estimator_pairs(pairs));
                }
                1 => {
                    let (documents, normalized) = (self.size(4), self.constant(1));
                    make!(self, Kind::Estimator, plim_estimator_separate(documents, normalized));
                }
                2 => {
                    let (model, graph) = (self.pick(Kind::Model), self.pick(Kind::Graph));
                    let split = self.constant(2);
                    let classes = Self::output_width(model);
                    fill!(self, classes * classes, plim_model_confusion(model, graph, split));
                }
                3 => {
                    let (level, (with, data)) = (self.constant(3), self.logger());
                    set!(self, Kind::Probe, plim_probe_options_set_log(level, with, data));
                }
                4 => {
                    let (level, (with, data)) = (self.constant(3), self.logger());
                    set!(self, Kind::Options, plim_train_options_set_log(level, with, data));
                }
                5 => {
                    let monitor = self.constant(3);
                    set!(self, Kind::Options, plim_train_options_set_monitor(monitor));
                }
                6 => {
                    let (n, d) = (self.size(8), self.size(3));
                    let values = self.reals32(n.min(8) * d.min(3));
                    let (values, relevance) = (self.array(values), self.ids(4, n.min(8)));
                    let (relevance, offsets) = (self.array(relevance), self.offsets(n.min(8)));
                    let queries = offsets.len() - 1;
                    let offsets = self.array(offsets);
                    // What is not there would be a broken promise.
                    let values = if d > 3 || n > 8 { null() } else { values.pointer };
                    let relevance = if n > 8 { null() } else { relevance.pointer };
                    make!(self, Kind::Ranking, plim_rank_data_new(n, d, values, relevance, queries, offsets.pointer));
                }
                7 => {
                    let (n, d) = (self.input.below(9), self.size(3));
                    let (indptr, indices, values) = self.rows(n, d.min(3));
                    let (columns, weights) = (Self::entries(&indptr, &indices), Self::entries(&indptr, &values));
                    let (indptr, relevance) = (self.array(indptr), self.ids(4, n));
                    let (relevance, offsets) = (self.array(relevance), self.offsets(n));
                    let queries = offsets.len() - 1;
                    let offsets = self.array(offsets);
                    make!(
                        self,
                        Kind::Ranking,
                        plim_rank_data_new_sparse(
                            n,
                            d,
                            indptr.pointer,
                            columns,
                            weights,
                            relevance.pointer,
                            queries,
                            offsets.pointer
                        )
                    );
                }
                8 => {
                    let (path, d) = (self.path(), self.size(4));
                    if self.input.byte() < 0xc0 {
                        let _ = std::fs::write(self.folder.path().join("a"), TEXT); // unless it is a folder
                    }
                    make!(self, Kind::Ranking, plim_rank_data_load(pointer(&path), d));
                }
                9 => self.free_one(Kind::Ranking),
                10 => {
                    let other = self.pick::<plim_rank_data>(Kind::Ranking);
                    let split = self.constant(2);
                    // Twice itself, again and again, would be large soon.
                    let other = if plim_rank_data_num_documents(other) > 64 { null_mut() } else { other };
                    set!(self, Kind::Ranking, plim_rank_data_append(other, split));
                }
                11 => {
                    let reference = match self.input.byte() {
                        0..=0x7f => null_mut(),
                        _ => self.pick::<plim_rank_data>(Kind::Ranking),
                    };
                    set!(self, Kind::Ranking, plim_rank_data_standardize(reference));
                }
                12 => {
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    let queries = self.nodes(plim_rank_data_num_queries(ranking));
                    let (split, queries) = (self.constant(2), self.list(queries));
                    call!(plim_rank_data_set_split(ranking, split, queries.pointer, queries.len));
                }
                13 => {
                    let (cutoff, gain) = (self.size(4), self.constant(1));
                    set!(self, Kind::Ranking, plim_rank_data_set_ndcg(cutoff, gain));
                }
                14 => {
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    let live = self.live.contains(&(Kind::Ranking, ranking.addr()));
                    assert_eq!(plim_rank_data_num_queries(ranking) > 0, live, "{ranking:?} is live: {live}");
                    assert!(plim_rank_data_num_documents(ranking) >= plim_rank_data_num_queries(ranking));
                    assert_eq!(plim_rank_data_num_features(ranking) > 0, live);
                    let split = self.constant(2);
                    assert!(plim_rank_data_split_size(ranking, split) <= plim_rank_data_num_queries(ranking));
                }
                15 => {
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    let split = self.constant(2);
                    let needed = plim_rank_data_split_size(ranking, split);
                    fill!(self, needed, plim_rank_data_copy_split(ranking, split));
                }
                16 => {
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    let queries = plim_rank_data_num_queries(ranking);
                    fill!(self, queries + usize::from(queries > 0), plim_rank_data_copy_offsets(ranking));
                }
                17 => {
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    fill!(self, plim_rank_data_num_documents(ranking), plim_rank_data_copy_relevance(ranking));
                }
                18 => {
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    fill!(self, plim_rank_data_num_queries(ranking), plim_rank_data_copy_query_ids(ranking));
                }
                19 => {
                    let (model, ranking) = (self.pick_scorer(), self.pick::<plim_rank_data>(Kind::Ranking));
                    fill!(self, plim_rank_data_num_documents(ranking), plim_rank_score(model, ranking));
                }
                20 => {
                    let (model, ranking) = (self.pick_scorer(), self.pick::<plim_rank_data>(Kind::Ranking));
                    let (split, wanted) = (self.constant(2), self.input.byte());
                    let mut values = [f64::MARK; 3];
                    let at = values.as_mut_ptr();
                    let place = |i: usize| if wanted >> i & 1 == 0 { at.add(i) } else { null_mut() };
                    let status = call!(plim_rank_evaluate(model, ranking, split, place(0), place(1), place(2)));
                    for (i, value) in values.iter().enumerate() {
                        let given = status == PLIM_OK && wanted >> i & 1 == 0;
                        assert_eq!(value.is_mark(), !given, "plim_rank_evaluate: {status}");
                        assert!(!given || value.is_finite(), "plim_rank_evaluate gives {value}");
                    }
                }
                21 => {
                    let (model, ranking) = (self.pick_scorer(), self.pick::<plim_rank_data>(Kind::Ranking));
                    let (split, measure) = (self.constant(2), self.constant(2));
                    let needed = plim_rank_data_split_size(ranking, split);
                    fill!(self, needed, plim_rank_measure(model, ranking, split, measure));
                }
                22 => {
                    let (estimator, model) = (self.pick_ranker(), self.pick_scorer());
                    let ranking = self.pick::<plim_rank_data>(Kind::Ranking);
                    let queries = self.nodes(plim_rank_data_num_queries(ranking));
                    let queries = self.list_or_none(queries);
                    self.gradient("plim_rank_gradient", model, |to, told, loss| {
                        plim_rank_gradient(estimator, model, ranking, queries.pointer, queries.len, to, told, loss)
                    });
                }
                23 => {
                    let (model, ranking) = (self.pick_scorer(), self.pick::<plim_rank_data>(Kind::Ranking));
                    let (estimator, optimizer) = (self.pick_ranker(), self.pick(Kind::Optimizer));
                    let options = self.pick(Kind::Options);
                    self.context.model.set(model.addr());
                    self.context.answer.set(i32::from(self.input.byte() > 0xe0));
                    make!(self, Kind::History, plim_rank_train(model, ranking, estimator, optimizer, options));
                    self.finite(model);
                }
                24 => {
                    let (estimator, model) = (self.pick_ranker(), self.pick_scorer());
                    let (ranking, probe) = (self.pick::<plim_rank_data>(Kind::Ranking), self.pick_probe());
                    let (sizes, deltas) = self.sizes_and_deltas();
                    self.context.model.set(model.addr());
                    make!(
                        self,
                        Kind::Tail,
                        plim_rank_tail_new(
                            estimator,
                            model,
                            ranking,
                            sizes.pointer,
                            sizes.len,
                            deltas.pointer,
                            deltas.len,
                            probe
                        )
                    );
                }
                25 => {
                    let (estimator, model) = (self.pick_ranker(), self.pick_scorer());
                    let (ranking, probe) = (self.pick::<plim_rank_data>(Kind::Ranking), self.pick_probe());
                    let (delta, epsilon, t) = (self.real(), self.real(), self.size(20));
                    self.context.model.set(model.addr());
                    make!(self, Kind::Plan, plim_rank_plan_new(estimator, model, ranking, delta, epsilon, t, probe));
                }
                _ => {
                    let classes = self.size(3);
                    let counts: Vec<usize> = (0..classes.min(3).pow(2)).map(|_| self.size(9)).collect();
                    let counts = self.array(counts);
                    let counts = if classes > 3 { null() } else { counts.pointer };
                    number!(self, plim_confusion_macro_f1(counts, classes));
                }
            }
        }
    }
}
