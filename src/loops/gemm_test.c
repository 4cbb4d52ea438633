// Tests of gemm.h against three plain loops: shapes around every edge, transposes, epilogues, cuts, types, levels.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suite_test.h"
#include "loops/cast.h"
#include "loops/gemm.h"
#include "loops/level/table.h"

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static const int levels[] = {1, 3, 4};
static uint32_t seed = 7;
static int small_random(int n) {
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

// Small whole numbers: every type gives the same exact sums.
static void check_gemm(DType dtype, GemmShape g, int64_t batch, int threads) {
    int64_t slack = 3;
    g.lda = (g.ta ? g.m : g.k) + slack, g.ldb = (g.tb ? g.k : g.n) + slack, g.ldc = g.n + slack;
    int64_t na = (g.ta ? g.k : g.m) * g.lda, nb = (g.tb ? g.n : g.k) * g.ldb, nc = g.m * g.ldc, n = batch;
    double *a = malloc((size_t)(n * na + 1) * 8), *b = malloc((size_t)(n * nb + 1) * 8);
    double *c = malloc((size_t)(n * nc + 1) * 8), *bias = malloc((size_t)(g.n + 1) * 8);
    char *ra = malloc((size_t)(n * na + 1) * 16), *rb = malloc((size_t)(n * nb + 1) * 16);
    char *rc = malloc((size_t)(n * nc + 1) * 16), *rbias = malloc((size_t)(g.n + 1) * 16);
    for (int64_t i = 0; i < n * na; i++) a[i] = small_random(4) - (dtype_kind(dtype) == KIND_UINT ? 0 : 1);
    for (int64_t i = 0; i < n * nb; i++) b[i] = small_random(3) - (dtype_kind(dtype) == KIND_UINT ? 0 : 1);
    for (int64_t i = 0; i < n * nc; i++) c[i] = small_random(9);
    for (int64_t i = 0; i < g.n; i++) bias[i] = small_random(5);
    CastLoop cast, back;
    ck_assert(cast_find(DT_double, dtype, &cast) && cast_find(dtype, DT_double, &back));
    cast_run(&cast, a, ra, n * na), cast_run(&cast, b, rb, n * nb), cast_run(&cast, c, rc, n * nc);
    cast_run(&cast, bias, rbias, g.n);
    GemmPlan plan;
    GemmShape typed = g;
    typed.bias = g.bias ? rbias : NULL;
    ck_assert(gemm_prepare(dtype, &typed, batch, na, nb, nc, threads, &plan));
    void *scratch = aligned_alloc(64, plan.scratch ? plan.scratch : 64);
    for (int64_t unit = plan.units - 1; unit >= 0; unit--)
        gemm_run(&plan, ra, rb, rc, scratch, unit, unit + 1);
    double *got = malloc((size_t)(n * nc + 1) * 8);
    cast_run(&back, rc, got, n * nc);
    for (int64_t p = 0; p < n; p++)
        for (int64_t i = 0; i < g.m; i++)
            for (int64_t j = 0; j < g.ldc; j++) {
                double want = c[p * nc + i * g.ldc + j];
                if (j < g.n) {
                    want = (g.accumulate ? want : 0) + (g.bias ? bias[j] : 0);
                    for (int64_t k = 0; k < g.k; k++)
                        want += (g.scales ? g.scale : 1) * a[p * na + (g.ta ? k * g.lda + i : i * g.lda + k)] *
                                b[p * nb + (g.tb ? j * g.ldb + k : k * g.ldb + j)];
                    want = g.relu && want < 0 ? 0 : want;
                }
                double tolerance = dtype == DT_bfloat16 ? fabs(want) / 128 : 0;
                EXPECT(fabs(got[p * nc + i * g.ldc + j] - want) <= tolerance,
                              "%s %dx%dx%d ta %d tb %d acc %d: c[%d][%d] = %g, expected %g", dtype_name(dtype),
                              (int)g.m, (int)g.n, (int)g.k, g.ta, g.tb, g.accumulate, (int)i, (int)j,
                              got[p * nc + i * g.ldc + j], want);
            }
    free(a), free(b), free(c), free(bias), free(ra), free(rb), free(rc), free(rbias), free(scratch), free(got);
}

START_TEST(every_edge) {
    static const int extents[] = {1, 2, 5, 8, 12, 13, 16, 31, 33, 70};
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++)
                for (int way = 0; way < 4; way++) {
                    GemmShape g = {.m = extents[i], .n = extents[j], .k = extents[(i * 3 + j + way) % 10],
                                   .ta = way & 1,
                                   .tb = way >> 1, .accumulate = (i + j) % 3 == 0, .relu = (i + j) % 2 == 0,
                                   .scales = j % 4 > 1, .scale = i % 3 - 2, .bias = j % 2 ? "" : NULL};
                    check_gemm(DT_float, g, 1, 1);
                    check_gemm(DT_double, g, 1, 1);
                }
    }
}
END_TEST

