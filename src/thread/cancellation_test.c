// Cancellation test — callbacks run exactly once, waits end, parents reach children. [threads]
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "thread/cancellation.h"
#include "thread/wait_test.h"

typedef struct {
    Cancellation *cancellation;
    CancelWatch watch;
    _Atomic int ran;
} Waiter;

static void run(void *arg) {
    Waiter *waiter = arg;
    atomic_fetch_add(&waiter->ran, 1);
}

static void check_code(Status *status, Code code) {
    ck_assert_int_eq(status_code(status), code);
    status_free(status);
}

START_TEST(callbacks_run_once_and_not_after_removal) {
    Cancellation c;
    cancellation_init(&c, NULL);
    Waiter kept = {0}, removed = {0}, late = {0};
    ck_assert(cancellation_watch(&c, &kept.watch, run, &kept));
    ck_assert(cancellation_watch(&c, &removed.watch, run, &removed));
    ck_assert(cancellation_unwatch(&c, &removed.watch));
    ck_assert(!cancellation_is_set(&c));
    check_code(cancellation_check(&c), CODE_OK);

    ck_assert(cancellation_cancel(&c, status_new(DEADLINE_EXCEEDED, "x", 1, "too late")));
    ck_assert(!cancellation_cancel(&c, status_new(ABORTED, "x", 1, "second")));
    ck_assert(cancellation_is_set(&c));
    check_code(cancellation_check(&c), DEADLINE_EXCEEDED);
    ck_assert_int_eq(kept.ran, 1);
    ck_assert_int_eq(removed.ran, 0);
    ck_assert(!cancellation_unwatch(&c, &kept.watch));
    ck_assert(!cancellation_watch(&c, &late.watch, run, &late));
    ck_assert(!cancellation_unwatch(&c, &late.watch));
    ck_assert_int_eq(late.ran, 0);
    cancellation_clear(&c);
}
END_TEST

START_TEST(one_is_used_again_and_again) {
    Cancellation parent, other, c;
    cancellation_init(&parent, NULL);
    cancellation_init(&other, NULL);
    cancellation_init(&c, NULL);
    for (int i = 0; i < 3; i++) {
        Waiter waiter = {0};
        cancellation_adopt(&c, &other);
        ck_assert(!cancellation_is_set(&c));
        cancellation_clear(&c);                  // nothing had happened
        cancellation_adopt(&c, &parent);
        ck_assert(cancellation_watch(&c, &waiter.watch, run, &waiter));
        if (i == 1)
            ck_assert(cancellation_cancel(&c, NULL));
        ck_assert_int_eq(cancellation_unwatch(&c, &waiter.watch), i != 1);
        ck_assert_int_eq(waiter.ran, i == 1);
        cancellation_clear(&c);                  // and now it had
        ck_assert(!cancellation_is_set(&c));
        check_code(cancellation_check(&c), CODE_OK);
    }
    cancellation_adopt(&c, &parent);
    ck_assert(cancellation_cancel(&parent, NULL));
    ck_assert(cancellation_is_set(&c));
    check_code(cancellation_check(&c), CANCELLED);
    cancellation_clear(&c);
    ck_assert(!cancellation_is_set(&c));
    cancellation_clear(&other);
    cancellation_clear(&parent);
}
END_TEST

static void free_itself(void *arg) {
    Waiter *waiter = arg;
    // From inside its own callback: no wait, and it has run.
    ck_assert(!cancellation_unwatch(waiter->cancellation, &waiter->watch));
    free(waiter);
}

START_TEST(a_callback_may_free_its_watch) {
    Cancellation c;
    cancellation_init(&c, NULL);
    for (int i = 0; i < 5; i++) {
        Waiter *waiter = calloc(1, sizeof *waiter);
        waiter->cancellation = &c;
        ck_assert(cancellation_watch(&c, &waiter->watch, free_itself, waiter));
    }
    ck_assert(cancellation_cancel(&c, NULL));
    check_code(cancellation_check(&c), CANCELLED);
    cancellation_clear(&c);
}
END_TEST

