/* Graphs made from edges and CSR, their features, labels, splits and normalisations.
 *
 * The content of a graph is visible in ÂX: the logits of a one-layer model with identity weights. Small integers keep
 * the arithmetic exact if Â is A. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

/* ÂX of four nodes with one feature. */
static void check_rows(const plim_graph *graph, const float *expected) {
  float rows[4];
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 4);
}

static void check_against(const plim_graph *graph, const dense_graph *expected) {
  float rows[MAX_NODES * MAX_WIDTH];
  aggregate(graph, rows);
  for (size_t v = 0; v < expected->num_nodes; v++) {
    for (size_t i = 0; i < expected->num_features; i++) {
      double sum = 0.0;
      for (size_t u = 0; u < expected->num_nodes; u++) {
        sum += expected->hat[v][u] * expected->x[u][i];
      }
      CHECK_NEAR(sum, (double)rows[v * expected->num_features + i], 2e-6);
    }
  }
}

/* A graph of four nodes with the single feature 1, 10, 100, 1000, and Â = A. */
static plim_graph *four_nodes(size_t num_edges, const int32_t *sources, const int32_t *targets, const float *weights) {
  static const float features[4] = {1.0f, 10.0f, 100.0f, 1000.0f};
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_edges(4, num_edges, sources, targets, weights, &graph));
  CHECK_OK(plim_graph_set_features(graph, 1, features));
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  return graph;
}

static void repeated_edges_in_both_directions_are_one_edge(void) {
  static const int32_t sources[] = {0, 1, 0, 2, 3}, targets[] = {1, 0, 1, 3, 2};
  static const float expected[] = {10.0f, 1.0f, 1000.0f, 100.0f};
  plim_graph *graph = four_nodes(5, sources, targets, NULL);
  CHECK(plim_graph_num_nodes(graph) == 4);
  CHECK(plim_graph_num_edges(graph) == 2);
  check_rows(graph, expected);
  plim_graph_free(graph);
}

static void weights_of_repeated_edges_add_up(void) {
  static const int32_t sources[] = {0, 1, 2, 2, 0}, targets[] = {1, 0, 2, 2, 3};
  static const float weights[] = {0.5f, 0.25f, 1.0f, 2.0f, 4.0f};
  static const float expected[] = {7.5f + 4000.0f, 0.75f, 300.0f, 4.0f};
  plim_graph *graph = four_nodes(5, sources, targets, weights);
  CHECK(plim_graph_num_edges(graph) == 3);
  check_rows(graph, expected);
  plim_graph_free(graph);
}

static void a_self_loop_counts_once_on_the_diagonal(void) {
  static const int32_t sources[] = {2, 2, 0}, targets[] = {2, 2, 2};
  static const float as_it_is[] = {100.0f, 0.0f, 101.0f, 0.0f}, ones[] = {1.0f, 1.0f, 1.0f, 1.0f};
  plim_graph *graph = four_nodes(3, sources, targets, NULL);
  dense_graph dense;
  float rows[4];
  CHECK(plim_graph_num_edges(graph) == 2);
  check_rows(graph, as_it_is);
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_ROW));
  aggregate(graph, rows);
  CHECK_NEAR((1.0 + 2.0 * 100.0) / 3.0, (double)rows[2], 1e-5); /* A + I has 2 on the diagonal */
  memset(&dense, 0, sizeof dense);
  dense.num_nodes = 4;
  dense.num_features = 1;
  dense.a[2][2] = dense.a[0][2] = dense.a[2][0] = 1.0;
  dense.x[0][0] = dense.x[1][0] = dense.x[2][0] = dense.x[3][0] = 1.0;
  CHECK_OK(plim_graph_set_features(graph, 1, ones));
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_SYMMETRIC));
  dense_normalize(&dense, PLIM_NORMALIZATION_SYMMETRIC);
  check_against(graph, &dense);
  plim_graph_free(graph);
}

