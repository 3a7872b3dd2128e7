/* Adaptive sample sizes: they stay within their bounds, keep the error below δ, and do not depend on the number of
 * threads or on an interruption. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "training.h"

enum { EPOCHS = 10, SMALLEST = 4, LARGEST = 20000, STEPS = 6 };

static const double DELTA = 1.0;

static setup adaptive_setup(rule moves, size_t epochs, size_t every) {
  setup s = training_setup(CONSISTENT, moves, epochs);
  CHECK_OK(plim_train_options_set_adaptive(s.options, DELTA, every, SMALLEST, LARGEST));
  return s;
}

static void sizes_stay_between_their_bounds_and_the_error_under_delta(void) {
  for (int moves = 0; moves < RULES; moves++) {
    setup s = adaptive_setup((rule)moves, EPOCHS, 1);
    outcome run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.num_epochs == EPOCHS);
    CHECK(run.columns[PLIM_HISTORY_SAMPLE_SIZE][0] != run.columns[PLIM_HISTORY_SAMPLE_SIZE][1]);
    for (size_t i = 0; i < run.num_epochs; i++) {
      double size = run.columns[PLIM_HISTORY_SAMPLE_SIZE][i], error = run.columns[PLIM_HISTORY_ERROR][i];
      CHECK(size >= SMALLEST && size <= LARGEST);
      CHECK(error >= 0.0); /* fails for NaN */
      CHECK(error <= DELTA || size >= (double)LARGEST / STEPS); /* at least one step used the largest size */
    }
    training_free(&s);
  }
}

/* One batch per epoch and a test before each, so the columns describe that single step. */
static void an_error_above_delta_is_met_by_the_largest_size(void) {
  static const double deltas[3] = {2.0, 0.5, 1e-3};
  static const size_t largest[3] = {400, 300, 50};
  double last = 0.0;
  for (size_t i = 0; i < 3; i++) {
    setup s = training_setup(CONSISTENT, SGD, EPOCHS);
    outcome run;
    CHECK_OK(plim_train_options_set_batch_size(s.options, 100000));
    CHECK_OK(plim_train_options_set_adaptive(s.options, deltas[i], 1, 2, largest[i]));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK);
    for (size_t e = 0; e < run.num_epochs; e++) {
      double size = run.columns[PLIM_HISTORY_SAMPLE_SIZE][e];
      CHECK(size == floor(size));
      CHECK(run.columns[PLIM_HISTORY_ERROR][e] <= deltas[i] || size == (double)largest[i]);
    }
    CHECK(i < 2 || run.columns[PLIM_HISTORY_SAMPLE_SIZE][0] == 50.0); /* δ cannot be reached */
    CHECK(i != 1 || run.columns[PLIM_HISTORY_SAMPLE_SIZE][0] > last);
    last = run.columns[PLIM_HISTORY_SAMPLE_SIZE][0];
    training_free(&s);
  }
}

/* The objective λ/2‖W‖² + loss of one layer has a minimum, at which the gradient is 0. */
static void sizes_grow_as_the_gradient_shrinks(void) {
  static const size_t widths[2] = {2, 3}, size[1] = {1};
  setup s = training_setup(CONSISTENT, SGD, 40);
  double first = 0.0, last = 0.0;
  outcome run;
  plim_model_free(s.model);
  plim_estimator_free(s.estimator);
  plim_optimizer_free(s.optimizer);
  CHECK_OK(plim_model_gcn(widths, 2, 5, &s.model));
  CHECK_OK(plim_model_set_regularization(s.model, 0.1));
  CHECK_OK(plim_estimator_consistent(size, 1, &s.estimator));
  CHECK_OK(plim_optimizer_sgd(1.0, &s.optimizer));
  CHECK_OK(plim_train_options_set_batch_size(s.options, 100000));
  CHECK_OK(plim_train_options_set_adaptive(s.options, 0.8, 1, 1, 3000));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK && run.num_epochs == 40);
  for (size_t i = 0; i < 5; i++) {
    first += run.columns[PLIM_HISTORY_SAMPLE_SIZE][i] / 5.0;
    last += run.columns[PLIM_HISTORY_SAMPLE_SIZE][39 - i] / 5.0;
  }
  if (!CHECK(last > 2.0 * first)) {
    fprintf(stderr, "  a mean of %g draws in the first epochs, of %g in the last\n", first, last);
  }
  training_free(&s);
}

