/**
 * @file plimsoll.hpp
 *
 * Plimsoll in C++17: plimsoll.h with owners, exceptions, vectors and lambdas. Header-only; link libplimsoll.
 *
 *     #include <plimsoll.hpp>
 *     using namespace plimsoll;
 *
 *     Graph graph = Graph::mixture(2000, 0);
 *     Model model = Model::gcn({graph.num_features(), 16, graph.num_classes()}, 0);
 *     Estimator estimator = Estimator::consistent({0, 400});
 *     Optimizer sgd = Optimizer::sgd(1).set_schedule(Schedule::inverse_sqrt);
 *     auto [history, cancelled] = train(model, graph, estimator, sgd, TrainOptions().set_epochs(50));
 *     double accuracy = model.evaluate(graph, Split::test).accuracy;
 *
 * Names. plim_model_set_threads(model, n) is model.set_threads(n); plimsoll.h documents ranges and defaults.
 * Ownership. The classes move and do not copy. A call on a moved-from object throws PLIM_ERROR_NULL_POINTER, but its
 *   getters answer 0. get() lends the C handle, release() gives it up, adopt() takes one over.
 * Errors. A status becomes an Error, which has the status and the message. So does an array of the wrong length.
 * Arrays. A Span parameter takes a vector, an array, {1, 2, 3} or any data() and size(), borrowed for the call. "All
 *   nodes" is the overload without a list; an empty list is an empty list.
 * Callbacks. A lambda returns nothing, or Next::go or Next::stop. What it throws comes out of train() or minimize().
 *   A stop of its own is no error: the result says `cancelled`. Divergence is one, and Error::history() has the epochs.
 *   A measurement that is stopped has nothing to give, and throws PLIM_ERROR_CANCELLED. A log lambda returns nothing;
 *   what it throws stops the call at its next progress, and comes out too.
 * Threads. Const calls may run on any number of threads at once; others need the object to themselves.
 */
#ifndef PLIMSOLL_HPP
#define PLIMSOLL_HPP

#include <plimsoll.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll {

class History;

/// A call failed: what() is "shape mismatch: weights has 2 elements, sources has 3".
class Error : public std::runtime_error {
public:
  Error(plim_status status, const std::string &message, std::shared_ptr<const History> history = nullptr)
      : std::runtime_error(std::string(plim_status_name(status)) + ": " + message), status_(status),
        prefix_(std::strlen(plim_status_name(status)) + 2), history_(std::move(history)) {}

  /// PLIM_ERROR_…
  plim_status status() const noexcept { return status_; }

  /// Which argument, which index, which value.
  const char *message() const noexcept { return what() + prefix_; }

  /// The epochs completed when training diverged; otherwise nullptr.
  const History *history() const noexcept { return history_.get(); }

private:
  plim_status status_;
  std::size_t prefix_;
  std::shared_ptr<const History> history_;
};

/// The library's version, "0.1.0".
inline const char *version() noexcept { return plim_version(); }

/// The instruction set in use: "avx512", "avx2", "neon" or "portable".
inline const char *isa() noexcept { return plim_isa(); }

/// "invalid argument" for PLIM_ERROR_INVALID_ARGUMENT.
inline const char *status_name(plim_status status) noexcept { return plim_status_name(status); }

enum class Split : std::int32_t { train = PLIM_SPLIT_TRAIN, val = PLIM_SPLIT_VAL, test = PLIM_SPLIT_TEST };

enum class Normalization : std::int32_t {
  symmetric = PLIM_NORMALIZATION_SYMMETRIC,
  row = PLIM_NORMALIZATION_ROW,
  none = PLIM_NORMALIZATION_NONE,
};

enum class Distribution : std::int32_t {
  uniform = PLIM_DISTRIBUTION_UNIFORM,
  importance = PLIM_DISTRIBUTION_IMPORTANCE,
  neighbors = PLIM_DISTRIBUTION_NEIGHBORS,
  ladies = PLIM_DISTRIBUTION_LADIES,
};

enum class Schedule : std::int32_t {
  constant = PLIM_SCHEDULE_CONSTANT,
  inverse = PLIM_SCHEDULE_INVERSE,
  inverse_sqrt = PLIM_SCHEDULE_INVERSE_SQRT,
};

enum class Column : std::int32_t {
  train_loss = PLIM_HISTORY_TRAIN_LOSS,
  val_loss = PLIM_HISTORY_VAL_LOSS,
  val_accuracy = PLIM_HISTORY_VAL_ACCURACY,
  seconds = PLIM_HISTORY_SECONDS,
  batch_loss = PLIM_HISTORY_BATCH_LOSS,
  sample_size = PLIM_HISTORY_SAMPLE_SIZE,
  error = PLIM_HISTORY_ERROR,
  val_ndcg = PLIM_HISTORY_VAL_NDCG,
};

/// What the best epoch is chosen by.
enum class Monitor : std::int32_t {
  val_accuracy = PLIM_MONITOR_VAL_ACCURACY,
  val_loss = PLIM_MONITOR_VAL_LOSS,
  train_loss = PLIM_MONITOR_TRAIN_LOSS,
  val_ndcg = PLIM_MONITOR_VAL_NDCG,
};

/// What a document of relevance y adds to DCG: 2^y - 1, or y.
enum class Gain : std::int32_t { exponential = PLIM_RANK_GAIN_EXPONENTIAL, linear = PLIM_RANK_GAIN_LINEAR };

/// How a query is ranked.
enum class Measure : std::int32_t {
  loss = PLIM_RANK_MEASURE_LOSS,
  accuracy = PLIM_RANK_MEASURE_ACCURACY,
  ndcg = PLIM_RANK_MEASURE_NDCG,
};

/// How much a log's message matters; each level includes those before it.
enum class LogLevel : std::int32_t {
  error = PLIM_LOG_ERROR,
  warning = PLIM_LOG_WARNING,
  info = PLIM_LOG_INFO,
  debug = PLIM_LOG_DEBUG,
};

/// What an estimator declares itself to be.
struct Property {
  std::uint32_t bits = 0;
  constexpr bool unbiased() const noexcept { return (bits & PLIM_PROPERTY_UNBIASED) != 0; }
  constexpr bool consistent() const noexcept { return (bits & PLIM_PROPERTY_CONSISTENT) != 0; }
  constexpr bool exact() const noexcept { return (bits & PLIM_PROPERTY_EXACT) != 0; }
};

/// A callback's answer; one that returns nothing goes on.
enum class Next { go, stop };

