// Calls — functions that are run as steps of their own, because they can't be inlined: the recursive ones.
#pragma once
#include "kernel/call.h"
#include "run/step.h"

typedef struct Calls {
    Caller caller;           // first: what kernels see
    Graph *graph;            // whose library holds the functions
    PlanOptions options;
    StepOptions step;
    Mutex lock;
    Map plans;               // function and attributes, printed -> Call *; guarded by lock
    Arena arena;             // of the map's keys; guarded by lock
} Calls;

void calls_init(Calls *calls);
void calls_clear(Calls *calls);
