// Replica tests — trainings by several tasks of a cluster, whose servers are all in this process. [threads]
#include "millrace/replicas.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api_test.h"
#include "millrace/cluster.h"
#include "rpc/free_port_test.h"

enum { STORES = 2, WORKERS = 3, TASKS = STORES + WORKERS, WIDTH = 4 };

static TF_Server *servers[TASKS];
static char cluster[512];
static const char *const STORE_NAMES[] = {"/job:ps/task:0", "/job:ps/task:1"};

// ---------------------------------------- the cluster

static void setup(void) {
    int ports[TASKS];
    s = TF_NewStatus();
    for (int i = 0; i < TASKS; i++)
        ports[i] = free_port();
    snprintf(cluster, sizeof cluster,
             "ps=localhost:%d,localhost:%d;worker=localhost:%d,localhost:%d,localhost:%d", ports[0], ports[1], ports[2],
             ports[3], ports[4]);
    for (int i = 0; i < TASKS; i++) {
        TF_Buffer *def = TF_NewBuffer();
        mr_server_def(cluster, i < STORES ? "ps" : "worker", i < STORES ? i : i - STORES, 0, def, s);
        ok();
        servers[i] = TF_NewServer(def->data, def->length, s);
        ok();
        TF_ServerStart(servers[i], s);
        ok();
        TF_DeleteBuffer(def);
    }
}

static void teardown(void) {
    for (int i = 0; i < TASKS; i++)
        TF_DeleteServer(servers[i]);
    TF_DeleteStatus(s);
}

// ---------------------------------------- a replica

typedef struct {
    TF_Graph *graph;
    TF_Session *session;
    mr_net *net;
    mr_replicas steps;
    TF_Operation *init;
    TF_Output target, weights, count;
    TF_Status *status;       // of its own thread
    float at;                // what its steps are fed with
    int n_steps, done;       // done: guarded by lock
} Replica;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void devices_for(mr_net *net, int replica, int by_size, int shards) {
    char here[32];
    snprintf(here, sizeof here, "/job:worker/task:%d", replica);
    mr_devices devices = {.struct_size = sizeof devices, .here = here, .stores = STORE_NAMES, .num_stores = STORES,
                          .by_size = by_size, .shards = shards};
    mr_net_devices(net, &devices);
}

static void connect_replica(Replica *r, int replica) {
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_SetTarget(options, TF_ServerTarget(servers[STORES + replica]));
    r->session = TF_NewSession(r->graph, options, s);
    ok();
    TF_DeleteSessionOptions(options);
}

static void begin_replica(Replica *r, int replica) {
    *r = (Replica){.graph = TF_NewGraph(), .status = TF_NewStatus()};
    r->net = mr_net_new(r->graph, 1);
    devices_for(r->net, replica, 0, 0);
    connect_replica(r, replica);
}

static TF_Output text_constant(mr_net *net, const char *text) {
    TF_Tensor *value = mr_tensor_parse(text, (TF_DataType)0, s);
    ok();
    TF_Output edge = mr_constant(net, value);
    TF_DeleteTensor(value);
    return edge;
}

// The distance of four weights to a target that is fed; each step goes a quarter of the way to the mean of the targets.
static void replica_new(Replica *r, int replica, mr_replicas how) {
    begin_replica(r, replica);
    int64_t dims[] = {WIDTH};
    how.struct_size = sizeof how;
    how.replica = replica;
    r->target = mr_input(r->net, "target", TF_FLOAT, dims, 1);
    r->weights = mr_variable(r->net, "w", text_constant(r->net, "[0 0 0 0]"), 1);
    TF_Output loss = mr_loss_squared(r->net, r->weights, r->target);   // the mean of 4: its gradient is half the distance
    mr_optimizer descent = {.struct_size = sizeof descent, .name = "gradient-descent"};
    mr_minimize_replicas(r->net, &descent, mr_scalar(r->net, 0.5, TF_FLOAT), loss, &how);
    r->steps = how;
    r->count = mr_steps(r->net);
    r->init = mr_init(r->net);
    mr_net_status(r->net, s);
    ok();
}

static void replica_free(Replica *r) {
    TF_CloseSession(r->session, s);
    TF_DeleteSession(r->session, s);
    mr_net_delete(r->net);
    TF_DeleteGraph(r->graph);
    TF_DeleteStatus(r->status);
}

