// Accumulator — see accumulator.h: gradients of several replicas summed until somebody takes their mean
// (tf.train.SyncReplicasOptimizer).
//
// A gradient computed before the accumulator's step is stale and dropped without an error, as in TensorFlow. A sparse
// sum keeps its rows in ascending order and merges each gradient's into them; rows that two gradients share are added.
#include "resource/accumulator.h"

#include <stdlib.h>

#include "base/checked.h"
#include "resource/wait_list.h"

struct Accumulator {
    Resource resource;
    AccumulatorSpec spec;
    WaitList takes;        // its lock guards the rest
    int64_t step, count;   // gradients in the sum
    Tensor sum;            // nothing while count is 0; of a sparse one [rows, ...]
    int64_t *rows;         // sparse: which row each of the sum's is, and how many gradients had it
    int64_t *row_counts;
};

enum { PARTS_MOST = 3 };

typedef struct {
    Wait wait;             // holds a reference to the accumulator
    int64_t required;
    Tensor parts[PARTS_MOST];
    AccumulatorDone *done;
    void *arg;
} Take;

// ---- the sum

static void forget(Accumulator *a) {
    tensor_clear(&a->sum);
    free(a->rows);
    free(a->row_counts);
    a->rows = a->row_counts = NULL;
    a->count = 0;
}

static int64_t row_size(const Tensor *values) {
    return shape_span(&values->shape, 1, values->shape.rank);
}

static void *row_at(const Accumulator *a, const Tensor *values, int64_t i) {
    return (char *)values->data + (size_t)(i * row_size(values)) * dtype_size(a->spec.dtype);
}

// The mean of a sparse row is over the gradients that had that row, not over all: TensorFlow's rule.
static void reduce(Accumulator *a) {
    if (!a->spec.mean)
        return;
    if (!a->spec.sparse) {
        a->spec.math->divide(a->sum.data, a->count, tensor_count(&a->sum));
        return;
    }
    for (int64_t i = 0; i < a->sum.shape.dims[0]; i++)
        a->spec.math->divide(row_at(a, &a->sum, i), a->row_counts[i], row_size(&a->sum));
}

// Indices and shape of a sparse sum.
static Status *describe(const Accumulator *a, Tensor *out_indices, Tensor *out_shape) {
    const Shape *shape = &a->sum.shape;
    AUTO(tensor) Tensor indices = {0};
    TRY(tensor_new(DT_int64, SHAPE(shape->dims[0]), &indices));
    TRY(tensor_new(DT_int64, SHAPE(shape->rank), out_shape));
    memcpy(indices.data, a->rows, tensor_bytes(&indices));
    memcpy(out_shape->data, shape->dims, tensor_bytes(out_shape));
    *(int64_t *)out_shape->data = a->spec.shape.rank > 0 ? a->spec.shape.dims[0] : -1;
    *out_indices = tensor_retain(&indices);
    return OK;
}

// Under the list's lock. Taking ends the step: later gradients must be of the next one.
static bool serve_take(void *owner, Wait *wait) {
    Accumulator *a = owner;
    Take *take = (Take *)wait;
    if (a->count < take->required)
        return false;
    if (a->spec.sparse)
        wait->status = describe(a, &take->parts[0], &take->parts[2]);
    if (wait->status)
        return true;
    reduce(a);
    take->parts[a->spec.sparse] = tensor_retain(&a->sum);
    forget(a);
    a->step++;
    return true;
}

static void finish_take(void *owner, Wait *wait) {
    Take *take = (Take *)wait;
    take->done(take->arg, wait->status, wait->status ? NULL : take->parts);
    resource_release(owner);
    free(take);
}

// ---- the resource

static void clear(Resource *resource) {
    Accumulator *a = (Accumulator *)resource;
    forget(a);
    wait_list_clear(&a->takes);
}

static Status *dropped_status(const Accumulator *a) {
    FAIL(CANCELLED, "Accumulator '%.*s' was dropped", STR_ARGS(a->resource.name));
}

// Out of its table nobody can feed it: those that wait are told.
static void drop(Resource *resource) {
    Accumulator *a = (Accumulator *)resource;
    wait_list_lock(&a->takes);
    forget(a);
    wait_list_close(&a->takes, dropped_status(a));
    wait_list_unlock(&a->takes);
}

const ResourceType accumulator_type = {"ConditionalAccumulator", sizeof(Accumulator), clear, drop};

Status *accumulator_new(const AccumulatorSpec *spec, Accumulator **out) {
    Resource *resource;
    TRY(resource_new(&accumulator_type, &resource));
    Accumulator *a = (Accumulator *)resource;
    a->spec = *spec;
    wait_list_init(&a->takes, a, "TakeGrad");
    a->takes.in_turn = true;
    a->takes.serve = serve_take;
    a->takes.finish = finish_take;
    *out = a;
    return OK;
}