static void the_seed_decides_and_threads_do_not(void) {
  static const size_t threads[3] = {1, 2, 5};
  setup first = adaptive_setup(ADAM, EPOCHS, 2), other;
  outcome expected = training_run(&first), run;
  for (size_t i = 0; i < 3; i++) {
    setup s = adaptive_setup(ADAM, EPOCHS, 2);
    CHECK_OK(plim_model_set_threads(s.model, threads[i]));
    run = training_run(&s);
    CHECK(training_same(&expected, &run));
    training_free(&s);
  }
  other = adaptive_setup(ADAM, EPOCHS, 2);
  CHECK_OK(plim_estimator_set_seed(other.estimator, 8));
  run = training_run(&other);
  CHECK(memcmp(expected.columns[PLIM_HISTORY_ERROR], run.columns[PLIM_HISTORY_ERROR], sizeof run.columns[0]) != 0);
  training_free(&other);
  training_free(&first);
}

/* With equal bounds the size cannot change. The tests must not affect the draws of the training itself. */
static void tests_take_nothing_from_the_training(void) {
  setup tested = training_setup(CONSISTENT, ADAM, 4), plain = training_setup(CONSISTENT, ADAM, 4);
  outcome a, b;
  CHECK_OK(plim_train_options_set_adaptive(tested.options, DELTA, 1, 100, 100)); /* the estimator's own size */
  a = training_run(&tested);
  b = training_run(&plain);
  CHECK(training_same_parameters(&a, &b));
  for (size_t i = 0; i < 4; i++) {
    CHECK(a.columns[PLIM_HISTORY_SAMPLE_SIZE][i] == 100.0 && isnan(b.columns[PLIM_HISTORY_SAMPLE_SIZE][i]));
    CHECK(a.columns[PLIM_HISTORY_ERROR][i] > 0.0 && isnan(b.columns[PLIM_HISTORY_ERROR][i]));
  }
  training_free(&plain);
  training_free(&tested);
}

static void a_delta_of_zero_turns_it_off(void) {
  setup s = adaptive_setup(SGD, 3, 1), plain = training_setup(CONSISTENT, SGD, 3);
  outcome a, b;
  CHECK_OK(plim_train_options_set_adaptive(s.options, 0.0, 0, 0, 0));
  a = training_run(&s);
  b = training_run(&plain);
  CHECK(training_same(&a, &b) && isnan(a.columns[PLIM_HISTORY_ERROR][0]));
  training_free(&plain);
  training_free(&s);
}

/* The optimizer makes 6 updates per epoch, and 100 between two tests. */
static void a_run_begins_with_a_test_whatever_went_before(void) {
  setup s = adaptive_setup(SGD, 1, 100);
  for (size_t i = 0; i < 2; i++) {
    outcome run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.columns[PLIM_HISTORY_ERROR][0] >= 0.0);
  }
  training_free(&s);
}

static int32_t stop_after(void *user_data, const plim_progress *progress) {
  return progress->epoch >= *(const size_t *)user_data;
}

static void a_cancelled_run_goes_on_and_ends_in_the_same_bits(void) {
  static const size_t everies[3] = {1, 3, 100}, saved[3] = {1, 2, 3};
  for (size_t i = 0; i < 3; i++) {
    setup whole = adaptive_setup(ADAM, EPOCHS, everies[i]), s = adaptive_setup(ADAM, EPOCHS, everies[i]);
    setup fresh = adaptive_setup(ADAM, EPOCHS, everies[i]);
    outcome expected = training_run(&whole), run;
    size_t stop = 5;
    CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), saved[i]));
    CHECK_OK(plim_train_options_set_progress(s.options, stop_after, &stop));
    run = training_run(&s);
    CHECK(run.status == PLIM_ERROR_CANCELLED && run.num_epochs == stop);
    CHECK_OK(plim_train_options_set_resume(fresh.options, files_path("run"))); /* new handles, as in another process */
    run = training_run(&fresh);
    CHECK(training_same(&expected, &run));
    CHECK_OK(plim_train_options_set_resume(s.options, files_path("run"))); /* the same handles */
    CHECK_OK(plim_train_options_set_progress(s.options, NULL, NULL));
    run = training_run(&s);
    if (!CHECK(training_same(&expected, &run))) {
      fprintf(stderr, "  status %d: %s\n", (int)run.status, run.message);
    }
    training_free(&fresh);
    training_free(&s);
    training_free(&whole);
  }
  files_remove("run");
}

