// Features — see features.h.
#include "ops/io/features.h"

#include "base/vec.h"
#include "proto/example.h"

enum {
    CHUNKS_MOST = 64,
    CHUNK_LEAST = 8,     // examples that are worth a chunk
    ORDER_MOST = 256,    // entries whose keys are expected where the example before had them
    WALK_PS = 600,       // picoseconds for a byte
    FEATURE_PS = 30000,  // and for a feature that was asked for
};

// ---------------------------------------- what is asked for

Status *feature_specs_init(FeatureSpecs *specs, int n) {
    *specs = (FeatureSpecs){.n = n};
    specs->specs = calloc((size_t)n + 1, sizeof *specs->specs);
    NEED_MEMORY(specs->specs);
    return OK;
}

void feature_specs_clear(FeatureSpecs *specs) {
    free(specs->specs);
    map_clear(&specs->by_key);
    *specs = (FeatureSpecs){0};
}

static Status *check_dense(FeatureSpec *spec, int at) {
    const Shape *shape = &spec->shape, *fallback = &spec->fallback->shape;
    bool is_open = shape->rank > 0 && shape->dims[0] < 0;
    Shape rest = is_open ? (Shape){.rank = shape->rank - 1} : *shape;
    for (int i = 0; is_open && i < rest.rank; i++)
        rest.dims[i] = shape->dims[i + 1];
    NEED(shape_is_known(&rest), INVALID_ARGUMENT, "dense_shapes[%d] has unknown rank or unknown inner dimensions: %s",
         at, shape_text(shape));
    NEED(spec->fallback->dtype == spec->dtype, INVALID_ARGUMENT, "def_value[%d] is of type %s, not %s", at,
         dtype_name(spec->fallback->dtype), dtype_name(spec->dtype));
    spec->kind = is_open ? FEATURE_VARIABLE : FEATURE_FIXED;
    spec->stride = shape_count(&rest);
    if (is_open) {
        NEED(spec->stride > 0, INVALID_ARGUMENT, "dense_shape[%d] has elements of no size: %s", at, shape_text(shape));
        NEED(tensor_count(spec->fallback) == 1, INVALID_ARGUMENT,
             "dense_shape[%d] is a variable length shape: %s, therefore def_value[%d] must contain a single element "
             "(the padding element).  But its shape is: %s", at, shape_text(shape), at, shape_text(fallback));
    } else {
        NEED(!tensor_count(spec->fallback) || shape_equal(fallback, shape), INVALID_ARGUMENT,
             "def_value[%d].shape() == %s is not compatible with dense_shapes_[%d] == %s", at, shape_text(fallback),
             at, shape_text(shape));
    }
    return OK;
}

Status *feature_specs_check(FeatureSpecs *specs, int first_dense) {
    for (int i = 0; i < specs->n; i++) {
        FeatureSpec *spec = &specs->specs[i];
        if (spec->kind == FEATURE_FIXED)
            TRY(check_dense(spec, i - first_dense));
        NEED(!map_find(&specs->by_key, spec->key), INVALID_ARGUMENT, "the feature %.*s is asked for twice",
             STR_ARGS(spec->key));
        NEED_MEMORY(map_set(&specs->by_key, spec->key, spec));
    }
    return OK;
}

// ---------------------------------------- one call

// A feature of an example.
typedef struct {
    FeatureList list;
    int64_t count;
    int32_t spec;
} Found;

// A key where the example before had it, and what it stood for.
typedef struct {
    Str key;
    int32_t spec;        // -1: nobody asked for it
} Expected;

// Of one spec in one chunk.
typedef struct {
    int64_t example;     // 1 + the one that had it last
    size_t at;           // its place in `found`
    int64_t values;      // in all
    int64_t most;        // in one example
    int64_t begin;       // where the chunk's first value goes in the output
} Tally;

typedef struct {
    VEC(Found) found;
    VEC(size_t) ends;    // of each example in `found`
    Tally *tallies;      // n
    Expected *expected;
    size_t n_expected;
    Status *status;
} Chunk;

