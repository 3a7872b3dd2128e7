/* Freed, foreign and mistyped handles for every function: status 13, and no effect. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "sample.h"

enum { PARAMETERS = 32, RESULTS = SAMPLE_NODES * SAMPLE_CLASSES, CELLS = SAMPLE_CLASSES * SAMPLE_CLASSES };

static plim_graph *graph = NULL;
static plim_model *model = NULL;
static plim_estimator *estimator = NULL;
static plim_layers *layers = NULL;
static float probabilities[RESULTS];

/* Outputs, which a call with a bad handle must not change. */
static float floats[RESULTS];
static int32_t ints[SAMPLE_NODES];
static size_t sizes[CELLS];
static double number = NAN;
static plim_model *made = NULL;

/* One call per function, with `h` in place of the handle. */
static plim_status graph_save(void *h) { return plim_graph_save((plim_graph *)h, files_path("never-written")); }
static plim_status graph_verify(void *h) { return plim_graph_verify((plim_graph *)h); }
static plim_status graph_set_cache(void *h) { return plim_graph_set_cache((plim_graph *)h, 0); }
static plim_status graph_set_features(void *h) { return plim_graph_set_features((plim_graph *)h, 3, probabilities); }
static plim_status graph_set_sparse_features(void *h) {
  static const int64_t indptr[SAMPLE_NODES + 1] = {0};
  return plim_graph_set_sparse_features((plim_graph *)h, 5, indptr, NULL, NULL);
}
static plim_status graph_normalize_features(void *h) { return plim_graph_normalize_features((plim_graph *)h); }
static plim_status graph_set_labels(void *h) { return plim_graph_set_labels((plim_graph *)h, sample_labels); }
static plim_status graph_set_num_classes(void *h) { return plim_graph_set_num_classes((plim_graph *)h, 3); }
static plim_status graph_set_split(void *h) { return plim_graph_set_split((plim_graph *)h, 0, NULL, 0); }
static plim_status graph_set_normalization(void *h) { return plim_graph_set_normalization((plim_graph *)h, 1); }
static plim_status graph_copy_split(void *h) { return plim_graph_copy_split((plim_graph *)h, 0, ints, SAMPLE_NODES); }
static plim_status graph_copy_labels(void *h) { return plim_graph_copy_labels((plim_graph *)h, ints, SAMPLE_NODES); }
static plim_status predict_graph(void *h) {
  return plim_model_predict(model, (plim_graph *)h, NULL, 0, floats, RESULTS);
}
static plim_status embed_graph(void *h) {
  return plim_model_embed(model, (plim_graph *)h, NULL, 0, 1, floats, RESULTS);
}
static plim_status evaluate_graph(void *h) { return plim_model_evaluate(model, (plim_graph *)h, 0, &number, NULL); }
static plim_status embed_value_graph(void *h) {
  return plim_model_embed_value(model, (plim_graph *)h, NULL, 0, 3, floats, RESULTS);
}
static plim_status confusion_graph(void *h) { return plim_model_confusion(model, (plim_graph *)h, 0, sizes, CELLS); }
static plim_status gradient_graph(void *h) {
  return plim_estimator_gradient(estimator, model, (plim_graph *)h, NULL, 0, floats, PARAMETERS, &number);
}

static plim_status layers_linear(void *h) { return plim_layers_linear((plim_layers *)h, 4); }
static plim_status layers_gcn(void *h) { return plim_layers_gcn((plim_layers *)h, 4); }
static plim_status layers_sage(void *h) { return plim_layers_sage((plim_layers *)h, 4, 0); }
static plim_status layers_aggregate(void *h) { return plim_layers_aggregate((plim_layers *)h, 0); }
static plim_status layers_propagate(void *h) { return plim_layers_propagate((plim_layers *)h, 2, 0.5); }
static plim_status layers_activation(void *h) { return plim_layers_activation((plim_layers *)h, 0); }
static plim_status layers_dropout(void *h) { return plim_layers_dropout((plim_layers *)h, 0.5); }
static plim_status layers_norm(void *h) { return plim_layers_norm((plim_layers *)h, 0); }
static plim_status layers_at(void *h) { return plim_layers_at((plim_layers *)h, 0); }
static plim_status layers_add(void *h) { return plim_layers_add((plim_layers *)h, 0); }
static plim_status layers_concat(void *h) { return plim_layers_concat((plim_layers *)h, 0); }
static plim_status layers_max(void *h) { return plim_layers_max((plim_layers *)h, 0); }
static plim_status layers_set_bias(void *h) { return plim_layers_set_bias((plim_layers *)h, 0); }
static plim_status layers_gat(void *h) { return plim_layers_gat((plim_layers *)h, 4, 2, 1); }
static plim_status layers_set_self_loops(void *h) { return plim_layers_set_self_loops((plim_layers *)h, 0); }
static plim_status layers_set_heads(void *h) { return plim_layers_set_heads((plim_layers *)h, 1); }
static plim_status layers_set_attention_dropout(void *h) {
  return plim_layers_set_attention_dropout((plim_layers *)h, 0.5);
}
static plim_status layers_set_epsilon(void *h) { return plim_layers_set_epsilon((plim_layers *)h, 0.5, 1); }
static plim_status layers_gin(void *h) {
  static const size_t widths[1] = {4};
  return plim_layers_gin((plim_layers *)h, widths, 1);
}
static plim_status model_new(void *h) { return plim_model_new((plim_layers *)h, 0, &made); }

