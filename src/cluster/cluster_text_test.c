// Cluster text tests — both forms, what wins, and what is refused.
#include "cluster/cluster_text.h"

#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"

static Arena arena;

static const ServerDef *parsed(const char *text, const char *job, int task, int port) {
    ServerDef *def;
    GOOD(cluster_text_parse(str_of(text), job, task, port, &arena, &def));
    return def;
}

static void expect_two_jobs(const ServerDef *def) {
    ck_assert_uint_eq(def->cluster->job.n, 2);
    ck_assert(str_is(def->cluster->job.p[0].name, "ps"));
    const JobDef *workers = &def->cluster->job.p[1];
    ck_assert(str_is(workers->name, "worker"));
    ck_assert_uint_eq(workers->tasks.n, 2);
    ck_assert(str_is(workers->tasks.p[1].value, "c:3"));
}

START_TEST(both_forms_say_the_same) {
    const ServerDef *def = parsed(" ps=a:1;worker=b:2,c:3\n", "worker", 1, 0);
    expect_two_jobs(def);
    ck_assert(str_is(def->job_name, "worker"));
    ck_assert_int_eq(def->task_index, 1);
    const char *config = "{\"cluster\": {\"ps\": [\"a:1\"], \"worker\": [\"b:2\", \"c:3\"]},"
                         " \"task\": {\"type\": \"ps\", \"index\": \"0\"}, \"environment\": \"cloud\"}";
    def = parsed(config, NULL, -1, 77);
    expect_two_jobs(def);
    ck_assert(str_is(def->job_name, "ps"));
    ck_assert_int_eq(def->port, 77);
    def = parsed(config, "worker", 1, 0);
    ck_assert(str_is(def->job_name, "worker"));
    ck_assert_int_eq(def->task_index, 1);
    def = parsed("{\"ps\": [\"a:1\"], \"worker\": {\"0\": \"b:2\", \"7\": \"c:3\"}}", "ps", 0, 0);
    expect_two_jobs(def);
    ck_assert_int_eq(def->cluster->job.p[1].tasks.p[1].key, 7);
    def = parsed("", NULL, -1, 0);
    ck_assert(str_is(def->job_name, "local"));
    ck_assert(str_is(def->cluster->job.p[0].tasks.p[0].value, "localhost:0"));
    arena_clear(&arena);
}
END_TEST

START_TEST(what_means_nothing_is_refused) {
    static const char *const bad[] = {
        "worker", "=a:1", "worker=", "worker=a:1,,b:2", "ps=a:1;worker=b:2", "{", "{}", "{\"cluster\": []}",
        "{\"worker\": \"a:1\"}", "{\"worker\": [1]}", "{\"worker\": {\"x\": \"a:1\"}}", "{\"worker\": {\"-1\": \"a:1\"}}",
        "{\"task\": {\"type\": \"worker\"}}", "{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"index\": \"x\"}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ServerDef *def;
        Status *status = cluster_text_parse(str_of(bad[i]), NULL, -1, 0, &arena, &def);
        ck_assert_msg(status_code(status) == INVALID_ARGUMENT, "%s", bad[i]);
        status_free(status);
    }
    arena_clear(&arena);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cluster text");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, both_forms_say_the_same);
    tcase_add_test(tests, what_means_nothing_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
