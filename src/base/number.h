// Number — floating point as decimal text, whatever the locale of the process.
#pragma once
#include "base/str.h"

// The whole of `s` is one number: "1", "-2.5e3", "inf", "nan". Rounds to nearest.
bool str_to_double(Str s, double *out);
bool str_to_float(Str s, float *out);

// A short text that reads back as the same value (the shortest, but for subnormal numbers): "0.1", "1e-05", "inf",
// "-inf", "nan".
void text_double(Text *text, double value);
void text_float(Text *text, float value);
