// Tests of elementwise.h and broadcast.h: every loop, on every CPU level, against the double loop or plain C.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/broadcast.h"
#include "loops/level/table.h"

ELEMENTWISE(AddScaled);
ELEMENTWISE(ApproximateEqual);
ELEMENTWISE(FloorDiv);
ELEMENTWISE(FloorMod);
ELEMENTWISE(LeftShift);
ELEMENTWISE(SquaredDifference);
ELEMENTWISE(TruncateDiv);
ELEMENTWISE(TruncateMod);

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static const int levels[] = {1, 3, 4};
#define FOR_EACH_LEVEL                          \
    for (int l_ = 0; l_ < 3; l_++)              \
        if (loops_choose_level(levels[l_]))

static uint64_t state = 88172645463325252ull;
static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
static double between(double low, double high) {
    return low + (high - low) * (double)(next_random() >> 11) * 0x1p-53;
}

static bool close_float(float got, double want, double ulps) {
    if (isnan(want))
        return isnan(got);
    float near = (float)want;
    if (isinf(near))
        return got == near || fabsf(got) > 3e38f;
    float step = nextafterf(fabsf(near), INFINITY) - fabsf(near);
    return fabs((double)got - want) <= ulps * fmax((double)step, 0x1p-126);
}

// Every op that float and double share: the float loop agrees with the double one on the same arguments.
START_TEST(float_loops_agree_with_double) {
    enum { N = 1027 };
    static float a[N], b[N], out[N + 1];
    static double wide_a[N], wide_b[N], want[N];
    static uint8_t flags[N], wide_flags[N];
    FOR_EACH_LEVEL for (int index = 0; elementwise_at(index); index++) {
        const ElementwiseOp *op = elementwise_at(index);
        ElementwiseLoop loop, wide;
        if (!elementwise_find(op, DT_float, &loop))
            continue;
        ck_assert(elementwise_find(op, DT_double, &wide));
        loop.param = wide.param = 0.25;
        for (int i = 0; i < N; i++) {
            a[i] = (float)(i % 3 == 0 ? between(-1, 1) : i % 3 == 1 ? between(-9, 9) : between(0, 40));
            b[i] = (float)(i % 5 == 0 ? between(-1, 1) : i % 5 == 1 ? (double)(i % 7 - 3) : between(-9, 9));
            wide_a[i] = (double)a[i], wide_b[i] = (double)b[i];
        }
        bool flagged = loop.out == DT_bool;
        elementwise_run(&loop, a, b, flagged ? (void *)flags : out, N, 1, 1);
        elementwise_run(&wide, wide_a, wide_b, flagged ? (void *)wide_flags : want, N, 1, 1);
        // Sums and differences that cancel are exact to the rounding of their parts, not of their result.
        bool cancels = strstr(op->name, "Grad") || op == &elementwise_Add || op == &elementwise_Sub ||
                       op == &elementwise_AddScaled || op == &elementwise_SquaredDifference;
        bool steps = op == &elementwise_FloorMod || op == &elementwise_FloorDiv || op == &elementwise_TruncateDiv ||
                     op == &elementwise_TruncateMod;
        for (int i = 0; i < N; i++) {
            if (flagged)
                EXPECT(op == &elementwise_ApproximateEqual || flags[i] == wide_flags[i], "%s(%g, %g)",
                              op->name, wide_a[i], wide_b[i]);
            else
                EXPECT(close_float(out[i], want[i], 4) || steps ||
                                  (cancels && fabs((double)out[i] - want[i]) < 1e-4 * (1 + fabs(want[i]))),
                              "level %d %s(%.9g, %.9g) = %.9g, expected %.9g", levels[l_],
                              op->name, wide_a[i], wide_b[i], (double)out[i], want[i]);
        }
    }
}
END_TEST

