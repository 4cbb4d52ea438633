// Elementwise loops on double: the C library's functions, one element at a time where they are no arithmetic.
#include "loops/level/table.h"
#include "loops/level/math_double.h"
#include "loops/level/math_float.h"

#define KIND_F
#define T double
#define R double
#define TYPE f64
#define M(name) f64_##name
#include "loops/level/elementwise_rows.h"
