// Queue test — order, waiting, closing, cancelling: what TensorFlow answers, and nothing lost under threads. [threads]
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/suite_test.h"
#include "resource/settle_test.h"
#include "resource/queue.h"
#include "thread/notification.h"
#include "thread/pool.h"

// What one operation has answered so far.
typedef struct {
    _Atomic int calls;
    Code code;
    char message[200];
    Tensor got[2];
    int n;
    Notification happened;
} Answer;

static void answer(void *arg, Status *status, Tensor *components) {
    Answer *a = arg;
    a->code = status_code(status);
    strncpy(a->message, status_message(status), sizeof a->message - 1);
    for (int c = 0; components && c < a->n; c++)
        a->got[c] = components[c];
    status_free(status);
    atomic_fetch_add(&a->calls, 1);
    notification_notify(&a->happened);
}

static void forget(Answer *a) {
    for (int c = 0; c < 2; c++)
        tensor_clear(&a->got[c]);
    *a = (Answer){.n = a->n};
}

#define SPEC(types, extents, components, most) \
    {.dtypes = (types), .shapes = (extents), .n = (components), .capacity = (most)}

static Queue *make_queue(int64_t capacity) {
    Queue *queue = NULL;
    DType dtype = DT_int32;
    Shape shape = SCALAR_SHAPE;
    Status *status = queue_new(&(QueueSpec)SPEC(&dtype, &shape, 1, capacity), &queue);
    ck_assert_ptr_null(status);
    return queue;
}

static void release(Queue *queue) {
    resource_release((Resource *)queue);
}

static Tensor numbers(const int32_t *values, int64_t n) {
    Tensor tensor = {0};
    Status *status = tensor_new(DT_int32, n < 0 ? SCALAR_SHAPE : SHAPE(n), &tensor);
    ck_assert_ptr_null(status);
    memcpy(tensor.data, values, tensor_bytes(&tensor));
    return tensor;
}

static void enqueue(Queue *queue, int32_t value, Cancellation *c, Answer *a) {
    Tensor tensor = numbers(&value, -1);
    queue_enqueue(queue, &tensor, c, answer, a);
}

static void enqueue_many(Queue *queue, int32_t first, int64_t n, Cancellation *c, Answer *a) {
    int32_t values[100];
    for (int i = 0; i < n; i++)
        values[i] = first + i;
    Tensor tensor = numbers(values, n);
    queue_enqueue_many(queue, &tensor, c, answer, a);
}

static void put(Queue *queue, int32_t value) {
    Answer a = {0};
    enqueue(queue, value, NULL, &a);
    ck_assert_int_eq(a.calls, 1);
    ck_assert_int_eq(a.code, CODE_OK);
}

// The answer came, once, with this code.
static void answered(const Answer *a, Code code) {
    ck_assert_int_eq(a->calls, 1);
    ck_assert_msg(a->code == code, "%s: %s", code_name(a->code), a->message);
}

static void waiting(const Answer *a) {
    ck_assert_int_eq(a->calls, 0);
}

static void got(Answer *a, int64_t rows, int32_t first) {
    answered(a, CODE_OK);
    ck_assert_int_eq(a->got[0].dtype, DT_int32);
    ck_assert_int_eq(a->got[0].shape.rank, rows < 0 ? 0 : 1);
    ck_assert_int_eq(tensor_count(&a->got[0]), rows < 0 ? 1 : rows);
    for (int64_t i = 0; i < tensor_count(&a->got[0]); i++)
        ck_assert_int_eq(((int32_t *)a->got[0].data)[i], first + i);
    forget(a);
}

static void close_queue(Queue *queue, bool cancel, Code code) {
    Answer a = {0};
    queue_close(queue, cancel, NULL, answer, &a);
    answered(&a, code);
}

