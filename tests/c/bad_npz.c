/* Graph files: NumPy's archives are read, and a file that is cut, changed or wrong inside is status 7; a file that
 * cannot be read or written is status 6. The out-parameter stays in every case. */
#define _POSIX_C_SOURCE 200809L

#include "npz.h"
#include "sample.h"

#include <sys/resource.h>

/* The archive of a graph of three nodes with everything in it. */
static npz good_archive(void) {
  static const int32_t nodes = 3, features = 2, classes = 2;
  static const int32_t edges[4] = {0, 1, 1, 2}, loops[1] = {2}, labels[3] = {0, 1, -1};
  static const int32_t train[1] = {0}, val[1] = {1}, test[1] = {2};
  static const float x[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  npz archive;
  memset(&archive, 0, sizeof archive);
  npz_array(&archive, "num_nodes", "<i4", "False", "()", &nodes, 4);
  npz_array(&archive, "num_features", "<i4", "False", "()", &features, 4);
  npz_array(&archive, "num_classes", "<i4", "False", "()", &classes, 4);
  npz_array(&archive, "edges", "<i4", "False", "(2, 2)", edges, 16);
  npz_array(&archive, "self_loops", "<i4", "False", "(1,)", loops, 4);
  npz_array(&archive, "labels", "<i4", "False", "(3,)", labels, 12);
  npz_array(&archive, "train", "<i4", "False", "(1,)", train, 4);
  npz_array(&archive, "val", "<i4", "False", "(1,)", val, 4);
  npz_array(&archive, "test", "<i4", "False", "(1,)", test, 4);
  npz_array(&archive, "features", "<f4", "False", "(3, 2)", x, 24);
  return archive;
}

static void write_archive(const npz *archive, size_t method) {
  bytes file = npz_pack(archive, method);
  files_write("graph.npz", file.data, file.size);
  free(file.data);
}

static void check_refused(plim_status expected, const char *what) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  plim_status status = plim_graph_load(files_path("graph.npz"), &graph);
  if (!CHECK(status == expected) || !CHECK(plim_last_error()[0] != '\0') || !CHECK(graph == UNTOUCHED(plim_graph))) {
    fprintf(stderr, "  status %d for %s (%s)\n", (int)status, what, plim_last_error());
  }
}

static void check_bytes_refused(const void *data, size_t size, const char *what) {
  files_write("graph.npz", data, size);
  check_refused(PLIM_ERROR_BAD_FORMAT, what);
}

static void an_archive_of_numpy_s_is_a_graph(void) {
  static const float expected[6] = {3.0f, 4.0f, 6.0f, 8.0f, 8.0f, 10.0f}; /* AX, with the self-loop of node 2 */
  static const char junk[5] = "junk";
  npz archive = good_archive();
  plim_graph *graph = NULL;
  float rows[6];
  int32_t labels[3];
  npz_array(&archive, "a_stranger", "|S4", "False", "(1,)", junk, 4); /* other keys are ignored */
  write_archive(&archive, 0);
  CHECK_OK(plim_graph_load(files_path("graph.npz"), &graph));
  CHECK(plim_graph_num_nodes(graph) == 3 && plim_graph_num_edges(graph) == 3);
  CHECK(plim_graph_num_features(graph) == 2 && plim_graph_num_classes(graph) == 2);
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 6);
  CHECK_OK(plim_graph_copy_labels(graph, labels, 3));
  CHECK(labels[0] == 0 && labels[1] == 1 && labels[2] == -1);
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TEST) == 1);
  plim_graph_free(graph);
}

static void arrays_may_be_stored_by_columns(void) {
  static const float columns[6] = {1.0f, 3.0f, 5.0f, 2.0f, 4.0f, 6.0f};
  static const int32_t edges[4] = {0, 0, 1, 2}; /* 0-1 and 0-2 */
  static const float expected[6] = {8.0f, 10.0f, 1.0f, 2.0f, 6.0f, 8.0f};
  npz archive = good_archive();
  plim_graph *graph = NULL;
  float rows[6];
  npz_array(&archive, "features", "<f4", "True", "(3, 2)", columns, 24);
  npz_array(&archive, "edges", "<i4", "True", "(2, 2)", edges, 16);
  write_archive(&archive, 0);
  CHECK_OK(plim_graph_load(files_path("graph.npz"), &graph));
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  aggregate(graph, rows);
  CHECK_BITS(expected, rows, 6);
  plim_graph_free(graph);
}

