// List — runs a plan without control flow: node after node, specialised ones as they are prepared, dynamic ones with a
// check.
//
// This is the hot path: a specialised item is one indirect call and a test of its status, 3 to 4 ns. So each kernel's
// entry is chosen when the step is bound (kernel_of_specialised), rare matters (tracing, deadlines, cancellation) are
// one flag each that is read before the loop or predicted not taken, and what a node needs lies in its Kernel.
//
// A specialised node may find that the world has changed since it was prepared (a variable of another shape): it
// answers GUARD_FAILED, and from there on the rest of the plan runs dynamically, over the values that are there.
#include "base/clock.h"
#include "run/kernels.h"
#include "run/stress.h"
#include "run/trace.h"

static Step *step_of(Kernel *k) {
    return (Step *)k->step;
}

Status *run_dynamic(Kernel *k) {
    Step *step = step_of(k);
    const PlanNode *p = &step->plan->nodes[k->index];
    RunFn *self = k->run;  // the call puts the kernel there; the next step shall come here again
    Status *status = run_any(p, &step->prepared[k->index], k, p->last);
    k->run = self;
    return status;
}

// The same for one whose outputs' shapes were foretold: who reads them relies on that.
static Status *run_foretold(Kernel *k) {
    const Step *step = step_of(k);
    const Shape *told = step->specialisation->shapes + step->plan->nodes[k->index].out;
    TRY(run_dynamic(k));
    for (int i = 0; i < k->n_out; i++)
        if (shape_is_known(&told[i]) && !shape_equal(&k->out[i]->shape, &told[i]))
            return GUARD_FAILED;
    return OK;
}

RunFn *kernel_of_dynamic(const PlanNode *p, const Specialisation *specialisation) {
    for (int i = 0; i < p->binding.n_out; i++)
        if (shape_is_known(&specialisation->shapes[p->out + i]))
            return run_foretold;
    return run_dynamic;
}

// Ordinary nodes first, since they are nearly all; the tags of copies and loops are this folder's own to run.
Status *run_any(const PlanNode *p, Prepared *prepared, Kernel *k, uint32_t last) {
    if (__builtin_expect(p->flow == FLOW_NONE, 1))
        return invoke(&p->binding, prepared, k, last);
    if (p->flow == FLOW_COPY_OUT)
        return run_copy_out(k);
    if (p->flow == FLOW_COPY_IN)
        return run_copy_in(k);
    if (p->flow == FLOW_LOOP)
        return run_loop(k, last);
    if (p->flow == FLOW_CLUSTER)
        return run_cluster(k);
    if (p->flow == FLOW_IF || p->flow == FLOW_WHILE)
        return run_functional(k);
    return invoke(&p->binding, prepared, k, last);
}

// A node whose outputs are views of its inputs' memory, where that memory differs from step to step.
static Status *run_alias(Kernel *k) {
    const Binding *binding = &step_of(k)->plan->nodes[k->index].binding;
    for (int i = 0; i < k->n_out && i < k->n_in; i++) {
        if (!(binding->out_flags[i] & EDGE_ALIAS))
            continue;
        Tensor *out = k->out[i];
        Shape shape = out->shape;
        buffer_release(out->buffer);
        *out = *k->in[i];
        out->shape = shape;
        buffer_retain(out->buffer);
    }
    return OK;
}

// The same for a node whose kernel does something besides.
static Status *run_alias_and(Kernel *k) {
    TRY(run_alias(k));
    return step_of(k)->specialisation->prepared[k->index].run(k);
}

// A kernel that makes its outputs itself, in a shape that was known beforehand, or that binding_run has to wrap (locks
// of variables, another device's queue): is it still that shape?
static Status *run_guarded(Kernel *k) {
    Step *step = step_of(k);
    const PlanNode *p = &step->plan->nodes[k->index];
    const Prepared *prepared = &step->specialisation->prepared[k->index];
    RunFn *wrapped = k->run;
    if (p->binding.n_variables == 0)
        TRY(run_alias(k));  // a device that is not called directly renames its memory like any other
    k->run = prepared->run;
    Status *status = binding_run(&p->binding, prepared, k);
    k->run = wrapped;
    TRY(status);
    for (int i = 0; i < k->n_out && (p->binding.op->flags & OP_DYNAMIC_SHAPE); i++)
        if (!shape_equal(&k->out[i]->shape, &prepared->out[i]))
            return GUARD_FAILED;
    return OK;
}

