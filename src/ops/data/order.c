// Datasets that choose and join — so many elements, from there on, again and again, every n-th, one dataset behind another
// or beside it.
#include "ops/data/dataset_op.h"

typedef struct {
    Dataset dataset;
    int64_t count;
} CountDataset;

typedef struct {
    Source source;
    int64_t at;          // elements, or passes, so far
    bool began;          // the pass has given an element
} CountSource;

static Status *count_fill(Kernel *k, Dataset *dataset) {
    return dataset_int(k, "count", &((CountDataset *)dataset)->count);
}

static int64_t count_of(const Dataset *dataset) {
    return ((const CountDataset *)dataset)->count;
}

static Status *count_position(Source *source, Position *p) {
    TRY(position_int(p, &((CountSource *)source)->at, 0, INT64_MAX));
    return position_source(p, source->input);
}

#define COUNTS "(input_dataset: variant, count: int64) -> handle: variant; " ELEMENTS METADATA
#define COUNTED \
    .size = sizeof(CountDataset), .source_size = sizeof(CountSource), .n_inputs = 1, .same = true, .fill = count_fill

// ---------------------------------------- take

static int64_t take_cardinality(const Dataset *dataset) {
    int64_t n = dataset_cardinality(dataset->inputs[0]), count = count_of(dataset);
    if (count < 0 || count == 0)
        return count < 0 ? n : 0;
    if (n == CARDINALITY_UNKNOWN)
        return n;
    return n == CARDINALITY_INFINITE || n > count ? count : n;
}

static Status *take_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    CountSource *from = (CountSource *)source;
    int64_t count = count_of(source->dataset);
    if (count >= 0 && from->at >= count)
        return pulled_end(how);
    TRY_NEXT(source->input, pull, out, how);
    from->at = *how == PULLED ? from->at + 1 : INT64_MAX;
    return OK;
}

static const DatasetType take_type = {
    .name = "Take", COUNTED, .cardinality = take_cardinality, .next = take_next, .position = count_position,
};

const Op op_TakeDataset = {
    .signature = "TakeDataset" COUNTS, .doc = "A dataset of the first count elements; all of them where it is negative.",
    .needs = "scalar(count)", MAKES(take_type),
};

// ---------------------------------------- skip

static int64_t skip_cardinality(const Dataset *dataset) {
    int64_t n = dataset_cardinality(dataset->inputs[0]), count = count_of(dataset);
    if (count < 0)
        return 0;
    if (n < 0)
        return n;
    return n > count ? n - count : 0;
}

static Status *skip_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    CountSource *from = (CountSource *)source;
    int64_t count = count_of(source->dataset);
    if (count < 0)
        return pulled_end(how);
    while (from->at < count) {
        TRY_NEXT(source->input, pull, out, how);
        if (*how == PULLED_END)
            return OK;
        tuple_clear(out, source->dataset->n_components);
        from->at++;
    }
    return source_next(source->input, pull, out, how);
}

static const DatasetType skip_type = {
    .name = "Skip", COUNTED, .cardinality = skip_cardinality, .next = skip_next, .position = count_position,
};

const Op op_SkipDataset = {
    .signature = "SkipDataset" COUNTS, .doc = "A dataset without the first count elements; an empty one where it is negative.",
    .needs = "scalar(count)", MAKES(skip_type),
};

// ---------------------------------------- repeat

static int64_t repeat_cardinality(const Dataset *dataset) {
    int64_t n = dataset_cardinality(dataset->inputs[0]), count = count_of(dataset), all;
    if (count < 0)
        return n == 0 ? 0 : CARDINALITY_INFINITE;
    if (count == 0 || n < 0)
        return count == 0 ? 0 : n;
    return __builtin_mul_overflow(n, count, &all) ? CARDINALITY_UNKNOWN : all;
}

// The input is opened when the pass begins.
static Status *repeat_open(Source *source) {
    (void)source;
    return OK;
}

// Without end, over a dataset that is empty, would be a loop: the end comes then, as in TensorFlow.
static Status *repeat_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    CountSource *from = (CountSource *)source;
    int64_t count = count_of(source->dataset);
    while (count < 0 || from->at < count) {
        if (!source->input) {
            TRY(source_open(source->dataset->inputs[0], source->pipeline, source, &source->input));
            from->began = false;
        }
        TRY_NEXT(source->input, pull, out, how);
        if (*how == PULLED) {
            from->began = true;
            return OK;
        }
        source_close(source->input);
        source->input = NULL;
        from->at += count >= 0;
        if (count < 0 && !from->began)
            break;
    }
    return pulled_end(how);
}