typedef struct {
    Kernel *k;
    const FeatureSpecs *specs;
    const TString *serialized, *names;  // names: NULL for none
    int64_t batch, chunks;
    bool is_single;
    Chunk *all;
} Parse;

static int64_t chunk_first(const Parse *p, int64_t chunk) {
    return p->batch / p->chunks * chunk + min_i64(chunk, p->batch % p->chunks);
}

static Str name_of(const Parse *p, int64_t example) {
    return p->names ? tstring_str(&p->names[example]) : STR("<unknown>");
}

// "Name: n, Key: k, Index: 3.  ", of a single example "Key: k.  ".
static Status *at_key(const Parse *p, const FeatureSpec *spec, int64_t example, Status *reason) {
    AUTO(status) Status *inner = reason;
    if (p->is_single)
        FAIL(status_code(inner), "Key: %.*s.  %s", STR_ARGS(spec->key), status_message(inner));
    Str name = name_of(p, example);
    FAIL(status_code(inner), "Name: %.*s, Key: %.*s, Index: %lld.  %s", STR_ARGS(name), STR_ARGS(spec->key),
         (long long)example, status_message(inner));
}

#define SAYS(...) status_new(INVALID_ARGUMENT, __FILE__, __LINE__, __VA_ARGS__)

static Status *is_missing(const Parse *p, const FeatureSpec *spec, int64_t example) {
    Str name = name_of(p, example);
    if (p->is_single)
        FAIL(INVALID_ARGUMENT, "Feature: %.*s (data type: %s) is required but could not be found.", STR_ARGS(spec->key),
             dtype_name(spec->dtype));
    FAIL(INVALID_ARGUMENT, "Name: %.*s, Feature: %.*s (data type: %s) is required but could not be found.",
         STR_ARGS(name), STR_ARGS(spec->key), dtype_name(spec->dtype));
}

// ---------------------------------------- the first walk

static Status *check_type(const FeatureSpec *spec, DType dtype) {
    if (dtype == spec->dtype)
        return OK;
    if (spec->kind == FEATURE_FIXED || spec->kind == FEATURE_VARIABLE)
        return SAYS("Data types don't match. Data type: %s but expected type: %s", dtype_name(dtype),
                    dtype_name(spec->dtype));
    return SAYS("Data types don't match. Expected type: %s, Actual type: %s", dtype_name(spec->dtype),
                dtype_name(dtype));
}

static Status *check_count(const FeatureSpec *spec, int64_t count) {
    if (count < 0)
        return SAYS("Can't parse serialized Example.");
    if (spec->kind == FEATURE_FIXED && count != spec->stride)
        return SAYS("Number of %s values != expected.  Values size: %lld but output shape: %s", dtype_name(spec->dtype),
                    (long long)count, shape_text(&spec->shape));
    if (spec->kind == FEATURE_VARIABLE && count % spec->stride)
        return SAYS("Number of %s values is not a multiple of stride length. Saw %lld values but output shape is: %s",
                    dtype_name(spec->dtype), (long long)count, shape_text(&spec->shape));
    return OK;
}

// What a key stands for: mostly what it stood for at this place in the example before.
static int32_t spec_of(const Parse *p, Chunk *chunk, size_t place, Str key) {
    if (place < chunk->n_expected && str_equal(chunk->expected[place].key, key))
        return chunk->expected[place].spec;
    const FeatureSpec *spec = map_find(&p->specs->by_key, key);
    int32_t index = spec ? (int32_t)(spec - p->specs->specs) : -1;
    if (place < ORDER_MOST && place <= chunk->n_expected) {
        chunk->expected[place] = (Expected){key, index};
        chunk->n_expected = place == chunk->n_expected ? place + 1 : chunk->n_expected;
    }
    return index;
}

