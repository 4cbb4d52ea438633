// [threads] Session data test — pipelines that fetch and map ahead: many that pull, steps that are cancelled, sessions that
// close while functions wait, and iterators that begin anew.
#include <pthread.h>
#include <stdlib.h>

#include "graph/import.h"
#include "proto/text.h"
#include "session/one_session_test.h"

static const char *const stresses[] = {"", "order", "yield", "order,yield,dynamic"};
enum { STRESSES = sizeof stresses / sizeof *stresses, ELEMENTS = 200 };

// ---------------------------------------- the graph

#define LIST(kind, value) "value { list { " kind ": " value " } }"
#define ELEMENT "attr { key: 'output_types' " LIST("type", "DT_INT64") " } attr { key: 'output_shapes' " LIST("shape", "{ }") " } "
#define NUMBER(name, n)                                                                                           \
    "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } "                          \
    "attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: " n " } } } } "
#define MAP(f)                                                                                                    \
    "node { name: 'map' op: 'ParallelMapDatasetV2' input: 'range' input: 'calls' "                                 \
    "attr { key: 'Targuments' value { list { } } } attr { key: 'f' value { func { name: '" f "' } } } " ELEMENT "} "
#define QUEUE                                                                                                     \
    " name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' " LIST("type", "DT_INT64") " } "                   \
    "attr { key: 'shared_name' value { s: 'q' } } "
#define OF_INT64 "type: DT_INT64 "
#define T_INT64 "attr { key: 'T' value { type: DT_INT64 } } "

// square(x) = x * x; wait(x) = x + what comes out of the queue q.
#define LIBRARY                                                                                                      \
    "library { function { signature { name: 'square' input_arg { name: 'x' " OF_INT64 "} output_arg { name: 'y' " OF_INT64 \
    "} } node_def { name: 'm' op: 'Mul' input: 'x' input: 'x' " T_INT64 "} ret { key: 'y' value: 'm:z:0' } } "          \
    "function { signature { name: 'wait' is_stateful: true input_arg { name: 'x' " OF_INT64 "} output_arg { name: 'y' " OF_INT64 \
    "} } node_def { " QUEUE "} node_def { name: 'd' op: 'QueueDequeueV2' input: 'q:handle:0' "                         \
    "attr { key: 'component_types' " LIST("type", "DT_INT64") " } } "                                                  \
    "node_def { name: 'a' op: 'AddV2' input: 'x' input: 'd:components:0' " T_INT64 "} ret { key: 'y' value: 'a:z:0' } } } "

#define GRAPH(f) GRAPH_OF(f, "4")
#define GRAPH_OF(f, calls)                                                                                                     \
    LIBRARY NUMBER("zero", "0") NUMBER("n", "200") NUMBER("one", "1") NUMBER("calls", calls) NUMBER("two", "2")           \
    "node { name: 'range' op: 'RangeDataset' input: 'zero' input: 'n' input: 'one' " ELEMENT "} " MAP(f)                \
    "node { name: 'ahead' op: 'PrefetchDataset' input: 'map' input: 'two' " ELEMENT "} "                                \
    "node { name: 'it' op: 'IteratorV2' attr { key: 'shared_name' value { s: '' } } attr { key: 'container' value { s: '' } } " \
    ELEMENT "} node { name: 'make' op: 'MakeIterator' input: 'ahead' input: 'it' } "                                    \
    "node { name: 'next' op: 'IteratorGetNext' input: 'it' " ELEMENT "} "                                               \
    "node { " QUEUE "} node { name: 'put' op: 'QueueEnqueueV2' input: 'q' input: 'n' "                                  \
    "attr { key: 'Tcomponents' " LIST("type", "DT_INT64") " } } "

static void open_with(const char *text, int stress, int threads) {
    setenv("MILLRACE_STRESS", stresses[stress], 1);
    open_graph();
    AUTO(arena) Arena arena = {0};
    AUTO(text) Text bytes = {0};
    GraphDef *def;
    GOOD(PROTO_PARSE(GraphDef, &arena, str_of(text), &def));
    GOOD(PROTO_ENCODE(GraphDef, def, &bytes));
    AUTO(import_results) ImportResults results = {0};
    GOOD(graph_import(graph, text_str(&bytes), NULL, &results));
    SessionConfig config = session_config_default();
    config.intra_threads = threads;
    open_session_with(&config);
}

// ---------------------------------------- steps

static Status *target(const char *name, const RunSettings *settings) {
    Node *node = graph_find(graph, str_of(name));
    StepSignature signature = {.targets = &node, .n_targets = 1};
    return session_run(session, &signature, settings, NULL, NULL);
}

static Status *next(const RunSettings *settings, int64_t *out) {
    Output fetch = {graph_find(graph, STR("next")), 0};
    StepSignature signature = {.fetches = &fetch, .n_fetches = 1};
    Tensor value;
    TRY(session_run(session, &signature, settings, NULL, &value));
    *out = *(int64_t *)value.data;
    tensor_clear(&value);
    return OK;
}

