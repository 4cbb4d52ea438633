// AttrSets — what many nodes of a graph have in common: their type, attributes and the types of their outputs.
//
// A graph of a million nodes has a few hundred different sets. Each is kept once, in the graph's arena, and shared:
// nobody writes into one. Sets that hold tensors are as good as never equal and are made for their node alone.
#pragma once
#include "graph/op.h"

typedef struct AttrSet {
    const OpType *type;
    const AttrEntry *attrs;
    const DType *output_types;
    int32_t n_attrs, n_outputs;
    uint64_t hash;
    struct AttrSet *next;     // in its bucket
} AttrSet;

// Zero-initialised is empty.
typedef struct {
    AttrSet **buckets;
    size_t n, room;           // room is a power of two
    Slab slab;                // of small constants
} AttrSets;

// The set equal to *like, made in the arena where there is none yet. What the tensors of a new one hold is pushed on
// `tensors`. `*out_shared` tells whether others may come by the same set.
FALLIBLE Status *attr_sets_find(AttrSets *sets, Arena *arena, TensorList *tensors, const AttrSet *like,
                                const AttrSet **out, bool *out_shared);
void attr_sets_clear(AttrSets *sets);
