// WorkerEnvironment — what sessions run in and what outlives them: a worker's devices, resources and threads.
//
// Sessions of one environment find each other's variables, queues and tables by container and name. A session that is
// told of none makes one of its own: local sessions share nothing, as TensorFlow's don't.
#pragma once
#include "device/device.h"

typedef struct WorkerEnvironment {
    _Atomic int32_t references;
    DeviceSet devices;
    struct ResourceTable *resources;
    int threads;            // that a step's kernels may use at once, unless its session asks for fewer
} WorkerEnvironment;

// With so many devices of each type, of that task, as device_set_init takes them. INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
FALLIBLE Status *worker_environment_new(const char *task, const DeviceCount *counts, int n, WorkerEnvironment **out);
WorkerEnvironment *worker_environment_retain(WorkerEnvironment *environment);
// The last one frees the resources: no session has it any more.
void worker_environment_release(WorkerEnvironment *environment);
