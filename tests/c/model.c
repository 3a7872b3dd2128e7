/* Models: initial parameters, parameters in and out, copies, and what they compute: predict, embed, evaluate. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

static void get_parameters(const plim_model *model, float *parameters) {
  check_fill(parameters, plim_model_num_parameters(model));
  CHECK_OK(plim_model_get_parameters(model, parameters, plim_model_num_parameters(model)));
}

static void initial_parameters_are_uniform_in_glorot_s_range(void) {
  static const size_t widths[] = {300, 40, 7};
  plim_model *model = NULL;
  float parameters[300 * 40 + 40 * 7];
  size_t at = 0;
  CHECK_OK(plim_model_gcn(widths, 3, 11, &model));
  CHECK(plim_model_num_parameters(model) == 300 * 40 + 40 * 7);
  get_parameters(model, parameters);
  for (size_t l = 0; l < 2; l++) {
    double count = (double)(widths[l] * widths[l + 1]), range = sqrt(6.0 / (double)(widths[l] + widths[l + 1]));
    double sum = 0.0, squares = 0.0, largest = 0.0;
    for (size_t i = 0; i < widths[l] * widths[l + 1]; i++) {
      double value = (double)parameters[at++] / range;
      sum += value;
      squares += value * value;
      largest = fabs(value) > largest ? fabs(value) : largest;
    }
    CHECK(largest <= 1.000001 && largest > 0.97); /* uniform on [-1, 1]: mean 0, E x² = 1/3, Var x² = 4/45 */
    CHECK_NEAR(0.0, sum / count, 5.0 * sqrt(1.0 / 3.0 / count));
    CHECK_NEAR(1.0 / 3.0, squares / count, 5.0 * sqrt(4.0 / 45.0 / count));
  }
  plim_model_free(model);
}

static void initial_parameters_depend_on_the_seed_alone(void) {
  static const size_t widths[] = {5, 4, 3};
  static const uint64_t seeds[] = {3, 3, 4, UINT64_MAX};
  float parameters[4][32];
  for (size_t i = 0; i < 4; i++) {
    plim_model *model = NULL;
    CHECK_OK(plim_model_gcn(widths, 3, seeds[i], &model));
    get_parameters(model, parameters[i]);
    plim_model_free(model);
  }
  CHECK_BITS(parameters[0], parameters[1], 32);
  CHECK(memcmp(parameters[0], parameters[2], sizeof parameters[0]) != 0);
  CHECK(memcmp(parameters[2], parameters[3], sizeof parameters[0]) != 0);
}

static void a_model_knows_its_shape(void) {
  static const size_t widths[] = {1433, 16, 8, 7};
  plim_model *model = NULL;
  size_t copy[6] = {9, 9, 9, 9, 9, 9};
  CHECK_OK(plim_model_gcn(widths, 4, 0, &model));
  CHECK(plim_model_num_layers(model) == 3);
  CHECK(plim_model_num_parameters(model) == 1433 * 16 + 16 * 8 + 8 * 7);
  CHECK_OK(plim_model_copy_widths(model, copy, 6));
  CHECK_BITS(widths, copy, 4);
  CHECK(copy[4] == 9 && copy[5] == 9);
  plim_model_free(model);
  plim_model_free(NULL);
}

static void parameters_come_back_bit_for_bit(void) {
  plim_model *model = sample_model(2);
  float given[32], got[33];
  uint64_t state = 1;
  for (size_t i = 0; i < 32; i++) {
    given[i] = (float)dense_random(&state);
  }
  given[0] = -0.0f;
  given[1] = 1e-42f; /* subnormal */
  given[2] = 3.4028234e38f;
  CHECK_OK(plim_model_set_parameters(model, given, 32));
  check_fill(got, 33);
  CHECK_OK(plim_model_get_parameters(model, got, 33));
  CHECK_BITS(given, got, 32);
  CHECK(isnan(got[32]));
  plim_model_free(model);
}

