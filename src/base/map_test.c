// Map test — against a plain list, through growth and removal.
#include <check.h>
#include <stdio.h>

#include "base/map.h"
#include "base/suite_test.h"

enum { KEYS = 2000 };

static char names[KEYS][16];
static bool in[KEYS];

static Str key(int i) {
    return str_of(names[i]);
}

static void agree(const Map *map) {
    size_t n = 0, visited = 0, at = 0;
    for (int i = 0; i < KEYS; i++) {
        n += in[i];
        ck_assert_ptr_eq(map_find(map, key(i)), in[i] ? names[i] : NULL);
    }
    ck_assert_uint_eq(map->n, n);
    Str found;
    void *value;
    while (map_next(map, &at, &found, &value)) {
        ck_assert(str_is(found, value));
        visited++;
    }
    ck_assert_uint_eq(visited, n);
}

START_TEST(behaves_as_a_list_of_pairs) {
    Map map = {0};
    agree(&map);
    ck_assert_ptr_null(map_take(&map, STR("x")));
    unsigned random = 1;
    for (int i = 0; i < KEYS; i++)
        snprintf(names[i], sizeof names[i], "key%d", i);
    for (int step = 0; step < 20000; step++) {
        random = random * 1103515245 + 12345;
        int i = (int)(random >> 8) % KEYS;
        if (random >> 30) {
            ck_assert(map_set(&map, key(i), names[i]));
            in[i] = true;
        } else {
            ck_assert_ptr_eq(map_take(&map, key(i)), in[i] ? names[i] : NULL);
            in[i] = false;
        }
        if (step % 2000 == 0)
            agree(&map);
    }
    agree(&map);
    map_clear(&map);
    ck_assert_uint_eq(map.n, 0);
}
END_TEST

START_TEST(replaces_and_takes_any_bytes) {
    Map map = {0};
    int one, two;
    Str odd[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"a\0b", 3}, {"a\0c", 3}, {"12345678", 8}, {"123456789", 9}};
    size_t n = sizeof odd / sizeof *odd;
    for (size_t i = 0; i < n; i++)
        ck_assert(map_set(&map, odd[i], &one));
    ck_assert_uint_eq(map.n, n);
    ck_assert(map_set(&map, odd[3], &two));
    ck_assert_uint_eq(map.n, n);
    ck_assert_ptr_eq(map_find(&map, odd[3]), &two);
    ck_assert_ptr_eq(map_find(&map, odd[4]), &one);
    ck_assert_uint_ne(hash_bytes("ab", 2, 0), hash_bytes("ab", 2, 1));
    map_clear(&map);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("map");
    TCase *cases = tcase_create("map");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, behaves_as_a_list_of_pairs);
    tcase_add_test(cases, replaces_and_takes_any_bytes);
    return run_suite(suite);
}