// Of two entries with one key the later counts.
static Status *note(Chunk *chunk, int32_t index, int64_t example, Str feature, bool *is_good) {
    Found found = {.spec = index};
    *is_good = feature_list_open(feature, &found.list);
    if (!*is_good)
        return OK;
    Tally *tally = &chunk->tallies[index];
    if (tally->example == example + 1) {
        chunk->found.p[tally->at] = found;
        return OK;
    }
    tally->example = example + 1;
    tally->at = chunk->found.n;
    NEED_MEMORY(vec_push(&chunk->found, found));
    return OK;
}

static Status *walk_example(const Parse *p, Chunk *chunk, int64_t example) {
    Str bytes = tstring_str(&p->serialized[example]), key, feature;
    FeatureWalk walk = feature_walk(bytes, 1);
    for (size_t place = 0; feature_walk_next(&walk, &key, &feature); place++) {
        int32_t index = spec_of(p, chunk, place, key);
        if (index < 0)
            continue;
        bool is_good;
        TRY(note(chunk, index, example, feature, &is_good));
        if (!is_good)
            return at_key(p, &p->specs->specs[index], example, SAYS("Can't parse serialized Example."));
    }
    NEED(!walk.is_malformed, INVALID_ARGUMENT, "Could not parse example input, value: '%.*s'", STR_ARGS(bytes));
    return OK;
}

// Counts the values of what the walk has found; a feature that says nothing is missing.
static Status *count_example(const Parse *p, Chunk *chunk, int64_t example, size_t first) {
    size_t kept = first;
    for (size_t i = first; i < chunk->found.n; i++) {
        Found found = chunk->found.p[i];
        const FeatureSpec *spec = &p->specs->specs[found.spec];
        Tally *tally = &chunk->tallies[found.spec];
        if (found.list.dtype == DT_INVALID) {
            tally->example = 0;
            continue;
        }
        Status *status = check_type(spec, found.list.dtype);
        if (!status) {
            found.count = feature_list_count(&found.list);
            status = check_count(spec, found.count);
        }
        if (status)
            return at_key(p, spec, example, status);
        tally->values += found.count;
        tally->most = max_i64(tally->most, found.count);
        chunk->found.p[kept++] = found;
    }
    chunk->found.n = kept;
    NEED_MEMORY(vec_push(&chunk->ends, kept));
    for (int i = 0; i < p->specs->n; i++) {
        const FeatureSpec *spec = &p->specs->specs[i];
        if (chunk->tallies[i].example != example + 1 && spec->kind == FEATURE_FIXED && !tensor_count(spec->fallback))
            return is_missing(p, spec, example);
    }
    return OK;
}

static Status *walk_chunk(const Parse *p, int64_t at) {
    Chunk *chunk = &p->all[at];
    chunk->tallies = calloc((size_t)p->specs->n + 1, sizeof *chunk->tallies);
    chunk->expected = malloc(ORDER_MOST * sizeof *chunk->expected);
    NEED_MEMORY(chunk->tallies && chunk->expected);
    for (int64_t i = chunk_first(p, at); i < chunk_first(p, at + 1); i++) {
        size_t first = chunk->found.n;
        TRY(context_check(p->k->step));
        TRY(walk_example(p, chunk, i));
        TRY(count_example(p, chunk, i, first));
    }
    return OK;
}

static void walk_chunks(void *arg, int64_t first, int64_t last) {
    const Parse *p = arg;
    for (int64_t i = first; i < last; i++)
        p->all[i].status = walk_chunk(p, i);
}

// ---------------------------------------- the outputs

// The sum over all chunks, which learn where theirs begin; and the most values of one example.
static void sum_up(const Parse *p, int spec, int64_t *values, int64_t *most) {
    *values = *most = 0;
    for (int64_t i = 0; i < p->chunks; i++) {
        Tally *tally = &p->all[i].tallies[spec];
        tally->begin = *values;
        *values += tally->values;
        *most = max_i64(*most, tally->most);
    }
}

