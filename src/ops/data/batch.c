// Batches — so many elements stacked into one, padded to the largest where they differ, and taken apart again.
#include "data/ahead.h"
#include "ops/data/dataset_op.h"
#include "thread/pool.h"

enum { CALLS_MOST = 1 << 20 };

typedef struct {
    Dataset dataset;
    int64_t size;
    bool drops;            // a last batch that is smaller
    Shape *padded;         // of each component; NULL: elements must agree in shape
    Tensor *padding;       // a scalar each
    int64_t calls;         // of the function that makes the elements, at once; 0: there is none
    bool preserves;
} BatchDataset;

typedef struct {
    Source source;
    Tuples rows;           // of the batch to come
    Tensor *element;
    Ahead *ahead;          // the elements, where a function makes them
    int64_t came;          // elements of the batch to come, with those that failed
    Status *failed;        // the first of these
} BatchSource;

static Status *read_size(Kernel *k, BatchDataset *own) {
    TRY(dataset_int(k, "batch_size", &own->size));
    NEED(own->size > 0, INVALID_ARGUMENT, "Batch size must be greater than zero.");
    int first, count;
    int64_t drops = 0;
    if (node_input_arg(k->node, STR("drop_remainder"), &first, &count) >= 0)
        TRY(dataset_int(k, "drop_remainder", &drops));
    own->drops = drops;
    return OK;
}

static Status *same_components(const Dataset *dataset) {
    const Dataset *input = dataset->inputs[0];
    NEED(dataset->n_components == input->n_components, INVALID_ARGUMENT, "elements of %d components of elements of %d",
         dataset->n_components, input->n_components);
    for (int i = 0; i < input->n_components; i++)
        NEED(dataset->dtypes[i] == input->dtypes[i], INVALID_ARGUMENT, "component %d is of type %s, expected %s", i,
             dtype_name(input->dtypes[i]), dtype_name(dataset->dtypes[i]));
    return OK;
}

static Status *batch_fill(Kernel *k, Dataset *dataset) {
    TRY(same_components(dataset));
    return read_size(k, (BatchDataset *)dataset);
}

static int64_t batch_cardinality(const Dataset *dataset) {
    const BatchDataset *own = (const BatchDataset *)dataset;
    int64_t n = dataset_cardinality(dataset->inputs[0]);
    if (n < 0)
        return n;
    return n / own->size + (n % own->size != 0 && !own->drops);
}

