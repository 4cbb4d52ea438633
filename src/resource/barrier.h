// Barrier — tuples that are put together from components with one key, and wait to be taken until they are whole.
//
// Whole tuples stand in a queue in the order of the insertion that first named their key. TensorFlow's answers:
//   an insertion of a new key once it is closed:                CANCELLED
//   a take that a closed barrier can't satisfy any more:        OUT_OF_RANGE
//   a component that is there already:                          INVALID_ARGUMENT
#pragma once
#include "resource/queue.h"

typedef struct Barrier Barrier;

extern const ResourceType barrier_type;

typedef struct {
    const DType *dtypes;
    const Shape *shapes;  // of one tuple's components, fully known
    int n;                // components, at least 1
} BarrierSpec;

// One reference. INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
FALLIBLE Status *barrier_new(const BarrierSpec *spec, Barrier **out);
// NULL where the resource is something else.
Barrier *barrier_of(Resource *resource);
FALLIBLE Status *barrier_check_spec(const Barrier *barrier, const BarrierSpec *spec);
int barrier_components(const Barrier *barrier);
DType barrier_dtype(const Barrier *barrier, int component);

// `keys`: strings; `values`: component `component` of each, row by row. Keys before one that fails are inserted.
FALLIBLE Status *barrier_insert(Barrier *barrier, const Tensor *keys, int component, const Tensor *values);
// `done` gets the insertion numbers, the keys and the components of `count` tuples, stacked; with `small`, of as many as
// are there once the barrier is closed.
void barrier_take(Barrier *barrier, int64_t count, bool small, Cancellation *cancellation, QueueDone *done, void *arg);
// No new keys; what isn't whole yet may become so, unless `cancel` drops it. CANCELLED: it was closed like that already.
FALLIBLE Status *barrier_close(Barrier *barrier, bool cancel);
int64_t barrier_ready(Barrier *barrier);
int64_t barrier_incomplete(Barrier *barrier);
