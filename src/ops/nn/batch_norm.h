// Batch norm — what the plain ops and those with a relu or a sum behind them share.
#pragma once
#include "loops/norm.h"
#include "ops/nn/staging.h"
#include "ops/op.h"

typedef struct {
    int64_t rows, channels, parts;
    double epsilon, factor;         // factor of the running averages
    bool training, relu, has_side;
    Stage x, dy, side, out;
    size_t at_sums;                 // parts * 2 * channels of double
    size_t at_vectors;              // so many vectors of channels of float
} Norm;

// Inputs: x, scale, offset, mean, variance, then what is added before the relu, if anything.
Status *norm_shape(Shapes *s);
Status *norm_prepare(Prepare *p);
Status *norm_run(Kernel *k);
// Inputs: y, then x, scale, offset, and the mean and variance that y was made with, then what was added. y is not read.
Status *norm_recompute_prepare(Prepare *p);
Status *norm_recompute_run(Kernel *k);
// Inputs: dy, x, scale, mean, variance; with a relu also a reserve, the offset and y.
Status *norm_grad_shape(Shapes *s);
Status *norm_recompute_shape(Shapes *s);
Status *norm_grad_prepare(Prepare *p);
Status *norm_grad_run(Kernel *k);
