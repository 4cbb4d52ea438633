// Propagate — see propagate.h: who is ready, what is dead, when a loop ends.
//
// A node is ready when all its inputs and controls have come; with a dead one among them it does not run and passes the
// deadness on. A Merge is ready at its first live input, or dead when all are. NextIteration leads to the following
// iteration, which is made when the window of the frame allows it. A frame ends when its oldest iteration has nothing
// outstanding and no next one was asked for; only then is an Exit that never fired known to be dead.
//
// After Y. Yu et al., "Dynamic Control Flow in Large-Scale Machine Learning", EuroSys 2018.
#include "run/propagate.h"

#include <stdlib.h>

#include "base/clock.h"
#include "loops/tuning.h"
#include "run/stress.h"
#include "run/trace.h"
#include "thread/pool.h"

// The first error is the step's; what fails after it mostly fails because of it. Cancelling ends what waits.
static void fail(Propagation *p, Status *status) {
    if (p->status) {
        status_free(status);
        return;
    }
    p->status = status;
    cancellation_cancel(&p->step->cancellation, status_copy(status));
}

static void no_memory(Propagation *p) {
    fail(p, OUT_OF_MEMORY);
}

// `outstanding` counts what an iteration still has to do: ready and running nodes, child frames, values under way.
static inline void push_ready(Propagation *p, const PlanNode *node, Iteration *iteration) {
    if (__builtin_expect(p->ready.n == p->ready.room, 0) && !vec_reserve(&p->ready, p->ready.n + 1)) {
        no_memory(p);
        return;
    }
    iteration->outstanding++;
    p->ready.p[p->ready.n++] = (Ready){node, iteration};
}

// Out of line: deliver() is the hottest function of a propagated plan, and Merges are few. `merges` is how many inputs
// can come in this iteration: in the first those from outside, later those of the loop; when all of these are dead so
// is the Merge. Several live inputs may come where a graph was written so: the first wins, as in TensorFlow.
static __attribute__((noinline)) void deliver_to_merge(Propagation *p, const PlanEdge *edge, Iteration *iteration,
                                                       bool dead) {
    const PlanNode *node = &p->plan->nodes[edge->node];
    IterationNode *state = &iteration->nodes[edge->place];
    if (edge->input == CONTROL)
        state->pending--;
    else if (dead)
        state->dead++;
    else if (state->came < 0)
        state->came = (int16_t)edge->input;
    bool all_dead = state->dead == node->merges[iteration->number > 0];
    if (state->pending == 0 && (state->came >= 0 || all_dead)) {
        state->pending = -1;  // fired
        push_ready(p, &p->plan->nodes[edge->node], iteration);
    }
}

// A Trigger (the NoOp of an If's both branches) runs whether what it waits for was dead or not.
static inline void deliver(Propagation *p, const PlanEdge *edge, Iteration *iteration, bool dead) {
    if (__builtin_expect(edge->flow == FLOW_MERGE, 0)) {
        deliver_to_merge(p, edge, iteration, dead);
        return;
    }
    IterationNode *state = &iteration->nodes[edge->place];
    if (dead && edge->flow != FLOW_TRIGGER)
        state->dead = 1;
    if (--state->pending == 0)
        push_ready(p, &p->plan->nodes[edge->node], iteration);
}

// Whom a node tells: consumers of all outputs, or none since it has told them itself.
enum { EVERY = -1, NOBODY = -2 };
enum { STARTED = -2 };  // IterationNode.pending of a node whose completion is outstanding

// Tells the consumers. `live` is the only output that carries a value (a Switch's), or EVERY. Control edges carry the
// node's own life: the Switch has run, whichever side is dead.
static inline void tell(Propagation *p, const PlanNode *node, Iteration *to, int32_t live) {
    const PlanEdge *edge = p->plan->edges + node->edges, *end = edge + node->n_edges;
    for (; edge < end; edge++)
        deliver(p, edge, to, live != EVERY && edge->output != CONTROL && edge->output != live);
}

