// [threads] Session branches test — how many kernels of one step run at once: as many as inter_op_parallelism_threads
// says.
//
// The ops of this test wait until so many of them are inside, or a while; they note how many there were, and where.
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "graph/shapes.h"
#include "ops/all_ops.h"
#include "session/session.h"
#include "thread/pool.h"

enum { WIDE = 6, PATIENCE = 200 };  // milliseconds

static Graph *graph;
static Session *session;
static Formula formula;
static Output x;

// ---------------------------------------- ops that meet

static _Atomic int inside, most, elsewhere, wanted, patience;
static pthread_t caller;

static Status *meet(Kernel *k) {
    int now = atomic_fetch_add(&inside, 1) + 1;
    for (int seen = atomic_load(&most); seen < now && !atomic_compare_exchange_weak(&most, &seen, now);) {
    }
    if (!pthread_equal(pthread_self(), caller))
        atomic_fetch_add(&elsewhere, 1);
    int64_t until = clock_now() + atomic_load(&patience) * CLOCK_MS;
    while (atomic_load(&most) < atomic_load(&wanted) && clock_now() < until)
        usleep(100);
    atomic_fetch_sub(&inside, 1);
    float value = *(const float *)k->in[0]->data;
    NEED(value >= 0, INVALID_ARGUMENT, "below zero");
    *(float *)k->out[0]->data = value + 1;
    return OK;
}

static Status *heavy_prepare(Prepare *p) {
    p->cost = 10000000;
    return OK;
}

#define MEETS(name, more)                                                                            \
    {                                                                                                \
        .signature = name "(x: float) -> y: float", .doc = "One more.", .shape = shape_unchanged,    \
        .cpu = ANY_TYPE(meet), .flags = OP_NO_GRADIENT | OP_STATEFUL more                            \
    }
static Op op_heavy = MEETS("TestHeavy", );
static const Op op_light = MEETS("TestLight", ), op_blocks = MEETS("TestBlocks", | OP_BLOCKS);

static void set_table(void) {
    static const Op *table[4096];
    int n = 0;
    op_heavy.prepare = heavy_prepare;
    for (; all_ops[n]; n++)
        table[n] = all_ops[n];
    table[n++] = &op_heavy;
    table[n++] = &op_light;
    table[n] = &op_blocks;
    op_table_set(table, all_rewrites);
}

// ---------------------------------------- graphs

static int threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    int n = -2;  // itself and its parent
    while (readdir(tasks))
        n++;
    closedir(tasks);
    return n;
}

static int threads_before;

static void open_session(int intra, int inter) {
    threads_before = threads();  // a sanitizer has one of its own
    set_table();
    pool_set_limit(4);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
    SessionConfig config = session_config_default();
    config.intra_threads = intra;
    config.inter_threads = inter;
    GOOD(session_new(graph, NULL, &config, &session));
    Shape scalar = SCALAR_SHAPE;
    AttrValue shape = {.kind = ATTR_SHAPE, .shape = &scalar};
    x = formula_op(&formula, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", shape}));
    caller = pthread_self();
}

static void close_session(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
}

// The sum of so many branches, each a chain of two.
static Output branches(const char *op, int n) {
    Formula *f = &formula;
    Output sum = formula_1(f, op, formula_1(f, op, x));
    for (int i = 1; i < n; i++)
        sum = Add(sum, formula_1(f, op, formula_1(f, op, x)));
    GOOD(f->status);
    return sum;
}

// Propagated: a switch lies in front of the fetch.
static Output propagated(Output value) {
    Formula *f = &formula;
    Output choice = formula_2(f, "Switch", value, Greater(x, Scalar(-1, x)));
    return formula_of_list(f, "Merge", (Output[]){At(choice, 0), At(choice, 1)}, 2, NULL);
}

static Status *run(Output fetch, float number, float *out) {
    Tensor in, result;
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &in));
    *(float *)in.data = number;
    const Tensor *feeds[] = {&in};
    StepSignature signature = {.feeds = &x, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    Status *status = session_run(session, &signature, &run_settings_default, feeds, &result);
    tensor_clear(&in);
    TRY(status);
    *out = *(float *)result.data;
    tensor_clear(&result);
    return OK;
}

