/* Invalid arguments for rankings: the status, the message, and unchanged outputs. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "handles.h"
#include "ranking.h"

static plim_rank_data *data = NULL;
static plim_model *model = NULL;
static plim_estimator *unbiased = NULL;
static plim_optimizer *optimizer = NULL;

/* Outputs of calls that must fail. */
static plim_rank_data *made = UNTOUCHED(plim_rank_data);
static plim_estimator *estimator = UNTOUCHED(plim_estimator);
static plim_history *history = UNTOUCHED(plim_history);
static plim_tail *tail = UNTOUCHED(plim_tail);
static plim_plan *plan = UNTOUCHED(plim_plan);
static float floats[RANK_DOCUMENTS];
static double numbers[3] = {NAN, NAN, NAN};

static int untouched(void) {
  return made == UNTOUCHED(plim_rank_data) && estimator == UNTOUCHED(plim_estimator) &&
         history == UNTOUCHED(plim_history) && tail == UNTOUCHED(plim_tail) && plan == UNTOUCHED(plim_plan) &&
         check_filled(floats, RANK_DOCUMENTS) && isnan(numbers[0]) && isnan(numbers[1]) && isnan(numbers[2]);
}

#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), CHECK(untouched()))

static void arrays_must_fit_each_other(void) {
  static const float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, bad[4] = {1.0f, 2.0f, (float)NAN, 4.0f};
  static const int32_t y[4] = {0, 1, 2, 3}, negative[4] = {0, -1, 2, 3}, large[4] = {0, 1, 1001, 3};
  static const int64_t offsets[3] = {0, 2, 4}, empty[3] = {0, 0, 4}, falls[3] = {0, 3, 2}, late[3] = {1, 2, 4},
                       few[3] = {0, 1, 3}, indptr[5] = {0, 1, 2, 3, 4};
  static const int32_t columns[4] = {0, 0, 0, 0}, beyond[4] = {0, 1, 0, 0};
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_rank_data_new(4, 1, x, y, 2, offsets, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "row_major", plim_rank_data_new(4, 1, NULL, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "relevance", plim_rank_data_new(4, 1, x, NULL, 2, offsets, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "offsets", plim_rank_data_new(4, 1, x, y, 2, NULL, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_documents = 0", plim_rank_data_new(0, 1, x, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_queries = 0", plim_rank_data_new(4, 1, x, y, 0, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "offsets", plim_rank_data_new(4, 1, x, y, SIZE_MAX, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_features = 0", plim_rank_data_new(4, 0, x, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_features", plim_rank_data_new(4, SIZE_MAX, x, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "row_major[2] = NaN", plim_rank_data_new(4, 1, bad, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "relevance[1] = -1", plim_rank_data_new(4, 1, x, negative, 2, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "relevance[2] = 1001", plim_rank_data_new(4, 1, x, large, 2, offsets, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "query 0 without documents", plim_rank_data_new(4, 1, x, y, 2, empty, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "offsets[2] = 2", plim_rank_data_new(4, 1, x, y, 2, falls, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "offsets[0] = 1", plim_rank_data_new(4, 1, x, y, 2, late, &made));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "offsets[2] = 3", plim_rank_data_new(4, 1, x, y, 2, few, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indices[1] = 1",
          plim_rank_data_new_sparse(4, 1, indptr, beyond, x, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "indptr", plim_rank_data_new_sparse(4, 1, NULL, columns, x, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "values",
          plim_rank_data_new_sparse(4, 1, indptr, columns, NULL, y, 2, offsets, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_rank_data_new_sparse(4, 1, indptr, columns, x, y, 2, offsets, NULL));
}

static void check_bad_text(const char *text, size_t num_features, const char *fragment) {
  files_write("letor", text, strlen(text));
  REFUSED(PLIM_ERROR_BAD_FORMAT, fragment, plim_rank_data_load(files_path("letor"), num_features, &made));
}

static void a_bad_line_is_named_by_line_and_column(void) {
  check_bad_text("", 0, "there is no document");
  check_bad_text("# nothing\n\n", 0, "there is no document");
  check_bad_text("1 qid:1\n", 0, "there is no feature");
  check_bad_text("1 qid:1 1:2\nx qid:1 1:2\n", 0, "line 2: column 1: \"x\" is not a relevance");
  check_bad_text("-1 qid:1 1:2\n", 0, "line 1: column 1: \"-1\" is not a relevance");
  check_bad_text("0.5 qid:1 1:2\n", 0, "line 1: column 1: \"0.5\" is not a relevance");
  check_bad_text("1001 qid:1 1:2\n", 0, "\"1001\"");
  check_bad_text("nan qid:1 1:2\n", 0, "\"nan\"");
  check_bad_text("1\n", 0, "line 1: column 2: a \"qid:\" is missing");
  check_bad_text("1 1:2\n", 0, "line 1: column 3: \"1:2\" stands where");
  check_bad_text("1 qid 1:2\n", 0, "line 1: column 3: \"qid\" stands where");
  check_bad_text("1 qid:a 1:2\n", 0, "line 1: column 7: \"a\" is not the number of a query");
  check_bad_text("1 qid:99999999999999999999 1:2\n", 0, "is not the number of a query");
  check_bad_text("1 qid:1 1:2 x\n", 0, "line 1: column 13: \"x\" is not a feature");
  check_bad_text("1 qid:1 0:2\n", 0, "line 1: column 9: \"0\" is outside [1, ");
  check_bad_text("1 qid:1 4:2\n", 3, "line 1: column 9: \"4\" is outside [1, 3]");
  check_bad_text("1 qid:1 2147483648:2\n", 0, "outside");
  check_bad_text("1 qid:1 a:2\n", 0, "line 1: column 9: \"a\" is not the number of a feature");
  check_bad_text("1 qid:1  1:two\n", 0, "line 1: column 12: \"two\" is not a finite number");
  check_bad_text("1 qid:1 1:inf\n", 0, "column 11: \"inf\"");
  check_bad_text("1 qid:1 1:1e39\n", 0, "\"1e39\"");
  check_bad_text("1 qid:1 1:\n", 0, "column 11: \"\" is not a finite number");
  check_bad_text("1 qid:1 2:1 1:1 2:3\n", 0, "line 1: column 17: \"2:3\" names feature 2 again");
  check_bad_text("1 qid:1 2:1 2:3\n", 0, "line 1: column 13: \"2:3\" names feature 2 again");
  check_bad_text("1 qid:1 1:1\n1 qid:2 1:1\n\n0 qid:1 1:2\n", 0, "line 4: column 3: \"qid:1\" began in line 1");
  check_bad_text("\x01\x02\xff", 0, "line 1: column 1");
  REFUSED(PLIM_ERROR_IO, "/nowhere/letor", plim_rank_data_load("/nowhere/letor", 0, &made));
  REFUSED(PLIM_ERROR_IO, "directory", plim_rank_data_load(files_directory, 0, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "path", plim_rank_data_load(NULL, 0, &made));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_rank_data_load(files_path("letor"), 0, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_features", plim_rank_data_load(files_path("letor"), SIZE_MAX, &made));
  files_remove("letor");
}

static void data_refuse_what_does_not_fit(void) {
  static const int32_t beyond[2] = {0, RANK_QUERIES}, twice[2] = {3, 3};
  static const float x[2] = {1.0f, 2.0f};
  static const int32_t y[2] = {0, 1};
  static const int64_t offsets[2] = {0, 2};
  int32_t queries[4];
  plim_rank_data *narrow = NULL, *copy = ranking_data(1);
  CHECK_OK(plim_rank_data_new(2, 1, x, y, 1, offsets, &narrow));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "split = 3", plim_rank_data_set_split(data, 3, beyond, 1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "queries[1] = 40", plim_rank_data_set_split(data, PLIM_SPLIT_VAL, beyond, 2));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "queries[1] = 3", plim_rank_data_set_split(data, PLIM_SPLIT_VAL, twice, 2));
  REFUSED(PLIM_ERROR_NULL_POINTER, "queries", plim_rank_data_set_split(data, PLIM_SPLIT_VAL, NULL, 2));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "gain = 2", plim_rank_data_set_ndcg(data, 10, 2));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "5 are needed", plim_rank_data_copy_split(data, PLIM_SPLIT_VAL, queries, 4));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "data has 4 features", plim_rank_data_append(data, narrow, PLIM_SPLIT_VAL));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "reference 1", plim_rank_data_standardize(data, narrow));
  REFUSED(PLIM_ERROR_BUSY, "", plim_rank_data_append(data, data, PLIM_SPLIT_VAL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "split = -1", plim_rank_data_append(data, copy, -1));
  CHECK_OK(plim_rank_data_standardize(copy, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "standardised already", plim_rank_data_standardize(copy, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "not standardised as data", plim_rank_data_append(data, copy, PLIM_SPLIT_VAL));
  CHECK(plim_rank_data_num_queries(data) == RANK_QUERIES && plim_rank_data_split_size(data, PLIM_SPLIT_VAL) == 5);
  CHECK_OK(plim_rank_data_set_split(narrow, PLIM_SPLIT_TRAIN, NULL, 0));
  REFUSED(PLIM_ERROR_MISSING_DATA, "train split is empty", plim_rank_data_standardize(narrow, NULL));
  plim_rank_data_free(copy);
  plim_rank_data_free(narrow);
}

static void models_must_have_one_output_and_the_features(void) {
  static const size_t wide[2] = {RANK_FEATURES, 2}, long_one[2] = {RANK_FEATURES + 1, 1}, sizes[1] = {4};
  static const size_t *const shapes[2] = {wide, long_one};
  static const char *const texts[2] = {"output width is 2", "input width is 5"};
  for (size_t i = 0; i < 2; i++) {
    plim_model *other = NULL;
    CHECK_OK(plim_model_gcn(shapes[i], 2, 0, &other));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, texts[i], plim_rank_score(other, data, floats, RANK_DOCUMENTS));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, texts[i],
            plim_rank_evaluate(other, data, PLIM_SPLIT_VAL, &numbers[0], &numbers[1], &numbers[2]));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, texts[i],
            plim_rank_gradient(unbiased, other, data, NULL, 0, floats, RANK_DOCUMENTS, &numbers[0]));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, texts[i],
            plim_rank_train(other, data, unbiased, optimizer, NULL, &history));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, texts[i],
            plim_rank_tail_new(unbiased, other, data, sizes, 1, NULL, 0, NULL, &tail));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, texts[i],
            plim_rank_plan_new(unbiased, other, data, 0.5, 0.5, 1, NULL, &plan));
    plim_model_free(other);
  }
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "480 are needed", plim_rank_score(model, data, floats, RANK_DOCUMENTS - 1));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "5 are needed", plim_rank_measure(model, data, PLIM_SPLIT_VAL, 0, numbers, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "measure = 3", plim_rank_measure(model, data, PLIM_SPLIT_VAL, 3, numbers, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "split = 9", plim_rank_evaluate(model, data, 9, &numbers[0], NULL, NULL));
}

static void estimators_must_be_made_for_rankings(void) {
  static const size_t sizes[1] = {4};
  static const int32_t beyond[1] = {RANK_QUERIES}, twice[2] = {1, 1}, none[1] = {0};
  plim_estimator *consistent = NULL, *pairs = NULL, *full = NULL;
  plim_graph *graph = NULL;
  plim_train_options *options = NULL;
  static const size_t widths[2] = {2, 3};
  plim_model *classifier = NULL;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_pairs = 0", plim_estimator_pairs(0, &estimator));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_pairs", plim_estimator_pairs(SIZE_MAX, &estimator));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_documents = 0", plim_estimator_separate(0, 1, &estimator));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_documents", plim_estimator_separate(1048577, 0, &estimator));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_estimator_pairs(1, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_estimator_separate(1, 0, NULL));
  CHECK_OK(plim_estimator_consistent(sizes, 1, &consistent));
  CHECK_OK(plim_estimator_pairs(4, &pairs));
  CHECK_OK(plim_estimator_full(&full));
  REFUSED(PLIM_ERROR_UNSUPPORTED, "neighbours",
          plim_rank_gradient(consistent, model, data, NULL, 0, floats, RANK_DOCUMENTS, NULL));
  REFUSED(PLIM_ERROR_UNSUPPORTED, "neighbours", plim_rank_train(model, data, consistent, optimizer, NULL, &history));
  REFUSED(PLIM_ERROR_UNSUPPORTED, "draws no nodes", plim_estimator_set_distribution(pairs, 1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "takes none",
          plim_rank_gradient(full, model, data, none, 1, floats, RANK_DOCUMENTS, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch is empty",
          plim_rank_gradient(pairs, model, data, none, 0, floats, RANK_DOCUMENTS, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[0] = 40",
          plim_rank_gradient(pairs, model, data, beyond, 1, floats, RANK_DOCUMENTS, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[1] = 1 stands",
          plim_rank_gradient(pairs, model, data, twice, 2, floats, RANK_DOCUMENTS, NULL));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "gradient",
          plim_rank_gradient(pairs, model, data, NULL, 0, floats, RANK_FEATURES - 1, NULL));
  CHECK_OK(plim_graph_from_mixture(10, 1, &graph));
  CHECK_OK(plim_model_gcn(widths, 2, 0, &classifier));
  REFUSED(PLIM_ERROR_UNSUPPORTED, "pairs of documents",
          plim_estimator_gradient(pairs, classifier, graph, NULL, 0, floats, RANK_DOCUMENTS, NULL));
  REFUSED(PLIM_ERROR_UNSUPPORTED, "pairs of documents",
          plim_train(classifier, graph, pairs, optimizer, NULL, &history));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_monitor(options, PLIM_MONITOR_VAL_NDCG));
  REFUSED(PLIM_ERROR_UNSUPPORTED, "NDCG", plim_train(classifier, graph, unbiased, optimizer, options, &history));
  plim_train_options_free(options);
  plim_model_free(classifier);
  plim_graph_free(graph);
  plim_estimator_free(full);
  plim_estimator_free(pairs);
  plim_estimator_free(consistent);
}

/* Queries without pairs: in a batch, and as the only queries of a split. */
static void queries_without_a_pair_are_found(void) {
  static const float x[5] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  static const int32_t y[5] = {1, 1, 0, 1, 0}, first[1] = {0}, third[1] = {2};
  static const int64_t offsets[4] = {0, 2, 4, 5};
  static const size_t widths[2] = {1, 1};
  plim_rank_data *few = NULL;
  plim_model *scorer = NULL;
  double each[3], loss = NAN, accuracy, ndcg;
  float gradient[1] = {7.0f};
  CHECK_OK(plim_rank_data_new(5, 1, x, y, 3, offsets, &few));
  CHECK_OK(plim_model_gcn(widths, 2, 0, &scorer));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[0] = 0 has no two documents",
          plim_rank_gradient(unbiased, scorer, few, first, 1, floats, RANK_DOCUMENTS, NULL));
  CHECK_OK(plim_rank_gradient(unbiased, scorer, few, NULL, 0, gradient, 1, &loss));
  CHECK(isfinite(loss) && gradient[0] != 0.0f);
  CHECK_OK(plim_rank_measure(scorer, few, PLIM_SPLIT_TRAIN, PLIM_RANK_MEASURE_ACCURACY, each, 3));
  CHECK(isnan(each[0]) && !isnan(each[1]) && isnan(each[2]));
  CHECK_OK(plim_rank_measure(scorer, few, PLIM_SPLIT_TRAIN, PLIM_RANK_MEASURE_LOSS, each, 3));
  CHECK(isnan(each[0]) && !isnan(each[1]) && isnan(each[2]));
  CHECK_OK(plim_rank_measure(scorer, few, PLIM_SPLIT_TRAIN, PLIM_RANK_MEASURE_NDCG, each, 3));
  CHECK(each[0] == 1.0 && each[2] == 0.0);
  CHECK_OK(plim_rank_evaluate(scorer, few, PLIM_SPLIT_TRAIN, &loss, &accuracy, &ndcg));
  CHECK_NEAR((each[0] + each[1] + each[2]) / 3.0, ndcg, 1e-15);
  CHECK_OK(plim_rank_data_set_split(few, PLIM_SPLIT_TRAIN, third, 1));
  REFUSED(PLIM_ERROR_MISSING_DATA, "no query of the train split",
          plim_rank_train(scorer, few, unbiased, optimizer, NULL, &history));
  CHECK_OK(plim_rank_data_set_split(few, PLIM_SPLIT_TRAIN, NULL, 0));
  REFUSED(PLIM_ERROR_MISSING_DATA, "train split is empty",
          plim_rank_train(scorer, few, unbiased, optimizer, NULL, &history));
  REFUSED(PLIM_ERROR_MISSING_DATA, "val split is empty",
          plim_rank_evaluate(scorer, few, PLIM_SPLIT_VAL, &numbers[0], NULL, NULL));
  plim_model_free(scorer);
  plim_rank_data_free(few);
}

static plim_status set_split(void *h) { return plim_rank_data_set_split((plim_rank_data *)h, 0, NULL, 0); }
static plim_status set_ndcg(void *h) { return plim_rank_data_set_ndcg((plim_rank_data *)h, 5, 0); }
static plim_status standardize(void *h) { return plim_rank_data_standardize((plim_rank_data *)h, NULL); }
static plim_status append(void *h) { return plim_rank_data_append((plim_rank_data *)h, data, 0); }
static plim_status other(void *h) { return plim_rank_data_append(data, (plim_rank_data *)h, 0); }
static plim_status score(void *h) { return plim_rank_score(model, (plim_rank_data *)h, floats, RANK_DOCUMENTS); }
static plim_status by(void *h) { return plim_rank_score((plim_model *)h, data, floats, RANK_DOCUMENTS); }
static plim_status measure(void *h) {
  return plim_rank_measure(model, (plim_rank_data *)h, PLIM_SPLIT_VAL, 0, numbers, 3);
}
static plim_status evaluate(void *h) {
  return plim_rank_evaluate(model, (plim_rank_data *)h, PLIM_SPLIT_VAL, &numbers[0], NULL, NULL);
}
static plim_status gradient(void *h) {
  return plim_rank_gradient(unbiased, model, (plim_rank_data *)h, NULL, 0, floats, RANK_DOCUMENTS, NULL);
}
static plim_status trained(void *h) {
  return plim_rank_train(model, (plim_rank_data *)h, unbiased, optimizer, NULL, &history);
}
static plim_status tailed(void *h) {
  static const size_t sizes[1] = {2};
  return plim_rank_tail_new(unbiased, model, (plim_rank_data *)h, sizes, 1, NULL, 0, NULL, &tail);
}
static plim_status planned(void *h) {
  return plim_rank_plan_new(unbiased, model, (plim_rank_data *)h, 0.5, 0.5, 1, NULL, &plan);
}
static plim_status offsets_of(void *h) { return plim_rank_data_copy_offsets((plim_rank_data *)h, NULL, 0); }
static plim_status relevance_of(void *h) { return plim_rank_data_copy_relevance((plim_rank_data *)h, NULL, 0); }
static plim_status ids_of(void *h) { return plim_rank_data_copy_query_ids((plim_rank_data *)h, NULL, 0); }
static plim_status split_of(void *h) { return plim_rank_data_copy_split((plim_rank_data *)h, 0, NULL, 0); }

FUNCTIONS(untouched, FUNCTION("data", set_split), FUNCTION("data", set_ndcg), FUNCTION("data", standardize),
          FUNCTION("data", append), FUNCTION("other", other), FUNCTION("data", score), FUNCTION("model", by),
          FUNCTION("data", measure), FUNCTION("data", evaluate), FUNCTION("data", gradient), FUNCTION("data", trained),
          FUNCTION("data", tailed), FUNCTION("data", planned), FUNCTION("data", offsets_of),
          FUNCTION("data", relevance_of), FUNCTION("data", ids_of), FUNCTION("data", split_of));

static void handles_must_be_live_and_of_their_type(void) {
  plim_rank_data *dead = ranking_data(1);
  plim_rank_data_free(dead);
  handles_foreign(&functions, "data");
  handles_foreign(&functions, "other");
  handles_foreign(&functions, "model");
  handles_refused(&functions, "data", model, "a model");
  handles_refused(&functions, "data", dead, "dead data");
  handles_refused(&functions, "model", data, "data");
  plim_rank_data_free(NULL);
}

int main(void) {
  data = ranking_data(1);
  model = ranking_model(0);
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_OK(plim_optimizer_sgd(0.1, &optimizer));
  check_fill(floats, RANK_DOCUMENTS);
  RUN(arrays_must_fit_each_other);
  RUN(a_bad_line_is_named_by_line_and_column);
  RUN(data_refuse_what_does_not_fit);
  RUN(models_must_have_one_output_and_the_features);
  RUN(estimators_must_be_made_for_rankings);
  RUN(queries_without_a_pair_are_found);
  RUN(handles_must_be_live_and_of_their_type);
  plim_optimizer_free(optimizer);
  plim_estimator_free(unbiased);
  plim_model_free(model);
  plim_rank_data_free(data);
  files_close();
  return check_close();
}
