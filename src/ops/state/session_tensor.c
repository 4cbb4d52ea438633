// Session handles — GetSessionHandle keeps a value in the session under a name, which a later step reads or deletes.
#include <inttypes.h>
#include <stdatomic.h>

#include "ops/op.h"
#include "resource/handle.h"

typedef struct {
    Resource resource;
    Tensor value;
} SessionTensor;

static void session_tensor_clear(Resource *resource) {
    tensor_clear(&((SessionTensor *)resource)->value);
}

static const ResourceType session_tensor_type = {"TensorHandle", sizeof(SessionTensor), session_tensor_clear, NULL};
#define SESSION_TENSORS STR("_session_tensors")  // their container

// ---------------------------------------- keeping

// TensorFlow's: the node, a number, the device.
static void print_handle(const Node *node, Text *out) {
    static _Atomic int64_t numbers;
    Str device = kernel_device_name(node);
    text_add(out, node->name);
    text_format(out, ";%" PRId64 ";", atomic_fetch_add(&numbers, 1));
    text_add(out, device.n ? device : STR("/job:localhost/replica:0/task:0/device:CPU:0"));
}

static Status *keep(Kernel *k, Text *out_handle) {
    AUTO(resource) Resource *resource = NULL;
    print_handle(k->node, out_handle);
    NEED_MEMORY(!out_handle->failed);
    TRY(resource_new(&session_tensor_type, &resource));
    TRY(kernel_keep(k, 0, &((SessionTensor *)resource)->value));
    return resource_add(k->step->resources, SESSION_TENSORS, text_str(out_handle), resource);
}

static Status *handle_run(Kernel *k) {
    AUTO(text) Text handle = {0};
    TRY(keep(k, &handle));
    NEED_MEMORY(tstring_assign(k->out[0]->data, text_str(&handle)));
    return OK;
}

static Status *resource_handle_run(Kernel *k) {
    AUTO(text) Text handle = {0};
    Tensor out;
    TRY(keep(k, &handle));
    TRY(handle_tensor_named(SESSION_TENSORS, text_str(&handle), STR("TensorHandle"), kernel_device_name(k->node),
                            k->in[0]->dtype, k->in[0]->shape, &out));
    kernel_set_output(k, 0, out);
    return OK;
}

const Op op_GetSessionHandle = {
    .signature = "GetSessionHandle(value: T) -> handle: string; T: type; stateful",
    .doc = "Keeps a value in the session, under a name that is returned.", .shape = shape_scalar, .keeps = BIT(0),
    .cpu = ANY_TYPE(handle_run), .host_out = BIT(0), .flags = OP_NO_GRADIENT,
};

const Op op_GetSessionHandleV2 = {
    .signature = "GetSessionHandleV2(value: T) -> handle: resource; T: type; stateful",
    .doc = "Keeps a value in the session, under a name that is returned as a resource.", .shape = shape_scalar,
    .keeps = BIT(0), .cpu = ANY_TYPE(resource_handle_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- reading and deleting

static Status *find(Kernel *k, const char *problem, Resource **out) {
    Str handle = tstring_str(k->in[0]->data);
    Status *status = resource_find(k->step->resources, SESSION_TENSORS, handle, &session_tensor_type, out);
    if (status_code(status) != NOT_FOUND)
        return status;
    status_free(status);
    FAIL(INVALID_ARGUMENT, "%s '%.*s' is not in the session store.", problem, STR_ARGS(handle));
}

static Status *get_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    TRY(find(k, "The tensor with handle", &resource));
    const Tensor *value = &((SessionTensor *)resource)->value;
    DType wanted = node_value_type(k->node, 0);
    NEED(value->dtype == wanted, INVALID_ARGUMENT, "the handle is of a tensor of type %s, expected %s",
         dtype_name(value->dtype), dtype_name(wanted));
    kernel_set_output(k, 0, tensor_retain(value));
    return OK;
}

static Status *delete_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    TRY(find(k, "Failed to delete: a tensor with handle", &resource));
    return resource_remove(k->step->resources, resource);
}

const Op op_GetSessionTensor = {
    .signature = "GetSessionTensor(handle: string) -> value: dtype; dtype: type; stateful",
    .doc = "The value that the session keeps under the name.", .needs = "scalar(handle)", .shape = shape_none,
    .host = BIT(0), .cpu = ANY_TYPE(get_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

const Op op_DeleteSessionTensor = {
    .signature = "DeleteSessionTensor(handle: string); stateful",
    .doc = "Forgets the value that the session keeps under the name.", .needs = "scalar(handle)", .shape = shape_none,
    .host = BIT(0), .cpu = ANY_TYPE(delete_run), .flags = OP_NO_GRADIENT,
};
