/* Edge lists with options: separators, headers, columns, directions, repeated edges, names; and tables of names. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "sample.h"

/* The transfers of a bank, as it exports them. */
static const char *const transfers = "source,target,amount,time\r\n"
                                     "0,1,2.5,2024-01-01 10:00\r\n"
                                     "1,2,4,2024-01-01 10:05\r\n"
                                     "1,0,1.5,2024-01-02 09:00\r\n";

static char messages[4][256];
static size_t num_messages = 0;

static void note(void *user_data, int32_t level, const char *message) {
  CHECK(user_data == messages && level == PLIM_LOG_INFO);
  snprintf(messages[num_messages++ % 4], sizeof messages[0], "%s", message);
}

static plim_edge_list_options *fresh(void) {
  plim_edge_list_options *options = NULL;
  CHECK_OK(plim_edge_list_options_new(&options));
  return options;
}

/* Reads a text whose ids are numbers, and frees the options. */
static plim_graph *numbered(const char *text, plim_edge_list_options *options) {
  plim_graph *graph = NULL;
  files_write("edges", text, strlen(text));
  CHECK_OK(plim_graph_from_edge_list_with(files_path("edges"), options, NULL, &graph));
  plim_edge_list_options_free(options);
  return graph;
}

/* Reads a text whose ids are names, and frees the options. */
static plim_graph *named(const char *text, plim_edge_list_options *options, plim_ids **ids) {
  plim_graph *graph = NULL;
  files_write("edges", text, strlen(text));
  CHECK_OK(plim_graph_from_edge_list_with(files_path("edges"), options, ids, &graph));
  plim_edge_list_options_free(options);
  return graph;
}

static void check_name(const plim_ids *ids, int32_t id, const char *expected) {
  char name[64];
  int32_t found = -7;
  CHECK_OK(plim_ids_copy_name(ids, id, name, sizeof name));
  CHECK_TEXT(expected, name);
  CHECK_OK(plim_ids_find(ids, expected, &found));
  CHECK(found == id);
}

static void a_table_with_further_columns_is_read_by_the_names_of_its_columns(void) {
  static const float expected[] = {40.0f, 404.0f, 40.0f};
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_column_names(options, "source", "target", "amount"));
  check_matrix(numbered(transfers, options), 3, expected);
}

static void columns_count_from_zero(void) {
  static const float weighted[] = {40.0f, 404.0f, 40.0f}, ones[] = {10.0f, 101.0f, 10.0f};
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_columns(options, 1, 0, 2));
  check_matrix(numbered(transfers, options), 3, weighted);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_columns(options, 0, 1, -1));
  check_matrix(numbered(transfers, options), 3, ones);
}

static void a_header_that_nobody_asked_for_is_told_in_the_log(void) {
  static const float expected[] = {10.0f, 1.0f};
  plim_edge_list_options *options = fresh();
  num_messages = 0;
  CHECK_OK(plim_edge_list_options_set_log(options, PLIM_LOG_INFO, note, messages));
  check_matrix(numbered("\n# a comment\nacct7,acct9\n0,1\n", options), 2, expected);
  CHECK(num_messages == 2);
  CHECK(strstr(messages[0], "line 3 is a header and no edge: \"acct7\", \"acct9\"") != NULL);
  CHECK(strstr(messages[1], "4 lines, 1 of them comments; 1 edges, 1 different, on 2 nodes") != NULL);
}

static void check_bad(const char *text, plim_edge_list_options *options, int names, plim_status status,
                      const char *fragment) {
  plim_graph *graph = UNTOUCHED(plim_graph);
  plim_ids *ids = UNTOUCHED(plim_ids);
  files_write("edges", text, strlen(text));
  CHECK_FAILS(status, fragment,
              plim_graph_from_edge_list_with(files_path("edges"), options, names ? &ids : NULL, &graph));
  CHECK(graph == UNTOUCHED(plim_graph) && ids == UNTOUCHED(plim_ids));
}

static void a_first_line_with_a_number_is_never_a_header(void) {
  plim_edge_list_options *options = fresh();
  check_bad("a,b,3\n0,1,2\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 1: \"a\" is not a node id");
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_YES));
  check_bad("0,1\n1,2\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 1: \"0\" is a number");
  check_bad("a,b,3.5\nb,c,4\n", options, 1, PLIM_ERROR_BAD_FORMAT, "line 1: column 5: \"3.5\" is a number");
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  check_bad("source,target\n0,1\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 1: \"source\" is not a node id");
  plim_edge_list_options_free(options);
}

