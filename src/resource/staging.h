// Staging — tuples on their way from one part of a step to another: in the order in which they came, or by key.
//
// Putting waits while the area is full, taking and looking wait until what is asked for is there; no thread is held. A
// tuple with a key may be put in parts, and counts as there once it is complete; its values may be taken one by one.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"
#include "thread/cancellation.h"

typedef struct Staging Staging;

extern const ResourceType staging_type;      // in the order in which they came
extern const ResourceType map_staging_type;  // by key
extern const ResourceType ordered_map_staging_type;  // by key; without one, that of the least key

typedef struct {
    int64_t capacity;      // complete tuples; 0: no limit
    int64_t memory_limit;  // bytes; 0: no limit
} StagingSpec;

typedef struct {
    int64_t key;
    const int32_t *indices;  // ascending: which of the tuple's values are meant; NULL: all
    int n;
} StagingPart;

typedef enum {
    STAGING_FIRST,  // any tuple: the first
    STAGING_AT,     // the one with part.key before it
    STAGING_KEY,    // that of the key
} StagingChoice;

// Takes over `status`. The values asked for, which the callee takes over, and their key; NULL for a put and on failure.
// The array itself is valid during the call only.
typedef void StagingDone(void *arg, Status *status, int64_t key, Tensor *values, int n);

// One reference.
FALLIBLE Status *staging_new(const ResourceType *type, const StagingSpec *spec, Staging **out);
// `part.n` values, which are taken over, of a tuple of `width`, each with a buffer of its own.
void staging_put(Staging *staging, StagingPart part, int width, Tensor *values, Cancellation *cancellation,
                 StagingDone *done, void *arg);
// Takes the values out, or with `peek` leaves them there.
void staging_take(Staging *staging, StagingChoice choice, StagingPart part, bool peek, Cancellation *cancellation,
                  StagingDone *done, void *arg);
void staging_clear(Staging *staging);
int64_t staging_size(Staging *staging);        // complete tuples
int64_t staging_incomplete(Staging *staging);  // tuples of which a part has come
