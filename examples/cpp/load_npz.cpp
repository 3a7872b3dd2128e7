// Reproduces the paper's Table 1 for a data-set file: SGD on a few sampled nodes, SGD and Adam on exact batches, for 1
// and 2 layers.
//
//     load_npz [file.npz] [--epochs 100] [--seeds 1] [--step 1e3,1e2] [--adam-step 0.1] [--raw | --normalize]
//
// --step sets c of the step c/√k, for 1 layer and for 2. Without a file, it runs three epochs on the built-in Mixture
// graph.
#include <plimsoll.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace plimsoll;

struct Settings {
  const char *file = nullptr;
  std::size_t epochs = 0, seeds = 1;
  double step[2] = {0, 0}, adam_step = 0; // 0: chosen below
  int normalize = -1;
};

struct Algorithm {
  std::string name;
  std::size_t sample_size; // of the last layer's input; 0: exact
  bool adam;
};

static bool parse(int argc, char **argv, Settings &s) {
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--raw" || option == "--normalize") {
      s.normalize = option == "--normalize";
    } else if (option.compare(0, 2, "--") != 0) {
      s.file = argv[i];
    } else {
      const char *value = ++i < argc ? argv[i] : "";
      const bool good = (option == "--epochs" && std::sscanf(value, "%zu", &s.epochs) == 1) ||
                        (option == "--seeds" && std::sscanf(value, "%zu", &s.seeds) == 1 && s.seeds > 0) ||
                        (option == "--step" && std::sscanf(value, "%lf,%lf", &s.step[0], &s.step[1]) == 2) ||
                        (option == "--adam-step" && std::sscanf(value, "%lf", &s.adam_step) == 1);
      if (!good) {
        std::fprintf(stderr, "%s %s: an unknown option or a bad value\n", option.c_str(), value);
        return false;
      }
    }
  }
  return true;
}

// The paper's choices: a few dense features (Mixture) stay as they are, with small steps; bags of words (Cora, Pubmed)
// are scaled to row sum 1, with large steps.
static void choose(const Graph &graph, Settings &s) {
  const bool words = graph.num_features() >= 100, large = graph.num_nodes() >= 10000;
  const auto or_else = [](double given, double choice) { return given > 0 ? given : choice; };
  s.step[0] = or_else(s.step[0], words ? 1e3 : 1);
  s.step[1] = or_else(s.step[1], words ? (large ? 1e1 : 1e2) : 1);
  s.adam_step = or_else(s.adam_step, words ? 1e-1 : 1e-2);
  s.normalize = s.normalize >= 0 ? s.normalize : words;
  s.epochs = s.epochs > 0 ? s.epochs : s.file != nullptr ? 100 : 3;
}

// Trains once per seed and prints a row of the table.
static void run(const Graph &graph, const Settings &s, std::size_t layers, const Algorithm &algorithm) {
  std::vector<std::size_t> widths{graph.num_features(), graph.num_classes()}, sizes{algorithm.sample_size};
  if (layers == 2) { // the hidden layer is sampled; the aggregated features below it are exact and computed once
    widths.insert(widths.begin() + 1, 16);
    sizes.insert(sizes.begin(), 0);
  }
  double sum = 0, squares = 0, best_epoch = 0, seconds = 0;
  for (std::size_t seed = 0; seed < s.seeds; ++seed) {
    Model model = Model::gcn(widths, seed);
    Estimator estimator = algorithm.sample_size > 0 ? Estimator::consistent(sizes) : Estimator::unbiased();
    estimator.set_seed(seed);
    Optimizer optimizer = algorithm.adam
                              ? Optimizer::adam(s.adam_step)
                              : Optimizer::sgd(s.step[layers - 1]).set_schedule(Schedule::inverse_sqrt);
    const TrainOptions options = TrainOptions().set_epochs(s.epochs).set_seed(seed);
    const History history = train(model, graph, estimator, optimizer, options).history;
    const double accuracy = 100 * model.evaluate(graph, Split::test).accuracy; // at the best epoch
    sum += accuracy;
    squares += accuracy * accuracy;
    best_epoch += static_cast<double>(history.best_epoch());
    for (const double epoch : history.column(Column::seconds)) {
      seconds += epoch;
    }
  }
  const double n = static_cast<double>(s.seeds), mean = sum / n;
  const double deviation = std::sqrt(std::max(0.0, squares - n * mean * mean) / std::max(1.0, n - 1));
  std::printf("%zu-layer  %-13s  %9.2f  %9.2f  %10.1f  %8.2f\n", layers, algorithm.name.c_str(), mean, deviation,
              best_epoch / n, 1e3 * seconds / (n * static_cast<double>(s.epochs)));
  std::fflush(stdout);
}

int main(int argc, char **argv) try {
  Settings settings;
  if (!parse(argc, argv, settings)) return 2;
  Graph graph = settings.file != nullptr ? Graph::load(settings.file) : Graph::mixture(2000, 0);
  choose(graph, settings);
  if (settings.normalize != 0) graph.normalize_features();
  std::printf("%zu nodes, %zu edges, %zu features, %zu classes; %zu epochs, seeds: %zu\n\n", graph.num_nodes(),
              graph.num_edges(), graph.num_features(), graph.num_classes(), settings.epochs, settings.seeds);

  std::vector<Algorithm> algorithms;
  for (const std::size_t size : {400, 800, 1600, 3200}) {
    if (size < graph.num_nodes()) algorithms.push_back({"SGD (" + std::to_string(size) + ")", size, false});
  }
  algorithms.push_back({"SGD unbiased", 0, false});
  algorithms.push_back({"Adam unbiased", 0, true});
  std::printf("%22s  %9s  %9s  %10s  %8s\n", "test accuracy:", "mean in %", "deviation", "best epoch", "ms/epoch");
  for (const std::size_t layers : {1, 2}) {
    for (const Algorithm &algorithm : algorithms) run(graph, settings, layers, algorithm);
  }
  return 0;
} catch (const Error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
