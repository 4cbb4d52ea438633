// Elementwise fusion tests — chains that become one node: which, and that no bit changes.
#include <check.h>

#include "plan/passes_test.h"

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

int main(void) {
    Suite *suite = suite_create("elementwise fusion");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, fuses_chains_to_the_same_bits);
    tcase_add_test(tests, fuses_choices_and_comparisons);
    tcase_add_test(tests, fuses_what_cannot_broadcast_only_where_shapes_agree);
    tcase_add_test(tests, fuses_constants);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
