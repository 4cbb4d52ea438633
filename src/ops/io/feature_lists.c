// Feature lists — see feature_lists.h. The lists that were asked for are noted in one walk; then every key is counted and
// read by itself, keys side by side.
#include "ops/io/feature_lists.h"

#include "base/map.h"
#include "base/vec.h"
#include "proto/example.h"

enum { BYTE_PS = 1500 };  // picoseconds for a byte of the lists

// The list of one key in one example.
typedef struct {
    Str list;
    int64_t example;
    size_t next;          // the same key's next, + 1; 0: none
} Found;

typedef struct {
    size_t first, last;   // in `found`, + 1; 0: none
    int64_t steps, most_steps, values, most_values;
    Status *status;
} Tally;

typedef struct {
    Kernel *k;
    const FeatureListSpec *specs;
    int n;
    const TString *serialized, *names;
    int64_t batch;
    bool is_single;
    VEC(Found) found;
    Tally *tallies;
} Parse;

static Str name_of(const Parse *p, int64_t example) {
    return p->names ? tstring_str(&p->names[example]) : STR("<unknown>");
}

#define FAIL_AT(p, spec, example, format, ...)                                                                  \
    do {                                                                                                        \
        Str name_ = name_of(p, example);                                                                        \
        FAIL(INVALID_ARGUMENT, "Name: %.*s, Feature list: %.*s, Index: %lld.  " format, STR_ARGS(name_),        \
             STR_ARGS((spec)->key), (long long)(example), __VA_ARGS__);                                         \
    } while (0)

// ---------------------------------------- finding

// Of two lists with one key in an example the later counts.
static Status *note(Parse *p, int spec, int64_t example, Str list) {
    Tally *tally = &p->tallies[spec];
    if (tally->last && p->found.p[tally->last - 1].example == example) {
        p->found.p[tally->last - 1].list = list;
        return OK;
    }
    NEED_MEMORY(vec_push(&p->found, ((Found){list, example, 0})));
    if (tally->last)
        p->found.p[tally->last - 1].next = p->found.n;
    else
        tally->first = p->found.n;
    tally->last = p->found.n;
    return OK;
}

static Status *walk_example(Parse *p, const Map *by_key, int64_t example) {
    Str bytes = tstring_str(&p->serialized[example]), key, list;
    FeatureWalk walk = feature_walk(bytes, 2);
    while (feature_walk_next(&walk, &key, &list)) {
        const FeatureListSpec *spec = map_find(by_key, key);
        if (spec)
            TRY(note(p, (int)(spec - p->specs), example, list));
    }
    NEED(!walk.is_malformed, INVALID_ARGUMENT, "Could not parse example input, value: '%.*s'", STR_ARGS(bytes));
    for (int i = 0; i < p->n; i++) {
        const Tally *tally = &p->tallies[i];
        bool is_there = tally->last && p->found.p[tally->last - 1].example == example;
        Str name = name_of(p, example);
        NEED(is_there || p->specs[i].may_be_missing, INVALID_ARGUMENT,
             "Name: %.*s, Feature list '%.*s' is required but could not be found.  Did you mean to include it in "
             "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?", STR_ARGS(name),
             STR_ARGS(p->specs[i].key));
    }
    return OK;
}

static Status *walk_all(Parse *p) {
    AUTO(map) Map by_key = {0};
    for (int i = 0; i < p->n; i++) {
        NEED(!map_find(&by_key, p->specs[i].key), INVALID_ARGUMENT, "the feature list %.*s is asked for twice",
             STR_ARGS(p->specs[i].key));
        NEED_MEMORY(map_set(&by_key, p->specs[i].key, (void *)(uintptr_t)&p->specs[i]));
    }
    for (int64_t i = 0; i < p->batch; i++) {
        TRY(context_check(p->k->step));
        TRY(walk_example(p, &by_key, i));
    }
    return OK;
}

// ---------------------------------------- counting

static Status *open_step(const Parse *p, const FeatureListSpec *spec, int64_t example, Str feature, FeatureList *out,
                         int64_t *out_count) {
    if (!feature_list_open(feature, out))
        FAIL_AT(p, spec, example, "%s", "Can't parse serialized Example.");
    if (out->dtype != DT_INVALID && out->dtype != spec->dtype)
        FAIL_AT(p, spec, example, "Data types don't match. Expected type: %s, Actual type: %s", dtype_name(spec->dtype),
                dtype_name(out->dtype));
    *out_count = feature_list_count(out);
    if (*out_count < 0)
        FAIL_AT(p, spec, example, "%s", "Can't parse serialized Example.");
    bool fits = spec->kind != LIST_DENSE || (out->dtype != DT_INVALID && *out_count == shape_count(&spec->shape));
    if (!fits)
        FAIL_AT(p, spec, example, "Number of %s values != expected.  values size: %lld but output shape: %s",
                dtype_name(spec->dtype), (long long)*out_count, shape_text(&spec->shape));
    return OK;
}

