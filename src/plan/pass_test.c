// Pass tests — each pass alone: what it makes of a small graph, that results stay the same, and that walls hold.
#include <check.h>
#include <math.h>

#include "autodiff/autodiff.h"
#include "plan/fixed.h"
#include "plan/passes_test.h"

START_TEST(folds_constants_and_stops_at_feeds) {
    Formula *f = &formula;
    Output x = placeholder(SCALAR_SHAPE);
    Output c = Exp(Scalar(2, x)), y = Add(c, x);
    GOOD(f->status);
    ck_assert_int_eq(count_of(0, &x, 1, &y, 1, "Exp"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), &x, 1, &y, 1, "Exp"), 0);
    Output fed[] = {x, c.node->inputs[0]};
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), fed, 2, &y, 1, "Exp"), 1);
}
END_TEST

START_TEST(merges_equal_nodes) {
    Formula *f = &formula;
    Output x = placeholder(SCALAR_SHAPE);
    Output y = Add(Exp(x), Exp(x));
    GOOD(f->status);
    ck_assert_int_eq(count_of(0, &x, 1, &y, 1, "Exp"), 2);
    ck_assert_int_eq(count_of(BIT(PASS_CSE), &x, 1, &y, 1, "Exp"), 1);
}
END_TEST

START_TEST(removes_identities_but_not_fetched_ones) {
    Formula *f = &formula;
    Output x = placeholder(SCALAR_SHAPE);
    Output same = Identity(x), y = Neg(same);
    GOOD(f->status);
    ck_assert_int_eq(count_of(0, &x, 1, &y, 1, "Identity"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_IDENTITY), &x, 1, &y, 1, "Identity"), 0);
    Tensor value, out;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &value));
    *(float *)value.data = 5;
    run(BIT(PASS_IDENTITY), x, &value, same, &out);
    ck_assert_float_eq(*(float *)out.data, 5);
    ck_assert_ptr_ne(out.data, value.data);  // a fetched value is the client's alone
    tensor_clear(&out);
    tensor_clear(&value);
}
END_TEST

// The passes change no bit of y.
static void expect_same_bits(uint32_t passes, Output x, const Tensor *value, Output y) {
    Tensor plain, passed;
    run(0, x, value, y, &plain);
    run(passes, x, value, y, &passed);
    ck_assert_int_eq(plain.dtype, passed.dtype);
    ck_assert(shape_equal(&plain.shape, &passed.shape));
    ck_assert_mem_eq(plain.data, passed.data, tensor_bytes(&plain));
    tensor_clear(&plain);
    tensor_clear(&passed);
}

START_TEST(fuses_chains_to_the_same_bits) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(64, 33));
    Tensor row;
    GOOD(tensor_new(DT_float, SHAPE(33), &row));
    for (int i = 0; i < 33; i++)
        ((float *)row.data)[i] = (float)i / 7;
    Output bias = formula_tensor(f, &row);
    Output y = Mul(Tanh(Add(x, bias)), Sub(Scalar(2, x), Square(x)));
    GOOD(f->status);
    ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, &y, 1, "_Fused"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, &y, 1, "Tanh"), 0);
    Tensor value;
    GOOD(tensor_new(DT_float, SHAPE(64, 33), &value));
    for (int i = 0; i < 64 * 33; i++)
        ((float *)value.data)[i] = (float)(i % 101) / 50 - 1;
    expect_same_bits(BIT(PASS_FUSE), x, &value, y);
    tensor_clear(&value);
    tensor_clear(&row);
}
END_TEST

// Numbers from -2 to 2 with NaN, infinities and zeros of both signs among them.
static Tensor odd_numbers(DType dtype, Shape shape) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0};
    Tensor value;
    GOOD(tensor_new(dtype, shape, &value));
    for (int64_t i = 0; i < tensor_count(&value); i++) {
        double x = i % 7 == 0 ? odd[i / 7 % 5] : (double)(i % 97) / 24 - 2;
        if (dtype == DT_float)
            ((float *)value.data)[i] = (float)x;
        else
            ((double *)value.data)[i] = x;
    }
    return value;
}

static void fuses_to(Output x, Output y, int nodes, int selects) {
    GOOD(formula.status);
    ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, &y, 1, "_Fused"), nodes);
    ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, &y, 1, "Select") + count_of(BIT(PASS_FUSE), &x, 1, &y, 1,
                                                                                 "SelectV2"),
                     selects);
    Shape shape = x.node->output_shapes[0];
    shape.dims[0] = shape.dims[0] < 0 ? 600 : shape.dims[0];
    Tensor value = odd_numbers(output_type(x), shape);
    expect_same_bits(BIT(PASS_FUSE), x, &value, y);
    tensor_clear(&value);
}

START_TEST(fuses_choices_and_comparisons) {
    Formula *f = &formula;
    for (int i = 0; i < 2; i++) {
        Shape shape = SHAPE(64, 33);
        AttrValue value = {.kind = ATTR_SHAPE, .shape = &shape};
        Output x = formula_op(f, "Placeholder", NULL, 0,
                              ATTRS(TYPE_ATTR("dtype", i ? DT_double : DT_float), {"shape", value}));
        Output zeros = ZerosLike(x);
        // One comparison, read by two choices of one chain; NaN and infinities lie in what isn't chosen, too.
        Output positive = GreaterEqual(x, zeros);
        fuses_to(x, Add(formula_3(f, "Select", positive, Sqrt(x), zeros),
                        formula_3(f, "Select", positive, zeros, Neg(x))), 1, 0);
        // Scalars on either side, and a condition for all.
        fuses_to(x, Square(Select(Less(x, Scalar(1, x)), Scalar(-3, x), x)), 1, 0);
        fuses_to(x, Square(Select(Less(x, Scalar(1, x)), x, Scalar(-3, x))), 1, 0);
        // A sum of a list, of one value read twice.
        Output same = Identity(x), once = Exp(same);
        fuses_to(x, formula_of_list(f, "AddN", (Output[]){Neg(once), same, Square(once), same}, 4, NULL), 1, 0);
        // A comparison that is fetched, or read as a bool, stays as it is.
        Output both[] = {positive, Neg(formula_3(f, "Select", positive, same, zeros))};
        ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, both, 2, "GreaterEqual"), 1);
        ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, both, 2, "_Fused"), 1);
        fuses_to(x, positive, 0, 0);
        fuses_to(x, formula_1(f, "LogicalNot", GreaterEqual(Neg(x), zeros)), 0, 0);
        // A condition for each slice is no elementwise one, and one that broadcasts isn't taken.
        Output first = OpWith("Sum", ATTRS(BOOL_ATTR("keep_dims", false)), x, Ints(1));
        Output slices = Less(first, ZerosLike(first));
        fuses_to(x, Neg(formula_3(f, "Select", slices, same, zeros)), 0, 1);
        Output column = OpWith("Sum", ATTRS(BOOL_ATTR("keep_dims", true)), x, Ints(1));
        fuses_to(x, Neg(Select(Less(column, ZerosLike(column)), x, zeros)), 0, 1);
    }
}
END_TEST

