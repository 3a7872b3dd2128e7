// Log callbacks: messages, exceptions, and options that are moved or destroyed meanwhile.
#include "trial.hpp"

#include <functional>
#include <memory>
#include <optional>

using namespace plimsoll;

namespace {

struct Trouble {};

struct Line {
  LogLevel level;
  std::string text;
};

// Keeps every line.
struct Journal {
  std::vector<Line> lines;

  auto writer() {
    return [this](LogLevel level, const char *message) { lines.push_back(Line{level, message}); };
  }
  std::size_t count(LogLevel level, const char *fragment) const {
    std::size_t found = 0;
    for (const Line &line : lines) {
      found += line.level == level && line.text.find(fragment) != std::string::npos ? 1 : 0;
    }
    return found;
  }
};

void a_lambda_is_told_what_training_does() {
  Trial trial, silent;
  Journal journal;
  const History history = trial.run(TrainOptions().set_epochs(4).set_log(LogLevel::debug, journal.writer())).history;
  silent.run(TrainOptions().set_epochs(4));
  CHECK(equal(trial.model.parameters(), silent.model.parameters()));
  CHECK(journal.count(LogLevel::info, "training on 300 nodes") == 1);
  CHECK(journal.count(LogLevel::debug, "epoch ") == 4);
  CHECK(journal.count(LogLevel::info, ("epoch " + std::to_string(history.best_epoch())).c_str()) == 1);
}

void a_level_and_a_clear_keep_lines_away() {
  Trial trial;
  Journal journal;
  TrainOptions options;
  options.set_epochs(2).set_log(LogLevel::info, journal.writer());
  trial.run(options);
  CHECK(journal.count(LogLevel::debug, "") == 0 && journal.count(LogLevel::info, "") > 2);
  const std::size_t before = journal.lines.size();
  options.clear_log();
  trial.run(options);
  CHECK(journal.lines.size() == before);
  trial.run(options.set_log(LogLevel::error, journal.writer()));
  CHECK(journal.lines.size() == before);
}

void any_callable_will_do() {
  Trial trial;
  int calls = 0;
  const std::function<void(LogLevel, std::string)> function = [&](LogLevel, const std::string &text) {
    calls += !text.empty();
  };
  trial.run(TrainOptions().set_epochs(2).set_log(LogLevel::info, function));
  CHECK(calls > 2);
  calls = 0;
  trial.run(TrainOptions().set_epochs(2).set_log(LogLevel::info, [&calls, step = std::make_unique<int>(10)](auto, auto) {
    calls += *step; // a lambda that cannot be copied
  }));
  CHECK(calls > 20);
  CHECK_THROWS(std::bad_function_call, trial.run(TrainOptions().set_log(LogLevel::info,
                                                                        std::function<void(LogLevel, const char *)>())));
}

// A log callback cannot cancel, but its exceptions do, with and without a progress callback. No line follows.
void what_it_throws_stops_training_and_comes_out() {
  for (const bool told : {false, true}) {
    Trial trial;
    std::size_t lines = 0, epochs = 0;
    TrainOptions options;
    options.set_epochs(1000000);
    if (told) {
      options.set_progress([&](const Progress &) { ++epochs; });
    }
    options.set_log(LogLevel::debug, [&](LogLevel, const char *message) {
      ++lines;
      if (std::string(message).rfind("epoch 3 of", 0) == 0) {
        throw Trouble{};
      }
    });
    CHECK_THROWS(Trouble, trial.run(options));
    CHECK(lines == 6 && epochs == (told ? 2u : 0u)); // 3 at the beginning, 3 epochs
    options.clear_log();
    CHECK(trial.run(options.set_epochs(2)).history.num_epochs() == 2);
  }
}

void what_it_throws_at_the_end_comes_out_too() {
  Trial trial;
  CHECK_THROWS(Trouble, trial.run(TrainOptions().set_epochs(2).set_log(LogLevel::info, [](LogLevel, const char *message) {
    if (std::string(message).rfind("trained for", 0) == 0) {
      throw Trouble{};
    }
  })));
  CHECK(trial.model.evaluate(trial.graph, Split::test).accuracy > 0);
}

void const_calls_work_inside() {
  Trial trial;
  std::vector<float> seen;
  trial.run(TrainOptions().set_epochs(3).set_log(LogLevel::debug, [&](LogLevel, const char *) {
    seen = trial.model.parameters();
    CHECK(trial.model.predict(trial.graph, {0}).size() == 3);
    CHECK_ERROR(PLIM_ERROR_BUSY, "plim_model", trial.model.set_threads(2));
  }));
  CHECK(equal(trial.model.parameters(), seen));
}

void options_may_move_with_their_log_and_it_ends_with_them() {
  Trial trial;
  const std::shared_ptr<int> token = std::make_shared<int>(0);
  std::optional<TrainOptions> options(TrainOptions().set_epochs(2).set_log(
      LogLevel::info, [token](LogLevel, const char *) { ++*token; }));
  TrainOptions moved = std::move(*options);
  trial.run(moved);
  CHECK(*token > 2 && token.use_count() == 2);
  moved.set_log(LogLevel::info, [](LogLevel, const char *) {});
  CHECK(token.use_count() == 1);
}

void a_log_may_clear_itself() {
  Trial trial;
  int calls = 0;
  TrainOptions options;
  options.set_epochs(3).set_log(LogLevel::debug, [&](LogLevel, const char *) {
    ++calls;
    options.clear_log(); // no effect on this run, which has a copy of the options
  });
  trial.run(options);
  CHECK(calls > 3);
  calls = 0;
  trial.run(options);
  CHECK(calls == 0);
}

void c_gets_released_options_without_the_log() {
  Trial trial;
  int calls = 0;
  TrainOptions options;
  options.set_epochs(2).set_log(LogLevel::debug, [&](LogLevel, const char *) { ++calls; });
  plim_train_options *released = options.release();
  CHECK_OK(plim_train(trial.model.get(), trial.graph.get(), trial.estimator.get(), trial.optimizer.get(), released,
                      nullptr));
  CHECK(calls == 0);
  plim_train_options_free(released);
}

void measurements_have_logs_too() {
  Trial trial;
  Journal journal;
  const std::vector<std::size_t> sizes = {10, 40};
  const std::vector<double> deltas = {0.5};
  ProbeOptions options;
  options.set_draws(50).set_log(LogLevel::info, journal.writer());
  tail_probability(trial.estimator, trial.model, trial.graph, sizes, deltas, options);
  CHECK(journal.count(LogLevel::info, "sample size 10: ") == 1 && journal.count(LogLevel::info, "sample size 40: ") == 1);
  const std::size_t before = journal.lines.size();
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "sample_sizes[0] = 0",
              tail_probability(trial.estimator, trial.model, trial.graph, {0}, deltas, options));
  CHECK(journal.count(LogLevel::error, "sample_sizes[0] = 0") == 1);
  options.clear_log();
  const Tail tail(trial.estimator, trial.model, trial.graph, sizes, deltas, options);
  CHECK(journal.count(LogLevel::info, "sample size 10: ") == 1 && journal.lines.size() > before);
  options.set_draws(1000000000).set_log(LogLevel::info, [](LogLevel, const char *) { throw Trouble{}; });
  CHECK_THROWS(Trouble, Tail(trial.estimator, trial.model, trial.graph, sizes, deltas, options));
  journal.lines.clear();
  const Plan plan(trial.estimator, trial.model, trial.graph, 1, 0.9, 2,
                  ProbeOptions().set_draws(100).set_log(LogLevel::debug, journal.writer()));
  CHECK(journal.count(LogLevel::info, plan.describe().c_str()) + journal.count(LogLevel::warning, "no size") == 1);
}

} // namespace

int main() {
  RUN(a_lambda_is_told_what_training_does);
  RUN(a_level_and_a_clear_keep_lines_away);
  RUN(any_callable_will_do);
  RUN(what_it_throws_stops_training_and_comes_out);
  RUN(what_it_throws_at_the_end_comes_out_too);
  RUN(const_calls_work_inside);
  RUN(options_may_move_with_their_log_and_it_ends_with_them);
  RUN(a_log_may_clear_itself);
  RUN(c_gets_released_options_without_the_log);
  RUN(measurements_have_logs_too);
  return check_close();
}
