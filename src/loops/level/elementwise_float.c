// Elementwise loops on float: functions of math_float.h, which have neither branches nor calls, so that the compiler
// vectorises the loops around them.
#include "loops/level/table.h"
#include "loops/level/math_float.h"

#define KIND_F
#define T float
#define R float
#define TYPE f32
// A LONG expression stands once for whole vectors of so many elements and once for one: the rest of a row.
#define WHOLE 16
#define M(name) f32_##name
#include "loops/level/elementwise_rows.h"
