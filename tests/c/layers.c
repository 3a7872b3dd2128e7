/* Models from layers: what is appended, what it computes, training, tensors, properties. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

enum { MOST = 4096, RESULTS = SAMPLE_NODES * SAMPLE_CLASSES };

static plim_layers *start(void) {
  plim_layers *layers = NULL;
  CHECK_OK(plim_layers_new(SAMPLE_FEATURES, &layers));
  return layers;
}

static plim_model *finish(plim_layers *layers, uint64_t seed) {
  plim_model *model = NULL;
  CHECK_OK(plim_model_new(layers, seed, &model));
  plim_layers_free(layers);
  return model;
}

/* The recipes: each builds a whole model for the sample graph. */
static plim_model *graphsage(void) {
  plim_layers *layers = start();
  CHECK_OK(plim_layers_sage(layers, 6, PLIM_AGGREGATOR_MEAN));
  CHECK_OK(plim_layers_activation(layers, PLIM_ACTIVATION_RELU));
  CHECK_OK(plim_layers_dropout(layers, 0.25));
  CHECK_OK(plim_layers_sage(layers, SAMPLE_CLASSES, PLIM_AGGREGATOR_MAX));
  return finish(layers, 1);
}

static plim_model *gin(void) {
  static const size_t hidden[2] = {7, 4}, last[1] = {SAMPLE_CLASSES};
  plim_layers *layers = start();
  CHECK_OK(plim_layers_gin(layers, hidden, 2));
  CHECK_OK(plim_layers_set_epsilon(layers, 0.25, 1));
  CHECK_OK(plim_layers_norm(layers, PLIM_NORM_LAYER));
  CHECK_OK(plim_layers_activation(layers, PLIM_ACTIVATION_ELU));
  CHECK_OK(plim_layers_gin(layers, last, 1));
  return finish(layers, 2);
}

static plim_model *sgc(void) {
  plim_layers *layers = start();
  CHECK_OK(plim_layers_propagate(layers, 2, 0.0));
  CHECK_OK(plim_layers_linear(layers, SAMPLE_CLASSES));
  return finish(layers, 3);
}

static plim_model *appnp(void) {
  plim_layers *layers = start();
  CHECK_OK(plim_layers_linear(layers, 8));
  CHECK_OK(plim_layers_activation(layers, PLIM_ACTIVATION_TANH));
  CHECK_OK(plim_layers_linear(layers, SAMPLE_CLASSES));
  CHECK_OK(plim_layers_propagate(layers, 2, 0.1));
  return finish(layers, 4);
}

static plim_model *residual(void) {
  plim_layers *layers = start();
  size_t shortcut = 0;
  CHECK_OK(plim_layers_gcn(layers, 6));
  CHECK_OK(plim_layers_activation(layers, PLIM_ACTIVATION_GELU));
  shortcut = plim_layers_last(layers);
  CHECK_OK(plim_layers_gcn(layers, 6));
  CHECK_OK(plim_layers_norm(layers, PLIM_NORM_BATCH));
  CHECK_OK(plim_layers_add(layers, shortcut));
  CHECK_OK(plim_layers_linear(layers, SAMPLE_CLASSES));
  return finish(layers, 5);
}

static plim_model *jumping(void) {
  plim_layers *layers = start();
  size_t first = 0, second = 0;
  CHECK_OK(plim_layers_gcn(layers, 4));
  CHECK_OK(plim_layers_activation(layers, PLIM_ACTIVATION_LEAKY_RELU));
  first = plim_layers_last(layers);
  CHECK_OK(plim_layers_sage(layers, 4, PLIM_AGGREGATOR_SUM));
  CHECK_OK(plim_layers_activation(layers, PLIM_ACTIVATION_SIGMOID));
  second = plim_layers_last(layers);
  CHECK_OK(plim_layers_max(layers, first));
  CHECK_OK(plim_layers_concat(layers, second));
  CHECK_OK(plim_layers_linear(layers, SAMPLE_CLASSES));
  return finish(layers, 6);
}

typedef struct recipe {
  const char *name;
  plim_model *(*make)(void);
  int batch_norm;
} recipe;

static const recipe recipes[] = {{"GraphSAGE", graphsage, 0}, {"GIN", gin, 0},           {"SGC", sgc, 0},
                                 {"APPNP", appnp, 0},         {"residual", residual, 1}, {"jumping", jumping, 0}};