/// A view of a caller's array: for parameters, since it keeps nothing alive. Span<const T> reads, Span<T> writes.
template <class T> class Span {
  template <class C>
  using enable_if_array = std::enable_if_t<
      !std::is_same_v<std::decay_t<C>, Span> && (std::is_const_v<T> || std::is_lvalue_reference_v<C>) &&
      std::is_convertible_v<std::remove_pointer_t<decltype(std::data(std::declval<C &>()))> (*)[], T (*)[]> &&
      std::is_convertible_v<decltype(std::size(std::declval<C &>())), std::size_t>>;

public:
  using value_type = std::remove_const_t<T>;

  constexpr Span() noexcept = default;
  constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

  /// A vector, an array, another span.
  template <class C, class = enable_if_array<C>> constexpr Span(C &&array) : Span(std::data(array), std::size(array)) {}

  /// {1, 2, 3}, which lives until the end of the full expression.
  template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
  constexpr Span(std::initializer_list<value_type> list) noexcept : Span(list.begin(), list.size()) {}

  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr T &operator[](std::size_t i) const { return data_[i]; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

inline void check(plim_status status) {
  if (status != PLIM_OK) {
    throw Error(status, plim_last_error());
  }
}

/// Two arrays that belong together are equally long.
inline void same_size(const char *name, std::size_t size, const char *other, std::size_t expected) {
  if (size != expected) {
    throw Error(PLIM_ERROR_SHAPE_MISMATCH, std::string(name) + " has " + std::to_string(size) + " elements, " + other +
                                               " has " + std::to_string(expected));
  }
}

/// An array has this many elements.
inline void has_size(const char *name, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw Error(PLIM_ERROR_SHAPE_MISMATCH,
                std::string(name) + " has " + std::to_string(size) + " elements, not " + std::to_string(expected));
  }
}

/// Compressed sparse rows fit each other.
inline void fits_csr(std::size_t rows, Span<const std::int64_t> indptr, Span<const std::int32_t> indices) {
  if (indptr.empty() || indptr.size() - 1 != rows) {
    throw Error(PLIM_ERROR_SHAPE_MISMATCH, "indptr has " + std::to_string(indptr.size()) + " elements, not " +
                                               std::to_string(rows) + " + 1");
  }
  if (indptr[rows] < 0 || static_cast<std::uint64_t>(indptr[rows]) != indices.size()) {
    throw Error(PLIM_ERROR_SHAPE_MISMATCH, "indices has " + std::to_string(indices.size()) +
                                               " elements, but indptr ends with " + std::to_string(indptr[rows]));
  }
}

/// What C calls when it needs a view's arrays no more.
using Release = std::function<void()>;

inline std::unique_ptr<Release> released(Release release) {
  return std::unique_ptr<Release>(new Release(std::move(release)));
}

extern "C" inline void plimsoll_hpp_release(void *user_data) noexcept {
  const std::unique_ptr<Release> release(static_cast<Release *>(user_data));
  if (*release) {
    (*release)();
  }
}

/// A pointer for C that is not NULL: there, an empty list is not "all".
inline const std::int32_t *list(Span<const std::int32_t> nodes) noexcept {
  static constexpr std::int32_t nothing = 0;
  return nodes.data() != nullptr ? nodes.data() : &nothing;
}

/// A file name for C, which would cut it at a zero byte.
inline const char *c_path(const std::string &path) {
  if (path.find('\0') != std::string::npos) {
    throw Error(PLIM_ERROR_INVALID_ARGUMENT, "path has a zero byte");
  }
  return path.c_str();
}

/// Calls a callback; true if it asks to stop.
template <class F, class... Args> bool stops(F &callback, Args &&...args) {
  using Answer = std::invoke_result_t<F &, Args...>;
  static_assert(std::is_void_v<Answer> || std::is_same_v<Answer, Next>,
                "a callback returns nothing, plimsoll::Next::go or plimsoll::Next::stop");
  if constexpr (std::is_void_v<Answer>) {
    callback(std::forward<Args>(args)...);
    return false;
  } else {
    return callback(std::forward<Args>(args)...) == Next::stop;
  }
}

/// Owns a C handle.
template <class T, void (*Free)(T *)> class Handle {
public:
  /// The handle, for calls to C; it stays owned.
  T *get() noexcept { return handle_.get(); }
  const T *get() const noexcept { return handle_.get(); }

  /// Gives the handle up: plim_…_free() it in the end.
  T *release() noexcept { return handle_.release(); }

  /// Whether there is one: false after a move.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
  explicit Handle(T *handle) noexcept : handle_(handle) {}

  /// What a C constructor makes.
  template <class Make> static T *make(Make &&constructor) {
    T *handle = nullptr;
    check(constructor(&handle));
    return handle;
  }

  struct Deleter {
    void operator()(T *handle) const noexcept { Free(handle); }
  };
  std::unique_ptr<T, Deleter> handle_;
};

} // namespace detail

/// An attributed graph: adjacency, features, labels and splits.
class Graph : public detail::Handle<plim_graph, plim_graph_free> {
public:
  /// Takes over a C handle.
  static Graph adopt(plim_graph *handle) noexcept { return Graph(handle); }

  /// An undirected graph; edge i links sources[i] and targets[i].
  static Graph from_edges(std::size_t num_nodes, Span<const std::int32_t> sources,
                          Span<const std::int32_t> targets) {
    detail::same_size("targets", targets.size(), "sources", sources.size());
    return edges(num_nodes, sources, targets, nullptr);
  }

  /// The same with a weight per edge.
  static Graph from_edges(std::size_t num_nodes, Span<const std::int32_t> sources,
                          Span<const std::int32_t> targets, Span<const float> weights) {
    detail::same_size("targets", targets.size(), "sources", sources.size());
    detail::same_size("weights", weights.size(), "sources", sources.size());
    return edges(num_nodes, sources, targets, weights.data());
  }

  /// A as given, directed or not; row v, from indptr[v] to indptr[v + 1], lists the nodes that v aggregates from.
  static Graph from_csr(std::size_t num_nodes, Span<const std::int64_t> indptr, Span<const std::int32_t> indices) {
    detail::fits_csr(num_nodes, indptr, indices);
    return csr(num_nodes, indptr, indices, nullptr);
  }

  /// The same with a weight per entry.
  static Graph from_csr(std::size_t num_nodes, Span<const std::int64_t> indptr, Span<const std::int32_t> indices,
                        Span<const float> values) {
    detail::fits_csr(num_nodes, indptr, indices);
    detail::same_size("values", values.size(), "indices", indices.size());
    return csr(num_nodes, indptr, indices, values.data());
  }

  /// The paper's Mixture graph: three classes in the plane; its size there is 2000 nodes per class.
  static Graph mixture(std::size_t nodes_per_class, std::uint64_t seed) {
    return Graph(make([&](plim_graph **out) { return plim_graph_from_mixture(nodes_per_class, seed, out); }));
  }

  /// Borrows a matrix, A and Â alike, whose rows are sorted. The arrays must stay, unchanged, until `release` is called,
  /// once and on any thread; it must not throw. Nothing is released if this throws.
  static Graph view_csr(std::size_t num_nodes, Span<const std::int64_t> indptr, Span<const std::int32_t> indices,
                        Span<const float> values, std::function<void()> release) {
    detail::fits_csr(num_nodes, indptr, indices);
    detail::same_size("values", values.size(), "indices", indices.size());
    auto owner = detail::released(std::move(release));
    Graph graph(make([&](plim_graph **out) {
      return plim_graph_view_csr(num_nodes, indptr.data(), indices.data(), values.data(), detail::plimsoll_hpp_release, owner.get(),
                                 out);
    }));
    owner.release();
    return graph;
  }

  /// Undirected edges from a text, one a line: two ids and perhaps a weight. `num_nodes` 0: one more than the largest id.
  static Graph from_edge_list(const std::string &path, std::size_t num_nodes = 0) {
    return Graph(
        make([&](plim_graph **out) { return plim_graph_from_edge_list(detail::c_path(path), num_nodes, out); }));
  }

  /// Reads an .npz or a Matrix Market file, or maps a store.
  static Graph load(const std::string &path) {
    return Graph(make([&](plim_graph **out) { return plim_graph_load(detail::c_path(path), out); }));
  }

  /// Writes an .npz file, whole or not at all.
  void save(const std::string &path) const { detail::check(plim_graph_save(get(), detail::c_path(path))); }

  /// Writes a store, a directory that load() maps into memory.
  void save_store(const std::string &directory) const {
    detail::check(plim_graph_save_store(get(), detail::c_path(directory)));
  }

  /// Bounds the memory for aggregated features.
  void set_cache(std::size_t max_bytes) { detail::check(plim_graph_set_cache(get(), max_bytes)); }

  /// Dense features, row-major: num_nodes() rows of `num_features`.
  void set_features(std::size_t num_features, Span<const float> row_major) {
    fits_features(num_features, row_major);
    detail::check(plim_graph_set_features(get(), num_features, row_major.data()));
  }

  /// Borrows dense features. The array must stay, unchanged, until `release` is called, once and on any thread; it must
  /// not throw. Nothing is released if this throws.
  void view_features(std::size_t num_features, Span<const float> row_major, std::function<void()> release) {
    fits_features(num_features, row_major);
    auto owner = detail::released(std::move(release));
    detail::check(plim_graph_view_features(get(), num_features, row_major.data(), detail::plimsoll_hpp_release, owner.get()));
    owner.release();
  }

  /// Features in compressed sparse rows.
  void set_sparse_features(std::size_t num_features, Span<const std::int64_t> indptr,
                           Span<const std::int32_t> indices, Span<const float> values) {
    if (num_nodes() != 0) {
      detail::fits_csr(num_nodes(), indptr, indices);
      detail::same_size("values", values.size(), "indices", indices.size());
    }
    detail::check(
        plim_graph_set_sparse_features(get(), num_features, indptr.data(), indices.data(), values.data()));
  }

  /// Divides each row of the features by its sum.
  void normalize_features() { detail::check(plim_graph_normalize_features(get())); }

  /// A class per node; -1 for none.
  void set_labels(Span<const std::int32_t> labels) {
    if (num_nodes() != 0) {
      detail::has_size("labels", labels.size(), num_nodes());
    }
    detail::check(plim_graph_set_labels(get(), labels.data()));
  }

  /// The nodes of a split; none empties it.
  void set_split(Split split, Span<const std::int32_t> nodes) {
    detail::check(plim_graph_set_split(get(), static_cast<std::int32_t>(split), nodes.data(), nodes.size()));
  }

  /// How A becomes Â.
  void set_normalization(Normalization normalization) {
    detail::check(plim_graph_set_normalization(get(), static_cast<std::int32_t>(normalization)));
  }

