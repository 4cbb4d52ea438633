// Worker — TensorFlow's WorkerService: the parts of steps that masters have this task run, and the values that go between.
#pragma once
#include "cluster/parts.h"
#include "cluster/service.h"
#include "cluster/steps.h"

typedef struct Worker Worker;

// The environment is retained; the peers, which may be NULL, outlive it. `own`: this task's name.
FALLIBLE Status *worker_new(WorkerEnvironment *environment, Peers *peers, Str own, Worker **out);
// Large tensors go to other tasks of ours by a lane that listens there. Before requests come.
FALLIBLE Status *worker_listen(Worker *worker, Str host);
// Cancels all steps and refuses new ones.
void worker_close(Worker *worker);
// No call is being answered any more.
void worker_free(Worker *worker);

extern const ServiceMethod worker_methods[];  // for service_new; their argument is the worker
// RecvTensor waits without a thread: it is no method of the above.
FALLIBLE Status *worker_add_recv_tensor(Worker *worker, RpcServer *server);

// ---- for the master beside it
Steps *worker_steps(Worker *worker);
Peers *worker_peers(Worker *worker);
WorkerEnvironment *worker_environment(Worker *worker);
Str worker_task(const Worker *worker);
