// Graphs: sources, content, and the lengths that only C++ can check.
#include "check.hpp"

using namespace plimsoll;

namespace {

// ÂX of a graph with two features: the output of a layer with identity weights.
std::vector<float> aggregated(const Graph &graph) {
  Model identity = Model::gcn({2, 2}, 0);
  identity.set_parameters({1, 0, 0, 1});
  return identity.embed(graph, 0);
}

void edges_are_undirected_and_merge() {
  const Graph graph = Graph::from_edges(5, {0, 1, 1, 2}, {1, 0, 2, 2});
  CHECK(graph.num_nodes() == 5 && graph.num_edges() == 3);
  CHECK(graph.num_features() == 0 && graph.num_classes() == 0);
  const Graph lonely = Graph::from_edges(3, {}, {});
  CHECK(lonely.num_nodes() == 3 && lonely.num_edges() == 0);
}

void weights_of_edges_count() {
  const std::vector<std::int32_t> sources{0, 1}, targets{1, 2};
  const std::vector<float> weights{2, .5f};
  Graph graph = Graph::from_edges(3, sources, targets, weights);
  graph.set_normalization(Normalization::none);
  graph.set_features(2, {1, 2, 4, 8, 16, 32});
  CHECK(equal(aggregated(graph), std::vector<float>{8, 16, 10, 20, 2, 4}));
}

void a_csr_graph_is_directed() {
  Graph graph = Graph::from_csr(3, {0, 2, 2, 3}, {1, 2, 0});
  graph.set_normalization(Normalization::none);
  graph.set_features(2, {1, 2, 4, 8, 16, 32});
  CHECK(graph.num_edges() == 3);
  CHECK(equal(aggregated(graph), std::vector<float>{20, 40, 0, 0, 1, 2}));
  Graph weighted = Graph::from_csr(3, {0, 2, 2, 3}, {1, 2, 0}, {1, .5f, 3});
  weighted.set_normalization(Normalization::none);
  weighted.set_features(2, {1, 2, 4, 8, 16, 32});
  CHECK(equal(aggregated(weighted), std::vector<float>{12, 24, 0, 0, 3, 6}));
}

void normalizations_are_what_they_say() {
  Graph graph = Graph::from_edges(2, {0}, {1});
  graph.set_features(2, {1, 0, 0, 4});
  CHECK(near(aggregated(graph), {.5f, 2, .5f, 2}, 1e-6));
  graph.set_normalization(Normalization::row);
  CHECK(near(aggregated(graph), {.5f, 2, .5f, 2}, 1e-6));
  graph.set_normalization(Normalization::none);
  CHECK(equal(aggregated(graph), std::vector<float>{0, 4, 1, 0}));
  graph.set_normalization(Normalization::symmetric);
  CHECK(near(aggregated(graph), {.5f, 2, .5f, 2}, 1e-6));
}

void the_mixture_graph_comes_with_all_it_needs() {
  const Graph graph = Graph::mixture(100, 3);
  CHECK(graph.num_nodes() == 300 && graph.num_features() == 2 && graph.num_classes() == 3);
  CHECK(graph.split_size(Split::train) == 120 && graph.split_size(Split::val) == 60);
  CHECK(graph.split(Split::test).size() == 120 && graph.labels().size() == 300);
  CHECK(graph.num_edges() == Graph::mixture(100, 3).num_edges());
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "nodes_per_class", Graph::mixture(0, 0));
}

void features_are_dense_or_sparse() {
  Graph dense = path_graph(), sparse = path_graph();
  sparse.set_sparse_features(2, {0, 1, 2, 3, 4}, {0, 0, 1, 1}, {1, 2, 1, 2});
  CHECK(dense.num_features() == 2 && sparse.num_features() == 2);
  CHECK(near(aggregated(dense), aggregated(sparse), 1e-6));
  dense.normalize_features();
  dense.set_normalization(Normalization::none);
  CHECK(equal(aggregated(dense), std::vector<float>{1, 0, 1, 1, 1, 1, 0, 1}));
  sparse.set_sparse_features(3, {0, 0, 0, 0, 0}, {}, {});
  CHECK(sparse.num_features() == 3);
}

void labels_and_splits_come_back() {
  Graph graph = path_graph();
  CHECK(equal(graph.labels(), std::vector<int>{0, 0, 1, 1}) && graph.num_classes() == 2);
  CHECK(equal(graph.split(Split::train), std::vector<int>{0, 3}));
  CHECK(equal(graph.split(Split::val), std::vector<int>{1}) && equal(graph.split(Split::test), std::vector<int>{2}));
  graph.set_labels(std::vector<std::int32_t>{-1, 4, 0, -1});
  CHECK(graph.num_classes() == 5 && graph.labels()[0] == -1);
  graph.set_num_classes(7);
  CHECK(graph.num_classes() == 7);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "labels[1] = 4", graph.set_num_classes(4));
  CHECK(graph.num_classes() == 7);
  graph.set_split(Split::val, {});
  CHECK(graph.split_size(Split::val) == 0 && graph.split(Split::val).empty());
}

