// _FusedBatchNormEx, _FusedBatchNormGradEx — batch normalisation with a sum and a relu behind it, and its gradient.
// _FusedBatchNormRecompute — what a batch normalisation gave, by the moments that it found: one pass over x, if any.
//
// The gradient finds again from x where the relu was open, so y is not read: two passes over dy and x, one result.
#include "graph/extents.h"
#include "graph/rewrite.h"
#include "ops/nn/batch_norm.h"

#define NORMS "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"

// ---------------------------------------- which nodes join

static bool is_named(const Node *node, const char *name) {
    return str_is(node->type->name, name);
}

static Output other_input(const Node *last, const Node *next) {
    return next->inputs[next->inputs[0].node == last];
}

// norm, then norm + side, then its relu.
static bool norm_takes(const Match *match, const Node *next) {
    Node *norm = match->nodes[0];
    if (node_str(norm, "data_format").n != 4 || norm->output_types[0] != DT_float ||
        output_base_type(norm->inputs[1]) != DT_float)
        return false;
    if (is_named(next, "Relu"))
        return !is_named(match->nodes[match->n - 1], "Relu");
    if (match->n > 1 || (!is_named(next, "Add") && !is_named(next, "AddV2")))
        return false;
    Output side = other_input(norm, next);
    return side.node != norm && !dtype_is_ref(side.node->output_types[side.index]) &&
           outputs_have_one_shape((Output){norm, 0}, side);
}

static void copy_attrs(NodeBuilder *builder, const Node *node) {
    static const char *const names[] = {"T", "U", "epsilon", "exponential_avg_factor", "data_format", "is_training"};
    const OpType *type;
    Status *status = op_type_find(builder->type, &type);
    for (size_t i = 0; !status && i < sizeof names / sizeof *names; i++) {
        const AttrValue *value = node_attr_find(node, names[i]);
        if (value && signature_attr(&type->signature, str_of(names[i])) >= 0)
            builder_attr(builder, str_of(names[i]), value);
    }
    status_free(status);
}

static Status *norm_write(NodeBuilder *builder, const Match *match) {
    const Node *norm = match->nodes[0];
    bool relu = is_named(match->nodes[match->n - 1], "Relu");
    int sides = match->n - 1 - relu;
    Output side = sides ? other_input(norm, match->nodes[1]) : (Output){0};
    copy_attrs(builder, norm);
    for (int i = 0; i < 5; i++)
        builder_input(builder, norm->inputs[i]);
    builder_input_list(builder, &side, sides);
    builder_attr(builder, STR("num_side_inputs"), &(AttrValue){.kind = ATTR_INT, .i = sides});
    builder_attr(builder, STR("activation_mode"),
                 &(AttrValue){.kind = ATTR_STRING, .s = relu ? STR("Relu") : STR("Identity")});
    return OK;
}

const Rewrite rewrite_batch_norm_relu = {
    .name = "batch-norm-relu", .kind = REWRITE_FUSE_READERS, .roots = ROOTS(NORMS), .op = "_FusedBatchNormEx",
    .takes = norm_takes, .write = norm_write,
};

// The normalisation whose gradient `grad` is and whose relu `features` is, or NULL.
static const Node *normalised(const Node *grad, Output features) {
    const Node *norm = features.node;
    if (!is_named(norm, "_FusedBatchNormEx") || features.index != 0 || node_int(norm, "num_side_inputs") ||
        !str_is(node_str(norm, "activation_mode"), "Relu") || !node_bool(norm, "is_training"))
        return NULL;
    bool same = output_equal(grad->inputs[1], norm->inputs[0]) && output_equal(grad->inputs[2], norm->inputs[1]) &&
                node_bool(grad, "is_training") && node_float(grad, "epsilon") == node_float(norm, "epsilon") &&
                str_equal(node_str(grad, "data_format"), node_str(norm, "data_format"));
    for (int i = 3; i < 5; i++)
        same &= grad->inputs[i].node == norm && grad->inputs[i].index == i;
    return same ? norm : NULL;
}

static bool norm_grad_takes(const Match *match, const Node *before) {
    const Node *grad = match->nodes[0];
    return is_named(before, "ReluGrad") && grad->output_types[0] == DT_float && grad->n_inputs == 6 &&
           normalised(grad, before->inputs[1]);
}

static Status *norm_grad_write(NodeBuilder *builder, const Match *match) {
    const Node *grad = match->nodes[0], *relu = match->nodes[1], *norm = normalised(grad, relu->inputs[1]);
    NEED(norm, INTERNAL, "the normalisation is gone");
    copy_attrs(builder, grad);
    builder_input(builder, relu->inputs[0]);
    for (int i = 1; i < 6; i++)
        builder_input(builder, grad->inputs[i]);
    builder_input(builder, norm->inputs[2]);
    builder_input(builder, relu->inputs[1]);
    builder_attr(builder, STR("activation_mode"), &(AttrValue){.kind = ATTR_STRING, .s = STR("Relu")});
    return OK;
}

