// Epilogues — what stands behind a convolution or product (bias, sum, activation) joins it, and what no kernel does on
// its way out stands apart.
#include <stdio.h>

#include "graph/rewrite.h"
#include "ops/nn/epilogue.h"

typedef enum { PART_NONE, PART_BIAS, PART_SUM, PART_ACTIVATION } Part;

// ---------------------------------------- apart

static Output gelu(Formula *f, Output x, bool exact) {
    Output half = Mul(Scalar(0.5, x), x), cube = Mul(Mul(x, x), x);
    Output inner = exact ? Erf(Mul(x, Scalar(0.70710678118654752, x)))
                         : Tanh(Mul(Scalar(0.79788456080286536, x), Add(x, Mul(Scalar(0.044715, x), cube))));
    return Mul(half, Add(Scalar(1, x), inner));
}

static Output norm_apart(Formula *f, Output y, const Output *vectors) {
    const FormulaAttr attrs[] = {{"epsilon", ATTR_OF_FLOAT(node_float(f->node, "epsilon"))},
                                 {"is_training", ATTR_OF_BOOL(false)},
                                 {"data_format", *node_attr_find(f->node, "data_format")}, {0}};
    const Output in[] = {y, vectors[0], vectors[1], vectors[2], vectors[3]};
    return formula_op(f, "FusedBatchNormV3", in, 5, attrs);
}

static Output part_apart(Formula *f, Output y, Str name, const Output *args) {
    const AttrValue *format = node_attr_find(f->node, "data_format");
    if (str_is(name, EPILOGUE_NORM) && format)
        return norm_apart(f, y, args);
    if (str_is(name, "BiasAdd"))
        return formula_op(f, "BiasAdd", (const Output[]){y, args[0]}, 2,
                          format ? (const FormulaAttr[]){{"data_format", *format}, {0}} : NULL);
    if (str_is(name, "Add"))
        return Add(y, args[0]);
    if (str_is(name, "LeakyRelu"))
        return formula_op(f, "LeakyRelu", &y, 1,
                          (const FormulaAttr[]){{"alpha", ATTR_OF_FLOAT(node_float(f->node, "leakyrelu_alpha"))}, {0}});
    const char *activation = epilogue_activation_name(name);
    return activation ? formula_op(f, activation, &y, 1, NULL) : gelu(f, y, str_is(name, EPILOGUE_EXACT_GELU));
}

// The op whose fused form the node is: Conv2D of _FusedConv2D.
static void write_apart(Formula *f) {
    Epilogue e;
    Status *status = epilogue_of_node(f->node, &e);
    Str plain = {f->node->type->name.p + sizeof "_Fused" - 1, f->node->type->name.n - (sizeof "_Fused" - 1)};
    bool product = str_is(plain, "MatMul");
    if (status || !(e.apart || (e.sum && product))) {
        status_free(status);
        return;
    }
    char op[FORMULA_NAME];
    snprintf(op, sizeof op, "%.*s", STR_ARGS(plain));
    const AttrValue *ops = node_list(f->node, "fused_ops");
    Output y = formula_alike(f, op, f->x, 2);
    const Output *args = f->x + 2;
    for (int i = 0; i < ops->n; i++) {
        y = part_apart(f, y, ops->ss[i], args);
        args += epilogue_args(ops->ss[i]);
    }
    f->results[0] = y;
}

const Rewrite rewrite_epilogue_apart = {
    .name = "epilogue-apart", .kind = REWRITE_SIMPLIFY, .formula = write_apart,
    .roots = ROOTS("_FusedConv2D", "_FusedConv3D", "_FusedDepthwiseConv2dNative", "_FusedMatMul"),
};

// ---------------------------------------- in front of a new shape

// What is only given another shape, its last dimension kept, where nobody else reads it.
static Output reshaped(Output value) {
    const Node *node = value.node;
    if (!op_only_renames(node_op(node)) || node->n_outputs != 1 || node->uses.n != 1 || node->n_controls)
        return (Output){0};
    Output from = node->inputs[0];
    const Shape *in = output_shape(from), *out = output_shape(value);
    bool keeps = in->rank >= 2 && out->rank >= 2 && in->dims[in->rank - 1] > 0 &&
                 in->dims[in->rank - 1] == out->dims[out->rank - 1];
    return keeps && from.node->uses.n == 1 ? from : (Output){0};
}

// Those that have a fused form, and what else stands between them and an activation.
static bool may_have_epilogue(const Node *node) {
    static const char *const names[] = {"Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul", "BiasAdd"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(node->type->name, names[i]))
            return true;
    return false;
}

// One unknown extent is what the others leave.
static Output in_shape_of(Formula *f, Output y, Output shaped) {
    const Shape *shape = output_shape(shaped);
    int unknown = 0;
    for (int i = 0; i < shape->rank; i++)
        unknown += shape->dims[i] < 0;
    if (unknown <= 1)
        return Reshape(y, formula_ints(f, shape->dims, shape->rank, DT_int64));
    return str_is(shaped.node->type->name, "Reshape") ? Reshape(y, shaped.node->inputs[1]) : (Output){0};
}

// Behind a convolution or product that was only given another shape (layers over sequences are written so) bias and
// activation stand in front of the new shape, where they may join it.
static void before_reshape(Formula *f) {
    Output from = reshaped(f->x[0]);
    if (!from.node || node_in_planes(f->node) || node_in_planes(from.node) || !may_have_epilogue(from.node))
        return;
    Output in[] = {from, f->n_x > 1 ? f->x[1] : (Output){0}};
    char op[FORMULA_NAME];
    snprintf(op, sizeof op, "%.*s", STR_ARGS(f->node->type->name));
    f->results[0] = in_shape_of(f, formula_alike(f, op, in, f->n_x), f->x[0]);
}