START_TEST(fuses_what_cannot_broadcast_only_where_shapes_agree) {
    Formula *f = &formula;
    Tensor numbers = odd_numbers(DT_float, SHAPE(600)), one = odd_numbers(DT_float, SHAPE(1)), out;
    Output x = placeholder(SHAPE(-1)), y = formula_tensor(f, &numbers);
    Output known = Neg(y), positive = Less(y, Scalar(0, y));
    static const char *const names[] = {"AddN", "Select", "Select", "ReluGrad"};
    Output apart[] = {
        formula_of_list(f, "AddN", (Output[]){x, y, known}, 3, NULL), formula_3(f, "Select", positive, x, known),
        formula_3(f, "Select", Less(x, Scalar(0, x)), y, known), formula_2(f, "ReluGrad", x, y),
    };
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        Output z = Square(Exp(apart[i]));  // the rest is fused
        GOOD(f->status);
        ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, &z, 1, names[i]), 1);
        ck_assert_int_eq(count_of(BIT(PASS_FUSE), &x, 1, &z, 1, "_Fused"), 1);
        for (int passes = 0; passes < 2; passes++) {
            Session *session = session_with(passes ? BIT(PASS_FUSE) : 0, 1);
            StepSignature signature = {.feeds = &x, .fetches = &z, .n_feeds = 1, .n_fetches = 1};
            const Tensor *fed = &one;
            Status *status = session_run(session, &signature, &run_settings_default, &fed, &out);
            ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
            status_free(status);
            session_free(session);
        }
    }
    // Unknown shapes that are one: of what comes from one value, whatever is fed for it.
    Output back = Identity(x), sum = formula_of_list(f, "AddN", (Output[]){Neg(back), back, Square(back)}, 3, NULL);
    fuses_to(x, Exp(sum), 1, 0);
    fuses_to(x, Exp(formula_3(f, "Select", Less(back, Scalar(0, x)), Neg(back), back)), 1, 0);
    fuses_to(x, Exp(formula_2(f, "ReluGrad", back, Square(back))), 1, 0);
    tensor_clear(&numbers);
    tensor_clear(&one);
}
END_TEST

// A constant that is the same all over is read as a scalar, one that isn't quite is not.
START_TEST(fuses_constants) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(64, 33));
    Tensor same = odd_numbers(DT_float, SHAPE(64, 33)), last, row = odd_numbers(DT_float, SHAPE(33));
    for (int i = 0; i < 64 * 33; i++)
        ((float *)same.data)[i] = 3;
    GOOD(tensor_new(DT_float, SHAPE(64, 33), &last));
    memcpy(last.data, same.data, tensor_bytes(&same));
    ((float *)last.data)[64 * 33 - 1] = 4;
    Output a = formula_tensor(f, &same), b = formula_tensor(f, &last), c = formula_tensor(f, &row);
    fuses_to(x, Square(Select(Less(x, a), a, Scalar(0, x))), 1, 0);
    fuses_to(x, Mul(Sub(a, Square(x)), b), 1, 0);
    fuses_to(x, Add(Mul(b, x), Div(c, Exp(a))), 1, 0);
    tensor_clear(&same);
    tensor_clear(&last);
    tensor_clear(&row);
}
END_TEST

// ---- contraction

#define INTS_ATTR(name, ...) \
    {(name), {.kind = ATTR_INT, .is_list = true, .n = 4, .is = (int64_t[]){__VA_ARGS__}}}
#define TEXT_ATTR(name, text) {(name), ATTR_OF_STRING(STR(text))}
#define TEXT_OF_ATTR(name, text) {(name), ATTR_OF_STRING(str_of(text))}

static Output constant_ramp(Shape shape, float step) {
    Tensor tensor;
    GOOD(tensor_new(DT_float, shape, &tensor));
    for (int64_t i = 0; i < tensor_count(&tensor); i++)
        ((float *)tensor.data)[i] = (float)(i * 7 % 23 - 11) * step;
    Output out = formula_tensor(&formula, &tensor);
    tensor_clear(&tensor);
    return out;
}

static Output conv(Output x, int64_t in, int64_t filters) {
    Formula *f = &formula;
    return OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME")), x,
                  constant_ramp(SHAPE(3, 3, in, filters), 0.02f));
}

// Runs with and without the passes: the same, but for the last bits.
static void check_alike(uint32_t passes, Output x, Shape shape, Output y) {
    Tensor value, plain, contracted;
    GOOD(formula.status);
    GOOD(tensor_new(DT_float, shape, &value));
    for (int64_t i = 0; i < tensor_count(&value); i++)
        ((float *)value.data)[i] = (float)(i % 101) / 50 - 1;
    run(0, x, &value, y, &plain);
    run(passes, x, &value, y, &contracted);
    ck_assert(shape_equal(&plain.shape, &contracted.shape));
    for (int64_t i = 0; i < tensor_count(&plain); i++) {
        float a = ((float *)plain.data)[i], b = ((float *)contracted.data)[i];
        if (!(fabsf(a - b) <= 1e-5f * (1 + fabsf(a))))
            ck_abort_msg("element %d: %g and %g", (int)i, (double)a, (double)b);
    }
    tensor_clear(&plain);
    tensor_clear(&contracted);
    tensor_clear(&value);
}

