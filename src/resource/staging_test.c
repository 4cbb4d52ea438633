// Staging test — who waits for room, for a place or for a key; threads that put and take; a mutex that steps hold. [threads]
#include "resource/staging.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "resource/settle_test.h"
#include "resource/step_mutex.h"
#include "thread/notification.h"

typedef struct {
    _Atomic int calls;
    Code code;
    int64_t key;
    int32_t value;
    Notification happened;
} Answer;

static void answer(void *arg, Status *status, int64_t key, Tensor *values, int n) {
    Answer *a = arg;
    a->code = status_code(status);
    a->key = key;
    for (int i = 0; i < n; i++) {
        a->value = *(int32_t *)values[i].data;
        tensor_clear(&values[i]);
    }
    status_free(status);
    atomic_fetch_add(&a->calls, 1);
    notification_notify(&a->happened);
}

static void answered(Answer *a, Code code, int32_t value) {
    ck_assert_int_eq(a->calls, 1);
    ck_assert_int_eq(a->code, code);
    ck_assert_int_eq(a->value, value);
    *a = (Answer){0};
}

static Staging *make(const ResourceType *type, int64_t capacity, int64_t memory_limit) {
    Staging *staging = NULL;
    ck_assert_ptr_null(staging_new(type, &(StagingSpec){capacity, memory_limit}, &staging));
    return staging;
}

static void put(Staging *s, int32_t value, Cancellation *c, Answer *a) {
    Tensor tensor = {0};
    ck_assert_ptr_null(tensor_new(DT_int32, SCALAR_SHAPE, &tensor));
    *(int32_t *)tensor.data = value;
    staging_put(s, (StagingPart){.n = 1}, 1, &tensor, c, answer, a);
}

static void put_part(Staging *s, int64_t key, int32_t index, int32_t value, Answer *a) {
    Tensor tensor = {0};
    ck_assert_ptr_null(tensor_new(DT_int32, SCALAR_SHAPE, &tensor));
    *(int32_t *)tensor.data = value;
    staging_put(s, (StagingPart){key, &index, 1}, 2, &tensor, NULL, answer, a);
}

static void take(Staging *s, Cancellation *c, Answer *a) {
    staging_take(s, STAGING_FIRST, (StagingPart){.n = 1}, false, c, answer, a);
}

START_TEST(putting_waits_for_room) {
    Staging *s = make(&staging_type, 1, 0);
    Answer puts[3] = {0}, got = {0};
    Cancellation c;
    cancellation_init(&c, NULL);
    put(s, 1, NULL, &puts[0]);
    answered(&puts[0], CODE_OK, 0);
    put(s, 2, &c, &puts[1]);
    put(s, 3, NULL, &puts[2]);
    ck_assert_int_eq(puts[1].calls + puts[2].calls, 0);
    cancellation_cancel(&c, NULL);
    answered(&puts[1], CANCELLED, 0);
    take(s, NULL, &got);
    answered(&got, CODE_OK, 1);
    answered(&puts[2], CODE_OK, 0);
    staging_clear(s);
    ck_assert_int_eq(staging_size(s), 0);
    cancellation_clear(&c);
    resource_release((Resource *)s);
}
END_TEST

START_TEST(putting_waits_for_memory) {
    Staging *s = make(&staging_type, 0, 8);
    Answer puts[3] = {0}, got = {0};
    for (int i = 0; i < 3; i++)
        put(s, i, NULL, &puts[i]);
    ck_assert_int_eq(puts[2].calls, 0);
    take(s, NULL, &got);
    answered(&got, CODE_OK, 0);
    answered(&puts[2], CODE_OK, 0);
    resource_release((Resource *)s);
}
END_TEST

START_TEST(looking_waits_for_the_place) {
    Staging *s = make(&staging_type, 0, 0);
    Answer puts = {0}, look = {0}, got = {0};
    staging_take(s, STAGING_AT, (StagingPart){.key = 1, .n = 1}, true, NULL, answer, &look);
    put(s, 5, NULL, &puts);
    ck_assert_int_eq(look.calls, 0);
    put(s, 6, NULL, &puts);
    answered(&look, CODE_OK, 6);
    ck_assert_int_eq(staging_size(s), 2);
    take(s, NULL, &got);
    answered(&got, CODE_OK, 5);
    resource_release((Resource *)s);
}
END_TEST

START_TEST(keys_are_served_past_one_another) {
    Staging *s = make(&ordered_map_staging_type, 0, 0);
    Answer puts = {0}, one = {0}, two = {0}, any = {0};
    int32_t index = 1;
    staging_take(s, STAGING_KEY, (StagingPart){1, &index, 1}, false, NULL, answer, &one);
    staging_take(s, STAGING_KEY, (StagingPart){2, &index, 1}, false, NULL, answer, &two);
    put_part(s, 2, 1, 21, &puts);
    ck_assert_int_eq(staging_incomplete(s), 1);
    put_part(s, 2, 0, 20, &puts);
    answered(&two, CODE_OK, 21);
    ck_assert_int_eq(one.calls, 0);
    ck_assert_int_eq(staging_size(s), 1);  // one value is left of it
    index = 0;
    staging_take(s, STAGING_FIRST, (StagingPart){0, &index, 1}, false, NULL, answer, &any);
    ck_assert_int_eq(any.key, 2);
    answered(&any, CODE_OK, 20);
    ck_assert_int_eq(staging_size(s), 0);
    ResourceTable *table;
    ck_assert_ptr_null(resource_table_new(&table));
    ck_assert_ptr_null(resource_add(table, STR("box"), STR("s"), (Resource *)s));
    resource_reset(table, STR("box"));
    answered(&one, CANCELLED, 0);
    resource_release((Resource *)s);
    resource_table_free(table);
}
END_TEST

