/* Soak: making, using and freeing graphs, models and files, many times. Memory, threads and file descriptors do not grow.
 *
 *   soak [--long]         30 seconds, or 30 minutes; PLIM_SOAK_SECONDS for another time
 *
 * Time is the processor time of the main thread, so neither a sleeping nor a busy machine makes the test shorter.
 */
#define _GNU_SOURCE
#include "../c/training.h"
#include "torture.h"

#include <malloc.h>

enum { NODES = 60 * 3, CLASSES = 3 };

static char folder[] = "/dev/shm/plimsoll-soak.XXXXXX";

static double busy_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One cycle. It frees everything that it makes, also after failures. */
static void cycle(unsigned long number) {
  static const size_t widths[3] = {2, 8, CLASSES}, sizes[2] = {20, 20};
  char graph_path[64], model_path[64], run_path[64];
  float probabilities[NODES * CLASSES], again[NODES * CLASSES], gradient[40];
  setup s = {NULL, NULL, NULL, NULL, NULL};
  plim_graph *loaded_graph = NULL;
  plim_model *loaded_model = NULL, *clone = NULL;
  plim_probe_options *probe = NULL;
  plim_history *history = NULL;
  plim_tail *tail = NULL;
  const double delta = 0.5;
  const size_t size = 10;
  snprintf(graph_path, sizeof graph_path, "%s/graph", folder);
  snprintf(model_path, sizeof model_path, "%s/model", folder);
  snprintf(run_path, sizeof run_path, "%s/run", folder);
  CHECK_OK(plim_graph_from_mixture(NODES / 3, number, &s.graph));
  CHECK_OK(plim_model_gcn(widths, 3, number, &s.model));
  CHECK_OK(plim_model_set_threads(s.model, number % 8 == 0 ? 2 : 1));
  CHECK_OK(number % 3 == 0   ? plim_estimator_full(&s.estimator)
           : number % 3 == 1 ? plim_estimator_unbiased(&s.estimator)
                             : plim_estimator_consistent(sizes, 2, &s.estimator));
  CHECK_OK(number % 2 == 0 ? plim_optimizer_adam(0.01, &s.optimizer) : plim_optimizer_sgd(0.1, &s.optimizer));
  CHECK_OK(plim_optimizer_set_averaging(s.optimizer, 1));
  CHECK_OK(plim_train_options_new(&s.options));
  CHECK_OK(plim_train_options_set_epochs(s.options, 3));
  CHECK_OK(plim_train_options_set_checkpoint(s.options, run_path, 2));
  CHECK_OK(plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &history));
  CHECK(plim_history_num_epochs(history) == 3);
  CHECK_OK(plim_estimator_gradient(s.estimator, s.model, s.graph, NULL, 0, gradient, 40, NULL));
  CHECK_OK(plim_graph_save(s.graph, graph_path));
  CHECK_OK(plim_model_save(s.model, model_path));
  CHECK_OK(plim_graph_load(graph_path, &loaded_graph));
  CHECK_OK(plim_model_load(model_path, &loaded_model));
  CHECK_OK(plim_model_clone(loaded_model, &clone));
  CHECK_OK(plim_model_predict(s.model, s.graph, NULL, 0, probabilities, NODES * CLASSES));
  CHECK_OK(plim_model_predict(clone, loaded_graph, NULL, 0, again, NODES * CLASSES));
  CHECK_BITS(probabilities, again, (size_t)NODES * CLASSES);
  if (number % 16 == 0) {
    CHECK_OK(plim_probe_options_new(&probe));
    CHECK_OK(plim_probe_options_set_draws(probe, 20));
    CHECK_OK(plim_tail_new(s.estimator, s.model, s.graph, &size, 1, &delta, 1, probe, &tail));
  }
  /* Failing calls must not cost memory either. */
  CHECK_STATUS(PLIM_ERROR_BUFFER_TOO_SMALL, plim_model_predict(s.model, s.graph, NULL, 0, again, 1));
  CHECK_STATUS(PLIM_ERROR_INVALID_HANDLE, plim_model_predict(s.model, (plim_graph *)s.model, NULL, 0, again, 1));
  CHECK_STATUS(PLIM_ERROR_IO, plim_model_save(s.model, "/none/at/all"));
  CHECK_STATUS(PLIM_ERROR_BAD_FORMAT, plim_graph_load(model_path, &loaded_graph));
  plim_tail_free(tail);
  plim_probe_options_free(probe);
  plim_history_free(history);
  plim_model_free(clone);
  plim_model_free(loaded_model);
  plim_graph_free(loaded_graph);
  training_free(&s);
}

int main(int argc, char **argv) {
  const char *wanted = getenv("PLIM_SOAK_SECONDS");
  double seconds = wanted != NULL ? atof(wanted) : torture_long(argc, argv) ? 1800 : 30;
  double start = busy_seconds(), growth, resident_growth;
  unsigned long cycles = 0, warm_cycles;
  size_t held, warm_held;
  int descriptors = torture_entries("/proc/self/fd");
  long resident, warm_resident;
  if (mkdtemp(folder) == NULL) {
    perror(folder);
    return 2;
  }
  /* A fifth of the time, or 4,000 cycles, until every buffer of the process has its largest size. */
  while (busy_seconds() < start + seconds / 5 && cycles < 4000) {
    cycle(cycles++);
  }
  warm_cycles = cycles;
  warm_held = mallinfo2().uordblks;
  (void)malloc_trim(0); /* the cache of the C library varies by a megabyte */
  warm_resident = torture_resident();
  while (busy_seconds() < start + seconds && check_failed == 0) {
    cycle(cycles++);
    if (getenv("PLIM_SOAK_SHOW") != NULL && cycles % 1000 == 0) {
      printf("%lu cycles: %zu bytes held, %ld KiB resident\n", cycles, mallinfo2().uordblks, torture_resident());
    }
  }
  held = mallinfo2().uordblks;
  (void)malloc_trim(0);
  resident = torture_resident();
  growth = ((double)held - (double)warm_held) / 1048576 / (double)(cycles - warm_cycles) * 1e4;
  resident_growth = (double)(resident - warm_resident) / 1024 / (double)(cycles - warm_cycles) * 1e4;
  CHECK(growth < 1);
  CHECK(resident_growth < 1 || resident - warm_resident < 512); /* after a few cycles, half a megabyte is not significant */
  CHECK(torture_threads(1));
  CHECK(torture_entries("/proc/self/fd") == descriptors);
  printf("soak: %lu cycles in %.0f s of a processor; memory grows by %.3f MB per 10,000 cycles as the heap counts, %.3f MB resident "
         "(%ld KiB to %ld KiB)\n",
         cycles, busy_seconds() - start, growth, resident_growth, warm_resident, resident);
  {
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
  }
  return check_close();
}
