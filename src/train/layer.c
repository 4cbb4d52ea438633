// Layers — see net.h.
#include "formula/ops.h"
#include "train/net.h"

#define INTS_ATTR(name, ...) \
    {(name), {.kind = ATTR_INT, .is_list = true, .n = 4, .is = (int64_t[]){__VA_ARGS__}}}
#define TEXT_ATTR(name, text) {(name), ATTR_OF_STRING(STR(text))}

static Output activate(Net *net, Output x, const char *activation) {
    return activation && *activation ? formula_1(&net->f, activation, x) : x;
}

// The last extent of x, which must be known.
static bool channels(Net *net, const char *layer, Output x, int rank, int64_t *out) {
    if (net->f.status)
        return false;
    const Shape *shape = output_shape(x);
    bool good = shape->rank == rank && shape->dims[rank - 1] > 0;
    if (good)
        *out = shape->dims[rank - 1];
    else
        formula_fail(&net->f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                         "layer %s takes %d dimensions, the last one known; got %s", layer, rank,
                                         shape_text(shape)));
    return good;
}

static Output with_bias(Net *net, Output x, int64_t units, const char *activation) {
    Formula *f = &net->f;
    int bias = net_variable(net, "bias", initial_constant(net, SHAPE(units), output_type(x), 0), true);
    return activate(net, Op("BiasAdd", x, net_value(net, bias)), activation);
}

Output layer_dense(Net *net, const char *name, Output x, int64_t units, const char *activation) {
    Formula *f = &net->f;
    int64_t in;
    if (!channels(net, name, x, 2, &in))
        return NONE;
    net_scope(net, name);
    int kernel = net_variable(net, "kernel", initial_glorot_uniform(net, SHAPE(in, units), output_type(x)), true);
    Output y = with_bias(net, MatMul(x, net_value(net, kernel), false, false), units, activation);
    net_scope(net, NULL);
    return y;
}

Output layer_conv(Net *net, const char *name, Output x, int64_t filters, int size, int stride, const char *activation) {
    Formula *f = &net->f;
    int64_t in;
    if (!channels(net, name, x, 4, &in))
        return NONE;
    net_scope(net, name);
    Output initial = initial_glorot_uniform(net, SHAPE(size, size, in, filters), output_type(x));
    int kernel = net_variable(net, "kernel", initial, true);
    Output y = OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 1, stride, stride, 1), TEXT_ATTR("padding", "SAME")), x,
                      net_value(net, kernel));
    y = with_bias(net, y, filters, activation);
    net_scope(net, NULL);
    return y;
}

static Output pool(Net *net, const char *op, const char *name, Output x, int size, int stride) {
    Formula *f = &net->f;
    net_scope(net, name);
    Output y = OpWith(op, ATTRS(INTS_ATTR("ksize", 1, size, size, 1), INTS_ATTR("strides", 1, stride, stride, 1),
                                TEXT_ATTR("padding", "VALID")), x);
    net_scope(net, NULL);
    return y;
}

Output layer_max_pool(Net *net, const char *name, Output x, int size, int stride) {
    return pool(net, "MaxPool", name, x, size, stride);
}

Output layer_average_pool(Net *net, const char *name, Output x, int size, int stride) {
    return pool(net, "AvgPool", name, x, size, stride);
}

Output layer_flatten(Net *net, const char *name, Output x) {
    Formula *f = &net->f;
    if (f->status)
        return NONE;
    const Shape *shape = output_shape(x);
    int64_t rest = shape->rank > 0 ? 1 : -1;
    for (int i = 1; i < shape->rank; i++)
        rest = shape->dims[i] < 0 || rest < 0 ? -1 : rest * shape->dims[i];
    if (rest < 0) {
        formula_fail(f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                   "layer %s takes dimensions that are known but for the first; got %s", name,
                                   shape_text(shape)));
        return NONE;
    }
    net_scope(net, name);
    Output y = Reshape(x, Ints(-1, rest));
    net_scope(net, NULL);
    return y;
}

// Kept where a random number reaches `rate`, and scaled up so that the sum stays the same on average.
Output layer_dropout(Net *net, const char *name, Output x, Output rate) {
    Formula *f = &net->f;
    net_scope(net, name);
    int64_t seed = net->seed++;
    Output noise = OpWith("RandomUniform", ATTRS(TYPE_ATTR("dtype", output_type(x)), INT_ATTR("seed", seed)), ShapeOf(x));
    Output kept = Div(x, Sub(Scalar(1, x), rate));
    Output y = Select(GreaterEqual(noise, rate), kept, ZerosLike(x));
    net_scope(net, NULL);
    return y;
}
