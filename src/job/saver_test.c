// Saver tests — what is kept, what is let go, and what is found where files were damaged.
#include "job/saver_test.h"

#include <unistd.h>

#include "base/suite_test.h"

static char folder[] = "/tmp/saver_test_XXXXXX";

static Saver *open_with(SaverPolicy policy, const char *part) {
    static char path[sizeof folder + 64];
    Saver *saver;
    snprintf(path, sizeof path, "%s/%s", folder, part);
    policy.folder = str_of(path);
    GOOD(saver_new(&policy, &saver));
    return saver;
}

static Str in_folder(const char *name) {
    static char path[sizeof folder + 96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return str_of(path);
}

static int count(const char *pattern) {
    DiskPaths paths = {0};
    GOOD(disk_match(in_folder(pattern), &paths));
    int n = (int)paths.paths.n;
    disk_paths_clear(&paths);
    return n;
}

static void expect_latest(Saver *saver, int64_t step, int lines) {
    AUTO(text) Text prefix = {0};
    AUTO(text) Text skipped = {0};
    GOOD(saver_latest(saver, &prefix, &skipped));
    ck_assert_int_eq(toy_step(text_str(&prefix)), step);
    int found = 0;
    for (size_t i = 0; i < skipped.n; i++)
        found += skipped.p[i] == '\n';
    ck_assert_int_eq(found, lines);
}

START_TEST(keeps_the_newest) {
    Saver *saver = open_with((SaverPolicy){.keep = 2}, "newest");
    for (int64_t step = 1; step <= 5; step++)
        GOOD(toy_save(saver, step, NAN));
    ck_assert_int_eq(count("newest/*.index"), 2);
    ck_assert_int_eq(count("newest/*"), 5);
    expect_latest(saver, 5, 0);
    saver_free(saver);
    saver = open_with((SaverPolicy){.keep = 2}, "newest");  // another process goes on
    GOOD(toy_save(saver, 6, NAN));
    ck_assert_int_eq(count("newest/*.index"), 2);
    expect_latest(saver, 6, 0);
    saver_free(saver);
}
END_TEST

START_TEST(keeps_the_best) {
    static const double accuracy[] = {0.5, 0.9, 0.7, 0.6, 0.8, 0.1};
    SaverPolicy policy = {.keep = 1, .keep_best = 2};
    Saver *saver = open_with(policy, "best");
    for (int i = 0; i < 6; i++)
        GOOD(toy_save(saver, i, accuracy[i]));
    ck_assert_int_eq(count("best/*.index"), 3);  // 0.9, 0.8 and the last
    saver_free(saver);
    saver = open_with(policy, "best");
    AUTO(text) Text prefix = {0};
    GOOD(saver_best(saver, &prefix));
    ck_assert_int_eq(toy_step(text_str(&prefix)), 1);
    ck_assert_int_eq(count("best/best"), 1);
    GOOD(toy_save(saver, 7, 0.95));
    ck_assert_int_eq(count("best/*.index"), 2);  // 0.8 is third now: 0.9 and 0.95, which is the last, too
    saver_free(saver);
}
END_TEST

START_TEST(keeps_one_in_some_hours) {
    Saver *saver = open_with((SaverPolicy){.keep = 1, .keep_hours = 1e-7}, "hours");  // every 0.36 ms
    for (int64_t step = 1; step <= 4; step++) {
        GOOD(toy_save(saver, step, NAN));
        usleep(2000);
    }
    ck_assert_int_ge(count("hours/*.index"), 3);
    saver_free(saver);
}
END_TEST

static void damage(const char *name, long at) {
    FILE *file = fopen(in_folder(name).p, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, at, SEEK_SET);
    fputc(0x55, file);
    fclose(file);
}

START_TEST(damaged_ones_are_passed_over) {
    Saver *saver = open_with((SaverPolicy){.keep = 0}, "damaged");
    for (int64_t step = 1; step <= 4; step++)
        GOOD(toy_save(saver, step, NAN));
    damage("damaged/model-4.data-00000-of-00001", 5000);
    expect_latest(saver, 3, 1);
    ck_assert_int_eq(truncate(in_folder("damaged/model-3.index").p, 20), 0);
    expect_latest(saver, 2, 2);
    unlink(in_folder("damaged/model-2.data-00000-of-00001").p);
    expect_latest(saver, 1, 3);
    saver_free(saver);
    damage("damaged/checkpoint", 0);  // no list any more
    saver = open_with((SaverPolicy){.keep = 0}, "damaged");
    expect_latest(saver, 1, 3);
    unlink(in_folder("damaged/model-1.index").p);
    AUTO(text) Text prefix = {0};
    AUTO(text) Text skipped = {0};
    Status *status = saver_latest(saver, &prefix, &skipped);
    ck_assert_int_eq(status_code(status), NOT_FOUND);
    status_free(status);
    saver_free(saver);
}
END_TEST

START_TEST(later) {
    Saver *saver = open_with((SaverPolicy){.keep = 3}, "later");
    for (int64_t step = 1; step <= 4; step++) {
        NamedTensor tensors[TOY_TENSORS];
        toy_make(step, tensors);
        GOOD(saver_save_later(saver, step, NAN, tensors, TOY_TENSORS));
        toy_clear(tensors);
    }
    GOOD(saver_wait(saver));
    expect_latest(saver, 4, 0);
    saver_free(saver);
    saver = open_with((SaverPolicy){.keep = 3}, "none/../later");  // a folder that can't be made
    NamedTensor tensors[TOY_TENSORS];
    toy_make(5, tensors);
    FILE *file = fopen(in_folder("none").p, "w");
    fclose(file);
    GOOD(saver_save_later(saver, 5, NAN, tensors, TOY_TENSORS));
    toy_clear(tensors);
    Status *status = saver_wait(saver);
    ck_assert_ptr_nonnull(status);
    status_free(status);
    saver_free(saver);
}
END_TEST

START_TEST(state_file) {
    Saver *saver = open_with((SaverPolicy){.keep = 5, .name = STR("net")}, "state");
    GOOD(toy_save(saver, 10, NAN));
    GOOD(toy_save(saver, 20, NAN));
    saver_free(saver);
    AUTO(text) Text text = {0};
    GOOD(disk_read(in_folder("state/checkpoint"), &text));
    const char *wanted = "model_checkpoint_path: \"net-20\"\nall_model_checkpoint_paths: \"net-10\"\n"
                         "all_model_checkpoint_paths: \"net-20\"\nall_model_checkpoint_timestamps: ";
    ck_assert_msg(strncmp(text.p, wanted, strlen(wanted)) == 0, "%s", text.p);
}
END_TEST

int main(void) {
    if (!mkdtemp(folder))
        return 2;
    Suite *suite = suite_create("saver");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, keeps_the_newest);
    tcase_add_test(tests, keeps_the_best);
    tcase_add_test(tests, keeps_one_in_some_hours);
    tcase_add_test(tests, damaged_ones_are_passed_over);
    tcase_add_test(tests, later);
    tcase_add_test(tests, state_file);
    suite_add_tcase(suite, tests);
    int failed = run_suite(suite);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failed;
}
