// Memory tests — the order of nodes, what lies in the buffer of what is fetched, and how intervals are packed.
#include <check.h>

#include "plan/specialisation.h"
#include "plan/passes_test.h"

START_TEST(what_one_node_reads_goes_straight_to_it) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(1000));
    Output first = Exp(x), second = Sin(x), more = Neg(first), most = Neg(second);
    GOOD(f->status);
    Session *session = session_with(0, 1);
    Plan *plan = plan_of(session, x, (Output[]){more, most}, 2);
    ck_assert_int_ge(place_of(plan, first), 0);
    ck_assert_int_lt(place_of(plan, first), place_of(plan, more));
    ck_assert_int_lt(place_of(plan, more), place_of(plan, second));
    ck_assert_int_lt(place_of(plan, second), place_of(plan, most));
    plan_release(plan);
    session_free(session);
}
END_TEST

// All of a chain lies in the buffer that is fetched in the end: there is no arena, and each step has its own buffer.
START_TEST(what_dies_into_a_fetched_value_lies_there) {
    Formula *f = &formula;
    Output x = placeholder(SHAPE(-1)), y = Neg(Exp(Neg(x)));
    GOOD(f->status);
    Session *session = session_with(0, 1);
    Plan *plan = plan_of(session, x, &y, 1);
    Tensor value, out[2];
    GOOD(tensor_new(DT_float, SHAPE(1000), &value));
    for (int i = 0; i < 1000; i++)
        ((float *)value.data)[i] = (float)i / 1000;
    const Tensor *fed = &value;
    Specialisation *specialisation;
    GOOD(specialisation_make(plan, &fed, NULL, &specialisation));
    ck_assert_uint_eq(specialisation->packed[HOST_MEMORY].bytes, 0);
    specialisation_release(specialisation);
    StepSignature signature = {.feeds = &x, .fetches = &y, .n_feeds = 1, .n_fetches = 1};
    for (int turn = 0; turn < 2; turn++)
        GOOD(session_run(session, &signature, &run_settings_default, &fed, &out[turn]));
    ck_assert_ptr_ne(out[0].data, out[1].data);
    for (int i = 0; i < 1000; i++) {
        ck_assert_float_eq_tol(((float *)out[0].data)[i], -expf(-(float)i / 1000), 1e-6f);
        ck_assert_float_eq(((float *)out[1].data)[i], ((float *)out[0].data)[i]);
    }
    tensor_clear(&out[0]);
    tensor_clear(&out[1]);
    tensor_clear(&value);
    plan_release(plan);
    session_free(session);
}
END_TEST

START_TEST(packs_memory_to_the_bound) {
    Interval intervals[] = {{0, 1, 64, 0}, {1, 2, 128, 0}, {2, 3, 64, 0}, {0, 3, 256, 0}};
    size_t bytes, bound;
    GOOD(memory_pack(intervals, 4, &bytes, &bound));
    ck_assert_uint_eq(bound, 448);
    ck_assert_uint_eq(bytes, 448);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++) {
            bool together = intervals[a].first <= intervals[b].last && intervals[b].first <= intervals[a].last;
            bool apart = intervals[a].offset + (int64_t)intervals[a].bytes <= intervals[b].offset ||
                         intervals[b].offset + (int64_t)intervals[b].bytes <= intervals[a].offset;
            ck_assert(!together || apart);
        }
}
END_TEST

// The large values of a convnet's training step, in KiB: placed from the largest down they need a tenth more.
START_TEST(packs_where_the_largest_first_miss) {
    Interval intervals[] = {{58, 58, 1600, 0}, {8, 62, 1600, 0},  {50, 53, 1600, 0}, {60, 64, 1600, 0},
                            {10, 10, 1280, 0}, {57, 57, 1280, 0}, {10, 55, 832, 0},  {54, 58, 832, 0},
                            {49, 49, 512, 0},  {9, 60, 384, 0},   {57, 60, 384, 0},  {15, 15, 256, 0}};
    size_t bytes, bound;
    GOOD(memory_pack(intervals, sizeof intervals / sizeof *intervals, &bytes, &bound));
    ck_assert_uint_eq(bound, 4800);
    ck_assert_uint_le(bytes, bound + bound / 100);
}
END_TEST

START_TEST(packs_many_small_values) {
    enum { MANY = 20000 };
    Interval *intervals = calloc(MANY, sizeof *intervals);
    for (int i = 0; i < MANY; i++)
        intervals[i] = (Interval){.first = i, .last = i + 1 + i % 3, .bytes = (size_t)(64 + i % 5 * 64)};
    size_t bytes, bound;
    GOOD(memory_pack(intervals, MANY, &bytes, &bound));
    for (int i = 0; i < MANY; i++)
        for (int j = i + 1; j < MANY && intervals[j].first <= intervals[i].last; j++)
            ck_assert(intervals[i].offset + (int64_t)intervals[i].bytes <= intervals[j].offset ||
                      intervals[j].offset + (int64_t)intervals[j].bytes <= intervals[i].offset);
    ck_assert_uint_lt(bytes, 16 * bound);
    free(intervals);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memory");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_one_node_reads_goes_straight_to_it);
    tcase_add_test(tests, what_dies_into_a_fetched_value_lies_there);
    tcase_add_test(tests, packs_memory_to_the_bound);
    tcase_add_test(tests, packs_where_the_largest_first_miss);
    tcase_add_test(tests, packs_many_small_values);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
