// Staging areas — tuples on their way from one part of a step to another, in order or by key; waits hold no thread.
//
// A kernel that waits hands itself over (kernel_done ends it from whoever puts or takes): behind the call `k` may be
// gone. A full area makes producers wait in the order in which they came.
#include "resource/staging.h"

#include <stdlib.h>

#include "ops/op.h"
#include "resource/resource.h"

// ---------------------------------------- the area of a node

typedef struct {
    Resource *area;
} StagingNode;

typedef struct {
    const ResourceType *type;
    StagingSpec spec;
} Making;

static Status *create(void *arg, Resource **out) {
    const Making *making = arg;
    Staging *staging;
    TRY(staging_new(making->type, &making->spec, &staging));
    *out = (Resource *)staging;
    return OK;
}

// Nodes that share a name share the area, as the first of them asked for it.
static Status *open_area(Opening *o) {
    StagingNode *state = o->state;
    Making making = {.type = node_op(o->node)->row, .spec.capacity = node_int(o->node, "capacity"),
                     .spec.memory_limit = node_int(o->node, "memory_limit")};
    Str name = node_str(o->node, "shared_name");
    return resource_find_or_create(o->resources, node_str(o->node, "container"), name.n ? name : o->name,
                                   making.type, create, &making, &state->area);
}

static void close_area(void *state) {
    resource_release(((StagingNode *)state)->area);
}

static Status *find_area(const Kernel *k, Staging **out) {
    const StagingNode *state = k->state;
    NEED(state, FAILED_PRECONDITION, "a staging area needs a session to live in");
    *out = (Staging *)state->area;
    return OK;
}

// ---------------------------------------- putting

static void nothing_came(void *arg, Status *status, int64_t key, Tensor *values, int n) {
    (void)key;
    (void)values;
    (void)n;
    kernel_done(arg, status);
}

static Status *keep_all(Kernel *k, int first, Tensor *values, int n) {
    for (int i = 0; i < n; i++) {
        Status *status = kernel_keep(k, first + i, &values[i]);
        if (!status)
            continue;
        while (i-- > 0)
            tensor_clear(&values[i]);
        return status;
    }
    return OK;
}

// `first` is the input with the first value.
static Status *put(Kernel *k, int first, StagingPart part, int width) {
    Staging *staging;
    TRY(find_area(k, &staging));
    int n = k->n_in - first;
    NEED(!part.indices || part.n == n, INVALID_ARGUMENT, "%d indices and %d values", part.n, n);
    Tensor *values = calloc((size_t)n + 1, sizeof *values);
    NEED_MEMORY(values);
    Status *status = keep_all(k, first, values, n);
    part.n = n;
    if (!status)
        staging_put(staging, part, width, values, k->step->cancellation, nothing_came, k);
    // From here `k` may be gone, unless something failed.
    free(values);
    return status;
}

static Status *stage(Kernel *k) {
    return put(k, 0, (StagingPart){0}, k->n_in);
}

static Status *check_types(const Kernel *k, const AttrValue *dtypes) {
    const int32_t *indices = k->in[1]->data;
    for (int64_t i = 0; i < tensor_count(k->in[1]) && i + 2 < k->n_in; i++) {
        bool fits = indices[i] < 0 || indices[i] >= dtypes->n || dtypes->types[indices[i]] == k->in[i + 2]->dtype;
        NEED(fits, INVALID_ARGUMENT, "value %lld is of type %s, expected %s", (long long)i,
             dtype_name(k->in[i + 2]->dtype), dtype_name(dtypes->types[indices[i]]));
    }
    return OK;
}

static Status *part_of(const Kernel *k, int key, int indices, StagingPart *out) {
    int64_t n = tensor_count(k->in[indices]);
    NEED(n <= INT16_MAX, INVALID_ARGUMENT, "%lld indices", (long long)n);
    *out = (StagingPart){key < 0 ? 0 : tensor_int(k->in[key], 0), k->in[indices]->data, (int)n};
    return OK;
}

static Status *map_stage(Kernel *k) {
    const AttrValue *dtypes = node_list(k->node, "dtypes");
    StagingPart part;
    TRY(part_of(k, 0, 1, &part));
    TRY(check_types(k, dtypes));
    return put(k, 2, part, dtypes->n);
}

#define STARTS(name, call)                   \
    static void name(Kernel *k) {            \
        Status *status = call;               \
        if (status)                          \
            kernel_done(k, status);          \
    }
STARTS(start_stage, stage(k))
STARTS(start_map_stage, map_stage(k))

#define AREA_ATTRS(dtypes)                                                                                        \
    "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; " dtypes "; container: string = \"\"; shared_name: " \
    "string = \"\"; stateful"
