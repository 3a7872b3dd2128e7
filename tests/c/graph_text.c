/* Graphs from text: edge lists and Matrix Market files, good ones and bad ones. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "sample.h"

static plim_graph *edge_list(const char *text, size_t num_nodes) {
  plim_graph *graph = NULL;
  files_write("edges", text, strlen(text));
  CHECK_OK(plim_graph_from_edge_list(files_path("edges"), num_nodes, &graph));
  return graph;
}

static plim_graph *matrix(const char *text) {
  plim_graph *graph = NULL;
  files_write("graph.mtx", text, strlen(text));
  CHECK_OK(plim_graph_load(files_path("graph.mtx"), &graph));
  return graph;
}

static void edges_come_with_any_separator_header_and_comment(void) {
  static const char *const texts[] = {
      "0,1\n1,2\n3,0\n",
      "0\t1\n1\t2\n3\t0",
      "source,target\r\n0,1\r\n\r\n1,2\r\n3,0\r\n",
      "# SNAP\n# Nodes: 4\n0 1\n  1    2  \n3\t 0\n",
      "\"from\";\"to\"\n\"0\";\"1\"\n1 ; 2\n3;0",
      "\xef\xbb\xbf" "0,1\n% a comment\n2,1\n1,0\n0,3\n"};
  static const float expected[] = {1010.0f, 101.0f, 10.0f, 1.0f};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    check_matrix(edge_list(texts[i], 0), 4, expected);
  }
}

static void weights_add_up_and_self_loops_count_once(void) {
  static const float expected[] = {35.0f, 3.5f, 0.0f, 2000.0f};
  check_matrix(edge_list("u v weight\n0 1 1.5\n1 0 2e0\n3 3 2\n", 0), 4, expected);
}

static void nodes_without_edges_are_told_by_the_caller(void) {
  static const float expected[] = {10.0f, 1.0f, 0.0f, 0.0f};
  plim_graph *graph = edge_list("0,1\n", 0);
  CHECK(plim_graph_num_nodes(graph) == 2);
  plim_graph_free(graph);
  check_matrix(edge_list("0,1\n", 4), 4, expected);
  graph = edge_list("# nothing\n", 3);
  CHECK(plim_graph_num_nodes(graph) == 3 && plim_graph_num_edges(graph) == 0);
  plim_graph_free(graph);
}

static void check_bad_edges(const char *text, size_t num_nodes, plim_status status, const char *fragment) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  files_write("edges", text, strlen(text));
  CHECK_FAILS(status, fragment, plim_graph_from_edge_list(files_path("edges"), num_nodes, &graph));
  CHECK(graph == UNTOUCHED(plim_graph));
}

static void a_bad_edge_is_named_by_line_and_column(void) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  char *line;
  check_bad_edges("0,1\n1,x\n", 0, PLIM_ERROR_BAD_FORMAT, "line 2: column 3: \"x\" is not a node id");
  check_bad_edges("0,1\n1, -2\n", 0, PLIM_ERROR_BAD_FORMAT, "line 2: column 4: \"-2\" is outside [0, ");
  check_bad_edges("0,1\n1,2147483647\n", 0, PLIM_ERROR_BAD_FORMAT, "line 2: column 3");
  check_bad_edges("0,1\n1,99999999999999999999\n", 0, PLIM_ERROR_BAD_FORMAT, "is not a node id");
  check_bad_edges("0,1\n1,4\n", 4, PLIM_ERROR_BAD_FORMAT, "line 2: column 3: \"4\" is outside [0, 4)");
  check_bad_edges("0,1.5\n", 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 3: \"1.5\"");
  check_bad_edges("0,1\n1\n", 0, PLIM_ERROR_BAD_FORMAT, "line 2: 1 fields, the lines before have 2");
  check_bad_edges("0,1\n1,2,3\n", 0, PLIM_ERROR_BAD_FORMAT, "line 2: 3 fields");
  check_bad_edges("0,1,2,3\n", 0, PLIM_ERROR_BAD_FORMAT, "line 1: 4 fields");
  check_bad_edges("0,,1\n", 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 3: \"\" is not a node id");
  check_bad_edges("0,1,-1\n", 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 5: \"-1\" is not a finite weight");
  check_bad_edges("0,1,nan\n", 0, PLIM_ERROR_BAD_FORMAT, "not a finite weight");
  check_bad_edges("0,1,1e39\n", 0, PLIM_ERROR_BAD_FORMAT, "not a finite weight");
  check_bad_edges("a,b\nc,d\n", 0, PLIM_ERROR_BAD_FORMAT, "line 2: column 1: \"c\"");
  check_bad_edges("", 0, PLIM_ERROR_BAD_FORMAT, "no edge");
  check_bad_edges("0,2000000000\n", 0, PLIM_ERROR_BAD_FORMAT, "2000000000");
  check_bad_edges("0,1\n", SIZE_MAX, PLIM_ERROR_INVALID_ARGUMENT, "num_nodes");
  check_bad_edges("\x01\x02\xff", 0, PLIM_ERROR_BAD_FORMAT, "line 1");
  line = (char *)check_alloc(100001, 1);
  memset(line, '1', 100000);
  check_bad_edges(line, 0, PLIM_ERROR_BAD_FORMAT, "line 1: the line is longer");
  free(line);
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_from_edge_list("/nowhere/edges.csv", 0, &graph));
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_from_edge_list(files_directory, 0, &graph));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "path", plim_graph_from_edge_list(NULL, 0, &graph));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "path", plim_graph_from_edge_list("", 0, &graph));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out", plim_graph_from_edge_list(files_path("edges"), 0, NULL));
  CHECK(graph == UNTOUCHED(plim_graph));
  files_remove("edges");
}

static void a_general_matrix_is_taken_by_rows(void) {
  static const float weighted[] = {20.0f, 0.0f, 300.0f, 1.0f}, ones[] = {10.0f, 0.0f, 100.0f, 1.0f};
  check_matrix(matrix("%%MatrixMarket matrix coordinate real general\n% made by hand\n\n4 4 3\n1 2 2.0\n3 3 3\n4 1 1e0\n"), 4,
               weighted);
  check_matrix(matrix("%%MatrixMarket MATRIX Coordinate pattern General\n4 4 3\n4 1\n1 2\n3 3\n"), 4, ones);
}

static void a_symmetric_matrix_is_undirected_edges(void) {
  static const float weighted[] = {20.0f, 2.0f, 300.0f, 0.0f}, ones[] = {10.0f, 1.0f, 100.0f, 0.0f};
  check_matrix(matrix("%%MatrixMarket matrix coordinate integer symmetric\n4 4 2\n2 1 2\n3 3 3\n"), 4, weighted);
  check_matrix(matrix("%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n"), 4, ones);
}

static void check_bad_matrix(const char *text, plim_status status, const char *fragment) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  files_write("graph.mtx", text, strlen(text));
  CHECK_FAILS(status, fragment, plim_graph_load(files_path("graph.mtx"), &graph));
  CHECK(graph == UNTOUCHED(plim_graph));
}

static void a_bad_matrix_is_named_by_line_and_column(void) {
#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
  check_bad_matrix("%%MatrixMarket\n", PLIM_ERROR_UNSUPPORTED, "line 1");
  check_bad_matrix("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", PLIM_ERROR_UNSUPPORTED, "array");
  check_bad_matrix("%%MatrixMarket matrix coordinate complex general\n", PLIM_ERROR_UNSUPPORTED, "complex");
  check_bad_matrix("%%MatrixMarket matrix coordinate real skew-symmetric\n", PLIM_ERROR_UNSUPPORTED, "skew-symmetric");
  check_bad_matrix(GENERAL, PLIM_ERROR_BAD_FORMAT, "no line of sizes");
  check_bad_matrix(GENERAL "4 4\n", PLIM_ERROR_BAD_FORMAT, "line 2: 2 fields instead of 3");
  check_bad_matrix(GENERAL "4 5 0\n", PLIM_ERROR_BAD_FORMAT, "line 2: 4 rows and 5 columns");
  check_bad_matrix(GENERAL "0 0 0\n", PLIM_ERROR_BAD_FORMAT, "num_nodes = 0");
  check_bad_matrix(GENERAL "2000000000 2000000000 0\n", PLIM_ERROR_BAD_FORMAT, "too many");
  check_bad_matrix(GENERAL "x 4 0\n", PLIM_ERROR_BAD_FORMAT, "line 2: column 1: \"x\" is not a count");
  check_bad_matrix(GENERAL "4 4 2\n1 2 1\n", PLIM_ERROR_BAD_FORMAT, "ends after 1 of 2 entries");
  check_bad_matrix(GENERAL "4 4 18446744073709551615\n1 2 1\n", PLIM_ERROR_BAD_FORMAT, "ends after 1");
  check_bad_matrix(GENERAL "4 4 1\n1 2 1\n1 3 1\n", PLIM_ERROR_BAD_FORMAT, "line 4: there are more entries");
  check_bad_matrix(GENERAL "4 4 1\n0 2 1\n", PLIM_ERROR_BAD_FORMAT, "line 3: column 1: \"0\" is outside [1, 4]");
  check_bad_matrix(GENERAL "4 4 1\n1 5 1\n", PLIM_ERROR_BAD_FORMAT, "line 3: column 3: \"5\" is outside [1, 4]");
  check_bad_matrix(GENERAL "4 4 1\n1 2\n", PLIM_ERROR_BAD_FORMAT, "line 3: 2 fields instead of 3");
  check_bad_matrix(GENERAL "4 4 1\n1 2 -3\n", PLIM_ERROR_BAD_FORMAT, "line 3: column 5: \"-3\"");
  files_remove("graph.mtx");
#undef GENERAL
}

int main(void) {
  RUN(edges_come_with_any_separator_header_and_comment);
  RUN(weights_add_up_and_self_loops_count_once);
  RUN(nodes_without_edges_are_told_by_the_caller);
  RUN(a_bad_edge_is_named_by_line_and_column);
  RUN(a_general_matrix_is_taken_by_rows);
  RUN(a_symmetric_matrix_is_undirected_edges);
  RUN(a_bad_matrix_is_named_by_line_and_column);
  files_close();
  return check_close();
}