// ---- threads

enum { WORKERS = 3, EACH = 600 };

typedef struct {
    Staging *staging;
    StepMutex *mutex;
    int64_t *shared;
    int number;
    int64_t sum;
} Worker;

static bool settle(Answer *a, Cancellation *c, bool cancel) {
    settle_test(&a->happened, c, cancel);
    return a->code == CODE_OK;
}

static void *produce(void *arg) {
    Worker *w = arg;
    for (int i = 0, round = 0; i < EACH; round++) {
        Cancellation c;
        Answer a = {0};
        cancellation_init(&c, NULL);
        put(w->staging, w->number * EACH + i, &c, &a);
        i += settle(&a, &c, round % 3 == 0);
    }
    return NULL;
}

static void *consume(void *arg) {
    Worker *w = arg;
    for (int i = 0, round = 0; i < EACH; round++) {
        Cancellation c;
        Answer a = {0};
        cancellation_init(&c, NULL);
        take(w->staging, &c, &a);
        if (!settle(&a, &c, round % 4 == 0))
            continue;
        w->sum += a.value;
        i++;
    }
    return NULL;
}

START_TEST(nothing_lost_or_doubled_under_threads) {
    Staging *s = make(&staging_type, 2, 0);
    pthread_t threads[2 * WORKERS];
    Worker workers[2 * WORKERS];
    for (int i = 0; i < 2 * WORKERS; i++) {
        workers[i] = (Worker){.staging = s, .number = i};
        pthread_create(&threads[i], NULL, i < WORKERS ? produce : consume, &workers[i]);
    }
    int64_t sum = 0, total = WORKERS * EACH;
    for (int i = 0; i < 2 * WORKERS; i++) {
        pthread_join(threads[i], NULL);
        sum += workers[i].sum;
    }
    ck_assert_int_eq(sum, total * (total - 1) / 2);
    ck_assert_int_eq(staging_size(s), 0);
    resource_release((Resource *)s);
}
END_TEST

// ---- the mutex

typedef struct {
    Answer answer;
    Tensor hold;
} Held;

static void held(void *arg, Status *status, Tensor *hold) {
    Held *h = arg;
    if (hold)
        h->hold = *hold;
    answer(&h->answer, status, 0, NULL, 0);
}

START_TEST(a_mutex_is_free_when_its_hold_goes) {
    StepMutex *mutex;
    ck_assert_ptr_null(step_mutex_new(&mutex));
    Held first = {0}, second = {0}, third = {0};
    step_mutex_acquire(mutex, NULL, held, &first);
    step_mutex_acquire(mutex, NULL, held, &second);
    step_mutex_acquire(mutex, NULL, held, &third);
    ck_assert_int_eq(first.answer.calls, 1);
    ck_assert_int_eq(second.answer.calls, 0);
    AUTO(tensor) Tensor other = tensor_retain(&first.hold);
    tensor_clear(&first.hold);
    ck_assert_int_eq(second.answer.calls, 0);
    ck_assert_ptr_null(step_mutex_let_go(&other));
    answered(&second.answer, CODE_OK, 0);
    ck_assert_ptr_null(step_mutex_let_go(&other));  // a second time it gives nothing back
    ck_assert_int_eq(third.answer.calls, 0);
    tensor_clear(&second.hold);
    answered(&third.answer, CODE_OK, 0);
    tensor_clear(&third.hold);
    resource_release((Resource *)mutex);
}
END_TEST

static void *count_up(void *arg) {
    Worker *w = arg;
    for (int i = 0, round = 0; i < EACH; round++) {
        Cancellation c;
        Held h = {0};
        cancellation_init(&c, NULL);
        step_mutex_acquire(w->mutex, &c, held, &h);
        if (!settle(&h.answer, &c, round % 3 == 0))
            continue;
        ++*w->shared;
        i++;
        tensor_clear(&h.hold);
    }
    return NULL;
}

START_TEST(one_at_a_time_under_threads) {
    int64_t shared = 0;
    StepMutex *mutex;
    ck_assert_ptr_null(step_mutex_new(&mutex));
    pthread_t threads[WORKERS];
    Worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (Worker){.mutex = mutex, .shared = &shared};
        pthread_create(&threads[i], NULL, count_up, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(shared, WORKERS * EACH);
    resource_release((Resource *)mutex);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("staging");
    TCase *cases = tcase_create("staging");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, putting_waits_for_room);
    tcase_add_test(cases, putting_waits_for_memory);
    tcase_add_test(cases, looking_waits_for_the_place);
    tcase_add_test(cases, keys_are_served_past_one_another);
    tcase_add_test(cases, nothing_lost_or_doubled_under_threads);
    tcase_add_test(cases, a_mutex_is_free_when_its_hold_goes);
    tcase_add_test(cases, one_at_a_time_under_threads);
    return run_suite(suite);
}
