// Layers of images — see net.h.
#include <stdlib.h>

#include "formula/ops.h"
#include "train/layer.h"

#define INTS_ATTR(name, n_ints, ...) \
    {(name), {.kind = ATTR_INT, .is_list = true, .n = (n_ints), .is = (int64_t[]){__VA_ARGS__}}}
#define TEXT_ATTR(name, text) {(name), ATTR_OF_STRING(str_of(text))}
#define FLOAT_ATTR(name, value) {(name), ATTR_OF_FLOAT((float)(value))}

// "2": that many rows and columns on each side; the words are TensorFlow's.
static Output convolution(Net *net, Output x, Output kernel, int stride, const char *padding) {
    Formula *f = &net->f;
    if (*padding < '0' || *padding > '9')
        return OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 4, 1, stride, stride, 1), TEXT_ATTR("padding", padding)), x,
                      kernel);
    int64_t side = strtol(padding, NULL, 10);
    return OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 4, 1, stride, stride, 1), TEXT_ATTR("padding", "EXPLICIT"),
                                  INTS_ATTR("explicit_paddings", 8, 0, 0, side, side, side, side, 0, 0)), x, kernel);
}

static Output convolve(Net *net, Output x, int64_t in, int64_t filters, int height, int width, int stride,
                       const char *padding) {
    Output initial = initial_glorot_uniform(net, SHAPE(height, width, in, filters), output_type(x));
    int kernel = net_variable(net, "kernel", initial, true);
    return convolution(net, x, net_value(net, kernel), stride, padding);
}

static bool filter_sizes(Net *net, const char *name, int64_t filters, int height, int width, int stride) {
    return layer_size(net, name, "the number of filters", filters) &&
        layer_size(net, name, "a filter's height", height) &&
           layer_size(net, name, "a filter's width", width) && layer_size(net, name, "the stride", stride);
}

Output layer_convolve(Net *net, const char *name, Output x, int64_t filters, int height, int width, int stride,
                      const char *padding) {
    int64_t in;
    if (!layer_channels(net, name, x, 4, &in) || !filter_sizes(net, name, filters, height, width, stride))
        return NONE;
    net_scope(net, name);
    Output y = convolve(net, x, in, filters, height, width, stride, padding);
    net_scope(net, NULL);
    return y;
}

Output layer_conv(Net *net, const char *name, Output x, int64_t filters, int size, int stride, const char *activation) {
    int64_t in;
    if (!layer_channels(net, name, x, 4, &in) || !filter_sizes(net, name, filters, size, size, stride))
        return NONE;
    net_scope(net, name);
    Output y = layer_add_bias(net, convolve(net, x, in, filters, size, size, stride, "SAME"), filters, activation);
    net_scope(net, NULL);
    return y;
}

Output layer_pool(Net *net, const char *name, const char *op, Output x, int size, int stride, const char *padding) {
    Formula *f = &net->f;
    if (!layer_size(net, name, "a window's size", size) || !layer_size(net, name, "the stride", stride))
        return NONE;
    net_scope(net, name);
    Output y = OpWith(op, ATTRS(INTS_ATTR("ksize", 4, 1, size, size, 1), INTS_ATTR("strides", 4, 1, stride, stride, 1),
                                TEXT_ATTR("padding", padding)), x);
    net_scope(net, NULL);
    return y;
}

Output layer_global_average(Net *net, const char *name, Output x) {
    Formula *f = &net->f;
    net_scope(net, name);
    Output y = Mean(x, Ints(1, 2), false);
    net_scope(net, NULL);
    return y;
}

Output layer_lrn(Net *net, const char *name, Output x, int radius, double bias, double alpha, double beta) {
    Formula *f = &net->f;
    net_scope(net, name);
    Output y = OpWith("LRN", ATTRS(INT_ATTR("depth_radius", radius), FLOAT_ATTR("bias", bias),
                                   FLOAT_ATTR("alpha", alpha), FLOAT_ATTR("beta", beta)), x);
    net_scope(net, NULL);
    return y;
}

static const double EPSILON = 1e-3, FORGET = 0.01;  // as in Keras

// moving -= (moving - batch) * FORGET, in each training step
static void follow(Net *net, int moving, Output batch) {
    Formula *f = &net->f;
    Output change = Mul(Sub(net_value(net, moving), batch), Number(FORGET, DT_float));
    if (f->status || moving < 0)
        return;
    Node *node = formula_2(f, net->refs ? "AssignSub" : "AssignSubVariableOp", net->variables.p[moving].handle,
                           change).node;
    if (node && !vec_push(&net->updates, node))
        formula_fail(f, OUT_OF_MEMORY);
}

Output layer_batch_norm(Net *net, const char *name, Output x, const char *activation) {
    Formula *f = &net->f;
    int64_t n;
    if (!layer_channels(net, name, x, 4, &n))
        return NONE;
    net_scope(net, name);
    int scale = net_variable(net, "scale", initial_constant(net, SHAPE(n), DT_float, 1), true);
    int offset = net_variable(net, "offset", initial_constant(net, SHAPE(n), DT_float, 0), true);
    int mean = net_variable(net, "mean", initial_constant(net, SHAPE(n), DT_float, 0), false);
    int variance = net_variable(net, "variance", initial_constant(net, SHAPE(n), DT_float, 1), false);
    Output none = net->testing ? NONE : initial_constant(net, SHAPE(0), DT_float, 0);
    Output y = OpWith("FusedBatchNormV3", ATTRS(FLOAT_ATTR("epsilon", EPSILON),
                                                BOOL_ATTR("is_training", !net->testing)), x,
                      net_value(net, scale), net_value(net, offset), net->testing ? net_value(net, mean) : none,
                      net->testing ? net_value(net, variance) : none);
    if (!net->testing) {
        follow(net, mean, At(y, 1));
        follow(net, variance, At(y, 2));
    }
    y = layer_activate(net, y, activation);
    net_scope(net, NULL);
    return y;
}