static Status *output_dense(const Parse *p, const FeatureSpec *spec, int64_t most) {
    int64_t dims[MAX_RANK + 1] = {p->batch};
    int lead = !p->is_single;
    for (int i = 0; i < spec->shape.rank; i++)
        dims[i + lead] = spec->shape.dims[i];
    if (spec->kind == FEATURE_VARIABLE)
        dims[lead] = most / spec->stride;
    Shape shape;
    TRY(shape_make(dims, spec->shape.rank + lead, &shape));
    return kernel_output(p->k, spec->first, shape);
}

static Status *output_one(const Parse *p, int i) {
    const FeatureSpec *spec = &p->specs->specs[i];
    int64_t values, most;
    sum_up(p, i, &values, &most);
    if (spec->kind == FEATURE_FIXED || spec->kind == FEATURE_VARIABLE)
        return output_dense(p, spec, most);
    if (spec->kind == FEATURE_RAGGED) {
        TRY(kernel_output(p->k, spec->first, SHAPE(values)));
        NEED(spec->splits == DT_int64 || values <= INT32_MAX, INVALID_ARGUMENT,
             "%lld values of the feature %.*s don't fit row splits of int32", (long long)values, STR_ARGS(spec->key));
        return kernel_output(p->k, spec->second, SHAPE(p->is_single ? 0 : p->batch + 1));
    }
    TRY(kernel_output(p->k, spec->first, SHAPE(values, p->is_single ? 1 : 2)));
    TRY(kernel_output(p->k, spec->second, SHAPE(values)));
    TRY(kernel_output(p->k, spec->third, SHAPE(p->is_single ? 1 : 2)));
    int64_t *shape = p->k->out[spec->third]->data;
    if (!p->is_single)
        *shape++ = p->batch;
    *shape = most;
    return OK;
}

// ---------------------------------------- the second walk

static bool fill(const FeatureSpec *spec, char *to, int64_t n) {
    size_t size = dtype_size(spec->dtype);
    if (!n)
        return true;
    const void *from = spec->fallback->data;
    if (spec->kind == FEATURE_FIXED && spec->dtype != DT_string) {
        memcpy(to, from, (size_t)n * size);
        return true;
    }
    for (int64_t i = 0; i < n; i++, to += size) {
        const char *one = (const char *)from + (spec->kind == FEATURE_FIXED ? (size_t)i * size : 0);
        if (spec->dtype != DT_string)
            memcpy(to, one, size);
        else if (!tstring_assign((TString *)to, tstring_str((const TString *)one)))
            return false;
    }
    return true;
}

// Into the row of an example, behind what is there already.
static bool put_dense(const Parse *p, const FeatureSpec *spec, int64_t example, const Found *found) {
    const Tensor *out = p->k->out[spec->first];
    int64_t row = tensor_count(out), count = found ? found->count : 0;
    row = p->is_single ? row : row / p->batch;
    char *to = (char *)out->data + (size_t)(row * example) * dtype_size(spec->dtype);
    if (found && !feature_list_read(&found->list, to))
        return false;
    return spec->kind == FEATURE_FIXED && found ? true
                                                : fill(spec, to + (size_t)count * dtype_size(spec->dtype), row - count);
}

static bool put_values(const Parse *p, const FeatureSpec *spec, int64_t example, Tally *tally, const Found *found) {
    int values = spec->kind == FEATURE_SPARSE ? spec->second : spec->first;
    char *to = (char *)p->k->out[values]->data + (size_t)tally->begin * dtype_size(spec->dtype);
    if (spec->kind == FEATURE_SPARSE) {
        int width = p->is_single ? 1 : 2;
        int64_t *index = (int64_t *)p->k->out[spec->first]->data + tally->begin * width;
        for (int64_t i = 0; i < found->count; i++, index += width) {
            index[0] = example;
            index[width - 1] = i;
        }
    }
    tally->begin += found->count;
    return feature_list_read(&found->list, to);
}

