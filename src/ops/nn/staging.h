// Staging — inputs and outputs in the form that a loop takes: a compute type for small ones, pixels for planes.
#pragma once
#include "kernel/kernel.h"
#include "loops/cast.h"
#include "loops/move.h"

// How one tensor is brought into the loop's form, or back. Where nothing changes its own memory is used.
typedef struct {
    bool casts, moves;
    CastLoop cast;
    CopyPlan move;
    size_t at_cast, at_moved;  // places in the kernel's scratch
    size_t from_size, to_size;
    int64_t count;
} Stage;

// The type that loops of float and double compute a floating type in; other types are their own.
DType staging_float(DType dtype);

// Plans an input of `dtype` and `shape` for a loop that reads `compute`. `planes`: it is [n, c, h, w] and the loop
// reads [n, h, w, c]; volumes have a depth in front of h. Adds to p->scratch.
FALLIBLE Status *stage_input(Prepare *p, DType dtype, DType compute, const Shape *shape, bool planes, Stage *out);
// Plans an output in the same way: the loop writes [n, h, w, c].
FALLIBLE Status *stage_output(Prepare *p, DType dtype, DType compute, const Shape *shape, bool planes, Stage *out);

// The input as the loop reads it.
const void *stage_load(const Stage *stage, Kernel *k, const void *data);
// Where the loop writes the output that belongs at `data`; afterwards stage_store brings it there.
void *stage_target(const Stage *stage, const Kernel *k, void *data);
void stage_store(const Stage *stage, Kernel *k, void *data);
