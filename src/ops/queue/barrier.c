// Barriers — tuples put together from components with one key, taken when they are whole; taking waits without a thread.
#include "resource/barrier.h"

#include <stdlib.h>

#include "ops/op.h"
#include "resource/handle.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} BarrierNode;

static Status *create(void *arg, Resource **out) {
    Barrier *barrier;
    TRY(barrier_new(arg, &barrier));
    *out = (Resource *)barrier;
    return OK;
}

enum { COMPONENTS_MOST = 256 };

// An unknown rank counts as a scalar.
static Status *make_barrier(Opening *o, Shape *shapes) {
    BarrierNode *state = o->state;
    const AttrValue *types = node_list(o->node, "component_types"), *given = node_list(o->node, "shapes");
    NEED(given->n == types->n, INVALID_ARGUMENT, "All of the component shapes must be specified");
    NEED(types->n <= COMPONENTS_MOST, INVALID_ARGUMENT, "a barrier of %d components", types->n);
    NEED(node_int(o->node, "capacity") == -1, INVALID_ARGUMENT,
         "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited "
         "capacity.");
    for (int i = 0; i < given->n; i++) {
        shapes[i] = given->shapes[i].rank < 0 ? SCALAR_SHAPE : given->shapes[i];
        NEED(shape_is_known(&shapes[i]), INVALID_ARGUMENT, "Shape %s is not fully defined", shape_text(&shapes[i]));
    }
    BarrierSpec spec = {.dtypes = types->types, .shapes = shapes, .n = types->n};
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                                &barrier_type, create, &spec, &resource));
    TRY(barrier_check_spec(barrier_of(resource), &spec));
    return handle_tensor(resource, kernel_device_name(o->node), DT_INVALID, UNKNOWN_SHAPE, &state->handle);
}

static Status *open_barrier(Opening *o) {
    Shape *shapes = malloc(COMPONENTS_MOST * sizeof *shapes);
    NEED_MEMORY(shapes);
    Status *status = make_barrier(o, shapes);
    free(shapes);
    return status;
}

static void close_node(void *state) {
    tensor_clear(&((BarrierNode *)state)->handle);
}

static Status *handle_run(Kernel *k) {
    const BarrierNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a barrier needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *node_handle(const void *state) {
    return &((const BarrierNode *)state)->handle;
}

const Op op_Barrier = {
    .signature = "Barrier() -> handle: ref string; component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; "
                 "capacity: int = -1; container: string = \"\"; shared_name: string = \"\"; stateful",
    .doc = "A barrier of tuples, made at its first use.", .shape = shape_scalar, .open = open_barrier,
    .close = close_node, .state_size = sizeof(BarrierNode), .value = node_handle, .cpu = ANY_TYPE(handle_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};

// ---------------------------------------- filling

static Status *find_barrier(Kernel *k, Barrier **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &barrier_type, &resource));
    *out = barrier_of(resource);
    return OK;
}

static void release(Barrier **barrier) {
    resource_release((Resource *)*barrier);
}
#define FOUND __attribute__((cleanup(release))) Barrier *

static Status *insert_run(Kernel *k) {
    FOUND barrier = NULL;
    TRY(find_barrier(k, &barrier));
    return barrier_insert(barrier, k->in[1], *(const int *)k->own, k->in[2]);
}

// A component index out of range is kept as one that no barrier has: the barrier itself, which is known at run time
// only, then reports it.
static Status *insert_prepare(Prepare *p) {
    int64_t component = node_int(p->node, "component_index");
    *(int *)p->own = component < 0 || component > COMPONENTS_MOST ? COMPONENTS_MOST : (int)component;
    return OK;
}

