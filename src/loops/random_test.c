// Tests of random.h: fingerprints (FNV-1a over the bytes) of what TensorFlow 2 gives on the CPU for the same seeds, in
// the first and the second run of a node.
#include <check.h>

#include "base/suite_test.h"
#include "loops/level/table.h"
#include "loops/random.h"

static const int levels[] = {1, 3, 4};
enum { N = 1501 };

static uint64_t fingerprint(const void *p, size_t bytes) {
    uint64_t x = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; i++)
        x = (x ^ ((const unsigned char *)p)[i]) * 1099511628211ull;
    return x;
}

START_TEST(bits_are_tensorflows) {
    static const struct {
        RandomKind kind;
        DType dtype;
        uint64_t first, second;
    } rows[] = {
        {RANDOM_UNIFORM, DT_half, 0xe955f35b2bd5a8feull, 0xb564836a33971054ull},
        {RANDOM_UNIFORM, DT_bfloat16, 0xb1ff39a8bd44245eull, 0x733c134082d2d95full},
        {RANDOM_UNIFORM, DT_float, 0xf214075557d39eadull, 0x1c50965feb008c85ull},
        {RANDOM_UNIFORM, DT_double, 0x2f2832e9ac685decull, 0x8c96cd7efd484a85ull},
        {RANDOM_NORMAL, DT_half, 0x0990d679d4655b3full, 0x4cfaa8aafc430cb0ull},
        {RANDOM_NORMAL, DT_bfloat16, 0x9a26e4dd532ccca3ull, 0x845b4a2dc3949a10ull},
        {RANDOM_NORMAL, DT_float, 0x7664709d3a7709e3ull, 0xaebc6428301a3fb9ull},
        {RANDOM_NORMAL, DT_double, 0x7e1c94d08b1c161cull, 0xc9601ea099b16fb1ull},
        {RANDOM_TRUNCATED, DT_half, 0x73c40d5a1a28fe33ull, 0x8e729cc41e94c11eull},
        {RANDOM_TRUNCATED, DT_bfloat16, 0x042b32e2188bc5ddull, 0x8e94c4922009a8e5ull},
        {RANDOM_TRUNCATED, DT_float, 0xa80d7f465f339cf8ull, 0x0a1c5f7198158477ull},
        {RANDOM_TRUNCATED, DT_double, 0x32987c25da1e15d2ull, 0x444993fbdf3902f1ull},
    };
    for (int l = 0; l < 3; l++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows && loops_choose_level(levels[l]); i++) {
            Philox philox = philox_seeded(12, 34);
            double out[N];
            size_t bytes = N * dtype_size(rows[i].dtype);
            ck_assert(random_fill(&philox, rows[i].kind, rows[i].dtype, out, RANDOM_UNIT, N));
            ck_assert(random_fill(&philox, rows[i].kind, rows[i].dtype, out, 0, RANDOM_UNIT));
            ck_assert_uint_eq(fingerprint(out, bytes), rows[i].first);
            philox_skip(&philox, random_reserved(N));
            // Any cut gives the same numbers.
            for (int64_t first = 0; first < N; first += 7)
                random_fill(&philox, rows[i].kind, rows[i].dtype, out, first, first + 7 < N ? first + 7 : N);
            ck_assert_uint_eq(fingerprint(out, bytes), rows[i].second);
        }
    Philox philox = philox_seeded(1, 2);
    int32_t out;
    ck_assert(!random_fill(&philox, RANDOM_UNIFORM, DT_int32, &out, 0, 1));
}
END_TEST

START_TEST(integers_are_tensorflows) {
    static int32_t narrow[N];
    static int64_t wide[N];
    Philox philox = philox_seeded(12, 34);
    ck_assert(random_fill_int(&philox, DT_int32, -100, 1000, narrow, 0, N));
    ck_assert_uint_eq(fingerprint(narrow, sizeof narrow), 0x5f9ed98c9733dc87ull);
    ck_assert(random_fill_int(&philox, DT_int64, -1000000000000, 1000000000000000, wide, 0, N));
    ck_assert_uint_eq(fingerprint(wide, sizeof wide), 0xc25a88676761633cull);
    philox_skip(&philox, random_reserved(N));
    ck_assert(random_fill_int(&philox, DT_int32, -100, 1000, narrow, 1000, N));
    ck_assert(random_fill_int(&philox, DT_int32, -100, 1000, narrow, 0, 1000));
    ck_assert_uint_eq(fingerprint(narrow, sizeof narrow), 0x792decc8a879232cull);
    ck_assert(!random_fill_int(&philox, DT_int32, 5, 5, narrow, 0, 1));
}
END_TEST

// The known answer of the algorithm's authors for a zero key and counter, and a carry through the counter.
START_TEST(philox_is_philox) {
    Philox philox = {{0, 0}, {0, 0, 0, 0}};
    uint32_t x[4], y[4];
    philox_next(&philox, x);
    ck_assert(x[0] == 0x6627e8d5u && x[1] == 0xe169c58du && x[2] == 0xbc57ac4cu && x[3] == 0x9b00dbd8u);
    Philox end = {{7, 8}, {0xffffffffu, 0xffffffffu, 5, 0}};
    philox_next(&end, x);
    ck_assert(end.counter[0] == 0 && end.counter[1] == 0 && end.counter[2] == 6);
    Philox same = {{7, 8}, {0, 0, 6, 0}};
    philox_next(&same, x);
    philox_next(&end, y);
    ck_assert_mem_eq(x, y, sizeof x);
    static uint32_t many[400], one[4];
    Philox from = {{7, 8}, {0xfffffff0u, 0xffffffffu, 5, 0}};
    random_fill(&from, RANDOM_BITS, DT_uint32, many, 0, 400);
    for (int i = 0; i < 100; i++) {
        philox_next(&from, one);
        ck_assert_mem_eq(one, many + 4 * i, sizeof one);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, bits_are_tensorflows);
    tcase_add_test(tests, integers_are_tensorflows);
    tcase_add_test(tests, philox_is_philox);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
