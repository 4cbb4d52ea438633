// Trace — what ran when in a step: node, device, thread, beginning, end, bytes. Kept only where a step asks for it.
//
// It outlives the plan that it tells of: names are copied. Rows come in the order in which nodes ended, a row for each
// call, so a node of a loop has as many as there were iterations; from any thread. What a Recv waits for is called RecvTensor,
// as in TensorFlow's; a Send has no row.
#pragma once
#include "plan/plan.h"
#include "thread/mutex.h"

typedef struct TraceRow {
    Str name, label, device;  // label: "name = Op(inputs)"
    int64_t start, end;    // of clock_now()
    int64_t bytes;         // of its outputs
    uint32_t thread;       // the system's number of it
} TraceRow;

typedef struct Trace {
    Mutex lock;
    Arena arena;
    VEC(TraceRow) rows;
    bool failed;           // memory was out: rows are missing
    int64_t start, wall;   // when it began: of clock_now(), and microseconds since 1970
    bool keeps_graphs;     // set by who asks
    VEC(Str) graphs;       // if so: serialized GraphDefs, of each part that ran
} Trace;

void trace_begin(Trace *trace);
void trace_clear(Trace *trace);
static inline void trace_auto(Trace *trace) {
    trace_clear(trace);
}
// The call of a kernel that began at `start` ends now.
void trace_add(Trace *trace, const Binding *binding, const Kernel *k, int64_t start);
// A row from another task, whose clock counts nanoseconds since 1970. Its texts are copied.
void trace_add_row(Trace *trace, const TraceRow *row, int64_t since_1970, int64_t lasted);
// Where graphs are kept: a serialized GraphDef, copied; what a part ran.
void trace_add_graph(Trace *trace, Str graph_def);
void trace_add_plan(Trace *trace, const Plan *plan);