START_TEST(parents_reach_children) {
    Cancellation parent, child, grandchild, free_child;
    cancellation_init(&parent, NULL);
    cancellation_init(&child, &parent);
    cancellation_init(&free_child, &parent);
    cancellation_init(&grandchild, &child);
    Waiter waiter = {0};
    ck_assert(cancellation_watch(&grandchild, &waiter.watch, run, &waiter));
    cancellation_clear(&free_child);
    cancellation_cancel(&parent, status_new(UNAVAILABLE, "x", 1, "gone"));
    check_code(cancellation_check(&grandchild), UNAVAILABLE);
    ck_assert_int_eq(waiter.ran, 1);

    Cancellation born_late;
    cancellation_init(&born_late, &parent);
    check_code(cancellation_check(&born_late), UNAVAILABLE);
    cancellation_clear(&born_late);
    cancellation_clear(&grandchild);
    cancellation_clear(&child);
    cancellation_clear(&parent);
}
END_TEST

START_TEST(a_child_leaves_its_parent_alone) {
    Cancellation parent, child;
    cancellation_init(&parent, NULL);
    cancellation_init(&child, &parent);
    cancellation_cancel(&child, NULL);
    ck_assert(!cancellation_is_set(&parent));
    cancellation_clear(&child);
    cancellation_clear(&parent);
}
END_TEST

// Who only looks is not entered anywhere: that is what keeps the steps of a session apart.
START_TEST(a_child_is_entered_when_it_is_watched) {
    Cancellation parent, looks, waits, late;
    cancellation_init(&parent, NULL);
    cancellation_init(&looks, &parent);
    cancellation_init(&waits, &parent);
    cancellation_init(&late, &parent);
    ck_assert_ptr_null(parent.watches);
    Waiter waiter = {0}, again = {0}, refused = {0};
    ck_assert(cancellation_watch(&waits, &waiter.watch, run, &waiter));
    ck_assert(cancellation_watch(&waits, &again.watch, run, &again));
    ck_assert_ptr_eq(parent.watches, &waits.in_parent);
    ck_assert_ptr_null(parent.watches->next);
    ck_assert(cancellation_unwatch(&waits, &again.watch));
    cancellation_cancel(&parent, status_new(UNAVAILABLE, "x", 1, "gone"));
    ck_assert(cancellation_is_set(&looks) && cancellation_is_set(&waits));
    check_code(cancellation_check(&looks), UNAVAILABLE);
    check_code(cancellation_check(&waits), UNAVAILABLE);
    ck_assert_int_eq(waiter.ran, 1);
    ck_assert_int_eq(again.ran, 0);
    ck_assert(!cancellation_watch(&late, &refused.watch, run, &refused));
    Notification never = {0};
    check_code(wait_for_event(&looks, &never, NO_DEADLINE), UNAVAILABLE);
    cancellation_clear(&looks);
    cancellation_clear(&waits);
    cancellation_clear(&late);
    cancellation_clear(&parent);
}
END_TEST

static void *cancel_soon(void *arg) {
    usleep(2000);
    cancellation_cancel(arg, NULL);
    return NULL;
}

static void *notify_soon(void *arg) {
    usleep(2000);
    notification_notify(arg);
    return NULL;
}

START_TEST(waits_end_for_each_reason) {
    Cancellation c;
    cancellation_init(&c, NULL);
    Notification event = {0};
    ck_assert(!notification_wait(&event, clock_now() + CLOCK_MS));
    ck_assert(!notification_wait(&event, 0));
    check_code(wait_for_event(&c, &event, clock_now() + CLOCK_MS), DEADLINE_EXCEEDED);
    check_code(wait_for_event(NULL, &event, clock_now() + CLOCK_MS), DEADLINE_EXCEEDED);

    pthread_t thread;
    pthread_create(&thread, NULL, notify_soon, &event);
    check_code(wait_for_event(&c, &event, NO_DEADLINE), CODE_OK);
    pthread_join(thread, NULL);

    Notification never = {0};
    pthread_create(&thread, NULL, cancel_soon, &c);
    check_code(wait_for_event(&c, &never, NO_DEADLINE), CANCELLED);
    pthread_join(thread, NULL);
    check_code(wait_for_event(&c, &never, NO_DEADLINE), CANCELLED);
    check_code(wait_for_event(&c, &event, NO_DEADLINE), CODE_OK);
    cancellation_clear(&c);
}
END_TEST

// Some threads register and remove watches while another cancels: each callback ran, or was removed, never both.
enum { THREADS = 6, WATCHES = 200, ROUNDS = 30 };

typedef struct {
    Cancellation *cancellation;
    int bad;
} Registrar;