enum { RECIPES = sizeof recipes / sizeof recipes[0] };

static void values_are_counted_and_only_neighbours_make_hops(void) {
  static const size_t widths[2] = {9, 2};
  plim_layers *layers = start();
  CHECK(plim_layers_last(layers) == 0 && plim_layers_width(layers) == 5 && plim_layers_num_hops(layers) == 0);
  CHECK_OK(plim_layers_linear(layers, 4));
  CHECK(plim_layers_last(layers) == 1 && plim_layers_width(layers) == 4 && plim_layers_num_hops(layers) == 0);
  CHECK_OK(plim_layers_gcn(layers, 3));
  CHECK_OK(plim_layers_set_bias(layers, 0));
  CHECK(plim_layers_last(layers) == 2 && plim_layers_width(layers) == 3 && plim_layers_num_hops(layers) == 1);
  CHECK_OK(plim_layers_aggregate(layers, PLIM_AGGREGATOR_MAX));
  CHECK(plim_layers_last(layers) == 3 && plim_layers_width(layers) == 3 && plim_layers_num_hops(layers) == 2);
  CHECK_OK(plim_layers_propagate(layers, 5, 0.5));
  CHECK(plim_layers_last(layers) == 4 && plim_layers_width(layers) == 3 && plim_layers_num_hops(layers) == 7);
  CHECK_OK(plim_layers_gin(layers, widths, 2));
  CHECK(plim_layers_last(layers) == 5 && plim_layers_width(layers) == 2 && plim_layers_num_hops(layers) == 8);
  CHECK_OK(plim_layers_at(layers, 1));
  CHECK(plim_layers_last(layers) == 1 && plim_layers_width(layers) == 4 && plim_layers_num_hops(layers) == 8);
  CHECK_OK(plim_layers_concat(layers, 5));
  CHECK(plim_layers_last(layers) == 6 && plim_layers_width(layers) == 6 && plim_layers_num_hops(layers) == 8);
  plim_layers_free(layers);
}

static void attention_has_the_width_of_its_heads_and_tensors_by_its_version(void) {
  static const char *const names[] = {"v1.lin.weight", "v1.att_src",     "v1.att_dst",      "v1.bias",       "v2.lin_l.weight",
                                      "v2.lin_l.bias", "v2.lin_r.weight", "v2.lin_r.bias", "v2.att", "v2.bias"};
  static const size_t rows[] = {5, 1, 1, 1, 12, 1, 12, 1, 1, 1}, columns[] = {12, 12, 12, 12, 6, 6, 6, 6, 6, 3};
  float parameters[MOST];
  plim_layers *layers = start();
  plim_model *model = NULL;
  size_t end = 0;
  CHECK_OK(plim_layers_gat(layers, 4, 3, 1));
  CHECK(plim_layers_width(layers) == 12 && plim_layers_num_hops(layers) == 1);
  CHECK_OK(plim_layers_gat(layers, 3, 2, 2));
  CHECK(plim_layers_width(layers) == 6);
  CHECK_OK(plim_layers_set_heads(layers, PLIM_HEADS_MEAN));
  CHECK(plim_layers_width(layers) == 3);
  CHECK_OK(plim_layers_set_self_loops(layers, 0));
  CHECK_OK(plim_layers_set_attention_dropout(layers, 0.5));
  model = finish(layers, 3);
  CHECK(plim_model_num_layers(model) == 2 && plim_model_num_tensors(model) == 10);
  CHECK_OK(plim_model_get_parameters(model, parameters, MOST));
  for (size_t i = 0; i < 10; i++) {
    const char *name = NULL;
    size_t offset = 0, height = 0, width = 0;
    double largest = 0, limit = 0;
    CHECK_OK(plim_model_tensor(model, i, &name, &offset, &height, &width));
    CHECK(strcmp(name, names[i]) == 0 && offset == end && height == rows[i] && width == columns[i]);
    end += height * width;
    for (size_t k = 0; k < height * width; k++) {
      largest = fmax(largest, fabs((double)parameters[offset + k]));
    }
    if (strstr(name, "weight")) {
      limit = sqrt(6.0 / (double)(height + width));
    } else if (strstr(name, "att")) {
      limit = i < 3 ? sqrt(6.0 / (3 + 4)) : sqrt(6.0 / (2 + 3));
    } else if (strstr(name, "lin")) {
      limit = 1 / sqrt(12.0);
    }
    CHECK(largest <= limit && largest >= 0.5 * limit);
  }
  CHECK(end == plim_model_num_parameters(model));
  plim_model_free(model);
  layers = start();
  CHECK_OK(plim_layers_gat(layers, 4, 3, 2));
  CHECK_OK(plim_layers_set_bias(layers, 0));
  model = finish(layers, 0);
  CHECK(plim_model_num_tensors(model) == 3 && plim_model_num_parameters(model) == 5 * 12 * 2 + 12);
  plim_model_free(model);
}

