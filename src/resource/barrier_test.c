// Barrier test — who waits for what, closing, cancelling, and threads that insert components and take tuples. [threads]
#include "resource/barrier.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "thread/notification.h"

enum { PARTS = 4, COMPONENTS = 2 };

typedef struct {
    _Atomic int calls;
    Code code;
    Tensor parts[PARTS];
    Notification happened;
} Answer;

static void answer(void *arg, Status *status, Tensor *components) {
    Answer *a = arg;
    a->code = status_code(status);
    for (int i = 0; components && i < PARTS; i++)
        a->parts[i] = components[i];
    status_free(status);
    atomic_fetch_add(&a->calls, 1);
    notification_notify(&a->happened);
}

static void forget(Answer *a) {
    for (int i = 0; i < PARTS; i++)
        tensor_clear(&a->parts[i]);
    *a = (Answer){0};
}

static void answered(Answer *a, Code code, int64_t tuples) {
    ck_assert_int_eq(a->calls, 1);
    ck_assert_int_eq(a->code, code);
    if (code == CODE_OK)
        ck_assert_int_eq(a->parts[0].shape.dims[0], tuples);
    forget(a);
}

static Barrier *make(void) {
    Barrier *b = NULL;
    DType dtypes[COMPONENTS] = {DT_int32, DT_int32};
    Shape shapes[COMPONENTS] = {{0}};
    ck_assert_ptr_null(barrier_new(&(BarrierSpec){.dtypes = dtypes, .shapes = shapes, .n = COMPONENTS}, &b));
    return b;
}

// Component `component` of `n` keys from `first` on is 10 * key + component.
static Code insert(Barrier *b, int first, int n, int component) {
    AUTO(tensor) Tensor keys = {0}, values = {0};
    ck_assert_ptr_null(tensor_new(DT_string, SHAPE(n), &keys));
    ck_assert_ptr_null(tensor_new(DT_int32, SHAPE(n), &values));
    for (int i = 0; i < n; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "key number %d", first + i);
        ck_assert(tstring_assign((TString *)keys.data + i, (Str){key, (size_t)length}));
        ((int32_t *)values.data)[i] = 10 * (first + i) + component;
    }
    AUTO(status) Status *status = barrier_insert(b, &keys, component, &values);
    return status_code(status);
}

static Code close_barrier(Barrier *b, bool cancel) {
    AUTO(status) Status *status = barrier_close(b, cancel);
    return status_code(status);
}

START_TEST(takes_wait_until_tuples_are_whole) {
    Barrier *b = make();
    Answer a = {0};
    barrier_take(b, 2, false, NULL, answer, &a);
    ck_assert_int_eq(insert(b, 0, 3, 0), CODE_OK);
    ck_assert_int_eq(insert(b, 1, 1, 1), CODE_OK);
    ck_assert_int_eq(a.calls, 0);
    ck_assert_int_eq(barrier_incomplete(b), 2);
    ck_assert_int_eq(insert(b, 0, 1, 1), CODE_OK);
    ck_assert_int_eq(a.calls, 1);
    ck_assert_int_eq(((int32_t *)a.parts[2].data)[0] + 1, ((int32_t *)a.parts[3].data)[0]);
    answered(&a, CODE_OK, 2);
    ck_assert_int_eq(barrier_ready(b), 0);
    resource_release((Resource *)b);
}
END_TEST

START_TEST(a_closed_barrier_still_completes) {
    Barrier *b = make();
    Answer first = {0}, second = {0};
    ck_assert_int_eq(insert(b, 0, 2, 0), CODE_OK);
    barrier_take(b, 2, false, NULL, answer, &first);
    barrier_take(b, 1, false, NULL, answer, &second);
    ck_assert_int_eq(close_barrier(b, false), CODE_OK);
    ck_assert_int_eq(close_barrier(b, false), CANCELLED);
    ck_assert_int_eq(insert(b, 7, 1, 0), CANCELLED);
    ck_assert_int_eq(insert(b, 0, 1, 1), CODE_OK);
    ck_assert_int_eq(first.calls + second.calls, 0);
    ck_assert_int_eq(insert(b, 1, 1, 1), CODE_OK);
    answered(&first, CODE_OK, 2);
    answered(&second, OUT_OF_RANGE, 0);
    resource_release((Resource *)b);
}
END_TEST