static void an_isolated_node_keeps_its_own_features(void) {
  static const float expected[] = {1.0f, 10.0f, 100.0f, 1000.0f}, nothing[] = {0.0f, 0.0f, 0.0f, 0.0f};
  plim_graph *graph = four_nodes(0, NULL, NULL, NULL);
  CHECK(plim_graph_num_edges(graph) == 0);
  check_rows(graph, nothing);
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_SYMMETRIC));
  check_rows(graph, expected);
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_ROW));
  check_rows(graph, expected);
  plim_graph_free(graph);
}

static void a_csr_row_lists_the_nodes_it_aggregates_from(void) {
  static const int64_t indptr[] = {0, 2, 2, 3, 6};
  static const int32_t indices[] = {3, 1, 2, 0, 2, 0}; /* unsorted, and (3, 0) twice */
  static const float values[] = {1.0f, 2.0f, 3.0f, 1.0f, 1.0f, 4.0f};
  static const float features[] = {1.0f, 10.0f, 100.0f, 1000.0f};
  static const float expected[] = {1020.0f, 0.0f, 300.0f, 105.0f};
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_csr(4, indptr, indices, values, &graph));
  CHECK(plim_graph_num_nodes(graph) == 4);
  CHECK(plim_graph_num_edges(graph) == 5);
  CHECK_OK(plim_graph_set_features(graph, 1, features));
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  check_rows(graph, expected);
  plim_graph_free(graph);
}

static void csr_without_values_has_ones(void) {
  static const int64_t indptr[] = {0, 1, 4, 4}, no_edges[] = {0, 0, 0, 0};
  static const int32_t indices[] = {2, 0, 1, 0}; /* (1, 0) twice stays 1 */
  static const float features[] = {1.0f, 10.0f, 100.0f}, expected[] = {100.0f, 11.0f, 0.0f};
  plim_graph *graph = NULL;
  float rows[3];
  CHECK_OK(plim_graph_from_csr(3, indptr, indices, NULL, &graph));
  CHECK_OK(plim_graph_set_features(graph, 1, features));
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  CHECK(plim_graph_num_edges(graph) == 3);
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 3);
  plim_graph_free(graph);
  CHECK_OK(plim_graph_from_csr(3, no_edges, NULL, NULL, &graph)); /* no entries, so NULL arrays */
  CHECK(plim_graph_num_edges(graph) == 0);
  plim_graph_free(graph);
}

static void normalisations_are_the_formulas(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  CHECK(plim_graph_num_edges(graph) == SAMPLE_EDGES);
  check_against(graph, &dense); /* symmetric by default */
  for (int32_t round = 0; round < 6; round++) {
    CHECK_OK(plim_graph_set_normalization(graph, round % 3));
    dense_normalize(&dense, round % 3);
    check_against(graph, &dense); /* the previous ÂX is not reused */
  }
  plim_graph_free(graph);
}

static void normalisations_of_a_directed_graph_use_its_row_sums(void) {
  static const int64_t indptr[] = {0, 2, 3, 5, 5};
  static const int32_t indices[] = {1, 3, 0, 0, 2};
  static const float values[] = {1.5f, 2.0f, 0.5f, 1.0f, 3.0f};
  static const float features[] = {1.0f, -2.0f, 0.25f, 3.0f, 5.0f, -1.0f, 2.0f, 0.5f};
  plim_graph *graph = NULL;
  dense_graph dense;
  memset(&dense, 0, sizeof dense);
  dense.num_nodes = 4;
  dense.num_features = 2;
  for (size_t v = 0; v < 4; v++) {
    for (int64_t e = indptr[v]; e < indptr[v + 1]; e++) {
      dense.a[v][indices[e]] = (double)values[e];
    }
    dense.x[v][0] = (double)features[2 * v];
    dense.x[v][1] = (double)features[2 * v + 1];
  }
  CHECK_OK(plim_graph_from_csr(4, indptr, indices, values, &graph));
  CHECK_OK(plim_graph_set_features(graph, 2, features));
  for (int32_t normalization = 0; normalization < 3; normalization++) {
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    dense_normalize(&dense, normalization);
    check_against(graph, &dense);
  }
  plim_graph_free(graph);
}

