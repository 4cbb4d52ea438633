// Simplify tests — what comes to less when constants are known: in filters, in loops, where they are large.
#include <check.h>
#include <math.h>

#include "plan/passes_test.h"

// A normalisation that is written out: a product and a sum of constants behind a convolution of a constant filter.
static Output normalised(Output y, int64_t channels, int rank) {
    Formula *f = &formula;
    Shape shape = rank == 1 ? SHAPE(channels) : SHAPE(1, 1, 1, channels);
    Output scale = Mul(Rsqrt(Add(Op("Square", constant_ramp(shape, 0.2f)), Scalar(1, y))), constant_ramp(shape, 0.3f));
    return Op("Relu", Add(Mul(y, scale), Sub(constant_ramp(shape, 0.1f), scale)));
}

#define STRIDES(n) ATTRS(INTS_ATTR("strides", 1, n, n, 1), TEXT_ATTR("padding", "SAME"))
START_TEST(factors_become_part_of_filters) {
    Formula *f = &formula;
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_PATTERNS);
    Output x = placeholder(SHAPE(2, 6, 6, 4)), bias = constant_ramp(SHAPE(8), 0.1f);
    Output conv = OpWith("Conv2D", STRIDES(1), x, constant_ramp(SHAPE(3, 3, 4, 8), 0.02f));
    Output other = OpWith("Conv2D", STRIDES(2), x, constant_ramp(SHAPE(3, 3, 4, 8), 0.03f));
    Output depthwise = OpWith("DepthwiseConv2dNative", STRIDES(1), x, constant_ramp(SHAPE(3, 3, 4, 2), 0.05f));
    Output turned = OpWith("Conv2DBackpropInput", STRIDES(2), Ints(2, 12, 12, 8),
                           constant_ramp(SHAPE(2, 2, 8, 4), 0.05f), x);
    Output ys[] = {normalised(conv, 8, 1), normalised(Op("BiasAdd", other, bias), 8, 4), normalised(depthwise, 8, 4),
                   normalised(turned, 8, 1)};
    GOOD(f->status);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(count_of(0, &x, 1, &ys[i], 1, "Mul"), 2);
        ck_assert_int_eq(count_of(passes, &x, 1, &ys[i], 1, "Mul"), 0);
        check_alike(passes, x, SHAPE(2, 6, 6, 4), ys[i]);
    }
    ck_assert_int_eq(count_of(passes, &x, 1, &ys[0], 1, "_FusedConv2D"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &ys[1], 1, "_FusedConv2D"), 1);  // both biases are one
    ck_assert_int_eq(count_of(passes, &x, 1, &ys[1], 1, "AddV2"), 0);
    ck_assert_int_eq(count_of(passes, &x, 1, &ys[2], 1, "_FusedDepthwiseConv2dNative"), 1);
}
END_TEST

// Layers over sequences are products and convolutions in another shape, and then the bias.
START_TEST(epilogues_go_before_a_new_shape) {
    Formula *f = &formula;
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_PATTERNS);
    Output x = placeholder(SHAPE(4, 6)), bias = constant_ramp(SHAPE(8), 0.1f);
    Output product = Op("MatMul", x, constant_ramp(SHAPE(6, 8), 0.05f));
    Output y = Op("Relu", Op("BiasAdd", Reshape(product, Ints(2, 2, 8)), bias));
    Output other = Op("BiasAdd", Reshape(product, Ints(4, 2, 4)), constant_ramp(SHAPE(4), 0.1f));
    Output both[] = {y, Reshape(product, Ints(2, 2, 8))};
    GOOD(f->status);
    ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, "_FusedMatMul"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, "BiasAdd"), 0);
    ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, "Relu"), 0);
    ck_assert_int_eq(count_of(passes, &x, 1, &other, 1, "_FusedMatMul"), 0);  // other channels
    ck_assert_int_eq(count_of(passes, &x, 1, both, 2, "_FusedMatMul"), 0);    // the product is fetched, too
    check_alike(passes, x, SHAPE(4, 6), y);
    check_alike(passes, x, SHAPE(4, 6), other);
}
END_TEST