START_TEST(first_in_first_out) {
    Queue *queue = make_queue(-1);
    Answer a = {.n = 1};
    for (int i = 0; i < 200; i++)
        put(queue, i);
    ck_assert_int_eq(queue_size(queue), 200);
    for (int i = 0; i < 200; i++) {
        queue_dequeue(queue, NULL, answer, &a);
        got(&a, -1, i);
    }
    enqueue_many(queue, 5, 10, NULL, &a);
    answered(&a, CODE_OK);
    forget(&a);
    queue_dequeue(queue, NULL, answer, &a);
    ck_assert(a.got[0].data == a.got[0].buffer->data && a.got[0].buffer->bytes == 4);
    got(&a, -1, 5);
    queue_dequeue_many(queue, 4, false, NULL, answer, &a);
    got(&a, 4, 6);
    queue_dequeue_many(queue, 0, false, NULL, answer, &a);
    got(&a, 0, 0);
    ck_assert_int_eq(queue_size(queue), 5);
    release(queue);
}
END_TEST

START_TEST(waiters_are_served_in_turn) {
    Queue *queue = make_queue(2);
    Answer d[3] = {{.n = 1}, {.n = 1}, {.n = 1}}, e[3] = {0};
    for (int i = 0; i < 3; i++)
        queue_dequeue(queue, NULL, answer, &d[i]);
    waiting(&d[0]);
    put(queue, 1);
    got(&d[0], -1, 1);
    waiting(&d[1]);
    put(queue, 2);
    put(queue, 3);
    got(&d[1], -1, 2);
    got(&d[2], -1, 3);

    put(queue, 10);
    put(queue, 11);
    for (int i = 0; i < 3; i++)
        enqueue(queue, 12 + i, NULL, &e[i]);
    waiting(&e[0]);
    ck_assert_int_eq(queue_size(queue), 2);
    for (int i = 0; i < 3; i++) {
        queue_dequeue(queue, NULL, answer, &d[0]);
        got(&d[0], -1, 10 + i);
        answered(&e[i], CODE_OK);
        if (i < 2)
            waiting(&e[i + 1]);
    }
    // A large dequeue at the front is not overtaken by a small one.
    queue_dequeue_many(queue, 3, false, NULL, answer, &d[0]);
    queue_dequeue(queue, NULL, answer, &d[1]);
    put(queue, 15);
    got(&d[0], 3, 13);
    waiting(&d[1]);
    put(queue, 16);
    got(&d[1], -1, 16);
    release(queue);
}
END_TEST

START_TEST(many_go_piecemeal_past_the_capacity) {
    Queue *queue = make_queue(3);
    Answer e = {0}, d = {.n = 1};
    enqueue_many(queue, 0, 10, NULL, &e);
    waiting(&e);
    ck_assert_int_eq(queue_size(queue), 3);
    queue_dequeue_many(queue, 8, false, NULL, answer, &d);
    got(&d, 8, 0);
    answered(&e, CODE_OK);
    ck_assert_int_eq(queue_size(queue), 2);
    forget(&e);
    // What a waiting dequeue holds is not there for others, and makes room.
    queue_dequeue_many(queue, 4, false, NULL, answer, &d);
    ck_assert_int_eq(queue_size(queue), 0);
    put(queue, 10);
    waiting(&d);
    put(queue, 11);
    got(&d, 4, 8);
    release(queue);
}
END_TEST

START_TEST(closing) {
    Queue *queue = make_queue(3);
    Answer e = {0}, c = {0}, d = {.n = 1};
    for (int i = 1; i <= 3; i++)
        put(queue, i);
    enqueue_many(queue, 4, 2, NULL, &e);
    queue_close(queue, false, NULL, answer, &c);
    // The close stands behind the enqueue.
    waiting(&e);
    waiting(&c);
    ck_assert(!queue_is_closed(queue));
    queue_dequeue_many(queue, 2, false, NULL, answer, &d);
    got(&d, 2, 1);
    answered(&e, CODE_OK);
    answered(&c, CODE_OK);
    ck_assert(queue_is_closed(queue));

    forget(&e);
    enqueue(queue, 9, NULL, &e);
    answered(&e, CANCELLED);
    ck_assert_ptr_nonnull(strstr(e.message, "is closed."));
    forget(&e);
    enqueue_many(queue, 9, 0, NULL, &e);
    answered(&e, CODE_OK);
    close_queue(queue, false, CANCELLED);
    close_queue(queue, true, CODE_OK);

    queue_dequeue_many(queue, 4, false, NULL, answer, &d);
    answered(&d, OUT_OF_RANGE);
    ck_assert_str_eq(d.message, "FIFOQueue '' is closed and has insufficient elements (requested 4, current size 3)");
    forget(&d);
    queue_dequeue_many(queue, 2, true, NULL, answer, &d);
    got(&d, 2, 3);
    queue_dequeue_many(queue, 2, true, NULL, answer, &d);
    got(&d, 1, 5);
    queue_dequeue_many(queue, 2, true, NULL, answer, &d);
    answered(&d, OUT_OF_RANGE);
    forget(&d);
    queue_dequeue(queue, NULL, answer, &d);
    answered(&d, OUT_OF_RANGE);
    forget(&d);
    queue_dequeue_many(queue, 0, false, NULL, answer, &d);
    got(&d, 0, 0);
    release(queue);
}
END_TEST