void check_loaded(const Graph &loaded, const Graph &graph) {
  CHECK(loaded.num_edges() == 3 && equal(loaded.labels(), graph.labels()));
  CHECK(equal(aggregated(loaded), aggregated(graph)));
}

void a_saved_graph_loads() {
  const std::string path = files_path("graph.npz");
  const Graph graph = path_graph();
  graph.save(path);
  check_loaded(Graph::load(path), graph);
  files_remove("graph.npz");
  CHECK_ERROR(PLIM_ERROR_IO, "graph.npz", Graph::load(path));
}

void a_stored_graph_is_mapped() {
  const std::string path = files_path("store");
  const Graph graph = path_graph();
  graph.save_store(path);
  const Graph loaded = Graph::load(path);
  check_loaded(loaded, graph);
  loaded.verify();
  CHECK_ERROR(PLIM_ERROR_IO, "not empty", graph.save_store(path));
  for (const char *name : {"indptr.npy", "indices.npy", "values.npy", "self_loops.npy", "features.npy", "labels.npy",
                           "train.npy", "val.npy", "test.npy", "meta.json"}) {
    files_remove((std::string("store/") + name).c_str());
  }
  files_remove("store");
}

void edges_come_from_text() {
  const std::string text = "from,to\n0,1\n1,2\n";
  files_write("edges.csv", text.data(), text.size());
  CHECK(Graph::from_edge_list(files_path("edges.csv")).num_nodes() == 3);
  CHECK(Graph::from_edge_list(files_path("edges.csv"), 9).num_nodes() == 9);
  CHECK_ERROR(PLIM_ERROR_BAD_FORMAT, "line 3: column 3", Graph::from_edge_list(files_path("edges.csv"), 2));
  files_remove("edges.csv");
}

void a_bank_reads_its_transfers() {
  const std::string text = "payer;payee;amount;time\nann;\"bob; co\";2.5;mon\nann;carl;4;tue\nann;carl;8;wed\n";
  const std::string path = files_path("transfers.csv");
  files_write("transfers.csv", text.data(), text.size());
  std::vector<std::string> lines;
  EdgeListOptions options = EdgeListOptions()
                                .set_separator(';')
                                .set_column_names("payer", "payee", "amount")
                                .set_directed(true)
                                .set_repeated(Repeated::max)
                                .set_comment("//")
                                .set_log(LogLevel::info, [&](LogLevel, const char *line) { lines.push_back(line); });
  auto [graph, ids] = Graph::from_named_edge_list(path, options);
  CHECK(graph.num_nodes() == 3 && graph.num_edges() == 2 && ids.count() == 3 && lines.size() == 2);
  CHECK(ids.name(1) == "bob; co" && ids.find("carl") == 2 && ids.find("dora") == -1);
  CHECK(ids.find(std::string("carl\0", 5)) == -1);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "id = 3", ids.name(3));
  ids.save(files_path("ids"));
  CHECK(Ids::load(files_path("ids")).name(0) == "ann");
  files_remove("ids");
  CHECK_ERROR(PLIM_ERROR_BAD_FORMAT, "line 2: column 1: \"ann\" is not a node id", Graph::from_edge_list(path, options));
  options.set_log(LogLevel::info, [](LogLevel, const char *) { throw std::runtime_error("enough"); });
  try {
    Graph::from_named_edge_list(path, options);
    CHECK(false);
  } catch (const std::runtime_error &error) {
    CHECK(std::string(error.what()) == "enough");
  }
  options.clear_log();
  options.clear_separator();
  options.clear_comment();
  options.set_columns(0, 1, 2).set_header(Header::no).set_repeated(Repeated::count).set_num_nodes(4);
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "counted", Graph::from_edge_list(path, options));
  options.set_column_names("payer", "payee").set_header(Header::automatic);
  CHECK(Graph::from_named_edge_list(path, options).graph.num_nodes() == 4);
  CHECK(Graph::adopt(Graph::from_named_edge_list(path, EdgeListOptions::adopt(options.release())
                                                            .set_num_nodes(5)).graph.release()).num_nodes() == 5);
  CHECK_ERROR(PLIM_ERROR_NULL_POINTER, "moved from", Graph::from_edge_list(path, options));
  files_remove("transfers.csv");
}