START_TEST(simple_powers_are_products_and_roots) {
    Formula *f = &formula;
    static const float powers[] = {2, 3, 0.5f, -0.5f, -1, 2.5f};
    Output x = placeholder(SHAPE(5, 7)), positive = Add(Op("Square", x), Scalar(0.5, x));
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        Output y = Pow(positive, Scalar((double)powers[i], x));
        GOOD(f->status);
        ck_assert_int_eq(count_of(BIT(PASS_SIMPLIFY), &x, 1, &y, 1, "Pow"), i == 5);
        check_alike(BIT(PASS_SIMPLIFY), x, SHAPE(5, 7), y);
    }
}
END_TEST

START_TEST(factors_stay_where_they_are_no_part_of_filters) {
    Formula *f = &formula;
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_PATTERNS);
    Output x = placeholder(SHAPE(2, 8, 8, 4)), w = placeholder(SHAPE(3, 3, 4, 8)), s = constant_ramp(SHAPE(8), 0.1f);
    Output conv = OpWith("Conv2D", STRIDES(1), x, constant_ramp(SHAPE(3, 3, 4, 8), 0.02f));
    Output read_twice[] = {Mul(conv, s), conv};
    Output fed = Mul(OpWith("Conv2D", STRIDES(1), x, w), s), feeds[] = {x, w};
    Output other = OpWith("Conv2D", STRIDES(1), x, constant_ramp(SHAPE(3, 3, 4, 8), 0.02f));
    Output rows = Mul(other, constant_ramp(SHAPE(8, 1), 0.1f));
    Output planes = OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME"),
                                           TEXT_ATTR("data_format", "NCHW")), x,
                                           constant_ramp(SHAPE(3, 3, 8, 4), 0.02f));
    Output columns = Mul(planes, constant_ramp(SHAPE(4), 0.1f));
    GOOD(f->status);
    ck_assert_int_eq(count_of(passes, &x, 1, read_twice, 2, "Mul"), 1);
    ck_assert_int_eq(count_of(passes, feeds, 2, &fed, 1, "Mul"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &rows, 1, "Mul"), 1);
    ck_assert_int_eq(count_of(passes, &x, 1, &columns, 1, "Mul"), 1);
}
END_TEST

// What an op of a loop is made of stays in the loop, beside the same outside.
START_TEST(loops_keep_what_ops_expand_to) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 3, 4)), w = constant_ramp(SHAPE(4, 5), 0.1f);
    AttrValue frame = {.kind = ATTR_STRING, .s = STR("loop")},
        equation = {.kind = ATTR_STRING, .s = STR("abc,cd->abd")};
    AttrValue constant = {.kind = ATTR_BOOL, .b = true};
    Output in = formula_op(f, "Enter", &x, 1, ATTRS({"frame_name", frame}));
    Output held = formula_op(f, "Enter", &w, 1, ATTRS({"frame_name", frame}, {"is_constant", constant}));
    Output inside = formula_of_list(f, "Einsum", (Output[]){Sin(in), held}, 2, ATTRS({"equation", equation}));
    Output outside = formula_of_list(f, "Einsum", (Output[]){x, w}, 2, ATTRS({"equation", equation}));
    Output y = Add(formula_1(f, "Exit", inside), outside);
    GOOD(f->status);
    Tensor value, out;
    GOOD(tensor_new(DT_float, SHAPE(2, 3, 4), &value));
    for (int i = 0; i < 24; i++)
        ((float *)value.data)[i] = (float)i / 7 - 1;
    run(BIT(PASS_CSE) | BIT(PASS_FOLD), x, &value, y, &out);
    float first = ((float *)value.data)[0], wanted = 0;
    const float *ramp = output_constant(w)->data;
    for (int c = 0; c < 4; c++)
        wanted += (sinf(((float *)value.data)[c]) + ((float *)value.data)[c]) * ramp[c * 5];
    ck_assert(first < 0);
    ck_assert_float_eq_tol(((float *)out.data)[0], wanted, 1e-5f);
    tensor_clear(&out);
    tensor_clear(&value);
}
END_TEST

