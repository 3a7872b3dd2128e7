// Models from layers: appending, chaining, values, tensors, properties.
#include "check.hpp"

using namespace plimsoll;

namespace {

void layers_are_appended_in_a_chain() {
  Layers layers(2);
  CHECK(layers.last() == 0 && layers.width() == 2 && layers.num_hops() == 0);
  const std::size_t first = layers.gcn(4).set_bias(false).activation(Activation::elu).last();
  CHECK(first == 2 && layers.width() == 4 && layers.num_hops() == 1);
  layers.sage(4, Aggregator::max).norm(Norm::layer).dropout(.5).add(first).max(first).concat(first);
  CHECK(layers.last() == 8 && layers.width() == 8 && layers.num_hops() == 2);
  layers.gin({5, 3}).set_epsilon(.5, true).propagate(2, .1).aggregate(Aggregator::min).linear(2);
  CHECK(layers.last() == 12 && layers.width() == 2 && layers.num_hops() == 6);
  CHECK(layers.at(0).last() == 0 && layers.width() == 2);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "value 12 (linear) does not reach the last value, 13",
              Model(layers.linear(2), 0));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "add: value 13 has width 2, value 1 has width 4", layers.add(1));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_features", Layers(0));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "activation = 9", layers.activation(static_cast<Activation>(9)));
  CHECK(layers.last() == 13);
}

void attention_has_heads() {
  Layers layers(5);
  CHECK(layers.gat(4, 3).width() == 12 && layers.num_hops() == 1);
  layers.gat(2, 8, 2).set_heads(Heads::mean).set_self_loops(false).set_attention_dropout(.6).set_bias(false);
  CHECK(layers.width() == 2 && layers.last() == 2);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "version = 3", layers.gat(2, 2, 3));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "heads = 2 is not", layers.set_heads(static_cast<Heads>(2)));
  const Model model(Layers(5).gat(4, 3).set_heads(Heads::mean).gat(2, 1, 2).set_self_loops(true), 0);
  CHECK(model.num_parameters() == 5 * 12 + 2 * 12 + 4 + 2 * (4 * 2 + 2) + 2 + 2);
  CHECK(model.tensors()[1].name == "v1.att_src" && model.tensors()[8].name == "v2.att");
}

void a_chain_may_start_with_a_temporary() {
  const Graph graph = path_graph();
  const Model model(Layers(2).sage(4).activation(Activation::relu).dropout(.5).sage(3), 1);
  CHECK(model.num_layers() == 2 && model.num_parameters() == 2 * 4 * 2 + 4 + 4 * 3 * 2 + 3);
  const std::vector<float> all = model.predict(graph);
  CHECK(all.size() == 12);
  CHECK_NEAR(1, static_cast<double>(all[0] + all[1] + all[2]), 1e-6);
  CHECK(equal(model.predict(graph, {3}), std::vector<float>{all[9], all[10], all[11]}));
  CHECK(equal(model.clone().predict(graph), all));
  const auto owned = Layers(2).linear(3).gcn(3).gin({4, 2}).set_epsilon(.1).set_bias(false).norm(Norm::batch).at(1);
  CHECK(owned.last() == 1 && owned.num_hops() == 2);
}

void values_and_tensors_are_named_and_placed() {
  const Graph graph = path_graph();
  Model model(Layers(2).sage(1, Aggregator::sum).set_bias(false).concat(0), 0);
  CHECK(equal(model.value_widths(), std::vector<int>{2, 1, 3}));
  const std::vector<Tensor> tensors = model.tensors();
  CHECK(tensors.size() == 2 && tensors[0].name == "v1.lin_l.weight" && tensors[1].name == "v1.lin_r.weight");
  CHECK(tensors[1].offset == 2 && tensors[1].rows == 2 && tensors[1].columns == 1);
  model.set_parameters({1, 10, 100, 1000}); // features {1, 0}, {2, 0}, {0, 1}, {0, 2} on a path
  CHECK(equal(model.embed_value(graph, 1), std::vector<float>{102, 211, 1022, 2010}));
  CHECK(equal(model.embed_value(graph, 2, {2}), std::vector<float>{1022, 0, 1}));
  CHECK(equal(model.embed_value(graph, 0, {1, 3}), std::vector<float>{2, 0, 0, 2}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "value = 3", model.embed_value(graph, 3));
  CHECK_ERROR(PLIM_ERROR_UNSUPPORTED, "made of layers", model.widths());
  CHECK_ERROR(PLIM_ERROR_UNSUPPORTED, "made of layers", model.embed(graph, 9));
  CHECK(model.confusion(graph, Split::test).size() == 9);
}

void a_property_depends_on_the_model() {
  const Model plain(Layers(2).gcn(2), 0), normed(Layers(2).gcn(2).norm(Norm::batch), 0);
  const Estimator full = Estimator::full(), unbiased = Estimator::unbiased();
  CHECK(full.property_of(plain).exact() && full.property_of(normed).exact());
  CHECK(unbiased.property_of(plain).unbiased() && unbiased.property_of(normed).bits == 0);
}

void layers_train() {
  const Graph graph = Graph::mixture(100, 0);
  Model model(Layers(2).sage(16).activation(Activation::relu).dropout(.1).sage(3), 1);
  Estimator full = Estimator::full();
  Optimizer adam = Optimizer::adam(.01);
  const double before = model.evaluate(graph, Split::train).loss;
  train(model, graph, full, adam, TrainOptions().set_epochs(50));
  CHECK(model.evaluate(graph, Split::train).loss < before);
}

void ownership_passes_on() {
  Layers first(2);
  Layers second = std::move(first);
  CHECK(!first && first.last() == 0 && second.gcn(3).last() == 1);
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "layers is NULL", first.gcn(3));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "layers is NULL", Model(first, 0));
  const Layers third = Layers::adopt(second.release());
  CHECK(!second && third.last() == 1);
}

} // namespace

int main() {
  RUN(layers_are_appended_in_a_chain);
  RUN(attention_has_heads);
  RUN(a_chain_may_start_with_a_temporary);
  RUN(values_and_tensors_are_named_and_placed);
  RUN(a_property_depends_on_the_model);
  RUN(layers_train);
  RUN(ownership_passes_on);
  return check_close();
}
