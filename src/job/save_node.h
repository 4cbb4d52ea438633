// Nodes that save and restore — what a job adds to a graph, below "save/NAME/".
#pragma once
#include "graph/build.h"

// "save/NAME/END", or a name that is free; the caller holds the graph's lock.
FALLIBLE Status *save_node_add(Graph *graph, const char *op, Str name, const char *end, const Output *inputs, int n,
                               const AttrEntry *attrs, int n_attrs, Node **out);
