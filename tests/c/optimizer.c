/* Optimizers on a model: SGD and Adam against the formulas in double, schedules, decay, projections, averages, and
 * refused updates. */
#define _POSIX_C_SOURCE 200809L

#include "optimizers.h"

static plim_optimizer *adam(double step) {
  plim_optimizer *optimizer = NULL;
  CHECK_OK(plim_optimizer_adam(step, &optimizer));
  return optimizer;
}

static void read_parameters(const plim_model *model, float *parameters) {
  check_fill(parameters, COUNT);
  CHECK_OK(plim_model_get_parameters(model, parameters, COUNT));
}

/* A model with random parameters, which are copied to `w`. */
static plim_model *random_model(double size, uint64_t *state, double *w) {
  float start[COUNT];
  some(start, size, state);
  for (size_t i = 0; i < COUNT; i++) {
    w[i] = (double)start[i];
  }
  return model_of(start);
}

static double norm_of(const float *values) {
  double sum = 0.0;
  for (size_t i = 0; i < COUNT; i++) {
    sum += (double)values[i] * (double)values[i];
  }
  return sqrt(sum);
}

/* γ_k. */
static double step_at(double step, int32_t schedule, size_t k) {
  if (schedule == PLIM_SCHEDULE_INVERSE) {
    return step / (double)k;
  }
  return schedule == PLIM_SCHEDULE_INVERSE_SQRT ? step / sqrt((double)k) : step;
}

static void sgd_with_every_schedule_follows_the_formula(void) {
  static const double decays[2] = {0.0, 0.5};
  for (int32_t schedule = 0; schedule < 3; schedule++) {
    for (size_t d = 0; d < 2; d++) {
      uint64_t state = 5;
      float gradient[COUNT], got[COUNT];
      double w[COUNT];
      plim_model *model;
      plim_optimizer *optimizer = sgd(0.3, schedule);
      CHECK_OK(plim_optimizer_set_decay(optimizer, decays[d]));
      model = random_model(2.0, &state, w);
      for (size_t k = 1; k <= 60; k++) {
        double step = step_at(0.3, schedule, k);
        some(gradient, 1.0, &state);
        CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
        read_parameters(model, got);
        for (size_t i = 0; i < COUNT; i++) {
          w[i] = (1.0 - step * decays[d]) * w[i] - step * (double)gradient[i];
          CHECK_NEAR(w[i], (double)got[i], 5e-6);
        }
      }
      plim_optimizer_free(optimizer);
      plim_model_free(model);
    }
  }
}

static void exact_arithmetic_has_exact_results(void) {
  float start[COUNT], gradient[COUNT], expected[COUNT], got[COUNT];
  plim_model *model;
  plim_optimizer *optimizer = NULL;
  CHECK_OK(plim_optimizer_sgd(0.25, &optimizer)); /* a constant step by default */
  for (size_t i = 0; i < COUNT; i++) {
    start[i] = expected[i] = (float)i - 7.5f;
    gradient[i] = 0.125f * (float)i;
  }
  model = model_of(start);
  for (size_t k = 1; k <= 20; k++) {
    CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
    read_parameters(model, got);
    for (size_t i = 0; i < COUNT; i++) {
      expected[i] -= 0.25f * gradient[i];
    }
    CHECK_BITS(expected, got, COUNT);
  }
  plim_optimizer_free(optimizer);
  plim_model_free(model);
}

static void k_counts_updates_until_the_optimizer_is_reset(void) {
  float ones[COUNT], zeros[COUNT] = {0.0f}, got[COUNT];
  plim_model *model = model_of(zeros);
  plim_optimizer *optimizer = sgd(1.0, PLIM_SCHEDULE_CONSTANT);
  for (size_t i = 0; i < COUNT; i++) {
    ones[i] = 1.0f;
  }
  for (size_t k = 1; k <= 7; k++) { /* k counts under every schedule */
    CHECK_OK(plim_optimizer_update(optimizer, model, ones, COUNT));
  }
  CHECK_OK(plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_INVERSE));
  CHECK_OK(plim_model_set_parameters(model, zeros, COUNT));
  CHECK_OK(plim_optimizer_update(optimizer, model, ones, COUNT));
  read_parameters(model, got);
  CHECK(got[0] == -1.0f / 8.0f);
  CHECK_OK(plim_optimizer_reset(optimizer));
  CHECK_OK(plim_model_set_parameters(model, zeros, COUNT));
  CHECK_OK(plim_optimizer_update(optimizer, model, ones, COUNT));
  read_parameters(model, got);
  CHECK(got[0] == -1.0f);
  plim_optimizer_free(optimizer);
  plim_model_free(model);
}

