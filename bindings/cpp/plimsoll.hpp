/**
 * @file plimsoll.hpp
 *
 * The C++17 interface of Plimsoll: classes that own the handles of plimsoll.h, exceptions, vectors and
 * lambdas. Header-only; link libplimsoll.
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
 * Names. plim_model_set_threads(model, n) is model.set_threads(n). plimsoll.h documents ranges,
 * defaults and errors.
 *
 * Ownership. Objects can be moved but not copied. On a moved-from object, getters return 0 and other
 * calls throw an Error with PLIM_ERROR_NULL_POINTER. get() returns the C handle, release() gives up its
 * ownership, and adopt() takes over a C handle.
 *
 * Errors. A status other than PLIM_OK is thrown as an Error, which holds the status and the message. An
 * array of the wrong length is thrown as one with PLIM_ERROR_SHAPE_MISMATCH.
 *
 * Arrays. A Span parameter accepts a vector, an array, {1, 2, 3}, or anything with data() and size(). It
 * is read during the call only. To select all nodes, call the overload without a list; an empty list is
 * an empty list.
 *
 * Callbacks. A callback is any callable that returns nothing, Next::go or Next::stop; a log callback
 * returns nothing. Options keep a copy of it.
 *   Next::stop     train() and minimize() return with `cancelled` set; a measurement throws an Error with
 *                  PLIM_ERROR_CANCELLED.
 *   an exception   cancels the call, which then throws it. From a log callback it takes effect at the
 *                  next progress report.
 *
 * Divergence. train() throws an Error with PLIM_ERROR_DIVERGED; Error::history() holds the completed
 * epochs.
 *
 * Threads. Const member functions can run on any number of threads at once. The others require
 * exclusive access.
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
class EdgeListOptions;
struct NamedGraph;

/// A failed call. what() is, for example, "shape mismatch: weights has 2 elements, sources has 3".
class Error : public std::runtime_error {
public:
  Error(plim_status status, const std::string &message, std::shared_ptr<const History> history = nullptr)
      : std::runtime_error(std::string(plim_status_name(status)) + ": " + message), status_(status),
        prefix_(std::strlen(plim_status_name(status)) + 2), history_(std::move(history)) {}

  /// A PLIM_ERROR_ constant.
  plim_status status() const noexcept { return status_; }

  /// The message without the status: which argument, which index, which value.
  const char *message() const noexcept { return what() + prefix_; }

  /// The epochs completed before training diverged; nullptr for other errors. Owned by this Error.
  const History *history() const noexcept { return history_.get(); }

private:
  plim_status status_;
  std::size_t prefix_;
  std::shared_ptr<const History> history_;
};

/// The version of the library, "0.1.0".
inline const char *version() noexcept { return plim_version(); }

/// The instruction set in use: "avx512", "avx2", "neon" or "portable".
inline const char *isa() noexcept { return plim_isa(); }

/// The name of a status: "invalid argument" for PLIM_ERROR_INVALID_ARGUMENT.
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

/// How the values of neighbours become one.
enum class Aggregator : std::int32_t {
  mean = PLIM_AGGREGATOR_MEAN,
  sum = PLIM_AGGREGATOR_SUM,
  max = PLIM_AGGREGATOR_MAX,
  min = PLIM_AGGREGATOR_MIN,
};

/// What becomes of the heads of attention.
enum class Heads : std::int32_t {
  concat = PLIM_HEADS_CONCAT,
  mean = PLIM_HEADS_MEAN,
};

enum class Activation : std::int32_t {
  relu = PLIM_ACTIVATION_RELU,
  leaky_relu = PLIM_ACTIVATION_LEAKY_RELU,
  elu = PLIM_ACTIVATION_ELU,
  gelu = PLIM_ACTIVATION_GELU,
  tanh = PLIM_ACTIVATION_TANH,
  sigmoid = PLIM_ACTIVATION_SIGMOID,
};

enum class Norm : std::int32_t { layer = PLIM_NORM_LAYER, batch = PLIM_NORM_BATCH };

enum class Schedule : std::int32_t {
  constant = PLIM_SCHEDULE_CONSTANT,
  inverse = PLIM_SCHEDULE_INVERSE,
  inverse_sqrt = PLIM_SCHEDULE_INVERSE_SQRT,
};

enum class Unit : std::int32_t {
  updates = PLIM_UNIT_UPDATES,
  epochs = PLIM_UNIT_EPOCHS,
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

/// The quantity that determines the best epoch.
enum class Monitor : std::int32_t {
  val_accuracy = PLIM_MONITOR_VAL_ACCURACY,
  val_loss = PLIM_MONITOR_VAL_LOSS,
  train_loss = PLIM_MONITOR_TRAIN_LOSS,
  val_ndcg = PLIM_MONITOR_VAL_NDCG,
};

/// What a document of relevance y adds to DCG: 2^y - 1 (exponential) or y (linear).
enum class Gain : std::int32_t { exponential = PLIM_RANK_GAIN_EXPONENTIAL, linear = PLIM_RANK_GAIN_LINEAR };

/// A measure of how well a query is ranked.
enum class Measure : std::int32_t {
  loss = PLIM_RANK_MEASURE_LOSS,
  accuracy = PLIM_RANK_MEASURE_ACCURACY,
  ndcg = PLIM_RANK_MEASURE_NDCG,
};

/// Whether the first line of an edge list is a header.
enum class Header : std::int32_t { automatic = PLIM_HEADER_AUTO, yes = PLIM_HEADER_YES, no = PLIM_HEADER_NO };

/// What becomes of an edge that several lines of an edge list have.
enum class Repeated : std::int32_t {
  sum = PLIM_REPEATED_SUM,
  count = PLIM_REPEATED_COUNT,
  first = PLIM_REPEATED_FIRST,
  max = PLIM_REPEATED_MAX,
};

/// Level of a log message. A level that is set includes those before it.
enum class LogLevel : std::int32_t {
  error = PLIM_LOG_ERROR,
  warning = PLIM_LOG_WARNING,
  info = PLIM_LOG_INFO,
  debug = PLIM_LOG_DEBUG,
};

/// The declared property of an estimator.
struct Property {
  std::uint32_t bits = 0;
  constexpr bool unbiased() const noexcept { return (bits & PLIM_PROPERTY_UNBIASED) != 0; }
  constexpr bool consistent() const noexcept { return (bits & PLIM_PROPERTY_CONSISTENT) != 0; }
  constexpr bool exact() const noexcept { return (bits & PLIM_PROPERTY_EXACT) != 0; }
};

/// What a callback returns. One that returns nothing continues.
enum class Next { go, stop };

/// A view of an array, for parameters: it does not own its elements. Span<const T> is read, Span<T> is
/// written.
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

  /// From a vector, an array or another span.
  template <class C, class = enable_if_array<C>> constexpr Span(C &&array) : Span(std::data(array), std::size(array)) {}

  /// From {1, 2, 3}, which lives until the end of the full expression.
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

/// Checks that two arrays have the same length.
inline void same_size(const char *name, std::size_t size, const char *other, std::size_t expected) {
  if (size != expected) {
    throw Error(PLIM_ERROR_SHAPE_MISMATCH, std::string(name) + " has " + std::to_string(size) + " elements, " + other +
                                               " has " + std::to_string(expected));
  }
}

/// Checks the length of an array.
inline void has_size(const char *name, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw Error(PLIM_ERROR_SHAPE_MISMATCH,
                std::string(name) + " has " + std::to_string(size) + " elements, not " + std::to_string(expected));
  }
}

/// Checks that the lengths of `indptr` and `indices` fit.
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

/// Called when the library no longer needs borrowed arrays.
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

/// A pointer that is not NULL, since C reads (NULL, 0) as "all nodes".
inline const std::int32_t *list(Span<const std::int32_t> nodes) noexcept {
  static constexpr std::int32_t nothing = 0;
  return nodes.data() != nullptr ? nodes.data() : &nothing;
}

/// A path as a C string, which would end at a zero byte.
inline const char *c_path(const std::string &path) {
  if (path.find('\0') != std::string::npos) {
    throw Error(PLIM_ERROR_INVALID_ARGUMENT, "path has a zero byte");
  }
  return path.c_str();
}

/// Calls a callback; returns true if it returned Next::stop.
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
  /// The C handle. This object still owns it.
  T *get() noexcept { return handle_.get(); }
  const T *get() const noexcept { return handle_.get(); }

  /// Returns the C handle and gives up its ownership; free it with plim_…_free().
  T *release() noexcept { return handle_.release(); }

  /// Whether this object has a handle: false after a move.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
  explicit Handle(T *handle) noexcept : handle_(handle) {}

  /// Calls a C function that creates a handle.
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

/// A graph: edges, features, labels and splits.
class Graph : public detail::Handle<plim_graph, plim_graph_free> {
public:
  /// Takes over the ownership of a C handle.
  static Graph adopt(plim_graph *handle) noexcept { return Graph(handle); }

  /// A graph from undirected edges; edge i links sources[i] and targets[i].
  static Graph from_edges(std::size_t num_nodes, Span<const std::int32_t> sources,
                          Span<const std::int32_t> targets) {
    detail::same_size("targets", targets.size(), "sources", sources.size());
    return edges(num_nodes, sources, targets, nullptr);
  }

  /// As above, with a weight per edge.
  static Graph from_edges(std::size_t num_nodes, Span<const std::int32_t> sources,
                          Span<const std::int32_t> targets, Span<const float> weights) {
    detail::same_size("targets", targets.size(), "sources", sources.size());
    detail::same_size("weights", weights.size(), "sources", sources.size());
    return edges(num_nodes, sources, targets, weights.data());
  }

  /// A graph from a matrix in compressed sparse rows, directed or not. Row v, from indptr[v] to indptr[v + 1]
  /// - 1, lists the nodes that v aggregates from.
  static Graph from_csr(std::size_t num_nodes, Span<const std::int64_t> indptr, Span<const std::int32_t> indices) {
    detail::fits_csr(num_nodes, indptr, indices);
    return csr(num_nodes, indptr, indices, nullptr);
  }

  /// As above, with a weight per entry.
  static Graph from_csr(std::size_t num_nodes, Span<const std::int64_t> indptr, Span<const std::int32_t> indices,
                        Span<const float> values) {
    detail::fits_csr(num_nodes, indptr, indices);
    detail::same_size("values", values.size(), "indices", indices.size());
    return csr(num_nodes, indptr, indices, values.data());
  }

  /// The Mixture graph of the paper: three classes in the plane. The paper uses 2000 nodes per class.
  static Graph mixture(std::size_t nodes_per_class, std::uint64_t seed) {
    return Graph(make([&](plim_graph **out) { return plim_graph_from_mixture(nodes_per_class, seed, out); }));
  }

  /// Borrows a matrix in compressed sparse rows, which is both A and Â. Rows must be strictly ascending. The
  /// arrays must stay in place and unchanged until `release` is called, once and on any thread. `release`
  /// must not throw. If this function throws, it is not called.
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

  /// Reads undirected edges from a text file, one per line: two ids and an optional weight. If `num_nodes` is
  /// 0, it is one more than the largest id.
  static Graph from_edge_list(const std::string &path, std::size_t num_nodes = 0) {
    return Graph(
        make([&](plim_graph **out) { return plim_graph_from_edge_list(detail::c_path(path), num_nodes, out); }));
  }

  /// Reads edges from a text file, such as CSV, as the options say. Ids are the numbers of the nodes, from 0.
  static Graph from_edge_list(const std::string &path, const EdgeListOptions &options);

  /// As above, with names for ids: auto [graph, ids] = Graph::from_named_edge_list(path, options).
  static NamedGraph from_named_edge_list(const std::string &path, const EdgeListOptions &options);

  /// Reads an .npz or Matrix Market file, or maps a store.
  static Graph load(const std::string &path) {
    return Graph(make([&](plim_graph **out) { return plim_graph_load(detail::c_path(path), out); }));
  }

  /// Writes an .npz file. An existing file is replaced only when the new one is complete.
  void save(const std::string &path) const { detail::check(plim_graph_save(get(), detail::c_path(path))); }

  /// Writes a store: a directory that load() maps into memory.
  void save_store(const std::string &directory) const {
    detail::check(plim_graph_save_store(get(), detail::c_path(directory)));
  }

  /// Reads the arrays that are mapped from a store, and compares them with its checksums.
  void verify() const { detail::check(plim_graph_verify(get())); }

  /// Limits the memory for ÂX, in bytes.
  void set_cache(std::size_t max_bytes) { detail::check(plim_graph_set_cache(get(), max_bytes)); }

  /// Sets dense features: num_nodes() rows of `num_features` values.
  void set_features(std::size_t num_features, Span<const float> row_major) {
    fits_features(num_features, row_major);
    detail::check(plim_graph_set_features(get(), num_features, row_major.data()));
  }

  /// Borrows dense features. The array must stay in place and unchanged until `release` is called, once and
  /// on any thread. `release` must not throw. If this function throws, it is not called.
  void view_features(std::size_t num_features, Span<const float> row_major, std::function<void()> release) {
    fits_features(num_features, row_major);
    auto owner = detail::released(std::move(release));
    detail::check(plim_graph_view_features(get(), num_features, row_major.data(), detail::plimsoll_hpp_release, owner.get()));
    owner.release();
  }

  /// Sets features in compressed sparse rows.
  void set_sparse_features(std::size_t num_features, Span<const std::int64_t> indptr,
                           Span<const std::int32_t> indices, Span<const float> values) {
    if (num_nodes() != 0) {
      detail::fits_csr(num_nodes(), indptr, indices);
      detail::same_size("values", values.size(), "indices", indices.size());
    }
    detail::check(
        plim_graph_set_sparse_features(get(), num_features, indptr.data(), indices.data(), values.data()));
  }

  /// Divides each row of the features by its sum. A row that sums to 0 does not change.
  void normalize_features() { detail::check(plim_graph_normalize_features(get())); }

  /// Sets the class of each node; -1 for none.
  void set_labels(Span<const std::int32_t> labels) {
    if (num_nodes() != 0) {
      detail::has_size("labels", labels.size(), num_nodes());
    }
    detail::check(plim_graph_set_labels(get(), labels.data()));
  }

  /// Sets the number of classes, some of which may have no node; 0 counts them from the labels.
  void set_num_classes(std::size_t num_classes) { detail::check(plim_graph_set_num_classes(get(), num_classes)); }

  /// Sets the nodes of a split. An empty list empties it.
  void set_split(Split split, Span<const std::int32_t> nodes) {
    detail::check(plim_graph_set_split(get(), static_cast<std::int32_t>(split), nodes.data(), nodes.size()));
  }

  /// Selects how Â is computed from A.
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
    // Without nodes the handle is not live, and without features the number is wrong: C reports both.
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

/// Mean cross-entropy without the penalty of λ, and the fraction of nodes whose most probable class is their
/// label.
struct Evaluation {
  double loss;
  double accuracy;
};

/// The operations of a model. Each appends a value, made from the last one; value 0 is the features. Methods that
/// append or set return the object:
///
///     Layers layers(graph.num_features());
///     layers.sage(16).activation(Activation::relu).dropout(0.5).sage(graph.num_classes());
///     Model model(layers, 1);
class Layers : public detail::Handle<plim_layers, plim_layers_free> {
public:
  /// No operations, on this many features.
  explicit Layers(std::size_t num_features)
      : Handle(make([&](plim_layers **out) { return plim_layers_new(num_features, out); })) {}

  /// Takes over the ownership of a C handle.
  static Layers adopt(plim_layers *handle) noexcept { return Layers(handle, nullptr); }

  /// The number of the last value; 0 is the features.
  std::size_t last() const noexcept { return plim_layers_last(get()); }
  /// The columns of the last value.
  std::size_t width() const noexcept { return plim_layers_width(get()); }
  /// The number of sample sizes of a consistent estimator.
  std::size_t num_hops() const noexcept { return plim_layers_num_hops(get()); }

  /// H W + b
  Layers &linear(std::size_t width) & { return checked(plim_layers_linear(get(), width)); }
  Layers &&linear(std::size_t width) && { return std::move(linear(width)); }

  /// Â H W + b
  Layers &gcn(std::size_t width) & { return checked(plim_layers_gcn(get(), width)); }
  Layers &&gcn(std::size_t width) && { return std::move(gcn(width)); }

  /// agg(H) W_l + b + H W_r
  Layers &sage(std::size_t width, Aggregator aggregator = Aggregator::mean) & {
    return checked(plim_layers_sage(get(), width, static_cast<std::int32_t>(aggregator)));
  }
  Layers &&sage(std::size_t width, Aggregator aggregator = Aggregator::mean) && {
    return std::move(sage(width, aggregator));
  }

  /// MLP((1 + ε) H + A H), with linear layers of these widths.
  Layers &gin(Span<const std::size_t> widths) & {
    return checked(plim_layers_gin(get(), widths.data(), widths.size()));
  }
  Layers &&gin(Span<const std::size_t> widths) && { return std::move(gin(widths)); }

  /// Attention over neighbours: version 1 is GAT, version 2 is GATv2. `width` is that of one head.
  Layers &gat(std::size_t width, std::size_t heads, int version = 1) & {
    return checked(plim_layers_gat(get(), width, heads, version));
  }
  Layers &&gat(std::size_t width, std::size_t heads, int version = 1) && {
    return std::move(gat(width, heads, version));
  }

  /// agg(H)
  Layers &aggregate(Aggregator aggregator) & {
    return checked(plim_layers_aggregate(get(), static_cast<std::int32_t>(aggregator)));
  }
  Layers &&aggregate(Aggregator aggregator) && { return std::move(aggregate(aggregator)); }

  /// H ← (1 - α) Â H + α H_0, `hops` times.
  Layers &propagate(std::size_t hops, double restart = 0) & {
    return checked(plim_layers_propagate(get(), hops, restart));
  }
  Layers &&propagate(std::size_t hops, double restart = 0) && { return std::move(propagate(hops, restart)); }

  Layers &activation(Activation activation) & {
    return checked(plim_layers_activation(get(), static_cast<std::int32_t>(activation)));
  }
  Layers &&activation(Activation function) && { return std::move(activation(function)); }

  /// In training each number becomes 0 with this probability, and is divided by the rest otherwise.
  Layers &dropout(double rate) & { return checked(plim_layers_dropout(get(), rate)); }
  Layers &&dropout(double rate) && { return std::move(dropout(rate)); }

  Layers &norm(Norm norm) & { return checked(plim_layers_norm(get(), static_cast<std::int32_t>(norm))); }
  Layers &&norm(Norm kind) && { return std::move(norm(kind)); }

  /// Goes on from an earlier value.
  Layers &at(std::size_t value) & { return checked(plim_layers_at(get(), value)); }
  Layers &&at(std::size_t value) && { return std::move(at(value)); }

  /// H + an earlier value.
  Layers &add(std::size_t value) & { return checked(plim_layers_add(get(), value)); }
  Layers &&add(std::size_t value) && { return std::move(add(value)); }

  /// The columns of H, then those of an earlier value.
  Layers &concat(std::size_t value) & { return checked(plim_layers_concat(get(), value)); }
  Layers &&concat(std::size_t value) && { return std::move(concat(value)); }

  /// The larger of H and an earlier value, element by element.
  Layers &max(std::size_t value) & { return checked(plim_layers_max(get(), value)); }
  Layers &&max(std::size_t value) && { return std::move(max(value)); }

  /// Whether the operation appended last has biases.
  Layers &set_bias(bool on) & { return checked(plim_layers_set_bias(get(), on ? 1 : 0)); }
  Layers &&set_bias(bool on) && { return std::move(set_bias(on)); }

  /// ε of the gin() appended last, and whether it is a parameter.
  Layers &set_epsilon(double epsilon, bool learned = false) & {
    return checked(plim_layers_set_epsilon(get(), epsilon, learned ? 1 : 0));
  }
  Layers &&set_epsilon(double epsilon, bool learned = false) && { return std::move(set_epsilon(epsilon, learned)); }

  /// Whether each node attends to itself, in the gat() appended last.
  Layers &set_self_loops(bool on) & { return checked(plim_layers_set_self_loops(get(), on ? 1 : 0)); }
  Layers &&set_self_loops(bool on) && { return std::move(set_self_loops(on)); }

  /// What becomes of the heads of the gat() appended last.
  Layers &set_heads(Heads heads) & { return checked(plim_layers_set_heads(get(), static_cast<std::int32_t>(heads))); }
  Layers &&set_heads(Heads heads) && { return std::move(set_heads(heads)); }

  /// In training, coefficients of the gat() appended last become 0 with this probability.
  Layers &set_attention_dropout(double rate) & { return checked(plim_layers_set_attention_dropout(get(), rate)); }
  Layers &&set_attention_dropout(double rate) && { return std::move(set_attention_dropout(rate)); }

private:
  // The second parameter keeps Layers(0), a number of features, apart from a null pointer.
  Layers(plim_layers *handle, std::nullptr_t) noexcept : Handle(handle) {}

  Layers &checked(plim_status status) {
    detail::check(status);
    return *this;
  }
};

/// A part of the parameters: rows × columns numbers, row-major, from offset on. A vector has one row.
struct Tensor {
  std::string name;
  std::size_t offset;
  std::size_t rows;
  std::size_t columns;
};

/// A graph neural network and its parameters: a plain GCN, or one made of layers.
class Model : public detail::Handle<plim_model, plim_model_free> {
public:
  /// Takes over the ownership of a C handle.
  static Model adopt(plim_model *handle) noexcept { return Model(handle); }

  /// A model of these layers, which are copied. The last value is its output.
  explicit Model(const Layers &layers, std::uint64_t seed)
      : Handle(make([&](plim_model **out) { return plim_model_new(layers.get(), seed, out); })) {}

  /// A graph convolutional network. {1433, 16, 7} is the 2-layer network for Cora.
  static Model gcn(Span<const std::size_t> widths, std::uint64_t seed) {
    return Model(make([&](plim_model **out) { return plim_model_gcn(widths.data(), widths.size(), seed, out); }));
  }

  /// Reads a safetensors file.
  static Model load(const std::string &path) {
    return Model(make([&](plim_model **out) { return plim_model_load(detail::c_path(path), out); }));
  }

  /// Writes a safetensors file. An existing file is replaced only when the new one is complete.
  void save(const std::string &path) const { detail::check(plim_model_save(get(), detail::c_path(path))); }

  /// An independent copy with the same parameters, λ and number of threads.
  Model clone() const {
    return Model(make([&](plim_model **out) { return plim_model_clone(get(), out); }));
  }

  /// Sets λ of the penalty λ/2 ‖W‖².
  void set_regularization(double lambda) { detail::check(plim_model_set_regularization(get(), lambda)); }

  /// Sets the number of threads, the calling one included; 0 selects the number of available cores.
  void set_threads(std::size_t threads) { detail::check(plim_model_set_threads(get(), threads)); }

  /// Lets predictions for a whole graph hold what takes more than max_bytes in files in this directory.
  void set_scratch(const std::string &directory, std::size_t max_bytes) {
    detail::check(plim_model_set_scratch(get(), directory.c_str(), max_bytes));
  }

  /// Lets predictions use no files, the default.
  void clear_scratch() { detail::check(plim_model_set_scratch(get(), nullptr, 0)); }

  /// The number of layers: of hops, for a model made of layers.
  std::size_t num_layers() const noexcept { return plim_model_num_layers(get()); }
  std::size_t num_parameters() const noexcept { return plim_model_num_parameters(get()); }

  /// All parameters: W(0), W(1), …, each row-major.
  std::vector<float> parameters() const {
    std::vector<float> values(num_parameters());
    detail::check(plim_model_get_parameters(get(), values.data(), values.size()));
    return values;
  }

  void set_parameters(Span<const float> values) {
    detail::check(plim_model_set_parameters(get(), values.data(), values.size()));
  }

  /// The tensors that the parameters consist of, in their order.
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> tensors(plim_model_num_tensors(get()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const char *name = nullptr;
      Tensor &tensor = tensors[i];
      detail::check(plim_model_tensor(get(), i, &name, &tensor.offset, &tensor.rows, &tensor.columns));
      tensor.name = name;
    }
    return tensors;
  }

  /// The number of columns of each value: first the input width, last the output width.
  std::vector<std::size_t> value_widths() const {
    std::vector<std::size_t> widths(plim_model_num_values(get()));
    detail::check(plim_model_copy_value_widths(get(), widths.data(), widths.size()));
    return widths;
  }

  /// The widths of a gcn(): input, hidden layers, output.
  std::vector<std::size_t> widths() const {
    std::vector<std::size_t> widths(num_layers() + 1);
    detail::check(plim_model_copy_widths(get(), widths.data(), widths.size()));
    return widths;
  }

  /// Class probabilities of all nodes, one row per node, computed without sampling.
  std::vector<float> predict(const Graph &graph) const {
    return predict(graph, nullptr, 0, graph.num_nodes());
  }

  /// Class probabilities of these nodes.
  std::vector<float> predict(const Graph &graph, Span<const std::int32_t> nodes) const {
    return predict(graph, detail::list(nodes), nodes.size(), nodes.size());
  }

  /// H(layer + 1) of all nodes, one row per node, computed without sampling. The last layer returns logits.
  std::vector<float> embed(const Graph &graph, std::size_t layer) const {
    return embed(graph, nullptr, 0, graph.num_nodes(), layer);
  }

  /// H(layer + 1) of these nodes.
  std::vector<float> embed(const Graph &graph, std::size_t layer, Span<const std::int32_t> nodes) const {
    return embed(graph, detail::list(nodes), nodes.size(), nodes.size(), layer);
  }

  /// A value of all nodes, one row per node, computed without sampling; 0 is the features.
  std::vector<float> embed_value(const Graph &graph, std::size_t value) const {
    return embed_value(graph, nullptr, 0, graph.num_nodes(), value);
  }

  /// A value of these nodes.
  std::vector<float> embed_value(const Graph &graph, std::size_t value, Span<const std::int32_t> nodes) const {
    return embed_value(graph, detail::list(nodes), nodes.size(), nodes.size(), value);
  }

  /// Loss and accuracy on a split, computed without sampling.
  Evaluation evaluate(const Graph &graph, Split split) const {
    Evaluation result{};
    detail::check(plim_model_evaluate(get(), graph.get(), static_cast<std::int32_t>(split), &result.loss,
                                      &result.accuracy));
    return result;
  }

  /// The confusion matrix on a split, computed without sampling. It is square and row-major, with one row per
  /// label and one column per predicted class; its size is the output width.
  std::vector<std::size_t> confusion(const Graph &graph, Split split) const {
    const std::size_t classes = value_widths().back();
    std::vector<std::size_t> matrix(classes * classes);
    detail::check(plim_model_confusion(get(), graph.get(), static_cast<std::int32_t>(split), matrix.data(),
                                       matrix.size()));
    return matrix;
  }

private:
  explicit Model(plim_model *handle) noexcept : Handle(handle) {}

  std::vector<float> predict(const Graph &graph, const std::int32_t *nodes, std::size_t count,
                             std::size_t rows) const {
    std::vector<float> values(rows * value_widths().back());
    detail::check(plim_model_predict(get(), graph.get(), nodes, count, values.data(), values.size()));
    return values;
  }

  std::vector<float> embed(const Graph &graph, const std::int32_t *nodes, std::size_t count, std::size_t rows,
                           std::size_t layer) const {
    // C reports a layer that does not exist, whatever the size of the buffer.
    std::vector<float> values(layer < num_layers() ? rows * widths()[layer + 1] : 0);
    detail::check(plim_model_embed(get(), graph.get(), nodes, count, layer, values.data(), values.size()));
    return values;
  }

  std::vector<float> embed_value(const Graph &graph, const std::int32_t *nodes, std::size_t count, std::size_t rows,
                                 std::size_t value) const {
    const std::vector<std::size_t> widths = value_widths();
    std::vector<float> values(value < widths.size() ? rows * widths[value] : 0);
    detail::check(plim_model_embed_value(get(), graph.get(), nodes, count, value, values.data(), values.size()));
    return values;
  }
};

/// The macro-F1 of a square confusion matrix: the mean F1 over the classes that are labelled or predicted at
/// all. You may add several matrices first.
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

/// Means over queries: loss without the penalty of λ and fraction of pairs in the right order, over queries
/// with pairs; NDCG over all queries.
struct RankEvaluation {
  double loss;
  double accuracy;
  double ndcg;
};

/// Queries, their documents, and the relevance of each document. A Model with one output scores documents.
class RankData : public detail::Handle<plim_rank_data, plim_rank_data_free> {
public:
  /// Takes over the ownership of a C handle.
  static RankData adopt(plim_rank_data *handle) noexcept { return RankData(handle); }

  /// From dense features, row-major, and a relevance per document. Query q has the documents offsets[q] ..
  /// offsets[q + 1] - 1. All queries are training queries at first.
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

  /// From features in compressed sparse rows.
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

  /// Reads a file in LETOR's format. If `num_features` is 0, it is the largest feature in the file.
  static RankData load(const std::string &path, std::size_t num_features = 0) {
    return RankData(
        make([&](plim_rank_data **out) { return plim_rank_data_load(detail::c_path(path), num_features, out); }));
  }

  /// Appends all queries of other data and adds them to a split.
  void append(const RankData &other, Split split) {
    detail::check(plim_rank_data_append(get(), other.get(), static_cast<std::int32_t>(split)));
  }

  /// Subtracts the mean of each feature and divides by its standard deviation, both over the training
  /// documents.
  void standardize() { detail::check(plim_rank_data_standardize(get(), nullptr)); }

  /// As above, with the means and deviations of other data, or those that other data were standardised by.
  void standardize(const RankData &reference) {
    if (!reference) { // C reads NULL as the data themselves
      throw Error(PLIM_ERROR_NULL_POINTER, "reference was moved from");
    }
    detail::check(plim_rank_data_standardize(get(), reference.get()));
  }

  /// Sets the queries of a split. An empty list empties it.
  void set_split(Split split, Span<const std::int32_t> queries) {
    detail::check(
        plim_rank_data_set_split(get(), static_cast<std::int32_t>(split), queries.data(), queries.size()));
  }

  /// Computes NDCG over the first `cutoff` documents of a query, or over all if it is 0.
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

  /// The index of each query's first document, followed by the number of documents.
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

  /// The id of each query: the number after qid in the file, or else its index.
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

  /// Measures a model on a split, without sampling.
  RankEvaluation evaluate(const Model &model, Split split) const {
    RankEvaluation result{};
    detail::check(plim_rank_evaluate(model.get(), get(), static_cast<std::int32_t>(split), &result.loss,
                                     &result.accuracy, &result.ndcg));
    return result;
  }

  /// One measure of each query of a split. Loss and accuracy of a query without pairs are NaN.
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

/// Overloads of the C functions that take a graph or ranking data.
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

/// A gradient in the order of Model::parameters(), and the estimated objective, with the penalty of λ.
struct Gradient {
  std::vector<float> values;
  double loss;
};

/// Computes or estimates gradients of a model on a batch of nodes or queries. Setters return the object.
class Estimator : public detail::Handle<plim_estimator, plim_estimator_free> {
public:
  /// Takes over the ownership of a C handle.
  static Estimator adopt(plim_estimator *handle) noexcept { return Estimator(handle); }

  /// The exact gradient over all training nodes; it takes no batch.
  static Estimator full() {
    return Estimator(make([](plim_estimator **out) { return plim_estimator_full(out); }));
  }

  /// The exact gradient of a batch, from its whole neighbourhood.
  static Estimator unbiased() {
    return Estimator(make([](plim_estimator **out) { return plim_estimator_unbiased(out); }));
  }

  /// A consistent estimate from nodes drawn at the input of each layer, the input layer first; 0 for an exact
  /// input.
  static Estimator consistent(Span<const std::size_t> sample_sizes) {
    return Estimator(make([&](plim_estimator **out) {
      return plim_estimator_consistent(sample_sizes.data(), sample_sizes.size(), out);
    }));
  }

  /// For rankings: an estimate from this many pairs of documents drawn per query.
  static Estimator pairs(std::size_t num_pairs) {
    return Estimator(make([&](plim_estimator **out) { return plim_estimator_pairs(num_pairs, out); }));
  }

  /// For rankings: an estimate from the pairs between two samples of this many documents per query.
  static Estimator separate(std::size_t num_documents, bool self_normalized = false) {
    return Estimator(make([&](plim_estimator **out) {
      return plim_estimator_separate(num_documents, self_normalized ? 1 : 0, out);
    }));
  }

  /// Sets the seed of the draws and restarts their sequence.
  Estimator &set_seed(std::uint64_t seed) & {
    detail::check(plim_estimator_set_seed(get(), seed));
    return *this;
  }
  Estimator &&set_seed(std::uint64_t seed) && { return std::move(set_seed(seed)); }

  /// Selects the distribution that nodes are drawn from.
  Estimator &set_distribution(Distribution distribution) & {
    detail::check(plim_estimator_set_distribution(get(), static_cast<std::int32_t>(distribution)));
    return *this;
  }
  Estimator &&set_distribution(Distribution distribution) && { return std::move(set_distribution(distribution)); }

  /// Draws nodes with probabilities proportional to weights > 0, one per node of the graph.
  Estimator &set_weights(Span<const double> weights) & {
    detail::check(plim_estimator_set_weights(get(), weights.data(), weights.size()));
    return *this;
  }
  Estimator &&set_weights(Span<const double> weights) && { return std::move(set_weights(weights)); }

  /// Sets the nodes drawn at the input of a layer. An empty list removes them.
  Estimator &set_draws(std::size_t layer, Span<const std::int32_t> nodes) & {
    detail::check(plim_estimator_set_draws(get(), layer, nodes.data(), nodes.size()));
    return *this;
  }
  Estimator &&set_draws(std::size_t layer, Span<const std::int32_t> nodes) && {
    return std::move(set_draws(layer, nodes));
  }

  Property property() const noexcept { return Property{plim_estimator_property(get())}; }

  /// The property for gradients of a model: none if a batch norm sees batches.
  Property property_of(const Model &model) const noexcept {
    return Property{plim_estimator_property_of(get(), model.get())};
  }

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

  /// Writes the gradient to a buffer of model.num_parameters() floats and returns the loss. It allocates
  /// nothing.
  double gradient_into(Span<float> gradient, const Model &model, const Graph &graph) {
    return gradient_into(gradient, model, graph.get(), nullptr, 0);
  }
  double gradient_into(Span<float> gradient, const Model &model, const Graph &graph,
                       Span<const std::int32_t> batch) {
    return gradient_into(gradient, model, graph.get(), detail::list(batch), batch.size());
  }

  /// The gradient of a ranking, over all training queries or a batch of queries.
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

/// The mean of the iterates w_1 .. w_T, each taken before its update; empty if the oracle stopped the run.
struct MinimizeResult {
  std::vector<double> average;
  bool cancelled;
};

/// Moves parameters along gradients: SGD or Adam. Setters return the object.
class Optimizer : public detail::Handle<plim_optimizer, plim_optimizer_free> {
public:
  /// Takes over the ownership of a C handle.
  static Optimizer adopt(plim_optimizer *handle) noexcept { return Optimizer(handle); }

  /// Stochastic gradient descent.
  static Optimizer sgd(double step) {
    return Optimizer(make([&](plim_optimizer **out) { return plim_optimizer_sgd(step, out); }));
  }

  /// Adam, with the update of PyTorch.
  static Optimizer adam(double step) {
    return Optimizer(make([&](plim_optimizer **out) { return plim_optimizer_adam(step, out); }));
  }

  /// Selects how the step depends on the number of updates.
  Optimizer &set_schedule(Schedule schedule) & {
    detail::check(plim_optimizer_set_schedule(get(), static_cast<std::int32_t>(schedule)));
    return *this;
  }
  Optimizer &&set_schedule(Schedule schedule) && { return std::move(set_schedule(schedule)); }

  /// Multiplies the step by a factor after each `every` updates or epochs, as StepLR of PyTorch.
  Optimizer &set_step_decay(std::size_t every, Unit unit, double factor) & {
    detail::check(plim_optimizer_set_step_decay(get(), every, static_cast<std::int32_t>(unit), factor));
    return *this;
  }
  Optimizer &&set_step_decay(std::size_t every, Unit unit, double factor) && {
    return std::move(set_step_decay(every, unit, factor));
  }

  /// Lowers the step to the minimum along half a cosine, as CosineAnnealingLR of PyTorch; then it stays.
  Optimizer &set_cosine(std::size_t length, Unit unit, double minimum) & {
    detail::check(plim_optimizer_set_cosine(get(), length, static_cast<std::int32_t>(unit), minimum));
    return *this;
  }
  Optimizer &&set_cosine(std::size_t length, Unit unit, double minimum) && {
    return std::move(set_cosine(length, unit, minimum));
  }

  /// Multiplies the step of any schedule by a factor from `start` to 1, as LinearLR of PyTorch; length 0 for none.
  Optimizer &set_warmup(std::size_t length, Unit unit, double start) & {
    detail::check(plim_optimizer_set_warmup(get(), length, static_cast<std::int32_t>(unit), start));
    return *this;
  }
  Optimizer &&set_warmup(std::size_t length, Unit unit, double start) && {
    return std::move(set_warmup(length, unit, start));
  }

  /// Multiplies the step by a factor after more than `patience` reports without improvement, as ReduceLROnPlateau of
  /// PyTorch with threshold 0. A factor of 1 means no reductions.
  Optimizer &set_plateau(double factor, std::size_t patience, double minimum) & {
    detail::check(plim_optimizer_set_plateau(get(), factor, patience, minimum));
    return *this;
  }
  Optimizer &&set_plateau(double factor, std::size_t patience, double minimum) && {
    return std::move(set_plateau(factor, patience, minimum));
  }

  /// Reports a measure for set_plateau() in a loop of your own; train() reports its monitor. Lower is better.
  void report(double value) { detail::check(plim_optimizer_report(get(), value)); }

  /// Counts an epoch for the schedules in a loop of your own.
  void end_epoch() { detail::check(plim_optimizer_end_epoch(get())); }

  /// The step of the next update.
  double step_size() const noexcept { return plim_optimizer_step_size(get()); }

  /// Sets decoupled weight decay; with Adam this is AdamW.
  Optimizer &set_decay(double decay) & {
    detail::check(plim_optimizer_set_decay(get(), decay));
    return *this;
  }
  Optimizer &&set_decay(double decay) && { return std::move(set_decay(decay)); }

  /// Sets how fast Adam's moments decay, with beta1² < beta2.
  Optimizer &set_betas(double beta1, double beta2) & {
    detail::check(plim_optimizer_set_betas(get(), beta1, beta2));
    return *this;
  }
  Optimizer &&set_betas(double beta1, double beta2) && { return std::move(set_betas(beta1, beta2)); }

  /// Sets Adam's ε.
  Optimizer &set_epsilon(double epsilon) & {
    detail::check(plim_optimizer_set_epsilon(get(), epsilon));
    return *this;
  }
  Optimizer &&set_epsilon(double epsilon) && { return std::move(set_epsilon(epsilon)); }

  /// Clips gradients to this norm, as clip_grad_norm_ of PyTorch; 0 or INFINITY for no clipping.
  Optimizer &set_clip(double norm) & {
    detail::check(plim_optimizer_set_clip(get(), norm));
    return *this;
  }
  Optimizer &&set_clip(double norm) && { return std::move(set_clip(norm)); }

  /// Projects iterates onto a ball around 0, replacing an earlier ball or box; INFINITY for no projection.
  Optimizer &set_ball(double radius) & {
    detail::check(plim_optimizer_set_ball(get(), radius));
    return *this;
  }
  Optimizer &&set_ball(double radius) && { return std::move(set_ball(radius)); }

  /// Projects every parameter onto [low, high], replacing an earlier ball or box.
  Optimizer &set_box(double low, double high) & {
    detail::check(plim_optimizer_set_box(get(), low, high));
    return *this;
  }
  Optimizer &&set_box(double low, double high) && { return std::move(set_box(low, high)); }

  /// Turns the running average of the iterates on or off. A change discards the present average.
  Optimizer &set_averaging(bool on) & {
    detail::check(plim_optimizer_set_averaging(get(), on ? 1 : 0));
    return *this;
  }
  Optimizer &&set_averaging(bool on) && { return std::move(set_averaging(on)); }

  /// Keeps an exponential moving average of the parameters; 0 for none.
  Optimizer &set_ema(double decay) & {
    detail::check(plim_optimizer_set_ema(get(), decay));
    return *this;
  }
  Optimizer &&set_ema(double decay) && { return std::move(set_ema(decay)); }

  /// Resets counts, moments, averages and what reports have reduced. Settings do not change.
  void reset() { detail::check(plim_optimizer_reset(get())); }

  /// Updates the model once. With Estimator::gradient(), use it to write your own training loop.
  void update(Model &model, Span<const float> gradient) {
    detail::check(plim_optimizer_update(get(), model.get(), gradient.data(), gradient.size()));
  }

  /// The average of the iterates of `model`, which this optimizer has updated.
  std::vector<float> average(const Model &model) const {
    std::vector<float> values(model.num_parameters());
    detail::check(plim_optimizer_average(get(), values.data(), values.size()));
    return values;
  }

  /// The exponential moving average of the parameters of `model`, which this optimizer has updated.
  std::vector<float> ema(const Model &model) const {
    std::vector<float> values(model.num_parameters());
    detail::check(plim_optimizer_ema(get(), values.data(), values.size()));
    return values;
  }

  /// Minimises your own objective with projected steps, in place. The oracle is called as
  ///
  ///     oracle(std::size_t step, Span<const double> w, Span<double> gradient)
  ///
  /// with step = 1, 2, … and zeros to be overwritten with the gradient. If the oracle stops the run or
  /// throws, or the run diverges, `w` is the last finite iterate.
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

/// Progress of a training or a measurement. Values that were not evaluated are NaN.
using Progress = plim_progress;

namespace detail {

/// A progress callback, on the heap, because C keeps its address while options move.
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

/// A log callback, on the heap for the same reason.
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

/// A train() or a measurement that runs on this thread, where its callbacks are called too. Several can use
/// the same options at once.
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
  Run *run = Run::innermost(); // nullptr if C trains with these options: then an exception only cancels
  if (run != nullptr && run->thrown) { // by a log callback, which cannot cancel
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
  if (run != nullptr && run->thrown) { // the call will be cancelled
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
  /// Takes over the ownership of a C handle.
  static History adopt(plim_history *handle) noexcept { return History(handle); }

  std::size_t num_epochs() const noexcept { return plim_history_num_epochs(get()); }

  /// The best epoch by the monitor, from 1; 0 if none was evaluated.
  std::size_t best_epoch() const noexcept { return plim_history_best_epoch(get()); }

  /// One number per epoch; NaN if it was not evaluated.
  std::vector<double> column(Column column) const {
    std::vector<double> values(num_epochs());
    detail::check(plim_history_copy(get(), static_cast<std::int32_t>(column), values.data(), values.size()));
    return values;
  }

private:
  explicit History(plim_history *handle) noexcept : Handle(handle) {}
};

/// Result of train(). If `cancelled` is true, the progress callback stopped it, and the model has the
/// parameters of the last completed step.
struct TrainResult {
  History history;
  bool cancelled;
};

/// The names of nodes: from names to ids and back.
class Ids : public detail::Handle<plim_ids, plim_ids_free> {
public:
  /// Takes over the ownership of a C handle.
  static Ids adopt(plim_ids *handle) noexcept { return Ids(handle); }

  /// Reads a table that save() wrote.
  static Ids load(const std::string &path) {
    return Ids(make([&](plim_ids **out) { return plim_ids_load(detail::c_path(path), out); }));
  }

  /// Writes the table as text. An existing file is replaced only when the new one is complete.
  void save(const std::string &path) const { detail::check(plim_ids_save(get(), detail::c_path(path))); }

  /// The number of names.
  std::size_t count() const noexcept { return plim_ids_count(get()); }

  /// The id of a name; -1 if the table does not have it.
  std::int32_t find(const std::string &name) const {
    std::int32_t id = -1;
    detail::check(plim_ids_find(get(), name.c_str(), &id));
    return name.find('\0') == std::string::npos ? id : -1; // no name has a zero byte
  }

  /// The name of an id.
  std::string name(std::int32_t id) const {
    std::vector<char> text(plim_ids_name_size(get()));
    detail::check(plim_ids_copy_name(get(), id, text.data(), text.size()));
    return text.data();
  }

private:
  explicit Ids(plim_ids *handle) noexcept : Handle(handle) {}
};

/// A graph and the names of its nodes.
struct NamedGraph {
  Graph graph;
  Ids ids;
};

/// How Graph::from_edge_list() reads a file.
class EdgeListOptions : public detail::Handle<plim_edge_list_options, plim_edge_list_options_free> {
public:
  /// Default values.
  EdgeListOptions() : Handle(make([](plim_edge_list_options **out) { return plim_edge_list_options_new(out); })) {}

  /// Takes over the ownership of a C handle.
  static EdgeListOptions adopt(plim_edge_list_options *handle) noexcept { return EdgeListOptions(handle); }

  /// Returns the C handle, without the log, and gives up its ownership; free it with
  /// plim_edge_list_options_free().
  plim_edge_list_options *release() {
    if (log_) {
      clear_log();
    }
    return handle_.release();
  }

  /// Sets the byte between fields.
  EdgeListOptions &set_separator(char separator) & {
    detail::check(plim_edge_list_options_set_separator(get(), static_cast<unsigned char>(separator)));
    return *this;
  }
  EdgeListOptions &&set_separator(char separator) && { return std::move(set_separator(separator)); }

  /// Lets the first line show the separator again.
  void clear_separator() { detail::check(plim_edge_list_options_set_separator(get(), PLIM_SEPARATOR_AUTO)); }

  /// Selects whether the first line is a header.
  EdgeListOptions &set_header(Header header) & {
    detail::check(plim_edge_list_options_set_header(get(), static_cast<std::int32_t>(header)));
    return *this;
  }
  EdgeListOptions &&set_header(Header header) && { return std::move(set_header(header)); }

  /// Selects columns by number, from 0; the weight may be -1 for none.
  EdgeListOptions &set_columns(std::int32_t source, std::int32_t target, std::int32_t weight) & {
    detail::check(plim_edge_list_options_set_columns(get(), source, target, weight));
    return *this;
  }
  EdgeListOptions &&set_columns(std::int32_t source, std::int32_t target, std::int32_t weight) && { return std::move(set_columns(source, target, weight)); }

  /// Selects columns by their names in the header, without weights.
  EdgeListOptions &set_column_names(const std::string &source, const std::string &target) & {
    detail::check(plim_edge_list_options_set_column_names(get(), source.c_str(), target.c_str(), nullptr));
    return *this;
  }
  EdgeListOptions &&set_column_names(const std::string &source, const std::string &target) && { return std::move(set_column_names(source, target)); }

  /// As above, with a column of weights.
  EdgeListOptions &set_column_names(const std::string &source, const std::string &target, const std::string &weight) & {
    detail::check(plim_edge_list_options_set_column_names(get(), source.c_str(), target.c_str(), weight.c_str()));
    return *this;
  }
  EdgeListOptions &&set_column_names(const std::string &source, const std::string &target, const std::string &weight) && { return std::move(set_column_names(source, target, weight)); }

  /// Selects whether edges have a direction: the target then aggregates from the source.
  EdgeListOptions &set_directed(bool on) & {
    detail::check(plim_edge_list_options_set_directed(get(), on ? 1 : 0));
    return *this;
  }
  EdgeListOptions &&set_directed(bool on) && { return std::move(set_directed(on)); }

  /// Selects what becomes of an edge that several lines have.
  EdgeListOptions &set_repeated(Repeated repeated) & {
    detail::check(plim_edge_list_options_set_repeated(get(), static_cast<std::int32_t>(repeated)));
    return *this;
  }
  EdgeListOptions &&set_repeated(Repeated repeated) && { return std::move(set_repeated(repeated)); }

  /// Sets how comments begin; an empty text for no comments.
  EdgeListOptions &set_comment(const std::string &prefix) & {
    detail::check(plim_edge_list_options_set_comment(get(), prefix.c_str()));
    return *this;
  }
  EdgeListOptions &&set_comment(const std::string &prefix) && { return std::move(set_comment(prefix)); }

  /// Selects the usual comments again: # and %, and none if ids are names.
  void clear_comment() { detail::check(plim_edge_list_options_set_comment(get(), nullptr)); }

  /// Sets the number of nodes; 0 for as many as the file has.
  EdgeListOptions &set_num_nodes(std::size_t num_nodes) & {
    detail::check(plim_edge_list_options_set_num_nodes(get(), num_nodes));
    return *this;
  }
  EdgeListOptions &&set_num_nodes(std::size_t num_nodes) && { return std::move(set_num_nodes(num_nodes)); }

  /// Calls `log(LogLevel level, const char *message)` on the thread that reads, once per message up to `level`.
  template <class F> EdgeListOptions &set_log(LogLevel level, F &&log) & {
    std::shared_ptr<detail::Logger> logger = std::make_shared<detail::LoggerOf<std::decay_t<F>>>(std::forward<F>(log));
    detail::check(plim_edge_list_options_set_log(get(), static_cast<std::int32_t>(level), detail::Logger::tell,
                                                 logger.get()));
    log_ = std::move(logger);
    return *this;
  }
  template <class F> EdgeListOptions &&set_log(LogLevel level, F &&log) && {
    return std::move(set_log(level, std::forward<F>(log)));
  }
  void clear_log() {
    detail::check(plim_edge_list_options_set_log(get(), PLIM_LOG_ERROR, nullptr, nullptr));
    log_ = nullptr;
  }

private:
  friend class Graph;

  explicit EdgeListOptions(plim_edge_list_options *handle) noexcept : Handle(handle) {}

  /// Reads a graph. What the log throws is thrown when the call has returned.
  Graph read(const std::string &path, plim_ids **ids) const {
    if (!*this) { // C reads NULL as the defaults
      throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
    }
    const auto kept = log_; // the log may replace itself
    detail::Run run;
    plim_graph *handle = nullptr;
    const plim_status status = plim_graph_from_edge_list_with(detail::c_path(path), get(), ids, &handle);
    Graph graph = Graph::adopt(handle);
    if (run.thrown) {
      std::rethrow_exception(run.thrown);
    }
    detail::check(status);
    return graph;
  }

  std::shared_ptr<detail::Logger> log_;
};

inline Graph Graph::from_edge_list(const std::string &path, const EdgeListOptions &options) {
  return options.read(path, nullptr);
}

inline NamedGraph Graph::from_named_edge_list(const std::string &path, const EdgeListOptions &options) {
  plim_ids *handle = nullptr;
  Graph graph = [&] {
    try {
      return options.read(path, &handle);
    } catch (...) { // the log threw after the table was made
      plim_ids_free(handle);
      throw;
    }
  }();
  return NamedGraph{std::move(graph), Ids::adopt(handle)};
}

/// Options of train(). Setters return the object: TrainOptions().set_epochs(50).set_seed(1).
class TrainOptions : public detail::Handle<plim_train_options, plim_train_options_free> {
public:
  /// Default values.
  TrainOptions() : Handle(make([](plim_train_options **out) { return plim_train_options_new(out); })) {}

  /// Takes over the ownership of a C handle.
  static TrainOptions adopt(plim_train_options *handle) noexcept { return TrainOptions(handle); }

  /// Returns the C handle, without callbacks, and gives up its ownership; free it with
  /// plim_train_options_free().
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

  /// Sets the seed of the shuffling.
  TrainOptions &set_seed(std::uint64_t seed) & {
    detail::check(plim_train_options_set_seed(get(), seed));
    return *this;
  }
  TrainOptions &&set_seed(std::uint64_t seed) && { return std::move(set_seed(seed)); }

  /// Selects whether training ends with the parameters of the best epoch or with the last ones.
  TrainOptions &set_restore_best(bool on) & {
    detail::check(plim_train_options_set_restore_best(get(), on ? 1 : 0));
    return *this;
  }
  TrainOptions &&set_restore_best(bool on) && { return std::move(set_restore_best(on)); }

  /// Stops training after this many epochs without improvement of the monitor; 0 for never.
  TrainOptions &set_patience(std::size_t epochs) & {
    detail::check(plim_train_options_set_patience(get(), epochs));
    return *this;
  }
  TrainOptions &&set_patience(std::size_t epochs) && { return std::move(set_patience(epochs)); }

  /// Selects how the best epoch is determined, for restoring and for patience.
  TrainOptions &set_monitor(Monitor monitor) & {
    detail::check(plim_train_options_set_monitor(get(), static_cast<std::int32_t>(monitor)));
    return *this;
  }
  TrainOptions &&set_monitor(Monitor monitor) && { return std::move(set_monitor(monitor)); }

  /// Evaluates the model after every `epochs` epochs and after the last one; 0 for never.
  TrainOptions &set_evaluate_every(std::size_t epochs) & {
    detail::check(plim_train_options_set_evaluate_every(get(), epochs));
    return *this;
  }
  TrainOptions &&set_evaluate_every(std::size_t epochs) && { return std::move(set_evaluate_every(epochs)); }

  /// Writes a checkpoint after every `every` epochs and after the last one.
  TrainOptions &set_checkpoint(const std::string &path, std::size_t every) & {
    detail::check(plim_train_options_set_checkpoint(get(), detail::c_path(path), every));
    return *this;
  }
  TrainOptions &&set_checkpoint(const std::string &path, std::size_t every) && {
    return std::move(set_checkpoint(path, every));
  }
  void clear_checkpoint() { detail::check(plim_train_options_set_checkpoint(get(), nullptr, 0)); }

  /// Continues from a checkpoint if the file exists.
  TrainOptions &set_resume(const std::string &path) & {
    detail::check(plim_train_options_set_resume(get(), detail::c_path(path)));
    return *this;
  }
  TrainOptions &&set_resume(const std::string &path) && { return std::move(set_resume(path)); }
  void clear_resume() { detail::check(plim_train_options_set_resume(get(), nullptr)); }

  /// Adapts the sample size between `smallest` and `largest`, so that the relative error of the gradient
  /// stays below δ. It is tested every `every` updates.
  TrainOptions &set_adaptive(double delta, std::size_t every, std::size_t smallest, std::size_t largest) & {
    detail::check(plim_train_options_set_adaptive(get(), delta, every, smallest, largest));
    return *this;
  }
  TrainOptions &&set_adaptive(double delta, std::size_t every, std::size_t smallest, std::size_t largest) && {
    return std::move(set_adaptive(delta, every, smallest, largest));
  }
  void clear_adaptive() { detail::check(plim_train_options_set_adaptive(get(), 0, 0, 0, 0)); }

  /// Evaluates with the optimizer's moving average, and ends with that of the best epoch or with the last one.
  TrainOptions &set_ema(bool on) & {
    detail::check(plim_train_options_set_ema(get(), on ? 1 : 0));
    return *this;
  }
  TrainOptions &&set_ema(bool on) && { return std::move(set_ema(on)); }

  /// Calls `progress(const Progress &)` on the thread of train(), after each epoch and, within long epochs,
  /// at most every 0.5 seconds. Const calls on the model and the graph work inside it.
  template <class F> TrainOptions &set_progress(F &&progress) & {
    auto callback = std::make_shared<detail::CallbackOf<std::decay_t<F>>>(std::forward<F>(progress));
    set_callback(std::move(callback));
    return *this;
  }
  template <class F> TrainOptions &&set_progress(F &&progress) && {
    return std::move(set_progress(std::forward<F>(progress)));
  }
  void clear_progress() { set_callback(nullptr); }

  /// Calls `log(LogLevel level, const char *message)` on the thread of train(), once per message up to
  /// `level`. Const calls on the model and the graph work inside it.
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

  /// A log callback needs a progress callback too, which cancels the call if the log callback throws.
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

/// Trains a model. A second call continues with the counters of estimator and optimizer.
inline TrainResult train(Model &model, const Graph &graph, Estimator &estimator, Optimizer &optimizer,
                         const TrainOptions &options) {
  if (!options) { // C reads NULL as the defaults
    throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
  }
  const auto kept = std::make_pair(options.callback_, options.log_); // callbacks may replace themselves in the options
  return detail::train(model.get(), graph.get(), estimator.get(), optimizer.get(), options.get());
}

/// As above, with default options.
inline TrainResult train(Model &model, const Graph &graph, Estimator &estimator, Optimizer &optimizer) {
  return detail::train(model.get(), graph.get(), estimator.get(), optimizer.get(), nullptr);
}

/// Trains a model to rank. Batches consist of queries, and accuracy is that of pairs.
inline TrainResult train(Model &model, const RankData &data, Estimator &estimator, Optimizer &optimizer,
                         const TrainOptions &options) {
  if (!options) {
    throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
  }
  const auto kept = std::make_pair(options.callback_, options.log_);
  return detail::train(model.get(), data.get(), estimator.get(), optimizer.get(), options.get());
}

/// As above, with default options.
inline TrainResult train(Model &model, const RankData &data, Estimator &estimator, Optimizer &optimizer) {
  return detail::train(model.get(), data.get(), estimator.get(), optimizer.get(), nullptr);
}

/// Bounds on how far SGD with inexact gradients is from the optimum: Theorems 2 to 7. If a condition does not
/// hold, the message of the Error names it. plimsoll.h gives the formulas.
namespace bound {

/// Bounds ‖w_T - w*‖² for a strongly convex objective and steps 1/((l - δ)k).
inline double strongly_convex_iterate(double l, double big_g, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_strongly_convex_iterate(l, big_g, delta, t, &out));
  return out;
}

/// Bounds f(w̄_T) - f* under the same conditions.
inline double strongly_convex_average(double l, double big_g, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_strongly_convex_average(l, big_g, delta, t, &out));
  return out;
}

/// Bounds f(w_T) - f* under the same conditions, if the gradient is Lipschitz with constant L.
inline double strongly_convex_value(double l, double big_l, double big_g, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_strongly_convex_value(l, big_l, big_g, delta, t, &out));
  return out;
}

/// Bounds ‖w_T - w*‖² for a strongly convex objective and a constant step.
inline double constant_step(double l, double big_g, double delta, double step, std::size_t t,
                            double initial_distance_squared) {
  double out = 0;
  detail::check(plim_bound_constant_step(l, big_g, delta, step, t, initial_distance_squared, &out));
  return out;
}

/// Bounds f(w̄_T) - f* for a convex objective, steps c/√k in a set of this diameter, and relative errors <=
/// ρ/√T.
inline double convex_average(double big_g, double diameter, double rho, double c, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_convex_average(big_g, diameter, rho, c, t, &out));
  return out;
}

/// Bounds the smallest ‖∇f(w_k)‖² for an objective that need not be convex and steps D_f/((1 + δ)G√T).
inline double nonconvex_gradient(double big_l, double big_g, double d_f, double delta, std::size_t t) {
  double out = 0;
  detail::check(plim_bound_nonconvex_gradient(big_l, big_g, d_f, delta, t, &out));
  return out;
}

/// Bounds f(w_T) - f* for a strongly convex objective, steps 1/L and T - 1 absolute errors δ_1, δ_2, …
inline double linear(double l, double big_l, Span<const double> deltas, double initial_gap) {
  double out = 0;
  detail::check(plim_bound_linear(l, big_l, deltas.data(), deltas.size() + 1, initial_gap, &out));
  return out;
}

} // namespace bound

/// The number of nodes to draw so that, with probability 1 - ε, none of T gradients has a relative error of δ
/// or more. C and τ were fitted for that δ.
inline std::size_t sample_size(double tau, double c, std::size_t t, double epsilon) {
  std::size_t out = 0;
  detail::check(plim_sample_size(tau, c, t, epsilon, &out));
  return out;
}

/// The probability that at least one of T gradients from `sample_size` draws has a relative error of δ or
/// more.
inline double sample_epsilon(double tau, double c, std::size_t t, std::size_t sample_size) {
  double out = 0;
  detail::check(plim_sample_epsilon(tau, c, t, sample_size, &out));
  return out;
}

/// The smallest δ that, with probability 1 - ε, all of T gradients from `sample_size` draws stay below,
/// interpolated between fitted ones.
inline double sample_delta(Span<const double> deltas, Span<const double> cs, Span<const double> taus, std::size_t t,
                           double epsilon, std::size_t sample_size) {
  detail::same_size("cs", cs.size(), "deltas", deltas.size());
  detail::same_size("taus", taus.size(), "deltas", deltas.size());
  double out = 0;
  detail::check(
      plim_sample_delta(deltas.data(), cs.data(), taus.data(), deltas.size(), t, epsilon, sample_size, &out));
  return out;
}

/// Options of a measurement. Setters return the object: ProbeOptions().set_draws(1000).set_seed(1).
class ProbeOptions : public detail::Handle<plim_probe_options, plim_probe_options_free> {
public:
  /// Default values.
  ProbeOptions() : Handle(make([](plim_probe_options **out) { return plim_probe_options_new(out); })) {}

  /// Takes over the ownership of a C handle.
  static ProbeOptions adopt(plim_probe_options *handle) noexcept { return ProbeOptions(handle); }

  /// Returns the C handle, without callbacks, and gives up its ownership; free it with
  /// plim_probe_options_free().
  plim_probe_options *release() {
    if (log_) {
      clear_log();
    }
    if (callback_) {
      clear_progress();
    }
    return handle_.release();
  }

  /// Sets the number of gradients drawn per sample size.
  ProbeOptions &set_draws(std::size_t draws) & {
    detail::check(plim_probe_options_set_draws(get(), draws));
    return *this;
  }
  ProbeOptions &&set_draws(std::size_t draws) && { return std::move(set_draws(draws)); }

  /// Sets the seed of the draws. The estimator's own seed does not matter.
  ProbeOptions &set_seed(std::uint64_t seed) & {
    detail::check(plim_probe_options_set_seed(get(), seed));
    return *this;
  }
  ProbeOptions &&set_seed(std::uint64_t seed) && { return std::move(set_seed(seed)); }

  /// Sets the nodes or queries whose gradient is estimated.
  ProbeOptions &set_batch(Span<const std::int32_t> nodes) & {
    detail::check(plim_probe_options_set_batch(get(), detail::list(nodes), nodes.size()));
    return *this;
  }
  ProbeOptions &&set_batch(Span<const std::int32_t> nodes) && { return std::move(set_batch(nodes)); }

  /// Selects all training nodes or queries again.
  void clear_batch() { detail::check(plim_probe_options_set_batch(get(), nullptr, 0)); }

  /// Calls `progress(const Progress &)` on the thread of the measurement, about every 0.2 seconds. Const
  /// calls on the estimator, the model and the graph work inside it.
  template <class F> ProbeOptions &set_progress(F &&progress) & {
    auto callback = std::make_shared<detail::CallbackOf<std::decay_t<F>>>(std::forward<F>(progress));
    set_callback(std::move(callback));
    return *this;
  }
  template <class F> ProbeOptions &&set_progress(F &&progress) && {
    return std::move(set_progress(std::forward<F>(progress)));
  }
  void clear_progress() { set_callback(nullptr); }

  /// Calls `log(LogLevel level, const char *message)` on the thread of the measurement, once per message up
  /// to `level`. Const calls on the estimator, the model and the graph work inside it.
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

  /// A log callback needs a progress callback too, which cancels the call if the log callback throws.
  void set_c_progress(detail::Callback *callback) {
    const bool wanted = callback != nullptr || log_ != nullptr;
    detail::check(plim_probe_options_set_progress(get(), wanted ? detail::Callback::tell : nullptr, callback));
  }

  /// Runs a C measurement with these options, and throws what a callback has thrown, or the measurement's
  /// Error.
  template <class Call> void measure(Call &&call) const {
    if (!*this) { // C reads NULL as the defaults
      throw Error(PLIM_ERROR_NULL_POINTER, "options was moved from");
    }
    const auto kept = std::make_pair(callback_, log_); // callbacks may replace themselves in the options
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

/// Measures how often gradients have a relative error of δ or more: fractions, one row per sample size, one
/// column per δ.
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

/// How large the errors of an estimator's gradients were found to be.
class Tail : public detail::Handle<plim_tail, plim_tail_free> {
public:
  /// Takes over the ownership of a C handle, measured with these numbers of sample sizes and δ.
  static Tail adopt(plim_tail *handle, std::size_t num_sizes, std::size_t num_deltas) noexcept {
    return Tail(handle, num_sizes, num_deltas);
  }

  /// Measures the estimator with each of the sample sizes in turn.
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

  /// As above, on ranking data.
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

  /// Fraction of the gradients with a relative error of δ or more, and its 95 % interval: one row per sample
  /// size, one column per δ.
  std::vector<double> probability() const { return copy(PLIM_TAIL_PROBABILITY, num_shares_); }
  std::vector<double> lower() const { return copy(PLIM_TAIL_LOWER, num_shares_); }
  std::vector<double> upper() const { return copy(PLIM_TAIL_UPPER, num_shares_); }

  /// Error, bias and deviation, relative to norm(), per sample size. error² = bias² + deviation².
  std::vector<double> error() const { return copy(PLIM_TAIL_ERROR, num_sizes_); }
  std::vector<double> bias() const { return copy(PLIM_TAIL_BIAS, num_sizes_); }
  std::vector<double> deviation() const { return copy(PLIM_TAIL_DEVIATION, num_sizes_); }

  /// The norm ‖h‖ of the exact gradient.
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

/// A fitted tail C·exp(−τN), and r² of the fit, 1 for a perfect one.
struct TailFit {
  double c;
  double tau;
  double r_squared;
};

/// Fits a tail to the fractions of `draws` gradients that missed one δ, one fraction per sample size.
inline TailFit tail_fit(Span<const std::size_t> sample_sizes, Span<const double> probabilities, std::size_t draws) {
  detail::same_size("probabilities", probabilities.size(), "sample_sizes", sample_sizes.size());
  TailFit fit{};
  detail::check(plim_tail_fit(sample_sizes.data(), probabilities.data(), sample_sizes.size(), draws, &fit.c, &fit.tau,
                              &fit.r_squared));
  return fit;
}

/// The smallest sample size with which, with probability 1 − ε, none of T gradients has a relative error of δ
/// or more, and its cost.
class Plan : public detail::Handle<plim_plan, plim_plan_free> {
public:
  /// Takes over the ownership of a C handle.
  static Plan adopt(plim_plan *handle) noexcept { return Plan(handle); }

  /// Searches for it at the model's current parameters.
  Plan(const Estimator &estimator, const Model &model, const Graph &graph, double delta, double epsilon, std::size_t t,
       const ProbeOptions &options = ProbeOptions())
      : Plan(nullptr) {
    plim_plan *handle = nullptr;
    options.measure([&](const plim_probe_options *how) {
      return plim_plan_new(estimator.get(), model.get(), graph.get(), delta, epsilon, t, how, &handle);
    });
    handle_.reset(handle);
  }

  /// As above, on ranking data.
  Plan(const Estimator &estimator, const Model &model, const RankData &data, double delta, double epsilon, std::size_t t,
       const ProbeOptions &options = ProbeOptions())
      : Plan(nullptr) {
    plim_plan *handle = nullptr;
    options.measure([&](const plim_probe_options *how) {
      return plim_rank_plan_new(estimator.get(), model.get(), data.get(), delta, epsilon, t, how, &handle);
    });
    handle_.reset(handle);
  }

  /// Whether sampling pays.
  bool pays() const noexcept { return plim_plan_pays(get()) != 0; }

  /// Sample sizes for Estimator::consistent(), or the batch size of the unbiased estimator. All are 0 if none
  /// meets the goal.
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> sizes(plim_plan_num_sizes(get()));
    detail::check(plim_plan_copy_sizes(get(), sizes.data(), sizes.size()));
    return sizes;
  }

  /// The smallest size that meets the goal; 0 if none does.
  std::size_t sample_size() const { return static_cast<std::size_t>(number(PLIM_PLAN_SAMPLE_SIZE)); }

  /// Fraction of the gradients of that size that missed δ, and its upper 95 % limit; NaN if no size meets the
  /// goal.
  double misses() const { return number(PLIM_PLAN_MISSES); }
  double upper() const { return number(PLIM_PLAN_UPPER); }

  /// Seconds per gradient: of that size (NaN if none meets the goal), of the exact one, and of an unbiased
  /// batch that meets the goal.
  double seconds() const { return number(PLIM_PLAN_SECONDS); }
  double exact_seconds() const { return number(PLIM_PLAN_EXACT_SECONDS); }
  double unbiased_seconds() const { return number(PLIM_PLAN_UNBIASED_SECONDS); }

  /// Number of nodes or queries in that batch.
  std::size_t unbiased_batch() const { return static_cast<std::size_t>(number(PLIM_PLAN_UNBIASED_BATCH)); }

  /// The fitted tail; NaN if no fit was required.
  TailFit fit() const {
    return TailFit{number(PLIM_PLAN_C), number(PLIM_PLAN_TAU), number(PLIM_PLAN_R_SQUARED)};
  }

  /// The plan in English.
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