static void a_model_outlives_its_layers_and_they_can_grow(void) {
  plim_layers *layers = start();
  plim_model *shallow = NULL, *deep = NULL;
  CHECK_OK(plim_layers_gcn(layers, 3));
  CHECK_OK(plim_model_new(layers, 0, &shallow));
  CHECK_OK(plim_layers_gcn(layers, 4));
  CHECK_OK(plim_model_new(layers, 0, &deep));
  plim_layers_free(layers);
  CHECK(plim_model_num_layers(shallow) == 1 && plim_model_num_parameters(shallow) == 5 * 3 + 3);
  CHECK(plim_model_num_layers(deep) == 2 && plim_model_num_parameters(deep) == 5 * 3 + 3 + 3 * 4 + 4);
  plim_model_free(shallow);
  plim_model_free(deep);
}

static void single_predictions_are_rows_of_the_whole_one_bit_for_bit(void) {
  plim_graph *graph = sample_graph();
  for (size_t i = 0; i < RECIPES; i++) {
    plim_model *model = recipes[i].make();
    float whole[RESULTS];
    sample_predict(model, graph, whole);
    for (int32_t v = 0; v < SAMPLE_NODES; v++) {
      float row[SAMPLE_CLASSES], sum = 0.0f;
      check_fill(row, SAMPLE_CLASSES);
      CHECK_OK(plim_model_predict(model, graph, &v, 1, row, SAMPLE_CLASSES));
      if (!CHECK_BITS(&whole[v * SAMPLE_CLASSES], row, SAMPLE_CLASSES)) {
        fprintf(stderr, "  %s, node %d\n", recipes[i].name, (int)v);
      }
      sum = row[0] + row[1] + row[2];
      CHECK_NEAR(1.0, (double)sum, 1e-6);
    }
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void training_lowers_the_loss_of_every_recipe(void) {
  plim_graph *graph = sample_graph();
  for (size_t i = 0; i < RECIPES; i++) {
    plim_model *model = recipes[i].make();
    plim_estimator *full = NULL;
    plim_optimizer *adam = NULL;
    plim_train_options *options = NULL;
    double before = NAN, after = NAN;
    CHECK_OK(plim_estimator_full(&full));
    CHECK_OK(plim_optimizer_adam(0.02, &adam));
    CHECK_OK(plim_train_options_new(&options));
    CHECK_OK(plim_train_options_set_epochs(options, 60));
    CHECK_OK(plim_train_options_set_restore_best(options, 0));
    CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &before, NULL));
    CHECK_OK(plim_train(model, graph, full, adam, options, NULL));
    CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &after, NULL));
    if (!CHECK(after < 0.9 * before)) {
      fprintf(stderr, "  %s: %g, then %g\n", recipes[i].name, before, after);
    }
    plim_train_options_free(options);
    plim_optimizer_free(adam);
    plim_estimator_free(full);
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void tensors_tile_the_parameters_in_order(void) {
  for (size_t i = 0; i < RECIPES; i++) {
    plim_model *model = recipes[i].make(), *copy = NULL;
    size_t at = 0;
    CHECK_OK(plim_model_clone(model, &copy));
    for (size_t t = 0; t < plim_model_num_tensors(model); t++) {
      const char *name = NULL, *again = NULL;
      size_t offset = 0, rows = 0, columns = 0;
      CHECK_OK(plim_model_tensor(model, t, &name, &offset, &rows, &columns));
      CHECK(offset == at && rows > 0 && columns > 0 && name[0] == 'v');
      CHECK_OK(plim_model_tensor(copy, t, &again, NULL, NULL, NULL));
      CHECK_TEXT(name, again);
      at = offset + rows * columns;
    }
    CHECK(at == plim_model_num_parameters(model));
    plim_model_free(model);
    plim_model_free(copy);
  }
}

