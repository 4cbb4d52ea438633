// Calls — functions that are run as steps of their own: recursive ones, which can't be inlined, and those that somebody
// calls by name.
#pragma once
#include "kernel/call.h"
#include "run/step.h"
#include "session/bind.h"

typedef struct Calls {
    Caller caller;           // first: what kernels see
    Graph *graph;            // whose library holds the functions
    Mutex *graph_lock;       // held while it is read; NULL: nothing else touches it
    PlanOptions options;
    NodeStates *states;      // the session's, as is the cache
    SpecialisationCache *cache;
    StepOptions step;
    Mutex lock;
    Map plans;               // function and attributes, printed -> Call *; guarded by lock
    Arena arena;             // of the map's keys; guarded by lock
} Calls;

void calls_init(Calls *calls);
void calls_clear(Calls *calls);
