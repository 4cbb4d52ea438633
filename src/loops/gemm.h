// Gemm — matrix products on the CPU without a library: c = op(a) op(b), row-major, with bias and relu on the way out.
//
// Bits do not depend on how the work is shared out: each element of c sums k in the same order.
#pragma once
#include "tensor/dtype.h"

typedef struct {
    int64_t m, n, k;
    int64_t lda, ldb, ldc;    // elements from a row to the next, as they lie in memory
    bool ta, tb;              // a lies as [k, m], b as [n, k]
    bool packed;              // b lies as gemm_pack has laid it out
    bool accumulate;          // add to c
    bool relu;                // then cut at 0 (real types)
    bool scales;              // the product is first multiplied by `scale` (float and double)
    double scale;
    const void *bias;         // [n], added to each row; NULL: none
} GemmShape;

// How the elements of c are summed: chosen once for a product, however it is cut.
typedef enum {
    GEMM_TILES,               // tiles of c in registers, factors packed where they are large
    GEMM_PACKED,              // ... the right factor packed, large or not
    GEMM_SHALLOW,             // ... few rows: the right factor is read where it lies
    GEMM_DOTS,                // vectors along k: both factors lie so
    GEMM_ROW,                 // one row times a matrix
    GEMM_TURNED,              // few columns, a transposed: tiles of the transposed product
} GemmWay;

typedef struct {
    GemmShape shape;          // of one product
    GemmWay way;
    DType dtype;
    int64_t batch;            // products, steps below in elements (0: the same matrix each time)
    int64_t step_a, step_b, step_c;
    int64_t cuts_m, cuts_n;   // parts of one product
    int64_t units;            // batch * cuts_m * cuts_n
    size_t scratch;           // bytes per thread that runs units, aligned to 64
    size_t packed;            // ... of which the packed blocks take the first
} GemmPlan;

// Every number type; false for others. `threads`: how many will share the units (1: no cutting).
// half and bfloat16 are computed as float; small integers are not taken.
bool gemm_prepare(DType dtype, const GemmShape *shape, int64_t batch, int64_t step_a, int64_t step_b, int64_t step_c,
                  int threads, GemmPlan *plan);
// Units [first, last) of [0, plan->units), with this thread's scratch. No input may overlap c.
void gemm_run(const GemmPlan *plan, const void *a, const void *b, void *c, void *scratch, int64_t first, int64_t last);

// Where the same b is multiplied again and again it can be laid out once, as the tiles read it: the same bits, 15 %
// sooner than where it lies (64 x 512 x 256 at AVX2), 30 % than transposed.
//
// Turns the plan into one that takes b packed, too; false, and nothing changes, where that is not so: several products,
// other types than float and double, a single row or column, a transposed.
bool gemm_may_pack(GemmPlan *plan);
// Whether that is worth keeping a second copy of b.
bool gemm_packing_pays(const GemmShape *shape);
size_t gemm_packed_bytes(const GemmPlan *plan);
void gemm_pack(const GemmPlan *plan, const void *b, void *packed);
// Like gemm_run.
void gemm_run_packed(const GemmPlan *plan, const void *a, const void *packed, void *c, void *scratch, int64_t first,
                     int64_t last);

// One product of float or double at once, on this thread; `scratch` has gemm_most_scratch() bytes, aligned to 64.
void gemm_at_once(DType dtype, const GemmShape *shape, const void *a, const void *b, void *c, void *scratch);
size_t gemm_most_scratch(void);