static Status *count_list(const Parse *p, int at, const Found *found) {
    const FeatureListSpec *spec = &p->specs[at];
    Tally *tally = &p->tallies[at];
    Cursor c = cursor_of(found->list.p, found->list.n);
    Str feature;
    bool is_malformed = false;
    int64_t steps = 0;
    while (feature_list_next(&c, &feature, &is_malformed)) {
        FeatureList list;
        int64_t count;
        TRY(open_step(p, spec, found->example, feature, &list, &count));
        tally->values += count;
        tally->most_values = max_i64(tally->most_values, count);
        steps++;
    }
    if (is_malformed)
        FAIL_AT(p, spec, found->example, "%s", "Can't parse serialized Example.");
    tally->steps += steps;
    tally->most_steps = max_i64(tally->most_steps, steps);
    return OK;
}

static void count_keys(void *arg, int64_t first, int64_t last) {
    const Parse *p = arg;
    for (int64_t i = first; i < last; i++) {
        Tally *tally = &p->tallies[i];
        for (size_t at = tally->first; at && !tally->status; at = p->found.p[at - 1].next)
            tally->status = count_list(p, (int)i, &p->found.p[at - 1]);
    }
}

// ---------------------------------------- the outputs

static Status *output_dense(const Parse *p, const FeatureListSpec *spec, const Tally *tally) {
    int64_t dims[MAX_RANK + 2];
    int lead = 0;
    if (!p->is_single)
        dims[lead++] = p->batch;
    dims[lead++] = tally->most_steps;
    for (int i = 0; i < spec->shape.rank; i++)
        dims[lead + i] = spec->shape.dims[i];
    Shape shape;
    TRY(shape_make(dims, lead + spec->shape.rank, &shape));
    TRY(kernel_output(p->k, spec->first, shape));
    const Tensor *out = p->k->out[spec->first];
    if (spec->dtype != DT_string)
        memset(out->data, 0, tensor_bytes(out));
    if (spec->second < 0)
        return OK;
    TRY(kernel_output(p->k, spec->second, p->is_single ? SCALAR_SHAPE : SHAPE(p->batch)));
    memset(p->k->out[spec->second]->data, 0, tensor_bytes(p->k->out[spec->second]));
    return OK;
}

static Status *output_sparse(const Parse *p, const FeatureListSpec *spec, const Tally *tally) {
    int rank = p->is_single ? 2 : 3;
    TRY(kernel_output(p->k, spec->first, SHAPE(tally->values, rank)));
    TRY(kernel_output(p->k, spec->second, SHAPE(tally->values)));
    TRY(kernel_output(p->k, spec->third, SHAPE(rank)));
    int64_t *shape = p->k->out[spec->third]->data;
    if (!p->is_single)
        *shape++ = p->batch;
    shape[0] = tally->most_steps;
    shape[1] = tally->most_values;
    return OK;
}

static Status *output_ragged(const Parse *p, const FeatureListSpec *spec, const Tally *tally) {
    NEED(spec->splits == DT_int64 || (tally->values <= INT32_MAX && tally->steps < INT32_MAX), INVALID_ARGUMENT,
         "the values of the feature list %.*s don't fit row splits of int32", STR_ARGS(spec->key));
    TRY(kernel_output(p->k, spec->first, SHAPE(tally->values)));
    TRY(kernel_output(p->k, spec->second, p->is_single ? SCALAR_SHAPE : SHAPE(p->batch + 1)));
    TRY(kernel_output(p->k, spec->third, SHAPE(tally->steps + 1)));
    memset(p->k->out[spec->second]->data, 0, tensor_bytes(p->k->out[spec->second]));
    memset(p->k->out[spec->third]->data, 0, tensor_bytes(p->k->out[spec->third]));
    return OK;
}

static Status *output_one(const Parse *p, int at) {
    const FeatureListSpec *spec = &p->specs[at];
    const Tally *tally = &p->tallies[at];
    switch (spec->kind) {
    case LIST_DENSE: return output_dense(p, spec, tally);
    case LIST_SPARSE: return output_sparse(p, spec, tally);
    default: return output_ragged(p, spec, tally);
    }
}

// ---------------------------------------- reading

static void put_split(const Tensor *splits, int64_t i, int64_t value) {
    if (splits->dtype == DT_int32)
        ((int32_t *)splits->data)[i] = (int32_t)value;
    else
        ((int64_t *)splits->data)[i] = value;
}

