// Executor — see executor.h: a plan bound to the states that its nodes open.
//
// It is what callers of one signature share: read-only after it is made, but for the places of spare steps (atomics)
// and the lists of the specialisation cache (under that cache's lock).
#include "run/executor.h"

#include <stdlib.h>

#include "run/kernels.h"

// ---- life

// `opener` finds or makes the state of that name in the session, so that two plans that hold a variable share it. NULL:
// tests of plans without states.
static Status *open_states(Executor *executor, StateOpener *opener, int32_t *out_handles) {
    const Plan *plan = executor->plan;
    executor->states = ARENA_ARRAY(&executor->arena, void *, plan->n_nodes);
    NEED_MEMORY(executor->states);
    for (int32_t i = 0; opener && i < plan->n_nodes; i++) {
        const Binding *binding = &plan->nodes[i].binding;
        if (!binding->op->open)
            continue;
        TRY(opener->open(opener, binding->node, &executor->states[i]));
        *out_handles += binding->op->value != NULL;
    }
    return OK;
}

// The plan's own array serves where no state gives a handle.
static Status *gather_constants(Executor *executor, int32_t n_handles) {
    const Plan *plan = executor->plan;
    executor->constants = plan->constants;
    if (!n_handles)
        return OK;
    executor->constants = ARENA_ARRAY(&executor->arena, Tensor, plan->n_slots);
    NEED_MEMORY(executor->constants);
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        executor->constants[slot] = plan->constants[slot];
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        if (p->constant && executor->states[i] && !plan->constants[p->out].buffer)
            executor->constants[p->out] = *p->binding.op->value(executor->states[i]);
    }
    return OK;
}

static Status *fill_loops(Executor *executor, StateOpener *opener) {
    const Plan *plan = executor->plan;
    executor->loops = ARENA_ARRAY(&executor->arena, ExecutorLoop, plan->n_loops);
    NEED_MEMORY(executor->loops);
    for (int32_t i = 0; i < plan->n_loops; i++) {
        const PlanLoop *loop = &plan->loops[i];
        ExecutorLoop *parts = &executor->loops[i];
        TRY(executor_new(loop->first, opener, executor->cache, &parts->first));
        if (loop->lasting)
            TRY(executor_new(loop->lasting, opener, executor->cache, &parts->lasting));
        TRY(executor_new(loop->body, opener, executor->cache, &parts->body));
    }
    return OK;
}

static Status *fill_clusters(Executor *executor, StateOpener *opener) {
    const Plan *plan = executor->plan;
    executor->clusters = ARENA_ARRAY(&executor->arena, ExecutorCluster, plan->n_clusters);
    NEED_MEMORY(executor->clusters);
    for (int32_t i = 0; i < plan->n_clusters; i++) {
        TRY(executor_new(plan->clusters[i].host, opener, executor->cache, &executor->clusters[i].host));
        TRY(cluster_programs_new(&plan->clusters[i], &executor->clusters[i].programs));
    }
    return OK;
}

static Status *fill(Executor *executor, StateOpener *opener) {
    int32_t n_handles = 0;
    TRY(open_states(executor, opener, &n_handles));
    TRY(gather_constants(executor, n_handles));
    TRY(fill_loops(executor, opener));
    return fill_clusters(executor, opener);
}

Status *executor_new(Plan *plan, StateOpener *opener, SpecialisationCache *cache, Executor **out) {
    Executor *executor = calloc(1, sizeof *executor);
    NEED_MEMORY(executor);
    atomic_init(&executor->references, 1);
    executor->plan = plan_retain(plan);
    executor->cache = specialisation_cache_retain(cache);
    Status *status = fill(executor, opener);
    if (status)
        executor_release(executor);
    else
        *out = executor;
    return status;
}

// Counted: a call that runs it holds it while the session may drop the plan.
Executor *executor_retain(Executor *executor) {
    atomic_fetch_add(&executor->references, 1);
    return executor;
}

// Specialisations first: the cache may be looking at this executor for room, under the lock that forgetting takes.
void executor_release(Executor *executor) {
    if (!executor || atomic_fetch_sub(&executor->references, 1) != 1)
        return;
    specialisation_cache_forget(executor->cache, executor);
    for (int i = 0; i < THREAD_PLACES; i++)
        step_free(atomic_load(&executor->spare[i].step));
    for (int32_t i = 0; executor->loops && i < executor->plan->n_loops; i++) {
        executor_release(executor->loops[i].first);
        executor_release(executor->loops[i].lasting);
        executor_release(executor->loops[i].body);
    }
    for (int32_t i = 0; executor->clusters && i < executor->plan->n_clusters; i++) {
        cluster_programs_free(executor->clusters[i].programs);
        executor_release(executor->clusters[i].host);
    }
    specialisation_cache_release(executor->cache);
    arena_clear(&executor->arena);
    plan_release(executor->plan);
    free(executor);
}

// ---- specialisations

// One thread makes a specialisation while others that need the same run dynamically (`make` is false, *out NULL):
// nobody waits for it. Put is called on failure too, since it ends the turn.
Status *executor_specialisation(Executor *executor, const Tensor *const *keys, const Tensor *seen,
                                Specialisation **out) {
    bool make;
    *out = specialisation_cache_find(executor->cache, executor, keys, &make);
    if (!make)
        return OK;
    Specialisation *specialisation = NULL;
    Status *status = specialisation_make(executor->plan, keys, seen, &specialisation);
    specialisation_cache_put(executor->cache, executor, specialisation);
    *out = specialisation;
    return status;
}

// It was given the turn by looking, and returns it unused.
Specialisation *executor_specialisation_find(Executor *executor, const Tensor *const *keys) {
    bool make;
    Specialisation *specialisation = specialisation_cache_find(executor->cache, executor, keys, &make);
    if (make)
        specialisation_cache_put(executor->cache, executor, NULL);
    return specialisation;
}