  std::size_t num_nodes() const noexcept { return plim_graph_num_nodes(get()); }
  std::size_t num_edges() const noexcept { return plim_graph_num_edges(get()); }
  std::size_t num_features() const noexcept { return plim_graph_num_features(get()); }
  std::size_t num_classes() const noexcept { return plim_graph_num_classes(get()); }
  std::size_t split_size(Split split) const noexcept {
    return plim_graph_split_size(get(), static_cast<std::int32_t>(split));
  }

  /// The nodes of a split.
  std::vector<std::int32_t> split(Split split) const {
    std::vector<std::int32_t> nodes(split_size(split));
    detail::check(plim_graph_copy_split(get(), static_cast<std::int32_t>(split), nodes.data(), nodes.size()));
    return nodes;
  }

  /// The class of each node; -1 for none.
  std::vector<std::int32_t> labels() const {
    std::vector<std::int32_t> labels(num_nodes());
    detail::check(plim_graph_copy_labels(get(), labels.data(), labels.size()));
    return labels;
  }

private:
  explicit Graph(plim_graph *handle) noexcept : Handle(handle) {}

  void fits_features(std::size_t num_features, Span<const float> row_major) const {
    // Without nodes the handle is not live, without features the number is wrong: both are C's to say.
    if (num_nodes() != 0 && num_features != 0 &&
        (row_major.size() % num_features != 0 || row_major.size() / num_features != num_nodes())) {
      throw Error(PLIM_ERROR_SHAPE_MISMATCH, "row_major has " + std::to_string(row_major.size()) +
                                                 " elements, not " + std::to_string(num_nodes()) + " times " +
                                                 std::to_string(num_features));
    }
  }

  static Graph edges(std::size_t num_nodes, Span<const std::int32_t> sources, Span<const std::int32_t> targets,
                     const float *weights) {
    return Graph(make([&](plim_graph **out) {
      return plim_graph_from_edges(num_nodes, sources.size(), sources.data(), targets.data(), weights, out);
    }));
  }

  static Graph csr(std::size_t num_nodes, Span<const std::int64_t> indptr, Span<const std::int32_t> indices,
                   const float *values) {
    return Graph(make([&](plim_graph **out) {
      return plim_graph_from_csr(num_nodes, indptr.data(), indices.data(), values, out);
    }));
  }
};

/// Mean cross-entropy without λ, and the share of nodes whose most probable class is their label.
struct Evaluation {
  double loss;
  double accuracy;
};

/// A graph convolutional network and its parameters.
class Model : public detail::Handle<plim_model, plim_model_free> {
public:
  /// Takes over a C handle.
  static Model adopt(plim_model *handle) noexcept { return Model(handle); }

  /// {1433, 16, 7} is the 2-layer network for Cora.
  static Model gcn(Span<const std::size_t> widths, std::uint64_t seed) {
    return Model(make([&](plim_model **out) { return plim_model_gcn(widths.data(), widths.size(), seed, out); }));
  }

  /// Reads a safetensors file.
  static Model load(const std::string &path) {
    return Model(make([&](plim_model **out) { return plim_model_load(detail::c_path(path), out); }));
  }

  /// Writes a safetensors file, whole or not at all.
  void save(const std::string &path) const { detail::check(plim_model_save(get(), detail::c_path(path))); }

  /// A model of its own with the same parameters and settings.
  Model clone() const {
    return Model(make([&](plim_model **out) { return plim_model_clone(get(), out); }));
  }

  /// λ of the penalty λ/2 ‖W‖².
  void set_regularization(double lambda) { detail::check(plim_model_set_regularization(get(), lambda)); }

  /// 0 for all cores.
  void set_threads(std::size_t threads) { detail::check(plim_model_set_threads(get(), threads)); }

  std::size_t num_layers() const noexcept { return plim_model_num_layers(get()); }
  std::size_t num_parameters() const noexcept { return plim_model_num_parameters(get()); }

  /// W(0), W(1), …, each row-major.
  std::vector<float> parameters() const {
    std::vector<float> values(num_parameters());
    detail::check(plim_model_get_parameters(get(), values.data(), values.size()));
    return values;
  }

  void set_parameters(Span<const float> values) {
    detail::check(plim_model_set_parameters(get(), values.data(), values.size()));
  }

  /// Input, hidden, output.
  std::vector<std::size_t> widths() const {
    std::vector<std::size_t> widths(num_layers() + 1);
    detail::check(plim_model_copy_widths(get(), widths.data(), widths.size()));
    return widths;
  }

  /// Class probabilities of all nodes, a row per node, exact.
  std::vector<float> predict(const Graph &graph) const {
    return predict(graph, nullptr, 0, graph.num_nodes());
  }

  /// Class probabilities of the nodes listed.
  std::vector<float> predict(const Graph &graph, Span<const std::int32_t> nodes) const {
    return predict(graph, detail::list(nodes), nodes.size(), nodes.size());
  }

  /// H(layer+1) of all nodes, a row per node, exact; the last layer's is what enters the softmax.
  std::vector<float> embed(const Graph &graph, std::size_t layer) const {
    return embed(graph, nullptr, 0, graph.num_nodes(), layer);
  }

  /// H(layer+1) of the nodes listed.
  std::vector<float> embed(const Graph &graph, std::size_t layer, Span<const std::int32_t> nodes) const {
    return embed(graph, detail::list(nodes), nodes.size(), nodes.size(), layer);
  }

  /// Loss and accuracy on a split, exact.
  Evaluation evaluate(const Graph &graph, Split split) const {
    Evaluation result{};
    detail::check(plim_model_evaluate(get(), graph.get(), static_cast<std::int32_t>(split), &result.loss,
                                      &result.accuracy));
    return result;
  }

  /// How often each class was taken for each on a split, exact: row-major, rows are labels, columns predictions, as many
  /// of both as the last width.
  std::vector<std::size_t> confusion(const Graph &graph, Split split) const {
    const std::size_t classes = widths().back();
    std::vector<std::size_t> matrix(classes * classes);
    detail::check(plim_model_confusion(get(), graph.get(), static_cast<std::int32_t>(split), matrix.data(),
                                       matrix.size()));
    return matrix;
  }

private:
  explicit Model(plim_model *handle) noexcept : Handle(handle) {}

  std::vector<float> predict(const Graph &graph, const std::int32_t *nodes, std::size_t count,
                             std::size_t rows) const {
    std::vector<float> values(rows * widths().back());
    detail::check(plim_model_predict(get(), graph.get(), nodes, count, values.data(), values.size()));
    return values;
  }

  std::vector<float> embed(const Graph &graph, const std::int32_t *nodes, std::size_t count, std::size_t rows,
                           std::size_t layer) const {
    // A layer that is not there is C's to refuse; its width does not matter.
    std::vector<float> values(layer < num_layers() ? rows * widths()[layer + 1] : 0);
    detail::check(plim_model_embed(get(), graph.get(), nodes, count, layer, values.data(), values.size()));
    return values;
  }
};

/// The macro-F1 of a square confusion matrix: the mean of the classes' F1, over those that are labelled or predicted at
/// all. Matrices may be added up before.
inline double macro_f1(Span<const std::size_t> confusion) {
  std::size_t classes = 0;
  while (classes * classes < confusion.size()) {
    ++classes;
  }
  detail::has_size("confusion", confusion.size(), classes * classes);
  double out = 0;
  detail::check(plim_confusion_macro_f1(confusion.data(), classes, &out));
  return out;
}

/// Means over queries: pair loss without λ and share of pairs in the right order, where there are pairs; NDCG.
struct RankEvaluation {
  double loss;
  double accuracy;
  double ndcg;
};

/// Queries, their documents, and how relevant each document is. A Model with one output scores documents.
class RankData : public detail::Handle<plim_rank_data, plim_rank_data_free> {
public:
  /// Takes over a C handle.
  static RankData adopt(plim_rank_data *handle) noexcept { return RankData(handle); }

  /// Dense features, row-major, and a relevance per document; query q has the documents offsets[q] to offsets[q + 1] - 1.
  static RankData from_arrays(std::size_t num_features, Span<const float> row_major, Span<const std::int32_t> relevance,
                              Span<const std::int64_t> offsets) {
    if (num_features != 0) {
      detail::has_size("row_major", row_major.size(), relevance.size() * num_features);
    }
    return RankData(make([&](plim_rank_data **out) {
      return plim_rank_data_new(relevance.size(), num_features, row_major.data(), relevance.data(), queries(offsets),
                                offsets.data(), out);
    }));
  }

