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

// ---------------------------------------- losses

// The mean of all elements; as `rank` is known only by then, through one dimension.
static Output mean(Net *net, Output x) {
    Formula *f = &net->f;
    return Mean(Reshape(x, Ints(-1)), Int(0), false);
}

Output loss_softmax(Net *net, Output logits, Output labels) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Op("SparseSoftmaxCrossEntropyWithLogits", logits, labels));
    net_scope(net, NULL);
    return y;
}

Output loss_softmax_dense(Net *net, Output logits, Output targets) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Op("SoftmaxCrossEntropyWithLogits", logits, targets));
    net_scope(net, NULL);
    return y;
}

Output loss_sigmoid(Net *net, Output logits, Output targets) {  // max(x, 0) - x t + log(1 + exp(-|x|))
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Add(Sub(Relu(logits), Mul(logits, targets)), Log1p(Exp(Neg(Abs(logits))))));
    net_scope(net, NULL);
    return y;
}

Output loss_squared(Net *net, Output predictions, Output targets) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Square(Sub(predictions, targets)));
    net_scope(net, NULL);
    return y;
}

Output loss_absolute(Net *net, Output predictions, Output targets) {
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output y = mean(net, Abs(Sub(predictions, targets)));
    net_scope(net, NULL);
    return y;
}

Output loss_huber(Net *net, Output predictions, Output targets, double delta) {  // m e - m^2 / 2, m = min(e, delta)
    Formula *f = &net->f;
    net_scope(net, "loss");
    Output e = Abs(Sub(predictions, targets));
    Output m = Minimum(e, Scalar(delta, e));
    Output y = mean(net, Sub(Mul(m, e), Mul(Scalar(0.5, e), Square(m))));
    net_scope(net, NULL);
    return y;
}

Output loss_weights(Net *net, double scale) {
    Formula *f = &net->f;
    net_scope(net, "weights");
    Output total = NONE;
    for (size_t i = 0; i < net->variables.n; i++) {
        if (!net->variables.p[i].trainable)
            continue;
        Output one = formula_1(f, "L2Loss", net->variables.p[i].value);
        total = total.node ? Add(total, one) : one;
    }
    if (total.node)
        total = Mul(total, Scalar(scale, total));
    net_scope(net, NULL);
    return total;
}

Output measure_accuracy(Net *net, Output logits, Output labels) {
    Formula *f = &net->f;
    net_scope(net, "accuracy");
    Output guess = OpWith("ArgMax", ATTRS(TYPE_ATTR("output_type", DT_int64)), logits, Int(1));
    Output y = mean(net, Cast(Equal(guess, Cast(labels, DT_int64)), DT_float));
    net_scope(net, NULL);
    return y;
}
