// Step — see step.h: taking, giving back and fetching.
//
// A step is private to its caller from step_take to step_give_back, so nothing in it is atomic. Between calls it waits
// in the executor's spare places with its arrays, memory and preparations: a call of known shapes allocates nothing but
// what escapes.
#include "run/step.h"

#include <stdlib.h>

#include "run/kernels.h"
#include "run/stress.h"

// An id that no step of the process had before: each Step takes a million of them at once, so that those who run at the
// same time don't meet at the count.
static inline uint64_t take_id(Step *step) {
    enum { AT_ONCE = 1 << 20 };
    static _Atomic uint64_t taken = 1;
    if (__builtin_expect(step->next_id == step->ids_end, 0)) {
        step->next_id = atomic_fetch_add_explicit(&taken, AT_ONCE, memory_order_relaxed);
        step->ids_end = step->next_id + AT_ONCE;
    }
    return step->next_id++;
}

Status *step_new(Executor *executor, Step **out) {
    const Plan *plan = executor->plan;
    Step *step = buffer_shall_fail() ? NULL : calloc(1, sizeof *step);
    NEED(step, RESOURCE_EXHAUSTED, "out of memory for a step");
    step->plan = plan;
    step->executor = executor;
    cancellation_init(&step->cancellation, NULL);
    step->prepared = ARENA_ARRAY(&step->arena, Prepared, plan->n_nodes);
    step->memories = ARENA_ARRAY(&step->arena, StepMemory, plan->n_memories);
    if (!step->prepared || !step->memories) {
        step_free(step);
        FAIL(RESOURCE_EXHAUSTED, "out of memory for a step");
    }
    *out = step;
    return OK;
}

// Without clearing the rest of the slot: it is filled before it is read.
static void empty_slot(Step *step, int32_t slot) {
    buffer_release(step->slots[slot].buffer);
    step->slots[slot].buffer = NULL;
}

// By the way in which the step ran: only slots that may hold a buffer are touched, which matters for plans of thousands
// of nodes.
void step_empty(Step *step) {
    const Plan *plan = step->plan;
    const Bound *bound = step->bound;
    if (!bound)
        return;
    if (plan->propagated || (step->specialisation && step->specialisation->branches))
        for (int i = 0; i < plan->n_fetches; i++)
            empty_slot(step, plan->fetches[i].slot);
    else if (step->specialisation)
        for (int32_t i = 0; i < bound->n_held; i++)
            empty_slot(step, bound->held[i]);
    else
        for (int32_t slot = 0; slot < plan->n_slots; slot++)
            empty_slot(step, slot);
}

void step_free(Step *step) {
    if (!step)
        return;
    const Plan *plan = step->plan;
    step_empty(step);
    for (int32_t i = 0; step->prepared && i < plan->n_nodes; i++)
        prepared_clear(&step->prepared[i]);
    step_free_propagation(step);
    step_free_loops(step);
    step_free_clusters(step);
    step_free_bounds(step);
    for (int32_t m = 0; step->memories && m < plan->n_memories; m++)
        buffer_release(step->memories[m].buffer);
    arena_clear(&step->arena);
    free(step);
}

// ---- spare steps: one for each thread that calls, so that callers of one executor don't meet

// By exchange: whoever gets the step owns it. Its own place first, whose line is in this core's cache.
static Step *take_spare(Executor *executor, int place) {
    Step *step = atomic_exchange_explicit(&executor->spare[place].step, NULL, memory_order_acquire);
    // More callers than places, or a first call: whose owner isn't running may lend its step.
    for (int i = 0; !step && i < THREAD_PLACES; i++)
        if (atomic_load_explicit(&executor->spare[i].step, memory_order_relaxed))
            step = atomic_exchange_explicit(&executor->spare[i].step, NULL, memory_order_acquire);
    return step;
}