static plim_status model_save(void *h) { return plim_model_save((plim_model *)h, files_path("never-written")); }
static plim_status model_clone(void *h) { return plim_model_clone((plim_model *)h, &made); }
static plim_status model_set_regularization(void *h) { return plim_model_set_regularization((plim_model *)h, 1.0); }
static plim_status model_set_threads(void *h) { return plim_model_set_threads((plim_model *)h, 2); }
static plim_status model_get_parameters(void *h) {
  return plim_model_get_parameters((plim_model *)h, floats, RESULTS);
}
static plim_status model_set_parameters(void *h) {
  return plim_model_set_parameters((plim_model *)h, probabilities, PARAMETERS);
}
static plim_status model_copy_widths(void *h) { return plim_model_copy_widths((plim_model *)h, sizes, 3); }
static plim_status predict_model(void *h) {
  return plim_model_predict((plim_model *)h, graph, NULL, 0, floats, RESULTS);
}
static plim_status embed_model(void *h) {
  return plim_model_embed((plim_model *)h, graph, NULL, 0, 1, floats, RESULTS);
}
static plim_status evaluate_model(void *h) { return plim_model_evaluate((plim_model *)h, graph, 0, &number, NULL); }
static plim_status embed_value_model(void *h) {
  return plim_model_embed_value((plim_model *)h, graph, NULL, 0, 3, floats, RESULTS);
}
static plim_status model_copy_value_widths(void *h) { return plim_model_copy_value_widths((plim_model *)h, sizes, 4); }
static plim_status model_tensor(void *h) {
  return plim_model_tensor((plim_model *)h, 0, NULL, &sizes[0], &sizes[1], &sizes[2]);
}
static plim_status confusion_model(void *h) { return plim_model_confusion((plim_model *)h, graph, 0, sizes, CELLS); }
static plim_status gradient_model(void *h) {
  return plim_estimator_gradient(estimator, (plim_model *)h, graph, NULL, 0, floats, PARAMETERS, &number);
}

static plim_status estimator_set_seed(void *h) { return plim_estimator_set_seed((plim_estimator *)h, 1); }
static plim_status estimator_set_distribution(void *h) {
  return plim_estimator_set_distribution((plim_estimator *)h, 1);
}
static plim_status estimator_set_weights(void *h) {
  static const double weight = 1.0;
  return plim_estimator_set_weights((plim_estimator *)h, &weight, 1);
}
static plim_status estimator_set_draws(void *h) {
  return plim_estimator_set_draws((plim_estimator *)h, 0, sample_train, 1);
}
static plim_status estimator_gradient(void *h) {
  return plim_estimator_gradient((plim_estimator *)h, model, graph, NULL, 0, floats, PARAMETERS, &number);
}

typedef struct function {
  const char *argument; /* the handle's name in the header */
  const char *name;
  plim_status (*call)(void *handle);
} function;

