/* plim_optimizer_minimize(): the arguments of the oracle, the iterates, and the result if the run stops early. */
#define _POSIX_C_SOURCE 200809L

#include "optimizers.h"

enum { MOST = 8 };

/* f(w) = Σ a_i/2 (w_i - c_i)², and a record of the calls. */
typedef struct problem {
  double a[MOST], c[MOST];
  size_t dim, calls, wrong;
  double visited[64][MOST]; /* w at the first calls */
  size_t stop_at, bad_at;   /* step that returns non-zero, step with a bad gradient; 0 for never */
  double bad;
} problem;

static problem problem_of(size_t dim) {
  problem p;
  memset(&p, 0, sizeof p);
  p.dim = dim;
  for (size_t i = 0; i < dim; i++) {
    p.a[i] = 1.0 + (double)i / 2.0;
    p.c[i] = 2.0 - (double)i;
  }
  return p;
}

static int32_t gradient_of(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
  problem *p = (problem *)user_data;
  p->calls++;
  p->wrong += step != p->calls || dim != p->dim;
  for (size_t i = 0; i < dim; i++) {
    p->wrong += gradient[i] != 0.0;
    if (p->calls <= 64) {
      p->visited[p->calls - 1][i] = w[i];
    }
    gradient[i] = p->a[i] * (w[i] - p->c[i]);
  }
  if (step == p->bad_at) {
    gradient[dim - 1] = p->bad;
  }
  return step == p->stop_at ? -3 : 0;
}

static plim_optimizer *adam(double step, int32_t schedule) {
  plim_optimizer *optimizer = NULL;
  CHECK_OK(plim_optimizer_adam(step, &optimizer));
  CHECK_OK(plim_optimizer_set_schedule(optimizer, schedule));
  return optimizer;
}

static double norm_of(const double *w, size_t dim) {
  double sum = 0.0;
  for (size_t i = 0; i < dim; i++) {
    sum += w[i] * w[i];
  }
  return sqrt(sum);
}

static void start_at(double *w, size_t dim) {
  for (size_t i = 0; i < dim; i++) {
    w[i] = (double)i - 0.5;
  }
}

/* With step 1/4 and numbers with few digits every iterate is exact. */
static void the_oracle_sees_every_iterate_and_the_result_is_the_next_one(void) {
  for (size_t steps = 1; steps <= 8; steps++) {
    problem p = problem_of(4);
    plim_optimizer *optimizer = sgd(0.25, PLIM_SCHEDULE_CONSTANT);
    double w[4], expected[9][4], average[4] = {NAN, NAN, NAN, NAN};
    start_at(w, 4);
    start_at(expected[0], 4);
    for (size_t k = 0; k < steps; k++) {
      for (size_t i = 0; i < 4; i++) {
        expected[k + 1][i] = expected[k][i] - 0.25 * (p.a[i] * (expected[k][i] - p.c[i]));
      }
    }
    CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, steps, w, average, 4));
    CHECK(p.calls == steps && p.wrong == 0);
    for (size_t k = 0; k < steps; k++) {
      CHECK_BITS(expected[k], p.visited[k], 4);
    }
    CHECK_BITS(expected[steps], w, 4); /* w_{T+1} */
    for (size_t i = 0; i < 4; i++) {
      double mean = 0.0;
      for (size_t k = 0; k < steps; k++) { /* w_1 … w_T */
        mean += expected[k][i] / (double)steps;
      }
      CHECK_NEAR(mean, average[i], 1e-14);
    }
    start_at(w, 4);
    p = problem_of(4);
    CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, steps, w, NULL, 4)); /* an average is optional */
    CHECK_BITS(expected[steps], w, 4);
    plim_optimizer_free(optimizer);
  }
}

static void every_schedule_and_decay_starts_at_1(void) {
  for (int32_t schedule = 0; schedule < 3; schedule++) {
    problem p = problem_of(5);
    plim_optimizer *optimizer = sgd(0.2, schedule);
    double w[5], v[5];
    CHECK_OK(plim_optimizer_set_decay(optimizer, 0.5));
    for (size_t round = 0; round < 2; round++) { /* a second run starts from the beginning */
      p.calls = 0;
      start_at(w, 5);
      start_at(v, 5);
      CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, 50, w, NULL, 5));
      for (size_t k = 1; k <= 50; k++) {
        double step = schedule == PLIM_SCHEDULE_INVERSE        ? 0.2 / (double)k
                      : schedule == PLIM_SCHEDULE_INVERSE_SQRT ? 0.2 / sqrt((double)k)
                                                               : 0.2;
        for (size_t i = 0; i < 5; i++) {
          v[i] = (1.0 - 0.5 * step) * v[i] - step * p.a[i] * (v[i] - p.c[i]);
        }
      }
      for (size_t i = 0; i < 5; i++) {
        CHECK_NEAR(v[i], w[i], 1e-13);
      }
    }
    plim_optimizer_free(optimizer);
  }
}

