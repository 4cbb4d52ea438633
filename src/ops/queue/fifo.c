// FIFO queues — made at their first use, filled and drained by kernels that wait without holding a thread.
//
// The first version of each op takes a reference to a string, the second a resource; in memory both are a handle.
#include "ops/op.h"
#include "resource/handle.h"
#include "resource/queue.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} QueueNode;

static Status *create(void *arg, Resource **out) {
    Queue *queue;
    TRY(queue_new(arg, &queue));
    *out = (Resource *)queue;
    return OK;
}

static Status *open_queue(Opening *o) {
    QueueNode *state = o->state;
    const AttrValue *types = node_list(o->node, "component_types"), *shapes = node_list(o->node, "shapes");
    NEED(shapes->n == 0 || shapes->n == types->n, INVALID_ARGUMENT,
         "a queue of %d components has %d shapes", types->n, shapes->n);
    QueueSpec spec = {.dtypes = types->types, .shapes = shapes->n ? shapes->shapes : NULL, .n = types->n,
                      .capacity = node_int(o->node, "capacity")};
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->node->name,
                                &queue_type, create, &spec, &resource));
    TRY(queue_check_spec(queue_of(resource), &spec));
    return handle_tensor(resource, DT_INVALID, UNKNOWN_SHAPE, &state->handle);
}

static void close_queue(void *state) {
    tensor_clear(&((QueueNode *)state)->handle);
}

static Status *queue_run(Kernel *k) {
    const QueueNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a queue needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

#define QUEUE(Name, handle)                                                                                       \
    const Op op_##Name = {                                                                                        \
        .signature = #Name "() -> handle: " handle "; component_types: list(type) >= 1; shapes: list(shape) >= 0 " \
                     "= []; capacity: int = -1; container: string = \"\"; shared_name: string = \"\"; stateful",  \
        .doc = "A queue of tuples, first in first out, made at its first use.", .shape = shape_scalar,             \
        .open = open_queue, .close = close_queue, .state_size = sizeof(QueueNode), .cpu = ANY_TYPE(queue_run),     \
        .flags = OP_LATE | OP_CHEAP | OP_NO_GRADIENT,                                                             \
    };
QUEUE(FIFOQueue, "ref string")
QUEUE(FIFOQueueV2, "resource")

// ---------------------------------------- filling

static Status *find_queue(Kernel *k, Queue **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &queue_type, &resource));
    *out = queue_of(resource);
    return OK;
}

static Status *no_timeout(const Kernel *k) {
    NEED(node_int(k->node, "timeout_ms") == -1, INVALID_ARGUMENT, "Timeout not supported yet.");
    return OK;
}

static void nothing_came(void *arg, Status *status, Tensor *components) {
    (void)components;
    kernel_done(arg, status);
}

static Status *enqueue(Kernel *k, bool many) {
    TRY(no_timeout(k));
    Queue *queue;
    TRY(find_queue(k, &queue));
    int n = k->n_in - 1;
    Tensor *components = calloc((size_t)n + 1, sizeof *components);
    Status *status = OK;
    if (!components)
        status = status_new(RESOURCE_EXHAUSTED, __FILE__, __LINE__, "out of memory");
    else if (n != queue_components(queue))
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "a tuple of %d components for a queue of %d", n,
                            queue_components(queue));
    for (int i = 0; i < n && !status; i++)
        status = kernel_keep(k, i + 1, &components[i]);
    if (!status)
        (many ? queue_enqueue_many : queue_enqueue)(queue, components, k->step->cancellation, nothing_came, k);
    // From here `k` may be gone, unless something failed.
    for (int i = 0; i < n && components; i++)
        tensor_clear(&components[i]);
    free(components);
    resource_release((Resource *)queue);
    return status;
}

// A start that fails before anything began is done at once.
#define STARTS(name, call)                   \
    static void name(Kernel *k) {            \
        Status *status = call;               \
        if (status)                          \
            kernel_done(k, status);          \
    }
