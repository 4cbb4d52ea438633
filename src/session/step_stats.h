// Step statistics — what a traced step (run/trace.h) is to clients: StepStats.
#pragma once
#include "proto/messages.h"
#include "run/trace.h"

// In the arena, viewing the trace's names. RESOURCE_EXHAUSTED, also where the trace is not whole.
FALLIBLE Status *step_stats_message(const Trace *trace, Arena *arena, StepStatsProto **out);
