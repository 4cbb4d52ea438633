// bench — compares Millrace with TensorFlow and PyTorch: `bench [NAME...] [--rounds N] [--threads N] [--seconds N]
// [--millrace PATH] [--tensorflow PATH] [--torch PYTHON]`. A NAME is a bench or the beginning of one ("chain"); none
// means all of the small ones. See README.md.
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "busy.h"
#include "column.h"
#include "first.h"
#include "raw.h"
#include "workloads.h"

enum { COLUMNS = 5 };

static const Bench *const ALL[] = {
    &bench_chain_fixed,    &bench_chain_late,     &bench_chain_dynamic,     &bench_null_step,         &bench_loop,
    &bench_mlp,            &bench_mlp_theirs,     &bench_mlp_queue,         &bench_threads_null_1,
    &bench_threads_null_8,
    &bench_threads_mlp_1,  &bench_threads_mlp_8,  &bench_threads_forward_1, &bench_threads_forward_8, &bench_demo,
    &bench_demo_theirs,    &bench_shapes_1_1,     &bench_shapes_1_2,        &bench_shapes_1000_1,
    &bench_shapes_1000_2, &bench_shapes_10000_1, &bench_shapes_10000_2};
enum { ALL_COUNT = sizeof ALL / sizeof *ALL };

// TensorFlow's settings: as it comes, and the ways known to make small graphs fast. inter = -1 runs the step on the
// caller's own thread; the single-threaded executor refuses control flow.
static const Setting SETTINGS[COLUMNS] = {{"millrace", false, 0, 0, NULL, false},
                                          {"default", false, 0, 0, NULL, false},
                                          {"1 thread", true, 1, 1, NULL, false},
                                          {"caller's thread", true, 1, -1, NULL, false},
                                          {"single-threaded executor", true, 1, -1, "SINGLE_THREADED_EXECUTOR", false}};

const Bench *bench_find(const char *name) {
    for (int i = 0; i < ALL_COUNT; i++)
        if (!strcmp(ALL[i]->name, name))
            return ALL[i];
    return workload_find(name);
}

static double figure(const Bench *bench, const Column *column) {
    double seconds = column_median(column) / bench->items;
    return bench->unit == ITEMS_PER_SECOND ? 1 / seconds : seconds * (bench->unit == NS_PER_ITEM ? 1e9 : 1e6);
}

static void print_figure(const Column *column, double value) {
    if (column && column->rounds)
        printf(" %12.*f", value < 100 ? 2 : 0, value);
    else
        printf(" %12s", "-");
}

// One line of the table. The ratio says how many times faster Millrace is than TensorFlow at its best.
static void print_row(const char *name, const char *unit, bool higher, const Column *column, const double *value) {
    const Column *best = NULL;
    double best_value = 0;
    for (int i = 1; i < COLUMNS; i++) {
        if (column[i].rounds && (!best || (higher ? value[i] > best_value : value[i] < best_value))) {
            best = &column[i];
            best_value = value[i];
        }
    }
    printf("%-15s %-13s", name, unit);
    print_figure(&column[0], value[0]);
    print_figure(&column[1], value[1]);
    print_figure(best, best_value);
    if (best && column[0].rounds)
        printf(" %8.2fx", higher ? value[0] / best_value : best_value / value[0]);
    else
        printf(" %9s", "-");
    printf("  %s\n", best ? best->setting.name : "");
}

static void check_values(const Column *column) {
    for (int i = 2; i < COLUMNS; i++)
        if (column[1].rounds && column[i].rounds && fabs(column[i].value - column[1].value) > 1e-3)
            printf("    %s computed %g instead of %g\n", column[i].setting.name, column[i].value, column[1].value);
    if (column[0].rounds && column[1].rounds &&
        fabs(column[0].value - column[1].value) > 1e-4 * (1 + fabs(column[1].value)))
        printf("    WRONG: millrace computed %.9g, TensorFlow %.9g\n", column[0].value, column[1].value);
}

// A bench whose graph TensorFlow's Python writes is left out where it has not been written.
static bool has_graph(const Bench *bench) {
    GraphDef g = {0};
    bench->graph(&g);
    graphdef_finish(&g);
    bool found = g.bytes.size > 0;
    graphdef_clear(&g);
    return found;
}