/* β 0.9 and 0.999, ε 1e-8, moments corrected for their start at 0; w shrinks before the step, as in AdamW. */
static void adam_follows_the_formula(void) {
  static const double decays[2] = {0.0, 0.4};
  for (int32_t schedule = 0; schedule < 3; schedule++) {
    for (size_t d = 0; d < 2; d++) {
      uint64_t state = 6;
      float gradient[COUNT], got[COUNT];
      double w[COUNT], m[COUNT] = {0.0}, v[COUNT] = {0.0};
      plim_model *model;
      plim_optimizer *optimizer = adam(0.05);
      CHECK_OK(plim_optimizer_set_schedule(optimizer, schedule));
      CHECK_OK(plim_optimizer_set_decay(optimizer, decays[d]));
      model = random_model(1.0, &state, w);
      for (size_t k = 1; k <= 60; k++) {
        double step = step_at(0.05, schedule, k);
        some(gradient, 3.0, &state);
        gradient[2] = 0.0f;
        gradient[3] *= 1e-8f; /* about ε */
        gradient[4] *= 1e6f;
        CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
        read_parameters(model, got);
        for (size_t i = 0; i < COUNT; i++) {
          double g = (double)gradient[i], m_hat, v_hat;
          m[i] = 0.9 * m[i] + 0.1 * g;
          v[i] = 0.999 * v[i] + 0.001 * g * g;
          m_hat = m[i] / (1.0 - pow(0.9, (double)k));
          v_hat = v[i] / (1.0 - pow(0.999, (double)k));
          w[i] = (1.0 - step * decays[d]) * w[i] - step * m_hat / (sqrt(v_hat) + 1e-8);
          CHECK_NEAR(w[i], (double)got[i], 5e-6);
        }
      }
      plim_optimizer_free(optimizer);
      plim_model_free(model);
    }
  }
}

/* Other β and ε, decay as in AdamW. The last ones are close to what is allowed. */
static void adam_follows_the_formula_with_other_betas_and_epsilon(void) {
  static const double settings[][3] = {{0.0, 0.99, 1e-8},  {0.5, 0.9, 1e-3},  {0.9, 0.82, 1e-8},
                                       {0.99, 0.999, 1e2}, {0.0, 0.25, 1e-16}, {0.99999, 0.99999, 1e-8}};
  for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++) {
    const double beta1 = settings[s][0], beta2 = settings[s][1], epsilon = settings[s][2];
    uint64_t state = 16;
    float gradient[COUNT], got[COUNT];
    double w[COUNT], m[COUNT] = {0.0}, v[COUNT] = {0.0};
    plim_model *model;
    plim_optimizer *optimizer = adam(0.05);
    CHECK_OK(plim_optimizer_set_betas(optimizer, beta1, beta2));
    CHECK_OK(plim_optimizer_set_epsilon(optimizer, epsilon));
    CHECK_OK(plim_optimizer_set_decay(optimizer, 0.1));
    model = random_model(1.0, &state, w);
    for (size_t k = 1; k <= 60; k++) {
      some(gradient, 3.0, &state);
      gradient[2] = 0.0f;
      CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
      read_parameters(model, got);
      for (size_t i = 0; i < COUNT; i++) {
        double g = (double)gradient[i], m_hat, v_hat;
        m[i] = beta1 * m[i] + (1.0 - beta1) * g;
        v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
        m_hat = m[i] / (1.0 - pow(beta1, (double)k));
        v_hat = v[i] / (1.0 - pow(beta2, (double)k));
        w[i] = (1.0 - 0.05 * 0.1) * w[i] - 0.05 * m_hat / (sqrt(v_hat) + epsilon);
        CHECK_NEAR(w[i], (double)got[i], 2e-5);
      }
    }
    plim_optimizer_free(optimizer);
    plim_model_free(model);
  }
}

