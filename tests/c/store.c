/* Graphs as store directories: what is saved is mapped again with the same bits, and what is wrong is named. */
#define _POSIX_C_SOURCE 200809L

#include "saved.h"

#include <sys/stat.h>

static const char *const members[] = {"meta.json",        "indptr.npy",           "indices.npy",       "values.npy",
                                      "self_loops.npy",   "weights.npy",          "features.npy",      "labels.npy",
                                      "train.npy",        "val.npy",              "test.npy",          "features_data.npy",
                                      "features_indptr.npy", "features_indices.npy"};
enum { NUM_MEMBERS = sizeof members / sizeof members[0] };

/* The name of a member, as files.h wants it. */
static const char *member(const char *store, const char *name) {
  static char names[4][PATH_SIZE];
  static size_t next = 0;
  char *path = names[next++ % 4];
  snprintf(path, sizeof names[0], "%s/%s", store, name);
  return path;
}

static void remove_store(const char *store) {
  for (size_t i = 0; i < NUM_MEMBERS; i++) {
    files_remove(member(store, members[i]));
  }
  CHECK(rmdir(files_path(store)) == 0);
}

/* Probabilities of all nodes, a sampled gradient and its loss: what a graph's every part has a share in. */
static size_t results(const plim_graph *graph, float *all, size_t capacity) {
  static const size_t sizes[2] = {6, 6};
  size_t widths[3], used;
  plim_model *model = NULL;
  plim_estimator *estimator = NULL;
  double loss = NAN;
  widths[0] = plim_graph_num_features(graph);
  widths[1] = 4;
  widths[2] = 3;
  used = plim_graph_num_nodes(graph) * widths[2];
  CHECK_OK(plim_model_gcn(widths, 3, 1, &model));
  CHECK_OK(plim_estimator_consistent(sizes, 2, &estimator));
  CHECK_OK(plim_model_predict(model, graph, NULL, 0, all, capacity));
  CHECK_OK(plim_estimator_gradient(estimator, model, graph, NULL, 0, all + used, capacity - used, &loss));
  used += plim_model_num_parameters(model);
  all[used++] = (float)loss;
  plim_estimator_free(estimator);
  plim_model_free(model);
  return used;
}

static void check_same(const plim_graph *expected, const plim_graph *got) {
  enum { CAPACITY = 1 << 14 };
  static float a[CAPACITY], b[CAPACITY];
  size_t count = results(expected, a, CAPACITY);
  CHECK(results(got, b, CAPACITY) == count);
  CHECK_BITS(a, b, count);
  CHECK(plim_graph_num_edges(got) == plim_graph_num_edges(expected));
  CHECK(plim_graph_num_classes(got) == plim_graph_num_classes(expected));
  for (int32_t split = 0; split < 3; split++) {
    CHECK(plim_graph_split_size(got, split) == plim_graph_split_size(expected, split));
  }
}

/* Saves, maps, compares under every normalisation, saves what was mapped, maps that. */
static void check_round_trip(plim_graph *graph) {
  plim_graph *once = NULL, *twice = NULL;
  CHECK_OK(plim_graph_save_store(graph, files_path("once")));
  CHECK_OK(plim_graph_load(files_path("once"), &once));
  check_same(graph, once);
  CHECK_OK(plim_graph_save_store(once, files_path("twice")));
  CHECK_OK(plim_graph_load(files_path("twice"), &twice));
  remove_store("once"); /* names may go; what is mapped stays until it is freed */
  check_same(graph, twice);
  check_same(graph, once);
  for (int32_t normalization = 2; normalization >= 0; normalization--) {
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    CHECK_OK(plim_graph_set_normalization(once, normalization));
    check_same(graph, once);
  }
  CHECK_OK(plim_graph_normalize_features(graph));
  CHECK_OK(plim_graph_normalize_features(once));
  check_same(graph, once);
  plim_graph_free(once);
  plim_graph_free(twice);
  CHECK_OK(plim_graph_load(files_path("twice"), &twice)); /* the changes were the graph's own, not the files' */
  CHECK(plim_graph_num_nodes(twice) == plim_graph_num_nodes(graph));
  plim_graph_free(twice);
  remove_store("twice");
}

