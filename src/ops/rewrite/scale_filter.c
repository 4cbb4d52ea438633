// Factors and sums of output channels become part of the convolution that makes them.
//
// conv(x, w) s = conv(x, w s), (y + b) s = y s + b s and (y + b) + t = y + (b + t): a normalisation, written as a node or
// out as a product and a sum of constants, becomes part of the constant filter and of one bias, which the convolution
// adds itself.
#include "graph/rewrite.h"
#include "ops/nn/epilogue.h"

enum { MOST_BYTES = 10 << 20 };  // what folding takes

static bool is_read_once(const Node *node) {
    return node->uses.n == 1 && node->uses.p[0].index == 0 && !node->n_controls;
}

// The convolutions by name; NULL for other ops.
static const char *conv_name(const Node *node) {
    static const char *const names[] = {"Conv2D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv3D",
                                        "Conv3DBackpropInputV2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(node->type->name, names[i]))
            return names[i];
    return NULL;
}

static bool is_transposed(const Node *node) {
    return str_is(node->type->name, "Conv2DBackpropInput") || str_is(node->type->name, "Conv3DBackpropInputV2");
}
static bool is_depthwise(const Node *node) {
    return str_is(node->type->name, "DepthwiseConv2dNative");
}

static bool is_constant_bias(const Node *node) {
    return str_is(node->type->name, "BiasAdd") && is_read_once(node) && output_constant(node->inputs[1]);
}

// The convolution of a constant filter that makes `edge`, which nobody else reads, or NULL. `*out_bias`: the constant
// that a BiasAdd adds in between, or {NULL}.
static const Node *conv_behind(Output edge, Output *out_bias) {
    const Node *from = edge.node;
    *out_bias = (Output){0};
    bool planes = node_in_planes(from);
    if (edge.index == 0 && is_constant_bias(from)) {
        *out_bias = from->inputs[1];
        from = from->inputs[0].node;
        if (node_in_planes(from) != planes)
            return NULL;
    }
    if (!conv_name(from))
        return NULL;
    const Tensor *filter = output_constant(from->inputs[1]);
    bool fits = filter && filter->dtype == DT_float && filter->shape.rank >= 4 && tensor_bytes(filter) <= MOST_BYTES;
    return fits && is_read_once(from) ? from : NULL;
}

// That convolution with its output channels times the constant `s`, a vector of them or a single number.
static Output conv_scaled(Formula *f, const Node *conv, Output s) {
    const Shape *filter = &output_constant(conv->inputs[1])->shape;
    const int64_t *last = filter->dims + filter->rank - 2;
    if (shape_count(output_shape(s)) == 1)
        s = Reshape(s, NoInts);
    else if (is_depthwise(conv))
        s = Reshape(s, formula_ints(f, last, 2, DT_int32));
    else if (is_transposed(conv))
        s = Reshape(s, formula_ints(f, (const int64_t[]){last[0], 1}, 2, DT_int32));
    Output in[3] = {conv->inputs[0], conv->inputs[1], conv->n_inputs > 2 ? conv->inputs[2] : NONE};
    in[1] = Mul(in[1], s);
    Formula alike = *f;
    alike.node = conv;
    Output y = formula_alike(&alike, conv_name(conv), in, conv->n_inputs);
    f->status = alike.status;
    return y;
}

// A constant of floats with one for each of `channels`, the last of at most `rank` dimensions; `one`: or a single one.
static bool is_of_channels(Output edge, int64_t channels, int rank, bool one) {
    const Tensor *value = output_constant(edge);
    if (!value || value->dtype != DT_float || value->shape.rank > rank)
        return false;
    int64_t n = shape_count(&value->shape);
    return (n == channels && channels > 0 && value->shape.rank > 0 && value->shape.dims[value->shape.rank - 1] == n) ||
           (one && n == 1);
}

static Output as_vector(Formula *f, Output s) {
    const Shape *shape = output_shape(s);
    return shape->rank < 2 ? s : Reshape(s, Ints(shape_count(shape)));
}

// The last extent of what the convolution makes.
static int64_t channels_of(const Node *conv) {
    const Shape *filter = &output_constant(conv->inputs[1])->shape;
    const int64_t *last = filter->dims + filter->rank - 2;
    return is_transposed(conv) ? last[0] : is_depthwise(conv) ? last[0] * last[1] : last[1];
}

static void scale(Formula *f) {
    for (int i = 0; i < 2; i++) {
        Output bias, s = f->x[1 - i];
        const Tensor *scale = output_constant(s);
        const Node *conv = scale && output_type(s) == DT_float ? conv_behind(f->x[i], &bias) : NULL;
        if (!conv || node_in_planes(conv) || !is_of_channels(s, channels_of(conv),
                                                        output_constant(conv->inputs[1])->shape.rank, true))
            continue;
        s = as_vector(f, s);
        Output y = conv_scaled(f, conv, s);
        f->results[0] = bias.node ? Like("BiasAdd", y, Mul(bias, s)) : y;
        return;
    }
}

const Rewrite rewrite_scaled_conv = {
    .name = "scale-filter", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("Mul"), .formula = scale,
};

// A constant, or calculated of constants that this pass wrote: folding will find it.
static bool is_settled(Output edge, int depth) {
    const Node *node = edge.node;
    if (output_constant(edge))
        return true;
    if (!depth || !node->n_inputs || node->n_controls || node_flow(node) != FLOW_NONE || node_is_stateful(node))
        return false;
    for (int i = 0; i < node->n_inputs; i++)
        if (!is_settled(node->inputs[i], depth - 1))
            return false;
    return true;
}

static void shift(Formula *f) {
    enum { DEPTH = 3 };
    for (int i = 0; i < 2; i++) {
        Output y = f->x[i], t = f->x[1 - i];
        const Tensor *value = output_constant(t);
        const Shape *shape = output_shape(y);
        if (!value || y.index != 0 || node_in_planes(y.node) || !is_read_once(y.node) || shape->rank < 4 ||
            !is_of_channels(t, shape->dims[shape->rank - 1], shape->rank, false))
            continue;
        bool biased = str_is(y.node->type->name, "BiasAdd") && conv_name(y.node->inputs[0].node);
        if (biased && is_settled(y.node->inputs[1], DEPTH))
            f->results[0] = Like("BiasAdd", y.node->inputs[0], Add(y.node->inputs[1], as_vector(f, t)));
        else if (conv_name(y.node) && value->shape.rank > 1)
            f->results[0] = Like("BiasAdd", y, as_vector(f, t));
        if (f->results[0].node)
            return;
    }
}

const Rewrite rewrite_shifted_conv = {
    .name = "scale-filter", .kind = REWRITE_SIMPLIFY, .roots = ROOTS("Add", "AddV2"), .formula = shift,
};

// ---------------------------------------- batch normalisation

// That every reader reads the first output.
static bool only_first_is_read(const Node *node) {
    for (size_t i = 0; i < node->uses.n; i++)
        if (node->uses.p[i].index != 0)
            return false;
    return true;
}

static bool same_format(const Node *a, const Node *b) {
    const AttrValue *x = node_attr_find(a, "data_format"), *y = node_attr_find(b, "data_format");
    return x && y && str_equal(x->s, y->s);
}

// (conv(x, w) + b - mean) s + offset = conv(x, w s) + (b - mean) s + offset, where s = scale / sqrt(variance +
// epsilon).
static void norm(Formula *f) {
    Output bias;
    if (node_bool(f->node, "is_training") || !only_first_is_read(f->node))
        return;
    for (int i = 1; i < 5; i++)
        if (!output_constant(f->x[i]) || output_type(f->x[i]) != DT_float)
            return;
    const Node *conv = conv_behind(f->x[0], &bias);
    if (!conv || !same_format(conv, f->node))
        return;
    Output scale = f->x[1], offset = f->x[2], mean = f->x[3], variance = f->x[4];
    Output s = Mul(scale, Rsqrt(Add(variance, Scalar((double)node_float(f->node, "epsilon"), variance))));
    Output shift = Add(offset, Mul(bias.node ? Sub(bias, mean) : Neg(mean), s));
    Output y = conv_scaled(f, conv, s);
    f->results[0] = Like("BiasAdd", y, shift);
}

const Rewrite rewrite_normalised_conv = {
    .name = "scale-filter", .kind = REWRITE_SIMPLIFY,
    .roots = ROOTS("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), .formula = norm,
};
