// Trains a 2-layer network on the paper's Mixture graph in two ways: SGD with gradients from 400 sampled nodes per
// batch (consistent), and Adam with exact batch gradients (unbiased).
//
//     mixture [epochs]        50 by default
#include <plimsoll.hpp>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

using namespace plimsoll;

struct Row {
  std::string name;
  std::size_t best_epoch;
  double loss, accuracy, milliseconds;
};

// Trains a new network and evaluates its best epoch on the test nodes.
static Row run(const std::string &name, const Graph &graph, Estimator estimator, Optimizer optimizer,
               std::size_t epochs) {
  Model model = Model::gcn({graph.num_features(), 16, graph.num_classes()}, 0);
  TrainOptions options;
  options.set_epochs(epochs).set_batch_size(256).set_progress([&name](const Progress &progress) {
    if (progress.step < progress.num_steps) return;   // a long epoch has reports within
    std::printf("\r%-10s epoch %3zu of %zu: train loss %.4f, validation accuracy %.3f", name.c_str(), progress.epoch,
                progress.num_epochs, progress.train_loss, progress.val_accuracy);
    std::fflush(stdout);
  });
  const History history = train(model, graph, estimator, optimizer, options).history;
  std::printf("\n");

  const std::vector<double> seconds = history.column(Column::seconds);
  const double per_epoch = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  const Evaluation test = model.evaluate(graph, Split::test);
  return {name, history.best_epoch(), test.loss, test.accuracy, 1e3 * per_epoch};
}

int main(int argc, char **argv) try {
  const std::size_t epochs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 50;
  const Graph graph = Graph::mixture(2000, 0);
  std::printf("%zu nodes, %zu edges, %zu classes\n\n", graph.num_nodes(), graph.num_edges(), graph.num_classes());

  const std::vector<Row> rows{
      run("SGD (400)", graph, Estimator::consistent({0, 400}),
          Optimizer::sgd(1).set_schedule(Schedule::inverse_sqrt), epochs),
      run("Adam", graph, Estimator::unbiased(), Optimizer::adam(1e-2), epochs),
  };

  std::printf("\n%-10s  %10s  %9s  %13s  %8s\n", "", "best epoch", "test loss", "test accuracy", "ms/epoch");
  for (const Row &row : rows) {
    std::printf("%-10s  %10zu  %9.4f  %13.3f  %8.2f\n", row.name.c_str(), row.best_epoch, row.loss, row.accuracy,
                row.milliseconds);
  }
  return 0;
} catch (const Error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
