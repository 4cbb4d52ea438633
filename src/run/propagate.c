// Propagate — see propagate.h: who is ready, what is dead, when a loop ends.
//
// A node is ready when all its inputs and controls have come; with a dead one among them it does not run and passes the
// deadness on. A Merge is ready at its first live input, or dead when all are. NextIteration leads to the following
// iteration, which is made when the window of the frame allows it. A frame ends when its oldest iteration has nothing
// outstanding and no next one was asked for; only then is an Exit that never fired known to be dead.
#include "run/propagate.h"

#include <stdlib.h>

#include "run/stress.h"
#include "thread/pool.h"

static void fail(Propagation *p, Status *status) {
    if (p->status) {
        status_free(status);
        return;
    }
    p->status = status;
    cancellation_cancel(&p->step->cancellation, status_copy(status));
}

static void no_memory(Propagation *p) {
    fail(p, status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory"));
}

static void push_ready(Propagation *p, int32_t node, Iteration *iteration) {
    iteration->outstanding++;
    if (!vec_push(&p->ready, ((Ready){node, iteration}))) {
        iteration->outstanding--;
        no_memory(p);
    }
}

// How many data inputs of a Merge can come in this iteration: of a loop's, Enter in the first and NextIteration later.
static int merge_inputs(const PlanNode *node, const Iteration *iteration) {
    if (!node->loop_merge)
        return node->binding.n_in;
    int next = 0;
    for (int i = 0; i < node->binding.n_in; i++)
        next += node_flow(node->binding.node->inputs[i].node) == FLOW_NEXT;
    return iteration->number == 0 ? node->binding.n_in - next : next;
}

static void deliver_to_merge(Propagation *p, const PlanEdge *edge, Iteration *iteration, bool dead, int32_t place) {
    const PlanNode *node = &p->plan->nodes[edge->node];
    uint8_t *state = &iteration->merged[place];
    if (edge->input == CONTROL) {
        iteration->pending[place]--;
    } else if (dead) {
        iteration->dead[place]++;
    } else if (!(*state & MERGE_ALIVE)) {
        *state |= MERGE_ALIVE;
        iteration->which[place] = edge->input;
    }
    bool all_dead = iteration->dead[place] == merge_inputs(node, iteration);
    if (iteration->pending[place] == 0 && !(*state & MERGE_FIRED) && ((*state & MERGE_ALIVE) || all_dead)) {
        *state |= MERGE_FIRED;
        push_ready(p, edge->node, iteration);
    }
}

static inline void deliver(Propagation *p, const PlanEdge *edge, Iteration *iteration, bool dead) {
    if (__builtin_expect(edge->flow == FLOW_MERGE, 0)) {
        deliver_to_merge(p, edge, iteration, dead, edge->place);
        return;
    }
    if (dead && edge->flow != FLOW_TRIGGER)
        iteration->dead[edge->place] = 1;
    if (--iteration->pending[edge->place] == 0)
        push_ready(p, edge->node, iteration);
}

enum { EVERY = -1 };

// Tells the consumers. `live` is the only output that carries a value, or EVERY; none does where the node died.
static inline void tell(Propagation *p, int32_t i, Iteration *to, int32_t live, bool dead) {
    const PlanNode *node = &p->plan->nodes[i];
    const PlanEdge *edge = p->plan->edges + node->edges, *end = edge + node->n_edges;
    for (; edge < end; edge++) {
        bool nothing = dead || (live != EVERY && edge->output != CONTROL && edge->output != live);
        deliver(p, edge, to, nothing);
    }
}

static Tensor *slot_in(const Propagation *p, Iteration *iteration, int32_t slot) {
    return &iteration->slots[p->plan->slots[slot].place];
}

// An unread value is not kept.
static inline void drop_unread(Iteration *iteration, int32_t place) {
    if (iteration->readers[place] <= 0 && iteration->slots[place].buffer) {
        buffer_release(iteration->slots[place].buffer);
        iteration->slots[place].buffer = NULL;
    }
}

static void put(Propagation *p, Iteration *iteration, int32_t slot, const Tensor *value) {
    Tensor *to = slot_in(p, iteration, slot);
    buffer_retain(value->buffer);
    buffer_release(to->buffer);
    *to = *value;
    drop_unread(iteration, p->plan->slots[slot].place);
}

// The same from an input that only this node has yet to read: the reference moves, and no count changes.
static void pass_on(Propagation *p, Iteration *from, int32_t in_place, Iteration *iteration, int32_t slot) {
    Tensor *value = &from->slots[in_place];
    if (from->readers[in_place] != 1 || !value->buffer) {
        put(p, iteration, slot, value);
        return;
    }
    Tensor *to = slot_in(p, iteration, slot);
    buffer_release(to->buffer);
    *to = *value;
    value->buffer = NULL;
    drop_unread(iteration, p->plan->slots[slot].place);
}

static inline void read_inputs(Propagation *p, const PlanNode *node, Iteration *iteration) {
    const int32_t *places = p->plan->in_places + node->in;
    for (int in = 0; in < node->binding.n_in; in++) {
        iteration->readers[places[in]]--;
        drop_unread(iteration, places[in]);
    }
}

// ---- frames

static void iteration_maybe_ends(Propagation *p, Iteration *iteration);

static void deliver_constants(Propagation *p, Frame *frame, Iteration *iteration) {
    for (int32_t c = 0; c < frame->plan->n_constants; c++) {
        if (!frame->constant_state[c])
            continue;
        int32_t enter = frame->plan->constants[c];
        bool dead = frame->constant_state[c] == 2;
        if (!dead)
            put(p, iteration, p->plan->nodes[enter].out, &frame->constants[c]);
        tell(p, enter, iteration, EVERY, dead);
    }
}

static Iteration *begin_iteration(Propagation *p, Frame *frame) {
    Iteration *iteration = iteration_new(p, frame);
    if (!iteration) {
        no_memory(p);
        return NULL;
    }
    iteration->outstanding++;  // held while its first values come
    deliver_constants(p, frame, iteration);
    iteration->outstanding--;
    return iteration;
}

static void frame_ends(Propagation *p, Frame *frame) {
    Iteration *parent = frame->parent;
    for (int32_t e = 0; e < frame->plan->n_exits; e++)
        if (!frame->exited[e])
            tell(p, frame->plan->exits[e], parent, EVERY, true);
    parent->children[frame->plan->child_index] = NULL;
    frame_free(p, frame);
    parent->outstanding--;
    iteration_maybe_ends(p, parent);
}

// The oldest iteration with nothing outstanding is over; so may be those behind it, and then the loop.
static void iteration_maybe_ends(Propagation *p, Iteration *iteration) {
    Frame *frame = iteration->frame;
    if (!frame->parent)
        return;
    while (frame->oldest == iteration && iteration->outstanding == 0 && frame->entered == frame->plan->enters) {
        Iteration *next = iteration->next;
        if (!next && frame->deferred.n) {
            next = begin_iteration(p, frame);
            if (!next)
                return;
            next->outstanding++;
            for (size_t i = 0; i < frame->deferred.n; i++) {
                Deferred *d = &frame->deferred.p[i];
                put(p, next, p->plan->nodes[d->node].out, &d->value);
                tensor_clear(&d->value);
                tell(p, d->node, next, EVERY, false);
            }
            frame->deferred.n = 0;
            next->outstanding--;
        }
        frame->oldest = next;
        frame->active--;
        iteration_free(p, iteration);
        if (!next) {
            frame->newest = NULL;
            frame_ends(p, frame);
            return;
        }
        iteration = next;
    }
}

static void enter(Propagation *p, int32_t i, Iteration *iteration, bool dead) {
    const PlanNode *node = &p->plan->nodes[i];
    Frame **child = &iteration->children[p->plan->frames[node->child].child_index];
    if (!*child) {
        *child = frame_new(p, node->child, iteration);
        if (!*child) {
            no_memory(p);
            return;
        }
        iteration->outstanding++;
    }
    Frame *frame = *child;
    const Tensor *value = slot_in(p, iteration, p->plan->in_slots[node->in]);
    frame->entered++;
    if (node->constant_enter) {
        int32_t c = node->position;
        frame->constant_state[c] = dead ? 2 : 1;
        if (!dead)
            frame->constants[c] = tensor_retain(value);
    }
    frame->oldest->outstanding++;
    for (Iteration *to = frame->oldest; to; to = node->constant_enter ? to->next : NULL) {
        if (!dead)
            put(p, to, node->out, value);
        tell(p, i, to, EVERY, dead);
    }
    frame->oldest->outstanding--;
    iteration_maybe_ends(p, frame->oldest);
}

static void next_iteration(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    Frame *frame = iteration->frame;
    const Tensor *value = slot_in(p, iteration, p->plan->in_slots[node->in]);
    Iteration *to = iteration->next;
    if (!to && frame->active < frame->plan->parallel && !frame->deferred.n)
        to = begin_iteration(p, frame);
    else if (!to) {
        if (!vec_push(&frame->deferred, ((Deferred){i, tensor_retain(value)})))
            no_memory(p);
        return;
    }
    if (!to)
        return;
    pass_on(p, iteration, p->plan->in_places[node->in], to, node->out);
    tell(p, i, to, EVERY, false);
}

static void exit_frame(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    Frame *frame = iteration->frame;
    frame->exited[node->position] = 1;
    put(p, frame->parent, node->out, slot_in(p, iteration, p->plan->in_slots[node->in]));
    tell(p, i, frame->parent, EVERY, false);
}

// ---- running nodes

static void node_ends(Propagation *p, int32_t i, Iteration *iteration) {
    read_inputs(p, &p->plan->nodes[i], iteration);
    iteration->outstanding--;
    if (iteration->outstanding == 0)
        iteration_maybe_ends(p, iteration);
}

static void kernel_ended(Propagation *p, int32_t i, Iteration *iteration, Status *status) {
    const PlanNode *node = &p->plan->nodes[i];
    if (status) {
        fail(p, node_error(node->binding.node, status));
    } else {
        for (int out = 0; out < node->binding.n_out; out++)
            drop_unread(iteration, node->out_place + out);
        tell(p, i, iteration, EVERY, false);
    }
    node_ends(p, i, iteration);
}

static void point(const Propagation *p, const PlanNode *node, Iteration *iteration, Tensor **pointers) {
    const int32_t *places = p->plan->in_places + node->in;
    for (int in = 0; in < node->binding.n_in; in++)
        pointers[in] = &iteration->slots[places[in]];
    for (int out = 0; out < node->binding.n_out; out++)
        pointers[node->binding.n_in + out] = &iteration->slots[node->out_place + out];
}

// Inputs that only this node has yet to read: their buffers may be written over.
static uint32_t last_reads(const Propagation *p, const PlanNode *node, const Iteration *iteration) {
    uint32_t last = 0;
    for (int in = 0; in < node->binding.n_in && in < MAX_ARGS; in++)
        if (iteration->readers[p->plan->in_places[node->in + in]] == 1)
            last |= BIT(in);
    return last;
}

void step_completed(Kernel *k, Status *status) {
    Started *started = k->frame;
    Propagation *p = ((Step *)k->step)->propagation;
    started->status = status;
    stress_yield();
    mutex_lock(&p->lock);
    started->next = p->done;
    p->done = started;
    atomic_store_explicit(&p->any_done, true, memory_order_release);
    condition_notify_one(&p->completed);
    mutex_unlock(&p->lock);
}

static void run_started(void *arg) {
    Started *started = arg;
    const Propagation *p = ((Step *)started->kernel.step)->propagation;
    const Binding *binding = &p->plan->nodes[started->node].binding;
    step_completed(&started->kernel, invoke(binding, &started->prepared, &started->kernel, 0));
}

// A kernel that starts, or that blocks: it ends by a completion.
static void start(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    size_t n = (size_t)node->binding.n_in + (size_t)node->binding.n_out;
    Started *started = calloc(1, sizeof *started + n * sizeof(Tensor *));
    if (!started) {
        no_memory(p);
        node_ends(p, i, iteration);
        return;
    }
    started->pointers = (Tensor **)(started + 1);
    started->node = i;
    started->iteration = iteration;
    point(p, node, iteration, started->pointers);
    started->kernel = p->step->kernels[i];
    started->kernel.in = started->pointers;
    started->kernel.out = started->pointers + node->binding.n_in;
    started->kernel.frame = started;
    p->started++;
    if (!node->binding.start) {
        if (!pool_elastic(run_started, started))
            run_started(started);
        return;
    }
    Status *status = prepared_init(&started->prepared, &node->binding, started->kernel.in, p->step->context.threads);
    started->kernel.own = started->prepared.own;
    for (int out = 0; out < node->binding.n_out && !status; out++)
        *started->kernel.out[out] = (Tensor){.dtype = p->plan->slots[node->out + out].dtype,
                                             .shape = started->prepared.out[out]};
    if (status)
        step_completed(&started->kernel, status);
    else
        node->binding.start(&started->kernel);
}

static void run_kernel(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    if (node->async) {
        start(p, i, iteration);
        return;
    }
    if (node->binding.n_out && p->plan->constants[node->out].buffer) {
        put(p, iteration, node->out, &p->plan->constants[node->out]);
        kernel_ended(p, i, iteration, OK);
        return;
    }
    point(p, node, iteration, p->pointers);
    Kernel kernel = p->step->kernels[i];
    kernel.in = p->pointers;
    kernel.out = p->pointers + node->binding.n_in;
    kernel.frame = iteration;
    uint32_t last = node->binding.op->inplace ? last_reads(p, node, iteration) : 0;
    Status *status = run_any(node, &p->step->late[i], &kernel, last);
    kernel_ended(p, i, iteration, status);
}

static Status *merge(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    int32_t which = iteration->which[node->place];
    // The producer may be the previous iteration's NextIteration: its slot is in this iteration all the same.
    pass_on(p, iteration, p->plan->in_places[node->in + which], iteration, node->out);
    if (node->binding.n_out > 1 && iteration->readers[p->plan->slots[node->out + 1].place] > 0) {
        Tensor index;
        TRY(tensor_new(DT_int32, SCALAR_SHAPE, &index));
        *(int32_t *)index.data = which;
        put(p, iteration, node->out + 1, &index);
        tensor_clear(&index);
    }
    return OK;
}

static void run_switch(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    const Tensor *choice = slot_in(p, iteration, p->plan->in_slots[node->in + 1]);
    if (tensor_count(choice) != 1) {
        fail(p, node_error(node->binding.node,
                           status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "pred must be a scalar, got shape %s",
                                      shape_text(&choice->shape))));
        node_ends(p, i, iteration);
        return;
    }
    int live = choice->dtype == DT_bool ? *(const bool *)choice->data : (int)tensor_int(choice, 0);
    if (live < 0 || live >= node->binding.n_out)
        live = node->binding.n_out - 1;  // _SwitchN: out of range takes the last
    pass_on(p, iteration, p->plan->in_places[node->in], iteration, node->out + live);
    tell(p, i, iteration, live, false);
    node_ends(p, i, iteration);
}

