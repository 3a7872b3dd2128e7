/* Training: epochs and batches, history, the best epoch, patience, divergence, and continuing. */
#define _POSIX_C_SOURCE 200809L

#include "training.h"

/* The first of the largest of the numbers that are not NaN, from 1; 0 if there is none. */
static size_t first_best(const double *values, size_t count) {
  size_t best = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isnan(values[i]) && (best == 0 || values[i] > values[best - 1])) {
      best = i + 1;
    }
  }
  return best;
}

static void the_history_tells_of_each_epoch_what_an_evaluation_says(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (size_t epochs = 1; epochs <= 4; epochs++) { /* the last epoch of runs of different length */
      setup s = training_setup((estimation)how, SGD, epochs);
      outcome run;
      double loss = NAN, val_loss = NAN, val_accuracy = NAN;
      CHECK_OK(plim_train_options_set_restore_best(s.options, 0));
      run = training_run(&s);
      CHECK(run.status == PLIM_OK && run.num_epochs == epochs);
      CHECK_OK(plim_model_evaluate(s.model, s.graph, PLIM_SPLIT_TRAIN, &loss, NULL));
      CHECK_OK(plim_model_evaluate(s.model, s.graph, PLIM_SPLIT_VAL, &val_loss, &val_accuracy));
      CHECK_NEAR(loss, run.columns[PLIM_HISTORY_TRAIN_LOSS][epochs - 1], 1e-12);
      CHECK_NEAR(val_loss, run.columns[PLIM_HISTORY_VAL_LOSS][epochs - 1], 1e-12);
      CHECK(val_accuracy == run.columns[PLIM_HISTORY_VAL_ACCURACY][epochs - 1]);
      for (size_t e = 0; e < epochs; e++) {
        CHECK(run.columns[PLIM_HISTORY_SECONDS][e] >= 0.0 && run.columns[PLIM_HISTORY_SECONDS][e] < 60.0);
        CHECK(isfinite(run.columns[PLIM_HISTORY_BATCH_LOSS][e]));
      }
      CHECK(run.best_epoch == first_best(run.columns[PLIM_HISTORY_VAL_ACCURACY], epochs));
      training_free(&s);
    }
  }
}

static void training_learns(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (int moves = 0; moves < RULES; moves++) {
      setup s = training_setup((estimation)how, (rule)moves, 60);
      double before = NAN, after = NAN, accuracy = NAN;
      outcome run;
      CHECK_OK(plim_model_evaluate(s.model, s.graph, PLIM_SPLIT_TEST, &before, NULL));
      run = training_run(&s);
      CHECK(run.status == PLIM_OK);
      CHECK_OK(plim_model_evaluate(s.model, s.graph, PLIM_SPLIT_TEST, &after, &accuracy));
      CHECK(after < before && accuracy > 0.5); /* random guesses reach a third */
      training_free(&s);
    }
  }
}

static void without_validation_nodes_their_columns_are_nan(void) {
  for (int32_t restore = 0; restore < 2; restore++) { /* there is no best epoch to restore */
    setup s = training_setup(UNBIASED, SGD, 4), plain = training_setup(UNBIASED, SGD, 4);
    outcome run, expected;
    CHECK_OK(plim_train_options_set_restore_best(s.options, restore));
    CHECK_OK(plim_train_options_set_restore_best(plain.options, 0));
    CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_VAL, NULL, 0));
    run = training_run(&s);
    expected = training_run(&plain);
    CHECK(run.status == PLIM_OK && run.num_epochs == 4 && run.best_epoch == 0);
    for (size_t e = 0; e < 4; e++) {
      CHECK(isnan(run.columns[PLIM_HISTORY_VAL_LOSS][e]) && isnan(run.columns[PLIM_HISTORY_VAL_ACCURACY][e]));
      CHECK(run.columns[PLIM_HISTORY_TRAIN_LOSS][e] == expected.columns[PLIM_HISTORY_TRAIN_LOSS][e]);
    }
    CHECK(training_same_parameters(&expected, &run));
    training_free(&plain);
    training_free(&s);
  }
}

