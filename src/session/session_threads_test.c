// [threads] Session threads test — many callers in one session while its graph grows, variables change and queues wait.
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "formula/ops.h"
#include "ops/all_ops.h"
#include "session/session.h"
#include "session/threads_test.h"
#include "thread/rest_test.h"

enum { RUNNERS = 8, ROUNDS = 60, GROWN = 40, WIDTH = 16 };

static const char *const stresses[] = {"", "order", "yield", "dynamic", "order,yield,dynamic"};

static Graph *graph;
static Mutex graph_lock = MUTEX_INIT;
static Session *session;
static Formula formula;

static Output x, polynomial, counted, updated, value, products, shapes;
static Output grown[GROWN];         // grown[i] = (i + 1) * x
static _Atomic int n_grown;
static _Atomic bool stop;

static void open_session(int threads) {
    op_table_set(all_ops, all_rewrites);
    GOOD(graph_new(&graph));
    formula = (Formula){.graph = graph, .scope = STR("t")};
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = threads;
    GOOD(session_new(graph, &graph_lock, &config, &session));
}

static void close_session(void) {
    session_free(session);
    graph_release(graph);
    status_free(formula.status);
}

static Output placeholder(void) {
    Formula *f = &formula;
    return formula_op(f, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
}

static Tensor vector(int64_t n, float number) {
    Tensor t;
    GOOD(tensor_new(DT_float, (Shape){.rank = 1, .dims = {n}}, &t));
    for (int64_t i = 0; i < n; i++)
        ((float *)t.data)[i] = number;
    return t;
}

static void build(void) {
    Formula *f = &formula;
    x = placeholder();
    polynomial = Add(Mul(x, x), Scalar(1, x));
    products = Sum(Mul(Exp(Scalar(0, x)), Square(x)), Int(0), false);
    shapes = ShapeOf(Tile(x, Ints(2)));
    counted = loop_to(f, x);
    Shape any = UNKNOWN_SHAPE;
    AttrValue any_shape = {.kind = ATTR_SHAPE, .shape = &any};
    Output v = formula_op(f, "VariableV2", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float), {"shape", any_shape}));
    FormulaAttr unchecked[] = {BOOL_ATTR("validate_shape", false), {0}};
    updated = formula_op(f, "Assign", (Output[]){v, x}, 2, unchecked);
    value = Identity(v);
    GOOD(f->status);
}

