// ImmutableConst — a constant whose bytes lie in a file; ParallelConcat — rows put under each other.
#include "file/disk.h"
#include "ops/op.h"

typedef struct {
    Tensor value;
} Immutable;

// The file's size is seen before memory is taken.
static Status *read_open(int file, uint64_t size, Str path, DType dtype, Shape shape, Tensor *out) {
    size_t bytes;
    AUTO(tensor) Tensor value = {0};
    TRY(shape_bytes(&shape, dtype, &bytes));
    NEED(size >= bytes, RESOURCE_EXHAUSTED, "%.*s has %llu bytes, the constant takes %zu", STR_ARGS(path),
         (unsigned long long)size, bytes);
    TRY(tensor_new(dtype, shape, &value));
    if (bytes)
        TRY(disk_read_at(file, 0, value.data, bytes, path));
    *out = tensor_retain(&value);
    return OK;
}

static Status *open_immutable(Opening *o) {
    Immutable *state = o->state;
    DType dtype = node_type(o->node, "dtype");
    Shape shape = *node_attr_find(o->node, "shape")->shape;
    Str path = node_str(o->node, "memory_region_name");
    NEED(dtype_is_plain(dtype), UNIMPLEMENTED, "Sorry, %s is not currently supported for ImmutableConstOp.",
         dtype_name(dtype));
    NEED(shape_is_known(&shape), INVALID_ARGUMENT, "the shape %s of a constant is not fully known",
         shape_text(&shape));
    int file = -1;
    uint64_t size = 0;
    TRY(disk_open(path, &file, &size));
    Status *status = read_open(file, size, path, dtype, shape, &state->value);
    disk_close(file);
    return status;
}

static void close_immutable(void *state) {
    tensor_clear(&((Immutable *)state)->value);
}

static Status *immutable_run(Kernel *k) {
    const Immutable *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a constant in a file needs a session to live in");
    kernel_set_output(k, 0, tensor_retain(&state->value));
    return OK;
}

static const Tensor *immutable_value(const void *state) {
    return &((const Immutable *)state)->value;
}

const Op op_ImmutableConst = {
    .signature = "ImmutableConst() -> tensor: dtype; dtype: type; shape: shape; memory_region_name: string",
    .doc = "A constant whose bytes are those of a file.", .shape = shape_from_attr, .open = open_immutable,
    .close = close_immutable, .state_size = sizeof(Immutable), .value = immutable_value,
    .cpu = ANY_TYPE(immutable_run), .flags = OP_DYNAMIC_SHAPE | OP_STATEFUL | OP_NO_GRADIENT,
};

static Status *parallel_shape(Shapes *s) {
    const Shape *whole = node_attr_find(s->node, "shape")->shape;
    NEED(whole->rank != 0, INVALID_ARGUMENT, "The result of ParallelConcat has no rows: its shape is a scalar's");
    NEED(whole->rank < 0 || whole->dims[0] < 0 || whole->dims[0] == s->n_in, INVALID_ARGUMENT,
         "%d rows for a result of shape %s", s->n_in, shape_text(whole));
    for (int i = 0; i < s->n_in; i++) {
        Shape row = *whole, merged;
        if (row.rank > 0)
            row.dims[0] = 1;
        TRY(shape_merge(&row, &s->in[i], &merged));
    }
    s->out[0] = *whole;
    return OK;
}

static void parallel_expand(Formula *f) {
    Output axis = Int(0);
    FormulaArg args[] = {{f->x, f->n_x, true}, {&axis, 1, false}};
    Shape *shape = (Shape *)node_attr_find(f->node, "shape")->shape;
    FormulaAttr attrs[] = {{"shape", {.kind = ATTR_SHAPE, .shape = shape}}, {0}};
    Output rows = {formula_node(f, "ConcatV2", args, 2, NULL), 0};
    f->results[0] = formula_op(f, "EnsureShape", &rows, 1, attrs);
}

const Op op_ParallelConcat = {
    .signature = "ParallelConcat(values: N * T) -> output: T; N: int >= 1; T: type; shape: shape",
    .doc = "Tensors of one row each, under each other.", .shape = parallel_shape, .expand = parallel_expand,
};
