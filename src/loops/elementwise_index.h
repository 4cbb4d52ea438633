// Elementwise index — where each op's loop stands in the tables of loops. Private to loops/: whoever includes this is
// compiled again for every new row.
#pragma once

enum {
#define UNARY(name, kinds, expression) ELEMENTWISE_##name,
#define UNARY_LONG UNARY
#define UNARY_TO_BOOL UNARY
#define UNARY_TO_REAL UNARY
#define UNARY_GUARDED(name, kinds, expression, guard, careful) ELEMENTWISE_##name,
#define UNARY_ALSO(name, kinds, expression)
#define BINARY(name, kinds, expression) ELEMENTWISE_##name,
#define BINARY_HOT BINARY
#define BINARY_HOT_ALSO(name, kinds, expression)
#define BINARY_LONG BINARY
#define BINARY_ALSO(name, kinds, expression)
#define COMPARE(name, kinds, expression) ELEMENTWISE_##name,
#define COMPARE_ALSO(name, kinds, expression)
#define TWIN(name)
#include "loops/unary.def"
#include "loops/binary.def"
#include "loops/compare.def"
#include "loops/elementwise_undef.h"
    ELEMENTWISE_OPS
};