static Status *batch_open(Source *source) {
    BatchSource *from = (BatchSource *)source;
    from->rows.width = source->dataset->n_components;
    from->element = tuple_new(from->rows.width);
    NEED_MEMORY(from->element);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void batch_close(Source *source) {
    BatchSource *from = (BatchSource *)source;
    tuples_clear(&from->rows);
    free(from->element);
}

// ---------------------------------------- padding

// The extents of a batch's component: those asked for, the largest among the rows where they were left open.
static Status *padded_shape(const BatchSource *from, int c, const Shape *asked, Shape *out) {
    size_t n = tuples_count(&from->rows);
    *out = *asked;
    for (size_t i = 0; i < n; i++) {
        const Shape *row = &tuples_at(&from->rows, i)[c].shape;
        NEED(row->rank == asked->rank, INVALID_ARGUMENT,
             "All elements in a batch must have the same rank as the padded shape for component%d: expected rank %d but got "
             "element with rank %d", c, asked->rank, row->rank);
        for (int d = 0; d < row->rank; d++) {
            NEED(asked->dims[d] < 0 || row->dims[d] <= asked->dims[d], DATA_LOSS,
                 "Attempted to pad to a smaller size than the input element.");
            if (asked->dims[d] < 0 && row->dims[d] > out->dims[d])
                out->dims[d] = row->dims[d];
        }
    }
    for (int d = 0; d < out->rank; d++)
        out->dims[d] = out->dims[d] < 0 ? 0 : out->dims[d];
    return OK;
}

// The row into the corner of `to`, line by line.
static Status *copy_corner(const Tensor *row, const Shape *shape, char *to) {
    int rank = row->shape.rank;
    int64_t line = rank ? row->shape.dims[rank - 1] : 1, lines = line ? shape_count(&row->shape) / line : 0;
    size_t bytes = dtype_size(row->dtype);
    for (int64_t i = 0; i < lines; i++) {
        int64_t at = 0, rest = i, stride = rank ? shape->dims[rank - 1] : 1;
        for (int d = rank - 2; d >= 0; d--) {
            at += rest % row->shape.dims[d] * stride;  // not zero: there are lines
            rest /= row->shape.dims[d];
            stride *= shape->dims[d];
        }
        Tensor from = {.data = (char *)row->data + (size_t)(i * line) * bytes, .dtype = row->dtype, .shape = SHAPE(line)};
        Tensor into = {.data = to + (size_t)at * bytes, .dtype = row->dtype, .shape = SHAPE(line)};
        TRY(tensor_copy_elements(&from, &into));
    }
    return OK;
}

static Status *fill_with(const Tensor *value, const Tensor *out) {
    int64_t n = tensor_count(out);
    size_t bytes = dtype_size(out->dtype), all = (size_t)n * bytes;
    if (dtype_is_plain(out->dtype) && n) {  // what is there is doubled
        memcpy(out->data, value->data, bytes);
        for (size_t done = bytes; done < all; done *= 2)
            memcpy((char *)out->data + done, out->data, done < all - done ? done : all - done);
        return OK;
    }
    for (int64_t i = 0; i < n; i++) {
        Tensor one = {.data = (char *)out->data + (size_t)i * bytes, .dtype = out->dtype, .shape = SCALAR_SHAPE};
        TRY(tensor_copy_elements(value, &one));
    }
    return OK;
}

static Status *pad_rows(const BatchSource *from, int c, const Shape *row, const Tensor *padding, const Tensor *out) {
    size_t n = tuples_count(&from->rows), bytes = dtype_size(out->dtype) * (size_t)shape_count(row);
    for (size_t i = 0; i < n; i++) {
        const Tensor *element = &tuples_at(&from->rows, i)[c];
        NEED(element->dtype == out->dtype, INVALID_ARGUMENT, "an element of type %s among %s", dtype_name(element->dtype),
             dtype_name(out->dtype));
        if (!shape_equal(&element->shape, row)) {
            Tensor whole = {.data = (char *)out->data + i * bytes, .dtype = out->dtype, .shape = *row};
            TRY(fill_with(padding, &whole));
        }
        TRY(copy_corner(element, row, (char *)out->data + i * bytes));
    }
    return OK;
}

static Status *pad(const BatchSource *from, int c, Tensor *out) {
    const BatchDataset *own = (const BatchDataset *)from->source.dataset;
    Shape row, rows;
    TRY(padded_shape(from, c, &own->padded[c], &row));
    TRY(tuple_rows_shape((int64_t)tuples_count(&from->rows), &row, &rows));
    AUTO(tensor) Tensor batch = {0};
    TRY(tensor_new(own->padding[c].dtype, rows, &batch));
    TRY(pad_rows(from, c, &row, &own->padding[c], &batch));
    *out = tensor_retain(&batch);
    return OK;
}

// ---------------------------------------- batches

static Status *collect(BatchSource *from, const Pull *pull, Pulled *how) {
    const BatchDataset *own = (const BatchDataset *)from->source.dataset;
    *how = PULLED;
    while ((int64_t)tuples_count(&from->rows) < own->size) {
        TRY_NEXT(from->source.input, pull, from->element, how);
        if (*how == PULLED_END)
            return OK;
        TRY(tuples_push(&from->rows, from->element));
    }
    return OK;
}

static Status *stack(const BatchSource *from, Tensor *out) {
    const BatchDataset *own = (const BatchDataset *)from->source.dataset;
    for (int c = 0; c < own->dataset.n_components; c++) {
        Status *status = own->padded ? pad(from, c, &out[c]) : tuples_stack(&from->rows, c, &out[c]);
        if (status) {
            tuple_clear(out, c);
            return status;
        }
    }
    return OK;
}

// Elements that an error met are gone, as in TensorFlow: the next batch begins with the next element.
static Status *batch_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    BatchSource *from = (BatchSource *)source;
    const BatchDataset *own = (const BatchDataset *)source->dataset;
    Status *status = collect(from, pull, how);
    if (!status && *how == PULLED_LATER)
        return OK;
    int64_t n = (int64_t)tuples_count(&from->rows);
    if (!status && (n == own->size || (n > 0 && !own->drops))) {
        *how = PULLED;
        status = stack(from, out);
    }
    tuples_drop(&from->rows, (size_t)n);
    return status;
}