const Op op_BarrierInsertMany = {
    .signature = "BarrierInsertMany(handle: ref string, keys: string, values: T); T: type; component_index: int",
    .doc = "Gives each key its value of one component; what is whole then is ready.", .shape = shape_none,
    .prepare = insert_prepare, .own_size = sizeof(int), .cpu = ANY_TYPE(insert_run),
    .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

// ---------------------------------------- taking

static void tuples_came(void *arg, Status *status, Tensor *components) {
    Kernel *k = arg;
    for (int i = 0; i < k->n_out && components; i++)
        kernel_set_output(k, i, components[i]);
    kernel_done(k, status);
}

static Status *check_types(const Kernel *k, const Barrier *barrier) {
    NEED(k->n_out == 2 + barrier_components(barrier), INVALID_ARGUMENT, "the barrier has %d components, expected %d",
         barrier_components(barrier), k->n_out - 2);
    for (int i = 2; i < k->n_out; i++)
        NEED(barrier_dtype(barrier, i - 2) == k->node->output_types[i], INVALID_ARGUMENT,
             "component %d of the barrier is of type %s, expected %s", i - 2,
             dtype_name(barrier_dtype(barrier, i - 2)), dtype_name(k->node->output_types[i]));
    return OK;
}

static Status *take(Kernel *k) {
    FOUND barrier = NULL;
    TRY(find_barrier(k, &barrier));
    TRY(check_types(k, barrier));
    barrier_take(barrier, tensor_int(k->in[1], 0), node_bool(k->node, "allow_small_batch"), k->step->cancellation,
                 tuples_came, k);
    return OK;
}

static void start_take(Kernel *k) {
    Status *status = take(k);
    if (status)
        kernel_done(k, status);
}

static Status *take_prepare(Prepare *p) {
    NEED(node_int(p->node, "timeout_ms") == -1, INVALID_ARGUMENT, "Timeout not supported yet.");
    return OK;
}

const Op op_BarrierTakeMany = {
    .signature = "BarrierTakeMany(handle: ref string, num_elements: int32) -> indices: int64, keys: string, "
                 "values: component_types; component_types: list(type) >= 1; allow_small_batch: bool = false; "
                 "wait_for_incomplete: bool = false; timeout_ms: int = -1",
    .doc = "Takes so many whole tuples, stacked, with the number of the insertion that first named their key.",
    .needs = "scalar(num_elements)", .shape = shape_none, .prepare = take_prepare, .start = start_take,
    .host = BIT(1), .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

// ---------------------------------------- closing and asking

static Status *close_run(Kernel *k) {
    FOUND barrier = NULL;
    TRY(find_barrier(k, &barrier));
    return barrier_close(barrier, *(const bool *)k->own);
}

static Status *close_prepare(Prepare *p) {
    *(bool *)p->own = node_bool(p->node, "cancel_pending_enqueues");
    return OK;
}

const Op op_BarrierClose = {
    .signature = "BarrierClose(handle: ref string); cancel_pending_enqueues: bool = false",
    .doc = "Closes the barrier: no new keys; what isn't whole may still become so, unless it is cancelled.",
    .shape = shape_none, .prepare = close_prepare, .own_size = sizeof(bool), .cpu = ANY_TYPE(close_run),
    .flags = OP_STATEFUL | OP_NO_GRADIENT,
};

static Status *size_run(Kernel *k, int64_t (*size)(Barrier *)) {
    FOUND barrier = NULL;
    TRY(find_barrier(k, &barrier));
    *(int32_t *)k->out[0]->data = (int32_t)min_i64(size(barrier), INT32_MAX);
    return OK;
}

static Status *ready_run(Kernel *k) {
    return size_run(k, barrier_ready);
}

static Status *incomplete_run(Kernel *k) {
    return size_run(k, barrier_incomplete);
}

const Op op_BarrierReadySize = {
    .signature = "BarrierReadySize(handle: ref string) -> size: int32",
    .doc = "How many tuples are whole.", .shape = shape_scalar, .cpu = ANY_TYPE(ready_run), .host_out = BIT(0),
    .flags = OP_STATEFUL | OP_NO_GRADIENT,
};
const Op op_BarrierIncompleteSize = {
    .signature = "BarrierIncompleteSize(handle: ref string) -> size: int32",
    .doc = "How many keys lack a component.", .shape = shape_scalar, .cpu = ANY_TYPE(incomplete_run),
    .host_out = BIT(0), .flags = OP_STATEFUL | OP_NO_GRADIENT,
};
