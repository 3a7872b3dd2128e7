/* Invalid arguments for measurements: the status, the message, and unchanged outputs. */
#include "handles.h"
#include "probing.h"

static probe p;
static plim_estimator *full = NULL, *unbiased = NULL;
static plim_tail *tail = NULL;

static const size_t sizes[3] = {4, 8, 16};
static const double deltas[2] = {0.3, 0.6};

/* Outputs of calls that must fail. */
static plim_probe_options *no_options = UNTOUCHED(plim_probe_options);
static plim_tail *made = UNTOUCHED(plim_tail);
static double numbers[6] = {NAN, NAN, NAN, NAN, NAN, NAN};

static int untouched(void) {
  int same = made == UNTOUCHED(plim_tail) && no_options == UNTOUCHED(plim_probe_options);
  for (size_t i = 0; i < 6; i++) {
    same &= isnan(numbers[i]) ? 1 : 0;
  }
  return same;
}

#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), CHECK(untouched()))

/* Checks that both measurements refuse these arguments. */
#define MEASURE_REFUSED(status, fragment, estimator, model, graph, sizes, num_sizes, deltas, num_deltas, options)      \
  (REFUSED(status, fragment,                                                                                           \
           plim_tail_probability(estimator, model, graph, sizes, num_sizes, deltas, num_deltas, options, numbers, 6)), \
   REFUSED(status, fragment,                                                                                           \
           plim_tail_new(estimator, model, graph, sizes, num_sizes, deltas, num_deltas, options, &made)))

static void options_must_be_in_their_ranges(void) {
  static const int32_t nodes[1] = {0};
  REFUSED(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_probe_options_new(NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "draws = 0", plim_probe_options_set_draws(p.options, 0));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "draws = 1", plim_probe_options_set_draws(p.options, 1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "draws", plim_probe_options_set_draws(p.options, SIZE_MAX));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "draws", plim_probe_options_set_draws(p.options, (size_t)INT32_MAX + 1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "empty", plim_probe_options_set_batch(p.options, nodes, 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "nodes", plim_probe_options_set_batch(p.options, NULL, 1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "nodes", plim_probe_options_set_batch(p.options, nodes, SIZE_MAX));
}

static void a_measurement_needs_all_but_options(void) {
  MEASURE_REFUSED(PLIM_ERROR_NULL_POINTER, "estimator", NULL, p.model, p.graph, sizes, 3, deltas, 2, p.options);
  MEASURE_REFUSED(PLIM_ERROR_NULL_POINTER, "model", p.estimator, NULL, p.graph, sizes, 3, deltas, 2, p.options);
  MEASURE_REFUSED(PLIM_ERROR_NULL_POINTER, "graph", p.estimator, p.model, NULL, sizes, 3, deltas, 2, p.options);
  MEASURE_REFUSED(PLIM_ERROR_NULL_POINTER, "sizes", p.estimator, p.model, p.graph, NULL, 3, deltas, 2, p.options);
  MEASURE_REFUSED(PLIM_ERROR_NULL_POINTER, "deltas", p.estimator, p.model, p.graph, sizes, 3, NULL, 2, p.options);
  REFUSED(PLIM_ERROR_NULL_POINTER, "out",
          plim_tail_probability(p.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options, NULL, 6));
  REFUSED(PLIM_ERROR_NULL_POINTER, "out",
          plim_tail_new(p.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options, NULL));
}

static void sizes_must_be_in_their_range(void) {
  size_t bad[3] = {4, 8, 0}, nodes = plim_graph_split_size(p.graph, PLIM_SPLIT_TRAIN);
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_sizes = 0", p.estimator, p.model, p.graph, NULL, 0, deltas, 2,
                  p.options);
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[2] = 0", p.estimator, p.model, p.graph, bad, 3, deltas, 2,
                  p.options);
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[2] = 0", full, p.model, p.graph, bad, 3, deltas, 2,
                  p.options);
  bad[2] = SIZE_MAX;
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[2]", p.estimator, p.model, p.graph, bad, 3, deltas, 2,
                  p.options);
  bad[2] = (size_t)INT32_MAX + 1;
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[2]", p.estimator, p.model, p.graph, bad, 3, deltas, 2,
                  p.options);
  bad[2] = nodes + 1; /* a repeated node */
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[2]", unbiased, p.model, p.graph, bad, 3, deltas, 2,
                  p.options);
  /* Impossible counts: detected by the size of the buffer or of the list. */
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "needed",
          plim_tail_probability(p.estimator, p.model, p.graph, sizes, SIZE_MAX, deltas, 2, p.options, numbers, 6));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes",
          plim_tail_new(p.estimator, p.model, p.graph, sizes, SIZE_MAX, deltas, 2, p.options, &made));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "deltas",
          plim_tail_new(p.estimator, p.model, p.graph, sizes, 3, deltas, SIZE_MAX, p.options, &made));
}

