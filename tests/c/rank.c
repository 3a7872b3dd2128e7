/* Learning to rank: data, measures, gradients, training, tails and plans. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "ranking.h"

enum { ESTIMATORS = 5 };

static plim_estimator *estimator_of(int kind) {
  plim_estimator *estimator = NULL;
  switch (kind) {
    case 0: CHECK_OK(plim_estimator_full(&estimator)); break;
    case 1: CHECK_OK(plim_estimator_unbiased(&estimator)); break;
    case 2: CHECK_OK(plim_estimator_pairs(8, &estimator)); break;
    case 3: CHECK_OK(plim_estimator_separate(4, 0, &estimator)); break;
    default: CHECK_OK(plim_estimator_separate(4, 1, &estimator)); break;
  }
  return estimator;
}

static void data_tell_what_they_were_made_of(void) {
  plim_rank_data *data = ranking_data(1);
  int64_t offsets[RANK_QUERIES + 1], ids[RANK_QUERIES];
  int32_t relevance[RANK_DOCUMENTS], queries[5];
  static ranking r;
  ranking_fill(&r, 1);
  CHECK(plim_rank_data_num_queries(data) == RANK_QUERIES && plim_rank_data_num_documents(data) == RANK_DOCUMENTS);
  CHECK(plim_rank_data_num_features(data) == RANK_FEATURES);
  CHECK(plim_rank_data_split_size(data, PLIM_SPLIT_TRAIN) == 30 && plim_rank_data_split_size(data, PLIM_SPLIT_TEST) == 5);
  CHECK(plim_rank_data_split_size(data, 3) == 0 && plim_rank_data_num_queries(NULL) == 0);
  CHECK_OK(plim_rank_data_copy_offsets(data, offsets, RANK_QUERIES + 1));
  CHECK_BITS(r.offsets, offsets, RANK_QUERIES + 1);
  CHECK_OK(plim_rank_data_copy_relevance(data, relevance, RANK_DOCUMENTS));
  CHECK_BITS(r.relevance, relevance, RANK_DOCUMENTS);
  CHECK_OK(plim_rank_data_copy_query_ids(data, ids, RANK_QUERIES));
  CHECK(ids[0] == 0 && ids[RANK_QUERIES - 1] == RANK_QUERIES - 1);
  CHECK_OK(plim_rank_data_copy_split(data, PLIM_SPLIT_VAL, queries, 5));
  CHECK(queries[0] == 30 && queries[4] == 34);
  plim_rank_data_free(data);
  plim_rank_data_free(data);
  CHECK(plim_rank_data_num_queries(data) == 0);
}

static void sparse_features_score_like_dense_ones(void) {
  static ranking r;
  int64_t indptr[RANK_DOCUMENTS + 1];
  int32_t indices[RANK_DOCUMENTS * RANK_FEATURES];
  float dense[RANK_DOCUMENTS], sparse[RANK_DOCUMENTS];
  plim_rank_data *data = ranking_data(1), *other = NULL;
  plim_model *model = ranking_model(6);
  ranking_fill(&r, 1);
  for (size_t v = 0; v < RANK_DOCUMENTS; v++) {
    indptr[v] = (int64_t)(v * RANK_FEATURES);
    for (size_t k = 0; k < RANK_FEATURES; k++) {
      indices[v * RANK_FEATURES + k] = (int32_t)k;
    }
  }
  indptr[RANK_DOCUMENTS] = RANK_DOCUMENTS * RANK_FEATURES;
  CHECK_OK(plim_rank_data_new_sparse(RANK_DOCUMENTS, RANK_FEATURES, indptr, indices, r.features, r.relevance,
                                     RANK_QUERIES, r.offsets, &other));
  CHECK_OK(plim_rank_score(model, data, dense, RANK_DOCUMENTS));
  CHECK_OK(plim_rank_score(model, other, sparse, RANK_DOCUMENTS));
  for (size_t v = 0; v < RANK_DOCUMENTS; v++) {
    CHECK_NEAR(dense[v], sparse[v], 1e-5);
  }
  CHECK(plim_rank_data_split_size(other, PLIM_SPLIT_TRAIN) == RANK_QUERIES);
  plim_model_free(model);
  plim_rank_data_free(other);
  plim_rank_data_free(data);
}

static void a_mean_over_queries_is_the_mean_of_each(void) {
  plim_rank_data *data = ranking_data(1);
  plim_model *model = ranking_model(0);
  double mean[3] = {0.0, 0.0, 0.0}, each[5];
  for (int32_t cutoff = 0; cutoff < 4; cutoff++) {
    double got[3] = {NAN, NAN, NAN};
    CHECK_OK(plim_rank_data_set_ndcg(data, (size_t)cutoff, cutoff % 2));
    CHECK_OK(plim_rank_evaluate(model, data, PLIM_SPLIT_VAL, &got[0], &got[1], &got[2]));
    for (int32_t measure = 0; measure < 3; measure++) {
      CHECK_OK(plim_rank_measure(model, data, PLIM_SPLIT_VAL, measure, each, 5));
      mean[measure] = (each[0] + each[1] + each[2] + each[3] + each[4]) / 5.0;
      CHECK_NEAR(mean[measure], got[measure], 1e-12);
    }
    CHECK_OK(plim_rank_evaluate(model, data, PLIM_SPLIT_VAL, NULL, NULL, NULL));
  }
  plim_model_free(model);
  plim_rank_data_free(data);
}

/* Central differences of the loss that comes with the gradient. */
static void a_gradient_is_that_of_its_loss(void) {
  plim_rank_data *data = ranking_data(2);
  for (size_t hidden = 0; hidden <= 5; hidden += 5) {
    plim_model *model = ranking_model(hidden);
    plim_estimator *full = estimator_of(0);
    size_t count = plim_model_num_parameters(model);
    float w[32], gradient[32];
    double up, down, loss;
    CHECK_OK(plim_model_set_regularization(model, 0.1));
    CHECK_OK(plim_model_get_parameters(model, w, 32));
    CHECK_OK(plim_rank_gradient(full, model, data, NULL, 0, gradient, 32, &loss));
    for (size_t k = 0; k < count; k++) {
      float ignored[32], old = w[k], high = old + 0.002f, low = old - 0.002f;
      w[k] = high;
      CHECK_OK(plim_model_set_parameters(model, w, count));
      CHECK_OK(plim_rank_gradient(full, model, data, NULL, 0, ignored, 32, &up));
      w[k] = low;
      CHECK_OK(plim_model_set_parameters(model, w, count));
      CHECK_OK(plim_rank_gradient(full, model, data, NULL, 0, ignored, 32, &down));
      w[k] = old;
      CHECK_NEAR((up - down) / (double)(high - low), gradient[k], hidden > 0 ? 2e-3 : 2e-4); /* a few kinks */
    }
    plim_estimator_free(full);
    plim_model_free(model);
  }
  plim_rank_data_free(data);
}

