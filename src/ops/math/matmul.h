// Product — what the matrix products share: geometry, the loops' plan, the library's objects.
#pragma once
#include "kernel/lanes.h"
#include "loops/cast.h"
#include "loops/gemm.h"
#include "loops/onednn.h"
#include "ops/nn/epilogue.h"
#include "ops/nn/packed.h"

typedef struct {
    GemmPlan plan;
    int64_t products;                     // calls of the plan; each has plan.units units
    int rank;                             // of the dimensions that are walked from call to call
    int64_t dims[MAX_RANK], step_a[MAX_RANK], step_b[MAX_RANK];  // elements
    int64_t step_c;
    int64_t size;                         // bytes of an element as computed
    int64_t cost;                         // ns per unit
    LanePlan lanes;                       // of the loops
    bool widen, conjugate_a, conjugate_b;
    size_t at_a, at_b, at_c;              // of prepared copies in scratch, where there are any
    CastLoop widening, narrowing;
    ElementwiseLoop conjugate;
    Epilogue epilogue;                    // bias (input 2) and activation of _FusedMatMul
    bool activates;                       // the activation is left to a pass over the output
    ElementwiseLoop activation;
    OnednnOp *library;                    // NULL: the loops
    OnednnOp *packed;                     // for weights that are kept; NULL: none
    bool packs;                           // ... the loops, by this plan
    GemmPlan packed_plan;
    int64_t part, parts;                  // the library's rows at a time, and how many times; 1: the whole product at
                                          // once
    OnednnOp *last;                       // for the last part, where that has fewer rows
    LanePlan part_lanes;                  // of these
    Packing packing;
} Product;

// By the loops.
Status *matmul_run(Kernel *k);
// The same with the second factor as packed_plan takes it.
void matmul_run_packed(Kernel *k, const void *packed);
// The pass over the output, where there is one.
void matmul_finish(Kernel *k);
// Makes the library's objects and sets p->run, where that pays.
FALLIBLE Status *matmul_choose_library(Prepare *p, const GemmShape *shape, int threads);