static void tell_dead(Propagation *p, const PlanNode *node, Iteration *to) {
    const PlanEdge *edge = p->plan->edges + node->edges, *end = edge + node->n_edges;
    for (; edge < end; edge++)
        deliver(p, edge, to, true);
}

static void tell_either(Propagation *p, const PlanNode *node, Iteration *to, bool dead) {
    if (dead)
        tell_dead(p, node, to);
    else
        tell(p, node, to, EVERY);
}

static inline IterationSlot *input_slot(const Propagation *p, const PlanNode *node, Iteration *iteration, int in) {
    return &iteration->slots[p->plan->in_places[node->in + in]];
}

static inline Value *input(const Propagation *p, const PlanNode *node, Iteration *iteration, int in) {
    return input_slot(p, node, iteration, in)->value;
}

// A tensor becomes the value of a slot, counted once by the slot.
static void put(Propagation *p, IterationSlot *slot, const Tensor *tensor) {
    Value *value = value_new(p);
    if (!value) {
        no_memory(p);
        return;
    }
    value->tensor = tensor_retain(tensor);
    slot_hold(p, slot, value);
    value_release(p, value);
}

// After the node: its inputs may go with their last reader. Dead inputs count as read, too.
static inline void read_inputs(Propagation *p, const PlanNode *node, Iteration *iteration) {
    for (int in = 0; in < node->binding.n_in; in++) {
        IterationSlot *slot = input_slot(p, node, iteration, in);
        if (--slot->readers <= 0)
            slot_empty(p, slot);
    }
}

// ---- frames

static void iteration_maybe_ends(Propagation *p, Iteration *iteration);

// A loop's invariants are in each iteration from its beginning, dead or alive; those that have not entered yet come by
// enter().
static void deliver_constants(Propagation *p, Frame *frame, Iteration *iteration) {
    for (int32_t c = 0; c < frame->plan->n_constants; c++) {
        Value *value = frame->constants[c];
        if (!value && !frame->constant_dead[c])
            continue;
        const PlanNode *enter = &p->plan->nodes[frame->plan->constants[c]];
        if (value)
            slot_hold(p, &iteration->slots[enter->out_place], value);
        tell_either(p, enter, iteration, !value);
    }
}

static Iteration *begin_iteration(Propagation *p, Frame *frame) {
    Iteration *iteration = iteration_new(p, frame);
    if (!iteration) {
        no_memory(p);
        return NULL;
    }
    // Without it a value that makes nothing ready would end the iteration before the next value is in.
    iteration->outstanding++;  // held while its first values come
    deliver_constants(p, frame, iteration);
    iteration->outstanding--;
    return iteration;
}

// Exits that never fired are dead, which nobody could know before. The child's end may be the parent iteration's.
static void frame_ends(Propagation *p, Frame *frame) {
    Iteration *parent = frame->parent;
    for (int32_t e = 0; e < frame->plan->n_exits; e++)
        if (!frame->exited[e])
            tell_dead(p, &p->plan->nodes[frame->plan->exits[e]], parent);
    parent->children[frame->plan->child_index] = NULL;
    frame_free(p, frame);
    parent->outstanding--;
    iteration_maybe_ends(p, parent);
}

// The oldest iteration with nothing outstanding is over; so may be those behind it, and then the loop. In order, since
// a younger one may still be given values by an older. `entered`: an Enter that has not come could start work in the
// first. Deferred values are what came when the window was full; they begin the next iteration when there is room.
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
                slot_hold(p, &next->slots[d->node->out_place], d->value);
                value_release(p, d->value);
                tell(p, d->node, next, EVERY);
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

// The first Enter makes the frame. A constant Enter goes into all iterations that there are, others into the first.
static void enter(Propagation *p, const PlanNode *node, Iteration *iteration, bool dead) {
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
    Value *value = dead ? NULL : input(p, node, iteration, 0);
    frame->entered++;
    if (node->constant_enter) {
        frame->constant_dead[node->position] = dead;
        frame->constants[node->position] = value;
        if (value)
            value->holders++;
    }
    frame->oldest->outstanding++;
    for (Iteration *to = frame->oldest; to; to = node->constant_enter ? to->next : NULL) {
        if (value)
            slot_hold(p, &to->slots[node->out_place], value);
        tell_either(p, node, to, dead);
    }
    frame->oldest->outstanding--;
    iteration_maybe_ends(p, frame->oldest);
}