static void check_contracted(Output x, Shape shape, Output y) {
    check_alike(BIT(PASS_CONTRACT), x, shape, y);
}

static int contracted_count(Output x, const Output *fetches, int n, const char *op) {
    return count_of(BIT(PASS_CONTRACT), &x, 1, fetches, n, op);
}

START_TEST(contracts_bias_and_activations) {
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 8, 9, 3));
    for (int i = 0; i < 6; i++)
        for (int way = 0; way < 3; way++) {
            Output y = conv(x, 3, 16), bias = constant_ramp(SHAPE(16), 0.1f);
            y = way == 0 ? y : Op(way == 1 ? "BiasAdd" : "AddV2", y, bias);
            y = Op(activations[i], y);
            ck_assert_int_eq(contracted_count(x, &y, 1, "_FusedConv2D"), 1);
            ck_assert_int_eq(contracted_count(x, &y, 1, activations[i]), 0);
            check_contracted(x, SHAPE(2, 8, 9, 3), y);
        }
    Output other_way = Op("Relu", Add(constant_ramp(SHAPE(16), 0.1f), conv(x, 3, 16)));
    ck_assert_int_eq(contracted_count(x, &other_way, 1, "AddV2"), 0);
    check_contracted(x, SHAPE(1, 8, 9, 3), other_way);
}
END_TEST

START_TEST(contracts_sums_whatever_the_batches) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 6, 6, 8)), one = constant_ramp(SHAPE(1, 6, 6, 8), 0.1f);
    Output unknown = OpWith("PlaceholderWithDefault", ATTRS({"shape",
                                                             {.kind = ATTR_SHAPE, .shape = &SHAPE(-1, 6, 6, 8)}}),
                            one);
    const Output others[] = {Neg(x), unknown};
    for (int i = 0; i < 2; i++) {
        Output y = Op("Relu", Add(Op("BiasAdd", conv(x, 8, 8), constant_ramp(SHAPE(8), 0.1f)), others[i]));
        ck_assert_int_eq(contracted_count(x, &y, 1, "_FusedConv2D"), 1);
        ck_assert_int_eq(contracted_count(x, &y, 1, "AddV2"), 0);
        check_contracted(x, SHAPE(3, 6, 6, 8), y);
        check_contracted(x, SHAPE(1, 6, 6, 8), y);
    }
    Output wide = Add(conv(unknown, 8, 8), Neg(x));  // the convolution has a batch of 1
    ck_assert_int_eq(contracted_count(x, &wide, 1, "_FusedConv2D"), 1);
    check_contracted(x, SHAPE(3, 6, 6, 8), wide);
}
END_TEST

START_TEST(contracts_depthwise_convolutions) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 7, 7, 8));
    Output y = OpWith("DepthwiseConv2dNative", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME")), x,
                      constant_ramp(SHAPE(3, 3, 8, 1), 0.1f));
    y = Op("Relu6", Op("BiasAdd", y, constant_ramp(SHAPE(8), 0.1f)));
    ck_assert_int_eq(contracted_count(x, &y, 1, "_FusedDepthwiseConv2dNative"), 1);
    check_contracted(x, SHAPE(2, 7, 7, 8), y);
}
END_TEST

START_TEST(contracts_products) {
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 48));
    for (int i = 0; i < 6; i++)
        for (int way = 0; way < 4; way++) {
            Output weights = constant_ramp(way & 1 ? SHAPE(40, 48) : SHAPE(48, 40), 0.02f);
            Output y = MatMul(x, weights, false, way & 1), bias = constant_ramp(SHAPE(40), 0.1f);
            y = Op(activations[i], Op(way & 2 ? "BiasAdd" : "AddV2", y, bias));
            ck_assert_int_eq(contracted_count(x, &y, 1, "_FusedMatMul"), 1);
            ck_assert_int_eq(contracted_count(x, &y, 1, activations[i]), 0);
            check_contracted(x, SHAPE(64, 48), y);   // by the library, where there is one
            check_contracted(x, SHAPE(3, 48), y);
            check_contracted(x, SHAPE(1, 48), y);
            check_contracted(x, SHAPE(0, 48), y);
        }
    Output matrix = Add(MatMul(x, constant_ramp(SHAPE(48, 40), 0.02f), false, false),
                        constant_ramp(SHAPE(1, 40), 0.1f));
    ck_assert_int_eq(contracted_count(x, &matrix, 1, "MatMul"), 1);
}
END_TEST

// Weights that stay the same are laid out once they were seen twice; a new value shows at once.
START_TEST(products_keep_weights_while_they_are_the_same) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(4, 256));
    FormulaAttr attrs[] = {TYPE_ATTR("dtype", DT_float), {"shape", {.kind = ATTR_SHAPE, .shape = &SHAPE(256, 256)}},
                           {0}};
    Output handle = formula_op(f, "VarHandleOp", NULL, 0, attrs);
    Output read = OpWith("ReadVariableOp", ATTRS(TYPE_ATTR("dtype", DT_float)), handle);
    Output y = MatMul(x, read, false, false), value = constant_ramp(SHAPE(256, 256), 0.02f);
    Node *assign = formula_op(f, "AssignVariableOp", (const Output[]){handle, value}, 2, NULL).node;
    Node *twice = formula_op(f, "AssignAddVariableOp", (const Output[]){handle, value}, 2, NULL).node;
    GOOD(f->status);
    Session *session = session_with(BIT(PASSES) - 1, 1);
    Node *const targets[] = {assign, twice};
    StepSignature product = {.feeds = &x, .fetches = &y, .n_feeds = 1, .n_fetches = 1};
    Tensor in, out, first;
    GOOD(tensor_new(DT_float, SHAPE(4, 256), &in));
    for (int i = 0; i < 4 * 256; i++)
        ((float *)in.data)[i] = (float)(i % 5);
    const Tensor *feeds = &in;
    for (int round = 0; round < 2; round++) {
        StepSignature change = {.targets = &targets[round], .n_targets = 1};
        GOOD(session_run(session, &change, &run_settings_default, NULL, NULL));
        for (int again = 0; again < 4; again++) {
            GOOD(session_run(session, &product, &run_settings_default, &feeds, &out));
            if (round == 0 && again == 0) {
                first = out;
                continue;
            }
            for (int i = 0; i < 4 * 256; i++) {
                float got = ((float *)out.data)[i], want = ((float *)first.data)[i] * (float)(round + 1);
                ck_assert(fabsf(got - want) <= 1e-4f * (1 + fabsf(want)));
            }
            tensor_clear(&out);
        }
    }
    session_free(session);
    tensor_clear(&in);
    tensor_clear(&first);
}
END_TEST