static void a_quadratic_is_solved_with_every_schedule(void) {
  static const double sgd_steps[3] = {0.3, 2.0, 0.4}, adam_steps[3] = {0.05, 1.0, 0.3};
  static const double adam_errors[3] = {1e-3, 1e-1, 1e-3};
  for (int32_t schedule = 0; schedule < 3; schedule++) {
    size_t steps = schedule == PLIM_SCHEDULE_INVERSE ? check_scale(100000, 20000) : 4000;
    problem p = problem_of(6);
    plim_optimizer *optimizer = sgd(sgd_steps[schedule], schedule);
    double w[6];
    start_at(w, 6);
    CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, steps, w, NULL, 6));
    for (size_t i = 0; i < 6; i++) { /* with γ = 2/l the error falls like k^-2, with a constant step geometrically */
      CHECK_NEAR(p.c[i], w[i], 1e-6);
    }
    plim_optimizer_free(optimizer);
    optimizer = adam(adam_steps[schedule], schedule);
    p.calls = 0;
    start_at(w, 6);
    CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, check_scale(100000, 20000), w, NULL, 6));
    for (size_t i = 0; i < 6; i++) {
      CHECK_NEAR(p.c[i], w[i], adam_errors[schedule]);
    }
    plim_optimizer_free(optimizer);
  }
}

/* Cases with a known nearest point: a box, coordinate by coordinate, and a ball if all a_i are 1. */
static void a_quadratic_is_solved_on_a_set(void) {
  problem p = problem_of(6);
  plim_optimizer *optimizer = sgd(0.2, PLIM_SCHEDULE_CONSTANT);
  double w[6], radius = 1.7;
  start_at(w, 6);
  CHECK_OK(plim_optimizer_set_box(optimizer, -1.1, 1.3));
  CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, 400, w, NULL, 6));
  for (size_t i = 0; i < 6; i++) {
    CHECK_NEAR(p.c[i] < -1.1 ? -1.1 : p.c[i] > 1.3 ? 1.3 : p.c[i], w[i], 1e-9);
  }
  for (size_t i = 0; i < 6; i++) {
    p.a[i] = 1.0;
  }
  p.calls = 0;
  CHECK_OK(plim_optimizer_set_ball(optimizer, radius));
  CHECK_OK(plim_optimizer_minimize(optimizer, gradient_of, &p, 400, w, NULL, 6));
  for (size_t i = 0; i < 6; i++) {
    CHECK_NEAR(p.c[i] * radius / norm_of(p.c, 6), w[i], 1e-9);
  }
  plim_optimizer_free(optimizer);
}

/* Large random gradients, so that nearly every step is projected. Checks every iterate except the first. */
typedef struct walk {
  uint64_t state;
  double size, radius, low, high;
  size_t outside;
} walk;

static int32_t walk_on(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
  walk *p = (walk *)user_data;
  p->outside += step > 1 && norm_of(w, dim) > p->radius;
  for (size_t i = 0; i < dim; i++) {
    p->outside += step > 1 && !(w[i] >= p->low && w[i] <= p->high);
    gradient[i] = p->size * dense_random(&p->state);
  }
  return 0;
}

static void iterates_never_leave_a_ball_or_a_box(void) {
  static const double radii[] = {1.0, 0.1, 3.3, 1e-12, 1e12, 1e-120, 1e120};
  static const double bounds[][2] = {{-0.1, 0.3}, {0.1, 0.1}, {-INFINITY, -2.0}, {0.0, INFINITY}, {1e39, 1e300}};
  for (size_t rule = 0; rule < 2; rule++) {
    for (size_t r = 0; r < sizeof radii / sizeof radii[0]; r++) {
      walk p = {3, 3.0 * radii[r], radii[r], -INFINITY, INFINITY, 0};
      double w[MOST];
      plim_optimizer *optimizer = rule == 0 ? sgd(1.0, 0) : adam(2.0 * radii[r], 0);
      CHECK_OK(plim_optimizer_set_ball(optimizer, radii[r]));
      start_at(w, MOST);
      CHECK_OK(plim_optimizer_minimize(optimizer, walk_on, &p, check_scale(2000, 100), w, NULL, MOST));
      CHECK(p.outside == 0 && norm_of(w, MOST) <= radii[r] && norm_of(w, MOST) > 0.0);
      plim_optimizer_free(optimizer);
    }
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
      walk p = {4, 1.0, INFINITY, bounds[b][0], bounds[b][1], 0};
      double w[MOST];
      plim_optimizer *optimizer = rule == 0 ? sgd(1.0, 0) : adam(0.5, 0);
      CHECK_OK(plim_optimizer_set_box(optimizer, bounds[b][0], bounds[b][1]));
      start_at(w, MOST);
      CHECK_OK(plim_optimizer_minimize(optimizer, walk_on, &p, check_scale(2000, 100), w, NULL, MOST));
      CHECK(p.outside == 0);
      for (size_t i = 0; i < MOST; i++) {
        CHECK(w[i] >= bounds[b][0] && w[i] <= bounds[b][1]);
      }
      plim_optimizer_free(optimizer);
    }
  }
}

