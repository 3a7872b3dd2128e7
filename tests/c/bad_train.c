/* Invalid arguments for training functions: the status, the message, no history, and a model, an estimator and an
 * optimizer that behave like twins with valid calls only. */
#define _POSIX_C_SOURCE 200809L

#include "handles.h"
#include "training.h"

/* The arguments of every call, except the invalid one, and their twin. */
static setup s, twin;

/* Outputs of calls that must fail. */
static plim_history *made = UNTOUCHED(plim_history);
static double numbers[4] = {NAN, NAN, NAN, NAN};

static int untouched(void) {
  return made == UNTOUCHED(plim_history) && isnan(numbers[0]) && isnan(numbers[1]) && isnan(numbers[2]) &&
         isnan(numbers[3]);
}

static void check_unharmed(int line) {
  outcome a = training_run(&s), b = training_run(&twin);
  if (!CHECK(a.status == PLIM_OK && training_same(&a, &b) && untouched())) {
    fprintf(stderr, "  the next training differs, or an output was written, at line %d\n", line);
    training_free(&s); /* report only the first failure */
    training_free(&twin);
    s = training_setup(CONSISTENT, ADAM, 2);
    twin = training_setup(CONSISTENT, ADAM, 2);
    made = UNTOUCHED(plim_history);
  }
}

/* Checks that the call fails with this status and message, writes nothing, and leaves training like the twin's. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), check_unharmed(__LINE__))

/* Checks that training with these arguments is refused. */
#define TRAIN_REFUSED(status, fragment, model, graph, estimator, optimizer, options) \
  REFUSED(status, fragment, plim_train(model, graph, estimator, optimizer, options, &made))

static void options_must_be_in_their_ranges(void) {
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_train_options_new(NULL));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "epochs = 0", plim_train_options_set_epochs(s.options, 0));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch_size = 0", plim_train_options_set_batch_size(s.options, 0));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "every = 0", plim_train_options_set_checkpoint(s.options, "run", 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "path", plim_train_options_set_checkpoint(s.options, NULL, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_train_options_set_checkpoint(s.options, "", 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_train_options_set_resume(s.options, ""));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "monitor = -1", plim_train_options_set_monitor(s.options, -1));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "monitor = 4", plim_train_options_set_monitor(s.options, 4));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "monitor = ", plim_train_options_set_monitor(s.options, INT32_MIN));
}

static void a_training_needs_all_but_options_and_a_place_for_its_history(void) {
  TRAIN_REFUSED(PLIM_ERROR_NULL_POINTER, "model", NULL, s.graph, s.estimator, s.optimizer, s.options);
  TRAIN_REFUSED(PLIM_ERROR_NULL_POINTER, "graph", s.model, NULL, s.estimator, s.optimizer, s.options);
  TRAIN_REFUSED(PLIM_ERROR_NULL_POINTER, "estimator", s.model, s.graph, NULL, s.optimizer, s.options);
  TRAIN_REFUSED(PLIM_ERROR_NULL_POINTER, "optimizer", s.model, s.graph, s.estimator, NULL, s.options);
}

static void shapes_must_fit(void) {
  static const size_t widths[4][4] = {{3, 8, 3, 0}, {2, 8, 2, 0}, {2, 3, 0, 0}, {2, 8, 8, 3}};
  static const size_t counts[4] = {3, 3, 2, 4};
  static const double weights[2] = {1.0, 1.0};
  for (size_t i = 0; i < 4; i++) { /* other features, too few classes, too few layers, too many */
    plim_model *other = NULL;
    float before[128], after[128];
    CHECK_OK(plim_model_gcn(widths[i], counts[i], 0, &other));
    CHECK_OK(plim_model_get_parameters(other, before, 128));
    TRAIN_REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "", other, s.graph, s.estimator, s.optimizer, s.options);
    CHECK_OK(plim_model_get_parameters(other, after, 128));
    CHECK_BITS(before, after, plim_model_num_parameters(other));
    plim_model_free(other);
  }
  CHECK_OK(plim_estimator_set_weights(s.estimator, weights, 2));
  CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "2", plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &made));
  CHECK_OK(plim_estimator_set_distribution(s.estimator, PLIM_DISTRIBUTION_UNIFORM));
  check_unharmed(__LINE__);
}

