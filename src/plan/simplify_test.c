// Simplify tests — what comes to less when constants are known: in filters, in loops, where they are large.
#include <check.h>
#include <math.h>

#include "plan/passes_test.h"

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
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_CONTRACT);
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
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_CONTRACT);
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
    uint32_t passes = BIT(PASS_SIMPLIFY) | BIT(PASS_FOLD) | BIT(PASS_CONTRACT);
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

int main(void) {
    Suite *suite = suite_create("simplify");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, factors_become_part_of_filters);
    tcase_add_test(tests, epilogues_go_before_a_new_shape);
    tcase_add_test(tests, simple_powers_are_products_and_roots);
    tcase_add_test(tests, factors_stay_where_they_are_no_part_of_filters);
    tcase_add_test(tests, loops_keep_what_ops_expand_to);
    tcase_add_test(tests, large_constants_are_folded_where_they_are_replaced);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
