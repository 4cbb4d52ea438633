// Shuffle — a dataset in another order: TensorFlow's own for a seed. An element is drawn from a buffer that is filled first;
// its place is taken by the oldest, whose place the next to come will take.
#include "ops/data/dataset_op.h"
#include "resource/resource.h"
#include "ops/data/seeds.h"
#include "ops/random/stream.h"

// ---------------------------------------- seeds

static void generator_clear(Resource *resource) {
    mutex_clear(&((SeedGenerator *)resource)->lock);
}

static const ResourceType generator_type = {"SeedGenerator", sizeof(SeedGenerator), generator_clear, NULL};

Status *seed_generator_new(int64_t seed, int64_t seed2, bool changes, SeedGenerator **out) {
    Resource *resource;
    TRY(resource_new(&generator_type, &resource));
    SeedGenerator *generator = (SeedGenerator *)resource;
    bool given = seed || seed2;
    mutex_init(&generator->lock);
    generator->seeds[0] = given ? seed : (int64_t)stream_system_seed();
    generator->seeds[1] = given ? seed2 : (int64_t)stream_system_seed();
    generator->changes = changes;
    generator->numbers.philox = philox_seeded((uint64_t)generator->seeds[0], (uint64_t)generator->seeds[1]);
    *out = generator;
    return OK;
}

Status *seed_generator_of(Kernel *k, const char *argument, int64_t seed, int64_t seed2, bool changes, SeedGenerator **out) {
    Resource *resource;
    TRY(nameless_input(k, argument, &generator_type, &resource));
    if (!resource)
        return seed_generator_new(seed, seed2, changes, out);
    *out = (SeedGenerator *)resource;
    return OK;
}

PhiloxNumbers seed_generator_next(SeedGenerator *generator) {
    mutex_lock(&generator->lock);
    uint64_t seed = (uint64_t)generator->seeds[0], second = (uint64_t)generator->seeds[1];
    if (generator->changes) {
        seed = philox_number(&generator->numbers);
        second = philox_number(&generator->numbers);
    }
    mutex_unlock(&generator->lock);
    return (PhiloxNumbers){.philox = philox_seeded(seed, second)};
}

Status *seed_generator_position(SeedGenerator *generator, Position *p) {
    mutex_lock(&generator->lock);
    Status *status = position_bytes(p, generator->seeds, sizeof generator->seeds);
    if (!status)
        status = philox_numbers_position(&generator->numbers, p);
    mutex_unlock(&generator->lock);
    return status;
}

static Status *generator_run(Kernel *k) {
    AUTO(resource) Resource *resource = NULL;
    SeedGenerator *generator;
    bool changes = k->n_in < 3 || *(const bool *)k->in[2]->data;
    TRY(seed_generator_new(tensor_int(k->in[0], 0), tensor_int(k->in[1], 0), changes, &generator));
    resource = &generator->resource;
    return nameless_output(k, resource);
}

static Status *dummy_run(Kernel *k) {
    return nameless_dummy(k, &generator_type);
}