// Every loop of every type gives the same bytes whatever the strides, the offset and the length.
START_TEST(strides_and_offsets_do_not_matter) {
    enum { N = 67 };
    static const DType types[] = {DT_float, DT_double, DT_int32, DT_int64, DT_uint32, DT_uint64, DT_complex64,
                                  DT_complex128, DT_bool, DT_half, DT_bfloat16, DT_int8, DT_uint8, DT_int16, DT_uint16};
    static _Alignas(64) char a[(N + 8) * 16], b[(N + 8) * 16], full_a[(N + 8) * 16], full_b[(N + 8) * 16];
    static _Alignas(64) char want[(N + 8) * 16], got[(N + 8) * 16];
    FOR_EACH_LEVEL for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int index = 0; elementwise_at(index); index++) {
            const ElementwiseOp *op = elementwise_at(index);
            ElementwiseLoop loop;
            if (!elementwise_find(op, types[t], &loop))
                continue;
            size_t size = loop.in_size;
            for (size_t i = 0; i < N * size; i++)
                a[i] = (char)(types[t] == DT_bool ? next_random() & 1 : next_random() & 0x3f),
                b[i] = (char)(types[t] == DT_bool ? next_random() & 1 : next_random() & 0x3f);
            for (int sa = 0; sa < 2; sa++)
                for (int sb = 0; sb < 2; sb++)
                    for (int n = 0; n <= N; n += n < 20 ? 1 : 47) {
                        for (int i = 0; i < N; i++) {
                            memcpy(full_a + i * size, a + i * sa * size, size);
                            memcpy(full_b + i * size, b + i * sb * size, size);
                        }
                        // One element at a time is the reference; `got` begins one element off alignment.
                        int64_t faults = 0;
                        for (int i = 0; i < n; i++)
                            faults += elementwise_run(&loop, full_a + i * size, full_b + i * size,
                                                      want + i * loop.out_size, 1, 1, 1);
                        memset(got, 0x5a, sizeof got);
                        int64_t faults_got = elementwise_run(&loop, a, b, got + loop.out_size, n, sa, sb);
                        bool fills = !sa && (!sb || loop.arity == 1);
                        EXPECT(fills ? (faults_got > 0) == (faults > 0) : faults_got == faults, "%s faults",
                               op->name);
                        bool exact = dtype_is_integer(types[t]) || types[t] == DT_bool || loop.out == DT_bool;
                        if (exact)
                            EXPECT(memcmp(got + loop.out_size, want, (size_t)n * loop.out_size) == 0,
                                          "%s %s n %d strides %d %d", op->name,
                                          dtype_name(types[t]), n, sa, sb);
                        EXPECT(got[(size_t)(n + 1) * loop.out_size] == 0x5a, "%s writes beyond", op->name);
                    }
        }
}
END_TEST

static int32_t run_int(const char *name, int32_t a, int32_t b, int64_t *faults) {
    ElementwiseLoop loop;
    int32_t out = 77;
    ck_assert(elementwise_find(elementwise_named(str_of(name)), DT_int32, &loop));
    *faults = loop.fn(&a, &b, &out, 1, 1, 1, loop.param);
    return out;
}

START_TEST(integers_wrap_and_report_faults) {
    static const struct {
        const char *op;
        int32_t a, b, want;
        int faults;
    } rows[] = {
        {"FloorDiv", 5, -3, -2, 0},      {"FloorDiv", -5, 3, -2, 0},  {"FloorDiv", INT32_MIN, -1, INT32_MIN, 0},
        {"FloorDiv", 5, 0, 0, 1},        {"FloorMod", 5, -3, -1, 0},  {"FloorMod", -5, 3, 1, 0},
        {"FloorMod", INT32_MIN, -1, 0, 0}, {"FloorMod", 5, 0, 0, 1},  {"TruncateDiv", -5, 3, -1, 0},
        {"Mod", -5, 3, -2, 0},           {"Mod", 1, 0, 0, 1},         {"Div", 7, 0, 0, 1},
        {"Pow", 2, 31, INT32_MIN, 0},    {"Pow", 3, 40, 689956897, 0}, {"Pow", -2, 3, -8, 0}, {"Pow", 7, 0, 1, 0},
        {"Pow", 2, -1, 0, 1},            {"AddV2", INT32_MAX, 1, INT32_MIN, 0}, {"Mul", 65536, 65536, 0, 0},
        {"LeftShift", 5, 33, INT32_MIN, 0}, {"LeftShift", 1, -1, 1, 0}, {"RightShift", -5, 99, -1, 0},
        {"SquaredDifference", -3, 4, 49, 0}, {"Maximum", -3, 4, 4, 0}, {"BitwiseXor", 5, 3, 6, 0},
    };
    FOR_EACH_LEVEL for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t faults;
        int32_t got = run_int(rows[i].op, rows[i].a, rows[i].b, &faults);
        EXPECT(got == rows[i].want && faults == rows[i].faults, "%s(%d, %d) = %d, faults %d", rows[i].op,
                      rows[i].a, rows[i].b, got, (int)faults);
    }
}
END_TEST