  /// Features in compressed sparse rows.
  static RankData from_arrays(std::size_t num_features, Span<const std::int64_t> indptr,
                              Span<const std::int32_t> indices, Span<const float> values,
                              Span<const std::int32_t> relevance, Span<const std::int64_t> offsets) {
    detail::fits_csr(relevance.size(), indptr, indices);
    detail::same_size("values", values.size(), "indices", indices.size());
    return RankData(make([&](plim_rank_data **out) {
      return plim_rank_data_new_sparse(relevance.size(), num_features, indptr.data(), indices.data(), values.data(),
                                       relevance.data(), queries(offsets), offsets.data(), out);
    }));
  }

  /// Reads LETOR's format. `num_features` 0: the largest number in the file.
  static RankData load(const std::string &path, std::size_t num_features = 0) {
    return RankData(
        make([&](plim_rank_data **out) { return plim_rank_data_load(detail::c_path(path), num_features, out); }));
  }

  /// Adds all queries of other data, and puts them into a split.
  void append(const RankData &other, Split split) {
    detail::check(plim_rank_data_append(get(), other.get(), static_cast<std::int32_t>(split)));
  }

  /// Mean 0 and deviation 1 for each feature, as measured on the training documents.
  void standardize() { detail::check(plim_rank_data_standardize(get(), nullptr)); }

  /// The same by those of other data, or, if they have been standardised, by the numbers used there.
  void standardize(const RankData &reference) {
    if (!reference) { // C would take it for the data's own
      throw Error(PLIM_ERROR_NULL_POINTER, "reference was moved from");
    }
    detail::check(plim_rank_data_standardize(get(), reference.get()));
  }

  /// The queries of a split; none empties it. All are for training at first.
  void set_split(Split split, Span<const std::int32_t> queries) {
    detail::check(
        plim_rank_data_set_split(get(), static_cast<std::int32_t>(split), queries.data(), queries.size()));
  }

  /// NDCG is of the first `cutoff` documents, 0 for all.
  void set_ndcg(std::size_t cutoff, Gain gain = Gain::exponential) {
    detail::check(plim_rank_data_set_ndcg(get(), cutoff, static_cast<std::int32_t>(gain)));
  }

  std::size_t num_queries() const noexcept { return plim_rank_data_num_queries(get()); }
  std::size_t num_documents() const noexcept { return plim_rank_data_num_documents(get()); }
  std::size_t num_features() const noexcept { return plim_rank_data_num_features(get()); }
  std::size_t split_size(Split split) const noexcept {
    return plim_rank_data_split_size(get(), static_cast<std::int32_t>(split));
  }

  /// The queries of a split.
  std::vector<std::int32_t> split(Split split) const {
    std::vector<std::int32_t> queries(split_size(split));
    detail::check(
        plim_rank_data_copy_split(get(), static_cast<std::int32_t>(split), queries.data(), queries.size()));
    return queries;
  }

  /// Where the documents of each query begin, and their number.
  std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> offsets(num_queries() + 1);
    detail::check(plim_rank_data_copy_offsets(get(), offsets.data(), offsets.size()));
    return offsets;
  }

  /// The relevance of each document.
  std::vector<std::int32_t> relevance() const {
    std::vector<std::int32_t> relevance(num_documents());
    detail::check(plim_rank_data_copy_relevance(get(), relevance.data(), relevance.size()));
    return relevance;
  }

  /// What a file calls each query.
  std::vector<std::int64_t> query_ids() const {
    std::vector<std::int64_t> ids(num_queries());
    detail::check(plim_rank_data_copy_query_ids(get(), ids.data(), ids.size()));
    return ids;
  }

  /// The score of each document.
  std::vector<float> scores(const Model &model) const {
    std::vector<float> scores(num_documents());
    detail::check(plim_rank_score(model.get(), get(), scores.data(), scores.size()));
    return scores;
  }

  /// Measures a model on a split, nothing sampled.
  RankEvaluation evaluate(const Model &model, Split split) const {
    RankEvaluation result{};
    detail::check(plim_rank_evaluate(model.get(), get(), static_cast<std::int32_t>(split), &result.loss,
                                     &result.accuracy, &result.ndcg));
    return result;
  }

  /// The same for each query; NaN where there is no pair, but for NDCG.
  std::vector<double> measure(const Model &model, Split split, Measure measure) const {
    std::vector<double> values(split_size(split));
    detail::check(plim_rank_measure(model.get(), get(), static_cast<std::int32_t>(split),
                                    static_cast<std::int32_t>(measure), values.data(), values.size()));
    return values;
  }

private:
  explicit RankData(plim_rank_data *handle) noexcept : Handle(handle) {}

  static std::size_t queries(Span<const std::int64_t> offsets) {
    return offsets.size() == 0 ? 0 : offsets.size() - 1;
  }
};

namespace detail {

/// The functions of C that take a graph, or rank data, for what is learned.
template <class... Rest>
plim_status c_gradient(plim_estimator *e, const plim_model *m, const plim_graph *graph, Rest... rest) {
  return plim_estimator_gradient(e, m, graph, rest...);
}
template <class... Rest>
plim_status c_gradient(plim_estimator *e, const plim_model *m, const plim_rank_data *data, Rest... rest) {
  return plim_rank_gradient(e, m, data, rest...);
}
template <class... Rest> plim_status c_train(plim_model *m, const plim_graph *graph, Rest... rest) {
  return plim_train(m, graph, rest...);
}
template <class... Rest> plim_status c_train(plim_model *m, const plim_rank_data *data, Rest... rest) {
  return plim_rank_train(m, data, rest...);
}

} // namespace detail

/// A gradient in the order of Model::parameters(), and the objective as estimated, with λ.
struct Gradient {
  std::vector<float> values;
  double loss;
};

/// Turns a batch of nodes, or of queries, into a gradient of a model's parameters. Setters chain.
class Estimator : public detail::Handle<plim_estimator, plim_estimator_free> {
public:
  /// Takes over a C handle.
  static Estimator adopt(plim_estimator *handle) noexcept { return Estimator(handle); }

  /// The exact gradient over all training nodes; it takes no batch.
  static Estimator full() {
    return Estimator(make([](plim_estimator **out) { return plim_estimator_full(out); }));
  }

  /// The exact gradient of a batch, from its whole neighbourhood.
  static Estimator unbiased() {
    return Estimator(make([](plim_estimator **out) { return plim_estimator_unbiased(out); }));
  }

  /// From a few nodes drawn at each layer's input, input layer first; 0 for an exact layer.
  static Estimator consistent(Span<const std::size_t> sample_sizes) {
    return Estimator(make([&](plim_estimator **out) {
      return plim_estimator_consistent(sample_sizes.data(), sample_sizes.size(), out);
    }));
  }

  /// To rank: from so many ranked pairs drawn of each query.
  static Estimator pairs(std::size_t num_pairs) {
    return Estimator(make([&](plim_estimator **out) { return plim_estimator_pairs(num_pairs, out); }));
  }

  /// To rank: from the ranked pairs between two samples of so many documents each, of every query.
  static Estimator separate(std::size_t num_documents, bool self_normalized = false) {
    return Estimator(make([&](plim_estimator **out) {
      return plim_estimator_separate(num_documents, self_normalized ? 1 : 0, out);
    }));
  }

  /// Starts the draws anew under a seed.
  Estimator &set_seed(std::uint64_t seed) & {
    detail::check(plim_estimator_set_seed(get(), seed));
    return *this;
  }
  Estimator &&set_seed(std::uint64_t seed) && { return std::move(set_seed(seed)); }

  /// What nodes are drawn from.
  Estimator &set_distribution(Distribution distribution) & {
    detail::check(plim_estimator_set_distribution(get(), static_cast<std::int32_t>(distribution)));
    return *this;
  }
  Estimator &&set_distribution(Distribution distribution) && { return std::move(set_distribution(distribution)); }

  /// Draws nodes in proportion to weights > 0, one per node of the graph.
  Estimator &set_weights(Span<const double> weights) & {
    detail::check(plim_estimator_set_weights(get(), weights.data(), weights.size()));
    return *this;
  }
  Estimator &&set_weights(Span<const double> weights) && { return std::move(set_weights(weights)); }

  /// Pins the draws at the input of a layer; no nodes take them back.
  Estimator &set_draws(std::size_t layer, Span<const std::int32_t> nodes) & {
    detail::check(plim_estimator_set_draws(get(), layer, nodes.data(), nodes.size()));
    return *this;
  }
  Estimator &&set_draws(std::size_t layer, Span<const std::int32_t> nodes) && {
    return std::move(set_draws(layer, nodes));
  }

  Property property() const noexcept { return Property{plim_estimator_property(get())}; }

  /// The gradient over all training nodes.
  Gradient gradient(const Model &model, const Graph &graph) {
    Gradient result{std::vector<float>(model.num_parameters()), 0};
    result.loss = gradient_into(result.values, model, graph);
    return result;
  }

