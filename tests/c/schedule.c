/* Schedules, warm-up and the plateau: the step of each update against the formulas, in a loop of one's own, in
 * plim_train() and in plim_optimizer_minimize(). */
#define _POSIX_C_SOURCE 200809L

#include "training.h"

enum { COUNT = 16, STEPS = 60, EPOCH = 4 };

static const double gamma_ = 0.3, pi = 3.14159265358979323846;

static plim_optimizer *sgd(double step) {
  plim_optimizer *optimizer = NULL;
  CHECK_OK(plim_optimizer_sgd(step, &optimizer));
  return optimizer;
}

static plim_model *model_of_zeros(void) {
  static const size_t widths[2] = {4, 4};
  static const float zeros[COUNT] = {0.0f};
  plim_model *model = NULL;
  CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
  CHECK_OK(plim_model_set_parameters(model, zeros, COUNT));
  return model;
}

/* One update along (1, …, 1); returns how far it has moved the first parameter. */
static double move(plim_optimizer *optimizer, plim_model *model) {
  float ones[COUNT], w[COUNT];
  static const float zeros[COUNT] = {0.0f};
  for (size_t i = 0; i < COUNT; i++) {
    ones[i] = 1.0f;
  }
  CHECK_OK(plim_model_set_parameters(model, zeros, COUNT));
  CHECK_OK(plim_optimizer_update(optimizer, model, ones, COUNT));
  CHECK_OK(plim_model_get_parameters(model, w, COUNT));
  return -(double)w[0];
}

typedef enum kind { CONSTANT, INVERSE, INVERSE_SQRT, STEP_DECAY, COSINE, KINDS } kind;

static void set_kind(plim_optimizer *optimizer, kind which, int32_t unit) {
  if (which == STEP_DECAY) {
    CHECK_OK(plim_optimizer_set_step_decay(optimizer, 3, unit, 0.5));
  } else if (which == COSINE) {
    CHECK_OK(plim_optimizer_set_cosine(optimizer, 10, unit, 0.02));
  } else {
    CHECK_OK(plim_optimizer_set_schedule(optimizer, (int32_t)which));
  }
}

/* γ_k by the formulas of the header, after `t` updates or epochs. */
static double step_of(kind which, size_t k, size_t t) {
  switch (which) {
  case INVERSE:
    return gamma_ / (double)k;
  case INVERSE_SQRT:
    return gamma_ / sqrt((double)k);
  case STEP_DECAY:
    return gamma_ * pow(0.5, (double)(t / 3));
  case COSINE:
    return 0.02 + (gamma_ - 0.02) * (1.0 + cos(pi * (t < 10 ? (double)t : 10.0) / 10.0)) / 2.0;
  default:
    return gamma_;
  }
}

static void every_schedule_with_and_without_warm_up_follows_its_formula(void) {
  for (int which = 0; which < KINDS; which++) {
    for (int32_t unit = 0; unit < 2; unit++) {
      for (int32_t warm = 0; warm < 3; warm++) { /* none; in updates; in epochs */
        plim_optimizer *optimizer = sgd(gamma_);
        plim_model *model = model_of_zeros();
        set_kind(optimizer, (kind)which, unit);
        if (warm > 0) {
          CHECK_OK(plim_optimizer_set_warmup(optimizer, 7, warm - 1, 0.25));
        }
        for (size_t k = 1; k <= STEPS; k++) {
          size_t epochs = (k - 1) / EPOCH, t = unit == PLIM_UNIT_UPDATES ? k - 1 : epochs;
          size_t w = warm == 1 ? k - 1 : epochs;
          double expected = step_of((kind)which, k, t);
          if (warm > 0) {
            expected *= 0.25 + 0.75 * (w < 7 ? (double)w : 7.0) / 7.0;
          }
          CHECK_NEAR(expected, plim_optimizer_step_size(optimizer), 1e-14);
          CHECK_NEAR(expected, move(optimizer, model), 1e-7);
          if (k % EPOCH == 0) {
            CHECK_OK(plim_optimizer_end_epoch(optimizer));
          }
        }
        CHECK_OK(plim_optimizer_reset(optimizer)); /* counts begin anew, settings stay */
        CHECK_NEAR(step_of((kind)which, 1, 0) * (warm > 0 ? 0.25 : 1.0), plim_optimizer_step_size(optimizer), 1e-14);
        plim_model_free(model);
        plim_optimizer_free(optimizer);
      }
    }
  }
}