static Output norm(Output x, int64_t channels, const char *format, bool training) {
    Formula *f = &formula;
    Output variance = constant_ramp(SHAPE(channels), 0.05f);
    float *values = node_attr_find(variance.node, "value")->tensor->data;
    for (int64_t i = 0; i < channels; i++)
        values[i] = 0.5f + fabsf(values[i]);
    Output in[] = {x, constant_ramp(SHAPE(channels), 0.1f), constant_ramp(SHAPE(channels), 0.03f),
                   constant_ramp(SHAPE(channels), 0.02f), variance};
    if (training)  // these must be empty or what the moving averages begin with
        in[3] = in[4] = constant_ramp(SHAPE(0), 1);
    return formula_op(f, "FusedBatchNormV3", in, 5,
                      (FormulaAttr[]){BOOL_ATTR("is_training", training), TEXT_OF_ATTR("data_format", format), {0}});
}

START_TEST(norms_of_constants_become_part_of_the_filter) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 6, 6, 4)), planes = placeholder(SHAPE(2, 4, 6, 6));
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_CONTRACT);
    Output depthwise = OpWith("DepthwiseConv2dNative",
                              ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME")), x,
                              constant_ramp(SHAPE(3, 3, 4, 2), 0.1f));
    Output turned = OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME"),
                                           TEXT_ATTR("data_format", "NCHW")),
                           planes, constant_ramp(SHAPE(3, 3, 4, 8), 0.02f));
    Output bias = constant_ramp(SHAPE(8), 0.1f);
    const Output ys[] = {
        Op("Relu", norm(conv(x, 4, 8), 8, "NHWC", false)), norm(Op("BiasAdd", conv(x, 4, 8), bias), 8, "NHWC", false),
        norm(depthwise, 8, "NHWC", false), norm(turned, 8, "NCHW", false),
    };
    GOOD(f->status);
    for (int i = 0; i < 4; i++) {
        Output in = i == 3 ? planes : x;
        ck_assert_int_eq(count_of(0, &in, 1, &ys[i], 1, "FusedBatchNormV3"), 1);
        ck_assert_int_eq(count_of(passes, &in, 1, &ys[i], 1, "FusedBatchNormV3"), 0);
        ck_assert_int_eq(count_of(passes, &in, 1, &ys[i], 1, "Mul"), 0);  // all of it is constant
        check_alike(passes, in, i == 3 ? SHAPE(2, 4, 6, 6) : SHAPE(2, 6, 6, 4), ys[i]);
    }
}
END_TEST

START_TEST(norms_of_anything_else_stay) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 6, 6, 4)), c = conv(x, 4, 8);
    Output read_twice[] = {norm(c, 8, "NHWC", false), c}, training = norm(conv(x, 4, 8), 8, "NHWC", true);
    Output plain = norm(x, 4, "NHWC", false), second = {norm(conv(x, 4, 8), 8, "NHWC", false).node, 1};
    GOOD(f->status);
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD);
    ck_assert_int_eq(count_of(passes, &x, 1, read_twice, 2, "FusedBatchNormV3"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &training, 1, "FusedBatchNormV3"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &plain, 1, "FusedBatchNormV3"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &second, 1, "FusedBatchNormV3"), 1);
}
END_TEST

START_TEST(products_of_constants_are_folded) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(3, 4)), a = constant_ramp(SHAPE(3, 5), 1), b = constant_ramp(SHAPE(5, 4), 1);
    Output y = Add(x, MatMul(a, b, false, false));
    GOOD(f->status);
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), &x, 1, &y, 1, "MatMul"), 0);
}
END_TEST

START_TEST(contraction_stops_at_walls) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1, 4, 4, 2));
    Output c = conv(x, 2, 4), b = Op("BiasAdd", c, constant_ramp(SHAPE(4), 0.1f)), y = Op("Relu", b);
    GOOD(f->status);
    const Output with_conv[] = {y, c}, with_bias[] = {y, b}, fed[] = {x, b};
    ck_assert_int_eq(contracted_count(x, with_conv, 2, "Conv2D"), 1);
    ck_assert_int_eq(contracted_count(x, with_bias, 2, "_FusedConv2D"), 1);  // as far as the bias
    ck_assert_int_eq(contracted_count(x, with_bias, 2, "Relu"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_CONTRACT), fed, 2, &y, 1, "Relu"), 1);
    Output waiting = Neg(x);
    GOOD(node_add_control(waiting.node, b.node));
    const Output both[] = {y, waiting};
    ck_assert_int_eq(contracted_count(x, both, 2, "_FusedConv2D"), 1);  // who waits for the bias waits for both
    ck_assert_int_eq(contracted_count(x, both, 2, "Relu"), 1);
}
END_TEST

START_TEST(contraction_takes_only_what_fits) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1, 4, 4, 2));
    Output few = Add(conv(x, 2, 4), constant_ramp(SHAPE(1), 0.1f));   // not a channel each
    Output twice = Mul(conv(x, 2, 4), Scalar(2, x));
    Output c = conv(x, 2, 4), itself = Add(c, c);
    Output columns = Add(conv(x, 2, 4), constant_ramp(SHAPE(4, 1), 0.1f));
    GOOD(f->status);
    ck_assert_int_eq(contracted_count(x, &few, 1, "Conv2D"), 1);
    ck_assert_int_eq(contracted_count(x, &twice, 1, "Conv2D"), 1);
    ck_assert_int_eq(contracted_count(x, &itself, 1, "Conv2D"), 1);
    ck_assert_int_eq(contracted_count(x, &columns, 1, "Conv2D"), 1);
    Output late = Op("BiasAdd", Op("Relu", conv(x, 2, 4)), constant_ramp(SHAPE(4), 0.1f));
    ck_assert_int_eq(contracted_count(x, &late, 1, "BiasAdd"), 1);   // the bias comes first or not at all
    check_contracted(x, SHAPE(1, 4, 4, 2), late);
}
END_TEST

