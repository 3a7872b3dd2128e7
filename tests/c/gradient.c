/* Gradients against the formula in double, and against differences of the loss.
 *
 * Draws are set by the test, so the formula knows them. With a distribution over the columns that the rows above touch,
 * the draws of the upper layers are distinct and each is touched, so the rows above are unambiguous. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

enum { BATCH = 4, NUM_LAWS = 5 };

static const int32_t batch[BATCH] = {0, 3, 11, 7};
static const double weights[SAMPLE_NODES] = {1.0, 2.0, 0.5, 3.0, 1.0, 0.25, 4.0, 1.0, 1.5, 2.0, 0.1, 0.7};
static const dense_law laws[NUM_LAWS] = {{PLIM_DISTRIBUTION_UNIFORM, NULL},
                                         {PLIM_DISTRIBUTION_IMPORTANCE, NULL},
                                         {PLIM_DISTRIBUTION_NEIGHBORS, NULL},
                                         {PLIM_DISTRIBUTION_LADIES, NULL},
                                         {-1, weights}};

/* Draws of the input layer, with a repeat and a node that no batch row is linked to. Then those of the first, second
 * and third layer below the batch. */
static const dense_draws input_draws = {7, {2, 5, 5, 9, 0, 11, 6}};
static const dense_draws upper_draws[3] = {{5, {1, 3, 9, 2, 11}}, {6, {10, 3, 4, 7, 0, 5}}, {4, {8, 6, 1, 9}}};
static const dense_draws careless_draws = {5, {1, 3, 8, 3, 10}}; /* a repeat, and nodes that nothing above touches */
static const dense_draws exact = {0, {0}};

static plim_estimator *consistent(size_t num_layers, const dense_draws *draws, dense_law law) {
  plim_estimator *estimator = NULL;
  size_t sizes[MAX_LAYERS];
  for (size_t l = 0; l < num_layers; l++) {
    sizes[l] = draws[l].count ? draws[l].count + 2 : 0; /* the number of given draws replaces the size */
  }
  CHECK_OK(plim_estimator_consistent(sizes, num_layers, &estimator));
  if (law.weights != NULL) {
    CHECK_OK(plim_estimator_set_weights(estimator, law.weights, SAMPLE_NODES));
  } else {
    CHECK_OK(plim_estimator_set_distribution(estimator, law.distribution));
  }
  for (size_t l = 0; l < num_layers; l++) {
    if (draws[l].count > 0) {
      CHECK_OK(plim_estimator_set_draws(estimator, l, draws[l].nodes, draws[l].count));
    }
  }
  return estimator;
}

/* Compares a gradient of the estimator with the formula. `nodes` NULL stands for the training nodes. */
static void check_gradient(plim_estimator *estimator, const plim_graph *graph, const dense_graph *dense,
                           size_t num_layers, double lambda, const int32_t *nodes, size_t count,
                           const dense_draws *draws, dense_law law) {
  plim_model *model = sample_model(num_layers);
  size_t widths[MAX_LAYERS + 1], parameters = plim_model_num_parameters(model);
  float w[MAX_PARAMETERS], gradient[MAX_PARAMETERS];
  double expected[MAX_PARAMETERS], loss = NAN, expected_loss;
  sample_widths(num_layers, widths);
  CHECK_OK(plim_model_get_parameters(model, w, MAX_PARAMETERS));
  CHECK_OK(plim_model_set_regularization(model, lambda));
  check_fill(gradient, MAX_PARAMETERS);
  CHECK_OK(plim_estimator_gradient(estimator, model, graph, nodes, count, gradient, parameters, &loss));
  expected_loss = dense_gradient(dense, widths, num_layers, w, lambda, nodes ? nodes : sample_train,
                                 nodes ? count : SAMPLE_TRAIN, draws, law, expected);
  CHECK_NEAR(expected_loss, loss, 5e-6 * (1.0 + fabs(expected_loss)));
  CHECK_NEAR(0.0, dense_error(expected, gradient, parameters), 1e-5);
  CHECK(check_filled(gradient + parameters, MAX_PARAMETERS - parameters));
  plim_model_free(model);
}

