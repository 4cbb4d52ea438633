// Datasets of tensors at hand — one element that is all of them, one for each row, or one for each row of a sparse tensor.
#include "ops/data/dataset_op.h"

typedef struct {
    Dataset dataset;
    Tensor *components;   // a reference each
    int64_t n;            // elements
} TensorDataset;

typedef struct {
    Source source;
    int64_t at;
    int64_t entry;        // of a sparse tensor: the first that was not given yet
} TensorSource;

static Status *keep_components(Kernel *k, TensorDataset *own, int n) {
    Dataset *dataset = &own->dataset;
    own->components = ARENA_ARRAY(&dataset->arena, Tensor, n);
    NEED_MEMORY(own->components && vec_reserve(&dataset->captured, n));
    for (int i = 0; i < n; i++) {
        TRY(kernel_keep(k, i, &own->components[i]));
        dataset->captured.p[dataset->captured.n++] = own->components[i];
    }
    return OK;
}

static int64_t tensor_cardinality(const Dataset *dataset) {
    return ((const TensorDataset *)dataset)->n;
}

// ---------------------------------------- as they are

static Status *tensor_fill(Kernel *k, Dataset *dataset) {
    TensorDataset *own = (TensorDataset *)dataset;
    NEED(dataset->n_components == k->n_in, INTERNAL, "%d components of %d inputs", dataset->n_components, k->n_in);
    own->n = 1;
    return keep_components(k, own, k->n_in);
}

static Status *tensor_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    const TensorDataset *own = (const TensorDataset *)source->dataset;
    TensorSource *from = (TensorSource *)source;
    if (from->at == own->n)
        return pulled_end(how);
    from->at++;
    tuple_retain(own->components, own->dataset.n_components, out);
    return pulled(how);
}

static Status *tensor_position(Source *source, Position *p) {
    const TensorDataset *own = (const TensorDataset *)source->dataset;
    TensorSource *from = (TensorSource *)source;
    TRY(position_int(p, &from->at, 0, own->n));
    return position_int(p, &from->entry, 0, INT64_MAX);
}

static const DatasetType tensor_type = {
    .name = "Tensor", .size = sizeof(TensorDataset), .source_size = sizeof(TensorSource), .fill = tensor_fill,
    .cardinality = tensor_cardinality, .next = tensor_next, .position = tensor_position,
};

const Op op_TensorDataset = {
    .signature = "TensorDataset(components: Toutput_types) -> handle: variant; Toutput_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1" METADATA "; stateful",
    .doc = "A dataset of one element: the components.", .keeps = BIT(0), MAKES(tensor_type),
};

// ---------------------------------------- row by row

static Status *slice_fill(Kernel *k, Dataset *dataset) {
    TensorDataset *own = (TensorDataset *)dataset;
    NEED(dataset->n_components == k->n_in, INTERNAL, "%d components of %d inputs", dataset->n_components, k->n_in);
    for (int i = 0; i < k->n_in; i++) {
        NEED(k->in[i]->shape.rank > 0, INVALID_ARGUMENT, "All components must be at least 1-dimensional");
        NEED(k->in[i]->shape.dims[0] == k->in[0]->shape.dims[0], INVALID_ARGUMENT,
             "All components must have the same size in the 0th dimension");
    }
    own->n = k->in[0]->shape.dims[0];
    return keep_components(k, own, k->n_in);
}

static Status *slice_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    const TensorDataset *own = (const TensorDataset *)source->dataset;
    TensorSource *from = (TensorSource *)source;
    if (from->at == own->n)
        return pulled_end(how);
    for (int i = 0; i < own->dataset.n_components; i++) {
        Status *status = tuple_row(&own->components[i], from->at, &out[i]);
        if (status) {
            tuple_clear(out, i);
            return status;
        }
    }
    from->at++;
    return pulled(how);
}

static const DatasetType slice_type = {
    .name = "TensorSlice", .size = sizeof(TensorDataset), .source_size = sizeof(TensorSource), .fill = slice_fill,
    .cardinality = tensor_cardinality, .next = slice_next, .position = tensor_position,
};

const Op op_TensorSliceDataset = {
    .signature = "TensorSliceDataset(components: Toutput_types) -> handle: variant; Toutput_types: list(type) >= 1; "
                 "output_shapes: list(shape) >= 1; is_files: bool = false" METADATA
                 "; replicate_on_split: bool = false; stateful",
    .doc = "A dataset of the rows of the components.", .keeps = BIT(0), MAKES(slice_type),
};

// ---------------------------------------- sparse