static void epochs_that_are_not_evaluated_are_nan(void) {
  static const size_t everies[] = {0, 2, 3, 10, 11, SIZE_MAX};
  setup always = training_setup(CONSISTENT, ADAM, 10);
  outcome expected;
  CHECK_OK(plim_train_options_set_restore_best(always.options, 0));
  expected = training_run(&always);
  for (size_t i = 0; i < sizeof everies / sizeof everies[0]; i++) {
    setup s = training_setup(CONSISTENT, ADAM, 10);
    outcome run;
    CHECK_OK(plim_train_options_set_restore_best(s.options, 0));
    CHECK_OK(plim_train_options_set_evaluate_every(s.options, everies[i]));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.num_epochs == 10);
    for (size_t e = 1; e <= 10; e++) {
      int evaluated = everies[i] != 0 && (e % everies[i] == 0 || e == 10); /* the last epoch always */
      for (int32_t column = PLIM_HISTORY_TRAIN_LOSS; column <= PLIM_HISTORY_VAL_ACCURACY; column++) {
        double got = run.columns[column][e - 1];
        CHECK(evaluated ? got == expected.columns[column][e - 1] : isnan(got));
      }
      CHECK(run.columns[PLIM_HISTORY_BATCH_LOSS][e - 1] == expected.columns[PLIM_HISTORY_BATCH_LOSS][e - 1]);
    }
    CHECK(run.best_epoch == first_best(run.columns[PLIM_HISTORY_VAL_ACCURACY], 10));
    CHECK(training_same_parameters(&expected, &run)); /* evaluation does not affect the result */
    training_free(&s);
  }
  training_free(&always);
}

static void the_best_epoch_is_restored_bit_for_bit(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (int moves = 0; moves < RULES; moves++) {
      setup s = training_setup((estimation)how, (rule)moves, 40);
      setup again = training_setup((estimation)how, (rule)moves, 40);
      outcome best, last;
      best = training_run(&s); /* restoring is the default */
      CHECK(best.status == PLIM_OK && best.num_epochs == 40);
      CHECK(best.best_epoch == first_best(best.columns[PLIM_HISTORY_VAL_ACCURACY], 40));
      CHECK_OK(plim_train_options_set_epochs(again.options, best.best_epoch));
      CHECK_OK(plim_train_options_set_restore_best(again.options, 0));
      last = training_run(&again);
      CHECK(last.num_epochs == best.best_epoch);
      CHECK_BITS(last.parameters, best.parameters, best.num_parameters);
      training_free(&again);
      training_free(&s);
    }
  }
}

static void patience_ends_training_when_no_epoch_improves(void) {
  static const size_t patiences[] = {1, 2, 5, 9, 60};
  for (int moves = 0; moves < RULES; moves++) {
    setup free_run = training_setup(UNBIASED, (rule)moves, 60);
    outcome all;
    CHECK_OK(plim_train_options_set_restore_best(free_run.options, 0));
    all = training_run(&free_run);
    for (size_t i = 0; i < sizeof patiences / sizeof patiences[0]; i++) {
      setup s = training_setup(UNBIASED, (rule)moves, 60);
      outcome run;
      size_t expected = 60;
      for (size_t e = 60; e >= 1; e--) { /* the first epoch that is `patience` epochs after the best one */
        if (e - first_best(all.columns[PLIM_HISTORY_VAL_ACCURACY], e) >= patiences[i]) {
          expected = e;
        }
      }
      CHECK_OK(plim_train_options_set_patience(s.options, patiences[i]));
      CHECK_OK(plim_train_options_set_restore_best(s.options, 0));
      run = training_run(&s);
      CHECK(run.status == PLIM_OK);
      CHECK(run.num_epochs == expected);
      CHECK(run.best_epoch == first_best(all.columns[PLIM_HISTORY_VAL_ACCURACY], expected));
      for (int32_t column = 0; column < COLUMNS; column++) {
        CHECK(column == PLIM_HISTORY_SECONDS ||
              memcmp(all.columns[column], run.columns[column], expected * sizeof(double)) == 0);
      }
      training_free(&s);
    }
    training_free(&free_run);
  }
}