static void only_the_nodes_and_the_edges_are_needed(void) {
  static const char *const optional[] = {"num_features", "num_classes", "self_loops", "labels", "train", "val", "test",
                                         "features"};
  npz archive = good_archive();
  for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
    plim_graph *graph = NULL;
    npz_remove(&archive, optional[i]);
    write_archive(&archive, 0);
    CHECK_OK(plim_graph_load(files_path("graph.npz"), &graph));
    CHECK(plim_graph_num_nodes(graph) == 3);
    plim_graph_free(graph);
  }
  npz_remove(&archive, "edges");
  write_archive(&archive, 0);
  check_refused(PLIM_ERROR_BAD_FORMAT, "an archive without edges");
  archive = good_archive();
  npz_remove(&archive, "num_nodes");
  write_archive(&archive, 0);
  check_refused(PLIM_ERROR_BAD_FORMAT, "an archive without num_nodes");
}

typedef struct wrong {
  const char *name, *type, *order, *shape;
  size_t size;
  int32_t data[8];
} wrong;

static void a_wrong_array_is_refused(void) {
  enum { NOT_A_NUMBER = 0x7fc00000, INFINITE = 0x7f800000, MINUS_ONE = -0x40800000 }; /* floats as bits */
  static const wrong list[] = {
      {"num_nodes", "<i4", "False", "()", 4, {0}},
      {"num_nodes", "<i4", "False", "()", 4, {-3}},
      {"num_nodes", "<i4", "False", "()", 4, {2}},      /* fewer than the ids need */
      {"num_nodes", "<i4", "False", "()", 4, {4}},      /* more than there are labels */
      {"num_nodes", "<i8", "False", "()", 8, {0, 1}},   /* 2^32 */
      {"num_nodes", "<f4", "False", "()", 4, {0x40400000}},
      {"num_nodes", "<i4", "False", "(2,)", 8, {3, 3}},
      {"num_nodes", "<i4", "False", "()", 2, {3}},
      {"num_nodes", "|O", "False", "()", 4, {3}},
      {"edges", "<i4", "False", "(2, 2)", 16, {0, 1, 1, 3}},
      {"edges", "<i4", "False", "(2, 2)", 16, {0, 1, -1, 2}},
      {"edges", "<i4", "False", "(1, 4)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(4,)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(2, 2, 1)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(3, 2)", 16, {0, 1, 1, 2}}, /* more than is there */
      {"edges", "<i4", "False", "(4611686018427387904, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(18446744073709551615, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(99999999999999999999999, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(-2, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<f4", "False", "(2, 2)", 16, {0, 1, 1, 2}},
      {"edges", "|O", "False", "(2, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<Z9", "False", "(2, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "Maybe", "(2, 2)", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "(2, 2", 16, {0, 1, 1, 2}},
      {"edges", "<i4", "False", "nonsense", 16, {0, 1, 1, 2}},
      {"self_loops", "<i4", "False", "(1,)", 4, {3}},
      {"self_loops", "<i4", "False", "(1, 1)", 4, {2}},
      {"edge_weights", "<f4", "False", "(3,)", 12, {0, 0, 0}},
      {"edge_weights", "<f4", "False", "(2,)", 8, {NOT_A_NUMBER, 0}},
      {"edge_weights", "<f4", "False", "(2,)", 8, {0, INFINITE}},
      {"edge_weights", "<f4", "False", "(2,)", 8, {MINUS_ONE, 0}},
      {"labels", "<i4", "False", "(2,)", 8, {0, 1}},
      {"labels", "<i4", "False", "(4,)", 16, {0, 1, 0, 0}},
      {"labels", "<i4", "False", "(3,)", 12, {0, -2, 0}},
      {"labels", "<i4", "False", "(3,)", 12, {0, 2, 0}}, /* num_classes states 2 */
      {"num_classes", "<i4", "False", "()", 4, {1}},
      {"num_classes", "<i4", "False", "()", 4, {-1}},
      {"num_classes", "<i8", "False", "()", 8, {0, 1}}, /* 2^32 */
      {"labels", "<i8", "False", "(3,)", 24, {0, 0, 0, 1, 0, 0}}, /* 2^32 is no label */
      {"labels", "<f8", "False", "(3,)", 24, {0, 0, 0, 0, 0, 0}},
      {"labels", "<i4", "False", "(3, 1)", 12, {0, 1, 0}},
      {"train", "<i4", "False", "(1,)", 4, {3}},
      {"val", "<i4", "False", "(1,)", 4, {-1}},
      {"test", "<i4", "False", "(2,)", 8, {1, 1}},
      {"features", "<f4", "False", "(2, 2)", 16, {0, 0, 0, 0}},
      {"features", "<f4", "False", "(3,)", 12, {0, 0, 0}},
      {"features", "<f4", "False", "(3, 0)", 0, {0}},
      {"features", "<f4", "False", "(3, 1)", 12, {0, NOT_A_NUMBER, 0}},
      {"features", "<f4", "False", "(3, 1)", 12, {0, 0, INFINITE}},
      {"features", "<f4", "False", "(3, 4611686018427387904)", 12, {0, 0, 0}},
      {"features", "|S4", "False", "(3, 1)", 12, {0, 0, 0}},
      {"normalization", "<i4", "False", "()", 4, {3}},
      {"normalization", "<i4", "False", "()", 4, {-1}},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    npz archive = good_archive();
    char what[160];
    snprintf(what, sizeof what, "entry %zu: %s of type %s and shape %s", i, list[i].name, list[i].type, list[i].shape);
    npz_array(&archive, list[i].name, list[i].type, list[i].order, list[i].shape, list[i].data, list[i].size);
    write_archive(&archive, 0);
    check_refused(PLIM_ERROR_BAD_FORMAT, what);
  }
}

/* Without a stated number the labels make the classes, but not two billion of them. */
static void absurd_labels_are_refused_by_their_name(void) {
  static const int32_t labels[3] = {0, INT32_MAX, 1};
  plim_graph *graph = UNTOUCHED(plim_graph);
  npz archive = good_archive();
  npz_remove(&archive, "num_classes");
  npz_array(&archive, "labels", "<i4", "False", "(3,)", labels, 12);
  write_archive(&archive, 0);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "graph.npz: labels[1] = 2147483647 is not below 65536",
              plim_graph_load(files_path("graph.npz"), &graph));
  CHECK(graph == UNTOUCHED(plim_graph));
}

static void a_wrong_matrix_is_refused(void) {
  static const int64_t indptr[4] = {0, 1, 2, 3}, late[4] = {1, 1, 2, 3}, back[4] = {0, 2, 1, 3};
  static const int64_t endless[4] = {0, 1, 2, INT64_MAX};
  static const int32_t indices[3] = {0, 1, 0}, beyond[3] = {0, 1, 7};
  static const float values[3] = {1.0f, 2.0f, 3.0f};
  const int64_t *pointers[] = {indptr, late, back, endless};
  for (size_t i = 0; i < 12; i++) { /* sparse features in the even rounds, the adjacency in the odd ones */
    static const char *const names[2][3] = {{"features_indptr", "features_indices", "features_data"},
                                            {"adj_indptr", "adj_indices", "adj_values"}};
    const char *const *name = names[i % 2];
    npz archive = good_archive();
    npz_remove(&archive, i % 2 ? "edges" : "features");
    npz_remove(&archive, "self_loops");
    npz_array(&archive, name[0], "<i8", "False", i / 2 == 5 ? "(3,)" : "(4,)", pointers[i / 2 < 4 ? i / 2 : 0],
              i / 2 == 5 ? 24 : 32);
    npz_array(&archive, name[1], "<i4", "False", "(3,)", i / 2 == 4 ? beyond : indices, 12);
    npz_array(&archive, name[2], "<f4", "False", "(3,)", values, 12);
    write_archive(&archive, 0);
    if (i < 2) {
      plim_graph *graph = NULL;
      CHECK_OK(plim_graph_load(files_path("graph.npz"), &graph));
      CHECK(plim_graph_num_features(graph) == 2);
      plim_graph_free(graph);
    } else {
      check_refused(PLIM_ERROR_BAD_FORMAT, name[0]);
    }
    npz_array(&archive, name[2], "<f4", "False", "(2,)", values, 8); /* one value too few */
    write_archive(&archive, 0);
    check_refused(PLIM_ERROR_BAD_FORMAT, name[2]);
  }
}

static void members_that_are_no_arrays_are_refused(void) {
  static const char *const contents[] = {"", "x", "not an array", "\x93NUMPY", "\x93NUMPY\x01",
                                         "\x93NUMPY\x09\x09\xff\xff{",
                                         "\x93NUMPY\x02\x02\xff\xff\xff\xff{'descr': '<i4'"};
  npz archive = good_archive();
  for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
    npz_bytes(&archive, "edges", contents[i], strlen(contents[i]));
    write_archive(&archive, 0);
    check_refused(PLIM_ERROR_BAD_FORMAT, contents[i]);
  }
  archive = good_archive();
  write_archive(&archive, 99); /* a compression that does not exist */
  check_refused(PLIM_ERROR_BAD_FORMAT, "compression 99");
}