void a_view_borrows_until_its_release() {
  const std::vector<std::int64_t> indptr = {0, 2, 2, 3};
  const std::vector<std::int32_t> indices = {1, 2, 0}, unsorted = {2, 1, 0};
  const std::vector<float> values = {1, .5f, 3}, features = {1, 0, 10, 0, 100, 0}, more = {0, 0, 0, 0, 1, 0};
  int matrix = 0, first = 0, second = 0;
  {
    Graph graph = Graph::view_csr(3, indptr, indices, values, [&] { matrix++; });
    graph.view_features(2, features, [&] { first++; });
    CHECK(equal(aggregated(graph), std::vector<float>{60, 0, 0, 0, 3, 0}));
    graph.view_features(2, more, [&] { second++; });
    CHECK(first == 1 && second == 0 && matrix == 0);
    CHECK(equal(aggregated(graph), std::vector<float>{.5f, 0, 0, 0, 0, 0}));
    CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "6 elements, not 3 times 3", graph.view_features(3, more, [&] { first++; }));
    CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "row_major[0]", graph.view_features(1, {NAN, 0, 0}, [&] { first++; }));
  }
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "indices[1] = 1 is not above",
              Graph::view_csr(3, indptr, unsorted, values, [&] { matrix++; }));
  CHECK(first == 1 && second == 1 && matrix == 1);
  Graph::view_csr(3, indptr, indices, values, nullptr);
}

void the_cache_changes_no_bits() {
  Graph graph = Graph::mixture(50, 0);
  const std::vector<float> cached = aggregated(graph);
  graph.set_cache(0);
  CHECK(equal(aggregated(graph), cached));
}

void arrays_of_the_wrong_length_are_refused() {
  Graph graph = path_graph();
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "targets has 1 elements, sources has 2", Graph::from_edges(4, {0, 1}, {1}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "weights has 1", Graph::from_edges(4, {0, 1}, {1, 2}, {1.f}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "weights has 0", Graph::from_edges(4, {0, 1}, {1, 2}, {}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "indptr has 2 elements, not 2 + 1", Graph::from_csr(2, {0, 1}, {1}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "indptr has 0", Graph::from_csr(static_cast<std::size_t>(-1), {}, {}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "indptr ends with 2", Graph::from_csr(2, {0, 1, 2}, {1}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "indptr ends with -1", Graph::from_csr(2, {0, 1, -1}, {1}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "values has 1", Graph::from_csr(2, {0, 1, 2}, {1, 0}, {1.f}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "7 elements, not 4 times 2", graph.set_features(2, {1, 2, 3, 4, 5, 6, 7}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "6 elements, not 4 times 2", graph.set_features(2, {1, 2, 3, 4, 5, 6}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "times", graph.set_features(static_cast<std::size_t>(-1) / 2, {1, 2, 3, 4}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "indptr", graph.set_sparse_features(2, {0, 1}, {1}, {1}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "values", graph.set_sparse_features(2, {0, 1, 1, 1, 1}, {1}, {}));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "labels has 3 elements, not 4", graph.set_labels({0, 0, 0}));
  CHECK(equal(graph.labels(), std::vector<int>{0, 0, 1, 1}) && graph.num_features() == 2);
}

void what_c_refuses_becomes_an_error() {
  Graph graph = path_graph();
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_nodes", Graph::from_edges(0, {}, {}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "indptr[1]", Graph::from_csr(2, {0, 5, 1}, {1}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "num_features", graph.set_features(0, {}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "row_major[1]", graph.set_features(1, {1, NAN, 1, 1}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "nodes[1]", graph.set_split(Split::train, {0, 0}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "split", graph.set_split(static_cast<Split>(7), {0}));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "split", graph.split(static_cast<Split>(7)));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "normalization", graph.set_normalization(static_cast<Normalization>(9)));
  CHECK_ERROR(PLIM_ERROR_MISSING_DATA, "features", Graph::from_edges(2, {0}, {1}).normalize_features());
  CHECK_ERROR(PLIM_ERROR_MISSING_DATA, "labels", Graph::from_edges(2, {0}, {1}).labels());
}

} // namespace

int main() {
  RUN(edges_are_undirected_and_merge);
  RUN(weights_of_edges_count);
  RUN(a_csr_graph_is_directed);
  RUN(normalizations_are_what_they_say);
  RUN(the_mixture_graph_comes_with_all_it_needs);
  RUN(features_are_dense_or_sparse);
  RUN(labels_and_splits_come_back);
  RUN(a_saved_graph_loads);
  RUN(a_stored_graph_is_mapped);
  RUN(edges_come_from_text);
  RUN(a_bank_reads_its_transfers);
  RUN(a_view_borrows_until_its_release);
  RUN(the_cache_changes_no_bits);
  RUN(arrays_of_the_wrong_length_are_refused);
  RUN(what_c_refuses_becomes_an_error);
  files_close();
  return check_close();
}