// Of much, what takes no more than the constants that it replaces.
START_TEST(large_constants_are_folded_where_they_are_replaced) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(3, 1 << 20)), c = constant_ramp(SHAPE(1 << 20, 3), 1e-6f);
    Output turned = Transpose(c, Ints(1, 0)), y = Add(x, turned);
    GOOD(f->status);
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), &x, 1, &y, 1, "Transpose"), 0);
    Output both[] = {y, Neg(c)};  // somebody else reads it
    GOOD(f->status);
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), &x, 1, both, 2, "Transpose"), 1);
    Output wide = Add(x, Cast(Cast(turned, DT_half), DT_float));  // larger than what it reads
    GOOD(f->status);
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), &x, 1, &wide, 1, "Cast"), 1);
}
END_TEST

static Output conv(Output x, int64_t in, int64_t filters) {
    Formula *f = &formula;
    return OpWith("Conv2D", ATTRS(INTS_ATTR("strides", 1, 1, 1, 1), TEXT_ATTR("padding", "SAME")), x,
                  constant_ramp(SHAPE(3, 3, in, filters), 0.02f));
}

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
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_PATTERNS);
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
    without_spreading(x, Mul(Reshape(full, Ints(30, 40)), Reshape(product, Ints(30, 40))), "MatMul", 0);
    without_spreading(x, Mul(spread, one), "BroadcastTo", 1);    // nothing else gives the extent
    without_spreading(x, Mul(Slice(full, Ints(0, 0), Ints(40, 1)), spread), "BroadcastTo", 1);
    tensor_clear(&numbers);
    tensor_clear(&ones);
    tensor_clear(&twos);
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

// Ones on either side, transposed or not, of any width: sums, repeated.
START_TEST(products_with_ones_are_sums) {
    Formula *f = &formula;
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD);
    const struct {
        int64_t ones[2];
        bool left, turned[2];
    } cases[] = {{{5, 1}, false, {0, 0}}, {{1, 5}, false, {0, 1}}, {{4, 1}, false, {1, 0}}, {{5, 7}, false, {0, 0}},
                 {{4, 7}, false, {1, 0}}, {{7, 4}, false, {1, 1}}, {{1, 4}, true, {0, 0}},  {{7, 4}, true, {0, 0}},
                 {{4, 7}, true, {1, 0}},  {{7, 5}, true, {0, 1}},  {{5, 1}, true, {1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Tensor ones;
        GOOD(tensor_new(DT_float, SHAPE(cases[i].ones[0], cases[i].ones[1]), &ones));
        for (int64_t j = 0; j < tensor_count(&ones); j++)
            ((float *)ones.data)[j] = 1;
        Output x = placeholder(SHAPE(4, 5)), sides[] = {Sin(x), formula_tensor(f, &ones)};
        Output y = Neg(MatMul(sides[cases[i].left], sides[!cases[i].left], cases[i].turned[0],
                              cases[i].turned[1]));
        GOOD(f->status);
        ck_assert_int_eq(count_of(0, &x, 1, &y, 1, "MatMul"), 1);
        ck_assert_int_eq(count_of(passes, &x, 1, &y, 1, "MatMul"), 0);
        check_alike(passes, x, SHAPE(4, 5), y);
        tensor_clear(&ones);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("simplify");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, factors_become_part_of_filters);
    tcase_add_test(tests, epilogues_go_before_a_new_shape);
    tcase_add_test(tests, products_with_ones_are_sums);
    tcase_add_test(tests, simple_powers_are_products_and_roots);
    tcase_add_test(tests, factors_stay_where_they_are_no_part_of_filters);
    tcase_add_test(tests, loops_keep_what_ops_expand_to);
    tcase_add_test(tests, large_constants_are_folded_where_they_are_replaced);
    tcase_add_test(tests, norms_of_constants_become_part_of_the_filter);
    tcase_add_test(tests, norms_of_anything_else_stay);
    tcase_add_test(tests, columns_are_spread_by_who_reads_them);
    tcase_add_test(tests, loops_are_simplified);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
