/* Invalid arguments for graph functions: the status, the message, nothing written, and an unchanged graph. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

/* The sample graph, and its results before the invalid calls. */
static plim_graph *graph = NULL;
static plim_model *model = NULL;
static float probabilities[SAMPLE_NODES * SAMPLE_CLASSES];

static void check_unharmed(int line) {
  float again[SAMPLE_NODES * SAMPLE_CLASSES];
  int32_t labels[SAMPLE_NODES], nodes[SAMPLE_NODES];
  int ok = plim_graph_num_nodes(graph) == SAMPLE_NODES && plim_graph_num_edges(graph) == SAMPLE_EDGES &&
           plim_graph_num_features(graph) == SAMPLE_FEATURES && plim_graph_num_classes(graph) == SAMPLE_CLASSES;
  sample_predict(model, graph, again);
  ok &= memcmp(probabilities, again, sizeof again) == 0;
  CHECK_OK(plim_graph_copy_labels(graph, labels, SAMPLE_NODES));
  ok &= memcmp(sample_labels, labels, sizeof labels) == 0;
  ok &= plim_graph_split_size(graph, PLIM_SPLIT_TRAIN) == SAMPLE_TRAIN;
  CHECK_OK(plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, nodes, SAMPLE_NODES));
  ok &= memcmp(sample_train, nodes, sizeof sample_train) == 0;
  if (!CHECK(ok)) {
    fprintf(stderr, "  the graph changed at line %d\n", line);
  }
}

/* Checks that the call fails with this status and message and does not change the sample graph. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), check_unharmed(__LINE__))

static void edges(plim_status status, const char *fragment, size_t num_nodes, size_t num_edges, const int32_t *sources,
                  const int32_t *targets, const float *weights) {
  plim_graph *out = UNTOUCHED(plim_graph);
  CHECK_FAILS(status, fragment, plim_graph_from_edges(num_nodes, num_edges, sources, targets, weights, &out));
  CHECK(out == UNTOUCHED(plim_graph));
}

static void edges_must_be_there_and_in_range(void) {
  static const int32_t good[4] = {0, 1, 2, 4}, high[4] = {1, 2, 3, 9}, low[4] = {1, -1, 2, 3};
  static const int32_t far[4] = {1, 2, INT32_MIN, 0};
  edges(PLIM_ERROR_INVALID_ARGUMENT, "targets[3] = 9 is outside [0, 5)", 5, 4, good, high, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "sources[3] = 9 is outside [0, 5)", 5, 4, high, good, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "targets[1] = -1 is outside [0, 5)", 5, 4, good, low, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "sources[2] = -2147483648 is outside [0, 5)", 5, 4, far, good, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "sources[3] = 4 is outside [0, 4)", 4, 4, good, good, NULL);
  edges(PLIM_ERROR_NULL_POINTER, "sources", 5, 4, NULL, good, NULL);
  edges(PLIM_ERROR_NULL_POINTER, "targets", 5, 4, good, NULL, NULL);
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_graph_from_edges(5, 4, good, good, NULL, NULL));
}

static void a_graph_has_at_least_one_node_and_ids_that_fit(void) {
  static const int32_t none[1] = {0};
  edges(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", 0, 0, NULL, NULL, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", 0, 1, none, none, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", (size_t)INT32_MAX + 1, 0, NULL, NULL, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", SIZE_MAX, 0, NULL, NULL, NULL);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "", 5, SIZE_MAX, none, none, NULL); /* more than memory can hold, so not read */
}

static void edge_weights_must_be_finite_and_not_negative(void) {
  static const int32_t ids[3] = {0, 1, 2};
  static const float nan[3] = {1.0f, 1.0f, NAN}, infinite[3] = {1.0f, INFINITY, 1.0f};
  static const float negative[3] = {-1.5f, 1.0f, 1.0f}, below[3] = {1.0f, -INFINITY, 1.0f};
  edges(PLIM_ERROR_INVALID_ARGUMENT, "weights[2] = NaN", 5, 3, ids, ids, nan);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "weights[1]", 5, 3, ids, ids, infinite);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "weights[1]", 5, 3, ids, ids, below);
  edges(PLIM_ERROR_INVALID_ARGUMENT, "weights[0] = -1.5", 5, 3, ids, ids, negative);
}