START_TEST(closing_ends_waits) {
    Queue *queue = make_queue(2);
    Answer e[3] = {0}, c = {0}, d[3] = {{.n = 1}, {.n = 1}, {.n = 1}};
    enqueue_many(queue, 1, 5, NULL, &e[0]);
    queue_close(queue, false, NULL, answer, &c);
    enqueue(queue, 9, NULL, &e[1]);
    close_queue(queue, true, CODE_OK);
    answered(&e[0], CANCELLED);
    answered(&e[1], CANCELLED);
    answered(&c, CANCELLED);
    ck_assert_int_eq(queue_size(queue), 2);
    release(queue);

    queue = make_queue(-1);
    put(queue, 1);
    queue_dequeue_many(queue, 3, false, NULL, answer, &d[0]);
    queue_dequeue_many(queue, 3, true, NULL, answer, &d[1]);
    queue_dequeue(queue, NULL, answer, &d[2]);
    waiting(&d[0]);
    close_queue(queue, false, CODE_OK);
    // The first gives back what it held; the second takes that; nothing is left for the third.
    answered(&d[0], OUT_OF_RANGE);
    got(&d[1], 1, 1);
    answered(&d[2], OUT_OF_RANGE);
    release(queue);
}
END_TEST

START_TEST(cancelling_leaves_the_queue_as_it_was) {
    Queue *queue = make_queue(2);
    Cancellation step, other;
    cancellation_init(&step, NULL);
    cancellation_init(&other, NULL);
    Answer d[2] = {{.n = 1}, {.n = 1}}, e[3] = {0};
    put(queue, 1);
    put(queue, 2);
    queue_dequeue_many(queue, 5, false, &step, answer, &d[0]);
    queue_dequeue(queue, &other, answer, &d[1]);
    put(queue, 3);
    waiting(&d[1]);
    ck_assert_int_eq(queue_size(queue), 0);
    cancellation_cancel(&step, NULL);
    answered(&d[0], CANCELLED);
    ck_assert_str_eq(d[0].message, "Dequeue operation was cancelled");
    got(&d[1], -1, 1);
    ck_assert_int_eq(queue_size(queue), 2);

    // The next operations of the cancelled step fail at once; those of the other wait, and one is cancelled amid
    // others.
    enqueue(queue, 7, &step, &e[0]);
    answered(&e[0], CANCELLED);
    ck_assert_str_eq(e[0].message, "Enqueue operation was cancelled");
    forget(&e[0]);
    enqueue(queue, 4, NULL, &e[0]);
    enqueue(queue, 5, &other, &e[1]);
    enqueue(queue, 6, NULL, &e[2]);
    cancellation_cancel(&other, NULL);
    answered(&e[1], CANCELLED);
    waiting(&e[0]);
    forget(&d[0]);
    int expected[] = {2, 3, 4, 6};
    for (int i = 0; i < 4; i++) {
        queue_dequeue(queue, NULL, answer, &d[0]);
        got(&d[0], -1, expected[i]);
    }
    answered(&e[2], CODE_OK);
    cancellation_clear(&step);
    cancellation_clear(&other);
    release(queue);
}
END_TEST