static void with_names_it_must_be_said_whether_there_is_a_header(void) {
  static const char *const text = "from,to\nann,bob\n";
  plim_edge_list_options *options = NULL;
  plim_ids *ids = NULL;
  check_bad(text, NULL, 1, PLIM_ERROR_INVALID_ARGUMENT, "say whether there is one");
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  plim_graph_free(named(text, options, &ids));
  CHECK(plim_ids_count(ids) == 4);
  check_name(ids, 0, "from");
  plim_ids_free(ids);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_YES));
  plim_graph_free(named(text, options, &ids));
  CHECK(plim_ids_count(ids) == 2);
  check_name(ids, 0, "ann");
  plim_ids_free(ids);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_column_names(options, "to", "from", NULL));
  plim_graph_free(named(text, options, &ids));
  check_name(ids, 0, "bob");
  plim_ids_free(ids);
}

static void names_are_numbered_as_they_appear_and_quotes_work(void) {
  static const float expected[] = {20.0f, 402.0f, 4.0f * 10.0f + 8.0f * 1000.0f, 800.0f};
  plim_edge_list_options *options = fresh();
  plim_ids *ids = NULL;
  CHECK_OK(plim_edge_list_options_set_column_names(options, "payer, \"short\"", "payee", "amount"));
  check_matrix(named("\xef\xbb\xbf\"payer, \"\"short\"\"\";note;amount;payee\r\n"
                   "Ann; hm ;2;\"Bob; Co.\"\r\n"
                   "\"Bob; Co.\";\"two\r\nlines\";4;\"Zo\xc3\xab \"\"Z\"\"\"\r\n"
                   "\r\n"
                   "\"Zo\xc3\xab \"\"Z\"\"\";;\"8\"; #4 \r\n",
                   options, &ids),
             4, expected);
  CHECK(plim_ids_count(ids) == 4);
  check_name(ids, 0, "Ann");
  check_name(ids, 1, "Bob; Co.");
  check_name(ids, 2, "Zo\xc3\xab \"Z\"");
  check_name(ids, 3, "#4");
  CHECK(plim_ids_name_size(ids) == sizeof "Bob; Co.");
  plim_ids_free(ids);
}

static void repeated_edges_become_what_the_options_say(void) {
  static const char *const text = "0,1,2\n1,0,8\n0,1,4\n1,1,3\n1,1,1\n";
  static const float sum[] = {140.0f, 54.0f}, count[] = {30.0f, 23.0f}, first[] = {20.0f, 32.0f}, max[] = {80.0f, 38.0f};
  static const float *const expected[] = {sum, count, first, max};
  for (int32_t repeated = PLIM_REPEATED_SUM; repeated <= PLIM_REPEATED_MAX; repeated++) {
    plim_edge_list_options *options = fresh();
    CHECK_OK(plim_edge_list_options_set_repeated(options, repeated));
    check_matrix(numbered(text, options), 2, expected[repeated]);
  }
}

static void transfers_between_two_accounts_can_be_counted(void) {
  static const float counted[] = {30.0f, 3.0f}, merged[] = {10.0f, 1.0f};
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_repeated(options, PLIM_REPEATED_COUNT));
  check_matrix(numbered("0 1\n0 1\n1 0\n", options), 2, counted);
  check_matrix(numbered("0 1\n0 1\n1 0\n", fresh()), 2, merged);
}

static void the_target_of_a_directed_edge_aggregates_from_its_source(void) {
  static const float expected[] = {0.0f, 5.0f, 10.0f}, first[] = {0.0f, 2.0f, 10.0f};
  static const char *const text = "0,1,2\n1,2,1\n0,1,3\n";
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_directed(options, 1));
  check_matrix(numbered(text, options), 3, expected);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_directed(options, 1));
  CHECK_OK(plim_edge_list_options_set_repeated(options, PLIM_REPEATED_FIRST));
  check_matrix(numbered(text, options), 3, first);
}

