// Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2 — each different element (or slice) once, in order of
// appearance.
#include "base/map.h"
#include "ops/array/moving.h"

// ---------------------------------------- shapes

static Status *unique_shape(Shapes *s) {
    s->out[0] = SHAPE(UNKNOWN_DIM);
    s->out[1] = s->in[0];
    if (s->n_out > 2)
        s->out[2] = SHAPE(UNKNOWN_DIM);
    return OK;
}

// The dimension along which slices are compared. TensorFlow takes no axis only of vectors.
static Status *axis_of(const Tensor *value, const Shape *in, int *out) {
    NEED(tensor_count(value) <= 1, INVALID_ARGUMENT, "axis does not support input tensors larger than 1 elements");
    if (tensor_count(value) == 0) {
        NEED(in->rank == 1, INVALID_ARGUMENT, "unique expects a 1D vector.");
        *out = 0;
        return OK;
    }
    int64_t asked = tensor_int(value, 0), axis = asked < 0 ? asked + in->rank : asked;
    NEED(axis >= 0 && axis < in->rank, INVALID_ARGUMENT, "axis has to be between [0, %d)", in->rank);
    *out = (int)axis;
    return OK;
}

static Status *unique_v2_shape(Shapes *s) {
    int axis;
    s->out[1] = SHAPE(UNKNOWN_DIM);
    if (s->n_out > 2)
        s->out[2] = SHAPE(UNKNOWN_DIM);
    if (s->in[0].rank < 0)
        return OK;
    s->out[0] = s->in[0];
    if (!s->value[1]) {
        for (int i = 0; i < s->out[0].rank; i++)
            s->out[0].dims[i] = UNKNOWN_DIM;
        return OK;
    }
    NEED(s->value[1]->shape.rank == 1, INVALID_ARGUMENT, "axis must be a vector");
    TRY(axis_of(s->value[1], &s->in[0], &axis));
    s->out[0].dims[axis] = UNKNOWN_DIM;
    s->out[1].dims[0] = s->in[0].dims[axis];
    return OK;
}

// ---------------------------------------- kernel

typedef struct {
    int64_t n, distinct;
    int64_t *id;       // n: which of the distinct slices each is
    int64_t *first;    // distinct: where it appears first
    int64_t *count;
} Classes;

// The bytes by which an element is known, and whether it equals itself: a NaN doesn't. -0 counts as 0, so an element
// with such a part is known by a copy in the arena; NULL where that can't grow.
static Str key_of(const Tensor *x, const char *slices, int64_t i, size_t bytes, Arena *arena, bool *out_same) {
    *out_same = true;
    if (x->dtype == DT_string)
        return tstring_str((const TString *)x->data + i);
    Str key = {slices + (size_t)i * bytes, bytes};
    bool real = dtype_is_float(x->dtype), pairs = dtype_is_complex(x->dtype);
    if (bytes != dtype_size(x->dtype) || (!real && !pairs))
        return key;
    size_t part = pairs ? bytes / 2 : bytes;
    char clean[16];
    memcpy(clean, key.p, bytes);
    bool changed = false;
    for (size_t at = 0; at < bytes; at += part) {
        const void *p = key.p + at;
        double d = part == 8 ? *(const double *)p : part == 4 ? (double)*(const float *)p
                 : x->dtype == DT_half ? (double)half_to_float(*(const Half *)p)
                                       : (double)bfloat16_to_float(*(const Bfloat16 *)p);
        *out_same &= !isnan(d);
        if (d == 0 && signbit(d)) {
            memset(clean + at, 0, part);
            changed = true;
        }
    }
    return changed ? (Str){arena_copy(arena, clean, bytes), bytes} : key;
}

// Of a slice of strings: each with its length before it.
static Str key_of_strings(const Tensor *x, int64_t i, int64_t n, int64_t outer, int64_t inner, Arena *arena) {
    AUTO(text) Text key = {0};
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < inner; j++) {
            Str element = tstring_str((const TString *)x->data + (o * n + i) * inner + j);
            text_add(&key, (Str){(const char *)&element.n, sizeof element.n});
            text_add(&key, element);
        }
    return key.failed ? (Str){0} : (Str){arena_copy(arena, text_str(&key).p, key.n), key.n};
}

