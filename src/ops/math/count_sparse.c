// DenseCountSparseOutput, SparseCountSparseOutput, RaggedCountSparseOutput — how often each number appears in each row, as
// a sparse tensor.
//
// Numbers with their rows are sorted, then equal ones are added up in the order in which they came: work and memory
// follow the number of values, never their size.
#include <stdlib.h>

#include "ops/array/moving.h"

typedef struct {
    int64_t row, value, at;      // `at`: which of the values
} Counted;

typedef struct {
    Counted *p;
    int64_t n;
    int64_t rows, largest;       // `largest` of the values that count
    int64_t least, most;         // of the extents that were asked for: minlength, maxlength
    const Tensor *weights;       // NULL: each counts 1
    bool flat;                   // one row, which the output leaves out
} Counts;

static int by_row_and_value(const void *a, const void *b) {
    const Counted *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static Status *counts_begin(Kernel *k, const Tensor *values, const Tensor *weights, Arena *arena, Counts *out) {
    int64_t n = tensor_count(values);
    out->weights = tensor_count(weights) ? weights : NULL;
    NEED(!out->weights || shape_equal(&weights->shape, &values->shape), INVALID_ARGUMENT,
         "Weights and values must have the same shape. Weight shape: %s; values shape: %s", shape_text(&weights->shape),
         shape_text(&values->shape));
    out->least = node_int(k->node, "minlength");
    out->most = node_int(k->node, "maxlength");
    out->p = ARENA_ARRAY(arena, Counted, n + 1);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *count_one(Counts *c, int64_t row, int64_t value, int64_t at) {
    NEED(value >= 0, INVALID_ARGUMENT, "Input values must all be non-negative, got %lld", (long long)value);
    if (c->most > 0 && value >= c->most)
        return OK;
    c->p[c->n++] = (Counted){row, value, at};
    c->largest = max_i64(c->largest, value);
    return OK;
}

// One count for each number of each row, at the head of the list: equal ones lie together.
#define ADD_UP(T)                                                                       \
    do {                                                                                \
        T *out = k->out[1]->data;                                                       \
        const T *weights = c->weights ? c->weights->data : NULL;                        \
        int64_t to = -1;                                                                \
        for (int64_t i = 0; i < c->n; i++) {                                            \
            bool begins = !i || c->p[i - 1].row != c->p[i].row || c->p[i - 1].value != c->p[i].value; \
            to += begins;                                                               \
            T one = binary || !weights ? (T)1 : weights[c->p[i].at];                    \
            out[to] = begins || binary ? one : (T)(out[to] + one);                      \
        }                                                                               \
    } while (0)

static void add_up(const Kernel *k, const Counts *c) {
    bool binary = node_bool(k->node, "binary_output");
    switch (k->out[1]->dtype) {
    case DT_int32: ADD_UP(int32_t); break;
    case DT_int64: ADD_UP(int64_t); break;
    case DT_float: ADD_UP(float); break;
    default: ADD_UP(double); break;
    }
}

static Status *counts_output(Kernel *k, Counts *c) {
    int64_t n = 0, rank = c->flat ? 1 : 2, to = 0;
    if (c->n)
        qsort(c->p, (size_t)c->n, sizeof *c->p, by_row_and_value);
    for (int64_t i = 0; i < c->n; i++)
        n += !i || c->p[i - 1].row != c->p[i].row || c->p[i - 1].value != c->p[i].value;
    TRY(kernel_output(k, 0, SHAPE(n, rank)));
    TRY(kernel_output(k, 1, SHAPE(n)));
    TRY(kernel_output(k, 2, SHAPE(rank)));
    int64_t *indices = k->out[0]->data, *extents = k->out[2]->data;
    for (int64_t i = 0; i < c->n; i++) {
        if (i && c->p[i - 1].row == c->p[i].row && c->p[i - 1].value == c->p[i].value)
            continue;
        if (!c->flat)
            indices[to++] = c->p[i].row;
        indices[to++] = c->p[i].value;
    }
    add_up(k, c);
    int64_t columns = 0;
    if (c->most > 0)
        columns = c->most;
    else
        NEED(add_i64(c->largest, 1, &columns), INVALID_ARGUMENT, "a value of %lld", (long long)c->largest);
    extents[rank - 1] = c->most > 0 ? columns : max_i64(columns, c->least);
    if (!c->flat)
        extents[0] = c->rows;
    return OK;
}

// ---------------------------------------- dense

static Status *dense_run(Kernel *k) {
    const Tensor *values = k->in[0];
    AUTO(arena) Arena arena = {0};
    Counts c = {.flat = values->shape.rank == 1};
    NEED(values->shape.rank == 1 || values->shape.rank == 2, INVALID_ARGUMENT,
         "Input must be a 1 or 2-dimensional tensor. Got: %s", shape_text(&values->shape));
    TRY(counts_begin(k, values, k->in[1], &arena, &c));
    NEED(c.flat || values->shape.dims[0] > 0, INVALID_ARGUMENT, "Invalid input: Shapes dimension cannot be 0.");
    int64_t n = tensor_count(values), width = values->shape.dims[values->shape.rank - 1];
    c.rows = c.flat ? 1 : values->shape.dims[0];
    for (int64_t i = 0; i < n; i++)
        TRY(count_one(&c, i / width, tensor_int(values, i), i));  // there are elements, so it is not zero
    return counts_output(k, &c);
}

static Status *dense_shape(Shapes *s) {
    int rank = s->in[0].rank;
    NEED(rank < 0 || rank == 1 || rank == 2, INVALID_ARGUMENT, "Input must be a 1 or 2-dimensional tensor. Got: %s",
         shape_text(&s->in[0]));
    s->out[0] = SHAPE(UNKNOWN_DIM, rank < 0 ? UNKNOWN_DIM : rank);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(rank < 0 ? UNKNOWN_DIM : rank);
    return OK;
}

// ---------------------------------------- sparse

static Status *sparse_check(const Kernel *k) {
    const Tensor *indices = k->in[0], *values = k->in[1], *extents = k->in[2];
    NEED(indices->shape.rank == 2, INVALID_ARGUMENT, "Input indices must be a 2-dimensional tensor. Got: %s",
         shape_text(&indices->shape));
    NEED(values->shape.rank == 1, INVALID_ARGUMENT, "Input values must be a 1-dimensional tensor. Got: %s",
         shape_text(&values->shape));
    NEED(indices->shape.dims[0] == values->shape.dims[0], INVALID_ARGUMENT,
         "Number of values must match first dimension of indices. Got %lld values, indices shape: %s",
         (long long)values->shape.dims[0], shape_text(&indices->shape));
    NEED(extents->shape.rank == 1, INVALID_ARGUMENT, "Input shape must be a 1-dimensional tensor. Got: %s",
         shape_text(&extents->shape));
    int64_t rank = tensor_count(extents);
    NEED(rank == indices->shape.dims[1], INVALID_ARGUMENT,
         "Number of dimensions must match second dimension of indices. Got %lld dimensions, indices shape: %s",
         (long long)rank, shape_text(&indices->shape));
    NEED(rank == 1 || rank == 2, INVALID_ARGUMENT, "The shape argument requires one or two elements, got %lld",
         (long long)rank);
    for (int64_t i = 0; i < rank; i++)
        NEED(tensor_int(extents, i) >= 0, INVALID_ARGUMENT, "The shape has a negative extent: %lld",
             (long long)tensor_int(extents, i));
    return OK;
}

static Status *sparse_run(Kernel *k) {
    const Tensor *indices = k->in[0], *values = k->in[1], *extents = k->in[2];
    AUTO(arena) Arena arena = {0};
    TRY(sparse_check(k));
    int64_t rank = tensor_count(extents), n = tensor_count(values);
    Counts c = {.flat = rank == 1, .rows = rank == 1 ? 1 : tensor_int(extents, 0)};
    NEED(c.rows > 0, INVALID_ARGUMENT, "Cannot allocate 0 batches, is the dense shape too wide?");
    TRY(counts_begin(k, values, k->in[3], &arena, &c));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t d = 0; d < rank; d++) {
            int64_t at = tensor_int(indices, i * rank + d);
            NEED(at >= 0 && at < tensor_int(extents, d), INVALID_ARGUMENT,
                 "Index value along dimension %lld must be in [0, %lld), got %lld", (long long)d,
                 (long long)tensor_int(extents, d), (long long)at);
        }
        TRY(count_one(&c, c.flat ? 0 : tensor_int(indices, i * rank), tensor_int(values, i), i));
    }
    return counts_output(k, &c);
}

