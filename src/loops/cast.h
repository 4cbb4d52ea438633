// Cast — elements of one type as another: every number and bool type to every other.
//
// Floats are cut towards zero; out of range and NaN give the value with only the top bit set (int32, int64, uint64) and
// the low bits of that for smaller integers, as TensorFlow's scalar code does on x86. A complex number gives its real
// part. Anything but zero is true. 16-bit floats round to nearest even, by way of float.
#pragma once
#include "loops/elementwise.h"

typedef struct {
    ConvertFn first, middle, last;  // through at most two tiles: the source's float, the target's float
    uint8_t from_size, to_size, size_1, size_2;
} CastLoop;

// False where either is not a number or bool.
bool cast_find(DType from, DType to, CastLoop *out);
// `out` may be `in` where the sizes are equal; otherwise they must not overlap.
void cast_run(const CastLoop *loop, const void *in, void *out, int64_t n);
