// Cluster tests — three tasks in one process, and a client of the first: steps over all of them, what fails, what dies.
// [threads]
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status_test.h"
#include "base/suite_test.h"
#include "cluster/remote_session.h"
#include "cluster/server.h"
#include "cluster/steps.h"
#include "cluster/tensor_wire.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "rpc/free_port_test.h"

enum { TASKS = 3 };
static const char *const JOBS[TASKS] = {"worker", "ps", "ps"};
static const int NUMBERS[TASKS] = {0, 0, 1};
static const char *const DEVICES[TASKS] = {"/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1"};

static Server *servers[TASKS];
static char addresses[TASKS][32];
static Graph *graph;
static Formula formula;
static Session *session;
static Mutex graph_lock = MUTEX_INIT;

// ---------------------------------------- the cluster

static void start(int i) {
    Int32ToStringEntry ps[] = {{.key = 0, .value = str_of(addresses[1])}, {.key = 1, .value = str_of(addresses[2])}};
    Int32ToStringEntry worker = {.key = 0, .value = str_of(addresses[0])};
    JobDef jobs[] = {{.name = STR("ps"), .tasks = {ps, 2}}, {.name = STR("worker"), .tasks = {&worker, 1}}};
    ClusterDef cluster = {.job = {jobs, 2}};
    ServerDef def = {.cluster = &cluster, .job_name = str_of(JOBS[i]), .task_index = NUMBERS[i], .protocol = STR("grpc")};
    AUTO(text) Text text = {0};
    GOOD(PROTO_ENCODE(ServerDef, &def, &text));
    GOOD(server_new(text_str(&text), &servers[i]));
    GOOD(server_start(servers[i]));
}

static void stop(int i) {
    server_free(servers[i]);
    servers[i] = NULL;
}

static void setup(void) {
    op_table_set(all_ops, all_rewrites);
    for (int i = 0; i < TASKS; i++)
        snprintf(addresses[i], sizeof addresses[i], "localhost:%d", free_port());
    for (int i = 0; i < TASKS; i++)
        start(i);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
    RemoteOptions options = {.address = addresses[0], .timeout_ms = 30000};
    GOOD(remote_session_new(graph, &graph_lock, &options, &session));
}

static void teardown(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
    for (int i = 0; i < TASKS; i++)
        server_free(servers[i]);
}

static void on(int task) {
    formula.device = str_of(DEVICES[task]);
}

static Status *fetch(Output edge, float *out) {
    StepSignature signature = {.fetches = &edge, .n_fetches = 1};
    Tensor value;
    GOOD(formula.status);
    TRY(session_run(session, &signature, &run_settings_default, NULL, &value));
    *out = *(float *)value.data;
    tensor_clear(&value);
    return OK;
}

static Status *run_node(Node *node) {
    StepSignature signature = {.targets = &node, .n_targets = 1};
    GOOD(formula.status);
    return session_run(session, &signature, &run_settings_default, NULL, NULL);
}

static void refused(Status *status, Code code, const char *words) {
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    ck_assert_msg(strstr(status_message(status), words), "%s", status_message(status));
    status_free(status);
}

typedef struct {
    Output handle, value;
    Node *set, *add;
} Variable;

static Variable variable_on(int task, float first) {
    Formula *f = &formula;
    Variable v;
    Shape shape = SCALAR_SHAPE;
    AttrValue scalar = {.kind = ATTR_SHAPE, .shape = &shape};
    on(task);
    v.handle = formula_op(f, "VarHandleOp", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", scalar},
                                                           {"shared_name", ATTR_OF_STRING(STR("v"))}));
    Output number = formula_number(f, first, DT_float);
    FormulaArg args[] = {{&v.handle, 1, false}, {&number, 1, false}};
    v.set = formula_node(f, "AssignVariableOp", args, 2, NULL);
    v.add = formula_node(f, "AssignAddVariableOp", args, 2, NULL);
    v.value = formula_op(f, "ReadVariableOp", &v.handle, 1, ATTRS(TYPE_ATTR("dtype", DT_float)));
    return v;
}

// ---------------------------------------- tests

START_TEST(a_step_over_three_tasks) {
    Formula *f = &formula;
    float value;
    Variable a = variable_on(1, 3), b = variable_on(2, 4);
    on(0);
    Output sum = Add(a.value, b.value);
    on(2);
    Output product = Mul(sum, b.value);
    GOOD(run_node(a.set));
    GOOD(run_node(b.set));
    for (int i = 0; i < 3; i++) {
        GOOD(fetch(product, &value));
        ck_assert_float_eq(value, 28);
    }
    GOOD(run_node(a.add));
    GOOD(fetch(product, &value));
    ck_assert_float_eq(value, 40);
    // What is on one task alone, and the same edge again with the graph grown.
    on(1);
    Output negative = Neg(a.value);
    GOOD(fetch(negative, &value));
    ck_assert_float_eq(value, -6);
    AUTO(arena) Arena arena = {0};
    SessionDevice *devices;
    int n;
    GOOD(session_list_devices(session, &arena, &devices, &n));
    ck_assert_int_eq(n, TASKS);
}
END_TEST