static void deltas_must_be_finite_and_positive(void) {
  static const double strangers[] = {NAN, 0.0, -0.0, -0.5, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    double bad[2] = {0.3, 0.0};
    bad[1] = strangers[i];
    MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "deltas[1]", p.estimator, p.model, p.graph, sizes, 3, bad, 2,
                    p.options);
  }
}

static void the_room_must_do(void) {
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "6 are needed",
          plim_tail_probability(p.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options, numbers, 5));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "6 are needed",
          plim_tail_probability(p.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options, numbers, 0));
  for (int32_t what = PLIM_TAIL_PROBABILITY; what <= PLIM_TAIL_UPPER; what++) {
    REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "6 are needed", plim_tail_copy(tail, what, numbers, 5));
    REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_tail_copy(tail, what, NULL, 6));
  }
  for (int32_t what = PLIM_TAIL_ERROR; what <= PLIM_TAIL_DEVIATION; what++) {
    REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "3 are needed", plim_tail_copy(tail, what, numbers, 2));
    REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_tail_copy(tail, what, NULL, 3));
  }
}

static void what_to_copy_has_a_number(void) {
  static const int32_t strangers[] = {-1, 6, 255, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "what = ", plim_tail_copy(tail, strangers[i], numbers, 6));
  }
}

static void a_batch_must_fit_the_graph(void) {
  static const struct {
    int32_t nodes[2];
    const char *fragment;
  } batches[5] = {{{3, 3}, "batch[1] = 3"},
                  {{3, -1}, "batch[1] = -1"},
                  {{3, 120}, "batch[1] = 120"},
                  {{3, INT32_MAX}, "batch[1]"},
                  {{3, 7}, "batch[1] = 7 has no label"}};
  int32_t labels[120];
  for (size_t i = 0; i < 5; i++) {
    probe own = probe_setup(2, 10);
    CHECK_OK(plim_probe_options_set_batch(own.options, batches[i].nodes, 2));
    if (i == 4) {
      CHECK_OK(plim_graph_copy_labels(own.graph, labels, 120));
      labels[7] = -1;
      CHECK_OK(plim_graph_set_labels(own.graph, labels));
    }
    MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, batches[i].fragment, own.estimator, own.model, own.graph, sizes, 3,
                    deltas, 2, own.options);
    MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, batches[i].fragment, unbiased, own.model, own.graph, sizes, 1, deltas,
                    2, own.options);
    MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "full", full, own.model, own.graph, sizes, 3, deltas, 2, own.options);
    probe_free(&own);
  }
}

static void batch_sizes_are_bounded_by_the_batch(void) {
  static const int32_t nodes[5] = {0, 1, 2, 50, 90};
  static const size_t six[1] = {6};
  probe own = probe_setup(2, 10);
  CHECK_OK(plim_probe_options_set_batch(own.options, nodes, 5));
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "[1, 5]", unbiased, own.model, own.graph, six, 1, deltas, 2,
                  own.options);
  probe_free(&own);
}

static void a_gradient_of_zero_has_no_relative_error(void) {
  probe own = probe_setup(2, 10);
  float zeros[PROBE_PARAMETERS] = {0.0f};
  CHECK_OK(plim_model_set_parameters(own.model, zeros, plim_model_num_parameters(own.model)));
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "gradient is 0", own.estimator, own.model, own.graph, sizes, 3, deltas,
                  2, own.options);
  MEASURE_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "gradient is 0", full, own.model, own.graph, sizes, 3, deltas, 2,
                  own.options);
  probe_free(&own);
}

static void a_gradient_that_is_not_finite_has_none_either(void) {
  probe own = probe_setup(2, 10);
  float huge[PROBE_PARAMETERS];
  for (size_t i = 0; i < PROBE_PARAMETERS; i++) {
    huge[i] = 3e38f;
  }
  CHECK_OK(plim_model_set_parameters(own.model, huge, plim_model_num_parameters(own.model)));
  MEASURE_REFUSED(PLIM_ERROR_DIVERGED, "", own.estimator, own.model, own.graph, sizes, 3, deltas, 2, own.options);
  probe_free(&own);
}

