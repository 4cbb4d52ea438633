// Freeze — a graph that can do without a session's state: what some outputs need, with variables as constants.
#pragma once
#include "graph/build.h"

typedef VEC(Output) OutputList;

// The values of variables that `outputs` need: fetch these edges from the session, in this order.
FALLIBLE Status *freeze_reads(const Graph *graph, const Output *outputs, int n, OutputList *reads);
// A new graph with the same names: a constant for each of `reads`, and nothing that `outputs` don't need. One
// reference. UNIMPLEMENTED where a function is called.
FALLIBLE Status *freeze_write(const Graph *graph, const Output *outputs, int n, const OutputList *reads,
                              const Tensor *values, Graph **out);
