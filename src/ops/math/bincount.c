// Bincount, DenseBincount, RaggedBincount, SparseBincount — counting by number. Bucketize, LowerBound, UpperBound,
// HistogramFixedWidth — finding by size.
//
// Counts are added on one thread: bins are few and hot, and sums of floats keep the order of the input.
#define SELF "ops/math/bincount.c"
#include "ops/array/moving.h"

#ifdef T  // ---------------------------------------- once per dtype
// The first of n ascending numbers that is not less (`after`: that is greater) than x.
// Binary search; boundaries are few and read by all elements, so they stay in the cache.
static int64_t FN(search)(const T *sorted, int64_t n, T x, bool after) {
    ACC wanted = LOAD(x);
    int64_t first = 0;
    while (n > 0) {
        int64_t half = n / 2;
        ACC middle = LOAD(sorted[first + half]);
        if (middle < wanted || (after && !(wanted < middle))) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}
static Status *FN(bound)(Kernel *k) {
    const Tensor *sorted = k->in[0], *values = k->in[1];
    bool after = node_op(k->node)->row != NULL;
    int64_t n = sorted->shape.dims[1], per_row = values->shape.dims[1];
    for (int64_t i = 0; i < tensor_count(values); i++) {
        const T *row = (const T *)sorted->data + i / per_row * n;
        int64_t at = FN(search)(row, n, ((const T *)values->data)[i], after);
        if (k->out[0]->dtype == DT_int32)
            ((int32_t *)k->out[0]->data)[i] = (int32_t)at;
        else
            ((int64_t *)k->out[0]->data)[i] = at;
    }
    return OK;
}
// The number of boundaries that are not greater.
static Status *FN(bucketize)(Kernel *k) {
    const Boundaries *own = k->own;
    const T *x = k->in[0]->data;
    for (int64_t i = 0; i < tensor_count(k->in[0]); i++) {
        int64_t first = 0, n = own->n;
        while (n > 0) {
            int64_t half = n / 2;
            if ((double)LOAD(x[i]) >= (double)own->p[first + half]) {
                first += half + 1;
                n -= half + 1;
            } else {
                n = half;
            }
        }
        ((int32_t *)k->out[0]->data)[i] = (int32_t)first;
    }
    return OK;
}
#else     // ---------------------------------------- counting
typedef struct {
    int64_t rows, per_row, bins;
    bool weighted, binary;
} Bins;

typedef struct {
    const float *p;
    int64_t n;
} Boundaries;

#define EACH_REAL
#include "ops/each_dtype.h"

// bins[row, value] += weight, of values inside the bins.
#define COUNT_INTO(T)                                                                        \
    do {                                                                                     \
        const T *weights = own->weighted ? k->in[2]->data : NULL;                            \
        T *bins = k->out[0]->data;                                                           \
        for (int64_t i = 0; i < own->rows * own->per_row; i++) {                             \
            int64_t value = tensor_int(k->in[0], i), at = i / own->per_row * own->bins + value; \
            if (value < own->bins)                                                           \
                bins[at] = own->binary ? (T)1 : (T)(bins[at] + (weights ? weights[i] : (T)1)); \
        }                                                                                    \
    } while (0)

static Status *count_run(Kernel *k) {
    const Bins *own = k->own;
    // Before anything is counted: numbers come from outside, and a negative one would write in front of the bins.
    for (int64_t i = 0; i < own->rows * own->per_row; i++)
        NEED(tensor_int(k->in[0], i) >= 0, INVALID_ARGUMENT, "Input arr must be non-negative!");
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    switch (k->out[0]->dtype) {
    case DT_int32: COUNT_INTO(int32_t); break;
    case DT_int64: COUNT_INTO(int64_t); break;
    case DT_float: COUNT_INTO(float); break;
    default: COUNT_INTO(double); break;
    }
    return OK;
}

static Status *bincount_shape(Shapes *s) {
    int64_t size = UNKNOWN_DIM;
    bool known = shapes_input_int(s, 1, &size), dense = node_attr_find(s->node, "binary_output") != NULL;
    const Shape *in = &s->in[0], *weights = &s->in[2];
    NEED(!known || size >= 0, INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)size);
    NEED(in->rank < 0 || !dense || in->rank <= 2, INVALID_ARGUMENT, "Shape must be at most rank 2 but is rank %d",
         in->rank);
    NEED(shape_count(weights) == 0 || shape_compatible(in, weights), INVALID_ARGUMENT,
         "weights must be the same shape as the input or have length 0: %s and %s", shape_text(weights),
         shape_text(in));
    if (dense && in->rank == 2)
        s->out[0] = SHAPE(in->dims[0], known ? size : UNKNOWN_DIM);
    else if (!dense || in->rank >= 0)
        s->out[0] = SHAPE(known ? size : UNKNOWN_DIM);
    return shape_check(&s->out[0]);
}

