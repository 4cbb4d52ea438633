// [threads] Blocks test — what comes back is given again, never more than was out at once, and nothing once it is
// trimmed.
#include "tensor/blocks.h"

#include <check.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suite_test.h"

enum { MIB = 1 << 20 };

static void *take(size_t bytes, size_t *out_bytes) {
    void *block = blocks_take(bytes, out_bytes);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_ge(*out_bytes, bytes);
    memset(block, 1, bytes);
    return block;
}

// Under the address sanitizer every block is the system's.
static bool keeps(void) {
    size_t bytes;
    void *first = take(MIB, &bytes);
    blocks_give(first, bytes);
    return blocks_use().idle > 0;
}

START_TEST(the_same_comes_again) {
    blocks_trim();
    if (!keeps())
        return;
    blocks_trim();
    size_t bytes, again;
    void *block = take(3 * MIB + 1, &bytes);
    ck_assert_uint_le(bytes, (3 * MIB + 1) / 8 * 9);
    size_t fresh = blocks_use().fresh;
    blocks_give(block, bytes);
    ck_assert_uint_eq(blocks_use().idle, bytes);
    ck_assert_ptr_eq(take(3 * MIB + 1, &again), block);
    ck_assert_uint_eq(again, bytes);
    ck_assert_uint_eq(blocks_use().fresh, fresh);
    blocks_give(block, bytes);
    blocks_trim();
    ck_assert_uint_eq(blocks_use().idle, 0);
    ck_assert_uint_eq(blocks_use().taken, 0);
}
END_TEST

// One after the other, each of another size: never is more held than the largest of them.
START_TEST(the_peak_stays) {
    blocks_trim();
    size_t largest = 0;
    for (int i = 0; i < 40; i++) {
        size_t bytes;
        void *block = take((size_t)(1 + i * 7 % 40) * MIB / 4, &bytes);
        largest = bytes > largest ? bytes : largest;
        BlocksUse use = blocks_use();
        ck_assert_uint_le(use.idle + use.taken, largest);
        blocks_give(block, bytes);
    }
    blocks_trim();
}
END_TEST

START_TEST(a_larger_one_will_do) {
    blocks_trim();
    if (!keeps())
        return;
    size_t bytes, less;
    void *block = take(2 * BLOCKS_LARGE, &bytes);
    blocks_give(block, bytes);
    ck_assert_ptr_eq(take(BLOCKS_LARGE + BLOCKS_LARGE / 8, &less), block);
    ck_assert_uint_eq(less, bytes);
    blocks_give(block, less);
    blocks_trim();
}
END_TEST

START_TEST(absurd_sizes_are_refused) {
    size_t bytes;
    ck_assert_ptr_null(blocks_take(SIZE_MAX, &bytes));
    ck_assert_ptr_null(blocks_take(SIZE_MAX / 2, &bytes));
    ck_assert_ptr_null(blocks_take((size_t)1 << 55, &bytes));
}
END_TEST

static void *takes_and_gives(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < 2000; i++) {
        size_t bytes;
        seed = seed * 1664525u + 1013904223u;
        char *block = blocks_take((64 << 10) + (seed >> 14), &bytes);
        ck_assert_ptr_nonnull(block);
        block[0] = block[bytes - 1] = (char)i;
        blocks_give(block, bytes);
    }
    return NULL;
}

START_TEST(threads_meet) {
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, takes_and_gives, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(blocks_use().taken, 0);
    blocks_trim();
}
END_TEST

START_TEST(a_forked_child_goes_on) {
    size_t bytes;
    void *first = take(MIB, &bytes);
    blocks_give(first, bytes);
    pid_t child = fork();
    if (!child) {
        void *block = blocks_take(MIB, &bytes);
        blocks_give(block, bytes);
        _exit(block ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("blocks");
    TCase *tests = tcase_create("blocks");
    tcase_add_test(tests, the_same_comes_again);
    tcase_add_test(tests, the_peak_stays);
    tcase_add_test(tests, a_larger_one_will_do);
    tcase_add_test(tests, absurd_sizes_are_refused);
    tcase_add_test(tests, threads_meet);
    tcase_add_test(tests, a_forked_child_goes_on);
    suite_add_tcase(s, tests);
    return run_suite(s);
}
