// Accumulator test — waiting in turn, cancelling, late gradients, dropping; nothing lost under threads. [threads]
#include "resource/accumulator.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "thread/notification.h"

static void add(void *sum, const void *more, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((double *)sum)[i] += ((const double *)more)[i];
}

static void divide(void *sum, int64_t by, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        ((double *)sum)[i] /= (double)by;
}

static const AccumulatorMath MATH = {add, divide};

typedef struct {
    _Atomic int calls;
    Code code;
    double value;
    Notification happened;
} Answer;

static void answer(void *arg, Status *status, Tensor *parts) {
    Answer *a = arg;
    a->code = status_code(status);
    if (parts) {
        a->value = *(double *)parts[0].data;
        tensor_clear(&parts[0]);
    }
    status_free(status);
    atomic_fetch_add(&a->calls, 1);
    notification_notify(&a->happened);
}

static Accumulator *make(bool mean) {
    Accumulator *a = NULL;
    AccumulatorSpec spec = {.dtype = DT_double, .shape = SCALAR_SHAPE, .mean = mean, .math = &MATH};
    ck_assert_ptr_null(accumulator_new(&spec, &a));
    return a;
}

static void apply(Accumulator *a, int64_t step, double value) {
    Tensor gradient = {.data = &value, .dtype = DT_double};
    ck_assert_ptr_null(accumulator_apply(a, step, &gradient));
}

static void answered(Answer *a, Code code, double value) {
    ck_assert_int_eq(a->calls, 1);
    ck_assert_int_eq(a->code, code);
    ck_assert(a->value == value);
    *a = (Answer){0};
}

START_TEST(takes_are_served_in_turn) {
    Accumulator *a = make(true);
    Answer first = {0}, second = {0};
    accumulator_take(a, 3, NULL, answer, &first);
    accumulator_take(a, 1, NULL, answer, &second);
    apply(a, 0, 1);
    apply(a, 0, 2);
    ck_assert_int_eq(first.calls + second.calls, 0);  // the second is not before the first, though it asks for less
    ck_assert_int_eq(accumulator_count(a), 2);
    apply(a, 0, 6);
    answered(&first, CODE_OK, 3);
    ck_assert_int_eq(accumulator_count(a), 0);
    apply(a, 0, 50);  // late: the take began step 1
    ck_assert_int_eq(second.calls, 0);
    apply(a, 1, 5);
    answered(&second, CODE_OK, 5);
    resource_release((Resource *)a);
}
END_TEST

START_TEST(cancelling_lets_the_next_go_on) {
    Accumulator *a = make(false);
    Cancellation c;
    cancellation_init(&c, NULL);
    Answer first = {0}, second = {0}, late = {0};
    accumulator_take(a, 3, &c, answer, &first);
    accumulator_take(a, 2, NULL, answer, &second);
    apply(a, 0, 1);
    apply(a, 0, 2);
    cancellation_cancel(&c, NULL);
    answered(&first, CANCELLED, 0);
    answered(&second, CODE_OK, 3);
    apply(a, 1, 4);
    accumulator_take(a, 1, &c, answer, &late);
    answered(&late, CANCELLED, 0);
    ck_assert_int_eq(accumulator_count(a), 1);  // as if it had not been asked
    cancellation_clear(&c);
    resource_release((Resource *)a);
}
END_TEST

START_TEST(out_of_its_table_nobody_waits) {
    ResourceTable *table;
    ck_assert_ptr_null(resource_table_new(&table));
    Accumulator *a = make(true);
    ck_assert_ptr_null(resource_add(table, STR("box"), STR("a"), (Resource *)a));
    Answer waits = {0}, later = {0};
    accumulator_take(a, 1, NULL, answer, &waits);
    resource_reset(table, STR("box"));
    answered(&waits, CANCELLED, 0);
    accumulator_take(a, 1, NULL, answer, &later);
    answered(&later, CANCELLED, 0);
    resource_release((Resource *)a);
    resource_table_free(table);
}
END_TEST

// ---- threads

enum { WORKERS = 4, TAKERS = 3, EACH = 500, REQUIRED = 5 };

typedef struct {
    Accumulator *accumulator;
    Cancellation *stop;
    int number;
    double sum;
} Worker;

static void *produce(void *arg) {
    Worker *w = arg;
    for (int i = 0; i < EACH; i++)
        apply(w->accumulator, INT64_MAX, 1 + w->number);
    return NULL;
}

// Takes, and cancels every third wait, until all waits are.
static void *consume(void *arg) {
    Worker *w = arg;
    for (int round = 0; !cancellation_is_set(w->stop); round++) {
        Cancellation c;
        cancellation_init(&c, w->stop);
        Answer a = {0};
        accumulator_take(w->accumulator, REQUIRED, &c, answer, &a);
        if (round % 3 == 0)
            cancellation_cancel(&c, NULL);
        bool came = notification_wait(&a.happened, clock_now() + 30000ll * CLOCK_MS);
        cancellation_clear(&c);
        ck_assert(came);
        w->sum += a.value;
    }
    return NULL;
}

START_TEST(nothing_lost_or_doubled_under_threads) {
    Accumulator *a = make(false);
    Cancellation stop;
    cancellation_init(&stop, NULL);
    pthread_t threads[WORKERS + TAKERS];
    Worker workers[WORKERS + TAKERS];
    for (int i = 0; i < WORKERS + TAKERS; i++) {
        workers[i] = (Worker){.accumulator = a, .stop = &stop, .number = i};
        pthread_create(&threads[i], NULL, i < WORKERS ? produce : consume, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    cancellation_cancel(&stop, NULL);
    double sum = 0;
    for (int i = WORKERS; i < WORKERS + TAKERS; i++) {
        pthread_join(threads[i], NULL);
        sum += workers[i].sum;
    }
    Answer rest = {0};
    if (accumulator_count(a) > 0) {
        accumulator_take(a, 1, NULL, answer, &rest);
        ck_assert_int_eq(rest.code, CODE_OK);
    }
    ck_assert(sum + rest.value == EACH * (1 + 2 + 3 + 4));
    cancellation_clear(&stop);
    resource_release((Resource *)a);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("accumulator");
    TCase *cases = tcase_create("accumulator");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, takes_are_served_in_turn);
    tcase_add_test(cases, cancelling_lets_the_next_go_on);
    tcase_add_test(cases, out_of_its_table_nobody_waits);
    tcase_add_test(cases, nothing_lost_or_doubled_under_threads);
    return run_suite(suite);
}
