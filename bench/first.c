// First — see first.h. A deep network of eight nodes a layer, constants small enough that only the machine's own work
// counts.
//
// A process of its own for each library and size does one stage after the other and tells what each took and by how
// much its resident memory grew. Large graphs are measured once: a round of theirs takes seconds.
#define _GNU_SOURCE
#include "first.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAYER = 8, SIGNATURES = 64, SHAPES = 8, WIDTH = 4, STAGES = 9 };

static const struct {
    const char *name, *unit, *doc;
    bool each;    // figures are of one call, not of a node
} STAGE[STAGES] = {
    {"import", "us/node", "TF_GraphImportGraphDef", false},
    {"first run", "us/node", "a new session and its first step", false},
    {"second run", "us/node", "the same step once more", false},
    {"new shape", "us/node", "the same signature, another batch", false},
    {"new signature", "us", "of three layers, in that session", true},
    {"large signature", "us/node", "nearly all of the graph, fetched elsewhere", false},
    {"gradients", "us/node", "TF_AddGradients, by nodes of the graph as it was", false},
    {"gradient run", "us/node", "their first step", false},
    {"what stays", "us/node", "when session and graph are gone", false},
};

typedef struct First {
    Run run;
    int nodes, layers;
    double seconds, bytes;    // when the stage began
} First;

// Bytes of this process that are in memory.
static double resident(void) {
    long pages[2] = {0};
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
        pages[1] = 0;
    if (file)
        fclose(file);
    return (double)pages[1] * (double)sysconf(_SC_PAGESIZE);
}

static void stage_begin(First *first) {
    first->bytes = resident();
    first->seconds = now_seconds();
}

// Per node, or per call where n is not the graph's size.
static void stage_end(const First *first, int stage, int n) {
    double seconds = now_seconds() - first->seconds;
    printf("stage %d %.9g %.9g\n", stage, seconds / n, (resident() - first->bytes) / n);
    fflush(stdout);
}

static void layer(GraphDef *g, int i) {
    static const int64_t square[] = {WIDTH, WIDTH}, row[] = {WIDTH};
    char name[64], before[64] = "x";
    if (i)
        snprintf(before, sizeof before, "net/block_%d/add", i - 1);
    snprintf(name, sizeof name, "net/block_%d/dense/kernel", i);
    node_weights(g, name, 2, square);
    snprintf(name, sizeof name, "net/block_%d/dense/bias", i);
    node_weights(g, name, 1, row);
    snprintf(name, sizeof name, "net/block_%d/scale", i);
    node_float(g, name, 1e-6f);
    node_printed(g, "MatMul", "T=float transpose_a=false transpose_b=false",
                 "net/block_%d/dense/MatMul|%s net/block_%d/dense/kernel", i, before, i);
    node_printed(g, "BiasAdd", "T=float data_format='NHWC'",
                 "net/block_%d/dense/BiasAdd|net/block_%d/dense/MatMul net/block_%d/dense/bias", i, i, i);
    node_printed(g, "Relu", "T=float", "net/block_%d/dense/Relu|net/block_%d/dense/BiasAdd", i, i);
    node_printed(g, "Mul", "T=float", "net/block_%d/mul|net/block_%d/dense/Relu net/block_%d/scale", i, i, i);
    node_printed(g, "AddV2", "T=float", "net/block_%d/add|%s net/block_%d/mul", i, before, i);
}

static bool import(First *first) {
    const Api *api = first->run.api;
    GraphDef g = {0};
    node(&g, "x", "Placeholder", "", "dtype=float shape=<-1,4>");
    for (int i = 0; i < first->layers; i++)
        layer(&g, i);
    graphdef_finish(&g);
    TF_Buffer buffer = {g.bytes.data, g.bytes.size, NULL};
    TF_ImportGraphDefOptions *options = api->TF_NewImportGraphDefOptions();
    stage_begin(first);
    first->run.graph = api->TF_NewGraph();
    api->TF_GraphImportGraphDef(first->run.graph, &buffer, options, first->run.status);
    stage_end(first, 0, first->nodes);
    api->TF_DeleteImportGraphDefOptions(options);
    graphdef_clear(&g);
    return !api->TF_GetCode(first->run.status);
}

static TF_Tensor *batch(First *first, int64_t rows) {
    return tensor_new(&first->run, TF_FLOAT, 2, (int64_t[]){rows, WIDTH}, NULL);
}

// A step that feeds `rows` rows and fetches the end of a layer.
static bool run_layer(First *first, int feed, int fetch, int64_t rows) {
    char name[64] = "x";
    Step step = {0};
    double value;
    if (feed >= 0)
        snprintf(name, sizeof name, "net/block_%d/add", feed);
    step_feed(&first->run, &step, name, batch(first, rows));
    snprintf(name, sizeof name, "net/block_%d/add", fetch);
    step_fetch(&first->run, &step, name);
    bool done = step_run(&first->run, &step, first->run.status, &value);
    step_release(&first->run, &step);
    return done;
}

static bool first_step(First *first) {
    const Api *api = first->run.api;
    static const unsigned char no_rewrites[] = {0x52, 5, 0x52, 3, 0x98, 0x01, 0x01};
    TF_SessionOptions *options = api->TF_NewSessionOptions();
    api->TF_SetConfig(options, no_rewrites, sizeof no_rewrites, first->run.status);
    stage_begin(first);
    first->run.session = api->TF_NewSession(first->run.graph, options, first->run.status);
    bool done = run_layer(first, -1, first->layers - 1, 2);
    stage_end(first, 1, first->nodes);
    api->TF_DeleteSessionOptions(options);
    return done;
}

