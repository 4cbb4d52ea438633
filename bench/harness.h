// Harness — measures one graph in several libraries side by side. Each library and setting lives in a child process of
// its own; the parent asks them for one round at a time in turn, so that a slow moment of the machine hits all of them,
// and prints the medians.
#pragma once
#include "api.h"
#include "graphdef.h"

typedef struct Bench Bench;

typedef struct Run {    // a bench in a child
    const Bench *bench;
    const Api *api;
    TF_Graph *graph;
    TF_Session *session;
    TF_Status *status;
    void *own;          // of the bench
    char error[400];    // the first thing that went wrong, or empty
} Run;

enum { STEP_MAX = 8 };

typedef struct Step {    // one signature: what to feed, fetch and run
    TF_Output feeds[STEP_MAX], fetches[STEP_MAX];
    TF_Tensor *values[STEP_MAX];
    const TF_Operation *targets[STEP_MAX];
    int feed_count, fetch_count, target_count;
} Step;

typedef enum Unit { NS_PER_ITEM, US_PER_ITEM, ITEMS_PER_SECOND } Unit;

struct Bench {
    const char *name, *item, *doc;
    Unit unit;
    double items;    // of one call of `steps` per step
    void (*graph)(GraphDef *g);
    void (*prepare)(Run *run);                 // may be NULL
    // Does n steps and sets *out_first to a number that must be the same in every library; false with run->error set.
    bool (*steps)(Run *run, int n, double *out_first);
    void (*release)(Run *run);
};

extern const Bench bench_chain_fixed, bench_chain_late, bench_chain_dynamic, bench_null_step, bench_loop;
extern const Bench bench_mlp, bench_mlp_theirs, bench_mlp_queue, bench_mlp_forward, bench_demo, bench_demo_theirs;
extern const Bench bench_threads_null_1, bench_threads_null_8, bench_threads_mlp_1, bench_threads_mlp_8;
extern const Bench bench_threads_forward_1, bench_threads_forward_8;
extern const Bench bench_shapes_1_1, bench_shapes_1_2, bench_shapes_1000_1, bench_shapes_1000_2, bench_shapes_10000_1,
    bench_shapes_10000_2;

// What benches are made of. Names are those of the graph: "x", "y:1".
void step_feed(Run *run, Step *step, const char *name, TF_Tensor *value);
void step_fetch(Run *run, Step *step, const char *name);
void step_target(Run *run, Step *step, const char *name);
// Runs it; *out_first, if given, is the first element of the first fetch, a float. False with run->error set.
bool step_run(Run *run, const Step *step, TF_Status *status, double *out_first);
void step_release(Run *run, Step *step);
TF_Tensor *tensor_new(Run *run, int dtype, int rank, const int64_t *dims, const void *data);    // NULL data: a ramp
TF_Tensor *tensor_float(Run *run, float value);

typedef struct Setting {
    const char *name;
    bool best;                  // counts as one of TensorFlow's best settings, else as its default
    int intra, inter;           // 0: not set
    const char *executor;       // ConfigProto.experimental.executor_type, or NULL
    bool rewrites;              // TensorFlow may rewrite the graph
} Setting;

int child_main(const char *library, const Setting *setting);    // serves the parent's requests on stdin and stdout
const Bench *bench_find(const char *name);
double now_seconds(void);
