/* Wrong arguments for options of edge lists and for tables of names: the status, the message, and no effect. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "handles.h"

static plim_edge_list_options *options = NULL;
static plim_ids *ids = NULL;
static plim_graph *graph = UNTOUCHED(plim_graph);
static plim_ids *made = UNTOUCHED(plim_ids);
static int32_t found = 0x55555555;
static char name[8] = "kept";

static int untouched(void) {
  return graph == UNTOUCHED(plim_graph) && made == UNTOUCHED(plim_ids) && found == 0x55555555 && strcmp(name, "kept") == 0;
}

static plim_status set_separator(void *h) { return plim_edge_list_options_set_separator((plim_edge_list_options *)h, ','); }
static plim_status set_header(void *h) { return plim_edge_list_options_set_header((plim_edge_list_options *)h, 1); }
static plim_status set_columns(void *h) {
  return plim_edge_list_options_set_columns((plim_edge_list_options *)h, 0, 1, -1);
}
static plim_status set_column_names(void *h) {
  return plim_edge_list_options_set_column_names((plim_edge_list_options *)h, "a", "b", NULL);
}
static plim_status set_directed(void *h) { return plim_edge_list_options_set_directed((plim_edge_list_options *)h, 1); }
static plim_status set_repeated(void *h) { return plim_edge_list_options_set_repeated((plim_edge_list_options *)h, 1); }
static plim_status set_comment(void *h) { return plim_edge_list_options_set_comment((plim_edge_list_options *)h, "#"); }
static plim_status set_num_nodes(void *h) { return plim_edge_list_options_set_num_nodes((plim_edge_list_options *)h, 9); }
static plim_status set_log(void *h) {
  return plim_edge_list_options_set_log((plim_edge_list_options *)h, PLIM_LOG_INFO, NULL, NULL);
}
static plim_status ids_save(void *h) { return plim_ids_save((plim_ids *)h, files_path("never-written")); }
static plim_status ids_find(void *h) { return plim_ids_find((plim_ids *)h, "ann", &found); }
static plim_status ids_copy_name(void *h) { return plim_ids_copy_name((plim_ids *)h, 0, name, sizeof name); }

FUNCTIONS(untouched, FUNCTION("options", set_separator), FUNCTION("options", set_header),
          FUNCTION("options", set_columns), FUNCTION("options", set_column_names), FUNCTION("options", set_directed),
          FUNCTION("options", set_repeated), FUNCTION("options", set_comment), FUNCTION("options", set_num_nodes),
          FUNCTION("options", set_log), FUNCTION("ids", ids_save), FUNCTION("ids", ids_find),
          FUNCTION("ids", ids_copy_name));

static void handles_must_be_live_and_of_their_type(void) {
  plim_edge_list_options *freed = NULL;
  plim_ids *gone = NULL;
  CHECK_OK(plim_edge_list_options_new(&freed));
  plim_edge_list_options_free(freed);
  CHECK_OK(plim_ids_save(ids, files_path("ids")));
  CHECK_OK(plim_ids_load(files_path("ids"), &gone));
  plim_ids_free(gone);
  plim_ids_free(gone);
  plim_edge_list_options_free(freed);
  handles_foreign(&functions, "options");
  handles_foreign(&functions, "ids");
  handles_refused(&functions, "options", freed, "freed");
  handles_refused(&functions, "options", ids, "a table of ids");
  handles_refused(&functions, "ids", gone, "freed");
  handles_refused(&functions, "ids", options, "options");
  CHECK(plim_ids_count(gone) == 0 && plim_ids_name_size(gone) == 0 && plim_ids_count(NULL) == 0);
  CHECK_FAILS(PLIM_ERROR_INVALID_HANDLE, "options",
              plim_graph_from_edge_list_with(files_path("edges"), freed, NULL, &graph));
  CHECK_FAILS(PLIM_ERROR_INVALID_HANDLE, "options",
              plim_graph_from_edge_list_with(files_path("edges"), (plim_edge_list_options *)(void *)ids, &made, &graph));
  CHECK(untouched());
  files_remove("ids");
}

#define REFUSED(fragment, call) CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, fragment, call)

static void every_option_has_its_range(void) {
  static const int32_t separators[] = {-1, 10, 13, '0', 'a', '"', '.', '-', '+', 127, 128, 255, 256, INT32_MAX};
  for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++) {
    REFUSED("separator", plim_edge_list_options_set_separator(options, separators[i]));
  }
  REFUSED("header = 3", plim_edge_list_options_set_header(options, 3));
  REFUSED("header = -1", plim_edge_list_options_set_header(options, -1));
  REFUSED("repeated = 4", plim_edge_list_options_set_repeated(options, 4));
  REFUSED("source = -1", plim_edge_list_options_set_columns(options, -1, 0, 1));
  REFUSED("target = 65536", plim_edge_list_options_set_columns(options, 0, 65536, 1));
  REFUSED("weight = -2", plim_edge_list_options_set_columns(options, 0, 1, -2));
  REFUSED("column 1 is used twice", plim_edge_list_options_set_columns(options, 1, 1, -1));
  REFUSED("column 0 is used twice", plim_edge_list_options_set_columns(options, 0, 1, 0));
  REFUSED("empty", plim_edge_list_options_set_column_names(options, "", "b", NULL));
  REFUSED("empty", plim_edge_list_options_set_column_names(options, "a", "b", ""));
  REFUSED("twice", plim_edge_list_options_set_column_names(options, "a", "a", NULL));
  REFUSED("twice", plim_edge_list_options_set_column_names(options, "a", "b", "b"));
  REFUSED("comment", plim_edge_list_options_set_comment(options, "a b"));
  REFUSED("comment", plim_edge_list_options_set_comment(options, "\""));
  REFUSED("num_nodes", plim_edge_list_options_set_num_nodes(options, (size_t)INT32_MAX + 1));
  REFUSED("level = 4", plim_edge_list_options_set_log(options, 4, NULL, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "source", plim_edge_list_options_set_column_names(options, NULL, "b", NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "target", plim_edge_list_options_set_column_names(options, "a", NULL, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out", plim_edge_list_options_new(NULL));
  /* None of this has changed the options. */
  CHECK_OK(plim_graph_from_edge_list_with(files_path("edges"), options, NULL, &graph));
  CHECK(plim_graph_num_edges(graph) == 2);
  plim_graph_free(graph);
  graph = UNTOUCHED(plim_graph);
}