static void csr(plim_status status, const char *fragment, size_t num_nodes, const int64_t *indptr,
                const int32_t *indices, const float *values) {
  plim_graph *out = UNTOUCHED(plim_graph);
  CHECK_FAILS(status, fragment, plim_graph_from_csr(num_nodes, indptr, indices, values, &out));
  CHECK(out == UNTOUCHED(plim_graph));
}

static void csr_must_be_csr(void) {
  static const int64_t good[] = {0, 2, 2, 3}, late[] = {1, 2, 2, 3}, back[] = {0, 3, 2, 3}, negative[] = {0, -1, 2, 3};
  static const int64_t endless[] = {0, 2, 2, INT64_MAX}, before[] = {-1, 0, 2, 3};
  static const int32_t indices[] = {0, 1, 2}, high[] = {0, 1, 3}, low[] = {-1, 1, 2};
  static const float values[] = {1.0f, 1.0f, 1.0f}, nan[] = {1.0f, NAN, 1.0f}, minus[] = {1.0f, 1.0f, -2.0f};
  plim_graph *out = NULL;
  csr(PLIM_ERROR_INVALID_ARGUMENT, "indptr[0]", 3, late, indices, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "indptr[0]", 3, before, indices, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "indptr[2]", 3, back, indices, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "indptr[1]", 3, negative, indices, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "ind", 3, endless, indices, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "indices[2] = 3 is outside [0, 3)", 3, good, high, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "indices[0] = -1 is outside [0, 3)", 3, good, low, NULL);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "values[1] = NaN", 3, good, indices, nan);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "values[2] = -2", 3, good, indices, minus);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", 0, good, indices, values);
  csr(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", (size_t)INT32_MAX + 1, good, indices, values);
  csr(PLIM_ERROR_NULL_POINTER, "indptr", 3, NULL, indices, values);
  csr(PLIM_ERROR_NULL_POINTER, "indices", 3, good, NULL, values);
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_graph_from_csr(3, good, indices, values, NULL));
  CHECK_OK(plim_graph_from_csr(3, good, indices, values, &out));
  plim_graph_free(out);
}

static void a_mixture_must_fit(void) {
  static const size_t sizes[] = {0, (size_t)INT32_MAX / 3 + 1, (size_t)INT32_MAX, SIZE_MAX / 3 + 1, SIZE_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    plim_graph *out = UNTOUCHED(plim_graph);
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "nodes_per_class", plim_graph_from_mixture(sizes[i], 0, &out));
    CHECK(out == UNTOUCHED(plim_graph));
  }
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_graph_from_mixture(10, 0, NULL));
}

static void dense_features_must_be_finite(void) {
  float features[SAMPLE_NODES * SAMPLE_FEATURES];
  sample_features(features, SAMPLE_NODES * SAMPLE_FEATURES);
  REFUSED(PLIM_ERROR_NULL_POINTER, "row_major", plim_graph_set_features(graph, SAMPLE_FEATURES, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_features", plim_graph_set_features(graph, 0, features));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_features", plim_graph_set_features(graph, 0, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "", plim_graph_set_features(graph, SIZE_MAX / 2, features));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "", plim_graph_set_features(graph, SIZE_MAX / SAMPLE_NODES + 1, features));
  features[7] = NAN;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "row_major[7] = NaN is not finite (node 1, feature 2)",
          plim_graph_set_features(graph, SAMPLE_FEATURES, features));
  features[7] = -INFINITY;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "row_major[7]", plim_graph_set_features(graph, SAMPLE_FEATURES, features));
  features[7] = 0.0f;
  features[59] = INFINITY;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "row_major[59]", plim_graph_set_features(graph, SAMPLE_FEATURES, features));
}