static bool more_steps(First *first) {
    stage_begin(first);
    if (!run_layer(first, -1, first->layers - 1, 2))
        return false;
    stage_end(first, 2, first->nodes);
    int shapes = first->nodes >= 100000 ? 2 : SHAPES;
    stage_begin(first);
    for (int i = 0; i < shapes; i++)
        if (!run_layer(first, -1, first->layers - 1, 3 + i))
            return false;
    stage_end(first, 3, first->nodes * shapes);
    stage_begin(first);
    for (int i = 0; i < SIGNATURES; i++) {
        int from = (int)((long long)i * (first->layers - 4) / SIGNATURES);
        if (!run_layer(first, from, from + 3, 2))
            return false;
    }
    stage_end(first, 4, SIGNATURES);
    stage_begin(first);
    if (!run_layer(first, -1, first->layers - 2, 2))
        return false;
    stage_end(first, 5, first->nodes);
    return true;
}

static bool gradients(First *first) {
    Run *run = &first->run;
    char name[64];
    Step step = {0};
    double value;
    step_feed(run, &step, "x", batch(first, 2));
    snprintf(name, sizeof name, "net/block_%d/add", first->layers - 1);
    step_fetch(run, &step, name);
    TF_Output dx;
    stage_begin(first);
    run->api->TF_AddGradients(run->graph, step.fetches, 1, step.feeds, 1, NULL, run->status, &dx);
    stage_end(first, 6, first->nodes);
    if (run->api->TF_GetCode(run->status))
        return false;
    step.fetches[0] = dx;
    stage_begin(first);
    bool done = step_run(run, &step, run->status, &value);
    stage_end(first, 7, first->nodes);
    step_release(run, &step);
    return done;
}

int first_main(const char *library, int nodes) {
    Api api;
    char error[400];
    if (!api_open(library, &api, error, sizeof error)) {
        printf("error %s\n", error);
        return 1;
    }
    First first = {.run = {.api = &api, .status = api.TF_NewStatus()}, .layers = nodes / LAYER};
    first.nodes = first.layers * LAYER + 1;
    printf("library %s\n", api.TF_Version());
    double before = resident();
    bool done = import(&first) && first_step(&first) && more_steps(&first) && gradients(&first);
    if (!done)
        printf("error %s%s\n", first.run.error, api.TF_Message(first.run.status));
    stage_begin(&first);
    if (first.run.session) {
        api.TF_CloseSession(first.run.session, first.run.status);
        api.TF_DeleteSession(first.run.session, first.run.status);
    }
    api.TF_DeleteGraph(first.run.graph);
    first.bytes = before;
    if (done)
        stage_end(&first, 8, first.nodes);
    printf("closed\n");
    fflush(stdout);
    _exit(!done);
}

// ---- the table

typedef struct Figures {
    double seconds[STAGES], bytes[STAGES];
    bool known[STAGES];
} Figures;

// Adds what one process finds; where it was measured before, the faster one counts.
static void ask(const char *library, int nodes, int size_at, Figures *out) {
    Column column = {.library = library, .first = nodes};
    if (!library || !column_start(&column))
        return;
    bool told = column_reply(&column);
    while (told && column_reply(&column)) {
        int stage;
        double seconds, bytes;
        if (sscanf(column.line, "stage %d %lf %lf", &stage, &seconds, &bytes) != 3 || stage < 0 || stage >= STAGES)
            break;
        if (!out->known[stage] || seconds < out->seconds[stage]) {
            out->seconds[stage] = seconds;
            out->bytes[stage] = bytes;
        }
        out->known[stage] = true;
    }
    if (!told || strcmp(column.line, "closed") != 0)
        printf("    %s, 10^%d nodes: %s\n", library, size_at, column.line);
    column_stop(&column);
}

static void print_stage(int power, int stage, const Figures *ours, const Figures *theirs) {
    printf("10^%d   %-16s %-8s", power, STAGE[stage].name, STAGE[stage].unit);
    const Figures *both[] = {ours, theirs};
    for (int i = 0; i < 2; i++) {
        if (both[i]->known[stage])
            printf(" %11.2f %11.0f", both[i]->seconds[stage] * 1e6, both[i]->bytes[stage]);
        else
            printf(" %11s %11s", "-", "-");
    }
    if (ours->known[stage] && theirs->known[stage])
        printf(" %7.2fx", theirs->seconds[stage] / ours->seconds[stage]);
    else
        printf(" %8s", "-");
    printf("  %s\n", STAGE[stage].doc);
}

void first_run(const Options *options) {
    printf("time and growth of resident memory; per node of the forward graph, of one signature where the unit is us\n"
           "%-6s %-16s %-8s %11s %11s %11s %11s %8s\n", "nodes", "stage", "unit", "Millrace", "bytes", "TF", "bytes",
           "ratio");
    int nodes = 1000;
    for (int power = 3; power <= 6; power++, nodes *= 10) {
        Figures ours = {0}, theirs = {0};
        int rounds = power < 4 ? 3 : 1;
        for (int i = 0; i < rounds; i++) {
            ask(options->millrace, nodes, power, &ours);
            ask(power < 5 || options->seconds > 60 ? options->tensorflow : NULL, nodes, power, &theirs);
        }
        for (int stage = 0; stage < STAGES; stage++)
            print_stage(power, stage, &ours, &theirs);
        fflush(stdout);
    }
}