/* Epochs without evaluation do not count: training stops at an evaluation, and never before the first. */
static void patience_waits_for_evaluations(void) {
  static const size_t everies[] = {2, 3, 5};
  for (size_t i = 0; i < sizeof everies / sizeof everies[0]; i++) {
    setup s = training_setup(UNBIASED, SGD, 60);
    outcome run;
    CHECK_OK(plim_train_options_set_patience(s.options, 1));
    CHECK_OK(plim_train_options_set_evaluate_every(s.options, everies[i]));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.best_epoch > 0);
    CHECK(run.num_epochs > run.best_epoch || run.num_epochs == 60);
    CHECK(run.num_epochs > 0 && !isnan(run.columns[PLIM_HISTORY_VAL_ACCURACY][run.num_epochs - 1]));
    training_free(&s);
  }
}

/* With the full estimator nothing is random: the same as a loop in the test. */
static void the_full_estimator_makes_one_step_per_epoch(void) {
  for (int moves = 0; moves < RULES; moves++) {
    setup s = training_setup(FULL, (rule)moves, 12), own = training_setup(FULL, (rule)moves, 12);
    outcome run, expected;
    CHECK_OK(plim_train_options_set_restore_best(s.options, 0));
    CHECK_OK(plim_model_set_regularization(s.model, 0.01));
    CHECK_OK(plim_model_set_regularization(own.model, 0.01));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.num_epochs == 12);
    for (size_t e = 0; e < 12; e++) {
      float gradient[MOST_PARAMETERS];
      double loss = NAN;
      CHECK_OK(plim_estimator_gradient(own.estimator, own.model, own.graph, NULL, 0, gradient, MOST_PARAMETERS, &loss));
      CHECK(loss == run.columns[PLIM_HISTORY_BATCH_LOSS][e]); /* with λ, before the step */
      CHECK_OK(plim_optimizer_update(own.optimizer, own.model, gradient, run.num_parameters));
      CHECK_OK(plim_model_evaluate(own.model, own.graph, PLIM_SPLIT_TRAIN, &loss, NULL));
      CHECK_NEAR(loss, run.columns[PLIM_HISTORY_TRAIN_LOSS][e], 1e-12); /* without λ, after the step */
    }
    memset(&expected, 0, sizeof expected);
    training_read(&own, &expected);
    CHECK(training_same_parameters(&expected, &run));
    training_free(&own);
    training_free(&s);
  }
}

/* Loss of each training node of the sample graph, at the model's parameters. */
static void losses_of_nodes(const plim_model *model, const plim_graph *graph, double *losses) {
  plim_estimator *unbiased = NULL;
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  for (size_t i = 0; i < SAMPLE_TRAIN; i++) {
    float gradient[MOST_PARAMETERS];
    CHECK_OK(plim_estimator_gradient(unbiased, model, graph, &sample_train[i], 1, gradient, MOST_PARAMETERS,
                                     &losses[i]));
  }
  plim_estimator_free(unbiased);
}

/* 5 nodes in batches of 2, 2 and 1. With a tiny step the mean over the 3 batches depends only on which node is alone,
 * ((S - l)/2 + l) / 3. Over many epochs each node is alone about equally often. */
static void the_last_short_batch_is_kept(void) {
  enum { EPOCHS = 100 };
  size_t alone[SAMPLE_TRAIN] = {0}, unknown = 0;
  double losses[SAMPLE_TRAIN], sum = 0.0, batch_losses[EPOCHS];
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2);
  plim_estimator *unbiased = NULL;
  plim_optimizer *optimizer = NULL;
  plim_train_options *options = NULL;
  plim_history *history = NULL;
  float ones[32], zeros[32] = {0.0f}, got[32];
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_OK(plim_optimizer_sgd(1e-30, &optimizer));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_batch_size(options, 2));
  CHECK_OK(plim_train_options_set_epochs(options, EPOCHS));
  CHECK_OK(plim_train_options_set_restore_best(options, 0));
  losses_of_nodes(model, graph, losses);
  CHECK_OK(plim_train(model, graph, unbiased, optimizer, options, &history));
  CHECK_OK(plim_history_copy(history, PLIM_HISTORY_BATCH_LOSS, batch_losses, EPOCHS));
  for (size_t i = 0; i < SAMPLE_TRAIN; i++) {
    sum += losses[i];
  }
  for (size_t e = 0; e < EPOCHS; e++) {
    size_t found = SAMPLE_TRAIN;
    for (size_t i = 0; i < SAMPLE_TRAIN; i++) {
      if (fabs(((sum - losses[i]) / 2.0 + losses[i]) / 3.0 - batch_losses[e]) < 1e-6) {
        found = i;
      }
    }
    if (found < SAMPLE_TRAIN) {
      alone[found]++;
    } else {
      unknown++;
    }
  }
  CHECK(unknown == 0);
  for (size_t i = 0; i < SAMPLE_TRAIN; i++) { /* 20 are expected; 4 standard deviations are 16 */
    CHECK(alone[i] >= 4 && alone[i] <= 36);
  }
  for (size_t i = 0; i < 32; i++) { /* 3 updates per epoch: the next one is number 301 */
    ones[i] = 1.0f;
  }
  CHECK_OK(plim_model_set_parameters(model, zeros, 32));
  CHECK_OK(plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_INVERSE));
  CHECK_OK(plim_optimizer_update(optimizer, model, ones, 32));
  CHECK_OK(plim_model_get_parameters(model, got, 32));
  CHECK_NEAR(-1e-30 / (3 * EPOCHS + 1), (double)got[0], 1e-38);
  plim_history_free(history);
  plim_train_options_free(options);
  plim_optimizer_free(optimizer);
  plim_estimator_free(unbiased);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void a_batch_larger_than_the_split_is_the_split(void) {
  static const size_t batches[] = {1, 7, 100000, SIZE_MAX};
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
    setup s = training_setup(UNBIASED, SGD, 2);
    outcome run;
    CHECK_OK(plim_train_options_set_batch_size(s.options, batches[i]));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.num_epochs == 2);
    training_free(&s);
  }
}