static void shapes_and_data_must_be_there(void) {
  static const size_t widths[3] = {5, 4, 3};
  static const int32_t ends[1] = {0};
  plim_model *wide = NULL;
  plim_graph *bare = NULL;
  probe one = probe_setup(1, 10);
  CHECK_OK(plim_model_gcn(widths, 3, 0, &wide));
  CHECK_OK(plim_graph_from_edges(4, 1, ends, ends, NULL, &bare));
  MEASURE_REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "", p.estimator, wide, p.graph, sizes, 3, deltas, 2, p.options);
  MEASURE_REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "layers", one.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options);
  MEASURE_REFUSED(PLIM_ERROR_MISSING_DATA, "features", p.estimator, p.model, bare, sizes, 3, deltas, 2, p.options);
  CHECK_OK(plim_graph_set_split(one.graph, PLIM_SPLIT_TRAIN, NULL, 0));
  MEASURE_REFUSED(PLIM_ERROR_MISSING_DATA, "train", one.estimator, one.model, one.graph, sizes, 3, deltas, 2,
                  one.options);
  plim_graph_free(bare);
  plim_model_free(wide);
  probe_free(&one);
}

static void a_fit_needs_three_points_in_range(void) {
  static const size_t points[4] = {10, 20, 30, 40}, same[3] = {10, 10, 10}, zero[3] = {10, 0, 30};
  static const double shares[4] = {0.5, 0.25, 0.009, 0.0}, good[3] = {0.5, 0.25, 0.125};
  static const double strangers[] = {NAN, -0.1, 1.1, INFINITY};
  double *c = &numbers[0], *tau = &numbers[1], *r = &numbers[2];
  REFUSED(PLIM_ERROR_MISSING_DATA, "needs 3", plim_tail_fit(points, shares, 4, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_MISSING_DATA, "needs 3", plim_tail_fit(points, good, 2, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_MISSING_DATA, "needs 3", plim_tail_fit(NULL, NULL, 0, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_MISSING_DATA, "needs 3", plim_tail_fit(points, good, 3, 0, c, tau, r));
  REFUSED(PLIM_ERROR_MISSING_DATA, "needs 3", plim_tail_fit(points, good, 3, 19, c, tau, r));
  REFUSED(PLIM_ERROR_MISSING_DATA, "the same sample size", plim_tail_fit(same, good, 3, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_NULL_POINTER, "sample_sizes", plim_tail_fit(NULL, good, 3, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_NULL_POINTER, "probabilities", plim_tail_fit(points, NULL, 3, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[1] = 0", plim_tail_fit(zero, good, 3, 1000, c, tau, r));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes", plim_tail_fit(points, good, SIZE_MAX, 1000, c, tau, r));
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    double bad[3] = {0.5, 0.25, 0.0};
    bad[2] = strangers[i];
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "probabilities[2]", plim_tail_fit(points, bad, 3, 1000, c, tau, r));
  }
}

/* One call per function, with `h` in place of the handle. */
static plim_status set_draws(void *h) { return plim_probe_options_set_draws((plim_probe_options *)h, 9); }
static plim_status set_seed(void *h) { return plim_probe_options_set_seed((plim_probe_options *)h, 9); }
static plim_status set_batch(void *h) { return plim_probe_options_set_batch((plim_probe_options *)h, NULL, 0); }
static plim_status set_progress(void *h) {
  return plim_probe_options_set_progress((plim_probe_options *)h, NULL, NULL);
}
static plim_status set_log(void *h) {
  return plim_probe_options_set_log((plim_probe_options *)h, PLIM_LOG_INFO, NULL, NULL);
}
static plim_status probability_estimator(void *h) {
  return plim_tail_probability((plim_estimator *)h, p.model, p.graph, sizes, 3, deltas, 2, p.options, numbers, 6);
}
static plim_status probability_model(void *h) {
  return plim_tail_probability(p.estimator, (plim_model *)h, p.graph, sizes, 3, deltas, 2, p.options, numbers, 6);
}
static plim_status probability_graph(void *h) {
  return plim_tail_probability(p.estimator, p.model, (plim_graph *)h, sizes, 3, deltas, 2, p.options, numbers, 6);
}
static plim_status new_estimator(void *h) {
  return plim_tail_new((plim_estimator *)h, p.model, p.graph, sizes, 3, deltas, 2, p.options, &made);
}
static plim_status new_model(void *h) {
  return plim_tail_new(p.estimator, (plim_model *)h, p.graph, sizes, 3, deltas, 2, p.options, &made);
}
static plim_status new_graph(void *h) {
  return plim_tail_new(p.estimator, p.model, (plim_graph *)h, sizes, 3, deltas, 2, p.options, &made);
}
static plim_status copy(void *h) { return plim_tail_copy((plim_tail *)h, PLIM_TAIL_ERROR, numbers, 6); }

FUNCTIONS(untouched, FUNCTION("options", set_draws), FUNCTION("options", set_seed), FUNCTION("options", set_batch),
          FUNCTION("options", set_progress), FUNCTION("options", set_log),
          FUNCTION("estimator", probability_estimator), FUNCTION("model", probability_model),
          FUNCTION("graph", probability_graph), FUNCTION("estimator", new_estimator), FUNCTION("model", new_model),
          FUNCTION("graph", new_graph), FUNCTION("tail", copy));

static void handles_must_be_live_and_of_their_type(void) {
  static const char *const arguments[] = {"options", "estimator", "model", "graph", "tail"};
  probe gone = probe_setup(2, 10);
  plim_tail *old = NULL;
  void *live[5], *freed[5];
  CHECK_OK(plim_tail_new(gone.estimator, gone.model, gone.graph, sizes, 1, deltas, 1, gone.options, &old));
  live[0] = p.options, live[1] = p.estimator, live[2] = p.model, live[3] = p.graph, live[4] = tail;
  freed[0] = gone.options, freed[1] = gone.estimator, freed[2] = gone.model, freed[3] = gone.graph, freed[4] = old;
  CHECK(plim_tail_norm(old) > 0.0);
  plim_tail_free(old);
  probe_free(&gone);
  for (size_t i = 0; i < 5; i++) {
    handles_bad(&functions, arguments, live, freed, 5, i);
    CHECK(plim_tail_norm((plim_tail *)freed[i]) == 0.0);
    CHECK(i == 4 || plim_tail_norm((plim_tail *)live[i]) == 0.0);
    plim_tail_free((plim_tail *)freed[i]); /* harmless */
    plim_probe_options_free((plim_probe_options *)freed[i]);
    if (i != 0) {
      plim_probe_options_free((plim_probe_options *)live[i]);
    }
    if (i != 4) {
      plim_tail_free((plim_tail *)live[i]);
    }
  }
  CHECK(plim_tail_norm(NULL) == 0.0 && plim_tail_norm(tail) > 0.0);
  plim_tail_free(NULL);
  plim_probe_options_free(NULL);
}

/* NULL options are valid, but a pointer that is not a handle is an error. */
static void options_that_are_no_options_are_refused(void) {
  static const uintptr_t strangers[] = {1, 8, 0xdeadbeef, UINTPTR_MAX};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    MEASURE_REFUSED(PLIM_ERROR_INVALID_HANDLE, "options", p.estimator, p.model, p.graph, sizes, 3, deltas, 2,
                    (plim_probe_options *)strangers[i]);
  }
  MEASURE_REFUSED(PLIM_ERROR_INVALID_HANDLE, "options", p.estimator, p.model, p.graph, sizes, 3, deltas, 2,
                  (plim_probe_options *)(void *)p.model);
}

/* The measurement is as before the refusals. */
static void nothing_was_harmed(void) {
  double before[6], after[6];
  CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_PROBABILITY, before, 6));
  CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options, after, 6));
  CHECK_BITS(before, after, 6);
}

int main(void) {
  p = probe_setup(2, 100);
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_OK(plim_tail_new(p.estimator, p.model, p.graph, sizes, 3, deltas, 2, p.options, &tail));
  RUN(options_must_be_in_their_ranges);
  RUN(a_measurement_needs_all_but_options);
  RUN(sizes_must_be_in_their_range);
  RUN(deltas_must_be_finite_and_positive);
  RUN(the_room_must_do);
  RUN(what_to_copy_has_a_number);
  RUN(a_batch_must_fit_the_graph);
  RUN(batch_sizes_are_bounded_by_the_batch);
  RUN(a_gradient_of_zero_has_no_relative_error);
  RUN(a_gradient_that_is_not_finite_has_none_either);
  RUN(shapes_and_data_must_be_there);
  RUN(a_fit_needs_three_points_in_range);
  RUN(handles_must_be_live_and_of_their_type);
  RUN(options_that_are_no_options_are_refused);
  RUN(nothing_was_harmed);
  plim_tail_free(tail);
  plim_estimator_free(unbiased);
  plim_estimator_free(full);
  probe_free(&p);
  return check_close();
}
