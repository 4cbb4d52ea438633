// [threads] Session alloc test — memory that runs out now and then: a step gives the right result, or says which node
// had none; nothing leaks (the address sanitizer looks), and once there is memory again everything works.
//
// MILLRACE_STRESS, where it names alloc:N, replaces the switches below.
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "session/session.h"
#include "session/threads_test.h"

enum { CALLERS = 4, ROUNDS = 60, LENGTH = 12, ATTEMPTS = CALLERS * ROUNDS };

static const char *const stresses[] = {"alloc:1", "alloc:2", "alloc:3", "alloc:5", "alloc:7", "alloc:13", "alloc:29",
                                       "alloc:101", "alloc:3,dynamic", "alloc:7,dynamic", "alloc:31,dynamic",
                                       "alloc:5,order,yield", "alloc:17,order,yield,dynamic"};

static Graph *graph;
static Session *session;
static Formula formula;
static Tensor ones;

static Output x, polynomial, product, counted, text, chosen, far, added, total, queued;
static Node *enqueuing;
static _Atomic int succeeded, refused, enqueued, taken;

// ---------------------------------------- the graph

static void build_state(void) {
    Formula *f = &formula;
    Shape any = UNKNOWN_SHAPE;
    AttrValue any_shape = {.kind = ATTR_SHAPE, .shape = &any};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", any_shape}));
    total = formula_op(f, "Assign", (Output[]){v, x}, 2, (FormulaAttr[]){BOOL_ATTR("validate_shape", false), {0}});
    added = formula_2(f, "AssignAdd", v, x);
    DType types[] = {DT_float};
    AttrValue components = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = types};
    Output queue = formula_op(f, "FIFOQueueV2", NULL, 0,
                              ATTRS({"component_types", components}, INT_ATTR("capacity", 2 * ATTEMPTS)));
    enqueuing = formula_node(f, "QueueEnqueueV2", (FormulaArg[]){{&queue, 1, false}, {&x, 1, true}}, 2, NULL);
    queued = formula_op(f, "QueueDequeueV2", &queue, 1, ATTRS({"component_types", components}));
}

static void build(void) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    Formula *f = &formula;
    formula = (Formula){.graph = graph, .scope = STR("t")};
    x = formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
    polynomial = Add(Mul(x, x), Scalar(1, x));
    product = Sum(Mul(Exp(Scalar(0, x)), Square(Tile(x, Ints(2)))), Int(0), false);
    counted = loop_to(f, x);
    text = formula_1(f, "AsString", x);
    Output yes = formula_op(f, "All", (Output[]){Greater(x, Scalar(-1, x)), Int(0)}, 2, NULL);
    Output ways = formula_2(f, "Switch", x, yes);
    chosen = formula_of_list(f, "Merge", (Output[]){Neg(At(ways, 0)), Mul(At(ways, 1), Scalar(3, x))}, 2, NULL);
    f->device = STR("/device:FAKE:0");
    far = Mul(Add(x, x), x);
    f->device = (Str){0};
    build_state();
    GOOD(f->status);
    GOOD(tensor_new(DT_float, (Shape){.rank = 1, .dims = {LENGTH}}, &ones));
    for (int i = 0; i < LENGTH; i++)
        ((float *)ones.data)[i] = 1;
}

static void open_session(void) {
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 2;
    config.devices[0] = (DeviceCount){STR("FAKE"), 1};
    config.n_devices = 1;
    GOOD(session_new(graph, NULL, &config, &session));
}

// ---------------------------------------- the steps

