// LoopTable — what one CPU level offers. The tables are equal in shape; loops_table() gives the one to use.
#pragma once
#include "loops/elementwise.h"
#include "loops/level/level.h"

typedef enum { TYPE_F32, TYPE_F64, TYPE_I32, TYPE_I64, TYPE_U32, TYPE_U64, TYPE_C64, TYPE_C128, TYPE_BOOL, TYPES } ComputeType;

typedef struct {
    const ElementwiseFn *elementwise[TYPES];   // each [ELEMENTWISE_OPS], NULL where the type has no such loop
    SelectFn select[5];                        // by log2 of the element's size
    ConvertFn half_to_float, bfloat16_to_float, float_to_half, float_to_bfloat16;
} LoopTable;

extern const LoopTable loops_v1, loops_v3, loops_v4;

// The table for this CPU: the highest level that it has, or the one that MILLRACE_CPU names (v1, v3, v4) if it has it.
const LoopTable *loops_table(void);
// Chooses a level from now on (loops found before keep theirs); false where the CPU lacks it. For tests and benchmarks.
bool loops_choose_level(int level);
