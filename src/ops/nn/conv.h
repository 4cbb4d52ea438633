// Conv — what the convolutions and their gradients share: geometry, staging, the call of the loops.
#pragma once
#include "loops/onednn.h"
#include "ops/nn/geometry.h"
#include "ops/nn/lanes.h"
#include "ops/nn/staging.h"
#include "thread/mutex.h"

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
    size_t at_library, at_packed, packed_bytes;  // places in the scratch; bytes of packed weights, 0 for plain ones
    uint64_t id;                                 // of this object: what packed weights are laid out for
    bool constant_filter;
} Conv;

// The state of a convolution's node: its filter as the library wants it, kept while the filter stays the same. Each
// object, that is each shape of the images, may want another layout: the last few are kept.
enum { KEPT_FILTERS = 4 };
typedef struct {
    Mutex lock;
    struct {
        Buffer *packed;
        uint64_t id, stamp;
    } kept[KEPT_FILTERS];  // guarded by lock
    int next;              // guarded by lock: which goes when none is free
} ConvState;

Status *conv_output_shape(Shapes *s);
Status *conv_prepare_op(Prepare *p);
Status *conv_run(Kernel *k);

// Makes an object of the library for conv->window, and sets p->run, where that is possible and pays.
FALLIBLE Status *conv_prepare_library(Prepare *p, Conv *conv, int64_t multiplications);
Status *conv_open(Opening *o);
void conv_close(void *state);
