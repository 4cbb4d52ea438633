// Loop — runs a loop that is one node: its list again and again, as long as that says so.
//
// The list is a step of its own, which belongs to the step that the node is in. It is bound to a specialisation for the
// shapes that the variables have; where they change it runs dynamically until they have been the same for two
// iterations. A variable is handed on by its buffer. Where its next value needs one of the same size, that of the value
// before last serves again: two buffers take turns.
#include <stdlib.h>

#include "run/kernels.h"

// What a step has for one of its loops, made at its first run and kept with the step.
typedef struct LoopRun {
    const PlanLoop *loop;
    Step *first, *lasting, *body;
    int32_t n_variables, n_invariants, n_feeds;  // n_feeds: of the body
    Tensor *values;        // the body's feeds: variables, whose references are ours; the others' are held elsewhere
    Tensor *next;          // n_variables
    const Tensor **feeds;  // pointers to values
    bool *moves;           // by variable: it is the last that its slot is the next value of
    size_t *reusable;         // by fetch of the body: the size of a buffer that can be reused for it; 0: none
    bool bound;            // the body's slots hold what doesn't change
    bool steady;           // and the next values have the shapes of the values
} LoopRun;

static void loop_free(LoopRun *run) {
    if (!run)
        return;
    step_free(run->first);
    step_free(run->lasting);
    step_free(run->body);
    free(run->values);
    free(run->next);
    free(run->feeds);
    free(run->moves);
    free(run->reusable);
    free(run);
}

void step_free_loops(Step *step) {
    for (int32_t i = 0; step->loops && i < step->plan->n_loops; i++)
        loop_free(step->loops[i]);
}

// A body's fetches are the next variables, then the condition. One slot may be the next value of two variables: only
// the last of them may move its buffer, the others count.
static Status *loop_fill(LoopRun *run, const ExecutorLoop *parts) {
    const PlanLoop *loop = run->loop;
    const Plan *body = loop->body;
    size_t n = (size_t)body->n_feeds + 1, variables = (size_t)loop->n_variables + 1;
    run->n_variables = loop->n_variables;
    run->n_invariants = loop->n_invariants;
    run->n_feeds = body->n_feeds;
    run->values = calloc(n, sizeof *run->values);
    run->feeds = calloc(n, sizeof *run->feeds);
    run->next = calloc(variables, sizeof *run->next);
    run->moves = calloc(variables, sizeof *run->moves);
    run->reusable = calloc((size_t)body->n_fetches + 1, sizeof *run->reusable);
    NEED_MEMORY(run->values && run->feeds && run->next && run->moves && run->reusable);
    for (int32_t i = 0; i < run->n_feeds; i++)
        run->feeds[i] = &run->values[i];
    for (int32_t i = 0; i < run->n_variables; i++) {
        run->moves[i] = true;
        for (int32_t j = i + 1; j < body->n_fetches; j++)
            run->moves[i] &= body->fetches[i].slot != body->fetches[j].slot;
    }
    TRY(step_new(parts->first, &run->first));
    if (loop->lasting)
        TRY(step_new(parts->lasting, &run->lasting));
    TRY(step_new(parts->body, &run->body));
    run->body->sees = true;
    return OK;
}

// Made when the loop first runs: many plans have loops in branches that are not taken.
static Status *loop_find(Step *step, int32_t index, LoopRun **out) {
    const Plan *plan = step->plan;
    if (!step->loops)
        step->loops = ARENA_ARRAY(&step->arena, LoopRun *, plan->n_loops);
    NEED_MEMORY(step->loops);
    if (!step->loops[index]) {
        LoopRun *run = buffer_shall_fail() ? NULL : calloc(1, sizeof *run);
        NEED(run, RESOURCE_EXHAUSTED, "out of memory for a step of a loop");
        run->loop = &plan->loops[index];
        Status *status = loop_fill(run, &step->executor->loops[index]);
        if (status) {
            loop_free(run);
            return status;
        }
        step->loops[index] = run;
    }
    *out = step->loops[index];
    return OK;
}

// A part belongs to the step that the loop is in: its deadline, its cancellation, its threads, its trace.
static void lend_context(Step *part, const Step *step) {
    part->context = step->context;
    part->options = step->options;
}

// ---- before the first iteration

// The condition is what a part gives last. One element of any rank is a scalar here.
static Status *read_condition(const Step *part, bool *out) {
    const Plan *plan = part->plan;
    int32_t slot = plan->fetches[plan->n_fetches - 1].slot;
    const Tensor *condition = &part->slots[slot];
    if (tensor_count(condition) != 1)
        return node_error(plan->nodes[plan->slots[slot].producer].binding.node,
                          status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "pred must be a scalar, got shape %s",
                                     shape_text(&condition->shape)));
    *out = *(const bool *)condition->data;
    return OK;
}