static void measure(const Bench *bench, Column *column, int rounds) {
    for (int i = 0; i < COLUMNS; i++)
        if (column[i].pid)
            column_ask(&column[i], "open ", bench->name);
    for (int i = 0; i < COLUMNS; i++) {
        column[i].rounds = 0;
        column[i].open = column[i].pid && column_reply(&column[i]);
        if (column[i].open)
            column[i].value = atof(column[i].line + strlen("value "));
        // Only the single-threaded executor is expected to refuse a graph.
        else if (column[i].pid && !column[i].setting.executor)
            printf("    %s, %s: %s\n", bench->name, i ? column[i].setting.name : "millrace", column[i].line);
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < COLUMNS; i++) {
            if (!column[i].open)
                continue;
            column_ask(&column[i], "round", "");
            if (column_reply(&column[i]))
                column[i].round[column[i].rounds++] = atof(column[i].line + strlen("seconds "));
        }
    }
    static const char *const UNITS[] = {"ns/", "us/", "/s"};
    char unit[32];
    if (bench->unit == ITEMS_PER_SECOND)
        snprintf(unit, sizeof unit, "%ss%s", bench->item, UNITS[2]);
    else
        snprintf(unit, sizeof unit, "%s%s", UNITS[bench->unit], bench->item);
    double value[COLUMNS] = {0};
    for (int i = 0; i < COLUMNS; i++)
        if (column[i].rounds)
            value[i] = figure(bench, &column[i]);
    print_row(bench->name, unit, bench->unit == ITEMS_PER_SECOND, column, value);
    check_values(column);
    fflush(stdout);
    for (int i = 0; i < COLUMNS; i++)
        if (column[i].pid) {
            column_ask(&column[i], "close", "");
            column_reply(&column[i]);
        }
}

// From the start of a process to the first number it computes: exec, load, graph, session, one step.
static void measure_startup(const Column *like, int rounds) {
    Column column[COLUMNS];
    double value[COLUMNS] = {0};
    for (int i = 0; i < COLUMNS; i++)
        column[i] = (Column){.library = i < 2 ? like[i].library : NULL, .setting = like[i].setting};
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 2; i++) {
            if (!column[i].library)
                continue;
            double begin = now_seconds();
            if (column_start(&column[i]) && column_reply(&column[i])) {
                column_ask(&column[i], "first ", "null_step");
                if (column_reply(&column[i]))
                    column[i].round[column[i].rounds++] = now_seconds() - begin;
            }
            column_stop(&column[i]);
        }
    }
    for (int i = 0; i < 2; i++)
        if (column[i].rounds)
            value[i] = column_median(&column[i]) * 1e3;
    print_row("startup", "ms", false, column, value);
}

static void print_machine(int threads) {
    char line[4096], model[128] = "unknown CPU";
    const char *level = "x86-64";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "model name", 10) && strchr(line, ':'))
            snprintf(model, sizeof model, "%s", strchr(line, ':') + 2);
        if (!strncmp(line, "flags", 5))
            level = strstr(line, " avx512f") ? "AVX-512" : strstr(line, " avx2") ? "AVX2" : level;
    }
    if (file)
        fclose(file);
    model[strcspn(model, "\n")] = 0;
    printf("%s, %s, %ld cores, threads %s", model, level, sysconf(_SC_NPROCESSORS_ONLN),
           threads ? "" : "as it comes\n");
    if (threads)
        printf("%d\n", threads);
}

// The TensorFlow that `python3` would import, found without importing it.
static const char *find_tensorflow(void) {
    static char path[4096];
    const char *given = getenv("TENSORFLOW_LIBRARY");
    if (given)
        return given;
    FILE *python = popen("python3 -c \"import importlib.util as u; s = u.find_spec('tensorflow'); "
                         "print(list(s.submodule_search_locations)[0] + '/libtensorflow_cc.so.2')\" 2>/dev/null", "re");
    bool found = python && fgets(path, sizeof path, python);
    if (python)
        pclose(python);
    path[strcspn(path, "\n")] = 0;
    return found && !access(path, R_OK) ? path : NULL;
}

static const char *find_millrace(void) {
    static char path[4096];
    const char *given = getenv("MILLRACE_LIBRARY");
    if (given)
        return given;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    path[n < 0 ? 0 : n] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, "/../lib/libtensorflow.so.2");
    return access(path, R_OK) ? NULL : path;
}

