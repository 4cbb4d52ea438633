// [threads] Session waits test — lists that wait: steps fed from queues, with shapes that change, and all the ways to
// end.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "run/step.h"
#include "session/local.h"
#include "session/one_session_test.h"
#include "session/threads_test.h"

static const char *const stresses[] = {"", "order", "yield", "dynamic", "order,yield,dynamic"};
enum { STRESSES = sizeof stresses / sizeof *stresses };

static Output x;

static void open_session(int stress) {
    setenv("MILLRACE_STRESS", stresses[stress], 1);
    open_graph();
    SessionConfig config = session_config_default();
    config.intra_threads = config.inter_threads = 1;
    open_session_with(&config);
    x = formula_op(&formula, "Placeholder", NULL, 0, ATTRS(TYPE_ATTR("dtype", DT_float)));
}

static void close_session(void) {
    close_all();
}

// ---------------------------------------- the graph

static Output new_queue(void) {
    DType types[] = {DT_float};
    AttrValue components = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = types};
    return formula_op(&formula, "FIFOQueueV2", NULL, 0, ATTRS({"component_types", components},
                                                              INT_ATTR("capacity", 100)));
}

static Node *enqueue(Output queue, Output value) {
    return formula_node(&formula, "QueueEnqueueV2", (FormulaArg[]){{&queue, 1, false}, {&value, 1, true}}, 2, NULL);
}

static Output dequeue(Output queue) {
    DType types[] = {DT_float};
    AttrValue components = {.kind = ATTR_TYPE, .is_list = true, .n = 1, .types = types};
    return formula_op(&formula, "QueueDequeueV2", &queue, 1, ATTRS({"component_types", components}));
}

// (1 + exp(0) + n + n) * 2: of the values n, whatever their number, and of their sum.
static Output work(Output value) {
    Formula *f = &formula;
    Output twice = Add(value, value);
    return Mul(Add(Sum(Mul(Exp(Scalar(0, value)), Square(twice)), Int(0), false), Scalar(1, value)), Scalar(2, value));
}

static float worked(int64_t n, float number) {
    return ((float)n * 4 * number * number + 1) * 2;
}

// ---------------------------------------- steps

static Status *run(Output fetch, Node *target, int64_t n, float number, int64_t timeout_ms, Tensor *out) {
    Tensor in;
    GOOD(tensor_new(DT_float, (Shape){.rank = 1, .dims = {n}}, &in));
    for (int64_t i = 0; i < n; i++)
        ((float *)in.data)[i] = number;
    const Tensor *feeds[] = {&in};
    StepSignature signature = {.feeds = &x, .fetches = &fetch, .targets = &target, .n_feeds = 1,
                               .n_fetches = fetch.node != NULL, .n_targets = target != NULL};
    *out = (Tensor){0};
    Status *status = session_run(session, &signature, &(RunSettings){.timeout_ms = timeout_ms}, feeds, out);
    tensor_clear(&in);
    return status;
}

static float result(Output fetch, Node *target, int64_t n, float number) {
    Tensor out;
    GOOD(run(fetch, target, n, number, 0, &out));
    float value = *(float *)out.data;
    tensor_clear(&out);
    return value;
}

static void put(Node *enqueuing, int64_t n, float number) {
    Tensor out;
    GOOD(run((Output){0}, enqueuing, n, number, 0, &out));
}

static void fails(Output fetch, Node *target, float number, int64_t timeout_ms, Code code, const char *text) {
    Tensor out;
    Status *status = run(fetch, target, 1, number, timeout_ms, &out);
    ck_assert_ptr_nonnull(status);
    ck_assert_msg(status_code(status) == code && strstr(status_message(status), text), "%s", status_message(status));
    status_free(status);
}