static void a_checkpoint_of_other_settings_is_refused(void) {
  setup s = adaptive_setup(SGD, 2, 3);
  outcome run;
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK);
  for (size_t i = 0; i < 5; i++) {
    setup other = training_setup(CONSISTENT, SGD, 4), twin = training_setup(CONSISTENT, SGD, 4);
    float before[MOST_PARAMETERS], after[MOST_PARAMETERS];
    size_t count = plim_model_num_parameters(other.model);
    if (i > 0) { /* not adaptive, or one number differs */
      CHECK_OK(plim_train_options_set_adaptive(other.options, i == 1 ? 0.6 : DELTA, i == 2 ? 4 : 3,
                                               i == 3 ? SMALLEST + 1 : SMALLEST, i == 4 ? 50 : LARGEST));
    }
    CHECK_OK(plim_train_options_set_resume(other.options, files_path("run")));
    run = training_run(&other);
    CHECK(run.status == PLIM_ERROR_SHAPE_MISMATCH && strstr(run.message, "adaptive") != NULL);
    /* Nothing has changed, including the estimator's sizes (100, above the last `largest`). */
    CHECK_OK(plim_estimator_gradient(other.estimator, other.model, other.graph, NULL, 0, after, MOST_PARAMETERS, NULL));
    CHECK_OK(plim_estimator_gradient(twin.estimator, twin.model, twin.graph, NULL, 0, before, MOST_PARAMETERS, NULL));
    CHECK_BITS(before, after, count);
    training_free(&twin);
    training_free(&other);
  }
  training_free(&s);
  files_remove("run");
}

static void an_estimator_that_draws_nothing_is_unsupported(void) {
  static const size_t exact[2] = {0, 0};
  static const int32_t draws[3] = {1, 2, 3};
  for (int how = 0; how < 4; how++) {
    setup s = training_setup(how < 2 ? (estimation)how : CONSISTENT, SGD, 2);
    float before[MOST_PARAMETERS], after[MOST_PARAMETERS];
    outcome run;
    if (how == 2) {
      plim_estimator_free(s.estimator);
      CHECK_OK(plim_estimator_consistent(exact, 2, &s.estimator));
    } else if (how == 3) { /* all its draws are set by the caller */
      CHECK_OK(plim_estimator_set_draws(s.estimator, 0, draws, 3));
      CHECK_OK(plim_estimator_set_draws(s.estimator, 1, draws, 3));
    }
    CHECK_OK(plim_model_get_parameters(s.model, before, MOST_PARAMETERS));
    CHECK_OK(plim_train_options_set_adaptive(s.options, DELTA, 1, 1, 10));
    run = training_run(&s);
    CHECK(run.status == PLIM_ERROR_UNSUPPORTED && strstr(run.message, "draws") != NULL);
    CHECK_OK(plim_model_get_parameters(s.model, after, MOST_PARAMETERS));
    CHECK_BITS(before, after, plim_model_num_parameters(s.model));
    training_free(&s);
  }
}

