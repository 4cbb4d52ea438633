// AttrValue — see attr.h: names, equality, copies. Printing is in attr_print.c.
//
// Values are compared and copied deeply: lists, tensors, functions with attributes of their own. A copy's bytes lie in
// an arena; tensors are counted buffers, which a list owns.
#include "graph/attr.h"

#include "base/map.h"

// A FuncRef may hold FuncRefs. Nothing nests deeper than this: protocol buffers stop at 100 levels, three per function.
enum { MAX_NESTING = 40 };

const char *attr_kind_name(AttrKind kind, bool is_list) {
    static const char *const names[][2] = {
        [ATTR_NONE] = {"none", "list"},
        [ATTR_STRING] = {"string", "list(string)"},
        [ATTR_INT] = {"int", "list(int)"},
        [ATTR_FLOAT] = {"float", "list(float)"},
        [ATTR_BOOL] = {"bool", "list(bool)"},
        [ATTR_TYPE] = {"type", "list(type)"},
        [ATTR_SHAPE] = {"shape", "list(shape)"},
        [ATTR_TENSOR] = {"tensor", "list(tensor)"},
        [ATTR_PLACEHOLDER] = {"placeholder", "list(placeholder)"},
        [ATTR_FUNC] = {"func", "list(func)"},
    };
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind][is_list] : "none";
}

static bool tensor_equal(const Tensor *a, const Tensor *b) {
    if (a->dtype != b->dtype || a->layout != b->layout || !shape_equal(&a->shape, &b->shape))
        return false;
    if (a->data == b->data)
        return true;
    if (a->layout != LAYOUT_PLAIN)
        return false;
    if (dtype_kind(a->dtype) != KIND_STRING)
        return memcmp(a->data, b->data, tensor_bytes(a)) == 0;  // objects: the same ones
    const TString *x = a->data, *y = b->data;
    for (int64_t i = 0, n = tensor_count(a); i < n; i++)
        if (!str_equal(tstring_str(&x[i]), tstring_str(&y[i])))
            return false;
    return true;
}

static bool value_equal(const AttrValue *a, const AttrValue *b, int depth);

static bool func_equal(const FuncRef *a, const FuncRef *b, int depth) {
    if (!str_equal(a->name, b->name) || a->n_attrs != b->n_attrs || depth > MAX_NESTING)
        return false;
    for (int i = 0; i < a->n_attrs; i++)
        if (!str_equal(a->attrs[i].name, b->attrs[i].name) ||
            !value_equal(&a->attrs[i].value, &b->attrs[i].value, depth + 1))
            return false;
    return true;
}

static bool lists_equal(const AttrValue *a, const AttrValue *b, int depth) {
    size_t n = (size_t)a->n;
    if (a->n != b->n || a->n == 0)
        return a->n == b->n;  // an empty list from a proto doesn't say of what
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ATTR_INT: return memcmp(a->is, b->is, n * sizeof *a->is) == 0;
    case ATTR_FLOAT: return memcmp(a->fs, b->fs, n * sizeof *a->fs) == 0;
    case ATTR_BOOL: return memcmp(a->bs, b->bs, n * sizeof *a->bs) == 0;
    case ATTR_TYPE: return memcmp(a->types, b->types, n * sizeof *a->types) == 0;
    default: break;
    }
    for (size_t i = 0; i < n; i++) {
        bool equal = a->kind == ATTR_SHAPE    ? shape_equal(&a->shapes[i], &b->shapes[i])
                     : a->kind == ATTR_TENSOR ? tensor_equal(&a->tensors[i], &b->tensors[i])
                     : a->kind == ATTR_FUNC   ? func_equal(&a->funcs[i], &b->funcs[i], depth)
                                              : str_equal(a->ss[i], b->ss[i]);
        if (!equal)
            return false;
    }
    return true;
}