static void features_can_be_replaced_by_others_of_another_width(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  float features[SAMPLE_NODES * 2];
  check_against(graph, &dense);
  dense.num_features = 2;
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    for (size_t i = 0; i < 2; i++) {
      features[2 * v + i] = (float)(3 * v + i);
      dense.x[v][i] = (double)(3 * v + i) / 32.0;
    }
  }
  for (size_t i = 0; i < SAMPLE_NODES * 2; i++) {
    features[i] /= 32.0f;
  }
  CHECK_OK(plim_graph_set_features(graph, 2, features));
  features[0] = 1e9f; /* the graph has a copy */
  CHECK(plim_graph_num_features(graph) == 2);
  check_against(graph, &dense);
  plim_graph_free(graph);
}

static void sparse_features_are_the_same_features(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  int64_t indptr[SAMPLE_NODES + 1] = {0};
  int32_t indices[SAMPLE_NODES * SAMPLE_FEATURES];
  float values[SAMPLE_NODES * SAMPLE_FEATURES], rows[SAMPLE_NODES * SAMPLE_FEATURES];
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    indptr[v + 1] = indptr[v];
    for (size_t i = 0; i < SAMPLE_FEATURES; i++) {
      if (v == 4 || (v * SAMPLE_FEATURES + i) % 3 != 0) { /* row 4 is empty, every third entry is kept */
        dense.x[v][i] = 0.0;
      } else {
        indices[indptr[v + 1]] = (int32_t)i;
        values[indptr[v + 1]++] = (float)dense.x[v][i];
      }
    }
  }
  CHECK_OK(plim_graph_set_sparse_features(graph, SAMPLE_FEATURES, indptr, indices, values));
  CHECK(plim_graph_num_features(graph) == SAMPLE_FEATURES);
  check_against(graph, &dense);
  memset(indptr, 0, sizeof indptr);
  CHECK_OK(plim_graph_set_sparse_features(graph, 3, indptr, NULL, NULL)); /* all features are 0 */
  CHECK(plim_graph_num_features(graph) == 3);
  aggregate(graph, rows);
  for (size_t i = 0; i < SAMPLE_NODES * 3; i++) {
    CHECK(rows[i] == 0.0f);
  }
  plim_graph_free(graph);
}

static void sparse_features_need_no_order_and_repeats_add_up(void) {
  static const int64_t indptr[] = {0, 4, 4, 6};
  static const int32_t indices[] = {2, 0, 2, 1, 1, 0};
  static const float values[] = {1.0f, 2.0f, 4.0f, -8.0f, 3.0f, 5.0f};
  static const float expected[] = {2.0f, -8.0f, 5.0f, 0.0f, 0.0f, 0.0f, 5.0f, 3.0f, 0.0f};
  plim_graph *graph = NULL;
  float rows[9];
  CHECK_OK(plim_graph_from_edges(3, 0, NULL, NULL, NULL, &graph));
  CHECK_OK(plim_graph_set_sparse_features(graph, 3, indptr, indices, values));
  aggregate(graph, rows);
  for (size_t i = 0; i < 9; i++) {
    CHECK(rows[i] == expected[i]);
  }
  plim_graph_free(graph);
}

static void normalised_rows_sum_to_one_and_a_zero_row_stays_zero(void) {
  static const float features[] = {1.0f, 3.0f, 0.0f, 0.0f, 0.5f, 0.0f, 2.0f, 6.0f};
  static const float expected[] = {0.25f, 0.75f, 0.0f, 0.0f, 1.0f, 0.0f, 0.25f, 0.75f};
  static const int64_t indptr[] = {0, 2, 2, 3, 5};
  static const int32_t indices[] = {0, 1, 0, 0, 1};
  static const float values[] = {1.0f, 3.0f, 0.5f, 2.0f, 6.0f};
  plim_graph *graph = NULL;
  float rows[8];
  CHECK_OK(plim_graph_from_edges(4, 0, NULL, NULL, NULL, &graph)); /* no edges: ÂX is X */
  CHECK_OK(plim_graph_set_features(graph, 2, features));
  aggregate(graph, rows);
  CHECK_BITS(features, rows, 8);
  CHECK_OK(plim_graph_normalize_features(graph));
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 8);
  CHECK_OK(plim_graph_set_sparse_features(graph, 2, indptr, indices, values));
  aggregate(graph, rows);
  CHECK_BITS(features, rows, 8);
  CHECK_OK(plim_graph_normalize_features(graph));
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 8);
  plim_graph_free(graph);
}

