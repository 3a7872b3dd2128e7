// Optimizers: updates of a model, and minimize().
#include "check.hpp"

#include <memory>

using namespace plimsoll;

namespace {

const std::vector<float> ones{1, 1, 1, 1};

// The parameters of a model after updates along (1, 1, 1, 1), from 4.
std::vector<float> moved(Optimizer optimizer, int updates) {
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({4, 4, 4, 4});
  for (int i = 0; i < updates; ++i) {
    optimizer.update(model, ones);
  }
  return model.parameters();
}

void sgd_steps_along_the_gradient() {
  CHECK(equal(moved(Optimizer::sgd(.5), 1), std::vector<float>(4, 3.5f)));
  CHECK(equal(moved(Optimizer::sgd(.5), 4), std::vector<float>(4, 2)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "step", Optimizer::sgd(0));
}

void adam_steps_by_its_step_size() {
  CHECK(near(moved(Optimizer::adam(.25), 2), std::vector<float>(4, 3.5f), 1e-5));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "step", Optimizer::adam(NAN));
}

void schedules_shorten_the_steps() {
  CHECK(equal(moved(Optimizer::sgd(1).set_schedule(Schedule::constant), 2), std::vector<float>(4, 2)));
  CHECK(equal(moved(Optimizer::sgd(1).set_schedule(Schedule::inverse), 2), std::vector<float>(4, 2.5f)));
  CHECK(near(moved(Optimizer::sgd(1).set_schedule(Schedule::inverse_sqrt), 2),
             std::vector<float>(4, static_cast<float>(3 - std::sqrt(.5))), 1e-6));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "schedule", Optimizer::sgd(1).set_schedule(static_cast<Schedule>(8)));
}

void schedules_have_lengths_in_updates_or_epochs() {
  CHECK(equal(moved(Optimizer::sgd(1).set_step_decay(1, Unit::updates, .5), 3), std::vector<float>(4, 2.25f)));
  CHECK(equal(moved(Optimizer::sgd(1).set_step_decay(1, Unit::epochs, .5), 3), std::vector<float>(4, 1)));
  CHECK(near(moved(Optimizer::sgd(1).set_cosine(2, Unit::updates, .5), 4), std::vector<float>(4, 1.25f), 1e-6));
  CHECK(equal(moved(Optimizer::sgd(1).set_warmup(2, Unit::updates, 0), 3), std::vector<float>(4, 2.5f)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "every", Optimizer::sgd(1).set_step_decay(0, Unit::updates, .5));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "unit", Optimizer::sgd(1).set_cosine(1, static_cast<Unit>(2), .5));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "start", Optimizer::sgd(1).set_warmup(1, Unit::updates, 2));
}

void epochs_and_reports_reduce_the_step() {
  Optimizer optimizer = Optimizer::sgd(1).set_step_decay(2, Unit::epochs, .5).set_plateau(.25, 0, .125);
  CHECK(optimizer.step_size() == 1);
  optimizer.end_epoch();
  optimizer.end_epoch();
  CHECK(optimizer.step_size() == .5);
  for (int i = 0; i < 4; ++i) {
    optimizer.report(3);
  }
  CHECK(optimizer.step_size() == .0625);
  optimizer.reset();
  CHECK(optimizer.step_size() == 1);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "value", optimizer.report(NAN));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "factor", optimizer.set_plateau(0, 1, 0));
}

void long_gradients_are_clipped() {
  CHECK(near(moved(Optimizer::sgd(1).set_clip(1), 1), std::vector<float>(4, 3.5f), 1e-6)); // the gradient's norm is 2
  CHECK(equal(moved(Optimizer::sgd(1).set_clip(1).set_clip(0), 1), std::vector<float>(4, 3)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "norm", Optimizer::sgd(1).set_clip(-1));
}

void adam_has_betas_and_an_epsilon() {
  // Without a memory the step is g/(|g| + ε).
  CHECK(near(moved(Optimizer::adam(1).set_betas(0, .5).set_epsilon(1), 2), std::vector<float>(4, 3), 1e-6));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "beta2", Optimizer::adam(1).set_betas(.9, .8));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "epsilon", Optimizer::adam(1).set_epsilon(0));
}

