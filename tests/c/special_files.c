/* Names that are no regular files: a pipe that nobody writes to would be waited for, and a device has no end. Each is
 * status 6, at once, with a message that names it. */
#define _XOPEN_SOURCE 700

#include "files.h"
#include "training.h"

#include <sys/stat.h>

static void check_refused(const char *path) {
  char text[PATH_SIZE * 3];
  plim_graph *graph = UNTOUCHED(plim_graph);
  plim_model *model = UNTOUCHED(plim_model);
  plim_rank_data *data = UNTOUCHED(plim_rank_data);
  plim_history *history = UNTOUCHED(plim_history);
  setup s = training_setup(UNBIASED, SGD, 2);
  snprintf(text, sizeof text, "%s: is not a regular file", path);
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_graph_load(path, &graph));
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_graph_from_edge_list(path, 0, &graph));
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_model_load(path, &model));
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_rank_data_load(path, 0, &data));
  CHECK_OK(plim_train_options_set_resume(s.options, path));
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &history));
  CHECK(graph == UNTOUCHED(plim_graph) && model == UNTOUCHED(plim_model));
  CHECK(data == UNTOUCHED(plim_rank_data) && history == UNTOUCHED(plim_history));
  training_free(&s);
}

static void a_pipe_is_not_waited_for(void) {
  if (!CHECK(mkfifo(files_path("pipe"), 0600) == 0)) {
    return;
  }
  check_refused(files_path("pipe"));
  CHECK(symlink(files_path("pipe"), files_path("link")) == 0);
  check_refused(files_path("link"));
  files_remove("link");
  files_remove("pipe");
}

static void a_device_without_an_end_is_not_read(void) {
  check_refused("/dev/zero");
  check_refused("/dev/null");
}

static void a_pipe_in_a_store_is_not_waited_for(void) {
  plim_graph *graph = NULL, *loaded = UNTOUCHED(plim_graph);
  static const char *const names[] = {"meta.json",    "indptr.npy",   "indices.npy", "values.npy", "self_loops.npy",
                                      "features.npy", "labels.npy",   "train.npy",   "val.npy",    "test.npy"};
  char path[PATH_SIZE * 2], text[PATH_SIZE * 3];
  graph = training_graph();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    CHECK_OK(plim_graph_save_store(graph, files_path("store")));
    snprintf(path, sizeof path, "%s/store/%s", files_directory, names[i]);
    (void)remove(path);
    CHECK(mkfifo(path, 0600) == 0);
    snprintf(text, sizeof text, "%s: is not a regular file", path);
    CHECK_FAILS(PLIM_ERROR_IO, text, plim_graph_load(files_path("store"), &loaded));
    CHECK(loaded == UNTOUCHED(plim_graph));
    for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
      snprintf(path, sizeof path, "%s/store/%s", files_directory, names[j]);
      (void)remove(path);
    }
    (void)remove(files_path("store"));
  }
  plim_graph_free(graph);
}

int main(void) {
  alarm(120); /* rather than to hang */
  RUN(a_pipe_is_not_waited_for);
  RUN(a_device_without_an_end_is_not_read);
  RUN(a_pipe_in_a_store_is_not_waited_for);
  files_close();
  return check_close();
}