START_TEST(tuples_are_checked_and_whole) {
    DType dtypes[] = {DT_int32, DT_string};
    Shape shapes[] = {SHAPE(2), SCALAR_SHAPE};
    Queue *queue;
    Status *status = queue_new(&(QueueSpec)SPEC(dtypes, shapes, 2, -1), &queue);
    ck_assert_ptr_null(status);
    int32_t values[] = {1, 2, 3, 4, 5, 6};
    Tensor pairs = numbers(values, 6), words = {0};
    pairs.shape = SHAPE(3, 2);
    status = tensor_new(DT_string, SHAPE(3), &words);
    ck_assert_ptr_null(status);
    const char *texts[] = {"one", "two, and long enough to lie on the heap", ""};
    for (int i = 0; i < 3; i++)
        ck_assert(tstring_assign((TString *)words.data + i, str_of(texts[i])));

    Answer a = {.n = 2};
    Tensor batch[] = {tensor_retain(&pairs), words};
    queue_enqueue_many(queue, batch, NULL, answer, &a);
    answered(&a, CODE_OK);
    forget(&a);
    queue_dequeue(queue, NULL, answer, &a);
    answered(&a, CODE_OK);
    ck_assert(str_is(tstring_str(a.got[1].data), "one"));
    ck_assert_int_eq(((int32_t *)a.got[0].data)[1], 2);
    forget(&a);
    queue_dequeue_many(queue, 2, false, NULL, answer, &a);
    answered(&a, CODE_OK);
    ck_assert(str_is(tstring_str((TString *)a.got[1].data), texts[1]));
    ck_assert_int_eq(((int32_t *)a.got[0].data)[3], 6);
    ck_assert(shape_equal(&a.got[0].shape, &SHAPE(2, 2)));
    forget(&a);

    Tensor wrong[] = {tensor_retain(&pairs), tensor_retain(&pairs)};
    queue_enqueue(queue, wrong, NULL, answer, &a);
    answered(&a, INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(a.message, "Shape mismatch in tuple component 0. Expected [2], got [3,2]"));
    forget(&a);
    wrong[0] = tensor_retain(&pairs);
    wrong[1] = tensor_retain(&pairs);
    queue_enqueue_many(queue, wrong, NULL, answer, &a);
    answered(&a, INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(a.message, "Type mismatch in tuple component 1. Expected string, got int32"));
    forget(&a);
    queue_dequeue_many(queue, -1, false, NULL, answer, &a);
    answered(&a, INVALID_ARGUMENT);
    ck_assert_int_eq(queue_size(queue), 0);
    tensor_clear(&pairs);
    release(queue);
}
END_TEST

START_TEST(specifications) {
    DType dtype = DT_int32, bad = DT_INVALID, other = DT_float;
    Shape shape = SCALAR_SHAPE, open = SHAPE(-1);
    Queue *queue;
    Status *status = queue_new(&(QueueSpec)SPEC(&bad, NULL, 1, -1), &queue);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
    status = queue_new(&(QueueSpec)SPEC(&dtype, &open, 1, -1), &queue);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);
    status = queue_new(&(QueueSpec)SPEC(&dtype, NULL, 0, -1), &queue);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    status_free(status);

    status = queue_new(&(QueueSpec)SPEC(&dtype, NULL, 1, 10), &queue);
    ck_assert_ptr_null(status);
    QueueSpec specs[] = {SPEC(&dtype, NULL, 1, 10), SPEC(&dtype, NULL, 1, 11), SPEC(&other, NULL, 1, 10),
                         SPEC(&dtype, &shape, 1, 10)};
    for (int i = 0; i < 4; i++) {
        status = queue_check_spec(queue, &specs[i]);
        ck_assert_int_eq(status_code(status), i ? INVALID_ARGUMENT : CODE_OK);
        status_free(status);
    }
    // Without shapes elements may differ, but can't be stacked.
    Answer a = {.n = 1};
    int32_t values[] = {1, 2, 3};
    Tensor three = numbers(values, 3);
    queue_enqueue(queue, &three, NULL, answer, &a);
    put(queue, 4);
    forget(&a);
    queue_dequeue(queue, NULL, answer, &a);
    got(&a, 3, 1);
    queue_dequeue_many(queue, 1, false, NULL, answer, &a);
    answered(&a, INVALID_ARGUMENT);
    release(queue);
}
END_TEST

