/* One handle and many threads: const calls share it, a second writer fails with PLIM_ERROR_BUSY, a handle can be freed
 * during a call, and a child process after fork() can use its handles. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 128, PARAMETERS = 2 * WIDTH + WIDTH * 3, CODES = 256 };

/* The arguments of a thread, and its record: the count of each status, and the number of wrong results. */
typedef struct worker {
  plim_graph *graph;
  plim_model *model;
  plim_estimator *estimator;
  const float *expected;
  size_t count, rounds;
  float value;
  pthread_barrier_t *start;
  size_t seen[CODES], wrong;
} worker;

static void note(worker *w, plim_status status) {
  w->seen[status >= 0 && status < CODES - 1 ? status : CODES - 1]++;
}

/* Runs `body` in `count` threads at once, and `meanwhile` (or nothing) in this one. */
static void run(worker *workers, size_t count, void *(*body)(void *), void (*meanwhile)(worker *)) {
  pthread_t threads[8];
  pthread_barrier_t start;
  CHECK(pthread_barrier_init(&start, NULL, (unsigned)count + 1) == 0);
  for (size_t i = 0; i < count; i++) {
    workers[i].start = &start;
    CHECK(pthread_create(&threads[i], NULL, body, &workers[i]) == 0);
  }
  pthread_barrier_wait(&start);
  if (meanwhile != NULL) {
    meanwhile(workers);
  }
  for (size_t i = 0; i < count; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  pthread_barrier_destroy(&start);
}

/* Checks that only these two statuses appeared, nothing was wrong, and the calls add up. Returns both counts. */
static void check_seen(const worker *workers, size_t count, plim_status one, plim_status two, size_t *ones,
                       size_t *twos) {
  *ones = *twos = 0;
  for (size_t i = 0; i < count; i++) {
    size_t others = 0;
    for (int code = 0; code < CODES; code++) {
      if (code == one || code == two) {
        *(code == one ? ones : twos) += workers[i].seen[code];
      } else if (workers[i].seen[code] > 0) {
        fprintf(stderr, "  thread %zu saw status %d %zu times\n", i, code, workers[i].seen[code]);
        others++;
      }
    }
    CHECK(others == 0);
    CHECK(workers[i].wrong == 0);
  }
}

/* Large enough, with the width, for a model's threads to share work. */
static plim_graph *mixture(void) {
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_mixture(check_scale(500, 200), 1, &graph));
  return graph;
}

static plim_model *gcn(size_t threads) {
  static const size_t widths[3] = {2, WIDTH, 3};
  plim_model *model = NULL;
  CHECK_OK(plim_model_gcn(widths, 3, 1, &model));
  CHECK_OK(plim_model_set_threads(model, threads));
  return model;
}

/* Probabilities of all nodes, from a model and a graph that no other thread uses. */
static float *answers(size_t *count) {
  plim_graph *graph = mixture();
  plim_model *model = gcn(1);
  float *rows;
  *count = plim_graph_num_nodes(graph) * 3;
  rows = (float *)check_alloc(*count, sizeof *rows);
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, rows, *count));
  plim_model_free(model);
  plim_graph_free(graph);
  return rows;
}

static void *predict_and_compare(void *argument) {
  worker *w = (worker *)argument;
  float *rows = (float *)check_alloc(w->count, sizeof *rows);
  pthread_barrier_wait(w->start);
  for (size_t i = 0; i < w->rounds; i++) {
    plim_status status;
    check_fill(rows, w->count);
    status = plim_model_predict(w->model, w->graph, NULL, 0, rows, w->count);
    note(w, status);
    w->wrong += status == PLIM_OK ? memcmp(rows, w->expected, w->count * sizeof *rows) != 0
                                  : !check_filled(rows, w->count);
  }
  free(rows);
  return NULL;
}

static void fill(worker *workers, size_t count, const worker *like) {
  for (size_t i = 0; i < count; i++) {
    workers[i] = *like;
  }
}

