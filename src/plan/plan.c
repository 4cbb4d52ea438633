// Plan — see plan.h: the chain of passes, and the life of a plan and its specialisations.
#include "plan/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "plan/loops.h"

static const char *const pass_names[PASSES] = {"fold", "cse", "expand", "identity", "control", "fuse", "simplify",
                                               "contract", "loops", "recompute"};

uint32_t passes_enabled(void) {
    const char *rest = getenv("MILLRACE_PASSES");
    uint32_t passes = BIT(PASSES) - 1;
    Str word;
    while (rest && log_next_word(&rest, &word)) {
        int i = 0;
        while (i < PASSES && (word.p[0] != '-' || !str_is((Str){word.p + 1, word.n - 1}, pass_names[i])))
            i++;
        if (i < PASSES)
            passes &= ~BIT(i);
        else
            log_bad_variable("MILLRACE_PASSES", word, "a list of -fold, -cse, -expand, -identity, -control, -fuse, "
                             "-simplify, -contract, -loops and -recompute, with commas between");
    }
    return passes;
}

typedef struct {
    Status *(*run)(Draft *draft);
    int switch_;  // its bit, or -1: always
} PassRow;

// The order matters: functions are written out before anything is merged; reads of references become nodes before
// folding looks for constants; fusion comes last, since nothing sees through a fused node.
static const PassRow chain[] = {
    {pass_expand, -1},
    {pass_requests, -1},
    {pass_deref, -1},
    {pass_simplify, PASS_SIMPLIFY},
    {pass_fold, PASS_FOLD},
    {pass_cse, PASS_CSE},
    {pass_identity, PASS_IDENTITY},
    {pass_sweep, -1},
    {pass_control, PASS_CONTROL},
    {pass_simplify, PASS_SIMPLIFY},
    {pass_fold, PASS_FOLD},
    {pass_cse, PASS_CSE},
    {pass_sweep, -1},
    {pass_place, -1},
    {pass_loops, PASS_LOOPS},
    {pass_contract, PASS_CONTRACT},
    {pass_fuse, PASS_FUSE},
    {pass_sweep, -1},
    {pass_partition, -1},
};

static Status *run_passes(Draft *draft, Plan *plan) {
    for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
        if (chain[i].switch_ >= 0 && !(draft->options->passes & BIT(chain[i].switch_)))
            continue;
        TRY(chain[i].run(draft));
#ifndef NDEBUG
        TRY(graph_check(draft->graph));
#endif
    }
    return pass_order(draft, plan);
}

// Constants that the passes computed; the others are the session's graph's.
static size_t constants_bytes(const Plan *plan) {
    size_t bytes = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        const Node *origin = p->binding.node->origin;
        if (p->constant && !(origin && output_constant((Output){(Node *)origin, 0})))
            bytes += tensor_bytes(&plan->constants[p->out]);
    }
    return bytes;
}

static size_t plan_bytes(const Plan *plan) {
    enum { NODE = 400, SLOT = 160 };  // of a step: its kernels, its list, what dynamic nodes were prepared for; its
                                      // values
    const Graph *graph = plan->graph;
    return sizeof *plan + arena_held(&plan->arena) + arena_held(&graph->arena) + graph->nodes.room *
        sizeof *graph->nodes.p +
           graph->names.room * sizeof *graph->names.entries + (size_t)plan->n_nodes * NODE +
           (size_t)plan->n_slots * SLOT + constants_bytes(plan);
}

Status *plan_new(const PlanOptions *options, FixedCache *cache, Plan **out) {
    Plan *plan = calloc(1, sizeof *plan);
    NEED_MEMORY(plan);
    atomic_init(&plan->references, 1);
    plan->threads = options->intra_threads;
    plan->inter_threads = 1;
    if (cache) {
        plan->cache = fixed_cache_retain(cache);
    } else {
        Status *status = fixed_cache_new(FIXED_CACHE_BYTES, &plan->cache);
        if (status) {
            free(plan);
            return status;
        }
    }
    *out = plan;
    return OK;
}

static void log_plan(const Plan *plan, const Graph *graph, const StepSignature *signature, int64_t began) {
    if (log_reaches(LOG_INFO))
        log_write(LOG_INFO, "planned %d nodes out of %zu for %d feeds, %d fetches and %d targets in %.2f ms: %s, %d loops",
                  plan->n_nodes, graph->nodes.n, signature->n_feeds, signature->n_fetches, signature->n_targets,
                  (double)(clock_now() - began) / CLOCK_MS, plan->dynamic ? "propagated" : "a list", plan->n_loops);
}

Status *plan_make(const Graph *graph, const StepSignature *signature, const PlanOptions *options, Plan **out) {
    int64_t began = clock_now();
    Plan *plan;
    TRY(plan_new(options, options->cache, &plan));
    plan->partial = options->partial;
    plan->inter_threads = options->inter_threads;
    LoopDrafts loops = {0};
    Draft draft = {.options = options, .loops = &loops};
    Status *status = pass_prune(graph, signature, &draft);
    plan->graph = draft.graph;
    if (!status)
        status = run_passes(&draft, plan);
    draft_clear(&draft);
    loop_drafts_clear(&loops);
    if (status) {
        plan_release(plan);
    } else {
        plan->bytes = plan_bytes(plan);
        log_plan(plan, graph, signature, began);
        *out = plan;
    }
    return status;
}

Plan *plan_retain(Plan *plan) {
    atomic_fetch_add(&plan->references, 1);
    return plan;
}

void plan_release(Plan *plan) {
    if (!plan || atomic_fetch_sub(&plan->references, 1) != 1)
        return;
    if (plan->cache)
        fixed_cache_forget(plan->cache, plan);
    for (int i = 0; i < THREAD_PLACES; i++) {
        struct Step *step = atomic_load(&plan->spare[i].step);
        if (step)
            plan->free_step(step);
    }
    fixed_cache_release(plan->cache);
    for (int32_t i = 0; i < plan->n_loops; i++)
        plan_loop_clear(&plan->loops[i]);
    for (int32_t i = 0; plan->constants && i < plan->n_slots; i++)
        tensor_clear(&plan->constants[i]);
    graph_release(plan->graph);
    arena_clear(&plan->arena);
    free(plan);
}

// ---- specialisations

Status *plan_fixed(Plan *plan, const Tensor *const *feeds, const Tensor *seen, Fixed **out) {
    bool make;
    *out = fixed_cache_find(plan->cache, plan, feeds, &make);
    if (!make)
        return OK;
    Fixed *fixed = NULL;
    Status *status = fixed_make(plan, feeds, seen, &fixed);
    fixed_cache_put(plan->cache, plan, fixed);
    *out = fixed;
    return status;
}

Fixed *plan_fixed_find(Plan *plan, const Tensor *const *feeds) {
    bool make;
    Fixed *fixed = fixed_cache_find(plan->cache, plan, feeds, &make);
    if (make)
        fixed_cache_put(plan->cache, plan, NULL);
    return fixed;
}
