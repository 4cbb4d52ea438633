// First values — see net.h.
#include <math.h>

#include "formula/ops.h"
#include "train/net.h"

static Output shape_constant(Net *net, Shape shape) {
    return formula_ints(&net->f, shape.dims, shape.rank, DT_int32);
}

Output initial_constant(Net *net, Shape shape, DType dtype, double value) {
    Formula *f = &net->f;
    return Fill(shape_constant(net, shape), Number(value, dtype));
}

static Output draw(Net *net, const char *op, Shape shape, DType dtype) {
    Formula *f = &net->f;
    int64_t seed = net->seed++;
    return OpWith(op, ATTRS(TYPE_ATTR("dtype", dtype), INT_ATTR("seed", seed), INT_ATTR("seed2", 42)),
                  shape_constant(net, shape));
}

Output initial_uniform(Net *net, Shape shape, DType dtype, double low, double high) {
    Formula *f = &net->f;
    return Add(Mul(draw(net, "RandomUniform", shape, dtype), Number(high - low, dtype)), Number(low, dtype));
}

Output initial_truncated_normal(Net *net, Shape shape, DType dtype, double deviation) {
    Formula *f = &net->f;
    return Mul(draw(net, "TruncatedNormal", shape, dtype), Number(deviation, dtype));
}

static void fans(Shape shape, double *in, double *out) {
    double field = shape.rank > 2 ? (double)shape_span(&shape, 0, shape.rank - 2) : 1;
    *in = shape.rank > 1 ? field * (double)shape.dims[shape.rank - 2] : shape.rank ? (double)shape.dims[0] : 1;
    *out = shape.rank ? field * (double)shape.dims[shape.rank - 1] : 1;
    *in = fmax(*in, 1);
    *out = fmax(*out, 1);
}

// Cutting a normal distribution at two deviations leaves it this much narrower.
static const double TRUNCATED = 0.87962566103423978;

Output initial_glorot_uniform(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    double limit = sqrt(6 / (in + out));
    return initial_uniform(net, shape, dtype, -limit, limit);
}

Output initial_glorot_normal(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    return initial_truncated_normal(net, shape, dtype, sqrt(2 / (in + out)) / TRUNCATED);
}

Output initial_he_uniform(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    double limit = sqrt(6 / in);
    return initial_uniform(net, shape, dtype, -limit, limit);
}

Output initial_he_normal(Net *net, Shape shape, DType dtype) {
    double in, out;
    fans(shape, &in, &out);
    return initial_truncated_normal(net, shape, dtype, sqrt(2 / in) / TRUNCATED);
}