static Status *bincount_prepare(Prepare *p) {
    NEED_VALUE(p, 1);
    Bins *own = p->own;
    const Shape *in = &p->in[0]->shape;
    const AttrValue *binary = node_attr_find(p->node, "binary_output");
    bool rows = binary && in->rank == 2;
    *own = (Bins){.rows = rows ? in->dims[0] : 1, .per_row = rows ? in->dims[1] : shape_count(in),
                  .bins = prepare_input_int(p, 1, 0), .weighted = shape_count(&p->in[2]->shape) > 0,
                  .binary = binary && binary->b};
    p->cost = shape_count(in) * 2;
    return OK;
}

#define BINCOUNT .shape = bincount_shape, .prepare = bincount_prepare, .own_size = sizeof(Bins), \
    .cpu = ANY_TYPE(count_run), .host = BIT(1), .flags = OP_NO_GRADIENT
const Op op_Bincount = {
    .signature = "Bincount(arr: int32, size: int32, weights: T) -> bins: T; T: counted",
    .doc = "How often each number below size appears; each time counts as much as its weight.", .needs = "scalar(size)",
    BINCOUNT,
};
const Op op_DenseBincount = {
    .signature = "DenseBincount(input: Tidx, size: Tidx, weights: T) -> output: T; Tidx: {int32, int64}; "
                 "T: counted; binary_output: bool = false",
    .doc = "How often each number below size appears in each row; each time counts as much as its weight.",
    .needs = "scalar(size)", BINCOUNT,
};

// ---------------------------------------- counting by rows

static Status *rows_shape(Shapes *s) {
    int64_t size = UNKNOWN_DIM;
    bool ragged = s->n_in == 4;
    bool known = shapes_input_int(s, ragged ? 2 : 3, &size);
    NEED(!known || size >= 0, INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)size);
    const Shape *splits = &s->in[0];
    if (ragged) {
        NEED(splits->rank < 0 || splits->dims[0] != 0, INVALID_ARGUMENT, "Splits must be non-empty");
        s->out[0] = SHAPE(splits->rank < 0 || splits->dims[0] < 0 ? UNKNOWN_DIM : splits->dims[0] - 1,
                          known ? size : UNKNOWN_DIM);
    } else {
        Shape dense;
        TRY(shapes_input_shape(s, 2, &dense));
        if (dense.rank == 1)
            s->out[0] = SHAPE(known ? size : UNKNOWN_DIM);
        else if (dense.rank == 2)
            s->out[0] = SHAPE(dense.dims[0], known ? size : UNKNOWN_DIM);
        NEED(dense.rank < 3 && dense.rank != 0, INVALID_ARGUMENT, "Shape must be at most rank 2 but is rank %d",
             dense.rank);
    }
    return shape_check(&s->out[0]);
}

static Status *rows_prepare(Prepare *p) {
    const Tensor *weights = p->in[p->n_in - 1], *values = p->in[1];
    *(Bins *)p->own = (Bins){.weighted = shape_count(&weights->shape) > 0,
                             .binary = node_bool(p->node, "binary_output")};
    NEED(shape_count(&weights->shape) == 0 || shape_equal(&weights->shape, &values->shape), INVALID_ARGUMENT,
         "weights must be the same shape as the values or have length 0: %s and %s", shape_text(&weights->shape),
         shape_text(&values->shape));
    p->scratch = (size_t)shape_count(&values->shape) * sizeof(int64_t);
    return OK;
}

