/* Graphs that borrow the caller's arrays: no copy, the same results, and one release. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

static const int64_t indptr[] = {0, 2, 3, 3, 5};
static const int32_t indices[] = {1, 3, 2, 0, 2};
static const float values[] = {1.0f, 2.0f, 3.0f, 0.5f, 1.0f};
static const float features[] = {1.0f, 10.0f, 100.0f, 1000.0f}, halves[] = {0.5f, 0.5f, 0.5f, 0.5f};

static void count_release(void *user_data) {
  ++*(int *)user_data;
}

/* ÂX of the four nodes. */
static void check_rows(const plim_graph *graph, const float *expected) {
  float rows[4];
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 4);
}

static void a_view_is_the_matrix_as_it_is(void) {
  static const float weighted[] = {2010.0f, 300.0f, 0.0f, 100.5f}, ones[] = {1010.0f, 100.0f, 0.0f, 101.0f};
  plim_graph *graph = NULL;
  int released = 0;
  CHECK_OK(plim_graph_view_csr(4, indptr, indices, values, count_release, &released, &graph));
  CHECK(plim_graph_num_nodes(graph) == 4);
  CHECK(plim_graph_num_edges(graph) == 5);
  CHECK_OK(plim_graph_view_features(graph, 1, features, count_release, &released));
  check_rows(graph, weighted);
  CHECK(released == 0);
  plim_graph_free(graph);
  CHECK(released == 2);
  CHECK_OK(plim_graph_view_csr(4, indptr, indices, NULL, NULL, NULL, &graph));
  CHECK_OK(plim_graph_view_features(graph, 1, features, NULL, NULL));
  check_rows(graph, ones);
  plim_graph_free(graph);
}

static void another_normalisation_is_that_of_a_copied_graph(void) {
  plim_graph *view = NULL, *copy = NULL;
  int released = 0;
  float a[4], b[4];
  plim_model *model = identity_model(1);
  CHECK_OK(plim_graph_view_csr(4, indptr, indices, values, count_release, &released, &view));
  CHECK_OK(plim_graph_view_features(view, 1, features, NULL, NULL));
  CHECK_OK(plim_graph_from_csr(4, indptr, indices, values, &copy));
  CHECK_OK(plim_graph_set_features(copy, 1, features));
  for (int32_t normalization = 0; normalization < 3; normalization++) {
    CHECK_OK(plim_graph_set_normalization(view, normalization));
    CHECK_OK(plim_graph_set_normalization(copy, normalization));
    CHECK_OK(plim_model_embed(model, view, NULL, 0, 0, a, 4));
    CHECK_OK(plim_model_embed(model, copy, NULL, 0, 0, b, 4));
    CHECK_BITS(b, a, 4);
    CHECK(released == 1); /* the graph has made a copy */
  }
  plim_graph_free(copy);
  plim_graph_free(view);
  CHECK(released == 1);
  plim_model_free(model);
}

static void features_are_released_when_they_are_replaced(void) {
  static const float half_rows[] = {1.5f, 1.5f, 0.0f, 0.75f};
  plim_graph *graph = NULL;
  int first = 0, second = 0;
  CHECK_OK(plim_graph_from_csr(4, indptr, indices, values, &graph));
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  CHECK_OK(plim_graph_view_features(graph, 1, features, count_release, &first));
  CHECK_OK(plim_graph_view_features(graph, 1, halves, count_release, &second));
  CHECK(first == 1 && second == 0);
  check_rows(graph, half_rows);
  CHECK_OK(plim_graph_set_features(graph, 1, halves));
  CHECK(first == 1 && second == 1);
  check_rows(graph, half_rows);
  plim_graph_free(graph);
  CHECK(first == 1 && second == 1);
}