// Of the batch to come some elements may be there, while the next is waited for.
static Status *batch_position(Source *source, Position *p) {
    BatchSource *from = (BatchSource *)source;
    const Dataset *input = source->dataset->inputs[0];
    TRY(position_tuples(p, &from->rows, from->ahead ? source->dataset->dtypes : input->dtypes, false));
    TRY(position_int(p, &from->came, 0, INT64_MAX));
    TRY(position_status(p, &from->failed));
    return from->ahead ? ahead_position(from->ahead, p) : position_source(p, source->input);
}

static const DatasetType batch_type = {
    .name = "Batch", .size = sizeof(BatchDataset), .source_size = sizeof(BatchSource), .n_inputs = 1, .fill = batch_fill,
    .cardinality = batch_cardinality, .open = batch_open, .next = batch_next, .close = batch_close,
    .position = batch_position,
};

#define BATCHED "(input_dataset: variant, batch_size: int64"
const Op op_BatchDataset = {
    .signature = "BatchDataset" BATCHED ") -> handle: variant; " ELEMENTS METADATA,
    .doc = "A dataset of batch_size elements stacked; the last may be fewer.", .needs = "scalar(batch_size)",
    MAKES(batch_type),
};

const Op op_BatchDatasetV2 = {
    .signature = "BatchDatasetV2" BATCHED ", drop_remainder: bool) -> handle: variant; parallel_copy: bool = false; " ELEMENTS
                 METADATA,
    .doc = "A dataset of batch_size elements stacked; the last may be fewer, or is dropped.",
    .needs = "scalar(batch_size), scalar(drop_remainder)", MAKES(batch_type),
};

const Op op_ParallelBatchDataset = {
    .signature = "ParallelBatchDataset" BATCHED ", num_parallel_calls: int64, drop_remainder: bool) -> handle: variant; "
                 "parallel_copy: bool = false; " ELEMENTS "; deterministic: string = \"default\"" METADATA,
    .doc = "A dataset of batch_size elements stacked, in their order.",
    .needs = "scalar(batch_size), scalar(num_parallel_calls), scalar(drop_remainder)", MAKES(batch_type),
};

// ---------------------------------------- batches of what a function makes

static Status *map_batch_fill(Kernel *k, Dataset *dataset) {
    BatchDataset *own = (BatchDataset *)dataset;
    TRY(read_size(k, own));
    TRY(dataset_int(k, "num_parallel_calls", &own->calls));
    NEED(own->calls > 0 || own->calls == -1, INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
    own->calls = own->calls < 0 ? pool_limit() : own->calls;
    own->calls = own->calls < CALLS_MOST ? own->calls : CALLS_MOST;
    own->preserves = node_bool(k->node, "preserve_cardinality");
    return OK;
}

static int64_t map_batch_cardinality(const Dataset *dataset) {
    return ((const BatchDataset *)dataset)->preserves ? batch_cardinality(dataset) : CARDINALITY_UNKNOWN;
}

static Status *map_batch_open(Source *source) {
    BatchSource *from = (BatchSource *)source;
    const BatchDataset *own = (const BatchDataset *)source->dataset;
    from->rows.width = source->dataset->n_components;
    from->element = tuple_new(from->rows.width);
    NEED_MEMORY(from->element);
    Source *input;
    TRY(source_open(source->dataset->inputs[0], source->pipeline, source, &input));
    AheadSpec spec = {.limit = own->calls, .calls = (int)own->calls, .function = &own->dataset.function,
                      .dataset = source->dataset, .preserves = own->preserves};
    return ahead_new(&spec, input, &from->ahead);
}

static void map_batch_close(Source *source) {
    BatchSource *from = (BatchSource *)source;
    ahead_close(from->ahead);
    status_free(from->failed);
    batch_close(source);
}

// An element that fails takes its batch along, as in TensorFlow; the next batch is what it would have been.
static Status *map_batch_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    BatchSource *from = (BatchSource *)source;
    const BatchDataset *own = (const BatchDataset *)source->dataset;
    for (*how = PULLED; from->came < own->size; from->came++) {
        Status *status = ahead_next(from->ahead, pull, from->element, how);
        if (!status && *how == PULLED_LATER)
            return OK;
        if (!status && *how == PULLED_END)
            break;
        if (!status)
            status = tuples_push(&from->rows, from->element);
        if (from->failed)
            status_free(status);
        else
            from->failed = status;
    }
    int64_t came = from->came;
    Status *status = from->failed;
    from->came = 0;
    from->failed = NULL;
    bool gives = came == own->size || (came > 0 && !own->drops);
    if (!status && gives)
        status = stack(from, out);
    tuples_drop(&from->rows, tuples_count(&from->rows));
    *how = gives ? PULLED : PULLED_END;
    return status;
}

