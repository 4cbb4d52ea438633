// BatchNormWithGlobalNormalization — normalisation by given means and variances, with its gradient: formulas.
#include "ops/op.h"

static Status *norm_shape(Shapes *s) {
    Shape channels = UNKNOWN_SHAPE, shape = s->in[0];
    NEED(shape.rank < 0 || shape.rank == 4, INVALID_ARGUMENT, "input must be 4-dimensional%s", shape_text(&shape));
    for (int i = 1; i < (s->n_out > 1 ? 4 : 5); i++)
        TRY(shape_merge(&channels, &s->in[i], &channels));
    NEED(channels.rank < 0 || channels.rank == 1, INVALID_ARGUMENT, "mean must be 1-dimensional%s",
         shape_text(&channels));
    int64_t known = shape.rank == 4 ? shape.dims[3] : UNKNOWN_DIM, depth = channels.rank == 1 ? channels.dims[0] : known;
    NEED(known < 0 || depth < 0 || known == depth, INVALID_ARGUMENT, "%lld channels, but %lld means", (long long)known,
         (long long)depth);
    if (shape.rank == 4)
        shape.dims[3] = max_i64(known, depth);
    s->out[0] = shape;
    for (int i = 1; i < s->n_out; i++)
        s->out[i] = SHAPE(max_i64(known, depth));
    return OK;
}

// result = (t - m) / sqrt(v + epsilon) [* gamma] + beta
static void norm_expand(Formula *f) {
    Output v = f->x[2], scale = Rsqrt(Add(v, Scalar(node_float(f->node, "variance_epsilon"), v)));
    if (node_bool(f->node, "scale_after_normalization"))
        scale = Mul(scale, f->x[4]);
    f->results[0] = Add(Mul(Sub(f->x[0], f->x[1]), scale), f->x[3]);
}

// dx = dy gamma r, dm = -sum(dy gamma) r, dv = -1/2 sum(dy gamma (t - m)) r^3, db = sum(dy), dg = sum(dy (t - m) r)
// with r = 1 / sqrt(v + epsilon); without the scale gamma is 1, and dg 0.
static void norm_grad_expand(Formula *f) {
    bool scales = node_bool(f->node, "scale_after_normalization");
    Output v = f->x[2], gamma = f->x[3], dy = f->x[4], centred = Sub(f->x[0], f->x[1]);
    Output r = Rsqrt(Add(v, Scalar(node_float(f->node, "variance_epsilon"), v)));
    Output scale = scales ? Mul(r, gamma) : r;
    Output sum = Sum(dy, Ints(0, 1, 2), false), product = Sum(Mul(dy, centred), Ints(0, 1, 2), false);
    f->results[0] = Mul(dy, scale);
    f->results[1] = Neg(Mul(sum, scale));
    f->results[2] = Mul(Mul(Mul(product, scale), Square(r)), Scalar(-0.5, r));
    f->results[3] = sum;
    f->results[4] = scales ? Mul(product, r) : Op("ZerosLike", gamma);
}

#define TYPES                                                                                                    \
    "T: numbers; variance_epsilon: float; scale_after_normalization: bool; "
const Op op_BatchNormWithGlobalNormalization = {
    .signature = "BatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T) -> result: T; " TYPES
                 "deprecated(9, \"use FusedBatchNormV3\")",
    .doc = "Normalises by given means and variances.",
    .needs = "rank(t) == 4, vector(m), vector(v), vector(beta), vector(gamma)", .shape = norm_shape,
    .expand = norm_expand,
};
const Op op_BatchNormWithGlobalNormalizationGrad = {
    .signature = "BatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T) -> dx: T, dm: T, dv: T, "
                 "db: T, dg: T; " TYPES "deprecated(9, \"use FusedBatchNormGradV3\")",
    .doc = "The gradients of BatchNormWithGlobalNormalization.",
    .needs = "rank(t) == 4, vector(m), vector(v), vector(gamma), rank(backprop) == 4", .shape = norm_shape,
    .expand = norm_grad_expand,
};