static void tensors_have_the_documented_names_shapes_and_start(void) {
  static const size_t widths[2] = {4, 3};
  static const struct {
    const char *name;
    size_t rows, columns;
    double limit, value; /* within ± limit of the value */
  } wanted[] = {{"v1.weight", 5, 4, 0.4473, 0.0},      {"v1.bias", 1, 4, 0.4473, 0.0},
                {"v2.lin.weight", 4, 2, 1.0001, 0.0},  {"v2.bias", 1, 2, 0.0, 0.0},
                {"v3.weight", 1, 2, 0.0, 1.0},         {"v3.bias", 1, 2, 0.0, 0.0},
                {"v4.lin_l.weight", 2, 3, 0.7072, 0.0}, {"v4.lin_l.bias", 1, 3, 0.7072, 0.0},
                {"v4.lin_r.weight", 2, 3, 0.7072, 0.0}, {"v5.nn.0.weight", 3, 4, 0.5774, 0.0},
                {"v5.nn.0.bias", 1, 4, 0.5774, 0.0},   {"v5.nn.2.weight", 4, 3, 0.5001, 0.0},
                {"v5.nn.2.bias", 1, 3, 0.5001, 0.0},   {"v5.eps", 1, 1, 0.0, 0.5},
                {"v6.weight", 3, 3, 0.5774, 0.0}};
  enum { TENSORS = sizeof wanted / sizeof wanted[0] };
  plim_layers *layers = start();
  plim_model *model = NULL;
  float parameters[MOST];
  CHECK_OK(plim_layers_linear(layers, 4));
  CHECK_OK(plim_layers_gcn(layers, 2));
  CHECK_OK(plim_layers_norm(layers, PLIM_NORM_BATCH));
  CHECK_OK(plim_layers_sage(layers, 3, PLIM_AGGREGATOR_MEAN));
  CHECK_OK(plim_layers_gin(layers, widths, 2));
  CHECK_OK(plim_layers_set_epsilon(layers, 0.5, 7));
  CHECK_OK(plim_layers_linear(layers, 3));
  CHECK_OK(plim_layers_set_bias(layers, 0));
  model = finish(layers, 9);
  CHECK(plim_model_num_tensors(model) == TENSORS);
  CHECK_OK(plim_model_get_parameters(model, parameters, MOST));
  for (size_t t = 0; t < TENSORS; t++) {
    const char *name = NULL;
    size_t offset = 0, rows = 0, columns = 0;
    CHECK_OK(plim_model_tensor(model, t, &name, &offset, &rows, &columns));
    CHECK_TEXT(wanted[t].name, name);
    CHECK(rows == wanted[t].rows && columns == wanted[t].columns);
    for (size_t k = offset; k < offset + rows * columns; k++) {
      CHECK_NEAR(wanted[t].value, (double)parameters[k], wanted[t].limit);
    }
  }
  plim_model_free(model);
}

