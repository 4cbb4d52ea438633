// Readers: many steps at one reader, waits that are cancelled, and states that are taken within a file.
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status_test.h"
#include "base/suite_test.h"
#include "file/record.h"
#include "ops/io/reader_kinds.h"

static char folder[] = "/tmp/readers_XXXXXX";

static Queue *names_queue(void) {
    static const DType string[] = {DT_string};
    QueueSpec spec = {.dtypes = string, .n = 1, .capacity = -1};
    Queue *queue;
    GOOD(queue_new(&spec, &queue));
    return queue;
}

static void nothing(void *arg, Status *status, Tensor *components) {
    (void)arg;
    (void)components;
    GOOD(status);
}

static void add_name(Queue *queue, const char *name) {
    Tensor tensor;
    GOOD(tensor_new(DT_string, SCALAR_SHAPE, &tensor));
    ck_assert(tstring_assign(tensor.data, str_of(name)));
    queue_enqueue(queue, &tensor, NULL, nothing, NULL);
}

static Reader *make_reader(const ReaderKind *kind, ReaderSpec spec) {
    void *state;
    Reader *reader;
    GOOD(reader_kind_state(&spec, &state));
    GOOD(reader_new(kind, state, &reader));
    return reader;
}

typedef struct {
    Notification done;
    Text key, value;
    Code code;
    int records;
} Reading;

static Status *put(void *arg, Str key, Str value) {
    Reading *reading = arg;
    reading->key.n = reading->value.n = 0;
    text_add(&reading->key, key);
    text_add(&reading->value, value);
    reading->records++;
    return OK;
}

static void done(void *arg, Status *status) {
    Reading *reading = arg;
    reading->code = status_code(status);
    status_free(status);
    notification_notify(&reading->done);
}

static void read_next(Reader *reader, Queue *queue, Reading *reading) {
    reading->done = (Notification){0};
    reader_read(reader, queue, NULL, put, done, reading);
    notification_wait(&reading->done, NO_DEADLINE);
}

static void clear_reading(Reading *reading) {
    text_clear(&reading->key);
    text_clear(&reading->value);
}

// ---------------------------------------- within a file

static void write_file(const char *path, Str bytes) {
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(bytes.p, 1, bytes.n, file) == bytes.n && fclose(file) == 0);
}

// Reads `before` records, goes on in another reader of the same kind, and compares with what the first one gives.
static void check_goes_on(const ReaderKind *kind, ReaderSpec spec, const char *path, int before) {
    Queue *queue = names_queue();
    add_name(queue, path);
    Reader *first = make_reader(kind, spec), *second = make_reader(kind, spec);
    Reading a = {0}, b = {0};
    for (int i = 0; i < before; i++)
        read_next(first, queue, &a);
    ReaderState state = reader_state(first);
    ck_assert(state.is_within);
    GOOD(reader_restore(second, state));
    ck_assert_int_eq(reader_records(second), before);
    read_next(first, queue, &a);
    read_next(second, queue, &b);
    ck_assert_int_eq(a.code, CODE_OK);
    ck_assert_int_eq(b.code, CODE_OK);
    ck_assert(str_equal(text_str(&a.key), text_str(&b.key)));
    ck_assert(str_equal(text_str(&a.value), text_str(&b.value)));
    clear_reading(&a);
    clear_reading(&b);
    resource_release((Resource *)first);
    resource_release((Resource *)second);
    resource_release((Resource *)queue);
}

START_TEST(a_state_holds_within_a_file) {
    char path[64];
    snprintf(path, sizeof path, "%s/lines", folder);
    Text bytes = {0}, records = {0};
    for (int i = 0; i < 1000; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d\n", i);
        text_add(&bytes, str_of(line));
        record_write(str_of(line), &records);
    }
    write_file(path, text_str(&bytes));
    for (int before = 1; before < 900; before += 100) {
        check_goes_on(&text_line_reader, (ReaderSpec){.skipped = 3}, path, before);
        check_goes_on(&fixed_length_reader, (ReaderSpec){.header = 5, .record = 30, .hop = 7, .footer = 4}, path, before);
    }
    write_file(path, text_str(&records));
    for (int before = 1; before < 900; before += 100)
        check_goes_on(&tf_record_reader, (ReaderSpec){0}, path, before);
    text_clear(&bytes);
    text_clear(&records);
}
END_TEST

