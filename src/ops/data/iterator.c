// Iterators — resources from which steps get the elements of a dataset, made, filled, named and asked.
#include "data/iterator.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "kernel/call.h"
#include "ops/data/dataset_op.h"
#include "ops/data/optional.h"
#include "proto/messages.h"
#include "resource/handle.h"

// ---------------------------------------- making

typedef struct {
    Tensor handle;
} IteratorNode;

static Status *create(void *arg, Resource **out) {
    Iterator *iterator;
    TRY(iterator_new(arg, &iterator));
    *out = &iterator->resource;
    return OK;
}

static Status *named_iterator(ResourceTable *resources, const Node *node, Str name, Tensor *out) {
    AUTO(resource) Resource *resource = NULL;
    Str shared = node_str(node, "shared_name");
    TRY(resource_find_or_create(resources, node_str(node, "container"), shared.n ? shared : name, &iterator_type, create,
                                (void *)(uintptr_t)node, &resource));
    TRY(iterator_check((Iterator *)resource, node));
    return handle_tensor(resource, kernel_device_name(node), DT_INVALID, UNKNOWN_SHAPE, out);
}

static Status *iterator_open(Opening *o) {
    return named_iterator(o->resources, o->node, o->name, &((IteratorNode *)o->state)->handle);
}

static void iterator_node_close(void *state) {
    tensor_clear(&((IteratorNode *)state)->handle);
}

static Status *iterator_run(Kernel *k) {
    const IteratorNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "an iterator needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *iterator_handle(const void *state) {
    return &((const IteratorNode *)state)->handle;
}

#define NAMED_ITERATOR                                                                                               \
    .doc = "An iterator that lives in the session, by its name.", .shape = shape_scalar, .open = iterator_open,       \
    .close = iterator_node_close, .state_size = sizeof(IteratorNode), .value = iterator_handle,                       \
    .cpu = ANY_TYPE(iterator_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT
#define NAMES "() -> handle: resource; shared_name: string; container: string; " ELEMENTS "; stateful"
const Op op_Iterator = {.signature = "Iterator" NAMES, NAMED_ITERATOR};
const Op op_IteratorV2 = {.signature = "IteratorV2" NAMES, NAMED_ITERATOR};

// The name of one that has none: in the table those that are deleted by name are found by it.
#define ANONYMOUS STR("_anonymous_iterators")

static Status *anonymous_run(Kernel *k) {
    static _Atomic int64_t numbers;
    Iterator *iterator;
    TRY(iterator_new(k->node, &iterator));
    AUTO(resource) Resource *resource = &iterator->resource;
    if (k->n_out == 2) {
        AUTO(text) Text name = {0};
        text_format(&name, "AnonymousIterator%" PRId64, atomic_fetch_add(&numbers, 1));
        NEED_MEMORY(!name.failed);
        TRY(resource_add(k->step->resources, ANONYMOUS, text_str(&name), resource));
    }
    return nameless_output(k, resource);
}

#define NAMELESS                                                                                                      \
    .doc = "A new iterator at every call.", .shape = shape_scalar, .cpu = ANY_TYPE(anonymous_run),                    \
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT
const Op op_AnonymousIterator = {
    .signature = "AnonymousIterator() -> handle: resource; " ELEMENTS "; stateful", NAMELESS,
};
const Op op_AnonymousIteratorV2 = {
    .signature = "AnonymousIteratorV2() -> handle: resource, deleter: variant; " ELEMENTS "; stateful", NAMELESS,
};
const Op op_AnonymousIteratorV3 = {
    .signature = "AnonymousIteratorV3() -> handle: resource; " ELEMENTS "; stateful", NAMELESS,
};

static Status *find_iterator(Kernel *k, int i, Resource **out) {
    return kernel_resource(k, i, &iterator_type, out);
}

static Status *delete_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    TRY(find_iterator(k, 0, &resource));
    iterator_reset((Iterator *)resource);
    return resource->name.n ? resource_remove(k->step->resources, resource) : OK;
}