START_TEST(contracts_under_gradients) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 6, 6, 3)), bias = constant_ramp(SHAPE(8), 0.1f), filter;
    Output c = conv(x, 3, 8), y = Op("Relu", Op("BiasAdd", c, bias));
    filter = c.node->inputs[1];
    Output dx[3], loss = Op("L2Loss", y), xs[] = {x, filter, bias};
    GOOD(f->status);
    GOOD(autodiff_gradients(graph, STR("g"), &loss, 1, xs, 3, NULL, dx));
    ck_assert_int_eq(contracted_count(x, dx, 3, "_FusedConv2D"), 1);  // ReluGrad reads what Relu gave
    ck_assert_int_eq(contracted_count(x, dx, 3, "Relu"), 0);
    for (int i = 0; i < 3; i++)
        check_contracted(x, SHAPE(2, 6, 6, 3), dx[i]);
}
END_TEST

static Output training_norm(Output x, int64_t channels, float step) {
    Formula *f = &formula;
    Output none = constant_ramp(SHAPE(0), 0);
    return OpWith("FusedBatchNormV3", ATTRS(BOOL_ATTR("is_training", true)), x, constant_ramp(SHAPE(channels), step),
                  constant_ramp(SHAPE(channels), -step), none, none);
}

// A block with a shortcut, as in residual networks, of a batch that isn't known.
START_TEST(contracts_norms_with_sum_and_relu) {
    uint32_t all = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_CONTRACT) | BIT(PASS_FUSE);
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 6, 6, 8)), in = Neg(x), c = conv(in, 8, 8);  // what is fed may have any shape
    Output inner = Op("Relu", training_norm(c, 8, 0.3f)), second = training_norm(conv(inner, 8, 8), 8, 0.2f);
    Output first = Op("Relu", Add(second, in));
    Output y = Op("Relu", Add(first, training_norm(conv(first, 8, 8), 8, 0.1f))), loss = Op("L2Loss", y), dx[2];
    Output xs[] = {x, c.node->inputs[1]};
    GOOD(f->status);
    GOOD(autodiff_gradients(graph, STR("g"), &loss, 1, xs, 2, NULL, dx));
    ck_assert_int_eq(count_of(0, &x, 1, dx, 2, "Sum"), 4);
    static const struct { const char *op; int n; } left[] = {
        {"_FusedBatchNormEx", 3}, {"_FusedBatchNormGradEx", 1}, {"FusedBatchNormGradV3", 2}, {"Sum", 0}, {"AddN", 0},
        {"Relu", 0}, {"ReluGrad", 0},
    };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        ck_assert_msg(count_of(all, &x, 1, dx, 2, left[i].op) == left[i].n, "%d %s",
                      count_of(all, &x, 1, dx, 2, left[i].op), left[i].op);
    check_alike(all, x, SHAPE(3, 6, 6, 8), y);
    for (int i = 0; i < 2; i++)
        check_alike(all, x, SHAPE(3, 6, 6, 8), dx[i]);
}
END_TEST

START_TEST(norms_stay_where_they_can_not_join) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 6, 6, 8)), in = Neg(x), n = training_norm(in, 8, 0.3f);
    Output mean = {n.node, 1}, by_mean = Add(n, Mul(in, mean));  // what is added waits for the normalisation
    Output other = placeholder(SHAPE(-1, 6, 6, 8));
    ck_assert_int_eq(contracted_count(x, &by_mean, 1, "_FusedBatchNormEx"), 0);
    check_contracted(x, SHAPE(2, 6, 6, 8), by_mean);
    Output apart = Add(training_norm(in, 8, 0.3f), Neg(other)), feeds[] = {x, other};  // batches that may differ
    ck_assert_int_eq(count_of(BIT(PASS_CONTRACT), feeds, 2, &apart, 1, "_FusedBatchNormEx"), 0);
    Output seen[] = {Op("Relu", n), n};
    ck_assert_int_eq(contracted_count(x, seen, 2, "_FusedBatchNormEx"), 0);
}
END_TEST

static Plan *plan_of(Session *session, Output feed, const Output *fetches, int n_fetches) {
    StepSignature signature = {.feeds = &feed, .fetches = fetches, .n_feeds = 1, .n_fetches = n_fetches};
    Plan *plan;
    GOOD(session_plan(session, &signature, &plan));
    return plan;
}

static int place_of(const Plan *plan, Output edge) {
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].binding.node->origin == edge.node)
            return i;
    return -1;
}

static const Node *planned(const Plan *plan, const char *op) {
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (str_is(plan->nodes[i].binding.node->type->name, op))
            return plan->nodes[i].binding.node;
    return NULL;
}

// As TensorFlow's Python ties gradients together: each is read by an identity that waits for all.
START_TEST(calculations_wait_for_none) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1000));
    Output one = Exp(x), other = Sin(x), tied = Identity(one), y = Neg(tied);
    Node *all = formula_op(f, "NoOp", NULL, 0, NULL).node;
    GOOD(f->status);
    GOOD(node_add_control(all, one.node));
    GOOD(node_add_control(all, other.node));
    GOOD(node_add_control(tied.node, all));
    Session *session = session_with(BIT(PASS_CONTROL), 1);
    Plan *plan = plan_of(session, x, (Output[]){y, other}, 2);
    ck_assert_ptr_null(planned(plan, "Identity"));
    ck_assert_ptr_null(planned(plan, "NoOp"));
    const Node *last = planned(plan, "Neg");
    ck_assert_ptr_nonnull(last);
    ck_assert_int_eq(last->n_controls, 0);
    plan_release(plan);
    session_free(session);
}
END_TEST