static void sparse_features_must_be_csr_and_finite(void) {
  int64_t indptr[SAMPLE_NODES + 1] = {0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
  int32_t indices[3] = {0, 4, 2};
  float values[3] = {1.0f, 2.0f, 3.0f};
  REFUSED(PLIM_ERROR_NULL_POINTER, "indptr", plim_graph_set_sparse_features(graph, 5, NULL, indices, values));
  REFUSED(PLIM_ERROR_NULL_POINTER, "indices", plim_graph_set_sparse_features(graph, 5, indptr, NULL, values));
  REFUSED(PLIM_ERROR_NULL_POINTER, "values", plim_graph_set_sparse_features(graph, 5, indptr, indices, NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_features",
          plim_graph_set_sparse_features(graph, 0, indptr, indices, values));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indices[1] = 4 is outside [0, 4)",
          plim_graph_set_sparse_features(graph, 4, indptr, indices, values));
  indices[2] = -3;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indices[2] = -3",
          plim_graph_set_sparse_features(graph, 5, indptr, indices, values));
  indices[2] = 2;
  values[1] = NAN;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "values[1] = NaN",
          plim_graph_set_sparse_features(graph, 5, indptr, indices, values));
  values[1] = 2.0f;
  indptr[0] = 1;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indptr[0]", plim_graph_set_sparse_features(graph, 5, indptr, indices, values));
  indptr[0] = 0;
  indptr[4] = 2;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indptr[4]", plim_graph_set_sparse_features(graph, 5, indptr, indices, values));
  indptr[4] = 3;
  indptr[SAMPLE_NODES] = INT64_MAX;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "ind", plim_graph_set_sparse_features(graph, 5, indptr, indices, values));
}

static void a_row_too_small_to_divide_by_changes_nothing(void) {
  static const float features[6] = {1.0f, 3.0f, 0.0f, 1.0f, -1.0f, 1e-44f}; /* the second row sums to 1e-44 */
  plim_graph *other = NULL;
  plim_model *identity = identity_model(3);
  float rows[6];
  CHECK_OK(plim_graph_from_edges(2, 0, NULL, NULL, NULL, &other));
  CHECK_OK(plim_graph_set_features(other, 3, features));
  CHECK_STATUS(PLIM_ERROR_INVALID_ARGUMENT, plim_graph_normalize_features(other));
  CHECK_OK(plim_model_embed(identity, other, NULL, 0, 0, rows, 6));
  CHECK_BITS(features, rows, 5);
  plim_model_free(identity);
  plim_graph_free(other);
}

static void labels_are_at_least_minus_one(void) {
  int32_t labels[SAMPLE_NODES];
  memcpy(labels, sample_labels, sizeof labels);
  REFUSED(PLIM_ERROR_NULL_POINTER, "labels", plim_graph_set_labels(graph, NULL));
  labels[6] = -2;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "labels[6] = -2", plim_graph_set_labels(graph, labels));
  memcpy(labels, sample_labels, sizeof labels);
  labels[7] = INT32_MAX;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "labels[7] = 2147483647 is not below 65536; state the number of classes",
          plim_graph_set_labels(graph, labels));
  labels[7] = 65536;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "labels[7] = 65536", plim_graph_set_labels(graph, labels));
  labels[0] = INT32_MIN;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "labels[0] = -2147483648", plim_graph_set_labels(graph, labels));
}

static void a_stated_number_of_classes_holds_every_label(void) {
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "labels[2] = 2 is not below 2, the stated number of classes",
          plim_graph_set_num_classes(graph, 2));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_classes = 2147483648 is outside [0, 2147483647]",
          plim_graph_set_num_classes(graph, (size_t)INT32_MAX + 1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_classes", plim_graph_set_num_classes(graph, SIZE_MAX));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_num_classes(NULL, 3));
}

