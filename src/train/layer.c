// Layers — see net.h: those of any use; images are in layer_image.c, sequences in layer_sequence.c.
#include "train/layer.h"

#include "formula/ops.h"

Output layer_activate(Net *net, Output x, const char *activation) {
    return activation && *activation ? formula_1(&net->f, activation, x) : x;
}

bool layer_channels(Net *net, const char *layer, Output x, int rank, int64_t *out) {
    if (net->f.status)
        return false;
    const Shape *shape = output_shape(x);
    bool good = rank ? shape->rank == rank : shape->rank > 0;
    good = good && shape->dims[shape->rank - 1] > 0;
    if (good)
        *out = shape->dims[shape->rank - 1];
    else if (rank)
        formula_fail(&net->f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                         "layer %s takes %d dimensions, the last one known; got %s", layer, rank,
                                         shape_text(shape)));
    else
        formula_fail(&net->f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__,
                                         "layer %s takes dimensions of which the last is known; got %s", layer,
                                         shape_text(shape)));
    return good;
}

bool layer_size(Net *net, const char *layer, const char *what, int64_t size) {
    if (net->f.status)
        return false;
    if (size <= 0)
        formula_fail(&net->f, status_new(INVALID_ARGUMENT, __FILE__, __LINE__, "layer %s: %s must be above 0, got %lld",
                                         layer ? layer : "(no name)", what, (long long)size));
    return size > 0;
}

Output layer_add_bias(Net *net, Output x, int64_t units, const char *activation) {
    Formula *f = &net->f;
    int bias = net_variable(net, "bias", initial_constant(net, SHAPE(units), output_type(x), 0), true);
    return layer_activate(net, Op("BiasAdd", x, net_value(net, bias)), activation);
}

Output layer_bias(Net *net, const char *name, Output x, const char *activation) {
    int64_t units;
    if (!layer_channels(net, name, x, 0, &units))
        return NONE;
    net_scope(net, name);
    Output y = layer_add_bias(net, x, units, activation);
    net_scope(net, NULL);
    return y;
}

Output layer_dense(Net *net, const char *name, Output x, int64_t units, const char *activation) {
    Formula *f = &net->f;
    int64_t in;
    if (!layer_channels(net, name, x, 2, &in) || !layer_size(net, name, "the number of units", units))
        return NONE;
    net_scope(net, name);
    int kernel = net_variable(net, "kernel", initial_glorot_uniform(net, SHAPE(in, units), output_type(x)), true);
    Output y = layer_add_bias(net, MatMul(x, net_value(net, kernel), false, false), units, activation);
    net_scope(net, NULL);
    return y;
}

// The batch's extent may be unknown, those behind it not: they make the width, of which a dense layer's kernel has its
// shape.
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

// Inverted dropout: kept where a random number reaches `rate`, and scaled by 1 / (1 - rate), so that the expected value
// stays the same and nothing is to be done when testing.
Output layer_dropout(Net *net, const char *name, Output x, Output rate) {
    Formula *f = &net->f;
    if (net->testing)
        return x;
    net_scope(net, name);
    int64_t seed = net->seed++;
    Output noise = OpWith("RandomUniform", ATTRS(TYPE_ATTR("dtype", output_type(x)), INT_ATTR("seed", seed)),
                          ShapeOf(x));
    Output kept = Div(x, Sub(Scalar(1, x), rate));
    Output y = Select(GreaterEqual(noise, rate), kept, ZerosLike(x));
    net_scope(net, NULL);
    return y;
}