// The value is there already; were the variables' shapes those that it was computed from?
static Status *run_foreseen(Kernel *k) {
    Step *step = step_of(k);
    k->run = kernel_nothing;
    Status *status = binding_run(&step->plan->nodes[k->index].binding, &step->specialisation->prepared[k->index], k);
    k->run = run_foreseen;
    return status;
}

// From the cheapest check to none: the last line is the common case, the kernel itself without anything around it.
RunFn *kernel_of_specialised(const PlanNode *p, const Prepared *prepared, bool foreseen) {
    if (foreseen)
        return run_foreseen;
    if ((p->binding.op->flags & OP_RECOMPUTES) && prepared->run != kernel_nothing)
        return prepared->run;
    if (prepared->run == kernel_nothing && p->binding.direct)
        return run_alias;
    if (!p->binding.direct || (p->binding.op->flags & OP_DYNAMIC_SHAPE))
        return run_guarded;
    for (int i = 0; i < p->binding.n_out; i++)
        if (p->binding.out_flags[i] & EDGE_ALIAS)
            return run_alias_and;
    return prepared->run;
}

// Only slots with a buffer of their own are listed; most nodes have none.
static inline void drop(Step *step, const int32_t *slots, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        Tensor *slot = &step->slots[slots[i]];
        buffer_release(slot->buffer);
        slot->buffer = NULL;
    }
}

// What the specialisation put into the slots of later nodes holds no more: pointers into the arena, shapes that were
// foretold. Feeds and constants stay.
static void forget_from(Step *step, int32_t first) {
    const Plan *plan = step->plan;
    for (int32_t i = first; i < plan->n_nodes; i++) {
        const PlanNode *p = &plan->nodes[i];
        for (int out = 0; out < p->binding.n_out && p->flow != FLOW_ARG && !step_constant(step, p); out++) {
            Tensor *slot = &step->slots[p->out + out];
            buffer_release(slot->buffer);
            *slot = (Tensor){.dtype = plan->slots[p->out + out].dtype, .shape = UNKNOWN_SHAPE};
        }
    }
}

// What was to be computed again is computed now, into a buffer of its own: the dynamic way knows it as another name for
// a value that should still be there, whose bytes another value has taken by now. Its sources are alive until then.
static Status *recompute_now(Step *step, int32_t first) {
    const Plan *plan = step->plan;
    for (int32_t i = first; i < plan->n_nodes && step->specialisation->n_recomputed; i++) {
        const PlanNode *p = &plan->nodes[i];
        int32_t slot = p->binding.n_in ? plan->in_slots[p->in] : -1;
        if (!step->specialisation->recomputed[i] || plan->slots[slot].producer >= first)
            continue;
        uint8_t no_flags = 0;
        Tensor value = {0}, *out = &value;
        Prepared prepared = {0};
        Binding binding = p->binding;
        Kernel k = step->kernels[i];
        binding.run = binding_recompute(&p->binding);
        binding.out_flags = &no_flags;
        k.out = &out;
        Status *status = invoke(&binding, &prepared, &k, 0);
        prepared_clear(&prepared);
        buffer_release(step->slots[slot].buffer);
        step->slots[slot] = value;
        TRY(node_error(p->binding.node, status));
    }
    return OK;
}

// The call, noted.
static Status *run_traced(Trace *trace, Step *step, int32_t node, RunFn *run, Kernel *k) {
    int64_t start = clock_now();
    Status *status = run(k);
    if (status != GUARD_FAILED && !step->plan->nodes[node].binding.start)
        trace_add(trace, &step->plan->nodes[node].binding, k, start);
    return status;
}

