// Queues — made at their first use, filled and drained by kernels that wait without holding a thread.
//
// The first version of each op takes a reference to a string, the second a resource; in memory both are a handle.
#include "ops/op.h"
#include "ops/random/stream.h"
#include "resource/handle.h"
#include "resource/queue.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} QueueNode;

static uint32_t number(void *state) {
    return philox_number(state);
}

typedef struct {
    QueueSpec spec;
    const Node *node;
} Making;

static Status *create(void *arg, Resource **out) {
    const Making *making = arg;
    QueueSpec spec = making->spec;
    PhiloxNumbers *numbers = spec.kind == QUEUE_SHUFFLE ? calloc(1, sizeof *numbers) : NULL;
    NEED_MEMORY(numbers || spec.kind != QUEUE_SHUFFLE);
    if (numbers)
        numbers->philox = seeded_philox(making->node);
    spec.number = number;
    spec.number_state = numbers;
    Queue *queue;
    Status *status = queue_new(&spec, &queue);
    if (status) {
        free(numbers);
        return status;
    }
    *out = (Resource *)queue;
    return OK;
}

enum { COMPONENTS_MOST = 256 };

// The components that the node names, behind the priority where there is one.
static Status *make_queue(Opening *o, QueueKind kind, DType *dtypes, Shape *shapes) {
    QueueNode *state = o->state;
    const AttrValue *types = node_list(o->node, "component_types"), *given = node_list(o->node, "shapes");
    NEED(given->n == 0 || given->n == types->n, INVALID_ARGUMENT, "a queue of %d components has %d shapes", types->n,
         given->n);
    int first = kind == QUEUE_PRIORITY, n = types->n + first;
    NEED(n <= COMPONENTS_MOST, INVALID_ARGUMENT, "a queue of %d components", n);
    dtypes[0] = DT_int64;
    shapes[0] = SCALAR_SHAPE;
    for (int i = 0; i < types->n; i++)
        dtypes[first + i] = types->types[i];
    for (int i = 0; i < given->n; i++)
        shapes[first + i] = given->shapes[i];
    Making making = {.node = o->node};
    making.spec = (QueueSpec){.dtypes = dtypes, .shapes = given->n || n == first ? shapes : NULL, .n = n,
                              .capacity = node_int(o->node, "capacity"), .kind = kind};
    if (kind == QUEUE_SHUFFLE) {
        making.spec.min_after = node_int(o->node, "min_after_dequeue");
        making.spec.seeds[0] = node_int(o->node, "seed");
        making.spec.seeds[1] = node_int(o->node, "seed2");
    }
    Str name = node_str(o->node, "shared_name");
    AUTO(resource) Resource *resource = NULL;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                                &queue_type, create, &making, &resource));
    TRY(queue_check_spec(queue_of(resource), &making.spec));
    return handle_tensor(resource, kernel_device_name(o->node), DT_INVALID, UNKNOWN_SHAPE, &state->handle);
}

static Status *open_kind(Opening *o, QueueKind kind) {
    DType *dtypes = malloc(COMPONENTS_MOST * sizeof *dtypes);
    Shape *shapes = malloc(COMPONENTS_MOST * sizeof *shapes);
    Status *status = dtypes && shapes ? make_queue(o, kind, dtypes, shapes)
                                      : OUT_OF_MEMORY;
    free(dtypes);
    free(shapes);
    return status;
}

#define OPENS(name, kind)                        \
    static Status *name(Opening *o) {            \
        return open_kind(o, kind);               \
    }
OPENS(open_fifo, QUEUE_FIFO)
OPENS(open_padding, QUEUE_PADDING)
OPENS(open_shuffle, QUEUE_SHUFFLE)
OPENS(open_priority, QUEUE_PRIORITY)

static void close_queue(void *state) {
    tensor_clear(&((QueueNode *)state)->handle);
}

static Status *queue_run(Kernel *k) {
    const QueueNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a queue needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *queue_handle(const void *state) {
    return &((const QueueNode *)state)->handle;
}

#define QUEUE(Name, handle, types, middle, opens, text)                                                           \
    const Op op_##Name = {                                                                                        \
        .signature = #Name "() -> handle: " handle "; component_types: list(type) >= " types "; capacity: int = -1; " \
                     middle "container: string = \"\"; shared_name: string = \"\"; stateful",                    \
        .doc = text, .shape = shape_scalar, .open = opens, .close = close_queue, .state_size = sizeof(QueueNode),  \
        .value = queue_handle, .cpu = ANY_TYPE(queue_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,               \
    };
#define QUEUES(Name, ...)              \
    QUEUE(Name, "ref string", __VA_ARGS__) \
    QUEUE(Name##V2, "resource", __VA_ARGS__)
#define SOME "1; shapes: list(shape) >= 0 = []"
QUEUES(FIFOQueue, SOME, "", open_fifo, "A queue of tuples, first in first out, made at its first use.")
QUEUES(PaddingFIFOQueue, SOME, "", open_padding,
       "A queue of tuples, first in first out, of extents that may differ: batches of them are padded with zeros.")
QUEUES(RandomShuffleQueue, SOME, "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; ", open_shuffle,
       "A queue from which tuples come out at random, while more than min_after_dequeue are there.")
QUEUES(PriorityQueue, "0 = []; shapes: list(shape) >= 0", "", open_priority,
       "A queue from which the tuple of the least first component, an int64, comes out first.")

// ---------------------------------------- filling

static Status *find_queue(Kernel *k, Queue **out) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &queue_type, &resource));
    *out = queue_of(resource);
    return OK;
}