STARTS(start_enqueue, enqueue(k, false))
STARTS(start_enqueue_many, enqueue(k, true))

#define REF_HANDLE "handle: ref string"
#define RESOURCE_HANDLE "handle: resource"
#define ENQUEUE(Name, handle, begin, text, more, ...)                                                             \
    const Op op_##Name = {                                                                                        \
        .signature = #Name "(" handle ", components: Tcomponents); Tcomponents: list(type) >= 1; timeout_ms: int " \
                     "= -1" more,                                                                                 \
        .doc = text, .shape = shape_none, .keeps = BIT(1), .start = begin, __VA_ARGS__                             \
    };
#define BY_REF .flags = OP_STATEFUL | OP_NO_GRADIENT
#define BY_RESOURCE .flags = OP_NO_GRADIENT
#define ONE_IN "Puts a tuple into the queue; waits while it is full."
#define MANY_IN "Puts the rows of the components into the queue, one tuple each."
ENQUEUE(QueueEnqueue, REF_HANDLE, start_enqueue, ONE_IN, "", BY_REF)
ENQUEUE(QueueEnqueueV2, RESOURCE_HANDLE, start_enqueue, ONE_IN, "; stateful", BY_RESOURCE)
ENQUEUE(QueueEnqueueMany, REF_HANDLE, start_enqueue_many, MANY_IN, "", BY_REF)
ENQUEUE(QueueEnqueueManyV2, RESOURCE_HANDLE, start_enqueue_many, MANY_IN, "; stateful", BY_RESOURCE)

// ---------------------------------------- draining

static Status *check_types(const Kernel *k, const Tensor *components) {
    for (int i = 0; i < k->n_out; i++)
        NEED(components[i].dtype == k->node->output_types[i], INVALID_ARGUMENT,
             "component %d of the queue is of type %s, expected %s", i, dtype_name(components[i].dtype),
             dtype_name(k->node->output_types[i]));
    return OK;
}

static void tuple_came(void *arg, Status *status, Tensor *components) {
    Kernel *k = arg;
    if (!status && components)
        status = check_types(k, components);
    for (int i = 0; i < k->n_out && components; i++) {
        if (status)
            tensor_clear(&components[i]);
        else
            kernel_set_output(k, i, components[i]);
    }
    kernel_done(k, status);
}

typedef enum { ONE, MANY, UP_TO } HowMany;

static Status *dequeue(Kernel *k, HowMany how) {
    TRY(no_timeout(k));
    int64_t n = how == ONE ? 1 : tensor_int(k->in[1], 0);
    NEED(n >= 0, INVALID_ARGUMENT, "%s must get a number that is not negative, got %lld",
         how == MANY ? "DequeueMany" : "DequeueUpTo", (long long)n);
    Queue *queue;
    TRY(find_queue(k, &queue));
    if (k->n_out != queue_components(queue)) {
        int found = queue_components(queue);
        resource_release((Resource *)queue);
        FAIL(INVALID_ARGUMENT, "the queue has %d components, expected %d", found, k->n_out);
    }
    if (how == ONE)
        queue_dequeue(queue, k->step->cancellation, tuple_came, k);
    else
        queue_dequeue_many(queue, n, how == UP_TO, k->step->cancellation, tuple_came, k);
    resource_release((Resource *)queue);
    return OK;
}
STARTS(start_dequeue, dequeue(k, ONE))
STARTS(start_dequeue_many, dequeue(k, MANY))
STARTS(start_dequeue_up_to, dequeue(k, UP_TO))

#define DEQUEUE(Name, inputs, begin, text, more, ...)                                                              \
    const Op op_##Name = {                                                                                         \
        .signature = #Name "(" inputs ") -> components: component_types; component_types: list(type) >= 1; "        \
                     "timeout_ms: int = -1" more,                                                                  \
        .doc = text, .shape = shape_none, .start = begin, __VA_ARGS__                                              \
    };
