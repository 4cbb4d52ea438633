// AttrMemo — what attributes as they stand in a GraphDef's bytes come to: nodes that are spelled alike are resolved
// once.
//
// The same bytes for the same op over inputs of the same types have the same attributes and outputs.
#pragma once
#include "graph/attr_sets.h"

typedef struct {
    const OpType *type;
    Str bytes;               // of its attributes; views what is imported
    const DType *in;         // types of the inputs, references marked; DT_INVALID for an edge that is still open
    size_t n_in;
} Spelling;

// Zero-initialised is empty.
typedef struct {
    Arena arena;
    struct AttrMemoEntry **buckets;
    size_t n, room;
} AttrMemo;

const AttrSet *attr_memo_find(const AttrMemo *memo, const Spelling *spelling);  // NULL: not there
FALLIBLE Status *attr_memo_add(AttrMemo *memo, const Spelling *spelling, const AttrSet *set);
void attr_memo_clear(AttrMemo *memo);
