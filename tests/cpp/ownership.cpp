// Ownership: every handle is freed exactly once.
#include "check.hpp"

using namespace plimsoll;

namespace {

bool alive(const plim_graph *graph) { return plim_graph_num_nodes(graph) != 0; }

void a_graph_ends_with_its_owner() {
  const plim_graph *handle = nullptr;
  {
    const Graph graph = path_graph();
    handle = graph.get();
    CHECK(graph && alive(handle));
  }
  CHECK(!alive(handle));
}

void a_move_passes_the_handle_on() {
  Graph first = path_graph();
  const plim_graph *handle = first.get();
  Graph second = std::move(first);
  CHECK(!first && first.get() == nullptr && second.get() == handle);
  Graph third = Graph::mixture(10, 0);
  const plim_graph *replaced = third.get();
  third = std::move(second);
  CHECK(third.get() == handle && alive(handle) && !alive(replaced));
}

template <class T> bool survives_a_move_to_itself(T object) {
  const auto *handle = object.get();
  T &same = object;
  object = std::move(same);
  return object.get() == handle && handle != nullptr;
}

void a_move_to_itself_changes_nothing() {
  CHECK(survives_a_move_to_itself(path_graph()));
  CHECK(survives_a_move_to_itself(Model::gcn({2, 2}, 0)));
  CHECK(survives_a_move_to_itself(Estimator::full()));
  CHECK(survives_a_move_to_itself(Optimizer::sgd(1)));
  CHECK(survives_a_move_to_itself(TrainOptions().set_progress([](const Progress &) {})));
}

void a_moved_from_object_answers_zero_or_throws() {
  Graph graph = path_graph();
  Model model = Model::gcn({2, 2}, 0);
  Estimator estimator = Estimator::unbiased();
  Optimizer optimizer = Optimizer::sgd(1);
  const Graph graph_taken = std::move(graph);
  const Model model_taken = std::move(model);
  const Estimator estimator_taken = std::move(estimator);
  const Optimizer optimizer_taken = std::move(optimizer);
  CHECK(graph.num_nodes() == 0 && graph.split_size(Split::train) == 0 && model.num_parameters() == 0);
  CHECK(estimator.property().bits == 0);
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "graph is NULL", graph.set_features(2, {1, 2, 3, 4}));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "graph is NULL", graph.set_sparse_features(2, {0}, {}, {}));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "graph is NULL", graph.set_labels({1}));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "graph is NULL", graph.labels());
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "graph is NULL", model_taken.predict(graph));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "model is NULL", model.predict(graph_taken));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "model is NULL", model.embed(graph_taken, 0));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "model is NULL", model.clone());
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "estimator is NULL", estimator.gradient(model_taken, graph_taken));
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "optimizer is NULL", optimizer.reset());
}

void moved_from_options_are_not_taken_for_the_defaults() {
  const Graph graph = path_graph();
  Model model = Model::gcn({2, 2}, 0);
  Estimator estimator = Estimator::full();
  Optimizer optimizer = Optimizer::sgd(1);
  TrainOptions options;
  const TrainOptions taken = std::move(options);
  const std::vector<float> before = model.parameters();
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "moved from", train(model, graph, estimator, optimizer, options));
  CHECK(equal(model.parameters(), before));
}

void a_released_handle_belongs_to_c() {
  plim_graph *graph = path_graph().release();
  plim_model *model = Model::gcn({2, 2}, 0).release();
  plim_estimator *estimator = Estimator::full().release();
  plim_optimizer *optimizer = Optimizer::adam(1).release();
  CHECK(alive(graph) && plim_model_num_layers(model) == 1 && plim_estimator_property(estimator) == 7);
  plim_history *history = nullptr;
  CHECK_OK(plim_train(model, graph, estimator, optimizer, nullptr, &history));
  CHECK(plim_history_num_epochs(history) == 100);
  plim_history_free(history);
  plim_optimizer_free(optimizer);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
}

void a_handle_of_c_can_be_adopted() {
  plim_graph *graph = nullptr;
  plim_model *model = nullptr;
  plim_estimator *estimator = nullptr;
  plim_optimizer *optimizer = nullptr;
  plim_train_options *options = nullptr;
  plim_history *history = nullptr;
  const std::size_t widths[] = {2, 3};
  CHECK_OK(plim_graph_from_mixture(10, 0, &graph));
  CHECK_OK(plim_model_gcn(widths, 2, 0, &model));
  CHECK_OK(plim_estimator_full(&estimator));
  CHECK_OK(plim_optimizer_sgd(1, &optimizer));
  CHECK_OK(plim_train_options_new(&options));
  CHECK_OK(plim_train_options_set_epochs(options, 3));
  CHECK_OK(plim_train(model, graph, estimator, optimizer, options, &history));
  const Graph graph_owner = Graph::adopt(graph);
  Model model_owner = Model::adopt(model);
  Estimator estimator_owner = Estimator::adopt(estimator);
  Optimizer optimizer_owner = Optimizer::adopt(optimizer);
  const TrainOptions options_owner = TrainOptions::adopt(options);
  const History history_owner = History::adopt(history);
  CHECK(history_owner.num_epochs() == 3);
  const TrainResult result = train(model_owner, graph_owner, estimator_owner, optimizer_owner, options_owner);
  CHECK(result.history.num_epochs() == 3);
}

void owners_live_in_containers() {
  std::vector<Model> models;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    models.push_back(Model::gcn({2, 3}, seed));
  }
  models.erase(models.begin(), models.begin() + 10);
  std::swap(models.front(), models.back());
  CHECK(equal(models.front().parameters(), Model::gcn({2, 3}, 19).parameters()));
  CHECK(equal(models.back().parameters(), Model::gcn({2, 3}, 10).parameters()));
}

void a_handle_that_c_freed_behind_its_owner_is_an_error() {
  Graph graph = path_graph();
  plim_graph_free(graph.get());
  CHECK_ERROR(PLIM_ERROR_INVALID_HANDLE, "not a live", graph.set_labels({0, 0, 0, 0}));
  CHECK_ERROR(PLIM_ERROR_INVALID_HANDLE, "not a live", graph.labels());
}

} // namespace

int main() {
  RUN(a_graph_ends_with_its_owner);
  RUN(a_move_passes_the_handle_on);
  RUN(a_move_to_itself_changes_nothing);
  RUN(a_moved_from_object_answers_zero_or_throws);
  RUN(moved_from_options_are_not_taken_for_the_defaults);
  RUN(a_released_handle_belongs_to_c);
  RUN(a_handle_of_c_can_be_adopted);
  RUN(owners_live_in_containers);
  RUN(a_handle_that_c_freed_behind_its_owner_is_an_error);
  return check_close();
}