typedef struct {
    const Parse *p;
    const FeatureListSpec *spec;
    int64_t example, step, steps, values;  // in this list; and in all before
} Place;

static bool put_step(const Place *at, const FeatureList *list, int64_t count) {
    const Parse *p = at->p;
    const FeatureListSpec *spec = at->spec;
    size_t size = dtype_size(spec->dtype);
    const Tensor *values = p->k->out[spec->kind == LIST_SPARSE ? spec->second : spec->first];
    int64_t to = at->values;
    if (spec->kind == LIST_DENSE) {
        int64_t row = shape_count(&spec->shape), steps = p->tallies[spec - p->specs].most_steps;
        to = (at->example * steps + at->step) * row;
    } else if (spec->kind == LIST_RAGGED) {
        put_split(p->k->out[spec->third], at->steps + at->step + 1, at->values + count);
    } else {
        int width = p->is_single ? 2 : 3;
        int64_t *index = (int64_t *)p->k->out[spec->first]->data + at->values * width;
        for (int64_t i = 0; i < count; i++, index += width) {
            index[0] = at->example;
            index[width - 2] = at->step;
            index[width - 1] = i;
        }
    }
    return feature_list_read(list, (char *)values->data + (size_t)to * size);
}

static bool put_list(Place *at, Str bytes) {
    Cursor c = cursor_of(bytes.p, bytes.n);
    Str feature;
    bool is_malformed;
    for (at->step = 0; feature_list_next(&c, &feature, &is_malformed); at->step++) {
        FeatureList list;
        if (!feature_list_open(feature, &list))
            return true;  // it was counted, so it opens
        int64_t count = feature_list_count(&list);
        if (!put_step(at, &list, count))
            return false;
        at->values += count;
    }
    at->steps += at->step;
    return true;
}

// Behind each example: how many steps there were.
static void put_steps(const Place *at, int64_t example, int64_t steps, int64_t before) {
    const Parse *p = at->p;
    if (at->spec->kind == LIST_RAGGED && !p->is_single)
        put_split(p->k->out[at->spec->second], example + 1, before + steps);
    if (at->spec->kind == LIST_DENSE && at->spec->second >= 0)
        ((int64_t *)p->k->out[at->spec->second]->data)[example] = steps;
}

static Status *put_key(const Parse *p, int64_t i) {
    Place at = {.p = p, .spec = &p->specs[i]};
    size_t next = p->tallies[i].first;
    for (int64_t example = 0; example < p->batch; example++) {
        int64_t before = at.steps;
        at.example = example;
        if (next && p->found.p[next - 1].example == example) {
            NEED_MEMORY(put_list(&at, p->found.p[next - 1].list));
            next = p->found.p[next - 1].next;
        }
        put_steps(&at, example, at.steps - before, before);
    }
    return OK;
}

static void put_keys(void *arg, int64_t first, int64_t last) {
    const Parse *p = arg;
    for (int64_t i = first; i < last; i++)
        p->tallies[i].status = put_key(p, i);
}

// ---------------------------------------- all of it

static Status *take_status(const Parse *p) {
    Status *first = OK;
    for (int i = 0; i < p->n; i++) {
        Status *status = p->tallies[i].status;
        p->tallies[i].status = OK;
        if (first)
            status_free(status);
        else
            first = status;
    }
    return first;
}

static Status *parse(Parse *p) {
    TRY(walk_all(p));
    int64_t bytes = 0;
    for (size_t i = 0; i < p->found.n; i++)
        bytes += (int64_t)p->found.p[i].list.n;
    int64_t cost = p->n ? bytes / 1000 * BYTE_PS / p->n + 1 : 1;
    kernel_parallel(p->k, p->n, cost, count_keys, p);
    TRY(take_status(p));
    for (int i = 0; i < p->n; i++)
        TRY(output_one(p, i));
    kernel_parallel(p->k, p->n, cost, put_keys, p);
    return take_status(p);
}

Status *feature_lists_parse(Kernel *k, const FeatureListSpec *specs, int n, const Tensor *serialized,
                            const Tensor *names) {
    Parse p = {.k = k, .specs = specs, .n = n, .serialized = serialized->data, .batch = tensor_count(serialized),
               .is_single = serialized->shape.rank == 0};
    p.names = names && tensor_count(names) ? names->data : NULL;
    p.tallies = calloc((size_t)n + 1, sizeof *p.tallies);
    NEED_MEMORY(p.tallies);
    Status *status = parse(&p);
    vec_clear(&p.found);
    free(p.tallies);
    return status;
}
