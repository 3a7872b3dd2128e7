/* Freed, foreign and mistyped handles for every function: status 13, and no effect. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "handles.h"
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
static plim_status model_set_scratch(void *h) { return plim_model_set_scratch((plim_model *)h, NULL, 0); }
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

/* Whether no call has changed an output since the last time. */
static int untouched(void) {
  const int clear = outputs_are_clear();
  clear_outputs();
  return clear;
}

FUNCTIONS(untouched, FUNCTION("graph", graph_save), FUNCTION("graph", graph_verify),
          FUNCTION("graph", graph_set_cache), FUNCTION("graph", graph_set_features),
          FUNCTION("graph", graph_set_sparse_features), FUNCTION("graph", graph_normalize_features),
          FUNCTION("graph", graph_set_labels), FUNCTION("graph", graph_set_num_classes),
          FUNCTION("graph", graph_set_split), FUNCTION("graph", graph_set_normalization),
          FUNCTION("graph", graph_copy_split), FUNCTION("graph", graph_copy_labels), FUNCTION("graph", predict_graph),
          FUNCTION("graph", embed_graph), FUNCTION("graph", embed_value_graph), FUNCTION("graph", evaluate_graph),
          FUNCTION("graph", confusion_graph), FUNCTION("graph", gradient_graph), FUNCTION("layers", layers_linear),
          FUNCTION("layers", layers_gcn), FUNCTION("layers", layers_sage), FUNCTION("layers", layers_aggregate),
          FUNCTION("layers", layers_propagate), FUNCTION("layers", layers_activation),
          FUNCTION("layers", layers_dropout), FUNCTION("layers", layers_norm), FUNCTION("layers", layers_at),
          FUNCTION("layers", layers_add), FUNCTION("layers", layers_concat), FUNCTION("layers", layers_max),
          FUNCTION("layers", layers_set_bias), FUNCTION("layers", layers_set_epsilon), FUNCTION("layers", layers_set_self_loops),
          FUNCTION("layers", layers_set_heads), FUNCTION("layers", layers_set_attention_dropout),
          FUNCTION("layers", layers_gat), FUNCTION("layers", layers_gin),
          FUNCTION("layers", model_new), FUNCTION("model", model_save), FUNCTION("model", model_clone),
          FUNCTION("model", model_set_regularization), FUNCTION("model", model_set_threads), FUNCTION("model", model_set_scratch),
          FUNCTION("model", model_get_parameters), FUNCTION("model", model_set_parameters),
          FUNCTION("model", model_copy_widths), FUNCTION("model", predict_model), FUNCTION("model", embed_model),
          FUNCTION("model", embed_value_model), FUNCTION("model", model_copy_value_widths),
          FUNCTION("model", model_tensor), FUNCTION("model", evaluate_model), FUNCTION("model", confusion_model),
          FUNCTION("model", gradient_model), FUNCTION("estimator", estimator_set_seed),
          FUNCTION("estimator", estimator_set_distribution), FUNCTION("estimator", estimator_set_weights),
          FUNCTION("estimator", estimator_set_draws), FUNCTION("estimator", estimator_gradient));

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
    handles_refused(&functions, "graph", strangers[i], what);
    handles_refused(&functions, "model", strangers[i], what);
    handles_refused(&functions, "estimator", strangers[i], what);
    handles_refused(&functions, "layers", strangers[i], what);
    check_silent(strangers[i]);
    free_as_everything(strangers[i]);
  }
  CHECK(on_the_stack == 42);
  free(on_the_heap);
  check_unharmed();
}

static void a_handle_of_another_type_is_refused(void) {
  handles_refused(&functions, "graph", model, "a model");
  handles_refused(&functions, "graph", estimator, "an estimator");
  handles_refused(&functions, "model", graph, "a graph");
  handles_refused(&functions, "model", estimator, "an estimator");
  handles_refused(&functions, "estimator", graph, "a graph");
  handles_refused(&functions, "estimator", model, "a model");
  handles_refused(&functions, "layers", graph, "a graph");
  handles_refused(&functions, "layers", model, "a model");
  handles_refused(&functions, "layers", estimator, "an estimator");
  handles_refused(&functions, "model", layers, "layers");
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
    handles_refused(&functions, "graph", old_graph, "a freed graph");
    handles_refused(&functions, "model", old_model, "a freed model");
    handles_refused(&functions, "estimator", old_estimator, "a freed estimator");
    handles_refused(&functions, "layers", old_layers, "freed layers");
    check_silent(old_layers);
    check_silent(old_graph);
    check_silent(old_model);
    check_silent(old_estimator);
    for (size_t i = 0; i < 40; i++) { /* others reuse its slot */
      others[i] = NULL;
      CHECK_OK(plim_graph_from_edges(i + 1, 0, NULL, NULL, NULL, &others[i]));
      CHECK(others[i] != NULL && others[i] != old_graph);
    }
    handles_refused(&functions, "graph", old_graph, "a freed graph, its place taken");
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
  for (size_t i = 0; i < functions.count; i++) {
    CHECK_FAILS(PLIM_ERROR_NULL_POINTER, functions.all[i].argument, functions.all[i].call(NULL));
    CHECK(untouched());
  }
  check_silent(NULL);
  free_as_everything(NULL);
}

int main(void) {
  clear_outputs();
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
