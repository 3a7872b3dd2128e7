/* Version, instruction set, status names, and the message of the last error. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <ctype.h>
#include <pthread.h>

static const plim_status statuses[] = {
    PLIM_OK,
    PLIM_ERROR_NULL_POINTER,
    PLIM_ERROR_INVALID_ARGUMENT,
    PLIM_ERROR_SHAPE_MISMATCH,
    PLIM_ERROR_MISSING_DATA,
    PLIM_ERROR_BUFFER_TOO_SMALL,
    PLIM_ERROR_IO,
    PLIM_ERROR_BAD_FORMAT,
    PLIM_ERROR_OUT_OF_MEMORY,
    PLIM_ERROR_DIVERGED,
    PLIM_ERROR_CANCELLED,
    PLIM_ERROR_POISONED,
    PLIM_ERROR_UNSUPPORTED,
    PLIM_ERROR_INVALID_HANDLE,
    PLIM_ERROR_BUSY,
    PLIM_ERROR_INTERNAL,
};
enum { NUM_STATUSES = sizeof statuses / sizeof statuses[0] };

static plim_status fail_with_an_id(int32_t id) {
  plim_graph *graph = NULL;
  int32_t source = 0;
  return plim_graph_from_edges(5, 1, &source, &id, NULL, &graph);
}

static void there_is_no_error_before_the_first_one(void) {
  CHECK_TEXT("", plim_last_error());
}

static void the_version_is_three_numbers(void) {
  int major = -1, minor = -1, patch = -1;
  CHECK(sscanf(plim_version(), "%d.%d.%d", &major, &minor, &patch) == 3);
  CHECK(major >= 0 && minor >= 0 && patch >= 0);
  CHECK(plim_version() == plim_version());
}

static void the_instruction_set_is_one_of_four(void) {
  const char *isa = plim_isa();
  CHECK(strcmp(isa, "avx512") == 0 || strcmp(isa, "avx2") == 0 || strcmp(isa, "neon") == 0 ||
        strcmp(isa, "portable") == 0);
}

static void statuses_keep_their_numbers(void) {
  for (int i = 0; i < NUM_STATUSES - 1; i++) {
    CHECK(statuses[i] == i);
  }
  CHECK(statuses[NUM_STATUSES - 1] == 255);
}

static void every_status_has_a_name_of_its_own(void) {
  for (size_t i = 0; i < NUM_STATUSES; i++) {
    const char *name = plim_status_name(statuses[i]);
    CHECK(name != NULL && name[0] != '\0');
    CHECK(strcmp(name, "unknown status") != 0);
    for (size_t j = 0; j < i; j++) {
      CHECK(strcmp(name, plim_status_name(statuses[j])) != 0);
    }
  }
  CHECK_TEXT("invalid argument", plim_status_name(PLIM_ERROR_INVALID_ARGUMENT));
}

static void a_number_that_is_no_status_has_the_name_unknown_status(void) {
  static const plim_status strangers[] = {-1, 15, 16, 100, 254, 256, 511, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    CHECK_TEXT("unknown status", plim_status_name(strangers[i]));
  }
}

static void a_message_names_the_argument_the_index_and_the_value(void) {
  int32_t sources[] = {0, 1, 2, 3}, targets[] = {1, 2, 3, 9};
  plim_graph *graph = UNTOUCHED(plim_graph);
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "targets[3] = 9 is outside [0, 5)",
              plim_graph_from_edges(5, 4, sources, targets, NULL, &graph));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_graph_from_edges(5, 4, sources, targets, NULL, NULL));
  CHECK(graph == UNTOUCHED(plim_graph));
}

static void a_success_leaves_the_last_error_as_it_is(void) {
  char before[256];
  plim_graph *graph = NULL;
  CHECK_STATUS(PLIM_ERROR_INVALID_ARGUMENT, fail_with_an_id(77));
  snprintf(before, sizeof before, "%s", plim_last_error());
  CHECK_OK(plim_graph_from_edges(2, 0, NULL, NULL, NULL, &graph));
  CHECK_TEXT(before, plim_last_error());
  plim_graph_free(graph);
  CHECK_TEXT(before, plim_last_error());
}

static void an_earlier_pointer_stays_readable_and_the_same(void) {
  const char *first;
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "111", fail_with_an_id(111));
  first = plim_last_error();
  for (int32_t id = 1000; id < 1100; id++) {
    CHECK_STATUS(PLIM_ERROR_INVALID_ARGUMENT, fail_with_an_id(id));
    CHECK(strlen(first) > 0 && isprint((unsigned char)first[0]));
  }
  CHECK(first == plim_last_error());
  CHECK(strstr(first, "1099") != NULL);
}

static void a_message_longer_than_the_buffer_is_cut_between_characters(void) {
  enum { LETTERS = 50000 };
  char *path = (char *)check_alloc(2 * LETTERS + 3, 1);
  plim_graph *graph = UNTOUCHED(plim_graph);
  size_t length;
  const char *first;
  for (size_t shift = 0; shift < 2; shift++) { /* é, two bytes, at even and at odd places */
    memset(path, '/', 2);
    for (size_t i = 0; i < LETTERS; i++) {
      memcpy(path + 1 + shift + 2 * i, "\xc3\xa9", 2);
    }
    CHECK_STATUS(PLIM_ERROR_IO, plim_graph_load(path, &graph));
    first = plim_last_error();
    length = strlen(first);
    CHECK(length > 0 && length < 2 * LETTERS);
    CHECK((unsigned char)first[length - 1] != 0xc3);
    CHECK(graph == UNTOUCHED(plim_graph));
  }
  CHECK_STATUS(PLIM_ERROR_INVALID_ARGUMENT, fail_with_an_id(5));
  CHECK(strlen(plim_last_error()) < 200);
  free(path);
}