static Status *classify(const Tensor *x, const char *slices, int64_t outer, int64_t inner, Classes *c, Arena *arena) {
    AUTO(map) Map map = {0};
    c->id = ARENA_ARRAY(arena, int64_t, c->n);
    c->first = ARENA_ARRAY(arena, int64_t, c->n);
    c->count = ARENA_ARRAY(arena, int64_t, c->n);
    NEED_MEMORY(c->id && c->first && c->count);
    size_t bytes = (size_t)(outer * inner) * dtype_size(x->dtype);
    for (int64_t i = 0; i < c->n; i++) {
        bool same = true;
        bool strings = x->dtype == DT_string && outer * inner != 1;
        Str key = strings ? key_of_strings(x, i, c->n, outer, inner, arena) : key_of(x, slices, i, bytes, arena, &same);
        NEED_MEMORY(key.p);
        void *found = same ? map_find(&map, key) : NULL;
        int64_t id = found ? (int64_t)(intptr_t)found - 1 : c->distinct;
        if (!found) {
            c->first[c->distinct++] = i;
            if (same)
                NEED_MEMORY(map_set(&map, key, (void *)(intptr_t)(id + 1)));
        }
        c->id[i] = id;
        c->count[id]++;
    }
    return OK;
}

static void put(const Tensor *out, const int64_t *values) {
    for (int64_t i = 0, n = tensor_count(out); i < n; i++) {
        if (out->dtype == DT_int32)
            ((int32_t *)out->data)[i] = (int32_t)values[i];
        else
            ((int64_t *)out->data)[i] = values[i];
    }
}

// Slices along `axis` of [outer, n, inner], brought together where they are more than single elements.
static Status *run(Kernel *k, int axis) {
    const Tensor *x = k->in[0];
    AUTO(arena) Arena arena = {0};
    int64_t outer = shape_span(&x->shape, 0, axis), inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    Classes c = {.n = x->shape.dims[axis]};
    size_t size = dtype_size(x->dtype);
    NEED(dtype_is_plain(x->dtype) || x->dtype == DT_string, UNIMPLEMENTED, "no kernel for slices of type %s",
         dtype_name(x->dtype));
    const char *slices = x->data;
    if (outer != 1 && x->dtype != DT_string) {
        CopyPlan plan;
        char *together = ARENA_ARRAY(&arena, char, tensor_bytes(x) + 1);
        NEED_MEMORY(together);
        copy_prepare(3, (const int64_t[]){c.n, outer, inner}, (const int64_t[]){inner, c.n * inner, 1},
                     (const int64_t[]){outer * inner, inner, 1}, size, &plan);
        copy_run(&plan, x->data, together, 0, plan.units);
        slices = together;
    }
    TRY(classify(x, slices, outer, inner, &c, &arena));
    Shape shape = x->shape;
    shape.dims[axis] = c.distinct;
    TRY(kernel_output(k, 0, shape));
    for (int64_t o = 0; o < outer && inner; o++)
        for (int64_t j = 0; j < c.distinct; j++) {
            int64_t to = (o * c.distinct + j) * inner, from = (o * c.n + c.first[j]) * inner;
            for (int64_t i = 0; x->dtype == DT_string && i < inner; i++)
                TRY(element_copy(x, from + i, k->out[0], to + i));
            if (x->dtype != DT_string)
                memcpy((char *)k->out[0]->data + (size_t)to * size, (const char *)x->data + (size_t)from * size,
                       (size_t)inner * size);
        }
    TRY(kernel_output(k, 1, SHAPE(c.n)));
    put(k->out[1], c.id);
    if (k->n_out > 2) {
        TRY(kernel_output(k, 2, SHAPE(c.distinct)));
        put(k->out[2], c.count);
    }
    return OK;
}

