/* Invalid arguments for model functions: the status, the message, nothing written, and an unchanged model. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "sample.h"

enum { PARAMETERS = 32, RESULTS = SAMPLE_NODES * SAMPLE_CLASSES };

/* The sample graph, a model of widths 5, 4, 3, and their results before the invalid calls. */
static plim_graph *graph = NULL;
static plim_model *model = NULL;
static float probabilities[RESULTS];

static void check_unharmed(int line) {
  float again[RESULTS];
  sample_predict(model, graph, again);
  if (!CHECK(memcmp(probabilities, again, sizeof again) == 0)) {
    fprintf(stderr, "  the model changed at line %d\n", line);
  }
}

/* Checks that the call fails with this status and message and does not change the model. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), check_unharmed(__LINE__))

static void gcn(plim_status status, const char *fragment, const size_t *widths, size_t num_widths) {
  plim_model *out = UNTOUCHED(plim_model);
  CHECK_FAILS(status, fragment, plim_model_gcn(widths, num_widths, 0, &out));
  CHECK(out == UNTOUCHED(plim_model));
}

static void widths_must_make_a_model(void) {
  static const size_t good[2] = {5, 3}, zero[3] = {5, 0, 3}, first[2] = {0, 3}, last[3] = {5, 4, 0};
  static const size_t overflow[2] = {(size_t)1 << 40, (size_t)1 << 40}, sum[3] = {SIZE_MAX / 2, 2, SIZE_MAX / 2};
  static const size_t wide[2] = {(size_t)INT32_MAX + 1, 1}, enormous[2] = {(size_t)1 << 30, (size_t)1 << 30};
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "num_widths", good, 0);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "num_widths", good, 1);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "widths[1] = 0", zero, 3);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "widths[0] = 0", first, 2);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "widths[2] = 0", last, 3);
  gcn(PLIM_ERROR_NULL_POINTER, "widths", NULL, 2);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "widths[0]", wide, 2);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "", overflow, 2);
  gcn(PLIM_ERROR_INVALID_ARGUMENT, "", sum, 3);
  /* 2^62 bytes: no overflow, and no machine has them. */
  gcn(PLIM_ERROR_OUT_OF_MEMORY, "cannot allocate 4,611,686,018,427,387,904 bytes for the parameters", enormous, 2);
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_model_gcn(good, 2, 0, NULL));
}

static void parameters_must_be_as_many_and_finite(void) {
  float parameters[PARAMETERS + 1], copy[PARAMETERS];
  CHECK_OK(plim_model_get_parameters(model, parameters, PARAMETERS));
  parameters[PARAMETERS] = 0.0f;
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "32", plim_model_set_parameters(model, parameters, PARAMETERS - 1));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "33", plim_model_set_parameters(model, parameters, PARAMETERS + 1));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "0", plim_model_set_parameters(model, parameters, 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "src", plim_model_set_parameters(model, NULL, PARAMETERS));
  parameters[0] += 1.0f;
  parameters[5] = NAN;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "src[5] = NaN", plim_model_set_parameters(model, parameters, PARAMETERS));
  parameters[5] = INFINITY;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "src[5]", plim_model_set_parameters(model, parameters, PARAMETERS));
  parameters[5] = 0.0f;
  parameters[31] = -INFINITY;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "src[31]", plim_model_set_parameters(model, parameters, PARAMETERS));
  check_fill(copy, PARAMETERS);
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "32", plim_model_get_parameters(model, copy, PARAMETERS - 1));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "32", plim_model_get_parameters(model, copy, 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_model_get_parameters(model, NULL, PARAMETERS));
  CHECK(check_filled(copy, PARAMETERS));
}

static void widths_need_room(void) {
  size_t copy[3] = {77, 77, 77};
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "3", plim_model_copy_widths(model, copy, 2));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_model_copy_widths(model, NULL, 3));
  CHECK(copy[0] == 77 && copy[1] == 77 && copy[2] == 77);
}

static void lambda_must_be_finite_and_not_negative(void) {
  static const double bad[] = {-1.0, -1e-300, NAN, INFINITY, -INFINITY};
  plim_estimator *full = NULL;
  float gradient[PARAMETERS];
  double before = NAN, after = NAN;
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_model_set_regularization(model, 0.5));
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, PARAMETERS, &before));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "lambda", plim_model_set_regularization(model, bad[i]));
  }
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, PARAMETERS, &after));
  CHECK(before == after);
  CHECK_OK(plim_model_set_regularization(model, 0.0));
  plim_estimator_free(full);
}

static void threads_are_not_without_number(void) {
  static const size_t many[] = {1025, 65536, (size_t)1 << 40, SIZE_MAX};
  for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "threads", plim_model_set_threads(model, many[i]));
  }
}

