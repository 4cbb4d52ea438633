// Elementwise loops on int32, int64, uint32, uint64 and bool.
//
// Arithmetic goes through the unsigned twin (WRAP), which wraps by definition; signed types share the unsigned loops
// where the bits agree, which halves the code. 8 and 16 bits are widened to these (elementwise.c).
#include <math.h>

#include "loops/level/table.h"

#define KIND_I
#define T int32_t
#define R int32_t
#define WRAP uint32_t
#define IS_SIGNED 1
#define TYPE i32
#define UNSIGNED u32
#define INTEGER(name) i32_##name
#include "loops/level/math_integer.h"
#include "loops/level/elementwise_rows.h"
#undef T
#undef R
#undef WRAP
#undef IS_SIGNED
#undef UNSIGNED
#undef TYPE
#undef INTEGER

#define T int64_t
#define R int64_t
#define WRAP uint64_t
#define IS_SIGNED 1
#define TYPE i64
#define UNSIGNED u64
#define INTEGER(name) i64_##name
#include "loops/level/math_integer.h"
#include "loops/level/elementwise_rows.h"
#undef T
#undef R
#undef WRAP
#undef IS_SIGNED
#undef UNSIGNED
#undef TYPE
#undef INTEGER

#undef KIND_I
#define KIND_U
#define T uint32_t
#define R uint32_t
#define WRAP uint32_t
#define IS_SIGNED 0
#define TYPE u32
#define INTEGER(name) u32_##name
#include "loops/level/math_integer.h"
#include "loops/level/elementwise_rows.h"
#undef T
#undef R
#undef WRAP
#undef IS_SIGNED
#undef UNSIGNED
#undef TYPE
#undef INTEGER

#define T uint64_t
#define R uint64_t
#define WRAP uint64_t
#define IS_SIGNED 0
#define TYPE u64
#define INTEGER(name) u64_##name
#include "loops/level/math_integer.h"
#include "loops/level/elementwise_rows.h"
#undef T
#undef R
#undef WRAP
#undef IS_SIGNED
#undef UNSIGNED
#undef TYPE
#undef INTEGER

#undef KIND_U
#define KIND_B
#define T uint8_t
#define R uint8_t
#define TYPE b8
#include "loops/level/elementwise_rows.h"
