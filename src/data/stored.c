// Stored — see stored.h.
#include "data/stored.h"

#include "data/position.h"

typedef struct {
    Source source;
    int64_t at;
} StoredSource;

static void stored_clear(Dataset *dataset) {
    tuples_clear(&((StoredDataset *)dataset)->elements);
}

static int64_t stored_cardinality(const Dataset *dataset) {
    return (int64_t)tuples_count(&((const StoredDataset *)dataset)->elements);
}

static Status *stored_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    const StoredDataset *own = (const StoredDataset *)source->dataset;
    StoredSource *from = (StoredSource *)source;
    *how = from->at == stored_cardinality(source->dataset) ? PULLED_END : PULLED;
    if (*how == PULLED)
        tuple_retain(tuples_at(&own->elements, (size_t)from->at++), own->dataset.n_components, out);
    return OK;
}

static Status *stored_position(Source *source, Position *p) {
    return position_int(p, &((StoredSource *)source)->at, 0, stored_cardinality(source->dataset));
}

static const DatasetType stored_type = {
    .name = "Window", .size = sizeof(StoredDataset), .source_size = sizeof(StoredSource), .clear = stored_clear,
    .cardinality = stored_cardinality, .next = stored_next, .position = stored_position,
};

Status *stored_new(int n, const DType *dtypes, const Shape *shapes, StoredDataset **out) {
    Dataset *dataset;
    TRY(dataset_new(&stored_type, n, dtypes, shapes, &dataset));
    *out = (StoredDataset *)dataset;
    (*out)->elements.width = n;
    return OK;
}

StoredDataset *stored_of(Dataset *dataset) {
    return dataset->type == &stored_type ? (StoredDataset *)dataset : NULL;
}
