// Learning to rank: data, measures, gradients, training, tails and plans.
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <random>

using namespace plimsoll;

namespace {

struct Trial {
  std::vector<float> features;
  std::vector<std::int32_t> relevance;
  std::vector<std::int64_t> offsets{0};

  Trial() {
    std::mt19937 random(1);
    const auto unit = [&] { return static_cast<float>(random()) / 2147483648.0f - 1.0f; };
    for (int q = 0; q < 30; ++q) {
      for (int d = 0; d < 8; ++d) {
        const float x = unit(), y = unit();
        features.insert(features.end(), {x, y, unit()});
        relevance.push_back(x - y > .6f ? 2 : x - y > 0 ? 1 : 0);
      }
      offsets.push_back(static_cast<std::int64_t>(relevance.size()));
    }
  }

  RankData data() const {
    RankData data = RankData::from_arrays(3, features, relevance, offsets);
    std::vector<std::int32_t> queries(30);
    for (int q = 0; q < 30; ++q) {
      queries[static_cast<std::size_t>(q)] = q;
    }
    data.set_split(Split::train, Span<const std::int32_t>(queries.data(), 20));
    data.set_split(Split::val, Span<const std::int32_t>(queries.data() + 20, 10));
    return data;
  }
};

void data_give_back_what_they_were_given() {
  const Trial trial;
  const RankData data = trial.data();
  CHECK(data.num_queries() == 30 && data.num_documents() == 240 && data.num_features() == 3);
  CHECK(data.split_size(Split::val) == 10 && data.split(Split::val)[0] == 20 && data.split(Split::test).empty());
  CHECK(equal(data.offsets(), trial.offsets) && equal(data.relevance(), trial.relevance));
  CHECK(data.query_ids()[29] == 29);
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  for (std::int64_t v = 0; v < 240; ++v) {
    indptr.push_back(3 * v + 3);
    indices.insert(indices.end(), {0, 1, 2});
  }
  const RankData sparse =
      RankData::from_arrays(3, indptr, indices, trial.features, trial.relevance, trial.offsets);
  const Model model = Model::gcn({3, 4, 1}, 1);
  const std::vector<float> one = data.scores(model), other = sparse.scores(model);
  for (std::size_t v = 0; v < 240; ++v) {
    CHECK_NEAR(one[v], other[v], 1e-5);
  }
}

void measures_are_means_of_those_of_queries() {
  RankData data = Trial().data();
  const Model model = Model::gcn({3, 1}, 1);
  for (const Gain gain : {Gain::exponential, Gain::linear}) {
    data.set_ndcg(5, gain);
    const RankEvaluation all = data.evaluate(model, Split::val);
    const std::vector<double> ndcg = data.measure(model, Split::val, Measure::ndcg);
    double sum = 0;
    for (const double value : ndcg) {
      sum += value;
    }
    CHECK_NEAR(sum / 10, all.ndcg, 1e-12);
    CHECK(all.loss > 0 && all.accuracy > 0 && all.accuracy < 1);
    CHECK(data.measure(model, Split::val, Measure::loss).size() == 10);
    CHECK(data.measure(model, Split::val, Measure::accuracy).size() == 10);
  }
}

void every_estimator_trains() {
  const RankData data = Trial().data();
  Estimator estimators[] = {Estimator::full(), Estimator::unbiased(), Estimator::pairs(6),
                            Estimator::separate(4).set_seed(2), Estimator::separate(4, true)};
  const std::uint32_t properties[] = {7, 1, 3, 3, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(estimators[i].property().bits == properties[i]);
    Model model = Model::gcn({3, 1}, 1);
    Optimizer adam = Optimizer::adam(.05);
    CHECK(estimators[i].gradient(model, data).values.size() == 3);
    if (i > 0) {
      CHECK(estimators[i].gradient(model, data, {0, 1, 2}).loss > 0);
    }
    double told = 0;
    TrainOptions options = TrainOptions().set_epochs(40).set_batch_size(5).set_monitor(Monitor::val_ndcg);
    options.set_progress([&](const Progress &progress) { told = std::isnan(progress.val_ndcg) ? told : progress.val_ndcg; });
    const History history = train(model, data, estimators[i], adam, options).history;
    const std::vector<double> ndcg = history.column(Column::val_ndcg);
    CHECK(told == ndcg.back() && history.best_epoch() > 0);
    CHECK(data.evaluate(model, Split::val).ndcg == *std::max_element(ndcg.begin(), ndcg.end()));
    CHECK(data.evaluate(model, Split::val).ndcg > .95);
  }
  Model model = Model::gcn({3, 1}, 1);
  Optimizer adam = Optimizer::adam(.05);
  CHECK(train(model, data, estimators[0], adam).history.num_epochs() == 100);
}

void tails_and_plans_are_measured() {
  const RankData data = Trial().data();
  const Model model = Model::gcn({3, 1}, 1);
  const ProbeOptions options = ProbeOptions().set_draws(200);
  const Tail tail(Estimator::separate(1), model, data, {2, 32}, {.3}, options);
  CHECK(tail.error()[0] > tail.error()[1] && tail.probability().size() == 2);
  const Plan plan(Estimator::pairs(1), model, data, .5, .2, 1, options);
  CHECK(plan.sizes().size() == 1 && plan.sample_size() > 0 && plan.misses() <= .2);
}

void files_are_read_standardised_and_joined() {
  const char text[] = "1 qid:5 1:2 3:1\n0 qid:5 2:1\n2 qid:9 1:1 # last\n0 qid:9 3:4\n";
  files_write("letor", text, sizeof text - 1);
  RankData train = RankData::load(files_path("letor")), other = RankData::load(files_path("letor"), 3);
  CHECK(train.num_features() == 3 && equal(train.query_ids(), std::vector<int>{5, 9}));
  other.standardize(train);
  train.standardize();
  train.append(other, Split::val);
  CHECK(train.num_queries() == 4 && equal(train.split(Split::val), std::vector<int>{2, 3}));
  const std::vector<float> scores = train.scores(Model::gcn({3, 1}, 1));
  CHECK(equal(std::vector<float>(scores.begin(), scores.begin() + 4), std::vector<float>(scores.begin() + 4, scores.end())));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "already", train.standardize());
  RankData gone = std::move(other);
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "moved from", gone.standardize(other));
  CHECK_ERROR(PLIM_ERROR_BAD_FORMAT, "outside [1, 2]", RankData::load(files_path("letor"), 2));
  CHECK_ERROR(PLIM_ERROR_IO, "nowhere", RankData::load("/nowhere"));
  files_remove("letor");
}

void what_does_not_fit_is_an_error() {
  const Trial trial;
  const RankData data = trial.data();
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "row_major", RankData::from_arrays(2, trial.features, trial.relevance, trial.offsets));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_queries", RankData::from_arrays(3, trial.features, trial.relevance, {0}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "one number", data.scores(Model::gcn({3, 2}, 1)));
  CHECK_ERROR(PLIM_ERROR_UNSUPPORTED, "neighbours", Estimator::consistent({4}).gradient(Model::gcn({3, 1}, 1), data));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_pairs", Estimator::pairs(0));
  const RankData adopted = RankData::adopt(trial.data().release());
  CHECK(adopted.num_queries() == 30);
}

} // namespace

int main() {
  RUN(data_give_back_what_they_were_given);
  RUN(measures_are_means_of_those_of_queries);
  RUN(every_estimator_trains);
  RUN(tails_and_plans_are_measured);
  RUN(files_are_read_standardised_and_joined);
  RUN(what_does_not_fit_is_an_error);
  files_close();
  return check_close();
}
