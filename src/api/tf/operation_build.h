// The struct behind TF_OperationDescription.
#pragma once
#include "api/api.h"
#include "graph/build.h"

struct TF_OperationDescription {
    TF_Graph *graph;
    NodeBuilder builder;
};
// Remembers the first error for TF_FinishOperation; takes the status.
void description_fail(TF_OperationDescription *desc, Status *status);
