// All ops — the ops that are compiled in; give it to op_table_set before the first graph.
#pragma once
#include "graph/op.h"

extern const Op *const all_ops[];  // ends with NULL