// The window (`parallel`) bounds how many iterations are alive. What finds it full is deferred, and so is what comes
// after it, so that the values of one iteration stay together.
static void next_iteration(Propagation *p, const PlanNode *node, Iteration *iteration) {
    Frame *frame = iteration->frame;
    Value *value = input(p, node, iteration, 0);
    Iteration *to = iteration->next;
    if (!to && frame->active < frame->plan->parallel && !frame->deferred.n) {
        to = begin_iteration(p, frame);
    } else if (!to) {
        if (vec_push(&frame->deferred, ((Deferred){node, value})))
            value->holders++;
        else
            no_memory(p);
        return;
    }
    if (!to)
        return;
    slot_hold(p, &to->slots[node->out_place], value);
    tell(p, node, to, EVERY);
}

// An Exit that does not read the Switch which ends the loop has a value in each iteration: the first one leaves, and
// who waits outside is told once.
static void exit_frame(Propagation *p, const PlanNode *node, Iteration *iteration) {
    Frame *frame = iteration->frame;
    if (frame->exited[node->position])
        return;
    frame->exited[node->position] = 1;
    slot_hold(p, &frame->parent->slots[node->out_place], input(p, node, iteration, 0));
    tell(p, node, frame->parent, EVERY);
}

// ---- running nodes

static inline void node_ends(Propagation *p, const PlanNode *node, Iteration *iteration) {
    read_inputs(p, node, iteration);
    if (--iteration->outstanding == 0)
        iteration_maybe_ends(p, iteration);
}

// An output without readers, or whose readers were all fed, need not live until the iteration ends.
static inline void drop_unread(Propagation *p, const PlanNode *node, Iteration *iteration) {
    IterationSlot *slot = &iteration->slots[node->out_place];
    for (int out = 0; out < node->binding.n_out; out++, slot++)
        if (slot->readers <= 0)
            slot_empty(p, slot);
}

// Tells who waits for the node, except where it failed; then it is over.
static inline void node_done(Propagation *p, const PlanNode *node, Iteration *iteration, int32_t live, Status *status) {
    if (__builtin_expect(status != NULL, 0))
        fail(p, node_error(node->binding.node, status));
    else if (live != NOBODY)
        tell(p, node, iteration, live);
    node_ends(p, node, iteration);
}

// Where the node finds its inputs, and new values for its outputs; false when memory is out. `out_last` are the inputs
// that only this node has yet to read and no other slot holds: their buffers may be written over.
static inline bool point(Propagation *p, const PlanNode *node, Iteration *iteration, Tensor **pointers,
                         uint32_t *out_last) {
    uint32_t last = 0;
    for (int in = 0; in < node->binding.n_in; in++) {
        const IterationSlot *slot = input_slot(p, node, iteration, in);
        *pointers++ = &slot->value->tensor;
        if (slot->readers == 1 && slot->value->holders == 1 && in < MAX_ARGS)
            last |= BIT(in);
    }
    IterationSlot *slot = &iteration->slots[node->out_place];
    for (int out = 0; out < node->binding.n_out; out++, slot++) {
        slot->value = value_new(p);
        if (__builtin_expect(!slot->value, 0))
            return false;
        *pointers++ = &slot->value->tensor;
    }
    *out_last = last;
    return true;
}

// From any thread, also from within start(). Takes the lock for a list entry and no longer; the owner does the rest.
void step_completed(Kernel *k, Status *status) {
    Started *started = k->frame;
    if (!started) {  // of a list
        waits_completed(k, status);
        return;
    }
    Propagation *p = ((Step *)k->step)->propagation;
    started->status = status;
    stress_yield();
    if (k->step->trace)
        trace_add(k->step->trace, &started->node->binding, k, started->since);
    mutex_lock(&p->lock);
    started->next = p->done;
    p->done = started;
    atomic_store_explicit(&p->any_done, true, memory_order_release);
    condition_notify_one(&p->completed);
    mutex_unlock(&p->lock);
}