static bool value_equal(const AttrValue *a, const AttrValue *b, int depth) {
    if (a->is_list != b->is_list)
        return false;
    if (a->is_list)
        return lists_equal(a, b, depth);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ATTR_NONE: return true;
    case ATTR_STRING: case ATTR_PLACEHOLDER: return str_equal(a->s, b->s);
    case ATTR_INT: return a->i == b->i;
    case ATTR_FLOAT: return memcmp(&a->f, &b->f, sizeof a->f) == 0;  // the bits: nan is nan, 0 is not -0
    case ATTR_BOOL: return a->b == b->b;
    case ATTR_TYPE: return a->type == b->type;
    case ATTR_SHAPE: return shape_equal(a->shape, b->shape);
    case ATTR_TENSOR: return tensor_equal(a->tensor, b->tensor);
    case ATTR_FUNC: return func_equal(a->func, b->func, depth);
    }
    return false;
}

bool attr_equal(const AttrValue *a, const AttrValue *b) {
    return value_equal(a, b, 0);
}

static uint64_t str_hash(Str s, uint64_t seed) {
    return hash_bytes(s.p, s.n, seed);
}

static uint64_t shape_hash(const Shape *shape, uint64_t seed) {
    return shape->rank > 0 ? hash_bytes(shape->dims, (size_t)shape->rank * sizeof *shape->dims, seed)
                           : seed + (uint64_t)shape->rank;
}