// The nodes in [first, end), the dynamic way: checked, shaped and allocated one by one, 6 to 12 ns each beyond the
// kernel. The kernel's entry and `own` are put back, since the same arrays may be bound to a specialisation.
static Status *run_dynamic_nodes(Step *step, int32_t first, int32_t end) {
    const Plan *plan = step->plan;
    const bool timed = step->context.deadline != NO_DEADLINE;
    const CancellationFlags flags = cancellation_flags(step->context.cancellation);
    Trace *const trace = step->context.trace;
    for (int32_t i = first; i < end; i++) {
        const PlanNode *p = &plan->nodes[i];
        if (p->flow == FLOW_ARG || step_constant(step, p))
            continue;
        if (__builtin_expect(timed | cancellation_flagged(&flags), 0))
            TRY(context_check(&step->context));
        Kernel *k = &step->kernels[i];
        // What a node was prepared for lies in memory of its own: ask for the next but two while this one runs.
        if (i + 3 < plan->n_nodes)
            __builtin_prefetch(step->prepared[i + 3].own);
        RunFn *specialised_run = k->run;
        const void *specialised_own = k->own;
        Status *status = __builtin_expect(trace != NULL, 0)
                             ? run_traced(trace, step, i, p->binding.start ? run_start : run_dynamic, k)
                             : p->binding.start ? run_start(k) : run_dynamic(k);
        k->run = specialised_run;
        k->own = specialised_own;
        if (status)
            return node_error(p->binding.node, status);
        drop(step, plan->drops + p->drops, p->n_drops);
    }
    return OK;
}

// Every node from `first` on, which is in that wave.
Status *run_dynamic_from(Step *step, int32_t wave, int32_t first) {
    const Plan *plan = step->plan;
    bool ignored;
    if (!plan->n_waves)
        return run_dynamic_nodes(step, first, plan->n_nodes);
    for (; wave < plan->n_waves; wave++) {
        TRY(run_dynamic_nodes(step, first, plan->waves[wave].nodes));
        TRY(waits_wave(step, wave, &ignored));
        first = plan->waves[wave].nodes;
    }
    return OK;
}

// The world is not as it was when the nodes from `from` on were prepared. Values of earlier nodes stay where they are,
// in the arena or in buffers; only what comes is dynamic.
static Status *leave_specialised(Step *step, int32_t wave, int32_t from) {
    Status *status = recompute_now(step, from);
    forget_from(step, from);
    step->bound->pointed = false;  // the slots no longer look as it left them
    step->specialisation = NULL;
    return status ? status : run_dynamic_from(step, wave, from);
}

// The items in [item, end), which are of that wave. Where one refuses, the whole rest of the step is run dynamically,
// and step->specialisation is NULL.
static Status *run_items(Step *step, const StepItem *item, const StepItem *end, int32_t wave) {
    const bool timed = step->context.deadline != NO_DEADLINE;
    const CancellationFlags flags = cancellation_flags(step->context.cancellation);
    Trace *const trace = step->context.trace;
    for (; item < end; item++) {
        if (__builtin_expect(timed | cancellation_flagged(&flags), 0))
            TRY(context_check(&step->context));
        Kernel *k = item->kernel;
        Status *status = __builtin_expect(!trace, 1) ? k->run(k) : run_traced(trace, step, item->node, k->run, k);
        if (__builtin_expect(status != NULL, 0)) {
            const PlanNode *p = &step->plan->nodes[item->node];
            if (status != GUARD_FAILED)
                return node_error(p->binding.node, status);
            // An op that made its outputs has run; one that refused its variables has not.
            bool foretold = step->specialisation->modes[item->node] == NODE_DYNAMIC;
            // After WRONG_MOST wrong guesses the specialisation isn't used any more: leaving it half-way costs more
            // than it saves.
            if (foretold)
                atomic_fetch_add_explicit(&step->specialisation->wrong, 1, memory_order_relaxed);
            return leave_specialised(step, wave,
                                     item->node + (foretold || (p->binding.op->flags & OP_DYNAMIC_SHAPE) ? 1 : 0));
        }
        if (item->n_drops)
            drop(step, item->drops, item->n_drops);
    }
    return OK;
}

