// Pooling over volumes — windows reduced to their greatest or mean element, and the gradients: pool.c does the work.
#include "ops/nn/pool.h"

static void max_grad(Formula *f) {
    f->dx[0] = Like("MaxPool3DGrad", f->x[0], f->y[0], f->dy[0]);
}
static void max_grad_grad(Formula *f) {
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = Like("MaxPool3DGradGrad", f->x[0], f->x[1], f->dy[0]);
}
static void max_grad_grad_grad(Formula *f) {
    f->dx[0] = ZerosLike(f->x[0]);
    f->dx[1] = ZerosLike(f->x[1]);
    f->dx[2] = Like("MaxPool3DGrad", f->x[0], f->x[1], f->dy[0]);
}
static void mean_grad(Formula *f) {
    f->dx[0] = Like("AvgPool3DGrad", ShapeOf(f->x[0]), f->dy[0]);
}
static void mean_grad_grad(Formula *f) {
    f->dx[1] = Like("AvgPool3D", f->dy[0]);
}

static const PoolRow volumes = {.volumes = true};

#define WINDOWS_3D                                                                               \
    "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {\"SAME\", \"VALID\"}; "            \
    "data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\"; "
#define POOL3_FIELDS .row = &volumes, POOL_FIELDS
const Op op_MaxPool3D = {
    .signature = "MaxPool3D(input: T) -> output: T; " WINDOWS_3D "T: {half, bfloat16, float}",
    .doc = "The greatest element of each window of the volumes.", .grad = max_grad, .shape = pool_output_shape,
    .prepare = pool_max_prepare, .cpu = ANY_TYPE(pool_max_run), .same_rows = 1, POOL3_FIELDS, .hlo = pool_max_hlo,
};
const Op op_MaxPool3DGrad = {
    .signature = "MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> output: T; " WINDOWS_3D
                 "T: {half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float",
    .doc = "Gradient of MaxPool3D: goes to all that is within 1e-5 of the greatest of each window.",
    .grad = max_grad_grad,
    .shape = pool_grad_shape, .prepare = pool_share_prepare, .cpu = ANY_TYPE(pool_share_run), POOL3_FIELDS,
};
const Op op_MaxPool3DGradGrad = {
    .signature = "MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T; " WINDOWS_3D
                 "T: reals",
    .doc = "Second gradient of MaxPool3D: what lies at the greatest element of each window.",
    .shape = pool_grad_grad_shape,
    .grad = max_grad_grad_grad, .prepare = pool_grad_grad_prepare, .cpu = ANY_TYPE(pool_grad_grad_run),
    POOL3_FIELDS,
};
const Op op_AvgPool3D = {
    .signature = "AvgPool3D(input: T) -> output: T; " WINDOWS_3D "T: floats_half_first",
    .doc = "The mean of each window of the volumes; only elements inside count.", .grad = mean_grad,
    .shape = pool_output_shape, .prepare = pool_avg_prepare, .cpu = ANY_TYPE(pool_avg_run), .same_rows = 1,
    POOL3_FIELDS, .hlo = pool_avg_hlo,
};
const Op op_AvgPool3DGrad = {
    .signature = "AvgPool3DGrad(orig_input_shape: int32, grad: T) -> output: T; " WINDOWS_3D
                 "T: floats_half_first",
    .doc = "Gradient of AvgPool3D: shared out among the elements of each window.", .grad = mean_grad_grad,
    .shape = pool_avg_grad_shape, .prepare = pool_avg_grad_prepare, .cpu = ANY_TYPE(pool_avg_grad_run), .host = BIT(0),
    POOL3_FIELDS, .hlo = pool_avg_grad_hlo,
};
