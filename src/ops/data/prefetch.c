// Datasets made ahead — elements fetched before they are asked for, or mapped several at a time, in their order.
#include "data/ahead.h"
#include "ops/data/dataset_op.h"
#include "thread/pool.h"

typedef struct {
    Dataset dataset;
    int64_t n;           // elements ahead, or calls at once; -1: as it goes
    bool preserves;
} AheadDataset;

typedef struct {
    Source source;
    Ahead *ahead;        // NULL: one by one
} AheadSource;

enum { AUTOTUNE = -1, AHEAD_MOST = 1 << 20 };

static Status *ahead_source_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    AheadSource *from = (AheadSource *)source;
    return from->ahead ? ahead_next(from->ahead, pull, out, how) : source_next(source->input, pull, out, how);
}

static void ahead_source_close(Source *source) {
    ahead_close(((AheadSource *)source)->ahead);
}

static Status *ahead_source_position(Source *source, Position *p) {
    AheadSource *from = (AheadSource *)source;
    return from->ahead ? ahead_position(from->ahead, p) : position_source(p, source->input);
}

// ---------------------------------------- prefetch

static Status *prefetch_fill(Kernel *k, Dataset *dataset) {
    AheadDataset *own = (AheadDataset *)dataset;
    TRY(dataset_int(k, "buffer_size", &own->n));
    NEED(own->n >= 0 || own->n == AUTOTUNE, INVALID_ARGUMENT,
         "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
    return OK;
}

static Status *prefetch_open(Source *source) {
    AheadSource *from = (AheadSource *)source;
    int64_t n = ((const AheadDataset *)source->dataset)->n;
    Source *input;
    TRY(source_open(source->dataset->inputs[0], source->pipeline, source, &input));
    AheadSpec spec = {.limit = n == AUTOTUNE ? 0 : n, .calls = 1, .dataset = source->dataset};
    if (n)
        return ahead_new(&spec, input, &from->ahead);
    source->input = input;
    return OK;
}

static const DatasetType prefetch_type = {
    .name = "Prefetch", .size = sizeof(AheadDataset), .source_size = sizeof(AheadSource), .n_inputs = 1, .same = true,
    .fill = prefetch_fill, .open = prefetch_open, .next = ahead_source_next, .close = ahead_source_close,
    .position = ahead_source_position,
};

const Op op_PrefetchDataset = {
    .signature = "PrefetchDataset(input_dataset: variant, buffer_size: int64) -> handle: variant; " ELEMENTS
                 "; slack_period: int = 0; legacy_autotune: bool = true; buffer_size_min: int = 0" METADATA,
    .doc = "A dataset that fetches so many elements ahead, in the background.", .needs = "scalar(buffer_size)",
    MAKES(prefetch_type),
};

// ---------------------------------------- parallel map

static Status *parallel_fill(Kernel *k, Dataset *dataset) {
    AheadDataset *own = (AheadDataset *)dataset;
    TRY(dataset_int(k, "num_parallel_calls", &own->n));
    NEED(own->n > 0 || own->n == AUTOTUNE, INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
    own->n = own->n > AHEAD_MOST ? AHEAD_MOST : own->n;
    own->preserves = node_bool(k->node, "preserve_cardinality");
    return OK;
}

static int64_t parallel_cardinality(const Dataset *dataset) {
    return ((const AheadDataset *)dataset)->preserves ? dataset_cardinality(dataset->inputs[0]) : CARDINALITY_UNKNOWN;
}

// As many results are kept as calls may run, as in TensorFlow.
static Status *parallel_open(Source *source) {
    AheadSource *from = (AheadSource *)source;
    const AheadDataset *own = (const AheadDataset *)source->dataset;
    Source *input;
    TRY(source_open(source->dataset->inputs[0], source->pipeline, source, &input));
    int64_t n = own->n == AUTOTUNE ? pool_limit() : own->n;
    AheadSpec spec = {.limit = n, .calls = (int)n, .function = &own->dataset.function, .dataset = &own->dataset,
                      .preserves = own->preserves};
    return ahead_new(&spec, input, &from->ahead);
}

static const DatasetType parallel_type = {
    .name = "ParallelMap", .size = sizeof(AheadDataset), .source_size = sizeof(AheadSource), .n_inputs = 1, .function = "f",
    .fill = parallel_fill, .cardinality = parallel_cardinality, .open = parallel_open, .next = ahead_source_next,
    .close = ahead_source_close, .position = ahead_source_position,
};

const Op op_ParallelMapDataset = {
    .signature = "ParallelMapDataset(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int32) -> "
                 "handle: variant; f: func; Targuments: list(type) >= 0; " ELEMENTS "; use_inter_op_parallelism: bool = true; "
                 "sloppy: bool = false; preserve_cardinality: bool = false" METADATA,
    .doc = "A dataset of what f makes of each element, several at a time, in their order.",
    .needs = "scalar(num_parallel_calls)", .keeps = BIT(1), MAKES(parallel_type),
};

const Op op_ParallelMapDatasetV2 = {
    .signature = "ParallelMapDatasetV2(input_dataset: variant, other_arguments: Targuments, num_parallel_calls: int64) -> "
                 "handle: variant; f: func; Targuments: list(type) >= 0; " ELEMENTS "; use_inter_op_parallelism: bool = true; "
                 "deterministic: string = \"default\"; preserve_cardinality: bool = false; use_unbounded_threadpool: bool = "
                 "false" METADATA,
    .doc = "A dataset of what f makes of each element, several at a time, in their order.",
    .needs = "scalar(num_parallel_calls)", .keeps = BIT(1), MAKES(parallel_type),
};
