// Reshape and its kin — the same elements in another shape: nothing is moved.
#include <stdio.h>

#include "graph/extents.h"
#include "ops/array/moving.h"

// ---------------------------------------- Reshape

// The extent that -1 stands for. Where the input's extents aren't known, what the wanted shape tells.
static Status *reshape_shape(Shapes *s) {
    Shape wanted;
    TRY(shapes_input_shape(s, 1, &wanted));
    bool given = s->value[1] != NULL;
    int open = -1, n_open = 0;
    int64_t known = 1;
    for (int i = 0; i < wanted.rank; i++) {
        if (wanted.dims[i] < 0)
            open = i, n_open++;
        else
            NEED(mul_i64(known, wanted.dims[i], &known), INVALID_ARGUMENT, "a shape of too many elements: %s",
                 shape_text(&wanted));
    }
    NEED(!given || n_open <= 1, INVALID_ARGUMENT, "Only one input size may be -1, got %s", shape_text(&wanted));
    int64_t count = shape_count(&s->in[0]);
    s->out[0] = wanted;
    if (wanted.rank < 0 || count < 0 || (!given && n_open > 1))
        return OK;
    if (n_open == 0) {
        NEED(count == known, INVALID_ARGUMENT,
             "Input to reshape is a tensor with %lld values, but the requested shape has %lld", (long long)count,
             (long long)known);
        return OK;
    }
    if (known == 0) {
        NEED(!given, INVALID_ARGUMENT,
             "Reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
             "non-zero");
        return OK;
    }
    NEED(count % known == 0, INVALID_ARGUMENT,
         "Input to reshape is a tensor with %lld values, but the requested shape requires a multiple of %lld",
         (long long)count, (long long)known);
    s->out[0].dims[open] = count / known;
    return OK;
}

// Where the wanted shape isn't known yet, it can't have been checked yet.
static Status *reshape_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    return OK;
}

static void reshape_grad(Formula *f) {
    f->dx[0] = ReshapeLike(f->dy[0], f->x[0]);
}

static Status *reshape_partial(Shapes *s, Shape *value) {
    return s->in[0].rank == 0 || s->in[0].rank == 1 ? shapes_input_shape(s, 0, value) : OK;
}

// ---------------------------------------- for devices that compile

static COLD Status *reshape_hlo(Hlo *h) {
    NEED(shape_is_known(hlo_out_shape(h, 0)), UNIMPLEMENTED, "the shape is not known");
    return hlo_out(h, 0, hlo_reshape(h, hlo_in(h, 0), *hlo_out_shape(h, 0)));
}

const Op op_Reshape = {
    .signature = "Reshape(tensor: T, shape: Tshape) -> output: T; T: type; Tshape: {int32, int64} = int32",
    .doc = "The same elements in another shape; -1 stands for the extent that follows from the others.",
    .needs = "vector(shape), each(shape) >= -1", .shape = reshape_shape, .partial = reshape_partial,
    .prepare = reshape_prepare, .grad = reshape_grad, .cpu = ANY_TYPE(kernel_nothing), .host = BIT(1), .alias = BIT(0),
    .flags = OP_CHEAP, .hlo = reshape_hlo,
};

// ---------------------------------------- ExpandDims, Squeeze

static Status *expand_dims_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    int64_t axis;
    if (in->rank < 0)
        return OK;
    NEED(in->rank < MAX_RANK, INVALID_ARGUMENT, "a shape has at most %d dimensions", MAX_RANK);
    Shape out = {.rank = in->rank + 1};
    NEED(!s->value[1] || tensor_count(s->value[1]) == 1, INVALID_ARGUMENT, "dim must have one element");
    if (!shapes_input_int(s, 1, &axis))
        return OK;
    NEED(axis >= -out.rank && axis < out.rank, INVALID_ARGUMENT,
         "Tried to expand dim index %lld for tensor with %d dimensions", (long long)axis, in->rank);
    int at = (int)(axis < 0 ? axis + out.rank : axis);
    for (int i = 0; i < out.rank; i++)
        out.dims[i] = i < at ? in->dims[i] : i == at ? 1 : in->dims[i - 1];
    s->out[0] = out;
    return OK;
}

const Op op_ExpandDims = {
    .signature = "ExpandDims(input: T, dim: Tdim) -> output: T; T: type; Tdim: {int32, int64} = int32",
    .doc = "One more dimension, of extent 1, before the one named.", .needs = "one(dim)", .shape = expand_dims_shape,
    .grad = reshape_grad, .cpu = ANY_TYPE(kernel_nothing), .host = BIT(1), .alias = BIT(0), .flags = OP_CHEAP,
    .hlo = reshape_hlo,
};

static Status *squeeze_shape(Shapes *s) {
    const Shape *in = &s->in[0];
    const AttrValue *list = node_list(s->node, "squeeze_dims");
    if (in->rank < 0)
        return OK;
    uint32_t named = 0;
    for (int i = 0; i < list->n; i++) {
        int axis;
        NEED(list->is[i] >= -in->rank && list->is[i] < in->rank, INVALID_ARGUMENT,
             "Tried to squeeze dim index %lld for tensor with %d dimensions", (long long)list->is[i], in->rank);
        TRY(shape_axis(list->is[i], in->rank, &axis));
        NEED(in->dims[axis] == 1 || in->dims[axis] < 0, INVALID_ARGUMENT,
             "Can not squeeze dim[%d], expected a dimension of 1, got %lld", axis, (long long)in->dims[axis]);
        named |= BIT(axis);
    }
    Shape out = {0};
    for (int i = 0; i < in->rank; i++) {
        if (list->n == 0 && in->dims[i] < 0)
            return OK;  // how many dimensions remain isn't known
        if (list->n ? !(named & BIT(i)) : in->dims[i] != 1)
            out.dims[out.rank++] = in->dims[i];
    }
    s->out[0] = out;
    return OK;
}

const Op op_Squeeze = {
    .signature = "Squeeze(input: T) -> output: T; T: type; squeeze_dims: list(int) >= 0 = []",
    .doc = "Without the dimensions of extent 1, or without those that are named.", .shape = squeeze_shape,
    .grad = reshape_grad, .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0), .flags = OP_CHEAP, .hlo = reshape_hlo,
};

// ---------------------------------------- EnsureShape

static Status *ensure_shape(Shapes *s) {
    const Shape *wanted = node_attr_find(s->node, "shape")->shape;
    NEED(shape_compatible(&s->in[0], wanted), INVALID_ARGUMENT,
         "Shape of tensor %s is not compatible with expected shape %s", shape_text(&s->in[0]), shape_text(wanted));
    return shape_merge(&s->in[0], wanted, &s->out[0]);
}

static void pass_grad(Formula *f) {
    f->dx[0] = f->dy[0];
}

const Op op_EnsureShape = {
    .signature = "EnsureShape(input: T) -> output: T; shape: shape; T: type",
    .doc = "The input, which must have that shape.", .shape = ensure_shape, .grad = pass_grad,
    .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0), .flags = OP_CHEAP, .hlo = hlo_identity,
};

static void prevented(Formula *f) {
    Str message = node_str(f->node, "message");
    formula_fail(f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "Gradient explicitly disabled. Reason: %.*s",
                               STR_ARGS(message)));
}

const Op op_PreventGradient = {
    .signature = "PreventGradient(input: T) -> output: T; T: type; message: string = \"\"",
    .doc = "The input; asking for a gradient through it is an error.", .shape = shape_unchanged, .grad = prevented,
    .cpu = ANY_TYPE(kernel_nothing), .alias = BIT(0), .flags = OP_CHEAP, .hlo = hlo_identity,
};