static void scratch_files_need_a_directory(void) {
  const char *file = files_path("no_directory");
  REFUSED(PLIM_ERROR_IO, "/no/such/directory", plim_model_set_scratch(model, "/no/such/directory", 0));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "directory", plim_model_set_scratch(model, "", 0));
  CHECK_OK(plim_model_save(model, file));
  REFUSED(PLIM_ERROR_IO, "no_directory is no directory", plim_model_set_scratch(model, file, 0));
  files_remove("no_directory");
}

static void nodes_must_be_in_range(void) {
  static const int32_t high[3] = {0, 99, 1}, edge[1] = {12}, low[2] = {3, -1};
  float rows[RESULTS];
  check_fill(rows, RESULTS);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[1] = 99", plim_model_predict(model, graph, high, 3, rows, RESULTS));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[0] = 12", plim_model_predict(model, graph, edge, 1, rows, RESULTS));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[1] = -1", plim_model_predict(model, graph, low, 2, rows, RESULTS));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[1] = 99", plim_model_embed(model, graph, high, 3, 0, rows, RESULTS));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[1] = -1", plim_model_embed(model, graph, low, 2, 1, rows, RESULTS));
  REFUSED(PLIM_ERROR_NULL_POINTER, "nodes", plim_model_predict(model, graph, NULL, 3, rows, RESULTS));
  REFUSED(PLIM_ERROR_NULL_POINTER, "nodes", plim_model_embed(model, graph, NULL, 3, 0, rows, RESULTS));
  CHECK(check_filled(rows, RESULTS));
}

static void results_need_room(void) {
  static const int32_t two[2] = {4, 5};
  float rows[RESULTS];
  check_fill(rows, RESULTS);
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "36", plim_model_predict(model, graph, NULL, 0, rows, RESULTS - 1));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "36", plim_model_predict(model, graph, NULL, 0, rows, 0));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "6", plim_model_predict(model, graph, two, 2, rows, 5));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "48", plim_model_embed(model, graph, NULL, 0, 0, rows, RESULTS));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "8", plim_model_embed(model, graph, two, 2, 0, rows, 7));
  REFUSED(PLIM_ERROR_NULL_POINTER, "probabilities", plim_model_predict(model, graph, NULL, 0, NULL, RESULTS));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_model_embed(model, graph, NULL, 0, 1, NULL, RESULTS));
  CHECK(check_filled(rows, RESULTS));
}

static void layers_end(void) {
  float rows[RESULTS];
  check_fill(rows, RESULTS);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "layer", plim_model_embed(model, graph, NULL, 0, 2, rows, RESULTS));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "layer", plim_model_embed(model, graph, NULL, 0, SIZE_MAX, rows, RESULTS));
  CHECK(check_filled(rows, RESULTS));
}

static void features_must_be_there_and_fit(void) {
  static const float features[3 * 4] = {0.0f};
  static const int32_t labels[3] = {0, 1, 2};
  plim_graph *other = NULL;
  float rows[9];
  double loss = NAN, accuracy = NAN;
  check_fill(rows, 9);
  CHECK_OK(plim_graph_from_edges(3, 0, NULL, NULL, NULL, &other));
  CHECK_OK(plim_graph_set_labels(other, labels));
  CHECK_OK(plim_graph_set_split(other, PLIM_SPLIT_VAL, labels, 3));
  REFUSED(PLIM_ERROR_MISSING_DATA, "features", plim_model_predict(model, other, NULL, 0, rows, 9));
  REFUSED(PLIM_ERROR_MISSING_DATA, "features", plim_model_embed(model, other, NULL, 0, 1, rows, 9));
  REFUSED(PLIM_ERROR_MISSING_DATA, "features", plim_model_evaluate(model, other, PLIM_SPLIT_VAL, &loss, &accuracy));
  CHECK_OK(plim_graph_set_features(other, 4, features));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "4", plim_model_predict(model, other, NULL, 0, rows, 9));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "5", plim_model_embed(model, other, NULL, 0, 1, rows, 9));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "5", plim_model_evaluate(model, other, PLIM_SPLIT_VAL, &loss, &accuracy));
  CHECK(check_filled(rows, 9) && isnan(loss) && isnan(accuracy));
  plim_graph_free(other);
}