START_TEST(small_types_keep_their_width) {
    ElementwiseLoop loop;
    int8_t a = 5, b = 33, out;
    ck_assert(elementwise_find(&elementwise_LeftShift, DT_int8, &loop));
    elementwise_run(&loop, &a, &b, &out, 1, 1, 1);
    ck_assert_int_eq(out, -128);  // 5 << 7
    uint8_t x = 200, y = 100, sum;
    ck_assert(elementwise_find(&elementwise_Add, DT_uint8, &loop));
    elementwise_run(&loop, &x, &y, &sum, 1, 1, 1);
    ck_assert_int_eq(sum, 44);
    Half h[3] = {half_from_float(1.5f), half_from_float(-0.25f), half_from_float(60000)}, twice[3];
    ck_assert(elementwise_find(&elementwise_Add, DT_half, &loop));
    elementwise_run(&loop, h, h, twice, 3, 1, 1);
    ck_assert(half_to_float(twice[0]) == 3 && half_to_float(twice[1]) == -0.5f && isinf(half_to_float(twice[2])));
    ck_assert(!elementwise_find(&elementwise_Add, DT_string, &loop));
    ck_assert(!elementwise_find(&elementwise_Maximum, DT_complex64, &loop));
    ck_assert(!elementwise_named(STR("NoSuchOp")));
}
END_TEST

// All 65,536 halves and bfloat16s through the vector conversions, against the conversions of one element.
START_TEST(sixteen_bit_floats_convert_exactly) {
    static uint16_t bits[65536], back[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++)
        bits[i] = (uint16_t)i;
    FOR_EACH_LEVEL {
        const LoopTable *table = loops_table();
        table->sixteen->half_to_float(bits, wide, 65536);
        table->sixteen->float_to_half(wide, back, 65536);
        for (int i = 0; i < 65536; i++) {
            float want = half_to_float((Half){(uint16_t)i});
            EXPECT(memcmp(&wide[i], &want, 4) == 0, "half %x", (unsigned)i);
            EXPECT(back[i] == half_from_float(want).bits, "half %x", (unsigned)i);
        }
        for (int i = 0; i < 65536; i++) {
            uint32_t any = (uint32_t)next_random();
            memcpy(&wide[i], &any, 4);
        }
        table->sixteen->float_to_half(wide, back, 65536);
        for (int i = 0; i < 65536; i++)
            EXPECT(back[i] == half_from_float(wide[i]).bits, "%a to half", (double)wide[i]);
        table->sixteen->float_to_bfloat16(wide, back, 65536);
        for (int i = 0; i < 65536; i++)
            EXPECT(back[i] == bfloat16_from_float(wide[i]).bits, "%a to bfloat16", (double)wide[i]);
    }
}
END_TEST

