// Str test — views, integers, growing text, numbers and the byte cursor.
#include <check.h>
#include <float.h>
#include <math.h>

#include "base/cursor.h"
#include "base/number.h"
#include "base/suite_test.h"

START_TEST(views_compare) {
    ck_assert(str_equal(STR("ab"), str_of("ab")));
    ck_assert(!str_equal(STR("ab"), STR("abc")));
    ck_assert(str_equal((Str){0}, STR("")));
    ck_assert(str_is((Str){"abc", 2}, "ab"));
    ck_assert(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    ck_assert_int_lt(str_compare(STR("a"), STR("b")), 0);
    ck_assert_int_gt(str_compare(STR("ab"), STR("a")), 0);
    ck_assert_int_gt(str_compare(STR("\xff"), STR("a")), 0);
    ck_assert_int_eq(str_compare((Str){0}, STR("")), 0);
    ck_assert_uint_eq(str_of(NULL).n, 0);
}
END_TEST

START_TEST(integers) {
    int64_t n = 5;
    ck_assert(str_to_int(STR("-9223372036854775808"), &n));
    ck_assert_int_eq(n, INT64_MIN);
    ck_assert(str_to_int(STR("9223372036854775807"), &n));
    ck_assert_int_eq(n, INT64_MAX);
    const char *bad[] = {"", "-", "+1", "1 ", " 1", "9223372036854775808", "-9223372036854775809", "0x1", "1.0", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!str_to_int(str_of(bad[i]), &n), "%s", bad[i]);
    ck_assert_int_eq(n, INT64_MAX);
}
END_TEST

START_TEST(text_grows) {
    Text text = {0};
    ck_assert_uint_eq(text_str(&text).n, 0);
    for (int i = 0; i < 1000; i++)
        text_format(&text, "%d,", i);
    text_char(&text, 0);
    text_add(&text, STR("end"));
    ck_assert_uint_eq(text.n, 3894);
    ck_assert_str_eq(text.p + text.n - 3, "end");
    text_clear(&text);
    text.failed = true;
    text_add(&text, STR("x"));
    ck_assert_uint_eq(text.n, 0);
    text_clear(&text);
    ck_assert(!text.failed);

    Arena arena = {0};
    Str made = str_format(&arena, "%s-%d", "a", 7);
    ck_assert(str_is(made, "a-7"));
    ck_assert(str_is(str_copy(&arena, made), "a-7"));
    arena.limit = 4;
    ck_assert_ptr_null(str_format(&arena, "%d", 100000).p);
    arena_clear(&arena);
}
END_TEST

START_TEST(numbers_read) {
    double d = 7;
    float f = 7;
    ck_assert(str_to_double((Str){"-2.5e3x", 6}, &d) && d == -2500);
    ck_assert(str_to_double(STR("inf"), &d) && isinf(d));
    ck_assert(str_to_double(STR("nan"), &d) && isnan(d));
    // Rounds once: through a double this would be 1.
    ck_assert(str_to_float(STR("1.00000005960464477540000000000"), &f) && f == 1.0f + FLT_EPSILON);
    const char *bad[] = {"", " 1", "1 ", "1,5", "abc", "1e", "--1", "1.2.3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!str_to_double(str_of(bad[i]), &d), "%s", bad[i]);
    char digits[2000];
    memset(digits, '1', sizeof digits);
    digits[1] = '.';
    ck_assert(str_to_double((Str){digits, sizeof digits}, &d) && d > 1.1 && d < 1.2);
}
END_TEST

START_TEST(numbers_print_shortest) {
    Text text = {0};
    double values[] = {0.1, 1.0 / 3, 5e-324, DBL_MAX, 123456789, -0.0, 1e22};
    const char *expected[] = {"0.1", "0.3333333333333333", "5e-324", "1.7976931348623157e+308", "123456789", "-0",
                              "1e+22"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double back;
        text_double(&text, values[i]);
        ck_assert(str_to_double(text_str(&text), &back) && back == values[i]);
        if (i != 2)  // of the subnormals it is enough that they come back
            ck_assert_str_eq(text.p, expected[i]);
        text_clear(&text);
    }
    text_float(&text, 0.1f);
    text_char(&text, ' ');
    text_float(&text, FLT_MAX);
    ck_assert_str_eq(text.p, "0.1 3.4028235e+38");
    text_clear(&text);
}
END_TEST

START_TEST(cursor_never_passes_the_end) {
    unsigned char bytes[] = {0x96, 0x01, 0x03, 'a', 'b', 'c', 1, 2, 3, 4};
    Cursor c = cursor_of(bytes, sizeof bytes);
    uint64_t n, wide;
    uint32_t fixed;
    Str s;
    ck_assert(cursor_varint(&c, &n) && n == 150);
    ck_assert(cursor_prefixed(&c, &s) && str_is(s, "abc"));
    ck_assert(!cursor_fixed64(&c, &wide));
    ck_assert(cursor_fixed32(&c, &fixed) && fixed == 0x04030201);
    ck_assert(!cursor_varint(&c, &n) && !cursor_bytes(&c, 1, &s) && cursor_bytes(&c, 0, &s));

    unsigned char most[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    c = cursor_of(most, sizeof most);
    ck_assert(cursor_varint(&c, &n) && n == UINT64_MAX);
    most[9] = 0x81;
    c = cursor_of(most, sizeof most);
    ck_assert(!cursor_varint(&c, &n) && cursor_left(&c) == 10);
    unsigned char longer[] = {0x85, 0x01, 'a'};
    c = cursor_of(longer, sizeof longer);
    ck_assert(!cursor_prefixed(&c, &s) && cursor_left(&c) == 3);
    c = cursor_of(NULL, 5);
    ck_assert(!cursor_varint(&c, &n) && cursor_left(&c) == 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("str");
    TCase *cases = tcase_create("str");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, views_compare);
    tcase_add_test(cases, integers);
    tcase_add_test(cases, text_grows);
    tcase_add_test(cases, numbers_read);
    tcase_add_test(cases, numbers_print_shortest);
    tcase_add_test(cases, cursor_never_passes_the_end);
    return run_suite(suite);
}