/* A batch and λ. */
typedef struct objective {
  double lambda;
  const int32_t *nodes;
  size_t count;
} objective;

/* Compares the gradients of an estimator that draws nothing with the formula, for each normalisation and depth. The estimator
 * is freed. */
static void check_exact_gradients(plim_estimator *estimator, const objective *objectives, size_t count) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  dense_draws draws[MAX_LAYERS] = {{0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}};
  for (int32_t normalization = 0; normalization < 3; normalization++) {
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    dense_normalize(&dense, normalization);
    for (size_t num_layers = 1; num_layers <= MAX_LAYERS; num_layers++) {
      for (size_t i = 0; i < count; i++) {
        const objective *o = &objectives[i];
        check_gradient(estimator, graph, &dense, num_layers, o->lambda, o->nodes, o->count, draws, laws[0]);
      }
    }
  }
  plim_estimator_free(estimator);
  plim_graph_free(graph);
}

static void the_full_gradient_is_the_formula(void) {
  static const objective objectives[] = {{0.0, NULL, 0}, {0.1, NULL, 0}};
  plim_estimator *full = NULL;
  CHECK_OK(plim_estimator_full(&full));
  check_exact_gradients(full, objectives, 2);
}

static void the_unbiased_gradient_is_the_formula_of_its_batch(void) {
  static const int32_t lone = 11, all[11] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11};
  static const objective objectives[] = {{0.0, batch, BATCH}, {0.1, batch, 2}, {0.1, all, 11}, {0.1, &lone, 1},
                                         {0.0, NULL, 0}};
  plim_estimator *unbiased = NULL;
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  check_exact_gradients(unbiased, objectives, 5);
}

/* Every choice of sampled and exact layers, for models of one to four layers. */
static void check_every_choice(const plim_graph *graph, const dense_graph *dense, dense_law law, int careless) {
  for (size_t num_layers = 1; num_layers <= MAX_LAYERS; num_layers++) {
    for (size_t choice = 0; choice < (size_t)1 << num_layers; choice++) {
      dense_draws draws[MAX_LAYERS];
      plim_estimator *estimator;
      for (size_t l = 0; l < num_layers; l++) {
        const dense_draws *careful = l == 0 ? &input_draws : &upper_draws[num_layers - 1 - l];
        draws[l] = choice >> l & 1 ? careless ? careless_draws : *careful : exact;
      }
      estimator = consistent(num_layers, draws, law);
      check_gradient(estimator, graph, dense, num_layers, choice % 2 ? 0.1 : 0.0, batch, BATCH, draws, law);
      check_gradient(estimator, graph, dense, num_layers, 0.0, batch, BATCH, draws, law); /* the draws stay set */
      plim_estimator_free(estimator);
    }
  }
}

static void the_consistent_gradient_is_the_formula_of_its_draws(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  for (int32_t normalization = 0; normalization < 2; normalization++) { /* with rows, Â is not symmetric */
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    dense_normalize(&dense, normalization);
    for (size_t i = 0; i < NUM_LAWS; i++) {
      check_every_choice(graph, &dense, laws[i], 0);
    }
  }
  plim_graph_free(graph);
}

static void repeated_and_useless_draws_count_with_a_distribution_over_all_nodes(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  for (int32_t normalization = 0; normalization < 3; normalization++) {
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    dense_normalize(&dense, normalization);
    check_every_choice(graph, &dense, laws[0], 1);
    check_every_choice(graph, &dense, laws[1], 1);
    check_every_choice(graph, &dense, laws[4], 1);
  }
  plim_graph_free(graph);
}

static void a_draw_of_importance_nought_contributes_nothing(void) {
  static const dense_draws isolated = {3, {11, 1, 11}}; /* without self-loops, column 11 of A is empty */
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  plim_estimator *estimator = consistent(1, &isolated, laws[1]);
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  dense_normalize(&dense, PLIM_NORMALIZATION_NONE);
  check_gradient(estimator, graph, &dense, 1, 0.0, batch, BATCH, &isolated, laws[1]);
  plim_estimator_free(estimator);
  plim_graph_free(graph);
}