START_TEST(special_values_are_tensorflows) {
    static const struct {
        const char *op;
        float a, b, want;
    } rows[] = {
        {"Maximum", NAN, 1, NAN},   {"Maximum", 1, NAN, NAN},  {"Minimum", NAN, 1, NAN}, {"Minimum", 1, NAN, NAN},
        {"DivNoNan", NAN, 0, 0},    {"MulNoNan", INFINITY, 0, 0}, {"Xlogy", 0, NAN, 0},  {"Xdivy", 0, 0, 0},
        {"FloorMod", 5, -3, -1},    {"FloorMod", 0, INFINITY, 0}, {"Pow", 1, NAN, 1},    {"Pow", NAN, 0, 1},
        {"Pow", -2, 0.5f, NAN},     {"Pow", -0.0f, -1, -INFINITY}, {"Relu", NAN, 0, NAN}, {"Relu", -1, 0, 0},
        {"Sign", NAN, 0, NAN},      {"Round", 2.5f, 0, 2},     {"Rint", -1.5f, 0, -2},   {"Sqrt", -1, 0, NAN},
        {"Log", 0, 0, -INFINITY},   {"Log", -1, 0, NAN},       {"Exp", 200, 0, INFINITY}, {"Exp", -200, 0, 0},
        {"Digamma", 0, 0, NAN},     {"Lgamma", -1, 0, INFINITY}, {"Sigmoid", -200, 0, 0}, {"Tanh", 50, 0, 1},
        {"Atan2", 0, -1, 3.14159274f}, {"Acosh", 0.5f, 0, NAN}, {"Asinh", -INFINITY, 0, -INFINITY},
        {"ReluGrad", 3, NAN, 0},    {"Erf", INFINITY, 0, 1},   {"Atanh", 1, 0, INFINITY}, {"Softplus", 100, 0, 100},
        {"Softplus", -INFINITY, 0, 0}, {"Softplus", INFINITY, 0, INFINITY}, {"Lgamma", 1, 0, 0}, {"Lgamma", 2, 0, 0},
        {"Sin", 1e30f, 0, -0.791163445f},
    };
    FOR_EACH_LEVEL for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ElementwiseLoop loop;
        float got;
        ck_assert(elementwise_find(elementwise_named(str_of(rows[i].op)), DT_float, &loop));
        loop.fn(&rows[i].a, &rows[i].b, &got, 1, 1, 1, 0);
        EXPECT(close_float(got, (double)rows[i].want, 2), "%s(%g, %g) = %.9g", rows[i].op, (double)rows[i].a,
                      (double)rows[i].b, (double)got);
    }
}
END_TEST

// Every pair of shapes over extents {1, k} of rank up to 4, against index arithmetic.
START_TEST(broadcast_reaches_the_right_elements) {
    static const int64_t extents[3][4] = {{2, 3, 4, 5}, {3, 1, 2, 70}, {2, 0, 3, 2}};
    ElementwiseLoop loop;
    ck_assert(elementwise_find(&elementwise_Sub, DT_int32, &loop));
    for (int which = 0; which < 3; which++)
        for (int mask = 0; mask < 256; mask++) {
            Shape a = {.rank = 4}, b = {.rank = 4}, out = {.rank = 4};
            for (int i = 0; i < 4; i++) {
                a.dims[i] = mask >> i & 1 ? 1 : extents[which][i];
                b.dims[i] = mask >> (4 + i) & 1 ? 1 : extents[which][i];
                out.dims[i] = a.dims[i] == 1 ? b.dims[i] : a.dims[i];
            }
            int64_t n = shape_count(&out), na = shape_count(&a), nb = shape_count(&b);
            int32_t *pa = malloc((size_t)(na + 1) * 4), *pb = malloc((size_t)(nb + 1) * 4);
            int32_t *po = malloc((size_t)(n + 1) * 4);
            for (int i = 0; i < na; i++) pa[i] = (int32_t)next_random();
            for (int i = 0; i < nb; i++) pb[i] = (int32_t)next_random();
            BroadcastPlan plan;
            broadcast_prepare(&a, &b, &out, &plan);
            int64_t middle = plan.units / 2;
            broadcast_run(&plan, &loop, pa, pb, po, middle, plan.units);
            broadcast_run(&plan, &loop, pa, pb, po, 0, middle);
            for (int64_t i = 0; i < n; i++) {
                int64_t rest = i, at_a = 0, at_b = 0, step_a = 1, step_b = 1;
                for (int d = 3; d >= 0; d--) {
                    int64_t index = rest % out.dims[d];
                    rest /= out.dims[d];
                    at_a += a.dims[d] == 1 ? 0 : index * step_a, step_a *= a.dims[d];
                    at_b += b.dims[d] == 1 ? 0 : index * step_b, step_b *= b.dims[d];
                }
                EXPECT(po[i] == (int32_t)((uint32_t)pa[at_a] - (uint32_t)pb[at_b]), "element %d", (int)i);
            }
            free(pa), free(pb), free(po);
        }
}
END_TEST