  /// The gradient of a batch.
  Gradient gradient(const Model &model, const Graph &graph, Span<const std::int32_t> batch) {
    Gradient result{std::vector<float>(model.num_parameters()), 0};
    result.loss = gradient_into(result.values, model, graph, batch);
    return result;
  }

  /// The same into a caller's buffer of model.num_parameters() floats; returns the loss. It allocates nothing.
  double gradient_into(Span<float> gradient, const Model &model, const Graph &graph) {
    return gradient_into(gradient, model, graph.get(), nullptr, 0);
  }
  double gradient_into(Span<float> gradient, const Model &model, const Graph &graph,
                       Span<const std::int32_t> batch) {
    return gradient_into(gradient, model, graph.get(), detail::list(batch), batch.size());
  }

  /// The same of a ranking: over all training queries, or a batch of queries.
  Gradient gradient(const Model &model, const RankData &data) {
    Gradient result{std::vector<float>(model.num_parameters()), 0};
    result.loss = gradient_into(result.values, model, data);
    return result;
  }
  Gradient gradient(const Model &model, const RankData &data, Span<const std::int32_t> batch) {
    Gradient result{std::vector<float>(model.num_parameters()), 0};
    result.loss = gradient_into(result.values, model, data, batch);
    return result;
  }
  double gradient_into(Span<float> gradient, const Model &model, const RankData &data) {
    return gradient_into(gradient, model, data.get(), nullptr, 0);
  }
  double gradient_into(Span<float> gradient, const Model &model, const RankData &data,
                       Span<const std::int32_t> batch) {
    return gradient_into(gradient, model, data.get(), detail::list(batch), batch.size());
  }

private:
  explicit Estimator(plim_estimator *handle) noexcept : Handle(handle) {}

  template <class Problem>
  double gradient_into(Span<float> gradient, const Model &model, const Problem *problem, const std::int32_t *batch,
                       std::size_t count) {
    double loss = 0;
    detail::check(
        detail::c_gradient(get(), model.get(), problem, batch, count, gradient.data(), gradient.size(), &loss));
    return loss;
  }
};

/// (1/T)·Σ w_k of a minimisation; empty if the oracle cancelled it.
struct MinimizeResult {
  std::vector<double> average;
  bool cancelled;
};

/// Moves parameters along gradients. Setters chain.
class Optimizer : public detail::Handle<plim_optimizer, plim_optimizer_free> {
public:
  /// Takes over a C handle.
  static Optimizer adopt(plim_optimizer *handle) noexcept { return Optimizer(handle); }

  /// Stochastic gradient descent.
  static Optimizer sgd(double step) {
    return Optimizer(make([&](plim_optimizer **out) { return plim_optimizer_sgd(step, out); }));
  }

  /// Adam as PyTorch has it.
  static Optimizer adam(double step) {
    return Optimizer(make([&](plim_optimizer **out) { return plim_optimizer_adam(step, out); }));
  }

  /// How the step changes with the number of updates.
  Optimizer &set_schedule(Schedule schedule) & {
    detail::check(plim_optimizer_set_schedule(get(), static_cast<std::int32_t>(schedule)));
    return *this;
  }
  Optimizer &&set_schedule(Schedule schedule) && { return std::move(set_schedule(schedule)); }

  /// Decoupled weight decay, as in AdamW.
  Optimizer &set_decay(double decay) & {
    detail::check(plim_optimizer_set_decay(get(), decay));
    return *this;
  }
  Optimizer &&set_decay(double decay) && { return std::move(set_decay(decay)); }

  /// Keeps iterates in a ball around 0, in place of a ball or box; INFINITY for no bound.
  Optimizer &set_ball(double radius) & {
    detail::check(plim_optimizer_set_ball(get(), radius));
    return *this;
  }
  Optimizer &&set_ball(double radius) && { return std::move(set_ball(radius)); }

  /// Keeps every parameter in [low, high], in place of a ball or box.
  Optimizer &set_box(double low, double high) & {
    detail::check(plim_optimizer_set_box(get(), low, high));
    return *this;
  }
  Optimizer &&set_box(double low, double high) && { return std::move(set_box(low, high)); }

  /// Averages the iterates of updates and training; switching it on starts a new average.
  Optimizer &set_averaging(bool on) & {
    detail::check(plim_optimizer_set_averaging(get(), on ? 1 : 0));
    return *this;
  }
  Optimizer &&set_averaging(bool on) && { return std::move(set_averaging(on)); }

  /// Forgets updates, moments and average; the settings stay.
  void reset() { detail::check(plim_optimizer_reset(get())); }

  /// Moves the model once; with Estimator::gradient() a training loop of the caller's own.
  void update(Model &model, Span<const float> gradient) {
    detail::check(plim_optimizer_update(get(), model.get(), gradient.data(), gradient.size()));
  }

  /// The average of the iterates of `model`, which this optimizer has moved.
  std::vector<float> average(const Model &model) const {
    std::vector<float> values(model.num_parameters());
    detail::check(plim_optimizer_average(get(), values.data(), values.size()));
    return values;
  }

  /// Takes projected steps on a caller's own problem, in place. The oracle is called as
  ///
  ///     oracle(std::size_t step, Span<const double> w, Span<double> gradient)
  ///
  /// with step = 1, 2, … and zeros to write the gradient to. After a stop, a throw or divergence, `w` is the last
  /// finite iterate.
  template <class Oracle> MinimizeResult minimize(Span<double> w, std::size_t num_steps, Oracle &&oracle) {
    Problem<std::remove_reference_t<Oracle>> problem{oracle, nullptr};
    MinimizeResult result{std::vector<double>(w.size()), false};
    const plim_status status = plim_optimizer_minimize(get(), problem.ask, &problem, num_steps, w.data(),
                                                       result.average.data(), w.size());
    if (problem.thrown) {
      std::rethrow_exception(problem.thrown);
    }
    if (status == PLIM_ERROR_CANCELLED) {
      return MinimizeResult{{}, true};
    }
    detail::check(status);
    return result;
  }

private:
  explicit Optimizer(plim_optimizer *handle) noexcept : Handle(handle) {}

  template <class Oracle> struct Problem {
    Oracle &oracle;
    std::exception_ptr thrown;

    static std::int32_t ask(void *self, std::size_t step, const double *w, double *gradient,
                            std::size_t dim) noexcept {
      Problem &problem = *static_cast<Problem *>(self);
      try {
        return detail::stops(problem.oracle, step, Span<const double>(w, dim), Span<double>(gradient, dim)) ? 1 : 0;
      } catch (...) {
        problem.thrown = std::current_exception();
        return 1;
      }
    }
  };
};

/// How far training or a measurement is; NaN where nothing was evaluated.
using Progress = plim_progress;

namespace detail {

/// A progress lambda, on the heap: C keeps its address while options move.
class Callback {
public:
  virtual ~Callback() = default;
  virtual bool stops(const Progress &progress) = 0;

  static std::int32_t tell(void *self, const Progress *progress) noexcept;
};

template <class F> class CallbackOf final : public Callback {
public:
  explicit CallbackOf(F function) : function_(std::move(function)) {}
  bool stops(const Progress &progress) override { return detail::stops(function_, progress); }

private:
  F function_;
};

/// A log lambda, on the heap too.
class Logger {
public:
  virtual ~Logger() = default;
  virtual void write(LogLevel level, const char *message) = 0;

  static void tell(void *self, std::int32_t level, const char *message) noexcept;
};

template <class F> class LoggerOf final : public Logger {
  static_assert(std::is_void_v<std::invoke_result_t<F &, LogLevel, const char *>>, "a log function returns nothing");

public:
  explicit LoggerOf(F function) : function_(std::move(function)) {}
  void write(LogLevel level, const char *message) override { function_(level, message); }

private:
  F function_;
};

/// A train() or a measurement at work on this thread, which is the one that callbacks are called on: options may serve
/// several at once.
struct Run {
  std::exception_ptr thrown;
  Run *outer;

  static Run *&innermost() noexcept {
    static thread_local Run *run = nullptr;
    return run;
  }

  Run() noexcept : outer(innermost()) { innermost() = this; }
  ~Run() { innermost() = outer; }
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;
};

inline std::int32_t Callback::tell(void *self, const Progress *progress) noexcept {
  Run *run = Run::innermost(); // none if C trains with these options: then an exception only cancels
  if (run != nullptr && run->thrown) { // by a log function, which cannot cancel
    return 1;
  }
  try {
    return self != nullptr && static_cast<Callback *>(self)->stops(*progress) ? 1 : 0;
  } catch (...) {
    if (run != nullptr) {
      run->thrown = std::current_exception();
    }
    return 1;
  }
}

inline void Logger::tell(void *self, std::int32_t level, const char *message) noexcept {
  Run *run = Run::innermost();
  if (run != nullptr && run->thrown) { // the call is about to end
    return;
  }
  try {
    static_cast<Logger *>(self)->write(static_cast<LogLevel>(level), message);
  } catch (...) {
    if (run != nullptr) {
      run->thrown = std::current_exception();
    }
  }
}

} // namespace detail

