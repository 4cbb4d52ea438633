// Tuning — the values of each CPU level.
//
// tuning.def is read once for each: rows by level fill the fields, constants are the header's. Not const: `./run bench
// tuning` changes values to compare.
#include "loops/tuning.h"

#include "loops/level/table.h"

enum { OFF = INT32_MAX };

static Tuning levels[] = {
#define TUNED(NAME, value, unit, meaning)
#define TUNED_BY_LEVEL(name, v1, v3, v4, unit, meaning) .name = v1,
    {
#include "loops/tuning.def"
    },
#undef TUNED_BY_LEVEL
#define TUNED_BY_LEVEL(name, v1, v3, v4, unit, meaning) .name = v3,
    {
#include "loops/tuning.def"
    },
#undef TUNED_BY_LEVEL
#define TUNED_BY_LEVEL(name, v1, v3, v4, unit, meaning) .name = v4,
    {
#include "loops/tuning.def"
    },
};

Tuning *tuning_of(int level) {
    return &levels[level == 4 ? 2 : level == 3 ? 1 : 0];
}

const Tuning *tuning(void) {
    return tuning_of(loops_table()->level);
}