static void eight_threads_predict_on_one_model_and_graph(void) {
  worker workers[8], like;
  size_t ok, busy;
  float *expected;
  memset(&like, 0, sizeof like);
  expected = answers(&like.count);
  like.expected = expected;
  like.rounds = check_scale(20, 3);
  for (size_t threads = 1; threads <= 3; threads++) {
    like.graph = mixture(); /* new, so that all threads need ÂX first */
    like.model = gcn(threads);
    fill(workers, 8, &like);
    run(workers, 8, predict_and_compare, NULL);
    check_seen(workers, 8, PLIM_OK, PLIM_OK, &ok, &busy);
    CHECK(ok == 8 * like.rounds);
    plim_model_free(like.model);
    plim_graph_free(like.graph);
  }
  free(expected);
}

static void *set_parameters(void *argument) {
  worker *w = (worker *)argument;
  float values[PARAMETERS];
  for (size_t i = 0; i < PARAMETERS; i++) {
    values[i] = w->value;
  }
  pthread_barrier_wait(w->start);
  for (size_t i = 0; i < w->rounds; i++) {
    note(w, plim_model_set_parameters(w->model, values, PARAMETERS));
  }
  return NULL;
}

/* Reads while the others write: PLIM_ERROR_BUSY, or all parameters of one writer. Getters always work. */
static void read_parameters(worker *workers) {
  for (size_t i = 0; i < workers[0].rounds; i++) {
    float values[PARAMETERS];
    plim_status status = plim_model_get_parameters(workers[0].model, values, PARAMETERS);
    CHECK(status == PLIM_OK || status == PLIM_ERROR_BUSY);
    for (size_t j = 1; status == PLIM_OK && j < PARAMETERS; j++) {
      workers[0].wrong += values[j] != values[0];
    }
    workers[0].wrong += plim_model_num_parameters(workers[0].model) != PARAMETERS;
    workers[0].wrong += plim_model_num_layers(workers[0].model) != 2;
  }
}

static void two_threads_that_set_parameters_are_done_or_busy(void) {
  static const float zeros[PARAMETERS] = {0.0f};
  worker workers[2], like;
  size_t ok, busy;
  float values[PARAMETERS];
  memset(&like, 0, sizeof like);
  like.model = gcn(1);
  like.rounds = check_scale(20000, 500);
  CHECK_OK(plim_model_set_parameters(like.model, zeros, PARAMETERS));
  fill(workers, 2, &like);
  workers[0].value = 1.0f;
  workers[1].value = 2.0f;
  run(workers, 2, set_parameters, read_parameters);
  check_seen(workers, 2, PLIM_OK, PLIM_ERROR_BUSY, &ok, &busy);
  CHECK(ok > 0 && ok + busy == 2 * like.rounds);
  CHECK_OK(plim_model_get_parameters(like.model, values, PARAMETERS)); /* no longer busy */
  for (size_t i = 1; i < PARAMETERS; i++) {
    CHECK(values[i] == values[0] && (values[0] == 1.0f || values[0] == 2.0f));
  }
  plim_model_free(like.model);
}

static void *draw_gradients(void *argument) {
  worker *w = (worker *)argument;
  pthread_barrier_wait(w->start);
  for (size_t i = 0; i < w->rounds; i++) {
    float gradient[PARAMETERS];
    plim_status status;
    check_fill(gradient, PARAMETERS);
    status = plim_estimator_gradient(w->estimator, w->model, w->graph, NULL, 0, gradient, PARAMETERS, NULL);
    note(w, status);
    w->wrong += check_filled(gradient, PARAMETERS) != (status != PLIM_OK);
  }
  return NULL;
}

static void two_threads_that_share_an_estimator_are_done_or_busy(void) {
  static const size_t sizes[2] = {0, 50};
  worker workers[2], like;
  size_t ok, busy;
  float expected[PARAMETERS], got[PARAMETERS];
  memset(&like, 0, sizeof like);
  like.graph = mixture();
  like.model = gcn(1);
  like.rounds = check_scale(200, 10);
  CHECK_OK(plim_estimator_consistent(sizes, 2, &like.estimator));
  CHECK_OK(plim_estimator_gradient(like.estimator, like.model, like.graph, NULL, 0, expected, PARAMETERS, NULL));
  fill(workers, 2, &like);
  run(workers, 2, draw_gradients, NULL);
  check_seen(workers, 2, PLIM_OK, PLIM_ERROR_BUSY, &ok, &busy);
  CHECK(ok > 0 && ok + busy == 2 * like.rounds);
  CHECK_OK(plim_estimator_set_seed(like.estimator, 0));
  CHECK_OK(plim_estimator_gradient(like.estimator, like.model, like.graph, NULL, 0, got, PARAMETERS, NULL));
  CHECK_BITS(expected, got, PARAMETERS);
  plim_estimator_free(like.estimator);
  plim_model_free(like.model);
  plim_graph_free(like.graph);
}

