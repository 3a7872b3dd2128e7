/* The exponential moving average of the parameters: its formula, and a training that evaluates with it. */
#define _POSIX_C_SOURCE 200809L

#include "optimizers.h"
#include "training.h"

enum { EPOCHS = 12 };

static void it_starts_at_the_parameters_and_follows_the_formula(void) {
  for (size_t rule = 0; rule < 2; rule++) {
    uint64_t state = 21;
    float start[COUNT], w[COUNT], gradient[COUNT], got[COUNT];
    double ema[COUNT], decay = 0.9;
    plim_model *model;
    plim_optimizer *optimizer = NULL;
    CHECK_OK(rule == 0 ? plim_optimizer_sgd(0.3, &optimizer) : plim_optimizer_adam(0.1, &optimizer));
    CHECK_OK(plim_optimizer_set_ball(optimizer, 1.5)); /* averages what is left after the projection */
    some(start, 1.0, &state);
    model = model_of(start);
    for (size_t k = 1; k <= 60; k++) {
      if (k == 5 || k == 41) { /* starts here, and again */
        CHECK_OK(plim_optimizer_set_ema(optimizer, 0.0));
        CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_ema(optimizer, got, COUNT));
        CHECK_OK(plim_optimizer_set_ema(optimizer, decay));
        CHECK_OK(plim_model_get_parameters(model, w, COUNT));
        for (size_t i = 0; i < COUNT; i++) {
          ema[i] = (double)w[i];
        }
      }
      if (k == 20) { /* another decay continues */
        decay = 0.5;
        CHECK_OK(plim_optimizer_set_ema(optimizer, decay));
      }
      some(gradient, 1.0, &state);
      CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
      if (k >= 5) {
        CHECK_OK(plim_model_get_parameters(model, w, COUNT));
        check_fill(got, COUNT);
        CHECK_OK(plim_optimizer_ema(optimizer, got, COUNT));
        for (size_t i = 0; i < COUNT; i++) {
          ema[i] = decay * ema[i] + (1.0 - decay) * (double)w[i];
          CHECK_NEAR(ema[i], (double)got[i], 1e-7);
        }
      }
    }
    CHECK_OK(plim_optimizer_reset(optimizer));
    CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_ema(optimizer, got, COUNT));
    CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT)); /* the setting remains */
    CHECK_OK(plim_optimizer_ema(optimizer, got, COUNT));
    plim_optimizer_free(optimizer);
    plim_model_free(model);
  }
}

static void it_does_not_change_the_iterates(void) {
  setup with = training_setup(CONSISTENT, ADAM, EPOCHS), without = training_setup(CONSISTENT, ADAM, EPOCHS);
  outcome a, b;
  CHECK_OK(plim_optimizer_set_ema(with.optimizer, 0.9));
  a = training_run(&with);
  b = training_run(&without);
  CHECK(a.status == PLIM_OK && training_same(&a, &b));
  training_free(&without);
  training_free(&with);
}

static int32_t stop_after(void *user_data, const plim_progress *progress) {
  return progress->epoch >= *(const size_t *)user_data;
}

/* A loop of one's own makes the same steps and evaluates the average after each. */
static void a_training_evaluates_and_ends_with_it(void) {
  for (int32_t restore = 0; restore < 2; restore++) {
    setup s = training_setup(FULL, ADAM, EPOCHS), own = training_setup(FULL, ADAM, EPOCHS);
    setup stopped = training_setup(FULL, ADAM, EPOCHS);
    plim_model *average = NULL;
    float gradient[MOST_PARAMETERS], ema[EPOCHS][MOST_PARAMETERS], w[MOST_PARAMETERS];
    outcome run;
    size_t count = plim_model_num_parameters(s.model), last;
    CHECK_OK(plim_optimizer_set_ema(s.optimizer, 0.8));
    CHECK_OK(plim_optimizer_set_ema(own.optimizer, 0.8));
    CHECK_OK(plim_optimizer_set_ema(stopped.optimizer, 0.8));
    CHECK_OK(plim_train_options_set_ema(s.options, 1));
    CHECK_OK(plim_train_options_set_ema(stopped.options, -1));
    CHECK_OK(plim_train_options_set_restore_best(s.options, restore));
    CHECK_OK(plim_train_options_set_monitor(s.options, PLIM_MONITOR_VAL_LOSS));
    run = training_run(&s);
    CHECK(run.status == PLIM_OK && run.num_epochs == EPOCHS);
    CHECK_OK(plim_model_clone(own.model, &average));
    for (size_t e = 0; e < EPOCHS; e++) {
      double loss, accuracy;
      CHECK_OK(plim_estimator_gradient(own.estimator, own.model, own.graph, NULL, 0, gradient, MOST_PARAMETERS, NULL));
      CHECK_OK(plim_optimizer_update(own.optimizer, own.model, gradient, count));
      CHECK_OK(plim_optimizer_ema(own.optimizer, ema[e], MOST_PARAMETERS));
      CHECK_OK(plim_model_set_parameters(average, ema[e], count));
      CHECK_OK(plim_model_evaluate(average, own.graph, PLIM_SPLIT_VAL, &loss, &accuracy));
      CHECK(loss == run.columns[PLIM_HISTORY_VAL_LOSS][e] && accuracy == run.columns[PLIM_HISTORY_VAL_ACCURACY][e]);
    }
    last = restore ? run.best_epoch - 1 : EPOCHS - 1;
    CHECK_BITS(ema[last], run.parameters, count);
    /* What was not trained to its end has the iterate. */
    CHECK_OK(plim_model_get_parameters(own.model, w, MOST_PARAMETERS));
    last = EPOCHS;
    CHECK_OK(plim_train_options_set_progress(stopped.options, stop_after, &last));
    run = training_run(&stopped);
    CHECK(run.status == PLIM_ERROR_CANCELLED && run.num_epochs == EPOCHS);
    CHECK_BITS(w, run.parameters, count);
    plim_model_free(average);
    training_free(&stopped);
    training_free(&own);
    training_free(&s);
  }
}

/* With its options the average is there even if nothing is evaluated. */
static void a_training_without_evaluation_ends_with_the_last_average(void) {
  setup s = training_setup(UNBIASED, SGD, EPOCHS);
  float ema[MOST_PARAMETERS];
  outcome run;
  CHECK_OK(plim_optimizer_set_ema(s.optimizer, 0.99));
  CHECK_OK(plim_train_options_set_ema(s.options, 1));
  CHECK_OK(plim_train_options_set_evaluate_every(s.options, 0));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK && run.best_epoch == 0);
  CHECK_OK(plim_optimizer_ema(s.optimizer, ema, MOST_PARAMETERS));
  CHECK_BITS(ema, run.parameters, run.num_parameters);
  training_free(&s);
}

int main(void) {
  RUN(it_starts_at_the_parameters_and_follows_the_formula);
  RUN(it_does_not_change_the_iterates);
  RUN(a_training_evaluates_and_ends_with_it);
  RUN(a_training_without_evaluation_ends_with_the_last_average);
  return check_close();
}