static void note_start(Started *started) {
    started->since = started->kernel.step->trace ? clock_now() : 0;
}

static void run_started(void *arg) {
    Started *started = arg;
    Prepared *prepared = started->node_prepared ? started->node_prepared : &started->prepared;
    note_start(started);
    step_completed(&started->kernel, invoke(&started->node->binding, prepared, &started->kernel, 0));
}

// On another thread, unless there run as many of this step's kernels as may: then the caller does it, and nothing waits
// for a free thread.
static void run_beside(Propagation *p, Started *started) {
    if (p->beside + 1 < p->step->options->inter_threads) {
        started->beside = true;
        p->beside++;
        // What blocks is outside the budget of threads that compute.
        if (started->node->async ? pool_elastic(run_started, started) : pool_submit(run_started, started))
            return;
    }
    run_started(started);
}

// Only at the top: inside of loops values live in iterations, which the caller's thread alone may touch.
static bool is_heavy(const Propagation *p, const PlanNode *node) {
    const Step *step = p->step;
    int32_t i = (int32_t)(node - p->plan->nodes);
    const Prepared *prepared = step->specialisation ? &step->specialisation->prepared[i] : &step->prepared[i];
    return node->frame == 0 && node->flow == FLOW_NONE && prepared_cost(prepared) >= TUNED_NODE_AWAY;
}

// The light ones first: what they make ready may be heavy, and then heavy ones are ready together. A stack otherwise
// (the last made ready runs first), which keeps few values alive.
static size_t choose_ready(const Propagation *p) {
    size_t at = p->ready.n - 1;
    while (at > 0 && is_heavy(p, p->ready.p[at].node))
        at--;
    return is_heavy(p, p->ready.p[at].node) ? p->ready.n - 1 : at;
}

// A heavy kernel leaves the caller to another heavy one that is ready too; alone it would leave it to nothing.
static bool goes_apart(const Propagation *p, const PlanNode *node) {
    return p->ready.n && is_heavy(p, p->ready.p[0].node) && is_heavy(p, node) &&
           p->beside + 1 < p->step->options->inter_threads;
}

// A kernel that starts, or that blocks: it ends by a completion. Its Kernel, pointers and prepared state lie in one
// block of its own, since the step goes on meanwhile and uses its shared ones.
static void start(Propagation *p, const PlanNode *node, Iteration *iteration) {
    size_t n = (size_t)node->binding.n_in + (size_t)node->binding.n_out;
    Started *started = calloc(1, sizeof *started + n * sizeof(Tensor *));
    uint32_t ignored;
    if (!started || !point(p, node, iteration, (Tensor **)(started + 1), &ignored)) {
        free(started);
        no_memory(p);
        node_ends(p, node, iteration);
        return;
    }
    started->pointers = (Tensor **)(started + 1);
    started->node = node;
    started->iteration = iteration;
    started->kernel = p->step->kernels[node - p->plan->nodes];
    started->kernel.in = started->pointers;
    started->kernel.out = started->pointers + node->binding.n_in;
    started->kernel.frame = started;
    iteration->nodes[node->place].pending = STARTED;
    p->started++;
    if (!node->binding.start) {
        // Heavy kernels run once in a step, so the step's own preparation serves; what blocks may run in many
        // iterations at once.
        started->node_prepared = node->async ? NULL : &p->step->prepared[node - p->plan->nodes];
        run_beside(p, started);
        return;
    }
    Status *status = prepared_init(&started->prepared, &node->binding, started->kernel.in, p->step->context.threads);
    started->kernel.own = started->prepared.own;
    for (int out = 0; out < node->binding.n_out && !status; out++)
        *started->kernel.out[out] = (Tensor){.dtype = p->plan->slots[node->out + out].dtype,
                                             .shape = started->prepared.out[out]};
    note_start(started);
    if (status)
        step_completed(&started->kernel, status);
    else
        node->binding.start(&started->kernel);
}