static void make(void) {
    GOOD(target("make", &run_settings_default));
}

static void ends_with(Status *status, Code code) {
    ck_assert_msg(status_code(status) == code, "%s: %s", code_name(status_code(status)), status_message(status));
    status_free(status);
}

// ---------------------------------------- tests

START_TEST(in_order) {
    open_with(GRAPH("square"), _i, 0);
    for (int pass = 0; pass < 3; pass++) {
        int64_t value;
        make();
        for (int64_t i = 0; i < (pass == 1 ? 7 : ELEMENTS); i++) {  // the second is left in the middle
            GOOD(next(&run_settings_default, &value));
            ck_assert_int_eq(value, i * i);
        }
        if (pass != 1)
            ends_with(next(&run_settings_default, &value), OUT_OF_RANGE);
    }
    close_all();
}
END_TEST

static int64_t seen[ELEMENTS];
static Mutex seen_lock = MUTEX_INIT;

static void *pull_all(void *arg) {
    (void)arg;
    int64_t value;
    for (;;) {
        Status *status = next(&run_settings_default, &value);
        if (status) {
            ends_with(status, OUT_OF_RANGE);
            return NULL;
        }
        int64_t root = 0;
        while (root * root < value)
            root++;
        mutex_lock(&seen_lock);
        seen[root]++;
        mutex_unlock(&seen_lock);
    }
}

START_TEST(many_pull) {
    enum { THREADS = 8 };
    open_with(GRAPH("square"), _i, 0);
    make();
    memset(seen, 0, sizeof seen);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pull_all, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ELEMENTS; i++)
        ck_assert_int_eq(seen[i], 1);
    close_all();
}
END_TEST

static void *pull_one(void *arg) {
    int64_t value;
    *(Status **)arg = next(&run_settings_default, &value);
    return NULL;
}

// What waits for functions that wait for ever ends with the session.
START_TEST(close_while_functions_wait) {
    open_with(GRAPH("wait"), _i, 0);
    make();
    pthread_t thread;
    Status *status = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, pull_one, &status), 0);
    int64_t until = clock_now() + 20 * CLOCK_MS;
    while (clock_now() < until) {
    }
    session_close(session);
    pthread_join(thread, NULL);
    ends_with(status, CANCELLED);
    close_all();
}
END_TEST

START_TEST(free_while_functions_wait) {
    open_with(GRAPH("wait"), _i, 0);
    make();
    int64_t value;
    RunSettings brief = {.timeout_ms = 20};
    ends_with(next(&brief, &value), DEADLINE_EXCEEDED);
    close_all();  // four calls wait for the queue
}
END_TEST

// A step that gives up takes no element along. One call at a time: several are served in the order in which they began to wait,
// which need not be that of their elements.
START_TEST(a_step_gives_up) {
    open_with(GRAPH_OF("wait", "1"), _i, 0);
    make();
    int64_t value;
    RunSettings brief = {.timeout_ms = 10};
    for (int i = 0; i < 10; i++) {
        ends_with(next(&brief, &value), DEADLINE_EXCEEDED);
        for (int puts = 0; puts < 4; puts++)
            GOOD(target("put", &run_settings_default));
        for (int64_t got = 0; got < 4; got++) {
            GOOD(next(&run_settings_default, &value));
            ck_assert_int_eq(value, ELEMENTS + i * 4 + got);
        }
    }
    close_all();
}
END_TEST

// Passes that are left in the middle, while what they made goes on in the background.
START_TEST(many_passes) {
    open_with(GRAPH("square"), _i, 0);
    for (int i = 0; i < 100; i++) {
        int64_t value;
        make();
        for (int j = 0; j < i % 5; j++) {
            GOOD(next(&run_settings_default, &value));
            ck_assert_int_eq(value, j * j);
        }
    }
    close_all();
}
END_TEST

static void *remake(void *arg) {
    (void)arg;
    for (int i = 0; i < 30; i++)
        make();
    return NULL;
}

START_TEST(begin_anew_while_others_pull) {
    enum { THREADS = 3 };
    open_with(GRAPH("square"), _i, 0);
    make();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, i ? pull_all : remake, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_all();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session data");
    TCase *tests = tcase_create("data");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, in_order, 0, STRESSES);
    tcase_add_loop_test(tests, many_pull, 0, STRESSES);
    tcase_add_loop_test(tests, close_while_functions_wait, 0, STRESSES);
    tcase_add_loop_test(tests, free_while_functions_wait, 0, STRESSES);
    tcase_add_loop_test(tests, a_step_gives_up, 0, STRESSES);
    tcase_add_loop_test(tests, many_passes, 0, STRESSES);
    tcase_add_loop_test(tests, begin_anew_while_others_pull, 0, STRESSES);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
