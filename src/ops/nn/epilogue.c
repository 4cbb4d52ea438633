// Epilogues of nodes — see epilogue.h.
#include "ops/nn/epilogue.h"

#include <stdio.h>

#include "formula/ops.h"

typedef enum { PART_NONE, PART_BIAS, PART_SUM, PART_ACTIVATION } Part;

static const struct {
    const char *name;
    Activation activation;
    ElementwiseOp op;
} activations[] = {
    {"Relu", ACTIVATION_RELU, ELEMENTWISE_Relu},
    {"Relu6", ACTIVATION_RELU6, ELEMENTWISE_Relu6},
    {"Elu", ACTIVATION_ELU, ELEMENTWISE_Elu},
    {"Tanh", ACTIVATION_TANH, ELEMENTWISE_Tanh},
    {"Sigmoid", ACTIVATION_SIGMOID, ELEMENTWISE_Sigmoid},
    {"LeakyRelu", ACTIVATION_LEAKY_RELU, ELEMENTWISE_LeakyRelu},
};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

static int activation_named(Str name) {
    for (int i = 0; i < ACTIVATIONS; i++)
        if (str_is(name, activations[i].name))
            return i;
    return -1;
}

static bool in_planes(const Node *node) {
    const AttrValue *format = node_attr_find(node, "data_format");
    return format && (str_is(format->s, "NCHW") || str_is(format->s, "NCDHW"));
}

// ---------------------------------------- of a node

static const char NORM[] = "FusedBatchNorm", GELU[] = "GeluApproximate", EXACT_GELU[] = "GeluExact";

// Whether each part is one that can be written out as a node.
static bool can_stand_apart(const AttrValue *ops) {
    for (int i = 0; i < ops->n; i++) {
        Str name = ops->ss[i];
        if (activation_named(name) < 0 && !str_is(name, "BiasAdd") && !str_is(name, "Add") && !str_is(name, NORM) &&
            !str_is(name, GELU) && !str_is(name, EXACT_GELU))
            return false;
    }
    return true;
}

static int args_of(const AttrValue *ops) {
    int n = 0;
    for (int i = 0; i < ops->n; i++)
        n += str_is(ops->ss[i], NORM) ? 4 : str_is(ops->ss[i], "BiasAdd") || str_is(ops->ss[i], "Add");
    return n;
}

Status *epilogue_of_node(const Node *node, Epilogue *out) {
    const AttrValue *ops = node_list(node, "fused_ops");
    Epilogue e = {0};
    int at = 0;
    if (at < ops->n && str_is(ops->ss[at], "BiasAdd"))
        e.bias = true, at++;
    if (at < ops->n && str_is(ops->ss[at], "Add"))
        e.sum = true, at++;
    int activation = at < ops->n ? activation_named(ops->ss[at]) : -1;
    if (activation >= 0)
        e.activation = activations[activation].activation, at++;
    NEED(at == ops->n || can_stand_apart(ops), UNIMPLEMENTED, "%.*s in fused_ops at place %d", STR_ARGS(ops->ss[at]),
         at);
    int args = args_of(ops);
    NEED(node_int(node, "num_args") == args && node->n_inputs == 2 + args, INVALID_ARGUMENT,
         "fused_ops need %d args, num_args is %lld", args, (long long)node_int(node, "num_args"));
    if (at < ops->n)
        e = (Epilogue){.apart = true};
    e.alpha = node_float(node, "leakyrelu_alpha");
    *out = e;
    return OK;
}

Status *epilogue_activation(const Epilogue *epilogue, DType dtype, ElementwiseLoop *out) {
    for (int i = 0; i < ACTIVATIONS; i++)
        if (activations[i].activation == epilogue->activation)
            NEED(elementwise_find(activations[i].op, dtype, out), INTERNAL, "no loop for %s", activations[i].name);
    out->param = (double)epilogue->alpha;
    return OK;
}

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
    if (str_is(name, NORM) && format)
        return norm_apart(f, y, args);
    if (str_is(name, "BiasAdd"))
        return formula_op(f, "BiasAdd", (const Output[]){y, args[0]}, 2,
                          format ? (const FormulaAttr[]){{"data_format", *format}, {0}} : NULL);
    if (str_is(name, "Add"))
        return Add(y, args[0]);
    if (str_is(name, "LeakyRelu"))
        return formula_op(f, "LeakyRelu", &y, 1,
                          (const FormulaAttr[]){{"alpha", ATTR_OF_FLOAT(node_float(f->node, "leakyrelu_alpha"))}, {0}});
    int activation = activation_named(name);
    return activation >= 0 ? formula_op(f, activations[activation].name, &y, 1, NULL)
        : gelu(f, y, str_is(name, EXACT_GELU));
}

void epilogue_simplify(Formula *f, const char *op, bool sums) {
    Epilogue e;
    Status *status = epilogue_of_node(f->node, &e);
    if (status || !(e.apart || (e.sum && !sums))) {
        status_free(status);
        return;
    }
    const AttrValue *ops = node_list(f->node, "fused_ops");
    Output y = formula_alike(f, op, f->x, 2);
    const Output *args = f->x + 2;
    for (int i = 0; i < ops->n; i++) {
        y = part_apart(f, y, ops->ss[i], args);
        args += str_is(ops->ss[i], NORM) ? 4 : str_is(ops->ss[i], "BiasAdd") || str_is(ops->ss[i], "Add");
    }
    f->results[0] = y;
}

