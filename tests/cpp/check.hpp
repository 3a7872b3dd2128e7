// Shared by the tests of plimsoll.hpp, in addition to tests/c/check.h: exceptions, files, and a graph small enough to
// compute by hand.
#ifndef PLIM_TESTS_CHECK_HPP
#define PLIM_TESTS_CHECK_HPP

#include <plimsoll.hpp>

#include "check.h"
#include "files.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// Checks that the expression throws exactly this type.
#define CHECK_THROWS(type, expression)                                                                                 \
  check_throws<type>([&] { (void)(expression); }, #expression, __FILE__, __LINE__, __func__)

// Checks that the expression throws an Error with this status, and that its message contains the fragment.
#define CHECK_ERROR(status, fragment, expression)                                                                      \
  check_error((status), (fragment), [&] { (void)(expression); }, #expression, __FILE__, __LINE__, __func__)

template <class Type, class F>
bool check_throws(F &&call, const char *what, const char *file, int line, const char *test) {
  bool right = false;
  try {
    call();
  } catch (const Type &) {
    right = true;
  } catch (...) {
  }
  return check_that(right, what, file, line, test) != 0;
}

template <class F>
bool check_error(plim_status status, const char *fragment, F &&call, const char *what, const char *file, int line,
                 const char *test) {
  try {
    call();
  } catch (const plimsoll::Error &error) {
    const bool right = error.status() == status && std::strstr(error.message(), fragment) != nullptr;
    if (!right) {
      std::fprintf(stderr, "%s:%d: %s: \"%s\" is not status %d with \"%s\"\n", file, line, test, error.what(),
                   static_cast<int>(status), fragment);
    }
    return check_that(right, what, file, line, test) != 0;
  }
  return check_that(0, what, file, line, test) != 0;
}

// Checks that two lists are equal.
template <class T, class U> bool equal(const std::vector<T> &got, const std::vector<U> &expected) {
  bool same = got.size() == expected.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) {
    same = got[i] == static_cast<T>(expected[i]);
  }
  return same;
}

// Checks that two lists differ by at most the tolerance.
template <class T> bool near(const std::vector<T> &got, const std::vector<T> &expected, double tolerance) {
  bool same = got.size() == expected.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) {
    same = std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i])) <= tolerance;
  }
  return same;
}

// The path 0 - 1 - 2 - 3 with two features, two classes and all three splits.
inline plimsoll::Graph path_graph() {
  plimsoll::Graph graph = plimsoll::Graph::from_edges(4, {0, 1, 2}, {1, 2, 3});
  graph.set_features(2, {1, 0, 2, 0, 0, 1, 0, 2});
  graph.set_labels({0, 0, 1, 1});
  graph.set_split(plimsoll::Split::train, {0, 3});
  graph.set_split(plimsoll::Split::val, {1});
  graph.set_split(plimsoll::Split::test, {2});
  return graph;
}

#endif
