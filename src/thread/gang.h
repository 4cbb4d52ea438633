// Gang — several threads that run one function at once, so that it may wait for all of them: a barrier of its own.
//
// For library kernels that were prepared for exactly n threads. Members are claimed whole, before the kernel starts:
// who can't have them all at once takes the one-thread variant of the kernel instead of waiting.
#pragma once
#include <stdatomic.h>

#include "thread/pool.h"

typedef void GangFn(void *arg, int id, int n);

typedef struct Gang {
    int n;                                       // threads, the caller included
    uint64_t members[POOL_MOST_THREADS / 64];    // the claimed workers
    GangFn *fn;
    void *arg;
    unsigned epoch;                              // of the pool when claimed: a forked child has lost the members
    _Atomic uint32_t left;                       // members still in the function
} Gang;

// Claims threads - 1 idle workers, all or none: returns `threads`, or 1 when they can't be had now (also inside a range
// or a gang). The gang is then to be run any number of times, by this thread, and released.
int gang_claim(Gang *gang, int threads);
// Runs fn(arg, id, n) on every member at once, id 0 on this thread; returns when all have ended.
void gang_run(Gang *gang, GangFn *fn, void *arg);
void gang_release(Gang *gang);
