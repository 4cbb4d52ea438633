// Tests of reduce.h against plain loops: all axes, many shapes, every type and CPU level, units in any order.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/cast.h"
#include "loops/level/table.h"
#include "loops/reduce.h"

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static const int levels[] = {1, 3, 4};
static uint32_t seed = 12345;
static int small_random(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

// The reference, in double: small whole numbers are exact in every type tested.
static void naive(ReduceOp op, const Shape *shape, uint32_t axes, const double *in, double *out, int64_t outputs) {
    int64_t n = shape_count(shape), folded = outputs ? n / outputs : 0;
    for (int64_t o = 0; o < outputs; o++)
        out[o] = op == REDUCE_PROD || op == REDUCE_ALL ? 1 : op == REDUCE_MAX ? -INFINITY : op == REDUCE_MIN ? INFINITY
            : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, o = 0, scale = 1;
        for (int d = shape->rank - 1; d >= 0; d--) {
            int64_t index = rest % shape->dims[d];
            rest /= shape->dims[d];
            if (axes >> d & 1)
                continue;
            o += index * scale, scale *= shape->dims[d];
        }
        double x = in[i], *y = &out[o];
        *y = op == REDUCE_PROD  ? *y * x
             : op == REDUCE_MAX ? fmax(*y, x)
             : op == REDUCE_MIN ? fmin(*y, x)
             : op == REDUCE_ANY ? (*y != 0 || x != 0)
             : op == REDUCE_ALL ? (*y != 0 && x != 0)
             : op == REDUCE_SQUARES || op == REDUCE_NORM ? *y + x * x
                                                         : *y + x;
    }
    for (int64_t o = 0; o < outputs; o++) {
        if (op == REDUCE_MEAN)
            out[o] /= (double)folded;
        if (op == REDUCE_NORM)
            out[o] = sqrt(out[o]);
    }
}

static void check_one(ReduceOp op, DType dtype, const Shape *shape, uint32_t axes) {
    ReducePlan plan;
    ck_assert(reduce_prepare(op, dtype, shape, axes, &plan));
    int64_t n = shape_count(shape), outputs = plan.outputs;
    double *in = malloc((size_t)(n + 1) * 8), *want = malloc((size_t)(outputs + 1) * 8);
    double *got = malloc((size_t)(outputs + 1) * 8);
    char *raw = malloc((size_t)(n + 1) * 16), *out = malloc((size_t)(outputs + 1) * 16);
    void *scratch = malloc(reduce_scratch(&plan) + 1);
    for (int64_t i = 0; i < n; i++)
        in[i] = op == REDUCE_PROD ? 1 + (small_random(40) == 0) : small_random(3);
    CastLoop load, store;
    ck_assert(cast_find(DT_double, dtype, &load) && cast_find(dtype, DT_double, &store));
    cast_run(&load, in, raw, n);
    cast_run(&store, raw, in, n);
    naive(op, shape, axes, in, want, outputs);
    memset(out, 0x5a, (size_t)(outputs + 1) * 16);
    for (int64_t unit = plan.units - 1; unit >= 0; unit--)
        reduce_run(&plan, raw, out, scratch, unit, unit + 1);
    reduce_finish(&plan, out, scratch);
    cast_run(&store, out, got, outputs);
    for (int64_t o = 0; o < outputs; o++) {
        double tolerance = (dtype == DT_half || dtype == DT_bfloat16) ? 0.01 * fabs(want[o]) : 1e-6 * fabs(want[o]);
        double expected = dtype_is_integer(dtype) ? trunc(want[o]) : want[o];
        bool wide = fabs(want[o]) > 120 && dtype_size(dtype) < 4;  // wraps, or rounds to nothing
        EXPECT(wide || fabs(got[o] - expected) <= tolerance || got[o] == expected,
                      "op %d %s %s axes %x: output %d is %g, expected %g", (int)op, dtype_name(dtype),
                      shape_text(shape), axes, (int)o, got[o], expected);
    }
    ck_assert_int_eq(out[(size_t)outputs * dtype_size(dtype)], 0x5a);
    free(in), free(want), free(got), free(raw), free(out), free(scratch);
}