static void labels_come_back_and_tell_the_number_of_classes(void) {
  static const int32_t others[] = {5, -1, -1, 0}, none[] = {-1, -1, -1, -1};
  plim_graph *graph = NULL;
  int32_t copy[5] = {-7, -7, -7, -7, -7};
  CHECK_OK(plim_graph_from_edges(4, 0, NULL, NULL, NULL, &graph));
  CHECK(plim_graph_num_classes(graph) == 0);
  CHECK_OK(plim_graph_set_labels(graph, others));
  CHECK(plim_graph_num_classes(graph) == 6);
  CHECK_OK(plim_graph_copy_labels(graph, copy, 5)); /* a larger buffer is valid */
  CHECK_BITS(others, copy, 4);
  CHECK(copy[4] == -7);
  CHECK_OK(plim_graph_set_labels(graph, none));
  CHECK(plim_graph_num_classes(graph) == 0);
  CHECK_OK(plim_graph_copy_labels(graph, copy, 4));
  CHECK_BITS(none, copy, 4);
  plim_graph_free(graph);
}

/* A class without nodes exists if its number is stated; the statement survives labels, but 0 takes it back. */
static void the_number_of_classes_can_be_stated(void) {
  static const int32_t labels[] = {2, -1, -1, 0}, few[] = {0, 0, -1, 1};
  int32_t large[] = {0, 1, 65535, -1};
  size_t widths[2] = {1, 5};
  static const float features[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  static const int32_t all[4] = {0, 1, 2, 3};
  size_t matrix[25];
  plim_graph *graph = NULL;
  plim_model *five = NULL, *four = NULL;
  double loss, accuracy;
  CHECK_OK(plim_graph_from_edges(4, 0, NULL, NULL, NULL, &graph));
  CHECK_OK(plim_graph_set_num_classes(graph, 5));
  CHECK(plim_graph_num_classes(graph) == 5); /* without labels */
  CHECK_OK(plim_graph_set_labels(graph, labels));
  CHECK(plim_graph_num_classes(graph) == 5);
  CHECK_OK(plim_graph_set_labels(graph, few));
  CHECK(plim_graph_num_classes(graph) == 5);
  CHECK_OK(plim_graph_set_num_classes(graph, 2)); /* as many as there are */
  CHECK(plim_graph_num_classes(graph) == 2);
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "labels[0] = 2 is not below 2, the stated number of classes",
              plim_graph_set_labels(graph, labels));
  CHECK_OK(plim_graph_set_num_classes(graph, 0));
  CHECK_OK(plim_graph_set_labels(graph, labels));
  CHECK(plim_graph_num_classes(graph) == 3);
  /* A model needs an output for every stated class, and its confusion matrix has a row for each. */
  CHECK_OK(plim_graph_set_num_classes(graph, 5));
  CHECK_OK(plim_graph_set_features(graph, 1, features));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, all, 1));
  CHECK_OK(plim_model_gcn(widths, 2, 1, &five));
  widths[1] = 4;
  CHECK_OK(plim_model_gcn(widths, 2, 1, &four));
  CHECK_OK(plim_model_evaluate(five, graph, PLIM_SPLIT_TRAIN, &loss, &accuracy));
  CHECK_OK(plim_model_confusion(five, graph, PLIM_SPLIT_TRAIN, matrix, 25));
  CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "output width is 4, the graph has 5 classes",
              plim_model_evaluate(four, graph, PLIM_SPLIT_TRAIN, &loss, &accuracy));
  /* The largest label of a graph whose number of classes nobody stated, and a larger one that somebody did. */
  CHECK_OK(plim_graph_set_num_classes(graph, 0));
  CHECK_OK(plim_graph_set_labels(graph, large));
  CHECK(plim_graph_num_classes(graph) == 65536);
  CHECK_OK(plim_graph_set_num_classes(graph, INT32_MAX));
  large[2] = INT32_MAX - 1;
  CHECK_OK(plim_graph_set_labels(graph, large));
  CHECK(plim_graph_num_classes(graph) == INT32_MAX);
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "labels[2] = 2147483646", plim_graph_set_num_classes(graph, 0));
  CHECK(plim_graph_num_classes(graph) == INT32_MAX);
  plim_model_free(four);
  plim_model_free(five);
  plim_graph_free(graph);
}

