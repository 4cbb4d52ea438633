// Rebatch — batches cut into others: each for so many replicas, or to sizes that come in turn.
#include "ops/data/dataset_op.h"

// ---------------------------------------- for replicas

typedef struct {
    Dataset dataset;
    int64_t replicas;
} SharedDataset;

typedef struct {
    Source source;
    Tensor *batch;
    int64_t at;            // which replica comes next; 0: of a new batch
} SharedSource;

static Status *shared_fill(Kernel *k, Dataset *dataset) {
    SharedDataset *own = (SharedDataset *)dataset;
    TRY(dataset_int(k, "num_replicas", &own->replicas));
    NEED(own->replicas > 0, INVALID_ARGUMENT, "num_replicas must be greater than zero.");
    return OK;
}

static int64_t shared_cardinality(const Dataset *dataset) {
    int64_t n = dataset_cardinality(dataset->inputs[0]), all;
    return n <= 0 ? n : __builtin_mul_overflow(n, ((const SharedDataset *)dataset)->replicas, &all) ? CARDINALITY_UNKNOWN : all;
}

static Status *shared_open(Source *source) {
    SharedSource *from = (SharedSource *)source;
    from->batch = tuple_new(source->dataset->n_components);
    NEED_MEMORY(from->batch);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void shared_close(Source *source) {
    SharedSource *from = (SharedSource *)source;
    if (from->batch)
        tuple_clear(from->batch, source->dataset->n_components);
    free(from->batch);
}

// Rows [first, last) of a tensor, in a buffer of their own.
static Status *rows_of(const Tensor *from, int64_t first, int64_t last, Tensor *out) {
    Tensor rows = *from;
    rows.shape.dims[0] = last - first;
    rows.data = (char *)from->data + (size_t)first * (size_t)shape_span(&from->shape, 1, from->shape.rank) * dtype_size(from->dtype);
    rows.buffer = NULL;
    return tensor_copy(&rows, out);
}

static Status *check_rank(Tensor *batch, int n) {
    for (int i = 0; i < n; i++)
        NEED(batch[i].shape.rank > 0, INVALID_ARGUMENT,
             "Cannot rebatch dataset: All components must have at least one dimension. Perhaps your input dataset is not "
             "batched? Component %d is scalar.", i);
    for (int i = 1; i < n; i++)
        NEED(batch[i].shape.dims[0] == batch[0].shape.dims[0], INVALID_ARGUMENT,
             "Cannot rebatch dataset: All components must have the same batch size: %lld and %lld",
             (long long)batch[0].shape.dims[0], (long long)batch[i].shape.dims[0]);
    return OK;
}

static Status *shared_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    SharedSource *from = (SharedSource *)source;
    int n = source->dataset->n_components;
    int64_t replicas = ((const SharedDataset *)source->dataset)->replicas;
    if (!from->at) {
        tuple_clear(from->batch, n);
        TRY_NEXT(source->input, pull, from->batch, how);
        if (*how == PULLED_END)
            return OK;
        TRY(check_rank(from->batch, n));
    }
    for (int i = 0; i < n; i++) {
        int64_t rows = from->batch[i].shape.dims[0], each = div_up(rows, replicas);
        int64_t first = from->at > rows / (each ? each : 1) ? rows : min_i64(rows, from->at * each);
        Status *status = rows_of(&from->batch[i], first, min_i64(rows, first + each), &out[i]);
        if (status) {
            tuple_clear(out, i);
            return status;
        }
    }
    from->at = from->at + 1 == replicas ? 0 : from->at + 1;
    return pulled(how);
}

static Status *shared_position(Source *source, Position *p) {
    SharedSource *from = (SharedSource *)source;
    const Dataset *dataset = source->dataset;
    TRY(position_int(p, &from->at, 0, ((const SharedDataset *)dataset)->replicas - 1));
    TRY(position_tuple(p, from->batch, dataset->n_components, dataset->dtypes));
    NEED(!from->at || from->batch[0].dtype != DT_INVALID, DATA_LOSS, "the state of a rebatch is damaged");
    if (from->at)
        TRY(check_rank(from->batch, dataset->n_components));
    return position_source(p, source->input);
}