// Runs `n` branches some times; how many kernels met at most. The first run is not for meeting: a plan with control
// flow learns in it what is heavy.
static int meet_at_most(Output fetch, int n, int hoped, int rounds) {
    atomic_store(&elsewhere, 0);
    int result = 0;
    for (int i = -1; i < rounds; i++) {
        atomic_store(&wanted, i < 0 ? 0 : hoped);
        atomic_store(&most, 0);
        float sum;
        GOOD(run(fetch, (float)(i + 1), &sum));
        ck_assert_float_eq(sum, (float)(n * (i + 3)));
        result = atomic_load(&most) > result ? atomic_load(&most) : result;
        ck_assert_int_eq(atomic_load(&inside), 0);
    }
    return result;
}

// ---------------------------------------- tests

START_TEST(heavy_branches_run_side_by_side) {
    open_session(1, 2);
    Output sum = branches("TestHeavy", 2);
    atomic_store(&patience, PATIENCE);
    ck_assert_int_eq(meet_at_most(sum, 2, 2, 20), 2);
    ck_assert_int_gt(atomic_load(&elsewhere), 0);
    close_session();
}
END_TEST

START_TEST(no_more_than_asked_for) {
    open_session(1, 3);
    Output sum = branches("TestHeavy", WIDE), through = propagated(sum);
    atomic_store(&patience, PATIENCE);
    ck_assert_int_eq(meet_at_most(sum, WIDE, 3, 20), 3);
    ck_assert_int_eq(meet_at_most(through, WIDE, 3, 20), 3);
    atomic_store(&patience, 5);
    ck_assert_int_le(meet_at_most(sum, WIDE, WIDE, 5), 3);
    close_session();
}
END_TEST

// Nothing runs beside the caller, and no thread is ever made.
static const struct {
    int intra, inter;
    const char *op;
    bool propagated;
} alone[] = {{1, 1, "TestHeavy", false}, {1, 1, "TestHeavy", true}, {1, 1, "TestBlocks", true},
             {1, 4, "TestLight", false},
             {1, 4, "TestLight", true}, {2, 4, "TestHeavy", false}, {2, 4, "TestHeavy", true}};

START_TEST(on_the_callers_thread) {
    open_session(alone[_i].intra, alone[_i].inter);
    Output sum = branches(alone[_i].op, WIDE);
    atomic_store(&patience, 2);
    ck_assert_int_eq(meet_at_most(alone[_i].propagated ? propagated(sum) : sum, WIDE, 2, 3), 1);
    ck_assert_int_eq(atomic_load(&elsewhere), 0);
    ck_assert_int_eq(threads(), threads_before);
    close_session();
}
END_TEST

START_TEST(a_single_path_stays_a_list) {
    open_session(1, 4);
    Output sum = branches("TestHeavy", 1);
    atomic_store(&patience, 2);
    ck_assert_int_eq(meet_at_most(sum, 1, 2, 3), 1);
    ck_assert_int_eq(threads(), threads_before);
    close_session();
}
END_TEST

START_TEST(blocking_ops_are_bounded) {
    open_session(2, 3);
    Output sum = propagated(branches("TestBlocks", WIDE));
    atomic_store(&patience, PATIENCE);
    ck_assert_int_eq(meet_at_most(sum, WIDE, 3, 10), 3);
    atomic_store(&patience, 5);
    ck_assert_int_le(meet_at_most(sum, WIDE, WIDE, 5), 3);
    close_session();
}
END_TEST

START_TEST(a_branch_that_fails_ends_the_step) {
    open_session(1, 3);
    Output sum = branches("TestHeavy", WIDE);
    atomic_store(&patience, 2);
    atomic_store(&wanted, 2);
    for (int i = 0; i < 20; i++) {
        float result;
        Status *status = run(sum, -1, &result);
        ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
        ck_assert_msg(strstr(status_message(status), "(TestHeavy): below zero"), "%s", status_message(status));
        ck_assert_int_eq(atomic_load(&inside), 0);
        status_free(status);
    }
    atomic_store(&patience, PATIENCE);
    ck_assert_int_ge(meet_at_most(sum, WIDE, 2, 3), 2);
    close_session();
}
END_TEST

int main(void) {
    unsetenv("MILLRACE_STRESS");  // branches are a specialisation's, and under `dynamic` there is none
    Suite *suite = suite_create("session branches");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, heavy_branches_run_side_by_side);
    tcase_add_test(tests, no_more_than_asked_for);
    tcase_add_loop_test(tests, on_the_callers_thread, 0, sizeof alone / sizeof *alone);
    tcase_add_test(tests, a_single_path_stays_a_list);
    tcase_add_test(tests, blocking_ops_are_bounded);
    tcase_add_test(tests, a_branch_that_fails_ends_the_step);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
