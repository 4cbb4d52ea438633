// Tests of move.h against index arithmetic, for every element size, with units run in any order.
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/level/table.h"
#include "loops/move.h"

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static const size_t sizes[] = {1, 2, 4, 8, 16, 24};
static const int levels[] = {1, 3, 4};

static char *numbered(int64_t n, size_t size) {
    char *p = malloc((size_t)(n + 1) * size);
    for (size_t i = 0; i < (size_t)n * size; i++)
        p[i] = (char)(i * 131 + i / 251);
    return p;
}

// Runs the plan backwards, unit by unit, and compares: element i of the output comes from element source(i).
static void check_plan(const CopyPlan *plan, const char *in, int64_t n, size_t size, const int64_t *source) {
    char *out = malloc((size_t)(n + 1) * size);
    memset(out, 0x5a, (size_t)(n + 1) * size);
    for (int64_t unit = plan->units - 1; unit >= 0; unit--)
        copy_run(plan, in, out, unit, unit + 1);
    for (int64_t i = 0; i < n; i++)
        EXPECT(memcmp(out + (size_t)i * size, in + (size_t)source[i] * size, size) == 0, "element %d", (int)i);
    ck_assert_int_eq(out[(size_t)n * size], 0x5a);
    memset(out, 0, (size_t)n * size);
    copy_run(plan, in, out, 0, plan->units);
    for (int64_t i = 0; i < n; i++)
        EXPECT(memcmp(out + (size_t)i * size, in + (size_t)source[i] * size, size) == 0, "element %d", (int)i);
    free(out);
}

// The place in `in` of each element of `out`, given the step and offset that each dimension of out makes in `in`.
static int64_t *sources(const Shape *out, const int64_t *step, int64_t offset) {
    int64_t n = shape_count(out), *source = malloc((size_t)(n + 1) * 8);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = offset;
        for (int d = out->rank - 1; d >= 0; d--)
            at += rest % out->dims[d] * step[d], rest /= out->dims[d];
        source[i] = at;
    }
    return source;
}

START_TEST(transposes) {
    static const Shape shapes[] = {SHAPE(3, 5, 2, 7), SHAPE(1, 33, 1, 18), SHAPE(20, 3, 17, 1), SHAPE(2, 2, 0, 2),
                                   SHAPE(1, 1, 300, 70)};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int code = 0; code < 256; code++) {
            int perm[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
            if ((1 << perm[0] | 1 << perm[1] | 1 << perm[2] | 1 << perm[3]) != 15)
                continue;
            const Shape *in = &shapes[s];
            int64_t step[4], stride[4] = {in->dims[1] * in->dims[2] * in->dims[3], in->dims[2] * in->dims[3],
                                          in->dims[3], 1};
            Shape out = {.rank = 4};
            for (int i = 0; i < 4; i++)
                out.dims[i] = in->dims[perm[i]], step[i] = stride[perm[i]];
            int64_t *source = sources(&out, step, 0), n = shape_count(&out);
            for (int k = 0; k < 6; k++) {
                loops_choose_level(levels[k % 3]);
                CopyPlan plan;
                copy_transpose(in, perm, sizes[k], &plan);
                char *data = numbered(n, sizes[k]);
                check_plan(&plan, data, n, sizes[k], source);
                free(data);
            }
            free(source);
        }
}
END_TEST

START_TEST(slices_tiles_broadcasts_reversals) {
    Shape in = SHAPE(4, 9, 6);
    char *data = numbered(216, 4);
    CopyPlan plan;
    // Every third row backwards, columns 1 to 4.
    Shape out = SHAPE(2, 3, 4);
    int64_t *source = sources(&out, (int64_t[]){108, -18, 1}, 54 + 8 * 6 + 1);
    copy_slice(&in, (int64_t[]){1, 8, 1}, (int64_t[]){2, -3, 1}, &out, 4, &plan);
    check_plan(&plan, data, 24, 4, source);
    free(source);
    // The way back puts the same elements where they came from.
    char *part = numbered(24, 4), *whole = calloc(216, 4);
    copy_into_slice(&in, (int64_t[]){1, 8, 1}, (int64_t[]){2, -3, 1}, &out, 4, &plan);
    copy_run(&plan, part, whole, 0, plan.units);
    source = sources(&out, (int64_t[]){108, -18, 1}, 54 + 8 * 6 + 1);
    int64_t written = 0;
    for (int i = 0; i < 24; i++)
        ck_assert_mem_eq(whole + source[i] * 4, part + i * 4, 4);
    for (int i = 0; i < 216; i++)
        written += memcmp(whole + i * 4, "\0\0\0\0", 4) != 0;
    ck_assert_int_le(written, 24);
    free(source), free(part), free(whole);
    out = SHAPE(8, 9, 18);
    source = malloc(8 * 9 * 18 * 8);
    for (int i = 0; i < 8 * 9 * 18; i++)
        source[i] = i / (9 * 18) % 4 * 54 + i / 18 % 9 * 6 + i % 18 % 6;
    copy_tile(&in, (int64_t[]){2, 1, 3}, 4, &plan);
    check_plan(&plan, data, 8 * 9 * 18, 4, source);
    free(source);
    source = sources(&in, (int64_t[]){-54, 6, -1}, 3 * 54 + 5);
    copy_reverse(&in, 5, 4, &plan);
    check_plan(&plan, data, 216, 4, source);
    free(source);
    out = SHAPE(5, 4, 9, 6);
    Shape small = SHAPE(4, 1, 6);
    source = sources(&out, (int64_t[]){0, 6, 0, 1}, 0);
    copy_broadcast(&small, &out, 4, &plan);
    check_plan(&plan, data, 5 * 216, 4, source);
    free(source);
    small = SCALAR_SHAPE;
    source = sources(&out, (int64_t[]){0, 0, 0, 0}, 0);
    copy_broadcast(&small, &out, 4, &plan);
    check_plan(&plan, data, 5 * 216, 4, source);
    free(source), free(data);
}
END_TEST