static const DatasetType shared_type = {
    .name = "Rebatch", .size = sizeof(SharedDataset), .source_size = sizeof(SharedSource), .n_inputs = 1, .fill = shared_fill,
    .cardinality = shared_cardinality, .open = shared_open, .next = shared_next, .close = shared_close,
    .position = shared_position,
};

const Op op_RebatchDataset = {
    .signature = "RebatchDataset(input_dataset: variant, num_replicas: int64) -> handle: variant; " ELEMENTS
                 "; use_fallback: bool = true",
    .doc = "A dataset of batches cut into num_replicas parts each; the last may be smaller, or empty.",
    .needs = "scalar(num_replicas)", MAKES(shared_type),
};

// ---------------------------------------- to sizes in turn

typedef struct {
    Dataset dataset;
    const int64_t *sizes;
    int64_t n_sizes;
    bool drops;
} SizesDataset;

typedef struct {
    Source source;
    Tuples rows;           // batches of the input; of the first, `used` rows are gone
    int64_t used, n;       // n: rows that are left in all
    int64_t at;            // which size comes next
    Tensor *element;
    bool ended;
} SizesSource;

static Status *sizes_fill(Kernel *k, Dataset *dataset) {
    SizesDataset *own = (SizesDataset *)dataset;
    int64_t drops;
    const Tensor *sizes = k->in[1];
    NEED(sizes->shape.rank <= 1, INVALID_ARGUMENT, "`batch_sizes` must be a scalar or a vector.");
    own->n_sizes = tensor_count(sizes);
    NEED(own->n_sizes > 0, INVALID_ARGUMENT, "`batch_sizes` must have an element at least.");
    int64_t *copy = ARENA_ARRAY(&dataset->arena, int64_t, own->n_sizes), sum = 0;
    NEED_MEMORY(copy);
    for (int64_t i = 0; i < own->n_sizes; i++) {
        copy[i] = tensor_int(sizes, i);
        NEED(copy[i] >= 0 && add_i64(sum, copy[i], &sum), INVALID_ARGUMENT, "`batch_sizes` must not be negative, got %lld",
             (long long)copy[i]);
    }
    NEED(sum > 0, INVALID_ARGUMENT, "`batch_sizes` are all zero");
    own->sizes = copy;
    TRY(dataset_int(k, "drop_remainder", &drops));
    own->drops = drops;
    NEED(dataset->n_components == dataset->inputs[0]->n_components, INVALID_ARGUMENT, "elements of %d components of elements of %d",
         dataset->n_components, dataset->inputs[0]->n_components);
    return OK;
}

static int64_t sizes_cardinality(const Dataset *dataset) {
    int64_t n = dataset_cardinality(dataset->inputs[0]);
    return n == 0 || n == CARDINALITY_INFINITE ? n : CARDINALITY_UNKNOWN;
}