static Status *sparse_shape(Shapes *s) {
    int64_t rank = s->in[2].rank == 1 ? s->in[2].dims[0] : UNKNOWN_DIM;
    s->out[0] = SHAPE(UNKNOWN_DIM, rank);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(rank);
    return OK;
}

// ---------------------------------------- ragged

static Status *ragged_run(Kernel *k) {
    const Tensor *splits = k->in[0], *values = k->in[1];
    AUTO(arena) Arena arena = {0};
    Counts c = {.rows = tensor_count(splits) - 1};
    NEED(splits->shape.rank == 1, INVALID_ARGUMENT, "Splits must be a 1-dimensional tensor, got %s", shape_text(&splits->shape));
    NEED(c.rows > 0, INVALID_ARGUMENT, "Must provide at least 2 elements for the splits argument");
    NEED(values->shape.rank == 1, INVALID_ARGUMENT, "Values must be a 1-dimensional tensor, got %s", shape_text(&values->shape));
    NEED(tensor_int(splits, 0) == 0, INVALID_ARGUMENT, "Splits must start with 0, not with %lld",
         (long long)tensor_int(splits, 0));
    NEED(tensor_int(splits, c.rows) == tensor_count(values), INVALID_ARGUMENT,
         "Splits must end with the number of values, got %lld instead of %lld", (long long)tensor_int(splits, c.rows),
         (long long)tensor_count(values));
    for (int64_t row = 0; row < c.rows; row++)
        NEED(tensor_int(splits, row) <= tensor_int(splits, row + 1), INVALID_ARGUMENT, "Splits must ascend: %lld behind %lld",
             (long long)tensor_int(splits, row + 1), (long long)tensor_int(splits, row));
    TRY(counts_begin(k, values, k->in[2], &arena, &c));
    for (int64_t row = 0; row < c.rows; row++)
        for (int64_t i = tensor_int(splits, row); i < tensor_int(splits, row + 1); i++)
            TRY(count_one(&c, row, tensor_int(values, i), i));
    return counts_output(k, &c);
}