// Entries must come in the order of their rows.
static Status *check_sparse(const Tensor *indices, const Tensor *values, const Tensor *shape) {
    NEED(indices->shape.rank == 2, INVALID_ARGUMENT, "Input indices must be a matrix. Got: %s", shape_text(&indices->shape));
    NEED(values->shape.rank == 1, INVALID_ARGUMENT, "Input values must be a vector. Got: %s", shape_text(&values->shape));
    NEED(shape->shape.rank == 1, INVALID_ARGUMENT, "Input shape must be a vector. Got: %s", shape_text(&shape->shape));
    int64_t n = values->shape.dims[0], rank = shape->shape.dims[0], before = -1;
    NEED(indices->shape.dims[0] == n && indices->shape.dims[1] == rank, INVALID_ARGUMENT,
         "indices of shape %s for %lld values of rank %lld", shape_text(&indices->shape), (long long)n, (long long)rank);
    NEED(rank > 0, INVALID_ARGUMENT, "a sparse tensor of rank 0 has no rows");
    NEED(rank - 1 <= MAX_RANK, UNIMPLEMENTED, "a sparse tensor of rank %lld", (long long)rank);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = tensor_int(indices, i * rank);
        NEED(row >= before, UNIMPLEMENTED, "The SparseTensor must be ordered in the batch dimension; handling arbitrarily "
             "ordered input is not currently supported.");
        NEED(row >= 0 && row < tensor_int(shape, 0), INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)",
             (long long)i, (long long)row, (long long)tensor_int(shape, 0));
        before = row;
    }
    return OK;
}

static Status *sparse_fill(Kernel *k, Dataset *dataset) {
    TensorDataset *own = (TensorDataset *)dataset;
    TRY(check_sparse(k->in[0], k->in[1], k->in[2]));
    own->n = tensor_int(k->in[2], 0);
    NEED(own->n >= 0, INVALID_ARGUMENT, "a shape of %lld rows", (long long)own->n);
    int64_t rank = k->in[2]->shape.dims[0];
    DType dtypes[3] = {DT_int64, k->in[1]->dtype, DT_int64};
    Shape shapes[3] = {SHAPE(UNKNOWN_DIM, rank - 1), SHAPE(UNKNOWN_DIM), SHAPE(rank - 1)};
    TRY(dataset_set_components(dataset, 3, dtypes, shapes));
    return keep_components(k, own, 3);
}

static Status *sparse_row(const TensorDataset *own, int64_t first, int64_t last, Tensor *out) {
    const Tensor *indices = &own->components[0], *values = &own->components[1], *shape = &own->components[2];
    int64_t rank = shape->shape.dims[0];
    TRY(tensor_new(DT_int64, SHAPE(last - first, rank - 1), &out[0]));
    TRY(tensor_new(values->dtype, SHAPE(last - first), &out[1]));
    TRY(tensor_new(DT_int64, SHAPE(rank - 1), &out[2]));
    for (int64_t d = 1; d < rank; d++)
        ((int64_t *)out[2].data)[d - 1] = tensor_int(shape, d);
    for (int64_t i = first; i < last; i++)
        for (int64_t d = 1; d < rank; d++)
            ((int64_t *)out[0].data)[(i - first) * (rank - 1) + d - 1] = tensor_int(indices, i * rank + d);
    Tensor part = *values;
    part.shape = out[1].shape;
    part.data = (char *)values->data + (size_t)first * dtype_size(values->dtype);
    part.buffer = NULL;
    return tensor_copy_elements(&part, &out[1]);
}

static Status *sparse_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    const TensorDataset *own = (const TensorDataset *)source->dataset;
    TensorSource *from = (TensorSource *)source;
    if (from->at == own->n)
        return pulled_end(how);
    const Tensor *indices = &own->components[0];
    int64_t n = indices->shape.dims[0], rank = indices->shape.dims[1], last = from->entry;
    while (last < n && tensor_int(indices, last * rank) == from->at)
        last++;
    memset(out, 0, 3 * sizeof *out);
    Status *status = sparse_row(own, from->entry, last, out);
    if (status) {
        tuple_clear(out, 3);
        return status;
    }
    from->at++;
    from->entry = last;
    return pulled(how);
}

static const DatasetType sparse_type = {
    .name = "SparseTensorSlice", .size = sizeof(TensorDataset), .source_size = sizeof(TensorSource), .fill = sparse_fill,
    .cardinality = tensor_cardinality, .next = sparse_next, .position = tensor_position,
};

const Op op_SparseTensorSliceDataset = {
    .signature = "SparseTensorSliceDataset(indices: int64, values: Tvalues, dense_shape: int64) -> handle: variant; "
                 "Tvalues: type; stateful",
    .doc = "A dataset of the rows of a sparse tensor, which are sparse tensors.", .keeps = BIT(0) | BIT(1) | BIT(2),
    MAKES(sparse_type),
};