START_TEST(every_axis_op_and_type) {
    static const DType types[] = {DT_float, DT_double, DT_int32, DT_int64, DT_uint32, DT_uint64, DT_complex64,
                                  DT_complex128, DT_half, DT_bfloat16, DT_int8, DT_uint8, DT_int16, DT_uint16};
    static const Shape shapes[] = {SHAPE(3, 4, 2, 5), SHAPE(7, 1, 33), SHAPE(2, 300), SHAPE(300, 3), SHAPE(1),
                                   SHAPE(67)};
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (uint32_t axes = 0; axes < 1u << shapes[s].rank; axes++)
                for (int op = REDUCE_SUM; op <= REDUCE_NORM; op++) {
                    if (op == REDUCE_ANY || op == REDUCE_ALL) {
                        check_one((ReduceOp)op, DT_bool, &shapes[s], axes);
                        continue;
                    }
                    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
                        if (!dtype_is_complex(types[t]) || op == REDUCE_SUM || op == REDUCE_PROD || op == REDUCE_MEAN)
                            check_one((ReduceOp)op, types[t], &shapes[s], axes);
                }
    }
}
END_TEST

START_TEST(large_reductions_are_split) {
    static const Shape shapes[] = {SHAPE(300001), SHAPE(3, 100003), SHAPE(100003, 3), SHAPE(1500, 1100),
                                   SHAPE(5000, 64), SHAPE(2, 200, 500), SHAPE(9, 3000, 8)};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (uint32_t axes = 1; axes < 1u << shapes[s].rank; axes++) {
            check_one(REDUCE_SUM, DT_float, &shapes[s], axes);
            check_one(REDUCE_MAX, DT_int32, &shapes[s], axes);
        }
    ReducePlan plan;
    ck_assert(reduce_prepare(REDUCE_SUM, DT_float, &SHAPE(1 << 20), 1, &plan));
    ck_assert_int_gt(plan.units, 1);
}
END_TEST

START_TEST(columns_go_several_rows_at_once) {
    // More columns than a unit keeps, a last unit that is narrower, more rows than a block and some left over.
    static const Shape shapes[] = {SHAPE(75, 20001), SHAPE(8, 70003), SHAPE(141, 1030), SHAPE(3, 67, 4099)};
    for (int l = 0; l < 3; l++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes && loops_choose_level(levels[l]); s++) {
            uint32_t axes = shapes[s].rank == 3 ? 2 : 1;
            check_one(REDUCE_SUM, DT_float, &shapes[s], axes);
            check_one(REDUCE_SQUARES, DT_double, &shapes[s], axes);
            check_one(REDUCE_MEAN, DT_bfloat16, &shapes[s], axes);
            check_one(REDUCE_MIN, DT_int16, &shapes[s], axes);
            check_one(REDUCE_PROD, DT_complex64, &shapes[s], axes);
        }
}
END_TEST

START_TEST(nothing_gives_the_neutral_element) {
    Shape none = SHAPE(3, 0);
    ReducePlan plan;
    float out[3] = {9, 9, 9};
    ck_assert(reduce_prepare(REDUCE_SUM, DT_float, &none, 2, &plan));
    reduce_run(&plan, out, out, NULL, 0, plan.units);
    ck_assert(out[0] == 0 && out[2] == 0);
    ck_assert(reduce_prepare(REDUCE_MAX, DT_float, &none, 2, &plan));
    reduce_run(&plan, out, out, NULL, 0, plan.units);
    ck_assert(out[1] == -INFINITY);
    ck_assert(reduce_prepare(REDUCE_MEAN, DT_float, &none, 2, &plan));
    reduce_run(&plan, out, out, NULL, 0, plan.units);
    ck_assert(isnan(out[1]));
    none = SHAPE(0, 3);
    ck_assert(reduce_prepare(REDUCE_PROD, DT_float, &none, 1, &plan));
    reduce_run(&plan, out, out, NULL, 0, plan.units);
    ck_assert(out[0] == 1 && out[2] == 1);
    ck_assert(reduce_prepare(REDUCE_MEAN, DT_int32, &none, 1, &plan));
    ck_assert(!reduce_prepare(REDUCE_MAX, DT_complex64, &none, 1, &plan));
    ck_assert(!reduce_prepare(REDUCE_SUM, DT_string, &none, 1, &plan));
    ck_assert(!reduce_prepare(REDUCE_ANY, DT_float, &none, 1, &plan));
}
END_TEST