// Where all places are taken there were more callers than places: this step is one too many.
static void put_spare(Step *step) {
    Executor *executor = step->executor;
    int place = step->options->place;
    for (int i = 0; i < THREAD_PLACES; i++) {
        Step *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&executor->spare[(place + i) % THREAD_PLACES].step, &none, step,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    step_free(step);
}

Status *step_take(Executor *executor, const StepOptions *options, Step **out) {
    stress_yield();
    Step *step = take_spare(executor, options->place);
    if (!step)
        TRY(step_new(executor, &step));
    step->options = options;
    cancellation_adopt(&step->cancellation, options->parent);
    StepContext *context = &step->context;
    context->cancellation = &step->cancellation;
    context->deadline = options->deadline;
    context->threads = options->intra_threads;
    context->resources = options->resources;
    context->caller = options->caller;
    context->trace = options->trace;
    context->depth = options->depth;
    context->done = step_completed;
    context->send = step_send;
    context->receive = step_receive;
    context->step_id = options->step_id ? options->step_id : take_id(step);
    *out = step;
    if (__builtin_expect(options->rendezvous != NULL, 0))
        step_meet(step);
    return OK;
}

// Empties the slots. Large memory rests between steps where whoever is next finds it (tensor/blocks.h): another plan,
// too.
static void step_give_back(Step *step) {
    step_empty(step);
    step_rest_memory(step);
    cancellation_clear(&step->cancellation);
    step_clear_copies(step);
    if (step->evictions_seen != atomic_load_explicit(&step->executor->cache->evictions, memory_order_relaxed))
        step_release_evicted(step);
    put_spare(step);
}

// ---- feeding and fetching

// A slot without a producer is a feed's, which is the host's.
Status *step_copy_fetch(const Step *step, const PlanEnd *end, Tensor *out) {
    const Tensor *slot = &step->slots[end->slot];
    const PlanSlot *info = &step->plan->slots[end->slot];
    if (info->memory == HOST_MEMORY || info->producer < 0)
        return tensor_copy(slot, out);
    const Device *device = step->plan->nodes[info->producer].binding.device;
    Tensor host;
    TRY(tensor_new(slot->dtype, slot->shape, &host));
    Status *status = device->type->copy_out(device, slot, &host);
    if (status)
        tensor_clear(&host);
    else
        *out = host;
    return status;
}

// A fetched value is its client's alone, who may write into it: what others hold too is copied, and so is what isn't
// plain host memory of its own (a part of a larger buffer, a library's layout, a buffer by whose stamp a kernel knows
// packed weights again).
static Status *fetch_one(Step *step, const PlanEnd *end, Tensor *out) {
    Tensor *slot = &step->slots[end->slot];
    if (!slot->data)
        FAIL(INVALID_ARGUMENT, "the fetched value was not computed: it is on a branch that was not taken");
    bool own = slot->buffer && buffer_is_unique(slot->buffer) && slot->layout == LAYOUT_PLAIN &&
        slot->buffer->allocator &&
               slot->buffer->allocator->host && !slot->buffer->stamp && slot->data == slot->buffer->data;
    if (!own)
        return step_copy_fetch(step, end, out);
    *out = *slot;
    slot->buffer = NULL;
    return OK;
}

// Takes the fetched values out of the slots.
static Status *step_fetch(Step *step, Tensor *out_fetches) {
    const Plan *plan = step->plan;
    for (int i = 0; i < plan->n_fetches; i++) {
        Status *status = fetch_one(step, &plan->fetches[i], &out_fetches[i]);
        if (status) {
            int32_t producer = plan->slots[plan->fetches[i].slot].producer;
            while (i--)
                tensor_clear(&out_fetches[i]);
            return producer < 0 ? status : node_error(plan->nodes[producer].binding.node, status);
        }
    }
    return OK;
}

// Devices with a queue report errors late; the step's own error came first and stays.
Status *step_sync(const Step *step, Status *status) {
    const Plan *plan = step->plan;
    for (int32_t i = 0; i < plan->n_queues; i++) {
        Status *later = plan->queues[i]->type->sync(plan->queues[i], &step->context);
        if (status)
            status_free(later);
        else
            status = later;
    }
    return status;
}

// ---- partial runs

// Before the part begins: asking for what can't come is an error here, not a hang. One walk forwards over the list, in
// which each node learns of one feed that it waits for. TensorFlow's message says the same.
Status *step_check_part(const Step *step, const bool *fed, const Tensor *const *feeds, Tensor *const *fetches) {
    const Plan *plan = step->plan;
    AUTO(arena) Arena arena = {0};
    int32_t *waits = ARENA_ARRAY(&arena, int32_t, plan->n_nodes);  // 1 + a feed that has not come; 0: none
    NEED_MEMORY(waits);
    for (int i = 0; i < plan->n_feeds; i++)
        if (plan->feeds[i].slot >= 0 && !fed[i] && !feeds[i])
            waits[plan->slots[plan->feeds[i].slot].producer] = i + 1;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        for (int32_t e = 0; waits[i] && e < plan->nodes[i].n_edges; e++)
            waits[plan->edges[plan->nodes[i].edges + e].node] = waits[i];
    for (int i = 0; i < plan->n_fetches; i++) {
        const PlanNode *p = fetches[i] ? &plan->nodes[plan->slots[plan->fetches[i].slot].producer] : NULL;
        int32_t wait = p ? waits[p - plan->nodes] : 0;
        NEED(!wait, INVALID_ARGUMENT,
             "{{node %.*s}} (%.*s): fetch %d can't be computed from the feeds that were given so "
             "far: it waits for feed %d", NODE_ARGS(p->binding.node), i, wait - 1);
    }
    return OK;
}

// What is fetched is taken after the sync: a kernel of a queue may not have written it before.
Status *step_run(Executor *executor, const StepOptions *options, const Tensor *const *feeds, Tensor *out_fetches) {
    Step *step;
    TRY(step_take(executor, options, &step));
    Status *status = step->plan->propagated ? step_run_propagated(step, feeds) : step_run_list(step, feeds);
    status = step_sync(step, status);
    if (!status)
        status = step_fetch(step, out_fetches);
    if (__builtin_expect(options->rendezvous != NULL, 0))
        step_part(step, status);
    step_give_back(step);
    return status;
}