// Variables are held from here on (counted or taken over), invariants are the caller's for as long as the node runs.
static Status *begin(LoopRun *run, Kernel *k, uint32_t last, bool *out_goes_on) {
    for (int32_t i = 0; i < run->n_variables + run->n_invariants; i++) {
        Tensor *in = k->in[i];
        run->values[i] = *in;
        if (i >= run->n_variables)
            continue;
        if (i < MAX_ARGS && (last & BIT(i)))
            in->buffer = NULL;  // ours from here on: it may be written over
        else
            buffer_retain(in->buffer);
    }
    TRY(step_run_list(run->first, run->feeds));
    TRY(read_condition(run->first, out_goes_on));
    step_empty(run->first);  // it holds variables, too
    if (!*out_goes_on || !run->lasting)
        return OK;
    TRY(step_run_list(run->lasting, run->feeds + run->n_variables));
    const Plan *plan = run->lasting->plan;
    for (int32_t i = 0; i < plan->n_fetches; i++) {
        Tensor *value = &run->values[run->n_variables + run->n_invariants + i];
        *value = run->lasting->slots[plan->fetches[i].slot];
        // It stays what it is in all iterations: who packs it needs to do so once.
        if (value->buffer && buffer_is_unique(value->buffer) && !value->buffer->stamp && value->buffer->allocator)
            value->buffer->stamp = buffer_next_stamp();
    }
    return OK;
}

// ---- an iteration

// It gets a buffer before the list begins.
static bool is_fresh(const Specialisation *specialisation, const Plan *plan, int32_t slot) {
    for (int32_t i = 0; i < specialisation->n_fresh; i++)
        if (specialisation->fresh[i] == slot)
            return specialisation->lent[slot] < 0 && plan->slots[slot].memory == HOST_MEMORY;
    return false;
}

// What holds of the iterations that run as the body is bound now: whether the variables keep their shapes, and which
// outputs can reuse the buffer of the variable's value before. Looked at when the binding changes, not in each
// iteration.
static Status *look_at_binding(LoopRun *run) {
    const Step *body = run->body;
    const Specialisation *specialisation = body->specialisation;
    const Plan *plan = body->plan;
    run->steady = specialisation != NULL;
    for (int32_t i = 0; specialisation && i < plan->n_fetches; i++) {
        int32_t slot = plan->fetches[i].slot;
        bool variable = i < run->n_variables;
        run->steady &= !variable || shape_equal(&specialisation->shapes[slot], &run->values[i].shape);
        run->reusable[i] = 0;
        if (is_fresh(specialisation, plan, slot) &&
            (!variable || (run->moves[i] && !plan->slots[plan->feeds[i].slot].escapes)))
            TRY(shape_bytes(&specialisation->shapes[slot], plan->slots[slot].dtype, &run->reusable[i]));
    }
    return OK;
}

static bool shapes_are_seen(const LoopRun *run) {
    const Step *body = run->body;
    for (int32_t i = 0; i < run->n_feeds; i++)
        if (!shape_equal(&body->slots[body->plan->feeds[i].slot].shape, &run->values[i].shape))
            return false;
    return true;
}

// Binds the body to the specialisation for the variables' shapes, or makes one when an iteration with such has run
// dynamically: only that tells the shapes of what stacks and queues give. `dynamic`: whether the one before this has.
static Status *choose(LoopRun *run, bool dynamic) {
    Step *body = run->body;
    if (run->bound && run->steady && body->specialisation)
        return OK;
    if (run->bound && body->specialisation && specialisation_fits(body->specialisation, body->plan, run->feeds))
        return OK;
    if (dynamic && run->bound && !shapes_are_seen(run))
        dynamic = false;
    // The slots that it leaves are empty; those that it comes to know what doesn't change when they have been given it.
    body->seen = dynamic ? body->slots : NULL;
    const Bound *before = body->bound;
    if (before)
        step_empty(body);
    Status *status = step_bind(body, run->feeds);
    body->seen = NULL;
    run->bound &= !body->specialisation && body->bound == before;
    TRY(status);
    return look_at_binding(run);
}

// Who packs it knows it again by its buffer.
static bool is_stamped(const Tensor *value) {
    return value->buffer && value->buffer->stamp;
}

// The body's feeds. Variables come each time; what doesn't change stays in its slot, but for what the list gives up on
// its way (a counted slot is emptied by its last reader).
static void give(LoopRun *run) {
    Step *body = run->body;
    const Plan *plan = body->plan;
    for (int32_t i = 0; i < run->n_feeds; i++) {
        int32_t slot = plan->feeds[i].slot;
        bool variable = i < run->n_variables, counted = plan->slots[slot].escapes ||
            (!variable && is_stamped(&run->values[i]));
        if (!variable && run->bound && !counted)
            continue;
        if (counted)
            buffer_release(body->slots[slot].buffer);  // nobody has read it
        body->slots[slot] = run->values[i];
        if (!counted)
            body->slots[slot].buffer = NULL;
        else if (variable)
            run->values[i].buffer = NULL;  // moved
        else
            buffer_retain(run->values[i].buffer);
    }
    run->bound = true;
}