START_TEST(cancelling) {
    Barrier *b = make();
    Cancellation c;
    cancellation_init(&c, NULL);
    Answer first = {0}, second = {0};
    barrier_take(b, 2, false, &c, answer, &first);
    barrier_take(b, 1, false, NULL, answer, &second);
    ck_assert_int_eq(insert(b, 0, 1, 0), CODE_OK);
    ck_assert_int_eq(insert(b, 0, 1, 1), CODE_OK);
    cancellation_cancel(&c, NULL);
    answered(&first, CANCELLED, 0);
    answered(&second, CODE_OK, 1);
    cancellation_clear(&c);
    ck_assert_int_eq(insert(b, 5, 3, 0), CODE_OK);
    barrier_take(b, 1, false, NULL, answer, &first);
    ck_assert_int_eq(close_barrier(b, true), CODE_OK);
    answered(&first, OUT_OF_RANGE, 0);
    ck_assert_int_eq(barrier_incomplete(b), 0);
    ck_assert_int_eq(insert(b, 5, 1, 1), CANCELLED);
    resource_release((Resource *)b);
}
END_TEST

// ---- threads

enum { KEYS = 1200, TAKERS = 3 };

typedef struct {
    Barrier *barrier;
    int component;
    int64_t count, sum;
} Worker;

static void *produce(void *arg) {
    Worker *w = arg;
    for (int i = 0; i < KEYS; i += 3)
        ck_assert_int_eq(insert(w->barrier, w->component ? KEYS - 3 - i : i, 3, w->component), CODE_OK);
    return NULL;
}

// Cancels every third wait; ends when the barrier has nothing more to give.
static void *consume(void *arg) {
    Worker *w = arg;
    for (int round = 0;; round++) {
        Cancellation c;
        cancellation_init(&c, NULL);
        Answer a = {0};
        barrier_take(w->barrier, 1 + round % 4, true, &c, answer, &a);
        if (round % 3 == 0)
            cancellation_cancel(&c, NULL);
        bool came = notification_wait(&a.happened, clock_now() + 30000ll * CLOCK_MS);
        cancellation_clear(&c);
        ck_assert(came);
        Code code = a.code;
        for (int64_t i = 0; code == CODE_OK && i < a.parts[0].shape.dims[0]; i++) {
            w->count++;
            w->sum += ((int32_t *)a.parts[2].data)[i] + ((int32_t *)a.parts[3].data)[i];
        }
        forget(&a);
        if (code == OUT_OF_RANGE && barrier_ready(w->barrier) == 0)
            return NULL;
    }
}

START_TEST(nothing_lost_or_doubled_under_threads) {
    Barrier *b = make();
    pthread_t threads[COMPONENTS + TAKERS];
    Worker workers[COMPONENTS + TAKERS];
    for (int i = 0; i < COMPONENTS + TAKERS; i++) {
        workers[i] = (Worker){.barrier = b, .component = i};
        pthread_create(&threads[i], NULL, i < COMPONENTS ? produce : consume, &workers[i]);
    }
    for (int i = 0; i < COMPONENTS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(close_barrier(b, false), CODE_OK);
    int64_t count = 0, sum = 0;
    for (int i = COMPONENTS; i < COMPONENTS + TAKERS; i++) {
        pthread_join(threads[i], NULL);
        count += workers[i].count;
        sum += workers[i].sum;
    }
    ck_assert_int_eq(count, KEYS);
    ck_assert_int_eq(sum, (int64_t)KEYS * (KEYS - 1) * 10 + KEYS);
    resource_release((Resource *)b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("barrier");
    TCase *cases = tcase_create("barrier");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, takes_wait_until_tuples_are_whole);
    tcase_add_test(cases, a_closed_barrier_still_completes);
    tcase_add_test(cases, cancelling);
    tcase_add_test(cases, nothing_lost_or_doubled_under_threads);
    return run_suite(suite);
}
