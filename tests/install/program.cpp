// A program that uses the installed library from C++; exceptions cross it in both ways that they may.
#include <plimsoll.hpp>

#include <cstdio>
#include <cstring>
#include <stdexcept>

using namespace plimsoll;

int main() {
  const Graph graph = Graph::mixture(300, 1);
  Model model = Model::gcn({graph.num_features(), 8, graph.num_classes()}, 1);
  Estimator estimator = Estimator::consistent({0, 50});
  Optimizer optimizer = Optimizer::adam(0.01);
  int caught = 0;

  // A status of the library becomes an exception of the program.
  try {
    Graph::load("there is no such file.npz");
  } catch (const Error &error) {
    caught += error.status() == PLIM_ERROR_IO;
  }

  // What a callback throws goes round the library and comes out of train().
  try {
    train(model, graph, estimator, optimizer,
          TrainOptions().set_progress([](const Progress &) { throw std::runtime_error("enough"); }));
  } catch (const std::runtime_error &error) {
    caught += std::strcmp(error.what(), "enough") == 0;
  }

  train(model, graph, estimator, optimizer);
  std::printf("C++: plimsoll %s, header %s, test accuracy %.2f %%\n", plim_version(), PLIM_VERSION,
              100 * model.evaluate(graph, Split::test).accuracy);
  return caught != 2 || std::strcmp(plim_version(), PLIM_VERSION) != 0;
}