// Items carry their nodes in order, so a wave's end is found by walking, without a table.
Status *run_specialised(Step *step) {
    const Plan *plan = step->plan;
    const StepItem *item = step->bound->items, *end = item + step->specialisation->n_run;
    if (!plan->n_waves)
        return run_items(step, item, end, 0);
    for (int32_t wave = 0; wave < plan->n_waves; wave++) {
        const StepItem *next = item;
        bool as_expected = true;
        while (next < end && next->node < plan->waves[wave].nodes)
            next++;
        TRY(run_items(step, item, next, wave));
        if (!step->specialisation)
            return OK;
        TRY(waits_wave(step, wave, &as_expected));
        if (!as_expected)
            return leave_specialised(step, wave + 1, plan->waves[wave].nodes);
        item = next;
    }
    return OK;
}

// Buffers of the values that escape, before the list runs: kernels write where somebody will look. Where a loop has
// left a buffer that nobody needs any more there is no need for another. Then the values that lie in another's buffer.
Status *list_new_buffers(Step *step) {
    const Specialisation *specialisation = step->specialisation;
    for (int32_t i = 0; i < specialisation->n_fresh; i++) {
        int32_t slot = specialisation->fresh[i];
        const PlanSlot *info = &step->plan->slots[slot];
        Tensor *tensor = &step->slots[slot];
        if (specialisation->lent[slot] >= 0 || tensor->buffer)
            continue;
        const Binding *maker = &step->plan->nodes[info->producer].binding;
        Allocator *allocator = info->memory == HOST_MEMORY ? &host_allocator : maker->device->allocator;
        TRY(node_error(maker->node,
                       buffer_new(allocator, tensor->dtype, specialisation->fresh_bytes[i], &tensor->buffer)));
        tensor->data = tensor->buffer->data;
    }
    for (int32_t i = 0; i < specialisation->n_fresh; i++) {
        int32_t slot = specialisation->fresh[i], over = specialisation->lent[slot];
        if (over < 0)
            continue;
        step->slots[slot].buffer = buffer_retain(step->slots[over].buffer);
        step->slots[slot].data = step->slots[over].data;
    }
    return OK;
}

// A fed value that nobody sees after the step is its caller's to hold, uncounted: many callers may feed one tensor.
static void feed(Step *step, const Tensor *const *feeds) {
    const Plan *plan = step->plan;
    for (int i = 0; i < plan->n_feeds; i++) {
        int32_t slot = plan->feeds[i].slot;
        if (slot < 0)
            continue;
        step->slots[slot] = *feeds[i];
        if (plan->slots[slot].escapes)
            buffer_retain(feeds[i]->buffer);
        else
            step->slots[slot].buffer = NULL;
    }
}

// Not counted: the executor holds them as long as the step exists.
void list_preset_constants(Step *step) {
    for (int32_t slot = 0; slot < step->plan->n_slots; slot++) {
        step->slots[slot] = step->executor->constants[slot];
        step->slots[slot].dtype = step->plan->slots[slot].dtype;
        step->slots[slot].buffer = NULL;
    }
}

// `keys`: the shapes to specialise for; NULL: they are not known yet.
static Status *run_list(Step *step, const Tensor *const *feeds, const Tensor *const *keys) {
    TRY(keys ? step_bind(step, keys) : step_unbind(step));
    if (step->specialisation && step->specialisation->branches)
        return step_run_propagated(step, feeds);
    if (!step->specialisation) {
        list_preset_constants(step);
        feed(step, feeds);
        return run_dynamic_from(step, 0, 0);
    }
    feed(step, feeds);
    TRY(list_new_buffers(step));
    return run_specialised(step);
}

Status *step_run_list(Step *step, const Tensor *const *feeds) {
    const Tensor *const *keys;
    if (__builtin_expect(!step->plan->n_waves, 1))
        return run_list(step, feeds, feeds);
    Status *status = waits_begin(step, feeds, &keys);
    if (!status)
        status = run_list(step, feeds, keys);
    return waits_end(step, status);
}