static void is_list(Output fetch, Node *target, int32_t n_waves) {
    Plan *plan;
    GOOD(session_plan(session, &(StepSignature){.feeds = &x, .fetches = &fetch, .targets = &target, .n_feeds = 1,
                                                .n_fetches = fetch.node != NULL, .n_targets = target != NULL}, &plan));
    ck_assert_int_eq(plan->propagated, n_waves == 0);
    ck_assert_int_eq(plan->n_waves, n_waves);
    plan_release(plan);
}

// Whether the last step of the plan ran to its end as it was specialised for the shapes that came.
static bool was_specialised(Output fetch) {
    Executor *executor;
    GOOD(local_session_executor(session, &(StepSignature){.feeds = &x, .fetches = &fetch, .n_feeds = 1, .n_fetches = 1},
                          &executor));
    bool specialisation = false;
    for (int i = 0; i < THREAD_PLACES; i++) {
        const Step *step = executor->spare[i].step;
        specialisation |= step && step->specialisation;
    }
    executor_release(executor);
    return specialisation;
}

// ---------------------------------------- tests

START_TEST(shapes_may_change) {
    open_session(_i);
    Output queue = new_queue(), y = work(dequeue(queue));
    Node *enqueuing = enqueue(queue, x);
    GOOD(formula.status);
    is_list(y, NULL, 2);
    is_list((Output){0}, enqueuing, 1);
    for (int i = 0; i < 60; i++)
        put(enqueuing, 1 + i / 20 * (i % 3), (float)(i % 5));
    for (int i = 0; i < 60; i++) {
        ck_assert_float_eq(result(y, NULL, 1, 0), worked(1 + i / 20 * (i % 3), (float)(i % 5)));
        ck_assert(was_specialised(y) || strstr(stresses[_i], "dynamic"));
    }
    close_session();
}
END_TEST

// What is taken out goes into another queue, having been changed, in the same step.
START_TEST(one_after_the_other) {
    open_session(_i);
    Output first = new_queue(), second = new_queue(), y = work(dequeue(first)), end = dequeue(second);
    Node *into = enqueue(first, x), *on = enqueue(second, y);
    GOOD(formula.status);
    is_list((Output){0}, on, 2);
    for (int i = 1; i < 10; i++) {
        put(into, 1 + i % 4, (float)i);
        put(on, 1, 0);
    }
    for (int i = 1; i < 10; i++)
        ck_assert_float_eq(result(end, NULL, 1, 0), worked(1 + i % 4, (float)i));
    close_session();
}
END_TEST

// A dequeue of an empty queue, and the enqueue that it waits for, in one step; the other way round, with a full one,
// too.
START_TEST(both_at_once) {
    open_session(_i);
    Output queue = new_queue(), out = dequeue(queue);
    Node *fed = enqueue(queue, x), *computed = enqueue(queue, work(x));
    GOOD(formula.status);
    is_list(out, fed, 1);
    is_list(out, computed, 1);
    for (int i = 1; i < 10; i++) {
        ck_assert_float_eq(result(out, fed, 1, (float)i), (float)i);
        ck_assert_float_eq(result(out, computed, i, 1), worked(i, 1));
    }
    put(fed, 1, 5);
    ck_assert_float_eq(result(out, computed, 1, 1), 5);
    ck_assert_float_eq(result(out, NULL, 1, 1), worked(1, 1));
    close_session();
}
END_TEST

// The second dequeue waits for the enqueue of what the first one gave: such a plan is propagated.
START_TEST(no_wait_for_oneself) {
    open_session(_i);
    Output first = new_queue(), second = new_queue(), out = dequeue(second);
    Node *into = enqueue(first, x), *on = enqueue(second, work(dequeue(first)));
    GOOD(formula.status);
    is_list(out, on, 0);
    for (int i = 1; i < 10; i++) {
        put(into, 1, (float)i);
        ck_assert_float_eq(result(out, on, 1, 0), worked(1, (float)i));
    }
    close_session();
}
END_TEST