static void the_paper_s_model_has_tensors_and_values_too(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  size_t widths[4] = {0}, offset = 0, rows = 0, columns = 0;
  const char *name = NULL;
  float hidden[SAMPLE_NODES * 4], value[SAMPLE_NODES * 4];
  CHECK(plim_model_num_tensors(model) == 2 && plim_model_num_values(model) == 4);
  CHECK_OK(plim_model_copy_value_widths(model, widths, 4));
  CHECK(widths[0] == 5 && widths[1] == 4 && widths[2] == 4 && widths[3] == 3);
  CHECK_OK(plim_model_tensor(model, 1, &name, &offset, &rows, &columns));
  CHECK(offset == 20 && rows == 4 && columns == 3);
  CHECK_TEXT("v3.lin.weight", name);
  CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, hidden, SAMPLE_NODES * 4));
  check_fill(value, SAMPLE_NODES * 4);
  CHECK_OK(plim_model_embed_value(model, graph, NULL, 0, 2, value, SAMPLE_NODES * 4));
  for (size_t i = 0; i < SAMPLE_NODES * 4; i++) {
    CHECK_NEAR((double)hidden[i], (double)value[i], 1e-6);
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

/* agg(X) by hand. Rows of A are lists of neighbours, an edge of any weight among them. */
static void by_hand(const dense_graph *graph, int32_t aggregator, double out[MAX_NODES][MAX_WIDTH]) {
  for (size_t v = 0; v < graph->num_nodes; v++) {
    for (size_t i = 0; i < graph->num_features; i++) {
      double sum = 0.0, total = 0.0, top = -INFINITY, bottom = INFINITY;
      for (size_t u = 0; u < graph->num_nodes; u++) {
        double a = graph->a[v][u];
        sum += a * graph->x[u][i];
        total += a;
        top = a != 0.0 && graph->x[u][i] > top ? graph->x[u][i] : top;
        bottom = a != 0.0 && graph->x[u][i] < bottom ? graph->x[u][i] : bottom;
      }
      out[v][i] = aggregator == PLIM_AGGREGATOR_SUM    ? sum
                  : aggregator == PLIM_AGGREGATOR_MEAN ? (total > 0.0 ? sum / total : 0.0)
                  : aggregator == PLIM_AGGREGATOR_MAX  ? (top > -INFINITY ? top : 0.0)
                                                       : (bottom < INFINITY ? bottom : 0.0);
    }
  }
}

static void check_values(const plim_model *model, const plim_graph *graph, size_t value, size_t width,
                         double want[MAX_NODES][MAX_WIDTH]) {
  float got[SAMPLE_NODES * MAX_WIDTH];
  check_fill(got, SAMPLE_NODES * MAX_WIDTH);
  CHECK_OK(plim_model_embed_value(model, graph, NULL, 0, value, got, SAMPLE_NODES * width));
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    for (size_t k = 0; k < width; k++) {
      if (!CHECK_NEAR(want[v][k], (double)got[v * width + k], 1e-5)) {
        fprintf(stderr, "  value %zu, node %zu, column %zu\n", value, v, k);
      }
    }
  }
}

static void values_are_those_of_the_formulas(void) {
  dense_graph dense = sample_dense();
  plim_graph *graph = sample_graph();
  double want[MAX_NODES][MAX_WIDTH], first[MAX_NODES][MAX_WIDTH];
  plim_layers *layers = start();
  plim_model *model = NULL;
  for (int32_t aggregator = 0; aggregator <= PLIM_AGGREGATOR_MAX; aggregator++) { /* values 1, 2, 3, each of the features */
    CHECK_OK(plim_layers_at(layers, 0));
    CHECK_OK(plim_layers_aggregate(layers, aggregator));
  }
  CHECK_OK(plim_layers_add(layers, 1));          /* 4 = 3 + 1 */
  CHECK_OK(plim_layers_max(layers, 2));          /* 5 = max(4, 2) */
  CHECK_OK(plim_layers_propagate(layers, 1, 0.25)); /* 6 */
  CHECK_OK(plim_layers_concat(layers, 0));       /* 7 */
  CHECK_OK(plim_layers_norm(layers, PLIM_NORM_BATCH)); /* 8: in evaluation mode only the 1e-5 */
  model = finish(layers, 0);
  CHECK(plim_model_num_parameters(model) == 20);
  memcpy(want, dense.x, sizeof want);
  check_values(model, graph, 0, 5, want);
  by_hand(&dense, PLIM_AGGREGATOR_MEAN, first);
  check_values(model, graph, 1, 5, first);
  by_hand(&dense, PLIM_AGGREGATOR_SUM, want);
  check_values(model, graph, 2, 5, want);
  by_hand(&dense, PLIM_AGGREGATOR_MAX, want);
  check_values(model, graph, 3, 5, want);
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    for (size_t i = 0; i < 5; i++) {
      first[v][i] += want[v][i];
    }
  }
  check_values(model, graph, 4, 5, first);
  by_hand(&dense, PLIM_AGGREGATOR_SUM, want);
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    for (size_t i = 0; i < 5; i++) {
      first[v][i] = want[v][i] > first[v][i] ? want[v][i] : first[v][i];
    }
  }
  check_values(model, graph, 5, 5, first);
  memset(want, 0, sizeof want);
  for (size_t v = 0; v < SAMPLE_NODES; v++) {
    for (size_t i = 0; i < 5; i++) {
      for (size_t u = 0; u < SAMPLE_NODES; u++) {
        want[v][i] += 0.75 * dense.hat[v][u] * first[u][i];
      }
      want[v][i] += 0.25 * first[v][i];
    }
  }
  check_values(model, graph, 6, 5, want);
  {
    float joined[SAMPLE_NODES * 10], normed[SAMPLE_NODES * 10];
    CHECK_OK(plim_model_embed_value(model, graph, NULL, 0, 7, joined, SAMPLE_NODES * 10));
    CHECK_OK(plim_model_embed_value(model, graph, NULL, 0, 8, normed, SAMPLE_NODES * 10));
    for (size_t v = 0; v < SAMPLE_NODES; v++) {
      for (size_t i = 0; i < 5; i++) {
        CHECK_NEAR(want[v][i], (double)joined[v * 10 + i], 1e-5);
        CHECK_NEAR(dense.x[v][i], (double)joined[v * 10 + 5 + i], 1e-6);
        CHECK_NEAR((double)joined[v * 10 + i] / sqrt(1.0 + 1e-5), (double)normed[v * 10 + i], 1e-5);
      }
    }
  }
  plim_model_free(model);
  plim_graph_free(graph);
}

