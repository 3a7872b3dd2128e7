/* Estimators: seeds and counters, batches, threads, declared properties, and consistency. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

enum { PARAMETERS = 32 }; /* of the sample model with two layers */

static plim_estimator *consistent(size_t input, size_t hidden, int32_t distribution, uint64_t seed) {
  plim_estimator *estimator = NULL;
  size_t sizes[2];
  sizes[0] = input;
  sizes[1] = hidden;
  CHECK_OK(plim_estimator_consistent(sizes, 2, &estimator));
  CHECK_OK(plim_estimator_set_distribution(estimator, distribution));
  CHECK_OK(plim_estimator_set_seed(estimator, seed));
  return estimator;
}

/* Computes `count` gradients in sequence, each followed by its loss. */
static void gradients(plim_estimator *estimator, const plim_model *model, const plim_graph *graph, size_t count,
                      float *out) {
  size_t parameters = plim_model_num_parameters(model);
  check_fill(out, count * (parameters + 1));
  for (size_t i = 0; i < count; i++) {
    double loss = NAN;
    CHECK_OK(plim_estimator_gradient(estimator, model, graph, NULL, 0, out, parameters, &loss));
    out[parameters] = (float)loss;
    out += parameters + 1;
  }
}

static void the_same_seed_gives_the_same_sequence(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  for (int32_t distribution = 0; distribution < 4; distribution++) {
    plim_estimator *one = consistent(6, 5, distribution, 42), *two = consistent(6, 5, distribution, 42);
    plim_estimator *other = consistent(6, 5, distribution, 43);
    float a[5 * (PARAMETERS + 1)], b[5 * (PARAMETERS + 1)];
    gradients(one, model, graph, 5, a);
    gradients(two, model, graph, 5, b);
    CHECK_BITS(a, b, 5 * (PARAMETERS + 1));
    for (size_t i = 1; i < 5; i++) { /* each gradient has new draws */
      CHECK(memcmp(a, a + i * (PARAMETERS + 1), PARAMETERS * sizeof *a) != 0);
    }
    gradients(other, model, graph, 5, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    CHECK_OK(plim_estimator_set_seed(one, 42)); /* restarts the sequence */
    gradients(one, model, graph, 5, b);
    CHECK_BITS(a, b, 5 * (PARAMETERS + 1));
    plim_estimator_free(other);
    plim_estimator_free(two);
    plim_estimator_free(one);
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

static void the_seed_is_0_unless_told_otherwise(void) {
  static const size_t sizes[2] = {6, 5};
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *silent = NULL, *zero = consistent(6, 5, PLIM_DISTRIBUTION_UNIFORM, 0);
  float a[PARAMETERS + 1], b[PARAMETERS + 1];
  CHECK_OK(plim_estimator_consistent(sizes, 2, &silent)); /* seed 0 and the uniform distribution */
  gradients(silent, model, graph, 1, a);
  gradients(zero, model, graph, 1, b);
  CHECK_BITS(a, b, PARAMETERS + 1);
  plim_estimator_free(zero);
  plim_estimator_free(silent);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void no_batch_means_the_training_nodes(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *estimators[6] = {NULL, NULL, NULL, NULL, NULL, NULL};
  CHECK_OK(plim_estimator_unbiased(&estimators[0]));
  estimators[1] = consistent(0, 0, PLIM_DISTRIBUTION_UNIFORM, 1);
  for (int32_t distribution = 0; distribution < 4; distribution++) {
    estimators[2 + distribution] = consistent(4, 6, distribution, 1);
  }
  for (size_t i = 0; i < 6; i++) {
    float a[PARAMETERS], b[PARAMETERS];
    double loss = NAN, again = NAN;
    CHECK_OK(plim_estimator_set_seed(estimators[i], 8));
    CHECK_OK(plim_estimator_gradient(estimators[i], model, graph, NULL, 0, a, PARAMETERS, &loss));
    CHECK_OK(plim_estimator_set_seed(estimators[i], 8));
    CHECK_OK(plim_estimator_gradient(estimators[i], model, graph, sample_train, SAMPLE_TRAIN, b, PARAMETERS, &again));
    CHECK_BITS(a, b, PARAMETERS);
    CHECK(loss == again);
    plim_estimator_free(estimators[i]);
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

static void the_unbiased_gradients_of_single_nodes_average_to_the_full_one(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *full = NULL, *unbiased = NULL;
  float gradient[PARAMETERS];
  double mean[PARAMETERS] = {0.0}, mean_loss = 0.0, loss = NAN;
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  for (size_t i = 0; i < SAMPLE_TRAIN; i++) {
    CHECK_OK(plim_estimator_gradient(unbiased, model, graph, &sample_train[i], 1, gradient, PARAMETERS, &loss));
    mean_loss += loss / SAMPLE_TRAIN;
    for (size_t j = 0; j < PARAMETERS; j++) {
      mean[j] += (double)gradient[j] / SAMPLE_TRAIN;
    }
  }
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, PARAMETERS, &loss));
  CHECK_NEAR(0.0, dense_error(mean, gradient, PARAMETERS), 1e-5);
  CHECK_NEAR(mean_loss, loss, 1e-6);
  plim_estimator_free(unbiased);
  plim_estimator_free(full);
  plim_model_free(model);
  plim_graph_free(graph);
}

/* Root mean square of ‖g - h‖ / ‖h‖ over some gradients, h the gradient without sampling. */
static double spread(const plim_model *model, const plim_graph *graph, plim_estimator *estimator, size_t rounds) {
  plim_estimator *full = NULL;
  float gradient[PARAMETERS];
  double exact[PARAMETERS], sum = 0.0;
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, PARAMETERS, NULL));
  for (size_t j = 0; j < PARAMETERS; j++) {
    exact[j] = (double)gradient[j];
  }
  for (size_t i = 0; i < rounds; i++) {
    double error;
    CHECK_OK(plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, PARAMETERS, NULL));
    error = dense_error(exact, gradient, PARAMETERS);
    sum += error * error;
  }
  plim_estimator_free(full);
  return sqrt(sum / (double)rounds);
}

static void larger_samples_come_closer_to_the_exact_gradient(void) {
  static const size_t chosen[3][2] = {{0, 1}, {1, 0}, {1, 1}}; /* hidden, input, both */
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  size_t rounds = check_scale(40, 3), unit = check_scale(1600, 400);
  double weights[SAMPLE_NODES];
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    weights[v] = 1.0 + (double)(v % 3);
  }
  for (int32_t law = 0; law < 5; law++) { /* the last one stands for the caller's weights */
    for (size_t i = 0; i < 3; i++) {
      plim_estimator *small = consistent(unit / 16 * chosen[i][0], unit / 16 * chosen[i][1], law % 4, 3);
      plim_estimator *large = consistent(unit * chosen[i][0], unit * chosen[i][1], law % 4, 4);
      double error_of_small, error_of_large;
      if (law == 4) {
        CHECK_OK(plim_estimator_set_weights(small, weights, SAMPLE_NODES));
        CHECK_OK(plim_estimator_set_weights(large, weights, SAMPLE_NODES));
      }
      error_of_small = spread(model, graph, small, rounds);
      error_of_large = spread(model, graph, large, rounds);
      CHECK(error_of_large > 0.0 && error_of_large < 0.3);
      CHECK(error_of_large < 0.5 * error_of_small); /* about a quarter: the deviation falls like N^-1/2 */
      plim_estimator_free(large);
      plim_estimator_free(small);
    }
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

static void sizes_of_0_are_exact(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *estimator = consistent(0, 0, PLIM_DISTRIBUTION_UNIFORM, 1);
  CHECK(spread(model, graph, estimator, 3) < 1e-6);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void an_estimator_declares_what_it_is(void) {
  static const int32_t draws[2] = {1, 2};
  plim_estimator *estimator = NULL;
  CHECK_OK(plim_estimator_full(&estimator));
  CHECK(plim_estimator_property(estimator) == 7);
  plim_estimator_free(estimator);
  CHECK_OK(plim_estimator_unbiased(&estimator));
  CHECK(plim_estimator_property(estimator) == PLIM_PROPERTY_UNBIASED);
  plim_estimator_free(estimator);
  for (int32_t distribution = 0; distribution < 4; distribution++) {
    estimator = consistent(0, 9, distribution, 0);
    CHECK(plim_estimator_property(estimator) == PLIM_PROPERTY_CONSISTENT);
    CHECK_OK(plim_estimator_set_draws(estimator, 1, draws, 2));
    CHECK(plim_estimator_property(estimator) == 0); /* the caller's draws have no property */
    CHECK_OK(plim_estimator_set_draws(estimator, 1, NULL, 0));
    CHECK(plim_estimator_property(estimator) == PLIM_PROPERTY_CONSISTENT);
    plim_estimator_free(estimator);
  }
  estimator = consistent(0, 0, PLIM_DISTRIBUTION_UNIFORM, 0);
  CHECK(plim_estimator_property(estimator) == PLIM_PROPERTY_UNBIASED);
  plim_estimator_free(estimator);
  CHECK(plim_estimator_property(NULL) == 0);
  plim_estimator_free(NULL);
}

static void cleared_draws_are_drawn_again(void) {
  static const int32_t draws[3] = {1, 2, 3};
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *pinned = consistent(7, 7, PLIM_DISTRIBUTION_UNIFORM, 5);
  plim_estimator *plain = consistent(7, 7, PLIM_DISTRIBUTION_UNIFORM, 5);
  float a[3 * (PARAMETERS + 1)], b[3 * (PARAMETERS + 1)];
  CHECK_OK(plim_estimator_set_draws(pinned, 0, draws, 3));
  CHECK_OK(plim_estimator_set_draws(pinned, 1, draws, 2));
  gradients(pinned, model, graph, 2, a);
  CHECK_BITS(a, a + PARAMETERS + 1, PARAMETERS + 1); /* nothing is random */
  CHECK_OK(plim_estimator_set_draws(pinned, 0, draws, 0));
  CHECK_OK(plim_estimator_set_draws(pinned, 1, NULL, 0));
  CHECK_OK(plim_estimator_set_seed(pinned, 5));
  gradients(pinned, model, graph, 3, a);
  gradients(plain, model, graph, 3, b);
  CHECK_BITS(b, a, 3 * (PARAMETERS + 1));
  plim_estimator_free(plain);
  plim_estimator_free(pinned);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void the_last_of_distribution_and_weights_wins(void) {
  static const double weights[SAMPLE_NODES] = {1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0};
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *one = consistent(7, 7, PLIM_DISTRIBUTION_UNIFORM, 5);
  plim_estimator *two = consistent(7, 7, PLIM_DISTRIBUTION_IMPORTANCE, 5);
  plim_estimator *three = consistent(7, 7, PLIM_DISTRIBUTION_UNIFORM, 5);
  float a[PARAMETERS + 1], b[PARAMETERS + 1], c[PARAMETERS + 1];
  CHECK_OK(plim_estimator_set_weights(one, weights, SAMPLE_NODES));
  CHECK_OK(plim_estimator_set_weights(two, weights, SAMPLE_NODES));
  gradients(one, model, graph, 1, a);
  gradients(two, model, graph, 1, b);
  gradients(three, model, graph, 1, c);
  CHECK_BITS(a, b, PARAMETERS + 1);
  CHECK(memcmp(a, c, sizeof a) != 0);
  CHECK_OK(plim_estimator_set_distribution(one, PLIM_DISTRIBUTION_UNIFORM));
  CHECK_OK(plim_estimator_set_seed(one, 5));
  gradients(one, model, graph, 1, a);
  CHECK_BITS(c, a, PARAMETERS + 1);
  plim_estimator_free(three);
  plim_estimator_free(two);
  plim_estimator_free(one);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void a_gradient_changes_neither_model_nor_graph(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *estimator = consistent(5, 5, PLIM_DISTRIBUTION_LADIES, 0);
  float before[36], after[36], gradient[PARAMETERS + 1];
  sample_predict(model, graph, before);
  gradients(estimator, model, graph, 1, gradient);
  sample_predict(model, graph, after);
  CHECK_BITS(before, after, 36);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void an_estimator_goes_from_graph_to_graph(void) {
  static const size_t widths[3] = {2, 30, 3}, sizes[2] = {20, 30};
  enum { MOST = 2 * 30 + 30 * 3 };
  plim_graph *graphs[2] = {NULL, NULL};
  plim_model *models[2] = {NULL, NULL};
  graphs[0] = sample_graph();
  models[0] = sample_model(2);
  CHECK_OK(plim_graph_from_mixture(100, 1, &graphs[1]));
  CHECK_OK(plim_model_gcn(widths, 3, 2, &models[1]));
  for (int32_t kind = 0; kind < 6; kind++) {
    plim_estimator *used = NULL;
    for (size_t round = 0; round < 6; round++) { /* one graph must not affect the next */
      plim_estimator *fresh[2] = {NULL, NULL};
      float expected[MOST], got[MOST];
      size_t i = round % 2, count = plim_model_num_parameters(models[i]);
      for (size_t j = 0; j < 2; j++) {
        if (kind < 4) {
          CHECK_OK(plim_estimator_consistent(sizes, 2, &fresh[j]));
          CHECK_OK(plim_estimator_set_distribution(fresh[j], kind));
        } else if (kind == 4) {
          CHECK_OK(plim_estimator_unbiased(&fresh[j]));
        } else {
          CHECK_OK(plim_estimator_full(&fresh[j]));
        }
      }
      if (used == NULL) {
        used = fresh[1];
      } else {
        plim_estimator_free(fresh[1]);
      }
      CHECK_OK(plim_estimator_set_seed(used, round));
      CHECK_OK(plim_estimator_set_seed(fresh[0], round));
      CHECK_OK(plim_estimator_gradient(fresh[0], models[i], graphs[i], NULL, 0, expected, MOST, NULL));
      CHECK_OK(plim_estimator_gradient(used, models[i], graphs[i], NULL, 0, got, MOST, NULL));
      CHECK_BITS(expected, got, count);
      plim_estimator_free(fresh[0]);
    }
    plim_estimator_free(used);
  }
  for (size_t i = 0; i < 2; i++) {
    plim_model_free(models[i]);
    plim_graph_free(graphs[i]);
  }
}

static void any_number_of_threads_gives_the_same_gradients(void) {
  enum { WIDTH = 128, EACH = 2 * WIDTH + WIDTH * 3 + 1, ROUNDS = 2 }; /* wide enough for threads to share the work */
  static const size_t widths[3] = {2, WIDTH, 3}, threads[3] = {2, 5, 0};
  plim_graph *graph = NULL;
  plim_model *model = NULL;
  CHECK_OK(plim_graph_from_mixture(check_scale(2000, 500), 1, &graph));
  CHECK_OK(plim_model_gcn(widths, 3, 2, &model));
  for (size_t kind = 0; kind < 8; kind++) {
    plim_estimator *estimator = NULL;
    float expected[ROUNDS * EACH], got[ROUNDS * EACH];
    if (kind == 0) {
      CHECK_OK(plim_estimator_full(&estimator));
    } else if (kind == 1) {
      CHECK_OK(plim_estimator_unbiased(&estimator));
    } else if (kind < 6) {
      estimator = consistent(0, check_scale(800, 60), (int32_t)kind - 2, 0);
    } else {
      estimator = consistent(check_scale(800, 60), check_scale(400, 60), (int32_t)(kind - 6) * 3, 0);
    }
    CHECK_OK(plim_model_set_threads(model, 1));
    gradients(estimator, model, graph, ROUNDS, expected);
    for (size_t i = 0; i < 3; i++) {
      CHECK_OK(plim_model_set_threads(model, threads[i]));
      CHECK_OK(plim_estimator_set_seed(estimator, 0));
      gradients(estimator, model, graph, ROUNDS, got);
      CHECK_BITS(expected, got, ROUNDS * EACH);
    }
    plim_estimator_free(estimator);
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

int main(void) {
  RUN(the_same_seed_gives_the_same_sequence);
  RUN(the_seed_is_0_unless_told_otherwise);
  RUN(no_batch_means_the_training_nodes);
  RUN(the_unbiased_gradients_of_single_nodes_average_to_the_full_one);
  RUN(larger_samples_come_closer_to_the_exact_gradient);
  RUN(sizes_of_0_are_exact);
  RUN(an_estimator_declares_what_it_is);
  RUN(cleared_draws_are_drawn_again);
  RUN(the_last_of_distribution_and_weights_wins);
  RUN(a_gradient_changes_neither_model_nor_graph);
  RUN(an_estimator_goes_from_graph_to_graph);
  RUN(any_number_of_threads_gives_the_same_gradients);
  return check_close();
}
