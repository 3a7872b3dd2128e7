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

static_assert(static_cast<int>(Split::train) == 0 && static_cast<int>(Split::val) == 1 &&
              static_cast<int>(Split::test) == 2);
static_assert(static_cast<int>(Normalization::symmetric) == 0 && static_cast<int>(Normalization::row) == 1 &&
              static_cast<int>(Normalization::none) == 2);
static_assert(static_cast<int>(Distribution::uniform) == 0 && static_cast<int>(Distribution::importance) == 1 &&
              static_cast<int>(Distribution::neighbors) == 2 && static_cast<int>(Distribution::ladies) == 3);
static_assert(static_cast<int>(Aggregator::mean) == 0 && static_cast<int>(Aggregator::sum) == 1 &&
              static_cast<int>(Aggregator::max) == 2 && static_cast<int>(Aggregator::min) == 3);
static_assert(static_cast<int>(Heads::concat) == 0 && static_cast<int>(Heads::mean) == 1);
static_assert(static_cast<int>(Activation::relu) == 0 && static_cast<int>(Activation::leaky_relu) == 1 &&
              static_cast<int>(Activation::elu) == 2 && static_cast<int>(Activation::gelu) == 3 &&
              static_cast<int>(Activation::tanh) == 4 && static_cast<int>(Activation::sigmoid) == 5);
static_assert(static_cast<int>(Norm::layer) == 0 && static_cast<int>(Norm::batch) == 1);
static_assert(static_cast<int>(Schedule::constant) == 0 && static_cast<int>(Schedule::inverse) == 1 &&
              static_cast<int>(Schedule::inverse_sqrt) == 2);
static_assert(static_cast<int>(Unit::updates) == 0 && static_cast<int>(Unit::epochs) == 1);
static_assert(static_cast<int>(Column::train_loss) == 0 && static_cast<int>(Column::val_loss) == 1 &&
              static_cast<int>(Column::val_accuracy) == 2 && static_cast<int>(Column::seconds) == 3 &&
              static_cast<int>(Column::batch_loss) == 4 && static_cast<int>(Column::sample_size) == 5 &&
              static_cast<int>(Column::error) == 6 && static_cast<int>(Column::val_ndcg) == 7);
static_assert(static_cast<int>(Monitor::val_accuracy) == 0 && static_cast<int>(Monitor::val_loss) == 1 &&
              static_cast<int>(Monitor::train_loss) == 2 && static_cast<int>(Monitor::val_ndcg) == 3);
static_assert(static_cast<int>(Gain::exponential) == 0 && static_cast<int>(Gain::linear) == 1);
static_assert(static_cast<int>(Measure::loss) == 0 && static_cast<int>(Measure::accuracy) == 1 &&
              static_cast<int>(Measure::ndcg) == 2);
static_assert(static_cast<int>(Header::automatic) == 0 && static_cast<int>(Header::yes) == 1 &&
              static_cast<int>(Header::no) == 2);
static_assert(static_cast<int>(Repeated::sum) == 0 && static_cast<int>(Repeated::count) == 1 &&
              static_cast<int>(Repeated::first) == 2 && static_cast<int>(Repeated::max) == 3);
static_assert(static_cast<int>(LogLevel::error) == 0 && static_cast<int>(LogLevel::warning) == 1 &&
              static_cast<int>(LogLevel::info) == 2 && static_cast<int>(LogLevel::debug) == 3);
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