// Whether it went well. What went wrong is memory, and says whose: a node's, a step's or a plan's.
static bool run(Output fetch, Tensor *out) {
    const Tensor *feeds[] = {&ones};
    StepSignature signature = {.feeds = &x, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    *out = (Tensor){0};
    Status *status = session_run(session, &signature, &run_settings_default, feeds, out);
    if (!status) {
        atomic_fetch_add(&succeeded, 1);
        return true;
    }
    const char *message = status_message(status);
    ck_assert_msg(status_code(status) == RESOURCE_EXHAUSTED, "%s", message);
    ck_assert_msg(strstr(message, "{{node ") || strstr(message, "for a step") || strstr(message, "of a plan") ||
                      strstr(message, "uint8"),
                  "%s", message);
    ck_assert_ptr_null(out->buffer);
    status_free(status);
    atomic_fetch_add(&refused, 1);
    return false;
}

static bool all_are(Output fetch, float wanted) {
    Tensor out;
    if (!run(fetch, &out))
        return false;
    for (int64_t i = 0; i < tensor_count(&out); i++)
        ck_assert_float_eq(((float *)out.data)[i], wanted);
    tensor_clear(&out);
    return true;
}

static void run_queue(void) {
    const Tensor *feeds[] = {&ones};
    StepSignature put = {.feeds = &x, .targets = &enqueuing, .n_feeds = 1, .n_targets = 1};
    Status *status = session_run(session, &put, &run_settings_default, feeds, NULL);
    ck_assert_msg(!status || status_code(status) == RESOURCE_EXHAUSTED, "%s", status_message(status));
    if (status) {
        status_free(status);
        return;
    }
    atomic_fetch_add(&enqueued, 1);
    if (all_are(queued, 1))
        atomic_fetch_add(&taken, 1);
}

static void *call(void *arg) {
    (void)arg;
    for (int round = 0; round < ROUNDS; round++) {
        all_are(polynomial, 2);
        all_are(product, 2 * LENGTH);
        all_are(counted, 1);
        all_are(chosen, 3);
        all_are(far, 2);
        Tensor strings;
        if (run(text, &strings)) {
            ck_assert(str_equal(tstring_str(&((TString *)strings.data)[LENGTH - 1]),
                                tstring_str(&((TString *)strings.data)[0])));
            tensor_clear(&strings);
        }
        Tensor sum;
        if (run(added, &sum)) {
            // An update is whole or did not happen.
            for (int i = 1; i < LENGTH; i++)
                ck_assert_float_eq(((float *)sum.data)[i], ((float *)sum.data)[0]);
            tensor_clear(&sum);
        }
        run_queue();
    }
    return NULL;
}

static void expect_everything(void) {
    ck_assert(all_are(polynomial, 2) && all_are(product, 2 * LENGTH) && all_are(counted, 1) && all_are(chosen, 3) &&
              all_are(far, 2));
    Tensor strings;
    ck_assert(run(text, &strings));
    tensor_clear(&strings);
}

START_TEST(a_step_works_or_says_what_it_lacked) {
    const char *outside = getenv("MILLRACE_STRESS");
    if (!outside || !strstr(outside, "alloc:"))
        setenv("MILLRACE_STRESS", stresses[_i], 1);
    build();
    open_session();
    // The first step reads the switches. Until there is a value, nothing can be added to it.
    const char *switches = strstr(getenv("MILLRACE_STRESS"), "alloc:");
    ck_assert_ptr_nonnull(switches);
    Tensor first;
    if (run(total, &first))
        tensor_clear(&first);
    buffer_fail_every(0);
    ck_assert(run(total, &first));
    tensor_clear(&first);
    buffer_fail_every((uint32_t)strtoul(switches + strlen("alloc:"), NULL, 10));
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&threads[i], NULL, call, NULL);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_gt(atomic_load(&refused), 0);
    buffer_fail_every(0);
    expect_everything();
    Tensor sum;
    ck_assert(run(added, &sum));
    ck_assert_float_le(*(float *)sum.data, 2 + ATTEMPTS);
    tensor_clear(&sum);
    ck_assert_int_le(atomic_load(&taken), atomic_load(&enqueued));
    session_free(session);
    tensor_clear(&ones);
    graph_release(graph);
    status_free(formula.status);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session alloc");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, a_step_works_or_says_what_it_lacked, 0, sizeof stresses / sizeof *stresses);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
