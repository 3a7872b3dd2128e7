// Plans: sizes, costs and descriptions; and training with adaptive sizes.
#include "trial.hpp"

#include <cmath>

using namespace plimsoll;

namespace {

void a_plan_has_sizes_and_costs() {
  Setting trial = small_setting(100);
  const Plan plan(trial.estimator, trial.model, trial.graph, 2, .3, 1, ProbeOptions().set_draws(100));
  CHECK(plan.sample_size() >= 1 && plan.sample_size() <= trial.graph.num_nodes());
  CHECK(equal(plan.sizes(), std::vector<std::size_t>{0, plan.sample_size()}));
  CHECK(plan.misses() < plan.upper() && plan.upper() <= .3);
  CHECK(plan.seconds() > 0 && plan.exact_seconds() > 0 && plan.unbiased_seconds() > 0 && plan.unbiased_batch() > 0);
  CHECK(plan.pays() == (plan.seconds() < plan.exact_seconds() && plan.seconds() < plan.unbiased_seconds()));
  CHECK(std::isnan(plan.fit().c) && std::isnan(plan.fit().tau) && std::isnan(plan.fit().r_squared));
  CHECK(plan.describe().find(std::to_string(plan.sample_size()) + " draws") != std::string::npos);
  CHECK(Estimator::consistent(plan.sizes()).gradient(trial.model, trial.graph).values.size() == 20);
}

void an_impossible_goal_has_no_size() {
  Setting trial = small_setting(100);
  const Plan plan(trial.estimator, trial.model, trial.graph, 1e-6, .3, 1, ProbeOptions().set_draws(50));
  CHECK(!plan.pays() && plan.sample_size() == 0 && equal(plan.sizes(), std::vector<int>{0, 0}));
  CHECK(std::isnan(plan.misses()) && std::isnan(plan.seconds()));
  CHECK(plan.describe().compare(0, 13, "Do not sample") == 0);
}

void many_steps_need_a_fit() {
  Setting trial = small_setting(100);
  const Plan plan(Estimator::unbiased(), trial.model, trial.graph, 1, .1, 100, ProbeOptions().set_draws(200));
  const TailFit fit = plan.fit();
  CHECK(plan.sizes().size() == 1 && plan.sizes()[0] == plan.sample_size() && plan.sample_size() > 0);
  CHECK(fit.c > 0 && fit.tau > 0 && fit.r_squared > 0);
}

struct Trouble {};

void what_a_plan_cannot_do_is_an_error() {
  Setting trial = small_setting(100);
  const auto plan = [&](const Estimator &estimator, double delta, const ProbeOptions &options) {
    return Plan(estimator, trial.model, trial.graph, delta, .1, 1, options);
  };
  ProbeOptions options;
  options.set_draws(50);
  CHECK_ERROR(PLIM_ERROR_UNSUPPORTED, "draws nothing", plan(Estimator::full(), .5, options));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "delta", plan(trial.estimator, 0, options));
  CHECK_ERROR(PLIM_ERROR_CANCELLED, "progress",
              plan(trial.estimator, .5, options.set_progress([](const Progress &) { return Next::stop; })));
  CHECK_THROWS(Trouble, plan(trial.estimator, .5, options.set_progress([](const Progress &) { throw Trouble(); })));
  options.clear_progress();
  Plan one = plan(trial.estimator, 2, options);
  const Plan other = Plan::adopt(one.release());
  CHECK(other.sizes().size() == 2 && !one.pays());
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "plan", one.sizes());
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "plan", one.describe());
}

void sizes_follow_the_gradient_in_training() {
  Setting trial = small_setting(100);
  Optimizer sgd = Optimizer::sgd(1);
  TrainOptions options = TrainOptions().set_epochs(4).set_adaptive(.8, 1, 2, 300);
  const History history = train(trial.model, trial.graph, trial.estimator, sgd, options).history;
  for (const double size : history.column(Column::sample_size)) {
    CHECK(size >= 2 && size <= 300);
  }
  for (const double error : history.column(Column::error)) {
    CHECK(error > 0);
  }
  options.clear_adaptive();
  const History plain = train(trial.model, trial.graph, trial.estimator, sgd, options).history;
  CHECK(std::isnan(plain.column(Column::sample_size)[0]) && std::isnan(plain.column(Column::error)[3]));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "largest", options.set_adaptive(.8, 1, 2, 1));
}

} // namespace

int main() {
  RUN(a_plan_has_sizes_and_costs);
  RUN(an_impossible_goal_has_no_size);
  RUN(many_steps_need_a_fit);
  RUN(what_a_plan_cannot_do_is_an_error);
  RUN(sizes_follow_the_gradient_in_training);
  return check_close();
}
