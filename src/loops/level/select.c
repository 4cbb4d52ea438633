// Select and conversions of the 16-bit floats.
//
// Conversions round to nearest, ties to even, on every level and in the same bits, with and without F16C.
#include "loops/level/table.h"

// A mask of all or no bits chooses: a comparison would become a branch. Scalars have loops, too.
#define SELECT_LOOP(T, X, Y)                                                                                   \
    do {                                                                                                       \
        VECTOR_LOOP                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                      \
            T mask = (T)(int8_t)-(c[i] != 0), x = (X), y = (Y);                                                \
            o[i] = (T)((x & mask) | (y & (T)~mask));                                                           \
        }                                                                                                      \
    } while (0)
#define SELECT(name, T)                                                                                        \
    static void name(const bool *condition, const void *a, const void *b, void *out, int64_t n, int64_t sc,    \
                     int64_t sa, int64_t sb) {                                                                 \
        const uint8_t *c = (const uint8_t *)condition;                                                         \
        const T *p = a, *q = b;                                                                                \
        T *o = out;                                                                                            \
        if (n <= 0)                                                                                            \
            return;                                                                                            \
        T first = p[0], second = q[0];                                                                         \
        if (sc & sa & sb)                                                                                      \
            SELECT_LOOP(T, p[i], q[i]);                                                                        \
        else if (sc & sa)                                                                                      \
            SELECT_LOOP(T, p[i], second);                                                                      \
        else if (sc & sb)                                                                                      \
            SELECT_LOOP(T, first, q[i]);                                                                       \
        else if (sc)                                                                                           \
            SELECT_LOOP(T, first, second);                                                                     \
        else                                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                                    \
                o[i] = c[i * sc] ? p[i * sa] : q[i * sb];                                                      \
    }
SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)
typedef struct { uint64_t low, high; } Pair;
static void select_16(const bool *condition, const void *a, const void *b, void *out, int64_t n, int64_t sc, int64_t sa,
                      int64_t sb) {
    const Pair *p = a, *q = b;
    Pair *o = out;
    for (int64_t i = 0; i < n; i++)
        o[i] = condition[i * sc] ? p[i * sa] : q[i * sb];
}

static inline uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}
static inline float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

// Shifting a half's exponent and mantissa into a float's place and multiplying by 2^112 rebias it, subnormals included.
static void half_to_floats(const void *from, void *to, int64_t n) {
    const uint16_t *p = from;
    float *o = to;
    VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) {
        uint32_t half = p[i], rest = half & 0x7fff;
        float finite = float_of(rest << 13) * 0x1p112f;
        uint32_t bits = rest >= 0x7c00 ? (rest << 13) + 0x70000000u : bits_of(finite);
        o[i] = float_of(bits | (half & 0x8000) << 16);
    }
}

// Normal numbers: rebias, add half of what is cut off (less one unless the last bit kept is odd), cut. Subnormal ones:
// adding 0.5 lets the FPU's own rounding do it, as 0.5's last bit is half's. Beyond 65520 it is infinite; NaN stays
// quiet.
static void float_to_halves(const void *from, void *to, int64_t n) {
    const float *p = from;
    uint16_t *o = to;
    VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = bits_of(p[i]), rest = bits & 0x7fffffff;
        uint32_t normal = (rest - 0x38000000u + 0xfff + ((rest >> 13) & 1)) >> 13;
        uint32_t small = bits_of(float_of(rest) + 0.5f) - 0x3f000000u;
        uint32_t half = rest < 0x38800000u ? small : normal;
        half = rest >= 0x477ff000u ? 0x7c00 : half;
        half = rest > 0x7f800000u ? (0x7e00 | ((rest >> 13) & 0x3ff)) : half;
        o[i] = (uint16_t)(half | ((bits >> 16) & 0x8000));
    }
}

static void bfloat16_to_floats(const void *from, void *to, int64_t n) {
    const uint16_t *p = from;
    uint32_t *o = to;
    VECTOR_LOOP
    for (int64_t i = 0; i < n; i++)
        o[i] = (uint32_t)p[i] << 16;
}

// A NaN whose mantissa bits are cut off would become infinite: the quiet bit is set.
static void float_to_bfloat16s(const void *from, void *to, int64_t n) {
    const uint32_t *p = from;
    uint16_t *o = to;
    VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = p[i];
        uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
        uint32_t quiet = (bits >> 16) | 0x40;
        o[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
    }
}

const SelectFn LEVEL(loop_selects)[5] = {select_1, select_2, select_4, select_8, select_16};
const SixteenTable LEVEL(loop_sixteen) = {half_to_floats, bfloat16_to_floats, float_to_halves, float_to_bfloat16s};
