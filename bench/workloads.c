// Workloads — see workloads.h. The graphs are files: examples/c writes them, for bench.py, with Millrace's own layers.
#define _GNU_SOURCE
#include "workloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"

typedef struct Workload {
    const char *name, *file;
    WorkloadFeed feeds[4];
    const char *fetch, *target;    // `target` may be NULL
    const char *item;
    double items;            // of one step
    double bound;            // of our time in that of the best other
    double memory_bound;     // of our peak memory in TensorFlow's; 0: not looked at
} Workload;

#define IMAGES(batch, size, channels) {"images", TF_FLOAT, 4, {(batch), (size), (size), (channels)}, 0}
#define LABELS(batch, classes) {"labels", TF_INT32, 1, {(batch)}, (classes)}
#define INTS(name, n, most) {(name), TF_INT32, 1, {(n)}, (most)}
#define INTS2(name, n, m, most) {(name), TF_INT32, 2, {(n), (m)}, (most)}
#define NET(name, file, batch, size, channels, classes, bound)                                                   \
    {(name), (file), {IMAGES(batch, size, channels), LABELS(batch, classes)}, "loss", "train_step", "image", (batch), \
     (bound), 0.6}

#define LM_BOUND (1 / 1.3)  // 1.3 times the words in a second
#define TWINS(name, file, theirs, batch, size, channels, classes, bound)                  \
    NET(name, file, batch, size, channels, classes, bound),                               \
    NET(name ".theirs", theirs, batch, size, channels, classes, bound)
#define WORDS(n) {INTS2("words", 20, 16, n), INTS("next", 320, n)}