static void lambda_enters_the_batch_loss_alone(void) {
  setup s = training_setup(FULL, SGD, 1);
  outcome before, run;
  double loss = NAN, squares = 0.0;
  CHECK_OK(plim_model_set_regularization(s.model, 3.0));
  memset(&before, 0, sizeof before);
  training_read(&s, &before);
  CHECK_OK(plim_model_evaluate(s.model, s.graph, PLIM_SPLIT_TRAIN, &loss, NULL));
  run = training_run(&s);
  for (size_t i = 0; i < before.num_parameters; i++) {
    squares += (double)before.parameters[i] * (double)before.parameters[i];
  }
  CHECK_NEAR(loss + 1.5 * squares, run.columns[PLIM_HISTORY_BATCH_LOSS][0], 1e-5);
  CHECK_OK(plim_model_evaluate(s.model, s.graph, PLIM_SPLIT_TRAIN, &loss, NULL));
  CHECK_NEAR(loss, run.columns[PLIM_HISTORY_TRAIN_LOSS][0], 1e-12);
  training_free(&s);
}

/* Two runs of 5 epochs equal one of 10: k, moments, averages, draws and shuffles continue. */
static void a_second_run_goes_on_where_the_first_one_ended(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (int moves = 0; moves < RULES; moves++) {
      setup once = training_setup((estimation)how, (rule)moves, 10);
      setup twice = training_setup((estimation)how, (rule)moves, 5);
      outcome whole, first, second;
      CHECK_OK(plim_train_options_set_restore_best(once.options, 0));
      CHECK_OK(plim_train_options_set_restore_best(twice.options, 0));
      whole = training_run(&once);
      first = training_run(&twice);
      second = training_run(&twice);
      CHECK(first.num_epochs == 5 && second.num_epochs == 5); /* each history covers its own run */
      CHECK(training_same_parameters(&whole, &second));
      for (int32_t column = 0; column < COLUMNS; column++) {
        if (column != PLIM_HISTORY_SECONDS) {
          CHECK_BITS(whole.columns[column], first.columns[column], 5);
          CHECK_BITS(whole.columns[column] + 5, second.columns[column], 5);
        }
      }
      training_free(&twice);
      training_free(&once);
    }
  }
}

static void the_same_seeds_give_the_same_bits_and_others_do_not(void) {
  for (int how = UNBIASED; how < ESTIMATIONS; how++) {
    setup a = training_setup((estimation)how, ADAM, 5), b = training_setup((estimation)how, ADAM, 5);
    setup c = training_setup((estimation)how, ADAM, 5), d = training_setup((estimation)how, ADAM, 5);
    outcome one = training_run(&a), two = training_run(&b), shuffled, drawn;
    CHECK(training_same(&one, &two));
    CHECK_OK(plim_train_options_set_seed(c.options, 12));
    shuffled = training_run(&c);
    CHECK(!training_same_parameters(&one, &shuffled));
    CHECK_OK(plim_estimator_set_seed(d.estimator, 8)); /* the unbiased estimator draws nothing */
    drawn = training_run(&d);
    CHECK(training_same(&one, &drawn) == (how == UNBIASED));
    training_free(&d);
    training_free(&c);
    training_free(&b);
    training_free(&a);
  }
}

