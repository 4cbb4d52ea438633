// Chain — a thousand additions of scalars, one after the other: what an operation costs by itself.
//
// fixed: every shape is known from the feeds. late: the length comes out of Unique and changes from step to step, so
// that nothing after it can be sized before it runs. dynamic: the thousand are the body of a while frame of ten
// iterations. null_step is the chain of length one: what a step costs. loop is the frame without a body: what an
// iteration costs.
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { LENGTH = 1000, ITERATIONS = 10, EMPTY_ITERATIONS = 5000 };

typedef struct Chain {
    Step step[2];    // late: two feeds of one shape and different results
    int count;
} Chain;

static void additions(GraphDef *g, const char *from, const char *by) {
    for (int i = 1; i <= LENGTH; i++) {
        if (i == 1)
            node_printed(g, "AddV2", "T=float", "a1|%s %s", from, by);
        else
            node_printed(g, "AddV2", "T=float", "a%d|a%d %s", i, i - 1, by);
    }
}

static void placeholders(GraphDef *g, const char *x_attributes) {
    node(g, "x", "Placeholder", "", x_attributes);
    node(g, "c", "Placeholder", "", "dtype=float shape=<>");
}

static void fixed_graph(GraphDef *g) {
    placeholders(g, "dtype=float shape=<>");
    additions(g, "x", "c");
}

static void late_graph(GraphDef *g) {
    placeholders(g, "dtype=float shape=<2>");
    node(g, "unique", "Unique", "x", "T=float out_idx=int32");
    additions(g, "unique", "c");
}

// A while frame over a counter and, with a body, a value; the constants come in as invariants of the frame.
static void frame(GraphDef *g, int iterations, bool body) {
    node_int32(g, "zero", 0);
    node_int32(g, "one", 1);
    node_int32(g, "limit", iterations);
    const char *variant = "T=int32 frame_name='frame' is_constant=false parallel_iterations=10";
    const char *invariant = "T=int32 frame_name='frame' is_constant=true parallel_iterations=10";
    node(g, "enter", "Enter", "zero", variant);
    node(g, "enter_one", "Enter", "one", invariant);
    node(g, "enter_limit", "Enter", "limit", invariant);
    node(g, "merge", "Merge", "enter next", "T=int32 N=2");
    node(g, "less", "Less", "merge enter_limit", "T=int32");
    node(g, "cond", "LoopCond", "less", "");
    node(g, "switch", "Switch", "merge cond", "T=int32");
    node(g, "add", "AddV2", "switch:1 enter_one", "T=int32");
    node(g, "next", "NextIteration", "add", "T=int32");
    node(g, "exit", "Exit", "switch", "T=int32");
    if (!body)
        return;
    node(g, "enter_x", "Enter", "x", "T=float frame_name='frame' is_constant=false parallel_iterations=10");
    node(g, "enter_c", "Enter", "c", "T=float frame_name='frame' is_constant=true parallel_iterations=10");
    node(g, "merge_x", "Merge", "enter_x next_x", "T=float N=2");
    node(g, "switch_x", "Switch", "merge_x cond", "T=float");
    additions(g, "switch_x:1", "enter_c");
    node_printed(g, "NextIteration", "T=float", "next_x|a%d", LENGTH);
    node(g, "exit_x", "Exit", "switch_x", "T=float");
}

static void dynamic_graph(GraphDef *g) {
    placeholders(g, "dtype=float shape=<>");
    frame(g, ITERATIONS, true);
}

static void null_graph(GraphDef *g) {
    node(g, "x", "Placeholder", "", "dtype=float shape=<>");
    node_float(g, "c", 1);
    node(g, "y", "AddV2", "x c", "T=float");
}

static void loop_graph(GraphDef *g) {
    frame(g, EMPTY_ITERATIONS, false);
    node(g, "count", "Cast", "exit", "SrcT=int32 DstT=float Truncate=false");
}

static Chain *chain_new(Run *run) {
    run->own = calloc(1, sizeof(Chain));
    Chain *chain = run->own;
    chain->count = 1;
    return chain;
}

static void prepare_scalar(Run *run, const char *fetch, bool feed_c) {
    Chain *chain = chain_new(run);
    step_feed(run, &chain->step[0], "x", tensor_float(run, 0.5f));
    if (feed_c)
        step_feed(run, &chain->step[0], "c", tensor_float(run, 0.25f));
    step_fetch(run, &chain->step[0], fetch);
}

static void fixed_prepare(Run *run) {
    prepare_scalar(run, "a1000", true);
}

static void dynamic_prepare(Run *run) {
    prepare_scalar(run, "exit_x", true);
}

static void null_prepare(Run *run) {
    prepare_scalar(run, "y", false);
}

static void loop_prepare(Run *run) {
    step_fetch(run, &chain_new(run)->step[0], "count");
}

static void late_prepare(Run *run) {
    static const float values[2][2] = {{0.5f, 0.5f}, {0.5f, 1.5f}};
    Chain *chain = chain_new(run);
    chain->count = 2;
    for (int i = 0; i < 2; i++) {
        step_feed(run, &chain->step[i], "x", tensor_new(run, TF_FLOAT, 1, (int64_t[]){2}, values[i]));
        step_feed(run, &chain->step[i], "c", tensor_float(run, 0.25f));
        step_fetch(run, &chain->step[i], "a1000");
    }
}

static bool chain_steps(Run *run, int n, double *out_first) {
    const Chain *chain = run->own;
    for (int i = 0; i < n; i++)
        if (!step_run(run, &chain->step[i % chain->count], run->status, out_first))
            return false;
    return true;
}

static void chain_release(Run *run) {
    Chain *chain = run->own;
    for (int i = 0; chain && i < chain->count; i++)
        step_release(run, &chain->step[i]);
    free(chain);
}

const Bench bench_chain_fixed = {
    "chain.fixed", "op", "1,000 scalar additions, every shape known from the feeds", NS_PER_ITEM, LENGTH,
    fixed_graph, fixed_prepare, chain_steps, chain_release};
const Bench bench_chain_late = {
    "chain.late", "op", "the same, behind Unique: sizes known only while running, changing each step", NS_PER_ITEM,
    LENGTH, late_graph, late_prepare, chain_steps, chain_release};
const Bench bench_chain_dynamic = {
    "chain.dynamic", "op", "the same as the body of a while frame, ten iterations", NS_PER_ITEM, LENGTH *ITERATIONS,
    dynamic_graph, dynamic_prepare, chain_steps, chain_release};
const Bench bench_null_step = {
    "null_step", "step", "feed x, fetch x + 1", US_PER_ITEM, 1, null_graph, null_prepare, chain_steps, chain_release};
const Bench bench_loop = {
    "loop", "iteration", "a while frame that only counts, 5,000 iterations", NS_PER_ITEM, EMPTY_ITERATIONS, loop_graph,
    loop_prepare, chain_steps, chain_release};
