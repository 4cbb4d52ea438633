// [threads] Plans test — a session's plans are found in any order of a call's arrays, kept by bytes, and freed when
// nobody runs them.
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "session/plans.h"
#include "session/local.h"

enum { NODES = 200, BOUND = 1 << 20, CALLERS = 4, ROUNDS = 300 };

static Graph *graph;
static Mutex graph_lock = MUTEX_INIT;
static Session *session;
static Formula formula;
static Output x, plus[NODES];  // plus[i] = x + i

static void setup(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
    Formula *f = &formula;
    x = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
    for (int i = 0; i < NODES; i++)
        plus[i] = Add(x, Scalar(i, x));
    GOOD(f->status);
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.plan_bytes = BOUND;
    GOOD(session_new(graph, &graph_lock, &config, &session));
}

static void teardown(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
}

// Feeds `value` for x and fetches two of the sums.
static bool sums_are_right(int i, int j, float value) {
    Tensor in, out[2] = {0};
    if (tensor_new(DT_float, SCALAR_SHAPE, &in))
        return false;
    *(float *)in.data = value;
    const Tensor *feeds[] = {&in};
    Output fetches[] = {plus[i], plus[j]};
    StepSignature signature = {.feeds = &x, .fetches = fetches, .n_feeds = 1, .n_fetches = 2};
    Status *status = session_run(session, &signature, &run_settings_default, feeds, out);
    bool right = !status && *(float *)out[0].data == value + (float)i && *(float *)out[1].data == value + (float)j;
    status_free(status);
    tensor_clear(&in);
    tensor_clear(&out[0]);
    tensor_clear(&out[1]);
    return right;
}

START_TEST(plans_are_bounded_by_bytes) {
    size_t most = 0;
    for (int i = 0; i + 1 < NODES; i++) {
        ck_assert(sums_are_right(i, i + 1, 2));
        PlansUse use = local_session_plans_use(session);
        ck_assert_uint_eq(use.retired, 0);  // nobody else runs: what goes is gone
        ck_assert_uint_ge(use.plans, i < PLANS_KEPT ? (size_t)i + 1 : PLANS_KEPT);
        most = use.bytes > most ? use.bytes : most;
    }
    PlansUse use = local_session_plans_use(session);
    ck_assert_uint_gt(most, BOUND / 2);
    ck_assert_uint_le(most, BOUND);
    ck_assert_uint_lt(use.plans, NODES / 2);
    for (int i = 0; i + 1 < NODES; i++)
        ck_assert(sums_are_right(i, i + 1, 3));
    ck_assert_uint_le(local_session_plans_use(session).bytes, BOUND);
}
END_TEST

// What is run again and again stays while others come and go.
START_TEST(the_least_recently_used_go) {
    StepSignature kept = {.feeds = &x, .fetches = &plus[7], .n_feeds = 1, .n_fetches = 1};
    Plan *before, *after;
    GOOD(session_plan(session, &kept, &before));
    for (int i = 0; i + 1 < NODES; i++) {
        ck_assert(sums_are_right(i, i + 1, 2));
        GOOD(session_plan(session, &kept, &after));
        ck_assert_ptr_eq(before, after);
        plan_release(after);
    }
    plan_release(before);
}
END_TEST

START_TEST(every_order_shares_a_plan) {
    StepSignature one = {.feeds = &x, .fetches = plus, .n_feeds = 1, .n_fetches = 20};
    Output turned[20];
    StepSignature other = one;
    other.fetches = turned;
    Plan *plan, *shared;
    GOOD(session_plan(session, &one, &plan));
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < 20; i++)
            turned[i] = plus[(i * 7 + turn) % 20];
        GOOD(session_plan(session, &other, &shared));
        ck_assert_ptr_eq(plan, shared);
        plan_release(shared);
    }
    plan_release(plan);
    turned[3] = plus[100];  // another set
    GOOD(session_plan(session, &other, &shared));
    plan_release(shared);
    ck_assert_uint_eq(local_session_plans_use(session).plans, 22);
    // Orders alone fill the table, too, and go.
    for (int round = 0; round < 2000; round++) {
        turned[3] = plus[3];
        for (int i = 0; i < 20; i++)
            turned[i] = plus[i];
        for (int i = 19, seed = round * 7919 + 1; i > 0; i--, seed = seed * 31 % 65521) {
            Output swap = turned[i];
            turned[i] = turned[seed % (i + 1)];
            turned[seed % (i + 1)] = swap;
        }
        GOOD(session_plan(session, &other, &shared));
        plan_release(shared);
        ck_assert_uint_le(local_session_plans_use(session).bytes, BOUND);
    }
}
END_TEST

