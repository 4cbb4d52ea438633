// All ops — the ops that are compiled in, and the rewrites of them; give both to op_table_set before the first graph.
#pragma once
#include "graph/op.h"

extern const Op *const all_ops[];            // ends with NULL
extern const Rewrite *const all_rewrites[];  // likewise (graph/rewrite.h)