static bool parse(int argc, char **argv, Options *out) {
    *out = (Options){.millrace = find_millrace(), .rounds = 9, .seconds = 60, .torch = getenv("TORCH_PYTHON")};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) && out->count < 32) {
            out->names[out->count++] = word;
            continue;
        }
        if (++i == argc)
            return false;
        if (!strcmp(word, "--rounds"))
            out->rounds = atoi(argv[i]);
        else if (!strcmp(word, "--threads"))
            out->threads = atoi(argv[i]);
        else if (!strcmp(word, "--seconds"))
            out->seconds = atof(argv[i]);
        else if (!strcmp(word, "--torch"))
            out->torch = argv[i];
        else if (!strcmp(word, "--millrace"))
            out->millrace = argv[i];
        else if (!strcmp(word, "--tensorflow"))
            out->tensorflow = argv[i];
        else
            return false;
    }
    if (!out->tensorflow)
        out->tensorflow = find_tensorflow();
    if (out->tensorflow && !strcmp(out->tensorflow, "none"))
        out->tensorflow = NULL;
    if (out->torch && !strcmp(out->torch, "none"))
        out->torch = NULL;
    out->rounds = out->rounds < 1 ? 1 : out->rounds > ROUNDS_MAX ? ROUNDS_MAX : out->rounds;
    return true;
}

bool bench_wanted(const Options *options, const char *name) {
    for (int i = 0; i < options->count; i++)
        if (!strncmp(name, options->names[i], strlen(options->names[i])))
            return true;
    return !options->count;
}

static void start_columns(Column *column, const Options *options) {
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = (Column){.library = i ? options->tensorflow : options->millrace, .setting = SETTINGS[i]};
        if (options->threads) {
            column[i].setting.intra = options->threads;
            column[i].setting.inter = column[i].setting.inter < 0 ? -1 : options->threads;
        }
        if (column[i].library && !column_start(&column[i]))
            column_stop(&column[i]);
    }
    for (int i = 0; i < COLUMNS; i++) {
        if (column[i].pid && !column_reply(&column[i])) {
            printf("    %s: %s\n", column[i].library, column[i].line);
            column_stop(&column[i]);
            column[i].library = NULL;
        } else if (column[i].pid && i < 2)
            printf("%s: version %s\n", i ? "TensorFlow" : "Millrace", column[i].line + strlen("library "));
    }
}

static void small_benches(const Options *options) {
    Column column[COLUMNS];
    start_columns(column, options);
    printf("median of %d rounds, turn by turn; ratio: Millrace to TensorFlow's best\n", options->rounds);
    printf("%-15s %-13s %12s %12s %12s %9s  %s\n", "bench", "unit", "Millrace", "TF default", "TF best", "ratio",
           "TF best setting");
    fflush(stdout);
    for (int i = 0; i < ALL_COUNT; i++)
        if (bench_wanted(options, ALL[i]->name) && has_graph(ALL[i]))
            measure(ALL[i], column, options->rounds);
    for (int i = 0; i < COLUMNS; i++)
        column_stop(&column[i]);
    if (bench_wanted(options, "startup"))
        measure_startup(column, options->rounds);
}

int main(int argc, char **argv) {
    if (argc == 7 && !strcmp(argv[1], "--child")) {
        Setting setting = {"", false, atoi(argv[3]), atoi(argv[4]), *argv[5] ? argv[5] : NULL, *argv[6] == '1'};
        return child_main(argv[2], &setting);
    }
    if (argc == 4 && !strcmp(argv[1], "--raw"))
        return raw_main(argv[2], atoi(argv[3]));
    if (argc == 4 && !strcmp(argv[1], "--first"))
        return first_main(argv[2], atoi(argv[3]));
    Options options;
    if (!parse(argc, argv, &options)) {
        fprintf(stderr, "bench [NAME...] [--rounds N] [--threads N] [--seconds N] [--millrace PATH] "
                        "[--tensorflow PATH|none] [--torch PYTHON|none]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    print_machine(options.threads);
    if (!options.millrace)
        printf("no Millrace library: build it or give --millrace PATH\n");
    if (!options.tensorflow)
        printf("no TensorFlow: its columns stay empty (give --tensorflow PATH)\n");
    bool first = options.count && bench_wanted(&options, "first");
    if (first)
        first_run(&options);
    bool small = bench_wanted(&options, "startup");
    for (int i = 0; i < ALL_COUNT; i++)
        small = small || bench_wanted(&options, ALL[i]->name);
    bool busy = busy_run(&options);
    if ((!workloads_run(&options) && !busy && !first) || small)
        small_benches(&options);
    return 0;
}