static void a_stored_graph_has_the_same_bits_with_any_normalisation(void) {
  for (int32_t normalization = 0; normalization < 3; normalization++) {
    plim_graph *graph = sample_graph();
    CHECK_OK(plim_graph_set_normalization(graph, normalization));
    check_round_trip(graph);
    plim_graph_free(graph);
  }
}

static void sparse_features_and_a_directed_graph_are_stored_too(void) {
  static const int64_t rows[] = {0, 1, 3, 3, 4};
  static const int32_t columns[] = {4, 0, 2, 1}, labels[] = {0, 1, 2, 0}, nodes[] = {0, 2};
  static const float data[] = {1.0f, -2.0f, 0.5f, 3.0f};
  for (int weighted = 0; weighted < 2; weighted++) {
    plim_graph *graph = directed_graph(weighted);
    CHECK_OK(plim_graph_set_sparse_features(graph, 5, rows, columns, data));
    CHECK_OK(plim_graph_set_labels(graph, labels));
    CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, nodes, 2));
    check_round_trip(graph);
    plim_graph_free(graph);
  }
}

static void a_graph_of_one_node_and_nothing_else_is_stored_too(void) {
  plim_graph *graph = NULL, *loaded = NULL;
  CHECK_OK(plim_graph_from_edges(1, 0, NULL, NULL, NULL, &graph));
  CHECK_OK(plim_graph_save_store(graph, files_path("one")));
  CHECK_OK(plim_graph_load(files_path("one"), &loaded));
  CHECK(plim_graph_num_nodes(loaded) == 1);
  CHECK(plim_graph_num_edges(loaded) == 0);
  CHECK(plim_graph_num_features(loaded) == 0);
  plim_graph_free(loaded);
  plim_graph_free(graph);
  remove_store("one");
}

static void an_empty_directory_is_filled_and_any_other_is_left_alone(void) {
  plim_graph *graph = sample_graph(), *loaded = NULL;
  CHECK(mkdir(files_path("store"), 0700) == 0);
  CHECK_OK(plim_graph_save_store(graph, files_path("store")));
  CHECK_FAILS(PLIM_ERROR_IO, "not empty", plim_graph_save_store(graph, files_path("store")));
  CHECK_OK(plim_graph_load(files_path("store"), &loaded));
  plim_graph_free(loaded);
  remove_store("store");
  files_write("file", "x", 1);
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_save_store(graph, files_path("file")));
  files_remove("file");
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_save_store(graph, "/nowhere/store"));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "directory", plim_graph_save_store(graph, NULL));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "directory", plim_graph_save_store(graph, ""));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_save_store(NULL, files_path("store")));
  plim_graph_free(graph);
  CHECK_STATUS(PLIM_ERROR_INVALID_HANDLE, plim_graph_save_store(graph, files_path("store")));
}

/* Removes the checksums, as if NumPy had written the store: what is wrong is then found by the checks of each array. */
static void forget_checksums(const char *store) {
  bytes file = files_read(member(store, "meta.json"));
  char *text = (char *)check_alloc(file.size + 8, 1), *end;
  memcpy(text, file.data, file.size);
  end = strstr(text, ",\n  \"checksums\"");
  if (CHECK(end != NULL)) {
    memcpy(end, "\n}\n", 4);
    files_write(member(store, "meta.json"), text, strlen(text));
  }
  free(text);
  free(file.data);
}

