// Elementwise loops on complex64 and complex128.
//
// The parts come from the real functions of this level (math_complex.h).
#include <complex.h>
#undef I

#include "loops/level/table.h"
#include "loops/level/math_double.h"
#include "loops/level/math_float.h"

#define KIND_C
#define c64_is_wide(x) false
#define c64_careful_sin c64_sin
#define c64_careful_cos c64_cos
#define c64_careful_tan c64_tan
#define T float _Complex
#define R float
#define TYPE c64
#define M(name) c64_##name
#define MR(name) f32_##name
#define S(name) name##f
#include "loops/level/math_complex.h"
#include "loops/level/elementwise_rows.h"
#undef T
#undef R
#undef TYPE
#undef M
#undef MR
#undef S

#define c128_is_wide(x) false
#define c128_careful_sin c128_sin
#define c128_careful_cos c128_cos
#define c128_careful_tan c128_tan
#define T double _Complex
#define R double
#define TYPE c128
#define M(name) c128_##name
#define MR(name) f64_##name
#define S(name) name
#include "loops/level/math_complex.h"
#include "loops/level/elementwise_rows.h"
