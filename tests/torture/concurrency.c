/* Concurrency: 16 threads on shared const handles and on handles of their own; several threads on one mutable handle;
 * handles freed while others use them.
 *
 * Promise: right results, or status 14 (busy) for a mutable handle, or status 13 for a freed one; nothing else.
 *
 *   concurrency [--long]  100,000 calls for each thread, or 3,000
 */
#define _GNU_SOURCE
#include "torture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 16, NODES = 90, CLASSES = 3, PARAMETERS = 40, MANY = 100000 };

static unsigned long calls_per_thread = 3000;

/* What all threads share, and the results they must get. */
static plim_graph *graph;
static plim_model *model;
static float probabilities[NODES * CLASSES], parameters[PARAMETERS];
static double loss;

/* A thread's number of calls, by result. */
typedef struct tally {
  unsigned long right, busy, gone, wrong;
  char first_wrong[256];
  int number;
} tally;

static void wrong(tally *t, const char *what, plim_status status) {
  if (t->wrong++ == 0) {
    snprintf(t->first_wrong, sizeof t->first_wrong, "%s: status %d, %s", what, (int)status, plim_last_error());
  }
}

static void count(tally *t, const char *what, plim_status status, int right) {
  if (status == PLIM_OK && right) {
    t->right++;
  } else if (status == PLIM_ERROR_BUSY) {
    t->busy++;
  } else if (status == PLIM_ERROR_INVALID_HANDLE) {
    t->gone++;
  } else {
    wrong(t, what, status);
  }
}

static unsigned long step(unsigned long *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static plim_estimator *new_estimator(uint64_t seed) {
  static const size_t sizes[2] = {20, 20};
  plim_estimator *estimator = NULL;
  if (plim_estimator_consistent(sizes, 2, &estimator) == PLIM_OK) {
    (void)!plim_estimator_set_seed(estimator, seed);
  }
  return estimator;
}

/* Shared const handles, and private mutable ones: never busy, always right. */
static void *share(void *argument) {
  tally *t = (tally *)argument;
  unsigned long state = (unsigned long)t->number;
  plim_estimator *own = new_estimator(1);
  plim_model *clone = NULL;
  plim_optimizer *optimizer = NULL;
  float first[PARAMETERS], gradient[PARAMETERS], rows[NODES * CLASSES];
  if (plim_model_clone(model, &clone) != PLIM_OK || plim_optimizer_sgd(1e-3, &optimizer) != PLIM_OK ||
      plim_estimator_gradient(own, model, graph, NULL, 0, first, PARAMETERS, NULL) != PLIM_OK) {
    wrong(t, "setting up", PLIM_ERROR_INTERNAL);
  }
  for (unsigned long i = 0; i < calls_per_thread; i++) {
    double value = 0;
    plim_status status;
    plim_model *copy = NULL;
    switch (step(&state) % 8) {
      case 0: {
        int32_t node = (int32_t)(step(&state) % NODES);
        status = plim_model_predict(model, graph, &node, 1, rows, CLASSES);
        count(t, "predict one", status, memcmp(rows, probabilities + node * CLASSES, CLASSES * sizeof *rows) == 0);
        break;
      }
      case 1:
        status = plim_model_predict(model, graph, NULL, 0, rows, NODES * CLASSES);
        count(t, "predict", status, memcmp(rows, probabilities, sizeof rows) == 0);
        break;
      case 2:
        status = plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &value, NULL);
        count(t, "evaluate", status, memcmp(&value, &loss, sizeof loss) == 0);
        break;
      case 3:
        count(t, "getters", PLIM_OK, plim_graph_num_nodes(graph) == NODES && plim_model_num_parameters(model) == PARAMETERS);
        break;
      case 4: /* a private estimator on shared handles: the same draws, the same bits */
        (void)!plim_estimator_set_seed(own, 1);
        status = plim_estimator_gradient(own, model, graph, NULL, 0, gradient, PARAMETERS, NULL);
        count(t, "gradient", status, memcmp(gradient, first, sizeof first) == 0);
        break;
      case 5:
        status = plim_model_clone(model, &copy);
        if (status == PLIM_OK) {
          status = plim_model_get_parameters(copy, gradient, PARAMETERS);
        }
        count(t, "clone", status, memcmp(gradient, parameters, sizeof parameters) == 0);
        plim_model_free(copy);
        break;
      case 6:
        count(t, "update", plim_optimizer_update(optimizer, clone, first, PARAMETERS), 1);
        break;
      default:
        status = plim_model_get_parameters(model, gradient, PARAMETERS - 1);
        count(t, "a failure", status == PLIM_ERROR_BUFFER_TOO_SMALL ? PLIM_OK : status,
              strstr(plim_last_error(), "40 are needed") != NULL);
    }
  }
  if (t->busy + t->gone > 0) {
    wrong(t, "busy or gone, without reason", PLIM_ERROR_BUSY);
  }
  plim_optimizer_free(optimizer);
  plim_model_free(clone);
  plim_estimator_free(own);
  return NULL;
}

/* One mutable model for all, large enough for calls to overlap. Each thread writes its own number into all parameters, so a
 * reader must see only one number. */
static plim_model *contested;

