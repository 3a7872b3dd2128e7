/* Invalid arguments for layers, and for models made of them: the status, the message, nothing written or appended. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

enum { RESULTS = SAMPLE_NODES * SAMPLE_CLASSES };

/* Values: 0 of width 5, 1 linear of width 4, 2 gcn of width 4, 3 sum. The last value is 3. */
static plim_layers *layers = NULL;

static void check_unharmed(int line) {
  plim_model *model = NULL;
  int ok = plim_layers_last(layers) == 3 && plim_layers_width(layers) == 4 && plim_layers_num_hops(layers) == 1;
  ok &= plim_model_new(layers, 0, &model) == PLIM_OK && plim_model_num_values(model) == 4 &&
        plim_model_num_parameters(model) == 5 * 4 + 4 + 4 * 4 + 4;
  plim_model_free(model);
  if (!CHECK(ok)) {
    fprintf(stderr, "  the layers changed at line %d\n", line);
  }
}

/* Checks that the call fails with this status and message and does not change the layers. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), check_unharmed(__LINE__))
#define INVALID PLIM_ERROR_INVALID_ARGUMENT

static void make_layers(void) {
  CHECK_OK(plim_layers_new(SAMPLE_FEATURES, &layers));
  CHECK_OK(plim_layers_linear(layers, 4));
  CHECK_OK(plim_layers_gcn(layers, 4));
  CHECK_OK(plim_layers_add(layers, 1));
}

static void widths_are_in_range(void) {
  static const size_t bad[] = {0, (size_t)INT32_MAX + 1, SIZE_MAX};
  static const char *const fragments[] = {"= 0 is outside [1, 2147483647]", "= 2147483648", "= 18446744073709551615"};
  for (size_t i = 0; i < 3; i++) {
    plim_layers *out = UNTOUCHED(plim_layers);
    size_t widths[2] = {3, bad[i]};
    char text[64];
    CHECK_FAILS(INVALID, "num_features", plim_layers_new(bad[i], &out));
    CHECK(out == UNTOUCHED(plim_layers));
    snprintf(text, sizeof text, "linear: width %s", fragments[i]);
    REFUSED(INVALID, text, plim_layers_linear(layers, bad[i]));
    snprintf(text, sizeof text, "gcn: width %s", fragments[i]);
    REFUSED(INVALID, text, plim_layers_gcn(layers, bad[i]));
    snprintf(text, sizeof text, "sage: width %s", fragments[i]);
    REFUSED(INVALID, text, plim_layers_sage(layers, bad[i], PLIM_AGGREGATOR_MEAN));
    snprintf(text, sizeof text, "gat: width %s", fragments[i]);
    REFUSED(INVALID, text, plim_layers_gat(layers, bad[i], 2, 1));
    snprintf(text, sizeof text, "gat: heads %s", fragments[i]);
    REFUSED(INVALID, text, plim_layers_gat(layers, 2, bad[i], 2));
    snprintf(text, sizeof text, "gin: widths[1] %s", fragments[i]);
    REFUSED(INVALID, text, plim_layers_gin(layers, widths, 2));
  }
}

static void a_gin_has_linear_layers(void) {
  static const size_t widths[65] = {0};
  REFUSED(INVALID, "num_widths = 0", plim_layers_gin(layers, widths, 0));
  REFUSED(INVALID, "num_widths = 0", plim_layers_gin(layers, NULL, 0));
  REFUSED(INVALID, "num_widths = 65 is outside [1, 64]", plim_layers_gin(layers, widths, 65));
  REFUSED(PLIM_ERROR_NULL_POINTER, "widths is NULL", plim_layers_gin(layers, NULL, 2));
}

static void heads_and_versions_are_in_range(void) {
  REFUSED(INVALID, "gat: width times heads = 4294967294", plim_layers_gat(layers, 2, INT32_MAX, 1));
  REFUSED(INVALID, "gat: version = 0 is neither 1 nor 2", plim_layers_gat(layers, 2, 2, 0));
  REFUSED(INVALID, "gat: version = 3", plim_layers_gat(layers, 2, 2, 3));
  REFUSED(INVALID, "gat: version = -2147483648", plim_layers_gat(layers, 2, 2, INT32_MIN));
}

static void refuse_constants(int32_t aggregator, int32_t activation, int32_t norm) {
  REFUSED(INVALID, "is not a PLIM_AGGREGATOR_ constant", plim_layers_sage(layers, 3, aggregator));
  REFUSED(INVALID, "is not a PLIM_AGGREGATOR_ constant", plim_layers_aggregate(layers, aggregator));
  REFUSED(INVALID, "is not a PLIM_ACTIVATION_ constant", plim_layers_activation(layers, activation));
  REFUSED(INVALID, "is not a PLIM_NORM_ constant", plim_layers_norm(layers, norm));
}

static void constants_are_known(void) {
  refuse_constants(PLIM_AGGREGATOR_MIN + 1, PLIM_ACTIVATION_SIGMOID + 1, PLIM_NORM_BATCH + 1);
  refuse_constants(-1, -1, -1);
  refuse_constants(INT32_MIN, INT32_MIN, INT32_MIN);
  refuse_constants(INT32_MAX, INT32_MAX, INT32_MAX);
  REFUSED(INVALID, "norm = 2", plim_layers_norm(layers, 2));
}

static void rates_and_restarts_are_in_range(void) {
  static const double bad[] = {-1e-300, 1.0, 1.5, -1.0, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    REFUSED(INVALID, "dropout: rate = ", plim_layers_dropout(layers, bad[i]));
    REFUSED(INVALID, "propagate: restart = ", plim_layers_propagate(layers, 2, bad[i]));
  }
  REFUSED(INVALID, "propagate: hops = 0 is outside [1, 64]", plim_layers_propagate(layers, 0, 0.1));
  REFUSED(INVALID, "propagate: hops = 65", plim_layers_propagate(layers, 65, 0.1));
  REFUSED(INVALID, "propagate: hops = 1844", plim_layers_propagate(layers, SIZE_MAX, 0.1));
  REFUSED(INVALID, "would have 65 hops, more than 64", plim_layers_propagate(layers, 64, 0.1));
}

static void a_value_is_one_made_before(void) {
  static const size_t bad[] = {4, 5, SIZE_MAX};
  for (size_t i = 0; i < 3; i++) {
    REFUSED(INVALID, "at: value = ", plim_layers_at(layers, bad[i]));
    REFUSED(INVALID, "add: value = ", plim_layers_add(layers, bad[i]));
    REFUSED(INVALID, "concat: value = ", plim_layers_concat(layers, bad[i]));
    REFUSED(INVALID, "but the largest is 3", plim_layers_max(layers, bad[i]));
  }
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "add: value 3 has width 4, value 0 has width 5", plim_layers_add(layers, 0));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "max: value 3 has width 4, value 0 has width 5", plim_layers_max(layers, 0));
}

static void two_wide_values_do_not_join(void) {
  plim_layers *wide = NULL;
  CHECK_OK(plim_layers_new(INT32_MAX, &wide));
  CHECK_FAILS(INVALID, "concat: the sum of the widths = 4294967294", plim_layers_concat(wide, 0));
  CHECK(plim_layers_last(wide) == 0 && plim_layers_width(wide) == INT32_MAX);
  plim_layers_free(wide);
}

static void setters_speak_of_the_operation_just_appended(void) {
  plim_layers *other = NULL;
  REFUSED(INVALID, "bias: the operation appended last, add, has none", plim_layers_set_bias(layers, 0));
  REFUSED(INVALID, "epsilon: the operation appended last, add, has none", plim_layers_set_epsilon(layers, 0.1, 0));
  REFUSED(INVALID, "self_loops: the operation appended last, add, has none", plim_layers_set_self_loops(layers, 0));
  REFUSED(INVALID, "heads: the operation appended last, add, has none", plim_layers_set_heads(layers, PLIM_HEADS_MEAN));
  REFUSED(INVALID, "heads = 2 is not a PLIM_HEADS_ constant", plim_layers_set_heads(layers, PLIM_HEADS_MEAN + 1));
  REFUSED(INVALID, "heads = -1 is not a PLIM_HEADS_ constant", plim_layers_set_heads(layers, -1));
  REFUSED(INVALID, "attention_dropout: the operation appended last, add, has none",
          plim_layers_set_attention_dropout(layers, 0.5));
  CHECK_OK(plim_layers_new(5, &other));
  CHECK_FAILS(INVALID, "bias: there is no operation yet", plim_layers_set_bias(other, 0));
  CHECK_OK(plim_layers_gcn(other, 2));
  CHECK_FAILS(INVALID, "epsilon: the operation appended last, gcn, has none", plim_layers_set_epsilon(other, 0.1, 0));
  CHECK_OK(plim_layers_at(other, 1));
  CHECK_FAILS(INVALID, "bias: set it right after its operation", plim_layers_set_bias(other, 0));
  CHECK_OK(plim_layers_gin(other, (const size_t[]){3}, 1));
  CHECK_FAILS(INVALID, "gin: epsilon = NaN", plim_layers_set_epsilon(other, NAN, 0));
  CHECK_FAILS(INVALID, "gin: epsilon = ", plim_layers_set_epsilon(other, 1e39, 1));
  CHECK_FAILS(INVALID, "gin: epsilon = -inf", plim_layers_set_epsilon(other, -INFINITY, 1));
  CHECK_OK(plim_layers_gat(other, 3, 2, 1));
  CHECK_FAILS(INVALID, "gat: attention_dropout: rate = 1", plim_layers_set_attention_dropout(other, 1.0));
  CHECK_FAILS(INVALID, "gat: attention_dropout: rate = -0.5", plim_layers_set_attention_dropout(other, -0.5));
  CHECK_FAILS(INVALID, "gat: attention_dropout: rate = NaN", plim_layers_set_attention_dropout(other, NAN));
  CHECK_FAILS(INVALID, "epsilon: the operation appended last, gat, has none", plim_layers_set_epsilon(other, 0.1, 0));
  CHECK_OK(plim_layers_at(other, plim_layers_last(other)));
  CHECK_FAILS(INVALID, "heads: set it right after its operation", plim_layers_set_heads(other, PLIM_HEADS_MEAN));
  CHECK(plim_layers_width(other) == 6);
  plim_layers_free(other);
}

static void operations_and_hops_are_limited(void) {
  plim_layers *many = NULL;
  CHECK_OK(plim_layers_new(1, &many));
  for (size_t i = 0; i < 1000; i++) {
    CHECK_OK(plim_layers_dropout(many, 0.5));
  }
  CHECK_FAILS(INVALID, "1000 operations", plim_layers_dropout(many, 0.5));
  CHECK(plim_layers_last(many) == 1000);
  plim_layers_free(many);
  CHECK_OK(plim_layers_new(1, &many));
  for (size_t i = 0; i < 64; i++) {
    CHECK_OK(plim_layers_aggregate(many, PLIM_AGGREGATOR_MEAN));
  }
  CHECK_FAILS(INVALID, "gcn: the layers would have 65 hops", plim_layers_gcn(many, 1));
  CHECK(plim_layers_num_hops(many) == 64);
  plim_layers_free(many);
}

static void every_value_reaches_the_last_one(void) {
  plim_layers *other = NULL;
  plim_model *out = UNTOUCHED(plim_model);
  CHECK_OK(plim_layers_new(5, &other));
  CHECK_FAILS(INVALID, "layers: the last value is 0", plim_model_new(other, 0, &out));
  CHECK_OK(plim_layers_gcn(other, 2));
  CHECK_OK(plim_layers_at(other, 0));
  CHECK_FAILS(INVALID, "layers: the last value is 0", plim_model_new(other, 0, &out));
  CHECK_OK(plim_layers_linear(other, 3));
  CHECK_FAILS(INVALID, "layers: value 1 (gcn) does not reach the last value, 2", plim_model_new(other, 0, &out));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_model_new(NULL, 0, &out));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_model_new(other, 0, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_layers_new(5, NULL));
  CHECK(out == UNTOUCHED(plim_model));
  plim_layers_free(other);
}

static void parameters_fit_into_memory(void) {
  plim_layers *huge = NULL;
  plim_model *out = UNTOUCHED(plim_model);
  CHECK_OK(plim_layers_new(INT32_MAX, &huge));
  CHECK_OK(plim_layers_linear(huge, (size_t)1 << 29));
  CHECK_FAILS(PLIM_ERROR_OUT_OF_MEMORY, "parameters", plim_model_new(huge, 0, &out)); /* 2^62 bytes */
  CHECK_OK(plim_layers_linear(huge, INT32_MAX));
  CHECK_FAILS(INVALID, "more parameters than memory holds", plim_model_new(huge, 0, &out));
  CHECK(out == UNTOUCHED(plim_model));
  plim_layers_free(huge);
}

