// Constants and placeholders — values that a graph begins with.
#include "ops/op.h"

static Status *const_shape(Shapes *s) {
    const Tensor *value = node_attr_find(s->node, "value")->tensor;
    DType dtype = node_type(s->node, "dtype");
    NEED(value->dtype == dtype, INVALID_ARGUMENT, "dtype is %s, but the value is of type %s", dtype_name(dtype),
         dtype_name(value->dtype));
    s->out[0] = value->shape;
    return OK;
}

typedef struct {
    Tensor value;  // borrowed from the attribute
} Constant;

static Status *const_prepare(Prepare *p) {
    Constant *constant = p->own;
    constant->value = *node_attr_find(p->node, "value")->tensor;
    return OK;
}

static Status *const_run(Kernel *k) {
    const Constant *constant = k->own;
    kernel_set_output(k, 0, tensor_retain(&constant->value));
    return OK;
}

const Op op_Const = {
    .signature = "Const() -> output: dtype; value: tensor; dtype: type", .doc = "A value that is part of the graph.",
    .shape = const_shape, .prepare = const_prepare, .own_size = sizeof(Constant), .cpu = ANY_TYPE(const_run),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};

static Status *placeholder_run(Kernel *k) {
    FAIL(INVALID_ARGUMENT, "You must feed a value for placeholder tensor '%.*s' with dtype %s and shape %s",
         STR_ARGS(k->node->name), dtype_name(dtype_base(k->node->output_types[0])),
         shape_text(&k->node->output_shapes[0]));
}

// Before version 24 there was no word for an unknown shape: it was written as a scalar's.
static Status *placeholder_shape(Shapes *s) {
    TRY(shape_from_attr(s));
    if (s->out[0].rank == 0 && s->node->graph && s->node->graph->versions.producer < 24)
        s->out[0] = UNKNOWN_SHAPE;
    return OK;
}

const Op op_Placeholder = {
    .signature = "Placeholder() -> output: dtype; dtype: type; shape: shape = ?",
    .doc = "A value that must be fed.", .shape = placeholder_shape, .cpu = ANY_TYPE(placeholder_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT | OP_STATEFUL,
};
const Op op_PlaceholderV2 = {
    .signature = "PlaceholderV2() -> output: dtype; dtype: type; shape: shape; deprecated(23, \"use Placeholder\")",
    .doc = "A value that must be fed.", .shape = placeholder_shape, .cpu = ANY_TYPE(placeholder_run),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT | OP_STATEFUL,
};

// The declared shape must admit the default; what comes of it has the default's shape, a fed value any.
static Status *default_shape(Shapes *s) {
    Shape merged;
    TRY(shape_from_attr(s));
    return shape_merge(&s->in[0], &s->out[0], &merged);
}

static void default_grad(Formula *f) {
    f->dx[0] = f->dy[0];
}

const Op op_PlaceholderWithDefault = {
    .signature = "PlaceholderWithDefault(input: dtype) -> output: dtype; dtype: type; shape: shape",
    .doc = "A value that may be fed; else the input.", .shape = default_shape, .grad = default_grad,
    .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0), .flags = OP_CHEAP,
};
