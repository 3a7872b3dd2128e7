/* The monitor: for restoring the best epoch, for patience, and in a resumed run. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "training.h"

enum { MONITORS = 3, EPOCHS = 30 };

static const int32_t columns[MONITORS] = {PLIM_HISTORY_VAL_ACCURACY, PLIM_HISTORY_VAL_LOSS, PLIM_HISTORY_TRAIN_LOSS};

/* The first of the best numbers that are not NaN, from 1; 0 if there is none. */
static size_t first_best(const double *values, size_t count, int32_t monitor) {
  size_t best = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isnan(values[i]) && (best == 0 || (monitor == PLIM_MONITOR_VAL_ACCURACY ? values[i] > values[best - 1]
                                                                                 : values[i] < values[best - 1]))) {
      best = i + 1;
    }
  }
  return best;
}

static setup monitored(estimation how, rule moves, size_t epochs, int32_t monitor) {
  setup s = training_setup(how, moves, epochs);
  CHECK_OK(plim_train_options_set_monitor(s.options, monitor));
  return s;
}

static void each_monitor_restores_the_best_epoch_of_its_column(void) {
  size_t differ = 0;
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (int moves = 0; moves < RULES; moves++) {
      size_t best[MONITORS];
      for (int32_t monitor = 0; monitor < MONITORS; monitor++) {
        setup s = monitored((estimation)how, (rule)moves, EPOCHS, monitor);
        setup again = training_setup((estimation)how, (rule)moves, EPOCHS);
        outcome run = training_run(&s), plain;
        CHECK(run.status == PLIM_OK && run.num_epochs == EPOCHS);
        best[monitor] = first_best(run.columns[columns[monitor]], EPOCHS, monitor);
        CHECK(run.best_epoch == best[monitor] && best[monitor] > 0);
        CHECK_OK(plim_train_options_set_epochs(again.options, run.best_epoch));
        CHECK_OK(plim_train_options_set_restore_best(again.options, 0));
        plain = training_run(&again);
        CHECK_BITS(plain.parameters, run.parameters, run.num_parameters);
        training_free(&again);
        training_free(&s);
      }
      differ += best[0] != best[1] || best[1] != best[2];
    }
  }
  CHECK(differ >= 3); /* otherwise the test shows nothing */
}

static void the_default_is_the_validation_accuracy(void) {
  setup s = training_setup(CONSISTENT, SGD, EPOCHS);
  setup same = monitored(CONSISTENT, SGD, EPOCHS, PLIM_MONITOR_VAL_ACCURACY);
  outcome run = training_run(&s), expected = training_run(&same);
  CHECK(training_same(&expected, &run));
  training_free(&same);
  training_free(&s);
}

static void patience_counts_from_the_best_epoch_of_the_monitor(void) {
  size_t stopped = 0;
  for (int32_t monitor = 0; monitor < MONITORS; monitor++) {
    for (size_t every = 1; every <= 3; every += 2) {
      setup s = monitored(CONSISTENT, ADAM, 100, monitor);
      outcome run;
      CHECK_OK(plim_train_options_set_patience(s.options, 3));
      CHECK_OK(plim_train_options_set_evaluate_every(s.options, every));
      run = training_run(&s);
      CHECK(run.status == PLIM_OK);
      CHECK(run.best_epoch == first_best(run.columns[columns[monitor]], run.num_epochs, monitor));
      if (run.num_epochs < 100) {
        CHECK(run.num_epochs == run.best_epoch + 3);
        stopped++;
      }
      for (size_t e = 1; e < run.num_epochs; e++) { /* and not earlier */
        size_t best = first_best(run.columns[columns[monitor]], e, monitor), last = e / every * every;
        CHECK(best == 0 || last < best + 3);
      }
      training_free(&s);
    }
  }
  CHECK(stopped >= 4);
}

/* Steps too small to change a parameter, so all epochs are equal. */
static void of_equal_epochs_the_first_is_the_best(void) {
  for (int32_t monitor = 0; monitor < MONITORS; monitor++) {
    setup s = monitored(UNBIASED, SGD, 20, monitor);
    outcome run;
    plim_optimizer_free(s.optimizer);
    CHECK_OK(plim_optimizer_sgd(1e-30, &s.optimizer));
    CHECK_OK(plim_train_options_set_patience(s.options, 4));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.best_epoch == 1 && run.num_epochs == 5);
    training_free(&s);
  }
}

