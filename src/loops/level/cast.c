// Cast — every real type to every other. What C leaves undefined is defined as x86 converts: a float outside the range
// of int32 (int64, uint64), and NaN, becomes the value with only its top bit set; smaller integers take the low bits.
#include <math.h>

#include "loops/level/table.h"

#define IDENTITY(x) (x)
// The conversion instructions give INT_MIN for what doesn't fit; without the comparison C says nothing of it, and
// vectorised code would differ from scalar code.
#define SMALL(x) ((x) >= -2147483648.0f && (x) < 2147483648.0f ? (int32_t)(x) : INT32_MIN)
#define WIDE(x) ((x) >= -9223372036854775808.0f && (x) < 9223372036854775808.0f ? (int64_t)(x) : INT64_MIN)
// From 2^63 on an int64 can't hold it.
#define WIDEST(x)                                                                                     \
    ((x) >= 9223372036854775808.0f && (x) < 18446744073709551616.0f ? (uint64_t)(x) : (uint64_t)WIDE(x))
#define TRUTH(x) ((x) != 0)

#define CAST(from, From, to, To, via)                                       \
    static void from##_to_##to(const void *in, void *out, int64_t n) {      \
        const From *p = in;                                                 \
        To *o = out;                                                        \
        VECTOR_LOOP                                                         \
        for (int64_t i = 0; i < n; i++)                                     \
            o[i] = (To)(via(p[i]));                                         \
    }

#define FROM_FLOAT(from, From)              \
    CAST(from, From, f32, float, IDENTITY)  \
    CAST(from, From, f64, double, IDENTITY) \
    CAST(from, From, i32, int32_t, SMALL)   \
    CAST(from, From, i64, int64_t, WIDE)    \
    CAST(from, From, u32, uint32_t, WIDE)   \
    CAST(from, From, u64, uint64_t, WIDEST) \
    CAST(from, From, i8, int8_t, SMALL)     \
    CAST(from, From, u8, uint8_t, SMALL)    \
    CAST(from, From, i16, int16_t, SMALL)   \
    CAST(from, From, u16, uint16_t, SMALL)  \
    CAST(from, From, b8, uint8_t, TRUTH)
#define FROM_INTEGER(from, From)              \
    CAST(from, From, f32, float, IDENTITY)    \
    CAST(from, From, f64, double, IDENTITY)   \
    CAST(from, From, i32, int32_t, IDENTITY)  \
    CAST(from, From, i64, int64_t, IDENTITY)  \
    CAST(from, From, u32, uint32_t, IDENTITY) \
    CAST(from, From, u64, uint64_t, IDENTITY) \
    CAST(from, From, i8, int8_t, IDENTITY)    \
    CAST(from, From, u8, uint8_t, IDENTITY)   \
    CAST(from, From, i16, int16_t, IDENTITY)  \
    CAST(from, From, u16, uint16_t, IDENTITY) \
    CAST(from, From, b8, uint8_t, TRUTH)

FROM_FLOAT(f32, float)
FROM_FLOAT(f64, double)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(u64, uint64_t)
FROM_INTEGER(i8, int8_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(u16, uint16_t)

#define ROW(from)                                                                                             \
    {from##_to_f32, from##_to_f64, from##_to_i32, from##_to_i64, from##_to_u32, from##_to_u64, from##_to_i8,   \
     from##_to_u8, from##_to_i16, from##_to_u16, from##_to_b8}
const ConvertFn LEVEL(loop_casts)[CAST_TYPES][CAST_TYPES] = {
    ROW(f32), ROW(f64), ROW(i32), ROW(i64), ROW(u32), ROW(u64), ROW(i8), ROW(u8), ROW(i16), ROW(u16), ROW(u8),
};