#define GENERATES \
    .shape = shape_scalar, .cpu = ANY_TYPE(generator_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT
const Op op_AnonymousRandomSeedGenerator = {
    .signature = "AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> handle: resource, deleter: variant; stateful",
    .doc = "Seeds for shuffles, others at every pass.", .needs = "scalar(seed), scalar(seed2)", GENERATES,
};
const Op op_AnonymousSeedGenerator = {
    .signature = "AnonymousSeedGenerator(seed: int64, seed2: int64, reshuffle: bool) -> handle: resource, deleter: variant; "
                 "stateful",
    .doc = "Seeds for shuffles, others at every pass or the same.",
    .needs = "scalar(seed), scalar(seed2), scalar(reshuffle)", GENERATES,
};
const Op op_DummySeedGenerator = {
    .signature = "DummySeedGenerator() -> handle: resource; stateful", .doc = "Stands for no generator of seeds.",
    .shape = shape_scalar, .cpu = ANY_TYPE(dummy_run), .flags = OP_DYNAMIC_SHAPE | OP_CHEAP | OP_NO_GRADIENT,
};

#define DELETES /* it goes with its last handle */ \
    .doc = "Lets a generator of seeds go.", .shape = shape_none, .cpu = ANY_TYPE(kernel_nothing), .flags = OP_NO_GRADIENT
const Op op_DeleteSeedGenerator = {
    .signature = "DeleteSeedGenerator(handle: resource, deleter: variant); stateful", DELETES,
};
const Op op_DeleteRandomSeedGenerator = {
    .signature = "DeleteRandomSeedGenerator(handle: resource, deleter: variant); stateful", DELETES,
};

// ---------------------------------------- shuffling

typedef struct {
    Dataset dataset;
    int64_t size;            // of the buffer; CARDINALITY_UNKNOWN: all
    int64_t count;           // passes over the input; -1: no end
    SeedGenerator *seeds;
} ShuffleDataset;

typedef struct {
    int64_t start, end;      // of a pass: which elements of it lie in the buffer, modulo its size
} Slice;

typedef struct {
    Source source;
    Tuples buffer;           // as many places as were ever taken
    VEC(Slice) slices;       // a pass each
    PhiloxNumbers numbers;
    int64_t passes, n;       // passes that began, elements in the buffer
    bool produced;
    Tensor *element;
} ShuffleSource;

enum { PASSES_MOST = 3 };    // that lie in the buffer at once

static Status *shuffle_fill(Kernel *k, Dataset *dataset) {
    ShuffleDataset *own = (ShuffleDataset *)dataset;
    int64_t seed = 0, second = 0;
    int first, count;
    own->count = 1;
    TRY(dataset_int(k, "buffer_size", &own->size));
    NEED(own->size > 0 || own->size == CARDINALITY_UNKNOWN, INVALID_ARGUMENT,
         "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    if (node_input_arg(k->node, STR("seed"), &first, &count) >= 0) {
        TRY(dataset_int(k, "seed", &seed));
        TRY(dataset_int(k, "seed2", &second));
    }
    if (node_input_arg(k->node, STR("count"), &first, &count) >= 0) {
        TRY(dataset_int(k, "count", &own->count));
        NEED(own->count > 0 || own->count == -1, INVALID_ARGUMENT, "count must be greater than zero or equal to -1.");
    }
    const AttrValue *changes = node_attr_find(k->node, "reshuffle_each_iteration");
    return seed_generator_of(k, "seed_generator", seed, second, changes && changes->b, &own->seeds);
}

static void shuffle_clear(Dataset *dataset) {
    SeedGenerator *seeds = ((ShuffleDataset *)dataset)->seeds;
    resource_release(seeds ? &seeds->resource : NULL);
}

static int64_t shuffle_cardinality(const Dataset *dataset) {
    const ShuffleDataset *own = (const ShuffleDataset *)dataset;
    int64_t n = dataset_cardinality(dataset->inputs[0]), all;
    if (own->count == -1)
        return n == 0 ? 0 : CARDINALITY_INFINITE;
    if (n < 0)
        return n;
    return __builtin_mul_overflow(n, own->count, &all) ? CARDINALITY_UNKNOWN : all;
}

static Status *shuffle_open(Source *source) {
    ShuffleSource *from = (ShuffleSource *)source;
    const ShuffleDataset *own = (const ShuffleDataset *)source->dataset;
    from->buffer.width = source->dataset->n_components;
    from->element = tuple_new(from->buffer.width);
    NEED_MEMORY(from->element);
    from->numbers = seed_generator_next(own->seeds);
    return OK;
}

static void shuffle_close(Source *source) {
    ShuffleSource *from = (ShuffleSource *)source;
    tuples_clear(&from->buffer);
    vec_clear(&from->slices);
    free(from->element);
}

static bool has_room(const ShuffleSource *from) {
    const ShuffleDataset *own = (const ShuffleDataset *)from->source.dataset;
    if (!from->source.input && own->count != -1 && from->passes >= own->count)
        return false;
    if (from->slices.n > PASSES_MOST && from->n > 0)
        return false;
    return own->size == CARDINALITY_UNKNOWN || from->n < own->size;
}

static size_t place_of(const ShuffleSource *from, int64_t i) {
    int64_t size = ((const ShuffleDataset *)from->source.dataset)->size;
    return (size_t)(size > 0 ? i % size : i);
}

static Status *begin_pass(ShuffleSource *from) {
    Source *source = &from->source;
    int64_t at = from->slices.n ? vec_last(&from->slices).end : 0;
    NEED_MEMORY(vec_push(&from->slices, (Slice){at, at}));
    Status *status = source_open(source->dataset->inputs[0], source->pipeline, source, &source->input);
    if (status)
        from->slices.n--;
    else
        from->passes++;
    return status;
}

static Status *put(ShuffleSource *from) {
    size_t width = (size_t)from->buffer.width, place = place_of(from, vec_last(&from->slices).end);
    if (place == tuples_count(&from->buffer)) {
        TRY(tuples_push(&from->buffer, from->element));
    } else {
        memcpy(tuples_at(&from->buffer, place), from->element, width * sizeof *from->element);
        memset(from->element, 0, width * sizeof *from->element);
    }
    from->n++;
    vec_last(&from->slices).end++;
    return OK;
}

static Status *fill_buffer(ShuffleSource *from, const Pull *pull, Pulled *how) {
    Source *source = &from->source;
    *how = PULLED;
    while (has_room(from)) {
        if (!source->input)
            TRY(begin_pass(from));
        TRY_NEXT(source->input, pull, from->element, how);
        if (*how == PULLED) {
            from->produced = true;
            TRY(put(from));
            continue;
        }
        source_close(source->input);
        source->input = NULL;
        *how = PULLED;
        if (!from->produced && ((const ShuffleDataset *)source->dataset)->count == -1)
            return OK;  // an empty one for ever ends
    }
    return OK;
}

// The pass of the oldest elements; behind one that is through, others seeds hold.
static Slice *first_slice(ShuffleSource *from) {
    const ShuffleDataset *own = (const ShuffleDataset *)from->source.dataset;
    size_t empty = 0;
    while (empty < from->slices.n && from->slices.p[empty].start == from->slices.p[empty].end) {
        empty++;
        from->numbers = seed_generator_next(own->seeds);
    }
    from->slices.n -= empty;
    memmove(from->slices.p, from->slices.p + empty, from->slices.n * sizeof *from->slices.p);
    return from->slices.p;
}

static Status *shuffle_next(Source *source, const Pull *pull, Tensor *out, Pulled *how) {
    ShuffleSource *from = (ShuffleSource *)source;
    TRY(fill_buffer(from, pull, how));
    if (*how == PULLED_LATER)
        return OK;
    if (!from->n)
        return pulled_end(how);
    Slice *slice = first_slice(from);
    int64_t drawn = slice->start + philox_number(&from->numbers) % (slice->end - slice->start);  // not empty
    Tensor *taken = tuples_at(&from->buffer, place_of(from, drawn));
    Tensor *oldest = tuples_at(&from->buffer, place_of(from, slice->start));
    size_t bytes = (size_t)from->buffer.width * sizeof *out;
    memcpy(out, taken, bytes);
    memmove(taken, oldest, bytes);
    memset(oldest, 0, bytes);
    slice->start++;
    from->n--;
    return pulled(how);
}

static Status *position_slices(ShuffleSource *from, Position *p) {
    int64_t n = (int64_t)from->slices.n, held = 0;
    TRY(position_int(p, &n, 0, p->loads ? (int64_t)cursor_left(&p->in) : INT64_MAX));
    for (int64_t i = 0; i < n; i++) {
        if (p->loads)
            NEED_MEMORY(vec_push(&from->slices, ((Slice){0})));
        Slice *slice = &from->slices.p[i];
        TRY(position_int(p, &slice->start, i ? from->slices.p[i - 1].end : 0, INT64_MAX));
        TRY(position_int(p, &slice->end, slice->start, INT64_MAX));
        NEED(add_i64(held, slice->end - slice->start, &held), DATA_LOSS, "the state of a shuffle is damaged");
    }
    NEED(!p->loads || held == from->n, DATA_LOSS, "the state of a shuffle is damaged: %lld elements in passes of %lld",
         (long long)from->n, (long long)held);
    return OK;
}

// Whether each element that a pass has in the buffer is there, and the next to come has its place.
static Status *check_places(const ShuffleSource *from) {
    size_t count = tuples_count(&from->buffer);
    NEED(!from->slices.n || place_of(from, vec_last(&from->slices).end) <= count, DATA_LOSS,
         "the state of a shuffle is damaged: a gap in the buffer");
    for (size_t i = 0; i < from->slices.n; i++)
        for (int64_t at = from->slices.p[i].start; at < from->slices.p[i].end; at++) {
            size_t place = place_of(from, at);
            NEED(place < count && tuples_at(&from->buffer, place)->dtype != DT_INVALID, DATA_LOSS,
                 "the state of a shuffle is damaged: element %lld is not there", (long long)at);
        }
    return OK;
}

static Status *shuffle_position(Source *source, Position *p) {
    ShuffleSource *from = (ShuffleSource *)source;
    const Dataset *dataset = source->dataset;
    TRY(position_int(p, &from->passes, 0, INT64_MAX));
    TRY(position_tuples(p, &from->buffer, dataset->dtypes, true));
    TRY(position_int(p, &from->n, 0, (int64_t)tuples_count(&from->buffer)));
    TRY(position_slices(from, p));
    TRY(check_places(from));
    TRY(philox_numbers_position(&from->numbers, p));
    TRY(position_bool(p, &from->produced));
    TRY(position_input(p, source, dataset->inputs[0]));
    NEED(!source->input || from->slices.n, DATA_LOSS, "the state of a shuffle is damaged: a pass is missing");
    return OK;
}

static Status *shuffle_shared(const Dataset *dataset, Position *p) {
    return seed_generator_position(((const ShuffleDataset *)dataset)->seeds, p);
}

static const DatasetType shuffle_type = {
    .name = "Shuffle", .size = sizeof(ShuffleDataset), .source_size = sizeof(ShuffleSource), .n_inputs = 1, .same = true,
    .fill = shuffle_fill, .clear = shuffle_clear, .cardinality = shuffle_cardinality, .open = shuffle_open,
    .next = shuffle_next, .close = shuffle_close, .position = shuffle_position, .shared = shuffle_shared,
};

#define SHUFFLES .doc = "A dataset in another order: each element is drawn from the next buffer_size.", MAKES(shuffle_type)
#define REPEATS                                                                                                  \
    .doc = "A dataset count times over, each in another order: each element is drawn from the next buffer_size.", \
    MAKES(shuffle_type)
#define BUFFERED "(input_dataset: variant, buffer_size: int64"
#define BY_SEEDS ", seed: int64, seed2: int64"
#define RESHUFFLE "reshuffle_each_iteration: bool = true"
const Op op_ShuffleDataset = {
    .signature = "ShuffleDataset" BUFFERED BY_SEEDS ") -> handle: variant; " RESHUFFLE "; " ELEMENTS METADATA,
    .needs = "scalar(buffer_size), scalar(seed), scalar(seed2)", SHUFFLES,
};
const Op op_ShuffleDatasetV2 = {
    .signature = "ShuffleDatasetV2" BUFFERED ", seed_generator: resource) -> handle: variant; " ELEMENTS METADATA "; stateful",
    .needs = "scalar(buffer_size), scalar(seed_generator)", SHUFFLES,
};
const Op op_ShuffleDatasetV3 = {
    .signature = "ShuffleDatasetV3" BUFFERED BY_SEEDS ", seed_generator: resource) -> handle: variant; " RESHUFFLE "; " ELEMENTS
                 METADATA "; stateful",
    .needs = "scalar(buffer_size), scalar(seed), scalar(seed2), scalar(seed_generator)", SHUFFLES,
};
const Op op_ShuffleAndRepeatDataset = {
    .signature = "ShuffleAndRepeatDataset" BUFFERED BY_SEEDS ", count: int64) -> handle: variant; " ELEMENTS "; " RESHUFFLE
                 METADATA,
    .needs = "scalar(buffer_size), scalar(seed), scalar(seed2), scalar(count)", REPEATS,
};
const Op op_ShuffleAndRepeatDatasetV2 = {
    .signature = "ShuffleAndRepeatDatasetV2" BUFFERED BY_SEEDS ", count: int64, seed_generator: resource) -> handle: variant; "
                 RESHUFFLE "; " ELEMENTS METADATA "; stateful",
    .needs = "scalar(buffer_size), scalar(seed), scalar(seed2), scalar(count), scalar(seed_generator)", REPEATS,
};