void the_moving_average_follows_the_parameters() {
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({4, 4, 4, 4});
  Optimizer optimizer = Optimizer::sgd(1).set_ema(.5);
  CHECK_ERROR(PLIM_ERROR_MISSING_DATA, "", optimizer.ema(model));
  optimizer.update(model, ones);
  optimizer.update(model, ones);
  CHECK(equal(optimizer.ema(model), std::vector<float>(4, 2.75f))); // (4 + 3)/2, and with 2
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "decay", optimizer.set_ema(1));
}

void decay_shrinks_the_parameters() {
  CHECK(equal(moved(Optimizer::sgd(.5).set_decay(.5), 1), std::vector<float>(4, 2.5f)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "decay", Optimizer::sgd(1).set_decay(-1));
}

void iterates_stay_in_the_ball_or_the_box() {
  CHECK(near(moved(Optimizer::sgd(1).set_ball(2), 1), std::vector<float>(4, 1), 1e-6));
  CHECK(equal(moved(Optimizer::sgd(1).set_box(-1, 2), 1), std::vector<float>(4, 2)));
  CHECK(equal(moved(Optimizer::sgd(1).set_box(-1, 2).set_ball(INFINITY), 1), std::vector<float>(4, 3)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "radius", Optimizer::sgd(1).set_ball(0));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "low", Optimizer::sgd(1).set_box(2, 1));
}

void the_average_is_that_of_the_iterates() {
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({4, 4, 4, 4});
  Optimizer optimizer = Optimizer::sgd(1).set_averaging(true);
  CHECK_ERROR(PLIM_ERROR_MISSING_DATA, "", optimizer.average(model));
  optimizer.update(model, ones);
  optimizer.update(model, ones);
  CHECK(equal(optimizer.average(model), std::vector<float>(4, 3.5f)));
  CHECK_ERROR(PLIM_ERROR_BUFFER_TOO_SMALL, "4", optimizer.average(Model::gcn({1, 2}, 0)));
}

void a_reset_forgets_the_updates_and_not_the_settings() {
  Model model = Model::gcn({2, 2}, 0), other = Model::gcn({1, 2}, 0);
  model.set_parameters({4, 4, 4, 4});
  Optimizer optimizer = Optimizer::sgd(1).set_schedule(Schedule::inverse);
  optimizer.update(model, ones);
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "", optimizer.update(other, {1, 1}));
  optimizer.reset();
  optimizer.update(model, ones);
  CHECK(equal(model.parameters(), std::vector<float>(4, 2)));
}

void a_gradient_that_does_not_fit_is_refused() {
  Model model = Model::gcn({2, 2}, 0);
  const std::vector<float> before = model.parameters();
  Optimizer optimizer = Optimizer::sgd(1);
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "", optimizer.update(model, {1, 1, 1}));
  CHECK_ERROR(PLIM_ERROR_DIVERGED, "", optimizer.update(model, {1, 1, NAN, 1}));
  CHECK(equal(model.parameters(), before));
}

void an_estimator_and_an_optimizer_make_a_loop() {
  const Graph graph = path_graph();
  Model model = Model::gcn({2, 2}, 0);
  Estimator estimator = Estimator::unbiased();
  Optimizer optimizer = Optimizer::adam(.1);
  for (int i = 0; i < 100; ++i) {
    optimizer.update(model, estimator.gradient(model, graph, {0, 3}).values);
  }
  CHECK(model.evaluate(graph, Split::train).loss < .1);
}