// What has a state is waited for, through whatever calculations; and what has one waits.
START_TEST(states_are_waited_for) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1000));
    Output drawn = formula_op(f, "RandomUniform", (Output[]){Ints(10)}, 1,
                              ATTRS(TYPE_ATTR("dtype", DT_float), INT_ATTR("seed", 1)));
    Output of_drawn = Exp(Neg(drawn)), y = Sin(x);
    Output later = formula_op(f, "RandomUniform", (Output[]){Ints(10)}, 1,
                              ATTRS(TYPE_ATTR("dtype", DT_float), INT_ATTR("seed", 2)));
    GOOD(f->status);
    GOOD(node_add_control(y.node, of_drawn.node));
    GOOD(node_add_control(later.node, y.node));
    Session *session = session_with(BIT(PASS_CONTROL), 1);
    Plan *plan = plan_of(session, x, (Output[]){y, later, of_drawn}, 3);
    const Node *sine = planned(plan, "Sin");
    ck_assert_int_eq(sine->n_controls, 1);
    ck_assert(str_is(sine->controls[0]->type->name, "RandomUniform"));
    int waiting = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const Node *node = plan->nodes[i].binding.node;
        if (str_is(node->type->name, "RandomUniform") && node->n_controls)
            waiting += node->controls[0] == sine;
    }
    ck_assert_int_eq(waiting, 1);
    plan_release(plan);
    session_free(session);
}
END_TEST

// Constants don't: who reads them does instead, and only who hasn't waited anyway.
START_TEST(constants_wait_for_none) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(10));
    Output drawn = formula_op(f, "RandomUniform", (Output[]){Ints(10)}, 1,
                              ATTRS(TYPE_ATTR("dtype", DT_float), INT_ATTR("seed", 1)));
    Output two = Scalar(2, drawn), four = Square(two), y = Sin(Add(four, x)), z = Cos(Mul(drawn, four));
    GOOD(f->status);
    GOOD(node_add_control(two.node, drawn.node));
    Session *session = session_with(BIT(PASS_CONTROL) | BIT(PASS_FOLD), 1);
    Plan *plan = plan_of(session, x, (Output[]){y, z, drawn}, 3);
    ck_assert_ptr_null(planned(plan, "Square"));
    const Node *sum = planned(plan, "AddV2"), *product = planned(plan, "Mul");
    ck_assert_ptr_nonnull(sum);
    ck_assert_int_eq(sum->n_controls, 1);
    ck_assert(str_is(sum->controls[0]->type->name, "RandomUniform"));
    ck_assert_ptr_nonnull(product);
    ck_assert_int_eq(product->n_controls, 0);
    plan_release(plan);
    session_free(session);
}
END_TEST

START_TEST(sums_are_negated_afterwards) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(40, 30)), negative = Neg(x), y = Sum(negative, Ints(0), false);
    GOOD(f->status);
    Tensor value = odd_numbers(DT_float, SHAPE(40, 30));
    for (int i = 0; i < 1200; i++)
        ((float *)value.data)[i] = (float)(i % 89) / 9 - 3;
    expect_same_bits(BIT(PASS_SIMPLIFY), x, &value, y);
    for (int read = 0; read < 2; read++) {  // who is read by others as well stays
        Session *session = session_with(BIT(PASS_SIMPLIFY), 1);
        Plan *plan = plan_of(session, x, (Output[]){y, negative}, 1 + read);
        const Node *sum = planned(plan, "Sum");
        ck_assert_int_eq(str_is(sum->inputs[0].node->type->name, "Neg"), read);
        plan_release(plan);
        session_free(session);
    }
    tensor_clear(&value);
}
END_TEST

static void without_spreading(Output x, Output y, const char *spread, int left) {
    GOOD(formula.status);
    uint32_t passes = BIT(PASS_FOLD) | BIT(PASS_SIMPLIFY);
    ck_assert_int_eq(count_of(0, &x, 1, &y, 1, spread), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, spread), left);
    Tensor value = odd_numbers(DT_float, SHAPE(40, 1));
    for (int i = 0; i < 40; i++)
        ((float *)value.data)[i] = (float)(i % 11) / 3 - 2;
    expect_same_bits(passes, x, &value, y);
    tensor_clear(&value);
}

// A column that is laid out beside itself to be calculated with: the calculation does so anyway.
START_TEST(columns_are_spread_by_who_reads_them) {
    Formula *f = &formula;
    Tensor numbers = odd_numbers(DT_float, SHAPE(40, 30)), ones, twos;
    for (int i = 0; i < 1200; i++)
        ((float *)numbers.data)[i] = (float)(i % 13) / 4 + 0.5f;
    GOOD(tensor_new(DT_float, SHAPE(1, 30), &ones));
    GOOD(tensor_new(DT_float, SHAPE(1, 30), &twos));
    for (int i = 0; i < 30; i++)
        ((float *)ones.data)[i] = ((float *)twos.data)[i] = 1;
    ((float *)twos.data)[29] = 2;
    Output x = placeholder(SHAPE(40, 1)), column = Exp(x), full = formula_tensor(f, &numbers), one = Scalar(1, x);
    Output row = formula_tensor(f, &ones), other = formula_tensor(f, &twos);
    Output spread = BroadcastTo(column, Ints(40, 30)), product = formula_2(f, "MatMul", column, row);
    without_spreading(x, Mul(spread, full), "BroadcastTo", 0);
    without_spreading(x, Sub(full, spread), "BroadcastTo", 0);
    without_spreading(x, Div(full, product), "MatMul", 0);
    without_spreading(x, Div(Reshape(full, Ints(40, 1, 30)), Reshape(product, Ints(40, 1, 30))), "MatMul", 0);
    without_spreading(x, Mul(full, formula_2(f, "MatMul", column, other)), "MatMul", 1);   // not only ones
    without_spreading(x, Mul(Reshape(full, Ints(30, 40)), Reshape(product, Ints(30, 40))), "MatMul", 1);
    without_spreading(x, Mul(spread, one), "BroadcastTo", 1);    // nothing else gives the extent
    without_spreading(x, Mul(Slice(full, Ints(0, 0), Ints(40, 1)), spread), "BroadcastTo", 1);
    tensor_clear(&numbers);
    tensor_clear(&ones);
    tensor_clear(&twos);
}
END_TEST