Accumulator *accumulator_of(Resource *resource) {
    return resource->type == &accumulator_type ? (Accumulator *)resource : NULL;
}

// A shared name must mean the same; what the first one asked for counts.
Status *accumulator_check_spec(const Accumulator *a, const AccumulatorSpec *spec) {
    Str name = a->resource.name;
    NEED(spec->sparse == a->spec.sparse && spec->mean == a->spec.mean, INVALID_ARGUMENT,
         "Shared conditional accumulator '%.*s' is of another kind than requested", STR_ARGS(name));
    NEED(spec->dtype == a->spec.dtype, INVALID_ARGUMENT,
         "Shared conditional accumulator '%.*s' has type %s but requested type was %s", STR_ARGS(name),
         dtype_name(a->spec.dtype), dtype_name(spec->dtype));
    NEED(shape_equal(&spec->shape, &a->spec.shape), INVALID_ARGUMENT,
         "Shared conditional accumulator '%.*s' has shape %s but requested shape was %s", STR_ARGS(name),
         shape_text(&a->spec.shape), shape_text(&spec->shape));
    return OK;
}

Status *accumulator_check(const Accumulator *a, DType dtype, bool sparse) {
    NEED(dtype == a->spec.dtype, INVALID_ARGUMENT, "the accumulator is of type %s, expected %s",
         dtype_name(a->spec.dtype), dtype_name(dtype));
    NEED(sparse == a->spec.sparse, INVALID_ARGUMENT, "the accumulator is %s, expected a %s one",
         a->spec.sparse ? "sparse" : "dense", sparse ? "sparse" : "dense");
    return OK;
}

// ---- dense gradients

static Status *add_dense(Accumulator *a, const Tensor *gradient) {
    const Shape *shape = &gradient->shape;
    NEED(!a->count || shape_equal(&a->sum.shape, shape), INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s",
         shape_text(&a->sum.shape), shape_text(shape));
    NEED(shape_compatible(&a->spec.shape, shape), INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s",
         shape_text(&a->spec.shape), shape_text(shape));
    // The first gradient is copied: its buffer is the step's.
    if (a->count)
        a->spec.math->add(a->sum.data, gradient->data, tensor_count(gradient));
    else
        TRY(tensor_copy(gradient, &a->sum));
    a->count++;
    return OK;
}

Status *accumulator_apply(Accumulator *a, int64_t step, const Tensor *gradient) {
    wait_list_lock(&a->takes);
    Status *status = step >= a->step ? add_dense(a, gradient) : OK;
    wait_list_unlock(&a->takes);
    return status;
}

// ---- sparse gradients

static Status *check_whole(const Shape *expected, const Tensor *shape) {
    NEED(shape->shape.rank == 1, INVALID_ARGUMENT, "gradient_shape must be a vector, got shape %s",
         shape_text(&shape->shape));
    int64_t rank = tensor_count(shape);
    NEED(expected->rank <= rank, INVALID_ARGUMENT, "Shape mismatch: expected shape rank at least %d, got %lld",
         (int)expected->rank, (long long)rank);
    for (int i = 0; i < expected->rank; i++)
        NEED(expected->dims[i] == UNKNOWN_DIM || expected->dims[i] == tensor_int(shape, i), INVALID_ARGUMENT,
             "Shape mismatch: expected shape dim %d to be %lld, got %lld", i, (long long)expected->dims[i],
             (long long)tensor_int(shape, i));
    return OK;
}

static Status *check_indices(const Shape *expected, const Tensor *indices) {
    int64_t limit = expected->rank > 0 ? expected->dims[0] : UNKNOWN_DIM;
    for (int64_t i = 0; i < tensor_count(indices); i++) {
        int64_t row = tensor_int(indices, i);
        NEED(row >= 0, INVALID_ARGUMENT, "index of slice %lld is negative: %lld", (long long)i, (long long)row);
        NEED(limit == UNKNOWN_DIM || row < limit, INVALID_ARGUMENT,
             "Shape mismatch: index of slice %lld exceeded limits of shape; index is %lld exceeded %lld", (long long)i,
             (long long)row, (long long)limit);
    }
    return OK;
}

// `least`: the values may have more extents than expected.
static Status *check_rows(const Shape *expected, bool least, const Shape *values) {
    NEED(expected->rank == values->rank || (least && expected->rank < values->rank), INVALID_ARGUMENT,
         "Shape mismatch: expected values rank %s%d, got %d", least ? "at least " : "", (int)expected->rank,
         (int)values->rank);
    for (int i = 1; i < expected->rank; i++)
        NEED(expected->dims[i] == UNKNOWN_DIM || expected->dims[i] == values->dims[i], INVALID_ARGUMENT,
             "Shape mismatch: expected values dim %d to be %lld, got %lld", i, (long long)expected->dims[i],
             (long long)values->dims[i]);
    return OK;
}