// ---------------------------------------- in front of a new shape

// What Reshape, Squeeze or ExpandDims names anew, its last dimension kept, where nobody else reads it.
static Output reshaped(Output value) {
    const Node *node = value.node;
    bool names = str_is(node->type->name, "Reshape") || str_is(node->type->name, "Squeeze") ||
                 str_is(node->type->name, "ExpandDims");
    if (!names || node->uses.n != 1 || node->n_controls)
        return (Output){0};
    Output from = node->inputs[0];
    const Shape *in = output_shape(from), *out = output_shape(value);
    bool keeps = in->rank >= 2 && out->rank >= 2 && in->dims[in->rank - 1] > 0 &&
                 in->dims[in->rank - 1] == out->dims[out->rank - 1];
    return keeps && from.node->uses.n == 1 ? from : (Output){0};
}

static bool ends_in_epilogue(const Node *node) {
    const Op *op = node_op(node);
    return str_is(node->type->name, "BiasAdd") || (op && op->contraction && op->contraction->write == epilogue_write);
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

void epilogue_before_reshape(Formula *f) {
    Str name = f->node->type->name;
    bool bias = str_is(name, "BiasAdd");
    if (!bias && activation_named(name) < 0)
        return;
    Output from = reshaped(f->x[0]);
    if (!from.node || in_planes(f->node) || in_planes(from.node) || !ends_in_epilogue(from.node))
        return;
    Output in[] = {from, bias ? f->x[1] : (Output){0}};
    char op[FORMULA_NAME];
    snprintf(op, sizeof op, "%.*s", STR_ARGS(name));
    f->results[0] = in_shape_of(f, formula_alike(f, op, in, f->n_x), f->x[0]);
}

// ---------------------------------------- in a graph

// What a node of two inputs adds to the chain's last.
static Output other_input(const Node *last, const Node *next) {
    return next->inputs[next->inputs[0].node == last];
}

static bool is_bias(const Node *root, const Node *last, const Node *next) {
    Output bias = other_input(last, next);
    if (str_is(next->type->name, "BiasAdd"))
        return next->inputs[0].node == last && (root->output_shapes[0].rank == 2 || in_planes(next) == in_planes(root));
    // A vector that broadcasts along the last dimension: of the channels, as far as can be known.
    const Shape *out = &root->output_shapes[0], *vector = &bias.node->output_shapes[bias.index];
    return !in_planes(root) && out->rank > 1 && vector->rank == 1 && vector->dims[0] > 0 &&
           vector->dims[0] == out->dims[out->rank - 1];
}

// The other has the output's shape, or may have: batches that turn out to differ are the kernel's business.
static bool is_sum(const Node *root, const Node *last, const Node *next) {
    Output other = other_input(last, next);
    const Shape *out = &root->output_shapes[0], *shape = &other.node->output_shapes[other.index];
    if (out->rank < 1 || shape->rank != out->rank)
        return false;
    for (int i = 0; i < out->rank; i++)
        if (out->dims[i] != shape->dims[i] || (out->dims[i] < 0 && (i > 0 || in_planes(root))))
            return false;
    return true;
}

static Part part_of(Node *const *chain, int n, const Node *next) {
    Str name = next->type->name;
    bool adds = str_is(name, "Add") || str_is(name, "AddV2");
    if (activation_named(name) >= 0)
        return PART_ACTIVATION;
    if (!adds && !str_is(name, "BiasAdd"))
        return PART_NONE;
    if (is_bias(chain[0], chain[n - 1], next))
        return PART_BIAS;
    return adds && is_sum(chain[0], chain[n - 1], next) ? PART_SUM : PART_NONE;
}

bool epilogue_takes(Node *const *chain, int n, const Node *next, bool sums) {
    DType type = chain[0]->output_types[0];
    if (type != DT_half && type != DT_bfloat16 && type != DT_float && type != DT_double)
        return false;
    for (int i = 0; i < next->n_inputs; i++)
        if (output_base_type(next->inputs[i]) != type ||
            dtype_is_ref(next->inputs[i].node->output_types[next->inputs[i].index]))
            return false;
    Part part = part_of(chain, n, next), before = PART_NONE;
    for (int i = 1; i < n; i++)
        before = part_of(chain, i, chain[i]);
    return part > before && (part != PART_SUM || sums);
}

Status *epilogue_write(NodeBuilder *builder, Node *const *chain, int n) {
    const Node *root = chain[0];
    const OpType *type;
    TRY(op_type_find(builder->type, &type));
    for (int i = 0; i < root->n_attrs; i++)
        if (signature_attr(&type->signature, root->attrs[i].name) >= 0)
            builder_attr(builder, root->attrs[i].name, &root->attrs[i].value);
    Str ops[8];
    Output args[8];
    int n_ops = 0, n_args = 0;
    for (int i = 1; i < n && n_ops < 8; i++) {
        Part part = part_of(chain, i, chain[i]);
        ops[n_ops++] = part == PART_BIAS ? STR("BiasAdd") : part == PART_SUM ? STR("Add") : chain[i]->type->name;
        if (part != PART_ACTIVATION)
            args[n_args++] = other_input(chain[i - 1], chain[i]);
        const AttrValue *alpha = node_attr_find(chain[i], "alpha");
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
