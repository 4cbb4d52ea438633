// Master — TensorFlow's MasterService: the sessions that clients have on this server, by their handles.
#pragma once
#include "cluster/service.h"
#include "cluster/worker.h"

typedef struct Master Master;

// Sessions share the environment of the worker, which outlives the master, unless they ask for state of their own.
FALLIBLE Status *master_new(Worker *worker, Master **out);
// Cancels all steps and refuses new ones: with UNAVAILABLE.
void master_close(Master *master);
// No call is being answered any more.
void master_free(Master *master);
extern const ServiceMethod master_methods[];  // for service_new; their argument is the master
