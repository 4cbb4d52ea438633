// Session partial tests — a step in several calls: what is refused takes nothing, what waits goes on waiting; ids of
// steps.
#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"
#include "formula/ops.h"
#include "graph/shapes.h"
#include "ops/all_ops.h"
#include "session/session.h"

static Graph *graph;
static Formula formula;
static Session *session;
static Output a, b, x, y;
static Tensor two, wrong;

// ---------------------------------------- an op that tells its step

static Status *tell(Kernel *k) {
    *(int64_t *)k->out[0]->data = (int64_t)k->step->step_id;
    return OK;
}

static const Op op_step = {.signature = "TestStep() -> id: int64; stateful", .doc = "The step.", .shape = shape_scalar,
                           .cpu = ANY_TYPE(tell), .flags = OP_NO_GRADIENT};

static void set_table(void) {
    static const Op *table[4096];
    int n = 0;
    for (; all_ops[n]; n++)
        table[n] = all_ops[n];
    table[n] = &op_step;
    op_table_set(table, all_rewrites);
}

// x = a + 1, y = x * b
static void set_up(void) {
    set_table();
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
    Formula *f = &formula;
    a = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
    b = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
    x = Add(a, Number(1, DT_float));
    y = Mul(x, b);
    GOOD(f->status);
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.timeout_ms = 20000;
    GOOD(session_new(graph, NULL, &config, &session));
    GOOD(tensor_new(DT_float, SCALAR_SHAPE, &two));
    *(float *)two.data = 2;
    GOOD(tensor_new(DT_int32, SCALAR_SHAPE, &wrong));
    *(int32_t *)wrong.data = 2;
}

static void tear_down(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
    tensor_clear(&two);
    tensor_clear(&wrong);
}

static PartialRun *begin(Output *fetches, int n) {
    PartialRun *run;
    Output feeds[] = {a, b};
    StepSignature whole = {.feeds = feeds, .n_feeds = 2, .fetches = fetches, .n_fetches = n};
    GOOD(session_partial_begin(session, &whole, &run));
    return run;
}

static Status *part(PartialRun *run, Output feed, const Tensor *value, Output fetch, float *out) {
    Tensor result = {0};
    StepSignature signature = {.feeds = &feed, .n_feeds = feed.node != NULL, .fetches = &fetch,
                               .n_fetches = fetch.node != NULL};
    Status *status = session_partial_run(run, &signature, &value, &result);
    if (!status && fetch.node)
        *out = *(float *)result.data;
    tensor_clear(&result);
    return status;
}

static void refused(Status *status, const char *words) {
    ck_assert_ptr_nonnull(status);
    ck_assert_msg(status_code(status) == INVALID_ARGUMENT && strstr(status_message(status), words), "%s",
                  status_message(status));
    status_free(status);
}

START_TEST(what_is_refused_may_be_asked_again) {
    PartialRun *run = begin((Output[]){x, y}, 2);
    float out = 0;
    refused(part(run, x, &two, NONE, NULL), "not among the feeds");
    refused(part(run, a, &wrong, x, &out), "fed a int32");
    refused(part(run, b, &two, a, &out), "not among the fetches");
    refused(part(run, a, &two, y, &out), "waits for feed 1");
    GOOD(part(run, a, &two, x, &out));
    ck_assert_float_eq(out, 3);
    refused(part(run, a, &two, y, &out), "already been fed");
    refused(part(run, NONE, NULL, x, &out), "already been fetched");
    GOOD(part(run, b, &two, y, &out));
    ck_assert_float_eq(out, 6);
    ck_assert(!session_partial_is_over(run));
    session_partial_end(run);
}
END_TEST

START_TEST(twice_in_one_call) {
    PartialRun *run = begin((Output[]){x, y}, 2);
    Tensor out = {0};
    Output both[] = {a, a};
    StepSignature signature = {.feeds = both, .n_feeds = 2, .fetches = &x, .n_fetches = 1};
    refused(session_partial_run(run, &signature, (const Tensor *[]){&two, &two}, &out), "already been fed");
    session_partial_end(run);
}
END_TEST