static Tensor run(Output fetch, int64_t n, float number) {
    Tensor in = vector(n, number), out = {0};
    const Tensor *feeds[] = {&in};
    StepSignature signature = {.feeds = &x, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    GOOD(session_run(session, &signature, &run_settings_default, feeds, &out));
    tensor_clear(&in);
    return out;
}

static void expect_all(Output fetch, int64_t n, float number, float wanted) {
    Tensor out = run(fetch, n, number);
    ck_assert_int_eq(tensor_count(&out), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq(((float *)out.data)[i], wanted);
    tensor_clear(&out);
}

// Whoever assigns writes equal elements: a torn or freed value would show.
static void expect_even(void) {
    StepSignature signature = {.fetches = &value, .n_fetches = 1};
    Tensor out;
    GOOD(session_run(session, &signature, &run_settings_default, NULL, &out));
    const float *elements = out.data;
    for (int64_t i = 1; i < tensor_count(&out); i++)
        ck_assert_float_eq(elements[i], elements[0]);
    tensor_clear(&out);
}

static void *runner(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int round = 0; round < ROUNDS; round++) {
        float number = (float)(round % 7);
        int64_t n = 1 + (self + round) % WIDTH;
        expect_all(polynomial, n, number, number * number + 1);
        Tensor sum = run(products, n, number);
        ck_assert_float_eq(*(float *)sum.data, (float)n * number * number);
        tensor_clear(&sum);
        Tensor shape = run(shapes, n, number);
        ck_assert_int_eq(((int32_t *)shape.data)[0], 2 * n);
        tensor_clear(&shape);
        expect_all(counted, n, number, number);
        expect_even();
        int many = atomic_load(&n_grown);
        if (many) {
            int which = (self * 7 + round) % many;
            expect_all(grown[which], n, number, (float)(which + 1) * number);
        }
    }
    return NULL;
}

static void *grower(void *arg) {
    (void)arg;
    Formula *f = &formula;
    for (int i = 0; i < GROWN; i++) {
        mutex_lock(&graph_lock);
        grown[i] = Mul(x, Scalar(i + 1, x));
        mutex_unlock(&graph_lock);
        GOOD(f->status);
        atomic_store(&n_grown, i + 1);
        expect_all(grown[i], 3, 2, 2 * (float)(i + 1));
    }
    return NULL;
}

static void *assigner(void *arg) {
    (void)arg;
    for (int i = 1; !atomic_load(&stop); i++) {
        Tensor out = run(updated, 1 + i % WIDTH, (float)i);
        tensor_clear(&out);
    }
    return NULL;
}

START_TEST(many_callers) {
    setenv("MILLRACE_STRESS", stresses[_i], 1);
    open_session(2);
    build();
    Tensor first = run(updated, 4, 1);
    tensor_clear(&first);
    pthread_t threads[RUNNERS + 2];
    for (int i = 0; i < RUNNERS; i++)
        pthread_create(&threads[i], NULL, runner, (void *)(intptr_t)i);
    pthread_create(&threads[RUNNERS], NULL, grower, NULL);
    pthread_create(&threads[RUNNERS + 1], NULL, assigner, NULL);
    for (int i = 0; i <= RUNNERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&stop, true);
    pthread_join(threads[RUNNERS + 1], NULL);
    close_session();
}
END_TEST

// ---------------------------------------- queues

enum { PAIRS = 4, ITEMS = 50 };

static Output queue, dequeued;
static Node *enqueuing, *closing;
static _Atomic int64_t taken_sum, taken_count;

static void build_queue(int capacity) {
    Formula *f = &formula;
    x = placeholder();
    DType types[] = {DT_float};
    AttrValue components = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = types};
    queue = formula_op(f, "FIFOQueueV2", NULL, 0, ATTRS({"component_types", components},
                                                        INT_ATTR("capacity", capacity)));
    enqueuing = formula_node(f, "QueueEnqueueV2", (FormulaArg[]){{&queue, 1, false}, {&x, 1, true}}, 2, NULL);
    dequeued = formula_op(f, "QueueDequeueV2", &queue, 1, ATTRS({"component_types", components}));
    closing = formula_node(f, "QueueCloseV2", &(FormulaArg){&queue, 1, false}, 1, NULL);
    GOOD(f->status);
}

static void *producer(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int i = 0; i < ITEMS; i++) {
        Tensor in = vector(1, (float)(self * ITEMS + i));
        const Tensor *feeds[] = {&in};
        StepSignature signature = {.feeds = &x, .targets = &enqueuing, .n_feeds = 1, .n_targets = 1};
        GOOD(session_run(session, &signature, &run_settings_default, feeds, NULL));
        tensor_clear(&in);
    }
    return NULL;
}

// Takes until the queue is closed and empty.
static void *consumer(void *arg) {
    (void)arg;
    for (;;) {
        Tensor out;
        StepSignature signature = {.fetches = &dequeued, .n_fetches = 1};
        Status *status = session_run(session, &signature, &run_settings_default, NULL, &out);
        if (status) {
            ck_assert_msg(status_code(status) == OUT_OF_RANGE || status_code(status) == CANCELLED, "%s",
                          status_message(status));
            status_free(status);
            return NULL;
        }
        atomic_fetch_add(&taken_sum, (int64_t)*(float *)out.data);
        atomic_fetch_add(&taken_count, 1);
        tensor_clear(&out);
    }
}

START_TEST(queues_pass_on_everything) {
    setenv("MILLRACE_STRESS", stresses[_i], 1);
    open_session(1);
    build_queue(3);
    pthread_t producers[PAIRS], consumers[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&consumers[i], NULL, consumer, NULL);
        pthread_create(&producers[i], NULL, producer, (void *)(intptr_t)i);
    }
    for (int i = 0; i < PAIRS; i++)
        pthread_join(producers[i], NULL);
    StepSignature close = {.targets = &closing, .n_targets = 1};
    GOOD(session_run(session, &close, &run_settings_default, NULL, NULL));
    for (int i = 0; i < PAIRS; i++)
        pthread_join(consumers[i], NULL);
    int64_t n = PAIRS * ITEMS;
    ck_assert_int_eq(atomic_load(&taken_count), n);
    ck_assert_int_eq(atomic_load(&taken_sum), n * (n - 1) / 2);
    close_session();
}
END_TEST