#define OF_AREA(type) .row = &type, .open = open_area, .close = close_area, .state_size = sizeof(StagingNode)
#define SOME "dtypes: list(type) >= 1"
#define ANY "dtypes: list(type)"
#define KEY "scalar(key), vector(indices)"

const Op op_Stage = {
    .signature = "Stage(values: dtypes); " AREA_ATTRS(SOME),
    .doc = "Puts a tuple into the area; waits while it is full.",
    .shape = shape_none, .keeps = BIT(0), .start = start_stage, OF_AREA(staging_type), .flags = OP_NO_GRADIENT,
};
const Op op_MapStage = {
    .signature = "MapStage(key: int64, indices: int32, values: fake_dtypes); "
                 AREA_ATTRS(ANY "; fake_dtypes: list(type) >= 1"),
    .doc = "Puts values of the key's tuple into the area; waits while it is full.", .needs = KEY, .shape = shape_none,
    .keeps = BIT(2), .host = BIT(0) | BIT(1), .start = start_map_stage, OF_AREA(map_staging_type),
    .flags = OP_NO_GRADIENT,
};
const Op op_OrderedMapStage = {
    .signature = "OrderedMapStage(key: int64, indices: int32, values: fake_dtypes); "
                 AREA_ATTRS(ANY "; fake_dtypes: list(type) >= 1"),
    .doc = "Puts values of the key's tuple into the area; waits while it is full.", .needs = KEY, .shape = shape_none,
    .keeps = BIT(2), .host = BIT(0) | BIT(1), .start = start_map_stage, OF_AREA(ordered_map_staging_type),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- taking

static Status *give(Kernel *k, int first, Tensor *values, int n) {
    NEED(n == k->n_out - first, INVALID_ARGUMENT, "%d values, expected %d", n, k->n_out - first);
    for (int i = 0; i < n; i++)
        NEED(values[i].dtype == k->node->output_types[first + i], INVALID_ARGUMENT,
             "value %d is of type %s, expected %s", i, dtype_name(values[i].dtype),
             dtype_name(k->node->output_types[first + i]));
    for (int i = 0; i < n; i++)
        kernel_set_output(k, first + i, values[i]);
    return OK;
}

static void values_came(void *arg, Status *status, int64_t key, Tensor *values, int n) {
    Kernel *k = arg;
    (void)key;
    if (!status)
        status = give(k, 0, values, n);
    for (int i = 0; status && i < n; i++)
        tensor_clear(&values[i]);
    kernel_done(k, status);
}

static void keyed_values_came(void *arg, Status *status, int64_t key, Tensor *values, int n) {
    Kernel *k = arg;
    if (!status)
        status = give(k, 1, values, n);
    if (!status)
        status = kernel_output(k, 0, SCALAR_SHAPE);
    else
        for (int i = 0; i < n; i++)
            tensor_clear(&values[i]);
    if (!status)
        *(int64_t *)k->out[0]->data = key;
    kernel_done(k, status);
}

static Status *take(Kernel *k, StagingChoice choice, StagingPart part, bool peek, StagingDone *came) {
    Staging *staging;
    TRY(find_area(k, &staging));
    staging_take(staging, choice, part, peek, k->step->cancellation, came, k);
    return OK;
}

static Status *unstage(Kernel *k) {
    return take(k, STAGING_FIRST, (StagingPart){.n = k->n_out}, false, values_came);
}

static Status *stage_peek(Kernel *k) {
    StagingPart part = {.key = tensor_int(k->in[0], 0), .n = k->n_out};
    NEED(part.key >= 0, INVALID_ARGUMENT, "index must not be negative, got %lld", (long long)part.key);
    return take(k, STAGING_AT, part, true, values_came);
}

static Status *take_keyed(Kernel *k, bool peek) {
    StagingPart part;
    TRY(part_of(k, 0, 1, &part));
    return take(k, STAGING_KEY, part, peek, values_came);
}

static Status *take_any(Kernel *k) {
    StagingPart part;
    TRY(part_of(k, -1, 0, &part));
    return take(k, STAGING_FIRST, part, false, keyed_values_came);
}
STARTS(start_unstage, unstage(k))
STARTS(start_stage_peek, stage_peek(k))
STARTS(start_map_unstage, take_keyed(k, false))
STARTS(start_map_peek, take_keyed(k, true))
STARTS(start_map_unstage_any, take_any(k))

const Op op_Unstage = {
    .signature = "Unstage() -> values: dtypes; " AREA_ATTRS(SOME),
    .doc = "Takes the first tuple out of the area; waits until there is one.", .shape = shape_none,
    .start = start_unstage, OF_AREA(staging_type), .flags = OP_NO_GRADIENT,
};
const Op op_StagePeek = {
    .signature = "StagePeek(index: int32) -> values: dtypes; " AREA_ATTRS(SOME),
    .doc = "Looks at the tuple with so many before it; waits until it is there.", .needs = "scalar(index)",
    .shape = shape_none, .host = BIT(0), .start = start_stage_peek, OF_AREA(staging_type), .flags = OP_NO_GRADIENT,
};
#define BY_KEY(Name, begin, type, text)                                                                       \
    const Op op_##Name = {                                                                                    \
        .signature = #Name "(key: int64, indices: int32) -> values: dtypes; " AREA_ATTRS(SOME), .doc = text,       \
        .needs = KEY, .shape = shape_none, .host = BIT(0) | BIT(1), .start = begin, OF_AREA(type),            \
        .flags = OP_NO_GRADIENT,                                                                              \
    };