/// What training recorded, epoch by epoch.
class History : public detail::Handle<plim_history, plim_history_free> {
public:
  /// Takes over a C handle.
  static History adopt(plim_history *handle) noexcept { return History(handle); }

  std::size_t num_epochs() const noexcept { return plim_history_num_epochs(get()); }

  /// The best epoch by the monitor, from 1; 0 if there is none.
  std::size_t best_epoch() const noexcept { return plim_history_best_epoch(get()); }

  /// One number per epoch; NaN where it was not evaluated.
  std::vector<double> column(Column column) const {
    std::vector<double> values(num_epochs());
    detail::check(plim_history_copy(get(), static_cast<std::int32_t>(column), values.data(), values.size()));
    return values;
  }

private:
  explicit History(plim_history *handle) noexcept : Handle(handle) {}
};

/// What train() did. `cancelled`: the progress callback stopped it, and the model keeps its last step.
struct TrainResult {
  History history;
  bool cancelled;
};

/// How to train. Setters chain: TrainOptions().set_epochs(50).set_seed(1).
class TrainOptions : public detail::Handle<plim_train_options, plim_train_options_free> {
public:
  /// The defaults.
  TrainOptions() : Handle(make([](plim_train_options **out) { return plim_train_options_new(out); })) {}

  /// Takes over a C handle.
  static TrainOptions adopt(plim_train_options *handle) noexcept { return TrainOptions(handle); }

  /// Gives the handle up, without the callbacks, which are C++'s own; plim_train_options_free() it in the end.
  plim_train_options *release() {
    if (log_) {
      clear_log();
    }
    if (callback_) {
      clear_progress();
    }
    return handle_.release();
  }

  TrainOptions &set_epochs(std::size_t epochs) & {
    detail::check(plim_train_options_set_epochs(get(), epochs));
    return *this;
  }
  TrainOptions &&set_epochs(std::size_t epochs) && { return std::move(set_epochs(epochs)); }

  TrainOptions &set_batch_size(std::size_t batch_size) & {
    detail::check(plim_train_options_set_batch_size(get(), batch_size));
    return *this;
  }
  TrainOptions &&set_batch_size(std::size_t batch_size) && { return std::move(set_batch_size(batch_size)); }

  /// The seed of the shuffling.
  TrainOptions &set_seed(std::uint64_t seed) & {
    detail::check(plim_train_options_set_seed(get(), seed));
    return *this;
  }
  TrainOptions &&set_seed(std::uint64_t seed) && { return std::move(set_seed(seed)); }

  /// Whether the model ends with the parameters of its best epoch.
  TrainOptions &set_restore_best(bool on) & {
    detail::check(plim_train_options_set_restore_best(get(), on ? 1 : 0));
    return *this;
  }
  TrainOptions &&set_restore_best(bool on) && { return std::move(set_restore_best(on)); }

  /// Ends training after so many epochs without a better one; 0 for never.
  TrainOptions &set_patience(std::size_t epochs) & {
    detail::check(plim_train_options_set_patience(get(), epochs));
    return *this;
  }
  TrainOptions &&set_patience(std::size_t epochs) && { return std::move(set_patience(epochs)); }

  /// What the best epoch is chosen by: the one that is restored and that patience counts from.
  TrainOptions &set_monitor(Monitor monitor) & {
    detail::check(plim_train_options_set_monitor(get(), static_cast<std::int32_t>(monitor)));
    return *this;
  }
  TrainOptions &&set_monitor(Monitor monitor) && { return std::move(set_monitor(monitor)); }

  /// 0 for never.
  TrainOptions &set_evaluate_every(std::size_t epochs) & {
    detail::check(plim_train_options_set_evaluate_every(get(), epochs));
    return *this;
  }
  TrainOptions &&set_evaluate_every(std::size_t epochs) && { return std::move(set_evaluate_every(epochs)); }

  /// Writes a checkpoint after each so many epochs.
  TrainOptions &set_checkpoint(const std::string &path, std::size_t every) & {
    detail::check(plim_train_options_set_checkpoint(get(), detail::c_path(path), every));
    return *this;
  }
  TrainOptions &&set_checkpoint(const std::string &path, std::size_t every) && {
    return std::move(set_checkpoint(path, every));
  }
  void clear_checkpoint() { detail::check(plim_train_options_set_checkpoint(get(), nullptr, 0)); }

  /// Goes on from a checkpoint, if the file is there.
  TrainOptions &set_resume(const std::string &path) & {
    detail::check(plim_train_options_set_resume(get(), detail::c_path(path)));
    return *this;
  }
  TrainOptions &&set_resume(const std::string &path) && { return std::move(set_resume(path)); }
  void clear_resume() { detail::check(plim_train_options_set_resume(get(), nullptr)); }

  /// Lets the sample size follow the gradient, from `smallest` to `largest`, so that its relative error stays under δ; it
  /// is tested every so many updates.
  TrainOptions &set_adaptive(double delta, std::size_t every, std::size_t smallest, std::size_t largest) & {
    detail::check(plim_train_options_set_adaptive(get(), delta, every, smallest, largest));
    return *this;
  }
  TrainOptions &&set_adaptive(double delta, std::size_t every, std::size_t smallest, std::size_t largest) && {
    return std::move(set_adaptive(delta, every, smallest, largest));
  }
  void clear_adaptive() { detail::check(plim_train_options_set_adaptive(get(), 0, 0, 0, 0)); }

  /// Calls `progress(const Progress &)` after each epoch and, within a long one, about twice a second, on the thread of
  /// train(). Const calls on the model and the graph work inside it. The options keep the function.
  template <class F> TrainOptions &set_progress(F &&progress) & {
    auto callback = std::make_shared<detail::CallbackOf<std::decay_t<F>>>(std::forward<F>(progress));
    set_callback(std::move(callback));
    return *this;
  }
  template <class F> TrainOptions &&set_progress(F &&progress) && {
    return std::move(set_progress(std::forward<F>(progress)));
  }
  void clear_progress() { set_callback(nullptr); }

  /// Calls `log(LogLevel level, const char *message)` with what training does, on the thread of train(): whole lines, up to
  /// `level`. Const calls on the model and the graph work inside it. The options keep the function.
  template <class F> TrainOptions &set_log(LogLevel level, F &&log) & {
    std::shared_ptr<detail::Logger> logger = std::make_shared<detail::LoggerOf<std::decay_t<F>>>(std::forward<F>(log));
    detail::check(plim_train_options_set_log(get(), static_cast<std::int32_t>(level), detail::Logger::tell,
                                             logger.get()));
    log_ = std::move(logger);
    set_c_progress(callback_.get());
    return *this;
  }
  template <class F> TrainOptions &&set_log(LogLevel level, F &&log) && {
    return std::move(set_log(level, std::forward<F>(log)));
  }
  void clear_log() {
    detail::check(plim_train_options_set_log(get(), PLIM_LOG_ERROR, nullptr, nullptr));
    log_ = nullptr;
    set_c_progress(callback_.get());
  }

private:
  friend TrainResult train(Model &, const Graph &, Estimator &, Optimizer &, const TrainOptions &);
  friend TrainResult train(Model &, const RankData &, Estimator &, Optimizer &, const TrainOptions &);

  explicit TrainOptions(plim_train_options *handle) noexcept : Handle(handle) {}

  void set_callback(std::shared_ptr<detail::Callback> callback) {
    set_c_progress(callback.get());
    callback_ = std::move(callback);
  }

  /// With a log there is always one, which stops the call if the log's function throws.
  void set_c_progress(detail::Callback *callback) {
    const bool wanted = callback != nullptr || log_ != nullptr;
    detail::check(plim_train_options_set_progress(get(), wanted ? detail::Callback::tell : nullptr, callback));
  }

  std::shared_ptr<detail::Callback> callback_;
  std::shared_ptr<detail::Logger> log_;
};

namespace detail {

template <class Problem>
TrainResult train(plim_model *model, const Problem *problem, plim_estimator *estimator, plim_optimizer *optimizer,
                  const plim_train_options *options) {
  Run run;
  plim_history *handle = nullptr;
  const plim_status status = c_train(model, problem, estimator, optimizer, options, &handle);
  History history = History::adopt(handle);
  if (run.thrown) {
    std::rethrow_exception(run.thrown);
  }
  if (status == PLIM_ERROR_DIVERGED) {
    const std::string message = plim_last_error();
    throw Error(status, message, std::make_shared<const History>(std::move(history)));
  }
  if (status != PLIM_ERROR_CANCELLED) {
    check(status);
  }
  return TrainResult{std::move(history), status == PLIM_ERROR_CANCELLED};
}

} // namespace detail

