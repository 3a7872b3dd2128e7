/* Reads a large CSV file of transfers, `source,target,amount,time`, in one of three ways. Prints a JSON line.

       edge_list write=numbers path=file bytes=2e8 nodes=1e6    writes the file; write=names for text ids
       edge_list by=hand path=file      counts lines, and calls strtof for every field: what any reader does at least
       edge_list by=library path=file   plim_graph_from_edge_list_with(); names=1 for text ids. Also times
                                        plim_graph_from_edges() on the same edges, which is the part after the reading

   `seconds` are those of this process on a processor: all of this runs on one thread, and other processes disturb it less than the
   time on the wall, which is `wall_seconds`. */
#include "bench.h"

static double busy(void) {
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void write_file(const char *path, int names) {
    const double bytes = real("bytes", 2e8);
    const size_t nodes = whole("nodes", 1000000);
    uint64_t state = 1;
    FILE *file = fopen(path, "w");
    long written = 0;
    if (!file || fputs("source,target,amount,time\n", file) < 0) exit(1);
    for (size_t e = 0; (double)written < bytes; e++) {
        const char *prefix = names ? "acct-" : "";
        /* Some accounts are busier than others. */
        const size_t u = (size_t)((double)nodes * random_unit(&state) * random_unit(&state)), v = random_below(&state, nodes);
        const size_t cents = random_below(&state, 100000);
        const int length = fprintf(file, "%s%zu,%s%zu,%zu.%02zu,%zu\n", prefix, u, prefix, v, cents / 100, cents % 100, 1700000000 + e);
        if (length < 0) exit(1);
        written += length;
    }
    if (fclose(file)) exit(1);
}

static void read_by_hand(const char *path) {
    enum { BLOCK = 1 << 20 };
    char *block = room(BLOCK + 1, 1);
    const double start = busy(), wall = now();
    double sum = 0;
    size_t lines = 0, fields = 0, kept = 0;
    FILE *file = fopen(path, "r");
    if (!file) exit(1);
    for (size_t got; (got = fread(block + kept, 1, BLOCK - kept, file)) > 0;) {
        char *line = block, *end = block + kept + got, *newline;
        *end = '\0';
        while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
            for (char *field = line; field;) {
                char *comma = memchr(field, ',', (size_t)(newline - field));
                sum += (double)strtof(field, NULL);
                fields++;
                field = comma ? comma + 1 : NULL;
            }
            lines++;
            line = newline + 1;
        }
        kept = (size_t)(end - line);
        memmove(block, line, kept);
    }
    fclose(file);
    printf("{\"seconds\": %.6g, \"wall_seconds\": %.6g, \"lines\": %zu, \"fields\": %zu, \"sum\": %.6g}\n", busy() - start,
        now() - wall, lines, fields, sum);
}

/* The edges as arrays, read again without care. */
static size_t edges_of(const char *path, const plim_ids *ids, int32_t **sources, int32_t **targets, float **weights) {
    char line[256];
    size_t m = 0;
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) exit(1);
    const long begin = ftell(file);
    while (fgets(line, sizeof line, file)) m++;
    *sources = room(m, sizeof **sources), *targets = room(m, sizeof **targets), *weights = room(m, sizeof **weights);
    fseek(file, begin, SEEK_SET);
    for (size_t e = 0; e < m && fgets(line, sizeof line, file); e++) {
        const char *u = strtok(line, ","), *v = strtok(NULL, ",");
        if (ids) {
            CHECK(plim_ids_find(ids, u, &(*sources)[e]));
            CHECK(plim_ids_find(ids, v, &(*targets)[e]));
        } else {
            (*sources)[e] = atoi(u), (*targets)[e] = atoi(v);
        }
        (*weights)[e] = strtof(strtok(NULL, ","), NULL);
    }
    fclose(file);
    return m;
}

static void read_by_library(const char *path, int names) {
    plim_edge_list_options *options = NULL;
    plim_graph *graph = NULL, *again = NULL;
    plim_ids *ids = NULL;
    int32_t *sources, *targets;
    float *weights;
    CHECK(plim_edge_list_options_new(&options));
    CHECK(plim_edge_list_options_set_column_names(options, "source", "target", "amount"));
    reset_peak();
    const double start = busy(), wall_start = now();
    CHECK(plim_graph_from_edge_list_with(path, options, names ? &ids : NULL, &graph));
    const double seconds = busy() - start, wall = now() - wall_start, peak = status_bytes("VmHWM");
    const size_t m = edges_of(path, ids, &sources, &targets, &weights);
    const double middle = busy();
    CHECK(plim_graph_from_edges(plim_graph_num_nodes(graph), m, sources, targets, weights, &again));
    printf("{\"seconds\": %.6g, \"wall_seconds\": %.6g, \"building_seconds\": %.6g, \"peak_bytes\": %.0f, \"nodes\": %zu, "
           "\"lines\": %zu, \"edges\": %zu}\n",
        seconds, wall, busy() - middle, peak, plim_graph_num_nodes(graph), m, plim_graph_num_edges(graph));
}

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const char *path = text("path", "edges.csv"), *write = text("write", NULL);
    if (write) write_file(path, !strcmp(write, "names"));
    else if (!strcmp(text("by", "library"), "hand")) read_by_hand(path);
    else read_by_library(path, (int)whole("names", 0));
    return 0;
}
