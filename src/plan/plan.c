// Plan — see plan.h: the chain of passes, and the life of a plan.
//
// The chain is two tables, a master's and a worker's (TensorFlow cuts at the same place: what GraphExecutionState does
// before graphs are partitioned, and what a worker's GraphMgr does with its part). Each pass is a pure function on the
// draft's graph; debug and sanitizer builds check the graph after each.
#include "plan/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "plan/loops.h"
#include "plan/rewrite/rewrite.h"

// In the order of the passes' bits; those of the rewrites follow.
const EnvVar passes_variable = {
    "MILLRACE_PASSES", "-fold -cse -expand -identity -control -fuse -simplify -patterns -loops -rematerialise", true,
    rewrite_name};

void passes_enabled(uint32_t *out_passes, uint64_t *out_rewrites_off) {
    uint64_t off = env_var_read(&passes_variable, NULL);
    *out_passes = (BIT(PASSES) - 1) & ~(uint32_t)off;
    *out_rewrites_off = off >> PASSES;
}

typedef struct {
    Status *(*run)(Draft *draft);
    int switch_;  // its bit, or -1: always
} PassRow;

// What a master does, who knows the session's graph and all devices, and leaves to workers a graph in which every node
// has its device. Functions are written out since their nodes are placed one by one; reads of references become nodes
// since what goes from device to device is a value.
static const PassRow of_master[] = {
    {pass_expand, -1},
    {pass_deref, -1},
    {pass_place, -1},
    {pass_cut, -1},
    {pass_claim, -1},
    {pass_partition, -1},
};

// What a worker does with the graph that it is given. The order matters. Simplifying comes before folding, since it
// writes what may be constants; equal nodes merge after folding, since folding makes nodes equal. Control edges are
// pruned when identities are gone, and what that sets free is simplified, folded and merged once more. Loops come
// before fusion, so that bodies are fused on their own; fusion comes last, since nothing sees through a fused node.
static const PassRow of_worker[] = {
    {pass_simplify, PASS_SIMPLIFY},
    {pass_fold, PASS_FOLD},
    {pass_cse, PASS_CSE},
    {pass_identity, PASS_IDENTITY},
    {pass_dead_code, -1},
    {pass_control, PASS_CONTROL},
    {pass_simplify, PASS_SIMPLIFY},
    {pass_fold, PASS_FOLD},
    {pass_cse, PASS_CSE},
    {pass_dead_code, -1},
    {pass_loops, PASS_LOOPS},
    {pass_patterns, PASS_PATTERNS},
    {pass_fuse, PASS_FUSE},
    {pass_dead_code, -1},
};

static Status *run_passes(Draft *draft, const PassRow *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (rows[i].switch_ >= 0 && !(draft->options->passes & BIT(rows[i].switch_)))
            continue;
        TRY(rows[i].run(draft));
#ifndef NDEBUG
        TRY(graph_check(draft->graph));
#endif
    }
    return OK;
}

// Constants that the passes computed; the others are the session's graph's.
static size_t constants_bytes(const Plan *plan) {
    size_t bytes = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        const Node *origin = p->binding.node->origin;
        if (p->constant && plan->constants[p->out].buffer && !(origin && output_constant((Output){(Node *)origin, 0})))
            bytes += tensor_bytes(&plan->constants[p->out]);
    }
    return bytes;
}

// What a plan costs to keep, for the session's limit on plans (session/plans.c): an estimate, within what malloc adds.
static size_t plan_bytes(const Plan *plan) {
    enum { NODE = 400, SLOT = 160 };  // of a step: its kernels, its list, what dynamic nodes were prepared for; its
                                      // values
    const Graph *graph = plan->graph;
    return sizeof *plan + arena_held(&plan->arena) + arena_held(&graph->arena) + graph->nodes.room *
        sizeof *graph->nodes.p +
           graph->names.room * sizeof *graph->names.entries + (size_t)plan->n_nodes * NODE +
           (size_t)plan->n_slots * SLOT + constants_bytes(plan);
}

Status *plan_new(const PlanOptions *options, Plan **out) {
    Plan *plan = calloc(1, sizeof *plan);
    NEED_MEMORY(plan);
    atomic_init(&plan->references, 1);
    plan->threads = options->intra_threads;
    plan->inter_threads = 1;
    *out = plan;
    return OK;
}