static uint64_t list_hash(const AttrValue *value, uint64_t seed) {
    size_t n = (size_t)value->n;
    switch (value->kind) {
    case ATTR_INT: return hash_bytes(value->is, n * sizeof *value->is, seed);
    case ATTR_FLOAT: return hash_bytes(value->fs, n * sizeof *value->fs, seed);
    case ATTR_BOOL: return hash_bytes(value->bs, n * sizeof *value->bs, seed);
    case ATTR_TYPE: return hash_bytes(value->types, n * sizeof *value->types, seed);
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        seed = value->kind == ATTR_SHAPE                                         ? shape_hash(&value->shapes[i], seed)
               : value->kind == ATTR_STRING || value->kind == ATTR_PLACEHOLDER ? str_hash(value->ss[i], seed)
                                                                                 : seed;
    return seed;
}

// Tensors are left out: to hash megabytes takes longer than to compare the few values that agree in all else.
uint64_t attr_hash(const AttrValue *value, uint64_t seed) {
    uint64_t number = 0;
    if (value->is_list)
        return value->n ? list_hash(value, seed + (uint64_t)value->n) : seed * 31;
    switch (value->kind) {
    case ATTR_STRING: case ATTR_PLACEHOLDER: return str_hash(value->s, seed);
    case ATTR_SHAPE: return shape_hash(value->shape, seed);
    case ATTR_FUNC: return str_hash(value->func->name, seed);
    case ATTR_INT: number = (uint64_t)value->i; break;
    case ATTR_FLOAT: memcpy(&number, &value->f, sizeof value->f); break;
    case ATTR_BOOL: number = value->b; break;
    case ATTR_TYPE: number = (uint64_t)value->type; break;
    case ATTR_NONE: case ATTR_TENSOR: break;
    }
    // One multiplication and a shift: numbers are small and differ in their low bits.
    number = (number ^ seed) * 0x9fb21c651e98df25u;
    return number ^ (number >> 29);
}

// ---------------------------------------- copies

typedef struct {
    Arena *arena;
    TensorList *tensors;
    Slab *slab;  // NULL: tensors are shared
} Copier;

static Status *copy_value(Copier *copier, const AttrValue *from, AttrValue *out, int depth);

static Status *copy_str(Copier *copier, Str from, Str *out) {
    *out = str_copy(copier->arena, from);
    NEED_MEMORY(out->p);
    return OK;
}

static Status *copy_plain(Copier *copier, const void *from, size_t count, size_t size, void *out) {
    void *copy = arena_array(copier->arena, count, size);
    NEED_MEMORY(copy);
    if (count)
        memcpy(copy, from, count * size);
    memcpy(out, &copy, sizeof copy);
    return OK;
}

static Status *copy_tensor(Copier *copier, const Tensor *from, Tensor *out) {
    Tensor tensor = {0};
    if (copier->slab && slab_takes(from))
        TRY(slab_copy(copier->slab, from, &tensor));
    else if (from->buffer)
        tensor = tensor_retain(from);
    else
        TRY(tensor_copy(from, &tensor));  // a step's memory doesn't outlive the step
    if (!vec_push(copier->tensors, tensor.buffer)) {
        tensor_clear(&tensor);
        NEED_MEMORY(NULL);
    }
    *out = tensor;
    return OK;
}

static Status *copy_func(Copier *copier, const FuncRef *from, FuncRef *out, int depth) {
    NEED(depth <= MAX_NESTING, INVALID_ARGUMENT, "functions inside attributes of functions are nested deeper than %d",
         MAX_NESTING);
    FuncRef copy = {.n_attrs = from->n_attrs};
    TRY(copy_str(copier, from->name, &copy.name));
    copy.attrs = ARENA_ARRAY(copier->arena, AttrEntry, from->n_attrs);
    NEED_MEMORY(copy.attrs);
    for (int i = 0; i < from->n_attrs; i++) {
        TRY(copy_str(copier, from->attrs[i].name, &copy.attrs[i].name));
        TRY(copy_value(copier, &from->attrs[i].value, &copy.attrs[i].value, depth + 1));
    }
    *out = copy;
    return OK;
}

static Status *copy_elements(Copier *copier, const AttrValue *from, AttrValue *out, int depth) {
    size_t n = (size_t)from->n;
    switch (from->kind) {
    case ATTR_INT: return copy_plain(copier, from->is, n, sizeof *from->is, &out->is);
    case ATTR_FLOAT: return copy_plain(copier, from->fs, n, sizeof *from->fs, &out->fs);
    case ATTR_BOOL: return copy_plain(copier, from->bs, n, sizeof *from->bs, &out->bs);
    case ATTR_TYPE: return copy_plain(copier, from->types, n, sizeof *from->types, &out->types);
    case ATTR_SHAPE: return copy_plain(copier, from->shapes, n, sizeof *from->shapes, &out->shapes);
    case ATTR_STRING: case ATTR_PLACEHOLDER:
        NEED_MEMORY(out->ss = ARENA_ARRAY(copier->arena, Str, n));
        for (size_t i = 0; i < n; i++)
            TRY(copy_str(copier, from->ss[i], &out->ss[i]));
        return OK;
    case ATTR_TENSOR:
        NEED_MEMORY(out->tensors = ARENA_ARRAY(copier->arena, Tensor, n));
        for (size_t i = 0; i < n; i++)
            TRY(copy_tensor(copier, &from->tensors[i], &out->tensors[i]));
        return OK;
    case ATTR_FUNC:
        NEED_MEMORY(out->funcs = ARENA_ARRAY(copier->arena, FuncRef, n));
        for (size_t i = 0; i < n; i++)
            TRY(copy_func(copier, &from->funcs[i], &out->funcs[i], depth));
        return OK;
    case ATTR_NONE: break;
    }
    return OK;
}

static Status *copy_value(Copier *copier, const AttrValue *from, AttrValue *out, int depth) {
    AttrValue copy = *from;
    if (from->is_list) {
        if (from->n)
            TRY(copy_elements(copier, from, &copy, depth));
        else
            copy.i = 0;
    } else if (from->kind == ATTR_STRING || from->kind == ATTR_PLACEHOLDER) {
        TRY(copy_str(copier, from->s, &copy.s));
    } else if (from->kind == ATTR_SHAPE) {
        TRY(copy_plain(copier, from->shape, 1, sizeof *from->shape, &copy.shape));
    } else if (from->kind == ATTR_TENSOR) {
        NEED_MEMORY(copy.tensor = ARENA_NEW(copier->arena, Tensor));
        TRY(copy_tensor(copier, from->tensor, copy.tensor));
    } else if (from->kind == ATTR_FUNC) {
        NEED_MEMORY(copy.func = ARENA_NEW(copier->arena, FuncRef));
        TRY(copy_func(copier, from->func, copy.func, depth));
    }
    *out = copy;
    return OK;
}

Status *attr_keep(Arena *arena, TensorList *tensors, Slab *slab, const AttrValue *from, AttrValue *out) {
    Copier copier = {arena, tensors, slab};
    size_t before = tensors->n;
    Status *status = copy_value(&copier, from, out, 0);
    if (status)
        tensor_list_cut(tensors, before);
    return status;
}

Status *attr_copy(Arena *arena, TensorList *tensors, const AttrValue *from, AttrValue *out) {
    return attr_keep(arena, tensors, NULL, from, out);
}
