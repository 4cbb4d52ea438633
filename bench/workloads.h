// Workloads — the networks of the paper as benches: each library in turn, one step a round, medians. README.md has the
// list.
#pragma once
#include "harness.h"

typedef struct Options {
    const char *millrace, *tensorflow, *names[32];
    const char *torch;       // the Python that has PyTorch, or NULL
    int rounds, threads, count;
    double seconds;          // at most, of rounds of one workload
} Options;

bool bench_wanted(const Options *options, const char *name);
// Those that the options name; false where they name none.
bool workloads_run(const Options *options);

// The bench of a workload; its graph is a file. NULL where there is none of that name.
const Bench *workload_find(const char *name);
typedef struct WorkloadFeed {
    const char *name;
    int dtype, rank;
    int64_t dims[4];
    int64_t most;            // integers are below
} WorkloadFeed;

// The feeds of a workload one after the other; NULL behind the last.
const WorkloadFeed *workload_feed(const char *name, int i);
// Whether the graph of that bench is a file; then it is read.
bool workload_graph(const char *name, GraphDef *g);
// What each step of it does, for a look at its memory; NULL for other benches.
const Step *workload_step(const Run *run);