START_TEST(errors_come_from_where_they_are) {
    Formula *f = &formula;
    float value;
    Variable never = variable_on(1, 1);
    on(2);
    Output far = Neg(never.value);
    on(0);
    Output here = Neg(far);
    for (int i = 0; i < 3; i++)
        refused(fetch(here, &value), FAILED_PRECONDITION, "t/ReadVariableOp");
    on(2);
    Output good = Neg(formula_number(f, 2, DT_float));
    GOOD(fetch(good, &value));
    ck_assert_float_eq(value, -2);
    formula.device = STR("/job:ps/task:9");
    Output nowhere = Neg(good);
    refused(fetch(nowhere, &value), INVALID_ARGUMENT, "/job:ps/task:9");
}
END_TEST

START_TEST(a_task_that_is_gone_is_named) {
    Formula *f = &formula;
    float value;
    Variable a = variable_on(1, 3), b = variable_on(2, 4);
    on(0);
    Output sum = Add(a.value, b.value);
    GOOD(run_node(a.set));
    GOOD(run_node(b.set));
    GOOD(fetch(sum, &value));
    stop(2);
    refused(fetch(sum, &value), UNAVAILABLE, "/job:ps/replica:0/task:1");
    // Steps that don't need it go on.
    GOOD(fetch(a.value, &value));
    ck_assert_float_eq(value, 3);
    // It comes back as another: the session is of the old one.
    start(2);
    Status *status = fetch(sum, &value);
    ck_assert_msg(status_code(status) == ABORTED || status_code(status) == UNAVAILABLE, "%s", status_message(status));
    status_free(status);
}
END_TEST

START_TEST(waiting_ends_with_its_deadline) {
    Formula *f = &formula;
    float value;
    on(1);
    DType type = DT_float;
    AttrValue types = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = &type};
    Output queue = formula_op(f, "FIFOQueueV2", NULL, 0, ATTRS({"component_types", types}));
    Output waiting = formula_op(f, "QueueDequeueV2", &queue, 1, ATTRS({"component_types", types}));
    on(2);
    Output after = Neg(waiting);
    StepSignature signature = {.fetches = &after, .n_fetches = 1};
    RunSettings settings = {.timeout_ms = 300};
    Tensor out;
    GOOD(f->status);
    int64_t began = clock_now();
    refused(session_run(session, &signature, &settings, NULL, &out), DEADLINE_EXCEEDED, "");
    ck_assert_int_lt(clock_now() - began, 10000 * (int64_t)CLOCK_MS);
    // Nothing of it is left to take the element.
    on(1);
    Output one = formula_number(f, 5, DT_float);
    FormulaArg args[] = {{&queue, 1, false}, {&one, 1, true}};
    Node *put = formula_node(f, "QueueEnqueueV2", args, 2, NULL);
    GOOD(run_node(put));
    GOOD(fetch(after, &value));
    ck_assert_float_eq(value, -5);
}
END_TEST

// v = 1; while (v < limit) v = (v + 1) * 2, with the condition, the sum and the product on three tasks.
static Output loop_to(Output limit) {
    Formula *f = &formula;
    FormulaAttr frame = {"frame_name", ATTR_OF_STRING(STR("loop"))}, constant = {"is_constant", ATTR_OF_BOOL(true)};
    on(0);
    Output one = formula_number(f, 1, DT_float), two = formula_number(f, 2, DT_float);
    Output v = formula_op(f, "Enter", &one, 1, ATTRS(frame));
    Output most = formula_op(f, "Enter", &limit, 1, ATTRS(frame, constant));
    Output first = formula_op(f, "Enter", &one, 1, ATTRS(frame, constant));
    Output second = formula_op(f, "Enter", &two, 1, ATTRS(frame, constant));
    Output merged = formula_of_list(f, "Merge", (Output[]){v, v}, 2, NULL);
    Output less = formula_op(f, "Less", (Output[]){merged, most}, 2, NULL);
    Output condition = formula_op(f, "LoopCond", &less, 1, NULL);
    Output choice = formula_op(f, "Switch", (Output[]){merged, condition}, 2, NULL);
    on(1);
    Output sum = Add(((Output){choice.node, 1}), first);
    on(2);
    Output product = Mul(sum, second);
    on(0);
    Output next = formula_op(f, "NextIteration", &product, 1, NULL);
    Output out = formula_op(f, "Exit", &choice, 1, NULL);
    GOOD(f->status);
    GOOD(node_set_input(merged.node, 1, next));
    return out;
}

