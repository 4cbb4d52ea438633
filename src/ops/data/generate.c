// Datasets out of nothing — what functions generate, and random numbers.
#include "ops/data/dataset_op.h"
#include "ops/data/seeds.h"

// ---------------------------------------- generators

typedef struct {
    Dataset dataset;           // its function gives the next element of a state
    DatasetFunction init, finalize;
} GeneratorDataset;

typedef struct {
    Source source;
    Tensor *state;             // what `init` returned
    int n_state;
    bool began, ended;
} GeneratorSource;

static Status *generator_fill(Kernel *k, Dataset *dataset) {
    GeneratorDataset *own = (GeneratorDataset *)dataset;
    TRY(dataset_read_function(k, dataset, "init_func", "init_func_other_args", &own->init));
    TRY(dataset_read_function(k, dataset, "next_func", "next_func_other_args", &dataset->function));
    return dataset_read_function(k, dataset, "finalize_func", "finalize_func_other_args", &own->finalize);
}

static int64_t generator_cardinality(const Dataset *dataset) {
    (void)dataset;
    return CARDINALITY_UNKNOWN;
}

// Once the last element is out, or nobody wants more: the function may free what the state stands for.
static Status *finalize(GeneratorSource *from, const Pull *pull) {
    const GeneratorDataset *own = (const GeneratorDataset *)from->source.dataset;
    Tensor ignored = {0};
    if (!from->began || from->ended)
        return OK;
    from->ended = true;
    Status *status = source_call(&from->source, pull, &own->finalize, from->state, from->n_state, &ignored, 1);
    tensor_clear(&ignored);
    return status;
}

static void generator_close(Source *source) {
    GeneratorSource *from = (GeneratorSource *)source;
    Pull pull = {.cancellation = &source->pipeline->background->cancellation, .deadline = NO_DEADLINE};
    status_free(finalize(from, &pull));
    if (from->state)
        tuple_clear(from->state, from->n_state);
    free(from->state);
}

static Status *generator_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    GeneratorSource *from = (GeneratorSource *)source;
    const GeneratorDataset *own = (const GeneratorDataset *)source->dataset;
    if (from->ended)
        return pulled_end(how);
    if (!from->began) {
        from->state = from->state ? from->state : tuple_new(1);
        NEED_MEMORY(from->state);
        TRY(source_call(source, pull, &own->init, NULL, 0, from->state, 1));
        from->n_state = 1;
        from->began = true;
    }
    Status *status = source_call(source, pull, &own->dataset.function, from->state, from->n_state, out,
                                 own->dataset.n_components);
    if (status_code(status) != OUT_OF_RANGE) {
        *how = PULLED;
        return status;
    }
    status_free(status);
    TRY(finalize(from, pull));
    return pulled_end(how);
}

static const DatasetType generator_type = {
    .name = "Generator", .size = sizeof(GeneratorDataset), .source_size = sizeof(GeneratorSource), .fill = generator_fill,
    .cardinality = generator_cardinality, .next = generator_next, .close = generator_close,
};

const Op op_GeneratorDataset = {
    .signature = "GeneratorDataset(init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
                 "finalize_func_other_args: Tfinalize_func_args) -> handle: variant; init_func: func; next_func: func; "
                 "finalize_func: func; Tinit_func_args: list(type) >= 0; Tnext_func_args: list(type) >= 0; "
                 "Tfinalize_func_args: list(type) >= 0; " ELEMENTS METADATA "; stateful",
    .doc = "A dataset of what next_func makes of the state that init_func made, until it is out of range.",
    .keeps = BIT(0) | BIT(1) | BIT(2), MAKES(generator_type),
};

// ---------------------------------------- random numbers

typedef struct {
    Dataset dataset;
    SeedGenerator *seeds;
} RandomDataset;

typedef struct {
    Source source;
    PhiloxNumbers numbers;
} RandomSource;

static Status *numbers_fill(Kernel *k, Dataset *dataset) {
    RandomDataset *own = (RandomDataset *)dataset;
    const AttrValue *changes = node_attr_find(k->node, "rerandomize_each_iteration");
    int64_t seed, second;
    TRY(dataset_int(k, "seed", &seed));
    TRY(dataset_int(k, "seed2", &second));
    NEED(dataset->n_components == 1 && dataset->dtypes[0] == DT_int64, INVALID_ARGUMENT, "random numbers are of type int64");
    return seed_generator_of(k, "seed_generator", seed, second, changes && changes->b, &own->seeds);
}

static void numbers_clear(Dataset *dataset) {
    SeedGenerator *seeds = ((RandomDataset *)dataset)->seeds;
    resource_release(seeds ? &seeds->resource : NULL);
}

static int64_t numbers_cardinality(const Dataset *dataset) {
    (void)dataset;
    return CARDINALITY_INFINITE;
}

static Status *numbers_open(Source *source) {
    ((RandomSource *)source)->numbers = seed_generator_next(((const RandomDataset *)source->dataset)->seeds);
    return OK;
}

static Status *numbers_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    (void)pull;
    TRY(tensor_new(DT_int64, SCALAR_SHAPE, out));
    *(int64_t *)out->data = philox_number(&((RandomSource *)source)->numbers);
    return pulled(how);
}

static Status *numbers_position(Source *source, Position *p) {
    return philox_numbers_position(&((RandomSource *)source)->numbers, p);
}

static Status *numbers_shared(const Dataset *dataset, Position *p) {
    return seed_generator_position(((const RandomDataset *)dataset)->seeds, p);
}

static const DatasetType random_type = {
    .name = "Random", .size = sizeof(RandomDataset), .source_size = sizeof(RandomSource), .fill = numbers_fill,
    .clear = numbers_clear, .cardinality = numbers_cardinality, .open = numbers_open, .next = numbers_next,
    .position = numbers_position, .shared = numbers_shared,
};

#define RANDOM_NUMBERS .doc = "A dataset of random numbers without end, from 0 to 2^32 - 1.", MAKES(random_type)
const Op op_RandomDataset = {
    .signature = "RandomDataset(seed: int64, seed2: int64) -> handle: variant; " ELEMENTS METADATA "; stateful",
    .needs = "scalar(seed), scalar(seed2)", RANDOM_NUMBERS,
};
const Op op_RandomDatasetV2 = {
    .signature = "RandomDatasetV2(seed: int64, seed2: int64, seed_generator: resource) -> handle: variant; "
                 "rerandomize_each_iteration: bool = false; " ELEMENTS METADATA "; stateful",
    .needs = "scalar(seed), scalar(seed2), scalar(seed_generator)", RANDOM_NUMBERS,
};