START_TEST(a_change_of_the_graph_voids_all) {
    for (int i = 0; i < 5; i++)
        ck_assert(sums_are_right(i, i + 1, 2));
    GOOD(node_set_input(plus[4].node, 1, plus[5].node->inputs[1]));
    Output wrong = plus[4];
    plus[4] = plus[5];
    plus[5] = wrong;
    ck_assert(sums_are_right(9, 10, 2));
    PlansUse use = local_session_plans_use(session);
    ck_assert_uint_eq(use.plans, 1);
    ck_assert_uint_eq(use.retired, 0);
}
END_TEST

// ---------------------------------------- many callers

static Output dequeued;
static Node *enqueue, *shut;

static void build_queue(void) {
    Formula *f = &formula;
    DType types[] = {DT_float};
    AttrValue components = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = types};
    Output queue = formula_op(f, "FIFOQueueV2", NULL, 0, ATTRS({"component_types", components},
                                                               INT_ATTR("capacity", 4)));
    enqueue = formula_node(f, "QueueEnqueueV2", (FormulaArg[]){{&queue, 1, false}, {&x, 1, true}}, 2, NULL);
    dequeued = formula_op(f, "QueueDequeueV2", &queue, 1, ATTRS({"component_types", components}));
    shut = formula_node(f, "QueueCloseV2", &(FormulaArg){&queue, 1, false}, 1, NULL);
    GOOD(f->status);
}

// Waits in a step for as long as the others go on.
static void *waiter(void *arg) {
    (void)arg;
    StepSignature signature = {.fetches = &dequeued, .n_fetches = 1};
    Tensor out;
    Status *status = session_run(session, &signature, &run_settings_default, NULL, &out);
    bool right = status_code(status) == OUT_OF_RANGE;
    status_free(status);
    return right ? NULL : arg;
}

static void *caller(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int round = 0; round < ROUNDS; round++) {
        int i = (self * 37 + round * 11) % NODES, j = (round * round + self) % NODES;
        if (!sums_are_right(i, j, (float)round) || !sums_are_right(j, i, 1) || !sums_are_right(3, 4, (float)self))
            return arg;
    }
    return NULL;
}

START_TEST(plans_go_while_others_run) {
    static const char *const stresses[] = {"", "yield"};
    setenv("MILLRACE_STRESS", stresses[_i], 1);
    build_queue();
    pthread_t waiting, calling[CALLERS];
    int fault;
    void *failed;
    pthread_create(&waiting, NULL, waiter, &fault);
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&calling[i], NULL, caller, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(calling[i], &failed);
        ck_assert_ptr_null(failed);
    }
    // With the waiting step still in flight all that was taken out is freed: it holds its own plan alone.
    for (int i = 0; i < 20; i++)
        ck_assert(sums_are_right(i, NODES - 1 - i, 2));
    PlansUse use = local_session_plans_use(session);
    ck_assert_uint_le(use.bytes, BOUND);
    ck_assert_uint_eq(use.retired, 0);
    StepSignature signature = {.targets = &shut, .n_targets = 1};
    GOOD(session_run(session, &signature, &run_settings_default, NULL, NULL));
    pthread_join(waiting, &failed);
    ck_assert_ptr_null(failed);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("plans");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, plans_are_bounded_by_bytes);
    tcase_add_test(tests, the_least_recently_used_go);
    tcase_add_test(tests, every_order_shares_a_plan);
    tcase_add_test(tests, a_change_of_the_graph_voids_all);
    tcase_add_loop_test(tests, plans_go_while_others_run, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
