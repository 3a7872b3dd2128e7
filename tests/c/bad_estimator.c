/* Invalid arguments for estimator functions. A refused gradient writes nothing and does not advance the sequence of
 * draws. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

enum { PARAMETERS = 32 };

/* The sample graph, a model of widths 5, 4, 3, an estimator, and a twin that receives valid calls only. */
static plim_graph *graph = NULL;
static plim_model *model = NULL;
static plim_estimator *estimator = NULL, *twin = NULL, *full = NULL, *unbiased = NULL;

/* The output of gradients that must fail. */
static float gradient[PARAMETERS];
static double loss = NAN;

static void check_unharmed(int line) {
  float a[PARAMETERS], b[PARAMETERS];
  double loss_a = NAN, loss_b = NAN;
  CHECK_OK(plim_estimator_gradient(twin, model, graph, NULL, 0, a, PARAMETERS, &loss_a));
  CHECK_OK(plim_estimator_gradient(estimator, model, graph, NULL, 0, b, PARAMETERS, &loss_b));
  if (!CHECK(memcmp(a, b, sizeof a) == 0 && loss_a == loss_b && check_filled(gradient, PARAMETERS) && isnan(loss))) {
    fprintf(stderr, "  the estimator or the output changed at line %d\n", line);
  }
}

/* Checks that the call fails with this status and message, writes nothing, and leaves the estimator like its twin. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), check_unharmed(__LINE__))

/* Checks that a gradient with these arguments is refused. */
#define GRADIENT_REFUSED(status, fragment, model, graph, batch, count) \
  REFUSED(status, fragment, plim_estimator_gradient(estimator, model, graph, batch, count, gradient, PARAMETERS, &loss))

static void estimators_need_somewhere_to_go(void) {
  static const size_t sizes[1] = {5};
  plim_estimator *out = UNTOUCHED(plim_estimator);
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_estimator_full(NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_estimator_unbiased(NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_estimator_consistent(sizes, 1, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "sample_sizes", plim_estimator_consistent(NULL, 2, &out));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "num_layers", plim_estimator_consistent(sizes, 0, &out));
  CHECK(out == UNTOUCHED(plim_estimator));
}

static void distributions_are_four(void) {
  static const int32_t strangers[] = {-1, 4, 255, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "distribution", plim_estimator_set_distribution(estimator, strangers[i]));
  }
}

static void weights_must_be_finite_and_positive(void) {
  double weights[SAMPLE_NODES] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  REFUSED(PLIM_ERROR_NULL_POINTER, "weights", plim_estimator_set_weights(estimator, NULL, SAMPLE_NODES));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", plim_estimator_set_weights(estimator, weights, 0));
  weights[4] = 0.0;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "weights[4] = 0",
          plim_estimator_set_weights(estimator, weights, SAMPLE_NODES));
  weights[4] = -2.0;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "weights[4] = -2",
          plim_estimator_set_weights(estimator, weights, SAMPLE_NODES));
  weights[4] = NAN;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "weights[4] = NaN",
          plim_estimator_set_weights(estimator, weights, SAMPLE_NODES));
  weights[4] = INFINITY;
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "weights[4]", plim_estimator_set_weights(estimator, weights, SAMPLE_NODES));
}

static void draws_must_be_nodes_of_a_layer(void) {
  static const int32_t negative[3] = {1, 2, -1}, good[2] = {1, 2};
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "layer", plim_estimator_set_draws(estimator, 2, good, 2));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "layer", plim_estimator_set_draws(estimator, SIZE_MAX, good, 2));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes[2] = -1", plim_estimator_set_draws(estimator, 0, negative, 3));
  REFUSED(PLIM_ERROR_NULL_POINTER, "nodes", plim_estimator_set_draws(estimator, 0, NULL, 2));
}

static void draws_beyond_the_graph_are_found_with_the_graph(void) {
  static const int32_t beyond[4] = {1, 2, 3, 99}, edge[1] = {SAMPLE_NODES};
  CHECK_OK(plim_estimator_set_draws(estimator, 0, beyond, 4));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "draws[0][3] = 99",
              plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, PARAMETERS, &loss));
  CHECK_OK(plim_estimator_set_draws(estimator, 0, NULL, 0));
  check_unharmed(__LINE__);
  CHECK_OK(plim_estimator_set_draws(estimator, 1, edge, 1));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "draws[1][0] = 12",
              plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, PARAMETERS, &loss));
  CHECK_OK(plim_estimator_set_draws(estimator, 1, NULL, 0));
  check_unharmed(__LINE__);
}