// Matrices of short rows, many tiles of them, with what lies in the way of a tile: against the inputs written out in
// full.
START_TEST(short_rows_of_every_size) {
    enum { ROWS = 2100 };
    static const DType types[] = {DT_int8, DT_bfloat16, DT_float, DT_int64, DT_complex128};
    char *full = malloc(2 * ROWS * 50 * 16), *want = malloc(ROWS * 50 * 16), *got = malloc(ROWS * 50 * 16 + 1);
    char *in = malloc(2 * ROWS * 50 * 16);
    for (size_t i = 0; i < 2 * ROWS * 50 * 16; i++) in[i] = (char)(next_random() % 60);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int64_t n = 1; n < 50; n += n < 5 ? 1 : 6)
            for (int kind = 0; kind < 9; kind++) {
                ElementwiseLoop loop;
                ck_assert(elementwise_find(&elementwise_Add, types[t], &loop));
                size_t size = loop.in_size, whole = (size_t)(ROWS * n) * size;
                Shape shapes[2], out = SHAPE(ROWS, n);
                for (int s = 0; s < 2; s++) {
                    int way = s ? kind / 3 : kind % 3;
                    shapes[s] = way == 0 ? out : way == 1 ? SHAPE(ROWS, 1) : SHAPE(1, n);
                    for (int64_t i = 0; i < ROWS * n; i++)
                        memcpy(full + (size_t)s * whole + (size_t)i * size,
                               in + (size_t)s * whole + (size_t)(way == 0 ? i : way == 1 ? i / n : i % n) * size, size);
                }
                if (kind && kind % 3 == kind / 3)
                    continue;
                BroadcastPlan plan;
                broadcast_prepare(&shapes[0], &shapes[1], &out, &plan);
                got[whole] = 0x5a;
                for (int64_t unit = plan.units - 1; unit >= 0; unit--)
                    broadcast_run(&plan, &loop, in, in + whole, got, unit, unit + 1);
                elementwise_run(&loop, full, full + whole, want, ROWS * n, 1, 1);
                EXPECT(!memcmp(got, want, whole) && got[whole] == 0x5a, "%s, %d columns, kind %d", dtype_name(types[t]),
                       (int)n, kind);
            }
    free(in), free(full), free(want), free(got);
}
END_TEST

START_TEST(long_runs_are_cut_into_units) {
    enum { N = 100003 };
    Shape row = SHAPE(2, N), scalar = SCALAR_SHAPE;
    BroadcastPlan plan;
    broadcast_prepare(&row, &scalar, &row, &plan);
    ck_assert_int_gt(plan.units, 4);
    float *a = malloc(2 * N * 4), *out = malloc(2 * N * 4), two = 2;
    for (int i = 0; i < 2 * N; i++) a[i] = (float)i;
    ElementwiseLoop loop;
    ck_assert(elementwise_find(&elementwise_Mul, DT_float, &loop));
    for (int64_t unit = plan.units - 1; unit >= 0; unit--)
        broadcast_run(&plan, &loop, a, &two, out, unit, unit + 1);
    for (int i = 0; i < 2 * N; i++) EXPECT(out[i] == (float)i * 2, "element %d", i);
    free(a), free(out);
}
END_TEST

START_TEST(select_chooses) {
    enum { N = 150 };
    static bool c[N];
    static char a[N * 16], b[N * 16], out[N * 16];
    FOR_EACH_LEVEL for (int turn = 0; turn < 5 * 8; turn++) {
        size_t size = (size_t)1 << (turn / 8);
        int sc = turn & 1, sa = turn >> 1 & 1, sb = turn >> 2 & 1;
        for (int i = 0; i < N; i++)
            c[i] = next_random() & 1;
        for (int i = 0; i < N * 16; i++)
            a[i] = (char)next_random(), b[i] = (char)next_random();
        for (int n = 1; n <= N; n += 37) {
            elementwise_select(size)(c, a, b, out, n, sc, sa, sb);
            for (int i = 0; i < n; i++)
                ck_assert_mem_eq(out + i * size, c[i * sc] ? a + i * sa * size : b + i * sb * size, size);
        }
    }
    ck_assert(!elementwise_select(3));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("elementwise");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, float_loops_agree_with_double);
    tcase_add_test(tests, strides_and_offsets_do_not_matter);
    tcase_add_test(tests, integers_wrap_and_report_faults);
    tcase_add_test(tests, small_types_keep_their_width);
    tcase_add_test(tests, sixteen_bit_floats_convert_exactly);
    tcase_add_test(tests, special_values_are_tensorflows);
    tcase_add_test(tests, broadcast_reaches_the_right_elements);
    tcase_add_test(tests, short_rows_of_every_size);
    tcase_add_test(tests, long_runs_are_cut_into_units);
    tcase_add_test(tests, select_chooses);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