START_TEST(out_of_its_table_nobody_waits) {
    ResourceTable *table;
    Status *status = resource_table_new(&table);
    ck_assert_ptr_null(status);
    Queue *queue = make_queue(1);
    status = resource_add(table, STR("box"), STR("q"), (Resource *)queue);
    ck_assert_ptr_null(status);
    Answer d = {.n = 1};
    queue_dequeue(queue, NULL, answer, &d);
    resource_reset(table, STR("box"));
    answered(&d, OUT_OF_RANGE);
    ck_assert_ptr_nonnull(strstr(d.message, "'q'"));
    release(queue);
    resource_table_free(table);
}
END_TEST

// ---- threads

enum { PRODUCERS = 4, CONSUMERS = 4, EACH = 400 };

typedef struct {
    Queue *queue;
    int number, failed;
    int64_t sum, count;
} Worker;

static bool settle(Answer *a, Cancellation *c, bool cancel) {
    settle_test(&a->happened, c, cancel);
    return a->code == CODE_OK;
}

static void *produce(void *arg) {
    Worker *w = arg;
    for (int i = 0; i < EACH;) {
        Cancellation c;
        cancellation_init(&c, NULL);
        Answer a = {0};
        enqueue(w->queue, w->number * EACH + i, &c, &a);
        if (settle(&a, &c, i % 3 == 0 && w->failed++ % 2 == 0))
            i++;
    }
    return NULL;
}

static void *consume(void *arg) {
    Worker *w = arg;
    for (int round = 0;; round++) {
        Cancellation c;
        cancellation_init(&c, NULL);
        Answer a = {.n = 1};
        if (w->number % 2)
            queue_dequeue_many(w->queue, 1 + round % 5, true, &c, answer, &a);
        else
            queue_dequeue(w->queue, &c, answer, &a);
        bool ok = settle(&a, &c, round % 4 == 1);
        for (int64_t i = 0; ok && i < tensor_count(&a.got[0]); i++) {
            w->sum += ((int32_t *)a.got[0].data)[i];
            w->count++;
        }
        Code code = a.code;
        forget(&a);
        if (code == OUT_OF_RANGE)
            return NULL;
    }
}

START_TEST(nothing_lost_or_doubled_under_threads) {
    for (int capacity = 1; capacity <= 9; capacity += 4) {
        Queue *queue = make_queue(capacity);
        pthread_t threads[PRODUCERS + CONSUMERS];
        Worker workers[PRODUCERS + CONSUMERS];
        for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
            workers[i] = (Worker){.queue = queue, .number = i < PRODUCERS ? i : i - PRODUCERS};
            pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, &workers[i]);
        }
        for (int i = 0; i < PRODUCERS; i++)
            pthread_join(threads[i], NULL);
        close_queue(queue, false, CODE_OK);
        int64_t sum = 0, count = 0;
        for (int i = PRODUCERS; i < PRODUCERS + CONSUMERS; i++) {
            pthread_join(threads[i], NULL);
            sum += workers[i].sum;
            count += workers[i].count;
        }
        int64_t total = PRODUCERS * EACH;
        ck_assert_int_eq(count, total);
        ck_assert_int_eq(sum, total * (total - 1) / 2);
        ck_assert_int_eq(queue_size(queue), 0);
        release(queue);
    }
}
END_TEST

// ---------------------------------------- other orders

// Numbers that count up, from the state.
static uint32_t counting(void *state) {
    return (*(uint32_t *)state)++;
}

static Queue *make_shuffle(int64_t capacity, int64_t min_after, uint32_t first) {
    Queue *queue = NULL;
    DType dtype = DT_int32;
    Shape shape = SCALAR_SHAPE;
    uint32_t *state = malloc(sizeof *state);
    *state = first;
    QueueSpec spec = {.dtypes = &dtype, .shapes = &shape, .n = 1, .capacity = capacity, .kind = QUEUE_SHUFFLE,
                      .min_after = min_after, .number = counting, .number_state = state};
    ck_assert_ptr_null(queue_new(&spec, &queue));
    return queue;
}

static int32_t get(Queue *queue) {
    Answer a = {.n = 1};
    queue_dequeue(queue, NULL, answer, &a);
    answered(&a, CODE_OK);
    int32_t value = *(int32_t *)a.got[0].data;
    forget(&a);
    return value;
}

// The drawn element goes, the last one takes its place.
START_TEST(shuffle_draws) {
    Queue *queue = make_shuffle(-1, 0, 1);
    for (int i = 10; i < 14; i++)
        put(queue, i);
    const int32_t expected[] = {11, 12, 13, 10};    // 1 of 4, 2 of [10 13 12], 3 % 2 of [10 13], the last
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(get(queue), expected[i]);
    release(queue);
}
END_TEST