#define TAKEN "Takes values of the key's tuple out of the area; waits until it is there."
#define LOOKED_AT "Looks at values of the key's tuple; waits until it is there."
BY_KEY(MapUnstage, start_map_unstage, map_staging_type, TAKEN)
BY_KEY(OrderedMapUnstage, start_map_unstage, ordered_map_staging_type, TAKEN)
BY_KEY(MapPeek, start_map_peek, map_staging_type, LOOKED_AT)
BY_KEY(OrderedMapPeek, start_map_peek, ordered_map_staging_type, LOOKED_AT)
const Op op_MapUnstageNoKey = {
    .signature = "MapUnstageNoKey(indices: int32) -> key: int64, values: dtypes; " AREA_ATTRS(SOME),
    .doc = "Takes values of any tuple out of the area; waits until there is one.", .needs = "vector(indices)",
    .shape = shape_none, .host = BIT(0), .start = start_map_unstage_any, OF_AREA(map_staging_type),
    .flags = OP_NO_GRADIENT,
};
const Op op_OrderedMapUnstageNoKey = {
    .signature = "OrderedMapUnstageNoKey(indices: int32) -> key: int64, values: dtypes; " AREA_ATTRS(SOME),
    .doc = "Takes values of any tuple out of the area; waits until there is one.", .needs = "vector(indices)",
    .shape = shape_none, .host = BIT(0), .start = start_map_unstage_any, OF_AREA(ordered_map_staging_type),
    .flags = OP_NO_GRADIENT,
};

// ---------------------------------------- clearing and counting

static Status *clear_run(Kernel *k) {
    Staging *staging;
    TRY(find_area(k, &staging));
    staging_clear(staging);
    return OK;
}

static Status *count(Kernel *k, int64_t (*size)(Staging *)) {
    Staging *staging;
    TRY(find_area(k, &staging));
    *(int32_t *)k->out[0]->data = (int32_t)min_i64(size(staging), INT32_MAX);
    return OK;
}

static Status *size_run(Kernel *k) {
    return count(k, staging_size);
}

static Status *incomplete_run(Kernel *k) {
    return count(k, staging_incomplete);
}

#define SIZE(Name, type, run, text)                                                                              \
    const Op op_##Name = {                                                                                       \
        .signature = #Name "() -> size: int32; " AREA_ATTRS(ANY), .doc = text, .shape = shape_scalar,                 \
        .cpu = ANY_TYPE(run), .host_out = BIT(0), OF_AREA(type), .flags = OP_NO_GRADIENT,                        \
    };
const Op op_StageClear = {
    .signature = "StageClear(); " AREA_ATTRS(ANY),
    .doc = "Drops all that is in the area.", .shape = shape_none, .cpu = ANY_TYPE(clear_run), OF_AREA(staging_type),
    .flags = OP_NO_GRADIENT,
};
const Op op_MapClear = {
    .signature = "MapClear(); " AREA_ATTRS(ANY),
    .doc = "Drops all that is in the area.", .shape = shape_none, .cpu = ANY_TYPE(clear_run),
    OF_AREA(map_staging_type), .flags = OP_NO_GRADIENT,
};
const Op op_OrderedMapClear = {
    .signature = "OrderedMapClear(); " AREA_ATTRS(ANY),
    .doc = "Drops all that is in the area.", .shape = shape_none, .cpu = ANY_TYPE(clear_run),
    OF_AREA(ordered_map_staging_type), .flags = OP_NO_GRADIENT,
};
SIZE(StageSize, staging_type, size_run, "How many tuples are in the area.")
SIZE(MapSize, map_staging_type, size_run, "How many complete tuples are in the area.")
SIZE(OrderedMapSize, ordered_map_staging_type, size_run, "How many complete tuples are in the area.")
SIZE(MapIncompleteSize, map_staging_type, incomplete_run, "Of how many tuples a part is in the area.")
SIZE(OrderedMapIncompleteSize, ordered_map_staging_type, incomplete_run, "Of how many tuples a part is in the area.")
