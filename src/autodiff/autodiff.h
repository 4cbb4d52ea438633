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

// What a client that has gradients of its own says about a graph. Zero is nothing.
typedef struct {
    Node *const *stops;        // gradients end at these: they count as constants
    int n_stops;
    Node *const *own;          // whose gradient is made by `gradient` instead of by their op's formula
    int n_own;
    // Adds nodes to the graph that compute dxs of dys, one per input and output; dys[i] is {NULL} for outputs without a
    // gradient, and so may dxs[i] be.
    Status *(*gradient)(void *arg, Node *node, const Output *dys, Output *dxs);
    void *arg;
} AutodiffClient;

// Sparse gradients as above. An x that no y depends on is no error: its gradient is {NULL}.
FALLIBLE Status *autodiff_client_gradients(Graph *graph, Str prefix, const Output *ys, int ny, const Output *xs, int nx,
                                           const Output *dys, const AutodiffClient *client, Gradient *dxs);