static void estimators_declare_their_properties(void) {
  static const uint32_t properties[ESTIMATORS] = {7, 1, 3, 3, 2};
  for (int kind = 0; kind < ESTIMATORS; kind++) {
    plim_estimator *estimator = estimator_of(kind);
    CHECK(plim_estimator_property(estimator) == properties[kind]);
    plim_estimator_free(estimator);
  }
}

typedef struct run {
  double columns[8][60];
  float parameters[64];
  size_t epochs, best;
  plim_status status;
} run;

static int32_t stop_at_seven(void *user_data, const plim_progress *progress) {
  (void)user_data;
  CHECK(progress->struct_size == sizeof *progress);
  return progress->epoch >= 7;
}

/* checkpoint: 1 writes one and stops early, 2 resumes from it, 0 uses none. */
static run train(int kind, size_t hidden, int32_t monitor, int checkpoint) {
  plim_rank_data *data = ranking_data(3);
  plim_model *model = ranking_model(hidden);
  plim_estimator *estimator = estimator_of(kind);
  plim_optimizer *optimizer = NULL;
  plim_train_options *options = NULL;
  plim_history *history = NULL;
  run result;
  memset(&result, 0, sizeof result);
  CHECK_OK(plim_optimizer_adam(0.05, &optimizer));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_epochs(options, 40));
  CHECK_OK(plim_train_options_set_batch_size(options, 7));
  CHECK_OK(plim_train_options_set_monitor(options, monitor));
  if (checkpoint == 1) {
    CHECK_OK(plim_train_options_set_checkpoint(options, files_path("run"), 3));
    CHECK_OK(plim_train_options_set_progress(options, stop_at_seven, NULL));
  } else if (checkpoint == 2) {
    CHECK_OK(plim_train_options_set_resume(options, files_path("run")));
  }
  result.status = plim_rank_train(model, data, estimator, optimizer, options, &history);
  CHECK_STATUS(checkpoint == 1 ? PLIM_ERROR_CANCELLED : PLIM_OK, result.status);
  result.epochs = plim_history_num_epochs(history);
  result.best = plim_history_best_epoch(history);
  for (int32_t column = 0; column < 8; column++) {
    CHECK_OK(plim_history_copy(history, column, result.columns[column], 60));
  }
  CHECK_OK(plim_model_get_parameters(model, result.parameters, 64));
  if (checkpoint != 1) { /* the model has the parameters of the best epoch */
    double loss, accuracy, ndcg;
    CHECK_OK(plim_rank_evaluate(model, data, PLIM_SPLIT_VAL, &loss, &accuracy, &ndcg));
    CHECK(loss == result.columns[PLIM_HISTORY_VAL_LOSS][result.best - 1]);
    CHECK(accuracy == result.columns[PLIM_HISTORY_VAL_ACCURACY][result.best - 1]);
    CHECK(ndcg == result.columns[PLIM_HISTORY_VAL_NDCG][result.best - 1]);
  }
  plim_history_free(history);
  plim_train_options_free(options);
  plim_optimizer_free(optimizer);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_rank_data_free(data);
  return result;
}