START_TEST(blocks_and_cuts) {
    static const int shapes[][3] = {{100, 530, 200}, {97, 513, 193}, {1, 700, 900}, {700, 1, 900}, {200, 40, 400},
                                    {24, 1100, 30}};
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        for (int s = 0; s < 6; s++)
            for (int way = 0; way < 4; way++) {
                GemmShape g = {.m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2], .ta = way & 1, .tb = way >> 1,
                               .accumulate = way == 2, .relu = way == 1, .bias = s % 2 ? "" : NULL};
                check_gemm(DT_float, g, 1, 1 + s);
            }
    }
}
END_TEST

// Every way of summing, what is packed and what is not, blocks of each factor.
START_TEST(few_rows_and_long_sums) {
    static const struct { int m, n, k; GemmWay way[4]; } shapes[] = {   // the ways of NN, TN, NT, TT
        {16, 36, 530, {GEMM_TILES, GEMM_TILES, GEMM_DOTS, GEMM_TILES}},
        {7, 515, 700, {GEMM_SHALLOW, GEMM_SHALLOW, GEMM_DOTS, GEMM_TILES}},
        {1, 37, 600, {GEMM_ROW, GEMM_ROW, GEMM_DOTS, GEMM_DOTS}},
        {37, 1, 600, {GEMM_DOTS, GEMM_TILES, GEMM_DOTS, GEMM_TILES}},
        {60, 330, 1100, {GEMM_TILES, GEMM_TILES, GEMM_TILES, GEMM_TILES}},
        {500, 70, 600, {GEMM_TILES, GEMM_TILES, GEMM_TILES, GEMM_TILES}},
        {100, 260, 64, {GEMM_TILES, GEMM_TILES, GEMM_TILES, GEMM_TILES}},
        {33, 512, 70, {GEMM_TILES, GEMM_TILES, GEMM_TILES, GEMM_TILES}},
        {300, 10, 128, {GEMM_TILES, GEMM_TURNED, GEMM_TILES, GEMM_TILES}},
    };
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int way = 0; way < 4; way++) {
                GemmShape g = {.m = shapes[s].m, .n = shapes[s].n, .k = shapes[s].k, .ta = way & 1, .tb = way >> 1,
                               .scales = s % 2, .scale = -2, .accumulate = way % 2};
                GemmPlan plan;
                GemmShape tight = g;
                tight.lda = g.ta ? g.m : g.k, tight.ldb = g.tb ? g.k : g.n, tight.ldc = g.n;
                ck_assert(gemm_prepare(DT_float, &tight, 1, 0, 0, 0, 1, &plan));
                bool packs = levels[l] == 3 && !g.tb && g.n * g.k > 1 << 14 && g.m >= (g.n % 512 ? 96 : 32);
                ck_assert_int_eq(plan.way, packs ? GEMM_PACKED : shapes[s].way[way]);
                check_gemm(DT_float, g, 1, 1);
                check_gemm(DT_float, g, 1, 3);
                if (way == 2)
                    check_gemm(DT_double, g, 1, 2);
            }
    }
}
END_TEST

static void product(const GemmShape *g, int threads, const float *a, const float *b, float *c) {
    GemmPlan plan;
    ck_assert(gemm_prepare(DT_float, g, 1, 0, 0, 0, threads, &plan));
    void *scratch = aligned_alloc(64, plan.scratch + 64 - plan.scratch % 64);
    for (int64_t unit = plan.units - 1; unit >= 0; unit--)
        gemm_run(&plan, a, b, c, scratch, unit, unit + 1);
    free(scratch);
}

START_TEST(cuts_change_no_bit) {
    static const int shapes[][3] = {{25, 300, 900}, {48, 40, 700}, {20, 800, 600}, {700, 90, 520}, {97, 513, 193}};
    enum { MOST = 900 * 900 };
    float *a = malloc(MOST * sizeof(float)), *b = malloc(MOST * sizeof(float));
    for (int i = 0; i < MOST; i++)
        a[i] = (float)small_random(2001) / 1000 - 1, b[i] = (float)small_random(2001) / 1000 - 1;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int way = 0; way < 4; way++) {
            GemmShape g = {.m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2], .ta = way & 1, .tb = way >> 1};
            g.lda = g.ta ? g.m : g.k, g.ldb = g.tb ? g.k : g.n, g.ldc = g.n;
            size_t bytes = (size_t)(g.m * g.n) * sizeof(float);
            float *whole = malloc(bytes), *parts = malloc(bytes);
            product(&g, 1, a, b, whole);
            for (int threads = 2; threads <= 7; threads++) {
                product(&g, threads, a, b, parts);
                ck_assert_mem_eq(whole, parts, bytes);
            }
            free(whole), free(parts);
        }
    free(a), free(b);
}
END_TEST

