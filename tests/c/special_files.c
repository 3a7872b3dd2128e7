/* Names that are no regular files: a pipe that nobody writes to would be waited for, a device has no end, and saving must
 * replace neither. Each is status 6, at once, with a message that names it and says what it is. A link is followed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* for makedev() and mknod() */
#endif

#include "files.h"
#include "training.h"

#include <errno.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif

static void check_refused(const char *path, const char *what) {
  char text[PATH_SIZE * 3];
  plim_graph *graph = UNTOUCHED(plim_graph);
  plim_model *model = UNTOUCHED(plim_model);
  plim_rank_data *data = UNTOUCHED(plim_rank_data);
  plim_history *history = UNTOUCHED(plim_history);
  setup s = training_setup(UNBIASED, SGD, 2);
  snprintf(text, sizeof text, "%s: is %s, not a regular file", path, what);
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
  check_refused(files_path("pipe"), "a pipe");
  CHECK(symlink(files_path("pipe"), files_path("link")) == 0);
  check_refused(files_path("link"), "a pipe");
  files_remove("link");
  files_remove("pipe");
}

static void a_device_without_an_end_is_not_read(void) {
  check_refused("/dev/zero", "a character device");
  check_refused("/dev/null", "a character device");
}

static const char *const members[] = {"meta.json",    "indptr.npy", "indices.npy", "values.npy", "self_loops.npy",
                                      "features.npy", "labels.npy", "train.npy",   "val.npy",    "test.npy"};
enum { NUM_MEMBERS = sizeof members / sizeof *members };

static void remove_store(const char *store) {
  char name[PATH_SIZE];
  for (size_t i = 0; i < NUM_MEMBERS; i++) {
    snprintf(name, sizeof name, "%s/%s", store, members[i]);
    files_remove(name);
  }
  files_remove(store);
}

static void a_pipe_in_a_store_is_not_waited_for(void) {
  plim_graph *graph = training_graph(), *loaded = UNTOUCHED(plim_graph);
  char path[PATH_SIZE * 2], text[PATH_SIZE * 3];
  for (size_t i = 0; i < NUM_MEMBERS; i++) {
    CHECK_OK(plim_graph_save_store(graph, files_path("store")));
    snprintf(path, sizeof path, "%s/store/%s", files_directory, members[i]);
    (void)remove(path);
    CHECK(mkfifo(path, 0600) == 0);
    snprintf(text, sizeof text, "%s: is a pipe, not a regular file", path);
    CHECK_FAILS(PLIM_ERROR_IO, text, plim_graph_load(files_path("store"), &loaded));
    CHECK(loaded == UNTOUCHED(plim_graph));
    remove_store("store");
  }
  plim_graph_free(graph);
}

/* What stands at a name, no link followed. */
static struct stat seen(const char *name) {
  struct stat file;
  memset(&file, 0, sizeof file);
  CHECK(lstat(files_path(name), &file) == 0);
  return file;
}

/* No temporary file is left beside it. */
static void check_alone(const char *name) {
  char other[PATH_SIZE];
  struct stat file;
  snprintf(other, sizeof other, "%s.plimsoll.tmp", name);
  CHECK(lstat(files_path(other), &file) != 0 && errno == ENOENT);
}

static plim_status save_checkpoint(const char *path) {
  setup s = training_setup(UNBIASED, SGD, 2);
  plim_status status;
  CHECK_OK(plim_train_options_set_checkpoint(s.options, path, 1));
  status = plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, NULL);
  training_free(&s);
  return status;
}