// Closing the session frees those who wait; freeing it waits for them.
START_TEST(closing_frees_waiters) {
    setenv("MILLRACE_STRESS", stresses[_i], 1);
    open_session(1);
    build_queue(3);
    pthread_t consumers[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        pthread_create(&consumers[i], NULL, consumer, NULL);
    for (int i = 0; i < 50; i++)
        sched_yield();
    session_close(session);
    for (int i = 0; i < PAIRS; i++)
        pthread_join(consumers[i], NULL);
    ck_assert_int_eq(atomic_load(&taken_count), 0);
    close_session();
}
END_TEST

// ---------------------------------------- ends

// Some run a loop without end, which waits for nothing; the others small steps, one after the other.
static void *run_until_closed(void *arg) {
    bool endless = (intptr_t)arg % 4 == 0;
    for (;;) {
        Tensor in = vector(1, endless ? 1e9f : 2), out = {0};  // 2^24 + 1 is no float: the loop never gets there
        const Tensor *feeds[] = {&in};
        Output fetch = endless ? counted : polynomial;
        StepSignature signature = {.feeds = &x, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
        Status *status = session_run(session, &signature, &run_settings_default, feeds, &out);
        tensor_clear(&in);
        tensor_clear(&out);
        if (status) {
            ck_assert_msg(status_code(status) == CANCELLED, "%s", status_message(status));
            status_free(status);
            atomic_fetch_add(&taken_count, 1);
            return NULL;
        }
    }
}

START_TEST(closing_ends_running_steps) {
    setenv("MILLRACE_STRESS", stresses[_i], 1);
    for (int round = 0; round < 10; round++) {
        open_session(1);
        build();
        pthread_t threads[RUNNERS];
        for (int i = 0; i < RUNNERS; i++)
            pthread_create(&threads[i], NULL, run_until_closed, (void *)(intptr_t)i);
        for (int i = 0; i < round; i++)
            sched_yield();
        session_close(session);
        for (int i = 0; i < RUNNERS; i++)
            pthread_join(threads[i], NULL);
        close_session();
    }
    ck_assert_int_eq(atomic_load(&taken_count), 10 * RUNNERS);
}
END_TEST

// ---------------------------------------- forks

static bool all_are(Output fetch, int64_t n, float number, float wanted) {
    Tensor in = vector(n, number), out = {0};
    const Tensor *feeds[] = {&in};
    StepSignature signature = {.feeds = &x, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1};
    Status *status = session_run(session, &signature, &run_settings_default, feeds, &out);
    bool good = !status && tensor_count(&out) == n;
    for (int64_t i = 0; good && i < n; i++)
        good = ((float *)out.data)[i] == wanted;
    tensor_clear(&in);
    tensor_clear(&out);
    status_free(status);
    return good;
}

// What the parent has used works in the child: old plans and new ones, large enough for threads, loops, variables.
static bool works_here(int64_t n) {
    Formula *f = &formula;
    Output fresh = Mul(x, Scalar(3, x));
    return !f->status && all_are(polynomial, n, 2, 5) && all_are(fresh, n, 2, 6) && all_are(counted, 3, 4, 4) &&
           all_are(updated, 5, 7, 7) && all_are(polynomial, 1 << 18, 3, 10);
}

START_TEST(a_session_survives_a_fork) {
    setenv("MILLRACE_STRESS", stresses[_i], 1);
    open_session(2);
    build();
    ck_assert(works_here(1 << 18));
    for (int i = 0; i < 3; i++) {
        wait_for_rest();
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (!child)
            _exit(works_here(9 + i) ? 0 : 1);
        int how;
        ck_assert_int_eq(waitpid(child, &how, 0), child);
        ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the child ended with %x", (unsigned)how);
        ck_assert(works_here(20 + i));
    }
    close_session();
}
END_TEST

int main(void) {
    enum { STRESSES = sizeof stresses / sizeof *stresses };
    Suite *suite = suite_create("session threads");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, many_callers, 0, STRESSES);
    tcase_add_loop_test(tests, queues_pass_on_everything, 0, STRESSES);
    tcase_add_loop_test(tests, closing_frees_waiters, 0, STRESSES);
    tcase_add_loop_test(tests, closing_ends_running_steps, 0, STRESSES);
    tcase_add_loop_test(tests, a_session_survives_a_fork, 0, STRESSES);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
