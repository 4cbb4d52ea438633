// Broadcast — a loop over two inputs whose shapes broadcast to the output's.
#pragma once
#include "loops/elementwise.h"
#include "tensor/shape.h"

// Neighbouring dimensions that both inputs walk alike are one. What remains: an inner run with strides 0 or 1 and outer
// dimensions with element strides. The work is counted in units, equal pieces that threads may share out.
typedef struct {
    int rank;                            // outer dimensions, outermost first
    int64_t dims[MAX_RANK], step_a[MAX_RANK], step_b[MAX_RANK];
    int64_t inner, sa, sb;               // elements of a run and their strides
    int64_t rows;                        // product of the outer dimensions
    int64_t cuts, piece;                 // pieces of a run, and their length
    int64_t group;                       // rows per unit where runs are short; else 1
    int64_t units;
    bool short_runs;
} BroadcastPlan;

// `a` and `b` must broadcast to `out`; all known. (For a unary op pass its input's shape twice.)
void broadcast_prepare(const Shape *a, const Shape *b, const Shape *out, BroadcastPlan *plan);
// Computes units [first, last) of [0, plan->units). Returns the faults.
int64_t broadcast_run(const BroadcastPlan *plan, const ElementwiseLoop *loop, const void *a, const void *b, void *out,
                      int64_t first, int64_t last);