static void a_batch_that_no_draw_touches_has_the_loss_of_equal_chances(void) {
  static const dense_draws far = {2, {6, 8}};
  static const int32_t nodes[2] = {0, 11};
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(1);
  plim_estimator *estimator = consistent(1, &far, laws[0]);
  float gradient[15];
  double loss = NAN;
  CHECK_OK(plim_estimator_gradient(estimator, model, graph, nodes, 2, gradient, 15, &loss));
  CHECK_NEAR(log(3.0), loss, 1e-6);
  for (size_t i = 0; i < 15; i++) {
    CHECK(gradient[i] == 0.0f);
  }
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
}

/* The gradient is the slope of the loss. Draws do not depend on the parameters, so a seed fixes them. */
static void check_slope(plim_estimator *estimator, const plim_graph *graph, size_t num_layers, const int32_t *nodes,
                        size_t count) {
  const float step = 0.000244140625f; /* so short that no ReLU changes sign within it */
  plim_model *model = sample_model(num_layers);
  size_t parameters = plim_model_num_parameters(model);
  float w[MAX_PARAMETERS], gradient[MAX_PARAMETERS], unused[MAX_PARAMETERS];
  CHECK_OK(plim_model_set_regularization(model, 0.05));
  CHECK_OK(plim_model_get_parameters(model, w, MAX_PARAMETERS));
  CHECK_OK(plim_estimator_set_seed(estimator, 6));
  CHECK_OK(plim_estimator_gradient(estimator, model, graph, nodes, count, gradient, parameters, NULL));
  for (size_t i = 0; i < parameters; i++) {
    double loss[2] = {NAN, NAN};
    float kept = w[i];
    for (size_t side = 0; side < 2; side++) {
      w[i] = side ? kept + step : kept - step;
      CHECK_OK(plim_model_set_parameters(model, w, parameters));
      CHECK_OK(plim_estimator_set_seed(estimator, 6));
      CHECK_OK(plim_estimator_gradient(estimator, model, graph, nodes, count, unused, parameters, &loss[side]));
    }
    CHECK_NEAR((loss[1] - loss[0]) / (2.0 * (double)step), (double)gradient[i], 2e-3);
    w[i] = kept;
  }
  plim_model_free(model);
}

static void every_gradient_is_the_slope_of_its_loss(void) {
  static const size_t sizes[3] = {9, 12, 10};
  plim_graph *graph = sample_graph();
  plim_estimator *estimator = NULL;
  CHECK_OK(plim_estimator_full(&estimator));
  for (size_t num_layers = 1; num_layers <= 3; num_layers++) {
    check_slope(estimator, graph, num_layers, NULL, 0);
  }
  plim_estimator_free(estimator);
  CHECK_OK(plim_estimator_unbiased(&estimator));
  for (size_t num_layers = 1; num_layers <= 3; num_layers++) {
    check_slope(estimator, graph, num_layers, batch, BATCH);
  }
  plim_estimator_free(estimator);
  for (int32_t distribution = 0; distribution < 4; distribution++) {
    for (size_t num_layers = 1; num_layers <= 3; num_layers++) {
      CHECK_OK(plim_estimator_consistent(sizes, num_layers, &estimator));
      CHECK_OK(plim_estimator_set_distribution(estimator, distribution));
      check_slope(estimator, graph, num_layers, batch, BATCH);
      plim_estimator_free(estimator);
    }
  }
  plim_graph_free(graph);
}

int main(void) {
  RUN(the_full_gradient_is_the_formula);
  RUN(the_unbiased_gradient_is_the_formula_of_its_batch);
  RUN(the_consistent_gradient_is_the_formula_of_its_draws);
  RUN(repeated_and_useless_draws_count_with_a_distribution_over_all_nodes);
  RUN(a_draw_of_importance_nought_contributes_nothing);
  RUN(a_batch_that_no_draw_touches_has_the_loss_of_equal_chances);
  RUN(every_gradient_is_the_slope_of_its_loss);
  return check_close();
}