static const function functions[] = {
    {"graph", "plim_graph_save", graph_save},
    {"graph", "plim_graph_verify", graph_verify},
    {"graph", "plim_graph_set_cache", graph_set_cache},
    {"graph", "plim_graph_set_features", graph_set_features},
    {"graph", "plim_graph_set_sparse_features", graph_set_sparse_features},
    {"graph", "plim_graph_normalize_features", graph_normalize_features},
    {"graph", "plim_graph_set_labels", graph_set_labels},
    {"graph", "plim_graph_set_num_classes", graph_set_num_classes},
    {"graph", "plim_graph_set_split", graph_set_split},
    {"graph", "plim_graph_set_normalization", graph_set_normalization},
    {"graph", "plim_graph_copy_split", graph_copy_split},
    {"graph", "plim_graph_copy_labels", graph_copy_labels},
    {"graph", "plim_model_predict, its graph", predict_graph},
    {"graph", "plim_model_embed, its graph", embed_graph},
    {"graph", "plim_model_embed_value, its graph", embed_value_graph},
    {"graph", "plim_model_evaluate, its graph", evaluate_graph},
    {"graph", "plim_model_confusion, its graph", confusion_graph},
    {"graph", "plim_estimator_gradient, its graph", gradient_graph},
    {"layers", "plim_layers_linear", layers_linear},
    {"layers", "plim_layers_gcn", layers_gcn},
    {"layers", "plim_layers_sage", layers_sage},
    {"layers", "plim_layers_aggregate", layers_aggregate},
    {"layers", "plim_layers_propagate", layers_propagate},
    {"layers", "plim_layers_activation", layers_activation},
    {"layers", "plim_layers_dropout", layers_dropout},
    {"layers", "plim_layers_norm", layers_norm},
    {"layers", "plim_layers_at", layers_at},
    {"layers", "plim_layers_add", layers_add},
    {"layers", "plim_layers_concat", layers_concat},
    {"layers", "plim_layers_max", layers_max},
    {"layers", "plim_layers_set_bias", layers_set_bias},
    {"layers", "plim_layers_set_epsilon", layers_set_epsilon},
    {"layers", "plim_layers_set_self_loops", layers_set_self_loops},
    {"layers", "plim_layers_set_heads", layers_set_heads},
    {"layers", "plim_layers_set_attention_dropout", layers_set_attention_dropout},
    {"layers", "plim_layers_gin", layers_gin},
    {"layers", "plim_layers_gat", layers_gat},
    {"layers", "plim_model_new", model_new},
    {"model", "plim_model_save", model_save},
    {"model", "plim_model_clone", model_clone},
    {"model", "plim_model_set_regularization", model_set_regularization},
    {"model", "plim_model_set_threads", model_set_threads},
    {"model", "plim_model_get_parameters", model_get_parameters},
    {"model", "plim_model_set_parameters", model_set_parameters},
    {"model", "plim_model_copy_widths", model_copy_widths},
    {"model", "plim_model_predict", predict_model},
    {"model", "plim_model_embed", embed_model},
    {"model", "plim_model_embed_value", embed_value_model},
    {"model", "plim_model_copy_value_widths", model_copy_value_widths},
    {"model", "plim_model_tensor", model_tensor},
    {"model", "plim_model_evaluate", evaluate_model},
    {"model", "plim_model_confusion", confusion_model},
    {"model", "plim_estimator_gradient, its model", gradient_model},
    {"estimator", "plim_estimator_set_seed", estimator_set_seed},
    {"estimator", "plim_estimator_set_distribution", estimator_set_distribution},
    {"estimator", "plim_estimator_set_weights", estimator_set_weights},
    {"estimator", "plim_estimator_set_draws", estimator_set_draws},
    {"estimator", "plim_estimator_gradient", estimator_gradient},
};
enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0] };

static void clear_outputs(void) {
  check_fill(floats, RESULTS);
  memset(ints, 0x55, sizeof ints);
  memset(sizes, 0x55, sizeof sizes);
  number = NAN;
  made = UNTOUCHED(plim_model);
}

static int outputs_are_clear(void) {
  int ok = check_filled(floats, RESULTS) && isnan(number) && made == UNTOUCHED(plim_model);
  for (size_t i = 0; i < SAMPLE_NODES; i++) {
    ok &= ints[i] == 0x55555555;
  }
  for (size_t i = 0; i < CELLS; i++) {
    ok &= sizes[i] == (size_t)0x5555555555555555;
  }
  return ok;
}

