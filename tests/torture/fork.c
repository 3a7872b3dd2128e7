/* fork and dlopen: the library in a child process, while one or many threads of the parent use it; and loaded and closed
 * many times. Takes the library's path.
 *
 * Promise: a child can make handles and use every handle that no other thread was using at the fork; a model starts new
 * threads. Nothing hangs, and no thread or memory is left over.
 *
 *   fork LIBRARY [--long]
 */
#define _GNU_SOURCE
#include "../c/training.h"
#include "torture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { NODES = 90, CLASSES = 3, PARAMETERS = 40, WORKERS = 4, CYCLES = 200 };

static plim_graph *graph;
static plim_model *model;
static float probabilities[NODES * CLASSES];
static atomic_int at_work;

/* Uses these handles and new ones in many ways; returns 0 if all is right. */
static int use(plim_graph *on, plim_model *with) {
  static const size_t widths[3] = {2, 8, CLASSES};
  float rows[NODES * CLASSES], gradient[PARAMETERS];
  setup own = {NULL, NULL, NULL, NULL, NULL};
  int bad = 0;
  bad |= plim_model_predict(with, on, NULL, 0, rows, NODES * CLASSES) != PLIM_OK;
  bad |= memcmp(rows, probabilities, sizeof rows) != 0;
  bad |= plim_graph_from_mixture(NODES / CLASSES, 1, &own.graph) != PLIM_OK;
  bad |= plim_model_gcn(widths, 3, 1, &own.model) != PLIM_OK;
  bad |= plim_model_set_threads(own.model, 2) != PLIM_OK;
  bad |= plim_model_predict(own.model, own.graph, NULL, 0, rows, NODES * CLASSES) != PLIM_OK;
  bad |= memcmp(rows, probabilities, sizeof rows) != 0;
  bad |= plim_estimator_unbiased(&own.estimator) != PLIM_OK;
  bad |= plim_optimizer_adam(0.01, &own.optimizer) != PLIM_OK;
  bad |= plim_train_options_new(&own.options) != PLIM_OK;
  bad |= plim_train_options_set_epochs(own.options, 2) != PLIM_OK;
  bad |= plim_train(own.model, on, own.estimator, own.optimizer, own.options, NULL) != PLIM_OK;
  bad |= plim_estimator_gradient(own.estimator, with, own.graph, NULL, 0, gradient, PARAMETERS, NULL) != PLIM_OK;
  bad |= plim_model_get_parameters(with, gradient, 1) != PLIM_ERROR_BUFFER_TOO_SMALL;
  training_free(&own);
  return bad;
}

/* Keeps the library busy on shared and on private handles. */
static void *keep_busy(void *argument) {
  float rows[NODES * CLASSES];
  while (atomic_load(&at_work)) {
    plim_graph *copy = NULL;
    plim_model *clone = NULL;
    (void)!plim_model_predict(model, graph, NULL, 0, rows, NODES * CLASSES);
    (void)!plim_graph_from_mixture(5, 1, &copy);
    (void)!plim_model_clone(model, &clone);
    (void)plim_graph_num_nodes(graph);
    (void)plim_model_num_parameters(model);
    (void)!plim_model_set_regularization(clone, 0.1);
    plim_model_free(clone);
    plim_graph_free(copy);
  }
  return argument;
}

static void forks(int children, const char *what, int alone) {
  int hung = 0, wrong = 0;
  for (int i = 0; i < children; i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
      alarm(10);
      if (use(graph, model)) {
        _exit(1);
      }
      plim_model_free(model); /* its threads are not in this process */
      plim_graph_free(graph);
      /* A model that another thread was using at the fork stays in use, and keeps its new threads. */
      _exit(!alone || torture_threads(1) ? 0 : 2);
    }
    CHECK(waitpid(child, &status, 0) == child);
    hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    wrong += !WIFSIGNALED(status) && WEXITSTATUS(status) != 0;
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) && hung + wrong <= 1) {
      fprintf(stderr, "%s: child %d ended with %#x\n", what, i, (unsigned)status);
    }
    if (hung > 2) {
      break;
    }
  }
  CHECK(hung == 0);
  CHECK(wrong == 0);
  CHECK(use(graph, model) == 0); /* the parent continues */
  printf("fork, %s: %d children, %d hung, %d wrong\n", what, children, hung, wrong);
}

static void loads_and_closes(const char *path) {
  long first = 0;
  for (int i = 0; i < CYCLES; i++) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void);
    plim_status (*gcn)(const size_t *, size_t, uint64_t, plim_model **);
    plim_status (*threads)(plim_model *, size_t);
    void (*release)(plim_model *);
    const size_t widths[3] = {2, 8, 3};
    plim_model *made = NULL;
    if (!CHECK(library != NULL)) {
      fprintf(stderr, "%s\n", dlerror());
      return;
    }
    *(void **)&version = dlsym(library, "plim_version");
    *(void **)&gcn = dlsym(library, "plim_model_gcn");
    *(void **)&threads = dlsym(library, "plim_model_set_threads");
    *(void **)&release = dlsym(library, "plim_model_free");
    CHECK_TEXT(PLIM_VERSION, version());
    CHECK_OK(gcn(widths, 3, 1, &made));
    CHECK_OK(threads(made, 3));
    CHECK(torture_threads(3));
    release(made);
    CHECK(dlclose(library) == 0);
    if (i == CYCLES / 4) {
      first = torture_resident();
    }
  }
  CHECK(torture_threads(1));
  CHECK(torture_resident() - first < 512);
  printf("dlopen: %d cycles, memory grows by %ld KiB\n", CYCLES, torture_resident() - first);
}

int main(int argc, char **argv) {
  static const size_t widths[3] = {2, 8, CLASSES};
  int children = torture_long(argc - 1, argv + 1) ? 3000 : 150;
  pthread_t workers[WORKERS];
  if (argc < 2) {
    fprintf(stderr, "fork LIBRARY [--long]\n");
    return 2;
  }
  CHECK_OK(plim_graph_from_mixture(NODES / CLASSES, 1, &graph));
  CHECK_OK(plim_model_gcn(widths, 3, 1, &model));
  CHECK_OK(plim_model_set_threads(model, 2));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, probabilities, NODES * CLASSES));
  forks(children / 3, "one thread", 1);
  atomic_store(&at_work, 1);
  for (int i = 0; i < WORKERS; i++) {
    CHECK(pthread_create(&workers[i], NULL, keep_busy, NULL) == 0);
  }
  forks(children, "many threads at work", 0);
  atomic_store(&at_work, 0);
  for (int i = 0; i < WORKERS; i++) {
    CHECK(pthread_join(workers[i], NULL) == 0);
  }
  plim_model_free(model);
  plim_graph_free(graph);
  loads_and_closes(argv[1]);
  return check_close();
}