START_TEST(shuffle_keeps_a_minimum) {
    Queue *queue = make_shuffle(4, 2, 0);
    Answer one = {.n = 1}, many = {.n = 1}, late = {0}, closed = {0};
    put(queue, 1);
    put(queue, 2);
    queue_dequeue(queue, NULL, answer, &one);
    ck_assert_int_eq(one.calls, 0);
    put(queue, 3);
    answered(&one, CODE_OK);
    ck_assert_int_eq(queue_size(queue), 2);
    // Takes as elements come, and gives them back where it can't be served.
    Cancellation cancellation;
    cancellation_init(&cancellation, NULL);
    queue_dequeue_many(queue, 4, false, &cancellation, answer, &many);
    put(queue, 4);
    put(queue, 5);
    ck_assert_int_eq(queue_size(queue), 2);
    cancellation_cancel(&cancellation, NULL);
    answered(&many, CANCELLED);
    ck_assert_int_eq(queue_size(queue), 4);
    enqueue(queue, 6, NULL, &late);
    ck_assert_int_eq(late.calls, 0);    // full
    forget(&many);
    queue_dequeue_many(queue, 9, true, NULL, answer, &many);
    answered(&late, CODE_OK);
    ck_assert_int_eq(many.calls, 0);
    queue_close(queue, false, NULL, answer, &closed);
    answered(&many, CODE_OK);           // closed: the minimum comes out as well
    ck_assert_int_eq(many.got[0].shape.dims[0], 5);
    ck_assert_int_eq(queue_size(queue), 0);
    forget(&one);
    forget(&many);
    cancellation_clear(&cancellation);
    release(queue);
}
END_TEST

// Equal ones in the order of C++'s heap.
START_TEST(priority_least_first) {
    Queue *queue = NULL;
    DType dtypes[] = {DT_int64, DT_int32};
    Shape shapes[] = {SCALAR_SHAPE, SCALAR_SHAPE};
    ck_assert_ptr_null(queue_new(&(QueueSpec){.dtypes = dtypes, .shapes = shapes, .n = 2, .capacity = -1,
                                              .kind = QUEUE_PRIORITY}, &queue));
    const int64_t priorities[] = {5, 1, 3, 1, 5, 1};
    for (int32_t i = 0; i < 6; i++) {
        Answer a = {0};
        Tensor tuple[2] = {{0}};
        ck_assert_ptr_null(tensor_new(DT_int64, SCALAR_SHAPE, &tuple[0]));
        *(int64_t *)tuple[0].data = priorities[i];
        tuple[1] = numbers(&i, -1);
        queue_enqueue(queue, tuple, NULL, answer, &a);
        answered(&a, CODE_OK);
    }
    const int32_t expected[] = {1, 5, 3, 2, 0, 4};
    for (int i = 0; i < 6; i++) {
        Answer a = {.n = 2};
        queue_dequeue(queue, NULL, answer, &a);
        answered(&a, CODE_OK);
        ck_assert_int_eq(*(int64_t *)a.got[0].data, priorities[expected[i]]);
        ck_assert_int_eq(*(int32_t *)a.got[1].data, expected[i]);
        forget(&a);
    }
    release(queue);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("queue");
    TCase *cases = tcase_create("queue");
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, first_in_first_out);
    tcase_add_test(cases, waiters_are_served_in_turn);
    tcase_add_test(cases, many_go_piecemeal_past_the_capacity);
    tcase_add_test(cases, closing);
    tcase_add_test(cases, closing_ends_waits);
    tcase_add_test(cases, cancelling_leaves_the_queue_as_it_was);
    tcase_add_test(cases, tuples_are_checked_and_whole);
    tcase_add_test(cases, specifications);
    tcase_add_test(cases, out_of_its_table_nobody_waits);
    tcase_add_test(cases, shuffle_draws);
    tcase_add_test(cases, shuffle_keeps_a_minimum);
    tcase_add_test(cases, priority_least_first);
    tcase_add_test(cases, nothing_lost_or_doubled_under_threads);
    return run_suite(suite);
}
