// Json tests — every kind of value, and what is none.
#include "base/json.h"

#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"

static Arena arena;

static Json *parsed(const char *text) {
    Json *value;
    GOOD(json_parse(&arena, str_of(text), &value));
    return value;
}

START_TEST(values_of_every_kind) {
    const Json *v = parsed(" {\"a\" : [1, -0.5e+3, \"x\\n\\u00e9\\ud83d\\ude00\", true, false, null, [], {}], \"b\":2,\"b\":\"3\"} ");
    ck_assert_int_eq(v->kind, JSON_OBJECT);
    const Json *a = json_member(v, "a");
    ck_assert_int_eq(a->kind, JSON_LIST);
    static const JsonKind kinds[] = {JSON_NUMBER, JSON_NUMBER, JSON_TEXT, JSON_TRUE, JSON_FALSE, JSON_NULL, JSON_LIST,
                                     JSON_OBJECT};
    const Json *item = a->first;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++, item = item->next) {
        ck_assert_int_eq(item->kind, kinds[i]);
        ck_assert(i != 1 || str_is(item->text, "-0.5e+3"));
        ck_assert(i != 2 || str_is(item->text, "x\n\xc3\xa9\xf0\x9f\x98\x80"));
    }
    ck_assert_ptr_null(item);
    ck_assert(str_is(json_member(v, "b")->text, "3"));  // the last wins
    ck_assert_ptr_null(json_member(v, "c"));
    ck_assert_ptr_null(json_member(a, "a"));
    arena_clear(&arena);
}
END_TEST

START_TEST(everything_else_is_refused) {
    static const char *const bad[] = {"", "{", "[1,]", "[1 2]", "{\"a\"}", "{a:1}", "\"x", "\"\\q\"", "\"\\u12g4\"",
                                      "\"\\ud800\"", "\"\\udc00\"", "01", "1.", "1e", "-", "+1", "nul", "1 2", "\"\n\"", "[1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Json *value;
        Status *status = json_parse(&arena, str_of(bad[i]), &value);
        ck_assert_msg(status_code(status) == INVALID_ARGUMENT, "%s", bad[i]);
        status_free(status);
    }
    char deep[100] = {0};
    memset(deep, '[', 99);
    Json *value;
    Status *status = json_parse(&arena, str_of(deep), &value);
    ck_assert_int_eq(status_code(status), RESOURCE_EXHAUSTED);
    status_free(status);
    arena_clear(&arena);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, values_of_every_kind);
    tcase_add_test(tests, everything_else_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