/* All functions that write a file fail, and what is there stays. */
static void check_saving_refused(const char *name, const char *what) {
  char text[PATH_SIZE * 3], path[PATH_SIZE];
  struct stat before = seen(name), after;
  plim_graph *graph = training_graph();
  setup s = training_setup(UNBIASED, SGD, 2);
  float old[64], now[64];
  size_t count = plim_model_num_parameters(s.model);
  snprintf(path, sizeof path, "%s", files_path(name));
  snprintf(text, sizeof text, "%s: is %s, not a regular file", path, what);
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_model_save(s.model, path));
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_graph_save(graph, path));
  CHECK(count <= 64);
  CHECK_OK(plim_model_get_parameters(s.model, old, 64));
  CHECK_OK(plim_train_options_set_checkpoint(s.options, path, 1));
  CHECK_FAILS(PLIM_ERROR_IO, text, plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, NULL));
  CHECK_OK(plim_model_get_parameters(s.model, now, 64));
  CHECK_BITS(old, now, count); /* found before the first step */
  if (!S_ISDIR(before.st_mode)) {
    snprintf(text, sizeof text, "%s: is %s, not a directory", path, what);
    CHECK_FAILS(PLIM_ERROR_IO, text, plim_graph_save_store(graph, path));
  }
  after = seen(name);
  CHECK(before.st_mode == after.st_mode && before.st_ino == after.st_ino && before.st_rdev == after.st_rdev);
  check_alone(name);
  training_free(&s);
  plim_graph_free(graph);
}

static void what_is_no_file_stays_when_something_is_saved_there(void) {
  CHECK(mkfifo(files_path("node"), 0600) == 0);
  check_saving_refused("node", "a pipe");
  CHECK(symlink("node", files_path("link")) == 0);
  check_saving_refused("link", "a pipe");
  files_remove("link");
  files_remove("node");
  CHECK(mkdir(files_path("node"), 0700) == 0);
  check_saving_refused("node", "a directory");
  files_remove("node");
  /* Nodes of the test's own, with the numbers of the null device and of a disk that is not there. */
  if (mknod(files_path("node"), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    fprintf(stderr, "\n*** NOT CHECKED: saving over a device, because this user may not make one: %s ***\n\n",
            strerror(errno));
    return;
  }
  check_saving_refused("node", "a character device");
  CHECK(symlink("node", files_path("link")) == 0);
  check_saving_refused("link", "a character device");
  files_remove("link");
  files_remove("node");
  CHECK(mknod(files_path("node"), S_IFBLK | 0600, makedev(240, 77)) == 0);
  check_saving_refused("node", "a block device");
  files_remove("node");
}

/* Calls a function that writes a file. */
static plim_status save(size_t kind, const char *path) {
  plim_status status;
  setup s = training_setup(UNBIASED, SGD, 2);
  status = kind == 0 ? plim_model_save(s.model, path) : plim_graph_save(s.graph, path);
  training_free(&s);
  return kind == 2 ? save_checkpoint(path) : status;
}

static void a_link_stays_and_the_file_it_leads_to_is_written(void) {
  CHECK(mkdir(files_path("there"), 0700) == 0);
  for (size_t kind = 0; kind < 3; kind++) {
    struct stat file;
    bytes content;
    files_write("there/old", "old", 3);
    CHECK(symlink("there/old", files_path("first")) == 0);
    CHECK(symlink(files_path("first"), files_path("second")) == 0);
    CHECK(symlink("there/new", files_path("dangling")) == 0);
    CHECK_OK(save(kind, files_path("second")));
    CHECK_OK(save(kind, files_path("dangling")));
    CHECK(S_ISLNK(seen("first").st_mode) && S_ISLNK(seen("second").st_mode) && S_ISLNK(seen("dangling").st_mode));
    CHECK(S_ISREG(seen("there/old").st_mode) && S_ISREG(seen("there/new").st_mode));
    content = files_read("there/old");
    CHECK(content.size > 3);
    free(content.data);
    check_alone("there/old");
    check_alone("first");
    files_remove("first"); /* and "second" dangles, into no loop */
    CHECK(symlink("second", files_path("first")) == 0);
    CHECK_FAILS(PLIM_ERROR_IO, files_path("second"), save(kind, files_path("second")));
    CHECK(S_ISLNK(seen("first").st_mode) && S_ISLNK(seen("second").st_mode));
    files_remove("dangling");
    CHECK(symlink("nowhere/new", files_path("dangling")) == 0);
    CHECK_FAILS(PLIM_ERROR_IO, files_path("nowhere/new"), save(kind, files_path("dangling")));
    CHECK(lstat(files_path("nowhere"), &file) != 0);
    files_remove("first");
    files_remove("second");
    files_remove("dangling");
    files_remove("there/old");
    files_remove("there/new");
  }
  files_remove("there");
}

static void an_old_file_passes_on_its_mode_and_owner(void) {
  for (size_t kind = 0; kind < 3; kind++) {
    static const mode_t modes[] = {0600, 0640, 0444};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
      struct stat file;
      int given;
      files_write("file", "old", 3);
      CHECK(chmod(files_path("file"), modes[i]) == 0);
      given = chown(files_path("file"), 12345, 54321) == 0;
      CHECK_OK(save(kind, files_path("file")));
      file = seen("file");
      CHECK((file.st_mode & 07777) == modes[i] && file.st_size > 3);
      CHECK(!given || (file.st_uid == 12345 && file.st_gid == 54321));
    }
    files_remove("file");
  }
  if (geteuid() != 0) {
    fprintf(stderr, "\n*** NOT CHECKED: that a file keeps its owner, because this user may not give one away ***\n\n");
  }
}