/* Checks that every function with a handle of this name refuses this one. */
static void check_refused(const char *argument, void *handle, const char *what) {
  for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
    if (strcmp(functions[i].argument, argument) == 0) {
      plim_status status;
      clear_outputs();
      status = functions[i].call(handle);
      if (!CHECK(status == PLIM_ERROR_INVALID_HANDLE) || !CHECK(strstr(plim_last_error(), argument) != NULL) ||
          !CHECK(outputs_are_clear())) {
        fprintf(stderr, "  status %d from %s given %s (%s)\n", (int)status, functions[i].name, what, plim_last_error());
      }
    }
  }
}

static void check_silent(void *handle) {
  plim_graph *g = (plim_graph *)handle;
  CHECK(plim_graph_num_nodes(g) == 0 && plim_graph_num_edges(g) == 0 && plim_graph_num_features(g) == 0);
  CHECK(plim_graph_num_classes(g) == 0 && plim_graph_split_size(g, PLIM_SPLIT_TRAIN) == 0);
  CHECK(plim_model_num_layers((plim_model *)handle) == 0 && plim_model_num_parameters((plim_model *)handle) == 0);
  CHECK(plim_model_num_tensors((plim_model *)handle) == 0 && plim_model_num_values((plim_model *)handle) == 0);
  CHECK(plim_estimator_property((plim_estimator *)handle) == 0);
  CHECK(plim_estimator_property_of((plim_estimator *)handle, model) == 0);
  CHECK(plim_estimator_property_of(estimator, (plim_model *)handle) == 0);
  CHECK(plim_layers_last((plim_layers *)handle) == 0 && plim_layers_width((plim_layers *)handle) == 0);
  CHECK(plim_layers_num_hops((plim_layers *)handle) == 0);
}

static void free_as_everything(void *handle) {
  plim_graph_free((plim_graph *)handle);
  plim_model_free((plim_model *)handle);
  plim_estimator_free((plim_estimator *)handle);
  plim_layers_free((plim_layers *)handle);
}

static void check_unharmed(void) {
  float again[RESULTS];
  sample_predict(model, graph, again);
  CHECK_BITS(probabilities, again, RESULTS);
  CHECK(plim_estimator_property(estimator) == PLIM_PROPERTY_UNBIASED);
  CHECK(plim_layers_last(layers) == 1 && plim_layers_width(layers) == 3 && plim_layers_num_hops(layers) == 1);
}

static void foreign_pointers_are_no_handles(void) {
  int on_the_stack = 42;
  int *on_the_heap = (int *)check_alloc(64, sizeof *on_the_heap);
  static const uintptr_t numbers[] = {1, 2, 3, 7, 8, 16, 0xff, 0x1000, 0xdeadbeef, 0x100000000, 0x200000001,
                                      (uintptr_t)0xdeadbeefdeadbeef, UINTPTR_MAX, UINTPTR_MAX - 1,
                                      (UINTPTR_MAX >> 1) + 1, UINTPTR_MAX >> 1};
  void *strangers[sizeof numbers / sizeof numbers[0] + 3];
  size_t count = sizeof numbers / sizeof numbers[0];
  for (size_t i = 0; i < count; i++) {
    strangers[i] = (void *)numbers[i];
  }
  strangers[count++] = &on_the_stack;
  strangers[count++] = on_the_heap;
  strangers[count++] = &graph;
  for (size_t i = 0; i < count; i++) {
    char what[32];
    snprintf(what, sizeof what, "%p", strangers[i]);
    check_refused("graph", strangers[i], what);
    check_refused("model", strangers[i], what);
    check_refused("estimator", strangers[i], what);
    check_refused("layers", strangers[i], what);
    check_silent(strangers[i]);
    free_as_everything(strangers[i]);
  }
  CHECK(on_the_stack == 42);
  free(on_the_heap);
  check_unharmed();
}

static void a_handle_of_another_type_is_refused(void) {
  check_refused("graph", model, "a model");
  check_refused("graph", estimator, "an estimator");
  check_refused("model", graph, "a graph");
  check_refused("model", estimator, "an estimator");
  check_refused("estimator", graph, "a graph");
  check_refused("estimator", model, "a model");
  check_refused("layers", graph, "a graph");
  check_refused("layers", model, "a model");
  check_refused("layers", estimator, "an estimator");
  check_refused("model", layers, "layers");
  CHECK(plim_graph_num_nodes((plim_graph *)(void *)model) == 0);
  CHECK(plim_model_num_parameters((plim_model *)(void *)graph) == 0);
  CHECK(plim_estimator_property((plim_estimator *)(void *)graph) == 0);
  plim_graph_free((plim_graph *)(void *)model); /* the wrong free function has no effect */
  plim_graph_free((plim_graph *)(void *)estimator);
  plim_model_free((plim_model *)(void *)graph);
  plim_model_free((plim_model *)(void *)estimator);
  plim_estimator_free((plim_estimator *)(void *)graph);
  plim_estimator_free((plim_estimator *)(void *)model);
  plim_layers_free((plim_layers *)(void *)model);
  plim_model_free((plim_model *)(void *)layers);
  check_unharmed();
}

