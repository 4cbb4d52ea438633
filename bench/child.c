// Child — one library under one setting: opens benches and measures rounds as the parent asks.
//
// Requests are lines on stdin: "open NAME", "first NAME" (open without warming up), "round", "close". Replies are lines
// on stdout: "value V" (what the first step computed) or "error TEXT" for open, "seconds S" per step or "error TEXT"
// for round.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "workloads.h"

// Seconds that a round should take. Where callers are made anew in each, the system needs a while to spread them.
static double round_of(const Bench *bench) {
    const char *wanted = getenv("BENCH_ROUND");
    if (wanted)
        return atof(wanted);
    return strncmp(bench->name, "threads.", 8) ? 0.05 : 0.4;
}

double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t put_number(unsigned char *p, unsigned field, int64_t number) {
    uint64_t value = (uint64_t)number;
    size_t n = 0;
    uint64_t tag = field << 3;
    for (; tag > 127; tag >>= 7)
        p[n++] = (unsigned char)(tag | 128);
    p[n++] = (unsigned char)tag;
    for (; value > 127; value >>= 7)
        p[n++] = (unsigned char)(value | 128);
    p[n++] = (unsigned char)value;
    return n;
}

// ConfigProto. Graph rewriting is off for small graphs: TensorFlow's arithmetic rewrites would turn a chain of
// additions into one, and these benches are about what an op costs.
static size_t write_config(const Setting *setting, unsigned char *p) {
    static const unsigned char no_rewrites[] = {0x52, 5, 0x52, 3, 0x98, 0x01, 0x01};
    size_t n = setting->rewrites ? 0 : sizeof no_rewrites;
    memcpy(p, no_rewrites, n);
    if (setting->intra)
        n += put_number(p + n, 2, setting->intra);
    if (setting->inter)
        n += put_number(p + n, 5, setting->inter);
    if (setting->executor) {
        size_t length = strlen(setting->executor);
        const unsigned char head[] = {0x82, 0x01, (unsigned char)(length + 2), 0x1a, (unsigned char)length};
        memcpy(p + n, head, sizeof head);
        memcpy(p + n + sizeof head, setting->executor, length);
        n += sizeof head + length;
    }
    return n;
}

static bool failed(Run *run, const char *what) {
    if (!run->api->TF_GetCode(run->status))
        return false;
    if (!*run->error)
        snprintf(run->error, sizeof run->error, "%s: %s", what, run->api->TF_Message(run->status));
    return true;
}

static bool open_graph(Run *run, const Bench *bench) {
    GraphDef g = {0};
    if (!workload_graph(bench->name, &g))
        bench->graph(&g);
    graphdef_finish(&g);
    if (!g.bytes.size) {
        snprintf(run->error, sizeof run->error, "no graph: TensorFlow writes it, see bench.py");
        return false;
    }
    TF_Buffer buffer = {g.bytes.data, g.bytes.size, NULL};
    TF_ImportGraphDefOptions *options = run->api->TF_NewImportGraphDefOptions();
    run->graph = run->api->TF_NewGraph();
    run->api->TF_GraphImportGraphDef(run->graph, &buffer, options, run->status);
    run->api->TF_DeleteImportGraphDefOptions(options);
    graphdef_clear(&g);
    return !failed(run, "TF_GraphImportGraphDef");
}

static bool open_session(Run *run, const Setting *setting) {
    unsigned char config[128];
    TF_SessionOptions *options = run->api->TF_NewSessionOptions();
    run->api->TF_SetConfig(options, config, write_config(setting, config), run->status);
    if (!failed(run, "TF_SetConfig"))
        run->session = run->api->TF_NewSession(run->graph, options, run->status);
    run->api->TF_DeleteSessionOptions(options);
    return !failed(run, "TF_NewSession");
}

static void close_run(Run *run, const Bench *bench) {
    if (bench && bench->release && run->graph)
        bench->release(run);
    if (run->session) {
        run->api->TF_CloseSession(run->session, run->status);
        run->api->TF_DeleteSession(run->session, run->status);
    }
    if (run->graph)
        run->api->TF_DeleteGraph(run->graph);
    run->api->TF_DeleteStatus(run->status);
    *run = (Run){.api = run->api};
}

static void reply_error(const char *text) {
    printf("error ");
    for (const char *p = text; *p; p++)
        putchar(*p == '\n' ? ' ' : *p);
    putchar('\n');
}

// Doubles the number of steps until a round takes long enough; 0 on failure.
static int calibrate(Run *run, const Bench *bench) {
    double ignored, round = round_of(bench);
    for (int n = 1;; n *= 2) {
        double begin = now_seconds();
        if (!bench->steps(run, n, &ignored))
            return 0;
        double spent = now_seconds() - begin;
        if (spent >= round)
            return n;
        if (spent >= round / 2 || n >= 1 << 24)
            return (int)((double)n * round / spent + 1);
    }
}

// The number of steps in a round, 0 on failure.
static int open_bench(Run *run, const Bench *bench, const Setting *setting, bool warm) {
    double value = 0;
    run->status = run->api->TF_NewStatus();
    run->bench = bench;
    if (!open_graph(run, bench) || !open_session(run, setting))
        return reply_error(run->error), 0;
    if (bench->prepare)
        bench->prepare(run);
    double begin = now_seconds();
    if (*run->error || !bench->steps(run, 1, &value))
        return reply_error(run->error), 0;
    int n = warm && now_seconds() - begin < 1 ? calibrate(run, bench) : 1;
    if (n)
        printf("value %.9g\n", value);
    else
        reply_error(run->error);
    return n;
}

// The most memory that this process ever had, in bytes.
static double peak(void) {
    char line[128];
    double bytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmHWM:", 6))
            bytes = atof(line + 6) * 1024;
    if (file)
        fclose(file);
    return bytes;
}

// The step's packed memory and what it needs at least; zeros where the library doesn't tell.
static void reply_memory(Run *run) {
    const Step *step = workload_step(run);
    PlanInfo info = {.struct_size = sizeof info};
    void *plan = NULL;
    if (step && run->api->mr_plan_new)
        plan = run->api->mr_plan_new(run->session, step->feeds, step->values, step->feed_count, step->fetches,
                                     step->fetch_count, step->targets, step->target_count, run->status);
    if (plan) {
        run->api->mr_plan_get_info(plan, &info);
        run->api->mr_plan_delete(plan);
    }
    printf("memory %.0f %.0f %.0f\n", peak(), (double)info.arena_bytes, (double)info.lower_bound);
}

int child_main(const char *library, const Setting *setting) {
    Api api;
    char error[400], line[128];
    if (!api_open(library, &api, error, sizeof error))
        return reply_error(error), 1;
    Run run = {.api = &api};
    const Bench *bench = NULL;
    int n = 0;
    printf("library %s\n", api.TF_Version());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "open ", 5)) {
            bench = bench_find(line + 5);
            n = open_bench(&run, bench, setting, true);
        } else if (!strncmp(line, "first ", 6)) {
            bench = bench_find(line + 6);
            n = open_bench(&run, bench, setting, false);
        } else if (!strcmp(line, "round") && n) {
            double ignored;
            double begin = now_seconds();
            if (bench->steps(&run, n, &ignored))
                printf("seconds %.9g\n", (now_seconds() - begin) / n);
            else
                reply_error(run.error);
        } else if (!strcmp(line, "memory")) {
            reply_memory(&run);
        } else {
            close_run(&run, bench);
            printf("closed\n");
        }
        fflush(stdout);
    }
    fflush(stdout);
    _exit(0);    // no time for a library's shutdown
}
