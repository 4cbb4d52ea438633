// Epilogue tests — what convolutions, products and normalisations do with the nodes behind them.
#include <check.h>

#include "autodiff/autodiff.h"
#include "plan/specialisation.h"
#include "plan/passes_test.h"

static Output conv(Output x, int64_t in, int64_t filters) {
    Formula *f = &formula;
    return OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME")), x,
                  constant_ramp(SHAPE(3, 3, in, filters), 0.02f));
}

static void check_fused(Output x, Shape shape, Output y) {
    check_alike(BIT(PASS_PATTERNS), x, shape, y);
}

static int fused_count(Output x, const Output *fetches, int n, const char *op) {
    return count_of(BIT(PASS_PATTERNS), &x, 1, fetches, n, op);
}

START_TEST(fuses_bias_and_activations) {
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 8, 9, 3));
    for (int i = 0; i < 6; i++)
        for (int way = 0; way < 3; way++) {
            Output y = conv(x, 3, 16), bias = constant_ramp(SHAPE(16), 0.1f);
            y = way == 0 ? y : Op(way == 1 ? "BiasAdd" : "AddV2", y, bias);
            y = Op(activations[i], y);
            ck_assert_int_eq(fused_count(x, &y, 1, "_FusedConv2D"), 1);
            ck_assert_int_eq(fused_count(x, &y, 1, activations[i]), 0);
            check_fused(x, SHAPE(2, 8, 9, 3), y);
        }
    Output other_way = Op("Relu", Add(constant_ramp(SHAPE(16), 0.1f), conv(x, 3, 16)));
    ck_assert_int_eq(fused_count(x, &other_way, 1, "AddV2"), 0);
    check_fused(x, SHAPE(1, 8, 9, 3), other_way);
}
END_TEST

START_TEST(fuses_sums_whatever_the_batches) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 6, 6, 8)), one = constant_ramp(SHAPE(1, 6, 6, 8), 0.1f);
    Output unknown = OpWith("PlaceholderWithDefault", ATTRS({"shape",
                                                             {.kind = ATTR_SHAPE, .shape = &SHAPE(-1, 6, 6, 8)}}),
                            one);
    const Output others[] = {Neg(x), unknown};
    for (int i = 0; i < 2; i++) {
        Output y = Op("Relu", Add(Op("BiasAdd", conv(x, 8, 8), constant_ramp(SHAPE(8), 0.1f)), others[i]));
        ck_assert_int_eq(fused_count(x, &y, 1, "_FusedConv2D"), 1);
        ck_assert_int_eq(fused_count(x, &y, 1, "AddV2"), 0);
        check_fused(x, SHAPE(3, 6, 6, 8), y);
        check_fused(x, SHAPE(1, 6, 6, 8), y);
    }
    Output wide = Add(conv(unknown, 8, 8), Neg(x));  // the convolution has a batch of 1
    ck_assert_int_eq(fused_count(x, &wide, 1, "_FusedConv2D"), 1);
    check_fused(x, SHAPE(3, 6, 6, 8), wide);
}
END_TEST

START_TEST(fuses_depthwise_convolutions) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 7, 7, 8));
    Output y = OpWith("DepthwiseConv2dNative", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME")), x,
                      constant_ramp(SHAPE(3, 3, 8, 1), 0.1f));
    y = Op("Relu6", Op("BiasAdd", y, constant_ramp(SHAPE(8), 0.1f)));
    ck_assert_int_eq(fused_count(x, &y, 1, "_FusedDepthwiseConv2dNative"), 1);
    check_fused(x, SHAPE(2, 7, 7, 8), y);
}
END_TEST

START_TEST(fuses_products) {
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1, 48));
    for (int i = 0; i < 6; i++)
        for (int way = 0; way < 4; way++) {
            Output weights = constant_ramp(way & 1 ? SHAPE(40, 48) : SHAPE(48, 40), 0.02f);
            Output y = MatMul(x, weights, false, way & 1), bias = constant_ramp(SHAPE(40), 0.1f);
            y = Op(activations[i], Op(way & 2 ? "BiasAdd" : "AddV2", y, bias));
            ck_assert_int_eq(fused_count(x, &y, 1, "_FusedMatMul"), 1);
            ck_assert_int_eq(fused_count(x, &y, 1, activations[i]), 0);
            check_fused(x, SHAPE(64, 48), y);   // by the library, where there is one
            check_fused(x, SHAPE(3, 48), y);
            check_fused(x, SHAPE(1, 48), y);
            check_fused(x, SHAPE(0, 48), y);
        }
    Output matrix = Add(MatMul(x, constant_ramp(SHAPE(48, 40), 0.02f), false, false),
                        constant_ramp(SHAPE(1, 40), 0.1f));
    ck_assert_int_eq(fused_count(x, &matrix, 1, "MatMul"), 1);
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

