// Step — see step.h: taking, binding to a specialisation, feeding and fetching.
#include "run/step.h"

#include <stdlib.h>

#include "base/checked.h"
#include "run/kernels.h"
#include "run/stress.h"

static Status *step_arrays(Step *step) {
    const Plan *plan = step->plan;
    Arena *arena = &step->arena;
    step->slots = ARENA_ARRAY(arena, Tensor, plan->n_slots);
    step->kernels = ARENA_ARRAY(arena, Kernel, plan->n_nodes);
    step->late = ARENA_ARRAY(arena, Prepared, plan->n_nodes);
    step->pointers = ARENA_ARRAY(arena, Tensor *, (size_t)plan->n_in_slots + (size_t)plan->n_slots);
    step->items = ARENA_ARRAY(arena, StepItem, plan->n_nodes);
    step->item_drops = ARENA_ARRAY(arena, int32_t, plan->n_slots);
    step->held = ARENA_ARRAY(arena, int32_t, plan->n_slots);
    NEED_MEMORY(step->slots && step->kernels && step->late && step->pointers && step->items && step->item_drops &&
                step->held);
    for (int32_t i = 0; i < plan->n_in_slots; i++)
        step->pointers[i] = &step->slots[plan->in_slots[i]];
    for (int32_t i = 0; i < plan->n_slots; i++)
        step->pointers[plan->n_in_slots + i] = &step->slots[i];
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        step->kernels[i] = (Kernel){
            .in = step->pointers + p->in, .out = step->pointers + plan->n_in_slots + p->out,
            .run = p->binding.run, .state = p->binding.state, .step = &step->context, .node = p->binding.node,
            .n_in = p->binding.n_in, .n_out = p->binding.n_out, .index = (uint32_t)i,
        };
    }
    return OK;
}

static Status *step_new(Plan *plan, Step **out) {
    Step *step = buffer_shall_fail() ? NULL : calloc(1, sizeof *step);
    NEED(step, RESOURCE_EXHAUSTED, "out of memory for a step");
    step->plan = plan;
    atomic_store_explicit(&plan->free_step, step_free, memory_order_relaxed);
    Status *status = step_arrays(step);
    if (status) {
        step_free(step);
        return status;
    }
    *out = step;
    return OK;
}

static void empty_slot(Step *step, int32_t slot) {
    buffer_release(step->slots[slot].buffer);
    step->slots[slot].buffer = NULL;
}

static void empty_slots(Step *step) {
    const Plan *plan = step->plan;
    if (plan->dynamic || (step->fixed && step->fixed->branches))
        for (int i = 0; i < plan->n_fetches; i++)
            empty_slot(step, plan->fetches[i].slot);
    else if (step->fixed)
        for (int32_t i = 0; i < step->n_held; i++)
            empty_slot(step, step->held[i]);
    else
        for (int32_t slot = 0; slot < plan->n_slots; slot++)
            empty_slot(step, slot);
}

void step_free(Step *step) {
    if (!step)
        return;
    Plan *plan = step->plan;
    if (step->slots)
        empty_slots(step);
    for (int32_t i = 0; step->late && i < plan->n_nodes; i++)
        prepared_clear(&step->late[i]);
    step_free_propagation(step);
    fixed_release(step->fixed);
    buffer_release(step->memory_buffer);
    arena_clear(&step->arena);
    free(step);
}

// ---- spare steps: one for each thread that calls, so that callers of one plan don't meet

static Step *take_spare(Plan *plan, int place) {
    Step *step = atomic_exchange_explicit(&plan->spare[place].step, NULL, memory_order_acquire);
    // More callers than places, or a first call: whose owner isn't running may lend its step.
    for (int i = 0; !step && i < THREAD_PLACES; i++)
        if (atomic_load_explicit(&plan->spare[i].step, memory_order_relaxed))
            step = atomic_exchange_explicit(&plan->spare[i].step, NULL, memory_order_acquire);
    return step;
}

