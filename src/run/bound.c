// Bound — see step.h: the arrays of a step for each specialisation that it has run, and the memory that they point
// into.
//
// A step belongs to one thread at a time, so it finds what it has run without a lock, and writes nothing that another
// thread reads. Binding costs 10 ns a node; a shape that was seen before costs a comparison and a look into a table.
#include <stdlib.h>

#include "run/kernels.h"
#include "run/stress.h"
#include "tensor/blocks.h"

// ---- arrays

// Kernels, slots and the pointers between them are made once for a specialisation and reused in every step: what
// changes from step to step is what slots hold, not where they are.
static Status *bound_arrays(Step *step, Bound *bound) {
    const Plan *plan = step->plan;
    Arena *arena = &bound->arena;
    Tensor **pointers = ARENA_ARRAY(arena, Tensor *, (size_t)plan->n_in_slots + (size_t)plan->n_slots);
    bound->slots = ARENA_ARRAY(arena, Tensor, plan->n_slots);
    bound->kernels = ARENA_ARRAY(arena, Kernel, plan->n_nodes);
    bound->memories = ARENA_ARRAY(arena, const char *, plan->n_memories);
    NEED_MEMORY(bound->slots && bound->kernels && bound->memories && pointers);
    for (int32_t i = 0; i < plan->n_in_slots; i++)
        pointers[i] = &bound->slots[plan->in_slots[i]];
    for (int32_t i = 0; i < plan->n_slots; i++)
        pointers[plan->n_in_slots + i] = &bound->slots[i];
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        bound->kernels[i] = (Kernel){
            .in = pointers + p->in, .out = pointers + plan->n_in_slots + p->out,
            .run = p->binding.run, .state = step->executor->states[i], .step = &step->context, .node = p->binding.node,
            .n_in = p->binding.n_in, .n_out = p->binding.n_out, .index = (uint32_t)i,
        };
    }
    return OK;
}

// Neither in the arena nor held by the executor or the specialisation.
static bool has_buffer(const Executor *executor, const Specialisation *specialisation, int32_t slot) {
    return specialisation->offsets[slot] == IN_NO_ARENA && !executor->constants[slot].buffer &&
           !specialisation->values[slot].buffer;
}

// Which slots a specialised list must empty as it goes: those with a buffer of their own. The rest is arena, and costs
// nothing to drop. Items are what run_items walks: one cache line's worth of a node instead of its PlanNode.
static Status *list_items(const Executor *executor, Bound *bound) {
    const Plan *plan = executor->plan;
    const Specialisation *specialisation = bound->specialisation;
    int32_t at = 0, n_held = 0;
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        n_held += has_buffer(executor, specialisation, slot);
    bound->items = ARENA_ARRAY(&bound->arena, StepItem, specialisation->n_run);
    bound->held = ARENA_ARRAY(&bound->arena, int32_t, n_held);
    int32_t *drops = ARENA_ARRAY(&bound->arena, int32_t, n_held);
    NEED_MEMORY(bound->items && bound->held && drops);
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        if (has_buffer(executor, specialisation, slot))
            bound->held[bound->n_held++] = slot;
    for (int32_t n = 0; n < specialisation->n_run; n++) {
        int32_t i = specialisation->run[n];
        const PlanNode *p = &plan->nodes[i];
        StepItem *item = &bound->items[n];
        *item = (StepItem){.kernel = &bound->kernels[i], .node = i, .drops = drops + at};
        // Nodes that don't run read nothing: what they would be the last to read goes with the one before them.
        const PlanNode *next =
            plan->nodes + (n + 1 < specialisation->n_run ? specialisation->run[n + 1] : plan->n_nodes);
        for (; p < next; p++)
            for (int32_t d = p->drops; d < p->drops + p->n_drops; d++)
                if (has_buffer(executor, specialisation, plan->drops[d]))
                    drops[at++] = plan->drops[d];
        item->n_drops = (int32_t)(drops + at - item->drops);
    }
    return OK;
}

static void bound_free(Bound *bound) {
    if (!bound)
        return;
    specialisation_release(bound->specialisation);
    arena_clear(&bound->arena);
    free(bound);
}

// Takes over the reference, unless it fails. A specialisation with branches is propagated, over the step's own arrays.
// Without a specialisation (NULL) it is the arrays for dynamic runs.
static Status *bound_new(Step *step, Specialisation *specialisation, Bound **out) {
    Bound *bound = buffer_shall_fail() ? NULL : calloc(1, sizeof *bound);
    NEED(bound, RESOURCE_EXHAUSTED, "out of memory for a step");
    bound->specialisation = specialisation;
    Status *status = specialisation && specialisation->branches ? OK : bound_arrays(step, bound);
    if (!status && specialisation && !specialisation->branches)
        status = list_items(step->executor, bound);
    if (status) {
        bound->specialisation = NULL;
        bound_free(bound);
    } else {
        *out = bound;
    }
    return status;
}

