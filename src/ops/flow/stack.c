// Stacks — values pushed by one part of a step and popped by another, last in first out: what TensorFlow 1's gradient
// of a while loop keeps the forward pass's values in.
//
// A stack lives as long as somebody in the step refers to it. Handles of the first version are references to strings;
// in memory both are the same. Pushes and pops come from concurrent kernels, hence the lock; their order is that of the
// loop's iterations, which control edges keep.
#include "base/vec.h"
#include "ops/op.h"
#include "resource/handle.h"
#include "thread/mutex.h"

typedef struct {
    Resource resource;
    DType dtype;
    int64_t most;           // < 0: no limit
    Mutex lock;
    bool closed;            // this and the next: guarded by lock
    VEC(Tensor) items;
} ValueStack;

static void stack_clear(Resource *resource) {
    ValueStack *stack = (ValueStack *)resource;
    for (size_t i = 0; i < stack->items.n; i++)
        tensor_clear(&stack->items.p[i]);
    vec_clear(&stack->items);
    mutex_clear(&stack->lock);
}

static const ResourceType stack_type = {"Stack", sizeof(ValueStack), stack_clear, NULL};

static Status *stack_run(Kernel *k) {
    Resource *resource;
    Tensor handle;
    TRY(resource_new(&stack_type, &resource));
    ValueStack *stack = (ValueStack *)resource;
    mutex_init(&stack->lock);
    stack->dtype = node_type(k->node, "elem_type");
    stack->most = k->n_in ? tensor_int(k->in[0], 0) : -1;
    Status *status = handle_tensor(resource, kernel_device_name(k->node), stack->dtype, UNKNOWN_SHAPE, &handle);
    resource_release(resource);
    TRY(status);
    kernel_set_output(k, 0, handle);
    return OK;
}

#define STACK_TEXT "A stack for the values of one step."
const Op op_StackV2 = {
    .signature = "StackV2(max_size: int32) -> handle: resource; elem_type: type; stack_name: string = \"\"; stateful",
    .doc = STACK_TEXT, .needs = "scalar(max_size)", .shape = shape_scalar, .cpu = ANY_TYPE(stack_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_Stack = {
    .signature = "Stack() -> handle: ref string; elem_type: type; stack_name: string = \"\"; stateful",
    .doc = STACK_TEXT, .shape = shape_scalar, .cpu = ANY_TYPE(stack_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- pushing

static Status *push_locked(ValueStack *stack, Tensor item) {
    NEED(!stack->closed, INVALID_ARGUMENT, "Stack has already been closed.");
    NEED(stack->most < 0 || (int64_t)stack->items.n < stack->most, INVALID_ARGUMENT,
         "Stack overflowed its max_size (%lld)", (long long)stack->most);
    NEED(item.dtype == stack->dtype, INVALID_ARGUMENT, "Must have one consistent type for all elements of a stack: "
         "expected %s, got %s", dtype_name(stack->dtype), dtype_name(item.dtype));
    NEED_MEMORY(vec_push(&stack->items, item));
    return OK;
}

static Status *push_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    Tensor item;
    TRY(kernel_resource(k, 0, &stack_type, &resource));
    TRY(kernel_keep(k, 1, &item));
    ValueStack *stack = (ValueStack *)resource;
    mutex_lock(&stack->lock);
    Status *status = push_locked(stack, item);
    mutex_unlock(&stack->lock);
    if (status) {
        tensor_clear(&item);
        return status;
    }
    kernel_set_output(k, 0, tensor_retain(&item));
    return OK;
}

static Status *push_shape(Shapes *s) {
    s->out[0] = s->in[1];
    return OK;
}

REF_AND_RESOURCE(StackPush, StackPushV2, "handle",
                 ", elem: T) -> output: T; T: type; swap_memory: bool = false", OP_DYNAMIC_SHAPE,
                 .doc = "Puts a value onto the stack, and hands it on.", .shape = push_shape, .keeps = BIT(1),
                 .cpu = ANY_TYPE(push_run))

// ---------------------------------------- popping

static Status *pop_locked(ValueStack *stack, Tensor *out) {
    NEED(!stack->closed, INVALID_ARGUMENT, "Stack has already been closed.");
    NEED(stack->items.n, INVALID_ARGUMENT, "Stack is empty when calling Stack::Pop().");
    *out = stack->items.p[--stack->items.n];
    return OK;
}

static Status *pop_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    Tensor item;
    TRY(kernel_resource(k, 0, &stack_type, &resource));
    ValueStack *stack = (ValueStack *)resource;
    DType wanted = node_value_type(k->node, 0);
    NEED(stack->dtype == wanted, INVALID_ARGUMENT, "the stack holds values of type %s, expected %s",
         dtype_name(stack->dtype), dtype_name(wanted));
    mutex_lock(&stack->lock);
    Status *status = pop_locked(stack, &item);
    mutex_unlock(&stack->lock);
    TRY(status);
    kernel_set_output(k, 0, item);
    return OK;
}

const Op op_StackPop = {
    .signature = "StackPop(handle: ref string) -> elem: elem_type; elem_type: type",
    .doc = "Takes the last value off the stack.", .shape = shape_none, .cpu = ANY_TYPE(pop_run),
    .flags = OP_DYNAMIC_SHAPE | OP_STATEFUL | OP_NO_GRADIENT,
};
const Op op_StackPopV2 = {
    .signature = "StackPopV2(handle: resource) -> elem: elem_type; elem_type: type; stateful",
    .doc = "Takes the last value off the stack.", .shape = shape_none, .cpu = ANY_TYPE(pop_run),
    .flags = OP_DYNAMIC_SHAPE | OP_TAKES_BACK | OP_NO_GRADIENT,
};

static Status *close_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    TRY(kernel_resource(k, 0, &stack_type, &resource));
    ValueStack *stack = (ValueStack *)resource;
    mutex_lock(&stack->lock);
    stack->closed = true;
    mutex_unlock(&stack->lock);
    return OK;
}

REF_AND_RESOURCE(StackClose, StackCloseV2, "handle", ")", 0, .doc = "Ends the use of the stack.", .shape = shape_none,
                 .cpu = ANY_TYPE(close_run))