static void summed_at_once(Output x, Output y, int nodes) {
    GOOD(formula.status);
    uint32_t passes = BIT(PASS_FOLD) | BIT(PASS_SIMPLIFY) | BIT(PASS_CONTRACT);
    ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, "_MulSum"), nodes);
    ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, "Mul"), 1 - nodes);
    Tensor value, plain, less;
    GOOD(tensor_new(DT_float, SHAPE(40, 70), &value));
    for (int i = 0; i < 2800; i++)
        ((float *)value.data)[i] = (float)(i % 23) / 7 - 1;
    run(0, x, &value, y, &plain);
    run(passes, x, &value, y, &less);
    ck_assert(shape_equal(&plain.shape, &less.shape));
    for (int64_t i = 0; i < tensor_count(&plain); i++)
        ck_assert_float_eq_tol(((float *)plain.data)[i], ((float *)less.data)[i], 1e-4f);
    tensor_clear(&plain);
    tensor_clear(&less);
    tensor_clear(&value);
}

static Output sum_along(Output x, int64_t axis, bool keeps) {
    Formula *f = &formula;
    return Sum(x, Ints(axis), keeps);
}

START_TEST(products_are_summed_at_once) {
    Formula *f = &formula;
    Tensor ones, others;
    GOOD(tensor_new(DT_float, SHAPE(70, 1), &ones));
    GOOD(tensor_new(DT_float, SHAPE(70, 1), &others));
    for (int i = 0; i < 70; i++)
        ((float *)ones.data)[i] = 1, ((float *)others.data)[i] = i < 69 ? 1 : 2;
    Output x = placeholder(SHAPE(40, 70)), a = Sin(x), b = Cos(x), product = Mul(a, b), by = formula_tensor(f, &ones);
    Output by_other = formula_tensor(f, &others), deep = Ints(40, 1, 70);
    summed_at_once(x, Neg(sum_along(product, 1, false)), 1);
    summed_at_once(x, Neg(sum_along(product, -1, true)), 1);
    summed_at_once(x, Neg(MatMul(product, by, false, false)), 1);
    summed_at_once(x, Neg(MatMul(Reshape(Mul(ExpandDims(a, Int(1)), Reshape(b, deep)), Ints(-1, 70)), by, false,
                                 false)), 1);
    summed_at_once(x, Neg(MatMul(product, by_other, false, false)), 0);
    summed_at_once(x, Neg(sum_along(product, 0, false)), 0);
    summed_at_once(x, Neg(sum_along(Mul(a, Slice(b, Ints(0, 0), Ints(1, 70))), 1, false)), 0);
    Output narrow = Slice(a, Ints(0, 0), Ints(40, 5));
    summed_at_once(x, Neg(sum_along(Mul(narrow, narrow), 1, false)), 0);
    Output both[] = {product, sum_along(product, 1, false)};
    ck_assert_int_eq(count_of(BIT(PASS_FOLD) | BIT(PASS_CONTRACT), &x, 1, both, 2, "_MulSum"), 0);
    tensor_clear(&ones);
    tensor_clear(&others);
}
END_TEST

// What is simplified in a loop stays in it: its new constants, too.
START_TEST(loops_are_simplified) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(40, 1, 70));
    AttrValue frame = {.kind = ATTR_STRING, .s = STR("loop")};
    Output in = formula_op(f, "Enter", &x, 1, ATTRS({"frame_name", frame})), flat = Ints(40, 70);
    Output y = formula_1(f, "Exit", Reshape(Mul(Sin(in), Cos(in)), flat));
    GOOD(f->status);
    GOOD(node_add_control(flat.node, in.node));
    Tensor value;
    GOOD(tensor_new(DT_float, SHAPE(40, 1, 70), &value));
    for (int i = 0; i < 2800; i++)
        ((float *)value.data)[i] = (float)(i % 23) / 7 - 1;
    ck_assert_int_eq(count_of(0, &x, 1, &y, 1, "Reshape"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_SIMPLIFY), &x, 1, &y, 1, "Reshape"), 2);
    expect_same_bits(BIT(PASS_SIMPLIFY), x, &value, y);
    tensor_clear(&value);
}
END_TEST

// What constants say of shapes is known once they are folded.
START_TEST(folding_tells_shapes) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(40, 30)), y = Neg(Slice(Exp(x), Ints(2, 0), Mul(Ints(5, 2), Ints(2, 3))));
    GOOD(f->status);
    ck_assert(!shape_is_known(&y.node->output_shapes[0]));
    Session *session = session_with(BIT(PASS_FOLD), 1);
    Plan *plan = plan_of(session, x, (Output[]){y}, 1);
    Shape found = planned(plan, "Neg")->output_shapes[0], expected = SHAPE(10, 6);
    ck_assert(shape_equal(&found, &expected));
    plan_release(plan);
    session_free(session);
}
END_TEST

START_TEST(what_one_node_reads_goes_straight_to_it) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1000));
    Output first = Exp(x), second = Sin(x), more = Neg(first), most = Neg(second);
    GOOD(f->status);
    Session *session = session_with(0, 1);
    Plan *plan = plan_of(session, x, (Output[]){more, most}, 2);
    ck_assert_int_ge(place_of(plan, first), 0);
    ck_assert_int_lt(place_of(plan, first), place_of(plan, more));
    ck_assert_int_lt(place_of(plan, more), place_of(plan, second));
    ck_assert_int_lt(place_of(plan, second), place_of(plan, most));
    plan_release(plan);
    session_free(session);
}
END_TEST

// All of a chain lies in the buffer that is fetched in the end: there is no arena, and each step has its own buffer.
START_TEST(what_dies_into_a_fetched_value_lies_there) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1)), y = Neg(Exp(Neg(x)));
    GOOD(f->status);
    Session *session = session_with(0, 1);
    Plan *plan = plan_of(session, x, &y, 1);
    Tensor value, out[2];
    GOOD(tensor_new(DT_float, SHAPE(1000), &value));
    for (int i = 0; i < 1000; i++)
        ((float *)value.data)[i] = (float)i / 1000;
    const Tensor *fed = &value;
    Fixed *fixed;
    GOOD(plan_fixed(plan, &fed, NULL, &fixed));
    ck_assert_ptr_nonnull(fixed);
    ck_assert_uint_eq(fixed->arena_bytes, 0);
    fixed_release(fixed);
    StepSignature signature = {.feeds = &x, .fetches = &y, .n_feeds = 1, .n_fetches = 1};
    for (int turn = 0; turn < 2; turn++)
        GOOD(session_run(session, &signature, &run_settings_default, &fed, &out[turn]));
    ck_assert_ptr_ne(out[0].data, out[1].data);
    for (int i = 0; i < 1000; i++) {
        ck_assert_float_eq_tol(((float *)out[0].data)[i], -expf(-(float)i / 1000), 1e-6f);
        ck_assert_float_eq(((float *)out[1].data)[i], ((float *)out[0].data)[i]);
    }
    tensor_clear(&out[0]);
    tensor_clear(&out[1]);
    tensor_clear(&value);
    plan_release(plan);
    session_free(session);
}
END_TEST

