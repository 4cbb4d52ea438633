// WorkerEnvironment — see worker_environment.h: devices and resources that outlive sessions, counted by those who use
// them.
#include "session/worker_environment.h"

#include <stdlib.h>

#include "resource/resource.h"
#include "thread/pool.h"

Status *worker_environment_new(const char *task, const DeviceCount *counts, int n, WorkerEnvironment **out) {
    WorkerEnvironment *environment = calloc(1, sizeof *environment);
    NEED_MEMORY(environment);
    atomic_init(&environment->references, 1);
    environment->threads = pool_limit();
    Status *status = device_set_init(&environment->devices, task, counts, n);
    if (!status)
        status = resource_table_new(&environment->resources);
    if (status)
        worker_environment_release(environment);
    else
        *out = environment;
    return status;
}

WorkerEnvironment *worker_environment_retain(WorkerEnvironment *environment) {
    atomic_fetch_add(&environment->references, 1);
    return environment;
}

void worker_environment_release(WorkerEnvironment *environment) {
    if (!environment || atomic_fetch_sub(&environment->references, 1) != 1)
        return;
    resource_table_free(environment->resources);
    device_set_clear(&environment->devices);
    free(environment);
}