// bins[row of i, value i] += weight i. The row is -1 for what is left out.
#define COUNT_ROWS(T)                                                                    \
    for (int64_t i = 0; i < tensor_count(k->in[1]); i++) {                               \
        int64_t value = tensor_int(k->in[1], i);                                         \
        T *bin = (T *)k->out[0]->data + (rows[i] < 0 ? 0 : rows[i]) * size + value;      \
        if (value < size && rows[i] >= 0)                                                \
            *bin = own->binary ? (T)1 : (T)(*bin + (own->weighted ? ((const T *)weights)[i] : (T)1)); \
    }

static Status *count_rows(Kernel *k, const int64_t *rows) {
    const Bins *own = k->own;
    const Shape *shape = &k->out[0]->shape;
    const void *weights = k->in[k->n_in - 1]->data;
    int64_t size = shape->dims[shape->rank - 1];
    for (int64_t i = 0; i < tensor_count(k->in[1]); i++)
        NEED(tensor_int(k->in[1], i) >= 0, INVALID_ARGUMENT, "Input must be non-negative");
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    switch (k->out[0]->dtype) {
    case DT_int32: COUNT_ROWS(int32_t) break;
    case DT_int64: COUNT_ROWS(int64_t) break;
    case DT_float: COUNT_ROWS(float) break;
    default: COUNT_ROWS(double) break;
    }
    return OK;
}

static Status *ragged_run(Kernel *k) {
    const Tensor *splits = k->in[0];
    int64_t n = tensor_count(splits), values = tensor_count(k->in[1]), *rows = k->scratch;
    const int64_t *split = splits->data;
    NEED(split[0] == 0, INVALID_ARGUMENT, "Splits must start with 0, not with %lld", (long long)split[0]);
    NEED(split[n - 1] == values, INVALID_ARGUMENT,
         "Splits must end with the number of values, got %lld instead of %lld",
         (long long)split[n - 1], (long long)values);
    for (int64_t row = 0; row < n - 1; row++) {
        NEED(split[row] <= split[row + 1] && split[row + 1] <= values, INVALID_ARGUMENT, "Splits must ascend");
        for (int64_t i = split[row]; i < split[row + 1]; i++)
            rows[i] = row;
    }
    return count_rows(k, rows);
}

static Status *sparse_run(Kernel *k) {
    const Tensor *indices = k->in[0];
    const Shape *out = &k->out[0]->shape;
    int64_t *rows = k->scratch, values = tensor_count(k->in[1]);
    NEED(indices->shape.dims[0] == values && indices->shape.dims[1] == out->rank, INVALID_ARGUMENT,
         "indices of shape %s don't go with %lld values and a dense shape of %d extents", shape_text(&indices->shape),
         (long long)values, out->rank);
    for (int64_t i = 0; i < values; i++) {
        rows[i] = out->rank == 1 ? 0 : ((const int64_t *)indices->data)[2 * i];
        if (out->rank == 2 && (rows[i] < 0 || rows[i] >= out->dims[0]))
            KERNEL_INDEX_ERROR("indices", i, rows[i], out->dims[0]);
    }
    return count_rows(k, rows);
}