/* w - γg·min(1, c / (‖g‖ + 1e-6)). */
static void a_long_gradient_is_clipped_and_a_short_one_is_not(void) {
  uint64_t state = 17;
  size_t clipped = 0;
  float gradient[COUNT], got[COUNT];
  double w[COUNT];
  plim_model *model;
  plim_optimizer *optimizer = sgd(0.3, PLIM_SCHEDULE_CONSTANT);
  CHECK_OK(plim_optimizer_set_clip(optimizer, 2.0));
  model = random_model(1.0, &state, w);
  for (size_t k = 1; k <= 60; k++) {
    double norm, factor;
    some(gradient, k % 2 == 0 ? 0.5 : 5.0, &state);
    norm = norm_of(gradient);
    factor = norm + 1e-6 > 2.0 ? 2.0 / (norm + 1e-6) : 1.0;
    clipped += factor < 1.0;
    CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
    read_parameters(model, got);
    for (size_t i = 0; i < COUNT; i++) {
      w[i] -= 0.3 * factor * (double)gradient[i];
      CHECK_NEAR(w[i], (double)got[i], 5e-6);
    }
  }
  CHECK(clipped == 30);
  plim_optimizer_free(optimizer);
  plim_model_free(model);
}

/* A gradient that is not longer keeps its bits; 0 and INFINITY clear the bound. */
static void clipping_that_does_not_apply_changes_no_bit(void) {
  static const double norms[] = {INFINITY, 0.0, 1e30, 100.0};
  for (size_t rule = 0; rule < 2; rule++) {
    for (size_t n = 0; n < sizeof norms / sizeof norms[0]; n++) {
      uint64_t state = 18;
      float start[COUNT], gradient[COUNT], got[2][COUNT];
      some(start, 1.0, &state);
      some(gradient, 3.0, &state);
      for (size_t i = 0; i < 2; i++) {
        plim_model *model = model_of(start);
        plim_optimizer *optimizer = rule == 0 ? sgd(0.3, PLIM_SCHEDULE_CONSTANT) : adam(0.1);
        if (i == 0) {
          CHECK_OK(plim_optimizer_set_clip(optimizer, 1e-3));
          CHECK_OK(plim_optimizer_set_clip(optimizer, norms[n]));
        }
        CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
        CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
        read_parameters(model, got[i]);
        plim_optimizer_free(optimizer);
        plim_model_free(model);
      }
      CHECK_BITS(got[0], got[1], COUNT);
    }
  }
}

/* Without clipping this gradient would leave the range of a float. */
static void a_clipped_gradient_may_be_enormous(void) {
  float start[COUNT] = {0.0f}, gradient[COUNT] = {3e38f, -3e38f}, got[COUNT];
  plim_model *model = model_of(start);
  plim_optimizer *optimizer = sgd(100.0, PLIM_SCHEDULE_CONSTANT);
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_optimizer_update(optimizer, model, gradient, COUNT));
  CHECK_OK(plim_optimizer_set_clip(optimizer, 1.0));
  CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
  read_parameters(model, got);
  CHECK_NEAR(-100.0 * sqrt(0.5), (double)got[0], 1e-4);
  CHECK_NEAR(100.0 * sqrt(0.5), (double)got[1], 1e-4);
  plim_optimizer_free(optimizer);
  plim_model_free(model);
}

/* Iterates never leave the ball, not even by a bit, and each is the nearest point to w - γg. */
static void a_ball_keeps_iterates_in_it(void) {
  static const double radii[] = {0.7, 1.0, 0.1, 3.1, 1e-3, 1e-30, 1e20};
  for (size_t r = 0; r < sizeof radii / sizeof radii[0]; r++) {
    double radius = radii[r];
    uint64_t state = 7;
    float w[COUNT], gradient[COUNT], got[COUNT];
    plim_model *model;
    plim_optimizer *optimizer = sgd(0.5, PLIM_SCHEDULE_CONSTANT);
    CHECK_OK(plim_optimizer_set_ball(optimizer, radius));
    some(w, radius, &state);
    model = model_of(w);
    for (size_t k = 1; k <= check_scale(500, 50); k++) {
      double free_norm, to[COUNT];
      read_parameters(model, w);
      some(gradient, k % 3 == 0 ? 0.1 * radius : 3.0 * radius, &state); /* some stay inside, most do not */
      CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
      read_parameters(model, got);
      CHECK(norm_of(got) <= radius);
      free_norm = 0.0;
      for (size_t i = 0; i < COUNT; i++) {
        to[i] = (double)w[i] - 0.5 * (double)gradient[i];
        free_norm += to[i] * to[i];
      }
      free_norm = sqrt(free_norm);
      for (size_t i = 0; i < COUNT; i++) {
        CHECK_NEAR(free_norm > radius ? to[i] * (radius / free_norm) : to[i], (double)got[i], 1e-6 * radius);
      }
    }
    plim_optimizer_free(optimizer);
    plim_model_free(model);
  }
}