START_TEST(packs_memory_to_the_bound) {
    Interval intervals[] = {{0, 1, 64, 0}, {1, 2, 128, 0}, {2, 3, 64, 0}, {0, 3, 256, 0}};
    size_t bytes, bound;
    GOOD(memory_pack(intervals, 4, &bytes, &bound));
    ck_assert_uint_eq(bound, 448);
    ck_assert_uint_eq(bytes, 448);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++) {
            bool together = intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last;
            bool apart = intervals[a].offset + (int64_t)intervals[a].bytes <= intervals[b].offset ||
                         intervals[b].offset + (int64_t)intervals[b].bytes <= intervals[a].offset;
            ck_assert(!together || apart);
        }
}
END_TEST

// The large values of a convnet's training step, in KiB: placed from the largest down they need a tenth more.
START_TEST(packs_where_the_largest_first_miss) {
    Interval intervals[] = {{58, 58, 1600, 0}, {8, 62, 1600, 0},  {50, 53, 1600, 0}, {60, 64, 1600, 0},
                            {10, 10, 1280, 0}, {57, 57, 1280, 0}, {10, 55, 832, 0},  {54, 58, 832, 0},
                            {49, 49, 512, 0},  {9, 60, 384, 0},   {57, 60, 384, 0},  {15, 15, 256, 0}};
    size_t bytes, bound;
    GOOD(memory_pack(intervals, sizeof intervals / sizeof *intervals, &bytes, &bound));
    ck_assert_uint_eq(bound, 4800);
    ck_assert_uint_le(bytes, bound + bound / 100);
}
END_TEST

START_TEST(packs_many_small_values) {
    enum { MANY = 20000 };
    Interval *intervals = calloc(MANY, sizeof *intervals);
    for (int i = 0; i < MANY; i++)
        intervals[i] = (Interval){.first = i, .last = i + 1 + i % 3, .bytes = (size_t)(64 + i % 5 * 64)};
    size_t bytes, bound;
    GOOD(memory_pack(intervals, MANY, &bytes, &bound));
    for (int i = 0; i < MANY; i++)
        for (int j = i + 1; j < MANY && intervals[j].first <= intervals[i].last; j++)
            ck_assert(intervals[i].offset + (int64_t)intervals[i].bytes <= intervals[j].offset ||
                      intervals[j].offset + (int64_t)intervals[j].bytes <= intervals[i].offset);
    ck_assert_uint_lt(bytes, 16 * bound);
    free(intervals);
}
END_TEST

START_TEST(passes_over_what_is_only_waited_for) {
    Formula *f = &formula;
    Output x = placeholder(SCALAR_SHAPE), other = placeholder(SCALAR_SHAPE);
    Output unread = Exp(Sqrt(Neg(x))), y = Add(other, other);
    GOOD(f->status);
    GOOD(node_add_control(y.node, unread.node));
    const Output feeds[] = {x, other};
    ck_assert_int_eq(count_of(0, feeds, 2, &y, 1, "Exp"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_CONTROL), feeds, 2, &y, 1, "Exp"), 0);
    ck_assert_int_eq(count_of(BIT(PASS_CONTROL), feeds, 2, &y, 1, "Neg"), 0);
    const Output both[] = {y, unread};  // read after all
    ck_assert_int_eq(count_of(BIT(PASS_CONTROL), feeds, 2, both, 2, "Exp"), 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("passes");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, folds_constants_and_stops_at_feeds);
    tcase_add_test(tests, merges_equal_nodes);
    tcase_add_test(tests, removes_identities_but_not_fetched_ones);
    tcase_add_test(tests, fuses_chains_to_the_same_bits);
    tcase_add_test(tests, fuses_choices_and_comparisons);
    tcase_add_test(tests, fuses_constants);
    tcase_add_test(tests, fuses_what_cannot_broadcast_only_where_shapes_agree);
    tcase_add_test(tests, contracts_bias_and_activations);
    tcase_add_test(tests, contracts_sums_whatever_the_batches);
    tcase_add_test(tests, contracts_depthwise_convolutions);
    tcase_add_test(tests, contracts_products);
    tcase_add_test(tests, products_keep_weights_while_they_are_the_same);
    tcase_add_test(tests, norms_of_constants_become_part_of_the_filter);
    tcase_add_test(tests, norms_of_anything_else_stay);
    tcase_add_test(tests, products_of_constants_are_folded);
    tcase_add_test(tests, contraction_stops_at_walls);
    tcase_add_test(tests, contraction_takes_only_what_fits);
    tcase_add_test(tests, contracts_under_gradients);
    tcase_add_test(tests, passes_over_what_is_only_waited_for);
    tcase_add_test(tests, contracts_norms_with_sum_and_relu);
    tcase_add_test(tests, norms_stay_where_they_can_not_join);
    tcase_add_test(tests, calculations_wait_for_none);
    tcase_add_test(tests, states_are_waited_for);
    tcase_add_test(tests, constants_wait_for_none);
    tcase_add_test(tests, sums_are_negated_afterwards);
    tcase_add_test(tests, columns_are_spread_by_who_reads_them);
    tcase_add_test(tests, products_are_summed_at_once);
    tcase_add_test(tests, loops_are_simplified);
    tcase_add_test(tests, folding_tells_shapes);
    tcase_add_test(tests, what_one_node_reads_goes_straight_to_it);
    tcase_add_test(tests, what_dies_into_a_fetched_value_lies_there);
    tcase_add_test(tests, packs_memory_to_the_bound);
    tcase_add_test(tests, packs_many_small_values);
    tcase_add_test(tests, packs_where_the_largest_first_miss);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