static void run(const Replica *r, const TF_Operation *target, TF_Status *status) {
    TF_Tensor *value = TF_AllocateTensor(TF_FLOAT, (int64_t[]){WIDTH}, 1, WIDTH * sizeof(float));
    for (int i = 0; i < WIDTH; i++)
        ((float *)TF_TensorData(value))[i] = r->at;
    TF_SessionRun(r->session, NULL, &r->target, &value, 1, NULL, NULL, 0, &target, 1, NULL, status);
    TF_DeleteTensor(value);
}

static void run_ok(const Replica *r, const TF_Operation *target) {
    if (target)
        run(r, target, s);
    ok();
}

static double fetch(const Replica *r, TF_Output edge) {
    TF_Tensor *value = NULL;
    TF_SessionRun(r->session, NULL, NULL, NULL, 0, &edge, &value, 1, NULL, 0, NULL, s);
    ok();
    double number = TF_TensorType(value) == TF_INT64 ? (double)*(int64_t *)TF_TensorData(value) : *(float *)TF_TensorData(value);
    TF_DeleteTensor(value);
    return number;
}

static void *train(void *arg) {
    Replica *r = arg;
    for (int i = 0; i < r->n_steps && TF_GetCode(r->status) == TF_OK; i++) {
        run(r, r->steps.train, r->status);
        pthread_mutex_lock(&lock);
        r->done += TF_GetCode(r->status) == TF_OK;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

// The chief's, until its session is closed.
static void *update(void *arg) {
    const Replica *r = arg;
    TF_Status *status = TF_NewStatus();
    while (TF_GetCode(status) == TF_OK)
        run(r, r->steps.update, status);
    TF_DeleteStatus(status);
    return NULL;
}

static int done_of(Replica *r) {
    pthread_mutex_lock(&lock);
    int done = r->done;
    pthread_mutex_unlock(&lock);
    return done;
}

static pthread_t begin(Replica *r, int steps) {
    pthread_t thread;
    r->n_steps = steps;
    ck_assert_int_eq(pthread_create(&thread, NULL, train, r), 0);
    return thread;
}

static void finish(Replica *r, pthread_t thread) {
    pthread_join(thread, NULL);
    ck_assert_msg(TF_GetCode(r->status) == TF_OK, "%s", TF_Message(r->status));
}

static pthread_t begin_all(Replica *replicas, int n, mr_replicas how) {
    pthread_t updates = 0;
    how.num_replicas = n;
    for (int i = 0; i < n; i++)
        replica_new(&replicas[i], i, how);
    run_ok(&replicas[0], replicas[0].init);
    for (int i = 0; i < n; i++) {
        ck_assert(!replicas[i].steps.update || i == 0);
        replicas[i].at = (float)(i + 1);
    }
    if (replicas[0].steps.update)
        ck_assert_int_eq(pthread_create(&updates, NULL, update, &replicas[0]), 0);
    for (int i = 0; i < n; i++)
        run_ok(&replicas[i], replicas[i].steps.start);
    return updates;
}

static void end_all(Replica *replicas, int n, pthread_t updates) {
    TF_CloseSession(replicas[0].session, s);
    if (updates)
        pthread_join(updates, NULL);
    for (int i = 0; i < n; i++)
        replica_free(&replicas[i]);
}

// ---------------------------------------- tests

START_TEST(asynchronous) {
    enum { N = 3, STEPS = 20 };
    Replica replicas[N];
    pthread_t threads[N], updates = begin_all(replicas, N, (mr_replicas){0});
    for (int i = 0; i < N; i++)
        threads[i] = begin(&replicas[i], STEPS);
    for (int i = 0; i < N; i++)
        finish(&replicas[i], threads[i]);
    ck_assert_double_eq(fetch(&replicas[1], replicas[1].count), N * STEPS);
    double weight = fetch(&replicas[2], replicas[2].weights);
    ck_assert_msg(weight > 1 && weight < 3, "%g", weight);
    end_all(replicas, N, updates);
}
END_TEST

// As one that has the data of all: w goes a quarter of the way to 2, the mean of the targets, each step.
START_TEST(synchronous) {
    enum { N = 3, STEPS = 12 };
    Replica replicas[N];
    pthread_t threads[N], updates = begin_all(replicas, N, (mr_replicas){.mode = "synchronous"});
    for (int i = 0; i < N; i++)
        threads[i] = begin(&replicas[i], STEPS);
    for (int i = 0; i < N; i++)
        finish(&replicas[i], threads[i]);
    ck_assert_double_eq(fetch(&replicas[1], replicas[1].count), STEPS);
    for (int i = 0; i < N; i++)
        ck_assert_double_eq_tol(fetch(&replicas[i], replicas[i].weights), 2 - 2 * pow(0.75, STEPS), 1e-6);
    end_all(replicas, N, updates);
}
END_TEST

// Two of three make a step; what the third has to say of the first step comes too late.
START_TEST(backup_worker) {
    enum { N = 3, STEPS = 8 };
    Replica replicas[N];
    pthread_t threads[2], updates = begin_all(replicas, N, (mr_replicas){.mode = "synchronous", .needed = 2});
    for (int i = 0; i < 2; i++)
        threads[i] = begin(&replicas[i], STEPS);
    for (int i = 0; i < 2; i++)
        finish(&replicas[i], threads[i]);
    double steps = fetch(&replicas[0], replicas[0].count), weight = fetch(&replicas[0], replicas[0].weights);
    ck_assert_double_eq(steps, STEPS);
    ck_assert_double_eq_tol(weight, 1.5 - 1.5 * pow(0.75, STEPS), 1e-6);
    replicas[2].at = 1000;
    finish(&replicas[2], begin(&replicas[2], 1));
    ck_assert_double_eq(fetch(&replicas[2], replicas[2].weights), weight);
    // Now it knows the step: its gradient counts.
    threads[0] = begin(&replicas[0], 1);
    threads[1] = begin(&replicas[2], 1);
    finish(&replicas[0], threads[0]);
    finish(&replicas[2], threads[1]);
    ck_assert_double_eq(fetch(&replicas[0], replicas[0].count), STEPS + 1);
    ck_assert_double_gt(fetch(&replicas[2], replicas[2].weights), 100);
    end_all(replicas, N, updates);
}
END_TEST

// With a staleness of 2 a replica does its steps 0, 1 and 2 alone, and the fourth when the other has done one.
START_TEST(bounded) {
    enum { N = 2 };
    Replica replicas[N];
    pthread_t updates = begin_all(replicas, N, (mr_replicas){.mode = "bounded", .staleness = 2});
    pthread_t fast = begin(&replicas[0], 4);
    while (fetch(&replicas[1], replicas[1].count) < 3)
        usleep(1000);
    for (int i = 0; i < 20; i++) {
        ck_assert_double_eq(fetch(&replicas[1], replicas[1].count), 3);
        ck_assert_int_le(done_of(&replicas[0]), 2);
    }
    finish(&replicas[1], begin(&replicas[1], 1));   // one step each: 3 + 1, and the fast one's fourth
    while (fetch(&replicas[1], replicas[1].count) < 5)
        usleep(1000);
    ck_assert_int_le(done_of(&replicas[0]), 3);
    // Started anew in the middle it has what it was granted and no more.
    run_ok(&replicas[1], replicas[1].steps.start);
    finish(&replicas[1], begin(&replicas[1], 1));
    finish(&replicas[0], fast);
    ck_assert_double_eq(fetch(&replicas[1], replicas[1].count), 6);
    end_all(replicas, N, updates);
}
END_TEST

// ---------------------------------------- where things are

static const char *device_of(TF_Graph *graph, const char *name) {
    TF_Operation *operation = TF_GraphOperationByName(graph, name);
    ck_assert_msg(operation != NULL, "%s", name);
    return TF_OperationDevice(operation);
}

START_TEST(variables_by_turns_and_by_size) {
    for (int by_size = 0; by_size < 2; by_size++) {
        TF_Graph *graph = TF_NewGraph();
        mr_net *net = mr_net_new(graph, 1);
        devices_for(net, 0, by_size, 0);
        mr_variable(net, "a", text_constant(net, "zeros[1000]"), 1);
        mr_variable(net, "b", text_constant(net, "zeros[10]"), 1);
        mr_variable(net, "c", text_constant(net, "zeros[20]"), 1);
        mr_net_status(net, s);
        ok();
        ck_assert_str_eq(device_of(graph, "a"), STORE_NAMES[0]);
        ck_assert_str_eq(device_of(graph, "b"), STORE_NAMES[1]);
        ck_assert_str_eq(device_of(graph, "c"), STORE_NAMES[by_size]);
        mr_net_delete(net);
        TF_DeleteGraph(graph);
    }
}
END_TEST

// A table of 7 rows in 3 shards on two tasks learns as one in one piece.
static void learn_words(int shards, double *loss_before, double *loss_after) {
    Replica r;
    begin_replica(&r, 0);
    devices_for(r.net, 0, 0, shards);
    TF_Output ids = text_constant(r.net, "int32 [[0 5] [2 2] [6 1]]"), labels = text_constant(r.net, "int32 [3 0 6]");
    TF_Output x = mr_rows(r.net, mr_embedding(r.net, "words", ids, 7, 4), 8);
    TF_Output logits = mr_all_logits(r.net, "out", x, 7), loss = mr_loss_softmax(r.net, logits, labels);
    TF_Output sampled = mr_loss_sampled_softmax(r.net, "out", x, labels, 7, 3);
    mr_optimizer adagrad = {.struct_size = sizeof adagrad, .name = "adagrad"};
    mr_replicas how = {.struct_size = sizeof how, .num_replicas = 1};
    mr_minimize_replicas(r.net, &adagrad, mr_scalar(r.net, 0.5, TF_FLOAT), sampled, &how);
    r.init = mr_init(r.net);
    mr_net_status(r.net, s);
    ok();
    TF_SessionRun(r.session, NULL, NULL, NULL, 0, NULL, NULL, 0, (const TF_Operation *const *)&r.init, 1, NULL, s);
    ok();
    *loss_before = fetch(&r, loss);
    for (int i = 0; i < 60; i++) {
        TF_SessionRun(r.session, NULL, NULL, NULL, 0, NULL, NULL, 0, (const TF_Operation *const *)&how.train, 1, NULL, s);
        ok();
    }
    *loss_after = fetch(&r, loss);
    if (shards > 1) {
        ck_assert_str_eq(device_of(r.graph, "words/table_0"), STORE_NAMES[0]);
        ck_assert_str_eq(device_of(r.graph, "words/table_1"), STORE_NAMES[1]);
    }
    replica_free(&r);
}

START_TEST(sharded_tables_learn) {
    for (int shards = 1; shards <= 3; shards += 2) {
        double before, after;
        learn_words(shards, &before, &after);
        ck_assert_msg(after < before / 2, "%d shards: %g to %g", shards, before, after);
    }
}
END_TEST

START_TEST(what_means_nothing_is_refused) {
    static const mr_replicas wrong[] = {
        {.mode = "sometimes", .num_replicas = 2}, {.num_replicas = 0}, {.num_replicas = 2, .replica = 2},
        {.mode = "synchronous", .num_replicas = 2, .needed = 3}, {.mode = "bounded", .num_replicas = 2, .staleness = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TF_Graph *graph = TF_NewGraph();
        mr_net *net = mr_net_new(graph, 1);
        mr_replicas how = wrong[i];
        how.struct_size = sizeof how;
        TF_Output w = mr_variable(net, "w", text_constant(net, "[1 2]"), 1);
        mr_optimizer descent = {.struct_size = sizeof descent, .name = "gradient-descent"};
        mr_minimize_replicas(net, &descent, mr_scalar(net, 0.1, TF_FLOAT), mr_loss_squared(net, w, w), &how);
        mr_net_status(net, s);
        ck_assert_msg(TF_GetCode(s) == (i ? TF_INVALID_ARGUMENT : TF_NOT_FOUND), "%zu: %s", i, TF_Message(s));
        ck_assert(!how.train && !how.start && !how.update);
        mr_net_delete(net);
        TF_DeleteGraph(graph);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("replicas");
    TCase *tests = tcase_create("tests");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, asynchronous);
    tcase_add_test(tests, synchronous);
    tcase_add_test(tests, backup_worker);
    tcase_add_test(tests, bounded);
    tcase_add_test(tests, variables_by_turns_and_by_size);
    tcase_add_test(tests, sharded_tables_learn);
    tcase_add_test(tests, what_means_nothing_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
