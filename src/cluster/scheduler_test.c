// Scheduler tests — what each scheduler tells, hosts in Slurm's notation, jobs, and what is refused.
#include "cluster/scheduler.h"

#include <check.h>

#include "base/status_test.h"
#include "base/suite_test.h"

static const char *const (*environment)[2];

static char *variable(const char *name) {
    for (int i = 0; environment[i][0]; i++)
        if (strcmp(environment[i][0], name) == 0)
            return (char *)environment[i][1];
    return NULL;
}

#define ENVIRONMENT(...) environment = (const char *const[][2]){__VA_ARGS__, {NULL, NULL}}

static void expect(const char *jobs, const char *hosts, const char *wanted) {
    Text text = {0};
    GOOD(scheduler_cluster(variable, str_of(jobs), str_of(hosts), 2222, &text));
    ck_assert_str_eq(text.p, wanted);
    text_clear(&text);
}

static void refused(const char *jobs, const char *hosts, Code code, const char *words) {
    Text text = {0};
    Status *status = scheduler_cluster(variable, str_of(jobs), str_of(hosts), 2222, &text);
    ck_assert_msg(status_code(status) == code && strstr(status_message(status), words), "%s", status_message(status));
    status_free(status);
    text_clear(&text);
}

START_TEST(slurm) {
    ENVIRONMENT({"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "9"}, {"SLURM_STEP_NUM_TASKS", "5"},
                {"SLURM_STEP_NODELIST", "n[08-09],m"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"});
    expect("ps=2,worker", "",
           "{\"cluster\": {\"ps\": [\"n08:2222\", \"n08:2223\"], \"worker\": [\"n09:2222\", \"n09:2223\", \"m:2222\"]}, "
           "\"task\": {\"type\": \"worker\", \"index\": 0}}");
    refused("ps=5,worker", "", INVALID_ARGUMENT, "the jobs take 5 processes and more, there are 5");
    refused("ps=2,worker=2", "", INVALID_ARGUMENT, "the jobs take 4 processes, there are 5");
    refused("ps=2,worker", "a,b", INVALID_ARGUMENT, "5 processes don't share 2 hosts evenly");
    ENVIRONMENT({"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}, {"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "2"});
    refused("", "", INVALID_ARGUMENT, "2 in all; there are 3");
}
END_TEST

START_TEST(mpi) {
    ENVIRONMENT({"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_NODELIST", "a"});
    expect("", "", "{\"cluster\": {\"worker\": [\"localhost:2222\", \"localhost:2223\"]}, "
                   "\"task\": {\"type\": \"worker\", \"index\": 1}}");
    ENVIRONMENT({"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}, {"SLURM_JOB_NODELIST", "x[1,3]"});
    expect("chief=1,worker", "",
           "{\"cluster\": {\"chief\": [\"x1:2222\"], \"worker\": [\"x1:2223\", \"x3:2222\", \"x3:2223\"]}, "
           "\"task\": {\"type\": \"worker\", \"index\": 2}}");
    ENVIRONMENT({"PMI_RANK", "3"}, {"PMI_SIZE", "4"});
    refused("", "", INVALID_ARGUMENT, "name the hosts");
    ENVIRONMENT({"PMI_RANK", "4"}, {"PMI_SIZE", "4"});
    refused("", "a", INVALID_ARGUMENT, "process 4 of 4");
    ENVIRONMENT({"PMI_RANK", "x"}, {"PMI_SIZE", "4"});
    refused("", "a", INVALID_ARGUMENT, "PMI_RANK is 'x'");
}
END_TEST

START_TEST(kubernetes) {
    ENVIRONMENT({"JOB_COMPLETION_INDEX", "1"});
    expect("ps=1,worker", "train-[0-2].train",
           "{\"cluster\": {\"ps\": [\"train-0.train:2222\"], \"worker\": [\"train-1.train:2222\", \"train-2.train:2222\"]}, "
           "\"task\": {\"type\": \"worker\", \"index\": 0}}");
    refused("ps=1,worker", "", INVALID_ARGUMENT, "name the hosts");
    ENVIRONMENT({"HOME", "/"});
    refused("ps=1,worker", "a", NOT_FOUND, "no scheduler");
}
END_TEST

START_TEST(what_is_no_host) {
    static const char *const bad[] = {"a[", "a[1", "a]1[", "a[2-1]", "a[x]", "a[]b,", "a b", "a,,b", "\"", "a[1-99999999]"};
    ENVIRONMENT({"JOB_COMPLETION_INDEX", "0"});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Text text = {0};
        Status *status = scheduler_cluster(variable, STR("worker"), str_of(bad[i]), 2222, &text);
        ck_assert_msg(status_code(status) == INVALID_ARGUMENT, "%s", bad[i]);
        status_free(status);
        text_clear(&text);
    }
    refused("worker", "n[0-9][0-9][0-9][0-9][0-9]", INVALID_ARGUMENT, "more than 65536 hosts");
    refused("a,b", "x", INVALID_ARGUMENT, "both take the rest");
    refused("a=0", "x", INVALID_ARGUMENT, "expected a number from 1");
    refused("=1", "x", INVALID_ARGUMENT, "no job's name");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("scheduler");
    TCase *tests = tcase_create("tests");
    tcase_add_test(tests, slurm);
    tcase_add_test(tests, mpi);
    tcase_add_test(tests, kubernetes);
    tcase_add_test(tests, what_is_no_host);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