/// Trains a model; a second call goes on where estimator and optimizer are.
inline TrainResult train(Model &model, const Graph &graph, Estimator &estimator, Optimizer &optimizer,
                         const TrainOptions &options) {
  if (!options) { // C would take it for the defaults
    throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
  }
  const auto kept = std::make_pair(options.callback_, options.log_); // whatever they do to their options
  return detail::train(model.get(), graph.get(), estimator.get(), optimizer.get(), options.get());
}

/// The same with the default options.
inline TrainResult train(Model &model, const Graph &graph, Estimator &estimator, Optimizer &optimizer) {
  return detail::train(model.get(), graph.get(), estimator.get(), optimizer.get(), nullptr);
}

/// Trains a model to rank: batches are of queries, the accuracy is that of pairs.
inline TrainResult train(Model &model, const RankData &data, Estimator &estimator, Optimizer &optimizer,
                         const TrainOptions &options) {
  if (!options) {
    throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
  }
  const auto kept = std::make_pair(options.callback_, options.log_);
  return detail::train(model.get(), data.get(), estimator.get(), optimizer.get(), options.get());
}

/// The same with the default options.
inline TrainResult train(Model &model, const RankData &data, Estimator &estimator, Optimizer &optimizer) {
  return detail::train(model.get(), data.get(), estimator.get(), optimizer.get(), nullptr);
}

/// How far SGD can be from the optimum when its gradients are wrong by so much: what Theorems 2 to 7 promise. A
/// condition that does not hold is an Error whose message names it.
namespace bound {

/// ‖w_T - w*‖², strongly convex, steps 1/((l - δ)k).
inline double strongly_convex_iterate(double l, double big_g, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_strongly_convex_iterate(l, big_g, delta, t, &out));
  return out;
}

/// f(w̄_T) - f* in the same setting.
inline double strongly_convex_average(double l, double big_g, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_strongly_convex_average(l, big_g, delta, t, &out));
  return out;
}

/// f(w_T) - f* in the same setting, with a gradient that is Lipschitz with constant L.
inline double strongly_convex_value(double l, double big_l, double big_g, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_strongly_convex_value(l, big_l, big_g, delta, t, &out));
  return out;
}

/// ‖w_T - w*‖², strongly convex, a constant step.
inline double constant_step(double l, double big_g, double delta, double step, std::size_t t,
                            double initial_distance_squared) {
  double out = 0;
  detail::check(plim_bound_constant_step(l, big_g, delta, step, t, initial_distance_squared, &out));
  return out;
}

/// f(w̄_T) - f*, convex, steps c/√k in a set of this diameter, relative errors of at most ρ/√T.
inline double convex_average(double big_g, double diameter, double rho, double c, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_convex_average(big_g, diameter, rho, c, t, &out));
  return out;
}

/// min ‖∇f(w_k)‖², convex or not, steps D_f/((1 + δ)G√T).
inline double nonconvex_gradient(double big_l, double big_g, double d_f, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_nonconvex_gradient(big_l, big_g, d_f, delta, t, &out));
  return out;
}

/// f(w_T) - f*, strongly convex, steps 1/L, absolute errors δ_1, δ_2, …: T is one more than there are.
inline double linear(double l, double big_l, Span<const double> deltas, double initial_gap) {
  double out = 0;
  detail::check(plim_bound_linear(l, big_l, deltas.data(), deltas.size() + 1, initial_gap, &out));
  return out;
}

} // namespace bound

/// How many nodes to draw so that, with probability 1 - ε, none of T gradients is wrong by the δ of C and τ.
inline std::size_t sample_size(double tau, double c, std::size_t t, double epsilon) {
  std::size_t out = 0;
  detail::check(plim_sample_size(tau, c, t, epsilon, &out));
  return out;
}

/// The chance that at least one of T gradients from so many draws is wrong by the δ of C and τ.
inline double sample_epsilon(double tau, double c, std::size_t t, std::size_t sample_size) {
  double out = 0;
  detail::check(plim_sample_epsilon(tau, c, t, sample_size, &out));
  return out;
}

/// The least δ that none of T gradients from so many draws misses by, with probability 1 - ε, between the δ of fits.
inline double sample_delta(Span<const double> deltas, Span<const double> cs, Span<const double> taus, std::size_t t,
                           double epsilon, std::size_t sample_size) {
  detail::same_size("cs", cs.size(), "deltas", deltas.size());
  detail::same_size("taus", taus.size(), "deltas", deltas.size());
  double out = 0;
  detail::check(
      plim_sample_delta(deltas.data(), cs.data(), taus.data(), deltas.size(), t, epsilon, sample_size, &out));
  return out;
}

/// How to measure an estimator. Setters chain: ProbeOptions().set_draws(1000).set_seed(1).
class ProbeOptions : public detail::Handle<plim_probe_options, plim_probe_options_free> {
public:
  /// The defaults.
  ProbeOptions() : Handle(make([](plim_probe_options **out) { return plim_probe_options_new(out); })) {}

  /// Takes over a C handle.
  static ProbeOptions adopt(plim_probe_options *handle) noexcept { return ProbeOptions(handle); }

  /// Gives the handle up, without the callbacks, which are C++'s own; plim_probe_options_free() it in the end.
  plim_probe_options *release() {
    if (log_) {
      clear_log();
    }
    if (callback_) {
      clear_progress();
    }
    return handle_.release();
  }

  /// Gradients for each sample size.
  ProbeOptions &set_draws(std::size_t draws) & {
    detail::check(plim_probe_options_set_draws(get(), draws));
    return *this;
  }
  ProbeOptions &&set_draws(std::size_t draws) && { return std::move(set_draws(draws)); }

  /// The seed of the draws; the estimator's own plays no part.
  ProbeOptions &set_seed(std::uint64_t seed) & {
    detail::check(plim_probe_options_set_seed(get(), seed));
    return *this;
  }
  ProbeOptions &&set_seed(std::uint64_t seed) && { return std::move(set_seed(seed)); }

  /// The nodes whose gradient is estimated.
  ProbeOptions &set_batch(Span<const std::int32_t> nodes) & {
    detail::check(plim_probe_options_set_batch(get(), detail::list(nodes), nodes.size()));
    return *this;
  }
  ProbeOptions &&set_batch(Span<const std::int32_t> nodes) && { return std::move(set_batch(nodes)); }

  /// All training nodes again.
  void clear_batch() { detail::check(plim_probe_options_set_batch(get(), nullptr, 0)); }

  /// Calls `progress(const Progress &)` a few times a second, on the thread of the measurement. Const calls on the
  /// estimator, the model and the graph work inside it. The options keep the function.
  template <class F> ProbeOptions &set_progress(F &&progress) & {
    auto callback = std::make_shared<detail::CallbackOf<std::decay_t<F>>>(std::forward<F>(progress));
    set_callback(std::move(callback));
    return *this;
  }
  template <class F> ProbeOptions &&set_progress(F &&progress) && {
    return std::move(set_progress(std::forward<F>(progress)));
  }
  void clear_progress() { set_callback(nullptr); }

  /// Calls `log(LogLevel level, const char *message)` with what a measurement does and finds, on its thread: whole lines, up to
  /// `level`. Const calls on the model and the graph work inside it. The options keep the function.
  template <class F> ProbeOptions &set_log(LogLevel level, F &&log) & {
    std::shared_ptr<detail::Logger> logger = std::make_shared<detail::LoggerOf<std::decay_t<F>>>(std::forward<F>(log));
    detail::check(plim_probe_options_set_log(get(), static_cast<std::int32_t>(level), detail::Logger::tell,
                                             logger.get()));
    log_ = std::move(logger);
    set_c_progress(callback_.get());
    return *this;
  }
  template <class F> ProbeOptions &&set_log(LogLevel level, F &&log) && {
    return std::move(set_log(level, std::forward<F>(log)));
  }
  void clear_log() {
    detail::check(plim_probe_options_set_log(get(), PLIM_LOG_ERROR, nullptr, nullptr));
    log_ = nullptr;
    set_c_progress(callback_.get());
  }

private:
  friend class Tail;
  friend class Plan;
  friend std::vector<double> tail_probability(const Estimator &, const Model &, const Graph &, Span<const std::size_t>,
                                              Span<const double>, const ProbeOptions &);

  explicit ProbeOptions(plim_probe_options *handle) noexcept : Handle(handle) {}

