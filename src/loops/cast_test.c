// Tests of cast.h: every pair of types, on every CPU level.
#include <check.h>
#include <math.h>

#include "base/suite_test.h"
#include "loops/cast.h"
#include "loops/level/table.h"

// Speaks only when something is wrong: a ck_assert that holds costs a message to the parent process.
#define EXPECT(condition, ...)                  \
    do {                                        \
        if (!(condition))                       \
            ck_abort_msg(__VA_ARGS__);          \
    } while (0)

static const DType types[] = {DT_float, DT_double, DT_int32, DT_int64, DT_uint32, DT_uint64, DT_int8, DT_uint8,
                              DT_int16, DT_uint16, DT_bool, DT_half, DT_bfloat16, DT_complex64, DT_complex128};
enum { TYPES_TESTED = sizeof types / sizeof *types, N = 1100 };
static const int levels[] = {1, 3, 4};

// One element, written and read as a double.
static void put(DType t, void *p, int64_t i, double v) {
    switch (t) {
#define CASE(token, T) case DT_##token: ((T *)p)[i] = (T)v; break;
    CASE(float, float) CASE(double, double) CASE(int32, int32_t) CASE(int64, int64_t) CASE(uint32, uint32_t)
    CASE(uint64, uint64_t) CASE(int8, int8_t) CASE(uint8, uint8_t) CASE(int16, int16_t) CASE(uint16, uint16_t)
    CASE(bool, bool) CASE(complex64, Complex64) CASE(complex128, Complex128)
    case DT_half: ((Half *)p)[i] = half_from_float((float)v); break;
    default: ((Bfloat16 *)p)[i] = bfloat16_from_float((float)v); break;
#undef CASE
    }
}
static double get(DType t, const void *p, int64_t i) {
    switch (t) {
#define CASE(token, T) case DT_##token: return (double)((const T *)p)[i];
    CASE(float, float) CASE(double, double) CASE(int32, int32_t) CASE(int64, int64_t) CASE(uint32, uint32_t)
    CASE(uint64, uint64_t) CASE(int8, int8_t) CASE(uint8, uint8_t) CASE(int16, int16_t) CASE(uint16, uint16_t)
    CASE(bool, bool)
    case DT_complex64: return (double)((const float *)p)[2 * i];
    case DT_complex128: return ((const double *)p)[2 * i];
    case DT_half: return (double)half_to_float(((const Half *)p)[i]);
    default: return (double)bfloat16_to_float(((const Bfloat16 *)p)[i]);
#undef CASE
    }
}

START_TEST(every_pair_keeps_small_numbers) {
    static _Alignas(16) char in[N * 16], out[N * 16 + 16];
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        for (int f = 0; f < TYPES_TESTED; f++)
            for (int t = 0; t < TYPES_TESTED; t++) {
                CastLoop loop;
                ck_assert(cast_find(types[f], types[t], &loop));
                for (int i = 0; i < N; i++)
                    put(types[f], in, i, i % 101);
                out[N * dtype_size(types[t])] = 0x5a;
                cast_run(&loop, in, out, N);
                for (int i = 0; i < N; i++) {
                    double want = get(types[f], in, i);
                    want = types[t] == DT_bool ? want != 0 : want;
                    EXPECT(get(types[t], out, i) == want, "%s to %s: %g became %g", dtype_name(types[f]),
                                  dtype_name(types[t]), want, get(types[t], out, i));
                }
                ck_assert_int_eq(out[N * dtype_size(types[t])], 0x5a);
            }
    }
}
END_TEST

START_TEST(what_does_not_fit_is_defined) {
    static const float in[8] = {NAN, INFINITY, -3e9f, 3e9f, 300.7f, -1.5f, 1e20f, -300.7f};
    static const int32_t as_int32[8] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 300, -1, INT32_MIN, -300};
    static const int8_t as_int8[8] = {0, 0, 0, 0, 44, -1, 0, -44};
    static const uint32_t as_uint32[8] = {0, 0, 1294967296u, 3000000000u, 300, 4294967295u, 0, 4294966996u};
    static const uint64_t as_uint64[8] = {1ull << 63, 1ull << 63, 18446744070709551616ull, 3000000000u, 300,
                                          18446744073709551615ull, 1ull << 63, 18446744073709551316ull};
    for (int l = 0; l < 3; l++) {
        if (!loops_choose_level(levels[l]))
            continue;
        CastLoop loop;
        int32_t i32[8];
        int8_t i8[8];
        uint32_t u32[8];
        uint64_t u64[8];
        bool truth[8];
        ck_assert(cast_find(DT_float, DT_int32, &loop)), cast_run(&loop, in, i32, 8);
        ck_assert(cast_find(DT_float, DT_int8, &loop)), cast_run(&loop, in, i8, 8);
        ck_assert(cast_find(DT_float, DT_uint32, &loop)), cast_run(&loop, in, u32, 8);
        ck_assert(cast_find(DT_float, DT_uint64, &loop)), cast_run(&loop, in, u64, 8);
        ck_assert(cast_find(DT_float, DT_bool, &loop)), cast_run(&loop, in, truth, 8);
        for (int i = 0; i < 8; i++) {
            ck_assert_int_eq(i32[i], as_int32[i]);
            ck_assert_int_eq(i8[i], as_int8[i]);
            ck_assert_uint_eq(u32[i], as_uint32[i]);
            ck_assert_uint_eq(u64[i], as_uint64[i]);
            ck_assert(truth[i]);
        }
    }
    CastLoop loop;
    ck_assert(!cast_find(DT_string, DT_float, &loop) && !cast_find(DT_float, DT_resource, &loop));
    Complex64 imaginary;
    __real__ imaginary = 0, __imag__ imaginary = 2;
    bool truth = true;
    float real = 9;
    ck_assert(cast_find(DT_complex64, DT_bool, &loop)), cast_run(&loop, &imaginary, &truth, 1);
    ck_assert(!truth);
    ck_assert(cast_find(DT_complex64, DT_float, &loop)), cast_run(&loop, &imaginary, &real, 1);
    ck_assert(real == 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cast");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_pair_keeps_small_numbers);
    tcase_add_test(tests, what_does_not_fit_is_defined);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