START_TEST(sums_are_accurate) {
    enum { N = 1 << 22 };
    float *in = malloc(N * 4), out;
    double want = 0;
    for (int i = 0; i < N; i++)
        in[i] = 0.1f + (float)small_random(1000) * 1e-3f, want += (double)in[i];
    Shape shape = SHAPE(N);
    ReducePlan plan;
    ck_assert(reduce_prepare(REDUCE_SUM, DT_float, &shape, 1, &plan));
    void *scratch = malloc(reduce_scratch(&plan));
    reduce_run(&plan, in, &out, scratch, 0, plan.units);
    reduce_finish(&plan, &out, scratch);
    ck_assert(fabs((double)out - want) < want * 1e-6);
    free(in), free(scratch);
}
END_TEST

START_TEST(sums_of_columns_are_accurate) {
    enum { ROWS = 20000, N = 37 };
    float *in = malloc(ROWS * N * 4), out[N];
    double want[N] = {0};
    for (int i = 0; i < ROWS * N; i++)
        in[i] = 0.1f + (float)small_random(1000) * 1e-3f, want[i % N] += (double)in[i];
    ReducePlan plan;
    ck_assert(reduce_prepare(REDUCE_SUM, DT_float, &SHAPE(ROWS, N), 1, &plan));
    void *scratch = malloc(reduce_scratch(&plan));
    reduce_run(&plan, in, out, scratch, 0, plan.units);
    reduce_finish(&plan, out, scratch);
    for (int i = 0; i < N; i++)
        EXPECT(fabs((double)out[i] - want[i]) < want[i] * 1e-6, "column %d", i);
    free(in), free(scratch);
}
END_TEST

START_TEST(extremes_are_found) {
    static const DType types[] = {DT_float, DT_half, DT_int8, DT_int64, DT_uint16, DT_double, DT_bool};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int inner = 1; inner < 200; inner += 66)
            for (int n = 1; n < 9000; n = n * 7 + 1) {
                int64_t count = 2 * n * (int64_t)inner;
                double *values = malloc((size_t)count * 8);
                char *raw = malloc((size_t)count * 8);
                int64_t *most = malloc((size_t)(2 * inner) * 8);
                int32_t *least = malloc((size_t)(2 * inner) * 4);
                for (int64_t i = 0; i < count; i++)
                    values[i] = small_random(100);
                CastLoop load, store;
                ck_assert(cast_find(DT_double, types[t], &load) && cast_find(types[t], DT_double, &store));
                cast_run(&load, values, raw, count);
                cast_run(&store, raw, values, count);
                ck_assert(reduce_argmax(types[t], DT_int64, raw, most, 2, n, inner));
                ck_assert(reduce_argmin(types[t], DT_int32, raw, least, 2, n, inner));
                for (int o = 0; o < 2; o++)
                    for (int j = 0; j < inner; j++) {
                        int high = 0, low = 0;
                        for (int i = 1; i < n; i++) {
                            const double *v = values + (int64_t)o * n * inner + j;
                            high = v[(int64_t)i * inner] > v[(int64_t)high * inner] ? i : high;
                            low = v[(int64_t)i * inner] < v[(int64_t)low * inner] ? i : low;
                        }
                        EXPECT(most[o * inner + j] == high && least[o * inner + j] == low, "n %d inner %d", n, inner);
                    }
                free(values), free(raw), free(most), free(least);
            }
    float with_nan[4] = {NAN, -5, 3, NAN};
    int64_t at;
    ck_assert(reduce_argmax(DT_float, DT_int64, with_nan, &at, 1, 4, 1));
    ck_assert_int_eq(at, 2);
}
END_TEST