// The step that is given up has taken nothing: who comes next gets all.
START_TEST(ends_that_are_no_success) {
    open_session(_i);
    Formula *f = &formula;
    Output queue = new_queue(), taken = dequeue(queue), y = work(taken);
    Node *enqueuing = enqueue(queue, x), *closing = formula_node(f, "QueueCloseV2", &(FormulaArg){&queue, 1, false}, 1,
                                                                 NULL);
    Output number = formula_op(f, "Cast", &x, 1, ATTRS(TYPE_ATTR("DstT", DT_int32)));
    Output bad = formula_2(f, "FloorDiv", Int(1), number);
    Output late_bad = formula_2(f, "FloorDiv", Int(1), formula_op(f, "Cast", &taken, 1,
                                                                  ATTRS(TYPE_ATTR("DstT", DT_int32))));
    GOOD(f->status);
    fails(y, NULL, 0, 20, DEADLINE_EXCEEDED, "");
    fails(y, bad.node, 0, 0, INVALID_ARGUMENT, "FloorDiv");
    put(enqueuing, 2, 3);
    ck_assert_float_eq(result(y, bad.node, 1, 1), worked(2, 3));
    put(enqueuing, 2, 0);
    fails(late_bad, NULL, 0, 0, INVALID_ARGUMENT, "FloorDiv");
    put(enqueuing, 3, 4);
    ck_assert_float_eq(result(y, NULL, 1, 1), worked(3, 4));
    put(closing, 1, 1);
    fails(y, NULL, 0, 0, OUT_OF_RANGE, "{{node ");
    fails((Output){0}, enqueuing, 0, 0, CANCELLED, "{{node ");
    close_session();
}
END_TEST

// ---------------------------------------- many callers

enum { PAIRS = 3, ITEMS = 40 };

static Output into_y;
static Node *into;
static _Atomic int taken, cancelled;

static void *producer(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int i = 0; i < ITEMS; i++)
        put(into, 1 + (self + i) % 3, 1);
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (;;) {
        Tensor out;
        Status *status = run(into_y, NULL, 1, 0, 0, &out);
        if (status) {
            ck_assert_msg(status_code(status) == CANCELLED || status_code(status) == OUT_OF_RANGE, "%s",
                          status_message(status));
            status_free(status);
            atomic_fetch_add(&cancelled, 1);
            return NULL;
        }
        float value = *(float *)out.data;
        ck_assert(value == worked(1, 1) || value == worked(2, 1) || value == worked(3, 1));
        atomic_fetch_add(&taken, 1);
        tensor_clear(&out);
    }
}

START_TEST(callers_wait_side_by_side) {
    open_session(_i);
    Output queue = new_queue();
    into = enqueue(queue, x);
    into_y = work(dequeue(queue));
    GOOD(formula.status);
    pthread_t producers[PAIRS], consumers[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&consumers[i], NULL, consumer, NULL);
        pthread_create(&producers[i], NULL, producer, (void *)(intptr_t)i);
    }
    for (int i = 0; i < PAIRS; i++)
        pthread_join(producers[i], NULL);
    while (atomic_load(&taken) < PAIRS * ITEMS)
        sched_yield();
    session_close(session);  // frees those who wait
    for (int i = 0; i < PAIRS; i++)
        pthread_join(consumers[i], NULL);
    ck_assert_int_eq(atomic_load(&cancelled), PAIRS);
    close_session();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("session waits");
    TCase *cases = tcase_create("session waits");
    suite_add_tcase(suite, cases);
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, shapes_may_change, 0, STRESSES);
    tcase_add_loop_test(cases, one_after_the_other, 0, STRESSES);
    tcase_add_loop_test(cases, both_at_once, 0, STRESSES);
    tcase_add_loop_test(cases, no_wait_for_oneself, 0, STRESSES);
    tcase_add_loop_test(cases, ends_that_are_no_success, 0, STRESSES);
    tcase_add_loop_test(cases, callers_wait_side_by_side, 0, STRESSES);
    return run_suite(suite);
}
