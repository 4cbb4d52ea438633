// DeepCopy, InplaceUpdate, InplaceAdd, InplaceSub, ScatterNdNonAliasingAdd, Copy, CopyHost, Empty — what writes into a value
// without a variable. Here a value that somebody else reads is copied first, so that they are plain scattering.
#include "ops/array/moving.h"

static void copy_expand(Formula *f) {
    f->results[0] = Identity(f->x[0]);
}

// Rows i, counted around the end, of a tensor.
static void scatter_rows(Formula *f, const char *op) {
    Output rows = Reshape(Slice(ShapeOf(f->x[0]), Ints(0), Ints(1)), NoInts);
    f->results[0] = formula_3(f, op, f->x[0], ExpandDims(FloorMod(f->x[1], rows), Int(1)), f->x[2]);
}

static void update_expand(Formula *f) {
    scatter_rows(f, "TensorScatterUpdate");
}

static void add_expand(Formula *f) {
    scatter_rows(f, "TensorScatterAdd");
}

static void sub_expand(Formula *f) {
    scatter_rows(f, "TensorScatterSub");
}

static void non_aliasing_expand(Formula *f) {
    f->results[0] = formula_alike(f, "TensorScatterAdd", f->x, 3);
}

const Op op_DeepCopy = {
    .signature = "DeepCopy(x: T) -> y: T; T: type; stateful", .doc = "A copy.", .shape = shape_unchanged,
    .expand = copy_expand,
};
const Op op_Copy = {
    .signature = "Copy(input: T) -> output: T; T: type; tensor_name: string = \"\"; debug_ops_spec: list(string) = []; "
                 "allows_uninitialized",
    .doc = "A copy, for debuggers.", .shape = shape_unchanged, .expand = copy_expand,
};
const Op op_CopyHost = {
    .signature = "CopyHost(input: T) -> output: T; T: type; tensor_name: string = \"\"; debug_ops_spec: list(string) = "
                 "[]; allows_uninitialized",
    .doc = "A copy, for debuggers.", .shape = shape_unchanged, .expand = copy_expand,
};
#define INPLACE(Name, of, text)                                                                        \
    const Op op_Inplace##Name = {                                                                      \
        .signature = "Inplace" #Name "(x: T, i: int32, v: T) -> y: T; T: type", .doc = text,           \
        .needs = "rank(x) >= 1, vector(i), same_rank(x, v), dim(i, 0) == dim(v, 0)", .shape = shape_unchanged, \
        .expand = of,                                                                                  \
    };
INPLACE(Update, update_expand, "The tensor with rows replaced; indices count around the end.")
INPLACE(Add, add_expand, "The tensor with something added to rows; indices count around the end.")
INPLACE(Sub, sub_expand, "The tensor with something taken from rows; indices count around the end.")

const Op op_ScatterNdNonAliasingAdd = {
    .signature = "ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T) -> output: T; T: {numbers, bool}; "
                 "Tindices: {int32, int64}; bad_indices_policy: string = \"\"",
    .doc = "The tensor with slices added.", .needs = "rank(input) >= 1, rank(indices) >= 1", .shape = shape_unchanged,
    .expand = non_aliasing_expand,
};

static Status *empty_shape(Shapes *s) {
    return shapes_input_shape(s, 0, &s->out[0]);
}

// Zeros, whatever `init` asks for: nobody shall see what was in memory before.
static Status *empty_run(Kernel *k) {
    if (dtype_is_plain(k->out[0]->dtype))
        memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    return OK;
}

static COLD Status *empty_hlo(Hlo *h) {
    NEED(shape_is_known(hlo_out_shape(h, 0)), UNIMPLEMENTED, "the shape is not known");
    return hlo_out(h, 0, hlo_fill(h, 0, hlo_out_type(h, 0), *hlo_out_shape(h, 0)));
}

const Op op_Empty = {
    .signature = "Empty(shape: int32) -> output: dtype; dtype: type; init: bool = false; stateful",
    .doc = "A tensor of that shape, of zeros.", .needs = "vector(shape), each(shape) >= 0", .shape = empty_shape,
    .cpu = ANY_TYPE(empty_run), .host = BIT(0), .flags = OP_NO_GRADIENT, .hlo = empty_hlo,
};
