// Elementwise loops on float.
#include "loops/level/table.h"
#include "loops/level/math_float.h"

#define KIND_F
#define T float
#define R float
#define TYPE f32
#define WHOLE 16
#define M(name) f32_##name
#include "loops/level/elementwise_rows.h"