/* The optimizer has updated another number of parameters. The estimator must not count a gradient. */
static void an_optimizer_of_another_model_is_refused(void) {
  plim_optimizer *tied[2] = {NULL, NULL};
  plim_model *other = sample_model(2);
  float gradient[32] = {1.0f};
  CHECK_OK(plim_optimizer_sgd(0.1, &tied[0]));
  CHECK_OK(plim_optimizer_adam(0.1, &tied[1]));
  for (size_t i = 0; i < 2; i++) {
    CHECK_OK(plim_optimizer_update(tied[i], other, gradient, 32));
    TRAIN_REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "32", s.model, s.graph, s.estimator, tied[i], s.options);
    CHECK_OK(plim_optimizer_update(tied[i], other, gradient, 32)); /* it still works for its own model */
    plim_optimizer_free(tied[i]);
  }
  plim_model_free(other);
}

/* No float lies in this box, so no step is possible. */
static void a_box_that_no_parameter_fits_is_found_before_the_first_step(void) {
  CHECK_OK(plim_optimizer_set_box(s.optimizer, 0.1, 0.1));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "box",
              plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &made));
  CHECK_OK(plim_optimizer_set_ball(s.optimizer, INFINITY));
  check_unharmed(__LINE__);
}

/* The sample graph without its features, labels or a split, or with an unlabelled node (10) in one. */
static void a_training_needs_features_labels_and_nodes(void) {
  static const int32_t unlabelled[2] = {0, 10};
  static const size_t sizes[2] = {4, 4};
  for (size_t lacks = 0; lacks < 6; lacks++) {
    static const char *const words[6] = {"features", "label", "train", "label", "label", "val"};
    plim_graph *graph = NULL;
    plim_model *model = sample_model(2), *copy = sample_model(2);
    plim_estimator *estimators[2] = {NULL, NULL};
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    float features[SAMPLE_NODES * SAMPLE_FEATURES], before[32], after[32], next[2][32];
    CHECK_OK(plim_graph_from_edges(SAMPLE_NODES, SAMPLE_EDGES, sample_sources, sample_targets, NULL, &graph));
    sample_features(features, SAMPLE_NODES * SAMPLE_FEATURES);
    CHECK_OK(plim_train_options_new(&options));
    CHECK_OK(plim_train_options_set_epochs(options, 3));
    CHECK_OK(plim_train_options_set_batch_size(options, 2));
    if (lacks != 0) {
      CHECK_OK(plim_graph_set_features(graph, SAMPLE_FEATURES, features));
    }
    if (lacks != 1) {
      CHECK_OK(plim_graph_set_labels(graph, sample_labels));
    }
    if (lacks == 3) {
      CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, unlabelled, 2));
    } else if (lacks != 2) {
      CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, sample_train, SAMPLE_TRAIN));
    }
    if (lacks == 4) { /* without patience, but with evaluation */
      CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, unlabelled, 2));
    } else if (lacks == 5) {
      CHECK_OK(plim_train_options_set_patience(options, 3));
    } else {
      CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, sample_val, 3));
    }
    CHECK_OK(plim_optimizer_sgd(0.1, &optimizer));
    for (size_t i = 0; i < 2; i++) {
      CHECK_OK(plim_estimator_consistent(sizes, 2, &estimators[i]));
    }
    CHECK_OK(plim_model_get_parameters(model, before, 32));
    CHECK_FAILS(PLIM_ERROR_MISSING_DATA, words[lacks],
                plim_train(model, graph, estimators[0], optimizer, options, &made));
    CHECK_OK(plim_model_get_parameters(model, after, 32));
    CHECK_BITS(before, after, 32); /* detected before the first step */
    plim_graph_free(graph);
    graph = sample_graph();
    CHECK_OK(plim_estimator_gradient(estimators[0], copy, graph, NULL, 0, next[0], 32, NULL));
    CHECK_OK(plim_estimator_gradient(estimators[1], copy, graph, NULL, 0, next[1], 32, NULL));
    CHECK_BITS(next[0], next[1], 32);
    CHECK(untouched());
    plim_train_options_free(options);
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimators[1]);
    plim_estimator_free(estimators[0]);
    plim_model_free(copy);
    plim_model_free(model);
    plim_graph_free(graph);
  }
}

/* A training that waits for better validations needs evaluation, and validation nodes. */
static void check_evaluation_needed(const char *without_evaluation, const char *without_nodes) {
  size_t count = plim_graph_split_size(s.graph, PLIM_SPLIT_VAL);
  int32_t *val = (int32_t *)check_alloc(count, sizeof *val);
  CHECK_OK(plim_graph_copy_split(s.graph, PLIM_SPLIT_VAL, val, count));
  CHECK_OK(plim_train_options_set_evaluate_every(s.options, 0));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, without_evaluation,
              plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &made));
  CHECK_OK(plim_train_options_set_evaluate_every(s.options, 1));
  CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_VAL, NULL, 0));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, without_nodes,
              plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &made));
  CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_VAL, val, count));
  free(val);
}