// ---------------------------------------- waiting

START_TEST(a_wait_ends_with_its_step) {
    Queue *queue = names_queue();
    Reader *reader = make_reader(&identity_reader, (ReaderSpec){0});
    Cancellation cancellation;
    cancellation_init(&cancellation, NULL);
    Reading first = {0}, second = {0}, third = {0};
    reader_read(reader, queue, &cancellation, put, done, &first);  // waits for a name
    reader_read(reader, queue, &cancellation, put, done, &second); // waits for its turn
    reader_read(reader, queue, NULL, put, done, &third);
    cancellation_cancel(&cancellation, NULL);
    notification_wait(&first.done, NO_DEADLINE);
    notification_wait(&second.done, NO_DEADLINE);
    ck_assert_int_eq(first.code, CANCELLED);
    ck_assert_int_eq(second.code, CANCELLED);
    add_name(queue, "name");
    notification_wait(&third.done, NO_DEADLINE);
    ck_assert_int_eq(third.code, CODE_OK);
    ck_assert(str_is(text_str(&third.key), "name"));
    clear_reading(&third);
    cancellation_clear(&cancellation);
    resource_release((Resource *)reader);
    resource_release((Resource *)queue);
}
END_TEST

START_TEST(many_empty_files_take_no_stack) {
    enum { NAMES = 50000 };
    Queue *queue = names_queue();
    for (int i = 0; i < NAMES; i++)
        add_name(queue, "/dev/null");
    queue_close(queue, false, NULL, nothing, NULL);
    Reader *reader = make_reader(&text_line_reader, (ReaderSpec){0});
    Reading reading = {0};
    read_next(reader, queue, &reading);
    ck_assert_int_eq(reading.code, OUT_OF_RANGE);
    ck_assert_int_eq(reader_works(reader), NAMES);
    resource_release((Resource *)reader);
    resource_release((Resource *)queue);
}
END_TEST

enum { THREADS = 8, EACH = 2000, FILES = 40, LINES = 300 };

typedef struct {
    Reader *reader;
    Queue *queue;
    _Atomic int records, cancelled;
} Many;

static void *read_many(void *arg) {
    Many *many = arg;
    Reading reading = {0};
    for (int i = 0; i < EACH; i++) {
        Cancellation cancellation;
        cancellation_init(&cancellation, NULL);
        reading.done = (Notification){0};
        reading.records = 0;
        reader_read(many->reader, many->queue, &cancellation, put, done, &reading);
        if (i % 7 == 0)
            cancellation_cancel(&cancellation, NULL);
        notification_wait(&reading.done, NO_DEADLINE);
        ck_assert(reading.code == CODE_OK || reading.code == CANCELLED || reading.code == OUT_OF_RANGE);
        atomic_fetch_add(&many->records, reading.records);
        cancellation_clear(&cancellation);
    }
    clear_reading(&reading);
    return NULL;
}

START_TEST(steps_together_read_every_line_once) {
    char path[64];
    snprintf(path, sizeof path, "%s/many", folder);
    Text bytes = {0};
    for (int i = 0; i < LINES; i++)
        text_add(&bytes, STR("a line\n"));
    write_file(path, text_str(&bytes));
    text_clear(&bytes);
    Many many = {.reader = make_reader(&text_line_reader, (ReaderSpec){0}), .queue = names_queue()};
    for (int i = 0; i < FILES; i++)
        add_name(many.queue, path);
    queue_close(many.queue, false, NULL, nothing, NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert(!pthread_create(&threads[i], NULL, read_many, &many));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(many.records, FILES * LINES);
    ck_assert_int_eq(reader_records(many.reader), FILES * LINES);
    ck_assert_int_eq(reader_works(many.reader), FILES);
    resource_release((Resource *)many.reader);
    resource_release((Resource *)many.queue);
}
END_TEST

int main(void) {
    if (!mkdtemp(folder))
        return 2;
    Suite *suite = suite_create("readers");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_state_holds_within_a_file);
    tcase_add_test(tests, a_wait_ends_with_its_step);
    tcase_add_test(tests, many_empty_files_take_no_stack);
    tcase_add_test(tests, steps_together_read_every_line_once);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
