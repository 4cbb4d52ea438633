// Rewrite table tests — what the rows name exists, and each can be switched off.
#include <check.h>

#include "ops/all_ops.h"
#include "plan/passes_test.h"

static const OpType *type_named(const char *name) {
    const OpType *type = NULL;
    GOOD(op_type_find(str_of(name), &type));
    ck_assert_msg(type && type->op, "%s", name);
    return type;
}

static bool has_input(const OpType *type, const char *name) {
    for (int i = 0; i < type->signature.n_inputs; i++)
        if (str_is(type->signature.inputs[i].name, name))
            return true;
    return false;
}

START_TEST(rows_name_what_there_is) {
    for (const Rewrite *const *at = all_rewrites; *at; at++) {
        const Rewrite *rewrite = *at;
        ck_assert_uint_ne(rewrite_bit(str_of(rewrite->name)), 0);
        ck_assert((rewrite->kind == REWRITE_SIMPLIFY) == (rewrite->formula != NULL));
        ck_assert((rewrite->kind == REWRITE_SIMPLIFY) == (rewrite->op == NULL));
        ck_assert((rewrite->kind == REWRITE_FUSE_PRODUCERS) == (rewrite->input != NULL));
        if (rewrite->op)
            ck_assert(!!(type_named(rewrite->op)->op->flags & OP_RECOMPUTES) ==
                      (rewrite->kind == REWRITE_REMATERIALISE));
        for (const char *const *root = rewrite->roots; *root; root++) {
            const OpType *type = type_named(*root);
            ck_assert_ptr_nonnull(type->rewrites);
            ck_assert(!rewrite->input || has_input(type, rewrite->input));
            ck_assert(rewrite->kind != REWRITE_FUSE_READERS || rewrite->output < type->signature.n_outputs);
        }
    }
}
END_TEST

START_TEST(names_are_few_enough) {
    int n = 0;
    while (rewrite_name(n))
        n++;
    ck_assert_int_gt(n, 0);
    ck_assert_int_le(n, 64);
    ck_assert_uint_eq(rewrite_bit(STR("none of that name")), 0);
}
END_TEST

static int relus(Session *session, Output x, Output y) {
    StepSignature step = {.feeds = &x, .fetches = &y, .n_feeds = 1, .n_fetches = 1};
    Plan *plan;
    GOOD(session_plan(session, &step, &plan));
    int n = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        n += str_is(plan->nodes[i].binding.node->type->name, "Relu");
    plan_release(plan);
    session_free(session);
    return n;
}

START_TEST(each_is_switched_off_by_its_name) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(2, 3)), y = Op("Relu", MatMul(x, constant_ramp(SHAPE(3, 4), 0.1f), false, false));
    GOOD(f->status);
    ck_assert_int_eq(relus(session_with(BIT(PASSES) - 1, 1), x, y), 0);
    ck_assert_int_eq(relus(session_without("power"), x, y), 0);
    ck_assert_int_eq(relus(session_without("epilogue"), x, y), 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("rewrites");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, rows_name_what_there_is);
    tcase_add_test(tests, names_are_few_enough);
    tcase_add_test(tests, each_is_switched_off_by_its_name);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