static void a_cosine_ends_at_its_minimum_and_stays_there(void) {
  plim_optimizer *optimizer = sgd(gamma_);
  CHECK_OK(plim_optimizer_set_cosine(optimizer, 3, PLIM_UNIT_EPOCHS, 0.1));
  for (size_t e = 0; e < 9; e++) {
    double step = plim_optimizer_step_size(optimizer);
    CHECK(e < 3 ? step > 0.1 : step == 0.1);
    CHECK_OK(plim_optimizer_end_epoch(optimizer));
  }
  plim_optimizer_free(optimizer);
}

static void schedules_replace_each_other_and_a_warm_up_of_0_is_none(void) {
  plim_optimizer *optimizer = sgd(gamma_);
  for (size_t e = 0; e < 3; e++) {
    CHECK_OK(plim_optimizer_end_epoch(optimizer));
  }
  CHECK(plim_optimizer_step_size(optimizer) == gamma_);
  CHECK_OK(plim_optimizer_set_step_decay(optimizer, 1, PLIM_UNIT_EPOCHS, 0.5));
  CHECK(plim_optimizer_step_size(optimizer) == gamma_ / 8.0);
  CHECK_OK(plim_optimizer_set_cosine(optimizer, 3, PLIM_UNIT_EPOCHS, 0.0));
  CHECK(plim_optimizer_step_size(optimizer) == 0.0);
  CHECK_OK(plim_optimizer_set_step_decay(optimizer, 2, PLIM_UNIT_EPOCHS, 0.5));
  CHECK(plim_optimizer_step_size(optimizer) == gamma_ / 2.0);
  CHECK_OK(plim_optimizer_set_warmup(optimizer, 6, PLIM_UNIT_EPOCHS, 0.0));
  CHECK(plim_optimizer_step_size(optimizer) == gamma_ / 4.0);
  CHECK_OK(plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_CONSTANT));
  CHECK(plim_optimizer_step_size(optimizer) == gamma_ / 2.0);
  CHECK_OK(plim_optimizer_set_warmup(optimizer, 0, PLIM_UNIT_UPDATES, 0.0));
  CHECK(plim_optimizer_step_size(optimizer) == gamma_);
  plim_optimizer_free(optimizer);
}

/* The plateau of the header. */
typedef struct plateau {
  double best, scale;
  size_t bad;
} plateau;

static void tell(plateau *p, double value, double factor, size_t patience, double least) {
  if (value < p->best) {
    p->best = value;
    p->bad = 0;
  } else if (++p->bad > patience) {
    p->scale = p->scale * factor > least ? p->scale * factor : least < p->scale ? least : p->scale;
    p->bad = 0;
  }
}

static void reports_without_improvement_reduce_the_step(void) {
  for (size_t patience = 0; patience < 4; patience++) {
    uint64_t state = 9;
    plateau p = {INFINITY, 1.0, 0};
    plim_optimizer *optimizer = sgd(gamma_);
    CHECK_OK(plim_optimizer_set_plateau(optimizer, 0.5, patience, gamma_ / 100.0));
    CHECK_OK(plim_optimizer_set_step_decay(optimizer, 50, PLIM_UNIT_EPOCHS, 0.25)); /* beside a schedule */
    for (size_t e = 0; e < 100; e++) {
      double value = e % 10 == 9 ? INFINITY : dense_random(&state) - 0.01 * (double)e;
      CHECK_NEAR(gamma_ * p.scale * (e < 50 ? 1.0 : 0.25), plim_optimizer_step_size(optimizer), 1e-15);
      CHECK_OK(plim_optimizer_report(optimizer, value));
      tell(&p, value, 0.5, patience, 0.01);
      CHECK_OK(plim_optimizer_end_epoch(optimizer));
    }
    CHECK(p.scale < 1.0);
    CHECK_OK(plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_CONSTANT));
    CHECK_OK(plim_optimizer_reset(optimizer));
    CHECK(plim_optimizer_step_size(optimizer) == gamma_);
    for (size_t i = 0; i <= patience; i++) { /* the first is the best; these are not better */
      CHECK_OK(plim_optimizer_report(optimizer, 1.0));
      CHECK(plim_optimizer_step_size(optimizer) == gamma_);
    }
    CHECK_OK(plim_optimizer_report(optimizer, 1.0));
    CHECK(plim_optimizer_step_size(optimizer) == gamma_ / 2.0);
    CHECK_OK(plim_optimizer_set_plateau(optimizer, 1.0, patience, 0.0)); /* none, and reductions are forgotten */
    CHECK_OK(plim_optimizer_report(optimizer, 2.0));
    CHECK(plim_optimizer_step_size(optimizer) == gamma_);
    plim_optimizer_free(optimizer);
  }
}

