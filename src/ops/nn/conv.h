// Conv — what the convolutions and their gradients share: geometry, staging, the call of the loops.
#pragma once
#include "kernel/lanes.h"
#include "loops/onednn.h"
#include "loops/winograd.h"
#include "ops/nn/epilogue.h"
#include "ops/nn/geometry.h"
#include "ops/nn/packed.h"
#include "ops/nn/staging.h"

// Op.row of a convolution.
typedef struct {
    ConvPass pass;
    bool depthwise;
    int a, b, sizes;    // inputs: what the pass multiplies; the host input with the output's shape, or -1
    bool volumes;
    bool like;          // the input `sizes` is a tensor of the output's shape
} ConvRow;

typedef struct ConvTail ConvTail;

typedef struct {
    WindowShape window;
    ConvPlan plan;
    ConvPass pass;
    Stage a, b, out;
    LanePlan lanes;
    int in_a, in_b;
    int64_t unit_cost;  // ns
    ConvTail *tail;     // what follows in the same node (conv_fused.c); NULL: nothing
    // By oneDNN: NULL where the portable loops run.
    OnednnOp *library;
    size_t at_library;  // its scratch, in ours
    Packing packing;    // of the filter, where the pass reads one
    WinogradPlan winograd;
    size_t at_partial;  // its partial sums, in the scratch
    int pack_threads;
} Conv;

static inline int conv_axes(const ConvRow *row) {
    return row->volumes ? 3 : 2;
}
Status *conv_output_shape(Shapes *s);
Status *conv_prepare_op(Prepare *p);
Status *conv_run(Kernel *k);
Status *conv_hlo(Hlo *h);

// What an implementation is to do on its way out: all that follows, or only bias and relu, which all of them can.
// Whoever is chosen writes down in conv_within() what it does (NULL: nothing is wanted); always the bias.
Epilogue conv_wanted(const Conv *conv);
Epilogue conv_wanted_simply(const Conv *conv);
Epilogue *conv_within(const Conv *conv);

// Where it writes and what it applies; then the rest, and the way to the output.
typedef struct {
    void *to;
    const void *bias;   // NULL: none
    bool relu;
} ConvOut;
// What the pass multiplies, b packed as conv->packing says; `kept` holds b where that outlives the call.
FALLIBLE Status *conv_load_packed(const Conv *conv, Kernel *k, Buffer **kept, const void **a, const void **b);
ConvOut conv_begin(const Conv *conv, Kernel *k);
void conv_end(const Conv *conv, Kernel *k);

// Plans conv->winograd, and sets p->run, where that is possible and pays.
bool conv_prepare_winograd(Prepare *p, Conv *conv);
// Makes an object of the library for conv->window, and sets p->run, where that is possible and pays.
FALLIBLE Status *conv_prepare_library(Prepare *p, Conv *conv, int64_t multiplications);
