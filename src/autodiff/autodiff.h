// Autodiff — adds to a graph the nodes that compute partial derivatives.
#pragma once
#include "graph/build.h"

// A gradient: dense, or the rows `values` at `indices` of a tensor of shape `shape` (IndexedSlices). No values: zero.
typedef struct {
    Output values, indices, shape;
} Gradient;

// Adds nodes for the gradients of sum(ys) with respect to each of xs, along all paths. `dys` are the gradients of ys,
// {NULL} (or dys == NULL) for ones. dxs[i] is {NULL} where every path to xs[i] passes an op whose gradient is zero by
// nature. New nodes are named below `prefix`; when that is empty, below the first of gradients, gradients_1 ... that is
// free.
//
// Works through Switch and Merge, loops of frames (also nested), calls of functions, and the functional If, Case and
// While. On failure the graph is as it was. NOT_FOUND: an op on the way has no gradient. INVALID_ARGUMENT: an x that no
// y depends on, a prefix that is taken, a dy of another type.
FALLIBLE Status *autodiff_gradients(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                                    const Output *dys, Output *dxs);
// The same, leaving sparse gradients as they are.
FALLIBLE Status *autodiff_sparse_gradients(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                                           const Output *dys, Gradient *dxs);
