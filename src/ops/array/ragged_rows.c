// RaggedRange, RaggedGather, RaggedTensorToSparse — rows of different lengths: made, chosen, and as sparse elements.
#include "ops/array/moving.h"

static void put_int(const Tensor *t, int64_t i, int64_t value) {
    if (t->dtype == DT_int32)
        ((int32_t *)t->data)[i] = (int32_t)value;
    else
        ((int64_t *)t->data)[i] = value;
}

static Status *check_split(const Tensor *splits, int64_t value) {
    NEED(splits->dtype != DT_int32 || value <= INT32_MAX, INVALID_ARGUMENT,
         "Requires that all ragged values fit int32 splits, got %lld", (long long)value);
    return OK;
}

// ---------------------------------------- RaggedRange

static double real_at(const Tensor *t, int64_t i) {
    switch (t->dtype) {
    case DT_bfloat16: return (double)bfloat16_to_float(((const Bfloat16 *)t->data)[i]);
    case DT_float: return (double)((const float *)t->data)[i];
    default: return ((const double *)t->data)[i];
    }
}

// The steps from start to limit, in the arithmetic of the type: a quotient that double keeps below a whole number may
// reach it in float, and TensorFlow's row is then shorter or longer by one.
static double steps(double start, double limit, double delta, DType dtype) {
    if (dtype == DT_double)
        return (limit - start) / delta;
    float apart = (float)limit - (float)start;
    if (dtype == DT_float)
        return (double)(apart / (float)delta);
    apart = bfloat16_to_float(bfloat16_from_float(apart));
    return (double)bfloat16_to_float(bfloat16_from_float(apart / (float)delta));
}