// The same plan with b where it lies and laid out, shared out or not.
static void check_packed(DType dtype, const GemmShape *g, int threads, const void *a, const void *b, const void *bias) {
    GemmPlan plan;
    GemmShape shape = *g;
    shape.bias = bias;
    size_t size = dtype_size(dtype), bytes = (size_t)(g->m * g->n) * size;
    ck_assert(gemm_prepare(dtype, &shape, 1, 0, 0, 0, threads, &plan) && gemm_may_pack(&plan));
    void *scratch = aligned_alloc(64, plan.scratch + 64 - plan.scratch % 64),
        *packed = malloc(gemm_packed_bytes(&plan));
    void *plain_c = malloc(bytes), *packed_c = malloc(bytes);
    memcpy(plain_c, a, bytes), memcpy(packed_c, a, bytes);
    gemm_pack(&plan, b, packed);
    for (int64_t unit = plan.units - 1; unit >= 0; unit--) {
        gemm_run(&plan, a, b, plain_c, scratch, unit, unit + 1);
        gemm_run_packed(&plan, a, packed, packed_c, scratch, unit, unit + 1);
    }
    EXPECT(!memcmp(plain_c, packed_c, bytes), "%s %dx%dx%d tb %d differs when packed", dtype_name(dtype), (int)g->m,
           (int)g->n, (int)g->k, g->tb);
    free(scratch), free(packed), free(plain_c), free(packed_c);
}

START_TEST(packing_changes_no_bit) {
    static const int shapes[][3] = {{2, 2, 1}, {7, 37, 21}, {64, 512, 256}, {8, 515, 700}, {97, 193, 1100},
                                    {24, 90, 520}};
    enum { MOST = 700 * 700 };
    double *a = malloc(MOST * sizeof *a), *b = malloc(MOST * sizeof *b);
    float *x = malloc(MOST * sizeof *x), *y = malloc(MOST * sizeof *y);
    for (int i = 0; i < MOST; i++) {
        a[i] = small_random(2001) / 1000.0 - 1, b[i] = small_random(2001) / 1000.0 - 1;
        x[i] = (float)a[i], y[i] = (float)b[i];
    }
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int way = 0; way < 8; way++) {
                GemmShape g = {.m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2], .tb = way & 1, .relu = way == 3,
                               .accumulate = way >> 2};
                g.lda = g.k, g.ldb = g.tb ? g.k : g.n, g.ldc = g.n;
                check_packed(DT_float, &g, 1 + way / 2, x, y, way & 2 ? y : NULL);
                check_packed(DT_double, &g, 1 + way / 2, a, b, way & 2 ? b : NULL);
            }
    }
    free(a), free(b), free(x), free(y);
}
END_TEST

START_TEST(every_type_and_batches) {
    static const DType types[] = {DT_half, DT_bfloat16, DT_float, DT_double, DT_int32, DT_int64, DT_uint32, DT_uint64,
                                  DT_complex64, DT_complex128};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int way = 0; way < 4; way++) {
            GemmShape g = {.m = 9, .n = 37, .k = 21, .ta = way & 1, .tb = way >> 1, .accumulate = way == 3, .bias = ""};
            check_gemm(types[t], g, 3, 2);
            g.m = 120, g.n = 130, g.k = 40;
            check_gemm(types[t], g, 1, 2);
        }
    GemmShape empty = {.m = 3, .n = 4, .k = 0};
    check_gemm(DT_float, empty, 1, 1);
    check_gemm(DT_int32, empty, 1, 1);
    empty.m = 0, empty.k = 5;
    check_gemm(DT_float, empty, 2, 1);
    GemmPlan plan;
    ck_assert(!gemm_prepare(DT_string, &empty, 1, 0, 0, 0, 1, &plan));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("gemm");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_edge);
    tcase_add_test(tests, blocks_and_cuts);
    tcase_add_test(tests, few_rows_and_long_sums);
    tcase_add_test(tests, cuts_change_no_bit);
    tcase_add_test(tests, packing_changes_no_bit);
    tcase_add_test(tests, every_type_and_batches);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
