// Lstm — what the operations share that run the cells of an LSTM: shapes, names of arguments, products of matrices.
//
// A cell of one step and a block of many are the same: the block has its length in front of the other inputs and time
// as the first dimension. Everything is computed as float. The four gates of a row lie one behind the other.
#pragma once
#include "kernel/lanes.h"
#include "loops/elementwise.h"
#include "loops/gemm.h"
#include "ops/nn/staging.h"
#include "ops/op.h"

// One product of matrices inside a kernel, shared out over its threads.
typedef struct {
    GemmPlan plan;
    int64_t cost;    // ns per unit
} Product;

// Raises *lane_bytes to what a thread needs. A product without elements, or of none, is no work.
FALLIBLE Status *product_plan(Prepare *p, const GemmShape *shape, size_t *lane_bytes, Product *out);
void product_run(Kernel *k, const Product *product, Lanes *lanes, const float *a, const float *b, float *c);

// The inputs of a cell; a block has one more before them. Those of gradients go on with the outputs.
enum { X, CS_PREV, H_PREV, W, WCI, WCF, WCO, B, N_LSTM_IN };
enum { Y_I, Y_CS, Y_F, Y_O, Y_CI, Y_CO, Y_H, N_LSTM_OUT };
enum { IN, CANDIDATE, FORGET, OUT, N_GATES };

typedef struct {
    bool block;           // or one cell
    int64_t time, steps;  // of the inputs; how many of them are run
    int64_t batch, inputs, cells, span;  // span: steps whose gates are kept at a time
    int64_t gate[N_GATES];               // where each gate begins in a row of 4 * cells
    bool peephole;
    float forget_bias, clip;
    ElementwiseLoop sigmoid, tanh;
    Stage in[18], out[8];
    Product of_inputs[2], of_hidden;       // [1]: of the last steps, fewer than the span
    Product to_inputs[2], to_hidden, to_weights[2];
    LanePlan lanes;
    size_t at_gates, at_joined;  // in scratch
} Lstm;

// What of the op's name differs: the order of the gates.
typedef struct {
    bool block, forget_first;    // in, forget, candidate, out instead of in, candidate, forget, out
} LstmRow;

// Geometry and staging of inputs and outputs. `n_in` after the length.
FALLIBLE Status *lstm_prepare_shapes(Prepare *p, Lstm *own);
// Bytes of scratch for `rows` of `columns` floats.
FALLIBLE Status *lstm_reserve(Prepare *p, int64_t rows, int64_t columns, size_t *out);
// Steps [first, first + lstm_span(...)) are one piece of work.
static inline int64_t lstm_span(const Lstm *own, int64_t first) {
    return min_i64(own->span, own->steps - first);
}
// [0] for a whole span, [1] for the last steps.
static inline const Product *lstm_product(const Lstm *own, const Product *products, int64_t first) {
    return &products[lstm_span(own, first) < own->span];
}

// What all inputs agree on, from input `at` on: batch, inputs, cells; -1 where unknown.
typedef struct {
    int64_t time, batch, inputs, cells;
} LstmDims;
FALLIBLE Status *lstm_dims(const Shapes *s, const LstmRow *row, LstmDims *out);
// A gradient's inputs [first, last) after the length are [batch, cells], with time in front for a block.
FALLIBLE Status *lstm_agree(const Shapes *s, const LstmRow *row, int first, int last, LstmDims *dims);
