// What the tests of training and of measurements start from.
#ifndef PLIM_TESTS_TRIAL_HPP
#define PLIM_TESTS_TRIAL_HPP

#include "check.hpp"

// A graph, a model, and an estimator of its gradients.
struct Setting {
  plimsoll::Graph graph;
  plimsoll::Model model;
  plimsoll::Estimator estimator;
};

// A small setting on the Mixture graph, to measure.
inline Setting small_setting(std::size_t nodes_per_class) {
  return {plimsoll::Graph::mixture(nodes_per_class, 3), plimsoll::Model::gcn({2, 4, 3}, 5),
          plimsoll::Estimator::consistent({0, 10})};
}

// A training on the Mixture graph.
struct Trial : Setting {
  Trial()
      : Setting{plimsoll::Graph::mixture(100, 0), plimsoll::Model::gcn({2, 8, 3}, 1),
                plimsoll::Estimator::consistent({0, 50})} {}

  plimsoll::Optimizer optimizer = plimsoll::Optimizer::sgd(1);

  plimsoll::TrainResult run(const plimsoll::TrainOptions &options) {
    return train(model, graph, estimator, optimizer, options);
  }
};

#endif