// One Kernel for all nodes that the caller runs: they run one after another.
static inline Status *run_kernel(Propagation *p, const PlanNode *node, Iteration *iteration) {
    uint32_t last;
    NEED_MEMORY(point(p, node, iteration, p->pointers, &last));
    Kernel *kernel = &p->kernel;
    int32_t i = (int32_t)(node - p->plan->nodes);
    kernel->out = p->pointers + node->binding.n_in;
    kernel->state = p->step->executor->states[i];
    kernel->node = node->binding.node;
    kernel->n_in = node->binding.n_in;
    kernel->n_out = node->binding.n_out;
    kernel->index = (uint32_t)i;
    kernel->frame = iteration;
    Trace *trace = p->step->context.trace;
    int64_t start = trace ? clock_now() : 0;
    Status *status = run_any(node, &p->step->prepared[i], kernel, last);
    if (trace)
        trace_add(trace, &node->binding, kernel, start);
    drop_unread(p, node, iteration);
    return status;
}

static Status *merge(Propagation *p, const PlanNode *node, Iteration *iteration) {
    int32_t which = iteration->nodes[node->place].came;
    IterationSlot *out = &iteration->slots[node->out_place];
    // The producer may be the previous iteration's NextIteration: its slot is in this iteration all the same.
    slot_hold(p, out, input(p, node, iteration, which));
    if (node->binding.n_out > 1 && out[1].readers > 0) {
        Tensor index;
        TRY(tensor_new(DT_int32, SCALAR_SHAPE, &index));
        *(int32_t *)index.data = which;
        put(p, &out[1], &index);
        tensor_clear(&index);
    }
    return OK;
}

// Both outputs share one value; the other one's readers are told that it is dead.
static Status *run_switch(Propagation *p, const PlanNode *node, Iteration *iteration, int32_t *out_live) {
    const Tensor *choice = &input(p, node, iteration, 1)->tensor;
    NEED(choice->shape.rank == 0, INVALID_ARGUMENT, "pred must be a scalar, got shape %s", shape_text(&choice->shape));
    int live = choice->dtype == DT_bool ? *(const bool *)choice->data : (int)tensor_int(choice, 0);
    if (live < 0 || live >= node->binding.n_out)
        live = node->binding.n_out - 1;  // _SwitchN: out of range takes the last
    slot_hold(p, &iteration->slots[node->out_place + live], input(p, node, iteration, 0));
    *out_live = live;
    return OK;
}

// The other task waits for this key.
static void send_dead(Propagation *p, const PlanNode *node, const Iteration *iteration) {
    Status *status = step_send_dead(p->step, node, iteration);
    if (status)
        fail(p, node_error(node->binding.node, status));
}

// A dead Exit says nothing yet: another iteration's may be alive; frame_ends tells. A dead NextIteration begins no
// iteration, which is how a loop ends. A dead Enter still makes its frame, so that the Exits behind it come out dead.
static void run_dead(Propagation *p, const PlanNode *node, Iteration *iteration) {
    if (node->flow == FLOW_SEND)
        send_dead(p, node, iteration);
    if (node->flow == FLOW_ENTER)
        enter(p, node, iteration, true);
    else if (node->flow != FLOW_EXIT && node->flow != FLOW_NEXT)
        tell_dead(p, node, iteration);
    node_ends(p, node, iteration);
}

// Moves the value of a control flow node to where it goes. `*live`: whom to tell, where it has not done that itself.
static Status *run_flow(Propagation *p, const PlanNode *node, Iteration *iteration, int32_t *live) {
    switch (node->flow) {
    case FLOW_SWITCH:
        return run_switch(p, node, iteration, live);
    case FLOW_MERGE:
        return merge(p, node, iteration);
    case FLOW_LOOP_COND:
        slot_hold(p, &iteration->slots[node->out_place], input(p, node, iteration, 0));
        return OK;
    case FLOW_ENTER:
        enter(p, node, iteration, false);
        break;
    case FLOW_EXIT:
        exit_frame(p, node, iteration);
        break;
    case FLOW_NEXT:
        next_iteration(p, node, iteration);
        break;
    default:  // FLOW_ARG, FLOW_TRIGGER
        return OK;
    }
    *live = NOBODY;
    return OK;
}