// ---- those that the step keeps

static Bound **place_of(const Step *step, uint64_t hash) {
    return &step->bounds[hash & step->bounds_mask];
}

// A small table of chains by the hash of the shapes; the step's own, so that looking needs no lock.
static Bound *find(const Step *step, uint64_t hash, const Tensor *const *keys) {
    Bound *bound = step->bounds ? *place_of(step, hash) : NULL;
    while (bound &&
           (bound->specialisation->hash != hash || !specialisation_fits(bound->specialisation, step->plan, keys)))
        bound = bound->next;
    return bound;
}

// At most one entry a chain on average: a service that batches requests may see thousands of shapes.
static bool grow(Step *step) {
    enum { FIRST = 4 };
    size_t room = step->bounds ? (step->bounds_mask + 1) * 2 : FIRST;
    Bound **old = step->bounds, **bounds = calloc(room, sizeof *bounds);
    size_t before = old ? step->bounds_mask + 1 : 0;
    if (!bounds)
        return false;
    step->bounds = bounds;
    step->bounds_mask = room - 1;
    for (size_t i = 0; i < before; i++) {
        for (Bound *bound = old[i], *next; bound; bound = next) {
            next = bound->next;
            Bound **place = place_of(step, bound->specialisation->hash);
            bound->next = *place;
            *place = bound;
        }
    }
    free(old);
    return true;
}

// The cache counts what a step keeps for a specialisation as part of it: else many threads would each hold arrays that
// no limit sees.
static Status *add(Step *step, Specialisation *specialisation, Bound **out) {
    if (!step->bounds || step->n_bounds > step->bounds_mask)
        NEED_MEMORY(grow(step));
    TRY(bound_new(step, specialisation, out));
    step->n_bounds++;
    Bound **place = place_of(step, specialisation->hash);
    (*out)->next = *place;
    *place = *out;
    specialisation_cache_charge(step->executor->cache, specialisation, (*out)->arena.used + sizeof **out);
    return OK;
}

// `evictions_seen` first: one that is dropped while this runs is found the next time.
void step_release_evicted(Step *step) {
    step->evictions_seen = atomic_load_explicit(&step->executor->cache->evictions, memory_order_acquire);
    for (size_t i = 0; step->bounds && i <= step->bounds_mask; i++) {
        for (Bound **link = &step->bounds[i]; *link;) {
            Bound *bound = *link;
            if (!atomic_load_explicit(&bound->specialisation->dropped, memory_order_acquire)) {
                link = &bound->next;
                continue;
            }
            *link = bound->next;
            step->n_bounds--;
            if (step->bound == bound || step->specialisation == bound->specialisation) {
                step->bound = NULL;
                step->specialisation = NULL;
            }
            bound_free(bound);
        }
    }
}

void step_free_bounds(Step *step) {
    for (size_t i = 0; step->bounds && i <= step->bounds_mask; i++) {
        for (Bound *bound = step->bounds[i], *next; bound; bound = next) {
            next = bound->next;
            bound_free(bound);
        }
    }
    free(step->bounds);
    bound_free(step->unbound);
}

// ---- memory

// The arena grows to the largest that any specialisation of the step needed and stays: steps whose shapes take turns
// would otherwise allocate each time. The old block goes before the new one comes, since nothing in it is needed.
static Status *take_memory(Step *step, int32_t m, size_t bytes) {
    StepMemory *memory = &step->memories[m];
    if (!bytes && !memory->data)
        memory->data = no_scratch;  // values of no bytes have an address, too
    if (!bytes || (memory->buffer && memory->buffer->bytes >= bytes))
        return OK;
    buffer_release(memory->buffer);
    memory->buffer = NULL;
    memory->data = NULL;
    memory->bytes = bytes > memory->bytes ? bytes : memory->bytes;
    Allocator *allocator = m == HOST_MEMORY ? &host_allocator : step->plan->memories[m]->allocator;
    TRY(buffer_new(allocator, DT_uint8, memory->bytes, &memory->buffer));
    memory->data = memory->buffer->data;
    return OK;
}

// Large blocks go back between steps, where any plan's next step finds them (tensor/blocks.h): a session with many
// plans holds the largest, not their sum. Smaller ones stay with the step.
void step_rest_memory(Step *step) {
    for (int32_t m = 0; m < step->plan->n_memories; m++) {
        StepMemory *memory = &step->memories[m];
        if (!memory->buffer || memory->buffer->bytes < BLOCKS_LARGE)
            continue;
        buffer_release(memory->buffer);
        memory->buffer = NULL;
        step->rests = true;
    }
}