static Status *ragged_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM, 2);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(2);
    return OK;
}

#define COUNTS                                                                                                       \
    "-> output_indices: int64, output_values: output_type, output_dense_shape: int64; T: {int32, int64}; "            \
    "minlength: int >= -1 = -1; maxlength: int >= -1 = -1; binary_output: bool; output_type: {int32, int64, float, double}"
#define COUNTING(kind) .shape = kind##_shape, .cpu = ANY_TYPE(kind##_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT
const Op op_DenseCountSparseOutput = {
    .signature = "DenseCountSparseOutput(values: T, weights: output_type) " COUNTS,
    .doc = "How often each number appears in each row of a tensor, as a sparse tensor.", COUNTING(dense),
};
const Op op_SparseCountSparseOutput = {
    .signature = "SparseCountSparseOutput(indices: int64, values: T, dense_shape: int64, weights: output_type) " COUNTS,
    .doc = "How often each number appears in each row of a sparse tensor, as a sparse tensor.", COUNTING(sparse),
};
const Op op_RaggedCountSparseOutput = {
    .signature = "RaggedCountSparseOutput(splits: int64, values: T, weights: output_type) " COUNTS,
    .doc = "How often each number appears in each row of a ragged tensor, as a sparse tensor.", COUNTING(ragged),
};
