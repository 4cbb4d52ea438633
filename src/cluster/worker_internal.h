// Worker, inside — what its service and RecvTensor share.
#pragma once
#include <stdio.h>

#include "cluster/recent_ids.h"
#include "cluster/tensor_lane.h"
#include "cluster/worker.h"

typedef struct WorkerPartial WorkerPartial;

struct Worker {
    WorkerEnvironment *environment;
    Peers *peers;
    Steps *steps;
    TensorLanes *lanes;      // NULL: nobody else is there to ask
    char *own;
    RecentIds requests, received;
    Mutex lock;
    Condition idle;
    Map sessions;            // handle -> Entry *; guarded by lock, as is what follows
    Map partials;            // step id -> WorkerPartial *
    int64_t calls;           // of RecvTensor, not answered, and partial runs in flight
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

// ---- worker_partial.c
typedef struct {
    TaskSession *session;
    Part *part;
    Rendezvous *rendezvous;
} WorkerStep;
// A call of a partial run: starts it where it has not begun; the last waits for its end. Its error, where it has one by then.
FALLIBLE Status *worker_run_partial(Worker *worker, int64_t step_id, const WorkerStep *step, bool last,
                                    Cancellation *cancelled);
void worker_partial_end(Worker *worker, int64_t step_id);
void worker_partials_clear(Worker *worker);  // nothing runs any more
