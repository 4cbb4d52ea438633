// Extents — what is known of two shapes together, where neither is known alone: the batch of all that one batch became.
#pragma once
#include "graph/graph.h"

// Whether both values have one shape, whatever it turns out to be. The first extent may be unknown: it is followed
// through nodes that keep it (Op.same_rows, shape_unchanged, shape_same_all, broadcasting) to a value that both come
// from.
bool outputs_have_one_shape(Output a, Output b);