static void put_split(const Parse *p, const FeatureSpec *spec, int64_t row, int64_t at) {
    void *splits = p->k->out[spec->second]->data;
    if (p->is_single)
        return;
    if (spec->splits == DT_int32)
        ((int32_t *)splits)[row] = (int32_t)at;
    else
        ((int64_t *)splits)[row] = at;
}

// What is there, then what isn't.
static bool put_example(const Parse *p, Chunk *chunk, int64_t example, size_t first, size_t last) {
    bool good = true;
    for (size_t i = first; i < last && good; i++) {
        const Found *found = &chunk->found.p[i];
        const FeatureSpec *spec = &p->specs->specs[found->spec];
        Tally *tally = &chunk->tallies[found->spec];
        tally->example = -1 - example;
        bool is_dense = spec->kind == FEATURE_FIXED || spec->kind == FEATURE_VARIABLE;
        good = is_dense ? put_dense(p, spec, example, found) : put_values(p, spec, example, tally, found);
    }
    for (int i = 0; i < p->specs->n && good; i++) {
        const FeatureSpec *spec = &p->specs->specs[i];
        if (spec->kind == FEATURE_RAGGED)
            put_split(p, spec, example + 1, chunk->tallies[i].begin);
        else if (spec->kind != FEATURE_SPARSE && chunk->tallies[i].example != -1 - example)
            good = put_dense(p, spec, example, NULL);
    }
    return good;
}

static void put_chunks(void *arg, int64_t first, int64_t last) {
    const Parse *p = arg;
    for (int64_t i = first; i < last; i++) {
        Chunk *chunk = &p->all[i];
        int64_t example = chunk_first(p, i);
        bool good = true;
        for (size_t j = 0, from = 0; j < chunk->ends.n && good; from = chunk->ends.p[j++])
            good = put_example(p, chunk, example + (int64_t)j, from, chunk->ends.p[j]);
        if (!good)
            chunk->status = OUT_OF_MEMORY;
    }
}

// ---------------------------------------- all of it

// The first chunk's error.
static Status *take_status(const Parse *p) {
    Status *first = OK;
    for (int64_t i = 0; i < p->chunks; i++) {
        Status *status = p->all[i].status;
        p->all[i].status = OK;
        if (first)
            status_free(status);
        else
            first = status;
    }
    return first;
}

static Status *parse(Parse *p) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < p->batch; i++)
        bytes += (int64_t)tstring_str(&p->serialized[i]).n;
    int64_t cost = (bytes / 1000 * WALK_PS + p->batch * p->specs->n * (FEATURE_PS / 1000)) / p->chunks + 1;
    kernel_parallel(p->k, p->chunks, cost, walk_chunks, p);
    TRY(take_status(p));
    for (int i = 0; i < p->specs->n; i++)
        TRY(output_one(p, i));
    for (int i = 0; i < p->specs->n; i++)
        if (p->specs->specs[i].kind == FEATURE_RAGGED)
            put_split(p, &p->specs->specs[i], 0, 0);
    kernel_parallel(p->k, p->chunks, cost, put_chunks, p);
    return take_status(p);
}

Status *features_parse(Kernel *k, const FeatureSpecs *specs, const Tensor *serialized, const Tensor *names) {
    Parse p = {.k = k, .specs = specs, .serialized = serialized->data, .batch = tensor_count(serialized),
               .is_single = serialized->shape.rank == 0};
    p.names = names && tensor_count(names) ? names->data : NULL;
    p.chunks = max_i64(1, min_i64(CHUNKS_MOST, p.batch / CHUNK_LEAST));
    p.all = calloc((size_t)p.chunks, sizeof *p.all);
    NEED_MEMORY(p.all);
    Status *status = parse(&p);
    for (int64_t i = 0; i < p.chunks; i++) {
        vec_clear(&p.all[i].found);
        vec_clear(&p.all[i].ends);
        free(p.all[i].tallies);
        free(p.all[i].expected);
    }
    free(p.all);
    return status;
}
