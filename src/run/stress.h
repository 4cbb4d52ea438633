// Stress — switches that make rare orders and failures common: MILLRACE_STRESS=order,yield,dynamic,alloc:N.
//
// alloc:N lets every N-th allocation of a buffer or of a step's memory fail, from the first step of the process on.
#pragma once
#include "base/env_var.h"

enum {
    STRESS_ORDER = 1 << 0,  // ready nodes in seeded random order
    STRESS_YIELD = 1 << 1,  // threads yield at hand-overs
    STRESS_DYNAMIC = 1 << 2,   // nothing is specialised
};

extern const EnvVar stress_variable;   // MILLRACE_STRESS
// Read from the environment once, at the first question.
bool stress_is_on(uint32_t what);
uint32_t stress_random(void);  // a seeded sequence, for STRESS_ORDER
void stress_yield(void);       // under STRESS_YIELD: lets others go first, sometimes for long