static Status *repeat_position(Source *source, Position *p) {
    CountSource *from = (CountSource *)source;
    TRY(position_int(p, &from->at, 0, INT64_MAX));
    TRY(position_bool(p, &from->began));
    return position_input(p, source, source->dataset->inputs[0]);
}

static const DatasetType repeat_type = {
    .name = "Repeat", COUNTED, .cardinality = repeat_cardinality, .open = repeat_open, .next = repeat_next,
    .position = repeat_position,
};

const Op op_RepeatDataset = {
    .signature = "RepeatDataset" COUNTS, .doc = "A dataset of the elements count times over; for ever where it is negative.",
    .needs = "scalar(count)", MAKES(repeat_type),
};

// ---------------------------------------- shard

typedef struct {
    Dataset dataset;
    int64_t n, index;
    bool fills;          // no shard is empty
} ShardDataset;

typedef struct {
    Source source;
    int64_t at;
    Tensor *held;        // the first element, while the other shards' are looked for
    bool holds;
} ShardSource;

static Status *shard_fill(Kernel *k, Dataset *dataset) {
    ShardDataset *own = (ShardDataset *)dataset;
    TRY(dataset_int(k, "num_shards", &own->n));
    TRY(dataset_int(k, "index", &own->index));
    NEED(own->n > 0, INVALID_ARGUMENT, "Number of shards must be greater than zero (currently num_shards = %lld).",
         (long long)own->n);
    NEED(own->index >= 0 && own->index < own->n, INVALID_ARGUMENT,
         "Index must be between 0 and %lld (currently index = %lld).", (long long)own->n - 1, (long long)own->index);
    own->fills = node_bool(k->node, "require_non_empty");
    return OK;
}

static int64_t shard_cardinality(const Dataset *dataset) {
    const ShardDataset *own = (const ShardDataset *)dataset;
    int64_t n = dataset_cardinality(dataset->inputs[0]);
    return n < 0 ? n : n / own->n + (own->index < n % own->n);
}

static Status *shard_open(Source *source) {
    ShardSource *from = (ShardSource *)source;
    from->held = tuple_new(source->dataset->n_components);
    NEED_MEMORY(from->held);
    return source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
}

static void shard_close(Source *source) {
    ShardSource *from = (ShardSource *)source;
    if (from->held)
        tuple_clear(from->held, source->dataset->n_components);
    free(from->held);
}

// What every shard has an element of must have so many: the held one comes out once that was seen.
static Status *shard_first(ShardSource *from, const Pull *pull, Tensor *out, Pulled *how) {
    const ShardDataset *own = (const ShardDataset *)from->source.dataset;
    int n = own->dataset.n_components;
    for (; from->at < own->n; from->at++) {
        TRY_NEXT(from->source.input, pull, out, how);
        NEED(*how == PULLED, INVALID_ARGUMENT,
             "There aren't enough elements in this dataset for each shard to have at least one element (# elems = %lld, # "
             "shards = %lld).", (long long)from->at, (long long)own->n);
        tuple_clear(out, n);
    }
    memcpy(out, from->held, (size_t)n * sizeof *out);
    memset(from->held, 0, (size_t)n * sizeof *out);
    from->holds = false;
    return pulled(how);
}

static Status *shard_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    ShardSource *from = (ShardSource *)source;
    const ShardDataset *own = (const ShardDataset *)source->dataset;
    int n = own->dataset.n_components;
    while (!from->holds) {
        TRY_NEXT(source->input, pull, out, how);
        if (*how == PULLED_END)
            return OK;
        int64_t at = from->at++;
        if (at % own->n != own->index) {
            tuple_clear(out, n);
            continue;
        }
        if (!own->fills || at >= own->n)
            return OK;
        memcpy(from->held, out, (size_t)n * sizeof *out);
        memset(out, 0, (size_t)n * sizeof *out);
        from->holds = true;
    }
    return shard_first(from, pull, out, how);
}