void minimize_asks_the_oracle_at_each_step() {
  std::vector<double> w{8, -4};
  std::vector<std::size_t> steps;
  const auto [average, cancelled] =
      Optimizer::sgd(.5).minimize(w, 3, [&steps](std::size_t step, Span<const double> at, Span<double> gradient) {
        steps.push_back(step);
        for (std::size_t i = 0; i < at.size(); ++i) {
          gradient[i] = at[i];
        }
      });
  CHECK(equal(steps, std::vector<int>{1, 2, 3}) && !cancelled);
  CHECK(equal(w, std::vector<double>{1, -.5}));
  CHECK(near(average, {14. / 3, -7. / 3}, 1e-15));
}

void an_oracle_may_stop() {
  double w[] = {8};
  const MinimizeResult result =
      Optimizer::sgd(.5).minimize(w, 100, [](std::size_t step, Span<const double> at, Span<double> gradient) {
        gradient[0] = at[0];
        return step == 3 ? Next::stop : Next::go;
      });
  CHECK(result.cancelled && result.average.empty());
  CHECK(w[0] == 2);
}

void what_an_oracle_throws_comes_out_of_minimize() {
  struct Trouble {
    int step;
  };
  std::vector<double> w{8};
  Optimizer optimizer = Optimizer::sgd(.5);
  try {
    optimizer.minimize(w, 100, [](std::size_t step, Span<const double> at, Span<double> gradient) {
      if (step == 4) {
        throw Trouble{4};
      }
      gradient[0] = at[0];
    });
    CHECK(!"reached");
  } catch (const Trouble &trouble) {
    CHECK(trouble.step == 4);
  }
  CHECK(w[0] == 1);
  const auto halve = [](std::size_t, Span<const double> at, Span<double> gradient) { gradient[0] = at[0]; };
  CHECK(!optimizer.minimize(w, 1, halve).cancelled && w[0] == .5);
}

void an_oracle_keeps_what_it_captures() {
  int calls = 0;
  struct Counting {
    int &calls;
    std::unique_ptr<double> slope;
    void operator()(std::size_t, Span<const double>, Span<double> gradient) {
      ++calls;
      gradient[0] = *slope;
    }
  };
  std::vector<double> w{0};
  Counting oracle{calls, std::make_unique<double>(1)};
  Optimizer::sgd(1).minimize(w, 5, oracle); // called in place, not copied
  CHECK(calls == 5 && w[0] == -5 && *oracle.slope == 1);
}

void a_minimisation_that_diverges_throws_and_leaves_the_last_finite_iterate() {
  std::vector<double> w{1};
  Optimizer optimizer = Optimizer::sgd(1);
  const auto explode = [](std::size_t step, Span<const double>, Span<double> gradient) {
    gradient[0] = step < 3 ? -1 : INFINITY;
  };
  CHECK_ERROR(PLIM_ERROR_DIVERGED, "", optimizer.minimize(w, 10, explode));
  CHECK(w[0] == 3);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_steps", optimizer.minimize(w, 0, explode));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "dim", optimizer.minimize(Span<double>(), 1, explode));
  CHECK(w[0] == 3);
}

} // namespace

int main() {
  RUN(sgd_steps_along_the_gradient);
  RUN(adam_steps_by_its_step_size);
  RUN(schedules_shorten_the_steps);
  RUN(schedules_have_lengths_in_updates_or_epochs);
  RUN(epochs_and_reports_reduce_the_step);
  RUN(long_gradients_are_clipped);
  RUN(adam_has_betas_and_an_epsilon);
  RUN(the_moving_average_follows_the_parameters);
  RUN(decay_shrinks_the_parameters);
  RUN(iterates_stay_in_the_ball_or_the_box);
  RUN(the_average_is_that_of_the_iterates);
  RUN(a_reset_forgets_the_updates_and_not_the_settings);
  RUN(a_gradient_that_does_not_fit_is_refused);
  RUN(an_estimator_and_an_optimizer_make_a_loop);
  RUN(minimize_asks_the_oracle_at_each_step);
  RUN(an_oracle_may_stop);
  RUN(what_an_oracle_throws_comes_out_of_minimize);
  RUN(an_oracle_keeps_what_it_captures);
  RUN(a_minimisation_that_diverges_throws_and_leaves_the_last_finite_iterate);
  return check_close();
}
