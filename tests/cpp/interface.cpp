// Compares plimsoll.hpp with plimsoll.h: it uses every function, and names every constant with the same number.
#include "check.hpp"

#include <cctype>
#include <set>
#include <type_traits>

using namespace plimsoll;

// Both headers as text; the assembler finds them where the compiler does.
asm(".pushsection .rodata\n"
    "c_header: .incbin \"plimsoll.h\"\n"
    ".byte 0\n"
    "cpp_header: .incbin \"plimsoll.hpp\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char c_header[], cpp_header[];

template <class T>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                            !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(moves_only<Graph> && moves_only<Model> && moves_only<Estimator> && moves_only<Optimizer>);
static_assert(moves_only<TrainOptions> && moves_only<History> && moves_only<TrainResult>);
static_assert(moves_only<Layers> && moves_only<RankData>);
static_assert(moves_only<Ids> && moves_only<EdgeListOptions> && moves_only<NamedGraph>);
static_assert(moves_only<ProbeOptions> && moves_only<Tail> && moves_only<Plan>);
static_assert(sizeof(Graph) == sizeof(void *) && sizeof(Model) == sizeof(void *) && sizeof(History) == sizeof(void *),
              "ownership costs nothing");
static_assert(std::is_base_of_v<std::runtime_error, Error> && std::is_nothrow_copy_constructible_v<Error>);

// A const object returns a const handle, so that the thread rules of C hold in C++.
static_assert(std::is_same_v<decltype(std::declval<const Model &>().get()), const plim_model *>);
static_assert(std::is_same_v<decltype(std::declval<Model &>().get()), plim_model *>);

// Whether the values are 0, 1, 2 and so on, in this order.
template <class... Values> constexpr bool numbered(Values... values) {
  int next = 0;
  return ((static_cast<int>(values) == next++) && ...);
}

static_assert(numbered(Split::train, Split::val, Split::test));
static_assert(numbered(Normalization::symmetric, Normalization::row, Normalization::none));
static_assert(numbered(Distribution::uniform, Distribution::importance, Distribution::neighbors, Distribution::ladies));
static_assert(numbered(Aggregator::mean, Aggregator::sum, Aggregator::max, Aggregator::min));
static_assert(numbered(Heads::concat, Heads::mean));
static_assert(numbered(Activation::relu, Activation::leaky_relu, Activation::elu, Activation::gelu, Activation::tanh,
                       Activation::sigmoid));
static_assert(numbered(Norm::layer, Norm::batch));
static_assert(numbered(Schedule::constant, Schedule::inverse, Schedule::inverse_sqrt));
static_assert(numbered(Unit::updates, Unit::epochs));
static_assert(numbered(Column::train_loss, Column::val_loss, Column::val_accuracy, Column::seconds, Column::batch_loss,
                       Column::sample_size, Column::error, Column::val_ndcg));
static_assert(numbered(Monitor::val_accuracy, Monitor::val_loss, Monitor::train_loss, Monitor::val_ndcg));
static_assert(numbered(Gain::exponential, Gain::linear));
static_assert(numbered(Measure::loss, Measure::accuracy, Measure::ndcg));
static_assert(numbered(Header::automatic, Header::yes, Header::no));
static_assert(numbered(Repeated::sum, Repeated::count, Repeated::first, Repeated::max));
static_assert(numbered(LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug));
static_assert(Property{1}.unbiased() && Property{2}.consistent() && Property{4}.exact() && !Property{6}.unbiased());

namespace {

bool in_a_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// The identifiers of a text, comments left out, that start with a prefix and are followed by `next`, if there is one.
std::set<std::string> names(const char *text, const std::string &prefix, char next = '\0') {
  std::set<std::string> found;
  for (const char *at = text; *at != '\0';) {
    if (at[0] == '/' && at[1] == '*') {
      const char *close = std::strstr(at, "*/");
      at = close != nullptr ? close + 2 : at + std::strlen(at);
    } else if (at[0] == '/' && at[1] == '/') {
      at += std::strcspn(at, "\n");
    } else if (in_a_name(*at)) {
      const char *start = at;
      while (in_a_name(*at)) {
        ++at;
      }
      const std::string name(start, at);
      if (name.compare(0, prefix.size(), prefix) == 0 && (next == '\0' || *at == next)) {
        found.insert(name);
      }
    } else {
      ++at;
    }
  }
  return found;
}

void every_function_of_the_c_header_is_reached() {
  const std::set<std::string> functions = names(c_header, "plim_", '('), reached = names(cpp_header, "plim_");
  CHECK(functions.size() > 60 && functions.count("plim_graph_from_edges") == 1);
  for (const std::string &function : functions) {
    if (!CHECK(reached.count(function) == 1)) {
      std::fprintf(stderr, "plimsoll.hpp does not mention %s\n", function.c_str());
    }
  }
}

void every_constant_of_the_c_header_has_a_name() {
  std::size_t count = 0;
  const std::set<std::string> named = names(cpp_header, "PLIM_");
  for (const char *kind : {"SPLIT", "NORMALIZATION", "DISTRIBUTION", "PROPERTY", "SCHEDULE", "HISTORY", "MONITOR", "LOG",
                           "TAIL", "PLAN", "RANK", "AGGREGATOR", "HEADS", "ACTIVATION", "NORM"}) {
    for (const std::string &constant : names(c_header, std::string("PLIM_") + kind + "_")) {
      ++count;
      if (!CHECK(named.count(constant) == 1)) {
        std::fprintf(stderr, "plimsoll.hpp does not mention %s\n", constant.c_str());
      }
    }
  }
  CHECK(count >= 40);
}

void the_library_tells_its_version_and_instruction_set() {
  CHECK_TEXT(PLIM_VERSION, version());
  CHECK_TEXT(plim_isa(), isa());
  CHECK_TEXT("diverged", status_name(PLIM_ERROR_DIVERGED));
}

} // namespace

int main() {
  RUN(every_function_of_the_c_header_is_reached);
  RUN(every_constant_of_the_c_header_has_a_name);
  RUN(the_library_tells_its_version_and_instruction_set);
  return check_close();
}