/* Puts `data` in a member's place, expects loading to fail, and puts the old bytes back. */
static void check_refused(const char *name, const void *data, size_t size, plim_status status, const char *fragment) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  bytes old = files_read(member("store", name));
  files_write(member("store", name), data, size);
  CHECK_FAILS(status, fragment, plim_graph_load(files_path("store"), &graph));
  CHECK(graph == UNTOUCHED(plim_graph));
  files_write(member("store", name), old.data, old.size);
  free(old.data);
}

static void a_stated_number_of_classes_survives_the_store(void) {
  check_stated_classes(plim_graph_save_store, "store", remove_store);
}

static void a_damaged_store_is_refused_with_the_name_of_its_member(void) {
  static const char *const metas[][2] = {
      {"", "meta.json"},
      {"{}", "format"},
      {"[1]", "format"},
      {"{\"format\": \"plimsoll-store\"}", "version"},
      {"{\"format\": \"plimsoll-store\", \"version\": 0}", "version"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"matrix\": \"laplacian\"}", "matrix"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"normalization\": 0}", "normalization"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"undirected\": \"yes\"}", "undirected"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"num_features\": -1}", "num_features"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"num_classes\": -1}", "num_classes"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"num_classes\": 4294967296}", "num_classes = 4294967296"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"num_classes\": 2}", "labels[2] = 2 is not below 2"},
      {"{\"format\": \"plimsoll-store\", \"version\": 1, \"normalisation\": \"row\"}", "\"normalisation\" is none of"}};
  static const char newer[] = "{\"format\": \"plimsoll-store\", \"version\": 2}";
  plim_graph *graph = sample_graph(), *loaded = UNTOUCHED(plim_graph);
  bytes file;
  CHECK_OK(plim_graph_save_store(graph, files_path("store")));
  forget_checksums("store");
  for (size_t i = 0; i < sizeof metas / sizeof metas[0]; i++) {
    check_refused("meta.json", metas[i][0], strlen(metas[i][0]), PLIM_ERROR_BAD_FORMAT, metas[i][1]);
  }
  check_refused("meta.json", newer, strlen(newer), PLIM_ERROR_UNSUPPORTED, "version 2");
  for (size_t i = 1; i < 8; i++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(members[i], "."), members[i]);
    file = files_read(member("store", members[i]));
    check_refused(members[i], file.data, file.size - 1, PLIM_ERROR_BAD_FORMAT, name);
    check_refused(members[i], file.data, 70, PLIM_ERROR_BAD_FORMAT, name);
    check_refused(members[i], "", 0, PLIM_ERROR_BAD_FORMAT, name);
    check_refused(members[i], "PK", 2, PLIM_ERROR_BAD_FORMAT, name);
    free(file.data);
  }
  file = files_read(member("store", "indices.npy"));
  file.data[file.size - 1] = 0x7f; /* the last column id */
  check_refused("indices.npy", file.data, file.size, PLIM_ERROR_BAD_FORMAT, "is outside [0, 12)");
  free(file.data);
  file = files_read(member("store", "indptr.npy"));
  file.data[file.size - 16] = 0xff; /* the last offset but one */
  check_refused("indptr.npy", file.data, file.size, PLIM_ERROR_BAD_FORMAT, "indptr[12]");
  free(file.data);
  file = files_read(member("store", "self_loops.npy")); /* node 4 alone */
  file.data[file.size - 4] = 99;
  check_refused("self_loops.npy", file.data, file.size, PLIM_ERROR_BAD_FORMAT, "self_loops[0] = 99");
  free(file.data);
  file = files_read(member("store", "labels.npy"));
  memcpy(file.data + file.size - 4, "\xff\xff\xff\x7f", 4); /* the last node's */
  check_refused("labels.npy", file.data, file.size, PLIM_ERROR_BAD_FORMAT, "labels[11] = 2147483647 is not below 65536");
  free(file.data);
  files_remove(member("store", "indices.npy"));
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "indices.npy", plim_graph_load(files_path("store"), &loaded));
  remove_store("store");
  CHECK(mkdir(files_path("store"), 0700) == 0);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "store: is a directory, but no store: a store has meta.json",
              plim_graph_load(files_path("store"), &loaded));
  files_write(member("store", "indptr.npy"), "x", 1);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "no store", plim_graph_load(files_path("store"), &loaded));
  CHECK(loaded == UNTOUCHED(plim_graph));
  remove_store("store");
  plim_graph_free(graph);
}

