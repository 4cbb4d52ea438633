// Toy ops — a handful of ops with nothing behind them, for the tests of the graph.
#pragma once
#include "graph/build.h"
#include "graph/needs.h"
#include "graph/shapes.h"

static Status *toy_add_shape(Shapes *s) {
    return shape_broadcast_all(s);
}

static Status *toy_matmul_shape(Shapes *s) {
    s->out[0] = SHAPE(s->in[0].rank < 0 ? -1 : s->in[0].dims[0], s->in[1].rank < 0 ? -1 : s->in[1].dims[1]);
    return OK;
}

static Status *toy_shape_shape(Shapes *s) {
    s->out[0] = SHAPE(s->in[0].rank < 0 ? -1 : s->in[0].rank);
    return OK;
}

static Status *toy_shape_value(Shapes *s, Shape *value) {
    *value = s->in[0];
    return OK;
}

static Status *toy_reshape_shape(Shapes *s) {
    return shapes_input_shape(s, 1, &s->out[0]);
}

static Status *toy_const_shape(Shapes *s) {
    s->out[0] = node_attr_find(s->node, "value")->tensor->shape;
    return OK;
}

static Status *toy_handle_shape(Shapes *s) {
    s->out[0] = SCALAR_SHAPE;
    HandleShape *handle = ARENA_NEW(s->arena, HandleShape);
    NEED_MEMORY(handle);
    *handle = (HandleShape){node_type(s->node, "dtype"), *node_attr_find(s->node, "shape")->shape};
    s->handle_out[0] = handle;
    return OK;
}

static Status *toy_read_shape(Shapes *s) {
    if (s->handle[0])
        s->out[0] = s->handle[0]->shape;
    return OK;
}

static const Op toy_const = {.signature = "Const() -> output: dtype; value: tensor; dtype: type",
                             .shape = toy_const_shape};
static const Op toy_source = {.signature = "Placeholder() -> output: dtype; dtype: type; shape: shape = ?",
                              .shape = shape_from_attr};
static const Op toy_add = {.signature = "Add(x: T, y: T) -> z: T; T: {half, float, int32, string}",
                           .shape = toy_add_shape};
static const Op toy_neg = {.signature = "Neg(x: T) -> y: T; T: {float, int32}", .shape = shape_unchanged};
static const Op toy_identity = {.signature = "Identity(input: T) -> output: T; T: type", .shape = shape_unchanged,
                                .alias = BIT(0)};
static const Op toy_matmul = {.signature = "MatMul(a: T, b: T) -> product: T; transpose_a: bool = false; T: {float}",
                              .needs = "matrix(a), rank(b) == 2, dim(a, 1) == dim(b, 0)", .shape = toy_matmul_shape};
static const Op toy_shape = {.signature = "Shape(input: T) -> output: int32; T: type", .shape = toy_shape_shape,
                             .partial = toy_shape_value, .flags = OP_FROM_SHAPES};
static const Op toy_reshape = {.signature = "Reshape(tensor: T, shape: int32) -> output: T; T: type",
                               .shape = toy_reshape_shape, .alias = BIT(0)};
static const Op toy_concat = {
    .signature =
        "ConcatV2(values: N * T, axis: Tidx) -> output: T; N: int >= 2; T: type; Tidx: {int32, int64} = int32"};
static const Op toy_stitch = {
    .signature = "DynamicStitch(indices: N * int32, data: N * T) -> merged: T; N: int >= 1; T: type",
    .needs = "each(indices) >= 0, same_shape(indices, data)"};
static const Op toy_identity_n = {.signature = "IdentityN(input: T) -> output: T; T: list(type) >= 1"};
static const Op toy_variable = {.signature = "VariableV2() -> ref: ref dtype; shape: shape; dtype: type; stateful",
                                .shape = shape_from_attr};
static const Op toy_assign = {.signature = "Assign(ref: ref T, value: T) -> output_ref: ref T; T: type"};
static const Op toy_handle = {.signature = "VarHandleOp() -> resource: resource; dtype: type; shape: shape; stateful",
                              .shape = toy_handle_shape};
static const Op toy_read = {.signature = "ReadVariableOp(resource: resource) -> value: dtype; dtype: type; stateful",
                            .shape = toy_read_shape};
static const Op toy_pool = {
    .signature = "Pool(x: float) -> y: float; ksize: list(int) >= 2; padding: {\"SAME\", \"VALID\"} = \"SAME\""};
static const Op toy_unpack = {.signature = "Unpack(value: T) -> output: num * T; num: int >= 0; T: type"};
static const Op toy_merge = {.signature = "Merge(inputs: N * T) -> output: T, value_index: int32; T: type; N: int >= 1",
                             .flow = FLOW_MERGE};
static const Op toy_next = {.signature = "NextIteration(data: T) -> output: T; T: type", .flow = FLOW_NEXT};
static const Op toy_none = {.signature = "NoOp()"};

static const Op *const toy_ops[] = {
    &toy_const,  &toy_source,     &toy_add,      &toy_neg,    &toy_identity, &toy_matmul, &toy_shape,
    &toy_reshape, &toy_concat,    &toy_stitch,   &toy_identity_n, &toy_variable, &toy_assign, &toy_handle,
    &toy_read,   &toy_pool,       &toy_unpack,   &toy_merge,  &toy_next,     &toy_none,   NULL,
};

static inline Output out_of(Node *node) {
    return (Output){node, 0};
}

static inline Node *toy_finish(NodeBuilder *b) {
    Node *node = NULL;
    Status *status = builder_finish(b, &node);
    ck_assert_msg(!status, "%s", status_message(status));
    builder_clear(b);
    return node;
}

static inline Node *toy_placeholder(Graph *graph, const char *name, DType dtype, Shape shape) {
    NodeBuilder b;
    builder_init(&b, graph, STR("Placeholder"), str_of(name));
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE(dtype));
    builder_attr(&b, STR("shape"), &(AttrValue){.kind = ATTR_SHAPE, .shape = &shape});
    return toy_finish(&b);
}

static inline Node *toy_ints(Graph *graph, const char *name, int n, const int32_t *values) {
    Tensor tensor;
    ck_assert_ptr_null(tensor_new(DT_int32, n < 0 ? SCALAR_SHAPE : SHAPE(n), &tensor));
    memcpy(tensor.data, values, (size_t)(n < 0 ? 1 : n) * sizeof *values);
    NodeBuilder b;
    builder_init(&b, graph, STR("Const"), str_of(name));
    builder_attr(&b, STR("value"), &(AttrValue){.kind = ATTR_TENSOR, .tensor = &tensor});
    builder_attr(&b, STR("dtype"), &ATTR_OF_TYPE(DT_int32));
    tensor_clear(&tensor);
    return toy_finish(&b);
}

// A node with up to two plain inputs.
static inline Node *toy_node(Graph *graph, const char *type, const char *name, Node *x, Node *y) {
    NodeBuilder b;
    builder_init(&b, graph, str_of(type), str_of(name));
    if (x)
        builder_input(&b, out_of(x));
    if (y)
        builder_input(&b, out_of(y));
    return toy_finish(&b);
}
