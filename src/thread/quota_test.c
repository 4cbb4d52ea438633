// Quota test — control groups of both versions, as files below a folder of our own.
#include "thread/quota.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/suite_test.h"
#include "thread/pool.h"

static char root[64];

static void make_root(void) {
    strcpy(root, "/tmp/millrace_quota_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

START_TEST(no_group_is_no_quota) {
    make_root();
    ck_assert_int_eq(quota_processors(root), 0);
    put("/proc/self/cgroup", "0::/\n");
    ck_assert_int_eq(quota_processors(root), 0);
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    ck_assert_int_eq(quota_processors(root), 0);
    put("/sys/fs/cgroup/cpu.max", "no number\n");
    ck_assert_int_eq(quota_processors(root), 0);
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    ck_assert_int_eq(quota_processors(root), 0);
    put("/proc/self/cgroup", "nonsense\n::\n0:\n");
    ck_assert_int_eq(quota_processors(root), 0);
    remove_root();
}
END_TEST

START_TEST(version_2_is_rounded_up) {
    make_root();
    put("/proc/self/cgroup", "0::/pod/app\n");
    put("/sys/fs/cgroup/pod/app/cpu.max", "150000 100000\n");
    ck_assert_int_eq(quota_processors(root), 2);
    put("/sys/fs/cgroup/pod/app/cpu.max", "50000 100000\n");
    ck_assert_int_eq(quota_processors(root), 1);
    put("/sys/fs/cgroup/pod/app/cpu.max", "800000 200000\n");
    ck_assert_int_eq(quota_processors(root), 4);
    remove_root();
}
END_TEST

START_TEST(the_least_of_all_above_counts) {
    make_root();
    put("/proc/self/cgroup", "0::/pod/app\n");
    put("/sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/pod/cpu.max", "300000 100000\n");
    ck_assert_int_eq(quota_processors(root), 3);
    put("/sys/fs/cgroup/pod/app/cpu.max", "100000 100000\n");
    ck_assert_int_eq(quota_processors(root), 1);
    // What a container sees of the tree begins at its own group, under another name.
    put("/proc/self/cgroup", "0::/of/the/host/../elsewhere\n");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    ck_assert_int_eq(quota_processors(root), 2);
    remove_root();
}
END_TEST

START_TEST(version_1) {
    make_root();
    put("/proc/self/cgroup", "5:cpuset:/a\n4:cpu,cpuacct:/docker/x\n0::/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(quota_processors(root), 3);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    ck_assert_int_eq(quota_processors(root), 0);
    put("/proc/self/cgroup", "1:cpu:/\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(quota_processors(root), 1);
    remove_root();
}
END_TEST

START_TEST(the_pool_obeys_it) {
    int here = quota_processors("");
    if (here)
        ck_assert_int_le(pool_cpu_count(), here);
    ck_assert_int_ge(pool_cpu_count(), 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("quota");
    TCase *cases = tcase_create("quota");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, no_group_is_no_quota);
    tcase_add_test(cases, version_2_is_rounded_up);
    tcase_add_test(cases, the_least_of_all_above_counts);
    tcase_add_test(cases, version_1);
    tcase_add_test(cases, the_pool_obeys_it);
    return run_suite(suite);
}