/* The sample graph as the library saves it. */
static bytes saved_graph(void) {
  plim_graph *graph = sample_graph();
  bytes file;
  CHECK_OK(plim_graph_save(graph, files_path("graph.npz")));
  file = files_read("graph.npz");
  plim_graph_free(graph);
  return file;
}

static void a_file_cut_anywhere_is_refused(void) {
  bytes file = saved_graph();
  files_cut(file, check_scale(1, 61), check_bytes_refused);
  free(file.data);
}

static int is_signature(bytes file, size_t at, const char *signature) {
  return at + 4 <= file.size && memcmp(file.data + at, signature, 4) == 0;
}

/* Whether a graph is the sample graph, as far as anything shows of it. */
static int is_the_sample(const plim_graph *graph, const plim_model *model, const float *probabilities) {
  float rows[SAMPLE_NODES * SAMPLE_CLASSES];
  int32_t labels[SAMPLE_NODES], nodes[SAMPLE_NODES];
  return plim_graph_num_nodes(graph) == SAMPLE_NODES && plim_graph_num_edges(graph) == SAMPLE_EDGES &&
         plim_graph_num_features(graph) == SAMPLE_FEATURES && plim_graph_num_classes(graph) == SAMPLE_CLASSES &&
         plim_model_predict(model, graph, NULL, 0, rows, SAMPLE_NODES * SAMPLE_CLASSES) == PLIM_OK &&
         memcmp(rows, probabilities, sizeof rows) == 0 &&
         plim_graph_copy_labels(graph, labels, SAMPLE_NODES) == PLIM_OK &&
         memcmp(labels, sample_labels, sizeof labels) == 0 &&
         plim_graph_split_size(graph, PLIM_SPLIT_TRAIN) == SAMPLE_TRAIN &&
         plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, nodes, SAMPLE_NODES) == PLIM_OK &&
         memcmp(nodes, sample_train, sizeof sample_train) == 0;
}

