// Worker, inside — what its service and RecvTensor share.
#pragma once
#include <stdio.h>

#include "cluster/recent_ids.h"
#include "cluster/worker.h"

struct Worker {
    WorkerEnvironment *environment;
    Peers *peers;
    Steps *steps;
    char *own;
    RecentIds requests, received;
    Mutex lock;
    Condition idle;
    Map sessions;            // handle -> Entry *; guarded by lock, as is what follows
    int64_t calls;           // of RecvTensor, not answered
    bool closed;
};

static inline void worker_call_begins(Worker *worker) {
    mutex_lock(&worker->lock);
    worker->calls++;
    mutex_unlock(&worker->lock);
}

static inline void worker_call_ends(Worker *worker) {
    mutex_lock(&worker->lock);
    if (--worker->calls == 0)
        condition_notify_all(&worker->idle);
    mutex_unlock(&worker->lock);
}