/* Where there are more nodes than 65,536, there may be as many classes. */
static void there_may_be_a_class_per_node(void) {
  enum { NODES = 70000 };
  int32_t *labels = (int32_t *)check_alloc(NODES, sizeof *labels);
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_edges(NODES, 0, NULL, NULL, NULL, &graph));
  labels[3] = NODES - 1;
  CHECK_OK(plim_graph_set_labels(graph, labels));
  CHECK(plim_graph_num_classes(graph) == NODES);
  labels[3] = NODES;
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "labels[3] = 70000 is not below 70000", plim_graph_set_labels(graph, labels));
  plim_graph_free(graph);
  free(labels);
}

static void splits_come_back_in_their_order_and_can_be_replaced(void) {
  static const int32_t shorter[] = {8, 2};
  plim_graph *graph = sample_graph();
  int32_t copy[8] = {-7, -7, -7, -7, -7, -7, -7, -7};
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TRAIN) == SAMPLE_TRAIN);
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_VAL) == 3);
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TEST) == 3);
  CHECK_OK(plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, copy, 8));
  CHECK_BITS(sample_train, copy, SAMPLE_TRAIN);
  CHECK(copy[SAMPLE_TRAIN] == -7);
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, shorter, 2));
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TRAIN) == 2);
  CHECK_OK(plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, copy, 2));
  CHECK_BITS(shorter, copy, 2);
  CHECK_OK(plim_graph_copy_split(graph, PLIM_SPLIT_TEST, copy, 3)); /* other splits do not change */
  CHECK_BITS(sample_test, copy, 3);
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TEST, NULL, 0));
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TEST) == 0);
  CHECK_OK(plim_graph_copy_split(graph, PLIM_SPLIT_TEST, NULL, 0));
  CHECK_OK(plim_graph_copy_split(graph, PLIM_SPLIT_TEST, copy, 8));
  CHECK_BITS(sample_test, copy, 3); /* unchanged */
  plim_graph_free(graph);
}

static void a_graph_starts_without_features_labels_and_splits(void) {
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_edges(3, 0, NULL, NULL, NULL, &graph));
  CHECK(graph != NULL);
  CHECK(plim_graph_num_features(graph) == 0);
  CHECK(plim_graph_num_classes(graph) == 0);
  for (int32_t split = 0; split < 3; split++) {
    CHECK(plim_graph_split_size(graph, split) == 0);
  }
  plim_graph_free(graph);
  plim_graph_free(NULL);
}

int main(void) {
  RUN(repeated_edges_in_both_directions_are_one_edge);
  RUN(weights_of_repeated_edges_add_up);
  RUN(a_self_loop_counts_once_on_the_diagonal);
  RUN(an_isolated_node_keeps_its_own_features);
  RUN(a_csr_row_lists_the_nodes_it_aggregates_from);
  RUN(csr_without_values_has_ones);
  RUN(normalisations_are_the_formulas);
  RUN(normalisations_of_a_directed_graph_use_its_row_sums);
  RUN(features_can_be_replaced_by_others_of_another_width);
  RUN(sparse_features_are_the_same_features);
  RUN(sparse_features_need_no_order_and_repeats_add_up);
  RUN(normalised_rows_sum_to_one_and_a_zero_row_stays_zero);
  RUN(labels_come_back_and_tell_the_number_of_classes);
  RUN(the_number_of_classes_can_be_stated);
  RUN(there_may_be_a_class_per_node);
  RUN(splits_come_back_in_their_order_and_can_be_replaced);
  RUN(a_graph_starts_without_features_labels_and_splits);
  return check_close();
}
