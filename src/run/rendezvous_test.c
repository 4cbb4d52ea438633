// Rendezvous test — either order, dead values, giving up, aborting, and many threads at once. [threads]
#include "run/rendezvous.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>

#include "base/status_test.h"
#include "base/suite_test.h"

#define BAD(expression, wanted)                                                                    \
    do {                                                                                           \
        Status *status_ = (expression);                                                            \
        ck_assert_msg(status_code(status_) == (wanted), "%s: %s", code_name(status_code(status_)), \
                      status_message(status_));                                                    \
        status_free(status_);                                                                      \
    } while (0)

static Rendezvous *rendezvous;

static void setup(void) {
    GOOD(local_rendezvous_new(&rendezvous));
}

static void teardown(void) {
    rendezvous_release(rendezvous);
}

typedef struct {
    RendezvousTake take;     // first
    _Atomic int calls;
    Code code;
    bool dead;
    int64_t value;
} Taker;

static void note(RendezvousTake *take, Status *status, Tensor value, bool dead) {
    Taker *taker = (Taker *)take;
    taker->code = status_code(status);
    taker->dead = dead;
    if (value.data)
        taker->value = *(int64_t *)value.data;
    tensor_clear(&value);
    status_free(status);
    atomic_fetch_add(&taker->calls, 1);
}

static void take(Str key, Taker *taker) {
    *taker = (Taker){.take.done = note};
    rendezvous_take(rendezvous, key, &taker->take);
}

static Status *put(Str key, int64_t number) {
    Tensor value;
    GOOD(tensor_new(DT_int64, SHAPE(4), &value));
    *(int64_t *)value.data = number;
    return rendezvous_put(rendezvous, key, value, false);
}

START_TEST(value_first) {
    Taker taker;
    GOOD(put(STR("a"), 7));
    RendezvousUse use = local_rendezvous_use(rendezvous);
    ck_assert_uint_eq(use.values, 1);
    ck_assert_uint_eq(use.bytes, 32);
    take(STR("a"), &taker);
    ck_assert_int_eq(taker.calls, 1);
    ck_assert_int_eq(taker.value, 7);
    use = local_rendezvous_use(rendezvous);
    ck_assert_uint_eq(use.values + use.bytes + use.waiting, 0);
    ck_assert_uint_eq(use.most_bytes, 32);
}
END_TEST

START_TEST(taker_first) {
    Taker taker, other;
    take(STR("a"), &taker);
    take(STR("b"), &other);
    ck_assert_uint_eq(local_rendezvous_use(rendezvous).waiting, 2);
    GOOD(put(STR("b"), 2));
    ck_assert_int_eq(taker.calls, 0);
    ck_assert_int_eq(other.value, 2);
    GOOD(put(STR("a"), 1));
    ck_assert_int_eq(taker.value, 1);
    // The key is free again.
    GOOD(put(STR("a"), 3));
    take(STR("a"), &taker);
    ck_assert_int_eq(taker.value, 3);
}
END_TEST

START_TEST(dead_values) {
    Taker taker;
    GOOD(rendezvous_put(rendezvous, STR("a"), (Tensor){.dtype = DT_float}, true));
    take(STR("a"), &taker);
    ck_assert_int_eq(taker.calls, 1);
    ck_assert(taker.dead && taker.code == CODE_OK);
    take(STR("b"), &taker);
    GOOD(rendezvous_put(rendezvous, STR("b"), (Tensor){.dtype = DT_float}, true));
    ck_assert(taker.dead);
}
END_TEST

START_TEST(twice) {
    Taker first, second;
    GOOD(put(STR("a"), 1));
    BAD(put(STR("a"), 2), INTERNAL);
    take(STR("b"), &first);
    take(STR("b"), &second);
    ck_assert_int_eq(first.calls, 0);
    ck_assert_int_eq(second.code, INTERNAL);
    GOOD(put(STR("b"), 5));
    ck_assert_int_eq(first.value, 5);
}
END_TEST