const Rewrite rewrite_batch_norm_relu_grad = {
    .name = "batch-norm-relu", .kind = REWRITE_FUSE_PRODUCERS, .input = "y_backprop", .op = "_FusedBatchNormGradEx",
    .roots = ROOTS("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
    .takes = norm_grad_takes, .write = norm_grad_write,
};

// ---------------------------------------- rematerialised

static bool can_recompute(const Match *match, const Node *next) {
    const Node *norm = match->nodes[0];
    (void)next;
    for (int i = 0; i < 5; i++)
        if (output_base_type(norm->inputs[i]) != DT_float)
            return false;
    return str_is(node_str(norm, "data_format"), "NHWC") && norm->n_inputs <= 6;
}

static Status *recompute_write(NodeBuilder *builder, const Match *match) {
    Node *norm = match->nodes[0];
    const AttrValue *mode = node_attr_find(norm, "activation_mode");
    bool training = node_bool(norm, "is_training"), relu = mode && str_is(mode->s, "Relu");
    copy_attrs(builder, norm);
    for (int i = 0; i < 3; i++)
        builder_input(builder, norm->inputs[i]);
    for (int i = 3; i < 5; i++)
        builder_input(builder, training ? (Output){norm, i} : norm->inputs[i]);
    builder_input_list(builder, norm->inputs + 5, norm->n_inputs - 5);
    builder_attr(builder, STR("num_side_inputs"), &(AttrValue){.kind = ATTR_INT, .i = norm->n_inputs - 5});
    builder_attr(builder, STR("activation_mode"),
                 &(AttrValue){.kind = ATTR_STRING, .s = relu ? STR("Relu") : STR("Identity")});
    return OK;
}

const Rewrite rewrite_batch_norm_recompute = {
    .name = "recompute-batch-norm", .kind = REWRITE_REMATERIALISE, .roots = ROOTS(NORMS, "_FusedBatchNormEx"),
    .op = "_FusedBatchNormRecompute", .takes = can_recompute, .write = recompute_write,
};

// ---------------------------------------- schemas

#define EX_ATTRIBUTES                                                                                        \
    "T: {half, float, bfloat16}; U: {float}; epsilon: float = 0.0001; num_side_inputs: int >= 0 = 0; "        \
    "activation_mode: string = \"Identity\"; data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\"; is_training: bool = true"

const Op op__FusedBatchNormEx = {
    .signature =
        "_FusedBatchNormEx(x: T, scale: U, offset: U, mean: U, variance: U, side_input: num_side_inputs * T) -> "
                 "y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U; "
                 "exponential_avg_factor: float = 1; " EX_ATTRIBUTES,
    .doc = "FusedBatchNorm, then the sum with a side input, then what activation_mode says.", .shape = norm_shape,
    .prepare = norm_prepare, .own_size = sizeof(Norm), .cpu = ANY_TYPE(norm_run), .inplace = BIT(0) | BIT(5),
    .same_rows = 1,
};
const Op op__FusedBatchNormRecompute = {
    .signature = "_FusedBatchNormRecompute(y: T, x: T, scale: U, offset: U, mean: U, variance: U, "
                 "side_input: num_side_inputs * T) -> recomputed: T; " EX_ATTRIBUTES,
    .doc = "y, which may be found again from the other inputs.", .shape = norm_recompute_shape,
    .prepare = norm_recompute_prepare, .own_size = sizeof(Norm), .cpu = ANY_TYPE(norm_recompute_run), .alias = BIT(0),
    .same_rows = 1, .flags = OP_RECOMPUTES | OP_NO_GRADIENT,
};
const Op op__FusedBatchNormGradEx = {
    .signature = "_FusedBatchNormGradEx(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, "
                 "reserve_space_3: U, offset: float, y: T) -> x_backprop: T, scale_backprop: U, offset_backprop: U, "
                 "reserve_space_4: U, reserve_space_5: U, side_input_backprop: num_side_inputs * T; " EX_ATTRIBUTES,
    .doc = "Gradient of _FusedBatchNormEx.", .needs = "same_shape(y_backprop, x)", .shape = norm_grad_shape,
    .prepare = norm_grad_prepare, .own_size = sizeof(Norm), .cpu = ANY_TYPE(norm_grad_run), .inplace = BIT(0),
    .shape_only = BIT(7), .same_rows = 1,
};