static void run_dead(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    if (node->flow == FLOW_ENTER)
        enter(p, i, iteration, true);
    else if (node->flow != FLOW_EXIT && node->flow != FLOW_NEXT)
        tell(p, i, iteration, EVERY, true);
    node_ends(p, i, iteration);
}

static void run_node(Propagation *p, int32_t i, Iteration *iteration) {
    const PlanNode *node = &p->plan->nodes[i];
    int32_t place = node->place;
    bool dead = node->flow == FLOW_MERGE ? !(iteration->merged[place] & MERGE_ALIVE) : iteration->dead[place] > 0;
    if (dead) {
        run_dead(p, i, iteration);
        return;
    }
    switch (node->flow) {
    case FLOW_SWITCH:
        run_switch(p, i, iteration);
        return;
    case FLOW_ENTER:
        enter(p, i, iteration, false);
        break;
    case FLOW_EXIT:
        exit_frame(p, i, iteration);
        break;
    case FLOW_NEXT:
        next_iteration(p, i, iteration);
        break;
    case FLOW_MERGE: {
        Status *status = merge(p, i, iteration);
        kernel_ended(p, i, iteration, status);
        return;
    }
    case FLOW_LOOP_COND:
        put(p, iteration, node->out, slot_in(p, iteration, p->plan->in_slots[node->in]));
        tell(p, i, iteration, EVERY, false);
        break;
    case FLOW_ARG: case FLOW_TRIGGER:
        tell(p, i, iteration, EVERY, false);
        break;
    default:
        run_kernel(p, i, iteration);
        return;
    }
    node_ends(p, i, iteration);
}