static Status *shard_position(Source *source, Position *p) {
    ShardSource *from = (ShardSource *)source;
    TRY(position_int(p, &from->at, 0, INT64_MAX));
    TRY(position_bool(p, &from->holds));
    TRY(position_tuple(p, from->held, source->dataset->n_components, source->dataset->dtypes));
    return position_source(p, source->input);
}

static const DatasetType shard_type = {
    .name = "Shard", .size = sizeof(ShardDataset), .source_size = sizeof(ShardSource), .n_inputs = 1, .same = true,
    .fill = shard_fill, .cardinality = shard_cardinality, .open = shard_open, .next = shard_next, .close = shard_close,
    .position = shard_position,
};

const Op op_ShardDataset = {
    .signature = "ShardDataset(input_dataset: variant, num_shards: int64, index: int64) -> handle: variant; "
                 "require_non_empty: bool = false; " ELEMENTS METADATA,
    .doc = "A dataset of every num_shards-th element, from the index on.", .needs = "scalar(num_shards), scalar(index)",
    MAKES(shard_type),
};

// ---------------------------------------- one behind the other

typedef struct {
    Source source;
    int at;              // which input
} JoinSource;

static Status *concatenate_fill(Kernel *k, Dataset *dataset) {
    (void)k;
    const Dataset *a = dataset->inputs[0], *b = dataset->inputs[1];
    NEED(a->n_components == b->n_components, INVALID_ARGUMENT,
         "input dataset and another dataset have different output_types: %d and %d components", a->n_components,
         b->n_components);
    NEED(dataset->n_components == a->n_components, INVALID_ARGUMENT, "elements of %d components, expected %d",
         a->n_components, dataset->n_components);
    for (int i = 0; i < a->n_components; i++)
        NEED(a->dtypes[i] == b->dtypes[i], INVALID_ARGUMENT,
             "input dataset and another dataset have different output_types: %s and %s", dtype_name(a->dtypes[i]),
             dtype_name(b->dtypes[i]));
    return OK;
}

static int64_t concatenate_cardinality(const Dataset *dataset) {
    int64_t a = dataset_cardinality(dataset->inputs[0]), b = dataset_cardinality(dataset->inputs[1]), all;
    if (a == CARDINALITY_INFINITE || b == CARDINALITY_INFINITE)
        return CARDINALITY_INFINITE;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &all) ? CARDINALITY_UNKNOWN : all;
}

static Status *concatenate_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    JoinSource *from = (JoinSource *)source;
    const Dataset *dataset = source->dataset;
    while (from->at < dataset->n_inputs) {
        if (!source->input)
            TRY(source_open(dataset->inputs[from->at], source->pipeline, source, &source->input));
        TRY_NEXT(source->input, pull, out, how);
        if (*how == PULLED)
            return OK;
        source_close(source->input);
        source->input = NULL;
        from->at++;
    }
    return pulled_end(how);
}

static Status *concatenate_position(Source *source, Position *p) {
    int64_t at = ((JoinSource *)source)->at, n = source->dataset->n_inputs;
    TRY(position_int(p, &at, 0, n));
    ((JoinSource *)source)->at = (int)at;
    return position_input(p, source, source->dataset->inputs[at < n ? at : 0]);
}

static const DatasetType concatenate_type = {
    .name = "Concatenate", .source_size = sizeof(JoinSource), .n_inputs = 2, .fill = concatenate_fill,
    .cardinality = concatenate_cardinality, .open = repeat_open, .next = concatenate_next,
    .position = concatenate_position,
};

const Op op_ConcatenateDataset = {
    .signature = "ConcatenateDataset(input_dataset: variant, another_dataset: variant) -> handle: variant; " ELEMENTS METADATA,
    .doc = "A dataset of the elements of one, then those of the other.", MAKES(concatenate_type),
};

// ---------------------------------------- one beside the other

typedef struct {
    Source source;
    Source **inputs;
    Tensor *element;     // what came so far
    int at, n_tensors;   // inputs and tensors that came
    Status *failed;      // of an input; the others go on to the next element all the same
    bool ends;           // an input has ended with this element
    bool ended;
} ZipSource;

