// SparseFillEmptyRows — a default in the first column of each row that has no element; and its gradient.
#define SELF "ops/sparse/fill_rows.c"
#include "ops/op.h"

#ifdef T  // ---------------------------------------- the gradient's kernel, once per dtype

static Status *FN(fill_grad)(Kernel *k) {
    const int64_t *map = k->in[0]->data;
    const T *grad = k->in[1]->data;
    T *values = k->out[0]->data;
    bool *visited = k->scratch;
    int64_t n = tensor_count(k->in[0]), full = tensor_count(k->in[1]);
    memset(visited, 0, (size_t)full);
    for (int64_t i = 0; i < n; i++) {
        NEED(map[i] >= 0 && map[i] < full, INVALID_ARGUMENT,
             "Elements in reverse index must be in [0, %lld) but got %lld", (long long)full, (long long)map[i]);
        values[i] = grad[map[i]];
        visited[map[i]] = true;
    }
    ACC rest = 0;
    for (int64_t i = 0; i < full; i++)
        if (!visited[i])
            rest += LOAD(grad[i]);
    *(T *)k->out[1]->data = STORE(rest);
    return OK;
}

#else     // ---------------------------------------- filling
#include <stdlib.h>

static Status *fill_shape(Shapes *s) {
    Shape dense;
    TRY(shapes_input_shape(s, 2, &dense));
    int64_t rank = s->in[0].rank == 2 ? s->in[0].dims[1] : UNKNOWN_DIM;
    int64_t n = s->in[1].rank == 1 ? s->in[1].dims[0] : UNKNOWN_DIM;
    s->out[0] = SHAPE(UNKNOWN_DIM, rank);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    s->out[2] = SHAPE(dense.rank > 0 ? dense.dims[0] : UNKNOWN_DIM);
    s->out[3] = SHAPE(n);
    return OK;
}

// Where the elements of each row begin in the result: `at` has rows + 1 numbers; how many there are in all.
static Status *place_rows(Kernel *k, int64_t n, int64_t rank, int64_t rows, int64_t *at) {
    const int64_t *indices = k->in[0]->data;
    bool *empty = k->out[2]->data;
    memset(at, 0, (size_t)(rows + 1) * sizeof *at);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = indices[i * rank];
        NEED(row >= 0 && row < rows, INVALID_ARGUMENT, "indices(%lld, 0) is invalid: %lld >= %lld", (long long)i,
             (long long)row, (long long)rows);
        at[row + 1]++;
    }
    for (int64_t row = 0; row < rows; row++) {
        empty[row] = at[row + 1] == 0;
        at[row + 1] = at[row] + (empty[row] ? 1 : at[row + 1]);
    }
    return OK;
}

static Status *copy_one(const Tensor *from, int64_t i, const Tensor *to, int64_t j) {
    size_t size = dtype_size(from->dtype);
    Tensor source = *from, target = *to;
    source.data = (char *)from->data + (size_t)i * size;
    target.data = (char *)to->data + (size_t)j * size;
    source.shape = target.shape = SCALAR_SHAPE;
    return tensor_copy_elements(&source, &target);
}

// `at` moves on row by row: elements of one row stay in their order.
static Status *fill_all(Kernel *k, int64_t n, int64_t rank, int64_t rows, int64_t *at) {
    const int64_t *indices = k->in[0]->data;
    const bool *empty = k->out[2]->data;
    int64_t *out = k->out[0]->data, *map = k->out[3]->data;
    for (int64_t row = 0; row < rows; row++) {
        if (!empty[row])
            continue;
        memset(out + at[row] * rank, 0, (size_t)rank * sizeof *out);
        out[at[row] * rank] = row;
        TRY(copy_one(k->in[3], 0, k->out[1], at[row]));
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t to = at[indices[i * rank]]++;
        memcpy(out + to * rank, indices + i * rank, (size_t)rank * sizeof *out);
        TRY(copy_one(k->in[1], i, k->out[1], to));
        map[i] = to;
    }
    return OK;
}

static Status *fill(Kernel *k, int64_t *at) {
    int64_t n = k->in[0]->shape.dims[0], rank = k->in[0]->shape.dims[1], rows = tensor_int(k->in[2], 0);
    TRY(kernel_output(k, 2, SHAPE(rows)));
    TRY(kernel_output(k, 3, SHAPE(n)));
    TRY(place_rows(k, n, rank, rows, at));
    TRY(kernel_output(k, 0, SHAPE(at[rows], rank)));
    TRY(kernel_output(k, 1, SHAPE(at[rows])));
    return fill_all(k, n, rank, rows, at);
}

static Status *fill_run(Kernel *k) {
    int64_t n = k->in[0]->shape.dims[0], rank = k->in[0]->shape.dims[1];
    NEED(tensor_count(k->in[2]) > 0, INVALID_ARGUMENT, "Dense shape cannot be empty.");
    NEED(tensor_count(k->in[2]) == rank, INVALID_ARGUMENT, "indices of %lld columns for a shape of %lld extents",
         (long long)rank, (long long)tensor_count(k->in[2]));
    int64_t rows = tensor_int(k->in[2], 0);
    size_t bytes;
    NEED(rows >= 0, INVALID_ARGUMENT, "dense_shape[0] = %lld", (long long)rows);
    NEED(rows > 0 || n == 0, INVALID_ARGUMENT,
         "Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = %lld", (long long)n);
    NEED(rows < INT64_MAX && mul_size((size_t)rows + 1, sizeof(int64_t), &bytes), RESOURCE_EXHAUSTED,
         "%lld rows are too many", (long long)rows);
    int64_t *at = malloc(bytes);
    NEED_MEMORY(at);
    Status *status = fill(k, at);
    free(at);
    return status;
}

static void fill_rows_grad(Formula *f) {
    Output both = Op("SparseFillEmptyRowsGrad", At(f->y[0], 3), f->dy[1]);
    f->dx[1] = both;
    f->dx[3] = At(both, 1);
}

const Op op_SparseFillEmptyRows = {
    .signature = "SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64, default_value: T) -> "
                 "output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64; T: type",
    .doc = "Gives each row without elements a default in its first column.",
    .needs = "rank(indices) == 2, vector(values), dim(indices, 0) == dim(values, 0), vector(dense_shape), "
             "scalar(default_value)",
    .shape = fill_shape, .grad = fill_rows_grad, .cpu = ANY_TYPE(fill_run), .host = BIT(2), .flags = OP_DYNAMIC_SHAPE,
};

#define EACH_NUMBER
#include "ops/each_dtype.h"

static Status *grad_shape(Shapes *s) {
    s->out[0] = s->in[0];
    s->out[1] = SCALAR_SHAPE;
    return OK;
}

static Status *grad_prepare(Prepare *p) {
    p->scratch = (size_t)shape_count(&p->in[1]->shape);
    p->cost = shape_count(&p->in[1]->shape);
    return OK;
}

const Op op_SparseFillEmptyRowsGrad = {
    .signature = "SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T) -> d_values: T, d_default_value: T; "
                 "T: type",
    .doc = "The gradient of SparseFillEmptyRows: what belongs to its values, and the sum of what doesn't.",
    .needs = "vector(reverse_index_map), vector(grad_values)", .shape = grad_shape, .prepare = grad_prepare,
    .cpu = KERNELS(NUMBERS, fill_grad), .flags = OP_NO_GRADIENT,
};
#endif