/* Sets labels and split of the graph that the others predict on: each call succeeds or is busy. */
static void change_the_graph(worker *workers) {
  static const int32_t nodes[2] = {0, 1};
  int32_t *labels = (int32_t *)check_alloc(workers[0].count, sizeof *labels);
  for (size_t i = 0; i < workers[0].rounds; i++) {
    plim_status status = plim_graph_set_labels(workers[0].graph, labels);
    CHECK(status == PLIM_OK || status == PLIM_ERROR_BUSY);
    status = plim_graph_set_split(workers[0].graph, PLIM_SPLIT_TRAIN, nodes, 2);
    CHECK(status == PLIM_OK || status == PLIM_ERROR_BUSY);
    CHECK(plim_graph_num_nodes(workers[0].graph) == workers[0].count / 3);
  }
  free(labels);
}

static void const_use_of_a_graph_that_changes_is_done_or_busy(void) {
  worker workers[3], like;
  size_t ok, busy;
  float *expected;
  memset(&like, 0, sizeof like);
  expected = answers(&like.count);
  like.expected = expected;
  like.rounds = check_scale(200, 10);
  like.graph = mixture();
  like.model = gcn(1);
  fill(workers, 3, &like);
  run(workers, 3, predict_and_compare, change_the_graph);
  check_seen(workers, 3, PLIM_OK, PLIM_ERROR_BUSY, &ok, &busy);
  CHECK(ok + busy == 3 * like.rounds);
  plim_model_free(like.model);
  plim_graph_free(like.graph);
  free(expected);
}

/* Waits 0 to 2 milliseconds, so that the handle is freed at every stage of the calls of the others. */
static void wait_a_little(void) {
  static long microseconds = 0;
  struct timespec pause = {0, 0};
  pause.tv_nsec = 1000 * (microseconds = (microseconds + 130) % 2000);
  nanosleep(&pause, NULL);
}

static void free_the_model(worker *workers) {
  wait_a_little();
  plim_model_free(workers[0].model);
}

static void free_the_graph(worker *workers) {
  wait_a_little();
  plim_graph_free(workers[0].graph);
}

static void a_handle_freed_under_a_call_lets_the_call_finish(void) {
  worker workers[4], like;
  size_t ok, dead, rounds = check_scale(40, 4);
  float *expected;
  memset(&like, 0, sizeof like);
  expected = answers(&like.count);
  like.expected = expected;
  like.rounds = check_scale(10, 4);
  for (size_t round = 0; round < rounds; round++) {
    like.graph = mixture();
    like.model = gcn(round % 3 + 1);
    fill(workers, 4, &like);
    run(workers, 4, predict_and_compare, round % 2 ? free_the_graph : free_the_model);
    check_seen(workers, 4, PLIM_OK, PLIM_ERROR_INVALID_HANDLE, &ok, &dead);
    CHECK(ok + dead == 4 * like.rounds);
    plim_model_free(like.model); /* one of the two is already freed, which is harmless */
    plim_graph_free(like.graph);
    CHECK(plim_model_num_layers(like.model) == 0 && plim_graph_num_nodes(like.graph) == 0);
  }
  free(expected);
}

static void *make_and_free(void *argument) {
  worker *w = (worker *)argument;
  pthread_barrier_wait(w->start);
  for (size_t i = 0; i < w->rounds; i++) {
    plim_graph *graph = NULL;
    size_t nodes = 1 + i % 7;
    note(w, plim_graph_from_edges(nodes, 0, NULL, NULL, NULL, &graph));
    w->wrong += plim_graph_num_nodes(graph) != nodes;
    plim_graph_free(graph);
    w->wrong += plim_graph_num_nodes(graph) != 0;
  }
  return NULL;
}