/* What is stored dense is not looked at on load, only when it is used. */
static void a_feature_that_is_not_finite_shows_when_it_is_used(void) {
  plim_graph *graph = sample_graph(), *loaded = NULL;
  plim_model *model = sample_model(1);
  float probabilities[SAMPLE_CLASSES];
  static const int32_t last = 11, other = 0;
  bytes file;
  CHECK_OK(plim_graph_save_store(graph, files_path("store")));
  file = files_read(member("store", "features.npy"));
  memset(file.data + file.size - 4, 0xff, 4); /* a NaN for node 11, which is linked to none */
  files_write(member("store", "features.npy"), file.data, file.size);
  CHECK_OK(plim_graph_load(files_path("store"), &loaded));
  CHECK_OK(plim_model_predict(model, loaded, &other, 1, probabilities, SAMPLE_CLASSES));
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_model_predict(model, loaded, &last, 1, probabilities, SAMPLE_CLASSES));
  free(file.data);
  plim_model_free(model);
  plim_graph_free(loaded);
  plim_graph_free(graph);
  remove_store("store");
}

/* A graph of three nodes with every part that a store can have. */
static plim_graph *full_graph(int sparse) {
  static const int32_t from[] = {0, 1, 2}, to[] = {1, 2, 2}, labels[] = {0, 1, -1}, nodes[] = {0, 1, 2};
  static const int64_t indptr[] = {0, 1, 1, 2};
  static const int32_t indices[] = {1, 0};
  static const float weights[] = {1.0f, 0.5f, 3.0f}, features[] = {1, 2, 3, 4, 5, 6};
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_edges(3, 3, from, to, weights, &graph));
  if (sparse) {
    CHECK_OK(plim_graph_set_sparse_features(graph, 2, indptr, indices, features));
  } else {
    CHECK_OK(plim_graph_set_features(graph, 2, features));
  }
  CHECK_OK(plim_graph_set_labels(graph, labels));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, nodes, 2));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, nodes + 1, 1));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TEST, nodes + 2, 1));
  return graph;
}

/* Whether a graph is the one of full_graph(), in every part. */
static int is_full_graph(const plim_graph *graph, const plim_graph *expected) {
  enum { CAPACITY = 256 };
  float a[CAPACITY], b[CAPACITY];
  int32_t c[3], d[3];
  size_t count;
  int same = plim_graph_num_nodes(graph) == 3 && plim_graph_num_features(graph) == 2 &&
             plim_graph_num_edges(graph) == plim_graph_num_edges(expected);
  if (!same) {
    return 0;
  }
  count = results(expected, a, CAPACITY);
  same = results(graph, b, CAPACITY) == count && memcmp(a, b, count * sizeof *a) == 0;
  CHECK_OK(plim_graph_copy_labels(graph, c, 3));
  CHECK_OK(plim_graph_copy_labels(expected, d, 3));
  same = same && memcmp(c, d, sizeof c) == 0;
  for (int32_t split = 0; split < 3; split++) {
    size_t size = plim_graph_split_size(expected, split);
    same = same && plim_graph_split_size(graph, split) == size;
    if (same) {
      CHECK_OK(plim_graph_copy_split(graph, split, c, 3));
      CHECK_OK(plim_graph_copy_split(expected, split, d, 3));
      same = memcmp(c, d, size * sizeof *c) == 0;
    }
  }
  return same;
}