// ---- the loop of the step's owner

static void take_completions(Propagation *p) {
    mutex_lock(&p->lock);
    Started *done = p->done;
    p->done = NULL;
    atomic_store_explicit(&p->any_done, false, memory_order_relaxed);
    mutex_unlock(&p->lock);
    while (done) {
        Started *next = done->next;
        p->started--;
        kernel_ended(p, done->node, done->iteration, done->status);
        prepared_clear(&done->prepared);
        free(done);
        done = next;
    }
}

// Waits for a completion. A deadline cancels the step; started kernels then end on their own.
static void wait_completion(Propagation *p) {
    mutex_lock(&p->lock);
    bool in_time = true;
    int64_t deadline = p->status ? NO_DEADLINE : p->step->context.deadline;
    while (!p->done && in_time)
        in_time = condition_wait_until(&p->completed, &p->lock, deadline);
    bool late = !p->done;
    mutex_unlock(&p->lock);
    if (late)
        fail(p, status_new(DEADLINE_EXCEEDED, __FILE__, __LINE__, "the step ran past its deadline"));
}

static void propagate(Propagation *p) {
    Step *step = p->step;
    const bool any_order = stress_is_on(STRESS_ORDER), yields = stress_is_on(STRESS_YIELD);
    const bool timed = step->context.deadline != NO_DEADLINE;
    for (;;) {
        if (atomic_load_explicit(&p->any_done, memory_order_acquire))
            take_completions(p);
        if (p->status)
            p->ready.n = 0;
        if (__builtin_expect(yields, 0))
            stress_yield();
        if (p->ready.n) {
            size_t at = p->ready.n - 1;
            if (__builtin_expect(any_order, 0))
                at = stress_random() % p->ready.n;
            Ready ready = p->ready.p[at];
            p->ready.p[at] = p->ready.p[--p->ready.n];
            Status *over = timed || cancellation_is_set(&step->cancellation) ? step_check(step) : OK;
            if (__builtin_expect(over != NULL, 0))
                fail(p, over);
            else
                run_node(p, ready.node, ready.iteration);
        } else if (p->started) {
            wait_completion(p);
        } else {
            return;
        }
    }
}