static Status *zip_fill(Kernel *k, Dataset *dataset) {
    (void)k;
    int n = 0;
    for (int i = 0; i < dataset->n_inputs; i++)
        n += dataset->inputs[i]->n_components;
    NEED(n == dataset->n_components, INVALID_ARGUMENT, "elements of %d components, expected %d", n, dataset->n_components);
    return OK;
}

static int64_t zip_cardinality(const Dataset *dataset) {
    int64_t least = CARDINALITY_INFINITE;
    for (int i = 0; i < dataset->n_inputs; i++) {
        int64_t n = dataset_cardinality(dataset->inputs[i]);
        if (n == CARDINALITY_UNKNOWN)
            return n;
        if (n != CARDINALITY_INFINITE && (least == CARDINALITY_INFINITE || n < least))
            least = n;
    }
    return least;
}

static Status *zip_open(Source *source) {
    ZipSource *from = (ZipSource *)source;
    const Dataset *dataset = source->dataset;
    from->inputs = calloc((size_t)dataset->n_inputs, sizeof *from->inputs);
    from->element = tuple_new(dataset->n_components);
    NEED_MEMORY(from->inputs && from->element);
    for (int i = 0; i < dataset->n_inputs; i++)
        TRY(source_open(dataset->inputs[i], source->pipeline, source, &from->inputs[i]));
    return OK;
}

static void zip_forget(ZipSource *from) {
    if (from->element)
        tuple_clear(from->element, from->n_tensors);
    from->at = from->n_tensors = 0;
    status_free(from->failed);
    from->failed = NULL;
}

static void zip_close(Source *source) {
    ZipSource *from = (ZipSource *)source;
    for (int i = 0; i < source->dataset->n_inputs && from->inputs; i++)
        source_close(from->inputs[i]);
    zip_forget(from);
    free(from->element);
    free(from->inputs);
}

static Status *zip_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    ZipSource *from = (ZipSource *)source;
    const Dataset *dataset = source->dataset;
    if (from->ended)
        return pulled_end(how);
    for (; from->at < dataset->n_inputs && !from->ends; from->at++) {
        *how = PULLED;
        Status *status = source_next(from->inputs[from->at], pull, from->element + from->n_tensors, how);
        if (!status && *how == PULLED_LATER)
            return OK;
        from->ends |= !status && *how == PULLED_END;
        int n = dataset->inputs[from->at]->n_components;
        from->n_tensors += n;
        if (status && from->failed)
            status_free(status);
        else if (status)
            from->failed = status;
    }
    Status *failed = from->failed;
    from->failed = NULL;
    from->ended = from->ends && !failed;
    from->ends = false;
    if (!failed && !from->ended) {
        memcpy(out, from->element, (size_t)dataset->n_components * sizeof *out);
        memset(from->element, 0, (size_t)dataset->n_components * sizeof *out);
    }
    zip_forget(from);
    *how = from->ended ? PULLED_END : PULLED;
    return failed;
}

// Of an element some tensors may be there, and the next input asked to wait.
static Status *zip_position(Source *source, Position *p) {
    ZipSource *from = (ZipSource *)source;
    const Dataset *dataset = source->dataset;
    int64_t at = from->at;
    TRY(position_int(p, &at, 0, dataset->n_inputs));
    TRY(position_status(p, &from->failed));
    TRY(position_bool(p, &from->ends));
    TRY(position_bool(p, &from->ended));
    for (from->n_tensors = from->at = 0; from->at < at; from->at++) {
        const Dataset *input = dataset->inputs[from->at];
        TRY(position_tuple(p, from->element + from->n_tensors, input->n_components, input->dtypes));
        from->n_tensors += input->n_components;
    }
    for (int i = 0; i < dataset->n_inputs; i++)
        TRY(position_source(p, from->inputs[i]));
    return OK;
}

static const DatasetType zip_type = {
    .name = "Zip", .source_size = sizeof(ZipSource), .n_inputs = 1, .fill = zip_fill, .cardinality = zip_cardinality,
    .open = zip_open, .next = zip_next, .close = zip_close, .position = zip_position,
};

const Op op_ZipDataset = {
    .signature = "ZipDataset(input_datasets: N * variant) -> handle: variant; " ELEMENTS "; N: int >= 1" METADATA,
    .doc = "A dataset whose elements are those of all datasets, side by side.", MAKES(zip_type),
};
