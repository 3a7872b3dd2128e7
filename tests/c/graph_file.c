/* Graphs saved as .npz and loaded again, and the bound on the memory of ÂX: neither changes a bit of a result. */
#define _POSIX_C_SOURCE 200809L

#include "saved.h"

static void check_same_lists(const plim_graph *expected, const plim_graph *got) {
  size_t n = plim_graph_num_nodes(expected);
  int32_t *a = (int32_t *)check_alloc(n, sizeof *a), *b = (int32_t *)check_alloc(n, sizeof *b);
  CHECK(plim_graph_num_nodes(got) == n);
  CHECK(plim_graph_num_edges(got) == plim_graph_num_edges(expected));
  CHECK(plim_graph_num_features(got) == plim_graph_num_features(expected));
  CHECK(plim_graph_num_classes(got) == plim_graph_num_classes(expected));
  if (plim_graph_num_classes(expected) > 0) {
    CHECK_OK(plim_graph_copy_labels(expected, a, n));
    CHECK_OK(plim_graph_copy_labels(got, b, n));
    CHECK_BITS(a, b, n);
  }
  for (int32_t split = 0; split < 3; split++) {
    size_t count = plim_graph_split_size(expected, split);
    CHECK(plim_graph_split_size(got, split) == count);
    CHECK_OK(plim_graph_copy_split(expected, split, a, n));
    CHECK_OK(plim_graph_copy_split(got, split, b, n));
    CHECK_BITS(a, b, count);
  }
  free(b);
  free(a);
}

static void check_same_rows(const plim_graph *expected, const plim_graph *got) {
  size_t width = plim_graph_num_features(expected), count = plim_graph_num_nodes(expected) * width;
  float *a = (float *)check_alloc(count, sizeof *a), *b = (float *)check_alloc(count, sizeof *b);
  aggregate(expected, a);
  aggregate(got, b);
  CHECK_BITS(a, b, count);
  free(b);
  free(a);
}

/* Saves, loads, compares; the loaded graph saved again is compared once more. */
static void check_round_trip(const plim_graph *graph) {
  plim_graph *once = NULL, *twice = NULL;
  CHECK_OK(plim_graph_save(graph, files_path("graph.npz")));
  CHECK_OK(plim_graph_load(files_path("graph.npz"), &once));
  CHECK_OK(plim_graph_save(once, files_path("graph.npz"))); /* over the file that is there */
  CHECK_OK(plim_graph_load(files_path("graph.npz"), &twice));
  files_remove("graph.npz"); /* a loaded graph needs its file no more */
  check_same_lists(graph, once);
  check_same_lists(graph, twice);
  if (plim_graph_num_features(graph) > 0) {
    check_same_rows(graph, once);
    check_same_rows(graph, twice);
  }
  plim_graph_free(twice);
  plim_graph_free(once);
}

static void a_saved_graph_loads_the_same_with_any_normalisation(void) {
  plim_graph *graph = sample_graph();
  for (int32_t normalization = 0; normalization < 3; normalization++) {
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    check_round_trip(graph);
  }
  CHECK_OK(plim_graph_normalize_features(graph));
  check_round_trip(graph);
  plim_graph_free(graph);
}

static void the_same_graph_is_saved_as_the_same_bytes(void) {
  plim_graph *graph = sample_graph();
  bytes files[2];
  for (size_t i = 0; i < 2; i++) {
    CHECK_OK(plim_graph_save(graph, files_path("graph.npz")));
    files[i] = files_read("graph.npz");
  }
  CHECK(files[0].size == files[1].size);
  CHECK_BITS(files[0].data, files[1].data, files[0].size == files[1].size ? files[0].size : 0);
  free(files[0].data);
  free(files[1].data);
  files_remove("graph.npz");
  plim_graph_free(graph);
}

static void sparse_features_survive_the_file(void) {
  static const int64_t indptr[SAMPLE_NODES + 1] = {0, 1, 1, 2, 4, 4, 4, 5, 5, 6, 6, 7, 7};
  static const int32_t indices[7] = {999, 3, 0, 7, 500, 1, 2};
  static const float values[7] = {1.0f, -2.5f, 0.1f, 3.0f, 4.0f, 0.7f, 1e-30f};
  plim_graph *graph = sample_graph();
  CHECK_OK(plim_graph_set_sparse_features(graph, 1000, indptr, indices, values));
  check_round_trip(graph);
  plim_graph_free(graph);
}

static void a_directed_graph_survives_the_file(void) {
  static const float features[] = {1.0f, 0.3f, -2.0f, 7.0f};
  for (int weighted = 0; weighted < 2; weighted++) {
    plim_graph *graph = directed_graph(weighted);
    CHECK_OK(plim_graph_set_features(graph, 1, features));
    for (int32_t normalization = 0; normalization < 3; normalization++) {
      CHECK_OK(plim_graph_set_normalization(graph, normalization));
      check_round_trip(graph);
    }
    plim_graph_free(graph);
  }
}

