// plimsoll.h in C++11 and later: it compiles, its types are as declared, and its handles fit a unique_ptr.
#include "plimsoll.h"
#include "plimsoll.h" // the include guard works

#include "../c/check.h"

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

static_assert(std::is_same<plim_status, std::int32_t>::value, "a status has 32 bits");
static_assert(PLIM_OK == 0 && PLIM_ERROR_INTERNAL == 255, "statuses are constants");
static_assert(std::is_same<decltype(plim_last_error()), const char *>::value, "a message is a C string");
static_assert(std::is_same<decltype(&plim_graph_free), void (*)(plim_graph *)>::value, "free takes the typed handle");
static_assert(std::is_same<decltype(&plim_graph_num_nodes), std::size_t (*)(const plim_graph *)>::value,
              "counts are size_t, getters are const");
static_assert(std::is_same<decltype(&plim_graph_from_edges),
                           plim_status (*)(std::size_t, std::size_t, const std::int32_t *, const std::int32_t *,
                                           const float *, plim_graph **)>::value,
              "edges are int32_t, weights are float");
static_assert(std::is_same<decltype(&plim_model_predict),
                           plim_status (*)(const plim_model *, const plim_graph *, const std::int32_t *, std::size_t,
                                           float *, std::size_t)>::value,
              "predict changes neither the model nor the graph");
static_assert(std::is_same<decltype(&plim_estimator_gradient),
                           plim_status (*)(plim_estimator *, const plim_model *, const plim_graph *,
                                           const std::int32_t *, std::size_t, float *, std::size_t, double *)>::value,
              "a gradient moves the estimator alone");
static_assert(std::is_same<decltype(&plim_estimator_property), std::uint32_t (*)(const plim_estimator *)>::value,
              "properties are bits");
static_assert(!std::is_convertible<plim_model *, plim_graph *>::value, "handles of two types do not mix");
static_assert(PLIM_SPLIT_TRAIN == 0 && PLIM_SPLIT_VAL == 1 && PLIM_SPLIT_TEST == 2, "splits");
static_assert(PLIM_NORMALIZATION_SYMMETRIC == 0 && PLIM_NORMALIZATION_ROW == 1 && PLIM_NORMALIZATION_NONE == 2,
              "normalisations");
static_assert(PLIM_DISTRIBUTION_UNIFORM == 0 && PLIM_DISTRIBUTION_IMPORTANCE == 1 &&
                  PLIM_DISTRIBUTION_NEIGHBORS == 2 && PLIM_DISTRIBUTION_LADIES == 3,
              "distributions");
static_assert((PLIM_PROPERTY_UNBIASED | PLIM_PROPERTY_CONSISTENT | PLIM_PROPERTY_EXACT) == 7, "properties");

namespace {

struct Free {
  void operator()(plim_graph *graph) const { plim_graph_free(graph); }
  void operator()(plim_model *model) const { plim_model_free(model); }
  void operator()(plim_estimator *estimator) const { plim_estimator_free(estimator); }
};
using Graph = std::unique_ptr<plim_graph, Free>;
using Model = std::unique_ptr<plim_model, Free>;
using Estimator = std::unique_ptr<plim_estimator, Free>;

static_assert(sizeof(Graph) == sizeof(void *), "ownership costs nothing");

Graph make_graph() {
  const std::vector<std::int32_t> sources{0, 1, 2}, targets{1, 2, 3}, labels{0, 1, 0, 1}, train{0, 1, 2, 3};
  const std::vector<float> features{1, 0, 0, 1, 1, 1, 0, 0};
  plim_graph *graph = nullptr;
  CHECK_OK(plim_graph_from_edges(4, sources.size(), sources.data(), targets.data(), nullptr, &graph));
  Graph owned(graph);
  CHECK_OK(plim_graph_set_features(graph, 2, features.data()));
  CHECK_OK(plim_graph_set_labels(graph, labels.data()));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, train.data(), train.size()));
  return owned;
}

Model make_model(std::uint64_t seed) {
  const std::array<std::size_t, 3> widths{{2, 4, 2}};
  plim_model *model = nullptr;
  CHECK_OK(plim_model_gcn(widths.data(), widths.size(), seed, &model));
  return Model(model);
}

void a_program_in_cpp_predicts_and_takes_gradients() {
  const Graph graph = make_graph();
  const Model model = make_model(7);
  plim_estimator *raw = nullptr;
  CHECK_OK(plim_estimator_full(&raw));
  const Estimator estimator(raw);
  std::vector<float> rows(8), gradient(plim_model_num_parameters(model.get()));
  double loss = 0;
  CHECK_OK(plim_model_predict(model.get(), graph.get(), nullptr, 0, rows.data(), rows.size()));
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    CHECK_NEAR(1.0, static_cast<double>(rows[i]) + static_cast<double>(rows[i + 1]), 1e-6);
  }
  CHECK_OK(plim_estimator_gradient(estimator.get(), model.get(), graph.get(), nullptr, 0, gradient.data(),
                                   gradient.size(), &loss));
  CHECK(gradient.size() == 16 && loss > 0);
  CHECK(plim_estimator_property(estimator.get()) == 7u);
}

void moved_handles_are_freed_once() {
  Graph first = make_graph();
  plim_graph *const raw = first.get();
  Graph second = std::move(first);
  CHECK(!first && second.get() == raw && plim_graph_num_nodes(raw) == 4);
  second.reset();
  CHECK(plim_graph_num_nodes(raw) == 0);
  std::vector<Model> models;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    models.push_back(make_model(seed));
  }
  CHECK(plim_model_num_layers(models.back().get()) == 2);
}

void errors_become_strings() {
  plim_graph *untouched = UNTOUCHED(plim_graph);
  const std::int32_t source = 0, target = 9;
  const plim_status status = plim_graph_from_edges(5, 1, &source, &target, nullptr, &untouched);
  CHECK(status == PLIM_ERROR_INVALID_ARGUMENT);
  CHECK(std::string(plim_last_error()).find("targets[0] = 9") != std::string::npos);
  CHECK(std::string(plim_status_name(status)) == "invalid argument");
  CHECK(untouched == UNTOUCHED(plim_graph));
}

} // namespace

int main() {
  RUN(a_program_in_cpp_predicts_and_takes_gradients);
  RUN(moved_handles_are_freed_once);
  RUN(errors_become_strings);
  return check_close();
}