const Op op_RaggedBincount = {
    .signature = "RaggedBincount(splits: int64, values: Tidx, size: Tidx, weights: T) -> output: T; "
                 "Tidx: {int32, int64}; T: counted; binary_output: bool = false",
    .doc = "How often each number below size appears in each row; each time counts as much as its weight.",
    .needs = "scalar(size), vector(splits)", .shape = rows_shape, .prepare = rows_prepare, .own_size = sizeof(Bins),
    .cpu = ANY_TYPE(ragged_run), .host = BIT(2), .flags = OP_NO_GRADIENT,
};
const Op op_SparseBincount = {
    .signature = "SparseBincount(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, "
                 "weights: T) -> output: T; Tidx: {int32, int64}; T: counted; "
                 "binary_output: bool = false",
    .doc = "How often each number below size appears in each row; each time counts as much as its weight.",
    .needs = "scalar(size), matrix(indices), vector(values), vector(dense_shape)", .shape = rows_shape,
    .prepare = rows_prepare, .own_size = sizeof(Bins), .cpu = ANY_TYPE(sparse_run), .host = BIT(2) | BIT(3),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- finding

static Status *bound_shape(Shapes *s) {
    const Shape *sorted = &s->in[0], *values = &s->in[1];
    NEED(sorted->rank < 0 || values->rank < 0 || sorted->dims[0] < 0 || values->dims[0] < 0 ||
             sorted->dims[0] == values->dims[0],
         INVALID_ARGUMENT, "Leading dim_size of both tensors must match: %s and %s", shape_text(sorted),
         shape_text(values));
    s->out[0] = *values;
    return OK;
}

const Op op_LowerBound = {
    .signature = "LowerBound(sorted_inputs: T, values: T) -> output: out_type; T: type; "
                 "out_type: {int32, int64} = int32",
    .doc = "Where each value would be put in its sorted row, before equals.",
    .needs = "matrix(sorted_inputs), matrix(values)", .shape = bound_shape, .cpu = KERNELS(REALS, bound),
    .flags = OP_NO_GRADIENT,
};
const Op op_UpperBound = {
    .signature = "UpperBound(sorted_inputs: T, values: T) -> output: out_type; T: type; "
                 "out_type: {int32, int64} = int32",
    .doc = "Where each value would be put in its sorted row, behind equals.",
    .needs = "matrix(sorted_inputs), matrix(values)", .shape = bound_shape, .cpu = KERNELS(REALS, bound),
    .flags = OP_NO_GRADIENT, .row = "behind",
};

static Status *bucketize_prepare(Prepare *p) {
    const AttrValue *list = node_list(p->node, "boundaries");
    for (int i = 1; i < list->n; i++)
        NEED(list->fs[i - 1] <= list->fs[i], INVALID_ARGUMENT, "Expected sorted boundaries");
    *(Boundaries *)p->own = (Boundaries){list->fs, list->n};
    p->cost = shape_count(&p->in[0]->shape) * 4;
    return OK;
}

const Op op_Bucketize = {
    .signature = "Bucketize(input: T) -> output: int32; T: counted; boundaries: list(float)",
    .doc = "The number of the bucket that each element falls in.", .shape = shape_unchanged,
    .prepare = bucketize_prepare,
    .own_size = sizeof(Boundaries), .cpu = KERNELS(REALS, bucketize), .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- HistogramFixedWidth

static Status *histogram_shape(Shapes *s) {
    int64_t n = UNKNOWN_DIM;
    bool known = shapes_input_int(s, 2, &n);
    NEED(!known || n > 0, INVALID_ARGUMENT, "nbins should be a positive number, but got '%lld'", (long long)n);
    s->out[0] = SHAPE(n);
    return OK;
}

static double element(const Tensor *t, int64_t i) {
    switch (t->dtype) {
    case DT_float: return (double)((const float *)t->data)[i];
    case DT_double: return ((const double *)t->data)[i];
    default: return (double)tensor_int(t, i);
    }
}

static Status *histogram_run(Kernel *k) {
    double low = element(k->in[1], 0), high = element(k->in[1], 1);
    int64_t bins = tensor_count(k->out[0]);
    NEED(low < high, INVALID_ARGUMENT, "value_range should satisfy value_range[0] < value_range[1], but got '[%g, %g]'",
         low, high);
    NEED(isfinite(low) && isfinite(high), INVALID_ARGUMENT, "value_range should be finite, but got '[%g, %g]'", low,
         high);
    memset(k->out[0]->data, 0, tensor_bytes(k->out[0]));
    double step = (high - low) / (double)bins;
    for (int64_t i = 0; i < tensor_count(k->in[0]); i++) {
        double at = floor((element(k->in[0], i) - low) / step);
        NEED(at == at, INVALID_ARGUMENT, "values must not be NaN");
        int64_t bin = at < 0 ? 0 : at >= (double)bins ? bins - 1 : (int64_t)at;
        if (k->out[0]->dtype == DT_int32)
            ((int32_t *)k->out[0]->data)[bin]++;
        else
            ((int64_t *)k->out[0]->data)[bin]++;
    }
    return OK;
}

const Op op_HistogramFixedWidth = {
    .signature =
        "HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> out: dtype; T: counted; "
                 "dtype: {int32, int64} = int32",
    .doc = "How many values fall in each of equally wide bins; those outside count at the edges.",
    .needs = "vector(value_range), size(value_range) == 2, scalar(nbins)", .shape = histogram_shape,
    .cpu = ANY_TYPE(histogram_run), .host = BIT(2), .flags = OP_NO_GRADIENT,
};
#endif
