// Exchange — how the nodes of a step send to and receive from its other parts: by its rendezvous.
//
// What fails here has failed elsewhere: a Recv passes the reason on as it came, so that the whole step tells of the node
// that is to blame.
#include <stdlib.h>

#include "run/propagate.h"
#include "run/rendezvous.h"

// The step's own iterations are "0:0".
static Status *full_key(Str key, const Iteration *iteration, Arena *arena, Str *out) {
    NEED(!iteration || !iteration->frame->parent, UNIMPLEMENTED, "values cross tasks inside of a loop");
    *out = str_format(arena, "%.*s;0:0", STR_ARGS(key));
    NEED_MEMORY(out->p);
    return OK;
}

static Status *put(Step *step, Str key, const Iteration *iteration, Tensor value, bool dead) {
    AUTO(arena) Arena arena = {0};
    Str full;
    Status *status = full_key(key, iteration, &arena, &full);
    if (!status && !step->options->rendezvous)
        status = status_new(FAILED_PRECONDITION, __FILE__, __LINE__, "the step has no other parts to send to");
    if (!status)
        return rendezvous_put(step->options->rendezvous, full, value, dead);
    tensor_clear(&value);
    return status;
}

Status *step_send(Kernel *k, Str key) {
    Tensor value;
    TRY(kernel_keep(k, 0, &value));
    return put((Step *)k->step, key, k->frame, value, false);
}

Status *step_send_dead(Step *step, const PlanNode *node, const Iteration *iteration) {
    Prepared prepared = {0};
    Tensor none = {.dtype = binding_dtype(node->binding.node), .data = no_scratch, .shape = SHAPE(0)}, *in = &none;
    TRY(prepared_init(&prepared, &node->binding, &in, 1));
    Status *status = put(step, *(const Str *)prepared.own, iteration, (Tensor){.dtype = none.dtype}, true);
    prepared_clear(&prepared);
    return status;
}

// ---- receiving

// What is wrong with the Recv itself (node_error leaves its errors as they are).
static Status *blame(const Node *node, Status *status) {
    return status_prefix(status, "{{node %.*s}} (%.*s)", NODE_ARGS(node));
}

typedef struct {
    RendezvousTake take;   // first
    Kernel *kernel;
} Receiving;

static Status *received(Kernel *k, Tensor value, bool dead) {
    Started *started = k->frame;
    if (dead) {
        NEED(started, INTERNAL, "a dead value came where none was announced");
        started->dead = true;
        return OK;
    }
    DType wanted = dtype_base(k->node->output_types[0]);
    if (value.dtype == wanted) {
        kernel_set_output(k, 0, value);
        return OK;
    }
    DType got = value.dtype;
    tensor_clear(&value);
    FAIL(INTERNAL, "a %s was sent where a %s is expected", dtype_name(got), dtype_name(wanted));
}

static void receive_done(RendezvousTake *take, Status *status, Tensor value, bool dead) {
    Receiving *receiving = (Receiving *)take;
    Kernel *k = receiving->kernel;
    free(receiving);
    kernel_done(k, status ? status : blame(k->node, received(k, value, dead)));
}

static Status *receive(Kernel *k, Str key) {
    Step *step = (Step *)k->step;
    const Started *started = k->frame;
    AUTO(arena) Arena arena = {0};
    Str full;
    TRY(full_key(key, started ? started->iteration : NULL, &arena, &full));
    NEED(step->options->rendezvous, FAILED_PRECONDITION, "the step has no other parts to receive from");
    Receiving *receiving = malloc(sizeof *receiving);
    NEED_MEMORY(receiving);
    *receiving = (Receiving){.take.done = receive_done, .kernel = k};
    rendezvous_take(step->options->rendezvous, full, &receiving->take);
    return OK;
}

void step_receive(Kernel *k, Str key) {
    Status *status = blame(k->node, receive(k, key));
    if (status)
        kernel_done(k, status);
}

// ---- ending

static void abandon(void *arg) {
    Step *step = arg;
    rendezvous_abort(step->options->rendezvous, cancellation_check(&step->cancellation));
}

void step_meet(Step *step) {
    if (!cancellation_watch(&step->cancellation, &step->watch, abandon, step))
        abandon(step);
}

void step_part(Step *step, const Status *status) {
    cancellation_unwatch(&step->cancellation, &step->watch);
    if (status)
        rendezvous_abort(step->options->rendezvous, status_copy(status));
}