static void a_changed_byte_is_refused_or_harmless(void) {
  bytes file = saved_graph();
  size_t step = check_scale(1, 47), data_begins = 0;
  int in_data = 0;
  plim_graph *sample = sample_graph();
  plim_model *model = sample_model(2);
  float probabilities[SAMPLE_NODES * SAMPLE_CLASSES];
  sample_predict(model, sample, probabilities);
  for (size_t at = 0; at < file.size; at++) {
    if (is_signature(file, at, "PK\003\004")) { /* its name, its extra field, then the data that the checksum covers */
      data_begins = at + 30 + file.data[at + 26] + file.data[at + 28];
      in_data = 1;
    } else if (is_signature(file, at, "PK\001\002")) {
      in_data = 0;
    }
    if (at % step == 0) {
      plim_graph *graph = UNTOUCHED(plim_graph);
      plim_status status;
      file.data[at] = (unsigned char)(file.data[at] ^ 0xff);
      files_write("graph.npz", file.data, file.size);
      status = plim_graph_load(files_path("graph.npz"), &graph);
      CHECK(status == PLIM_ERROR_BAD_FORMAT || status == PLIM_OK);
      CHECK((status == PLIM_OK) == (graph != UNTOUCHED(plim_graph)));
      if (status == PLIM_OK) { /* a date, say; or a name, and what is not found is not there; but never other data */
        if (!CHECK(!(in_data && at >= data_begins) || is_the_sample(graph, model, probabilities))) {
          fprintf(stderr, "  byte %zu of %zu changed, and so did the graph\n", at, file.size);
        }
        plim_graph_free(graph);
      } else if (status != PLIM_ERROR_BAD_FORMAT) {
        fprintf(stderr, "  status %d with byte %zu of %zu changed (%s)\n", (int)status, at, file.size,
                plim_last_error());
      }
      file.data[at] = (unsigned char)(file.data[at] ^ 0xff);
    }
  }
  plim_model_free(model);
  plim_graph_free(sample);
  free(file.data);
}

