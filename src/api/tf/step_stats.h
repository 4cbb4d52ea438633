// Step statistics — what a traced step (run/trace.h) is to clients: a RunMetadata with StepStats.
#pragma once
#include "api/api.h"
#include "run/trace.h"

// Fills an empty buffer. RESOURCE_EXHAUSTED, also where the trace is not whole.
FALLIBLE Status *step_stats_fill(const Trace *trace, TF_Buffer *out);