static Status *propagation_new(Step *step) {
    const Plan *plan = step->plan;
    size_t widest = 1;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        size_t n = (size_t)plan->nodes[i].binding.n_in + (size_t)plan->nodes[i].binding.n_out;
        widest = n > widest ? n : widest;
    }
    Propagation *p = ARENA_NEW(&step->arena, Propagation);
    NEED_MEMORY(p);
    p->step = step;
    p->plan = plan;
    p->free_iterations = ARENA_ARRAY(&step->arena, Iteration *, plan->n_frames);
    p->pointers = ARENA_ARRAY(&step->arena, Tensor *, widest);
    NEED_MEMORY(p->free_iterations && p->pointers);
    mutex_init(&p->lock);
    condition_init(&p->completed);
    step->propagation = p;
    return OK;
}

void step_free_propagation(Step *step) {
    Propagation *p = step->propagation;
    if (!p)
        return;
    if (p->root)
        frame_free(p, p->root);
    for (int32_t f = 0; f < p->plan->n_frames; f++) {
        while (p->free_iterations[f]) {
            Iteration *next = p->free_iterations[f]->next;
            free(p->free_iterations[f]);
            p->free_iterations[f] = next;
        }
    }
    vec_clear(&p->ready);
    status_free(p->status);
    mutex_clear(&p->lock);
    condition_clear(&p->completed);
    step->propagation = NULL;
}

