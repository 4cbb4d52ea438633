// Pass tests — each pass alone: what it makes of a small graph, that results stay the same, and that walls hold.
#include "plan/pass.h"
#include "plan/fixed.h"

#include <check.h>

#include "formula/ops.h"
#include "ops/all_ops.h"
#include "session/session.h"

#define GOOD(expression)                                                                    \
    do {                                                                                    \
        Status *status_ = (expression);                                                     \
        ck_assert_msg(!status_, "%s (%s)", status_message(status_), status_where(status_)); \
    } while (0)

static Graph *graph;
static Formula formula;

static void setup(void) {
    op_table_set(all_ops);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
}

static void teardown(void) {
    graph_release(graph);
    status_free(formula.status);
}

static Session *session_with(uint32_t passes) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.passes = passes;
    Session *session;
    GOOD(session_new(graph, NULL, &config, &session));
    return session;
}

// How many nodes of the op the plan runs.
static int count_of(uint32_t passes, const Output *feeds, int n_feeds, const Output *fetches, int n_fetches,
                    const char *op) {
    Session *session = session_with(passes);
    StepSignature signature = {.feeds = feeds, .fetches = fetches, .n_feeds = n_feeds, .n_fetches = n_fetches};
    Plan *plan;
    GOOD(session_plan(session, &signature, &plan));
    int found = 0;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        found += str_is(plan->nodes[i].binding.node->type->name, op);
    plan_release(plan);
    session_free(session);
    return found;
}

static Output placeholder(Shape shape) {
    Formula *f = &formula;
    AttrValue value = {.kind = ATTR_SHAPE, .shape = &shape};
    return formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", value}));
}

static void run(uint32_t passes, Output feed, const Tensor *value, Output fetch, Tensor *out) {
    Session *session = session_with(passes);
    StepSignature signature = {.feeds = &feed, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, &value, out));
    session_free(session);
}

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
    Tensor value, plain, fused;
    GOOD(tensor_new(DT_float, SHAPE(64, 33), &value));
    for (int i = 0; i < 64 * 33; i++)
        ((float *)value.data)[i] = (float)(i % 101) / 50 - 1;
    run(0, x, &value, y, &plain);
    run(BIT(PASS_FUSE), x, &value, y, &fused);
    ck_assert_mem_eq(plain.data, fused.data, 64 * 33 * sizeof(float));
    tensor_clear(&plain);
    tensor_clear(&fused);
    tensor_clear(&value);
    tensor_clear(&row);
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
    tcase_add_test(tests, passes_over_what_is_only_waited_for);
    tcase_add_test(tests, packs_memory_to_the_bound);
    tcase_add_test(tests, packs_many_small_values);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