static void every_estimator_learns_to_rank(void) {
  for (int kind = 0; kind < ESTIMATORS; kind++) {
    for (size_t hidden = 0; hidden <= 6; hidden += 6) {
      run result = train(kind, hidden, PLIM_MONITOR_VAL_NDCG, 0);
      size_t best = 0;
      CHECK(result.epochs == 40);
      for (size_t e = 1; e < 40; e++) {
        best = result.columns[PLIM_HISTORY_VAL_NDCG][e] > result.columns[PLIM_HISTORY_VAL_NDCG][best] ? e : best;
      }
      CHECK(result.best == best + 1);
      CHECK(result.columns[PLIM_HISTORY_VAL_NDCG][best] > 0.93);
      CHECK(result.columns[PLIM_HISTORY_TRAIN_LOSS][39] < 0.6 * result.columns[PLIM_HISTORY_TRAIN_LOSS][0]);
      CHECK(result.columns[PLIM_HISTORY_VAL_ACCURACY][39] > 0.9);
    }
  }
}

static void a_resumed_run_ends_in_the_same_bits(void) {
  for (int kind = 1; kind < ESTIMATORS; kind++) {
    run whole = train(kind, 6, PLIM_MONITOR_VAL_LOSS, 0), rest;
    (void)train(kind, 6, PLIM_MONITOR_VAL_LOSS, 1);
    rest = train(kind, 6, PLIM_MONITOR_VAL_LOSS, 2);
    CHECK(whole.epochs == rest.epochs && whole.best == rest.best);
    CHECK_BITS(whole.parameters, rest.parameters, 64);
    CHECK_BITS(whole.columns[PLIM_HISTORY_VAL_NDCG], rest.columns[PLIM_HISTORY_VAL_NDCG], 40);
    CHECK_BITS(whole.columns[PLIM_HISTORY_BATCH_LOSS], rest.columns[PLIM_HISTORY_BATCH_LOSS], 40);
    files_remove("run");
  }
}