static Status *sizes_open(Source *source) {
    SizesSource *from = (SizesSource *)source;
    from->rows.width = source->dataset->n_components;
    from->element = tuple_new(from->rows.width);
    NEED_MEMORY(from->element);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void sizes_close(Source *source) {
    SizesSource *from = (SizesSource *)source;
    tuples_clear(&from->rows);
    free(from->element);
}

static Status *take_batch(SizesSource *from) {
    int n = from->rows.width;
    Status *status = check_rank(from->element, n);
    if (status) {
        tuple_clear(from->element, n);
        return status;
    }
    from->n += from->element[0].shape.dims[0];
    return tuples_push(&from->rows, from->element);
}

// The shape of the rows of component c; all batches must agree.
static Status *rows_shape(const SizesSource *from, int c, int64_t rows, Shape *out) {
    *out = tuples_at(&from->rows, 0)[c].shape;
    for (size_t b = 1; b < tuples_count(&from->rows); b++) {
        const Shape *other = &tuples_at(&from->rows, b)[c].shape;
        NEED(other->rank == out->rank && !memcmp(other->dims + 1, out->dims + 1, (size_t)(out->rank - 1) * sizeof(int64_t)),
             INVALID_ARGUMENT, "Cannot rebatch: batches of shapes %s and %s", shape_text(out), shape_text(other));
    }
    out->dims[0] = rows;
    return shape_check(out);
}

static Status *gather(const SizesSource *from, int c, int64_t rows, Tensor *out) {
    Shape shape;
    AUTO(tensor) Tensor batch = {0};
    int64_t skipped = from->used, to = 0;
    TRY(rows_shape(from, c, rows, &shape));
    TRY(tensor_new(tuples_at(&from->rows, 0)[c].dtype, shape, &batch));
    size_t row = (size_t)shape_span(&shape, 1, shape.rank) * dtype_size(batch.dtype);
    for (size_t b = 0; to < rows; b++, skipped = 0) {
        Tensor part = tuples_at(&from->rows, b)[c], into = batch;
        int64_t n = min_i64(part.shape.dims[0] - skipped, rows - to);
        NEED(part.dtype == batch.dtype, INVALID_ARGUMENT, "a batch of type %s among %s", dtype_name(part.dtype), dtype_name(batch.dtype));
        part.data = (char *)part.data + (size_t)skipped * row;
        into.data = (char *)batch.data + (size_t)to * row;
        part.shape.dims[0] = into.shape.dims[0] = n;
        TRY(tensor_copy_elements(&part, &into));
        to += n;
    }
    *out = tensor_retain(&batch);
    return OK;
}

static void use(SizesSource *from, int64_t rows) {
    size_t gone = 0;
    from->n -= rows;
    from->used += rows;
    while (gone < tuples_count(&from->rows) && from->used >= tuples_at(&from->rows, gone)[0].shape.dims[0])
        from->used -= tuples_at(&from->rows, gone++)[0].shape.dims[0];
    tuples_drop(&from->rows, gone);
}

static Status *sizes_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    SizesSource *from = (SizesSource *)source;
    const SizesDataset *own = (const SizesDataset *)source->dataset;
    int64_t wanted = own->sizes[from->at];
    while (!from->ended && (from->n < wanted || (!wanted && !from->n))) {
        TRY_NEXT(source->input, pull, from->element, how);
        from->ended = *how == PULLED_END;
        if (!from->ended)
            TRY(take_batch(from));
    }
    if (!from->n || (from->n < wanted && own->drops))
        return pulled_end(how);
    int64_t rows = min_i64(wanted, from->n);
    for (int c = 0; c < from->rows.width; c++) {
        Status *status = gather(from, c, rows, &out[c]);
        if (status) {
            tuple_clear(out, c);
            return status;
        }
    }
    use(from, rows);
    from->at = (from->at + 1) % own->n_sizes;  // not zero
    return pulled(how);
}

static Status *sizes_position(Source *source, Position *p) {
    SizesSource *from = (SizesSource *)source;
    const Dataset *dataset = source->dataset;
    int64_t n = 0;
    TRY(position_tuples(p, &from->rows, dataset->inputs[0]->dtypes, false));
    for (size_t i = 0; i < tuples_count(&from->rows); i++) {
        TRY(check_rank(tuples_at(&from->rows, i), from->rows.width));
        NEED(add_i64(n, tuples_at(&from->rows, i)->shape.dims[0], &n), DATA_LOSS, "the state of a rebatch is damaged");
    }
    TRY(position_int(p, &from->used, 0, n));
    from->n = n - from->used;
    TRY(position_int(p, &from->at, 0, ((const SizesDataset *)dataset)->n_sizes - 1));
    TRY(position_bool(p, &from->ended));
    return position_source(p, source->input);
}

static const DatasetType sizes_type = {
    .name = "RebatchV2", .size = sizeof(SizesDataset), .source_size = sizeof(SizesSource), .n_inputs = 1, .fill = sizes_fill,
    .cardinality = sizes_cardinality, .open = sizes_open, .next = sizes_next, .close = sizes_close,
    .position = sizes_position,
};

const Op op_RebatchDatasetV2 = {
    .signature = "RebatchDatasetV2(input_dataset: variant, batch_sizes: int64, drop_remainder: bool) -> handle: variant; "
                 ELEMENTS,
    .doc = "A dataset of the rows of batches in batches of batch_sizes, which come in turn.", .needs = "scalar(drop_remainder)",
    MAKES(sizes_type),
};