static void only_the_consistent_estimator_draws(void) {
  static const int32_t draws[1] = {0};
  static const double weights[1] = {1.0};
  plim_estimator *others[2];
  others[0] = full;
  others[1] = unbiased;
  for (size_t i = 0; i < 2; i++) {
    uint32_t property = plim_estimator_property(others[i]);
    CHECK_STATUS(PLIM_ERROR_UNSUPPORTED, plim_estimator_set_distribution(others[i], PLIM_DISTRIBUTION_IMPORTANCE));
    CHECK_STATUS(PLIM_ERROR_UNSUPPORTED, plim_estimator_set_weights(others[i], weights, 1));
    CHECK_STATUS(PLIM_ERROR_UNSUPPORTED, plim_estimator_set_draws(others[i], 0, draws, 1));
    CHECK_OK(plim_estimator_set_seed(others[i], 1)); /* harmless */
    CHECK(plim_estimator_property(others[i]) == property);
  }
}

static void the_full_estimator_takes_no_batch(void) {
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "batch",
              plim_estimator_gradient(full, model, graph, sample_train, 5, gradient, PARAMETERS, &loss));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "batch",
              plim_estimator_gradient(full, model, graph, sample_train, 0, gradient, PARAMETERS, &loss));
  check_unharmed(__LINE__);
}

static void a_batch_holds_labelled_nodes_once(void) {
  static const int32_t high[3] = {0, 3, 12}, low[2] = {0, -5}, twice[4] = {0, 3, 7, 3}, unlabelled[3] = {0, 10, 1};
  GRADIENT_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[2] = 12", model, graph, high, 3);
  GRADIENT_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[1] = -5", model, graph, low, 2);
  GRADIENT_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[3] = 3", model, graph, twice, 4);
  GRADIENT_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[1] = 10 has no label", model, graph, unlabelled, 3);
  GRADIENT_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch is empty", model, graph, high, 0);
  GRADIENT_REFUSED(PLIM_ERROR_NULL_POINTER, "batch", model, graph, NULL, 3);
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "batch[3] = 3",
              plim_estimator_gradient(unbiased, model, graph, twice, 4, gradient, PARAMETERS, &loss));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "batch[1] = 10 has no label",
              plim_estimator_gradient(unbiased, model, graph, unlabelled, 3, gradient, PARAMETERS, &loss));
  CHECK(check_filled(gradient, PARAMETERS));
}

static void a_gradient_needs_room(void) {
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "32",
          plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, PARAMETERS - 1, &loss));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "32",
          plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, 0, &loss));
  REFUSED(PLIM_ERROR_NULL_POINTER, "gradient",
          plim_estimator_gradient(estimator, model, graph, NULL, 0, NULL, PARAMETERS, &loss));
}

static void a_gradient_needs_features_labels_and_a_training_split(void) {
  static const int32_t none[SAMPLE_NODES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  plim_graph *other = NULL;
  float features[SAMPLE_NODES * SAMPLE_FEATURES];
  float unused[PARAMETERS];
  sample_features(features, SAMPLE_NODES * SAMPLE_FEATURES);
  CHECK_OK(plim_graph_from_edges(SAMPLE_NODES, SAMPLE_EDGES, sample_sources, sample_targets, NULL, &other));
  GRADIENT_REFUSED(PLIM_ERROR_MISSING_DATA, "", model, other, NULL, 0);
  CHECK_OK(plim_graph_set_features(other, SAMPLE_FEATURES, features));
  GRADIENT_REFUSED(PLIM_ERROR_MISSING_DATA, "", model, other, NULL, 0);
  GRADIENT_REFUSED(PLIM_ERROR_MISSING_DATA, "label", model, other, sample_train, SAMPLE_TRAIN);
  CHECK_OK(plim_graph_set_labels(other, sample_labels));
  GRADIENT_REFUSED(PLIM_ERROR_MISSING_DATA, "train", model, other, NULL, 0);
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "train",
              plim_estimator_gradient(full, model, other, NULL, 0, gradient, PARAMETERS, &loss));
  CHECK_OK(plim_estimator_gradient(unbiased, model, other, sample_train, 5, unused, PARAMETERS, NULL)); /* no split */
  CHECK_OK(plim_graph_set_labels(other, none));
  GRADIENT_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[0] = 0 has no label", model, other, sample_train, SAMPLE_TRAIN);
  plim_graph_free(other);
  CHECK_OK(plim_graph_from_edges(SAMPLE_NODES, 0, NULL, NULL, NULL, &other));
  CHECK_OK(plim_graph_set_labels(other, sample_labels));
  GRADIENT_REFUSED(PLIM_ERROR_MISSING_DATA, "features", model, other, sample_train, SAMPLE_TRAIN);
  plim_graph_free(other);
}