static void normalising_features_leaves_the_callers_alone(void) {
  static const float ones[] = {3.0f, 3.0f, 0.0f, 1.5f};
  float mine[4];
  plim_graph *graph = NULL;
  int released = 0;
  memcpy(mine, features, sizeof mine);
  CHECK_OK(plim_graph_view_csr(4, indptr, indices, values, NULL, NULL, &graph));
  CHECK_OK(plim_graph_view_features(graph, 1, mine, count_release, &released));
  CHECK_OK(plim_graph_normalize_features(graph));
  CHECK(released == 1);
  CHECK_BITS(features, mine, 4);
  check_rows(graph, ones);
  plim_graph_free(graph);
}

static void free_graph(void *user_data) {
  plim_graph_free((plim_graph *)user_data);
}

static void a_release_may_use_the_library(void) {
  plim_graph *graph = NULL, *other = NULL;
  CHECK_OK(plim_graph_from_mixture(10, 0, &other));
  CHECK_OK(plim_graph_view_csr(4, indptr, indices, values, free_graph, other, &graph));
  plim_graph_free(graph);
  CHECK(plim_graph_num_nodes(other) == 0);
}

static void bad_arrays_are_named_and_stay_the_callers(void) {
  static const int64_t falling[] = {0, 2, 1, 3, 5};
  static const int32_t outside[] = {1, 4, 2, 0, 2}, unsorted[] = {3, 1, 2, 0, 2}, twice[] = {1, 3, 2, 2, 2};
  float bad[5] = {1.0f, 2.0f, 3.0f, 0.5f, 1.0f};
  float not_finite[4] = {1.0f, 10.0f, INFINITY, 1000.0f};
  plim_graph *graph = UNTOUCHED(plim_graph), *good = NULL;
  int r = 0;
#define REFUSED(status, fragment, n, p, i, v) \
  CHECK_FAILS(status, fragment, plim_graph_view_csr(n, p, i, v, count_release, &r, &graph))
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes = 0", 0, indptr, indices, values);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", SIZE_MAX, indptr, indices, values);
  REFUSED(PLIM_ERROR_NULL_POINTER, "indptr", 4, NULL, indices, values);
  REFUSED(PLIM_ERROR_NULL_POINTER, "indices", 4, indptr, NULL, values);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indptr[2] = 1 is below indptr[1] = 2", 4, falling, indices, values);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indices[1] = 4 is outside [0, 4)", 4, indptr, outside, values);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indices[1] = 1 is not above indices[0] = 3 in row 0", 4, indptr, unsorted,
          values);
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "indices[4] = 2", 4, indptr, twice, values);
  bad[3] = -1.0f;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "values[3] = -1", 4, indptr, indices, bad);
  bad[3] = NAN;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "values[3] = NaN", 4, indptr, indices, bad);
  CHECK(graph == UNTOUCHED(plim_graph));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out",
              plim_graph_view_csr(4, indptr, indices, values, count_release, &r, NULL));
  CHECK_OK(plim_graph_view_csr(4, indptr, indices, values, NULL, NULL, &good));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "num_features = 0", plim_graph_view_features(good, 0, features, count_release, &r));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "num_features", plim_graph_view_features(good, SIZE_MAX, features, count_release, &r));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "row_major", plim_graph_view_features(good, 1, NULL, count_release, &r));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "row_major[2] = inf",
              plim_graph_view_features(good, 1, not_finite, count_release, &r));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_view_features(NULL, 1, features, count_release, &r));
  CHECK(plim_graph_num_features(good) == 0);
  plim_graph_free(good);
  CHECK_STATUS(PLIM_ERROR_INVALID_HANDLE, plim_graph_view_features(good, 1, features, count_release, &r));
  CHECK(r == 0);
#undef REFUSED
}

int main(void) {
  RUN(a_view_is_the_matrix_as_it_is);
  RUN(another_normalisation_is_that_of_a_copied_graph);
  RUN(features_are_released_when_they_are_replaced);
  RUN(normalising_features_leaves_the_callers_alone);
  RUN(a_release_may_use_the_library);
  RUN(bad_arrays_are_named_and_stay_the_callers);
  return check_close();
}