/* An epoch of the full estimator is one update, so both units give the same bits; in batches they do not. */
static void training_counts_epochs(void) {
  static const estimation hows[2] = {FULL, UNBIASED};
  for (size_t h = 0; h < 2; h++) {
    for (int which = STEP_DECAY; which <= COSINE; which++) {
      outcome runs[2];
      for (int32_t unit = 0; unit < 2; unit++) {
        setup s = training_setup(hows[h], SGD, 12);
        set_kind(s.optimizer, (kind)which, unit);
        CHECK_OK(plim_optimizer_set_warmup(s.optimizer, 4, unit, 0.5));
        runs[unit] = training_run(&s);
        CHECK(runs[unit].status == PLIM_OK);
        if (unit == PLIM_UNIT_EPOCHS) { /* a second training goes on counting; its γ is 1 */
          CHECK_NEAR(which == COSINE ? 0.02 : 0.0625, plim_optimizer_step_size(s.optimizer), 1e-15);
        }
        training_free(&s);
      }
      CHECK(training_same(&runs[0], &runs[1]) == (hows[h] == FULL));
    }
  }
}

/* The reductions that the history explains are those of the run. */
static void training_reports_its_monitor(void) {
  static const int32_t columns[3] = {PLIM_HISTORY_VAL_ACCURACY, PLIM_HISTORY_VAL_LOSS, PLIM_HISTORY_TRAIN_LOSS};
  for (int32_t monitor = 0; monitor < 3; monitor++) {
    for (size_t every = 1; every <= 3; every += 2) {
      setup s = training_setup(UNBIASED, ADAM, 60);
      plateau p = {INFINITY, 1.0, 0};
      outcome run;
      CHECK_OK(plim_train_options_set_monitor(s.options, monitor));
      CHECK_OK(plim_train_options_set_evaluate_every(s.options, every));
      CHECK_OK(plim_optimizer_set_plateau(s.optimizer, 0.5, 1, 0.05 / 1024.0));
      run = training_run(&s);
      CHECK(run.status == PLIM_OK);
      for (size_t e = 0; e < 60; e++) {
        double value = run.columns[columns[monitor]][e];
        if (!isnan(value)) {
          tell(&p, monitor == PLIM_MONITOR_VAL_ACCURACY ? -value : value, 0.5, 1, 1.0 / 1024.0);
        }
      }
      CHECK(p.scale < 1.0 || monitor != PLIM_MONITOR_VAL_ACCURACY);
      CHECK_NEAR(0.05 * p.scale, plim_optimizer_step_size(s.optimizer), 1e-16);
      training_free(&s);
    }
  }
}

static int32_t slope_of_one(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
  (void)user_data, (void)step, (void)w, (void)dim;
  gradient[0] = 1.0;
  return 0;
}

/* Updates count from 1, whatever the optimizer has done; there are no epochs and no reports. */
static void a_minimisation_is_one_epoch(void) {
  for (int which = 0; which < KINDS; which++) {
    for (int32_t unit = 0; unit < 2; unit++) {
      plim_optimizer *optimizer = sgd(gamma_);
      double w = 0.0, expected = 0.0;
      set_kind(optimizer, (kind)which, unit);
      CHECK_OK(plim_optimizer_set_warmup(optimizer, 5, PLIM_UNIT_UPDATES, 0.0));
      CHECK_OK(plim_optimizer_set_plateau(optimizer, 0.5, 0, 0.0));
      for (size_t e = 0; e < 7; e++) {
        CHECK_OK(plim_optimizer_end_epoch(optimizer));
        CHECK_OK(plim_optimizer_report(optimizer, 1.0));
      }
      CHECK_OK(plim_optimizer_minimize(optimizer, slope_of_one, NULL, 20, &w, NULL, 1));
      for (size_t k = 1; k <= 20; k++) {
        expected -= step_of((kind)which, k, unit == PLIM_UNIT_UPDATES ? k - 1 : 0) * (k < 6 ? (double)(k - 1) / 5.0 : 1.0);
      }
      CHECK_NEAR(expected, w, 1e-13);
      plim_optimizer_free(optimizer);
    }
  }
}

int main(void) {
  RUN(every_schedule_with_and_without_warm_up_follows_its_formula);
  RUN(a_cosine_ends_at_its_minimum_and_stays_there);
  RUN(schedules_replace_each_other_and_a_warm_up_of_0_is_none);
  RUN(reports_without_improvement_reduce_the_step);
  RUN(training_counts_epochs);
  RUN(training_reports_its_monitor);
  RUN(a_minimisation_is_one_epoch);
  return check_close();
}