static void patience_needs_evaluation_and_validation_nodes(void) {
  CHECK_OK(plim_train_options_set_patience(s.options, 2));
  check_evaluation_needed("patience", "the val split is empty, and patience = 2 waits for a better validation");
  CHECK_OK(plim_train_options_set_patience(s.options, 0));
  check_unharmed(__LINE__);
}

static void a_plateau_needs_evaluation_and_validation_nodes(void) {
  CHECK_OK(plim_optimizer_set_plateau(s.optimizer, 0.5, 2, 0.0));
  check_evaluation_needed("the plateau needs evaluation",
                          "the val split is empty, and the plateau waits for a better validation");
  CHECK_OK(plim_optimizer_set_plateau(s.optimizer, 1.0, 0, 0.0));
  check_unharmed(__LINE__);
}

static void an_evaluated_moving_average_must_be_there(void) {
  CHECK_OK(plim_train_options_set_ema(s.options, 1));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "no moving average",
              plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &made));
  CHECK_OK(plim_train_options_set_ema(s.options, 0));
  check_unharmed(__LINE__);
}

static void draws_beyond_the_graph_are_found_before_the_first_step(void) {
  static const int32_t draws[2] = {1, 1000000};
  CHECK_OK(plim_estimator_set_draws(s.estimator, 1, draws, 2));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "draws[1][1] = 1000000",
              plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &made));
  CHECK_OK(plim_estimator_set_draws(s.estimator, 1, NULL, 0));
  check_unharmed(__LINE__);
}

static void a_column_has_a_number_and_needs_room(void) {
  static const int32_t strangers[] = {-1, 8, 255, INT32_MAX, INT32_MIN};
  plim_history *history = NULL;
  CHECK_OK(plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &history));
  CHECK_OK(plim_train(twin.model, twin.graph, twin.estimator, twin.optimizer, twin.options, NULL));
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "column = ", plim_history_copy(history, strangers[i], numbers, 4));
  }
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "2", plim_history_copy(history, PLIM_HISTORY_TRAIN_LOSS, numbers, 1));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "2", plim_history_copy(history, PLIM_HISTORY_TRAIN_LOSS, numbers, 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_history_copy(history, PLIM_HISTORY_TRAIN_LOSS, NULL, 2));
  CHECK(plim_history_num_epochs(history) == 2);
  plim_history_free(history);
}

/* One call per function, with `h` in place of the handle. */
static plim_status set_epochs(void *h) { return plim_train_options_set_epochs((plim_train_options *)h, 9); }
static plim_status set_batch_size(void *h) { return plim_train_options_set_batch_size((plim_train_options *)h, 9); }
static plim_status set_seed(void *h) { return plim_train_options_set_seed((plim_train_options *)h, 9); }
static plim_status set_restore_best(void *h) { return plim_train_options_set_restore_best((plim_train_options *)h, 0); }
static plim_status set_patience(void *h) { return plim_train_options_set_patience((plim_train_options *)h, 1); }
static plim_status set_monitor(void *h) { return plim_train_options_set_monitor((plim_train_options *)h, 1); }
static plim_status set_evaluate_every(void *h) {
  return plim_train_options_set_evaluate_every((plim_train_options *)h, 2);
}
static plim_status set_checkpoint(void *h) {
  return plim_train_options_set_checkpoint((plim_train_options *)h, "never-written", 1);
}
static plim_status set_resume(void *h) { return plim_train_options_set_resume((plim_train_options *)h, "none"); }
static plim_status set_adaptive(void *h) {
  return plim_train_options_set_adaptive((plim_train_options *)h, 0.1, 1, 1, 9);
}
static plim_status set_ema(void *h) { return plim_train_options_set_ema((plim_train_options *)h, 1); }
static plim_status set_progress(void *h) {
  return plim_train_options_set_progress((plim_train_options *)h, NULL, NULL);
}
static plim_status set_log(void *h) {
  return plim_train_options_set_log((plim_train_options *)h, PLIM_LOG_INFO, NULL, NULL);
}
static plim_status train_model(void *h) {
  return plim_train((plim_model *)h, s.graph, s.estimator, s.optimizer, s.options, &made);
}
static plim_status train_graph(void *h) {
  return plim_train(s.model, (plim_graph *)h, s.estimator, s.optimizer, s.options, &made);
}
static plim_status train_estimator(void *h) {
  return plim_train(s.model, s.graph, (plim_estimator *)h, s.optimizer, s.options, &made);
}
static plim_status train_optimizer(void *h) {
  return plim_train(s.model, s.graph, s.estimator, (plim_optimizer *)h, s.options, &made);
}
static plim_status history_copy(void *h) { return plim_history_copy((plim_history *)h, 0, numbers, 4); }

