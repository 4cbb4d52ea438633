// Pool — what the pooling ops share: geometry and staging.
#pragma once
#include "kernel/lanes.h"
#include "ops/nn/geometry.h"
#include "ops/nn/staging.h"

// Op.row of a pool; NULL stands for all false.
typedef struct {
    bool sizes_are_inputs;   // V2: ksize and strides are the last two inputs
    bool volumes;
} PoolRow;

typedef struct {
    WindowShape window;
    bool planes, turns;      // planes as they are; volumes in planes, to be turned into voxels
    DType compute;
    Stage x, y, dy, out;
    LanePlan lanes;
    int64_t image_cost;      // ns
    bool include_batch;      // positions count over the whole batch
    size_t at_positions;     // int64 positions in the scratch
} Pool;

// ksize and strides of an op; of a V2 op they are inputs, whose values may not be known yet.
FALLIBLE Status *pool_sliding(const Node *node, const Tensor *ksize, const Tensor *strides, bool *known, Sliding *out);
Status *pool_output_shape(Shapes *s);   // every output has the shape of the pool of input 0
// Reads the geometry for images of shape `x`.
FALLIBLE Status *pool_prepare_window(Prepare *p, const Shape *x, DType dtype, Pool *pool, Sliding *sliding);
Status *pool_max_prepare(Prepare *p);
Status *pool_max_run(Kernel *k);
Status *pool_avg_prepare(Prepare *p);
Status *pool_avg_run(Kernel *k);
// Images, their pool and its gradient -> the images' gradient; and those of the mean's gradient and its second.
Status *pool_grad_shape(Shapes *s);
Status *pool_max_grad_prepare(Prepare *p);
Status *pool_max_grad_run(Kernel *k);
Status *pool_share_prepare(Prepare *p);
Status *pool_share_run(Kernel *k);
Status *pool_avg_grad_shape(Shapes *s);
Status *pool_avg_grad_prepare(Prepare *p);
Status *pool_avg_grad_run(Kernel *k);
Status *pool_grad_grad_shape(Shapes *s);
Status *pool_grad_grad_prepare(Prepare *p);
Status *pool_grad_grad_run(Kernel *k);
// For devices that compile.
Status *pool_max_hlo(Hlo *h);
Status *pool_max_grad_hlo(Hlo *h);
Status *pool_avg_hlo(Hlo *h);
Status *pool_avg_grad_hlo(Hlo *h);
extern const PoolRow pool_sizes_are_inputs;

#define POOL_WINDOWS "ksize: list(int) >= 4; strides: list(int) >= 4; "
#define PLAIN_PADDING "padding: {\"SAME\", \"VALID\"}; "
#define TWO_FORMATS "data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\""
#define POOL_FIELDS .own_size = sizeof(Pool)