static void a_box_keeps_every_parameter_in_it(void) {
  static const double bounds[][2] = {{-0.1, 0.3}, {0.0, INFINITY}, {-INFINITY, 0.2}, {-0.7, -0.1}, {0.5, 0.5},
                                     {-1e39, 1e39}};
  for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) { /* 0.1 and 0.3 are not floats: watch rounding */
    double low = bounds[b][0], high = bounds[b][1];
    for (size_t rule = 0; rule < 2; rule++) {
      uint64_t state = 8;
      float w[COUNT], gradient[COUNT], got[COUNT];
      plim_model *model;
      plim_optimizer *optimizer = rule == 0 ? sgd(0.5, PLIM_SCHEDULE_CONSTANT) : adam(0.2);
      CHECK_OK(plim_optimizer_set_box(optimizer, low, high));
      some(w, 1.0, &state);
      model = model_of(w);
      for (size_t k = 1; k <= 100; k++) {
        read_parameters(model, w);
        some(gradient, 1.0, &state);
        CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
        read_parameters(model, got);
        for (size_t i = 0; i < COUNT; i++) {
          CHECK((double)got[i] >= low && (double)got[i] <= high);
          if (rule == 0) {
            double to = (double)w[i] - 0.5 * (double)gradient[i];
            CHECK_NEAR(to < low ? low : to > high ? high : to, (double)got[i], 1e-6);
          }
        }
      }
      plim_optimizer_free(optimizer);
      plim_model_free(model);
    }
  }
}

/* The result of one step of size 1 from 0 along -g, projected. */
static void step_out(plim_optimizer *optimizer, float *got) {
  float zeros[COUNT] = {0.0f}, gradient[COUNT];
  plim_model *model = model_of(zeros);
  for (size_t i = 0; i < COUNT; i++) {
    gradient[i] = i == 0 ? -4.0f : i == 1 ? -3.0f : 0.0f;
  }
  CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
  read_parameters(model, got);
  plim_model_free(model);
}

static void ball_and_box_replace_each_other_and_infinity_clears_both(void) {
  plim_optimizer *optimizer = sgd(1.0, PLIM_SCHEDULE_CONSTANT);
  float got[COUNT];
  step_out(optimizer, got);
  CHECK(got[0] == 4.0f && got[1] == 3.0f); /* no projection by default */
  CHECK_OK(plim_optimizer_set_ball(optimizer, 1.0));
  step_out(optimizer, got);
  CHECK_NEAR(0.8, (double)got[0], 1e-6);
  CHECK_NEAR(0.6, (double)got[1], 1e-6);
  CHECK_OK(plim_optimizer_set_box(optimizer, -2.0, 2.0)); /* replaces the ball */
  step_out(optimizer, got);
  CHECK(got[0] == 2.0f && got[1] == 2.0f);
  CHECK_OK(plim_optimizer_set_ball(optimizer, 2.5)); /* replaces the box */
  step_out(optimizer, got);
  CHECK_NEAR(2.0, (double)got[0], 1e-6);
  CHECK_NEAR(1.5, (double)got[1], 1e-6);
  CHECK_OK(plim_optimizer_set_ball(optimizer, INFINITY));
  step_out(optimizer, got);
  CHECK(got[0] == 4.0f && got[1] == 3.0f);
  CHECK_OK(plim_optimizer_set_box(optimizer, 0.0, 3.5));
  step_out(optimizer, got);
  CHECK(got[0] == 3.5f && got[1] == 3.0f);
  CHECK_OK(plim_optimizer_set_ball(optimizer, INFINITY)); /* clears a box too */
  step_out(optimizer, got);
  CHECK(got[0] == 4.0f && got[1] == 3.0f);
  CHECK_OK(plim_optimizer_set_ball(optimizer, 1.0));
  CHECK_OK(plim_optimizer_set_box(optimizer, -INFINITY, INFINITY));
  step_out(optimizer, got);
  CHECK(got[0] == 4.0f && got[1] == 3.0f);
  plim_optimizer_free(optimizer);
}