static void *watch_and_unwatch(void *arg) {
    Registrar *registrar = arg;
    Waiter *waiters = calloc(WATCHES, sizeof *waiters);
    bool open[WATCHES];
    for (int i = 0; i < WATCHES; i++)
        open[i] = cancellation_watch(registrar->cancellation, &waiters[i].watch, run, &waiters[i]);
    for (int i = 0; i < WATCHES; i++) {
        bool removed = cancellation_unwatch(registrar->cancellation, &waiters[i].watch);
        // Settled: after unwatch nothing may change any more.
        int expected = open[i] && !removed;
        registrar->bad += atomic_load(&waiters[i].ran) != expected;
    }
    free(waiters);
    return NULL;
}

START_TEST(exactly_once_under_threads) {
    for (int round = 0; round < ROUNDS; round++) {
        Cancellation c;
        cancellation_init(&c, NULL);
        pthread_t threads[THREADS + 2];
        Registrar registrars[THREADS];
        for (int i = 0; i < THREADS; i++) {
            registrars[i] = (Registrar){.cancellation = &c};
            pthread_create(&threads[i], NULL, watch_and_unwatch, &registrars[i]);
        }
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[THREADS + i], NULL, cancel_soon, &c);
        if (round % 2)
            cancellation_cancel(&c, NULL);
        for (int i = 0; i < THREADS + 2; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(registrars[i].bad, 0);
        cancellation_clear(&c);
    }
}
END_TEST

typedef struct {
    Cancellation *parent;
    int bad;
} Stepper;

// As steps do: a child that waits until its parent ends the wait, or goes before.
static void *wait_in_children(void *arg) {
    Stepper *stepper = arg;
    for (int i = 0; i < WATCHES; i++) {
        Cancellation child, grandchild;
        cancellation_init(&child, stepper->parent);
        cancellation_init(&grandchild, &child);
        Notification never = {0};
        Status *status = wait_for_event(i % 2 ? &grandchild : &child, &never, clock_now() + i % 3 * CLOCK_MS / 2);
        Code code = status_code(status);
        stepper->bad += code != CANCELLED && code != DEADLINE_EXCEEDED;
        status_free(status);
        cancellation_clear(&grandchild);
        cancellation_clear(&child);
    }
    return NULL;
}

START_TEST(children_come_and_go_while_the_parent_ends) {
    for (int round = 0; round < ROUNDS; round++) {
        Cancellation parent;
        cancellation_init(&parent, NULL);
        pthread_t threads[THREADS + 1];
        Stepper steppers[THREADS];
        for (int i = 0; i < THREADS; i++) {
            steppers[i] = (Stepper){.parent = &parent};
            pthread_create(&threads[i], NULL, wait_in_children, &steppers[i]);
        }
        pthread_create(&threads[THREADS], NULL, cancel_soon, &parent);
        for (int i = 0; i <= THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(steppers[i].bad, 0);
        ck_assert_ptr_null(parent.watches);
        cancellation_clear(&parent);
    }
}
END_TEST

START_TEST(mutex_and_condition) {
    Mutex mutex = MUTEX_INIT;
    Condition condition = CONDITION_INIT;
    mutex_lock(&mutex);
    int64_t before = clock_now();
    while (condition_wait_until(&condition, &mutex, before + 5 * CLOCK_MS)) {
    }
    ck_assert_int_ge(clock_now() - before, 5 * CLOCK_MS);
    ck_assert(!condition_wait_until(&condition, &mutex, -1));
    mutex_unlock(&mutex);
    condition_clear(&condition);
    mutex_clear(&mutex);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cancellation");
    TCase *cases = tcase_create("cancellation");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, callbacks_run_once_and_not_after_removal);
    tcase_add_test(cases, one_is_used_again_and_again);
    tcase_add_test(cases, a_callback_may_free_its_watch);
    tcase_add_test(cases, parents_reach_children);
    tcase_add_test(cases, a_child_leaves_its_parent_alone);
    tcase_add_test(cases, a_child_is_entered_when_it_is_watched);
    tcase_add_test(cases, waits_end_for_each_reason);
    tcase_add_test(cases, exactly_once_under_threads);
    tcase_add_test(cases, children_come_and_go_while_the_parent_ends);
    tcase_add_test(cases, mutex_and_condition);
    return run_suite(suite);
}