/* As on a graph: the error falls, the exact estimator has none, and a plan finds a size that meets its goal. */
static void tails_fall_and_plans_are_found(void) {
  static const size_t sizes[3] = {2, 8, 32};
  static const double deltas[1] = {0.3};
  plim_rank_data *data = ranking_data(4);
  plim_model *model = ranking_model(0);
  plim_probe_options *options = NULL;
  CHECK_OK(plim_probe_options_new(&options));
  CHECK_OK(plim_probe_options_set_draws(options, check_scale(1000, 50)));
  for (int kind = 2; kind < ESTIMATORS; kind++) {
    plim_estimator *estimator = estimator_of(kind);
    plim_tail *tail = NULL;
    plim_plan *plan = NULL;
    double errors[3], biases[3], size = 0.0, misses = 1.0;
    char text[PLIM_PLAN_TEXT_SIZE];
    CHECK_OK(plim_rank_tail_new(estimator, model, data, sizes, 3, deltas, 1, options, &tail));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_ERROR, errors, 3));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_BIAS, biases, 3));
    CHECK(errors[0] > 1.5 * errors[1] && errors[1] > 1.5 * errors[2]);
    CHECK(kind == 4 || biases[0] < 0.2 * errors[0]);
    CHECK_OK(plim_rank_plan_new(estimator, model, data, 0.3, 0.1, 1, options, &plan));
    CHECK_OK(plim_plan_get(plan, PLIM_PLAN_SAMPLE_SIZE, &size));
    CHECK_OK(plim_plan_get(plan, PLIM_PLAN_MISSES, &misses));
    CHECK_OK(plim_plan_describe(plan, text, sizeof text));
    CHECK(plim_plan_num_sizes(plan) == 1 && size >= 1.0 && misses <= 0.1);
    plim_plan_free(plan);
    plim_tail_free(tail);
    plim_estimator_free(estimator);
  }
  plim_probe_options_free(options);
  plim_model_free(model);
  plim_rank_data_free(data);
}

/* Adaptive sizes, as on a graph: the gradient shrinks, and more documents keep the error below δ. */
static void sizes_adapt(void) {
  plim_rank_data *data = ranking_data(5);
  plim_model *model = ranking_model(0);
  plim_estimator *estimator = estimator_of(3);
  plim_optimizer *optimizer = NULL;
  plim_train_options *options = NULL;
  plim_history *history = NULL;
  double sizes[40] = {0}, errors[40] = {0};
  CHECK_OK(plim_optimizer_sgd(0.5, &optimizer));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_epochs(options, 40));
  CHECK_OK(plim_train_options_set_adaptive(options, 0.2, 5, 2, 4096));
  CHECK_OK(plim_rank_train(model, data, estimator, optimizer, options, &history));
  CHECK_OK(plim_history_copy(history, PLIM_HISTORY_SAMPLE_SIZE, sizes, 40));
  CHECK_OK(plim_history_copy(history, PLIM_HISTORY_ERROR, errors, 40));
  CHECK(sizes[0] > 4.0 && sizes[39] > sizes[0] && sizes[39] <= 4096.0 && errors[39] <= 0.2);
  plim_history_free(history);
  plim_train_options_free(options);
  plim_optimizer_free(optimizer);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_rank_data_free(data);
}

static void files_are_read_in_letors_format(void) {
  static const char text[] =
      "\xef\xbb\xbf# a comment\n"
      "2 qid:10 1:0.5 3:-1.5 # docid = GX1\n"
      "0 qid:10 3:2e0 1:1\r\n"
      "\n"
      "1.0   qid:7\t2:4\n"
      "0 qid:7";
  static const int64_t wanted_offsets[3] = {0, 2, 4}, wanted_ids[2] = {10, 7};
  static const int32_t wanted_relevance[4] = {2, 0, 1, 0};
  static const float w[4] = {1.0f, 10.0f, 100.0f, 1000.0f}, wanted[4] = {-149.5f, 201.0f, 40.0f, 0.0f};
  for (size_t width = 3; width <= 4; width++) {
    plim_rank_data *data = NULL;
    plim_model *model = NULL;
    int64_t offsets[3], ids[2];
    int32_t relevance[4];
    float scores[4];
    size_t widths[2] = {width, 1};
    files_write("letor", text, sizeof text - 1);
    CHECK_OK(plim_rank_data_load(files_path("letor"), width == 3 ? 0 : width, &data));
    CHECK(plim_rank_data_num_features(data) == width);
    CHECK_OK(plim_rank_data_copy_offsets(data, offsets, 3));
    CHECK_OK(plim_rank_data_copy_query_ids(data, ids, 2));
    CHECK_OK(plim_rank_data_copy_relevance(data, relevance, 4));
    CHECK_BITS(wanted_offsets, offsets, 3);
    CHECK_BITS(wanted_ids, ids, 2);
    CHECK_BITS(wanted_relevance, relevance, 4);
    CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
    CHECK_OK(plim_model_set_parameters(model, w, width));
    CHECK_OK(plim_rank_score(model, data, scores, 4));
    CHECK_BITS(wanted, scores, 4);
    plim_model_free(model);
    plim_rank_data_free(data);
  }
  files_remove("letor");
}

