// Arena test — alignment, limits, zeroed memory; and the growing array.
#include <check.h>

#include "base/str.h"
#include "base/suite_test.h"
#include "base/vec.h"

// What is too much must be refused by us, not by the address sanitizer.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

START_TEST(memory_is_zeroed_aligned_and_apart) {
    Arena arena = {0};
    unsigned char *before = NULL;
    for (size_t i = 0; i < 3000; i++) {
        size_t bytes = i * 7 % 300, alignment = (size_t)1 << i % 9;
        unsigned char *p = arena_aligned(&arena, bytes, alignment);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % alignment, 0);
        for (size_t k = 0; k < bytes; k++)
            ck_assert_uint_eq(p[k], 0);
        memset(p, 0xff, bytes);
        if (before)
            ck_assert(before[0] == 0xff);
        before = bytes ? p : before;
    }
    ck_assert_uint_gt(arena.used, 400000);
    arena_clear(&arena);
    ck_assert_uint_eq(arena.used, 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 0));
    ck_assert_uint_eq((uintptr_t)arena_alloc(&arena, 1) % 16, 0);
    arena_clear(&arena);
}
END_TEST

START_TEST(limits_hold) {
    Arena arena = {.limit = 1000};
    ck_assert_ptr_nonnull(arena_alloc(&arena, 600));
    ck_assert_ptr_null(arena_alloc(&arena, 401));
    ck_assert_ptr_nonnull(arena_alloc(&arena, 400));
    ck_assert_ptr_null(arena_alloc(&arena, 1));
    arena_clear(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 1000));
    arena_clear(&arena);
    Arena free_arena = {0};
    ck_assert_ptr_null(arena_alloc(&free_arena, SIZE_MAX));
    ck_assert_ptr_null(arena_alloc(&free_arena, SIZE_MAX - 100));
    ck_assert_ptr_null(ARENA_ARRAY(&free_arena, int64_t, SIZE_MAX / 4));
    ck_assert_ptr_null(arena_copy(&free_arena, "", SIZE_MAX));
    ck_assert_ptr_nonnull(arena_alloc(&free_arena, 3 << 20));
    ck_assert_str_eq(arena_copy(&free_arena, "abc", 2), "ab");
    arena_clear(&free_arena);
}
END_TEST

START_TEST(vec_grows_and_keeps) {
    VEC(int) numbers = {0};
    for (int i = 0; i < 1000; i++)
        ck_assert(vec_push(&numbers, i));
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(numbers.p[i], i);
    ck_assert_int_eq(vec_last(&numbers), 999);
    ck_assert_uint_lt(numbers.room, 2100);
    size_t room = numbers.room;
    ck_assert(vec_reserve(&numbers, 10));
    ck_assert_uint_eq(numbers.room, room);
    ck_assert(!vec_reserve(&numbers, SIZE_MAX / 2));
    ck_assert_uint_eq(numbers.n, 1000);
    vec_clear(&numbers);
    ck_assert_ptr_null(numbers.p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("arena");
    TCase *cases = tcase_create("arena");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, memory_is_zeroed_aligned_and_apart);
    tcase_add_test(cases, limits_hold);
    tcase_add_test(cases, vec_grows_and_keeps);
    return run_suite(suite);
}