  void set_callback(std::shared_ptr<detail::Callback> callback) {
    set_c_progress(callback.get());
    callback_ = std::move(callback);
  }

  /// With a log there is always one, which stops the call if the log's function throws.
  void set_c_progress(detail::Callback *callback) {
    const bool wanted = callback != nullptr || log_ != nullptr;
    detail::check(plim_probe_options_set_progress(get(), wanted ? detail::Callback::tell : nullptr, callback));
  }

  /// Runs a measurement of C's with these options, and throws what their callback or the measurement does.
  template <class Call> void measure(Call &&call) const {
    if (!*this) { // C would take it for the defaults
      throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
    }
    const auto kept = std::make_pair(callback_, log_); // whatever they do to their options
    detail::Run run;
    const plim_status status = call(get());
    if (run.thrown) {
      std::rethrow_exception(run.thrown);
    }
    detail::check(status);
  }

  std::shared_ptr<detail::Callback> callback_;
  std::shared_ptr<detail::Logger> log_;
};

/// Measures how often gradients are wrong by δ or more: a share for each sample size and δ, row by row of a size.
inline std::vector<double> tail_probability(const Estimator &estimator, const Model &model, const Graph &graph,
                                            Span<const std::size_t> sample_sizes, Span<const double> deltas,
                                            const ProbeOptions &options = ProbeOptions()) {
  std::vector<double> shares(sample_sizes.size() * deltas.size());
  options.measure([&](const plim_probe_options *how) {
    return plim_tail_probability(estimator.get(), model.get(), graph.get(), sample_sizes.data(), sample_sizes.size(),
                                 deltas.data(), deltas.size(), how, shares.data(), shares.size());
  });
  return shares;
}

/// How wrong an estimator's gradients were found to be.
class Tail : public detail::Handle<plim_tail, plim_tail_free> {
public:
  /// Takes over a C handle, of a measurement of so many sample sizes and δ.
  static Tail adopt(plim_tail *handle, std::size_t num_sizes, std::size_t num_deltas) noexcept {
    return Tail(handle, num_sizes, num_deltas);
  }

  /// Measures with each of the sample sizes in turn.
  Tail(const Estimator &estimator, const Model &model, const Graph &graph, Span<const std::size_t> sample_sizes,
       Span<const double> deltas, const ProbeOptions &options = ProbeOptions())
      : Tail(nullptr, sample_sizes.size(), deltas.size()) {
    plim_tail *handle = nullptr;
    options.measure([&](const plim_probe_options *how) {
      return plim_tail_new(estimator.get(), model.get(), graph.get(), sample_sizes.data(), sample_sizes.size(),
                           deltas.data(), deltas.size(), how, &handle);
    });
    handle_.reset(handle);
  }

  /// The same on rank data.
  Tail(const Estimator &estimator, const Model &model, const RankData &data, Span<const std::size_t> sample_sizes,
       Span<const double> deltas, const ProbeOptions &options = ProbeOptions())
      : Tail(nullptr, sample_sizes.size(), deltas.size()) {
    plim_tail *handle = nullptr;
    options.measure([&](const plim_probe_options *how) {
      return plim_rank_tail_new(estimator.get(), model.get(), data.get(), sample_sizes.data(), sample_sizes.size(),
                                deltas.data(), deltas.size(), how, &handle);
    });
    handle_.reset(handle);
  }

  /// Share of the gradients that missed by δ or more, and its 95 % interval: for each sample size and δ, row by row of a
  /// size.
  std::vector<double> probability() const { return copy(PLIM_TAIL_PROBABILITY, num_shares_); }
  std::vector<double> lower() const { return copy(PLIM_TAIL_LOWER, num_shares_); }
  std::vector<double> upper() const { return copy(PLIM_TAIL_UPPER, num_shares_); }

  /// Error, bias and deviation in units of norm(), for each sample size: error² = bias² + deviation².
  std::vector<double> error() const { return copy(PLIM_TAIL_ERROR, num_sizes_); }
  std::vector<double> bias() const { return copy(PLIM_TAIL_BIAS, num_sizes_); }
  std::vector<double> deviation() const { return copy(PLIM_TAIL_DEVIATION, num_sizes_); }

  /// ‖h‖ of the exact gradient.
  double norm() const noexcept { return plim_tail_norm(get()); }

private:
  Tail(plim_tail *handle, std::size_t num_sizes, std::size_t num_deltas) noexcept
      : Handle(handle), num_sizes_(num_sizes), num_shares_(num_sizes * num_deltas) {}

  std::vector<double> copy(std::int32_t what, std::size_t count) const {
    std::vector<double> values(count);
    detail::check(plim_tail_copy(get(), what, values.data(), values.size()));
    return values;
  }

  std::size_t num_sizes_;
  std::size_t num_shares_;
};

/// A tail C·exp(−τN), and how well it fits, 1 being perfect.
struct TailFit {
  double c;
  double tau;
  double r_squared;
};

/// Fits the shares of so many draws that missed by one δ, one for each sample size.
inline TailFit tail_fit(Span<const std::size_t> sample_sizes, Span<const double> probabilities, std::size_t draws) {
  detail::same_size("probabilities", probabilities.size(), "sample_sizes", sample_sizes.size());
  TailFit fit{};
  detail::check(plim_tail_fit(sample_sizes.data(), probabilities.data(), sample_sizes.size(), draws, &fit.c, &fit.tau,
                              &fit.r_squared));
  return fit;
}

/// The smallest sample size that keeps T gradients within δ with probability 1 − ε, and what it costs.
class Plan : public detail::Handle<plim_plan, plim_plan_free> {
public:
  /// Takes over a C handle.
  static Plan adopt(plim_plan *handle) noexcept { return Plan(handle); }

  /// Looks for it at the model's present parameters.
  Plan(const Estimator &estimator, const Model &model, const Graph &graph, double delta, double epsilon, std::size_t t,
       const ProbeOptions &options = ProbeOptions())
      : Plan(nullptr) {
    plim_plan *handle = nullptr;
    options.measure([&](const plim_probe_options *how) {
      return plim_plan_new(estimator.get(), model.get(), graph.get(), delta, epsilon, t, how, &handle);
    });
    handle_.reset(handle);
  }

  /// The same on rank data.
  Plan(const Estimator &estimator, const Model &model, const RankData &data, double delta, double epsilon, std::size_t t,
       const ProbeOptions &options = ProbeOptions())
      : Plan(nullptr) {
    plim_plan *handle = nullptr;
    options.measure([&](const plim_probe_options *how) {
      return plim_rank_plan_new(estimator.get(), model.get(), data.get(), delta, epsilon, t, how, &handle);
    });
    handle_.reset(handle);
  }

  /// Whether to sample.
  bool pays() const noexcept { return plim_plan_pays(get()) != 0; }

  /// Sample sizes for Estimator::consistent(), or the batch size of the unbiased estimator; all 0 if none meets the goal.
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> sizes(plim_plan_num_sizes(get()));
    detail::check(plim_plan_copy_sizes(get(), sizes.data(), sizes.size()));
    return sizes;
  }

  /// The smallest size that meets the goal; 0 if none does.
  std::size_t sample_size() const { return static_cast<std::size_t>(number(PLIM_PLAN_SAMPLE_SIZE)); }

  /// Share of the gradients of that size that missed, and its upper 95 % limit; NaN without a size.
  double misses() const { return number(PLIM_PLAN_MISSES); }
  double upper() const { return number(PLIM_PLAN_UPPER); }

  /// Seconds of a gradient of that size, NaN without one; of the exact one; of an unbiased batch that is as right.
  double seconds() const { return number(PLIM_PLAN_SECONDS); }
  double exact_seconds() const { return number(PLIM_PLAN_EXACT_SECONDS); }
  double unbiased_seconds() const { return number(PLIM_PLAN_UNBIASED_SECONDS); }

  /// Nodes of that batch.
  std::size_t unbiased_batch() const { return static_cast<std::size_t>(number(PLIM_PLAN_UNBIASED_BATCH)); }

  /// The tail that was fitted; NaN if the draws could show ε/T without one.
  TailFit fit() const {
    return TailFit{number(PLIM_PLAN_C), number(PLIM_PLAN_TAU), number(PLIM_PLAN_R_SQUARED)};
  }

  /// The plan in words.
  std::string describe() const {
    char text[PLIM_PLAN_TEXT_SIZE];
    detail::check(plim_plan_describe(get(), text, sizeof text));
    return text;
  }

private:
  explicit Plan(plim_plan *handle) noexcept : Handle(handle) {}

  double number(std::int32_t what) const {
    double value = 0;
    detail::check(plim_plan_get(get(), what, &value));
    return value;
  }
};

} // namespace plimsoll

#endif