// Dispatch by what the plan says of the node, never by its op.
static void run_node(Propagation *p, const PlanNode *node, Iteration *iteration) {
    const IterationNode *state = &iteration->nodes[node->place];
    bool dead = node->flow == FLOW_MERGE ? state->came < 0 : state->dead > 0;
    int32_t live = EVERY;
    Status *status = OK;
    if (__builtin_expect(dead, 0)) {
        run_dead(p, node, iteration);
        return;
    }
    if ((node->flow >= FLOW_SWITCH && node->flow <= FLOW_TRIGGER) || node->flow == FLOW_ARG) {
        status = run_flow(p, node, iteration, &live);
    } else if (node->async || (__builtin_expect(p->branches, 0) && !node->constant && goes_apart(p, node))) {
        start(p, node, iteration);
        return;
    } else if (step_constant(p->step, node)) {
        put(p, &iteration->slots[node->out_place], step_constant(p->step, node));
    } else {
        status = run_kernel(p, node, iteration);
    }
    node_done(p, node, iteration, live, status);
}

// ---- the loop of the step's owner

static void received_dead(Propagation *p, const Started *started) {
    const PlanNode *node = started->node;
    for (int out = 0; out < node->binding.n_out; out++)
        slot_empty(p, &started->iteration->slots[node->out_place + out]);
    tell_dead(p, node, started->iteration);
    node_ends(p, node, started->iteration);
}

// The whole list at once, so that completing threads meet the lock seldom.
static void take_completions(Propagation *p) {
    mutex_lock(&p->lock);
    Started *done = p->done;
    p->done = NULL;
    atomic_store_explicit(&p->any_done, false, memory_order_relaxed);
    mutex_unlock(&p->lock);
    while (done) {
        Started *next = done->next;
        p->started--;
        p->beside -= done->beside;
        done->iteration->nodes[done->node->place].pending = 0;
        drop_unread(p, done->node, done->iteration);
        if (__builtin_expect(done->dead, 0))
            received_dead(p, done);
        else
            node_done(p, done->node, done->iteration, EVERY, done->status);
        prepared_clear(&done->prepared);
        free(done);
        done = next;
    }
}

// Waits for a completion. A deadline cancels the step; started kernels then end on their own, and the step waits for
// them without a deadline: their memory is the step's.
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

// Whether the fetch is there; what is started has a value already, but may still write to it.
static bool has_come(const Propagation *p, int fetch) {
    const PlanSlot *slot = &p->plan->slots[p->plan->fetches[fetch].slot];
    const Iteration *iteration = p->root->oldest;
    return iteration->slots[slot->place].value &&
           (slot->producer < 0 || iteration->nodes[p->plan->nodes[slot->producer].place].pending != STARTED);
}

static bool has_enough(const Propagation *p) {
    for (int i = 0; p->wanted && i < p->plan->n_fetches; i++)
        if (p->wanted[i] && !has_come(p, i))
            return false;
    return p->wanted && !p->status;
}

// Until nothing is ready and nothing is started, or a part of a partial run has what it wants. On an error what is ready is
// dropped; what is started is still waited for.
static void propagate(Propagation *p) {
    Step *step = p->step;
    const bool any_order = stress_is_on(STRESS_ORDER), yields = stress_is_on(STRESS_YIELD);
    const bool timed = step->context.deadline != NO_DEADLINE;
    const CancellationFlags flags = cancellation_flags(&step->cancellation);
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
            else if (__builtin_expect(p->branches, 0))
                at = choose_ready(p);
            Ready ready = p->ready.p[at];
            p->ready.p[at] = p->ready.p[--p->ready.n];
            Status *over = timed || cancellation_flagged(&flags) ? context_check(&step->context) : OK;
            if (__builtin_expect(over != NULL, 0))
                fail(p, over);
            else
                run_node(p, ready.node, ready.iteration);
        } else if (p->started && !has_enough(p)) {
            wait_completion(p);
        } else {
            return;
        }
    }
}

// Kept with the step for its next runs; only the root frame is made anew.
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
    p->kernel = (Kernel){.in = p->pointers, .scratch = no_scratch, .step = &step->context};
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