static const DatasetType map_batch_type = {
    .name = "MapAndBatch", .size = sizeof(BatchDataset), .source_size = sizeof(BatchSource), .n_inputs = 1, .function = "f",
    .fill = map_batch_fill, .cardinality = map_batch_cardinality, .open = map_batch_open, .next = map_batch_next,
    .close = map_batch_close, .position = batch_position,
};

const Op op_MapAndBatchDataset = {
    .signature = "MapAndBatchDataset(input_dataset: variant, other_arguments: Targuments, batch_size: int64, "
                 "num_parallel_calls: int64, drop_remainder: bool) -> handle: variant; f: func; Targuments: list(type) >= 0; "
                 ELEMENTS "; preserve_cardinality: bool = false" METADATA,
    .doc = "A dataset of what f makes of each element, several at a time, batch_size of it stacked.",
    .needs = "scalar(batch_size), scalar(num_parallel_calls), scalar(drop_remainder)", .keeps = BIT(1),
    MAKES(map_batch_type),
};

// ---------------------------------------- padded batches

static Status *padded_fill(Kernel *k, Dataset *dataset) {
    BatchDataset *own = (BatchDataset *)dataset;
    TRY(same_components(dataset));
    TRY(read_size(k, own));
    int shapes, values, n = dataset->n_components, count;
    node_input_arg(k->node, STR("padded_shapes"), &shapes, &count);
    NEED(count == n, INVALID_ARGUMENT, "Number of padded shapes (%d) must match the number of components (%d).", count, n);
    node_input_arg(k->node, STR("padding_values"), &values, &count);
    NEED(count == n, INVALID_ARGUMENT, "Number of padding values (%d) must match the number of components (%d).", count, n);
    own->padded = ARENA_ARRAY(&dataset->arena, Shape, n);
    own->padding = ARENA_ARRAY(&dataset->arena, Tensor, n);
    NEED_MEMORY(own->padded && own->padding && vec_reserve(&dataset->captured, n));
    for (int i = 0; i < n; i++) {
        const Tensor *shape = k->in[shapes + i], *value = k->in[values + i];
        NEED(shape->shape.rank == 1, INVALID_ARGUMENT, "All padded shapes must be vectors");
        TRY(shape_make(shape->data, shape->shape.dims[0], &own->padded[i]));
        NEED(value->shape.rank == 0, INVALID_ARGUMENT, "All padding values must be scalars");
        NEED(value->dtype == dataset->dtypes[i], INVALID_ARGUMENT,
             "Mismatched type between padding value %d and input dataset's component %d: %s vs. %s", i, i,
             dtype_name(value->dtype), dtype_name(dataset->dtypes[i]));
        TRY(kernel_keep(k, values + i, &own->padding[i]));
        dataset->captured.p[dataset->captured.n++] = own->padding[i];
    }
    return OK;
}

static const DatasetType padded_type = {
    .name = "PaddedBatch", .size = sizeof(BatchDataset), .source_size = sizeof(BatchSource), .n_inputs = 1,
    .fill = padded_fill, .cardinality = batch_cardinality, .open = batch_open, .next = batch_next, .close = batch_close,
    .position = batch_position,
};

#define PADDED BATCHED ", padded_shapes: N * int64, padding_values: Toutput_types"
const Op op_PaddedBatchDataset = {
    .signature = "PaddedBatchDataset" PADDED ") -> handle: variant; Toutput_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1; N: int >= 1" METADATA,
    .doc = "A dataset of batch_size elements stacked, each padded to the largest or to padded_shapes.",
    .needs = "scalar(batch_size)", .keeps = BIT(3), MAKES(padded_type),
};

