// Estimators: three kinds, their settings, their gradients.
#include "check.hpp"

using namespace plimsoll;

namespace {

void an_estimator_declares_what_it_is() {
  const Property full = Estimator::full().property(), unbiased = Estimator::unbiased().property();
  const Property consistent = Estimator::consistent({0, 400}).property();
  CHECK(full.exact() && full.unbiased() && full.consistent() && full.bits == 7);
  CHECK(unbiased.unbiased() && !unbiased.consistent() && !unbiased.exact());
  CHECK(consistent.consistent() && !consistent.unbiased() && !consistent.exact());
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "", Estimator::consistent(std::vector<std::size_t>()));
}

void full_and_unbiased_agree_on_all_training_nodes() {
  const Graph graph = Graph::mixture(100, 0);
  const Model model = Model::gcn({2, 4, 3}, 0);
  const Gradient full = Estimator::full().gradient(model, graph);
  const Gradient unbiased = Estimator::unbiased().gradient(model, graph);
  const Gradient listed = Estimator::unbiased().gradient(model, graph, graph.split(Split::train));
  CHECK(full.values.size() == model.num_parameters());
  CHECK(near(full.values, unbiased.values, 1e-6) && near(full.values, listed.values, 1e-6));
  CHECK_NEAR(full.loss, unbiased.loss, 1e-6);
  CHECK_NEAR(full.loss, model.evaluate(graph, Split::train).loss, 1e-6);
}

void an_empty_batch_is_not_all_nodes() {
  const Graph graph = path_graph();
  const Model model = Model::gcn({2, 2}, 0);
  Estimator estimator = Estimator::unbiased();
  const std::vector<std::int32_t> none;
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "batch is empty", estimator.gradient(model, graph, none));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "batch is empty", estimator.gradient(model, graph, {}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "batch[0] = 4", estimator.gradient(model, graph, {4}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "batch", Estimator::full().gradient(model, graph, {0}));
}

void the_same_seed_draws_the_same() {
  const Graph graph = Graph::mixture(100, 0);
  const Model model = Model::gcn({2, 4, 3}, 0);
  Estimator estimator = Estimator::consistent({0, 50}).set_seed(3);
  const std::vector<float> first = estimator.gradient(model, graph).values;
  const std::vector<float> second = estimator.gradient(model, graph).values;
  CHECK(!equal(first, second));
  estimator.set_seed(3);
  CHECK(equal(estimator.gradient(model, graph).values, first));
  CHECK(equal(estimator.gradient(model, graph).values, second));
  CHECK(!equal(estimator.set_seed(4).gradient(model, graph).values, first));
}

void the_distribution_and_weights_choose_the_draws() {
  const Graph graph = Graph::mixture(100, 0);
  const Model model = Model::gcn({2, 4, 3}, 0);
  std::vector<double> weights(300, 1);
  weights[5] = 1000;
  const auto with = [&](Distribution distribution) {
    return Estimator::consistent({0, 50}).set_distribution(distribution).gradient(model, graph).values;
  };
  const std::vector<float> uniform = Estimator::consistent({0, 50}).gradient(model, graph).values;
  CHECK(equal(with(Distribution::uniform), uniform));
  CHECK(!equal(with(Distribution::importance), uniform));
  CHECK(!equal(with(Distribution::neighbors), uniform));
  CHECK(!equal(with(Distribution::ladies), with(Distribution::neighbors)));
  Estimator weighted = Estimator::consistent({0, 50}).set_weights(weights);
  CHECK(!equal(weighted.gradient(model, graph).values, uniform));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "", weighted.set_weights({1, 2}).gradient(model, graph));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "weights[1]", weighted.set_weights({1, 0}));
  CHECK_ERROR(PLIM_ERROR_UNSUPPORTED, "", Estimator::full().set_weights(weights));
  CHECK_ERROR(PLIM_ERROR_UNSUPPORTED, "", Estimator::unbiased().set_distribution(Distribution::ladies));
}

void pinned_draws_of_every_node_once_are_exact() {
  const Graph graph = path_graph();
  const Model model = Model::gcn({2, 3, 2}, 1);
  const Gradient exact = Estimator::unbiased().gradient(model, graph);
  Estimator pinned = Estimator::consistent({0, 2}).set_draws(1, {0, 1, 2, 3});
  CHECK(near(pinned.gradient(model, graph).values, exact.values, 1e-6) && pinned.property().bits == 0);
  pinned.set_draws(1, {});
  CHECK(pinned.property().consistent());
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "layer", pinned.set_draws(2, {0}));
}

void a_gradient_goes_into_the_caller_s_buffer() {
  const Graph graph = path_graph();
  const Model model = Model::gcn({2, 3, 2}, 1);
  Estimator estimator = Estimator::unbiased();
  std::vector<float> buffer(model.num_parameters() + 1, -1);
  const Gradient all = estimator.gradient(model, graph), batch = estimator.gradient(model, graph, {3});
  CHECK(estimator.gradient_into(buffer, model, graph) == all.loss);
  CHECK(std::equal(all.values.begin(), all.values.end(), buffer.begin()) && buffer.back() == -1);
  CHECK(estimator.gradient_into(buffer, model, graph, {3}) == batch.loss);
  CHECK(std::equal(batch.values.begin(), batch.values.end(), buffer.begin()) && buffer.back() == -1);
  buffer.resize(3);
  CHECK_ERROR(PLIM_ERROR_BUFFER_TOO_SMALL, "12", estimator.gradient_into(buffer, model, graph));
}

void a_chain_of_setters_keeps_the_object() {
  Estimator estimator = Estimator::consistent({0, 2}).set_seed(1).set_distribution(Distribution::ladies);
  const plim_estimator *handle = estimator.get();
  estimator.set_seed(2).set_weights({1, 2, 3, 4}).set_draws(0, {1}).set_draws(0, {});
  CHECK(estimator.get() == handle);
}

} // namespace

int main() {
  RUN(an_estimator_declares_what_it_is);
  RUN(full_and_unbiased_agree_on_all_training_nodes);
  RUN(an_empty_batch_is_not_all_nodes);
  RUN(the_same_seed_draws_the_same);
  RUN(the_distribution_and_weights_choose_the_draws);
  RUN(pinned_draws_of_every_node_once_are_exact);
  RUN(a_gradient_goes_into_the_caller_s_buffer);
  RUN(a_chain_of_setters_keeps_the_object);
  return check_close();
}