static void a_sage_layer_is_its_formula(void) {
  dense_graph dense = sample_dense();
  plim_graph *graph = sample_graph();
  double neighbours[MAX_NODES][MAX_WIDTH], want[MAX_NODES][MAX_WIDTH];
  float w[5 * 3 + 3 + 5 * 3];
  for (int32_t aggregator = 0; aggregator <= PLIM_AGGREGATOR_MIN; aggregator++) {
    plim_layers *layers = start();
    plim_model *model = NULL;
    CHECK_OK(plim_layers_sage(layers, 3, aggregator));
    CHECK_OK(plim_layers_at(layers, 0));
    CHECK_OK(plim_layers_aggregate(layers, aggregator)); /* 2 */
    CHECK_OK(plim_layers_concat(layers, 1));
    model = finish(layers, 8);
    CHECK_OK(plim_model_get_parameters(model, w, sizeof w / sizeof w[0]));
    by_hand(&dense, aggregator, neighbours);
    check_values(model, graph, 2, 5, neighbours);
    for (size_t v = 0; v < SAMPLE_NODES; v++) {
      for (size_t k = 0; k < 3; k++) {
        want[v][k] = (double)w[15 + k];
        for (size_t i = 0; i < 5; i++) {
          want[v][k] += neighbours[v][i] * (double)w[i * 3 + k] + dense.x[v][i] * (double)w[18 + i * 3 + k];
        }
      }
    }
    check_values(model, graph, 1, 3, want);
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void dropout_is_for_gradients_alone_and_keyed_by_the_seed(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = graphsage();
  plim_estimator *full = NULL;
  float g[3][MOST], p[2][RESULTS];
  size_t count = plim_model_num_parameters(model);
  CHECK_OK(plim_estimator_full(&full));
  for (size_t i = 0; i < 3; i++) {
    CHECK_OK(plim_estimator_set_seed(full, i / 2));
    CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, g[i], MOST, NULL));
  }
  CHECK_BITS(g[0], g[1], count);
  CHECK(memcmp(g[0], g[2], count * sizeof g[0][0]) != 0);
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, g[1], MOST, NULL)); /* the next step */
  CHECK(memcmp(g[1], g[2], count * sizeof g[0][0]) != 0);
  sample_predict(model, graph, p[0]);
  sample_predict(model, graph, p[1]);
  CHECK_BITS(p[0], p[1], RESULTS);
  plim_estimator_free(full);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void sample_sizes_are_one_per_hop(void) {
  static const size_t sizes[3] = {4, 4, 4};
  plim_graph *graph = sample_graph();
  for (size_t i = 0; i < RECIPES; i++) {
    plim_model *model = recipes[i].make();
    float gradient[MOST];
    for (size_t hops = 1; hops <= 3; hops++) {
      plim_estimator *drawn = NULL;
      plim_status wanted = hops == plim_model_num_layers(model) ? PLIM_OK : PLIM_ERROR_SHAPE_MISMATCH;
      CHECK_OK(plim_estimator_consistent(sizes, hops, &drawn));
      CHECK_OK(plim_estimator_set_distribution(drawn, PLIM_DISTRIBUTION_LADIES));
      CHECK_STATUS(wanted, plim_estimator_gradient(drawn, model, graph, NULL, 0, gradient, MOST, NULL));
      plim_estimator_free(drawn);
    }
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

static void a_property_depends_on_the_model(void) {
  static const size_t sizes[2] = {4, 4};
  plim_estimator *estimators[3] = {NULL, NULL, NULL};
  CHECK_OK(plim_estimator_full(&estimators[0]));
  CHECK_OK(plim_estimator_unbiased(&estimators[1]));
  CHECK_OK(plim_estimator_consistent(sizes, 2, &estimators[2]));
  for (size_t i = 0; i < RECIPES; i++) {
    plim_model *model = recipes[i].make();
    CHECK(plim_estimator_property_of(estimators[0], model) == 7);
    CHECK(plim_estimator_property_of(estimators[1], model) == (recipes[i].batch_norm ? 0 : PLIM_PROPERTY_UNBIASED));
    CHECK(plim_estimator_property_of(estimators[2], model) == (recipes[i].batch_norm ? 0 : PLIM_PROPERTY_CONSISTENT));
    plim_model_free(model);
  }
  for (size_t i = 0; i < 3; i++) {
    plim_estimator_free(estimators[i]);
  }
}

static void training_alone_moves_running_statistics(void) {
  plim_graph *graph = sample_graph();
  plim_model *model = residual(), *trained = NULL;
  plim_estimator *full = NULL;
  plim_optimizer *still = NULL;
  plim_train_options *options = NULL;
  float before[RESULTS], after[RESULTS], gradient[MOST], parameters[MOST];
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_optimizer_sgd(1e-6, &still));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_epochs(options, 3));
  CHECK_OK(plim_train_options_set_restore_best(options, 0));
  sample_predict(model, graph, before);
  CHECK_OK(plim_estimator_gradient(full, model, graph, NULL, 0, gradient, MOST, NULL));
  sample_predict(model, graph, after);
  CHECK_BITS(before, after, RESULTS);
  CHECK_OK(plim_model_clone(model, &trained));
  CHECK_OK(plim_train(trained, graph, full, still, options, NULL));
  CHECK_OK(plim_model_get_parameters(model, parameters, MOST));
  CHECK_OK(plim_model_set_parameters(trained, parameters, plim_model_num_parameters(model)));
  sample_predict(trained, graph, after);
  CHECK(memcmp(before, after, sizeof before) != 0); /* the same parameters, other statistics */
  plim_train_options_free(options);
  plim_optimizer_free(still);
  plim_estimator_free(full);
  plim_model_free(trained);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void training_ends_with_the_statistics_of_the_best_epoch(void) {
  enum { EPOCHS = 25 };
  plim_graph *graph = sample_graph();
  plim_model *model = residual();
  plim_estimator *full = NULL;
  plim_optimizer *adam = NULL;
  plim_train_options *options = NULL;
  plim_history *history = NULL;
  double losses[EPOCHS], loss = NAN;
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_optimizer_adam(0.1, &adam));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_epochs(options, EPOCHS));
  CHECK_OK(plim_train_options_set_monitor(options, PLIM_MONITOR_VAL_LOSS));
  CHECK_OK(plim_train(model, graph, full, adam, options, &history));
  CHECK_OK(plim_history_copy(history, PLIM_HISTORY_VAL_LOSS, losses, EPOCHS));
  CHECK(plim_history_best_epoch(history) >= 1 && plim_history_best_epoch(history) < EPOCHS);
  CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_VAL, &loss, NULL));
  CHECK(loss == losses[plim_history_best_epoch(history) - 1]);
  plim_history_free(history);
  plim_train_options_free(options);
  plim_optimizer_free(adam);
  plim_estimator_free(full);
  plim_model_free(model);
  plim_graph_free(graph);
}

int main(void) {
  RUN(values_are_counted_and_only_neighbours_make_hops);
  RUN(attention_has_the_width_of_its_heads_and_tensors_by_its_version);
  RUN(a_model_outlives_its_layers_and_they_can_grow);
  RUN(single_predictions_are_rows_of_the_whole_one_bit_for_bit);
  RUN(training_lowers_the_loss_of_every_recipe);
  RUN(tensors_tile_the_parameters_in_order);
  RUN(tensors_have_the_documented_names_shapes_and_start);
  RUN(the_paper_s_model_has_tensors_and_values_too);
  RUN(values_are_those_of_the_formulas);
  RUN(a_sage_layer_is_its_formula);
  RUN(dropout_is_for_gradients_alone_and_keyed_by_the_seed);
  RUN(sample_sizes_are_one_per_hop);
  RUN(a_property_depends_on_the_model);
  RUN(training_alone_moves_running_statistics);
  RUN(training_ends_with_the_statistics_of_the_best_epoch);
  return check_close();
}