/* No float lies in the set: the update is refused, and the model does not change. */
static void a_box_without_a_float_in_it_moves_nothing(void) {
  static const double bounds[][2] = {{1e39, INFINITY}, {-INFINITY, -1e39}, {1e300, 1e301}, {0.1, 0.1}};
  for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
    uint64_t state = 9;
    float w[COUNT], got[COUNT];
    plim_model *model;
    plim_optimizer *optimizer = sgd(1.0, PLIM_SCHEDULE_CONSTANT);
    some(w, 1.0, &state);
    model = model_of(w);
    CHECK_OK(plim_optimizer_set_box(optimizer, bounds[b][0], bounds[b][1]));
    CHECK(plim_optimizer_update(optimizer, model, w, COUNT) != PLIM_OK);
    read_parameters(model, got);
    CHECK_BITS(w, got, COUNT);
    plim_optimizer_free(optimizer);
    plim_model_free(model);
  }
}

static void the_average_is_that_of_the_iterates_before_each_update(void) {
  for (size_t rule = 0; rule < 2; rule++) {
    uint64_t state = 10;
    float w[COUNT], gradient[COUNT], average[COUNT];
    double sum[COUNT] = {0.0};
    plim_model *model;
    plim_optimizer *optimizer = rule == 0 ? sgd(0.3, PLIM_SCHEDULE_INVERSE_SQRT) : adam(0.1);
    size_t averaged = 0;
    CHECK_OK(plim_optimizer_set_ball(optimizer, 2.0));
    some(w, 1.0, &state);
    model = model_of(w);
    check_fill(average, COUNT);
    for (size_t k = 1; k <= 90; k++) {
      if (k == 11) { /* from here on, so the first 10 do not enter */
        CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_average(optimizer, average, COUNT));
        CHECK_OK(plim_optimizer_set_averaging(optimizer, 1));
        CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_average(optimizer, average, COUNT));
        CHECK(check_filled(average, COUNT));
      }
      if (k == 61) { /* off and on: a new average */
        CHECK_OK(plim_optimizer_set_averaging(optimizer, 0));
        CHECK_OK(plim_optimizer_set_averaging(optimizer, -5));
        memset(sum, 0, sizeof sum);
        averaged = 0;
      }
      read_parameters(model, w);
      some(gradient, 1.0, &state);
      CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
      if (k >= 11) {
        averaged++;
        check_fill(average, COUNT);
        CHECK_OK(plim_optimizer_average(optimizer, average, COUNT));
        for (size_t i = 0; i < COUNT; i++) {
          sum[i] += (double)w[i];
          CHECK_NEAR(sum[i] / (double)averaged, (double)average[i], 1e-6);
        }
      }
    }
    CHECK_OK(plim_optimizer_reset(optimizer));
    CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_average(optimizer, average, COUNT));
    CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT)); /* averaging is a setting and remains on */
    CHECK_OK(plim_optimizer_average(optimizer, average, COUNT));
    plim_optimizer_free(optimizer);
    plim_model_free(model);
  }
}

/* `count` updates from `start` with gradients of this seed; the iterate and the average after them. */
static void updates(plim_optimizer *optimizer, const float *start, size_t count, uint64_t seed, float *result,
                    float *average) {
  plim_model *model = model_of(start);
  for (size_t k = 0; k < count; k++) {
    float gradient[COUNT];
    some(gradient, 1.0, &seed);
    CHECK_OK(plim_optimizer_update(optimizer, model, gradient, COUNT));
  }
  read_parameters(model, result);
  check_fill(average, COUNT);
  CHECK_OK(plim_optimizer_average(optimizer, average, COUNT));
  plim_model_free(model);
}

