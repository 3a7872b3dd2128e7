// Models: parameters, predictions, files.
#include "check.hpp"

using namespace plimsoll;

namespace {

void a_network_has_its_widths_and_layers() {
  const Model model = Model::gcn({5, 4, 3}, 7);
  CHECK(model.num_layers() == 2 && model.num_parameters() == 32);
  CHECK(equal(model.widths(), std::vector<int>{5, 4, 3}));
  const std::vector<std::size_t> widths{5, 4, 3};
  CHECK(equal(Model::gcn(widths, 7).parameters(), model.parameters()));
  CHECK(!equal(Model::gcn(widths, 8).parameters(), model.parameters()));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "widths[1]", Model::gcn({5, 0}, 0));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "", Model::gcn({}, 0));
}

void parameters_go_in_and_out() {
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({1, 2, 3, 4});
  CHECK(equal(model.parameters(), std::vector<float>{1, 2, 3, 4}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "", model.set_parameters({1, 2, 3}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "src[2]", model.set_parameters({1, 2, INFINITY, 4}));
  CHECK(equal(model.parameters(), std::vector<float>{1, 2, 3, 4}));
}

void a_clone_goes_its_own_way() {
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({1, 2, 3, 4});
  Model copy = model.clone();
  copy.set_parameters({5, 6, 7, 8});
  CHECK(equal(model.parameters(), std::vector<float>{1, 2, 3, 4}));
  CHECK(equal(copy.parameters(), std::vector<float>{5, 6, 7, 8}));
}

void a_saved_model_loads() {
  const std::string path = files_path("model.safetensors");
  const Model model = Model::gcn({2, 3, 2}, 5);
  model.save(path);
  CHECK(equal(Model::load(path).parameters(), model.parameters()));
  files_remove("model.safetensors");
  CHECK_ERROR(PLIM_ERROR_IO, "model.safetensors", Model::load(path));
  CHECK_ERROR(PLIM_ERROR_IO, "", model.save("/nowhere/model.safetensors"));
}

void a_list_predicts_the_rows_of_all() {
  const Graph graph = path_graph();
  const Model model = Model::gcn({2, 4, 3}, 1);
  const std::vector<float> all = model.predict(graph);
  CHECK(all.size() == 12);
  CHECK_NEAR(1, static_cast<double>(all[0] + all[1] + all[2]), 1e-6);
  const std::vector<float> rows = model.predict(graph, {3, 0});
  CHECK(equal(rows, std::vector<float>{all[9], all[10], all[11], all[0], all[1], all[2]}));
  const std::vector<std::int32_t> none;
  CHECK(model.predict(graph, none).empty() && model.predict(graph, {}).empty());
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "nodes[1] = 9", model.predict(graph, {0, 9}));
}

void hidden_representations_are_those_of_the_layer() {
  Graph graph = path_graph();
  graph.set_normalization(Normalization::none); // rows of ÂX: (2,0) (1,1) (2,2) (0,1)
  Model model = Model::gcn({2, 1, 2}, 0);
  model.set_parameters({1, -1, 1, 2}); // W(0) = (1, -1)ᵀ, W(1) = (1, 2)
  CHECK(equal(model.embed(graph, 0), std::vector<float>{2, 0, 0, 0}));
  CHECK(equal(model.embed(graph, 1), std::vector<float>{0, 0, 2, 4, 0, 0, 0, 0}));
  CHECK(equal(model.embed(graph, 1, {1}), std::vector<float>{2, 4}));
  CHECK(model.embed(graph, 1, {}).empty());
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "layer", model.embed(graph, 2));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "layer", model.embed(graph, static_cast<std::size_t>(-1), {0}));
}

