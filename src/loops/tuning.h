// Tuning — the numbers of tuning.def, which has their meaning, unit and origin.
#pragma once
#include <stdint.h>

enum {
#define TUNED(NAME, value, unit, meaning) TUNED_##NAME = value,
#define TUNED_BY_LEVEL(name, v1, v3, v4, unit, meaning)
#include "loops/tuning.def"
#undef TUNED
#undef TUNED_BY_LEVEL
};

typedef struct {
#define TUNED(NAME, value, unit, meaning)
#define TUNED_BY_LEVEL(name, v1, v3, v4, unit, meaning) int32_t name;
#include "loops/tuning.def"
#undef TUNED
#undef TUNED_BY_LEVEL
} Tuning;

// The implementations of oneDNN by the beginning of their names.
#define TUNED_BRGEMM "brg:"   // its newer way

// Those of the level that loops_table() chose. For preparing kernels, not for running them.
const Tuning *tuning(void);
// For the bench that tries other values, and tests: those of the level, to be changed by whoever runs alone.
Tuning *tuning_of(int level);