static void a_separator_of_ones_own_leaves_empty_fields(void) {
  static const float expected[] = {10.0f, 1.0f};
  static const struct {
    int32_t separator;
    const char *text;
  } cases[] = {{'\t', "0\t\t1\t\n"}, {'|', "0|x, y|1|\n"}, {' ', "0  1 \n"}, {';', "0;,;1;,\n"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    plim_edge_list_options *options = fresh();
    CHECK_OK(plim_edge_list_options_set_separator(options, cases[i].separator));
    CHECK_OK(plim_edge_list_options_set_columns(options, 0, 2, -1));
    check_matrix(numbered(cases[i].text, options), 2, expected);
  }
}

static void names_with_two_possible_separators_are_not_guessed_at(void) {
  plim_edge_list_options *options = fresh();
  plim_ids *ids = NULL;
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  check_bad("ann;bob;1,5\n", options, 1, PLIM_ERROR_BAD_FORMAT, "line 1: ',' and ';' could both separate");
  check_bad("ann\tbob, jr\n", options, 1, PLIM_ERROR_BAD_FORMAT, "line 1: ',' and a tab could both separate");
  plim_graph_free(named("ann a\tbob b\n", options, &ids));
  check_name(ids, 1, "bob b");
  plim_ids_free(ids);
}

static void comments_begin_as_the_options_say(void) {
  static const float expected[] = {10.0f, 1.0f};
  plim_edge_list_options *options = fresh();
  plim_ids *ids = NULL;
  CHECK_OK(plim_edge_list_options_set_comment(options, "//"));
  check_matrix(numbered("// a comment\n0,1\n  // another\n", options), 2, expected);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_comment(options, "//"));
  check_bad("0,1\n#1,0\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 2: column 1: \"#1\"");
  CHECK_OK(plim_edge_list_options_set_comment(options, ""));
  check_bad("0,1\n//\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 2: 1 fields");
  CHECK_OK(plim_edge_list_options_set_comment(options, NULL));
  check_matrix(numbered("0,1\n#1,0\n", options), 2, expected);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  CHECK_OK(plim_edge_list_options_set_comment(options, "%"));
  plim_graph_free(named("#7 #8\n% #9\n", options, &ids));
  CHECK(plim_ids_count(ids) == 2);
  plim_ids_free(ids);
}

static void the_number_of_nodes_can_be_told(void) {
  static const float expected[] = {10.0f, 1.0f, 0.0f};
  plim_edge_list_options *options = fresh();
  plim_ids *ids = NULL;
  CHECK_OK(plim_edge_list_options_set_num_nodes(options, 3));
  check_bad("0,3\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 1: column 3: \"3\" is outside [0, 3)");
  check_matrix(numbered("0,1\n", options), 3, expected);
  options = fresh();
  CHECK_OK(plim_edge_list_options_set_num_nodes(options, 3));
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  check_bad("a,b\nc,d\n", options, 1, PLIM_ERROR_BAD_FORMAT, "line 2: column 3: \"d\" is one more node than the 3");
  check_matrix(named("a,b\n", options, &ids), 3, expected);
  CHECK(plim_ids_count(ids) == 2);
  plim_ids_free(ids);
}

static void a_bad_line_is_named_with_its_text(void) {
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_column_names(options, "source", "target", "amount"));
  check_bad("source,target,amount,time\n0,1,2,x\n1,2,abc,x\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 3: column 5: \"abc\" is not a weight");
  check_bad("source,target,amount\n0,1,\"-1\"\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 2: column 5: \"-1\" is not a finite weight >= 0");
  check_bad("source,target,amount\n0,1,\"two\nlines\"\n0,1,2\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 2: column 5: \"two\\nlines\" is not a weight");
  check_bad("source,target,amount\n0,1,2\n0,1,\"2\n3\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 3: a quote is not closed");
  check_bad("source,target,amount\n\"0\"0,1,1\n", options, 1, PLIM_ERROR_BAD_FORMAT,
            "line 2: column 4: \"0,1,1\" follows a closing quote");
  check_bad("source,target,amount\nann,,1\n", options, 1, PLIM_ERROR_BAD_FORMAT, "line 2: column 5: \"\" is not a node id");
  check_bad("source,target,time\n0,1,2\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 1: there is no column \"amount\" in the header \"source\", \"target\", \"time\"");
  check_bad("source,target,amount,amount\n0,1,2,3\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 1: column 22: \"amount\" is the name of two columns");
  check_bad("source,target,amount\n0,1,2,3\n", options, 0, PLIM_ERROR_BAD_FORMAT,
            "line 2: 4 fields, the lines before have 3");
  CHECK_OK(plim_edge_list_options_set_columns(options, 0, 3, -1));
  check_bad("0,1,2\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 1: 3 fields, so there is no column 3");
  plim_edge_list_options_free(options);
  check_bad(transfers, NULL, 0, PLIM_ERROR_BAD_FORMAT, "line 1: 4 fields, where an edge has a source, a target");
  check_bad("source,target\n", NULL, 0, PLIM_ERROR_BAD_FORMAT, "there is no edge");
}