static Status *begin(Step *step) {
    if (!step->propagation)
        TRY(propagation_new(step));
    Propagation *p = step->propagation;
    p->root = frame_new(p, 0, NULL);
    NEED_MEMORY(p->root);
    Iteration *iteration = p->root->oldest;
    for (int32_t i = 0; i < p->plan->n_nodes; i++) {
        const PlanNode *node = &p->plan->nodes[i];
        if (node->frame == 0 && node->pending == 0 && node->flow != FLOW_MERGE &&
            !(node->flow == FLOW_ARG && p->plan->partial))
            push_ready(p, i, iteration);
    }
    return OK;
}

// Moves fetched values where step_fetch looks for them, and forgets the rest.
static void collect(Step *step, bool all) {
    Propagation *p = step->propagation;
    for (int i = 0; i < p->plan->n_fetches; i++) {
        int32_t slot = p->plan->fetches[i].slot;
        Tensor *from = slot_in(p, p->root->oldest, slot);
        if (!from->data)
            continue;
        buffer_retain(from->buffer);
        buffer_release(step->slots[slot].buffer);
        step->slots[slot] = *from;
    }
    if (all) {
        frame_free(p, p->root);
        p->root = NULL;
    }
}

static Status *end(Step *step) {
    Propagation *p = step->propagation;
    Status *status = p->status;
    p->status = NULL;
    collect(step, true);
    return status;
}

