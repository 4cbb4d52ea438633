// Float8 — the five element types of one byte, to and from float; with the rounding and overflow of ml_dtypes.
//
// Names tell the bits: e4m3 has 4 of exponent and 3 of fraction. "fn" has no infinity, and NaN is 0x7f (0xff); "uz" has
// no negative zero either, and NaN is 0x80. What overflows becomes infinity where there is one, NaN elsewhere.
#pragma once
#include "tensor/dtype.h"

// `dtype` is one of DT_float8_*; 0 for any other.
float float8_to_float(DType dtype, uint8_t bits);
// Round to nearest even.
uint8_t float8_from_float(DType dtype, float value);
bool dtype_is_float8(DType dtype);

// A double as the float that rounds on to half, bfloat16 or float8 as the double itself would: inexact ones go to odd.
float float_to_odd(double value);
