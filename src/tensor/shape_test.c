// Shape test — checks that no order of extents escapes, merging, broadcasting, counting.
#include <check.h>

#include "base/suite_test.h"
#include "tensor/shape.h"

static const int64_t BIG = (int64_t)1 << 40;

static Code code(Status *status) {
    Code c = status_code(status);
    status_free(status);
    return c;
}

START_TEST(refuses_what_does_not_fit) {
    Shape out = SHAPE(7);
    int64_t bad[][3] = {{BIG, BIG, 1}, {0, BIG, BIG}, {BIG, 0, BIG}, {BIG, BIG, 0}, {-2, 1, 1}, {INT64_MAX, 2, 0},
                        {-1, BIG, BIG}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(code(shape_make(bad[i], 3, &out)), INVALID_ARGUMENT);
    int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    ck_assert_int_eq(code(shape_make(dims, 9, &out)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_make(dims, -2, &out)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_make(dims, INT64_MAX, &out)), INVALID_ARGUMENT);
    ck_assert(shape_equal(&out, &SHAPE(7)));
    int64_t good[] = {INT64_MAX, 1, 0};
    ck_assert_int_eq(code(shape_make(good, 3, &out)), CODE_OK);
    ck_assert_int_eq(shape_count(&out), 0);
    ck_assert_int_eq(code(shape_make(NULL, -1, &out)), CODE_OK);
    ck_assert_int_eq(out.rank, UNKNOWN_RANK);
}
END_TEST

START_TEST(merges) {
    Shape out;
    ck_assert_int_eq(code(shape_merge(&SHAPE(-1, 3), &SHAPE(2, -1), &out)), CODE_OK);
    ck_assert(shape_equal(&out, &SHAPE(2, 3)));
    ck_assert_int_eq(code(shape_merge(&UNKNOWN_SHAPE, &SHAPE(2, -1), &out)), CODE_OK);
    ck_assert(shape_equal(&out, &SHAPE(2, -1)));
    ck_assert_int_eq(code(shape_merge(&SHAPE(2), &SHAPE(3), &out)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_merge(&SHAPE(2), &SHAPE(2, 1), &out)), INVALID_ARGUMENT);
    // Each fits, both together don't.
    ck_assert_int_eq(code(shape_merge(&SHAPE(-1, BIG), &SHAPE(BIG, -1), &out)), INVALID_ARGUMENT);
    ck_assert(shape_equal(&out, &SHAPE(2, -1)));
    ck_assert(shape_compatible(&UNKNOWN_SHAPE, &SHAPE(1, 2)) && !shape_compatible(&SHAPE(1), &SHAPE(2)));
    ck_assert(shape_is_known(&SCALAR_SHAPE) && !shape_is_known(&SHAPE(-1)) && !shape_is_known(&UNKNOWN_SHAPE));
}
END_TEST

START_TEST(broadcasts) {
    struct { Shape a, b, out; } rows[] = {
        {SHAPE(2, 3), SHAPE(3), SHAPE(2, 3)},       {SHAPE(2, 1), SHAPE(1, 3), SHAPE(2, 3)},
        {SCALAR_SHAPE, SHAPE(4), SHAPE(4)},         {SHAPE(0), SHAPE(1), SHAPE(0)},
        {SHAPE(-1), SHAPE(1), SHAPE(-1)},           {SHAPE(-1), SHAPE(3), SHAPE(3)},
        {SHAPE(-1, 2), SHAPE(-1), SHAPE(-1, 2)},    {SHAPE(-1), SHAPE(0), SHAPE(0)},
        {UNKNOWN_SHAPE, SHAPE(2), UNKNOWN_SHAPE},   {SHAPE(-1, 5), SHAPE(7, 1, 1), SHAPE(7, -1, 5)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Shape out;
        ck_assert_int_eq(code(shape_broadcast(&rows[i].a, &rows[i].b, &out)), CODE_OK);
        ck_assert_msg(shape_equal(&out, &rows[i].out), "%zu: %s", i, shape_text(&out));
        ck_assert_int_eq(code(shape_broadcast(&rows[i].b, &rows[i].a, &out)), CODE_OK);
        ck_assert(shape_equal(&out, &rows[i].out));
    }
    Shape out;
    Status *status = shape_broadcast(&SHAPE(2, 3), &SHAPE(4), &out);
    ck_assert_str_eq(status_message(status), "Incompatible shapes: [2,3] vs. [4]");
    status_free(status);
    ck_assert_int_eq(code(shape_broadcast(&SHAPE(0), &SHAPE(3), &out)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_broadcast(&SHAPE(BIG, 1), &SHAPE(1, BIG), &out)), INVALID_ARGUMENT);
}
END_TEST

START_TEST(counts_bytes_axes) {
    size_t bytes;
    int axis;
    ck_assert_int_eq(shape_count(&SCALAR_SHAPE), 1);
    ck_assert_int_eq(shape_count(&SHAPE(2, -1)), -1);
    ck_assert_int_eq(shape_count(&UNKNOWN_SHAPE), -1);
    ck_assert_int_eq(shape_span(&SHAPE(2, 3, 4), 1, 3), 12);
    ck_assert_int_eq(shape_span(&SHAPE(2, 3, 4), 3, 3), 1);
    ck_assert_int_eq(code(shape_bytes(&SHAPE(3), DT_string, &bytes)), CODE_OK);
    ck_assert_uint_eq(bytes, 72);
    ck_assert_int_eq(code(shape_bytes(&SHAPE(INT64_MAX), DT_float, &bytes)), RESOURCE_EXHAUSTED);
    ck_assert_int_eq(code(shape_bytes(&SHAPE(-1), DT_float, &bytes)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_axis(-3, 3, &axis)), CODE_OK);
    ck_assert_int_eq(axis, 0);
    ck_assert_int_eq(code(shape_axis(3, 3, &axis)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_axis(INT64_MIN, 3, &axis)), INVALID_ARGUMENT);
    ck_assert_int_eq(code(shape_axis(0, 0, &axis)), INVALID_ARGUMENT);
}
END_TEST

START_TEST(prints) {
    ck_assert_str_eq(shape_text(&SHAPE(2, -1, 3)), "[2,?,3]");
    ck_assert_str_eq(shape_text(&SCALAR_SHAPE), "[]");
    ck_assert_str_eq(shape_text(&UNKNOWN_SHAPE), "<unknown>");
    int64_t most = INT64_MAX;
    Shape wide = SHAPE(most, most, most, most, most, most, most, most);
    const char *first = shape_text(&wide);
    ck_assert_uint_eq(strlen(first), 8 * 19 + 7 + 2);
    for (int i = 0; i < 7; i++)
        shape_text(&SHAPE(1));
    ck_assert_uint_eq(strlen(first), 8 * 19 + 7 + 2);
    Text text = {0};
    shape_print(&text, &SHAPE(2, -1));
    shape_print(&text, &UNKNOWN_SHAPE);
    ck_assert_str_eq(text.p, "[2,?]<unknown>");
    text_clear(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("shape");
    TCase *cases = tcase_create("shape");
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, refuses_what_does_not_fit);
    tcase_add_test(cases, merges);
    tcase_add_test(cases, broadcasts);
    tcase_add_test(cases, counts_bytes_axes);
    tcase_add_test(cases, prints);
    return run_suite(suite);
}