static void any_number_of_threads_gives_the_same_bits(void) {
  enum { WIDTH = 128, COUNT = 2 * WIDTH + WIDTH * 3 }; /* wide enough for threads to share the work */
  static const size_t widths[3] = {2, WIDTH, 3}, sizes[2] = {0, 300}, threads[4] = {1, 2, 5, 0};
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_mixture(check_scale(1000, 300), 3, &graph));
  for (int how = 0; how < ESTIMATIONS; how++) {
    float expected[COUNT] = {0.0f}, got[COUNT];
    for (size_t i = 0; i < 4; i++) {
      plim_model *model = NULL;
      plim_estimator *estimator = NULL;
      plim_optimizer *optimizer = NULL;
      plim_train_options *options = NULL;
      CHECK_OK(plim_model_gcn(widths, 3, 5, &model));
      CHECK_OK(plim_model_set_threads(model, threads[i]));
      CHECK_OK(how == FULL       ? plim_estimator_full(&estimator)
               : how == UNBIASED ? plim_estimator_unbiased(&estimator)
                                 : plim_estimator_consistent(sizes, 2, &estimator));
      CHECK_OK(plim_optimizer_adam(0.01, &optimizer));
      CHECK_OK(plim_train_options_new(&options));
      CHECK_OK(plim_train_options_set_epochs(options, 2));
      CHECK_OK(plim_train(model, graph, estimator, optimizer, options, NULL));
      check_fill(got, COUNT);
      CHECK_OK(plim_model_get_parameters(model, got, COUNT));
      if (i == 0) {
        memcpy(expected, got, sizeof got);
      }
      CHECK_BITS(expected, got, COUNT);
      plim_train_options_free(options);
      plim_optimizer_free(optimizer);
      plim_estimator_free(estimator);
      plim_model_free(model);
    }
  }
  plim_graph_free(graph);
}

/* 100 epochs, batches of 256, seed 0, the best epoch restored, every epoch evaluated, no patience. */
static void no_options_mean_the_defaults(void) {
  plim_graph *graph = NULL;
  float expected[40] = {0.0f}, got[40];
  CHECK_OK(plim_graph_from_mixture(250, 3, &graph)); /* 300 training nodes: two batches of 256 at most */
  for (size_t i = 0; i < 4; i++) { /* explicit options, default options, no options, no options and no history */
    static const size_t widths[3] = {2, 8, 3};
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    plim_history *history = NULL;
    CHECK_OK(plim_model_gcn(widths, 3, 5, &model));
    CHECK_OK(plim_estimator_unbiased(&estimator));
    CHECK_OK(plim_optimizer_adam(0.01, &optimizer));
    if (i < 2) {
      CHECK_OK(plim_train_options_new(&options));
    }
    if (i == 0) {
      CHECK_OK(plim_train_options_set_epochs(options, 100));
      CHECK_OK(plim_train_options_set_batch_size(options, 256));
      CHECK_OK(plim_train_options_set_seed(options, 0));
      CHECK_OK(plim_train_options_set_restore_best(options, 1));
      CHECK_OK(plim_train_options_set_patience(options, 0));
      CHECK_OK(plim_train_options_set_evaluate_every(options, 1));
      CHECK_OK(plim_train_options_set_checkpoint(options, NULL, 0));
      CHECK_OK(plim_train_options_set_resume(options, NULL));
      CHECK_OK(plim_train_options_set_progress(options, NULL, NULL));
    }
    CHECK_OK(plim_train(model, graph, estimator, optimizer, options, i < 3 ? &history : NULL));
    CHECK(plim_history_num_epochs(history) == (i < 3 ? 100 : 0));
    CHECK_OK(plim_model_get_parameters(model, got, 40));
    if (i == 0) {
      memcpy(expected, got, sizeof got);
    }
    CHECK_BITS(expected, got, 40);
    plim_history_free(history);
    plim_train_options_free(options);
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(model);
  }
  plim_graph_free(graph);
}

