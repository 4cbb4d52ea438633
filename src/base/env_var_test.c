// EnvVar test — words one by one and in lists, numbers in them, and what is refused.
#include "base/env_var.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"

static const char *switch_name(int i) {
    static const char *const names[] = {"first", "second", NULL};
    return names[i];
}

static const EnvVar one = {"MILLRACE_TEST", "low high", false, NULL},
                    many = {"MILLRACE_TEST", "order late every:N", true, switch_name};

static void set(const char *value) {
    setenv("MILLRACE_TEST", value, 1);
}

START_TEST(words_become_bits) {
    unsetenv("MILLRACE_TEST");
    ck_assert_uint_eq(env_var_read(&one, NULL), 0);
    set("high");
    ck_assert_uint_eq(env_var_read(&one, NULL), 2);
    set("low,high");  // one word only
    ck_assert_uint_eq(env_var_read(&one, NULL), 0);
    uint32_t number = 5;
    set("late,order");
    ck_assert_uint_eq(env_var_read(&many, &number), 3);
    ck_assert_uint_eq(number, 5);
    set(",every:4294967295,,other,late,");
    ck_assert_uint_eq(env_var_read(&many, &number), 6);
    ck_assert_uint_eq(number, UINT32_MAX);
    ck_assert_uint_eq(env_var_read(&many, NULL), 6);
    set("-second,late,second,-");
    ck_assert_uint_eq(env_var_read(&many, NULL), 2 + 16);
}
END_TEST

START_TEST(unset_and_empty_are_fine) {
    unsetenv("MILLRACE_TEST");
    ck_assert_ptr_null(env_var_check(&one));
    set("");
    ck_assert_ptr_null(env_var_check(&one));
    ck_assert_ptr_null(env_var_check(&many));
    set("low");
    ck_assert_ptr_null(env_var_check(&one));
    set("order,every:0");
    ck_assert_ptr_null(env_var_check(&many));
}
END_TEST

static void refused(const EnvVar *variable, const char *value, const char *message) {
    set(value);
    Status *status = env_var_check(variable);
    ck_assert_ptr_nonnull(status);
    ck_assert_int_eq(status_code(status), INVALID_ARGUMENT);
    ck_assert_str_eq(status_message(status), message);
    status_free(status);
}

START_TEST(other_words_are_refused) {
    refused(&one, "LOW", "the environment says MILLRACE_TEST=LOW: 'LOW' means nothing, allowed are low and high");
    refused(&one, "low,high", "the environment says MILLRACE_TEST=low,high: 'low,high' means nothing, allowed are low and "
            "high");
    refused(&many, "late,often", "the environment says MILLRACE_TEST=late,often: 'often' means nothing, allowed are order, "
            "late, every:N, -first and -second, with commas between");
    static const char *const values[] = {"every", "every:", "every:N", "every:-1", "every:4294967296", "every:2x", "lat", "late "};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char message[200];
        snprintf(message, sizeof message, "the environment says MILLRACE_TEST=%s: '%s' means nothing, allowed are order, "
                 "late, every:N, -first and -second, with commas between", values[i], values[i]);
        refused(&many, values[i], message);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("env_var");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, words_become_bits);
    tcase_add_test(tests, unset_and_empty_are_fine);
    tcase_add_test(tests, other_words_are_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
