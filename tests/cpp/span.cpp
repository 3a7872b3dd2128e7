// Spans: what an array parameter accepts, and what it rejects at compile time.
#include "check.hpp"

#include <array>
#include <list>
#include <numeric>
#if __cplusplus >= 202002L
#include <span>
#endif

using namespace plimsoll;

static_assert(std::is_convertible_v<std::vector<int> &, Span<int>>);
static_assert(std::is_convertible_v<std::vector<int>, Span<const int>>, "a temporary may be read");
static_assert(!std::is_convertible_v<std::vector<int>, Span<int>>, "and not written");
static_assert(!std::is_convertible_v<const std::vector<int> &, Span<int>>, "nor may what is const");
static_assert(std::is_convertible_v<Span<int>, Span<const int>> && !std::is_convertible_v<Span<const int>, Span<int>>);
static_assert(!std::is_convertible_v<std::vector<long> &, Span<const int>>, "elements are never converted");
static_assert(!std::is_convertible_v<std::list<int> &, Span<const int>>, "a list is not an array");
static_assert(!std::is_convertible_v<std::vector<bool> &, Span<const bool>>, "nor are packed bits");

namespace {

std::size_t count(Span<const std::int32_t> nodes) { return nodes.size(); }
std::int32_t sum(Span<const std::int32_t> nodes) { return std::accumulate(nodes.begin(), nodes.end(), 0); }

void anything_with_data_and_size_is_an_array() {
  const std::vector<std::int32_t> vector{1, 2, 3};
  const std::array<std::int32_t, 2> array{{4, 5}};
  const std::int32_t plain[] = {6, 7, 8, 9};
  CHECK(count(vector) == 3 && sum(vector) == 6);
  CHECK(count(array) == 2 && sum(array) == 9);
  CHECK(count(plain) == 4 && sum(plain) == 30);
  CHECK(count({10, 11}) == 2 && sum({10, 11}) == 21);
  CHECK(count(Span<const std::int32_t>(vector.data() + 1, 2)) == 2);
  CHECK(count(std::vector<std::int32_t>{1, 2}) == 2);
#if __cplusplus >= 202002L
  CHECK(sum(std::span(vector).subspan(1)) == 5);
#endif
}

void a_span_without_elements_is_empty() {
  CHECK(count({}) == 0);
  CHECK(count(std::vector<std::int32_t>()) == 0);
  CHECK(Span<float>().empty() && Span<float>().data() == nullptr);
}

void a_span_of_mutable_elements_writes_to_the_array() {
  std::vector<double> values{1, 2, 3};
  const Span<double> span = values;
  span[1] = 5;
  for (double &value : span) {
    value *= 2;
  }
  CHECK(values[0] == 2 && values[1] == 10 && values[2] == 6);
}

} // namespace

int main() {
  RUN(anything_with_data_and_size_is_an_array);
  RUN(a_span_without_elements_is_empty);
  RUN(a_span_of_mutable_elements_writes_to_the_array);
  return check_close();
}