void an_evaluation_has_loss_and_accuracy() {
  const Graph graph = path_graph();
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({0, 0, 0, 0});
  CHECK_NEAR(std::log(2), model.evaluate(graph, Split::train).loss, 1e-7);
  model.set_parameters({9, 0, 0, 9});
  const auto [loss, accuracy] = model.evaluate(graph, Split::train);
  CHECK(accuracy == 1 && loss < .05);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "split", model.evaluate(graph, static_cast<Split>(3)));
  CHECK_ERROR(PLIM_ERROR_MISSING_DATA, "", model.evaluate(Graph::from_edges(2, {0}, {1}), Split::test));
}

void a_confusion_matrix_sums_up_to_accuracy_and_macro_f1() {
  const Graph graph = Graph::mixture(100, 0);
  const Model model = Model::gcn({2, 8, 4}, 1); // one class more than the graph has
  const std::vector<std::size_t> matrix = model.confusion(graph, Split::test);
  double total = 0, hits = 0;
  for (std::size_t k = 0; k < matrix.size(); ++k) {
    total += static_cast<double>(matrix[k]);
    hits += k % 5 == 0 ? static_cast<double>(matrix[k]) : 0;
  }
  CHECK(matrix.size() == 16 && total == static_cast<double>(graph.split_size(Split::test)));
  CHECK(hits / total == model.evaluate(graph, Split::test).accuracy);
  CHECK_NEAR((2.0 / 3.0 + 4.0 / 5.0) / 2.0, macro_f1({1, 1, 0, 2}), 1e-15);
  CHECK_NEAR((1.0 + 2.0 / 3.0 + 0.0) / 3.0, macro_f1({1, 0, 0, 0, 1, 1, 0, 0, 0}), 1e-15);
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "confusion has 5 elements", macro_f1({1, 2, 3, 4, 5}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_classes = 0", macro_f1({}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "split", model.confusion(graph, static_cast<Split>(3)));
}

void the_penalty_enters_the_objective_alone() {
  const Graph graph = path_graph();
  Model model = Model::gcn({2, 2}, 0);
  model.set_parameters({1, 2, 3, 4});
  Estimator full = Estimator::full();
  const double loss = full.gradient(model, graph).loss, evaluated = model.evaluate(graph, Split::train).loss;
  model.set_regularization(.5);
  CHECK_NEAR(loss + .25 * 30, full.gradient(model, graph).loss, 1e-5);
  CHECK(model.evaluate(graph, Split::train).loss == evaluated);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "lambda", model.set_regularization(-1));
}

void scratch_files_change_no_bits() {
  const Graph graph = Graph::mixture(200, 0);
  Model model = Model::gcn({2, 8, 3}, 0);
  const std::vector<float> in_memory = model.predict(graph);
  model.set_scratch(".", 0);
  CHECK(equal(model.predict(graph), in_memory));
  CHECK_ERROR(PLIM_ERROR_IO, "/no/such/directory", model.set_scratch("/no/such/directory", 0));
  model.clear_scratch();
  CHECK(equal(model.predict(graph), in_memory));
}

void threads_change_no_bits() {
  const Graph graph = Graph::mixture(200, 0);
  Model model = Model::gcn({2, 8, 3}, 0);
  const std::vector<float> alone = model.predict(graph);
  model.set_threads(3);
  CHECK(equal(model.predict(graph), alone));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "threads", model.set_threads(5000));
}

} // namespace

int main() {
  RUN(a_network_has_its_widths_and_layers);
  RUN(parameters_go_in_and_out);
  RUN(a_clone_goes_its_own_way);
  RUN(a_saved_model_loads);
  RUN(a_list_predicts_the_rows_of_all);
  RUN(hidden_representations_are_those_of_the_layer);
  RUN(an_evaluation_has_loss_and_accuracy);
  RUN(a_confusion_matrix_sums_up_to_accuracy_and_macro_f1);
  RUN(the_penalty_enters_the_objective_alone);
  RUN(scratch_files_change_no_bits);
  RUN(threads_change_no_bits);
  files_close();
  return check_close();
}
