// AttrSets — see attr_sets.h: a hash table of chains (hash consing): nodes of equal op, attributes and output types
// share one record, which nobody writes into.
#include "graph/attr_sets.h"

#include <stdlib.h>

#include "base/map.h"

// A constant's value is rarely another's, and hashing it would cost more than sharing saves.
static bool holds_tensors(const AttrSet *set) {
    for (int i = 0; i < set->n_attrs; i++)
        if (set->attrs[i].value.kind == ATTR_TENSOR || set->attrs[i].value.kind == ATTR_FUNC)
            return true;
    return false;
}

static uint64_t set_hash(const AttrSet *set) {
    uint64_t hash = hash_bytes(set->output_types, (size_t)set->n_outputs * sizeof *set->output_types,
                               (uintptr_t)set->type);
    for (int i = 0; i < set->n_attrs; i++)
        hash = attr_hash(&set->attrs[i].value, hash);
    return hash;
}

static bool sets_equal(const AttrSet *a, const AttrSet *b) {
    if (a->hash != b->hash || a->type != b->type || a->n_attrs != b->n_attrs || a->n_outputs != b->n_outputs)
        return false;
    for (int i = 0; i < a->n_outputs; i++)
        if (a->output_types[i] != b->output_types[i])
            return false;
    for (int i = 0; i < a->n_attrs; i++) {
        Str x = a->attrs[i].name, y = b->attrs[i].name;
        if ((x.p != y.p && !str_equal(x, y)) || !attr_equal(&a->attrs[i].value, &b->attrs[i].value))
            return false;
    }
    return true;
}

static Status *copy_attrs(AttrSets *sets, Arena *arena, TensorList *tensors, const AttrSet *like, AttrEntry *attrs) {
    const Signature *signature = &like->type->signature;
    for (int i = 0; i < like->n_attrs; i++) {
        const AttrEntry *from = &like->attrs[i];
        const AttrSpec *spec = i < signature->n_attrs ? &signature->attrs[i] : NULL;
        // Names and defaults of a function live only as long as the function does.
        bool lasts = spec && !like->type->function;
        attrs[i].name = lasts ? spec->name : str_copy(arena, from->name);
        NEED_MEMORY(attrs[i].name.p);
        // The default itself: nothing to copy.
        if (lasts && spec->has_default && spec->fallback.n == from->value.n &&
            spec->fallback.s.p == from->value.s.p && from->value.kind >= ATTR_SHAPE)
            attrs[i].value = from->value;
        else
            TRY(attr_keep(arena, tensors, &sets->slab, &from->value, &attrs[i].value));
    }
    return OK;
}

static Status *set_new(AttrSets *sets, Arena *arena, TensorList *tensors, const AttrSet *like, AttrSet **out) {
    AttrSet *set = arena_aligned(arena, sizeof *set, _Alignof(AttrSet));
    AttrEntry *attrs = arena_aligned(arena, (size_t)like->n_attrs * sizeof *attrs, _Alignof(AttrEntry));
    DType *types = arena_aligned(arena, (size_t)like->n_outputs * sizeof *types, _Alignof(DType));
    NEED_MEMORY(set && attrs && types);
    if (like->n_outputs)
        memcpy(types, like->output_types, (size_t)like->n_outputs * sizeof *types);
    TRY(copy_attrs(sets, arena, tensors, like, attrs));
    *set = *like;
    set->attrs = attrs;
    set->output_types = types;
    set->next = NULL;
    *out = set;
    return OK;
}

static bool sets_grow(AttrSets *sets) {
    size_t room = sets->room ? sets->room * 2 : 64;
    AttrSet **buckets = calloc(room, sizeof *buckets);
    if (!buckets)
        return false;
    for (size_t i = 0; i < sets->room; i++)
        for (AttrSet *set = sets->buckets[i], *next; set; set = next) {
            next = set->next;
            set->next = buckets[set->hash & (room - 1)];
            buckets[set->hash & (room - 1)] = set;
        }
    free(sets->buckets);
    sets->buckets = buckets;
    sets->room = room;
    return true;
}

Status *attr_sets_find(AttrSets *sets, Arena *arena, TensorList *tensors, const AttrSet *like, const AttrSet **out,
                       bool *out_shared) {
    AttrSet key = *like, *made;
    bool shared = !holds_tensors(like);
    key.hash = shared ? set_hash(like) : 0;
    for (AttrSet *set = shared && sets->room ? sets->buckets[key.hash & (sets->room - 1)] : NULL; set; set = set->next)
        if (sets_equal(set, &key)) {
            *out = set;
            *out_shared = true;
            return OK;
        }
    NEED_MEMORY(!shared || sets->n < sets->room || sets_grow(sets));
    TRY(set_new(sets, arena, tensors, &key, &made));
    if (shared) {
        AttrSet **bucket = &sets->buckets[key.hash & (sets->room - 1)];
        made->next = *bucket;
        *bucket = made;
        sets->n++;
    }
    *out = made;
    *out_shared = shared;
    return OK;
}

void attr_sets_clear(AttrSets *sets) {
    free(sets->buckets);
    slab_clear(&sets->slab);
    *sets = (AttrSets){0};
}