static void what_is_no_archive_is_refused(void) {
  unsigned char garbage[500];
  uint64_t state = 3;
  for (size_t round = 0; round < 20; round++) {
    dense_noise(garbage, sizeof garbage, &state);
    memcpy(garbage, round % 2 ? "PK\003\004" : "\x93NUMPY", 4);
    check_bytes_refused(garbage, sizeof garbage, "garbage");
  }
  check_bytes_refused(NULL, 0, "an empty file");
}

static void edges_in_a_text_are_sent_to_the_function_that_reads_them(void) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  files_write("edges.csv", "0,1\n1,2\n", 8);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "edges.csv: neither", plim_graph_load(files_path("edges.csv"), &graph));
  CHECK(strstr(plim_last_error(), "an edge list is read by a function of its own") != NULL);
  CHECK(graph == UNTOUCHED(plim_graph));
  files_remove("edges.csv");
}

static void a_file_that_cannot_be_read_or_written_is_an_input_output_error(void) {
  plim_graph *graph = sample_graph(), *out = UNTOUCHED(plim_graph);
  CHECK_FAILS(PLIM_ERROR_IO, "missing.npz", plim_graph_load(files_path("missing.npz"), &out));
  CHECK_FAILS(PLIM_ERROR_IO, "folder", plim_graph_save(graph, files_path("no/such/folder/graph.npz")));
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_save(graph, files_path(".")));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_graph_load("", &out));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_graph_save(graph, ""));
  CHECK(out == UNTOUCHED(plim_graph));
  CHECK(plim_graph_num_nodes(graph) == SAMPLE_NODES);
  plim_graph_free(graph);
}

int main(void) {
#ifndef __SANITIZE_ADDRESS__ /* it takes more addresses than that itself */
  struct rlimit memory = {(rlim_t)8 << 30, (rlim_t)8 << 30}; /* should a wrong size be believed, the machine survives */
  CHECK(setrlimit(RLIMIT_AS, &memory) == 0);
#endif
  RUN(an_archive_of_numpy_s_is_a_graph);
  RUN(arrays_may_be_stored_by_columns);
  RUN(only_the_nodes_and_the_edges_are_needed);
  RUN(a_wrong_array_is_refused);
  RUN(absurd_labels_are_refused_by_their_name);
  RUN(a_wrong_matrix_is_refused);
  RUN(members_that_are_no_arrays_are_refused);
  RUN(a_file_cut_anywhere_is_refused);
  RUN(a_changed_byte_is_refused_or_harmless);
  RUN(what_is_no_archive_is_refused);
  RUN(edges_in_a_text_are_sent_to_the_function_that_reads_them);
  RUN(a_file_that_cannot_be_read_or_written_is_an_input_output_error);
  files_remove("graph.npz");
  files_close();
  return check_close();
}