static void shapes_must_fit(void) {
  static const size_t widths[4][4] = {{5, 3, 0, 0}, {5, 4, 4, 3}, {6, 4, 3, 0}, {5, 4, 2, 0}};
  static const size_t counts[4] = {2, 4, 3, 3};
  static const double weights[SAMPLE_NODES + 1] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  for (size_t i = 0; i < 4; i++) { /* too few layers, too many, other features, fewer classes than labels */
    plim_model *other = NULL;
    float wide[64];
    double kept = NAN;
    check_fill(wide, 64);
    CHECK_OK(plim_model_gcn(widths[i], counts[i], 0, &other));
    REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "", plim_estimator_gradient(estimator, other, graph, NULL, 0, wide, 64, &kept));
    if (i >= 2) {
      CHECK_STATUS(PLIM_ERROR_SHAPE_MISMATCH, plim_estimator_gradient(full, other, graph, NULL, 0, wide, 64, &kept));
    }
    CHECK(check_filled(wide, 64) && isnan(kept));
    plim_model_free(other);
  }
  CHECK_OK(plim_estimator_set_weights(estimator, weights, SAMPLE_NODES + 1)); /* for a graph of another size */
  CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "13",
              plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, PARAMETERS, &loss));
  CHECK_OK(plim_estimator_set_distribution(estimator, PLIM_DISTRIBUTION_UNIFORM));
  check_unharmed(__LINE__);
}

static void what_is_no_number_any_more_has_diverged(void) {
  plim_model *wild = sample_model(2);
  float huge[PARAMETERS];
  plim_estimator *all[3];
  all[0] = full;
  all[1] = unbiased;
  all[2] = estimator;
  for (size_t i = 0; i < PARAMETERS; i++) {
    huge[i] = i % 2 ? 3e38f : -3e38f;
  }
  CHECK_OK(plim_model_set_parameters(wild, huge, PARAMETERS));
  for (size_t i = 0; i < 2; i++) {
    CHECK_STATUS(PLIM_ERROR_DIVERGED,
                 plim_estimator_gradient(all[i], wild, graph, NULL, 0, gradient, PARAMETERS, &loss));
    CHECK(check_filled(gradient, PARAMETERS) && isnan(loss));
  }
  plim_model_free(wild);
  wild = sample_model(2);
  CHECK_OK(plim_model_set_regularization(wild, 1e60)); /* a finite loss, but λW is beyond a float */
  for (size_t i = 0; i < 3; i++) {
    CHECK_STATUS(PLIM_ERROR_DIVERGED,
                 plim_estimator_gradient(all[i], wild, graph, NULL, 0, gradient, PARAMETERS, &loss));
    CHECK(check_filled(gradient, PARAMETERS) && isnan(loss));
  }
  plim_model_free(wild);
  CHECK_OK(plim_estimator_set_seed(estimator, 9)); /* a diverged gradient may count, so both restart */
  CHECK_OK(plim_estimator_set_seed(twin, 9));
  check_unharmed(__LINE__);
}

static void handles_must_not_be_null(void) {
  static const double weights[1] = {1.0};
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "estimator", plim_estimator_set_seed(NULL, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "estimator", plim_estimator_set_distribution(NULL, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "estimator", plim_estimator_set_weights(NULL, weights, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "estimator", plim_estimator_set_draws(NULL, 0, sample_train, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "estimator",
              plim_estimator_gradient(NULL, model, graph, NULL, 0, gradient, PARAMETERS, &loss));
  GRADIENT_REFUSED(PLIM_ERROR_NULL_POINTER, "model", NULL, graph, NULL, 0);
  GRADIENT_REFUSED(PLIM_ERROR_NULL_POINTER, "graph", model, NULL, NULL, 0);
}

int main(void) {
  static const size_t sizes[2] = {5, 6};
  graph = sample_graph();
  model = sample_model(2);
  check_fill(gradient, PARAMETERS);
  CHECK_OK(plim_estimator_consistent(sizes, 2, &estimator));
  CHECK_OK(plim_estimator_consistent(sizes, 2, &twin));
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  RUN(estimators_need_somewhere_to_go);
  RUN(distributions_are_four);
  RUN(weights_must_be_finite_and_positive);
  RUN(draws_must_be_nodes_of_a_layer);
  RUN(draws_beyond_the_graph_are_found_with_the_graph);
  RUN(only_the_consistent_estimator_draws);
  RUN(the_full_estimator_takes_no_batch);
  RUN(a_batch_holds_labelled_nodes_once);
  RUN(a_gradient_needs_room);
  RUN(a_gradient_needs_features_labels_and_a_training_split);
  RUN(shapes_must_fit);
  RUN(what_is_no_number_any_more_has_diverged);
  RUN(handles_must_not_be_null);
  plim_estimator_free(unbiased);
  plim_estimator_free(full);
  plim_estimator_free(twin);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
  return check_close();
}