/* The last message names the store, and the file in it if it knows which one. */
static int names(const char *name) {
  char array[64];
  snprintf(array, sizeof array, "%.*s", (int)strcspn(name, "."), name);
  return strstr(plim_last_error(), "/store: ") != NULL && strstr(plim_last_error(), array) != NULL;
}

/* Loading, or verifying what was loaded, reports every flipped bit, and names the file; or the bit has no meaning. */
static void check_flips(const char *name, const plim_graph *expected) {
  static size_t passed;
  bytes file = files_read(member("store", name));
  FILE *stream = fopen(files_path(member("store", name)), "r+b");
  size_t step = check_scale(1, 29);
  CHECK(stream != NULL);
  for (size_t bit = 0; stream != NULL && bit < 8 * file.size; bit += step) {
    plim_graph *graph = UNTOUCHED(plim_graph);
    plim_status status;
    int right, byte = file.data[bit / 8] ^ 1 << bit % 8;
    CHECK(fseek(stream, (long)(bit / 8), SEEK_SET) == 0 && fputc(byte, stream) == byte && fflush(stream) == 0);
    status = plim_graph_load(files_path("store"), &graph);
    if (status == PLIM_OK) {
      status = plim_graph_verify(graph);
      right = status == PLIM_ERROR_BAD_FORMAT ? names(name)
                                              : status == PLIM_OK && strcmp(name, "meta.json") == 0 && ++passed &&
                                                    is_full_graph(graph, expected);
      plim_graph_free(graph);
    } else {
      right = status == PLIM_ERROR_BAD_FORMAT && names(strcmp(name, "meta.json") == 0 ? "" : name) &&
              graph == UNTOUCHED(plim_graph);
    }
    if (!CHECK(right)) {
      fprintf(stderr, "  %s, byte %zu, bit %zu: status %d (%s)\n", name, bit / 8, bit % 8, (int)status,
              plim_last_error());
    }
    CHECK(fseek(stream, (long)(bit / 8), SEEK_SET) == 0 && fputc(file.data[bit / 8], stream) != EOF);
  }
  CHECK(passed < 8); /* nearly all of meta.json has a meaning */
  CHECK(stream != NULL && fclose(stream) == 0);
  free(file.data);
}

static void a_flipped_bit_is_found_when_a_store_is_loaded_or_verified(void) {
  for (int sparse = 0; sparse < 2; sparse++) {
    plim_graph *graph = full_graph(sparse), *loaded = NULL;
    CHECK_OK(plim_graph_save_store(graph, files_path("store")));
    CHECK_OK(plim_graph_load(files_path("store"), &loaded));
    CHECK_OK(plim_graph_verify(loaded));
    CHECK(is_full_graph(loaded, graph));
    plim_graph_free(loaded);
    for (size_t i = 0; i < NUM_MEMBERS; i++) {
      if (access(files_path(member("store", members[i])), F_OK) == 0 &&
          (!sparse || strncmp(members[i], "features_", 9) == 0)) {
        check_flips(members[i], graph);
      }
    }
    CHECK_OK(plim_graph_load(files_path("store"), &loaded)); /* the files are what they were */
    CHECK_OK(plim_graph_verify(loaded));
    plim_graph_free(loaded);
    plim_graph_free(graph);
    remove_store("store");
  }
}

static void a_file_that_comes_or_goes_is_found_on_load(void) {
  plim_graph *graph = full_graph(0), *loaded = UNTOUCHED(plim_graph);
  for (size_t i = 1; i < NUM_MEMBERS; i++) {
    bytes file;
    char text[64];
    CHECK_OK(plim_graph_save_store(graph, files_path("store")));
    if (access(files_path(member("store", members[i])), F_OK) == 0) {
      snprintf(text, sizeof text, "store: %s has a checksum, but is missing", members[i]);
      files_remove(member("store", members[i]));
    } else {
      snprintf(text, sizeof text, "store: %s has no checksum in meta.json", members[i]);
      file = files_read(member("store", "labels.npy"));
      files_write(member("store", members[i]), file.data, file.size);
      free(file.data);
    }
    CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, text, plim_graph_load(files_path("store"), &loaded));
    CHECK(loaded == UNTOUCHED(plim_graph));
    remove_store("store");
  }
  plim_graph_free(graph);
}