static void a_path_that_is_no_text_is_an_ordinary_missing_file(void) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  plim_model *model = UNTOUCHED(plim_model);
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_load("/nowhere/\xff\xfe.npz", &graph));
  CHECK_STATUS(PLIM_ERROR_IO, plim_model_load("/nowhere/\xff\xfe.safetensors", &model));
  CHECK(graph == UNTOUCHED(plim_graph) && model == UNTOUCHED(plim_model));
}

/* What a thread saw of its own errors. */
typedef struct witness {
  int32_t id;
  int empty_at_first, own_text, own_buffer;
  const char *main_buffer;
  pthread_barrier_t *barrier;
} witness;

static void *fail_in_a_thread(void *argument) {
  witness *seen = (witness *)argument;
  char expected[32];
  snprintf(expected, sizeof expected, "= %d ", (int)seen->id);
  seen->empty_at_first = plim_last_error()[0] == '\0';
  pthread_barrier_wait(seen->barrier);
  seen->own_text = 1;
  for (int i = 0; i < 50; i++) {
    plim_status status = fail_with_an_id(seen->id);
    seen->own_text &= status == PLIM_ERROR_INVALID_ARGUMENT && strstr(plim_last_error(), expected) != NULL;
  }
  seen->own_buffer = plim_last_error() != seen->main_buffer;
  pthread_barrier_wait(seen->barrier);
  return NULL;
}

static void each_thread_has_its_own_text(void) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  pthread_barrier_t barrier;
  witness seen[THREADS];
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "= 99 ", fail_with_an_id(99));
  CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
  for (int i = 0; i < THREADS; i++) {
    witness fresh = {1000 + i, 0, 0, 0, NULL, NULL};
    seen[i] = fresh;
    seen[i].main_buffer = plim_last_error();
    seen[i].barrier = &barrier;
    CHECK(pthread_create(&threads[i], NULL, fail_in_a_thread, &seen[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(seen[i].empty_at_first);
    CHECK(seen[i].own_text);
    CHECK(seen[i].own_buffer);
  }
  CHECK(strstr(plim_last_error(), "= 99 ") != NULL);
  pthread_barrier_destroy(&barrier);
}

static pthread_key_t last_words;
static int last_words_were_right = 0;

static void fail_while_the_thread_ends(void *unused) {
  (void)unused;
  last_words_were_right = fail_with_an_id(4242) == PLIM_ERROR_INVALID_ARGUMENT && plim_last_error() != NULL &&
                          plim_graph_num_nodes(NULL) == 0;
}

static void *leave_last_words(void *argument) {
  return pthread_setspecific(last_words, argument) == 0 && fail_with_an_id(7) != PLIM_OK ? argument : NULL;
}

static void the_library_answers_in_the_destructors_of_a_thread(void) {
  pthread_t thread;
  void *answer = NULL;
  int anything = 0;
  CHECK(pthread_key_create(&last_words, fail_while_the_thread_ends) == 0);
  CHECK(pthread_create(&thread, NULL, leave_last_words, &anything) == 0);
  CHECK(pthread_join(thread, &answer) == 0);
  CHECK(answer == &anything);
  CHECK(last_words_were_right);
  CHECK(pthread_key_delete(last_words) == 0);
}

int main(void) {
  RUN(there_is_no_error_before_the_first_one);
  RUN(the_version_is_three_numbers);
  RUN(the_instruction_set_is_one_of_four);
  RUN(statuses_keep_their_numbers);
  RUN(every_status_has_a_name_of_its_own);
  RUN(a_number_that_is_no_status_has_the_name_unknown_status);
  RUN(a_message_names_the_argument_the_index_and_the_value);
  RUN(a_success_leaves_the_last_error_as_it_is);
  RUN(an_earlier_pointer_stays_readable_and_the_same);
  RUN(a_message_longer_than_the_buffer_is_cut_between_characters);
  RUN(a_path_that_is_no_text_is_an_ordinary_missing_file);
  RUN(each_thread_has_its_own_text);
  RUN(the_library_answers_in_the_destructors_of_a_thread);
  return check_close();
}