static void settings_must_be_in_their_ranges(void) {
  setup s = adaptive_setup(SGD, 2, 1), twin = adaptive_setup(SGD, 2, 1);
  plim_train_options *o = s.options;
  outcome a, b;
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "options", plim_train_options_set_adaptive(NULL, 0.1, 1, 1, 10));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "delta", plim_train_options_set_adaptive(o, NAN, 1, 1, 10));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "delta = -1", plim_train_options_set_adaptive(o, -1.0, 1, 1, 10));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "delta", plim_train_options_set_adaptive(o, INFINITY, 1, 1, 10));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "every = 0", plim_train_options_set_adaptive(o, 0.1, 0, 1, 10));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "smallest = 0", plim_train_options_set_adaptive(o, 0.1, 1, 0, 10));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "largest = 9", plim_train_options_set_adaptive(o, 0.1, 1, 10, 9));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "largest", plim_train_options_set_adaptive(o, 0.1, 1, 10, SIZE_MAX));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "smallest",
              plim_train_options_set_adaptive(o, 0.1, 1, SIZE_MAX, SIZE_MAX));
  a = training_run(&s); /* the result is as before the refusals */
  b = training_run(&twin);
  CHECK(training_same(&a, &b) && a.columns[PLIM_HISTORY_ERROR][0] > 0.0);
  training_free(&twin);
  training_free(&s);
}

/* The test uses few replicates. The true error of the size that it chooses is measured with plim_tail_new(), before
   the step. */
static void the_true_error_of_the_chosen_sizes_is_under_delta(void) {
  const size_t widths[] = {2, 3}, start[] = {50};
  const double delta = 0.4;
  setup s = {NULL, NULL, NULL, NULL, NULL};
  plim_probe_options *probe = NULL;
  size_t above = 0, first = 0;
  double mean = 0.0;
  CHECK_OK(plim_graph_from_mixture(300, 1, &s.graph));
  CHECK_OK(plim_model_gcn(widths, 2, 1, &s.model));
  CHECK_OK(plim_model_set_regularization(s.model, 0.1));
  CHECK_OK(plim_estimator_consistent(start, 1, &s.estimator));
  CHECK_OK(plim_optimizer_sgd(0.5, &s.optimizer));
  CHECK_OK(plim_train_options_new(&s.options));
  CHECK_OK(plim_train_options_set_epochs(s.options, 1));
  CHECK_OK(plim_train_options_set_batch_size(s.options, 100000));
  CHECK_OK(plim_train_options_set_evaluate_every(s.options, 0));
  CHECK_OK(plim_train_options_set_adaptive(s.options, delta, 1, 10, 100000));
  CHECK_OK(plim_probe_options_new(&probe));
  CHECK_OK(plim_probe_options_set_draws(probe, 60));
  for (int step = 0; step < 20; step++) {
    plim_model *before = NULL;
    plim_history *history = NULL;
    plim_tail *tail = NULL;
    double drawn = 0.0, error = 0.0;
    CHECK_OK(plim_model_clone(s.model, &before));
    CHECK_OK(plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &history));
    CHECK_OK(plim_history_copy(history, PLIM_HISTORY_SAMPLE_SIZE, &drawn, 1));
    size_t size = (size_t)drawn;
    CHECK_OK(plim_tail_new(s.estimator, before, s.graph, &size, 1, NULL, 0, probe, &tail));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_ERROR, &error, 1));
    first = step == 0 ? size : first;
    above += error > delta;
    mean += error / 20;
    CHECK(step < 19 || size > 2 * first); /* the gradient shrank, and the size grew with it */
    plim_tail_free(tail);
    plim_history_free(history);
    plim_model_free(before);
  }
  CHECK(mean < delta && mean > delta / 4); /* below δ, without drawing everything */
  CHECK(above <= 4);
  plim_probe_options_free(probe);
  training_free(&s);
}

int main(void) {
  RUN(the_true_error_of_the_chosen_sizes_is_under_delta);
  RUN(sizes_stay_between_their_bounds_and_the_error_under_delta);
  RUN(an_error_above_delta_is_met_by_the_largest_size);
  RUN(sizes_grow_as_the_gradient_shrinks);
  RUN(the_seed_decides_and_threads_do_not);
  RUN(tests_take_nothing_from_the_training);
  RUN(a_delta_of_zero_turns_it_off);
  RUN(a_run_begins_with_a_test_whatever_went_before);
  RUN(a_cancelled_run_goes_on_and_ends_in_the_same_bits);
  RUN(a_checkpoint_of_other_settings_is_refused);
  RUN(an_estimator_that_draws_nothing_is_unsupported);
  RUN(settings_must_be_in_their_ranges);
  files_close();
  return check_close();
}
