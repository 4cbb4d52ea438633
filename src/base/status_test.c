// Status test — codes, messages, where they came from, and the five words.
#include <check.h>
#include <errno.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/suite_test.h"

static Status *divide(int a, int b, int *out) {
    NEED(b != 0, INVALID_ARGUMENT, "%d divided by zero", a);
    *out = a / b;
    return OK;
}

static Status *divide_twice(int a, int b, int *out) {
    int half;
    TRY(divide(a, 2, &half));
    TRY(divide(half, b, out));
    return OK;
}

START_TEST(words) {
    int out = 7;
    Status *status = divide_twice(8, 2, &out);
    ck_assert_ptr_null(status);
    ck_assert_int_eq(out, 2);
    status = divide_twice(9, 0, &out);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_str_eq(status_message(status), "4 divided by zero");
    ck_assert_ptr_nonnull(strstr(status_where(status), "base/status_test.c:"));
    ck_assert_int_eq(out, 2);
    status_free(status);
}
END_TEST

START_TEST(prefix_copy_and_code) {
    Status *status = status_new(NOT_FOUND, "/x/src/a/b.c", 12, "no %s", "file");
    ck_assert_str_eq(status_where(status), "a/b.c:12");
    status = status_prefix(status, "node '%s'", "n");
    ck_assert_str_eq(status_message(status), "node 'n': no file");
    status = status_with_code(status, DATA_LOSS);
    Status *copy = status_copy(status);
    status_free(status);
    ck_assert_int_eq(status_code(copy), DATA_LOSS);
    ck_assert_str_eq(status_message(copy), "node 'n': no file");
    ck_assert_str_eq(status_where(copy), "a/b.c:12");
    status_free(copy);

    status = status_prefix(OK, "nothing");
    ck_assert_ptr_null(status);
    status = status_copy(OK);
    ck_assert_ptr_null(status);
    ck_assert_int_eq(status_code(OK), CODE_OK);
    ck_assert_str_eq(status_message(OK), "");
    status_free(OK);
}
END_TEST

START_TEST(long_messages_stay_whole) {
    char word[5000];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = 0;
    Status *status = status_new(UNKNOWN, "f", 1, "%s!", word);
    ck_assert_uint_eq(strlen(status_message(status)), sizeof word);
    status = status_prefix(status, "%s", word);
    ck_assert_uint_eq(strlen(status_message(status)), 2 * sizeof word + 1);
    status_free(status);
}
END_TEST

START_TEST(codes_are_those_of_grpc) {
    ck_assert_str_eq(code_name(CODE_OK), "OK");
    ck_assert_str_eq(code_name(CANCELLED), "CANCELLED");
    ck_assert_str_eq(code_name(OUT_OF_RANGE), "OUT_OF_RANGE");
    ck_assert_str_eq(code_name((Code)16), "UNAUTHENTICATED");
    ck_assert_str_eq(code_name((Code)17), "UNKNOWN");
    ck_assert_str_eq(code_name((Code)-1), "UNKNOWN");
    ck_assert_int_eq(code_from_errno(ENOENT), NOT_FOUND);
    ck_assert_int_eq(code_from_errno(ENOSPC), RESOURCE_EXHAUSTED);
    ck_assert_int_eq(code_from_errno(12345), UNKNOWN);
    static const struct { int error; Code code; } SAME[] = {
        {ENOTDIR, FAILED_PRECONDITION}, {EPIPE, FAILED_PRECONDITION}, {EBUSY, FAILED_PRECONDITION},
        {EBADF, FAILED_PRECONDITION},
        {EINTR, UNAVAILABLE}, {ECONNABORTED, UNAVAILABLE}, {EHOSTUNREACH, UNAVAILABLE}, {EROFS, PERMISSION_DENIED},
        {ESPIPE, INVALID_ARGUMENT}, {E2BIG, INVALID_ARGUMENT}, {ENODEV, NOT_FOUND}, {EALREADY, ALREADY_EXISTS},
        {EMLINK, RESOURCE_EXHAUSTED}, {EXDEV, UNIMPLEMENTED}, {EDEADLK, ABORTED}, {ESTALE, ABORTED},
        {ETIME, DEADLINE_EXCEEDED}, {EOVERFLOW, OUT_OF_RANGE}, {EIO, UNKNOWN}, {ELOOP, UNKNOWN}, {EPROTO, UNKNOWN}};
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++)
        ck_assert_int_eq(code_from_errno(SAME[i].error), SAME[i].code);
}
END_TEST

START_TEST(checked_arithmetic) {
    size_t n = 5;
    int64_t i = 5;
    ck_assert(!mul_size(SIZE_MAX / 2, 3, &n));
    ck_assert(mul_size(SIZE_MAX / 2, 2, &n));
    ck_assert_uint_eq(n, SIZE_MAX - 1);
    ck_assert(!add_size(SIZE_MAX, 1, &n));
    ck_assert(!mul_i64(INT64_MIN, -1, &i));
    ck_assert(!add_i64(INT64_MAX, 1, &i));
    ck_assert(add_i64(INT64_MAX, INT64_MIN, &i));
    ck_assert_int_eq(i, -1);
    ck_assert_int_eq(div_up(INT64_MAX, 2), INT64_MAX / 2 + 1);
    ck_assert_int_eq(div_up(0, 5), 0);
    ck_assert_int_eq(div_up(6, 3), 2);
    ck_assert_int_eq(div_up(5, 0), 0);
    ck_assert_uint_eq(round_up(65, 64), 128);
    ck_assert_uint_eq(round_up(64, 64), 64);
}
END_TEST

static char heard[100];

static void listen(const char *text) {
    strncpy(heard, text, sizeof heard - 1);
}

START_TEST(log_and_clock) {
    log_listen(listen);
    log_write(LOG_INFO, "step %d", 3);
    ck_assert_str_eq(heard, "step 3");
    log_listen(NULL);
    log_write(LOG_ERROR, "unheard");
    ck_assert_str_eq(heard, "step 3");
    int64_t before = clock_now();
    ck_assert_int_le(before, clock_now());
    ck_assert_int_gt(clock_wall(), 1600000000000000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("status");
    TCase *cases = tcase_create("status");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, words);
    tcase_add_test(cases, prefix_copy_and_code);
    tcase_add_test(cases, long_messages_stay_whole);
    tcase_add_test(cases, codes_are_those_of_grpc);
    tcase_add_test(cases, checked_arithmetic);
    tcase_add_test(cases, log_and_clock);
    return run_suite(suite);
}
