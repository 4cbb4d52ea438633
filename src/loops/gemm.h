// Gemm — matrix products on the CPU without a library: c = op(a) op(b), row-major, with bias and relu on the way out.
//
// Bits do not depend on how the work is shared out: each element of c sums k in the same order.
#pragma once
#include "tensor/dtype.h"

typedef struct {
    int64_t m, n, k;
    int64_t lda, ldb, ldc;    // elements from a row to the next, as they lie in memory
    bool ta, tb;              // a lies as [k, m], b as [n, k]
    bool accumulate;          // add to c
    bool relu;                // then cut at 0 (real types)
    const void *bias;         // [n], added to each row; NULL: none
} GemmShape;

typedef struct {
    GemmShape shape;          // of one product
    DType dtype;
    int64_t batch;            // products, steps below in elements (0: the same matrix each time)
    int64_t step_a, step_b, step_c;
    int64_t cuts_m, cuts_n;   // parts of one product
    int64_t units;            // batch * cuts_m * cuts_n
    size_t scratch;           // bytes per thread that runs units, aligned to 64
} GemmPlan;

// Every number type; false for others. `threads`: how many will share the units (1: no cutting).
// half and bfloat16 are computed as float; small integers are not taken.
bool gemm_prepare(DType dtype, const GemmShape *shape, int64_t batch, int64_t step_a, int64_t step_b, int64_t step_c,
                  int threads, GemmPlan *plan);
// Units [first, last) of [0, plan->units), with this thread's scratch. No input may overlap c.
void gemm_run(const GemmPlan *plan, const void *a, const void *b, void *c, void *scratch, int64_t first, int64_t last);

// One float product at once, on this thread; `scratch` has gemm_float_scratch() bytes, aligned to 64.
void gemm_float(const GemmShape *shape, const float *a, const float *b, float *c, void *scratch);
size_t gemm_float_scratch(void);
