// RecentIds tests — each id once, as long as it is among the last ten thousand.
#include <check.h>
#include <stdlib.h>

#include "base/suite_test.h"
#include "cluster/recent_ids.h"

START_TEST(ids_come_once) {
    RecentIds *recent = calloc(1, sizeof *recent);
    recent_ids_init(recent);
    ck_assert(recent_ids_add(recent, 7));
    ck_assert(!recent_ids_add(recent, 7));
    ck_assert(recent_ids_add(recent, -7));
    for (int i = 0; i < 3; i++)
        ck_assert(recent_ids_add(recent, 0));  // none was given
    ck_assert(!recent_ids_add(recent, 7));
    for (int64_t i = 1; i <= RECENT_IDS; i++)
        ck_assert(recent_ids_add(recent, i * 1000003));
    ck_assert(!recent_ids_add(recent, 1000003));
    ck_assert(recent_ids_add(recent, 7));  // long ago
    ck_assert(recent_ids_add(recent, 1000003));  // whose place 7 took
    for (int64_t i = 3; i <= RECENT_IDS; i++)
        ck_assert(!recent_ids_add(recent, i * 1000003));
    recent_ids_clear(recent);
    free(recent);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("recent ids");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, ids_come_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