static void lines_in_quotes_are_counted_as_lines(void) {
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_columns(options, 0, 1, -1));
  check_bad("0,1,\"a\nb\nc\"\n0,x,d\n", options, 0, PLIM_ERROR_BAD_FORMAT, "line 4: column 3: \"x\"");
  plim_edge_list_options_free(options);
}

static void options_that_contradict_each_other_are_refused(void) {
  plim_edge_list_options *options = fresh();
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  CHECK_OK(plim_edge_list_options_set_column_names(options, "source", "target", NULL));
  check_bad(transfers, options, 0, PLIM_ERROR_INVALID_ARGUMENT, "no header");
  CHECK_OK(plim_edge_list_options_set_columns(options, 0, 1, 2));
  CHECK_OK(plim_edge_list_options_set_repeated(options, PLIM_REPEATED_COUNT));
  check_bad(transfers, options, 0, PLIM_ERROR_INVALID_ARGUMENT, "counted");
  plim_edge_list_options_free(options);
}

static void a_table_of_names_can_be_saved(void) {
  plim_edge_list_options *options = fresh();
  plim_ids *ids = NULL, *loaded = NULL;
  int32_t id = -7;
  bytes file;
  CHECK_OK(plim_edge_list_options_set_header(options, PLIM_HEADER_NO));
  plim_graph_free(named("ann,\"back\\slash\"\n\"two\nlines\",bob\n", options, &ids));
  CHECK_OK(plim_ids_save(ids, files_path("ids")));
  CHECK_OK(plim_ids_load(files_path("ids"), &loaded));
  CHECK(plim_ids_count(loaded) == 4 && plim_ids_name_size(loaded) == plim_ids_name_size(ids));
  check_name(loaded, 0, "ann");
  check_name(loaded, 1, "back\\slash");
  check_name(loaded, 2, "two\nlines");
  check_name(loaded, 3, "bob");
  CHECK_OK(plim_ids_find(loaded, "carl", &id));
  CHECK(id == -1);
  plim_ids_free(loaded);
  loaded = UNTOUCHED(plim_ids);
  file = files_read("ids");
  CHECK(memcmp(file.data, "plimsoll ids 1 4 ", 17) == 0);
  file.data[file.size - 2] ^= 1;
  files_write("ids", file.data, file.size);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "checksum", plim_ids_load(files_path("ids"), &loaded));
  file.data[13] = '2';
  files_write("ids", file.data, file.size);
  CHECK_FAILS(PLIM_ERROR_UNSUPPORTED, "version 2", plim_ids_load(files_path("ids"), &loaded));
  files_write("ids", "0,1\n", 4);
  CHECK_FAILS(PLIM_ERROR_BAD_FORMAT, "ids: not a table of ids", plim_ids_load(files_path("ids"), &loaded));
  CHECK_STATUS(PLIM_ERROR_IO, plim_ids_load("/nowhere/ids", &loaded));
  CHECK_STATUS(PLIM_ERROR_IO, plim_ids_save(ids, "/nowhere/ids"));
  CHECK(loaded == UNTOUCHED(plim_ids));
  free(file.data);
  plim_ids_free(ids);
  files_remove("ids");
}

int main(void) {
  RUN(a_table_with_further_columns_is_read_by_the_names_of_its_columns);
  RUN(columns_count_from_zero);
  RUN(a_header_that_nobody_asked_for_is_told_in_the_log);
  RUN(a_first_line_with_a_number_is_never_a_header);
  RUN(with_names_it_must_be_said_whether_there_is_a_header);
  RUN(names_are_numbered_as_they_appear_and_quotes_work);
  RUN(repeated_edges_become_what_the_options_say);
  RUN(transfers_between_two_accounts_can_be_counted);
  RUN(the_target_of_a_directed_edge_aggregates_from_its_source);
  RUN(a_separator_of_ones_own_leaves_empty_fields);
  RUN(names_with_two_possible_separators_are_not_guessed_at);
  RUN(comments_begin_as_the_options_say);
  RUN(the_number_of_nodes_can_be_told);
  RUN(a_bad_line_is_named_with_its_text);
  RUN(lines_in_quotes_are_counted_as_lines);
  RUN(options_that_contradict_each_other_are_refused);
  RUN(a_table_of_names_can_be_saved);
  files_remove("edges");
  files_close();
  return check_close();
}
