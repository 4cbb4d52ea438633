// Product sum — op(a_1) op(b_1) + op(a_2) op(b_2) + ..., computed a block at a time: whoever wants to do something with
// the sum does it with each block while that is in the cache, and then the sum is never in memory. Whoever only adds a
// multiple of it has it added as it leaves the registers.
//
// A block has whole rows where they aren't very long, so that what lies like the sum is walked from end to end.
#pragma once
#include "graph/build.h"
#include "kernel/lanes.h"
#include "loops/gemm.h"
#include "loops/onednn.h"
#include "ops/op.h"

typedef enum {
    PRODUCT_IN_BLOCKS,           // each goes to a function
    PRODUCT_KEPT,                // the sum is written to a matrix
    PRODUCT_ADDED,               // a multiple of it is added to a matrix; float and double
} ProductUse;

typedef struct {
    GemmPlan plan;               // of a whole block; PRODUCT_ADDED: of the sum
    OnednnOp *library;           // for whole blocks; NULL: the loops
    int64_t m, n;
    int64_t rows, columns;       // of a block
    int64_t down, across;        // blocks
    int64_t size, cost;          // bytes of an element, ns of a block
    int terms, first;            // the first a; the other ones and then the b's are behind it
    ProductUse use;
    size_t at_a, at_b;           // in scratch, where several terms lie one under the other
    LanePlan lanes;
    size_t at_work;              // where in a lane, behind its block, the loops' own memory begins
} ProductSum;

// Shape of one term, merged into *out. INVALID_ARGUMENT where the matrices don't fit.
FALLIBLE Status *product_term_shape(const Node *node, const Shape *a, const Shape *b, Shape *out);

// From input `first` on: a's, then as many b's.
FALLIBLE Status *product_sum_prepare(Prepare *p, int first, ProductUse use, ProductSum *out);

// Elements of the sum from (row, column) on; `block` has its rows closely packed.
typedef void ProductBlockFn(void *arg, int64_t row, int64_t column, int64_t rows, int64_t columns, const void *block);
void product_sum_run(Kernel *k, const ProductSum *sum, ProductBlockFn *fn, void *arg);
// to += scale * sum, rows closely packed.
void product_sum_add(Kernel *k, const ProductSum *sum, double scale, void *to);

// ---- in a graph

// The node is a product of floats, or a sum of such.
bool is_product_sum(const Node *node);
// Its terms as the last two lists of a node that takes them in, and the attributes N, transpose_a and transpose_b.
FALLIBLE Status *product_sum_inputs(NodeBuilder *builder, Node *const *products, int n);