START_TEST(scans_run_both_ways) {
    int32_t in[6] = {1, 2, 3, 4, 5, 6}, out[6];
    static const int32_t want[4][6] = {
        {1, 2, 4, 6, 9, 12}, {0, 0, 1, 2, 4, 6}, {9, 12, 8, 10, 5, 6}, {8, 10, 5, 6, 0, 0}};
    for (int way = 0; way < 4; way++) {
        ck_assert(reduce_scan(SCAN_SUM, DT_int32, in, out, 1, 3, 2, way & 1, way >> 1));
        ck_assert_mem_eq(out, want[way], sizeof out);
    }
    int8_t p[3] = {100, 2, 2}, q[3];
    ck_assert(reduce_scan(SCAN_PROD, DT_int8, p, q, 1, 3, 1, false, false));
    ck_assert(q[0] == 100 && q[1] == -56 && q[2] == -112);
    float x[3] = {-INFINITY, 0, 1000}, y[3];
    ck_assert(reduce_scan(SCAN_LOGSUMEXP, DT_float, x, y, 1, 3, 1, false, false));
    ck_assert(y[0] == -INFINITY && y[1] == 0 && y[2] == 1000);
    ck_assert(!reduce_scan(SCAN_LOGSUMEXP, DT_int32, in, out, 1, 3, 2, false, false));
}
END_TEST

START_TEST(rows_are_multiplied_and_summed) {
    enum { ROWS = 3, MOST = 300 };
    float a[ROWS * MOST], b[ROWS * MOST], out[ROWS + 1];
    double wide_a[ROWS * MOST], wide_b[ROWS * MOST], wide_out[ROWS + 1];
    for (int64_t turn = 0; turn < 3 * MOST; turn++) {
        int64_t n = turn / 3;
        if (!loops_choose_level(levels[turn % 3]))
            continue;
        for (int64_t i = 0; i < ROWS * n; i++) {
            wide_a[i] = a[i] = (float)(small_random(9) - 4);
            wide_b[i] = b[i] = (float)(small_random(9) - 4);
        }
        out[ROWS] = 7, wide_out[ROWS] = 7;
        reduce_dots(DT_float)(a, b, ROWS, n, out);
        reduce_dots(DT_double)(wide_a, wide_b, ROWS, n, wide_out);
        for (int64_t r = 0; r < ROWS; r++) {
            double want = 0;
            for (int64_t i = 0; i < n; i++)
                want += wide_a[r * n + i] * wide_b[r * n + i];
            EXPECT((double)out[r] == want && wide_out[r] == want, "row %d of %d: %g and %g, expected %g", (int)r,
                   (int)n, (double)out[r], wide_out[r], want);
        }
        ck_assert(out[ROWS] == 7 && wide_out[ROWS] == 7);
    }
    ck_assert(!reduce_dots(DT_int32));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("reduce");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_axis_op_and_type);
    tcase_add_test(tests, large_reductions_are_split);
    tcase_add_test(tests, columns_go_several_rows_at_once);
    tcase_add_test(tests, nothing_gives_the_neutral_element);
    tcase_add_test(tests, sums_are_accurate);
    tcase_add_test(tests, sums_of_columns_are_accurate);
    tcase_add_test(tests, extremes_are_found);
    tcase_add_test(tests, rows_are_multiplied_and_summed);
    tcase_add_test(tests, scans_run_both_ways);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