static void feed_slot(Step *step, int f, const Tensor *value) {
    Propagation *p = step->propagation;
    int32_t slot = p->plan->feeds[f].slot;
    if (slot < 0)
        return;
    put(p, p->root->oldest, slot, value);
    if (p->plan->partial)
        push_ready(p, p->plan->slots[slot].producer, p->root->oldest);
}

Status *step_run_dynamic(Step *step, const Tensor *const *feeds) {
    for (int32_t slot = 0; slot < step->plan->n_slots; slot++)
        step->slots[slot].data = NULL;
    TRY(begin(step));
    for (int i = 0; i < step->plan->n_feeds; i++)
        feed_slot(step, i, feeds[i]);
    propagate(step->propagation);
    return end(step);
}

Status *step_continue(Step *step, const Tensor *const *feeds, Tensor *const *fetches) {
    if (!step->propagation || !step->propagation->root)
        TRY(begin(step));
    Propagation *p = step->propagation;
    for (int i = 0; i < step->plan->n_feeds; i++)
        if (feeds[i])
            feed_slot(step, i, feeds[i]);
    propagate(p);
    if (p->status)
        return end(step);
    collect(step, false);
    for (int i = 0; i < step->plan->n_fetches; i++) {
        if (!fetches[i])
            continue;
        const Tensor *slot = &step->slots[step->plan->fetches[i].slot];
        NEED(slot->data, INVALID_ARGUMENT, "fetch %d can't be computed from the feeds that were given so far", i);
        TRY(tensor_copy(slot, fetches[i]));
    }
    return OK;
}

void step_free_partial(Step *step) {
    Propagation *p = step->propagation;
    if (p && p->root) {
        fail(p, status_new(CANCELLED, __FILE__, __LINE__, "the partial run was given up"));
        propagate(p);
        status_free(end(step));
    }
    cancellation_clear(&step->cancellation);
    step_clear_rendezvous(step);
    step_free(step);
}
