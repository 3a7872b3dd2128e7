// Training: every option has an effect, and the history records the run.
#include "trial.hpp"

#include <algorithm>
#include <utility>

using namespace plimsoll;

namespace {

struct Trial : ::Trial {
  Trial() { optimizer.set_schedule(Schedule::inverse_sqrt); }
};

std::vector<float> trained(const TrainOptions &options) {
  Trial trial;
  trial.run(options);
  return trial.model.parameters();
}

void training_learns() {
  Trial trial;
  const double before = trial.model.evaluate(trial.graph, Split::train).loss;
  const auto [history, cancelled] = trial.run(TrainOptions().set_epochs(20));
  CHECK(!cancelled && history.num_epochs() == 20);
  CHECK(history.best_epoch() >= 1 && history.best_epoch() <= 20);
  CHECK(trial.model.evaluate(trial.graph, Split::train).loss < before);
}

void the_defaults_need_no_options() {
  Graph graph = path_graph();
  Model model = Model::gcn({2, 2}, 0), same = Model::gcn({2, 2}, 0);
  Estimator estimator = Estimator::full();
  Optimizer optimizer = Optimizer::sgd(.1), other = Optimizer::sgd(.1);
  CHECK(train(model, graph, estimator, optimizer).history.num_epochs() == 100);
  CHECK(train(same, graph, estimator, other, TrainOptions()).history.num_epochs() == 100);
  CHECK(equal(model.parameters(), same.parameters()));
}

void the_history_has_its_columns() {
  Trial trial;
  const History history = trial.run(TrainOptions().set_epochs(4).set_restore_best(false)).history;
  const std::vector<double> loss = history.column(Column::train_loss);
  CHECK(loss.size() == 4);
  CHECK_NEAR(trial.model.evaluate(trial.graph, Split::train).loss, loss[3], 1e-6);
  const Evaluation val = trial.model.evaluate(trial.graph, Split::val);
  CHECK_NEAR(val.loss, history.column(Column::val_loss)[3], 1e-6);
  CHECK_NEAR(val.accuracy, history.column(Column::val_accuracy)[3], 1e-9);
  CHECK(history.column(Column::seconds)[0] > 0 && history.column(Column::batch_loss)[0] > 0);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "column", history.column(static_cast<Column>(9)));
}

void a_run_can_evaluate_and_end_with_the_moving_average() {
  Trial trial;
  trial.optimizer.set_ema(.9);
  trial.run(TrainOptions().set_epochs(4).set_restore_best(false).set_ema(true));
  CHECK(equal(trial.model.parameters(), trial.optimizer.ema(trial.model)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "moving average", Trial().run(TrainOptions().set_ema(true)));
}

void seeds_and_batches_decide_the_run() {
  const std::vector<float> run = trained(TrainOptions().set_epochs(2));
  CHECK(equal(trained(TrainOptions().set_epochs(2).set_batch_size(256).set_seed(0)), run));
  CHECK(!equal(trained(TrainOptions().set_epochs(2).set_batch_size(60)), run));
  CHECK(!equal(trained(TrainOptions().set_epochs(2).set_batch_size(60).set_seed(1)),
               trained(TrainOptions().set_epochs(2).set_batch_size(60).set_seed(2))));
}

void the_best_epoch_is_restored_unless_switched_off() {
  Trial best, last;
  const History history = best.run(TrainOptions().set_epochs(15)).history;
  last.run(TrainOptions().set_epochs(15).set_restore_best(false));
  const std::vector<double> accuracy = history.column(Column::val_accuracy);
  CHECK_NEAR(accuracy[history.best_epoch() - 1], best.model.evaluate(best.graph, Split::val).accuracy, 1e-9);
  CHECK_NEAR(accuracy.back(), last.model.evaluate(last.graph, Split::val).accuracy, 1e-9);
  CHECK(history.best_epoch() != 15 && !equal(best.model.parameters(), last.model.parameters()));
}

void patience_ends_a_run() {
  Trial trial;
  const History history = trial.run(TrainOptions().set_epochs(1000).set_patience(3)).history;
  CHECK(history.num_epochs() == history.best_epoch() + 3);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "patience",
              trial.run(TrainOptions().set_patience(3).set_evaluate_every(0)));
}

