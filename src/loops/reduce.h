// Reduce — folding some dimensions of a tensor away: sums, products, extremes, means, and running (cumulative) folds.
//
// float and complex64 are summed in blocks that are gathered in double (complex128); half and bfloat16 as float;
// integers wrap in their own width. The order of additions depends on the shape only, never on how units are shared
// out, so any number of threads gives the same bits.
#pragma once
#include "loops/elementwise.h"
#include "tensor/shape.h"

typedef enum {
    REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_MEAN, REDUCE_ANY, REDUCE_ALL,
    REDUCE_SQUARES,   // the sum of squares
    REDUCE_NORM,      // its square root: EuclideanNorm
} ReduceOp;

// The shape as alternating kept and reduced dimensions, neighbours of one sort merged, extents of 1 left out.
typedef struct {
    ReduceOp op;
    DType dtype, compute;
    int rank;
    int64_t dims[MAX_RANK], step[MAX_RANK];   // elements
    bool reduced[MAX_RANK];
    int64_t outputs, folded;                  // elements of the output; elements folded into each
    bool inner_reduced;                       // the innermost dimension is folded
    int64_t width, columns;                   // of kept innermost: outputs per unit; its extent
    int64_t per_unit;                         // inner reduced: outputs per unit
    int split_dim;                            // with splits > 1 this reduced dimension is cut
    int64_t splits;
    int64_t units, blocks;                    // units = blocks * splits
    size_t accumulator, element;              // bytes
    ConvertFn load, store;                    // for types computed on as another
    const void *loops;
} ReducePlan;

// `axes` marks the dimensions to fold (bit i: dimension i). False where the op does not take the type.
bool reduce_prepare(ReduceOp op, DType dtype, const Shape *shape, uint32_t axes, ReducePlan *plan);
// Bytes of memory, aligned to 16, that run and finish need; 0 where there is none.
size_t reduce_scratch(const ReducePlan *plan);
// Folds units [first, last) of [0, plan->units).
void reduce_run(const ReducePlan *plan, const void *in, void *out, void *scratch, int64_t first, int64_t last);
// After all units, on one thread: joins what was split.
void reduce_finish(const ReducePlan *plan, void *out, const void *scratch);

// out[r] = the sum of a[r * n + i] * b[r * n + i] over i, in the type itself: of rows of a few hundred elements. NULL
// for other types than float and double.
typedef void (*DotsFn)(const void *a, const void *b, int64_t rows, int64_t n, void *out);
DotsFn reduce_dots(DType dtype);

// Index of the first greatest (least) element along the middle of [outer, n, inner]; NaN is passed over. `index` is
// int16, uint16, int32 or int64. `n` >= 1. Shardable over outer: pass a part. False where the types have no order.
bool reduce_argmax(DType dtype, DType index, const void *in, void *out, int64_t outer, int64_t n, int64_t inner);
bool reduce_argmin(DType dtype, DType index, const void *in, void *out, int64_t outer, int64_t n, int64_t inner);

typedef enum { SCAN_SUM, SCAN_PROD, SCAN_LOGSUMEXP } ScanOp;
// Running fold along the middle of [outer, n, inner], shardable over outer. `exclusive` leaves the element itself out;
// `reverse` runs from the end. False where the op does not take the type.
bool reduce_scan(ScanOp op, DType dtype, const void *in, void *out, int64_t outer, int64_t n, int64_t inner,
                 bool exclusive, bool reverse);