static int32_t stay(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
  (void)user_data, (void)step, (void)w, (void)gradient, (void)dim;
  return 0;
}

/* Points whose squares are beyond a double, or vanish: the nearest point of the ball is still on their ray. */
static void a_ball_holds_for_every_size_of_a_double(void) {
  static const double sizes[] = {1e-300, 1e-200, 1e-160, 1.0, 1e160, 1e200, 1e307};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    double w[2], radius = 0.5 * sizes[s];
    plim_optimizer *optimizer = sgd(1.0, 0);
    w[0] = 4.0 * sizes[s];
    w[1] = 3.0 * sizes[s];
    CHECK_OK(plim_optimizer_set_ball(optimizer, radius));
    CHECK_OK(plim_optimizer_minimize(optimizer, stay, NULL, 1, w, NULL, 2)); /* a zero gradient: only projects */
    CHECK_NEAR(0.4, w[0] / sizes[s], 1e-12);
    CHECK_NEAR(0.3, w[1] / sizes[s], 1e-12);
    plim_optimizer_free(optimizer);
  }
}

static void a_non_zero_answer_cancels_at_the_iterate_it_was_asked_about(void) {
  for (size_t stop = 1; stop <= 5; stop++) {
    problem p = problem_of(4);
    plim_optimizer *optimizer = sgd(0.25, PLIM_SCHEDULE_CONSTANT);
    double w[4], average[4] = {7.0, 7.0, 7.0, 7.0};
    p.stop_at = stop;
    start_at(w, 4);
    CHECK_FAILS(PLIM_ERROR_CANCELLED, "step", plim_optimizer_minimize(optimizer, gradient_of, &p, 5, w, average, 4));
    CHECK(p.calls == stop && p.wrong == 0);
    CHECK_BITS(p.visited[stop - 1], w, 4);
    for (size_t i = 0; i < 4; i++) {
      CHECK(average[i] == 7.0);
    }
    plim_optimizer_free(optimizer);
  }
}

static void what_diverges_leaves_the_last_finite_iterate(void) {
  static const double bad[] = {NAN, INFINITY, -INFINITY, 1e308};
  for (size_t rule = 0; rule < 2; rule++) {
    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
      problem p = problem_of(4);
      plim_optimizer *optimizer = NULL;
      double w[4], average[4] = {7.0, 7.0, 7.0, 7.0};
      p.bad_at = 3;
      p.bad = bad[b];
      if (rule == 0) { /* the last one is finite, but 100 times as much is not */
        optimizer = sgd(bad[b] == 1e308 ? 100.0 : 0.25, PLIM_SCHEDULE_CONSTANT);
      } else {
        optimizer = adam(0.25, PLIM_SCHEDULE_CONSTANT);
        p.bad = isfinite(bad[b]) ? NAN : bad[b]; /* Adam's step does not grow with the gradient */
      }
      start_at(w, 4);
      CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_optimizer_minimize(optimizer, gradient_of, &p, 9, w, average, 4));
      CHECK(p.calls == 3 && p.wrong == 0);
      CHECK_BITS(p.visited[2], w, 4);
      for (size_t i = 0; i < 4; i++) {
        CHECK(average[i] == 7.0);
      }
      plim_optimizer_free(optimizer);
    }
  }
}

static void a_step_too_large_diverges_by_itself(void) {
  problem p = problem_of(4);
  plim_optimizer *optimizer = sgd(1e6, PLIM_SCHEDULE_CONSTANT);
  double w[4];
  start_at(w, 4);
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_optimizer_minimize(optimizer, gradient_of, &p, 1000, w, NULL, 4));
  CHECK(p.calls > 10 && p.calls < 1000);
  for (size_t i = 0; i < 4; i++) {
    CHECK(isfinite(w[i]));
  }
  plim_optimizer_free(optimizer);
}

