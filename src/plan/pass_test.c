// Pass tests — small passes alone: folding, common subexpressions, identities.
#include <check.h>

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

START_TEST(products_of_constants_are_folded) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(3, 4)), a = constant_ramp(SHAPE(3, 5), 1), b = constant_ramp(SHAPE(5, 4), 1);
    Output y = Add(x, MatMul(a, b, false, false));
    GOOD(f->status);
    ck_assert_int_eq(count_of(BIT(PASS_FOLD), &x, 1, &y, 1, "MatMul"), 0);
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

int main(void) {
    Suite *suite = suite_create("passes");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, folds_constants_and_stops_at_feeds);
    tcase_add_test(tests, products_of_constants_are_folded);
    tcase_add_test(tests, folding_tells_shapes);
    tcase_add_test(tests, merges_equal_nodes);
    tcase_add_test(tests, removes_identities_but_not_fetched_ones);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
