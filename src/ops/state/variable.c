// Variables — the ops that make, read and assign them; reference and resource twins share their kernels.
#include "ops/op.h"
#include "resource/handle.h"
#include "resource/variable.h"

// ---------------------------------------- making

// The state of a variable's node in a session: its handle, found once.
typedef struct {
    Tensor handle;
} VariableNode;

typedef struct {
    DType dtype;
    Shape shape;
} Wanted;

static Status *create(void *arg, Resource **out) {
    const Wanted *wanted = arg;
    Variable *variable;
    TRY(variable_new(wanted->dtype, wanted->shape, &variable));
    *out = &variable->resource;
    return OK;
}

static Status *open_variable(Opening *o) {
    VariableNode *state = o->state;
    Wanted wanted = {node_type(o->node, "dtype"), *node_attr_find(o->node, "shape")->shape};
    Str name = node_str(o->node, "shared_name");
    Resource *resource;
    TRY(resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                                &variable_type, create, &wanted, &resource));
    Status *status = handle_tensor(resource, kernel_device_name(o->node), wanted.dtype, wanted.shape, &state->handle);
    resource_release(resource);
    return status;
}

static void close_variable(void *state) {
    tensor_clear(&((VariableNode *)state)->handle);
}

static Status *variable_run(Kernel *k) {
    const VariableNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a variable needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->handle));
    return OK;
}

static const Tensor *variable_handle(const void *state) {
    return &((const VariableNode *)state)->handle;
}

static Status *handle_shape(Shapes *s) {
    HandleShape *handle = ARENA_NEW(s->arena, HandleShape);
    NEED_MEMORY(handle);
    *handle = (HandleShape){node_type(s->node, "dtype"), *node_attr_find(s->node, "shape")->shape};
    s->out[0] = SCALAR_SHAPE;
    s->handle_out[0] = handle;
    return OK;
}

#define MAKES_VARIABLE                                                                                        \
    .open = open_variable, .close = close_variable, .state_size = sizeof(VariableNode),                       \
    .value = variable_handle, .cpu = ANY_TYPE(variable_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT

const Op op_VarHandleOp = {
    .signature = "VarHandleOp() -> resource: resource; container: string = \"\"; shared_name: string = \"\"; "
                 "debug_name: string = \"\"; dtype: type; shape: shape; allowed_devices: list(string) = []; stateful",
    .doc = "A handle to a variable, made at its first use.", .shape = handle_shape, MAKES_VARIABLE,
};
const Op op_Variable = {
    .signature = "Variable() -> ref: ref dtype; shape: shape; dtype: type; container: string = \"\"; "
                 "shared_name: string = \"\"; stateful",
    .doc = "A reference to a variable, made at its first use.", .shape = shape_from_attr, MAKES_VARIABLE,
};
const Op op_VariableV2 = {
    .signature = "VariableV2() -> ref: ref dtype; shape: shape; dtype: type; container: string = \"\"; "
                 "shared_name: string = \"\"; stateful",
    .doc = "A reference to a variable, made at its first use.", .shape = shape_from_attr, MAKES_VARIABLE,
};

// ---------------------------------------- reading

static Status *read_shape(Shapes *s) {
    if (s->handle[0])
        s->out[0] = s->handle[0]->shape;
    return OK;
}

static Status *read_run(Kernel *k) {
    Resource *resource;
    AUTO(resource) Resource *found = NULL;
    TRY(handle_borrow(k->in[0], 0, k->step->resources, &variable_type, &resource, &found));
    Tensor value;
    TRY(variable_read(variable_of(resource), &value));
    DType wanted = dtype_base(k->node->output_types[0]);
    if (value.dtype != wanted) {
        DType type = value.dtype;
        tensor_clear(&value);
        FAIL(INVALID_ARGUMENT, "the variable is of type %s, expected %s", dtype_name(type), dtype_name(wanted));
    }
    kernel_set_output(k, 0, value);
    return OK;
}

static void read_grad(Formula *f) {
    f->dx[0] = f->dy[0];
}

static COLD Status *read_hlo(Hlo *h) {
    return hlo_out(h, 0, hlo_in(h, 0));
}

const Op op_ReadVariableOp = {
    .signature = "ReadVariableOp(resource: resource) -> value: dtype; dtype: type; stateful",
    .doc = "The value of the variable: a snapshot that later assignments don't change.", .shape = read_shape,
    .grad = read_grad, .cpu = ANY_TYPE(read_run), .flags = OP_DYNAMIC_SHAPE | OP_READS, .hlo = read_hlo,
};

// ---------------------------------------- assigning

static Status *assign(Kernel *k, bool any_shape) {
    Resource *resource;
    TRY(kernel_resource(k, 0, &variable_type, &resource));
    Tensor value = {0};
    // A value that the step alone holds, as one just calculated, is only read there. A fed one is its caller's too, a
    // constant the graph's.
    bool ours = k->in[1]->buffer && buffer_is_unique(k->in[1]->buffer) &&
                !(k->node->inputs && output_constant(k->node->inputs[1]));
    Status *status = kernel_keep(k, 1, &value);
    if (!status)
        status = (ours ? variable_adopt : variable_assign)(variable_of(resource), &value, any_shape);
    tensor_clear(&value);
    resource_release(resource);
    return status;
}

static Status *assign_resource(Kernel *k) {
    return assign(k, !node_bool(k->node, "validate_shape"));
}

static COLD Status *assign_hlo(Hlo *h) {
    hlo_assign(h, 0, hlo_in(h, 1));
    return h->n_out ? hlo_out_variable(h, 0, 0) : OK;
}

const Op op_AssignVariableOp = {
    .signature = "AssignVariableOp(resource: resource, value: dtype); dtype: type; validate_shape: bool = false; "
                 "stateful",
    .doc = "Replaces the value of the variable.", .shape = shape_none, .keeps = BIT(1),
    .cpu = ANY_TYPE(assign_resource), .flags = OP_NO_GRADIENT | OP_WRITES, .hlo = assign_hlo,
};

typedef struct {
    bool any_shape;
} AssignOwn;

static Status *assign_prepare(Prepare *p) {
    ((AssignOwn *)p->own)->any_shape = !node_bool(p->node, "validate_shape");
    return OK;
}

static Status *assign_ref(Kernel *k) {
    return assign(k, ((const AssignOwn *)k->own)->any_shape);
}

static Status *assign_shape(Shapes *s) {
    if (node_bool(s->node, "validate_shape"))
        return shape_merge(&s->in[0], &s->in[1], &s->out[0]);
    s->out[0] = s->in[1];
    return OK;
}

const Op op_Assign = {
    .signature = "Assign(ref: ref T, value: T) -> output_ref: ref T; T: type; validate_shape: bool = true; "
                 "use_locking: bool = true; allows_uninitialized",
    .doc = "Replaces the value of the variable.", .shape = assign_shape, .prepare = assign_prepare,
    .own_size = sizeof(AssignOwn), .keeps = BIT(1), .alias = BIT(0), .cpu = ANY_TYPE(assign_ref),
    .flags = OP_STATEFUL | OP_NO_GRADIENT, .hlo = assign_hlo,
};