static Status *check_sparse(const Accumulator *a, SparseGradient gradient) {
    const Shape *indices = &gradient.indices->shape, *values = &gradient.values->shape;
    NEED(indices->rank == 1, INVALID_ARGUMENT, "gradient_indices must be a vector, got shape %s", shape_text(indices));
    NEED(values->rank > 0 && values->dims[0] == indices->dims[0], INVALID_ARGUMENT,
         "gradient_values of shape %s do not go with %lld gradient_indices", shape_text(values),
         (long long)indices->dims[0]);
    if (gradient.shape)
        TRY(check_whole(&a->spec.shape, gradient.shape));
    TRY(check_indices(&a->spec.shape, gradient.indices));
    return a->count ? check_rows(&a->sum.shape, false, values) : check_rows(&a->spec.shape, true, values);
}

typedef struct {
    int64_t *rows, *counts, n;
    Tensor values;
} Merge;

static void merge_clear(Merge *merge) {
    tensor_clear(&merge->values);
    free(merge->rows);
    free(merge->counts);
}

// How many rows two ascending lists have together.
// Counted first, so that the merged sum is allocated once and in full.
static int64_t count_merged(const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b) {
    int64_t i = 0, j = 0, n = 0;
    for (; i < n_a && j < n_b; n++) {
        int64_t x = a[i], y = b[j];
        i += x <= y;
        j += y <= x;
    }
    return n + n_a - i + n_b - j;
}

static Status *merge_new(const Tensor *like, int64_t n, Merge *out) {
    Shape shape = like->shape;
    shape.dims[0] = n;
    TRY(shape_check(&shape));
    out->n = n;
    out->rows = calloc((size_t)n + 1, sizeof *out->rows);
    out->counts = calloc((size_t)n + 1, sizeof *out->counts);
    NEED_MEMORY(out->rows && out->counts);
    return tensor_new(like->dtype, shape, &out->values);
}

static void merge_rows(const Accumulator *a, SparseGradient gradient, int64_t n_old, Merge *out) {
    const int64_t *more = gradient.indices->data;
    int64_t n_more = tensor_count(gradient.indices), width = row_size(gradient.values), i = 0, j = 0;
    size_t bytes = (size_t)width * dtype_size(a->spec.dtype);
    for (int64_t to = 0; to < out->n; to++) {
        bool old = i < n_old && (j >= n_more || a->rows[i] <= more[j]);
        bool new = j < n_more && (i >= n_old || more[j] <= a->rows[i]);
        void *row = row_at(a, &out->values, to);
        out->rows[to] = old ? a->rows[i] : more[j];
        out->counts[to] = (old ? a->row_counts[i] : 0) + new;
        memcpy(row, old ? row_at(a, &a->sum, i) : row_at(a, gradient.values, j), bytes);
        if (old && new)
            a->spec.math->add(row, row_at(a, gradient.values, j), width);
        i += old;
        j += new;
    }
}

static Status *add_sparse(Accumulator *a, SparseGradient gradient) {
    TRY(check_sparse(a, gradient));
    int64_t n_old = a->count ? a->sum.shape.dims[0] : 0, n_more = tensor_count(gradient.indices);
    Merge merge = {0};
    Status *status =
        merge_new(gradient.values, count_merged(a->rows, n_old, gradient.indices->data, n_more), &merge);
    if (status) {
        merge_clear(&merge);
        return status;
    }
    merge_rows(a, gradient, n_old, &merge);
    int64_t count = a->count + 1;
    forget(a);
    a->sum = merge.values;
    a->rows = merge.rows;
    a->row_counts = merge.counts;
    a->count = count;
    return OK;
}

Status *accumulator_apply_sparse(Accumulator *a, int64_t step, SparseGradient gradient) {
    wait_list_lock(&a->takes);
    Status *status = step >= a->step ? add_sparse(a, gradient) : OK;
    wait_list_unlock(&a->takes);
    return status;
}

// ---- taking and asking

void accumulator_take(Accumulator *a, int64_t required, Cancellation *cancellation, AccumulatorDone *done, void *arg) {
    Take *take = required > 0 ? calloc(1, sizeof *take) : NULL;
    if (!take) {
        done(arg, required > 0 ? OUT_OF_MEMORY
                               : status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                            "Argument num_required must be positive, but got %lld",
                                            (long long)required), NULL);
        return;
    }
    take->required = required;
    take->done = done;
    take->arg = arg;
    resource_retain(&a->resource);
    wait_list_add(&a->takes, &take->wait, cancellation);
}

void accumulator_set_step(Accumulator *a, int64_t step) {
    wait_list_lock(&a->takes);
    a->step = step;
    wait_list_unlock(&a->takes);
}

int64_t accumulator_count(Accumulator *a) {
    wait_list_lock(&a->takes);
    int64_t count = a->count;
    wait_list_unlock(&a->takes);
    return count;
}
