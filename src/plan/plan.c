// Plan — see plan.h: the chain of passes, and the life of a plan and its specialisations.
#include "plan/plan.h"

#include <stdlib.h>

#include "plan/fixed.h"
#include "plan/pass.h"

enum { SPECIALISED_BYTES = 64 << 20 };  // a plan keeps so much; the least recently used go

const char *const pass_names[PASSES] = {"fold", "cse", "expand", "identity", "control", "fuse", "contract"};

uint32_t passes_enabled(void) {
    const char *text = getenv("MILLRACE_PASSES");
    uint32_t passes = BIT(PASSES) - 1;
    for (int i = 0; text && i < PASSES; i++) {
        const char *at = strstr(text, pass_names[i]);
        if (at && at > text && at[-1] == '-')
            passes &= ~BIT(i);
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
    {pass_deref, -1},
    {pass_fold, PASS_FOLD},
    {pass_cse, PASS_CSE},
    {pass_identity, PASS_IDENTITY},
    {pass_sweep, -1},
    {pass_control, PASS_CONTROL},
    {pass_place, -1},
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

Status *plan_make(const Graph *graph, const StepSignature *signature, const PlanOptions *options, Plan **out) {
    Plan *plan = calloc(1, sizeof *plan);
    NEED_MEMORY(plan);
    atomic_init(&plan->references, 1);
    mutex_init(&plan->lock);
    plan->partial = options->partial;
    plan->threads = options->intra_threads;
    Draft draft = {.options = options};
    Status *status = pass_prune(graph, signature, &draft);
    plan->graph = draft.graph;
    if (!status)
        status = run_passes(&draft, plan);
    free(draft.fetches);
    free(draft.feeds);
    free(draft.targets);
    if (status)
        plan_release(plan);
    else
        *out = plan;
    return status;
}

Plan *plan_retain(Plan *plan) {
    atomic_fetch_add(&plan->references, 1);
    return plan;
}

void plan_release(Plan *plan) {
    if (!plan || atomic_fetch_sub(&plan->references, 1) != 1)
        return;
    for (int i = 0; i < THREAD_PLACES; i++) {
        struct Step *step = atomic_load(&plan->spare[i].step);
        if (step)
            plan->free_step(step);
    }
    for (Fixed *fixed = plan->specialisations; fixed;) {
        Fixed *next = fixed->next;
        fixed_release(fixed);
        fixed = next;
    }
    for (int32_t i = 0; plan->constants && i < plan->n_slots; i++)
        tensor_clear(&plan->constants[i]);
    graph_release(plan->graph);
    mutex_clear(&plan->lock);
    arena_clear(&plan->arena);
    free(plan);
}

// ---- specialisations

static Fixed *take_fitting(Plan *plan, const Tensor *const *feeds) REQUIRES(plan->lock) {
    for (Fixed **link = &plan->specialisations; *link; link = &(*link)->next) {
        Fixed *fixed = *link;
        if (!fixed_fits(fixed, plan, feeds))
            continue;
        *link = fixed->next;  // to the front: the list is in order of use
        fixed->next = plan->specialisations;
        plan->specialisations = fixed;
        return fixed_retain(fixed);
    }
    return NULL;
}

static void keep(Plan *plan, Fixed *fixed) REQUIRES(plan->lock) {
    fixed->next = plan->specialisations;
    plan->specialisations = fixed;
    plan->specialised_bytes += fixed->bytes;
    while (plan->specialised_bytes > SPECIALISED_BYTES && plan->specialisations->next) {
        Fixed **link = &plan->specialisations;
        while ((*link)->next)
            link = &(*link)->next;
        Fixed *oldest = *link;
        *link = NULL;
        plan->specialised_bytes -= oldest->bytes;
        fixed_release(oldest);
    }
}

Status *plan_fixed(Plan *plan, const Tensor *const *feeds, Fixed **out) {
    mutex_lock(&plan->lock);
    Fixed *fixed = take_fitting(plan, feeds);
    bool mine = !fixed && !plan->specialising;
    plan->specialising |= mine;
    mutex_unlock(&plan->lock);
    *out = fixed;
    if (!mine)
        return OK;
    Status *status = fixed_make(plan, feeds, &fixed);
    mutex_lock(&plan->lock);
    plan->specialising = false;
    if (!status)
        keep(plan, fixed_retain(fixed));
    mutex_unlock(&plan->lock);
    if (!status)
        *out = fixed;
    return status;
}
