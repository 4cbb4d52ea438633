// Exchange — how the nodes of a step send to and receive from its other parts: by its rendezvous.
//
// What fails here has failed elsewhere: a Recv passes the reason on as it came, so that the whole step tells of the node
// that is to blame.
#include <stdlib.h>

#include "resource/variable.h"
#include "run/propagate.h"
#include "run/rendezvous.h"

// TensorFlow's keys end in the frame and iteration, which the step's other parts number alike; the step's own are "0:0", as is
// all of a list.
static Status *full_key(Str key, const Iteration *iteration, Arena *arena, Str *out) {
    *out = str_format(arena, "%.*s;%llu:%lld", STR_ARGS(key), (unsigned long long)(iteration ? iteration->frame->id : 0),
                      (long long)(iteration ? iteration->number : 0));
    NEED_MEMORY(out->p);
    return OK;
}

// Takes over the value, whether it succeeds or not.
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
    Tensor value, now;
    if (k->in[0]->dtype == DT_resource) {  // a reference: read when it is asked for, but there must be something
        TRY(variable_read_handle(k->in[0], &now));
        tensor_clear(&now);
    }
    TRY(kernel_keep(k, 0, &value));
    return put((Step *)k->step, key, k->frame, value, false);
}

// The receiver waits for every key that it was promised: what is dead here must be told, or it would wait for ever. The
// key is in what `prepare` made of the Send's attributes; no kernel runs, so that is prepared here with an empty input.
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

// Where a plan was made for values that are always alive (`_alive`, no Started) a dead one breaks the promise of who
// cut the graph. A sender of another process may also send another type than it declared.
static Status *received(Kernel *k, Tensor value, bool dead) {
    Started *started = k->frame;
    if (dead) {
        NEED(started, INTERNAL, "a dead value came where none was announced");
        started->dead = true;
        return OK;
    }
    DType wanted = dtype_base(k->node->output_types[0]);
    if (value.dtype == DT_resource && wanted != DT_resource) {
        Tensor handle = value;
        Status *status = variable_read_handle(&handle, &value);
        tensor_clear(&handle);
        TRY(status);
    }
    if (value.dtype == wanted) {
        kernel_set_output(k, 0, value);
        return OK;
    }
    DType got = value.dtype;
    tensor_clear(&value);
    FAIL(INTERNAL, "a %s was sent where a %s is expected", dtype_name(got), dtype_name(wanted));
}

// From whichever thread brought the value, once. The record goes first: kernel_done may end the step.
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

// Called on the thread that cancels; the rendezvous then ends every take with the reason.
static void abandon(void *arg) {
    Step *step = arg;
    rendezvous_abort(step->options->rendezvous, cancellation_check(&step->cancellation));
}

// A step that was cancelled before it began can't be watched any more.
void step_meet(Step *step) {
    if (!cancellation_watch(&step->cancellation, &step->watch, abandon, step))
        abandon(step);
}

// The other parts of the step end with this one's error, and report it.
void step_part(Step *step, const Status *status) {
    cancellation_unwatch(&step->cancellation, &step->watch);
    if (status)
        rendezvous_abort(step->options->rendezvous, status_copy(status));
}