static void a_reset_optimizer_is_as_new_but_for_its_settings(void) {
  for (size_t rule = 0; rule < 2; rule++) {
    uint64_t state = 11;
    float start[COUNT], first[COUNT], again[COUNT], average[COUNT], average_again[COUNT];
    plim_optimizer *optimizer = rule == 0 ? sgd(0.3, PLIM_SCHEDULE_INVERSE) : adam(0.1);
    CHECK_OK(plim_optimizer_set_averaging(optimizer, 1));
    CHECK_OK(plim_optimizer_set_decay(optimizer, 0.1));
    CHECK_OK(plim_optimizer_set_ball(optimizer, 1.5));
    some(start, 1.0, &state);
    updates(optimizer, start, 20, 1, first, average);
    CHECK_OK(plim_optimizer_reset(optimizer));
    updates(optimizer, start, 20, 1, again, average_again);
    CHECK_BITS(first, again, COUNT);
    CHECK_BITS(average, average_again, COUNT);
    updates(optimizer, start, 20, 1, again, average_again); /* without a reset the sequence continues */
    CHECK(memcmp(first, again, sizeof first) != 0);
    plim_optimizer_free(optimizer);
  }
}

/* An optimizer, a model, and a twin of both that receives valid calls only. */
typedef struct twins {
  plim_optimizer *optimizers[2];
  plim_model *models[2];
  uint64_t state;
} twins;

static twins twins_of(size_t rule) {
  twins pair;
  float start[COUNT];
  pair.state = 12;
  some(start, 1.0, &pair.state);
  for (size_t i = 0; i < 2; i++) {
    pair.optimizers[i] = rule == 0 ? sgd(0.3, PLIM_SCHEDULE_INVERSE) : adam(0.1);
    CHECK_OK(plim_optimizer_set_averaging(pair.optimizers[i], 1));
    pair.models[i] = model_of(start);
  }
  return pair;
}

static void twins_free(twins *pair) {
  for (size_t i = 0; i < 2; i++) {
    plim_optimizer_free(pair->optimizers[i]);
    plim_model_free(pair->models[i]);
  }
}

/* Checks that both continue alike: k, moments, average and parameters are equal. */
static int twins_go_on(twins *pair, size_t count) {
  float w[2][COUNT], average[2][COUNT];
  for (size_t k = 0; k < count; k++) {
    float gradient[COUNT];
    some(gradient, 1.0, &pair->state);
    for (size_t i = 0; i < 2; i++) {
      CHECK_OK(plim_optimizer_update(pair->optimizers[i], pair->models[i], gradient, COUNT));
    }
  }
  for (size_t i = 0; i < 2; i++) {
    read_parameters(pair->models[i], w[i]);
    check_fill(average[i], COUNT);
    CHECK_OK(plim_optimizer_average(pair->optimizers[i], average[i], COUNT));
  }
  return memcmp(w[0], w[1], sizeof w[0]) == 0 && memcmp(average[0], average[1], sizeof average[0]) == 0;
}

static void another_number_of_parameters_is_refused_until_a_reset(void) {
  static const size_t widths[2] = {4, 5}, same[2] = {8, 2};
  for (size_t rule = 0; rule < 2; rule++) {
    twins pair = twins_of(rule);
    plim_model *other = NULL, *equal = NULL;
    float gradient[20] = {1.0f}, before[20], after[20];
    CHECK_OK(plim_model_gcn(widths, 2, 0, &other));
    CHECK_OK(plim_model_gcn(same, 2, 0, &equal));
    CHECK_OK(plim_model_get_parameters(other, before, 20));
    CHECK(twins_go_on(&pair, 3));
    CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "20", plim_optimizer_update(pair.optimizers[0], other, gradient, 20));
    CHECK_OK(plim_model_get_parameters(other, after, 20));
    CHECK_BITS(before, after, 20);
    CHECK(twins_go_on(&pair, 3));
    CHECK_OK(plim_optimizer_reset(pair.optimizers[0]));
    CHECK_OK(plim_optimizer_update(pair.optimizers[0], other, gradient, 20));
    CHECK_OK(plim_model_get_parameters(other, after, 20));
    CHECK(memcmp(before, after, sizeof before) != 0);
    CHECK_OK(plim_optimizer_update(pair.optimizers[1], equal, gradient, COUNT)); /* only the number matters */
    plim_model_free(equal);
    plim_model_free(other);
    twins_free(&pair);
  }
}