static void a_start_that_is_not_finite_is_refused(void) {
  static const double bad[] = {NAN, INFINITY, -INFINITY};
  for (size_t b = 0; b < 3; b++) {
    problem p = problem_of(4);
    plim_optimizer *optimizer = sgd(0.25, PLIM_SCHEDULE_CONSTANT);
    double w[4], before[4], average[4] = {7.0, 7.0, 7.0, 7.0};
    start_at(w, 4);
    w[2] = bad[b];
    memcpy(before, w, sizeof w);
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "w[2]",
                plim_optimizer_minimize(optimizer, gradient_of, &p, 5, w, average, 4));
    CHECK(p.calls == 0);
    CHECK_BITS(before, w, 4);
    CHECK(average[0] == 7.0 && average[3] == 7.0);
    plim_optimizer_free(optimizer);
  }
}

/* A model is trained step by step; a minimisation in between has no effect on it. */
static void what_the_optimizer_remembers_of_a_model_stays(void) {
  static const size_t widths[2] = {4, 4};
  for (size_t rule = 0; rule < 2; rule++) {
    float got[2][16], average[2][16];
    for (size_t round = 0; round < 2; round++) {
      plim_model *model = NULL;
      plim_optimizer *optimizer = rule == 0 ? sgd(0.5, PLIM_SCHEDULE_INVERSE) : adam(0.1, PLIM_SCHEDULE_INVERSE_SQRT);
      uint64_t state = 5;
      CHECK_OK(plim_model_gcn(widths, 2, 1, &model));
      CHECK_OK(plim_optimizer_set_averaging(optimizer, 1));
      for (size_t k = 0; k < 12; k++) {
        float gradient[16];
        for (size_t i = 0; i < 16; i++) {
          gradient[i] = (float)dense_random(&state);
        }
        CHECK_OK(plim_optimizer_update(optimizer, model, gradient, 16));
        if (round == 1 && k % 4 == 1) {
          problem p = problem_of(5);
          double w[5], mean[5], first[5];
          start_at(w, 5);
          p.stop_at = k == 5 ? 2 : 0;
          p.bad_at = k == 9 ? 2 : 0;
          p.bad = NAN;
          CHECK_STATUS(k == 5   ? PLIM_ERROR_CANCELLED
                       : k == 9 ? PLIM_ERROR_DIVERGED
                                : PLIM_OK,
                       plim_optimizer_minimize(optimizer, gradient_of, &p, 7, w, mean, 5));
          start_at(first, 5);
          CHECK_BITS(first, p.visited[0], 5);
        }
      }
      CHECK_OK(plim_model_get_parameters(model, got[round], 16));
      CHECK_OK(plim_optimizer_average(optimizer, average[round], 16));
      plim_optimizer_free(optimizer);
      plim_model_free(model);
    }
    CHECK_BITS(got[0], got[1], 16);
    CHECK_BITS(average[0], average[1], 16);
  }
}

/* Calls with the optimizer that calls the oracle fail with PLIM_ERROR_BUSY. */
static int32_t meddle(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
  plim_optimizer *optimizer = *(plim_optimizer **)user_data;
  double inner[1] = {1.0};
  (void)step, (void)w, (void)gradient, (void)dim;
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_set_ball(optimizer, 1.0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_reset(optimizer));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_minimize(optimizer, stay, NULL, 1, inner, NULL, 1));
  plim_optimizer_free(optimizer); /* the handle is dead at once; the object is destroyed when the call returns */
  CHECK_STATUS(PLIM_ERROR_INVALID_HANDLE, plim_optimizer_reset(optimizer));
  return 0;
}

static void an_oracle_that_meddles_with_its_optimizer_is_harmless(void) {
  plim_optimizer *optimizer = sgd(0.25, PLIM_SCHEDULE_CONSTANT);
  double w[1] = {2.0};
  CHECK_OK(plim_optimizer_minimize(optimizer, meddle, &optimizer, 1, w, NULL, 1));
  CHECK(w[0] == 2.0);
}

int main(void) {
  RUN(the_oracle_sees_every_iterate_and_the_result_is_the_next_one);
  RUN(every_schedule_and_decay_starts_at_1);
  RUN(a_quadratic_is_solved_with_every_schedule);
  RUN(a_quadratic_is_solved_on_a_set);
  RUN(iterates_never_leave_a_ball_or_a_box);
  RUN(a_ball_holds_for_every_size_of_a_double);
  RUN(a_non_zero_answer_cancels_at_the_iterate_it_was_asked_about);
  RUN(what_diverges_leaves_the_last_finite_iterate);
  RUN(a_step_too_large_diverges_by_itself);
  RUN(a_start_that_is_not_finite_is_refused);
  RUN(what_the_optimizer_remembers_of_a_model_stays);
  RUN(an_oracle_that_meddles_with_its_optimizer_is_harmless);
  return check_close();
}
