// Conv — what the convolutions and their gradients share: geometry, staging, the call of the loops.
#pragma once
#include "loops/onednn.h"
#include "loops/winograd.h"
#include "ops/nn/geometry.h"
#include "ops/nn/lanes.h"
#include "ops/nn/packed.h"
#include "ops/nn/staging.h"

// Op.row of a convolution.
typedef struct {
    ConvPass pass;
    bool depthwise;
    int a, b, sizes;    // inputs: what the pass multiplies; the host input with the output's shape, or -1
} ConvRow;

typedef struct {
    WindowShape window;
    ConvPlan plan;
    ConvPass pass;
    Stage a, b, out;
    LanePlan lanes;
    int in_a, in_b;
    int64_t unit_cost;  // ns
    // By oneDNN: NULL where the portable loops run.
    OnednnOp *library;
    size_t at_library;  // its scratch, in ours
    Packing packing;    // of the filter, where the pass reads one
    WinogradPlan winograd;
    size_t at_partial;  // its partial sums, in the scratch
    int pack_threads;
} Conv;

Status *conv_output_shape(Shapes *s);
Status *conv_prepare_op(Prepare *p);
Status *conv_run(Kernel *k);

// Plans conv->winograd, and sets p->run, where that is possible and pays.
bool conv_prepare_winograd(Prepare *p, Conv *conv);
// Makes an object of the library for conv->window, and sets p->run, where that is possible and pays.
FALLIBLE Status *conv_prepare_library(Prepare *p, Conv *conv, int64_t multiplications);