static Status *unique_run(Kernel *k) {
    return run(k, 0);
}

static Status *unique_v2_run(Kernel *k) {
    int axis;
    TRY(axis_of(k->in[1], &k->in[0]->shape, &axis));
    return run(k, axis);
}

const Op op_Unique = {
    .signature = "Unique(x: T) -> y: T, idx: out_idx; T: type; out_idx: {int32, int64} = int32",
    .doc = "Each different element once, and which of them each element is.", .needs = "vector(x)",
    .shape = unique_shape, .cpu = ANY_TYPE(unique_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_UniqueWithCounts = {
    .signature =
        "UniqueWithCounts(x: T) -> y: T, idx: out_idx, count: out_idx; T: type; out_idx: {int32, int64} = int32",
    .doc = "Each different element once, which of them each element is, and how often each appears.",
    .needs = "vector(x)", .shape = unique_shape, .cpu = ANY_TYPE(unique_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_UniqueV2 = {
    .signature = "UniqueV2(x: T, axis: Taxis) -> y: T, idx: out_idx; T: type; Taxis: {int32, int64} = int64; "
                 "out_idx: {int32, int64} = int32",
    .doc = "Each different slice along an axis once, and which of them each slice is.", .needs = "vector(axis)",
    .shape = unique_v2_shape, .cpu = ANY_TYPE(unique_v2_run), .host = BIT(1), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
const Op op_UniqueWithCountsV2 = {
    .signature = "UniqueWithCountsV2(x: T, axis: Taxis) -> y: T, idx: out_idx, count: out_idx; T: type; "
                 "Taxis: {int32, int64} = int64; out_idx: {int32, int64} = int32",
    .doc = "Each different slice along an axis once, which of them each slice is, and how often each appears.",
    .needs = "vector(axis)", .shape = unique_v2_shape, .cpu = ANY_TYPE(unique_v2_run), .host = BIT(1),
    .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};

// ---------------------------------------- ListDiff

static Status *list_diff_shape(Shapes *s) {
    s->out[0] = s->out[1] = SHAPE(UNKNOWN_DIM);
    return OK;
}

static Status *list_diff_run(Kernel *k) {
    const Tensor *x = k->in[0], *y = k->in[1];
    AUTO(arena) Arena arena = {0};
    AUTO(map) Map map = {0};
    int64_t nx = tensor_count(x), ny = tensor_count(y), n = 0;
    size_t size = dtype_size(x->dtype);
    bool same;
    NEED(dtype_is_plain(x->dtype) || x->dtype == DT_string, UNIMPLEMENTED, "no kernel for type %s",
         dtype_name(x->dtype));
    for (int64_t i = 0; i < ny; i++) {
        Str key = key_of(y, y->data, i, size, &arena, &same);
        NEED_MEMORY(key.p && (!same || map_set(&map, key, &map)));
    }
    int64_t *left = ARENA_ARRAY(&arena, int64_t, nx);
    NEED_MEMORY(left);
    for (int64_t i = 0; i < nx; i++) {
        Str key = key_of(x, x->data, i, size, &arena, &same);
        NEED_MEMORY(key.p);
        if (!same || !map_find(&map, key))
            left[n++] = i;
    }
    TRY(kernel_output(k, 0, SHAPE(n)));
    TRY(kernel_output(k, 1, SHAPE(n)));
    for (int64_t i = 0; i < n; i++)
        TRY(element_copy(x, left[i], k->out[0], i));
    put(k->out[1], left);
    return OK;
}

const Op op_ListDiff = {
    .signature = "ListDiff(x: T, y: T) -> out: T, idx: out_idx; T: type; out_idx: {int32, int64} = int32",
    .doc = "The elements of x that are not in y, and where they are.", .needs = "vector(x), vector(y)",
    .shape = list_diff_shape, .cpu = ANY_TYPE(list_diff_run), .flags = OP_DYNAMIC_SHAPE | OP_NO_GRADIENT,
};
