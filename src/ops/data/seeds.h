// SeedGenerator — where shuffles get the seeds of each pass: always the same, or others every time.
#pragma once
#include "data/position.h"
#include "loops/random.h"
#include "ops/op.h"
#include "resource/resource.h"

typedef struct {
    Resource resource;
    Mutex lock;
    int64_t seeds[2];
    bool changes;             // the seeds of a pass are the next numbers of a generator with `seeds`
    PhiloxNumbers numbers;    // guarded by lock
} SeedGenerator;

// Both zero: seeds of the system's. One reference.
FALLIBLE Status *seed_generator_new(int64_t seed, int64_t seed2, bool changes, SeedGenerator **out);
// The one behind the input `argument`, where the op has it and there is one behind it; else a new one. One reference.
FALLIBLE Status *seed_generator_of(Kernel *k, const char *argument, int64_t seed, int64_t seed2, bool changes,
                                   SeedGenerator **out);
// What passes that are still to come depend on.
FALLIBLE Status *seed_generator_position(SeedGenerator *generator, Position *p);
FALLIBLE static inline Status *philox_numbers_position(PhiloxNumbers *numbers, Position *p) {
    PhiloxNumbers found = *numbers;
    TRY(position_bytes(p, &found, sizeof found));
    NEED(found.left >= 0 && found.left <= 4, DATA_LOSS, "the state of random numbers is damaged");
    *numbers = found;
    return OK;
}
// The numbers of the next pass.
PhiloxNumbers seed_generator_next(SeedGenerator *generator);
