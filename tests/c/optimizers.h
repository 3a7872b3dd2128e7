/* Optimizers, and what they update. */
#ifndef PLIM_TESTS_OPTIMIZERS_H
#define PLIM_TESTS_OPTIMIZERS_H

#include "dense.h"

enum { COUNT = 16 };

static inline plim_model *model_of(const float *parameters) {
  static const size_t widths[2] = {4, 4};
  plim_model *model = NULL;
  CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
  CHECK_OK(plim_model_set_parameters(model, parameters, COUNT));
  return model;
}

/* Random numbers around 0 of this size. */
static inline void some(float *values, double size, uint64_t *state) {
  for (size_t i = 0; i < COUNT; i++) {
    values[i] = (float)(size * dense_random(state));
  }
}

static inline plim_optimizer *sgd(double step, int32_t schedule) {
  plim_optimizer *optimizer = NULL;
  CHECK_OK(plim_optimizer_sgd(step, &optimizer));
  CHECK_OK(plim_optimizer_set_schedule(optimizer, schedule));
  return optimizer;
}

#endif