static void evaluate_needs_labels_in_a_split(void) {
  static const int32_t strangers[] = {-1, 3, INT32_MIN}, unlabelled[2] = {1, 10};
  static const int32_t more[SAMPLE_NODES] = {0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0};
  plim_graph *other = sample_graph();
  double loss = NAN, accuracy = NAN;
  for (size_t i = 0; i < 3; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "split", plim_model_evaluate(model, graph, strangers[i], &loss, &accuracy));
  }
  CHECK_OK(plim_graph_set_split(other, PLIM_SPLIT_VAL, NULL, 0));
  CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_model_evaluate(model, other, PLIM_SPLIT_VAL, &loss, &accuracy));
  CHECK_OK(plim_graph_set_split(other, PLIM_SPLIT_VAL, unlabelled, 2));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "10", plim_model_evaluate(model, other, PLIM_SPLIT_VAL, &loss, &accuracy));
  CHECK_OK(plim_graph_set_labels(other, more)); /* a fourth class */
  CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "4", plim_model_evaluate(model, other, PLIM_SPLIT_TEST, &loss, &accuracy));
  plim_graph_free(other);
  CHECK_OK(plim_graph_from_edges(3, 0, NULL, NULL, NULL, &other));
  CHECK_OK(plim_graph_set_features(other, 5, probabilities));
  CHECK_OK(plim_graph_set_split(other, PLIM_SPLIT_VAL, unlabelled, 1));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "label", plim_model_evaluate(model, other, PLIM_SPLIT_VAL, &loss, &accuracy));
  CHECK(isnan(loss) && isnan(accuracy));
  plim_graph_free(other);
  check_unharmed(__LINE__);
}

static void outputs_that_are_no_numbers_have_diverged(void) {
  plim_model *wild = sample_model(2);
  float huge[PARAMETERS], rows[RESULTS];
  double loss = NAN, accuracy = NAN;
  for (size_t i = 0; i < PARAMETERS; i++) {
    huge[i] = i % 2 ? 3e38f : -3e38f;
  }
  check_fill(rows, RESULTS);
  CHECK_OK(plim_model_set_parameters(wild, huge, PARAMETERS));
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_model_predict(wild, graph, NULL, 0, rows, RESULTS));
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_model_embed(wild, graph, NULL, 0, 1, rows, RESULTS));
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_model_evaluate(wild, graph, PLIM_SPLIT_TRAIN, &loss, &accuracy));
  CHECK(check_filled(rows, RESULTS) && isnan(loss) && isnan(accuracy));
  plim_model_free(wild);
}

static void handles_and_paths_must_not_be_null(void) {
  plim_model *out = UNTOUCHED(plim_model);
  float rows[RESULTS];
  size_t widths[3];
  double loss = NAN;
  check_fill(rows, RESULTS);
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_save(NULL, "/tmp/never-written"));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_clone(NULL, &out));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_set_regularization(NULL, 0.0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_set_threads(NULL, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_set_scratch(NULL, NULL, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_get_parameters(NULL, rows, PARAMETERS));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_set_parameters(NULL, probabilities, PARAMETERS));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_copy_widths(NULL, widths, 3));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_predict(NULL, graph, NULL, 0, rows, RESULTS));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_embed(NULL, graph, NULL, 0, 1, rows, RESULTS));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_evaluate(NULL, graph, 0, &loss, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "graph", plim_model_predict(model, NULL, NULL, 0, rows, RESULTS));
  REFUSED(PLIM_ERROR_NULL_POINTER, "graph", plim_model_embed(model, NULL, NULL, 0, 1, rows, RESULTS));
  REFUSED(PLIM_ERROR_NULL_POINTER, "graph", plim_model_evaluate(model, NULL, 0, &loss, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_model_clone(model, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "path", plim_model_save(model, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "path", plim_model_load(NULL, &out));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_model_load("/nowhere/model.safetensors", NULL));
  CHECK(out == UNTOUCHED(plim_model) && check_filled(rows, RESULTS) && isnan(loss));
  CHECK(plim_model_num_layers(NULL) == 0 && plim_model_num_parameters(NULL) == 0);
}

int main(void) {
  graph = sample_graph();
  model = sample_model(2);
  sample_predict(model, graph, probabilities);
  RUN(widths_must_make_a_model);
  RUN(parameters_must_be_as_many_and_finite);
  RUN(widths_need_room);
  RUN(lambda_must_be_finite_and_not_negative);
  RUN(threads_are_not_without_number);
  RUN(scratch_files_need_a_directory);
  RUN(nodes_must_be_in_range);
  RUN(results_need_room);
  RUN(layers_end);
  RUN(features_must_be_there_and_fit);
  RUN(evaluate_needs_labels_in_a_split);
  RUN(outputs_that_are_no_numbers_have_diverged);
  RUN(handles_and_paths_must_not_be_null);
  plim_model_free(model);
  plim_graph_free(graph);
  files_close();
  return check_close();
}