void a_monitor_chooses_the_best_epoch() {
  for (const auto &[monitor, column] : {std::pair(Monitor::val_accuracy, Column::val_accuracy),
                                        std::pair(Monitor::val_loss, Column::val_loss),
                                        std::pair(Monitor::train_loss, Column::train_loss)}) {
    Trial trial;
    const History history = trial.run(TrainOptions().set_epochs(20).set_monitor(monitor)).history;
    const std::vector<double> values = history.column(column);
    const auto best = monitor == Monitor::val_accuracy ? std::max_element(values.begin(), values.end())
                                                       : std::min_element(values.begin(), values.end());
    CHECK(history.best_epoch() == static_cast<std::size_t>(best - values.begin()) + 1);
  }
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "monitor = 9", TrainOptions().set_monitor(static_cast<Monitor>(9)));
}

void epochs_that_were_not_evaluated_are_nan() {
  Trial trial;
  const std::vector<double> loss =
      trial.run(TrainOptions().set_epochs(5).set_evaluate_every(2)).history.column(Column::val_loss);
  CHECK(std::isnan(loss[0]) && !std::isnan(loss[1]) && std::isnan(loss[2]) && !std::isnan(loss[3]));
  CHECK(!std::isnan(loss[4]));
  const History never = trial.run(TrainOptions().set_epochs(2).set_evaluate_every(0)).history;
  CHECK(std::isnan(never.column(Column::train_loss)[1]) && never.best_epoch() == 0);
}

void a_checkpoint_resumes_with_the_same_bits() {
  const std::string path = files_path("checkpoint");
  const std::vector<float> whole = trained(TrainOptions().set_epochs(6));
  Trial first, second;
  first.run(TrainOptions().set_epochs(3).set_checkpoint(path, 1));
  const History history = second.run(TrainOptions().set_epochs(6).set_resume(path)).history;
  CHECK(history.num_epochs() == 6 && equal(second.model.parameters(), whole));
  Trial other;
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "", other.run(TrainOptions().set_batch_size(7).set_resume(path)));
  files_remove("checkpoint");
}

void what_was_set_can_be_cleared() {
  const std::string path = files_path("checkpoint");
  TrainOptions options;
  options.set_epochs(3).set_checkpoint(path, 1).set_resume(path);
  bool told = false;
  options.set_progress([&told](const Progress &) { told = true; });
  options.clear_checkpoint();
  options.clear_resume();
  options.clear_progress();
  CHECK(equal(trained(options), trained(TrainOptions().set_epochs(3))));
  CHECK(!told && std::fopen(path.c_str(), "rb") == nullptr);
}

void options_out_of_range_are_refused_at_once() {
  TrainOptions options;
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "epochs", options.set_epochs(0));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "batch_size", options.set_batch_size(0));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "every", options.set_checkpoint("checkpoint", 0));
}

void a_run_that_diverges_throws_with_its_history() {
  Trial trial;
  trial.optimizer = Optimizer::sgd(1e37); // the first step goes beyond what a float can square
  try {
    trial.run(TrainOptions().set_epochs(50).set_evaluate_every(0));
    CHECK(!"reached");
  } catch (const Error &error) {
    CHECK(error.status() == PLIM_ERROR_DIVERGED);
    CHECK(error.history() != nullptr);
    const Error copy = error; // with the history
    CHECK(copy.history() == error.history() && copy.history()->num_epochs() == 1);
    CHECK(copy.history()->column(Column::seconds).size() == 1);
  }
  for (const float parameter : trial.model.parameters()) {
    CHECK(std::isfinite(parameter));
  }
}

void what_does_not_fit_changes_nothing() {
  Trial trial;
  trial.model = Model::gcn({5, 3}, 0);
  const std::vector<float> before = trial.model.parameters();
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "", trial.run(TrainOptions()));
  CHECK(equal(trial.model.parameters(), before));
}

} // namespace

int main() {
  RUN(training_learns);
  RUN(the_defaults_need_no_options);
  RUN(the_history_has_its_columns);
  RUN(a_run_can_evaluate_and_end_with_the_moving_average);
  RUN(seeds_and_batches_decide_the_run);
  RUN(the_best_epoch_is_restored_unless_switched_off);
  RUN(patience_ends_a_run);
  RUN(a_monitor_chooses_the_best_epoch);
  RUN(epochs_that_were_not_evaluated_are_nan);
  RUN(a_checkpoint_resumes_with_the_same_bits);
  RUN(what_was_set_can_be_cleared);
  RUN(options_out_of_range_are_refused_at_once);
  RUN(a_run_that_diverges_throws_with_its_history);
  RUN(what_does_not_fit_changes_nothing);
  files_close();
  return check_close();
}