static void a_clone_is_equal_and_independent(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2), *clone = NULL;
  plim_estimator *full = NULL;
  float before[36], after[36], zeros[32] = {0.0f}, gradient[32];
  size_t widths[3], copy[3];
  double loss = NAN, of_clone = NAN;
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_model_set_regularization(model, 0.75));
  sample_predict(model, graph, before);
  CHECK_OK(plim_model_clone(model, &clone));
  CHECK(clone != model);
  sample_predict(clone, graph, after);
  CHECK_BITS(before, after, 36);
  CHECK_OK(plim_model_copy_widths(model, widths, 3));
  CHECK_OK(plim_model_copy_widths(clone, copy, 3));
  CHECK_BITS(widths, copy, 3);
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, 32, &loss));
  CHECK_OK(plim_estimator_gradient(full, clone, graph, NULL, 0, gradient, 32, &of_clone));
  CHECK(loss == of_clone); /* λ is cloned too */
  CHECK_OK(plim_model_set_parameters(clone, zeros, 32));
  sample_predict(model, graph, after);
  CHECK_BITS(before, after, 36);
  plim_model_free(model);
  sample_predict(clone, graph, after);
  CHECK_NEAR(1.0 / 3.0, (double)after[0], 1e-7);
  plim_model_free(clone);
  plim_estimator_free(full);
  plim_graph_free(graph);
}