static void splits_hold_each_node_once_and_in_range(void) {
  static const int32_t high[3] = {0, 1, 12}, low[3] = {-1, 1, 2}, twice[4] = {4, 2, 5, 2}, good[2] = {1, 2};
  static const int32_t strangers[] = {-1, 3, 255, INT32_MAX, INT32_MIN};
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[2] = 12", plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, high, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[0] = -1", plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, low, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[3] = 2", plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, twice, 4));
  REFUSED(PLIM_ERROR_NULL_POINTER, "nodes", plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, NULL, 3));
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    int32_t copy[2] = {77, 77};
    char value[16];
    snprintf(value, sizeof value, "%d", (int)strangers[i]);
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "split", plim_graph_set_split(graph, strangers[i], good, 2));
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, value, plim_graph_copy_split(graph, strangers[i], copy, 2));
    CHECK(copy[0] == 77);
    CHECK(plim_graph_split_size(graph, strangers[i]) == 0);
  }
}

static void normalizations_are_three(void) {
  static const int32_t strangers[] = {-1, 3, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "normalization", plim_graph_set_normalization(graph, strangers[i]));
  }
}

static void copies_need_room(void) {
  int32_t copy[SAMPLE_NODES];
  for (size_t i = 0; i < SAMPLE_NODES; i++) {
    copy[i] = 77;
  }
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "5", plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, copy, 4));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "3", plim_graph_copy_split(graph, PLIM_SPLIT_VAL, copy, 0));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "12", plim_graph_copy_labels(graph, copy, 11));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, NULL, 5));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_graph_copy_labels(graph, NULL, 12));
  for (size_t i = 0; i < SAMPLE_NODES; i++) {
    CHECK(copy[i] == 77);
  }
}

static void what_is_missing_is_said(void) {
  plim_graph *bare = NULL;
  int32_t copy[3] = {77, 77, 77};
  CHECK_OK(plim_graph_from_edges(3, 0, NULL, NULL, NULL, &bare));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "features", plim_graph_normalize_features(bare));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "labels", plim_graph_copy_labels(bare, copy, 3));
  CHECK(copy[0] == 77);
  plim_graph_free(bare);
}

static void handles_and_paths_must_not_be_null(void) {
  static const int64_t indptr[SAMPLE_NODES + 1] = {0};
  static const float features[SAMPLE_NODES] = {0.0f};
  int32_t copy[SAMPLE_NODES];
  plim_graph *out = UNTOUCHED(plim_graph);
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_save(NULL, "/tmp/never-written.npz"));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_cache(NULL, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_features(NULL, 1, features));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_sparse_features(NULL, 1, indptr, NULL, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_normalize_features(NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_labels(NULL, sample_labels));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_split(NULL, 0, sample_train, SAMPLE_TRAIN));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_set_normalization(NULL, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_copy_split(NULL, 0, copy, SAMPLE_NODES));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_copy_labels(NULL, copy, SAMPLE_NODES));
  REFUSED(PLIM_ERROR_NULL_POINTER, "path", plim_graph_save(graph, NULL));
  REFUSED(PLIM_ERROR_NULL_POINTER, "path", plim_graph_load(NULL, &out));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_graph_load("/nowhere/graph.npz", NULL));
  CHECK(out == UNTOUCHED(plim_graph));
}

int main(void) {
  graph = sample_graph();
  model = sample_model(2);
  sample_predict(model, graph, probabilities);
  RUN(edges_must_be_there_and_in_range);
  RUN(a_graph_has_at_least_one_node_and_ids_that_fit);
  RUN(edge_weights_must_be_finite_and_not_negative);
  RUN(csr_must_be_csr);
  RUN(a_mixture_must_fit);
  RUN(dense_features_must_be_finite);
  RUN(sparse_features_must_be_csr_and_finite);
  RUN(a_row_too_small_to_divide_by_changes_nothing);
  RUN(labels_are_at_least_minus_one);
  RUN(a_stated_number_of_classes_holds_every_label);
  RUN(splits_hold_each_node_once_and_in_range);
  RUN(normalizations_are_three);
  RUN(copies_need_room);
  RUN(what_is_missing_is_said);
  RUN(handles_and_paths_must_not_be_null);
  plim_model_free(model);
  plim_graph_free(graph);
  return check_close();
}