const Op op_PaddedBatchDatasetV2 = {
    .signature = "PaddedBatchDatasetV2" PADDED ", drop_remainder: bool) -> handle: variant; parallel_copy: bool = false; "
                 "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1" METADATA,
    .doc = "A dataset of batch_size elements stacked, each padded to the largest or to padded_shapes.",
    .needs = "scalar(batch_size)", .keeps = BIT(3), MAKES(padded_type),
};

// ---------------------------------------- taking apart

typedef struct {
    Source source;
    Tensor *batch;
    int64_t at, n;
} UnbatchSource;

static Status *unbatch_fill(Kernel *k, Dataset *dataset) {
    (void)k;
    return same_components(dataset);
}

static int64_t unbatch_cardinality(const Dataset *dataset) {
    const Dataset *input = dataset->inputs[0];
    int64_t n = dataset_cardinality(input), rows = -1;
    for (int i = 0; i < input->n_components && rows < 0; i++)
        rows = input->shapes[i].rank > 0 ? input->shapes[i].dims[0] : -1;
    int64_t all;
    if (n <= 0)
        return n;
    return rows < 0 || __builtin_mul_overflow(n, rows, &all) ? CARDINALITY_UNKNOWN : all;
}

static Status *unbatch_open(Source *source) {
    UnbatchSource *from = (UnbatchSource *)source;
    from->batch = tuple_new(source->dataset->n_components);
    NEED_MEMORY(from->batch);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void unbatch_close(Source *source) {
    UnbatchSource *from = (UnbatchSource *)source;
    if (from->batch)
        tuple_clear(from->batch, source->dataset->n_components);
    free(from->batch);
}

static Status *check_batch(UnbatchSource *from) {
    int n = from->source.dataset->n_components;
    from->at = from->n = 0;
    for (int i = 0; i < n; i++)
        NEED(from->batch[i].shape.rank > 0, INVALID_ARGUMENT, "Input element must have at least one dimension");
    for (int i = 1; i < n; i++)
        NEED(from->batch[i].shape.dims[0] == from->batch[0].shape.dims[0], INVALID_ARGUMENT,
             "Input element must have the same batch size in each component. Component 0 had size %lld but component %d had "
             "size, %lld.", (long long)from->batch[0].shape.dims[0], i, (long long)from->batch[i].shape.dims[0]);
    from->n = n ? from->batch[0].shape.dims[0] : 0;
    return OK;
}

static Status *unbatch_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    UnbatchSource *from = (UnbatchSource *)source;
    int n = source->dataset->n_components;
    while (from->at == from->n) {
        tuple_clear(from->batch, n);
        TRY_NEXT(source->input, pull, from->batch, how);
        if (*how == PULLED_END)
            return OK;
        TRY(check_batch(from));
    }
    for (int i = 0; i < n; i++) {
        Status *status = tuple_row(&from->batch[i], from->at, &out[i]);
        if (status) {
            tuple_clear(out, i);
            return status;
        }
    }
    from->at++;
    return pulled(how);
}

static Status *unbatch_position(Source *source, Position *p) {
    UnbatchSource *from = (UnbatchSource *)source;
    TRY(position_tuple(p, from->batch, source->dataset->n_components, source->dataset->dtypes));
    int64_t at = from->batch[0].dtype == DT_INVALID ? 0 : from->at;
    if (p->loads && from->batch[0].dtype != DT_INVALID)
        TRY(check_batch(from));
    TRY(position_int(p, &at, 0, p->loads ? from->n : INT64_MAX));
    from->at = at;
    return position_source(p, source->input);
}

static const DatasetType unbatch_type = {
    .name = "Unbatch", .source_size = sizeof(UnbatchSource), .n_inputs = 1, .fill = unbatch_fill,
    .cardinality = unbatch_cardinality, .open = unbatch_open, .next = unbatch_next, .close = unbatch_close,
    .position = unbatch_position,
};

const Op op_UnbatchDataset = {
    .signature = "UnbatchDataset(input_dataset: variant) -> handle: variant; " ELEMENTS METADATA,
    .doc = "A dataset of the rows of elements.", MAKES(unbatch_type),
};