const Op op_DeleteIterator = {
    .signature = "DeleteIterator(handle: resource, deleter: variant); stateful", .doc = "Ends an iterator.",
    .shape = shape_none, .cpu = ANY_TYPE(delete_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- filling

static Status *make_run(Kernel *k) {
    Dataset *dataset;
    TRY(dataset_get(k->in[0], &dataset));
    AUTO(resource) Resource *resource = NULL;
    TRY(find_iterator(k, 1, &resource));
    return iterator_set((Iterator *)resource, dataset, k->step);
}

const Op op_MakeIterator = {
    .signature = "MakeIterator(dataset: variant, iterator: resource); stateful",
    .doc = "Begins a pass over the dataset: the iterator's next element is the dataset's first.", .shape = shape_none,
    .cpu = ANY_TYPE(make_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- one pass, of a dataset that a function makes

typedef struct {
    Mutex lock;
    Tensor handle;       // guarded by lock, as is the next
    Status *failed;      // for good
} OneShot;

static Status *one_shot_open(Opening *o) {
    mutex_init(&((OneShot *)o->state)->lock);
    return OK;
}

static void one_shot_close(void *state) {
    OneShot *own = state;
    tensor_clear(&own->handle);
    status_free(own->failed);
    mutex_clear(&own->lock);
}

static Status *one_shot_make(Kernel *k, OneShot *own) REQUIRES(own->lock) {
    const AttrValue *factory = node_attr_find(k->node, "dataset_factory");
    const Caller *caller = k->step->caller;
    NEED(caller, FAILED_PRECONDITION, "there is no session to call '%.*s' in", STR_ARGS(factory->func->name));
    AUTO(tensor) Tensor result = {0}, handle = {0};
    TRY(caller->call(caller, k->step, factory->func, NULL, 0, &result, 1));
    Dataset *dataset;
    TRY(dataset_get(&result, &dataset));
    TRY(named_iterator(k->step->resources, k->node, k->node->name, &handle));
    const Handle *made;
    TRY(handle_get(&handle, 0, &made));
    TRY(iterator_set((Iterator *)made->resource, dataset, k->step));
    own->handle = tensor_retain(&handle);
    return OK;
}

static Status *one_shot_run(Kernel *k) {
    OneShot *own = k->state;
    NEED(own, FAILED_PRECONDITION, "an iterator needs a session to live in");
    mutex_lock(&own->lock);
    if (!own->handle.data && !own->failed)
        own->failed = one_shot_make(k, own);
    Status *status = status_copy(own->failed);
    Tensor handle = status ? (Tensor){0} : tensor_retain(&own->handle);
    mutex_unlock(&own->lock);
    TRY(status);
    kernel_set_output(k, 0, handle);
    return OK;
}

const Op op_OneShotIterator = {
    .signature = "OneShotIterator() -> handle: resource; dataset_factory: func; " ELEMENTS
                 "; container: string = \"\"; shared_name: string = \"\"; stateful",
    .doc = "An iterator over the dataset that the function makes at the first use.", .shape = shape_scalar,
    .open = one_shot_open, .close = one_shot_close, .state_size = sizeof(OneShot), .cpu = ANY_TYPE(one_shot_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- getting

Status *dataset_element_shape(Shapes *s) {
    const AttrValue *shapes = node_list(s->node, "output_shapes");
    for (int i = 0; shapes->kind == ATTR_SHAPE && i < shapes->n && i < s->n_out; i++)
        s->out[i] = shapes->shapes[i];
    return OK;
}

// Components become outputs, or an error says why they can't; taken over either way.
static Status *give(Kernel *k, Tensor *element) {
    const AttrValue *shapes = node_list(k->node, "output_shapes");
    Status *status = OK;
    for (int i = 0; i < k->n_out && !status; i++) {
        const Shape *wanted = shapes->kind == ATTR_SHAPE && i < shapes->n ? &shapes->shapes[i] : &UNKNOWN_SHAPE;
        if (element[i].dtype != k->node->output_types[i])
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "component %d is of type %s, expected %s", i,
                                dtype_name(element[i].dtype), dtype_name(k->node->output_types[i]));
        else if (!shape_compatible(&element[i].shape, wanted))
            status = status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "component %d has shape %s, expected %s", i,
                                shape_text(&element[i].shape), shape_text(wanted));
    }
    for (int i = 0; i < k->n_out; i++) {
        if (status)
            tensor_clear(&element[i]);
        else
            kernel_set_output(k, i, element[i]);
    }
    return status;
}

static Status *end_of_sequence(void) {
    FAIL(OUT_OF_RANGE, "End of sequence");
}

static void element_came(void *arg, Status *status, Tensor *element) {
    Kernel *k = arg;
    if (!status)
        status = element ? give(k, element) : end_of_sequence();
    kernel_done(k, status);
}

static Status *check_count(const Kernel *k, const Dataset *dataset) {
    NEED(dataset->n_components == k->n_out, INVALID_ARGUMENT, "elements have %d components, expected %d",
         dataset->n_components, k->n_out);
    return OK;
}

static Status *find_puller(Kernel *k, bool counted, Puller **out) {
    AUTO(resource) Resource *resource = NULL;
    TRY(find_iterator(k, 0, &resource));
    Puller *puller;
    TRY(iterator_puller((Iterator *)resource, &puller));
    Status *status = counted ? check_count(k, puller_dataset(puller)) : OK;
    if (status)
        puller_release(puller);
    else
        *out = puller;
    return status;
}

static void next_start(Kernel *k) {
    Puller *puller;
    Status *status = find_puller(k, true, &puller);
    if (status) {
        kernel_done(k, status);
        return;
    }
    puller_next(puller, k->step, element_came, k);  // from here `k` may be gone
    puller_release(puller);
}

#define GETS "(iterator: resource) -> components: output_types; " ELEMENTS "; stateful"
const Op op_IteratorGetNext = {
    .signature = "IteratorGetNext" GETS, .doc = "The next element; OUT_OF_RANGE behind the last.",
    .needs = "scalar(iterator)", .shape = dataset_element_shape, .start = next_start,
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_IteratorGetNextSync = {
    .signature = "IteratorGetNextSync" GETS, .doc = "The next element; OUT_OF_RANGE behind the last.",
    .needs = "scalar(iterator)", .shape = dataset_element_shape, .start = next_start,
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

static void optional_came(void *arg, Status *status, Tensor *element) {
    Kernel *k = arg;
    Tensor optional;
    int n = element ? node_list(k->node, "output_types")->n : 0;
    if (!status)
        status = optional_tensor(element, n, &optional);
    if (!status)
        kernel_set_output(k, 0, optional);
    kernel_done(k, status);
}

static Status *next_optional(Kernel *k) {
    Puller *puller;
    TRY(find_puller(k, false, &puller));
    int wanted = node_list(k->node, "output_types")->n, found = puller_dataset(puller)->n_components;
    if (wanted == found)
        puller_next(puller, k->step, optional_came, k);
    puller_release(puller);
    NEED(wanted == found, INVALID_ARGUMENT, "elements have %d components, expected %d", found, wanted);
    return OK;
}

static void next_optional_start(Kernel *k) {
    Status *status = next_optional(k);
    if (status)
        kernel_done(k, status);
}

const Op op_IteratorGetNextAsOptional = {
    .signature = "IteratorGetNextAsOptional(iterator: resource) -> optional: variant; " ELEMENTS "; stateful",
    .doc = "The next element as an optional, which has no value behind the last.", .shape = shape_scalar,
    .start = next_optional_start, .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// A dataset of one element is made, asked for it and forgotten.
static Status *one_start(Kernel *k) {
    Dataset *dataset;
    TRY(dataset_make(k, &dataset));
    Puller *puller = NULL;
    Status *status = check_count(k, dataset);
    if (!status)
        status = puller_new(dataset, k->step, &puller);
    dataset_release(dataset);
    TRY(status);
    puller_next(puller, k->step, element_came, k);
    puller_leave(puller);
    return OK;
}

void dataset_one_start(Kernel *k) {
    Status *status = one_start(k);
    if (status)
        kernel_done(k, status);
}

// ---------------------------------------- by name, as text

static Status *to_text_run(Kernel *k) {
    const Handle *handle;
    AUTO(resource) Resource *resource = NULL;
    AUTO(text) Text bytes = {0};
    TRY(find_iterator(k, 0, &resource));
    TRY(handle_get(k->in[0], 0, &handle));
    ResourceHandleProto proto = {.device = handle->device, .container = handle->container, .name = handle->name,
                                 .maybe_type_name = handle->type};
    TRY(PROTO_ENCODE(ResourceHandleProto, &proto, &bytes));
    NEED_MEMORY(!bytes.failed && tstring_assign(k->out[0]->data, text_str(&bytes)));
    return OK;
}

const Op op_IteratorToStringHandle = {
    .signature = "IteratorToStringHandle(resource_handle: resource) -> string_handle: string; stateful",
    .doc = "The name of an iterator, for IteratorFromStringHandle.",
    .shape = shape_scalar, .host_out = BIT(0), .cpu = ANY_TYPE(to_text_run), .flags = OP_NO_GRADIENT,
};

static Status *from_text_run(Kernel *k) {
    AUTO(arena) Arena arena = {0};
    AUTO(resource) Resource *resource = NULL;
    ResourceHandleProto *proto;
    Tensor handle;
    NEED(k->in[0]->shape.rank == 0, INVALID_ARGUMENT, "string_handle must be a scalar");
    Status *status = PROTO_DECODE(ResourceHandleProto, &arena, tstring_str(k->in[0]->data), &proto);
    if (status) {
        status_free(status);
        FAIL(INVALID_ARGUMENT, "string_handle does not name an iterator");
    }
    TRY(resource_find(k->step->resources, proto->container, proto->name, &iterator_type, &resource));
    TRY(iterator_check((Iterator *)resource, k->node));
    TRY(handle_tensor(resource, kernel_device_name(k->node), DT_INVALID, UNKNOWN_SHAPE, &handle));
    kernel_set_output(k, 0, handle);
    return OK;
}

#define FROM_TEXT                                                                                                       \
    "(string_handle: string) -> resource_handle: resource; output_types: list(type) >= 0 = []; "                        \
    "output_shapes: list(shape) >= 0 = []; stateful"
#define FINDS                                                                                                           \
    .doc = "The iterator of that name.", .shape = shape_scalar, .host = BIT(0),       \
    .cpu = ANY_TYPE(from_text_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT
const Op op_IteratorFromStringHandle = {.signature = "IteratorFromStringHandle" FROM_TEXT, FINDS};
const Op op_IteratorFromStringHandleV2 = {.signature = "IteratorFromStringHandleV2" FROM_TEXT, FINDS};

static Status *device_run(Kernel *k) {
    const Handle *handle;
    TRY(handle_get(k->in[0], 0, &handle));
    NEED_MEMORY(tstring_assign(k->out[0]->data, handle->device));
    return OK;
}

const Op op_IteratorGetDevice = {
    .signature = "IteratorGetDevice(resource: resource) -> device: string; stateful", .doc = "The device of an iterator.",
    .shape = shape_scalar, .host_out = BIT(0), .cpu = ANY_TYPE(device_run), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- asking

static Status *cardinality_run(Kernel *k) {
    Dataset *dataset;
    TRY(dataset_get(k->in[0], &dataset));
    *(int64_t *)k->out[0]->data = dataset_cardinality(dataset);
    return OK;
}

const Op op_DatasetCardinality = {
    .signature = "DatasetCardinality(input_dataset: variant) -> cardinality: int64; cardinality_options: string = \"\"",
    .doc = "The number of elements; -1 for no end, -2 where it can't be told.", .shape = shape_scalar,
    .cpu = ANY_TYPE(cardinality_run), .flags = OP_NO_GRADIENT,
};