// Running beside pays where kernels have one thread each; else each kernel shares its own work.
static Status *begin(Step *step) {
    if (!step->bound)
        TRY(step_unbind(step));
    if (!step->propagation)
        TRY(propagation_new(step));
    Propagation *p = step->propagation;
    p->branches = step->options->intra_threads == 1 && step->options->inter_threads > 1;
    p->root = frame_new(p, 0, NULL);
    NEED_MEMORY(p->root);
    Iteration *iteration = p->root->oldest;
    for (int32_t i = 0; i < p->plan->n_roots; i++)
        push_ready(p, &p->plan->nodes[p->plan->roots[i]], iteration);
    return OK;
}

// Moves fetched values where step_fetch looks for them, and forgets the rest (`all`); a partial run goes on with it.
static void collect(Step *step, bool all) {
    Propagation *p = step->propagation;
    for (int i = 0; i < p->plan->n_fetches; i++) {
        int32_t slot = p->plan->fetches[i].slot;
        const Value *from = p->root->oldest->slots[p->plan->slots[slot].place].value;
        if (!from)
            continue;
        buffer_retain(from->tensor.buffer);
        buffer_release(step->slots[slot].buffer);
        step->slots[slot] = from->tensor;
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

// In a partial run the _Arg is what is waited for, and runs when its feed comes.
static void feed_slot(Step *step, int f, const Tensor *value) {
    Propagation *p = step->propagation;
    int32_t slot = p->plan->feeds[f].slot;
    if (slot < 0)
        return;
    put(p, &p->root->oldest->slots[p->plan->slots[slot].place], value);
    if (p->plan->partial)
        push_ready(p, &p->plan->nodes[p->plan->slots[slot].producer], p->root->oldest);
}

Status *step_run_propagated(Step *step, const Tensor *const *feeds) {
    TRY(begin(step));
    for (int i = 0; i < step->plan->n_fetches; i++)
        step->slots[step->plan->fetches[i].slot].data = NULL;
    for (int i = 0; i < step->plan->n_feeds; i++)
        feed_slot(step, i, feeds[i]);
    propagate(step->propagation);
    return end(step);
}

// Copies, since a later part of the run may read the value again.
static Status *copy_fetches(const Step *step, Tensor *const *fetches) {
    Status *status = OK;
    int i = 0;
    for (; i < step->plan->n_fetches && !status; i++) {
        const Tensor *slot = &step->slots[step->plan->fetches[i].slot];
        if (fetches[i])
            status = slot->data ? step_copy_fetch(step, &step->plan->fetches[i], fetches[i])
                                : status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                             "fetch %d was not computed: it is on a " "branch that was not taken", i);
    }
    for (i -= 2; status && i >= 0; i--)
        if (fetches[i])
            tensor_clear(fetches[i]);
    return status;
}

Status *step_continue(Step *step, const Tensor *const *feeds, Tensor *const *fetches, bool last) {
    if (!step->propagation || !step->propagation->root)
        TRY(begin(step));
    Propagation *p = step->propagation;
    for (int i = 0; i < step->plan->n_feeds; i++)
        if (feeds[i])
            feed_slot(step, i, feeds[i]);
    p->wanted = last ? NULL : fetches;
    propagate(p);
    p->wanted = NULL;
    Status *late = step_sync(step, OK);
    if (late)
        fail(p, late);
    if (p->status) {
        propagate(p);  // what is still started ends first
        return end(step);
    }
    collect(step, false);
    return copy_fetches(step, fetches);
}

// Started kernels hold memory of the step: it is cancelled and run to its end first.
void step_free_partial(Step *step) {
    Propagation *p = step->propagation;
    if (p && p->root) {
        fail(p, status_new(CANCELLED, __FILE__, __LINE__, "the partial run was given up"));
        propagate(p);
        status_free(step_sync(step, end(step)));
    }
    if (step->options->rendezvous)
        step_part(step, OK);
    cancellation_clear(&step->cancellation);
    step_clear_copies(step);
    step_free(step);
}