static void a_neighbour_of_a_handle_is_no_handle(void) {
  for (uintptr_t bit = 0; bit < 8 * sizeof(void *); bit++) { /* each bit flipped in turn */
    void *near = (void *)((uintptr_t)graph ^ (uintptr_t)1 << bit);
    CHECK(near == (void *)graph || plim_graph_num_nodes((plim_graph *)near) == 0);
    plim_graph_free((plim_graph *)near);
  }
  check_unharmed();
}

static void a_freed_handle_stays_dead(void) {
  plim_graph *old_graph = sample_graph(), *others[40];
  plim_model *old_model = sample_model(2);
  plim_estimator *old_estimator = NULL;
  plim_layers *old_layers = NULL;
  CHECK_OK(plim_estimator_unbiased(&old_estimator));
  CHECK_OK(plim_layers_new(5, &old_layers));
  plim_layers_free(old_layers);
  plim_graph_free(old_graph);
  plim_model_free(old_model);
  plim_estimator_free(old_estimator);
  for (size_t round = 0; round < 3; round++) {
    check_refused("graph", old_graph, "a freed graph");
    check_refused("model", old_model, "a freed model");
    check_refused("estimator", old_estimator, "a freed estimator");
    check_refused("layers", old_layers, "freed layers");
    check_silent(old_layers);
    check_silent(old_graph);
    check_silent(old_model);
    check_silent(old_estimator);
    for (size_t i = 0; i < 40; i++) { /* others reuse its slot */
      others[i] = NULL;
      CHECK_OK(plim_graph_from_edges(i + 1, 0, NULL, NULL, NULL, &others[i]));
      CHECK(others[i] != NULL && others[i] != old_graph);
    }
    check_refused("graph", old_graph, "a freed graph, its place taken");
    free_as_everything(old_graph); /* freeing twice is harmless */
    free_as_everything(old_model);
    free_as_everything(old_estimator);
    for (size_t i = 0; i < 40; i++) {
      CHECK(plim_graph_num_nodes(others[i]) == i + 1);
      plim_graph_free(others[i]);
      plim_graph_free(others[i]);
      CHECK(plim_graph_num_nodes(others[i]) == 0);
    }
  }
  check_unharmed();
}

static void handles_are_never_handed_out_again(void) {
  size_t rounds = check_scale(20000, 1000);
  plim_estimator *first = NULL, *next = NULL;
  size_t again = 0;
  CHECK_OK(plim_estimator_full(&first));
  plim_estimator_free(first);
  for (size_t i = 0; i < rounds; i++) {
    if (plim_estimator_full(&next) != PLIM_OK || next == first || plim_estimator_property(first) != 0) {
      again++;
    }
    plim_estimator_free(next);
  }
  CHECK(again == 0);
}

static void a_null_handle_is_a_null_pointer(void) {
  for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
    clear_outputs();
    CHECK_FAILS(PLIM_ERROR_NULL_POINTER, functions[i].argument, functions[i].call(NULL));
    CHECK(outputs_are_clear());
  }
  check_silent(NULL);
  free_as_everything(NULL);
}

int main(void) {
  graph = sample_graph();
  model = sample_model(2);
  CHECK_OK(plim_estimator_unbiased(&estimator));
  CHECK_OK(plim_layers_new(SAMPLE_FEATURES, &layers));
  CHECK_OK(plim_layers_sage(layers, 3, PLIM_AGGREGATOR_MAX));
  sample_predict(model, graph, probabilities);
  RUN(foreign_pointers_are_no_handles);
  RUN(a_handle_of_another_type_is_refused);
  RUN(a_neighbour_of_a_handle_is_no_handle);
  RUN(a_freed_handle_stays_dead);
  RUN(handles_are_never_handed_out_again);
  RUN(a_null_handle_is_a_null_pointer);
  plim_layers_free(layers);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
  files_close();
  return check_close();
}