// What the variables are next. A value without a buffer lies where it outlives the loop's run, in the executor's
// constants or the specialisation's values, and gets a reference to be equal to the others. Two passes: a next value
// may be another variable's present one.
static void take(LoopRun *run, const Specialisation *specialisation, bool bound) {
    Step *body = run->body;
    const Plan *plan = body->plan;
    for (int32_t i = 0; i < run->n_variables; i++) {
        int32_t slot = plan->fetches[i].slot;
        Tensor *value = &body->slots[slot];
        run->next[i] = *value;
        if (value->buffer && run->moves[i])
            value->buffer = NULL;
        else if (value->buffer)
            buffer_retain(value->buffer);
        else if (body->executor->constants[slot].buffer)
            run->next[i].buffer = buffer_retain(body->executor->constants[slot].buffer);
        else if (specialisation && specialisation->values[slot].buffer &&
                 specialisation->values[slot].data == value->data)
            run->next[i].buffer = buffer_retain(specialisation->values[slot].buffer);
    }
    for (int32_t i = 0; i < run->n_variables; i++) {
        Buffer *old = run->values[i].buffer;
        run->values[i] = run->next[i];
        run->next[i] = (Tensor){0};
        if (!old)
            continue;
        if (bound && run->reusable[i] && old->bytes == run->reusable[i] && buffer_is_unique(old) && !old->stamp &&
            old->allocator == &host_allocator) {
            body->slots[plan->fetches[i].slot].buffer = old;
            body->slots[plan->fetches[i].slot].data = old->data;
        } else {
            buffer_release(old);
        }
    }
}

// The condition's buffer stays only where the next iteration expects one.
static Status *evaluate_condition(LoopRun *run, const Specialisation *specialisation, bool *out) {
    Step *body = run->body;
    int32_t last = body->plan->n_fetches - 1;
    TRY(read_condition(body, out));
    if (specialisation && run->reusable[last])
        return OK;
    Tensor *condition = &body->slots[body->plan->fetches[last].slot];
    buffer_release(condition->buffer);
    condition->buffer = NULL;
    return OK;
}

// Held for the iteration: the cache may drop it meanwhile.
static Status *iterate_specialised(LoopRun *run, bool *out_goes_on) {
    Step *body = run->body;
    Specialisation *specialisation = specialisation_retain(body->specialisation);
    Status *status = list_new_buffers(body);
    if (!status)
        status = run_specialised(body);
    const Specialisation *bound = body->specialisation;  // NULL: the world had changed, and the rest ran dynamically
    run->bound &= bound != NULL;
    if (!status) {
        take(run, specialisation, bound != NULL);
        status = evaluate_condition(run, bound, out_goes_on);
    }
    specialisation_release(specialisation);
    return status;
}

// `dynamic`: whether the iteration before has run dynamically, and then whether this one has. A dynamic iteration needs
// its constants in the slots when it follows a specialised one.
static Status *iterate(LoopRun *run, bool *dynamic, bool *out_goes_on) {
    Step *body = run->body;
    TRY(choose(run, *dynamic));
    *dynamic = body->specialisation == NULL;
    if (*dynamic && !run->bound)
        list_preset_constants(body);
    give(run);
    if (!*dynamic)
        return iterate_specialised(run, out_goes_on);
    TRY(run_dynamic_from(body, 0, 0));
    take(run, NULL, false);
    return evaluate_condition(run, NULL, out_goes_on);
}

// ---- after the last

// A result whose memory belongs to somebody else, or lies in a library's own layout, is copied: the caller's slots hold
// plain counted buffers.
static Status *leave(LoopRun *run, Kernel *k) {
    const int32_t *results = run->loop->results;
    for (int o = 0; o < k->n_out; o++) {
        Tensor *value = &run->values[results[o]], out;
        if (value->buffer && value->layout == LAYOUT_PLAIN)
            out = tensor_retain(value);
        else
            TRY(tensor_copy(value, &out));
        kernel_set_output(k, o, out);
    }
    return OK;
}

static void give_back(Step *part) {
    step_empty(part);
    step_rest_memory(part);
    if (part->evictions_seen != atomic_load_explicit(&part->executor->cache->evictions, memory_order_relaxed))
        step_release_evicted(part);
}

// Invariants are not counted here; variables are.
static void end(LoopRun *run) {
    for (int32_t i = 0; i < run->n_variables; i++)
        buffer_release(run->values[i].buffer);
    for (int32_t i = 0; i < run->n_feeds; i++)
        run->values[i] = (Tensor){0};
    give_back(run->first);
    if (run->lasting)
        give_back(run->lasting);
    give_back(run->body);
    run->bound = false;
}

Status *run_loop(Kernel *k, uint32_t last) {
    Step *step = (Step *)k->step;
    LoopRun *run;
    TRY(loop_find(step, step->plan->nodes[k->index].child, &run));
    lend_context(run->first, step);
    lend_context(run->body, step);
    if (run->lasting)
        lend_context(run->lasting, step);
    bool goes_on = false, dynamic = false;
    Status *status = begin(run, k, last, &goes_on);
    // The deadline is looked at once an iteration, beside what the body's list does: a body may have no node to run.
    while (!status && goes_on) {
        status = context_check(k->step);
        if (!status)
            status = iterate(run, &dynamic, &goes_on);
    }
    if (!status)
        status = leave(run, k);
    end(run);
    return status;
}
