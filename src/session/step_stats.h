// Step statistics — what a traced step (run/trace.h) is to clients: StepStats.
#pragma once
#include "proto/messages.h"
#include "run/trace.h"

// In the arena, viewing the trace's names. RESOURCE_EXHAUSTED, also where the trace is not whole.
FALLIBLE Status *step_stats_message(const Trace *trace, Arena *arena, StepStatsProto **out);
// The rows of another task's step, added to the trace.
void step_stats_add(const StepStatsProto *stats, Trace *trace);
// The graphs of its parts; in the arena, viewing the trace.
FALLIBLE Status *step_graphs_message(const Trace *trace, Arena *arena, RunMetadataProto *out);