// How many numbers a row has.
static Status *count_reals(double start, double limit, double delta, DType dtype, int64_t *out) {
    NEED(delta != 0, INVALID_ARGUMENT, "Requires delta != 0");
    bool some = delta > 0 ? start < limit : start > limit;
    double n = some ? ceil(fabs(steps(start, limit, delta, dtype))) : 0;
    NEED(n <= 9007199254740992.0, INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= 2^53, got %g", n);
    *out = (int64_t)n;
    return OK;
}

// In unsigned numbers: limit - start of two int64s may not fit in an int64, and -delta doesn't for the least one.
static Status *count_ints(int64_t start, int64_t limit, int64_t delta, int64_t *out) {
    NEED(delta != 0, INVALID_ARGUMENT, "Requires delta != 0");
    bool some = delta > 0 ? start < limit : start > limit;
    uint64_t apart = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : -(uint64_t)delta;
    uint64_t n = some && step ? apart / step + (apart % step != 0) : 0;
    NEED(n <= INT64_MAX, INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= int64's largest number");
    *out = (int64_t)n;
    return OK;
}

// Floating-point rows add delta again and again, as TensorFlow does, rather than multiply: the roundings pile up, and
// they must be the same ones. Integers are computed by multiplication, in unsigned arithmetic, which wraps.
static void fill_row(const Tensor *out, int64_t at, int64_t n, const Tensor *starts, int64_t s, const Tensor *deltas,
                     int64_t d) {
    for (int64_t i = 0; i < n; i++)
        switch (out->dtype) {
        case DT_int32:
        case DT_int64:
            put_int(out, at + i, (int64_t)((uint64_t)tensor_int(starts, s) + (uint64_t)i * (uint64_t)tensor_int(deltas, d)));
            break;
        case DT_bfloat16: {
            float before = i ? bfloat16_to_float(((Bfloat16 *)out->data)[at + i - 1]) + (float)real_at(deltas, d)
                             : (float)real_at(starts, s);
            ((Bfloat16 *)out->data)[at + i] = bfloat16_from_float(before);
            break;
        }
        case DT_float:
            ((float *)out->data)[at + i] = i ? ((float *)out->data)[at + i - 1] + (float)real_at(deltas, d)
                                             : (float)real_at(starts, s);
            break;
        default:
            ((double *)out->data)[at + i] = i ? ((double *)out->data)[at + i - 1] + real_at(deltas, d)
                                              : real_at(starts, s);
            break;
        }
}

static int64_t one_or(const Tensor *t, int64_t i) {
    return t->shape.rank == 0 ? 0 : i;
}

static Status *range_run(Kernel *k) {
    const Tensor *starts = k->in[0], *limits = k->in[1], *deltas = k->in[2];
    bool whole = starts->dtype == DT_int32 || starts->dtype == DT_int64;
    int64_t rows = 1, total = 0;
    for (int i = 2; i >= 0; i--)
        rows = k->in[i]->shape.rank ? k->in[i]->shape.dims[0] : rows;
    for (int i = 0; i < 3; i++)
        NEED(k->in[i]->shape.rank == 0 || k->in[i]->shape.dims[0] == rows, INVALID_ARGUMENT,
             "starts, limits, and deltas must have the same shape");
    TRY(kernel_output(k, 0, SHAPE(rows + 1)));
    put_int(k->out[0], 0, 0);
    for (int64_t i = 0; i < rows; i++) {
        int64_t s = one_or(starts, i), l = one_or(limits, i), d = one_or(deltas, i), n;
        if (whole)
            TRY(count_ints(tensor_int(starts, s), tensor_int(limits, l), tensor_int(deltas, d), &n));
        else
            TRY(count_reals(real_at(starts, s), real_at(limits, l), real_at(deltas, d), starts->dtype, &n));
        NEED(add_i64(total, n, &total), INVALID_ARGUMENT, "the rows have too many numbers");
        TRY(check_split(k->out[0], total));
        put_int(k->out[0], i + 1, total);
    }
    TRY(kernel_output(k, 1, SHAPE(total)));
    for (int64_t i = 0; i < rows; i++)
        fill_row(k->out[1], tensor_int(k->out[0], i), tensor_int(k->out[0], i + 1) - tensor_int(k->out[0], i), starts,
                 one_or(starts, i), deltas, one_or(deltas, i));
    return OK;
}

static Status *range_shape(Shapes *s) {
    int64_t rows = 1;
    for (int i = 0; i < 3; i++) {
        NEED(s->in[i].rank <= 1, INVALID_ARGUMENT, "starts, limits and deltas must be scalars or vectors, got %s",
             shape_text(&s->in[i]));
        if (s->in[i].rank < 0 && rows == 1)
            rows = UNKNOWN_DIM;
        else if (s->in[i].rank == 1)
            rows = s->in[i].dims[0];
    }
    s->out[0] = SHAPE(rows < 0 ? UNKNOWN_DIM : rows + 1);
    s->out[1] = SHAPE(UNKNOWN_DIM);
    return OK;
}

const Op op_RaggedRange = {
    .signature = "RaggedRange(starts: T, limits: T, deltas: T) -> rt_nested_splits: Tsplits, rt_dense_values: T; T: "
                 "{bfloat16, float, double, int32, int64} = int32; Tsplits: {int32, int64} = int64",
    .doc = "Rows of numbers, each from a start to a limit by a step.",
    .needs = "scalar_or_vector(starts), scalar_or_vector(limits), scalar_or_vector(deltas)", .shape = range_shape,
    .cpu = ANY_TYPE(range_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- splits

// Nested splits are sound: each begins with 0, ascends and ends with the rows of the next, the last with those of the values.
static Status *check_splits(Tensor *const *splits, int n, const Tensor *values) {
    NEED(values->shape.rank >= 1, INVALID_ARGUMENT, "the values of a ragged tensor have a dimension at least");
    for (int i = 0; i < n; i++) {
        int64_t size = tensor_count(splits[i]);
        int64_t below = i + 1 < n ? tensor_count(splits[i + 1]) - 1 : values->shape.dims[0];
        NEED(splits[i]->shape.rank == 1 && size > 0, INVALID_ARGUMENT, "Ragged splits may not be empty: %s",
             shape_text(&splits[i]->shape));
        NEED(tensor_int(splits[i], 0) == 0, INVALID_ARGUMENT, "First value of ragged splits must be 0.");
        for (int64_t j = 1; j < size; j++)
            NEED(tensor_int(splits[i], j) >= tensor_int(splits[i], j - 1), INVALID_ARGUMENT,
                 "Ragged splits should be non decreasing: split values must be sorted");
        NEED(tensor_int(splits[i], size - 1) == below, INVALID_ARGUMENT,
             "Final value of ragged splits must match the length the corresponding ragged values: %lld, not %lld; ragged "
             "splits must not point past values", (long long)below, (long long)tensor_int(splits[i], size - 1));
    }
    return OK;
}

// ---------------------------------------- RaggedGather

typedef struct {
    int64_t first, last;     // rows of the values
} Run;

// The lengths of rows below each chosen row go to the outputs from `level` on.
static Status *gather_level(Kernel *k, int depth, int level, const Run *runs, int64_t n, Run *below) {
    const Tensor *splits = k->in[depth];
    int64_t rows = 0, at = 0;
    for (int64_t i = 0; i < n; i++)
        rows += runs[i].last - runs[i].first;
    TRY(kernel_output(k, level, SHAPE(rows + 1)));
    put_int(k->out[level], 0, 0);
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t row = runs[i].first; row < runs[i].last; row++) {
            NEED(add_i64(total, tensor_int(splits, row + 1) - tensor_int(splits, row), &total), INVALID_ARGUMENT,
                 "too many values");
            TRY(check_split(k->out[level], total));
            put_int(k->out[level], ++at, total);
        }
        below[i] = (Run){tensor_int(splits, runs[i].first), tensor_int(splits, runs[i].last)};
    }
    return OK;
}

// The outer dimensions of the indices are uniform: their splits go in even steps.
static Status *gather_outer(Kernel *k, const Shape *indices) {
    int64_t rows = 1;
    for (int d = 0; d + 1 < indices->rank; d++) {
        rows *= indices->dims[d];
        TRY(kernel_output(k, d, SHAPE(rows + 1)));
        for (int64_t i = 0; i <= rows; i++) {
            int64_t at;
            NEED(mul_i64(i, indices->dims[d + 1], &at), INVALID_ARGUMENT, "too many values");
            TRY(check_split(k->out[d], at));
            put_int(k->out[d], i, at);
        }
    }
    return OK;
}

static Status *gather_values(Kernel *k, const Run *runs, int64_t n, const Tensor *values) {
    Shape shape = values->shape;
    int64_t row = shape_span(&shape, 1, shape.rank), to = 0;
    shape.dims[0] = 0;
    for (int64_t i = 0; i < n; i++)
        NEED(add_i64(shape.dims[0], runs[i].last - runs[i].first, &shape.dims[0]), INVALID_ARGUMENT, "too many values");
    TRY(shape_check(&shape));
    TRY(kernel_output(k, k->n_out - 1, shape));
    const Tensor *out = k->out[k->n_out - 1];
    size_t bytes = (size_t)row * dtype_size(values->dtype);
    for (int64_t i = 0; i < n; i++) {
        int64_t rows = runs[i].last - runs[i].first;
        if (dtype_is_plain(values->dtype))
            memcpy((char *)out->data + (size_t)to * bytes, (const char *)values->data + (size_t)runs[i].first * bytes,
                   (size_t)rows * bytes);
        for (int64_t j = 0; j < rows * row && !dtype_is_plain(values->dtype); j++)
            TRY(element_copy(values, runs[i].first * row + j, out, to * row + j));
        to += rows;
    }
    return OK;
}

static Status *gather_run(Kernel *k) {
    int n_splits = k->n_in - 2;
    const Tensor *values = k->in[n_splits], *indices = k->in[n_splits + 1];
    int64_t n = tensor_count(indices), rows = tensor_count(k->in[0]) - 1;
    AUTO(arena) Arena arena = {0};
    Run *runs = ARENA_ARRAY(&arena, Run, n + 1);
    NEED_MEMORY(runs);
    NEED(indices->shape.rank >= 1 || k->n_out == n_splits, INVALID_ARGUMENT, "indices of rank %d for %d splits",
         indices->shape.rank, k->n_out - 1);
    NEED(k->n_out - 1 == n_splits + indices->shape.rank - 1, INVALID_ARGUMENT,
         "OUTPUT_RAGGED_RANK must be PARAMS_RAGGED_RANK + rank of indices - 1: %d, not %d",
         n_splits + indices->shape.rank - 1, k->n_out - 1);
    TRY(check_splits(k->in, n_splits, values));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = tensor_int(indices, i);
        if (at < 0 || at >= rows)
            KERNEL_INDEX_ERROR("indices", i, at, rows);
        runs[i] = (Run){at, at + 1};
    }
    TRY(gather_outer(k, &indices->shape));
    int outer = indices->shape.rank - 1;
    // A single index drops the first dimension: what it has becomes the outermost rows.
    for (int depth = 0; depth < n_splits; depth++) {
        if (outer + depth >= 0)
            TRY(gather_level(k, depth, outer + depth, runs, n, runs));
        else
            for (int64_t i = 0; i < n; i++)
                runs[i] = (Run){tensor_int(k->in[0], runs[i].first), tensor_int(k->in[0], runs[i].last)};
    }
    return gather_values(k, runs, n, values);
}

static Status *gather_shape(Shapes *s) {
    for (int i = 0; i + 1 < s->n_out; i++)
        s->out[i] = SHAPE(UNKNOWN_DIM);
    Shape values = s->in[s->n_in - 2];
    if (values.rank >= 1)
        values.dims[0] = UNKNOWN_DIM;
    s->out[s->n_out - 1] = values;
    return OK;
}

// Rows of the gradient belong to the values that the chosen rows hold. Splits composed level by level give the first
// and the last value of each chosen row, and RaggedRange lists the numbers between: the indices of an IndexedSlices.
static void gather_grad(Formula *f) {
    int n = f->n_x - 2;
    Output ends = f->x[0], flat = Reshape(f->x[n + 1], Ints(-1));
    for (int i = 1; i < n; i++)
        ends = Gather(f->x[i], ends, Int(0));
    Output range = OpWith("RaggedRange", ATTRS(TYPE_ATTR("Tsplits", DT_int64)), Gather(ends, flat, Int(0)),
                          Gather(Slice(ends, Ints(1), Ints(-1)), flat, Int(0)), Scalar(1, ends));
    f->dx[n] = f->dy[f->n_y - 1];
    f->dx_indices[n] = At(range, 1);
    f->dx_shape[n] = formula_shape(f, f->x[n], output_type(ends));
}

const Op op_RaggedGather = {
    .signature = "RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues, indices: "
                 "Tindices) -> output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, output_dense_values: Tvalues; Tvalues: "
                 "type; Tindices: {int32, int64}; Tsplits: {int32, int64} = int64; PARAMS_RAGGED_RANK: int >= 1; "
                 "OUTPUT_RAGGED_RANK: int >= 0",
    .doc = "The rows of a ragged tensor that indices name.", .needs = "rank(params_dense_values) >= 1",
    .shape = gather_shape, .grad = gather_grad, .cpu = ANY_TYPE(gather_run), .flags = OP_DYNAMIC_SHAPE,
};

// ---------------------------------------- RaggedTensorToSparse

// The coordinates of each row of the values: which row of every level it lies in, and where there. Rows of the values
// come in order, so at each level the current row only moves on: one pass over all splits.
static void put_coordinates(Kernel *k, int n, const Shape *values, int64_t inner) {
    int64_t *indices = k->out[0]->data, rank = k->out[0]->shape.dims[1];
    int64_t at[32] = {0};    // the row of each level that is being passed
    for (int64_t v = 0; v < values->dims[0]; v++) {
        int64_t below = v;
        int64_t outer[32];
        for (int level = n - 1; level >= 0; level--) {
            while (tensor_int(k->in[level], at[level] + 1) <= below)
                at[level]++;
            outer[level + 1] = below - tensor_int(k->in[level], at[level]);
            below = at[level];
        }
        outer[0] = below;
        for (int64_t i = 0; i < inner; i++) {
            int64_t *row = indices + (v * inner + i) * rank, rest = i;
            memcpy(row, outer, (size_t)(n + 1) * sizeof *row);
            for (int d = values->rank - 1; d >= 1; d--) {
                row[n + d] = rest % values->dims[d];
                rest /= values->dims[d];
            }
        }
    }
}

static Status *to_sparse_run(Kernel *k) {
    int n = k->n_in - 1;
    const Tensor *values = k->in[n];
    int64_t rank = n + values->shape.rank, inner = shape_span(&values->shape, 1, values->shape.rank);
    NEED(n < 32, INVALID_ARGUMENT, "a ragged tensor of %d levels", n);
    TRY(check_splits(k->in, n, values));
    int64_t count = tensor_count(values);
    TRY(kernel_output(k, 0, SHAPE(count, rank)));
    TRY(kernel_output(k, 1, SHAPE(count)));
    TRY(kernel_output(k, 2, SHAPE(rank)));
    if (count)
        put_coordinates(k, n, &values->shape, inner);
    Tensor flat = *values;
    flat.shape = SHAPE(count);
    TRY(tensor_copy_elements(&flat, k->out[1]));
    int64_t *dims = k->out[2]->data;
    dims[0] = tensor_count(k->in[0]) - 1;
    for (int level = 0; level < n; level++) {
        dims[level + 1] = 0;
        for (int64_t i = 1; i < tensor_count(k->in[level]); i++)
            dims[level + 1] = max_i64(dims[level + 1], tensor_int(k->in[level], i) - tensor_int(k->in[level], i - 1));
    }
    for (int d = 1; d < values->shape.rank; d++)
        dims[n + d] = values->shape.dims[d];
    return OK;
}

static Status *to_sparse_shape(Shapes *s) {
    const Shape *values = &s->in[s->n_in - 1];
    int64_t count = shape_count(values), rank = values->rank < 0 ? UNKNOWN_DIM : values->rank + s->n_in - 1;
    s->out[0] = SHAPE(count, rank);
    s->out[1] = SHAPE(count);
    s->out[2] = SHAPE(rank);
    return OK;
}

static void to_sparse_grad(Formula *f) {
    f->dx[f->n_x - 1] = ReshapeLike(f->dy[1], f->x[f->n_x - 1]);
}

const Op op_RaggedTensorToSparse = {
    .signature = "RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: T) -> sparse_indices: "
                 "int64, sparse_values: T, sparse_dense_shape: int64; RAGGED_RANK: int >= 1; T: type; Tsplits: {int32, "
                 "int64} = int64",
    .doc = "A ragged tensor as a sparse one.", .needs = "rank(rt_dense_values) >= 1", .shape = to_sparse_shape,
    .grad = to_sparse_grad, .cpu = ANY_TYPE(to_sparse_run), .flags = OP_DYNAMIC_SHAPE,
};