START_TEST(a_loop_over_three_tasks) {
    float value;
    on(0);
    Output limit = formula_number(&formula, 1000, DT_float), none = formula_number(&formula, 0, DT_float);
    Output out = loop_to(limit), at_once = loop_to(none);
    for (int i = 0; i < 3; i++) {
        GOOD(fetch(out, &value));
        ck_assert_float_eq(value, 1534);
        GOOD(fetch(at_once, &value));
        ck_assert_float_eq(value, 1);
    }
    stop(2);
    refused(fetch(out, &value), UNAVAILABLE, "/job:ps/replica:0/task:1");
}
END_TEST

// More than goes with an answer.
START_TEST(a_large_tensor_goes_by_a_lane) {
    Formula *f = &formula;
    Tensor value, out;
    GOOD(tensor_new(DT_float, SHAPE(3, 100, 1000), &value));
    for (int i = 0; i < 300000; i++)
        ((float *)value.data)[i] = (float)i;
    on(1);
    Output there = formula_tensor(f, &value);
    on(2);
    Output negative = Neg(there);
    StepSignature signature = {.fetches = &negative, .n_fetches = 1};
    GOOD(f->status);
    for (int round = 0; round < 3; round++) {
        GOOD(session_run(session, &signature, &run_settings_default, NULL, &out));
        ck_assert(shape_equal(&out.shape, &value.shape));
        for (int i = 0; i < 300000; i++)
            ck_assert_float_eq(((float *)out.data)[i], -(float)i);
        tensor_clear(&out);
    }
    tensor_clear(&value);
}
END_TEST

START_TEST(a_step_in_several_calls) {
    Formula *f = &formula;
    Tensor number, out = {0};
    PartialRun *run;
    on(0);
    Output a = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
    Output b = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
    on(1);
    Output first = Neg(a);
    on(2);
    Output second = Mul(first, b);
    GOOD(f->status);
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &number));
    *(float *)number.data = 3;
    const Tensor *feed = &number;
    StepSignature whole = {.feeds = (Output[]){a, b}, .n_feeds = 2, .fetches = (Output[]){first, second}, .n_fetches = 2};
    StepSignature one = {.feeds = &a, .n_feeds = 1, .fetches = &first, .n_fetches = 1};
    StepSignature two = {.feeds = &b, .n_feeds = 1, .fetches = &second, .n_fetches = 1};
    for (int round = 0; round < 3; round++) {
        GOOD(session_partial_begin(session, &whole, &run));
        refused(session_partial_run(run, &two, &feed, &out), INVALID_ARGUMENT, "t/Placeholder");
        GOOD(session_partial_run(run, &one, &feed, &out));
        ck_assert_float_eq(*(float *)out.data, -3);
        tensor_clear(&out);
        if (round < 2) {
            GOOD(session_partial_run(run, &two, &feed, &out));
            ck_assert_float_eq(*(float *)out.data, -9);
            tensor_clear(&out);
        }
        session_partial_end(run);  // the last is given up
    }
    tensor_clear(&number);
}
END_TEST

START_TEST(keys_and_answers) {
    StepKey key;
    GOOD(step_key_parse(STR("a;0f;b;edge_1_x;0:0"), &key));
    ck_assert(str_is(key.from, "a") && str_is(key.incarnation, "0f") && str_is(key.to, "b"));
    ck_assert(str_is(key.tensor, "edge_1_x") && str_is(key.iteration, "0:0"));
    refused(step_key_parse(STR("bad"), &key), INVALID_ARGUMENT, "bad");
    Tensor value;
    TensorAnswer back;
    AUTO(arena) Arena arena = {0};
    GOOD(tensor_new(DT_float, SHAPE(2, 3), &value));
    for (int i = 0; i < 6; i++)
        ((float *)value.data)[i] = (float)i;
    Payload *payload;
    GOOD(tensor_to_answer(&value, false, &payload));
    AUTO(text) Text text = {0};
    for (size_t i = 0; i < payload->n; i++)
        text_add(&text, (Str){payload->pieces[i].bytes, payload->pieces[i].n});
    payload_release(payload);
    GOOD(tensor_from_answer(text_str(&text), &arena, &back));
    ck_assert(!back.dead && !back.ticket && shape_equal(&back.value.shape, &value.shape));
    ck_assert_mem_eq(back.value.data, value.data, 24);
    tensor_clear(&back.value);
    tensor_clear(&value);
    for (size_t n = 0; n < text.n; n++) {  // whatever is cut off is refused, or shorter
        Status *status = tensor_from_answer((Str){text.p, n}, &arena, &back);
        if (!status)
            tensor_clear(&back.value);
        status_free(status);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cluster");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_step_over_three_tasks);
    tcase_add_test(tests, errors_come_from_where_they_are);
    tcase_add_test(tests, a_task_that_is_gone_is_named);
    tcase_add_test(tests, waiting_ends_with_its_deadline);
    tcase_add_test(tests, a_loop_over_three_tasks);
    tcase_add_test(tests, a_large_tensor_goes_by_a_lane);
    tcase_add_test(tests, a_step_in_several_calls);
    tcase_add_test(tests, keys_and_answers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