static void pointers_and_ids_are_checked(void) {
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "path", plim_graph_from_edge_list_with(NULL, options, &made, &graph));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out", plim_graph_from_edge_list_with(files_path("edges"), options, &made, NULL));
  REFUSED("path", plim_graph_from_edge_list_with("", options, &made, &graph));
  CHECK_STATUS(PLIM_ERROR_IO, plim_graph_from_edge_list_with("/nowhere/edges", options, NULL, &graph));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "name", plim_ids_find(ids, NULL, &found));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out", plim_ids_find(ids, "ann", NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "path", plim_ids_save(ids, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "path", plim_ids_load(NULL, &made));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out", plim_ids_load(files_path("edges"), NULL));
  REFUSED("id = -1 is outside [0, 3)", plim_ids_copy_name(ids, -1, name, sizeof name));
  REFUSED("id = 3 is outside [0, 3)", plim_ids_copy_name(ids, 3, name, sizeof name));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "4 are needed", plim_ids_copy_name(ids, 0, name, 3));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "dst", plim_ids_copy_name(ids, 0, NULL, 4));
  CHECK(untouched());
}

int main(void) {
  plim_edge_list_options *names = NULL;
  files_write("edges", "ann,bob\nbob,carl\n", 17);
  CHECK_OK(plim_edge_list_options_new(&names));
  CHECK_OK(plim_edge_list_options_set_header(names, PLIM_HEADER_NO));
  CHECK_OK(plim_graph_from_edge_list_with(files_path("edges"), names, &ids, &graph));
  plim_edge_list_options_free(names);
  plim_graph_free(graph);
  graph = UNTOUCHED(plim_graph);
  CHECK_OK(plim_edge_list_options_new(&options));
  files_write("edges", "0,1\n1,2\n", 8);
  RUN(every_option_has_its_range);
  RUN(pointers_and_ids_are_checked);
  /* Last, since it changes the options. */
  RUN(handles_must_be_live_and_of_their_type);
  plim_edge_list_options_free(options);
  plim_ids_free(ids);
  files_remove("edges");
  files_close();
  return check_close();
}