static void log_plan(const Plan *plan, const Graph *graph, const StepSignature *signature, int64_t began) {
    if (log_reaches(LOG_INFO))
        log_write(LOG_INFO, "planned %d nodes out of %zu for %d feeds, %d fetches and %d targets in %.2f ms: %s, %d loops",
                  plan->n_nodes, graph->nodes.n, signature->n_feeds, signature->n_fetches, signature->n_targets,
                  (double)(clock_now() - began) / CLOCK_MS, plan->propagated ? "propagated" : "a list", plan->n_loops);
}

static void give_up(Draft *draft) {
    graph_release(draft->graph);
    draft_clear(draft);
}

static Status *make(const Graph *graph, const StepSignature *signature, const PlanOptions *options,
                    const Map *written_out, Draft *out) {
    *out = (Draft){.options = options, .written_out = written_out};
    Status *status = pass_prune(graph, signature, out);
    if (!status)
        status = run_passes(out, of_master, sizeof of_master / sizeof *of_master);
    if (status)
        give_up(out);
    return status;
}

// Takes note of the conditionals and loops that are still there, since no cluster has them.
static Status *find_left(const Draft *draft, Map *written_out, Arena *names, bool *out_any) {
    *out_any = false;
    for (size_t i = 0; draft->n_functional && i < draft->graph->nodes.n; i++) {
        const Node *node = draft->graph->nodes.p[i];
        if (!node || (node_flow(node) != FLOW_IF && node_flow(node) != FLOW_WHILE))
            continue;
        Str name = str_copy(names, node->name);
        NEED_MEMORY(name.p && map_set(written_out, name, names));
        *out_any = true;
    }
    return OK;
}

// Whether a device that compiles takes a conditional or a loop as it is shows only when all nodes have their place. What
// none has taken is written out in a draft that is begun anew; in the end all of it is.
Status *draft_make(const Graph *graph, const StepSignature *signature, const PlanOptions *options, Draft *out) {
    enum { MOST_ROUNDS = 4 };
    Map written_out = {0};
    AUTO(arena) Arena names = {0};
    Status *status = OK;
    bool left = true;
    for (int round = 0; left && !status; round++) {
        status = make(graph, signature, options, round < MOST_ROUNDS ? &written_out : NULL, out);
        if (status)
            break;
        status = find_left(out, &written_out, &names, &left);
        if (status || left)
            give_up(out);
    }
    if (!status)
        out->written_out = NULL;
    map_clear(&written_out);
    return status;
}

static Status *fill(Draft *draft, Plan *plan) {
    LoopDrafts loops = {0};
    draft->loops = &loops;
    Status *status = run_passes(draft, of_worker, sizeof of_worker / sizeof *of_worker);
    if (!status)
        status = pass_order(draft, plan);
    loop_drafts_clear(&loops);
    return status;
}

// The graph passes from the draft to the plan before the passes run: whatever fails, plan_release frees it.
Status *draft_plan(Draft *draft, Plan **out) {
    Plan *plan;
    TRY(plan_new(draft->options, &plan));
    plan->partial = draft->options->partial;
    plan->inter_threads = draft->options->inter_threads;
    plan->graph = draft->graph;
    Status *status = fill(draft, plan);
    draft->graph = NULL;
    plan->bytes = status ? 0 : plan_bytes(plan);
    if (status)
        plan_release(plan);
    else
        *out = plan;
    return status;
}

Status *plan_make(const Graph *graph, const StepSignature *signature, const PlanOptions *options, Plan **out) {
    int64_t began = clock_now();
    Draft draft;
    TRY(draft_make(graph, signature, options, &draft));
    Status *status = draft_plan(&draft, out);
    draft_clear(&draft);
    if (!status)
        log_plan(*out, graph, signature, began);
    return status;
}

Plan *plan_retain(Plan *plan) {
    atomic_fetch_add(&plan->references, 1);
    return plan;
}

void plan_release(Plan *plan) {
    if (!plan || atomic_fetch_sub(&plan->references, 1) != 1)
        return;
    for (int32_t i = 0; i < plan->n_loops; i++)
        plan_loop_clear(&plan->loops[i]);
    for (int32_t i = 0; i < plan->n_clusters; i++)
        plan_release(plan->clusters[i].host);
    for (int32_t i = 0; plan->constants && i < plan->n_slots; i++)
        tensor_clear(&plan->constants[i]);
    graph_release(plan->graph);
    arena_clear(&plan->arena);
    free(plan);
}