static void a_new_file_has_the_mode_that_the_umask_leaves(void) {
  static const mode_t masks[] = {0022, 0077, 0002};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
    mode_t before = umask(masks[i]);
    plim_graph *graph = training_graph();
    for (size_t kind = 0; kind < 3; kind++) {
      files_write("file.plimsoll.tmp", "left by a process that was killed", 33);
      CHECK(chmod(files_path("file.plimsoll.tmp"), 0600) == 0);
      CHECK_OK(save(kind, files_path("file")));
      CHECK((seen("file").st_mode & 07777) == (0666 & ~masks[i]));
      check_alone("file");
      files_remove("file");
    }
    CHECK_OK(plim_graph_save_store(graph, files_path("store")));
    CHECK((seen("store").st_mode & 07777) == (0777 & ~masks[i]));
    CHECK((seen("store/meta.json").st_mode & 07777) == (0666 & ~masks[i]));
    CHECK((seen("store/indices.npy").st_mode & 07777) == (0666 & ~masks[i]));
    remove_store("store");
    plim_graph_free(graph);
    (void)umask(before);
  }
}

static void a_store_takes_the_place_of_an_empty_directory(void) {
  plim_graph *graph = training_graph(), *loaded = NULL;
  int given;
  CHECK(mkdir(files_path("empty"), 0700) == 0 && chmod(files_path("empty"), 0750) == 0);
  given = chown(files_path("empty"), 12345, 54321) == 0;
  CHECK(symlink("empty", files_path("link")) == 0);
  CHECK(symlink("none", files_path("dangling")) == 0);
  CHECK_OK(plim_graph_save_store(graph, files_path("link")));
  CHECK_OK(plim_graph_save_store(graph, files_path("dangling")));
  CHECK(S_ISLNK(seen("link").st_mode) && S_ISLNK(seen("dangling").st_mode));
  CHECK(S_ISDIR(seen("none").st_mode) && (seen("empty").st_mode & 07777) == 0750);
  CHECK(!given || (seen("empty").st_uid == 12345 && seen("empty").st_gid == 54321));
  CHECK_OK(plim_graph_load(files_path("link"), &loaded));
  CHECK_FAILS(PLIM_ERROR_IO, "not empty", plim_graph_save_store(graph, files_path("link")));
  files_write("file", "old", 3);
  CHECK_FAILS(PLIM_ERROR_IO, "file: is a regular file, not a directory",
              plim_graph_save_store(graph, files_path("file")));
  CHECK(seen("file").st_size == 3);
  files_remove("file");
  plim_graph_free(loaded);
  plim_graph_free(graph);
  files_remove("link");
  files_remove("dangling");
  remove_store("empty");
  remove_store("none");
}

int main(void) {
  alarm(120); /* rather than to hang */
  RUN(a_pipe_is_not_waited_for);
  RUN(a_device_without_an_end_is_not_read);
  RUN(a_pipe_in_a_store_is_not_waited_for);
  RUN(what_is_no_file_stays_when_something_is_saved_there);
  RUN(a_link_stays_and_the_file_it_leads_to_is_written);
  RUN(an_old_file_passes_on_its_mode_and_owner);
  RUN(a_new_file_has_the_mode_that_the_umask_leaves);
  RUN(a_store_takes_the_place_of_an_empty_directory);
  files_close();
  return check_close();
}
