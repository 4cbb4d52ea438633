// [threads] Worker environment test — sessions that share what outlives them, and sessions that don't.
#include <check.h>
#include <pthread.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "resource/handle.h"
#include "resource/resource.h"
#include "session/session.h"

// A client: its own graph, its own names, its own session.
typedef struct {
    Graph *graph;
    Formula formula;
    Session *session;
    Output handle, add, read;
    Node *set;
} Client;

static WorkerEnvironment *environment;

// The variable `shared` of a container, by whichever node; set to 1, and one added.
static void client_open(Client *client, WorkerEnvironment *in, Str scope, Str container, Str shared) {
    GOOD(graph_new(&client->graph));
    client->formula = (Formula){.graph = client->graph, .scope = scope};
    Formula *f = &client->formula;
    Shape shape = SCALAR_SHAPE;
    AttrValue scalar = {.kind = ATTR_SHAPE, .shape = &shape};
    client->handle = formula_op(f, "VarHandleOp", NULL, 0,
                                ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", scalar},
                                      {"container", ATTR_OF_STRING(container)},
                                      {"shared_name", ATTR_OF_STRING(shared)}));
    Output one = formula_number(f, 1, DT_float);
    FormulaArg args[] = {{&client->handle, 1, false}, {&one, 1, false}};
    client->set = formula_node(f, "AssignVariableOp", args, 2, NULL);
    client->read = formula_op(f, "ReadVariableOp", &client->handle, 1, ATTRS(TYPE_ATTR("dtype", DT_float)));
    Node *add = formula_node(f, "AssignAddVariableOp", args, 2, NULL);
    client->add = formula_op(f, "ReadVariableOp", &client->handle, 1, ATTRS(TYPE_ATTR("dtype", DT_float)));
    GOOD(f->status);
    GOOD(node_add_control(client->add.node, add));
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.environment = in;
    GOOD(session_new(client->graph, NULL, &config, &client->session));
}

static void client_close(Client *client) {
    session_free(client->session);
    graph_release(client->graph);
    status_free(client->formula.status);
}

static Status *fetch(Client *client, Output edge, Tensor *out) {
    StepSignature signature = {.fetches = &edge, .n_fetches = 1};
    return session_run(client->session, &signature, &run_settings_default, NULL, out);
}

static float number(Client *client, Output edge) {
    Tensor out;
    GOOD(fetch(client, edge, &out));
    float value = *(float *)out.data;
    tensor_clear(&out);
    return value;
}

static void set(Client *client) {
    StepSignature signature = {.targets = &client->set, .n_targets = 1};
    GOOD(session_run(client->session, &signature, &run_settings_default, NULL, NULL));
}

static void is_not_there(Client *client) {
    Tensor out;
    Status *status = fetch(client, client->read, &out);
    ck_assert_int_eq(status_code(status), FAILED_PRECONDITION);
    status_free(status);
}

static void setup(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(worker_environment_new(LOCAL_TASK, &(DeviceCount){STR("CPU"), 2}, 1, &environment));
}

static void teardown(void) {
    worker_environment_release(environment);
}

// ---------------------------------------- tests

START_TEST(sessions_meet_by_name_and_container) {
    Client a, b, elsewhere;
    client_open(&a, environment, STR("a"), STR("box"), STR("v"));
    client_open(&b, environment, STR("b"), STR("box"), STR("v"));
    client_open(&elsewhere, environment, STR("c"), STR("other box"), STR("v"));
    set(&a);
    ck_assert_float_eq(number(&b, b.add), 2);
    ck_assert_float_eq(number(&a, a.add), 3);
    is_not_there(&elsewhere);
    client_close(&a);
    client_close(&elsewhere);
    ck_assert_float_eq(number(&b, b.read), 3);
    client_close(&b);
    // What they had is there for who comes later, until somebody empties the container.
    client_open(&a, environment, STR("d"), STR("box"), STR("v"));
    ck_assert_float_eq(number(&a, a.add), 4);
    resource_reset(environment->resources, STR("box"));
    is_not_there(&a);
    client_close(&a);
}
END_TEST

START_TEST(sessions_alone_share_nothing) {
    Client a, b;
    client_open(&a, NULL, STR("a"), STR("box"), STR("v"));
    client_open(&b, NULL, STR("b"), STR("box"), STR("v"));
    set(&a);
    is_not_there(&b);
    client_close(&a);
    client_close(&b);
}
END_TEST

// The last who holds it frees it: here a session.
START_TEST(the_environment_lives_as_long_as_its_sessions) {
    Client a;
    WorkerEnvironment *own;
    GOOD(worker_environment_new(LOCAL_TASK, NULL, 0, &own));
    client_open(&a, own, STR("a"), STR(""), STR(""));
    worker_environment_release(own);
    set(&a);
    ck_assert_float_eq(number(&a, a.add), 2);
    client_close(&a);
}
END_TEST

START_TEST(a_handle_knows_its_device) {
    Client a;
    client_open(&a, environment, STR("a"), STR("box"), STR("v"));
    Formula *f = &a.formula;
    f->device = STR("/device:CPU:1");
    Shape shape = SCALAR_SHAPE;
    AttrValue scalar = {.kind = ATTR_SHAPE, .shape = &shape};
    Output there = formula_op(f, "VarHandleOp", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", scalar}));
    GOOD(f->status);
    Output edges[] = {a.handle, there};
    for (int i = 0; i < 2; i++) {
        Tensor out;
        const Handle *handle;
        GOOD(fetch(&a, edges[i], &out));
        GOOD(handle_get(&out, 0, &handle));
        ck_assert_str_eq(handle->device.p, environment->devices.devices[i]->name);
        tensor_clear(&out);
    }
    client_close(&a);
}
END_TEST

enum { THREADS = 4, TURNS = 200 };

static void *add_often(void *arg) {
    Client *client = arg;
    for (int i = 0; i < TURNS; i++) {
        Tensor out;
        Status *status = fetch(client, client->add, &out);
        if (status)
            return status;
        tensor_clear(&out);
    }
    return NULL;
}

// Two sessions, each called by two threads, on one variable.
START_TEST(sessions_run_at_once) {
    Client clients[2];
    pthread_t threads[THREADS];
    for (int i = 0; i < 2; i++)
        client_open(&clients[i], environment, i ? STR("a") : STR("b"), STR(""), STR("v"));
    set(&clients[0]);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_often, &clients[i % 2]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        GOOD(status);
    }
    ck_assert_float_eq(number(&clients[1], clients[1].read), 1 + THREADS * TURNS);
    client_close(&clients[0]);
    client_close(&clients[1]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("worker environment");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, sessions_meet_by_name_and_container);
    tcase_add_test(tests, sessions_alone_share_nothing);
    tcase_add_test(tests, the_environment_lives_as_long_as_its_sessions);
    tcase_add_test(tests, a_handle_knows_its_device);
    tcase_add_test(tests, sessions_run_at_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
