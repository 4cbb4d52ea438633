// Client error test — the line with the node comes once, and only where there is a node.
#include "cluster/client_error.h"

#include "base/suite_test.h"

static const struct {
    const char *message, *expected;
} texts[] = {
    {"{{node a/b}} (Add): bad", "{{node a/b}} (Add): bad\n\t [[{{node a/b}}]]"},
    {"{{node f}} (Call): {{node x}} (Add): bad", "{{node f}} (Call): {{node x}} (Add): bad\n\t [[{{node f}}]]"},
    {"bad\n\t [[{{node a}}]]", "bad\n\t [[{{node a}}]]"},
    {"no node", "no node"},
    {"cut {{node a", "cut {{node a"},
    {"", ""},
};

START_TEST(an_error_ends_with_its_node) {
    Status *status = client_error(status_new(OUT_OF_RANGE, __FILE__, __LINE__, "%s", texts[_i].message));
    ck_assert_int_eq(status_code(status), OUT_OF_RANGE);
    ck_assert_str_eq(status_message(status), texts[_i].expected);
    status_free(status);
}
END_TEST

START_TEST(ok_stays_ok) {
    ck_assert_ptr_null(client_error(OK));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("client_error");
    TCase *texts_case = tcase_create("texts");
    tcase_add_loop_test(texts_case, an_error_ends_with_its_node, 0, sizeof texts / sizeof *texts);
    tcase_add_test(texts_case, ok_stays_ok);
    suite_add_tcase(suite, texts_case);
    return run_suite(suite);
}
