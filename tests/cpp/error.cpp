// Errors: content and causes.
#include "check.hpp"

#include <stdexcept>
#include <thread>

using namespace plimsoll;

namespace {

void an_error_carries_status_and_message() {
  try {
    (void)Graph::from_edges(5, {0, 1}, {1, 9});
    CHECK(!"reached");
  } catch (const Error &error) {
    CHECK(error.status() == PLIM_ERROR_INVALID_ARGUMENT);
    CHECK_TEXT("targets[1] = 9 is outside [0, 5)", error.message());
    CHECK_TEXT("invalid argument: targets[1] = 9 is outside [0, 5)", error.what());
    CHECK(error.history() == nullptr);
  }
}

void an_error_is_a_runtime_error() {
  CHECK_THROWS(std::runtime_error, Graph::load("/nowhere/graph.npz"));
  CHECK_THROWS(std::exception, Model::load("/nowhere/model.safetensors"));
  CHECK_ERROR(PLIM_ERROR_IO, "/nowhere/graph.npz", Graph::load("/nowhere/graph.npz"));
}

void an_error_keeps_its_text_when_others_follow() {
  std::string text;
  try {
    (void)Optimizer::sgd(-1);
  } catch (const Error &first) {
    const Error copy = first;
    CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "widths", Model::gcn({3}, 0));
    std::thread([&text, copy] { text = copy.what(); }).join();
    CHECK_TEXT("invalid argument: step = -1 is not a finite number > 0", text.c_str());
    CHECK_TEXT(text.c_str(), first.what());
  }
}

void what_failed_can_be_used_again() {
  Graph graph = path_graph();
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "labels[2]", graph.set_labels({0, 1, -7, 0}));
  CHECK(equal(graph.labels(), std::vector<int>{0, 0, 1, 1}));
  graph.set_labels({1, 1, 0, 0});
  CHECK(equal(graph.labels(), std::vector<int>{1, 1, 0, 0}));
}

void a_path_with_a_zero_byte_is_refused_and_not_cut() {
  const std::string path("name\0.npz", 9);
  Graph graph = path_graph();
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "zero byte", graph.save(path));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "zero byte", Graph::load(path));
  CHECK_ERROR(PLIM_ERROR_INVALID_ARGUMENT, "zero byte", TrainOptions().set_resume(path));
}

} // namespace

int main() {
  RUN(an_error_carries_status_and_message);
  RUN(an_error_is_a_runtime_error);
  RUN(an_error_keeps_its_text_when_others_follow);
  RUN(what_failed_can_be_used_again);
  RUN(a_path_with_a_zero_byte_is_refused_and_not_cut);
  return check_close();
}