static void handles_must_not_be_null(void) {
  static const size_t widths[1] = {3};
  static plim_layers *const null = NULL;
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_linear(null, 3));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_gcn(null, 3));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_sage(null, 3, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_gin(null, widths, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_gat(null, 3, 2, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_aggregate(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_propagate(null, 1, 0.0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_activation(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_dropout(null, 0.5));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_norm(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_at(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_add(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_concat(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_max(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_set_bias(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_set_epsilon(null, 0.0, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_set_self_loops(null, 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_set_heads(null, 0));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "layers is NULL", plim_layers_set_attention_dropout(null, 0.5));
  CHECK(plim_layers_last(NULL) == 0 && plim_layers_width(NULL) == 0 && plim_layers_num_hops(NULL) == 0);
  plim_layers_free(NULL);
}

static void a_model_of_layers_has_tensors_and_values_but_no_widths(void) {
  static const int32_t nodes[2] = {3, 12};
  plim_graph *graph = sample_graph();
  plim_model *model = NULL;
  plim_estimator *unbiased = NULL;
  const char *name = "untouched";
  size_t sizes[4] = {77, 77, 77, 77};
  float rows[60];
  check_fill(rows, 60);
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_OK(plim_model_new(layers, 0, &model));
  CHECK_FAILS(PLIM_ERROR_UNSUPPORTED, "made of layers", plim_model_copy_widths(model, sizes, 4));
  CHECK_FAILS(PLIM_ERROR_UNSUPPORTED, "made of layers", plim_model_embed(model, graph, NULL, 0, 0, rows, 60));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "4 are needed", plim_model_copy_value_widths(model, sizes, 3));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "dst", plim_model_copy_value_widths(model, NULL, 4));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_copy_value_widths(NULL, sizes, 4));
  CHECK_FAILS(INVALID, "index = 4, but the model has 4 tensors",
              plim_model_tensor(model, 4, &name, &sizes[0], &sizes[1], &sizes[2]));
  CHECK_FAILS(INVALID, "index = 1844", plim_model_tensor(model, SIZE_MAX, &name, &sizes[0], &sizes[1], &sizes[2]));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_tensor(NULL, 0, &name, &sizes[0], &sizes[1], &sizes[2]));
  CHECK_FAILS(INVALID, "value = 4, but the model's largest value is 3",
              plim_model_embed_value(model, graph, NULL, 0, 4, rows, 60));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "60", plim_model_embed_value(model, graph, NULL, 0, 0, rows, 59));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "48", plim_model_embed_value(model, graph, NULL, 0, 3, rows, 47));
  CHECK_FAILS(INVALID, "nodes[1] = 12", plim_model_embed_value(model, graph, nodes, 2, 3, rows, 60));
  CHECK_FAILS(INVALID, "nodes[1] = 12", plim_model_embed_value(model, graph, nodes, 2, 0, rows, 60));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "nodes", plim_model_embed_value(model, graph, NULL, 2, 3, rows, 60));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "dst", plim_model_embed_value(model, graph, NULL, 0, 3, NULL, 60));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_model_embed_value(model, NULL, NULL, 0, 3, rows, 60));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_embed_value(NULL, graph, NULL, 0, 3, rows, 60));
  CHECK(check_filled(rows, 60) && strcmp(name, "untouched") == 0);
  CHECK(sizes[0] == 77 && sizes[1] == 77 && sizes[2] == 77 && sizes[3] == 77);
  CHECK(plim_model_num_tensors(NULL) == 0 && plim_model_num_values(NULL) == 0);
  CHECK(plim_estimator_property_of(NULL, model) == 0 && plim_estimator_property_of(unbiased, NULL) == 0);
  CHECK(plim_estimator_property_of(unbiased, model) == PLIM_PROPERTY_UNBIASED);
  plim_estimator_free(unbiased);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void a_batch_norm_needs_two_rows(void) {
  plim_graph *graph = sample_graph();
  plim_layers *normed = NULL;
  plim_model *model = NULL;
  plim_estimator *unbiased = NULL;
  float gradient[64];
  check_fill(gradient, 64);
  CHECK_OK(plim_layers_new(SAMPLE_FEATURES, &normed));
  CHECK_OK(plim_layers_linear(normed, SAMPLE_CLASSES));
  CHECK_OK(plim_layers_norm(normed, PLIM_NORM_BATCH));
  CHECK_OK(plim_model_new(normed, 0, &model));
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_STATUS(INVALID, plim_estimator_gradient(unbiased, model, graph, sample_train, 1, gradient, 64, NULL));
  CHECK(check_filled(gradient, 64));
  CHECK_OK(plim_estimator_gradient(unbiased, model, graph, sample_train, 2, gradient, 64, NULL));
  plim_estimator_free(unbiased);
  plim_model_free(model);
  plim_layers_free(normed);
  plim_graph_free(graph);
}

int main(void) {
  make_layers();
  RUN(widths_are_in_range);
  RUN(a_gin_has_linear_layers);
  RUN(heads_and_versions_are_in_range);
  RUN(constants_are_known);
  RUN(rates_and_restarts_are_in_range);
  RUN(a_value_is_one_made_before);
  RUN(two_wide_values_do_not_join);
  RUN(setters_speak_of_the_operation_just_appended);
  RUN(operations_and_hops_are_limited);
  RUN(every_value_reaches_the_last_one);
  RUN(parameters_fit_into_memory);
  RUN(handles_must_not_be_null);
  RUN(a_model_of_layers_has_tensors_and_values_but_no_widths);
  RUN(a_batch_norm_needs_two_rows);
  plim_layers_free(layers);
  return check_close();
}
