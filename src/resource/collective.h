// Collective — what the members of a group do together: each brings a tensor, or none, and takes the same or its part away.
//
// A group is the devices of this process that ask for it by its key; who is which member goes by the devices' names. Calls that
// name the same group and instance belong together. They wait without a thread; the last one computes for all, in the order
// of the members, so that all get the same bits whoever came when.
#pragma once
#include "resource/resource.h"
#include "tensor/tensor.h"
#include "thread/cancellation.h"

typedef enum { COLLECTIVE_REDUCE, COLLECTIVE_GATHER, COLLECTIVE_BROADCAST, COLLECTIVE_ALL_TO_ALL } CollectiveKind;

// Arithmetic of one dtype: sum = sum op more, over n elements; and sum /= by.
typedef struct {
    void (*merge)(void *sum, const void *more, int64_t n);
    void (*divide)(void *sum, int64_t by, int64_t n);
} CollectiveMath;

typedef struct {
    CollectiveKind kind;
    int32_t group_key, group_size, instance_key;
    const char *op;             // REDUCE: "Add"; by it and `mean` members agree
    bool mean;
    CollectiveMath math;        // REDUCE
    DType dtype;
    Shape shape;                // of the input; of what is received. Members agree, but for GATHER's first extent
    Str device;                 // the member's; lives as long as the call
    double timeout;             // seconds; 0: none
} CollectiveSpec;

// Takes over `status` and, where that is OK, the result.
typedef void CollectiveDone(void *arg, Status *status, Tensor result);

// `input` (retained; of no dtype for who receives a broadcast) meets those of the other members. `done` is called exactly once,
// with no lock held, now or later on any thread. INVALID_ARGUMENT for all members that wait where one does not agree with the
// first, or comes twice; DEADLINE_EXCEEDED; CANCELLED by `cancellation`, which may be NULL and outlives the wait.
void collective_join(ResourceTable *resources, const CollectiveSpec *spec, const Tensor *input, Cancellation *cancellation,
                     CollectiveDone *done, void *arg);