/* λ = 11 and a step of 1: each step multiplies the parameters by -10 until they are beyond a float. */
static void what_diverges_keeps_finite_parameters_and_its_history(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (size_t every = 0; every < 2; every++) { /* detected by an evaluation or by a gradient */
      setup s = training_setup((estimation)how, SGD, 100);
      outcome run;
      CHECK_OK(plim_optimizer_set_schedule(s.optimizer, PLIM_SCHEDULE_CONSTANT));
      CHECK_OK(plim_model_set_regularization(s.model, 11.0));
      CHECK_OK(plim_train_options_set_evaluate_every(s.options, every));
      run = training_run(&s);
      CHECK(run.status == PLIM_ERROR_DIVERGED);
      CHECK(run.num_epochs >= 1 && run.num_epochs < 60);
      for (size_t e = 0; e < run.num_epochs; e++) {
        CHECK(isfinite(run.columns[PLIM_HISTORY_BATCH_LOSS][e]));
        CHECK(every == 0 || isfinite(run.columns[PLIM_HISTORY_TRAIN_LOSS][e]));
      }
      for (size_t i = 0; i < run.num_parameters; i++) {
        CHECK(isfinite(run.parameters[i]));
      }
      training_free(&s);
    }
  }
}

/* The larger steps are not floats; 1e39 times a small gradient would be one. */
static void a_huge_step_diverges_before_the_first_epoch_ends(void) {
  static const double steps[] = {1e38, 1e39, 1e45, 1e300};
  for (size_t at = 0; at < sizeof steps / sizeof *steps; at++) {
    setup s = training_setup(UNBIASED, SGD, 5);
    outcome run;
    plim_optimizer_free(s.optimizer);
    CHECK_OK(plim_optimizer_sgd(steps[at], &s.optimizer));
    run = training_run(&s);
    CHECK(run.status == PLIM_ERROR_DIVERGED && run.num_epochs == 0 && run.best_epoch == 0);
    for (size_t i = 0; i < run.num_parameters; i++) {
      CHECK(isfinite(run.parameters[i]));
    }
    training_free(&s);
  }
}

/* The ball or box holds at the end of every epoch, and prevents divergence. */
static void sets_hold_in_training(void) {
  for (int moves = 0; moves < RULES; moves++) {
    setup s = training_setup(CONSISTENT, (rule)moves, 10);
    outcome run;
    double sum = 0.0;
    CHECK_OK(plim_model_set_regularization(s.model, 11.0));
    CHECK_OK(plim_optimizer_set_ball(s.optimizer, 0.3));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK);
    for (size_t i = 0; i < run.num_parameters; i++) {
      sum += (double)run.parameters[i] * (double)run.parameters[i];
    }
    CHECK(sqrt(sum) <= 0.3);
    CHECK_OK(plim_optimizer_set_box(s.optimizer, -0.1, 0.3));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK);
    for (size_t i = 0; i < run.num_parameters; i++) {
      CHECK((double)run.parameters[i] >= -0.1 && (double)run.parameters[i] <= 0.3);
    }
    training_free(&s);
  }
}

int main(void) {
  RUN(the_history_tells_of_each_epoch_what_an_evaluation_says);
  RUN(training_learns);
  RUN(without_validation_nodes_their_columns_are_nan);
  RUN(epochs_that_are_not_evaluated_are_nan);
  RUN(the_best_epoch_is_restored_bit_for_bit);
  RUN(patience_ends_training_when_no_epoch_improves);
  RUN(patience_waits_for_evaluations);
  RUN(the_full_estimator_makes_one_step_per_epoch);
  RUN(the_last_short_batch_is_kept);
  RUN(a_batch_larger_than_the_split_is_the_split);
  RUN(lambda_enters_the_batch_loss_alone);
  RUN(a_second_run_goes_on_where_the_first_one_ended);
  RUN(the_same_seeds_give_the_same_bits_and_others_do_not);
  RUN(any_number_of_threads_gives_the_same_bits);
  RUN(no_options_mean_the_defaults);
  RUN(what_diverges_keeps_finite_parameters_and_its_history);
  RUN(a_huge_step_diverges_before_the_first_epoch_ends);
  RUN(sets_hold_in_training);
  return check_close();
}