static void every_layer_is_the_formula(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  for (size_t num_layers = 1; num_layers <= 4; num_layers++) {
    plim_model *model = sample_model(num_layers);
    size_t widths[MAX_LAYERS + 1];
    float parameters[MAX_PARAMETERS], rows[SAMPLE_NODES * MAX_WIDTH];
    double h[MAX_NODES][MAX_WIDTH];
    sample_widths(num_layers, widths);
    get_parameters(model, parameters);
    for (size_t layer = 0; layer < num_layers; layer++) {
      size_t width = widths[layer + 1];
      check_fill(rows, SAMPLE_NODES * MAX_WIDTH);
      CHECK_OK(plim_model_embed(model, graph, NULL, 0, layer, rows, SAMPLE_NODES * width));
      dense_embed(&dense, widths, num_layers, parameters, layer, h);
      for (size_t v = 0; v < SAMPLE_NODES; v++) {
        for (size_t k = 0; k < width; k++) {
          CHECK_NEAR(h[v][k], (double)rows[v * width + k], 2e-6);
          CHECK(layer + 1 == num_layers || rows[v * width + k] >= 0.0f);
        }
      }
      CHECK(check_filled(rows + SAMPLE_NODES * width, SAMPLE_NODES * (MAX_WIDTH - width)));
    }
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void probabilities_are_the_softmax_of_the_logits(void) {
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  for (size_t num_layers = 1; num_layers <= 3; num_layers++) {
    plim_model *model = sample_model(num_layers);
    size_t widths[MAX_LAYERS + 1];
    float parameters[MAX_PARAMETERS], rows[36];
    double h[MAX_NODES][MAX_WIDTH];
    sample_widths(num_layers, widths);
    get_parameters(model, parameters);
    sample_predict(model, graph, rows);
    dense_embed(&dense, widths, num_layers, parameters, num_layers - 1, h);
    for (size_t v = 0; v < SAMPLE_NODES; v++) {
      double sum = 0.0;
      dense_softmax(h[v], SAMPLE_CLASSES);
      for (size_t k = 0; k < SAMPLE_CLASSES; k++) {
        sum += (double)rows[v * SAMPLE_CLASSES + k];
        CHECK_NEAR(h[v][k], (double)rows[v * SAMPLE_CLASSES + k], 2e-6);
      }
      CHECK_NEAR(1.0, sum, 1e-6);
    }
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void a_list_of_nodes_gives_those_rows_bit_for_bit(void) {
  static const int32_t nodes[] = {7, 0, 11, 7, 10, 3, 3}; /* repeated nodes are valid */
  enum { COUNT = sizeof nodes / sizeof nodes[0] };
  plim_graph *graph = sample_graph();
  for (size_t num_layers = 1; num_layers <= 3; num_layers++) {
    plim_model *model = sample_model(num_layers);
    float all[36], some[COUNT * 3 + 1], hidden[SAMPLE_NODES * MAX_WIDTH], some_hidden[COUNT * MAX_WIDTH];
    size_t widths[MAX_LAYERS + 1];
    sample_widths(num_layers, widths);
    sample_predict(model, graph, all);
    check_fill(some, COUNT * 3 + 1);
    CHECK_OK(plim_model_predict(model, graph, nodes, COUNT, some, COUNT * 3 + 1));
    CHECK(isnan(some[COUNT * 3]));
    for (size_t i = 0; i < COUNT; i++) {
      CHECK_BITS(all + nodes[i] * 3, some + i * 3, 3);
    }
    for (size_t layer = 0; layer < num_layers; layer++) {
      size_t width = widths[layer + 1];
      CHECK_OK(plim_model_embed(model, graph, NULL, 0, layer, hidden, SAMPLE_NODES * width));
      CHECK_OK(plim_model_embed(model, graph, nodes, COUNT, layer, some_hidden, COUNT * width));
      for (size_t i = 0; i < COUNT; i++) {
        CHECK_BITS(hidden + (size_t)nodes[i] * width, some_hidden + i * width, width);
      }
    }
    check_fill(some, COUNT * 3);
    CHECK_OK(plim_model_predict(model, graph, nodes, 0, some, COUNT * 3)); /* an empty list, not all */
    CHECK_OK(plim_model_predict(model, graph, nodes, 0, NULL, 0));
    CHECK_OK(plim_model_embed(model, graph, nodes, 0, 0, some, COUNT * 3));
    CHECK(check_filled(some, COUNT * 3));
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void a_model_predicts_on_another_graph(void) {
  static const float features[] = {1.0f, 0.0f, -1.0f, 0.5f, 2.0f, 0.25f, 1.0f, 0.0f, -0.5f, 1.0f};
  static const int32_t source = 0, target = 1;
  static const size_t widths[] = {5, 4, 3};
  plim_graph *graph = sample_graph(), *other = NULL;
  plim_model *model = sample_model(2);
  float before[36], after[36], rows[6], parameters[32];
  double h[MAX_NODES][MAX_WIDTH];
  dense_graph dense;
  memset(&dense, 0, sizeof dense);
  dense.num_nodes = 2;
  dense.num_features = 5;
  dense.a[0][1] = dense.a[1][0] = 1.0;
  dense_normalize(&dense, PLIM_NORMALIZATION_SYMMETRIC);
  for (size_t i = 0; i < 10; i++) {
    dense.x[i / 5][i % 5] = (double)features[i];
  }
  sample_predict(model, graph, before);
  get_parameters(model, parameters);
  CHECK_OK(plim_graph_from_edges(2, 1, &source, &target, NULL, &other));
  CHECK_OK(plim_graph_set_features(other, 5, features)); /* no labels and no split are required */
  CHECK_OK(plim_model_predict(model, other, NULL, 0, rows, 6));
  dense_embed(&dense, widths, 2, parameters, 1, h);
  for (size_t v = 0; v < 2; v++) {
    dense_softmax(h[v], 3);
    for (size_t k = 0; k < 3; k++) {
      CHECK_NEAR(h[v][k], (double)rows[3 * v + k], 2e-6);
    }
  }
  sample_predict(model, graph, after);
  CHECK_BITS(before, after, 36);
  plim_model_free(model);
  plim_graph_free(other);
  plim_graph_free(graph);
}

/* Mean cross-entropy and accuracy of a split, from the dense formula. */
static double dense_evaluate(const dense_graph *dense, const size_t *widths, size_t num_layers, const float *parameters,
                             const int32_t *nodes, size_t count, double *accuracy) {
  double h[MAX_NODES][MAX_WIDTH], loss = 0.0;
  dense_embed(dense, widths, num_layers, parameters, num_layers - 1, h);
  *accuracy = 0.0;
  for (size_t i = 0; i < count; i++) {
    double *row = h[nodes[i]], logit = row[dense->labels[nodes[i]]];
    int best = 1;
    for (size_t k = 0; k < widths[num_layers]; k++) {
      best &= row[k] <= logit;
    }
    *accuracy += (double)best / (double)count;
    loss += (dense_softmax(row, widths[num_layers]) - logit) / (double)count;
  }
  return loss;
}

static void evaluate_is_the_mean_cross_entropy_and_the_share_of_right_answers(void) {
  static const int32_t *const splits[3] = {sample_train, sample_val, sample_test};
  static const size_t sizes[3] = {SAMPLE_TRAIN, 3, 3};
  static const float scales[3] = {1.0f, 30.0f, 3000.0f}; /* the last one has probabilities of 0 */
  plim_graph *graph = sample_graph();
  dense_graph dense = sample_dense();
  for (size_t round = 0; round < 9; round++) {
    size_t num_layers = round / 3 + 1, widths[MAX_LAYERS + 1], count;
    plim_model *model = sample_model(num_layers);
    float parameters[MAX_PARAMETERS];
    sample_widths(num_layers, widths);
    get_parameters(model, parameters);
    count = plim_model_num_parameters(model);
    for (size_t i = count - widths[num_layers - 1] * widths[num_layers]; i < count; i++) {
      parameters[i] *= scales[round % 3];
    }
    CHECK_OK(plim_model_set_parameters(model, parameters, count));
    CHECK_OK(plim_model_set_regularization(model, 10.0)); /* not part of the loss */
    for (int32_t split = 0; split < 3; split++) {
      double loss = NAN, accuracy = NAN, only = NAN, right;
      double expected = dense_evaluate(&dense, widths, num_layers, parameters, splits[split], sizes[split], &right);
      CHECK_OK(plim_model_evaluate(model, graph, split, &loss, &accuracy));
      CHECK_NEAR(expected, loss, 2e-6 * (1.0 + (double)scales[round % 3]));
      CHECK_NEAR(right, accuracy, 1e-12);
      CHECK_OK(plim_model_evaluate(model, graph, split, &only, NULL));
      CHECK(only == loss);
      CHECK_OK(plim_model_evaluate(model, graph, split, NULL, &only));
      CHECK(only == accuracy);
      CHECK_OK(plim_model_evaluate(model, graph, split, NULL, NULL));
    }
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void probabilities_stay_finite_at_enormous_logits(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  float parameters[32], rows[36];
  get_parameters(model, parameters);
  for (size_t i = 0; i < 32; i++) {
    parameters[i] *= 1e15f;
  }
  CHECK_OK(plim_model_set_parameters(model, parameters, 32));
  sample_predict(model, graph, rows);
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    CHECK_NEAR(1.0, (double)rows[3 * v] + (double)rows[3 * v + 1] + (double)rows[3 * v + 2], 1e-6);
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

/* A larger graph with dense features of any width, whose products take other code paths than those of a few nodes. */
static plim_graph *wide_graph(size_t nodes_per_class, size_t width) {
  plim_graph *graph = NULL;
  size_t count = 3 * nodes_per_class * width;
  float *features = (float *)check_alloc(count, sizeof *features);
  sample_features(features, count);
  CHECK_OK(plim_graph_from_mixture(nodes_per_class, 4, &graph));
  CHECK_OK(plim_graph_set_features(graph, width, features));
  free(features);
  return graph;
}

static void a_list_gives_the_same_bits_on_a_larger_graph(void) {
  static const size_t widths[] = {100, 70, 33, 5}, threads[] = {1, 3}, counts[] = {1, 2, 7, 200, 600};
  size_t n = 3 * check_scale(600, 200);
  plim_graph *graph = wide_graph(n / 3, 100);
  plim_model *model = NULL;
  float *all = (float *)check_alloc(n * 38, sizeof *all), *some = (float *)check_alloc(600 * 38, sizeof *some);
  int32_t nodes[600];
  for (size_t i = 0; i < 600; i++) {
    nodes[i] = (int32_t)((i * 389 + 17) % n);
  }
  CHECK_OK(plim_model_gcn(widths, 4, 1, &model));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, all, n * 5));
  CHECK_OK(plim_model_embed(model, graph, NULL, 0, 1, all + n * 5, n * 33));
  for (size_t round = 0; round < 20; round++) {
    size_t count = counts[round % 5], different = 0;
    CHECK_OK(plim_model_set_threads(model, threads[round / 5 % 2]));
    CHECK_OK(plim_graph_set_cache(graph, round < 10 ? (size_t)1 << 30 : 0));
    check_fill(some, 600 * 38);
    CHECK_OK(plim_model_predict(model, graph, nodes, count, some, count * 5));
    CHECK_OK(plim_model_embed(model, graph, nodes, count, 1, some + count * 5, count * 33));
    for (size_t i = 0; i < count; i++) {
      size_t v = (size_t)nodes[i];
      different += memcmp(all + v * 5, some + i * 5, 5 * sizeof *all) != 0;
      different += memcmp(all + n * 5 + v * 33, some + count * 5 + i * 33, 33 * sizeof *all) != 0;
    }
    CHECK(different == 0);
  }
  free(some);
  free(all);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void evaluate_agrees_with_predict_on_a_larger_graph(void) {
  static const size_t widths[] = {40, 24, 3};
  size_t n = 3 * check_scale(1000, 200);
  plim_graph *graph = wide_graph(n / 3, 40);
  plim_model *model = NULL;
  float *rows = (float *)check_alloc(n * 3, sizeof *rows);
  int32_t *labels = (int32_t *)check_alloc(n, sizeof *labels), *nodes = (int32_t *)check_alloc(n, sizeof *nodes);
  CHECK_OK(plim_model_gcn(widths, 3, 1, &model));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, rows, n * 3));
  CHECK_OK(plim_graph_copy_labels(graph, labels, n));
  for (int32_t split = 0; split < 3; split++) {
    size_t count = plim_graph_split_size(graph, split), right = 0;
    double loss = NAN, accuracy = NAN, expected = 0.0;
    CHECK_OK(plim_graph_copy_split(graph, split, nodes, n));
    for (size_t i = 0; i < count; i++) {
      const float *row = rows + 3 * (size_t)nodes[i];
      float chance = row[labels[nodes[i]]];
      expected -= log((double)chance) / (double)count;
      right += row[0] <= chance && row[1] <= chance && row[2] <= chance;
    }
    CHECK_OK(plim_model_evaluate(model, graph, split, &loss, &accuracy));
    CHECK_NEAR(expected, loss, 1e-6);
    CHECK_NEAR((double)right / (double)count, accuracy, 1e-12);
  }
  free(nodes);
  free(labels);
  free(rows);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void any_number_of_threads_gives_the_same_bits(void) {
  static const size_t widths[] = {2, 16, 9, 3}, threads[] = {2, 5, 1, 0};
  size_t n = 3 * check_scale(2000, 600);
  plim_graph *graph = NULL;
  plim_model *model = NULL;
  float *expected = (float *)check_alloc(n * 19, sizeof *expected), *got = (float *)check_alloc(n * 19, sizeof *got);
  double loss = NAN, accuracy = NAN;
  CHECK_OK(plim_graph_from_mixture(n / 3, 2, &graph));
  CHECK_OK(plim_model_gcn(widths, 4, 1, &model));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, expected, n * 3));
  CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, expected + n * 3, n * 16));
  CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, &loss, &accuracy));
  for (size_t i = 0; i < 4; i++) {
    double again = NAN, share = NAN;
    CHECK_OK(plim_model_set_threads(model, threads[i]));
    CHECK_OK(plim_graph_set_cache(graph, (i % 2) << 30)); /* ÂX kept and not kept */
    check_fill(got, n * 19);
    CHECK_OK(plim_model_predict(model, graph, NULL, 0, got, n * 3));
    CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, got + n * 3, n * 16));
    CHECK_BITS(expected, got, n * 19);
    CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, &again, &share));
    CHECK(again == loss && share == accuracy);
  }
  free(got);
  free(expected);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void scratch_files_change_no_bit(void) {
  static const size_t widths[] = {2, 16, 24, 3}, bytes[] = {0, 100000, (size_t)1 << 30};
  size_t n = 3 * check_scale(2000, 600);
  plim_graph *graph = NULL;
  plim_model *model = NULL, *clone = NULL;
  float *expected = (float *)check_alloc(n * 19, sizeof *expected), *got = (float *)check_alloc(n * 19, sizeof *got);
  double loss = NAN, again = NAN;
  CHECK_OK(plim_graph_from_mixture(n / 3, 2, &graph));
  CHECK_OK(plim_model_gcn(widths, 4, 1, &model));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, expected, n * 3));
  CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, expected + n * 3, n * 16));
  CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, &loss, NULL));
  for (size_t i = 0; i < 3; i++) {
    CHECK_OK(plim_model_set_scratch(model, ".", bytes[i]));
    CHECK_OK(plim_model_clone(model, &clone));
    check_fill(got, n * 19);
    CHECK_OK(plim_model_predict(clone, graph, NULL, 0, got, n * 3));
    CHECK_OK(plim_model_embed(clone, graph, NULL, 0, 0, got + n * 3, n * 16));
    CHECK_BITS(expected, got, n * 19);
    CHECK_OK(plim_model_evaluate(clone, graph, PLIM_SPLIT_TEST, &again, NULL));
    CHECK(again == loss);
    plim_model_free(clone);
  }
  CHECK_OK(plim_model_set_scratch(model, NULL, 7));
  check_fill(got, n * 3);
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, got, n * 3));
  CHECK_BITS(expected, got, n * 3);
  free(got);
  free(expected);
  plim_model_free(model);
  plim_graph_free(graph);
}

int main(void) {
  RUN(initial_parameters_are_uniform_in_glorot_s_range);
  RUN(initial_parameters_depend_on_the_seed_alone);
  RUN(a_model_knows_its_shape);
  RUN(parameters_come_back_bit_for_bit);
  RUN(a_clone_is_equal_and_independent);
  RUN(every_layer_is_the_formula);
  RUN(probabilities_are_the_softmax_of_the_logits);
  RUN(a_list_of_nodes_gives_those_rows_bit_for_bit);
  RUN(scratch_files_change_no_bit);
  RUN(a_model_predicts_on_another_graph);
  RUN(evaluate_is_the_mean_cross_entropy_and_the_share_of_right_answers);
  RUN(probabilities_stay_finite_at_enormous_logits);
  RUN(a_list_gives_the_same_bits_on_a_larger_graph);
  RUN(evaluate_agrees_with_predict_on_a_larger_graph);
  RUN(any_number_of_threads_gives_the_same_bits);
  return check_close();
}