static void the_training_loss_needs_no_validation_nodes(void) {
  for (int32_t monitor = 0; monitor < MONITORS; monitor++) {
    setup s = monitored(UNBIASED, ADAM, 12, monitor);
    outcome run;
    CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_VAL, NULL, 0));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.num_epochs == 12);
    CHECK(run.best_epoch == first_best(run.columns[columns[monitor]], 12, monitor));
    CHECK((run.best_epoch > 0) == (monitor == PLIM_MONITOR_TRAIN_LOSS));
    CHECK_OK(plim_train_options_set_patience(s.options, 2));
    run = training_run(&s);
    if (monitor == PLIM_MONITOR_TRAIN_LOSS) {
      CHECK(run.status == PLIM_OK);
    } else {
      CHECK(run.status == PLIM_ERROR_MISSING_DATA && strstr(run.message, "val") != NULL);
    }
    CHECK_OK(plim_train_options_set_evaluate_every(s.options, 0));
    run = training_run(&s);
    CHECK(run.status == PLIM_ERROR_INVALID_ARGUMENT && strstr(run.message, "patience") != NULL);
    training_free(&s);
  }
}

static int32_t stop_at_five(void *user_data, const plim_progress *progress) {
  (void)user_data;
  return progress->epoch >= 5;
}

static void a_resumed_run_ends_in_the_same_bits_under_each_monitor(void) {
  for (int32_t monitor = 0; monitor < MONITORS; monitor++) {
    for (size_t patience = 0; patience <= 4; patience += 4) {
      setup whole = monitored(CONSISTENT, ADAM, EPOCHS, monitor), half = monitored(CONSISTENT, ADAM, EPOCHS, monitor);
      setup rest = monitored(CONSISTENT, ADAM, EPOCHS, monitor);
      outcome expected, run;
      CHECK_OK(plim_train_options_set_patience(whole.options, patience));
      CHECK_OK(plim_train_options_set_patience(half.options, patience));
      CHECK_OK(plim_train_options_set_patience(rest.options, patience));
      CHECK_OK(plim_train_options_set_checkpoint(half.options, files_path("run"), 2)); /* epoch 4 is the last one */
      CHECK_OK(plim_train_options_set_progress(half.options, stop_at_five, NULL));
      CHECK_OK(plim_train_options_set_resume(rest.options, files_path("run")));
      expected = training_run(&whole);
      run = training_run(&half);
      CHECK(run.status == PLIM_ERROR_CANCELLED);
      run = training_run(&rest);
      CHECK(training_same(&expected, &run));
      training_free(&rest);
      training_free(&half);
      training_free(&whole);
    }
  }
  files_remove("run");
}

/* The checkpoint keeps the best parameters by its own monitor. */
static void a_checkpoint_of_another_monitor_is_refused(void) {
  for (int32_t monitor = 0; monitor < MONITORS; monitor++) {
    setup s = monitored(CONSISTENT, ADAM, 3, monitor);
    outcome run;
    CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK);
    for (int32_t other = 0; other < MONITORS; other++) {
      setup later = monitored(CONSISTENT, ADAM, 6, other);
      outcome before;
      memset(&before, 0, sizeof before);
      training_read(&later, &before);
      CHECK_OK(plim_train_options_set_resume(later.options, files_path("run")));
      run = training_run(&later);
      if (other == monitor) {
        CHECK(run.status == PLIM_OK);
      } else {
        CHECK(run.status == PLIM_ERROR_SHAPE_MISMATCH && strstr(run.message, "its monitor is") != NULL);
        CHECK(training_same_parameters(&before, &run));
      }
      training_free(&later);
    }
    training_free(&s);
  }
  files_remove("run");
}

int main(void) {
  RUN(each_monitor_restores_the_best_epoch_of_its_column);
  RUN(the_default_is_the_validation_accuracy);
  RUN(patience_counts_from_the_best_epoch_of_the_monitor);
  RUN(of_equal_epochs_the_first_is_the_best);
  RUN(the_training_loss_needs_no_validation_nodes);
  RUN(a_resumed_run_ends_in_the_same_bits_under_each_monitor);
  RUN(a_checkpoint_of_another_monitor_is_refused);
  files_close();
  return check_close();
}
