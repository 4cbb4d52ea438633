// Datasets that say how — options, models, thread pools: the elements are the input's. And those that only look on: what the
// number of elements shall be, and errors that shall not matter.
#include "ops/data/dataset_op.h"

static Status *pass_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    return source_next(source->input, pull, out, how);
}

static const DatasetType pass_type = {.name = "Pass", .n_inputs = 1, .same = true, .next = pass_next};

#define SAME_ELEMENTS .doc = "The dataset as it is: how it runs is the library's business here.", MAKES(pass_type)
#define PASSES "(input_dataset: variant) -> handle: variant; "

const Op op_OptionsDataset = {
    .signature = "OptionsDataset" PASSES "serialized_options: string; " ELEMENTS METADATA, SAME_ELEMENTS,
};
const Op op_ModelDataset = {
    .signature = "ModelDataset" PASSES "algorithm: int = 0; cpu_budget: int = 0; ram_budget: int = 0; " ELEMENTS, SAME_ELEMENTS,
};
const Op op_FinalizeDataset = {
    .signature = "FinalizeDataset" PASSES "has_captured_ref: bool = false; " ELEMENTS, SAME_ELEMENTS,
};
const Op op_NonSerializableDataset = {
    .signature = "NonSerializableDataset" PASSES ELEMENTS, SAME_ELEMENTS,
};
#define CONFIGS "; optimization_configs: list(string) = []"
const Op op_OptimizeDataset = {
    .signature = "OptimizeDataset(input_dataset: variant, optimizations: string) -> handle: variant; " ELEMENTS CONFIGS,
    SAME_ELEMENTS,
};
const Op op_OptimizeDatasetV2 = {
    .signature = "OptimizeDatasetV2(input_dataset: variant, optimizations_enabled: string, optimizations_disabled: string, "
                 "optimizations_default: string) -> handle: variant; " ELEMENTS CONFIGS,
    SAME_ELEMENTS,
};
const Op op_MaxIntraOpParallelismDataset = {
    .signature = "MaxIntraOpParallelismDataset(input_dataset: variant, max_intra_op_parallelism: int64) -> handle: variant; "
                 ELEMENTS,
    SAME_ELEMENTS,
};
const Op op_PrivateThreadPoolDataset = {
    .signature = "PrivateThreadPoolDataset(input_dataset: variant, num_threads: int64) -> handle: variant; " ELEMENTS,
    SAME_ELEMENTS,
};

static Status *variant_run(Kernel *k) {
    Dataset *dataset;
    Tensor out;
    TRY(dataset_get(k->in[0], &dataset));
    TRY(dataset_tensor(dataset_retain(dataset), &out));
    kernel_set_output(k, 0, out);
    return OK;
}

#define WRAPS                                                                                                    \
    .doc = "The dataset as it is.", .shape = shape_scalar, .cpu = ANY_TYPE(variant_run),                          \
    .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT
const Op op_WrapDatasetVariant = {
    .signature = "WrapDatasetVariant(input_handle: variant) -> output_handle: variant", WRAPS,
};
const Op op_UnwrapDatasetVariant = {
    .signature = "UnwrapDatasetVariant(input_handle: variant) -> output_handle: variant", WRAPS,
};

// ---------------------------------------- how many there must be

typedef struct {
    Dataset dataset;
    int64_t n;
} SizedDataset;

typedef struct {
    Source source;
    int64_t at;
} SizedSource;

static Status *sized_fill(Kernel *k, Dataset *dataset) {
    return dataset_int(k, "cardinality", &((SizedDataset *)dataset)->n);
}

static int64_t sized_cardinality(const Dataset *dataset) {
    return ((const SizedDataset *)dataset)->n;
}

static Status *sized_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    SizedSource *from = (SizedSource *)source;
    int64_t n = ((const SizedDataset *)source->dataset)->n;
    TRY_NEXT(source->input, pull, out, how);
    if (*how == PULLED_END) {
        NEED(n == from->at || n == CARDINALITY_UNKNOWN, FAILED_PRECONDITION,
             "Input dataset was expected to contain %lld elements but contained only %lld elements.", (long long)n,
             (long long)from->at);
        return OK;
    }
    from->at++;
    if (n >= 0 && from->at > n) {
        tuple_clear(out, source->dataset->n_components);
        FAIL(FAILED_PRECONDITION, "Input dataset was expected to contain %lld elements but contained at least %lld elements.",
             (long long)n, (long long)from->at);
    }
    return OK;
}

static Status *sized_position(Source *source, Position *p) {
    TRY(position_int(p, &((SizedSource *)source)->at, 0, INT64_MAX));
    return position_source(p, source->input);
}

static const DatasetType sized_type = {
    .name = "AssertCardinality", .size = sizeof(SizedDataset), .source_size = sizeof(SizedSource), .n_inputs = 1,
    .same = true, .fill = sized_fill, .cardinality = sized_cardinality, .next = sized_next,
    .position = sized_position,
};

const Op op_AssertCardinalityDataset = {
    .signature = "AssertCardinalityDataset(input_dataset: variant, cardinality: int64) -> handle: variant; " ELEMENTS,
    .doc = "The dataset, which must have so many elements.", .needs = "scalar(cardinality)", MAKES(sized_type),
};

// ---------------------------------------- errors that don't matter

static Status *ignore_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    for (;;) {
        Status *status = source_next(source->input, pull, out, how);
        Code code = status_code(status);
        if (code == CODE_OK || code == CANCELLED || code == DEADLINE_EXCEEDED)
            return status;
        status_free(status);
    }
}

static int64_t ignore_cardinality(const Dataset *dataset) {
    int64_t n = dataset_cardinality(dataset->inputs[0]);
    return n == CARDINALITY_INFINITE || n == 0 ? n : CARDINALITY_UNKNOWN;
}

static const DatasetType ignore_type = {
    .name = "IgnoreErrors", .n_inputs = 1, .same = true, .cardinality = ignore_cardinality, .next = ignore_next,
};

const Op op_IgnoreErrorsDataset = {
    .signature = "IgnoreErrorsDataset" PASSES ELEMENTS "; log_warning: bool = false",
    .doc = "A dataset of the elements that are no errors.", MAKES(ignore_type),
};
