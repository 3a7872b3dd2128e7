// Measurements: the results of C as vectors, and progress as in training.
#include "trial.hpp"

#include <cmath>

using namespace plimsoll;

namespace {

struct Trial : Setting {
  Trial() : Setting(small_setting(40)) {}

  std::vector<std::size_t> sizes = {5, 20, 80};
  std::vector<double> deltas = {1e-9, 1e9};

  Tail tail(const ProbeOptions &options) const { return Tail(estimator, model, graph, sizes, deltas, options); }
};

void a_tail_has_its_numbers() {
  Trial trial;
  const Tail tail = trial.tail(ProbeOptions().set_draws(50));
  CHECK(equal(tail.probability(), std::vector<int>{1, 0, 1, 0, 1, 0}));
  CHECK(tail.lower().size() == 6 && tail.upper().size() == 6 && tail.norm() > 0);
  const std::vector<double> error = tail.error(), bias = tail.bias(), deviation = tail.deviation();
  CHECK(error.size() == 3 && bias.size() == 3 && deviation.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(tail.lower()[2 * i] < 1 && tail.upper()[2 * i] == 1);
    CHECK(error[i] > 0 && bias[i] <= error[i] && deviation[i] <= 1.1 * error[i]);
    CHECK(i == 0 || error[i] < error[i - 1]);
  }
}

void shares_alone_are_the_same() {
  Trial trial;
  trial.deltas = {.3, .6};
  ProbeOptions options;
  options.set_draws(60).set_seed(4);
  const std::vector<double> shares =
      tail_probability(trial.estimator, trial.model, trial.graph, trial.sizes, trial.deltas, options);
  CHECK(equal(trial.tail(options).probability(), shares));
  CHECK(shares.size() == 6);
}

void seeds_and_batches_decide() {
  Trial trial;
  ProbeOptions options;
  options.set_draws(20);
  const Tail first = trial.tail(options);
  CHECK(!equal(trial.tail(options.set_seed(1)).error(), first.error()));
  CHECK(trial.tail(options).norm() == first.norm());
  CHECK(trial.tail(options.set_batch({0, 1, 2})).norm() != first.norm());
  options.clear_batch();
  CHECK(equal(trial.tail(options.set_seed(0)).error(), first.error()));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "empty", options.set_batch({}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "draws", options.set_draws(1));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "batch[1]", trial.tail(options.set_batch({0, 0})));
}

void what_cannot_be_measured_is_an_error() {
  Trial trial;
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_sizes", Tail(trial.estimator, trial.model, trial.graph, {}, {}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "deltas[0]",
              tail_probability(trial.estimator, trial.model, trial.graph, {5}, {-1.}));
  ProbeOptions options;
  const ProbeOptions taken = std::move(options);
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "options", trial.tail(options));
}

void a_fit_finds_its_tail() {
  const TailFit fit = tail_fit({10, 20, 30}, {.5, .25, .125}, 1000);
  CHECK_NEAR(1, fit.c, 1e-9);
  CHECK_NEAR(std::log(2.) / 10, fit.tau, 1e-9);
  CHECK_NEAR(1, fit.r_squared, 1e-9);
  CHECK_ERROR(PLIM_ERROR_MISSING_DATA, "3", tail_fit({10, 20}, {.5, .25}, 1000));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "probabilities", tail_fit({10, 20, 30}, {.5, .25}, 1000));
}

struct Trouble {};

void progress_is_told_and_may_end_it() {
  Trial trial;
  std::size_t calls = 0, last = 0;
  ProbeOptions options;
  options.set_draws(30).set_progress([&](const Progress &progress) {
    CHECK(progress.num_epochs == 3 && progress.num_steps == 30 && trial.model.parameters().size() == 20);
    CHECK_ERROR(PLIM_ERROR_BUSY, "plim_model", trial.model.set_threads(1));
    ++calls;
    last = progress.epoch;
  });
  ProbeOptions moved = std::move(options);
  const Tail told = trial.tail(moved);
  CHECK(calls >= 3 && last == 3);
  moved.clear_progress();
  CHECK(equal(trial.tail(moved).error(), told.error()));
  CHECK_ERROR(PLIM_ERROR_CANCELLED, "progress",
              trial.tail(moved.set_progress([](const Progress &) { return Next::stop; })));
  CHECK_THROWS(Trouble, trial.tail(moved.set_progress([](const Progress &) { throw Trouble(); })));
  CHECK_THROWS(Trouble, tail_probability(trial.estimator, trial.model, trial.graph, {5}, {.5}, moved));
  plim_probe_options *released = moved.release(); // without the lambda
  const ProbeOptions back = ProbeOptions::adopt(released);
  CHECK(equal(trial.tail(back).error(), told.error()));
}

void a_tail_may_come_from_c() {
  Trial trial;
  plim_tail *handle = nullptr;
  const ProbeOptions options = ProbeOptions().set_draws(10);
  CHECK_OK(plim_tail_new(trial.estimator.get(), trial.model.get(), trial.graph.get(), trial.sizes.data(), 3, nullptr, 0,
                         options.get(), &handle));
  Tail tail = Tail::adopt(handle, 3, 0);
  CHECK(tail.probability().empty() && equal(tail.error(), trial.tail(options).error()));
  const Tail moved = std::move(tail);
  CHECK(tail.norm() == 0 && moved.norm() > 0);
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "tail", tail.error());
}

} // namespace

int main() {
  RUN(a_tail_has_its_numbers);
  RUN(shares_alone_are_the_same);
  RUN(seeds_and_batches_decide);
  RUN(what_cannot_be_measured_is_an_error);
  RUN(a_fit_finds_its_tail);
  RUN(progress_is_told_and_may_end_it);
  RUN(a_tail_may_come_from_c);
  return check_close();
}
