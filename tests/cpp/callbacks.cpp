// Progress callbacks: lambdas of any kind, stops, exceptions, and options that are moved or destroyed meanwhile.
#include "trial.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <thread>

using namespace plimsoll;

namespace {

struct Trouble {
  std::string text;
};

// On a slow machine there are reports within an epoch, too.
bool ends_an_epoch(const Progress &progress) { return progress.step == progress.num_steps; }

void a_lambda_is_told_of_every_epoch() {
  Trial trial;
  std::vector<std::size_t> epochs;
  std::vector<double> losses;
  TrainOptions options;
  options.set_epochs(4).set_batch_size(50).set_progress([&](const Progress &progress) {
    if (!ends_an_epoch(progress)) return;
    CHECK(progress.num_epochs == 4 && progress.num_steps == 3 && progress.seconds > 0);
    epochs.push_back(progress.epoch);
    losses.push_back(progress.val_loss);
  });
  const History history = trial.run(options).history;
  CHECK(equal(epochs, std::vector<int>{1, 2, 3, 4}));
  CHECK(equal(losses, history.column(Column::val_loss)));
}

Next stop_at_two(const Progress &progress) {
  return progress.epoch == 2 && ends_an_epoch(progress) ? Next::stop : Next::go;
}

void a_stop_ends_training_and_is_no_error() {
  Trial trial;
  const auto [history, cancelled] = trial.run(TrainOptions().set_progress(stop_at_two));
  CHECK(cancelled && history.num_epochs() == 2);
  const TrainResult again = trial.run(TrainOptions().set_epochs(3));
  CHECK(!again.cancelled && again.history.num_epochs() == 3);
}

void a_cancelled_model_keeps_its_last_step() {
  Trial trial, other;
  std::vector<float> seen;
  trial.run(TrainOptions().set_progress([&](const Progress &progress) {
    seen = trial.model.parameters();
    return stop_at_two(progress);
  }));
  other.run(TrainOptions().set_epochs(2).set_restore_best(false));
  CHECK(equal(trial.model.parameters(), seen) && equal(other.model.parameters(), seen));
}

void any_callable_will_do() {
  Trial trial;
  int calls = 0;
  const std::function<void(const Progress &)> function = [&calls](const Progress &) { ++calls; };
  trial.run(TrainOptions().set_epochs(2).set_progress(function));
  CHECK(calls == 2);
  trial.run(TrainOptions().set_epochs(2).set_progress([&calls, step = std::make_unique<int>(10)](auto &) {
    calls += *step; // a lambda that cannot be copied
  }));
  CHECK(calls == 22);
  trial.run(TrainOptions().set_epochs(3).set_progress([count = 0, &calls](Progress) mutable { calls = ++count; }));
  CHECK(calls == 3);
  CHECK_THROWS(std::bad_function_call, trial.run(TrainOptions().set_progress(std::function<void(const Progress &)>())));
}

void what_a_callback_throws_comes_out_of_train() {
  Trial trial;
  const auto throws = [](const Progress &progress) {
    if (progress.epoch == 2) {
      throw Trouble{"in epoch " + std::to_string(progress.epoch)};
    }
  };
  TrainOptions options;
  options.set_progress(throws);
  try {
    trial.run(options);
    CHECK(!"reached");
  } catch (const Trouble &trouble) {
    CHECK_TEXT("in epoch 2", trouble.text.c_str());
  }
  CHECK(trial.model.evaluate(trial.graph, Split::test).accuracy > 0);
  CHECK_THROWS(Trouble, trial.run(options));
  CHECK_THROWS(int, trial.run(TrainOptions().set_progress([](const Progress &) { throw 5; })));
  CHECK(trial.run(TrainOptions().set_epochs(2)).history.num_epochs() == 2);
}

void const_calls_work_inside_a_callback() {
  Trial trial;
  const std::string path = files_path("model.safetensors");
  std::size_t rows = 0;
  double accuracy = -1;
  std::vector<float> saved, parameters;
  trial.run(TrainOptions().set_epochs(3).set_progress([&](const Progress &progress) {
    rows += trial.model.predict(trial.graph, {0, 1}).size();
    accuracy = trial.model.evaluate(trial.graph, Split::val).accuracy;
    CHECK_NEAR(progress.val_accuracy, accuracy, 1e-9);
    trial.model.save(path);
    saved = Model::load(path).parameters();
    parameters = trial.model.clone().parameters();
  }));
  CHECK(rows == 18 && accuracy >= 0 && !saved.empty() && equal(saved, parameters));
  files_remove("model.safetensors");
}

void changes_inside_a_callback_are_busy() {
  Trial trial;
  int refused = 0;
  trial.run(TrainOptions().set_epochs(1).set_progress([&](const Progress &) {
    CHECK_ERROR(PLIM_ERROR_BUSY, "plim_model", trial.model.set_parameters(trial.model.parameters()));
    CHECK_ERROR(PLIM_ERROR_BUSY, "plim_graph", trial.graph.normalize_features());
    CHECK_ERROR(PLIM_ERROR_BUSY, "plim_optimizer", trial.optimizer.reset());
    ++refused;
  }));
  CHECK(refused == 1);
  // An exception that is not caught inside is passed on.
  CHECK_ERROR(PLIM_ERROR_BUSY, "plim_model", trial.run(TrainOptions().set_progress([&](const Progress &) {
    trial.model.set_threads(1);
  })));
}

void options_may_move_with_their_callback() {
  Trial trial;
  int calls = 0;
  TrainOptions first;
  first.set_epochs(2).set_progress([&calls](const Progress &) { ++calls; });
  TrainOptions second = std::move(first);
  trial.run(second);
  CHECK(calls == 2);
  TrainOptions third;
  third.set_progress([](const Progress &) { throw Trouble{"replaced"}; });
  third = std::move(second);
  trial.run(third);
  CHECK(calls == 4);
  std::vector<TrainOptions> many(3);
  many[0] = std::move(third);
  many.resize(100);
  trial.run(many[0]);
  CHECK(calls == 6);
}

void a_callback_ends_with_its_options_or_its_successor() {
  auto token = std::make_shared<int>(0);
  std::weak_ptr<int> watch = token;
  {
    TrainOptions options;
    options.set_progress([token](const Progress &) {});
    token.reset();
    CHECK(!watch.expired());
    options.set_progress([](const Progress &) {});
    CHECK(watch.expired());
    token = std::make_shared<int>(0);
    watch = token;
    options.set_progress([token](const Progress &) {});
    token.reset();
    CHECK(!watch.expired());
  }
  CHECK(watch.expired());
}

void a_callback_may_replace_itself_or_end_its_options() {
  Trial trial;
  int first = 0, second = 0;
  TrainOptions options;
  options.set_epochs(3).set_progress([&first, &second, &options](const Progress &) {
    ++first;
    options.set_progress([&second](const Progress &) { ++second; });
  });
  trial.run(options);
  CHECK(first == 3 && second == 0); // from the next run on
  trial.run(options);
  CHECK(first == 3 && second == 3);
  std::optional<TrainOptions> ending(std::in_place);
  ending->set_epochs(3).set_progress([&](const Progress &) {
    ending.reset();
    ++second;
  });
  trial.run(*ending);
  CHECK(second == 6);
}

void a_run_inside_a_callback_keeps_its_exceptions_apart() {
  Trial outer, inner;
  int caught = 0;
  TrainOptions throwing;
  throwing.set_epochs(5).set_progress([](const Progress &) { throw Trouble{"inside"}; });
  const TrainResult result = outer.run(TrainOptions().set_epochs(2).set_progress([&](const Progress &) {
    try {
      inner.run(throwing);
    } catch (const Trouble &) {
      ++caught;
    }
  }));
  CHECK(caught == 2 && !result.cancelled && result.history.num_epochs() == 2);
  CHECK_THROWS(Trouble, outer.run(TrainOptions().set_progress([&](const Progress &) { inner.run(throwing); })));
}

void threads_may_share_options() {
  TrainOptions options;
  options.set_epochs(3).set_progress([](const Progress &progress) {
    if (progress.epoch == 2) {
      throw std::this_thread::get_id();
    }
  });
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (std::size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&options, &own = right[i]] {
      try {
        Trial().run(options);
      } catch (const std::thread::id &id) {
        own = id == std::this_thread::get_id();
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  CHECK(equal(right, std::vector<int>{1, 1, 1, 1}));
}

void c_may_train_with_options_from_cpp() {
  Trial trial;
  int calls = 0;
  TrainOptions options;
  options.set_epochs(5).set_progress([&calls](const Progress &) {
    if (++calls == 2) {
      throw Trouble{"nobody to catch it"};
    }
  });
  CHECK_STATUS(PLIM_ERROR_CANCELLED, plim_train(trial.model.get(), trial.graph.get(), trial.estimator.get(),
                                                trial.optimizer.get(), options.get(), nullptr));
  CHECK(calls == 2);
  plim_train_options *released = options.release(); // without the lambda
  CHECK(!options);
  CHECK_OK(plim_train(trial.model.get(), trial.graph.get(), trial.estimator.get(), trial.optimizer.get(), released,
                      nullptr));
  CHECK(calls == 2);
  plim_train_options_free(released);
}

} // namespace

int main() {
  RUN(a_lambda_is_told_of_every_epoch);
  RUN(a_stop_ends_training_and_is_no_error);
  RUN(a_cancelled_model_keeps_its_last_step);
  RUN(any_callable_will_do);
  RUN(what_a_callback_throws_comes_out_of_train);
  RUN(const_calls_work_inside_a_callback);
  RUN(changes_inside_a_callback_are_busy);
  RUN(options_may_move_with_their_callback);
  RUN(a_callback_ends_with_its_options_or_its_successor);
  RUN(a_callback_may_replace_itself_or_end_its_options);
  RUN(a_run_inside_a_callback_keeps_its_exceptions_apart);
  RUN(threads_may_share_options);
  RUN(c_may_train_with_options_from_cpp);
  files_close();
  return check_close();
}