START_TEST(fusion_stops_at_walls) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1, 4, 4, 2));
    Output c = conv(x, 2, 4), b = Op("BiasAdd", c, constant_ramp(SHAPE(4), 0.1f)), y = Op("Relu", b);
    GOOD(f->status);
    const Output with_conv[] = {y, c}, with_bias[] = {y, b}, fed[] = {x, b};
    ck_assert_int_eq(fused_count(x, with_conv, 2, "Conv2D"), 1);
    ck_assert_int_eq(fused_count(x, with_bias, 2, "_FusedConv2D"), 1);  // as far as the bias
    ck_assert_int_eq(fused_count(x, with_bias, 2, "Relu"), 1);
    ck_assert_int_eq(count_of(BIT(PASS_PATTERNS), fed, 2, &y, 1, "Relu"), 1);
    Output waiting = Neg(x);
    GOOD(node_add_control(waiting.node, b.node));
    const Output both[] = {y, waiting};
    ck_assert_int_eq(fused_count(x, both, 2, "_FusedConv2D"), 1);  // who waits for the bias waits for both
    ck_assert_int_eq(fused_count(x, both, 2, "Relu"), 1);
}
END_TEST

START_TEST(fusion_takes_only_what_fits) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1, 4, 4, 2));
    Output few = Add(conv(x, 2, 4), constant_ramp(SHAPE(1), 0.1f));   // not a channel each
    Output twice = Mul(conv(x, 2, 4), Scalar(2, x));
    Output c = conv(x, 2, 4), itself = Add(c, c);
    Output columns = Add(conv(x, 2, 4), constant_ramp(SHAPE(4, 1), 0.1f));
    GOOD(f->status);
    ck_assert_int_eq(fused_count(x, &few, 1, "Conv2D"), 1);
    ck_assert_int_eq(fused_count(x, &twice, 1, "Conv2D"), 1);
    ck_assert_int_eq(fused_count(x, &itself, 1, "Conv2D"), 1);
    ck_assert_int_eq(fused_count(x, &columns, 1, "Conv2D"), 1);
    Output late = Op("BiasAdd", Op("Relu", conv(x, 2, 4)), constant_ramp(SHAPE(4), 0.1f));
    ck_assert_int_eq(fused_count(x, &late, 1, "BiasAdd"), 1);   // the bias comes first or not at all
    check_fused(x, SHAPE(1, 4, 4, 2), late);
}
END_TEST

START_TEST(fuses_under_gradients) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 6, 6, 3)), bias = constant_ramp(SHAPE(8), 0.1f), filter;
    Output c = conv(x, 3, 8), y = Op("Relu", Op("BiasAdd", c, bias));
    filter = c.node->inputs[1];
    Output dx[3], loss = Op("L2Loss", y), xs[] = {x, filter, bias};
    GOOD(f->status);
    GOOD(autodiff_gradients(graph, STR("g"), &loss, 1, xs, 3, NULL, dx));
    ck_assert_int_eq(fused_count(x, dx, 3, "_FusedConv2D"), 1);  // ReluGrad reads what Relu gave
    ck_assert_int_eq(fused_count(x, dx, 3, "Relu"), 0);
    for (int i = 0; i < 3; i++)
        check_fused(x, SHAPE(2, 6, 6, 3), dx[i]);
}
END_TEST

static Output training_norm(Output x, int64_t channels, float step) {
    Formula *f = &formula;
    Output none = constant_ramp(SHAPE(0), 0);
    return OpWith("FusedBatchNormV3", ATTRS(BOOL_ATTR("is_training", true)), x, constant_ramp(SHAPE(channels), step),
                  constant_ramp(SHAPE(channels), -step), none, none);
}

// A block with a shortcut, as in residual networks, of a batch that isn't known.
START_TEST(fuses_norms_with_sum_and_relu) {
    uint32_t all = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_PATTERNS) | BIT(PASS_FUSE);
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
    ck_assert_int_eq(fused_count(x, &by_mean, 1, "_FusedBatchNormEx"), 0);
    check_fused(x, SHAPE(2, 6, 6, 8), by_mean);
    Output apart = Add(training_norm(in, 8, 0.3f), Neg(other)), feeds[] = {x, other};  // batches that may differ
    ck_assert_int_eq(count_of(BIT(PASS_PATTERNS), feeds, 2, &apart, 1, "_FusedBatchNormEx"), 0);
    Output seen[] = {Op("Relu", n), n};
    ck_assert_int_eq(fused_count(x, seen, 2, "_FusedBatchNormEx"), 0);
}
END_TEST

static void summed_at_once(Output x, Output y, int nodes) {
    GOOD(formula.status);
    uint32_t passes = BIT(PASS_FOLD) | BIT(PASS_SIMPLIFY) | BIT(PASS_PATTERNS);
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
    ck_assert_int_eq(count_of(BIT(PASS_FOLD) | BIT(PASS_PATTERNS), &x, 1, both, 2, "_MulSum"), 0);
    tensor_clear(&ones);
    tensor_clear(&others);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("epilogues");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, fuses_bias_and_activations);
    tcase_add_test(tests, fuses_sums_whatever_the_batches);
    tcase_add_test(tests, fuses_depthwise_convolutions);
    tcase_add_test(tests, fuses_products);
    tcase_add_test(tests, products_keep_weights_while_they_are_the_same);
    tcase_add_test(tests, fusion_stops_at_walls);
    tcase_add_test(tests, fusion_takes_only_what_fits);
    tcase_add_test(tests, fuses_under_gradients);
    tcase_add_test(tests, fuses_norms_with_sum_and_relu);
    tcase_add_test(tests, norms_stay_where_they_can_not_join);
    tcase_add_test(tests, products_are_summed_at_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