FUNCTIONS(untouched, FUNCTION("options", set_epochs), FUNCTION("options", set_batch_size),
          FUNCTION("options", set_seed), FUNCTION("options", set_restore_best), FUNCTION("options", set_patience),
          FUNCTION("options", set_monitor), FUNCTION("options", set_evaluate_every),
          FUNCTION("options", set_checkpoint), FUNCTION("options", set_resume), FUNCTION("options", set_adaptive),
          FUNCTION("options", set_ema), FUNCTION("options", set_progress), FUNCTION("options", set_log),
          FUNCTION("model", train_model), FUNCTION("graph", train_graph), FUNCTION("estimator", train_estimator),
          FUNCTION("optimizer", train_optimizer), FUNCTION("history", history_copy));

/* NULL options are valid, but a pointer that is not a handle is an error. */
static void options_that_are_no_options_are_refused(void) {
  static const uintptr_t strangers[] = {1, 8, 0xdeadbeef, UINTPTR_MAX};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    TRAIN_REFUSED(PLIM_ERROR_INVALID_HANDLE, "options", s.model, s.graph, s.estimator, s.optimizer,
                  (plim_train_options *)strangers[i]);
  }
  TRAIN_REFUSED(PLIM_ERROR_INVALID_HANDLE, "options", s.model, s.graph, s.estimator, s.optimizer,
                (plim_train_options *)(void *)s.model);
}

static void handles_must_be_live_and_of_their_type(void) {
  static const char *const arguments[] = {"options", "model", "graph", "estimator", "optimizer", "history"};
  void *live[6], *freed[6];
  setup gone = training_setup(CONSISTENT, SGD, 2);
  plim_history *history = NULL, *old = NULL;
  CHECK_OK(plim_train(gone.model, gone.graph, gone.estimator, gone.optimizer, gone.options, &history));
  CHECK_OK(plim_train(gone.model, gone.graph, gone.estimator, gone.optimizer, gone.options, &old));
  live[0] = s.options, live[1] = s.model, live[2] = s.graph;
  live[3] = s.estimator, live[4] = s.optimizer, live[5] = history;
  freed[0] = gone.options, freed[1] = gone.model, freed[2] = gone.graph;
  freed[3] = gone.estimator, freed[4] = gone.optimizer, freed[5] = old;
  training_free(&gone);
  plim_history_free(old);
  for (size_t i = 0; i < 6; i++) {
    handles_bad(&functions, arguments, live, freed, 6, i);
    CHECK(i == 5 || plim_history_num_epochs((plim_history *)live[i]) == 0); /* a getter reports no error */
    CHECK(plim_history_num_epochs((plim_history *)freed[i]) == 0);
    CHECK(plim_history_best_epoch((plim_history *)freed[i]) == 0);
    plim_history_free((plim_history *)freed[i]); /* harmless */
    plim_train_options_free((plim_train_options *)freed[i]);
    if (i != 0) {
      plim_train_options_free((plim_train_options *)live[i]);
    }
    if (i != 5) {
      plim_history_free((plim_history *)live[i]);
    }
  }
  CHECK(plim_history_num_epochs(NULL) == 0 && plim_history_best_epoch(NULL) == 0);
  CHECK(plim_history_num_epochs(history) == 2);
  plim_history_free(NULL);
  plim_train_options_free(NULL);
  plim_history_free(history);
  check_unharmed(__LINE__);
}

int main(void) {
  s = training_setup(CONSISTENT, ADAM, 2);
  twin = training_setup(CONSISTENT, ADAM, 2);
  check_unharmed(__LINE__);
  RUN(options_must_be_in_their_ranges);
  RUN(a_training_needs_all_but_options_and_a_place_for_its_history);
  RUN(shapes_must_fit);
  RUN(an_optimizer_of_another_model_is_refused);
  RUN(a_box_that_no_parameter_fits_is_found_before_the_first_step);
  RUN(a_training_needs_features_labels_and_nodes);
  RUN(patience_needs_evaluation_and_validation_nodes);
  RUN(a_plateau_needs_evaluation_and_validation_nodes);
  RUN(an_evaluated_moving_average_must_be_there);
  RUN(draws_beyond_the_graph_are_found_before_the_first_step);
  RUN(a_column_has_a_number_and_needs_room);
  RUN(options_that_are_no_options_are_refused);
  RUN(handles_must_be_live_and_of_their_type);
  training_free(&twin);
  training_free(&s);
  return check_close();
}
