// Place test — threads that live together have places of their own; who comes later gets those left behind.
#include <check.h>
#include <pthread.h>

#include "base/suite_test.h"
#include "thread/place.h"

enum { CROWD = 40, ROUNDS = 30 };

static pthread_barrier_t together;
static int places[CROWD];

static void *take(void *arg) {
    int *out = arg;
    *out = thread_place();
    pthread_barrier_wait(&together);  // all have theirs before any ends
    if (thread_place() != *out)
        *out = -1;
    return NULL;
}

static void take_at_once(int n) {
    pthread_t threads[CROWD];
    pthread_barrier_init(&together, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, take, &places[i]);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

START_TEST(nobody_shares_while_there_are_enough) {
    int own = thread_place();
    for (int round = 0; round < ROUNDS; round++) {
        take_at_once(THREAD_PLACES - 1);
        unsigned seen = 1u << own;
        for (int i = 0; i < THREAD_PLACES - 1; i++) {
            ck_assert_int_ge(places[i], 0);
            ck_assert_int_lt(places[i], THREAD_PLACES);
            ck_assert_msg(!(seen & 1u << places[i]), "round %d: place %d twice", round, places[i]);
            seen |= 1u << places[i];
        }
    }
    ck_assert_int_eq(thread_place(), own);
}
END_TEST

START_TEST(a_crowd_shares) {
    for (int round = 0; round < ROUNDS; round++) {
        take_at_once(CROWD);
        for (int i = 0; i < CROWD; i++) {
            ck_assert_int_ge(places[i], 0);
            ck_assert_int_lt(places[i], THREAD_PLACES);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("place");
    TCase *cases = tcase_create("place");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, nobody_shares_while_there_are_enough);
    tcase_add_test(cases, a_crowd_shares);
    return run_suite(suite);
}
