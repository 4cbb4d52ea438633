// Shape, ShapeN, Size, Rank — what is known of a tensor without its elements.
#include "graph/extents.h"
#include "ops/op.h"

static void put(const Tensor *out, int64_t i, int64_t value) {
    if (out->dtype == DT_int32)
        ((int32_t *)out->data)[i] = (int32_t)value;
    else
        ((int64_t *)out->data)[i] = value;
}

static Status *put_checked(const Tensor *out, int64_t i, int64_t value) {
    NEED(out->dtype != DT_int32 || value <= INT32_MAX, INVALID_ARGUMENT,
         "%lld does not fit int32: out_type must be int64", (long long)value);
    put(out, i, value);
    return OK;
}

// ---------------------------------------- Shape, ShapeN

static Status *shape_shape(Shapes *s) {
    for (int i = 0; i < s->n_out; i++)
        s->out[i] = SHAPE(s->in[i].rank < 0 ? UNKNOWN_DIM : s->in[i].rank);
    return OK;
}

static Status *shape_run(Kernel *k) {
    for (int i = 0; i < k->n_out; i++)
        for (int d = 0; d < k->in[i]->shape.rank; d++)
            TRY(put_checked(k->out[i], d, k->in[i]->shape.dims[d]));
    return OK;
}

static Status *shape_partial(Shapes *s, Shape *value) {
    *value = s->in[0];
    return OK;
}

const Op op_Shape = {
    .signature = "Shape(input: T) -> output: out_type; T: type; out_type: {int32, int64} = int32",
    .doc = "The extents of the input.", .shape = shape_shape, .partial = shape_partial, .cpu = ANY_TYPE(shape_run),
    .host_out = BIT(0), .flags = OP_FROM_SHAPES | OP_CHEAP | OP_NO_GRADIENT,
};
const Op op_ShapeN = {
    .signature = "ShapeN(input: N * T) -> output: N * out_type; N: int >= 1; T: type; out_type: {int32, int64} = int32",
    .doc = "The extents of each input.", .shape = shape_shape, .partial = shape_partial, .cpu = ANY_TYPE(shape_run),
    .host_out = BIT(0),
    .flags = OP_FROM_SHAPES | OP_CHEAP | OP_NO_GRADIENT,
};

// ---------------------------------------- Size, Rank

static Status *size_run(Kernel *k) {
    return put_checked(k->out[0], 0, shape_count(&k->in[0]->shape));
}

static Status *size_partial(Shapes *s, Shape *value) {
    int64_t count = shape_count(&s->in[0]);
    if (count >= 0)
        *value = SHAPE(count);
    return OK;
}

const Op op_Size = {
    .signature = "Size(input: T) -> output: out_type; T: type; out_type: {int32, int64} = int32",
    .doc = "The number of elements.", .shape = shape_scalar, .partial = size_partial, .cpu = ANY_TYPE(size_run),
    .host_out = BIT(0), .flags = OP_FROM_SHAPES | OP_CHEAP | OP_NO_GRADIENT,
};

static Status *rank_run(Kernel *k) {
    *(int32_t *)k->out[0]->data = k->in[0]->shape.rank;
    return OK;
}

static Status *rank_partial(Shapes *s, Shape *value) {
    if (s->in[0].rank >= 0)
        *value = SHAPE(s->in[0].rank);
    return OK;
}

const Op op_Rank = {
    .signature = "Rank(input: T) -> output: int32; T: type", .doc = "The number of dimensions.", .shape = shape_scalar,
    .partial = rank_partial, .cpu = ANY_TYPE(rank_run), .host_out = BIT(0),
    .flags = OP_FROM_SHAPES | OP_CHEAP | OP_NO_GRADIENT,
};

// ---------------------------------------- BroadcastArgs, BroadcastGradientArgs

static Status *broadcast_args_shape(Shapes *s) {
    int64_t a = s->in[0].rank == 1 ? s->in[0].dims[0] : -1, b = s->in[1].rank == 1 ? s->in[1].dims[0] : -1;
    s->out[0] = SHAPE(a < 0 || b < 0 ? UNKNOWN_DIM : max_i64(a, b));
    return OK;
}

// Two vectors as shapes. -1 is a number like others here, which only itself and 1 go with.
static Status *read_shapes(Kernel *k, Shape in[2], Shape *both) {
    for (int i = 0; i < 2; i++)
        TRY(tensor_to_shape(k->in[i], &in[i]));
    TRY(shape_broadcast(&in[0], &in[1], both));
    for (int i = 1; i <= in[0].rank && i <= in[1].rank; i++) {
        int64_t a = in[0].dims[in[0].rank - i], b = in[1].dims[in[1].rank - i];
        NEED(a == b || a == 1 || b == 1, INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", shape_text(&in[0]),
             shape_text(&in[1]));
    }
    return OK;
}

static Status *broadcast_args_run(Kernel *k) {
    Shape in[2], both;
    TRY(read_shapes(k, in, &both));
    for (int i = 0; i < both.rank; i++)
        put(k->out[0], i, both.dims[i]);
    return OK;
}

// Where a value isn't known yet its extents can't have been checked yet.
static Status *args_prepare(Prepare *p) {
    for (int i = 0; i < p->n_in; i++)
        NEED(p->in[i]->data, FAILED_PRECONDITION, "the value of input %d is not known yet", i);
    return OK;
}

static Status *broadcast_args_partial(Shapes *s, Shape *value) {
    Shape a, b;
    TRY(shapes_input_shape(s, 0, &a));
    TRY(shapes_input_shape(s, 1, &b));
    return shape_broadcast(&a, &b, value);
}

const Op op_BroadcastArgs = {
    .signature = "BroadcastArgs(s0: T, s1: T) -> r0: T; T: {int32, int64} = int32",
    .doc = "The shape that two shapes broadcast to.", .needs = "vector(s0), vector(s1)",
    .shape = broadcast_args_shape, .partial = broadcast_args_partial, .prepare = args_prepare,
    .cpu = ANY_TYPE(broadcast_args_run),
    .host = BIT(0) | BIT(1), .host_out = BIT(0), .flags = OP_CHEAP | OP_NO_GRADIENT,
};

// The axes along which the first (the second) input was repeated: those to sum a gradient over.
static Status *gradient_args_run(Kernel *k) {
    Shape in[2], both;
    TRY(read_shapes(k, in, &both));
    for (int side = 0; side < 2; side++) {
        int64_t axes[MAX_RANK], n = 0;
        int more = both.rank - in[side].rank;
        // Unless the shapes are equal, every extent of 1 counts, also where the other has one element: as TensorFlow
        // does.
        for (int i = 0; i < both.rank && !shape_equal(&in[0], &in[1]); i++)
            if (i < more || in[side].dims[i - more] == 1)
                axes[n++] = i;
        TRY(kernel_output(k, side, SHAPE(n)));
        for (int64_t i = 0; i < n; i++)
            put(k->out[side], i, axes[i]);
    }
    return OK;
}

static Status *vectors_shape(Shapes *s) {
    s->out[0] = s->out[1] = SHAPE(UNKNOWN_DIM);
    return OK;
}

const Op op_BroadcastGradientArgs = {
    .signature = "BroadcastGradientArgs(s0: T, s1: T) -> r0: T, r1: T; T: {int32, int64} = int32",
    .doc = "The axes that broadcasting two shapes repeats, of each.",
    .needs = "vector(s0), vector(s1)", .shape = vectors_shape,
    .prepare = args_prepare, .cpu = ANY_TYPE(gradient_args_run), .host = BIT(0) | BIT(1), .host_out = BIT(0) | BIT(1),
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};