START_TEST(giving_up) {
    Taker taker;
    take(STR("a"), &taker);
    ck_assert(rendezvous_give_up(rendezvous, STR("a"), &taker.take));
    ck_assert(!rendezvous_give_up(rendezvous, STR("a"), &taker.take));
    GOOD(put(STR("a"), 1));
    ck_assert_int_eq(taker.calls, 0);
    take(STR("a"), &taker);
    ck_assert(!rendezvous_give_up(rendezvous, STR("a"), &taker.take));
    ck_assert_int_eq(taker.calls, 1);
}
END_TEST

START_TEST(aborting) {
    Taker waiting, late;
    take(STR("a"), &waiting);
    GOOD(put(STR("b"), 1));
    rendezvous_abort(rendezvous, status_new(NOT_FOUND, __FILE__, __LINE__, "the reason"));
    ck_assert_int_eq(waiting.calls, 1);
    ck_assert_int_eq(waiting.code, NOT_FOUND);
    take(STR("b"), &late);
    ck_assert_int_eq(late.code, NOT_FOUND);
    BAD(put(STR("c"), 1), NOT_FOUND);
    rendezvous_abort(rendezvous, status_new(ABORTED, __FILE__, __LINE__, "a later one"));
    take(STR("d"), &late);
    ck_assert_int_eq(late.code, NOT_FOUND);
    ck_assert_uint_eq(local_rendezvous_use(rendezvous).bytes, 0);
}
END_TEST

// ---- many threads

enum { PAIRS = 4, EACH = 2000 };

static void *put_all(void *arg) {
    char text[32];
    for (int i = 0; i < EACH; i++) {
        int n = snprintf(text, sizeof text, "%d:%d", (int)(intptr_t)arg, i);
        Status *status = put((Str){text, (size_t)n}, i);
        ck_assert(!status || status_code(status) == CANCELLED);
        status_free(status);
    }
    return NULL;
}

static Taker takers[PAIRS][EACH];

static void *take_everything(void *arg) {
    char text[32];
    for (int i = 0; i < EACH; i++) {
        int n = snprintf(text, sizeof text, "%d:%d", (int)(intptr_t)arg, i);
        take((Str){text, (size_t)n}, &takers[(intptr_t)arg][i]);
    }
    return NULL;
}

static void run_all(bool aborts) {
    pthread_t threads[2 * PAIRS];
    for (intptr_t i = 0; i < PAIRS; i++) {
        ck_assert_int_eq(pthread_create(&threads[2 * i], NULL, put_all, (void *)i), 0);
        ck_assert_int_eq(pthread_create(&threads[2 * i + 1], NULL, take_everything, (void *)i), 0);
    }
    if (aborts)
        rendezvous_abort(rendezvous, NULL);
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
}

START_TEST(many_threads) {
    run_all(false);
    for (int p = 0; p < PAIRS; p++)
        for (int i = 0; i < EACH; i++)
            ck_assert(takers[p][i].calls == 1 && takers[p][i].code == CODE_OK && takers[p][i].value == i);
    ck_assert_uint_eq(local_rendezvous_use(rendezvous).bytes, 0);
}
END_TEST

START_TEST(many_threads_aborted) {
    run_all(true);
    for (int p = 0; p < PAIRS; p++)
        for (int i = 0; i < EACH; i++)
            ck_assert(takers[p][i].calls == 1 && (takers[p][i].code == CODE_OK || takers[p][i].code == CANCELLED));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("rendezvous");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, value_first);
    tcase_add_test(tests, taker_first);
    tcase_add_test(tests, dead_values);
    tcase_add_test(tests, twice);
    tcase_add_test(tests, giving_up);
    tcase_add_test(tests, aborting);
    tcase_add_test(tests, many_threads);
    tcase_add_test(tests, many_threads_aborted);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