// Also resets what the last step left in the slots: dtype and shape are the specialisation's.
static void point_slots(const Executor *executor, Bound *bound, const StepMemory *memories) {
    const Plan *plan = executor->plan;
    const Specialisation *specialisation = bound->specialisation;
    for (int32_t slot = 0; slot < plan->n_slots; slot++) {
        Tensor *tensor = &bound->slots[slot];
        *tensor = (Tensor){.dtype = plan->slots[slot].dtype, .shape = specialisation->shapes[slot]};
        if (executor->constants[slot].buffer)
            *tensor = executor->constants[slot];
        else if (specialisation->values[slot].buffer)
            *tensor = specialisation->values[slot];
        else if (specialisation->offsets[slot] != IN_NO_ARENA)
            tensor->data = memories[plan->slots[slot].memory].data + specialisation->offsets[slot];
        // What the executor or the specialisation holds is seen, not owned: `buffer` would be released with the slot.
        tensor->buffer = NULL;
    }
}

// Chooses each kernel's entry once, so that a step calls through one pointer and asks nothing.
static void point_kernels(const Plan *plan, Bound *bound, const StepMemory *memories) {
    const Specialisation *specialisation = bound->specialisation;
    for (int32_t n = 0; n < specialisation->n_run; n++) {
        int32_t i = specialisation->run[n];
        const Prepared *prepared = &specialisation->prepared[i];
        Kernel *k = &bound->kernels[i];
        if (specialisation->modes[i] == NODE_DYNAMIC) {
            k->run = plan->nodes[i].binding.start ? run_start : kernel_of_dynamic(&plan->nodes[i], specialisation);
            continue;
        }
        k->own = prepared->own;
        const StepMemory *memory = &memories[plan_memory_of(plan, plan->nodes[i].binding.device)];
        k->scratch = specialisation->scratch[i] == IN_NO_ARENA ? no_scratch : memory->data + specialisation->scratch[i];
        k->run = kernel_of_specialised(&plan->nodes[i], prepared,
                                       k->n_out && specialisation->values[plan->nodes[i].out].buffer);
    }
}

// ---- choosing

static void use_arrays(Step *step, Bound *bound) {
    step->bound = bound;
    step->slots = bound->slots;
    step->kernels = bound->kernels;
}

Status *step_unbind(Step *step) {
    step->specialisation = NULL;
    if (!step->unbound)
        TRY(bound_new(step, NULL, &step->unbound));
    use_arrays(step, step->unbound);
    return OK;
}

// The memory may have moved for another specialisation's sake, or have rested between steps.
static bool is_pointed(const Step *step, const Bound *bound) {
    for (int32_t m = 0; m < step->plan->n_memories; m++)
        if (bound->memories[m] != step->memories[m].data)
            return false;
    return bound->pointed;
}

static Status *bind(Step *step, Bound *bound) {
    for (int32_t m = 0; m < step->plan->n_memories; m++)
        TRY(take_memory(step, m, bound->specialisation->packed[m].bytes));
    step->rests = false;
    if (!is_pointed(step, bound)) {
        point_slots(step->executor, bound, step->memories);
        point_kernels(step->plan, bound, step->memories);
        for (int32_t m = 0; m < step->plan->n_memories; m++)
            bound->memories[m] = step->memories[m].data;
        bound->pointed = true;
    }
    use_arrays(step, bound);
    step->specialisation = bound->specialisation;
    return OK;
}

// A body of a loop (`sees`) is specialised only when an iteration has shown its shapes: before that an existing one is
// looked for, but none is made.
static Status *choose(Step *step, const Tensor *const *keys, Bound **out) {
    *out = find(step, specialisation_hash(step->plan, keys), keys);
    if (*out || stress_is_on(STRESS_DYNAMIC))
        return OK;
    Specialisation *specialisation;
    if (step->sees && !step->seen)
        specialisation = executor_specialisation_find(step->executor, keys);
    else
        TRY(executor_specialisation(step->executor, keys, step->seen, &specialisation));
    if (!specialisation)
        return OK;
    Status *status = add(step, specialisation, out);
    if (status)
        specialisation_release(specialisation);
    return status;
}

// The common case first: the same shapes as last time cost one comparison each.
Status *step_bind(Step *step, const Tensor *const *keys) {
    Bound *bound = step->specialisation ? step->bound : NULL;
    if (!step->specialisation || !specialisation_fits(step->specialisation, step->plan, keys)) {
        step->specialisation = NULL;
        TRY(choose(step, keys, &bound));
    }
    if (!bound)
        return step_unbind(step);
    Specialisation *specialisation = step->specialisation ? step->specialisation : bound->specialisation;
    if (atomic_load_explicit(&specialisation->wrong, memory_order_relaxed) >= WRONG_MOST)
        return step_unbind(step);
    // Read before written: steps of many threads share the line, which a write would take from all others.
    if (!atomic_load_explicit(&specialisation->used, memory_order_relaxed))
        atomic_store_explicit(&specialisation->used, true, memory_order_relaxed);
    if (!specialisation->branches)
        return step->specialisation && !step->rests ? OK : bind(step, bound);
    TRY(step_unbind(step));
    step->specialisation = specialisation;
    return OK;
}