#define X(batch) {"x", TF_FLOAT, 3, {(batch), 40, 128}, 0}
#define RNN_ROW(name, file, batch, target) {(name), (file), {X(batch), INTS("lengths", batch, 41)}, "loss", (target), "step", 1, 0.5, 0}
#define RNN_OF(kind, batch) \
    RNN_ROW("rnn." kind "." #batch, "rnn_" kind ".pb", batch, NULL), \
    RNN_ROW("rnn." kind ".train." #batch, "rnn_" kind "_train.pb", batch, "train_step")
#define RNN(kind) RNN_OF(kind, 1), RNN_OF(kind, 8), RNN_OF(kind, 64)

static const Workload WORKLOADS[] = {
    TWINS("convnets.mnist", "mnist.pb", "mnist_theirs.pb", 64, 28, 1, 10, 0.65),
    TWINS("convnets.alexnet", "alexnet.pb", "alexnet_theirs.pb", 32, 224, 3, 1000, 0.85),
    TWINS("convnets.overfeat", "overfeat.pb", "overfeat_theirs.pb", 16, 231, 3, 1000, 0.85),
    TWINS("convnets.vgg", "vgg.pb", "vgg_a_theirs.pb", 16, 224, 3, 1000, 0.75),
    TWINS("convnets.googlenet", "googlenet.pb", "googlenet_theirs.pb", 16, 224, 3, 1000, 0.85),
    TWINS("convnets.resnet50", "resnet50.pb", "resnet50_theirs.pb", 8, 224, 3, 1000, 0.85),
    TWINS("convnets.inception3", "inception3.pb", "inception3_theirs.pb", 8, 299, 3, 1000, 0.85),
    {"infer.resnet50.constants", "resnet50_frozen.pb", {IMAGES(1, 224, 3)}, "answer", NULL, "image", 1, 1, 0},
    {"infer.resnet50.variables", "resnet50_answers.pb", {IMAGES(1, 224, 3)}, "answer", NULL, "image", 1, 1, 0},
    {"infer.inception3.constants", "inception3_frozen.pb", {IMAGES(1, 299, 3)}, "answer", NULL, "image", 1, 1, 0},
    {"infer.inception3.variables", "inception3_answers.pb", {IMAGES(1, 299, 3)}, "answer", NULL, "image", 1, 1, 0},
    {"lm.full", "lm_full.pb", WORDS(40000), "loss", "train_step", "word", 320, LM_BOUND, 0.6},
    {"lm.full.theirs", "lstm_full_theirs.pb", {INTS2("words", 21, 16, 40000)}, "loss", "train_step", "word", 320,
     LM_BOUND, 0.6},
    {"lm.sampled", "lm_sampled.pb", WORDS(40000), "loss", "train_step", "word", 320, LM_BOUND, 0.6},
    {"lm.sampled.theirs", "lstm_sampled_theirs.pb", {INTS2("words", 21, 16, 40000)}, "loss", "train_step", "word", 320,
     LM_BOUND, 0.6},
    {"word2vec", "word2vec.pb", {INTS("center", 128, 50000), INTS("context", 128, 50000)}, "loss", "train_step", "step",
     1, 0.4, 0.6},
    {"word2vec.theirs", "word2vec_nce_theirs.pb", {INTS("words", 128, 50000), INTS2("neighbours", 128, 1, 50000)},
     "loss", "train_step", "step", 1, 0.4, 0.6},
    RNN("dynamic"), RNN("bidirectional"), RNN("lengths"), RNN("keras_lstm"), RNN("keras_gru"), RNN("keras_both"),
    TWINS("mlp_big", "mlp_big.pb", "mlp_big_theirs.pb", 128, 28, 1, 10, 0.85),
};
enum { WORKLOAD_COUNT = sizeof WORKLOADS / sizeof *WORKLOADS };

// ---------------------------------------- in the child

static const Workload *find(const char *name) {
    for (int i = 0; i < WORKLOAD_COUNT; i++)
        if (!strcmp(WORKLOADS[i].name, name))
            return &WORKLOADS[i];
    return NULL;
}

const WorkloadFeed *workload_feed(const char *name, int i) {
    const Workload *workload = find(name);
    return workload && workload->feeds[i].name ? &workload->feeds[i] : NULL;
}

bool workload_graph(const char *name, GraphDef *g) {
    const Workload *workload = find(name);
    if (workload && !graphdef_read(g, workload->file))
        g->whole = true;
    return workload != NULL;
}

static TF_Tensor *make(Run *run, const WorkloadFeed *feed) {
    if (feed->dtype == TF_FLOAT)
        return tensor_new(run, TF_FLOAT, feed->rank, feed->dims, NULL);
    size_t n = 1;
    for (int i = 0; i < feed->rank; i++)
        n *= (size_t)feed->dims[i];
    int32_t *values = calloc(n + 1, sizeof *values);
    uint32_t state = 1;
    for (size_t i = 0; values && i < n; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = (int32_t)((int64_t)(state >> 8) * feed->most >> 24);
    }
    TF_Tensor *tensor = tensor_new(run, TF_INT32, feed->rank, feed->dims, values);
    free(values);
    return tensor;
}

static void prepare(Run *run) {
    const Workload *workload = find(run->bench->name);
    if (run->api->TF_GraphOperationByName(run->graph, "init")) {
        Step init = {0};
        step_target(run, &init, "init");
        step_run(run, &init, run->status, NULL);
    }
    Step *step = run->own = calloc(1, sizeof *step);
    for (const WorkloadFeed *feed = workload->feeds; feed->name; feed++)
        if (run->api->TF_GraphOperationByName(run->graph, feed->name))
            step_feed(run, step, feed->name, make(run, feed));
    step_fetch(run, step, workload->fetch);
    if (workload->target)
        step_target(run, step, workload->target);
}

static bool steps(Run *run, int n, double *out_first) {
    for (int i = 0; i < n; i++)
        if (!step_run(run, run->own, run->status, out_first))
            return false;
    return true;
}

static void release(Run *run) {
    if (run->own)
        step_release(run, run->own);
    free(run->own);
}

const Step *workload_step(const Run *run) {
    return run->bench && find(run->bench->name) ? run->own : NULL;
}

const Bench *workload_find(const char *name) {
    static Bench bench;
    const Workload *workload = find(name);
    bench = (Bench){.name = workload ? workload->name : NULL, .prepare = prepare, .steps = steps, .release = release};
    return workload ? &bench : NULL;
}

// ---------------------------------------- in the parent

enum { OURS, TF_PLAIN, TF_SERIAL, PEER, RAW, KINDS };

typedef struct Figures {
    double seconds[KINDS], memory[KINDS], arena, lower;
    int rounds;
} Figures;

static bool open_column(const Workload *workload, Column *column) {
    if (!column_reply(column)) {
        column_stop(column);
        return false;
    }
    column_ask(column, "open ", workload->name);
    column->open = column_reply(column);
    if (column->open)
        column->value = atof(column->line + strlen("value "));
    else if (!column->raw)  // it knows no shapes that only the step itself finds out
        printf("    %s, %s: %s\n", workload->name, column->setting.name, column->line);
    return column->open;
}

static void take_memory(Column *column, double *memory, double *arena, double *lower) {
    column_ask(column, "memory", "");
    if (column_reply(column))
        sscanf(column->line, "memory %lf %lf %lf", memory, arena, lower);
}

static void check_values(const Column *columns) {
    for (int i = TF_PLAIN; i <= TF_SERIAL; i++)
        if (columns[OURS].open && columns[i].open &&
            fabs(columns[i].value - columns[OURS].value) > 0.02 * (1 + fabs(columns[i].value)))
            printf("    WRONG: millrace computed %.6g, TensorFlow %.6g\n", columns[OURS].value, columns[i].value);
}

// The processes start one after the other: none is loading while another warms up.
static void measure(const Workload *workload, const Options *options, int threads, const char *script, Figures *out) {
    Column columns[KINDS] = {
        {.library = options->millrace, .setting = {"millrace", false, threads, threads, NULL, true}},
        {.library = options->tensorflow, .setting = {"TensorFlow", false, threads, threads, NULL, true}},
        {.library = options->tensorflow, .setting = {"TensorFlow, inter 1", false, threads, 1, NULL, true}},
        {.library = options->torch, .script = script, .setting = {"peer", false, threads, 0, NULL, false}},
        {.library = options->millrace, .raw = true, .setting = {"raw", false, threads, 0, NULL, false}}};
    *out = (Figures){0};
    for (int i = 0; i < KINDS; i++)
        if (columns[i].library && (i != TF_SERIAL || threads > 1) && column_start(&columns[i])) {
            open_column(workload, &columns[i]);
            column_pause(&columns[i]);
        }
    double begin = now_seconds();
    for (int round = 0; round < options->rounds && (!round || now_seconds() - begin < options->seconds); round++) {
        for (int i = 0; i < KINDS; i++) {
            if (!columns[i].open)
                continue;
            column_resume(&columns[i]);
            column_ask(&columns[i], "round", "");
            if (column_reply(&columns[i]))
                columns[i].round[columns[i].rounds++] = atof(columns[i].line + strlen("seconds "));
            else
                columns[i].open = false;
            column_pause(&columns[i]);
        }
        out->rounds = round + 1;
    }
    check_values(columns);
    for (int i = 0; i < KINDS; i++) {
        double arena = 0, lower = 0;
        column_resume(&columns[i]);
        if (columns[i].open)
            take_memory(&columns[i], &out->memory[i], &arena, &lower);
        if (i == OURS) {
            out->arena = arena;
            out->lower = lower;
        }
        out->seconds[i] = column_median(&columns[i]);
        column_stop(&columns[i]);
    }
}

static double smaller(double a, double b) {
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

static void print_time(double seconds) {
    if (seconds > 0)
        printf(" %9.*f", seconds < 0.1 ? 2 : 1, seconds * 1e3);
    else
        printf(" %9s", "-");
}

static void print_ratio(double ours, double best, double bound) {
    if (ours > 0 && best > 0)
        printf(" %6.2f", ours / best);
    else
        printf(" %6s", "-");
    if (bound > 0)
        printf(" <=%4.2f", bound);
    else
        printf(" %6s", "");
}

static void print_row(const Workload *workload, int threads, const Figures *f) {
    double theirs = smaller(f->seconds[TF_PLAIN], f->seconds[TF_SERIAL]);
    double memory = smaller(f->memory[TF_PLAIN], f->memory[TF_SERIAL]);
    printf("%-26s %2d", workload->name, threads);
    print_time(f->seconds[OURS]);
    print_time(theirs);
    print_time(f->seconds[PEER]);
    print_time(f->seconds[RAW]);
    print_ratio(f->seconds[OURS], smaller(theirs, f->seconds[PEER]), workload->bound);
    if (f->seconds[OURS] > 0)
        printf(" %9.*f %ss/s", workload->items / f->seconds[OURS] < 100, workload->items / f->seconds[OURS],
               workload->item);
    printf("  %5.0f %5.0f MB", f->memory[OURS] / 1e6, memory / 1e6);
    print_ratio(f->memory[OURS], memory, workload->memory_bound);
    if (f->lower > 0)
        printf("  %4.2f", f->arena / f->lower);
    printf("  (%d)\n", f->rounds);
    fflush(stdout);
}

static bool has_graph(const Workload *workload) {
    GraphDef g = {0};
    workload_graph(workload->name, &g);
    bool found = g.bytes.size > 0;
    graphdef_clear(&g);
    if (!found)
        printf("%-26s no graph: bench.py makes %s\n", workload->name, workload->file);
    return found;
}

bool workloads_run(const Options *options) {
    const char *script = getenv("BENCH_PEER");
    bool any = false;
    for (int i = 0; i < WORKLOAD_COUNT && options->count; i++) {
        const Workload *workload = &WORKLOADS[i];
        if (!bench_wanted(options, workload->name))
            continue;
        if (!any)
            printf("medians of at most %d rounds, turn by turn; ratios: ours to the best other's, and what they may be\n"
                   "%-26s %2s %9s %9s %9s %9s %13s %16s  %14s %13s  %s\n", options->rounds, "ms per step", "T",
                   "Millrace",
                   "TF", "peer", "raw", "ratio", "ours", "peak memory", "ratio", "arena / lower bound (rounds)");
        any = true;
        if (!has_graph(workload))
            continue;
        double one = 0;
        for (int threads = 1; threads <= 2; threads++) {
            Figures figures;
            if (options->threads && options->threads != threads)
                continue;
            measure(workload, options, threads, script, &figures);
            print_row(workload, threads, &figures);
            if (threads == 1)
                one = figures.seconds[OURS];
            else if (one > 0 && !strncmp(workload->name, "convnets.", 9))
                printf("%-26s two threads take %.2f of one thread's time, <= 0.56\n", "", figures.seconds[OURS] / one);
        }
    }
    return any;
}