/* Few of many features are set: they stay sparse, and one more in one of 1000 lines changes one score. */
static void wide_files_stay_sparse(void) {
  plim_rank_data *data = NULL;
  plim_model *model = NULL;
  static const size_t widths[2] = {1000000, 1};
  static char text[64 * 1000];
  float *w = (float *)check_alloc(1000000, sizeof *w), scores[1000];
  size_t at = 0;
  for (int v = 0; v < 1000; v++) {
    at += (size_t)snprintf(text + at, sizeof text - at, "%d qid:%d %d:1 1000000:2\n", v % 2, v / 10, 1 + v * 7);
  }
  files_write("letor", text, at);
  CHECK_OK(plim_rank_data_load(files_path("letor"), 0, &data));
  CHECK(plim_rank_data_num_features(data) == 1000000 && plim_rank_data_num_queries(data) == 100);
  CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
  w[7] = 1.0f;
  w[999999] = 0.5f;
  CHECK_OK(plim_model_set_parameters(model, w, 1000000));
  CHECK_OK(plim_rank_score(model, data, scores, 1000));
  CHECK(scores[0] == 1.0f && scores[1] == 2.0f && scores[2] == 1.0f);
  free(w);
  plim_model_free(model);
  plim_rank_data_free(data);
  files_remove("letor");
}

static void standardised_data_score_as_if_by_hand(void) {
  static const float x[4] = {1.0f, 3.0f, 5.0f, 11.0f}, one[1] = {1.0f};
  static const int32_t y[4] = {0, 1, 0, 1};
  static const int64_t offsets[3] = {0, 2, 4};
  static const int32_t first[1] = {0};
  static const size_t widths[2] = {1, 1};
  plim_rank_data *data = NULL, *other = NULL;
  plim_model *model = NULL;
  float scores[6];
  CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
  CHECK_OK(plim_model_set_parameters(model, one, 1));
  CHECK_OK(plim_rank_data_new(4, 1, x, y, 2, offsets, &data));
  CHECK_OK(plim_rank_data_new(2, 1, x, y, 1, offsets, &other));
  CHECK_OK(plim_rank_data_set_split(data, PLIM_SPLIT_TRAIN, first, 1));
  CHECK_OK(plim_rank_data_standardize(data, NULL)); /* mean 2, deviation 1 */
  CHECK_OK(plim_rank_data_standardize(other, data));
  CHECK_OK(plim_rank_data_append(data, other, PLIM_SPLIT_VAL));
  CHECK_OK(plim_rank_score(model, data, scores, 6));
  CHECK(scores[0] == -1.0f && scores[1] == 1.0f && scores[2] == 3.0f && scores[3] == 9.0f);
  CHECK(scores[4] == -1.0f && scores[5] == 1.0f);
  CHECK(plim_rank_data_split_size(data, PLIM_SPLIT_VAL) == 1 && plim_rank_data_num_queries(data) == 3);
  plim_model_free(model);
  plim_rank_data_free(other);
  plim_rank_data_free(data);
}

int main(void) {
  RUN(data_tell_what_they_were_made_of);
  RUN(sparse_features_score_like_dense_ones);
  RUN(a_mean_over_queries_is_the_mean_of_each);
  RUN(a_gradient_is_that_of_its_loss);
  RUN(estimators_declare_their_properties);
  RUN(every_estimator_learns_to_rank);
  RUN(a_resumed_run_ends_in_the_same_bits);
  RUN(tails_fall_and_plans_are_found);
  RUN(sizes_adapt);
  RUN(files_are_read_in_letors_format);
  RUN(wide_files_stay_sparse);
  RUN(standardised_data_score_as_if_by_hand);
  files_close();
  return check_close();
}