// Of two fetches the second is on the branch that is not taken: the first does not leak, and the run goes on.
START_TEST(a_dead_fetch) {
    Formula *f = &formula;
    Output choice = formula_2(f, "Switch", x, Less(a, Number(5, DT_float)));
    GOOD(f->status);
    Output fetches[] = {x, At(choice, 0)};
    PartialRun *run = begin(fetches, 2);
    Tensor out[2] = {0};
    StepSignature signature = {.feeds = &a, .n_feeds = 1, .fetches = fetches, .n_fetches = 2};
    refused(session_partial_run(run, &signature, (const Tensor *[]){&two}, out), "not taken");
    session_partial_end(run);
}
END_TEST

// Who waits for a feed waits until it comes, through nodes that nobody reads, too.
START_TEST(controls_of_a_late_feed) {
    Formula *f = &formula;
    Output seven = Number(7, DT_float), late = Neg(seven), later = Exp(seven), unread = Neg(a);
    GOOD(node_add_control(late.node, a.node));
    GOOD(node_add_control(later.node, unread.node));
    GOOD(f->status);
    PartialRun *run = begin((Output[]){late, later, y}, 3);
    float out = 0;
    refused(part(run, b, &two, late, &out), "waits for feed 0");
    refused(part(run, b, &two, later, &out), "waits for feed 0");
    GOOD(part(run, a, &two, late, &out));
    ck_assert_float_eq(out, -7);
    GOOD(part(run, NONE, NULL, later, &out));
    session_partial_end(run);
}
END_TEST

// A loop that never ends is cut short by the session's timeout.
START_TEST(endless_loop) {
    Formula *f = &formula;
    Output entered = OpWith("Enter", ATTRS({"frame_name", ATTR_OF_STRING(STR("loop"))}), a);
    Output m = formula_of_list(f, "Merge", (Output[]){entered, entered}, 2, NULL);
    GOOD(node_set_input(m.node, 1, Op("NextIteration", Neg(m))));
    Output left = Op("Exit", formula_2(f, "Switch", m, Op("LoopCond", Op("IsFinite", m))));
    GOOD(f->status);
    session_free(session);
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    config.timeout_ms = 20;
    GOOD(session_new(graph, NULL, &config, &session));
    PartialRun *run = begin(&left, 1);
    float out;
    Status *status = part(run, a, &two, left, &out);
    ck_assert_int_eq(status_code(status), DEADLINE_EXCEEDED);
    status_free(status);
    ck_assert(session_partial_is_over(run));
    status = part(run, b, &two, NONE, NULL);
    ck_assert_int_eq(status_code(status), FAILED_PRECONDITION);
    status_free(status);
    session_partial_end(run);
}
END_TEST

START_TEST(ids_of_steps) {
    Output ids[] = {formula_op(&formula, "TestStep", NULL, 0, NULL), formula_op(&formula, "TestStep", NULL, 0, NULL)};
    GOOD(formula.status);
    int64_t seen[6];
    for (int i = 0; i < 6; i++) {
        Tensor out[2];
        StepSignature signature = {.fetches = ids, .n_fetches = 1 + i % 2};  // of one plan and of another
        GOOD(session_run(session, &signature, &run_settings_default, NULL, out));
        seen[i] = *(int64_t *)out[0].data;
        if (i % 2)
            ck_assert_int_eq(seen[i], *(int64_t *)out[1].data);
        for (int k = 0; k <= i % 2; k++)
            tensor_clear(&out[k]);
        ck_assert_int_gt(seen[i], 0);
        for (int k = 0; k < i; k++)
            ck_assert_int_ne(seen[i], seen[k]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session partial");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, what_is_refused_may_be_asked_again);
    tcase_add_test(c, twice_in_one_call);
    tcase_add_test(c, a_dead_fetch);
    tcase_add_test(c, controls_of_a_late_feed);
    tcase_add_test(c, endless_loop);
    tcase_add_test(c, ids_of_steps);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