static void threads_make_and_free_handles_side_by_side(void) {
  worker workers[8], like;
  size_t ok, other;
  memset(&like, 0, sizeof like);
  like.rounds = check_scale(2000, 100);
  fill(workers, 8, &like);
  run(workers, 8, make_and_free, NULL);
  check_seen(workers, 8, PLIM_OK, PLIM_OK, &ok, &other);
  CHECK(ok == 8 * like.rounds);
}

/* In the child: returns 0 if everything is as in the parent. It must not hang. */
static int child(plim_model *model, plim_graph *graph, plim_estimator *estimator, const float *expected, size_t count,
                 const float *gradient) {
  float *rows = (float *)check_alloc(count, sizeof *rows), again[PARAMETERS];
  plim_model *clone = NULL;
  int answer = 0;
  for (size_t i = 0; i < 3; i++) {
    answer |= plim_model_predict(model, graph, NULL, 0, rows, count) != PLIM_OK ? 1 : 0;
    answer |= memcmp(expected, rows, count * sizeof *rows) != 0 ? 2 : 0;
  }
  answer |= plim_estimator_gradient(estimator, model, graph, NULL, 0, again, PARAMETERS, NULL) != PLIM_OK ? 4 : 0;
  answer |= memcmp(gradient, again, sizeof again) != 0 ? 8 : 0;
  answer |= plim_model_clone(model, &clone) != PLIM_OK ? 16 : 0;
  plim_model_free(model); /* its threads exist in the parent only */
  answer |= plim_model_predict(clone, graph, NULL, 0, rows, count) != PLIM_OK ? 32 : 0;
  answer |= memcmp(expected, rows, count * sizeof *rows) != 0 ? 64 : 0;
  plim_model_free(clone);
  plim_estimator_free(estimator);
  plim_graph_free(graph);
  free(rows);
  return answer;
}

/* Ends the child. Under valgrind it executes a shell first: otherwise memory of the parent's threads, which do not
 * exist here, would look like a leak. */
static void leave(int answer) {
  if (getenv("PLIM_VALGRIND") != NULL) {
    char command[32];
    snprintf(command, sizeof command, "exit %d", answer);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  }
  exit(answer);
}

static void a_child_after_fork_has_the_same_answers(void) {
  plim_graph *graph = mixture();
  plim_model *model = gcn(2), *plain = gcn(1);
  plim_estimator *full = NULL;
  size_t count = 0;
  float *expected = answers(&count), *rows = (float *)check_alloc(count, sizeof *rows), gradient[PARAMETERS];
  CHECK_OK(plim_estimator_full(&full));
  CHECK_OK(plim_estimator_gradient(full, plain, graph, NULL, 0, gradient, PARAMETERS, NULL));
  plim_model_free(plain);
  for (size_t used = 0; used < 2; used++) { /* with an unused pool of threads, then with a used one */
    pid_t pid;
    int status = -1;
    if (used == 1) {
      CHECK_OK(plim_model_predict(model, graph, NULL, 0, rows, count));
      CHECK_BITS(expected, rows, count);
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
      alarm(120);
      leave(child(model, graph, full, expected, count, gradient));
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
      fprintf(stderr, "  the child ended with %#x\n", (unsigned)status);
    }
    CHECK_OK(plim_model_predict(model, graph, NULL, 0, rows, count)); /* the parent still works */
    CHECK_BITS(expected, rows, count);
  }
  free(rows);
  free(expected);
  plim_estimator_free(full);
  plim_model_free(model);
  plim_graph_free(graph);
}

int main(void) {
  RUN(eight_threads_predict_on_one_model_and_graph);
  RUN(two_threads_that_set_parameters_are_done_or_busy);
  RUN(two_threads_that_share_an_estimator_are_done_or_busy);
  RUN(const_use_of_a_graph_that_changes_is_done_or_busy);
  RUN(a_handle_freed_under_a_call_lets_the_call_finish);
  RUN(threads_make_and_free_handles_side_by_side);
  RUN(a_child_after_fork_has_the_same_answers);
  return check_close();
}