static void put_spare(Step *step) {
    Plan *plan = step->plan;
    int place = step->options->place;
    for (int i = 0; i < THREAD_PLACES; i++) {
        Step *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&plan->spare[(place + i) % THREAD_PLACES].step, &none, step,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    step_free(step);
}

Status *step_take(Plan *plan, const StepOptions *options, Step **out) {
    stress_yield();
    Step *step = take_spare(plan, options->place);
    if (!step) {
        buffer_release(atomic_exchange(options->resting, NULL));
        TRY(step_new(plan, &step));
    }
    step->options = options;
    cancellation_init(&step->cancellation, options->parent);
    StepContext *context = &step->context;
    context->cancellation = &step->cancellation;
    context->deadline = options->deadline;
    context->threads = options->intra_threads;
    context->resources = options->resources;
    context->caller = options->caller;
    context->allocator = &host_allocator;
    context->done = step_completed;
    *out = step;
    return OK;
}

// Large memory is kept from the second step of a plan on: what gives variables their first values runs once. That of the first
// rests with the session until a step is made or wants memory: if it is that plan's next, the pages need no clearing again,
// which took a fifth of VGG's second step.
static void rest_memory(Step *step) {
    enum { LARGE = 16 << 20 };
    if (!step->fixed || !step->memory_buffer || step->memory_buffer->bytes < LARGE ||
        atomic_exchange_explicit(&step->plan->repeated, true, memory_order_relaxed))
        return;
    fixed_release(step->fixed);
    step->fixed = NULL;
    buffer_release(atomic_exchange(step->options->resting, step->memory_buffer));
    step->memory_buffer = NULL;
    step->memory = NULL;
}

// Memory for the step, its own or what rests.
static Status *take_memory(Step *step, size_t bytes) {
    if (step->memory_buffer && step->memory_buffer->bytes >= bytes)
        return OK;
    buffer_release(step->memory_buffer);
    step->memory_buffer = atomic_exchange(step->options->resting, NULL);
    if (step->memory_buffer && step->memory_buffer->bytes == bytes)
        return OK;
    buffer_release(step->memory_buffer);
    step->memory_buffer = NULL;
    return buffer_new(&host_allocator, DT_uint8, bytes, &step->memory_buffer);
}

// Empties the slots, keeps the memory.
static void step_give_back(Step *step) {
    empty_slots(step);
    rest_memory(step);
    cancellation_clear(&step->cancellation);
    step_clear_rendezvous(step);
    put_spare(step);
}

// ---- binding to a specialisation

static bool has_buffer(const Step *step, int32_t slot) {
    const Fixed *fixed = step->fixed;
    return fixed->offsets[slot] == IN_NO_ARENA && !step->plan->constants[slot].buffer && !fixed->values[slot].buffer;
}

// Which slots a fixed list must empty as it goes: those with a buffer of their own. The rest is arena.
static void list_items(Step *step) {
    const Plan *plan = step->plan;
    const Fixed *fixed = step->fixed;
    int32_t at = 0;
    step->n_held = 0;
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        if (has_buffer(step, slot))
            step->held[step->n_held++] = slot;
    for (int32_t n = 0; n < fixed->n_run; n++) {
        int32_t i = fixed->run[n];
        const PlanNode *p = &plan->nodes[i];
        StepItem *item = &step->items[n];
        *item = (StepItem){.kernel = &step->kernels[i], .node = i, .drops = step->item_drops + at};
        // Nodes that don't run read nothing: what they would be the last to read goes with the one before them.
        const PlanNode *next = plan->nodes + (n + 1 < fixed->n_run ? fixed->run[n + 1] : plan->n_nodes);
        for (; p < next; p++)
            for (int32_t d = p->drops; d < p->drops + p->n_drops; d++)
                if (has_buffer(step, plan->drops[d]))
                    step->item_drops[at++] = plan->drops[d];
        item->n_drops = (int32_t)(step->item_drops + at - item->drops);
    }
}

static void bind_slots(Step *step) {
    const Plan *plan = step->plan;
    const Fixed *fixed = step->fixed;
    for (int32_t slot = 0; slot < plan->n_slots; slot++) {
        Tensor *tensor = &step->slots[slot];
        *tensor = (Tensor){.dtype = plan->slots[slot].dtype, .shape = fixed->shapes[slot]};
        if (plan->constants[slot].buffer)
            *tensor = plan->constants[slot];
        else if (fixed->values[slot].buffer)
            *tensor = fixed->values[slot];
        else if (fixed->offsets[slot] != IN_NO_ARENA)
            tensor->data = step->memory + fixed->offsets[slot];
        // What the plan or the specialisation holds is seen, not owned: `buffer` would be released with the slot.
        tensor->buffer = NULL;
    }
}

static void bind_kernels(Step *step) {
    const Plan *plan = step->plan;
    const Fixed *fixed = step->fixed;
    for (int32_t n = 0; n < fixed->n_run; n++) {
        int32_t i = fixed->run[n];
        const Prepared *prepared = &fixed->prepared[i];
        Kernel *k = &step->kernels[i];
        if (fixed->modes[i] == NODE_LATE) {
            k->run = run_late;
            continue;
        }
        k->own = prepared->own;
        k->scratch = fixed->scratch[i] == IN_NO_ARENA ? no_scratch : step->memory + fixed->scratch[i];
        k->run = kernel_of_fixed(&plan->nodes[i], prepared, k->n_out && fixed->values[plan->nodes[i].out].buffer);
    }
}

Status *step_bind(Step *step, Fixed *fixed) {
    fixed_release(step->fixed);
    step->fixed = fixed;
    Status *status = take_memory(step, fixed->arena_bytes);
    if (status) {
        step->fixed = NULL;
        fixed_release(fixed);
        return status;
    }
    step->memory = step->memory_buffer->data;
    bind_slots(step);
    bind_kernels(step);
    list_items(step);
    return OK;
}

// ---- feeding and fetching

// A fetched value is its client's alone, who may write into it: what others hold too is copied.
static Status *fetch_one(Step *step, const PlanEnd *end, Tensor *out) {
    Tensor *slot = &step->slots[end->slot];
    const PlanSlot *info = &step->plan->slots[end->slot];
    if (!slot->data)
        FAIL(INVALID_ARGUMENT, "the fetched value was not computed: it is on a branch that was not taken");
    const Device *device = info->producer < 0 ? NULL : step->plan->nodes[info->producer].binding.device;
    if (device && !info->host) {
        Tensor host;
        TRY(tensor_new(slot->dtype, slot->shape, &host));
        Status *status = device->type->copy_out(device, slot, &host);
        if (status)
            tensor_clear(&host);
        else
            *out = host;
        return status;
    }
    bool own = slot->buffer && buffer_is_unique(slot->buffer) && slot->layout == LAYOUT_PLAIN &&
               slot->buffer->allocator && !slot->buffer->stamp && slot->data == slot->buffer->data;
    if (!own)
        return tensor_copy(slot, out);
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

Status *step_run(Plan *plan, const StepOptions *options, const Tensor *const *feeds, Tensor *out_fetches) {
    Step *step;
    TRY(step_take(plan, options, &step));
    Status *status = plan->dynamic ? step_run_dynamic(step, feeds) : step_run_list(step, feeds);
    if (!status)
        status = step_fetch(step, out_fetches);
    step_give_back(step);
    return status;
}
