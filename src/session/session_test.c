// Session tests — graphs built by hand and run: plans, feeds, fetches, variables, control flow, errors.
#include "session/session.h"

#include <check.h>

#include "formula/ops.h"
#include "ops/all_ops.h"

#define GOOD(expression)                                                              \
    do {                                                                              \
        Status *status_ = (expression);                                               \
        ck_assert_msg(!status_, "%s (%s)", status_message(status_), status_where(status_)); \
    } while (0)

static Graph *graph;
static Session *session;
static Formula formula;

static void setup(void) {
    op_table_set(all_ops);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.devices[0] = (DeviceCount){STR("FAKE"), 1};
    config.n_devices = 1;
    GOOD(session_new(graph, NULL, &config, &session));
}

static void teardown(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
}

static Output placeholder(DType dtype) {
    Formula *f = &formula;
    Output out = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", dtype)));
    GOOD(f->status);
    return out;
}

static Tensor scalar(float value) {
    Tensor t;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &t));
    *(float *)t.data = value;
    return t;
}

static float run1(Output feed, float value, Output fetch) {
    Tensor x = scalar(value), y;
    const Tensor *feeds[] = {&x};
    StepSignature signature = {.feeds = &feed, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, feeds, &y));
    float result = *(float *)y.data;
    tensor_clear(&x);
    tensor_clear(&y);
    return result;
}

START_TEST(adds_one) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Output y = Add(x, Scalar(1, x));
    GOOD(f->status);
    for (int i = 0; i < 3; i++)
        ck_assert_float_eq(run1(x, (float)i, y), (float)i + 1);
}
END_TEST

START_TEST(switches_and_merges) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Output positive = Greater(x, Scalar(0, x));
    Output choice = formula_2(f, "Switch", x, positive);
    Output yes = Mul(At(choice, 1), Scalar(2, x)), no = Neg(At(choice, 0));
    Output merged = formula_of_list(f, "Merge", (Output[]){no, yes}, 2, NULL);
    GOOD(f->status);
    ck_assert_float_eq(run1(x, 3, merged), 6);
    ck_assert_float_eq(run1(x, -3, merged), 3);
}
END_TEST

START_TEST(assigns_and_reads) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output set = formula_2(f, "Assign", v, x);
    Output read = Mul(v, Scalar(10, x));
    GOOD(f->status);
    Tensor y;
    StepSignature early = {.fetches = &read, .n_fetches = 1};
    Status *status = session_run(session, &early, &run_settings_default, NULL, &y);
    ck_assert_int_eq(status_code(status), FAILED_PRECONDITION);
    status_free(status);
    ck_assert_float_eq(run1(x, 4, set), 4);
    GOOD(session_run(session, &early, &run_settings_default, NULL, &y));
    ck_assert_float_eq(*(float *)y.data, 40);
    tensor_clear(&y);
}
END_TEST

// A reference is read when its reader runs: after an update that the reader waits for.
START_TEST(reads_a_reference_after_its_update) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output set = formula_2(f, "Assign", v, x), add = formula_2(f, "AssignAdd", v, x);
    Output read = Mul(v, Scalar(10, x));
    GOOD(f->status);
    GOOD(node_add_control(read.node, add.node));
    ck_assert_float_eq(run1(x, 4, set), 4);
    ck_assert_float_eq(run1(x, 1, read), 50);
    ck_assert_float_eq(run1(x, 1, read), 60);
}
END_TEST

// The handle of a variable is known when the plan is made: no step asks for it.
START_TEST(handles_are_constants_of_the_plan) {
    Formula *f = &formula;
    Shape shape = SCALAR_SHAPE;
    AttrValue shape_value = {.kind = ATTR_SHAPE, .shape = &shape};
    Output v = formula_op(f, "VarHandleOp", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape_value}));
    Output read = formula_op(f, "ReadVariableOp", &v, 1, ATTRS(TYPE_ATTR("dtype", DT_float)));
    Output x = placeholder(DT_float);
    Node *set = formula_node(f, "AssignVariableOp", (FormulaArg[]){{&v, 1, false}, {&x, 1, false}}, 2, NULL);
    GOOD(f->status);
    Tensor value = scalar(3);
    const Tensor *feeds[] = {&value};
    StepSignature assign = {.feeds = &x, .targets = &set, .n_feeds = 1, .n_targets = 1};
    GOOD(session_run(session, &assign, &run_settings_default, feeds, NULL));
    tensor_clear(&value);
    StepSignature signature = {.fetches = (Output[]){read, v}, .n_fetches = 2};
    Plan *plan;
    GOOD(session_plan(session, &signature, &plan));
    int handles = 0;
    for (int32_t slot = 0; slot < plan->n_slots; slot++)
        handles += plan->constants[slot].buffer && plan->constants[slot].dtype == DT_resource;
    ck_assert_int_eq(handles, 1);
    plan_release(plan);
    for (int i = 0; i < 3; i++) {
        Tensor both[2];
        GOOD(session_run(session, &signature, &run_settings_default, NULL, both));
        ck_assert_float_eq(*(float *)both[0].data, 3);
        ck_assert_int_eq(both[1].dtype, DT_resource);
        tensor_clear(&both[0]);
        tensor_clear(&both[1]);
    }
}
END_TEST

START_TEST(crosses_to_the_fake_device) {
    Formula *f = &formula;
    Output x = placeholder(DT_float);
    f->device = STR("/device:FAKE:0");
    Output far = Add(x, x);
    f->device = (Str){0};
    Output y = Mul(far, Scalar(3, x));
    GOOD(f->status);
    ck_assert_float_eq(run1(x, 2, y), 12);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, adds_one);
    tcase_add_test(tests, switches_and_merges);
    tcase_add_test(tests, assigns_and_reads);
    tcase_add_test(tests, reads_a_reference_after_its_update);
    tcase_add_test(tests, handles_are_constants_of_the_plan);
    tcase_add_test(tests, crosses_to_the_fake_device);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