static void a_graph_without_features_labels_or_edges_survives_the_file(void) {
  static const int32_t source = 0, target = 2;
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_edges(3, 1, &source, &target, NULL, &graph));
  check_round_trip(graph);
  plim_graph_free(graph);
  CHECK_OK(plim_graph_from_edges(1, 0, NULL, NULL, NULL, &graph));
  check_round_trip(graph);
  plim_graph_free(graph);
}

static void a_stated_number_of_classes_survives_the_file(void) {
  check_stated_classes(plim_graph_save, "graph.npz", files_remove);
}

static void mixture_survives_the_file(void) {
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_mixture(check_scale(2000, 200), 1, &graph));
  check_round_trip(graph);
  plim_graph_free(graph);
}

/* Probabilities of all nodes, an exact and a sampled gradient, and the loss: all that ÂX has a part in. */
static size_t results(plim_graph *graph, const size_t *widths, float *all, size_t capacity) {
  static const size_t sizes[2] = {0, 40};
  size_t count = plim_graph_num_nodes(graph) * widths[2], used = count;
  plim_model *model = NULL;
  plim_estimator *estimators[3] = {NULL, NULL, NULL};
  double loss = NAN;
  CHECK_OK(plim_model_gcn(widths, 3, 1, &model));
  CHECK_OK(plim_estimator_full(&estimators[0]));
  CHECK_OK(plim_estimator_unbiased(&estimators[1]));
  CHECK_OK(plim_estimator_consistent(sizes, 2, &estimators[2]));
  check_fill(all, capacity);
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, all, count));
  for (size_t i = 0; i < 3; i++) {
    CHECK_OK(plim_estimator_gradient(estimators[i], model, graph, NULL, 0, all + used, capacity - used, &loss));
    used += plim_model_num_parameters(model);
    all[used++] = (float)loss;
    plim_estimator_free(estimators[i]);
  }
  CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &loss, NULL));
  all[used++] = (float)loss;
  plim_model_free(model);
  return used;
}

static void check_cache(plim_graph *graph, const size_t *widths) {
  static const size_t bounds[] = {0, 1, 100, 5000, 0, (size_t)1 << 30, SIZE_MAX, 64};
  size_t capacity = plim_graph_num_nodes(graph) * widths[2] + 3 * (widths[0] + widths[2]) * widths[1] + 4;
  float *expected = (float *)check_alloc(capacity, sizeof *expected);
  float *got = (float *)check_alloc(capacity, sizeof *got);
  CHECK(results(graph, widths, expected, capacity) == capacity); /* with the default bound */
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
    CHECK_OK(plim_graph_set_cache(graph, bounds[i]));
    results(graph, widths, got, capacity);
    CHECK_BITS(expected, got, capacity);
  }
  free(got);
  free(expected);
}

static void the_bound_of_the_cache_changes_no_bit_with_dense_features(void) {
  static const size_t widths[3] = {2, 7, 3};
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_mixture(check_scale(500, 100), 3, &graph));
  check_cache(graph, widths);
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_ROW));
  check_cache(graph, widths);
  plim_graph_free(graph);
}

static void the_bound_of_the_cache_changes_no_bit_with_sparse_features(void) {
  enum { PER_CLASS = 100, NODES = 3 * PER_CLASS, WIDTH = 200, EACH = 3 };
  static const size_t widths[3] = {WIDTH, 5, 3};
  int64_t indptr[NODES + 1] = {0};
  int32_t indices[NODES * EACH];
  float values[NODES * EACH];
  uint64_t state = 4;
  plim_graph *graph = NULL;
  for (size_t v = 0; v < NODES; v++) {
    for (size_t i = 0; i < EACH; i++) {
      size_t at = v * EACH + i;
      indices[at] = (int32_t)(i * 66 + v * 37 % 66);
      values[at] = (float)dense_random(&state);
    }
    indptr[v + 1] = (int64_t)((v + 1) * EACH);
  }
  CHECK_OK(plim_graph_from_mixture(PER_CLASS, 3, &graph));
  CHECK_OK(plim_graph_set_sparse_features(graph, WIDTH, indptr, indices, values));
  check_cache(graph, widths);
  plim_graph_free(graph);
}

int main(void) {
  RUN(a_saved_graph_loads_the_same_with_any_normalisation);
  RUN(the_same_graph_is_saved_as_the_same_bytes);
  RUN(sparse_features_survive_the_file);
  RUN(a_directed_graph_survives_the_file);
  RUN(a_graph_without_features_labels_or_edges_survives_the_file);
  RUN(a_stated_number_of_classes_survives_the_file);
  RUN(mixture_survives_the_file);
  RUN(the_bound_of_the_cache_changes_no_bit_with_dense_features);
  RUN(the_bound_of_the_cache_changes_no_bit_with_sparse_features);
  files_close();
  return check_close();
}