const Rewrite rewrite_epilogue_before_reshape = {
    .name = "epilogue-before-reshape", .kind = REWRITE_SIMPLIFY, .formula = before_reshape,
    .roots = ROOTS("BiasAdd", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"),
};

// ---------------------------------------- what joins

// What a node of two inputs adds to the chain's last.
static Output other_input(const Node *last, const Node *next) {
    return next->inputs[next->inputs[0].node == last];
}

static bool is_bias(const Node *root, const Node *last, const Node *next) {
    Output bias = other_input(last, next);
    if (str_is(next->type->name, "BiasAdd"))
        return next->inputs[0].node == last && (root->output_shapes[0].rank == 2 || node_in_planes(next) == node_in_planes(root));
    // A vector that broadcasts along the last dimension: of the channels, as far as can be known.
    const Shape *out = &root->output_shapes[0], *vector = &bias.node->output_shapes[bias.index];
    return !node_in_planes(root) && out->rank > 1 && vector->rank == 1 && vector->dims[0] > 0 &&
           vector->dims[0] == out->dims[out->rank - 1];
}

// The other has the output's shape, or may have: batches that turn out to differ are the kernel's business.
static bool is_sum(const Node *root, const Node *last, const Node *next) {
    Output other = other_input(last, next);
    const Shape *out = &root->output_shapes[0], *shape = &other.node->output_shapes[other.index];
    if (out->rank < 1 || shape->rank != out->rank)
        return false;
    for (int i = 0; i < out->rank; i++)
        if (out->dims[i] != shape->dims[i] || (out->dims[i] < 0 && (i > 0 || node_in_planes(root))))
            return false;
    return true;
}

static Part part_of(Node *const *nodes, int n, const Node *next) {
    Str name = next->type->name;
    bool adds = str_is(name, "Add") || str_is(name, "AddV2");
    if (epilogue_activation_name(name))
        return PART_ACTIVATION;
    if (!adds && !str_is(name, "BiasAdd"))
        return PART_NONE;
    if (is_bias(nodes[0], nodes[n - 1], next))
        return PART_BIAS;
    return adds && is_sum(nodes[0], nodes[n - 1], next) ? PART_SUM : PART_NONE;
}

// `sums`: a tensor of the output's shape may be added.
static bool takes(const Match *match, const Node *next, bool sums) {
    Node *const *nodes = match->nodes;
    DType type = nodes[0]->output_types[0];
    for (int i = 0; i < next->n_inputs; i++)
        if (output_base_type(next->inputs[i]) != type ||
            dtype_is_ref(next->inputs[i].node->output_types[next->inputs[i].index]))
            return false;
    Part part = part_of(nodes, match->n, next), before = PART_NONE;
    for (int i = 1; i < match->n; i++)
        before = part_of(nodes, i, nodes[i]);
    return part > before && (part != PART_SUM || sums);
}

static bool takes_with_sum(const Match *match, const Node *next) {
    return takes(match, next, true);
}
static bool takes_without_sum(const Match *match, const Node *next) {
    return takes(match, next, false);
}

// The root's inputs, the args; the root's attributes, as far as the new op has them.
static Status *write(NodeBuilder *builder, const Match *match) {
    Node *const *nodes = match->nodes;
    const Node *root = nodes[0];
    const OpType *type;
    TRY(op_type_find(builder->type, &type));
    for (int i = 0; i < root->n_attrs; i++)
        if (signature_attr(&type->signature, root->attrs[i].name) >= 0)
            builder_attr(builder, root->attrs[i].name, &root->attrs[i].value);
    Str ops[8];
    Output args[8];
    int n_ops = 0, n_args = 0;
    for (int i = 1; i < match->n && n_ops < 8; i++) {
        Part part = part_of(nodes, i, nodes[i]);
        ops[n_ops++] = part == PART_BIAS ? STR("BiasAdd") : part == PART_SUM ? STR("Add") : nodes[i]->type->name;
        if (part != PART_ACTIVATION)
            args[n_args++] = other_input(nodes[i - 1], nodes[i]);
        const AttrValue *alpha = node_attr_find(nodes[i], "alpha");
        if (alpha)
            builder_attr(builder, STR("leakyrelu_alpha"), alpha);
    }
    for (int i = 0; i < root->n_inputs; i++)
        builder_input(builder, root->inputs[i]);
    builder_input_list(builder, args, n_args);
    for (int i = root->n_inputs + 1; i < type->signature.n_inputs; i++)
        builder_input_list(builder, NULL, 0);
    builder_attr(builder, STR("fused_ops"), &(AttrValue){.kind = ATTR_STRING, .is_list = true, .n = n_ops, .ss = ops});
    builder_attr(builder, STR("num_args"), &(AttrValue){.kind = ATTR_INT, .i = n_args});
    return OK;
}

#define EPILOGUE(rewrite, root, which)                                                                   \
    const Rewrite rewrite = {                                                                            \
        .name = "epilogue", .kind = REWRITE_FUSE_READERS, .roots = ROOTS(root), .op = "_Fused" root,      \
        .takes = which, .write = write,                                                                  \
    };
EPILOGUE(rewrite_conv2d_epilogue, "Conv2D", takes_with_sum)
EPILOGUE(rewrite_conv3d_epilogue, "Conv3D", takes_with_sum)
EPILOGUE(rewrite_depthwise_epilogue, "DepthwiseConv2dNative", takes_with_sum)
EPILOGUE(rewrite_matmul_epilogue, "MatMul", takes_without_sum)
