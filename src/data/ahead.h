// Ahead — elements made in the background before they are asked for, in order: pulled from a source and, where there is a
// function, mapped by it, several at a time.
//
// At most `limit` elements are there or on their way. Tasks run on elastic threads, as long as there is something to do:
// while the ring is full, or the input comes later, there is none.
#pragma once
#include "data/dataset.h"

typedef struct Ahead Ahead;

typedef struct {
    int64_t limit;                    // elements; 0: grows from 1 while the consumer finds none and none had room
    int calls;                        // of the function, at once
    const DatasetFunction *function;  // NULL: elements are the input's. It lives as long as `dataset`
    const Dataset *dataset;           // whose elements these are; retained
    bool preserves;                   // OUT_OF_RANGE from the function is an error, not the end
} AheadSpec;

// Takes over `input`, also on failure. One reference.
FALLIBLE Status *ahead_new(const AheadSpec *spec, Source *input, Ahead **out);
// Nobody asks any more: what is on its way is thrown away when it comes. May be NULL.
void ahead_close(Ahead *ahead);
// Where it stands, once its tasks have paused: what is there, and where the input stands. While its consumer is held back.
FALLIBLE Status *ahead_position(Ahead *ahead, Position *p);
// As a source's `next`.
FALLIBLE Status *ahead_next(Ahead *ahead, const Pull *pull, Tensor *out, Pulled *how);
