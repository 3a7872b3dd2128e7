/* The small graph that most tests use: 12 nodes, weighted edges, a self-loop, an isolated node (11), an unlabelled node
 * (10), dense features and all three splits; as a plim_graph and as dense matrices. */
#ifndef PLIM_TESTS_SAMPLE_H
#define PLIM_TESTS_SAMPLE_H

#include "dense.h"

enum { SAMPLE_NODES = 12, SAMPLE_FEATURES = 5, SAMPLE_CLASSES = 3, SAMPLE_EDGES = 16, SAMPLE_TRAIN = 5 };

static const int32_t sample_sources[SAMPLE_EDGES] = {0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 1, 3, 5};
static const int32_t sample_targets[SAMPLE_EDGES] = {1, 2, 3, 3, 4, 5, 6, 4, 7, 8, 9, 10, 10, 7, 9, 10};
static const float sample_weights[SAMPLE_EDGES] = {1.0f, 0.5f, 2.0f, 1.0f, 1.5f, 1.0f, 0.25f, 1.0f,
                                                   3.0f, 1.0f, 0.5f, 1.0f, 2.0f, 1.0f, 1.0f, 0.75f};
static const int32_t sample_labels[SAMPLE_NODES] = {0, 1, 2, 1, 0, 2, 1, 0, 2, 0, -1, 1};
static const int32_t sample_train[SAMPLE_TRAIN] = {0, 3, 11, 7, 5};
static const int32_t sample_val[3] = {1, 4, 8};
static const int32_t sample_test[3] = {2, 6, 9};

static inline void sample_features(float *features, size_t count) {
  uint64_t state = 12;
  for (size_t i = 0; i < count; i++) {
    features[i] = (float)dense_random(&state);
  }
}

/* The graph as dense matrices, with Â in its symmetric form. */
static inline dense_graph sample_dense(void) {
  dense_graph graph;
  float features[SAMPLE_NODES * SAMPLE_FEATURES];
  memset(&graph, 0, sizeof graph);
  graph.num_nodes = SAMPLE_NODES;
  graph.num_features = SAMPLE_FEATURES;
  for (size_t e = 0; e < SAMPLE_EDGES; e++) {
    graph.a[sample_sources[e]][sample_targets[e]] = (double)sample_weights[e];
    graph.a[sample_targets[e]][sample_sources[e]] = (double)sample_weights[e];
  }
  sample_features(features, SAMPLE_NODES * SAMPLE_FEATURES);
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    graph.labels[v] = sample_labels[v];
    for (size_t i = 0; i < SAMPLE_FEATURES; i++) {
      graph.x[v][i] = (double)features[v * SAMPLE_FEATURES + i];
    }
  }
  dense_normalize(&graph, PLIM_NORMALIZATION_SYMMETRIC);
  return graph;
}

static inline plim_graph *sample_graph(void) {
  plim_graph *graph = NULL;
  float features[SAMPLE_NODES * SAMPLE_FEATURES];
  sample_features(features, SAMPLE_NODES * SAMPLE_FEATURES);
  CHECK_OK(plim_graph_from_edges(SAMPLE_NODES, SAMPLE_EDGES, sample_sources, sample_targets, sample_weights, &graph));
  CHECK_OK(plim_graph_set_features(graph, SAMPLE_FEATURES, features));
  CHECK_OK(plim_graph_set_labels(graph, sample_labels));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, sample_train, SAMPLE_TRAIN));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, sample_val, 3));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TEST, sample_test, 3));
  return graph;
}

/* Widths of a model with this many layers for the graph: 5 → 3, 5 → 4 → 3, 5 → 4 → 6 → 3. */
static inline void sample_widths(size_t num_layers, size_t *widths) {
  static const size_t hidden[MAX_LAYERS] = {0, 4, 6, 5};
  widths[0] = SAMPLE_FEATURES;
  for (size_t l = 1; l < num_layers; l++) {
    widths[l] = hidden[l];
  }
  widths[num_layers] = SAMPLE_CLASSES;
}

static inline plim_model *sample_model(size_t num_layers) {
  size_t widths[MAX_LAYERS + 1];
  plim_model *model = NULL;
  sample_widths(num_layers, widths);
  CHECK_OK(plim_model_gcn(widths, num_layers + 1, 3, &model));
  return model;
}

/* Probabilities of all nodes of the sample graph, to compare before and after. */
static inline void sample_predict(const plim_model *model, const plim_graph *graph, float *probabilities) {
  check_fill(probabilities, SAMPLE_NODES * SAMPLE_CLASSES);
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, probabilities, SAMPLE_NODES * SAMPLE_CLASSES));
}

/* A model of one layer whose W is the identity: its logits are the rows of ÂX. */
static inline plim_model *identity_model(size_t width) {
  size_t widths[2];
  plim_model *model = NULL;
  float *w = (float *)check_alloc(width * width, sizeof *w);
  widths[0] = widths[1] = width;
  for (size_t i = 0; i < width; i++) {
    w[i * width + i] = 1.0f;
  }
  CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
  CHECK_OK(plim_model_set_parameters(model, w, width * width));
  free(w);
  return model;
}

/* ÂX of all nodes, row-major. */
static inline void aggregate(const plim_graph *graph, float *rows) {
  size_t width = plim_graph_num_features(graph), count = plim_graph_num_nodes(graph) * width;
  plim_model *model = identity_model(width);
  check_fill(rows, count);
  CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, rows, count));
  plim_model_free(model);
}

/* A·(1, 10, 100, …)ᵀ of a graph with this many nodes, up to 5. It is exact, and shows every entry of A if they are small.
 * The graph is freed. */
static inline void check_matrix(plim_graph *graph, size_t nodes, const float *expected) {
  static const float features[] = {1.0f, 10.0f, 100.0f, 1000.0f, 10000.0f};
  float rows[sizeof features / sizeof features[0]];
  if (CHECK(plim_graph_num_nodes(graph) == nodes)) {
    CHECK_OK(plim_graph_set_features(graph, 1, features));
    CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
    aggregate(graph, rows);
    CHECK_BITS(expected, rows, nodes);
  }
  plim_graph_free(graph);
}

/* A directed graph of 4 nodes, with weights or without. */
static inline plim_graph *directed_graph(int weighted) {
  static const int64_t indptr[] = {0, 2, 2, 3, 5};
  static const int32_t indices[] = {1, 3, 2, 0, 2};
  static const float values[] = {1.0f, 2.0f, 3.0f, 0.1f, 1.0f};
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_csr(4, indptr, indices, weighted ? values : NULL, &graph));
  return graph;
}

#endif