static void a_gradient_that_is_not_finite_changes_nothing(void) {
  static const float bad[3] = {NAN, INFINITY, -INFINITY};
  static const size_t places[3] = {0, 7, COUNT - 1};
  for (size_t rule = 0; rule < 2; rule++) {
    twins pair = twins_of(rule);
    for (size_t first = 0; first < 2; first++) { /* before the first update, and later */
      for (size_t i = 0; i < 9; i++) {
        float gradient[COUNT], before[COUNT], after[COUNT];
        char name[32];
        some(gradient, 1.0, &pair.state);
        gradient[places[i / 3]] = bad[i % 3];
        snprintf(name, sizeof name, "gradient[%zu]", places[i / 3]);
        read_parameters(pair.models[0], before);
        CHECK_FAILS(PLIM_ERROR_DIVERGED, name,
                    plim_optimizer_update(pair.optimizers[0], pair.models[0], gradient, COUNT));
        read_parameters(pair.models[0], after);
        CHECK_BITS(before, after, COUNT);
      }
      CHECK(twins_go_on(&pair, 5));
    }
    twins_free(&pair);
  }
}

/* A finite gradient with a result that is too large: the update has no effect. */
static void a_result_that_is_not_finite_changes_nothing(void) {
  for (size_t rule = 0; rule < 2; rule++) {
    twins pair = twins_of(rule);
    float gradient[COUNT], before[COUNT], after[COUNT];
    CHECK(twins_go_on(&pair, 4));
    some(gradient, 1.0, &pair.state);
    read_parameters(pair.models[0], before);
    CHECK_OK(plim_optimizer_set_decay(pair.optimizers[0], 1e300));
    CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_optimizer_update(pair.optimizers[0], pair.models[0], gradient, COUNT));
    read_parameters(pair.models[0], after);
    CHECK_BITS(before, after, COUNT);
    CHECK_OK(plim_optimizer_set_decay(pair.optimizers[0], 0.0));
    CHECK(twins_go_on(&pair, 5)); /* neither k nor moments nor average have moved */
    twins_free(&pair);
  }
}

static void two_optimizers_know_nothing_of_each_other(void) {
  uint64_t state = 13;
  float start[COUNT], alone[COUNT], beside[COUNT], average[COUNT], ignored[COUNT];
  plim_optimizer *one = adam(0.1), *two = adam(0.1);
  CHECK_OK(plim_optimizer_set_averaging(one, 1));
  CHECK_OK(plim_optimizer_set_averaging(two, 1));
  some(start, 1.0, &state);
  updates(one, start, 10, 3, alone, average);
  updates(two, start, 10, 3, beside, ignored);
  CHECK_BITS(alone, beside, COUNT);
  CHECK_BITS(average, ignored, COUNT);
  plim_optimizer_free(two);
  plim_optimizer_free(one);
}

int main(void) {
  RUN(sgd_with_every_schedule_follows_the_formula);
  RUN(exact_arithmetic_has_exact_results);
  RUN(k_counts_updates_until_the_optimizer_is_reset);
  RUN(adam_follows_the_formula);
  RUN(adam_follows_the_formula_with_other_betas_and_epsilon);
  RUN(a_long_gradient_is_clipped_and_a_short_one_is_not);
  RUN(clipping_that_does_not_apply_changes_no_bit);
  RUN(a_clipped_gradient_may_be_enormous);
  RUN(a_ball_keeps_iterates_in_it);
  RUN(a_box_keeps_every_parameter_in_it);
  RUN(ball_and_box_replace_each_other_and_infinity_clears_both);
  RUN(a_box_without_a_float_in_it_moves_nothing);
  RUN(the_average_is_that_of_the_iterates_before_each_update);
  RUN(a_reset_optimizer_is_as_new_but_for_its_settings);
  RUN(another_number_of_parameters_is_refused_until_a_reset);
  RUN(a_gradient_that_is_not_finite_changes_nothing);
  RUN(a_result_that_is_not_finite_changes_nothing);
  RUN(two_optimizers_know_nothing_of_each_other);
  return check_close();
}