START_TEST(pads) {
    Shape in = SHAPE(2, 3);
    int32_t data[6] = {1, 2, 3, 4, 5, 6}, nine = 9, out[30];
    int64_t before[2] = {1, 2}, after[2] = {1, 1};
    static const int32_t constant[24] = {9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9, 9};
    static const int32_t reflect[24] = {6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2};
    static const int32_t symmetric[24] = {2, 1, 1, 2, 3, 3, 2, 1, 1, 2, 3, 3, 5, 4, 4, 5, 6, 6, 5, 4, 4, 5, 6, 6};
    ck_assert_int_eq(pad_rows(&in, before, after), 4);
    pad_run(PAD_CONSTANT, &in, before, after, &nine, 4, data, out, 0, 4);
    ck_assert_mem_eq(out, constant, sizeof constant);
    pad_run(PAD_REFLECT, &in, before, after, &nine, 4, data, out, 0, 4);
    ck_assert_mem_eq(out, reflect, sizeof reflect);
    pad_run(PAD_SYMMETRIC, &in, before, after, &nine, 4, data, out, 0, 2);
    pad_run(PAD_SYMMETRIC, &in, before, after, &nine, 4, data, out, 2, 4);
    ck_assert_mem_eq(out, symmetric, sizeof symmetric);
}
END_TEST

START_TEST(rows_concat_split_gather) {
    int16_t a[4] = {1, 2, 3, 4}, b[6] = {5, 6, 7, 8, 9, 10}, out[10], back_b[6];
    size_t bytes[2] = {4, 6};
    concat_run((const void *[]){a, b}, bytes, 2, out, 0, 2);
    static const int16_t want[10] = {1, 2, 5, 6, 7, 3, 4, 8, 9, 10};
    ck_assert_mem_eq(out, want, sizeof want);
    split_run(out, (void *[]){NULL, back_b}, bytes, 2, 0, 2);
    ck_assert_mem_eq(back_b, b, sizeof b);
    int64_t indices[3] = {2, 0, 1};
    int16_t gathered[6];
    ck_assert_int_eq(gather_rows(b, 3, 2, indices, DT_int64, 3, gathered, 0, 6), -1);
    static const int16_t rows[6] = {7, 5, 6, 10, 8, 9};
    ck_assert_mem_eq(gathered, rows, sizeof rows);
    int32_t bad[3] = {0, 3, -1};
    ck_assert_int_ge(gather_rows(b, 3, 2, bad, DT_int32, 3, gathered, 0, 3), 1);
    ck_assert_int_eq(gathered[1], 0);
}
END_TEST

START_TEST(one_hot_and_fill) {
    int32_t indices[4] = {1, 0, -1, 7};
    float on = 5, off = -1, out[12];
    one_hot_run(indices, DT_int32, 3, 1, &on, &off, 4, out, 0, 4);
    for (int i = 0; i < 12; i++)
        ck_assert(out[i] == (i == 1 || i == 3 ? on : off));
    one_hot_run(indices, DT_int32, 3, 2, &on, &off, 4, out, 0, 2);
    for (int i = 0; i < 12; i++)
        ck_assert(out[i] == (i == 2 || i == 1 ? on : off));
    for (int k = 0; k < 6; k++) {
        char value[24], *many = numbered(9, sizes[k]);
        memset(value, 0x33, sizeof value);
        fill_run(value, sizes[k], many, 8);
        for (size_t i = 0; i < 8 * sizes[k]; i++)
            ck_assert_int_eq(many[i], 0x33);
        free(many);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("move");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, transposes);
    tcase_add_test(tests, slices_tiles_broadcasts_reversals);
    tcase_add_test(tests, pads);
    tcase_add_test(tests, rows_concat_split_gather);
    tcase_add_test(tests, one_hot_and_fill);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