#define ONE_OUT "Takes a tuple out of the queue; waits while it is empty."
#define MANY_OUT "Takes n tuples out of the queue, stacked; waits until there are so many."
#define SOME_OUT "Takes n tuples out of the queue, stacked; fewer once it is closed."
#define N_NEEDS .needs = "scalar(n)", .host = BIT(1)
DEQUEUE(QueueDequeue, REF_HANDLE, start_dequeue, ONE_OUT, "", BY_REF)
DEQUEUE(QueueDequeueV2, RESOURCE_HANDLE, start_dequeue, ONE_OUT, "; stateful", BY_RESOURCE)
DEQUEUE(QueueDequeueMany, REF_HANDLE ", n: int32", start_dequeue_many, MANY_OUT, "", N_NEEDS, BY_REF)
DEQUEUE(QueueDequeueManyV2, RESOURCE_HANDLE ", n: int32", start_dequeue_many, MANY_OUT, "; stateful", N_NEEDS,
        BY_RESOURCE)
DEQUEUE(QueueDequeueUpTo, REF_HANDLE ", n: int32", start_dequeue_up_to, SOME_OUT, "", N_NEEDS, BY_REF)
DEQUEUE(QueueDequeueUpToV2, RESOURCE_HANDLE ", n: int32", start_dequeue_up_to, SOME_OUT, "; stateful", N_NEEDS,
        BY_RESOURCE)

// ---------------------------------------- closing and asking

static Status *close_it(Kernel *k) {
    Queue *queue;
    TRY(find_queue(k, &queue));
    queue_close(queue, node_bool(k->node, "cancel_pending_enqueues"), k->step->cancellation, nothing_came, k);
    resource_release((Resource *)queue);
    return OK;
}
STARTS(start_close, close_it(k))

#define CLOSE(Name, handle, more, ...)                                                                       \
    const Op op_##Name = {                                                                                   \
        .signature = #Name "(" handle "); cancel_pending_enqueues: bool = false" more,                       \
        .doc = "Closes the queue: nothing goes in any more, what is there comes out.", .shape = shape_none,  \
        .start = start_close, __VA_ARGS__                                                                    \
    };
CLOSE(QueueClose, REF_HANDLE, "", BY_REF)
CLOSE(QueueCloseV2, RESOURCE_HANDLE, "; stateful", BY_RESOURCE)

static Status *size_run(Kernel *k) {
    Queue *queue;
    TRY(find_queue(k, &queue));
    *(int32_t *)k->out[0]->data = (int32_t)min_i64(queue_size(queue), INT32_MAX);
    resource_release((Resource *)queue);
    return OK;
}

static Status *is_closed_run(Kernel *k) {
    Queue *queue;
    TRY(find_queue(k, &queue));
    *(bool *)k->out[0]->data = queue_is_closed(queue);
    resource_release((Resource *)queue);
    return OK;
}

#define ASK(Name, handle, output, text, run, more, ...)                                           \
    const Op op_##Name = {                                                                        \
        .signature = #Name "(" handle ") -> " output more, .doc = text, .shape = shape_scalar,    \
        .cpu = ANY_TYPE(run), .host_out = BIT(0), __VA_ARGS__                                     \
    };
ASK(QueueSize, REF_HANDLE, "size: int32", "How many tuples are in the queue.", size_run, "", BY_REF)
ASK(QueueSizeV2, RESOURCE_HANDLE, "size: int32", "How many tuples are in the queue.", size_run, "; stateful",
    BY_RESOURCE)
ASK(QueueIsClosed, REF_HANDLE, "is_closed: bool", "Whether the queue is closed.", is_closed_run, "", BY_REF)
ASK(QueueIsClosedV2, RESOURCE_HANDLE, "is_closed: bool", "Whether the queue is closed.", is_closed_run, "; stateful",
    BY_RESOURCE)