static void verifying_checks_what_was_mapped_and_a_graph_of_other_origin_has_nothing_to_check(void) {
  plim_graph *graph = full_graph(0), *loaded = NULL;
  static const float features[] = {1, 2, 3, 4, 5, 6};
  bytes file;
  CHECK_OK(plim_graph_verify(graph));
  CHECK_OK(plim_graph_save_store(graph, files_path("store")));
  file = files_read(member("store", "features.npy"));
  file.data[file.size - 1] ^= 1;
  files_write(member("store", "features.npy"), file.data, file.size);
  CHECK_OK(plim_graph_load(files_path("store"), &loaded));
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "store: features.npy does not match its checksum", plim_graph_verify(loaded));
  CHECK_OK(plim_graph_normalize_features(loaded)); /* a copy of what is damaged is damaged */
  CHECK_OK(plim_graph_set_features(loaded, 2, features));
  remove_store("store"); /* names may go */
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "store: features.npy", plim_graph_verify(loaded));
  plim_graph_free(loaded);
  CHECK_STATUS(PLIM_ERROR_INVALID_HANDLE, plim_graph_verify(loaded));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_graph_verify(NULL));
  CHECK_OK(plim_graph_save(graph, files_path("graph.npz")));
  CHECK_OK(plim_graph_load(files_path("graph.npz"), &loaded));
  CHECK_OK(plim_graph_verify(loaded));
  plim_graph_free(loaded);
  files_remove("graph.npz");
  CHECK_OK(plim_graph_save_store(graph, files_path("store")));
  forget_checksums("store");
  CHECK_OK(plim_graph_load(files_path("store"), &loaded));
  CHECK(is_full_graph(loaded, graph));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "store: the store has no checksums", plim_graph_verify(loaded));
  plim_graph_free(loaded);
  remove_store("store");
  free(file.data);
  plim_graph_free(graph);
}

static void what_is_saved_from_a_mapped_graph_has_checksums_of_its_own(void) {
  plim_graph *graph = full_graph(1), *once = NULL, *twice = NULL;
  CHECK_OK(plim_graph_save_store(graph, files_path("once")));
  forget_checksums("once");
  CHECK_OK(plim_graph_load(files_path("once"), &once));
  CHECK_OK(plim_graph_save_store(once, files_path("store")));
  CHECK_OK(plim_graph_load(files_path("store"), &twice));
  CHECK_OK(plim_graph_verify(twice));
  CHECK(is_full_graph(twice, graph));
  plim_graph_free(twice);
  plim_graph_free(once);
  plim_graph_free(graph);
  remove_store("once");
  remove_store("store");
}

int main(void) {
  RUN(a_stored_graph_has_the_same_bits_with_any_normalisation);
  RUN(sparse_features_and_a_directed_graph_are_stored_too);
  RUN(a_graph_of_one_node_and_nothing_else_is_stored_too);
  RUN(an_empty_directory_is_filled_and_any_other_is_left_alone);
  RUN(a_stated_number_of_classes_survives_the_store);
  RUN(a_damaged_store_is_refused_with_the_name_of_its_member);
  RUN(a_feature_that_is_not_finite_shows_when_it_is_used);
  RUN(a_flipped_bit_is_found_when_a_store_is_loaded_or_verified);
  RUN(a_file_that_comes_or_goes_is_found_on_load);
  RUN(verifying_checks_what_was_mapped_and_a_graph_of_other_origin_has_nothing_to_check);
  RUN(what_is_saved_from_a_mapped_graph_has_checksums_of_its_own);
  files_close();
  return check_close();
}