static void *contend(void *argument) {
  tally *t = (tally *)argument;
  float *mine = (float *)check_alloc(MANY, sizeof *mine), *seen = (float *)check_alloc(MANY, sizeof *seen);
  for (int i = 0; i < MANY; i++) {
    mine[i] = (float)(t->number + 1);
  }
  for (unsigned long i = 0; i < calls_per_thread / 10; i++) {
    if (i % 2 == 0) {
      count(t, "set_parameters", plim_model_set_parameters(contested, mine, MANY), 1);
    } else {
      plim_status status = plim_model_get_parameters(contested, seen, MANY);
      int torn = 0;
      for (int j = 1; status == PLIM_OK && j < MANY; j++) {
        torn |= seen[j] < seen[0] || seen[j] > seen[0];
      }
      count(t, "get_parameters", status, !torn);
    }
  }
  if (t->gone > 0) {
    wrong(t, "gone, without reason", PLIM_ERROR_INVALID_HANDLE);
  }
  free(mine);
  free(seen);
  return NULL;
}

/* One thread replaces a model again and again and frees the old one; the others use the current one. */
static _Atomic(plim_model *) current;
static atomic_int replacing;

static void *use(void *argument) {
  tally *t = (tally *)argument;
  float rows[NODES * CLASSES];
  for (unsigned long i = 0; i < calls_per_thread || t->right + t->gone + t->busy < calls_per_thread; i++) {
    plim_status status = plim_model_predict(atomic_load(&current), graph, NULL, 0, rows, NODES * CLASSES);
    count(t, "predict on what may be gone", status, memcmp(rows, probabilities, sizeof rows) == 0);
  }
  return NULL;
}

static void *replace(void *argument) {
  tally *t = (tally *)argument;
  while (atomic_load(&replacing)) {
    plim_model *next = NULL, *old;
    if (plim_model_clone(model, &next) != PLIM_OK || plim_model_set_threads(next, t->right % 16 == 0 ? 2 : 1) != PLIM_OK) {
      wrong(t, "clone", PLIM_ERROR_INTERNAL);
      break;
    }
    old = atomic_exchange(&current, next);
    plim_model_free(old);
    plim_model_free(old);
    t->right++;
  }
  return NULL;
}

static tally run_threads(void *(*body)(void *), int threads, const char *what) {
  pthread_t ids[THREADS];
  static tally tallies[THREADS];
  tally sum;
  double start = torture_seconds();
  memset(tallies, 0, sizeof tallies);
  memset(&sum, 0, sizeof sum);
  for (int i = 0; i < threads; i++) {
    tallies[i].number = i;
    CHECK(pthread_create(&ids[i], NULL, body, &tallies[i]) == 0);
  }
  for (int i = 0; i < threads; i++) {
    CHECK(pthread_join(ids[i], NULL) == 0);
    if (!CHECK(tallies[i].wrong == 0)) {
      fprintf(stderr, "  thread %d, %lu wrong, first: %s\n", i, tallies[i].wrong, tallies[i].first_wrong);
    }
    sum.right += tallies[i].right;
    sum.busy += tallies[i].busy;
    sum.gone += tallies[i].gone;
    sum.wrong += tallies[i].wrong;
  }
  printf("%s: %lu right, %lu busy, %lu gone, %lu wrong, %.1f s\n", what, sum.right, sum.busy, sum.gone, sum.wrong,
         torture_seconds() - start);
  return sum;
}

int main(int argc, char **argv) {
  static const size_t widths[3] = {2, 8, CLASSES};
  tally sum, replaced;
  pthread_t replacer;
  const char *wanted = getenv("PLIM_TORTURE_CALLS");
  calls_per_thread = wanted != NULL ? strtoul(wanted, NULL, 10) : torture_long(argc, argv) ? 100000 : 3000;
  CHECK_OK(plim_graph_from_mixture(NODES / CLASSES, 1, &graph));
  CHECK_OK(plim_model_gcn(widths, 3, 1, &model));
  CHECK_OK(plim_model_set_threads(model, 2));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, probabilities, NODES * CLASSES));
  CHECK_OK(plim_model_get_parameters(model, parameters, PARAMETERS));
  CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &loss, NULL));

  sum = run_threads(share, THREADS, "concurrency, shared const handles");
  CHECK(sum.right == THREADS * calls_per_thread);

  {
    static const size_t wide[3] = {2, MANY / 5, CLASSES};
    static float zeros[MANY];
    CHECK_OK(plim_model_gcn(wide, 3, 1, &contested));
    CHECK_OK(plim_model_set_parameters(contested, zeros, MANY));
    sum = run_threads(contend, THREADS, "concurrency, one mutable handle");
    CHECK(sum.right > 0 && sum.busy > 0 && sum.right + sum.busy == THREADS * (calls_per_thread / 10));
    CHECK_OK(plim_model_set_parameters(contested, zeros, MANY)); /* no thread has left it locked */
    plim_model_free(contested);
  }

  memset(&replaced, 0, sizeof replaced);
  {
    plim_model *first = NULL;
    CHECK_OK(plim_model_clone(model, &first));
    atomic_store(&current, first);
  }
  atomic_store(&replacing, 1);
  CHECK(pthread_create(&replacer, NULL, replace, &replaced) == 0);
  sum = run_threads(use, THREADS - 1, "concurrency, freed during use");
  atomic_store(&replacing, 0);
  CHECK(pthread_join(replacer, NULL) == 0);
  CHECK(replaced.wrong == 0 && replaced.right > 0 && sum.right > 0 && sum.busy == 0);
  printf("  replaced %lu times\n", replaced.right);
  plim_model_free(atomic_load(&current));
  plim_model_free(model);
  plim_graph_free(graph);
  CHECK(torture_threads(1));
  return check_close();
}