static Status *no_timeout(Prepare *p) {
    NEED(node_int(p->node, "timeout_ms") == -1, INVALID_ARGUMENT, "Timeout not supported yet.");
    return OK;
}

static void nothing_came(void *arg, Status *status, Tensor *components) {
    (void)components;
    kernel_done(arg, status);
}

static Status *enqueue(Kernel *k, bool many) {
    enum { FEW = 8 };
    int n = k->n_in - 1;
    Tensor few[FEW], *components = n <= FEW ? few : calloc((size_t)n, sizeof *components);
    NEED_MEMORY(components);
    Queue *queue = NULL;
    Status *status = find_queue(k, &queue);
    if (!status && n != queue_components(queue))
        status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "a tuple of %d components for a queue of %d", n,
                            queue_components(queue));
    for (int i = 0; i < n && !status; i++) {
        status = kernel_keep(k, i + 1, &components[i]);
        for (int before = 0; before < i && status; before++)
            tensor_clear(&components[before]);
    }
    if (!status)
        (many ? queue_enqueue_many : queue_enqueue)(queue, components, k->step->cancellation, nothing_came, k);
    // From here `k` may be gone, unless something failed.
    if (components != few)
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

#define ENQUEUED ", components: Tcomponents); Tcomponents: list(type) >= 1; timeout_ms: int = -1"
REF_AND_RESOURCE(QueueEnqueue, QueueEnqueueV2, "handle", ENQUEUED, 0,
                 .doc = "Puts a tuple into the queue; waits while it is full.", .shape = shape_none, .keeps = BIT(1),
                 .prepare = no_timeout, .start = start_enqueue)
REF_AND_RESOURCE(QueueEnqueueMany, QueueEnqueueManyV2, "handle", ENQUEUED, 0,
                 .doc = "Puts the rows of the components into the queue, one tuple each.", .shape = shape_none,
                 .keeps = BIT(1), .prepare = no_timeout, .start = start_enqueue_many)

// ---------------------------------------- draining

static Status *check_types(const Kernel *k, const Tensor *components) {
    for (int i = 0; i < k->n_out; i++)
        NEED(components[i].dtype == k->node->output_types[i], INVALID_ARGUMENT,
             "component %d of the queue is of type %s, expected %s", i, dtype_name(components[i].dtype),
             dtype_name(k->node->output_types[i]));
    return OK;
}

// Runs in whoever completes the tuple, perhaps a producer in another step; after kernel_done `k` is gone.
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

#define DEQUEUED ") -> components: component_types; component_types: list(type) >= 1; timeout_ms: int = -1"
REF_AND_RESOURCE(QueueDequeue, QueueDequeueV2, "handle", DEQUEUED, 0,
                 .doc = "Takes a tuple out of the queue; waits while it is empty.", .shape = shape_none,
                 .prepare = no_timeout, .start = start_dequeue)
REF_AND_RESOURCE(QueueDequeueMany, QueueDequeueManyV2, "handle", ", n: int32" DEQUEUED, 0,
                 .doc = "Takes n tuples out of the queue, stacked; waits until there are so many.",
                 .needs = "scalar(n)", .shape = shape_none, .prepare = no_timeout, .start = start_dequeue_many,
                 .host = BIT(1))
REF_AND_RESOURCE(QueueDequeueUpTo, QueueDequeueUpToV2, "handle", ", n: int32" DEQUEUED, 0,
                 .doc = "Takes n tuples out of the queue, stacked; fewer once it is closed.", .needs = "scalar(n)",
                 .shape = shape_none, .prepare = no_timeout, .start = start_dequeue_up_to, .host = BIT(1))

// ---------------------------------------- closing and asking

static Status *close_it(Kernel *k) {
    Queue *queue;
    TRY(find_queue(k, &queue));
    queue_close(queue, node_bool(k->node, "cancel_pending_enqueues"), k->step->cancellation, nothing_came, k);
    resource_release((Resource *)queue);
    return OK;
}
STARTS(start_close, close_it(k))

REF_AND_RESOURCE(QueueClose, QueueCloseV2, "handle", "); cancel_pending_enqueues: bool = false", 0,
                 .doc = "Closes the queue: nothing goes in any more, what is there comes out.", .shape = shape_none,
                 .start = start_close)

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

REF_AND_RESOURCE(QueueSize, QueueSizeV2, "handle", ") -> size: int32", 0, .doc = "How many tuples are in the queue.",
                 .shape = shape_scalar, .cpu = ANY_TYPE(size_run), .host_out = BIT(0))
REF_AND_RESOURCE(QueueIsClosed, QueueIsClosedV2, "handle", ") -> is_closed: bool", 0,
                 .doc = "Whether the queue is closed.", .shape = shape_scalar, .cpu = ANY_TYPE(is_closed_run),
    .host_out = BIT(0))

// ---------------------------------------- as a reference

static Status *fake_run(Kernel *k) {
    Tensor handle;
    TRY(kernel_keep(k, 0, &handle));
    kernel_set_output(k, 0, handle);
    return OK;
}

const Op op_FakeQueue = {
    .signature = "FakeQueue(resource: resource) -> handle: ref string; stateful",
    .doc = "The queue of a resource, for ops that take queues by reference.", .needs = "scalar(resource)",
    .shape = shape_scalar, .keeps = BIT(0), .cpu = ANY_TYPE(fake_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};
