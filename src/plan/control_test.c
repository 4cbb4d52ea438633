// Control tests — which control dependencies a plan keeps.
#include <check.h>

#include "plan/passes_test.h"

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
    Suite *suite = suite_create("control");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, calculations_wait_for_none);
    tcase_add_test(tests, states_are_waited_for);
    tcase_add_test(tests, constants_wait_for_none);
    tcase_add_test(tests, passes_over_what_is_only_waited_for);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
